"""The canonical serial chain over any scalar: data only, no algorithm.

Link frame i is fixed to link i with z_i on the axis of joint i (modified DH, Craig and Khalil):

    frame i-1 -> frame i :  Rot(x, alpha_i) Trans(x, a_i) Rot(z, theta_i) Trans(z, d_i)

revolute: theta_i = q_i + offset_i; prismatic: d_i = q_i + offset_i. Links and joints are counted from 0 in code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from armwright.algebra import (
    IDENTITY,
    ZERO,
    Matrix,
    Rotation,
    Scalar,
    Symmetric,
    Vector,
    cos,
    point_inertia,
    sin,
)
from armwright.errors import InputError


@dataclass(frozen=True)
class Joint:
    """One joint and what its actuator adds: tau += armature qdd + viscous qd + coulomb sign(qd).

    With a speed `smooth`, Coulomb friction is coulomb tanh(qd / smooth) instead.

    `ca` and `sa` are cos and sin of alpha. The constant part of theta is `quarters` right angles plus `theta`, so
    that sin(q + pi/2) is exactly cos(q) in every scalar. `armature` is rotor inertia times gear ratio squared.
    """

    prismatic: bool
    ca: Scalar
    sa: Scalar
    a: Scalar
    d: Scalar
    theta: Scalar = 0
    quarters: int = 0
    armature: Scalar = 0
    viscous: Scalar = 0
    coulomb: Scalar = 0
    smooth: Scalar = 0

    def rotation(self, q: Scalar) -> Rotation:
        """R: from frame i to frame i-1."""
        angle = self.theta if self.prismatic else q + self.theta
        c, s = cos(angle), sin(angle)
        ct, st = ((c, s), (-s, c), (-c, -s), (s, -c))[self.quarters % 4]
        return Rotation(self.ca, self.sa, ct, st)

    def extension(self, q: Scalar) -> Scalar:
        """d_i, which is where a prismatic joint moves."""
        return q + self.d if self.prismatic else self.d

    def offset(self, q: Scalar) -> Vector:
        """s: from the origin of frame i-1 to that of frame i, in frame i-1."""
        d = self.extension(q)
        return Vector(self.a, -(self.sa * d), self.ca * d)

    def offset_in_child(self, q: Scalar, rotation: Rotation) -> Vector:
        """The same vector in frame i, R^T s = (a cos(theta), -a sin(theta), d), without rotating it there."""
        return Vector(rotation.ct * self.a, -(rotation.st * self.a), self.extension(q))


@dataclass(frozen=True)
class Link:
    """A rigid body by mass, centre of mass and centroidal inertia tensor, all in its link frame."""

    mass: Scalar
    com: Vector
    inertia: Symmetric

    @property
    def moment(self) -> Vector:
        """The first moment m r."""
        moment: Vector = self.com * self.mass
        return moment

    @property
    def origin_inertia(self) -> Symmetric:
        """The inertia tensor about the origin of the link frame."""
        inertia: Symmetric = self.inertia + point_inertia(self.com) * self.mass
        return inertia

    @property
    def origin_euler(self) -> Symmetric:
        """Euler's tensor about the origin of the link frame."""
        return self.origin_inertia.euler


@dataclass(frozen=True)
class MomentLink:
    """A link by mass, first moment and inertia about the link origin: the ten parameters torque is linear in.

    Unlike `Link` it can have a first moment and no mass, as links regrouped to base parameters have. It has no
    centre of mass, so only formulations in these ten parameters accept it.
    """

    mass: Scalar
    moment: Vector
    origin_inertia: Symmetric

    @property
    def origin_euler(self) -> Symmetric:
        return self.origin_inertia.euler


@dataclass(frozen=True)
class EulerLink:
    """A `MomentLink` by Euler's tensor, so that zeros of this tensor are exact."""

    mass: Scalar
    moment: Vector
    origin_euler: Symmetric

    @property
    def origin_inertia(self) -> Symmetric:
        return self.origin_euler.inertia


AnyLink: TypeAlias = Link | MomentLink | EulerLink


@dataclass(frozen=True)
class Pose:
    """A fixed frame seen from another one: v -> rotation v + position."""

    rotation: Matrix = IDENTITY
    position: Vector = ZERO


@dataclass(frozen=True)
class Wrench:
    """A force at the origin of a frame and a moment, in that frame, exerted by the surroundings on the link."""

    force: Vector = ZERO
    moment: Vector = ZERO

    def seen_through(self, pose: Pose) -> Wrench:
        """The same load about the frame in which `pose` is given."""
        force = pose.rotation @ self.force
        return Wrench(force, pose.rotation @ self.moment + pose.position.cross(force))

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.force + other.force, self.moment + other.moment)


@dataclass(frozen=True)
class Drive:
    """What moves a joint: factor times a coordinate of the robot, plus offset."""

    coordinate: int
    factor: Scalar = 1
    offset: Scalar = 0


@dataclass(frozen=True)
class Chain:
    """Joints and links from base to tip; `gravity` is the acceleration of free fall in frame 0.

    `drives` has an entry for each joint where some of them move together; otherwise each joint is a coordinate.
    """

    joints: tuple[Joint, ...]
    links: tuple[AnyLink, ...]
    gravity: Vector
    base: Pose = Pose()
    tool: Pose = Pose()
    drives: tuple[Drive, ...] = ()

    @property
    def n(self) -> int:
        """The number of joints and links."""
        return len(self.joints)

    @property
    def coordinates(self) -> int:
        """How many numbers say where all joints are: as many as joints, unless some move together."""
        return 1 + max(drive.coordinate for drive in self.drives) if self.drives else self.n

    @property
    def bodies(self) -> tuple[Link, ...]:
        """The links, for formulations that need their centres of mass."""
        bodies = tuple(link for link in self.links if isinstance(link, Link))
        if len(bodies) != self.n:
            raise InputError(
                "this chain has links without a centre of mass (MomentLink); use a formulation in the ten linear "
                "parameters, such as 'khalil', 'composite_body' or 'articulated_body'"
            )
        return bodies

    def wrenches(self, tip: Wrench | None = None, links: Sequence[Wrench] | None = None) -> tuple[Wrench, ...]:
        """One wrench per link frame, from a wrench at the tool frame and wrenches at the link frames."""
        loads = list(links) if links is not None else [Wrench()] * self.n
        if tip is not None:
            loads[-1] = loads[-1] + tip.seen_through(self.tool)
        return tuple(loads)
