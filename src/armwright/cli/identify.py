"""`armwright excite` and `armwright identify`: a motion to measure along, and the parameters in what was measured."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.markup import escape

from armwright.cli.motion import safe_name
from armwright.cli.output import console, table
from armwright.cli.robots import Chosen, robot_of
from armwright.errors import InputError, ModelWarning
from armwright.identify import Identification, base_parameters, condition, estimate, excitation
from armwright.identify.data import write_csv
from armwright.identify.page import HEADS, residual_rows, summary
from armwright.robot import Robot

SUSPICIOUS = 0.2
"""The part of a joint's torque that a model may leave before something is likely to be wrong."""

WRITERS = {".toml": Robot.to_toml, ".urdf": Robot.to_urdf, ".xml": Robot.to_mjcf}


def run_excitation(
    robot: Chosen, output: Path | None, period: float, velocity: float, acceleration: float, every: float, seed: int
) -> None:
    """Find a motion, write it as a table of t, q, qd, qdd, and say how well it shows what there is."""
    arm = robot_of(robot)
    if not every > 0:
        raise InputError(f"every = {every!r}: expected seconds, above zero")
    most = np.minimum(velocity, [joint.max_velocity or np.inf for joint in arm.joints])
    out = console()
    with out.status(f"looking for a motion of {arm.name}"):
        motion = excitation(arm, period=period, velocity=most, acceleration=acceleration, seed=seed)
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


def run_identification(
    robot: Chosen, data: Path, output: Path | None, write: Path | None, cutoff: float | None
) -> bool:
    """Estimate, print both tables, write the page and the robot; False if the model says less than nothing would."""
    arm = robot_of(robot)
    if write is not None and write.suffix not in WRITERS:
        raise InputError(f"--write {write}: expected a name that ends in {', '.join(WRITERS)}")
    found = estimate(arm, data, cutoff=cutoff)
    _show(found)
    out = console()
    path = found.to_html(output or Path(f"{safe_name(arm.name)}_identified.html"))
    out.print(f"{path}: parameters, residuals and torques", style="dim")
    good = _warn_of_residuals(found)
    if write is not None and good:
        source = f"Identified from {data.name} ({len(found.data)} samples), beginning with:\n{arm.source.strip()}\n"
        WRITERS[write.suffix](replace(found.robot, source=source), write)
        out.print(f"{write}: the robot with these parameters", style="dim")
    return good


def _warn_of_residuals(found: Identification) -> bool:
    """Say which joints the model does not explain; False if for some joint no model at all would be nearer."""
    left = [r for r in found.residuals if r.relative > SUSPICIOUS]
    if not left:
        return True
    joints = ", ".join(f"{r.joint} ({r.relative:.0%})" for r in left)
    good = all(r.relative <= 1 for r in left)
    verdict = "" if good else " A model without any torque would be nearer, so no robot is written."
    warnings.warn(
        f"the model leaves more than {SUSPICIOUS:.0%} of the torque of {joints} unexplained. Look for angles in "
        "degrees, torques of the motor instead of the joint, a sign that is turned, columns in another order, data of "
        f"another robot; or for much noise, where the correlation of neighbours is near 0.{verdict}",
        ModelWarning,
        stacklevel=2,
    )
    return good


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
