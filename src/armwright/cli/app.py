"""`armwright`: the commands, by name."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module, resources
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import armwright as aw
from armwright.cli.argument_checks import check_arguments, explain_bad_number
from armwright.cli.terminal import replace_unencodable
from armwright.interrupts import deferred

COMMANDS = {
    "robots": "listing.list_robots",
    "show": "listing.show_robot",
    "formulations": "listing.list_formulations",
    "count": "count.run_count",
    "export": "export.run_export",
    "bench": "bench.run_bench",
    "simulate": "motion_commands.run_simulation",
    "view": "view.run_view",
    "torques": "motion_commands.run_torques",
    "size": "sizing.run_sizing",
    "integrators": "motion_commands.run_integrators",
    "sweep": "sweep.run_sweep",
    "reproduce": "reproduce.run_reproduction",
    "excite": "identify.run_excitation",
    "identify": "identify.run_identification",
    "precision": "precision.run_precision",
    "crossing": "crossover.run_crossing",
    "schema": "schema_command.run_schema",
    "check": "check.run_check",
    "compare": "compare.run_compare",
}
"""The function of every command, in the order of the help; its docstring is the help of the command."""


@cache
def docstring_of(command: str) -> str:
    """Return the docstring of a command, read from its source: importing the command would load a compiler."""
    module, function = COMMANDS[command].split(".")
    source = resources.files("armwright.cli").joinpath(f"{module}.py").read_text(encoding="utf-8")
    defined = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    return ast.get_docstring(defined[function]) or ""


def summary_of(command: str) -> str:
    """Return the first paragraph of a command's docstring, which the list of commands shows."""
    return " ".join(docstring_of(command).split("\n\n")[0].split())


def examples_of(command: str) -> list[str]:
    """Return the command lines that a command's docstring gives as examples."""
    return re.findall(r"^Example: (armwright .+)$", docstring_of(command), re.MULTILINE)


class LazyCommand(TyperCommand):
    """A command whose module is imported when it runs; the list of commands reads only its docstring."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Import the command and return its context."""
        typed = [str(word) for word in (arguments[1] if len(arguments) > 1 else options.get("args") or [])]
        self._check(typed, **options)
        module, function = COMMANDS[str(self.name)].split(".")
        with deferred():
            runner = getattr(import_module(f"armwright.cli.{module}"), function)
            as_command = import_module("armwright.cli.command").as_command
        application = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        application.command(self.name)(as_command(runner))
        try:
            return get_command(application).make_context(*arguments, **options)
        except typer.BadParameter as error:
            explain_bad_number(error, typed)
            raise

    def _check(self, typed: list[str], **options: Any) -> None:
        """Raise an error for a list of numbers with spaces, before typer reads the numbers as other arguments."""
        if options.get("resilient_parsing"):
            return
        from armwright.cli.output import report_errors  # noqa: PLC0415  (not needed to list the commands)

        with report_errors():
            check_arguments(str(self.name), typed)


class CommandGroup(TyperGroup):
    """All commands, none of them imported yet."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {name: LazyCommand(name) for name in COMMANDS}})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, and set their summaries, which only the list shows."""
        for name, command in self.commands.items():
            command.help = summary_of(name)
        return super().list_commands(ctx)


app = typer.Typer(
    cls=CommandGroup,
    help="The dynamics of robots by every published formulation, checked against each other.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"armwright {aw.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, help="Print the version.")] = False,
) -> None:
    """The dynamics of robots by every published formulation, checked against each other."""
    replace_unencodable()
