"""Search for the best sets of actuators by branch and bound over the masses of the candidates of each joint.

The load of a joint depends on the actuators it carries through their masses alone. A node of the search has candidates
for each joint. Their masses have bounds, so each load has bounds (`criteria`), and a candidate too weak for every load
between them is removed. The sum of the cheapest candidates left is a lower bound of the cost of any set in the node.
Lighter is not always better (an actuator behind an axis is a counterweight), so no candidate is removed for its mass:
only infeasible ones, and those that cannot beat the sets already found.

The node with the lowest bound is next. If the set that gives the bound is feasible at its own loads, it is the best of
the node, and the rest of the node is split without it (Lawler 1972). Otherwise the masses that widen the loads most are
split in two. A node of known masses is exact, so the search ends, and the sets found are proven to be the best.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.lazy import cached_property
from armwright.progress import progress_callback
from armwright.sizing.criteria import CRITERIA, DriveNumbers, JointDemand, Requirements, within_limits
from armwright.sizing.loads import JointLoad

EVALUATED_AT_ONCE = 64
"""Number of actuators that are evaluated together."""

COST_TOLERANCE = 1e-12
"""Relative difference of costs that counts as rounding."""


@dataclass(frozen=True)
class Choices:
    """The candidates of one joint: their numbers, masses, and lower bounds of their costs."""

    columns: DriveNumbers
    masses: Array
    costs: Array

    def __len__(self) -> int:
        return len(self.masses)


@dataclass(frozen=True)
class Node:
    """The candidates left for each joint: rows of its choices, and lower bounds of their costs."""

    rows: tuple[Array, ...]
    costs: tuple[Array, ...]

    def with_joint(self, j: int, keep: Array) -> Node:
        """Return the node with only the candidates `keep` for joint j."""
        rows, costs = list(self.rows), list(self.costs)
        rows[j], costs[j] = rows[j][keep], costs[j][keep]
        return Node(tuple(rows), tuple(costs))


@dataclass(frozen=True)
class Failure:
    """A joint without a feasible candidate: the nearest candidate, its worst criterion, and the part of that limit."""

    joint: int
    row: int
    criterion: str
    used: float


@dataclass
class BranchAndBound:
    """The search for the best sets of actuators; it evaluates joints from tip to base."""

    loads: Sequence[JointLoad]
    choices: Sequence[Choices]
    requirements: Requirements
    max_use: float = 1.0
    set_count: int = 1
    judged: int = 0
    nodes: int = 0
    found: dict[tuple[int, ...], float] = field(default_factory=dict)

    def run(self) -> list[tuple[float, tuple[int, ...]]]:
        """Return the best sets as (cost, row of each joint), cheapest first; an empty list if none is feasible."""
        count, queue = itertools.count(), list[tuple[float, int, Node]]()
        root, report = self._root(), progress_callback() or (lambda fraction: None)
        first = 0.0 if root is None else sum(float(cost.min()) for cost in root.costs)
        if root is not None:
            heapq.heappush(queue, (first, next(count), root))
        while queue:
            bound, _, node = heapq.heappop(queue)
            if bound >= self.cost_limit:
                break
            self.nodes += 1
            report((bound - first) / (self.cost_limit - first))  # the part of the initial gap that is closed
            for child in self._split(node):
                known = sum(float(cost.min()) for cost in child.costs)
                if known < self.cost_limit:
                    heapq.heappush(queue, (max(bound, known), next(count), child))
        return sorted((cost, rows) for rows, cost in self.found.items())[: self.set_count]

    @property
    def cost_limit(self) -> float:
        """The cost below which a set is among the best."""
        if len(self.found) < self.set_count:
            return math.inf
        return sorted(self.found.values())[self.set_count - 1] * (1 - COST_TOLERANCE)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Joints from tip to base: those that a joint carries come before it."""
        try:
            outward = range(len(self.loads) - 1, -1, -1)
            return tuple(TopologicalSorter({j: self.loads[j].carried for j in outward}).static_order())
        except CycleError:
            raise InputError(
                "some actuators carry each other, as those of closed loops may; expected a robot whose joints carry "
                "only what is further out, or mounts= that place the actuators"
            ) from None

    def _root(self) -> Node | None:
        """Return the node of all candidates that are feasible for some choice; reduced twice, as mass bounds shrink."""
        node = Node(tuple(np.arange(len(c)) for c in self.choices), tuple(c.costs for c in self.choices))
        for _ in range(2):
            for j in self.order:
                good, costs = self._evaluate(j, node.rows[j], self._demand(j, node))
                kept = replace(node, costs=(*node.costs[:j], np.maximum(node.costs[j], costs), *node.costs[j + 1 :]))
                node = kept.with_joint(j, good)
                if not len(node.rows[j]):
                    return None
            self._find_feasible(node)
            if (reduced := self._affordable(node)) is None:
                return None
            node = reduced
        return node

    def _affordable(self, node: Node) -> Node | None:
        """Return the node without candidates too expensive even with the cheapest others; None if none is left."""
        if math.isinf(limit := self.cost_limit):
            return node
        lowest = [float(cost.min()) for cost in node.costs]
        margin = limit - sum(lowest)
        for j in self.order:
            keep = node.costs[j] < lowest[j] + margin
            if not keep.any():
                return None
            if not keep.all():
                node = node.with_joint(j, keep)
        return node

    def _demand(self, j: int, node: Node) -> JointDemand:
        masses = [self.choices[k].masses[node.rows[k]] for k in self.loads[j].carried]
        low, high = np.array([m.min() for m in masses]), np.array([m.max() for m in masses])
        return JointDemand.between(self.loads[j], low, high)

    def _known_demand(self, j: int, chosen: dict[int, int]) -> JointDemand:
        masses = np.array([self.choices[k].masses[chosen[k]] for k in self.loads[j].carried])
        return JointDemand.between(self.loads[j], masses, masses)

    def _evaluate(self, j: int, rows: Array, demand: JointDemand) -> tuple[Array, Array]:
        """Return which candidates are feasible, and lower bounds of their costs."""
        choices = self.choices[j]
        good, costs = np.zeros(len(rows), dtype=bool), choices.costs[rows].copy()
        self.judged += len(rows)
        candidates = np.flatnonzero(choices.columns.subset(rows).passes_screening(demand, self.max_use))
        for part in (candidates[i : i + EVALUATED_AT_ONCE] for i in range(0, len(candidates), EVALUATED_AT_ONCE)):
            used = choices.columns.subset(rows[part]).utilisation(demand, self.requirements)
            good[part] = within_limits(used, self.max_use)
            if self.requirements.energy:
                costs[part] = used["energy"]
        return good, costs

    def _cheapest(self, j: int, node: Node, demand: JointDemand) -> tuple[Node, int, float] | None:
        """Return the node less infeasible candidates, the cheapest feasible row and its cost; None if there is none.

        Candidates are evaluated in the order of their lower bounds, until no other can cost less.
        """
        order = np.argsort(node.costs[j], kind="stable")
        rows, known = node.rows[j][order], node.costs[j][order].copy()
        keep, best, row, begin, size = np.ones(len(rows), dtype=bool), math.inf, -1, 0, 8
        while begin < len(rows) and known[begin] < best:
            part = slice(begin, begin + size)
            good, costs = self._evaluate(j, rows[part], demand)
            keep[part] = good
            known[part] = np.maximum(known[part], costs)
            for i in np.flatnonzero(good) + begin:
                if known[i] < best:
                    best, row = float(known[i]), int(rows[i])
            begin, size = begin + size, min(2 * size, EVALUATED_AT_ONCE)
        if row < 0:
            return None
        left, cost = list(node.rows), list(node.costs)
        left[j], cost[j] = rows[keep], known[keep]
        return Node(tuple(left), tuple(cost)), row, best

    def _split(self, node: Node) -> list[Node]:
        """Return the parts of a node that may contain better sets; sets found on the way are kept."""
        reduced = self._affordable(node)
        if reduced is None:
            return []
        node, chosen, bound = reduced, dict[int, int](), 0.0
        rest = sum(float(cost.min()) for cost in node.costs)
        for j in self.order:
            rest -= float(node.costs[j].min())
            cheapest = self._cheapest(j, node, self._demand(j, node))
            if cheapest is None or bound + cheapest[2] + rest >= self.cost_limit:
                return []
            node, chosen[j], cost = cheapest
            bound += cost
        failing, cost = self._exact(chosen)
        if failing is None:
            self._keep(chosen, cost)
            if cost <= bound * (1 + COST_TOLERANCE):
                return self._without(node, chosen)
            failing = self.order[-1]
        else:
            self._find_feasible(node)
        return self._halves(node, failing) or self._without(node, chosen)

    def _exact(self, chosen: dict[int, int]) -> tuple[int | None, float]:
        """Return the first joint, from the tip, that is infeasible in a set at its own loads, or None, and the cost."""
        total = 0.0
        for j in self.order:
            good, costs = self._evaluate(j, np.array([chosen[j]]), self._known_demand(j, chosen))
            if not good[0]:
                return j, math.inf
            total += float(costs[0])
        return None, total

    def _keep(self, chosen: dict[int, int], cost: float) -> None:
        self.found[tuple(chosen[j] for j in range(len(self.loads)))] = cost

    def _without(self, node: Node, chosen: dict[int, int]) -> list[Node]:
        """Return the node less one set, in disjoint parts: in part j, joint j is the first to differ from the set."""
        parts = []
        for j in self.order:
            other = node.rows[j] != chosen[j]
            if other.any():
                parts.append(node.with_joint(j, other))
            node = node.with_joint(j, ~other)
        return parts

    def _halves(self, node: Node, failing: int) -> list[Node]:
        """Return the node in two halves, split by the masses that widen the load of the failing joint most, or of any.

        The list is empty where all masses are known: then only rounding makes the set of the bound fail.
        """
        widths = self._load_widths(node, failing) or [width for j in self.order for width in self._load_widths(node, j)]
        if not widths:
            return []
        *_, k = max(widths)
        masses = self.choices[k].masses[node.rows[k]]
        middle = (masses.min() + masses.max()) / 2
        light = masses <= middle if middle < masses.max() else masses < masses.max()
        return [node.with_joint(k, light), node.with_joint(k, ~light)]

    def _load_widths(self, node: Node, j: int) -> list[tuple[float, float, int]]:
        """Return (width of the load, spread of the masses, joint) of each carried actuator whose mass is not known."""
        load = self.loads[j]
        spread = [float(np.ptp(self.choices[k].masses[node.rows[k]])) for k in load.carried]
        effect = [float(np.max(np.abs(each))) for each in load.torque.per_kilogram]
        return [(s * e, s, k) for s, e, k in zip(spread, effect, load.carried, strict=True) if s > 0]

    def _find_feasible(self, node: Node) -> None:
        """Find a feasible set for an early cost limit: from the tip, the cheapest feasible candidate of each joint."""
        chosen, total = dict[int, int](), 0.0
        for j in self.order:
            cheapest = self._cheapest(j, node, self._known_demand(j, chosen))
            if cheapest is None:
                return
            _, chosen[j], cost = cheapest
            total += cost
        self._keep(chosen, total)

    def failure(self) -> Failure:
        """Return the first joint, from the tip, without a candidate even if it carries the lightest."""
        chosen = dict[int, int]()
        for j in self.order:
            demand = self._known_demand(j, chosen)
            used = self.choices[j].columns.utilisation(demand, self.requirements)
            good = np.flatnonzero(within_limits(used, self.max_use))
            if not len(good):
                return self._nearest_failure(j, used)
            chosen[j] = int(good[np.argmin(self.choices[j].masses[good])])
        raise AssertionError("the search missed a feasible set")

    def _nearest_failure(self, j: int, used: dict[str, Array]) -> Failure:
        names = [name for name in CRITERIA if name in used]
        table = np.array([used[name] for name in names])
        row = int(np.argmin(table.max(axis=0)))
        worst = int(np.argmax(table[:, row]))
        return Failure(j, row, names[worst], float(table[worst, row]))
