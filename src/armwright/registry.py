"""Lists of named entries to which a user's package can add.

A `Registry` is a mapping: the entries of armwright, those that `aw.register` adds in this process, and those that
installed packages offer as entry points of the group `armwright.<kind>s`. Entry points are loaded when a name is looked
up that nothing else has, or when all entries are listed; they reach every process, also the workers of a study.
"""

from __future__ import annotations

import glob
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from armwright.errors import ArmwrightWarning, InputError

T = TypeVar("T")


class ExtensionWarning(ArmwrightWarning):
    """An entry point of an installed package cannot be used."""


class Registry(Mapping[str, T], Generic[T]):
    """Entries of one kind by name. `accept(name, entry)` returns the checked entry or raises an InputError."""

    def __init__(self, kind: str, built_in: Mapping[str, T], accept: Callable[[str, Any], T]) -> None:
        self.kind = kind
        self.built_in = built_in
        self.accept = accept
        self._added: dict[str, T] = {}
        self._local: set[str] = set()
        self._pending: dict[str, EntryPoint] | None = None
        self._lock = threading.RLock()

    def register(self, name: str, entry: Any) -> T:
        """Add an entry and return it. It replaces an added entry of this name, but no entry of armwright."""
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of a {self.kind} is {name!r}; expected a text that is not empty")
        if name in self.built_in:
            raise InputError(f"{name!r} is a name of armwright's own {self.kind}s; choose another name")
        with self._lock:
            accepted = self._added[name] = self.accept(name, entry)
            self._local.add(name)
        return accepted

    def unregister(self, name: str) -> None:
        """Remove an entry that was added."""
        if name not in self._added:
            raise InputError(
                f"no {self.kind} named {name!r} was added; those added: {', '.join(self._added) or 'none'}"
            )
        del self._added[name]
        self._local.discard(name)

    def is_local(self, name: str) -> bool:
        """Return True for an entry that a call added in this process, which other processes do not have."""
        return name in self._local

    def __getitem__(self, name: str) -> T:
        for entries in (self.built_in, self._added):
            if name in entries:
                return entries[name]
        with self._lock:
            if isinstance(name, str):
                self._load(name)
            return self._added[name]

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except (KeyError, TypeError):
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            for name in list(self._offered()):
                self._load(name)
            return iter([*self.built_in, *self._added])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<registry of {len(self)} {self.kind}s: {', '.join(self)}>"

    def _offered(self) -> dict[str, EntryPoint]:
        """Return the entry points that have not been loaded yet."""
        if self._pending is None:
            self._pending = {point.name: point for point in installed_points(f"armwright.{self.kind}s")}
        return self._pending

    def _load(self, name: str) -> None:
        """Load the entry point of this name, if there is one; one that fails is skipped with a warning."""
        point = self._offered().pop(name, None)
        if point is None or name in self._added:
            return
        package = point.dist.name if point.dist is not None else point.value
        if name in self.built_in:
            self._skip(name, package, f"it is a name of armwright's own {self.kind}s")
            return
        try:
            self._added[name] = self.accept(name, point.load())
        except Exception as error:  # the code of another package may raise anything
            self._skip(name, package, f"{type(error).__name__}: {error}")

    def _skip(self, name: str, package: str, why: str) -> None:
        warnings.warn(
            f"the {self.kind} {name!r} of the package {package} is not used: {why}", ExtensionWarning, stacklevel=4
        )


def installed_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group; `entry_points` alone takes ten times as long to find none."""
    return entry_points(group=group) if group in _entry_point_texts(tuple(sys.path)) else ()


@cache
def _entry_point_texts(folders: tuple[str, ...]) -> str:
    """Return the lists of entry points in these folders that mention armwright, as one text."""
    found = []
    for folder in folders:
        for path in glob.iglob(os.path.join(glob.escape(folder), "*-info", "entry_points.txt")):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if "[armwright." in text:
                found.append(text)
    return "\n".join(found)
