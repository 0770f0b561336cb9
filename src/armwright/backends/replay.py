"""Programs as native functions and expressions of CasADi, JAX and SymPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from armwright.errors import ArmwrightError
from armwright.graph.expression import Expr
from armwright.graph.program import Program
from armwright.graph.replay import replay
from armwright.graph.simplify import ARITHMETIC

PackageOperations = Mapping[str, Callable[..., Any]]


def _operations(package: Any, select: Callable[..., Any], **names: str) -> PackageOperations:
    """Return the functions of a package by our names; `names` are those that differ."""
    functions = ("sin", "cos", "sqrt", "tanh", "sign", "abs", "min", "max")
    return {**ARITHMETIC, **{op: getattr(package, names.get(op, op)) for op in functions}, "select": select}


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ArmwrightError(f"exporting to {package} needs it installed: pip install {package}") from None


def _outputs(program: Program, arrays: list[Any], operations: PackageOperations) -> list[Any]:
    places = program.places()

    def leaf(node: Expr) -> Any:
        if node.op == "constant":
            return node.value
        a, k = places[node.index]
        return arrays[a][k]

    return replay(program.outputs, leaf, lambda op, *args: operations[op](*args))


def _parts(program: Program, arrays: list[Any], operations: PackageOperations) -> list[tuple[list[Any], int, int]]:
    """Return the outputs as one matrix or several: entries, rows, columns."""
    *_, rows, columns = (1, *program.shape) if len(program.shape) > 1 else (*(program.shape or (1,)), 1)
    values = _outputs(program, arrays, operations)
    size = rows * columns
    return [(values[i : i + size], rows, columns) for i in range(0, len(values), size)]


def casadi(name: str, program: Program) -> Any:
    """Return a casadi.Function of column vectors; derivatives have three matrices as outputs."""
    ca = _import("casadi")
    arrays = [ca.SX.sym(argument, len(inputs)) for argument, inputs in program.arguments]
    operations = _operations(ca, lambda x, y, z: ca.if_else(x > 0, y, z), abs="fabs", min="fmin", max="fmax")
    parts = [
        ca.reshape(ca.vertcat(*values), columns, rows).T
        for values, rows, columns in _parts(program, arrays, operations)
    ]
    outputs = ["out"] if len(parts) == 1 else [f"out{i}" for i in range(len(parts))]
    return ca.Function(name, arrays, parts, [argument for argument, _ in program.arguments], outputs)


def jax(name: str, program: Program) -> Any:
    """Return a function of arrays (n,) that JAX can compile, batch (vmap) and differentiate."""
    jnp = _import("jax.numpy")
    operations = _operations(jnp, lambda x, y, z: jnp.where(x > 0, y, z), min="minimum", max="maximum")

    def function(*arrays: Any) -> Any:
        values = _outputs(program, [jnp.asarray(array) for array in arrays], operations)
        return jnp.stack([jnp.asarray(value, dtype=jnp.result_type(float)) for value in values]).reshape(program.shape)

    function.__name__ = name
    return function


def sympy(name: str, program: Program) -> Any:
    """Return the symbols of each argument and a Matrix, or three matrices for derivatives."""
    sp = _import("sympy")
    arrays = [sp.symbols(f"{argument}1:{len(inputs) + 1}", real=True) for argument, inputs in program.arguments]
    operations = _operations(sp, lambda x, y, z: sp.Piecewise((y, x > 0), (z, True)), abs="Abs", min="Min", max="Max")
    parts = [sp.Matrix(rows, columns, values) for values, rows, columns in _parts(program, arrays, operations)]
    return arrays, parts[0] if len(parts) == 1 else parts
