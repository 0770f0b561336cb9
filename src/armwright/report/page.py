"""A run as one self-contained page: curves per joint, what the audit says, a moving picture of the arm."""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib import resources
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.names import shown, tidy
from armwright.report.html import as_data, escape, filled

MOST_POINTS = 2000
"""Curves with more points are thinned: a screen has no more columns."""

DIGITS = 7


def page(run: Any, title: str, scenario: str = "") -> str:
    """The page of a `Run`; `scenario` is the text of the file that makes it again."""
    every = max(1, -(-len(run.t) // MOST_POINTS))
    pick = np.unique(np.append(np.arange(0, len(run.t), every), len(run.t) - 1))
    again = f"<details><summary>To run it again</summary><pre>{escape(scenario, lines=True)}</pre></details>"
    points, ends = drawn_points(run.robot, run.q[pick])
    data = {
        "joints": [shown(joint.name) for joint in run.robot.joints],
        "t": _numbers(run.t[pick]),
        "charts": list(_charts(run, pick)),
        "points": [_numbers(p) for p in points.reshape(len(pick), -1)],
        "scene": scene(points),
        "bones": bones(run.robot, ends),
        "ends": [len(run.robot.links) + 1 + k for k in range(len(ends))],
    }
    values = {
        "title": escape(title),
        "subtitle": escape(_subtitle(run)),
        "table": joint_table(run),
        "audit": "".join(f"<li>{escape(line)}</li>" for line in str(run.audit).splitlines()),
        "verdict": "trusted" if run.audit.trustworthy else "doubted",
        "scenario": again if scenario else "",
        "data": as_data(data),
    }
    template = resources.files("armwright.report").joinpath("page.html").read_text(encoding="utf-8")
    return filled(template, values)


def scene(points: Array) -> dict[str, Any]:
    """What the picture shows besides the robot: the floor at z = 0 of the world, below frame 0, and all of it in view.

    `foot` is the middle of the floor, `floor` half its width, `centre` and `radius` are what must be seen.
    """
    base = points[0, 0]
    foot = np.array([base[0], base[1], 0.0])
    reach = float(np.max(np.linalg.norm(points - base, axis=-1), initial=1e-6))
    corners = foot + 0.7 * reach * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    every = np.concatenate([points.reshape(-1, 3), corners])
    centre = (every.min(axis=0) + every.max(axis=0)) / 2
    radius = float(np.max(np.linalg.norm(every - centre, axis=-1), initial=1e-6))
    return {"foot": _numbers(foot), "floor": reach, "centre": _numbers(centre), "radius": radius}


def drawn_points(robot: Any, q: Array) -> tuple[Array, list[int]]:
    """Frame 0, every link frame and where every branch ends; and the links that these ends are on.

    The tip's branch ends in the tool; any other, and that one if the tool stands in its last joint, ends beyond the
    centre of mass of its link, which shows where it goes.
    """
    count = len(robot.links)
    points, poses = robot.link_positions(q), robot.link_poses(q)
    leaves = [i for i in range(count) if i not in robot.parents or i == robot.tip]
    ends = []
    for i in leaves:
        far = points[:, -1] if i == robot.tip else points[:, i + 1]
        com = np.asarray(robot.links[i].com)
        if np.allclose(far, points[:, i + 1], atol=1e-9) and np.linalg.norm(com) > 1e-9:
            far = poses[:, i, :3, :3] @ (2 * com) + poses[:, i, :3, 3]
        ends.append(far)
    drawn: Array = np.concatenate([points[:, : count + 1], np.stack(ends, axis=1)], axis=1)
    return drawn, leaves


def bones(robot: Any, ends: list[int]) -> list[list[int]]:
    """Which of these points are joined: each link with its parent, unless it floats, and each end with its link."""
    rows = robot.rows
    held = [i for i, last in enumerate(robot.carriers) if rows[last].kind != "free"]
    links = [[robot.parents[i] + 1, i + 1] for i in held]
    return links + [[i + 1, len(robot.links) + 1 + k] for k, i in enumerate(ends)]


def _subtitle(run: Any) -> str:
    s = run.settings
    how = f"step {s['step']:g} s" if "step" in s else f"tolerance {s['rtol']:g}" if "rtol" in s else ""
    length = run.t[-1] - run.t[0]
    held = f"holding {run.robot.payload.mass:g} kg" if run.robot.payload else ""
    ended = f"ended by {shown(run.ended_by)!r}" if run.ended_by else ""
    parts = [f"{run.robot.n} joints", held, f"{length:g} s", ended, s.get("integrator", ""), how, str(run.statistics)]
    return ", ".join(part for part in parts if part)


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Numbers as they are written; where there is none, a curve has a gap."""
    listed = np.asarray(values, dtype=float).tolist()
    return [float(f"{x:.{DIGITS}g}") if math.isfinite(x) else None for x in listed]


def _charts(run: Any, pick: Array) -> Iterable[dict[str, Any]]:
    """What is drawn: a title, a unit, and one curve per joint, or named ones."""
    targets = run.reference or (None, None, None)
    for title, unit, values, target in (
        ("Position", "rad or m", run.places, targets[0]),
        ("Velocity", "rad/s or m/s", run.qd, targets[1]),
        ("Acceleration", "rad/s² or m/s²", run.qdd, targets[2]),
        ("Torque", "N m or N", run.tau, None),
        ("Power", "W", run.power, None),
    ):
        dashed = {} if target is None else {"dashed": [_numbers(c) for c in target[pick].T]}
        yield {"title": title, "unit": unit, "curves": [_numbers(c) for c in values[pick].T], "joint": True, **dashed}
    energies = {"kinetic": run.kinetic, "potential": run.potential - run.potential[0], "work": run.work}
    if np.any(run.losses):
        energies["losses"] = run.losses
    missing = {"work - losses - change of energy": run.audit.energy_defect}
    for title, named in (("Energy", energies), ("Energy missing", missing)):
        curves = [_numbers(values[pick]) for values in named.values()]
        yield {"title": title, "unit": "J", "curves": curves, "names": list(named), "joint": False}
    if (momentum := run.audit.momentum) is not None:
        for title, unit, defect in (
            ("Momentum missing", "kg m/s", momentum.linear_defect),
            ("Angular momentum missing", "kg m²/s", momentum.angular_defect),
        ):
            curves = [_numbers(values) for values in defect[pick].T]
            yield {"title": title, "unit": unit, "curves": curves, "names": ["x", "y", "z"], "joint": False}


HEADS = (
    *("joint", "position", "peak speed", "at", "of limit", "peak torque", "at", "of limit", "RMS torque"),
    *("peak power", "RMS power"),
)


def joint_rows(run: Any) -> list[tuple[str, ...]]:
    """Per joint: name, range, peak speed and torque, when, and the part of the limits they are, RMS torque, power."""
    rows: list[tuple[str, ...]] = []
    for i, (joint, use) in enumerate(zip(run.robot.joints, run.utilisation.joints, strict=True)):
        unit, force = ("m", "N") if joint.prismatic else ("rad", "N m")
        q, tau, power = run.places[:, i], run.tau[:, i], run.power[:, i]
        rows.append(
            (
                shown(joint.name),
                f"{tidy(q.min(), '.4g')} to {tidy(q.max(), '.4g')} {unit}",
                f"{use.peak_speed:.4g} {unit}/s",
                f"{use.peak_speed_at:.4g} s",
                use.of_speed,
                f"{use.peak_torque:.4g} {force}",
                f"{use.peak_torque_at:.4g} s",
                use.of_torque,
                f"{root_mean_square(run.t, tau):.4g} {force}",
                f"{np.abs(power).max():.4g} W",
                f"{root_mean_square(run.t, power):.4g} W",
            )
        )
    return rows


def joint_table(run: Any) -> str:
    """The rows as HTML, what is beyond a limit marked."""
    head = "".join(f"<th>{name}</th>" for name in HEADS)
    rows = ""
    for row, use in zip(joint_rows(run), run.utilisation.joints, strict=True):
        beyond = {4: use.too_slow, 7: use.too_weak}
        cells = (f"<td{BEYOND if beyond.get(k) else ''}>{escape(x)}</td>" for k, x in enumerate(row))
        rows += f"<tr>{''.join(cells)}</tr>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    found = (("Too weak", run.utilisation.too_weak), ("Too slow", run.utilisation.too_slow))
    said = "; ".join(f"{word}: {', '.join(map(shown, names))}" for word, names in found if names)
    return table + (f"<p{BEYOND}>{escape(said)}</p>" if said else "")


BEYOND = ' class="beyond"'


def root_mean_square(t: Array, values: Array) -> float:
    """Over time, by the trapezoidal rule."""
    if len(t) < 2:
        return float(np.abs(values[0]))
    return float(np.sqrt(np.trapezoid(values**2, t) / (t[-1] - t[0])))
