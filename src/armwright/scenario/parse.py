"""Reading of a scenario file: its robot, its motion, and the options of the simulation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from armwright.errors import InputError, ModelError
from armwright.files import contents, missing
from armwright.load import load
from armwright.model.table_reader import Reader
from armwright.model.toml_lines import MAX_TOML_BYTES, parse_toml
from armwright.robot import Robot
from armwright.scenario.events import event_of, stops_of
from armwright.scenario.laws import default_law, law_of
from armwright.scenario.motions import trajectory_of
from armwright.scenario.phases import ScenarioPhase, phases_of, with_payload_of
from armwright.scenario.standard_motion import pick_and_place_scenario, pick_and_place_speed
from armwright.simulation import Phase, Run, simulate, simulate_phases, torques_along
from armwright.simulation.integration_settings import check_records, check_seconds
from armwright.simulation.joined_runs import shifted
from armwright.torque import Friction, Law
from armwright.torque.conversion import law_for
from armwright.torque.law import Sum
from armwright.trajectory import Trajectory

NUMBER_KEYS = ("duration", "every", "start", "smooth")
SIMULATE_KEYS = (*NUMBER_KEYS[:2], "q0", "qd0", *NUMBER_KEYS[2:])
"""Options of `simulate` with the same names."""

INTEGRATOR_KEYS = ("method", "rtol", "atol", "step", "max_step")
MOTION_KEYS = ("duration", "q0", "qd0", "start", "trajectory", "torque", "phase")
"""Keys of the motion: without any of them the robot picks and places."""

SCENARIO_KEYS = (
    *("robot", "gravity", "payload", *SIMULATE_KEYS, "stops", "integrator", "trajectory", "torque", "event", "phase"),
)
"""The keys of a scenario."""

ROBOT_TABLE_KEYS = ("file", "base", "tip", "locked", "packages", "mappings", "floating")
"""Keys of a robot that is a table: its file, and arguments of `load`."""

KEYS_OF_OTHER_FILES = ("link", "convention", "vary", "motion", "motor", "gearbox", "cylinder")
"""Keys of other files than scenarios: robots, studies, sizing files, catalogues."""

KEYS_OF_PHASES = ("duration", "trajectory", "start")
"""Keys that belong into each phase."""


@dataclass(frozen=True)
class Scenario:
    """A scenario ready for `simulate`; with `phases`, law and trajectory are those of the first."""

    robot: Robot
    law: Law
    trajectory: Trajectory | None
    options: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    phases: tuple[ScenarioPhase, ...] = ()
    kind: str = ""
    """The type of its [trajectory]."""
    pace: str = ""
    """A description of the default motion and its duration; empty for a motion of the file."""

    @property
    def besides(self) -> Law | None:
        """The friction of its law, in addition to the robot's own."""
        return _friction(self.law)

    @property
    def parts(self) -> tuple[ScenarioPhase, ...]:
        """The phases in their order."""
        return self.phases or (
            ScenarioPhase(Phase(self.robot, self.law, self.options.get("duration")), self.trajectory),
        )

    def simulate(self) -> Run:
        """Return the simulated motion."""
        if not self.phases:
            return simulate(self.robot, self.law, **self.options)
        return simulate_phases([part.phase for part in self.phases], **self.options)

    def torques(self) -> Run:
        """Return the torques along its trajectory, or along those of its phases, by inverse dynamics."""
        runs: list[Run] = []
        for k, part in enumerate(self.parts, start=1):
            if part.trajectory is None:
                where = f"phase {k}" if self.phases else "the scenario"
                raise InputError(f"torques need a motion: {where} has no [trajectory]")
            every, motion, duration = self.options.get("every", 0.01), part.trajectory, part.phase.duration
            if self.phases and duration is not None and duration < motion.end:
                raise InputError(f"phase {k} lasts {duration:g} s, its motion {motion.end:g} s; torques need all of it")
            check_seconds("every", every)
            check_records(motion.duration, every)
            run = torques_along(part.phase.robot, motion, every, friction_law=_friction(part.phase.torque))
            runs.append(shifted(run, float(runs[-1].t[-1] - run.t[0])) if runs else run)
        return Run.joined(runs)


def _friction(law: Law) -> Law | None:
    """Return the friction laws of a law as one; None if it has none."""
    laws = tuple(part for part in law.parts if isinstance(part, Friction))
    return Sum(laws) if laws else None


def read(path: str | Path, robot: str | Robot | None = None) -> Scenario:
    """Return the scenario of a file, for the robot that it names or for `robot`."""
    data, text = read_data(path)
    return scenario_from_tables(data, robot, str(path), Path(path).parent, text)


