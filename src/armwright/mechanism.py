"""The mechanism over any scalar, bodies each with a parent: data only, no algorithm.

Link frame i is fixed to link i with z_i on the axis of joint i. From the frame of the parent it is

    Rot(z, gamma) Trans(p) Rot(x, alpha)  then the joint:  Rot(z, theta) Trans(z, d)

revolute: theta = q + offset; prismatic: d = q + offset. On common normals p = (a, 0, 0), and gamma is zero but where a
link has several children: modified DH, and Khalil and Kleinfinger (1986) at branches, where p = (a, 0, z). Where axes
are nearly parallel p is any vector (Hayati). Links and joints are counted from 0 in code; a parent comes before its
children, and the parent of what hangs on the base is -1.

A joint of several freedoms is a chain of such joints with massless bodies between them. Those of a ball are in the axes
of the body, always at zero: the rotation of the body, from a quaternion, comes before them (`Ball`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
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
    rotate_z,
    sin,
    structural,
)
from armwright.errors import InputError


def known_equal(x: Scalar, value: Scalar) -> bool:
    """Return whether two scalars are numbers and equal; False for traced scalars and arrays."""
    known = not any(hasattr(one, "select") or getattr(one, "shape", ()) for one in (x, value))
    return known and bool(x == value)


@dataclass(frozen=True)
class Joint:
    """One joint and what its actuator adds: tau += armature qdd + viscous qd + coulomb sign(qd).

    With a speed `smooth`, Coulomb friction is coulomb tanh(qd / smooth) instead. A spring parallel to the joint adds
    spring_stiffness x + spring_curve[0] x^2 + spring_curve[1] x^3 for x = q - spring_rest.

    `ca` and `sa` are cos and sin of alpha, `cg` and `sg` of gamma, and p is (a, y, z). The constant part of theta is
    `quarters` right angles plus `theta`, so that sin(q + pi/2) is exactly cos(q) in every scalar. `armature` is rotor
    inertia times gear ratio squared. `placement` comes before all that: the pose of the body of a ball or free joint.
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
    y: Scalar = 0
    z: Scalar = 0
    cg: Scalar = 1
    sg: Scalar = 0
    placement: Pose | None = None
    spring_stiffness: Scalar = 0
    spring_rest: Scalar = 0
    spring_curve: tuple[Scalar, ...] = ()

    @property
    def ideal(self) -> bool:
        """True without friction and without a rotor."""
        return all(known_equal(x, 0) for x in (self.armature, self.viscous, self.coulomb))

    @property
    def sprung(self) -> bool:
        """True if a spring acts on the joint."""
        return bool(self.spring_curve) or not structural(self.spring_stiffness, 0)

    def rotation(self, q: Scalar) -> Rotation:
        """Return R, from the frame of the link to that of its parent."""
        angle = self.theta if self.prismatic else q + self.theta
        c, s = (1, 0) if structural(angle, 0) else (cos(angle), sin(angle))
        ct, st = ((c, s), (-s, c), (-c, -s), (s, -c))[self.quarters % 4]
        return Rotation(
            self.ca, self.sa, ct, st, self.cg, self.sg, None if self.placement is None else self.placement.rotation
        )

    def extension(self, q: Scalar) -> Scalar:
        """Return d_i, the coordinate that a prismatic joint changes."""
        return q + self.d if self.prismatic else self.d

    def offset(self, q: Scalar) -> Vector:
        """Return s, from the origin of the parent's frame to that of the link, in the parent's frame."""
        d = self.extension(q)
        s = rotate_z(Vector(self.a, self.y - self.sa * d, self.z + self.ca * d), self.cg, self.sg)
        return s if self.placement is None else self.placement.position + self.placement.rotation @ s

    def offset_in_child(self, q: Scalar, rotation: Rotation) -> Vector:
        """Return s in the frame of the link: R^T s = (a cos(theta), -a sin(theta), d) for a DH row."""
        if self.placement is not None:
            return rotation.T @ self.offset(q)
        ct, st = rotation.ct, rotation.st
        y = self.ca * self.y + self.sa * self.z
        z = self.ca * self.z - self.sa * self.y
        return Vector(ct * self.a + st * y, ct * y - st * self.a, z + self.extension(q))


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

    def transformed(self, pose: Pose) -> Wrench:
        """Return the same load about the frame in which `pose` is given."""
        force = pose.rotation @ self.force
        return Wrench(force, pose.rotation @ self.moment + pose.position.cross(force))

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.force + other.force, self.moment + other.moment)


