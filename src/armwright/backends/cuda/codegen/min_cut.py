"""Where a long computation is narrow: a few numbers with which the rest can be begun anew.

The derivatives of forward dynamics need the accelerations, with the factors of a mass matrix behind them. Computed with
everything else, all of that is kept, or done again in every part; as seven numbers it is handed over. What is handed
over depends on divisions, which end such a computation; motion and masses without are as quickly computed again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from armwright.backends.cuda.codegen.schedule import depends
from armwright.graph.expression import LEAVES, Expr, reachable
from armwright.graph.program import Program

WIDEST = 64
"""Numbers that are handed over, at most."""


def waist(program: Program) -> list[Expr]:
    """The fewest nodes through which all results depend on divisions, the nearest to these; none, if results are."""
    after = set[int]()
    for node in program.nodes:
        if node.op == "div" or any(x.index in after for x in node.args):
            after.add(node.index)
    results = {x.index: x for x in program.outputs[: program.results] if depends(x) and x.index in after}
    nodes = [node for node in program.nodes if node.index in after]
    cut = _Flow(nodes, results).cut(min(WIDEST, len(results) - 1))
    return [node for node in nodes if node.index in cut]


def opened(program: Program, handed: Iterable[Expr], name: str) -> Program:
    """The same with a further argument in place of these nodes."""
    handed = list(handed)
    graph = handed[0].graph
    inputs = tuple(graph.input(f"{name}.{x.index}") for x in handed)
    new = {x.index: given for x, given in zip(handed, inputs, strict=True)}
    for node in program.nodes:
        if node.index not in new:
            changed = node.op not in LEAVES and any(new[x.index] is not x for x in node.args)
            new[node.index] = graph.node(node.op, *(new[x.index] for x in node.args)) if changed else node
    outputs = tuple(new[x.index] if isinstance(x, Expr) else x for x in program.outputs)
    return replace(program, arguments=(*program.arguments, (name, inputs)), outputs=outputs)


def within(program: Program, handed: Iterable[Expr]) -> list[int]:
    """Numbers of outputs that are computed on the way to these nodes."""
    there = {node.index for node in reachable(handed)}
    return [k for k, x in enumerate(program.outputs) if depends(x) and x.index in there]


class _Flow:
    """Paths from divisions to results that share no node; every node is two places, (node, in) and (node, out)."""

    def __init__(self, nodes: list[Expr], results: Iterable[int]) -> None:
        self._room = dict[tuple[int, int], dict[tuple[int, int], int]]()
        inside = {node.index for node in nodes}
        for node in nodes:
            self._join((node.index, 0), (node.index, 1), 1)
            if node.op == "div":
                self._join((-1, 1), (node.index, 0), WIDEST + 1)
            for x in node.args:
                if x.index in inside:
                    self._join((x.index, 1), (node.index, 0), WIDEST + 1)
        for i in results:
            self._join((i, 1), (-1, 0), WIDEST + 1)

    def _join(self, a: tuple[int, int], b: tuple[int, int], room: int) -> None:
        self._room.setdefault(a, {})[b] = room
        self._room.setdefault(b, {}).setdefault(a, 0)

    def cut(self, most: int) -> set[int]:
        """The nodes of the narrowest place; none if it is wider than that."""
        if (-1, 1) not in self._room or (-1, 0) not in self._room:
            return set()
        for _ in range(most + 1):
            came = self._reached((-1, 1), forward=True)
            if (-1, 0) not in came:
                last = self._reached((-1, 0), forward=False)
                return {i for i, side in last if side == 1 and i >= 0 and (i, 0) not in last}
            b = (-1, 0)
            while b != (-1, 1):
                a = came[b]
                self._room[a][b] -= 1
                self._room[b][a] += 1
                b = a
        return set()

    def _reached(self, begin: tuple[int, int], forward: bool) -> dict[tuple[int, int], tuple[int, int]]:
        """From where one comes to each place along arcs with room, or from each place to the end."""
        came, queue = {begin: begin}, deque([begin])
        while queue:
            a = queue.popleft()
            for b in self._room[a]:
                if b not in came and (self._room[a][b] if forward else self._room[b][a]) > 0:
                    came[b] = a
                    queue.append(b)
        return came
