"""Base parameters from measured torques by weighted least squares, and the robot that has them.

M. Gautier, 'Dynamic identification of robots with power model', IEEE Int. Conf. Robotics and Automation (1997); W.
Khalil, E. Dombre (2002), 12.5. The torques of all joints are stacked, each joint divided by the standard deviation of
its own residual, which is found in the same go: first all joints weigh alike, then by what that leaves.

A file of a million rows need not fit into memory as a regressor: of every joint only the triangular factor of its rows
is kept, from which weights, residuals and covariances all follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.identify.base_set import BaseParameters, base_parameters
from armwright.identify.measured_data import Measurement, measurement, read
from armwright.identify.parameter_vector import JOINT_PARAMETERS, JOINT_SIZE, LINK_SIZE, parameters, with_parameters
from armwright.identify.physical_consistency import NearestBodies, nearest_bodies, plausible_bodies
from armwright.identify.regressor_arrays import regressor, spring_torques
from armwright.identify.result_page import page
from armwright.identify.validation import Validation, check_other_data, moving
from armwright.pages.report.plot import write
from armwright.robot import Robot

STATES_PER_CHUNK = 2048  # states whose regressor is in memory at a time
WEIGHTING_ROUNDS = 4  # of weighting
RANK_TOLERANCE = 1e-10
"""Singular values of columns of unit length, relative to the largest, below which a motion does not show something."""

MISFIT_ALLOWANCE = 0.5
"""Standard deviations by which each base parameter may fit worse than the best bodies do, so that all stay near to the
robot as it was described: else bodies go far to meet what is noise (a Panda's second link from 0.65 to 24 kg)."""

STANDSTILL_SPEED = 0.02
MAX_LISTED_PARAMETERS = 12  # parameters that a message lists


@dataclass(frozen=True)
class Residual:
    """What the model leaves of one joint's torque.

    rms          of the residual, N m or N
    relative     to the rms of the torque
    correlation  of neighbouring samples: near 0 for noise. Near 1 something is left that the model does not have,
                 and the standard deviations are too small
    """

    joint: str
    rms: float
    relative: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Identification:
    """What was found. Base parameters are in the order of `base`.

    values, deviations  the base parameters (b,) and their standard deviations
    covariance          (b, b)
    noise               the standard deviation of the torque of each joint that is not explained (n,)
    condition           of the weighted base regressor, its columns of unit length
    tau                 the torques of the model with these values (k, n)
    used                which torques were used (k, n): with friction, those of a joint that stands still are not
    """

    prior: Robot
    data: Measurement
    base: BaseParameters
    values: Array
    deviations: Array
    covariance: Array
    noise: Array
    condition: float
    tau: Array
    used: Array
    estimated: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        worst = max(r.relative for r in self.residuals)
        return (
            f"<{len(self.base)} base parameters of {self.prior.name} from {len(self.data)} samples, condition "
            f"{self.condition:.3g}, residuals up to {worst:.2%} of the torque>"
        )

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], ""]
        lines += [f"{name:>12} = {value:12.6g} +- {sd:8.2g}   {text}" for name, value, sd, text in self.rows]
        return "\n".join(lines)

    @property
    def rows(self) -> list[tuple[str, float, float, str]]:
        """Of every base parameter: name, value, standard deviation, and what it is the sum of."""
        parts = (self.base.names, self.values.tolist(), self.deviations.tolist(), self.base.expressions)
        return list(zip(*parts, strict=True))

    @cached_property
    def residuals(self) -> tuple[Residual, ...]:
        return residuals(self.prior, self.data, self.tau, self.used)

    @cached_property
    def parameters(self) -> Array:
        """All parameters (parameters,), such as bodies can have: nearest to the measured base parameters."""
        return _full(self)

    @cached_property
    def robot(self) -> Robot:
        """The robot with these parameters, its hand empty: what it held is a part of the link that held it."""
        return with_parameters(self.prior, self.parameters)

    @property
    def departure(self) -> Array:
        """How many standard deviations the base parameters of `robot` are from those measured, (b,).

        More than a few: the measured ones fit no bodies, because of noise or something the model does not have.
        """
        found: Array = (self.base.values(self.parameters) - self.values) / self.deviations
        return found

    def validate(self, data: Any, cutoff: float | None = None) -> Validation:
        """Return what these parameters leave of the torques of data that did not go into them.

        `data` and `cutoff` are as for `estimate`: another motion of the same robot, holding the same.
        """
        robot, others = self.prior, _measured(self.prior, data, cutoff)
        check_other_data(self.data, others)
        known, used = _known(robot, self.estimated), moving(others, "viscous" in self.estimated, STANDSTILL_SPEED)
        if not used.any(axis=0).all():
            raise InputError(
                f"of {robot.name} some joint rests in the data to validate with; expected one that moves all"
            )
        tau, before = np.empty((2, *others.tau.shape))
        for part, Y in _chunks(robot, others):
            tau[part], before[part] = Y @ known + self.base.columns(Y) @ self.values, Y @ parameters(robot)
        here, described = (residuals(robot, others, x, used) for x in (tau, before))
        return Validation(others, tau, here, self.residuals, described)

    def to_html(self, path: str | Path, validation: Validation | None = None) -> Path:
        """One page: parameters, residuals and curves of every joint; with those of a validation, if there is one."""
        return write(path, page(self, validation))


