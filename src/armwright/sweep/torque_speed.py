"""Torque over speed of every joint in the rollouts of a study, with the limits of joint and actuator.

Torques are those of the drive at the joint: motor torque times ratio and efficiency. So the curves of motors are drawn
at the joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.model.records import JointModel
from armwright.pages.report.plot import COLOURS, Curve, Plot
from armwright.sizing import Actuator
from armwright.sweep.results import Results

PLOT_CELLS = (96, 64)
"""The numbers of cells of a plot, which draws one point in each: the one with the largest torque."""

Corners = list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class JointPoints:
    """Speeds and torques of a joint, a few thousand at most, with their rows."""

    joint: JointModel
    rows: Array
    speed: Array
    torque: Array


def torque_speed_columns(results: Results) -> tuple[tuple[str, str], str]:
    """Return the columns of speed and torque, and a note on them; empty names if the study has neither."""
    names = results.histories.schema.names if results.histories is not None else ()
    if "qd1" in names and "tau1" in names:
        return ("qd", "tau"), "at the records of the rollouts whose histories are kept"
    if {"peak_speed1", "peak_torque1"} <= set(results.wanted):
        return (
            ("peak_speed", "peak_torque"),
            "the largest speed and the largest torque of each rollout, at different times in general",
        )
    return ("", ""), "keep histories of qd and tau, or measure peak_speed and peak_torque, to see torque over speed"


def joint_points(results: Results) -> Iterator[JointPoints]:
    """Yield the points of each joint; nothing if a joint has several freedoms or no columns are there."""
    (speed, torque), _ = torque_speed_columns(results)
    joints = results.robot.joints
    if not speed or any(joint.kind for joint in joints):
        return
    for k, joint in enumerate(joints, 1):
        yield _points_of_joint(results, joint, f"{speed}{k}", f"{torque}{k}")


def _points_of_joint(results: Results, joint: JointModel, speed: str, torque: str) -> JointPoints:
    """Read the points of a joint in batches, so that memory does not grow with the study."""
    columns = ("row", speed, torque)
    low, high, points = np.full(2, np.inf), np.full(2, -np.inf), np.zeros((0, 3))
    for part in torque_speed_points(results, columns):
        low, high = np.minimum(low, part[:, 1:].min(axis=0)), np.maximum(high, part[:, 1:].max(axis=0))
    for part in torque_speed_points(results, columns):
        points = _thinned(np.concatenate([points, part]), low, high)
    points = points[np.argsort(points[:, 0], kind="stable")]
    return JointPoints(joint, points[:, 0].astype(np.int64), points[:, 1], points[:, 2])


def torque_speed_points(results: Results, columns: tuple[str, ...]) -> Iterator[Array]:
    """Yield batches of row, speed and torque, (k, 3), of the rollouts that did not fail."""
    source = results.histories if columns[1].startswith("qd") else results.rows
    with results.read_errors():
        for batch in source.to_batches(columns=list(columns)):
            part = np.column_stack([np.asarray(batch.column(name), float) for name in columns])
            finished = part[~np.isin(part[:, 0], results.failed_rows)]
            if len(finished):
                yield finished


def _thinned(points: Array, low: Array, high: Array) -> Array:
    """Return one point for each cell of the plot, the one with the largest torque, at its exact place."""
    width = np.where(high > low, high - low, 1.0)
    at = np.minimum((points[:, 1:] - low) / width * PLOT_CELLS, np.array(PLOT_CELLS) - 1).astype(np.int64)
    order = np.lexsort((points[:, 0], -np.abs(points[:, 2])))
    _, first = np.unique(at[order] @ (1, PLOT_CELLS[0]), return_index=True)
    return points[order[first]]


def torque_speed_plots(results: Results) -> Iterator[Plot]:
    """Yield a plot of torque over speed for each joint."""
    (speed, _), note_on_points = torque_speed_columns(results)
    for points in joint_points(results):
        joint, choices = points.joint, results.actuators.choices.get(points.joint.name, ())
        four_quadrants = speed == "qd"
        curves = [Curve("rollouts", points.speed.tolist(), points.torque.tolist(), colour=COLOURS[0], line=False)]
        for i, choice in enumerate(choices):
            name = f" {i + 1}" if len(choices) > 1 else ""
            colour = COLOURS[(6 + i) % len(COLOURS)]
            curves.append(_outline(f"peak{name}", peak_curve(choice.actuator), four_quadrants, colour))
            if (steady := continuous_curve(choice.actuator)) is not None:
                curves.append(_outline(f"continuous{name}", steady, four_quadrants, colour, dashed=True))
        if not choices and (corners := joint_limit_curve(joint)):
            curves.append(_outline("limits", corners, four_quadrants, COLOURS[6]))
        names = "; ".join(f"{i}: {choice.actuator.name}" for i, choice in enumerate(choices, 1))
        names = choices[0].actuator.name if len(choices) == 1 else names
        units = ("speed, m/s", "force, N") if joint.prismatic else ("speed, rad/s", "torque, N m")
        note = ". ".join(filter(None, (f"{note_on_points[0].upper()}{note_on_points[1:]}", names)))
        yield Plot(f"{joint.name}: torque over speed", *units, curves, note=note, height=320)


def peak_curve(drive: Actuator) -> Corners:
    """Return the peak torque from rest to the largest speed; lower where the voltage limits torque and speed."""
    peak, max_speed, m, gear = drive.max_torque, drive.max_velocity, drive.motor, drive.gearbox
    if m.voltage is None or m.torque_constant is None or m.resistance is None:
        return [(0.0, peak), (max_speed, peak), (max_speed, 0.0)]
    torque_ratio, constant = gear.ratio * gear.efficiency, m.torque_constant
    corner = (m.voltage - m.resistance * peak / torque_ratio / constant) / constant / gear.ratio
    if corner >= max_speed:
        return [(0.0, peak), (max_speed, peak), (max_speed, 0.0)]
    end_torque = max(0.0, (m.voltage - constant * max_speed * gear.ratio) * constant / m.resistance * torque_ratio)
    start = [(0.0, peak), (corner, peak)] if corner > 0 else [(0.0, m.voltage * constant / m.resistance * torque_ratio)]
    return [*start, (max_speed, end_torque), (max_speed, 0.0)]


def continuous_curve(drive: Actuator) -> Corners | None:
    """Return the continuous torque of motor and gearbox; None if neither has one."""
    m, gear, max_speed = drive.motor, drive.gearbox, drive.max_velocity
    of_motor = None if m.continuous_torque is None else m.continuous_torque * gear.ratio * gear.efficiency
    known = [x for x in (of_motor, gear.continuous_torque) if x is not None]
    return [(0.0, min(known)), (max_speed, min(known)), (max_speed, 0.0)] if known else None


def joint_limit_curve(joint: JointModel) -> Corners:
    """Return the limits of the joint itself; an empty list unless it has both."""
    max_speed, max_torque = joint.max_velocity, joint.max_torque
    if max_speed is None or max_torque is None:
        return []
    return [(0.0, max_torque), (max_speed, max_torque), (max_speed, 0.0)]


def _outline(name: str, corners: Corners, four_quadrants: bool, colour: str, dashed: bool = False) -> Curve:
    """Return limits in the driving quadrant, or in all four: while braking, the back-EMF does not limit the torque."""
    x, y = (list(column) for column in zip(*corners, strict=True))
    if four_quadrants:
        max_speed, max_torque = x[-1], max(y)
        x, y = [-max_speed, *x, max_speed], [max_torque, *y, -max_torque]
        x, y = [*x, *(-value for value in x)], [*y, *(-value for value in y)]
    return Curve(name, x, y, dashed=dashed, colour=colour)
