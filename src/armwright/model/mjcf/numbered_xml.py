"""Elements written as XML again, one in each line, to locate MuJoCo's messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from armwright.model.xml import Element


@dataclass
class NumberedXml:
    """The element in each line of MuJoCo's input, which may be several documents."""

    elements: list[Element] = field(default_factory=list)

    def add(self, root: Element) -> str:
        """Return the XML of an element, in lines after those of earlier elements."""
        start = len(self.elements)
        return "\n" * start + "".join(self._text(root)).removesuffix("\n")

    def with_file_lines(self, message: str, file: str) -> str:
        """Return a message of MuJoCo with the lines of the files, and with the names of files other than `file`."""
        return re.sub(r"\bline (\d+)", lambda match: self._place(int(match[1]), file) or match[0], message)

    def _place(self, line: int, file: str) -> str:
        if not 0 < line <= len(self.elements):
            return ""
        element = self.elements[line - 1]
        return f"line {element.line}" if element.file == file else f"{element.file}, line {element.line}"

    def _text(self, root: Element) -> Iterator[str]:
        stack: list[Element | str] = [root]
        while stack:
            element = stack.pop()
            if isinstance(element, str):
                yield element
                continue
            self.elements.append(element)
            attributes = "".join(f" {name}={quoteattr(text)}" for name, text in element.attributes.items())
            if not element.children:
                yield f"<{element.tag}{attributes}/>\n"
                continue
            yield f"<{element.tag}{attributes}>\n"
            stack.append(f"</{element.tag}>")
            stack.extend(reversed(element.children))
