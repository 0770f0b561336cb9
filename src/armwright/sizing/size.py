"""`size`: the lightest, cheapest or most frugal actuators for all joints of a robot together."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from armwright.actuators.actuator import Actuator, CylinderLever, Drive, Hydraulic, combine
from armwright.actuators.assignment import by_joint, mounts
from armwright.actuators.assignment import without_drives as bare
from armwright.actuators.catalogue import Catalogue, packaged, read
from armwright.errors import InfeasibleError, InputError, unknown
from armwright.model.table_reader import Reader
from armwright.names import shown
from armwright.robot import Robot
from armwright.sizing.branch_and_bound import Choices, Search
from armwright.sizing.criteria import Terms
from armwright.sizing.loads import JointLoad, loads
from armwright.sizing.result import ActuatorSet, Sizing, chosen_set, columns
from armwright.trajectory import Trajectory
from armwright.trajectory.inputs import check_numbers

MOST_SAMPLES = 100_000
"""Of a motion: a hundred thousand instants are finer than any drive."""

OBJECTIVES = ("mass", "price", "energy")

JUMP = 0.01
"""Of the largest speed: what changes by more at once is a jump, and where a motion ends up is where it began."""


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
    """The best motor and gearbox for every joint together, proven best among all sets of a catalogue.

    motions        trajectories, each repeated for ever with each payload; a mapping gives them names
    payloads       what the tool holds: kilograms, a mapping with mass, com and inertia, or None: as the robot is
    catalogue      a `Catalogue`, its file, or the name of a packaged one ("typical" by default)
    objective      "mass" and "price" of all actuators, or "energy" that they take on all motions with all payloads
    brakes         the name of a brake for every motor, or names by joint
    levers         by joint, how a cylinder turns it: these have cylinders; None for one that moves a joint that slides
    mounts_at      where actuators stand, by joint: (link, point); by default on the link before, at the joint
    without_drives by link, the mass of drives that the robot has in it already: kilograms, or (kilograms, point)
    reserve        the part of every limit that is to be left
    inertia_ratio  the largest ratio of the load's inertia at the shaft to the motor's own; by default any
    max_twist      the largest angle (or length) by which gearboxes may give, torque / stiffness + backlash / 2: one for
                   all joints, or by joint
    min_frequency  hertz: the least natural frequency of what a joint carries on the stiffness of its gearbox
    ambient        degrees Celsius
    samples        of each motion; what is proven is proven at these instants
    sets           how many of the best to find
    """
    begin = time.perf_counter()
    moving = _motions(robot, motions)
    for name, given in (("levers", levers), ("mounts_at", mounts_at), ("without_drives", without_drives)):
        _check_mapping(name, given)
    book = catalogue if isinstance(catalogue, Catalogue) else packaged() if catalogue is None else read(catalogue)
    if objective not in OBJECTIVES:
        raise unknown("objective", objective, OBJECTIVES)
    _check_options(reserve, inertia_ratio, ambient, samples, sets)
    hertz, twist = _bound("min_frequency", min_frequency, "hertz"), _twists(robot, max_twist)
    robot = bare(robot, without_drives or {})
    places = mounts(robot, mounts_at)
    options = _options(robot, book, objective, brakes, levers or {})
    asked = loads(robot, moving, _holding(robot, payloads), places, samples)
    terms = Terms(ambient, inertia_ratio or math.inf, objective == "energy", twist, hertz)
    search = Search(asked, [_choices(own, objective) for own in options], terms, 1 - reserve, sets)
    found = search.run()
    if not found:
        raise _infeasible(search, asked, options, 1 - reserve)
    return Sizing(
        robot=robot,
        catalogue=book.name,
        objective=objective,
        sets=tuple(
            chosen_set(cost, [own[row] for own, row in zip(options, rows, strict=True)], asked, terms)
            for cost, rows in found
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
    """What given actuators use of their limits along other motions: those of a set that was found, or one's own.

    `actuators` has one for every joint, as `fitted` takes them; the robot is the one without them, and the rest as for
    `size`. More than all may be used: `chosen.used` says of what, and how much.
    """
    moving = _motions(robot, motions, whole=False)
    _check_options(0.0, None, ambient, samples, 1)
    for name, given in (("mounts_at", mounts_at), ("without_drives", without_drives)):
        _check_mapping(name, given)
    robot = bare(robot, without_drives or {})
    fitting = by_joint(robot, actuators)
    missing = [joint.name for joint in robot.joints if joint.name not in fitting]
    if missing:
        raise InputError(f"margins got no actuator for {', '.join(map(shown, missing))}; expected one for every joint")
    drives = [fitting[joint.name] for joint in robot.joints]
    asked = loads(robot, moving, _holding(robot, payloads), mounts(robot, mounts_at), samples)
    return chosen_set(sum(drive.mass for drive in drives), drives, asked, Terms(ambient))


def _motions(robot: Robot, motions: Any, whole: bool = True) -> dict[str, Trajectory]:
    """The motions by name, checked; some that are not `whole` may begin or end in motion, as a sudden stop does."""
    if not isinstance(robot, Robot):
        raise InputError(f"size got {robot!r}; expected a Robot")
    check_numbers(robot, "sizing")
    named = motions if isinstance(motions, Mapping) else _numbered(motions)
    if not named or not all(isinstance(name, str) for name in named):
        raise InputError("size got no motions; expected at least one trajectory, or trajectories by name")
    for motion in named.values():
        if not isinstance(motion, Trajectory) or motion.n != robot.n:
            raise InputError(f"size got the motion {motion!r}; expected a trajectory of {robot.n} joints")
        if not np.isfinite([motion.start, motion.end]).all() or not motion.duration > 0:
            raise InputError(f"the motion {motion!r} does not end; expected one that lasts, without .holding()")
        _check_speeds(motion, whole)
    return dict(named)


def _numbered(motions: Any) -> dict[str, Any]:
    """Motions without names: "motion 1" and so on, or "motion" if there is one."""
    listed = list(motions) if isinstance(motions, Iterable) and not isinstance(motions, Trajectory) else [motions]
    return {f"motion {k + 1}" if len(listed) > 1 else "motion": motion for k, motion in enumerate(listed)}


def _check_speeds(motion: Trajectory, whole: bool) -> None:
    """That speeds do not jump, which would take a torque without end that no sample sees."""
    knots = np.array(motion.knots)
    aside = 1e-9 * np.diff(knots)
    after, before = (motion(t)[1] for t in (knots[:-1] + aside, knots[1:] - aside))
    begin, end = motion(knots[[0, -1]])[0]
    fastest = np.abs(motion(np.linspace(motion.start, motion.end, 101))[1]).max()
    comes_round = np.abs(end - begin).max() <= JUMP * fastest * motion.duration
    rest = np.zeros((1, motion.n))
    outside = (rest, rest) if whole else (after[:1], before[-1:])
    if comes_round:
        outside = (before[-1:], after[:1])
    found = np.abs(np.concatenate([after, outside[1]]) - np.concatenate([outside[0], before])).max(axis=1)
    if found.max() > JUMP * fastest:
        k = int(np.argmax(found))
        raise InputError(
            f"the speed of the motion {motion!r} jumps by {found[k]:.4g} rad/s or m/s at t = {knots[k]:g} s, which no "
            "torque does; expected one from rest to rest, or round and round, such as quintic or trapezoidal"
        )


def _check_options(reserve: float, inertia_ratio: float | None, ambient: float, samples: int, sets: int) -> None:
    for name, given in (("reserve", reserve), ("inertia_ratio", inertia_ratio or 1.0), ("ambient", ambient)):
        if isinstance(given, bool) or not isinstance(given, Real):
            raise InputError(f"{name} = {given!r} is not a number")
    if not 0 <= reserve < 1:
        raise InputError(f"reserve = {reserve!r}: expected the part of every limit to be left, from 0 to below 1")
    if inertia_ratio is not None and not 0 < inertia_ratio < math.inf:
        raise InputError(f"inertia_ratio = {inertia_ratio!r}: expected a ratio above zero, such as 10")
    if not math.isfinite(ambient):
        raise InputError(f"ambient = {ambient!r}: expected degrees Celsius")
    for name, value, least, most in (("samples", samples, 2, MOST_SAMPLES), ("sets", sets, 1, math.inf)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InputError(f"{name} = {value!r}: expected a whole number from {least} to {most:g}")


def _check_mapping(name: str, given: Any) -> None:
    if not isinstance(given, Mapping | None):
        raise InputError(f"{name} = {given!r}: expected a mapping, from names to what each is to have")


def _bound(name: str, value: float | None, unit: str) -> float:
    """A bound that may be asked for; zero where it is not."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf):
        raise InputError(f"{name} = {value!r}: expected {unit}, above zero")
    return float(value or 0.0)


