"""`armwright excite` and `armwright identify`: a motion for measurements, and parameters from measured data."""

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
from armwright.cli.page_names import page_file, payload_suffix
from armwright.errors import InputError, ModelWarning
from armwright.identify import Identification, base_parameters, condition, estimate, excitation
from armwright.identify.least_squares import Residual
from armwright.identify.measured_data import per_joint, read, write_csv
from armwright.identify.result_page import RESIDUAL_HEADS, VALIDATION_HEADS, residual_rows, summary, validation_rows
from armwright.identify.validation import WORSE_RATIO, Validation
from armwright.names import shown, tidy
from armwright.robot import Robot

SUSPICIOUS_RESIDUAL = 0.2
"""The unexplained part of a joint's torque above which something is probably wrong."""

MAX_DATA_ROWS = 1_000_000
"""The largest number of rows of a table: some hundred megabytes."""

ROBOT_WRITERS = {".toml": Robot.to_toml, ".urdf": Robot.to_urdf, ".xml": Robot.to_mjcf}


def run_excitation(
    robot: NamedRobot,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .csv file to write.")] = None,
    period: Annotated[float, typer.Option(help="Seconds.")] = 10.0,
    velocity: Annotated[float, typer.Option(help="The largest speed of a joint, rad/s or m/s.")] = 2.0,
    acceleration: Annotated[float, typer.Option(help="The largest acceleration, rad/s^2 or m/s^2.")] = 8.0,
    every: Annotated[float, typer.Option(help="Seconds between rows.")] = 0.01,
    seed: Annotated[int, typer.Option(help="The seed of the search for a motion.", min=0)] = 0,
    json: JSON_OPTION = False,
) -> None:
    """Find a motion that excites every parameter the dynamics depend on, and write it as a table.

    Example: armwright excite puma560
    """
    arm = robot_of(robot)
    if not 0 < every < np.inf or not period / every <= MAX_DATA_ROWS:
        raise InputError(f"every = {every!r}: expected seconds above zero, for at most {MAX_DATA_ROWS:,} rows a period")
    max_speeds = np.minimum(velocity, [joint.max_velocity or np.inf for joint in arm.joints])
    with show_progress(f"searching for a motion of {arm.name}"):
        motion = excitation(arm, period=period, velocity=max_speeds, acceleration=acceleration, seed=seed)
    t = np.linspace(motion.start, motion.end, math.ceil(motion.duration / every - 1e-9) + 1)
    q, qd, qdd = motion(t)
    path = page_name(output, f"{arm.name}{payload_suffix(arm)}", "_motion.csv")
    write_csv(path, {"t": t, **per_joint(q=q, qd=qd, qdd=qdd)})
    results: dict[str, Any] = {
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
        show_json(results)
    else:
        _show_motion(arm, results)


def _show_motion(arm: Robot, results: Mapping[str, Any]) -> None:
    rows = [("joint", "position", "peak speed", "peak acceleration")]
    for joint, row in zip(arm.joints, results["joints"], strict=True):
        unit = "m" if joint.prismatic else "rad"
        reach = f"{tidy(row['from'], '.4g')} to {tidy(row['to'], '.4g')} {unit}"
        rows.append((joint.name, reach, f"{row['speed']:.4g} {unit}/s", f"{row['acceleration']:.4g} {unit}/s^2"))
    show_rows(rows, f"{escape(arm.name)}, {results['seconds']:g} s")
    out = console()
    out.print(f"{results['base_parameters']} base parameters, condition number {results['condition']:.3g}")
    out.print("Only joint limits were checked: make sure that nothing is in the way.", style="dim")
    report_page(results["file"], f"t, q, qd, qdd in {results['rows']} rows")


def run_identification(
    robot: NamedRobot,
    data: Annotated[Path, typer.Argument(help="A .csv or .parquet file: t, q1.., tau1.., and if known qd1.., qdd1..")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the page.")] = None,
    write: Annotated[Path | None, typer.Option(help="A .toml, .urdf or .xml file for the identified robot.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Of the filter, Hz, if the data have no derivatives.")] = None,
    validate: Annotated[Path | None, typer.Option(help="Data of another motion, to validate the parameters.")] = None,
    json: JSON_OPTION = False,
) -> bool:
    """Identify the parameters of a robot from measured torques, with standard deviations.

    Example: armwright identify puma560 measured.csv
    """
    arm = robot_of(robot)
    validation_data = None
    if validate is not None:
        with name_errors("--validate"):
            validation_data = read(validate, arm.n, cutoff, arm.nq)
    if write is not None and write.suffix not in ROBOT_WRITERS:
        raise InputError(f"--write {write}: expected a name that ends in {', '.join(ROBOT_WRITERS)}")
    with show_progress(f"identifying {arm.name}"):
        identification = estimate(arm, data, cutoff=cutoff)
    validation = None
    if validation_data is not None:
        with name_errors("--validate"), show_progress(f"validating {arm.name}"):
            validation = identification.validate(validation_data)
    page = page_file(output, arm, "_identified.html")
    identification.to_html(page.path, validation)
    path = page.append_mark()
    plausible = _warn_of_residuals(identification)
    if validation is not None:
        plausible &= _warn_of_validation(validation)
    written = write if plausible else None
    if written is not None:
        source = f"Identified from {data.name} ({len(identification.data)} samples), from:\n{arm.source.strip()}\n"
        ROBOT_WRITERS[written.suffix](replace(identification.robot, source=source), written)
    if json:
        tried = {} if validation is None else {"validation": _validated(validation)}
        show_json({**_as_data(identification), **tried, "ok": plausible, "page": path, "robot_file": written})
        return plausible
    _show(identification)
    if validation is not None:
        console().print()
        title = f"On {len(validation.data)} samples of {escape(validate)}, which are not in the fit"
        show_rows([VALIDATION_HEADS, *validation_rows(validation, arm)], title)
    report_page(path, "parameters, residuals and torques")
    if written is not None:
        report_page(written, "the robot with these parameters")
    return plausible


def _as_data(identification: Identification) -> dict[str, Any]:
    heads = ("parameter", "value", "deviation", "sum")
    return {
        "robot": identification.prior.name,
        "parameters": [dict(zip(heads, row, strict=True)) for row in identification.rows],
        "residuals": [asdict(residual) for residual in identification.residuals],
        "summary": summary(identification),
    }


def _warn_of_residuals(identification: Identification) -> bool:
    """Warn of joints that the model does not explain; return False if no torque at all would be better for one."""
    return _warn_of_joints(
        [r for r in identification.residuals if r.relative > SUSPICIOUS_RESIDUAL],
        lambda joints: (
            f"the model leaves more than {SUSPICIOUS_RESIDUAL:.0%} of the torque of {joints} unexplained. Look for "
            "angles in degrees, torques of the motor instead of the joint, a wrong sign, columns in another order, "
            "data of another robot; or for much noise, where the correlation of neighbours is near 0."
        ),
    )


def _warn_of_joints(residuals: list[Residual], sentence: Callable[[str], str]) -> bool:
    """Warn of joints with large residuals; return False if no torque at all would be better for one of them."""
    if not residuals:
        return True
    joints = ", ".join(f"{shown(r.joint)} ({r.relative:.0%})" for r in residuals)
    plausible = all(r.relative <= 1 for r in residuals)
    verdict = "" if plausible else " A model without any torque would be better, so no robot is written."
    warnings.warn(f"{sentence(joints)}{verdict}", ModelWarning, stacklevel=3)
    return plausible


def _validated(validation: Validation) -> list[dict[str, Any]]:
    """Return the residuals on other data, with those of the fit and of the robot as described."""
    rows = zip(validation.residuals, validation.fitted, validation.described, strict=True)
    return [
        {**asdict(residual), "relative_of_fit": of_fit.relative, "relative_as_described": described.relative}
        for residual, of_fit, described in rows
    ]


def _warn_of_validation(validation: Validation) -> bool:
    """Warn of joints with large residuals on other data; return False if no torque at all would be better for one."""
    return _warn_of_joints(
        [r for r in validation.residuals if r.joint in validation.worse and r.relative > SUSPICIOUS_RESIDUAL],
        lambda joints: (
            f"on the validation data, the model leaves more than {SUSPICIOUS_RESIDUAL:.0%} of the torque of {joints} "
            f"unexplained, and more than {WORSE_RATIO:g} times as much as on the data of the fit. Look for another "
            "payload, another robot, other friction, or too few rows in the fit."
        ),
    )


def _show(identification: Identification) -> None:
    rows = [(name, f"{value:.5g}", f"{deviation:.1g}", text) for name, value, deviation, text in identification.rows]
    show_rows([("parameter", "value", "+-", "the sum of"), *rows], escape(identification.prior.name))
    out = console()
    out.print()
    show_rows([RESIDUAL_HEADS, *residual_rows(identification)])
    out.print()
    out.print(escape(summary(identification)), soft_wrap=True)
