"""XML documents as text, and unique names for their elements."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML document may hold, not even as numbers."""


def xml_text(root: ET.Element) -> str:
    """Return the text of a document; forbidden characters are escaped, as \\x1b."""
    for element in root.iter():
        for key, value in element.attrib.items():
            element.attrib[key] = FORBIDDEN_CHARACTERS.sub(_escaped, value)
        if element.text:
            element.text = FORBIDDEN_CHARACTERS.sub(_escaped, element.text)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _escaped(character: re.Match[str]) -> str:
    return character[0].encode("unicode_escape").decode("ascii")


def unique_names(names: Iterable[str], reserved: Sequence[str] = ()) -> list[str]:
    """Return names that differ from each other and from the reserved ones; repetitions are numbered."""
    given = list(names)
    taken, found, following = {*given, *reserved}, list[str](), dict.fromkeys(reserved, 2)
    for name in given:
        fresh = name
        while name in following and fresh in taken:
            fresh = f"{name}_{following[name]}"
            following[name] += 1
        following.setdefault(name, 2)
        taken.add(fresh)
        found.append(fresh)
    return found


def unused_name(name: str, names: Sequence[str]) -> str:
    """Return the name, or a numbered one that is not among these."""
    return unique_names([*names, name])[-1]
