"""What a robot is: names, numbers and limits, frozen. Frames are the canonical ones (see `mechanism`)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from armwright.algebra import Array, Matrix, Scalar, Symmetric, Vector, cos, point_inertia, sin, structural
from armwright.errors import InputError, ModelError, listed, unknown
from armwright.lazy import cached_property
from armwright.mechanism import FREEDOMS, Ball, Drive, Joint, Link, Loop, Mechanism, Pose, entry, leaves, only_leaf
from armwright.model.acting import check_springs
from armwright.model.inertia import checked_tensor
from armwright.model.mimic import Cycle, Mimic, resolved

if TYPE_CHECKING:
    from armwright.model.visual import Visual

Triple: TypeAlias = tuple[float, float, float]
Tensor: TypeAlias = tuple[Triple, Triple, Triple]
Transform: TypeAlias = tuple[tuple[float, float, float, float], ...]

NO_TRANSFORM: Transform = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
NO_TENSOR: Tensor = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
EARTH: Triple = (0.0, 0.0, -9.81)
QUARTER_TURN = math.pi / 2
LETTERS = {"ball": "S", "free": "F", "planar": "L", "universal": "U", "cylindrical": "C", "helical": "H"}
"""Of joints that are neither revolute nor prismatic."""
NO_BODY = Link(0, Vector(0, 0, 0), Symmetric(0, 0, 0, 0, 0, 0))


@dataclass(frozen=True)
class JointModel:
    """One freedom: where it is placed, its limits and its actuator. `theta` and `d` are the constant parts.

    The frame of its link is placed by Rot(z, gamma) Trans(a, y, z) Rot(x, alpha) Rot(z, theta) Trans(z, d) in that of
    the parent; gamma, y and z are zero in a row of a DH table. A joint of several freedoms, such as a ball, is several
    of these one after the other: `kind` says what they are together, `freedom` counts them from 0, and the first has
    the placement.

    A spring beside the joint pulls it to `spring_rest`: with x = q - spring_rest by the torque -spring_stiffness x -
    spring_curve[0] x^2 - spring_curve[1] x^3. The rest of a ball is a rotation vector, that of a free joint a position
    and a rotation vector, each entry with its freedom.
    """

    name: str
    type: str
    alpha: float
    a: float
    d: float
    theta: float
    limits: tuple[float, float] | None = None
    viscous: float = 0.0
    coulomb: float = 0.0
    rotor_inertia: float = 0.0
    gear: float = 1.0
    max_velocity: float | None = None
    max_torque: float | None = None
    mimic: Mimic | None = None
    smooth: float = 0.0
    gamma: float = 0.0
    y: float = 0.0
    z: float = 0.0
    kind: str = ""
    freedom: int = 0
    spring_stiffness: float = 0.0
    spring_rest: float = 0.0
    spring_curve: tuple[float, ...] = ()

    @property
    def prismatic(self) -> bool:
        return self.type == "prismatic"

    @property
    def armature(self) -> float:
        """Rotor inertia as the joint feels it."""
        return self.rotor_inertia * self.gear * self.gear

    @property
    def sprung(self) -> bool:
        """Whether a spring stands beside it."""
        return bool(self.spring_stiffness or any(self.spring_curve))


@dataclass(frozen=True)
class LinkModel:
    """A rigid body in its link frame; `inertia` is about the centre of mass, `visuals` are for viewers.

    The weight of `compensated_mass` at `compensated_com` is carried by something that is not of the robot's drives.
    """

    name: str
    mass: float
    com: Triple
    inertia: Tensor
    visuals: tuple[Visual, ...] = field(default=(), hash=False)
    compensated_mass: float = 0.0
    compensated_com: Triple = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia", checked_tensor(f"link {self.name!r}", self.inertia))


@dataclass(frozen=True)
class Frame:
    """A frame of interest: its name, the link it is fixed to (-1 for the base), and where it stands in that frame."""

    name: str
    link: int
    pose: Transform = NO_TRANSFORM


@dataclass(frozen=True)
class LoopModel:
    """Two links held together by a frame on each: in a point, or whole if it is a `weld`; -1 is the base.

    `dependent` are the joints that it moves, `assembly` which of the two ways in which it can be put together, as at
    `reference`, where its joints are when it is closed. Where it moves none, forces hold it.
    """

    name: str
    links: tuple[int, int]
    poses: tuple[Transform, Transform] = (NO_TRANSFORM, NO_TRANSFORM)
    weld: bool = False
    dependent: tuple[str, ...] = ()
    assembly: int = 1
    reference: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Payload:
    """A body held by the tool, in the tool frame; `inertia` is about its centre of mass."""

    mass: float
    com: Triple = (0.0, 0.0, 0.0)
    inertia: Tensor = NO_TENSOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia", checked_tensor("payload", self.inertia))

    def beside(self, other: Payload) -> Payload:
        """Both bodies, held as one."""
        both = _joined(self.body(float), other.body(float))
        xx, xy, xz = (triple(row) for row in both.inertia.matrix)
        return Payload(both.mass, triple(both.com), (xx, xy, xz))

    def body(self, number: Callable[[float], Scalar]) -> Link:
        return _link(LinkModel("payload", self.mass, self.com, self.inertia), number)


@dataclass(frozen=True)
class Description:
    """A robot: links, each with a parent (-1 for the base) and a joint before it.

    `joints` are the freedoms that move by themselves: qd has one entry for each, and `n` is how many there are.
    `followers` have a `mimic` and move with one of them. `rows` are both, one for each link, or several where a joint
    has several freedoms. q has `nq` entries: one for each of `joints`, and one more for each ball, free or planar joint
    (see `mechanism.Ball`).

    `flange` leads from the frame of link `tip` to where tools are mounted; `tool` stands after it. A tree with one link
    on which nothing hangs has it as its tip; where there are several, `tip` is None until one is chosen. `frames` are
    others that have a name; `seen`, where there is one, is looked at in place of the tool (`seen_at`). `loops` hold
    links together (see `model.loop`).
    `base_visuals` is what does not move, seen from frame 0, where `base` leads: its poses in the world are base @ pose,
    those of a link's visuals are link_poses(q)[i] @ pose.
    `rated_payload` is what its maker says it can hold, kg, if known.
    `source` says where its numbers come from, `licence` who holds rights in them and under which licence.
    `accept` lists what its author knows of and that needs no warning: kinds of problems (see `problems`), or
    "link: kind" for one link.
    """

    name: str
    joints: tuple[JointModel, ...]
    links: tuple[LinkModel, ...]
    gravity: Triple = EARTH
    base: Transform = NO_TRANSFORM
    tool: Transform = NO_TRANSFORM
    payload: Payload | None = None
    source: str = ""
    accept: tuple[str, ...] = ()
    flange: Transform = NO_TRANSFORM
    followers: tuple[JointModel, ...] = ()
    base_visuals: tuple[Visual, ...] = field(default=(), hash=False)
    parents: tuple[int, ...] = ()
    tip: int | None = None
    frames: tuple[Frame, ...] = ()
    seen: Frame | None = None
    loops: tuple[LoopModel, ...] = ()
    rated_payload: float | None = field(default=None, hash=False, compare=False)
    licence: str = field(default="", hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents) or tuple(range(-1, len(self.links) - 1)))
        object.__setattr__(self, "tip", only_leaf(self.parents) if self.tip is None else self.tip)
        for key, text in (("name", self.name), ("source", self.source), ("licence", self.licence)):
            if not isinstance(text, str):
                raise ModelError(f"{key} = {text!r} is not a text")
        if not self.joints:
            raise ModelError(f"robot {self.name!r} is empty: expected at least one joint and its link")
        if (count := len(self.carriers)) != len(self.links):
            raise ModelError(f"robot {self.name!r} has {count} joints and {len(self.links)} links: expected equal")
        _check_tree(self)
        _check_mimics(self)
        check_springs(self)
        numbers = [
            *((j.alpha, j.a, j.d, j.theta, j.gamma, j.y, j.z) for j in self.rows),
            *((j.viscous, j.coulomb, j.smooth, j.rotor_inertia, j.gear) for j in self.rows),
            *((j.spring_stiffness, j.spring_rest, *j.spring_curve) for j in self.rows),
            *((link.mass, *link.com, *itertools.chain(*link.inertia)) for link in self.links),
            *((link.compensated_mass, *link.compensated_com) for link in self.links),
            self.gravity,
        ]
        if not all(map(math.isfinite, itertools.chain(*numbers))):
            raise ModelError(f"robot {self.name!r} has a number that is not finite: {numbers}")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Of all but what a robot looks like, found once: what is made of a robot is kept under it."""
        return hash(tuple(getattr(self, field.name) for field in fields(Description) if field.hash is not False))

    def __getstate__(self) -> dict[str, Any]:
        """The robot without what was made of it: its mechanism, what it has compiled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the numbers of a pickle, checked as those of any robot."""
        vars(self).update(state)
        for part in (*self.links, *((self.payload,) if self.payload else ())):
            part.__post_init__()
        self.__post_init__()

    @property
    def n(self) -> int:
        """The number of coordinates, entries of qd: of freedoms that do not follow another."""
        return len(self.joints)

    @property
    def nq(self) -> int:
        """The number of entries of q: one more than of qd for each ball, free or planar joint."""
        return self.n + len(self.balls)

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """Which entry of q goes with each of `joints`; with those of a ball some entry of that ball."""
        return tuple(entry(self.balls, i) for i in range(self.n))

    @property
    def neutral(self) -> Array:
        """The position at which every freedom is at zero: zeros, and the quaternion (0, 0, 0, 1) of a ball joint."""
        q = np.zeros(self.nq)
        for ball in self.balls:
            q[ball.unit_vector.start if ball.kind == "planar" else ball.unit_vector.stop - 1] = 1.0
        return q

    def unit(self, q: Array) -> Array:
        """Positions (..., nq) with every quaternion in them made one of unit length."""
        q = np.array(q, dtype=float)
        for ball in self.balls:
            length = np.linalg.norm(q[..., ball.unit_vector], axis=-1, keepdims=True)
            if not length.all():
                joint = self.rows[ball.joint].name.rpartition(".")[0]
                raise InputError(
                    f"entries {ball.unit_vector.start} to {ball.unit_vector.stop - 1} of q are all zero, which {joint} "
                    "cannot be turned by; expected a rotation, such as that of robot.neutral"
                )
            q[..., ball.unit_vector] /= length
        return q

    @property
    def hand(self) -> Frame:
        """The tool frame, or, where no tip has been chosen, an error that names the tips."""
        if self.tip is None:
            names = [self.links[i].name for i in leaves(self.parents)]
            raise InputError(
                f"{self.name} has {len(names)} tips, {listed(names)}, and none is chosen; expected a robot with one "
                f"chosen, such as with_tip({names[0]!r}), or its name where a call takes one: frame={names[0]!r} for "
                f"kinematics, link_wrenches={{{names[0]!r}: wrench}} for dynamics"
            )
        return Frame("tool", self.tip, compose(self.flange, self.tool))

    @property
    def end(self) -> Frame:
        """What poses, Jacobians and tip wrenches are of: the frame that is looked at, else the tool frame."""
        return self.hand if self.seen is None else self.seen

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The names that `frame=` knows: those of `frames`, of the links, and "tool"."""
        return tuple(self._named_frames)

    @cached_property
    def _named_frames(self) -> dict[str, Frame]:
        links = [Frame(link.name, i) for i, link in enumerate(self.links)]
        tool = [] if self.tip is None else [self.hand]
        known: dict[str, Frame] = {}
        for frame in (*self.frames, *links, *tool):
            known.setdefault(frame.name, frame)
        return known

    def frame(self, name: str) -> Frame:
        """The frame of that name: one of `frames`, else that of a link, else the tool's."""
        if not isinstance(name, str) or name not in self._named_frames:
            raise unknown(f"frame of {self.name}:", name, self.frame_names)
        return self._named_frames[name]

    def seen_at(self, name: str | None) -> Self:
        """The robot looked at another frame than its tool: poses, Jacobians and tip wrenches are of that one."""
        return self if name is None else replace(self, seen=self.frame(name))

    @cached_property
    def balls(self) -> tuple[Ball, ...]:
        """The joints whose q has one entry more than their qd."""
        found, coordinate = list[Ball](), 0
        for i, row in enumerate(self.rows):
            if row.kind in FREEDOMS and row.freedom == 0:
                found.append(Ball(row.kind, i, coordinate, coordinate + len(found)))
            coordinate += row.mimic is None
        return tuple(found)

    @property
    def carriers(self) -> tuple[int, ...]:
        """Which of `rows` each link hangs on: the last freedom of its joint."""
        rows = self.rows
        return tuple(i for i in range(len(rows)) if i + 1 == len(rows) or rows[i + 1].freedom == 0)

    @property
    def rows(self) -> tuple[JointModel, ...]:
        """The joint before each link, followers among them."""
        if not self.followers:
            return self.joints
        placed = {follower.mimic.place: follower for follower in self.followers if follower.mimic}
        own = iter(self.joints)
        return tuple(placed[i] if i in placed else next(own) for i in range(len(self.joints) + len(self.followers)))

    @property
    def drives(self) -> tuple[Drive, ...]:
        """What moves each of `rows`; empty if each is a coordinate of q and qd."""
        if not (self.followers or self.balls):
            return ()
        place = {joint.name: i for i, joint in enumerate(self.joints)}
        own = iter(range(self.n))
        return tuple(
            Drive(
                tuple((place[name], factor) for name, factor in row.mimic.leaders),
                row.mimic.offset,
                curve=row.mimic.curve,
            )
            if row.mimic
            else Drive(((next(own), 1),))
            for row in self.rows
        )

    @property
    def joint_types(self) -> str:
        """A letter for each joint that does not follow another, base to tip: R revolute, P prismatic (`LETTERS`)."""
        return "".join(
            LETTERS.get(joint.kind, "P" if joint.prismatic else "R") for joint in self.joints if not joint.freedom
        )

    def each_joint(self, change: Callable[[JointModel], JointModel]) -> Self:
        """The robot with every joint, followers too, changed."""
        return replace(self, joints=tuple(map(change, self.joints)), followers=tuple(map(change, self.followers)))

    def freed(self) -> Self:
        """The robot with every joint moving by itself."""
        if not self.followers:
            return self
        return replace(self, joints=tuple(replace(row, mimic=None) for row in self.rows), followers=(), loops=())

    def mechanism(self, number: Callable[[float], Scalar] = float) -> Mechanism:
        """Its mechanics with every number turned into a scalar, e.g. `numpy.float32` or `mpmath.mpf`."""
        return self._floats if number is float else self._mechanism(number)

    @cached_property
    def _floats(self) -> Mechanism:
        """The mechanism that tracing asks for again and again."""
        return self._mechanism(float)

    def _mechanism(self, number: Callable[[float], Scalar]) -> Mechanism:
        base = as_pose(self.base, number)
        rows, carriers = self.rows, self.carriers
        links, parents = [NO_BODY] * len(rows), list(range(-1, len(rows) - 1))
        for i, (link, parent) in enumerate(zip(self.links, self.parents, strict=True)):
            links[carriers[i]] = _link(link, number)
            parents[carriers[i] - rows[carriers[i]].freedom] = carriers[parent] if parent >= 0 else -1
        if self.payload is not None:
            place, pose = carriers[self.hand.link], as_pose(self.hand.pose, number)
            links[place] = _joined(links[place], held(self.payload, pose, number))
        end = None if self.seen is None and self.tip is None else self.end
        return Mechanism(
            joints=tuple(_joint(row, number) for row in rows),
            links=tuple(links),
            gravity=base.rotation.T @ Vector(*map(number, self.gravity)),
            base=base,
            tool=Pose() if end is None else as_pose(end.pose, number),
            drives=tuple(_drive(drive, number) for drive in self.drives),
            parents=tuple(parents),
            tip=end if end is None else carriers[end.link] if end.link >= 0 else -1,
            solid=carriers,
            balls=self.balls,
            loops=tuple(self._loop(loop, number) for loop in self.loops),
            passive=tuple(i for i, joint in enumerate(self.joints) if joint.max_torque == 0),
            compensated=self._compensated(number),
        )

    def _compensated(self, number: Callable[[float], Scalar]) -> tuple[Link, ...]:
        """The part of each link whose weight is carried; nothing where there is none."""
        if not any(link.compensated_mass for link in self.links):
            return ()
        parts = [NO_BODY] * len(self.rows)
        for place, link in zip(self.carriers, self.links, strict=True):
            if link.compensated_mass:
                com = Vector(*map(number, link.compensated_com))
                parts[place] = replace(NO_BODY, mass=number(link.compensated_mass), com=com)
        return tuple(parts)

    def _loop(self, loop: LoopModel, number: Callable[[float], Scalar]) -> Loop:
        names = [row.name for row in self.rows]
        one, two = (self.carriers[i] if i >= 0 else -1 for i in loop.links)
        ends = (as_pose(loop.poses[0], number), as_pose(loop.poses[1], number))
        return Loop((one, two), ends, loop.weld, tuple(names.index(name) for name in loop.dependent), loop.assembly)


