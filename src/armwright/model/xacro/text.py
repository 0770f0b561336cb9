"""${...} and $(...) in the attributes and texts of a xacro file.

| text                  | value                                                                  |
|-----------------------|------------------------------------------------------------------------|
| ${...}                | an expression (`evaluate`), typed if it is the entire text             |
| $(arg name)           | the user's argument, or the default of <xacro:arg>                     |
| $(find package)       | the package's folder, or package://package if it is unknown            |
| $(eval ...)           | an expression over the arguments                                       |
| $(dirname)            | the folder of the file                                                 |
| $(optenv NAME other)  | `other`: the environment is never read, and $(env NAME) is an error    |
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from armwright.errors import ModelWarning, closest_name
from armwright.model.packages import SCHEME, ReadableFolders
from armwright.model.refusal import Refused
from armwright.model.xacro import yaml
from armwright.model.xacro.evaluate import (
    BUILT_IN_NAMES,
    MAX_TEXT_CHARS,
    Budget,
    Lookup,
    Namespace,
    Value,
    XacroFunction,
    evaluate,
    text_of,
)

MAX_PROPERTY_DEPTH = 40
"""The largest depth of properties that use each other."""
SEARCH_COST = 20
"""Steps of a search for a file or folder."""

_PIECE = re.compile(r"\$\$++[{(]|\$\{[^}]*\}|\$++(?![{(])|\$|[^$]+")


@dataclass(frozen=True)
class RecordedNames(Namespace):
    """Names that record which of them were used."""

    used: set[str]

    def value_of(self, name: str) -> Value:
        self.used.add(name)
        return super().value_of(name)


@dataclass
class TextExpander:
    """The expansion of the texts of one document; `file` is the current file.

    `used` are the used or declared arguments, `declared` those of <xacro:arg>.
    """

    folders: ReadableFolders
    arguments: dict[str, str]
    budget: Budget
    file: Path = Path()
    used: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    loaded: dict[Path, Value] = field(default_factory=dict)
    nesting: int = 0

    def text(self, text: str, names: Lookup) -> str:
        """Return a text, expanded."""
        return text_of(self.value(text, names)) if "$" in text else text

    def value(self, text: str, names: Lookup) -> Value:
        """Return an expanded text with its type: a text that is one expression has the type of the expression."""
        self.nesting += 1
        try:
            if self.nesting > MAX_PROPERTY_DEPTH:
                raise Refused(f"properties that use each other are nested more than {MAX_PROPERTY_DEPTH} deep")
            parts = [self._part(piece, names) for piece in _pieces(text)]
        finally:
            self.nesting -= 1
        if len(parts) == 1:
            return parts[0]
        joined = "".join(map(text_of, parts))
        self.budget.spend(len(parts) + len(joined) // 50)
        if len(joined) > MAX_TEXT_CHARS:
            raise Refused(f"a text of {len(joined)} characters; expected at most {MAX_TEXT_CHARS}")
        return joined

    def typed(self, text: str, names: Lookup) -> Value:
        """Return the value of a property or parameter, with numbers and truth values as such."""
        return literal(self.value(text, names))

    def functions(self) -> Namespace:
        """Return the namespace `xacro` of expressions."""
        functions: dict[str, Callable[..., Value]] = {
            "load_yaml": self._load_yaml,
            "arg": self._argument,
            "abs_filename": lambda name: str(self._path(name)),
            "warning": self._warning,
            "error": self._warning,
            "message": lambda *_: "",
            "fatal": _fatal,
        }
        return Namespace({name: XacroFunction(name, call) for name, call in functions.items()})

    def _part(self, piece: str, names: Lookup) -> Value:
        if piece.startswith("${"):
            return evaluate(self.text(piece[2:-1], names), names, self.budget)
        if piece.startswith("$("):
            return self._substituted(self.text(piece[2:-1], names).strip())
        return piece[1:] if piece.startswith("$$") and piece[-1] in "{(" else piece

    def _substituted(self, command: str) -> Value:
        word, _, rest = command.partition(" ")
        match word, rest.strip():
            case "arg", name:
                return self._argument(name)
            case "find", package:
                return self._package_folder(package)
            case "eval", expression:
                return evaluate(expression, self._arguments(), self.budget)
            case "dirname", "":
                return str(self.file.parent)
            case "optenv", name:
                return name.partition(" ")[2].strip()
            case "env", _:
                raise Refused(f"$({command[:40]}): the environment is not read; make it an <xacro:arg>")
        raise Refused(f"unknown substitution $({command[:40]}); expected arg, find, eval, dirname or optenv")

    def _argument(self, name: str) -> str:
        self.used.add(name)
        if name in self.arguments:
            return self.arguments[name]
        advice = f"give it to load: mappings={{{name!r}: value}}"
        if name in self.declared:
            raise Refused(f"argument {name!r} has no default; {advice}")
        closest = closest_name(name, self.arguments)
        raise Refused(f"unknown argument {name!r}; {f'did you mean {closest!r}? Or ' if closest else ''}{advice}")

    def _package_folder(self, package: str) -> str:
        """Return a folder, or a package name, which is an error only if one of its files is read."""
        self.budget.spend(SEARCH_COST)
        return str(self.folders.package(package, self.file) or SCHEME + package)

    def _arguments(self) -> Namespace:
        """Return the names for $(eval ...): the arguments, also as arg('name')."""
        self.budget.spend(SEARCH_COST + len(self.arguments))
        values = {name: literal(text) for name, text in self.arguments.items()}
        functions = {
            "arg": XacroFunction("arg", lambda name: literal(self._argument(name))),
            "find": XacroFunction("find", self._package_folder),
            "dirname": XacroFunction("dirname", lambda: str(self.file.parent)),
        }
        return RecordedNames({**BUILT_IN_NAMES, **values, **functions}, self.used)

    def _path(self, name: Value) -> Path:
        self.budget.spend(SEARCH_COST)
        return self.folders.file(text_of(name), self.file)

    def _warning(self, *parts: Value) -> str:
        warnings.warn(f"{self.file}: {' '.join(map(text_of, parts))}", ModelWarning, stacklevel=2)
        return ""

    def _load_yaml(self, name: Value) -> Value:
        """Return the data of a file from a cache: expressions cannot change it."""
        path = self._path(name)
        if path not in self.loaded:
            self.loaded[path] = yaml.read(path, self.budget)
        return self.loaded[path]


def literal(value: Value) -> Value:
    """Return the number or truth value in a text; a text with quotes '...' or _ stays a text."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    for number in (int, float) if "_" not in value else ():
        try:
            return number(value)
        except ValueError:
            continue
    return value


def _fatal(*parts: Value) -> NoReturn:
    raise Refused("message of the file: " + " ".join(map(text_of, parts)))


def _pieces(text: str) -> Iterator[str]:
    """Yield the pieces of a text: plain text, ${...}, $(...) with balanced parentheses, escaped $${ or $$(, other $."""
    start = 0
    while start < len(text):
        piece = _PIECE.match(text, start)
        assert piece is not None  # each character matches
        end = piece.end()
        if piece[0] == "$" and text[end : end + 1] in ("{", "("):
            end = _closed(text, start)
        yield text[start:end]
        start = end


def _closed(text: str, start: int) -> int:
    """Return the end of the $( at `start`; also a ${ without an end is an error."""
    depth = 0
    for i in range(start + 1, len(text) if text[start + 1] == "(" else 0):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    raise Refused(f"{text[start : start + 40]!r} is not closed")
