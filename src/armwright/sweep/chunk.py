"""Compute the chunks of a study. A chunk has the same bits wherever it is computed, and in any batch.

Its numbers are drawn by row, its rollouts run in compiled code that computes each alone, and sums are taken in the
order of time.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError, SimulationWarning, SlowWarning
from armwright.sweep.prepare import setup_of
from armwright.sweep.setup import StudySetup
from armwright.sweep.study import Study
from armwright.sweep.study_functions import History
from armwright.sweep.study_measures import HISTORY_NAMES, STUDY_MEASURES, MeasuredRollouts


@dataclass(frozen=True)
class Chunk:
    """The results of a chunk as the bytes of Parquet files, and how many of its rollouts failed."""

    number: int
    rows: bytes
    histories: bytes | None
    count: int
    failed: int
    digest: str
    """The digest of the setup with which it was computed."""


def compute_chunk(study: Study, number: int, digest: str = "") -> Chunk:
    """Compute a chunk of a study; threads, processes and clusters all call this function.

    `digest` is that of the setup of the caller. If this process has prepared the study with other files, it prepares
    the study again.
    """
    setup = setup_of(study)
    if digest and setup.digest != digest:
        setup = setup_of(study, refresh=True)
    arrow, _ = pyarrow_modules()
    first, count = setup.rows_of(number)
    rows, records = result_columns(setup, np.arange(first, first + count), setup.design.draw(first, count))
    meta = {"armwright": json.dumps({"digest": setup.digest, "chunk": number, "study": setup.identity})}
    histories = _parquet_bytes(arrow.table(records).replace_schema_metadata(meta)) if setup.histories else None
    table = arrow.table({**rows, "reason": arrow.array(rows["reason"], arrow.string())})
    failed = int(np.sum(~rows["ok"]))
    data = _parquet_bytes(table.replace_schema_metadata(meta))
    return Chunk(number, data, histories, len(rows["row"]), failed, setup.digest)


@contextmanager
def simulation_warnings_ignored() -> Iterator[None]:
    """Ignore warnings of failed rollouts; their rows have the reasons."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        warnings.simplefilter("ignore", SlowWarning)
        yield


def compute_row(setup: StudySetup, row: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the columns of the results of one row, and its complete history, even if the study keeps none."""
    if not 0 <= row < setup.design.rows:
        raise InputError(f"row {row}: expected 0 to {setup.design.rows - 1}")
    first, count = setup.rows_of(row // setup.chunk_rows)
    values = {name: x[row - first : row - first + 1] for name, x in setup.design.draw(first, count).items()}
    return result_columns(setup, np.array([row]), values, complete=True)


def result_columns(
    setup: StudySetup, rows: Array, values: Mapping[str, Array], complete: bool = False
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the columns of the results and of the histories of rows; `complete` keeps all histories."""
    columns: dict[str, Any] = {"row": rows, **values}
    columns |= {"ok": np.ones(len(rows), bool), "reason": np.full(len(rows), None, object)}
    numbers: dict[str, Array] = {}
    records: list[dict[str, Array]] = []
    names = HISTORY_NAMES if complete else setup.histories
    for indices in _groups_of_equal_duration(values):
        subset = {name: x[indices] for name, x in values.items()}
        rollouts = setup.simulate(subset, rows[indices], records=complete)
        for name, column in _number_columns(setup, rollouts, rows[indices], subset, columns):
            numbers.setdefault(name, np.full(len(rows), np.nan))[indices] = column
        columns["ok"][indices] &= rollouts.run.finished
        for i, reason in _failure_reasons(rollouts):
            columns["reason"][indices[i]] = reason
        recorded = np.arange(len(indices)) if complete else np.flatnonzero(rows[indices] % setup.histories_every == 0)
        if names:
            records.append(_record_columns(rollouts, rows[indices], recorded, names))
    histories = {name: np.concatenate([part[name] for part in records]) for name in records[0]} if records else {}
    if len(records) > 1:
        order = np.argsort(histories["row"], kind="stable")
        histories = {name: x[order] for name, x in histories.items()}
    return {**columns, **numbers}, histories


def _groups_of_equal_duration(values: Mapping[str, Array]) -> list[Array]:
    """Return the indices of rollouts that have the same duration, group by group."""
    if "duration" not in values:
        return [np.arange(len(next(iter(values.values()))))]
    durations, group = np.unique(values["duration"], return_inverse=True)
    return [np.flatnonzero(group == k) for k in range(len(durations))]


def _number_columns(
    setup: StudySetup, rollouts: MeasuredRollouts, rows: Array, values: Mapping[str, Array], columns: dict[str, Any]
) -> Iterator[tuple[str, Array]]:
    """Yield all columns of numbers, with nan for failed rollouts; errors of functions are noted in `columns`."""
    finished = rollouts.run.finished
    yield "reached", rollouts.run.reached
    for name in setup.measures:
        measure = STUDY_MEASURES[name]
        with np.errstate(all="ignore"):
            measured = measure.of(rollouts)
        for k in range(measured.shape[1]):
            yield f"{name}{k + 1}" if measure.per_joint else name, np.where(finished, measured[:, k], np.nan)
    if not setup.functions:
        return
    results = {name: np.full(len(rows), np.nan) for names in setup.function_columns for name in names}
    for i in np.flatnonzero(finished):
        history = History.of(rollouts, int(i), int(rows[i]), {name: float(x[i]) for name, x in values.items()})
        for function, names in zip(setup.functions, setup.function_columns, strict=True):
            try:
                numbers = function(history)
                for name in names:
                    results[name][i] = numbers[name]
            except Exception as error:  # a user's function may raise anything; only this row fails
                at = np.searchsorted(columns["row"], rows[i])
                columns["ok"][at] = False
                columns["reason"][at] = f"{function.name}: {type(error).__name__}: {error}"
    yield from results.items()


def _failure_reasons(rollouts: MeasuredRollouts) -> Iterator[tuple[int, str]]:
    """Yield the rollouts that did not reach their end, with the reasons."""
    run = rollouts.run
    for i in np.flatnonzero(~run.finished):
        finite = np.isfinite(run.q[i, -1]).all() and np.isfinite(run.qd[i, -1]).all()
        reason = "the integrator stopped" if finite else "the motion diverges"
        yield int(i), f"{reason} after t = {float(run.reached[i]):.6g} s"


def _record_columns(rollouts: MeasuredRollouts, rows: Array, kept: Array, names: tuple[str, ...]) -> dict[str, Array]:
    """Return the records of some rollouts as columns of one long table: row, t, q1 ..."""
    count = rollouts.t.shape[1]
    columns = {"row": np.repeat(rows[kept], count), "t": rollouts.t[kept].ravel()}
    for name in names:
        values = getattr(rollouts.run, name)[kept]
        columns |= {f"{name}{k + 1}": values[..., k].ravel() for k in range(values.shape[-1])}
    return columns


def pyarrow_modules() -> tuple[Any, Any]:
    """Import pyarrow and pyarrow.parquet; an InputError says what to install."""
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise InputError("a study needs pyarrow: pip install 'armwright[sweep]'") from None
    return pyarrow, pyarrow.parquet


def _parquet_bytes(table: Any) -> bytes:
    arrow, parquet = pyarrow_modules()
    parquet.write_table(table, stream := arrow.BufferOutputStream(), compression="zstd", use_dictionary=False)
    content: bytes = stream.getvalue().to_pybytes()
    return content
