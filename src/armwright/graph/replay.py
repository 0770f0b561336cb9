"""Replay of a graph with other values of its leaves and other meanings of its operations.

It interprets graphs, substitutes expressions for symbols, and builds expressions of other packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from armwright.graph.expression import LEAVES, Expr, Operand, schedule


def replay(outputs: Iterable[Operand], leaf: Callable[[Expr], Any], apply: Callable[..., Any]) -> list[Any]:
    """Return the outputs, with `leaf(node)` for leaves and `apply(op, *operands)` for operations."""
    outputs = list(outputs)
    known: dict[int, Any] = {}
    for node in schedule(outputs):
        if node.op in LEAVES:
            known[node.index] = leaf(node)
        else:
            known[node.index] = apply(node.op, *(known[a.index] for a in node.args))
    return [known[x.index] if isinstance(x, Expr) else x for x in outputs]


def substituted(outputs: Iterable[Operand], replacements: Mapping[Expr, Operand]) -> list[Operand]:
    """Return the outputs with some nodes replaced by expressions of the same graph."""
    outputs = list(outputs)
    known = {node.index: node.graph.lift(value) for node, value in replacements.items()}
    for node in schedule(outputs):
        if node.index not in known:
            args = [known[a.index] for a in node.args]
            known[node.index] = node if node.op in LEAVES else node.graph.operation(node.op, *args)
    return [known[x.index] if isinstance(x, Expr) else x for x in outputs]
