"""Inertia tensors as numbers, checked to be symmetric matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armwright.errors import ModelError

if TYPE_CHECKING:
    from armwright.model.transforms import Tensor

MAX_ASYMMETRY = 1e-9
"""The largest difference of symmetric entries, relative to the largest entry; rotations cause such errors."""


def checked_tensor(what: str, rows: Any) -> Tensor:
    """Return an inertia tensor as numbers, or raise a ModelError if it is not a symmetric matrix (3, 3)."""
    try:
        (a, b, c), (d, e, f), (g, h, i) = (map(float, row) for row in rows)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: inertia = {rows!r}; expected 3 rows of 3 numbers") from None
    asymmetry = max(abs(b - d), abs(c - g), abs(f - h))
    if asymmetry > MAX_ASYMMETRY * max(map(abs, (a, b, c, d, e, f, g, h, i))):
        raise ModelError(
            f"{what}: its inertia is not symmetric, entries across the diagonal differ by {asymmetry:.3g} kg m^2; "
            "expected a tensor such as I xx, xy, xz; xy, yy, yz; xz, yz, zz"
        )
    return (a, b, c), (d, e, f), (g, h, i)
