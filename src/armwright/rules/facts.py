"""What a rule looks at: a body, a joint, angles under one name, or all of a robot; in SI units and radians.

`robot` takes these facts from a robot as it is computed with, `check.facts` from a file as it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armwright.algebra import Array
from armwright.model.description import Triple
from armwright.rules.tensors import ROUNDING, near

LITTLE = 0.01
"""Of what a robot weighs: a body that weighs less hardly matters."""

NONE = 1e-12
"""m^2, of a body a micrometre wide: a tensor below is as good as none, one in wrong units may be little above."""


def minor(mass: float, total: float) -> bool:
    return abs(mass) < LITTLE * total


@dataclass(frozen=True, eq=False)
class BodyFacts:
    """Its mass, its tensor about the centre of mass, and what is known of its size.

    least, most   how long it is at least and at most, roughly; 0 where nothing is known
    length        how long its joints and shapes are, or links of this robot usually
    off           how far the centre of mass lies off its joints and shapes
    spin          the axis of a link that turns on the base: of its tensor nothing matters but the moment about that
    part          whether it may be welded to others, and so need not weigh anything
    moves, minor  whether any joint moves it; whether it hardly matters, and is judged mildly
    """

    name: str
    mass: float
    inertia: Array
    least: float = 0.0
    most: float = 0.0
    length: float = 0.0
    off: float = 0.0
    spin: Array | None = None
    part: bool = False
    moves: bool = True
    minor: bool = False

    @cached_property
    def largest(self) -> float:
        return float(np.max(np.abs(self.inertia)))

    @property
    def empty(self) -> bool:
        """Whether there is no tensor: all zero, or as small as the rounding errors of a program that wrote it."""
        return self.largest <= NONE * max(self.mass, 0.0)

    @cached_property
    def only_spins(self) -> bool:
        """Only a moment about the axis of the first joint: often all that is known, and all that matters."""
        if self.spin is None:
            return False
        about = float(self.spin @ self.inertia @ self.spin)
        return about > 0 and near(self.inertia, about * np.outer(self.spin, self.spin), ROUNDING)

    @cached_property
    def moments(self) -> Array:
        """The principal moments, the smallest first."""
        moments: Array = np.linalg.eigvalsh(self.inertia)
        return moments


@dataclass(frozen=True)
class JointFacts:
    """Its limits, friction and drive, None where they are not known; `length` is the way from the joint before.

    `armature` is the rotor inertia that the joint feels, `smooth` the speed within which dry friction rounds off.
    """

    name: str
    turns: bool = True
    limits: tuple[float, float] | None = None
    effort: float | None = None
    velocity: float | None = None
    viscous: float = 0.0
    coulomb: float = 0.0
    length: float = 0.0
    armature: float = 0.0
    smooth: float = 0.0


@dataclass(frozen=True)
class AngleFacts:
    """Angles of a joint or link under one name, and how they are written."""

    name: str
    key: str
    values: tuple[float, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RobotFacts:
    """All bodies and joints, and what is held; gravity is None where it is not known."""

    name: str
    bodies: tuple[BodyFacts, ...]
    joints: tuple[JointFacts, ...]
    gravity: Triple | None = None
    payload: BodyFacts | None = None

    @cached_property
    def weighty(self) -> tuple[BodyFacts, ...]:
        """The bodies that move and weigh something."""
        return tuple(body for body in self.bodies if body.moves and body.mass > 0)

    @property
    def mass(self) -> float:
        return sum(body.mass for body in self.weighty)

    @property
    def reach(self) -> float:
        return sum(joint.length for joint in self.joints)
