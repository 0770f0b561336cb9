"""Runtime parameters: the numbers of a law or of events, separated so that one program serves all values.

They are gains, targets, limits, tables, the coefficients and times of a motion: every number in a law, in the laws it
is made of and in its reference. The structure is the rest: the number of parameters, single zeros (no feedback,
friction without smoothing), powers of a polynomial that no joint has, models, functions. In laws for many rollouts, a
zero belongs to the structure if all of them have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields, is_dataclass
from types import CellType, CodeType, FunctionType
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from armwright.algebra import Array
from armwright.draws import Draw, DrawnColumn
from armwright.errors import InputError
from armwright.graph.expression import Expr, Graph
from armwright.model.description import Description
from armwright.torque.law import FLOAT_ANNOTATIONS, Law

Number: TypeAlias = "float | Array | DrawnColumn"
"""One number for all rollouts, one for each (rollouts,), or a random one for each."""

NumberMap: TypeAlias = Callable[[Any], Any]
Record = TypeVar("Record")


class Structure(Generic[Record]):
    """A law or another record, the `template`, without its numbers; equal to any that differs only in these."""

    def __init__(self, template: Record, key: Hashable, count: int) -> None:
        self.template, self._key, self.count = template, key, count

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._key == other._key

    def in_graph(self, graph: Graph, name: str) -> tuple[Record, tuple[Expr, ...]]:
        """Return the record with graph inputs `name1`, `name2`, ... in place of its numbers, and these inputs."""
        symbols = tuple(graph.input(f"{name}{k + 1}") for k in range(self.count))
        made, _ = _rebuilt(self.template, lambda slot: symbols[slot.place])
        return made, symbols


class Slot(NamedTuple):
    """The place of a number in the list of parameters."""

    place: int


class Parameterised(NamedTuple, Generic[Record]):
    """A law as its structure and its numbers, with a `name` for errors."""

    structure: Structure[Record]
    numbers: list[Number]
    name: str = "the torque law"

    @property
    def rollouts(self) -> int | None:
        """The number of rollouts that its numbers are for; None for any."""
        sizes = {len(x) for x in self.numbers if isinstance(x, np.ndarray)}
        if len(sizes) > 1:
            listed = " and ".join(map(str, sorted(sizes)))
            raise InputError(f"the numbers of {self.name} are for {listed} rollouts; expected equal")
        return sizes.pop() if sizes else None

    @property
    def single(self) -> list[float | DrawnColumn]:
        """The numbers of a single rollout."""
        if self.rollouts is not None:
            raise InputError(f"{self.name}: numbers for {self.rollouts} rollouts; expected one, or use simulate_batch")
        return [x if isinstance(x, DrawnColumn) else float(x) for x in self.numbers]

    @property
    def random(self) -> list[DrawnColumn]:
        """The random numbers among them."""
        return [x for x in self.numbers if isinstance(x, DrawnColumn)]


def parameterise(law: Record, name: str = "the torque law") -> Parameterised[Record]:
    """Return a law, or another record of dataclasses and tuples, as its structure and its numbers."""
    numbers: list[Number] = []

    def take(number: Number) -> Slot:
        numbers.append(number)
        return Slot(len(numbers) - 1)

    template, key = _rebuilt(law, take)
    return Parameterised(Structure(template, key, len(numbers)), numbers, name)


def is_built_in(law: Law) -> bool:
    """Return True if a law and all its parts are laws of armwright."""
    return type(law).__module__.startswith(__name__.partition(".")[0] + ".") and all(map(is_built_in, law.made_of))


def merged_laws(laws: Sequence[Law]) -> Parameterised[Law]:
    """Return laws of one structure, one per rollout, as one law; zeros that are not common to all are parameters."""
    rows, keys = list[list[Number]](), []
    for k, law in enumerate(laws):
        numbers: list[Number] = []
        keys.append(_rebuilt(law, numbers.append, zeros=True)[1])
        if keys[k] != keys[0]:
            raise InputError(
                f"torque law {k} has another structure than the first: {law!r} and {laws[0]!r}; expected laws that "
                "differ in their numbers only, or one call for each structure (smooth = 0 is another one)"
            )
        if (many := Parameterised(Structure(law, keys[k], len(numbers)), numbers).rollouts) is not None:
            raise InputError(f"torque law {k} of the list is for {many} rollouts itself; expected one")
        rows.append(numbers)
    drawn = _common_draws(rows)
    columns = np.array([[0.0, *(1.0 if isinstance(x, DrawnColumn) else x for x in row)] for row in rows]).T
    places = iter(
        np.where(columns.any(axis=1), np.arange(float(len(columns))), 0.0)[1:].tolist()
    )  # common zeros stay zero
    merged = parameterise(_rebuilt(laws[0], lambda _: next(places), zeros=True)[0])
    parameters = [int(place) for place in merged.numbers if isinstance(place, float)]
    return merged._replace(numbers=[drawn.get(place, columns[place]) for place in parameters])


def _common_draws(rows: Sequence[Sequence[Number]]) -> dict[int, DrawnColumn]:
    """Return the random numbers that laws of one structure share, by place from 1; a rollout draws by its number."""
    drawn = {k: x for k, x in enumerate(rows[0], 1) if isinstance(x, DrawnColumn)}
    for row in rows:
        if any(row[k - 1] != x for k, x in drawn.items()):
            raise InputError("the laws of the list draw differently; expected the same draws and hold for all rollouts")
    return drawn


def _rebuilt(x: Any, take: NumberMap, zeros: bool = False) -> tuple[Any, Hashable]:
    """Return a copy with `take` applied to every number, and a key that identifies its structure.

    Zeros that belong to the structure stay, unless `zeros` is set.
    """
    if isinstance(x, (float, Slot, DrawnColumn)):
        return _rebuilt_number(x, take, zeros)
    if isinstance(x, np.ndarray):
        return _rebuilt_array(x, take, zeros)
    if isinstance(x, (tuple, list)):
        made, key = _rebuilt_tuple(tuple(x), take, zeros)
        return (made, key) if isinstance(x, tuple) else (list(made), ("list", key))
    if isinstance(x, FunctionType):
        return x, _function_key(x)
    if is_dataclass(x) and not isinstance(x, (type, Description, Draw)):
        return _rebuilt_fields(x, take, zeros)
    return x, _identity_of(x)


def _rebuilt_fields(x: Any, take: NumberMap, zeros: bool) -> tuple[Any, Hashable]:
    kind: type[Any] = type(x)
    made, keys = object.__new__(kind), [_identity_of(kind)]
    for field in fields(x):
        value = getattr(x, field.name)
        each = isinstance(value, np.ndarray) and str(field.type) in FLOAT_ANNOTATIONS  # one for each rollout
        again = zeros and field.name not in getattr(x, "forked", ())
        value, key = (take(value), "open") if each else _rebuilt(value, take, again)
        object.__setattr__(made, field.name, value)
        keys.append(key)
    return made, tuple(keys)


def _rebuilt_number(x: Any, take: NumberMap, zeros: bool) -> tuple[Any, Hashable]:
    folded = isinstance(x, float) and (not math.isfinite(x) or (x == 0 and not zeros))
    return (x, x) if folded else (take(x), "open")


def _rebuilt_tuple(x: tuple[Any, ...], take: NumberMap, zeros: bool) -> tuple[Any, Hashable]:
    if not x or not all(isinstance(entry, (float, np.ndarray, Slot, DrawnColumn)) for entry in x):
        made, keys = zip(*(_rebuilt(entry, take, zeros) for entry in x), strict=True) if x else ((), ())
        return tuple(made), tuple(keys)
    if len(x) == 1 and isinstance(x[0], float) and x[0] == 0 and not zeros:
        return x, x
    if not all(math.isfinite(entry) if isinstance(entry, float) else _finite(entry) for entry in x):
        return x, x
    return tuple(map(take, x)), ("open", len(x))


def _finite(x: Array | Slot | DrawnColumn) -> bool:
    return isinstance(x, (Slot, DrawnColumn)) or bool(np.isfinite(x).all())


def _rebuilt_array(x: Array, take: NumberMap, zeros: bool) -> tuple[Any, Hashable]:
    """Return an array with its numbers replaced; entries of the last axis that are zero everywhere stay zero."""
    if x.dtype == object:  # its numbers were replaced before
        kept = np.array([not isinstance(entry, Slot) for entry in x.ravel()]).reshape(x.shape)
    else:
        kept = np.broadcast_to(~x.any(axis=tuple(range(x.ndim - 1))) & (not zeros), x.shape)
    numbers = x[~kept] if x.dtype == object else x[~kept].astype(float).tolist()
    made = np.zeros(x.shape, object)
    made[~kept] = np.fromiter(map(take, numbers), object, len(numbers))
    numeric = zeros and all(isinstance(entry, float) for entry in made.flat)
    return made.astype(float) if numeric else made, ("array", x.shape, kept.tobytes())


class Identity:
    """An object compared by identity; the reference keeps its id from being reused."""

    def __init__(self, of: object) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.of is other.of


def _identity_of(x: Any) -> Hashable:
    """Return the key of a value that is no parameter; the numbers of a `Draw` are in its `Drawn` entries."""
    if isinstance(x, Draw):
        return Draw
    try:
        hash(x)
    except TypeError:
        return Identity(x)
    return type(x), x


def _function_key(function: FunctionType, within: tuple[FunctionType, ...] = ()) -> Hashable:
    """Return the key of a function: its code, defaults, closure and the globals that it reads."""
    if function in within:
        return within.index(function)

    def value(x: Any) -> Hashable:
        if isinstance(x, (tuple, list)):
            return type(x), *map(value, x)
        if isinstance(x, np.ndarray) and x.dtype != object:
            return x.dtype.str, x.shape, x.tobytes()
        return _function_key(x, (*within, function)) if isinstance(x, FunctionType) else _identity_of(x)

    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    found = [function.__globals__[name] for name in _global_names(function.__code__) if name in function.__globals__]
    named = (function.__kwdefaults__ or {}).items()
    return function.__code__, *map(value, (function.__defaults__, *cells, *found, *(x for pair in named for x in pair)))


def _global_names(code: CodeType) -> list[str]:
    """Return the global names that code may read, those of nested functions included."""
    return [*code.co_names, *(name for x in code.co_consts if isinstance(x, CodeType) for name in _global_names(x))]
