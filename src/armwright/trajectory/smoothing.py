"""A law of progress with bounded jerk: the mean of another one over a window of time that moves along with it.

Where accelerations jump from one value to another, those of the mean go there along a straight line, as long as the
window is. A trapezoid of velocities becomes the curve of seven phases that is the fastest one within a jerk.
"""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.trajectory.polynomial import PiecewisePolynomial


def smoothed(law: PiecewisePolynomial, window: float) -> PiecewisePolynomial:
    """The mean of a law of one joint, at rest at its ends, over the last `window` seconds; it lasts so much longer."""
    t = law.breaks
    breaks = np.sort(np.concatenate([t, t + window]))
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > 1e-9 * breaks[-1]])]
    breaks[-1] = t[-1] + window
    h = np.diff(breaks)
    now, before = (_state(law, breaks[:-1] - late) for late in (0.0, window))
    pace, gain = (now[0] - before[0]) / window, (now[1] - before[1]) / window
    later = (breaks[:-1] + breaks[1:]) / 2
    jerk = (_state(law, later)[2] - _state(law, later - window)[2]) / window
    way = pace * h + gain * h**2 / 2 + jerk * h**3 / 6
    s = law.coefficients[0, 0, 0] + np.concatenate([[0.0], np.cumsum(way)[:-1]])
    return PiecewisePolynomial(breaks, np.stack([s, pace, gain / 2, jerk / 6], axis=-1)[:, None])


def cut(law: PiecewisePolynomial, places: Array) -> PiecewisePolynomial:
    """The same law, whose accelerations do not jump, with breaks where it comes by some places."""
    t = np.interp(places, law._at(law.breaks)[0][:, 0], law.breaks)
    for _ in range(4):
        s, pace, _ = (x[:, 0] for x in law._at(t))
        t = np.clip(t - (s - places) / pace, law.start, law.end)
    breaks = np.unique(np.concatenate([law.breaks, t]))
    s, pace, gain = (x[:-1, 0] for x in law._at(breaks))
    jerk = np.diff(law._at(breaks)[2][:, 0]) / np.diff(breaks)
    return PiecewisePolynomial(breaks, np.stack([s, pace, gain / 2, jerk / 6], axis=-1)[:, None])


def _state(law: PiecewisePolynomial, t: Array) -> tuple[Array, Array, Array]:
    """Place, pace and its change, of a law that rests outside its span."""
    s, pace, gain = (x[:, 0] for x in law._at(np.clip(t, law.start, law.end)))
    inside = (t >= law.start) & (t < law.end)
    return s, np.where(inside, pace, 0.0), np.where(inside, gain, 0.0)