def read_data(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the tables of a scenario and the text of its file."""
    text = text_of(path)
    return parse_toml(text, str(path)), text


def text_of(path: str | Path) -> str:
    """Return the text of a scenario file; raise `ModelError` if it cannot be read."""
    if wrong := missing(path, "a scenario, a .toml file (docs/simulation.md)"):
        raise ModelError(wrong)
    try:
        return contents(path, MAX_TOML_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"cannot read the scenario {path}: {reason}; expected a .toml file as UTF-8 text") from None


def merged(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables with some of their keys changed."""
    result = dict(data)
    for key, value in changes.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def parse(text: str, robot: str | Robot | None = None, file: str = "scenario", folder: Path = Path()) -> Scenario:
    """Return the scenario of a TOML text."""
    return scenario_from_tables(parse_toml(text, file), robot, file, folder, text)


def scenario_from_tables(
    data: Mapping[str, Any], robot: str | Robot | None, file: str, folder: Path = Path(), text: str = ""
) -> Scenario:
    """Return the scenario of the tables of a file with its `text`; numbers of the law may be (rollouts, joints)."""
    top = Reader(data, lambda key: f"{file}{f', {key}' if key else ''}")
    top.check_keys(SCENARIO_KEYS)
    arm = with_payload_of(robot if isinstance(robot, Robot) else _loaded(robot, top, file, folder), top)
    arm = arm.with_gravity(data["gravity"]) if "gravity" in data else arm
    if not set(MOTION_KEYS) & set(data):
        speed = None if arm.balls else pick_and_place_speed(arm)
        default = pick_and_place_scenario(arm, None if speed is None else speed.duration)
        scenario = scenario_from_tables({**parse_toml(default, file), **data}, arm, file, folder, text or default)
        return replace(scenario, pace="" if speed is None else f"pick and place, {speed.duration:g} s, {speed}")
    options = _options(top, arm)
    if "phase" in data:
        for key in (key for key in KEYS_OF_PHASES if key in data):
            top.fail(key, f"{key} belongs to a phase; expected it below [[phase]]")
        phases = phases_of(top, arm, folder, _inside)
        return Scenario(arm, phases[0].phase.torque, phases[0].trajectory, options, text, phases)
    motion = trajectory_of(_inside(top, "trajectory"), arm, folder) if "trajectory" in data else None
    law = law_for(law_of(_inside(top, "torque"), motion) if "torque" in data else default_law(motion), arm)
    kind = "" if motion is None else str(data["trajectory"]["type"])
    return Scenario(arm, law, motion, {**_start_of(law, motion), **options}, text, kind=kind)


def _start_of(law: Law, motion: Trajectory | None) -> dict[str, Any]:
    """Return start and duration where the law does not follow the trajectory of the file."""
    if motion is None or law.reference is not None:
        return {}
    q, qd, _ = motion(motion.start)
    return {"q0": q, "qd0": qd, "duration": motion.duration}


def _options(top: Reader, arm: Robot) -> dict[str, Any]:
    """Return the options of `simulate`."""
    options: dict[str, Any] = {key: top.number(key) for key in NUMBER_KEYS if key in top.data}
    options |= {key: top.numbers(key, size) for key, size in (("q0", arm.nq), ("qd0", arm.n)) if key in top.data}
    if "integrator" in top.data:
        part = _inside(top, "integrator")
        part.check_keys(INTEGRATOR_KEYS)
        options |= {"integrator": part.text("method", "")} if "method" in part.data else {}
        options |= {key: part.number(key) for key in INTEGRATOR_KEYS[1:] if key in part.data}
    if "stops" in top.data:
        options["stops"] = stops_of(top, arm)
    if "event" in top.data:
        listed = top.data["event"]
        if not isinstance(listed, list):
            top.fail("event", f"event = {listed!r}: expected [[event]] tables")
        options["events"] = [event_of(_inside(Reader({"event": table}, top.where), "event"), arm) for table in listed]
    return options


def _loaded(robot: str | None, top: Reader, file: str, folder: Path) -> Robot:
    if robot:
        return load(robot)
    if not top.data.get("robot"):
        raise ModelError(f'{file}: no robot; give robot = "puma560", or name one on the command line')
    return robot_in(top, folder)


def robot_in(top: Reader, folder: Path) -> Robot:
    """Return the robot that a file names: a packaged one, a file, or a table of a file and options of `load`."""
    given = top.data["robot"]
    options: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {"file": top.text("robot", "")}
    part = Reader(options, lambda _key: top.where("robot"))
    part.check_keys(ROBOT_TABLE_KEYS)
    name = part.text("file", part.need("file"))
    path = folder / name
    arguments = {key: value for key, value in options.items() if key != "file"}
    try:
        return load(path if Path(name).suffix and path.exists() else name, **arguments)
    except ModelError as error:
        raise ModelError(f"{top.where('robot')}: {error}") from None


def is_scenario(path: Path, others: Collection[str] = KEYS_OF_OTHER_FILES[:2]) -> bool:
    """Return True for a TOML file without a key of `others`, by default the keys of other kinds of files."""
    return path.suffix == ".toml" and path.is_file() and not set(others) & set(parse_toml(text_of(path), path.name))


def scenarios_in(folder: Path) -> list[Path]:
    """Return the scenarios of a folder, which may also contain robots, studies and catalogues."""
    return [path for path in sorted(folder.glob("*.toml")) if is_scenario(path, KEYS_OF_OTHER_FILES)]


def _inside(top: Reader, name: str) -> Reader:
    value = top.data[name]
    if not isinstance(value, Mapping):
        top.fail(name, f"{name} = {value!r} is not a table; write [{name}] and its keys below")
    return Reader(value, lambda key: f"{top.where(None)}, [{name}]{f' {key}' if key else ''}")


def pick_and_place(arm: Robot, seconds: float | None = None) -> Scenario:
    """Return the pick and place of any robot within the limits of its joints (`standard_motion`)."""
    return parse(pick_and_place_scenario(arm, seconds), arm)
