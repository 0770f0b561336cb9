"""A file looked at from end to end: what it says, what can be loaded from it, what can be proved of it."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from armwright.check.bodies import body_findings
from armwright.check.edits import as_text, edited
from armwright.check.from_toml import from_toml
from armwright.check.from_tree import from_tree, from_urdf
from armwright.check.joints import follower_findings, joint_findings
from armwright.check.proofs import Peer, prove
from armwright.check.report import Finding, Proof, Report, finding_kinds, softened
from armwright.check.whole import whole_findings
from armwright.check.written import Written
from armwright.errors import ArmwrightError, InputError, LockedWarning, ModelError, TipWarning, VisualWarning
from armwright.files import missing, robot_file
from armwright.load import READERS, load, packaged
from armwright.model import toml_lines, xml
from armwright.model.tree import check_joint_count
from armwright.robot import Robot
from armwright.rules import (
    LENGTH_KINDS,
    RULES,
    SEVERITIES,
    AngleFacts,
    check_accepted,
    problems,
    without_consequences,
)


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
    """What is wrong, suspicious or fine in a robot file, and whether its numbers can be computed with.

    base, tip, locked, floating as for `load`
    accept    kinds of findings, or "where: kind", that are known and become notes; a TOML file has its own list too
    peers     other programs to compare torques with, by name (the command line passes Pinocchio and MuJoCo)
    prove_it  False leaves out the proofs, which take a second or two
    packages  where packages are that meshes are in, or that a xacro file names: with meshes more can be found
    mappings  the arguments of a xacro file
    """
    if isinstance(accept, str):
        raise InputError(f"accept = {accept!r}: expected a list of kinds")
    check_accepted(accept, finding_kinds(), "finding to accept")
    written = read(path, packages, mappings)
    chosen = {
        "base": base, "tip": tip, "locked": locked or None, "packages": packages, "mappings": mappings,
        "floating": floating,
    }  # fmt: skip
    found = without_consequences(list(written_findings(written)))
    robot, from_loading = _loaded(path, written, chosen, found)
    found += from_loading
    proofs: tuple[Proof, ...] = ()
    if robot is not None:
        found = _with_robot(robot, written, found)
        proofs = prove(robot, peers) if prove_it else ()
        failed = (f"it does not hold that {proof.name}: {proof.text}" for proof in proofs if proof.holds is False)
        found += [Finding("error", "not proved", robot.name, text) for text in failed]
    known = (*written.accept, *accept)
    return Report(
        file=str(path),
        robot=written.name,
        links=_links(written, robot),
        joints=tuple(hinge.name for hinge in written.hinges if hinge.moves),
        findings=_sorted(written, [softened(finding, known) for finding in found]),
        proofs=proofs,
    )


def read(
    path: str | Path,
    packages: Mapping[str, str | Path] | None = None,
    mappings: Mapping[str, str | float] | None = None,
) -> Written:
    """A file as it is written, or the file of a packaged robot."""
    file = _file(path)
    if wrong := missing(file, f"a robot file that ends in {', '.join(READERS)}"):
        raise ModelError(wrong)
    suffix = file.suffix.lower()
    if suffix == ".toml":
        return from_toml(robot_file(file, toml_lines.MAX_TOML_BYTES), str(path), file.stem)
    if suffix == ".xacro":
        from armwright.model import xacro  # noqa: PLC0415

        folders = {name: Path(folder) for name, folder in (packages or {}).items()}
        data = as_text(xacro.expand(file, mappings, folders))
        return from_urdf(xml.parse(data, str(path)), data, packages)
    if suffix not in READERS:
        raise ModelError(f"{path}: cannot read {file.suffix or 'a file without ending'}; expected {', '.join(READERS)}")
    data = robot_file(file, xml.MAX_XML_BYTES)
    root = xml.parse(data, str(file))
    if root.tag == "mujoco":
        from armwright.model import mjcf  # noqa: PLC0415

        return from_tree(mjcf.tree_of(root), "mjcf")
    check_joint_count(len(root.all("joint")), str(path))
    return from_urdf(root, data, packages)


def _file(path: str | Path) -> Path:
    if not isinstance(path, (str, Path)):
        raise ModelError(f"check got {type(path).__name__}; expected the path of a robot file")
    if str(path) in packaged():
        return Path(str(resources.files("armwright.model").joinpath("library", f"{path}.toml")))
    return Path(path)


def written_findings(written: Written) -> Iterator[Finding]:
    """What the file alone says."""
    found = [*body_findings(written), *joint_findings(written)]
    yield from found
    yield from _merged(found, whole_findings(written))


def _loaded(
    path: str | Path, written: Written, chosen: dict[str, Any], found: list[Finding]
) -> tuple[Robot | None, list[Finding]]:
    """The robot, and what loading had to say. A file that a reader refuses is loaded as it would be repaired."""
    try:
        return _load(path, chosen)
    except ArmwrightError as error:
        refused = error
    edits = [edit for finding in found for edit in finding.edits if finding.severity != "note"]
    if edits:
        with tempfile.TemporaryDirectory() as folder, suppress(ArmwrightError):
            copy = Path(folder) / f"robot.{written.format}"
            copy.write_bytes(edited(written.data, written.format, edits))
            return _load(copy, chosen | {"mappings": None}, visuals=False)
    wrong = any(finding.severity == "error" for finding in found)
    undecided = "choose" in str(refused)  # which chain of a tree is meant
    if any(chosen[key] for key in ("base", "tip", "locked", "floating")) or not (wrong or undecided):
        raise refused
    severity = "note" if undecided else "error"
    return None, [Finding(severity, "not loaded", written.name, f"nothing was proved: {refused}")]


def _load(path: str | Path, chosen: dict[str, Any], visuals: bool = True) -> tuple[Robot, list[Finding]]:
    """The robot, and what nobody chose: where joints stand, where it ends.

    That one loads only without what it looks like is a finding.
    """
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            robot = load(path, **chosen, visuals=visuals)
        except ModelError as error:
            caught.clear()
            robot = load(path, **chosen, visuals=False)
            found.append(Finding("warning", "visuals", robot.name, str(error)))
    decided = {LockedWarning: "locked", TipWarning: "tip", VisualWarning: "visuals"}
    for warning in caught:
        if warning.category in decided:
            text = str(warning.message).removeprefix(f"{robot.name}: ")
            found.append(Finding("note", decided[warning.category], robot.name, text))
    return robot, found


def _with_robot(robot: Robot, written: Written, found: Sequence[Finding]) -> list[Finding]:
    """The findings of the file, and what the rules say of the robot that was loaded, at the line of its link.

    What both say is said with the numbers of the robot, as `load` and `show` say it. What is welded to a link speaks
    for itself. An angle may be in another row than it was written in; where such are found in the file, that is enough.
    """
    lines = {body.name: body.line for body in written.bodies}
    angle_kinds = {rule.kind for rule in RULES.values() if rule.about is AngleFacts}
    in_file = {finding.kind for finding in found} & angle_kinds
    named = {*(link.name for link in robot.links), *(row.name for row in robot.rows)}
    groups = written.groups
    inner = [f.where for f in found if f.kind in LENGTH_KINDS and f.where in groups and f.where not in named]
    welded = {groups[where] for where in inner}
    more = {
        (p.kind, p.where): Finding.of(p, lines.get(p.where))
        for p in reversed(problems(robot))
        if p.kind not in in_file and not (p.kind in LENGTH_KINDS and groups.get(p.where) in welded)
    }
    better = [
        replace(f, severity=one.severity, text=one.text, by_length=one.by_length)
        if f.kind in LENGTH_KINDS and (one := more.get((f.kind, f.where)))
        else f
        for f in found
    ]
    others = (*reversed(more.values()), *follower_findings(robot, written))
    return without_consequences([*better, *_merged(better, others)])


def _merged(found: Sequence[Finding], more: Iterable[Finding]) -> list[Finding]:
    """What is not said already."""
    known = {(finding.kind, finding.where) for finding in found}
    return [finding for finding in more if (finding.kind, finding.where) not in known]


def _links(written: Written, robot: Robot | None) -> tuple[str, ...]:
    """Rows of a table may be rods or points, which have no body as written."""
    if robot is not None and written.format == "toml":
        return tuple(link.name for link in robot.links)
    return tuple(body.name for body in written.bodies)


def _sorted(written: Written, found: list[Finding]) -> tuple[Finding, ...]:
    """As the file has them, the robot as a whole first, the worst of a place first."""
    names = [written.name, *(body.name for body in written.bodies), *(hinge.name for hinge in written.hinges)]
    order = {name: i for i, name in reversed(list(enumerate(names)))}
    return tuple(sorted(found, key=lambda f: (order.get(f.where, len(names)), SEVERITIES.index(f.severity))))