def parted(rows: Sequence[JointModel]) -> tuple[tuple[JointModel, ...], tuple[JointModel, ...]]:
    """The joints before all links as those that move by themselves and their followers.

    One that follows a follower follows the joint which that one follows. A joint goes no further and no faster than
    its followers can.
    """
    follows = {row.name: row.mimic for row in rows if row.mimic is not None}
    if not follows:
        return tuple(rows), ()
    _check_names(rows)
    try:
        leaders = resolved(follows)
    except Cycle as cycle:
        raise ModelError(f"joint {cycle.names[0]!r} follows itself{cycle.way}") from None
    followers = [
        replace(row, mimic=replace(leaders[row.name], place=i)) for i, row in enumerate(rows) if row.name in leaders
    ]
    led: dict[str, list[JointModel]] = {}
    for follower in followers:
        if not (leaders[follower.name].others or leaders[follower.name].loop or leaders[follower.name].curve):
            led.setdefault(leaders[follower.name].joint, []).append(follower)
    return tuple(_held_back(row, led.get(row.name, [])) for row in rows if row.mimic is None), tuple(followers)


def _held_back(joint: JointModel, followers: Sequence[JointModel]) -> JointModel:
    """A joint within the limits of those that follow it; where they leave it nowhere to be, `problems` says so."""
    for follower in followers:
        limits = meeting_limits(joint.limits, follower)
        if limits is not None and limits[0] < limits[1]:
            joint = replace(joint, limits=limits)
        if follower.max_velocity is not None and follower.mimic and follower.mimic.factor:
            fastest = follower.max_velocity / abs(follower.mimic.factor)
            joint = replace(joint, max_velocity=min(fastest, joint.max_velocity or fastest))
    return joint


