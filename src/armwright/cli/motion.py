"""`armwright simulate`, `armwright torques` and `armwright integrators`: what they print and the pages they write."""

from __future__ import annotations

import re
from pathlib import Path

from rich.markup import escape

from armwright.cli.output import console, table, write_page
from armwright.cli.robots import robot_of
from armwright.errors import InputError, SimulationError
from armwright.report.page import HEADS, joint_rows, page
from armwright.scenario import Scenario, pick_and_place, read
from armwright.simulation import Run, simulate, torques_along
from armwright.study.work_precision import ACCURACIES, work_precision
from armwright.trajectory import check_limits


def prepared(robot: str, scenario: Path | None) -> Scenario:
    """The scenario of a file, or a pick-and-place motion."""
    return read(scenario, robot) if scenario is not None else pick_and_place(robot_of(robot))


def run_simulation(robot: str, scenario: Path | None, output: Path | None) -> None:
    """Simulate, print the table, write the page; a motion that breaks off leaves the page of what there is."""
    plan = prepared(robot, scenario)
    try:
        run = simulate(plan.robot, plan.law, **plan.options)
    except SimulationError as error:
        if isinstance(error.run, Run) and len(error.run.t) > 1:
            _show(error.run, plan, output)
        raise
    _warn_of_limits(plan)
    _show(run, plan, output)


def run_torques(robot: str, scenario: Path | None, output: Path | None) -> None:
    plan = prepared(robot, scenario)
    if plan.trajectory is None:
        raise InputError("torques need a motion: the scenario has no [trajectory]")
    _warn_of_limits(plan)
    run = torques_along(plan.robot, plan.trajectory, plan.options.get("every", 0.01), friction_law=plan.law)
    _show(run, plan, output or Path(f"{safe_name(plan.robot.name)}_torques.html"))


def _warn_of_limits(plan: Scenario) -> None:
    if plan.trajectory is not None and (report := check_limits(plan.trajectory, plan.robot)):
        console(stderr=True).print(f"[yellow]warning:[/] {escape(str(report))}", soft_wrap=True)


def _show(run: Run, plan: Scenario, output: Path | None) -> None:
    out = console()
    made = table(*HEADS, title=f"{escape(run.robot.name)}, {run.t[0]:g} to {run.t[-1]:g} s")
    for row in joint_rows(run):
        made.add_row(*map(escape, row))
    out.print(made)
    out.print()
    out.print(escape(str(run.audit)), highlight=False)
    if run.statistics.accepted:
        quick = (run.t[-1] - run.t[0]) / max(run.statistics.seconds, 1e-9)
        out.print(f"{run.statistics}, {quick:.3g} times real time", style="dim")
    path = output or Path(f"{safe_name(run.robot.name)}.html")
    write_page(path, page(run, run.robot.name, plan.text))
    out.print(f"{path}: curves, audit and a moving picture", style="dim")


def safe_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "robot"


def run_integrators(robot: str, duration: float, output: Path | None) -> None:
    """Time every integrator, print the best for each accuracy, write the page."""
    arm = robot_of(robot)
    out = console()
    with out.status(f"timing integrators on {arm.name}"):
        study = work_precision(arm, duration)
    made = table("error allowed", "best method", "microseconds", title=f"{escape(arm.name)} falling for {duration:g} s")
    for accuracy in ACCURACIES:
        found = study.best(accuracy)
        made.add_row(f"{accuracy:.0e}", *((found[0], f"{found[1] * 1e6:.0f}") if found else ("-", "-")))
    out.print(made)
    path = output or Path(f"{safe_name(arm.name)}_integrators.html")
    write_page(path, study.page())
    out.print(f"{path}: error against time for every method", style="dim")
