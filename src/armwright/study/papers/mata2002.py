"""Mata, Provenzano, Valero, Cuadrado (2002): Gibbs-Appell equations, their operation counts, two bodies and a PUMA.

V. Mata, S. Provenzano, F. Valero, J. I. Cuadrado, 'Serial-robot dynamics algorithms for moderately large numbers of
joints', Mechanism and Machine Theory 37 (2002). The formulation is `formulations/gibbs_appell.py`. Tables 1 to 4 count
operations; the composite bodies they are compared with are Walker and Orin's (`walker_orin_3`), and where this
project's own form of them (`composite_body`) is set beside it, it says so. Section 5.1 (figures 1 and 2, table 5), an
ill-conditioned arm in single precision, is in `mata2002_bars.py`. Section 5.2 (figures 3 and 4, tables 6 and 7) drives
a PUMA along a line by the torques of inverse dynamics. Numbers called 'stored' are those of an independent NumPy
prototype: they hold ours in place, they are not the paper's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

import armwright as aw
from armwright.algebra import Array
from armwright.pages.report.plot import Curve, Plot
from armwright.study.bench import best_of
from armwright.study.operation_counts import compare as compare_counts
from armwright.study.operation_counts import count_operations, polynomial, products
from armwright.study.papers.finding import (
    Against,
    Finding,
    PaperStudy,
    Part,
    above,
    at_least,
    at_most,
    below,
    claim,
    compare,
    compare_each,
    rough,
    trend,
)
from armwright.study.papers.judgement import Formula, Worst
from armwright.study.papers.mata2002_bars import stored_number, stored_torques, two_bodies
from armwright.study.papers.mata2002_gibbs import gibbs
from armwright.study.published import PUBLISHED, Published, tables
from armwright.trajectory import Trajectory, cartesian_line, linear, sampled

MATA_TABLES = tables("mata2002")
TABLE_6, TABLE_7 = MATA_TABLES["table_6"], MATA_TABLES["table_7"]

MATA_SIZES = range(3, 8)
CHEAPEST_REASONS = {
    "Mata 1": "counted alike, the tensor recursion of Balafoutis and Patel saves as much at the first links",
    "Mata 2": "counted alike, another needs fewer",
    "Mata 4": "counted alike, another needs fewer",
}
MATA_OWN_FORM = (
    "not the algorithm cited but this project's form of it: bodies about the link origins, in the ten numbers in which "
    "M is linear, cross a joint as two screws"
)

MOTION_START, MOTION_END, MOTION_DURATION = (0.50, 0.00, 0.05), (0.62, 0.30, 0.11), 5.0
ATTITUDE = ((0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0))  # about Z, Y, Z by 0, 90 and 180 degrees
POSTURE = (-17.0, -63.0, 205.0, -22.0, -55.0, -167.0)  # degrees: of eight, the one within the joint limits all along
TIMES = np.linspace(0.0, MOTION_DURATION, 51)
MOTION_TOLERANCE = 1e-6
ROUNDINGS = 10
"""The initial error of a state of 1 rad in units of rounding, from which all errors grow."""
NO_ATOL = 1e-300
"""An absolute tolerance without effect, as the integrator needs one."""

OTHER_TOLERANCE = (
    "with 1e-6 as relative and as absolute tolerance; with the relative one alone the same pair takes about as many as "
    "printed, in a row below"
)
RELATIVE_ALONE = "the paper says 'a tolerance of 1e-6'; this reading of it fits both tables best"
RK45_METHODS = (
    "rkdp54",
    "rkf45",
    "tsit5",
)  # 'the fourth/fifth order Runge-Kutta technique' may be any; the first is used


def study() -> PaperStudy:
    """All findings and figures of the paper."""
    return PaperStudy.of_parts(
        "mata2002",
        "Mata, Provenzano, Valero, Cuadrado 2002: Gibbs-Appell equations",
        "The algorithms are right, and their counts follow from the printed steps; traced, they need fewer operations "
        "(but for one sum), and so do those they are compared with. Of the algorithms cited Gibbs-Appell needs the "
        "fewest for mass matrix and forward dynamics, as printed; composite bodies about the link origins, which are "
        "ours, need fewer still. In single precision Gibbs-Appell errs less than Walker and Orin's composite bodies, "
        "as stated, but by a third on average and not by thirty times: averages as small as those printed for it and "
        "for articulated bodies are had as means of both signs or by chance, and no one reading of an average fits the "
        "whole table. In which frames those articulated bodies are is not told; "
        "three readings fit. The errors of the PUMA along its line are those of an unstable motion: they hang on data "
        "that are not printed, and only their size can be compared; a tolerance of 1e-6 that is relative alone comes "
        "nearest to them, and takes as many evaluations as printed.",
        {counts: 3.9, lambda: (gibbs(aw.load("puma560")), []): 0.1, two_bodies: 1.0, straight_line: 1.5},
    )


# Tables 1 to 4: operation counts


def counts() -> Part:
    """Return the findings on each row for six joints and for n, and on Walker and Orin's rows against our form."""
    ours = {n: {each.published: each.ours for each in compare_counts(n)} for n in MATA_SIZES}
    findings = [x for row in rows_of("Mata") for x in counted(row, {n: s[row] for n, s in ours.items() if row in s})]
    own = {row: own_form(row) for row in rows_of("Mata") if row.ours == "walker_orin_3"}
    findings += [x for row, (form, found) in own.items() for x in counted(form, found)]
    return [*findings, *derived_counts(), *cheapest(ours[6], {row: found[6] for row, (_, found) in own.items()})], []


