"""Chain lengths from which O(n) methods win: the cost of every formulation over length, counted and measured.

Mohan and Saha (2007, table 1) ask from how many joints on a recursion beats forming and factoring the mass matrix. The
answer depends on the robot (a general one, one with numbers, a planar one), on what is counted, and on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from armwright.algebra import Array
from armwright.formulations import Formulation, find_formulation, formulations, problem_of
from armwright.function import compile as compile_function
from armwright.graph import OperationCount
from armwright.pages.report.plot import Curve, Plot, figures
from armwright.progress import tracked
from armwright.robot import Robot, random_robot
from armwright.study.bench import best_of, filling_call
from armwright.study.operation_counts import POLYNOMIAL_DEGREE, VALID_FROM, count_operations, polynomial, products
from armwright.study.published import evaluate
from armwright.trace.evaluation_strategy import MAX_UNROLLED_JOINTS

CROSSING_PROBLEMS = ("forward_dynamics", "mass_matrix", "inverse_dynamics")

MIN_CROSSING_JOINTS, MAX_CROSSING_JOINTS = VALID_FROM, 200
MAX_CUSTOMISED_JOINTS = 14
"""The longest chain with numbers, which is traced size by size; formulas of a general robot hold for any n."""

COMPETITORS = {
    "forward_dynamics": ("articulated_body", "denoc", "composite_body", "gibbs_appell", "denoc_cholesky"),
    "mass_matrix": ("composite_body", "gibbs_appell", "denoc", "natural_orthogonal_complement"),
    "inverse_dynamics": ("cartesian_tensor", "newton_euler", "denoc", "equilibrium"),
}
"""The formulations that are also counted for robots with numbers."""

TIMED_FORMULATIONS = {
    "forward_dynamics": (("articulated_body", "denoc", "composite_body"), (4, 6, 8, 10, 12, 16, MAX_UNROLLED_JOINTS)),
    "mass_matrix": (("composite_body", "gibbs_appell", "natural_orthogonal_complement"), (4, 8, 16)),
    "inverse_dynamics": (("cartesian_tensor", "newton_euler", "equilibrium"), (4, 8, 16)),
}
"""The formulations and numbers of joints that are timed as straight code."""

CHAIN_LOOPS = {"forward_dynamics": "articulated_body", "inverse_dynamics": "cartesian_tensor"}
LONG_CHAINS = (32, 64, 128, MAX_CROSSING_JOINTS)
NUMPY_SIZES = (4, 8, 16, 32, 64)

CROSSING_STATES = {"straight code": 1024, "loop": 256, "NumPy": 32}
CROSSING_ROUNDS = 3


@dataclass(frozen=True)
class ChainCost:
    """A formulation and numbers of joints."""

    problem: str
    name: str
    kind: str
    sizes: tuple[int, ...]

    @property
    def degree(self) -> int:
        return POLYNOMIAL_DEGREE[find_formulation(self.problem, self.name).order]


@dataclass(frozen=True)
class Cost(ChainCost):
    """Operations for each number of joints of a `kind` of robot; products include divisions, as in the papers."""

    products: tuple[int, ...]
    sums: tuple[int, ...]
    formulas: tuple[str, str] = ("", "")

    @property
    def both(self) -> tuple[int, ...]:
        return tuple(a + b for a, b in zip(self.products, self.sums, strict=True))


@dataclass(frozen=True)
class Timing(ChainCost):
    """Seconds per state; its `kind` is straight code, loop or NumPy."""

    seconds: tuple[float, ...]


class Crossing(NamedTuple):
    """The numbers of joints from which one needs fewer products, fewer sums, and fewer of both; None if never."""

    products: int | None
    sums: int | None
    both: int | None

    def __str__(self) -> str:
        return " / ".join("-" if n is None else str(n) for n in self)


@dataclass(frozen=True)
class Race:
    """All counts and timings."""

    costs: tuple[Cost, ...]
    timings: tuple[Timing, ...] = ()

    def crossings(self, problem: str) -> list[tuple[str, str, dict[str, Crossing]]]:
        """Return each formulation with each of higher order, and their crossings by kind of robot."""
        crossings: dict[tuple[str, str], dict[str, Crossing]] = {}
        for a, b in _rivals([cost for cost in self.costs if cost.problem == problem]):
            crossings.setdefault((a.name, b.name), {})[a.kind] = compute_crossings(a, b)
        return [(*pair, by_kind) for pair, by_kind in crossings.items()]

    def measured_crossings(self) -> list[tuple[Timing, Timing, float | None]]:
        """Return each timing with each of higher order, and the length at which they cross."""
        return [(a, b, faster_from(a, b)) for a, b in _rivals(self.timings)]

    def page(self) -> str:
        tables = [("Counted: a general robot", formula_rows(self.costs))]
        tables += [
            (f"Fewer operations from n = ... on: {_words(p)}", crossing_rows(self, p)) for p in CROSSING_PROBLEMS
        ]
        if self.timings:
            tables += [("Measured: nanoseconds per state", time_rows(self.timings))]
            tables += [("Faster from n = ... on, measured", measured_rows(self))]
        plots = [*_count_plots(self), *_time_plots(self)]
        return figures("Where the O(n) methods win", INTRODUCTION, plots, tables, "crossing")


ChainCostT = TypeVar("ChainCostT", bound=ChainCost)


def _rivals(lines: Sequence[ChainCostT]) -> list[tuple[ChainCostT, ChainCostT]]:
    """Return the pairs of different order for the same problem and kind."""
    pairs = ((a, b) for a in lines for b in lines if (a.problem, a.kind) == (b.problem, b.kind))
    return [(a, b) for a, b in pairs if a.degree < b.degree]


INTRODUCTION = (
    "Operations of one evaluation against the number of revolute joints, and time per state. A general robot has every "
    "parameter off line; a random one has numbers, general twists and offsets; a planar one has parallel axes and "
    "gravity in its plane. Three numbers n stand for fewer products / fewer sums / fewer of both together. Times are "
    "those of this machine, one core, best of several: straight code and loops are compiled for a random robot, NumPy "
    "is the formulation as written, over arrays of states."
)


def race(most: int = MAX_CROSSING_JOINTS, customised: int = MAX_CUSTOMISED_JOINTS, measure: bool = True) -> Race:
    """Return counts of all formulations up to `most` joints, of COMPETITORS for robots with numbers, and timings."""
    jobs = [partial(general, f, most) for problem in CROSSING_PROBLEMS for f in formulations(problem)]
    for problem, names in COMPETITORS.items():
        jobs += [
            partial(special, find_formulation(problem, name), kind, customised) for kind in ROBOTS for name in names
        ]
    costs, timings = tuple[Cost, ...](), tuple[Timing, ...]()
    for counting in tracked((True, False) if measure else (True,)):
        if counting:
            costs = tuple(job() for job in tracked(jobs))
        else:
            timings = measured()
    return Race(costs, timings)


def general(method: Formulation, most: int) -> Cost:
    """Return the cost for a general robot, traced for short chains and by exact formulas for others."""
    fitted = range(VALID_FROM, VALID_FROM + POLYNOMIAL_DEGREE[method.order] + 2)
    count = partial(count_operations, method.problem, method.name)
    formulas = fitted_formulas(fitted, [count(joints=n) for n in fitted])
    few = [count(joints=n) for n in range(1, min(VALID_FROM, most + 1))]
    many = [tuple(int(evaluate(text, n)) for text in formulas) for n in range(VALID_FROM, most + 1)]
    return Cost(
        *(method.problem, method.name, "general", tuple(range(1, most + 1))),
        (*map(products, few), *(a for a, _ in many)),
        (*(c.additions for c in few), *(b for _, b in many)),
        formulas,
    )


def fitted_formulas(sizes: Sequence[int], counts: Sequence[OperationCount]) -> tuple[str, str]:
    """Return products and sums as polynomials in the number of joints."""
    return polynomial(sizes, [products(c) for c in counts]), polynomial(sizes, [c.additions for c in counts])


def special(method: Formulation, kind: str, most: int) -> Cost:
    """Return the cost for a robot with numbers, with constants folded."""
    sizes = tuple(range(1, most + 1))
    counts = [count_operations(method.problem, method.name, robot=ROBOTS[kind](n)) for n in sizes]
    return Cost(
        method.problem, method.name, kind, sizes, tuple(map(products, counts)), tuple(c.additions for c in counts)
    )


def planar_robot(n: int) -> Robot:
    """Return a robot with parallel axes, gravity in their plane, and different links."""
    rng = np.random.default_rng(n)
    lengths, masses = rng.uniform(0.2, 0.6, n).tolist(), rng.uniform(0.5, 5.0, n).tolist()
    rows = [
        {"type": "revolute", "alpha": 0.0, "a": a, "d": 0.0, "mass": m, "com": [length / 2, 0, 0], "inertia": inertia}
        for a, length, m in zip([0.0, *lengths], lengths, masses, strict=False)
        for inertia in [[1e-3 * m, m * length**2 / 12, m * length**2 / 12, 0, 0, 0]]
    ]
    return Robot.from_dh(rows, convention="modified", name=f"planar{n}", gravity=[0.0, -9.81, 0.0])


ROBOTS: dict[str, Callable[[int], Robot]] = {
    "random": lambda n: random_robot(n, 1, prismatic=0.0),
    "planar": planar_robot,
}


def compute_crossings(a: Cost, b: Cost) -> Crossing:
    """Return the lengths from which `a` needs fewer operations than `b`."""
    pairs = ((a.products, b.products), (a.sums, b.sums), (a.both, b.both))
    return Crossing(*(cheaper_from(a.sizes, *pair) for pair in pairs))


def cheaper_from(sizes: Sequence[int], these: Sequence[float], those: Sequence[float]) -> int | None:
    """Return the smallest n from which `these` stay smaller; None if they are not at the largest n."""
    last = max((i for i, (x, y) in enumerate(zip(these, those, strict=True)) if x >= y), default=-1)
    return sizes[last + 1] if last + 1 < len(sizes) else None


def faster_from(a: Timing, b: Timing) -> float | None:
    """Return the length at which the times of a and b cross last, interpolated between sizes in logarithms."""
    times_a, times_b = (dict(zip(t.sizes, t.seconds, strict=True)) for t in (a, b))
    both = [n for n in a.sizes if n in times_b]
    ratios = [math.log(times_a[n] / times_b[n]) for n in both]
    if not ratios or ratios[-1] >= 0:
        return None
    slower = max((i for i, r in enumerate(ratios) if r >= 0), default=None)
    if slower is None:
        return float(both[0])
    share = ratios[slower] / (ratios[slower] - ratios[slower + 1])
    return math.exp((1 - share) * math.log(both[slower]) + share * math.log(both[slower + 1]))


def measured() -> tuple[Timing, ...]:
    """Return the timings of straight code for short chains, of chain loops, and of NumPy for comparison."""
    jobs: list[Callable[[], Iterator[Timing]]] = []
    for problem, (names, sizes) in TIMED_FORMULATIONS.items():
        jobs.append(partial(_timed, problem, "straight code", names, sizes, _compiled))
    for problem, name in CHAIN_LOOPS.items():
        jobs.append(partial(_timed, problem, "loop", (name,), LONG_CHAINS, _loop))
    names, _ = TIMED_FORMULATIONS["forward_dynamics"]
    jobs.append(partial(_timed, "forward_dynamics", "NumPy", names, NUMPY_SIZES, _numpy))
    return tuple(timing for job in tracked(jobs) for timing in job())


Runner = Callable[[Robot, str, str, list[Array]], Callable[[], object]]


def _timed(problem: str, how: str, names: Sequence[str], sizes: Sequence[int], runner: Runner) -> Iterator[Timing]:
    """Yield the timings of all formulations, alternating at each size."""
    best: dict[str, list[float]] = {name: [] for name in names}
    for n in tracked(sizes):
        robot = ROBOTS["random"](n)
        rng = np.random.default_rng(0)
        states = [rng.uniform(-1, 1, (CROSSING_STATES[how], n)) for _ in problem_of(problem).arguments]
        jobs = {name: (CROSSING_STATES[how], runner(robot, problem, name, states)) for name in names}
        for name, seconds in best_of(jobs, CROSSING_ROUNDS).items():
            best[name].append(seconds)
    for name in names:
        yield Timing(problem, name, how, tuple(sizes), tuple(best[name]))


def _compiled(robot: Robot, problem: str, name: str | None, states: list[Array]) -> Callable[[], object]:
    return filling_call(compile_function(robot, problem, name), states)


def _loop(robot: Robot, problem: str, _name: str, states: list[Array]) -> Callable[[], object]:
    """Return a call of the chain loop, which belongs to the default formulation of long chains."""
    return _compiled(robot, problem, None, states)


def _numpy(robot: Robot, problem: str, name: str, states: list[Array]) -> Callable[[], object]:
    method, mechanism = find_formulation(problem, name), robot.mechanism()
    columns = [list(np.ascontiguousarray(x.T)) for x in states]
    return lambda: method(mechanism, *columns)


def _words(problem: str) -> str:
    return problem.replace("_", " ")


Rows = list[list[str]]


def formula_rows(costs: Sequence[Cost], sizes: Sequence[int] = (1, 2, 6, 12, 24, 50, 100, 200)) -> Rows:
    """Return the table of formulas, and of all operations at several sizes."""
    shown = [n for n in sizes if n <= max(len(c.sizes) for c in costs)]
    rows = [["problem", "formulation", "products", "sums", *(f"n = {n}" for n in shown)]]
    for c in costs:
        if c.kind == "general":
            rows.append([_words(c.problem), c.name, *c.formulas, *(f"{c.both[n - 1]:,}" for n in shown)])
    return rows


def crossing_rows(race: Race, problem: str) -> Rows:
    """Return the table of the lengths from which one formulation needs fewer operations than another."""
    rows = [["winner", "over", "general", *ROBOTS]]
    for winner, loser, by_kind in race.crossings(problem):
        rows.append([winner, loser, *(str(by_kind.get(kind, "")) for kind in ("general", *ROBOTS))])
    return rows


def time_rows(timings: Sequence[Timing]) -> Rows:
    """Return the table of measured times."""
    sizes = sorted({n for t in timings for n in t.sizes})
    rows = [["problem", "formulation", "how", *(f"n = {n}" for n in sizes)]]
    for t in timings:
        at = dict(zip(t.sizes, t.seconds, strict=True))
        rows.append([_words(t.problem), t.name, t.kind, *(f"{at[n] * 1e9:,.0f}" if n in at else "" for n in sizes)])
    return rows


def measured_rows(race: Race) -> Rows:
    """Return the table of measured crossings."""
    rows = [["problem", "how", "winner", "over", "faster from n ="]]
    for a, b, n in race.measured_crossings():
        where = f"- (not up to {a.sizes[-1]})" if n is None else f"{n:.1f}" if n > a.sizes[0] else f"{n:.0f} or less"
        rows.append([_words(a.problem), a.kind, a.name, b.name, where])
    return rows


def _count_plots(race: Race) -> Iterator[Plot]:
    for problem in CROSSING_PROBLEMS:
        yield _count_plot(race, problem, "general")
    for kind in ROBOTS:
        yield _count_plot(race, "forward_dynamics", kind)


def _count_plot(race: Race, problem: str, kind: str) -> Plot:
    curves = [
        _per_joint(_short(c.name), c.sizes, c.both, dashed=c.degree > 1)
        for c in race.costs
        if (c.problem, c.kind) == (problem, kind)
    ]
    title, note = f"{_words(problem).capitalize()}: a {kind} robot", "Level lines are O(n). Dashed: more than O(n)."
    return _plot(title, "products and sums per joint", curves, note)


def _time_plots(race: Race) -> Iterator[Plot]:
    for problem in CROSSING_PROBLEMS:
        curves = []
        for t in race.timings:
            if t.problem == problem:
                label = "" if t.kind == "straight code" else f", {t.kind}"
                nanoseconds = [1e9 * seconds for seconds in t.seconds]
                curves.append(_per_joint(_short(t.name) + label, t.sizes, nanoseconds, dashed=bool(label), marks=True))
        if curves:
            title, note = (
                f"{_words(problem).capitalize()}: measured",
                "One core, random robot; straight code unless stated.",
            )
            yield _plot(title, "nanoseconds per state and joint", curves, note)


def _per_joint(name: str, sizes: Sequence[int], costs: Sequence[float], dashed: bool, marks: bool = False) -> Curve:
    return Curve(name, sizes, [cost / n for n, cost in zip(sizes, costs, strict=True)], marks=marks, dashed=dashed)


def _short(name: str) -> str:
    """Return a short name for a legend."""
    return name.replace("natural_orthogonal_complement", "natural_o_c").replace("_gauss_jordan", ", Gauss-J.")


def _plot(title: str, y: str, curves: Sequence[Curve], note: str) -> Plot:
    return Plot(title, "joints", y, curves, x_log=True, y_log=True, note=note)
