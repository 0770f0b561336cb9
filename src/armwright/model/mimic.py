"""Joints that follow others, by factors or by a polynomial, directly or through further followers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from numpy.polynomial import Polynomial

from armwright.errors import ModelError

if TYPE_CHECKING:
    from armwright.model.xml import Element


@dataclass(frozen=True)
class Mimic:
    """The rule of a follower: its position is factor q + offset; it moves link `place`, from 0.

    `others` are further joints with their factors. For a joint moved by a `loop`, `joint` names one
    joint that moves the loop. A `curve` has the factors of q^2, q^3 and so on.
    """

    joint: str
    factor: float = 1.0
    offset: float = 0.0
    place: int = 0
    others: tuple[tuple[str, float], ...] = ()
    loop: str = ""
    curve: tuple[float, ...] = ()

    @classmethod
    def of(cls, element: Element) -> Self:
        """Return the rule of a <mimic> element of URDF."""
        return cls(element.text_of("joint"), element.number("multiplier", 1.0), element.number("offset", 0.0))

    def __repr__(self) -> str:
        fields = {"loop": self.loop, "place": self.place} if self.loop else vars(self)
        texts = (f"{name}={value!r}" for name, value in fields.items() if value or name != "curve")
        return f"Mimic({', '.join(texts)})"

    @property
    def leaders(self) -> tuple[tuple[str, float], ...]:
        """The joints it follows, each with its factor; none for a joint moved by a loop."""
        return () if self.loop else ((self.joint, self.factor), *self.others)

    @property
    def moves(self) -> bool:
        """True if the position depends on the first joint that it follows."""
        return bool(self.factor or any(self.curve))

    def at(self, position: Callable[[str], float]) -> float:
        """Return the position of the joint from those of the joints that it follows."""
        linear = self.offset + sum(factor * position(name) for name, factor in self.leaders)
        return linear + sum(k * position(self.joint) ** power for power, k in enumerate(self.curve, start=2))


class MimicCycle(Exception):  # noqa: N818
    """Joints that follow each other in a cycle; the caller adds the robot or file."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.names = names

    @property
    def path(self) -> str:
        """The text ", through ..." with all names except the first."""
        others = [*map(repr, self.names[1:8]), *(["..."] if len(self.names) > 8 else [])]
        return f", through {', '.join(others)}" if others else ""


def resolve_mimics(follows: Mapping[str, Mimic]) -> dict[str, Mimic]:
    """Return for each follower its rule from an independent joint, or raise a `MimicCycle`."""
    resolved: dict[str, Mimic] = {}
    for start in follows:
        path: dict[str, Mimic] = {}
        name = start
        while name in follows and name not in resolved:
            if name in path:
                names = list(path)
                raise MimicCycle(names[names.index(name) :])
            path[name] = follows[name]
            name = follows[name].joint
        for name, mimic in reversed(path.items()):
            inner = resolved.get(mimic.joint, Mimic(mimic.joint))
            if mimic.loop or inner.loop:
                resolved[name] = mimic
                continue
            if mimic.curve or inner.curve:
                resolved[name] = _composed(name, mimic, inner)
                continue
            others = (*((other, mimic.factor * factor) for other, factor in inner.others), *mimic.others)
            offset = mimic.factor * inner.offset + mimic.offset
            resolved[name] = Mimic(inner.joint, mimic.factor * inner.factor, offset, others=others)
    return {name: resolved[name] for name in follows}


def _composed(name: str, outer: Mimic, inner: Mimic) -> Mimic:
    """Return the rule of a follower of a follower where one of the rules is a polynomial."""
    if outer.others or inner.others:
        raise ModelError(f"joint {name!r} follows several joints by a curve; expected one, or factors alone")
    inner_polynomial = Polynomial((inner.offset, inner.factor, *inner.curve))
    polynomial = Polynomial((outer.offset, outer.factor, *outer.curve))(inner_polynomial)
    factors: list[float] = [*polynomial.coef.tolist(), 0.0]
    while len(factors) > 2 and not factors[-1]:
        factors.pop()
    return Mimic(inner.joint, factors[1], factors[0], curve=tuple(factors[2:]))
