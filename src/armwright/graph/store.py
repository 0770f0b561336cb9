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

    def reference(x: Operand) -> Any:
        return numbers[x.index] if isinstance(x, Expr) else [x]

    equations = program.equations
    return {
        "arguments": [[name, [x.key for x in inputs]] for name, inputs in program.arguments],
        "nodes": nodes,
        "outputs": [reference(x) for x in program.outputs],
        "shape": program.shape,
        "units": program.units,
        "equations": equations and {**equations._asdict(), "rows": list(equations.rows.items())},
    }


def unpacked(content: dict[str, Any]) -> Program:
    """Return a packed program, in a new graph."""
    graph = Graph()
    arguments = tuple((name, tuple(map(graph.input, keys))) for name, keys in content["arguments"])
    nodes = [x for _, inputs in arguments for x in inputs]
    for op, *rest in content["nodes"]:
        nodes.append(graph.leaf(op, *rest) if op in LEAVES else graph.node(op, *(nodes[k] for k in rest)))
    outputs = tuple(nodes[x] if isinstance(x, int) else x[0] for x in content["outputs"])
    equations, units = content["equations"], tuple(map(tuple, content["units"]))
    return Program(arguments, outputs, tuple(content["shape"]), units, equations and _equations(**equations))


def _equations(n: int, matrices: int, rows: list[Any], blocks: list[Any]) -> Equations:
    columns = tuple(ColumnBlock(first, width, tuple(forward), tuple(back)) for first, width, forward, back in blocks)
    return Equations(n, matrices, {j: tuple(row) for j, row in rows}, columns)
