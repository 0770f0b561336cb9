"""Sine and cosine of vectors, in IR.

The reduction and the polynomials are those of `backends.sines`. Beyond their largest angle, and for infinities, the C
library is called, lane by lane. A nan passes through.
"""

from __future__ import annotations

import math

from armwright.backends.llvm.block import Block, VectorType, c_function, loop_text
from armwright.backends.sines import sine_coefficients


def sine_cosine(block: Block, angles: list[str]) -> list[tuple[str, str]]:
    """Return (sine, cosine) of each angle.

    They are stored in memory, where a rarely called function replaces those of angles that are too large. So the usual
    path needs no registers for the other.
    """
    t, n = block.lanes, len(angles)
    if not angles:
        return []
    align = t.bytes * t.width
    memory = block.let(f"alloca [{3 * n} x {t.vector}], align {align}")
    squares = t.splat(0.0)  # their sum is above the square of the limit if any angle is above the limit, or a nan
    for i, x in enumerate(angles):
        for k, value in enumerate(_reduced(block, x), start=1):
            block.store(memory, 3 * i + k, value, align)
        squares = block.fma(x, x, squares)
    large = block.let(f"fcmp ugt {t.vector} {squares}, {t.splat(largest(t) ** 2)}")
    some = block.let(f"call i1 @llvm.vector.reduce.or.v{t.width}i1({t.mask} {large})")
    correct, done = block.fresh("mend"), block.fresh("done")
    block.put(f"br i1 {some}, label %{correct}, label %{done}, !prof !0")
    block.label(correct)
    for i, x in enumerate(angles):
        block.store(memory, 3 * i, x, align)
    block.put(f"call void @careful(ptr {memory}, i64 {n})")
    block.jump_to(done)
    return [(block.load(memory, 3 * i + 1, align), block.load(memory, 3 * i + 2, align)) for i in range(n)]


def careful(lanes: VectorType) -> str:
    """Return a function that replaces sine and cosine by those of the C library in lanes with too large an angle."""
    t = lanes
    sine, cosine = c_function("sin", t), c_function("cos", t)
    step = f"""  %angle = udiv i64 %i, {t.width}
  %lane = urem i64 %i, {t.width}
  %row = mul i64 %angle, {3 * t.width}
  %at = add i64 %row, %lane
  %x.at = getelementptr {t.scalar}, ptr %memory, i64 %at
  %x = load {t.scalar}, ptr %x.at, align {t.bytes}
  %size = call {t.scalar} @llvm.fabs.f{8 * t.bytes}({t.scalar} %x)
  %large = fcmp ogt {t.scalar} %size, {t.number(largest(t))}
  br i1 %large, label %library, label %next
library:
  %s = call {t.scalar} @{sine}({t.scalar} %x)
  %c = call {t.scalar} @{cosine}({t.scalar} %x)
  %s.at = getelementptr {t.scalar}, ptr %x.at, i64 {t.width}
  %c.at = getelementptr {t.scalar}, ptr %x.at, i64 {2 * t.width}
  store {t.scalar} %s, ptr %s.at, align {t.bytes}
  store {t.scalar} %c, ptr %c.at, align {t.bytes}
  br label %next
next:"""
    return f"""define internal void @careful(ptr %memory, i64 %n) noinline {{
start:
  %total = mul i64 %n, {t.width}
  br label %loop
{loop_text("loop", "%i", "%total", step, "start", "next", "end")}
end:
  ret void
}}
declare {t.scalar} @llvm.fabs.f{8 * t.bytes}({t.scalar})"""


def _reduced(block: Block, x: str) -> tuple[str, str]:
    t = block.lanes
    magic = 6755399441055744.0 if t.double else 12582912.0  # 1.5 2^52 or 1.5 2^23: adding it rounds to a whole number
    shifted = block.fma(x, t.splat(2 / math.pi), t.splat(magic))
    k = block.let(f"fsub {t.vector} {shifted}, {t.splat(magic)}")
    r = x
    coefficients = sine_coefficients(t.double)
    for part in coefficients.fused_parts if t.fma else coefficients.exact_parts:
        r = block.fma(k, t.splat(-part), r)
    z = block.let(f"fmul {t.vector} {r}, {r}")
    sine = block.fma(block.let(f"fmul {t.vector} {z}, {r}"), _polynomial(block, z, coefficients.sine), r)
    cosine = block.fma(
        block.let(f"fmul {t.vector} {z}, {z}"),
        _polynomial(block, z, coefficients.cosine),
        block.fma(z, t.splat(-0.5), t.splat(1.0)),
    )
    quadrant = block.let(f"bitcast {t.vector} {shifted} to {t.integers}")
    low = block.let(f"and {t.integers} {quadrant}, {t.splat_integer(1)}")
    odd = block.let(f"icmp ne {t.integers} {low}, zeroinitializer")
    following = block.let(f"add {t.integers} {quadrant}, {t.splat_integer(1)}")
    return (
        _signed(block, block.select(odd, cosine, sine), quadrant),
        _signed(block, block.select(odd, sine, cosine), following),
    )


def largest(t: VectorType) -> float:
    """Return the largest angle that is reduced here."""
    return sine_coefficients(t.double).limit(t.fma)


def _polynomial(block: Block, z: str, coefficients: tuple[float, ...]) -> str:
    p = block.lanes.splat(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        p = block.fma(p, z, block.lanes.splat(c))
    return p


def _signed(block: Block, x: str, quadrant: str) -> str:
    """Return -x in quadrants 2 and 3, else x: bit 1 of the quadrant becomes the sign bit."""
    t = block.lanes
    bits = 8 * t.bytes
    moved = block.let(f"shl {t.integers} {quadrant}, {t.splat_integer(bits - 2)}")
    sign = block.let(f"and {t.integers} {moved}, {t.splat_integer(-(1 << (bits - 1)))}")
    integer = block.let(f"bitcast {t.vector} {x} to {t.integers}")
    flipped = block.let(f"xor {t.integers} {integer}, {sign}")
    return block.let(f"bitcast {t.integers} {flipped} to {t.vector}")
