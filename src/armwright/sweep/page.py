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
from armwright.sweep import clouds
from armwright.sweep.design import INDICES
from armwright.sweep.results import Results
from armwright.sweep.sensitivity import Indices, indices_of, rank_correlations

BINS = 60
WORST = 5
MOST_TOLD = 12
"""Reasons for failures that are listed."""

MOST_LETTERS = 300
"""Of a reason."""

TITLES = {
    INDICES: "Sobol indices: parts of the variance (Saltelli 2010, Jansen 1999), ± 95 %; base samples of which "
    "a rollout is missing or could not go on are left out whole",
    "grid": "Parts of the variance over the grid, each of its points as likely: exact first order and total indices",
}

QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)
HEADS = ("measure", "least", "5 %", "median", "95 %", "largest")


def page(results: Results) -> str:
    """The page of what there is of a study, whatever its numbers."""
    with np.errstate(all="ignore"):
        return _page(results)


def _page(results: Results) -> str:
    names = results.wanted
    data = results.columns(("row", "ok", *results.varied, *names))
    good = {name: x[data["ok"]] for name, x in data.items()}
    tables: list[tuple[str, list[tuple[str, ...]]]] = [("Distributions", [HEADS, *_quantiles(good, names)])]
    tables += _sensitivities(good, results, names)
    head = ("measure", "value", "row", *results.varied, "again")
    tables.append(("Worst cases", [head, *_worst(good, results, names)]))
    if used := clouds.table(results):
        tables.insert(0, ("Torque and speed where most is used of the limits of the joints", used))
    if results.failed:
        tables.append(("Could not go on", [("row", "reason", "again"), *_failures(results)]))
    manifest = results.folder.manifest
    title = manifest.name or f"Study of {results.robot.name}"
    design = manifest.study.get("design", {})
    drawn = f", {design['method']}" if "method" in design else ""
    weak = [row[0] for row in used[1:] if row[-1].endswith(clouds.WEAK)]
    beyond = f"; beyond their limits: {', '.join(weak)}" if weak else ""
    introduction = (
        f"{results.count} of {results.of} rollouts of {results.robot.name}{drawn}, seed {design.get('seed', 0)}; "
        f"{results.failed} could not go on{beyond}. armwright {manifest.identity['armwright']}, study "
        f"{manifest.digest[:12]}."
    )
    return figures(title, introduction, [*clouds.plots(results), *_plots(good, names)], tables, "study")


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
            edges = np.linspace(x.min(), x.max(), BINS + 1) if len(x) else np.zeros(2)
            if np.isfinite(edges).all() and (np.diff(edges) > 0).all():  # else nothing varies, or by rounding
                counts, _ = np.histogram(x, edges)
                curves.append(Curve(name, ((edges[1:] + edges[:-1]) / 2).tolist(), (counts / len(x)).tolist()))
        if curves:
            yield Plot(f"{group}: distribution", group, "part of the rollouts", curves, height=300)


def _quantiles(data: Mapping[str, Array], names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name in names:
        x = data[name][np.isfinite(data[name])]
        yield name, *(tidy(float(v), ".5g") if len(x) else "-" for v in np.quantile(x if len(x) else [0.0], QUANTILES))


def _sensitivities(
    data: Mapping[str, Array], results: Results, names: tuple[str, ...]
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """A table of parts of the variance where the design has them, and one of rank correlations of what is left."""
    found = {name: indices_of(results.design, data["row"], data[name]) for name in names}
    parts = [row for name, x in found.items() if x is not None for row in _parts(name, x)]
    if parts:
        yield TITLES[results.design.method], [("measure", "index", *results.varied, "of"), *parts]
    varied = {key: data[key] for key in results.varied}
    left = [name for name, x in found.items() if x is None and results.design.method != INDICES]
    ranks = {name: by for name in left if (by := rank_correlations(data[name], varied)) is not None}
    if ranks:
        rows = [(name, *(f"{x:+.2f}" for x in by)) for name, by in ranks.items()]
        yield "Rank correlations with what varies (Spearman)", [("measure", *results.varied), *rows]


def _parts(name: str, indices: Indices) -> Iterator[tuple[str, ...]]:
    exact = not indices.first_error.any()
    left = f", {indices.left_out} left out" if indices.left_out else ""
    of = f"{indices.used} points" if exact else f"{indices.used} base samples{left}"
    for index, values, errors in (
        ("first order", indices.first, indices.first_error),
        ("total", indices.total, indices.total_error),
    ):
        pairs = zip(values.tolist(), errors.tolist(), strict=True)
        yield name, index, *(f"{x:.3f}" if exact else f"{x:.3f} ± {error:.3f}" for x, error in pairs), of


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

    with results.reading():
        chosen = results.rows.scanner(columns=["row", "reason"], filter=~pyarrow.dataset.field("ok"))
        listed = chosen.head(MOST_TOLD).to_pylist()
    for entry in listed:
        yield str(entry["row"]), str(entry["reason"])[:MOST_LETTERS], again(results, entry["row"])


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
        "study": results.folder.manifest.digest,
    }
