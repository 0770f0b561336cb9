"""`armwright check`: findings and proofs as tables or JSON, and the peers that are installed."""

from __future__ import annotations

import importlib
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armwright.algebra import Array
from armwright.check import Finding, Fixed, Report, check
from armwright.check import fix as mend
from armwright.check.proofs import Peer
from armwright.cli.command import JSON_OPTION, REPORT_OPTION, NamedRobot, RobotOptions
from armwright.cli.output import console, escape, option_names, report_page, show_json, show_progress, table
from armwright.errors import InputError
from armwright.robot import Robot

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}
_VERDICTS = {True: "[green]holds[/]", False: "[bold red]fails[/]", None: "[dim]not tried[/]"}


def run_check(
    file: NamedRobot,
    accept: Annotated[list[str] | None, typer.Option(help="A KIND or 'LINK: KIND' of finding to accept.")] = None,
    fix: Annotated[Path | None, typer.Option(help="Write a copy with the unambiguous faults repaired.")] = None,
    output: REPORT_OPTION = None,
    json: JSON_OPTION = False,
    quick: Annotated[bool, typer.Option("--quick", help="Skip the proofs.")] = False,
) -> bool:
    """Report what is wrong or suspicious in a robot file, link by link, and prove its numbers (docs/checking.md).

    Example: armwright check FILE
    """
    for flag in ("payload", "gravity"):
        if getattr(file, flag):
            raise InputError(f"--{flag}: check examines the file alone; write the {flag} there, or remove --{flag}")
    name, packages, mappings = file.name, file.packages, file.mappings
    peers = {} if quick else installed_peers(name, file)
    with show_progress(f"checking {Path(name).name}"):
        report = check(
            name, file.base, file.tips, file.locked, floating=file.floating,
            accept=accept or (), peers=peers, prove_it=not quick, packages=packages, mappings=mappings,
        )  # fmt: skip
        fixed = mend(name, fix, packages=packages, mappings=mappings) if fix is not None else None
    if json:
        show_json(_as_data(report, fixed))
    else:
        _show(report)
        if fixed is not None:
            _show_repairs(fixed)
    if output is not None:
        path = report.to_html(output)
        if not json:
            report_page(path, "findings and proofs")
    return report.ok


def _as_data(report: Report, fixed: Fixed | None) -> dict[str, Any]:
    data = report.as_dict()
    if fixed is not None:
        data["fixed"] = {
            "file": fixed.file,
            "changed": [finding.as_dict() for finding in fixed.changed],
            "left": [finding.as_dict() for finding in fixed.left],
        }
    return data


def _show(report: Report) -> None:
    out = console()
    title = f"{escape(report.file)}: {escape(report.robot)}, {len(report.links)} links, {len(report.joints)} joints"
    rows = table("where", "", "kind", "line", "what", title=title)
    for finding in report.findings:
        rows.add_row(*_cells(finding))
    out.print(rows if report.findings else f"[bold]{title}[/]")
    if report.fine:
        out.print(f"\n[green]fine:[/] {escape(', '.join(report.fine))}", soft_wrap=True)
    if report.proofs:
        out.print()
        _show_proofs(report)
    fixable = sum(finding.fixable for finding in report.findings)
    hint = f"; --fix can repair {fixable} of them" if fixable else ""
    out.print(f"\n{report.summary}{hint}", style="bold" if not report.ok else "green")


def _show_proofs(report: Report) -> None:
    rows = table("proof", "", "how")
    for proof in report.proofs:
        rows.add_row(escape(proof.name), _VERDICTS[proof.holds], escape(proof.text))
    console().print(rows)


def _cells(finding: Finding) -> tuple[str, ...]:
    colour = _COLOURS[finding.severity]
    line = "" if finding.line is None else str(finding.line)
    text = f"{finding.text} {option_names(finding.text)}".rstrip()
    return escape(finding.where), f"[{colour}]{finding.severity}[/]", finding.kind, line, escape(text)


def _show_repairs(fixed: Fixed) -> None:
    out = console()
    out.print(f"\n{escape(fixed.file)}: {len(fixed.changed)} repaired, {len(fixed.left)} left", style="bold")
    for word, findings in (("changed", fixed.changed), ("left", fixed.left)):
        for finding in findings:
            out.print(f"  {word}: {escape(finding.where)}: {finding.kind}: {escape(finding.text)}", soft_wrap=True)


def installed_peers(file: str, chosen: RobotOptions) -> dict[str, Peer]:
    """Return Pinocchio and MuJoCo with the same robot, and Pinocchio with the robot as it reads a URDF file."""
    peers: dict[str, Peer] = {}
    if find_spec("pinocchio"):
        peers["Pinocchio"] = partial(_peer, "pinocchio", "Pinocchio")
        if Path(file).suffix == ".urdf" and not (chosen.base or chosen.locked or chosen.floating):
            peers["Pinocchio reading the file"] = partial(_pinocchio_from_file, Path(file))
    if find_spec("mujoco"):
        peers["MuJoCo"] = partial(_peer, "mujoco", "MuJoCo")
    return peers


def _peer(module: str, name: str, arm: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    """Return torques (states, n) by a package of `study.peers`, which is imported only here."""
    model = getattr(importlib.import_module(f"armwright.study.peers.{module}"), name)(arm)
    no_wrench = np.zeros(6)
    return np.array([model.inverse_dynamics(*state, no_wrench) for state in zip(q, qd, qdd, strict=True)])


def _pinocchio_from_file(file: Path, arm: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    """Return torques (states, n) by Pinocchio with the robot as it reads the file."""
    model = importlib.import_module("armwright.study.peers.pinocchio").Reading(file, arm)
    return np.array([model.inverse_dynamics(*state) for state in zip(q, qd, qdd, strict=True)])
