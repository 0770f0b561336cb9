"""Operation counts as the papers print them: every row of Mata tables 1-4, Angeles table 1 and Mohan table 1.

A formula is the coefficients of a polynomial in n, highest power first; rows for which only n = 6 is printed have none. The
papers count a division or square root as a product. `formulation` names ours to set beside it, and `part` what it covers:
"without bias" is forward dynamics once the torques of gravity and velocity are known, as Mohan and Saha count it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F
from typing import TypeAlias

Formula: TypeAlias = tuple[F | int, ...]


@dataclass(frozen=True)
class Published:
    table: str
    authors: str
    problem: str
    formulation: str
    products: Formula | None
    sums: Formula | None
    six: tuple[int, int] | None = None
    part: str = ""
    why: str = ""

    def at(self, n: int) -> tuple[F, F] | None:
        """Products and sums for n joints, where the paper says."""
        if self.products is not None and self.sums is not None:
            return evaluate(self.products, n), evaluate(self.sums, n)
        return (F(self.six[0]), F(self.six[1])) if n == 6 and self.six is not None else None


def evaluate(formula: Formula, n: int) -> F:
    value = F(0)
    for coefficient in formula:
        value = value * n + coefficient
    return value


_CROSS = "ours works in link frames and applies each DH rotation as two plane rotations (8 products, not 9)"
_SCREW = "the inertia crosses each joint as two screws, and rows known to be zero are not computed"

PUBLISHED: tuple[Published, ...] = (
    Published("Mata 1", "Luh et al.", "inverse_dynamics", "newton_euler", (150, -48), (131, -48), (852, 738), why=_CROSS),
    Published(
        "Mata 1", "Angeles et al.", "inverse_dynamics", "kane", (105, -109), (90, -105), (521, 435),
        why="a - rho is constant and taken off line (3 sums a link); all savings at links 1 and 2 are found",
    ),
    Published(
        "Mata 1", "Balafoutis, Patel", "inverse_dynamics", "cartesian_tensor", (93, -69), (81, -66), (489, 420),
        why="same slope; the savings at links 1, 2 and n are found by tracing",
    ),
    Published(
        "Mata 1", "Mata et al.", "inverse_dynamics", "gibbs_appell", (96, -101), (84, -100), (475, 404),
        why="same slope; of the savings at the first links, which the paper does not list, tracing finds three products more "
        "and one sum less",
    ),
    Published(
        "Mata 2", "Walker, Orin", "mass_matrix", "composite_body", (12, 56, -27), (7, 67, -56), (741, 598),
        why="the inertia about the link origin replaces that about the moving centre of mass; " + _SCREW.split(",")[0],
    ),
    Published(
        "Mata 2", "Angeles, Ma", "mass_matrix", "natural_orthogonal_complement", (1, 17, -21, 8), (1, 14, -16, 5), (710, 629),
        why="tensors are not factored off line, so that massless links are allowed (one n^2 more), but axes and arms of "
        "neighbours are free; lower up to 16 joints",
    ),
    Published(
        "Mata 2", "Mata et al.", "mass_matrix", "gibbs_appell",
        (F(23, 2), F(39, 2), -49), (F(17, 2), F(63, 2), -69), (482, 426),
        why="step 5 is printed with 31M 40A, 25M 33A suffice; the arm between neighbours is (a cos, -a sin, d)",
    ),
    Published(
        "Mata 3", "Mata et al.", "bias", "gibbs_appell", (96, -108), (83, -105), (468, 393),
        why="tracing finds more savings at the first links",
    ),
    Published(
        "Mata 3", "Mata et al.", "forward_dynamics", "gibbs_appell",
        (F(1, 6), F(1, 2), F(1, 3), 0), (F(1, 6), F(1, 2), F(1, 3), 0), (56, 56), part="factorisation",
        why="L D L^T needs no roots; the paper counts as many sums as products, where (n^3 - n)/6 suffice",
    ),
    Published(
        "Mata 3", "Mata et al.", "forward_dynamics", "gibbs_appell", (1, 0, 0), (1, -1, 0), (36, 30), part="substitution",
        why="the same",
    ),
    Published(
        "Mata 3", "Mata et al., total", "forward_dynamics", "gibbs_appell",
        (F(1, 6), 13, F(695, 6), -157), (F(1, 6), 10, F(683, 6), -174), (1042, 905), why="the sum of the rows above",
    ),
    Published(
        "Mata 4", "Walker, Orin", "forward_dynamics", "composite_body", None, None, (1627, 1261),
        why="with the leaner mass matrix and bias above",
    ),
    Published(
        "Mata 4", "Featherstone", "forward_dynamics", "articulated_body", None, None, (1533, 1415),
        why="point accelerations need no link velocities; " + _SCREW,
    ),
    Published(
        "Mata 4", "Angeles, Ma", "forward_dynamics", "natural_orthogonal_complement", None, None, (1353, 1165),
        why="with the mass matrix above",
    ),
    Published("Mata 4", "Mata et al.", "forward_dynamics", "gibbs_appell", None, None, (1042, 905), why="as in Mata 3"),
    Published(
        "Angeles 1", "Hollerbach", "inverse_dynamics", "lagrange", (412, -277), (320, -201), (2195, 1719),
        why="the derivative of a joint rotation is a swap of two columns, so dW/dq is never multiplied out; gravity needs no "
        "recursion of its own",
    ),
    Published("Angeles 1", "Luh et al.", "inverse_dynamics", "newton_euler", (150, -48), (131, -48), (852, 738), why=_CROSS),
    Published(
        "Angeles 1", "Walker, Orin", "inverse_dynamics", "newton_euler", (137, -22), (101, -11), (800, 595), why=_CROSS
    ),
    Published(
        "Angeles 1", "Hollerbach, Sahar", "inverse_dynamics", "newton_euler", None, None, (688, 558),
        why="theirs is for an arm with a spherical wrist, ours for a general one",
    ),
    Published(
        "Angeles 1", "Kane, Levinson", "inverse_dynamics", "kane", None, None, (646, 394),
        why="theirs is derived by hand for the Stanford arm, ours is for a general one: see `armwright count stanford`",
    ),
    Published(
        "Angeles 1", "Khalil et al.", "inverse_dynamics", "khalil", (105, -92), (94, -86), (538, 478),
        why="moments by Euler's tensor (15 products, not 24)",
    ),
    Published(
        "Angeles 1", "Angeles et al.", "inverse_dynamics", "kane", (105, -109), (90, -105), (521, 435),
        why="as in Mata 1",
    ),
    Published(
        "Mohan 1", "Mohan, Saha", "forward_dynamics", "denoc", (173, -128), (150, -133), (910, 767), part="without bias",
        why=_SCREW + "; theirs is for slender links, ours for any",
    ),
    Published(
        "Mohan 1", "Saha", "forward_dynamics", "denoc", (191, -284), (187, -325), (862, 797), part="without bias", why=_SCREW
    ),
    Published(
        "Mohan 1", "Featherstone", "forward_dynamics", "articulated_body", (199, -198), (174, -173), (996, 871),
        why="ours has 10 products and 30 sums a link more, for links and joints of any shape, and saves most of that at link 1",
    ),
    Published(
        "Mohan 1", "Valasek", "forward_dynamics", "articulated_body", (226, -343), (206, -345), (1013, 891),
        why="fewer products and sums a link, fewer savings at link 1"
    ),
    Published(
        "Mohan 1", "Brandl et al.", "forward_dynamics", "articulated_body", (250, -222), (220, -198), (1278, 1122), why=_SCREW
    ),
    Published(
        "Mohan 1", "Walker, Orin", "forward_dynamics", "composite_body",
        (F(1, 6), F(23, 2), F(115, 3), -47), (F(1, 6), 7, F(233, 6), -46), (633, 475), part="without bias",
        why="the leaner mass matrix above",
    ),
)  # fmt: skip
