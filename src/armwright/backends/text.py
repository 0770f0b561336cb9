"""A program as the statements of a language with infix arithmetic: one assignment per operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from armwright.graph.expression import Expr
from armwright.graph.program import Program

Notation = Mapping[str, Callable[..., str]]
"""How a language writes each operation, given its operands as text; `constant` writes a number."""


def statements(program: Program, notation: Notation, element: Callable[[str, int], str]) -> Iterator[tuple[str, str]]:
    """(name, expression) for every operation in order, then (entry of the output, value)."""
    places, names = program.places(), dict[int, str]()

    def name(x: Expr) -> str:
        return notation["constant"](x.value) if x.value is not None else names[x.index]

    count = 0
    for node in program.nodes:
        if node.op == "input":
            a, k = places[node.index]
            names[node.index] = element(program.arguments[a][0], k)
        elif node.op != "constant":
            count += 1
            names[node.index] = f"t{count}"
            yield names[node.index], notation[node.op](*(name(a) for a in node.args))
    for k, x in enumerate(program.outputs):
        yield element("out", k), name(x) if isinstance(x, Expr) else notation["constant"](float(x))


def infix(functions: str = "{}") -> dict[str, Callable[..., str]]:
    """What C and Python write alike; `functions` is a pattern for the names of sine, cosine and so on."""

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
