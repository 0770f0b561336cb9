"""`armwright size`: which motor and gearbox for each joint, as a table and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from armwright.cli.command import JSON_OPTION, PAGE_OPTION
from armwright.cli.output import console, escape, report, report_page, show_json, show_progress, show_rows
from armwright.cli.page_names import page_file
from armwright.errors import InfeasibleError
from armwright.sizing import ActuatorSet, Sizing, size
from armwright.sizing.result import SIZING_HEADS
from armwright.sizing.sizing_file import read


def run_sizing(
    file: Annotated[Path, typer.Argument(help="Robot, motions, payloads, catalogue and objective (docs/sizing.md).")],
    output: PAGE_OPTION = None,
    json: JSON_OPTION = False,
) -> bool:
    """Find the best motor and gearbox for every joint together (exit code 1 if no set is enough).

    Example: armwright size cell.toml
    """
    problem = read(file)
    try:
        with show_progress(f"choosing actuators for {problem['robot'].name}"):
            sizing = size(**problem)
    except InfeasibleError as error:
        if json:
            data = {"joint": error.joint, "criterion": error.criterion, "used": error.used, "message": str(error)}
            show_json({"feasible": False, **data})
        else:
            report("infeasible", "bold red", str(error))
        return False
    page = page_file(output, sizing.robot, "_actuators.html")
    sizing.to_html(page.path)
    path = page.append_mark()
    if json:
        show_json({"feasible": True, **_as_data(sizing), "page": path})
    else:
        _show(sizing)
        report_page(path, "sets, margins, and the torque of each motor over its speed")
    return True


def _show(sizing: Sizing) -> None:
    out = console()
    show_rows([SIZING_HEADS, *sizing.rows()], f"{escape(sizing.robot.name)}, {escape(sizing.catalogue)}")
    out.print()
    show_rows(sizing.margin_rows(), "Used of each limit")
    out.print()
    show_rows(sizing.set_rows(), "The best sets")
    out.print()
    for line in (sizing.summary, *sizing.notes):
        out.print(escape(line), soft_wrap=True)


def _as_data(sizing: Sizing) -> dict[str, Any]:
    """Return the content of the tables as numbers."""
    return {
        "robot": sizing.robot.name,
        "catalogue": sizing.catalogue,
        "objective": sizing.objective,
        "sets": [_set(actuators) for actuators in sizing.sets],
        "full_product": float(sizing.full_product),
        "judged": sizing.judged,
        "seconds": sizing.seconds,
        "notes": sizing.notes,
    }


def _set(actuators: ActuatorSet) -> dict[str, Any]:
    joints = [
        {
            "joint": chosen.joint,
            "parts": [part.name for part in chosen.actuator.parts],
            "mass": chosen.actuator.mass,
            "used": chosen.used,
            "binding": chosen.binding,
            "inertia_ratio": chosen.inertia_ratio,
        }
        for chosen in actuators.joints
    ]
    return {"cost": actuators.cost, "mass": actuators.mass, "price": actuators.price, "joints": joints}
