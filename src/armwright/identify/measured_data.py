"""Positions and torques measured along a motion; missing velocities and accelerations come from differentiation.

A file has a row for each time and the columns t, q1 ... qn, tau1 ... taun, optionally qd1 ... and qdd1 ...; other
columns are ignored. `Run.to_parquet` and `Measurement.to_csv` write such files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array
from armwright.errors import InputError
from armwright.files import write

MAX_STEP_VARIATION = 0.01
"""Steps between samples may differ by this part of their mean and still count as equal."""

MIN_SAMPLES = 16
"""The smallest number of samples that can be differentiated."""

SIGNAL_TO_NOISE = 10.0
"""A frequency counts as motion where its power is this many times the noise."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Times t (k,), and q, qd, qdd, tau (k, n) of each time and joint. `note` says how derivatives were computed.

    q has one more entry for each ball, free or planar joint.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    note: str = ""

    @property
    def n(self) -> int:
        return int(self.tau.shape[1])

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        note = f", {self.note}" if self.note else ""
        return f"<{len(self)} samples of {self.n} joints, {self.t[0]:g} to {self.t[-1]:g} s{note}>"

    def to_csv(self, path: str | Path) -> Path:
        """Write the measurement as a table; return its path."""
        return write_csv(path, {"t": self.t, **per_joint(q=self.q, qd=self.qd, qdd=self.qdd, tau=self.tau)})


def per_joint(**quantities: Array) -> dict[str, Array]:
    """Return arrays (k, n) as columns q1 ... qn, qd1 ..."""
    return {f"{name}{i + 1}": column for name, values in quantities.items() for i, column in enumerate(values.T)}


def write_csv(path: str | Path, columns: Mapping[str, Array]) -> Path:
    """Write a table with a first line of names; return its path."""
    text = StringIO()
    np.savetxt(text, np.column_stack(list(columns.values())), "%.12g", ",", header=",".join(columns), comments="")
    try:
        return write(path, text.getvalue())
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"cannot write {path}: {error}") from None


def measurement(
    t: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    cutoff: float | None = None,
) -> Measurement:
    """Return checked arrays: t (k,) in seconds, the others (k, n), or q (k, nq) with ball or free joints.

    Missing velocities and accelerations are derivatives of a spline through low-pass filtered positions (or
    velocities). The filter runs forwards and backwards, so that it has no delay. `cutoff` is its frequency in Hz; by
    default it lies where the motion vanishes in the noise. The filter is inaccurate at the ends, which are dropped.
    """
    times = _finite("t", checked_array("t", t, (), np.dtype(float), "times in seconds"))
    if times.ndim != 1 or len(times) < 2:
        raise InputError(f"t has shape {times.shape}; expected a list of two times or more")
    if not (np.diff(times) > 0).all():
        k = int(np.argmin(np.diff(times) > 0))
        raise InputError(f"t[{k + 1}] = {times[k + 1]:g} s does not come after t[{k}] = {times[k]:g} s; sort the rows")
    values = {name: x for name, x in (("q", q), ("tau", tau), ("qd", qd), ("qdd", qdd)) if x is not None}
    arrays = {name: _table(name, x, len(times)) for name, x in values.items()}
    complete = "qd" in arrays and "qdd" in arrays
    reference = "tau" if complete else "q"
    n = arrays[reference].shape[1]
    for name, array in arrays.items():
        if array.shape[1] != n and not (complete and name == "q" and array.shape[1] > n):
            hint = "" if complete else "; where q has quaternions, give qd and qdd too"
            raise InputError(
                f"{name} has {array.shape[1]} joints where {reference} has {n}; expected equal numbers{hint}"
            )
    if complete:
        return Measurement(times, arrays["q"], arrays["qd"], arrays["qdd"], arrays["tau"])
    return _differentiated(times, arrays, cutoff)


def _table(name: str, value: ArrayLike, count: int) -> Array:
    array = _finite(name, checked_array(name, value, (), np.dtype(float), "a row for each time"))
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != count or not array.shape[1]:
        raise InputError(f"{name} has shape {array.shape}; expected ({count}, n): a row for each time")
    return array


