"""Torque laws: the torques at one moment, over any scalar, so that a law compiles together with the dynamics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from functools import wraps
from inspect import get_annotations
from numbers import Real
from types import FunctionType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Scalar, maximum, minimum, structural
from armwright.arrays import masked
from armwright.errors import ArmwrightError, InputError
from armwright.graph.expression import Expr
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.description import Description
from armwright.torque.moment import Moment
from armwright.trajectory import Trajectory

FLOAT_ANNOTATIONS, FLOAT_TUPLE_ANNOTATIONS = ("float", "<class 'float'>"), ("tuple[float, ...]",)
"""Annotations of the fields of a law that are runtime parameters."""

MIN_FREEDOMS_OF_QUATERNION_JOINT = min(FREEDOMS_OF_KIND.values())
"""Smallest number of freedoms of a joint whose q has one entry more."""

Reference: TypeAlias = Trajectory
"""The motion that a law follows."""


class Law:
    """Base of all laws. `n` is the number of freedoms, `nq` that of the entries of q, None for any.

    `reference` is the motion that it follows. A law made of others inherits from them what it does not define. A law
    with a field `model`, a robot, computes with that robot in place of the one it drives.
    """

    per_joint: ClassVar[tuple[str, ...]] = ()
    """The parameters that are one number, or one per freedom."""
    per_entry: ClassVar[tuple[str, ...]] = ()
    """The parameters that are one number, or one per entry of q."""
    forked: ClassVar[tuple[str, ...]] = ()
    """The parameters whose value zero selects another formula."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Make methods compute with the model of the law; raise an InputError if a field has a reserved name."""
        super().__init_subclass__(**options)
        reserved = sorted(name for name in dir(Law) if not name.startswith("_"))
        bases = [base for base in cls.__mro__ if base not in Law.__mro__]
        declared = [name for x in bases for name, kind in get_annotations(x).items() if "ClassVar" not in str(kind)]
        taken = [name for name in declared if name in reserved]
        if taken:
            raise InputError(
                f"torque law {cls.__name__} has a field {taken[0]!r}, which is reserved; "
                f"expected another name. Reserved names: {', '.join(reserved)}, and model for the robot it assumes"
            )
        for name in ("torques", "shared", "rates"):
            if isinstance(method := vars(cls).get(name), FunctionType):
                setattr(cls, name, _with_model(method))

    def __post_init__(self) -> None:
        """Check that numbers and parts fit together; convert whole numbers to declared floats."""
        declared: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        for field in declared:
            object.__setattr__(self, field.name, _declared_value(self, field, getattr(self, field.name)))
        n, nq = self.n, self.nq
        if n is not None and nq is not None and not 0 <= MIN_FREEDOMS_OF_QUATERNION_JOINT * (nq - n) <= n:
            raise InputError(self.misfit(n, nq))

    def misfit(self, n: int, nq: int) -> str:
        """Return the error for sizes that no robot has: q is longer than qd only for ball, free and planar joints."""
        return f"parameters for {min(n, nq)} and {max(n, nq)} joints do not fit together"

    @property
    def positions(self) -> dict[str, tuple[float, ...]]:
        """The target positions by name, if they have all entries."""
        positions = {name: getattr(self, name) for name in self.per_entry if len(getattr(self, name)) > 1}
        return positions | {name: values for law in self.made_of for name, values in law.positions.items()}

    def check(self, robot: Description) -> None:
        """Raise an InputError if a number has no meaning for the robot."""
        for law in self.made_of:
            law.check(robot)

    def torques(self, at: Moment) -> list[Scalar]:
        """Return one torque per freedom."""
        raise NotImplementedError

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        """Return the torques of the drives, and those of friction: their sum is `torques`."""
        return torques_of(self, at), [0] * at.n

    def start(self, n: int) -> tuple[float, ...]:
        """Return the initial memory for n joints; most laws have none."""
        return tuple(x for law in self.made_of for x in law.start(n))

    def rates(self, at: Moment) -> list[Scalar]:
        """Return the rates of change of the memory."""
        return [rate for law, part in self.each_part(at) for rate in rates_of(law, part)]

    def each_part(self, at: Moment) -> Iterator[tuple[Law, Moment]]:
        """Yield every law it is made of, with its part of the memory."""
        begin = 0
        for law in self.made_of:
            end = begin + len(law.start(at.n))
            yield law, at._replace(memory=at.memory[begin:end])
            begin = end

    @property
    def made_of(self) -> tuple[Law, ...]:
        return ()

    @property
    def n(self) -> int | None:
        return common_size(*(getattr(self, name) for name in self.per_joint))

    @property
    def nq(self) -> int | None:
        sizes = {law.nq for law in self.made_of if law.nq is not None}
        if len(sizes) > 1:
            raise InputError(f"laws for {' and '.join(map(str, sorted(sizes)))} joints cannot be added")
        return sizes.pop() if sizes else common_size(*(getattr(self, name) for name in self.per_entry))

    @property
    def traceable(self) -> bool:
        """True for a law that compiles with the dynamics; others are called from Python, step by step."""
        return all(law.traceable for law in self.made_of)

    def following(self, reference: Reference) -> Law:
        """Return the law with another reference, if it has any."""
        return self

    def sized(self, n: int) -> Law:
        """Return the law for n freedoms, which draws one random number for each where no size is given."""
        declared: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        sized = {field.name: _sized(getattr(self, field.name), n) for field in declared}
        changed = {name: x for name, x in sized.items() if x is not getattr(self, name)}
        return replace(self, **changed) if changed else self  # type: ignore[type-var]

    @property
    def span(self) -> tuple[float, float] | None:
        """The span of times for which it is defined; None for all."""
        spans = [law.span for law in self.made_of if law.span is not None]
        return (max(a for a, _ in spans), min(b for _, b in spans)) if spans else None

    @property
    def reference(self) -> Reference | None:
        return next((law.reference for law in self.made_of if law.reference is not None), None)

    @property
    def exact(self) -> bool:
        """True for a law that follows its reference without error if its model is right."""
        return False

    @property
    def parts(self) -> tuple[Law, ...]:
        return (self,)

    def __add__(self, other: Law) -> Law:
        if not isinstance(other, Law):
            return NotImplemented
        return Sum((*self.parts, *other.parts))

    def limited(self, limit: ArrayLike) -> Law:
        """Return the law with every torque kept between -limit and limit (one number, or one per joint)."""
        return Limited(self, numbers("limit", limit))


