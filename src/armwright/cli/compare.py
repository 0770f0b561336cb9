"""`armwright compare`: how two descriptions of a robot differ, as tables or JSON."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from armwright.check import Comparison, compare
from armwright.check.compare import COMPARISON_TOLERANCE
from armwright.check.comparison import QUANTITY_HEADS
from armwright.cli.command import JSON_OPTION, REPORT_OPTION, NamedRobot, RobotOptions, robot_of
from armwright.cli.output import console, escape, report_page, show_rows, table
from armwright.names import tidy
from armwright.robot import Robot


def run_compare(
    here: NamedRobot,
    there: Annotated[RobotOptions, "Another description of the same robot."],
    tolerance: Annotated[float, typer.Option(help="Relative; radians for angles.")] = COMPARISON_TOLERANCE,
    ignore: Annotated[list[str] | None, typer.Option(help="A kind of difference that does not count.")] = None,
    output: REPORT_OPTION = None,
    json: JSON_OPTION = False,
) -> bool:
    """Report where two descriptions of one robot differ, by how much, and at which joint or link.

    Example: armwright compare A B
    """
    comparison = compare(_load(here), _load(there), tolerance=tolerance, ignore=ignore or ())
    if json:
        typer.echo(comparison.to_json())
    else:
        _show(comparison)
    if output is not None:
        path = comparison.to_html(output)
        if not json:
            report_page(path, "the differences")
    return comparison.same


def _load(chosen: RobotOptions) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `armwright check` reports what is wrong with a file
        return robot_of(chosen)


def _show(comparison: Comparison) -> None:
    out = console()
    here, there = map(escape, comparison.names)
    rows = table("where", "kind", "what", title=f"{here} (here) and {there} (there)")
    for difference in comparison.differences:
        style = None if difference.matters else "dim"
        rows.add_row(escape(difference.where), difference.kind, escape(difference.text), style=style)
    out.print(rows if comparison.differences else f"[bold]{here} (here) and {there} (there)[/]")
    if comparison.quantities:
        out.print()
        show_rows([QUANTITY_HEADS, *comparison.quantity_rows()])
    if comparison.outermost is not None:
        _show_joints(comparison)
    out.print(f"\n[green]the same[/] to {comparison.tolerance:g}" if comparison.same else "\n[bold red]different[/]")


def _show_joints(comparison: Comparison) -> None:
    rows = [("joint", "gravity", "mass matrix", "torque")]
    for joint in comparison.joints:
        rows.append((joint.joint, tidy(joint.gravity), tidy(joint.mass_matrix), tidy(joint.torque)))
    out = console()
    out.print()
    show_rows(rows, title="Difference at each joint, relative to its torque")
    out.print(f"The outermost joint with a difference is {escape(comparison.outermost or '')}.", soft_wrap=True)
