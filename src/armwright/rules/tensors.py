"""Which inertia tensors a real body could have.

The second moment S = (tr I / 2) 1 - I is the mean of m x x^T over the body: it is positive semidefinite if and only if
I is positive semidefinite and keeps the triangle inequality, and sqrt(S_uu / m) is how far the mass is spread along u.
A tensor about a point at -c from the centre of mass has S + m c c^T in place of S (Steiner).
"""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array

ROUNDING = 1e-9
"""Relative slack: published tensors are rounded to a few digits, and rods and plates sit exactly on the boundary."""

FULL = np.sqrt(3.0)
"""Half the length of a uniform rod over the spread of its mass."""


def steiner(mass: float, com: Array) -> Array:
    """What moving a tensor from the centre of mass to the origin adds: m (r^2 1 - r r^T)."""
    added: Array = mass * (com @ com * np.eye(3) - np.outer(com, com))
    return added


def second_moment(inertia: Array) -> Array:
    moment: Array = np.trace(inertia) / 2 * np.eye(3) - inertia
    return moment


def flipped(inertia: Array) -> Array:
    """The tensor with the signs of its products turned."""
    turned: Array = 2 * np.diag(np.diag(inertia)) - inertia
    return turned


def possible(inertia: Array, slack: float = ROUNDING) -> bool:
    """Whether any body could have it."""
    a, b, c = np.linalg.eigvalsh(inertia)
    least, most = a + b - c, b + c - a  # of the second moment, twice
    return bool(least >= -slack * max(abs(least), abs(most))) and bool(np.any(inertia))


def near(one: Array, other: Array, tolerance: float) -> bool:
    """Whether tensors agree relative to their largest entry."""
    return bool(np.max(np.abs(one - other)) <= tolerance * np.max(np.abs(other)))
