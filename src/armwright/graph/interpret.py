"""The slow interpreter: what a graph means, for any scalar. Every backend is tested against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from armwright.algebra import Scalar, cos, elementary, sign, sin
from armwright.graph.expression import Expr, Operand, schedule

MEANING: dict[str, Callable[..., Scalar]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "abs": abs,
    "sin": sin,
    "cos": cos,
    "sign": sign,
    "sqrt": elementary("sqrt"),
    "tanh": elementary("tanh"),
    "min": np.minimum,
    "max": np.maximum,
    "select": lambda a, b, c: np.where(a > 0, b, c),
}


def interpret(outputs: Iterable[Operand], values: Mapping[str, Scalar]) -> list[Any]:
    """The outputs, given a scalar for every input and parameter by name."""
    outputs = list(outputs)
    known: dict[int, Scalar] = {}
    for node in schedule(outputs):
        if node.op == "constant":
            known[node.index] = node.value
        elif node.op in ("input", "parameter"):
            known[node.index] = values[str(node.key)]
        else:
            known[node.index] = MEANING[node.op](*(known[a.index] for a in node.args))
    return [known[x.index] if isinstance(x, Expr) else x for x in outputs]
