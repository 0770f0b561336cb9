"""Motions that excite every base parameter: finite Fourier series with a well conditioned base regressor.

J. Swevers, C. Ganseman, D. B. Tukel, J. De Schutter, H. Van Brussel, 'Optimal robot excitation and identification',
IEEE Trans. Robotics and Automation 13 (1997). Each joint moves by

    q = centre + sum over k of  sine_k sin(k w t) + cosine_k cos(k w t)

The motion is periodic, so that periods can be averaged, and its derivatives are known. Two combinations of the
coefficients vanish, so that every period starts and ends at rest and without acceleration.

Each shape is scaled to the limits and placed between them by its centre parameter. So the problem has no constraints,
and L-BFGS minimises the condition number.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Scalar, cos, sin
from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.identify.base_set import BaseParameters, base_parameters, random_states
from armwright.identify.parameter_vector import parameters
from armwright.identify.regressor_arrays import regressor
from armwright.lazy import cached_property
from armwright.progress import progress_callback
from armwright.robot import Robot
from armwright.trajectory.argument_checks import numbers, one_per_joint, positive, seconds
from armwright.trajectory.motion_base import OneFormula, Traced

COEFFICIENT_STEP = 1e-5  # of finite differences, for coefficients of size one
PEAK_SAMPLES = 4001  # samples used to find the peaks of the final motion
LIMIT_MARGIN = 1 - 1e-9  # for rounding
UNOBSERVABLE_CONDITION = 1e12  # beyond it a motion counts as rank deficient


@dataclass(frozen=True, repr=False)
class Fourier(OneFormula):
    """A finite Fourier series for each joint; `sine` and `cosine` are (n, harmonics), w is in radians per second."""

    centre: tuple[float, ...]
    sine: tuple[tuple[float, ...], ...]
    cosine: tuple[tuple[float, ...], ...]
    w: float

    @property
    def n(self) -> int:
        return len(self.centre)

    def trace(self, t: Scalar) -> Traced:
        time = t - self.span[0]
        rates = [self.w * (k + 1) for k in range(len(self.sine[0]))]
        s, c = ([f(time * rate) for rate in rates] for f in (sin, cos))
        q, qd, qdd = [], [], []
        for centre, *amplitudes in zip(self.centre, self.sine, self.cosine, strict=True):
            position, velocity, acceleration = centre, 0.0, 0.0
            for a, b, rate, sk, ck in zip(*amplitudes, rates, s, c, strict=True):
                swing = a * sk + b * ck
                position = position + swing
                velocity = velocity + (a * ck - b * sk) * rate
                acceleration = acceleration - swing * (rate * rate)
            q.append(position)
            qd.append(velocity)
            qdd.append(acceleration)
        return q, qd, qdd


@dataclass(frozen=True)
class ExcitationLimits:
    """The lowest and highest position, and the largest speed and acceleration, of every joint, each (n,)."""

    low: Array
    high: Array
    velocity: Array
    acceleration: Array


def excitation_limits(
    robot: Robot, position: ArrayLike | None, velocity: ArrayLike, acceleration: ArrayLike, margin: float
) -> ExcitationLimits:
    """Return the limits of a motion; raise `InputError` for a bad margin or a joint that cannot move."""
    if isinstance(margin, bool) or not isinstance(margin, Real) or not 0 <= margin < 0.5:
        raise InputError(f"margin = {margin!r}: expected a part of a joint's range, at least 0 and below 0.5")
    low, high = _positions(robot, position, float(margin))
    for joint, a, b in zip(robot.joints, low, high, strict=True):
        if not a < b:
            raise InputError(
                f"{joint.name} cannot move: its positions go from {a:g} to {b:g}; give position=(low, high)"
            )
    rates = {"velocity": velocity, "acceleration": acceleration}
    speed, growth = (_above_zero(name, rate, robot.n, "limits above zero") for name, rate in rates.items())
    fastest = np.minimum(speed, [(joint.max_velocity or math.inf) * (1 - margin) for joint in robot.joints])
    return ExcitationLimits(low, high, fastest, growth)


def _positions(robot: Robot, position: ArrayLike | None, margin: float) -> Array:
    """Return the lowest and highest position of every joint, (2, n): `position`, or the limits of the robot.

    A joint without limits gets a default range. The robot's range is reduced by the margin at both ends.
    """
    if position is None:
        limits = np.array([joint.limits or (-math.inf, math.inf) for joint in robot.joints]).T
        reach = np.where([joint.prismatic for joint in robot.joints], 0.5, np.pi)
        low, high = np.where(np.isfinite(limits), limits, np.stack([-reach, reach]))
        return np.stack([low + margin * (high - low), high - margin * (high - low)])
    limits = numbers("position", position, "lowest and highest position of every joint")
    if limits.shape not in ((2,), (2, robot.n)):
        raise InputError(f"position has shape {limits.shape}; expected (2, {robot.n}): the lowest, then the highest")
    return np.broadcast_to(limits.reshape(2, -1), (2, robot.n)).copy()


def _above_zero(name: str, value: ArrayLike, n: int, expected: str) -> Array:
    array = one_per_joint(name, value, n)
    if not (array > 0).all():
        raise InputError(f"{name} = {array.tolist()}: expected {expected}")
    return array


def condition(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    friction: bool = True,
    rotors: bool = True,
    noise: ArrayLike | None = None,
) -> float:
    """Return the condition number of the weighted base regressor along states (k, n): small if a motion excites well.

    Rows are divided by the noise of their joint (see `excitation`) and columns scaled to unit length, so that units do
    not matter. The best value is 1; it is infinite if the motion does not excite some base parameter.
    """
    base = base_parameters(robot, friction, rotors)
    W = base.columns(regressor(robot, q, qd, qdd)) / _noise(robot, noise)[:, None]
    W = W.reshape(-1, len(base))
    lengths = np.linalg.norm(W, axis=0)
    if len(W) < len(base) or lengths.min() <= lengths.max() / UNOBSERVABLE_CONDITION:
        return math.inf
    singular = np.linalg.svd(np.linalg.qr(W / lengths, "r"), compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > singular[0] / UNOBSERVABLE_CONDITION else math.inf


def _noise(robot: Robot, noise: ArrayLike | None) -> Array:
    """Return the divisors of the rows (n,): `noise`, or the rms torque of each joint over random states."""
    if noise is None:
        tau = regressor(robot, *random_states(robot, 200)) @ parameters(robot)
        typical: Array = np.sqrt((tau**2).mean(axis=0))
        largest = float(typical.max())
        return np.maximum(typical, 1e-3 * largest) if largest > 0 else np.ones(robot.n)
    return _above_zero("noise", noise, robot.n, "numbers above zero, one per joint")


def _spectrum(W: Array) -> tuple[Array, Array, Array]:
    """Return the lengths of the columns, and the eigenvalues and eigenvectors of W^T W with columns of unit length."""
    lengths = np.linalg.norm(W, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    unit = W / lengths
    values, vectors = np.linalg.eigh(unit.T @ unit)
    return lengths, values, vectors


@dataclass(frozen=True)
class ExcitationSearch:
    """The objective of the optimiser, a function of shapes: coefficients x (..., n, 2 (harmonics - 1) + 1)."""

    robot: Robot
    base: BaseParameters
    limits: ExcitationLimits
    harmonics: int
    w: float
    weights: Array
    samples: int

    @property
    def unknowns(self) -> tuple[int, int]:
        return self.robot.n, 2 * (self.harmonics - 1) + 1

    @cached_property
    def _free(self) -> tuple[Array, Array]:
        """The matrices from free coefficients to amplitudes with sum k sine_k = 0 and sum k^2 cosine_k = 0.

        So the motion starts at rest. Amplitudes fall with k, so that all harmonics contribute equally to the speed.
        """
        from scipy.linalg import null_space  # noqa: PLC0415

        k = np.arange(1, self.harmonics + 1)
        return null_space(np.ones((1, self.harmonics))) / k[:, None], null_space(k[None, :]) / k[:, None]

    def coefficients(self, x: Array, t: Array, gap: float = 0.0) -> tuple[Array, Array, Array]:
        """Return centre (..., n), sine and cosine (..., n, harmonics), scaled to the limits at the times t.

        With the `gap` between two times the limits hold between them too: a peak exceeds the nearest sample by at most
        gap^2 / 8 times the largest second derivative.
        """
        free = self.harmonics - 1
        sine, cosine = x[..., :free] @ self._free[0].T, x[..., free:-1] @ self._free[1].T
        q, qd, qdd = self._motion(np.zeros(x.shape[:-1]), sine, cosine, t)
        rates = self.w * np.arange(1, self.harmonics + 1)
        overshoot = [np.hypot(sine, cosine) @ rates ** (order + 2) * gap**2 / 8 for order in range(3)]
        lowest, highest = q.min(-2) - overshoot[0], q.max(-2) + overshoot[0]
        width = self.limits.high - self.limits.low
        ratios = [(highest - lowest) / width]
        maxima = (self.limits.velocity, self.limits.acceleration)
        for rate, excess, maximum in zip((qd, qdd), overshoot[1:], maxima, strict=True):
            ratios.append((np.abs(rate).max(-2) + excess) / maximum)
        scale = LIMIT_MARGIN / np.maximum(np.max(ratios, axis=0), 1e-300)
        play = width - scale * (highest - lowest)
        centre = self.limits.low - scale * lowest + play * (0.5 + 0.5 * np.sin(x[..., -1]))
        return centre, sine * scale[..., None], cosine * scale[..., None]

    def _motion(self, centre: Array, sine: Array, cosine: Array, t: Array) -> tuple[Array, Array, Array]:
        """Return q, qd, qdd of shape (..., times, n)."""
        rates = self.w * np.arange(1, self.harmonics + 1)
        s, c = np.sin(t[:, None] * rates), np.cos(t[:, None] * rates)
        parts = (
            sine @ s.T + cosine @ c.T + centre[..., None],
            sine @ (c * rates).T - cosine @ (s * rates).T,
            -(sine @ (s * rates**2).T) - cosine @ (c * rates**2).T,
        )
        q, qd, qdd = (np.ascontiguousarray(np.swapaxes(part, -1, -2)) for part in parts)
        return q, qd, qdd

    @cached_property
    def _times(self) -> Array:
        """The sampling times of a period, without its ends, which are at rest."""
        return 2 * np.pi / self.w * (np.arange(self.samples) + 0.5) / self.samples

    def _weighted(self, x: Array) -> Array:
        """Return the base regressors (shapes, rows, columns) of a batch of shapes, each row divided by its noise."""
        Y = regressor(self.robot, *self._motion(*self.coefficients(x, self._times), self._times))
        W = self.base.columns(Y) / self.weights[:, None]
        return W.reshape(len(x), -1, W.shape[-1])

    def conditions(self, x: Array) -> Array:
        """Return the logarithms of the condition numbers of a batch of shapes.

        They come from the eigenvalues of W^T W, which is fast and accurate enough below 1e7.
        """
        values = [_spectrum(W)[1] for W in self._weighted(x)]
        return np.array([0.5 * np.log(v[-1] / max(v[0], v[-1] / UNOBSERVABLE_CONDITION)) for v in values])

    def value_and_slope(self, flat: Array) -> tuple[float, Array]:
        """Return the logarithm of the condition number of one shape, and its derivatives by the coefficients.

        dW comes from finite differences, the extreme eigenvalues from perturbation theory: with W^T W v = d v for
        columns of unit length, the change of d is 2 (W v) (dW v), less the effect of rescaling the columns.
        """
        steps = np.concatenate([np.zeros((1, flat.size)), COEFFICIENT_STEP * np.eye(flat.size)])
        W, *others = self._weighted((flat + steps).reshape(-1, *self.unknowns))
        change = (np.array(others) - W) / COEFFICIENT_STEP
        lengths, values, vectors = _spectrum(W)
        ends, v = np.maximum(values[[0, -1]], values[-1] / UNOBSERVABLE_CONDITION), vectors[:, [0, -1]]
        u = v / lengths[:, None]
        stretched = np.einsum("mrb,rb->mb", change, W) / lengths**2
        slopes = 2 * np.einsum("mrb,bk,rk->mk", change, u, W @ u, optimize=["einsum_path", (0, 1), (0, 1)])
        slopes -= 2 * ends * np.einsum("mb,bk->mk", stretched, v**2)
        low, high = (slopes / ends).T
        return float(0.5 * np.log(ends[1] / ends[0])), 0.5 * (high - low)

    def trajectory(self, x: Array, periods: int) -> Fourier:
        """Return the motion of a shape x over some periods."""
        period = 2 * np.pi / self.w
        centre, sine, cosine = self.coefficients(x, np.linspace(0, period, PEAK_SAMPLES), period / (PEAK_SAMPLES - 1))
        a, b = (tuple(map(tuple, part.tolist())) for part in (sine, cosine))
        return Fourier((0.0, periods * period), tuple(centre.tolist()), a, b, self.w)


def excitation(
    robot: Robot,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    periods: int = 1,
    velocity: ArrayLike = 2.0,
    acceleration: ArrayLike = 8.0,
    position: ArrayLike | None = None,
    margin: float = 0.05,
    friction: bool = True,
    rotors: bool = True,
    noise: ArrayLike | None = None,
    starts: int = 48,
    iterations: int = 30,
    budget: float = 60.0,
    seed: int = 0,
) -> Fourier:
    """Return a motion that excites the base parameters of a robot, from rest to rest, within limits.

    period, harmonics       seconds of one period, and the number of multiples of its frequency
    velocity, acceleration  the largest allowed, one number or one per joint; max_velocity limits it too
    position                (lowest, highest); by default the robot's limits, or without limits a turn or a metre
    margin                  the part of that range left free at each end, and of max_velocity: a real arm overshoots
    friction, rotors        whether to identify these too
    noise                   of the measured torque, per joint; by default in proportion to the torque of the joint
    starts, iterations      number of random shapes, and of optimiser steps from the best of them
    budget                  seconds after which the best motion so far is returned. The same seed gives the same
                            motion, unless the budget runs out first

    Only joint limits are checked. Collisions of the arm with itself or the floor are not.
    """
    w = 2 * np.pi / seconds(period)
    minima = {"harmonics": 2, "periods": 1, "starts": 1, "seed": 0}
    for (name, smallest), number in zip(minima.items(), (harmonics, periods, starts, seed), strict=True):
        whole_number(name, number, smallest)
    _check_series(robot)
    base = base_parameters(robot, friction, rotors)
    bounds = excitation_limits(robot, position, velocity, acceleration, margin)
    rows = math.ceil(2 * len(base) / robot.n)  # two equations for each column
    search = ExcitationSearch(robot, base, bounds, harmonics, w, _noise(robot, noise), max(12 * harmonics, rows))
    best = _best_shape(search, starts, iterations, positive("budget", budget, "seconds"), seed)
    return search.trajectory(best, periods)


def _check_series(robot: Robot) -> None:
    """Raise `InputError` for joints whose coordinates are not integrals of their velocities."""
    if robot.balls:
        names = ", ".join(f"{robot.rows[ball.joint].name.rpartition('.')[0]} ({ball.kind})" for ball in robot.balls)
        raise InputError(
            f"excitation needs joints with one coordinate, and {robot.name} has {names}; hold such joints, or "
            "measure along another motion and check it with condition()"
        )


def _best_shape(search: ExcitationSearch, starts: int, iterations: int, budget: float, seed: int) -> Array:
    """Return the best of random shapes, improved by L-BFGS."""
    from scipy.optimize import minimize  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    end = time.perf_counter() + budget
    shapes = rng.normal(size=(starts, *search.unknowns))
    conditions = np.concatenate([search.conditions(shape[None]) for shape in shapes])
    best, lowest = shapes[np.argmin(conditions)].ravel(), float(conditions.min())

    def objective(flat: Array) -> tuple[float, Array]:
        nonlocal best, lowest
        value, slope = search.value_and_slope(flat)
        if value < lowest:
            best, lowest = flat.copy(), value
        return value, slope

    show_progress, steps = progress_callback(), itertools.count(1)

    def stop_at_budget(intermediate_result: Any) -> None:
        remaining = end - time.perf_counter()
        if show_progress is not None:
            show_progress(max(min(next(steps) / iterations, 1.0), 1 - max(remaining, 0.0) / budget))
        if remaining < 0:
            raise StopIteration

    if iterations > 0:
        options = {"maxiter": iterations, "maxfun": 2 * iterations}
        minimize(objective, best, jac=True, method="L-BFGS-B", options=options, callback=stop_at_budget)
    shape: Array = best.reshape(search.unknowns)
    return shape
