"""`armwright reproduce`: the numbers of papers, as published and as obtained."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from armwright.cli.command import JSON_OPTION
from armwright.cli.output import console, escape, numbered, report_page, show_json, show_notes, show_progress, table
from armwright.pages.report.plot import write
from armwright.study.papers import PAPERS, PaperStudy, lost, study
from armwright.study.papers.finding import TERMINAL_COLUMNS, Verdict, index, tally

_COLOURS = {
    Verdict.EQUAL: "green",
    Verdict.HOLDS: "green",
    Verdict.PRINTED_DIGITS: "green",
    Verdict.MOSTLY: "yellow",
    Verdict.WITHIN_TENTH: "yellow",
    Verdict.WITHIN_FACTOR_2: "yellow",
    Verdict.WITHIN_FACTOR_10: "yellow",
    Verdict.UNCHECKABLE: "dim",
    Verdict.DIFFERS: "red",
}


def run_reproduction(
    paper: Annotated[str, typer.Argument(help="mata2002, grigorov2013, angeles1989, mohan2007, machado1994 or all.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the pages.")] = Path(),
    json: JSON_OPTION = False,
) -> bool:
    """Reproduce the tables and figures of a paper, with a verdict for each published number.

    Example: armwright reproduce all
    """
    good, data, studies = True, {}, list[PaperStudy]()
    for name in PAPERS if paper == "all" else [paper]:
        begin = time.perf_counter()
        with show_progress(f"reproducing {name}"):
            result = study(name)
        path = write(output / f"{result.paper}.html", result.page(), folders=True)
        studies.append(result)
        failing = lost(result)
        good &= not failing
        if json:
            data[name] = _as_data(result, path, [key for key, *_ in failing])
        else:
            _show(result, time.perf_counter() - begin, path)
            for key, before, now in failing:
                now_is = now.value if now else "missing"
                console().print(f"[red]no longer holds:[/] {escape(key)} was {before.value}, is {now_is}")
    index_page = write(output / "index.html", index(studies), folders=True) if len(studies) > 1 else None
    if json:
        show_json(data)
    elif index_page is not None:
        report_page(index_page, "every paper and its verdicts")
    return good


def _as_data(result: PaperStudy, path: Path, failing: list[str]) -> dict[str, Any]:
    findings = [
        {**asdict(finding), "against": finding.against.value, "verdict": finding.verdict.value}
        for finding in result.findings
    ]
    return {"title": result.title, "summary": result.summary, "findings": findings, "no_longer": failing, "page": path}


WIDE_TERMINAL = 120
"""The width from which a terminal shows every column of a table; a narrower one shows some in pairs."""


def _show(result: PaperStudy, seconds: float, path: Path) -> None:
    out = console()
    wide = out.width >= WIDE_TERMINAL
    heads = TERMINAL_COLUMNS if wide else ("what", "expected", "obtained", "verdict")
    rows = table(*heads, title=escape(result.title))
    notes = numbered(finding.why for finding in result.findings)
    for finding in result.findings:
        mark = f" ({notes[finding.why]})" if finding.why else ""
        *cells, verdict = finding.terminal_cells
        if not wide:
            where, what, against, expected, obtained, held_to = cells
            cells = [f"{where}: {what}", f"{against}: {expected}", f"{obtained}; held to {held_to}"]
        rows.add_row(*map(escape, cells), f"[{_COLOURS[finding.verdict]}]{verdict}[/]{mark}")
    out.print(rows)
    show_notes(notes)
    out.print(f"\n{escape(result.summary)}", soft_wrap=True)
    out.print(f"{tally(result.findings)}. {seconds:.0f} s. {escape(path)}: tables and figures\n", style="dim")
