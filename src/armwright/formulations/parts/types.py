"""Types of the arguments and results of formulations."""

from collections.abc import Sequence
from typing import TypeAlias

from armwright.algebra import Scalar
from armwright.mechanism import Wrench

Coordinates: TypeAlias = Sequence[Scalar]
"""One scalar per joint: q, qd, qdd or tau."""

SquareMatrix: TypeAlias = list[list[Scalar]]
"""An n x n matrix as rows of scalars."""

Loads: TypeAlias = tuple[Wrench, ...]
"""One wrench per link, in its frame."""
