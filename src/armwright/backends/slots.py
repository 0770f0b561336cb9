"""Memory slots for values that pass from one generated function to later ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from armwright.graph.expression import LEAVES, Expr


class SlotAllocation(NamedTuple):
    """The piece that computes each node, the slots of nodes that later pieces use, and the number of slots."""

    home: Mapping[int, int]
    slots: Mapping[int, int]
    size: int


def allocate_slots(pieces: Sequence[Sequence[Expr]], operands: Callable[[Expr], Iterable[int]]) -> SlotAllocation:
    """Return slots for the nodes that later pieces use; a slot is free again after the last piece that uses it.

    `operands` returns the indices of the nodes that a node is computed from.
    """
    home = {node.index: k for k, piece in enumerate(pieces) for node in piece if node.op not in LEAVES}
    last_use = dict[int, int]()
    for k, piece in enumerate(pieces):
        last_use.update((i, k) for node in piece for i in operands(node) if home.get(i, k) < k)
    slots, count = dict[int, int](), 0
    free, expiring = list[int](), dict[int, list[int]]()
    for k, piece in enumerate(pieces):
        free += expiring.pop(k - 1, [])
        for node in piece:
            if node.index in last_use:
                if not free:
                    free.append(count)
                    count += 1
                slots[node.index] = free.pop()
                expiring.setdefault(last_use[node.index], []).append(slots[node.index])
    return SlotAllocation(home, slots, count)
