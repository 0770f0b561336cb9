"""`armwright`: the commands, by name."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import armwright as aw
from armwright.cli.argument_checks import check_arguments, explain_bad_number
from armwright.cli.terminal import replace_unencodable
from armwright.interrupts import deferred

COMMANDS = {
    "robots": ("listing.list_robots", "List the packaged robots."),
    "show": (
        "listing.show_robot",
        "Print a robot as the tables a robotics book would print, and what looks wrong with it.",
    ),
    "formulations": (
        "listing.list_formulations",
        "List every formulation: what it solves, after whom, how its cost grows, and which take chains only.",
    ),
    "count": ("count.run_count", "Count operations: every formulation, beside what the papers published."),
    "export": (
        "export.run_export",
        "Write a robot's functions as code for another program, with a self-test where it can be run.",
    ),
    "bench": ("bench.run_bench", "Time this robot's dynamics beside every peer that is installed."),
    "simulate": (
        "motion_commands.run_simulation",
        "Simulate a robot: a table of torques, speeds and power, the audit (exit code 1 if in doubt), and a page.",
    ),
    "view": (
        "view.run_view",
        "Open a page that shows a robot or runs: sliders, a tool to drag, live torques, simulations to play.",
    ),
    "torques": (
        "motion_commands.run_torques",
        "The torques and powers of a motion, by inverse dynamics along it (exit code 1 if a limit is exceeded).",
    ),
    "size": (
        "sizing.run_sizing",
        "Find the best motor and gearbox for every joint together (exit code 1 if no set is enough).",
    ),
    "integrators": (
        "motion_commands.run_integrators",
        "Time every integrator on this robot, and name the best for each accuracy.",
    ),
    "sweep": (
        "sweep.run_sweep",
        "Run a study: many rollouts with numbers that vary, kept in a folder; run again, it does what is missing.",
    ),
    "reproduce": (
        "reproduce.run_reproduction",
        "Run a paper's tables and figures again: published beside obtained, with a verdict for each number.",
    ),
    "excite": (
        "identify.run_excitation",
        "Find a motion that shows every parameter the dynamics depend on, and write it as a table.",
    ),
    "identify": (
        "identify.run_identification",
        "Find the parameters of a robot in measured torques, with standard deviations.",
    ),
    "precision": (
        "precision.run_precision",
        "Compare every forward dynamics in float32 and float64 with 50 digits, and say which to trust.",
    ),
    "crossing": (
        "crossover.run_crossing",
        "From how many joints on the O(n) methods win: operations counted, and times measured, against n.",
    ),
    "schema": (
        "schema_command.run_schema",
        "Print the JSON Schema of a kind of TOML file, with which editors complete and check its keys.",
    ),
    "check": (
        "check.run_check",
        "Say what is wrong, suspicious or fine in a robot file, link by link, and prove its numbers "
        "(docs/checking.md).",
    ),
    "compare": (
        "compare.run_compare",
        "Say where two descriptions of one robot differ, by how much, and at which joint or link.",
    ),
}
"""Where each command is, in the order of the help, and the sentence with which its docstring begins."""


class LazyCommand(TyperCommand):
    """A command that is imported when it is called: the list of all says what they do without them."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=COMMANDS[name][1])

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """The context of the command itself, with which whoever calls goes on."""
        words = [str(word) for word in (given[1] if len(given) > 1 else extra.get("args") or [])]
        self._check(words, **extra)
        room, function = COMMANDS[str(self.name)][0].split(".")
        with deferred():
            runner = getattr(import_module(f"armwright.cli.{room}"), function)
            as_command = import_module("armwright.cli.command").as_command
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name)(as_command(runner))
        try:
            return get_command(alone).make_context(*given, **extra)
        except typer.BadParameter as error:
            explain_bad_number(error, words)
            raise

    def _check(self, words: list[str], **extra: Any) -> None:
        """Tell numbers that were torn apart before anything takes them for something else."""
        if extra.get("resilient_parsing"):
            return
        from armwright.cli.output import report_errors  # noqa: PLC0415  (the list of commands does without)

        with report_errors():
            check_arguments(str(self.name), words)


class CommandGroup(TyperGroup):
    """All of them, none imported yet."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {name: LazyCommand(name) for name in COMMANDS}})


app = typer.Typer(
    cls=CommandGroup,
    help="The dynamics of robots by every published formulation, checked against each other.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"armwright {aw.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, help="Print the version.")] = False,
) -> None:
    """The dynamics of robots by every published formulation, checked against each other."""
    replace_unencodable()
