"""The coefficients of sine and cosine in generated code.

The angle is reduced by k quarter turns, k = round(x 2/pi), with pi/2 in three parts, of which a card uses two.
x - k P1 is exact for |x| <= 1e6: both are multiples of the last bit of P1, and their difference is below one. Only the
small rest is rounded. Two polynomials give sine and cosine of the rest; k mod 4 selects between them, and their signs.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_ANGLE = 1e6
"""The largest angle in radians that is reduced accurately with fused multiply-adds."""


@dataclass(frozen=True)
class SineCoefficients:
    """The parts of pi/2 and the polynomials in z = r^2, lowest power first, of one precision.

    `fused_parts` are for fused multiply-adds. `exact_parts` have so few digits that k times a part is exact without
    them, for angles up to `split_limit`; the last part is the rest.
    """

    fused_parts: tuple[float, ...]
    exact_parts: tuple[float, ...]
    split_limit: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]

    def limit(self, fused: bool) -> float:
        """Return the largest angle that is reduced accurately, with or without fused multiply-adds."""
        return MAX_ANGLE if fused else self.split_limit


DOUBLE_SINES = SineCoefficients(  # of the Sun math library
    fused_parts=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    exact_parts=(
        1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624871116645580e-21, 8.47842766036889956997e-32,
    ),
    split_limit=MAX_ANGLE,
    sine=(
        -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
    ),
    cosine=(
        4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
        -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
    ),
)  # fmt: skip
SINGLE_SINES = SineCoefficients(  # of Cephes
    fused_parts=(1.57079637050628662109375, -4.37113882867379e-08, -1.7151245100059158e-15),
    exact_parts=(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
    split_limit=8e3,
    sine=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    cosine=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
)


def sine_coefficients(double: bool) -> SineCoefficients:
    """Return the coefficients of double or single precision."""
    return DOUBLE_SINES if double else SINGLE_SINES
