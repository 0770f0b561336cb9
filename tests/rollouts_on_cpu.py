"""Whole motions by the text that is written for a card, compiled as C++: a backend for tests."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from on_cpu import compiled

from armwright.backends.cuda.kernels import rollout
from armwright.backends.interface import Backend
from armwright.backends.interpreter import InterpretedKernel, InterpretedLoop
from armwright.backends.rollout_interface import HostRollout


class Travelling(HostRollout):
    """Whole motions by the text of `backends.cuda.rollout`."""

    width, room = 1, sys.maxsize

    def __init__(self, *of: Any, per_rollout: tuple[bool, ...] | None = None):
        *parts, dtype = of
        motion = rollout.Motion(*parts)
        program = motion.program
        self.entries, self.dtype, self._of = len(program.outputs), np.dtype(dtype), of
        self.per_rollout = (True,) * sum(program.sizes[2:]) if per_rollout is None else per_rollout
        self.source = rollout.text(motion, self.per_rollout, self.dtype == np.float64)

    def with_per_rollout(self, per_rollout: tuple[bool, ...]) -> Travelling:
        return Travelling(*self._of, per_rollout=per_rollout[: len(self.per_rollout)])

    def max_rollouts(self, numbers: int) -> int:
        return self.room

    def run(self, fields: Any, rollouts: int, threads: int = 1) -> None:
        further = {"marked": np.zeros(rollouts, np.uint8), "any": np.zeros(1, np.uint32)}
        compiled(self.source)(
            rollout.call({**fields, **further}, rollouts, self.per_rollout, lambda array: array.ctypes.data)
        )


BACKEND = Backend(kernel=InterpretedKernel, loop=InterpretedLoop, rollout=Travelling)
"""As a backend: motions by the text for a card, all else by the interpreter."""
