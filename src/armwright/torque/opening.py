"""The numbers of a law, or of events, left open, so that those that differ in numbers only are one program.

Gains, targets, limits, tables, the coefficients and times of a motion: every number in a law, in the laws it is made of
and in the motion it follows. What stays as it is belongs to the structure: how many numbers there are, a single zero
(no feedback, friction that jumps), powers of a polynomial that no joint has, models, functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.graph.expression import Expr, Graph
from armwright.model.description import Description
from armwright.torque.law import Law

Number: TypeAlias = "float | Array"
"""One for all rollouts, or one for each (rollouts,)."""

Take: TypeAlias = Callable[[Any], Any]
T = TypeVar("T")


class Form(Generic[T]):
    """A law, or whatever else `of` is, without its numbers; equal to another one that differs in nothing else."""

    def __init__(self, of: T, key: Hashable, count: int) -> None:
        self.of, self._key, self.count = of, key, count

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._key == other._key

    def in_graph(self, graph: Graph, name: str) -> tuple[T, tuple[Expr, ...]]:
        """The same with an input of a graph, of this name and a number, for each of its numbers, and these."""
        symbols = tuple(graph.input(f"{name}{k + 1}") for k in range(self.count))
        made, _ = _rebuilt(self.of, lambda slot: symbols[slot.place])
        return made, symbols


class Slot(NamedTuple):
    """Where a number was."""

    place: int


class Opened(NamedTuple, Generic[T]):
    """A law as its form and its numbers; `name` is what errors call it."""

    form: Form[T]
    numbers: list[Number]
    name: str = "the torque law"

    @property
    def many(self) -> int | None:
        """For how many rollouts its numbers are; None for any."""
        sizes = {len(x) for x in self.numbers if isinstance(x, np.ndarray)}
        if len(sizes) > 1:
            listed = " and ".join(map(str, sorted(sizes)))
            raise InputError(f"the numbers of {self.name} are for {listed} rollouts; expected equal")
        return sizes.pop() if sizes else None

    @property
    def one(self) -> list[float]:
        """Its numbers, for one rollout."""
        if self.many is not None:
            raise InputError(f"{self.name}: numbers for {self.many} rollouts; expected one, or use simulate_batch")
        return [float(x) for x in self.numbers]

    def rows(self, rollouts: int) -> Array:
        """Its numbers (rollouts, numbers)."""
        if self.many is None:
            return np.broadcast_to(np.array(self.numbers, dtype=float), (rollouts, len(self.numbers)))
        return np.stack([np.broadcast_to(x, rollouts) for x in self.numbers], axis=1)


def numbers_of(law: T, name: str = "the torque law") -> Opened[T]:
    """A law, or whatever else is made of dataclasses and tuples, as its form and its numbers."""
    found: list[Number] = []

    def take(number: Number) -> Slot:
        found.append(number)
        return Slot(len(found) - 1)

    form, key = _rebuilt(law, take)
    return Opened(Form(form, key, len(found)), found, name)


def built_in(law: Law) -> bool:
    """Whether a law and all it is made of are laws of this package."""
    return type(law).__module__.startswith(__name__.partition(".")[0] + ".") and all(map(built_in, law.made_of))


def together(laws: Sequence[Law]) -> Opened[Law]:
    """Laws of one form, one for each rollout, as one."""
    form, rows = numbers_of(laws[0]).form, []
    for k, law in enumerate(laws):
        found: list[Number] = []
        if form != Form(law, _rebuilt(law, found.append)[1], len(found)):
            raise InputError(
                f"torque law {k} is of another form than the first: {law!r} beside {laws[0]!r}; expected laws that "
                "differ in their numbers only, or one call for each form"
            )
        if (many := Opened(form, found).many) is not None:
            raise InputError(f"torque law {k} of the list is for {many} rollouts itself; expected one")
        rows.append(found)
    return Opened(form, list(np.array(rows, dtype=float).T))


def _rebuilt(x: Any, take: Take) -> tuple[Any, Hashable]:
    """The same thing with what `take` makes of every number in it, and what tells it from others that are not alike."""
    if isinstance(x, (float, Slot)):
        return _number(x, take)
    if isinstance(x, np.ndarray):
        return _array(x, take)
    if isinstance(x, tuple):
        return _several(x, take)
    if is_dataclass(x) and not isinstance(x, (type, Description)):
        made = object.__new__(type(x))
        keys: list[Hashable] = [type(x)]
        for field in fields(x):
            value, key = _rebuilt(getattr(x, field.name), take)
            object.__setattr__(made, field.name, value)
            keys.append(key)
        return made, tuple(keys)
    try:
        hash(x)
    except TypeError:
        return x, ("by itself", id(x))
    return x, x


def _number(x: Any, take: Take) -> tuple[Any, Hashable]:
    folded = isinstance(x, float) and (x == 0 or not math.isfinite(x))
    return (x, x) if folded else (take(x), "open")


def _several(x: tuple[Any, ...], take: Take) -> tuple[Any, Hashable]:
    if not x or not all(isinstance(entry, (float, np.ndarray, Slot)) for entry in x):
        made, keys = zip(*(_rebuilt(entry, take) for entry in x), strict=True) if x else ((), ())
        return tuple(made), tuple(keys)
    if len(x) == 1 and isinstance(x[0], float) and x[0] == 0:
        return x, x
    if not all(np.isfinite(entry).all() for entry in x if not isinstance(entry, Slot)):
        return x, x
    return tuple(map(take, x)), ("open", len(x))


def _array(x: Array, take: Take) -> tuple[Any, Hashable]:
    """Of an array whose last axis has zeros everywhere, as powers of a polynomial may be, these stay."""
    if x.dtype == object:  # one that was opened before
        kept = np.array([not isinstance(entry, Slot) for entry in x.ravel()]).reshape(x.shape)
    else:
        kept = np.broadcast_to(~x.any(axis=tuple(range(x.ndim - 1))), x.shape)
    opened = x[~kept] if x.dtype == object else x[~kept].astype(float).tolist()
    made = np.zeros(x.shape, object)
    made[~kept] = np.fromiter(map(take, opened), object, len(opened))
    return made, ("array", x.shape, kept.tobytes())
