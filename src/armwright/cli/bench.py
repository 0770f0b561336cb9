"""`armwright bench`: the table of times."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Annotated

import typer

from armwright.cli.command import JSON_OPTION, NamedRobot, robot_of
from armwright.cli.output import console, escape, show_json, show_progress, show_rows
from armwright.errors import InputError
from armwright.function import compile as compile_function
from armwright.robot import Robot
from armwright.study.bench import BATCH, TIMING_ROUNDS, bench, versions


def run_bench(
    robot: NamedRobot,
    batch: Annotated[int, typer.Option(help="States in a batch.")] = BATCH,
    rounds: Annotated[int, typer.Option(help="Timing rounds; the packages take turns.")] = TIMING_ROUNDS,
    json: JSON_OPTION = False,
) -> None:
    """Time the dynamics of a robot, compared with every other package that is installed.

    Example: armwright bench puma560
    """
    if batch < 1 or rounds < 1:
        raise InputError(f"batch = {batch}, rounds = {rounds}: expected 1 or more of each")
    print_bench(robot_of(robot), batch, rounds, json)


def print_bench(arm: Robot, batch: int = BATCH, rounds: int = TIMING_ROUNDS, json: bool = False) -> None:
    """Time a robot with armwright and every installed peer, and print the table."""
    from armwright.backends.llvm.target import target  # noqa: PLC0415

    with show_progress(f"timing {arm.name}"):
        timed, left_out = bench(arm, batch, rounds)
    if json:
        rows = [asdict(row) for row in timed]
        show_json({"robot": arm.name, "batch": batch, "times": rows, "left_out": left_out, "with": versions()})
        return
    table = [("problem", "package", "ns per state", "relative")]
    for row in timed:
        group = f"{row.problem.replace('_', ' ')}, {'one state' if row.alone else 'a batch'}"
        table.append((group, row.who, f"{row.seconds * 1e9:.1f}", f"{row.ratio:.2f}"))
    title = f"{escape(arm.name)}, {arm.n} joints, batches of {batch}, one thread and float64 by default"
    show_rows(table, title, grouped=True)
    out = console()
    out.print()
    for problem in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        f = compile_function(arm, problem)
        out.print(f"{problem.replace('_', ' ')}: {f.formulation.name}, {f.operations}", style="dim")
    for note in left_out:
        out.print(f"left out: {escape(note)}", style="dim", soft_wrap=True)
    system = f"{target()}, {platform.system()}, Python {platform.python_version()}"
    out.print(f"{system}, {versions()}\n", style="dim", soft_wrap=True)
