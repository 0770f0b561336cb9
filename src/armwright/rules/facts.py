"""The facts that rules examine, of a body, a joint, angles under one name or a robot; in SI units and radians.

`robot_facts` derives them from a robot, `check` from the text of a file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.former_names import add_former_names
from armwright.lazy import cached_property
from armwright.model.transforms import Triple
from armwright.rules.tensors import TENSOR_SLACK, tensors_agree

MINOR_MASS_SHARE = 0.01
"""Share of the mass of a robot below which a body is minor."""

NEGLIGIBLE_INERTIA_RATIO = 1e-12
"""Inertia over mass, m^2, of a body a micrometre wide. Smaller tensors count as zero; wrong units give larger ones."""


def is_minor(mass: float, total: float) -> bool:
    """Return whether a mass is a negligible part of the total."""
    return abs(mass) < MINOR_MASS_SHARE * total


@dataclass(frozen=True, eq=False)
class BodyFacts:
    """The mass of a body, its tensor about the centre of mass, and its approximate size.

    min_size, max_size  bounds of its length in metres; 0 if unknown.
    length              extent of its joints and shapes, or the usual length of links of this robot.
    offset              distance of the centre of mass from its joints and shapes.
    spin_axis           axis of a link that rotates about a fixed axis: only the moment about it matters.
    weldable            it may be welded to others and then needs no mass.
    moves, minor        a joint moves it; it is negligible and gets lower severities.
    """

    name: str
    mass: float
    inertia: Array
    min_size: float = 0.0
    max_size: float = 0.0
    length: float = 0.0
    offset: float = 0.0
    spin_axis: Array | None = None
    weldable: bool = False
    moves: bool = True
    minor: bool = False

    @cached_property
    def largest(self) -> float:
        """Largest entry of the tensor."""
        return float(np.max(np.abs(self.inertia)))

    @property
    def without_inertia(self) -> bool:
        """The tensor is zero up to rounding errors of the program that wrote it."""
        return self.largest <= NEGLIGIBLE_INERTIA_RATIO * max(self.mass, 0.0)

    @cached_property
    def only_spins(self) -> bool:
        """The tensor is only a moment about the fixed axis: often no more is known, and no more matters."""
        if self.spin_axis is None:
            return False
        about = float(self.spin_axis @ self.inertia @ self.spin_axis)
        return about > 0 and tensors_agree(self.inertia, about * np.outer(self.spin_axis, self.spin_axis), TENSOR_SLACK)

    @cached_property
    def moments(self) -> Array:
        """Principal moments, the smallest first."""
        moments: Array = np.linalg.eigvalsh(self.inertia)
        return moments


add_former_names(
    BodyFacts, least="min_size", most="max_size", off="offset", spin="spin_axis", part="weldable",
    empty="without_inertia",
)  # fmt: skip


@dataclass(frozen=True)
class JointFacts:
    """Limits, friction and drive of a joint, None if unknown; `length` is the distance from the joint before.

    `armature` is the rotor inertia at the joint, `smooth` the speed below which dry friction is smoothed.
    """

    name: str
    rotary: bool = True
    limits: tuple[float, float] | None = None
    effort: float | None = None
    velocity: float | None = None
    viscous: float = 0.0
    coulomb: float = 0.0
    length: float = 0.0
    armature: float = 0.0
    smooth: float = 0.0


add_former_names(JointFacts, turns="rotary")


@dataclass(frozen=True)
class AngleFacts:
    """Angles of a joint or link under one name, with the texts of the file."""

    name: str
    key: str
    values: tuple[float, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RobotFacts:
    """All bodies and joints, and the payload; gravity is None if unknown."""

    name: str
    bodies: tuple[BodyFacts, ...]
    joints: tuple[JointFacts, ...]
    gravity: Triple | None = None
    payload: BodyFacts | None = None

    @cached_property
    def massive(self) -> tuple[BodyFacts, ...]:
        """Bodies that move and have a mass."""
        return tuple(body for body in self.bodies if body.moves and body.mass > 0)

    @property
    def mass(self) -> float:
        """Mass of all bodies that move, kg."""
        return sum(body.mass for body in self.massive)

    @property
    def reach(self) -> float:
        """Sum of the distances between joints, metres."""
        return sum(joint.length for joint in self.joints)


add_former_names(RobotFacts, weighty="massive")
