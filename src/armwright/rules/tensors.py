"""Inertia tensors that a real body can have.

The second moment S = (tr I / 2) 1 - I is the mean of m x x^T over the body: it is positive semidefinite if and only if
I is positive semidefinite and satisfies the triangle inequality, and sqrt(S_uu / m) is the spread of the mass along u.
A tensor about a point at -c from the centre of mass has S + m c c^T in place of S (Steiner).
"""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array

TENSOR_SLACK = 1e-9
"""Relative tolerance: published tensors are rounded, and rods and plates are exactly on the boundary."""

ROD_HALF_LENGTH = np.sqrt(3.0)
"""Half the length of a uniform rod over the spread of its mass."""


def parallel_axis_term(mass: float, com: Array) -> Array:
    """Return m (r^2 1 - r r^T), the difference of the tensors about the origin and about the centre of mass."""
    added: Array = mass * (com @ com * np.eye(3) - np.outer(com, com))
    return added


def second_moment(inertia: Array) -> Array:
    """Return (tr I / 2) 1 - I."""
    moment: Array = np.trace(inertia) / 2 * np.eye(3) - inertia
    return moment


def with_negated_products(inertia: Array) -> Array:
    """Return the tensor with the opposite signs of its products."""
    negated: Array = 2 * np.diag(np.diag(inertia)) - inertia
    return negated


def is_physical(inertia: Array, slack: float = TENSOR_SLACK) -> bool:
    """Return whether a body can have this tensor."""
    a, b, c = np.linalg.eigvalsh(inertia)
    smallest, largest = a + b - c, b + c - a  # twice the extreme eigenvalues of the second moment
    return bool(smallest >= -slack * max(abs(smallest), abs(largest))) and bool(np.any(inertia))


def tensors_agree(one: Array, other: Array, tolerance: float) -> bool:
    """Return whether tensors agree relative to the largest entry of the second."""
    return bool(np.max(np.abs(one - other)) <= tolerance * np.max(np.abs(other)))
