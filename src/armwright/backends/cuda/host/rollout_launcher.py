"""Whole motions of many rollouts on a card: their arrays lie there from the first stretch to the last."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.cuda.codegen import rollout
from armwright.backends.cuda.codegen.rollout import Motion
from armwright.backends.cuda.host.device import Code, cupy, free
from armwright.backends.cuda.kernels import random_numbers
from armwright.draws import DrawnColumn, RolloutIndices
from armwright.lazy import cached_property

SHARED = 2048
"""So many open numbers, the same for all rollouts, come with a call; more than that are kept for each."""

ROOM = 0.7
"""The share of the free memory that rollouts may take: what is found at their ends takes some, too."""

BLOCKS, FEW = {"float32": 7, "float64": 4}, 96
"""Blocks that should have room beside each other, and the bytes of memory that this may cost a thread."""

LARGE = 3000
"""Operations of a derivative for which no such room is looked for: it needs all registers there are."""

OFTEN = 2e-4
"""Seconds after which whoever waits for the card looks up."""


class Travelling:
    """Whole motions of many rollouts; arrays are those of CuPy."""

    width = 1

    def __init__(self, motion: Motion, dtype: str, per_rollout: tuple[bool, ...] | None = None) -> None:
        self.entries, self.dtype, self._motion = len(motion.program.outputs), np.dtype(dtype), motion
        self.per_rollout = (True,) * sum(motion.program.sizes[2:]) if per_rollout is None else per_rollout
        self._sharing = dict[tuple[bool, ...], Travelling]()

    @property
    def arrays(self) -> Any:
        return cupy()

    @property
    def source(self) -> str:
        return self._text()

    def _text(self, careful: bool = False, blocks: int = 0) -> str:
        return rollout.text(self._motion, self.per_rollout, self.dtype == np.float64, careful, blocks)

    @cached_property
    def code(self) -> Code:
        """The kernel of all rollouts, compiled: with room for many threads, unless that is bought with memory."""
        if len(self._motion.program.nodes) < LARGE:
            many = Code(self._text(blocks=BLOCKS[self.dtype.name]), rollout.BLOCK)
            if many.spilled <= self._motion.memory * self.dtype.itemsize + FEW:
                return many
        return Code(self.source, rollout.BLOCK)

    @cached_property
    def _again(self) -> Code:
        """That of rollouts with large angles."""
        return Code(self._text(careful=True), rollout.BLOCK)

    def with_per_rollout(self, per_rollout: tuple[bool, ...]) -> Travelling:
        """The same, compiled, for rollouts that have only some open numbers for their own."""
        few = np.cumsum(~np.array(per_rollout[: len(self.per_rollout)], bool)) <= SHARED
        mine = tuple(bool(x or not y) for x, y in zip(per_rollout, few.tolist(), strict=False))
        if mine not in self._sharing:
            made = Travelling(self._motion, self.dtype.name, mine)
            made.code.kernel()
            self._sharing[mine] = made
        return self._sharing[mine]

    def max_rollouts(self, numbers: int) -> int:
        return int(ROOM * free() / (numbers * self.dtype.itemsize + 1))

    def draw(self, out: Any, drawn: DrawnColumn, which: RolloutIndices, instants: Array) -> None:
        with out.device:
            random_numbers.fill(out, drawn, which, instants)

    def run(self, fields: Mapping[str, Any], rollouts: int, threads: int = 1) -> None:
        """As the interface has it; the arrays of rollouts are on the card, all others are of NumPy."""
        del threads
        with fields["y"].device:
            there = {name: cupy().asarray(fields[name]) for name in ("times", "substeps")}
            there |= {"stop": cupy().zeros(1, np.int64), "any": cupy().zeros(1, np.uint32)}
            given = {**fields, **there, "marked": cupy().zeros(rollouts, np.uint8)}
            cupy().cuda.runtime.deviceSynchronize()  # whoever made the arrays may have another stream
            call = rollout.call(given, rollouts, self.per_rollout, lambda array: int(array.data.ptr))
            self.code.launch(call, rollouts)
            _wait(fields["stop"], there["stop"])
            if int(there["any"][0]):
                self._again.launch(call, rollouts)
                _wait(fields["stop"], there["stop"])


def _wait(stop: Any, there: Any) -> None:
    """Until the card has done what was launched; once `stop` is said here, it is said there."""
    done, told = cupy().cuda.Event(disable_timing=True), False
    done.record()
    while not done.done:
        if stop[0] and not told:
            with cupy().cuda.Stream(non_blocking=True) as beside:
                there.set(np.ones(1, np.int64), stream=beside)
                beside.synchronize()
            told = True
        time.sleep(OFTEN)
    done.synchronize()  # which raises what went wrong