def residuals(robot: Robot, data: Measurement, tau: Array, used: Array | None = None) -> tuple[Residual, ...]:
    """What a model's torques leave of those measured."""
    made = []
    for i, joint in enumerate(robot.joints):
        chosen = slice(None) if used is None else used[:, i]
        measured = data.tau[chosen, i]
        left = measured - tau[chosen, i]
        rms, size = (float(np.sqrt(np.mean(x * x))) for x in (left, measured))
        power = float(left @ left)
        correlation = float(left[1:] @ left[:-1]) / power if power else 0.0
        made.append(Residual(joint.name, rms, rms / size if size else 0.0, correlation))
    return tuple(made)


def estimate(
    robot: Robot,
    data: Any,
    *,
    friction: bool = True,
    rotors: bool = True,
    standstill: float = STANDSTILL_SPEED,
    cutoff: float | None = None,
) -> Identification:
    """Base parameters from measured torques; `.robot` is a robot that has them.

    data        a Measurement, a Run, or the path of a .csv or .parquet file
    friction    whether to estimate the friction of the joints; if not, that of the robot is taken as known
    rotors      the same for rotor inertias
    standstill  with friction: the torque of a joint slower than this part of its top speed is not used, as it may
                stick and the sign of a small velocity is mostly noise
    cutoff      Hz, of the filter where derivatives are not in the data (`measurement`)
    """
    measured = _measured(robot, data, cutoff)
    base = base_parameters(robot, friction, rotors)
    used = moving(measured, friction, standstill)
    _check_count(used, len(base), robot)
    estimated = (*(("viscous", "coulomb") if friction else ()), *(("armature",) if rotors else ()))
    known = _known(robot, estimated)
    factors, given = _factors(robot, measured, base, known, used)
    fit = _fitted(factors, used.sum(axis=0), base)
    tau = given + np.concatenate([base.columns(Y) @ fit.values for _, Y in _chunks(robot, measured)])
    return Identification(
        prior=robot,
        data=measured,
        base=base,
        values=fit.values,
        deviations=np.sqrt(np.diagonal(fit.covariance)),
        covariance=fit.covariance,
        noise=fit.noise,
        condition=fit.condition,
        tau=tau,
        used=used,
        estimated=estimated,
    )


def _known(robot: Robot, estimated: Sequence[str]) -> Array:
    """The parameters that are taken as described: of joints, those kinds that are not estimated."""
    known: Array = parameters(robot)
    known[: LINK_SIZE * len(robot.links)] = 0
    for kind in estimated:
        known[LINK_SIZE * len(robot.links) + JOINT_PARAMETERS.index(kind) :: JOINT_SIZE] = 0
    return known


