"""The arguments of `armwright simulate` and `armwright torques`: scenarios, and options in place of their keys."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from armwright.cli.argument_checks import is_number
from armwright.cli.command import RobotOptions, complete_from, parse_numbers, robot_with_visuals
from armwright.cli.default_motion import MotionFlags, choose_motion
from armwright.cli.page_names import page_mark, page_path, payload_suffix
from armwright.cli.scenario_tables import as_toml, time_optimal_scenario, with_changes
from armwright.errors import InputError
from armwright.load import packaged
from armwright.robot import Robot
from armwright.scenario import Scenario, is_scenario, read_data, scenario_from_tables, scenarios_in
from armwright.scenario.parse import MOTION_KEYS, merged
from armwright.simulation.integration_settings import integrator_names
from armwright.torque import LAWS

TABLE_SUFFIXES = (".csv", ".parquet")
ROBOT_SUFFIXES = (".urdf", ".xacro", ".xml")
SCENARIO_PANEL = "In place of keys of the scenario"


def _scenario_option(*flags: str, **settings: Any) -> Any:
    return typer.Option(*flags, rich_help_panel=SCENARIO_PANEL, **settings)


ScenarioFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(help="Scenario files (docs/simulation.md); without, pick and place.", show_default=False),
]
Begin: TypeAlias = Annotated[str | None, _scenario_option("--from", metavar="Q1,Q2,..", help="Its start: rad, or m.")]
End: TypeAlias = Annotated[str | None, _scenario_option("--to", metavar="Q1,Q2,..", help="Its end: rad, or m.")]
Duration: TypeAlias = Annotated[float | None, _scenario_option(help="Seconds.")]
Every: TypeAlias = Annotated[float | None, _scenario_option(help="Seconds between records.")]
LawName: TypeAlias = Annotated[
    str | None,
    _scenario_option(help="The torque law: free, pd, feed_forward, ...", autocompletion=complete_from(lambda: LAWS)),
]
Integrator: TypeAlias = Annotated[
    str | None, _scenario_option(help="dop853, rk4, radau, ...", autocompletion=complete_from(integrator_names))
]
Rtol: TypeAlias = Annotated[float | None, _scenario_option(help="Error allowed per step.")]
Step: TypeAlias = Annotated[float | None, _scenario_option(help="Seconds of a fixed step.")]
Stops: TypeAlias = Annotated[bool | None, _scenario_option("--stops", help="Stops at the limits of the joints.")]
SetOptions: TypeAlias = Annotated[
    list[str] | None, _scenario_option("--set", metavar="KEY=VALUE", help="Any other key: torque.kp=50. Repeat.")
]
Fastest: TypeAlias = Annotated[
    bool, _scenario_option("--fastest", help="The same path as fast as torque and speed allow (docs/time_optimal.md).")
]
MostPayload: TypeAlias = Annotated[
    bool, _scenario_option("--most-payload", help="Find the heaviest payload along the motion.")
]
PayloadAt: TypeAlias = Annotated[
    str | None,
    _scenario_option(
        "--payload-at",
        metavar="X,Y,Z",
        help="Its centre in the tool frame, m; and its inertia per kg, m^2: xx, yy, zz, xy, xz, yz.",
    ),
]
Motion: TypeAlias = Annotated[
    Path | None, typer.Option(help="A .csv or .parquet file to move along: t, q1.., if known qd1.., qdd1..")
]
DataFile: TypeAlias = Annotated[Path | None, typer.Option(help="A .csv or .parquet file for `armwright identify`.")]
Noise: TypeAlias = Annotated[float, typer.Option(help="Noise in --data, as a part of each joint's RMS torque.")]


@dataclass(frozen=True)
class ScenarioFlags:
    """Keys of a scenario as options; None if an option is not set."""

    begin: str | None = None
    end: str | None = None
    duration: float | None = None
    every: float | None = None
    law: str | None = None
    integrator: str | None = None
    rtol: float | None = None
    step: float | None = None
    stops: bool | None = None
    further: Sequence[str] = ()
    fastest: bool = False
    most_payload: bool = False
    payload_at: str | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """The options as tables of a scenario."""
        options: dict[str, Any] = {"duration": self.duration, "every": self.every, "stops": self.stops}
        options["integrator"] = {"method": self.integrator, "rtol": self.rtol, "step": self.step}
        ends = {"from": self.begin, "to": self.end}
        options["trajectory"] = {key: parse_numbers(f"--{key}", x) for key, x in ends.items() if x is not None}
        tables = _without_none(options)
        if self.law is not None:
            gains = {"kp": 100, "kd": 20} if self.law == "computed_torque" else {}
            tables["torque"] = {"law": self.law, **gains}
        for entry in self.further:
            tables = merged(tables, _parse_setting(entry))
        return tables


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: _without_none(x) if isinstance(x, Mapping) else x for key, x in table.items()}
    return {key: x for key, x in plain.items() if x is not None and x != {}}


def _parse_setting(entry: str) -> dict[str, Any]:
    """Return a key and its value as in a file; a word need not be quoted."""
    key, equals, value = entry.partition("=")
    if not (key.strip() and equals and value.strip()):
        raise InputError(f"--set {entry}: expected a key of a scenario and its value, such as --set torque.kp=50")
    for text in (value, json.dumps(value.strip())):
        try:
            return tomllib.loads(f"{key} = {text}")
        except tomllib.TOMLDecodeError:
            continue
    raise InputError(f"--set {entry}: expected a key of a scenario, such as torque.kp")


def _check_scenario(path: Path, robot: str) -> None:
    """Raise an error if the argument in the place of a scenario is not a scenario."""
    expected = "a scenario, a .toml file (docs/simulation.md)"
    if is_number(str(path)):
        raise InputError(
            f"{path}: a number in the place of {expected}; separate the numbers of an option by commas, without "
            "spaces: --payload 3,0,0,0.1"
        )
    if str(path) in packaged() or path.suffix in ROBOT_SUFFIXES:
        raise InputError(f"{path}: a second robot after {robot}, in the place of {expected}; run one robot at a time")
    if path.suffix in TABLE_SUFFIXES:
        raise InputError(f"{path}: a table in the place of {expected}; a motion in a table is --motion {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected {expected}, or a folder of these in the place of the robot")
    if path.suffix != ".toml":
        raise InputError(f"{path}: expected {expected}")


@dataclass(frozen=True)
class MotionRequest:
    """A request: scenarios to run, and the page and data to write."""

    robot: RobotOptions
    scenarios: Sequence[Path]
    flags: ScenarioFlags
    motion: Path | None
    page: Path | None
    data: Path | None
    noise: float
    seed: int
    json: bool
    ending: str = ".html"
    reserve: float = 0.0
    marks: dict[Path, str] = field(default_factory=dict)
    """The marks of pages whose names the user did not give."""

    def __post_init__(self) -> None:
        if self.flags.fastest and (self.flags.duration is not None or self.flags.most_payload):
            if self.flags.duration:
                raise InputError("--fastest and --duration: --fastest finds the duration; remove one of them")
            raise InputError(
                "--fastest and --most-payload: --fastest uses all of the torque and leaves none for a payload; give "
                "one of them, or --fastest with --payload"
            )
        if self.flags.payload_at is not None and not self.flags.most_payload:
            raise InputError("--payload-at is the centre of the payload of --most-payload; expected that as well")
        for path in self.scenarios:
            _check_scenario(path, self.robot.name)
        if self.scenarios and self.motion is not None:
            raise InputError(
                '--motion and a scenario both set the motion; write [trajectory] type = "sampled", file = '
                f"{str(self.motion)!r} into the scenario instead"
            )
        if self.data is not None and self.data.suffix not in TABLE_SUFFIXES:
            raise InputError(f"--data {self.data}: expected a name that ends in {' or '.join(TABLE_SUFFIXES)}")
        if not 0 <= self.noise < np.inf:
            raise InputError(f"--noise {self.noise:g}: expected a part of the torque, such as 0.02")
        if (self.noise and self.data is None) or (self.seed and not self.noise):
            raise InputError("--noise needs --data, for its torques, and --seed needs --noise; expected both options")
        for name in ("payload", "gravity"):
            if getattr(self.robot, name) and name in self.flags.changes:
                raise InputError(f"--{name} and --set {name} both set it; remove one of them")

    @property
    def files(self) -> tuple[Sequence[Path], bool]:
        """The scenarios, and True if the first argument is one of them or their folder, not a robot."""
        first = Path(self.robot.name)
        if first.is_dir():
            scenarios = scenarios_in(first)
            if not scenarios and self.robot.name in packaged():  # a packaged robot; the folder may be its export
                return self.scenarios, False
            if not scenarios:
                inside = sorted([*first.glob("*.*"), *first.glob("*/*.*")])
                robots = [path for path in inside if path.suffix in ROBOT_SUFFIXES]
                instead = f"; to run a robot give its file: {robots[0]}" if robots else ""
                raise InputError(f"{first}: no scenario in this folder; expected .toml files{instead}")
            return [*scenarios, *self.scenarios], True
        return ([first, *self.scenarios], True) if is_scenario(first) else (self.scenarios, False)

    def plans(self) -> Iterator[tuple[Scenario, Path]]:
        """Yield the scenarios with the paths of their pages; a robot among the arguments is that of all scenarios."""
        files, in_scenario = self.files
        if len(files) > 1 and self.data is not None:
            raise InputError(f"--data {self.data}: several scenarios would be written to it; run one at a time")
        selecting = [flag for flag in self.robot.used_options if flag not in ("--payload", "--gravity")]
        if in_scenario and selecting:
            raise InputError(
                f'{selecting[0]}: the scenario selects the robot: robot = {{file = "arm.urdf", tip = "flange"}}'
            )
        if not in_scenario and "robot" in self.flags.changes:
            raise InputError(f"--set robot: the robot is {self.robot.name}, as the first argument says")
        arm = None if in_scenario else robot_with_visuals(self.robot)
        repeated = [stem for stem, times in Counter(file.stem for file in files).items() if times > 1]
        if repeated:
            raise InputError(f"several scenarios would write the page {repeated[0]}.html; run one at a time, with -o")
        for file in files:
            name = None if len(files) == 1 and not in_scenario else file.stem
            plan = self._of_file(file, arm)
            yield plan, self._page(name or plan.robot.name, plan.robot, len(files) > 1, file)
        if arm is not None and not files:
            yield self._of_options(arm), self._page(arm.name, arm, False)

    def _page(self, name: str, arm: Robot, folder: bool, scenario: Path | None = None) -> Path:
        """Return the path of the page of a run; `name` is that of the scenario or the robot."""
        chosen, mark = self.page, page_mark(arm, scenario)
        for flag, path in (("--output", chosen), ("--data", self.data)):
            if path is not None and not (folder and path is chosen) and not path.absolute().parent.is_dir():
                raise InputError(f"{flag} {path}: there is no folder {path.parent}; create it first")
        load = "" if scenario is not None and not self.robot.payload else payload_suffix(arm)
        purpose = "_most_payload" if self.flags.most_payload else ""
        path = page_path(chosen, f"{name}{load}{purpose}", self.ending, mark, folder=folder)
        self.marks[path] = mark
        return path

    def _of_file(self, file: Path, arm: Robot | None) -> Scenario:
        """Return a scenario with the changes of the options."""
        data, text = read_data(file)
        changes = self.flags.changes
        replaced = [name for name in ("payload", "gravity") if getattr(self.robot, name)]
        tables = {key: x for key, x in data.items() if key not in replaced}
        motionless = not set(MOTION_KEYS) & set(data)
        by_options = motionless and (set(MOTION_KEYS) & set(changes) or self.flags.fastest or self.flags.most_payload)
        if self.flags.fastest and not motionless:
            tables, changes = time_optimal_scenario(tables, changes, self.reserve)
        changed = tables if by_options else with_changes(tables, changes)
        if arm is None:
            arm = self.robot.with_loads(scenario_from_tables(changed, None, str(file), file.parent).robot)
        if by_options:  # the file changes the robot, and the options move it
            return self._of_options(scenario_from_tables(tables, arm, str(file), file.parent).robot, tables)
        return scenario_from_tables(changed, arm, str(file), file.parent, text if changed == data else as_toml(changed))

    def _of_options(self, arm: Robot, tables: Mapping[str, Any] | None = None) -> Scenario:
        """Return the scenario of the options, with the tables of a file that has no motion."""
        flags = self.flags
        motion_flags = MotionFlags(flags.begin, flags.end, self.motion, flags.fastest, flags.most_payload, self.reserve)
        choice = choose_motion(arm, motion_flags, flags.changes)
        changed = with_changes({**choice.tables, **(tables or {})}, choice.changes)
        text = choice.text if choice.text and changed == choice.tables else as_toml(changed)
        return replace(scenario_from_tables(changed, arm, str(self.motion or arm.name), text=text), pace=choice.note)
