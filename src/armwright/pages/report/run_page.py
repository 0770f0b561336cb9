"""The page of a run: an animation of the robot, curves, the load of every joint, the audit."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.names import shown, tidy
from armwright.pages.report.html import escape, fill_template, json_data, packaged_text
from armwright.pages.report.plot import COLOURS

MAX_CURVE_RECORDS, MAX_CURVE_NUMBERS, MIN_RECORDS = 2000, 110_000, 200
"""The largest number of points of a curve, of numbers on a page, and the smallest number of points."""

STANDARD_GRAVITY, GRAVITY_TOLERANCE = 9.81, 0.03
"""m/s^2: gravity that the heading does not mention."""


def page(run: Any, picture: Mapping[str, Any], title: str, scenario: str = "") -> str:
    """Return the page of a `Run` with the `picture` of its robot; `scenario` is the file that repeats it."""
    per_joint = 5 + 3 * (run.reference is not None) + 2 * bool(run.stop_torque.size)
    records = sampled_records(len(run.t), MAX_CURVE_NUMBERS // (per_joint * run.robot.n))
    data = {
        "file": re.sub(r"[^\w.-]+", "_", title).strip("._") or "run",
        "joints": list(_joints(run)),
        "t": base64_text(run.t[records], "<f8"),
        "charts": list(_charts(run, records)),
        "events": [{"name": shown(event.name), "t": float(event.t)} for event in run.events],
        "picture": dict(picture),
    }
    rerun = f"<details><summary>To repeat the run</summary><pre>{escape(scenario, lines=True)}</pre></details>"
    trusted = run.audit.trustworthy
    values = {
        "kind": "simulation" if run.audit.integrated else "torques along a motion",
        "title": escape(title),
        "facts": "".join(_facts(run)),
        "table": joint_table(run),
        "audit": "".join(f"<li>{escape(line)}</li>" for line in str(run.audit).splitlines()),
        "verdict": run.audit.verdict,
        "badge": "good" if trusted else "bad",
        "open": "" if trusted else " open",
        "key": _line_legend(run),
        "notes": "".join(f'<p class="soft">{escape(note)}</p>' for note in picture.get("notes", ())),
        "scenario": rerun if scenario else "",
        "data": json_data(data),
    }
    return fill_template(packaged_text("page.html"), values)


def base64_text(values: ArrayLike, kind: str = "<f4") -> str:
    """Return numbers as base64 text of their little-endian bytes."""
    with np.errstate(over="ignore"):  # infinite numbers are not drawn
        return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def sampled_records(count: int, limit: int) -> Array:
    """Return the indices of evenly spaced records, the first and the last among them."""
    number = min(count, MAX_CURVE_RECORDS, max(limit, MIN_RECORDS))
    return np.unique(np.linspace(0, count - 1, number).round().astype(int))


def _facts(run: Any) -> Iterable[str]:
    """Yield the facts in the heading of the page, as HTML."""
    s, arm = run.settings, run.robot
    base = " and a free base" if len(run.driven) < arm.n else ""
    yield _fact("joints", f"{len(run.driven)}{base}")
    for phase in run.phases or (run,):
        if (held := phase.robot.payload) is not None:
            com = ", ".join(f"{x:.4g}" for x in held.com)
            where = f" at ({com}) m of the tool" if any(held.com) else ""
            when = f" from {phase.t[0]:.4g} to {phase.t[-1]:.4g} s" if run.phases else ""
            yield _fact("payload", f"{held.mass:g} kg{where}{when}")
    if any(row.viscous or row.coulomb for row in arm.rows):
        yield _fact("friction", "included")
    if (words := _gravity_text(arm.gravity)) is not None:
        yield _fact("gravity", words, "warn")
    yield _fact("time", f"{run.t[0]:g} to {run.t[-1]:g} s" if run.t[0] else f"{run.t[-1]:g} s")
    if run.ended_by:
        yield _fact("ended by", f"{shown(run.ended_by)!r} at {run.t[-1]:.4g} s", "warn")
    passed = [event for event in run.events if event.name != run.ended_by]
    if passed:
        yield _fact("events", ", ".join(f"{shown(event.name)} at {event.t:.4g} s" for event in passed[:8]))
    if run.message:
        yield _fact("stopped", run.message, "warn")
    how = f"step {s['step']:g} s" if "step" in s else f"tolerance {s['rtol']:g}" if "rtol" in s else ""
    if by := ", ".join(filter(None, (s.get("integrator", ""), how))):
        yield _fact("integrator", by)
    if run.statistics.accepted:
        yield _fact("took", str(run.statistics))


def _fact(word: str, text: str, mark: str = "") -> str:
    return f"<li{f' class={mark}' if mark else ''}>{escape(word)} <b>{escape(text)}</b></li>"


def _gravity_text(gravity: Iterable[float]) -> str | None:
    """Return gravity as text; None if it is that of the earth and points down."""
    x, y, z = gravity
    if abs(z + STANDARD_GRAVITY) <= GRAVITY_TOLERANCE and x == y == 0:
        return None
    return "none" if x == y == z == 0 else f"({x:.4g}, {y:.4g}, {z:.4g}) m/s²"


def _line_legend(run: Any) -> str:
    """Return the legend of dashed and dotted lines, as HTML."""
    words = ["dashed: the limit"] * any(joint.max_torque is not None or joint.limits for joint in run.robot.joints)
    words += ["dotted: the reference"] * (run.reference is not None)
    return escape(", ".join(words)) + '<span class="hint"> · drag in a chart to enlarge, double-click to go back</span>'


def _joints(run: Any) -> Iterable[dict[str, Any]]:
    """Yield names, units and colours of the joints; a free base that nothing drives is hidden at first."""
    driven = set(run.driven)
    for i, joint in enumerate(run.robot.joints):
        unit, force = joint_units(joint)
        colour = COLOURS[i % len(COLOURS)]
        yield {"name": shown(joint.name), "unit": unit, "force": force, "colour": colour, "driven": i in driven}


def joint_units(joint: Any) -> tuple[str, str]:
    """Return the units of position and of force of a joint."""
    return ("m", "N") if joint.prismatic else ("rad", "N m")


def _charts(run: Any, records: Array) -> Iterable[dict[str, Any]]:
    """Yield the charts: a title, a unit, and a curve for each joint with its limits, or named curves."""
    joints, targets = run.robot.joints, run.reference or (None, None, None)
    straight = all(not joint.prismatic for joint in joints)
    unit, force = ("rad", "N m") if straight else ("rad or m", "N m or N")
    ranges = [_finite_limits(joint.limits) for joint in joints]
    speeds = [_symmetric_limits(joint.max_velocity) for joint in joints]
    torques = [_symmetric_limits(joint.max_torque) for joint in joints]
    unit_per = unit if straight else "rad, m"
    stops: tuple[Any, ...] = ()
    if run.stop_torque.size:
        stops = (
            ("Torque of stops, at the records", "stop_torque", force, run.stop_torque, None, None),
            ("Power of stops, at the records", "stop_power", "W", run.stop_torque * run.qd, None, None),
        )
    for title, column, what, values, target, limits in (
        ("Position", "q", unit, run.places, targets[0], ranges),
        ("Velocity", "qd", f"{unit_per} per s", run.qd, targets[1], speeds),
        ("Acceleration", "qdd", f"{unit_per} per s²", run.qdd, targets[2], None),
        ("Torque", "tau", force, run.tau, None, torques),
        ("Power", "power", "W", run.power, None, None),
        *stops,
    ):
        dashed = {} if target is None else {"dashed": base64_text(target[records].T)}
        bounded = {"limits": limits} if limits and any(limits) else {}
        named = {"title": title, "column": column, "unit": what, "joint": True}
        yield {**named, "curves": base64_text(values[records].T), **dashed, **bounded}
    energies = {"kinetic": run.kinetic, "potential": run.potential - run.potential[0], "work": run.work}
    if np.any(run.losses):
        energies["losses"] = run.losses
    yield _named_chart("Energy", "J", energies, records)
    yield _named_chart("Energy missing", "J", {"work - losses - change of energy": run.audit.energy_defect}, records)
    if (momentum := run.audit.momentum) is not None:
        for title, unit, defect in (
            ("Momentum missing", "kg m/s", momentum.linear_defect),
            ("Angular momentum missing", "kg m²/s", momentum.angular_defect),
        ):
            yield _named_chart(title, unit, dict(zip("xyz", defect.T, strict=True)), records)


def _named_chart(title: str, unit: str, curves: Mapping[str, Array], records: Array) -> dict[str, Any]:
    values = base64_text(np.stack([curve[records] for curve in curves.values()]))
    return {"title": title, "unit": unit, "curves": values, "names": list(curves), "joint": False}


def _finite_limits(limits: Any) -> list[float] | None:
    """Return two finite limits, or None."""
    return [float(x) for x in limits] if limits is not None and np.isfinite(limits).all() else None


def _symmetric_limits(limit: float | None) -> list[float] | None:
    return None if limit is None or not 0 < limit < np.inf else [-float(limit), float(limit)]


JOINT_HEADS = (
    *("joint", "position", "peak speed", "at", "of limit", "peak torque", "at", "of limit", "RMS torque"),
    *("peak power", "RMS power"),
)


def joint_rows(run: Any) -> list[tuple[str, ...]]:
    """Return a row per joint: name, range, peak speed and torque with times and shares of limits, RMS torque, power."""
    rows: list[tuple[str, ...]] = []
    for i, (joint, use) in enumerate(zip(run.robot.joints, run.utilisation.joints, strict=True)):
        unit, force = joint_units(joint)
        q, tau, power = run.places[:, i], run.tau[:, i], run.power[:, i]
        rows.append(
            (
                shown(joint.name),
                f"{tidy(q.min(), '.4g')} to {tidy(q.max(), '.4g')} {unit}",
                f"{tidy(use.peak_speed, '.4g')} {unit}/s",
                f"{use.peak_speed_at:.4g} s",
                use.of_speed,
                f"{tidy(use.peak_torque, '.4g')} {force}",
                f"{use.peak_torque_at:.4g} s",
                use.of_torque,
                f"{tidy(root_mean_square(run.t, tau), '.4g')} {force}",
                f"{tidy(np.abs(power).max(), '.4g')} W",
                f"{tidy(root_mean_square(run.t, power), '.4g')} W",
            )
        )
    return rows


JOINT_TABLE_HEADS = ("joint", "peak torque", "peak speed", "peak power", "position")


def joint_table(run: Any) -> str:
    """Return the table of joints as HTML: peaks, their times, and shares of the limits as bars."""
    head = "".join(f'<th scope="col">{name}</th>' for name in JOINT_TABLE_HEADS)
    rows = "".join(_joint_row(run, i) for i in run.driven)
    table = (
        '<div class="scroll" tabindex="0" role="region" aria-label="The joints">'
        "<table><caption><h2>Load of the joints "
        '<span class="soft jump-hint">click a time to show the robot at that time</span></h2></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    exceeded = (("Too weak", run.utilisation.too_weak), ("Too slow", run.utilisation.too_slow))
    warning = "; ".join(f"{word}: {', '.join(map(shown, names))}" for word, names in exceeded if names)
    return table + (f"<p{EXCEEDED_ATTRIBUTE}>{escape(warning)}</p>" if warning else "")


def _joint_row(run: Any, i: int) -> str:
    joint, use = run.robot.joints[i], run.utilisation.joints[i]
    (unit, force), name, power = joint_units(joint), escape(joint.name), run.power[:, i]
    mean, mean_power = root_mean_square(run.t, run.tau[:, i]), root_mean_square(run.t, power)
    peak_speed, peak_torque = f"{tidy(use.peak_speed, '.3g')} {unit}/s", f"{tidy(use.peak_torque, '.3g')} {force}"
    speed = _peak_cell(peak_speed, use.peak_speed_at, "", use.speed, use.of_speed, use.too_slow)
    words = f"RMS {tidy(mean, '.3g')}, "
    torque = _peak_cell(peak_torque, use.peak_torque_at, words, use.torque, use.of_torque, use.too_weak)
    return (
        f'<tr><th scope="row" title="{name}"><i class="dot" data-joint="{i}"></i>{name}</th>'
        f"{torque}{speed}<td>{tidy(np.abs(power).max(), '.3g')} W<small>RMS {tidy(mean_power, '.3g')} W</small></td>"
        f"{_range_cell(run.places[:, i], joint, unit, _stop_note(run, i, unit, force))}</tr>"
    )


def _stop_note(run: Any, i: int, unit: str, force: str) -> str:
    """Return when a joint first hit its stop, and its largest depth and torque; "" if it hit none."""
    if run.stops is None or not run.stops.hit[i]:
        return ""
    stops = run.stops
    contact = f"stop hit {_time_button(stops.hit_at[i])}, pressed in by {tidy(stops.depth[i], '.3g')} {unit}"
    return f"<small>{contact}, up to {tidy(stops.torque[i], '.3g')} {force}</small>"


EXCEEDED_ATTRIBUTE = ' class="beyond"'
WARNING_SHARE = 0.8
"""The share of a limit from which its bar is yellow."""


def _peak_cell(value: str, at: float, mean: str, part: float | None, words: str, beyond: bool) -> str:
    """Return the cell of a peak: its value, its time and its share of the limit."""
    when = _time_button(at)
    if part is None:
        return f"<td>{value}<small>{mean}{when}</small><small>no limit</small></td>"
    mark = " full" if beyond else " near" if part >= WARNING_SHARE else ""
    used_width = 100 * min(max(part, 0.0), 1.0)
    bar = (
        f'<svg class="meter{mark}" viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="100" height="5" rx="2"/><rect width="{used_width:.1f}" height="5" rx="2"/></svg>'
    )
    attribute = EXCEEDED_ATTRIBUTE if beyond else ""
    return f"<td{attribute}>{value}<small>{mean}{when}</small>{bar}<small>{escape(words)}</small></td>"


def _time_button(at: float) -> str:
    """Return a button that shows the robot at a time; "" if the time is not finite."""
    return f'<button class="jump" data-t="{at:.9g}">at {at:.3g} s</button>' if np.isfinite(at) else ""


def _range_cell(q: Array, joint: Any, unit: str, stopped: str) -> str:
    """Return the cell with the range of a joint, its limits and its stop."""
    words, limits = f"{tidy(q.min(), '.3g')} to {tidy(q.max(), '.3g')} {unit}", _finite_limits(joint.limits)
    if limits is None:
        return f"<td>{words}{stopped}</td>"
    low, high = limits
    attribute = EXCEEDED_ATTRIBUTE if q.min() < low - 1e-9 or q.max() > high + 1e-9 else ""
    return f"<td{attribute}>{words}<small>limits {low:.3g} to {high:.3g}</small>{stopped}</td>"


def root_mean_square(t: Array, values: Array) -> float:
    """Return the root mean square over time, by the trapezoidal rule."""
    if len(t) < 2:
        return float(np.abs(values[0]))
    return float(np.sqrt(np.trapezoid(values**2, t) / (t[-1] - t[0])))
