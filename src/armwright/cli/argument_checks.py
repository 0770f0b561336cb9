"""Checks of arguments before and after they are parsed: lists of numbers with spaces, values that are not numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from armwright.errors import InputError

NUMBER_LIST_OPTIONS = ("--payload", "--payload-there", "--payload-at", "--gravity", "--gravity-there", "--to", "--from")
"""Options that take several numbers with commas between."""

COUNT_COMMAND = "count"
"""The command whose argument may be a number of joints."""

NUMBER_PATTERN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
SEPARATORS = re.compile(r"[,;\s]+")


def check_arguments(command: str, words: Sequence[str]) -> None:
    """Raise an error for numbers of one option that have spaces between."""
    for k, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag not in NUMBER_LIST_OPTIONS:
            continue
        rest = list(words[k + 1 :])
        first = value if equals else rest.pop(0) if rest else ""
        given = [first]
        while rest and _split_numbers(rest[0]) is not None:
            given.append(rest.pop(0))
        if len(given) < 2 or _split_numbers(first) is None or (command == COUNT_COMMAND and len(given) == 2):
            continue
        joined = ",".join(x for part in given for x in _split_numbers(part) or [])
        raise InputError(
            f"{flag} {' '.join(given)}: the numbers of an option stand together, with commas and no spaces between; "
            f"expected {flag}{'=' if joined.startswith('-') else ' '}{joined}"
        )


def listed(text: str) -> str | None:
    """Return numbers with spaces or semicolons between as an option takes them, None if they are not numbers."""
    found = _split_numbers(text)
    return None if found is None else ",".join(found)


def is_number(text: str) -> bool:
    """Return True if a text is one number."""
    return NUMBER_PATTERN.fullmatch(text.strip()) is not None


def _split_numbers(text: str) -> list[str] | None:
    parts = [part for part in SEPARATORS.split(text.strip()) if part]
    return parts if parts and all(NUMBER_PATTERN.fullmatch(part) for part in parts) else None


def explain_bad_number(error: Any, words: Sequence[str]) -> None:
    """Rewrite the message about a value that is not a number: what was typed, and what to type."""
    names, param = [], getattr(error, "param", None)
    if param is not None:
        names = [*param.opts, *param.secondary_opts]
    value, told = _typed_value(names, words), str(getattr(error, "message", ""))
    whole = "integer" in told
    if value is None or not (whole or "float" in told or "number" in told) or is_number(value) > whole:
        return
    error.message = f"{value!r} is not a {'whole ' if whole else ''}number; {_advice(value, whole)}"


def _typed_value(names: Sequence[str], words: Sequence[str]) -> str | None:
    for k, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in names:
            return value if equals else words[k + 1] if k + 1 < len(words) else None
    return None


def _advice(value: str, whole: bool) -> str:
    """Return advice on what to type in place of a value."""
    if not whole and re.fullmatch(r"[-+]?\d+,\d+", value):
        return f"expected a decimal point: {value.replace(',', '.')}"
    if found := re.match(rf"({NUMBER_PATTERN.pattern})\s*[a-zA-Z%°/^]+", value):
        return f"expected it without a unit, in SI units: {found[1]}"
    return f"expected a {'whole ' if whole else ''}number such as {3 if whole else 2.5}"
