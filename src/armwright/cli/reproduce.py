"""`armwright reproduce`: the papers, published beside obtained."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from armwright.cli.output import console, numbered, show_notes, table
from armwright.report.plot import write
from armwright.study.papers import PAPERS, Study, lost, study
from armwright.study.papers.finding import COLUMNS, Verdict, tally

_COLOURS = {
    Verdict.EQUAL: "green",
    Verdict.HOLDS: "green",
    Verdict.DIGITS: "green",
    Verdict.MOSTLY: "yellow",
    Verdict.TENTH: "yellow",
    Verdict.TWO: "yellow",
    Verdict.TEN: "yellow",
    Verdict.UNCHECKABLE: "dim",
    Verdict.DIFFERS: "red",
}


def run_reproduction(
    paper: Annotated[str, typer.Argument(help="mata2002, grigorov2013, angeles1989, mohan2007, machado1994 or all.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the pages.")] = Path(),
) -> bool:
    """Run a paper's tables and figures again: published beside obtained, with a verdict for each number."""
    good = True
    for name in PAPERS if paper == "all" else [paper]:
        begin = time.perf_counter()
        with console().status(f"reproducing {name}"):
            made = study(name)
        good &= _show(made, time.perf_counter() - begin, output)
    return good


def _show(made: Study, seconds: float, output: Path) -> bool:
    """Print a study and write its page; False if something that used to hold no longer does."""
    out = console()
    rows = table(*COLUMNS, title=escape(made.title))
    notes = numbered(finding.why for finding in made.findings)
    for finding in made.findings:
        mark = f" ({notes[finding.why]})" if finding.why else ""
        *texts, verdict = finding.row
        rows.add_row(*map(escape, texts), f"[{_COLOURS[finding.verdict]}]{verdict}[/]{mark}")
    out.print(rows)
    show_notes(notes)
    out.print(f"\n{escape(made.summary)}", soft_wrap=True)
    path = write(output / f"{made.paper}.html", made.page(), folders=True)
    out.print(f"{tally(made.findings)}. {seconds:.0f} s. {path}: tables and figures\n", style="dim")
    gone = lost(made)
    for key, before, now in gone:
        out.print(f"[red]no longer holds:[/] {escape(key)} was {before.value}, is {now.value if now else 'missing'}")
    return not gone
