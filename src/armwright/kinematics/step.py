"""One damped Newton step of a robot towards target poses, over any scalar: traced and compiled, or run on arrays.

    e        error of the pose in the axes of the tool: position over `length`, then rotation; for several frames, one
             after the other
    J        the rows of the tip Jacobian that change e; prismatic joints count in units of `length`, too
    E        e . e

A step solves (J^T J + mu) dq = J^T e with mu = damping min(E, 1) + MIN_DAMPING (Levenberg and Marquardt's matrix,
damped as Chan and Lawrence 1988). As mu falls with the square of the error, convergence stays quadratic, even at a
singular target whose solutions are not isolated (Fan and Yuan 2005). A joint at a limit that would leave its range does
not move; a joint with full rotation continues from its other limit.

The rotational error is 2 sin(angle / 2) about the axis of rotation. Unlike the sum of cross products, which is
sin(angle) long, it is largest for a tool that points in the opposite direction. In the axes of the tool, a task with
free rotation about the tool's z axis has no sixth row. A ball or free joint moves along its tangent and back to a unit
quaternion: a rotation by the step, up to terms of third order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array, Matrix, Scalar, Vector, Z, dot, elementary, structural, total
from armwright.backends.interface import backend
from armwright.formulations.parts.coordinates import mechanism_at, positions, tangent, to_coordinates
from armwright.formulations.parts.linear import cholesky
from armwright.formulations.parts.types import Coordinates
from armwright.formulations.quantities.kinematics import link_frames, tip_columns, tool_frame
from armwright.graph.angles import expand_sines
from armwright.graph.expression import Expr, Graph
from armwright.graph.program import Program
from armwright.mechanism import Mechanism, Pose, position_entry

ERROR_ROWS = {"full": 6, "axis": 5, "free": 3}
"""Number of rows of the error, by the part of the orientation that counts."""

NEWTON_DAMPING = 0.03
"""Damping for nearly every robot and target: a smaller value overshoots, a larger one converges slowly."""

MIN_DAMPING = 1e-12
"""Damping that keeps the matrix regular at a solution with a singular Jacobian."""

MIN_SQUARED_COSINE = 1e-6
"""Near half a turn cos^2(angle / 2), up to a factor of four, falls below it: sines do not determine the axis there."""

_sqrt = elementary("sqrt")


@dataclass(frozen=True)
class JointRange:
    """The limits of a joint, infinite if it has none; `wraps` if it may continue from the other limit."""

    low: float
    high: float
    wraps: bool

    def free(self, q: Scalar, pull: Scalar) -> Scalar:
        """Return 0 for a joint at a limit that the step would exceed, else 1."""
        if self.wraps:
            return 1
        above = _choose(q - self.low, 1, _choose(pull, 1, 0)) if math.isfinite(self.low) else 1
        below = _choose(self.high - q, 1, _choose(-pull, 1, 0)) if math.isfinite(self.high) else 1
        return above * below

    def within(self, q: Scalar) -> Scalar:
        """Return the position within the limits."""
        if self.wraps:
            q = q - _choose(q - self.high, math.tau, _choose(self.low - q, -math.tau, 0))
        q = _larger(q, self.low) if math.isfinite(self.low) else q
        return _smaller(q, self.high) if math.isfinite(self.high) else q


@dataclass(frozen=True)
class Task:
    """The parts of poses that count, the length that scales position errors, and the ranges of coordinates.

    `ends` are the frames with targets, as link and pose on it; by default the tool.
    """

    orientations: tuple[str, ...]
    length: float
    joints: tuple[JointRange, ...]
    sliding: tuple[bool, ...]
    ends: tuple[tuple[int, Pose], ...] = ()

    @property
    def targets(self) -> int:
        """Number of frames with targets."""
        return len(self.ends) or 1


def newton_step(mechanism: Mechanism, task: Task, q: Coordinates, goal: Coordinates) -> list[Scalar]:
    """Return q after the step, then the squared errors before it: position over length and rotation of each frame.

    `goal` are the first three rows of each target pose, and the damping.
    """
    *target, damping = goal
    mechanism_at_q = mechanism_at(mechanism, q)
    x = positions(mechanism_at_q, q)
    views = [replace(mechanism_at_q, tip=link, tool=pose) for link, pose in task.ends] or [mechanism_at_q]
    errors = [
        _error(view, task.length, orientation, x, target[12 * k : 12 * k + 12])
        for k, (view, orientation) in enumerate(zip(views, task.orientations, strict=True))
    ]
    e = [component for error in errors for component in error]
    units = [task.length if sliding else 1 for sliding in task.sliding]
    parts = [_columns(view, task, x, len(error)) for view, error in zip(views, errors, strict=True)]
    J = [[x for part in column for x in part] for column in zip(*parts, strict=True)]
    pull = [dot(column, e) for column in J]  # the descent of E along each joint
    entries = _entries(mechanism)
    free = [joint.free(q[entries.get(i, 0)], p) for i, (joint, p) in enumerate(zip(task.joints, pull, strict=True))]
    J = [[x * k for x in column] for column, k in zip(J, free, strict=True)]
    squares = [dot(part, part) for error in errors for part in (error[:3], error[3:])]
    mu = _smaller(total(squares), 1) * damping + MIN_DAMPING
    e = [x for error, square in zip(errors, squares[::2], strict=True) for x in _limited(error, square)]
    change = [dx * unit for dx, unit in zip(_damped(J, e, mu), units, strict=True)]
    moved = _moved(mechanism, q, change)
    for i, place in entries.items():
        moved[place] = task.joints[i].within(moved[place])
    return [*moved, *squares]


def _limited(error: list[Scalar], square: Scalar) -> list[Scalar]:
    """Limit the position error to one length, for targets out of reach."""
    scale = 1 / _sqrt(_larger(square, 1))
    return [x * scale for x in error[:3]] + error[3:]


def _entries(mechanism: Mechanism) -> dict[int, int]:
    """Return the entry of q of each coordinate outside of balls."""
    of_balls = {i for ball in mechanism.balls for i in ball.rates}
    return {i: position_entry(mechanism.balls, i) for i in range(mechanism.coordinate_count) if i not in of_balls}


def _moved(mechanism: Mechanism, q: Coordinates, change: list[Scalar]) -> list[Scalar]:
    """Return q after a change of its coordinates, with unit quaternions."""
    if not mechanism.balls:
        return [x + dx for x, dx in zip(q, change, strict=True)]
    moved = []
    for x, row in zip(q, tangent(mechanism, q), strict=True):
        moved.append(x + total([t * dx for t, dx in zip(row, change, strict=True) if not structural(t, 0)]))
    for ball in mechanism.balls:
        unit = moved[ball.unit_vector]
        scale = 1 / _sqrt(dot(unit, unit))
        moved[ball.unit_vector] = [x * scale for x in unit]
    return moved


def _error(mechanism: Mechanism, length: float, orientation: str, q: Coordinates, target: Coordinates) -> list[Scalar]:
    tip = tool_frame(mechanism, link_frames(mechanism, q))
    target_pose = Pose(Matrix(*(Vector(*target[k : k + 3]) for k in (0, 4, 8))), Vector(*target[3::4]))
    to_tip = tip.rotation.T
    position = list((to_tip @ (target_pose.position - tip.position)) * (1 / length))
    if orientation == "free":
        return position
    if orientation == "axis":
        return position + _axis_error(to_tip @ (target_pose.rotation @ Z))
    return position + _rotation_error(to_tip.dot(target_pose.rotation))


def _rotation_error(R: Matrix) -> list[Scalar]:
    """Return 2 sin(angle / 2) times the axis of R: twice the vector part of its quaternion.

    It follows from the sines of R except near half a turn. There it is the longest column of
    4 sin^2(angle / 2) axis axis^T, from the symmetric part of R, over half its length, with either sign.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    cosine = 1 + xx + yy + zz  # 4 cos^2(angle / 2)
    regular = Vector(zy - yz, xz - zx, yx - xy) * (1 / _sqrt(_larger(cosine, MIN_SQUARED_COSINE)))
    diagonal = 1 + xx - yy - zz, 1 + yy - xx - zz, 1 + zz - xx - yy
    sums = xy + yx, xz + zx, yz + zy
    columns = (
        (diagonal[0], sums[0], sums[1], diagonal[0]),  # the last is the square of the length, over 4
        (sums[0], diagonal[1], sums[2], diagonal[1]),
        (sums[1], sums[2], diagonal[2], diagonal[2]),
    )
    longest = _choose_all(diagonal[0] - diagonal[1], columns[0], columns[1])
    longest = _choose_all(diagonal[2] - longest[3], columns[2], longest)
    scale = 1 / _sqrt(_larger(longest[3], 1))  # near half a turn it is 4/3 or more
    return _choose_all(cosine - MIN_SQUARED_COSINE, regular, [x * scale for x in longest[:3]])