@dataclass(frozen=True)
class JointCoupling:
    """The motion of a joint: coordinates of the robot times factors, summed, plus an offset.

    A joint that a loop moves has a position `at` that is no such sum, and `terms` are those of its rate. The same holds
    for a joint that follows one coordinate by a `curve` (the factors of its square, its cube and so on) once the
    mechanism is placed: then `curvature` is the second derivative.
    """

    terms: tuple[tuple[int, Scalar], ...]
    offset: Scalar = 0
    at: Scalar = None
    curve: tuple[Scalar, ...] = ()
    curvature: Scalar = 0

    def placed(self, q: Scalar) -> JointCoupling:
        """Return the coupling with its coordinate at q, by Horner's rule."""
        [(coordinate, factor)] = self.terms
        at: Scalar = 0
        slope: Scalar = 0
        curvature: Scalar = 0
        for k in reversed((self.offset, factor, *self.curve)):
            at, slope, curvature = at * q + k, slope * q + at, curvature * q + 2 * slope
        return JointCoupling(((coordinate, slope),), at=at, curvature=curvature)


@dataclass(frozen=True)
class Ball:
    """A joint whose velocities are no rates of coordinates: a ball, a free or a planar joint.

    Its freedoms are the joints from `joint` on, coordinates of qd from `coordinate` on; q has one entry more, from
    `first_entry` on. A ball has a unit quaternion (x, y, z, w), a free joint a position and such a quaternion, a planar
    joint x, y and cosine and sine of the angle. Velocities are those of the body in its own axes, linear first.
    `at` has its entries of q once the mechanism is placed, if friction or springs depend on them.
    """

    kind: str
    joint: int
    coordinate: int
    first_entry: int
    at: tuple[Scalar, ...] = ()

    @property
    def freedoms(self) -> int:
        return FREEDOMS_OF_KIND[self.kind]

    @property
    def translations(self) -> int:
        """The number of translational freedoms, which come first."""
        return {"ball": 0, "planar": 2, "free": 3}[self.kind]

    @property
    def rows(self) -> range:
        """The joints of the mechanism that are its freedoms."""
        return range(self.joint, self.joint + self.freedoms)

    @property
    def rates(self) -> range:
        """Its entries of qd."""
        return range(self.coordinate, self.coordinate + self.freedoms)

    @property
    def entries(self) -> slice:
        """Its entries of q."""
        return slice(self.first_entry, self.first_entry + self.freedoms + 1)

    @property
    def unit_vector(self) -> slice:
        """The entries of q whose squares sum to one: the quaternion, or cosine and sine."""
        end = self.entries.stop
        return slice(end - (2 if self.kind == "planar" else 4), end)


def position_entry(balls: Sequence[Ball], coordinate: int) -> int:
    """Return the entry of q that belongs to an entry of qd; every ball before it adds one."""
    return coordinate + sum(ball.coordinate < coordinate for ball in balls)


FREEDOMS_OF_KIND = {"ball": 3, "free": 6, "planar": 3}
"""The number of freedoms of each kind of joint whose q has one entry more than its qd."""


