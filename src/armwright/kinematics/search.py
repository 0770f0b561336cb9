"""Joint positions for poses of the tool, by damped Newton steps for all targets at once.

A target starts where the user says, or from that entry of a table of random positions whose pose is nearest; where it
gets stuck, from the next nearest. So what is found for a target depends on the robot, the target and the seed, not on
the other targets. Along a path every position starts from the one before.

A backend that makes whole searches (`backends.cuda.search`) goes by the same rules, `RULES`, target by target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Search, SearchResult, SearchSettings, SearchSpace, backend
from armwright.errors import InputError, ModelError, unknown
from armwright.function import compile as compile_function
from armwright.kinematics.step import DAMPING, ROWS, Range, Run, Task, as_written, compiled, traced
from armwright.lazy import cached_property
from armwright.model.description import Description
from armwright.model.records import Frame, JointModel
from armwright.model.transforms import pose_of
from armwright.trace.evaluation_strategy import has_straight_code, too_long_message

_AT_ONCE = 4096  # targets whose numbers fit in the cache
_TABLE = 256  # random positions to start from
_STEPS = 4  # from one look at the errors to the next
_UNDISTURBED = 8  # steps that may make an error larger
_LONGEST = 60  # steps from one start
_STUCK = 0.5  # of E must be gone from look to look
_APPROACHES = 8  # starts from which to approach what cannot be reached
_DESCENT = 64  # steps of each
_LESS, _MORE = 1 / 3, 4.0  # of the damping, after a step that led nearer and after one that did not
_STRIDE = 0.1  # radians, or lengths of the arm, a joint may move from one target of a path to the next
_HALVINGS = 12  # of the way between two targets of a path, before it counts as a jump
_WHOLE_TURN = 6.28  # a joint with so wide limits may turn all the way round
_CLOSENESS = 2  # weight of positions when choosing starts: two poses seldom lie as far apart as the arm is long
ROTATION = 1e-9  # by which R R^T of a pose may differ from 1

RULES = SearchSettings(
    _STEPS, _UNDISTURBED, _LONGEST, _STUCK, _APPROACHES, _DESCENT, DAMPING, _LESS, _MORE, ROTATION
)  # for who makes whole searches


@dataclass
class Solutions:
    """For every target: joint positions, the errors they leave (metres and radians), and whether they are small."""

    q: Array
    error: Array
    solved: Array

    @classmethod
    def nothing(cls, count: int, n: int) -> Solutions:
        return cls(np.zeros((count, n)), np.full((count, 2), np.inf), np.zeros(count, bool))

    @classmethod
    def stacked(cls, parts: list[Solutions]) -> Solutions:
        return cls(*(np.stack([getattr(part, name) for part in parts]) for name in ("q", "error", "solved")))

    def __getitem__(self, rows: Any) -> Solutions:
        return Solutions(self.q[rows], self.error[rows], self.solved[rows])

    def __setitem__(self, rows: Any, found: Solutions) -> None:
        self.q[rows], self.error[rows], self.solved[rows] = found.q, found.error, found.solved


@dataclass(frozen=True)
class Options:
    """How near is near enough, in metres and radians; how many starts a target has; which starts there are."""

    tolerance: float
    attempts: int
    seed: int


@dataclass(frozen=True)
class Starts:
    """Joint positions to start from, and their poses as points whose distance is an error."""

    q: Array
    points: Array


class Nearest:
    """For each target of a batch the starts that are left, nearest first."""

    def __init__(self, starts: Starts, points: Array) -> None:
        self._q = starts.q
        halves = (starts.points**2).sum(axis=1) / 2
        self._far = halves - points @ starts.points.T  # half the squared distances, but for what all starts share

    def next(self, rows: Array) -> Array:
        pick = self._far[rows].argmin(axis=1)
        self._far[rows, pick] = np.inf
        q: Array = self._q[pick]
        return q


class Solver:
    """Inverse kinematics of one robot, with respect to the position and all, part or nothing of the orientation.

    Targets T are poses (count, frames, 4, 4), of the tool or of the frames that are named; what counts of their
    orientation is one word for all, or one for each.
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
            if each not in ROWS:
                raise unknown("orientation", each, ROWS)
        if robot.mechanism().constrained_loops:
            raise InputError(f"inverse kinematics of {robot.name} would open its loops, which forces hold")
        if backend(target).search is not None:
            _check_whole(robot, target, path)
        ends = [_moving(robot.frame(name)) for name in frames] or [robot.task_frame]
        self.robot, self.nq, self.frames = robot, robot.nq, frames
        self.length = max(_reach(robot, end) for end in ends)
        turning = [_turns(robot, joint) for joint in robot.joints]
        ranges = tuple(_range(joint, turns and not path) for joint, turns in zip(robot.joints, turning, strict=True))
        places = tuple((robot.link_rows[end.link], pose_of(end.pose)) for end in ends)
        self.task = Task(orientations, self.length, ranges, tuple(joint.prismatic for joint in robot.joints), places)
        self.low, self.high = _by_entry(robot, [(joint.low, joint.high) for joint in ranges], (-math.inf, math.inf)).T
        self.turning = _by_entry(robot, turning, False)
        self.unit = _by_entry(robot, [self.length if joint.prismatic else 1.0 for joint in robot.joints], 1.0)
        self._poses = [
            compile_function(robot, "forward_kinematics", frame=name, target=target) for name in frames or (None,)
        ]
        self.target = target
        self.starts = lru_cache(maxsize=4)(self._starts)
        self._tables = lru_cache(maxsize=4)(self._table)

    @cached_property
    def run(self) -> Run:
        """One step of all states."""
        mechanism = self.robot.mechanism()
        if not has_straight_code(self.robot):
            return as_written(mechanism, self.task)
        return compiled(mechanism, self.task, self.target)

    @cached_property
    def whole(self) -> Search | None:
        """What makes whole searches, where the target has that."""
        make = backend(self.target).search
        if make is None:
            return None
        unit_vectors = tuple((ball.unit_vector.start, ball.unit_vector.stop) for ball in self.robot.balls)
        low, high, turning = (tuple(array.tolist()) for array in (self.low, self.high, self.turning))
        program = traced(self.robot.mechanism(), self.task)
        return make(program, SearchSpace(low, high, turning, unit_vectors, self.length), RULES, "float64")

    def search_whole(self, T: Any, q0: Any, options: Options) -> SearchResult:
        """As `solve`, by what makes whole searches, on arrays that it takes: poses (count, 16 frames)."""
        assert self.whole is not None
        table = self._tables(options.seed, max(options.attempts, _TABLE))
        return self.whole.run(T, q0, table, options.tolerance, options.attempts)

    def _table(self, seed: int, count: int) -> Any:
        """Starts and how far they are: as points are sums of entries of poses, so are the distances of points."""
        assert self.whole is not None
        starts, entries = self.starts(seed, count), 12 * self.task.targets
        each = np.zeros((entries, self.task.targets, 4, 4))
        each[:, :, :3] = np.eye(entries).reshape(entries, -1, 3, 4)
        half = (starts.points**2).sum(axis=1, keepdims=True) / 2
        return self.whole.table(starts.q, np.concatenate([half, starts.points @ self._points(each).T], axis=1))

    def forward_kinematics(self, q: Array) -> Array:
        """The poses (count, frames, 4, 4) at positions (count, nq)."""
        return np.stack([poses(q) for poses in self._poses], axis=1)

    def solve(self, T: Array, q0: Array | None, options: Options) -> Solutions:
        """For each of the targets, from q0 (count, nq) if given, then from the table."""
        found = Solutions.nothing(len(T), self.nq)
        count = max(1, _AT_ONCE * _TABLE // max(options.attempts, _TABLE))
        for begin in range(0, len(T), count):
            part = slice(begin, begin + count)
            found[part] = self._solve(T[part], None if q0 is None else q0[part], options)
        return found

    def follow(self, T: Array, q0: Array | None, options: Options) -> Solutions:
        """For each of the paths T (targets, paths, frames, 4, 4), every position from the one before.

        A guess straight on leads through singular positions. With more joints than the task needs there is none: they
        would drift on in directions that the tool does not see.
        """
        found = [self.solve(T[0], q0, options)]
        last, has_straight_code = found[0].q, self.robot.n <= sum(ROWS[each] for each in self.task.orientations)
        for targets in T[1:]:
            q = found[-1].q
            guess = self.robot.unit(2 * q - last) if has_straight_code else q
            found.append(self._advance(q, guess, targets, options, _HALVINGS))
            last = q
        return Solutions.stacked(found)

    def _solve(self, T: Array, q0: Array | None, options: Options) -> Solutions:
        left: Nearest | None = None

        def another(rows: Array) -> Array:
            nonlocal left
            left = left or Nearest(self.starts(options.seed, max(options.attempts, _TABLE)), self._points(T))
            return left.next(rows)

        q = another(np.arange(len(T))) if q0 is None else np.clip(q0, self.low, self.high)
        found = self._search(T, q, options.tolerance, options.attempts, another)
        self._approach(T, found, another, min(options.attempts, _APPROACHES))
        found.q = self._unwound(found.q, 0.0 if q0 is None else q0)
        return found

    def _search(
        self, T: Array, q: Array, tolerance: float, attempts: int = 1, another: Callable[[Array], Array] | None = None
    ) -> Solutions:
        """What is solved leaves; what is stuck starts from another position, or leaves after so many attempts."""
        count = len(T)
        found, wanted = Solutions.nothing(count, self.nq), _wanted(T)
        best = np.full(count, np.inf)
        at, tries, age, last = np.arange(count), np.ones(count, int), np.zeros(count, int), np.full(count, np.inf)
        while at.size:
            q, now, E = self._steps(q, wanted, tolerance, _STEPS)
            age += _STEPS
            stuck = ~now.solved & ((age > _UNDISTURBED) & (_STUCK * last < E) | (age >= _LONGEST))
            last = E
            ended = np.flatnonzero(now.solved | stuck)
            if not ended.size:
                continue
            better = ended[now.solved[ended] | (E[ended] < best[at[ended]])]
            found[at[better]], best[at[better]] = now[better], E[better]
            again = np.flatnonzero(stuck & (tries < attempts))
            if again.size and another is not None:
                q[again], age[again], last[again], stuck[again] = another(at[again]), 0, np.inf, False
                tries[again] += 1
            stay = np.flatnonzero(~(now.solved | stuck))
            at, tries, age, last = at[stay], tries[stay], age[stay], last[stay]
            q, wanted = q.T[:, stay].T, wanted.T[:, stay].T
        return found

    def _steps(self, q: Array, wanted: Array, tolerance: float, count: int = 1) -> tuple[Array, Solutions, Array]:
        """q after so many steps; q before the last of them, with its errors; and E of that."""
        before = after = q
        for _ in range(count):
            out = np.empty((len(q), self.nq + 2 * self.task.targets), order="F")
            self.run((after, wanted), out)
            before, after = after, out[:, : self.nq]
        squares = out[:, self.nq :]
        error = self._measured(np.sqrt(squares).reshape(len(q), -1, 2).max(axis=1))
        return after, Solutions(before, error, error.max(axis=1) <= tolerance), squares.sum(axis=1)

    def _measured(self, error: Array) -> Array:
        """Errors (..., 2) in metres and radians, of those that a step works with."""
        turned = 2 * np.arcsin(np.minimum(error[..., 1] / 2, 1))
        return np.stack([error[..., 0] * self.length, turned], axis=-1)

    def farthest(self, q: Array, T: Array) -> tuple[int, Array]:
        """Which of the frames is farthest off its target (frames, 4, 4) at a position, and by how much."""
        out = np.empty((1, self.nq + 2 * self.task.targets), order="F")
        self.run((q[None], _wanted(T[None])), out)
        squares = out[0, self.nq :].reshape(-1, 2)
        worst = int(squares.sum(axis=1).argmax())
        return worst, self._measured(np.sqrt(squares[worst]))

    def _approach(self, T: Array, found: Solutions, another: Callable[[Array], Array], starts: int) -> None:
        """What was not reached is approached as far as possible, from the nearest position found and other starts."""
        rows = np.flatnonzero(~found.solved)
        if rows.size:
            tried = [self._descend(T[rows], q) for q in (found.q[rows], *(another(rows) for _ in range(1, starts)))]
            best = np.argmin([E for _, E in tried], axis=0)
            found[rows] = Solutions.stacked([each for each, _ in tried])[best, np.arange(rows.size)]

    def _descend(self, T: Array, q: Array) -> tuple[Solutions, Array]:
        """By steps that lead nearer, and by no other: the damping grows until they do."""
        found, wanted, least = Solutions.nothing(len(T), self.nq), _wanted(T), np.full(len(T), np.inf)
        for _ in range(_DESCENT):
            _, now, E = self._steps(q, wanted, 0.0)
            better = least > E
            found[better], least[better] = now[better], E[better]
            wanted[:, -1] *= np.where(better, _LESS, _MORE)
            q, _, _ = self._steps(found.q, wanted, 0.0)
        return found, least

    def _advance(self, q: Array, guess: Array, T: Array, options: Options, halvings: int) -> Solutions:
        """From q to the poses T: at once where that is no jump, by way of the poses halfway where it is.

        Where there is no way, the last position on it is found.
        """
        found = self._search(T, np.clip(guess, self.low, self.high), options.tolerance)
        stride = _STRIDE * self.unit
        found.solved &= (np.abs(found.q - q) <= stride).all(axis=1)
        far = np.flatnonzero(~found.solved)
        if far.size:
            found[far] = self._by_halves(q[far], T[far], options, halvings)
        return found

    def _by_halves(self, q: Array, T: Array, options: Options, halvings: int) -> Solutions:
        """To the poses halfway, and where that went well on to T."""
        if not halvings:
            _, found, _ = self._steps(q, _wanted(T), options.tolerance)
            return found
        found = self._advance(q, q, _halfway(self.forward_kinematics(q), T), options, halvings - 1)
        there, lost = np.flatnonzero(found.solved), np.flatnonzero(~found.solved)
        if there.size:
            found[there] = self._advance(found.q[there], found.q[there], T[there], options, halvings - 1)
        if lost.size:
            found.error[lost] = self._steps(found.q[lost], _wanted(T[lost]), options.tolerance)[1].error
        return found

    def _starts(self, seed: int, count: int) -> Starts:
        spans = [_span(joint, self.length) for joint in self.robot.joints]
        low, high = _by_entry(self.robot, spans, (-self.length, self.length)).T
        rng = np.random.default_rng((seed, self.robot.n))  # not the numbers a user draws from the same seed
        q = self.robot.unit(rng.uniform(low, high, (count, self.nq)))
        return Starts(q, self._points(self.forward_kinematics(q)))

    def _points(self, T: Array) -> Array:
        """Poses as points; the square of 2 sin(angle / 2) is half the squared distance of two rotation matrices."""
        parts = [T[..., :3, 3] * (_CLOSENESS / self.length)]
        for k, orientation in enumerate(self.task.orientations):
            R = T[:, k, :3, :3]
            parts.append({"full": R * math.sqrt(0.5), "axis": R[..., 2], "free": R[..., :0]}[orientation])
        return np.concatenate([part.reshape(len(T), -1) for part in parts], axis=1)

    def _unwound(self, q: Array, reference: Array | float) -> Array:
        """Whole turns taken off or added to be near the reference, where limits allow."""
        near = q - math.tau * np.where(self.turning, np.round((q - reference) / math.tau), 0.0)
        return np.where((near >= self.low) & (near <= self.high), near, q)


def _check_whole(robot: Description, target: str, path: bool) -> None:
    """That searches can be made whole."""
    if path:
        raise InputError(
            f"path=True goes from pose to pose, and target={target!r} takes all poses at once; leave target out, or "
            "give q0 for each pose"
        )
    if not has_straight_code(robot):
        raise InputError(
            f"{too_long_message(robot, f'with target={target!r} inverse kinematics is')}; leave target out"
        )


def _wanted(T: Array) -> Array:
    """The first three rows of each pose as 12 numbers, and the damping; the poses lie side by side in memory."""
    wanted = np.full((len(T), 12 * T.shape[1] + 1), DAMPING, order="F")
    wanted[:, :-1] = T[:, :, :3].reshape(len(T), -1)
    return wanted


def _halfway(before: Array, after: Array) -> Array:
    """The poses halfway: the mean of two rotation matrices, made a rotation again, halves the angle between them."""
    mean: Array = (before + after) / 2
    U, _, Vt = np.linalg.svd(mean[..., :3, :3])
    U[..., 2] *= np.linalg.det(U @ Vt)[..., None]
    mean[..., :3, :3] = U @ Vt
    return mean


def _limits(joint: JointModel) -> tuple[float, float]:
    low, high = joint.limits or (-math.inf, math.inf)
    if low > high:
        raise ModelError(f"{joint.name}: its limits are reversed: lower {low:g} above upper {high:g}")
    return low, high


def _turns(robot: Description, joint: JointModel) -> bool:
    """Whether a whole turn of a joint leaves everything where it is: no helical one, nor one whose followers go on."""
    follows = [(row, leader) for row in robot.followers if row.mimic is not None for leader in row.mimic.leaders]
    led = [(row, factor) for row, (name, factor) in follows if name == joint.name]
    return not joint.prismatic and all(not row.prismatic and float(factor).is_integer() for row, factor in led)


def _range(joint: JointModel, turns: bool) -> Range:
    """On a path no joint may go on from its other limit: that is a jump."""
    low, high = _limits(joint)
    whole = _WHOLE_TURN < high - low < math.inf
    return Range(low, high, whole and turns)


def _span(joint: JointModel, length: float) -> tuple[float, float]:
    """Where to start: within the limits, and within a turn or the length of the arm where there are none."""
    low, high = _limits(joint)
    half = length if joint.prismatic else math.pi
    if not math.isfinite(low):
        low = high - 2 * half if math.isfinite(high) else -half
    return low, high if math.isfinite(high) else low + 2 * half


def _by_entry(robot: Description, of_joints: Sequence[Any], of_balls: Any) -> Array:
    """One row per entry of q, by those of coordinates: of a ball the same for all."""
    rows = list(of_joints)
    for ball in reversed(robot.balls):
        rows[ball.rates.start : ball.rates.stop] = [of_balls] * (ball.freedoms + 1)
    return np.array(rows)


def _moving(frame: Frame) -> Frame:
    if frame.link < 0:
        raise InputError(f"frame {frame.name!r} is fixed to the base; expected one that moves")
    return frame


def _reach(robot: Description, end: Frame) -> float:
    """The length of the outstretched way from the base to a frame, or 1 if it has none."""
    reach = float(np.linalg.norm(np.asarray(end.pose)[:3, 3]))
    rows, way = robot.rows, set(robot.mechanism().inward_from(robot.link_rows[end.link]))
    for joint in (row for i, row in enumerate(rows) if i in way):
        travel = [abs(joint.d + x) for x in _limits(joint) if joint.prismatic and math.isfinite(x)]
        reach += math.hypot(joint.a, joint.y, abs(joint.z) + max([abs(joint.d), *travel]))
    return reach or 1.0
