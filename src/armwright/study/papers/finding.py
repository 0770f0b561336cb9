"""What a paper prints beside what is obtained, and what to say of the two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.progress import part
from armwright.report.html import document, escape
from armwright.report.plot import Plot, figures
from armwright.study.papers.judgement import (
    Bound,
    Bounds,
    Judgement,
    Printed,
    Uncheckable,
    Verdict,
    Worst,
    above,
    at_least,
    at_most,
    below,
    same,
)

NOTHING = "-"
"""Where the paper prints nothing."""

TONES = {
    verdict.value: tone
    for tone, verdicts in {
        "good": (Verdict.EQUAL, Verdict.HOLDS, Verdict.DIGITS),
        "fair": (Verdict.MOSTLY, Verdict.TENTH, Verdict.TWO, Verdict.TEN),
        "none": (Verdict.UNCHECKABLE,),
        "bad": (Verdict.DIFFERS,),
    }.items()
    for verdict in verdicts
}
"""What a verdict looks like on a page."""

COLUMNS = ("where", "what", "published", "obtained", "held to", "verdict")


@dataclass(frozen=True)
class Finding:
    """`where` in the paper, `what` is looked at, both as text, and `why` where they differ or cannot be compared.

    `published` is what the paper prints, a number or what it says, and '-' where it prints nothing: then ours is held
    to theory or to a stored value, which `judgement` names. `timed` marks what depends on the machine: it is shown,
    never held against a later run.
    """

    where: str
    what: str
    published: str
    obtained: str
    judgement: Judgement
    why: str = ""
    timed: bool = False

    def __post_init__(self) -> None:
        if self.verdict in (Verdict.DIFFERS, Verdict.UNCHECKABLE) and not self.why:
            raise ValueError(f"{self.key}: say why it {self.verdict.value}")

    @property
    def key(self) -> str:
        return f"{self.where}: {self.what}"

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def row(self) -> tuple[str, ...]:
        """As `COLUMNS` has it."""
        return (self.where, self.what, self.published, self.obtained, self.judgement.held_to, self.verdict.value)


Part: TypeAlias = tuple[list[Finding], list[Plot]]
"""What one table, figure or section comes to."""


@dataclass(frozen=True)
class Study:
    """All findings of a paper, its figures redrawn, and a few sentences that sum it up."""

    paper: str
    title: str
    summary: str
    findings: tuple[Finding, ...]
    plots: tuple[Plot, ...] = ()

    def __post_init__(self) -> None:
        keys = [finding.key for finding in self.findings]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise ValueError(f"{self.paper}: two findings are called {sorted(twice)[0]!r}")

    @classmethod
    def of(cls, paper: str, title: str, summary: str, parts: Mapping[Callable[[], Part], float]) -> Study:
        """What the parts find; by the seconds that each took when it was last looked at it is told how far it is."""
        findings, plots = together(_run(parts))
        return cls(paper, title, summary, tuple(findings), tuple(plots))

    def page(self) -> str:
        """One page with the table of findings, why they are not equal, and all figures."""
        reasons = {why: str(k) for k, why in enumerate(dict.fromkeys(f.why for f in self.findings if f.why), start=1)}
        rows = [[*COLUMNS, "note"], *([*f.row, reasons.get(f.why, "")] for f in self.findings)]
        tables = [("Published beside obtained", rows)]
        if reasons:
            tables.append(("Notes", [["note", "why"], *([k, why] for why, k in reasons.items())]))
        return figures(self.title, self.summary, self.plots, tables, "reproduction", TONES)


def index(studies: Iterable[Study]) -> str:
    """The page that leads to those of all papers: how many findings of each have which verdict."""
    made = list(studies)
    verdicts = [v for v in Verdict if any(finding.verdict is v for study in made for finding in study.findings)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("paper", *(v.value for v in verdicts)))
    rows = "".join(f"<tr>{_linked(study)}{_counted(study, verdicts)}</tr>" for study in made)
    body = (
        f'<p class="lead">{escape(tally([finding for study in made for finding in study.findings]))}.</p>'
        f'<section class="panel"><h2>Findings by verdict</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )
    return document("reproduction", "The papers, published beside obtained", body)


def _linked(study: Study) -> str:
    return f'<th scope="row"><a href="{escape(study.paper)}.html">{escape(study.title)}</a></th>'


def _counted(study: Study, verdicts: Iterable[Verdict]) -> str:
    counts = [(v, sum(finding.verdict is v for finding in study.findings)) for v in verdicts]
    return "".join(f'<td class="{TONES[v.value]}"><span>{n}</span></td>' if n else "<td></td>" for v, n in counts)


def _run(parts: Mapping[Callable[[], Part], float]) -> Iterator[Part]:
    whole, done = sum(parts.values()), 0.0
    for run, seconds in parts.items():
        with part(done / whole, (done + seconds) / whole):
            made = run()
        done += seconds
        yield made


def together(parts: Iterable[Part]) -> Part:
    """Several parts as one."""
    found = list(parts)
    return [finding for findings, _ in found for finding in findings], [plot for _, plots in found for plot in plots]


def compare(
    where: str, what: str, published: str | float, obtained: float, why: str = "", unit: str = "", timed: bool = False,
    exact: bool = False,
) -> Finding:  # fmt: skip
    """A number beside a printed one, which counts by its digits if it is given as text; a factor is shown as one.

    `exact` is for what follows from other printed numbers: it is equal, or it is not.
    """
    judgement = Printed(str(published), float(obtained), exact)
    digits = 4 if judgement.verdict is not Verdict.DIGITS else 1 + sum(c.isdigit() for c in judgement.printed)
    shown = f"{obtained:.0f}" if float(obtained).is_integer() else f"{obtained:.{digits}g}"
    ours, theirs = (f"{x} {unit}".strip() for x in (shown, judgement.printed))
    if judgement.verdict not in (Verdict.EQUAL, Verdict.DIGITS):
        ours += f" ({judgement.ratio:.4g} times)"
    return Finding(where, what, theirs, ours, judgement, why, timed)


def compare_each(
    where: str, what: str, published: Sequence[float], obtained: Sequence[float], why: str = "", exact: bool = False
) -> Finding:
    """Several numbers in one row beside printed ones, of which the worst decides."""
    parts = tuple(Printed(str(a), float(b), exact) for a, b in zip(published, obtained, strict=True))
    theirs, ours = (", ".join(map(str, numbers)) for numbers in (published, obtained))
    judgement = Worst(parts)
    if judgement.verdict is not Verdict.EQUAL:
        ours += f" ({', '.join(f'{part.ratio:.4g}' for part in parts)} times)"
    return Finding(where, what, theirs, ours, judgement, why)


def unchecked(where: str, what: str, published: str, why: str, obtained: str = "-", timed: bool = False) -> Finding:
    """Something that cannot be held to the paper, because it leaves out data or numbers."""
    return Finding(where, what, published, obtained, Uncheckable(), why, timed)


def claim(
    where: str, what: str, published: str, obtained: str, bounds: Bound | Sequence[Bound], why: str = "", *,
    remark: str = "", timed: bool = False, words: str = "",
) -> Finding:  # fmt: skip
    """A statement, true if all bounds hold. `why` is said where it does not hold, `remark` either way.

    `words` say what is bounded, where the statement itself does not.
    """
    judgement = Bounds((bounds,) if isinstance(bounds, Bound) else tuple(bounds), words)
    if judgement.verdict is not Verdict.DIFFERS:
        return Finding(where, what, published, obtained, judgement, remark, timed)
    return Finding(where, what, published, obtained, judgement, why or remark or "it does not hold", timed)


def trend(
    where: str, what: str, published: str, obtained: str, cases: Sequence[Bound], why: str = "", timed: bool = False
) -> Finding:
    """Something read off a figure: true in every case, in most, or not."""
    judgement = Bounds(tuple(cases), most=True)
    shown = f"{obtained} ({judgement.count} of {len(cases)})" if len(cases) > 1 else obtained
    reason = "" if judgement.verdict is Verdict.HOLDS else why or "as measured here"
    return Finding(where, what, published, shown, judgement, reason, timed)


def theory(where: str, what: str, expected: float, obtained: float, allowed: float, why: str = "") -> Finding:
    """A number the paper does not print, beside what theory says it must be."""
    return claim(
        where, what, NOTHING, f"{obtained:.2f}", below(abs(obtained - expected), allowed), "not as theory has it",
        remark=why, words=f"{expected:g} by theory, off by",
    )  # fmt: skip


def stored(where: str, what: str, text: str, ours: Callable[[Array], Array], allowed: float, why: str) -> Finding:
    """Our values at the times of a table stored from a prototype, none of which may be off by more than `allowed`."""
    table = np.array([line.split() for line in text.strip().splitlines()], dtype=float)
    off = float(np.abs(ours(table[:, 0]) - table[:, 1:]).max())
    return beside_stored(where, f"{table[:, 1:].size} {what}", f"off by {off:.1e} at most", at_most(off, allowed), why)


def beside_stored(where: str, what: str, obtained: str, off: Bound, why: str = "") -> Finding:
    """What is held to values stored from an independent prototype: they hold ours in place, the paper has none."""
    return claim(where, what, NOTHING, obtained, off, "not the stored values", remark=why, words="prototype, off by")


def rough(error: float) -> str:
    """An error near rounding, in words that are the same on another machine."""
    return "rounding" if error < 1e-12 else f"{error:.0e}"


def tally(findings: Sequence[Finding]) -> str:
    """How many of each verdict."""
    counts = {v: sum(f.verdict is v for f in findings) for v in Verdict}
    return ", ".join(f"{count} {v.value}" for v, count in counts.items() if count)


__all__ = [
    "COLUMNS", "NOTHING", "Finding", "Part", "Study", "Verdict", "above", "at_least", "at_most", "below",
    "beside_stored", "claim", "compare", "compare_each", "rough", "same", "stored", "tally", "theory", "together",
    "trend", "unchecked",
]  # fmt: skip
