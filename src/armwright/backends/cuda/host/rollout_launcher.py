"""The launcher of rollouts: it integrates many motions on the card, where their arrays stay until the end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.cuda.host.device import CompiledCode, cupy, free_bytes
from armwright.backends.cuda.host.random_numbers_launcher import fill
from armwright.backends.cuda.kernels import rollout
from armwright.backends.cuda.kernels.rollout import Motion
from armwright.draws import DrawnColumn, RolloutIndices
from armwright.lazy import cached_property

MAX_SHARED_PARAMETERS = 2048
"""Runtime parameters that all rollouts share and that are passed with a call. Further ones are stored per rollout."""

MEMORY_SHARE = 0.7
"""The share of the free memory that rollouts may take; their results need memory as well."""

BLOCKS, MAX_SPILLED_BYTES = {"float32": 7, "float64": 4}, 96
"""Blocks per multiprocessor to aim for, and the bytes that a thread may spill for that."""

UNBOUNDED_OPERATIONS = 3000
"""Operations of a derivative from which on the blocks are not bounded, as it needs all registers."""

DEVICE_POLL_SECONDS = 2e-4
"""The interval at which the host polls the card."""


class RolloutLauncher:
    """Kernels that integrate rollouts. Their arrays are those of CuPy."""

    width = 1

    def __init__(self, motion: Motion, dtype: str, per_rollout: tuple[bool, ...] | None = None) -> None:
        self.entries, self.dtype, self._motion = len(motion.program.outputs), np.dtype(dtype), motion
        self.per_rollout = (True,) * sum(motion.program.sizes[2:]) if per_rollout is None else per_rollout
        self._variants = dict[tuple[bool, ...], RolloutLauncher]()

    @property
    def arrays(self) -> Any:
        """The module of its arrays, CuPy."""
        return cupy()

    @property
    def source(self) -> str:
        """The text of the kernel."""
        return self._text()

    def _text(self, careful: bool = False, blocks: int = 0) -> str:
        return rollout.text(self._motion, self.per_rollout, self.dtype == np.float64, careful, blocks)

    @cached_property
    def code(self) -> CompiledCode:
        """The compiled kernel: for many blocks per multiprocessor, unless that spills too much."""
        if len(self._motion.program.nodes) < UNBOUNDED_OPERATIONS:
            many = CompiledCode(self._text(blocks=BLOCKS[self.dtype.name]), rollout.ROLLOUT_THREADS)
            if many.spilled <= self._motion.memory * self.dtype.itemsize + MAX_SPILLED_BYTES:
                return many
        return CompiledCode(self.source, rollout.ROLLOUT_THREADS)

    @cached_property
    def _careful_code(self) -> CompiledCode:
        """The kernel for rollouts with large angles."""
        return CompiledCode(self._text(careful=True), rollout.ROLLOUT_THREADS)

    def with_per_rollout(self, mask: tuple[bool, ...]) -> RolloutLauncher:
        """Return the compiled kernel in which only the parameters of a mask differ between rollouts."""
        in_call = np.cumsum(~np.array(mask[: len(self.per_rollout)], bool)) <= MAX_SHARED_PARAMETERS
        per_rollout = tuple(bool(x or not y) for x, y in zip(mask, in_call.tolist(), strict=False))
        if per_rollout not in self._variants:
            launcher = RolloutLauncher(self._motion, self.dtype.name, per_rollout)
            launcher.code.kernel()
            self._variants[per_rollout] = launcher
        return self._variants[per_rollout]

    def max_rollouts(self, numbers: int) -> int:
        return int(MEMORY_SHARE * free_bytes() / (numbers * self.dtype.itemsize + 1))

    def draw(self, out: Any, drawn: DrawnColumn, rollouts: RolloutIndices, instants: Array) -> None:
        with out.device:
            fill(out, drawn, rollouts, instants)

    def run(self, fields: Mapping[str, Any], rollouts: int, threads: int = 1) -> None:
        """Integrate; the arrays of rollouts are on the card, all others are of NumPy."""
        del threads
        with fields["y"].device:
            on_device = {name: cupy().asarray(fields[name]) for name in ("times", "substeps")}
            on_device |= {"stop": cupy().zeros(1, np.int64), "any": cupy().zeros(1, np.uint32)}
            arguments = {**fields, **on_device, "marked": cupy().zeros(rollouts, np.uint8)}
            cupy().cuda.runtime.deviceSynchronize()  # the arrays may be filled on another stream
            call = rollout.call(arguments, rollouts, self.per_rollout, lambda array: int(array.data.ptr))
            self.code.launch(call, rollouts)
            _wait(fields["stop"], on_device["stop"])
            if int(on_device["any"][0]):
                self._careful_code.launch(call, rollouts)
                _wait(fields["stop"], on_device["stop"])


def _wait(stop: Any, device_stop: Any) -> None:
    """Wait until the card is idle; pass a `stop` of the host on to the card."""
    done, stopped = cupy().cuda.Event(disable_timing=True), False
    done.record()
    while not done.done:
        if stop[0] and not stopped:
            with cupy().cuda.Stream(non_blocking=True) as other:
                device_stop.set(np.ones(1, np.int64), stream=other)
                other.synchronize()
            stopped = True
        time.sleep(DEVICE_POLL_SECONDS)
    done.synchronize()  # raises an error of the kernel
