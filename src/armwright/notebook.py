"""Tables and boxes for notebooks; every element has inline styles, so that none leak into the page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from armwright.names import shown, shown_lines

_BOX = "display:flex;gap:24px;flex-wrap:wrap;align-items:flex-start;font-family:system-ui,sans-serif;font-size:13px"
_TABLE = "font-size:13px;border-collapse:collapse;font-variant-numeric:tabular-nums;margin:4px 0;background:none"
_CELL = "text-align:left;padding:2px 12px 2px 0;border:0;border-bottom:1px solid #8884;background:none"
_HEAD = f"{_CELL};font-weight:500;opacity:.7"
_BAD = "color:#d92d20"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], beyond: Iterable[tuple[int, int]] = ()) -> str:
    """Return a table as HTML; cells (row, column) in `beyond` are marked."""
    marked = set(beyond)
    head = "".join(f'<th style="{_HEAD}">{_text(name)}</th>' for name in heads)
    body = ""
    for i, row in enumerate(rows):
        styles = (f"{_CELL};{_BAD}" if (i, k) in marked else _CELL for k in range(len(row)))
        cells = "".join(f'<td style="{style}">{_text(x)}</td>' for style, x in zip(styles, row, strict=True))
        body += f'<tr style="background:none">{cells}</tr>'
    return f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def lines(text: str, bad: bool = False) -> str:
    """Return lines of text as HTML, unchanged."""
    style = f"margin:2px 0;white-space:pre-wrap{';' + _BAD if bad else ''}"
    return f'<div style="{style}">{html.escape(shown_lines(text))}</div>'


def box(title: str, *parts: str) -> str:
    """Return parts of HTML side by side under a title."""
    inner = "".join(f"<div>{part}</div>" for part in parts if part)
    head = f'<div style="font:600 14px system-ui,sans-serif">{_text(title)}</div>'
    return f'<div>{head}<div style="{_BOX}">{inner}</div></div>'


def _text(x: object) -> str:
    return html.escape(shown(x))