def own_form(row: Published) -> tuple[Published, dict[int, tuple[int, int]]]:
    """Return a row of Walker and Orin's with the counts of `composite_body`, a different algorithm."""
    form = replace(row, ours="composite_body", authors=f"{row.authors} beside composite_body", why=MATA_OWN_FORM)
    found = {n: count_operations(row.problem, form.ours, joints=n) for n in MATA_SIZES if row.at(n) is not None}
    return form, {n: (products(count), count.additions) for n, count in found.items()}


def rows_of(table: str) -> list[Published]:
    """Return the printed rows of a table."""
    return [row for row in PUBLISHED if row.table.startswith(table)]


def counted(row: Published, ours: dict[int, tuple[int, int]]) -> list[Finding]:
    """Return the findings on a row: products and sums for n = 6, and as polynomials fitted to n = 3 to 7."""
    where, who = row.table.replace("Mata", "Table"), label(row)
    findings = []
    for i, (what, formula) in enumerate((("products", row.products), ("sums", row.sums))):
        why = "" if ours[6][i] == row.six[i] else row.why
        findings.append(compare(where, f"{who}: {what}, n = 6", row.six[i], ours[6][i], why))
        if formula:
            counts = [values[i] for values in ours.values()]
            judgement = Formula(formula, tuple(ours), tuple(counts))
            found = polynomial(list(ours), counts)
            if found != formula:
                found += f" ({min(judgement.ratios):.2f} to {max(judgement.ratios):.2f} times)"
            findings.append(Finding(where, f"{who}: {what}, any n", formula, found, judgement, why))
    return findings


def label(row: Published) -> str:
    """Return the label of a row: a part of the method in table 3, a method in the other tables."""
    return (row.part or row.problem.replace("_", " ")) if row.table == "Mata 3" else row.authors


def steps_4_2(n: int) -> tuple[int, int]:
    """Return products and sums of the mass matrix by the printed counts of its steps 2, 2, 3, 4, 5, 5 and 7."""
    pairs, inner = n * (n - 1) // 2, (n - 1) * (n - 2) // 2
    steps = ((pairs, 8, 4), (inner, 0, 3), (inner, 8, 4), (n - 1, 8, 7), (n - 2, 31, 40), (1, 13, 11), (pairs, 7, 6))
    return sum(times * m for times, m, _ in steps), sum(times * a for times, _, a in steps)


