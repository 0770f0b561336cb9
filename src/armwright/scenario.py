"""A simulation described in a TOML file: which robot, along what, driven by what, integrated how.

robot = "puma560"                      # or the path of a robot file; the command line's wins; or how it is loaded:
                                       # {file = "dog.urdf", floating = true}, base, tip, locked, packages, mappings
duration = 3.0                         # by default as long as the trajectory lasts
every = 0.01                           # seconds between records
q0 = [0, 0, 0, 0, 0, 0]                # by default where the trajectory starts, else zero (neutral, for quaternions)
qd0 = [0, 0, 0, 0, 0, 0]
gravity = [0, 0, -9.81]
payload = {mass = 2.0, com = [0, 0, 0.1], inertia = [0, 0, 0, 0, 0, 0]}

[integrator]
method = "dop853"
rtol = 1e-9                            # or step = 0.001

[trajectory]
type = "quintic"                       # cubic quintic spline: times, points; cycloidal normal_spline: from, to,
times = [0, 1, 2]                      # duration; trapezoidal: from, to, velocity, acceleration; sampled: file
points = [[0, 0], [1, 0.5], [0, 0]]

[torque]
law = "computed_torque"                # free constant table spring_damper friction pd pid pd_gravity computed_torque
kp = 100                               # feed_forward, with their parameters (docs/simulation.md); target = [...]
kd = 20                                # in place of a trajectory
limit = 200                            # of every torque, or one per joint
friction = {viscous = 0.1, coulomb = 0.0, smooth = 0.0}

A file that says nothing of a motion (no duration, q0, qd0, trajectory or torque) changes the robot alone, its payload
say: the robot then picks and places as it does without a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from armwright import torque, trajectory
from armwright.errors import InputError, ModelError
from armwright.files import contents
from armwright.formulations import default_for
from armwright.identify.data import columns_of, joints_of
from armwright.load import load
from armwright.model.toml import LARGEST, data_of
from armwright.model.values import Reader
from armwright.names import shown
from armwright.robot import Robot
from armwright.trajectory import Trajectory
from armwright.trajectory.inputs import check_numbers

TOP = ("robot", "duration", "every", "q0", "qd0", "gravity", "payload", "integrator", "trajectory", "torque")

MOVING = ("duration", "q0", "qd0", "trajectory", "torque")
"""What says how a robot moves: a file without any of it changes the robot alone, which then picks and places."""

MOTIONS: dict[str, tuple[str, ...]] = {
    "cubic": ("times", "points"),
    "quintic": ("times", "points"),
    "spline": ("times", "points"),
    "cycloidal": ("from", "to", "duration"),
    "normal_spline": ("from", "to", "duration"),
    "trapezoidal": ("from", "to", "velocity", "acceleration"),
    "sampled": ("file",),
}
LOADED = ("file", "base", "tip", "locked", "packages", "mappings", "floating")
"""Of a robot that is a table: its file, and arguments of `load`."""

NAMED = 12
"""Joints that are named where a motion is of others."""

FAITHFUL = 1e-4
"""Radians or metres by which a motion from a file may be smoothed so that it can be compiled."""


@dataclass(frozen=True)
class Scenario:
    """What a file says, made ready for `simulate`."""

    robot: Robot
    law: torque.Law
    trajectory: Trajectory | None
    options: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    @property
    def friction(self) -> torque.Law | None:
        """What the drives must overcome besides the robot's own friction."""
        laws = tuple(law for law in self.law.parts if isinstance(law, torque.Friction))
        return torque.Sum(laws) if laws else None


def read(path: str | Path, robot: str | Robot | None = None) -> Scenario:
    """The scenario of a file, for the robot it names or the one given."""
    try:
        text = contents(path, LARGEST).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read the scenario {path}: {error}") from None
    return parse(text, robot, str(path), Path(path).parent)


def parse(text: str, robot: str | Robot | None = None, file: str = "scenario", folder: Path = Path()) -> Scenario:
    return made(data_of(text, file), robot, file, folder, text)


