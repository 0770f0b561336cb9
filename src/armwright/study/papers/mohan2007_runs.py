"""Mohan and Saha (2007), figures 5 to 9 and table 3: a PUMA driven by the torques of inverse dynamics along a cycloid.

Forward dynamics is by the recursion (`denoc`), or by forming the mass matrix (29) and factoring it (`denoc_cholesky`),
as the paper's nonrecursive algorithm does; all else is the same. The integrator is ode45's pair, `rkdp54`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.function import compile as compile_function
from armwright.integrate import solve
from armwright.load import load
from armwright.pages.report.plot import COLOURS, Curve, Plot
from armwright.robot import Robot
from armwright.study.papers.finding import Finding, Part, above, below, claim, compare, together, unchecked
from armwright.study.published import tables
from armwright.trajectory import Trajectory, cycloidal

FORMULATION = {"recursive": "denoc", "nonrecursive": "denoc_cholesky"}

JOINTS, PERIOD, SHOWN = 6, 10.0, 6.0
RELATIVE, ABSOLUTE = 1e-8, 1e-6
"""'The tolerance is 1e-8' of ode45: its relative one; the absolute one is 1e-6 unless changed."""

OFF, LOST = 0.01, 1.0
"""Errors of a joint, rad: it departs from the path, and it has lost it."""

VISIBLE = 0.01
"""The visible part of the largest value of a plot; the paper does not define 'acceptable'."""

DIFFERENT = 0.05
"""Seconds by which one run must follow the path longer than another to count as better."""

TIMING_REPEATS = 3

REASON_LATER = (
    "ours departs later: the time hangs on the size of the errors that grow (see section 5: what would explain it)"
)
REASON_SAME = "the two runs are the same to many digits (see section 5); a table of torques would do it (see table 3)"
WHY_3 = {"recursive": REASON_LATER, "nonrecursive": REASON_SAME}


@cache
def arm() -> Robot:
    """Return the robot of the paper."""
    return load("puma_mohan2007")


@cache
def motion() -> Trajectory:
    """Equation (38): pi t/T - sin(2 pi t/T)/2 for every joint."""
    return cycloidal([0.0] * JOINTS, [math.pi] * JOINTS, PERIOD)


def desired_motion(t: Array | float) -> tuple[Array, Array, Array]:
    """Return positions, velocities and accelerations of the path."""
    q, qd, qdd = (np.asarray(x, dtype=float) for x in motion()(t))
    return q, qd, qdd


def joint_curve(i: int, t: Array, values: Array, label: str = "", dashed: bool = False) -> Curve:
    """Return the curve of one joint."""
    return Curve(f"joint {i + 1}{label}", t.tolist(), values[:, i].tolist(), dashed=dashed, colour=COLOURS[i])


@dataclass(frozen=True, eq=False)
class JointTrack:
    """A forced simulation at the end of every step: time, state (q, qd), and computing seconds since the start."""

    t: Array
    y: Array
    clock: Array
    evaluations: int

    @property
    def q(self) -> Array:
        return np.ascontiguousarray(self.y[:, :JOINTS])

    @property
    def qd(self) -> Array:
        return np.ascontiguousarray(self.y[:, JOINTS:])

    @property
    def tau(self) -> Array:
        return arm().inverse_dynamics(*desired_motion(self.t))

    @property
    def error(self) -> Array:
        error: Array = self.q - desired_motion(self.t)[0]
        return error

    def leaves(self, joint: int = 2, threshold: float = OFF) -> float:
        """Return the first time at which the error of a joint (from 0) exceeds a threshold."""
        return crossing_time(self.t, np.abs(self.error[:, joint]), threshold)


def crossing_time(t: Array, size: Array, threshold: float) -> float:
    """Return the time at which a growing size exceeds the threshold, by logarithmic interpolation."""
    above = np.flatnonzero(size > threshold)
    if not above.size or not above[0]:
        return math.inf if not above.size else float(t[0])
    k = above[0]
    low, high = math.log(size[k - 1] + 1e-300), math.log(size[k])
    return float(t[k - 1] + (math.log(threshold) - low) / (high - low) * (t[k] - t[k - 1]))


def advantage_text(gains: Sequence[float]) -> str:
    """Return the seconds by which the recursion follows longer as text; below `DIFFERENT` they are rounding."""
    if max(map(abs, gains)) < DIFFERENT:
        return f"within {DIFFERENT:g} s of each other"
    return f"by {min(gains):.2f} to {max(gains):.2f} s"


Rate = Callable[[Any, Array], Array]


def exact_torques() -> Callable[[float], Array]:
    """Return the torques of the motion as a function of time, by inverse dynamics."""
    torques = compile_function(arm(), "inverse_dynamics", "denoc").single
    return lambda t: torques(*desired_motion(t))


def rate(
    formulation: str, dtype: str = "float64", push: float = 0.0, torque: Callable[[float], Array] | None = None
) -> Rate:
    """Return (q, qd) -> (qd, qdd) under the torques of the motion, or of `torque`, with an error `push` at joint 3.

    Torques are in double precision; only the forward dynamics differs.
    """
    torques = exact_torques() if torque is None else torque
    accelerations = compile_function(arm(), "forward_dynamics", formulation, dtype=dtype).single
    error = np.eye(JOINTS)[2] * push

    def call(t: Any, y: Array) -> Array:
        tau = torques(t) + error
        qdd = accelerations(np.ascontiguousarray(y[:JOINTS]), np.ascontiguousarray(y[JOINTS:]), tau)
        return np.concatenate([y[JOINTS:], qdd])

    return call


def forced(
    derivative: Rate, relative: float = RELATIVE, absolute: float = ABSOLUTE, end: float = SHOWN, **options: Any
) -> JointTrack:
    """Return a run until the end, or until joint 3 has lost the path if the end is later than in the paper."""
    t, y, clock = [0.0], [np.zeros(2 * JOINTS)], [0.0]
    begin = time.process_time()

    def keep(now: float, state: Array) -> bool:
        t.append(now)
        y.append(state.copy())
        clock.append(time.process_time() - begin)
        return end > SHOWN and bool(abs(state[2] - desired_motion(now)[0][2]) > LOST)

    solution = solve(derivative, 0.0, y[0], end, "rkdp54", rtol=relative, atol=absolute, on_step=keep, **options)
    return JointTrack(np.array(t), np.array(y), np.array(clock), solution.statistics.evaluations)


def simulations() -> Part:
    """Return the findings on both runs of the paper."""
    runs = {name: forced(rate(formulation)) for name, formulation in FORMULATION.items()}
    return together(part(runs) for part in (tracking, errors, accelerations, power, durations, effort))


def tracking(runs: dict[str, JointTrack]) -> Part:
    """Return the findings on figure 5 and its text."""
    run = runs["recursive"]
    findings = [
        compare("Figure 5", f"joint {i + 1} follows until", "5.5", round(run.leaves(i), 3), REASON_LATER, "s")
        for i in (2, 4, 5)
    ]
    lost = int(np.argmax(np.abs(run.error[:, 2]) > LOST))
    rest = float(np.max(np.abs(run.error[lost, [0, 1, 3]])))
    what = "joints 1, 2, 4 match, even when joint 3 is 1 rad off"
    findings.append(claim("Figure 5", what, "exactly", f"within {rest:.2g} rad", below(rest, OFF), "they do not"))
    t = np.linspace(0, SHOWN, 121)
    path = Curve("desired", t.tolist(), desired_motion(t)[0][:, 0].tolist(), dashed=True, colour=GREY)
    note = "Recursive. All joints are to follow the same curve."
    curves = [*(joint_curve(i, run.t, run.q) for i in range(JOINTS)), path]
    return findings, [Plot("Figure 5: forced simulation", "t, s", "rad", curves, note=note)]


GREY = "#64748b"


def errors(runs: dict[str, JointTrack]) -> Part:
    """Figure 6: accurate 'up to 5.2 s as compared to the nonrecursive algorithm (about 1.5 s)'."""
    recursive, other = (float(np.max(np.abs(run.error[run.t <= 5.2]))) for run in runs.values())
    why = f"{REASON_SAME}; table 3 has 4.8 to 5.1 s in place of 1.5"
    what = "nonrecursive: accurate until about 1.5 s only"
    findings = [
        claim(
            "Figure 6",
            "recursive: accurate until 5.2 s",
            "yes",
            f"to {recursive:.0e} rad",
            below(recursive, OFF),
            REASON_LATER,
        ),
        claim("Figure 6", what, "yes", f"to {other:.0e} rad until 5.2 s", above(other, OFF), why),
    ]
    curves = []
    for name, run in runs.items():
        dashed = name == "nonrecursive"
        late, label = run.t > 0.5, ", nonrec." if dashed else ""  # earlier errors are arbitrarily small
        curves += [joint_curve(i, run.t[late], np.abs(run.error[late]), label, dashed) for i in range(JOINTS)]
    note = f"Solid: recursive, dashed: nonrecursive, one upon the other. Tolerances {RELATIVE:g} and {ABSOLUTE:g}."
    return findings, [Plot("Figure 6: error of the joint angles", "t, s", "rad", curves, y_log=True, note=note)]


def accelerations(runs: dict[str, JointTrack]) -> Part:
    """Figure 7: 'smoother for a longer duration of time (about 5.5 s)' by the recursion, joint 3."""
    times, curves = [], []
    for name, run in runs.items():
        qdd = arm().forward_dynamics(run.q, run.qd, run.tau, formulation=FORMULATION[name])[:, 2]
        off = np.abs(qdd - desired_motion(run.t)[2][:, 2])
        times.append(round(crossing_time(run.t, off, VISIBLE * float(off.max())), 3))
        late = run.t > 4.5
        curves.append(Curve(name, run.t[late].tolist(), qdd[late].tolist(), dashed=name == "nonrecursive"))
    gain = times[0] - times[1]
    findings = [
        compare("Figure 7", "acceleration of joint 3 is smooth until", "5.5", times[0], REASON_LATER, "s"),
        claim(
            "Figure 7",
            "recursive: smooth for longer",
            "yes",
            advantage_text([gain]),
            above(gain, DIFFERENT),
            REASON_SAME,
        ),
    ]
    return findings, [Plot("Figure 7: acceleration of joint 3", "t, s", "rad/s2", curves)]


def power(runs: dict[str, JointTrack]) -> Part:
    """Figure 8: the power of the torques, with the desired and with the simulated velocities."""
    times, curves = [], []
    for name, run in runs.items():
        desired, simulated = (np.sum(run.tau * qd, axis=1) for qd in (desired_motion(run.t)[1], run.qd))
        off, largest = np.abs(simulated - desired), float(np.max(np.abs(desired)))
        times.append(round(crossing_time(run.t, off, VISIBLE * largest), 3))
        curves.append(Curve(name, run.t.tolist(), simulated.tolist(), dashed=name == "nonrecursive"))
    curves.append(Curve("desired", run.t.tolist(), desired.tolist(), dashed=True, colour=GREY))
    gain = times[0] - times[1]
    what = "simulated power matches the desired until"
    why = "a curve without numbers; ours is then 1 % of the largest off"
    findings = [
        unchecked("Figure 8", what, "a curve", why, f"{times[0]} s"),
        claim(
            "Figure 8",
            "recursive: matches for longer",
            "yes",
            advantage_text([gain]),
            above(gain, DIFFERENT),
            REASON_SAME,
        ),
    ]
    return findings, [Plot("Figure 8: power of the torques", "t, s", "W", curves)]


def durations(runs: dict[str, JointTrack]) -> Part:
    """Table 3, with 'acceptable' taken as less than a hundredth of the error that is plotted in the end."""
    times = {
        name: [run.leaves(i, VISIBLE * float(np.max(np.abs(run.error[:, i])))) for i in range(JOINTS)]
        for name, run in runs.items()
    }
    findings = [
        compare("Table 3", f"theta {i + 1}, {name}", printed, round(times[name][i], 3), WHY_3[name], "s")
        for name, column in tables("mohan2007")["table_3"].items()
        for i, printed in enumerate(column)
    ]
    gains = [a - b for a, b in zip(*times.values(), strict=True)]
    what, advantage = "recursive: acceptable for longer", above(min(gains), DIFFERENT)
    findings.append(claim("Table 3", what, "by 0.3 to 0.6 s", advantage_text(gains), advantage, REASON_SAME))
    return findings, []


def effort(runs: dict[str, JointTrack]) -> Part:
    """Return the findings on figure 9 and on the step sizes of section 5."""
    repeats = [{name: forced(rate(FORMULATION[name])) for name in runs} for _ in range(TIMING_REPEATS)]
    best = {name: min((each[name] for each in repeats), key=lambda run: float(run.clock[-1])) for name in runs}
    recursive, other = best.values()
    share = float(recursive.clock[-1] / other.clock[-1])
    evaluations = f"{recursive.evaluations} and {other.evaluations}"
    why = "as many evaluations, and for six joints one takes about as long as the other"
    findings = [
        claim(
            "Figure 9", "recursive: less computing time", "yes", f"{share:.2f} of it", below(share, 0.95), why,
            timed=True,
        ),
        claim(
            "Figure 9", "recursive: fewer evaluations", "yes", evaluations,
            below(recursive.evaluations / other.evaluations, 0.95), REASON_SAME, words="ratio",
        ),
        *(step_sizes(name) for name in runs),
    ]  # fmt: skip
    curves = [
        Curve(name, run.t.tolist(), (1e3 * run.clock).tolist(), dashed=run is other) for name, run in best.items()
    ]
    note = "Compiled dynamics, integrator in Python; measured on this machine."
    return findings, [Plot("Figure 9: computing time", "simulated time, s", "ms", curves, note=note)]


def step_sizes(name: str) -> Finding:
    """'Step sizes of 0.1, 0.01, 0.001, and 0.0001 are used in ode45. No significant effect was observed.'"""
    steps = [forced(rate(FORMULATION[name]), first_step=h).evaluations for h in (0.1, 0.01, 0.001, 0.0001)]
    return claim(
        "Section 5", f"effect of step sizes 0.1 to 0.0001, taken as first steps, {name}", "not significant",
        f"{min(steps)} to {max(steps)} evaluations", below(max(steps) / min(steps), 1.1),
        "the first step matters to our step control", words="most over least",
    )  # fmt: skip
