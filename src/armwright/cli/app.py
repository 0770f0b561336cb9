"""`armwright`: the commands."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import armwright as aw
from armwright.check.compare import TOLERANCE
from armwright.cli.bench import print_bench
from armwright.cli.check import run_check
from armwright.cli.compare import run_compare
from armwright.cli.crossing import print_crossing
from armwright.cli.identify import run_excitation, run_identification
from armwright.cli.motion import Wanted, run_integrators, run_simulation, run_torques
from armwright.cli.output import console, table, told
from armwright.cli.precision import run_precision
from armwright.cli.reproduce import reproduce_papers
from armwright.cli.robots import FILES, Chosen, NamedRobot, about_a_robot, robot_of
from armwright.errors import InputError, ModelWarning
from armwright.formulations import PROBLEMS, Formulation
from armwright.study.bench import BATCH, ROUNDS
from armwright.study.crossing import MOST_JOINTS as MOST_COUNTED
from armwright.study.operation_counts import VALID_FROM, compare, counted, formula
from armwright.study.precision import STATES
from armwright.study.published import CUSTOMISED

app = typer.Typer(
    help="The dynamics of serial robots by every published formulation, checked against each other.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

MOST_JOINTS = 60
"""Counting every formulation takes a minute at this size, and the formulas in n say the rest."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"armwright {aw.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, help="Print the version.")] = False,
) -> None:
    """The dynamics of serial robots by every published formulation, checked against each other."""


@app.command()
def robots() -> None:
    """List the packaged robots."""
    made = table("robot", "joints", "source")
    for name in aw.robots():
        arm = aw.load(name)
        made.add_row(name, arm.joint_types, escape(arm.source.strip().split("\n")[0]))
    console().print(made)


@app.command()
@about_a_robot
def show(robot: NamedRobot) -> None:
    """Print a robot as the tables a robotics book would print, and what looks wrong with it."""
    with told(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # shown below, in full
        arm = robot_of(robot)
        typer.echo(str(arm))
        found = aw.problems(arm)
        out = console()
        out.print()
        if all(problem.severity == "note" for problem in found):
            out.print("[green]No problems found.[/]")
        for problem in found:
            word = "[dim]note:[/]" if problem.severity == "note" else "[yellow]problem:[/]"
            note = " [dim](accepted by the file)[/]" if problem.accepted_by(arm) else ""
            out.print(f"{word} {escape(problem)}{note}", soft_wrap=True)


@app.command()
def formulations() -> None:
    """List every formulation: what it solves, after whom, and how its cost grows."""
    made = table("problem", "formulation", "cost", "after")
    for f in aw.formulations():
        made.add_row(f.problem, f.name, f"O({f.order})", f.paper)
    console().print(made)


@app.command()
@about_a_robot
def count(
    robot: Annotated[Chosen, f"A number of joints or types like RRPRRR, a packaged robot, or {FILES}."],
) -> None:
    """Count operations: every formulation, beside what the papers published."""
    with told():
        name = robot.name
        if name.isdecimal():
            _count_general("R" * _joints(name))
        elif set(name) <= set("RP") and name:
            _count_general(name)
        elif name.replace(".", "", 1).isdecimal():
            raise InputError(f"{name} joints cannot be; expected a whole number, types like RRPRRR, a robot or a file")
        else:
            _count_robot(robot_of(robot))


@app.command()
@about_a_robot
def bench(
    robot: NamedRobot,
    batch: Annotated[int, typer.Option(help="States in a batch.")] = BATCH,
    rounds: Annotated[int, typer.Option(help="How many times each is timed, in turns.")] = ROUNDS,
) -> None:
    """Time this robot's dynamics beside every peer that is installed."""
    with told():
        if batch < 1 or rounds < 1:
            raise InputError(f"batch = {batch}, rounds = {rounds}: expected 1 or more of each")
        print_bench(robot_of(robot), batch, rounds)


_SCENARIO = Annotated[
    Path | None, typer.Argument(help="A scenario file (docs/simulation.md); without, pick and place.")
]
_OUTPUT = Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the page; NAME.html by default.")]


_MOTION = Annotated[
    Path | None, typer.Option(help="A .csv or .parquet file to move along: t, q1.., if known qd1.., qdd1..")
]
_DATA = Annotated[Path | None, typer.Option(help="A .csv or .parquet file to write, for `armwright identify`.")]
_NOISE = Annotated[float, typer.Option(help="Noise of the torques in --data, as a part of each joint's RMS torque.")]
_SEED = Annotated[int, typer.Option(help="Which noise.")]


@app.command()
@about_a_robot
def simulate(
    robot: NamedRobot,
    scenario: _SCENARIO = None,
    output: _OUTPUT = None,
    motion: _MOTION = None,
    data: _DATA = None,
    noise: _NOISE = 0.0,
    seed: _SEED = 0,
) -> None:
    """Simulate a robot: a table of torques, speeds and power, the energy audit, and a page with curves."""
    with told():
        run_simulation(Wanted(robot, scenario, motion, output, data, noise, seed))


@app.command()
@about_a_robot
def torques(
    robot: NamedRobot,
    scenario: _SCENARIO = None,
    output: _OUTPUT = None,
    motion: _MOTION = None,
    data: _DATA = None,
    noise: _NOISE = 0.0,
    seed: _SEED = 0,
) -> None:
    """The torques and powers of a motion, by inverse dynamics along it."""
    with told():
        run_torques(Wanted(robot, scenario, motion, output, data, noise, seed))


@app.command()
@about_a_robot
def integrators(
    robot: NamedRobot,
    duration: Annotated[float, typer.Option(help="Seconds of motion.")] = 1.0,
    output: _OUTPUT = None,
) -> None:
    """Time every integrator on this robot, and name the best for each accuracy."""
    with told():
        run_integrators(robot, duration, output)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="mata2002, grigorov2013, angeles1989, mohan2007, machado1994 or all.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the pages.")] = Path(),
) -> None:
    """Run a paper's tables and figures again: published beside obtained, with a verdict for each number."""
    with told():
        if not reproduce_papers(paper, output):
            raise typer.Exit(1)


