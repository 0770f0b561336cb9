"""Inverse kinematics by damped Newton steps, for all targets at once.

A search starts from the given position, or from the nearest of some random positions; if it stalls, from the next
nearest. The result for a target depends on the robot, the target and the seed, not on other targets. Along a path, each
search starts from the position before.

Backends that search on their device use the same `SEARCH_SETTINGS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Search, SearchResult, SearchSettings, SearchSpace, backend
from armwright.errors import InputError, unknown
from armwright.function import compile as compile_function
from armwright.kinematics.joint_ranges import is_periodic, joint_range, moving_frame, per_entry, reach, start_range
from armwright.kinematics.step import (
    ERROR_ROWS,
    NEWTON_DAMPING,
    StepFunction,
    Task,
    compile_step,
    trace_step,
    uncompiled_step,
)
from armwright.lazy import cached_property
from armwright.model.description import Description
from armwright.model.transforms import pose_of
from armwright.trace.evaluation_strategy import has_straight_code, too_long_message

_BLOCK_SIZE = 4096  # targets solved together: their numbers fit in the cache
_TABLE_SIZE = 256  # random positions to start from
_CHECK_INTERVAL = 4  # steps between checks of the errors
_GRACE_STEPS = 8  # initial steps in which the error may grow
_MAX_STEPS = 60  # from one start
_STALL_RATIO = 0.5  # a search stalls if more than this part of E is left at the next check
_DESCENT_STARTS = 8  # starts from which an unreachable target is approached
_DESCENT_STEPS = 64  # steps of each approach
_DAMPING_DECREASE, _DAMPING_INCREASE = 1 / 3, 4.0  # factors after a step that reduces E or not
_MAX_PATH_STEP = 0.1  # radians, or lengths of the arm, a joint may move from one target of a path to the next
_MAX_HALVINGS = 12  # of the distance between two targets of a path; then it counts as a jump
_POSITION_WEIGHT = 2  # of positions in the distance of starts: they seldom differ by the length of the arm
ROTATION_TOLERANCE = 1e-9  # largest difference of R R^T of a pose from 1

SEARCH_SETTINGS = SearchSettings(
    _CHECK_INTERVAL,
    _GRACE_STEPS,
    _MAX_STEPS,
    _STALL_RATIO,
    _DESCENT_STARTS,
    _DESCENT_STEPS,
    NEWTON_DAMPING,
    _DAMPING_DECREASE,
    _DAMPING_INCREASE,
    ROTATION_TOLERANCE,
)
"""The settings of backends that search on their device."""


NextStart: TypeAlias = Callable[[Array], Array]
"""A function of indices of targets that returns their next starts."""


@dataclass
class Solutions:
    """Joint positions for every target, their errors (metres and radians), and which of them are solutions."""

    q: Array
    error: Array
    solved: Array

    @classmethod
    def unsolved(cls, count: int, n: int) -> Solutions:
        """Return solutions that are all unsolved."""
        return cls(np.zeros((count, n)), np.full((count, 2), np.inf), np.zeros(count, bool))

    @classmethod
    def stacked(cls, parts: list[Solutions]) -> Solutions:
        """Return solutions stacked along a new first axis."""
        return cls(*(np.stack([getattr(part, name) for part in parts]) for name in ("q", "error", "solved")))

    def __getitem__(self, rows: Any) -> Solutions:
        return Solutions(self.q[rows], self.error[rows], self.solved[rows])

    def __setitem__(self, rows: Any, found: Solutions) -> None:
        self.q[rows], self.error[rows], self.solved[rows] = found.q, found.error, found.solved


@dataclass(frozen=True)
class Options:
    """Tolerance in metres and radians, number of starts per target, and seed of the starts."""

    tolerance: float
    attempts: int
    seed: int


@dataclass(frozen=True)
class Starts:
    """Start positions, and their poses as points: the distance of points measures pose errors."""

    q: Array
    points: Array


class NearestStarts:
    """The unused starts of each target of a batch, nearest first."""

    def __init__(self, starts: Starts, points: Array) -> None:
        self._q = starts.q
        # half the squared distance, up to a constant
        self._distances = (starts.points**2).sum(axis=1) / 2 - points @ starts.points.T

    def next(self, rows: Array) -> Array:
        """Return the next starts of these targets."""
        pick = self._distances[rows].argmin(axis=1)
        self._distances[rows, pick] = np.inf
        q: Array = self._q[pick]
        return q


class Solver:
    """Inverse kinematics of one robot, for positions with full, partial or free orientation.

    Targets T are poses (count, frames, 4, 4) of the tool or of named frames; `orientation` is one for all frames,
    or one for each.
    """

    def __init__(
        self,
        robot: Description,
        orientation: str | tuple[str, ...],
        path: bool = False,
        frames: tuple[str, ...] = (),
        target: str = "cpu",
    ) -> None:
        orientations = (orientation,) * max(len(frames), 1) if isinstance(orientation, str) else orientation
        for each in orientations:
            if each not in ERROR_ROWS:
                raise unknown("orientation", each, ERROR_ROWS)
        if robot.mechanism().constrained_loops:
            raise InputError(
                f"inverse kinematics of {robot.name} would open its loop constraints; expected a robot without them"
            )
        if backend(target).search is not None:
            _check_device_search(robot, target, path)
        ends = [moving_frame(robot.frame(name)) for name in frames] or [robot.task_frame]
        self.robot, self.nq, self.frames = robot, robot.nq, frames
        self.length = max(reach(robot, end) for end in ends)
        periodic = [is_periodic(robot, joint) for joint in robot.joints]
        pairs = zip(robot.joints, periodic, strict=True)
        ranges = tuple(joint_range(joint, wraps and not path) for joint, wraps in pairs)
        places = tuple((robot.link_rows[end.link], pose_of(end.pose)) for end in ends)
        self.task = Task(orientations, self.length, ranges, tuple(joint.prismatic for joint in robot.joints), places)
        self.low, self.high = per_entry(robot, [(joint.low, joint.high) for joint in ranges], (-math.inf, math.inf)).T
        self.periodic_entries = per_entry(robot, periodic, False)
        self.unit = per_entry(robot, [self.length if joint.prismatic else 1.0 for joint in robot.joints], 1.0)
        self._poses = [
            compile_function(robot, "forward_kinematics", frame=name, target=target) for name in frames or (None,)
        ]
        self.target = target
        self.starts = lru_cache(maxsize=4)(self._starts)
        self._tables = lru_cache(maxsize=4)(self._table)

    @cached_property
    def newton_step(self) -> StepFunction:
        """The Newton step of all targets."""
        mechanism = self.robot.mechanism()
        if not has_straight_code(self.robot):
            return uncompiled_step(mechanism, self.task)
        return compile_step(mechanism, self.task, self.target)

    @cached_property
    def device_search(self) -> Search | None:
        """The search on the device of the target, or None."""
        make = backend(self.target).search
        if make is None:
            return None
        unit_vectors = tuple((ball.unit_vector.start, ball.unit_vector.stop) for ball in self.robot.balls)
        low, high, periodic = (tuple(array.tolist()) for array in (self.low, self.high, self.periodic_entries))
        program = trace_step(self.robot.mechanism(), self.task)
        space = SearchSpace(low, high, periodic, unit_vectors, self.length)
        return make(program, space, SEARCH_SETTINGS, "float64")

    def search_on_device(self, T: Any, q0: Any, options: Options) -> SearchResult:
        """Solve on the device for poses (count, 16 frames), which are arrays of that device."""
        assert self.device_search is not None
        table = self._tables(options.seed, max(options.attempts, _TABLE_SIZE))
        return self.device_search.run(T, q0, table, options.tolerance, options.attempts)

    def _table(self, seed: int, count: int) -> Any:
        """Return starts with the coefficients of their distances, linear in the entries of poses."""
        assert self.device_search is not None
        starts, entries = self.starts(seed, count), 12 * self.task.targets
        each = np.zeros((entries, self.task.targets, 4, 4))
        each[:, :, :3] = np.eye(entries).reshape(entries, -1, 3, 4)
        half = (starts.points**2).sum(axis=1, keepdims=True) / 2
        return self.device_search.table(starts.q, np.concatenate([half, starts.points @ self._points(each).T], axis=1))

    def forward_kinematics(self, q: Array) -> Array:
        """Return the poses (count, frames, 4, 4) at positions (count, nq)."""
        return np.stack([poses(q) for poses in self._poses], axis=1)

    def solve(self, T: Array, q0: Array | None, options: Options) -> Solutions:
        """Return solutions for all targets, from q0 (count, nq) if there is one, then from the table."""
        found = Solutions.unsolved(len(T), self.nq)
        count = max(1, _BLOCK_SIZE * _TABLE_SIZE // max(options.attempts, _TABLE_SIZE))
        for begin in range(0, len(T), count):
            part = slice(begin, begin + count)
            found[part] = self._solve(T[part], None if q0 is None else q0[part], options)
        return found

    def follow(self, T: Array, q0: Array | None, options: Options) -> Solutions:
        """Return solutions for the paths T (targets, paths, frames, 4, 4), every position from the one before.

        Extrapolation gets past singular positions. With redundant joints it would cause drift at rest of the tool.
        """
        found = [self.solve(T[0], q0, options)]
        last, extrapolate = found[0].q, self.robot.n <= sum(ERROR_ROWS[each] for each in self.task.orientations)
        for targets in T[1:]:
            q = found[-1].q
            guess = self.robot.unit(2 * q - last) if extrapolate else q
            found.append(self._advance(q, guess, targets, options, _MAX_HALVINGS))
            last = q
        return Solutions.stacked(found)

    def _solve(self, T: Array, q0: Array | None, options: Options) -> Solutions:
        queue: NearestStarts | None = None

        def next_start(rows: Array) -> Array:
            nonlocal queue
            queue = queue or NearestStarts(
                self.starts(options.seed, max(options.attempts, _TABLE_SIZE)), self._points(T)
            )
            return queue.next(rows)

        q = next_start(np.arange(len(T))) if q0 is None else np.clip(q0, self.low, self.high)
        found = self._search(T, q, options.tolerance, options.attempts, next_start)
        self._approach(T, found, next_start, min(options.attempts, _DESCENT_STARTS))
        found.q = self._without_full_turns(found.q, 0.0 if q0 is None else q0)
        return found

    def _search(
        self,
        T: Array,
        q: Array,
        tolerance: float,
        attempts: int = 1,
        next_start: Callable[[Array], Array] | None = None,
    ) -> Solutions:
        """Search for all targets; a search that stalls restarts from the next position, up to `attempts` times."""
        count = len(T)
        found, inputs = Solutions.unsolved(count, self.nq), _step_inputs(T)
        best = np.full(count, np.inf)
        target, starts, age, last = np.arange(count), np.ones(count, int), np.zeros(count, int), np.full(count, np.inf)
        while target.size:
            q, current, E = self._steps(q, inputs, tolerance, _CHECK_INTERVAL)
            age += _CHECK_INTERVAL
            stuck = ~current.solved & ((age > _GRACE_STEPS) & (_STALL_RATIO * last < E) | (age >= _MAX_STEPS))
            last = E
            finished = np.flatnonzero(current.solved | stuck)
            if not finished.size:
                continue
            better = finished[current.solved[finished] | (E[finished] < best[target[finished]])]
            found[target[better]], best[target[better]] = current[better], E[better]
            restart = np.flatnonzero(stuck & (starts < attempts))
            if restart.size and next_start is not None:
                q[restart], age[restart], last[restart], stuck[restart] = next_start(target[restart]), 0, np.inf, False
                starts[restart] += 1
            remaining = np.flatnonzero(~(current.solved | stuck))
            target, starts, age, last = target[remaining], starts[remaining], age[remaining], last[remaining]
            q, inputs = q.T[:, remaining].T, inputs.T[:, remaining].T
        return found

    def _steps(self, q: Array, inputs: Array, tolerance: float, count: int = 1) -> tuple[Array, Solutions, Array]:
        """Return q after `count` steps, the solutions before the last step, and E, their sums of squared errors."""
        before = after = q
        for _ in range(count):
            out = np.empty((len(q), self.nq + 2 * self.task.targets), order="F")
            self.newton_step((after, inputs), out)
            before, after = after, out[:, : self.nq]
        squares = out[:, self.nq :]
        error = self._in_units(np.sqrt(squares).reshape(len(q), -1, 2).max(axis=1))
        return after, Solutions(before, error, error.max(axis=1) <= tolerance), squares.sum(axis=1)

    def _in_units(self, error: Array) -> Array:
        """Return the errors (..., 2) of a step in metres and radians."""
        angle = 2 * np.arcsin(np.minimum(error[..., 1] / 2, 1))
        return np.stack([error[..., 0] * self.length, angle], axis=-1)

    def worst_error(self, q: Array, T: Array) -> tuple[int, Array]:
        """Return the frame with the largest error at a position q (nq,), and that error."""
        out = np.empty((1, self.nq + 2 * self.task.targets), order="F")
        self.newton_step((q[None], _step_inputs(T[None])), out)
        squares = out[0, self.nq :].reshape(-1, 2)
        worst = int(squares.sum(axis=1).argmax())
        return worst, self._in_units(np.sqrt(squares[worst]))

    def _approach(self, T: Array, found: Solutions, next_start: NextStart, starts: int) -> None:
        """Minimise the errors of unsolved targets, from the best position found and from other starts."""
        rows = np.flatnonzero(~found.solved)
        if rows.size:
            tried = [self._descend(T[rows], q) for q in (found.q[rows], *(next_start(rows) for _ in range(1, starts)))]
            best = np.argmin([E for _, E in tried], axis=0)
            found[rows] = Solutions.stacked([each for each, _ in tried])[best, np.arange(rows.size)]

    def _descend(self, T: Array, q: Array) -> tuple[Solutions, Array]:
        """Return positions of least E, and E, from steps whose damping grows until E falls."""
        found, inputs, lowest = Solutions.unsolved(len(T), self.nq), _step_inputs(T), np.full(len(T), np.inf)
        for _ in range(_DESCENT_STEPS):
            _, now, E = self._steps(q, inputs, 0.0)
            better = lowest > E
            found[better], lowest[better] = now[better], E[better]
            inputs[:, -1] *= np.where(better, _DAMPING_DECREASE, _DAMPING_INCREASE)
            q, _, _ = self._steps(found.q, inputs, 0.0)
        return found, lowest

    def _advance(self, q: Array, guess: Array, T: Array, options: Options, halvings: int) -> Solutions:
        """Return solutions at the poses T near q: directly, or through poses halfway if a joint would jump.

        Without such a path, the result is the last position reached.
        """
        found = self._search(T, np.clip(guess, self.low, self.high), options.tolerance)
        step = _MAX_PATH_STEP * self.unit
        found.solved &= (np.abs(found.q - q) <= step).all(axis=1)
        rest = np.flatnonzero(~found.solved)
        if rest.size:
            found[rest] = self._advance_by_halves(q[rest], T[rest], options, halvings)
        return found

    def _advance_by_halves(self, q: Array, T: Array, options: Options, halvings: int) -> Solutions:
        """Return solutions through the poses halfway."""
        if not halvings:
            _, found, _ = self._steps(q, _step_inputs(T), options.tolerance)
            return found
        found = self._advance(q, q, _halfway(self.forward_kinematics(q), T), options, halvings - 1)
        reached, failed = np.flatnonzero(found.solved), np.flatnonzero(~found.solved)
        if reached.size:
            found[reached] = self._advance(found.q[reached], found.q[reached], T[reached], options, halvings - 1)
        if failed.size:
            found.error[failed] = self._steps(found.q[failed], _step_inputs(T[failed]), options.tolerance)[1].error
        return found

    def _starts(self, seed: int, count: int) -> Starts:
        spans = [start_range(joint, self.length) for joint in self.robot.joints]
        low, high = per_entry(self.robot, spans, (-self.length, self.length)).T
        rng = np.random.default_rng((seed, self.robot.n))  # not the numbers a user draws from the same seed
        q = self.robot.unit(rng.uniform(low, high, (count, self.nq)))
        return Starts(q, self._points(self.forward_kinematics(q)))

    def _points(self, T: Array) -> Array:
        """Return poses as points; (2 sin(angle / 2))^2 is half the squared distance of two rotation matrices."""
        parts = [T[..., :3, 3] * (_POSITION_WEIGHT / self.length)]
        for k, orientation in enumerate(self.task.orientations):
            R = T[:, k, :3, :3]
            parts.append({"full": R * math.sqrt(0.5), "axis": R[..., 2], "free": R[..., :0]}[orientation])
        return np.concatenate([part.reshape(len(T), -1) for part in parts], axis=1)

    def _without_full_turns(self, q: Array, reference: Array | float) -> Array:
        """Return q less the full turns that separate it from the reference, if limits allow."""
        near = q - math.tau * np.where(self.periodic_entries, np.round((q - reference) / math.tau), 0.0)
        return np.where((near >= self.low) & (near <= self.high), near, q)


def _check_device_search(robot: Description, target: str, path: bool) -> None:
    """Raise an InputError if the device cannot search for such targets."""
    if path:
        raise InputError(
            f"path=True solves pose after pose, but target={target!r} solves all at once; omit target, or "
            "pass q0 for each pose"
        )
    if not has_straight_code(robot):
        raise InputError(f"{too_long_message(robot, f'with target={target!r} inverse kinematics is')}; omit target")


def _step_inputs(T: Array) -> Array:
    """Return the inputs of a step: the first three rows of each pose as 12 numbers, and the damping, column-major."""
    inputs = np.full((len(T), 12 * T.shape[1] + 1), NEWTON_DAMPING, order="F")
    inputs[:, :-1] = T[:, :, :3].reshape(len(T), -1)
    return inputs


def _halfway(before: Array, after: Array) -> Array:
    """Return the poses halfway: the mean of two rotation matrices, made orthonormal, halves their angle."""
    mean: Array = (before + after) / 2
    U, _, Vt = np.linalg.svd(mean[..., :3, :3])
    U[..., 2] *= np.linalg.det(U @ Vt)[..., None]
    mean[..., :3, :3] = U @ Vt
    return mean
