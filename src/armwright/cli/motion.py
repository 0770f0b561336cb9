"""`armwright simulate`, `armwright torques` and `armwright integrators`: what they print and the pages they write."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armwright.cli.command import AS_JSON, PAGE, NamedRobot, RobotOptions, Runner, robot_of, seen_robot_of
from armwright.cli.output import console, escape, page_name, report, show_json, show_rows, told, working, write_page
from armwright.errors import InputError, SimulationError
from armwright.identify import Measurement
from armwright.report.page import HEADS, joint_rows, root_mean_square
from armwright.report.plot import write
from armwright.scenario import Scenario, along, pick_and_place, read
from armwright.simulation import Run
from armwright.simulation.picture import page
from armwright.study.work_precision import ACCURACIES, work_precision
from armwright.trajectory import check_limits

DATA = (".csv", ".parquet")
NO_BREAK = "\u00a0"
SPEEDS, TORQUES = (0, 1, 2, 3, 4), (0, 5, 6, 7, 8, 9, 10)
"""Columns of the table of joints that stand together, so that they fit a terminal."""


@dataclass(frozen=True)
class Wanted:
    """What is to be run, and what is to be written of it: a page, and the data that `armwright identify` reads."""

    robot: RobotOptions
    scenario: Path | None
    motion: Path | None
    page: Path | None
    data: Path | None
    noise: float
    seed: int
    json: bool

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
        arm = seen_robot_of(self.robot)
        if self.scenario is not None:
            made = read(self.scenario, arm)
            if self.robot.payload is not None and made.robot.payload != arm.payload:
                raise InputError("--payload and the scenario both say what the tool holds; leave one of them out")
            return made
        return pick_and_place(arm) if self.motion is None else along(self.motion, arm)


def _moving(run: Callable[[Wanted], bool]) -> Runner:
    """A command with the options of a motion."""

    def command(
        robot: NamedRobot,
        scenario: Annotated[
            Path | None, typer.Argument(help="A scenario file (docs/simulation.md); without, pick and place.")
        ] = None,
        output: PAGE = None,
        motion: Annotated[
            Path | None, typer.Option(help="A .csv or .parquet file to move along: t, q1.., if known qd1.., qdd1..")
        ] = None,
        data: Annotated[
            Path | None, typer.Option(help="A .csv or .parquet file to write, for `armwright identify`.")
        ] = None,
        noise: Annotated[
            float, typer.Option(help="Noise of the torques in --data, as a part of each joint's RMS torque.")
        ] = 0.0,
        seed: Annotated[int, typer.Option(help="Which noise.", min=0)] = 0,
        json: AS_JSON = False,
    ) -> bool:
        return run(Wanted(robot, scenario, motion, output, data, noise, seed, json))

    command.__doc__ = run.__doc__
    return command


@_moving
def run_simulation(wanted: Wanted) -> bool:
    """Simulate a robot: a table of torques, speeds and power, the audit (exit code 1 if in doubt), and a page."""
    plan = wanted.plan()
    try:
        run = plan.simulate()
    except SimulationError as error:
        if isinstance(error.run, Run) and len(error.run.t) > 1:  # a motion that breaks off leaves what there is
            _show(error.run, plan, wanted)
        raise
    _warn_of_limits(plan)
    return _finish(run, plan, wanted)


@_moving
def run_torques(wanted: Wanted) -> bool:
    """The torques and powers of a motion, by inverse dynamics along it (exit code 1 if a limit is exceeded)."""
    plan = wanted.plan()
    if plan.robot.balls:
        raise InputError(
            "torques are along a motion of joints whose positions are numbers, and q of "
            f"{plan.robot.name} has quaternions; expected robot.inverse_dynamics(q, qd, qdd), in Python"
        )
    _warn_of_limits(plan)
    run = plan.torques()
    return _finish(run, plan, replace(wanted, page=page_name(wanted.page, plan.robot.name, "_torques.html")))


def _warn_of_limits(plan: Scenario) -> None:
    for part in plan.parts:
        if part.trajectory is not None and (limits := check_limits(part.trajectory, part.phase.robot)):
            report("warning", "yellow", str(limits))


def _finish(run: Run, plan: Scenario, wanted: Wanted) -> bool:
    """Show and write what came out; whether it can be trusted."""
    if wanted.data is not None:
        _write_data(run, wanted, wanted.data)
    _show(run, plan, wanted)
    if wanted.data is not None and not wanted.json:
        noise = f", torques with {wanted.noise:g} of their RMS as noise" if wanted.noise else ""
        told(wanted.data, f"t, q, qd, qdd, tau in {len(run.t)} rows{noise}")
    return run.audit.trustworthy


def _write_data(run: Run, wanted: Wanted, path: Path) -> None:
    """What would be measured along the run: positions, their derivatives, and torques with noise."""
    sigma = wanted.noise * np.sqrt(np.mean(run.tau**2, axis=0))
    tau = run.tau + np.random.default_rng(wanted.seed).normal(size=run.tau.shape) * sigma
    if path.suffix == ".parquet":
        replace(run, tau=tau).to_parquet(path)
    else:
        Measurement(run.t, run.q, run.qd, run.qdd, tau).to_csv(path)


def _show(run: Run, plan: Scenario, wanted: Wanted) -> None:
    path = page_name(wanted.page, run.robot.name, ".html")
    made = page(run, run.robot.name, plan.text)
    if wanted.json:
        show_json({**_as_data(run), "page": write(path, made), "data": wanted.data})
        return
    out = console()
    held = f" {run.holding}" if run.holding else ""
    rows, title = _rows(run), f"{escape(run.robot.name)}{held}, {run.t[0]:g} to {run.t[-1]:g} s"
    for columns in SPEEDS, TORQUES:
        show_rows([tuple(row[k] for k in columns) for row in rows], title)
        title = ""
        out.print()
    for line in str(run.audit).splitlines():
        out.print(escape(line), highlight=False, soft_wrap=True)
    if run.statistics.accepted:
        quick = (run.t[-1] - run.t[0]) / max(run.statistics.seconds, 1e-9)
        out.print(f"{run.statistics}, {quick:.3g} times real time", style="dim")
    write_page(path, made, "curves, audit and a moving picture")


def _as_data(run: Run) -> dict[str, Any]:
    """What the tables say, in numbers."""
    joints = []
    for i, (joint, use) in enumerate(zip(run.robot.joints, run.utilisation.joints, strict=True)):
        q, tau, power = run.places[:, i], run.tau[:, i], run.power[:, i]
        means = {"rms_torque": root_mean_square(run.t, tau), "rms_power": root_mean_square(run.t, power)}
        shares = {"of_torque": use.torque, "of_speed": use.speed, "too_weak": use.too_weak, "too_slow": use.too_slow}
        extent = {"from": q.min(), "to": q.max(), "limits": joint.limits, "peak_power": np.abs(power).max()}
        told = {key: value for key, value in asdict(use).items() if not key.endswith("_rollout")}
        joints.append({**told, **extent, **means, **shares})
    audit = {"trustworthy": run.audit.trustworthy, "doubts": [str(doubt) for doubt in run.audit.doubts]}
    errors = {"energy_error": run.audit.energy_error, "power_error": run.audit.power_error}
    if run.audit.momentum_error is not None:
        errors["momentum_error"] = run.audit.momentum_error
    begin, end = run.t[0], run.t[-1]
    span = {"from": begin, "to": end, "ended_by": run.ended_by or None}
    return {"robot": run.robot.name, **span, "joints": joints, "audit": {**audit, **errors}}


def _rows(run: Run) -> list[tuple[str, ...]]:
    """The table of joints; units that are the same for all of them stand in the heads."""
    columns = []
    for head, cells in zip(HEADS, zip(*joint_rows(run), strict=True), strict=True):
        units = {found[0] if (found := re.search(r" [a-zA-Z][a-zA-Z /]*$", cell)) else "" for cell in cells}
        unit = units.pop() if len(units) == 1 and head != HEADS[0] else ""
        lines = unit.replace(" ", "\n", 1).replace(" ", NO_BREAK)
        columns.append([head + lines, *(cell.removesuffix(unit) for cell in cells)])
    return list(zip(*columns, strict=True))


def run_integrators(
    robot: NamedRobot,
    duration: Annotated[float, typer.Option(help="Seconds of motion.")] = 1.0,
    output: PAGE = None,
    json: AS_JSON = False,
) -> None:
    """Time every integrator on this robot, and name the best for each accuracy."""
    arm = robot_of(robot)
    with working(f"timing integrators on {arm.name}"):
        study = work_precision(arm, duration)
    path = page_name(output, arm.name, "_integrators.html")
    best = [(accuracy, *(study.best(accuracy) or (None, None))) for accuracy in ACCURACIES]
    if json:
        heads = ("error", "method", "seconds")
        rows = [dict(zip(heads, row, strict=True)) for row in best]
        show_json({"robot": arm.name, "duration": duration, "best": rows, "page": write(path, study.page())})
        return
    table = [("error allowed", "best method", "microseconds")]
    for accuracy, name, seconds in best:
        table.append((f"{accuracy:.0e}", name or "-", "-" if seconds is None else f"{seconds * 1e6:.0f}"))
    show_rows(table, f"{escape(arm.name)} falling for {duration:g} s")
    write_page(path, study.page(), "error against time for every method")
