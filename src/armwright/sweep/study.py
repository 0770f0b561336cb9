"""Read a study: one motion, what varies in it, and what is measured. A TOML file or the same as a Python object.

A study has the keys of a scenario (armwright/scenario: robot, duration, every, q0, qd0, gravity, payload, [integrator],
[trajectory], [torque]), and

name = "what the hand may hold"
start = 0.0                            # the time at which all rollouts begin
chunk = 4096                           # rollouts in one file of results; by default some 32 MB
target = "cuda"                        # compute on a GPU; "cpu" by default

[actuators]                            # their masses count, and the report draws their curves
catalogue = "typical"
joint2 = {motor = "typical servo 400 W", gearbox = "typical strain wave 107 N m 1:80"}

[vary]                                 # the numbers that differ between rollouts
"payload.mass" = {uniform = [0, 3]}    # parameters of the robot, as vary= of simulate_batch has them
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
functions = ["mine:worst_gap"]         # from a Python module in the folder of the study, or an installed one
within = 0.01                          # rad or m from the target at which a joint has settled
histories = ["q", "tau"]               # complete records of these,
histories_every = 100                  # for every hundredth rollout
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armwright.errors import ModelError
from armwright.files import contents, missing
from armwright.former_names import add_former_names
from armwright.lazy import cached_property
from armwright.model.table_reader import Reader
from armwright.model.toml_lines import MAX_TOML_BYTES, line_numbers, parse_toml
from armwright.robot import Robot

if TYPE_CHECKING:
    from armwright.sweep.results import Results

STUDY_SCENARIO_KEYS = ("duration", "every", "q0", "qd0", "gravity", "payload", "integrator", "trajectory", "torque")
"""The keys that a study shares with a scenario, besides the robot."""

STUDY_KEYS = ("name", "robot", *STUDY_SCENARIO_KEYS, "start", "chunk", "target", "actuators", "vary", "design", "want")
"""All keys of a study file."""


@dataclass(frozen=True, eq=False)
class Study:
    """A motion, what varies in it, and what is measured of each rollout; the arguments are the keys of a study file.

    `file` is its name in messages and `text` its source text. Names of other files are relative to `folder`.
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
    """True if its Python functions may be imported; False for a study from a folder of results."""

    runner: ClassVar[Callable[..., Results]]
    """Computes a study into a folder and opens the results; the package sets it when it is imported."""

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Read a study from a TOML file; a ModelError names the line that is wrong."""
        if wrong := missing(path, "a study, a .toml file, or a folder of its results (docs/studies.md)"):
            raise ModelError(wrong)
        try:
            text = contents(path, MAX_TOML_BYTES).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot read the study {path}: {getattr(error, 'strerror', None) or error}") from None
        return cls.parse(text, str(path), Path(path).absolute().parent)

    @classmethod
    def parse(cls, text: str, file: str = "study", folder: Path = Path()) -> Study:
        """Read a study from a text. `file` is its name in messages; names of files are relative to `folder`."""
        data = parse_toml(text, file)
        top = Reader(data, _key_locations(text, file, ""))
        top.check_keys(STUDY_KEYS)
        for key in ("robot", "vary"):
            top.need(key)
        if not data["robot"]:
            top.fail("robot", f"robot = {data['robot']!r} is empty; expected the name of a packaged robot, or a file")
        return cls(**data, file=file, folder=folder, text=text)

    def run(self, folder: str | Path, **options: Any) -> Results:
        """Compute the missing chunks into a folder, as `armwright sweep` does, and return the results.

        Options are threads=, workers=, cluster= and part= of `armwright.sweep.study_engine.compute_study`.
        """
        return type(self).runner(self, folder, **options)

    def reader(self, part: str = "") -> Reader:
        """Return a reader of one table, or of the top level, whose errors name file, line and key."""
        where = _key_locations(self.text, self.file, part)
        value = getattr(self, part) if part else {key: getattr(self, key) for key in STUDY_KEYS}
        if not isinstance(value, Mapping):
            raise ModelError(f"{where(None)}: {part} = {value!r} is not a table; write [{part}] and its keys below")
        return Reader(value, where)

    @cached_property
    def plain_data(self) -> dict[str, Any]:
        """All keys that have values, as plain numbers, lists and texts; a Robot object is replaced by its name."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name in STUDY_KEYS}
        values["robot"] = self.robot.name if isinstance(self.robot, Robot) else self.robot
        return {key: self._plain(key, value) for key, value in values.items() if value not in (None, "", {})}

    @property
    def digest(self) -> str:
        """A hash of everything in the study; equal studies have equal digests."""
        robot = self.robot.to_toml() if isinstance(self.robot, Robot) else ""
        return digest_of([self.plain_data, robot, str(self.folder), self.allow_functions])

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


add_former_names(Study, said="plain_data")


def digest_of(data: Any) -> str:
    """Return the SHA-256 of plain data as JSON, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _key_locations(text: str, file: str, table: str) -> Any:
    """Return a function that names the location of a key in a table: file, line if known, table and key."""
    lines = line_numbers(text) if text else {}
    named = f"[{table}]" if table else ""

    def where(key: str | None) -> str:
        line = next((lines[table, 0, name] for name in (key, None) if (table, 0, name) in lines), None)
        parts = [file, *([f"line {line}"] if line else []), " ".join(filter(None, (named, key)))]
        return ", ".join(filter(None, parts))

    return where
