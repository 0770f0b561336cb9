"""Joints that follow others: separated from the independent joints, or added to a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real

from armwright.errors import InputError, ModelError, unknown
from armwright.model.consistency import check_names
from armwright.model.description import AnyDescription
from armwright.model.mimic import Mimic, MimicCycle, resolve_mimics
from armwright.model.records import JointModel


def split_followers(rows: Sequence[JointModel]) -> tuple[tuple[JointModel, ...], tuple[JointModel, ...]]:
    """Return the independent joints and the followers of a sequence of joints.

    A follower of a follower follows the independent joint at the end of the chain. Limits of position and speed of
    followers also limit the joints that they follow.
    """
    follows = {row.name: row.mimic for row in rows if row.mimic is not None}
    if not follows:
        return tuple(rows), ()
    check_names(rows)
    try:
        leaders = resolve_mimics(follows)
    except MimicCycle as cycle:
        raise ModelError(f"joint {cycle.names[0]!r} follows itself{cycle.path}") from None
    followers = [
        replace(row, mimic=replace(leaders[row.name], place=i)) for i, row in enumerate(rows) if row.name in leaders
    ]
    led: dict[str, list[JointModel]] = {}
    for follower in followers:
        if not (leaders[follower.name].others or leaders[follower.name].loop or leaders[follower.name].curve):
            led.setdefault(leaders[follower.name].joint, []).append(follower)
    joints = tuple(_limited_by_followers(row, led.get(row.name, [])) for row in rows if row.mimic is None)
    return joints, tuple(followers)


def _limited_by_followers(joint: JointModel, followers: Sequence[JointModel]) -> JointModel:
    """Return a joint limited by its followers; `problems` reports contradictory limits."""
    for follower in followers:
        limits = limits_with_follower(joint.limits, follower)
        if limits is not None and limits[0] < limits[1]:
            joint = replace(joint, limits=limits)
        if follower.max_velocity is not None and follower.mimic and follower.mimic.factor:
            max_velocity = follower.max_velocity / abs(follower.mimic.factor)
            joint = replace(joint, max_velocity=min(max_velocity, joint.max_velocity or max_velocity))
    return joint


def limits_with_follower(limits: tuple[float, float] | None, follower: JointModel) -> tuple[float, float] | None:
    """Return the intersection of a joint's limits with those that its follower implies."""
    mimic = follower.mimic
    if mimic is None or follower.limits is None or not mimic.factor or mimic.others or mimic.loop or mimic.curve:
        return limits
    low, high = sorted((limit - mimic.offset) / mimic.factor for limit in follower.limits)
    return (low, high) if limits is None else (max(low, limits[0]), min(high, limits[1]))


def with_followers(robot: AnyDescription, mimics: Mapping[str, Mimic]) -> AnyDescription:
    """Return the robot with the joints named in `mimics` as followers."""
    followers = [*robot.followers, *(replace(j, mimic=mimics[j.name]) for j in robot.joints if j.name in mimics)]
    return replace(
        robot,
        joints=tuple(joint for joint in robot.joints if joint.name not in mimics),
        followers=tuple(sorted(followers, key=lambda joint: joint.mimic.place if joint.mimic else 0)),
    )


def with_differential(
    robot: AnyDescription, joint: str, terms: Mapping[str, float], offset: float = 0.0
) -> AnyDescription:
    """Return the robot with `joint` at the sum of others times factors, plus an offset: a differential."""
    names = [row.name for row in robot.rows]
    independent = [row.name for row in robot.joints]
    if not isinstance(terms, Mapping):
        raise InputError(f"terms = {terms!r}: expected numbers by the names of joints, such as {{'left': 0.5}}")
    for what, value in (*((f"the factor of {name!r}", factor) for name, factor in terms.items()), ("offset", offset)):
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            raise InputError(f"robot {robot.name!r}, differential of {joint!r}: {what} is {value!r}; expected a number")
    for name in (joint, *terms):
        if name not in names:
            raise unknown(f"joint of {robot.name}", name, names)
        if name not in independent:
            raise ModelError(f"robot {robot.name!r}: {name!r} follows other joints already; expected one that does not")
    if not terms or joint in terms:
        text = f"the leaders of {joint!r} are {', '.join(terms) or 'none'}; expected other joints"
        raise ModelError(f"robot {robot.name!r}: {text}")
    (leader, factor), *others = terms.items()
    mimic = Mimic(leader, float(factor), float(offset), names.index(joint), tuple((n, float(f)) for n, f in others))
    return with_followers(robot, {joint: mimic})
