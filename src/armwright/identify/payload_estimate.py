"""The payload of a robot from measured torques: mass, centre of mass and inertia with their standard deviations.

The torques less those of the robot without payload are linear in the ten parameters of the payload in the tool frame.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array
from armwright.errors import InputError, ModelWarning
from armwright.former_names import add_former_names
from armwright.identify.base_set import independent_columns
from armwright.identify.parameter_vector import LINK_PARAMETERS, LINK_SIZE, frame_change, link_of_parameters, parameters
from armwright.identify.physical_consistency import NearestBodies, nearest_bodies, plausible_bodies
from armwright.identify.regressor_arrays import regressor, spring_torques
from armwright.lazy import cached_property
from armwright.model.records import LinkModel
from armwright.robot import Robot

WEIGHTING_ROUNDS = 5
DIFFERENCE_STEP = 1e-6  # relative step for the spread of centre of mass and tensor
MIN_STATES = 8  # with fewer, or under twice as many torques as parameters, standard deviations are too small
SIGNIFICANT_DEVIATIONS = 2.0  # standard deviations from which a number differs from zero
EIGENVALUE_ROUNDING = 1e-12  # relative eigenvalue of the correlations below which there is only rounding


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload in the tool frame. Parameters that the motion did not show are zero, with standard deviations of nan.

    ten, covariance       m, mx my mz, Ixx Iyy Izz Ixy Ixz Iyz about the origin of the tool frame, (10,) and (10, 10)
    mass, com, inertia    as `Robot.with_payload` takes them; `inertia` is about the centre of mass
    *_deviation           their standard deviations
    noise                 the standard deviation of each joint's residual torque (n,)
    unseen                the names of parameters that the motion did not show
    states                their number
    possible              whether a body can have these parameters, within their standard deviations
    remark                a sentence if they are suspicious, else ""
    """

    empty_robot: Robot
    ten: Array
    covariance: Array
    noise: Array
    unseen: tuple[str, ...]
    states: int

    def __str__(self) -> str:
        com = ", ".join(f"{x:.4g} +- {sd:.1g}" for x, sd in zip(self.com, self.com_deviation, strict=True))
        unseen = f"; not shown by the motion: {', '.join(self.unseen)}" if self.unseen else ""
        remark = f"; {self.remark}" if self.remark else ""
        return f"{self.mass:.4g} +- {self.mass_deviation:.1g} kg, centre of mass ({com}) m{unseen}{remark}"

    @cached_property
    def _derived(self) -> Array:
        return _body_numbers(self.ten)

    @cached_property
    def _deviations(self) -> Array:
        """The standard deviations of mass, centre of mass and the nine entries of the tensor, to first order."""
        size = np.maximum(np.abs(self.ten), np.sqrt(np.nan_to_num(np.diagonal(self.covariance))))
        steps = DIFFERENCE_STEP * np.where(size > 0, size, 1.0)
        slopes = [(_body_numbers(self.ten + h) - _body_numbers(self.ten - h)) / 2 for h in np.diag(steps)]
        J = np.array(slopes).T / steps
        variance = np.einsum("ij,jk,ik->i", J, np.nan_to_num(self.covariance), J)
        lost = (np.abs(J) > 1e-12) @ np.isnan(np.diagonal(self.covariance))
        return np.where(lost, np.nan, np.sqrt(np.maximum(variance, 0)))

    @property
    def mass(self) -> float:
        return float(self.ten[0])

    @property
    def mass_deviation(self) -> float:
        return float(self._deviations[0])

    @property
    def com(self) -> Array:
        return self._derived[1:4]

    @property
    def com_deviation(self) -> Array:
        return self._deviations[1:4]

    @property
    def inertia(self) -> Array:
        return self._derived[4:].reshape(3, 3)

    @property
    def inertia_deviation(self) -> Array:
        return self._deviations[4:].reshape(3, 3)

    @property
    def remark(self) -> str:
        if self.mass < -SIGNIFICANT_DEVIATIONS * self.mass_deviation:
            return (
                f"a mass of {self.mass:.3g} +- {self.mass_deviation:.1g} kg is that of no body: signs, units, another "
                "robot, or an inaccurate model (tau_without= needs no model)"
            )
        if not self.mass > SIGNIFICANT_DEVIATIONS * self.mass_deviation:
            return f"{self.mass:.2g} +- {self.mass_deviation:.1g} kg may as well be nothing"
        if not self.possible:
            return f"no body has these numbers; the nearest one is {self.departure:.1f} standard deviations away"
        return ""

    @property
    def possible(self) -> bool:
        """The true body is about sqrt(count) standard deviations away; fewer states make these less certain."""
        count = LINK_SIZE - len(self.unseen)
        limit = (count + 4 * math.sqrt(2 * count)) * (1 + MIN_STATES / self.states)
        return self.mass >= -SIGNIFICANT_DEVIATIONS * self.mass_deviation and self.departure**2 <= limit

    @property
    def departure(self) -> float:
        """The distance from the measured parameters to those of `body`, in standard deviations."""
        return math.sqrt(2 * self._problem.misfit(self._nearest))

    @cached_property
    def _problem(self) -> NearestBodies:
        """The search for the nearest body, over the parameters that the motion showed."""
        shown = np.array([name not in self.unseen for name in LINK_PARAMETERS])
        deviations = np.sqrt(np.diagonal(self.covariance)[shown])
        values, vectors = np.linalg.eigh(self.covariance[np.ix_(shown, shown)] / np.outer(deviations, deviations))
        R = (vectors / np.sqrt(np.maximum(values, EIGENVALUE_ROUNDING * values.max()))).T / deviations
        known = np.where(shown, self.ten, 0.0)
        return NearestBodies(R @ np.eye(LINK_SIZE)[shown], R @ known[shown], plausible_bodies(known[None]), np.empty(0))

    @cached_property
    def _nearest(self) -> Array:
        try:
            nearest = nearest_bodies(self._problem)
        except np.linalg.LinAlgError:
            nearest = np.full(LINK_SIZE, np.nan)
        if not np.isfinite(nearest).all():
            raise InputError(f"no body is near {self.mass:.3g} kg with {self.com.tolist()}; expected other torques")
        return nearest

    @cached_property
    def body(self) -> LinkModel:
        """The physically consistent body nearest to the measured parameters."""
        if self.mass < -SIGNIFICANT_DEVIATIONS * self.mass_deviation:
            raise InputError(f"there is no body to hold: {self.remark}")
        return link_of_parameters("payload", self._nearest)

    @property
    def robot(self) -> Robot:
        """The robot with that body as its payload."""
        return self.empty_robot.with_payload(self.body.mass, self.body.com, self.body.inertia)


