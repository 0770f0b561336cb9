"""The parts of a description: joints, links, frames, loops and the payload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from armwright.algebra import Scalar, Vector
from armwright.former_names import add_former_names
from armwright.mechanism import Link
from armwright.model.composite import composite
from armwright.model.inertia import checked_tensor
from armwright.model.mimic import Mimic
from armwright.model.transforms import IDENTITY_TRANSFORM, ZERO_TENSOR, Tensor, Transform, Triple, symmetric, triple

if TYPE_CHECKING:
    from armwright.model.visual import Visual


@dataclass(frozen=True)
class JointModel:
    """One freedom: its placement, limits and drive. `theta` and `d` are the constant parts.

    Its frame is placed by Rot(z, gamma) Trans(a, y, z) Rot(x, alpha) Rot(z, theta) Trans(z, d) in the frame of the
    parent; gamma, y and z are zero in a row of a DH table. A joint with several freedoms, such as a ball, is a sequence
    of these: `kind` is the type of the joint, `freedom` counts from 0, and the first has the placement.

    A spring at the joint has the torque -spring_stiffness x - spring_curve[0] x^2 - spring_curve[1] x^3 with x = q -
    spring_rest. The rest of a ball is a rotation vector; that of a free joint a position and a rotation vector, each
    entry with its freedom.
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
        """True for a translation."""
        return self.type == "prismatic"

    @property
    def armature(self) -> float:
        """The rotor inertia, reflected to the joint."""
        return self.rotor_inertia * self.gear * self.gear

    @property
    def sprung(self) -> bool:
        """True for a joint with a spring."""
        return bool(self.spring_stiffness or any(self.spring_curve))


@dataclass(frozen=True)
class LinkModel:
    """A rigid body in its link frame; `inertia` is about the centre of mass, `visuals` are for viewers.

    The weight of `compensated_mass` at `compensated_com` is carried by a device other than the drives.
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
        """Return the rigid body, with every number as a scalar."""
        return Link(number(self.mass), Vector(*map(number, self.com)), symmetric(self.inertia, number))


@dataclass(frozen=True)
class Frame:
    """A named frame: the link it is fixed to (-1 for the base), and its pose in the frame of that link."""

    name: str
    link: int
    pose: Transform = IDENTITY_TRANSFORM


@dataclass(frozen=True)
class LoopModel:
    """Two links (-1 for the base) that meet in a frame on each: at a point, or in position and rotation if a `weld`.

    `dependent` are the joints that the loop determines; without them it is a constraint. `assembly` is the sign of the
    assembly, one of two, to which the closed position `reference` belongs.
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
    """A body fixed to the tool, in the tool frame; `inertia` is about its centre of mass."""

    mass: float
    com: Triple = (0.0, 0.0, 0.0)
    inertia: Tensor = ZERO_TENSOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia", checked_tensor("payload", self.inertia))

    def combined(self, other: Payload) -> Payload:
        """Return the payload of both bodies together."""
        both = composite([self.body(float), other.body(float)])
        xx, xy, xz = (triple(row) for row in both.inertia.matrix)
        return Payload(both.mass, triple(both.com), (xx, xy, xz))

    def body(self, number: Callable[[float], Scalar]) -> Link:
        """Return the rigid body, with every number as a scalar."""
        return Link(number(self.mass), Vector(*map(number, self.com)), symmetric(self.inertia, number))


add_former_names(Payload, beside="combined")
