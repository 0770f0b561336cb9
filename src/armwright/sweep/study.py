"""A study as a TOML file, or the same as a Python object: a motion, what varies in it, and what is wanted of each.

It has the keys of a scenario (armwright/scenario.py: robot, duration, every, q0, qd0, gravity, payload, [integrator],
[trajectory], [torque]), and

name = "what the hand may hold"
start = 0.0                            # when all begin
chunk = 4096                           # rollouts of a file of results; by default as many as take some 32 MB
target = "cuda"                        # what computes them: a card; "cpu" if nothing is said

[actuators]                            # what they weigh counts, and the report draws their curves
catalogue = "typical"
joint2 = {motor = "typical servo 400 W", gearbox = "typical strain wave 107 N m 1:80"}

[vary]                                 # whatever differs from rollout to rollout
"payload.mass" = {uniform = [0, 3]}    # parameters of the robot, as vary= of simulate_batch knows them
"payload.com.z" = {normal = [0.1, 0.01]}
"torque.kp" = [50, 100, 200]           # numbers of the law, for all joints or ("torque.kp.2") for one
"q0.1" = {from = -1, to = 1, count = 5}        # q0, qd0, gravity.x .y .z, start, duration

[design]
method = "sobol"                       # grid list random latin_hypercube sobol sobol_indices
count = 10000                          # rollouts, where numbers are drawn
seed = 1
correlations = [["payload.mass", "payload.com.z", 0.5]]

[want]
measures = ["peak_torque", "final_q"]  # docs/studies.md lists them
functions = ["mine:worst_gap"]         # of a Python module, beside the study or installed
within = 0.01                          # rad or m from the target where a joint has settled
histories = ["q", "tau"]               # kept whole,
histories_every = 100                  # of every so many rollouts
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armwright.errors import ModelError
from armwright.files import contents, missing
from armwright.model.table_reader import Reader
from armwright.model.toml_lines import MAX_TOML_BYTES, line_numbers, parse_toml
from armwright.robot import Robot

SCENE = ("duration", "every", "q0", "qd0", "gravity", "payload", "integrator", "trajectory", "torque")
"""What a scenario says too, besides the robot."""

KEYS = ("name", "robot", *SCENE, "start", "chunk", "target", "actuators", "vary", "design", "want")


@dataclass(frozen=True, eq=False)
class Study:
    """A motion, what varies in it, and what is wanted of each rollout; the arguments are the keys of a study file.

    `file` is what messages call it, `text` what it was read from, and names of other files are relative to `folder`.
    """

    robot: str | Robot | Mapping[str, Any]
    vary: Mapping[str, Any]
    design: Mapping[str, Any] = field(default_factory=dict)
    want: Mapping[str, Any] = field(default_factory=dict)
    duration: float | None = None
    every: float | None = None
    q0: Any = None
    qd0: Any = None
    start: float = 0.0
    gravity: Any = None
    payload: Mapping[str, Any] | None = None
    integrator: Mapping[str, Any] | None = None
    trajectory: Mapping[str, Any] | None = None
    torque: Mapping[str, Any] | None = None
    actuators: Mapping[str, Any] | None = None
    name: str = ""
    chunk: int | None = None
    target: str | None = None
    file: str = "study"
    folder: Path = Path()
    text: str = field(default="", repr=False)
    allow_functions: bool = True
    """Whether the Python functions that it names may be imported: not if it comes from a folder of results."""

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """The study of a TOML file."""
        if wrong := missing(path, "a study, a .toml file, or a folder of its results (docs/studies.md)"):
            raise ModelError(wrong)
        try:
            text = contents(path, MAX_TOML_BYTES).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot read the study {path}: {getattr(error, 'strerror', None) or error}") from None
        return cls.parse(text, str(path), Path(path).absolute().parent)

    @classmethod
    def parse(cls, text: str, file: str = "study", folder: Path = Path()) -> Study:
        """The study of a text; `file` is what messages call it, and names of files are relative to `folder`."""
        data = parse_toml(text, file)
        top = Reader(data, _places(text, file, ""))
        top.check_keys(KEYS)
        for key in ("robot", "vary"):
            top.need(key)
        if not data["robot"]:
            top.fail("robot", f"robot = {data['robot']!r} names none; expected a packaged robot, or a file")
        return cls(**data, file=file, folder=folder, text=text)

    def run(self, folder: str | Path, **how: Any) -> Any:
        """Compute what is missing of it into a folder, as `armwright sweep` does, and return its results.

        `threads=`, `workers=`, `cluster=` and `part=` are those of `armwright.sweep.engine.sweep`.
        """
        from armwright.sweep.engine import sweep  # noqa: PLC0415  (which needs studies itself)
        from armwright.sweep.results import open_study  # noqa: PLC0415

        sweep(self, folder, **how)
        return open_study(folder)

    def reader(self, part: str = "") -> Reader:
        """One of its tables, or its top, being read, with errors that name the place."""
        where = _places(self.text, self.file, part)
        value = getattr(self, part) if part else {key: getattr(self, key) for key in KEYS}
        if not isinstance(value, Mapping):
            raise ModelError(f"{where(None)}: {part} = {value!r} is not a table; write [{part}] and its keys below")
        return Reader(value, where)

    @cached_property
    def said(self) -> dict[str, Any]:
        """All that it says, in plain numbers, lists and texts; of a robot that is an object, its name."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name in KEYS}
        given["robot"] = self.robot.name if isinstance(self.robot, Robot) else self.robot
        return {key: self._plain(key, value) for key, value in given.items() if value not in (None, "", {})}

    @property
    def digest(self) -> str:
        """What tells it from others."""
        robot = self.robot.to_toml() if isinstance(self.robot, Robot) else ""
        return digest_of([self.said, robot, str(self.folder), self.allow_functions])

    def _plain(self, key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(name): self._plain(f"{key}.{name}", entry) for name, entry in value.items()}
        if isinstance(value, (np.ndarray, np.generic)):
            return self._plain(key, value.tolist())
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self._plain(key, entry) for entry in value]
        if isinstance(value, (bool, int, float, str)):
            return value
        raise ModelError(f"{self.file}, {key} = {value!r}: expected numbers, texts, lists and tables of them")


def digest_of(data: Any) -> str:
    """A short name for plain data, another one for other data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _places(text: str, file: str, table: str) -> Any:
    """What names the place of a key in a table of the file, with its line where there is one."""
    lines = line_numbers(text) if text else {}
    named = f"[{table}]" if table else ""

    def where(key: str | None) -> str:
        shown = [key, None]
        line = next((lines[table, 0, name] for name in shown if (table, 0, name) in lines), None)
        parts = [file, *([f"line {line}"] if line else []), " ".join(filter(None, (named, key)))]
        return ", ".join(filter(None, parts))

    return where
