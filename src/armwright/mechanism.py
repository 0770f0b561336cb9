"""The mechanism over any scalar, bodies each with a parent: data only, no algorithm.

Link frame i is fixed to link i with z_i on the axis of joint i. From the frame of the parent it is

    Rot(z, gamma) Trans(p) Rot(x, alpha)  then the joint:  Rot(z, theta) Trans(z, d)

revolute: theta = q + offset; prismatic: d = q + offset. On common normals p = (a, 0, 0), and gamma is zero but where a
link has several children: modified DH, and Khalil and Kleinfinger (1986) at branches, where p = (a, 0, z). Where axes
are nearly parallel p is any vector (Hayati). Links and joints are counted from 0 in code; a parent comes before its
children, and the parent of what hangs on the base is -1.

Joints of several freedoms are rows of such joints with bodies without mass between them. Those of a ball stand in the
axes of the body itself, at zero, whatever its position: its rotation comes before them, from a quaternion (`Ball`).
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
    sin,
    structural,
    turned_z,
)
from armwright.errors import InputError


def known_to_be(x: Scalar, value: Scalar) -> bool:
    """Whether two scalars are numbers, and equal; what is traced, or an array, is not known yet."""
    known = not any(hasattr(one, "select") or getattr(one, "shape", ()) for one in (x, value))
    return known and bool(x == value)


@dataclass(frozen=True)
class Joint:
    """One joint and what its actuator adds: tau += armature qdd + viscous qd + coulomb sign(qd).

    With a speed `smooth`, Coulomb friction is coulomb tanh(qd / smooth) instead. A spring beside the joint adds
    spring_stiffness x + spring_curve[0] x^2 + spring_curve[1] x^3 for x = q - spring_rest.

    `ca` and `sa` are cos and sin of alpha, `cg` and `sg` of gamma, and p is (a, y, z). The constant part of theta is
    `quarters` right angles plus `theta`, so that sin(q + pi/2) is exactly cos(q) in every scalar. `armature` is rotor
    inertia times gear ratio squared. `stand` comes before all that: where a ball or free joint has its body.
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
    stand: Pose | None = None
    spring_stiffness: Scalar = 0
    spring_rest: Scalar = 0
    spring_curve: tuple[Scalar, ...] = ()

    @property
    def bare(self) -> bool:
        """Whether it has neither friction nor a rotor."""
        return all(known_to_be(x, 0) for x in (self.armature, self.viscous, self.coulomb))

    @property
    def sprung(self) -> bool:
        """Whether a spring stands beside it."""
        return bool(self.spring_curve) or not structural(self.spring_stiffness, 0)

    def rotation(self, q: Scalar) -> Rotation:
        """R: from the frame of the link to that of its parent."""
        angle = self.theta if self.prismatic else q + self.theta
        c, s = (1, 0) if structural(angle, 0) else (cos(angle), sin(angle))
        ct, st = ((c, s), (-s, c), (-c, -s), (s, -c))[self.quarters % 4]
        return Rotation(self.ca, self.sa, ct, st, self.cg, self.sg, None if self.stand is None else self.stand.rotation)

    def extension(self, q: Scalar) -> Scalar:
        """d_i, which is where a prismatic joint moves."""
        return q + self.d if self.prismatic else self.d

    def offset(self, q: Scalar) -> Vector:
        """s: from the origin of the parent's frame to that of the link's, in the parent's."""
        d = self.extension(q)
        s = turned_z(Vector(self.a, self.y - self.sa * d, self.z + self.ca * d), self.cg, self.sg)
        return s if self.stand is None else self.stand.position + self.stand.rotation @ s

    def offset_in_child(self, q: Scalar, rotation: Rotation) -> Vector:
        """The same vector in the frame of the link, R^T s = (a cos(theta), -a sin(theta), d) of a DH row."""
        if self.stand is not None:
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

    def seen_through(self, pose: Pose) -> Wrench:
        """The same load about the frame in which `pose` is given."""
        force = pose.rotation @ self.force
        return Wrench(force, pose.rotation @ self.moment + pose.position.cross(force))

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.force + other.force, self.moment + other.moment)


@dataclass(frozen=True)
class Drive:
    """What moves a joint: coordinates of the robot times factors, summed, plus an offset.

    A joint that a loop moves is `at` a position that is no such sum, and `terms` are those of its rate. So is one that
    follows a single coordinate by a `curve`, the factors of its square, its cube and so on, once the mechanism is
    placed: then `bend` is the second derivative.
    """

    terms: tuple[tuple[int, Scalar], ...]
    offset: Scalar = 0
    at: Scalar = None
    curve: tuple[Scalar, ...] = ()
    bend: Scalar = 0

    def placed(self, q: Scalar) -> Drive:
        """The same with its coordinate at q, by Horner's rule."""
        [(coordinate, factor)] = self.terms
        at: Scalar = 0
        slope: Scalar = 0
        bend: Scalar = 0
        for k in reversed((self.offset, factor, *self.curve)):
            at, slope, bend = at * q + k, slope * q + at, bend * q + 2 * slope
        return Drive(((coordinate, slope),), at=at, bend=bend)