def _finite(name: str, array: Array) -> Array:
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        column = f", joint {place[1] + 1}" if len(place) > 1 else ""
        raise InputError(f"{name} is {array[place]} in row {place[0]}{column}; remove such rows")
    return array


def _differentiated(t: Array, arrays: Mapping[str, Array], cutoff: float | None) -> Measurement:
    step, count = float(np.diff(t).mean()), len(t)
    if count < MIN_SAMPLES:
        raise InputError(
            f"{count} rows are too few to differentiate; expected {MIN_SAMPLES} or more, or qd and qdd with them"
        )
    if np.abs(np.diff(t) - step).max() > MAX_STEP_VARIATION * step:
        raise InputError("the times are not evenly spaced, as filtering needs; resample the data, or give qd and qdd")
    if "qd" in arrays:
        smooth, edge, note = _smoothed(arrays["qd"], step, cutoff)
        q, qd, (qdd,), computed = arrays["q"], arrays["qd"], _derivatives(t, smooth, 1), "accelerations"
    else:
        q, edge, note = _smoothed(arrays["q"], step, cutoff)
        (qd, qdd), computed = _derivatives(t, q, 2), "velocities and accelerations"
    keep = slice(edge, count - edge)
    t, q, qd, qdd, tau = (np.ascontiguousarray(x[keep]) for x in (t, q, qd, qdd, arrays["tau"]))
    return Measurement(t, q, qd, qdd, tau, f"{computed} by differentiation, {note}")


