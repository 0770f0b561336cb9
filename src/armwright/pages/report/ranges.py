"""Distributions of many quantities as one plot: a box from 5 to 95 %, the median, and whiskers to the ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from armwright.pages.report.html import escape
from armwright.pages.report.plot import COLOURS, Axis, Curve

ROW_HEIGHT = 26
"""The height of a row, pixels."""


@dataclass(frozen=True)
class Range:
    """A row: its name, the quantiles 0, 5, 50, 95 and 100 %, and its limit or None."""

    name: str
    quantiles: tuple[float, float, float, float, float]
    limit: float | None = None


@dataclass(frozen=True)
class Ranges:
    """Distributions on a common axis, one row each; values beyond a limit are red."""

    title: str
    x: str
    rows: Sequence[Range]
    note: str = ""
    width: int = 720

    @property
    def curves(self) -> list[Curve]:
        """The legend: the limits, if there are any."""
        return [Curve("limit", [], [], dashed=True, colour=COLOURS[6])] if self._limits else []

    @property
    def _limits(self) -> list[float]:
        return [row.limit for row in self.rows if row.limit is not None]

    def svg(self, legend: bool = True) -> str:
        """Return the picture as SVG, without a legend."""
        left = 40 + 7 * max(len(row.name) for row in self.rows)
        bottom = 44 + ROW_HEIGHT * len(self.rows)
        xs = Axis([row.quantiles for row in self.rows] + [self._limits, [0.0]], False, left, self.width - 24)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {bottom + 46}" role="img" '
            f'aria-label="{escape(self.title)}" font-family="system-ui, sans-serif" font-size="12" '
            'fill="currentColor">',
            f'<text x="16" y="22" font-size="15" font-weight="600">{escape(self.title)}</text>',
        ]
        for value, text in xs.ticks():
            x = xs.at(value)
            grid = f'x1="{x:.1f}" x2="{x:.1f}" y1="38" y2="{bottom}"'
            parts.append(f'<line {grid} stroke="currentColor" opacity="0.13"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle" opacity="0.7">{text}</text>')
        middle = (left + self.width - 24) / 2
        parts.append(f'<text x="{middle}" y="{bottom + 38}" text-anchor="middle">{escape(self.x)}</text>')
        for i, row in enumerate(self.rows):
            parts += _bar_elements(row, xs, left - 10, 44 + ROW_HEIGHT * i + ROW_HEIGHT // 2)
        return "\n".join([*parts, "</svg>"])


def _bar_elements(row: Range, xs: Axis, right: float, y: float) -> Iterator[str]:
    """Yield the SVG elements of a row at height y."""
    beyond = row.limit is not None and max(abs(row.quantiles[0]), abs(row.quantiles[4])) > row.limit
    colour = COLOURS[6] if beyond else COLOURS[0]
    smallest, low, median, high, largest = (xs.at(x) for x in row.quantiles)
    yield f'<text x="{right}" y="{y + 4}" text-anchor="end">{escape(row.name)}</text>'
    yield f'<line x1="{smallest:.1f}" x2="{largest:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="1.5"/>'
    yield (
        f'<rect x="{low:.1f}" y="{y - 7}" width="{max(high - low, 1.5):.1f}" height="14" rx="2" fill="{colour}" '
        f'fill-opacity="0.35" stroke="{colour}"/>'
    )
    yield f'<line x1="{median:.1f}" x2="{median:.1f}" y1="{y - 7}" y2="{y + 7}" stroke="{colour}" stroke-width="2.5"/>'
    if row.limit is not None:
        x = xs.at(row.limit)
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 10}" y2="{y + 10}" stroke="{COLOURS[6]}" stroke-width="2" '
            'stroke-dasharray="4 3"/>'
        )
