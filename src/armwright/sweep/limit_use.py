"""Use of the limits of the joints by the rollouts of a study: torque, speed and continuous torque."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.model.records import JointModel
from armwright.names import tidy
from armwright.sizing import Actuator
from armwright.sweep.actuator_choices import ACTUATOR_PREFIX
from armwright.sweep.results import Results
from armwright.sweep.torque_speed import continuous_curve, torque_speed_columns, torque_speed_points

LIMIT_HEADS = (
    "joint",
    "rollouts beyond",
    "actuator",
    "torque",
    "limit",
    "used",
    "speed",
    "limit",
    "used",
    "RMS torque",
)


@dataclass(frozen=True)
class LimitUse:
    """Use of the limits of a joint: rollouts beyond a limit, all rollouts, and the cells of its table row."""

    joint: JointModel
    beyond: int
    total: int
    cells: tuple[str, ...]

    @property
    def share(self) -> str:
        """The part of the rollouts that exceed a limit, as a text."""
        return f"{share_text(self.beyond / self.total) if self.total else '-'} ({self.beyond} of {self.total})"


def share_text(share: float) -> str:
    """Return a part as a percentage; only exactly 0 is "none" and only exactly 1 is "all"."""
    if share in (0.0, 1.0):
        return "all" if share else "none"
    text = f"{100 * share:.3g}"
    return "more than 99.9 %" if text == "100" else f"{text} %"


def limit_uses(results: Results) -> list[LimitUse]:
    """Return the use of the limits of each joint that has any; an empty list if the study has no such columns."""
    (speed, torque), _ = torque_speed_columns(results)
    joints = results.robot.joints
    if not speed or any(joint.kind for joint in joints):
        return []
    return [
        _limit_use(results, joint, *_peaks(results, f"{speed}{k}", f"{torque}{k}"))
        for k, joint in enumerate(joints, 1)
        if joint.max_torque is not None or joint.max_velocity is not None
    ]


def use_table(used: Sequence[LimitUse]) -> list[tuple[str, ...]]:
    """Return the rows of a table of uses, head first."""
    return [LIMIT_HEADS, *((use.joint.name, use.share, *use.cells) for use in used)]


def limits_sentence(used: Sequence[LimitUse]) -> str:
    """Return a sentence on how many rollouts exceed the limits of the joints."""
    if not used:
        return "The use of the limits of the joints is not known."
    weak = [use for use in used if use.beyond]
    if not weak:
        return "No rollout exceeds a limit of torque or speed."
    listed = ", ".join(f"{use.joint.name} {share_text(use.beyond / use.total)}" for use in weak)
    return f"Rollouts beyond a limit of torque or speed: {listed}."


def limit_of(results: Results, column: str) -> float | None:
    """Return the limit of the quantity in a column, if the robot has one that does not vary."""
    match = re.fullmatch(r"(peak_torque|peak_speed)(\d+)", column)
    if match is None or results.actuators.choices.get(results.robot.joints[int(match[2]) - 1].name):
        return None
    joint = results.robot.joints[int(match[2]) - 1]
    return joint.max_torque if match[1] == "peak_torque" else joint.max_velocity


def _peaks(results: Results, speed: str, torque: str) -> tuple[Array, Array]:
    """Return row numbers, and the largest speed and torque of each, (rows, 2)."""
    batches = [_largest_per_row(part) for part in torque_speed_points(results, ("row", speed, torque))]
    peaks = _largest_per_row(np.concatenate([np.zeros((0, 3)), *batches]))  # a rollout may span two batches
    return peaks[:, 0].astype(np.int64), peaks[:, 1:]


def _largest_per_row(points: Array) -> Array:
    """Return row number, largest speed and largest torque of each row, (rows, 3)."""
    rows, row_of_point = np.unique(points[:, 0], return_inverse=True)
    largest = np.zeros((len(rows), 2))
    np.maximum.at(largest, row_of_point, np.abs(points[:, 1:]))
    return np.column_stack([rows, largest])


def _limit_use(results: Results, joint: JointModel, rows: Array, peaks: Array) -> LimitUse:
    """Return the use of the limits of a joint, from the largest speed and torque of each row, (rows, 2)."""
    limits = _limits(results, joint, rows)[:, :2]
    choices = results.actuators.choices.get(joint.name, ())
    cells = ["; ".join(choice.actuator.name for choice in choices) or "-"]
    units = ("m/s", "N") if joint.prismatic else ("rad/s", "N m")
    for k in (1, 0):
        at = int(np.argmax(peaks[:, k] / limits[:, k])) if len(rows) else 0
        peak = float(peaks[at, k]) if len(rows) else np.nan
        limit = float(limits[at, k]) if len(rows) else np.nan
        known = (f"{tidy(limit, '.4g')} {units[k]}", f"{peak / limit:.0%}") if np.isfinite(limit) else ("-", "-")
        cells += [f"{tidy(peak, '.4g')} {units[k]}", *known]
    cells.append(_continuous_use(results, joint))
    return LimitUse(joint, int(np.sum((peaks > limits).any(axis=1))), len(rows), tuple(cells))


def _continuous_use(results: Results, joint: JointModel) -> str:
    """Return the RMS torque, of the motion repeated endlessly, as a part of the continuous torque of the actuator."""
    name = f"rms_torque{results.robot.joints.index(joint) + 1}"
    if name not in results.wanted or joint.name not in results.actuators.choices:
        return "-"
    data = results.columns(("row", "ok", name))
    limits = _limits(results, joint, data["row"][data["ok"]])[:, 2]
    used = np.max(data[name][data["ok"]] / limits, initial=0.0)
    return f"{used:.0%} of continuous" if np.isfinite(limits).any() else "-"


def _limits(results: Results, joint: JointModel, rows: Array) -> Array:
    """Return largest speed, peak torque and continuous torque of each row, (rows, 3), for its choice of an actuator."""
    choices: Sequence[Actuator] = [choice.actuator for choice in results.actuators.choices.get(joint.name, ())]
    continuous = [corners[0][1] if (corners := continuous_curve(actuator)) else np.inf for actuator in choices]
    if len(choices) < 2 or f"{ACTUATOR_PREFIX}{joint.name}" not in results.varied:
        limits_of_joint = [np.inf if x is None else x for x in (joint.max_velocity, joint.max_torque, *continuous[:1])]
        return np.tile(limits_of_joint, (len(rows), 1))
    data = results.columns(("row", f"{ACTUATOR_PREFIX}{joint.name}"))
    order = np.argsort(data["row"])
    at = order[np.searchsorted(data["row"], rows, sorter=order)]
    chosen = data[f"{ACTUATOR_PREFIX}{joint.name}"][at].astype(int) - 1
    known = [(x.max_velocity, x.max_torque, torque) for x, torque in zip(choices, continuous, strict=True)]
    limits: Array = np.array(known)[chosen]
    return limits
