"""The manifest of a folder of results: what it is of, and the one schema that it is checked against before it is used.

A folder may come from anybody. Nothing of it is believed but what fits together: the digest is that of the identity,
the identity has the study and the robot, the chunks are as many as the rows need.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from armwright.model import toml
from armwright.robot import Robot
from armwright.sweep.design import MOST_ROWS
from armwright.sweep.measures import DEFAULT_MEASURES
from armwright.sweep.ready import Ready
from armwright.sweep.study import KEYS, digest_of

NAME = "manifest.json"
VERSION = 2

MOST_BYTES = 32 << 20
MOST_ENTRIES = 1_000_000
"""Numbers, texts and lists of a manifest, counted by commas and brackets; each number that a study lists is two."""

MOST_ROBOT_BYTES = 256 << 10
DEEPEST = 32

APART = ("name", "robot", "payload", "gravity", "actuators", "target")
"""What a study says and its identity says otherwise, or not: the robot has it."""

TABLES = ("vary", "design", "want", "payload", "integrator", "trajectory", "torque", "actuators")
KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(TABLES, (dict,)),
    **dict.fromkeys(("name", "target"), (str,)),
    **dict.fromkeys(("duration", "every", "start"), (int, float)),
    **dict.fromkeys(("q0", "qd0", "gravity"), (list, int, float, str)),
    "robot": (str, dict),
    "chunk": (int,),
}
"""The types of what a study says."""


@dataclass(frozen=True)
class Manifest:
    """What a folder of results is of."""

    rows: int
    chunks: int
    names: tuple[str, ...]
    """Of what varies."""
    digest: str
    study: Mapping[str, Any] = field(repr=False)
    robot: str = field(repr=False)
    bare: str | None = field(repr=False)
    actuators: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)
    identity: Mapping[str, Any] = field(repr=False)
    name: str = ""
    file: str = "study"
    folder: str = ""
    version: int = VERSION

    @classmethod
    def of(cls, found: Ready) -> Manifest:
        """The manifest of a study that is ready."""
        drives = found.drives
        return cls(
            rows=found.design.rows,
            chunks=found.chunks,
            names=found.design.names,
            digest=found.digest,
            study=found.study.said,
            robot=found.robot.to_toml(),
            bare=drives.bare.to_toml() if drives and drives.choices else None,
            actuators=drives.said if drives else {},
            text=found.study.text,
            identity=found.identity,
            name=found.study.name,
            file=found.study.file,
            folder=str(found.study.folder.absolute()),
        )

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        """The manifest in a file; a ValueError says what is wrong with it."""
        check_size(data)
        try:
            given = json.loads(data)
            made = cls(**_fields(given))
            made._check()
        except RecursionError:
            raise ValueError("it is nested too deep") from None
        return made

    def written(self) -> bytes:
        """Its file; a ValueError says that nobody could read it."""
        data = json.dumps({"version": self.version, **asdict(self)}, indent=1).encode()
        check_size(data)
        return data

    @cached_property
    def model(self) -> Robot:
        """The robot, with its payload and gravity, and its actuators, the first where there are several."""
        return robot_in(self.robot)

    @property
    def chunk(self) -> int:
        """Rows of a chunk; the last may have fewer."""
        return int(self.identity["chunk"])

    def rows_of(self, chunk: int) -> tuple[int, int]:
        """The first row of a chunk, and how many there are."""
        first = chunk * self.chunk
        return first, min(self.chunk, self.rows - first)

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self._wanted.get("measures", DEFAULT_MEASURES))

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(self._wanted.get("functions", ()))

    @property
    def histories(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._wanted.get("histories", ())))

    @property
    def every(self) -> int:
        """Of every so many rollouts the histories are kept."""
        return int(self._wanted.get("histories_every", 1))

    @property
    def _wanted(self) -> Mapping[str, Any]:
        table: Mapping[str, Any] = self.study.get("want", {})
        return table

    def _check(self) -> None:
        """Raise a ValueError unless its parts fit together."""
        _check_study(self.study)
        _check_texts({"study": self.study, "actuators": self.actuators, "names": self.names, "file": self.file})
        if max(len(self.robot), len(self.bare or "")) > MOST_ROBOT_BYTES:
            raise ValueError(f"its robot has more than {MOST_ROBOT_BYTES >> 10} kB")
        if "\0" in self.folder:
            raise ValueError("its folder has a NUL in its name")
        if not self.names or len(set(self.names)) < len(self.names):
            raise ValueError("names: expected what varies, each once")
        chunk = _need(self.identity, "chunk", int, "identity ")
        _need(self.identity, "armwright", str, "identity ")
        if not 1 <= self.rows <= MOST_ROWS or chunk < 1 or self.chunks != -(-self.rows // chunk):
            raise ValueError(
                f"it has {self.rows} rows in {self.chunks} chunks of {chunk}; expected 1 to {MOST_ROWS} rows, and as "
                "many chunks as they need"
            )
        said = {key: value for key, value in self.study.items() if key not in APART}
        if {key: self.identity.get(key) for key in said} != said:
            raise ValueError("its study and its identity differ")
        if self.identity.get("robot") != self.robot:
            raise ValueError("its robot and that of its identity differ")
        if digest_of(self.identity) != self.digest:
            raise ValueError("its digest is not that of its identity")


def robot_in(text: str) -> Robot:
    """The robot of a text in a manifest."""
    return Robot.from_fields(toml.parse(text, f"{NAME}, robot", visuals=False))


def check_size(data: bytes) -> None:
    """Raise a ValueError if a manifest is too large to be read in a second."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has {len(data) >> 20} MB; expected at most {MOST_BYTES >> 20}")
    entries = data.count(b",") + data.count(b"[") + data.count(b"{")
    if entries > MOST_ENTRIES:
        raise ValueError(f"it has {entries} entries; expected at most {MOST_ENTRIES}: a study lists fewer numbers")


