"""A part of a program that is too long for one function, as several that follow one another.

For twice as many statements compilers take more than twice as long: of the derivatives of a humanoid, three minutes.
What a chapter leaves for later ones lies in memory, and each reads of it what it needs. The first has all sines, so
that no other has to be compiled again for those of large angles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from armwright.backends.cuda.codegen.output_partition import ROOM, Part
from armwright.graph.expression import LEAVES, Expr

LONGEST, CROWDED, LENGTH = 8000, 4000, 2000
"""Operations of the longest function, of the longest that has too few registers, and of a chapter where there are more.

Of those with too few a compiler would put more into memory than chapters leave there: of the forward dynamics of a
humanoid in double precision twice as much.
"""


SINES = ("sin", "cos")


class Chapter(NamedTuple):
    """What is computed, in this order; where what it takes and what it leaves lies, by the numbers of nodes."""

    nodes: Sequence[Expr]
    taken: dict[int, int]
    left: dict[int, int]

    @property
    def turns(self) -> bool:
        """Whether there are angles in it."""
        return any(node.op in SINES for node in self.nodes)


def chapters(part: Part, double: bool) -> tuple[list[Chapter], int]:
    """All of a part, and how many numbers they need room for."""
    pieces = _pieces(part.order.nodes, LONGEST if part.order.most <= ROOM[double] else CROWDED)
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


def _pieces(nodes: Sequence[Expr], longest: int) -> list[Sequence[Expr]]:
    """All of them at once, or the sines of plain angles and then so many at a time."""
    if len(nodes) <= longest:
        return [nodes]
    first = {x.index for node in nodes if node.op in SINES and (found := _plain(node.args[0])) for x in (node, *found)}
    rest = [node for node in nodes if node.index not in first]
    length = -(-len(rest) // -(-len(rest) // LENGTH))
    early = [node for node in nodes if node.index in first]
    return [*([early] if early else []), *(rest[k : k + length] for k in range(0, len(rest), length))]


def _plain(angle: Expr) -> list[Expr]:
    """An angle and what it is computed from, if that is nothing but what is given."""
    known = all(x.op in LEAVES for x in angle.args)
    return [angle, *angle.args] if known else []


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
