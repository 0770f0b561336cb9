"""Smooth motions through points: cubic and quintic splines, by the velocities and accelerations at their knots.

A spline takes two steps. The first solves for the velocities (and accelerations) at the inner knots: continuous higher
derivatives couple each knot to its two neighbours in a block tridiagonal system. The second is the polynomial of each
piece with the values at both its ends (Hermite).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.trajectory.argument_checks import increasing, one_per_joint, table
from armwright.trajectory.motion_base import MAX_COMPILED_PIECES, Trajectory
from armwright.trajectory.polynomial import PiecewisePolynomial

END_SAMPLES = 6  # samples from which the derivatives at an end of sampled data are estimated


def cubic(
    times: ArrayLike, points: ArrayLike, start_velocity: ArrayLike = 0.0, end_velocity: ArrayLike = 0.0
) -> PiecewisePolynomial:
    """Return the cubic spline through via points without stopping: velocity and acceleration are continuous.

    It starts and ends with the given velocities. Figure 3 of Grigorov 2013 is such a motion.
    """
    t = increasing("times", times)
    q = table("points", points, t)
    qd = np.zeros_like(q)
    qd[0] = one_per_joint("start_velocity", start_velocity, q.shape[1])
    qd[-1] = one_per_joint("end_velocity", end_velocity, q.shape[1])
    return _cubic_pieces(t, q, _cubic_velocities(t, q, qd))


def quintic(
    times: ArrayLike, points: ArrayLike, velocities: ArrayLike | None = None, accelerations: ArrayLike | None = None
) -> PiecewisePolynomial:
    """Return the quintic spline through via points without stopping.

    Without velocities it is continuous up to the fourth derivative, and starts and ends with zero velocity and
    acceleration. With a velocity for each point, the jerk is continuous and the accelerations at the ends are zero.
    With an acceleration for each point too, it is determined (see `hermite`).
    """
    t = increasing("times", times)
    q = table("points", points, t)
    n = q.shape[1]
    if velocities is None:
        if accelerations is not None:
            raise InputError("quintic got accelerations without velocities; give velocities too, or neither")
        return _quintic_through(t, q, *_continuous_jerk_and_snap(t, q, np.zeros_like(q), np.zeros_like(q)))
    qd = table("velocities", velocities, t, n)
    if accelerations is None:
        return _quintic_through(t, q, qd, _continuous_jerk(t, q, qd, np.zeros_like(q)))
    return _quintic_through(t, q, qd, table("accelerations", accelerations, t, n))


def hermite(times: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike | None = None) -> PiecewisePolynomial:
    """Return the motion with these q, qd and qdd at these times: quintic, or cubic without qdd."""
    t = increasing("times", times)
    position = table("q", q, t)
    velocity = table("qd", qd, t, position.shape[1])
    if qdd is None:
        return _cubic_pieces(t, position, velocity)
    return _quintic_through(t, position, velocity, table("qdd", qdd, t, position.shape[1]))


def spline(times: ArrayLike, points: ArrayLike, degree: int = 5) -> PiecewisePolynomial:
    """Return a smooth motion through samples of an unknown one, which need not rest at its ends.

    The derivatives at the ends are those of the polynomial through the six nearest samples. For samples h apart of a
    smooth motion, the error of the acceleration is of order h^4 (degree 5) or h^2 (degree 3). Noise is not smoothed:
    accelerations amplify it by 1/h^2.
    """
    t = increasing("times", times)
    q = table("points", points, t)
    if degree not in (3, 5):
        raise InputError(f"degree = {degree!r}; expected 3 or 5")
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    for end, near in ((0, slice(END_SAMPLES)), (-1, slice(-END_SAMPLES, None))):
        qd[end], qdd[end] = _end_derivatives(t[near] - t[end], q[near])
    if degree == 3:
        return _cubic_pieces(t, q, _cubic_velocities(t, q, qd))
    return _quintic_through(t, q, *_continuous_jerk_and_snap(t, q, qd, qdd))


def sampled(trajectory: Trajectory, pieces: int = MAX_COMPILED_PIECES) -> PiecewisePolynomial:
    """Return a quintic spline with the values of a trajectory at pieces + 1 equally spaced times, cheaper to evaluate.

    With 32 pieces or fewer it can be traced and compiled.
    """
    if not isinstance(trajectory, Trajectory):
        raise InputError(
            f"sampled got {type(trajectory).__name__}; expected a trajectory; for points there are "
            "spline(times, points) and hermite(times, q, qd, qdd)"
        )
    times = np.linspace(trajectory.knots[0], trajectory.knots[-1], whole_number("pieces", pieces, 1) + 1)
    return hermite(times, *trajectory(times))


def _cubic_pieces(t: Array, q: Array, qd: Array) -> PiecewisePolynomial:
    """Return cubic pieces with these positions and velocities at their ends."""
    h = np.diff(t)[:, np.newaxis]
    chord, v0, v1 = np.diff(q, axis=0) / h, qd[:-1], qd[1:]
    powers = (q[:-1], v0, (3 * chord - 2 * v0 - v1) / h, (v0 + v1 - 2 * chord) / h**2)
    return PiecewisePolynomial(t, np.stack(powers, axis=-1))


def _quintic_through(t: Array, q: Array, qd: Array, qdd: Array) -> PiecewisePolynomial:
    """Return quintic pieces with these positions, velocities and accelerations at their ends."""
    return quintic_pieces(t, q, qd, qdd[:-1], qdd[1:])


def quintic_pieces(t: Array, q: Array, qd: Array, begins: Array, ends: Array) -> PiecewisePolynomial:
    """Return the same with the accelerations at the beginning and at the end of each piece, which may jump."""
    h = np.diff(t)[:, np.newaxis]
    chord, v0, v1 = np.diff(q, axis=0) / h, qd[:-1], qd[1:]
    a0, a1 = begins * h, ends * h
    powers = (
        q[:-1],
        v0,
        a0 / h / 2,
        (10 * chord - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1) / h**2,
        (-15 * chord + 8 * v0 + 7 * v1 + 1.5 * a0 - a1) / h**3,
        (6 * chord - 3 * (v0 + v1) - 0.5 * a0 + 0.5 * a1) / h**4,
    )
    return PiecewisePolynomial(t, np.stack(powers, axis=-1))


def _cubic_velocities(t: Array, q: Array, qd: Array) -> Array:
    """Return velocities for which the acceleration is continuous; those at the ends are kept."""
    h = np.diff(t)
    before, after = h[:-1], h[1:]
    chord = np.diff(q, axis=0) / h[:, np.newaxis]
    right = 3 * (after[:, np.newaxis] * chord[:-1] + before[:, np.newaxis] * chord[1:])
    lower, diagonal, upper = (x[:, np.newaxis, np.newaxis] for x in (after, 2 * (before + after), before))
    return _solve_tridiagonal(lower, diagonal, upper, right[:, np.newaxis], qd[:, np.newaxis])[:, 0]


def _continuous_jerk(t: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Return accelerations for which the jerk is continuous; those at the ends are kept."""
    lower, diagonal, upper, right = _jerk_and_snap(t, q)
    for weights, v in ((lower, qd[:-2]), (diagonal, qd[1:-1]), (upper, qd[2:])):
        right = right - weights[:, :, :1] * v[:, np.newaxis]
    only = np.s_[:, :1, 1:]
    return _solve_tridiagonal(lower[only], diagonal[only], upper[only], right[:, :1], qdd[:, np.newaxis])[:, 0]


