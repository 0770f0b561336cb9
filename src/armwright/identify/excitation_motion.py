"""Motions that show every parameter: finite Fourier series with a small condition number of the base regressor.

J. Swevers, C. Ganseman, D. B. Tukel, J. De Schutter, H. Van Brussel, 'Optimal robot excitation and identification',
IEEE Trans. Robotics and Automation 13 (1997). Each joint moves by

    q = centre + sum over k of  sine_k sin(k w t) + cosine_k cos(k w t)

periodic, so that periods can be averaged, and with known derivatives. Two combinations of the coefficients vanish: the
motion starts and ends every period at rest and without acceleration.

A shape is made as large as the limits allow, and laid where its centre parameter says between them: so no constraint is
left, and what remains is minimised by L-BFGS.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from functools import cached_property
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
from armwright.progress import progress_callback
from armwright.robot import Robot
from armwright.trajectory.argument_checks import numbers, one_per_joint, positive, seconds
from armwright.trajectory.motion_base import OneFormula, Traced

COEFFICIENT_STEP = 1e-5  # of the differences, for coefficients of size one
PEAK_SAMPLES = 4001  # samples in which the peaks of the final motion are looked for
LIMIT_MARGIN = 1 - 1e-9  # for rounding
UNOBSERVABLE_CONDITION = 1e12  # stands for the condition number of a motion that does not show everything


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
    """Lowest and highest position, and the largest speed and acceleration of every joint, each (n,)."""

    low: Array
    high: Array
    velocity: Array
    acceleration: Array


def excitation_limits(
    robot: Robot, position: ArrayLike | None, velocity: ArrayLike, acceleration: ArrayLike, margin: float
) -> ExcitationLimits:
    if isinstance(margin, bool) or not isinstance(margin, Real) or not 0 <= margin < 0.5:
        raise InputError(f"margin = {margin!r}: expected a part of a joint's range, from 0 to below 0.5")
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
    """Lowest and highest position of every joint, (2, n): as given, or the robot's, some reach where it has none.

    Of the robot's own range a part is left at either end: a real arm overshoots.
    """
    if position is None:
        limits = np.array([joint.limits or (-math.inf, math.inf) for joint in robot.joints]).T
        reach = np.where([joint.prismatic for joint in robot.joints], 0.5, np.pi)
        low, high = np.where(np.isfinite(limits), limits, np.stack([-reach, reach]))
        return np.stack([low + margin * (high - low), high - margin * (high - low)])
    given = numbers("position", position, "lowest and highest position of every joint")
    if given.shape not in ((2,), (2, robot.n)):
        raise InputError(f"position has shape {given.shape}; expected (2, {robot.n}): the lowest, then the highest")
    return np.broadcast_to(given.reshape(2, -1), (2, robot.n)).copy()


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
    """The condition number of the weighted base regressor along states (k, n): how well a motion shows the parameters.

    Rows are divided by the noise of their joint (see `excitation`), and columns brought to unit length, so that it does
    not depend on units. It is 1 at best, and infinite where something does not show.
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
    """What rows are divided by: as given, or the torque of every joint over random states (one if it needs none)."""
    if noise is None:
        tau = regressor(robot, *random_states(robot, 200)) @ parameters(robot)
        typical: Array = np.sqrt((tau**2).mean(axis=0))
        largest = float(typical.max())
        return np.maximum(typical, 1e-3 * largest) if largest > 0 else np.ones(robot.n)
    return _above_zero("noise", noise, robot.n, "numbers above zero, one per joint")


