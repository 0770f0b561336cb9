"""The check of a file: findings in its text, in the robot loaded from it, and proofs of its numbers."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from armwright.check.body_findings import body_findings
from armwright.check.file_model import FileModel
from armwright.check.findings import Finding, Proof, Report, finding_kinds, with_accepted
from armwright.check.joint_findings import follower_findings, joint_findings
from armwright.check.overall_findings import overall_findings
from armwright.check.proofs import Peer, prove
from armwright.check.text_edits import apply_edits, xml_text
from armwright.check.toml_model import toml_model
from armwright.check.tree_model import tree_model, urdf_model
from armwright.errors import ArmwrightError, InputError, LockedWarning, ModelError, TipWarning, VisualWarning
from armwright.files import missing, robot_file
from armwright.load import ENDINGS, load, packaged
from armwright.model import toml_lines, xml
from armwright.model.tree import check_joint_count
from armwright.robot import Robot
from armwright.rules import LENGTH_KINDS, RULES, SEVERITIES, AngleFacts, check_accepted, problems, without_consequences


def check(
    path: str | Path,
    base: str | None = None,
    tip: str | Sequence[str] | None = None,
    locked: Mapping[str, float] | None = None,
    *,
    floating: bool = False,
    accept: Sequence[str] = (),
    peers: Mapping[str, Peer] | None = None,
    prove_it: bool = True,
    packages: Mapping[str, str | Path] | None = None,
    mappings: Mapping[str, str | float] | None = None,
) -> Report:
    """Return a report of what is wrong, suspicious or fine in a robot file.

    base, tip, locked, floating as for `load`.
    accept    kinds of findings, or "where: kind", that become notes, besides the list of a TOML file.
    peers     other programs to compare torques with, by name (the command line passes Pinocchio and MuJoCo).
    prove_it  False skips the proofs, which take a second or two.
    packages  folders of packages with meshes or named by a xacro file; meshes reveal more mistakes.
    mappings  arguments of a xacro file.

    A file that cannot be read raises a `ModelError`.
    """
    if isinstance(accept, str):
        raise InputError(f"accept = {accept!r}: expected a list of kinds")
    check_accepted(accept, finding_kinds(), "finding to accept")
    model = read_file_model(path, packages, mappings)
    options = {
        "base": base, "tip": tip, "locked": locked or None, "packages": packages, "mappings": mappings,
        "floating": floating,
    }  # fmt: skip
    findings = without_consequences(list(file_findings(model)))
    robot, from_loading = _loaded(path, model, options, findings)
    findings += from_loading
    proofs: tuple[Proof, ...] = ()
    if robot is not None:
        findings = _with_robot_findings(robot, model, findings)
        proofs = prove(robot, peers) if prove_it else ()
        failed = (f"this proof fails: {proof.name}: {proof.text}" for proof in proofs if proof.holds is False)
        findings += [Finding("error", "not proved", robot.name, text) for text in failed]
    known = (*model.accept, *accept)
    return Report(
        file=str(path),
        robot=model.name,
        links=_links(model, robot),
        joints=tuple(hinge.name for hinge in model.hinges if hinge.moves),
        findings=_sorted(model, [with_accepted(finding, known) for finding in findings]),
        proofs=proofs,
    )


def read_file_model(
    path: str | Path,
    packages: Mapping[str, str | Path] | None = None,
    mappings: Mapping[str, str | float] | None = None,
) -> FileModel:
    """Return the numbers of a file, or of the file of a packaged robot, as written."""
    file = _file(path)
    if text := missing(file, f"a robot file that ends in {', '.join(ENDINGS)}"):
        raise ModelError(text)
    suffix = file.suffix.lower()
    if suffix == ".toml":
        return toml_model(robot_file(file, toml_lines.MAX_TOML_BYTES), str(path), file.stem)
    if suffix == ".xacro":
        from armwright.model import xacro  # noqa: PLC0415

        folders = {name: Path(folder) for name, folder in (packages or {}).items()}
        data = xml_text(xacro.expand(file, mappings, folders))
        return urdf_model(xml.parse(data, str(path)), data, packages)
    if suffix not in ENDINGS:
        raise ModelError(f"{path}: cannot read {file.suffix or 'a file without ending'}; expected {', '.join(ENDINGS)}")
    data = robot_file(file, xml.MAX_XML_BYTES)
    root = xml.parse(data, str(file))
    if root.tag == "mujoco":
        from armwright.model import mjcf  # noqa: PLC0415

        return tree_model(mjcf.tree_of(root), "mjcf")
    check_joint_count(len(root.all("joint")), str(path))
    return urdf_model(root, data, packages)


def _file(path: str | Path) -> Path:
    if not isinstance(path, (str, Path)):
        raise ModelError(f"check got {type(path).__name__}; expected the path of a robot file")
    if str(path) in packaged():
        return Path(str(resources.files("armwright.model").joinpath("library", f"{path}.toml")))
    return Path(path)


def file_findings(model: FileModel) -> Iterator[Finding]:
    """Yield the findings in the text of a file."""
    findings = [*body_findings(model), *joint_findings(model)]
    yield from findings
    yield from _new_findings(findings, overall_findings(model))


def _loaded(
    path: str | Path, model: FileModel, options: dict[str, Any], findings: list[Finding]
) -> tuple[Robot | None, list[Finding]]:
    """Return the robot and the findings of loading; a file that its reader refuses is repaired first, if possible."""
    try:
        return _load(path, options)
    except ArmwrightError as error:
        refused = error
    edits = [edit for finding in findings for edit in finding.edits if finding.severity != "note"]
    if edits:
        with tempfile.TemporaryDirectory() as folder, suppress(ArmwrightError):
            copy = Path(folder) / f"robot.{model.format}"
            copy.write_bytes(apply_edits(model.data, model.format, edits))
            return _load(copy, options | {"mappings": None}, visuals=False)
    faulty = any(finding.severity == "error" for finding in findings)
    undecided = "choose" in str(refused)  # of several chains
    if any(options[key] for key in ("base", "tip", "locked", "floating")) or not (faulty or undecided):
        raise refused
    severity = "note" if undecided else "error"
    return None, [Finding(severity, "not loaded", model.name, f"nothing was proved: {refused}")]


def _load(path: str | Path, options: dict[str, Any], visuals: bool = True) -> tuple[Robot, list[Finding]]:
    """Return the robot, and findings about choices of the reader: locked joints, tips, refused visuals."""
    findings = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            robot = load(path, **options, visuals=visuals)
        except ModelError as error:
            caught.clear()
            robot = load(path, **options, visuals=False)
            findings.append(Finding("warning", "visuals", robot.name, str(error)))
    choices = {LockedWarning: "locked", TipWarning: "tip", VisualWarning: "visuals"}
    for warning in caught:
        if warning.category in choices:
            text = str(warning.message).removeprefix(f"{robot.name}: ")
            findings.append(Finding("note", choices[warning.category], robot.name, text))
    return robot, findings


def _with_robot_findings(robot: Robot, model: FileModel, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the file and those of the rules about the loaded robot, at the lines of its links.

    A finding of both has the numbers of the robot, as in `load` and `show`. Findings about bodies welded to a link
    replace those about the link. Angles of the robot may differ from those of the file: the latter suffice.
    """
    lines = {body.name: body.line for body in model.bodies}
    angle_kinds = {rule.kind for rule in RULES.values() if rule.about is AngleFacts}
    file_angle_kinds = {finding.kind for finding in findings} & angle_kinds
    named = {*(link.name for link in robot.links), *(row.name for row in robot.rows)}
    groups = model.groups
    welded = {
        groups[f.where] for f in findings if f.kind in LENGTH_KINDS and f.where in groups and f.where not in named
    }
    robot_findings = {
        (p.kind, p.where): Finding.of(p, lines.get(p.where))
        for p in reversed(problems(robot))
        if p.kind not in file_angle_kinds and not (p.kind in LENGTH_KINDS and groups.get(p.where) in welded)
    }
    updated = [
        replace(f, severity=one.severity, text=one.text, by_length=one.by_length)
        if f.kind in LENGTH_KINDS and (one := robot_findings.get((f.kind, f.where)))
        else f
        for f in findings
    ]
    others = (*reversed(robot_findings.values()), *follower_findings(robot, model))
    return without_consequences([*updated, *_new_findings(updated, others)])


def _new_findings(found: Sequence[Finding], more: Iterable[Finding]) -> list[Finding]:
    """Return the findings of `more` that are new in kind or place."""
    known = {(finding.kind, finding.where) for finding in found}
    return [finding for finding in more if (finding.kind, finding.where) not in known]


def _links(model: FileModel, robot: Robot | None) -> tuple[str, ...]:
    """Return the names of the links; rods and points of a table are links of the robot only."""
    if robot is not None and model.format == "toml":
        return tuple(link.name for link in robot.links)
    return tuple(body.name for body in model.bodies)


def _sorted(model: FileModel, findings: list[Finding]) -> tuple[Finding, ...]:
    """Return findings in the order of the file: the robot first, at each place the worst first."""
    names = [model.name, *(body.name for body in model.bodies), *(hinge.name for hinge in model.hinges)]
    order = {name: i for i, name in reversed(list(enumerate(names)))}
    return tuple(sorted(findings, key=lambda f: (order.get(f.where, len(names)), SEVERITIES.index(f.severity))))
