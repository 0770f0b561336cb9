"""The kinematics of a robot: poses, Jacobians, positions on their manifold, joint rates and inverse kinematics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import check_finite, checked_array, common_shape, scalars, stacked
from armwright.errors import InputError, unknown
from armwright.kinematics import (
    Orientation,
    Targets,
    inverse_kinematics,
    joint_rates,
    orientations_of,
    targets_by_frame,
)
from armwright.manifold import difference, moved
from armwright.model.unit_vectors import checked_unit_vectors
from armwright.robot.compiled import CompiledRobot

MAX_SPEED = 1e100
"""Largest velocity that `integrate` accepts for balls: its square must not overflow."""


class SearchOptions(TypedDict, total=False):
    """Options of inverse kinematics."""

    frame: str | None
    orientation: Orientation
    path: bool
    tolerance: float
    attempts: int
    seed: int
    target: str


class KinematicRobot(CompiledRobot):
    """A robot with its kinematics. Positions q have the shape (..., nq), velocities (..., n)."""

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the velocity (..., n) that leads from q0 (..., nq) to q1 in one second.

        It is q1 - q0 except for ball and free joints. For these it is a rotation vector, or the twist of a screw
        motion, in the axes of the body, as Pinocchio defines it.
        """
        ends = self._checked_positions("q0", q0), self._checked_positions("q1", q1)
        batch = common_shape({"q0": (ends[0], 1), "q1": (ends[1], 1)})
        return stacked(difference(self.balls, *(scalars(q, batch) for q in ends)), batch, np.dtype(float))

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the position (..., nq) one second after q (..., nq) at the constant velocity v (..., n).

        It is q + v except for ball, free and planar joints, whose v is in the axes of the body, as in Pinocchio.
        """
        start = self._checked_positions("q", q)
        velocity = checked_array("v", v, (self.n,), np.dtype(float), "one velocity per freedom")
        check_finite("v", velocity)
        if self.balls and (fastest := float(np.abs(velocity).max(initial=0.0))) > MAX_SPEED:
            raise InputError(f"v has an entry of size {fastest:.3g}; expected velocities below {MAX_SPEED:g}")
        batch = common_shape({"q": (start, 1), "v": (velocity, 1)})
        ends = moved(self.balls, scalars(start, batch), scalars(velocity, batch))
        return self.unit(stacked(ends, batch, np.dtype(float)))

    def _checked_positions(self, name: str, q: ArrayLike) -> Array:
        array = checked_array(name, q, (self.nq,), np.dtype(float), "a position")
        check_finite(name, array)
        return checked_unit_vectors(self, name, array)

    def forward_kinematics(self, q: ArrayLike, frame: str | None = None) -> Array:
        """Return the pose of the tool, or of the frame of that name, in the world; shape (..., 4, 4)."""
        return self._view_at(frame)._compiled("forward_kinematics")(q)

    def link_poses(self, q: ArrayLike) -> Array:
        """Return the poses of the link frames in the world, shape (..., links, 4, 4)."""
        return self._compiled("link_poses")(q)

    def link_positions(self, q: ArrayLike) -> Array:
        """Return the origins of frame 0, each link frame and the tool frame in the world, shape (..., links + 2, 3).

        A robot with several tips of which none is chosen has no tool: the shape is (..., links + 1, 3).
        """
        return self._compiled("link_positions")(q)

    def jacobian(self, q: ArrayLike, frame: str | None = None, *, axes: str = "world") -> Array:
        """Return J with J qd = velocity of the origin of a frame, then its angular velocity; shape (..., 6, n).

        frame  name of a frame (`frame_names`), the tool by default. For the tool, frame="base" and frame="tip" are
               short for axes="world" and axes="frame", unless frames of the robot have these names
        axes   "world", or "frame" for the axes of the frame itself

        The torques that balance a tip wrench are -J^T tip_wrench, with J in the axes of the frame.
        """
        view, axes = self._view_and_axes(frame, axes)
        return view._compiled(_problem_in_axes(axes, "jacobian"))(q)

    def jacobian_derivative(
        self, q: ArrayLike, qd: ArrayLike, frame: str | None = None, *, axes: str = "world"
    ) -> Array:
        """Return dJ/dt of `jacobian` at the velocity qd (..., n), shape (..., 6, n)."""
        view, axes = self._view_and_axes(frame, axes)
        return view._compiled(_problem_in_axes(axes, "jacobian_derivative"))(q, qd)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass of all links and the payload in the world, shape (..., 3), metres."""
        return self._compiled("center_of_mass")(q)

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """Return J with J qd = velocity of the centre of mass, in the axes of the world; shape (..., 3, n)."""
        return self._compiled("center_of_mass_jacobian")(q)

    def partial_velocities(self, q: ArrayLike) -> Array:
        """Return Kane's partial velocities in the axes of the world, shape (..., links, 6, n).

        Times qd they are each link's velocity at its centre of mass, then its angular velocity.
        """
        return self._compiled("partial_velocities")(q)

    def convective_accelerations(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the accelerations of each link for qdd = 0, in its link frame; shape (..., links, 3, 3).

        Rows: angular, of the origin, of the centre of mass (Grigorov's C_eps, C_V and C_VC).
        """
        return self._compiled("convective_accelerations")(q, qd)

    def joint_velocities(
        self, q: ArrayLike, twist: ArrayLike, frame: str | None = None, *, axes: str = "world", damping: float = 0.0
    ) -> Array:
        """Return qd (..., n) with J qd = twist (..., 6), for J of `jacobian`.

        twist    velocity of the origin of the tool (or of `frame`), then its angular velocity; m/s and rad/s
        damping  if above zero, |J qd - twist|^2 + damping^2 |qd|^2 is minimised

        Of several solutions it is the shortest; with fewer than six joints it is the least-squares solution, in which
        a metre weighs as much as a radian. A `SingularError` reports a twist that a singular position cannot produce.
        """
        return joint_rates(self, self.jacobian(q, frame, axes=axes), "twist", twist, None, damping)

    def joint_accelerations(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        twist_rate: ArrayLike,
        frame: str | None = None,
        *,
        axes: str = "world",
        damping: float = 0.0,
    ) -> Array:
        """Return qdd (..., n) with J qdd + dJ/dt qd = twist_rate (..., 6), the rate of the twist's components.

        Frame, axes, damping, the choice among solutions and the errors are those of `joint_velocities`.
        """
        drift = (self.jacobian_derivative(q, qd, frame, axes=axes) @ np.asarray(qd, float)[..., None])[..., 0]
        return joint_rates(self, self.jacobian(q, frame, axes=axes), "twist_rate", twist_rate, drift, damping)

    @overload
    def inverse_kinematics(
        self, T: Targets, q0: ArrayLike | None = None, *, raises: Literal[True] = True, **more: Unpack[SearchOptions]
    ) -> Array: ...

    @overload
    def inverse_kinematics(
        self, T: Targets, q0: ArrayLike | None = None, *, raises: Literal[False], **more: Unpack[SearchOptions]
    ) -> tuple[Array, Array]: ...

    def inverse_kinematics(
        self,
        T: Targets,
        q0: ArrayLike | None = None,
        *,
        frame: str | None = None,
        orientation: Orientation = "full",
        path: bool = False,
        tolerance: float = 1e-10,
        attempts: int = 100,
        seed: int = 0,
        raises: bool = True,
        target: str = "cpu",
    ) -> Array | tuple[Array, Array]:
        """Return joint positions (..., nq) within the limits that bring the tool frame to the poses T (..., 4, 4).

        T            poses of the tool, or of the frame that `frame` names; or a mapping from names of frames to poses
                     that are reached at the same time
        q0           starting positions. Without them, and where they do not lead to the target, starts are random
        orientation  "full"; "axis": the z axis of the tool is that of T, the rotation about it is free; "free": only
                     the position counts. For several frames a mapping by name, "full" for the others
        path         the poses along the first axis of T are a path: each position starts from the one before, and no
                     joint jumps. Between distant poses the tool moves straight
        tolerance    largest error of a pose, metres and radians; rounding costs about 1e-14
        attempts     starts before a target counts as unreachable; `seed` chooses them
        raises       if False, return (q, solved), with the nearest q found where solved is False; if True, an
                     unreachable target raises an `UnreachableError`
        target       "cpu", or "cuda" for an NVIDIA card, with the same result except for rounding. Poses and q0 of
                     CuPy, PyTorch or JAX stay on the card, and the result is such an array; `path` is not available
        """
        targets = targets_by_frame(T, frame)
        counts, frames = orientations_of(orientation, targets), tuple(targets) if isinstance(targets, Mapping) else ()
        solver = self._solver(counts, path, frames, target)
        found = inverse_kinematics(solver, targets, q0, path, tolerance, attempts, seed)
        if not raises:
            return found.q, found.solved
        if found.failure is not None:
            raise found.failure
        return found.q


def _problem_in_axes(axes: str, problem: str) -> str:
    """Return the name of a problem in the axes of the world or of the frame."""
    names = {"world": problem, "frame": f"tip_{problem}"}
    if not isinstance(axes, str) or axes not in names:
        raise unknown("axes", axes, names)
    return names[axes]
