"""`armwright simulate`, `armwright torques` and `armwright integrators`: their output and pages."""

from __future__ import annotations

import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armwright.cli import motion_options as options
from armwright.cli.command import (
    JSON_OPTION,
    PAGE_OPTION,
    ROBOT_FILES,
    NamedRobot,
    RobotOptions,
    Runner,
    report_missing_meshes,
    robot_of,
)
from armwright.cli.motion_options import MotionRequest, ScenarioFlags
from armwright.cli.output import console, escape, name_errors, report, report_page, show_json, show_progress, show_rows
from armwright.cli.page_names import page_file, with_mark
from armwright.cli.payload_report import PayloadReport, curve_page_path, payload_warning, with_most_payload
from armwright.errors import InfeasibleError, InputError, SimulationError
from armwright.identify.measured_data import per_joint, write_csv
from armwright.names import shown
from armwright.pages.report.plot import write
from armwright.pages.report.run_page import JOINT_HEADS, joint_rows, root_mean_square
from armwright.pages.run_scene import page
from armwright.rules import problems
from armwright.scenario import Scenario
from armwright.simulation import Run
from armwright.study.work_precision import WORK_ACCURACIES, work_precision
from armwright.trajectory import TimeOptimal

QUANTITY_WORDS = {"velocity": "speed"}
"""Words of the tables for quantities."""

MAX_LISTED_LIMITS = 4
"""The largest number of active limits that are listed."""

NO_BREAK = "\u00a0"
SPEED_COLUMNS, TORQUE_COLUMNS = (0, 1, 2, 3, 4), (0, 5, 6, 7, 8, 9, 10)
"""The columns of the two tables of joints, each of which fits a terminal."""


FASTEST_RESERVE = 0.01
"""The part of each limit that `simulate --fastest` leaves to the controller, which also needs torque and speed."""


def _motion_command(ending: str, reserve: float) -> Callable[[Callable[[MotionRequest], bool]], Runner]:
    """Return a decorator that gives a command the options of a motion.

    `ending` ends the names of its pages; `reserve` is the part of each limit that --fastest leaves.
    """

    def decorate(run: Callable[[MotionRequest], bool]) -> Runner:
        def command(
            robot: Annotated[RobotOptions, f"A packaged robot, {ROBOT_FILES}; or a scenario, or a folder of these."],
            scenario: options.ScenarioFiles = None,
            output: PAGE_OPTION = None,
            motion: options.Motion = None,
            data: options.DataFile = None,
            noise: options.Noise = 0.0,
            seed: Annotated[int, typer.Option(help="The seed of the noise.", min=0)] = 0,
            json: JSON_OPTION = False,
            begin: options.Begin = None,
            end: options.End = None,
            duration: options.Duration = None,
            every: options.Every = None,
            law: options.LawName = None,
            integrator: options.Integrator = None,
            rtol: options.Rtol = None,
            step: options.Step = None,
            stops: options.Stops = None,
            fastest: options.Fastest = False,
            most_payload: options.MostPayload = False,
            payload_at: options.PayloadAt = None,
            further: options.SetOptions = None,
        ) -> bool:
            flags = ScenarioFlags(
                *(begin, end, duration, every, law, integrator, rtol, step, stops, further or ()),
                *(fastest, most_payload, payload_at),
            )
            return run(
                MotionRequest(robot, scenario or (), flags, motion, output, data, noise, seed, json, ending, reserve)
            )

        command.__doc__ = run.__doc__
        return command

    return decorate


@_motion_command(".html", FASTEST_RESERVE)
def run_simulation(request: MotionRequest) -> bool:
    """Simulate a robot: a table of torques, speeds and power, the audit (exit code 1 if in doubt), and a page.

    Example: armwright simulate puma560 scenario.toml

    Example: armwright simulate ur5e --to 0.5,-1,1,0,0.5,0 --payload 3
    """
    return _run_each(request, _simulate)


@_motion_command("_torques.html", 0.0)
def run_torques(request: MotionRequest) -> bool:
    """Compute the torques and powers of a motion by inverse dynamics (exit code 1 if a limit is exceeded).

    Example: armwright torques ur5 --payload 5,0,0,0.1

    Example: armwright torques ur5e --most-payload --payload-at 0,0,0.1
    """
    return _run_each(request, _torques_along)


