"""The call that exports functions of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from armwright.errors import InputError
from armwright.export.folder import write_export
from armwright.export.formats import export_format
from armwright.export.request import export_request
from armwright.model.description import Description


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
    """Write or return functions of a robot, which are any problems that `armwright.compile` knows.

    By default these are inverse dynamics, forward dynamics and, except for an FMU, the mass matrix. A function of a
    frame other than the tool has the name of the frame after an @, as in "jacobian@camera". A robot with several tips
    has no tool until `with_tip` chooses one.

    to="c"        <name>.h, <name>.c, a self-test and a CMakeLists in `directory`; returns the paths
    to="cpp"      the same, and <name>.hpp with Eigen's types over it
    to="cuda"     <name>.cuh of device functions, which is C++ as well, a self-test and a CMakeLists
    to="fmu"      <name>.fmu of FMI 3.0, forward dynamics for the solver of another tool, other functions as outputs
    to="python"   <name>.py in `directory`; returns the path in a list
    to="casadi", "jax", "sympy"   a dictionary of native functions (SymPy: symbols and matrix) by name; with a
                  `directory` <name>_<to>.py, a module of functions of their arrays or symbols

    dtype         "float64", or in C and CUDA "float32".
    vary          robot parameters that become further arguments, as those of `armwright.compile`.
    wrenches      "tip_wrench" or "link_wrenches", the last arguments of functions that depend on them.
    force         replace files in `directory` that are no earlier export; links are never written through.
    """
    if not isinstance(robot, Description):
        raise InputError(f"export got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    format_ = export_format(to, dtype)
    names = format_.functions if functions is None else functions
    request = partial(export_request, robot, names, dtype, vary, wrenches)
    if directory is not None:
        return write_export(Path(directory), format_.files(request()), force, format_.comments)
    if format_.native is None:
        raise InputError(f"export to {to} writes files: give a directory")
    return format_.native(request())
