"""What a robot is: names, numbers and limits, frozen. Frames are the canonical ones (see `mechanism`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from armwright.algebra import Array, Scalar
from armwright.errors import InputError, ModelError, listed, unknown
from armwright.lazy import cached_property
from armwright.mechanism import FREEDOMS, Ball, Drive, Mechanism, entry, leaves, only_leaf
from armwright.model.consistency import check_finite, check_mimics, check_springs, check_tree
from armwright.model.mechanics import mechanism_of
from armwright.model.records import Frame, JointModel, LinkModel, LoopModel, Payload
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform, Triple, compose

if TYPE_CHECKING:
    from armwright.model.visual import Visual


EARTH_GRAVITY: Triple = (0.0, 0.0, -9.81)
JOINT_LETTERS = {"ball": "S", "free": "F", "planar": "L", "universal": "U", "cylindrical": "C", "helical": "H"}
"""Of joints that are neither revolute nor prismatic."""


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
    gravity: Triple = EARTH_GRAVITY
    base: Transform = IDENTITY_TRANSFORM
    tool: Transform = IDENTITY_TRANSFORM
    payload: Payload | None = None
    source: str = ""
    accept: tuple[str, ...] = ()
    flange: Transform = IDENTITY_TRANSFORM
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
        check_tree(self)
        check_mimics(self)
        check_springs(self)
        check_finite(self)

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
            JOINT_LETTERS.get(joint.kind, "P" if joint.prismatic else "R") for joint in self.joints if not joint.freedom
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
        return self._floats if number is float else mechanism_of(self, number)

    @cached_property
    def _floats(self) -> Mechanism:
        """The mechanism that tracing asks for again and again."""
        return mechanism_of(self, float)


AnyDescription = TypeVar("AnyDescription", bound=Description)
"""A description, or a robot: what is given is returned with the same class."""
