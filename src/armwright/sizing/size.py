"""`size`: the actuators of all joints with the least total mass, price or energy."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from armwright.actuators.actuator import Actuator, CylinderLever, Drive, Hydraulic, compatible
from armwright.actuators.assignment import by_joint, mounts
from armwright.actuators.assignment import without_drives as bare
from armwright.actuators.catalogue import Catalogue, packaged, read
from armwright.errors import InfeasibleError, InputError, unknown
from armwright.model.table_reader import Reader
from armwright.names import shown
from armwright.robot import Robot
from armwright.sizing.branch_and_bound import BranchAndBound, Choices
from armwright.sizing.criteria import Requirements
from armwright.sizing.loads import JointLoad, loads
from armwright.sizing.result import ActuatorSet, Sizing, actuator_set, drive_numbers
from armwright.trajectory import Trajectory
from armwright.trajectory.argument_checks import check_scalar_joints

MAX_MOTION_SAMPLES = 100_000

SIZING_OBJECTIVES = ("mass", "price", "energy")

MAX_SPEED_STEP = 0.01
"""Largest sudden change of speed, as a part of the largest speed, and distance of the ends of a closed motion."""


def size(
    robot: Robot,
    motions: Trajectory | Sequence[Trajectory] | Mapping[str, Trajectory],
    payloads: Sequence[Any] = (None,),
    catalogue: Catalogue | str | Path | None = None,
    objective: str = "mass",
    *,
    brakes: str | Mapping[str, str] | None = None,
    levers: Mapping[str, CylinderLever | None] | None = None,
    mounts_at: Mapping[str, Any] | None = None,
    without_drives: Mapping[str, Any] | None = None,
    reserve: float = 0.0,
    inertia_ratio: float | None = None,
    max_twist: float | Mapping[str, float] | None = None,
    min_frequency: float | None = None,
    ambient: float = 40.0,
    samples: int = 100,
    sets: int = 5,
) -> Sizing:
    """Find the best motor and gearbox for every joint together, proven best among all sets of a catalogue.

    motions        trajectories, each repeated endlessly with each payload; a mapping gives them names
    payloads       kilograms, mappings with mass, com and inertia, or None for the payload of the robot
    catalogue      a `Catalogue`, its file, or the name of a packaged one ("typical" by default)
    objective      "mass" or "price" of all actuators, or the "energy" that they take on all motions with all payloads
    brakes         the name of a brake for every motor, or names by joint
    levers         joints moved by cylinders, with their levers by joint; None for a prismatic joint
    mounts_at      mounts of actuators by joint: (link, point); by default on the link before the joint, at the joint
    without_drives mass of drives that the links include already, by link: kilograms, or (kilograms, point)
    reserve        the part of every limit to leave unused
    inertia_ratio  the largest ratio of load inertia at the shaft to motor inertia; by default any
    max_twist      the largest twist of a gearbox, torque / stiffness + backlash / 2, rad or m: one for all joints, or
                   by joint
    min_frequency  the lowest natural frequency, Hz, of the carried inertia on the stiffness of the gearbox
    ambient        ambient temperature, degrees Celsius
    samples        instants per motion; the proof holds at these instants
    sets           number of best sets to find

    An InfeasibleError names the joint and the criterion if no set is feasible.
    """
    begin = time.perf_counter()
    by_name = _motions(robot, motions)
    for name, mapping in (("levers", levers), ("mounts_at", mounts_at), ("without_drives", without_drives)):
        _check_mapping(name, mapping)
    book = catalogue if isinstance(catalogue, Catalogue) else packaged() if catalogue is None else read(catalogue)
    if objective not in SIZING_OBJECTIVES:
        raise unknown("objective", objective, SIZING_OBJECTIVES)
    _check_options(reserve, inertia_ratio, ambient, samples, sets)
    hertz, twist = _bound("min_frequency", min_frequency, "hertz"), _twists(robot, max_twist)
    robot = bare(robot, without_drives or {})
    places = mounts(robot, mounts_at)
    options = _options(robot, book, objective, brakes, levers or {})
    joint_loads = loads(robot, by_name, _with_payloads(robot, payloads), places, samples)
    requirements = Requirements(ambient, inertia_ratio or math.inf, objective == "energy", twist, hertz)
    search = BranchAndBound(
        joint_loads, [_choices(each, objective) for each in options], requirements, 1 - reserve, sets
    )
    best = search.run()
    if not best:
        raise _infeasible(search, joint_loads, options, 1 - reserve)
    return Sizing(
        robot=robot,
        catalogue=book.name,
        objective=objective,
        sets=tuple(
            actuator_set(cost, [each[row] for each, row in zip(options, rows, strict=True)], joint_loads, requirements)
            for cost, rows in best
        ),
        full_product=math.prod(map(len, options)),
        judged=search.judged,
        nodes=search.nodes,
        seconds=time.perf_counter() - begin,
        reserve=reserve,
        mounts_at=dict(mounts_at or {}),
    )


def margins(
    robot: Robot,
    motions: Trajectory | Sequence[Trajectory] | Mapping[str, Trajectory],
    actuators: Mapping[str, Drive] | Sequence[Drive],
    payloads: Sequence[Any] = (None,),
    *,
    mounts_at: Mapping[str, Any] | None = None,
    without_drives: Mapping[str, Any] | None = None,
    ambient: float = 40.0,
    samples: int = 100,
) -> ActuatorSet:
    """Return the use of the limits of actuators along motions, which may differ from those of `size`.

    `actuators` has one for every joint, as `fitted` takes them, and `robot` is without them; the rest is as for `size`.
    A part above one in `chosen.used` exceeds the limit.
    """
    motions_by_name = _motions(robot, motions, closed=False)
    _check_options(0.0, None, ambient, samples, 1)
    for name, mapping in (("mounts_at", mounts_at), ("without_drives", without_drives)):
        _check_mapping(name, mapping)
    robot = bare(robot, without_drives or {})
    by_name = by_joint(robot, actuators)
    missing = [joint.name for joint in robot.joints if joint.name not in by_name]
    if missing:
        raise InputError(f"margins got no actuator for {', '.join(map(shown, missing))}; expected one for every joint")
    drives = [by_name[joint.name] for joint in robot.joints]
    loaded = _with_payloads(robot, payloads)
    joint_loads = loads(robot, motions_by_name, loaded, mounts(robot, mounts_at), samples)
    return actuator_set(sum(drive.mass for drive in drives), drives, joint_loads, Requirements(ambient))


def _motions(robot: Robot, motions: Any, closed: bool = True) -> dict[str, Trajectory]:
    """Return the motions by name, checked; unless `closed`, they may start or end with a speed, as in a sudden stop."""
    if not isinstance(robot, Robot):
        raise InputError(f"size got {robot!r}; expected a Robot")
    check_scalar_joints(robot, "sizing")
    named = motions if isinstance(motions, Mapping) else _numbered(motions)
    if not named or not all(isinstance(name, str) for name in named):
        raise InputError("size got no motions; expected at least one trajectory, or trajectories by name")
    for motion in named.values():
        if not isinstance(motion, Trajectory) or motion.n != robot.n:
            raise InputError(f"size got the motion {motion!r}; expected a trajectory of {robot.n} joints")
        if not np.isfinite([motion.start, motion.end]).all() or not motion.duration > 0:
            raise InputError(f"the motion {motion!r} has no finite duration; expected one, without .holding()")
        _check_speeds(motion, closed)
    return dict(named)


def _numbered(motions: Any) -> dict[str, Any]:
    """Return motions by the names "motion 1" and so on, or "motion" if there is one."""
    listed = list(motions) if isinstance(motions, Iterable) and not isinstance(motions, Trajectory) else [motions]
    return {f"motion {k + 1}" if len(listed) > 1 else "motion": motion for k, motion in enumerate(listed)}


def _check_speeds(motion: Trajectory, closed: bool) -> None:
    """Raise an InputError if the speed jumps, which would take an infinite torque between samples."""
    knots = np.array(motion.knots)
    offset = 1e-9 * np.diff(knots)
    after, before = (motion(t)[1] for t in (knots[:-1] + offset, knots[1:] - offset))
    begin, end = motion(knots[[0, -1]])[0]
    fastest = np.abs(motion(np.linspace(motion.start, motion.end, 101))[1]).max()
    periodic = np.abs(end - begin).max() <= MAX_SPEED_STEP * fastest * motion.duration
    rest = np.zeros((1, motion.n))
    outside = (rest, rest) if closed else (after[:1], before[-1:])
    if periodic:
        outside = (before[-1:], after[:1])
    jumps = np.abs(np.concatenate([after, outside[1]]) - np.concatenate([outside[0], before])).max(axis=1)
    if jumps.max() > MAX_SPEED_STEP * fastest:
        k = int(np.argmax(jumps))
        raise InputError(
            f"the speed of the motion {motion!r} jumps by {jumps[k]:.4g} rad/s or m/s at t = {knots[k]:g} s, which "
            "takes an infinite torque; expected a motion from rest to rest, or a periodic one, such as quintic"
        )


def _check_options(reserve: float, inertia_ratio: float | None, ambient: float, samples: int, sets: int) -> None:
    for name, value in (("reserve", reserve), ("inertia_ratio", inertia_ratio or 1.0), ("ambient", ambient)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InputError(f"{name} = {value!r} is not a number")
    if not 0 <= reserve < 1:
        raise InputError(f"reserve = {reserve!r}: expected the unused part of every limit, from 0 to below 1")
    if inertia_ratio is not None and not 0 < inertia_ratio < math.inf:
        raise InputError(f"inertia_ratio = {inertia_ratio!r}: expected a ratio above zero, such as 10")
    if not math.isfinite(ambient):
        raise InputError(f"ambient = {ambient!r}: expected degrees Celsius")
    for name, value, smallest, largest in (("samples", samples, 2, MAX_MOTION_SAMPLES), ("sets", sets, 1, math.inf)):
        if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
            raise InputError(f"{name} = {value!r}: expected a whole number from {smallest} to {largest:g}")


def _check_mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping | None):
        raise InputError(f"{name} = {value!r}: expected a mapping from names to values")


def _bound(name: str, value: float | None, unit: str) -> float:
    """Return a bound, checked; zero for None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf):
        raise InputError(f"{name} = {value!r}: expected {unit}, above zero")
    return float(value or 0.0)


