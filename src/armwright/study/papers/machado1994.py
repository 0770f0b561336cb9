"""Tenreiro Machado, Galhano (1994), 'Evaluation of manipulator direct dynamics using customized Runge-Kutta methods'.

Figures 2 to 7 show the largest error of a trajectory against computing time: Taylor polynomials, Runge-Kutta methods
with fixed steps, embedded pairs with the step rule (14), all customised to a planar arm of two links. The figures have
no numbers, and robot data, start, torque, duration and machine are not printed: what can be checked is what the paper
reads off them, on a motion of our choice. The same is then asked of larger arms and of today's methods.

A trend is judged case by case: it 'holds', in every case, or 'holds in most cases'.
docs/papers/machado1994.md says what customising means here, and how it is timed; `machado1994_runs.py` measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

import armwright as aw
from armwright.check.evaluation import evaluate_function
from armwright.graph import count
from armwright.integrate import TaylorPolynomials, method
from armwright.pages.report.plot import COLOURS, Curve, Plot
from armwright.progress import progress_part, tracked
from armwright.robot import Robot
from armwright.study.papers import machado1994_runs as runs
from armwright.study.papers.finding import (
    Against,
    Finding,
    PaperStudy,
    above,
    at_most,
    below,
    claim,
    compare,
    tally,
    theory,
    trend,
    unchecked,
)
from armwright.study.papers.judgement import Bound
from armwright.study.papers.machado1994_residuals import residuals
from armwright.study.papers.machado1994_runs import (
    DEGREES,
    EMBEDDED_PAIRS,
    FIXED,
    POLYNOMIAL_ORDERS,
    cost_of_error,
    label,
    polynomials,
    work_precision_chart,
)
from armwright.study.work_precision import (
    MACHADO,
    Cost,
    MethodLine,
    TimedMotion,
    WorkPrecision,
    fixed_line,
    log_log,
    polynomial_line,
)

PAPER_ACCURACIES = (1e-3, 1e-6, 1e-8, 1e-10, 1e-12)

FINE, MIDDLE = 1e-10, 1e-6
"""Errors at which methods are compared."""


def study() -> PaperStudy:
    """Return the study of the paper."""
    rr = aw.load("rr")
    motion = TimedMotion(rr, runs.RUN_DURATION, [0.0, 0.0], records=10)
    with progress_part(0.0, 0.3):
        chart = work_precision_chart(motion, DEGREES, runs.RUN_SUBSTEPS, runs.RUN_TOLERANCES)
    larger = ((aw.load("puma560"), (2, 4, 6)), (aw.random_robot(7, 1, prismatic=0), (2, 4)))
    with progress_part(0.3, 0.7):
        arms = [Larger(*each) for each in tracked(larger)]
    with progress_part(0.7, 0.95):
        slopes = orders(rr)
    indexes, drawn = residuals()
    findings = (
        *table_1(),
        *equations_6(rr),
        *customised(motion),
        complexity(motion, arms[0].motion),
        *slopes,
        *figure_2(motion, chart),
        *figure_3(motion, chart),
        *figures_4_to_7(chart),
        *step_rule(motion),
        *indexes,
        *omitted_parts(),
        *quickest(chart, "figures 2-7"),
        *(finding for arm in arms for finding in arm.findings()),
    )
    plots = (*redrawn(chart), *drawn, *(plot for arm in arms for plot in arm.plots()))
    title = "Tenreiro Machado, Galhano 1994: customised Runge-Kutta methods"
    return PaperStudy("machado1994", title, summary(chart, findings), findings, plots)


def summary(chart: WorkPrecision, findings: Sequence[Finding]) -> str:
    """Return the summary of the study, by its chart."""
    best = ", ".join(
        f"{found[0]} for {accuracy:.0e} ({found[1] * 1e6:.0f} us)"
        for accuracy in PAPER_ACCURACIES
        if (found := chart.best(accuracy)) is not None
    )
    return (
        "The paper's conclusion holds on every arm: the finer the accuracy, the higher the order that pays, and at "
        "1e-10 orders from 8 on need a fraction of the work of order 4. Taylor polynomials and Runge-Kutta formulas of "
        "one order need the same number of steps; the heuristic T_pp gains a whole order, not a little. Step control "
        "saves steps and loses most of the gain in evaluations. Rule (14) has a misprint. Quickest on the RR arm for "
        f"{runs.RUN_DURATION:g} s of motion, as measured here: {best}. Findings: {tally(findings)}."
    )


def short(value: float) -> str:
    """Return a number with three digits, and thousands as k and M."""
    if not np.isfinite(value):
        return "-"
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def named_ratios(names: Iterable[str], values: Iterable[float]) -> str:
    """Return names and values as one text."""
    return ", ".join(f"{name} {short(value)}" for name, value in zip(names, values, strict=True))


def spread(values: Iterable[float]) -> str:
    """Return the smallest and largest of several values as text."""
    found = list(values)
    return f"{min(found):.2f} to {max(found):.2f}, median {np.median(found):.2f}"


def order_ranking(
    where: str, lines: Sequence[MethodLine], accuracy: float, cost: Cost, why: str = "", timed: bool = False
) -> Finding:
    """Return the finding that a higher order reaches an error at less cost, for all pairs of different order."""
    costs = [cost_of_error(line, accuracy, cost) for line in lines]
    pairs = [
        (costs[i], costs[j])
        for i, low in enumerate(lines)
        for j, high in enumerate(lines)
        if low.order < high.order and min(costs[i], costs[j]) < np.inf
    ]
    scale, unit = (1e6, "us") if cost == "seconds" else (1.0, cost)
    obtained = f"{', '.join(short(c * scale) for c in costs)} {unit} from {lines[0].name} to {lines[-1].name}"
    what = f"the higher the order the fewer {cost} for an error of {accuracy:.0e}"
    return trend(where, what, "fewer", obtained, [below(high, low) for low, high in pairs], why, timed)


# Table 1 and the equations


def table_1() -> list[Finding]:
    """Return the findings on table 1: the coefficients of the methods."""
    found = []
    for stages, names in runs.TABLE_1.items():
        for name in names:
            tableau = method(name)
            what = f"stages of {label(name)}"
            if tableau.status == "stand-in":
                why = "our coefficients stand in for those of Butcher's book, chosen with this number of stages"
                found.append(unchecked("table 1", what, str(stages), why, str(tableau.stages)))
            else:
                found.append(compare("table 1", what, str(stages), tableau.stages))
    return found


def equations_6(arm: Robot) -> list[Finding]:
    """Return the findings that the packaged arm has the equations of the paper."""
    q, qd = np.random.default_rng(0).uniform(-2, 2, (2, 100, 2))
    ours = {
        "(6a) inertia matrix": arm.mass_matrix(q),
        "(6b) Coriolis and centripetal torques": arm.bias(q, qd) - arm.gravity_torque(q),
        "(6c) gravity torques": arm.gravity_torque(q),
    }
    found = []
    for k, (what, values) in enumerate(ours.items()):
        printed = evaluate_function(lambda _, *state, k=k: runs.equation_6(*state)[k], arm, q, qd)
        off = float(np.max(np.abs(printed - values)))
        found.append(claim("equation (6)", what, "the formula", f"apart by {off:.0e} at most", below(off, 1e-12)))
    return found


def customised(motion: TimedMotion) -> list[Finding]:
    """Return the findings on section 2.2: customising removes unnecessary operations, and loops."""
    general = min(
        (aw.count_operations("forward_dynamics", f.name, joints="RR") for f in aw.formulations("forward_dynamics")),
        key=lambda c: c.total,
    )
    ours, hand = count(motion.program.outputs), runs.hand_count()
    return [
        claim(
            "section 2.2", "tracing needs no more operations than (6) and Cramer's rule by hand",
            f"{hand.total} by hand", f"{ours.total} by tracing", at_most(ours.total, hand.total),
            against=Against.THEORY,
        ),
        claim(
            "section 2.2", "customising removes most of the operations", "important",
            f"{general.total} for any RR arm, {ours.total} for this one", below(ours.total, general.total / 2),
        ),
    ]  # fmt: skip


def complexity(small: TimedMotion, large: TimedMotion) -> Finding:
    """'The derivation of the symbolic formulae for the c_ij becomes very complex for higher values of p and n'."""
    cases = ((small, 2), (small, 10), (large, 2), (large, 6))
    sizes = {f"{m.robot.name} T{p},{p}": count(m.increment(TaylorPolynomials(p, p)).outputs).total for m, p in cases}
    few, more, larger, most = sizes.values()
    obtained = f"operations of a step: {named_ratios(sizes, sizes.values())}"
    what = "formulas of the series grow with order and joints"
    times = [above(more, 5 * few), above(larger, 5 * few), above(most, 5 * larger)]
    return claim("section 2.2", what, "very complex", obtained, times, words="5 times the smaller:")


# Orders of convergence


def orders(arm: Robot) -> list[Finding]:
    """Return the findings on orders of convergence, by the slope of the median error of many short motions."""
    motion = runs.short_motions(arm)
    substeps = sorted({*range(1, 9), *(k * 2**i for i in range(8) for k in (4, 5, 6, 7))})
    found = []
    for name in (name for names in runs.TABLE_1.values() for name in names):
        where, tableau = f"figure {3 if name in FIXED else runs.figure_of_pair(name)}", method(name)
        why = tableau.note if name == "rkf12" else ""
        found.append(_order(where, label(name), tableau.order, fixed_line(motion, tableau, substeps), why))
    for i, j in DEGREES:
        why = f"counted as order {i} in the paper; the velocity polynomial decides" if j < i else ""
        found.append(
            _order("figure 2", f"T{i},{j}", j, polynomial_line(motion, TaylorPolynomials(i, j), substeps), why)
        )
    return sorted(found, key=lambda finding: finding.where)


def _order(where: str, name: str, order: int, line: MethodLine, why: str) -> Finding:
    """Return the finding that compares the order of a formula with the slope of its error."""
    measured = runs.slope(line)
    if order == 10:
        why = "above rounding higher terms still count; with 50 digits the slope is 10 (tests)"
    return theory(where, f"order of convergence of {name}", order, measured, 0.5, why)


# Figure 2


def figure_2(motion: TimedMotion, chart: WorkPrecision) -> list[Finding]:
    """Return the findings on figure 2: Taylor polynomials."""
    standard, heuristic = polynomials(chart, False), polynomials(chart, True)
    where = "figure 2"
    better = [x for lines in (standard, heuristic) for low, high in pairwise(lines) for x in _better(low, high)]
    gains = [
        cost_of_error(a, MIDDLE, "steps") / cost_of_error(b, MIDDLE, "steps")
        for a, b in zip(standard, heuristic, strict=True)
    ]
    names = [f"p = {p}:" for p in POLYNOMIAL_ORDERS]
    limited = "one more term in the velocity raises the order of convergence from p - 1 to p; only for high orders, "
    return [
        trend(
            where, "the higher the order the smaller the error, for as many steps", "smaller", "smaller", better,
            "at steps of a quarter of a second the series has yet to converge",
        ),
        _by_operations(motion, heuristic),
        order_ranking(where, heuristic, FINE, "seconds", "a step more or less of the coarse grid of steps", timed=True),
        trend(
            where, "T_pp beats T_p,p-1", "improvement", f"times fewer steps for 1e-06: {named_ratios(names, gains)}",
            [above(gain, 1) for gain in gains],
        ),
        trend(
            where, "the improvement of T_pp is limited", "limited", f"times fewer steps: {named_ratios(names, gains)}",
            [below(gain, 1.5) for gain in gains],
            limited + "where an order more is a small share, is the gain limited. T_p+1,p costs as much and is better",
        ),
    ]  # fmt: skip


def _better(low: MethodLine, high: MethodLine) -> list[Bound]:
    """Return the bounds that the second line is better at every common step, above rounding."""
    errors = {p.setting: p.error for p in high.points}
    return [below(errors[p.setting], p.error) for p in low.points if p.setting in errors and p.error > 1e-11]


def _by_operations(motion: TimedMotion, lines: Sequence[MethodLine]) -> Finding:
    """Return the finding on order against number of steps, by operations."""
    each = [count(motion.increment(TaylorPolynomials(p, p)).outputs).total for p in POLYNOMIAL_ORDERS]
    costs = [n * cost_of_error(line, FINE, "steps") for n, line in zip(each, lines, strict=True)]
    obtained = f"operations for 1e-10: {named_ratios((line.name for line in lines), costs)}"
    cases = [below(b, a) for a, b in pairwise(costs) if b < np.inf]
    return trend("figure 2", "a higher order is a better investment than more steps", "better", obtained, cases)


# Figure 3


def figure_3(motion: TimedMotion, chart: WorkPrecision) -> list[Finding]:
    """Return the findings on figure 3: Runge-Kutta methods with fixed steps."""
    where, lines = "figure 3", [chart.line(label(name)) for name in FIXED]
    crowded = "near the least, orders 5 to 10 differ little at this accuracy: a step of RK10 has 17 stages"
    return [
        order_ranking(where, lines, FINE, "evaluations"),
        order_ranking(where, lines, MIDDLE, "evaluations", crowded),
        order_ranking(where, lines, FINE, "seconds", crowded, timed=True),
        *order_8_against_4(where, chart),
        _taylor_and_runge_kutta(chart, POLYNOMIAL_ORDERS),
        _coefficients(motion, chart),
    ]


def order_8_against_4(where: str, chart: WorkPrecision) -> list[Finding]:
    """Return the findings on orders 8 and 10 with fixed steps against the classical method."""
    costs: tuple[tuple[Cost, bool], ...] = (("evaluations", False), ("seconds", True))
    found = []
    for cost, timed in costs:
        base = cost_of_error(chart.line("RK4"), FINE, cost)
        ratios = [base / cost_of_error(chart.line(name), FINE, cost) for name in ("RK8", "RK10")]
        obtained = f"times fewer: {named_ratios(('RK8', 'RK10'), ratios)}"
        what = f"{cost} of orders 8 and 10 for an error of 1e-10, against order 4"
        cases = [above(ratio, 5) for ratio in ratios]
        found.append(trend(where, what, "fewer", obtained, cases, "less than 5 times", timed))
    return found


def _taylor_and_runge_kutta(
    chart: WorkPrecision, taylor: Sequence[int], where: str = "figure 3", accuracy: float = MIDDLE
) -> Finding:
    """'The Taylor series expansion and the RK method have similar properties'."""
    ratios = {}
    for p in (p for p in taylor if f"rk{p}" in FIXED):
        series, formula = (chart.line(name).cost_of_accuracy(accuracy, "steps") for name in (f"T{p},{p}", f"RK{p}"))
        if series and formula:
            ratios[p] = series / formula
    obtained = f"steps for {accuracy:.0e}, T_pp over RK p: {spread(ratios.values())}"
    alike = [below(max(ratio, 1 / ratio), 2) for ratio in ratios.values()]
    what = "Taylor and Runge-Kutta of one order are alike, within a factor of two"
    return trend(where, what, "similar", obtained, alike)


def _coefficients(motion: TimedMotion, chart: WorkPrecision) -> Finding:
    """'Alternative sets of numerical coefficients produce minor differences'."""
    ratios = runs.coefficient_ratios(motion, chart, MIDDLE)
    obtained = f"evaluations for 1e-06 over those of RK2, 3, 4, 5, 5, 8, 8, 8: {named_ratios(ratios, ratios.values())}"
    cases = [below(max(ratio, 1 / ratio), 1.5) for ratio in ratios.values()]
    why = "formulas published since are tuned for a small error term"
    what = "coefficients of one order differ little, by half at most"
    return trend("figure 3", what, "minor differences", obtained, cases, why)


# Figures 4 to 7


def figures_4_to_7(chart: WorkPrecision) -> list[Finding]:
    """Return the findings on figures 4 to 7: embedded pairs."""
    found = []
    for family in EMBEDDED_PAIRS:
        lines = [line for line in chart.lines if line.family == family]
        found.append(order_ranking(family[:6].replace("Fig.", "figure"), lines, 1e-8, "evaluations"))
    return [*found, *_gains(chart, "figures 4-7")]


def _gains(chart: WorkPrecision, where: str) -> list[Finding]:
    """Return the findings on variable against fixed steps of the same order: steps, evaluations and time."""
    gains: dict[Cost, dict[str, float]] = {"steps": {}, "evaluations": {}, "seconds": {}}
    for line in (line for line in chart.lines if line.family in EMBEDDED_PAIRS):
        fixed = chart.line(f"RK{line.order}")
        if line.cost_of_accuracy(MIDDLE) and fixed.cost_of_accuracy(MIDDLE):
            for cost, ratios in gains.items():
                ratios[line.name] = cost_of_error(fixed, MIDDLE, cost) / cost_of_error(line, MIDDLE, cost)
    steps = gains.pop("steps")
    holds = {name: above(ratio, 1) for name, ratio in steps.items()}
    found = [_gain(where, "variable steps are fewer, for 1e-06", "superior", steps, holds)]
    for cost, ratios in gains.items():
        what = f"more than half of that gain is lost in {cost}"
        lost = {name: below(np.log(left), 0.5 * np.log(steps[name])) for name, left in ratios.items()}
        made = _gain(where, what, "lost to a great extent", ratios, lost)
        found.append(replace(made, timed=cost == "seconds"))
    return found


def _gain(where: str, what: str, published: str, ratios: dict[str, float], holds: dict[str, Bound]) -> Finding:
    why = "not so with " + ", ".join(name for name, bound in holds.items() if not bound.holds)
    return trend(where, what, published, f"fixed over variable: {spread(ratios.values())}", [*holds.values()], why)


# The step rule


def step_rule(motion: TimedMotion) -> list[Finding]:
    """Return the findings on the rule that chooses steps."""
    names = [name for names in EMBEDDED_PAIRS.values() for name in names]
    powers = {name: runs.estimate_slope(motion.robot, method(name)) for name in names}
    off = [abs(power - method(name).estimate_order) for name, power in powers.items()]
    printed = [abs(power - 1 - max(method(name).order, method(name).embedded or 0)) for name, power in powers.items()]
    points = {rule: [runs.pair_at_tolerance(motion, name, rule) for name in names] for rule in MACHADO}
    more = [100 * a.evaluations / b.evaluations - 100 for a, b in zip(*points.values(), strict=True)]
    failed = [100 * point.rejected / (point.rejected + point.steps) for point in points["machado"]]
    return [
        trend(
            "equation (13)", "the error estimate goes as h^(min(p, q) + 1)", "min(p, q) + 1",
            f"measured power of h: off by {max(off):.2f} at most", [below(x, 0.5) for x in off],
        ),
        claim(
            "equation (14)", "exponent of TOL/LTE", "1/max(p,q)+1", "1/(min(p, q) + 1), by (13)",
            [below(x, 0.5) for x in printed],
            "a misprint, and brackets are missing; read as 1/(max(p, q) + 1), as here, it makes a difference of "
            f"{min(more):+.0f} to {max(more):+.0f} % in evaluations at TOL = 1e-6",
            words="1/exponent and power of h, apart by",
        ),
        trend(
            "section 3.2", "estimates lead to failed steps", "they do",
            f"{min(failed):.0f} to {max(failed):.0f} % of the steps fail at TOL = 1e-6", [above(x, 0) for x in failed],
            "where the estimate varies little from step to step, 0.9 is safety enough",
        ),
    ]  # fmt: skip


# What is not in the paper


def omitted_parts() -> list[Finding]:
    """Return the findings on data that the paper omits."""
    nothing = "the paper prints neither numbers nor the data to obtain them: masses, lengths, start, torques, duration"
    return [
        unchecked("figures 2-7", "errors and computing times", "curves without numbers", f"{nothing}, machine"),
        unchecked("figure 6", "Butcher's pairs", "coefficients of his book of 1987",
                  "not found; stand-ins have the same orders and stages"),
        unchecked("figure 2", "T_pp has more complex characteristics", "more complex",
                  "it is not said in which sense; ours are straight lines like the others"),
    ]  # fmt: skip


# The quickest


def quickest(chart: WorkPrecision, where: str) -> list[Finding]:
    """Return the findings on the quickest method for each accuracy."""
    found = []
    for accuracy in PAPER_ACCURACIES:
        best = chart.best(accuracy)
        if best is None:
            continue
        paper = [chart.best(accuracy, family) for family in chart.families if family.startswith("Fig.")]
        name, seconds = min((x for x in paper if x is not None), key=lambda x: x[1])
        obtained = f"{best[0]}, {best[1] * 1e6:.0f} us"
        obtained += f"; of the paper's {name}, {seconds * 1e6:.0f} us" if name != best[0] else ""
        order = above(chart.line(best[0]).order, 7)
        why = "for a coarse error the long steps of a high order are shorter than they could be"
        found.append(
            trend(where, f"quickest for an error of {accuracy:.0e}", "a high order", obtained, [order], why, True)
        )
    return found


class Larger:
    """The study on an arm with more joints, which falls for a second."""

    def __init__(self, robot: Robot, taylor: tuple[int, ...]) -> None:
        self.taylor, self.motion = taylor, TimedMotion(robot, 1.0)
        self.chart = work_precision_chart(
            self.motion, [(p, p) for p in taylor], [2**k for k in range(12)], runs.RUN_TOLERANCES[1::2]
        )

    def findings(self) -> list[Finding]:
        chart, where = self.chart, f"beyond: {self.chart.robot}"
        lines = [chart.line(label(name)) for name in FIXED]
        return [
            order_ranking(where, lines, FINE, "evaluations"),
            *order_8_against_4(where, chart),
            _taylor_and_runge_kutta(chart, self.taylor, where, 1e-4),
            *_gains(chart, where),
            *quickest(chart, where),
        ]

    def plots(self) -> list[Plot]:
        note = f"{self.chart.robot} falls for {self.chart.duration:g} s."
        shown = (runs.TAYLOR, runs.RUNGE_KUTTA, runs.MODERN_PAIRS)
        made = [self.chart.plot(family, f"{self.chart.robot}: {family}", note) for family in shown]
        return [self.chart.champions(f"{self.chart.robot}: the best of each family", note), *made]


# Figures


def redrawn(chart: WorkPrecision) -> list[Plot]:
    """Return figures 2 to 7 on our motion, that of modern methods, and all of them superimposed."""
    note = f"The RR arm falls from rest, stretched out level, for {chart.duration:g} s. The paper's has no numbers."
    rule = "Steps by rule (14) as printed."
    plots = [
        _figure_2(chart, note),
        chart.plot(runs.RUNGE_KUTTA, "Figure 3: Runge-Kutta methods with fixed steps", note),
    ]
    plots += [
        chart.plot(family, f"Figure {family[5]}: pairs, {family[7:]}", f"{rule} {note}") for family in EMBEDDED_PAIRS
    ]
    return [
        chart.champions("Figures 2 to 7 superimposed: the best method of each, and of today's", note),
        *plots,
        chart.plot(runs.MODERN_PAIRS, "Today's pairs, steps by PI control", note),
    ]


def _figure_2(chart: WorkPrecision, note: str) -> Plot:
    """Return figure 2, with one colour for each order and T_p,p-1 dashed."""
    curves = []
    for k, p in enumerate(POLYNOMIAL_ORDERS):
        for q in (p - 1, p):
            points = chart.line(f"T{p},{q}").points
            seconds, errors = [x.seconds for x in points], [x.error for x in points]
            curves.append(Curve(f"T{p},{q}", seconds, errors, True, q < p, COLOURS[k]))
    return log_log("Figure 2: Taylor polynomials", curves, note)
