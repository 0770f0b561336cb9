"""The parts of a description: joints, links, frames, loops and the payload."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from armwright.algebra import Scalar, Vector
from armwright.mechanism import Link
from armwright.model.inertia import checked_tensor
from armwright.model.mimic import Mimic

if TYPE_CHECKING:
    from armwright.model.visual import Visual
from armwright.model.composite import composite
from armwright.model.transforms import IDENTITY_TRANSFORM, ZERO_TENSOR, Tensor, Transform, Triple, symmetric, triple


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

    def body(self, number: Callable[[float], Scalar]) -> Link:
        """Return the rigid body, with every number turned into a scalar."""
        return Link(number(self.mass), Vector(*map(number, self.com)), symmetric(self.inertia, number))


@dataclass(frozen=True)
class Frame:
    """A frame of interest: its name, the link it is fixed to (-1 for the base), and where it stands in that frame."""

    name: str
    link: int
    pose: Transform = IDENTITY_TRANSFORM


@dataclass(frozen=True)
class LoopModel:
    """Two links held together by a frame on each: in a point, or whole if it is a `weld`; -1 is the base.

    `dependent` are the joints that it moves, `assembly` which of the two ways in which it can be put together, as at
    `reference`, where its joints are when it is closed. Where it moves none, forces hold it.
    """

    name: str
    links: tuple[int, int]
    poses: tuple[Transform, Transform] = (IDENTITY_TRANSFORM, IDENTITY_TRANSFORM)
    weld: bool = False
    dependent: tuple[str, ...] = ()
    assembly: int = 1
    reference: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Payload:
    """A body held by the tool, in the tool frame; `inertia` is about its centre of mass."""

    mass: float
    com: Triple = (0.0, 0.0, 0.0)
    inertia: Tensor = ZERO_TENSOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia", checked_tensor("payload", self.inertia))

    def combined(self, other: Payload) -> Payload:
        """Return one payload that stands for both bodies."""
        both = composite([self.body(float), other.body(float)])
        xx, xy, xz = (triple(row) for row in both.inertia.matrix)
        return Payload(both.mass, triple(both.com), (xx, xy, xz))

    def beside(self, other: Payload) -> Payload:
        """Return `combined(other)`; a deprecated name."""
        warnings.warn("Payload.beside goes in 0.4; use combined", DeprecationWarning, stacklevel=2)
        return self.combined(other)

    def body(self, number: Callable[[float], Scalar]) -> Link:
        """Return the rigid body, with every number turned into a scalar."""
        return Link(number(self.mass), Vector(*map(number, self.com)), symmetric(self.inertia, number))
