"""The schema of the files of a chunk: their columns, their types and their rows.

A checksum in a file name proves nothing about a folder from an untrusted source. So every file is checked before it is
used: names and types of its columns, the number of its rows (before any is read), and the row numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from armwright.algebra import Array
from armwright.robot import Robot
from armwright.sweep.chunk import pyarrow_modules
from armwright.sweep.manifest import Manifest
from armwright.sweep.setup import StudySetup
from armwright.sweep.study_measures import STUDY_MEASURES

MAX_HISTORY_ROWS = 1 << 27
"""Limit of the rows in a file of histories."""

MAX_FOOTER_BYTES = 64 << 20
"""Limit of the Parquet footer, which has the columns and the study."""

EXTRA_FILE_BYTES = 1 << 20
"""Allowance for indices that other versions of pyarrow may write besides the data."""

COLUMN_TYPES = {"row": "int64", "ok": "bool", "reason": "string"}
"""The types of columns; those of all others are double."""

PARQUET_TYPES = {"int64": "INT64", "bool": "BOOLEAN", "string": "BYTE_ARRAY", "double": "DOUBLE"}


def columns_of(setup: StudySetup) -> tuple[str, ...]:
    """Return the columns of the results of a study, in their order."""
    of_functions = [column for columns in setup.function_columns for column in columns]
    measured = _measured_columns(setup.design.names, setup.measures, setup.robot)
    return tuple(dict.fromkeys((*measured, *of_functions)))


def _measured_columns(names: Iterable[str], measures: Iterable[str], robot: Robot) -> tuple[str, ...]:
    """Return the columns of what varies and what is measured."""
    numbers = list[str]()
    for name in dict.fromkeys(measures):
        per_joint = name not in STUDY_MEASURES or STUDY_MEASURES[name].per_joint
        numbers += _joint_columns(name, robot) if per_joint else [name]
    return ("row", *names, "ok", "reason", "reached", *numbers)


def _joint_columns(name: str, robot: Robot) -> list[str]:
    """Return the columns of a measure: one for each joint, or for each entry of q."""
    return [f"{name}{k + 1}" for k in range(robot.nq if name in ("q", "final_q") else robot.n)]


@dataclass(frozen=True)
class ExpectedFiles:
    """The columns and rows that the files of a study must have."""

    manifest: Manifest
    columns: dict[bool, tuple[str, ...]]
    """Columns of histories (True) and of rows (False) as far as known; all files have the same."""

    @classmethod
    def of(cls, manifest: Manifest, rows: tuple[str, ...] | None) -> ExpectedFiles:
        """Return what a manifest expects; `rows` are the exact columns of its rows, if known."""
        histories = [column for name in manifest.histories for column in _joint_columns(name, manifest.model)]
        columns = {True: ("row", "t", *histories)}
        if rows is not None:
            columns[False] = rows
        elif not manifest.functions:
            columns[False] = _measured_columns(manifest.names, manifest.measures, manifest.model)
        return cls(manifest, columns)

    def has_valid_footer(self, histories: bool, number: int, file: BinaryIO) -> bool:
        """Return True if the footer of a file fits the chunk and the file size; nothing else is read."""
        if not 0 <= number < self.manifest.chunks:
            return False
        try:
            size = file.seek(-8, os.SEEK_END) + 8
            if int.from_bytes(file.read(4), "little") > MAX_FOOTER_BYTES:
                return False
            parquet = pyarrow_modules()[1].ParquetFile(file)
            return (
                self._has_columns(histories, _checked_columns(parquet))
                and size <= _data_bytes(parquet.metadata) + EXTRA_FILE_BYTES
            )
        except Exception:  # a damaged or forged file may raise anything
            return False

    def is_valid(self, histories: bool, number: int, data: bytes) -> bool:
        """Return True if a file has exactly the rows of a chunk."""
        arrow, parquet = pyarrow_modules()
        try:
            file = parquet.ParquetFile(arrow.BufferReader(data))
            valid = self._has_rows(histories, number, file)
        except Exception:  # a damaged or forged file may raise anything
            return False
        if valid:
            self.columns.setdefault(histories, tuple(file.schema_arrow.names))
        return valid

    def _has_columns(self, histories: bool, names: tuple[str, ...]) -> bool:
        if histories in self.columns:
            return names == self.columns[histories]
        measured = _measured_columns(self.manifest.names, self.manifest.measures, self.manifest.model)
        functions = {name.partition(":")[2].partition(".")[0] for name in self.manifest.functions}
        of_functions = {name.partition(".")[0] for name in names[len(measured) :]}
        return names[: len(measured)] == measured and of_functions == functions

    def _has_rows(self, histories: bool, number: int, file: Any) -> bool:
        first, count = self.manifest.rows_of(number)
        stored = file.metadata.num_rows  # may be any number, even in a small file
        if not histories:
            return stored == count and np.array_equal(_rows(file), np.arange(first, first + count))
        every = self.manifest.histories_every
        expected = np.arange(-(-first // every) * every, first + count, every) if stored >= count // every else None
        return expected is not None and stored <= MAX_HISTORY_ROWS and np.array_equal(np.unique(_rows(file)), expected)


def _data_bytes(stored: Any) -> int:
    """Return the bytes of footer and columns, as the footer has them."""
    groups = [stored.row_group(k) for k in range(stored.num_row_groups)]
    columns = (group.column(k) for group in groups for k in range(stored.num_columns))
    size: int = stored.serialized_size + sum(column.total_compressed_size for column in columns)
    return size


def _rows(file: Any) -> Array:
    """Return the row numbers of a file; a ValueError if a row number or ok is missing."""
    table = file.read(columns=[name for name in ("row", "ok") if name in file.schema_arrow.names])
    if any(column.null_count for column in table.columns):
        raise ValueError("a row number or ok is missing")
    found: Array = table.column("row").to_numpy()
    return found


def _checked_columns(file: Any) -> tuple[str, ...]:
    """Return the names of the columns; a ValueError unless each has the type of its name."""
    names, kinds, stored = tuple(file.schema_arrow.names), file.schema_arrow.types, file.metadata.schema
    if len(set(names)) < len(names) or len(stored) != len(names):
        raise ValueError("nested columns, or two columns of one name")
    for k, name in enumerate(names):
        kind, column = COLUMN_TYPES.get(name, "double"), stored.column(k)
        if (str(kinds[k]), column.path, column.physical_type) != (kind, name, PARQUET_TYPES[kind]):
            raise ValueError(f"{name} is not a {kind}")
    return names
