"""Checks of arguments before and after they are parsed: lists of numbers with spaces, values that are not numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from armwright.errors import InputError

NUMBER_LIST_OPTIONS = ("--payload", "--payload-there", "--payload-at", "--gravity", "--gravity-there", "--to", "--from")
"""Options that take several numbers, separated by commas."""

COUNT_COMMAND = "count"
"""The command whose argument may be a number of joints."""

NUMBER_PATTERN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
SEPARATORS = re.compile(r"[,;\s]+")


def check_arguments(command: str, words: Sequence[str]) -> None:
    """Raise an error if the numbers of an option are typed with spaces between them."""
    for k, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag not in NUMBER_LIST_OPTIONS:
            continue
        rest = list(words[k + 1 :])
        first = value if equals else rest.pop(0) if rest else ""
        parts = [first]
        while rest and _split_numbers(rest[0]) is not None:
            parts.append(rest.pop(0))
        if len(parts) < 2 or _split_numbers(first) is None or (command == COUNT_COMMAND and len(parts) == 2):
            continue
        joined = ",".join(x for part in parts for x in _split_numbers(part) or [])
        raise InputError(
            f"{flag} {' '.join(parts)}: the numbers of an option are separated by commas, without spaces; "
            f"expected {flag}{'=' if joined.startswith('-') else ' '}{joined}"
        )


def comma_separated(text: str) -> str | None:
    """Return numbers that spaces or semicolons separate as an option takes them; None if they are not numbers."""
    numbers = _split_numbers(text)
    return None if numbers is None else ",".join(numbers)


def is_number(text: str) -> bool:
    """Return True if a text is one number."""
    return NUMBER_PATTERN.fullmatch(text.strip()) is not None


def _split_numbers(text: str) -> list[str] | None:
    parts = [part for part in SEPARATORS.split(text.strip()) if part]
    return parts if parts and all(NUMBER_PATTERN.fullmatch(part) for part in parts) else None


def explain_bad_number(error: Any, words: Sequence[str]) -> None:
    """Rewrite the message of an error for a value that is not a number: quote the value and say what to type."""
    param = getattr(error, "param", None)
    names = [] if param is None else [*param.opts, *param.secondary_opts]
    value, message = _typed_value(names, words), str(getattr(error, "message", ""))
    integer = "integer" in message
    if value is None or not (integer or "float" in message or "number" in message) or is_number(value) > integer:
        return
    error.message = f"{value!r} is not a {'whole ' if integer else ''}number; {_advice(value, integer)}"


def _typed_value(names: Sequence[str], words: Sequence[str]) -> str | None:
    for k, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in names:
            return value if equals else words[k + 1] if k + 1 < len(words) else None
    return None


def _advice(value: str, integer: bool) -> str:
    """Return advice on what to type in place of a value."""
    if not integer and re.fullmatch(r"[-+]?\d+,\d+", value):
        return f"expected a decimal point: {value.replace(',', '.')}"
    if match := re.match(rf"({NUMBER_PATTERN.pattern})\s*[a-zA-Z%°/^]+", value):
        return f"expected it without a unit, in SI units: {match[1]}"
    return f"expected a {'whole ' if integer else ''}number such as {3 if integer else 2.5}"
