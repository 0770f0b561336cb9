"""Via points with blends: straight lines from point to point, and parabolas from one line to the next.

    V_k     the velocity on the line from point k to k + 1, the largest that the limits allow (at either end: none)
    b_k     how long the velocity takes to become the next one, within the accelerations; the parabola has its middle
            at the time of point k, which the motion passes at a distance of |V_k - V_{k-1}| b_k / 8
    T_k     the time between points k and k + 1

Two parabolas must not overlap, (b_k + b_{k+1}) / 2 <= T_k: a line on which they would is travelled more slowly, as
Kunz and Stilman (2011, Turning paths into trajectories using parabolic blends) do it. With all velocities smaller by f
both sides of that and the distances from points shrink by f^2, so that it comes to an end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.trajectory.argument_checks import number, one_per_joint, positive, table
from armwright.trajectory.polynomial import PiecewisePolynomial

MAX_LINE_SLOWDOWNS = 200
"""Iterations that slow single lines, before all lines are slowed alike."""

OVERLAP_TOLERANCE = 1e-12
"""Relative: parabolas that touch do not overlap, and a line shorter than this is none."""


def blended(
    points: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, blend: float | None = None, start: float = 0.0
) -> PiecewisePolynomial:
    """From rest to rest along straight lines in joint space, rounded off at the points between by parabolas.

    Each line is travelled at the velocity that its fastest joint may have, and the parabolas take the time that the
    accelerations ask for (one limit for all joints, or one for each). The points between are passed nearby: no joint
    misses one by more than `blend` (rad or m), for which the motion slows down where it must; the ends are reached.
    """
    rows = np.asarray(points, dtype=object)
    q = table("points", points, np.arange(len(rows) if rows.ndim else 0))
    if len(q) < 2:
        raise InputError(f"points has {len(q)} rows; expected two or more, from the first point to the last")
    steps = np.diff(q, axis=0)
    for k in np.flatnonzero(~steps.any(axis=1))[:1]:
        raise InputError(f"points[{k}] and points[{k + 1}] are equal; leave one of them out, or join motions by .then")
    v, a = (_limits(name, x, q.shape[1]) for name, x in (("velocity", velocity), ("acceleration", acceleration)))
    near = np.inf if blend is None else positive("blend", blend, "rad or m, more than zero; None for any")
    times = _slowed_rates(steps, v, a, near)
    return _pieces(q, steps / times[:, None], times, a, number("start", start, "seconds"))


def _limits(name: str, value: ArrayLike, n: int) -> Array:
    limits = one_per_joint(name, value, n)
    if (limits <= 0).any():
        raise InputError(f"{name} = {limits.tolist()} must be above zero for every joint")
    return limits


def _blends(rates: Array, a: Array) -> tuple[Array, Array]:
    """Return the durations of the velocity changes at every point, and these changes."""
    still = np.zeros((1, rates.shape[1]))
    changes = np.diff(np.concatenate([still, rates, still]), axis=0)
    return np.max(np.abs(changes) / a, axis=1), changes


def _slowed_rates(steps: Array, v: Array, a: Array, near: float) -> Array:
    """The time for every line: the shortest, longer where parabolas would overlap or pass a point too far away."""
    times: Array = np.max(np.abs(steps) / v, axis=1)
    for k in range(2 * MAX_LINE_SLOWDOWNS):
        long, changes = _blends(steps / times[:, None], a)
        missed = np.abs(changes).max(axis=1) * long / 8 / near
        missed[[0, -1]] = 0.0  # the ends are reached
        excess = np.maximum((long[:-1] + long[1:]) / 2 / times, np.maximum(missed[:-1], missed[1:]))
        if excess.max() <= 1 + OVERLAP_TOLERANCE:
            break
        times = times * np.sqrt(np.maximum(excess if k < MAX_LINE_SLOWDOWNS else excess.max(), 1.0))
    return times


def _pieces(q: Array, rates: Array, times: Array, a: Array, start: float) -> PiecewisePolynomial:
    """Parabolas around the times of the points, lines between; of no length they are left out."""
    long, changes = _blends(rates, a)
    at = start + long[0] / 2 + np.concatenate([[0.0], np.cumsum(times)])
    before = np.concatenate([np.zeros((1, q.shape[1])), rates])
    breaks, pieces = [start], []
    for k in range(len(q)):
        here = q[k] - before[k] * (long[k] / 2)
        bent = changes[k] / (2 * long[k]) if long[k] > 0 else changes[k]
        ends = [(at[k] + long[k] / 2, (here, before[k], bent))]
        if k < len(rates):
            ends.append((at[k + 1] - long[k + 1] / 2, (q[k] + rates[k] * (long[k] / 2), rates[k], 0 * bent)))
        for end, powers in ends:
            if end - breaks[-1] > OVERLAP_TOLERANCE * max(1.0, at[-1] - start):
                breaks.append(end)
                pieces.append(np.stack(powers, axis=-1))
    return PiecewisePolynomial(np.array(breaks), np.array(pieces))
