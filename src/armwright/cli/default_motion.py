"""The motion of `armwright simulate` and `torques` without a scenario: from options, or pick and place."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from armwright.cli.command import parse_numbers
from armwright.cli.output import report
from armwright.cli.scenario_tables import MOTION_LIMIT_KEYS, table_in, time_optimal_table
from armwright.errors import InputError
from armwright.names import shown
from armwright.robot import Robot
from armwright.scenario import MOTION_TYPES
from armwright.scenario.standard_motion import (
    FALL_DURATION,
    MotionSpeed,
    home,
    pace,
    pick_and_place_scenario,
    pick_and_place_speed,
)
from armwright.simulation.stiff_friction import method_for
from armwright.torque import LAWS
from armwright.trajectory import quintic

DEFAULT_SECONDS = 1.0
"""Seconds for a motion to a position without limits."""

PAYLOAD_SLOWDOWN = 2.0
"""The duration for --most-payload, relative to the fastest motion, which leaves no torque for a payload."""


@dataclass(frozen=True)
class MotionFlags:
    """The options of a motion as typed; `reserve` is the part of each limit that --fastest leaves."""

    begin: str | None
    end: str | None
    file: Path | None
    fastest: bool
    most_payload: bool
    reserve: float


@dataclass(frozen=True)
class ChosenMotion:
    """A motion as tables of a scenario, remaining changes, the text of its file if any, and a note on its duration."""

    tables: dict[str, Any]
    changes: dict[str, Any]
    text: str = ""
    note: str = ""


def choose_motion(arm: Robot, flags: MotionFlags, changes: Mapping[str, Any]) -> ChosenMotion:
    """Return computed torque along the motion of a file, or to a position, or along a pick-and-place motion."""
    seconds = _requested_duration(changes)
    begin, end = (_parse_position(arm, flag, text) for flag, text in (("--from", flags.begin), ("--to", flags.end)))
    requested = table_in(changes, "trajectory")
    if "phase" in changes or "type" in requested:
        return _motion_of_type(arm, changes, requested)
    begin = requested.get("from", begin)
    law = LAWS.get(name) if isinstance(name := table_in(changes, "torque").get("law"), str) else None
    free = law is not None and not law.follows
    for flag, given in (("--motion", flags.file), ("--to", flags.end), ("--fastest", flags.fastest or None)):
        if free and given is not None:
            raise InputError(f"{flag}: the law {name!r} follows no motion; remove one of them")
    motion_changes = {key: x for key, x in requested.items() if key not in ("from", "to")}
    limits = {key: motion_changes.pop(key) for key in MOTION_LIMIT_KEYS if flags.fastest and key in motion_changes}
    remaining = {key: x for key, x in changes.items() if key != "trajectory"}
    if not isinstance(changes.get("trajectory", {}), Mapping):
        remaining["trajectory"] = changes["trajectory"]  # an error is raised where it is read
    elif motion_changes:
        remaining["trajectory"] = motion_changes
    if flags.file is not None:
        if begin is not None or end is not None:
            flag = "--from" if end is None else "--to"
            raise InputError(f"{flag} and --motion both set the motion; remove one of them")
        sampled = {"type": "sampled", "file": str(flags.file.absolute())}
        motion = time_optimal_table({"along": sampled}, limits, flags.reserve) if flags.fastest else sampled
        return ChosenMotion({"trajectory": motion}, remaining)
    if end is not None:
        return _to_position(arm, flags, [home(arm) if begin is None else begin, end], seconds, limits, remaining)
    if free:
        q0 = home(arm) if begin is None else begin
        method = {"method": method_for(arm, np.array(q0), seconds or FALL_DURATION)}
        integrator = {} if "integrator" in changes else {"integrator": method}
        return ChosenMotion({"duration": FALL_DURATION, "q0": q0, **integrator}, remaining)
    if begin is not None and not arm.balls:
        raise InputError("--from is the start of a motion; expected --to as well, or --law free")
    return _picking(arm, flags, seconds, limits, remaining)


TomlTable: TypeAlias = Mapping[str, Any]


def _to_position(
    arm: Robot, flags: MotionFlags, ends: list[Any], seconds: float | None, limits: TomlTable, left: dict[str, Any]
) -> ChosenMotion:
    """Return a motion from one position to another."""
    if flags.fastest:
        motion = time_optimal_table({"from": ends[0], "to": ends[1]}, limits, flags.reserve)
        return ChosenMotion({"trajectory": motion}, left)
    left.pop("duration", None)
    duration, note = _chosen_duration(arm, flags, seconds, lambda arm: pace(arm, quintic([0.0, DEFAULT_SECONDS], ends)))
    motion = {"type": "quintic", "times": [0.0, duration], "points": ends}
    return ChosenMotion({"trajectory": motion}, left, note=f"to a position, {duration:g} s{note}")


def _picking(
    arm: Robot, flags: MotionFlags, seconds: float | None, limits: TomlTable, left: dict[str, Any]
) -> ChosenMotion:
    """Return pick and place; a robot with a free base falls."""
    left.pop("duration", None)
    if arm.balls:
        if flags.fastest or flags.most_payload:
            flag = "--fastest" if flags.fastest else "--most-payload"
            raise InputError(f"{flag}: {arm.name} falls, as its q has quaternions; expected a robot on a fixed base")
        text, note = pick_and_place_scenario(arm, seconds), ""
    elif flags.fastest:
        tables = tomllib.loads(pick_and_place_scenario(arm, 1.0))
        motion = time_optimal_table({"along": tables["trajectory"]}, limits, flags.reserve)
        return ChosenMotion({**tables, "trajectory": motion}, left)
    else:
        duration, reason = _chosen_duration(arm, flags, seconds, pick_and_place_speed)
        text, note = pick_and_place_scenario(arm, duration), f"pick and place, {duration:g} s{reason}"
    return ChosenMotion(tomllib.loads(text), left, text, note)


def _motion_of_type(arm: Robot, changes: Mapping[str, Any], requested: Mapping[str, Any]) -> ChosenMotion:
    """Return a motion of the type that --set names; it starts at home and lasts --duration unless these are set."""
    kind = MOTION_TYPES.get(str(requested.get("type")))
    defaults: dict[str, Any] = {}
    rest = dict(changes)
    if kind is not None and kind.begin == "from" and "from" not in requested and "to" in requested:
        defaults["from"] = home(arm)
    if kind is not None and "duration" in kind.required and "duration" not in requested and "duration" in changes:
        defaults["duration"] = rest.pop("duration")
    return ChosenMotion({"trajectory": defaults} if defaults else {}, rest)


def _chosen_duration(arm: Robot, flags: MotionFlags, seconds: float | None, speed_of: Any) -> tuple[float, str]:
    """Return the duration of a motion and the reason for it; with a payload, also the duration without."""
    if seconds is not None:
        return seconds, ""
    speed: MotionSpeed = speed_of(arm)
    if flags.most_payload and speed.limit:
        return PAYLOAD_SLOWDOWN * speed.duration, f", half as fast as {speed.limit} allows (--duration sets another)"
    empty = speed_of(arm.without_payload()).duration if arm.payload is not None else speed.duration
    without = f"; {empty:g} s with an empty hand" if empty != speed.duration else ""
    return speed.duration, f", {speed} (--duration sets another{without})"


def _requested_duration(changes: Mapping[str, Any]) -> float | None:
    """Return the requested duration, or None."""
    given = changes.get("duration")
    if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < np.inf):
        raise InputError(f"duration = {given!r}: expected seconds, above zero")
    return given


def _parse_position(arm: Robot, flag: str, text: str | None) -> list[float] | None:
    """Return a typed position, one number for each joint; print a warning if they look like degrees."""
    if text is None:
        return None
    q = parse_numbers(flag, text)
    if len(q) != arm.nq:
        names = ", ".join(shown(joint.name) for joint in arm.joints)
        raise InputError(f"{flag} {text}: {len(q)} numbers; expected {arm.nq}, as {arm.name} has {names}")
    for joint, x in zip(arm.joints, q, strict=False):
        low, high = joint.limits or (-2 * math.tau, 2 * math.tau)
        if not (joint.prismatic or arm.balls) and not low <= x <= high and low <= math.radians(x) <= high < abs(x) / 2:
            position = f"{shown(joint.name)} at {x:g} rad is far beyond {low:.4g} to {high:.4g}"
            hint = f"are these degrees? {x:g} degrees are {math.radians(x):.4g} rad"
            report("warning", "yellow", f"{flag}: {position}; {hint}")
            break
    return q
