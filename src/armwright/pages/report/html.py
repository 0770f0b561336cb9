"""Parts of every page: escaped texts, embedded data, templates and the content security policy."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from armwright.names import shown, shown_lines

_PLACE = re.compile(r"\{\{([\w./]+)\}\}")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def escape(text: object, lines: bool = False) -> str:
    """Return a text escaped for an element or a quoted attribute; with `lines`, line breaks stay."""
    return html.escape(shown_lines(text) if lines else shown(text))


def json_data(value: Any) -> str:
    """Return JSON for a script element: it has no `<` that could end the element or begin another."""
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def packaged_text(name: str) -> str:
    """Return the text of a file of this package: a template, a style, a script."""
    return resources.files("armwright.pages.report").joinpath(*name.split("/")).read_text(encoding="utf-8")


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the template with {{name}} replaced by its value, in one pass: values are never expanded again.

    A name with a dot, such as {{look.css}}, is a file of this package. {{policy}} is the content security policy: only
    the styles and scripts of the template are used, identified by their hashes, and nothing is fetched.
    """
    packaged = {name: packaged_text(name) for name in _PLACE.findall(template) if "." in name}
    filled = _PLACE.sub(lambda place: packaged.get(place[1], place[0]), template)
    all_values = {**values, "policy": policy(filled), **packaged}
    return _PLACE.sub(lambda place: all_values[place[1]], template)


def document(kind: str, title: str, body: str) -> str:
    """Return a page without script, with its kind, its title as text and its body as HTML."""
    return fill_template(packaged_text("plain.html"), {"kind": escape(kind), "title": escape(title), "body": body})


def table(rows: Sequence[Sequence[object]], tones: Mapping[str, str] | None = None) -> str:
    """Return rows of texts as a table, the first as its head; `tones` gives CSS classes to cells with these texts."""
    head = "".join(f'<th scope="col"{_length(cell)}>{escape(cell)}</th>' for cell in rows[0])
    body = "".join(f"<tr>{''.join(_cell(cell, tones or {}) for cell in row)}</tr>" for row in rows[1:])
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(cell: object, tones: Mapping[str, str]) -> str:
    tone = tones.get(str(cell))
    return f'<td class="{tone}"><span>{escape(cell)}</span></td>' if tone else f"<td{_length(cell)}>{escape(cell)}</td>"


MAX_UNBROKEN_CELL = 14
"""The largest number of characters of a cell that is never broken."""


def _length(cell: object) -> str:
    return f' class="{"short" if len(str(cell)) <= MAX_UNBROKEN_CELL else "long"}"'


def policy(template: str) -> str:
    """Return a meta element that allows the styles and scripts of the template and nothing else."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for name, pattern in (("style-src", _STYLE), ("script-src", _SCRIPT)):
        if texts := pattern.findall(template):
            rules.append(f"{name} {' '.join(map(_csp_hash, texts))}")
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def _csp_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
