"""A study as one page: distributions of what was wanted, what it depends on, and the worst cases, to be run again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.names import tidy
from armwright.report.plot import Curve, Plot, figures
from armwright.sweep.results import Results

BINS = 60
WORST = 5
MOST_TOLD = 12
"""Reasons for failures that are listed."""

QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)
HEADS = ("measure", "least", "5 %", "median", "95 %", "largest")


def page(results: Results) -> str:
    """The page of what there is of a study."""
    names = results.wanted
    data = results.columns(("row", "ok", *results.varied, *names))
    good = {name: x[data["ok"]] for name, x in data.items()}
    tables: list[tuple[str, list[tuple[str, ...]]]] = [("Distributions", [HEADS, *_quantiles(good, names)])]
    if len(good["row"]) > 2:
        head = ("measure", *results.varied)
        tables.append(("Rank correlations with what varies (Spearman)", [head, *_correlations(good, results, names)]))
    head = ("measure", "value", "row", *results.varied, "again")
    tables.append(("Worst cases", [head, *_worst(good, results, names)]))
    if results.failed:
        tables.append(("Could not go on", [("row", "reason", "again"), *_failures(results)]))
    manifest = results.folder.manifest
    title = manifest["name"] or f"Study of {results.robot.name}"
    design = manifest["study"].get("design") or {}
    drawn = f", {design['method']}" if "method" in design else ""
    introduction = (
        f"{results.count} of {results.of} rollouts of {results.robot.name}{drawn}, seed {design.get('seed', 0)}; "
        f"{results.failed} could not go on. armwright {manifest['identity']['armwright']}, study "
        f"{manifest['digest'][:12]}."
    )
    return figures(title, introduction, list(_plots(good, names)), tables)


def _groups(names: tuple[str, ...]) -> dict[str, list[str]]:
    """The columns of each measure: peak_torque1, peak_torque2, ... together."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"\d+$", "", name), []).append(name)
    return found


def _plots(data: Mapping[str, Array], names: tuple[str, ...]) -> Iterator[Plot]:
    for group, columns in _groups(names).items():
        curves = []
        for name in columns:
            x = data[name][np.isfinite(data[name])]
            if len(x) and x.min() < x.max():
                counts, edges = np.histogram(x, BINS)
                curves.append(Curve(name, ((edges[1:] + edges[:-1]) / 2).tolist(), (counts / len(x)).tolist()))
        if curves:
            yield Plot(f"{group}: distribution", group, "part of the rollouts", curves, height=300)


def _quantiles(data: Mapping[str, Array], names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name in names:
        x = data[name][np.isfinite(data[name])]
        yield name, *(tidy(float(v), ".5g") if len(x) else "-" for v in np.quantile(x if len(x) else [0.0], QUANTILES))


def _ranks(x: Array) -> Array:
    """Ranks, those of equal numbers their mean, about zero and of length 1; all zero where nothing differs."""
    from scipy.stats import rankdata  # noqa: PLC0415  (takes a second)

    ranks: Array = rankdata(x) - (len(x) + 1) / 2
    length = float(np.linalg.norm(ranks))
    return ranks / length if length else ranks


def _correlations(data: Mapping[str, Array], results: Results, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    varied = {name: _ranks(data[name]) for name in results.varied}
    for name in names:
        fine = np.isfinite(data[name])
        if fine.sum() < 3 or np.ptp(data[name][fine]) == 0:
            continue
        own = _ranks(data[name][fine])
        by = [x if fine.all() else _ranks(data[key][fine]) for key, x in varied.items()]
        yield name, *(f"{float(own @ x):+.2f}" for x in by)


def _worst(data: Mapping[str, Array], results: Results, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The rows in which a measure is largest, of the joint whose largest is."""
    for columns in _groups(names).values():
        finite = {name: np.where(np.isfinite(data[name]), np.abs(data[name]), -1.0) for name in columns}
        name = max(columns, key=lambda key: finite[key].max(initial=-1.0))
        for i in np.argsort(-finite[name], kind="stable")[:WORST]:
            if finite[name][i] >= 0:
                numbers = (tidy(float(data[key][i]), ".5g") for key in results.varied)
                row = int(data["row"][i])
                yield name, tidy(float(data[name][i]), ".5g"), str(row), *numbers, again(results, row)


def _failures(results: Results) -> Iterator[tuple[str, ...]]:
    import pyarrow.dataset  # noqa: PLC0415

    table = results.rows.scanner(columns=["row", "reason"], filter=~pyarrow.dataset.field("ok")).head(MOST_TOLD)
    for entry in table.to_pylist():
        yield str(entry["row"]), str(entry["reason"]), again(results, entry["row"])


def again(results: Results, row: int) -> str:
    """The command that reruns a row alone."""
    return f"armwright sweep {shlex.quote(str(results.folder.path))} --row {row}"


def summary(results: Results) -> dict[str, Any]:
    """How far a study is."""
    return {
        "folder": results.folder.path,
        "rollouts": results.count if results.files else 0,
        "of": results.of,
        "chunks": len(results.files),
        "of_chunks": results.chunks,
        "failed": results.failed,
        "finished": results.finished,
        "study": results.folder.manifest["digest"],
    }