def _sized(value: Any, n: int) -> Any:
    """Return the value of a field with the laws in it sized for n freedoms."""
    if isinstance(value, tuple):
        sized = [_sized(x, n) for x in value]
        return value if all(a is b for a, b in zip(sized, value, strict=True)) else tuple(sized)
    return value.sized(n) if isinstance(value, Law) else value


def _with_model(method: Callable[[Any, Moment], Any]) -> Callable[[Any, Moment], Any]:
    """Return a method of a law that computes with the model of the law."""

    @wraps(method)
    def call(law: Any, at: Moment) -> Any:
        return method(law, with_model_of(law, at))

    return call


def model_of(law: Law) -> Any:
    """Return the field `model` of a law, None without one.

    `Law` has no such attribute, because it would be the default of that field.
    """
    return getattr(law, "model", None)


def with_model_of(law: Law, at: Moment) -> Moment:
    """Return the moment with the `model` of the law, if it has one."""
    model = model_of(law)
    return at if model is None else at._replace(mechanism=model.mechanism())


def check_robot_models(law: Law, robot: Description) -> None:
    """Raise an InputError if a law, or a part of it, has a model with other joints than the robot."""
    model = model_of(law)
    if model is not None:
        name = f"{type(law).__name__}.model"
        if not isinstance(model, Description):
            raise InputError(f"{name} = {model!r}: expected a Robot that the law computes with, or another name")
        balls, expected = ([(b.kind, b.coordinate) for b in x.balls] for x in (model, robot))
        if model.n != robot.n or balls != expected:
            raise InputError(
                f"{name} is {model.name} with {model.n} freedoms, q of {model.nq} entries; expected a "
                f"robot with the joints of {robot.name}: {robot.n} freedoms, q of {robot.nq} entries"
            )
    for part in law.made_of:
        check_robot_models(part, robot)


def torques_of(law: Law, at: Moment) -> list[Scalar]:
    """Return the torques of a law, one for each freedom, or raise an InputError."""
    return _checked_list(law, law.torques, at, at.n, "torques", f"one torque for each of {at.n} joints")


