"""The motion of `armwright simulate` and `torques` without a scenario: that of options, or pick and place."""

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
"""The duration relative to the fastest motion at which the most payload is sought; the fastest leaves none."""


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
    told: str = ""


def choose_motion(arm: Robot, flags: MotionFlags, changes: Mapping[str, Any]) -> ChosenMotion:
    """Return computed torque along the motion of a file, or to a position, or along a pick-and-place motion."""
    seconds = _requested_duration(changes)
    begin, end = (_parse_position(arm, flag, text) for flag, text in (("--from", flags.begin), ("--to", flags.end)))
    said, rest = table_in(changes, "trajectory"), {key: x for key, x in changes.items() if key != "trajectory"}
    if "phase" in changes or "type" in said:
        return _motion_of_type(arm, changes, said)
    begin = said.get("from", begin)
    law = LAWS.get(name) if isinstance(name := table_in(changes, "torque").get("law"), str) else None
    falls = law is not None and not law.follows
    for flag, given in (("--motion", flags.file), ("--to", flags.end), ("--fastest", flags.fastest or None)):
        if falls and given is not None:
            raise InputError(f"{flag}: the law {name!r} follows no motion; leave one of them out")
    others = {key: x for key, x in said.items() if key not in ("from", "to")}
    limits = {key: others.pop(key) for key in MOTION_LIMIT_KEYS if flags.fastest and key in others}
    left = dict(rest)
    if not isinstance(changes.get("trajectory", {}), Mapping):
        left["trajectory"] = changes["trajectory"]  # an error is raised where it is read
    elif others:
        left["trajectory"] = others
    if flags.file is not None:
        if begin is not None or end is not None:
            flag = "--from" if end is None else "--to"
            raise InputError(f"{flag} and --motion both say where it goes; leave one of them out")
        return _along_file(flags, flags.file, limits, left)
    if end is not None:
        return _to_position(arm, flags, [home(arm) if begin is None else begin, end], seconds, limits, left)
    if falls:
        q0 = home(arm) if begin is None else begin
        chosen = {"method": method_for(arm, np.array(q0), seconds or FALL_DURATION)}
        how = {} if "integrator" in changes else {"integrator": chosen}
        return ChosenMotion({"duration": FALL_DURATION, "q0": q0, **how}, left)
    if begin is not None and not arm.balls:
        raise InputError("--from says where a motion begins; expected --to as well, or --law free")
    return _picking(arm, flags, seconds, limits, left)


TomlTable: TypeAlias = Mapping[str, Any]


def _along_file(flags: MotionFlags, file: Path, limits: TomlTable, left: dict[str, Any]) -> ChosenMotion:
    sampled = {"type": "sampled", "file": str(file.absolute())}
    return ChosenMotion(
        {"trajectory": time_optimal_table({"along": sampled}, limits, flags.reserve) if flags.fastest else sampled},
        left,
    )


def _to_position(
    arm: Robot, flags: MotionFlags, ends: list[Any], seconds: float | None, limits: TomlTable, left: dict[str, Any]
) -> ChosenMotion:
    """Return a motion from one position to another."""
    if flags.fastest:
        return ChosenMotion(
            {"trajectory": time_optimal_table({"from": ends[0], "to": ends[1]}, limits, flags.reserve)}, left
        )
    left.pop("duration", None)
    lasts, told = _chosen_duration(arm, flags, seconds, lambda held: pace(held, quintic([0.0, DEFAULT_SECONDS], ends)))
    motion = {"type": "quintic", "times": [0.0, lasts], "points": ends}
    return ChosenMotion({"trajectory": motion}, left, told=f"to a position, {lasts:g} s{told}")


def _picking(
    arm: Robot, flags: MotionFlags, seconds: float | None, limits: TomlTable, left: dict[str, Any]
) -> ChosenMotion:
    """Return pick and place; a robot with a free base falls."""
    left.pop("duration", None)
    if arm.balls:
        if flags.fastest or flags.most_payload:
            flag = "--fastest" if flags.fastest else "--most-payload"
            raise InputError(
                f"{flag}: {arm.name} has no motion to follow: it falls, as q has quaternions; fix its base"
            )
        text, told = pick_and_place_scenario(arm, seconds), ""
    elif flags.fastest:
        tables = tomllib.loads(pick_and_place_scenario(arm, 1.0))
        return ChosenMotion(
            {**tables, "trajectory": time_optimal_table({"along": tables["trajectory"]}, limits, flags.reserve)}, left
        )
    else:
        lasts, how = _chosen_duration(arm, flags, seconds, pick_and_place_speed)
        text, told = pick_and_place_scenario(arm, lasts), f"pick and place, {lasts:g} s{how}"
    return ChosenMotion(tomllib.loads(text), left, text, told)


def _motion_of_type(arm: Robot, changes: Mapping[str, Any], said: Mapping[str, Any]) -> ChosenMotion:
    """Return a motion whose type --set names: by default it begins at home and lasts --duration."""
    kind = MOTION_TYPES.get(str(said.get("type")))
    own: dict[str, Any] = {}
    rest = dict(changes)
    if kind is not None and kind.begin == "from" and "from" not in said and "to" in said:
        own["from"] = home(arm)
    if kind is not None and "duration" in kind.required and "duration" not in said and "duration" in changes:
        own["duration"] = rest.pop("duration")
    return ChosenMotion({"trajectory": own} if own else {}, rest)


def _chosen_duration(arm: Robot, flags: MotionFlags, seconds: float | None, paced: Any) -> tuple[float, str]:
    """Return the duration of a motion and the reason for it; with a payload, also the duration without."""
    if seconds is not None:
        return seconds, ""
    chosen: MotionSpeed = paced(arm)
    if flags.most_payload and chosen.limit:
        return PAYLOAD_SLOWDOWN * chosen.duration, f", half as brisk as {chosen.limit} allows (--duration says another)"
    empty = paced(arm.without_payload()).duration if arm.payload is not None else chosen.duration
    without = f"; {empty:g} s with an empty hand" if empty != chosen.duration else ""
    return chosen.duration, f", {chosen} (--duration says another{without})"


def _requested_duration(changes: Mapping[str, Any]) -> float | None:
    """Return the requested duration, or None."""
    given = changes.get("duration")
    if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < np.inf):
        raise InputError(f"duration = {given!r}: expected seconds, above zero")
    return given


def _parse_position(arm: Robot, flag: str, text: str | None) -> list[float] | None:
    """Return a typed position, one number for each joint; a warning asks about numbers that look like degrees."""
    if text is None:
        return None
    q = parse_numbers(flag, text)
    if len(q) != arm.nq:
        names = ", ".join(shown(joint.name) for joint in arm.joints)
        raise InputError(f"{flag} {text}: {len(q)} numbers; expected {arm.nq}, as {arm.name} has {names}")
    for joint, x in zip(arm.joints, q, strict=False):
        low, high = joint.limits or (-2 * math.tau, 2 * math.tau)
        if not (joint.prismatic or arm.balls) and not low <= x <= high and low <= math.radians(x) <= high < abs(x) / 2:
            there = f"{shown(joint.name)} at {x:g} rad is far beyond {low:.4g} to {high:.4g}"
            report(
                "warning", "yellow", f"{flag}: {there}; are these degrees? {x:g} degrees are {math.radians(x):.4g} rad"
            )
            break
    return q
