"""Mohan and Saha (2007): the cause of the departure of the simulation, and whether the recursion helps.

Along the exact motion the linearised one has a largest eigenvalue; errors of any source grow as exp of its integral.
So it predicts when a run with another tolerance departs. The runs are repeated in single precision and with fifty
digits, with and without the recursion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.formulations import find_formulation
from armwright.function import compile as compile_function
from armwright.integrate import solve
from armwright.pages.report.plot import Curve, Plot
from armwright.progress import progress_part, tracked
from armwright.study.papers import mohan2007_runs as paper
from armwright.study.papers.finding import NOTHING, Finding, Part, above, below, claim, unchecked
from armwright.study.papers.mohan2007_runs import (
    FORMULATION,
    JOINTS,
    PERIOD,
    JointTrack,
    advantage_text,
    arm,
    desired_motion,
    forced,
    motion,
    rate,
)

PENDULUM_TIME = 5.0
"""The time, s, at which q2 + q3 = pi and link 3 comes above the horizontal."""

ROD = 0.02  # metres, link 3

CLAIM_TOLERANCES = (1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
REFERENCE_TOLERANCE = 1e-8
"""The tolerance of the run from which the others are predicted."""

ROUGH_TOLERANCE = 1e-6
"""Tolerance for single precision: a tighter one would be below its rounding."""

ROUNDING_SCATTER = 0.1
"""Seconds by which a run in single precision departs sooner if rounding is ten times as large."""

REFERENCE_DIGITS, EXACT_START = 50, 4.75
TIGHT, LESS_TIGHT, TIGHT_METHOD = 1e-14, 1e-12, "vern8"
NEEDS_MPMATH = "needs mpmath: pip install 'armwright[precision]'"


@dataclass(frozen=True, eq=False)
class Growth:
    """Growth rates of errors along the motion, 1/s: the largest real part of the eigenvalues of its linearisation."""

    t: Array
    rate: Array

    @property
    def folds(self) -> Array:
        """Natural logarithm of the growth since the start."""
        steps = np.diff(self.t) * (self.rate[1:] + self.rate[:-1]) / 2
        return np.concatenate([[0.0], np.cumsum(steps)])

    def at(self, t: float) -> float:
        return float(np.interp(t, self.t, self.rate))

    def factor(self, begin: float, end: float) -> float:
        """Decimal logarithm of the growth between two times."""
        first, last = np.interp([begin, end], self.t, self.folds)
        return float((last - first) / math.log(10))

    def later(self, departure: float, factor: float) -> float:
        """Return the departure of a run whose errors are smaller by a factor than with this departure."""
        folds = np.interp(departure, self.t, self.folds) + math.log(factor)
        return float(np.interp(folds, self.folds, self.t))


@cache
def growth() -> Growth:
    """Return the growth of errors along the motion."""
    t = np.linspace(0, PERIOD, 2001)
    q, qd, qdd = desired_motion(t)
    stiffness, damping, _ = arm().forward_dynamics_derivatives(q, qd, arm().inverse_dynamics(q, qd, qdd))
    A = np.zeros((len(t), 2 * JOINTS, 2 * JOINTS))
    A[:, :JOINTS, JOINTS:] = np.eye(JOINTS)
    A[:, JOINTS:, :JOINTS], A[:, JOINTS:, JOINTS:] = stiffness, damping
    return Growth(t, np.linalg.eigvals(A).real.max(axis=1))


def pendulum_rate(t: Array) -> Array:
    """Return the growth rates of link 3 alone, an inverted rod about its end: sqrt(3 g / 2a) if it is upright."""
    upright = -np.sin(2 * desired_motion(t)[0][:, 0])
    rates: Array = np.sqrt(1.5 * 9.81 / ROD * np.maximum(upright, 0))
    return rates


def cause() -> Part:
    """Return the findings on the cause: not the mass matrix, but the growth of errors."""
    found, q = growth(), desired_motion(growth().t)[0]
    smallest, condition = float(np.linalg.eigvalsh(arm().mass_matrix(q)).min()), np.linalg.cond(arm().mass_matrix(q))
    matrix = f"mass matrix: {smallest:.1e} kg m2 or more, condition {condition.min():.0f} to {condition.max():.0f}"
    why = "the mass matrix is regular; the eigenvalue that matters is that of the linearised motion"
    before, most = found.rate[found.t < PENDULUM_TIME - 0.05].max(), found.rate.max()
    rates = f"errors grow by {before:.1f} 1/s before 5 s, {found.at(5.5):.1f} at 5.5 s, {most:.0f} at most"
    rates += f", by 1e{found.factor(PENDULUM_TIME, PERIOD):.0f} until 10 s"
    pendulum = "link 3 is an inverted pendulum of 2 cm from 5 s on: any error grows, whoever made it"
    published = "numerical stability of the forward dynamics"
    findings = [
        claim(
            "Section 4.2",
            "a zero eigenvalue causes the deviation",
            "yes",
            matrix,
            below(smallest, 1e-12),
            why,
            words="smallest eigenvalue",
        ),
        claim(
            "Section 5",
            "cause of the departure",
            published,
            rates,
            below(found.at(5.5), 1),
            pendulum,
            words="1/s, growth at 5.5 s",
        ),
    ]
    curves = [
        Curve("linearised motion", found.t.tolist(), found.rate.tolist()),
        Curve("link 3 as a pendulum", found.t.tolist(), pendulum_rate(found.t).tolist(), dashed=True),
    ]
    note = "Largest real part of the eigenvalues along the exact motion. Link 3 comes above the horizontal at 5 s."
    return findings, [Plot("Why: the growth rate of errors", "t, s", "1/s", curves, note=note)]


def arithmetic() -> Part:
    """Return the findings on tolerance and recursion, in double and single precision."""
    doubles = {name: sweep(formulation) for name, formulation in FORMULATION.items()}
    single = {
        name: forced(rate(made, "float32"), ROUGH_TOLERANCE, ROUGH_TOLERANCE, PERIOD)
        for name, made in FORMULATION.items()
    }
    found = [tolerances(doubles["recursive"]), in_doubles(doubles), in_single(single)]
    return found, [departure_plot(doubles), error_plot(doubles["recursive"], single)]


def many_digits() -> Part:
    """Return findings on rounding against fifty digits, and on errors that would explain the paper's times."""
    return [*rounding(), *in_fifty(), seeds()], []


