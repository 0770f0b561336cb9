"""Programs, the input of all backends: named arrays of inputs, and the outputs computed from them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from armwright.graph.expression import Expr, Operand, schedule


@dataclass(frozen=True, repr=False)  # the text of an expression graph is unreadably long
class Program:
    """Named `arguments`, such as q = (q1, ..., qn), and `outputs` that fill an array of the given shape.

    `units` are slices of arguments that are unit vectors: argument, first and last entry. With `equations`, the outputs
    are the matrices of linear systems, and the results are the solutions. With an `integration`, the outputs are rates
    or derivatives at one stage, and the results are those at the end of the steps.
    """

    arguments: tuple[tuple[str, tuple[Expr, ...]], ...]
    outputs: tuple[Operand, ...]
    shape: tuple[int, ...]
    units: tuple[tuple[int, int, int], ...] = ()
    equations: Equations | None = None
    integration: Integration | None = None

    @property
    def results(self) -> int:
        """The number of results of one state."""
        return math.prod(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of entries of each argument."""
        return tuple(len(inputs) for _, inputs in self.arguments)

    @property
    def nodes(self) -> list[Expr]:
        """All nodes to compute, operands first."""
        return schedule(self.outputs)

    def places(self) -> dict[int, tuple[int, int]]:
        """Return the argument and the entry of each input node, by its index."""
        return {x.index: (a, k) for a, (_, inputs) in enumerate(self.arguments) for k, x in enumerate(inputs)}

    def digest(self) -> str:
        """Return a digest of the computation."""
        places, numbers = self.places(), {}
        sha = hashlib.sha256(repr((self.sizes, self.shape)).encode())
        for number, node in enumerate(self.nodes):
            numbers[node.index] = number
            key = places.get(node.index, node.key)
            sha.update(repr((node.op, key, [numbers[a.index] for a in node.args])).encode())
        sha.update(repr([numbers[x.index] if isinstance(x, Expr) else float(x) for x in self.outputs]).encode())
        sha.update(repr(self.equations).encode())
        if self.integration is not None:
            sha.update(self.integration.digest().encode())
        return sha.hexdigest()


@dataclass(frozen=True)
class Integration:
    """Steps of the Runge-Kutta method (a, b) around a program. Its last argument is (length, number) of the steps.

    The rates are the derivatives of the first two arguments, positions and velocities. Each slice of `unit_vectors`
    is normalised after every step.
    """

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    unit_vectors: tuple[tuple[int, int], ...]

    def stage_program(self, program: Program) -> Program:
        """Return the program of one stage: the outputs as results, without the last argument."""
        return replace(program, arguments=program.arguments[:-1], shape=(len(program.outputs),), integration=None)

    def rates_of(self, program: Program) -> Program:
        """Return the program of the rates."""
        return self.stage_program(program)

    def constants(self, program: Program) -> range:
        """Return the indices of the arguments that stay constant during the steps."""
        return range(2, len(program.arguments) - 1)

    def digest(self) -> str:
        """Return a digest of the integration."""
        return f"{type(self).__name__}|{self.a}|{self.b}|{self.unit_vectors}"


class FinalState(Integration):
    """The state after the steps; the outputs of the program are the rates."""


@dataclass(frozen=True)
class _WithRates(Integration):
    """An integration whose program does not compute the rates."""

    rates: Program

    def rates_of(self, program: Program) -> Program:
        return self.rates

    def digest(self) -> str:
        return f"{super().digest()}|{self.rates.digest()}"


class FinalStateJacobian(_WithRates):
    """The derivatives of the final state by positions, velocities and torques.

    The outputs of the program are the derivatives of the accelerations, row by row.
    """


class FinalStateGradient(_WithRates):
    """The gradient by every argument; the argument before the last is the gradient by the final state.

    The outputs of the program are the gradient by the earlier arguments, given the gradient by the rates.
    """

    def constants(self, program: Program) -> range:
        return range(2, len(program.arguments) - 2)


class ColumnBlock(NamedTuple):
    """Neighbouring columns: the first, their number, and the unknowns with non-zero entries forward and backward."""

    first: int
    width: int
    forward: tuple[int, ...]
    back: tuple[int, ...]


class Equations(NamedTuple):
    """Linear systems solved in a loop: -(L D L^T) X = B for several n by n matrices B.

    The outputs of a program with equations are the entries of every B, which X replaces, then -1/D, then L. Row j of L
    has entries left of the diagonal in columns `rows`[j]. Unknowns are eliminated in the order of `rows`. The columns
    of B are solved in blocks of neighbours.
    """

    n: int
    matrices: int
    rows: Mapping[int, tuple[int, ...]]
    blocks: tuple[ColumnBlock, ...]

    @property
    def inverse(self) -> int:
        """The index of -1/D among the outputs."""
        return self.matrices * self.n * self.n

    @property
    def lower(self) -> dict[tuple[int, int], int]:
        """The indices of the entries of L among the outputs, by row and column."""
        places = count(self.inverse + self.n)
        return {(j, k): next(places) for j, row in self.rows.items() for k in row}

    @property
    def below(self) -> dict[int, list[int]]:
        """The rows with entries in each column of L; columns and rows start with the last unknown."""
        rows_below: dict[int, list[int]] = {j: [] for j in reversed(list(self.rows))}
        for j in rows_below:
            for k in self.rows[j]:
                rows_below[k].append(j)
        return rows_below
