"""The HTML of robots, runs and trajectories in a notebook: a title, a table and a small picture."""

from __future__ import annotations

import numpy as np

from armwright.model.printed_tables import as_html
from armwright.names import shown, tidy
from armwright.notebook import box, table
from armwright.pages.report.plot import COLOURS, Plot, per_joint
from armwright.pages.scene import svg
from armwright.robot import Robot
from armwright.simulation.run import Run
from armwright.trajectory.motion_base import Trajectory

TRAJECTORY_SAMPLES = 1001
"""The number of times, besides its knots, at which a trajectory is evaluated for its table."""

TRAJECTORY_HEADS = ("joint", "from", "to", "least", "largest", "peak speed", "peak acceleration")


def robot_cell(robot: Robot) -> str:
    """Return a picture of a robot and the table of its joints and links."""
    return box(repr(robot)[1:-1], svg(robot), as_html(robot))


def run_cell(run: Run) -> str:
    """Return the peaks of a run with their shares of the limits, and its torques as curves."""
    places = run.driven
    joints = [run.robot.joints[i] for i in places]
    unit = " or ".join(sorted({"N" if joint.prismatic else "N m" for joint in joints}, reverse=True))
    curves = per_joint(run.t, run.tau, places, [shown(joint.name) for joint in run.robot.joints])
    torques = Plot("Torque", "t, s", unit, curves, width=520, height=260)
    return box(repr(run)[1:-1], run.utilisation.html(places), _small(torques))


def trajectory_cell(trajectory: Trajectory) -> str:
    """Return the ranges and peaks of every joint, and its positions as curves."""
    knots = trajectory.knots
    if not np.isfinite(knots).all():
        return box(repr(trajectory)[1:-1])
    t = np.union1d(np.linspace(knots[0], knots[-1], TRAJECTORY_SAMPLES), knots)
    rows = []
    for i, (q, qd, qdd) in enumerate(zip(*(x.T for x in trajectory(t)), strict=True)):
        peaks = (q[0], q[-1], q.min(), q.max(), np.abs(qd).max(), np.abs(qdd).max())
        rows.append((f"{i + 1}", *(tidy(float(x), ".4g") for x in peaks)))
    plot = Plot("Position", "t, s", "rad or m", per_joint(t, trajectory(t)[0]), width=520, height=260)
    return box(repr(trajectory)[1:-1], table(TRAJECTORY_HEADS, rows), _small(plot))


def _small(plot: Plot) -> str:
    """Return a plot in the width of a cell; "" if it has more curves than colours."""
    return f'<div style="width:420px">{plot.svg()}</div>' if len(plot.curves) <= len(COLOURS) else ""