@dataclass(frozen=True)
class Ball:
    """A joint whose position is no sum of its velocities: a ball, a free or a planar joint.

    Its freedoms are the joints from `joint` on, coordinates of qd from `coordinate` on; q has one entry more, from
    `place` on: for a ball a unit quaternion (x, y, z, w), for a free joint a position and such a quaternion, for a
    planar one x, y and cosine and sine of the angle. Velocities are those of the body in its own axes, linear first.
    `at` has its entries of q, once the mechanism is placed, where something depends on them besides the placement.
    """

    kind: str
    joint: int
    coordinate: int
    place: int
    at: tuple[Scalar, ...] = ()

    @property
    def freedoms(self) -> int:
        return FREEDOMS[self.kind]

    @property
    def slides(self) -> int:
        """How many of its freedoms are of its translation, the first ones."""
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
        return slice(self.place, self.place + self.freedoms + 1)

    @property
    def unit_vector(self) -> slice:
        """The entries of q whose squares sum to one: the quaternion, or cosine and sine."""
        end = self.entries.stop
        return slice(end - (2 if self.kind == "planar" else 4), end)


def entry(balls: Sequence[Ball], coordinate: int) -> int:
    """Which entry of q goes with an entry of qd: those of balls before it have one more."""
    return coordinate + sum(ball.coordinate < coordinate for ball in balls)


FREEDOMS = {"ball": 3, "free": 6, "planar": 3}
"""Of the joints whose q has one entry more than their qd."""


