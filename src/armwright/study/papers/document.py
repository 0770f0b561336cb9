"""The table of findings in a paper's document: written from a run, and read again to be compared with one."""

from __future__ import annotations

import math
import re

from armwright.errors import InputError
from armwright.study.papers.finding import COLUMNS, Finding, Study, tally

BEGIN = "<!-- findings: written by tools/papers.py -->"
END = "<!-- end of findings -->"

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def with_findings(text: str, study: Study) -> str:
    """The document with the table of this run between its marks."""
    before, old, after = _parted(text)
    del old
    return f"{before}{BEGIN}\n{table(study)}{END}{after}"


def findings_of(text: str) -> str:
    """What stands between the marks."""
    return _parted(text)[1]


def _parted(text: str) -> tuple[str, str, str]:
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise InputError(f"the document has no place for its findings; expected one {BEGIN} and one {END}")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    return before, old, after


def table(study: Study) -> str:
    """All findings but what is timed, in rows of `COLUMNS`, and the reasons below."""
    shown = [f for f in study.findings if not f.timed]
    reasons = {why: k for k, why in enumerate(dict.fromkeys(f.why for f in shown if f.why), start=1)}
    lines = [_line(COLUMNS), "|" + "---|" * len(COLUMNS), *(_line(_noted(f, reasons)) for f in shown)]
    notes = [f"{k}. {why}" for why, k in reasons.items()]
    return "\n".join(["", f"{tally(shown)}.", "", *lines, "", *notes, "", ""])


def _noted(finding: Finding, reasons: dict[str, int]) -> tuple[str, ...]:
    *texts, verdict = finding.row
    return (*texts, f"{verdict} ({reasons[finding.why]})" if finding.why else verdict)


def _line(texts: tuple[str, ...]) -> str:
    return f"| {' | '.join(text.replace('|', '/') for text in texts)} |"


def alike(one: str, other: str, relative: float = 0.1, absolute: float = 1e-3) -> bool:
    """Whether two tables say the same: every word, and every number to what another machine may change."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=relative, abs_tol=absolute) for a, b in pairs)