def made(
    data: Mapping[str, Any], robot: str | Robot | None, file: str, folder: Path = Path(), text: str = ""
) -> Scenario:
    """The scenario of what a file says; `text` is the file itself. Numbers of the law may be (rollouts, joints)."""
    top = Reader(data, lambda key: f"{file}{f', {key}' if key else ''}")
    top.check_keys(TOP)
    arm = _changed(robot if isinstance(robot, Robot) else _loaded(robot, top, file, folder), top)
    if not set(MOVING) & set(data):
        still = pick_and_place(arm)
        return Scenario(arm, still.law, still.trajectory, {**still.options, **_options(top, file)}, text)
    motion = trajectory_of(_part(top, file, "trajectory"), arm, folder) if "trajectory" in data else None
    law = _told(_part(top, file, "torque"), motion) if "torque" in data else _default_law(motion)
    return Scenario(arm, torque.law_for(law, arm), motion, _options(top, file), text)


def _options(top: Reader, file: str) -> dict[str, Any]:
    """What `simulate` is asked for."""
    data = top.data
    options: dict[str, Any] = {key: data[key] for key in ("duration", "every", "q0", "qd0") if key in data}
    if "integrator" in data:
        part = _part(top, file, "integrator")
        part.check_keys(("method", "rtol", "atol", "step"))
        options |= {"integrator": part.text("method", "dop853")}
        options |= {key: part.number(key) for key in ("rtol", "atol", "step") if key in part.data}
    return options


def _loaded(robot: str | None, top: Reader, file: str, folder: Path) -> Robot:
    if robot:
        return load(robot)
    if not top.data.get("robot"):
        raise ModelError(f'{file}: no robot; give robot = "puma560", or name one on the command line')
    return robot_in(top, folder)


def robot_in(top: Reader, folder: Path) -> Robot:
    """The robot that a file names: a packaged one, a file beside it, or a table of a file and how it is loaded."""
    given = top.data["robot"]
    options: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {"file": top.text("robot", "")}
    part = Reader(options, lambda _key: top.where("robot"))
    part.check_keys(LOADED)
    name = part.text("file", part.need("file"))
    beside = folder / name
    told = {key: value for key, value in options.items() if key != "file"}
    try:
        return load(beside if Path(name).suffix and beside.exists() else name, **told)
    except ModelError as error:
        raise ModelError(f"{top.where('robot')}: {error}") from None


def _part(top: Reader, file: str, name: str) -> Reader:
    value = top.data[name]
    if not isinstance(value, Mapping):
        top.fail(name, f"{name} = {value!r} is not a table; write [{name}] and its keys below")
    return Reader(value, lambda key: f"{file}, [{name}]{f' {key}' if key else ''}")


def _changed(arm: Robot, top: Reader) -> Robot:
    """The robot with the gravity and the payload of the scenario."""
    if "gravity" in top.data:
        arm = arm.with_gravity(top.data["gravity"])
    if "payload" in top.data:
        held = top.data["payload"]
        if not isinstance(held, Mapping) or "mass" not in held or set(held) - {"mass", "com", "inertia"}:
            top.fail("payload", f"payload = {held!r}: expected {{mass = ..., com = [...], inertia = [...]}}")
        arm = arm.with_payload(**held)
    return arm


def _choice(part: Reader, key: str, choices: Mapping[str, tuple[str, ...]], also: tuple[str, ...] = ()) -> str:
    kind = part.need(key)
    if not isinstance(kind, str) or kind not in choices:
        part.fail(key, f"unknown {key} {kind!r}; expected one of {', '.join(choices)}")
    part.check_keys((key, *choices[kind], *also))
    return kind


