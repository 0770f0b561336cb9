"""Via points with blends: straight lines from point to point, and parabolas from one line to the next.

    V_k     the velocity on the line from point k to k + 1, the largest within the limits (zero before and after all)
    b_k     the duration of the parabola from V_{k-1} to V_k within the accelerations; its middle is at the time of
            point k, which the motion passes at a distance of |V_k - V_{k-1}| b_k / 8
    T_k     the time between points k and k + 1

Two parabolas must not overlap: (b_k + b_{k+1}) / 2 <= T_k. Lines on which they would are slowed down, as by Kunz and
Stilman (2011, Turning paths into trajectories using parabolic blends). Velocities smaller by a factor f reduce
b_k / T_k and the distances from points by f^2, so the iteration terminates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.trajectory.argument_checks import number, one_per_joint, positive, table
from armwright.trajectory.polynomial import PiecewisePolynomial

MAX_LINE_SLOWDOWNS = 200
"""Iterations that slow down single lines, before all lines are slowed down alike."""

OVERLAP_TOLERANCE = 1e-12
"""Relative overlap of parabolas that only touch, and relative duration below which a line is omitted."""


def blended(
    points: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, blend: float | None = None, start: float = 0.0
) -> PiecewisePolynomial:
    """Return a motion from rest to rest along straight lines in joint space, with parabolas around the inner points.

    Lines and parabolas are as fast as the limits of velocity and acceleration allow (one for all joints, or one for
    each). The motion reaches the first and last point, and passes the others within `blend` (rad or m) of each joint;
    it slows down where it must.
    """
    rows = np.asarray(points, dtype=object)
    q = table("points", points, np.arange(len(rows) if rows.ndim else 0))
    if len(q) < 2:
        raise InputError(f"points has {len(q)} rows; expected two or more, from the first point to the last")
    steps = np.diff(q, axis=0)
    for k in np.flatnonzero(~steps.any(axis=1))[:1]:
        raise InputError(f"points[{k}] and points[{k + 1}] are equal; remove one of them, or join motions by .then")
    v, a = (_limits(name, x, q.shape[1]) for name, x in (("velocity", velocity), ("acceleration", acceleration)))
    distance = np.inf if blend is None else positive("blend", blend, "rad or m, more than zero; None for any")
    times = _line_durations(steps, v, a, distance)
    return _pieces(q, steps / times[:, None], times, a, number("start", start, "seconds"))


def _limits(name: str, value: ArrayLike, n: int) -> Array:
    limits = one_per_joint(name, value, n)
    if (limits <= 0).any():
        raise InputError(f"{name} = {limits.tolist()} must be above zero for every joint")
    return limits


def _blends(rates: Array, a: Array) -> tuple[Array, Array]:
    """Return the durations of the velocity changes at every point, and these changes."""
    rest = np.zeros((1, rates.shape[1]))
    changes = np.diff(np.concatenate([rest, rates, rest]), axis=0)
    return np.max(np.abs(changes) / a, axis=1), changes


def _line_durations(steps: Array, v: Array, a: Array, max_distance: float) -> Array:
    """Return the shortest times of the lines for which parabolas do not overlap and pass points near enough."""
    times: Array = np.max(np.abs(steps) / v, axis=1)
    for k in range(2 * MAX_LINE_SLOWDOWNS):
        blends, changes = _blends(steps / times[:, None], a)
        distances = np.abs(changes).max(axis=1) * blends / 8 / max_distance
        distances[[0, -1]] = 0.0  # the ends are reached
        excess = np.maximum((blends[:-1] + blends[1:]) / 2 / times, np.maximum(distances[:-1], distances[1:]))
        if excess.max() <= 1 + OVERLAP_TOLERANCE:
            break
        times = times * np.sqrt(np.maximum(excess if k < MAX_LINE_SLOWDOWNS else excess.max(), 1.0))
    return times


def _pieces(q: Array, rates: Array, times: Array, a: Array, start: float) -> PiecewisePolynomial:
    """Return parabolas around the times of the points and lines between, without those of no length."""
    blends, changes = _blends(rates, a)
    at = start + blends[0] / 2 + np.concatenate([[0.0], np.cumsum(times)])
    before = np.concatenate([np.zeros((1, q.shape[1])), rates])
    breaks, pieces = [start], []
    for k in range(len(q)):
        begin = q[k] - before[k] * (blends[k] / 2)
        bent = changes[k] / (2 * blends[k]) if blends[k] > 0 else changes[k]
        ends = [(at[k] + blends[k] / 2, (begin, before[k], bent))]
        if k < len(rates):
            ends.append((at[k + 1] - blends[k + 1] / 2, (q[k] + rates[k] * (blends[k] / 2), rates[k], 0 * bent)))
        for end, powers in ends:
            if end - breaks[-1] > OVERLAP_TOLERANCE * max(1.0, at[-1] - start):
                breaks.append(end)
                pieces.append(np.stack(powers, axis=-1))
    return PiecewisePolynomial(np.array(breaks), np.array(pieces))
