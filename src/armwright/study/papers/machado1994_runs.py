"""Tenreiro Machado and Galhano (1994): the measurements that `machado1994.py` judges.

Every method of the paper and of today runs on one motion, with a row of steps or tolerances (`work_precision_chart`);
the slope of the error over many short motions is the order of convergence; equation (6) is written out, and so is the
estimate of one step by a pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from armwright.algebra import Array, Scalar, cos, sin
from armwright.graph import Graph, OperationCount, count
from armwright.integrate import Tableau, TaylorPolynomials, method
from armwright.progress import progress_part, tracked
from armwright.robot import Robot
from armwright.study.published import tables
from armwright.study.work_precision import (
    Cost,
    MethodLine,
    Point,
    TimedMotion,
    WorkPrecision,
    fixed_line,
    pair_line,
    polynomial_line,
    series_line,
)

TABLE_1 = {int(stages): names for stages, names in tables("machado1994")["table_1"].items()}
"""Methods by their number of stages."""

FIXED = [name for names in TABLE_1.values() for name in names if method(name).error is None]
EMBEDDED_PAIRS = {
    "Fig. 4 Fehlberg": ("rkf12", "rkf23", "rkf34", "rkf45", "rkf56", "rkf78"),
    "Fig. 5 Verner": ("rkv56", "rkv67", "rkv78"),
    "Fig. 6 Butcher stand-ins": ("rkb12", "rkb24", "rkb34", "rkb45", "rkb56"),
    "Fig. 7 Dormand-Prince": ("rkdp54", "rkdp87"),
}
MODERN_METHODS = ("bs32", "tsit5", "dop853", "vern6", "vern7", "vern8", "vern9")
TAYLOR, RUNGE_KUTTA, MODERN_PAIRS, HEYOKA = (
    "Fig. 2 Taylor",
    "Fig. 3 fixed steps",
    "today's pairs",
    "heyoka's Taylor series",
)

RUN_DURATION = 10.0
RUN_SUBSTEPS = tuple(sorted({*(2**k for k in range(1, 14)), *(3 * 2**k for k in range(12))}))
POLYNOMIAL_ORDERS = (2, 3, 4, 5, 6, 8, 10)
DEGREES = tuple((p, j) for p in POLYNOMIAL_ORDERS for j in (p - 1, p))
"""The T_ij: polynomials of degree i for positions, j for velocities."""

RUN_TOLERANCES = tuple(10.0**-k for k in range(1, 15))


def work_precision_chart(
    motion: TimedMotion, taylor: Iterable[tuple[int, int]], substeps: Sequence[int], tolerances: Sequence[float]
) -> WorkPrecision:
    """Return the lines of all methods of the paper and modern ones on one motion, with their figures as families."""
    with progress_part(0.0, 0.2):
        lines: list[MethodLine | None] = [
            replace(polynomial_line(motion, TaylorPolynomials(*ij), substeps), family=TAYLOR) for ij in tracked(taylor)
        ]
    with progress_part(0.2, 0.4):
        lines += [
            replace(fixed_line(motion, method(name), substeps), name=label(name), family=RUNGE_KUTTA)
            for name in tracked(FIXED)
        ]
    with progress_part(0.4, 0.9):
        lines += [
            replace(pair_line(motion, name, "machado", tolerances), name=label(name), family=family)
            for name, family in tracked((name, family) for family, names in EMBEDDED_PAIRS.items() for name in names)
        ]
    lines += [replace(pair_line(motion, name, "pi", tolerances), family=MODERN_PAIRS) for name in MODERN_METHODS]
    series = series_line(motion)
    lines.append(series and replace(series, name="heyoka", family=HEYOKA))
    measured = tuple(line for line in lines if line is not None and line.points)
    return WorkPrecision(motion.robot.name, motion.duration, measured)


def label(name: str) -> str:
    """Return the name of a method in the paper: rkf45 is RKF4(5)."""
    tableau = method(name)
    if tableau.error is None:
        return name.upper()
    return f"{name.rstrip('0123456789').upper()}{tableau.order}({tableau.embedded})"


def figure_of_pair(name: str) -> int:
    """Return the number of the figure of an embedded pair."""
    return next(4 + k for k, names in enumerate(EMBEDDED_PAIRS.values()) if name in names)


def cost_of_error(line: MethodLine, accuracy: float, cost: Cost) -> float:
    """Return the cost of an error; infinite if it was not reached."""
    return line.cost_of_accuracy(accuracy, cost) or np.inf


def polynomials(chart: WorkPrecision, heuristic: bool) -> list[MethodLine]:
    """Return the lines of T_p,p (`heuristic`) or T_p,p-1, by order."""
    lines = [chart.line(f"T{p},{p if heuristic else p - 1}") for p in POLYNOMIAL_ORDERS]
    return [replace(line, order=p) for p, line in zip(POLYNOMIAL_ORDERS, lines, strict=True)]


M1, M2, R1, R2, J1, J2, G = 0.5, 6.25, 1.0, 0.8, 1.0, 1.0, 9.81
"""The packaged arm `rr`: none of these is in the paper."""


def equation_6(q: Sequence[Scalar], qd: Sequence[Scalar]) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar]]:
    """Return J, C and G of equation (6) as printed, for any scalar."""
    c1, c2, s2, c12 = cos(q[0]), cos(q[1]), sin(q[1]), cos(q[0] + q[1])
    off = M2 * R2**2 + M2 * R1 * R2 * c2
    J = [[(M1 + M2) * R1**2 + M2 * R2**2 + 2 * M2 * R1 * R2 * c2 + J1, off], [off, M2 * R2**2 + J2]]
    C = [
        -M2 * R1 * R2 * s2 * qd[1] * qd[1] - 2 * M2 * R1 * R2 * s2 * qd[0] * qd[1],
        M2 * R1 * R2 * s2 * qd[0] * qd[0],
    ]
    return J, C, [G * (M1 * R1 * c1 + M2 * R1 * c1 + M2 * R2 * c12), G * M2 * R2 * c12]


def hand_count() -> OperationCount:
    """Return the operation count of accelerations from (6) by Cramer's rule, with constants computed in advance."""
    graph = Graph()
    q, qd = ([graph.input(f"{name}{i}") for i in (1, 2)] for name in ("q", "qd"))
    J, C, gravity = equation_6(q, qd)
    b = [-(c + g) for c, g in zip(C, gravity, strict=True)]
    determinant = J[0][0] * J[1][1] - J[0][1] * J[0][1]
    first, second = J[1][1] * b[0] - J[0][1] * b[1], J[0][0] * b[1] - J[0][1] * b[0]
    return count([first / determinant, second / determinant])


