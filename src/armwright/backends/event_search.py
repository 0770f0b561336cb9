"""The limits of event detection in compiled rollouts, the same for every backend that compiles them."""

from __future__ import annotations

from armwright.integrate.events import MAX_EVENT_INTERVALS

MIN_EVENT_PIECE = 1 / (3 * MAX_EVENT_INTERVALS)
"""The share of a step that is not divided when an event may cross zero several times."""

MAX_EVENT_PIECES = 6 * MAX_EVENT_INTERVALS
"""Pieces tried in a step: each of the smallest, and as many that were too long."""

BISECTION_PERIOD = 4
"""One guess in so many halves the bracket of an event; the others are secants."""

MAX_EVENT_GUESSES = 200
"""Guesses at the instant of an event."""

AFTER_STEP_START = 2.0**-20
"""The share of a step after which an event that was zero at its start has a sign."""
