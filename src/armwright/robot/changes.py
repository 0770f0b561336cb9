"""Copies of a robot with other gravity, tools, payloads, drives or loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Self, TypeAlias

from numpy.typing import ArrayLike

from armwright.errors import InputError, ModelError, ModelWarning
from armwright.model import toml
from armwright.model.description import Description
from armwright.model.drive_settings import with_drives
from armwright.model.followers import with_differential
from armwright.model.loop_tables import with_loop_table
from armwright.model.table_reader import Reader, as_transform
from armwright.model.transforms import IDENTITY_TRANSFORM, ZERO_TENSOR, compose
from armwright.rules.apply import payload_problems

PerJoint: TypeAlias = ArrayLike | Sequence[Any] | Mapping[str, Any] | None
"""One value for all joints, a list with one per joint, or a mapping from joint names; None changes nothing."""


class ChangeableRobot(Description):
    """A description whose `with_*` methods return changed copies. A robot itself never changes."""

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """Return a copy under another gravity: the acceleration of free fall (3,) in the world frame, m/s^2."""
        reader = Reader({"gravity": gravity}, lambda _key: "with_gravity")
        return replace(self, gravity=reader.triple("gravity"))

    def with_base(self, transform: ArrayLike) -> Self:
        """Return a copy with another base: the transform (4, 4) from the world to frame 0.

        Frame 0 of a robot from a URDF or MuJoCo file is a canonical frame, not the root of the file: see `mounted`.
        """
        return replace(self, base=as_transform(transform, _error_at("with_base")))

    def mounted(self, transform: ArrayLike) -> Self:
        """Return a copy mounted elsewhere: the transform (4, 4) takes the origin of the world, the root of a file."""
        mount = as_transform(transform, _error_at("mounted"))
        return replace(self, base=compose(mount, self.base))

    def with_tool(self, transform: ArrayLike) -> Self:
        """Return a copy with another tool: the transform (4, 4) from the last frame of its table to the tool frame."""
        return replace(self, tool=as_transform(transform, _error_at("with_tool")))

    def with_tip(self, name: str) -> Self:
        """Return a copy whose tip is the frame of that name (`frame_names`), without a tool.

        The payload is in that frame. A frame that is fixed to the base raises an `InputError`.
        """
        frame = self.frame(name)
        if frame.link < 0:
            raise InputError(f"with_tip: frame {name!r} is fixed to the base; expected one that moves")
        return replace(self, tip=frame.link, flange=frame.pose, tool=IDENTITY_TRANSFORM)

    def with_payload(
        self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike = ZERO_TENSOR, *, beside: bool = False
    ) -> Self:
        """Return a copy with another payload, and warn of an impossible inertia.

        mass     kg
        com      centre of mass (3,) in the tool frame (the last frame, if there is no tool), metres
        inertia  tensor (3, 3) about the centre of mass, in the axes of the tool frame, kg m^2
        beside   add the payload to the present one, as a workpiece to a gripper, instead of replacing it
        """
        body = {"mass": mass, "com": com, "inertia": inertia}
        payload = toml.read_payload(body, lambda _key: "with_payload")
        for problem in payload_problems(replace(self, payload=payload)):
            warnings.warn(problem, ModelWarning, stacklevel=2)
        return replace(self, payload=payload.combined(self.payload) if beside and self.payload else payload)

    def without_payload(self) -> Self:
        """Return a copy without a payload."""
        return replace(self, payload=None)

    def with_friction(self, viscous: PerJoint = None, coulomb: PerJoint = None, smooth: PerJoint = None) -> Self:
        """Return a copy with other friction: viscous qd + coulomb sign(qd), or tanh(qd / smooth) for the sign.

        Each is one number for all joints of one freedom (0 for all joints), a list, or a mapping by name; None keeps
        the present values. Units: N m s and N m (N s/m and N for prismatic joints), rad/s (m/s).
        """
        return with_drives(self, "with_friction", viscous=viscous, coulomb=coulomb, smooth=smooth)

    def with_springs(self, stiffness: PerJoint = None, rest: PerJoint = None) -> Self:
        """Return a copy with other springs parallel to its joints, of torque -stiffness (q - rest).

        Each is one number for all joints of one freedom (0 for all joints), a list, or a mapping by name; None keeps
        the present values. Units: N m/rad (N/m), rad (m). These springs are no elastic gearboxes: they help the drive.
        """
        return with_drives(self, "with_springs", stiffness=stiffness, rest=rest)

    def with_limits(self, position: PerJoint = None, velocity: PerJoint = None, torque: PerJoint = None) -> Self:
        """Return a copy with other limits: (low, high) of the position, and the largest speed and torque of the joint.

        Each is one for all joints, a list with one per joint, or a mapping by name; None keeps the present values.
        inf, or None for a single joint, means no limit.
        """
        return with_drives(self, "with_limits", position=position, velocity=velocity, torque=torque)

    def with_rotors(self, inertia: PerJoint = None, gear: PerJoint = None) -> Self:
        """Return a copy with other rotors: inertia about their axis, kg m^2, and gear, their turns per joint turn.

        Each is one number for all joints of one freedom (0 for all joints), a list, or a mapping by name; None keeps
        the present values. A joint feels inertia gear^2.
        """
        return with_drives(self, "with_rotors", inertia=inertia, gear=gear)

    def with_loop(
        self,
        links: Sequence[str],
        at: Sequence[ArrayLike | str] | None = None,
        *,
        dependent: Sequence[str] | None = None,
        reference: Mapping[str, float] | None = None,
        kind: str = "point",
        name: str | None = None,
    ) -> Self:
        """Return a copy in which a frame on one link coincides with a frame on another.

        links      names of the two links; "base" is a link, too
        at         for each link a point (3,), a transform (4, 4) or the name of a frame, in the frame of the link
        dependent  in a plane, the two joints that the loop moves: they are found in closed form and are no longer
                   coordinates. By default those whose largest torque is zero. Without any, forces hold the loop
        reference  approximate positions of joints when the loop is closed, which select one of two ways of assembly
        kind       "weld" holds whole frames together, "point" their origins
        """
        data = {"links": links, "at": at, "dependent": dependent, "reference": reference, "kind": kind, "name": name}
        return with_loop_table(self, data, lambda _key: f"robot {self.name!r}, loop")

    def with_differential(self, joint: str, terms: Mapping[str, float], offset: float = 0.0) -> Self:
        """Return a copy in which a joint follows others: its position is the sum of terms times theirs, plus offset."""
        return with_differential(self, joint, terms, offset)


def _error_at(method: str) -> Callable[[str], NoReturn]:
    """Return a function that raises a `ModelError` with the name of a method."""

    def fail(message: str) -> NoReturn:
        raise ModelError(f"{method}: {message}")

    return fail
