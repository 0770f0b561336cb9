"""What came out of a simulation: a `Run` for one motion, a `BatchRun` for many; saved to Parquet and loaded again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.files import missing, write
from armwright.model import toml
from armwright.names import shown
from armwright.presentation import ServedPage, present
from armwright.robot import Robot
from armwright.simulation.audit import Audit, Deviation, Doubt, audited
from armwright.simulation.joined_runs import alone, joined_audit, joined_fields
from armwright.simulation.motion_programs import Observables
from armwright.simulation.stop_hits import StopHits
from armwright.simulation.utilisation import Utilisation, batch_utilisation, utilisation

BY_JOINT, ALONE = ("q", "qd", "qdd", "tau", "drag"), ("kinetic", "potential", "work", "losses")
"""What a run has per time and joint, and what per time."""

OPTIONAL_BY_JOINT = ("memory", "impulse", "stop_torque")
"""What only some runs have per time: any number of columns."""

PARQUET_VERSION = 1
"""Of the Parquet files: raised when their columns or metadata change."""


@dataclass(frozen=True)
class Statistics:
    """What a run took. `seconds` is the time of the integration alone."""

    accepted: int
    rejected: int
    evaluations: int
    seconds: float

    def __str__(self) -> str:
        rejected = f", {self.rejected} rejected" if self.rejected else ""
        return f"{self.accepted} steps{rejected}, {self.evaluations} evaluations in {self.seconds:.3g} s"


@dataclass(frozen=True)
class Found:
    """An event: which, when, and the state it was found in."""

    name: str
    t: float
    q: Array
    qd: Array


class Repeatable(Protocol):
    """How a run is made again."""

    def run(self, factor: float) -> Run:
        """The same run by a tolerance or a step so many times as fine."""

    def apart(self, run: Run) -> Array:
        """How far a run that begins next to this one is away at its records."""


@dataclass(frozen=True, eq=False)
class Run:
    """One motion: time `t` (k,), and at each q (k, nq), qd, qdd, tau (k, n); energies, work and losses (k,).

    `tau` is what the drives give, `drag` what laws of friction and stops take; where there are stops, `stop_torque`
    (k, n) is their part of it, and `stops` says how deep and how hard each joint was pressed in, and when first, as
    found at every step. `work` is what the drives have put in since the
    start, `losses` what all friction has taken out, the robot's own included. `memory` (k, m) is what the law
    remembers, such as an integral. `reference` is the motion the law was to produce (q, qd, qdd), `exact` whether it
    should do so without error. `impulse` (k, 6) is what has acted on a free robot from outside since the start, its
    weight aside: forces and moments about its centre of mass, summed over time. `settings` say how it was made.
    `events` have been found on the way, and `ended_by` is the name of the one that ended it, if one did.
    `phases` are the runs it was made of by `simulate_phases`, each with its robot; `robot` is the first one's.
    `noticed` are doubts that arose while it was made. `sent_along` (k,) is how far a run is away that began next to
    it; where it is None, `neighbour` finds out.
    """

    robot: Robot
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    drag: Array
    kinetic: Array
    potential: Array
    work: Array
    losses: Array
    statistics: Statistics
    settings: Mapping[str, Any] = field(default_factory=dict)
    memory: Array = field(default_factory=lambda: np.zeros((0, 0)))
    events: tuple[Found, ...] = ()
    ended_by: str = ""
    reference: tuple[Array, Array, Array] | None = None
    exact: bool = False
    message: str = ""
    sent_along: Array | None = None
    impulse: Array = field(default_factory=lambda: np.zeros((0, 0)))
    stop_torque: Array = field(default_factory=lambda: np.zeros((0, 0)))
    stops: StopHits | None = None
    noticed: tuple[Doubt, ...] = ()
    again: Repeatable | None = field(default=None, repr=False)
    phases: tuple[Run, ...] = field(default=(), repr=False)

    @classmethod
    def joined(cls, runs: Sequence[Run]) -> Run:
        """Runs one after the other, each of which begins right after the one before, as one."""
        return runs[0] if len(runs) == 1 else cls(**joined_fields(runs))

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: all that was found, but not how to run it again."""
        return {**vars(self), "neighbour": self.neighbour, "again": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "empty"
        ended = f", ended by {shown(self.ended_by)!r}" if self.ended_by else ""
        beyond = "".join(f", {doubt}" for doubt in self.utilisation.doubts)
        span += f" in {len(self.phases)} phases" if self.phases else ""
        return f"<run of {shown(self.robot.name)}, {span}{ended}, {len(self.t)} records, {self.statistics}{beyond}>"

    def _repr_html_(self) -> str:
        """For notebooks: peaks and what they are of the limits, the robot where the motion ends, and the torques."""
        return str(present("run_cell", self))

    @property
    def driven(self) -> list[int]:
        """The places of the joints that a table of torques shows: not those of a free base on which nothing acts."""
        acting = np.abs(self.tau).max(axis=0, initial=0.0) > 0
        return [i for i, joint in enumerate(self.robot.joints) if joint.kind != "free" or acting[i]]

    def plot(self, what: Sequence[str] | str = ("q", "qd", "tau", "energy"), joints: Any = None) -> Any:
        """A figure of matplotlib: a chart for each quantity, of all joints or of some.

        Quantities are q, qd, qdd, tau, power, stop_torque (of a run with stops) and energy.
        """
        return present("plot_run", self, what, joints)

    def plot_torque_speed(self, joints: Any = None) -> Any:
        """A figure of matplotlib: the torque of every joint over its speed, within its limits."""
        return present("plot_torque_speed", self, joints)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy together."""
        return self.kinetic + self.potential

    @property
    def power(self) -> Array:
        """tau qd of every joint."""
        return self.tau * self.qd

    @cached_property
    def places(self) -> Array:
        """Where every freedom is (k, n): its entry of q; of a joint with a quaternion the position, and the rotation
        vector from where it is at zero."""
        robot = self.robot
        if not robot.balls:
            return self.q
        places = robot.difference(robot.neutral, self.q)
        for ball in robot.balls:
            count = ball.unit_vector.start - ball.first_entry
            places[:, ball.coordinate : ball.coordinate + count] = self.q[
                :, ball.first_entry : ball.first_entry + count
            ]
        return places

    @cached_property
    def audit(self) -> Audit:
        """How far to trust it: balances of energy, power and momentum, condition of M, a neighbour, limits."""
        return joined_audit(self.phases) if self.phases else audited(self)

    @property
    def holding(self) -> str:
        """What the tool holds, in words; nothing if it holds nothing."""
        masses = [run.robot.payload.mass if run.robot.payload else 0.0 for run in self.phases or (self,)]
        told = [f"{mass:g}" for mass, before in zip(masses, [None, *masses], strict=False) if mass != before]
        return f"holding {', then '.join(told)} kg" if any(masses) else ""

    @cached_property
    def neighbour(self) -> Array | None:
        """How far (rad or m) a run is away that began next to this one, at every record; None if none was sent.

        Beside a compiled run it goes along; else it is sent when it is asked for, which takes as long as the run.
        """
        return self.sent_along if self.sent_along is not None or self.again is None else self.again.apart(self)

    @cached_property
    def utilisation(self) -> Utilisation:
        """Is each motor strong and fast enough? Peak torques and speeds beside the limits of the joints."""
        return utilisation(self)

    def verify(self, factor: float = 100.0) -> Deviation:
        """The largest difference to the same run with a tolerance (or step) smaller by `factor`, and when it grows."""
        if self.again is None:
            raise InputError(
                "this run was loaded from a file, came from another process or stopped early: it cannot be repeated; "
                "simulate it again"
            )
        if not isinstance(factor, Real) or not 1 < factor < math.inf:
            raise InputError(f"factor = {factor!r}: expected a number above 1")
        return Deviation.between(self, self.again.run(factor), factor)

    def to_html(self, path: str | Path, title: str | None = None) -> Path:
        """One self-contained page: the robot moving with its curves, what it asks of each joint, the audit."""
        written: Path = present("write_run_page", self, path, title)
        return written

    def to_video(
        self,
        path: str | Path,
        size: tuple[int, int] = (1280, 720),
        rate: float = 25.0,
        speed: float = 1.0,
        azimuth: float = -55.0,
        elevation: float = 18.0,
    ) -> Path:
        """Write the motion as a film for slides, GIF or MP4 (by ffmpeg); return its path.

        size                pixels
        rate                pictures a second
        speed               seconds of the motion that go by in a second of the film
        azimuth, elevation  degrees from which it is seen: around z, and above the floor
        """
        written: Path = present("film_run", self, path, size, rate, speed, (azimuth, elevation))
        return written

    def view(
        self, *others: Run, host: str = "127.0.0.1", port: int | None = None, browser: bool | None = None
    ) -> ServedPage:
        """Play it on a page, others beside it as ghosts (needs viser); returns at once. As `Robot.view`."""
        page: ServedPage = present("view", self, *others, host=host, port=port, browser=browser)
        return page

    def columns(self) -> dict[str, Array]:
        """Everything with one number per time, by name: t, q1, ..., qd1, ..., kinetic, ..."""
        columns = {"t": self.t}
        for name in (*BY_JOINT, *OPTIONAL_BY_JOINT):
            columns |= _parted(name, getattr(self, name))
        columns |= {name: getattr(self, name) for name in ALONE}
        columns |= {} if self.neighbour is None else {"neighbour": self.neighbour}
        for name, values in zip(("q", "qd", "qdd"), self.reference or (), strict=self.reference is not None):
            columns |= _parted(f"reference_{name}", values)
        return columns

    def to_parquet(self, path: str | Path) -> Path:
        """The run as a table, with the robot and all settings in its metadata; `Run.from_parquet` reads it back."""
        arrow, parquet = _arrow()
        meta = {
            "armwright": PARQUET_VERSION,
            **self._meta,
            "phases": [{"rows": len(run.t), **run._meta} for run in self.phases],
        }
        table = arrow.table(self.columns()).replace_schema_metadata({"armwright": json.dumps(meta)})
        try:
            parquet.write_table(table, whole := arrow.BufferOutputStream())
            return write(path, whole.getvalue().to_pybytes())
        except (OSError, TypeError, ValueError) as error:
            raise InputError(f"cannot write the run to {path!r}: {error}") from None

    @property
    def _meta(self) -> dict[str, Any]:
        """What is kept of it beside its columns."""
        return {
            "robot": self.robot.to_toml(),
            "settings": dict(self.settings),
            "statistics": vars(self.statistics),
            "message": self.message,
            "ended_by": self.ended_by,
            "exact": self.exact,
            "events": [{"name": e.name, "t": e.t, "q": e.q.tolist(), "qd": e.qd.tolist()} for e in self.events],
            **({} if self.stops is None else {"stops": self.stops.lists()}),
            "noticed": [{"t": doubt.t, "why": doubt.why} for doubt in self.noticed],
        }

    @classmethod
    def from_parquet(cls, path: str | Path, packages: Mapping[str, str | Path] | None = None) -> Run:
        """A run that `to_parquet` wrote; `packages` says where the meshes of its robot are, as in `armwright.load`."""
        _, parquet = _arrow()
        if not isinstance(path, (str, Path)):
            raise InputError(f"from_parquet got {path!r}; expected the path of a file that Run.to_parquet wrote")
        if wrong := missing(path, "a run, a .parquet file that Run.to_parquet wrote"):
            raise InputError(wrong)
        try:
            table = parquet.read_table(path)
        except (OSError, TypeError, ValueError) as error:  # pyarrow's errors are ValueErrors
            raise InputError(
                f"{path} is no Parquet file, or broken; expected a run that Run.to_parquet wrote ({error})"
            ) from None
        try:
            return cls._of_table(table, Path(path), packages)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:  # of somebody else's file
            raise InputError(
                f"{path} is not a run of armwright (version {PARQUET_VERSION}): {error}; Run.to_parquet writes such "
                "files"
            ) from None

    @classmethod
    def _of_table(cls, table: Any, path: Path, packages: Mapping[str, str | Path] | None) -> Run:
        meta = json.loads((table.schema.metadata or {}).get(b"armwright", b"{}"))
        if meta.get("armwright") != PARQUET_VERSION:
            raise ValueError(f"its metadata name version {meta.get('armwright')!r}")
        columns = {name: table[name].to_numpy() for name in table.column_names}
        _check_columns(columns)

        def robot(text: str) -> Robot:
            return Robot.from_fields(toml.parse(text, path=path, packages=packages))

        if not meta.get("phases"):
            return cls._of_columns(columns, meta, robot)
        ends = np.cumsum([0, *(int(phase["rows"]) for phase in meta["phases"])])
        if ends[-1] != len(columns["t"]):
            raise ValueError(f"its phases have {ends[-1]} of its {len(columns['t'])} rows")
        parts = [{name: x[a:b] for name, x in columns.items()} for a, b in pairwise(ends)]
        return cls.joined([cls._of_columns(alone(x), own, robot) for x, own in zip(parts, meta["phases"], strict=True)])

    @classmethod
    def _of_columns(
        cls, columns: Mapping[str, Array], meta: Mapping[str, Any], robot_of: Callable[[str], Robot]
    ) -> Run:
        settings = dict(meta["settings"])
        if not all(isinstance(settings.get(name, 0.0), (int, float)) for name in ("rtol", "atol", "step", "max_step")):
            raise ValueError(f"its settings {settings!r} have texts or lists where numbers belong")
        robot = robot_of(meta["robot"])
        n = robot.n
        arrays: dict[str, Any] = {name: _stacked(columns, name, robot.nq if name == "q" else n) for name in BY_JOINT}
        arrays |= {name: columns[name] for name in ALONE}
        for some in OPTIONAL_BY_JOINT:
            arrays[some] = _stacked(columns, some, sum(name.startswith(some) for name in columns))
        reference = None
        if "reference_q1" in columns:
            reference = tuple(_stacked(columns, f"reference_{name}", n) for name in ("q", "qd", "qdd"))
        return cls(
            robot=robot,
            t=columns["t"],
            **arrays,
            statistics=_statistics(meta),
            settings=settings,
            events=tuple(
                Found(str(e["name"]), float(e["t"]), np.array(e["q"], float), np.array(e["qd"], float))
                for e in meta["events"]
            ),
            ended_by=str(meta.get("ended_by", "")),
            reference=reference,  # type: ignore[arg-type]
            exact=bool(meta["exact"]),
            message=str(meta["message"]),
            sent_along=columns.get("neighbour"),
            stops=StopHits.of_lists(meta["stops"], n) if "stops" in meta else None,
            noticed=tuple(Doubt(float(x["t"]), str(x["why"])) for x in meta.get("noticed", ())),
        )

    def to_pandas(self) -> Any:
        """A DataFrame with one row per time (needs pandas)."""
        return _needed("pandas").DataFrame(self.columns())

    def to_xarray(self) -> Any:
        """A Dataset with the dimensions time and joint (needs xarray)."""
        xarray = _needed("xarray")
        by_joint = {name: (("time", "joint"), getattr(self, name)) for name in ("q", "qd", "qdd", "tau", "power")}
        if self.robot.nq != self.robot.n:
            by_joint["q"] = (("time", "entry"), self.q)
        if self.stop_torque.size:
            by_joint["stop_torque"] = (("time", "joint"), self.stop_torque)
        alone = {name: ("time", getattr(self, name)) for name in ALONE}
        names = [joint.name for joint in self.robot.joints]
        return xarray.Dataset({**by_joint, **alone}, coords={"time": self.t, "joint": names}, attrs=dict(self.settings))


@dataclass(frozen=True, eq=False)
class BatchRun:
    """Many motions: `t` (k,), q (rollouts, k, nq), qd (rollouts, k, n), work and losses (rollouts, k).

    Where each rollout has its own start, `t` is (rollouts, k).
    `failed` (rollouts,) is False where all is well; the records of a failed rollout after `reached` are not to be used.
    `finished` (rollouts,) is True of those that came to their end: all that did not fail, unless Ctrl-C stopped them.
    `ended` (rollouts,) is the place in `events`, their names, of the one that ended a rollout at `reached`, -1 if none
    did; later records have the state it was found in.
    `measured` has what was asked for by `measure=` (rollouts, n), nan where a rollout failed.
    Where there are stops, `stops` has what they have done to each joint (rollouts, n), as found at every step.
    """

    robot: Robot
    t: Array
    q: Array
    qd: Array
    work: Array
    losses: Array
    reached: Array
    failed: Array
    finished: Array
    accepted: Array
    rejected: Array
    seconds: float
    steps_per_second: float
    look: Callable[[], Observables] = field(repr=False)
    memory: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    impulse: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    message: str = ""
    ended: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    events: tuple[str, ...] = ()
    measured: Mapping[str, Array] = field(default_factory=dict)
    stops: StopHits | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: with it what there is to see, as nothing can be looked up there."""
        return {**vars(self), "look": None, "_viewed": self._viewed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        wrong = f", {int(self.failed.sum())} failed" if self.failed.any() else ""
        ended = f", {int((self.ended >= 0).sum())} ended by events" if (self.ended >= 0).any() else ""
        return f"<{len(self.q)} runs of {shown(self.robot.name)}, {self.t.min():g} to {self.t.max():g} s{wrong}{ended}>"

    @cached_property
    def _viewed(self) -> Observables:
        return self.look()

    @property
    def tau(self) -> Array:
        return self._viewed.tau

    @property
    def qdd(self) -> Array:
        return self._viewed.qdd

    @property
    def stop_torque(self) -> Array:
        """The torques of stops at the records (rollouts, k, n), or (rollouts, k, 0) where there are none."""
        return self._viewed.stop_torque

    @property
    def kinetic(self) -> Array:
        return self._viewed.kinetic

    @property
    def potential(self) -> Array:
        return self._viewed.potential

    @property
    def energy(self) -> Array:
        return self.kinetic + self.potential

    @cached_property
    def utilisation(self) -> Utilisation:
        """Is each motor strong and fast enough for all rollouts? Peaks, when and in which, beside the limits."""
        return batch_utilisation(self)


def _check_columns(columns: Mapping[str, Array]) -> None:
    """That a table is one of a motion: numbers, at times that increase."""
    for name, values in columns.items():
        if values.dtype != np.float64:
            raise ValueError(f"column {name!r} holds {values.dtype.name} values, not numbers in double precision")
    t = columns["t"]
    if not len(t) or not np.isfinite(t).all() or not (np.diff(t) > 0).all():
        raise ValueError("its times are none, are not finite or do not increase")


def _statistics(meta: Mapping[str, Any]) -> Statistics:
    found = meta["statistics"]
    if any(isinstance(value, bool) or not isinstance(value, Real) for value in found.values()):
        raise ValueError(f"its statistics {found!r} are not numbers")
    return Statistics(**found)


def _parted(name: str, values: Array) -> dict[str, Array]:
    return {f"{name}{i + 1}": column for i, column in enumerate(values.T)}


def _stacked(columns: Mapping[str, Array], name: str, n: int) -> Array:
    listed = [columns[f"{name}{i + 1}"] for i in range(n)]
    return np.stack(listed, axis=-1) if listed else np.zeros((len(columns["t"]), 0))


def _needed(package: str) -> Any:
    import importlib  # noqa: PLC0415

    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(f"this needs {package}: pip install {package}") from None


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise InputError("Parquet files need pyarrow: pip install 'armwright[parquet]'") from None
    return pyarrow, pyarrow.parquet
