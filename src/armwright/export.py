"""A robot's dynamics for use elsewhere: as C, as Python, or as a function of another package."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armwright.backends import c, python, symbolic
from armwright.compile import DTYPES, UNROLLED, Function
from armwright.errors import InputError, ModelError, unknown
from armwright.formulations import PROBLEMS, QUANTITIES
from armwright.graph.angles import written_out
from armwright.graph.program import Program
from armwright.model.description import Description
from armwright.trace import DERIVATIVES

TARGETS = ("c", "python", "casadi", "jax", "sympy")
FUNCTIONS = (*PROBLEMS, *QUANTITIES, *DERIVATIVES)
_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint stdio
stdlib string tgmath time wchar wctype
m all test help clean install package edit_cache rebuild_cache
"""
RESERVED = frozenset(_WORDS.split())
"""Names with a meaning in C, among its headers, or in CMake."""

_CHECKS = 3  # states stored in a self-test


def export(
    robot: Description,
    to: str,
    directory: str | Path | None = None,
    functions: Sequence[str] = ("inverse_dynamics", "forward_dynamics", "mass_matrix"),
    dtype: str = "float64",
) -> Any:
    """Write or return the given functions of a robot.

    to="c"        <name>.h, <name>.c, a self-test and a CMakeLists in `directory`; returns the paths
    to="python"   <name>.py in `directory`; returns the path in a list
    to="casadi", "jax", "sympy"   a dictionary of native functions (SymPy: symbols and matrix) by name
    """
    if not isinstance(robot, Description):
        raise InputError(f"export got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if to not in TARGETS:
        raise unknown("export target", to, TARGETS)
    if dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    if isinstance(functions, str) or not functions:
        raise InputError(f"functions = {functions!r}: expected a list of names such as ['inverse_dynamics']")
    for name in functions:
        if name not in FUNCTIONS:
            raise unknown("function", name, FUNCTIONS)
    if len(robot.links) > UNROLLED:
        raise InputError(
            f"export writes straight code, for up to {UNROLLED} joints; {robot.name} has {len(robot.links)}"
        )
    made = {name: Function(robot, name, QUANTITIES.get(name), "float64") for name in functions}
    programs = {name: f.program for name, f in made.items()}
    if to in ("c", "python"):
        cheap = {name: written_out(program) for name, program in programs.items()}
        return _written(robot, to, directory, made, cheap, dtype)
    convert = {"casadi": symbolic.casadi, "jax": symbolic.jax, "sympy": symbolic.sympy}[to]
    return {name: convert(name, program) for name, program in programs.items()}


def identifier(name: str) -> str:
    """The robot's name as a name in C and Python: ASCII letters, digits and underscores, not starting with a digit."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    taken = keyword.iskeyword(plain) or plain in sys.stdlib_module_names or plain in RESERVED
    return plain if plain and not plain[0].isdigit() and not taken else f"robot_{plain}".rstrip("_")


def _written(
    robot: Description,
    to: str,
    directory: str | Path | None,
    made: dict[str, Function],
    programs: dict[str, Program],
    dtype: str,
) -> list[Path]:
    if directory is None:
        raise InputError(f"export to {to} writes files: give a directory")
    prefix = identifier(robot.name)
    title = re.sub(r"[^\w .,()-]", " ", robot.name)  # into comments: nothing that could end one
    if to == "python":
        texts = {f"{prefix}.py": python.module(title, programs)}
    else:
        loosest, factor = (1e-10, 1e-6) if dtype == "float64" else (1e-4, 50.0)
        checks = {
            name: [(state, exact, max(loosest, factor * error)) for state, exact, error in _checks(robot, f)]
            for name, f in made.items()
        }
        texts = c.files(prefix, title, programs, checks, dtype == "float64")
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ModelError(f"cannot write to {folder}: {error}") from None
    return [folder / name for name in texts]


def _checks(robot: Description, f: Function) -> list[c.Vectors]:
    """A few states with their results, and what rounding makes of them: seen from single precision."""
    rng = np.random.default_rng(0)
    single = Function(robot, f.problem, QUANTITIES.get(f.problem), "float32")
    checks: list[c.Vectors] = []
    for _ in range(_CHECKS):
        state = [rng.uniform(-1, 1, robot.n) for _ in f.arguments]
        exact = f(*state)
        error = float(np.max(np.abs(single(*state) - exact)) / max(float(np.max(np.abs(exact))), 1e-30))
        checks.append((state, exact, error))
    return checks
