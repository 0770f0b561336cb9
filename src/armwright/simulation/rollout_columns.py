"""Numbers of many rollouts in columns, so that a number that is equal for all of them is never an array.

A column is a number, an array (rollouts,), or random numbers by counter (`draws.DrawnColumn`). These become an array
only where they are used: in the memory of a card if the rollouts are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.backends.rollout_interface import HostRollout, Rollout
from armwright.draws import FIRST_INSTANT, DrawnColumn, RolloutIndices
from armwright.simulation.sample_and_hold import SamplingInstants

Column: TypeAlias = "float | Array | DrawnColumn"
FillDrawn: TypeAlias = Callable[[Any, DrawnColumn, RolloutIndices, Array], None]
"""What fills an array with drawn numbers, as `backends.rollout_interface.Rollout.draw`."""


@dataclass(frozen=True)
class RolloutColumns:
    """Some columns of `count` rollouts, and which of all these are."""

    columns: tuple[Column, ...]
    count: int
    which: RolloutIndices = 0

    def __len__(self) -> int:
        """Return the number of rollouts, as an array of rows does."""
        return self.count

    @property
    def per_rollout(self) -> tuple[bool, ...]:
        """RolloutIndices differ from rollout to rollout."""
        return tuple(not isinstance(x, float) for x in self.columns)

    def some(self, chosen: Sequence[bool]) -> RolloutColumns:
        """Some of the columns."""
        return replace(self, columns=tuple(x for x, taken in zip(self.columns, chosen, strict=True) if taken))

    def part(self, begin: int, end: int) -> RolloutColumns:
        """Some of the rollouts."""
        columns = tuple(x[begin:end] if isinstance(x, np.ndarray) else x for x in self.columns)
        which = self.which + begin if isinstance(self.which, int) else self.which[begin:end]
        return RolloutColumns(columns, end - begin, which)

    def to_array(self, arrays: Any, dtype: Any, room: int, draw: FillDrawn = HostRollout.draw) -> Any:
        """An array (columns, room) of a module like NumPy; after the last rollout it is repeated.

        What is drawn anew in time is nan until somebody says for which turn.
        """
        out = arrays.empty((len(self.columns), room), dtype)
        shared = np.array(
            [np.nan if mine else x for x, mine in zip(self.columns, self.per_rollout, strict=True)], dtype
        )
        out[...] = arrays.asarray(shared)[:, None]
        for k, column in enumerate(self.columns):
            if isinstance(column, DrawnColumn) and not column.hold:
                draw(out[k : k + 1, : self.count], column, self.which, FIRST_INSTANT)
            elif isinstance(column, np.ndarray):
                out[k, : self.count] = arrays.asarray(np.ascontiguousarray(column, dtype))
            out[k, self.count :] = out[k, self.count - 1]
        return out

    def values_at(self, sampling: SamplingInstants, times: Array, dtype: Any) -> Array:
        """All columns of every rollout at some times (rollouts * times, columns)."""
        rows = np.repeat(self.to_array(np, dtype, self.count).T, len(times), axis=0)
        which = np.arange(self.which, self.which + self.count) if isinstance(self.which, int) else self.which
        for k, column in enumerate(self.columns):
            if isinstance(column, DrawnColumn) and column.hold:
                found = column.at(which[:, None], sampling.intervals_at(column.hold, times))
                rows[:, k] = np.broadcast_to(found, (self.count, len(times))).ravel()
        return rows


def column_array(rows: Array | RolloutColumns, kernel: Rollout, room: int) -> Any:
    """An array (columns, room) where a kernel computes, also from an array (rollouts, columns)."""
    if isinstance(rows, RolloutColumns):
        return rows.to_array(kernel.arrays, kernel.dtype, room, kernel.draw)
    spare = np.minimum(np.arange(room), len(rows) - 1)
    return kernel.arrays.asarray(np.ascontiguousarray(rows[spare].T, dtype=kernel.dtype))
