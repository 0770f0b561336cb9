"""A law of progress with bounded jerk: the moving average of another law over a window of time.

Jumps of the acceleration become ramps as long as the window. A trapezoid of velocities becomes the curve of seven
phases that is the fastest within a jerk.
"""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.trajectory.polynomial import PiecewisePolynomial


def smoothed(law: PiecewisePolynomial, window: float) -> PiecewisePolynomial:
    """Return the mean over the last `window` seconds of a law of one joint at rest at its ends."""
    t = law.breaks
    breaks = np.sort(np.concatenate([t, t + window]))
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > 1e-9 * breaks[-1]])]
    breaks[-1] = t[-1] + window
    h = np.diff(breaks)
    now, before = (_state(law, breaks[:-1] - delay) for delay in (0.0, window))
    sd, sdd = (now[0] - before[0]) / window, (now[1] - before[1]) / window
    middle = (breaks[:-1] + breaks[1:]) / 2
    jerk = (_state(law, middle)[2] - _state(law, middle - window)[2]) / window
    steps = sd * h + sdd * h**2 / 2 + jerk * h**3 / 6
    s = law.coefficients[0, 0, 0] + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    return PiecewisePolynomial(breaks, np.stack([s, sd, sdd / 2, jerk / 6], axis=-1)[:, None])


def with_breaks_at(law: PiecewisePolynomial, positions: Array) -> PiecewisePolynomial:
    """Return the same law, whose accelerations must not jump, with breaks at some positions s."""
    t = np.interp(positions, law._at(law.breaks)[0][:, 0], law.breaks)
    for _ in range(4):
        s, sd, _ = (x[:, 0] for x in law._at(t))
        t = np.clip(t - (s - positions) / sd, law.start, law.end)
    breaks = np.unique(np.concatenate([law.breaks, t]))
    s, sd, sdd = (x[:-1, 0] for x in law._at(breaks))
    jerk = np.diff(law._at(breaks)[2][:, 0]) / np.diff(breaks)
    return PiecewisePolynomial(breaks, np.stack([s, sd, sdd / 2, jerk / 6], axis=-1)[:, None])


def _state(law: PiecewisePolynomial, t: Array) -> tuple[Array, Array, Array]:
    """Return s, s' and s'' of a law that rests outside its span."""
    s, sd, sdd = (x[:, 0] for x in law._at(np.clip(t, law.start, law.end)))
    inside = (t >= law.start) & (t < law.end)
    return s, np.where(inside, sd, 0.0), np.where(inside, sdd, 0.0)