def sweep(formulation: str) -> dict[float, JointTrack]:
    """Return the runs of a formulation by tolerance, each until it loses the path."""
    return {tolerance: forced(rate(formulation), tolerance, tolerance, PERIOD) for tolerance in CLAIM_TOLERANCES}


def predicted(runs: dict[float, JointTrack]) -> dict[float, float]:
    """Return the predicted departure of joint 3 by tolerance, from one run and the growth rate."""
    known = runs[REFERENCE_TOLERANCE].leaves()
    return {tolerance: growth().later(known, REFERENCE_TOLERANCE / tolerance) for tolerance in runs}


def tolerances(runs: dict[float, JointTrack]) -> Finding:
    """Return the finding on departures by tolerance."""
    off = max(abs(runs[tolerance].leaves() - t) for tolerance, t in predicted(runs).items())
    times = ", ".join(f"{runs[tolerance].leaves():.2f} s at {tolerance:g}" for tolerance in (1e-6, 1e-8, 1e-12))
    why = "the paper has one tolerance; the growth rate tells how long a smaller error takes to become as large"
    what, obtained = "departure of joint 3 against the tolerance", f"{times}; predicted to {off:.2f} s"
    return unchecked("Section 5", what, NOTHING, why, obtained)


def in_doubles(doubles: dict[str, dict[float, JointTrack]]) -> Finding:
    """Return the finding on departures in double precision."""
    recursive, other = doubles.values()
    gains = [recursive[tolerance].leaves() - other[tolerance].leaves() for tolerance in CLAIM_TOLERANCES]
    obtained = f"{advantage_text(gains)}, tolerances {CLAIM_TOLERANCES[0]:g} to {CLAIM_TOLERANCES[-1]:g}"
    why = "only at the tightest tolerances does rounding matter at all, and then by chance"
    what = "recursive: departs later, in doubles"
    return claim("Section 5", what, "by 0.3 to 0.6 s", obtained, above(min(gains), paper.DIFFERENT), why, words="s,")


