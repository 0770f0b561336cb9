"""Paths of the joints, apart from their speed: q over a place s, and the places at which a motion along them is
looked at.

A path is a trajectory whose time does not matter: t is the place s.
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

INTERVAL_OFFSET = (
    1e-6  # of an interval: how far from its ends the path is looked at, so that jumps lie between intervals
)
STILL_TOLERANCE = 1e-6  # of the largest |dq/ds|: where it is less, s is not fit to run along
CORNER_TOLERANCE = 1e-6  # of |dq/ds|: by how much it may jump without a stop
RESAMPLED_POINTS = 500  # points through which a path goes by its length


def as_path(path: Any, n: int, name: str) -> Trajectory:
    """A path of n joints along which something always moves: the given one, or the spline through the given points."""
    if not isinstance(path, Trajectory):
        return through(path, n, name)
    if path.n != n:
        raise InputError(f"the path has {path.n} joints; {name} has {n}")
    if not np.isfinite([path.start, path.end]).all():
        raise InputError("the path has no end; give the trajectory as it was before .holding()")
    return by_length(path)


def through(points: ArrayLike, n: int, name: str) -> PiecewisePolynomial:
    """The natural cubic spline through points (m, n), with s the sum of the distances from point to point."""
    q = numbers("points", points, "a position of all joints in every row, or a trajectory as a path")
    if q.ndim != 2 or q.shape[1] != n:
        raise InputError(f"points have shape {q.shape}; expected (m, {n}): a row for each point, {name} has {n} joints")
    if len(q) < 2:
        raise InputError("points has one row, so there is no way to go; expected at least two points")
    lengths = np.linalg.norm(np.diff(q, axis=0), axis=1)
    if not (lengths > 0).all():
        k = int(np.argmin(lengths))
        raise InputError(f"points[{k}] and points[{k + 1}] are the same point; remove one of them")
    return _spline(np.concatenate([[0.0], np.cumsum(lengths)]), q)


def by_length(path: Trajectory) -> Trajectory:
    """The path itself, or the same one by its length if its own s stands still where the joints do."""
    s = np.unique([*np.linspace(path.start, path.end, 8 * RESAMPLED_POINTS + 1), *path.knots])
    q, first, _ = path(s)
    pace = np.linalg.norm(first, axis=1)
    if pace.min() > STILL_TOLERANCE * pace.max():
        return path
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1))])
    if not length[-1] > 0:
        raise InputError("the path stays where it is, so there is no way to go; expected one along which joints move")
    rows, at = np.unique(length, return_index=True)
    places = np.interp(np.linspace(0.0, length[-1], RESAMPLED_POINTS + 1), rows, s[at])
    points = path(places)[0]
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return _spline(np.concatenate([[0.0], np.cumsum(steps)]), points)


def _spline(s: Array, q: Array) -> PiecewisePolynomial:
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (takes half a second)

    powers = CubicSpline(s, q, bc_type="natural").c[::-1]
    return PiecewisePolynomial(s, np.moveaxis(powers, 0, -1))


def path_grid(path: Trajectory, count: int) -> tuple[Array, Array]:
    """Some `count` + 1 places, and which of them are corners, where the motion has to stop.

    They lie closer near stops, where the pace changes with the root of s. Where formulas change, or a joint turns back
    and its dry friction with it, there is a place, so that between places everything is smooth.
    """
    knots = np.asarray(path.knots)
    corners = knots[_corners(path, knots)]
    stops = np.concatenate([knots[:1], corners, knots[-1:]])
    counts = np.maximum(8, np.ceil(count * np.diff(stops) / (stops[-1] - stops[0]))).astype(int)
    near = [
        begin + (end - begin) * (1 - np.cos(np.pi * np.arange(k) / k)) / 2
        for begin, end, k in zip(stops[:-1], stops[1:], counts, strict=True)
    ]
    grid = np.concatenate([*near, stops[-1:]])
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
    """Which knots are places where dq/ds jumps, or the derivative of another order."""
    jumps = np.zeros(len(knots), bool)
    if len(knots) > 2:
        aside = 1e-9 * np.minimum(np.diff(knots)[:-1], np.diff(knots)[1:])
        before, after = (path(knots[1:-1] + sign * aside)[order] for sign in (-1, 1))
        jumps[1:-1] = np.abs(after - before).max(axis=1) > CORNER_TOLERANCE * np.abs(before).max(initial=1e-9)
    return jumps


def is_smooth(path: Trajectory) -> bool:
    """Return True if neither dq/ds nor its derivative jumps."""
    knots = np.asarray(path.knots)
    return not any(_corners(path, knots, order).any() for order in (1, 2))


def third_derivative(path: Trajectory, s: Array) -> Array:
    """The third derivative of q, by differences of the second."""
    aside = INTERVAL_OFFSET * (path.end - path.start)
    low, high = (np.clip(s + sign * aside, path.start, path.end) for sign in (-1, 1))
    return np.asarray((path(high)[2] - path(low)[2]) / (high - low)[..., None])


def _reversals(path: Trajectory, s: Array) -> Array:
    """Return where a joint reverses, dq/ds = 0, by false position between grid points of opposite signs."""
    first = path(s)[1]
    at, joint = np.nonzero(first[:-1] * first[1:] < 0)
    low, high, f, g = s[at], s[at + 1], first[at, joint], first[at + 1, joint]
    for _ in range(4 if len(at) else 0):
        middle = (low * g - high * f) / (g - f)
        h = path(middle)[1][np.arange(len(at)), joint]
        left = h * f > 0
        low, f, high, g = (
            np.where(left, middle, low),
            np.where(left, h, f),
            np.where(left, high, middle),
            np.where(left, g, h),
        )
    return np.asarray((low * g - high * f) / np.where(g != f, g - f, 1.0)) if len(at) else at.astype(float)


def position_text(path: Trajectory, s: float) -> str:
    """Return a place on the path for messages."""
    return f"s = {short(s)} ({100 * (s - path.start) / (path.end - path.start):.3g} % of the way)"
