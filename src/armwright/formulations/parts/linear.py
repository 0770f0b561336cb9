"""Solving M x = b for a symmetric positive definite M over any scalar; no pivoting, as it would branch on values."""

from armwright.algebra import Scalar
from armwright.formulations.parts.types import Coordinates, SquareMatrix


def cholesky(M: SquareMatrix, b: Coordinates) -> list[Scalar]:
    """By M = L D L^T, Cholesky's factorisation without square roots."""
    L, inverse = factor(M)
    return substitute(L, inverse, b)


def factor(M: SquareMatrix) -> tuple[SquareMatrix, list[Scalar]]:
    """L (its unit diagonal left out) and 1/D; only the lower triangle of M is read."""
    n = len(M)
    L: SquareMatrix = [[0] * n for _ in range(n)]
    inverse: list[Scalar] = [0] * n
    for j in range(n):
        scaled = [M[j][k] for k in range(j)]  # row j of L D
        pivot = M[j][j]
        for k in range(j):
            for i in range(k):
                scaled[k] = scaled[k] - scaled[i] * L[k][i]
            L[j][k] = scaled[k] * inverse[k]
            pivot = pivot - L[j][k] * scaled[k]
        inverse[j] = 1 / pivot
    return L, inverse


def substitute(L: SquareMatrix, inverse: list[Scalar], b: Coordinates) -> list[Scalar]:
    """Forward through L, divide by D, back through L^T."""
    n, x = len(b), list(b)
    for j in range(n):
        for k in range(j):
            x[j] = x[j] - L[j][k] * x[k]
    for j in reversed(range(n)):
        x[j] = x[j] * inverse[j]
        for k in range(j + 1, n):
            x[j] = x[j] - L[k][j] * x[k]
    return x


def gauss_jordan(M: SquareMatrix, b: Coordinates) -> list[Scalar]:
    """By elimination below and above each pivot (Mata 2002, section 5.1)."""
    n = len(b)
    A = [[*row, right] for row, right in zip(M, b, strict=True)]
    for k in range(n):
        inverse = 1 / A[k][k]
        A[k] = [A[k][j] * inverse if j > k else A[k][j] for j in range(n + 1)]
        for i in range(n):
            if i != k:
                A[i] = [A[i][j] - A[i][k] * A[k][j] if j > k else A[i][j] for j in range(n + 1)]
    return [row[n] for row in A]


SOLVERS = {"cholesky": cholesky, "gauss_jordan": gauss_jordan}