def _fields(given: Any) -> dict[str, Any]:
    """The arguments of a manifest, each of its type."""
    version = _need(given, "version", int)
    if version != VERSION:
        raise ValueError(f"it is of version {version}, expected {VERSION}")
    texts = {key: _need(given, key, str) for key in ("name", "file", "folder", "digest", "robot", "text")}
    tables = {key: _need(given, key, dict) for key in ("study", "actuators", "identity")}
    numbers = {key: _need(given, key, int) for key in ("rows", "chunks")}
    names = _need(given, "names", list)
    if not all(isinstance(name, str) for name in names):
        raise ValueError("names: expected a list of texts")
    bare = None if isinstance(given, dict) and given.get("bare", "") is None else _need(given, "bare", str)
    return {**texts, **tables, **numbers, "names": tuple(names), "bare": bare}


def _need(given: Any, key: str, kind: type, where: str = "") -> Any:
    if not isinstance(given, dict):
        raise ValueError(f"it is a {type(given).__name__}; expected a table")
    if key not in given:
        raise ValueError(f"{where}{key} is missing")
    if type(given[key]) is not kind:
        raise ValueError(f"{where}{key} is a {type(given[key]).__name__}; expected {kind.__name__}")
    return given[key]


def _check_study(study: Mapping[str, Any]) -> None:
    for key, value in study.items():
        if key not in KEYS:
            raise ValueError(f"its study has an unknown key {key!r}")
        if not isinstance(value, KINDS[key]) or isinstance(value, bool):
            expected = " or ".join(kind.__name__ for kind in KINDS[key])
            raise ValueError(f"study {key} is a {type(value).__name__}; expected {expected}")
    _need(study, "vary", dict, "study ")
    wanted = study.get("want", {})
    if type(every := wanted.get("histories_every", 1)) is not int or every < 1:
        raise ValueError(f"study want histories_every is {every!r}; expected a whole number, at least 1")
    for key in ("measures", "functions", "histories"):
        names = wanted.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"study want {key}: expected a list of texts")


def _check_texts(data: Any) -> None:
    """Raise a ValueError where texts have half a character, or lists and tables lie in too many others."""
    left: list[tuple[Any, int]] = [(data, 0)]
    check: Callable[[str], object] = str.encode
    while left:
        value, depth = left.pop()
        if depth > DEEPEST:
            raise ValueError("it is nested too deep")
        if isinstance(value, str):
            check(value)
        elif isinstance(value, dict):
            left += ((entry, depth + 1) for pair in value.items() for entry in pair)
        elif isinstance(value, (list, tuple)):
            left += ((entry, depth + 1) for entry in value)
