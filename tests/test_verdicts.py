"""Verdicts on the papers follow from what is measured, and none of them could not have been another."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from armwright.cli import app
from armwright.errors import InputError
from armwright.pages.report.plot import Curve, Plot
from armwright.study import papers
from armwright.study.papers import Finding, PaperStudy, Verdict
from armwright.study.papers.document import BEGIN_MARK, END_MARK, findings_of, same_tables, table, with_findings
from armwright.study.papers.finding import (
    COLUMNS,
    HELD_TO,
    claim,
    compare,
    compare_each,
    compare_stored,
    index,
    tally,
    theory,
    trend,
    unchecked,
)
from armwright.study.papers.judgement import (
    Against,
    Bound,
    Formula,
    Judgement,
    JudgementBounds,
    Printed,
    Worst,
    above,
    at_least,
    at_most,
    below,
    same,
)

DOCUMENTS = Path(__file__).parent.parent / "docs" / "papers"
BESIDE_A_PRINTED_NUMBER = {
    Verdict.EQUAL,
    Verdict.PRINTED_DIGITS,
    Verdict.WITHIN_TENTH,
    Verdict.WITHIN_FACTOR_2,
    Verdict.WITHIN_FACTOR_10,
}


def test_a_number_counts_by_its_printed_digits_and_then_by_its_factor() -> None:
    for value, verdict in (
        (1.5, Verdict.EQUAL),
        (1.549, Verdict.PRINTED_DIGITS),
        (1.56, Verdict.WITHIN_TENTH),
        (1.66, Verdict.WITHIN_FACTOR_2),
        (3.1, Verdict.WITHIN_FACTOR_10),
        (15.1, Verdict.DIFFERS),
        (-1.5, Verdict.DIFFERS),
        (math.nan, Verdict.DIFFERS),
        (math.inf, Verdict.DIFFERS),
    ):
        assert compare("here", "a number", "1.5", value, "why").verdict is verdict
    assert compare("here", "a count", 36, 34, "why").verdict is Verdict.DIFFERS  # whole numbers are equal or not
    assert compare("here", "a count", "36", 36).verdict is Verdict.EQUAL
    assert compare_each("here", "two counts", (3, 4), (3, 5), "why").verdict is Verdict.DIFFERS
    assert compare("here", "a time", "36", 36.2).verdict is Verdict.PRINTED_DIGITS
    assert compare("here", "a zero", "0", 0.6, "why").verdict is Verdict.DIFFERS
    for value, verdict in ((15, Verdict.EQUAL), (16, Verdict.DIFFERS)):  # what follows from printed numbers
        assert compare("here", "a sum", 15, value, "why", follows=True).verdict is verdict


def test_a_size_without_digits_counts_by_its_factor_alone() -> None:
    for value, verdict in (
        (1.5, Verdict.WITHIN_FACTOR_2),
        (2.9, Verdict.WITHIN_FACTOR_2),
        (3.1, Verdict.WITHIN_FACTOR_10),
        (16, Verdict.DIFFERS),
    ):
        assert Printed("1.5", value, digits=False).verdict is verdict


def test_a_row_shows_its_factor_and_its_tolerance() -> None:
    assert compare("here", "a number", "1.5", 1.8, "why").terminal_cells[2:] == (
        *("paper's number", "1.5", "1.8 (1.2 times)", "1/2 to 2 times the printed", "within a factor of two"),
    )
    assert compare("here", "a number", "1.5", 1.549).terminal_cells[2:] == (
        *("paper's number", "1.5", "1.55", "printed +- 0.05", "same within the printed digits"),
    )
    assert compare_each("here", "two", (3.0, 4.0), (3.0, 5.0), "why").terminal_cells[3:6] == (
        *("3.0, 4.0", "3.0, 5.0 (1, 1.25 times)", "1/2 to 2 times the printed"),
    )
    assert claim("here", "small", "yes", "it is", below(1e-3, 1e-2)).row[-2:] == ("< 0.01", "holds")
    assert claim("here", "small", "yes", "it is not", below(1e-1, 1e-2), "why").row[-2:] == ("< 0.01", "differs")


def test_each_finding_is_in_the_column_of_what_it_is_held_to() -> None:
    number = compare("here", "a number", "1.5", 1.5)
    said = claim("here", "small", "yes", "to 1e-3", below(1e-3, 1))
    printed = compare("here", "a sum", 15, 16, "a slip", follows=True)
    known = theory("here", "order", 4, 3.9, 0.5)
    stored = compare_stored("here", "torques", "6 values", "off by 1e-7", at_most(1e-7, 1e-6))
    rows = {finding.against: finding.row[2:8] for finding in (number, said, printed, known, stored)}
    assert rows == {
        Against.NUMBER: ("1.5", "-", "-", "-", "-", "1.5"),
        Against.CLAIM: ("-", "yes", "-", "-", "-", "to 1e-3"),
        Against.PRINT: ("15", "-", "16 (1.067 times)", "-", "-", "-"),  # nothing is measured
        Against.THEORY: ("-", "-", "-", "4", "-", "3.90"),
        Against.PROTOTYPE: ("-", "-", "-", "-", "6 values", "off by 1e-7"),
    }
    assert COLUMNS[2:7] == ("paper's number", "paper's claim", "other print", "theory", "prototype")
    assert theory("here", "order", 4, 3.4, 0.5).verdict is Verdict.DIFFERS


def test_the_index_counts_what_findings_are_held_to_apart(small: PaperStudy) -> None:
    assert tally(small.findings) == "paper's number: 1 same within the printed digits; paper's claim: 1 holds"
    drawn = Plot("a figure", "x", "y", [Curve("a curve", [0.0, 1.0], [0.0, 1.0])])
    page = index([replace(small, plots=(drawn,))])
    for against in Against:
        assert f"Held to {HELD_TO[against]}" in page
    numbers = page.partition("Held to numbers of the paper")[2].partition("</section>")[0]
    assert "same within the printed digits" in numbers and "holds" not in numbers


def test_a_trend_holds_in_every_case_in_most_or_not() -> None:
    for values, verdict in (([1, 1, 1], Verdict.HOLDS), ([1, 1, 3], Verdict.MOSTLY), ([1, 3], Verdict.DIFFERS)):
        made = trend("here", "fewer", "fewer", "fewer", [below(x, 2) for x in values])
        assert made.verdict is verdict
    assert made.obtained == "fewer (1 of 2)" and made.why


def test_a_formula_is_held_to_every_n() -> None:
    for counts, verdict in (((5, 7, 9), Verdict.EQUAL), ((5, 7, 10), Verdict.DIFFERS), ((5, 7, 99), Verdict.DIFFERS)):
        assert Formula("2n-1", (3, 4, 5), counts).verdict is verdict


def test_a_verdict_needs_something_measured_or_a_reason() -> None:
    with pytest.raises(ValueError, match="needs a measured number"):
        claim("here", "something", "yes", "yes", [])
    with pytest.raises(ValueError, match="say why"):
        compare("here", "something", "1", 100)
    with pytest.raises(ValueError, match="say why"):
        unchecked("here", "something", "curves", "")


def just_inside(bound: Bound) -> float:
    toward = {"<": -math.inf, "<=": bound.limit, ">": math.inf, ">=": bound.limit, "=": bound.limit}[bound.sense]
    return math.nextafter(bound.limit, toward)


def just_outside(bound: Bound) -> float:
    toward = {"<": bound.limit, "<=": math.inf, ">": bound.limit, ">=": -math.inf, "=": math.inf}[bound.sense]
    return math.nextafter(bound.limit, toward)


def inside(judgement: Judgement) -> list[float]:
    """Measurements with which nothing could be better."""
    if isinstance(judgement, Worst):
        return [value for part in judgement.parts for value in inside(part)]
    if isinstance(judgement, Printed):
        return [float(judgement.printed)]
    if isinstance(judgement, Formula):
        return [float(value) for value in judgement.theirs]
    assert isinstance(judgement, JudgementBounds)
    return [just_inside(bound) for bound in judgement.bounds]


def outside(judgement: Judgement) -> list[float]:
    """Measurements just beyond what is allowed."""
    if isinstance(judgement, Worst):
        return [value for part in judgement.parts for value in outside(part)]
    if isinstance(judgement, JudgementBounds):
        return [just_outside(bound) for bound in judgement.bounds]
    return [10.001 * value for value in inside(judgement)]


def assert_able_to_fail(finding: Finding) -> None:
    """Other measurements make it better or worse; each of them alone is enough, where all must hold."""
    judgement = finding.judgement
    if finding.verdict is Verdict.UNCHECKABLE:
        assert not judgement.measured and finding.why
        return
    good, bad = inside(judgement), outside(judgement)
    assert judgement.instead(judgement.measured).verdict is finding.verdict
    best = Verdict.WITHIN_FACTOR_2 if not getattr(judgement, "digits", True) else Verdict.HOLDS
    assert judgement.instead(good).verdict in (Verdict.EQUAL, best), finding.key
    assert judgement.instead(bad).verdict is Verdict.DIFFERS, finding.key
    assert judgement.instead([math.nan] * len(good)).verdict is Verdict.DIFFERS, finding.key
    for k, value in enumerate(bad):
        one = judgement.instead([*good[:k], value, *good[k + 1 :]]).verdict
        expected = {Verdict.DIFFERS, Verdict.MOSTLY} if getattr(judgement, "most", False) else {Verdict.DIFFERS}
        assert one in expected, finding.key


def assert_published_is_printed(finding: Finding) -> None:
    """A verdict on digits or factors stands beside a printed number, and it is the number shown that was judged."""
    parts = finding.judgement.parts if isinstance(finding.judgement, Worst) else (finding.judgement,)
    if finding.verdict in BESIDE_A_PRINTED_NUMBER:
        for part in parts:
            assert isinstance(part, Printed | Formula) and part.printed in finding.expected, finding.key
            assert finding.against in (Against.NUMBER, Against.PRINT), finding.key
    if isinstance(finding.judgement, Printed):
        shown = float(re.split(r"[ (]", finding.obtained)[0])
        digits = 1e-3 if finding.judgement.digits else 0.06
        assert shown == pytest.approx(finding.judgement.value, rel=digits), finding.key
    if finding.against in (Against.NUMBER, Against.PRINT, Against.PROTOTYPE):
        assert finding.expected != "-", finding.key
    if finding.against is Against.PRINT:
        assert finding.row[COLUMNS.index("obtained")] == "-", finding.key


def assert_kept(study: PaperStudy) -> None:
    """What a paper's study must be: nothing lost, nothing certain beforehand, and the document of this run."""
    assert papers.lost(study) == []
    assert set(papers.expected(study.paper)) == {f.key for f in study.findings if not f.timed}
    for finding in study.findings:
        assert_able_to_fail(finding)
        assert_published_is_printed(finding)
    assert_document(study)


