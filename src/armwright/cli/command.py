"""Turn functions into commands: a robot becomes an argument with options, an error one line.

A parameter of type `RobotOptions` becomes an argument and the options below, which select a chain of a file. The
options of a second robot end in -there. A command that returns False ends with exit code 1.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_type_hints

import typer

from armwright.cli.argument_checks import comma_separated, is_number
from armwright.cli.output import report, report_errors
from armwright.errors import InputError, ModelError
from armwright.load import load, packaged
from armwright.names import shown
from armwright.pages.scene import appearance_of
from armwright.robot import Robot

ROBOT_FILES = "a .toml, .urdf, .xacro or .xml (MuJoCo) file"
OPTION_PANELS = {"": "Options of the robot", "_there": "Options of the second robot"}

ROBOT_OPTIONS: dict[str, tuple[Any, str | None, str]] = {
    "base": (str, "LINK", "The base link; the root of the file by default."),
    "tip": (list[str], "LINK", "The last link of a chain; the whole robot by default. Repeat for more."),
    "floating": (bool, None, "A free joint carries the base."),
    "lock": (list[str], "JOINT=POSITION", "A joint to lock. Repeat for more."),
    "package": (list[str], "NAME=FOLDER", "The folder of a package that the file names. Repeat for more."),
    "arg": (list[str], "NAME=VALUE", "An argument of a xacro file. Repeat for more."),
    "payload": (list[str], "MASS,X,Y,Z", "kg, centre in the tool frame in m, inertia if known. Repeat for more."),
    "gravity": (str, "X,Y,Z", "In the world frame, m/s^2: 0,0,-1.62 on the moon."),
}
"""The options of a robot: type, metavar and help of each."""

FINGER_NAMES = re.compile("finger|thumb|grip|jaw", re.IGNORECASE)
"""A pattern of the names of fingers."""

PAYLOAD_LENGTHS = (1, 4, 10)
"""The possible lengths of a payload: its mass; with its centre; with its inertia too."""


@dataclass(frozen=True)
class RobotOptions:
    """A robot as arguments and options: a packaged one by name, or a chain of a file."""

    name: str
    base: str | None = None
    tip: Sequence[str] = ()
    floating: bool = False
    lock: Sequence[str] = ()
    package: Sequence[str] = ()
    arg: Sequence[str] = ()
    payload: Sequence[str] = ()
    gravity: str | None = None

    @property
    def used_options(self) -> list[str]:
        """The names of the options that are set, such as --tip."""
        return [f"--{name}" for name in ROBOT_OPTIONS if getattr(self, name)]

    def with_loads(self, arm: Robot) -> Robot:
        """Return the robot with the payload and gravity of the options; a mass of 0 removes its payload."""
        if self.gravity is not None:
            gravity = parse_numbers("--gravity", self.gravity)
            if len(gravity) != 3:
                raise InputError(f"--gravity {self.gravity}: expected three numbers, such as --gravity 0,0,-1.62")
            arm = arm.with_gravity(gravity)
        for k, (mass, com, inertia) in enumerate(self.payloads):
            arm = arm.with_payload(mass, com, inertia, beside=k > 0)
        if self.payload and all(mass == 0 and not any(inertia) for mass, _, inertia in self.payloads):
            return arm.without_payload()
        if self.payload and arm.tip is not None:
            _warn_about_finger(arm.links[arm.tip].name, arm.rows[arm.link_rows[arm.tip]].name)
        return arm

    @property
    def payloads(self) -> list[tuple[float, list[float], list[float]]]:
        """The payloads: mass, centre and inertia of each."""
        return [_parse_payload(text) for text in self.payload]

    @property
    def tips(self) -> Sequence[str] | None:
        return self.tip or None

    @property
    def locked(self) -> dict[str, float]:
        locked = {}
        expected = "a joint and its position, such as --lock elbow=0.5"
        for name, value in _parse_pairs("--lock", self.lock, expected):
            try:
                locked[name] = float(value)
            except ValueError:
                raise InputError(f"--lock {name}={value}: expected {expected}") from None
        return locked

    @property
    def packages(self) -> dict[str, str]:
        expected = "a package and its folder, such as --package arm_description=."
        return dict(_parse_pairs("--package", self.package, expected))

    @property
    def mappings(self) -> dict[str, str]:
        return dict(_parse_pairs("--arg", self.arg, "an argument and its value, such as --arg hand=true"))


def _warn_about_finger(link: str, joint: str) -> None:
    """Print a warning for a payload that is fixed to a finger, which moves relative to the hand and is weak."""
    if FINGER_NAMES.search(f"{link} {joint}"):
        text = f"the payload is fixed to {shown(link)}, which {shown(joint)} moves: a finger? "
        report("warning", "yellow", f"{text}--tip LINK selects another link, --lock {shown(joint)}=0 locks this one")


def _parse_payload(text: str) -> tuple[float, list[float], list[float]]:
    """Return the mass, centre and inertia of a typed payload."""
    numbers = parse_numbers("--payload", text)
    if len(numbers) not in PAYLOAD_LENGTHS:
        raise InputError(
            f"--payload {text}: got {len(numbers)} numbers; expected a mass in kg, such as --payload 2.5 (a decimal "
            "point); with its centre in the tool frame, --payload 2.5,0,0,0.1; and with its inertia too, xx, yy, zz, "
            "xy, xz, yz after these"
        )
    return numbers[0], numbers[1:4] or [0.0] * 3, numbers[4:] or [0.0] * 6


OPTION_EXAMPLES = {"--payload": "--payload 2.5 or --payload 2.5,0,0,0.1", "--gravity": "--gravity 0,0,-1.62"}
"""Examples of options that take numbers."""


def parse_numbers(flag: str, text: str) -> list[float]:
    """Return the numbers of an option, which commas separate."""
    try:
        return [float(x) for x in text.split(",")]
    except ValueError:
        pass
    if (corrected := comma_separated(text)) is not None:
        raise InputError(f"{flag} {text}: expected commas and no spaces between the numbers: {flag} {corrected}")
    invalid = next((x for x in text.split(",") if not is_number(x)), text)
    example = OPTION_EXAMPLES.get(flag, f"{flag} 0.1,0.2")
    raise InputError(
        f"{flag} {text}: {invalid.strip()!r} is not a number; expected {example}: numbers in SI units (kg, m, rad), "
        "without the unit, separated by commas"
    )


def complete_from(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a completion for shells: the names that begin with the typed word."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


Runner: TypeAlias = Callable[..., bool | None]
"""A command as a function; False means exit code 1."""

JSON_OPTION: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
PAGE_OPTION: TypeAlias = Annotated[Path | None, typer.Option("--output", "-o", help="The page; by default NAME.html.")]
REPORT_OPTION: TypeAlias = Annotated[Path | None, typer.Option("--output", "-o", help="A page to write as well.")]

NamedRobot: TypeAlias = Annotated[RobotOptions, f"A packaged robot, or {ROBOT_FILES}."]
"""The type of a robot parameter of a command."""


def robot_of(chosen: RobotOptions, visuals: bool = False) -> Robot:
    """Return the robot of the options; its meshes are read only with `visuals`."""
    options = (chosen.locked, chosen.packages, visuals, chosen.mappings, chosen.floating)
    return chosen.with_loads(load(chosen.name, chosen.base, chosen.tips, *options))


def robot_with_visuals(chosen: RobotOptions) -> Robot:
    """Return a robot with its meshes; if the file may not use them, without meshes and with a warning."""
    try:
        return robot_of(chosen, visuals=True)
    except ModelError as error:
        arm = robot_of(chosen)
        report("warning", "yellow", str(error))
        return arm


def report_missing_meshes(arm: Robot) -> None:
    """Print a warning for the meshes of a robot that are missing."""
    for note in appearance_of(arm).notes:
        report("warning", "yellow", note)


def _parse_pairs(option: str, entries: Sequence[str], expected: str) -> list[tuple[str, str]]:
    pairs = []
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {entry}: expected {expected}")
        pairs.append((name, value))
    return pairs


def as_command(runner: Runner) -> Callable[..., None]:
    """Return a command for typer: an argument and options in place of every parameter that is a robot."""
    hints = get_type_hints(runner, include_extras=True)
    robots = [name for name, hint in hints.items() if RobotOptions in get_args(hint)]
    suffixes = dict(zip(robots, OPTION_PANELS, strict=False))
    named = inspect.signature(runner).parameters.items()
    parameters = [_parameter(parameter, hints[name], name in suffixes) for name, parameter in named]
    for suffix in suffixes.values():
        parameters += [_option(name, suffix) for name in ROBOT_OPTIONS]

    @wraps(runner)
    def called(**arguments: Any) -> None:
        for name, suffix in suffixes.items():
            options = {option: arguments.pop(option + suffix) for option in ROBOT_OPTIONS}
            chosen = {option: value for option, value in options.items() if value is not None}
            arguments[name] = RobotOptions(arguments[name], **chosen)
        with report_errors():
            if runner(**arguments) is False:
                raise typer.Exit(1)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _parameter(parameter: inspect.Parameter, hint: Any, robot: bool) -> inspect.Parameter:
    if robot:
        hint = Annotated[str, typer.Argument(help=get_args(hint)[1], autocompletion=complete_from(packaged))]
    return parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)


def _option(name: str, suffix: str) -> inspect.Parameter:
    kind, metavar, text = ROBOT_OPTIONS[name]
    flag = f"--{name}{suffix.replace('_', '-')}"
    option = typer.Option(flag, help=text, metavar=metavar, rich_help_panel=OPTION_PANELS[suffix], show_default=False)
    hint: Any = Annotated[kind | None, option]
    return inspect.Parameter(name + suffix, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
