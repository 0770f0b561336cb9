"""Rooted trees and the order conditions of Runge-Kutta methods (Hairer, Norsett and Wanner, Solving ODEs I, II.2).

A tree is the tuple of the subtrees of its root: () is a single node, ((), ()) a root with two leaves. A method
has order p if, for every tree of at most p nodes,

    sum_i b_i phi_i(tree) = 1 / density(tree),    phi_i(tree) = prod over its branches of sum_j a_ij phi_j(branch)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array

Tree: TypeAlias = "tuple[Tree, ...]"

DECIMAL_DIGITS = 60
"""The conditions are evaluated with this many decimal digits."""


@cache
def nodes(tree: Tree) -> int:
    """Return the number of nodes of a tree."""
    return 1 + sum(map(nodes, tree))


@cache
def density(tree: Tree) -> int:
    """Return the product, over all nodes, of the number of nodes of the subtree there."""
    return nodes(tree) * prod(map(density, tree))


@cache
def trees(size: int) -> tuple[Tree, ...]:
    """Return all rooted trees with this number of nodes: 1, 1, 2, 4, 9, 20, 48, 115, 286, 719, ... of them."""
    return tuple(_forests(size - 1, trees_up_to(size - 1)))


def trees_up_to(size: int) -> tuple[Tree, ...]:
    """Return all trees of at most this many nodes, the small ones first."""
    return tuple(tree for count in range(1, size + 1) for tree in trees(count))


def _forests(size: int, branches: tuple[Tree, ...]) -> Iterator[Tree]:
    """Yield all multisets of branches with `size` nodes in total."""
    if size == 0:
        yield ()
    for place, branch in enumerate(branches):
        if nodes(branch) > size:
            break  # they are sorted by size
        for others in _forests(size - nodes(branch), branches[place:]):
            yield (branch, *others)


class TableauSums:
    """A tableau with the sums of tree branches over its stages, each computed once."""

    def __init__(self, a: Array, b: Array) -> None:
        self.a, self.b = a, b
        self._branches: dict[Tree, Array] = {}

    def branch(self, tree: Tree) -> Array:
        """sum_j a_ij phi_j(tree)"""
        if tree not in self._branches:
            self._branches[tree] = self.a @ self.phi(tree)
        return self._branches[tree]

    def phi(self, tree: Tree) -> Array:
        return np.asarray(prod((self.branch(part) for part in tree), start=0 * self.b + 1))

    def sensitivity(self, tree: Tree) -> float:
        """Return the largest change of the tree's condition per relative change of the coefficients."""
        return float(abs(self.b) @ abs(self.phi(tree))) + self._sensitivity(tree, self.b)

    def _sensitivity(self, tree: Tree, weights: Array) -> float:
        """Return the share of the branches; `weights` are those of the stages at the root."""
        total = 0.0
        for place, part in enumerate(tree):
            here = weights * prod(map(self.branch, tree[:place] + tree[place + 1 :]))
            total += float(abs(here) @ (abs(self.a) @ abs(self.phi(part)))) + self._sensitivity(part, here @ self.a)
        return total


def residual(a: Sequence[Sequence[Fraction]], b: Sequence[Fraction], order: int) -> float:
    """Return the largest residual of the conditions up to an order."""
    with localcontext() as context:
        context.prec = DECIMAL_DIGITS
        method = _method(a, b, lambda x: Decimal(x.numerator) / x.denominator)
        return float(max(abs(method.b @ method.phi(tree) - Decimal(1) / density(tree)) for tree in trees_up_to(order)))


def sensitivity(a: Sequence[Sequence[Fraction]], b: Sequence[Fraction], order: int) -> float:
    """Return the largest residual of a condition up to an order per relative error of the coefficients."""
    method = _method(a, b, float)
    return max(map(method.sensitivity, trees_up_to(order)))


def _method(a: Sequence[Sequence[Fraction]], b: Sequence[Fraction], number: Callable[[Fraction], Any]) -> TableauSums:
    """Return a tableau in other scalars, with zeros above the diagonal."""
    rows = [[*row, *[Fraction(0)] * (len(a) - len(row))] for row in a]
    return TableauSums(np.array([[*map(number, row)] for row in rows]), np.array([*map(number, b)]))
