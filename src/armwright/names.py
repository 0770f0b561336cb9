"""Names and numbers as they are shown.

Whatever a terminal or a page would obey in a name instead of showing it is written out; what is only rounding is 0.
"""

from __future__ import annotations

import unicodedata

CONTROL_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of characters that are orders, halves of characters, or end a line."""

DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of what follows, and so show a name as another."""


def shown(name: object) -> str:
    """A name in one line, with escapes, line breaks and turns of direction written out, such as \\x1b."""
    text = str(name)
    if text.isprintable():
        return text
    return "".join(
        _written(c) if c in DIRECTION_MARKS or unicodedata.category(c) in CONTROL_CATEGORIES else c for c in text
    )


def shown_lines(text: object) -> str:
    """A text of several lines with everything but the line breaks as in `shown`."""
    return "\n".join(map(shown, str(text).split("\n")))


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


PRINT_ROUNDING = 1e-12
"""Below this a number of order one is rounding, and its digits mean nothing."""


def tidy(x: float, form: str = ".1e") -> str:
    """A number as it is printed: 0 where it is only rounding."""
    return "0" if abs(x) < PRINT_ROUNDING else format(x, form)
