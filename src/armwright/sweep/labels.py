"""The columns of a study in words: `peak_torque3` is the peak torque of the third joint, in N m."""

from __future__ import annotations

import re
from dataclasses import dataclass

from armwright.robot import Robot
from armwright.sweep.measures import MEASURES

ANGULAR = {
    **dict.fromkeys(("peak_torque", "rms_torque", "continuous_torque"), ("N m", "N")),
    **dict.fromkeys(("peak_speed", "rms_speed", "final_qd"), ("rad/s", "m/s")),
    **dict.fromkeys(("peak_power", "rms_power"), ("W", "W")),
    **dict.fromkeys(("work", "energy", "heat"), ("J", "J")),
    **dict.fromkeys(("tracking_error", "rms_tracking_error", "final_error", "overshoot"), ("rad", "m")),
    "settling_time": ("s", "s"),
}
"""Units of measures, of joints that turn and of joints that slide. The position at the end is a case of its own."""


@dataclass(frozen=True)
class Label:
    """What a column is: the measure, the joint if it is of one, and the unit if it has one."""

    measure: str
    joint: str = ""
    unit: str = ""

    def __str__(self) -> str:
        """All of it, as the first cell of a row."""
        return f"{self.measure}{f' of {self.joint}' if self.joint else ''}{f', {self.unit}' if self.unit else ''}"


def label_of(robot: Robot, column: str) -> Label:
    """Return the label of a column of measures; that of a function is its name."""
    name, digits = re.fullmatch(r"(.*?)(\d*)", column).groups()  # type: ignore[union-attr]
    if name not in MEASURES or not digits:
        return Label(column.replace("_", " ") if column in MEASURES else column)
    words, k = name.replace("_", " ").replace("rms", "RMS"), int(digits) - 1
    if name == "final_q":
        return _position(robot, words, k)
    if k >= robot.n:
        return Label(column)
    joint = robot.joints[k]
    return Label(words, joint.name, ANGULAR.get(name, ("", ""))[int(joint.prismatic)])


def _position(robot: Robot, words: str, k: int) -> Label:
    """An entry of q: a joint's own where every joint has one entry, else a number of q."""
    if robot.nq != robot.n:
        return Label(f"{words}, entry {k + 1}")
    joint = robot.joints[k]
    return Label(words, joint.name, "m" if joint.prismatic else "rad")