def _smoothed(x: Array, step: float, cutoff: float | None) -> tuple[Array, int, str]:
    """Return the filtered samples, the number to drop at each end, and a note on the filter."""
    if cutoff is None:
        cutoff = automatic_cutoff(x, step)
    elif not cutoff > 0:
        raise InputError(f"cutoff = {cutoff!r} Hz: expected a frequency above zero")
    nyquist = 0.5 / step
    if cutoff >= 0.8 * nyquist:
        return x, 2, "not filtered"
    edge = min(int(np.ceil(0.5 / (cutoff * step))), len(x) // 4)
    return _low_pass(x, cutoff / nyquist), edge, f"low-pass at {cutoff:.3g} Hz"


def _low_pass(x: Array, relative: float) -> Array:
    from scipy.signal import butter, sosfiltfilt  # noqa: PLC0415

    filtered: Array = sosfiltfilt(butter(4, relative, output="sos"), x, axis=0)
    return filtered


def _derivatives(t: Array, x: Array, order: int) -> list[Array]:
    """Return derivatives up to an order, from a spline of degree five through all samples."""
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415

    spline = make_interp_spline(t, x, k=5)
    return [spline(t, nu=nu + 1) for nu in range(order)]


def automatic_cutoff(x: Array, step: float) -> float:
    """Return twice the highest frequency at which the motion of some joint exceeds its noise, Hz.

    The noise counts as white: its level is that of the upper half of the spectrum, where nothing moves.
    """
    from scipy.signal import welch  # noqa: PLC0415

    span = min(len(x), max(256, len(x) // 4))
    frequency, power = welch(np.diff(x, axis=0), 1 / step, "hann", nperseg=span, axis=0, detrend="linear")
    power = power[1:] / np.sin(np.pi * frequency[1:, None] * step) ** 2  # of x; its differences have less leakage
    frequency = frequency[1:]
    floor = np.median(power[len(power) // 2 :], axis=0)
    clear = (power > SIGNAL_TO_NOISE * floor) & (floor > 0)
    highest = frequency[np.flatnonzero(clear.any(axis=1))].max(initial=0.0)
    return float(min(max(2 * highest, 4 * frequency[0]), 0.5 / step))


def read(path: str | Path, n: int, cutoff: float | None = None, nq: int | None = None) -> Measurement:
    """Read the measurement of n joints, with `nq` positions, from a .csv or .parquet file."""
    columns, sizes = columns_of(Path(path)), {"q": n if nq is None else nq, "qd": n, "qdd": n, "tau": n}
    tables = {name: joints_of(columns, name, size, path) for name, size in sizes.items()}
    needed = ["t", *(f"{name}{i + 1}" for name in ("q", "tau") for i in range(sizes[name]))]
    if missing := [name for name in needed if name not in columns]:
        raise InputError(
            f"{path} has no column {', '.join(missing)}; got {', '.join(columns)}; expected t, q1 to q{sizes['q']}, "
            f"tau1 to tau{n}, and optionally qd1 to qd{n} and qdd1 to qdd{n}"
        )
    known = {name: table for name, table in tables.items() if table is not None}
    if "qdd" in known and "qd" not in known:
        raise InputError(f"{path} has accelerations and no velocities; expected qd1 to qd{n} too, or neither")
    try:
        return measurement(columns["t"], known["q"], known["tau"], known.get("qd"), known.get("qdd"), cutoff)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def joints_of(columns: Mapping[str, Array], name: str, n: int, path: str | Path) -> Array | None:
    """Return the columns of one quantity, (k, n), or None if it has none."""
    indices = [int(m[1]) for column in columns if (m := re.fullmatch(rf"{name}(\d+)", column))]
    if max(indices, default=0) > n:
        raise InputError(f"{path} has column {name}{max(indices)}, but the robot has {n} joints: another robot's data?")
    names = [f"{name}{i + 1}" for i in range(n)]
    if name in ("qd", "qdd") and 0 < len(indices) < n:
        raise InputError(f"{path} has {name} of {len(indices)} joints; expected all {n}, or none")
    return np.column_stack([columns[x] for x in names]) if set(names) <= set(columns) else None


def columns_of(path: Path) -> dict[str, Array]:
    """Return the columns of a .csv or .parquet file by name."""
    if not path.is_file():
        state = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {state}; expected a .csv or .parquet file with a row for each time")
    readers = {".csv": _csv, ".parquet": _parquet}
    if path.suffix not in readers:
        raise InputError(f"{path}: cannot read {path.suffix or 'a file without ending'}; expected .csv or .parquet")
    columns = readers[path.suffix](path)
    if not columns or not len(next(iter(columns.values()))):
        raise InputError(f"{path} has no rows; expected a row for each time")
    return columns


def _csv(path: Path) -> dict[str, Array]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline()
            lines = file.readlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: {reason}; expected a line of names, then numbers between commas, as text") from None
    names = [name.strip().strip('"') for name in head.split(",")]
    if len(names) == 1 and (separator := next((mark for mark in (";", "\t") if mark in head), None)):
        raise InputError(
            f"{path} has {'semicolons' if separator == ';' else 'tabs'} between its columns; expected commas, and "
            "points in numbers: t,q1,... then 0.01,0.5,..."
        )
    try:
        values = np.loadtxt(lines, delimiter=",", ndmin=2) if lines else np.empty((0, len(names)))
    except ValueError:
        raise InputError(f"{path}{_first_bad_line(names, lines)}") from None
    if values.shape[1] != len(names):
        raise InputError(f"{path} names {len(names)} columns and has {values.shape[1]} numbers in a row")
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path} has two columns {duplicate!r}; expected every name once")
    return dict(zip(names, values.T, strict=True))


def _first_bad_line(names: Sequence[str], lines: Sequence[str]) -> str:
    """Describe the first line of a table without a number for every name; the line of names is line 1."""
    for k, line in enumerate(lines, start=2):
        cells = line.partition("#")[0].strip().split(",")
        if cells == [""]:
            continue
        if len(cells) != len(names):
            return f", line {k}: {len(cells)} numbers; expected {len(names)}, one for each of {', '.join(names)}"
        for name, cell in zip(names, cells, strict=True):
            try:
                float(cell)
            except ValueError:
                return f", line {k}, column {name}: {cell.strip()!r} is not a number; remove such rows"
    return ": expected a line of names, then numbers between commas"


def _parquet(path: Path) -> dict[str, Array]:
    try:
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise InputError("Parquet files need pyarrow: pip install 'armwright[parquet]'") from None
    try:
        table: Any = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} is not a Parquet file, or is damaged; expected a table with a row for each time ({error})"
        ) from None
    try:
        return {name: table[name].to_numpy().astype(float) for name in table.column_names}
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} has a column that is not numeric ({error})") from None