def _axis_error(z: Vector) -> list[Scalar]:
    """Return the error of the shortest rotation of the tool's z axis onto `z`; it has no z component."""
    cosine = (1 + z.z) * 0.5  # cos^2(angle / 2)
    scale = 1 / _sqrt(_larger(cosine, MIN_SQUARED_COSINE))
    return _choose_all(cosine - MIN_SQUARED_COSINE, [-(z.y * scale), z.x * scale], [2, 0])


def _columns(mechanism: Mechanism, task: Task, x: Coordinates, rows: int) -> list[list[Scalar]]:
    """Return the columns of J; those of prismatic joints count in units of length."""
    columns = [[*column.l, *column.e] for column in tip_columns(mechanism, x)]
    of_coordinates = zip(*(to_coordinates(mechanism, row) for row in zip(*columns, strict=True)), strict=True)
    J = []
    for sliding, column in zip(task.sliding, of_coordinates, strict=True):
        position_scale, rotation_scale = (1, task.length) if sliding else (1 / task.length, 1)
        J.append([*(x * position_scale for x in column[:3]), *(x * rotation_scale for x in column[3:])][:rows])
    return J


def _damped(J: Sequence[Sequence[Scalar]], e: Sequence[Scalar], mu: Scalar) -> list[Scalar]:
    """Return (J^T J + mu)^-1 J^T e = J^T (J J^T + mu)^-1 e for the columns of J, by the smaller matrix."""
    if len(J) <= len(e):
        return cholesky(_gram(J, mu), [dot(column, e) for column in J])
    y = cholesky(_gram(list(zip(*J, strict=True)), mu), e)
    return [dot(column, y) for column in J]