def _twists(robot: Robot, max_twist: float | Mapping[str, float] | None) -> dict[str, float]:
    names = [joint.name for joint in robot.joints]
    if max_twist is None:
        return {}
    by_name = dict(max_twist) if isinstance(max_twist, Mapping) else dict.fromkeys(names, max_twist)
    for name in by_name:
        if name not in names:
            raise unknown(f"joint of {robot.name}:", name, names)
    return {name: _bound("max_twist", value, "radians, or metres") for name, value in by_name.items()}


def _with_payloads(robot: Robot, payloads: Any) -> list[Robot]:
    robots = []
    single = isinstance(payloads, (str, Mapping)) or not isinstance(payloads, Iterable)
    for payload in [payloads] if single else payloads:
        if payload is None:
            robots.append(robot)
        elif isinstance(payload, Mapping):
            Reader(payload, lambda _key: "payload").check_keys(("mass", "com", "inertia"))
            robots.append(robot.with_payload(**payload))
        else:
            robots.append(robot.with_payload(payload) if payload else robot.without_payload())
    if not robots:
        raise InputError("size got no payloads; expected at least one, None for the payload of the robot")
    return robots


def _options(
    robot: Robot,
    book: Catalogue,
    objective: str,
    brakes: str | Mapping[str, str] | None,
    levers: Mapping[str, CylinderLever | None],
) -> list[list[Drive]]:
    """Return the candidates of each joint, all combinations of parts, checked for the numbers the objective needs."""
    names = [joint.name for joint in robot.joints]
    if not isinstance(brakes, (str, Mapping)) and brakes is not None:
        raise InputError(f"brakes = {brakes!r}: expected the name of a brake of the catalogue, or names by joint")
    braked = dict.fromkeys(names, brakes) if isinstance(brakes, str) else dict(brakes or {})
    for name in (*braked, *levers):
        if name not in names:
            raise unknown(f"joint of {robot.name}:", name, names)
    candidates = list[list[Drive]]()
    for joint in robot.joints:
        if joint.name in levers:
            candidates.append(_hydraulic(joint, levers[joint.name], book))
            continue
        brake_name = braked.get(joint.name)
        brake = None if brake_name is None else book.brake(brake_name)
        gears = [gear for gear in book.gearboxes if gear.linear == joint.prismatic]
        if not gears or not book.motors:
            kind = "linear " if joint.prismatic else ""
            raise InputError(f"{joint.name}: catalogue {book.name!r} has no {kind}gearboxes or no motors")
        pairs = [(motor, gear) for motor in book.motors for gear in gears if compatible(motor, gear)]
        if not pairs:
            raise InputError(f"{joint.name}: no motor of {book.name!r} fits any gearbox; check their goes_with")
        candidates.append([Actuator(motor, gear, brake) for motor, gear in pairs])
    _check_known(candidates, objective)
    return candidates


