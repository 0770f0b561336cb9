"""A program as statements of a language with infix arithmetic: one assignment per operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from armwright.graph.expression import Expr, Operand, schedule
from armwright.graph.program import Program

Notation = Mapping[str, Callable[..., str]]
"""For each operation a function from operands as text to an expression; `constant` writes a number."""


class Statements:
    """The operations of a program as assignments to t1, t2, ..., in any order that puts operands first."""

    def __init__(self, program: Program, notation: Notation, element: Callable[[str, int], str]) -> None:
        self._program, self._notation, self._element = program, notation, element
        self._names = {
            index: element(program.arguments[a][0], k) for index, (a, k) in program.places().items()
        }  # of the nodes computed so far
        self._count = 0

    def value(self, x: Expr) -> str:
        """Return the name of a node that has been computed, or the text of a constant."""
        return self._notation["constant"](x.value) if x.value is not None else self._names[x.index]

    def set_name(self, node: Expr, name: str) -> None:
        """Set the name of a node that other statements compute."""
        self._names[node.index] = name

    def up_to(self, outputs: Iterable[Operand]) -> Iterator[tuple[str, str]]:
        """Yield (name, expression) for every operation of these outputs that has not been written."""
        for node in schedule(outputs):
            if node.op != "constant" and node.index not in self._names:
                self._count += 1
                expression = self._notation[node.op](*map(self.value, node.args))
                self._names[node.index] = f"t{self._count}"
                yield self._names[node.index], expression

    def rest(self) -> Iterator[tuple[str, str]]:
        """Yield the remaining operations, then (entry of the output, value)."""
        yield from self.up_to(self._program.outputs)
        for k, x in enumerate(self._program.outputs):
            yield (
                self._element("out", k),
                self.value(x) if isinstance(x, Expr) else self._notation["constant"](float(x)),
            )


def infix(functions: str = "{}") -> dict[str, Callable[..., str]]:
    """Return the notation that C and Python share; `functions` is the pattern of names such as that of the sine."""

    def call(function: str) -> Callable[[str], str]:
        return lambda x: f"{functions.format(function)}({x})"

    return {
        "add": lambda x, y: f"{x} + {y}",
        "sub": lambda x, y: f"{x} - {y}",
        "mul": lambda x, y: f"{x} * {y}",
        "div": lambda x, y: f"{x} / {y}",
        "neg": lambda x: f"-{x}",
        **{op: call(op) for op in ("sin", "cos", "sqrt", "tanh")},
    }
