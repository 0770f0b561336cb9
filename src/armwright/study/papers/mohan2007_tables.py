"""Mohan and Saha (2007), table 3, if the torques come from a table with linear interpolation.

The paper does not say how the torques of inverse dynamics reach the simulation. Matlab's way would be a table at the
step size and `interp1`, with interpolation errors between its rows. Rows every 0.01 s make the run depart
when the paper's recursive one does, rows every 0.1 s when its nonrecursive one does, and with either table the two
algorithms depart together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armwright import torque
from armwright.algebra import Array
from armwright.pages.report.plot import Curve, Plot
from armwright.study.papers.finding import Finding, Part, above, claim, compare_each
from armwright.study.papers.mohan2007_runs import (
    DIFFERENT,
    FORMULATION,
    JOINTS,
    PERIOD,
    VISIBLE,
    JointTrack,
    advantage_text,
    arm,
    desired_motion,
    forced,
    rate,
)
from armwright.study.published import tables
from armwright.torque.moment import Moment

SPACING = {"recursive": 0.01, "nonrecursive": 0.1}
"""The seconds between rows with which a run departs as in this column of table 3."""

DEPARTURE_ERROR = 0.005
"""The error, rad, at which a joint departs; the paper does not define 'acceptable'."""

CONJECTURE = "a conjecture: the paper does not say how torques are given; either algorithm departs so with this table"
REASON_SMALL_ERRORS = (
    "joints 1, 2 and 4 never err much, and 1 % of that is what the straight lines alone make of the torques"
)


def tabulated(every: float) -> Callable[[float], Array]:
    """Return the torques of the motion by a table with a row every `every` seconds."""
    t = np.linspace(0, PERIOD, round(PERIOD / every) + 1)
    law, mechanism = torque.table(t, arm().inverse_dynamics(*desired_motion(t))), arm().mechanism()
    rest = [0.0] * JOINTS
    return lambda now: np.array(law.torques(Moment(float(now), rest, rest, mechanism)))


def departures(run: JointTrack, share: float = 0.0) -> list[float]:
    """Return the times at which joints are off by `DEPARTURE_ERROR`, or by a share of their largest errors."""
    limits = share * np.max(np.abs(run.error), axis=0) if share else np.full(JOINTS, DEPARTURE_ERROR)
    return [round(run.leaves(i, float(limit)), 2) for i, limit in enumerate(limits)]


def from_tables() -> Part:
    """Return the findings on table 3 with torques from tables, with and without the recursion."""
    printed = tables("mohan2007")["table_3"]
    findings: list[Finding] = []
    curves: list[Curve] = []
    for column, every in SPACING.items():
        runs = {name: forced(rate(made, torque=tabulated(every))) for name, made in FORMULATION.items()}
        theirs, first = [float(x) for x in printed[column]], runs["recursive"]
        rows = f"{column} column, torques as a table every {every:g} s"
        visible = CONJECTURE if every < 0.1 else f"{CONJECTURE}; {REASON_SMALL_ERRORS}"
        findings += [
            compare_each("Table 3", f"{rows}: {DEPARTURE_ERROR:g} rad off", theirs, departures(first), CONJECTURE),
            compare_each("Table 3", f"{rows}: 1 % of the largest error", theirs, departures(first, VISIBLE), visible),
            advantage_with_table(every, *runs.values()),
        ]
        curves += [
            Curve(f"{name}, every {every:g} s", run.t[1:].tolist(), np.abs(run.error[1:, 2]).tolist(),
                  dashed=name == "nonrecursive")
            for name, run in runs.items()
        ]  # fmt: skip
    note = "Solid: recursive, dashed: nonrecursive, one upon the other: the table decides."
    return findings, [Plot("Table 3: joint 3 with torques as a table", "t, s", "rad", curves, y_log=True, note=note)]


def advantage_with_table(every: float, recursive: JointTrack, other: JointTrack) -> Finding:
    """Return the finding on the advantage of the recursion with torques from a table."""
    gains = [a - b for a, b in zip(departures(recursive), departures(other), strict=True)]
    what = f"recursive: acceptable for longer, torques as a table every {every:g} s"
    why = "the table decides when the run departs, not the recursion"
    return claim("Table 3", what, "by 0.3 to 0.6 s", advantage_text(gains),
                 above(min(gains), DIFFERENT), why, words="s,")  # fmt: skip