def _measured(robot: Robot, data: Any, cutoff: float | None) -> Measurement:
    if not isinstance(robot, Robot):
        raise InputError(f"estimate got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if isinstance(data, (str, Path)):
        return read(data, robot.n, cutoff, robot.nq)
    if not isinstance(data, Measurement):
        if not all(hasattr(data, name) for name in ("t", "q", "qd", "qdd", "tau")):
            raise InputError(f"data is a {type(data).__name__}; expected a Measurement, a Run or the path of a file")
        data = measurement(data.t, data.q, data.tau, data.qd, data.qdd)
    measured: Measurement = data
    if measured.n != robot.n:
        raise InputError(f"the data are of {measured.n} joints and {robot.name} has {robot.n}: another robot's data?")
    if (places := measured.q.shape[1]) != robot.nq:
        raise InputError(f"q has {places} entries and that of {robot.name} has {robot.nq}: another robot's data?")
    return measured


def _check_count(used: Array, unknowns: int, robot: Robot) -> None:
    equations = int(used.sum())
    least = -(-unknowns // robot.n) + 1
    if equations <= unknowns or not used.any(axis=0).all():
        raise InputError(
            f"{len(used)} rows give {equations} equations for the {unknowns} base parameters of {robot.name}; expected "
            f"at least {least} rows, and hundreds to average the noise"
        )


def _chunks(robot: Robot, data: Measurement) -> Iterator[tuple[slice, Array]]:
    """The regressor of a part of the states at a time."""
    for start in range(0, len(data), STATES_PER_CHUNK):
        part = slice(start, start + STATES_PER_CHUNK)
        yield part, regressor(robot, data.q[part], data.qd[part], data.qdd[part])


def _factors(
    robot: Robot, data: Measurement, base: BaseParameters, known: Array, used: Array
) -> tuple[list[Array], Array]:
    """The triangular factor of [base regressor, torque] of every joint, and the torques of the known parameters."""
    factors: list[Array] = [np.empty((0, len(base) + 1)) for _ in range(robot.n)]
    given = np.empty(data.tau.shape)
    for part, Y in _chunks(robot, data):
        given[part] = Y @ known + spring_torques(robot, data.q[part])
        torque = data.tau[part] - given[part]
        W = base.columns(Y)
        for i in range(robot.n):
            rows = np.column_stack([W[:, i], torque[:, i]])[used[part, i]]
            factors[i] = _triangular(np.concatenate([factors[i], rows]))
    return factors, given


def _triangular(rows: Array) -> Array:
    factor: Array = np.asarray(np.linalg.qr(rows, "r"))
    return factor


@dataclass(frozen=True)
class LeastSquaresFit:
    values: Array
    covariance: Array
    noise: Array
    condition: float


def _fitted(factors: list[Array], counts: Array, base: BaseParameters) -> LeastSquaresFit:
    """Weighted least squares; the weights follow from what the round before left of every joint."""
    sizes = np.array([np.linalg.norm(R[:, -1]) for R in factors]) / np.sqrt(counts)
    least = np.maximum(1e-12 * sizes, 1e-300)  # data without noise would weigh infinitely much
    noise = np.full(len(factors), max(float(sizes.max()), 1e-300))
    for _ in range(WEIGHTING_ROUNDS):
        stacked = np.concatenate([R / sigma for R, sigma in zip(factors, noise, strict=True)])
        W, y = stacked[:, :-1], stacked[:, -1]
        lengths = np.linalg.norm(W, axis=0)
        still = lengths <= RANK_TOLERANCE * max(float(lengths.max()), 1e-300)
        Q, R = np.linalg.qr(W / np.where(still, np.inf, lengths))
        singular = _seen(R, base)
        values = np.linalg.solve(R, Q.T @ y) / lengths
        shares = np.split(np.sum(Q * Q, axis=1), np.cumsum([len(f) for f in factors])[:-1])
        for i, F in enumerate(factors):
            left = np.linalg.norm(F[:, -1] - F[:, :-1] @ values)
            freedom = max(counts[i] - shares[i].sum(), 1.0)  # rows, less the parameters they went into
            noise[i] = max(left / np.sqrt(freedom), least[i])
    inverse = np.linalg.inv(R) / lengths[:, None]
    return LeastSquaresFit(values, inverse @ inverse.T, noise, float(singular[0] / singular[-1]))


def _seen(R: Array, base: BaseParameters) -> Array:
    """The singular values of a regressor with columns of unit length, by its triangular factor.

    A motion that leaves base parameters unseen, or some that cannot be told apart, is told with their names.
    """
    _, singular, directions = np.linalg.svd(R)
    singular = np.append(singular, np.zeros(len(base) - len(singular)))
    lost = directions[singular <= RANK_TOLERANCE * max(float(singular[0]), 1e-300)]
    if not len(lost):
        return singular
    names = [base.names[k] for k in np.flatnonzero(np.abs(lost).max(axis=0) > 1e-6)]
    listed = ", ".join(names[:MAX_LISTED_PARAMETERS]) + (
        f" and {len(names) - MAX_LISTED_PARAMETERS} more" if len(names) > MAX_LISTED_PARAMETERS else ""
    )
    raise InputError(
        f"the motion does not show {len(lost)} of the {len(base)} base parameters: {listed} cannot be seen or told "
        "apart; move every joint, alone and with others (armwright.identify.excitation finds such a motion)"
    )


def _full(found: Identification) -> Array:
    """All parameters, such as bodies can have. Rotors that were not seen and were not there before stay away."""
    n, base = len(found.prior.links), found.base
    before = parameters(found.prior)
    links, joints = np.arange(LINK_SIZE * n), np.arange(LINK_SIZE * n, len(before))
    kinds = np.array(JOINT_PARAMETERS * (len(joints) // JOINT_SIZE))
    kept = np.isin(joints, base.kept)
    free = joints[np.isin(kinds, found.estimated) & (kept | (before[joints] > 0))]
    spread = dict(zip(base.kept, zip(found.values, found.deviations, strict=True), strict=True))
    positives = [max(*spread[k], before[k]) if k in spread else before[k] for k in free]
    weights = np.linalg.inv(np.linalg.cholesky(_scaled(found.covariance, found.deviations)))
    R = weights / found.deviations
    columns = [*links, *free]
    problem = NearestBodies(
        R @ base.combination[:, columns],
        R @ found.values,
        plausible_bodies(before[links].reshape(n, LINK_SIZE)),
        np.array(positives, float),
    )
    full = before.copy()
    full[columns] = nearest_bodies(problem, len(base) * MISFIT_ALLOWANCE**2 / 2)
    return full


def _scaled(covariance: Array, deviations: Array) -> Array:
    """The correlations, which are better conditioned."""
    correlations: Array = covariance / np.outer(deviations, deviations)
    return correlations
