"""`armwright export`: a robot's functions as files for another program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from armwright.cli.command import JSON_OPTION, NamedRobot, robot_of
from armwright.cli.output import OPERATION_HEADS, operation_numbers, report_page, show_json, show_progress, show_rows
from armwright.errors import InputError
from armwright.export import EXPORTS, identifier
from armwright.export.folder import write_export
from armwright.export.formats import export_format
from armwright.export.notes import digest
from armwright.export.request import export_request
from armwright.graph.count import count
from armwright.graph.program import Program

Names: TypeAlias = list[str] | None


def _names_option(text: str) -> Any:
    return typer.Option(metavar="NAMES", help=text)


def run_export(
    robot: NamedRobot,
    to: Annotated[str, typer.Option(help=f"{', '.join(EXPORTS)}.")] = "c",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder; by default named ROBOT.")] = None,
    functions: Annotated[Names, _names_option("Problems of armwright formulations; jacobian@camera: a frame.")] = None,
    vary: Annotated[Names, _names_option("Runtime parameters, such as payload.mass,gravity.")] = None,
    wrenches: Annotated[Names, _names_option("tip_wrench and link_wrenches, as arguments.")] = None,
    single: Annotated[bool, typer.Option("--float", help="Single precision.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are not of an earlier export.")] = False,
    json: JSON_OPTION = False,
) -> None:
    """Export functions of a robot as code for another program, with a self-test where one can run.

    Example: armwright export panda -o robot
    """
    dtype = "float32" if single else "float64"
    format_, arm = export_format(to, dtype), robot_of(robot)
    folder = output or Path(identifier(arm.name))
    if output is None and folder.is_symlink():
        raise InputError(f"{folder} is a link; expected a folder; name one with -o")
    with show_progress(f"writing {arm.name}"):
        names = format_.functions if functions is None else _split(functions)
        request = export_request(arm, names, dtype, _split(vary), _split(wrenches))
        paths = write_export(folder, format_.files(request), force, format_.comments)
    if json:
        written = {name: _as_data(program) for name, program in request.written.items()}
        show_json({"robot": arm.name, "digest": digest(arm), "to": to, "files": paths, "functions": written})
        return
    rows = (_row(*entry) for entry in request.written.items())
    show_rows([("function", "arguments", "result", *OPERATION_HEADS), *rows])
    report_page(folder, f"{', '.join(path.name for path in paths)}: {format_.about}")


def _split(entries: Sequence[str] | None) -> list[str]:
    """Return names that are separated by commas, in one option or in several."""
    return [name for entry in entries or () for name in entry.split(",") if name]


def _as_data(program: Program) -> dict[str, object]:
    """Return the size of each argument, the shape of the result and the operation count."""
    arguments = {argument: len(inputs) for argument, inputs in program.arguments}
    operations = dict(zip(OPERATION_HEADS, operation_numbers(count(program.outputs)), strict=True))
    return {"arguments": arguments, "shape": program.shape, "operations": operations}


def _row(name: str, program: Program) -> list[str]:
    arguments = " ".join(f"{argument}[{len(inputs)}]" for argument, inputs in program.arguments)
    shape = " x ".join(map(str, program.shape)) or "1"
    return [name, arguments, shape, *map(str, operation_numbers(count(program.outputs)))]
