"""`armwright excite` and `armwright identify`: a motion to measure along, and the parameters in what was measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armwright.cli.command import JSON_OPTION, NamedRobot, robot_of
from armwright.cli.output import (
    console,
    escape,
    name_errors,
    page_name,
    report_page,
    show_json,
    show_progress,
    show_rows,
)
from armwright.cli.page_names import page_place, payload_suffix
from armwright.errors import InputError, ModelWarning
from armwright.identify import Identification, base_parameters, condition, estimate, excitation
from armwright.identify.least_squares import Residual
from armwright.identify.measured_data import per_joint, read, write_csv
from armwright.identify.result_page import RESIDUAL_HEADS, VALIDATION_HEADS, residual_rows, summary, validation_rows
from armwright.identify.validation import WORSE_RATIO, Validation
from armwright.names import shown, tidy
from armwright.robot import Robot

SUSPICIOUS_RESIDUAL = 0.2
"""The part of a joint's torque that a model may leave before something is likely to be wrong."""

MAX_DATA_ROWS = 1_000_000
"""Of a table: some hundred megabytes."""

ROBOT_WRITERS = {".toml": Robot.to_toml, ".urdf": Robot.to_urdf, ".xml": Robot.to_mjcf}


def run_excitation(
    robot: NamedRobot,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .csv file to write.")] = None,
    period: Annotated[float, typer.Option(help="Seconds.")] = 10.0,
    velocity: Annotated[float, typer.Option(help="The largest speed of a joint, rad/s or m/s.")] = 2.0,
    acceleration: Annotated[float, typer.Option(help="The largest acceleration, rad/s^2 or m/s^2.")] = 8.0,
    every: Annotated[float, typer.Option(help="Seconds between rows.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Another one gives another motion.", min=0)] = 0,
    json: JSON_OPTION = False,
) -> None:
    """Find a motion that excites every parameter the dynamics depend on, and write it as a table.

    Example: armwright excite puma560
    """
    arm = robot_of(robot)
    if not 0 < every < np.inf or not period / every <= MAX_DATA_ROWS:
        raise InputError(
            f"every = {every!r}: expected seconds, above zero, and no more than {MAX_DATA_ROWS:,} rows a period"
        )
    most = np.minimum(velocity, [joint.max_velocity or np.inf for joint in arm.joints])
    with show_progress(f"looking for a motion of {arm.name}"):
        motion = excitation(arm, period=period, velocity=most, acceleration=acceleration, seed=seed)
    t = np.linspace(motion.start, motion.end, math.ceil(motion.duration / every - 1e-9) + 1)
    q, qd, qdd = motion(t)
    path = write_csv(
        page_name(output, f"{arm.name}{payload_suffix(arm)}", "_motion.csv"), {"t": t, **per_joint(q=q, qd=qd, qdd=qdd)}
    )
    found: dict[str, Any] = {
        "robot": arm.name,
        "seconds": t[-1],
        "joints": [
            {"joint": j.name, "from": x.min(), "to": x.max(), "speed": np.abs(v).max(), "acceleration": np.abs(a).max()}
            for j, x, v, a in zip(arm.joints, q.T, qd.T, qdd.T, strict=True)
        ],
        "base_parameters": len(base_parameters(arm)),
        "condition": condition(arm, q, qd, qdd),
        "file": path,
        "rows": len(t),
    }
    if json:
        show_json(found)
    else:
        _show_motion(arm, found)


def _show_motion(arm: Robot, found: Mapping[str, Any]) -> None:
    rows = [("joint", "position", "peak speed", "peak acceleration")]
    for joint, row in zip(arm.joints, found["joints"], strict=True):
        unit = "m" if joint.prismatic else "rad"
        reach = f"{tidy(row['from'], '.4g')} to {tidy(row['to'], '.4g')} {unit}"
        rows.append((joint.name, reach, f"{row['speed']:.4g} {unit}/s", f"{row['acceleration']:.4g} {unit}/s^2"))
    show_rows(rows, f"{escape(arm.name)}, {found['seconds']:g} s")
    out = console()
    out.print(f"{found['base_parameters']} base parameters, condition number {found['condition']:.3g}")
    out.print("Only joint limits were looked at: see that nothing is in the way.", style="dim")
    report_page(found["file"], f"t, q, qd, qdd in {found['rows']} rows")


