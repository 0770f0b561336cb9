"""`armwright bench`: the table of times."""

from __future__ import annotations

import platform
from typing import Annotated

import typer
from rich.markup import escape

from armwright.cli.command import NamedRobot, robot_of
from armwright.cli.output import console, table
from armwright.errors import InputError
from armwright.function import compile as compile_function
from armwright.robot import Robot
from armwright.study.bench import BATCH, ROUNDS, bench, versions


def run_bench(
    robot: NamedRobot,
    batch: Annotated[int, typer.Option(help="States in a batch.")] = BATCH,
    rounds: Annotated[int, typer.Option(help="How many times each is timed, in turns.")] = ROUNDS,
) -> None:
    """Time this robot's dynamics beside every peer that is installed."""
    if batch < 1 or rounds < 1:
        raise InputError(f"batch = {batch}, rounds = {rounds}: expected 1 or more of each")
    print_bench(robot_of(robot), batch, rounds)


def print_bench(arm: Robot, batch: int = BATCH, rounds: int = ROUNDS) -> None:
    """Time a robot beside every peer that is installed, and print the table."""
    out = console()
    with out.status(f"timing {arm.name}"):
        timed, left_out = bench(arm, batch, rounds)
    title = f"{escape(arm.name)}, {arm.n} joints, batches of {batch}, one thread and float64 where nothing else is said"
    made = table("problem", "call", "who", "ns per state", "times ours", title=title)
    before = None
    for row in timed:
        group = (row.problem, row.alone)
        if before not in (None, group):
            made.add_section()
        heads = (row.problem.replace("_", " "), "one state" if row.alone else "batch") if before != group else ("", "")
        made.add_row(*heads, row.who, f"{row.seconds * 1e9:.1f}", f"{row.ratio:.2f}")
        before = group
    out.print(made)
    for problem in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        f = compile_function(arm, problem)
        out.print(f"{problem.replace('_', ' ')}: {f.formulation.name}, {f.operations}", style="dim")
    for note in left_out:
        out.print(f"left out: {escape(note)}", style="dim", soft_wrap=True)
    out.print(f"{_processor()}, Python {platform.python_version()}, {versions()}\n", style="dim", soft_wrap=True)


def _processor() -> str:
    import llvmlite.binding  # noqa: PLC0415

    return f"{llvmlite.binding.get_host_cpu_name()}, {platform.system()}"