add_former_names(PayloadEstimate, held_by="empty_robot")


def _body_numbers(ten: Array) -> Array:
    """Return mass, centre of mass and the nine entries of the central tensor."""
    if ten[0] == 0:
        return np.concatenate([ten[:1], np.zeros(12)])
    body = link_of_parameters("payload", ten)
    return np.concatenate([[body.mass], body.com, np.ravel(body.inertia)])


def estimate_payload(
    robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, tau_without: ArrayLike | None = None
) -> PayloadEstimate:
    """Return the payload of a robot, from torques (k, n) measured along a motion with it.

    `tau_without` are torques of the same motion without payload. By default they come from the model, with friction
    and rotors. A result that is not significant, or that no body can have, raises a `ModelWarning`.
    """
    named = {"q": q, "qd": qd, "qdd": qdd, "tau": tau, "tau_without": tau_without}
    sizes = {"q": robot.nq}
    arrays = {name: _rows(name, x, sizes.get(name, robot.n)) for name, x in named.items() if x is not None}
    counts = {name: len(x) for name, x in arrays.items()}
    if len(set(counts.values())) > 1:
        raise InputError(f"numbers of rows differ: {counts}; expected one row for each state")
    empty = robot.without_payload()
    Y = regressor(empty, arrays["q"], arrays["qd"], arrays["qdd"])
    before = (
        arrays["tau_without"] if "tau_without" in arrays else Y @ parameters(empty) + spring_torques(empty, arrays["q"])
    )
    tool = robot.tool_frame
    link_columns = Y[..., LINK_SIZE * tool.link : LINK_SIZE * (tool.link + 1)]
    W = link_columns @ frame_change(np.array(tool.pose))
    size = float(np.sqrt(np.mean(arrays["tau"] ** 2 + before**2)))
    result = _weighted_fit(empty, W, arrays["tau"] - before, size)
    if result.remark:
        warnings.warn(f"payload of {robot.name}: {result.remark}", ModelWarning, stacklevel=2)
    return result


def _rows(name: str, value: ArrayLike, n: int) -> Array:
    array = np.atleast_2d(checked_array(name, value, (n,), np.dtype(float), "one number for each joint"))
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InputError(f"{name} of shape {array.shape}: expected (k, {n}) with finite numbers")
    return array


def _weighted_fit(robot: Robot, W: Array, tau: Array, size: float) -> PayloadEstimate:
    """Solve for the parameters that the motion shows, joints weighted by their residual torques.

    `size` is the rms of the torques before subtraction; residuals below its rounding count as zero.
    """
    n = robot.n
    shown = independent_columns(W.reshape(-1, LINK_SIZE), list(range(LINK_SIZE)))
    if 0 not in shown:
        raise InputError(f"no torque of {robot.name} depends on its payload in these states; expected others")
    min_rows = max(MIN_STATES, math.ceil(2 * len(shown) / n))
    if len(tau) < min_rows:
        raise InputError(
            f"{len(tau)} rows with {tau.size} torques for {len(shown)} numbers of the payload; expected at least "
            f"{min_rows} rows of different states, and hundreds to average the noise"
        )
    sizes = np.sqrt((tau**2).mean(axis=0))
    min_noise = 1e-12 * max(float(sizes.max()), size, 1e-3)
    noise = np.full(n, max(float(sizes.max()), min_noise))
    for _ in range(WEIGHTING_ROUNDS):
        A = (W[..., shown] / noise[:, None]).reshape(-1, len(shown))
        lengths = np.linalg.norm(A, axis=0)
        Q, R = np.linalg.qr(A / lengths)
        values = np.linalg.solve(R, Q.T @ (tau / noise).ravel()) / lengths
        residual = tau - W[..., shown] @ values
        freedom = len(tau) - np.sum((Q * Q).reshape(len(tau), n, -1), axis=(0, 2))
        noise = np.maximum(np.sqrt((residual**2).sum(axis=0) / np.maximum(freedom, 1.0)), min_noise)
    inverse = np.linalg.inv(R) / lengths[:, None]
    ten, covariance = np.zeros(LINK_SIZE), np.full((LINK_SIZE, LINK_SIZE), np.nan)
    ten[shown] = values
    covariance[np.ix_(shown, shown)] = inverse @ inverse.T
    unseen = tuple(LINK_PARAMETERS[k] for k in range(LINK_SIZE) if k not in shown)
    return PayloadEstimate(robot, ten, covariance, noise, unseen, len(tau))
