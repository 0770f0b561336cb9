"""The dynamics of a robot: torques, accelerations, energies, momentum, loop constraints and contacts."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import check_finite, checked_array, common_shape
from armwright.errors import InputError
from armwright.formulations.problem import ARGUMENT_MEANINGS
from armwright.function import Wrenches
from armwright.kinematics import close_loops
from armwright.kinematics.contacts import (
    ContactMotion,
    Contacts,
    SupportForces,
    constrained_motion,
    contact_drift,
    contact_jacobian,
    contact_rows,
    support_base,
    wrenches_by_name,
)
from armwright.lazy import cached_property
from armwright.robot.kinematics import KinematicRobot


class DynamicsOptions(TypedDict, total=False):
    """Further loads of a state, and the formulation that solves it."""

    link_wrenches: Wrenches | None
    formulation: str | None


class DynamicRobot(KinematicRobot):
    """A robot with its dynamics. Positions q have the shape (..., nq), velocities and torques (..., n)."""

    # fmt: off
    @overload
    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tip_wrench: ArrayLike | None = None, *,
        raises: Literal[True] = True, **more: Unpack[DynamicsOptions],
    ) -> Array: ...

    @overload
    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tip_wrench: ArrayLike | None = None, *,
        raises: Literal[False], **more: Unpack[DynamicsOptions],
    ) -> tuple[Array, Array]: ...
    # fmt: on

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: bool = True,
    ) -> Array | tuple[Array, Array]:
        """Return the torques (..., n) that produce the accelerations qdd (..., n).

        tip_wrench     force and moment (..., 6) on the tool frame, in its axes; N and N m
        link_wrenches  the same for each link (..., links, 6), or by name of frame
        formulation    name of a formulation (`armwright.formulations`); by default the cheapest
        raises         if False, return (tau, good): `good` (...) marks the states that have a result, others are nan

        If forces hold loops, qdd must keep these closed; otherwise the torques produce the nearest qdd that does.
        A state without a finite result raises an error that names it.
        """
        if raises and tip_wrench is None and link_wrenches is None and formulation is None:
            return self._inverse_dynamics(q, qd, qdd)
        f = self._compiled("inverse_dynamics", formulation)
        if not raises:
            return f(q, qd, qdd, tip_wrench=tip_wrench, link_wrenches=link_wrenches, raises=False)
        return f(q, qd, qdd, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    # fmt: off
    @overload
    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, tip_wrench: ArrayLike | None = None, *,
        raises: Literal[True] = True, **more: Unpack[DynamicsOptions],
    ) -> Array: ...

    @overload
    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, tip_wrench: ArrayLike | None = None, *,
        raises: Literal[False], **more: Unpack[DynamicsOptions],
    ) -> tuple[Array, Array]: ...
    # fmt: on

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: bool = True,
    ) -> Array | tuple[Array, Array]:
        """Return the accelerations (..., n) that the torques tau (..., n) produce.

        The other arguments are those of `inverse_dynamics`. A singular mass matrix raises a `SingularError`.
        """
        if raises and tip_wrench is None and link_wrenches is None and formulation is None:
            return self._forward_dynamics(q, qd, tau)
        f = self._compiled("forward_dynamics", formulation)
        if not raises:
            return f(q, qd, tau, tip_wrench=tip_wrench, link_wrenches=link_wrenches, raises=False)
        return f(q, qd, tau, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def mass_matrix(self, q: ArrayLike, *, formulation: str | None = None) -> Array:
        """Return the mass matrix M(q) with rotors, shape (..., n, n)."""
        if formulation is None:
            return self._mass_matrix(q)
        return self._compiled("mass_matrix", formulation)(q)

    def bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
    ) -> Array:
        """Return the torques (..., n) for zero acceleration: gravity, velocity products, friction, springs, wrenches.

        The arguments are those of `inverse_dynamics`.
        """
        return self._compiled("bias", formulation)(q, qd, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def joint_torque(
        self,
        joint: int,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
    ) -> Array:
        """Return the torque (...) of one joint, counted from 0, computed without those of the others (Grigorov 2013).

        The other arguments are those of `inverse_dynamics`. A joint that does not exist raises an `InputError`.
        """
        if not isinstance(joint, Integral) or isinstance(joint, bool) or not 0 <= joint < self.n:
            raise InputError(f"joint = {joint!r}: expected a whole number from 0 to {self.n - 1}")
        f = self._compiled(f"joint_torque[{joint}]")
        return f(q, qd, qdd, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """Return g(q), the torques (..., n) that balance weight and springs: the gradient of `potential_energy`."""
        return self._compiled("gravity_torque")(q)

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return C(q, qd) of Christoffel symbols, shape (..., n, n): dM/dt - 2C is skew-symmetric."""
        return self._compiled("coriolis_matrix")(q, qd)

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy (...) with rotors, joules."""
        return self._compiled("kinetic_energy")(q, qd)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy (...) of weight and springs, joules.

        That of weight is zero with every centre of mass level with the world's origin, that of springs at their rest.
        """
        return self._compiled("potential_energy")(q)

    def gibbs_function(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the Gibbs function (...) with rotors, J/s^2: its gradient by qdd is the torque without friction."""
        return self._compiled("gibbs_function")(q, qd, qdd)

    def inverse_dynamics_derivatives(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array, Array]:
        """Return dtau/dq, dtau/dqd and M = dtau/dqdd, each of shape (..., n, n): row i for torque i."""
        return _three_matrices(self._compiled("inverse_dynamics_derivatives")(q, qd, qdd))

    def forward_dynamics_derivatives(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array, Array]:
        """Return dqdd/dq, dqdd/dqd and M^-1 = dqdd/dtau, each of shape (..., n, n): row i for acceleration i."""
        return _three_matrices(self._compiled("forward_dynamics_derivatives")(q, qd, tau))

    def centroidal_momentum(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return momentum, then angular momentum about the centre of mass, in the axes of the world; shape (..., 6).

        Links and payload count. Rotors do not: only their inertia about their joint is known.
        """
        return self._compiled("centroidal_momentum")(q, qd)

    def centroidal_momentum_matrix(self, q: ArrayLike) -> Array:
        """Return A with A qd = `centroidal_momentum`, shape (..., 6, n)."""
        return self._compiled("centroidal_momentum_matrix")(q)

    def constraint_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: ArrayLike | None = None,
    ) -> Array:
        """Return force and moment of every loop constraint under the torques tau (..., n), shape (..., loops, 6).

        They act on the first link of the loop, at its loop frame and in the axes of that frame; the opposite acts on
        the second link. If loops are redundant, these are the smallest of all forces with the same effect.
        """
        return self._compiled("constraint_forces")(q, qd, tau, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def loop_errors(self, q: ArrayLike) -> Array:
        """Return distance (m) and rotation between the ends of every loop constraint, shape (..., loops, 6).

        The axes are those of the last link that both ends share. The rotation of a weld by an angle up to pi is a
        vector along its axis of length 2 sin(angle / 2); that of a point is zero.
        """
        return self._compiled("loop_errors")(q)

    def closed(self, q: ArrayLike, qd: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return the nearest position (nq,) at which all loops are closed, and velocities (n,) that keep them closed.

        If loops cannot close exactly, the position is where they are open the least, and a warning gives the gap. A
        gap above 0.01 m or rad raises an `UnreachableError`.
        """
        at = checked_array("q", q, (self.nq,), np.dtype(float), "one position per joint")
        v = checked_array(
            "qd", np.zeros(self.n) if qd is None else qd, (self.n,), np.dtype(float), "one velocity per joint"
        )
        if at.ndim > 1 or v.ndim > 1:
            raise InputError(f"closed got q of shape {at.shape} and qd of shape {v.shape}; expected one state")
        if all(loop.dependent for loop in self.loops):
            return at, v
        return close_loops(self, self.loop_errors, self._compiled("loop_jacobian"), at, v)

    def support_forces(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, contacts: Contacts) -> SupportForces:
        """Return torques `tau` (..., n) that produce qdd, and the contact `wrenches` that support the floating base.

        `contacts` is a list of names of frames, for contacts at their origins, or a mapping from names to "point" or
        "frame", which transmits moments, too. The base gets no torque. Of all forces that support it these are the
        shortest, a newton weighing as much as a newton metre; they may pull, and know no friction. Wrenches (..., 6)
        are by name, in the axes of the frames: as `link_wrenches` of `inverse_dynamics` they balance the base.
        Contacts that cannot support the base raise a `SingularError`.
        """
        rows = contact_rows(self, contacts)
        tau, f = support_base(self, self.inverse_dynamics(q, qd, qdd), contact_jacobian(self, rows, q))
        return SupportForces(tau, wrenches_by_name(self, rows, q, f))

    def contact_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, contacts: Contacts) -> ContactMotion:
        """Return the accelerations `qdd` (..., n) under the torques tau at fixed `contacts`, and the `wrenches` there.

        Contacts and wrenches are those of `support_forces`. Contact points and frames do not accelerate; if they
        move, they keep their velocity. Contacts that contradict each other, as two points of a rotating body do, raise
        a `SingularError`.
        """
        rows = contact_rows(self, contacts)
        inputs = {"q": (q, self.nq), "qd": (qd, self.n), "tau": (tau, self.n)}
        arrays = {
            name: checked_array(name, x, (size,), np.dtype(float), ARGUMENT_MEANINGS[name])
            for name, (x, size) in inputs.items()
        }
        batch = common_shape({name: (x, 1) for name, x in arrays.items()})
        check_finite("tau", arrays["tau"])
        q, qd, tau = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays.values())
        force = tau - self.bias(q, qd)
        rate = contact_drift(self, rows, q, qd)
        qdd, f = constrained_motion(self, self.mass_matrix(q), force, contact_jacobian(self, rows, q), rate)
        return ContactMotion(qdd, wrenches_by_name(self, rows, q, f))

    @cached_property
    def _inverse_dynamics(self) -> Callable[..., Array]:
        return self._compiled("inverse_dynamics").single

    @cached_property
    def _mass_matrix(self) -> Callable[..., Array]:
        return self._compiled("mass_matrix").single

    @cached_property
    def _forward_dynamics(self) -> Callable[..., Array]:
        return self._compiled("forward_dynamics").single


def _three_matrices(result: Array) -> tuple[Array, Array, Array]:
    return result[..., 0, :, :], result[..., 1, :, :], result[..., 2, :, :]
