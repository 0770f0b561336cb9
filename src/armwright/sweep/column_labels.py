"""Labels of the columns of a study: `peak_torque3` is the peak torque of the third joint, in N m."""

from __future__ import annotations

import re
from dataclasses import dataclass

from armwright.robot import Robot
from armwright.sweep.study_measures import STUDY_MEASURES


@dataclass(frozen=True)
class ColumnLabel:
    """The measure of a column, its joint if it is of one, and its unit if it has one."""

    measure: str
    joint: str = ""
    unit: str = ""

    def __str__(self) -> str:
        """Return measure, joint and unit as the first cell of a row."""
        return f"{self.measure}{f' of {self.joint}' if self.joint else ''}{f', {self.unit}' if self.unit else ''}"


def label_of(robot: Robot, column: str) -> ColumnLabel:
    """Return the label of a column; the label of a function is its name."""
    name, digits = re.fullmatch(r"(.*?)(\d*)", column).groups()  # type: ignore[union-attr]
    if name not in STUDY_MEASURES or not digits:
        if column not in STUDY_MEASURES:
            return ColumnLabel(column)
        units = STUDY_MEASURES[column].units
        return ColumnLabel(column.replace("_", " "), unit=units[0] if units[0] == units[1] else "")
    words, k = name.replace("_", " ").replace("rms", "RMS"), int(digits) - 1
    if name == "final_q":
        return _position_label(robot, words, k)
    if k >= robot.n:
        return ColumnLabel(column)
    joint = robot.joints[k]
    return ColumnLabel(words, joint.name, STUDY_MEASURES[name].units[int(joint.prismatic)])


def _position_label(robot: Robot, words: str, k: int) -> ColumnLabel:
    """Return the label of an entry of q, with its joint where every joint has one entry."""
    if robot.nq != robot.n:
        return ColumnLabel(f"{words}, entry {k + 1}")
    joint = robot.joints[k]
    return ColumnLabel(words, joint.name, STUDY_MEASURES["final_q"].units[int(joint.prismatic)])