def _gram(vectors: Sequence[Sequence[Scalar]], mu: Scalar) -> list[list[Scalar]]:
    """Return the lower triangle of the matrix of inner products, with mu added to its diagonal."""
    products = [[dot(u, v) for v in vectors[: i + 1]] for i, u in enumerate(vectors)]
    for i, row in enumerate(products):
        row[i] = row[i] + mu
    return products


def _choose(x: Scalar, positive: Scalar, otherwise: Scalar) -> Scalar:
    """Return `positive` if x is above zero, for each state."""
    return x.select(positive, otherwise) if isinstance(x, Expr) else np.where(x > 0, positive, otherwise)


def _choose_all(x: Scalar, positive: Sequence[Scalar], otherwise: Sequence[Scalar]) -> list[Scalar]:
    return [_choose(x, a, b) for a, b in zip(positive, otherwise, strict=True)]


def _larger(x: Scalar, y: float) -> Scalar:
    return x.maximum(y) if isinstance(x, Expr) else np.maximum(x, y)


def _smaller(x: Scalar, y: float) -> Scalar:
    return x.minimum(y) if isinstance(x, Expr) else np.minimum(x, y)


StepFunction = Callable[[tuple[Array, Array], Array], object]
"""run((q, goal), out): arrays (states, nq) and (states, 12 k + 1) fill (states, nq + 2 k), for k frames."""


def trace_step(mechanism: Mechanism, task: Task) -> Program:
    """Return the step as a program of q and `goal`."""
    graph = Graph()
    q = tuple(graph.input(f"q{i + 1}") for i in range(mechanism.position_count))
    goal = tuple(graph.input(f"goal{k}") for k in range(12 * task.targets + 1))
    values = newton_step(mechanism, task, q, goal)
    return expand_sines(Program((("q", q), ("goal", goal)), tuple(values), (len(values),)))


def compile_step(mechanism: Mechanism, task: Task, target: str = "cpu") -> StepFunction:
    """Return the step as a function compiled for a target."""
    program = trace_step(mechanism, task)
    kernel = backend(target).kernel(program, "float64")

    def one(*state: Array) -> Array:
        out: Array = np.empty(len(program.outputs))
        kernel.run([x[None] for x in state], out[None])
        return out

    alone = kernel.single(one)  # faster than `run`, which checks its arrays; arrays it cannot take go to `one`

    def run(inputs: tuple[Array, Array], out: Array) -> None:
        if len(out) == 1:
            out[0] = alone(inputs[0][0], inputs[1][0])
        else:
            kernel.run(inputs, out)

    return run


def uncompiled_step(mechanism: Mechanism, task: Task) -> StepFunction:
    """Return the step with arrays as scalars, for chains too long to compile."""

    def run(inputs: tuple[Array, Array], out: Array) -> None:
        for k, values in enumerate(newton_step(mechanism, task, *(list(array.T) for array in inputs))):
            out[:, k] = values

    return run