def meeting_limits(limits: tuple[float, float] | None, follower: JointModel) -> tuple[float, float] | None:
    """What is left of the limits of a joint by those of its follower."""
    mimic = follower.mimic
    if mimic is None or follower.limits is None or not mimic.factor or mimic.others or mimic.loop or mimic.curve:
        return limits
    low, high = sorted((limit - mimic.offset) / mimic.factor for limit in follower.limits)
    return (low, high) if limits is None else (max(low, limits[0]), min(high, limits[1]))


def _check_tree(robot: Description) -> None:
    """Parents before their children, and everything that stands on a link on one that is there."""
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
    if robot.payload is not None or robot.tool != NO_TRANSFORM:
        _ = robot.hand
    sizes = Counter((row.kind, i - row.freedom) for i, row in enumerate(robot.rows) if row.kind in FREEDOMS)
    for (kind, _), size in sizes.items():
        if size != FREEDOMS[kind]:
            raise ModelError(f"robot {robot.name!r}: a {kind} joint has {FREEDOMS[kind]} freedoms, not {size}")


def _check_names(rows: Sequence[JointModel]) -> None:
    """Where joints follow others by name, a name means one joint."""
    twice = sorted(name for name, count in Counter(row.name for row in rows).items() if count > 1)
    if twice:
        raise ModelError(
            f"several joints are called {', '.join(twice)}; where joints follow others by name, give each its own"
        )


