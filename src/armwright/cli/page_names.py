"""The names of pages, after the robot and its payload; pages of other robots and files of users are not replaced."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from armwright.cli.output import page_name
from armwright.errors import InputError
from armwright.pages.report.plot import write
from armwright.robot import Robot

PAGE_MARK = "<!-- armwright page of {} -->"
"""The last line of a page whose name the user did not give; it identifies the robot and the scenario."""

PAGE_SUFFIXES = (".html", ".htm", "")

MARK_BYTES = 200
"""The number of bytes at the end of a page that hold its mark."""

MAX_PAGE_NUMBER = 1000
"""The largest number of pages of one name."""


def payload_suffix(arm: Robot) -> str:
    """Return the payload of a robot as a part of a file name, such as '_2.5kg'; "" if it has none."""
    return f"_{arm.payload.mass:g}kg" if arm.payload is not None and arm.payload.mass else ""


def page_mark(arm: Robot, scenario: Path | None = None) -> str:
    """Return the hash of a robot, its payload and a scenario that marks their page."""
    links = tuple(replace(link, visuals=()) for link in arm.links)
    numbers = (arm.name, arm.rows, links, arm.gravity, arm.base, arm.tool, arm.payload, arm.flange, arm.tip)
    text = repr((*numbers, arm.parents, arm.loops, None if scenario is None else str(scenario.absolute())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def page_path(given: Path | None, name: str, ending: str, mark: str, folder: bool = False) -> Path:
    """Return the path of a page: the given file, or a file of this name in the given or the current folder.

    A given file is replaced; another one only if it has the same mark, else the new page gets the next free number:
    arm.html, arm_2.html.
    """
    if given is not None and not (folder or given.is_dir()):
        if given.suffix.lower() not in PAGE_SUFFIXES:
            raise InputError(f"--output {given}: a page is HTML; expected a name that ends in .html, or a folder")
        return given
    path_of_stem = (Path() if given is None else given) / page_name(None, name, "").name
    for k in range(1, MAX_PAGE_NUMBER + 1):
        path = Path(f"{path_of_stem}{'' if k == 1 else f'_{k}'}{ending}")
        if _replaceable(path, mark):
            return path
    raise InputError(f"{path_of_stem}{ending}: there are {MAX_PAGE_NUMBER} such pages; give another name with --output")


def _replaceable(path: Path, mark: str) -> bool:
    if not (path.exists() or path.is_symlink()):
        return True
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - MARK_BYTES))
            return path.is_file() and not path.is_symlink() and PAGE_MARK.format(mark).encode() in file.read()
    except OSError:
        return False


def with_mark(text: str, mark: str) -> str:
    """Return a page with its mark below it."""
    return f"{text.rstrip()}\n{PAGE_MARK.format(mark)}\n"


@dataclass(frozen=True)
class PageFile:
    """The path of a page, and its mark if the user did not give the name."""

    path: Path
    mark: str | None

    def write(self, text: str) -> Path:
        """Write a page and its mark."""
        return write(self.path, text if self.mark is None else with_mark(text, self.mark))

    def append_mark(self) -> Path:
        """Append the mark to the written page."""
        return self.path if self.mark is None else self.write(self.path.read_text(encoding="utf-8"))


def page_file(given: Path | None, arm: Robot, ending: str) -> PageFile:
    """Return the file for a page of a robot."""
    mark = page_mark(arm)
    path = page_path(given, f"{arm.name}{payload_suffix(arm)}", ending, mark)
    return PageFile(path, None if path == given else mark)
