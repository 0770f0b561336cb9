"""Finding a robot: by the name of a packaged one, or in a file."""

from __future__ import annotations

import warnings
from importlib import resources
from pathlib import Path

from armwright.errors import ModelError, ModelWarning, unknown
from armwright.model import toml
from armwright.model.problems import KINDS, problems
from armwright.robot import Robot

READERS = (".toml",)


def packaged() -> list[str]:
    """The names of the packaged robots."""
    files = resources.files("armwright.model").joinpath("library").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load(path: str | Path) -> Robot:
    """A packaged robot by name, or the robot in a .toml file. Warns of everything in it that looks wrong."""
    if not isinstance(path, (str, Path)):
        raise ModelError(f"load got {type(path).__name__}; expected the name of a packaged robot or the path of a file")
    robot = _packaged(str(path)) if str(path) in packaged() else _from_file(str(path))
    _check_accepted(robot)
    found = [problem for problem in problems(robot) if not problem.accepted_by(robot)]
    if found:
        warnings.warn(f"robot {robot.name!r}: " + "; ".join(found), ModelWarning, stacklevel=2)
    return robot


def _packaged(name: str) -> Robot:
    text = resources.files("armwright.model").joinpath("library", f"{name}.toml").read_text(encoding="utf-8")
    return Robot.from_fields(toml.parse(text, f"{name}.toml", name))


def _from_file(name: str) -> Robot:
    path = Path(name)
    if not name or (not path.suffix and not _there(path)):
        raise unknown("robot", name, packaged(), "A file is given by a path that ends in .toml.")
    if path.suffix not in READERS and path.is_file():
        raise ModelError(f"{path}: cannot read {path.suffix or 'a file without ending'}; expected {', '.join(READERS)}")
    if path.stem in packaged() and not _there(path):
        raise ModelError(f"{path} does not exist; the packaged robot is loaded as {path.stem!r}")
    return Robot.from_toml(path)


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _check_accepted(robot: Robot) -> None:
    for entry in robot.accept:
        kind = entry.rpartition(": ")[2]
        if kind not in KINDS:
            raise unknown("kind of problem under accept:", kind, KINDS)
