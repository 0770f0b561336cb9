"""What is wanted of a rollout: a number, or one for each joint.

Most are measured in the compiled loop (`simulation.measures`), some are found from records, and a Python function may
ask for anything. All of them look at the records, `every` so many seconds; a shorter `every` finds shorter peaks.
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
from armwright.function import compile as compile_
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.simulation import BatchRun
from armwright.simulation.measures import MEASURES as COMPILED
from armwright.simulation.measures import Measure
from armwright.sweep.study import Study


@dataclass(frozen=True, eq=False)
class Seen:
    """Rollouts with what was measured of them, and where records are kept, these: t (rollouts, k)."""

    run: BatchRun
    vary: Mapping[str, Array]
    """What varies of the robot, as `simulate_batch` was given it."""
    windings: tuple[float, ...]
    window: float

    @cached_property
    def t(self) -> Array:
        return np.broadcast_to(self.run.t, self.run.q.shape[:2])

    @property
    def lasting(self) -> Array:
        """Seconds (rollouts, 1)."""
        return (self.run.reached - self.t[:, 0])[:, None]

    def at_records(self, problem: str) -> Array:
        """A matrix of the robot at every record (rollouts, k, rows, columns)."""
        run, names = self.run, tuple(self.vary)
        function = compile_(run.robot, problem, vary=names)
        opened = [self.vary[name][:, None] for name in names]
        found: Array = function(run.q, *opened, raises=False)[0]
        return found


def _continuous(seen: Seen) -> Array:
    """The largest root mean square over any `window` seconds, or over all if they are fewer."""
    squares, t = seen.run.tau**2, seen.t - seen.t[:, :1]
    heat = np.zeros_like(squares)
    for k, gap in enumerate(np.diff(t, axis=1).T):  # in the order of time, however many rollouts there are
        heat[:, k + 1] = heat[:, k] + (squares[:, k] + squares[:, k + 1]) * (gap / 2)[:, None]
    grid = t[0]
    begin = np.maximum(grid - seen.window, 0.0)
    place = np.clip(np.searchsorted(grid, begin, side="right") - 1, 0, len(grid) - 2)
    share = ((begin - grid[place]) / (grid[place + 1] - grid[place]))[:, None]
    before = heat[:, place] + (heat[:, place + 1] - heat[:, place]) * share
    found: Array = np.sqrt((heat - before).max(axis=1) / min(seen.window, float(grid[-1])))
    return found


def _condition(problem: str) -> Callable[[Seen], Array]:
    def worst(seen: Seen) -> Array:
        values = np.linalg.svd(seen.at_records(problem), compute_uv=False)
        found: Array = (values[..., 0] / values[..., -1]).max(axis=1)[:, None]
        return found

    return worst


@dataclass(frozen=True)
class Wanted:
    """What a measure is and in which unit, how it is found, and of which measures of `simulate_batch`."""

    text: str
    of: Callable[[Seen], Array]
    made_of: tuple[str, ...] = ()
    records: bool = False
    """Whether records must be kept for it."""
    follows: bool = False
    alone: bool = False
    """Whether it is one number, and not one for each joint."""


def _compiled(name: str, measure: Measure) -> Wanted:
    return Wanted(measure.text, lambda x: x.run.measured[name], (name,), follows=measure.follows)


MEASURES: dict[str, Wanted] = {
    **{name: _compiled(name, measure) for name, measure in COMPILED.items()},
    "heat": Wanted("what the windings have become warmer by, J: [want] windings, W per (N m)^2 of each joint",
        lambda x: np.array(x.windings) * x.run.measured["rms_torque"] ** 2 * x.lasting, ("rms_torque",)),
    "continuous_torque": Wanted("largest root mean square over any `window` seconds, N m or N", _continuous,
        records=True),
    "mass_condition": Wanted("largest condition number of the mass matrix", _condition("mass_matrix"), records=True,
        alone=True),
    "jacobian_condition": Wanted("largest condition number of the Jacobian, metres beside radians",
        _condition("jacobian"), records=True, alone=True),
    "final_q": Wanted("position at the end, one for each entry of q", lambda x: x.run.q[:, -1]),
    "final_qd": Wanted("velocity at the end", lambda x: x.run.qd[:, -1]),
}  # fmt: skip
"""Every measure by its name; there is one number for each joint, but for those that are `alone`."""

DEFAULT_MEASURES = ("final_q", "final_qd")
"""What is measured if nothing is said."""

WINDOW = 10.0
"""Seconds in which a drive evens out its heat, if nothing else is said."""

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


def functions_of(part: Reader, study: Study) -> tuple[Function, ...]:
    """The functions that a study wants; an error if they may not be imported or cannot be."""
    names = part.texts("functions")
    if names and not study.allow_functions:
        places = {name: source_of(name.partition(":")[0], study.folder) for name in names}
        named = ", ".join(f"{name} ({place or 'an installed module'})" for name, place in places.items())
        part.fail(
            "functions",
            f"the folder of results names Python functions, which would be run: {named}; give the study file itself, "
            "or --allow-functions (open_study(folder, allow_functions=True)) if you trust whoever made the folder",
        )
    found = []
    for name in names:
        try:
            found.append(function_of(name, study.folder))
        except InputError as error:
            part.fail("functions", str(error))
    return tuple(found)


def source_of(module: str, folder: Path) -> Path | None:
    """The file of a module beside the study, if it is there."""
    beside = folder / f"{module}.py"
    return beside if beside.is_file() else None


def function_of(name: str, folder: Path) -> Function:
    """The function of a module beside the study, or of an installed one: "module:function"."""
    module, colon, attribute = name.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise InputError(f"{name!r}: expected a module and a function of it, such as 'mine:worst_gap'")
    try:
        if beside := source_of(module, folder):
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
