"""`armwright size`: which motor and gearbox for each joint, as a table and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from armwright.cli.command import JSON_OPTION, PAGE_OPTION
from armwright.cli.output import console, escape, report, report_page, show_json, show_progress, show_rows
from armwright.cli.page_names import page_place
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
    asked = read(file)
    try:
        with show_progress(f"choosing actuators for {asked['robot'].name}"):
            found = size(**asked)
    except InfeasibleError as error:
        if json:
            show_json(
                {"feasible": False, "joint": error.joint, "criterion": error.criterion, "used": error.used}
                | {"message": str(error)}
            )
        else:
            report("infeasible", "bold red", str(error))
        return False
    where = page_place(output, found.robot, "_actuators.html")
    found.to_html(where.path)
    path = where.mark()
    if json:
        show_json({"feasible": True, **_as_data(found), "page": path})
    else:
        _show(found)
        report_page(path, "sets, margins, and the torque of each motor over its speed")
    return True


def _show(found: Sizing) -> None:
    out = console()
    show_rows([SIZING_HEADS, *found.rows()], f"{escape(found.robot.name)}, {escape(found.catalogue)}")
    out.print()
    show_rows(found.margin_rows(), "Used of each limit")
    out.print()
    show_rows(found.set_rows(), "The best sets")
    out.print()
    for line in (found.summary, *found.notes):
        out.print(escape(line), soft_wrap=True)


def _as_data(found: Sizing) -> dict[str, Any]:
    """Return the content of the tables as numbers."""
    return {
        "robot": found.robot.name,
        "catalogue": found.catalogue,
        "objective": found.objective,
        "sets": [_set(own) for own in found.sets],
        "full_product": float(found.full_product),
        "judged": found.judged,
        "seconds": found.seconds,
        "notes": found.notes,
    }


def _set(own: ActuatorSet) -> dict[str, Any]:
    joints = [
        {
            "joint": chosen.joint,
            "parts": [part.name for part in chosen.actuator.parts],
            "mass": chosen.actuator.mass,
            "used": chosen.used,
            "binding": chosen.binding,
            "inertia_ratio": chosen.inertia_ratio,
        }
        for chosen in own.joints
    ]
    return {"cost": own.cost, "mass": own.mass, "price": own.price, "joints": joints}
