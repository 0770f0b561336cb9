"""Replacements of characters that a terminal or pipe cannot encode, as with LC_ALL=C."""

from __future__ import annotations

import codecs
import sys
import unicodedata

ASCII_FORMS = {
    "\u00b7": "*",
    "\u00d7": "x",
    "\u2013": "-",
    "\u2014": "-",
    "\u2212": "-",
    "\u2018": "'",
    "\u2019": "'",
    "\u2026": "...",
}
"""Replacements of characters that an encoding lacks."""


def replace_unencodable() -> None:
    """Replace characters that the terminal cannot encode, instead of raising an error."""
    codecs.register_error("armwright", _substitute)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="armwright")


def _substitute(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of characters that the terminal lacks; bytes of file names pass unchanged."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    try:
        return text.encode("ascii", "surrogateescape"), error.end
    except UnicodeEncodeError:
        return "".join(map(_plain, text)), error.end


def _plain(character: str) -> str:
    """Return a character in ASCII: its plain form, such as a space for a no-break space, or its escape sequence."""
    simple = ASCII_FORMS.get(character) or unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return simple or character.encode("ascii", "backslashreplace").decode()
