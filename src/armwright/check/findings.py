"""The result of a check: findings about a file, and proofs that its numbers are consistent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armwright.names import shown
from armwright.notebook import box, table
from armwright.pages.report.plot import Table, figures, write
from armwright.rules import SEVERITIES, Problem, accepted, kinds

FILE_KINDS = {
    "asymmetric inertia": "a 3x3 tensor whose mirrored entries differ",
    "axis length": "an axis whose length is not one, or zero",
    "DH convention": "a table that seems to follow another convention",
    "exchanged moments": "Ixx, Iyy or Izz that seem to be exchanged",
    "flipped products": "products of inertia with the other sign, as SolidWorks prints them",
    "inertia about the origin": "a tensor about the origin of the link frame, not the centre of mass",
    "meshes not found": "meshes that are missing, so that fewer mistakes can be found",
    "missing limits": "a joint without limits in a format that requires them",
    "parallel axis twice": "a tensor from which the parallel-axis term was subtracted twice",
    "turned tensor": "a body whose long axis is normal to its link",
    "visuals": "shapes or materials that cannot be read or that repeat, or meshes outside of the model's folder",
    "held back": "a joint whose range or speed is reduced by the limits of a follower",
    "locked": "a joint outside of the chain that is locked",
    "tip": "other links at which the chain could end",
    "not loaded": "a file from which no chain could be loaded",
    "not proved": "a proof that failed",
}
"""Kinds of findings that only a file can have, each with its meaning."""


def finding_kinds() -> dict[str, str]:
    """Return all kinds of findings, each with its meaning: those of the rules, and those that only a file can have."""
    return kinds() | FILE_KINDS


@dataclass(frozen=True)
class Edit:
    """A new value in a file: the index of the element (or TOML table), the key and the text."""

    place: int
    key: str
    text: str


@dataclass(frozen=True)
class Finding:
    """One fault or note, and the edits that repair it if no guess is needed.

    `about` lists the links and joints of a finding about several; `by_length` marks a tensor that was compared with
    the size of its link.
    """

    severity: str
    kind: str
    where: str
    text: str
    line: int | None = None
    edits: tuple[Edit, ...] = ()
    about: tuple[str, ...] = ()
    by_length: bool = False

    @classmethod
    def of(cls, problem: Problem, line: int | None = None, edits: tuple[Edit, ...] = ()) -> Finding:
        """Return the finding of a problem that a rule has found, at its line."""
        p = problem
        return cls(p.severity, p.kind, p.where, p.text, line, edits, p.about, p.by_length)

    @property
    def fixable(self) -> bool:
        """It can be repaired without a guess."""
        return bool(self.edits)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, for JSON."""
        keys = ("severity", "kind", "where", "line", "text", "fixable")
        return {key: getattr(self, key) for key in keys} | {"about": list(self.about)}

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Proof:
    """A property of every good model; `holds` is None if it could not be tested."""

    name: str
    holds: bool | None
    text: str
    value: float | None = None
    allowed: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the proof as plain values, for JSON."""
        return {key: getattr(self, key) for key in ("name", "holds", "value", "allowed", "text")}


@dataclass(frozen=True, repr=False)
class Report:
    """All findings about a file, and the proofs. `links` and `joints` are those that were examined."""

    file: str
    robot: str
    links: tuple[str, ...]
    joints: tuple[str, ...]
    findings: tuple[Finding, ...]
    proofs: tuple[Proof, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.file}: {self.robot}, {len(self.links)} links, {len(self.joints)} joints: {self.summary}>"

    def __str__(self) -> str:
        parts = [f"{self.file}: {self.robot}, {len(self.links)} links, {len(self.joints)} joints"]
        if self.findings:
            parts[0] += f"\n{text_table(('where', '', 'kind', 'line', 'what'), self._finding_rows)}"
        if self.fine:
            parts.append(f"fine: {', '.join(self.fine)}")
        if self.proofs:
            parts.append(text_table(("proof", "", "how"), self._proof_rows))
        return "\n\n".join([*parts, self.summary])

    def _repr_html_(self) -> str:
        bad = [(i, 1) for i, finding in enumerate(self.findings) if finding.severity == "error"]
        found = table(("where", "", "kind", "line", "what"), self._finding_rows, bad) if self.findings else ""
        proofs = table(("proof", "", "how"), self._proof_rows) if self.proofs else ""
        return box(f"{self.file}: {self.robot}: {self.summary}", found, proofs)

    @property
    def _finding_rows(self) -> list[tuple[str, ...]]:
        """Rows of the table of findings."""
        return [(f.where, f.severity, f.kind, str(f.line or ""), f.text) for f in self.findings]

    @property
    def _proof_rows(self) -> list[tuple[str, ...]]:
        return [(proof.name, PROOF_VERDICTS[proof.holds], proof.text) for proof in self.proofs]

    def of(self, severity: str) -> tuple[Finding, ...]:
        """Return the findings of a severity."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def ok(self) -> bool:
        """There is no error and no warning."""
        return not self.of("error") and not self.of("warning")

    @property
    def fine(self) -> tuple[str, ...]:
        """Links and joints without findings."""
        reported = {name for finding in self.findings for name in (finding.where, *finding.about)}
        return tuple(name for name in (*self.links, *self.joints) if name not in reported)

    @property
    def summary(self) -> str:
        """Numbers of errors, warnings and notes, such as "1 error, 2 notes"."""
        counts = [(len(self.of(severity)), severity) for severity in SEVERITIES]
        return ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts if n) or "nothing found"

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return {
            "file": self.file,
            "robot": self.robot,
            "ok": self.ok,
            "links": list(self.links),
            "joints": list(self.joints),
            "findings": [finding.as_dict() for finding in self.findings],
            "proofs": [proof.as_dict() for proof in self.proofs],
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def to_html(self, path: str | Path) -> Path:
        """Write a page with the findings, link by link, and the proofs; return its path."""
        title = f"{self.robot}: {self.summary}"
        counts = f"{len(self.links)} links, {len(self.joints)} joints"
        fine = f"\nFine: {', '.join(map(shown, self.fine))}" if self.fine else ""
        tables: list[Table] = []
        if self.findings:
            tables.append(("Findings", [("where", "severity", "kind", "line", "what"), *self._finding_rows]))
        if self.proofs:
            tables.append(("Proofs", [("proof", "verdict", "how"), *self._proof_rows]))
        return write(path, figures(title, f"{shown(self.file)}: {counts}{fine}", [], tables, "check", PAGE_TONES))


PROOF_VERDICTS = {True: "holds", False: "fails", None: "not tried"}
PAGE_TONES = {"error": "bad", "warning": "fair", "note": "none", "holds": "good", "fails": "bad", "not tried": "none"}
"""Colours of severities and verdicts on a page."""


def with_accepted(finding: Finding, accept: Iterable[str]) -> Finding:
    """Return the finding, as a note if `accept` lists it."""
    if finding.severity == "note" or not accepted(finding.kind, finding.where, accept):
        return finding
    return replace(finding, severity="note", text=f"{finding.text} (accepted)")


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return heads and rows as a text table with two blanks between columns."""
    lines = [heads, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