def shared_of(law: Law, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
    """Return the torques of the drives, and those of friction, of a law."""
    return law.shared(at)


def rates_of(law: Law, at: Moment) -> list[Scalar]:
    """Return the rates of change of the memory of a law, or raise an InputError."""
    count = len(at.memory)
    return _checked_list(law, law.rates, at, count, "rates", f"one for each of {count} numbers that start(n) gives")


def _checked_list(
    law: Law, method: Callable[[Moment], Any], at: Moment, count: int, what: str, expected: str
) -> list[Scalar]:
    name = type(law).__name__
    try:
        values = method(at)
    except ArmwrightError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        if not isinstance(at.t, Expr):
            raise
        raise InputError(
            f"torque law {name} cannot be compiled: {error}; expected arithmetic of at.t, at.q, at.qd and its numbers, "
            "NumPy's sin, cos, tanh, sqrt, and in place of comparisons minimum, maximum or select of "
            "armwright.algebra"
        ) from error
    if not isinstance(values, (Sequence, np.ndarray)):
        raise InputError(f"torque law {name}: {what} gave {values!r}; expected a list, {expected}")
    if len(values) != count:
        raise InputError(f"torque law {name}: {what} gave {len(values)} numbers; expected {expected}")
    for k, value in enumerate(values):
        if isinstance(value, (Sequence, np.ndarray)) and np.ndim(value):
            raise InputError(
                f"torque law {name}: {what}[{k}] has shape {np.shape(value)}; expected a number, {expected}. What "
                "differs between rollouts is an array (rollouts,) in a field declared float, or a list of laws"
            )
    return list(values)


def _declared_value(law: Law, field: Field[Any], value: Any) -> Any:
    """Return a field in its declared type: floats for whole numbers, arrays of numbers, (rollouts,) for a float."""
    name, kind = f"{type(law).__name__}.{field.name}", str(field.type)
    if kind in FLOAT_ANNOTATIONS and isinstance(value, Real):
        return float(value)
    if masked(value):
        raise InputError(f"{name} has masked entries; fill them first")
    if kind in FLOAT_TUPLE_ANNOTATIONS and isinstance(value, (tuple, list)):
        return tuple(float(x) if isinstance(x, Real) else x for x in value)
    if kind in FLOAT_ANNOTATIONS and isinstance(value, (tuple, list)):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind not in "fiub":
        raise InputError(f"{name} is an array of {value.dtype.name} values; expected numbers")
    if kind in FLOAT_ANNOTATIONS and value.ndim > 1:
        raise InputError(f"{name} has shape {value.shape}; expected one number, or (rollouts,) for a batch")
    return float(value) if kind in FLOAT_ANNOTATIONS and not value.ndim else np.asarray(value)


def numbers(name: str, values: ArrayLike) -> tuple[float, ...]:
    """Return finite numbers, one or one per joint; (rollouts, joints) gives an array (rollouts,) for each joint."""
    try:
        raw = np.asarray("" if masked(values) else values)
    except (TypeError, ValueError):
        raw = np.asarray("")
    if raw.dtype.kind not in "fiu":
        raise InputError(f"{name} = {values!r} is not a number nor a list with one number per joint")
    array = np.atleast_1d(raw.astype(float))
    if array.ndim > 2 or not array.size:
        raise InputError(
            f"{name} has shape {array.shape}; expected one number, or one per joint, or (rollouts, joints) for a batch"
        )
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        which = f"{name}[{', '.join(map(str, place))}] is {array[place]}"
        raise InputError(f"{name} = {array.tolist()} has a number that is not finite" if array.ndim == 1 else which)
    return tuple(array.tolist()) if array.ndim == 1 else tuple(np.ascontiguousarray(array.T))


def smallest(values: tuple[float, ...]) -> float:
    """Return the smallest number of a parameter, over all rollouts."""
    return min(float(np.min(x)) for x in values)


def common_size(*parameters: tuple[float, ...]) -> int | None:
    """Return the common number of joints of parameters; single numbers are for any."""
    sizes = {len(p) for p in parameters if len(p) > 1}
    if len(sizes) > 1:
        raise InputError(f"parameters for {' and '.join(map(str, sorted(sizes)))} joints do not fit together")
    return sizes.pop() if sizes else None


def per_freedom(values: tuple[float, ...], n: int) -> tuple[float, ...]:
    """Return one number for each of n freedoms."""
    return values * n if len(values) == 1 else values


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
