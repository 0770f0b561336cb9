"""What canonical frames save: inverse dynamics counted in the frames a file has, and in ours.

Each recursion is traced twice by the same code, with everything known of the robot folded in: once with every joint
placed as the file says, once on the canonical chain. Frames of a file are taken as they are, only that z is the axis;
what is fixed before the first joint is folded into gravity, as it is in the base of the canonical chain, and what is
taken to be zero is the same for both.

Canonical frames are chosen for what is compiled: base parameters, where mass may lie anywhere along a revolute axis. As
published, Newton and Euler's recursion follows the origins of frames and the centres of mass; where a file puts
its frames into the centres of mass, at the price of more distances between frames, it counts fewer operations there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armwright.algebra import IDENTITY, ZERO, InverseRotation, Matrix, Rotation, Scalar, Symmetric, Vector, cos, sin
from armwright.check.evaluation import rigid_bodies_only
from armwright.formulations import find_formulation
from armwright.formulations.composite_body import CompositeBody
from armwright.graph import OperationCount, count
from armwright.graph.expression import Graph
from armwright.mechanism import AnyLink, Joint, Link, Mechanism
from armwright.model.description import Description
from armwright.model.file_joints import FileJoint
from armwright.model.frame_change import ROUNDING_TOLERANCE, link_in_frame
from armwright.model.transforms import symmetric
from armwright.study.operation_counts import count_on
from armwright.trace.cheapest import cheapest
from armwright.trace.regroup import split_fixed, with_body
from armwright.trace.tracing import TraceRequest, trace

PUBLISHED = "newton_euler"
ON_BASE_PARAMETERS = (("cartesian_tensor", True), ("khalil", False))
"""Formulations for joints placed anywhere, and whether they like zeros in Euler's tensor."""

SEVERAL = 4
"""A constant rotation with more entries than these to multiply by is multiplied out with that of the joint."""


@dataclass(frozen=True)
class Savings:
    """Newton-Euler as published, in the frames of the file and in canonical ones; then the cheapest recursion on base
    parameters, in the frames of the file and in canonical ones, which is what is compiled by default.
    """

    file: OperationCount
    canonical: OperationCount
    file_base: OperationCount
    compiled: OperationCount


def savings(placed: Sequence[FileJoint], robot: Description) -> Savings:
    """`placed` are the joints as the file has them, `robot` the same in canonical frames."""
    alone = TraceRequest("inverse_dynamics", rigid_bodies_only(robot))
    mechanism = replace(placed_chain(placed, robot.gravity), couplings=robot.couplings)
    on_base = (_counted(name, _regrouped(mechanism, euler)) for name, euler in ON_BASE_PARAMETERS)
    return Savings(
        _counted(PUBLISHED, mechanism),
        count(trace(find_formulation("inverse_dynamics", PUBLISHED), alone).program.outputs),
        min(on_base, key=lambda counted: counted.total),
        count(cheapest(alone).program.outputs),
    )


def _counted(name: str, mechanism: Mechanism) -> OperationCount:
    return count_on(mechanism, Graph(), find_formulation("inverse_dynamics", name))


class Turned(Rotation):
    """A constant rotation, then one about z."""

    __slots__ = ("constant", "product")

    def __init__(self, constant: Matrix, ct: Scalar, st: Scalar) -> None:
        super().__init__(1, 0, ct, st)
        self.constant = constant
        odd = sum(x not in (-1, 0, 1) for row in constant for x in row)
        self.product = constant.dot(super().matrix) if odd > SEVERAL else None

    def __matmul__(self, v: Vector) -> Vector:
        return self.constant @ super().__matmul__(v) if self.product is None else self.product @ v

    @property
    def T(self) -> InverseRotation:
        return TurnedBack(self)


class TurnedBack(InverseRotation):
    __slots__ = ()

    rotation: Turned

    def __matmul__(self, v: Vector) -> Vector:
        if self.rotation.product is not None:
            return self.rotation.product.T @ v
        return super().__matmul__(self.rotation.constant.T @ v)


@dataclass(frozen=True)
class PlacedJoint(Joint):
    """A joint about or along z of a frame that is turned and shifted in any way."""

    turn: Matrix = IDENTITY
    shift: Vector = ZERO

    def rotation(self, q: Scalar) -> Rotation:
        return Turned(self.turn, 1, 0) if self.prismatic else Turned(self.turn, cos(q), sin(q))

    def offset(self, q: Scalar) -> Vector:
        return self.shift + self.turn @ Vector(0, 0, q) if self.prismatic else self.shift


def placed_chain(placed: Sequence[FileJoint], gravity: tuple[float, float, float]) -> Mechanism:
    """The chain in the frames of the file, turned so that z is the axis."""
    joints: list[Joint] = []
    links: list[AnyLink] = []
    before, fall = np.eye(4), np.asarray(gravity)
    for joint in placed:
        turn = np.eye(4)
        turn[:3, :3] = _to_z(joint.axis / np.linalg.norm(joint.axis))
        T = before.T @ joint.placement @ turn  # before is a rotation: its inverse
        if not joints:
            fall, T = T[:3, :3].T @ fall, np.eye(4)
        rows = [Vector(*map(_tidy, row)) for row in T[:3, :3].tolist()]
        joints.append(PlacedJoint(joint.prismatic, 1, 0, 0, 0, turn=Matrix(*rows), shift=_vector(T[:3, 3])))
        body = link_in_frame(joint.body, turn.T)
        links.append(Link(body.mass, Vector(*body.com), symmetric(body.inertia)))
        before = turn
    return Mechanism(tuple(joints), tuple(links), _vector(fall))


def _to_z(axis: Any) -> Any:
    """A frame with the axis for z; its x is an axis of the old frame where possible."""
    k = int(np.argmax(np.abs(axis)))
    x = np.eye(3)[(k + 1) % 3]
    if 1 - abs(axis[k]) <= ROUNDING_TOLERANCE:
        z = np.eye(3)[k] * np.sign(axis[k])
    else:
        z, x = axis, x - (x @ axis) * axis
        x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _vector(v: Any) -> Vector:
    return Vector(*map(_tidy, v.tolist()))


def _tidy(x: float) -> float:
    """Zeros and ones as the file meant them."""
    return round(x) if abs(x) < 1.5 and abs(x - round(x)) <= ROUNDING_TOLERANCE else x


def _regrouped(mechanism: Mechanism, euler: bool) -> Mechanism:
    """Base parameters, as `regroup.regrouped` has them on canonical chains."""
    links = list(mechanism.links)
    for i in reversed(range(1, mechanism.n)):
        joint = mechanism.joints[i]
        assert isinstance(joint, PlacedJoint)
        links[i], unchanged = split_fixed(joint, links[i], euler)
        links[i - 1] = with_body(links[i - 1], _to_parent(unchanged, joint))
    return replace(mechanism, links=tuple(links))


def _to_parent(body: CompositeBody, joint: PlacedJoint) -> CompositeBody:
    """The parallel-axis rule after a turn; at the zero of the joint."""
    R, s = np.array(joint.turn, dtype=float), np.array(joint.shift, dtype=float)
    h, J = R @ np.array(body.h, dtype=float), R @ np.array(body.J.matrix, dtype=float) @ R.T
    across = np.outer(h, s) + np.outer(s, h) + body.m * np.outer(s, s)
    J = J + np.trace(across) * np.eye(3) - across
    moment = h + body.m * s
    six = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    return CompositeBody(body.m, Vector(*moment.tolist()), Symmetric(*map(float, six)))
