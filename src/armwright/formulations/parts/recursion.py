"""The one loop under every O(n) formulation.

A recursion is a step function; the loop hands it the state of the neighbour and the data of one joint. Because a step
sees nothing but those, it can be unrolled for a six-joint arm or kept as a loop for a thousand-joint chain.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

State = TypeVar("State")
Result = TypeVar("Result")


def outward(step: Callable[..., State], base: State, *data: Sequence[Any]) -> list[State]:
    """States of links 0..n-1: state_i = step(state_{i-1}, data of joint i), starting from `base`."""
    states, state = [], base
    for joint_data in zip(*data, strict=True):
        state = step(state, *joint_data)
        states.append(state)
    return states


def inward(step: Callable[..., tuple[State, Result]], tip: State, *data: Sequence[Any]) -> list[Result]:
    """Results of joints 0..n-1, found from the tip: (state handed to i-1, result_i) = step(state_i, data of joint i).

    The state handed on is already in the frame of the receiving link.
    """
    results, state = [], tip
    for joint_data in reversed(list(zip(*data, strict=True))):
        state, result = step(state, *joint_data)
        results.append(result)
    return results[::-1]