def run_identification(
    robot: NamedRobot,
    data: Annotated[Path, typer.Argument(help="A .csv or .parquet file: t, q1.., tau1.., and if known qd1.., qdd1..")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the page.")] = None,
    write: Annotated[Path | None, typer.Option(help="A .toml, .urdf or .xml file for the robot found.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Hz, of the filter if derivatives are not in the data.")] = None,
    validate: Annotated[
        Path | None, typer.Option(help="Data of another motion, on which the parameters found are tried.")
    ] = None,
    json: JSON_OPTION = False,
) -> bool:
    """Identify the parameters of a robot from measured torques, with standard deviations.

    Example: armwright identify puma560 measured.csv
    """
    arm = robot_of(robot)
    others = None
    if validate is not None:
        with name_errors("--validate"):
            others = read(validate, arm.n, cutoff, arm.nq)
    if write is not None and write.suffix not in ROBOT_WRITERS:
        raise InputError(f"--write {write}: expected a name that ends in {', '.join(ROBOT_WRITERS)}")
    with show_progress(f"identifying {arm.name}"):
        found = estimate(arm, data, cutoff=cutoff)
    tried = None
    if others is not None:
        with name_errors("--validate"), show_progress(f"validating {arm.name}"):
            tried = found.validate(others)
    where = page_place(output, arm, "_identified.html")
    found.to_html(where.path, tried)
    path = where.mark()
    good = _warn_of_residuals(found)
    if tried is not None:
        good &= _warn_of_validation(tried)
    written = write if good else None
    if written is not None:
        source = f"Identified from {data.name} ({len(found.data)} samples), beginning with:\n{arm.source.strip()}\n"
        ROBOT_WRITERS[written.suffix](replace(found.robot, source=source), written)
    if json:
        validation = {} if tried is None else {"validation": _validated(tried)}
        show_json({**_as_data(found), **validation, "ok": good, "page": path, "robot_file": written})
        return good
    _show(found)
    if tried is not None:
        console().print()
        title = f"On {len(tried.data)} samples of {escape(validate)}, which did not go into it"
        show_rows([VALIDATION_HEADS, *validation_rows(tried, arm)], title)
    report_page(path, "parameters, residuals and torques")
    if written is not None:
        report_page(written, "the robot with these parameters")
    return good


def _as_data(found: Identification) -> dict[str, Any]:
    heads = ("parameter", "value", "deviation", "sum")
    return {
        "robot": found.prior.name,
        "parameters": [dict(zip(heads, row, strict=True)) for row in found.rows],
        "residuals": [asdict(residual) for residual in found.residuals],
        "summary": summary(found),
    }


def _warn_of_residuals(found: Identification) -> bool:
    """Say which joints the model does not explain; False if for some joint no model at all would be nearer."""
    return _warn_of_joints(
        [r for r in found.residuals if r.relative > SUSPICIOUS_RESIDUAL],
        lambda joints: (
            f"the model leaves more than {SUSPICIOUS_RESIDUAL:.0%} of the torque of {joints} unexplained. Look for "
            "angles in degrees, torques of the motor instead of the joint, a wrong sign, columns in another order, "
            "data of another robot; or for much noise, where the correlation of neighbours is near 0."
        ),
    )


def _warn_of_joints(left: list[Residual], sentence: Callable[[str], str]) -> bool:
    """Warn of joints of which much is left unexplained; False if for one of them no model at all would be nearer."""
    if not left:
        return True
    joints = ", ".join(f"{shown(r.joint)} ({r.relative:.0%})" for r in left)
    good = all(r.relative <= 1 for r in left)
    verdict = "" if good else " A model without any torque would be nearer, so no robot is written."
    warnings.warn(f"{sentence(joints)}{verdict}", ModelWarning, stacklevel=3)
    return good


def _validated(tried: Validation) -> list[dict[str, Any]]:
    """The residuals on other data as numbers, with those of the fit and of the robot as described."""
    rows = zip(tried.residuals, tried.fitted, tried.described, strict=True)
    return [
        {**asdict(here), "relative_of_fit": there.relative, "relative_as_described": before.relative}
        for here, there, before in rows
    ]


def _warn_of_validation(tried: Validation) -> bool:
    """Say of which joints the parameters leave much on other data; False if no model at all would be nearer."""
    return _warn_of_joints(
        [r for r in tried.residuals if r.joint in tried.worse and r.relative > SUSPICIOUS_RESIDUAL],
        lambda joints: (
            f"on the data to validate with, the model leaves more than {SUSPICIOUS_RESIDUAL:.0%} of the torque of "
            f"{joints}, and more than {WORSE_RATIO:g} times what it leaves of those of the fit. Look for another "
            "payload, another robot, other friction, or too few rows in the fit."
        ),
    )


def _show(found: Identification) -> None:
    rows = [(name, f"{value:.5g}", f"{deviation:.1g}", text) for name, value, deviation, text in found.rows]
    show_rows([("parameter", "value", "+-", "the sum of"), *rows], escape(found.prior.name))
    out = console()
    out.print()
    show_rows([RESIDUAL_HEADS, *residual_rows(found)])
    out.print()
    out.print(escape(summary(found)), soft_wrap=True)
