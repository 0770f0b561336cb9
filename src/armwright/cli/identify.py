"""`armwright excite` and `armwright identify`: a motion to measure along, and the parameters in what was measured."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from armwright.cli.command import NamedRobot, robot_of
from armwright.cli.output import console, page_name, show_rows
from armwright.errors import InputError, ModelWarning
from armwright.identify import Identification, base_parameters, condition, estimate, excitation
from armwright.identify.data import per_joint, write_csv
from armwright.identify.page import HEADS, residual_rows, summary
from armwright.robot import Robot

SUSPICIOUS = 0.2
"""The part of a joint's torque that a model may leave before something is likely to be wrong."""

WRITERS = {".toml": Robot.to_toml, ".urdf": Robot.to_urdf, ".xml": Robot.to_mjcf}


def run_excitation(
    robot: NamedRobot,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .csv file to write.")] = None,
    period: Annotated[float, typer.Option(help="Seconds.")] = 10.0,
    velocity: Annotated[float, typer.Option(help="The largest speed of a joint, rad/s or m/s.")] = 2.0,
    acceleration: Annotated[float, typer.Option(help="The largest acceleration, rad/s^2 or m/s^2.")] = 8.0,
    every: Annotated[float, typer.Option(help="Seconds between rows.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Another one gives another motion.")] = 0,
) -> None:
    """Find a motion that shows every parameter the dynamics depend on, and write it as a table."""
    arm = robot_of(robot)
    if not every > 0:
        raise InputError(f"every = {every!r}: expected seconds, above zero")
    most = np.minimum(velocity, [joint.max_velocity or np.inf for joint in arm.joints])
    out = console()
    with out.status(f"looking for a motion of {arm.name}"):
        motion = excitation(arm, period=period, velocity=most, acceleration=acceleration, seed=seed)
    t = np.linspace(motion.start, motion.end, math.ceil(motion.duration / every - 1e-9) + 1)
    q, qd, qdd = motion(t)
    path = write_csv(page_name(output, arm.name, "_motion.csv"), {"t": t, **per_joint(q=q, qd=qd, qdd=qdd)})
    rows = [("joint", "position", "peak speed", "peak acceleration")]
    for i, joint in enumerate(arm.joints):
        unit, speed, growth = "m" if joint.prismatic else "rad", np.abs(qd[:, i]).max(), np.abs(qdd[:, i]).max()
        reach = f"{q[:, i].min():.4g} to {q[:, i].max():.4g} {unit}"
        rows.append((joint.name, reach, f"{speed:.4g} {unit}/s", f"{growth:.4g} {unit}/s^2"))
    show_rows(rows, f"{escape(arm.name)}, {t[-1]:g} s")
    out.print(f"{len(base_parameters(arm))} base parameters, condition number {condition(arm, q, qd, qdd):.3g}")
    out.print("Only joint limits were looked at: see that nothing is in the way.", style="dim")
    out.print(f"{path}: t, q, qd, qdd in {len(t)} rows", style="dim")


def run_identification(
    robot: NamedRobot,
    data: Annotated[Path, typer.Argument(help="A .csv or .parquet file: t, q1.., tau1.., and if known qd1.., qdd1..")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the page.")] = None,
    write: Annotated[Path | None, typer.Option(help="A .toml, .urdf or .xml file for the robot found.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Hz, of the filter if derivatives are not in the data.")] = None,
) -> bool:
    """Find the parameters of a robot in measured torques, with standard deviations."""
    arm = robot_of(robot)
    if write is not None and write.suffix not in WRITERS:
        raise InputError(f"--write {write}: expected a name that ends in {', '.join(WRITERS)}")
    found = estimate(arm, data, cutoff=cutoff)
    _show(found)
    out = console()
    path = found.to_html(page_name(output, arm.name, "_identified.html"))
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
    rows = [(name, f"{value:.5g}", f"{deviation:.1g}", text) for name, value, deviation, text in found.rows]
    show_rows([("parameter", "value", "+-", "the sum of"), *rows], escape(found.prior.name))
    out = console()
    out.print()
    show_rows([HEADS, *residual_rows(found)])
    out.print()
    out.print(escape(summary(found)), soft_wrap=True)
