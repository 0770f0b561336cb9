"""`armwright robots`, `armwright show` and `armwright formulations`: what there is."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any

import typer

import armwright as aw
from armwright.cli.command import AS_JSON, NamedRobot, robot_of
from armwright.cli.output import console, escape, show_json, show_rows
from armwright.errors import ModelWarning, PublishedWarning
from armwright.rules import Problem


def list_robots(json: AS_JSON = False) -> None:
    """List the packaged robots."""
    arms = {name: aw.load(name) for name in aw.robots()}
    rows = [(name, arm.joint_types, arm.source.strip().split("\n")[0]) for name, arm in arms.items()]
    if json:
        show_json([dict(zip(("robot", "joints", "source"), row, strict=True)) for row in rows])
    else:
        show_rows([("robot", "joints", "source"), *rows])


def show_robot(robot: NamedRobot, json: AS_JSON = False) -> None:
    """Print a robot as the tables a robotics book would print, and what looks wrong with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # shown below, in full
        warnings.simplefilter("ignore", PublishedWarning)
        arm = robot_of(robot)
        found = aw.problems(arm)
    if json:
        show_json(_as_data(arm, found))
        return
    typer.echo(str(arm))
    out = console()
    out.print()
    if all(problem.severity == "note" for problem in found):
        out.print(f"[green]No problems found{'; notes:' if found else '.'}[/]")
    for problem in found:
        word = "[dim]note:[/]" if problem.severity == "note" else "[yellow]problem:[/]"
        note = " [dim](accepted by the file)[/]" if problem.accepted_by(arm) else ""
        out.print(f"{word} {escape(problem)}{note}", soft_wrap=True)


def _as_data(arm: aw.Robot, found: list[Problem]) -> dict[str, Any]:
    """The robot by its fields, but for what it looks like, and its problems."""
    data = {key: value for key, value in asdict(arm).items() if "visuals" not in key}
    for link in data["links"]:
        del link["visuals"]
    for joint in data["followers"]:
        if joint["mimic"]["loop"]:
            joint["mimic"] = {"loop": joint["mimic"]["loop"]}
    told = [{"severity": p.severity, "kind": p.kind, "text": str(p), "accepted": p.accepted_by(arm)} for p in found]
    return {**data, "problems": told}


def list_formulations(json: AS_JSON = False) -> None:
    """List every formulation: what it solves, after whom, how its cost grows, and which take chains only."""
    heads = ("problem", "formulation", "cost", "after")
    rows = [(f.problem, f.name, f"O({f.order}){', chains only' * f.serial}", f.paper) for f in aw.formulations()]
    if json:
        show_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        show_rows([heads, *rows], grouped=True)
