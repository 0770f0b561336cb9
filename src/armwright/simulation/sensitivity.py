"""How a step depends on where it starts, where q has quaternions: gradients, row by row, in tangents of q."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.formulations.parts.coordinates import tangent

if TYPE_CHECKING:
    from armwright.simulation.stepper import Stepper


def by_rows(stepper: Stepper, whole: list[Array], batch: tuple[int, ...], threads: int) -> tuple[Array, Array]:
    """A and B of a step, by as many gradients as a state has entries."""
    m = stepper.robot.nq + stepper.robot.n
    seeds = np.broadcast_to(np.eye(m, dtype=stepper.dtype), (*batch, m, m))
    rows, by_tau = stepper.pulled([x[..., None, :] for x in whole], seeds, (*batch, m), threads)
    q, qd, tau, *_ = whole
    end = stepper.step(q, qd, tau, threads=threads)
    before, after = (_tangents(stepper, q) for q in (q, end[0]))
    inverse = np.linalg.pinv(after)
    return inverse @ rows @ before, inverse @ by_tau


def _tangents(stepper: Stepper, q: Array) -> Array:
    """How entries of q and qd change with tangents: (..., nq + n, 2 n)."""
    robot = stepper.robot
    n, nq = robot.n, robot.nq
    mechanism, made = robot.mechanism(), np.zeros((*q.shape[:-1], nq + n, 2 * n), stepper.dtype)
    made[..., nq:, n:] = np.eye(n)
    for place in np.ndindex(*q.shape[:-1]):
        made[(*place, slice(nq), slice(n))] = tangent(mechanism, q[place].tolist())
    return made
