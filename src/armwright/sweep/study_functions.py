"""Python functions that a study computes of every rollout: functions of a `History` that give numbers."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.sweep.study import Study
from armwright.sweep.study_measures import HISTORY_NAMES, MeasuredRollouts


@dataclass(frozen=True, eq=False)
class History:
    """The records of one rollout: t (k,), q (k, nq), qd, qdd, tau and power (k, n), energies (k,)."""

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
        """Power of every drive, W, (k, n)."""
        return self.tau * self.qd

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy, J, (k,)."""
        return self.kinetic + self.potential

    @classmethod
    def of(cls, rollouts: MeasuredRollouts, i: int, row: int, parameters: Mapping[str, float]) -> History:
        """Return the records of rollout i, which is a row of the study with these parameters."""
        run = rollouts.run
        parts = {name: getattr(run, name)[i] for name in (*HISTORY_NAMES, "kinetic", "potential")}
        return cls(run.robot, row, parameters, rollouts.t[i], **parts)


@dataclass(frozen=True, eq=False)
class StudyFunction:
    """A Python function of a `History` that returns a number, or numbers by name."""

    name: str
    call: Callable[[History], Any]
    source: str
    """The hash of its source code."""

    def __call__(self, history: History) -> dict[str, float]:
        """Return its numbers by the names of their columns; an InputError if it returns anything else."""
        result = self.call(history)
        short = self.name.partition(":")[2]
        named = {f"{short}.{key}": x for key, x in result.items()} if isinstance(result, Mapping) else {short: result}
        for key, value in named.items():
            if isinstance(value, bool) or not isinstance(value, (Real, np.bool_)):
                raise InputError(f"{key} is {value!r}; expected a number, or numbers by name")
        return {key: float(value) for key, value in named.items()}


def functions_of(part: Reader, study: Study) -> tuple[StudyFunction, ...]:
    """Import the functions of a study; a ModelError if they may not or cannot be imported."""
    names = part.texts("functions")
    if names and not study.allow_functions:
        files = {name: source_of(name.partition(":")[0], study.folder) for name in names}
        named = ", ".join(f"{name} ({file or 'an installed module'})" for name, file in files.items())
        part.fail(
            "functions",
            f"the folder of results names Python functions, which would be run: {named}; give the study file, or "
            "--allow-functions (open_study(folder, allow_functions=True)) if you trust the author of the folder",
        )
    found = []
    for name in names:
        try:
            found.append(function_of(name, study.folder))
        except InputError as error:
            part.fail("functions", str(error))
    return tuple(found)


def source_of(module: str, folder: Path) -> Path | None:
    """Return the file of a module in the folder of the study; None if there is none."""
    path = folder / f"{module}.py"
    return path if path.is_file() else None


def function_of(name: str, folder: Path) -> StudyFunction:
    """Import "module:function" from the folder of the study, or from an installed module."""
    module, colon, attribute = name.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise InputError(f"{name!r}: expected a module and a function of it, such as 'mine:worst_gap'")
    try:
        if path := source_of(module, folder):
            spec = importlib.util.spec_from_file_location(f"armwright_study_{module}", path)
            assert spec is not None and spec.loader is not None
            imported = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(imported)
        else:
            imported = importlib.import_module(module)
    except Exception as error:  # a user's module may raise anything
        raise InputError(f"cannot import {module!r}: {type(error).__name__}: {error}") from None
    function: Any = imported
    for part in attribute.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise InputError(f"{module} has no function {attribute!r}")
    code = inspect.getsource(imported) if getattr(imported, "__file__", None) else name
    return StudyFunction(name, function, hashlib.sha256(code.encode()).hexdigest())
