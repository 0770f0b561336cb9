"""A part of a program that is too long for one function, as several that follow one another.

For twice as many statements compilers take more than twice as long: of the derivatives of a humanoid, three minutes.
What a chapter leaves for later ones lies in memory, and each reads of it what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from armwright.backends.cuda.split import ROOM, Part
from armwright.graph.expression import LEAVES, Expr

LONGEST, CROWDED, LENGTH = 8000, 4000, 2000
"""Operations of the longest function, of the longest that has too few registers, and of a chapter where there are more.

Of those with too few a compiler would put more into memory than chapters leave there: of the forward dynamics of a
humanoid in double precision twice as much.
"""


class Chapter(NamedTuple):
    """What is computed, in this order; where what it takes and what it leaves lies, by the numbers of nodes."""

    nodes: Sequence[Expr]
    taken: dict[int, int]
    left: dict[int, int]


def chapters(part: Part, double: bool) -> tuple[list[Chapter], int]:
    """All of a part, and how many numbers they need room for."""
    nodes = part.order.nodes
    whole = len(nodes) <= (LONGEST if part.order.most <= ROOM[double] else CROWDED)
    length = len(nodes) if whole else -(-len(nodes) // -(-len(nodes) // LENGTH))
    pieces = [nodes[k : k + length] for k in range(0, max(1, len(nodes)), max(1, length))]
    home = {node.index: c for c, piece in enumerate(pieces) for node in piece if node.op not in LEAVES}
    last = dict[int, int]()
    for c, piece in enumerate(pieces):
        last.update((i, c) for node in piece for i in _operands(node, part.fused) if home.get(i, c) < c)
    places, size = _places(pieces, home, last)
    made = list[Chapter]()
    for c, piece in enumerate(pieces):
        used = {i for node in piece for i in _operands(node, part.fused)}
        taken = {i: places[i] for i in used if home.get(i, c) < c}
        made.append(Chapter(piece, taken, {x.index: places[x.index] for x in piece if x.index in places}))
    return made, size


def _operands(node: Expr, fused: set[int]) -> Iterable[int]:
    """What a node is computed from: of a product that is part of it, its factors."""
    for x in node.args:
        if x.index in fused:
            yield from _operands(x, fused)
        else:
            yield x.index


def _places(pieces: Sequence[Sequence[Expr]], home: dict[int, int], last: dict[int, int]) -> tuple[dict[int, int], int]:
    """A place for each number that is used after its chapter; it is free again once the last that uses it is over."""
    places, size = dict[int, int](), 0
    free, over = list[int](), dict[int, list[int]]()
    for c, piece in enumerate(pieces):
        free += over.pop(c, [])
        for node in piece:
            i = node.index
            if i in last and home.get(i) == c:
                if not free:
                    free.append(size)
                    size += 1
                places[i] = free.pop()
                over.setdefault(last[i] + 1, []).append(places[i])
    return places, size
