"""A study is cut into chunks of rollouts, and chunk k has the same bits wherever and beside whatever it is computed.

Its numbers are drawn by index, its rollouts go through compiled code in which none depends on the others, and what is
added up is added in the order of time.
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
from armwright.sweep.measures import MEASURES, History, Seen
from armwright.sweep.ready import Ready, ready
from armwright.sweep.study import Study

KEPT = 4
"""Studies that a process keeps ready."""

_known: dict[str, Ready] = {}


@dataclass(frozen=True)
class Chunk:
    """The results of a chunk as the bytes of Parquet files, and how many of its rollouts did not come to their end."""

    number: int
    rows: bytes
    histories: bytes | None
    count: int
    failed: int
    digest: str
    """Of the study as it was found where the chunk was computed."""


def readied(study: Study, anew: bool = False) -> Ready:
    """The study made ready, once in a process, or `anew`: files that it names may have changed."""
    key = study.digest
    if anew or key not in _known:
        while len(_known) >= KEPT:
            _known.pop(next(iter(_known)))
        _known[key] = ready(study)
    return _known[key]


def compute(study: Study, number: int, digest: str = "") -> Chunk:
    """A chunk of a study; the one function that every engine calls.

    `digest` is of the study where it was asked for: a process that has it ready with other files looks at them again.
    """
    found = readied(study)
    if digest and found.digest != digest:
        found = readied(study, anew=True)
    arrow, _ = arrow_of()
    rows, told = computed(found, number)
    meta = {"armwright": json.dumps({"digest": found.digest, "chunk": number, "study": found.identity})}
    histories = _bytes(arrow.table(told).replace_schema_metadata(meta)) if found.histories else None
    table = arrow.table({**rows, "reason": arrow.array(rows["reason"], arrow.string())})
    failed = int(np.sum(~rows["ok"]))
    return Chunk(number, _bytes(table.replace_schema_metadata(meta)), histories, len(rows["row"]), failed, found.digest)


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings of rollouts that could not go on, which are in their rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        warnings.simplefilter("ignore", SlowWarning)
        yield


def computed(found: Ready, number: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """The columns of the results of a chunk, and of the histories that are kept of it."""
    first, count = found.rows_of(number)
    return measured(found, np.arange(first, first + count), found.design.draw(first, count))


def one(found: Ready, row: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """The same of one row alone, with its whole history whatever the study keeps."""
    if not 0 <= row < found.design.rows:
        raise InputError(f"row {row}: expected 0 to {found.design.rows - 1}")
    first, count = found.rows_of(row // found.chunk)
    values = {name: x[row - first : row - first + 1] for name, x in found.design.draw(first, count).items()}
    return measured(found, np.array([row]), values, whole=True)


def measured(
    found: Ready, rows: Array, values: Mapping[str, Array], whole: bool = False
) -> tuple[dict[str, Any], dict[str, Array]]:
    """The columns of the results of some rows, and of the histories that are kept of them, or of all if `whole`."""
    columns: dict[str, Any] = {"row": rows, **values}
    columns |= {"ok": np.ones(len(rows), bool), "reason": np.full(len(rows), None, object)}
    numbers: dict[str, Array] = {}
    told: list[dict[str, Array]] = []
    kept = ("q", "qd", "qdd", "tau") if whole else found.histories
    for places in _alike(values):
        seen = found.run({name: x[places] for name, x in values.items()}, rows[places], whole=whole)
        for name, column in _numbers(found, seen, rows[places], {n: x[places] for n, x in values.items()}, columns):
            numbers.setdefault(name, np.full(len(rows), np.nan))[places] = column
        columns["ok"][places] &= seen.run.finished
        for i, why in _reasons(seen):
            columns["reason"][places[i]] = why
        chosen = np.arange(len(places)) if whole else np.flatnonzero(rows[places] % found.histories_every == 0)
        if kept:
            told.append(_told(seen, rows[places], chosen, kept))
    histories = {name: np.concatenate([part[name] for part in told]) for name in told[0]} if told else {}
    if len(told) > 1:
        order = np.argsort(histories["row"], kind="stable")
        histories = {name: x[order] for name, x in histories.items()}
    return {**columns, **numbers}, histories


def _alike(values: Mapping[str, Array]) -> list[Array]:
    """The places of rollouts that last equally long."""
    if "duration" not in values:
        return [np.arange(len(next(iter(values.values()))))]
    lengths, which = np.unique(values["duration"], return_inverse=True)
    return [np.flatnonzero(which == k) for k in range(len(lengths))]


def _numbers(
    found: Ready, seen: Seen, rows: Array, values: Mapping[str, Array], columns: dict[str, Any]
) -> Iterator[tuple[str, Array]]:
    """All columns of numbers; those of rollouts that did not come to their end are nan."""
    good = seen.run.finished
    yield "reached", seen.run.reached
    for name in found.measures:
        with np.errstate(all="ignore"):
            values_of = MEASURES[name].of(seen)
        for k in range(values_of.shape[1]):
            column = name if MEASURES[name].alone else f"{name}{k + 1}"
            yield column, np.where(good, values_of[:, k], np.nan)
    if not found.functions:
        return
    results = {name: np.full(len(rows), np.nan) for names in found.columns for name in names}
    for i in np.flatnonzero(good):
        history = History.of(seen, int(i), int(rows[i]), {name: float(x[i]) for name, x in values.items()})
        for function, names in zip(found.functions, found.columns, strict=True):
            try:
                given = function(history)
                for name in names:
                    results[name][i] = given[name]
            except Exception as error:  # whatever a stranger's function does: it is the row's own trouble
                at = np.searchsorted(columns["row"], rows[i])
                columns["ok"][at] = False
                columns["reason"][at] = f"{function.name}: {type(error).__name__}: {error}"
    yield from results.items()


def _reasons(seen: Seen) -> Iterator[tuple[int, str]]:
    """Why rollouts did not come to their end."""
    run = seen.run
    for i in np.flatnonzero(~run.finished):
        finite = np.isfinite(run.q[i, -1]).all() and np.isfinite(run.qd[i, -1]).all()
        why = "it cannot go on" if finite else "the motion diverges"
        yield int(i), f"{why} after t = {float(run.reached[i]):.6g} s"


def _told(seen: Seen, rows: Array, chosen: Array, kept: tuple[str, ...]) -> dict[str, Array]:
    """The histories of some rollouts as one long table: row, t, q1 ..."""
    count = seen.t.shape[1]
    columns = {"row": np.repeat(rows[chosen], count), "t": seen.t[chosen].ravel()}
    for name in kept:
        values = getattr(seen.run, name)[chosen]
        columns |= {f"{name}{k + 1}": values[..., k].ravel() for k in range(values.shape[-1])}
    return columns


def arrow_of() -> tuple[Any, Any]:
    """pyarrow and its Parquet part, or what to install."""
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise InputError("a study needs pyarrow: pip install 'armwright[sweep]'") from None
    return pyarrow, pyarrow.parquet


def _bytes(table: Any) -> bytes:
    arrow, parquet = arrow_of()
    parquet.write_table(table, whole := arrow.BufferOutputStream(), compression="zstd", use_dictionary=False)
    data: bytes = whole.getvalue().to_pybytes()
    return data
