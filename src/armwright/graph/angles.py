"""The sines and cosines that a program needs: their order, and those of sums from those of the parts.

Simplification merges the sines of parallel joints into sin(a + b), so that sums of angles are shared. At run time,
sin a cos b + cos a sin b is far cheaper than another sine.
"""

from __future__ import annotations

from dataclasses import replace

from armwright.graph.expression import LEAVES, Expr, Graph
from armwright.graph.program import Program

SINE_OPERATIONS = ("sin", "cos")


def expand_sines(program: Program) -> Program:
    """Return the program with sines of sums expanded, so that it computes the fewest sines and cosines."""
    nodes, graph = program.nodes, Graph()
    known = {(node.op, node.args[0].index): node for node in nodes if node.op in SINE_OPERATIONS}
    new = {x.index: graph.input(str(x.key)) for _, inputs in program.arguments for x in inputs}
    for node in nodes:
        if node.op in LEAVES:
            assert node.key is not None
            new[node.index] = graph.leaf(node.op, node.key)
            continue
        angle = node.args[0]
        if node.op in SINE_OPERATIONS and angle.op in ("add", "sub"):
            parts = [known.get((op, part.index)) for part in angle.args for op in SINE_OPERATIONS]
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


def angle_rounds(program: Program) -> list[list[Expr]]:
    """Return the angles of all sines and cosines in rounds; those of a round depend on sines of earlier rounds."""
    depth: dict[int, int] = {}
    angles_of_round: list[dict[int, Expr]] = []
    for node in program.nodes:
        inner = max((depth[a.index] for a in node.args), default=0)
        depth[node.index] = inner + (node.op in SINE_OPERATIONS)
        if node.op in SINE_OPERATIONS:
            if inner == len(angles_of_round):
                angles_of_round.append({})
            angles_of_round[inner][node.args[0].index] = node.args[0]
    return [list(angles.values()) for angles in angles_of_round]