def assert_document(study: PaperStudy) -> None:
    """Row by row, so that a failure names it; what a missing peer would have said is passed over."""
    document = findings_of((DOCUMENTS / f"{study.paper}.md").read_text()).splitlines()
    missing = {f.key for f in study.findings if "not installed" in f.why}
    if missing:
        return
    for ours, written in zip(table(study).splitlines(), document[1:], strict=True):
        assert same_tables(ours, written), f"run tools/papers.py {study.paper}:\n{ours}\n{written}"


@pytest.fixture
def small() -> PaperStudy:
    rows = (
        compare("here", "a number", "2", 1.7),
        claim("here", "small", "yes", "to 1e-3", below(1e-3, 1), remark="so"),
    )
    return PaperStudy("small", "Small", "", rows)


def test_a_document_keeps_its_text_and_gets_the_table_of_the_run(small: PaperStudy) -> None:
    text = with_findings(f"before\n{BEGIN_MARK}\nformer\n{END_MARK}\nafter\n", small)
    assert text.startswith("before\n") and text.endswith(f"{END_MARK}\nafter\n") and "former" not in text
    assert "| here | a number | 2 | - | - | - | - | 1.7 | printed +- 0.5 | same within the printed digits |" in text
    assert "| here | small | - | yes | - | - | - | to 1e-3 | < 1 | holds (1) |" in text and "\n1. so\n" in text
    assert with_findings(text, small) == text
    with pytest.raises(InputError, match="no place for its findings"):
        with_findings("text", small)


