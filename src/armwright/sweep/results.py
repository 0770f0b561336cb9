"""What has been found of a study, as other tools read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from armwright.algebra import Array
from armwright.errors import InputError, listed, unknown
from armwright.robot import Robot
from armwright.sweep.chunks import arrow_of
from armwright.sweep.design import Design, design_of
from armwright.sweep.drives import Drives, drives_of
from armwright.sweep.folder import HISTORIES, ROWS, Folder
from armwright.sweep.manifest import robot_in
from armwright.sweep.sensitivity import Indices, indices_of
from armwright.sweep.study import Study

FIXED = ("row", "ok", "reason", "reached")
"""Columns of the results besides what varies and what is wanted."""


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study so far.

    `rows` and `histories` (None where none are kept) are datasets of pyarrow: `rows.to_table()`, `to_pandas()` of that,
    `polars.scan_pyarrow_dataset(rows)`, and DuckDB knows a variable `rows` by its name. The object itself hands its
    rows over by Arrow's interface, as `polars.DataFrame(results)` or `pyarrow.table(results)` take it.
    """

    folder: Folder
    files: dict[int, dict[str, Path]]
    """Of every chunk that is whole, by what they have."""
    allow_functions: bool = False
    """Whether its study may import the Python functions that the folder names."""

    @property
    def study(self) -> Study:
        """The study with the robot that it was made with."""
        manifest = self.folder.manifest
        held = ("robot", "payload", "gravity", "actuators")
        said: dict[str, Any] = {key: value for key, value in manifest.study.items() if key not in held}
        where: dict[str, Any] = {
            "file": manifest.file,
            "folder": Path(manifest.folder),
            "allow_functions": self.allow_functions,
        }
        if manifest.bare is None:
            return Study(robot=self.robot, **where, **said)
        return Study(robot=robot_in(manifest.bare), actuators=manifest.actuators, **where, **said)

    @property
    def robot(self) -> Robot:
        """As the study has it, with its payload and gravity, and its actuators, the first where there are several."""
        return self.folder.manifest.model

    @cached_property
    def drives(self) -> Drives:
        """The actuators of the joints, or those they may have."""
        study = self.study
        assert isinstance(study.robot, Robot)
        return drives_of(study, study.robot)

    @cached_property
    def design(self) -> Design:
        """Which numbers its rows have."""
        found, manifest = design_of(self.study), self.folder.manifest
        if (found.rows, found.names) != (manifest.rows, manifest.names):
            raise InputError(
                f"{self.folder.path}: its study has {found.rows} rows of {listed(found.names)}, and its manifest "
                f"says {manifest.rows} of {listed(manifest.names)}; expected the same"
            )
        return found

    @property
    def of(self) -> int:
        """How many rollouts the study has."""
        return self.folder.manifest.rows

    @property
    def chunks(self) -> int:
        return self.folder.manifest.chunks

    @property
    def finished(self) -> bool:
        return len(self.files) == self.chunks

    @cached_property
    def count(self) -> int:
        """How many rollouts there are so far."""
        return sum(self.folder.manifest.rows_of(number)[1] for number in self.files)

    @cached_property
    def failed(self) -> int:
        """How many of them did not come to their end."""
        return len(self.broken) if self.files else 0

    @cached_property
    def broken(self) -> Array:
        """The rows that did not come to their end."""
        data = self.columns(("row", "ok"))
        rows: Array = data["row"][~data["ok"]]
        return rows

    @cached_property
    def rows(self) -> Any:
        """One row for each rollout."""
        return self._dataset(ROWS)

    @cached_property
    def histories(self) -> Any:
        """One row for each record of the rollouts that are kept whole."""
        return self._dataset(HISTORIES) if any(HISTORIES in files for files in self.files.values()) else None

    @property
    def varied(self) -> tuple[str, ...]:
        """The columns of what varies."""
        return self.folder.manifest.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns of what was measured."""
        return tuple(name for name in self.rows.schema.names if name not in (*FIXED, *self.varied))

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns as arrays of NumPy."""
        with self.reading():
            table = self.rows.to_table(columns=list(names))
            return {name: table.column(name).to_numpy() for name in names}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What pyarrow says of damaged files, in one line."""
        arrow, _ = arrow_of()
        try:
            yield
        except (arrow.ArrowException, OSError, KeyError, ValueError, MemoryError) as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise InputError(f"cannot read the chunks in {self.folder.path}: {why}; run the study again") from None

    def indices(self, name: str) -> Indices | None:
        """Sobol indices of a column, in the order of `varied`; None where the design has none, or nothing varies."""
        if name not in self.wanted:
            raise unknown("column of what was wanted:", name, self.wanted)
        data = self.columns(("row", "ok", name))
        return indices_of(self.design, data["row"][data["ok"]], data[name][data["ok"]])

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.scanner().to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{self.count} of {self.of} rollouts in {self.folder.path}, {self.failed} could not go on>"

    def _dataset(self, part: str) -> Any:
        arrow_of()
        import pyarrow.dataset  # noqa: PLC0415

        chosen = [str(files[part]) for files in self.files.values() if part in files]
        if not chosen:
            raise InputError(f"{self.folder.path} has no whole chunk yet; run the study first")
        with self.reading():
            return pyarrow.dataset.dataset(chosen, format="parquet")


def open_study(folder: str | Path, allow_functions: bool = False) -> Results:
    """The results in a folder that `armwright sweep` or `Study.run` has made, as far as they are there.

    Nothing in the folder is run. Its study can be run again; its Python functions only with `allow_functions`, since a
    folder may name any module.
    """
    found = Folder.of(folder)
    return Results(found, found.done(range(found.manifest.chunks)), allow_functions)
