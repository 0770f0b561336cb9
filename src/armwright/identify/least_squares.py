"""Base parameters from measured torques by weighted least squares, and the robot that has them.

M. Gautier, 'Dynamic identification of robots with power model', IEEE Int. Conf. Robotics and Automation (1997); W.
Khalil, E. Dombre (2002), 12.5. The torques of all joints are stacked, those of each joint divided by the standard
deviation of its residual. The first round weights all joints equally, the later ones by the residuals before.

The regressor of a million rows need not fit into memory. Only the triangular factor of each joint's rows is kept;
weights, residuals and covariances follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
from armwright.lazy import cached_property
from armwright.pages.report.plot import write
from armwright.robot import Robot

STATES_PER_CHUNK = 2048  # states whose regressor is in memory at a time
WEIGHTING_ROUNDS = 4
RANK_TOLERANCE = 1e-10
"""The relative singular value, for columns of unit length, below which a motion does not excite some parameter."""

MISFIT_ALLOWANCE = 0.5
"""Standard deviations by which each base parameter may fit worse than with the best bodies. This keeps bodies near the
prior; else they move far to fit noise (a Panda's second link from 0.65 to 24 kg)."""

STANDSTILL_SPEED = 0.02
MAX_LISTED_PARAMETERS = 12  # in a message


@dataclass(frozen=True)
class Residual:
    """The residual torque of one joint.

    rms          of the residual, N m or N
    relative     to the rms of the torque
    correlation  of neighbouring samples: near 0 for noise. Near 1 the model lacks some effect, and the standard
                 deviations are too small
    """

    joint: str
    rms: float
    relative: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Identification:
    """An identified robot. Base parameters are in the order of `base`.

    values, deviations  the base parameters (b,) and their standard deviations
    covariance          (b, b)
    noise               the standard deviation of each joint's residual torque (n,)
    condition           of the weighted base regressor, its columns of unit length
    tau                 the torques of the model with these values (k, n)
    used                which torques were used (k, n): with friction, not those of a joint at rest
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
        """The name, value, standard deviation and sum of every base parameter."""
        parts = (self.base.names, self.values.tolist(), self.deviations.tolist(), self.base.expressions)
        return list(zip(*parts, strict=True))

    @cached_property
    def residuals(self) -> tuple[Residual, ...]:
        """The residual torque of each joint."""
        return residuals(self.prior, self.data, self.tau, self.used)

    @cached_property
    def parameters(self) -> Array:
        """All parameters (parameters,), physically consistent and nearest to the measured base parameters."""
        return _consistent_parameters(self)

    @cached_property
    def robot(self) -> Robot:
        """The robot with these parameters and no payload: the payload is a part of the link that carried it."""
        return with_parameters(self.prior, self.parameters)

    @property
    def departure(self) -> Array:
        """The distance from the measured base parameters to those of `robot`, in standard deviations (b,).

        If it is more than a few, no bodies have the measured ones, because of noise or an effect the model lacks.
        """
        difference: Array = self.base.values(self.parameters) - self.values
        return difference / self.deviations

    def validate(self, data: Any, cutoff: float | None = None) -> Validation:
        """Return the residuals of these parameters on data that were not used in the fit.

        `data` and `cutoff` are as for `estimate`: another motion of the same robot with the same payload.
        """
        robot, others = self.prior, _measured(self.prior, data, cutoff)
        check_other_data(self.data, others)
        known, used = _known(robot, self.estimated), moving(others, "viscous" in self.estimated, STANDSTILL_SPEED)
        if not used.any(axis=0).all():
            raise InputError(
                f"some joint of {robot.name} rests in the validation data; expected a motion of all joints"
            )
        tau, before = np.empty((2, *others.tau.shape))
        for part, Y in _chunks(robot, others):
            tau[part], before[part] = Y @ known + self.base.columns(Y) @ self.values, Y @ parameters(robot)
        here, described = (residuals(robot, others, x, used) for x in (tau, before))
        return Validation(others, tau, here, self.residuals, described)

    def to_html(self, path: str | Path, validation: Validation | None = None) -> Path:
        """Write a page with the parameters, and the residuals and curves of every joint; return its path."""
        return write(path, page(self, validation))


def residuals(robot: Robot, data: Measurement, tau: Array, used: Array | None = None) -> tuple[Residual, ...]:
    """Return the residual of each joint, for torques `tau` (k, n) of a model; `used` (k, n) selects rows."""
    result = []
    for i, joint in enumerate(robot.joints):
        rows = slice(None) if used is None else used[:, i]
        measured = data.tau[rows, i]
        error = measured - tau[rows, i]
        rms, size = (float(np.sqrt(np.mean(x * x))) for x in (error, measured))
        power = float(error @ error)
        correlation = float(error[1:] @ error[:-1]) / power if power else 0.0
        result.append(Residual(joint.name, rms, rms / size if size else 0.0, correlation))
    return tuple(result)


def estimate(
    robot: Robot,
    data: Any,
    *,
    friction: bool = True,
    rotors: bool = True,
    standstill: float = STANDSTILL_SPEED,
    cutoff: float | None = None,
) -> Identification:
    """Return the base parameters that fit measured torques; `.robot` is a robot that has them.

    data        a Measurement, a Run, or the path of a .csv or .parquet file
    friction    whether to estimate joint friction; if not, the friction of the robot counts as known
    rotors      the same for rotor inertias
    standstill  with friction: torques of a joint slower than this part of its top speed are not used, as it may
                stick and the sign of a small velocity is mostly noise
    cutoff      Hz, of the filter for derivatives that are not in the data (`measurement`)
    """
    measured = _measured(robot, data, cutoff)
    base = base_parameters(robot, friction, rotors)
    used = moving(measured, friction, standstill)
    _check_count(used, len(base), robot)
    estimated = (*(("viscous", "coulomb") if friction else ()), *(("armature",) if rotors else ()))
    known = _known(robot, estimated)
    factors, known_torques = _factors(robot, measured, base, known, used)
    fit = _weighted_fit(factors, used.sum(axis=0), base)
    tau = known_torques + np.concatenate([base.columns(Y) @ fit.values for _, Y in _chunks(robot, measured)])
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
    """Return the parameters with zeros in place of the estimated ones."""
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
        raise InputError(f"q has {places} entries and {robot.name} needs {robot.nq}: another robot's data?")
    return measured


def _check_count(used: Array, unknowns: int, robot: Robot) -> None:
    equations = int(used.sum())
    min_rows = -(-unknowns // robot.n) + 1
    if equations <= unknowns or not used.any(axis=0).all():
        raise InputError(
            f"{len(used)} rows give {equations} equations for the {unknowns} base parameters of {robot.name}; expected "
            f"at least {min_rows} rows, and hundreds to average the noise"
        )


def _chunks(robot: Robot, data: Measurement) -> Iterator[tuple[slice, Array]]:
    """Yield the regressor of chunks of the states."""
    for start in range(0, len(data), STATES_PER_CHUNK):
        part = slice(start, start + STATES_PER_CHUNK)
        yield part, regressor(robot, data.q[part], data.qd[part], data.qdd[part])


def _factors(
    robot: Robot, data: Measurement, base: BaseParameters, known: Array, used: Array
) -> tuple[list[Array], Array]:
    """Return the triangular factor of [base regressor, torque] of every joint, and the torques of known parameters."""
    factors: list[Array] = [np.empty((0, len(base) + 1)) for _ in range(robot.n)]
    known_torques = np.empty(data.tau.shape)
    for part, Y in _chunks(robot, data):
        known_torques[part] = Y @ known + spring_torques(robot, data.q[part])
        torque = data.tau[part] - known_torques[part]
        W = base.columns(Y)
        for i in range(robot.n):
            rows = np.column_stack([W[:, i], torque[:, i]])[used[part, i]]
            factors[i] = _triangular(np.concatenate([factors[i], rows]))
    return factors, known_torques


def _triangular(rows: Array) -> Array:
    factor: Array = np.asarray(np.linalg.qr(rows, "r"))
    return factor


@dataclass(frozen=True)
class LeastSquaresFit:
    """Base parameters (b,), their covariance (b, b), the noise of each joint (n,), and the condition number."""

    values: Array
    covariance: Array
    noise: Array
    condition: float


def _weighted_fit(factors: list[Array], counts: Array, base: BaseParameters) -> LeastSquaresFit:
    """Solve the weighted least-squares problem; each round takes its weights from the residuals of the last."""
    sizes = np.array([np.linalg.norm(R[:, -1]) for R in factors]) / np.sqrt(counts)
    min_noise = np.maximum(1e-12 * sizes, 1e-300)  # data without noise would have infinite weights
    noise = np.full(len(factors), max(float(sizes.max()), 1e-300))
    for _ in range(WEIGHTING_ROUNDS):
        stacked = np.concatenate([R / sigma for R, sigma in zip(factors, noise, strict=True)])
        W, y = stacked[:, :-1], stacked[:, -1]
        lengths = np.linalg.norm(W, axis=0)
        vanishing = lengths <= RANK_TOLERANCE * max(float(lengths.max()), 1e-300)
        Q, R = np.linalg.qr(W / np.where(vanishing, np.inf, lengths))
        singular = _singular_values(R, base)
        values = np.linalg.solve(R, Q.T @ y) / lengths
        shares = np.split(np.sum(Q * Q, axis=1), np.cumsum([len(f) for f in factors])[:-1])
        for i, F in enumerate(factors):
            residual = np.linalg.norm(F[:, -1] - F[:, :-1] @ values)
            freedom = max(counts[i] - shares[i].sum(), 1.0)  # rows less the parameters they determine
            noise[i] = max(residual / np.sqrt(freedom), min_noise[i])
    inverse = np.linalg.inv(R) / lengths[:, None]
    return LeastSquaresFit(values, inverse @ inverse.T, noise, float(singular[0] / singular[-1]))


def _singular_values(R: Array, base: BaseParameters) -> Array:
    """Return the singular values of a regressor with columns of unit length, from its triangular factor.

    Raise `InputError` with the names of base parameters that the motion does not determine.
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
        f"the motion does not show {len(lost)} of the {len(base)} base parameters: {listed} cannot be determined; "
        "move every joint, alone and with others (armwright.identify.excitation finds such a motion)"
    )


