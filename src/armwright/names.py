"""Names and numbers for display.

Characters that would control a terminal or a page are escaped; a number that is only rounding is shown as 0.
"""

from __future__ import annotations

import unicodedata

CONTROL_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of control characters, surrogates and line separators."""

DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of text, and so make a name look like another."""


def shown(name: object) -> str:
    """Return a name in one line, with control characters, line breaks and direction marks escaped, such as \\x1b."""
    text = str(name)
    if text.isprintable():
        return text
    return "".join(
        _escaped(c) if c in DIRECTION_MARKS or unicodedata.category(c) in CONTROL_CATEGORIES else c for c in text
    )


def shown_lines(text: object) -> str:
    """Return a text of several lines, each as by `shown`."""
    return "\n".join(map(shown, str(text).split("\n")))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


PRINT_ROUNDING = 1e-12
"""The size below which a number of order one is rounding."""


def tidy(x: float, form: str = ".1e") -> str:
    """Return a number as text: 0 if it is only rounding."""
    return "0" if abs(x) < PRINT_ROUNDING else format(x, form)
