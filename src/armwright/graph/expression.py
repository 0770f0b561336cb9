"""The tracing scalar. Arithmetic on an `Expr` adds nodes to its `Graph` instead of computing numbers.

Nodes are hash-consed: an expression built twice is one node, so common subexpressions are found during tracing. Every
new node first passes the rules of `simplify`.

`offline` marks nodes that depend on robot parameters and constants only. They are computed once per robot, not once per
state, so they are free in a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Real
from typing import Any, NoReturn, TypeAlias

import numpy as np

from armwright.graph.simplify import simplify

Operand: TypeAlias = "Expr | float"

LEAVES = ("constant", "parameter", "input")

OPERATION_OF_UFUNC = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "negative": "neg",
    "absolute": "abs",
    "fabs": "abs",
    "minimum": "min",
    "maximum": "max",
    **{name: name for name in ("sqrt", "sin", "cos", "sign", "tanh")},
}
"""The operation of each supported NumPy function."""


def _unary(op: str) -> Callable[[Expr], Expr]:
    """Return the method that makes a node of one operand."""

    def method(self: Expr) -> Expr:
        return self.graph.operation(op, self)

    return method


def _binary(op: str) -> tuple[Callable[[Expr, Operand], Expr], Callable[[Expr, Operand], Expr]]:
    """Return the methods that make a node of two operands, as the left and as the right operand."""

    def left(self: Expr, other: Operand) -> Expr:
        if not isinstance(other, (Expr, Real)):
            return NotImplemented  # type: ignore[no-any-return]
        return self.graph.operation(op, self, self.graph.lift(other))

    def right(self: Expr, other: Operand) -> Expr:
        if not isinstance(other, (Expr, Real)):
            return NotImplemented  # type: ignore[no-any-return]
        return self.graph.operation(op, self.graph.lift(other), self)

    return left, right


class Expr:
    """One node. `key` is a name or a number for a leaf; `args` are the operands of an operation."""

    __slots__ = ("args", "graph", "index", "key", "offline", "op")

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...], key: str | float | None, index: int) -> None:
        self.graph, self.op, self.args, self.key, self.index = graph, op, args, key, index
        self.offline: bool = op in ("constant", "parameter") or (bool(args) and all(a.offline for a in args))

    def __repr__(self) -> str:
        if self.op in LEAVES:
            return str(self.key)
        return f"{self.op}({', '.join(map(repr, self.args))})"

    @property
    def value(self) -> float | None:
        """The number of a constant, None for anything else."""
        return self.key if self.op == "constant" and isinstance(self.key, float) else None

    def __bool__(self) -> NoReturn:
        raise TypeError("a traced expression has no truth value: traced code must not branch on a scalar")

    def __eq__(self, other: object) -> bool:
        """Return True for the same node; raise a TypeError for a number."""
        if isinstance(other, Expr):
            return self is other
        if isinstance(other, Real):
            raise TypeError("a traced expression is not equal or unequal to a number before it has a value")
        return NotImplemented

    __hash__ = object.__hash__

    def __gt__(self, other: Operand) -> Comparison:
        return Comparison(self - other)

    def __lt__(self, other: Operand) -> Comparison:
        return Comparison(-(self - other))

    __ge__, __le__ = __gt__, __lt__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a NumPy function entry by entry, as to arrays of objects."""
        if method != "__call__":
            return NotImplemented
        op, graph = OPERATION_OF_UFUNC.get(ufunc.__name__), self.graph
        if op is None:
            return ufunc(*(np.asarray(x, dtype=object) for x in inputs), **options)

        def apply(*entries: Operand) -> Expr:
            return graph.operation(op, *map(graph.lift, entries))

        if not options and all(isinstance(x, (Expr, Real)) for x in inputs):
            return apply(*inputs)
        entrywise = np.frompyfunc(apply, ufunc.nin, 1)
        return entrywise(*(np.asarray(x, dtype=object) for x in inputs), **options)

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div")
    minimum = _binary("min")[0]
    maximum = _binary("max")[0]
    __neg__ = _unary("neg")
    __abs__ = _unary("abs")
    sqrt = _unary("sqrt")
    sin = _unary("sin")
    cos = _unary("cos")
    sign = _unary("sign")
    tanh = _unary("tanh")

    def __pow__(self, exponent: float) -> Expr:
        """Return an integer power, by products."""
        if not isinstance(exponent, Real) or exponent != int(exponent):
            raise TypeError(f"a traced expression to the power {exponent!r}: only whole numbers can be exponents")
        result, factor = self.graph.constant(1.0), self
        for bit in reversed(f"{abs(int(exponent)):b}"):
            result = result * factor if bit == "1" else result
            factor = factor * factor
        return 1 / result if exponent < 0 else result

    def select(self, positive: Operand, otherwise: Operand) -> Expr:
        """Return `positive` where this expression is above zero, else `otherwise`."""
        return self.graph.operation("select", self, self.graph.lift(positive), self.graph.lift(otherwise))


