"""The errors and warnings of armwright. A message tells what it got, what it expected and what to do."""

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
    """The root of all errors that armwright raises.

    A message may quote a file, so control characters are escaped.
    """

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
    """The mass matrix is singular: some joint can move without moving any mass. Or the Jacobian is."""


class UnreachableError(ArmwrightError, ValueError):
    """A robot cannot bring its tool to a target.

    `q` (..., n) are the nearest positions found, one for every target, and `error` (..., 2) their errors in metres and
    radians.
    """

    def __init__(self, message: str, q: Any = None, error: Any = None) -> None:
        super().__init__(message)
        self.q, self.error = q, error


class InfeasibleError(ArmwrightError, ValueError):
    """No actuators of a catalogue suffice. `joint`, `criterion` and `used` tell where and by how much."""

    def __init__(self, message: str, joint: str = "", criterion: str = "", used: float = 0.0) -> None:
        super().__init__(message)
        self.joint, self.criterion, self.used = joint, criterion, used


class SimulationError(ArmwrightError, ArithmeticError):
    """A motion cannot continue. `run` is the motion so far (or None), `t` the time at which it stopped."""

    def __init__(self, message: str, run: object = None, t: float = 0.0) -> None:
        super().__init__(message)
        self.run, self.t = run, t


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during many motions. `result` has the motions so far, and which are finished."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class ArmwrightWarning(UserWarning):
    """The root of all warnings of armwright; control characters in messages are escaped."""

    def __str__(self) -> str:
        return shown_lines(super().__str__())


class SimulationWarning(ArmwrightWarning):
    """Some of many motions could not continue."""


class SlowWarning(ArmwrightWarning):
    """A request works, but slowly: without compiled code, or in very many steps."""


class LockedWarning(ArmwrightWarning):
    """Joints outside the chain were locked because their positions were not given."""


class TipWarning(ArmwrightWarning):
    """One of several tips was chosen because none was named."""


class LimitWarning(ArmwrightWarning):
    """The strength of motors was assumed because it was not given."""


class CacheWarning(ArmwrightWarning):
    """The cache on disk cannot be trusted and is not used."""


class ClusterWarning(ArmwrightWarning):
    """Others can run code as this user through a cluster."""


class ModelWarning(ArmwrightWarning):
    """A robot can be computed, but its description looks wrong."""


class VisualWarning(ModelWarning):
    """A robot does not look as its file describes; its dynamics are not affected."""


class PublishedWarning(ArmwrightWarning):
    """A packaged robot has the published numbers, although they look wrong."""


def nearest(got: object, names: Iterable[str]) -> str | None:
    """Return the most similar known name, or None."""
    lowered = {name.lower(): name for name in names}
    near = get_close_matches(str(got).lower(), lowered, n=1)
    return lowered[near[0]] if near else None


MAX_LISTED_NAMES = 12
"""Names that a message lists at most."""

MAX_LISTED_CHOICES = 60
"""Names to choose from that a message lists, enough for all integrators; of more, the most similar."""


def listed(names: Iterable[str]) -> str:
    """Return names separated by commas, the first few of many."""
    known = list(names)
    more = [f"and {len(known) - MAX_LISTED_NAMES} more"] if len(known) > MAX_LISTED_NAMES else []
    return ", ".join([*known[:MAX_LISTED_NAMES], *more])


def unknown(what: str, got: object, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """Return the error 'unknown WHAT GOT', with the most similar known name and the others."""
    names = list(known)
    near = nearest(got, names)
    guess = f" Did you mean {near!r}?" if near else ""
    shown = names if len(names) <= MAX_LISTED_CHOICES else _alike(got, names)
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return UnknownNameError(
        f"unknown {what} {got!r}.{guess} Known: {', '.join(shown)}{more}.{' ' + hint if hint else ''}"
    )


def _alike(got: object, names: list[str]) -> list[str]:
    """Return half a dozen names most similar to the given one, in their order."""
    like = SequenceMatcher(b=str(got).lower())

    def likeness(name: str) -> float:
        like.set_seq1(name.lower())
        return like.ratio()

    chosen = sorted(names, key=likeness, reverse=True)[: MAX_LISTED_NAMES // 2]
    return [name for name in names if name in chosen]


add_former_names(__name__, MOST_CHOICES="MAX_LISTED_CHOICES", MOST_NAMES="MAX_LISTED_NAMES")
