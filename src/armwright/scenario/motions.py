"""The [trajectory] of a scenario: the types of motions and their keys.

| type                     | keys                                                                     |
|--------------------------|--------------------------------------------------------------------------|
| cubic, quintic, spline   | times, points                                                            |
| cycloidal, normal_spline | from, to, duration                                                       |
| trapezoidal              | from, to, velocity, acceleration                                         |
| blended                  | points, acceleration; velocity (by default the robot's), blend           |
| time_optimal             | points, or to (and from), or along (a table of a motion with the path);  |
|                          | velocity and torque (by default the robot's), acceleration, jerk;        |
|                          | reserve, the unused part of each limit                                   |
| cartesian_line           | q0, to or by; duration, or velocity and acceleration; orientation        |
| cartesian_circle         | q0, center, axis; angle, turning; duration, or velocity and ...          |
| sampled                  | file                                                                     |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armwright import trajectory
from armwright.algebra import Array
from armwright.errors import InputError, UnreachableError
from armwright.identify.measured_data import columns_of, joints_of
from armwright.model.table_reader import Reader
from armwright.model.transforms import IDENTITY_TRANSFORM
from armwright.names import shown
from armwright.robot import Robot
from armwright.scenario.standard_motion import home
from armwright.trajectory import TimeOptimal, Trajectory
from armwright.trajectory.argument_checks import check_scalar_joints
from armwright.trajectory.joint_limits import limits_of_robot

MAX_NAMED_JOINTS = 12
"""Largest number of joints that a message names."""

SMOOTHING_TOLERANCE = 1e-4
"""Radians or metres by which a motion from a file may be smoothed so that it can be compiled."""


@dataclass(frozen=True)
class MotionEntry:
    """A type of motion: its required keys, the function that makes it, and its optional keys.

    `begin` is the key of its start, which a later phase may omit. One of the keys `one_of` is required. With `varies`
    a study may vary its numbers, as its number of pieces does not depend on them.
    """

    required: tuple[str, ...]
    make: Callable[[Reader, Robot, Path], Trajectory]
    optional: tuple[str, ...] = ()
    begin: str = ""
    one_of: tuple[str, ...] = ()
    varies: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.required, *self.optional)


def _plain(name: str, *required: str) -> MotionEntry:
    """Return the entry of a function of `armwright.trajectory` that takes these keys in this order."""

    def make(part: Reader, _arm: Robot, _folder: Path) -> Trajectory:
        function: Callable[..., Trajectory] = getattr(trajectory, name)
        return function(*(part.data[key] for key in required))

    return MotionEntry(required, make, begin="from" if "from" in required else "", varies=True)


def _sampled(part: Reader, arm: Robot, folder: Path) -> Trajectory:
    try:
        return motion_of(folder / part.text("file", ""), arm)
    except InputError as error:
        part.fail("file", str(error))


def _blended(part: Reader, arm: Robot, _folder: Path) -> Trajectory:
    velocity = part.data.get("velocity", [joint.max_velocity for joint in arm.joints])
    if "velocity" not in part.data and not all(velocity):
        part.fail(None, f"missing key 'velocity'; {arm.name} has joints without a largest speed")
    return trajectory.blended(part.data["points"], velocity, part.data["acceleration"], part.data.get("blend"))


def _time_optimal(part: Reader, arm: Robot, folder: Path) -> Trajectory:
    limits = {key: part.data[key] for key in ("velocity", "acceleration", "torque", "jerk") if key in part.data}
    if "reserve" in part.data:
        reserve = part.number("reserve")
        if not 0 <= reserve < 1:
            part.fail("reserve", f"reserve = {reserve:g}: expected the unused part of each limit, such as 0.05")
        limits = {key: (1 - reserve) * np.asarray(x, float) for key, x in {**_limits_of(arm), **limits}.items()}
    return trajectory.time_optimal(arm, _path(part, arm, folder), **limits)


def _limits_of(arm: Robot) -> dict[str, Any]:
    """Return the limits of velocity and torque of a robot."""
    return {"velocity": limits_of_robot(arm, "max_velocity"), "torque": limits_of_robot(arm, "max_torque")}


def _path(part: Reader, arm: Robot, folder: Path) -> Any:
    """Return the path of a time-optimal motion: points, the line between two, or the path of another motion."""
    given = [key for key in PATH_KEYS if key in part.data]
    if len(given) != 1:
        got = f"got {' and '.join(given)}" if given else "got none of them"
        part.fail(None, f"{got}; expected points = [...], to = [...] (from = [...]), or along = {{type = ...}}")
    if given == ["points"]:
        return part.data["points"]
    if given == ["to"]:
        begin = part.numbers("from", arm.n) if "from" in part.data else home(arm)
        return [begin, part.numbers("to", arm.n)]
    if not isinstance(part.data["along"], Mapping):
        part.fail("along", 'expected a table of another motion, such as along = {type = "quintic", ...}')
    return trajectory_of(
        Reader(part.data["along"], lambda key: f"{part.where('along')}{f' {key}' if key else ''}"), arm, folder
    )


def _line(part: Reader, arm: Robot, _folder: Path) -> Trajectory:
    first = _start_pose(part, arm)
    if ("to" in part.data) == ("by" in part.data):
        part.fail(None, "expected to = [x, y, z] (or a pose), or by = [x, y, z], metres from the start")
    last = first.copy()
    if "by" in part.data:
        last[:3, 3] += part.triple("by")
    elif isinstance(part.data["to"], list) and len(part.data["to"]) == 3:
        last[:3, 3] = part.triple("to")
    else:
        last = np.array(part.transform("to", IDENTITY_TRANSFORM))
    law = _law(part, float(np.linalg.norm(last[:3, 3] - first[:3, 3])))
    return trajectory.cartesian_line(arm, first, last, law, part.data["q0"], part.text("orientation", "full"))


def _circle(part: Reader, arm: Robot, _folder: Path) -> Trajectory:
    first, center = _start_pose(part, arm), part.triple("center")
    angle = part.angle("angle", 2 * math.pi)
    law = _law(part, abs(angle) * float(np.linalg.norm(first[:3, 3] - center)))
    turning, orientation = part.flag("turning"), part.text("orientation", "full")
    axis = part.triple("axis")
    return trajectory.cartesian_circle(arm, first, center, axis, law, part.data["q0"], angle, turning, orientation)


def _start_pose(part: Reader, arm: Robot) -> Array:
    """Return the pose of the tool at the start."""
    return arm.forward_kinematics(part.numbers("q0", arm.n))


def _law(part: Reader, length: float) -> Trajectory:
    """Return the progress of the tool: smooth in a duration, or within a velocity and an acceleration (m/s)."""
    if "duration" in part.data and not {"velocity", "acceleration"} & set(part.data):
        return trajectory.normal_spline(0.0, 1.0, part.number("duration"))
    if "duration" in part.data or not {"velocity", "acceleration"} <= set(part.data):
        part.fail(None, "expected duration = seconds, or velocity = m/s and acceleration = m/s^2 of the tool")
    if not length > 0:
        part.fail("velocity", "the tool only turns; expected duration = seconds in place of a velocity")
    return trajectory.trapezoidal(0.0, 1.0, part.number("velocity") / length, part.number("acceleration") / length)


PATH_KEYS = ("points", "to", "along")
"""Keys for the path of a time-optimal motion, of which it needs one."""

PATH_LIMIT_KEYS = ("duration", "velocity", "acceleration", "orientation")

MOTION_TYPES: dict[str, MotionEntry] = {
    "cubic": _plain("cubic", "times", "points"),
    "quintic": _plain("quintic", "times", "points"),
    "spline": _plain("spline", "times", "points"),
    "cycloidal": _plain("cycloidal", "from", "to", "duration"),
    "normal_spline": _plain("normal_spline", "from", "to", "duration"),
    "trapezoidal": _plain("trapezoidal", "from", "to", "velocity", "acceleration"),
    "blended": MotionEntry(("points", "acceleration"), _blended, ("velocity", "blend")),
    "time_optimal": MotionEntry(
        (),
        _time_optimal,
        (*PATH_KEYS, "from", "velocity", "acceleration", "torque", "jerk", "reserve"),
        begin="from",
        one_of=PATH_KEYS,
    ),
    "cartesian_line": MotionEntry(("q0",), _line, ("to", "by", *PATH_LIMIT_KEYS), begin="q0", one_of=("to", "by")),
    "cartesian_circle": MotionEntry(
        ("q0", "center", "axis"), _circle, ("angle", "turning", *PATH_LIMIT_KEYS), begin="q0"
    ),
    "sampled": MotionEntry(("file",), _sampled),
}
"""Every type of [trajectory]."""


def choice(part: Reader, key: str, choices: Mapping[str, tuple[str, ...]], also: tuple[str, ...] = ()) -> str:
    """Return the kind of a table, checked to have no other keys than this kind has."""
    kind = part.need(key)
    if not isinstance(kind, str) or kind not in choices:
        part.fail(key, f"unknown {key} {kind!r}; expected one of {', '.join(choices)}")
    part.check_keys((key, *choices[kind], *also))
    return kind


def trajectory_of(part: Reader, arm: Robot, folder: Path, begin: Array | None = None) -> Trajectory:
    """Return the motion of a table for a robot; paths of files are relative to `folder`.

    `begin` is the start of a motion whose table does not give one.
    """
    kind = MOTION_TYPES[choice(part, "type", {name: kind.keys for name, kind in MOTION_TYPES.items()})]
    if begin is not None and kind.begin and not {"points", "along"} & set(part.data):
        part = Reader({kind.begin: begin.tolist(), **part.data}, part.where)
    for key in kind.required:
        part.need(key)
    try:
        check_scalar_joints(arm, "a trajectory")
        motion = kind.make(part, arm, folder)
    except (InputError, UnreachableError) as error:
        part.fail("type", str(error))
    if motion.n != arm.n:
        names = ", ".join(shown(joint.name) for joint in arm.joints[:MAX_NAMED_JOINTS]) + (
            ", ..." if arm.n > MAX_NAMED_JOINTS else ""
        )
        part.fail(
            "points" if "points" in part.data else "from",
            f"{motion.n} joints; {arm.name} has {arm.n} ({names}); give each its positions, or lock joints as in "
            'robot = {file = "arm.urdf", tip = "flange", locked = {finger = 0.02}}',
        )
    return motion


def motion_of(path: Path, arm: Robot) -> Trajectory:
    """Return the motion in a .csv or .parquet file: columns t, q1 ... qn, optionally qd1 ... and qdd1 ..."""
    columns = columns_of(path)
    q, qd, qdd = (joints_of(columns, name, arm.n, path) for name in ("q", "qd", "qdd"))
    if "t" not in columns or q is None:
        raise InputError(
            f"{path} has the columns {', '.join(columns)}; expected t, q1 to q{arm.n}, and optionally qd1 to "
            f"qd{arm.n} and qdd1 to qdd{arm.n}"
        )
    try:
        if qd is None:
            return trajectory.spline(columns["t"], q)
        return trajectory.hermite(columns["t"], q, qd, qdd)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def reference_motion(motion: Trajectory) -> Trajectory:
    """Return the motion for a law to follow: in few pieces, which compile, if that is nearly the same."""
    if motion.traceable:
        return motion.holding()
    few = motion.in_pieces() if isinstance(motion, TimeOptimal) else trajectory.sampled(motion)
    times = np.array(motion.knots) if len(motion.knots) > 100 else np.linspace(motion.start, motion.end, 201)
    close = float(np.max(np.abs(few(times)[0] - motion(times)[0]))) <= SMOOTHING_TOLERANCE
    return (few if close else motion).holding()
