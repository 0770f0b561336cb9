"""The result of a simulation of one motion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.former_names import add_former_names
from armwright.lazy import cached_property
from armwright.names import shown
from armwright.presentation import ServedPage, present
from armwright.robot import Robot
from armwright.simulation.audit import Audit, audit_of
from armwright.simulation.deviation import Deviation
from armwright.simulation.doubts import Doubt
from armwright.simulation.joined_runs import joined_audit, joined_fields
from armwright.simulation.run_files import (
    TIME_FIELDS,
    DetectedEvent,
    Statistics,
    optional_package,
    read_parquet,
    run_columns,
    write_parquet,
)
from armwright.simulation.stop_hits import StopHits
from armwright.simulation.utilisation import Utilisation, utilisation


class Repeatable(Protocol):
    """A simulation that can be repeated."""

    def run(self, factor: float) -> Run:
        """Return the run with a tolerance or step smaller by a factor."""

    def neighbour_distance(self, run: Run) -> Array:
        """Return the distance of the neighbour of a run, at its records."""


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated motion: times `t` (k,), positions q (k, nq), qd, qdd and tau (k, n), energies (k,).

    tau, drag          torques of the drives, and of friction laws and stops (k, n)
    stop_torque        the part of `drag` from stops (k, n); `stops` has depth, force and first time of the hits
    work, losses       the work of the drives and the losses of all friction since the start (k,)
    memory             states of the law, such as an integral (k, m)
    reference, exact   the motion q, qd, qdd that the law tracks; True if it should track it without error
    impulse            external forces, except weight, and moments about the centre of mass of a free robot, integrated
                       since the start (k, 6)
    settings           how the run was computed
    events, ended_by   detected events, and the name of the one that ended the run, if any
    phases             the runs that `simulate_phases` joined, each with its robot; `robot` is that of the first
    noticed            doubts that arose during the simulation

    `neighbour_distances` (k,) are those of a run with a slightly different start; if None, `neighbour` computes them.
    `repeatable` repeats the simulation; it is None for runs from files and other processes.
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
    events: tuple[DetectedEvent, ...] = ()
    ended_by: str = ""
    reference: tuple[Array, Array, Array] | None = None
    exact: bool = False
    message: str = ""
    neighbour_distances: Array | None = None
    impulse: Array = field(default_factory=lambda: np.zeros((0, 0)))
    stop_torque: Array = field(default_factory=lambda: np.zeros((0, 0)))
    stops: StopHits | None = None
    noticed: tuple[Doubt, ...] = ()
    repeatable: Repeatable | None = field(default=None, repr=False)
    phases: tuple[Run, ...] = field(default=(), repr=False)

    @classmethod
    def joined(cls, runs: Sequence[Run]) -> Run:
        """Return runs one after the other as one run."""
        return runs[0] if len(runs) == 1 else cls(**joined_fields(runs))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for another process: all results, without the simulation that repeats them."""
        return {**vars(self), "neighbour": self.neighbour, "repeatable": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "empty"
        ended = f", ended by {shown(self.ended_by)!r}" if self.ended_by else ""
        beyond = "".join(f", {doubt}" for doubt in self.utilisation.doubts)
        span += f" in {len(self.phases)} phases" if self.phases else ""
        return f"<run of {shown(self.robot.name)}, {span}{ended}, {len(self.t)} records, {self.statistics}{beyond}>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: peaks against the limits, the robot at the end of the motion, and the torques."""
        return str(present("run_cell", self))

    @property
    def driven(self) -> list[int]:
        """The indices of the joints in a table of torques: all but those of a free base without torques."""
        acting = np.abs(self.tau).max(axis=0, initial=0.0) > 0
        return [i for i, joint in enumerate(self.robot.joints) if joint.kind != "free" or acting[i]]

    def plot(self, what: Sequence[str] | str = ("q", "qd", "tau", "energy"), joints: Any = None) -> Any:
        """Return a figure of matplotlib with a chart for each quantity, of all joints or some.

        Quantities are q, qd, qdd, tau, power, stop_torque (with stops) and energy.
        """
        return present("plot_run", self, what, joints)

    def plot_torque_speed(self, joints: Any = None) -> Any:
        """Return a figure of matplotlib: the torque of every joint over its speed, with its limits."""
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
        """The position of every freedom (k, n): its entry of q, or of the rotation vector of a quaternion."""
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
        """The audit of the run: balances of energy, power and momentum, condition of M, a neighbour, limits."""
        return joined_audit(self.phases) if self.phases else audit_of(self)

    @property
    def holding(self) -> str:
        """A phrase with the masses of the payloads; empty without one."""
        masses = [run.robot.payload.mass if run.robot.payload else 0.0 for run in self.phases or (self,)]
        changes = [f"{mass:g}" for mass, before in zip(masses, [None, *masses], strict=False) if mass != before]
        return f"holding {', then '.join(changes)} kg" if any(masses) else ""

    @cached_property
    def neighbour(self) -> Array | None:
        """The distance (rad or m) of a run with a slightly different start, at every record; None if unknown.

        Compiled runs compute both at once; for others the first access takes as long as the run.
        """
        if self.neighbour_distances is not None or self.repeatable is None:
            return self.neighbour_distances
        return self.repeatable.neighbour_distance(self)

    @cached_property
    def utilisation(self) -> Utilisation:
        """The peak torques and speeds of the joints against their limits."""
        return utilisation(self)

    def verify(self, factor: float = 100.0) -> Deviation:
        """Return the difference to the same run with a tolerance (or step) smaller by `factor`."""
        if self.repeatable is None:
            raise InputError(
                "this run was loaded from a file, came from another process or stopped early: it cannot be repeated; "
                "simulate it again"
            )
        if not isinstance(factor, Real) or not 1 < factor < math.inf:
            raise InputError(f"factor = {factor!r}: expected a number above 1")
        return Deviation.between(self, self.repeatable.run(factor), factor)

    def to_html(self, path: str | Path, title: str | None = None) -> Path:
        """Write a self-contained page with the moving robot, curves, utilisation and audit; return its path."""
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
        rate                pictures per second
        speed               seconds of the motion per second of the film
        azimuth, elevation  direction of the view, degrees: around z, and above the floor
        """
        written: Path = present("film_run", self, path, size, rate, speed, (azimuth, elevation))
        return written

    def view(
        self, *others: Run, host: str = "127.0.0.1", port: int | None = None, browser: bool | None = None
    ) -> ServedPage:
        """Play the run on a page, with others as ghosts (needs viser), as `Robot.view`; return at once."""
        page: ServedPage = present("view", self, *others, host=host, port=port, browser=browser)
        return page

    def columns(self) -> dict[str, Array]:
        """Return all columns (times,) by name: t, q1, ..., qd1, ..., kinetic, ..."""
        return run_columns(self)

    def to_parquet(self, path: str | Path) -> Path:
        """Write the run as a table, with robot and settings in its metadata; return the path."""
        return write_parquet(self, path)

    @classmethod
    def from_parquet(cls, path: str | Path, packages: Mapping[str, str | Path] | None = None) -> Run:
        """Return a run that `to_parquet` wrote; `packages` are the folders of its meshes, as in `armwright.load`."""
        return read_parquet(path, packages, lambda parts: cls.joined([cls(**part) for part in parts]))

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row per time (needs pandas)."""
        return optional_package("pandas").DataFrame(self.columns())

    def to_xarray(self) -> Any:
        """Return a Dataset with the dimensions time and joint (needs xarray)."""
        xarray = optional_package("xarray")
        by_joint = {name: (("time", "joint"), getattr(self, name)) for name in ("q", "qd", "qdd", "tau", "power")}
        if self.robot.nq != self.robot.n:
            by_joint["q"] = (("time", "entry"), self.q)
        if self.stop_torque.size:
            by_joint["stop_torque"] = (("time", "joint"), self.stop_torque)
        by_time = {name: ("time", getattr(self, name)) for name in TIME_FIELDS}
        names = [joint.name for joint in self.robot.joints]
        coordinates = {"time": self.t, "joint": names}
        return xarray.Dataset({**by_joint, **by_time}, coords=coordinates, attrs=dict(self.settings))


add_former_names(Run, again="repeatable")