STARTS, SPREAD, ROUNDING_FLOOR, FITTED_RANGE = 1024, 0.5, 3e-14, 5


def short_motions(arm: Robot) -> TimedMotion:
    """Return motions from random starts; their median error is smooth, as the error of a single one is not."""
    q0 = np.random.default_rng(0).uniform(-SPREAD, SPREAD, (STARTS, 2))
    return TimedMotion(arm, 1.0, q0, records=2, repeats=0)


def slope(line: MethodLine) -> float:
    """Return the order of convergence: the slope of the error over the number of steps, above rounding."""
    points = [p for p in line.points if p.error > ROUNDING_FLOOR][-FITTED_RANGE:]
    steps, errors = (np.log([getattr(p, x) for p in points]) for x in ("steps", "error"))
    return -float(np.polyfit(steps, errors, 1)[0])


HEUN_2 = ("Heun", 2, ((), (1,)), (Fraction(1, 2), Fraction(1, 2)))
HEUN_3 = ("Heun", 3, ((), (Fraction(1, 3),), (0, Fraction(2, 3))), (Fraction(1, 4), 0, Fraction(3, 4)))
KUTTA_38 = (
    "3/8 rule", 4, ((), (Fraction(1, 3),), (Fraction(-1, 3), 1), (1, -1, 1)),
    (Fraction(1, 8), Fraction(3, 8), Fraction(3, 8), Fraction(1, 8)),
)  # fmt: skip
ALTERNATIVES = {
    "rk2": (HEUN_2,),
    "rk3": (HEUN_3,),
    "rk4": (KUTTA_38,),
    "rk5": ("rkdp54", "tsit5"),
    "rk8": ("rkdp87", "dop853", "vern8"),
}
"""Other formulas of the same order, with fixed steps; names are those of pairs, whose propagated formula counts."""


def alternative(entry: str | tuple[Any, ...]) -> Tableau:
    """Return the tableau of an entry of `ALTERNATIVES`."""
    if isinstance(entry, str):
        return method(entry)
    name, order, a, b = entry
    return Tableau(f"{name} {order}", order, a, b, tuple(sum(row, Fraction(0)) for row in a)).exact(float)


def coefficient_ratios(motion: TimedMotion, chart: WorkPrecision, accuracy: float) -> dict[str, float]:
    """Return the evaluations of other formulas of one order over those of the paper."""
    ratios = {}
    for name, others in ALTERNATIVES.items():
        base = cost_of_error(chart.line(label(name)), accuracy, "evaluations")
        for other in map(alternative, others):
            ratios[other.name] = cost_of_error(fixed_line(motion, other, RUN_SUBSTEPS), accuracy, "evaluations") / base
    return ratios


STATE = np.array([-0.3, 0.8, 0.5, 1.5])
RUN_STEP = 0.025


def pair_at_tolerance(motion: TimedMotion, name: str, rule: str) -> Point:
    """Return the run of a pair at one tolerance."""
    point = motion.pair(method(name), 1e-6, rule)
    assert point is not None, f"{name} does not follow the motion at TOL = 1e-6"
    return point


def estimate_slope(arm: Robot, tableau: Tableau) -> float:
    """Return the power of h to which the error estimate of a step is proportional."""
    sizes = [_estimate(arm, tableau, h) for h in (RUN_STEP, RUN_STEP / 2)]
    return float(np.log2(sizes[0] / sizes[1]))


def _estimate(arm: Robot, tableau: Tableau, h: float) -> float:
    """Return the largest entry of |y - yhat| after a step, equation (12)."""
    k: list[Array] = []
    for row in tableau.a:
        y = STATE + h * sum((a * slope for a, slope in zip(row, k, strict=True)), np.zeros(4))
        k.append(np.concatenate([y[2:], arm.forward_dynamics(y[:2], y[2:], np.zeros(2))]))
    return float(np.max(np.abs(h * np.array(tableau.error) @ np.array(k))))
