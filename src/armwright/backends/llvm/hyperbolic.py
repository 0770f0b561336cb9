"""Hyperbolic tangent in IR, the dominant cost of neural networks and smooth friction.

tanh |x| = E / (E + 2) with E = exp(2 |x|) - 1 keeps all digits of a small x. E = 2^k (1 + e) - 1, where e is the power
series of exp(r) - 1 at r = 2 |x| - k ln 2.
"""

from __future__ import annotations

import math

from armwright.backends.llvm.block import Block

LN2 = {True: (6.93145751953125e-1, 1.42860682030941723212e-6), False: (0.693359375, -2.12194440e-4)}
"""ln 2 as a sum of two numbers (Cephes); the first has so few digits that k times it is exact."""

EXP_TERMS = {True: 13, False: 7}
"""The number of terms: the next is below rounding for |r| up to ln 2 / 2."""

MAX_TANH_ARGUMENT = {True: 20.0, False: 10.0}
EXPONENT_SHIFT = {True: (6755399441055744.0, 52, 1023), False: (12582912.0, 23, 127)}
"""The number whose addition rounds to an integer (1.5 2^52 or 1.5 2^23), and the shift and bias of an exponent."""


def tanh(block: Block, x: str) -> str:
    """Return tanh(x)."""
    t = block.lanes
    magnitude = block.call("fabs", x)
    beyond = block.let(f"fcmp ogt {t.vector} {magnitude}, {t.splat(MAX_TANH_ARGUMENT[t.double])}")
    clipped = block.select(beyond, t.splat(MAX_TANH_ARGUMENT[t.double]), magnitude)
    y = block.let(f"fadd {t.vector} {clipped}, {clipped}")
    rounder, shift, bias = EXPONENT_SHIFT[t.double]
    shifted = block.fma(y, t.splat(1 / math.log(2)), t.splat(rounder))
    k = block.let(f"fsub {t.vector} {shifted}, {t.splat(rounder)}")
    r = y
    for part in LN2[t.double]:
        r = block.fma(k, t.splat(-part), r)
    series = t.splat(1 / math.factorial(EXP_TERMS[t.double]))
    for j in reversed(range(2, EXP_TERMS[t.double])):
        series = block.fma(series, r, t.splat(1 / math.factorial(j)))
    e = block.fma(block.let(f"fmul {t.vector} {r}, {r}"), series, r)
    integer = block.let(f"bitcast {t.vector} {shifted} to {t.integers}")
    exponent = block.let(f"shl {t.integers} {integer}, {t.splat_integer(shift)}")
    bits = block.let(f"add {t.integers} {exponent}, {t.splat_integer(bias << shift)}")
    power = block.let(f"bitcast {t.integers} {bits} to {t.vector}")
    E = block.fma(power, e, block.let(f"fsub {t.vector} {power}, {t.splat(1.0)}"))
    denominator = block.let(f"fadd {t.vector} {E}, {t.splat(2.0)}")
    return block.call("copysign", block.let(f"fdiv {t.vector} {E}, {denominator}"), x)