def _run_each(request: MotionRequest, run: Callable[[Scenario, Path, MotionRequest], tuple[Run, Path]]) -> bool:
    """Run each scenario of the request; return True if all audits are trustworthy."""
    good, records, several = True, [], len(request.files[0]) > 1
    for scenario, path in request.plans():
        with name_errors(path.stem if several else ""):
            try:
                plan, most = with_most_payload(scenario, request.flags)
            except InfeasibleError as error:
                good = False
                records.append({"robot": scenario.robot.name, "most_payload": None, "reason": str(error)})
                report("too weak", "bold red", str(error))
                continue
            result, page = run(plan, path, request)
        record = _report(result, plan, page, request, most)
        good &= result.audit.trustworthy
        records.append(record)
    if request.json:
        show_json(records if len(records) > 1 else records[0])
    return good


def _simulate(plan: Scenario, path: Path, request: MotionRequest) -> tuple[Run, Path]:
    try:
        with show_progress(f"simulating {plan.robot.name}"):
            run = plan.simulate()
    except SimulationError as error:
        if isinstance(error.run, Run) and len(error.run.t):  # show the motion up to the error
            record = _show(error.run, plan, path, request)
            if request.json:
                show_json(record)
        raise
    _warn_about_payload(plan)
    return run, path


INTEGRATION_KEYS = ("integrator", "stops", "event", "q0", "qd0", "start", "smooth")
"""Keys of integrated motions, which have no effect along a prescribed one."""


def _torques_along(plan: Scenario, path: Path, request: MotionRequest) -> tuple[Run, Path]:
    if plan.robot.balls:
        raise InputError(
            f"torques needs joints with one position each, and q of {plan.robot.name} has quaternions; expected "
            "`armwright simulate`, the robot on a fixed base (of a file: without --floating), or in Python "
            "robot.inverse_dynamics(q, qd, qdd)"
        )
    changes, flags = request.flags.changes, ("law", "integrator", "rtol", "step", "stops")
    unused = [f"--{name}" for name in flags if getattr(request.flags, name) is not None]
    unused += [key for key in (*INTEGRATION_KEYS, *({"duration"} & set(plan.options))) if key in changes]
    if unused:
        raise InputError(
            f"{unused[0]} has no effect on torques, which follow from the given motion by inverse dynamics; remove it, "
            "or use `armwright simulate`"
        )
    _warn_about_payload(plan)
    with show_progress(f"torques of {plan.robot.name}"):
        run = plan.torques()
    return run, path


def _warn_about_payload(plan: Scenario) -> None:
    """Print warnings for suspicious payloads; impossible ones raised an error on loading."""
    found = (problem for part in plan.parts for problem in problems(part.phase.robot) if problem.where == "payload")
    for text in dict.fromkeys(str(problem) for problem in found if problem.severity == "warning"):
        report("warning", "yellow", text)


def _report(run: Run, plan: Scenario, path: Path, request: MotionRequest, most: PayloadReport | None) -> dict[str, Any]:
    """Print and write the results; return them as data if the request is for JSON."""
    if request.data is not None:
        _write_data(run, request, request.data)
    if most is not None:
        write(curve_page_path(path), most.page())
        if not request.json:
            _print_lines(most.lines())
            report_page(curve_page_path(path), "the most payload over the motion, joint by joint")
            console().print()
    record = _show(run, plan, path, request, most)
    if most is not None and request.json:
        record |= {"most_payload": most.data(), "payload_page": curve_page_path(path)}
    if request.data is not None and not request.json:
        noise = f", torques with {request.noise:g} of their RMS as noise" if request.noise else ""
        stops = ", stop_torque" if run.stop_torque.size else ""
        report_page(request.data, f"t, q, qd, qdd, tau{stops} in {len(run.t)} rows{noise}")
    return record


def _write_data(run: Run, request: MotionRequest, path: Path) -> None:
    """Write the data that would be measured along the run: positions, their derivatives, and torques with noise."""
    sigma = request.noise * np.sqrt(np.mean(run.tau**2, axis=0))
    tau = run.tau + np.random.default_rng(request.seed).normal(size=run.tau.shape) * sigma
    if path.suffix == ".parquet":
        replace(run, tau=tau).to_parquet(path)
    else:
        columns = per_joint(q=run.q, qd=run.qd, qdd=run.qdd, tau=tau, stop_torque=run.stop_torque)
        write_csv(path, {"t": run.t, **columns})


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        console().print(escape(line), highlight=False, soft_wrap=True)


