"""The sines and cosines that a program needs: their order, and those of sums from those of the parts.

Merged as sin(a + b), the sums of parallel joint angles are found and shared. When the program runs, sin a cos b + cos a
sin b is far cheaper than another sine.
"""

from __future__ import annotations

from dataclasses import replace

from armwright.graph.expression import LEAVES, Expr, Graph
from armwright.graph.program import Program

_PAIR = ("sin", "cos")


def written_out(program: Program) -> Program:
    """Return the same program with the fewest sines and cosines."""
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
    return replace(
        program,
        arguments=tuple((name, tuple(new[x.index] for x in inputs)) for name, inputs in program.arguments),
        outputs=tuple(new[x.index] if isinstance(x, Expr) else x for x in program.outputs),
    )


def _sum(op: str, sign: str, sa: Expr, ca: Expr, sb: Expr, cb: Expr) -> Expr:
    """Return sin or cos of a + b or a - b without simplification, which would merge it again."""
    node = sa.graph.node
    if op == "sin":
        return node(sign, node("mul", sa, cb), node("mul", ca, sb))
    return node("sub" if sign == "add" else "add", node("mul", ca, cb), node("mul", sa, sb))


def rounds(program: Program) -> list[list[Expr]]:
    """Return the angles of all sines and cosines by rounds; later rounds depend on sines of earlier ones."""
    depth: dict[int, int] = {}
    found: list[dict[int, Expr]] = []
    for node in program.nodes:
        inner = max((depth[a.index] for a in node.args), default=0)
        depth[node.index] = inner + (node.op in _PAIR)
        if node.op in _PAIR:
            if inner == len(found):
                found.append({})
            found[inner][node.args[0].index] = node.args[0]
    return [list(angles.values()) for angles in found]
