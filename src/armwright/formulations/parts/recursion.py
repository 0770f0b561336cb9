"""The loop over a tree of links that every O(n) formulation uses.

A recursion is a step function, which takes the state of the neighbour and the data of one joint. As it depends on
nothing else, it can be unrolled for a six-joint arm or remain a loop for a thousand joints. It is the same for chains
and trees: outward, the neighbour is the parent; inward, the states of the children are added.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

State = TypeVar("State")
Result = TypeVar("Result")


def outward(parents: Sequence[int], step: Callable[..., State], base: State, *data: Sequence[Any]) -> list[State]:
    """Return state_i = step(state of the parent of i, data of joint i); children of the base start from `base`."""
    states: list[State] = []
    for parent, joint_data in zip(parents, zip(*data, strict=True), strict=True):
        states.append(step(states[parent] if parent >= 0 else base, *joint_data))
    return states


def inward(
    parents: Sequence[int], step: Callable[..., tuple[State, Result]], tip: State, *data: Sequence[Any]
) -> list[Result]:
    """Return result_i of (state for the parent, result_i) = step(sum of the states of the children, data of joint i).

    A link without children starts from `tip`. A state is already in the frame of the receiving link.
    """
    rows = list(zip(*data, strict=True))
    from_children: list[list[State]] = [[] for _ in rows]
    results: list[Any] = [None] * len(rows)
    for i in reversed(range(len(rows))):
        state, results[i] = step(reduce(plus, from_children[i]) if from_children[i] else tip, *rows[i])
        if parents[i] >= 0:
            from_children[parents[i]].append(state)
    return results


def plus(a: Any, b: Any) -> Any:
    """Return the sum of two states, entry by entry."""
    if not isinstance(a, tuple):
        return a + b
    sums = [plus(x, y) for x, y in zip(a, b, strict=True)]
    return type(a)(*sums) if hasattr(a, "_fields") else tuple(sums)