def _check_mimics(robot: Description) -> None:
    leaders = {joint.name: joint for joint in robot.joints}
    if any(joint.mimic for joint in robot.joints):
        raise ModelError(f"robot {robot.name!r}: a joint that follows another one belongs into followers")
    places = [-1]
    if robot.followers:
        _check_names((*robot.joints, *robot.followers))
    for joint in robot.followers:
        mimic = joint.mimic
        if mimic is None or not places[-1] < mimic.place < len(robot.joints) + len(robot.followers):
            raise ModelError(
                f"robot {robot.name!r}: follower {joint.name!r} needs a mimic with its place among the joints"
            )
        places.append(mimic.place)
        for name in (mimic.joint, *(other for other, _ in mimic.others)):
            if name not in leaders:
                raise unknown(f"joint for {joint.name!r} of robot {robot.name!r} to follow:", name, leaders)
            if (kind := leaders[name].kind) in FREEDOMS or joint.kind in FREEDOMS:
                raise ModelError(
                    f"robot {robot.name!r}: {joint.name!r} follows {name!r}, and the position of a "
                    f"{kind or joint.kind} joint is no number that could follow or be followed"
                )
        if not (mimic.moves and all(map(math.isfinite, (mimic.factor, mimic.offset, *mimic.curve)))):
            curve = f", curve {mimic.curve!r}" if mimic.curve else ""
            raise ModelError(
                f"robot {robot.name!r}: {joint.name!r} follows {mimic.joint!r} by factor {mimic.factor!r} and offset "
                f"{mimic.offset!r}{curve}; expected finite numbers and a factor that is not zero"
            )
        if mimic.curve and (mimic.others or mimic.loop):
            raise ModelError(
                f"robot {robot.name!r}: {joint.name!r} has a curve and follows several joints; expected one"
            )


