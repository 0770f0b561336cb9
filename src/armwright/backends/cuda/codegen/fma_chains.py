"""Sums as chains of fused multiply-adds: a x + b y + c z takes three instructions as a chain, up to five as a tree.

A sum of sums, none of which is used elsewhere, is one chain, which takes each of its terms as soon as that is known: so
it keeps one number at a time. Only the rounding is another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from armwright.graph.expression import LEAVES, Expr
from armwright.graph.program import Program

INSIDE = ("add", "sub", "neg")


class Chain:
    """A sum that grows; while all of its terms are taken away it is their sum, and `negative`."""

    def __init__(self) -> None:
        self._total: Expr | None = None
        self._negative = False

    def take(self, term: Expr, negative: bool) -> None:
        """Add a term, or take it away."""
        if self._total is None:
            self._total, self._negative = term, negative
        elif self._negative == negative:
            self._total = term.graph.node("add", self._total, term)
        elif self._negative:
            self._total, self._negative = term.graph.node("sub", term, self._total), False
        else:
            self._total = term.graph.node("sub", self._total, term)

    @property
    def total(self) -> Expr:
        assert self._total is not None
        return self._total.graph.node("neg", self._total) if self._negative else self._total


def chained(program: Program) -> Program:
    """The same with chains for sums."""
    nodes = program.nodes
    inner = _inner(program, nodes)
    chains = {node.index: Chain() for node in nodes if node.op in INSIDE and node.index not in inner}
    waiting = dict[int, list[tuple[Chain, bool]]]()
    for node in nodes:
        if node.index in chains:
            for term, negative in _terms(node, inner):
                waiting.setdefault(term.index, []).append((chains[node.index], negative))
    new = dict[int, Expr]()
    for node in nodes:
        if node.index in inner:
            continue
        if node.index in chains:
            made = chains[node.index].total
        else:
            made = node if node.op in LEAVES else node.graph.node(node.op, *(new[x.index] for x in node.args))
        new[node.index] = made
        for chain, negative in waiting.get(node.index, ()):
            chain.take(made, negative)
    return replace(program, outputs=tuple(new[x.index] if isinstance(x, Expr) else x for x in program.outputs))


def _inner(program: Program, nodes: list[Expr]) -> set[int]:
    """Sums that are used once, in another sum."""
    uses = Counter(x.index for node in nodes for x in node.args)
    wanted = {x.index for x in program.outputs if isinstance(x, Expr)}
    within = {x.index for node in nodes if node.op in INSIDE for x in node.args if x.op in INSIDE}
    return {i for i in within if uses[i] == 1 and i not in wanted}


def _terms(node: Expr, inner: set[int]) -> list[tuple[Expr, bool]]:
    """What a sum is made of, and whether it is taken away."""
    found, stack = list[tuple[Expr, bool]](), [(node, False)]
    while stack:
        at, negative = stack.pop()
        if at is node or at.index in inner:
            first, *rest = at.args
            stack.append((first, negative != (at.op == "neg")))
            stack.extend((x, negative != (at.op == "sub")) for x in rest)
        else:
            found.append((at, negative))
    return found
