"""Repaired copies of files: faults that need no guess are repaired, the others reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from armwright.check.file_check import file_findings, read_file_model
from armwright.check.file_model import FileModel
from armwright.check.findings import Finding
from armwright.check.text_edits import apply_edits
from armwright.check.toml_model import toml_model
from armwright.check.tree_model import urdf_model
from armwright.errors import InputError, ModelError
from armwright.files import write
from armwright.model import xml

MAX_PASSES = 5
"""Largest number of passes. Two suffice: a tensor becomes symmetric before its reference point changes."""


@dataclass(frozen=True)
class Fixed:
    """The result of a repair: the findings that it removed (`changed`), and those that remain (`left`)."""

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
    """Write a repaired copy of a .toml, .urdf or .xacro file (the latter as URDF), and return the changes.

    `packages` are the folders of packages, `mappings` the arguments of a xacro file, as for `check`. A file of another
    format raises a `ModelError`, an unsuitable `out` an `InputError`.
    """
    model = read_file_model(path, packages, mappings)
    target = Path(out)
    if not model.data:
        raise ModelError(f"{path} cannot be repaired: only .toml, .urdf and .xacro files are written")
    if target.suffix != f".{model.format}":
        raise InputError(f"{out}: expected a name that ends in .{model.format}, the format of the copy")
    if target.resolve() == Path(path).resolve():
        raise InputError(f"{out} is the file itself; choose another name for the repaired copy")
    data, changed, left = repair(model)
    try:
        write(target, data)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error}") from None
    return Fixed(str(out), changed, left)


def repair(model: FileModel) -> tuple[bytes, tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the repaired text, the findings that were repaired, and those that remain."""
    changed: list[Finding] = []
    for _ in range(MAX_PASSES):
        findings = list(file_findings(model))
        fixable = [finding for finding in findings if finding.fixable]
        if not fixable:
            break
        data = apply_edits(model.data, model.format, [edit for finding in fixable for edit in finding.edits])
        changed += fixable
        if model.format == "toml":
            model = toml_model(data, model.file, model.name)
        else:
            model = urdf_model(xml.parse(data, model.file), data, model.packages)
    return model.data, tuple(changed), tuple(findings)
