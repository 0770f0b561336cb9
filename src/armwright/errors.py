"""Every error armwright raises on purpose. A message says what was got, what was expected and what to do."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from armwright.names import shown_lines


class ArmwrightError(Exception):
    """Root of all errors raised by armwright; catch this to catch them all.

    A message may quote a file: what a terminal would obey in it is written out.
    """

    def __str__(self) -> str:
        return shown_lines(super().__str__())


class ModelError(ArmwrightError, ValueError):
    """The description of a robot cannot be used."""


class InputError(ArmwrightError, ValueError):
    """An argument has the wrong shape, length, type or value."""


class TooLargeError(InputError, MemoryError):
    """A result, or an argument that repeats itself, is larger than the memory that is free."""


class UnknownNameError(ArmwrightError, LookupError):
    """A robot, problem, formulation or convention that does not exist."""


class SingularError(ArmwrightError, ArithmeticError):
    """The mass matrix is singular: some joint can move without moving any mass. Or the Jacobian is."""


class UnreachableError(ArmwrightError, ValueError):
    """A robot cannot bring its tool to a target.

    `q` (..., n) are the nearest positions found, one for every target asked for, and `error` (..., 2) what they leave:
    metres and radians.
    """

    def __init__(self, message: str, q: Any = None, error: Any = None) -> None:
        super().__init__(message)
        self.q, self.error = q, error


class InfeasibleError(ArmwrightError, ValueError):
    """No actuators of a catalogue are enough. `joint`, `criterion` and `used` say where it fails and by how much."""

    def __init__(self, message: str, joint: str = "", criterion: str = "", used: float = 0.0) -> None:
        super().__init__(message)
        self.joint, self.criterion, self.used = joint, criterion, used


class SimulationError(ArmwrightError, ArithmeticError):
    """A motion that cannot go on. `run` is what there is of it (or None), `t` the time it ended."""

    def __init__(self, message: str, run: object = None, t: float = 0.0) -> None:
        super().__init__(message)
        self.run, self.t = run, t


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while many motions were under way. `result` is what there is of them, and says which are finished."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class ArmwrightWarning(UserWarning):
    """Root of all warnings of armwright, whose messages are safe to print as those of errors are."""

    def __str__(self) -> str:
        return shown_lines(super().__str__())


class SimulationWarning(ArmwrightWarning):
    """Some of many motions could not go on."""


class SlowWarning(ArmwrightWarning):
    """What was asked for works, but slowly: not in compiled code, or in very many steps."""


class LockedWarning(ArmwrightWarning):
    """Joints beside the chain were locked because nobody said where they stand."""


class TipWarning(ArmwrightWarning):
    """One of several tips was taken because nobody said which."""


class LimitWarning(ArmwrightWarning):
    """Motors were taken to be of some strength because nobody said how strong they are."""


class CacheWarning(ArmwrightWarning):
    """What was kept on disk, or where, cannot be trusted and is not used."""


class ClusterWarning(ArmwrightWarning):
    """Others can run code as this user by way of a cluster."""


class ModelWarning(ArmwrightWarning):
    """The robot can be computed with, but its description looks wrong."""


class VisualWarning(ModelWarning):
    """A robot does not look all as its file says; what is computed is not concerned."""


class PublishedWarning(ArmwrightWarning):
    """A packaged robot has the numbers of its source, though they look wrong."""


def nearest(got: object, names: Iterable[str]) -> str | None:
    """The name most like what was got, if any is alike."""
    lowered = {name.lower(): name for name in names}
    near = get_close_matches(str(got).lower(), lowered, n=1)
    return lowered[near[0]] if near else None


MAX_LISTED_NAMES = 12
"""Names that a message about many of them lists."""

MAX_LISTED_CHOICES = 60
"""Names to choose from that a message lists, all integrators among them; of more, as links of a robot, the nearest."""


def listed(names: Iterable[str]) -> str:
    """Names one after the other, the first few of many."""
    known = list(names)
    more = [f"and {len(known) - MAX_LISTED_NAMES} more"] if len(known) > MAX_LISTED_NAMES else []
    return ", ".join([*known[:MAX_LISTED_NAMES], *more])


def unknown(what: str, got: object, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """'Unknown WHAT GOT', with the nearest known name and the others, or how many there are."""
    names = list(known)
    near = nearest(got, names)
    guess = f" Did you mean {near!r}?" if near else ""
    shown = names if len(names) <= MAX_LISTED_CHOICES else _alike(got, names)
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return UnknownNameError(
        f"unknown {what} {got!r}.{guess} Known: {', '.join(shown)}{more}.{' ' + hint if hint else ''}"
    )


def _alike(got: object, names: list[str]) -> list[str]:
    """Half a dozen names, those most like what was got, in their order."""
    like = SequenceMatcher(b=str(got).lower())

    def likeness(name: str) -> float:
        like.set_seq1(name.lower())
        return like.ratio()

    chosen = sorted(names, key=likeness, reverse=True)[: MAX_LISTED_NAMES // 2]
    return [name for name in names if name in chosen]
