"""Constraint forces of closed loops, and the accelerations and torques with them.

    M qdd = tau - bias + J^T f        J qdd = -drift        drift = Jd qd + 2 r J qd + r^2 g

so that (J M^-1 J^T) f = -drift - J qdd_free. Redundant or singular loops make that matrix singular. It is factorised
with mu added to its diagonal, and a few steps of the proximal point algorithm (Rockafellar 1976) remove the effect of
mu. They end at the smallest forces with the same effect. Errors of closure fade at the rate r (Baumgarte 1972).

    t = bias + M qdd - J^T f          the smallest torques that are zero at joints without a motor
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Vector, dot, total
from armwright.formulations.parts.coordinates import convective, rates, to_coordinates
from armwright.formulations.parts.linear import factor
from armwright.formulations.parts.loop_geometry import closure_error, closure_rotation, column_rates, ends
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Mechanism

FADING_RATE = 30.0
"""Rate r at which an error of closure fades, 1/s."""

REGULARISATION = 1e-8
"""mu, relative to the mean of the diagonal: far above rounding, far below a regular matrix."""

PROXIMAL_STEPS = 5
"""Steps that remove mu unless a loop is singular to ten digits."""

PASSIVE_WEIGHT = 1e4
"""Weight of the torque of a joint without a motor, which the steps make zero."""


class ConstraintEquations(NamedTuple):
    """J by rows (one per equation of a loop, one entry per coordinate), and the drift."""

    J: SquareMatrix
    drift: list[Scalar]


def jacobian(mechanism: Mechanism) -> SquareMatrix:
    """Return J of a placed mechanism, in the axes of the last common ancestors of the ends."""
    return [to_coordinates(mechanism, row) for row in _joint_rows(mechanism)]


def _joint_rows(mechanism: Mechanism) -> SquareMatrix:
    rows: SquareMatrix = []
    for loop in mechanism.constrained_loops:
        columns = {i: [*c.l, *c.e] for i, c in ends(mechanism, loop).columns.items()}
        for k in range(6 if loop.weld else 3):
            rows.append([columns[i][k] if i in columns else 0 for i in range(mechanism.n)])
    return rows


def constraint_equations(mechanism: Mechanism, qd: Coordinates) -> ConstraintEquations:
    """Return the equations of all loops closed by constraint forces."""
    v = rates(mechanism, qd)
    c = convective(mechanism, v)
    joint_rows = _joint_rows(mechanism)
    J = [to_coordinates(mechanism, row) for row in joint_rows]
    convective_parts: list[Scalar] = []
    for loop in mechanism.constrained_loops:
        columns_rate = {i: [*x.l, *x.e] for i, x in column_rates(mechanism, loop, dict(enumerate(v))).items()}
        for k in range(6 if loop.weld else 3):
            convective_parts.append(total(column[k] * v[i] for i, column in columns_rate.items()))
    closure = [x for loop in mechanism.constrained_loops for x in closure_error(mechanism, loop)]
    drift = [
        part + dot(row, c) + dot(J_row, qd) * (2 * FADING_RATE) + g * (FADING_RATE * FADING_RATE)
        for part, row, J_row, g in zip(convective_parts, joint_rows, J, closure, strict=True)
    ]
    return ConstraintEquations(J, drift)


def forces(
    equations: ConstraintEquations, free: Coordinates, response: Callable[[list[Scalar]], Coordinates]
) -> list[Scalar]:
    """Return f from the accelerations without the loops and the response M^-1 x to generalised forces x."""
    responses = [response(row) for row in equations.J]
    A = [[dot(row, other) for other in responses[: i + 1]] for i, row in enumerate(equations.J)]
    right_side = [-(dot(row, free) + drift) for row, drift in zip(equations.J, equations.drift, strict=True)]
    return _proximal(A, right_side)


def accelerations(
    equations: ConstraintEquations, free: Coordinates, response: Callable[[list[Scalar]], Coordinates]
) -> list[Scalar]:
    """Return qdd with the loops closed."""
    f = forces(equations, free, response)
    added = response(_generalised_forces(equations.J, f))
    return [a + b for a, b in zip(free, added, strict=True)]


def torques(J: SquareMatrix, tau: Coordinates, passive: Sequence[int]) -> list[Scalar]:
    """Return the smallest torques with the effect of `tau` that are zero at joints without a motor."""
    weights: list[Scalar] = [PASSIVE_WEIGHT if i in passive else 1 for i in range(len(tau))]
    weighted_J = [[x * w for x, w in zip(row, weights, strict=True)] for row in J]
    A = [[dot(row, other) for other in J[: i + 1]] for i, row in enumerate(weighted_J)]
    factors = factor(_regularised(A))
    solution, multipliers = list(tau), [0 * t for t in tau]
    for _ in range(PROXIMAL_STEPS):
        sums = [t + m for t, m in zip(solution, multipliers, strict=True)]
        change = _generalised_forces(J, factors.solve([dot(row, sums) for row in weighted_J]))
        solution = [t - x for t, x in zip(solution, change, strict=True)]
        multipliers = [m + t if i in passive else m for i, (m, t) in enumerate(zip(multipliers, solution, strict=True))]
    return solution


def _proximal(A: SquareMatrix, b: Coordinates) -> list[Scalar]:
    """Return the smallest x with A x = b; A is symmetric and semidefinite, given by its lower triangle."""
    factors = factor(_regularised(A))
    x = factors.solve(b)
    for _ in range(PROXIMAL_STEPS):
        residual = [y - total(A[max(i, j)][min(i, j)] * x[j] for j in range(len(x))) for i, y in enumerate(b)]
        x = [old + more for old, more in zip(x, factors.solve(residual), strict=True)]
    return x


def _regularised(A: SquareMatrix) -> SquareMatrix:
    mu = total(A[i][i] for i in range(len(A))) * (REGULARISATION / len(A))
    return [[entry + mu if i == j else entry for j, entry in enumerate(row)] for i, row in enumerate(A)]


def _generalised_forces(J: SquareMatrix, f: Coordinates) -> list[Scalar]:
    """Return J^T f."""
    return [dot(column, f) for column in zip(*J, strict=True)]


def wrenches(mechanism: Mechanism, f: Coordinates) -> list[list[Scalar]]:
    """Return force and moment on the first link of each loop, at its end and in the axes of that frame."""
    found, start = list[list[Scalar]](), 0
    for loop in mechanism.constrained_loops:
        to_frame = ends(mechanism, loop).poses[0].rotation.T
        count = 6 if loop.weld else 3
        entries = list(f[start : start + count])
        moment = to_frame @ Vector(*entries[3:]) if loop.weld else ZERO
        found.append([*(to_frame @ Vector(*entries[:3])), *moment])
        start += count
    return found


def errors(mechanism: Mechanism, _x: Coordinates) -> list[list[Scalar]]:
    """Return six numbers per loop: the distance of its ends and, for a weld, their relative rotation."""
    return [
        [*closure_error(mechanism, loop)[:3], *(closure_rotation(mechanism, loop) if loop.weld else ZERO)]
        for loop in mechanism.constrained_loops
    ]


def columns(mechanism: Mechanism, _x: Coordinates) -> list[SquareMatrix]:
    """Return the derivatives of small `errors` by each coordinate."""
    found, rows = list[SquareMatrix](), iter(jacobian(mechanism))
    for loop in mechanism.constrained_loops:
        J_rows = [next(rows) for _ in range(6 if loop.weld else 3)]
        found.append([*J_rows, *([0] * mechanism.coordinate_count for _ in range(6 - len(J_rows)))])
    return found
