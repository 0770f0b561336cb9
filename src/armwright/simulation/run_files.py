"""Runs as columns, and as Parquet files with robot and settings in the metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.files import missing, write
from armwright.model import toml
from armwright.robot import Robot
from armwright.simulation.doubts import Doubt
from armwright.simulation.joined_runs import phase_columns
from armwright.simulation.stop_hits import StopHits

if TYPE_CHECKING:
    from armwright.simulation.run import Run

T = TypeVar("T")

JOINT_FIELDS = ("q", "qd", "qdd", "tau", "drag")
TIME_FIELDS = ("kinetic", "potential", "work", "losses")
OPTIONAL_FIELDS = ("memory", "impulse", "stop_torque")
"""The fields of a run with a row per time: a number for each joint, one number, or any count (also none) of numbers."""

PARQUET_VERSION = 1
"""The version of the Parquet format; it increases when columns or metadata change."""


@dataclass(frozen=True)
class Statistics:
    """Steps and evaluations of a run; `seconds` is the time of the integration alone."""

    accepted: int
    rejected: int
    evaluations: int
    seconds: float

    def __str__(self) -> str:
        rejected = f", {self.rejected} rejected" if self.rejected else ""
        return f"{self.accepted} steps{rejected}, {self.evaluations} evaluations in {self.seconds:.3g} s"


@dataclass(frozen=True)
class DetectedEvent:
    """A detected event: its name, its time, and the state at that time."""

    name: str
    t: float
    q: Array
    qd: Array


def run_columns(run: Run) -> dict[str, Array]:
    """Return all columns (times,) of a run by name: t, q1, ..., qd1, ..., kinetic, ..."""
    columns = {"t": run.t}
    for name in (*JOINT_FIELDS, *OPTIONAL_FIELDS):
        columns |= _numbered(name, getattr(run, name))
    columns |= {name: getattr(run, name) for name in TIME_FIELDS}
    columns |= {} if run.neighbour is None else {"neighbour": run.neighbour}
    for name, values in zip(("q", "qd", "qdd"), run.reference or (), strict=run.reference is not None):
        columns |= _numbered(f"reference_{name}", values)
    return columns


def write_parquet(run: Run, path: str | Path) -> Path:
    """Write a run to a Parquet file; return its path."""
    arrow, parquet = _arrow()
    phases = [{"rows": len(phase.t), **_metadata(phase)} for phase in run.phases]
    meta = {"armwright": PARQUET_VERSION, **_metadata(run), "phases": phases}
    table = arrow.table(run_columns(run)).replace_schema_metadata({"armwright": json.dumps(meta)})
    try:
        parquet.write_table(table, stream := arrow.BufferOutputStream())
        return write(path, stream.getvalue().to_pybytes())
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"cannot write the run to {path!r}: {error}") from None


def read_parquet(
    path: str | Path, packages: Mapping[str, str | Path] | None, build: Callable[[list[dict[str, Any]]], T]
) -> T:
    """Return `build` of the fields of a run, or of each of its phases; raise an InputError for other files.

    `packages` are the folders with the meshes of the robot.
    """
    _, parquet = _arrow()
    if not isinstance(path, (str, Path)):
        raise InputError(f"from_parquet got {path!r}; expected the path of a file that Run.to_parquet wrote")
    if wrong := missing(path, "a run, a .parquet file that Run.to_parquet wrote"):
        raise InputError(wrong)
    try:
        table = parquet.read_table(path)
    except (OSError, TypeError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise InputError(
            f"{path} is not a Parquet file, or is damaged; expected a run that Run.to_parquet wrote ({error})"
        ) from None
    try:
        return build(_parts_of(table, Path(path), packages))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:  # the file is from elsewhere
        raise InputError(
            f"{path} is not a run of armwright (version {PARQUET_VERSION}): {error}; Run.to_parquet writes such files"
        ) from None


def _metadata(run: Run) -> dict[str, Any]:
    """Return the metadata of a file."""
    return {
        "robot": run.robot.to_toml(),
        "settings": dict(run.settings),
        "statistics": vars(run.statistics),
        "message": run.message,
        "ended_by": run.ended_by,
        "exact": run.exact,
        "events": [{"name": e.name, "t": e.t, "q": e.q.tolist(), "qd": e.qd.tolist()} for e in run.events],
        **({} if run.stops is None else {"stops": run.stops.lists()}),
        "noticed": [{"t": doubt.t, "why": doubt.why} for doubt in run.noticed],
    }


def _parts_of(table: Any, path: Path, packages: Mapping[str, str | Path] | None) -> list[dict[str, Any]]:
    """Return the fields of a run, or of each of its phases."""
    meta = json.loads((table.schema.metadata or {}).get(b"armwright", b"{}"))
    if meta.get("armwright") != PARQUET_VERSION:
        raise ValueError(f"its version is {meta.get('armwright')!r}")
    columns = {name: table[name].to_numpy() for name in table.column_names}
    _check_columns(columns)

    def robot(text: str) -> Robot:
        return Robot.from_fields(toml.parse(text, path=path, packages=packages))

    if not meta.get("phases"):
        return [_fields(columns, meta, robot)]
    ends = np.cumsum([0, *(int(phase["rows"]) for phase in meta["phases"])])
    if ends[-1] != len(columns["t"]):
        raise ValueError(f"its phases have {ends[-1]} rows in total, and it has {len(columns['t'])}")
    parts = [{name: x[a:b] for name, x in columns.items()} for a, b in pairwise(ends)]
    return [_fields(phase_columns(x), phase, robot) for x, phase in zip(parts, meta["phases"], strict=True)]


def _fields(columns: Mapping[str, Array], meta: Mapping[str, Any], robot_of: Callable[[str], Robot]) -> dict[str, Any]:
    """Return the fields of a run from its columns and metadata."""
    settings = dict(meta["settings"])
    if not all(isinstance(settings.get(name, 0.0), (int, float)) for name in ("rtol", "atol", "step", "max_step")):
        raise ValueError(f"its settings {settings!r} should have numbers as rtol, atol, step and max_step")
    robot = robot_of(meta["robot"])
    n = robot.n
    arrays: dict[str, Any] = {name: _stacked(columns, name, robot.nq if name == "q" else n) for name in JOINT_FIELDS}
    arrays |= {name: columns[name] for name in TIME_FIELDS}
    for name in OPTIONAL_FIELDS:
        arrays[name] = _stacked(columns, name, sum(column.startswith(name) for column in columns))
    reference = None
    if "reference_q1" in columns:
        reference = tuple(_stacked(columns, f"reference_{name}", n) for name in ("q", "qd", "qdd"))
    return {
        "robot": robot,
        "t": columns["t"],
        **arrays,
        "statistics": _statistics(meta),
        "settings": settings,
        "events": tuple(
            DetectedEvent(str(e["name"]), float(e["t"]), np.array(e["q"], float), np.array(e["qd"], float))
            for e in meta["events"]
        ),
        "ended_by": str(meta.get("ended_by", "")),
        "reference": reference,
        "exact": bool(meta["exact"]),
        "message": str(meta["message"]),
        "neighbour_distances": columns.get("neighbour"),
        "stops": StopHits.of_lists(meta["stops"], n) if "stops" in meta else None,
        "noticed": tuple(Doubt(float(x["t"]), str(x["why"])) for x in meta.get("noticed", ())),
    }


def _check_columns(columns: Mapping[str, Array]) -> None:
    """Raise a ValueError if columns are not double-precision numbers at finite, increasing times."""
    for name, values in columns.items():
        if values.dtype != np.float64:
            raise ValueError(f"column {name!r} holds {values.dtype.name} values, not numbers in double precision")
    t = columns["t"]
    if not len(t) or not np.isfinite(t).all() or not (np.diff(t) > 0).all():
        raise ValueError("it has no times, or times that are not finite or do not increase")


def _statistics(meta: Mapping[str, Any]) -> Statistics:
    found = meta["statistics"]
    if any(isinstance(value, bool) or not isinstance(value, Real) for value in found.values()):
        raise ValueError(f"its statistics {found!r} are not numbers")
    return Statistics(**found)


def _numbered(name: str, values: Array) -> dict[str, Array]:
    return {f"{name}{i + 1}": column for i, column in enumerate(values.T)}


def _stacked(columns: Mapping[str, Array], name: str, n: int) -> Array:
    listed = [columns[f"{name}{i + 1}"] for i in range(n)]
    return np.stack(listed, axis=-1) if listed else np.zeros((len(columns["t"]), 0))


def optional_package(name: str) -> Any:
    """Import and return a package; if it is missing, raise an InputError that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"this needs {name}: pip install {name}") from None


def _arrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("Parquet files need pyarrow: pip install 'armwright[parquet]'") from None
