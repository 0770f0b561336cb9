"""Changes of the drives of a robot: friction, limits, rotors and springs, for all joints, by order or by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from armwright.arrays import masked
from armwright.errors import InputError, unknown
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.description import AnyDescription, Description
from armwright.model.records import JointModel
from armwright.model.si_conversion import drive_quantities, table_in_si
from armwright.model.table_reader import Reader
from armwright.model.units import INERTIA, SI


def _gear(row: Reader, _joint: JointModel) -> float:
    gear = row.number("gear")
    if gear == 0:
        row.fail("gear", "gear = 0 would uncouple the motor; expected a gear ratio such as 1 or -62.6")
    return gear


def _limit_reader(key: str, unit: str) -> Callable[[Reader, JointModel], float | None]:
    def read(row: Reader, _joint: JointModel) -> float | None:
        if row.data[key] is None or (not masked(row.data[key]) and row.data[key] == math.inf):
            return None
        limit = row.at_least_zero(key, unit)
        if limit == 0:
            row.fail(key, f"{key} = 0 would lock the joint; expected {unit} above zero, or None for no limit")
        return limit

    return read


def _position_limits(row: Reader, joint: JointModel) -> tuple[float, float] | None:
    limits = row.limits("position", angles=not joint.prismatic)
    if limits is None or limits == (-math.inf, math.inf):
        return None
    if not limits[0] < limits[1]:
        row.fail("position", f"position = {row.data['position']!r}: expected the lower limit first, then a higher one")
    return limits


def _nonnegative_reader(key: str, unit: str) -> Callable[[Reader, JointModel], float]:
    return lambda row, _joint: row.at_least_zero(key, unit)


DRIVE_READERS: dict[str, tuple[str, Callable[[Reader, JointModel], Any]]] = {
    "stiffness": ("spring_stiffness", lambda row, _joint: row.number("stiffness")),
    "rest": ("spring_rest", lambda row, joint: (row.number if joint.prismatic else row.angle)("rest")),
    "viscous": ("viscous", _nonnegative_reader("viscous", "N m s or N s/m")),
    "coulomb": ("coulomb", _nonnegative_reader("coulomb", "N m or N")),
    "smooth": ("smooth", _nonnegative_reader("smooth", "rad/s or m/s")),
    "inertia": ("rotor_inertia", _nonnegative_reader("inertia", "kg m^2")),
    "gear": ("gear", _gear),
    "position": ("limits", _position_limits),
    "velocity": ("max_velocity", _limit_reader("velocity", "rad/s or m/s")),
    "torque": ("max_torque", _limit_reader("torque", "N m or N")),
}
"""For each argument the field of a joint that it sets, and its reader."""

ZERO_FOR_BALLS = ("viscous", "coulomb", "spring_stiffness", "rotor_inertia")
"""Fields for which a zero for all joints includes ball, free and planar joints."""

LIMITS_FOR_BALLS = ("max_velocity", "max_torque")
"""Fields for which one value for all joints includes ball, free and planar joints."""


def with_drives(robot: AnyDescription, where: str, **values: Any) -> AnyDescription:
    """Return the robot with new values for its joints; other joints and quantities keep theirs.

    A value is one number for all independent joints, a list with one for each, or a mapping by name, which may name
    followers. Ball, free and planar joints have no position limits. A single value applies to them only if it limits
    speed or torque; their entries in a list may be None.
    """
    changes: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if value is None:
            continue
        if masked(value):
            raise InputError(f"{where}: {key} has masked entries; fill them first")
        field, read = DRIVE_READERS[key]
        zero = field in ZERO_FOR_BALLS and isinstance(value, Real) and value == 0
        balls = tuple(row.name for row in robot.rows if row.kind in FREEDOMS_OF_KIND)
        excluded = () if zero or field in LIMITS_FOR_BALLS else balls
        for name, entry in _by_name(robot, where, key, value, excluded).items():
            joint = next(row for row in robot.rows if row.name == name)
            row = _reader(key, entry, joint, f"{where}, {name}")
            if name in excluded and entry is None:
                continue
            if name in excluded and field == "limits":
                row.fail(key, f"{key} = {entry!r}: a {joint.kind} joint has no limits; expected None")
            changes.setdefault(name, {})[field] = read(row, joint)
    return robot.map_joints(lambda joint: replace(joint, **changes.get(joint.name, {})))


def _reader(key: str, value: Any, joint: JointModel, where: str) -> Reader:
    """Return a reader of one value of a joint, which may be text with its unit."""
    kinds = {key: {**drive_quantities(not joint.prismatic), "rotor_inertia": INERTIA}.get(DRIVE_READERS[key][0])}
    return Reader(table_in_si({key: value}, kinds, SI, lambda _key: where), lambda _key: where)


def _by_name(robot: Description, where: str, key: str, value: Any, excluded: Sequence[str]) -> dict[str, Any]:
    """Return the value of each joint by name; a single value does not apply to the joints `excluded`."""
    names = [joint.name for joint in robot.joints]
    if isinstance(value, Mapping):
        known = [row.name for row in robot.rows]
        for name in value:
            if name not in known:
                raise unknown(f"joint in {key} of {where}:", name, known)
        return dict(value)
    if isinstance(value, np.ndarray | memoryview):
        value = value.tolist()
    pair = key == "position"
    if not isinstance(value, Sequence) or isinstance(value, str) or (pair and _is_pair(value)):
        return dict.fromkeys((name for name in names if name not in excluded), value)
    if len(value) != len(names):
        one = "one pair (low, high)" if pair else "one number"
        Reader({key: value}, lambda _key: where).fail(
            key, f"{key} has {len(value)} entries; expected {one} for all joints, {len(names)}, or a mapping by name"
        )
    return dict(zip(names, value, strict=True))


def _is_pair(value: Sequence[Any]) -> bool:
    """Return whether a value is one range for all joints, not a list of ranges."""
    return len(value) == 2 and not any(
        (isinstance(x, Sequence | np.ndarray | memoryview) and not isinstance(x, str)) or x is None for x in value
    )