@dataclass(frozen=True)
class Loop:
    """Two links held together, so that the frames `ends` on them meet: in a point, or whole if it is a `weld`.

    `links` are -1 for the base. The joints `dependent` are moved by it: two, in a plane, found in closed form with the
    sign `assembly` of the root. Where there are none, forces hold it. `at` is where the joints of the loop are, by
    their numbers, once the mechanism is placed.
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

    `parents` are those of the links, by default each the one before. `tool` stands on link `tip`, -1 for the base; by
    default that is the link on which nothing hangs, and None where there are several.
    `solid` are the links that the robot has, by default all; the others stand between the freedoms of one joint.
    `drives` has an entry for each joint where some of them move together or are those of `balls`; otherwise each joint
    is a coordinate. `loops` hold links together; what a loop moves is known once the mechanism is placed. `passive` are
    the coordinates without a motor. `compensated` has, where anything carries a part of the weight, that part of each
    link: a mass and where it is, without inertia.
    """

    joints: tuple[Joint, ...]
    links: tuple[AnyLink, ...]
    gravity: Vector
    base: Pose = Pose()
    tool: Pose = Pose()
    drives: tuple[Drive, ...] = ()
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
        """The link that the tool stands on, -1 for the base; an error where none has been chosen."""
        if self.tip is None:
            raise InputError("this robot has several tips and none is chosen; name a frame, or choose with with_tip")
        return self.tip

    @property
    def coordinates(self) -> int:
        """How many numbers say how fast all joints move: as many as joints, unless some move together."""
        return 1 + max(c for drive in self.drives for c, _ in drive.terms) if self.drives else self.n

    @property
    def places(self) -> int:
        """How many numbers say where all joints are."""
        return self.coordinates + len(self.balls)

    @property
    def single(self) -> list[int]:
        """The joints of one freedom: all but those of balls."""
        of_balls = self.of_balls
        return [i for i in range(self.n) if i not in of_balls]

    @property
    def rubbing(self) -> list[int]:
        """Joints whose friction and rotor are parameters: those of one freedom, and of balls those that have any."""
        of_balls = self.of_balls
        return [i for i, joint in enumerate(self.joints) if i not in of_balls or not joint.bare]

    def rubs_along_placement(self, ball: Ball) -> bool:
        """Whether the friction of a translation depends on its direction; otherwise it is the same along any axes."""
        own = self.joints[ball.joint : ball.joint + ball.slides]
        alike = all(known_to_be(joint.viscous, own[0].viscous) for joint in own)
        return not (alike and all(known_to_be(joint.coulomb, 0) for joint in own))

    @property
    def of_balls(self) -> set[int]:
        """The joints that are freedoms of balls."""
        return {i for ball in self.balls for i in ball.rows}

    @property
    def rubs_in_space(self) -> bool:
        """Whether friction of the translation of a free or planar joint depends on how its body is turned."""
        return any(map(self.rubs_along_placement, self.balls))

    def unaided(self) -> Mechanism:
        """The same without springs, and with all of its weight."""
        if not self.compensated and not any(joint.sprung for joint in self.joints):
            return self
        joints = (replace(joint, spring_stiffness=0, spring_rest=0, spring_curve=()) for joint in self.joints)
        return replace(self, joints=tuple(joints), compensated=())

    @property
    def weighing(self) -> Mechanism:
        """The same with what is left of the weight of its links, but for compensation and for inertias."""
        if not self.compensated:
            return self
        links = (
            MomentLink(link.mass - part.mass, link.moment - part.moment, link.origin_inertia)
            for link, part in zip(self.links, self.compensated, strict=True)
        )
        return replace(self, links=tuple(links), compensated=())

    @property
    def together(self) -> bool:
        """Whether some joints move with others, so that they cannot be solved for one after the other."""
        terms = [drive.terms for drive in self.drives]
        alone = all(len(own) == 1 and structural(own[0][1], 1) for own in terms)
        return not (alone and len({own[0][0] for own in terms}) == len(terms))

    @property
    def serial(self) -> bool:
        """Whether it is one chain of DH rows."""
        rows = all(structural(x, 0) for joint in self.joints for x in (joint.y, joint.z, joint.sg))
        return rows and not self.balls and self.parents == tuple(range(-1, self.n - 1))

    @property
    def depth(self) -> int:
        """How many joints the longest way from the base to a tip has."""
        depths = list[int]()
        for parent in self.parents:
            depths.append(1 + (depths[parent] if parent >= 0 else 0))
        return max(depths)

    def leading(self, coordinate: int) -> int:
        """The joint that is a coordinate."""
        own = ((coordinate, 1),)
        return next(
            i for i, drive in enumerate(self.drives) if drive.terms == own and not drive.curve and drive.at is None
        )

    @property
    def curved(self) -> bool:
        """Whether some joints follow others by curves."""
        return any(drive.curve or not structural(drive.bend, 0) for drive in self.drives)

    @property
    def shifting(self) -> bool:
        """Whether how joints move with the coordinates depends on where these are."""
        return self.curved or bool(self.embedded)

    @property
    def embedded(self) -> tuple[Loop, ...]:
        """The loops that move joints."""
        return tuple(loop for loop in self.loops if loop.dependent)

    @property
    def ties(self) -> tuple[Loop, ...]:
        """The loops that forces hold."""
        return tuple(loop for loop in self.loops if not loop.dependent)

    def between(self, links: tuple[int, int]) -> tuple[list[int], list[int]]:
        """The joints on the ways to two links, outward from where the ways part."""
        one, two = (list(self.inward_from(i))[::-1] for i in links)
        shared = sum(1 for i, j in zip(one, two, strict=False) if i == j)
        return one[shared:], two[shared:]

    def inward_from(self, i: int) -> Iterator[int]:
        """Link i, its parent, and so on to the one that hangs on the base."""
        while i >= 0:
            yield i
            i = self.parents[i]

    def outward_from(self, j: int) -> list[int]:
        """Link j and all that hangs on it, parents first."""
        beyond = [j]
        reached = {j}
        for i in range(j + 1, self.n):
            if self.parents[i] in reached:
                reached.add(i)
                beyond.append(i)
        return beyond

    @property
    def bodies(self) -> tuple[Link, ...]:
        """The links, for formulations that need their centres of mass."""
        bodies = tuple(link for link in self.links if isinstance(link, Link))
        if len(bodies) != self.n:
            raise InputError(
                "this robot has links without a centre of mass (MomentLink); use a formulation in the ten linear "
                "parameters, such as 'khalil', 'composite_body' or 'articulated_body'"
            )
        return bodies

    def wrenches(self, tip: Wrench | None = None, links: Sequence[Wrench] | None = None) -> tuple[Wrench, ...]:
        """One wrench per link frame, from a wrench at the tool frame and wrenches at the frames of solid links."""
        loads = [Wrench()] * self.n
        for place, load in zip(self.solid, links or (), strict=bool(links)):
            loads[place] = load
        if tip is not None and (place := self.tool_link) >= 0:
            loads[place] = loads[place] + tip.seen_through(self.tool)
        return tuple(loads)


def leaves(parents: Sequence[int]) -> list[int]:
    """The links on which nothing hangs."""
    carrying = set(parents)
    return [i for i in range(len(parents)) if i not in carrying]


def only_leaf(parents: Sequence[int]) -> int | None:
    """The link on which nothing hangs, if there is only one."""
    found = leaves(parents)
    return found[0] if len(found) == 1 else None
