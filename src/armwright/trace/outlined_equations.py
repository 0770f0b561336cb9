"""Linear systems with one matrix and many right-hand sides, to be solved in a loop.

In straight code the 54 systems of a quadruped take two thirds of the derivatives of its forward dynamics, and the 114
of a humanoid nearly all of them. That exceeds instruction caches and compiles slowly. So the traced program ends with
the factors of the matrix and the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from armwright.algebra import structural
from armwright.formulations.parts.types import SquareMatrix
from armwright.formulations.parts.unsolved import UnsolvedDerivatives
from armwright.graph.expression import Operand
from armwright.graph.program import ColumnBlock, Equations

MAX_BLOCK_WIDTH = 3
"""Neighbouring columns solved together in each of three matrices: nine systems, one register each."""


def outlined_equations(system: UnsolvedDerivatives) -> tuple[tuple[Operand, ...], Equations, tuple[int, ...]]:
    """Return [dqdd/dq, dqdd/dqd, M^-1] as outputs of a program, its equations, and the shape."""
    factors, n = system.factors, len(system.by_q)
    sides = system.by_q, system.by_qd, [[-int(i == j) for j in range(n)] for i in range(n)]
    outputs = (
        *(entry for matrix in sides for row in matrix for entry in row),
        *(-factors.inverse[j] for j in range(n)),
        *(entry for row in factors.rows.values() for entry in row.values()),
    )
    rows = {j: tuple(row) for j, row in factors.rows.items()}
    return outputs, Equations(n, len(sides), rows, tuple(_blocks(sides, rows))), (len(sides), n, n)


def _blocks(sides: tuple[SquareMatrix, ...], rows: dict[int, tuple[int, ...]]) -> Iterator[ColumnBlock]:
    """Yield blocks of neighbouring columns with zeros in the same places."""
    n = len(rows)
    supports = [frozenset(i for m in sides for i, row in enumerate(m) if not structural(row[j], 0)) for j in range(n)]
    for support, run in groupby(range(n), key=lambda j: supports[j]):
        columns, forward = list(run), set(support)
        for j, row in rows.items():
            if forward.intersection(row):
                forward.add(j)
        back = set(forward)
        for j in reversed(rows):
            if j in back:
                back.update(rows[j])
        unknowns = [tuple(j for j in rows if j in found) for found in (forward, back)]
        parts = -(-len(columns) // MAX_BLOCK_WIDTH)
        for k in range(parts):
            begin, end = (len(columns) * i // parts for i in (k, k + 1))
            yield ColumnBlock(columns[begin], end - begin, *unknowns)
