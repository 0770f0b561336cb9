"""Derivatives of a graph: one pass per variable, over the nodes that depend on it.

Derivatives reuse existing nodes (the cosine of a sine, a quotient, a root) and pass the simplification rules, so zeros
are never written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from armwright.graph.expression import Expr, Operand, schedule
from armwright.graph.program import Program

DerivativeRule = Callable[[Expr, Sequence[Operand]], Operand]
"""The derivative of a node, given those of its operands."""

DERIVATIVE_RULES: dict[str, DerivativeRule] = {
    "add": lambda y, d: d[0] + d[1],
    "sub": lambda y, d: d[0] - d[1],
    "mul": lambda y, d: d[0] * y.args[1] + y.args[0] * d[1],
    "div": lambda y, d: (d[0] - y * d[1]) / y.args[1],
    "neg": lambda y, d: -d[0],
    "sin": lambda y, d: y.args[0].cos() * d[0],
    "cos": lambda y, d: -(y.args[0].sin() * d[0]),
    "sqrt": lambda y, d: d[0] / (y + y),
    "tanh": lambda y, d: (1 - y * y) * d[0],
    "abs": lambda y, d: y.args[0].sign() * d[0],
    "sign": lambda y, d: 0,
    "min": lambda y, d: (y.args[1] - y.args[0]).select(d[0], d[1]),
    "max": lambda y, d: (y.args[0] - y.args[1]).select(d[0], d[1]),
    "select": lambda y, d: y.args[0].select(d[1], d[2]),
}
"""The rules by operation. At a corner (of abs, min, max, sign, select) they take the derivative of one side."""


def derivatives(outputs: Iterable[Operand], variable: Expr) -> list[Operand]:
    """Return the derivative of each output by a variable."""
    outputs = list(outputs)
    slopes: dict[int, Operand] = {}
    for node in schedule(outputs):
        if node is variable:
            slopes[node.index] = 1
        elif any(a.index in slopes for a in node.args):
            slope = DERIVATIVE_RULES[node.op](node, [slopes.get(a.index, 0) for a in node.args])
            if not _is_zero(slope):
                slopes[node.index] = slope
    return [slopes.get(x.index, 0) if isinstance(x, Expr) else 0 for x in outputs]


GradientRule = Callable[[Expr, Expr], Sequence[Operand]]
"""The function that turns a gradient by a node into those by its operands."""

GRADIENT_RULES: dict[str, GradientRule] = {
    "add": lambda y, g: (g, g),
    "sub": lambda y, g: (g, -g),
    "mul": lambda y, g: (g * y.args[1], g * y.args[0]),
    "div": lambda y, g: (r := g / y.args[1], -(r * y)),
    "neg": lambda y, g: (-g,),
    "sin": lambda y, g: (g * y.args[0].cos(),),
    "cos": lambda y, g: (-(g * y.args[0].sin()),),
    "sqrt": lambda y, g: (g / (y + y),),
    "tanh": lambda y, g: (g * (1 - y * y),),
    "abs": lambda y, g: (g * y.args[0].sign(),),
    "sign": lambda y, g: (0,),
    "min": lambda y, g: _either(y.args[1] - y.args[0], g),
    "max": lambda y, g: _either(y.args[0] - y.args[1], g),
    "select": lambda y, g: (0, *_either(y.args[0], g)),
}


def _either(side: Expr, g: Expr) -> tuple[Operand, Operand]:
    return side.select(g, 0), side.select(0, g)


def gradient(outputs: Sequence[Operand], seeds: Sequence[Expr], variables: Sequence[Expr]) -> list[Operand]:
    """Return the derivative of the sum of seeds times outputs by each variable, by one backward pass."""
    gradients: dict[int, Operand] = {}

    def add(x: Operand, g: Operand) -> None:
        if isinstance(x, Expr) and x.value is None and not _is_zero(g):
            gradients[x.index] = gradients[x.index] + g if x.index in gradients else g

    for x, seed in zip(outputs, seeds, strict=True):
        add(x, seed)
    for node in reversed(schedule(outputs)):
        g = gradients.get(node.index, 0)
        if node.args and not _is_zero(g):
            for x, part in zip(node.args, GRADIENT_RULES[node.op](node, node.graph.lift(g)), strict=True):
                add(x, part)
    return [gradients.get(x.index, 0) for x in variables]


def pullback(program: Program) -> Program:
    """Return the program of the gradient by every argument, given the arguments and the gradient by the outputs."""
    graph = program.arguments[0][1][0].graph
    seeds = tuple(graph.input(f"seed{k}") for k in range(len(program.outputs)))
    outputs = tuple(gradient(program.outputs, seeds, [x for _, inputs in program.arguments for x in inputs]))
    return Program((*program.arguments, ("seeds", seeds)), outputs, (len(outputs),), program.units)


def _is_zero(x: Operand) -> bool:
    return x.value == 0 if isinstance(x, Expr) else x == 0
