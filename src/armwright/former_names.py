"""Former names of public objects: they work until 0.4, with a DeprecationWarning that gives the new name."""

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

FORMER_NAMES: list[tuple[type | str, str, str]] = []
"""Every former name with its owner, a class or the name of a module, and its new name."""


def add_former_names(owner: type | str, **former: str) -> None:
    """Let a class, or the module of that name, answer to former names; `former` has the new name of each.

    The new name in a module may be that of a submodule's object ("law.rates_of"), or of a function ("kinds()"), which
    is called.
    """
    FORMER_NAMES.extend((owner, old, new) for old, new in former.items())
    if isinstance(owner, str):
        vars(sys.modules[owner])["__getattr__"] = _module_getattr(owner, former)
        return
    for old, new in former.items():
        setattr(owner, old, property(_getter(old, new), doc=f"`{new}`; a former name."))


def _getter(old: str, new: str) -> Callable[[Any], Any]:
    def former_attribute(self: Any) -> Any:
        _warn(f"{type(self).__name__}.{old}", new)
        return attrgetter(new)(self)

    return former_attribute


def _module_getattr(module: str, former: dict[str, str]) -> Callable[[str], Any]:
    def former_object(name: str) -> Any:
        if name not in former:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = f"{module}.{former[name]}"
        _warn(f"{module}.{name}", new)
        place, _, inside = new.rpartition(".")
        value = getattr(import_module(place), inside.removesuffix("()"))
        return value() if new.endswith("()") else value

    return former_object


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} will be removed in 0.4; use {new}", DeprecationWarning, stacklevel=3)