def trajectory_of(part: Reader, arm: Robot, folder: Path) -> Trajectory:
    """The motion that a table says, for a robot; files that it names lie in `folder`."""
    kind = _choice(part, "type", MOTIONS)
    try:
        check_numbers(arm, "a trajectory")
    except InputError as error:
        part.fail("type", str(error))
    if kind == "sampled":
        try:
            return motion_of(folder / part.text("file", part.need("file")), arm)
        except InputError as error:
            part.fail("file", str(error))
    values = [part.need(key) for key in MOTIONS[kind]]
    make: Callable[..., Trajectory] = getattr(trajectory, kind)
    try:
        motion = make(*values)
    except InputError as error:
        part.fail("type", str(error))
    if motion.n != arm.n:
        names = ", ".join(shown(joint.name) for joint in arm.joints[:NAMED]) + (", ..." if arm.n > NAMED else "")
        part.fail(
            "points" if "points" in part.data else "from",
            f"{motion.n} joints; {arm.name} has {arm.n} ({names}); give each its positions, or leave joints out as in "
            'robot = {file = "arm.urdf", tip = "flange", locked = {finger = 0.02}}',
        )
    return motion


def motion_of(path: Path, arm: Robot) -> Trajectory:
    """The motion in a .csv or .parquet file: columns t, q1 ... qn, and if they are known qd1 ... and qdd1 ..."""
    columns = columns_of(path)
    q, qd, qdd = (joints_of(columns, name, arm.n, path) for name in ("q", "qd", "qdd"))
    if "t" not in columns or q is None:
        raise InputError(
            f"{path} has the columns {', '.join(columns)}; expected t, q1 to q{arm.n}, and if they are known qd1 to "
            f"qd{arm.n} and qdd1 to qdd{arm.n}"
        )
    try:
        if qd is None:
            return trajectory.spline(columns["t"], q)
        return trajectory.hermite(columns["t"], q, qd, qdd)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def along(path: Path, arm: Robot) -> Scenario:
    """Computed torque along the motion in a file."""
    return parse(f'[trajectory]\ntype = "sampled"\nfile = {json.dumps(str(path.absolute()))}\n', arm, str(path))


def _followed(motion: Trajectory) -> Trajectory:
    """A motion for a law to follow: in few pieces, which compile, where that is (nearly) the same."""
    if motion.traceable:
        return motion.holding()
    few = trajectory.sampled(motion)
    times = np.array(motion.knots)
    near = float(np.max(np.abs(few(times)[0] - motion(times)[0]))) <= FAITHFUL
    return (few if near else motion).holding()


def _told(part: Reader, motion: Trajectory | None) -> torque.Law:
    """The law, with the file named where its numbers do not fit."""
    try:
        return _law(part, motion)
    except InputError as error:
        part.fail("law", str(error))


def _law(part: Reader, motion: Trajectory | None) -> torque.Law:
    keys = {name: (*law.parameters, *(("target",) if law.follows else ())) for name, law in torque.LAWS.items()}
    name = _choice(part, "law", keys, ("limit", "friction"))
    kind = torque.LAWS[name]
    given = {key: part.data[key] for key in kind.parameters if key in part.data}
    for key in (key for key, needed in kind.parameters.items() if needed):
        part.need(key, f"; the law {name!r} needs it")
    target = part.data.get("target", motion and _followed(motion))
    if kind.follows and target is None:
        part.fail("law", f"{name} follows a trajectory: add [trajectory], or target =")
    law = kind.make(*((target,) if kind.follows else ()), **given)
    driving: torque.Law = law.limited(part.data["limit"]) if "limit" in part.data else law
    return driving + friction if (friction := _friction(part)) is not None else driving


def _friction(part: Reader) -> torque.Friction | None:
    """What a limit of the drives does not limit."""
    if "friction" not in part.data:
        return None
    given = part.data["friction"]
    if not isinstance(given, Mapping) or set(given) - {"viscous", "coulomb", "smooth"}:
        part.fail("friction", f"friction = {given!r}: expected {{viscous = ..., coulomb = ..., smooth = ...}}")
    return torque.friction(**given)


