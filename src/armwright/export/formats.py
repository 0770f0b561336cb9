"""The formats of exports.

`EXPORTS` is the registry for tests, documents and the command line. A format imports its writer on first use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError, unknown
from armwright.export.request import ExportRequest
from armwright.formulations import problem_of
from armwright.graph.program import Program
from armwright.registry import Registry

if TYPE_CHECKING:
    from armwright.backends.text import c

EXPORT_DTYPES = ("float64", "float32")
FMU_FUNCTIONS = ("forward_dynamics", "inverse_dynamics")


@dataclass(frozen=True)
class ExportFormat:
    """A format of exports: functions as files by name, and in some formats as native functions of a package too.

    files       returns the files of an `ExportRequest` by name: texts, or bytes
    native      returns native functions by name; None if the format has files only
    package     the Python package that it needs, "" for none
    dtypes      the dtypes it can write
    about       what it writes, in a few words
    functions   the functions that are exported by default
    comments    the pattern of a comment by the ending of a file, as {".m": "% {}"}. Every text begins with a comment by
                which the next export recognises it; without a pattern it begins with #. Bytes have none: they are
                replaced only if they are equal, or by force.
    """

    files: Callable[[ExportRequest], Mapping[str, str | bytes]]
    native: Callable[[ExportRequest], Mapping[str, Any]] | None = None
    package: str = ""
    dtypes: tuple[str, ...] = ("float64",)
    about: str = ""
    functions: tuple[str, ...] = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    comments: Mapping[str, str] = field(default_factory=dict)


def accept(name: str, entry: Any) -> ExportFormat:
    """Return an entry of `EXPORTS`; raise an InputError for an entry that cannot work."""
    if not isinstance(entry, ExportFormat):
        raise InputError(f"the export {name!r} is a {type(entry).__name__}; expected an armwright.export.ExportFormat")
    if not callable(entry.files):
        raise InputError(f"files of the export {name!r} is {entry.files!r}; expected a function of an ExportRequest")
    if entry.native is not None and not callable(entry.native):
        raise InputError(f"native of the export {name!r} is {entry.native!r}; expected a function or None")
    if not entry.dtypes or not set(entry.dtypes) <= set(EXPORT_DTYPES):
        raise InputError(f"dtypes of the export {name!r} are {entry.dtypes!r}; expected some of {EXPORT_DTYPES}")
    if not entry.functions or isinstance(entry.functions, str):
        raise InputError(f"functions of the export {name!r} are {entry.functions!r}; expected names of functions")
    for function in entry.functions:
        problem_of(function.partition("@")[0])
    for ending, pattern in entry.comments.items():
        if not ending.startswith(".") or pattern.count("{}") != 1:
            raise InputError(
                f"comments of the export {name!r} have {ending!r}: {pattern!r}; expected an ending and a pattern with "
                "{} for the text, such as '.m': '% {}'"
            )
    return entry


def export_format(to: str, dtype: str) -> ExportFormat:
    """Return the format of a name; raise an InputError for an unknown name, or a dtype it cannot write."""
    if not isinstance(to, str) or to not in EXPORTS:
        raise unknown("export target", to, EXPORTS)
    if dtype not in EXPORTS[to].dtypes:
        raise unknown(f"dtype of {to} code:", dtype, EXPORTS[to].dtypes)
    return EXPORTS[to]


def version() -> str:
    """Return the version of the armwright that is loaded."""
    return str(sys.modules["armwright"].__version__)


def _header_notes(request: ExportRequest) -> c.HeaderNotes:
    from armwright.backends.text.c import HeaderNotes  # noqa: PLC0415
    from armwright.export.notes import digest, notes  # noqa: PLC0415

    robot, loads = request.robot, dict.fromkeys(load for names in request.wrenches.values() for load in names)
    lines = notes(robot, request.vary, tuple(loads))
    return HeaderNotes(request.prefix, request.title, version(), digest(robot), robot.joints, robot.nq, lines)


def _test_states(request: ExportRequest) -> dict[str, list[c.TestState]]:
    from armwright.export.selftest import evaluate_states  # noqa: PLC0415

    floor, factor = (1e-10, 1e-6) if request.double else (1e-4, 50.0)
    return {
        name: [
            (state, exact, max(floor, factor * error))
            for state, exact, error in evaluate_states(f, request.wrenches[name])
        ]
        for name, f in request.functions.items()
    }


def _c_files(request: ExportRequest) -> dict[str, str]:
    from armwright.backends.text import c  # noqa: PLC0415

    return c.files(_header_notes(request), request.written, _test_states(request), request.double)


def _cuda_files(request: ExportRequest) -> dict[str, str]:
    from armwright.backends.text import cuda  # noqa: PLC0415

    return cuda.files(_header_notes(request), request.written, _test_states(request), request.double)


def _cpp_files(request: ExportRequest) -> dict[str, str]:
    from armwright.backends.text import cpp  # noqa: PLC0415

    files, prefix = _c_files(request), request.prefix
    header = cpp.header(prefix, request.title, version(), request.written, request.double)
    return {f"{prefix}.hpp": header, **files, "CMakeLists.txt": files["CMakeLists.txt"] + cpp.cmake(prefix)}


def _fmu_files(request: ExportRequest) -> dict[str, bytes]:
    from armwright.export.fmu import unit  # noqa: PLC0415

    tool = f"armwright {version()}"
    return {f"{request.prefix}.fmu": unit(request.robot, tool, request.written, _header_notes(request), request.vary)}


def _python_files(request: ExportRequest) -> dict[str, str]:
    from armwright.backends.text import python  # noqa: PLC0415

    return {f"{request.prefix}.py": python.module(request.title, request.written)}


def _package_format(package: str, about: str) -> ExportFormat:
    """Return the format of functions of a package, or of a module that computes with it."""

    def native(request: ExportRequest) -> dict[str, Any]:
        convert: Callable[[str, Program], Any] = getattr(import_module("armwright.backends.replay"), package)
        return {name: convert(name, program) for name, program in request.named.items()}

    def files(request: ExportRequest) -> dict[str, str]:
        from armwright.backends.text import python  # noqa: PLC0415

        return {f"{request.prefix}_{package}.py": python.module(request.title, request.named, package)}

    return ExportFormat(files, native, package, about=about)


EXPORTS = Registry(
    "export",
    {
        "c": ExportFormat(_c_files, dtypes=EXPORT_DTYPES, about="header, source, self-test and a CMakeLists"),
        "cpp": ExportFormat(_cpp_files, dtypes=EXPORT_DTYPES, about="the same, and a header with Eigen's types"),
        "cuda": ExportFormat(_cuda_files, dtypes=EXPORT_DTYPES, about="a header of device functions, and a self-test"),
        "fmu": ExportFormat(
            _fmu_files, package="fmpy", about="a unit of FMI 3.0, model exchange", functions=FMU_FUNCTIONS
        ),
        "python": ExportFormat(_python_files, about="a module that needs only the standard library"),
        "casadi": _package_format("casadi", "functions of SX, MX and DM"),
        "jax": _package_format("jax", "functions of jax.numpy arrays"),
        "sympy": _package_format("sympy", "functions of symbols"),
    },
    accept,
)
"""Every format by its name. A package adds formats by `EXPORTS.register`, or entry points of "armwright.exports"."""
