"""`armwright`: the commands, by name."""

from __future__ import annotations

from typing import Annotated

import typer

import armwright as aw
from armwright.cli.bench import run_bench
from armwright.cli.check import run_check
from armwright.cli.command import Runner, as_command
from armwright.cli.compare import run_compare
from armwright.cli.count import run_count
from armwright.cli.crossing import run_crossing
from armwright.cli.identify import run_excitation, run_identification
from armwright.cli.listing import list_formulations, list_robots, show_robot
from armwright.cli.motion import run_integrators, run_simulation, run_torques
from armwright.cli.precision import run_precision
from armwright.cli.reproduce import run_reproduction
from armwright.cli.sizing import run_sizing
from armwright.cli.sweep import run_sweep
from armwright.cli.terminal import print_anywhere

app = typer.Typer(
    help="The dynamics of robots by every published formulation, checked against each other.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, Runner] = {
    "robots": list_robots,
    "show": show_robot,
    "formulations": list_formulations,
    "count": run_count,
    "bench": run_bench,
    "simulate": run_simulation,
    "torques": run_torques,
    "size": run_sizing,
    "integrators": run_integrators,
    "sweep": run_sweep,
    "reproduce": run_reproduction,
    "excite": run_excitation,
    "identify": run_identification,
    "precision": run_precision,
    "crossing": run_crossing,
    "check": run_check,
    "compare": run_compare,
}
"""In the order of the help, which says of each what the docstring of its function says."""

for _name, _runner in COMMANDS.items():
    app.command(_name)(as_command(_runner))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"armwright {aw.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, help="Print the version.")] = False,
) -> None:
    """The dynamics of robots by every published formulation, checked against each other."""
    print_anywhere()
