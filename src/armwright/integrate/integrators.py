"""The registry of compiled integrators: Runge-Kutta tableaus and Taylor polynomials, built in or registered.

INTEGRATORS.register("ralston", Tableau("ralston", 2, ((), (2 / 3,)), (1 / 4, 3 / 4), (0, 2 / 3)))
INTEGRATORS.register("T5,3", TaylorPolynomials(5, 3))    # the T_ij of Machado and Galhano, any i and j
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from armwright.errors import InputError, unknown
from armwright.integrate.tableaus import Steps, Tableau, built_in_tableau, tableau_data
from armwright.registry import Registry

MAX_TERMS = 30
"""Terms of a Taylor polynomial; those beyond are smaller than rounding for any step that converges."""

EULER = Steps(((),), (1.0,), (0.0,))


@dataclass(frozen=True)
class TaylorPolynomials:
    """T_ij of Machado and Galhano 1994: y(t + h) = y + sum over k of w_k c_k h^k, c_k the coefficients of the series.

    `positions` has the order i of the polynomial of q, or its weights w_1 ... w_i; `velocities` the order j, or the
    weights, of velocities and all else. An order stands for weights of 1, as in the paper.
    """

    positions: int | Sequence[float]
    velocities: int | Sequence[float]

    def __post_init__(self) -> None:
        for name in ("positions", "velocities"):
            object.__setattr__(self, name, _weights(name, getattr(self, name)))

    @property
    def weights(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The weights of positions and of velocities."""
        return self.positions, self.velocities  # type: ignore[return-value]

    @property
    def terms(self) -> tuple[int, int]:
        """The orders i and j of the two polynomials."""
        return len(self.weights[0]), len(self.weights[1])

    @property
    def order(self) -> int:
        """The order of convergence: the terms up to the first whose weight is not 1, of the shorter polynomial."""
        return min(next((k for k, w in enumerate(row) if w != 1), len(row)) for row in self.weights)


def _weights(name: str, value: Any) -> tuple[float, ...]:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_TERMS:
        return (1.0,) * value
    try:
        row = tuple(float(x) for x in value)
    except (TypeError, ValueError):
        row = ()
    if not 1 <= len(row) <= MAX_TERMS or not all(map(math.isfinite, row)):
        raise InputError(f"{name} = {value!r}: expected an order from 1 to {MAX_TERMS}, or as many weights")
    if row[0] != 1:
        raise InputError(f"{name}: the first weight is {row[0]!r}; expected 1, or steps do not converge")
    return row


Integrator: TypeAlias = Tableau | TaylorPolynomials

_TAYLOR_NAMES = {f"T{p},{j}": (p, j) for p in range(2, 11) for j in (p - 1, p)}


class _BuiltIn(Mapping[str, Integrator]):
    """The integrators of armwright, each constructed on access."""

    def __getitem__(self, name: str) -> Integrator:
        return TaylorPolynomials(*_TAYLOR_NAMES[name]) if name in _TAYLOR_NAMES else built_in_tableau(name)

    def __contains__(self, name: object) -> bool:
        return name in _TAYLOR_NAMES or name in tableau_data()

    def __iter__(self) -> Iterator[str]:
        return iter((*tableau_data(), *_TAYLOR_NAMES))

    def __len__(self) -> int:
        return len(tableau_data()) + len(_TAYLOR_NAMES)


RESERVED_NAMES = ("radau", "bdf", "lsoda", "taylor", "semi_implicit_euler")
"""Integrators that are neither tableaus nor Taylor polynomials."""

_accepted_entries: dict[str, Integrator] = {}


def _checked_entry(name: str, entry: Any) -> Integrator:
    """Return a checked entry. A name keeps its coefficients in a process, as compiled code is cached by name."""
    if name in RESERVED_NAMES:
        raise InputError(f"{name!r} is a name of armwright's own integrators; choose another name")
    if not isinstance(entry, (Tableau, TaylorPolynomials)):
        raise InputError(f"integrator {name!r} is {entry!r}; expected a Tableau or TaylorPolynomials of integrate")
    checked = replace(entry.checked(), name=name) if isinstance(entry, Tableau) else entry
    if _accepted_entries.setdefault(name, checked) != checked:
        raise InputError(f"integrator {name!r} had other coefficients in this process; choose another name")
    return checked


INTEGRATORS: Registry[Integrator] = Registry("integrator", _BuiltIn(), _checked_entry)


def is_adaptive(name: str) -> bool:
    """Return True for a Runge-Kutta method with an error estimate."""
    return name in INTEGRATORS and name not in POLYNOMIALS and method(name).adaptive


class _Polynomials(Mapping[str, tuple[int, int]]):
    """The Taylor polynomials among the integrators: the orders for positions and for velocities by name."""

    def __getitem__(self, name: str) -> tuple[int, int]:
        return _TAYLOR_NAMES[name] if name in _TAYLOR_NAMES else polynomials(name).terms

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in _TAYLOR_NAMES or isinstance(_registered(name), TaylorPolynomials))

    def __iter__(self) -> Iterator[str]:
        return (name for name in INTEGRATORS if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


POLYNOMIALS: Mapping[str, tuple[int, int]] = _Polynomials()
"""The integrators T_ij of Machado and Galhano by their names: the orders for positions and for velocities."""


def _registered(name: str) -> Integrator | None:
    """Return the integrator registered under this name that is not built in, or None."""
    return None if name in tableau_data() or name in RESERVED_NAMES else INTEGRATORS.get(name)


def polynomials(name: str) -> TaylorPolynomials:
    """Return the Taylor polynomials of this name."""
    entry = INTEGRATORS.get(name)
    if not isinstance(entry, TaylorPolynomials):
        raise unknown("Taylor polynomials", name, POLYNOMIALS)
    return entry


def methods(adaptive: bool | None = None) -> list[str]:
    """Return the names of all Runge-Kutta methods, of those with an error estimate, or of those without."""
    data = tableau_data()
    return [
        name
        for name in INTEGRATORS
        if name not in POLYNOMIALS
        if adaptive is None or adaptive == ("embedded" in data[name] if name in data else method(name).adaptive)
    ]


def method(name: str) -> Tableau:
    """Return the Runge-Kutta method of this name, in double precision; `.exact(number)` has it in other numbers."""
    entry = built_in_tableau(name) if name in tableau_data() else _registered(name) if isinstance(name, str) else None
    if not isinstance(entry, Tableau):
        raise unknown("integration method", name, methods())
    return entry


def steps_of(name: str, fixed: bool = False) -> Steps:
    """Return the coefficients of a step of a compiled integrator; polynomials have one stage, their `increment`."""
    return EULER if name in POLYNOMIALS else method(name).steps(fixed)
