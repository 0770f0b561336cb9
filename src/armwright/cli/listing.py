"""`armwright robots`, `armwright show` and `armwright formulations`: what there is."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer

import armwright as aw
from armwright.cli.command import JSON_OPTION, NamedRobot, robot_of
from armwright.cli.output import console, escape, show_json, show_rows
from armwright.errors import ModelWarning, PublishedWarning
from armwright.model.records import Frame
from armwright.model.transforms import IDENTITY_TRANSFORM
from armwright.names import shown, tidy
from armwright.rules import Problem
from armwright.trajectory.cartesian import rotation_vector


def list_robots(json: JSON_OPTION = False) -> None:
    """List the packaged robots.

    Example: armwright robots
    """
    arms, odd = {}, []
    for name in aw.robots():
        with warnings.catch_warnings(record=True) as told:  # in a line below
            warnings.simplefilter("always")
            arms[name] = aw.load(name)
        odd += [name] if told else []
    rows = [(name, arm.joint_types, arm.source.strip().split("\n")[0]) for name, arm in arms.items()]
    if json:
        show_json([dict(zip(("robot", "joints", "source"), row, strict=True)) for row in rows])
        return
    show_rows([("robot", "joints", "source"), *rows])
    if odd:
        line = f"Packaged as published, with numbers that look wrong: {', '.join(odd)}. armwright show NAME says which."
        console().print(escape(line), style="dim", soft_wrap=True)


def show_robot(
    robot: NamedRobot,
    frames: Annotated[bool, typer.Option("--frames", help="List its frames: names that frame= knows.")] = False,
    json: JSON_OPTION = False,
) -> None:
    """Print the tables of a robot as a robotics book would, and what looks wrong with it.

    Example: armwright show puma560
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # shown below, in full
        warnings.simplefilter("ignore", PublishedWarning)
        arm = robot_of(robot)
        found = aw.problems(arm)
    if json:
        show_json(_as_data(arm, found))
        return
    if frames:
        _show_frames(arm)
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


def _show_frames(arm: aw.Robot) -> None:
    """The frames that are not those of the links, which link each sits on, and where in the frame of that link."""
    known = [arm.frame(name) for name in arm.frame_names]
    others = [frame for frame in known if not _of_link(arm, frame)]
    links = [shown(frame.name) for frame in known if _of_link(arm, frame)]
    out = console()
    out.print(f"[bold]{escape(arm.name)}[/], frames of links: {escape(', '.join(links))}", soft_wrap=True)
    if others:
        out.print()
        show_rows([("frame", "link"), *((frame.name, _link(arm, frame)) for frame in others)])
        out.print()
        show_rows([("frame", "x, m", "y, m", "z, m", "turned by, deg"), *map(_place, others)])


def _of_link(arm: aw.Robot, frame: Frame) -> bool:
    """Return True for the frame of a link itself."""
    return frame.link >= 0 and frame.pose == IDENTITY_TRANSFORM and frame.name == arm.links[frame.link].name


def _link(arm: aw.Robot, frame: Frame) -> str:
    return arm.links[frame.link].name if frame.link >= 0 else "base"


def _place(frame: Frame) -> tuple[str, ...]:
    """Return the position of a frame, and its rotations about x, y and z."""
    pose = np.asarray(frame.pose, dtype=float)
    turn = np.degrees(rotation_vector(pose[:3, :3]))
    turned = ", ".join(tidy(x, ".4g") for x in turn) if np.abs(turn).max() > 1e-9 else "-"
    return (frame.name, *(tidy(x, ".4g") for x in pose[:3, 3]), turned)


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


def list_formulations(json: JSON_OPTION = False) -> None:
    """List every formulation: its problem, authors and cost, and whether it takes chains only.

    Example: armwright formulations
    """
    heads = ("problem", "formulation", "cost", "after")
    rows = [(f.problem, f.name, f"O({f.order}){', chains only' * f.serial}", f.paper) for f in aw.formulations()]
    if json:
        show_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        show_rows([heads, *rows], grouped=True)
