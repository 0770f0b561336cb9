"""Sums as chains of fused multiply-adds: a x + b y + c z takes three instructions as a chain, up to five as a tree.

Nested sums that are used nowhere else become one chain. It adds each term once it is computed, so that one value is
live. Only the rounding changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from armwright.graph.expression import LEAVES, Expr
from armwright.graph.program import Program

SUM_OPERATIONS = ("add", "sub", "neg")


class FmaChain:
    """A growing sum. While all its terms are subtracted, it is the negative of their sum."""

    def __init__(self) -> None:
        self._total: Expr | None = None
        self._negative = False

    def add(self, term: Expr, negative: bool) -> None:
        """Add or subtract a term."""
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
        """The sum."""
        assert self._total is not None
        return self._total.graph.node("neg", self._total) if self._negative else self._total


def with_fma_chains(program: Program) -> Program:
    """Return the program with chains in place of sums."""
    nodes = program.nodes
    inner = _inner_sums(program, nodes)
    chains = {node.index: FmaChain() for node in nodes if node.op in SUM_OPERATIONS and node.index not in inner}
    waiting = dict[int, list[tuple[FmaChain, bool]]]()
    for node in nodes:
        if node.index in chains:
            for term, negative in _terms(node, inner):
                waiting.setdefault(term.index, []).append((chains[node.index], negative))
    new = dict[int, Expr]()
    for node in nodes:
        if node.index in inner:
            continue
        if node.index in chains:
            value = chains[node.index].total
        else:
            value = node if node.op in LEAVES else node.graph.node(node.op, *(new[x.index] for x in node.args))
        new[node.index] = value
        for chain, negative in waiting.get(node.index, ()):
            chain.add(value, negative)
    return replace(program, outputs=tuple(new[x.index] if isinstance(x, Expr) else x for x in program.outputs))


def _inner_sums(program: Program, nodes: list[Expr]) -> set[int]:
    """Return the sums that are used once, in another sum."""
    uses = Counter(x.index for node in nodes for x in node.args)
    outputs = {x.index for x in program.outputs if isinstance(x, Expr)}
    within = {x.index for node in nodes if node.op in SUM_OPERATIONS for x in node.args if x.op in SUM_OPERATIONS}
    return {i for i in within if uses[i] == 1 and i not in outputs}


def _terms(node: Expr, inner: set[int]) -> list[tuple[Expr, bool]]:
    """Return the terms of a sum, each with True if it is subtracted."""
    terms, stack = list[tuple[Expr, bool]](), [(node, False)]
    while stack:
        term, negative = stack.pop()
        if term is node or term.index in inner:
            first, *rest = term.args
            stack.append((first, negative != (term.op == "neg")))
            stack.extend((x, negative != (term.op == "sub")) for x in rest)
        else:
            terms.append((term, negative))
    return terms
