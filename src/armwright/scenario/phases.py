"""The [[phase]] tables of a scenario: each phase begins in the final state of the previous one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armwright import trajectory
from armwright.algebra import Array
from armwright.model import toml
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.scenario.events import event_of
from armwright.scenario.laws import default_law, law_of
from armwright.scenario.motions import trajectory_of
from armwright.simulation import Phase
from armwright.torque.conversion import law_for
from armwright.trajectory import Trajectory

PHASE_KEYS = ("name", "duration", "payload", "until", "trajectory", "torque")

PHASE_START_TOLERANCE = 1e-6
"""Largest gap in radians or metres between the end of a motion and the start of the next."""


@dataclass(frozen=True)
class ScenarioPhase:
    """A phase to simulate, and the motion that it follows, if any."""

    phase: Phase
    trajectory: Trajectory | None


def phases_of(
    top: Reader, arm: Robot, folder: Path, inside: Callable[[Reader, str], Reader]
) -> tuple[ScenarioPhase, ...]:
    """Return the phases of a file; `inside` reads a nested table."""
    listed, begin = top.data["phase"], None
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(table, Mapping) for table in listed):
        top.fail("phase", f"phase = {listed!r}: expected [[phase]] tables, at least one")
    if "torque" in top.data and all("torque" in table for table in listed):
        top.fail("torque", "every phase has its own; remove this one")
    if "q0" in top.data:
        begin = np.array(top.numbers("q0", arm.nq))
    phases: list[ScenarioPhase] = []
    for k, table in enumerate(listed):
        part = _numbered(table, top, k + 1)
        part.check_keys(PHASE_KEYS)
        arm = with_payload_of(arm, part)
        phases.append(_phase(part, top, arm, folder, begin, inside))
        begin = None if "until" in table else _end(phases[-1])
    return tuple(phases)


def _end(part: ScenarioPhase) -> Array | None:
    """Return the position at the end of a phase; None if it is not known beforehand."""
    motion, duration = part.trajectory, part.phase.duration
    if motion is None or part.phase.torque.reference is None:
        return None
    return motion(motion.end if duration is None else min(max(duration, motion.start), motion.end))[0]


def _numbered(table: Mapping[str, Any], top: Reader, k: int) -> Reader:
    return Reader(table, lambda key: f"{top.where(None)}, phase {k}{f', {key}' if key else ''}")


def _phase(
    part: Reader, top: Reader, arm: Robot, folder: Path, begin: Array | None, inside: Callable[[Reader, str], Reader]
) -> ScenarioPhase:
    motion = None
    duration = part.number("duration") if "duration" in part.data else None
    drive = next((inside(reader, "torque") for reader in (part, top) if "torque" in reader.data), None)
    if "trajectory" in part.data:
        motion = trajectory_of(inside(part, "trajectory"), arm, folder, begin)
        if begin is not None and float(np.max(np.abs(motion(motion.start)[0] - begin))) > PHASE_START_TOLERANCE:
            first = motion(motion.start)[0].tolist()
            part.fail("trajectory", f"it begins at {first}, but the robot is at {begin.tolist()}; begin there")
    elif "torque" not in part.data and begin is not None and duration is not None:
        motion = None if drive is not None and "target" in drive.data else trajectory.rest(begin, duration)
    if drive is None and motion is None:
        part.fail(None, "no motion; expected [phase.trajectory], [phase.torque], or a duration of rest")
    law = law_for(default_law(motion) if drive is None else law_of(drive, motion), arm)
    if "trajectory" in part.data and law.reference is None:
        part.fail("torque", "this law follows no trajectory; remove one of them, or choose a law that follows it")
    until = part.data.get("until", [])
    ends = [event_of(inside(Reader({"until": table}, part.where), "until"), arm) for table in _listed(until)]
    return ScenarioPhase(Phase(arm, law, duration, ends, part.text("name", "")), motion)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def with_payload_of(arm: Robot, table: Reader) -> Robot:
    """Return the robot with the payload of a table; mass 0 means no payload."""
    if "payload" not in table.data:
        return arm
    payload = table.data["payload"]
    if not isinstance(payload, Mapping) or "mass" not in payload or set(payload) - {"mass", "com", "inertia"}:
        table.fail("payload", f"payload = {payload!r}: expected {{mass = ..., com = [...], inertia = [...]}}")
    body = toml.read_payload(payload, lambda _key: table.where("payload"))
    return arm.with_payload(**vars(body)) if body.mass or "inertia" in payload else arm.without_payload()
