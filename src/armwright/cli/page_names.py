"""The names of pages: of the robot and its payload, never over a page of another robot or a file of the user."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, replace
from pathlib import Path

from armwright.cli.output import page_name
from armwright.errors import InputError
from armwright.pages.report.plot import write
from armwright.robot import Robot

PAGE_MARK = "<!-- armwright page of {} -->"
"""The last line of a page whose name was chosen; it identifies the robot and the scenario."""

PAGE_SUFFIXES = (".html", ".htm", "")
"""The suffixes of pages."""

MARK_BYTES = 200
"""The number of bytes at the end of a page that hold its mark."""

MAX_PAGE_NUMBER = 1000
"""The largest number of pages of one name."""


def payload_suffix(arm: Robot) -> str:
    """Return what a robot holds as a part of a file's name: '_2.5kg', or nothing."""
    return f"_{arm.payload.mass:g}kg" if arm.payload is not None and arm.payload.mass else ""


def page_mark(arm: Robot, scenario: Path | None = None) -> str:
    """Return what tells the pages of a robot, with what it holds, and of a scenario from those of others."""
    links = tuple(replace(link, visuals=()) for link in arm.links)
    numbers = (
        arm.name,
        arm.rows,
        links,
        arm.gravity,
        arm.base,
        arm.tool,
        arm.payload,
        arm.flange,
        arm.tip,
        arm.parents,
    )
    text = repr((*numbers, arm.loops, None if scenario is None else str(scenario.absolute())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def page_path(given: Path | None, name: str, ending: str, whose: str, folder: bool = False) -> Path:
    """Return where a page goes: the file that is given, or one of that name in the folder that is given, or here.

    A file that the user names is replaced. One whose name is chosen is replaced if it is a page of the same robot;
    otherwise the new page has the next free number: arm.html, arm_2.html.
    """
    if given is not None and not (folder or given.is_dir()):
        if given.suffix.lower() not in PAGE_SUFFIXES:
            raise InputError(f"--output {given}: a page is HTML; expected a name that ends in .html, or a folder")
        return given
    stem = page_name(None, name, "").name
    folder_of = Path() if given is None else given
    for k in itertools.islice(itertools.count(1), MAX_PAGE_NUMBER):
        path = folder_of / f"{stem}{'' if k == 1 else f'_{k}'}{ending}"
        if _replaceable(path, whose):
            return path
    raise InputError(
        f"{folder_of / (stem + ending)}: {MAX_PAGE_NUMBER} pages of that name are there; give another with --output"
    )


def _replaceable(path: Path, whose: str) -> bool:
    if not (path.exists() or path.is_symlink()):
        return True
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - MARK_BYTES))
            return path.is_file() and not path.is_symlink() and PAGE_MARK.format(whose).encode() in file.read()
    except OSError:
        return False


def with_mark(text: str, whose: str) -> str:
    """Return a page with its mark below it."""
    return f"{text.rstrip()}\n{PAGE_MARK.format(whose)}\n"


@dataclass(frozen=True)
class PagePlace:
    """The path of a page, and its mark if the name was chosen."""

    path: Path
    whose: str | None

    def write(self, text: str) -> Path:
        """Write a page there."""
        return write(self.path, text if self.whose is None else with_mark(text, self.whose))

    def mark(self) -> Path:
        """Write the mark below a page that is there."""
        return self.path if self.whose is None else self.write(self.path.read_text(encoding="utf-8"))


def page_place(given: Path | None, arm: Robot, ending: str) -> PagePlace:
    """Return where a page of a robot goes."""
    whose = page_mark(arm)
    path = page_path(given, f"{arm.name}{payload_suffix(arm)}", ending, whose)
    return PagePlace(path, None if path == given else whose)
