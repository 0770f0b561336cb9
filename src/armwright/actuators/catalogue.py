"""A catalogue of actuators: TOML with [[motor]], [[gearbox]], [[brake]] and [[cylinder]] tables (docs/sizing.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from armwright.actuators.actuator import PART_TYPES, Actuator, ActuatorPart, Brake, Cylinder, Gearbox, Motor, check
from armwright.errors import InputError, ModelError, unknown
from armwright.files import contents, write
from armwright.model.table_reader import Reader
from armwright.model.toml_lines import MAX_TOML_BYTES, line_numbers, parse_toml

__all__ = ["Catalogue", "packaged", "parse", "read"]

CATALOGUE_KEYS = ("name", "source", "licence", *PART_TYPES)

AnyPart = TypeVar("AnyPart", bound=ActuatorPart)


@dataclass(frozen=True)
class Catalogue:
    """A catalogue of parts."""

    name: str
    motors: tuple[Motor, ...] = ()
    gearboxes: tuple[Gearbox, ...] = ()
    brakes: tuple[Brake, ...] = ()
    cylinders: tuple[Cylinder, ...] = ()
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        for kind, parts in self.parts.items():
            if not isinstance(parts, tuple) or not all(isinstance(part, PART_TYPES[kind]) for part in parts):
                raise InputError(
                    f"catalogue {self.name!r} got {parts!r}; expected a tuple of {PART_TYPES[kind].__name__}s"
                )
            twice = [name for name, count in Counter(part.name for part in parts).items() if count > 1]
            if twice:
                raise InputError(f"catalogue {self.name!r} has the {kind} {twice[0]!r} twice; give each its own name")

    def __repr__(self) -> str:
        return f"<Catalogue {self.name}: {len(self.motors)} motors, {len(self.gearboxes)} gearboxes>"

    @property
    def parts(self) -> dict[str, tuple[ActuatorPart, ...]]:
        """The parts by the names of their tables."""
        return {"motor": self.motors, "gearbox": self.gearboxes, "brake": self.brakes, "cylinder": self.cylinders}

    def __add__(self, other: Catalogue) -> Catalogue:
        """Return the parts of both catalogues as one."""
        if not isinstance(other, Catalogue):
            return NotImplemented
        both = {f: getattr(self, f) + getattr(other, f) for f in ("motors", "gearboxes", "brakes", "cylinders")}
        source = "\n".join(filter(None, (self.source, other.source)))
        licence = "\n".join(filter(None, (self.licence, other.licence)))
        return replace(self, name=f"{self.name} + {other.name}", source=source, licence=licence, **both)

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the catalogue as TOML text without unknown values, also written to `path` if given."""
        texts = {"name": self.name, "source": self.source, "licence": self.licence}
        tables = ["".join(f"{key} = {_value(text)}\n" for key, text in texts.items() if text)]
        for table, parts in self.parts.items():
            for part in parts:
                lines = (f"{key} = {_value(x)}" for key, x in table_of(part).items())
                tables.append("\n".join([f"[[{table}]]", *lines]) + "\n")
        text = "\n".join(tables)
        if path is not None:
            write(path, text)
        return text

    def actuator(self, motor: str, gearbox: str, brake: str | None = None) -> Actuator:
        """Return the actuator of parts with these names."""
        parts = named("motor", motor, self.motors), named("gearbox", gearbox, self.gearboxes)
        return Actuator(*parts, None if brake is None else self.brake(brake))

    def brake(self, name: str) -> Brake:
        return named("brake", name, self.brakes)


def table_of(part: ActuatorPart) -> dict[str, Any]:
    """Return the known values of a part by the keys of its table."""
    return {key: x for key, x in vars(part).items() if x is not None and x is not False and x != ""}


def _value(value: Any) -> str:
    """Return a text, a number or numbers as TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, tuple) else repr(float(value))


def named(kind: str, name: str, parts: tuple[AnyPart, ...]) -> AnyPart:
    """Return the part with a name."""
    for part in parts:
        if part.name == name:
            return part
    raise unknown(kind, name, [part.name for part in parts])


def packaged(name: str = "typical") -> Catalogue:
    """Return a catalogue that comes with armwright."""
    folder = resources.files("armwright.actuators").joinpath("library")
    known = sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))
    if name not in known:
        raise unknown("catalogue", name, known)
    return parse(folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")


def read(path: str | Path) -> Catalogue:
    """Return the catalogue of a file, or the packaged one with that name."""
    if not isinstance(path, str | Path):
        raise InputError(f"a catalogue is read from {path!r}; expected a path, or the name of a packaged one")
    if isinstance(path, str) and not Path(path).suffix:
        return packaged(path)
    try:
        text = contents(path, MAX_TOML_BYTES).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"cannot read the catalogue {path}: {error}") from None
    return parse(text, Path(path).name)


def parse(text: str, file: str = "catalogue") -> Catalogue:
    """Return the catalogue in a text; messages call it `file`."""
    data, lines = parse_toml(text, file), line_numbers(text)

    def where(table: str, index: int, key: str | None) -> str:
        number = lines.get((table, index, key), lines.get((table, index, None)))
        return f"{file}, line {number}: " if number else f"{file}: "

    top = Reader(data, lambda key: where("", 0, key) + "catalogue")
    top.check_keys(CATALOGUE_KEYS)
    parts: dict[str, tuple[Any, ...]] = {}
    for table, kind in PART_TYPES.items():
        rows = data.get(table, [])
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            top.fail(table, f"write each {table} as a [[{table}]] table")
        parts[table] = tuple(_part(kind, table, i, row, where) for i, row in enumerate(rows))
    try:
        motors, gearboxes, brakes, cylinders = parts.values()
        texts = {"source": top.text("source", ""), "licence": top.text("licence", "")}
        return Catalogue(top.text("name", file), motors, gearboxes, brakes, cylinders, **texts)
    except InputError as error:
        raise ModelError(f"{file}: {error}") from None


def _part(kind: type[ActuatorPart], table: str, index: int, row: Mapping[str, Any], where: Any) -> ActuatorPart:
    """Return the part of one table; errors name its line."""
    name = row.get("name", index + 1)
    return part_of_row(kind, Reader(row, lambda key: f"{where(table, index, key)}{table} {name!r}"))


def part_of_row(kind: type[ActuatorPart], row: Reader) -> ActuatorPart:
    """Return the part that a row describes."""
    check(kind, row)
    values: dict[str, Any] = {key: tuple(x) if isinstance(x, list) else x for key, x in row.data.items()}
    return kind(**values)
