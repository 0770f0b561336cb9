"""The layout of a state: positions, velocities, the memory of a law, and integrals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from armwright.algebra import Array
from armwright.lazy import cached_property

CARRIED = ("work", "losses")
"""The energies that torques have put in and friction has taken: integrals that do not affect the motion."""

IMPULSE = 6
"""The entries of the integral of external force and moment on a free robot, without its weight."""


@dataclass(frozen=True)
class Layout:
    """Named parts in order, each with its number of entries; the first `controlled` entries count in an error.

    `unit_vectors` are slices (begin, end) of unit length: a quaternion, or cosine and sine of an angle.
    """

    parts: tuple[tuple[str, int], ...]
    controlled: int
    unit_vectors: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of_motion(
        cls,
        positions: int,
        velocities: int,
        memory: int = 0,
        unit_vectors: tuple[tuple[int, int], ...] = (),
        free: bool = False,
    ) -> Layout:
        """Return the layout of a robot under a law: q, qd, memory, work and losses, and the impulse if it is free."""
        moving = (("q", positions), ("qd", velocities), ("memory", memory))
        parts = (*moving, *((name, 1) for name in CARRIED), ("impulse", IMPULSE if free else 0))
        return cls(parts, positions + velocities + memory, unit_vectors)

    @property
    def size(self) -> int:
        """The number of entries."""
        return sum(size for _, size in self.parts)

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = list(accumulate(size for _, size in self.parts))
        return {name: slice(end - size, end) for (name, size), end in zip(self.parts, ends, strict=True)}

    @property
    def carried(self) -> tuple[tuple[str, int], ...]:
        """The parts that the motion does not depend on."""
        return self.parts[-len(CARRIED) - 1 :]

    def __getitem__(self, name: str) -> slice:
        """Return the slice of a part."""
        return self._slices[name]

    def split(self, y: Array) -> dict[str, Array]:
        """Return the parts of states (..., size) as views; work and losses have no axis."""
        parts = {name: y[..., place] for name, place in self._slices.items()}
        return {name: part[..., 0] if name in CARRIED else part for name, part in parts.items()}

    def unit(self, y: Array) -> Array:
        """Return states (..., size) with normalised unit vectors; the same array if there are none."""
        if self.unit_vectors:
            y = y.copy()
        for begin, end in self.unit_vectors:
            part = y[..., begin:end]
            part /= np.sqrt(np.sum(part * part, axis=-1, keepdims=True))
        return y

    def joined(self, parts: Mapping[str, Array], shape: tuple[int, ...] = ()) -> Array:
        """Return a state (*shape, size) of the parts; missing ones are zero."""
        y = np.zeros((*shape, self.size))
        for name, part in parts.items():
            y[..., self[name]] = part
        return y
