"""The hyperbolic tangent of vectors in IR, which dominates neural networks and smooth friction.

With E = exp(2 |x|) - 1 it is E / (E + 2), which keeps all digits of a small x. E is 2^k (1 + e) - 1, where e is the
power series of exp(r) - 1 at r = 2 |x| - k ln 2.
"""

from __future__ import annotations

import math

from armwright.backends.llvm.block import Block

LN2 = {True: (6.93145751953125e-1, 1.42860682030941723212e-6), False: (0.693359375, -2.12194440e-4)}
"""ln 2 in two parts; the first has so few digits that its products with k are exact (Cephes)."""

EXP_TERMS = {True: 13, False: 7}
"""The terms of the series: the next is below rounding for r up to half of ln 2."""

MAX_TANH_ARGUMENT = {True: 20.0, False: 10.0}
EXPONENT_SHIFT = {True: (6755399441055744.0, 52, 1023), False: (12582912.0, 23, 127)}
"""The number that rounds to an integer when added (1.5 2^52 or 1.5 2^23), and the shift and bias of an exponent."""


def tangent(block: Block, x: str) -> str:
    """Return tanh(x)."""
    t = block.lanes
    size = block.call("fabs", x)
    far = block.let(f"fcmp ogt {t.vector} {size}, {t.splat(MAX_TANH_ARGUMENT[t.double])}")
    near = block.choose(far, t.splat(MAX_TANH_ARGUMENT[t.double]), size)
    y = block.let(f"fadd {t.vector} {near}, {near}")
    magic, digits, bias = EXPONENT_SHIFT[t.double]
    shifted = block.fma(y, t.splat(1 / math.log(2)), t.splat(magic))
    k = block.let(f"fsub {t.vector} {shifted}, {t.splat(magic)}")
    r = y
    for part in LN2[t.double]:
        r = block.fma(k, t.splat(-part), r)
    series = t.splat(1 / math.factorial(EXP_TERMS[t.double]))
    for j in reversed(range(2, EXP_TERMS[t.double])):
        series = block.fma(series, r, t.splat(1 / math.factorial(j)))
    e = block.fma(block.let(f"fmul {t.vector} {r}, {r}"), series, r)
    whole = block.let(f"bitcast {t.vector} {shifted} to {t.integers}")
    exponent = block.let(f"shl {t.integers} {whole}, {t.splat_integer(digits)}")
    bits = block.let(f"add {t.integers} {exponent}, {t.splat_integer(bias << digits)}")
    power = block.let(f"bitcast {t.integers} {bits} to {t.vector}")
    E = block.fma(power, e, block.let(f"fsub {t.vector} {power}, {t.splat(1.0)}"))
    more = block.let(f"fadd {t.vector} {E}, {t.splat(2.0)}")
    return block.call("copysign", block.let(f"fdiv {t.vector} {E}, {more}"), x)
