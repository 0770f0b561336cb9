"""Checks that the parts of a description agree with each other."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from armwright.errors import ModelError, unknown
from armwright.mechanism import FREEDOMS_OF_KIND

if TYPE_CHECKING:
    from armwright.model.description import Description
from armwright.model.records import JointModel
from armwright.model.transforms import IDENTITY_TRANSFORM


def check_finite(robot: Description) -> None:
    """Raise a ModelError if a number of a robot is not finite."""
    numbers = [
        *((j.alpha, j.a, j.d, j.theta, j.gamma, j.y, j.z) for j in robot.rows),
        *((j.viscous, j.coulomb, j.smooth, j.rotor_inertia, j.gear) for j in robot.rows),
        *((j.spring_stiffness, j.spring_rest, *j.spring_curve) for j in robot.rows),
        *((link.mass, *link.com, *itertools.chain(*link.inertia)) for link in robot.links),
        *((link.compensated_mass, *link.compensated_com) for link in robot.links),
        robot.gravity,
    ]
    if not all(map(math.isfinite, itertools.chain(*numbers))):
        raise ModelError(f"robot {robot.name!r} has a number that is not finite: {numbers}")


def check_springs(robot: Description) -> None:
    """Raise a ModelError if a joint with several freedoms has springs that it cannot have."""
    rows = robot.rows
    for ball in robot.balls:
        freedoms = rows[ball.joint : ball.joint + ball.freedoms]
        if any(any(row.spring_curve) for row in freedoms):
            text = f"a spring with a curve is for joints of one freedom, not {ball.kind}"
            raise ModelError(f"robot {robot.name!r}: {text}")
        stiffnesses = {row.spring_stiffness for row in freedoms if not row.prismatic}
        if len(stiffnesses) > 1:
            raise ModelError(
                f"robot {robot.name!r}: the rotations of {freedoms[0].name.rpartition('.')[0]} have springs of "
                f"{', '.join(f'{k:g}' for k in sorted(stiffnesses))}; expected one stiffness for all of them"
            )


def check_tree(robot: Description) -> None:
    """Raise a ModelError if a parent, the tip, a frame or a joint with several freedoms contradicts the links."""
    count = len(robot.links)
    if len(robot.parents) != count or any(not -1 <= parent < i for i, parent in enumerate(robot.parents)):
        raise ModelError(
            f"robot {robot.name!r} has the parents {robot.parents}; expected one for each of its {count} links, -1 for "
            "the base or the number of a link before it"
        )
    if robot.tip is not None and not 0 <= robot.tip < count:
        raise ModelError(f"robot {robot.name!r}: its tip is link {robot.tip}; expected 0 to {count - 1}")
    for frame in robot.frames:
        if not -1 <= frame.link < count:
            where = f"frame {frame.name!r} is on link {frame.link}"
            raise ModelError(f"robot {robot.name!r}: {where}; expected -1 (the base) to {count - 1}")
    if robot.payload is not None or robot.tool != IDENTITY_TRANSFORM:
        _ = robot.tool_frame
    sizes = Counter((row.kind, i - row.freedom) for i, row in enumerate(robot.rows) if row.kind in FREEDOMS_OF_KIND)
    for (kind, _), size in sizes.items():
        if size != FREEDOMS_OF_KIND[kind]:
            raise ModelError(f"robot {robot.name!r}: a {kind} joint has {FREEDOMS_OF_KIND[kind]} freedoms, not {size}")


def check_names(rows: Sequence[JointModel]) -> None:
    """Raise a ModelError if two joints share a name, since followers refer to joints by name."""
    duplicates = sorted(name for name, count in Counter(row.name for row in rows).items() if count > 1)
    if duplicates:
        names = ", ".join(duplicates)
        raise ModelError(f"several joints are called {names}; where joints follow others by name, give each its own")


def check_mimics(robot: Description) -> None:
    """Raise a ModelError if a follower refers to an unknown joint, or has an invalid factor, offset or curve."""
    leaders = {joint.name: joint for joint in robot.joints}
    if any(joint.mimic for joint in robot.joints):
        raise ModelError(f"robot {robot.name!r}: a joint that follows another one belongs to followers")
    places = [-1]
    if robot.followers:
        check_names((*robot.joints, *robot.followers))
    for joint in robot.followers:
        mimic = joint.mimic
        if mimic is None or not places[-1] < mimic.place < len(robot.joints) + len(robot.followers):
            text = f"follower {joint.name!r} needs a mimic with its place among the joints"
            raise ModelError(f"robot {robot.name!r}: {text}")
        places.append(mimic.place)
        for name in (mimic.joint, *(other for other, _ in mimic.others)):
            if name not in leaders:
                raise unknown(f"joint for {joint.name!r} of robot {robot.name!r} to follow:", name, leaders)
            if (kind := leaders[name].kind) in FREEDOMS_OF_KIND or joint.kind in FREEDOMS_OF_KIND:
                raise ModelError(
                    f"robot {robot.name!r}: {joint.name!r} follows {name!r}, and a {kind or joint.kind} joint can "
                    "neither follow nor be followed, since its position is not one number"
                )
        if not (mimic.moves and all(map(math.isfinite, (mimic.factor, mimic.offset, *mimic.curve)))):
            curve = f", curve {mimic.curve!r}" if mimic.curve else ""
            raise ModelError(
                f"robot {robot.name!r}: {joint.name!r} follows {mimic.joint!r} by factor {mimic.factor!r} and offset "
                f"{mimic.offset!r}{curve}; expected finite numbers and a factor that is not zero"
            )
        if mimic.curve and (mimic.others or mimic.loop):
            text = f"{joint.name!r} has a curve and follows several joints; expected one"
            raise ModelError(f"robot {robot.name!r}: {text}")
