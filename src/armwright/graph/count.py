"""Operation counts by one convention.

a + b and a - b are one addition; -a is free. A product with a robot constant is one multiplication. Products with 0, 1
and -1 do not exist. Anything that depends on robot parameters alone is computed off line and free. An operation used
twice counts once, and one that no output needs does not count. Sine and cosine of one angle are two trigonometric
operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from armwright.graph.expression import Operand, reachable
from armwright.graph.program import Equations
from armwright.notebook import table


@dataclass(frozen=True)
class OperationCount:
    """Numbers of operations by kind."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0
    square_roots: int = 0
    others: int = 0

    @property
    def total(self) -> int:
        """The number of all operations."""
        return sum(astuple(self))

    def __add__(self, other: OperationCount) -> OperationCount:
        return OperationCount(*(x + y for x, y in zip(astuple(self), astuple(other), strict=True)))

    def _repr_html_(self) -> str:
        names = ("multiplications", "additions", "divisions", "sin, cos", "square roots", "others")
        nonzero = [(name, number) for name, number in zip(names, astuple(self), strict=True) if number]
        return table([name for name, _ in nonzero], [[number for _, number in nonzero]])

    def __str__(self) -> str:
        named = zip(("mul", "add", "div", "trig", "sqrt", "other"), astuple(self), strict=True)
        return ", ".join(f"{number} {name}" for name, number in named if number or name in ("mul", "add"))


def solver_count(equations: Equations | None) -> OperationCount:
    """Return the operations that solve the equations of a program, without the factorisation.

    Every entry of the factor L whose row and column are unknowns of a block costs one product for each of its columns,
    forward and back, for each of the matrices on the right-hand side.
    """
    if equations is None:
        return OperationCount()
    passes = ((block.width, unknowns) for block in equations.blocks for unknowns in (block.forward, block.back))
    products = sum(
        width * sum(k in unknowns for j in unknowns for k in equations.rows[j]) for width, unknowns in passes
    )
    scaled = sum(block.width * len(block.back) for block in equations.blocks)
    return OperationCount(equations.matrices * (products + scaled), equations.matrices * products)


def count(outputs: Iterable[Operand]) -> OperationCount:
    """Return the operations that compute the outputs."""
    n = Counter(node.op for node in reachable(outputs) if not node.offline)
    return OperationCount(
        multiplications=n["mul"],
        additions=n["add"] + n["sub"],
        divisions=n["div"],
        trigonometric=n["sin"] + n["cos"],
        square_roots=n["sqrt"],
        others=sum(n[op] for op in ("sign", "tanh", "abs", "min", "max", "select")),
    )
