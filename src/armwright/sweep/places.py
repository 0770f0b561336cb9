"""Where the tool is, and how the floor leans, if that varies.

tool.x .y .z, tool.roll .pitch .yaw    the tool frame seen from the last link, or from the flange; what the robot holds
                                       is given in that frame and moves with it
gravity.roll .pitch                    gravity turned about x, then about y: a floor that is not level

Rotations are about x, then y, then z of the fixed frame, as in URDF.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from armwright.algebra import Array
from armwright.model.records import Payload
from armwright.model.transforms import tensor_entries
from armwright.robot import Robot

TOOL = ("x", "y", "z", "roll", "pitch", "yaw")
LEANING = ("gravity.roll", "gravity.pitch")
NAMES = (*(f"tool.{key}" for key in TOOL), *LEANING)


def placed(robot: Robot, values: Mapping[str, Array], found: Mapping[str, Array]) -> dict[str, Array]:
    """What these make of the payload and of gravity, which may vary besides, as `found` says."""
    made: dict[str, Array] = {}
    if any(name.startswith("tool.") for name in values):
        made |= _held(robot, values, found)
    if any(name in values for name in LEANING):
        count = len(next(iter(values.values())))
        g = found.get("gravity", np.tile(np.array(robot.gravity, float), (count, 1)))
        zero = np.zeros(count)
        made["gravity"] = _times(_turned(values.get(LEANING[0], zero), values.get(LEANING[1], zero), zero), g)
    return made


def _held(robot: Robot, values: Mapping[str, Array], found: Mapping[str, Array]) -> dict[str, Array]:
    """Centre of mass and inertia of what is held, seen from where the tool is by default."""
    count, tool = len(next(iter(values.values()))), np.array(robot.tool, float)
    R, p = tool[:3, :3], tool[:3, 3]
    nominal = dict(zip(TOOL, (*p.tolist(), *_angles(R)), strict=True))
    x, y, z, *angles = (values.get(f"tool.{key}", np.full(count, nominal[key])) for key in TOOL)
    held = robot.payload or Payload(0.0)
    com = found.get("payload.com", np.tile(np.array(held.com, float), (count, 1)))
    inertia = found.get("payload.inertia", np.tile(np.array(tensor_entries(held.inertia), float), (count, 1)))
    back = np.tile(R.T, (count, 1, 1))
    turned = _product(back, _turned(*angles))
    xx, yy, zz, xy, xz, yz = inertia.T
    full = np.stack([np.stack(row, axis=-1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], axis=1)
    full = _product(_product(turned, full), np.swapaxes(turned, 1, 2))
    away = np.stack([x, y, z], axis=-1) - p
    entries = [full[:, i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return {"payload.com": _times(turned, com) + _times(back, away), "payload.inertia": np.stack(entries, axis=1)}


def _angles(R: Array) -> Sequence[float]:
    """Roll, pitch and yaw of a rotation."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-12:
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def _turned(roll: Array, pitch: Array, yaw: Array) -> Array:
    """Rotations (rows, 3, 3) about x, then y, then z."""
    (a, b, c), (d, e, f) = ([g(x) for x in (roll, pitch, yaw)] for g in (np.cos, np.sin))
    rows = (
        (c * b, c * e * d - f * a, c * e * a + f * d),
        (f * b, f * e * d + c * a, f * e * a - c * d),
        (-e, b * d, b * a),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)


def _times(R: Array, x: Array) -> Array:
    """Rotated vectors (rows, 3), added up one by one: a library may add otherwise for other numbers of rows."""
    found: Array = R[:, :, 0] * x[:, :1] + R[:, :, 1] * x[:, 1:2] + R[:, :, 2] * x[:, 2:]
    return found


def _product(A: Array, B: Array) -> Array:
    return np.stack([_times(A, B[:, :, k]) for k in range(3)], axis=2)
