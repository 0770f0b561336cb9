"""The interpreter as a backend: what every other one must compute, at the speed of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import KINDS, Rolled, Tables
from armwright.graph.draw import listing
from armwright.graph.interpret import interpret
from armwright.graph.program import Program


def computed(program: Program, arrays: Sequence[Array]) -> list[Any]:
    """The outputs of a program, arrays of one number per state, from arrays (states, entries)."""
    values = {
        str(symbol.key): array[:, k]
        for (_, symbols), array in zip(program.arguments, arrays, strict=True)
        for k, symbol in enumerate(symbols)
    }
    with np.errstate(all="ignore"):  # what is not finite is told by the result
        return interpret(program.outputs, values)


class Interpreted:
    """One program."""

    def __init__(self, program: Program, dtype: str) -> None:
        self.shape, self.dtype, self._program = program.shape, np.dtype(dtype), program

    @property
    def source(self) -> str:
        return listing(self._program.outputs)

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        return ask

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        for k, value in enumerate(computed(self._program, arrays)):
            out[:, k] = value
        return bool(np.isfinite(out).all() and all(np.isfinite(array).all() for array in arrays))


class Swept:
    """Sweeps over the joints of a chain."""

    def __init__(self, rolled: Rolled, tables: Tables, dtype: str) -> None:
        self.shape, self.dtype, self._rolled, self._tables = (len(tables.kinds),), np.dtype(dtype), rolled, tables

    @property
    def source(self) -> str:
        steps = ((k, kind, sweep.steps[kind]) for k, sweep in enumerate(self._rolled.sweeps) for kind in KINDS)
        return "\n".join(f"sweep {k}, {kind}\n{listing(step.outputs)}" for k, kind, step in steps)

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        return ask

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        rolled, tables, states, begin = self._rolled, self._tables, len(out), 0
        joints = range(len(tables.kinds))
        inputs = dict(zip(rolled.inputs, arrays, strict=True))
        records: list[dict[int, Array]] = []
        for sweep in rolled.sweeps:
            carry = np.tile(tables.starts[begin : begin + sweep.carry], (states, 1))
            begin += sweep.carry
            records.append({})
            for i in joints if sweep.outward else reversed(joints):
                given = [
                    carry,
                    np.tile(tables.parameters[i], (states, 1)),
                    *(inputs[name][:, i * (m := rolled.inputs[name]) : (i + 1) * m] for name in sweep.reads),
                    *(earlier[i] for earlier in records[:-1]),
                ]
                values = computed(sweep.steps[KINDS[tables.kinds[i]]], given)
                made = np.stack(np.broadcast_arrays(*values, carry[:, 0])[:-1], axis=-1).astype(self.dtype)
                carry, records[-1][i] = made[:, : sweep.carry], made[:, sweep.carry :]
        for i in joints:
            out[:, i] = records[-1][i][:, 0]
        return bool(np.isfinite(out).all())


class Interpreter:
    """The backend that computes programs node by node."""

    dtypes = ("float64", "float32")
    kernel = staticmethod(Interpreted)
    loop = staticmethod(Swept)


BACKEND = Interpreter()
