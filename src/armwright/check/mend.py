"""A repaired copy of a file: what needs no guess is changed, the rest is left and reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from armwright.check.edits import edited
from armwright.check.from_toml import from_toml
from armwright.check.from_tree import from_urdf
from armwright.check.report import Finding
from armwright.check.run import read, written_findings
from armwright.check.written import Written
from armwright.errors import InputError, ModelError
from armwright.files import write
from armwright.model import xml

MOST_PASSES = 5
"""A tensor may need to be made symmetric before it can be moved; nothing needs more than two rounds."""


@dataclass(frozen=True)
class Fixed:
    """What a repair did: the findings that are gone, and those that are still there."""

    file: str
    changed: tuple[Finding, ...]
    left: tuple[Finding, ...]


def fix(
    path: str | Path,
    out: str | Path,
    *,
    packages: Mapping[str, str | Path] | None = None,
    mappings: Mapping[str, str | float] | None = None,
) -> Fixed:
    """Write a copy of a .toml, .urdf or .xacro file (the latter as URDF) with everything fixable repaired.

    `packages` is where packages are, `mappings` are the arguments of a xacro file, as for `check`.
    """
    written = read(path, packages, mappings)
    target = Path(out)
    if not written.data:
        raise ModelError(f"{path} cannot be repaired: only .toml, .urdf and .xacro files are written")
    if target.suffix != f".{written.format}":
        raise InputError(f"{out}: expected a name that ends in .{written.format}, which is what is written")
    if target.resolve() == Path(path).resolve():
        raise InputError(f"{out} is the file itself; choose another name for the repaired copy")
    data, changed, left = repaired(written)
    try:
        write(target, data)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error}") from None
    return Fixed(str(out), changed, left)


def repaired(written: Written) -> tuple[bytes, tuple[Finding, ...], tuple[Finding, ...]]:
    """The repaired text, what was changed in it, and what is left to a person."""
    changed: list[Finding] = []
    for _ in range(MOST_PASSES):
        found = list(written_findings(written))
        fixable = [finding for finding in found if finding.fixable]
        if not fixable:
            break
        data = edited(written.data, written.format, [edit for finding in fixable for edit in finding.edits])
        changed += fixable
        if written.format == "toml":
            written = from_toml(data, written.file, written.name)
        else:
            written = from_urdf(xml.parse(data, written.file), data, written.packages)
    return written.data, tuple(changed), tuple(found)
