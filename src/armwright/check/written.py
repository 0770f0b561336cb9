"""What a file says before anything is made of it: bodies in their own axes, joints with the numbers as written.

The readers of `model` normalise, lock and weld, which is what hides mistakes. Here every number keeps the place it has
in the file, so that a finding can name its line and a repair can replace it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.check.extents import Hull, Part, Skin
from armwright.model.transforms import Triple
from armwright.model.tree import TreeJoint
from armwright.rules import AngleFacts, BodyFacts, JointFacts, RobotFacts
from armwright.rules.body_rules import has_misplaced_centre
from armwright.rules.facts import is_minor

NOWHERE = -1
"""The place of a number that cannot be replaced."""

MANY = 200
"""Points of a link of which not every pair is looked at."""


@dataclass(frozen=True, eq=False)
class Body:
    """A link's mass, centre of mass (in the link frame) and tensor as written, about that centre.

    `turn` leads from the axes of the tensor to those of the link. `points` are the origin, the joints it carries and
    the corners of its shapes, in the link frame. `skins` are all its shapes for contact, and all that are seen, with
    meshes. `stem` is the way from the link before. `spin` is the axis of a link that turns on the base. `form` says how
    the file writes a tensor: "xml", "six" or "rows".
    """

    name: str
    mass: float
    com: Array
    tensor: Array
    points: Array
    turn: Array = field(default_factory=lambda: np.eye(3))
    solids: tuple[Part, ...] = ()
    skins: tuple[Skin, ...] = ()
    stem: float = 0.0
    spin: Array | None = None
    moves: bool = True
    welded: bool = False
    given: bool = True
    place: int = NOWHERE
    form: str = ""
    line: int | None = None

    @cached_property
    def inertia(self) -> Array:
        """Symmetric, in the axes of the link frame."""
        symmetric = (self.tensor + self.tensor.T) / 2
        inertia: Array = self.turn @ symmetric @ self.turn.T
        return inertia

    @property
    def hulls(self) -> list[Hull]:
        """Its skins that have meshes, where these are understood."""
        return [hull for skin in self.skins if skin.meshes and (hull := skin.hull) is not None]

    @cached_property
    def length(self) -> float:
        """The largest distance between two of its points; of very many, between two that lie outermost somewhere."""
        points = self.points
        if len(points) > MANY:
            along = points @ np.random.default_rng(0).normal(size=(3, MANY // 2))
            points = points[np.unique([along.argmin(axis=0), along.argmax(axis=0)])]
        return float(np.max(np.linalg.norm(points[:, None] - points[None], axis=-1)))


@dataclass(frozen=True, eq=False)
class Hinge(TreeJoint):
    """A joint as written, which may be continuous, with an axis of any length and limits in any order.

    `marks` are the places of the axis and of the limits, for repairs.
    """

    marks: dict[str, int] = field(default_factory=dict)
    line: int | None = None

    @property
    def turns(self) -> bool:
        return self.kind in ("revolute", "continuous")

    @property
    def moves(self) -> bool:
        return self.turns or self.kind == "prismatic"

    @property
    def length(self) -> float:
        """The way from the parent's frame."""
        return float(np.linalg.norm(self.placement[:3, 3]))

    @property
    def facts(self) -> JointFacts:
        """What rules look at. Of a fixed joint it is the length; one that is free, or follows, may have zeros."""
        if not self.moves:
            return JointFacts(self.name, False, length=self.length)
        drive = (self.effort, self.velocity)
        effort, velocity = (x or None for x in drive) if self.kind == "continuous" or self.mimic else drive
        limits, friction = self.limits, (self.viscous, self.coulomb)
        return JointFacts(self.name, self.turns, limits, effort, velocity, *friction, self.length)


@dataclass(frozen=True)
class Angles(AngleFacts):
    """Angles under one key, and where they stand in the file."""

    place: int
    line: int | None = None


@dataclass(frozen=True, eq=False)
class DHRow:
    """One row of a DH table as written, d counted along z whatever its letter."""

    alpha: float
    a: float
    d: float
    com: Array | None
    gamma: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass(frozen=True, eq=False)
class Written:
    """A whole file. `format` is "urdf", "toml" or "mjcf"; `data` is the text that can be repaired.

    `packages` is where the user says that packages are, for meshes. A file with `own_units` has numbers in other units
    than SI.
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
    own_units: bool = False
    packages: Mapping[str, str | Path] = field(default_factory=dict)

    def said(self, value: Any, unit: str) -> str:
        """Numbers in SI as TOML has them: with their unit where those of the file are in others."""
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.said(one, unit) for one in value)}]"
        return f'"{value!r} {unit}"' if self.own_units else repr(value)

    @cached_property
    def groups(self) -> dict[str, str]:
        """The links that are welded together, and the fixed joints between them, by the first link of each group."""
        parents = {hinge.child: hinge.parent for hinge in self.hinges if hinge.kind == "fixed"}
        found: dict[str, str] = {}
        for body in self.bodies:
            way = [body.name]
            while way[-1] in parents and way[-1] not in found and len(way) <= len(parents):
                way.append(parents[way[-1]])
            found |= dict.fromkeys(way, found.get(way[-1], way[-1]))
        return found | {hinge.name: found.get(hinge.child, "") for hinge in self.hinges if hinge.kind == "fixed"}

    @cached_property
    def mass(self) -> float:
        return sum(abs(body.mass) for body in self.bodies if body.moves)

    @cached_property
    def segment(self) -> float:
        """The mean distance between joints: what a link is expected to measure."""
        lengths = [hinge.length for hinge in self.hinges if hinge.moves]
        return sum(lengths) / len(lengths) if lengths else 0.0

    @cached_property
    def weighty(self) -> tuple[Body, ...]:
        """The bodies of which something is given."""
        return tuple(body for body in self.bodies if body.given and (body.mass or np.any(body.tensor)))

    @cached_property
    def facts(self) -> RobotFacts:
        """What rules look at: these bodies, and all joints."""
        bodies, joints = map(self._facts, self.weighty), (hinge.facts for hinge in self.hinges)
        return RobotFacts(self.name, tuple(bodies), tuple(joints), self.gravity)

    def _facts(self, body: Body) -> BodyFacts:
        """A link whose joints are all in one place may lie on the way to it.

        Of a table all links are on the chain, whose sizes are better known when it is loaded.
        """
        tree = self.format != "toml"
        low, high = body.points.min(axis=0), body.points.max(axis=0)
        facts = BodyFacts(
            name=body.name,
            mass=body.mass,
            inertia=body.inertia,
            length=max(body.length, self.segment),
            offset=float(np.linalg.norm(np.maximum(0, np.maximum(low - body.com, body.com - high)))),
            spin_axis=body.spin,
            weldable=tree,
            moves=body.moves,
            minor=self.minor(body) or body.welded,
        )
        if not tree:
            return facts
        across = 0.0 if has_misplaced_centre(facts) else 2 * float(np.linalg.norm(body.com))
        least = max(body.length, across, 0.5 * self.segment)
        return replace(facts, min_size=least, max_size=least if body.length else max(least, body.stem))

    def minor(self, body: Body) -> bool:
        """Whether a body hardly matters: it does not move, or weighs less than a hundredth of what does."""
        return not body.moves or is_minor(body.mass, self.mass)