def _spectrum(W: Array) -> tuple[Array, Array, Array]:
    """The lengths of the columns, and the eigenvalues and eigenvectors of W^T W once they have unit length."""
    lengths = np.linalg.norm(W, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    unit = W / lengths
    values, vectors = np.linalg.eigh(unit.T @ unit)
    return lengths, values, vectors


@dataclass(frozen=True)
class ExcitationSearch:
    """What the optimiser asks for: shapes as coefficients x (..., n, 2 (harmonics - 1) + 1)."""

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
        """From free coefficients to amplitudes that start at rest: sum k sine_k = 0 and sum k^2 cosine_k = 0.

        Amplitudes fall with k, so that all harmonics have a like part in the speed.
        """
        from scipy.linalg import null_space  # noqa: PLC0415

        k = np.arange(1, self.harmonics + 1)
        return null_space(np.ones((1, self.harmonics))) / k[:, None], null_space(k[None, :]) / k[:, None]

    def coefficients(self, x: Array, t: Array, gap: float = 0.0) -> tuple[Array, Array, Array]:
        """centre (..., n), sine and cosine (..., n, harmonics): as large as the limits allow at the times t.

        With the `gap` between two times, also between them: a peak that is at most gap / 2 from one of them is at most
        gap^2 / 8 times the largest second derivative above it.
        """
        free = self.harmonics - 1
        sine, cosine = x[..., :free] @ self._free[0].T, x[..., free:-1] @ self._free[1].T
        q, qd, qdd = self._motion(np.zeros(x.shape[:-1]), sine, cosine, t)
        rates = self.w * np.arange(1, self.harmonics + 1)
        hidden = [np.hypot(sine, cosine) @ rates ** (order + 2) * gap**2 / 8 for order in range(3)]
        lowest, highest = q.min(-2) - hidden[0], q.max(-2) + hidden[0]
        room = self.limits.high - self.limits.low
        needs = [(highest - lowest) / room]
        for rate, more, most in ((qd, hidden[1], self.limits.velocity), (qdd, hidden[2], self.limits.acceleration)):
            needs.append((np.abs(rate).max(-2) + more) / most)
        scale = LIMIT_MARGIN / np.maximum(np.max(needs, axis=0), 1e-300)
        left = room - scale * (highest - lowest)
        centre = self.limits.low - scale * lowest + left * (0.5 + 0.5 * np.sin(x[..., -1]))
        return centre, sine * scale[..., None], cosine * scale[..., None]

    def _motion(self, centre: Array, sine: Array, cosine: Array, t: Array) -> tuple[Array, Array, Array]:
        """q, qd, qdd of shape (..., times, n)."""
        rates = self.w * np.arange(1, self.harmonics + 1)
        s, c = np.sin(t[:, None] * rates), np.cos(t[:, None] * rates)
        made = (
            sine @ s.T + cosine @ c.T + centre[..., None],
            sine @ (c * rates).T - cosine @ (s * rates).T,
            -(sine @ (s * rates**2).T) - cosine @ (c * rates**2).T,
        )
        q, qd, qdd = (np.ascontiguousarray(np.swapaxes(part, -1, -2)) for part in made)
        return q, qd, qdd

    @cached_property
    def _times(self) -> Array:
        """Samples of a period; its ends, at rest, are left out."""
        return 2 * np.pi / self.w * (np.arange(self.samples) + 0.5) / self.samples

    def _weighted(self, x: Array) -> Array:
        """The base regressors of a batch of shapes, (shapes, rows, columns), every row in units of its noise."""
        Y = regressor(self.robot, *self._motion(*self.coefficients(x, self._times), self._times))
        W = self.base.columns(Y) / self.weights[:, None]
        return W.reshape(len(x), -1, W.shape[-1])

    def conditions(self, x: Array) -> Array:
        """The logarithms of the condition numbers of a batch of shapes.

        By the eigenvalues of W^T W, which is quick and loses nothing that matters below 1e7.
        """
        values = [_spectrum(W)[1] for W in self._weighted(x)]
        return np.array([0.5 * np.log(v[-1] / max(v[0], v[-1] / UNOBSERVABLE_CONDITION)) for v in values])

    def value_and_slope(self, flat: Array) -> tuple[float, Array]:
        """The same of one shape, with its derivatives by the coefficients.

        W changes by differences, its extreme eigenvalues by perturbation: with W^T W v = d v for columns of unit
        length, the change of d is 2 (W v) (dW v), less what comes of bringing the columns to unit length again.
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
    """A motion that shows the base parameters of a robot, from rest to rest, within limits.

    period, harmonics       seconds of one period, and how many multiples of its frequency there are
    velocity, acceleration  the largest allowed, one number or one per joint; no joint is faster than its max_velocity
    position                (lowest, highest); by default the robot's limits, a turn or a metre in all where it has none
    margin                  the part of such a range left free at either end, and of max_velocity: a real arm overshoots
    friction, rotors        whether these are to be identified too
    noise                   of the measured torque, per joint; by default in proportion to the torque a joint needs
    starts, iterations      random shapes to choose from, and steps of the optimiser from the best of them
    budget                  seconds after which the best so far is taken. The same seed gives the same motion, unless
                            the budget runs out first

    Only joints are looked at: whether the arm hits itself or the floor on the way is for you to see.
    """
    w = 2 * np.pi / seconds(period)
    least = {"harmonics": 2, "periods": 1, "starts": 1, "seed": 0}
    for (name, smallest), number in zip(least.items(), (harmonics, periods, starts, seed), strict=True):
        whole_number(name, number, smallest)
    _check_series(robot)
    base = base_parameters(robot, friction, rotors)
    bounds = excitation_limits(robot, position, velocity, acceleration, margin)
    rows = math.ceil(2 * len(base) / robot.n)  # for every column, twice
    search = ExcitationSearch(robot, base, bounds, harmonics, w, _noise(robot, noise), max(12 * harmonics, rows))
    best = _searched(search, starts, iterations, positive("budget", budget, "seconds"), seed)
    return search.trajectory(best, periods)


def _check_series(robot: Robot) -> None:
    """Every coordinate is to be the integral of its velocity."""
    if robot.balls:
        names = ", ".join(f"{robot.rows[ball.joint].name.rpartition('.')[0]} ({ball.kind})" for ball in robot.balls)
        raise InputError(
            f"excitation moves each joint by a series of its own, and {robot.name} has {names}; hold such joints, or "
            "measure along a motion of your own: condition() tells how well it shows the parameters"
        )


def _searched(search: ExcitationSearch, starts: int, iterations: int, budget: float, seed: int) -> Array:
    """The best of random shapes, improved."""
    from scipy.optimize import minimize  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    end = time.perf_counter() + budget
    shapes = rng.normal(size=(starts, *search.unknowns))
    found = np.concatenate([search.conditions(shape[None]) for shape in shapes])
    best, least = shapes[np.argmin(found)].ravel(), float(found.min())

    def evaluated(flat: Array) -> tuple[float, Array]:
        nonlocal best, least
        value, slope = search.value_and_slope(flat)
        if value < least:
            best, least = flat.copy(), value
        return value, slope

    tell, steps = progress_callback(), itertools.count(1)

    def out_of_time(intermediate_result: Any) -> None:
        left = end - time.perf_counter()
        if tell is not None:
            tell(max(min(next(steps) / iterations, 1.0), 1 - max(left, 0.0) / budget))
        if left < 0:
            raise StopIteration

    if iterations > 0:
        options = {"maxiter": iterations, "maxfun": 2 * iterations}
        minimize(evaluated, best, jac=True, method="L-BFGS-B", options=options, callback=out_of_time)
    found_best: Array = best.reshape(search.unknowns)
    return found_best