class Comparison:
    """A traced condition: true for states in which `margin` is above zero.

    Combine conditions with & | ~. Code cannot branch on a condition; use `select`.
    """

    __slots__ = ("margin",)

    def __init__(self, margin: Expr) -> None:
        self.margin = margin

    def __bool__(self) -> NoReturn:
        raise TypeError("a traced comparison has no truth value: traced code must not branch on a scalar")

    def __and__(self, other: Comparison) -> Comparison:
        return Comparison(self.margin.minimum(other.margin)) if isinstance(other, Comparison) else NotImplemented

    def __or__(self, other: Comparison) -> Comparison:
        return Comparison(self.margin.maximum(other.margin)) if isinstance(other, Comparison) else NotImplemented

    def __invert__(self) -> Comparison:
        return Comparison(-self.margin)


class Graph:
    """A table of unique nodes."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, ...], Expr] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def input(self, name: str) -> Expr:
        """Return an input, which changes with every state."""
        return self.leaf("input", name)

    def parameter(self, name: str) -> Expr:
        """Return a parameter of the robot, known before any state."""
        return self.leaf("parameter", name)

    def constant(self, value: float) -> Expr:
        return self.leaf("constant", float(value))

    def lift(self, x: Operand) -> Expr:
        if not isinstance(x, Expr):
            return self.constant(x)
        if x.graph is not self:
            raise ValueError("two expressions of different graphs cannot be combined; trace them with one Graph")
        return x

    def leaf(self, op: str, key: str | float) -> Expr:
        # 0.0 and -0.0 are equal keys of a dictionary, so a constant zero may lose its sign
        return self._intern(op, (), key)

    def operation(self, op: str, *args: Expr) -> Expr:
        """Return the simplified node of op(args)."""
        simpler = simplify(self, op, args)
        return simpler if simpler is not None else self.node(op, *args)

    def node(self, op: str, *args: Expr) -> Expr:
        """Return the node of op(args) without simplification."""
        return self._intern(op, args, None)

    def _intern(self, op: str, args: tuple[Expr, ...], key: str | float | None) -> Expr:
        identity = (op, key, *(a.index for a in args))
        node = self._nodes.get(identity)
        if node is None:
            node = self._nodes[identity] = Expr(self, op, args, key, len(self._nodes))
        return node


def schedule(outputs: Iterable[Operand]) -> list[Expr]:
    """Return every node that the outputs depend on, operands first."""
    return sorted(reachable(outputs), key=lambda node: node.index)


def reachable(outputs: Iterable[Operand]) -> Iterator[Expr]:
    """Yield every node that the outputs depend on, once; numbers among the outputs are skipped."""
    seen: set[int] = set()
    stack = [x for x in outputs if isinstance(x, Expr)]
    while stack:
        node = stack.pop()
        if node.index not in seen:
            seen.add(node.index)
            yield node
            stack.extend(node.args)
