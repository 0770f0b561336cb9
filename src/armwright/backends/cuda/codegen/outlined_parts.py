"""Outlined parts: a part of the outputs that is too long for one function, as several functions in sequence.

Compile time grows faster than the length of a function: the derivatives of a humanoid would take three minutes. Values
for later functions are stored in memory slots. The first function has all sines, so that the others need no second
version for large angles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from armwright.backends.cuda.codegen.output_partition import MAX_LIVE, OutputPart
from armwright.backends.slots import allocate_slots
from armwright.graph.angles import SINE_OPERATIONS
from armwright.graph.expression import LEAVES, Expr

MAX_OPERATIONS, MAX_SPILLING_OPERATIONS, OUTLINED_OPERATIONS = 8000, 4000, 2000
"""Operations of the longest single function, of the longest one that spills, and of an outlined part of longer ones.

Beyond the second a compiler would spill more than the slots of outlined parts take: twice as much for the forward
dynamics of a humanoid in double precision.
"""


class OutlinedPart(NamedTuple):
    """Nodes in the order of computation, and the slots of the nodes that it loads and stores, by their indices."""

    nodes: Sequence[Expr]
    loaded: dict[int, int]
    stored: dict[int, int]

    @property
    def has_angles(self) -> bool:
        """True if it computes sines."""
        return any(node.op in SINE_OPERATIONS for node in self.nodes)


def outline(part: OutputPart, double: bool) -> tuple[list[OutlinedPart], int]:
    """Return the outlined parts of a part, and the number of slots they need."""
    in_registers = part.schedule.max_live <= MAX_LIVE[double]
    pieces = _pieces(part.schedule.nodes, MAX_OPERATIONS if in_registers else MAX_SPILLING_OPERATIONS)
    allocation = allocate_slots(pieces, lambda node: _operands(node, part.fused))
    slots, home = allocation.slots, allocation.home
    parts = list[OutlinedPart]()
    for c, piece in enumerate(pieces):
        used = {i for node in piece for i in _operands(node, part.fused)}
        loaded = {i: slots[i] for i in used if home.get(i, c) < c}
        parts.append(OutlinedPart(piece, loaded, {x.index: slots[x.index] for x in piece if x.index in slots}))
    return parts, allocation.size


def _pieces(nodes: Sequence[Expr], max_operations: int) -> list[Sequence[Expr]]:
    """Return all nodes as one piece, or the sines of plain angles and then pieces of equal length."""
    if len(nodes) <= max_operations:
        return [nodes]
    sines = (node for node in nodes if node.op in SINE_OPERATIONS)
    first = {x.index for node in sines if (angle := _plain_angle(node.args[0])) for x in (node, *angle)}
    rest = [node for node in nodes if node.index not in first]
    length = -(-len(rest) // -(-len(rest) // OUTLINED_OPERATIONS))
    early = [node for node in nodes if node.index in first]
    return [*([early] if early else []), *(rest[k : k + length] for k in range(0, len(rest), length))]


def _plain_angle(angle: Expr) -> list[Expr]:
    """Return an angle and its operands if these are inputs or constants, else nothing."""
    return [angle, *angle.args] if all(x.op in LEAVES for x in angle.args) else []


def _operands(node: Expr, fused: set[int]) -> Iterable[int]:
    """Yield the indices of the operands of a node; those of a fused product stand for it."""
    for x in node.args:
        if x.index in fused:
            yield from _operands(x, fused)
        else:
            yield x.index
