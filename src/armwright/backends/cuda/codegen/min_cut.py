"""The minimum cut of a program: the fewest values from which its remaining results can be computed.

The derivatives of forward dynamics need the accelerations, and these the factors of a mass matrix. Without a cut these
factors stay live, or every part computes them again; with a cut seven values are passed on. The values of a cut depend
on divisions, which end such a computation. Motions and masses without divisions are cheap to compute again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from armwright.backends.cuda.codegen.schedule import is_variable
from armwright.graph.expression import LEAVES, Expr, reachable
from armwright.graph.program import Program

MAX_CUT_VALUES = 64
"""The most values of a cut."""


def min_cut(program: Program) -> list[Expr]:
    """Return the fewest nodes through which results depend on divisions, those nearest to the results.

    The list is empty if no cut is smaller than the results.
    """
    after = set[int]()
    for node in program.nodes:
        if node.op == "div" or any(x.index in after for x in node.args):
            after.add(node.index)
    results = {x.index: x for x in program.outputs[: program.results] if is_variable(x) and x.index in after}
    nodes = [node for node in program.nodes if node.index in after]
    cut = _FlowNetwork(nodes, results).cut(min(MAX_CUT_VALUES, len(results) - 1))
    return [node for node in nodes if node.index in cut]


def replace_by_argument(program: Program, cut: Iterable[Expr], name: str) -> Program:
    """Return the program with a further argument in place of these nodes."""
    cut = list(cut)
    graph = cut[0].graph
    inputs = tuple(graph.input(f"{name}.{x.index}") for x in cut)
    new = {x.index: argument for x, argument in zip(cut, inputs, strict=True)}
    for node in program.nodes:
        if node.index not in new:
            changed = node.op not in LEAVES and any(new[x.index] is not x for x in node.args)
            new[node.index] = graph.node(node.op, *(new[x.index] for x in node.args)) if changed else node
    outputs = tuple(new[x.index] if isinstance(x, Expr) else x for x in program.outputs)
    return replace(program, arguments=(*program.arguments, (name, inputs)), outputs=outputs)


def outputs_before(program: Program, cut: Iterable[Expr]) -> list[int]:
    """Return the indices of outputs that are operands of these nodes, direct or not."""
    before = {node.index for node in reachable(cut)}
    return [k for k, x in enumerate(program.outputs) if is_variable(x) and x.index in before]


class _FlowNetwork:
    """A flow from divisions to results with capacity 1 per node; a node has two vertices, (node, 0) and (node, 1)."""

    def __init__(self, nodes: list[Expr], results: Iterable[int]) -> None:
        self._capacity = dict[tuple[int, int], dict[tuple[int, int], int]]()
        inside = {node.index for node in nodes}
        for node in nodes:
            self._add_edge((node.index, 0), (node.index, 1), 1)
            if node.op == "div":
                self._add_edge((-1, 1), (node.index, 0), MAX_CUT_VALUES + 1)
            for x in node.args:
                if x.index in inside:
                    self._add_edge((x.index, 1), (node.index, 0), MAX_CUT_VALUES + 1)
        for i in results:
            self._add_edge((i, 1), (-1, 0), MAX_CUT_VALUES + 1)

    def _add_edge(self, a: tuple[int, int], b: tuple[int, int], capacity: int) -> None:
        self._capacity.setdefault(a, {})[b] = capacity
        self._capacity.setdefault(b, {}).setdefault(a, 0)

    def cut(self, max_size: int) -> set[int]:
        """Return the nodes of the minimum cut, none if there are more than `max_size`."""
        if (-1, 1) not in self._capacity or (-1, 0) not in self._capacity:
            return set()
        for _ in range(max_size + 1):
            predecessors = self._reached((-1, 1), forward=True)
            if (-1, 0) not in predecessors:
                last = self._reached((-1, 0), forward=False)
                return {i for i, side in last if side == 1 and i >= 0 and (i, 0) not in last}
            b = (-1, 0)
            while b != (-1, 1):
                a = predecessors[b]
                self._capacity[a][b] -= 1
                self._capacity[b][a] += 1
                b = a
        return set()

    def _reached(self, begin: tuple[int, int], forward: bool) -> dict[tuple[int, int], tuple[int, int]]:
        """Return for each vertex its predecessor on a path of free capacity from `begin`, or to it if not `forward`."""
        predecessors, queue = {begin: begin}, deque([begin])
        while queue:
            a = queue.popleft()
            for b in self._capacity[a]:
                if b not in predecessors and (self._capacity[a][b] if forward else self._capacity[b][a]) > 0:
                    predecessors[b] = a
                    queue.append(b)
        return predecessors
