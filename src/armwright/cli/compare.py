"""`armwright compare`: how two descriptions of a robot differ, as tables or JSON."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import typer
from rich.markup import escape

from armwright.check import Comparison, compare
from armwright.cli.output import console, table
from armwright.cli.robots import Chosen, robot_of
from armwright.robot import Robot


def run_compare(here: Chosen, there: Chosen, tolerance: float, ignore: Sequence[str], as_json: bool) -> bool:
    """Compare two robots and print the result; True if they are the same."""
    found = compare(_load(here), _load(there), tolerance=tolerance, ignore=ignore)
    if as_json:
        typer.echo(found.to_json())
    else:
        _show(found)
    return found.same


def _load(chosen: Chosen) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with a file is for `armwright check` to say
        return robot_of(chosen)


def _show(found: Comparison) -> None:
    out = console()
    here, there = map(escape, found.names)
    made = table("where", "kind", "what", title=f"{here} (here) and {there} (there)")
    for difference in found.differences:
        style = None if difference.matters else "dim"
        made.add_row(escape(difference.where), difference.kind, escape(difference.text), style=style)
    out.print(made if found.differences else f"[bold]{here} (here) and {there} (there)[/]")
    _show_quantities(found)
    if found.outermost is not None:
        _show_joints(found)
    out.print(f"\n[green]the same[/] to {found.tolerance:g}" if found.same else "\n[bold red]different[/]")


def _show_quantities(found: Comparison) -> None:
    if not found.quantities:
        return
    made = table("quantity", "largest difference", "signs, zeros and base taken over", "allowed")
    for q in found.quantities:
        made.add_row(q.name, f"{q.worst:.2e} {q.unit}", f"{q.mapped:.2e}", f"{q.allowed:.0e}")
    console().print()
    console().print(made)


def _show_joints(found: Comparison) -> None:
    out = console()
    made = table("joint", "gravity", "mass matrix", "torque", title="felt by each joint, relative to its own torque")
    for joint in found.joints:
        numbers = (joint.gravity, joint.mass_matrix, joint.torque)
        made.add_row(escape(joint.joint), *(f"{x:.1e}" for x in numbers))
    out.print()
    out.print(made)
    out.print(f"The outermost joint that feels a difference is {escape(found.outermost or '')}.", soft_wrap=True)
