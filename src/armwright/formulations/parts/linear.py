"""Solving M x = b for a symmetric positive definite M over any scalar; no pivoting, as it would branch on values.

The mass matrix of a tree has zeros between branches, known before anything runs. Unknowns are eliminated in an order
that leaves them zero (`order`): along ancestors only. A full matrix is eliminated from the first row on.
"""

from armwright.algebra import Scalar, structural
from armwright.formulations.parts.types import Coordinates, SquareMatrix


def cholesky(M: SquareMatrix, b: Coordinates) -> list[Scalar]:
    """Return x by M = L D L^T, Cholesky's factorisation without square roots."""
    return factor(M).solve(b)


class Factors:
    """M = L D L^T in some order of the rows: each row of L by its entries left of the diagonal, and 1/D."""

    def __init__(self, rows: dict[int, dict[int, Scalar]], inverse: dict[int, Scalar]) -> None:
        self.rows, self.inverse = rows, inverse

    def solve(self, b: Coordinates) -> list[Scalar]:
        """Return x: forward through L, divide by D, back through L^T."""
        x = list(b)
        for j, row in self.rows.items():
            for k, entry in row.items():
                x[j] = x[j] - entry * x[k]
        below: dict[int, list[tuple[int, Scalar]]] = {j: [] for j in self.rows}
        for j, row in self.rows.items():
            for k, entry in row.items():
                below[k].append((j, entry))
        for j in reversed(self.rows):
            x[j] = x[j] * self.inverse[j]
            for k, entry in below[j]:
                x[j] = x[j] - entry * x[k]
        return x

    def inverted(self) -> SquareMatrix:
        """Return M^-1, column by column; of two symmetric entries, the first computed one."""
        n, entries = len(self.rows), dict[tuple[int, int], Scalar]()
        for j in self.rows:
            column = self.solve([int(i == j) for i in range(n)])
            entries |= {pair: column[i] for i in range(n) for pair in ((i, j), (j, i)) if pair not in entries}
        return [[entries[i, j] for j in range(n)] for i in range(n)]

    def times(self, B: SquareMatrix) -> SquareMatrix:
        """Return M^-1 B: column by column if L has zeros, else by a full M^-1, which skips zeros of B."""
        n = len(B)
        if sum(map(len, self.rows.values())) < n * (n - 1) // 2:
            return [list(row) for row in zip(*(self.solve(column) for column in zip(*B, strict=True)), strict=True)]
        inverse = self.inverted()
        return [[sum((inverse[i][k] * B[k][j] for k in range(n)), start=0) for j in range(n)] for i in range(n)]


def factor(M: SquareMatrix) -> Factors:
    """Factorise row by row in an order that keeps zeros; only one triangle of M is read."""
    rows: dict[int, dict[int, Scalar]] = {}
    inverse: dict[int, Scalar] = {}
    for j in order(M):
        scaled: dict[int, Scalar] = {}  # row j of L D
        row: dict[int, Scalar] = {}
        pivot = M[j][j]
        for k, inner in rows.items():
            entry = M[max(j, k)][min(j, k)]
            for i in (i for i in inner if i in scaled):
                entry = entry - scaled[i] * inner[i]
            if not structural(entry, 0):
                scaled[k], row[k] = entry, entry * inverse[k]
                pivot = pivot - row[k] * entry
        rows[j], inverse[j] = row, 1 / pivot
    return Factors(rows, inverse)


def order(M: SquareMatrix) -> list[int]:
    """Return the order of elimination: always the first row whose neighbours are all neighbours of each other.

    A tree always has one, and eliminating it couples nothing new; a full matrix keeps its order. If there is none, the
    row with the fewest neighbours is next.
    """
    n = len(M)
    pairs = {(i, j) for i in range(n) for j in range(n) if j != i and not structural(M[max(i, j)][min(i, j)], 0)}
    neighbours = [sum(1 << j for j in range(n) if (i, j) in pairs) for i in range(n)]
    remaining, elimination = list(range(n)), list[int]()
    while remaining:
        chosen = next((i for i in remaining if _is_clique(i, neighbours, remaining)), None)
        if chosen is None:
            chosen = min(remaining, key=lambda i: neighbours[i].bit_count())
        elimination.append(chosen)
        remaining.remove(chosen)
        for j in remaining:
            if neighbours[j] >> chosen & 1:
                neighbours[j] = (neighbours[j] | neighbours[chosen]) & ~(1 << chosen | 1 << j)
    return elimination


def _is_clique(i: int, neighbours: list[int], remaining: list[int]) -> bool:
    """Return True if all neighbours of a row are neighbours of each other."""
    return all(neighbours[i] & ~neighbours[j] == 1 << j for j in remaining if neighbours[i] >> j & 1)


def gauss_jordan(M: SquareMatrix, b: Coordinates) -> list[Scalar]:
    """Return x by elimination below and above each pivot (Mata 2002, section 5.1)."""
    n, rows = len(b), order(M)
    A = [[*(M[i][j] for j in rows), b[i]] for i in rows]
    for k in range(n):
        inverse = 1 / A[k][k]
        A[k] = [A[k][j] * inverse if j > k else A[k][j] for j in range(n + 1)]
        for i in range(n):
            if i != k:
                A[i] = [A[i][j] - A[i][k] * A[k][j] if j > k else A[i][j] for j in range(n + 1)]
    solution = {i: row[n] for i, row in zip(rows, A, strict=True)}
    return [solution[i] for i in range(n)]


SOLVERS = {"cholesky": cholesky, "gauss_jordan": gauss_jordan}
