"""Edits of single values in a file; everything else, comments included, stays byte for byte."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from armwright.check.findings import Edit
from armwright.errors import ModelError
from armwright.model import toml_lines, xml

_TAG = re.compile(rb"<[^\s/>]+(?:[^>\"']|\"[^\"]*\"|'[^']*')*>")


def apply_edits(data: bytes, format_: str, edits: Iterable[Edit]) -> bytes:
    """Return the file with the values replaced; of several edits of one value the first applies."""
    values: dict[tuple[int, str], str] = {}
    for edit in edits:
        values.setdefault((edit.place, edit.key), edit.text)
    return _edit_toml(data, values) if format_ == "toml" else _edit_xml(data, values)


def _edit_xml(data: bytes, values: dict[tuple[int, str], str]) -> bytes:
    starts = _element_starts(data)
    for (place, key), text in sorted(values.items(), reverse=True):  # from the end, so that earlier places stay valid
        tag = _TAG.match(data, starts[place])
        if tag is None:
            raise ModelError("the file cannot be edited in its encoding; save it as UTF-8")
        data = data[: tag.start()] + _with_attribute(tag[0], key, text) + data[tag.end() :]
    return data


def _element_starts(data: bytes) -> list[int]:
    """Return the byte index of each element, in the order of `xml.Element.walk`."""
    starts: list[int] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda *_: starts.append(parser.CurrentByteIndex)
    parser.Parse(data, True)
    return starts


def _with_attribute(tag: bytes, key: str, text: str) -> bytes:
    new, count = re.subn(
        rb"(\s" + re.escape(key).encode() + rb"\s*=\s*)(\"[^\"]*\"|'[^']*')",
        lambda match: match[1] + b'"' + text.encode() + b'"',
        tag,
        count=1,
    )
    if count:
        return new
    return re.sub(rb"\s*(/?>)$", lambda match: f' {key}="{text}"'.encode() + match[1], tag)


def xml_text(root: xml.Element) -> bytes:
    """Return elements as the text of a document, such as the result of xacro."""
    return "".join(_texts(root)).encode() + b"\n"


def _texts(element: xml.Element, indent: str = "") -> Iterator[str]:
    attributes = "".join(f" {key}={quoteattr(value)}" for key, value in element.attributes.items())
    text = escape(element.text.strip())
    if not element.children and not text:
        yield f"{indent}<{element.tag}{attributes}/>"
        return
    yield f"{indent}<{element.tag}{attributes}>{text}"
    for child in element.children:
        yield "\n"
        yield from _texts(child, indent + "  ")
    yield f"\n{indent}</{element.tag}>" if element.children else f"</{element.tag}>"


def _edit_toml(data: bytes, values: dict[tuple[int, str], str]) -> bytes:
    text = data.decode("utf-8-sig")
    expected: Any = tomllib.loads(text)
    places = {(row, key): line for (table, row, key), line in toml_lines.line_numbers(text).items() if table == "link"}
    lines = text.split("\n")
    for (row, key), value in sorted(values.items(), key=lambda item: places.get(item[0], 0), reverse=True):
        if (row, key) not in places:
            raise ModelError(f"link {row + 1}: {key} does not start a line; expected [[link]] tables")
        first = places[row, key] - 1
        last = _last_line(lines, first)
        comment = lines[last].partition("#")
        lines[first : last + 1] = [f"{key} = {value}" + (f"  #{comment[2]}" if comment[1] else "")]
        expected["link"][row][key] = tomllib.loads(f"x = {value}")["x"]
    new = "\n".join(lines)
    if tomllib.loads(new) != expected:
        raise ModelError("the layout of the file does not allow a repair of single values")
    return new.encode()


def _last_line(lines: list[str], first: int) -> int:
    """Return the last line of the statement that begins at line `first`."""
    for last in range(first, len(lines)):
        try:
            tomllib.loads("\n".join(lines[first : last + 1]))
        except tomllib.TOMLDecodeError:
            continue
        return last
    raise ModelError(f"line {first + 1}: a value without end")