def in_single(runs: dict[str, JointTrack]) -> Finding:
    """Return the finding on forward dynamics in single precision, where rounding errors grow."""
    times = [run.leaves() for run in runs.values()]
    what, obtained = "recursive: departs later, in single precision", f"{times[0]:.1f} s, {times[1]:.1f} s without"
    why = "rounding is what grows then, and both round alike"
    gain = above(times[0] - times[1], ROUNDING_SCATTER)
    return claim("Section 5", what, "by 0.3 to 0.6 s", obtained, gain, why, words="s,")


def _mpmath() -> Any:
    """Return mpmath, or None if it is not installed."""
    try:
        return import_module("mpmath")
    except ImportError:
        return None


def rounding() -> list[Finding]:
    """Return the findings on errors of the accelerations along the motion, against fifty digits."""
    mpmath = _mpmath()
    findings = []
    for dtype in ("float64", "float32"):
        what = f"recursive: smaller rounding errors, {dtype}"
        if mpmath is None:
            findings.append(unchecked("Section 5", what, "yes", NEEDS_MPMATH))
            continue
        recursive, other = rounding_errors(mpmath, dtype)
        obtained = f"{recursive:.0e} rad/s2, {other:.0e} without (median)"
        why = "the mass matrix is conditioned well enough for either, and neither inverts it"
        findings.append(claim("Section 5", what, "much", obtained, below(recursive / other, 0.5), why, words="ratio"))
    return findings


def rounding_errors(mpmath: Any, dtype: str) -> list[float]:
    """Return the median over the motion of the largest error of accelerations, with and without the recursion."""
    q, qd, qdd = (x.astype(dtype) for x in desired_motion(np.linspace(0.25, 9.75, 20)))
    tau = arm().inverse_dynamics(*(x.astype(float) for x in (q, qd, qdd))).astype(dtype)
    medians = []
    with mpmath.workdps(REFERENCE_DIGITS):
        mechanism, method = arm().mechanism(mpmath.mpf), find_formulation("forward_dynamics", "denoc")
        states = zip(*(x.astype(float).tolist() for x in (q, qd, tau)), strict=True)
        exact = [method(mechanism, *([mpmath.mpf(x) for x in column] for column in state)) for state in states]
        for formulation in FORMULATION.values():
            found = compile_function(arm(), "forward_dynamics", formulation, dtype=dtype)(q, qd, tau).astype(float)
            rows = zip(found.tolist(), exact, strict=True)
            medians.append(
                float(np.median([max(abs(float(a - b)) for a, b in zip(*row, strict=True)) for row in rows]))
            )
    return medians


def in_fifty() -> list[Finding]:
    """Return the findings on runs with and without rounding, and with a tolerance below double precision."""
    mpmath = _mpmath()
    rounded, tighter = "departure of joint 3 depends on rounding", "departure of joint 3, tolerance below doubles"
    if mpmath is None:
        return [unchecked("Section 5", what, "yes", NEEDS_MPMATH) for what in (rounded, tighter)]
    with mpmath.workdps(REFERENCE_DIGITS):
        cases = [(name, number) for number in (float, mpmath.mpf) for name in FORMULATION.values()]
        with progress_part(0.0, 0.6):
            times = [exact_departure(*each, paper.RELATIVE) for each in tracked(cases)]
        tight = exact_departure("denoc", mpmath.mpf, TIGHT, TIGHT_METHOD)
    predicted_time = growth().later(exact_departure("denoc", float, LESS_TIGHT, TIGHT_METHOD), LESS_TIGHT / TIGHT)
    texts = [f"{t:.6f}" for t in times]
    obtained = f"{texts[0]}, {texts[1]} s in doubles; {texts[2]}, {texts[3]} s with {REFERENCE_DIGITS} digits"
    why = f"recursive and nonrecursive, started at {EXACT_START} s: the error of the integrator is what grows"
    further = f"{tight:.2f} s at {TIGHT:g}; {predicted_time:.2f} s predicted from {LESS_TIGHT:g} in doubles"
    reason = f"the paper has doubles; {REFERENCE_DIGITS} digits, {TIGHT_METHOD}, started at {EXACT_START} s"
    return [
        claim("Section 5", rounded, "yes", obtained, above(max(times) - min(times), paper.OFF), why, words="s,"),
        unchecked("Section 5", tighter, NOTHING, reason, further),
    ]