def compose(first: Transform, second: Transform) -> Transform:
    """The product of two transforms."""
    if second == NO_TRANSFORM:
        return first
    if first == NO_TRANSFORM:
        return second
    return transform(np.asarray(first) @ np.asarray(second))


def right_angles(angle: float) -> int | None:
    """How many right angles an angle is, if it is a whole number of them to rounding."""
    quarters = round(angle / QUARTER_TURN)
    return quarters if abs(angle - quarters * QUARTER_TURN) <= 1e-14 * max(1, abs(quarters)) else None


def cos_sin(angle: float, number: Callable[[float], Scalar] = float) -> tuple[Scalar, Scalar]:
    """Cosine and sine, exactly 0, 1 or -1 at right angles, so that they vanish from what is computed with them."""
    quarters = right_angles(angle)
    if quarters is None:
        return cos(number(angle)), sin(number(angle))
    return ((1, 0), (0, 1), (-1, 0), (0, -1))[quarters % 4]


def _drive(drive: Drive, number: Callable[[float], Scalar]) -> Drive:
    terms = tuple((c, factor if structural(factor, 1) else number(factor)) for c, factor in drive.terms)
    curve = tuple(number(k) if k else 0 for k in drive.curve)
    return Drive(terms, number(drive.offset) if drive.offset else 0, curve=curve)