def _twists(robot: Robot, asked: float | Mapping[str, float] | None) -> dict[str, float]:
    names = [joint.name for joint in robot.joints]
    if asked is None:
        return {}
    given = dict(asked) if isinstance(asked, Mapping) else dict.fromkeys(names, asked)
    for name in given:
        if name not in names:
            raise unknown(f"joint of {robot.name}:", name, names)
    return {name: _bound("max_twist", value, "radians, or metres") for name, value in given.items()}


def _holding(robot: Robot, payloads: Any) -> list[Robot]:
    held = []
    alone = isinstance(payloads, (str, Mapping)) or not isinstance(payloads, Iterable)
    for payload in [payloads] if alone else payloads:
        if payload is None:
            held.append(robot)
        elif isinstance(payload, Mapping):
            Reader(payload, lambda _key: "payload").check_keys(("mass", "com", "inertia"))
            held.append(robot.with_payload(**payload))
        else:
            held.append(robot.with_payload(payload) if payload else robot.without_payload())
    if not held:
        raise InputError("size got no payloads; expected at least one, None for what the robot holds as it is")
    return held


def _options(
    robot: Robot,
    book: Catalogue,
    objective: str,
    brakes: str | Mapping[str, str] | None,
    levers: Mapping[str, CylinderLever | None],
) -> list[list[Drive]]:
    """The actuators that each joint may have, all combinations; what the objective needs of each part is there."""
    names = [joint.name for joint in robot.joints]
    if not isinstance(brakes, (str, Mapping)) and brakes is not None:
        raise InputError(f"brakes = {brakes!r}: expected the name of a brake of the catalogue, or names by joint")
    braked = dict.fromkeys(names, brakes) if isinstance(brakes, str) else dict(brakes or {})
    for name in (*braked, *levers):
        if name not in names:
            raise unknown(f"joint of {robot.name}:", name, names)
    made = list[list[Drive]]()
    for joint in robot.joints:
        if joint.name in levers:
            made.append(_hydraulic(joint, levers[joint.name], book))
            continue
        wanted = braked.get(joint.name)
        brake = None if wanted is None else book.brake(wanted)
        gears = [gear for gear in book.gearboxes if gear.linear == joint.prismatic]
        if not gears or not book.motors:
            kind = "linear " if joint.prismatic else ""
            raise InputError(
                f"{joint.name}: catalogue {book.name!r} has no {kind}gearboxes or no motors to choose from"
            )
        pairs = [(motor, gear) for motor in book.motors for gear in gears if combine(motor, gear)]
        if not pairs:
            raise InputError(f"{joint.name}: no motor of {book.name!r} goes with a gearbox of it; see their goes_with")
        made.append([Actuator(motor, gear, brake) for motor, gear in pairs])
    _check_known(made, objective)
    return made