def _continuous_jerk_and_snap(t: Array, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Return velocities and accelerations for which jerk and snap are continuous; those at the ends are kept."""
    both = _solve_tridiagonal(*_jerk_and_snap(t, q), np.stack([qd, qdd], axis=1))
    return both[:, 0], both[:, 1]


def _jerk_and_snap(t: Array, q: Array) -> tuple[Array, Array, Array, Array]:
    """Return the equations of continuous jerk and snap at each inner knot, in its (qd, qdd) and its neighbours'.

    On a piece of length h with chord c = (q1 - q0)/h, the derivatives at its beginning are
        jerk = (60 c - 36 v0 - 24 v1)/h^2 - (9 a0 - 3 a1)/h
        snap = (-360 c + 192 v0 + 168 v1)/h^3 + (36 a0 - 24 a1)/h^2
    and at its end the same with time reversed: the ends exchange roles, and c, v and the jerk change sign. Each
    equation is the value before the knot minus that after it.
    """
    h = np.diff(t)
    h0, h1 = h[:-1], h[1:]
    c = np.diff(q, axis=0) / h[:, np.newaxis]
    lower = _blocks(-24 / h0**2, -3 / h0, -168 / h0**3, -24 / h0**2)
    diagonal = _blocks(36 / h1**2 - 36 / h0**2, 9 / h0 + 9 / h1, -192 / h0**3 - 192 / h1**3, 36 / h0**2 - 36 / h1**2)
    upper = _blocks(24 / h1**2, -3 / h1, -168 / h1**3, 24 / h1**2)
    before, after = (np.stack([60 / x**2, 360 / x**3], axis=1)[:, :, np.newaxis] for x in (h0, h1))
    sides = np.array([[1.0], [-1.0]])
    right = sides * after * c[1:, np.newaxis] - before * c[:-1, np.newaxis]
    return lower, diagonal, upper, right


def _blocks(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return [[a, b], [c, d]] for each knot."""
    return np.stack([np.stack([a, b], axis=1), np.stack([c, d], axis=1)], axis=1)


def _solve_tridiagonal(lower: Array, diagonal: Array, upper: Array, right: Array, values: Array) -> Array:
    """Solve lower x[k-1] + diagonal x[k] + upper x[k+1] = right for all inner knots k, given the values at both ends.

    Block elimination: the cost is proportional to the number of knots.
    """
    x = values.copy()
    inner = len(right)
    if not inner:
        return x
    right = right.copy()
    right[0] -= lower[0] @ x[0]
    right[-1] -= upper[-1] @ x[-1]
    pivots = diagonal.copy()
    for k in range(1, inner):
        factor = np.linalg.solve(pivots[k - 1].T, lower[k].T).T
        pivots[k] -= factor @ upper[k - 1]
        right[k] -= factor @ right[k - 1]
    for k in reversed(range(inner)):
        rest = right[k] - upper[k] @ x[k + 2] if k < inner - 1 else right[k]
        x[k + 1] = np.linalg.solve(pivots[k], rest)
    return x


def _end_derivatives(t: Array, q: Array) -> tuple[Array, Array]:
    """Return the first two derivatives at t = 0 of the polynomial through all these samples."""
    scale = np.abs(t).max()
    powers = np.linalg.solve(np.vander(t / scale, increasing=True), q)
    derivatives = [math.factorial(k) * powers[k] / scale**k if k < len(powers) else np.zeros_like(q[0]) for k in (1, 2)]
    return derivatives[0], derivatives[1]