def _joint(joint: JointModel, number: Callable[[float], Scalar]) -> Joint:
    if joint.kind in FREEDOMS:
        return replace(
            _TURNING,
            prismatic=joint.prismatic,
            stand=None if joint.freedom else _stand(joint, number),
            **{name: number(x) for name in DRIVEN if (x := getattr(joint, name))},
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
    """The fields of a spring; without one the integers 0, which cost nothing."""
    if not joint.sprung:
        return {}
    return {
        "spring_stiffness": number(joint.spring_stiffness) if joint.spring_stiffness else 0,
        "spring_rest": number(joint.spring_rest) if joint.spring_rest else 0,
        "spring_curve": tuple(number(k) if k else 0 for k in joint.spring_curve),
    }


DRIVEN = ("armature", "viscous", "coulomb", "smooth")
"""What acts in a joint, which a freedom of a ball seldom has."""

_TURNING = Joint(False, ca=0, sa=1, a=0, d=0, cg=0, sg=1)
"""A freedom of a ball: z of its frame is x of the one before, so that three are about x, y and z of the body."""


def _stand(joint: JointModel, number: Callable[[float], Scalar]) -> Pose | None:
    """Where a ball is placed; None where that is nowhere but in the frame of the parent."""
    if not any((joint.gamma, joint.a, joint.y, joint.z, joint.alpha, joint.theta, joint.d)):
        return None
    still = _joint(replace(joint, kind="", type="revolute"), number)
    at = number(0.0)
    return Pose(still.rotation(at).matrix, still.offset(at))


def _link(link: LinkModel, number: Callable[[float], Scalar]) -> Link:
    return Link(number(link.mass), Vector(*map(number, link.com)), symmetric(link.inertia, number))


def six(tensor: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    """xx, yy, zz, xy, xz, yz of a symmetric matrix."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
    return xx, yy, zz, xy, xz, yz


def symmetric(tensor: Tensor, number: Callable[[float], Scalar] = float) -> Symmetric:
    return Symmetric(*map(number, six(tensor)))


def tensor(six: Iterable[Scalar]) -> Tensor:
    """The whole of a symmetric matrix, by xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = map(float, six)
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def triple(numbers: Iterable[Scalar]) -> Triple:
    x, y, z = map(float, numbers)
    return x, y, z


def transform(T: Array) -> Transform:
    """A 4x4 array as plain numbers."""
    return tuple((a, b, c, d) for a, b, c, d in T.tolist())


def as_pose(transform: Transform, number: Callable[[float], Scalar] = float) -> Pose:
    rows = [[number(x) for x in row] for row in transform[:3]]
    return Pose(Matrix(*(Vector(*row[:3]) for row in rows)), Vector(*(row[3] for row in rows)))


def held(
    payload: Payload,
    tool: Pose,
    number: Callable[[float], Scalar],
    change: Callable[[Link], Link] = lambda body: body,
) -> Link:
    """The payload in the frame of the last link; `change` may replace its numbers first."""
    body = change(payload.body(number))
    R = tool.rotation
    inertia = Symmetric(*six(R.dot(body.inertia.matrix).dot(R.T)))
    return Link(body.mass, R @ body.com + tool.position, inertia)


def _joined(one: Link, two: Link) -> Link:
    """Two bodies fixed to each other."""
    mass = one.mass + two.mass
    com = (one.moment + two.moment) * (1 / mass) if mass else one.com
    inertia = one.inertia + two.inertia
    for part in (one, two):
        inertia = inertia + point_inertia(part.com - com) * part.mass
    return Link(mass, com, inertia)


def joined(parts: list[Link]) -> Link:
    """Any number of bodies fixed to each other, as one."""
    return reduce(_joined, parts)