def _hydraulic(joint: Any, lever: CylinderLever | None, book: Catalogue) -> list[Drive]:
    """The cylinders that a joint may have."""
    if (lever is None) != joint.prismatic or not isinstance(lever, CylinderLever | None):
        raise InputError(
            f"levers: {joint.name} has {lever!r}; expected a sizing.CylinderLever for a revolute joint, None "
            "for a prismatic one"
        )
    if not book.cylinders:
        raise InputError(f"{joint.name}: catalogue {book.name!r} has no cylinders to choose from")
    return [Hydraulic(cylinder, lever) for cylinder in book.cylinders]


def _check_known(options: Sequence[Sequence[Drive]], objective: str) -> None:
    for part in (part for own in options for drive in own for part in drive.parts):
        if objective == "price" and part.price is None:
            raise InputError(f"{part.name!r} has no price; objective='price' needs one for every part")
    for drive in (drive for own in options for drive in own if isinstance(drive, Actuator)):
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
    return Choices(columns(options), masses, costs[objective])


def _infeasible(
    search: Search, asked: Sequence[JointLoad], options: Sequence[Sequence[Drive]], most: float
) -> InfeasibleError:
    failure = search.failure()
    name = asked[failure.joint].name
    nearest = options[failure.joint][failure.row].name
    return InfeasibleError(
        f"no actuator of the catalogue is enough for {shown(name)}: the nearest, {shown(nearest)}, would use "
        f"{failure.used:.0%} of its {failure.criterion}, of which {most:.0%} may be used",
        name,
        failure.criterion,
        failure.used,
    )
