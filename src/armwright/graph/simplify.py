"""Named rules that simplify a node when it is built.

A rule takes the operands of one operation and returns the replacement, or None if it does not apply; the first rule
that applies wins. Signs move outward until an addition or subtraction absorbs them, so negations are free. Factors
known before run time are combined off line. No rule changes a value by more than rounding.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from armwright.graph.expression import Expr, Graph

Simplification: TypeAlias = "Callable[..., Expr | None]"

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
}
"""The operations that all scalars support."""

_FOLD: dict[str, Callable[..., float]] = {
    **ARITHMETIC,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "sign": lambda a: float((a > 0) - (a < 0)),
    "tanh": math.tanh,
    "min": min,
    "max": max,
    "select": lambda a, b, c: b if a > 0 else c,
}


def fold(g: Graph, op: str, args: tuple[Expr, ...]) -> Expr | None:
    """Evaluate an operation on numbers; division by zero and roots of negatives are left for run time."""
    values = [a.value for a in args]
    if any(v is None for v in values):
        return None
    try:
        return g.constant(_FOLD[op](*values))
    except (ZeroDivisionError, ValueError):
        return None


def add_zero(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """x + 0 = x."""
    return y if x.value == 0 else x if y.value == 0 else None


def add_negated(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """-x + -y = -(x + y);  x + -y = x - y."""
    if x.op == "neg" and y.op == "neg":
        return -(x.args[0] + y.args[0])
    if y.op == "neg":
        return x - y.args[0]
    if x.op == "neg":
        return y - x.args[0]
    return None


def sub_zero(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """x - 0 = x;  0 - y = -y."""
    return -y if x.value == 0 else x if y.value == 0 else None


def sub_same(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """x - x = 0."""
    return g.constant(0) if x is y else None


def sub_negated(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """-x - -y = y - x;  x - -y = x + y;  -x - y = -(x + y)."""
    if x.op == "neg" and y.op == "neg":
        return y.args[0] - x.args[0]
    if y.op == "neg":
        return x + y.args[0]
    if x.op == "neg":
        return -(x.args[0] + y)
    return None


def sub_ordered(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """x - y and y - x share one node."""
    return -g.node("sub", y, x) if x.index > y.index else None


def mul_zero(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """0 x = 0."""
    return g.constant(0) if x.value == 0 or y.value == 0 else None


def mul_one(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """1 x = x;  -1 x = -x."""
    for factor, other in ((x, y), (y, x)):
        if factor.value == 1:
            return other
        if factor.value == -1:
            return -other
    return None


def negated(op: str) -> Simplification:
    """(-x) y = x (-y) = -(x y), and the same for a quotient."""

    def rule(g: Graph, x: Expr, y: Expr) -> Expr | None:
        if x.op == "neg":
            return -g.operation(op, x.args[0], y)
        return -g.operation(op, x, y.args[0]) if y.op == "neg" else None

    return rule


def mul_reciprocal(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """x (1/x) = 1."""
    for factor, other in ((x, y), (y, x)):
        if other.op == "div" and other.args[0].value == 1 and other.args[1] is factor:
            return g.constant(1)
    return None


def mul_negative_constant(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """(-c) x = -(c x), so that c x is computed once for both signs."""
    for factor, other in ((x, y), (y, x)):
        if factor.value is not None and factor.value < 0:
            return -(g.constant(-factor.value) * other)
    return None


def gathered(op: str) -> Simplification:
    """c (p x) = (c p) x, and the same for a sum, for off-line c and p."""

    def rule(g: Graph, x: Expr, y: Expr) -> Expr | None:
        for known, other in ((x, y), (y, x)):
            if known.offline and not other.offline and other.op == op and other.args[0].offline:
                return g.operation(op, g.operation(op, known, other.args[0]), other.args[1])
        return None

    return rule


def factored(op: str) -> Simplification:
    """c x + p x = (c + p) x, and the same for a difference, for off-line c and p."""

    def rule(g: Graph, x: Expr, y: Expr) -> Expr | None:
        if x.op == y.op == "mul" and x.args[1] is y.args[1] and x.args[0].offline and y.args[0].offline:
            return g.operation(op, x.args[0], y.args[0]) * x.args[1]
        return None

    return rule


def _sine_products(term: Expr) -> list[tuple[Expr | None, Expr, Expr]]:
    """Return every factorisation of a product as k u v with u and v a sine or cosine; k is None for 1."""
    if term.op != "mul":
        return []
    products: list[tuple[Expr | None, Expr, Expr]] = []
    for u, rest in (term.args, term.args[::-1]):
        if u.op not in ("sin", "cos"):
            continue
        if rest.op in ("sin", "cos"):
            products.append((None, u, rest))
        elif rest.op == "mul":
            products += [(k, u, v) for k, v in (rest.args, rest.args[::-1]) if v.op in ("sin", "cos")]
    return products


def angles(op: str) -> Simplification:
    """k sin a cos b + k cos a sin b = k sin(a + b), and the other addition theorems: parallel angles add up."""

    def rule(g: Graph, x: Expr, y: Expr) -> Expr | None:
        for k, u, v in _sine_products(x):
            for m, w, z in _sine_products(y):
                if k is not m:
                    continue
                a, b = u.args[0], v.args[0]
                if a is b or w.args[0] is not a or z.args[0] is not b or w.op == u.op or z.op == v.op:
                    continue
                merged = _merged_sine(op, u.op, v.op, a, b)
                if merged is not None:
                    return merged if k is None else k * merged
        return None

    return rule


def _merged_sine(op: str, of_a: str, of_b: str, a: Expr, b: Expr) -> Expr | None:
    """Return u(a) v(b) +- u'(a) v'(b), where sine and cosine are exchanged in the second product."""
    if of_a == of_b == "cos":
        return (a - b).cos() if op == "add" else (a + b).cos()
    if of_a == of_b:  # - (cos a cos b - sin a sin b)
        return (a - b).cos() if op == "add" else -(a + b).cos()
    if op == "add":
        return (a + b).sin()
    return (a - b).sin() if of_a == "sin" else (b - a).sin()


def div_zero(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """0 / x = 0, but not 0 / 0."""
    return g.constant(0) if x.value == 0 and y.value != 0 else None


def div_offline(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """x / p = x (1/p): the reciprocal of a parameter is off line."""
    return x * (1 / y) if y.offline and not x.offline and y.value != 0 else None


def commuted(op: str) -> Simplification:
    """Sort the operands, off-line ones first, so that a+b and b+a are one node."""

    def rule(g: Graph, x: Expr, y: Expr) -> Expr | None:
        first, second = sorted((x, y), key=lambda e: (not e.offline, e.index))
        return None if first is x else g.node(op, first, second)

    return rule


def neg_neg(g: Graph, x: Expr) -> Expr | None:
    """-(-x) = x."""
    return x.args[0] if x.op == "neg" else None


def odd(op: str) -> Simplification:
    """f(-x) = -f(x)."""
    return lambda g, x: -g.operation(op, x.args[0]) if x.op == "neg" else None


def cos_even(g: Graph, x: Expr) -> Expr | None:
    """cos(-x) = cos(x)."""
    return x.args[0].cos() if x.op == "neg" else None


def abs_even(g: Graph, x: Expr) -> Expr | None:
    """|-x| = ||x|| = |x|."""
    return x if x.op == "abs" else abs(x.args[0]) if x.op == "neg" else None


def same_twice(g: Graph, x: Expr, y: Expr) -> Expr | None:
    """min(x, x) = max(x, x) = x."""
    return x if x is y else None


def select_decided(g: Graph, x: Expr, positive: Expr, otherwise: Expr) -> Expr | None:
    """select(c, x, x) = x, and the chosen operand where the condition is a number."""
    if positive is otherwise:
        return positive
    return None if x.value is None else positive if x.value > 0 else otherwise


SIMPLIFICATIONS: dict[str, list[Simplification]] = {
    "add": [add_zero, add_negated, gathered("add"), factored("add"), angles("add"), commuted("add")],
    "sub": [sub_zero, sub_same, sub_negated, factored("sub"), angles("sub"), sub_ordered],
    "mul": [mul_zero, mul_one, negated("mul"), mul_reciprocal, mul_negative_constant, gathered("mul"), commuted("mul")],
    "div": [div_zero, negated("div"), div_offline],
    "min": [same_twice, commuted("min")],
    "max": [same_twice, commuted("max")],
    "neg": [neg_neg],
    "sin": [odd("sin")],
    "cos": [cos_even],
    "sign": [odd("sign")],
    "tanh": [odd("tanh")],
    "abs": [abs_even],
    "sqrt": [],
    "select": [select_decided],
}
"""The rules of each operation, in the order in which they are tried."""


def simplify(g: Graph, op: str, args: tuple[Expr, ...]) -> Expr | None:
    """Return the replacement of op(args) by the first rule that applies, or None."""
    folded = fold(g, op, args)
    if folded is not None:
        return folded
    return next((r for rule in SIMPLIFICATIONS[op] if (r := rule(g, *args)) is not None), None)
