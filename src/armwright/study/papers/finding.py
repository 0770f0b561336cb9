"""The findings of a paper: the printed value, the obtained value, and their verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.pages.report.html import document, escape
from armwright.pages.report.plot import Plot, figures
from armwright.progress import progress_part
from armwright.study.papers.judgement import (
    Against,
    Bound,
    Judgement,
    JudgementBounds,
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
"""The cell of a value that the paper does not print."""

VERDICT_TONES = {
    verdict.value: tone
    for tone, verdicts in {
        "good": (Verdict.EQUAL, Verdict.HOLDS, Verdict.PRINTED_DIGITS),
        "fair": (Verdict.MOSTLY, Verdict.WITHIN_TENTH, Verdict.WITHIN_FACTOR_2, Verdict.WITHIN_FACTOR_10),
        "none": (Verdict.UNCHECKABLE,),
        "bad": (Verdict.DIFFERS,),
    }.items()
    for verdict in verdicts
}
"""The style of each verdict on a page."""

COLUMNS = ("where", "what", *(against.value for against in Against), "obtained", "held to", "verdict")
TERMINAL_COLUMNS = ("where", "what", "against", "expected", "obtained", "held to", "verdict")
"""The columns for a terminal: one for the kind of reference, and one for its value."""


@dataclass(frozen=True)
class Finding:
    """A comparison of a published value (`expected`) with an obtained one.

    `where` is the place in the paper, `what` the quantity, and `why` the reason of a difference. `against` is the kind
    of the reference: a number or claim of the paper, theory, or a value stored from a prototype. For a comparison of
    print with other print, `obtained` is the other print. `timed` findings depend on the machine and are never compared
    with a later run.
    """

    where: str
    what: str
    expected: str
    obtained: str
    judgement: Judgement
    why: str = ""
    timed: bool = False
    against: Against = Against.NUMBER

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
        """The cells of `COLUMNS`."""
        cells, obtained = dict.fromkeys(Against, NOTHING), self.obtained
        cells[self.against] = self.expected
        if self.against is Against.PRINT:
            cells |= {Against.NUMBER: self.expected, Against.PRINT: self.obtained}
            obtained = NOTHING
        return (self.where, self.what, *cells.values(), obtained, self.judgement.held_to, self.verdict.value)

    @property
    def terminal_cells(self) -> tuple[str, ...]:
        """The cells of `TERMINAL_COLUMNS`."""
        judged = (self.judgement.held_to, self.verdict.value)
        return (self.where, self.what, self.against.value, self.expected, self.obtained, *judged)


HELD_TO = {
    Against.NUMBER: "numbers of the paper",
    Against.CLAIM: "claims of the paper",
    Against.PRINT: "other print of the same paper",
    Against.THEORY: "theory",
    Against.PROTOTYPE: "an independent prototype",
}

Part: TypeAlias = tuple[list[Finding], list[Plot]]
"""The findings and plots of a table, figure or section."""


@dataclass(frozen=True)
class PaperStudy:
    """All findings of a paper, its figures redrawn, and a summary."""

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
    def of_parts(cls, paper: str, title: str, summary: str, parts: Mapping[Callable[[], Part], float]) -> PaperStudy:
        """Return the study of all parts; their typical seconds drive the progress bar."""
        findings, plots = together(_run(parts))
        return cls(paper, title, summary, tuple(findings), tuple(plots))

    def page(self) -> str:
        """Return a page with the table of findings, reasons of differences, and all figures."""
        reasons = {why: str(k) for k, why in enumerate(dict.fromkeys(f.why for f in self.findings if f.why), start=1)}
        rows = [[*COLUMNS, "note"], *([*f.row, reasons.get(f.why, "")] for f in self.findings)]
        tables = [("Published beside obtained", rows)]
        if reasons:
            tables.append(("Notes", [["note", "why"], *([k, why] for why, k in reasons.items())]))
        return figures(self.title, self.summary, self.plots, tables, "reproduction", VERDICT_TONES)


def index(studies: Iterable[PaperStudy]) -> str:
    """Return the index page of all papers, with the number of findings by verdict.

    Findings with different kinds of reference are counted separately.
    """
    listed = list(studies)
    body = f'<p class="lead">{escape(tally([finding for study in listed for finding in study.findings]))}.</p>'
    body += "".join(_panel(listed, against) for against in Against)
    return document("reproduction", "The papers, published beside obtained", body)


def _panel(studies: Sequence[PaperStudy], against: Against) -> str:
    """Return the table of verdicts with one kind of reference."""
    rows_of = [(study, [f for f in study.findings if f.against is against]) for study in studies]
    verdicts = [v for v in Verdict if any(f.verdict is v for _, findings in rows_of for f in findings)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("paper", *(v.value for v in verdicts)))
    rows = "".join(f"<tr>{_linked(study)}{_counted(f, verdicts)}</tr>" for study, f in rows_of)
    title = f"Held to {HELD_TO[against]}"
    return (
        f'<section class="panel"><h2>{escape(title)}</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _linked(study: PaperStudy) -> str:
    return f'<th scope="row"><a href="{escape(study.paper)}.html">{escape(study.title)}</a></th>'


def _counted(findings: Sequence[Finding], verdicts: Iterable[Verdict]) -> str:
    counts = [(v, sum(finding.verdict is v for finding in findings)) for v in verdicts]
    return "".join(
        f'<td class="{VERDICT_TONES[v.value]}"><span>{n}</span></td>' if n else "<td></td>" for v, n in counts
    )


def _run(parts: Mapping[Callable[[], Part], float]) -> Iterator[Part]:
    total, done = sum(parts.values()), 0.0
    for run, seconds in parts.items():
        with progress_part(done / total, (done + seconds) / total):
            part = run()
        done += seconds
        yield part


def together(parts: Iterable[Part]) -> Part:
    """Return several parts as one."""
    listed = list(parts)
    return [finding for findings, _ in listed for finding in findings], [plot for _, plots in listed for plot in plots]


def compare(
    where: str, what: str, published: str | float, obtained: float, why: str = "", unit: str = "", timed: bool = False,
    follows: bool = False,
) -> Finding:  # fmt: skip
    """Return the comparison of a number with a printed one, by its digits if that is text.

    Whole numbers, and numbers that `follow` from other printed ones, must be equal.
    """
    judgement = Printed(str(published), float(obtained), follows or whole(published, obtained))
    digits = 4 if judgement.verdict is not Verdict.PRINTED_DIGITS else 1 + sum(c.isdigit() for c in judgement.printed)
    shown = f"{obtained:.0f}" if float(obtained).is_integer() else f"{obtained:.{digits}g}"
    ours, theirs = (f"{x} {unit}".strip() for x in (shown, judgement.printed))
    if judgement.verdict not in (Verdict.EQUAL, Verdict.PRINTED_DIGITS):
        ours += f" ({judgement.ratio:.4g} times)"
    against = Against.PRINT if follows else Against.NUMBER
    return Finding(where, what, theirs, ours, judgement, why, timed, against)


def whole(*numbers: str | float) -> bool:
    """Return True if all are whole numbers, such as counts, which must be equal."""
    return all(isinstance(x, int | np.integer) or (isinstance(x, str) and x.isdecimal()) for x in numbers)


def compare_each(
    where: str, what: str, published: Sequence[float], obtained: Sequence[float], why: str = "", follows: bool = False
) -> Finding:
    """Return the comparison of several numbers with printed ones; the worst verdict counts."""
    pairs = zip(published, obtained, strict=True)
    parts = tuple(Printed(str(a), float(b), follows or whole(a, b)) for a, b in pairs)
    theirs, ours = (", ".join(map(str, numbers)) for numbers in (published, obtained))
    judgement = Worst(parts)
    if judgement.verdict is not Verdict.EQUAL:
        ours += f" ({', '.join(f'{part.ratio:.4g}' for part in parts)} times)"
    return Finding(where, what, theirs, ours, judgement, why, against=Against.PRINT if follows else Against.NUMBER)


def unchecked(where: str, what: str, published: str, why: str, obtained: str = "-", timed: bool = False) -> Finding:
    """Return a finding that cannot be compared, because the paper omits data or numbers."""
    return Finding(where, what, published, obtained, Uncheckable(), why, timed, Against.CLAIM)


def claim(
    where: str, what: str, published: str, obtained: str, bounds: Bound | Sequence[Bound], why: str = "", *,
    remark: str = "", timed: bool = False, words: str = "", against: Against = Against.CLAIM,
) -> Finding:  # fmt: skip
    """Return the finding on a statement, true if all bounds hold; `why` explains a failure, `remark` any outcome.

    `words` name the bounded value if the statement does not, `against` the source of the statement.
    """
    judgement = JudgementBounds((bounds,) if isinstance(bounds, Bound) else tuple(bounds), words)
    if judgement.verdict is not Verdict.DIFFERS:
        return Finding(where, what, published, obtained, judgement, remark, timed, against)
    return Finding(where, what, published, obtained, judgement, why or remark or "it does not hold", timed, against)


def trend(
    where: str, what: str, published: str, obtained: str, cases: Sequence[Bound], why: str = "", timed: bool = False,
    against: Against = Against.CLAIM,
) -> Finding:  # fmt: skip
    """Return the finding on a trend of a figure: true in every case, in most, or not."""
    judgement = JudgementBounds(tuple(cases), most=True)
    shown = f"{obtained} ({judgement.count} of {len(cases)})" if len(cases) > 1 else obtained
    reason = "" if judgement.verdict is Verdict.HOLDS else why or "as measured here"
    return Finding(where, what, published, shown, judgement, reason, timed, against)


def theory(where: str, what: str, expected: float, obtained: float, allowed: float, why: str = "") -> Finding:
    """Return the comparison of a number with theory, if the paper does not print it."""
    return claim(
        where, what, f"{expected:g}", f"{obtained:.2f}", below(abs(obtained - expected), allowed),
        "not as theory has it", remark=why, words="off by", against=Against.THEORY,
    )  # fmt: skip


def stored(where: str, what: str, text: str, ours: Callable[[Array], Array], allowed: float, why: str) -> Finding:
    """Return the comparison with a table stored from a prototype; errors may be up to `allowed`."""
    table = np.array([line.split() for line in text.strip().splitlines()], dtype=float)
    off = float(np.abs(ours(table[:, 0]) - table[:, 1:]).max())
    values = f"{table[:, 1:].size} values"
    return compare_stored(where, what, values, f"off by {off:.1e} at most", at_most(off, allowed), why)


def compare_stored(where: str, what: str, expected: str, obtained: str, off: Bound, why: str = "") -> Finding:
    """Return a comparison with values stored from an independent prototype, if the paper prints none."""
    return claim(where, what, expected, obtained, off, "not the stored values", remark=why, words="off by",
                 against=Against.PROTOTYPE)  # fmt: skip


def rough(error: float) -> str:
    """Return an error near rounding as a text that is the same on every machine."""
    return "rounding" if error < 1e-12 else f"{error:.0e}"


def tally(findings: Sequence[Finding]) -> str:
    """Return the number of each verdict, separately for each kind of reference."""
    parts = [(against, [f.verdict for f in findings if f.against is against]) for against in Against]
    return "; ".join(f"{against.value}: {_tally(verdicts)}" for against, verdicts in parts if verdicts)


def _tally(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{verdicts.count(v)} {v.value}" for v in Verdict if v in verdicts)


__all__ = [
    "COLUMNS",
    "NOTHING",
    "TERMINAL_COLUMNS",
    "Against",
    "Finding",
    "PaperStudy",
    "Part",
    "Verdict",
    "above",
    "at_least",
    "at_most",
    "below",
    "claim",
    "compare",
    "compare_each",
    "compare_stored",
    "rough",
    "same",
    "stored",
    "tally",
    "theory",
    "together",
    "trend",
    "unchecked",
]  # fmt: skip
