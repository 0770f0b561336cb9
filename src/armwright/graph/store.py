"""Programs in JSON and back; reading one takes a fraction of the time of tracing it."""

from __future__ import annotations

from typing import Any

from armwright.graph.expression import LEAVES, Expr, Graph, Operand
from armwright.graph.program import ColumnBlock, Equations, Program


def packed(program: Program) -> dict[str, Any]:
    """Return a program as lists of numbers and names for JSON."""
    numbers: dict[int, int] = {}
    for _, inputs in program.arguments:
        for x in inputs:
            numbers.setdefault(x.index, len(numbers))
    nodes = []
    for node in program.nodes:
        if node.index not in numbers:
            numbers[node.index] = len(numbers)
            nodes.append(
                [node.op, node.key] if node.op in LEAVES else [node.op, *(numbers[a.index] for a in node.args)]
            )

    def place(x: Operand) -> Any:
        return numbers[x.index] if isinstance(x, Expr) else [x]

    left = program.equations
    return {
        "arguments": [[name, [x.key for x in inputs]] for name, inputs in program.arguments],
        "nodes": nodes,
        "outputs": [place(x) for x in program.outputs],
        "shape": program.shape,
        "units": program.units,
        "equations": left and {**left._asdict(), "rows": list(left.rows.items())},
    }


def unpacked(content: dict[str, Any]) -> Program:
    """Return a packed program, in a new graph."""
    graph = Graph()
    arguments = tuple((name, tuple(map(graph.input, keys))) for name, keys in content["arguments"])
    found = [x for _, inputs in arguments for x in inputs]
    for op, *rest in content["nodes"]:
        found.append(graph.leaf(op, *rest) if op in LEAVES else graph.node(op, *(found[k] for k in rest)))
    outputs = tuple(found[x] if isinstance(x, int) else x[0] for x in content["outputs"])
    left, units = content["equations"], tuple(map(tuple, content["units"]))
    return Program(arguments, outputs, tuple(content["shape"]), units, left and _equations(**left))


def _equations(n: int, matrices: int, rows: list[Any], blocks: list[Any]) -> Equations:
    columns = tuple(ColumnBlock(first, width, tuple(forward), tuple(back)) for first, width, forward, back in blocks)
    return Equations(n, matrices, {j: tuple(row) for j, row in rows}, columns)
