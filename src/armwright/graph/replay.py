"""Running a graph again with other values at its leaves and other meanings of its operations.

This is how a graph is interpreted, how a symbol is replaced by an expression, and how other packages are handed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from armwright.graph.expression import LEAVES, Expr, Operand, schedule


def replay(outputs: Iterable[Operand], leaf: Callable[[Expr], Any], apply: Callable[..., Any]) -> list[Any]:
    """The outputs, with `leaf(node)` for constants, parameters and inputs and `apply(op, *operands)` for the rest."""
    outputs = list(outputs)
    known: dict[int, Any] = {}
    for node in schedule(outputs):
        if node.op in LEAVES:
            known[node.index] = leaf(node)
        else:
            known[node.index] = apply(node.op, *(known[a.index] for a in node.args))
    return [known[x.index] if isinstance(x, Expr) else x for x in outputs]


def replaced(outputs: Iterable[Operand], replacements: Mapping[Expr, Operand]) -> list[Operand]:
    """The outputs with some of their nodes replaced by expressions of the same graph."""
    outputs = list(outputs)
    known = {node.index: node.graph.lift(value) for node, value in replacements.items()}
    for node in schedule(outputs):
        if node.index not in known:
            args = [known[a.index] for a in node.args]
            known[node.index] = node if node.op in LEAVES else node.graph.operation(node.op, *args)
    return [known[x.index] if isinstance(x, Expr) else x for x in outputs]
