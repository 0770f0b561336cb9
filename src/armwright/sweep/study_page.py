"""The page of a study: distributions of its measures, their sensitivities, and commands that rerun the worst cases."""

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
from armwright.sweep.column_labels import ColumnLabel, label_of
from armwright.sweep.design import INDICES
from armwright.sweep.global_sensitivity import SobolIndices, indices_of, rank_correlations
from armwright.sweep.limit_use import limit_of, limit_uses, limits_sentence, use_table
from armwright.sweep.results import Results
from armwright.sweep.torque_speed import torque_speed_plots

WORST_ROWS = 5
"""Worst rollouts listed for each measure."""

MAX_LISTED_FAILURES = 12
MAX_REASON_LENGTH = 300

SENSITIVITY_TITLES = {
    INDICES: "Sobol indices: parts of the variance (Saltelli 2010, Jansen 1999), ± 95 %; without base samples "
    "with a missing or failed rollout",
    "grid": "Parts of the variance over the grid, all points of equal probability: exact first order and total indices",
}

RANGES_NOTE = "box: 5 to 95 % of the rollouts, with the median; line: from the smallest to the largest"

QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)
DISTRIBUTION_HEADS = ("measure", "joint", "unit", "smallest", "5 %", "median", "95 %", "largest")


@np.errstate(all="ignore")
def study_page(results: Results) -> str:
    """Return the HTML page of the results so far."""
    names = results.wanted
    data = results.columns(("row", "ok", *results.varied, *names))
    good = {name: x[data["ok"]] for name, x in data.items()}
    used, tables = limit_uses(results), list[Table]()
    if used:
        tables.append(("Rollouts beyond limits of the joints, and utilisation of the limits", use_table(used)))
    if results.failed:
        tables.append(("Failed", [("row", "reason", "command"), *_failures(results)]))
    details: list[Table] = [("Distributions", [DISTRIBUTION_HEADS, *_distribution_rows(results, good, names)])]
    details += _sensitivities(good, results, names)
    head = ("measure", "value", "row", *results.varied, "command")
    details.append(("Worst cases", [head, *_worst_rows(good, results, names)]))
    manifest = results.folder.manifest
    title = manifest.name or f"Study of {results.robot.name}"
    design = manifest.study.get("design", {})
    drawn = f", {design['method']}" if "method" in design else ""
    introduction = (
        f"{results.count} of {results.of} rollouts of {results.robot.name}{drawn}, seed {design.get('seed', 0)}; "
        f"{results.failed} failed. {limits_sentence(used)} armwright {manifest.identity['armwright']}, study "
        f"{manifest.digest[:12]}."
    )
    plots: list[Figure] = [*_plots(results, good, names), *torque_speed_plots(results)]
    return figures(title, introduction, plots, tables, "study", details=details)


def _columns_by_measure(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the columns of each measure: peak_torque1, peak_torque2, ... together."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"\d+$", "", name), []).append(name)
    return found


def _plots(results: Results, data: Mapping[str, Array], names: tuple[str, ...]) -> Iterator[Ranges]:
    """Yield a plot for each measure and unit: a row for each joint, with its limit if it has one."""
    for columns in _columns_by_measure(names).values():
        by_unit: dict[str, list[tuple[ColumnLabel, str]]] = {}
        for name in columns:
            label = label_of(results.robot, name)
            if np.isfinite(data[name]).any():
                by_unit.setdefault(label.unit, []).append((label, name))
        for unit, listed in by_unit.items():
            measure = listed[0][0].measure
            title = f"{measure[:1].upper()}{measure[1:]}"
            rows = [
                Range(label.joint or label.measure, _quantiles(data[name]), limit_of(results, name))
                for label, name in listed
            ]
            if any(row.quantiles[0] < row.quantiles[-1] for row in rows):
                yield Ranges(title, f"{measure}, {unit}" if unit else measure, rows, RANGES_NOTE)


def _quantiles(x: Array) -> tuple[float, float, float, float, float]:
    """Return the QUANTILES of the finite numbers."""
    smallest, low, median, high, largest = np.quantile(x[np.isfinite(x)], QUANTILES).tolist()
    return smallest, low, median, high, largest


def _distribution_rows(
    results: Results, data: Mapping[str, Array], names: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    for name in names:
        label, known = label_of(results.robot, name), np.isfinite(data[name]).any()
        cells = [tidy(v, ".5g") for v in _quantiles(data[name])] if known else ["-"] * len(QUANTILES)
        yield label.measure, label.joint or "-", label.unit or "-", *cells


def _sensitivities(
    data: Mapping[str, Array], results: Results, names: tuple[str, ...]
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield a table of Sobol indices if the design has them, and one of rank correlations of the other columns."""
    found = {name: indices_of(results.design, data["row"], data[name]) for name in names}
    labels = {name: str(label_of(results.robot, name)) for name in names}
    parts = [row for name, x in found.items() if x is not None for row in _index_rows(labels[name], x)]
    if parts:
        yield SENSITIVITY_TITLES[results.design.method], [("measure", "index", *results.varied, "from"), *parts]
    varied = {key: data[key] for key in results.varied}
    others = [name for name, x in found.items() if x is None and results.design.method != INDICES]
    ranks = {name: by for name in others if (by := rank_correlations(data[name], varied)) is not None}
    if ranks:
        rows = [(labels[name], *(f"{x:+.2f}" for x in by)) for name, by in ranks.items()]
        yield "Rank correlations with what varies (Spearman)", [("measure", *results.varied), *rows]


def _index_rows(name: str, indices: SobolIndices) -> Iterator[tuple[str, ...]]:
    exact = not indices.first_error.any()
    left_out = f", {indices.left_out} left out" if indices.left_out else ""
    samples = f"{indices.used} points" if exact else f"{indices.used} base samples{left_out}"
    for index, values, errors in (
        ("first order", indices.first, indices.first_error),
        ("total", indices.total, indices.total_error),
    ):
        pairs = zip(values.tolist(), errors.tolist(), strict=True)
        yield name, index, *(f"{x:.3f}" if exact else f"{x:.3f} ± {error:.3f}" for x, error in pairs), samples


def _worst_rows(data: Mapping[str, Array], results: Results, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the rows with the largest values of each measure, for the joint that has the largest."""
    for columns in _columns_by_measure(names).values():
        finite = {name: np.where(np.isfinite(data[name]), np.abs(data[name]), -1.0) for name in columns}
        name = max(columns, key=lambda key: finite[key].max(initial=-1.0))
        for i in np.argsort(-finite[name], kind="stable")[:WORST_ROWS]:
            if finite[name][i] >= 0:
                numbers = (tidy(float(data[key][i]), ".5g") for key in results.varied)
                row = int(data["row"][i])
                label = str(label_of(results.robot, name))
                yield label, tidy(float(data[name][i]), ".5g"), str(row), *numbers, rerun_command(results, row)


def _failures(results: Results) -> Iterator[tuple[str, ...]]:
    import pyarrow.dataset  # noqa: PLC0415

    with results.read_errors():
        failed = results.rows.scanner(columns=["row", "reason"], filter=~pyarrow.dataset.field("ok"))
        listed = failed.head(MAX_LISTED_FAILURES).to_pylist()
    for entry in listed:
        yield str(entry["row"]), str(entry["reason"])[:MAX_REASON_LENGTH], rerun_command(results, entry["row"])


def rerun_command(results: Results, row: int) -> str:
    """Return the command that reruns one row."""
    return f"armwright sweep {shlex.quote(str(results.folder.path))} --row {row}"


def study_summary(results: Results) -> dict[str, Any]:
    """Return the progress of a study as plain data."""
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
