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
SCENARIO_PANEL = "In place of what the scenario says"

ScenarioFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(help="Scenario files (docs/simulation.md); without, pick and place.", show_default=False),
]
Begin: TypeAlias = Annotated[
    str | None,
    typer.Option("--from", metavar="Q1,Q2,..", help="Where it begins: rad, or m.", rich_help_panel=SCENARIO_PANEL),
]
End: TypeAlias = Annotated[
    str | None,
    typer.Option("--to", metavar="Q1,Q2,..", help="Where it goes to: rad, or m.", rich_help_panel=SCENARIO_PANEL),
]
Duration: TypeAlias = Annotated[float | None, typer.Option(help="Seconds.", rich_help_panel=SCENARIO_PANEL)]
Every: TypeAlias = Annotated[
    float | None, typer.Option(help="Seconds between records.", rich_help_panel=SCENARIO_PANEL)
]
LawName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="What drives it: free, pd, feed_forward, ...",
        rich_help_panel=SCENARIO_PANEL,
        autocompletion=complete_from(lambda: LAWS),
    ),
]
Integrator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="dop853, rk4, radau, ...",
        rich_help_panel=SCENARIO_PANEL,
        autocompletion=complete_from(integrator_names),
    ),
]
Rtol: TypeAlias = Annotated[float | None, typer.Option(help="Error allowed per step.", rich_help_panel=SCENARIO_PANEL)]
Step: TypeAlias = Annotated[float | None, typer.Option(help="Seconds of a fixed step.", rich_help_panel=SCENARIO_PANEL)]
Stops: TypeAlias = Annotated[
    bool | None, typer.Option("--stops", help="Stops at the limits of the joints.", rich_help_panel=SCENARIO_PANEL)
]
SetOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Any other key: torque.kp=50. Repeat.", rich_help_panel=SCENARIO_PANEL
    ),
]
Fastest: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--fastest",
        help="The same path as fast as torque and speed allow (docs/time_optimal.md).",
        rich_help_panel=SCENARIO_PANEL,
    ),
]
MostPayload: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--most-payload",
        help="Find the heaviest payload the robot can hold along the motion, and the joint that gives out first.",
        rich_help_panel=SCENARIO_PANEL,
    ),
]
PayloadAt: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--payload-at",
        metavar="X,Y,Z",
        help="Its centre in the tool frame, m; and its inertia per kg, m^2: xx, yy, zz, xy, xz, yz.",
        rich_help_panel=SCENARIO_PANEL,
    ),
]
Motion: TypeAlias = Annotated[
    Path | None, typer.Option(help="A .csv or .parquet file to move along: t, q1.., if known qd1.., qdd1..")
]
DataFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="A .csv or .parquet file to write, for `armwright identify`.")
]
Noise: TypeAlias = Annotated[
    float, typer.Option(help="Noise of the torques in --data, as a part of each joint's RMS torque.")
]


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
        found: dict[str, Any] = {"duration": self.duration, "every": self.every, "stops": self.stops}
        found["integrator"] = {"method": self.integrator, "rtol": self.rtol, "step": self.step}
        ends = {"from": self.begin, "to": self.end}
        found["trajectory"] = {key: parse_numbers(f"--{key}", x) for key, x in ends.items() if x is not None}
        said = _without_none(found)
        if self.law is not None:
            gains = {"kp": 100, "kd": 20} if self.law == "computed_torque" else {}
            said["torque"] = {"law": self.law, **gains}
        for entry in self.further:
            said = merged(said, _parse_setting(entry))
        return said


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
    """Raise an error for an argument in the place of a scenario that is none."""
    expected = "a scenario, a .toml file (docs/simulation.md)"
    if is_number(str(path)):
        raise InputError(
            f"{path}: a number in the place of {expected}; the numbers of an option stand together, with commas "
            "between: --payload 3,0,0,0.1"
        )
    if str(path) in packaged() or path.suffix in ROBOT_SUFFIXES:
        raise InputError(f"{path}: a second robot beside {robot}, in the place of {expected}; run one robot at a time")
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
    whose: dict[Path, str] = field(default_factory=dict)
    """What tells the robot of a page whose name was chosen."""

    def __post_init__(self) -> None:
        if self.flags.fastest and (self.flags.duration is not None or self.flags.most_payload):
            other, why = (
                ("--duration", "finds the duration")
                if self.flags.duration
                else (
                    "--most-payload",
                    "takes all of the torque, which leaves none for a payload; it goes with --payload",
                )
            )
            raise InputError(f"--fastest and {other}: --fastest {why}; leave one of them out")
        if self.flags.payload_at is not None and not self.flags.most_payload:
            raise InputError("--payload-at is the centre of the payload of --most-payload; expected that as well")
        for path in self.scenarios:
            _check_scenario(path, self.robot.name)
        if self.scenarios and self.motion is not None:
            raise InputError(
                '--motion and a scenario both say how to move; write [trajectory] type = "sampled", file = '
                f"{str(self.motion)!r} into the scenario instead"
            )
        if self.data is not None and self.data.suffix not in TABLE_SUFFIXES:
            raise InputError(f"--data {self.data}: expected a name that ends in {' or '.join(TABLE_SUFFIXES)}")
        if not 0 <= self.noise < np.inf:
            raise InputError(f"--noise {self.noise:g}: expected a part of the torque, such as 0.02")
        if (self.noise and self.data is None) or (self.seed and not self.noise):
            raise InputError("--noise is of the torques in --data, and --seed of the --noise; expected that as well")
        for name in ("payload", "gravity"):
            if getattr(self.robot, name) and name in self.flags.changes:
                raise InputError(f"--{name} and --set {name} both say it; leave one of them out")

    @property
    def files(self) -> tuple[Sequence[Path], bool]:
        """The scenarios, and True if the first argument is one of them or their folder, not a robot."""
        first = Path(self.robot.name)
        if first.is_dir():
            found = scenarios_in(first)
            if not found and self.robot.name in packaged():  # a folder beside it, such as an export, is not meant
                return self.scenarios, False
            if not found:
                robots = [
                    path for path in sorted([*first.glob("*.*"), *first.glob("*/*.*")]) if path.suffix in ROBOT_SUFFIXES
                ]
                instead = f"; to run a robot give its file: {robots[0]}" if robots else ""
                raise InputError(
                    f"{first}: no scenario in this folder; expected .toml files (docs/simulation.md){instead}"
                )
            return [*found, *self.scenarios], True
        return ([first, *self.scenarios], True) if is_scenario(first) else (self.scenarios, False)

    def plans(self) -> Iterator[tuple[Scenario, Path]]:
        """Yield the scenarios with their pages; a robot in the arguments is that of all scenarios."""
        files, alone = self.files
        if len(files) > 1 and self.data is not None:
            raise InputError(f"--data {self.data}: several scenarios would be written to it; run one at a time")
        if alone and (chosen := [flag for flag in self.robot.used_options if flag not in ("--payload", "--gravity")]):
            raise InputError(
                f'{chosen[0]}: the scenario says how its robot is loaded: robot = {{file = "arm.urdf", tip = "flange"}}'
            )
        if not alone and "robot" in self.flags.changes:
            raise InputError(f"--set robot: the robot is {self.robot.name}, as the first argument says")
        arm = None if alone else robot_with_visuals(self.robot)
        twice = [stem for stem, times in Counter(file.stem for file in files).items() if times > 1]
        if twice:
            raise InputError(f"several scenarios would write the page {twice[0]}.html; run one at a time, with -o")
        for file in files:
            name = None if len(files) == 1 and not alone else file.stem
            plan = self._of_file(file, arm)
            yield plan, self._page(name or plan.robot.name, plan.robot, len(files) > 1, file)
        if arm is not None and not files:
            yield self._without_file(arm), self._page(arm.name, arm, False)

    def _page(self, name: str, arm: Robot, folder: bool, scenario: Path | None = None) -> Path:
        """Return the path of the page of a run; `name` is that of the scenario or the robot."""
        given, whose = self.page, page_mark(arm, scenario)
        for flag, path in (("--output", given), ("--data", self.data)):
            if path is not None and not (folder and path is given) and not path.absolute().parent.is_dir():
                raise InputError(f"{flag} {path}: there is no folder {path.parent}; make it first")
        held = "" if scenario is not None and not self.robot.payload else payload_suffix(arm)
        sought = "_most_payload" if self.flags.most_payload else ""
        path = page_path(given, f"{name}{held}{sought}", self.ending, whose, folder=folder)
        self.whose[path] = whose
        return path

    def _of_file(self, file: Path, arm: Robot | None) -> Scenario:
        """Return a scenario with the changes of the options."""
        data, text = read_data(file)
        changes = self.flags.changes
        held = [name for name in ("payload", "gravity") if getattr(self.robot, name)]
        said = {key: x for key, x in data.items() if key not in held}
        still = not set(MOTION_KEYS) & set(data)
        alone = still and bool(set(MOTION_KEYS) & set(changes) or self.flags.fastest or self.flags.most_payload)
        if self.flags.fastest and not still:
            said, changes = time_optimal_scenario(said, changes, self.reserve)
        whole = said if alone else with_changes(said, changes)
        if arm is None:
            arm = self.robot.changed(scenario_from_tables(whole, None, str(file), file.parent).robot)
        if alone:  # it changes the robot, and flags say how that moves
            return self._without_file(scenario_from_tables(said, arm, str(file), file.parent).robot, said)
        return scenario_from_tables(whole, arm, str(file), file.parent, text if whole == data else as_toml(whole))

    def _without_file(self, arm: Robot, said: Mapping[str, Any] | None = None) -> Scenario:
        """Return the scenario of the options, and of a file without a motion."""
        flags = self.flags
        how = MotionFlags(flags.begin, flags.end, self.motion, flags.fastest, flags.most_payload, self.reserve)
        choice = choose_motion(arm, how, flags.changes)
        whole = with_changes({**choice.tables, **(said or {})}, choice.changes)
        text = choice.text if choice.text and whole == choice.tables else as_toml(whole)
        return replace(scenario_from_tables(whole, arm, str(self.motion or arm.name), text=text), pace=choice.told)
