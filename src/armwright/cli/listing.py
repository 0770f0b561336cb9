"""`armwright robots`, `armwright show` and `armwright formulations`: robots, their tables, formulations."""

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
        with warnings.catch_warnings(record=True) as caught:  # reported below the table
            warnings.simplefilter("always")
            arms[name] = aw.load(name)
        odd += [name] if caught else []
    rows = [(name, arm.joint_types, arm.source.strip().split("\n")[0]) for name, arm in arms.items()]
    if json:
        show_json([dict(zip(("robot", "joints", "source"), row, strict=True)) for row in rows])
        return
    show_rows([("robot", "joints", "source"), *rows])
    if odd:
        line = f"Packaged as published, with numbers that look wrong: {', '.join(odd)}. See armwright show NAME."
        console().print(escape(line), style="dim", soft_wrap=True)


def show_robot(
    robot: NamedRobot,
    frames: Annotated[bool, typer.Option("--frames", help="List its frames, as frame= accepts them.")] = False,
    json: JSON_OPTION = False,
) -> None:
    """Print the tables of a robot, as in a textbook, and what looks wrong with it.

    Example: armwright show puma560
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # shown below, in full
        warnings.simplefilter("ignore", PublishedWarning)
        arm = robot_of(robot)
        problems = aw.problems(arm)
    if json:
        show_json(_as_data(arm, problems))
        return
    if frames:
        _show_frames(arm)
        return
    typer.echo(str(arm))
    out = console()
    out.print()
    if all(problem.severity == "note" for problem in problems):
        out.print(f"[green]No problems found{'; notes:' if problems else '.'}[/]")
    for problem in problems:
        word = "[dim]note:[/]" if problem.severity == "note" else "[yellow]problem:[/]"
        note = " [dim](accepted by the file)[/]" if problem.accepted_by(arm) else ""
        out.print(f"{word} {escape(problem)}{note}", soft_wrap=True)


def _show_frames(arm: aw.Robot) -> None:
    """Print the frames other than those of links: their links, and their poses in the frames of these."""
    known = [arm.frame(name) for name in arm.frame_names]
    others = [frame for frame in known if not _is_link_frame(arm, frame)]
    links = [shown(frame.name) for frame in known if _is_link_frame(arm, frame)]
    out = console()
    out.print(f"[bold]{escape(arm.name)}[/], frames of links: {escape(', '.join(links))}", soft_wrap=True)
    if others:
        out.print()
        show_rows([("frame", "link"), *((frame.name, _link_name(arm, frame)) for frame in others)])
        out.print()
        show_rows([("frame", "x, m", "y, m", "z, m", "rotation, deg"), *map(_pose_cells, others)])


def _is_link_frame(arm: aw.Robot, frame: Frame) -> bool:
    """Return True for the frame of a link itself."""
    return frame.link >= 0 and frame.pose == IDENTITY_TRANSFORM and frame.name == arm.links[frame.link].name


def _link_name(arm: aw.Robot, frame: Frame) -> str:
    return arm.links[frame.link].name if frame.link >= 0 else "base"


def _pose_cells(frame: Frame) -> tuple[str, ...]:
    """Return the name of a frame, its position, and its rotation vector in degrees."""
    pose = np.asarray(frame.pose, dtype=float)
    rotation = np.degrees(rotation_vector(pose[:3, :3]))
    angles = ", ".join(tidy(x, ".4g") for x in rotation) if np.abs(rotation).max() > 1e-9 else "-"
    return (frame.name, *(tidy(x, ".4g") for x in pose[:3, 3]), angles)


def _as_data(arm: aw.Robot, problems: list[Problem]) -> dict[str, Any]:
    """Return the fields of the robot, except its shapes, and its problems."""
    data = {key: value for key, value in asdict(arm).items() if "visuals" not in key}
    for link in data["links"]:
        del link["visuals"]
    for joint in data["followers"]:
        if joint["mimic"]["loop"]:
            joint["mimic"] = {"loop": joint["mimic"]["loop"]}
    rows = [{"severity": p.severity, "kind": p.kind, "text": str(p), "accepted": p.accepted_by(arm)} for p in problems]
    return {**data, "problems": rows}


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
