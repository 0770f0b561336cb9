"""Programs replayed into other packages: CasADi, JAX and SymPy get native functions and expressions of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from armwright.errors import ArmwrightError
from armwright.graph.expression import Expr
from armwright.graph.program import Program
from armwright.graph.replay import replay

Operations = Mapping[str, Callable[..., Any]]

ARITHMETIC: Operations = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
}


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ArmwrightError(f"exporting to {name} needs it installed: pip install {name}") from None


def _outputs(program: Program, arrays: list[Any], operations: Operations) -> list[Any]:
    places = program.places()

    def leaf(node: Expr) -> Any:
        if node.op == "constant":
            return node.value
        a, k = places[node.index]
        return arrays[a][k]

    return replay(program.outputs, leaf, lambda op, *args: operations[op](*args))


def casadi(name: str, program: Program) -> Any:
    """A casadi.Function of column vectors; its output has the program's shape."""
    ca = _package("casadi")
    arrays = [ca.SX.sym(argument, len(inputs)) for argument, inputs in program.arguments]
    operations = {
        **ARITHMETIC,
        **{op: getattr(ca, op) for op in ("sin", "cos", "sqrt", "tanh", "sign")},
        "abs": ca.fabs,
        "min": ca.fmin,
        "max": ca.fmax,
        "select": lambda x, y, z: ca.if_else(x > 0, y, z),
    }
    values = ca.vertcat(*_outputs(program, arrays, operations))
    if len(program.shape) == 2:
        values = ca.reshape(values, program.shape[1], program.shape[0]).T
    return ca.Function(name, arrays, [values], [argument for argument, _ in program.arguments], ["out"])


def jax(name: str, program: Program) -> Any:
    """A function of arrays (n,) that JAX can compile, batch (vmap) and differentiate."""
    jnp = _package("jax.numpy")
    operations = {
        **ARITHMETIC,
        **{op: getattr(jnp, op) for op in ("sin", "cos", "sqrt", "tanh", "sign", "abs")},
        "min": jnp.minimum,
        "max": jnp.maximum,
        "select": lambda x, y, z: jnp.where(x > 0, y, z),
    }

    def function(*arrays: Any) -> Any:
        values = _outputs(program, [jnp.asarray(array) for array in arrays], operations)
        return jnp.stack([jnp.asarray(value, dtype=jnp.result_type(float)) for value in values]).reshape(program.shape)

    function.__name__ = name
    return function


def sympy(name: str, program: Program) -> Any:
    """(symbols of each argument, Matrix or expression): plain SymPy."""
    sp = _package("sympy")
    arrays = [sp.symbols(f"{argument}1:{len(inputs) + 1}", real=True) for argument, inputs in program.arguments]
    operations = {
        **ARITHMETIC,
        **{op: getattr(sp, op) for op in ("sin", "cos", "sqrt", "tanh", "sign")},
        "abs": sp.Abs,
        "min": sp.Min,
        "max": sp.Max,
        "select": lambda x, y, z: sp.Piecewise((y, x > 0), (z, True)),
    }
    values = _outputs(program, arrays, operations)
    rows, columns = (*program.shape, 1, 1)[:2]
    return arrays, sp.Matrix(rows, columns, values)
