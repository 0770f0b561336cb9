"""What a backend compiles: named arrays of inputs, and outputs to compute from them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from armwright.graph.expression import Expr, Operand, schedule


@dataclass(frozen=True, repr=False)  # an expression written out is longer than anybody reads
class Program:
    """`arguments` are arrays of inputs, such as q = (q1, ..., qn); `outputs` fill an array of the given shape.

    `units` are entries of arguments that make a vector of unit length in any state: argument, first and last.
    Of a program with `equations`, these are solved before what the shape has room for is the result; those of a program
    that may `advance` are rates, and the result is where they lead.
    """

    arguments: tuple[tuple[str, tuple[Expr, ...]], ...]
    outputs: tuple[Operand, ...]
    shape: tuple[int, ...]
    units: tuple[tuple[int, int, int], ...] = ()
    equations: Equations | None = None
    advance: Advance | None = None

    @property
    def results(self) -> int:
        """How many numbers one state gives."""
        return math.prod(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many scalars each argument has."""
        return tuple(len(inputs) for _, inputs in self.arguments)

    @property
    def nodes(self) -> list[Expr]:
        """Everything to compute, operands first."""
        return schedule(self.outputs)

    def places(self) -> dict[int, tuple[int, int]]:
        """Which entry of which argument each input node is."""
        return {x.index: (a, k) for a, (_, inputs) in enumerate(self.arguments) for k, x in enumerate(inputs)}

    def digest(self) -> str:
        """A name for exactly this computation."""
        places, numbers = self.places(), {}
        sha = hashlib.sha256(repr((self.sizes, self.shape)).encode())
        for number, node in enumerate(self.nodes):
            numbers[node.index] = number
            key = places.get(node.index, node.key)
            sha.update(repr((node.op, key, [numbers[a.index] for a in node.args])).encode())
        sha.update(repr([numbers[x.index] if isinstance(x, Expr) else float(x) for x in self.outputs]).encode())
        sha.update(repr(self.equations).encode())
        if self.advance is not None:
            rates = self.advance.rates
            sha.update(repr((self.advance._replace(rates=None), rates and rates.digest())).encode())
        return sha.hexdigest()


class Advance(NamedTuple):
    """Steps of the Runge-Kutta method (a, b), of a length and a number that the last argument of a program has.

    The outputs of the program are the rates of its first two arguments, positions and velocities, and its result is
    where these lead. The entries in each of the `unit_vectors` make a vector that every step leaves at unit length.

    With `rates` these are the rates, and the outputs are for something else. If `pull`, the argument before the last
    has the gradient of something by where the rates lead, the outputs are what a gradient by the rates makes of one by
    every argument before it, and the result is the gradient by those. If not, the outputs are the derivatives of the
    accelerations by positions, velocities and torques, row by row, and the result are those of where these lead.
    """

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    unit_vectors: tuple[tuple[int, int], ...] = ()
    rates: Program | None = None
    pull: bool = False

    def without(self, program: Program) -> Program:
        """The outputs of a program that advances, as one of their own."""
        return replace(program, arguments=program.arguments[:-1], shape=(len(program.outputs),), advance=None)


class Columns(NamedTuple):
    """Neighbouring columns: the first, how many, and the unknowns that are not zero on the way forward and back."""

    first: int
    width: int
    forward: tuple[int, ...]
    back: tuple[int, ...]


class Equations(NamedTuple):
    """Systems of equations that are left to solve: -(L D L^T) X = B for several matrices B of n rows and n columns.

    The outputs of a program with equations are the entries of every B, which are replaced by those of X, then of -1/D,
    then of L. Row j of L has its entries left of the diagonal in columns `rows`[j], and unknowns are eliminated in the
    order of `rows`. The columns of B go in blocks of neighbours.
    """

    n: int
    matrices: int
    rows: Mapping[int, tuple[int, ...]]
    blocks: tuple[Columns, ...]

    @property
    def inverse(self) -> int:
        """Where -1/D begins among the outputs."""
        return self.matrices * self.n * self.n

    @property
    def lower(self) -> dict[tuple[int, int], int]:
        """Where entries of L are among the outputs."""
        places = count(self.inverse + self.n)
        return {(j, k): next(places) for j, row in self.rows.items() for k in row}

    @property
    def below(self) -> dict[int, list[int]]:
        """The rows in which a column of L has entries; last unknown first, in either."""
        found: dict[int, list[int]] = {j: [] for j in reversed(list(self.rows))}
        for j in found:
            for k in self.rows[j]:
                found[k].append(j)
        return found
