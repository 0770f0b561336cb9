"""What a backend compiles: named arrays of inputs, and outputs to compute from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from armwright.graph.expression import Expr, Operand, schedule


@dataclass(frozen=True)
class Program:
    """`arguments` are arrays of inputs, such as q = (q1, ..., qn); `outputs` fill an array of the given shape.

    `units` are entries of arguments that make a vector of unit length in any state: argument, first and last.
    """

    arguments: tuple[tuple[str, tuple[Expr, ...]], ...]
    outputs: tuple[Operand, ...]
    shape: tuple[int, ...]
    units: tuple[tuple[int, int, int], ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many scalars each argument has."""
        return tuple(len(inputs) for _, inputs in self.arguments)

    @property
    def nodes(self) -> list[Expr]:
        """Everything to compute, operands first."""
        return schedule(self.outputs)

    def places(self) -> dict[int, tuple[int, int]]:
        """Which entry of which argument each input node is."""
        return {x.index: (a, k) for a, (_, inputs) in enumerate(self.arguments) for k, x in enumerate(inputs)}

    def digest(self) -> str:
        """A name for exactly this computation."""
        places, numbers = self.places(), {}
        sha = hashlib.sha256(repr((self.sizes, self.shape)).encode())
        for number, node in enumerate(self.nodes):
            numbers[node.index] = number
            key = places.get(node.index, node.key)
            sha.update(repr((node.op, key, [numbers[a.index] for a in node.args])).encode())
        sha.update(repr([numbers[x.index] if isinstance(x, Expr) else float(x) for x in self.outputs]).encode())
        return sha.hexdigest()
