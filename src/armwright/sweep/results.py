"""The results of a study, read from its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwright.algebra import Array
from armwright.errors import InputError, listed, unknown
from armwright.former_names import add_former_names
from armwright.lazy import cached_property
from armwright.robot import Robot
from armwright.sweep.actuator_choices import ActuatorChoices, actuator_choices_of
from armwright.sweep.chunk import pyarrow_modules
from armwright.sweep.design import Design, design_of
from armwright.sweep.folder import HISTORIES_FOLDER, ROWS_FOLDER, Folder
from armwright.sweep.global_sensitivity import SobolIndices, indices_of
from armwright.sweep.manifest import robot_in
from armwright.sweep.study import Study

STATUS_COLUMNS = ("row", "ok", "reason", "reached")
"""Columns of the results besides what varies and what is measured."""


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study so far.

    `rows` and `histories` (None if the study keeps none) are datasets of pyarrow: call `rows.to_table().to_pandas()` or
    `polars.scan_pyarrow_dataset(rows)`, or use a variable `rows` in a query of DuckDB. The object itself has Arrow's C
    stream interface, so that `polars.DataFrame(results)` and `pyarrow.table(results)` work.
    """

    folder: Folder
    files: dict[int, dict[str, Path]]
    """The files of every complete chunk, by kind."""
    allow_functions: bool = False
    """True if its study may import the Python functions that the folder names."""

    @property
    def study(self) -> Study:
        """The study with the robot with which it was run."""
        manifest = self.folder.manifest
        replaced = ("robot", "payload", "gravity", "actuators")
        keys: dict[str, Any] = {key: value for key, value in manifest.study.items() if key not in replaced}
        origin: dict[str, Any] = {"file": manifest.file, "folder": Path(manifest.folder)}
        origin["allow_functions"] = self.allow_functions
        if manifest.bare is None:
            return Study(robot=self.robot, **origin, **keys)
        return Study(robot=robot_in(manifest.bare), actuators=manifest.actuators, **origin, **keys)

    @property
    def robot(self) -> Robot:
        """The robot of the study with payload, gravity and the first actuator of each joint."""
        return self.folder.manifest.model

    @cached_property
    def actuators(self) -> ActuatorChoices:
        """The actuators to choose from for each joint."""
        study = self.study
        assert isinstance(study.robot, Robot)
        return actuator_choices_of(study, study.robot)

    @cached_property
    def design(self) -> Design:
        """The design, which gives every row its numbers."""
        design, manifest = design_of(self.study), self.folder.manifest
        if (design.rows, design.names) != (manifest.rows, manifest.names):
            raise InputError(
                f"{self.folder.path}: its study has {design.rows} rows of {listed(design.names)}, and its manifest "
                f"has {manifest.rows} of {listed(manifest.names)}; expected the same"
            )
        return design

    @property
    def of(self) -> int:
        """The number of rollouts of the study."""
        return self.folder.manifest.rows

    @property
    def chunks(self) -> int:
        """The number of chunks of the study."""
        return self.folder.manifest.chunks

    @property
    def finished(self) -> bool:
        """True if all chunks are complete."""
        return len(self.files) == self.chunks

    @cached_property
    def count(self) -> int:
        """The number of rollouts computed so far."""
        return sum(self.folder.manifest.rows_of(number)[1] for number in self.files)

    @cached_property
    def failed(self) -> int:
        """The number of rollouts that failed: they did not reach their end, or a function raised an error."""
        return len(self.failed_rows) if self.files else 0

    @cached_property
    def failed_rows(self) -> Array:
        """The numbers of the rows that failed."""
        data = self.columns(("row", "ok"))
        rows: Array = data["row"][~data["ok"]]
        return rows

    @cached_property
    def rows(self) -> Any:
        """A dataset of pyarrow with one row for each rollout."""
        return self._dataset(ROWS_FOLDER)

    @cached_property
    def histories(self) -> Any:
        """A dataset of pyarrow with one row for each record of the rollouts whose histories are kept."""
        kept = any(HISTORIES_FOLDER in files for files in self.files.values())
        return self._dataset(HISTORIES_FOLDER) if kept else None

    @property
    def varied(self) -> tuple[str, ...]:
        """The names of the columns of what varies."""
        return self.folder.manifest.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names of the columns of what was measured."""
        return tuple(name for name in self.rows.schema.names if name not in (*STATUS_COLUMNS, *self.varied))

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Return some columns as NumPy arrays by name."""
        with self.read_errors():
            table = self.rows.to_table(columns=list(names))
            return {name: table.column(name).to_numpy() for name in names}

    @contextmanager
    def read_errors(self) -> Iterator[None]:
        """Turn errors of pyarrow on damaged files into InputErrors of one line."""
        arrow, _ = pyarrow_modules()
        try:
            yield
        except (arrow.ArrowException, OSError, KeyError, ValueError, MemoryError) as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise InputError(f"cannot read the chunks in {self.folder.path}: {why}; run the study again") from None

    def indices(self, name: str) -> SobolIndices | None:
        """Return Sobol indices of a column, in the order of `varied`; None if there are none or it is constant."""
        if name not in self.wanted:
            raise unknown("measured column", name, self.wanted)
        data = self.columns(("row", "ok", name))
        return indices_of(self.design, data["row"][data["ok"]], data[name][data["ok"]])

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.scanner().to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{self.count} of {self.of} rollouts in {self.folder.path}, {self.failed} failed>"

    def _dataset(self, part: str) -> Any:
        pyarrow_modules()
        import pyarrow.dataset  # noqa: PLC0415

        paths = [str(files[part]) for files in self.files.values() if part in files]
        if not paths:
            raise InputError(f"{self.folder.path} has no complete chunk yet; run the study first")
        with self.read_errors():
            return pyarrow.dataset.dataset(paths, format="parquet")


add_former_names(Results, drives="actuators", broken="failed_rows", reading="read_errors")


def open_study(folder: str | Path, allow_functions: bool = False) -> Results:
    """Open the results so far in a folder of `armwright sweep` or `Study.run`.

    Nothing in the folder is executed. Its study can be run again, with its Python functions only if `allow_functions`,
    since a folder may name any module.
    """
    kept = Folder.open(folder)
    return Results(kept, kept.complete_chunks(range(kept.manifest.chunks)), allow_functions)
