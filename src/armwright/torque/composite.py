"""Laws made of other laws: a sum of several, or one with its torques kept within limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from armwright.algebra import Scalar, maximum, minimum, structural
from armwright.errors import InputError
from armwright.torque.law import Law, Moment, Reference, per_freedom, shared_of, smallest, torques_of


@dataclass(frozen=True)
class Limited(Law):
    """Another law, each torque kept between -limit and limit."""

    law: Law
    limit: tuple[float, ...]
    per_joint = ("limit",)

    def torques(self, at: Moment) -> list[Scalar]:
        limits = per_freedom(self.limit, at.n)
        return [_clipped(tau, limit) for tau, limit in zip(torques_of(self.law, at), limits, strict=True)]

    def __post_init__(self) -> None:
        if smallest(self.limit) < 0:
            raise InputError(f"limit = {list(self.limit)}: a torque limit is zero or more")
        super().__post_init__()

    @property
    def made_of(self) -> tuple[Law, ...]:
        return (self.law,)

    def following(self, reference: Reference) -> Law:
        return replace(self, law=self.law.following(reference))

    @property
    def n(self) -> int | None:
        sizes = {size for size in (self.law.n, super().n) if size is not None}
        if len(sizes) > 1:
            raise InputError(f"a law for {self.law.n} joints and limits for {super().n}")
        return sizes.pop() if sizes else None


def _clipped(x: Scalar, limit: Scalar) -> Scalar:
    return 0 if structural(x, 0) else maximum(minimum(x, limit), -limit)


def _added(rows: Iterable[list[Scalar]]) -> list[Scalar]:
    return [sum(column, start=0) for column in zip(*rows, strict=True)]


@dataclass(frozen=True)
class Sum(Law):
    """Several laws at once."""

    laws: tuple[Law, ...]

    def torques(self, at: Moment) -> list[Scalar]:
        return _added(torques_of(law, part) for law, part in self.each_part(at))

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        drives, drags = zip(*(shared_of(law, part) for law, part in self.each_part(at)), strict=True)
        return _added(drives), _added(drags)

    @property
    def made_of(self) -> tuple[Law, ...]:
        return self.laws

    def following(self, reference: Reference) -> Law:
        return replace(self, laws=tuple(law.following(reference) for law in self.laws))

    @property
    def parts(self) -> tuple[Law, ...]:
        return self.laws

    @property
    def n(self) -> int | None:
        sizes = {law.n for law in self.laws if law.n is not None}
        if len(sizes) > 1:
            raise InputError(f"laws for {' and '.join(map(str, sorted(sizes)))} joints cannot be added")
        return sizes.pop() if sizes else None