def _show(
    run: Run, plan: Scenario, path: Path, request: MotionRequest, most: PayloadReport | None = None
) -> dict[str, Any]:
    report_missing_meshes(run.robot)
    text = page(run, run.robot.name, plan.text)
    if request.json:
        _write_page(path, text, request)
        return {**_as_data(run), **_motion_data(plan), "page": path, "data": request.data}
    out = console()
    state = f" {run.holding}" if run.holding else ""
    rows, title = _rows(run), f"{escape(run.robot.name)}{state}, {run.t[0]:g} to {run.t[-1]:g} s"
    driven = [rows[0], *(rows[i + 1] for i in run.driven)]
    for columns, listed in (SPEED_COLUMNS, rows), (TORQUE_COLUMNS, driven):
        show_rows([tuple(row[k] for k in columns) for row in listed], title)
        title = ""
        out.print()
    _print_lines(_conditions(run, plan, request, most))
    if run.phases:
        show_rows([PHASE_HEADS, *(_phase_row(phase) for phase in run.phases)])
        out.print()
    for line in str(run.audit).splitlines():
        out.print(escape(line), highlight=False, soft_wrap=True)
    if run.ended_by:
        out.print(f"ended by          {escape(run.ended_by)} at {run.t[-1]:.4g} s", soft_wrap=True)
    if run.statistics.accepted:
        quick = (run.t[-1] - run.t[0]) / max(run.statistics.seconds, 1e-9)
        out.print(f"{run.settings.get('integrator')}: {run.statistics}, {quick:.3g} times real time", style="dim")
    _write_page(path, text, request)
    report_page(path, "curves, audit and a moving picture")
    return {}


def _write_page(path: Path, text: str, request: MotionRequest) -> None:
    """Write the page of a run, with its mark if the user did not give the name."""
    in_folder = request.page is not None and request.page in path.parents
    write(path, text if path == request.page else with_mark(text, request.marks[path]), folders=in_folder)


def _conditions(run: Run, plan: Scenario, request: MotionRequest, most: PayloadReport | None) -> Iterator[str]:
    """Yield the conditions of the numbers: payload, motion, limits and friction."""
    arm, payload = run.robot, run.robot.payload
    if payload is not None and arm.tip is not None:
        parts = [(mass, com) for mass, com, _ in request.robot.payloads]
        if most is not None and math.isfinite(most.found.mass):
            carried = most.found.holder.payload
            parts = parts or ([] if carried is None else [(carried.mass, [*carried.com])])
            parts.append((most.found.mass, [*most.found.com]))
        parts = parts or [(payload.mass, [*payload.com])]
        listed = ", ".join(f"{mass:.5g} kg at ({x:g}, {y:g}, {z:g})" for mass, (x, y, z) in parts)
        yield f"holding           {listed} m of the tool on {arm.links[arm.tip].name}"
        if most is None:
            yield from payload_warning(plan, run)
    if plan.trajectory is not None and plan.kind:
        yield f"motion            {plan.pace or f'{plan.kind}, {plan.trajectory.duration:.4g} s'}"
    if isinstance(plan.trajectory, TimeOptimal):
        yield f"limits            {_limit_share(plan)}{plan.trajectory.within}"
        if plan.trajectory.limiting:
            yield f"held back by      {_active_limits(plan.trajectory)}"
    frictions = {"viscous": any(row.viscous for row in arm.rows), "dry": any(row.coulomb for row in arm.rows)}
    if kinds := [kind for kind, present in frictions.items() if present]:
        yield f"friction          included as in the robot's file, {' and '.join(kinds)}"


def _limit_share(plan: Scenario) -> str:
    """Return the share of each limit that a time-optimal motion uses; "" if it is all."""
    reserve = tomllib.loads(plan.text).get("trajectory", {}).get("reserve", 0.0)
    return f"{100 * (1 - reserve):.4g}% of " if reserve else ""


def _active_limits(motion: TimeOptimal) -> str:
    """Return the active limits of a time-optimal motion, with their shares of its time."""
    spans: dict[str, float] = defaultdict(float)
    for interval in motion.limiting:
        limit = f"{QUANTITY_WORDS.get(interval.quantity, interval.quantity)} of {shown(interval.name)}"
        spans[limit] += interval.end - interval.begin
    parts = sorted(spans.items(), key=lambda entry: -entry[1])
    listed = [f"{limit} {span / motion.duration:.0%}" for limit, span in parts[:MAX_LISTED_LIMITS]]
    others = f", {len(parts) - MAX_LISTED_LIMITS} others" if len(parts) > MAX_LISTED_LIMITS else ""
    return f"{', '.join(listed)}{others} of the time"


def _motion_data(plan: Scenario) -> dict[str, Any]:
    """Return the motion as data, with the limits of a time-optimal one."""
    motion = plan.trajectory
    if motion is None:
        return {}
    record: dict[str, Any] = {"type": plan.kind, "duration": motion.duration, "chosen": plan.pace or None}
    if isinstance(motion, TimeOptimal):
        keys = ("joint", "quantity", "from", "to")
        rows = [dict(zip(keys, (x.name, x.quantity, x.begin, x.end), strict=True)) for x in motion.limiting]
        record |= {"limits": f"{_limit_share(plan)}{motion.within}", "limited_by": rows}
    return {"motion": record}


