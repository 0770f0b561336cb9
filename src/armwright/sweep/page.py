"""A study as one page: distributions of what was wanted, what it depends on, and the worst cases, to be run again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.names import tidy
from armwright.pages.report.plot import Figure, Table, figures
from armwright.pages.report.ranges import Range, Ranges
from armwright.sweep import clouds
from armwright.sweep.design import INDICES
from armwright.sweep.labels import Label, label_of
from armwright.sweep.results import Results
from armwright.sweep.sensitivity import Indices, indices_of, rank_correlations

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

RANGES = "box: 5 to 95 % of the rollouts, with the median; line: from the least to the largest"

QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)
HEADS = ("measure", "joint", "unit", "least", "5 %", "median", "95 %", "largest")


def page(results: Results) -> str:
    """The page of what there is of a study, whatever its numbers."""
    with np.errstate(all="ignore"):
        return _page(results)


def _page(results: Results) -> str:
    names = results.wanted
    data = results.columns(("row", "ok", *results.varied, *names))
    good = {name: x[data["ok"]] for name, x in data.items()}
    used, tables = clouds.uses(results), list[Table]()
    if used:
        tables.append(
            ("Rollouts beyond the limits of the joints, and what is used of these limits", clouds.table(used))
        )
    if results.failed:
        tables.append(("Failed", [("row", "reason", "again"), *_failures(results)]))
    details: list[Table] = [("Distributions", [HEADS, *_quantiles(results, good, names)])]
    details += _sensitivities(good, results, names)
    head = ("measure", "value", "row", *results.varied, "again")
    details.append(("Worst cases", [head, *_worst(good, results, names)]))
    manifest = results.folder.manifest
    title = manifest.name or f"Study of {results.robot.name}"
    design = manifest.study.get("design", {})
    drawn = f", {design['method']}" if "method" in design else ""
    introduction = (
        f"{results.count} of {results.of} rollouts of {results.robot.name}{drawn}, seed {design.get('seed', 0)}; "
        f"{results.failed} failed. {clouds.verdict(used)} armwright {manifest.identity['armwright']}, study "
        f"{manifest.digest[:12]}."
    )
    plots: list[Figure] = [*_plots(results, good, names), *clouds.plots(results)]
    return figures(title, introduction, plots, tables, "study", details=details)


def _groups(names: tuple[str, ...]) -> dict[str, list[str]]:
    """The columns of each measure: peak_torque1, peak_torque2, ... together."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"\d+$", "", name), []).append(name)
    return found


def _plots(results: Results, data: Mapping[str, Array], names: tuple[str, ...]) -> Iterator[Ranges]:
    """One picture for each measure and unit: a row for each joint, with its limit where there is one."""
    for columns in _groups(names).values():
        by_unit: dict[str, list[tuple[Label, str]]] = {}
        for name in columns:
            label = label_of(results.robot, name)
            if np.isfinite(data[name]).any():
                by_unit.setdefault(label.unit, []).append((label, name))
        for unit, listed in by_unit.items():
            measure = listed[0][0].measure
            title = f"{measure[:1].upper()}{measure[1:]}"
            rows = [
                Range(label.joint or label.measure, _five(data[name]), clouds.limit_of(results, name))
                for label, name in listed
            ]
            if any(row.quantiles[0] < row.quantiles[-1] for row in rows):
                yield Ranges(title, f"{measure}, {unit}" if unit else measure, rows, RANGES)


def _five(x: Array) -> tuple[float, float, float, float, float]:
    """The quantiles of what is finite."""
    least, low, median, high, largest = np.quantile(x[np.isfinite(x)], QUANTILES).tolist()
    return least, low, median, high, largest


def _quantiles(results: Results, data: Mapping[str, Array], names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name in names:
        label, there = label_of(results.robot, name), np.isfinite(data[name]).any()
        five = [tidy(v, ".5g") for v in _five(data[name])] if there else ["-"] * len(QUANTILES)
        yield label.measure, label.joint or "-", label.unit or "-", *five


def _sensitivities(
    data: Mapping[str, Array], results: Results, names: tuple[str, ...]
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """A table of parts of the variance where the design has them, and one of rank correlations of what is left."""
    found = {name: indices_of(results.design, data["row"], data[name]) for name in names}
    labels = {name: str(label_of(results.robot, name)) for name in names}
    parts = [row for name, x in found.items() if x is not None for row in _parts(labels[name], x)]
    if parts:
        yield TITLES[results.design.method], [("measure", "index", *results.varied, "of"), *parts]
    varied = {key: data[key] for key in results.varied}
    left = [name for name, x in found.items() if x is None and results.design.method != INDICES]
    ranks = {name: by for name in left if (by := rank_correlations(data[name], varied)) is not None}
    if ranks:
        rows = [(labels[name], *(f"{x:+.2f}" for x in by)) for name, by in ranks.items()]
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
                label = str(label_of(results.robot, name))
                yield label, tidy(float(data[name][i]), ".5g"), str(row), *numbers, again(results, row)


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
