"""What every page has in common: texts stay texts, data stay data, and a policy lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from armwright.names import shown, shown_lines

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def escape(text: object, lines: bool = False) -> str:
    """Any text as part of a page, in an element or a quoted attribute; with `lines`, line breaks stay."""
    return html.escape(shown_lines(text) if lines else shown(text))


def as_data(value: Any) -> str:
    """JSON to stand in a script element: no `<` is left in it that could end the element or begin another."""
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with {{name}} replaced by its value, all in one pass: what a value holds is never replaced again.

    {{policy}} is the content security policy of the template: its own style and script run, named by their hashes, and
    nothing else does, nor is anything fetched.
    """
    known = {"policy": policy(template), **values}
    return _PLACE.sub(lambda place: known[place[1]], template)


def policy(template: str) -> str:
    """A meta element that allows the styles and scripts which stand in the template, and nothing else."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for name, pattern in (("style-src", _STYLE), ("script-src", _SCRIPT)):
        if own := pattern.findall(template):
            rules.append(f"{name} {' '.join(map(_hash, own))}")
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
