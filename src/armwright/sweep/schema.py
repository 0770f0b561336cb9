"""What the files of a chunk must have: their columns, and the very rows of the chunk.

A sum in a name proves nothing where a folder is a stranger's. So the table of each file is checked before it counts:
names and types of its columns, how many rows it has (before any is read), and which.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from armwright.algebra import Array
from armwright.robot import Robot
from armwright.sweep.chunks import arrow_of
from armwright.sweep.manifest import Manifest
from armwright.sweep.measures import MEASURES
from armwright.sweep.ready import Ready

MOST_RECORDS = 1 << 27
"""Rows of a file of histories."""

MOST_FOOTER_BYTES = 64 << 20
"""Of the end of a file, which has its columns and the study."""

SPARE = 1 << 20
"""Bytes of a file besides its data: indices that other versions of pyarrow may write."""

TEXTS, FLAGS, NUMBERS = ("reason",), ("ok",), ("row",)
PHYSICAL = {"int64": "INT64", "bool": "BOOLEAN", "string": "BYTE_ARRAY", "double": "DOUBLE"}


def columns_of(found: Ready) -> tuple[str, ...]:
    """The columns of the rows of a study, in their order."""
    of_functions = [column for columns in found.columns for column in columns]
    return tuple(dict.fromkeys((*_measured(found.design.names, found.measures, found.robot), *of_functions)))


def _measured(names: Iterable[str], measures: Iterable[str], robot: Robot) -> tuple[str, ...]:
    """The columns of what varies and what is measured."""
    numbers = [
        column
        for name in dict.fromkeys(measures)
        for column in ([name] if name in MEASURES and MEASURES[name].alone else _numbered(name, robot))
    ]
    return ("row", *names, "ok", "reason", "reached", *numbers)


def _numbered(name: str, robot: Robot) -> list[str]:
    """A column for each joint, or for each entry of q."""
    return [f"{name}{k + 1}" for k in range(robot.nq if name in ("q", "final_q") else robot.n)]


@dataclass(frozen=True)
class Expected:
    """What the files of the chunks of a study must have."""

    manifest: Manifest
    columns: dict[bool, tuple[str, ...]]
    """Those of histories and of rows, as far as they are known: all files have the same."""

    @classmethod
    def of(cls, manifest: Manifest, rows: tuple[str, ...] | None) -> Expected:
        """What a manifest expects; of its rows exactly these columns, if they are given."""
        histories = [column for name in manifest.histories for column in _numbered(name, manifest.model)]
        columns = {True: ("row", "t", *histories)}
        if rows is not None:
            columns[False] = rows
        elif not manifest.functions:
            columns[False] = _measured(manifest.names, manifest.measures, manifest.model)
        return cls(manifest, columns)

    def promises(self, histories: bool, number: int, file: BinaryIO) -> bool:
        """Whether the end of a file says that it is of a chunk, and no longer than its data; nothing else is read."""
        if not 0 <= number < self.manifest.chunks:
            return False
        try:
            size = file.seek(-8, os.SEEK_END) + 8
            if int.from_bytes(file.read(4), "little") > MOST_FOOTER_BYTES:
                return False
            found = arrow_of()[1].ParquetFile(file)
            return self._fits(histories, _columns(found)) and size <= _size(found.metadata) + SPARE
        except Exception:  # whatever a stranger's file does
            return False

    def holds(self, histories: bool, number: int, data: bytes) -> bool:
        """Whether a file has the rows of a chunk."""
        arrow, parquet = arrow_of()
        try:
            file = parquet.ParquetFile(arrow.BufferReader(data))
            fits = self._has_rows(histories, number, file)
        except Exception:  # whatever a stranger's file does
            return False
        if fits:
            self.columns.setdefault(histories, tuple(file.schema_arrow.names))
        return fits

    def _fits(self, histories: bool, names: tuple[str, ...]) -> bool:
        if histories in self.columns:
            return names == self.columns[histories]
        begin = _measured(self.manifest.names, self.manifest.measures, self.manifest.model)
        functions = [name.partition(":")[2] for name in self.manifest.functions]
        own = [name.partition(".")[0] for name in names[len(begin) :]]  # a function may give several numbers by name
        return names[: len(begin)] == begin and set(own) == {name.partition(".")[0] for name in functions}

    def _has_rows(self, histories: bool, number: int, file: Any) -> bool:
        first, count = self.manifest.rows_of(number)
        stored = file.metadata.num_rows  # of which a small file may have any number
        if not histories:
            return stored == count and np.array_equal(_rows(file), np.arange(first, first + count))
        every = self.manifest.every
        expected = np.arange(-(-first // every) * every, first + count, every) if stored >= count // every else None
        return expected is not None and stored <= MOST_RECORDS and np.array_equal(np.unique(_rows(file)), expected)


def _size(stored: Any) -> int:
    """The bytes of a file, as its end has them."""
    groups = [stored.row_group(k) for k in range(stored.num_row_groups)]
    columns = (group.column(k) for group in groups for k in range(stored.num_columns))
    size: int = stored.serialized_size + sum(column.total_compressed_size for column in columns)
    return size


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