PHASE_HEADS = ("phase", "from", "to", "holding", "ended by")


def _phase_row(run: Run) -> tuple[str, ...]:
    payload = f"{run.robot.payload.mass:g} kg" if run.robot.payload else "-"
    return str(run.settings.get("phase", "-")), f"{run.t[0]:.4g} s", f"{run.t[-1]:.4g} s", payload, run.ended_by or "-"


def _as_data(run: Run) -> dict[str, Any]:
    """Return the content of the tables as numbers."""
    joints = []
    for i, (joint, use) in enumerate(zip(run.robot.joints, run.utilisation.joints, strict=True)):
        q, tau, power = run.places[:, i], run.tau[:, i], run.power[:, i]
        means = {"rms_torque": root_mean_square(run.t, tau), "rms_power": root_mean_square(run.t, power)}
        shares = {"of_torque": use.torque, "of_speed": use.speed, "too_weak": use.too_weak, "too_slow": use.too_slow}
        extent = {"from": q.min(), "to": q.max(), "limits": joint.limits, "peak_power": np.abs(power).max()}
        record = {key: value for key, value in asdict(use).items() if not key.endswith("_rollout")}
        stop = {} if run.stops is None else {"stop": {name: x[i] for name, x in run.stops.lists().items()}}
        joints.append({**record, **extent, **means, **shares, **stop})
    doubts = [str(doubt) for doubt in run.audit.doubts]
    audit = {"trustworthy": run.audit.trustworthy, "verdict": run.audit.verdict, "doubts": doubts}
    errors = {"energy_error": run.audit.energy_error, "power_error": run.audit.power_error}
    if run.audit.momentum_error is not None:
        errors["momentum_error"] = run.audit.momentum_error
    span = {"from": run.t[0], "to": run.t[-1], "ended_by": run.ended_by or None}
    record = {"robot": run.robot.name, **span, "joints": joints, "audit": {**audit, **errors}}
    if run.phases:
        record["phases"] = [
            {
                **{"phase": phase.settings.get("phase"), "from": phase.t[0], "to": phase.t[-1]},
                **{"payload": phase.robot.payload.mass if phase.robot.payload else 0.0},
                **{"ended_by": phase.ended_by or None},
            }
            for phase in run.phases
        ]
    return record


def _rows(run: Run) -> list[tuple[str, ...]]:
    """Return the table of joints; heads have the units, except that of position if it differs between joints."""
    columns = []
    for head, cells in zip(JOINT_HEADS, zip(*joint_rows(run), strict=True), strict=True):
        units = [match[0] if (match := CELL_UNIT.search(cell)) else "" for cell in cells]
        known = list(dict.fromkeys(unit for unit in units if unit))
        if head == JOINT_HEADS[0] or not known or (head == JOINT_HEADS[1] and len(known) > 1):
            columns.append([head, *cells])
            continue
        common = " or ".join(unit.strip() for unit in known).replace(" ", NO_BREAK)
        bare = [cell.removesuffix(unit) for cell, unit in zip(cells, units, strict=True)]
        columns.append([f"{head}\n{common}", *bare])
    return list(zip(*columns, strict=True))


CELL_UNIT = re.compile(r" [a-zA-Z][a-zA-Z /]*$")
"""A pattern of the unit at the end of a cell with a number."""


def run_integrators(
    robot: NamedRobot,
    duration: Annotated[float, typer.Option(help="Seconds of motion.")] = 1.0,
    output: PAGE_OPTION = None,
    json: JSON_OPTION = False,
) -> None:
    """Time every integrator on this robot, and name the best for each accuracy.

    Example: armwright integrators rr
    """
    arm = robot_of(robot)
    with show_progress(f"timing integrators on {arm.name}"):
        study = work_precision(arm, duration)
    path = page_file(output, arm, "_integrators.html").write(study.page())
    best = [(accuracy, *(study.best(accuracy) or (None, None))) for accuracy in WORK_ACCURACIES]
    if json:
        heads = ("error", "method", "seconds")
        rows = [dict(zip(heads, row, strict=True)) for row in best]
        show_json({"robot": arm.name, "duration": duration, "best": rows, "page": path})
        return
    table = [("error allowed", "best method", "microseconds")]
    for accuracy, name, seconds in best:
        table.append((f"{accuracy:.0e}", name or "-", "-" if seconds is None else f"{seconds * 1e6:.0f}"))
    show_rows(table, f"{escape(arm.name)} falling for {duration:g} s")
    report_page(path, "error against time for every method")
