"""The manifest of a folder of results, and the schema against which it is checked before it is used.

A folder may come from an untrusted source, so a manifest is only used if its parts agree: the digest is that of the
identity, the identity has the study and the robot, and the number of chunks follows from the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from armwright.lazy import cached_property
from armwright.model import toml
from armwright.robot import Robot
from armwright.sweep.design import MAX_ROWS
from armwright.sweep.setup import StudySetup
from armwright.sweep.study import STUDY_KEYS, digest_of
from armwright.sweep.study_measures import DEFAULT_MEASURES

MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 2

MAX_MANIFEST_BYTES = 32 << 20
MAX_MANIFEST_ENTRIES = 1_000_000
"""Numbers, texts and lists, counted by commas and brackets; each number that a study lists stands twice."""

MAX_ROBOT_BYTES = 256 << 10
MAX_NESTING = 32

KEYS_OF_ROBOT = ("name", "robot", "payload", "gravity", "actuators", "target")
"""Keys of a study that are not in its identity, or are there in the robot."""

STUDY_TABLES = ("vary", "design", "want", "payload", "integrator", "trajectory", "torque", "actuators")
STUDY_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(STUDY_TABLES, (dict,)),
    **dict.fromkeys(("name", "target"), (str,)),
    **dict.fromkeys(("duration", "every", "start"), (int, float)),
    **dict.fromkeys(("q0", "qd0", "gravity"), (list, int, float, str)),
    "robot": (str, dict),
    "chunk": (int,),
}
"""The types of the keys of a study."""


@dataclass(frozen=True)
class Manifest:
    """The study, the robot and the size of a folder of results."""

    rows: int
    chunks: int
    names: tuple[str, ...]
    """The names of what varies."""
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
    version: int = MANIFEST_VERSION

    @classmethod
    def of(cls, setup: StudySetup) -> Manifest:
        """Return the manifest of a prepared study."""
        actuators = setup.actuators
        return cls(
            rows=setup.design.rows,
            chunks=setup.chunks,
            names=setup.design.names,
            digest=setup.digest,
            study=setup.study.plain_data,
            robot=setup.robot.to_toml(),
            bare=actuators.bare.to_toml() if actuators and actuators.choices else None,
            actuators=actuators.plain_data if actuators else {},
            text=setup.study.text,
            identity=setup.identity,
            name=setup.study.name,
            file=setup.study.file,
            folder=str(setup.study.folder.absolute()),
        )

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        """Read and check a manifest; a ValueError says what is wrong with it."""
        check_size(data)
        try:
            manifest = cls(**_fields(json.loads(data)))
            manifest._check()
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        return manifest

    def to_bytes(self) -> bytes:
        """Return the text of the file; a ValueError if it is too large to be read again."""
        data = json.dumps({"version": self.version, **asdict(self)}, indent=1).encode()
        check_size(data)
        return data

    @cached_property
    def model(self) -> Robot:
        """The robot with payload, gravity and the first actuator of each joint."""
        return robot_in(self.robot)

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk; the last may have fewer."""
        return int(self.identity["chunk"])

    def rows_of(self, chunk: int) -> tuple[int, int]:
        """Return the first row of a chunk and the number of its rows."""
        first = chunk * self.chunk_rows
        return first, min(self.chunk_rows, self.rows - first)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(self._want.get("measures", DEFAULT_MEASURES))

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the Python functions."""
        return tuple(self._want.get("functions", ()))

    @property
    def histories(self) -> tuple[str, ...]:
        """The names of the records that are kept."""
        return tuple(dict.fromkeys(self._want.get("histories", ())))

    @property
    def histories_every(self) -> int:
        """Histories are kept for rows that are multiples of this number."""
        return int(self._want.get("histories_every", 1))

    @property
    def _want(self) -> Mapping[str, Any]:
        table: Mapping[str, Any] = self.study.get("want", {})
        return table

    def _check(self) -> None:
        """Raise a ValueError unless the parts agree."""
        _check_study(self.study)
        _check_texts({"study": self.study, "actuators": self.actuators, "names": self.names, "file": self.file})
        if max(len(self.robot), len(self.bare or "")) > MAX_ROBOT_BYTES:
            raise ValueError(f"its robot has more than {MAX_ROBOT_BYTES >> 10} kB")
        if "\0" in self.folder:
            raise ValueError("its folder has a NUL in its name")
        if not self.names or len(set(self.names)) < len(self.names):
            raise ValueError("names: expected the names of what varies, each once")
        chunk = _need(self.identity, "chunk", int, "identity ")
        _need(self.identity, "armwright", str, "identity ")
        if not 1 <= self.rows <= MAX_ROWS or chunk < 1 or self.chunks != -(-self.rows // chunk):
            raise ValueError(
                f"it has {self.rows} rows in {self.chunks} chunks of {chunk}; expected 1 to {MAX_ROWS} rows, and as "
                "many chunks as they need"
            )
        common = {key: value for key, value in self.study.items() if key not in KEYS_OF_ROBOT}
        if {key: self.identity.get(key) for key in common} != common:
            raise ValueError("its study and its identity differ")
        if self.identity.get("robot") != self.robot:
            raise ValueError("its robot and that of its identity differ")
        if digest_of(self.identity) != self.digest:
            raise ValueError("its digest is not that of its identity")


def robot_in(text: str) -> Robot:
    """Return the robot in a text of a manifest."""
    return Robot.from_fields(toml.parse(text, f"{MANIFEST_NAME}, robot", visuals=False))


def check_size(data: bytes) -> None:
    """Raise a ValueError if a manifest would take more than a second to read."""
    if len(data) > MAX_MANIFEST_BYTES:
        raise ValueError(f"it has {len(data) >> 20} MB; expected at most {MAX_MANIFEST_BYTES >> 20}")
    entries = data.count(b",") + data.count(b"[") + data.count(b"{")
    if entries > MAX_MANIFEST_ENTRIES:
        raise ValueError(f"it has {entries} entries; expected at most {MAX_MANIFEST_ENTRIES}: list fewer numbers")


def _fields(data: Any) -> dict[str, Any]:
    """Return the fields of a manifest after a check of their types."""
    version = _need(data, "version", int)
    if version != MANIFEST_VERSION:
        raise ValueError(f"it is of version {version}, expected {MANIFEST_VERSION}")
    texts = {key: _need(data, key, str) for key in ("name", "file", "folder", "digest", "robot", "text")}
    tables = {key: _need(data, key, dict) for key in ("study", "actuators", "identity")}
    numbers = {key: _need(data, key, int) for key in ("rows", "chunks")}
    names = _need(data, "names", list)
    if not all(isinstance(name, str) for name in names):
        raise ValueError("names: expected a list of texts")
    bare = None if isinstance(data, dict) and data.get("bare", "") is None else _need(data, "bare", str)
    return {**texts, **tables, **numbers, "names": tuple(names), "bare": bare}


def _need(data: Any, key: str, kind: type, where: str = "") -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"it is a {type(data).__name__}; expected a table")
    if key not in data:
        raise ValueError(f"{where}{key} is missing")
    if type(data[key]) is not kind:
        raise ValueError(f"{where}{key} is a {type(data[key]).__name__}; expected {kind.__name__}")
    return data[key]


def _check_study(study: Mapping[str, Any]) -> None:
    for key, value in study.items():
        if key not in STUDY_KEYS:
            raise ValueError(f"its study has an unknown key {key!r}")
        if not isinstance(value, STUDY_TYPES[key]) or isinstance(value, bool):
            expected = " or ".join(kind.__name__ for kind in STUDY_TYPES[key])
            raise ValueError(f"study {key} is a {type(value).__name__}; expected {expected}")
    _need(study, "vary", dict, "study ")
    want = study.get("want", {})
    if type(every := want.get("histories_every", 1)) is not int or every < 1:
        raise ValueError(f"study want histories_every is {every!r}; expected a whole number, at least 1")
    for key in ("measures", "functions", "histories"):
        names = want.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"study want {key}: expected a list of texts")


def _check_texts(data: Any) -> None:
    """Raise a ValueError for texts that are not valid Unicode, and for lists and tables nested too deeply."""
    stack: list[tuple[Any, int]] = [(data, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > MAX_NESTING:
            raise ValueError("it is nested too deeply")
        if isinstance(value, str):
            value.encode()
        elif isinstance(value, dict):
            stack += ((entry, depth + 1) for pair in value.items() for entry in pair)
        elif isinstance(value, (list, tuple)):
            stack += ((entry, depth + 1) for entry in value)
