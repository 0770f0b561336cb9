"""The difference between a run and the same run with finer steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array

if TYPE_CHECKING:
    from armwright.simulation.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class Deviation:
    """Absolute differences of positions and velocities (k, n) from a run `factor` times finer."""

    factor: float
    t: Array
    q: Array
    qd: Array

    def __str__(self) -> str:
        start = self.exceeds(1e-3)
        when = f", more than 0.001 from t = {start:.4g} s on" if start is not None else ""
        return f"positions differ by at most {self.largest:.2g} from a run {self.factor:g} times finer{when}"

    __repr__ = __str__

    @property
    def largest(self) -> float:
        """The largest difference of all positions at all times."""
        return float(np.max(self.q, initial=0.0))

    def exceeds(self, tolerance: float) -> float | None:
        """Return the first time when positions differ by more than a tolerance, None if they never do."""
        records = np.flatnonzero(self.q.max(axis=1) > tolerance)
        return float(self.t[records[0]]) if records.size else None

    @classmethod
    def between(cls, one: Run, other: Run, factor: float) -> Deviation:
        count = min(len(one.t), len(other.t))
        q, qd = (np.abs(getattr(one, name)[:count] - getattr(other, name)[:count]) for name in ("q", "qd"))
        return cls(factor, one.t[:count], q, qd)
