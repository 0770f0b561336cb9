"""`armwright excite` and `armwright identify`: a motion to measure along, and the parameters in what was measured."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.markup import escape

from armwright.cli.motion import safe_name
from armwright.cli.output import console, table
from armwright.cli.robots import robot_of
from armwright.errors import InputError
from armwright.identify import Identification, base_parameters, condition, estimate, excitation
from armwright.identify.data import write_csv
from armwright.identify.page import HEADS, residual_rows, summary


def run_excitation(
    robot: str, output: Path | None, period: float, velocity: float, acceleration: float, every: float, seed: int
) -> None:
    """Find a motion, write it as a table of t, q, qd, qdd, and say how well it shows what there is."""
    arm = robot_of(robot)
    if not every > 0:
        raise InputError(f"every = {every!r}: expected seconds, above zero")
    out = console()
    with out.status(f"looking for a motion of {arm.name}"):
        motion = excitation(arm, period=period, velocity=velocity, acceleration=acceleration, seed=seed)
    t = np.linspace(motion.start, motion.end, math.ceil(motion.duration / every - 1e-9) + 1)
    state = motion(t)
    columns = {"t": t}
    for name, values in zip(("q", "qd", "qdd"), state, strict=True):
        columns |= {f"{name}{i + 1}": column for i, column in enumerate(values.T)}
    path = write_csv(output or Path(f"{safe_name(arm.name)}_motion.csv"), columns)
    made = table("joint", "position", "peak speed", "peak acceleration", title=f"{escape(arm.name)}, {t[-1]:g} s")
    for joint, q, qd, qdd in zip(arm.joints, *(x.T for x in state), strict=True):
        unit = "m" if joint.prismatic else "rad"
        peaks = (f"{np.abs(rate).max():.4g} {unit}/s{power}" for rate, power in ((qd, ""), (qdd, "^2")))
        made.add_row(escape(joint.name), f"{q.min():.4g} to {q.max():.4g} {unit}", *peaks)
    out.print(made)
    out.print(f"{len(base_parameters(arm))} base parameters, condition number {condition(arm, *state):.3g}")
    out.print("Only joint limits were looked at: see that nothing is in the way.", style="dim")
    out.print(f"{path}: t, q, qd, qdd in {len(t)} rows", style="dim")


def run_identification(robot: str, data: Path, output: Path | None, write: Path | None, cutoff: float | None) -> None:
    """Estimate, print both tables, write the page and the robot."""
    arm = robot_of(robot)
    found = estimate(arm, data, cutoff=cutoff)
    _show(found)
    out = console()
    path = found.to_html(output or Path(f"{safe_name(arm.name)}_identified.html"))
    out.print(f"{path}: parameters, residuals and torques", style="dim")
    if write is not None:
        source = f"Identified from {data.name} ({len(found.data)} samples), beginning with:\n{arm.source.strip()}\n"
        replace(found.robot, source=source).to_toml(write)
        out.print(f"{write}: the robot with these parameters", style="dim")


def _show(found: Identification) -> None:
    out = console()
    made = table("parameter", "value", "+-", "the sum of", title=escape(found.prior.name))
    for name, value, deviation, text in found.rows:
        made.add_row(name, f"{value:.5g}", f"{deviation:.1g}", escape(text))
    out.print(made)
    out.print()
    left = table(*HEADS)
    for row in residual_rows(found):
        left.add_row(*map(escape, row))
    out.print(left)
    out.print()
    out.print(escape(summary(found)), soft_wrap=True)
