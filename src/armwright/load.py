"""Robots loaded by the name of a packaged one, or from a file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from armwright.errors import LockedWarning, ModelError, ModelWarning, PublishedWarning, TipWarning, unknown
from armwright.model import toml
from armwright.robot import Robot
from armwright.rules import check_accepted, kinds, problems

if TYPE_CHECKING:
    from armwright.model.description import Description
    from armwright.model.tree import Tree

__all__ = ["load", "packaged"]

TREE_ENDINGS = (".urdf", ".xacro", ".xml")
ENDINGS = (".toml", *TREE_ENDINGS)

MAX_STRAIGHTEN_ANGLE = 1e-3
"""The largest `straighten`, rad; a larger bend is intentional."""

MODELLING_CHOICES = ("missing inertia",)
"""Problems that a packaged file accepts without a warning: a point mass is a modelling choice."""


def packaged() -> list[str]:
    """Return the names of the packaged robots."""
    files = resources.files("armwright.model").joinpath("library").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load(
    path: str | Path,
    base: str | None = None,
    tip: str | Sequence[str] | None = None,
    locked: Mapping[str, float] | None = None,
    packages: Mapping[str, str | Path] | None = None,
    visuals: bool = True,
    mappings: Mapping[str, str | float] | None = None,
    floating: bool = False,
    straighten: float = 0.0,
    actuators: str | Path | None = None,
) -> Robot:
    """Return a packaged robot by name, or the robot in a .toml, .urdf, .xacro or .xml (MJCF) file.

    A tree of links is loaded with all joints, in the order of the file (of URDF in Pinocchio's: depth first, branches
    by the names of their joints). `base` selects the part below a link, `tip` the chain to a link, or to each of
    several. Joints in `locked` are fixed at that position (rad or m). Other branches are fixed at zero by
    default; the link that carries a branch has its weight. Every link of the file is one of the robot's `frames`. With
    `floating`, a free joint `root_joint` carries the base; a TOML file has its body as `base_link`.

    Angles within `straighten` (rad, at most 1e-3) of a right angle become right angles, and axes within it of parallel
    become parallel. By default nothing is straightened.

    `packages` maps packages to folders, for xacro files and meshes. Meshes are not opened; one outside of the model's
    folder is an error (`armwright.model.meshes` has the rules), unless `visuals` is False, which skips shapes.
    `mappings` are the arguments of a xacro file: {"prefix": "left_", "joints": 6}. `actuators` is a file with the motor
    and gearbox of each joint, as in [actuators] of a robot file (docs/sizing.md).

    Raises a ModelError for an invalid file. Warns of suspicious numbers, and of other possible ends of a chain.
    """
    if not isinstance(path, (str, Path)):
        raise ModelError(f"load got {type(path).__name__}; expected the name of a packaged robot or the path of a file")
    selection = _Selection(base, tip, locked, floating, straighten)
    folders, file = _folders(packages), Path(path)
    if str(path) not in packaged() and file.suffix.lower() in TREE_ENDINGS and _exists(file):
        robot = _from_tree(_tree(file, folders, visuals, mappings), file.name, selection)
    else:
        floats = True if floating else None
        is_packaged = str(path) in packaged()
        robot = _packaged(str(path), floats) if is_packaged else _from_file(str(path), folders, visuals, floats)
        _check_unused(robot, {**vars(selection), "floating": None, "mappings": mappings})
    if actuators is not None:
        robot = _fitted(robot, actuators)
    check_accepted(robot.accept, kinds() if robot.accept else (), "problem under accept")
    found = [problem for problem in problems(robot) if problem.severity != "note"]
    if unexpected := [problem for problem in found if not problem.accepted_by(robot)]:
        warnings.warn(f"robot {robot.name!r}: " + "; ".join(unexpected), ModelWarning, stacklevel=2)
    known = [problem for problem in found if problem.accepted_by(robot) and problem.kind not in MODELLING_CHOICES]
    if known and str(path) in packaged():
        text = f"robot {robot.name!r} is packaged as published, though: " + "; ".join(known)
        warnings.warn(text, PublishedWarning, stacklevel=2)
    return robot


@dataclass(frozen=True)
class _Selection:
    """The part of a tree of links to load."""

    base: str | None
    tip: str | Sequence[str] | None
    locked: Mapping[str, float] | None
    floating: bool
    straighten: float

    def __post_init__(self) -> None:
        tips = self.tip if isinstance(self.tip, (list, tuple)) else (self.tip,)
        if not tips:
            raise ModelError("tip = []; expected the name of a link, or of several")
        for name, link in (("base", self.base), *(("tip", tip) for tip in tips)):
            if link is not None and not isinstance(link, str):
                raise ModelError(f"{name} = {link!r}; expected the name of a link")
        if not isinstance(self.floating, bool):
            raise ModelError(f"floating = {self.floating!r}; expected True or False")
        if not (isinstance(self.straighten, (int, float)) and 0 <= self.straighten <= MAX_STRAIGHTEN_ANGLE):
            raise ModelError(f"straighten = {self.straighten!r}; expected 0 to {MAX_STRAIGHTEN_ANGLE:g} radians")


def _check_unused(robot: Robot, choices: Mapping[str, object]) -> None:
    given = [name for name, value in choices.items() if value]
    if given:
        raise ModelError(f"{robot.name} is no tree of links: {', '.join(given)} is for files that have one")


def _packaged(name: str, floating: bool | None) -> Robot:
    text = resources.files("armwright.model").joinpath("library", f"{name}.toml").read_text(encoding="utf-8")
    return _assembled(toml.parse(text, f"{name}.toml", name, floating=floating), Path())


def _assembled(read: toml.RobotFields, folder: Path) -> Robot:
    """Return the robot of a TOML file, with its actuators."""
    robot = Robot.from_fields(replace(read, actuators=None))
    if read.actuators is None:
        return robot
    from armwright.actuators.table import with_table  # noqa: PLC0415  (few files have some)

    return with_table(robot, *read.actuators, folder)


def _fitted(robot: Robot, path: str | Path) -> Robot:
    from armwright.actuators.table import with_file  # noqa: PLC0415

    return with_file(robot, path)


def _folders(packages: Mapping[str, str | Path] | None) -> Mapping[str, Path]:
    if packages is None:
        return {}
    from armwright.model.packages import checked_packages  # noqa: PLC0415  (few files have meshes)

    return checked_packages(packages)


def _from_file(name: str, packages: Mapping[str, str | Path] | None, visuals: bool, floating: bool | None) -> Robot:
    path = Path(name)
    exists = _exists(path)
    if not name or not (path.suffix or exists):
        raise unknown("robot", name, packaged(), f"A file is given by a path that ends in {', '.join(ENDINGS)}.")
    if exists and path.is_dir():
        raise ModelError(f"{path} is a folder; expected a robot file that ends in {', '.join(ENDINGS)}")
    if exists and path.suffix.lower() not in ENDINGS:
        raise ModelError(f"{path}: cannot read {path.suffix or 'a file without ending'}; expected {', '.join(ENDINGS)}")
    if not exists and path.stem in packaged():
        raise ModelError(f"{path} does not exist; the packaged robot is loaded as {path.stem!r}")
    return _assembled(toml.read(path, packages, visuals, floating), path.parent)


def _tree(path: Path, packages: Mapping[str, Path], visuals: bool, mappings: Mapping[str, str | float] | None) -> Tree:
    """Return the links of a URDF, xacro or MJCF file. The readers are imported when needed."""
    from armwright.model import urdf, xml  # noqa: PLC0415

    if path.suffix.lower() == ".xacro":
        from armwright.model import xacro  # noqa: PLC0415

        return urdf.tree_of(xacro.expand(path, mappings, packages), packages, visuals)
    if mappings:
        raise ModelError(f"{path}: mappings = {mappings!r} are for .xacro files, which have arguments")
    if (root := xml.read(path)).tag == "mujoco":
        from armwright.model import mjcf  # noqa: PLC0415

        return mjcf.tree_of(root, packages, visuals)
    return urdf.tree_of(root, packages, visuals)


def _from_tree(tree: Tree, file: str, selection: _Selection) -> Robot:
    """Return the robot in a tree, or a part of it."""
    from armwright.model.tree_selection import select  # noqa: PLC0415

    picked = select(tree, **vars(selection))
    notes = [note for note in picked.notes if "not on the chain" in note]
    if notes:
        warnings.warn(f"{tree.name}: {'; '.join(notes)}; locked= sets their positions", LockedWarning, stacklevel=3)
    if picked.tips:
        warnings.warn(f"{tree.name}: {picked.tips}; tip= chooses", TipWarning, stacklevel=3)
    tips = [picked.tips] if picked.tips else []
    ends = f" to {', '.join(picked.ends)}" if picked.ends else " and what hangs on it"
    source = "\n".join([f"{file}, {picked.base}{ends}", *tips, *picked.notes])
    return Robot.from_description(replace(_closed(picked.description, tree), source=source))


def _closed(robot: Description, tree: Tree) -> Description:
    """Return the robot with the loops of a tree whose two links are parts of it that move against each other."""
    from armwright.model.loop_tables import loop_from_tree  # noqa: PLC0415

    loops = [found for loop in tree.loops if (found := loop_from_tree(robot, loop)) is not None]
    if len(loops) < len(tree.loops):
        left = ", ".join(loop.name for loop in tree.loops if loop.name not in [found.name for found in loops])
        warnings.warn(
            f"{tree.name}: not taken over: loops of links that are not loaded: {left}", ModelWarning, stacklevel=4
        )
    return replace(robot, loops=tuple(loops))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False
