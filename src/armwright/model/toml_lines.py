"""TOML texts: parsed within limits, with the line of every key."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from armwright.errors import ModelError

MAX_TOML_BYTES = 1 << 20
"""The largest size of a file, parsed in about a second; a robot of a thousand links has a third of it."""

MAX_TOML_DEPTH = 32
"""The largest number of parts of a key a.b.c, whose square bounds the parser's memory, and of nested brackets."""

_HEADER = re.compile(r"""^\s*(\[\[?)\s*([\w."'-]+)\s*\]""")

_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?(?:"{3,5}|\\?\Z)|"(?:\\.|[^"\\\n])*+(?:"|(?=\n)|\\?\Z)|'''  # texts between double quotes
    r"""'''.*?(?:'{3,5}|\Z)|'[^'\n]*+(?:'|(?=\n)|\Z)|"""  # those without escapes; an open one ends the search
    r"""#[^\n]*|[\[\]{}]|\n""",  # comments, brackets, ends of lines
    re.DOTALL,
)

_BRACKET = re.compile(r"[\[\]{}]")

_KEY = re.compile(r"""^\s*+["']?([^"'=#]++)["']?\s*+=""")

_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_TOML_DEPTH}}}")


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """Return the data of a TOML text, or raise a ModelError if it is invalid, too large or too deep."""
    if len(text) > MAX_TOML_BYTES:
        raise ModelError(f"{file} has {len(text) >> 10} kB; expected at most {MAX_TOML_BYTES >> 10}")
    bare = _TOKEN.sub(lambda token: "s" if token[0][0] in "\"'" else "" if token[0][0] == "#" else token[0], text)
    if deep := _DEEP_KEY.search(bare):
        raise ModelError(f"{file}: the key {deep[0][:20]}... has more than {MAX_TOML_DEPTH} parts; expected a few")
    depths = itertools.accumulate(1 if bracket[0] in "[{" else -1 for bracket in _BRACKET.finditer(bare))
    if max(depths, default=0) > MAX_TOML_DEPTH:  # Python can neither read nor print more
        raise ModelError(f"{file} is not valid TOML: its brackets are nested too deep, more than {MAX_TOML_DEPTH}")
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ModelError(f"{file} is not valid TOML: {error}") from None


def line_number(
    lines: Mapping[tuple[str, int, str | None], int], table: str, index: int, key: str | None
) -> int | None:
    """Return the line of a key, else of its table, else of the top-level key that contains this table."""
    places = ((table, index, key), (table, index, None), ("", 0, table))
    return next((lines[place] for place in places if place in lines), None)


def line_numbers(text: str) -> dict[tuple[str, int, str | None], int]:
    """Return the lines by (table, index, key); key None is the header of the table, table '' the top of the file."""
    lines: dict[tuple[str, int, str | None], int] = {}
    counts: dict[str, int] = {}
    table = ("", 0)
    for number, content, inline in _statements(text):
        if header := _HEADER.match(content):
            name, _, inner = header[2].replace('"', "").replace("'", "").partition(".")
            if inner:  # [link.slender]: a key of the current link
                lines.setdefault((name, counts.get(name, 0), inner), number)
                table = (header[2], 0)
            else:
                counts[name] = counts.get(name, -1) + 1
                table = (name, counts[name])
                lines[*table, None] = number
                lines.setdefault(("", 0, name), number)
        elif key := _KEY.match(content):
            name, _, inner = key[1].strip().partition(".")
            lines[*table, key[1].strip()] = number
            if table == ("", 0):  # payload = {...}, link = [{...}, {...}], payload.mass = 1
                lines.setdefault(("", 0, name), number)
                lines |= {(name, i, None): line for i, line in enumerate(inline)}
                lines |= {(name, 0, inner): number} if inner else {}
    return lines


def _statements(text: str) -> Iterator[tuple[int, str, list[int]]]:
    """Yield for each statement of a valid file its line, its text, and the lines of its inline tables.

    Lines within multi-line strings and arrays are not statements; tables within tables do not count.
    """
    lines = text.split("\n")
    number, start, open_brackets, inline = 1, 1, "", list[int]()
    for token in _TOKEN.findall(text):
        if token == "{" and open_brackets in ("", "["):
            inline.append(number)
        if token in ("[", "{"):
            open_brackets += token
        elif token in ("]", "}"):
            open_brackets = open_brackets[:-1]
        number += token.count("\n")
        if token == "\n" and not open_brackets:
            yield start, lines[start - 1], inline
            start, inline = number, []
    yield start, lines[start - 1], inline
