"""Parameters of a robot that stay open: symbols in the mechanism instead of numbers.

"gravity"                                         3 numbers
"payload.mass", "payload.com", "payload.inertia"  1, 3, 6 numbers (xx yy zz xy xz yz)
"<link>.mass", "<link>.com", "<link>.inertia"     the same, of the link of that name
"<joint>.viscous", ".coulomb", ".armature"        1 number, of the joint of that name
"<joint>.a", ".d", ".y", ".z"                     1 number: lengths of its placement

A ball, free or planar joint has none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armwright.algebra import Scalar, Symmetric, Vector
from armwright.errors import unknown
from armwright.mechanism import FREEDOMS, AnyLink, Joint, Link, Mechanism, MomentLink
from armwright.model.description import Description, Payload, as_pose, held

BODY = {"mass": 1, "com": 3, "inertia": 6}
GRAVITY_FELT, BODY_HELD = "gravity as the base sees it", "the body at the tip with what it holds"
SHARED = {GRAVITY_FELT: 3, BODY_HELD: 10}
"""What robots of one family differ in (`model.family`): 3 numbers, and mass, first moment, inertia about the origin."""

JOINT = ("viscous", "coulomb", "armature", "a", "d", "y", "z")


def parameters(robot: Description) -> dict[str, int]:
    """Everything that can be varied, and how many numbers it is."""
    sizes = {"gravity": 3, **{f"payload.{field}": size for field, size in BODY.items()}}
    sizes |= {f"{link.name}.{field}": size for link in robot.links for field, size in BODY.items()}
    plain = [joint.name for joint in robot.rows if joint.kind not in FREEDOMS]
    return sizes | {f"{name}.{field}": 1 for name in plain for field in JOINT}


def check(robot: Description, vary: Sequence[str]) -> dict[str, int]:
    """The sizes of the named parameters."""
    known = parameters(robot)
    for name in vary:
        if name not in known and name not in SHARED:
            raise unknown("parameter to vary", name, known)
    return {name: known[name] if name in known else SHARED[name] for name in vary}


def varied(robot: Description, values: Mapping[str, Sequence[Scalar]]) -> Mechanism:
    """The mechanics of the robot with the given scalars in place of its numbers."""
    plain = replace(robot, payload=None).mechanism()
    joints = tuple(_joint(joint, model.name, values) for joint, model in zip(plain.joints, robot.rows, strict=True))
    links: list[AnyLink] = list(plain.links)
    for i, model in zip(plain.solid, robot.links, strict=True):
        links[i] = _link(plain.bodies[i], model.name, values)
    if robot.payload is not None or any(name.startswith("payload.") for name in values):
        hand = as_pose(robot.hand.pose)
        numbers = held(robot.payload or Payload(0.0), hand, float, lambda body: _link(body, "payload", values))
        place = plain.solid[robot.hand.link]
        last = links[place]
        links[place] = MomentLink(
            last.mass + numbers.mass, last.moment + numbers.moment, last.origin_inertia + numbers.origin_inertia
        )
    if BODY_HELD in values:
        mass, *rest = values[BODY_HELD]
        links[plain.solid[robot.hand.link]] = MomentLink(mass, Vector(*rest[:3]), Symmetric(*rest[3:]))
    gravity = Vector(*values[GRAVITY_FELT]) if GRAVITY_FELT in values else plain.gravity
    if "gravity" in values:
        gravity = plain.base.rotation.T @ Vector(*values["gravity"])
    return replace(plain, joints=joints, links=tuple(links), gravity=gravity)


def _joint(joint: Joint, name: str, values: Mapping[str, Sequence[Scalar]]) -> Joint:
    changes = {field: values[f"{name}.{field}"][0] for field in JOINT if f"{name}.{field}" in values}
    return replace(joint, **changes)


def _link(link: Link, name: str, values: Mapping[str, Sequence[Scalar]]) -> Link:
    mass, com, inertia = (values.get(f"{name}.{field}") for field in BODY)
    return Link(
        link.mass if mass is None else mass[0],
        link.com if com is None else Vector(*com),
        link.inertia if inertia is None else Symmetric(*inertia),
    )
