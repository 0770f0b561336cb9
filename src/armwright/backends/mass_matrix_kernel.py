"""The mass matrix of a chain by its columns, each from one run of an inverse dynamics loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from armwright.arrays import package
from armwright.backends.interface import BasicKernel


class MassMatrixKernel(BasicKernel):
    """M(q), from a kernel of torques (q, qd, qdd) without gravity: column j is the torque of a unit qdd j at rest.

    M is symmetric: a column is written as a row, so that its numbers are contiguous.
    """

    def __init__(self, kernel: Any) -> None:
        (n,) = kernel.shape
        self.shape, self.dtype, self._kernel = (n, n), kernel.dtype, kernel

    @property
    def source(self) -> str:
        return str(self._kernel.source)

    def single(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        return fallback

    def _parts(self, arrays: Sequence[Any], out: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yield the inputs of the kernel and the part of the output for every column."""
        (q,), xp, (n, _) = arrays, package(out), self.shape
        rest, units = xp.zeros(n, self.dtype), xp.eye(n, dtype=self.dtype)
        for j in range(n):
            still, unit = (xp.broadcast_to(x, (len(out), n)) for x in (rest, units[j]))
            yield (q, still, unit), out[:, j * n : (j + 1) * n]

    def run(self, arrays: Sequence[Any], out: Any, threads: int = 1) -> bool:
        finite = [self._kernel.run(given, part, threads) for given, part in self._parts(arrays, out)]
        return all(finite)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of entries of its argument."""
        return self.shape[:1]

    def code(self, arrays: Sequence[Any], out: Any) -> Any:
        """Return the code launched for every column, on a GPU."""
        given, part = next(self._parts(arrays, out))
        return self._kernel.code(given, part)

    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        """Launch all columns on a GPU, as a GPU kernel does."""
        xp, (n, _), made = package(out), self.shape, list[Any]()
        each = None if good is None else xp.empty((n, len(out)), bool)
        for j, (given, part) in enumerate(self._parts(arrays, out)):
            made.append(self._kernel.launch(given, part, None if each is None else each[j]))
        if each is not None:
            xp.all(each, axis=0, out=good)
            xp.copyto(out, xp.nan, where=~good[:, None])
        return xp.stack(made).min(axis=0)

    def first(self, told: Any) -> int | None:
        """Return the first state that is not good."""
        found: int | None = self._kernel.first(told)
        return found
