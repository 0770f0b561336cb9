"""What `armwright simulate` and `armwright torques` are asked for: scenarios, and flags in place of their keys."""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from armwright.cli.command import RobotOptions, names_beginning, numbers_of, seen_robot_of
from armwright.cli.output import page_name, report
from armwright.errors import InputError
from armwright.integrate import methods
from armwright.names import shown
from armwright.robot import Robot
from armwright.scenario import Scenario, is_scenario, made, read_data, scenarios_in
from armwright.scenario.laws import BESIDE
from armwright.scenario.parse import MOVING, merged
from armwright.scenario.picking import FALL, home, lasting, picked_and_placed
from armwright.simulation.plan import CHOSEN, OTHERS, honoured_by
from armwright.simulation.sticking import method_for
from armwright.torque import LAWS
from armwright.trajectory import quintic

DATA = (".csv", ".parquet")
ROBOTS = (".urdf", ".xacro", ".xml")
PANEL = "In place of what the scenario says"
REACHED = 1.0
"""Seconds for a motion to a position, at least."""

Listed: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(help="Scenario files (docs/simulation.md); without, pick and place.", show_default=False),
]
Begin: TypeAlias = Annotated[
    str | None, typer.Option("--from", metavar="Q1,Q2,..", help="Where it begins: rad, or m.", rich_help_panel=PANEL)
]
End: TypeAlias = Annotated[
    str | None, typer.Option("--to", metavar="Q1,Q2,..", help="Where it goes to: rad, or m.", rich_help_panel=PANEL)
]
Duration: TypeAlias = Annotated[float | None, typer.Option(help="Seconds.", rich_help_panel=PANEL)]
Every: TypeAlias = Annotated[float | None, typer.Option(help="Seconds between records.", rich_help_panel=PANEL)]
ALaw: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="What drives it: free, pd, feed_forward, ...",
        rich_help_panel=PANEL,
        autocompletion=names_beginning(lambda: LAWS),
    ),
]
Integrator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="dop853, rk4, radau, ...",
        rich_help_panel=PANEL,
        autocompletion=names_beginning(lambda: [*methods(), *OTHERS]),
    ),
]
Rtol: TypeAlias = Annotated[float | None, typer.Option(help="Error allowed per step.", rich_help_panel=PANEL)]
Step: TypeAlias = Annotated[float | None, typer.Option(help="Seconds of a fixed step.", rich_help_panel=PANEL)]
SomeStops: TypeAlias = Annotated[
    bool | None, typer.Option("--stops", help="Stops at the limits of the joints.", rich_help_panel=PANEL)
]
Further: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any other key: torque.kp=50. Repeat.", rich_help_panel=PANEL),
]
Motion: TypeAlias = Annotated[
    Path | None, typer.Option(help="A .csv or .parquet file to move along: t, q1.., if known qd1.., qdd1..")
]
Written: TypeAlias = Annotated[
    Path | None, typer.Option(help="A .csv or .parquet file to write, for `armwright identify`.")
]
Noise: TypeAlias = Annotated[
    float, typer.Option(help="Noise of the torques in --data, as a part of each joint's RMS torque.")
]


@dataclass(frozen=True)
class Flags:
    """Keys of a scenario as flags; None where nothing is said."""

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

    @property
    def changes(self) -> dict[str, Any]:
        """As tables of a scenario."""
        found: dict[str, Any] = {"duration": self.duration, "every": self.every, "stops": self.stops}
        found["integrator"] = {"method": self.integrator, "rtol": self.rtol, "step": self.step}
        ends = {"from": self.begin, "to": self.end}
        found["trajectory"] = {key: numbers_of(f"--{key}", x) for key, x in ends.items() if x is not None}
        said = _without_none(found)
        if self.law is not None:
            gains = {"kp": 100, "kd": 20} if self.law == "computed_torque" else {}
            said["torque"] = {"law": self.law, **gains}
        for entry in self.further:
            said = merged(said, _setting(entry))
        return said


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: _without_none(x) if isinstance(x, Mapping) else x for key, x in table.items()}
    return {key: x for key, x in plain.items() if x is not None and x != {}}


def _setting(entry: str) -> dict[str, Any]:
    """A key and its value, as it would stand in the file; a word need not be quoted."""
    key, equals, value = entry.partition("=")
    if not (key.strip() and equals and value.strip()):
        raise InputError(f"--set {entry}: expected a key of a scenario and its value, such as --set torque.kp=50")
    for text in (value, json.dumps(value.strip())):
        try:
            return tomllib.loads(f"{key} = {text}")
        except tomllib.TOMLDecodeError:
            continue
    raise InputError(f"--set {entry}: expected a key of a scenario, such as torque.kp")


