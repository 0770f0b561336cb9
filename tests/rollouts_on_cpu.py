"""Whole motions by the text that is written for a card, compiled as C++: a backend for tests."""

from __future__ import annotations

import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from on_cpu import compiled

from armwright.backends.cuda.codegen import rollout
from armwright.backends.interface import Backend, Near
from armwright.backends.interpreter import Interpreted, Swept


class Travelling(Near):
    """Whole motions by the text of `backends.cuda.rollout`."""

    width, room = 1, sys.maxsize

    def __init__(self, *of: Any, own: tuple[bool, ...] | None = None):
        *parts, dtype = of
        motion = rollout.Motion(*parts)
        program = motion.program
        self.entries, self.dtype, self._of = len(program.outputs), np.dtype(dtype), of
        self.own = (True,) * sum(program.sizes[2:]) if own is None else own
        self.source = rollout.text(motion, self.own, self.dtype == np.float64)

    def sharing(self, own: tuple[bool, ...]) -> Travelling:
        return Travelling(*self._of, own=own[: len(self.own)])

    def most(self, numbers: int) -> int:
        return self.room

    def run(self, fields: Any, rollouts: int, threads: int = 1) -> None:
        further = {"marked": np.zeros(rollouts, np.uint8), "any": np.zeros(1, np.uint32)}
        _known(self.source)(rollout.call({**fields, **further}, rollouts, self.own, lambda array: array.ctypes.data))


@cache
def _known(text: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return compiled(text, Path(folder))


BACKEND = Backend(kernel=Interpreted, loop=Swept, rollout=Travelling)
"""As a backend: motions by the text for a card, all else by the interpreter."""
