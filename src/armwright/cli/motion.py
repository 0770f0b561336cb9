"""`armwright simulate`, `armwright torques` and `armwright integrators`: what they print and the pages they write."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.markup import escape

from armwright.cli.output import console, say, table, write_page
from armwright.cli.robots import Chosen, robot_of
from armwright.errors import InputError, SimulationError
from armwright.identify import Measurement
from armwright.report.page import HEADS, joint_rows, page
from armwright.scenario import Scenario, along, pick_and_place, read
from armwright.simulation import Run, simulate, torques_along
from armwright.study.work_precision import ACCURACIES, work_precision
from armwright.trajectory import check_limits

DATA = (".csv", ".parquet")
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Wanted:
    """What is to be run, and what is to be written of it: a page, and the data that `armwright identify` reads."""

    robot: Chosen
    scenario: Path | None = None
    motion: Path | None = None
    page: Path | None = None
    data: Path | None = None
    noise: float = 0.0
    seed: int = 0

    def plan(self) -> Scenario:
        """The scenario of a file, or computed torque along the motion of a file, or a pick-and-place motion."""
        if self.scenario is not None and self.motion is not None:
            raise InputError(
                '--motion and a scenario both say how to move; write [trajectory] type = "sampled", file = '
                f"{str(self.motion)!r} into the scenario instead"
            )
        if self.data is not None and self.data.suffix not in DATA:
            raise InputError(f"--data {self.data}: expected a name that ends in {' or '.join(DATA)}")
        if not 0 <= self.noise < np.inf:
            raise InputError(f"--noise {self.noise:g}: expected a part of the torque, such as 0.02")
        arm = robot_of(self.robot)
        if self.scenario is not None:
            return read(self.scenario, arm)
        return pick_and_place(arm) if self.motion is None else along(self.motion, arm)


def run_simulation(wanted: Wanted) -> None:
    """Simulate, print the table, write the page; a motion that breaks off leaves the page of what there is."""
    plan = wanted.plan()
    try:
        run = simulate(plan.robot, plan.law, **plan.options)
    except SimulationError as error:
        if isinstance(error.run, Run) and len(error.run.t) > 1:
            _show(error.run, plan, wanted.page)
        raise
    _warn_of_limits(plan)
    _finish(run, plan, wanted, wanted.page)


def run_torques(wanted: Wanted) -> None:
    plan = wanted.plan()
    if plan.trajectory is None:
        raise InputError("torques need a motion: the scenario has no [trajectory]")
    _warn_of_limits(plan)
    run = torques_along(plan.robot, plan.trajectory, plan.options.get("every", 0.01), friction_law=plan.law)
    _finish(run, plan, wanted, wanted.page or Path(f"{safe_name(plan.robot.name)}_torques.html"))


def _warn_of_limits(plan: Scenario) -> None:
    if plan.trajectory is not None and (report := check_limits(plan.trajectory, plan.robot)):
        say("warning", "yellow", str(report))


def _warn_of_torques(run: Run) -> None:
    for joint, peak in zip(run.robot.joints, np.abs(run.tau).max(axis=0), strict=True):
        if joint.max_torque and peak > joint.max_torque * (1 + 1e-9):
            unit = "N" if joint.prismatic else "N m"
            text = f"{joint.name} needs {peak:.4g} {unit}, more than the {joint.max_torque:g} {unit} it has"
            say("warning", "yellow", text)


def _finish(run: Run, plan: Scenario, wanted: Wanted, page: Path | None) -> None:
    _warn_of_torques(run)
    _show(run, plan, page)
    if wanted.data is not None:
        _write_data(run, wanted)


def _write_data(run: Run, wanted: Wanted) -> None:
    """What would be measured along the run: positions, their derivatives, and torques with noise."""
    assert wanted.data is not None
    sigma = wanted.noise * np.sqrt(np.mean(run.tau**2, axis=0))
    tau = run.tau + np.random.default_rng(wanted.seed).normal(size=run.tau.shape) * sigma
    if wanted.data.suffix == ".parquet":
        replace(run, tau=tau).to_parquet(wanted.data)
    else:
        Measurement(run.t, run.q, run.qd, run.qdd, tau).to_csv(wanted.data)
    noise = f", torques with {wanted.noise:g} of their RMS as noise" if wanted.noise else ""
    console().print(f"{wanted.data}: t, q, qd, qdd, tau in {len(run.t)} rows{noise}", style="dim")


def _show(run: Run, plan: Scenario, output: Path | None) -> None:
    out = console()
    heads, rows = _rows(run)
    made = table(*heads, title=f"{escape(run.robot.name)}, {run.t[0]:g} to {run.t[-1]:g} s")
    for row in rows:
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


def _rows(run: Run) -> tuple[list[str], list[tuple[str, ...]]]:
    """The table of joints; units that are the same for all of them stand in the heads."""
    heads, columns = [], []
    for head, cells in zip(HEADS, zip(*joint_rows(run), strict=True), strict=True):
        units = {found[0] if (found := re.search(r" [a-zA-Z][a-zA-Z /]*$", cell)) else "" for cell in cells}
        unit = units.pop() if len(units) == 1 and head != HEADS[0] else ""
        heads.append(head + unit.replace(" ", "\n", 1).replace(" ", NO_BREAK))
        columns.append([cell.removesuffix(unit) for cell in cells])
    return heads, list(zip(*columns, strict=True))


def safe_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "robot"


def run_integrators(robot: Chosen, duration: float, output: Path | None) -> None:
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