@dataclass(frozen=True)
class Asked:
    """What is to be run, and what is to be written of it: a page, and the data that `armwright identify` reads."""

    robot: RobotOptions
    scenarios: Sequence[Path]
    flags: Flags
    motion: Path | None
    page: Path | None
    data: Path | None
    noise: float
    seed: int
    json: bool

    def __post_init__(self) -> None:
        if self.scenarios and self.motion is not None:
            raise InputError(
                '--motion and a scenario both say how to move; write [trajectory] type = "sampled", file = '
                f"{str(self.motion)!r} into the scenario instead"
            )
        if self.data is not None and self.data.suffix not in DATA:
            raise InputError(f"--data {self.data}: expected a name that ends in {' or '.join(DATA)}")
        if not 0 <= self.noise < np.inf:
            raise InputError(f"--noise {self.noise:g}: expected a part of the torque, such as 0.02")
        if (self.noise and self.data is None) or (self.seed and not self.noise):
            raise InputError("--noise is of the torques in --data, and --seed of the --noise; expected that as well")
        for name in ("payload", "gravity"):
            if getattr(self.robot, name) and name in self.flags.changes:
                raise InputError(f"--{name} and --set {name} both say it; leave one of them out")

    @property
    def files(self) -> tuple[Sequence[Path], bool]:
        """The scenarios, and whether the first argument is one of them, or a folder of them, and no robot."""
        first = Path(self.robot.name)
        if first.is_dir():
            found = scenarios_in(first)
            if not found:
                robots = [path for path in sorted([*first.glob("*.*"), *first.glob("*/*.*")]) if path.suffix in ROBOTS]
                instead = f"; to run a robot give its file: {robots[0]}" if robots else ""
                raise InputError(
                    f"{first}: no scenario in this folder; expected .toml files (docs/simulation.md){instead}"
                )
            return [*found, *self.scenarios], True
        return ([first, *self.scenarios], True) if is_scenario(first) else (self.scenarios, False)

    def plans(self) -> Iterator[tuple[Scenario, Path]]:
        """What to run, each with the page to write; a robot that is named is that of all scenarios."""
        files, alone = self.files
        if len(files) > 1 and self.data is not None:
            raise InputError(f"--data {self.data}: several scenarios would be written to it; run one at a time")
        if alone and (chosen := [flag for flag in self.robot.given if flag not in ("--payload", "--gravity")]):
            raise InputError(
                f'{chosen[0]}: the scenario says how its robot is loaded: robot = {{file = "arm.urdf", tip = "flange"}}'
            )
        if not alone and "robot" in self.flags.changes:
            raise InputError(f"--set robot: the robot is {self.robot.name}, as the first argument says")
        arm = None if alone else seen_robot_of(self.robot)
        twice = [stem for stem, times in Counter(file.stem for file in files).items() if times > 1]
        if twice:
            raise InputError(f"several scenarios would write the page {twice[0]}.html; run one at a time, with -o")
        for file in files:
            name = None if len(files) == 1 and not alone else file.stem
            plan = self._of_file(file, arm)
            yield plan, self._page(name or plan.robot.name, len(files) > 1)
        if arm is not None and not files:
            yield self._without_file(arm), self._page(arm.name, False)

    def _page(self, name: str, folder: bool) -> Path:
        given = self.page
        if folder and given:
            return given / page_name(None, name, ".html")
        for flag, path in (("--output", given), ("--data", self.data)):
            if path is not None and not path.absolute().parent.is_dir():
                raise InputError(f"{flag} {path}: there is no folder {path.parent}; make it first")
        return page_name(given, name, ".html")

    def _of_file(self, file: Path, arm: Robot | None) -> Scenario:
        """A scenario with what flags say in its place."""
        data, text = read_data(file)
        changes = self.flags.changes
        held = [name for name in ("payload", "gravity") if getattr(self.robot, name)]
        said = {key: x for key, x in data.items() if key not in held}
        alone = not set(MOVING) & set(data) and bool(set(MOVING) & set(changes))
        changed = said if alone else _changed(said, changes)
        if arm is None:
            arm = self.robot.changed(made(changed, None, str(file), file.parent).robot)
        if alone:  # it changes the robot, and flags say how that moves
            return self._without_file(made(said, arm, str(file), file.parent).robot, said)
        return made(changed, arm, str(file), file.parent, text if changed == data else written(changed))

    def _without_file(self, arm: Robot, said: Mapping[str, Any] | None = None) -> Scenario:
        """What flags say, and a file that says nothing of a motion."""
        changes = self.flags.changes
        text, data = self._motion(arm, changes)
        changed = _changed({**data, **(said or {})}, changes)
        return made(changed, arm, str(self.motion or arm.name), text=text if changed == data else written(changed))

    def _motion(self, arm: Robot, changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Computed torque along the motion of a file, or to a position, or a pick-and-place motion.

        It comes as a text, if it is one, and as tables; of `changes` what it has in it is taken out.
        """
        if "phase" in changes or "type" in _table(changes, "trajectory"):
            return "", {}
        seconds, flags = _seconds(changes), (("--from", self.flags.begin), ("--to", self.flags.end))
        begin, end = (_position(arm, flag, text) for flag, text in flags)
        begin = _table(changes, "trajectory").get("from", begin)
        law = LAWS.get(name) if isinstance(name := _table(changes, "torque").get("law"), str) else None
        falls = law is not None and not law.follows
        if falls and (self.motion is not None or self.flags.end is not None):
            flag = "--motion" if self.motion is not None else "--to"
            raise InputError(f"{flag}: the law {name!r} follows no motion; leave one of them out")
        if self.motion is not None:
            return "", {"trajectory": {"type": "sampled", "file": str(self.motion.absolute())}}
        if end is not None:
            ends = [home(arm) if begin is None else begin, end]
            lasts = seconds or lasting(arm, quintic([0.0, REACHED], ends))
            for key in ("duration", "trajectory"):
                changes.pop(key, None)
            return "", {"trajectory": {"type": "quintic", "times": [0.0, lasts], "points": ends}}
        if falls:
            changes.pop("trajectory", None)
            q0 = home(arm) if begin is None else begin
            chosen = {"method": method_for(arm, np.array(q0), seconds or FALL)}
            how = {} if "integrator" in changes else {"integrator": chosen}
            return "", {"duration": FALL, "q0": q0, **how}
        if begin is not None and not arm.balls:
            raise InputError("--from says where a motion begins; expected --to as well, or --law free")
        changes.pop("duration", None)
        text = picked_and_placed(arm, seconds)
        return text, tomllib.loads(text)


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a scenario; an empty one where there is none, or something else."""
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}


