"""Registration of what a user's package adds: laws, integrators, backends, exports, rules and measures.

The same entries can be offered by an installed package as entry points of the groups `armwright.laws`,
`armwright.integrators`, `armwright.backends`, `armwright.exports`, `armwright.rules` and `armwright.measures`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from armwright.errors import unknown
from armwright.registry import Registry

__all__ = ["register"]

_REGISTRIES = {
    "law": "armwright.torque.laws:LAWS",
    "integrator": "armwright.integrate.integrators:INTEGRATORS",
    "backend": "armwright.backends.interface:BACKENDS",
    "export": "armwright.export.formats:EXPORTS",
    "rule": "armwright.rules.rule:RULES",
    "measure": "armwright.simulation.measures:MEASURES",
}
"""The registry of each kind; its module is imported when something of that kind is registered."""


def registry_of(kind: str) -> Registry[Any]:
    """Return the registry of a kind: "law", "integrator", "backend", "export", "rule" or "measure"."""
    if kind not in _REGISTRIES:
        raise unknown("kind of extension", kind, _REGISTRIES)
    module, _, name = _REGISTRIES[kind].partition(":")
    found: Registry[Any] = getattr(import_module(module), name)
    return found


def register(kind: str, name: str, entry: Any) -> Any:
    """Add a custom entry to armwright for this process, and return it.

    kind    "law", "integrator", "backend", "export", "rule" or "measure"
    name    the name that selects it, not one of armwright's own entries; a custom entry of that name is replaced
    entry   a law class or `torque.LawEntry`, an `integrate.Tableau` or `integrate.TaylorPolynomials`, a
            `backends.interface.Backend` or "module:NAME", an export format, a `rules.Rule`, a `simulation.Measure`

    The entry then works wherever a built-in one does. Other processes, such as the workers of a study, do not have it;
    a package offers it to all processes as an entry point of the group "armwright.<kind>s".
    """
    return registry_of(kind).register(name, entry)
