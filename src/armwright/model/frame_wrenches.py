"""Wrenches at named frames as wrenches on links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array, common_shape, package
from armwright.model.description import Description
from armwright.model.records import Frame


def wrenches_on_links(
    robot: Description, wrenches: Mapping[str, ArrayLike], dtype: np.dtype[Any], on_gpu: bool = False
) -> Array:
    """Return wrenches at named frames, in their axes, as one per link, shape (..., links, 6), force before moment.

    The input arrays have the shape (..., 6). Wrenches on the base have no effect. With `on_gpu`, the result is on the
    GPU if an input is.
    """
    meaning = "force and moment on that frame, in its axes"
    arrays = {
        name: checked_array(f"link_wrenches[{name!r}]", x, (6,), dtype, meaning, on_gpu) for name, x in wrenches.items()
    }
    frames = {name: robot.frame(name) for name in arrays}
    batch = common_shape({f"link_wrenches[{name!r}]": (array, 1) for name, array in arrays.items()})
    xp = package(*arrays.values())
    loads: Array = xp.zeros((*batch, len(robot.links), 6), dtype)
    for name, array in arrays.items():
        if frames[name].link >= 0:
            loads[..., frames[name].link, :] += xp.asarray(array) @ xp.asarray(adjoint(frames[name]).T.astype(dtype))
    return loads


def adjoint(frame: Frame) -> Array:
    """Return the matrix (6, 6) that maps a wrench at a frame, in its axes, to the frame of its link."""
    T = np.asarray(frame.pose)
    R, (x, y, z) = T[:3, :3], T[:3, 3]
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[R, np.zeros((3, 3))], [cross @ R, R]])
