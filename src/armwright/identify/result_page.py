"""The page of an identification: parameters, residuals, and measured and modelled torques of every joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.identify.parameter_vector import parameters
from armwright.pages.report.plot import Curve, Plot, figures
from armwright.pages.report.run_page import joint_units

MAX_CURVE_POINTS = 1500
"""Largest number of points of a curve, about the pixels of a screen."""

RESIDUAL_HEADS = ("joint", "residual rms", "of the torque", "correlation of neighbours", "noise")
VALIDATION_HEADS = ("joint", "residual rms", "of the torque", "of the data of the fit", "by the robot as described")


def page(result: Any, validation: Any = None) -> str:
    """Return the page of an `Identification`, with a `Validation` on other data if there is one."""
    data, robot = result.data, result.prior
    every = max(1, -(-len(data) // MAX_CURVE_POINTS))
    plots = []
    for i, joint in enumerate(robot.joints):
        _, unit = joint_units(joint)
        t = data.t[::every].tolist()
        measured, model = data.tau[::every, i], result.tau[::every, i]
        curves = [
            Curve("measured", t, measured.tolist()),
            Curve("model", t, model.tolist(), dashed=True),
            Curve("residual", t, (measured - model).tolist()),
        ]
        plots.append(Plot(f"{joint.name}: torque", "time, s", f"torque, {unit}", curves, height=300))
    tables = [
        ("Residuals", [RESIDUAL_HEADS, *residual_rows(result)]),
        ("Base parameters", [PARAMETER_HEADS, *rows(result)]),
    ]
    if validation is not None:
        title = f"On data that were not used in the fit: {len(validation.data)} samples"
        tables.insert(0, (title, [VALIDATION_HEADS, *validation_rows(validation, robot)]))
    return figures(f"{robot.name}, identified", summary(result), plots, tables, "identification")


def summary(result: Any) -> str:
    """Return a summary of an identification in a few sentences."""
    data = result.data
    note = f" ({data.note})" if data.note else ""
    worst = float(np.abs(result.departure).max())
    bodies = (
        "Bodies that have these parameters exist"
        if worst < 1
        else f"No bodies have exactly these parameters: the nearest are up to {worst:.1f} standard deviations away"
    )
    return (
        f"{len(result.base)} base parameters from {len(data)} samples over {data.t[-1] - data.t[0]:.3g} s{note}. "
        f"Condition number of the weighted regressor {result.condition:.3g}. {bodies}."
    )


def residual_rows(result: Any) -> list[tuple[str, ...]]:
    """Return the table of residuals, a row for each joint, below RESIDUAL_HEADS."""
    return [
        (r.joint, f"{r.rms:.3g} {unit}", f"{r.relative:.2%}", f"{r.correlation:.2f}", f"{noise:.3g} {unit}")
        for r, noise, (_, unit) in zip(
            result.residuals, result.noise, map(joint_units, result.prior.joints), strict=True
        )
    ]


def validation_rows(validation: Any, robot: Any) -> list[tuple[str, ...]]:
    """Return the residuals of each joint on other data, on those of the fit, and with the prior robot."""
    rows = zip(
        validation.residuals, validation.fitted, validation.described, map(joint_units, robot.joints), strict=True
    )
    return [
        (other.joint, f"{other.rms:.3g} {unit}", *(f"{x.relative:.2%}" for x in (other, fit, prior)))
        for other, fit, prior, (_, unit) in rows
    ]


PARAMETER_HEADS = ("name", "unit", "value", "standard deviation", "as described", "of the robot found", "the sum of")
ROTARY_UNITS = {"viscous": "N m s", "coulomb": "N m", "armature": "kg m²"}
PRISMATIC_UNITS = {"viscous": "N s/m", "coulomb": "N", "armature": "kg"}


def rows(result: Any) -> list[tuple[str, ...]]:
    """Return the table of base parameters: measured, of the prior robot, and of the consistent robot."""
    before, after = (result.base.values(x) for x in (parameters(result.prior), result.parameters))
    return [
        (name, _unit(name, result.prior), f"{value:.5g}", f"{sd:.2g}", f"{a:.5g}", f"{b:.5g}", text)
        for (name, value, sd, text), a, b in zip(result.rows, before, after, strict=True)
    ]


def _unit(name: str, robot: Any) -> str:
    """Return the unit of a parameter; "" for one of joints if some turn and some slide."""
    stem = name.rstrip("0123456789")
    if stem in ROTARY_UNITS:
        kinds = {joint.prismatic for joint in robot.joints}
        return "" if len(kinds) > 1 else (PRISMATIC_UNITS if True in kinds else ROTARY_UNITS)[stem]
    return "kg" if stem == "m" else "kg m" if stem.startswith("m") else "kg m²"
