"""The description of a robot: names, numbers and limits, frozen, in canonical frames (see `mechanism`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from armwright.algebra import Array, Scalar
from armwright.errors import InputError, ModelError, listed, unknown
from armwright.former_names import add_former_names
from armwright.lazy import cached_property
from armwright.mechanism import FREEDOMS_OF_KIND, Ball, JointCoupling, Mechanism, leaves, only_leaf, position_entry
from armwright.model.consistency import check_finite, check_mimics, check_springs, check_tree
from armwright.model.mechanics import mechanism_of
from armwright.model.records import Frame, JointModel, LinkModel, LoopModel, Payload
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform, Triple, compose

if TYPE_CHECKING:
    from armwright.model.visual import Visual


EARTH_GRAVITY: Triple = (0.0, 0.0, -9.81)
JOINT_LETTERS = {"ball": "S", "free": "F", "planar": "L", "universal": "U", "cylindrical": "C", "helical": "H"}
"""Letters of the joint types other than revolute and prismatic."""


@dataclass(frozen=True)
class Description:
    """A robot: links, each with a parent (-1 for the base) and a joint before it.

    `joints` are the independent freedoms: qd has one entry for each, `n` in all. `followers` have a `mimic` and move
    with them. `rows` are both: one for each link, or several where a joint has several freedoms. q has `nq` entries:
    one for each of `joints`, and one more for each ball, free or planar joint (see `mechanism.Ball`).

    `flange` is the mounting frame of tools on link `tip`; `tool` is relative to it. By default the tip is the only link
    that carries no other; with several such links it is None until one is chosen. `frames` are further named frames.
    `seen`, if set, replaces the tool frame as `task_frame` (its name is a key of JSON output). `loops` close kinematic
    loops (see `model.loop_closure`).
    `base_visuals` are the fixed shapes in frame 0, whose pose is `base`: base @ pose in the world. Those of a link are
    at link_poses(q)[i] @ pose.
    `rated_payload` is the manufacturer's rating, kg, if known.
    `source` names the origin of the numbers, `licence` the holder of the rights and the licence.
    `accept` lists known problems that need no warning: kinds (see `problems`), or "link: kind" for one link.
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
        if (count := len(self.link_rows)) != len(self.links):
            raise ModelError(f"robot {self.name!r} has {count} joints and {len(self.links)} links: expected equal")
        check_tree(self)
        check_mimics(self)
        check_springs(self)
        check_finite(self)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash of all fields that determine compiled code, computed once; it is the key of caches."""
        return hash(tuple(getattr(self, field.name) for field in fields(Description) if field.hash is not False))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without the cached mechanism and compiled functions."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the fields from a pickle, and check them."""
        vars(self).update(state)
        for part in (*self.links, *((self.payload,) if self.payload else ())):
            part.__post_init__()
        self.__post_init__()

    @property
    def n(self) -> int:
        """The number of independent freedoms, entries of qd."""
        return len(self.joints)

    @property
    def nq(self) -> int:
        """The number of entries of q: that of qd, and one for each ball, free or planar joint."""
        return self.n + len(self.balls)

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """The entry of q for each of `joints`; for a freedom of a ball, one of the entries of that ball."""
        return tuple(position_entry(self.balls, i) for i in range(self.n))

    @property
    def neutral(self) -> Array:
        """The position with every freedom at zero, shape (nq,); the quaternion of a ball joint is (0, 0, 0, 1)."""
        q = np.zeros(self.nq)
        for ball in self.balls:
            q[ball.unit_vector.start if ball.kind == "planar" else ball.unit_vector.stop - 1] = 1.0
        return q

    def unit(self, q: Array) -> Array:
        """Return positions (..., nq) with quaternions scaled to unit length. A zero quaternion raises an InputError."""
        q = np.array(q, dtype=float)
        for ball in self.balls:
            length = np.linalg.norm(q[..., ball.unit_vector], axis=-1, keepdims=True)
            if not length.all():
                joint = self.rows[ball.joint].name.rpartition(".")[0]
                entries = f"entries {ball.unit_vector.start} to {ball.unit_vector.stop - 1} of q"
                raise InputError(f"{entries}, the rotation of {joint}, are all zero; expected one as in robot.neutral")
            q[..., ball.unit_vector] /= length
        return q

    @property
    def tool_frame(self) -> Frame:
        """The tool frame. Raises an InputError that lists the tips if none is chosen."""
        if self.tip is None:
            names = [self.links[i].name for i in leaves(self.parents)]
            raise InputError(
                f"{self.name} has {len(names)} tips, {listed(names)}, and none is chosen; expected a robot with one "
                f"chosen, such as with_tip({names[0]!r}), or its name where a call takes one: frame={names[0]!r} for "
                f"kinematics, link_wrenches={{{names[0]!r}: wrench}} for dynamics"
            )
        return Frame("tool", self.tip, compose(self.flange, self.tool))

    @property
    def task_frame(self) -> Frame:
        """The frame of poses, Jacobians and tip wrenches: by default the tool frame."""
        return self.tool_frame if self.seen is None else self.seen

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The names that `frame=` accepts: those of `frames`, of the links, and "tool"."""
        return tuple(self._named_frames)

    @cached_property
    def _named_frames(self) -> dict[str, Frame]:
        links = [Frame(link.name, i) for i, link in enumerate(self.links)]
        tool = [] if self.tip is None else [self.tool_frame]
        known: dict[str, Frame] = {}
        for frame in (*self.frames, *links, *tool):
            known.setdefault(frame.name, frame)
        return known

    def frame(self, name: str) -> Frame:
        """Return the frame with a name: one of `frames`, else of a link, else the tool frame."""
        if not isinstance(name, str) or name not in self._named_frames:
            raise unknown(f"frame of {self.name}:", name, self.frame_names)
        return self._named_frames[name]

    def with_task_frame(self, name: str | None) -> Self:
        """Return the robot with another task frame, by its name; None keeps the current one."""
        return self if name is None else replace(self, seen=self.frame(name))

    @cached_property
    def balls(self) -> tuple[Ball, ...]:
        """The ball, free and planar joints, whose q has one entry more than their qd."""
        balls, coordinate = list[Ball](), 0
        for i, row in enumerate(self.rows):
            if row.kind in FREEDOMS_OF_KIND and row.freedom == 0:
                balls.append(Ball(row.kind, i, coordinate, coordinate + len(balls)))
            coordinate += row.mimic is None
        return tuple(balls)

    @property
    def link_rows(self) -> tuple[int, ...]:
        """The number of the row that carries each link: the last freedom of its joint."""
        rows = self.rows
        return tuple(i for i in range(len(rows)) if i + 1 == len(rows) or rows[i + 1].freedom == 0)

    @property
    def rows(self) -> tuple[JointModel, ...]:
        """All freedoms, followers included, in the order of the links."""
        if not self.followers:
            return self.joints
        followers = {follower.mimic.place: follower for follower in self.followers if follower.mimic}
        independent, count = iter(self.joints), len(self.joints) + len(self.followers)
        return tuple(followers[i] if i in followers else next(independent) for i in range(count))

    @property
    def couplings(self) -> tuple[JointCoupling, ...]:
        """The coupling of each of `rows` to the coordinates; empty if each row is a coordinate of q and qd."""
        if not (self.followers or self.balls):
            return ()
        place = {joint.name: i for i, joint in enumerate(self.joints)}
        coordinates = iter(range(self.n))
        return tuple(
            JointCoupling(tuple((place[name], k) for name, k in mimic.leaders), mimic.offset, curve=mimic.curve)
            if (mimic := row.mimic)
            else JointCoupling(((next(coordinates), 1),))
            for row in self.rows
        )

    @property
    def joint_types(self) -> str:
        """A letter for each independent joint, base to tip: R revolute, P prismatic, others by `JOINT_LETTERS`."""
        return "".join(
            JOINT_LETTERS.get(joint.kind, "P" if joint.prismatic else "R") for joint in self.joints if not joint.freedom
        )

    def map_joints(self, change: Callable[[JointModel], JointModel]) -> Self:
        """Return the robot with `change` applied to every joint, followers included."""
        return replace(self, joints=tuple(map(change, self.joints)), followers=tuple(map(change, self.followers)))

    def without_couplings(self) -> Self:
        """Return the robot with all joints independent, without followers and loops."""
        if not self.followers:
            return self
        return replace(self, joints=tuple(replace(row, mimic=None) for row in self.rows), followers=(), loops=())

    def mechanism(self, number: Callable[[float], Scalar] = float) -> Mechanism:
        """Return the mechanism with every number as a scalar, such as `numpy.float32` or `mpmath.mpf`."""
        return self._floats if number is float else mechanism_of(self, number)

    @cached_property
    def _floats(self) -> Mechanism:
        """The mechanism in floats, cached since tracing needs it often."""
        return mechanism_of(self, float)


add_former_names(
    Description, hand="tool_frame", end="task_frame", seen_at="with_task_frame", freed="without_couplings",
    each_joint="map_joints", carriers="link_rows", drives="couplings",
)  # fmt: skip

AnyDescription = TypeVar("AnyDescription", bound=Description)
"""A description, or a robot: functions return the class that they receive."""
