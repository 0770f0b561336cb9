"""Sines and cosines of sums written out again, where those of the parts are computed anyway.

Merged as sin(a + b), the sums of parallel joint angles are found and shared. To run, sin a cos b + cos a sin b is far
cheaper than another sine.
"""

from __future__ import annotations

from armwright.graph.expression import LEAVES, Expr, Graph
from armwright.graph.program import Program

_PAIR = ("sin", "cos")


def written_out(program: Program) -> Program:
    """The same computation with no more sines and cosines than necessary."""
    nodes, graph = program.nodes, Graph()
    known = {(node.op, node.args[0].index): node for node in nodes if node.op in _PAIR}
    new = {x.index: graph.input(str(x.key)) for _, inputs in program.arguments for x in inputs}
    for node in nodes:
        if node.op in LEAVES:
            assert node.key is not None
            new[node.index] = graph.leaf(node.op, node.key)
            continue
        angle = node.args[0]
        if node.op in _PAIR and angle.op in ("add", "sub"):
            parts = [known.get((op, part.index)) for part in angle.args for op in _PAIR]
            if all(part is not None and part.index in new for part in parts):
                new[node.index] = _sum(node.op, angle.op, *(new[part.index] for part in parts if part is not None))
                continue
        new[node.index] = graph.node(node.op, *(new[x.index] for x in node.args))
    return Program(
        tuple((name, tuple(new[x.index] for x in inputs)) for name, inputs in program.arguments),
        tuple(new[x.index] if isinstance(x, Expr) else x for x in program.outputs),
        program.shape,
    )


def _sum(op: str, sign: str, sa: Expr, ca: Expr, sb: Expr, cb: Expr) -> Expr:
    """sin or cos of a + b or a - b, as it stands: simplified, it would be merged again."""
    node = sa.graph.node
    if op == "sin":
        return node(sign, node("mul", sa, cb), node("mul", ca, sb))
    return node("sub" if sign == "add" else "add", node("mul", ca, cb), node("mul", sa, sb))
