"""Derivatives of a step for robots with quaternions: gradients, row by row, in tangents of q."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.arrays import package
from armwright.formulations.parts.coordinates import tangent

if TYPE_CHECKING:
    from armwright.simulation.stepper import Stepper


def by_rows(
    stepper: Stepper, whole: list[Array], batch: tuple[int, ...], threads: int, raises: bool
) -> tuple[Array, Array, Array]:
    """A and B of a step, by as many gradients as a state has entries, and which states are good."""
    robot = stepper.robot
    q, qd, tau, *_ = whole
    xp = package(q)
    end, _, *masks = stepper.step(q, qd, tau, threads=threads, raises=raises)
    good = masks[0] if masks else xp.ones(batch, bool)
    q, end = (np.where(good[..., None], x, xp.asarray(robot.neutral, stepper.dtype)) for x in (q, end))
    m = robot.nq + robot.n
    seeds = np.broadcast_to(xp.eye(m, dtype=stepper.dtype), (*batch, m, m))
    rows, by_tau = stepper.pulled([x[..., None, :] for x in whole], seeds, (*batch, m), threads, raises)
    before, inverse = _tangents(stepper, q), np.linalg.pinv(_tangents(stepper, end))
    return inverse @ rows @ before, inverse @ by_tau, good


def _tangents(stepper: Stepper, q: Array) -> Array:
    """Return the derivatives of the entries of q and qd by tangents (..., nq + n, 2 n)."""
    robot = stepper.robot
    n, nq = robot.n, robot.nq
    xp = package(q)
    made: Array = xp.zeros((*q.shape[:-1], nq + n, 2 * n), stepper.dtype)
    made[..., nq:, n:] = xp.eye(n)
    for i, row in enumerate(tangent(robot.mechanism(), [q[..., k] for k in range(nq)])):
        for j, value in enumerate(row):
            made[..., i, j] = value
    return made
