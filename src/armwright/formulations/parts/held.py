"""Loops held by forces: what they are, and the accelerations and torques they leave.

    M qdd = tau - bias + J^T f        J qdd = -drift        drift = Jd qd + 2 r J qd + r^2 g

so that (J M^-1 J^T) f = -drift - J qdd_free. Where loops are redundant or singular that matrix is; it is factorised
with mu added to its diagonal, and what mu has taken away is given back in a few steps (Rockafellar 1976, the proximal
point algorithm), which end at the forces of least size among all that do the same. Errors of closure fade at the rate r
(Baumgarte 1972).

    t = bias + M qdd - J^T f          of least size, with nothing left for joints without a motor
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Vector, dot, total
from armwright.formulations.parts.coordinates import convective, gathered, rates
from armwright.formulations.parts.linear import factor
from armwright.formulations.parts.loops import columns_in_time, ends, gap, turned_apart
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Mechanism

RATE = 30.0
"""Per second: how fast an error of closure fades."""

SOFT = 1e-8
"""mu, relative to the mean of the diagonal: far above rounding, far below what is not singular."""

STEPS = 5
"""After which nothing of mu is left but where a loop is singular to ten digits."""

PASSIVE = 1e4
"""How much more the torque of a joint without a motor counts, until it is gone."""


class Held(NamedTuple):
    """J by rows, one for each equation of a loop, with an entry for each coordinate; and the drift."""

    J: SquareMatrix
    drift: list[Scalar]


def jacobian(mechanism: Mechanism) -> SquareMatrix:
    """J of a mechanism that is placed, in the axes of the links on which the ways to the ends part."""
    return [gathered(mechanism, row) for row in _joint_rows(mechanism)]


def _joint_rows(mechanism: Mechanism) -> SquareMatrix:
    rows: SquareMatrix = []
    for loop in mechanism.ties:
        columns = {i: [*c.l, *c.e] for i, c in ends(mechanism, loop).columns.items()}
        for k in range(6 if loop.weld else 3):
            rows.append([columns[i][k] if i in columns else 0 for i in range(mechanism.n)])
    return rows


def held(mechanism: Mechanism, qd: Coordinates) -> Held:
    """The equations of all loops that forces hold."""
    v = rates(mechanism, qd)
    c = convective(mechanism, v)
    joint_rows = _joint_rows(mechanism)
    J = [gathered(mechanism, row) for row in joint_rows]
    bent: list[Scalar] = []
    for loop in mechanism.ties:
        in_time = {i: [*x.l, *x.e] for i, x in columns_in_time(mechanism, loop, dict(enumerate(v))).items()}
        bent += [total(column[k] * v[i] for i, column in in_time.items()) for k in range(6 if loop.weld else 3)]
    apart = [x for loop in mechanism.ties for x in gap(mechanism, loop)]
    drift = [
        more + dot(row, c) + dot(own, qd) * (2 * RATE) + g * (RATE * RATE)
        for more, row, own, g in zip(bent, joint_rows, J, apart, strict=True)
    ]
    return Held(J, drift)


def forces(equations: Held, free: Coordinates, response: Callable[[list[Scalar]], Coordinates]) -> list[Scalar]:
    """f, by the accelerations without the loops and the response M^-1 x of the robot to generalised forces x."""
    back = [response(row) for row in equations.J]
    A = [[dot(row, other) for other in back[: i + 1]] for i, row in enumerate(equations.J)]
    wanted = [-(dot(row, free) + drift) for row, drift in zip(equations.J, equations.drift, strict=True)]
    return _proximal(A, wanted)


def accelerations(equations: Held, free: Coordinates, response: Callable[[list[Scalar]], Coordinates]) -> list[Scalar]:
    """qdd with the loops closed."""
    f = forces(equations, free, response)
    added = response(_back(equations.J, f))
    return [a + b for a, b in zip(free, added, strict=True)]


def torques(J: SquareMatrix, tau: Coordinates, passive: Sequence[int]) -> list[Scalar]:
    """Of all torques that do the same as `tau`, those of least size that leave nothing to joints without a motor."""
    weights: list[Scalar] = [PASSIVE if i in passive else 1 for i in range(len(tau))]
    heavy = [[x * w for x, w in zip(row, weights, strict=True)] for row in J]
    A = [[dot(row, other) for other in J[: i + 1]] for i, row in enumerate(heavy)]
    factors = factor(_softened(A))
    left, kept = list(tau), [0 * t for t in tau]
    for _ in range(STEPS):
        pull = [t + k for t, k in zip(left, kept, strict=True)]
        added = _back(J, factors.solve([dot(row, pull) for row in heavy]))
        left = [t - x for t, x in zip(left, added, strict=True)]
        kept = [k + t if i in passive else k for i, (k, t) in enumerate(zip(kept, left, strict=True))]
    return left


def _proximal(A: SquareMatrix, b: Coordinates) -> list[Scalar]:
    """x of least size with A x = b, A symmetric and semidefinite, by its lower triangle."""
    factors = factor(_softened(A))
    x = factors.solve(b)
    for _ in range(STEPS):
        left = [y - total(A[max(i, j)][min(i, j)] * x[j] for j in range(len(x))) for i, y in enumerate(b)]
        x = [old + more for old, more in zip(x, factors.solve(left), strict=True)]
    return x


def _softened(A: SquareMatrix) -> SquareMatrix:
    mu = total(A[i][i] for i in range(len(A))) * (SOFT / len(A))
    return [[entry + mu if i == j else entry for j, entry in enumerate(row)] for i, row in enumerate(A)]


def _back(J: SquareMatrix, f: Coordinates) -> list[Scalar]:
    """J^T f."""
    return [dot(column, f) for column in zip(*J, strict=True)]


def wrenches(mechanism: Mechanism, f: Coordinates) -> list[list[Scalar]]:
    """Forces of loops as force and moment on the first link of each, at its end and in the axes of that frame."""
    found, start = list[list[Scalar]](), 0
    for loop in mechanism.ties:
        back = ends(mechanism, loop).poses[0].rotation.T
        count = 6 if loop.weld else 3
        entries = list(f[start : start + count])
        moment = back @ Vector(*entries[3:]) if loop.weld else ZERO
        found.append([*(back @ Vector(*entries[:3])), *moment])
        start += count
    return found


def errors(mechanism: Mechanism, _x: Coordinates) -> list[list[Scalar]]:
    """How far the ends of each loop are apart, and by how much turned: six numbers, the last zero but of a weld."""
    return [
        [*gap(mechanism, loop)[:3], *(turned_apart(mechanism, loop) if loop.weld else ZERO)] for loop in mechanism.ties
    ]


def columns(mechanism: Mechanism, _x: Coordinates) -> list[SquareMatrix]:
    """How fast `errors` grow with each coordinate, where they are small."""
    found, rows = list[SquareMatrix](), iter(jacobian(mechanism))
    for loop in mechanism.ties:
        own = [next(rows) for _ in range(6 if loop.weld else 3)]
        found.append([*own, *([0] * mechanism.coordinates for _ in range(6 - len(own)))])
    return found
