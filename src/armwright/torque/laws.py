"""The registry of torque laws, `LAWS`, for scenario files, studies, schemas, documents and tests.

An entry contains its descriptions: what the law computes, and a sentence and a unit for every parameter. A package adds
a law with `LAWS.register(name, entry)`, or as an entry point of the group `armwright.laws`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from armwright.errors import InputError
from armwright.lazy import cached_property
from armwright.registry import Registry
from armwright.torque.law import FLOAT_ANNOTATIONS, FLOAT_TUPLE_ANNOTATIONS, Law, numbers
from armwright.torque.passive import friction, spring_damper
from armwright.torque.prescribed import Free, constant, table
from armwright.torque.tracking import Tracking, computed_torque, feed_forward, pd, pd_gravity, pid, tracking_law

__all__ = ["LAWS", "TARGET_PARAMETER", "LawEntry", "LawParameter"]

Shape: TypeAlias = Literal["number", "per joint", "list", "rows", "integer", "any"]
"""The shape of a parameter in a file; `per joint` is one number, or one for each joint."""


@dataclass(frozen=True)
class LawParameter:
    """A parameter of a law: a sentence, its unit, its shape in a file, and its smallest value, if any."""

    about: str
    unit: str = ""
    shape: Shape = "per joint"
    minimum: float | None = None
    required: bool = False

    @property
    def description(self) -> str:
        """The sentence with the unit."""
        return f"{self.about.rstrip('.')}, {self.unit}." if self.unit else self.about


TARGET_PARAMETER = LawParameter("A position to hold in place of a trajectory.", shape="list")


@dataclass(frozen=True)
class LawEntry:
    """A law by its name.

    make      a function or class that returns the law, called with the parameters by name; if the law `follows`, the
              target (a position or a trajectory) comes first
    about     the torque as a formula, or in a few words
    words     a `LawParameter` for parameters of `make`; `parameters` has default ones for the others
    example   parameters for any robot, with which the tests simulate the law
    """

    make: Callable[..., Law]
    about: str = ""
    words: Mapping[str, LawParameter] = field(default_factory=dict)
    example: Mapping[str, Any] = field(default_factory=dict)
    follows: bool = False

    @cached_property
    def parameters(self) -> dict[str, LawParameter]:
        """The parameters by name, without the target and the model of a controller."""
        listed = list(inspect.signature(self.make).parameters.values())[1 if self.follows else 0 :]
        return {
            p.name: replace(
                self.words.get(p.name, LawParameter(f"Parameter {p.name} of the law.", shape="any")),
                required=p.default is inspect.Parameter.empty,
            )
            for p in listed
            if p.name != "model" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }

    def law(self, name: str, *target: Any, **given: Any) -> Law:
        """Return the law; errors of its parameters name it."""
        try:
            law = self.make(*target, **given)
        except (TypeError, ValueError) as error:
            raise error if isinstance(error, InputError) else InputError(f"law {name!r}: {error}") from error
        if not isinstance(law, Law):
            raise InputError(f"law {name!r}: {self.make!r} returned {law!r}; expected a torque.Law")
        return law


def _accepted(name: str, entry: Any) -> LawEntry:
    """Return an entry, a Law class or a function that returns a law as an entry, or raise an InputError."""
    if isinstance(entry, type) and issubclass(entry, Law):
        entry = _entry_of_class(name, entry)
    elif not isinstance(entry, LawEntry) and callable(entry):
        entry = LawEntry(entry, about=(inspect.getdoc(entry) or "").partition("\n")[0])
    if not isinstance(entry, LawEntry):
        raise InputError(
            f"law {name!r} is {entry!r}; expected a subclass of torque.Law, a function that returns one, or a LawEntry"
        )
    try:
        known = entry.parameters
    except (TypeError, ValueError) as error:
        raise InputError(f"law {name!r}: {entry.make!r} shows no parameters: {error}") from None
    unknown = [key for key in (*entry.words, *entry.example) if key not in known]
    if unknown:
        raise InputError(f"law {name!r} has no parameter {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    shapes = get_args(Shape)
    for key, x in ((key, x) for key, x in known.items() if x.shape not in shapes):
        raise InputError(f"law {name!r}: the shape of {key} is {x.shape!r}; expected one of {', '.join(shapes)}")
    return entry


def _entry_of_class(name: str, cls: type[Law]) -> LawEntry:
    """Return the entry of a class, whose fields are the parameters; `metadata` of a field has `about` and `unit`."""
    if not is_dataclass(cls):
        raise InputError(f"law {name!r}: {cls.__name__} is no dataclass; expected @dataclass(frozen=True) before it")
    follows = issubclass(cls, Tracking)
    listed = [x for x in fields(cls) if x.init and not (follows and x.name == "target")]
    annotated: dict[str, Shape] = dict.fromkeys(FLOAT_ANNOTATIONS, "number")
    annotated |= dict.fromkeys(FLOAT_TUPLE_ANNOTATIONS, "per joint")
    shapes: dict[str, Shape] = {x.name: annotated.get(str(x.type), "any") for x in listed}

    def make(*target: Any, **parameters: Any) -> Law:
        values = {key: _field_value(key, shapes[key], value) for key, value in parameters.items()}
        return tracking_law(cls, *target, **values) if issubclass(cls, Tracking) else cls(**values)

    empty = inspect.Parameter.empty
    kind = inspect.Parameter.KEYWORD_ONLY
    optional = [x.default is not MISSING or x.default_factory is not MISSING for x in listed]
    signature = [
        *([inspect.Parameter("target", inspect.Parameter.POSITIONAL_ONLY)] if follows else ()),
        *(inspect.Parameter(x.name, kind, default=None if o else empty) for x, o in zip(listed, optional, strict=True)),
    ]
    make.__signature__ = inspect.Signature(signature)
    words = {
        x.name: LawParameter(
            str(x.metadata.get("about", f"Parameter {x.name} of the law.")),
            str(x.metadata.get("unit", "")),
            shapes[x.name],
        )
        for x in listed
        if x.name != "model"
    }
    return LawEntry(make, about=(inspect.getdoc(cls) or "").partition("\n")[0], words=words, follows=follows)


def _field_value(key: str, shape: Shape, value: Any) -> Any:
    if shape == "any":
        return value
    listed = numbers(key, value)
    if shape == "per joint":
        return listed
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value  # one for each rollout of a study
    if len(listed) != 1:
        raise InputError(f"{key} has {len(listed)} numbers; expected one")
    return listed[0]


_KP = LawParameter("Gain on the position", "N m/rad or N/m")
_KD = LawParameter("Gain on the velocity", "N m s/rad or N s/m")
_GAINS = {"kp": _KP, "kd": _KD}
_following = partial(LawEntry, follows=True)

LAWS: Registry[LawEntry] = Registry(
    "law",
    {
        "free": LawEntry(Free, "none: the robot falls"),
        "constant": LawEntry(
            constant, "the same at all times", {"values": LawParameter("Torques", "N m or N")}, {"values": 1.0}
        ),
        "table": LawEntry(
            table,
            "straight lines between the times of a table",
            {
                "times": LawParameter("Times, one for each row of torques", "s", "list"),
                "torques": LawParameter("Torques of all joints, a row for each time", "N m or N", "rows"),
            },
            {"times": [0, 0.3, 2.0], "torques": [[0], [1], [0.5]]},
        ),
        "spring_damper": LawEntry(
            spring_damper,
            "-stiffness (q - rest) - damping qd",
            {
                "stiffness": LawParameter("Stiffness of the springs", "N m/rad or N/m"),
                "damping": LawParameter("Damping", "N m s/rad or N s/m"),
                "rest": LawParameter("Position at which the springs are at rest", "rad or m"),
            },
            {"stiffness": 20.0, "damping": 1.0, "rest": 0.2},
        ),
        "friction": LawEntry(
            friction,
            "-viscous qd - coulomb sign(qd), or tanh(qd / smooth)",
            {
                "viscous": LawParameter("Viscous friction", "N m s/rad or N s/m"),
                "coulomb": LawParameter("Dry friction", "N m or N"),
                "smooth": LawParameter("Speed below which dry friction is smoothed", "rad/s or m/s", "number", 0.0),
            },
            {"viscous": 0.5, "coulomb": 0.2, "smooth": 0.01},
        ),
        "pd": _following(pd, "kp (q_d - q) + kd (qd_d - qd)", _GAINS, {"kp": 20.0, "kd": 2.0}),
        "pid": _following(
            pid,
            "the same and ki times the integral of q_d - q",
            {**_GAINS, "ki": LawParameter("Gain on the integral of the position error", "N m/(rad s) or N/(m s)")},
            {"kp": 20.0, "ki": 10.0, "kd": 2.0},
        ),
        "pd_gravity": _following(
            pd_gravity, "PD and the gravity torque at the present position", _GAINS, {"kp": 20.0, "kd": 2.0}
        ),
        "computed_torque": _following(
            computed_torque,
            "inverse dynamics with qdd_d + kd (qd_d - qd) + kp (q_d - q)",
            {"kp": replace(_KP, unit="1/s^2"), "kd": replace(_KD, unit="1/s")},
            {"kp": 100.0, "kd": 20.0},
        ),
        "feed_forward": _following(
            feed_forward, "inverse dynamics along the target, and PD", _GAINS, {"kp": 10.0, "kd": 1.0}
        ),
    },
    _accepted,
)
"""Every law by its name. The example of a table has one column, which tests repeat for every joint."""