def exact_departure(formulation: str, number: Any, tolerance: float, method: str = "rkdp54") -> float:
    """Return the departure of joint 3 with any scalar, by an uncompiled formulation, started shortly before 5 s."""
    mechanism = arm().mechanism(number)
    forward, inverse = find_formulation("forward_dynamics", formulation), find_formulation("inverse_dynamics", "denoc")
    t: list[float] = []
    error: list[float] = []

    def derivative(now: Any, y: Array) -> Array:
        tau = inverse(mechanism, *motion().trace(now))
        return np.array([*y[JOINTS:], *forward(mechanism, list(y[:JOINTS]), list(y[JOINTS:]), tau)])

    def keep(now: Any, y: Array) -> bool:
        t.append(float(now))
        error.append(abs(float(y[2] - motion().trace(now)[0][2])))
        return error[-1] > paper.OFF

    q, qd, _ = motion().trace(number(EXACT_START))
    allowed = {"rtol": number(tolerance), "atol": number(tolerance)}
    solve(derivative, number(EXACT_START), np.array([*q, *qd]), number(PERIOD), method, on_step=keep, **allowed)
    return paper.crossing_time(np.array(t), np.array(error), paper.OFF)


def seeds() -> Finding:
    """Return the errors that would make joint 3 depart at the times of the paper."""
    default = forced(rate("denoc"), 1e-3, paper.ABSOLUTE, PERIOD).leaves()
    pushed = {push: forced(rate("denoc", push=push), 1e-10, 1e-10, PERIOD).leaves() for push in (1e-6, 1e-5)}
    times = ", ".join(f"{t:.2f} s by a torque error of {push:g} N m" for push, t in pushed.items())
    obtained = f"{times}; {default:.2f} s by the default tolerance of ode45"
    why = "a conjecture: errors larger than the tolerance; 4.8 s, before the growth begins, takes torques from a table"
    return unchecked("Section 5", "what would explain 5.4 s", NOTHING, why, obtained)


def departure_plot(doubles: dict[str, dict[float, JointTrack]]) -> Plot:
    """Return the plot of departures over tolerance."""
    x = list(CLAIM_TOLERANCES)
    curves = [Curve(name, x, [run.leaves() for run in runs.values()], marks=True) for name, runs in doubles.items()]
    curves.append(Curve("predicted", x, list(predicted(doubles["recursive"]).values()), dashed=True))
    note = "When joint 3 is 0.01 rad off; predicted from the run with 1e-8 by the growth rate. Published: 5.4 to 5.5 s."
    return Plot("The departure against the tolerance", "tolerance", "s", curves, x_log=True, note=note)


def error_plot(doubles: dict[float, JointTrack], single: dict[str, JointTrack]) -> Plot:
    """Return the plot of errors over time."""
    runs = {f"{tolerance:g}": run for tolerance, run in doubles.items()}
    runs |= {f"float32, {name}": run for name, run in single.items()}
    curves = []
    for name, run in runs.items():
        late = run.t > PENDULUM_TIME - 1
        curves.append(Curve(name, run.t[late].tolist(), np.abs(run.error[late, 2]).tolist(), dashed="float" in name))
    note = "Recursive, by tolerance, and single precision. From 5 s on all have the same slopes at any error."
    return Plot("The error of joint 3", "t, s", "rad", curves, y_log=True, note=note)
