"""What has been found of a study, as other tools read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from armwright.algebra import Array
from armwright.errors import InputError, unknown
from armwright.model import toml
from armwright.robot import Robot
from armwright.sweep.chunks import arrow_of
from armwright.sweep.design import Design, design_of
from armwright.sweep.drives import Drives, drives_of
from armwright.sweep.folder import HISTORIES, ROWS, Folder
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
    files: dict[int, list[Path]]
    """Of every chunk that is whole."""

    @property
    def study(self) -> Study:
        """The study with the robot that it was made with."""
        manifest = self.folder.manifest
        held = ("robot", "payload", "gravity", "actuators")
        said = {key: value for key, value in manifest["study"].items() if key not in held}
        place = {"file": manifest["file"], "folder": Path(manifest["folder"])}
        if manifest["bare"] is None:
            return Study(robot=self.robot, **place, **said)
        return Study(robot=_robot(manifest["bare"]), actuators=manifest["actuators"], **place, **said)

    @property
    def robot(self) -> Robot:
        """As the study has it, with its payload and gravity, and its actuators, the first where there are several."""
        return _robot(self.folder.manifest["robot"])

    @cached_property
    def drives(self) -> Drives:
        """The actuators of the joints, or those they may have."""
        study = self.study
        assert isinstance(study.robot, Robot)
        return drives_of(study, study.robot)

    @cached_property
    def design(self) -> Design:
        """Which numbers its rows have."""
        return design_of(self.study)

    @property
    def of(self) -> int:
        """How many rollouts the study has."""
        return int(self.folder.manifest["rows"])

    @property
    def chunks(self) -> int:
        return int(self.folder.manifest["chunks"])

    @property
    def finished(self) -> bool:
        return len(self.files) == self.chunks

    @cached_property
    def count(self) -> int:
        """How many rollouts there are so far."""
        return int(self.rows.count_rows())

    @cached_property
    def failed(self) -> int:
        """How many of them did not come to their end."""
        if not self.files:
            return 0
        import pyarrow.dataset  # noqa: PLC0415

        return int(self.rows.count_rows(filter=~pyarrow.dataset.field("ok")))

    @cached_property
    def broken(self) -> Array:
        """The rows that did not come to their end."""
        import pyarrow.dataset  # noqa: PLC0415

        found = self.rows.to_table(columns=["row"], filter=~pyarrow.dataset.field("ok"))
        rows: Array = found.column("row").to_numpy()
        return rows

    @cached_property
    def rows(self) -> Any:
        """One row for each rollout."""
        return self._dataset(ROWS)

    @cached_property
    def histories(self) -> Any:
        """One row for each record of the rollouts that are kept whole."""
        return self._dataset(HISTORIES) if any(len(files) > 1 for files in self.files.values()) else None

    @property
    def varied(self) -> tuple[str, ...]:
        """The columns of what varies."""
        return tuple(self.folder.manifest["names"])

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns of what was measured."""
        return tuple(name for name in self.rows.schema.names if name not in (*FIXED, *self.varied))

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns as arrays of NumPy."""
        table = self.rows.to_table(columns=list(names))
        return {name: table.column(name).to_numpy() for name in names}

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

        chosen = [str(path) for files in self.files.values() for path in files if path.parent.name == part]
        if not chosen:
            raise InputError(f"{self.folder.path} has no whole chunk yet; run the study first")
        return pyarrow.dataset.dataset(chosen, format="parquet")


def _robot(text: str) -> Robot:
    return Robot.from_fields(toml.parse(text, "robot", visuals=False))


def open_study(folder: str | Path) -> Results:
    """The results in a folder that `armwright sweep` or `Study.run` has made, as far as they are there."""
    found = Folder.of(folder)
    return Results(found, found.done(range(found.manifest["chunks"])))