def _default_law(motion: Trajectory | None) -> torque.Law:
    return torque.Free() if motion is None else torque.computed_torque(_followed(motion), kp=100.0, kd=20.0)


def pick_and_place(arm: Robot, seconds: float = 4.0) -> Scenario:
    """A motion for any robot: from the middle of its range down to one side, up, over to the other side, and back.

    It takes longer where joints would be too fast or torques too large for their limits. A robot with ball or free
    joints has no such range: it falls.
    """
    if arm.balls:
        text = f"# It falls from where every joint is at zero.\nduration = {FALL:g}\nevery = 0.01\n"
        return Scenario(arm, torque.Free(), None, {"duration": FALL, "every": 0.01}, text)
    middle, reach = np.array([_range(joint) for joint in arm.joints]).T
    swing = reach * np.where(np.arange(arm.n) == 0, 1.0, 0.5)
    side = np.where(np.arange(arm.n) == 0, 1.0, 0.0)
    down = np.where(np.arange(arm.n) % 2 == 1, 1.0, -1.0) * (1 - side)
    points = [middle]
    for across, lowered in ((1, 0.4), (1, 1.0), (1, 0.4), (-1, 0.4), (-1, 1.0), (-1, 0.4), (0, 0.0)):
        points.append(middle + swing * (across * side + lowered * down))
    parts = np.array([0, 0.16, 0.26, 0.36, 0.64, 0.74, 0.84, 1.0])
    seconds = math.ceil(10 * seconds * _slower(arm, trajectory.quintic(seconds * parts, points)) - 1e-9) / 10
    times = np.round(seconds * parts, 4)
    rows = ",\n    ".join(str([round(float(x), 4) for x in row]) for row in points)
    text = (
        "# Pick and place: down to one side, up, over to the other side, down, up and back.\n"
        f'every = 0.01\n\n[integrator]\nmethod = "dop853"\nrtol = 1e-9\n\n'
        f'[trajectory]\ntype = "quintic"\ntimes = {times.tolist()}\npoints = [\n    {rows},\n]\n\n'
        '[torque]\nlaw = "computed_torque"\nkp = 100\nkd = 20\n'
    )
    motion = trajectory.quintic(times, np.round(points, 4))
    return Scenario(arm, _default_law(motion), motion, {"every": 0.01}, text)


FALL = 1.0
"""Seconds for which a robot falls that cannot pick and place."""

SPARE = 0.95
"""The part of a limit that is used, as neither the robot nor its model is perfect."""

SLOWEST = 10.0
"""Times as long: what is too heavy then is too heavy to be held, however slowly."""


def _slower(arm: Robot, motion: Trajectory) -> float:
    """How many times as long a motion has to take for the speeds and torques of the joints to stay below their limits.

    Torques are seen along the motion by inverse dynamics as it is written, on arrays: nothing need be compiled.
    """
    q, qd, qdd = motion(np.linspace(motion.start, motion.end, 201))
    speed, effort = (
        SPARE * np.array([getattr(joint, name) or np.inf for joint in arm.joints])
        for name in ("max_velocity", "max_torque")
    )
    factor = max(1.0, float(np.max(np.abs(qd) / speed)))
    if np.isinf(effort).all():
        return factor
    dynamics = default_for("inverse_dynamics", arm.mechanism())
    for slow in np.geomspace(factor, SLOWEST * factor, 25):
        tau = dynamics(arm.mechanism(), *(list(x.T) for x in (q, qd / slow, qdd / slow**2)))
        if all(np.max(np.abs(x)) <= most for x, most in zip(tau, effort, strict=True)):
            return float(slow)
    return factor


def _range(joint: Any) -> tuple[float, float]:
    """The middle of a joint's range, and how far a motion may go from there."""
    default = 0.3 if joint.prismatic else 0.9
    if joint.limits is None:
        return (0.5 if joint.prismatic else 0.0), default
    low, high = joint.limits
    return (low + high) / 2, min(default, 0.4 * (high - low))
