"""XML documents as text, and unique names for their elements."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML documents may not contain, not even as numbers."""


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
    names = list(names)
    used, result, numbers = {*names, *reserved}, list[str](), dict.fromkeys(reserved, 2)
    for name in names:
        unique = name
        while name in numbers and unique in used:
            unique = f"{name}_{numbers[name]}"
            numbers[name] += 1
        numbers.setdefault(name, 2)
        used.add(unique)
        result.append(unique)
    return result


def unused_name(name: str, names: Sequence[str]) -> str:
    """Return the name, numbered if it is in `names`."""
    return unique_names([*names, name])[-1]