def _hydraulic(joint: Any, lever: CylinderLever | None, book: Catalogue) -> list[Drive]:
    """Return the candidate cylinders of a joint."""
    if (lever is None) != joint.prismatic or not isinstance(lever, CylinderLever | None):
        raise InputError(
            f"levers: {joint.name} has {lever!r}; expected a sizing.CylinderLever for a revolute joint, None "
            "for a prismatic one"
        )
    if not book.cylinders:
        raise InputError(f"{joint.name}: catalogue {book.name!r} has no cylinders")
    return [Hydraulic(cylinder, lever) for cylinder in book.cylinders]


def _check_known(options: Sequence[Sequence[Drive]], objective: str) -> None:
    for part in (part for drives in options for drive in drives for part in drive.parts):
        if objective == "price" and part.price is None:
            raise InputError(f"{part.name!r} has no price; objective='price' needs one for every part")
    for drive in (drive for drives in options for drive in drives if isinstance(drive, Actuator)):
        if objective == "energy" and drive.motor.loss_factor is None:
            raise InputError(
                f"{drive.motor.name!r} has no torque_constant and resistance; objective='energy' needs both"
            )


def _choices(options: Sequence[Drive], objective: str) -> Choices:
    masses = np.array([drive.mass for drive in options])
    costs = {
        "mass": masses,
        "price": np.array([drive.price or 0.0 for drive in options]),
        "energy": np.zeros(len(options)),
    }
    return Choices(drive_numbers(options), masses, costs[objective])


def _infeasible(
    search: BranchAndBound, joint_loads: Sequence[JointLoad], options: Sequence[Sequence[Drive]], max_use: float
) -> InfeasibleError:
    failure = search.failure()
    name = joint_loads[failure.joint].name
    nearest = options[failure.joint][failure.row].name
    return InfeasibleError(
        f"no actuator of the catalogue is enough for {shown(name)}: the nearest, {shown(nearest)}, would use "
        f"{failure.used:.0%} of its {failure.criterion}, of which {max_use:.0%} may be used",
        name,
        failure.criterion,
        failure.used,
    )
