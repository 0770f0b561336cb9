"""References to links in a table (name, number from 1, or the base) and to joints in a call (name, number from 0)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from armwright.errors import InputError, unknown
from armwright.lazy import cached_property
from armwright.model.description import Description
from armwright.model.table_reader import Reader

BASE_NAME = "base"


@dataclass(frozen=True)
class LinkNames:
    """The links of a table in order, first the base if it `floats`; `base_name` is another name of the base."""

    names: tuple[str, ...]
    floats: bool = False
    base_name: str = BASE_NAME

    @property
    def base(self) -> int:
        """The number of the link that is the base: -1, or 0 if it floats."""
        return 0 if self.floats else -1

    def find(self, row: Reader, key: str, value: Any) -> int:
        """Return the number of the link that `key` names."""
        if isinstance(value, str) and value in self._places:
            first, *others = self._places[value]
            if others:
                row.fail(key, f"{key} = {value!r}: several links have this name; give its number, from 1 on")
            return first
        if isinstance(value, Integral) and not isinstance(value, bool):
            place = int(value) + self.base
            if not self.base <= place < len(self.names):
                row.fail(key, f"{key} = {value}: expected 0 for the base, or a link by its number, up to {self.rows}")
            return place
        if isinstance(value, str) and value in (BASE_NAME, self.base_name):
            return self.base
        if not isinstance(value, str):
            row.fail(key, f"{key} = {value!r}: expected the name of a link, its number from 1 on, or 'base'")
        row.fail(key, str(unknown(f"link, the {key}:", value, dict.fromkeys((BASE_NAME, self.base_name, *self.names)))))

    @property
    def rows(self) -> int:
        """The number of rows in the table."""
        return len(self.names) - self.floats

    def reference(self, place: int) -> str | int:
        """Return the name of a link, or its number if other links share the name; the inverse of `find`."""
        if place >= 0 and self._places[self.names[place]] == [place]:
            return self.names[place]
        return place - self.base

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            places.setdefault(name, []).append(i)
        return places


def joint_index(robot: Description, joint: object) -> int:
    """Return the number of a joint by its name or its number, from 0, or from -1 backwards."""
    names = [row.name for row in robot.joints]
    if isinstance(joint, str):
        if joint not in names:
            raise unknown(f"joint of {robot.name}:", joint, names)
        return names.index(joint)
    if isinstance(joint, (bool, np.bool_)) or not isinstance(joint, Integral) or not -robot.n <= int(joint) < robot.n:
        raise InputError(f"joint {joint!r}: expected a name, or a number from 0 to {robot.n - 1}")
    return int(joint) % robot.n


def row_parents(readers: Sequence[Reader], links: LinkNames) -> tuple[int, ...]:
    """Return the parent of each row's link: by default the link of the row before."""
    first = len(links.names) - len(readers)
    parents = [
        links.find(reader, "parent", reader.data["parent"]) if "parent" in reader.data else i - 1
        for i, reader in enumerate(readers, start=first)
    ]
    parent_of = dict(enumerate(parents, start=first))
    for i, parent in parent_of.items():
        if parent >= i:
            _refuse(readers[i - first], i, parent_of, links)
    return tuple(parents)


def _refuse(reader: Reader, i: int, parent_of: dict[int, int], links: LinkNames) -> None:
    """Fail for a parent that does not precede its child: it is written later, or the links form a cycle."""
    path, at = [i], parent_of[i]
    while at in parent_of and at not in path:
        path.append(at)
        at = parent_of[at]
    names = [repr(links.names[k]) for k in path]
    if at == i:
        cycle = ", which is attached to ".join([*names[1:], names[0] if names[1:] else "itself"])
        reader.fail("parent", f"{names[0]} is attached to {cycle}; a tree has no loops")
    reader.fail("parent", f"{names[0]} is attached to {names[1]}, which is written after it; write the parent first")
