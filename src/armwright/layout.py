"""Which entries of a state are what: positions, velocities, what a law remembers, and sums that are carried along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from armwright.algebra import Array
from armwright.lazy import cached_property

CARRIED = ("work", "losses")
"""What the torques have put in and what friction has taken: sums that the motion does not depend on."""


@dataclass(frozen=True)
class Layout:
    """Named parts one after the other, each of some entries; the first `controlled` entries count in an error."""

    parts: tuple[tuple[str, int], ...]
    controlled: int

    @classmethod
    def of_motion(cls, positions: int, velocities: int, memory: int = 0) -> Layout:
        """Of a robot under a law: q, qd, what the law remembers, work and losses."""
        parts = (("q", positions), ("qd", velocities), ("memory", memory), *((name, 1) for name in CARRIED))
        return cls(parts, positions + velocities + memory)

    @property
    def size(self) -> int:
        return sum(size for _, size in self.parts)

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = list(accumulate(size for _, size in self.parts))
        return {name: slice(end - size, end) for (name, size), end in zip(self.parts, ends, strict=True)}

    def __getitem__(self, name: str) -> slice:
        """Where a part stands."""
        return self._slices[name]

    def split(self, y: Array) -> dict[str, Array]:
        """The parts of a state, or of many (..., size), without copying; those of one sum have no axis of their own."""
        parts = {name: y[..., place] for name, place in self._slices.items()}
        return {name: part[..., 0] if name in CARRIED else part for name, part in parts.items()}

    def joined(self, parts: Mapping[str, Array], shape: tuple[int, ...] = ()) -> Array:
        """A state (*shape, size) of the given parts; those that are missing are zero."""
        y = np.zeros((*shape, self.size))
        for name, part in parts.items():
            y[..., self[name]] = part
        return y