def test_every_word_is_explained() -> None:
    text = (DOCUMENTS / "README.md").read_text()
    for word in (*Verdict, *Against):
        assert f"| {word.value} |" in text
    for paper in papers.PAPERS:
        assert f"[{paper}]({paper}.md)" in text


def test_reproduce_shows_what_each_row_is_held_to_and_fails_when_something_is_lost(
    small: PaperStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armwright.cli.reproduce.study", lambda paper: small)
    kept = CliRunner().invoke(app, ["reproduce", "small", "-o", str(tmp_path)], env={"COLUMNS": "160"})
    assert kept.exit_code == 0, kept.output
    assert "held to" in kept.output and "printed +- 0.5" in kept.output
    assert "held to" in (tmp_path / "small.html").read_text()
    monkeypatch.setattr(
        papers, "expected", lambda paper: {"here: a number": Verdict.EQUAL, "here: gone": Verdict.HOLDS}
    )
    lost = CliRunner().invoke(app, ["reproduce", "small", "-o", str(tmp_path)], env={"COLUMNS": "160"})
    assert lost.exit_code == 1
    assert "here: a number was equal, is same within the printed digits" in lost.output
    assert "here: gone was holds, is missing" in lost.output


def test_tables_are_alike_to_what_another_machine_may_change() -> None:
    assert same_tables("off by 1.00 at most", "off by 1.05 at most")
    assert not same_tables("off by 1.00 at most", "off by 1.30 at most")
    assert not same_tables("off by 1.00 at most", "off by 1.00 at least")


def test_the_bounds_are_what_they_say() -> None:
    assert above(2, 1).holds and not above(1, 1).holds
    assert below(0, 1).holds and not below(1, 1).holds
    assert at_least(1, 1).holds and not at_least(0, 1).holds
    assert at_most(1, 1).holds and same(1, 1).holds and not same(1, 2).holds