def derived_counts() -> list[Finding]:
    """Return findings on printed formulas against printed steps, and totals against their parts."""
    matrix, *parts, total = rows_of("Mata 3")
    slope, whole = added(MATA_TABLES["steps_4_1"]), added([row.six for row in (matrix, *parts)])
    sizes = tuple(range(3, 31))
    each = zip(*map(steps_4_2, sizes), strict=True)
    texts = zip((matrix.products, matrix.sums), each, strict=True)
    formulas = Worst(tuple(Formula(text, sizes, found) for text, found in texts))
    printed, found = f"{matrix.products}, {matrix.sums}", f"{pair(steps_4_2(6))} for n = 6"
    return [
        compare_each("Table 1", "steps of section 4.1 added up, per link", (96, 84), slope, follows=True),
        Finding("Table 2", "steps of section 4.2 added up", printed, found, formulas, "for every n up to 30",
                against=Against.PRINT),
        compare_each("Table 3", "total as the sum of its parts, n = 6", total.six, whole, follows=True),
    ]  # fmt: skip


def added(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the sum of two formulas."""
    return sum(m for m, _ in pairs), sum(a for _, a in pairs)


def pair(numbers: Sequence[int]) -> str:
    """Return products and sums as text."""
    return ", ".join(map(str, numbers))


def cheapest(ours: dict[Published, tuple[int, int]], own: dict[Published, tuple[int, int]]) -> list[Finding]:
    """Return the findings on the fewest operations for six joints, of the cited algorithms and with our form of one."""
    found = [cheapest_rows(table, ours, why) for table, why in CHEAPEST_REASONS.items()]
    beside = [
        cheapest_rows(row.table, ours | {row: count}, MATA_OWN_FORM, "composite_body") for row, count in own.items()
    ]
    return [*found, *beside]


def cheapest_rows(table: str, ours: dict[Published, tuple[int, int]], why: str, beside: str = "") -> Finding:
    """Return the finding that the cheapest row by printed counts is so by ours; `beside` replaces a cited one."""
    rows = rows_of(table)
    theirs, best = min(rows, key=lambda row: sum(row.six)), min(rows, key=lambda row: sum(ours[row]))
    what = f"fewest operations for {theirs.problem.replace('_', ' ')}, n = 6"
    name = beside if beside and best is not theirs else best.authors
    published, obtained = f"{theirs.authors}: {pair(theirs.six)}", f"{name}: {pair(ours[best])}"
    others = min(sum(ours[row]) for row in rows if row is not theirs)
    what += f", {beside} in place of Walker and Orin's" if beside else ""
    holds = below(sum(ours[theirs]), others)
    return claim(table.replace("Mata", "Table"), what, published, obtained, holds, why, words="products and sums")


# Section 5.2: figures 3 and 4, tables 6 and 7


@dataclass(frozen=True, eq=False)
class Followed:
    """A motion along the line: its errors in q, qd and qdd at `TIMES` (3, 51, 6), evaluations and seconds."""

    errors: Array
    evaluations: int
    seconds: float

    @property
    def means(self) -> Array:
        """The mean errors (3, 6) over the records after the start."""
        means: Array = self.errors[:, 1:].mean(axis=1)
        return means


def straight_line() -> Part:
    """Return the findings on inverse kinematics, inverse and forward dynamics along the line, as in figure 4."""
    arm = aw.load("puma560")
    line = cartesian_line(
        arm, pose(MOTION_START), pose(MOTION_END), linear([0, MOTION_DURATION], [0, 1]), np.radians(POSTURE)
    )
    motion = sampled(line, 200)  # the line to 1e-11, and quicker; of more samples the second differences are rounding
    runs = {name: followed(arm, motion, formulation) for name, (formulation, _, _) in TABLE_7.items()}
    pairs = {pair: followed(arm, motion, "gibbs_appell", pair) for pair in RK45_METHODS}
    findings = [stored_torques("Section 5.2", arm), *ends_and_speed(arm, line), undone(arm, line)]
    growth = amplification(arm, motion)
    findings += table_6(runs["GA"].means, growth) + sensitivity(runs["GA"].means, pairs, growth)
    findings += table_7(runs) + per_evaluation(arm, motion) + relative_alone(arm, motion)
    return findings, [*figure_3(arm, line), *figure_4(runs["GA"], pairs)]


def pose(position: ArrayLike) -> Array:
    """Return the pose of the tool at a point."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = ATTITUDE, position
    return T


def followed(
    arm: aw.Robot, motion: Trajectory, formulation: str, pair: str = RK45_METHODS[0], atol: float = MOTION_TOLERANCE
) -> Followed:
    """Return the motion along the line, integrated anew every 0.1 s: our reading of the paper's 'interval of 0.1 s'."""
    n = arm.n
    torques = aw.compile(arm, "inverse_dynamics", "gibbs_appell")
    forward = aw.compile(arm, "forward_dynamics", formulation)

    def rate(t: float, y: Array) -> Array:
        return np.concatenate([y[n:], forward(y[:n], y[n:], torques(*motion(t)))])

    states, evaluations = [np.concatenate(motion(0.0)[:2])], 0
    rate(0.0, states[0])  # compiles before the clock starts
    begin = time.perf_counter()
    for t0, t1 in pairwise(TIMES):
        part = aw.integrate.solve(rate, t0, states[-1], t1, pair, rtol=MOTION_TOLERANCE, atol=atol, times=[t1])
        states.append(part.y[-1])
        evaluations += part.statistics.evaluations
    seconds = time.perf_counter() - begin
    q, qd = np.split(np.array(states), 2, axis=1)
    qdd = forward(q, qd, torques(*motion(TIMES)))
    return Followed(np.abs(np.array([q, qd, qdd]) - np.array(motion(TIMES))), evaluations, seconds)


def amplification(arm: aw.Robot, motion: Trajectory) -> float:
    """Return the growth of an error from start to end: the norm of the transition matrix of the linearised motion."""
    q, qd, qdd = motion(TIMES)
    by_q, by_qd, _ = arm.forward_dynamics_derivatives(q, qd, arm.inverse_dynamics(q, qd, qdd))
    rest, unit = np.zeros_like(by_q), np.broadcast_to(np.eye(arm.n), by_q.shape)
    transition = np.eye(2 * arm.n)
    for A in np.block([[rest, unit], [by_q, by_qd]])[:-1]:
        transition = expm(A * TIMES[1]) @ transition
    return float(np.linalg.norm(transition, 2))


def ends_and_speed(arm: aw.Robot, line: Trajectory) -> list[Finding]:
    """Return findings on the ends of the line and the speed along it."""
    reached = arm.forward_kinematics(line([0.0, MOTION_DURATION])[0])
    missed = float(np.abs(reached - [pose(MOTION_START), pose(MOTION_END)]).max())
    length = float(np.linalg.norm(np.subtract(MOTION_END, MOTION_START)))
    why = f"the ends are {length:.4f} m apart, which takes {length / 0.1:.2f} s at 0.1 m/s; they and the 5 s are kept"
    speed = length / MOTION_DURATION
    near = below(abs(speed / 0.1 - 1), 0.1)
    return [
        claim(
            "Fig. 3", "inverse kinematics at both ends of the line",
            f"{MOTION_START}, {MOTION_END} m by forward kinematics",
            f"reached to {rough(missed)}", below(missed, 1e-9), against=Against.THEORY,
        ),
        claim("Fig. 3", "speed of the tool", "0.1 m/s", f"{speed:.4f} m/s, by its ends and duration", near, why,
              words="relative, off by", against=Against.PRINT),
    ]  # fmt: skip


def undone(arm: aw.Robot, line: Trajectory) -> Finding:
    """Return the finding that forward dynamics inverts inverse dynamics."""
    q, qd, qdd = line(TIMES)
    tau = arm.inverse_dynamics(q, qd, qdd, formulation="gibbs_appell")
    off = float(np.abs(arm.forward_dynamics(q, qd, tau, formulation="gibbs_appell") - qdd).max())
    what = "forward dynamics undoes inverse dynamics"
    return claim("Fig. 4", what, "the same accelerations", f"to {rough(off)}", below(off, 1e-9), against=Against.THEORY)


def table_6(means: Array, growth: float) -> list[Finding]:
    """Return the findings on average errors per joint and their growth rate."""
    why = (
        f"unstable: an error grows {growth:.0e} times in 5 s, so its size hangs on the data of the arm, its posture "
        "and the step control, none of which is printed"
    )
    findings = []
    for joint, printed in enumerate(TABLE_6):
        for unit, published, mean in zip(("rad", "rad/s", "rad/s2"), printed, means[:, joint], strict=True):
            what = f"joint {joint + 1}, {unit}"
            reason = "; ".join(filter(None, (why, MATA_TABLES["misprints"].get(what))))
            findings.append(compare("Table 6", what, published, float(mean), reason))
    theirs = np.array(TABLE_6, dtype=float).T
    ours_k, theirs_k = (float(np.median(x[1] / x[0])) for x in (means, theirs))
    why = "what grows as exp(k t) has rates k times as large; their arm falls more slowly, as one with rotors would"
    what = "growth k of the errors in 1/s, median of rad/s over rad"
    held = below(abs(ours_k / theirs_k - 1), 0.1)
    printed = f"{theirs_k:.2f} by the printed errors"
    made = claim("Table 6", what, printed, f"{ours_k:.2f}", held, why, words="relative, off by", against=Against.NUMBER)
    return [*findings, made]


def sensitivity(means: Array, pairs: dict[str, Followed], growth: float) -> list[Finding]:
    """Return the findings on runs by other pairs of order 4 and 5, and on the prototype, within rounding."""
    size = {name: float(run.means[0, 4]) for name, run in pairs.items()}
    shown = ", ".join(f"{x:.1e} ({name})" for name, x in size.items())
    printed = float(TABLE_6[4][0])
    why = "three pairs of order 4 and 5 at the same tolerance, with what is printed between them"
    inside = [below(min(size.values()), printed), above(max(size.values()), printed)]
    what = "joint 5, rad, is between those of three integrators"
    words = "least and largest"
    findings = [
        claim("Table 6", what, TABLE_6[4][0], shown, inside, why, remark=why, words=words, against=Against.NUMBER)
    ]
    why = "by SciPy's RK45, the same pair with other steps; rounding of one digit grows as all errors do"
    rounding = ROUNDINGS * growth * float(np.finfo(float).eps)
    for joint, (stored, mean) in enumerate(zip(MATA_TABLES["stored_errors"], means[0], strict=True)):
        findings.append(stored_number("Table 6", f"joint {joint + 1}, rad, stored", stored, float(mean), why, rounding))
    return findings


def table_7(runs: dict[str, Followed]) -> list[Finding]:
    """Return the findings on table 7."""
    findings = []
    for name, (_, seconds, evaluations) in TABLE_7.items():
        run, why = runs[name], OTHER_TOLERANCE
        findings.append(compare("Table 7", f"{name}: evaluations", evaluations, run.evaluations, why))
        why = "on a Pentium II of 400 MHz, in FORTRAN; here Python calls compiled functions"
        findings.append(compare("Table 7", f"{name}: time", seconds, run.seconds, why, "s", timed=True))
    numbers = [run.evaluations for run in runs.values()]
    why = "in double precision the methods differ by rounding, which changes no step"
    what = "evaluations differ from method to method"
    findings.append(
        claim("Table 7", what, "yes", pair(numbers), above(len(set(numbers)), 1), why, words="different numbers")
    )
    means = np.array([run.means for run in runs.values()])
    apart = float(np.max(np.ptp(means, axis=0) / means[0]))
    what = "the three methods give practically the same motion"
    equal = "errors equal but for rounding that grew" if apart < 1e-4 else f"errors equal to {apart:.0e}"
    return [*findings, claim("Section 5.2", what, "yes", equal, below(apart, 1e-2))]


def relative_alone(arm: aw.Robot, motion: Trajectory) -> list[Finding]:
    """Return the findings on the same pair with a relative tolerance of 1e-6 and no absolute one."""
    run = followed(arm, motion, TABLE_7["GA"][0], atol=NO_ATOL)
    printed = [evaluations for _, _, evaluations in TABLE_7.values()]
    low, high = min(printed), max(printed)
    ratios = (run.means / np.array(TABLE_6, dtype=float).T).ravel()
    near = [at_most(max(ratio, 1 / ratio), 10) for ratio in ratios]
    inside = [at_least(run.evaluations, low), at_most(run.evaluations, high)]
    least, most = ratios.min(), ratios.max()
    return [
        claim("Table 7", "evaluations, if the tolerance is relative alone", f"{low} to {high}", f"{run.evaluations}",
              inside, "not this step control", remark=RELATIVE_ALONE, against=Against.NUMBER),
        trend("Table 6", "errors within a factor of ten, if the tolerance is relative alone", "18 numbers",
              f"{least:.2f} to {most:.1f} times", near, "joints 2 and 4, rad, are less; " + RELATIVE_ALONE,
              against=Against.NUMBER),
    ]  # fmt: skip


def per_evaluation(arm: aw.Robot, motion: Trajectory) -> list[Finding]:
    """Return the findings on times per evaluation relative to Gibbs-Appell, ours for a batch along the line."""
    q, qd, qdd = (np.tile(x, (20, 1)) for x in motion(TIMES))
    tau = arm.inverse_dynamics(q, qd, qdd)
    functions = {name: aw.compile(arm, "forward_dynamics", row[0]) for name, row in TABLE_7.items()}
    ours = best_of({name: (len(q), partial(f, q, qd, tau)) for name, f in functions.items()}, rounds=5)
    theirs = {name: seconds / evaluations for name, (_, seconds, evaluations) in TABLE_7.items()}
    why, findings = "customised to this arm, the three cost nearly the same", []
    for name in ("CRBA", "ABM"):
        printed, ratio = theirs[name] / theirs["GA"], ours[name] / ours["GA"]
        what, theirs_ratio = f"{name}: time per evaluation over that of GA", f"{printed:.2f} by seconds and evaluations"
        near = below(abs(ratio - printed), 0.05)
        findings.append(
            claim("Table 7", what, theirs_ratio, f"{ratio:.2f}", near, why, timed=True, words="off by",
                  against=Against.NUMBER)
        )  # fmt: skip
    return findings


def figure_3(arm: aw.Robot, line: Trajectory) -> list[Plot]:
    """Return the plots of the arm at both ends of the line, from the side and from above."""
    q = line(TIMES)[0]
    first, last = (arm.link_positions(q[i]) for i in (0, -1))
    path = arm.forward_kinematics(q)[:, :3, 3]
    plots = []
    for view, axis, name in (("from the side", 2, "z"), ("from above", 1, "y")):
        curves = [
            Curve(f"at {t:g} s", x[:, 0].tolist(), x[:, axis].tolist(), marks=True)
            for t, x in ((0, first), (MOTION_DURATION, last))
        ]
        curves.append(Curve("path of the tool", path[:, 0].tolist(), path[:, axis].tolist(), dashed=True))
        plots.append(Plot(f"Fig. 3: the PUMA, {view}", "x [m]", f"{name} [m]", curves))
    return plots


def figure_4(run: Followed, pairs: dict[str, Followed]) -> list[Plot]:
    """Return the plots of q - q* of the block diagram: of all joints, and of joint 5 by each pair."""
    t = TIMES.tolist()
    joints = [Curve(f"joint {i + 1}", t, error.tolist()) for i, error in enumerate(run.errors[0].T)]
    by_pair = [Curve(name, t, run.errors[0, :, 4].tolist()) for name, run in pairs.items()]
    note = "All grow alike, as errors of an unstable motion do; where they start is decided by the integrator."
    return [
        Plot("Fig. 4, the block diagram run: |q - q*| of inverse dynamics, forward dynamics, integration", "t [s]",
             "rad", joints, y_log=True),
        Plot("Table 6: joint 5 by three pairs, tolerance 1e-6", "t [s]", "rad", by_pair, y_log=True, note=note),
    ]  # fmt: skip
