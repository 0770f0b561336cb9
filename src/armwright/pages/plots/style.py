"""The style, colours and labels that all plots share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.errors import InputError
from armwright.model.link_names import joint_index
from armwright.names import shown
from armwright.pages.report.plot import COLOURS
from armwright.robot import Robot

STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "figure.constrained_layout.use": True,
}


def pyplot() -> Any:
    """Return matplotlib.pyplot; without matplotlib an InputError says what to install."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError:
        raise InputError("plots need matplotlib: pip install 'armwright[plot]'") from None
    return plt


def joint_colour(joint: int) -> str:
    """Return the colour of the curves of a joint."""
    return COLOURS[joint % len(COLOURS)]


def plain_label(name: object) -> str:
    """Return a name that matplotlib shows unchanged: it reads $...$ as a formula and hides _x in legends."""
    text = shown(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def joint_indices(robot: Robot, joints: Sequence[str | int] | str | int | None) -> list[int]:
    """Return the indices of joints given by name or number; all of them by default."""
    if joints is None:
        return list(range(robot.n))
    return [joint_index(robot, joint) for joint in ([joints] if np.ndim(joints) == 0 else joints)]  # type: ignore[union-attr]
