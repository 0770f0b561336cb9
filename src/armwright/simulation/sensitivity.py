"""How a step depends on where it starts: derivatives carried through the stages of a Runge-Kutta method.

Of a stage i at (q_i, v_i), with dqdd = Fq dq + Fv dv + Fu dtau by the compiled derivatives of forward dynamics,

    dq_i = dq + h sum_j a_ij dv_j        dv_i = dv + h sum_j a_ij dqdd_j

and the end of the step is the same with b. Where q has quaternions, rows are pulled back one by one instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.formulations.parts.coordinates import tangent
from armwright.function import compile as compiled
from armwright.integrate import method

if TYPE_CHECKING:
    from armwright.simulation.stepper import Stepper


def discrete(stepper: Stepper, arrays: list[Array], batch: tuple[int, ...], threads: int) -> tuple[Array, Array]:
    """A and B of a step."""
    whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
    if stepper.robot.balls or stepper.parameters:
        return _by_rows(stepper, whole, batch, threads)
    q, qd, tau = (x.reshape(-1, stepper.robot.n) for x in whole)
    n, steps = stepper.robot.n, method(stepper.integrator).steps(True)
    h = stepper.dt / stepper.substeps
    acceleration = compiled(stepper.robot, "forward_dynamics", dtype=stepper.dtype)
    slopes = compiled(stepper.robot, "forward_dynamics_derivatives", dtype=stepper.dtype)
    eye = np.eye(n, 3 * n, dtype=stepper.dtype)
    dq, dv = np.broadcast_to(eye, (len(q), n, 3 * n)), np.broadcast_to(np.roll(eye, n, axis=1), (len(q), n, 3 * n))
    for _ in range(stepper.substeps):
        rates: list[tuple[Array, Array, Array, Array]] = []
        for row in steps.a[: steps.stages]:
            qi, vi, dqi, dvi = _moved((q, qd, dq, dv), rates, row, h)
            Fq, Fv, Fu = np.moveaxis(slopes(qi, vi, tau, threads=threads), 1, 0)
            da = Fq @ dqi + Fv @ dvi
            da[:, :, 2 * n :] += Fu
            rates.append((vi, acceleration(qi, vi, tau, threads=threads), dvi, da))
        q, qd, dq, dv = _moved((q, qd, dq, dv), rates, steps.b[: steps.stages], h)
    both = np.concatenate([dq, dv], axis=1).reshape(*batch, 2 * n, 3 * n)
    return both[..., : 2 * n], both[..., 2 * n :]


def _moved(
    begin: tuple[Array, ...], rates: Sequence[tuple[Array, ...]], weights: tuple[float, ...], h: float
) -> tuple[Array, ...]:
    """begin + h sum of weights times rates, part by part."""
    used = [(h * w, rate) for w, rate in zip(weights, rates, strict=True) if w]
    return tuple(x + sum(w * rate[k] for w, rate in used) if used else x for k, x in enumerate(begin))


def _by_rows(stepper: Stepper, whole: list[Array], batch: tuple[int, ...], threads: int) -> tuple[Array, Array]:
    """By as many gradients as a state has entries, in tangents of q before and after."""
    robot = stepper.robot
    m = robot.nq + robot.n
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
