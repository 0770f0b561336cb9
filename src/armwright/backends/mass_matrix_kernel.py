"""The mass matrix of a long chain by its columns, each of which is one run of a loop along the chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from armwright.arrays import package
from armwright.backends.interface import BasicKernel


class MassMatrixKernel(BasicKernel):
    """M(q) by a kernel of torques (q, qd, qdd) without gravity: column j is the torques of a unit qdd[j] at rest.

    M is symmetric. A column is written as a row, so that its numbers are contiguous.
    """

    def __init__(self, kernel: Any) -> None:
        (n,) = kernel.shape
        self.shape, self.dtype, self._kernel = (n, n), kernel.dtype, kernel

    @property
    def source(self) -> str:
        """The text of the kernel."""
        return str(self._kernel.source)

    def _columns(self, arrays: Sequence[Any], out: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yield the arguments of the kernel and its part of `out` for every column."""
        (q,), xp, (n, _) = arrays, package(out), self.shape
        rest, units = xp.zeros(n, self.dtype), xp.eye(n, dtype=self.dtype)
        for j in range(n):
            zero, column = (xp.broadcast_to(x, (len(out), n)) for x in (rest, units[j]))
            yield (q, zero, column), out[:, j * n : (j + 1) * n]

    def run(self, arrays: Sequence[Any], out: Any, threads: int = 1) -> bool:
        finite = [self._kernel.run(arguments, part, threads) for arguments, part in self._columns(arrays, out)]
        return all(finite)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of entries of its argument."""
        return self.shape[:1]

    def code(self, arrays: Sequence[Any], out: Any) -> Any:
        """Return the compiled kernel of a column, on a card."""
        arguments, part = next(self._columns(arrays, out))
        return self._kernel.code(arguments, part)

    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        """Fill `out` and `good` on a card, as `cuda.host.launcher.Launcher` does."""
        xp, (n, _), indices = package(out), self.shape, list[Any]()
        column_good = None if good is None else xp.empty((n, len(out)), bool)
        for j, (arguments, part) in enumerate(self._columns(arrays, out)):
            indices.append(self._kernel.launch(arguments, part, None if column_good is None else column_good[j]))
        if column_good is not None:
            xp.all(column_good, axis=0, out=good)
            xp.copyto(out, xp.nan, where=~good[:, None])
        return xp.stack(indices).min(axis=0)

    def first_bad(self, indices: Any) -> int | None:
        """Return the index of the first bad state, None if all are good."""
        found: int | None = self._kernel.first_bad(indices)
        return found
