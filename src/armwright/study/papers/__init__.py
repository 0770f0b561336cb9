"""The five papers on which armwright is based, each as a script that reproduces its tables and figures.

A paper is a module with a function `study()` that returns a `PaperStudy`: published and obtained values with verdicts,
and the figures redrawn. `expected.toml` has the verdicts at the last review.
"""

from __future__ import annotations

import tomllib
from importlib import import_module, resources

from armwright.errors import unknown
from armwright.study.papers.finding import Finding, PaperStudy, Verdict

PAPERS = {
    "mata2002": "Mata, Provenzano, Valero, Cuadrado: Gibbs-Appell equations",
    "grigorov2013": "Grigorov: generalised Newton-Euler equations",
    "angeles1989": "Angeles, Ma, Rojas: Kane's equations",
    "mohan2007": "Mohan, Saha: decoupled natural orthogonal complement",
    "machado1994": "Tenreiro Machado, Galhano: customised Runge-Kutta methods",
}


def study(paper: str) -> PaperStudy:
    """Return the study of a paper."""
    if paper not in PAPERS:
        raise unknown("paper", paper, [*PAPERS, "all"])
    made: PaperStudy = import_module(f"armwright.study.papers.{paper}").study()
    return made


def expected(paper: str) -> dict[str, Verdict]:
    """Return the verdicts at the last review, by finding."""
    text = resources.files("armwright.study.papers").joinpath("expected.toml").read_text(encoding="utf-8")
    return {key: Verdict(value) for key, value in tomllib.loads(text).get(paper, {}).items()}


def lost(made: PaperStudy) -> list[tuple[str, Verdict, Verdict | None]]:
    """Return the findings with a worse verdict: the finding, its verdict before and now (None if it is missing)."""
    now = {finding.key: finding.verdict for finding in made.findings if not finding.timed}
    return [
        (key, before, now.get(key))
        for key, before in expected(made.paper).items()
        if key not in now or now[key].rank > before.rank
    ]


__all__ = ["PAPERS", "Finding", "PaperStudy", "Verdict", "expected", "lost", "study"]
