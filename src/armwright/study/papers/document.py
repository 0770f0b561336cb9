"""The table of findings in the document of a paper: writing, reading and comparison."""

from __future__ import annotations

import math
import re

from armwright.errors import InputError
from armwright.study.papers.finding import COLUMNS, Finding, PaperStudy, tally

BEGIN_MARK = "<!-- findings: written by tools/papers.py -->"
END_MARK = "<!-- end of findings -->"

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def with_findings(text: str, study: PaperStudy) -> str:
    """Return the document with the table of this study between its marks."""
    before, _, after = _split_at_marks(text)
    return f"{before}{BEGIN_MARK}\n{table(study)}{END_MARK}{after}"


def findings_of(text: str) -> str:
    """Return the text between the marks."""
    return _split_at_marks(text)[1]


def _split_at_marks(text: str) -> tuple[str, str, str]:
    if text.count(BEGIN_MARK) != 1 or text.count(END_MARK) != 1:
        raise InputError(f"the document has no place for its findings; expected one {BEGIN_MARK} and one {END_MARK}")
    before, rest = text.split(BEGIN_MARK)
    old, after = rest.split(END_MARK)
    return before, old, after


def table(study: PaperStudy) -> str:
    """Return all findings except timed ones, in rows of `COLUMNS`, with notes below."""
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


def same_tables(one: str, other: str, relative: float = 0.1, absolute: float = 1e-3) -> bool:
    """Return whether two tables have the same words, and the same numbers within the tolerances of other machines."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=relative, abs_tol=absolute) for a, b in pairs)
