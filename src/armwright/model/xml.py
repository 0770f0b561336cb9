"""XML of robot files from unknown sources: parsed within limits, without entities, with the line of every element.

Document types are refused, so no entities are expanded or fetched. Size, depth and number of elements are bounded.
"""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from armwright.errors import ModelError
from armwright.files import robot_file
from armwright.model.transforms import cos_sin

MAX_XML_BYTES = 32 << 20
"""The largest size of a file; robot descriptions have hundreds of kilobytes."""

MAX_XML_DEPTH = 200
MAX_XML_ELEMENTS = 1_000_000

_ENCODING = re.compile(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([^"'>]*)""")


@dataclass
class Element:
    """A tag with its attributes, its children, its text, and its first line."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """Return the child with a tag, or None. Two are an error."""
        children = self.all(tag)
        if len(children) > 1:
            children[1].fail(f"a second <{tag}> in <{self.tag}>; expected at most one")
        return children[0] if children else None

    def need(self, tag: str) -> Element:
        child = self.one(tag)
        if child is None:
            self.fail(f"<{self.tag}> has no <{tag}>")
        return child

    def walk(self) -> Iterator[Element]:
        """Yield this element and all elements in it."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def fail(self, message: str) -> NoReturn:
        raise ModelError(f"{self.file}, line {self.line}: {message}")

    def text_of(self, name: str) -> str:
        """Return a required attribute."""
        if name not in self.attributes:
            self.fail(f"<{self.tag}> has no attribute {name!r}")
        return self.attributes[name]

    def number(self, name: str, default: float | None = None) -> float:
        if default is not None and name not in self.attributes:
            return default
        return self._float(name, self.text_of(name))

    def vector(self, name: str, default: tuple[float, ...], length: int = 3) -> tuple[float, ...]:
        """Return numbers separated by spaces."""
        if name not in self.attributes:
            return default
        parts = self.attributes[name].split()
        if len(parts) != length:
            self.fail(f'{name} = "{self.attributes[name]}": expected {length} numbers, got {len(parts)}')
        return tuple(self._float(name, part) for part in parts)

    def _float(self, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            self.fail(f'{name} = "{text}" is not a number')
        if not math.isfinite(value):
            self.fail(f'{name} = "{text}" is not finite')
        return value


def read(path: str | Path) -> Element:
    """Return the root element of a file."""
    return parse(robot_file(path, MAX_XML_BYTES), str(path))


def parse(data: bytes | str, file: str = "XML") -> Element:
    """Return the root element of a document."""
    raw = data.encode() if isinstance(data, str) else data
    if len(raw) > MAX_XML_BYTES:
        raise ModelError(f"{file} has {len(raw) >> 20} MB; expected at most {MAX_XML_BYTES >> 20}")
    if not raw.removeprefix(BOM_UTF8).strip():
        raise ModelError(f"{file} is empty; expected a robot")
    builder = _Builder(file)
    try:
        builder.parser.Parse(raw, True)
    except ModelError:
        raise
    except expat.ExpatError as error:
        text = f"{file}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})"
        raise ModelError(_encoding_error(raw, file) or text) from None
    except (ValueError, LookupError, UnicodeError) as error:  # an unknown encoding
        raise ModelError(f"{file}: cannot decode it ({error}); expected UTF-8") from None
    assert builder.root is not None
    return builder.root


def _encoding_error(raw: bytes, file: str) -> str | None:
    """Return the message for bytes that are not UTF-8 in a file without declared encoding, else None."""
    declared = _ENCODING.match(raw)
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or (declared and declared[1].lower() not in (b"utf-8", b"utf8")):
        return None
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return (
            f"{file}, line {line}: the byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8, or name its "
            'encoding in the first line: <?xml version="1.0" encoding="ISO-8859-1"?>'
        )
    return None


class _Builder:
    """The tree of elements, built during the parse."""

    def __init__(self, file: str) -> None:
        self.file, self.count = file, 0
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.texts: list[list[str]] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _where(self) -> str:
        return f"{self.file}, line {self.parser.CurrentLineNumber}"

    def _doctype(self, *_: object) -> None:
        raise ModelError(f"{self._where()}: a document type, which could define entities; robot files need none")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.stack) >= MAX_XML_DEPTH:
            raise ModelError(f"{self._where()}: elements are nested more than {MAX_XML_DEPTH} deep")
        if self.count > MAX_XML_ELEMENTS:
            raise ModelError(f"{self._where()}: more than {MAX_XML_ELEMENTS} elements")
        element = Element(tag, attributes, self.file, self.parser.CurrentLineNumber)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        self.texts.append([])

    def _end(self, _tag: str) -> None:
        self.stack.pop().text = "".join(self.texts.pop())

    def _characters(self, text: str) -> None:
        if self.texts:
            self.texts[-1].append(text)


def rotation_xyz(roll: float, pitch: float, yaw: float) -> NDArray[np.float64]:
    """Return Rot(z, yaw) Rot(y, pitch) Rot(x, roll), exact at right angles."""
    (cr, sr), (cp, sp), (cy, sy) = (cos_sin(angle) for angle in (roll, pitch, yaw))
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return np.array(rows, dtype=float)


def roll_pitch_yaw(R: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return angles with R = Rot(z, yaw) Rot(y, pitch) Rot(x, roll), accurate for every pitch.

    At a pitch of a right angle, roll and yaw have the same axis, and the roll is zero. Near it the roll is
    ill-conditioned, so the other angles are computed from the roll.
    """
    roll = math.atan2(R[2, 1], R[2, 2]) if math.hypot(R[2, 1], R[2, 2]) > 1e-15 else 0.0
    cr, sr = math.cos(roll), math.sin(roll)
    pitch = math.atan2(-R[2, 0], sr * R[2, 1] + cr * R[2, 2])
    return roll, pitch, math.atan2(sr * R[0, 2] - cr * R[0, 1], cr * R[1, 1] - sr * R[1, 2])
