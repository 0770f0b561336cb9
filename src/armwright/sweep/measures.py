"""What is wanted of a rollout: a number, or one for each joint, of what is seen of it at its records.

Integrals go from record to record by the trapezoidal rule; a shorter `every` finds shorter peaks.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.robot import Robot
from armwright.simulation import BatchRun


@dataclass(frozen=True, eq=False)
class Seen:
    """Rollouts at their records: t (rollouts, k), and what they were to follow, or None."""

    run: BatchRun
    start: Array
    """Positions at the start (rollouts, nq)."""
    reference: Array | None
    within: float

    @cached_property
    def t(self) -> Array:
        return np.broadcast_to(self.run.t, self.run.q.shape[:2])

    @property
    def tau(self) -> Array:
        return self.run.tau

    @cached_property
    def power(self) -> Array:
        return self.run.tau * self.run.qd

    @cached_property
    def error(self) -> Array:
        """How far positions are from where they should be."""
        assert self.reference is not None
        return self.run.q - self.reference

    def integral(self, values: Array) -> Array:
        """Of values (rollouts, k, n) over time, added up in the order of time however many rollouts there are."""
        total = np.zeros_like(values[:, 0])
        for k, gap in enumerate(np.diff(self.t, axis=1).T):
            total += (values[:, k] + values[:, k + 1]) * (gap / 2)[:, None]
        return total

    def rms(self, values: Array) -> Array:
        found: Array = np.sqrt(self.integral(values**2) / (self.t[:, -1] - self.t[:, 0])[:, None])
        return found


def _peak(values: Array) -> Array:
    found: Array = np.max(np.abs(values), axis=1)
    return found


def _settling(seen: Seen) -> Array:
    """Seconds after which a joint stays within reach of where it is to be at last; nan if it never does."""
    assert seen.reference is not None
    away = np.abs(seen.run.q - seen.reference[:, -1:]) > seen.within
    count = away.shape[1]
    last = np.where(away.any(axis=1), count - 1 - np.argmax(away[:, ::-1], axis=1), -1)
    times = np.take_along_axis(seen.t - seen.t[:, :1], np.minimum(last + 1, count - 1), axis=1)
    return np.where(last == count - 1, np.nan, times)


def _overshoot(seen: Seen) -> Array:
    """How far a joint goes beyond where it is to be at last, seen from where it was."""
    assert seen.reference is not None
    goal = seen.reference[:, -1:]
    beyond = (seen.run.q - goal) * np.sign(goal - seen.start[:, None])
    found: Array = np.maximum(beyond.max(axis=1), 0.0)
    return found


@dataclass(frozen=True)
class Measure:
    """A name, what it is of and in which unit, how it is found; whether it needs records, or a target."""

    text: str
    of: Callable[[Seen], Array]
    along: bool = True
    follows: bool = False
    positions: bool = False
    """Whether there is one for each entry of q, which are more than joints where it has quaternions."""


MEASURES: dict[str, Measure] = {
    "peak_torque": Measure("largest torque of the drive, N m or N", lambda x: _peak(x.tau)),
    "rms_torque": Measure("root mean square of the torque, N m or N", lambda x: x.rms(x.tau)),
    "peak_speed": Measure("largest speed, rad/s or m/s", lambda x: _peak(x.run.qd)),
    "rms_speed": Measure("root mean square of the speed", lambda x: x.rms(x.run.qd)),
    "peak_power": Measure("largest power of the drive, W", lambda x: _peak(x.power)),
    "rms_power": Measure("root mean square of the power, W", lambda x: x.rms(x.power)),
    "work": Measure("what the drive has put in less what came back, J", lambda x: x.integral(x.power)),
    "energy": Measure("what the drive has put in, J", lambda x: x.integral(np.maximum(x.power, 0.0))),
    "tracking_error": Measure("largest distance from motion or target", lambda x: _peak(x.error), follows=True),
    "rms_tracking_error": Measure("its root mean square", lambda x: x.rms(x.error), follows=True),
    "final_error": Measure("distance at the end", lambda x: np.abs(x.error[:, -1]), follows=True),
    "settling_time": Measure("seconds until a joint stays `within` its target, nan if never", _settling, follows=True),
    "overshoot": Measure("how far a joint goes beyond its target, rad or m", _overshoot, follows=True),
    "final_q": Measure("position at the end", lambda x: x.run.q[:, -1], along=False, positions=True),
    "final_qd": Measure("velocity at the end", lambda x: x.run.qd[:, -1], along=False),
}  # fmt: skip
"""Every measure by its name; there is one for each joint."""

HISTORIES = ("q", "qd", "qdd", "tau")


@dataclass(frozen=True, eq=False)
class History:
    """One rollout as a function of a study sees it: t (k,), q (k, nq), qd, qdd, tau, power (k, n), energies (k,)."""

    robot: Robot
    row: int
    parameters: Mapping[str, float]
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    kinetic: Array
    potential: Array

    @property
    def power(self) -> Array:
        return self.tau * self.qd

    @property
    def energy(self) -> Array:
        return self.kinetic + self.potential

    @classmethod
    def of(cls, seen: Seen, i: int, row: int, parameters: Mapping[str, float]) -> History:
        run = seen.run
        parts = {name: getattr(run, name)[i] for name in (*HISTORIES, "kinetic", "potential")}
        return cls(run.robot, row, parameters, seen.t[i], **parts)


@dataclass(frozen=True, eq=False)
class Function:
    """A Python function of a `History` that gives a number, or numbers by name."""

    name: str
    call: Callable[[History], Any]
    source: str
    """What tells its code from another."""

    def __call__(self, history: History) -> dict[str, float]:
        """Its numbers by the names of their columns; an InputError says what it gave instead."""
        given = self.call(history)
        short = self.name.partition(":")[2]
        named = {f"{short}.{key}": x for key, x in given.items()} if isinstance(given, Mapping) else {short: given}
        for key, value in named.items():
            if isinstance(value, bool) or not isinstance(value, (Real, np.bool_)):
                raise InputError(f"{key} is {value!r}; expected a number, or numbers by name")
        return {key: float(value) for key, value in named.items()}


def function_of(name: str, folder: Path) -> Function:
    """The function of a module beside the study, or of an installed one: "module:function"."""
    module, colon, attribute = name.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise InputError(f"{name!r}: expected a module and a function of it, such as 'mine:worst_gap'")
    beside = folder / f"{module}.py"
    try:
        if beside.is_file():
            spec = importlib.util.spec_from_file_location(f"armwright_study_{module}", beside)
            assert spec is not None and spec.loader is not None
            found = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
        else:
            found = importlib.import_module(module)
    except Exception as error:  # whatever a stranger's module does
        raise InputError(f"cannot import {module!r}: {type(error).__name__}: {error}") from None
    call: Any = found
    for part in attribute.split("."):
        call = getattr(call, part, None)
    if not callable(call):
        raise InputError(f"{module} has no function {attribute!r}")
    code = inspect.getsource(found) if getattr(found, "__file__", None) else name
    return Function(name, call, hashlib.sha256(code.encode()).hexdigest())