def _seconds(changes: Mapping[str, Any]) -> float | None:
    """The duration that is asked for."""
    given = changes.get("duration")
    if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < np.inf):
        raise InputError(f"duration = {given!r}: expected seconds, above zero")
    return given


def _position(arm: Robot, flag: str, text: str | None) -> list[float] | None:
    """A position as it is typed, one number for each joint; what looks like degrees is asked about."""
    if text is None:
        return None
    q = numbers_of(flag, text)
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


def _changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with some keys changed; another law has none of the numbers of the one before, and another
    integrator those that have a meaning for it."""
    kept, old, new = dict(data), _table(data, "torque"), _table(changes, "torque")
    if "law" in new and new["law"] != old.get("law"):
        kept["torque"] = {key: x for key, x in old.items() if key in BESIDE}
    if new := _table(changes, "integrator"):
        kept["integrator"] = _stepped(_table(data, "integrator"), new)
    return merged(kept, changes)


def _stepped(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of an integrator, as far as it goes with what is said now."""
    chosen = set(new) & set(CHOSEN)
    stepped = "step" in new or ("step" in old and not chosen)
    known = honoured_by(str(new.get("method", old.get("method", "dop853"))), stepped)
    return {key: x for key, x in old.items() if key == "method" or key in known}


def written(data: Mapping[str, Any]) -> str:
    """A scenario as a file would say it: numbers and texts first, then tables."""
    lines = [f"{key} = {_value(x)}" for key, x in data.items() if not isinstance(x, Mapping) or key == "payload"]
    for key, table in data.items():
        if isinstance(table, Mapping) and key != "payload":
            lines += ["", f"[{key}]", *(f"{name} = {_value(x)}" for name, x in table.items())]
    return "\n".join(lines) + "\n"


def _value(x: Any) -> str:
    if isinstance(x, Mapping):
        return "{" + ", ".join(f"{key} = {_value(entry)}" for key, entry in x.items()) + "}"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(map(_value, x)) + "]"
    return json.dumps(x)
