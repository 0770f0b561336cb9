"""Numbers of many rollouts in columns; a number that is equal for all rollouts is stored once.

A column is a number, an array (rollouts,), or random numbers by counter (`draws.DrawnColumn`). Random numbers become an
array only in the memory of the device that uses them.
"""

from __future__ import annotations

import itertools
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
"""Fills an array with random numbers, as `backends.rollout_interface.Rollout.draw`."""


@dataclass(frozen=True)
class RolloutColumns:
    """Columns of `count` rollouts; `indices` are those of the rollouts, or the first of consecutive ones."""

    columns: tuple[Column, ...]
    count: int
    indices: RolloutIndices = 0

    def __len__(self) -> int:
        """Return the number of rollouts, as an array of rows does."""
        return self.count

    @property
    def per_rollout(self) -> tuple[bool, ...]:
        """True for each column whose numbers differ from rollout to rollout."""
        return tuple(not isinstance(x, float) for x in self.columns)

    def select(self, mask: Sequence[bool]) -> RolloutColumns:
        """Return the columns of a mask."""
        return replace(self, columns=tuple(itertools.compress(self.columns, mask)))

    def part(self, begin: int, end: int) -> RolloutColumns:
        """Return the columns of the rollouts from `begin` to `end`."""
        columns = tuple(x[begin:end] if isinstance(x, np.ndarray) else x for x in self.columns)
        indices = self.indices + begin if isinstance(self.indices, int) else self.indices[begin:end]
        return RolloutColumns(columns, end - begin, indices)

    def to_array(self, arrays: Any, dtype: Any, padded: int, draw: FillDrawn = HostRollout.draw) -> Any:
        """Return an array (columns, padded) of NumPy or CuPy, padded with copies of the last rollout.

        Random numbers that are held for an interval are nan until they are drawn for it.
        """
        out = arrays.empty((len(self.columns), padded), dtype)
        shared = np.array([x if isinstance(x, float) else np.nan for x in self.columns], dtype)
        out[...] = arrays.asarray(shared)[:, None]
        for k, column in enumerate(self.columns):
            if isinstance(column, DrawnColumn) and not column.hold:
                draw(out[k : k + 1, : self.count], column, self.indices, FIRST_INSTANT)
            elif isinstance(column, np.ndarray):
                out[k, : self.count] = arrays.asarray(np.ascontiguousarray(column, dtype))
            out[k, self.count :] = out[k, self.count - 1]
        return out

    def values_at(self, sampling: SamplingInstants, times: Array, dtype: Any) -> Array:
        """Return all columns of every rollout at times (rollouts * times, columns)."""
        rows = np.repeat(self.to_array(np, dtype, self.count).T, len(times), axis=0)
        indices = self.indices
        if isinstance(indices, int):
            indices = np.arange(indices, indices + self.count)
        for k, column in enumerate(self.columns):
            if isinstance(column, DrawnColumn) and column.hold:
                values = column.at(indices[:, None], sampling.intervals_at(column.hold, times))
                rows[:, k] = np.broadcast_to(values, (self.count, len(times))).ravel()
        return rows


def column_array(rows: Array | RolloutColumns, kernel: Rollout, padded: int) -> Any:
    """Return an array (columns, padded) in the memory of a kernel, also from an array (rollouts, columns)."""
    if isinstance(rows, RolloutColumns):
        return rows.to_array(kernel.arrays, kernel.dtype, padded, kernel.draw)
    repeated = rows[np.minimum(np.arange(padded), len(rows) - 1)]
    return kernel.arrays.asarray(np.ascontiguousarray(repeated.T, dtype=kernel.dtype))
