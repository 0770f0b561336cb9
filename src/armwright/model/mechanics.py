"""The mechanism of a description: its numbers as scalars of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from armwright.algebra import Scalar, Symmetric, Vector, structural
from armwright.mechanism import FREEDOMS_OF_KIND, Joint, JointCoupling, Link, Loop, Mechanism, Pose

if TYPE_CHECKING:
    from armwright.model.description import Description
from armwright.model.composite import composite
from armwright.model.records import JointModel, LoopModel, Payload
from armwright.model.transforms import cos_sin, pose_of, right_angles, tensor_entries

MASSLESS_LINK = Link(0, Vector(0, 0, 0), Symmetric(0, 0, 0, 0, 0, 0))


def mechanism_of(robot: Description, number: Callable[[float], Scalar]) -> Mechanism:
    """Return the mechanism of a robot, with every number as a scalar."""
    base = pose_of(robot.base, number)
    rows, carriers = robot.rows, robot.link_rows
    links, parents = [MASSLESS_LINK] * len(rows), list(range(-1, len(rows) - 1))
    for i, (link, parent) in enumerate(zip(robot.links, robot.parents, strict=True)):
        links[carriers[i]] = link.body(number)
        parents[carriers[i] - rows[carriers[i]].freedom] = carriers[parent] if parent >= 0 else -1
    if robot.payload is not None:
        place, pose = carriers[robot.tool_frame.link], pose_of(robot.tool_frame.pose, number)
        links[place] = composite([links[place], payload_on_link(robot.payload, pose, number)])
    tip_frame = None if robot.seen is None and robot.tip is None else robot.task_frame
    return Mechanism(
        joints=tuple(_joint(row, number) for row in rows),
        links=tuple(links),
        gravity=base.rotation.T @ Vector(*map(number, robot.gravity)),
        base=base,
        tool=Pose() if tip_frame is None else pose_of(tip_frame.pose, number),
        couplings=tuple(_coupling(coupling, number) for coupling in robot.couplings),
        parents=tuple(parents),
        tip=tip_frame if tip_frame is None else carriers[tip_frame.link] if tip_frame.link >= 0 else -1,
        solid=carriers,
        balls=robot.balls,
        loops=tuple(_loop(robot, loop, number) for loop in robot.loops),
        passive=tuple(i for i, joint in enumerate(robot.joints) if joint.max_torque == 0),
        compensated=_compensated(robot, number),
    )


def _compensated(robot: Description, number: Callable[[float], Scalar]) -> tuple[Link, ...]:
    """Return the part of each link whose weight is compensated; empty without compensation."""
    if not any(link.compensated_mass for link in robot.links):
        return ()
    parts = [MASSLESS_LINK] * len(robot.rows)
    for place, link in zip(robot.link_rows, robot.links, strict=True):
        if link.compensated_mass:
            com = Vector(*map(number, link.compensated_com))
            parts[place] = replace(MASSLESS_LINK, mass=number(link.compensated_mass), com=com)
    return tuple(parts)


def _loop(robot: Description, loop: LoopModel, number: Callable[[float], Scalar]) -> Loop:
    names = [row.name for row in robot.rows]
    one, two = (robot.link_rows[i] if i >= 0 else -1 for i in loop.links)
    ends = (pose_of(loop.poses[0], number), pose_of(loop.poses[1], number))
    return Loop((one, two), ends, loop.weld, tuple(names.index(name) for name in loop.dependent), loop.assembly)


def _coupling(coupling: JointCoupling, number: Callable[[float], Scalar]) -> JointCoupling:
    terms = tuple((c, factor if structural(factor, 1) else number(factor)) for c, factor in coupling.terms)
    curve = tuple(number(k) if k else 0 for k in coupling.curve)
    return JointCoupling(terms, number(coupling.offset) if coupling.offset else 0, curve=curve)


def _joint(joint: JointModel, number: Callable[[float], Scalar]) -> Joint:
    if joint.kind in FREEDOMS_OF_KIND:
        return replace(
            _FREEDOM,
            prismatic=joint.prismatic,
            placement=None if joint.freedom else _placement(joint, number),
            **{name: number(x) for name in _ACTUATION if (x := getattr(joint, name))},
            **_spring(joint, number),
        )
    ca, sa = cos_sin(joint.alpha, number)
    cg, sg = cos_sin(joint.gamma, number)
    quarters = right_angles(joint.theta)
    return Joint(
        prismatic=joint.prismatic,
        ca=ca,
        sa=sa,
        a=number(joint.a),
        d=number(joint.d),
        theta=number(joint.theta if quarters is None else 0.0),
        quarters=0 if quarters is None else quarters % 4,
        armature=number(joint.rotor_inertia) * number(joint.gear) * number(joint.gear),
        viscous=number(joint.viscous),
        coulomb=number(joint.coulomb),
        smooth=number(joint.smooth) if joint.smooth else 0,
        y=number(joint.y) if joint.y else 0,
        z=number(joint.z) if joint.z else 0,
        cg=cg,
        sg=sg,
        **_spring(joint, number),
    )


def _spring(joint: JointModel, number: Callable[[float], Scalar]) -> dict[str, Any]:
    """Return the spring fields of a joint; absent ones are the integer 0, which costs no operations."""
    if not joint.sprung:
        return {}
    return {
        "spring_stiffness": number(joint.spring_stiffness) if joint.spring_stiffness else 0,
        "spring_rest": number(joint.spring_rest) if joint.spring_rest else 0,
        "spring_curve": tuple(number(k) if k else 0 for k in joint.spring_curve),
    }


_ACTUATION = ("armature", "viscous", "coulomb", "smooth")
"""Fields of a joint's drive that the freedoms of a ball, free or planar joint may have."""

_FREEDOM = Joint(False, ca=0, sa=1, a=0, d=0, cg=0, sg=1)
"""A freedom of a ball: the z axis of its frame is the x axis of the one before, so three are about x, y and z of the
body."""


def _placement(joint: JointModel, number: Callable[[float], Scalar]) -> Pose | None:
    """Return the pose of a ball, free or planar joint in the frame of its parent, or None for the identity."""
    if not any((joint.gamma, joint.a, joint.y, joint.z, joint.alpha, joint.theta, joint.d)):
        return None
    revolute, zero = _joint(replace(joint, kind="", type="revolute"), number), number(0.0)
    return Pose(revolute.rotation(zero).matrix, revolute.offset(zero))


def payload_on_link(
    payload: Payload,
    tool: Pose,
    number: Callable[[float], Scalar],
    change: Callable[[Link], Link] = lambda body: body,
) -> Link:
    """Return the payload in the frame of its link; `change` may replace its numbers first."""
    body = change(payload.body(number))
    R = tool.rotation
    inertia = Symmetric(*tensor_entries(R.dot(body.inertia.matrix).dot(R.T)))
    return Link(body.mass, R @ body.com + tool.position, inertia)
