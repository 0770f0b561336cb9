"""Graphs as text: one assignment per line, or Graphviz dot."""

from __future__ import annotations

from collections.abc import Iterable

from armwright.graph.expression import LEAVES, Expr, Operand, schedule


def listing(outputs: Iterable[Operand]) -> str:
    """Return one line of text per operation, operands first."""
    outputs = list(outputs)
    lines = [
        f"{_name(node)} = {node.op}({', '.join(map(_name, node.args))})"
        for node in schedule(outputs)
        if node.op not in LEAVES
    ]
    lines += [f"out{i} = {_name(x) if isinstance(x, Expr) else x}" for i, x in enumerate(outputs)]
    return "\n".join(lines)


def dot(outputs: Iterable[Operand]) -> str:
    """Return the graph in the language of Graphviz: `dot -Tsvg`."""
    outputs = list(outputs)
    lines = []
    for node in schedule(outputs):
        label = str(node.key) if node.op in LEAVES else node.op
        shape = "box" if node.op in LEAVES else "ellipse"
        lines.append(f'  n{node.index} [label="{label}", shape={shape}{", style=dashed" if node.offline else ""}];')
        lines += [f"  n{argument.index} -> n{node.index};" for argument in node.args]
    for i, x in enumerate(outputs):
        lines.append(f'  out{i} [label="out{i}", shape=plaintext];')
        lines.append(f"  n{x.index} -> out{i};" if isinstance(x, Expr) else f'  out{i} [label="out{i} = {x}"];')
    return "\n".join(["digraph {", *lines, "}"])


def _name(node: Expr) -> str:
    return str(node.key) if node.op in LEAVES else f"t{node.index}"
