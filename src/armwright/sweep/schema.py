"""What the files of a chunk must have: their columns, and the very rows of the chunk.

A sum in a name proves nothing where a folder is a stranger's. So the table of each file is checked before it counts:
names and types of its columns, how many rows it has (before any is read), and which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.sweep.chunks import arrow_of
from armwright.sweep.manifest import Manifest
from armwright.sweep.measures import DEFAULT_MEASURES, MEASURES
from armwright.sweep.ready import Ready

MOST_RECORDS = 1 << 27
"""Rows of a file of histories."""

TEXTS, FLAGS, NUMBERS = ("reason",), ("ok",), ("row",)
PHYSICAL = {"int64": "INT64", "bool": "BOOLEAN", "string": "BYTE_ARRAY", "double": "DOUBLE"}


def columns_of(found: Ready) -> tuple[str, ...]:
    """The columns of the rows of a study, in their order."""
    robot, names = found.robot, list[str]()
    for name in dict.fromkeys(found.measures):
        count = robot.nq if name == "final_q" else robot.n
        names += [name] if MEASURES[name].alone else [f"{name}{k + 1}" for k in range(count)]
    of_functions = [column for columns in found.columns for column in columns]
    return tuple(dict.fromkeys(("row", *found.design.names, "ok", "reason", "reached", *names, *of_functions)))


@dataclass(frozen=True)
class Expected:
    """What the files of the chunks of a study must have."""

    manifest: Manifest
    columns: dict[bool, tuple[str, ...]] = field(default_factory=dict)
    """Those of histories and of rows, once they are known: all files have the same."""

    @classmethod
    def of(cls, manifest: Manifest, rows: tuple[str, ...] | None) -> Expected:
        """What a manifest expects; of its rows exactly these columns, if they are given."""
        return cls(manifest, {} if rows is None else {False: rows})

    def holds(self, histories: bool, number: int, data: bytes) -> bool:
        """Whether a file is of a chunk."""
        arrow, parquet = arrow_of()
        if not 0 <= number < self.manifest.chunks:
            return False
        try:
            file = parquet.ParquetFile(arrow.BufferReader(data))
            names = _columns(file)
            fits = self._fits(histories, names) and self._has_rows(histories, number, file)
        except Exception:  # whatever a stranger's file does
            return False
        if fits:
            self.columns.setdefault(histories, names)
        return fits

    def _fits(self, histories: bool, names: tuple[str, ...]) -> bool:
        if histories in self.columns:
            return names == self.columns[histories]
        left = iter(names)
        wanted = self.manifest.wanted
        if histories:
            begin: tuple[str, ...] = ("row", "t")
            several = wanted.get("histories", [])
            return _begins(left, begin) and _numbered(list(left), several, ())
        begin = ("row", *self.manifest.names, "ok", "reason", "reached")
        measures = wanted.get("measures", DEFAULT_MEASURES)
        functions = [name.partition(":")[2] for name in wanted.get("functions", ())]
        return _begins(left, begin) and _numbered(list(left), measures, functions)

    def _has_rows(self, histories: bool, number: int, file: Any) -> bool:
        first, count = self.manifest.rows_of(number)
        stored = file.metadata.num_rows  # of which a small file may have any number
        if not histories:
            return stored == count and np.array_equal(_rows(file), np.arange(first, first + count))
        every = self.manifest.every
        expected = np.arange(-(-first // every) * every, first + count, every) if stored >= count // every else None
        return expected is not None and stored <= MOST_RECORDS and np.array_equal(np.unique(_rows(file)), expected)


def _rows(file: Any) -> Array:
    """The numbers of its rows; a ValueError if some are missing, or whether they came to their end."""
    table = file.read(columns=[name for name in (*NUMBERS, *FLAGS) if name in file.schema_arrow.names])
    if any(column.null_count for column in table.columns):
        raise ValueError("nothing where a row number or ok is expected")
    found: Array = table.column("row").to_numpy()
    return found


def _columns(file: Any) -> tuple[str, ...]:
    """The names of the columns, if each has the type that its name wants; a ValueError if not."""
    names, kinds, stored = tuple(file.schema_arrow.names), file.schema_arrow.types, file.metadata.schema
    if len(set(names)) < len(names) or len(stored) != len(names):
        raise ValueError("columns in columns, or two of one name")
    for k, name in enumerate(names):
        kind = "int64" if name in NUMBERS else "bool" if name in FLAGS else "string" if name in TEXTS else "double"
        column = stored.column(k)
        if (str(kinds[k]), column.path, column.physical_type) != (kind, name, PHYSICAL[kind]):
            raise ValueError(f"{name} is no {kind}")
    return names


def _begins(left: Iterator[str], begin: tuple[str, ...]) -> bool:
    return all(next(left, None) == name for name in begin)


def _numbered(names: list[str], measures: Any, functions: Any) -> bool:
    """Whether names are those of measures, each with one column or one for each joint, and then those of functions."""
    k = 0
    for measure in dict.fromkeys(measures):
        begin = k
        if measure not in MEASURES or not MEASURES[measure].alone:
            while k < len(names) and names[k] == f"{measure}{k - begin + 1}":
                k += 1
        elif names[k : k + 1] == [measure]:
            k += 1
        if k == begin:
            return False
    for function in dict.fromkeys(functions):
        begin = k
        while k < len(names) and (names[k] == function or names[k].startswith(f"{function}.")):
            k += 1
        if k == begin:
            return False
    return k == len(names)
