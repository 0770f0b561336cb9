"""Precision of all forward-dynamics formulations on one robot, in single and double precision.

Each formulation runs uncompiled, with arrays of float32 or float64 for scalars, and is compared with fifty digits
of mpmath. There are two kinds of random states, which lose digits in different ways:

falling   no torques. A formulation that forms the mass matrix M loses digits in proportion to its condition number; one
          that eliminates joint after joint may not (Ascher, Pai, Cloutier 1997; Mata et al. 2002, table 5).
driven    torques with accelerations of about 1. They nearly cancel against weight, which costs digits in every
          formulation.

The states are single-precision numbers, equal in all computations. The parameters of the robot are not: their rounding
is part of single precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.arrays import whole_number
from armwright.errors import InputError, SingularError
from armwright.formulations import default_for, find_formulation, formulations
from armwright.function import compile as compile_function
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.pages.report.plot import Curve, Plot, figures
from armwright.progress import tracked
from armwright.robot import Robot

PRECISION_DIGITS = 50
MAX_PRECISION_STATES = 100_000
"""The largest number of states; each takes a millisecond with many digits."""

PRECISION_STATES = 200
SWEEP_STATES = 180
SIMILAR_ERROR_FACTOR = 5.0
"""The factor within which mean errors count as equally good."""

PRECISION_DTYPES = ("float32", "float64")
COMPILED = "compiled by default"


@dataclass(frozen=True, eq=False)
class States:
    """Positions, velocities and torques (k, n). `x` (k,) is the swept coordinate with its `unit`, None if random."""

    name: str
    q: Array
    qd: Array
    tau: Array
    x: Array | None = None
    unit: str = ""


@dataclass(frozen=True, eq=False)
class ErrorLine:
    """The errors of a formulation in one precision, relative to the largest acceleration of each state."""

    formulation: str
    dtype: str
    errors: Array

    @property
    def largest(self) -> float:
        return float(np.max(self.errors))

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))


@dataclass(frozen=True, eq=False)
class Case:
    """All formulations on one kind of states, and the condition number of M in each state."""

    states: States
    condition: Array
    lines: tuple[ErrorLine, ...]

    def line(self, formulation: str, dtype: str) -> ErrorLine:
        return next(x for x in self.lines if (x.formulation, x.dtype) == (formulation, dtype))

    @property
    def published(self) -> list[str]:
        return [x.formulation for x in self.lines if x.dtype == PRECISION_DTYPES[0] and x.formulation != COMPILED]

    def ratio(self, formulation: str, other: str, dtype: str = "float32") -> float:
        """Return the mean error of one formulation over that of another."""
        return self.line(formulation, dtype).mean / max(self.line(other, dtype).mean, 1e-300)

    def trusted(self, dtype: str = "float32") -> list[str]:
        """Return the formulation with the smallest mean error, and equally good ones."""
        ranking = sorted(self.published, key=lambda name: self.line(name, dtype).mean)
        return [name for name in ranking if self.ratio(name, ranking[0], dtype) <= SIMILAR_ERROR_FACTOR]

    def verdict(self) -> str:
        good = self.trusted()
        others = [self.ratio(name, good[0]) for name in self.published if name not in good]
        if not others:
            return f"all formulations are alike in single precision, within a factor of {SIMILAR_ERROR_FACTOR:g}"
        return f"the least error has {' or '.join(good)}, the others {_factor(min(others))} times as much or more"


@dataclass(frozen=True, eq=False)
class Precision:
    """The precision of every formulation on one robot."""

    robot: str
    compiled: str
    cases: tuple[Case, ...]

    def score(self, formulation: str, dtype: str = "float32") -> float:
        """Return the mean error, and the geometric mean over kinds of states."""
        means = [max(case.line(formulation, dtype).mean, 1e-300) for case in self.cases]
        return math.exp(sum(map(math.log, means)) / len(means))

    def ranking(self, dtype: str = "float32") -> list[str]:
        """Return the formulations from the most to the least accurate."""
        return sorted(self.cases[0].published, key=lambda name: self.score(name, dtype))

    def verdict(self) -> list[str]:
        """Return sentences on the differences in single precision, and a recommendation."""
        sentences = [f"Condition of M: {self.condition.min():.3g} to {self.condition.max():.3g}"]
        sentences += [f"{case.states.name.capitalize()}: {case.verdict()}" for case in self.cases]
        best = self.ranking()[0]
        alike = all(len(case.trusted()) == len(case.published) for case in self.cases)
        sentences.append(f"In single precision {'take any' if alike else f'trust {best}'}")
        loss = max(case.ratio(COMPILED, best) for case in self.cases)
        if loss > SIMILAR_ERROR_FACTOR:
            sentences.append(
                f"What is compiled by default, {self.compiled}, errs up to {_factor(loss)} times as much: take "
                f'aw.compile(robot, "forward_dynamics", "{best}", dtype="float32")'
            )
        return sentences

    @property
    def condition(self) -> Array:
        return np.concatenate([case.condition for case in self.cases])

    @property
    def heads(self) -> list[str]:
        return ["formulation", *(f"{d}, {c.states.name}: {w}" for d, c in self._columns for w in ("largest", "mean"))]

    def rows(self) -> list[list[str]]:
        """Return the largest and mean error of each formulation, the best first, the compiled default last."""
        rows = []
        for name in [*self.ranking(), COMPILED]:
            lines = [case.line(name, dtype) for dtype, case in self._columns]
            shown = f"{name} ({self.compiled})" if name == COMPILED else name
            rows.append([shown, *(f"{x:.1e}" for line in lines for x in (line.largest, line.mean))])
        return rows

    @property
    def _columns(self) -> list[tuple[str, Case]]:
        return [(dtype, case) for dtype in PRECISION_DTYPES for case in self.cases]

    def page(self) -> str:
        """Return a page with the table, and a plot for each kind of states and each precision."""
        count = len(self.cases[0].condition)
        introduction = (
            f"Accelerations of {self.robot} in {count} {'swept' if self.swept else 'random'} states, against "
            f"{PRECISION_DIGITS} digits: relative errors of every formulation. {'. '.join(self.verdict())}."
        )
        plots = [_plot(case, dtype) for dtype, case in self._columns]
        if self.swept:
            plots.append(_condition_plot(self.cases[0]))
        tables = [("Relative errors of the accelerations", [self.heads, *self.rows()])]
        return figures(f"Precision of forward dynamics: {self.robot}", introduction, plots, tables, "precision")

    @property
    def swept(self) -> bool:
        return self.cases[0].states.x is not None


def precision(robot: Robot, count: int = PRECISION_STATES, seed: int = 0, joint: int | None = None) -> Precision:
    """Return the precision of all formulations on random states, or with one joint (from 0) swept at rest."""
    if not isinstance(robot, Robot):
        raise InputError(f"precision got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if not 1 <= count <= MAX_PRECISION_STATES:
        raise InputError(f"count = {count}: expected the number of states, from 1 to {MAX_PRECISION_STATES}")
    whole_number("seed", seed, 0)
    kinds = random_states(robot, count, seed) if joint is None else (sweep(robot, joint),)
    compiled = compile_function(robot, "forward_dynamics").formulation.name
    return Precision(robot.name, compiled, tuple(_case(robot, states) for states in tracked(kinds)))


def random_states(robot: Robot, count: int = PRECISION_STATES, seed: int = 0) -> tuple[States, States]:
    """Return falling and driven states with the same positions, within limits, and velocities."""
    rng = np.random.default_rng(seed)
    low, high = np.array([joint.limits or _free(joint.prismatic) for joint in robot.joints]).T
    ends = [ball.rates.stop for ball in robot.balls]
    low, high = np.insert(low, ends, -1.0), np.insert(high, ends, 1.0)
    q = robot.unit(_single(rng.uniform(low, high, (count, robot.nq))))  # unit quaternions in double precision
    qd = _single(rng.normal(size=(count, robot.n)))
    tau = _single(robot.inverse_dynamics(q, qd, rng.normal(size=(count, robot.n))))
    return States("falling", q, qd, np.zeros_like(qd)), States("driven", q, qd, tau)


def sweep(robot: Robot, joint: int, count: int = SWEEP_STATES) -> States:
    """Return states at rest without torque, with one joint swept through a turn, or through its range if prismatic."""
    if not 0 <= joint < robot.n:
        raise InputError(f"joint = {joint}: expected a whole number from 0 to {robot.n - 1}")
    swept = robot.joints[joint]
    if swept.kind in FREEDOMS_OF_KIND:
        raise InputError(f"{swept.name} is a freedom of a {swept.kind} joint, which has no angle to go through")
    low, high = (swept.limits or _free(True)) if swept.prismatic else (0.0, math.tau)
    values = np.linspace(low, high, count, endpoint=False)
    q, rest = np.tile(robot.neutral, (count, 1)), np.zeros((count, robot.n))
    q[:, robot.entries[joint]] = values
    x, unit = (values, "m") if swept.prismatic else (np.degrees(values), "deg")
    return States("sweep", _single(q), rest, rest, x, f"{swept.name} [{unit}]")


def accelerations(robot: Robot, formulation: str, states: States, dtype: str) -> Array:
    """Return the results of a formulation, uncompiled, in this precision: (k, n), as float64."""
    number: Any = np.dtype(dtype).type
    columns = [list(np.ascontiguousarray(x.T, dtype)) for x in (states.q, states.qd, states.tau)]
    with np.errstate(all="ignore"):  # what overflows shows as an infinite error
        values = find_formulation("forward_dynamics", formulation)(robot.mechanism(number), *columns)
    result = np.stack(np.broadcast_arrays(*values), axis=-1)
    if result.dtype != dtype:
        raise TypeError(f"{formulation} computed in {result.dtype}, not in {dtype}")
    return result.astype(float)


def exact_accelerations(robot: Robot, states: States, digits: int = PRECISION_DIGITS) -> Array:
    """Return the accelerations with this number of digits: (k, n) numbers of mpmath."""
    mpmath = _mpmath()
    solve = default_for("forward_dynamics", robot.mechanism())
    with mpmath.workdps(digits):
        mechanism = robot.mechanism(mpmath.mpf)
        moments = zip(states.q.tolist(), states.qd.tolist(), states.tau.tolist(), strict=True)
        try:
            rows = [solve(mechanism, *([mpmath.mpf(x) for x in row] for row in m)) for m in tracked(moments)]
        except ZeroDivisionError:
            raise SingularError(
                f"{robot.name} has a singular mass matrix: armwright.problems(robot) says why"
            ) from None
    return np.array(rows, dtype=object)


def _case(robot: Robot, states: States) -> Case:
    exact = exact_accelerations(robot, states)
    condition = np.linalg.cond(robot.mass_matrix(states.q))
    lines = []
    for dtype in PRECISION_DTYPES:
        for f in formulations("forward_dynamics"):
            if not f.takes(robot.mechanism()):
                continue
            lines.append(ErrorLine(f.name, dtype, _errors(accelerations(robot, f.name, states, dtype), exact)))
        compiled = compile_function(robot, "forward_dynamics", dtype=dtype)
        result = compiled(*(x.astype(dtype) for x in (states.q, states.qd, states.tau)))
        lines.append(ErrorLine(COMPILED, dtype, _errors(result.astype(float), exact)))
    return Case(states, condition, tuple(lines))


def _errors(result: Array, exact: Array) -> Array:
    """Return the largest error over the largest acceleration in each state; infinite after an overflow."""
    good = np.isfinite(result).all(axis=1)
    errors = np.full(len(result), np.inf)
    size = np.abs(exact[good]).max(axis=1)
    size[size == 0] = 1  # absolute errors without accelerations
    errors[good] = (np.abs(result[good] - exact[good]).max(axis=1) / size).astype(float)
    return errors


def _plot(case: Case, dtype: str) -> Plot:
    """Return the plot of errors along a sweep, or sorted for random states."""
    states, limit = case.states, float(np.finfo(dtype).eps) / 2
    lines = [case.line(name, dtype) for name in (*case.published, COMPILED)]
    share = (np.arange(len(case.condition)) + 0.5) / len(case.condition)
    x, ordered = (share, np.sort) if states.x is None else (states.x, np.asarray)
    curves = [Curve(line.formulation, x.tolist(), ordered(line.errors).tolist()) for line in lines]
    curves.append(Curve("rounding * condition", x.tolist(), ordered(limit * case.condition).tolist(), dashed=True))
    note = "" if states.x is not None else "Each curve: the errors of one formulation from the smallest to the largest."
    label = states.unit or "share of the states"
    box = (78, 40, 320, 48)
    return Plot(f"{dtype}, {states.name}", label, "relative error", curves, y_log=True, note=note, width=860, _box=box)


def _condition_plot(case: Case) -> Plot:
    assert case.states.x is not None
    curve = Curve("condition of M", case.states.x.tolist(), case.condition.tolist())
    log_scale = bool(case.condition.max() > 20 * case.condition.min())
    return Plot("Condition number of the mass matrix", case.states.unit, "", [curve], y_log=log_scale)


def _factor(x: float) -> str:
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}"


def _free(prismatic: bool) -> tuple[float, float]:
    """Return the range of a joint without limits."""
    return (-1.0, 1.0) if prismatic else (-math.pi, math.pi)


def _single(x: Array) -> Array:
    """Return numbers rounded to single precision."""
    return x.astype(np.float32).astype(float)


def _mpmath() -> Any:
    try:
        import mpmath  # noqa: PLC0415
    except ImportError:
        raise InputError(f"{PRECISION_DIGITS} digits need mpmath: pip install 'armwright[precision]'") from None
    return mpmath
