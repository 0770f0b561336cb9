"""The forms in which functions leave the house.

`EXPORTS` is the one list that tests, documents and the command line run over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from armwright.backends import replay
from armwright.backends.text import c, cpp, cuda, python
from armwright.export.checks import checks
from armwright.export.fmu import FORWARD, unit
from armwright.export.names import arguments, identifier, shown
from armwright.export.notes import digest, notes
from armwright.function import Function
from armwright.graph.angles import written_out
from armwright.graph.program import Program
from armwright.model.description import Description


@dataclass(frozen=True)
class Wanted:
    """What is to be exported: programs by their names outside, and the functions of the robot that they are.

    `vary` and `wrenches` are further arguments of them: parameters of the robot, and "tip_wrench" or "link_wrenches".
    """

    robot: Description
    programs: Mapping[str, Program]
    dtype: str = "float64"
    functions: Mapping[str, Function] = field(default_factory=dict)
    vary: tuple[str, ...] = ()
    wrenches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        return identifier(self.robot.name)

    @property
    def title(self) -> str:
        return shown(self.robot.name)

    @property
    def named(self) -> dict[str, Program]:
        """The programs with names of arguments that any language can have."""
        return {name: _renamed(program) for name, program in self.programs.items()}

    @property
    def written(self) -> dict[str, Program]:
        """The same with sines of sums written out, where that is cheaper."""
        return {name: written_out(program) for name, program in self.named.items()}


def _renamed(program: Program) -> Program:
    plain = arguments(name for name, _ in program.arguments)
    return replace(program, arguments=tuple((plain[name], inputs) for name, inputs in program.arguments))


@dataclass(frozen=True)
class Form:
    """A form in which functions leave the house: as files, by their names, and some as native functions too.

    `package` is what must be installed, `dtypes` the kinds of numbers it can be asked for, `functions` what is exported
    where nothing is asked for.
    """

    files: Callable[[Wanted], Mapping[str, str | bytes]]
    native: Callable[[Wanted], Mapping[str, Any]] | None = None
    package: str = ""
    dtypes: tuple[str, ...] = ("float64",)
    about: str = ""
    functions: tuple[str, ...] = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def _about(wanted: Wanted) -> c.About:
    robot, loads = wanted.robot, dict.fromkeys(load for own in wanted.wrenches.values() for load in own)
    said = notes(robot, wanted.vary, tuple(loads))
    return c.About(wanted.prefix, wanted.title, version(), digest(robot), robot.joints, robot.nq, said)


def _checks(wanted: Wanted) -> dict[str, list[c.Vectors]]:
    loosest, factor = (1e-10, 1e-6) if wanted.dtype == "float64" else (1e-4, 50.0)
    return {
        name: [(state, exact, max(loosest, factor * error)) for state, exact, error in checks(f, wanted.wrenches[name])]
        for name, f in wanted.functions.items()
    }


def _c(wanted: Wanted) -> dict[str, str]:
    return c.files(_about(wanted), wanted.written, _checks(wanted), wanted.dtype == "float64")


def _cuda(wanted: Wanted) -> dict[str, str]:
    return cuda.files(_about(wanted), wanted.written, _checks(wanted), wanted.dtype == "float64")


def _cpp(wanted: Wanted) -> dict[str, str]:
    made, prefix, double = _c(wanted), wanted.prefix, wanted.dtype == "float64"
    view = cpp.header(prefix, wanted.title, version(), wanted.written, double)
    return {f"{prefix}.hpp": view, **made, "CMakeLists.txt": made["CMakeLists.txt"] + cpp.cmake(prefix)}


def _fmu(wanted: Wanted) -> dict[str, bytes]:
    tool = f"armwright {version()}"
    return {f"{wanted.prefix}.fmu": unit(wanted.robot, tool, wanted.written, _about(wanted), wanted.vary)}


def version() -> str:
    """Of the package that this is a part of, and which is loaded where this runs."""
    return str(sys.modules["armwright"].__version__)


def _python(wanted: Wanted) -> dict[str, str]:
    return {f"{wanted.prefix}.py": python.module(wanted.title, wanted.written)}


def _native(package: str, convert: Callable[[str, Program], Any], about: str) -> Form:
    """Functions of another package, or a module that computes with it."""

    def functions(wanted: Wanted) -> dict[str, Any]:
        return {name: convert(name, program) for name, program in wanted.named.items()}

    def module(wanted: Wanted) -> dict[str, str]:
        return {f"{wanted.prefix}_{package}.py": python.module(wanted.title, wanted.named, package)}

    return Form(module, functions, package, about=about)


EXPORTS = {
    "c": Form(_c, dtypes=("float64", "float32"), about="header, source, self-test and a CMakeLists"),
    "cpp": Form(_cpp, dtypes=("float64", "float32"), about="the same, and a header with Eigen's types"),
    "cuda": Form(_cuda, dtypes=("float64", "float32"), about="a header of device functions, and a self-test"),
    "fmu": Form(
        _fmu, package="fmpy", about="a unit of FMI 3.0, model exchange", functions=(FORWARD, "inverse_dynamics")
    ),
    "python": Form(_python, about="a module that needs nothing but math"),
    "casadi": _native("casadi", replay.casadi, "functions of SX, MX and DM"),
    "jax": _native("jax", replay.jax, "functions of jax.numpy arrays"),
    "sympy": _native("sympy", replay.sympy, "functions of symbols"),
}
"""Every form by its name."""
