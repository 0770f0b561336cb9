"""`armwright reproduce`: the papers, published beside obtained."""

from __future__ import annotations

import time
from pathlib import Path

from rich.markup import escape

from armwright.cli.output import console, table, write_page
from armwright.study.papers import PAPERS, Study, lost, study
from armwright.study.papers.finding import Verdict, tally

_COLOURS = {
    Verdict.EQUAL: "green",
    Verdict.DIGITS: "green",
    Verdict.ORDER: "yellow",
    Verdict.UNCHECKABLE: "dim",
    Verdict.DIFFERS: "red",
}


def reproduce_papers(paper: str, output: Path) -> bool:
    """Run one paper or all, print and write their pages; False if something that used to hold no longer does."""
    good = True
    for name in PAPERS if paper == "all" else [paper]:
        begin = time.perf_counter()
        with console().status(f"reproducing {name}"):
            made = study(name)
        good &= _told(made, time.perf_counter() - begin, output)
    return good


def _told(made: Study, seconds: float, output: Path) -> bool:
    out = console()
    rows = table("where", "what", "published", "obtained", "verdict", title=escape(made.title))
    notes: list[str] = []
    for finding in made.findings:
        if finding.why and finding.why not in notes:
            notes.append(finding.why)
        mark = f" ({notes.index(finding.why) + 1})" if finding.why else ""
        verdict = f"[{_COLOURS[finding.verdict]}]{finding.verdict.value}[/]{mark}"
        rows.add_row(*map(escape, (finding.where, finding.what, finding.published, finding.obtained)), verdict)
    out.print(rows)
    for i, note in enumerate(notes, start=1):
        out.print(f"{i:2}  {escape(note)}", style="dim", soft_wrap=True)
    out.print(f"\n{escape(made.summary)}", soft_wrap=True)
    path = output / f"{made.paper}.html"
    write_page(path, made.page(), folders=True)
    out.print(f"{tally(made.findings)}. {seconds:.0f} s. {path}: tables and figures\n", style="dim")
    gone = lost(made)
    for key, before, now in gone:
        out.print(f"[red]no longer holds:[/] {escape(key)} was {before.value}, is {now.value if now else 'missing'}")
    return not gone