@dataclass(frozen=True)
class Loop:
    """A closed loop: the frames `ends` on two links coincide, in a point or, for a `weld`, as whole frames.

    `links` are -1 for the base. The loop moves the joints `dependent`: two in a plane, solved in closed form with the
    sign `assembly` of the root. A loop without dependent joints is closed by constraint forces. `at` has the positions
    of the joints of the loop, by number, once the mechanism is placed.
    """

    links: tuple[int, int]
    ends: tuple[Pose, Pose]
    weld: bool = False
    dependent: tuple[int, ...] = ()
    assembly: int = 1
    at: dict[int, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Mechanism:
    """Joints and links, each link with a parent; `gravity` is the acceleration of free fall in frame 0.

    `parents` are those of the links, by default the previous link. `tool` is fixed to link `tip`, -1 for the base; by
    default that is the only link without children, or None if there are several.
    `solid` are the links of the robot, by default all; the others are massless, between the freedoms of one joint.
    `couplings` has an entry for each joint if joints move together or belong to `balls`; otherwise each joint is a
    coordinate. `loops` close chains; the joints that a loop moves are known once the mechanism is placed. `passive` are
    the coordinates without a motor. `compensated` has the part of each link whose weight is compensated, if any: a mass
    and its position, without inertia.
    """

    joints: tuple[Joint, ...]
    links: tuple[AnyLink, ...]
    gravity: Vector
    base: Pose = Pose()
    tool: Pose = Pose()
    couplings: tuple[JointCoupling, ...] = ()
    parents: tuple[int, ...] = ()
    tip: int | None = None
    solid: tuple[int, ...] = ()
    balls: tuple[Ball, ...] = ()
    loops: tuple[Loop, ...] = ()
    passive: tuple[int, ...] = ()
    compensated: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        defaults = {"parents": tuple(range(-1, self.n - 1)), "solid": tuple(range(self.n))}
        for name, value in defaults.items():
            object.__setattr__(self, name, getattr(self, name) or value)
        object.__setattr__(self, "tip", only_leaf(self.parents) if self.tip is None else self.tip)

    @property
    def n(self) -> int:
        """The number of joints and links."""
        return len(self.joints)

    @property
    def tool_link(self) -> int:
        """The link that carries the tool, -1 for the base; an error if none has been chosen."""
        if self.tip is None:
            raise InputError("this robot has several tips and none is chosen; name a frame, or choose with with_tip")
        return self.tip

    @property
    def coordinate_count(self) -> int:
        """The number of entries of qd: one for each joint, fewer if joints move together."""
        return 1 + max(c for drive in self.couplings for c, _ in drive.terms) if self.couplings else self.n

    @property
    def position_count(self) -> int:
        """The number of entries of q."""
        return self.coordinate_count + len(self.balls)

    @property
    def single_freedom_joints(self) -> list[int]:
        """The joints of one freedom: all except those of balls."""
        of_balls = self.ball_joints
        return [i for i in range(self.n) if i not in of_balls]

    @property
    def friction_joints(self) -> list[int]:
        """The joints with friction and rotor parameters: those of one freedom, and of balls if these have any."""
        of_balls = self.ball_joints
        return [i for i, joint in enumerate(self.joints) if i not in of_balls or not joint.ideal]

    def has_directional_friction(self, ball: Ball) -> bool:
        """Return whether the friction of a translation depends on its direction."""
        joints = self.joints[ball.joint : ball.joint + ball.translations]
        isotropic = all(known_equal(joint.viscous, joints[0].viscous) for joint in joints)
        return not (isotropic and all(known_equal(joint.coulomb, 0) for joint in joints))

    @property
    def ball_joints(self) -> set[int]:
        """The joints that are freedoms of balls."""
        return {i for ball in self.balls for i in ball.rows}

    @property
    def has_spatial_friction(self) -> bool:
        """True if friction of a free or planar joint depends on the orientation of its body."""
        return any(map(self.has_directional_friction, self.balls))

    def without_springs(self) -> Mechanism:
        """Return the mechanism without springs and without weight compensation."""
        if not self.compensated and not any(joint.sprung for joint in self.joints):
            return self
        joints = (replace(joint, spring_stiffness=0, spring_rest=0, spring_curve=()) for joint in self.joints)
        return replace(self, joints=tuple(joints), compensated=())

    @property
    def without_compensated_weight(self) -> Mechanism:
        """The mechanism whose links have only the weight that is not compensated; inertias stay."""
        if not self.compensated:
            return self
        links = (
            MomentLink(link.mass - part.mass, link.moment - part.moment, link.origin_inertia)
            for link, part in zip(self.links, self.compensated, strict=True)
        )
        return replace(self, links=tuple(links), compensated=())

    @property
    def coupled(self) -> bool:
        """True if joints move together, so that they cannot be solved for one after the other."""
        terms = [drive.terms for drive in self.couplings]
        single = all(len(x) == 1 and structural(x[0][1], 1) for x in terms)
        return not (single and len({x[0][0] for x in terms}) == len(terms))

    @property
    def serial(self) -> bool:
        """True for one chain of DH rows."""
        rows = all(structural(x, 0) for joint in self.joints for x in (joint.y, joint.z, joint.sg))
        return rows and not self.balls and self.parents == tuple(range(-1, self.n - 1))

    @property
    def depth(self) -> int:
        """The number of joints on the longest path from the base to a tip."""
        depths = list[int]()
        for parent in self.parents:
            depths.append(1 + (depths[parent] if parent >= 0 else 0))
        return max(depths)

    def joint_of(self, coordinate: int) -> int:
        """Return the joint whose position is this coordinate."""
        own = ((coordinate, 1),)
        return next(
            i for i, drive in enumerate(self.couplings) if drive.terms == own and not drive.curve and drive.at is None
        )

    @property
    def has_curves(self) -> bool:
        """True if joints follow others by curves."""
        return any(drive.curve or not structural(drive.curvature, 0) for drive in self.couplings)

    @property
    def has_varying_couplings(self) -> bool:
        """True if the rates of the joints per rate of the coordinates depend on q."""
        return self.has_curves or bool(self.embedded)

    @property
    def embedded(self) -> tuple[Loop, ...]:
        """The loops that move dependent joints."""
        return tuple(loop for loop in self.loops if loop.dependent)

    @property
    def constrained_loops(self) -> tuple[Loop, ...]:
        """The loops closed by constraint forces."""
        return tuple(loop for loop in self.loops if not loop.dependent)

    def joints_between(self, links: tuple[int, int]) -> tuple[list[int], list[int]]:
        """Return the joints on the paths to two links, outward from their last common ancestor."""
        one, two = (list(self.inward_from(i))[::-1] for i in links)
        shared = sum(1 for i, j in zip(one, two, strict=False) if i == j)
        return one[shared:], two[shared:]

    def inward_from(self, i: int) -> Iterator[int]:
        """Yield link i, its parent and so on, up to the child of the base."""
        while i >= 0:
            yield i
            i = self.parents[i]

    def outward_from(self, j: int) -> list[int]:
        """Return link j and its descendants, parents first."""
        descendants = [j]
        reached = {j}
        for i in range(j + 1, self.n):
            if self.parents[i] in reached:
                reached.add(i)
                descendants.append(i)
        return descendants

    @property
    def bodies(self) -> tuple[Link, ...]:
        """The links, for formulations that need centres of mass; an error if a link has none."""
        bodies = tuple(link for link in self.links if isinstance(link, Link))
        if len(bodies) != self.n:
            raise InputError(
                "this robot has links without a centre of mass (MomentLink); use a formulation in the ten linear "
                "parameters, such as 'khalil', 'composite_body' or 'articulated_body'"
            )
        return bodies

    def wrenches(self, tip: Wrench | None = None, links: Sequence[Wrench] | None = None) -> tuple[Wrench, ...]:
        """Return one wrench per link frame from one at the tool frame and those at the frames of solid links."""
        loads = [Wrench()] * self.n
        for place, load in zip(self.solid, links or (), strict=bool(links)):
            loads[place] = load
        if tip is not None and (place := self.tool_link) >= 0:
            loads[place] = loads[place] + tip.transformed(self.tool)
        return tuple(loads)


def leaves(parents: Sequence[int]) -> list[int]:
    """Return the links without children."""
    carrying = set(parents)
    return [i for i in range(len(parents)) if i not in carrying]


def only_leaf(parents: Sequence[int]) -> int | None:
    """Return the link without children, or None if there are several."""
    found = leaves(parents)
    return found[0] if len(found) == 1 else None
