"""Jacobians of a step for robots with quaternions, row by row from gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.arrays import package
from armwright.formulations.parts.coordinates import tangent

if TYPE_CHECKING:
    from armwright.simulation.stepper import Stepper


def linearised_by_rows(
    stepper: Stepper, arrays: list[Array], batch: tuple[int, ...], threads: int, raises: bool
) -> tuple[Array, Array, Array]:
    """Return A and B of a step, by one gradient for each entry of the state, and a mask of the good states."""
    robot = stepper.robot
    q, qd, tau, *_ = arrays
    xp = package(q)
    end, _, *masks = stepper.step(q, qd, tau, threads=threads, raises=raises)
    good = masks[0] if masks else xp.ones(batch, bool)
    q, end = (np.where(good[..., None], x, xp.asarray(robot.neutral, stepper.dtype)) for x in (q, end))
    m = robot.nq + robot.n
    seeds = np.broadcast_to(xp.eye(m, dtype=stepper.dtype), (*batch, m, m))
    rows, by_tau = stepper.pulled([x[..., None, :] for x in arrays], seeds, (*batch, m), threads, raises)
    before, inverse = _tangents(stepper, q), np.linalg.pinv(_tangents(stepper, end))
    return inverse @ rows @ before, inverse @ by_tau, good


def _tangents(stepper: Stepper, q: Array) -> Array:
    """Return the derivatives of q and qd by displacements and velocities (..., nq + n, 2 n)."""
    robot = stepper.robot
    n, nq = robot.n, robot.nq
    xp = package(q)
    jacobian: Array = xp.zeros((*q.shape[:-1], nq + n, 2 * n), stepper.dtype)
    jacobian[..., nq:, n:] = xp.eye(n)
    for i, row in enumerate(tangent(robot.mechanism(), [q[..., k] for k in range(nq)])):
        for j, value in enumerate(row):
            jacobian[..., i, j] = value
    return jacobian
