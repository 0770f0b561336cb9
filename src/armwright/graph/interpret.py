"""The interpreter of graphs for any scalar. It defines their meaning; every backend is tested against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from armwright.algebra import Scalar, cos, elementary, sign, sin
from armwright.graph.expression import Expr, Operand
from armwright.graph.replay import replay
from armwright.graph.simplify import ARITHMETIC

NUMPY_OPERATIONS: dict[str, Callable[..., Scalar]] = {
    **ARITHMETIC,
    "sin": sin,
    "cos": cos,
    "sign": sign,
    "sqrt": elementary("sqrt"),
    "tanh": elementary("tanh"),
    "min": np.minimum,
    "max": np.maximum,
    "select": lambda a, b, c: np.asarray(np.where(a > 0, b, c))[()],  # of scalars a scalar, not an array
}


def interpret(
    outputs: Iterable[Operand], values: Mapping[str, Scalar], number: Callable[[Any], Scalar] = float
) -> list[Any]:
    """Return the outputs from a scalar for every input and parameter by name; `number` converts constants."""

    def leaf(node: Expr) -> Scalar:
        return number(node.value) if node.op == "constant" else values[str(node.key)]

    return replay(outputs, leaf, lambda op, *args: NUMPY_OPERATIONS[op](*args))
