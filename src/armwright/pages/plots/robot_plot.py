"""Draw a robot in three dimensions by matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.arrays import numbers
from armwright.errors import InputError
from armwright.pages.plots.style import plain_label, pyplot
from armwright.pages.scene.drawing import DEFAULT_AZIMUTH, DEFAULT_ELEVATION, coloured_triangles, lit_colours
from armwright.robot import Robot


def plot_robot(robot: Robot, q: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw the robot at q, by default its neutral pose, into axes, by default new ones, and return these."""
    plt = pyplot()
    from mpl_toolkits.mplot3d import art3d  # type: ignore[import-untyped]  # noqa: PLC0415  (with matplotlib)

    q_drawn = robot.neutral if q is None else numbers("q", q, f"expected {robot.nq} numbers").astype(float)
    if q_drawn.shape != (robot.nq,) or not np.isfinite(q_drawn).all():
        raise InputError(f"q has shape {q_drawn.shape}; expected {robot.nq} finite numbers, one pose")
    if ax is None:
        ax = plt.figure(figsize=(6, 6)).add_subplot(projection="3d")
        ax.view_init(DEFAULT_ELEVATION, DEFAULT_AZIMUTH)
    elif not hasattr(ax, "add_collection3d"):
        raise InputError(f"ax = {ax!r}: expected axes of three dimensions, such as figure.add_subplot(projection='3d')")
    corners = []
    for faces, colour in coloured_triangles(robot, q_drawn):
        lit = np.column_stack([lit_colours(faces, colour), np.full(len(faces), colour[3])])
        ax.add_collection3d(art3d.Poly3DCollection(faces, facecolors=lit, edgecolors=lit, linewidths=0.2))
        corners.append(faces.reshape(-1, 3))
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    low[2], high[2] = min(low[2], 0.0), max(high[2], 0.0)  # the floor
    middle, half = (low + high) / 2, 0.52 * float((high - low).max())
    for k, set_limits in enumerate((ax.set_xlim, ax.set_ylim, ax.set_zlim)):
        set_limits(middle[k] - half, middle[k] + half)
    ax.set_box_aspect((1, 1, 1))
    for axis, name in ((ax.set_xlabel, "x, m"), (ax.set_ylabel, "y, m"), (ax.set_zlabel, "z, m")):
        axis(name)
    ax.set_title(plain_label(robot.name))
    return ax
