"""The pose of the tool and the tilt of gravity, where they vary.

tool.x .y .z, tool.roll .pitch .yaw    the tool frame in the frame of the last link, or of the flange; the payload is
                                       fixed to the tool frame and moves with it
gravity.roll .pitch                    gravity rotated about x, then about y: a floor that is not level

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

TOOL_COORDINATES = ("x", "y", "z", "roll", "pitch", "yaw")
GRAVITY_TILT = ("gravity.roll", "gravity.pitch")
TOOL_AND_GRAVITY_NAMES = (*(f"tool.{key}" for key in TOOL_COORDINATES), *GRAVITY_TILT)


def tool_and_gravity_parameters(
    robot: Robot, values: Mapping[str, Array], varied: Mapping[str, Array]
) -> dict[str, Array]:
    """Return payload and gravity for these values; `varied` has the parameters that vary directly."""
    parameters: dict[str, Array] = {}
    if any(name.startswith("tool.") for name in values):
        parameters |= _moved_payload(robot, values, varied)
    if any(name in values for name in GRAVITY_TILT):
        count = len(next(iter(values.values())))
        g = varied.get("gravity", np.tile(np.array(robot.gravity, float), (count, 1)))
        zero = np.zeros(count)
        roll, pitch = (values.get(name, zero) for name in GRAVITY_TILT)
        parameters["gravity"] = _rotated(_rotations(roll, pitch, zero), g)
    return parameters


def _moved_payload(robot: Robot, values: Mapping[str, Array], varied: Mapping[str, Array]) -> dict[str, Array]:
    """Return centre of mass and inertia of the payload in the tool frame of the robot as described."""
    count, tool = len(next(iter(values.values()))), np.array(robot.tool, float)
    R, p = tool[:3, :3], tool[:3, 3]
    nominal = dict(zip(TOOL_COORDINATES, (*p.tolist(), *_angles(R)), strict=True))
    x, y, z, *angles = (values.get(f"tool.{key}", np.full(count, nominal[key])) for key in TOOL_COORDINATES)
    payload = robot.payload or Payload(0.0)
    com = varied.get("payload.com", np.tile(np.array(payload.com, float), (count, 1)))
    inertia = varied.get("payload.inertia", np.tile(np.array(tensor_entries(payload.inertia), float), (count, 1)))
    back = np.tile(R.T, (count, 1, 1))
    rotation = _product(back, _rotations(*angles))
    xx, yy, zz, xy, xz, yz = inertia.T
    full = np.stack([np.stack(row, axis=-1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], axis=1)
    full = _product(_product(rotation, full), np.swapaxes(rotation, 1, 2))
    shift = np.stack([x, y, z], axis=-1) - p
    entries = [full[:, i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return {
        "payload.com": _rotated(rotation, com) + _rotated(back, shift),
        "payload.inertia": np.stack(entries, axis=1),
    }


def _angles(R: Array) -> Sequence[float]:
    """Return roll, pitch and yaw of a rotation matrix."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-12:
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def _rotations(roll: Array, pitch: Array, yaw: Array) -> Array:
    """Return rotation matrices (rows, 3, 3) about x, then y, then z."""
    (a, b, c), (d, e, f) = ([g(x) for x in (roll, pitch, yaw)] for g in (np.cos, np.sin))
    rows = (
        (c * b, c * e * d - f * a, c * e * a + f * d),
        (f * b, f * e * d + c * a, f * e * a - c * d),
        (-e, b * d, b * a),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)


def _rotated(R: Array, x: Array) -> Array:
    """Return R x, (rows, 3). Terms are added in a fixed order, so that no bit depends on the number of rows."""
    found: Array = R[:, :, 0] * x[:, :1] + R[:, :, 1] * x[:, 1:2] + R[:, :, 2] * x[:, 2:]
    return found


def _product(A: Array, B: Array) -> Array:
    return np.stack([_rotated(A, B[:, :, k]) for k in range(3)], axis=2)
