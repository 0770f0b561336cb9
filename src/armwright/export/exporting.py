"""The call that exports: what is wanted is checked, made, and kept."""

from __future__ import annotations

import stat
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from armwright.errors import InputError, ModelError, unknown
from armwright.export.forms import EXPORTS, Form, Wanted
from armwright.export.marks import HEAD_BYTES, carries_mark, marked
from armwright.export.names import outside
from armwright.files import Directory
from armwright.files import directory as opened
from armwright.formulations import problem_of
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.model.description import Description
from armwright.trace.evaluation_strategy import has_straight_code, too_long_message

WRENCHES = ("tip_wrench", "link_wrenches")


def export(
    robot: Description,
    to: str,
    directory: str | Path | None = None,
    functions: Sequence[str] | None = None,
    dtype: str = "float64",
    vary: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    force: bool = False,
) -> Any:
    """Write or return the given functions of a robot: any problem that `armwright.compile` knows.

    By default these are inverse dynamics, forward dynamics and, but for an FMU, the mass matrix.
    What is of a frame other than the tool has its name behind an @, as in "jacobian@camera"; a robot with
    several tips has no tool until `with_tip` chooses one.

    to="c"        <name>.h, <name>.c, a self-test and a CMakeLists in `directory`; returns the paths
    to="cpp"      the same, and <name>.hpp with Eigen's types over it
    to="cuda"     <name>.cuh of device functions, which is C++ as well, a self-test and a CMakeLists
    to="fmu"      <name>.fmu of FMI 3.0, forward dynamics for a solver elsewhere and the other functions as outputs
    to="python"   <name>.py in `directory`; returns the path in a list
    to="casadi", "jax", "sympy"   a dictionary of native functions (SymPy: symbols and matrix) by name; with a
                  `directory` <name>_<to>.py, a module of functions of their arrays or symbols

    dtype         "float64", or in C and CUDA "float32"
    vary          robot parameters that stay open and are further arguments, as those of `armwright.compile`
    wrenches      "tip_wrench" or "link_wrenches", further arguments after all others of what depends on them
    force         replace files in `directory` that are no earlier export; links are never written through
    """
    if not isinstance(robot, Description):
        raise InputError(f"export got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    form = form_of(to, dtype)
    asked = partial(wanted, robot, form.functions if functions is None else functions, dtype, vary, wrenches)
    if directory is not None:
        return kept(Path(directory), form.files(asked()), force)
    if form.native is None:
        raise InputError(f"export to {to} writes files: give a directory")
    return form.native(asked())


def form_of(to: str, dtype: str) -> Form:
    """The form of that name, if it has such numbers."""
    if not isinstance(to, str) or to not in EXPORTS:
        raise unknown("export target", to, EXPORTS)
    if dtype not in EXPORTS[to].dtypes:
        raise unknown(f"dtype of {to} code:", dtype, EXPORTS[to].dtypes)
    return EXPORTS[to]


def wanted(
    robot: Description, functions: Sequence[str], dtype: str, vary: Sequence[str], wrenches: Sequence[str]
) -> Wanted:
    """The programs of what is asked for, or what is wrong with it."""
    for what, names, example in (("vary", vary, "payload.mass"), ("wrenches", wrenches, "tip_wrench")):
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise InputError(f"{what} = {names!r}: expected a list of names, such as [{example!r}]")
    made = _functions(robot, functions, vary)
    if len(set(wrenches)) < len(wrenches):
        raise InputError(f"wrenches = {wrenches!r}: expected each once")
    for name in wrenches:
        if name not in WRENCHES:
            raise unknown("wrench", name, WRENCHES)
    felt = {name: tuple(wrenches) if problem_of(f.problem).wrenches else () for name, f in made.items()}
    if wrenches and not any(felt.values()):
        raise InputError(f"none of {', '.join(made)} depends on wrenches; leave {' and '.join(wrenches)} out")
    programs = {name: f.program_under(felt[name]) for name, f in made.items()}
    return Wanted(robot, programs, dtype, made, tuple(vary), felt)


def _functions(robot: Description, functions: Sequence[str], vary: Sequence[str]) -> dict[str, Function]:
    if isinstance(functions, str) or not isinstance(functions, Collection) or not functions:
        raise InputError(f"functions = {functions!r}: expected a list of names such as ['inverse_dynamics']")
    made: dict[str, Function] = {}
    for name in functions:
        problem, _, frame = str(name).partition("@")
        if not has_straight_code(robot, problem_of(problem)):
            raise InputError(too_long_message(robot, f"export writes straight code, {name}", problem_of(problem)))
        if frame and not (problem_of(problem).of_frame or problem_of(problem).wrenches):
            raise InputError(f"{name}: {problem} is of no frame; leave @{frame} out")
        if problem_of(problem).of_frame and not frame and robot.tip is None:
            raise InputError(
                f"{problem} is of the tool, and {robot.name} has several tips; expected the name of a frame behind an "
                f"@, such as '{problem}@{robot.frame_names[0]}', or a robot with a tip chosen (with_tip)"
            )
        if outside(name) in made:
            raise InputError(f"functions = {functions!r}: two of them would be called {outside(name)}; leave one out")
        made[outside(name)] = compile_function(robot, problem, vary=vary, frame=frame or None)
    return made


def kept(folder: Path, contents: Mapping[str, str | bytes], force: bool = False) -> list[Path]:
    """Write files into a folder that is made where there is none, over none that is not an earlier export."""
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder} is a file; expected a folder to write into, which is made where there is none")
    made = {name: marked(name, content) for name, content in contents.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with opened(folder) as here:
            links = [name for name in made if stat.S_ISLNK(here.mode(name) or 0)]
            foreign = links or [name for name, data in made.items() if not (force or _replaceable(here, name, data))]
            if foreign:
                raise ModelError(_refusal(folder, foreign, bool(links)))
            for name, data in made.items():
                here.write(name, data)
    except OSError as error:
        raise ModelError(f"cannot write to {folder}: {error}") from None
    return [folder / name for name in made]


def _replaceable(here: Directory, name: str, data: bytes) -> bool:
    """Whether there is no such file, or it is an export, or already what it would become."""
    mode = here.mode(name)
    if mode is None:
        return True
    if not stat.S_ISREG(mode):
        return False
    with here.reading(name, sys.maxsize) as file:
        head = file.read(max(HEAD_BYTES, len(data) + 1))
    return head == data or carries_mark(name, head[:HEAD_BYTES])


def _refusal(folder: Path, names: list[str], links: bool) -> str:
    several, listed = len(names) > 1, ", ".join(names)
    if links:
        what = "are links" if several else "is a link"
        return f"cannot write to {folder}: {listed} {what}; expected files, so remove them or name another folder"
    what = "files that armwright did not export" if several else "a file that armwright did not export"
    return (
        f"cannot write to {folder}: it has {listed}, {what}; nothing was written, so name another folder, or "
        "replace them with --force (force=True)"
    )