def _consistent_parameters(result: Identification) -> Array:
    """Return physically consistent parameters. Rotor inertias that are neither measured nor in the prior stay zero."""
    n, base = len(result.prior.links), result.base
    before = parameters(result.prior)
    links, joints = np.arange(LINK_SIZE * n), np.arange(LINK_SIZE * n, len(before))
    kinds = np.array(JOINT_PARAMETERS * (len(joints) // JOINT_SIZE))
    kept = np.isin(joints, base.kept)
    free = joints[np.isin(kinds, result.estimated) & (kept | (before[joints] > 0))]
    spread = dict(zip(base.kept, zip(result.values, result.deviations, strict=True), strict=True))
    positives = [max(*spread[k], before[k]) if k in spread else before[k] for k in free]
    weights = np.linalg.inv(np.linalg.cholesky(_correlations(result.covariance, result.deviations)))
    R = weights / result.deviations
    columns = [*links, *free]
    problem = NearestBodies(
        R @ base.combination[:, columns],
        R @ result.values,
        plausible_bodies(before[links].reshape(n, LINK_SIZE)),
        np.array(positives, float),
    )
    full = before.copy()
    full[columns] = nearest_bodies(problem, len(base) * MISFIT_ALLOWANCE**2 / 2)
    return full


def _correlations(covariance: Array, deviations: Array) -> Array:
    """Return the correlation matrix, which is better conditioned than the covariance."""
    correlations: Array = covariance / np.outer(deviations, deviations)
    return correlations
