"""The errors and warnings of armwright. A message has three parts: got, expected, what to do."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from armwright.former_names import add_former_names
from armwright.names import shown_lines

__all__ = [
    "ArmwrightError",
    "ArmwrightWarning",
    "CacheWarning",
    "ClusterWarning",
    "InfeasibleError",
    "InputError",
    "Interrupted",
    "LimitWarning",
    "LockedWarning",
    "ModelError",
    "ModelWarning",
    "PublishedWarning",
    "SimulationError",
    "SimulationWarning",
    "SingularError",
    "SlowWarning",
    "TipWarning",
    "TooLargeError",
    "UnknownNameError",
    "UnreachableError",
    "VisualWarning",
]


class ArmwrightError(Exception):
    """The base class of all errors of armwright; control characters in messages are escaped."""

    def __str__(self) -> str:
        return shown_lines(super().__str__())


class ModelError(ArmwrightError, ValueError):
    """The description of a robot cannot be used."""


class InputError(ArmwrightError, ValueError):
    """An argument has the wrong shape, length, type or value."""


class TooLargeError(InputError, MemoryError):
    """A result, or a broadcast argument, is larger than the free memory."""


class UnknownNameError(ArmwrightError, LookupError):
    """A robot, problem, formulation or convention that does not exist."""


class SingularError(ArmwrightError, ArithmeticError):
    """The Jacobian is singular, or the mass matrix: some joint can move without moving any mass."""


class UnreachableError(ArmwrightError, ValueError):
    """A robot cannot reach a target with its tool.

    `q` (..., n) has the closest solution found for each target, `error` (..., 2) its errors in metres and radians.
    """

    def __init__(self, message: str, q: Any = None, error: Any = None) -> None:
        super().__init__(message)
        self.q, self.error = q, error


class InfeasibleError(ArmwrightError, ValueError):
    """Actuators are too weak or too slow: `joint` would use the fraction `used` of its limit `criterion`."""

    def __init__(self, message: str, joint: str = "", criterion: str = "", used: float = 0.0) -> None:
        super().__init__(message)
        self.joint, self.criterion, self.used = joint, criterion, used


class SimulationError(ArmwrightError, ArithmeticError):
    """A simulation cannot continue. `run` is the run so far (or None), `t` the time at which it stopped."""

    def __init__(self, message: str, run: object = None, t: float = 0.0) -> None:
        super().__init__(message)
        self.run, self.t = run, t


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a batch. `result` has the rollouts so far, and which of them are finished."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class ArmwrightWarning(UserWarning):
    """The base class of all warnings of armwright; control characters in messages are escaped."""

    def __str__(self) -> str:
        return shown_lines(super().__str__())


class SimulationWarning(ArmwrightWarning):
    """Some rollouts of a batch failed."""


class SlowWarning(ArmwrightWarning):
    """A request works, but slowly: without compiled code, or in very many steps."""


class LockedWarning(ArmwrightWarning):
    """Joints outside the chain were locked because their positions were not given."""


class TipWarning(ArmwrightWarning):
    """One of several tips was chosen because none was named."""


class LimitWarning(ArmwrightWarning):
    """Torque limits of joints were assumed because the robot has none."""


class CacheWarning(ArmwrightWarning):
    """The cache on disk cannot be trusted and is not used."""


class ClusterWarning(ArmwrightWarning):
    """The settings of a cluster let other users run code as this user."""


class ModelWarning(ArmwrightWarning):
    """The description of a robot can be used, but looks wrong."""


class VisualWarning(ModelWarning):
    """A robot does not look as its file describes; its dynamics are not affected."""


class PublishedWarning(ArmwrightWarning):
    """A packaged robot has published numbers that look wrong."""


def closest_name(got: object, names: Iterable[str]) -> str | None:
    """Return the most similar known name, or None."""
    lowered = {name.lower(): name for name in names}
    matches = get_close_matches(str(got).lower(), lowered, n=1)
    return lowered[matches[0]] if matches else None


def name_hint(got: object, names: Iterable[str]) -> str:
    """Return "did you mean 'name'? " with the most similar known name; "" if none is similar."""
    closest = closest_name(got, names)
    return f"did you mean {closest!r}? " if closest else ""


MAX_LISTED_NAMES = 12
"""The most names that a message lists."""

MAX_LISTED_CHOICES = 60
"""The most known names that a message lists (all integrators fit); of more, it lists the most similar."""


def listed(names: Iterable[str]) -> str:
    """Return names separated by commas; of many, the first MAX_LISTED_NAMES and how many more there are."""
    known = list(names)
    more = [f"and {len(known) - MAX_LISTED_NAMES} more"] if len(known) > MAX_LISTED_NAMES else []
    return ", ".join([*known[:MAX_LISTED_NAMES], *more])


def unknown(what: str, got: object, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """Return the error for an unknown name, with the most similar known name and the known names."""
    names = list(known)
    closest = closest_name(got, names)
    guess = f" Did you mean {closest!r}?" if closest else ""
    shown = names if len(names) <= MAX_LISTED_CHOICES else _similar_names(got, names)
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return UnknownNameError(
        f"unknown {what} {got!r}.{guess} Known: {', '.join(shown)}{more}.{' ' + hint if hint else ''}"
    )


def _similar_names(got: object, names: list[str]) -> list[str]:
    """Return the MAX_LISTED_NAMES // 2 most similar names, in their given order."""
    matcher = SequenceMatcher(b=str(got).lower())

    def similarity(name: str) -> float:
        matcher.set_seq1(name.lower())
        return matcher.ratio()

    chosen = sorted(names, key=similarity, reverse=True)[: MAX_LISTED_NAMES // 2]
    return [name for name in names if name in chosen]


add_former_names(__name__, MOST_CHOICES="MAX_LISTED_CHOICES", MOST_NAMES="MAX_LISTED_NAMES")