@app.command()
@about_a_robot
def excite(
    robot: NamedRobot,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .csv file to write.")] = None,
    period: Annotated[float, typer.Option(help="Seconds.")] = 10.0,
    velocity: Annotated[float, typer.Option(help="The largest speed of a joint, rad/s or m/s.")] = 2.0,
    acceleration: Annotated[float, typer.Option(help="The largest acceleration, rad/s^2 or m/s^2.")] = 8.0,
    every: Annotated[float, typer.Option(help="Seconds between rows.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Another one gives another motion.")] = 0,
) -> None:
    """Find a motion that shows every parameter the dynamics depend on, and write it as a table."""
    with told():
        run_excitation(robot, output, period, velocity, acceleration, every, seed)


@app.command()
@about_a_robot
def identify(
    robot: NamedRobot,
    data: Annotated[Path, typer.Argument(help="A .csv or .parquet file: t, q1.., tau1.., and if known qd1.., qdd1..")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the page.")] = None,
    write: Annotated[Path | None, typer.Option(help="A .toml, .urdf or .xml file for the robot found.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Hz, of the filter if derivatives are not in the data.")] = None,
) -> None:
    """Find the parameters of a robot in measured torques, with standard deviations."""
    with told():
        if not run_identification(robot, data, output, write, cutoff):
            raise typer.Exit(1)


@app.command()
@about_a_robot
def precision(
    robot: NamedRobot,
    sweep: Annotated[int | None, typer.Option(help="Sweep this joint (1, 2, ...) instead of random states.")] = None,
    states: Annotated[int, typer.Option(help="How many random states.")] = STATES,
    seed: Annotated[int, typer.Option(help="Which random states.")] = 0,
    output: _OUTPUT = None,
) -> None:
    """Compare every forward dynamics in float32 and float64 with 50 digits, and say which to trust."""
    with told():
        run_precision(robot, sweep, states, seed, output)


@app.command()
def crossing(
    joints: Annotated[int, typer.Option(help="The longest chain to count.")] = MOST_COUNTED,
    measure: Annotated[bool, typer.Option(help="Time the formulations besides counting them.")] = True,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("crossing.html"),
) -> None:
    """From how many joints on the O(n) methods win: operations counted, and times measured, against n."""
    with told():
        print_crossing(joints, measure, output)


_JSON = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.command("check")
@about_a_robot
def check_file(
    file: NamedRobot,
    accept: Annotated[list[str] | None, typer.Option(help="A KIND, or 'LINK: KIND', that is known and fine.")] = None,
    fix: Annotated[Path | None, typer.Option(help="Write a copy with what needs no guess repaired.")] = None,
    json: _JSON = False,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the proofs.")] = False,
) -> None:
    """Say what is wrong, suspicious or fine in a robot file, link by link, and prove its numbers (docs/checking.md)."""
    with told():
        if not run_check(file, accept or (), fix, json, quick):
            raise typer.Exit(1)


@app.command("compare")
@about_a_robot
def compare_files(
    here: NamedRobot,
    there: Annotated[Chosen, "Another description of the same robot."],
    tolerance: Annotated[float, typer.Option(help="Relative; radians for angles.")] = TOLERANCE,
    ignore: Annotated[list[str] | None, typer.Option(help="A kind of difference that does not count.")] = None,
    json: _JSON = False,
) -> None:
    """Say where two descriptions of one robot differ, by how much, and at which joint or link."""
    with told():
        if not run_compare(here, there, tolerance, ignore or (), json):
            raise typer.Exit(1)


def _joints(text: str) -> int:
    if len(text) > 4 or not 1 <= int(text) <= MOST_JOINTS:
        raise InputError(
            f"{text} joints: expected 1 or more, and at most {MOST_JOINTS} (the formulas in n go on from there)"
        )
    return int(text)


def _count_general(types: str) -> None:
    out = console()
    n = len(types)
    revolute = set(types) == {"R"}
    formulas = revolute and n >= VALID_FROM
    kind = f"{n} revolute joint{'s' if n > 1 else ''}" if revolute else f"joints {types}"
    heads = ["problem", "formulation", "mul", "add", "div", "trig"]
    made = table(
        *heads + (["mul for n joints", "add for n joints"] if formulas else []),
        title=f"A general robot with {kind}: every parameter known off line, gravity in any direction",
    )
    with out.status("counting"):
        for f in counted(n):
            c = aw.count_operations(f.problem, f.name, joints=types)
            numbers = (c.multiplications, c.additions, c.divisions, c.trigonometric)
            made.add_row(f.problem, f.name, *map(str, numbers), *(formula(f) if formulas else ()))
    out.print(made)
    out.print()
    if formulas:
        _print_published(n)
    else:
        out.print(f"The published formulas are for {VALID_FROM} or more revolute joints.", style="dim")


def _print_published(n: int) -> None:
    """The papers' rows beside ours; reasons stand below as numbered notes, as many rows share one."""
    out = console()
    made = table(
        "table", "published by", "problem", "formulation", "products", "sums", "ours", "", "verdict", "note",
        title=f"Published counts for n = {n} beside ours. Products include divisions, as the papers count them",
    )  # fmt: skip
    notes: list[str] = []
    for row in compare(n):
        p = row.published
        if p.why not in notes:
            notes.append(p.why)
        name = f"{p.ours}, {p.part}" if p.part else p.ours
        numbers = map(str, (*row.theirs, *row.ours))
        made.add_row(p.table, p.authors, p.problem, name, *numbers, row.verdict, str(notes.index(p.why) + 1))
    out.print(made)
    for i, note in enumerate(notes, start=1):
        out.print(f"{i:2}  {escape(note)}", style="dim", soft_wrap=True)


def _count_robot(arm: aw.Robot) -> None:
    types = arm.freed().joint_types
    name = escape(f"{arm.name} ({types})")
    made = table(
        "problem", "formulation", "mul", "add", "div", "trig", "general mul", "general add",
        title=f"{name}: all that is known of it folded away; general: any robot with these joints, each on its own",
    )  # fmt: skip
    taking = counted(len(types), bool(arm.followers))
    for problem in dict.fromkeys(f.problem for f in taking):
        for f in sorted((f for f in taking if f.problem == problem), key=lambda f: _customised(f, arm).total):
            c, general = _customised(f, arm), aw.count_operations(problem, f.name, joints=types)
            numbers = (c.multiplications, c.additions, c.divisions, c.trigonometric)
            made.add_row(problem, f.name, *map(str, numbers), str(general.multiplications), str(general.additions))
        made.add_section()
    out = console()
    out.print(made)
    out.print()
    made = table("problem", "compiled by default", "mul", "add", "div", "trig", "published for this robot", "verdict",
        title="Where no formulation is asked for: base parameters, and what is then cheapest",
    )  # fmt: skip
    notes = []
    for problem in (p.name for p in PROBLEMS.values() if len(p.candidates) > 1):
        compiled = aw.compile(arm, problem)
        c = compiled.operations
        beside = [p for p in CUSTOMISED if (p.robot, p.problem) == (arm.name, problem)]
        verdict = ["fewer" if c.multiplications + c.additions < p.size else "more" for p in beside]
        notes += [f"{p.authors}: {p}. {p.why}" for p in beside]
        numbers = (c.multiplications, c.additions, c.divisions, c.trigonometric)
        made.add_row(
            problem, compiled.formulation.name, *map(str, numbers), *("; ".join(map(str, x)) for x in (beside, verdict))
        )
    out.print(made)
    for note in notes:
        out.print(escape(note), style="dim", soft_wrap=True)


def _customised(f: Formulation, arm: aw.Robot) -> aw.OperationCount:
    return aw.count_operations(f.problem, f.name, robot=arm)
