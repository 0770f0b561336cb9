"""Paths of the joints, q over s, and the grids of s for a motion along them.

A path is a trajectory of which only the shape counts: its t is s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.trajectory.argument_checks import numbers, short
from armwright.trajectory.motion_base import Trajectory
from armwright.trajectory.polynomial import PiecewisePolynomial

INTERVAL_OFFSET = 1e-6  # of an interval: the distance of samples from its ends, so that jumps lie between intervals
REST_TOLERANCE = 1e-6  # of the largest |dq/ds|: below it the joints rest while s moves on
CORNER_TOLERANCE = 1e-6  # relative jump of dq/ds that needs no stop
RESAMPLED_POINTS = 500  # intervals of a path that is parametrised by its length


def as_path(path: Any, n: int, name: str) -> Trajectory:
    """Return a path of n joints that rests nowhere, from a trajectory or from points."""
    if not isinstance(path, Trajectory):
        return spline_through(path, n, name)
    if path.n != n:
        raise InputError(f"the path has {path.n} joints; {name} has {n}")
    if not np.isfinite([path.start, path.end]).all():
        raise InputError("the path has no end; pass the trajectory before .holding()")
    return by_length(path)


def spline_through(points: ArrayLike, n: int, name: str) -> PiecewisePolynomial:
    """Return the natural cubic spline through points (m, n), with s the sum of the distances from point to point."""
    q = numbers("points", points, "a position of all joints in every row, or a trajectory as a path")
    if q.ndim != 2 or q.shape[1] != n:
        raise InputError(f"points have shape {q.shape}; expected (m, {n}): a row for each point, {name} has {n} joints")
    if len(q) < 2:
        raise InputError("points has one row; expected at least two points")
    lengths = np.linalg.norm(np.diff(q, axis=0), axis=1)
    if not (lengths > 0).all():
        k = int(np.argmin(lengths))
        raise InputError(f"points[{k}] and points[{k + 1}] are the same point; remove one of them")
    return _spline(np.concatenate([[0.0], np.cumsum(lengths)]), q)


def by_length(path: Trajectory) -> Trajectory:
    """Return the path, or the same one with its length as s if the joints rest while its s moves on."""
    s = np.unique([*np.linspace(path.start, path.end, 8 * RESAMPLED_POINTS + 1), *path.knots])
    q, dq_ds, _ = path(s)
    speed = np.linalg.norm(dq_ds, axis=1)
    if speed.min() > REST_TOLERANCE * speed.max():
        return path
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1))])
    if not length[-1] > 0:
        raise InputError("no joint moves along the path; expected a path along which some do")
    distances, indices = np.unique(length, return_index=True)
    points = path(np.interp(np.linspace(0.0, length[-1], RESAMPLED_POINTS + 1), distances, s[indices]))[0]
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return _spline(np.concatenate([[0.0], np.cumsum(steps)]), points)


def _spline(s: Array, q: Array) -> PiecewisePolynomial:
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (takes half a second)

    powers = CubicSpline(s, q, bc_type="natural").c[::-1]
    return PiecewisePolynomial(s, np.moveaxis(powers, 0, -1))


def path_grid(path: Trajectory, count: int) -> tuple[Array, Array]:
    """Return about `count` + 1 grid points, and which of them are corners, where the motion has to stop.

    They are closer near stops, where the speed grows with the root of s. Knots, and points where a joint reverses and
    its dry friction jumps, are grid points, so that everything is smooth between.
    """
    knots = np.asarray(path.knots)
    corners = knots[_corners(path, knots)]
    stops = np.concatenate([knots[:1], corners, knots[-1:]])
    counts = np.maximum(8, np.ceil(count * np.diff(stops) / (stops[-1] - stops[0]))).astype(int)
    parts = [
        begin + (end - begin) * (1 - np.cos(np.pi * np.arange(k) / k)) / 2
        for begin, end, k in zip(stops[:-1], stops[1:], counts, strict=True)
    ]
    grid = np.concatenate([*parts, stops[-1:]])
    s = np.unique(np.concatenate([grid, knots, _reversals(path, grid)]))
    apart = np.diff(s) > 1e-9 * (s[-1] - s[0])
    kept = np.concatenate([[True], apart])
    kept[-1] = True
    kept[-2] &= bool(apart[-1]) or len(s) == 2
    s = s[kept]
    stopped = np.zeros(len(s), bool)
    stopped[np.searchsorted(s, corners - 1e-9 * (s[-1] - s[0]))] = True
    return s, stopped


def _corners(path: Trajectory, knots: Array, order: int = 1) -> Array:
    """Return which knots have a jump of dq/ds, or of the derivative of another order."""
    jumps = np.zeros(len(knots), bool)
    if len(knots) > 2:
        offset = 1e-9 * np.minimum(np.diff(knots)[:-1], np.diff(knots)[1:])
        before, after = (path(knots[1:-1] + sign * offset)[order] for sign in (-1, 1))
        jumps[1:-1] = np.abs(after - before).max(axis=1) > CORNER_TOLERANCE * np.abs(before).max(initial=1e-9)
    return jumps


def is_smooth(path: Trajectory) -> bool:
    """Return True if neither dq/ds nor its derivative jumps."""
    knots = np.asarray(path.knots)
    return not any(_corners(path, knots, order).any() for order in (1, 2))


def third_derivative(path: Trajectory, s: Array) -> Array:
    """Return the third derivative of q, by differences of the second."""
    offset = INTERVAL_OFFSET * (path.end - path.start)
    low, high = (np.clip(s + sign * offset, path.start, path.end) for sign in (-1, 1))
    return np.asarray((path(high)[2] - path(low)[2]) / (high - low)[..., None])


def _reversals(path: Trajectory, s: Array) -> Array:
    """Return where a joint reverses, dq/ds = 0, by false position between grid points of opposite signs."""
    dq_ds = path(s)[1]
    at, joint = np.nonzero(dq_ds[:-1] * dq_ds[1:] < 0)
    low, high, f, g = s[at], s[at + 1], dq_ds[at, joint], dq_ds[at + 1, joint]
    for _ in range(4 if len(at) else 0):
        middle = (low * g - high * f) / (g - f)
        h = path(middle)[1][np.arange(len(at)), joint]
        left = h * f > 0
        low, f = np.where(left, middle, low), np.where(left, h, f)
        high, g = np.where(left, high, middle), np.where(left, g, h)
    return np.asarray((low * g - high * f) / np.where(g != f, g - f, 1.0)) if len(at) else at.astype(float)


def position_text(path: Trajectory, s: float) -> str:
    """Return a position on the path for messages."""
    return f"s = {short(s)} ({100 * (s - path.start) / (path.end - path.start):.3g} % of the path)"
