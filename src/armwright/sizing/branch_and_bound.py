"""The best sets of actuators, proven: branch and bound over the masses of what each joint may have.

A joint feels of the actuators beyond it their masses alone. A node of the search is a choice of candidates for each
joint; their masses lie between two for each joint, so each load does (`judge`), and an actuator that is too weak for
every load between is out. The cheapest that is left for each joint, summed, is a bound that no set of the node beats.
Lighter is not always better (an actuator behind an axis balances what is before it), so nothing is cut off because it
is heavier: only what cannot be feasible, and what cannot beat the sets that are known.

The node with the lowest bound is next. If the set that gives the bound is feasible at its own loads, it is the best of
the node, and the rest of the node is split without it (Lawler 1972); otherwise the masses that blur the loads most are
split in two. A node whose masses are known is exact, so this ends, and what is left in the end are the best sets.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.progress import progress_callback
from armwright.sizing.criteria import CRITERIA, Asked, Numbers, Terms, fits
from armwright.sizing.loads import JointLoad

CHUNK = 64
"""Actuators that are judged at once."""

SAME = 1e-12
"""Relative: costs that differ by rounding alone are the same."""


@dataclass(frozen=True)
class Choices:
    """The candidates of one joint, cheapest first: their numbers, masses, and what they cost at least."""

    columns: Numbers
    masses: Array
    costs: Array

    def __len__(self) -> int:
        return len(self.masses)


@dataclass(frozen=True)
class Node:
    """What is left to choose from for each joint: rows of its choices, and what each costs there at least."""

    rows: tuple[Array, ...]
    costs: tuple[Array, ...]

    def with_joint(self, j: int, keep: Array) -> Node:
        rows, costs = list(self.rows), list(self.costs)
        rows[j], costs[j] = rows[j][keep], costs[j][keep]
        return Node(tuple(rows), tuple(costs))


@dataclass(frozen=True)
class Failure:
    """A joint that nothing fits: the least excessive actuator, what it lacks, and what part of the limit it needs."""

    joint: int
    row: int
    criterion: str
    used: float


@dataclass
class Search:
    """The search for the `wanted` best sets, tip to base."""

    loads: Sequence[JointLoad]
    choices: Sequence[Choices]
    terms: Terms
    most: float = 1.0
    wanted: int = 1
    judged: int = 0
    nodes: int = 0
    found: dict[tuple[int, ...], float] = field(default_factory=dict)

    def run(self) -> list[tuple[float, tuple[int, ...]]]:
        """The best sets, cheapest first, as rows of the choices of each joint; none if there is no feasible set."""
        count, queue = itertools.count(), list[tuple[float, int, Node]]()
        root, tell = self._root(), progress_callback() or (lambda share: None)
        first = 0.0 if root is None else sum(float(cost.min()) for cost in root.costs)
        if root is not None:
            heapq.heappush(queue, (first, next(count), root))
        while queue:
            bound, _, node = heapq.heappop(queue)
            if bound >= self.limit:
                break
            self.nodes += 1
            tell((bound - first) / (self.limit - first))  # how much of the gap is closed that was left at first
            for child in self._split(node):
                known = sum(float(cost.min()) for cost in child.costs)
                if known < self.limit:
                    heapq.heappush(queue, (max(bound, known), next(count), child))
        return sorted((cost, rows) for rows, cost in self.found.items())[: self.wanted]

    @property
    def limit(self) -> float:
        """What a set must cost less than to be among the best."""
        if len(self.found) < self.wanted:
            return math.inf
        return sorted(self.found.values())[self.wanted - 1] * (1 - SAME)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Tip to base: what a joint carries comes before it."""
        try:
            outward = range(len(self.loads) - 1, -1, -1)
            return tuple(TopologicalSorter({j: self.loads[j].carried for j in outward}).static_order())
        except CycleError:
            raise InputError(
                "some actuators carry each other, as those of closed loops may; expected a robot whose joints carry "
                "only what is further out, or mounts= that say where the actuators stand"
            ) from None

    def _root(self) -> Node | None:
        """Everything, less what does not fit whatever is chosen beyond; twice, as what is left weighs less, or more."""
        node = Node(tuple(np.arange(len(c)) for c in self.choices), tuple(c.costs for c in self.choices))
        for _ in range(2):
            for j in self.order:
                good, costs = self._judge(j, node.rows[j], self._asked(j, node))
                kept = replace(node, costs=(*node.costs[:j], np.maximum(node.costs[j], costs), *node.costs[j + 1 :]))
                node = kept.with_joint(j, good)
                if not len(node.rows[j]):
                    return None
            self._try(node)
            if (less := self._affordable(node)) is None:
                return None
            node = less
        return node

    def _affordable(self, node: Node) -> Node | None:
        """Less what costs too much even with the cheapest for all other joints."""
        if math.isinf(limit := self.limit):
            return node
        least = [float(cost.min()) for cost in node.costs]
        spare = limit - sum(least)
        for j in self.order:
            keep = node.costs[j] < least[j] + spare
            if not keep.any():
                return None
            if not keep.all():
                node = node.with_joint(j, keep)
        return node

    def _asked(self, j: int, node: Node) -> Asked:
        masses = [self.choices[k].masses[node.rows[k]] for k in self.loads[j].carried]
        low, high = np.array([m.min() for m in masses]), np.array([m.max() for m in masses])
        return Asked.between(self.loads[j], low, high)

    def _exactly(self, j: int, chosen: dict[int, int]) -> Asked:
        masses = np.array([self.choices[k].masses[chosen[k]] for k in self.loads[j].carried])
        return Asked.between(self.loads[j], masses, masses)

    def _judge(self, j: int, rows: Array, asked: Asked) -> tuple[Array, Array]:
        """Which of these fit, and what they cost at least."""
        choices = self.choices[j]
        good, costs = np.zeros(len(rows), dtype=bool), choices.costs[rows].copy()
        self.judged += len(rows)
        hopes = np.flatnonzero(choices.columns.some(rows).hopeful(asked, self.most))
        for part in (hopes[i : i + CHUNK] for i in range(0, len(hopes), CHUNK)):
            found = choices.columns.some(rows[part]).uses(asked, self.terms)
            good[part] = fits(found, self.most)
            if self.terms.energy:
                costs[part] = found["energy"]
        return good, costs

    def _cheapest(self, j: int, node: Node, asked: Asked) -> tuple[Node, int, float] | None:
        """The cheapest that fits a joint of a node, and the node less what was seen not to fit; None if nothing does.

        Candidates are judged in the order of what they cost at least, until no other can cost less.
        """
        order = np.argsort(node.costs[j], kind="stable")
        rows, known = node.rows[j][order], node.costs[j][order].copy()
        keep, best, row, begin, size = np.ones(len(rows), dtype=bool), math.inf, -1, 0, 8
        while begin < len(rows) and known[begin] < best:
            part = slice(begin, begin + size)
            good, costs = self._judge(j, rows[part], asked)
            keep[part] = good
            known[part] = np.maximum(known[part], costs)
            for i in np.flatnonzero(good) + begin:
                if known[i] < best:
                    best, row = float(known[i]), int(rows[i])
            begin, size = begin + size, min(2 * size, CHUNK)
        if row < 0:
            return None
        left, cost = list(node.rows), list(node.costs)
        left[j], cost[j] = rows[keep], known[keep]
        return Node(tuple(left), tuple(cost)), row, best

    def _split(self, node: Node) -> list[Node]:
        """The parts of a node that may hold sets which are better than those known; better sets are kept as found."""
        less = self._affordable(node)
        if less is None:
            return []
        node, chosen, bound = less, dict[int, int](), 0.0
        rest = sum(float(cost.min()) for cost in node.costs)
        for j in self.order:
            rest -= float(node.costs[j].min())
            found = self._cheapest(j, node, self._asked(j, node))
            if found is None or bound + found[2] + rest >= self.limit:
                return []
            node, chosen[j] = found[0], found[1]
            bound += found[2]
        failing, cost = self._exact(chosen)
        if failing is None:
            self._keep(chosen, cost)
            if cost <= bound * (1 + SAME):
                return self._without(node, chosen)
            failing = self.order[-1]
        else:
            self._try(node)
        return self._halves(node, failing) or self._without(node, chosen)

    def _exact(self, chosen: dict[int, int]) -> tuple[int | None, float]:
        """The first joint, from the tip, at which a set is not feasible at its own loads; else what it costs."""
        total = 0.0
        for j in self.order:
            good, costs = self._judge(j, np.array([chosen[j]]), self._exactly(j, chosen))
            if not good[0]:
                return j, math.inf
            total += float(costs[0])
        return None, total

    def _keep(self, chosen: dict[int, int], cost: float) -> None:
        self.found[tuple(chosen[j] for j in range(len(self.loads)))] = cost

    def _without(self, node: Node, chosen: dict[int, int]) -> list[Node]:
        """The node less one set, in parts that do not overlap: the first joint that differs from the set is j."""
        parts = []
        for j in self.order:
            other = node.rows[j] != chosen[j]
            if other.any():
                parts.append(node.with_joint(j, other))
            node = node.with_joint(j, ~other)
        return parts

    def _halves(self, node: Node, failing: int) -> list[Node]:
        """The node in two, by the masses that blur the load of the failing joint most, else those of any joint.

        Nothing where all masses are known: then only rounding makes a set fail that gave the bound.
        """
        blur = self._blur(node, failing) or [most for j in self.order for most in self._blur(node, j)]
        if not blur:
            return []
        *_, k = max(blur)
        masses = self.choices[k].masses[node.rows[k]]
        middle = (masses.min() + masses.max()) / 2
        light = masses <= middle if middle < masses.max() else masses < masses.max()
        return [node.with_joint(k, light), node.with_joint(k, ~light)]

    def _blur(self, node: Node, j: int) -> list[tuple[float, float, int]]:
        """How much the masses of each actuator beyond, where they differ, leave the load of a joint open."""
        load = self.loads[j]
        spread = [float(np.ptp(self.choices[k].masses[node.rows[k]])) for k in load.carried]
        felt = [float(np.max(np.abs(each))) for each in load.torque.each]
        return [(s * f, s, k) for s, f, k in zip(spread, felt, load.carried, strict=True) if s > 0]

    def _try(self, node: Node) -> None:
        """A good set, to have a limit early: from the tip, the cheapest that fits what was chosen beyond."""
        chosen, total = dict[int, int](), 0.0
        for j in self.order:
            found = self._cheapest(j, node, self._exactly(j, chosen))
            if found is None:
                return
            chosen[j] = found[1]
            total += found[2]
        self._keep(chosen, total)

    def failure(self) -> Failure:
        """Why there is no feasible set: from the tip, with the lightest that fits beyond, the first without any."""
        chosen = dict[int, int]()
        for j in self.order:
            asked = self._exactly(j, chosen)
            found = self.choices[j].columns.uses(asked, self.terms)
            good = np.flatnonzero(fits(found, self.most))
            if not len(good):
                return self._least_excess(j, found)
            chosen[j] = int(good[np.argmin(self.choices[j].masses[good])])
        raise AssertionError("a set that fits was not found by the search")

    def _least_excess(self, j: int, found: dict[str, Array]) -> Failure:
        names = [name for name in CRITERIA if name in found]
        table = np.array([found[name] for name in names])
        row = int(np.argmin(table.max(axis=0)))
        worst = int(np.argmax(table[:, row]))
        return Failure(j, row, names[worst], float(table[worst, row]))
