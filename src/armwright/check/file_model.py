"""The numbers of a robot file as written: bodies in their own axes, joints with their limits and axes.

The readers of `model` normalise, lock and weld, which hides mistakes. Here every number has its place in the file: a
finding names its line, and a repair replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.check.link_shapes import Hull, LinkShape, ShapeGroup
from armwright.lazy import cached_property
from armwright.model.transforms import Triple
from armwright.model.tree import TreeJoint
from armwright.rules import AngleFacts, BodyFacts, JointFacts, RobotFacts
from armwright.rules.body_rules import has_misplaced_centre
from armwright.rules.facts import is_minor

NOT_EDITABLE = -1
"""The place of a number that cannot be replaced."""

MAX_PAIRED_POINTS = 200
"""Number of points of a link up to which the distance of each pair is computed."""


@dataclass(frozen=True, eq=False)
class Body:
    """A link's mass, centre of mass (in the link frame) and tensor as written, about that centre.

    rotation         from the axes of the tensor to those of the link.
    points           the origin, the joints it carries and the corners of its shapes, in the link frame.
    shape_groups     its collision shapes, and its visual shapes, with meshes.
    parent_distance  distance from the link before.
    spin_axis        axis of a link that rotates on the base.
    form             notation of the tensor in the file: "xml", "six" or "rows".
    has_inertial     the file describes its inertia.
    """

    name: str
    mass: float
    com: Array
    tensor: Array
    points: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))
    solids: tuple[LinkShape, ...] = ()
    shape_groups: tuple[ShapeGroup, ...] = ()
    parent_distance: float = 0.0
    spin_axis: Array | None = None
    moves: bool = True
    welded: bool = False
    has_inertial: bool = True
    place: int = NOT_EDITABLE
    form: str = ""
    line: int | None = None

    @cached_property
    def inertia(self) -> Array:
        """Symmetric tensor in the axes of the link frame."""
        symmetric = (self.tensor + self.tensor.T) / 2
        inertia: Array = self.rotation @ symmetric @ self.rotation.T
        return inertia

    @property
    def hulls(self) -> list[Hull]:
        """Hulls of the groups with meshes that can be read."""
        return [hull for group in self.shape_groups if group.meshes and (hull := group.hull) is not None]

    @cached_property
    def length(self) -> float:
        """Largest distance between two points; of many points, only the outermost along random directions count."""
        points = self.points
        if len(points) > MAX_PAIRED_POINTS:
            along = points @ np.random.default_rng(0).normal(size=(3, MAX_PAIRED_POINTS // 2))
            points = points[np.unique([along.argmin(axis=0), along.argmax(axis=0)])]
        return float(np.max(np.linalg.norm(points[:, None] - points[None], axis=-1)))


@dataclass(frozen=True, eq=False)
class Hinge(TreeJoint):
    """A joint as written, possibly continuous, with an axis of any length and limits in any order.

    `places` are those of the axis and of the limits in the file, for repairs.
    """

    places: dict[str, int] = field(default_factory=dict)
    line: int | None = None

    @property
    def rotary(self) -> bool:
        """The joint rotates."""
        return self.kind in ("revolute", "continuous")

    @property
    def moves(self) -> bool:
        """The joint has a freedom."""
        return self.rotary or self.kind == "prismatic"

    @property
    def length(self) -> float:
        """Distance from the frame of the parent."""
        return float(np.linalg.norm(self.placement[:3, 3]))

    @property
    def facts(self) -> JointFacts:
        """Facts for the rules; of a fixed joint the length. Continuous joints and followers may have zero limits."""
        if not self.moves:
            return JointFacts(self.name, False, length=self.length)
        drive = (self.effort, self.velocity)
        effort, velocity = (x or None for x in drive) if self.kind == "continuous" or self.mimic else drive
        limits, friction = self.limits, (self.viscous, self.coulomb)
        return JointFacts(self.name, self.rotary, limits, effort, velocity, *friction, self.length)


@dataclass(frozen=True)
class Angles(AngleFacts):
    """Angles under one key, and their place in the file."""

    place: int
    line: int | None = None


@dataclass(frozen=True, eq=False)
class DHRow:
    """One row of a DH table as written; d is along z for every convention."""

    alpha: float
    a: float
    d: float
    com: Array | None
    gamma: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass(frozen=True, eq=False)
class FileModel:
    """A robot file. `format` is "urdf", "toml" or "mjcf"; `data` is the text that can be repaired.

    `packages` are the folders of packages, for meshes. A file with `named_units` has numbers in other units than SI.
    """

    file: str
    format: str
    name: str
    bodies: tuple[Body, ...]
    hinges: tuple[Hinge, ...]
    angles: tuple[Angles, ...] = ()
    gravity: Triple | None = None
    gravity_line: int | None = None
    convention: str = ""
    rows: tuple[DHRow, ...] = ()
    accept: tuple[str, ...] = ()
    data: bytes = b""
    named_units: bool = False
    packages: Mapping[str, str | Path] = field(default_factory=dict)

    def toml_text(self, value: Any, unit: str) -> str:
        """Return numbers in SI as TOML text, with their unit if the file has named units."""
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.toml_text(one, unit) for one in value)}]"
        return f'"{value!r} {unit}"' if self.named_units else repr(value)

    @cached_property
    def groups(self) -> dict[str, str]:
        """First link of the welded group of each link and fixed joint."""
        parents = {hinge.child: hinge.parent for hinge in self.hinges if hinge.kind == "fixed"}
        groups: dict[str, str] = {}
        for body in self.bodies:
            path = [body.name]
            while path[-1] in parents and path[-1] not in groups and len(path) <= len(parents):
                path.append(parents[path[-1]])
            groups |= dict.fromkeys(path, groups.get(path[-1], path[-1]))
        return groups | {hinge.name: groups.get(hinge.child, "") for hinge in self.hinges if hinge.kind == "fixed"}

    @cached_property
    def mass(self) -> float:
        """Mass of all bodies that move, kg."""
        return sum(abs(body.mass) for body in self.bodies if body.moves)

    @cached_property
    def segment(self) -> float:
        """Mean distance between joints: the typical length of a link."""
        lengths = [hinge.length for hinge in self.hinges if hinge.moves]
        return sum(lengths) / len(lengths) if lengths else 0.0

    @cached_property
    def described_bodies(self) -> tuple[Body, ...]:
        """Bodies with a mass or a tensor in the file."""
        return tuple(body for body in self.bodies if body.has_inertial and (body.mass or np.any(body.tensor)))

    @cached_property
    def facts(self) -> RobotFacts:
        """Facts for the rules: the described bodies, and all joints."""
        bodies, joints = map(self._facts, self.described_bodies), (hinge.facts for hinge in self.hinges)
        return RobotFacts(self.name, tuple(bodies), tuple(joints), self.gravity)

    def _facts(self, body: Body) -> BodyFacts:
        """Return the facts of a body.

        A link whose joints coincide may lie between them and its parent. For a DH table the loaded robot has better
        sizes of links.
        """
        tree = self.format != "toml"
        low, high = body.points.min(axis=0), body.points.max(axis=0)
        facts = BodyFacts(
            name=body.name,
            mass=body.mass,
            inertia=body.inertia,
            length=max(body.length, self.segment),
            offset=float(np.linalg.norm(np.maximum(0, np.maximum(low - body.com, body.com - high)))),
            spin_axis=body.spin_axis,
            weldable=tree,
            moves=body.moves,
            minor=self.minor(body) or body.welded,
        )
        if not tree:
            return facts
        width = 0.0 if has_misplaced_centre(facts) else 2 * float(np.linalg.norm(body.com))
        min_size = max(body.length, width, 0.5 * self.segment)
        return replace(
            facts, min_size=min_size, max_size=min_size if body.length else max(min_size, body.parent_distance)
        )

    def minor(self, body: Body) -> bool:
        """Return whether a body is negligible: it does not move, or has less than a hundredth of the moving mass."""
        return not body.moves or is_minor(body.mass, self.mass)
