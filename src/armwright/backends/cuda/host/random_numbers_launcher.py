"""Counter-based random numbers drawn on the GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

from armwright.algebra import Array
from armwright.backends.cuda.host.device import CompiledCode, to_device
from armwright.backends.cuda.kernels.random_numbers import DRAW_BLOCK_THREADS, DrawArguments, kernel_source
from armwright.draws import DrawnColumn, RolloutIndices


@cache
def _code(double: bool) -> CompiledCode:
    return CompiledCode(kernel_source(double), DRAW_BLOCK_THREADS)


def fill(out: Any, drawn: DrawnColumn, rollouts: RolloutIndices, instants: Array) -> None:
    """Fill a GPU array (instants, rollouts) for sampling instants (instants, 1) or (instants, rollouts)."""
    arrays = []  # kept until the last launch

    def device_address(array: Any) -> int:
        arrays.append(to_device(array))
        return int(arrays[-1].data.ptr)

    for row, instant in zip(out, instants, strict=True):
        _code(out.dtype.itemsize == 8).launch(DrawArguments.of(drawn, rollouts, instant, row, device_address), len(row))
