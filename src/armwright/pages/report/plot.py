"""Curves as SVG with linear or logarithmic axes and a legend, and pages of them: `figures`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright import files
from armwright.algebra import Array
from armwright.errors import InputError
from armwright.pages.report.html import document, escape, table

COLOURS = (
    *("#2563eb", "#d9480f", "#0f9d58", "#a21caf", "#b8860b", "#0891b2", "#dc2626", "#64748b", "#7c3aed", "#65a30d"),
    *("#be185d", "#0d9488", "#92400e", "#4338ca", "#166534", "#9f1239"),
)


MAX_DRAWN_VALUE = 1e300
"""The largest magnitude that is drawn; the difference of larger numbers may overflow."""


@dataclass(frozen=True)
class Curve:
    """Points, joined by a line if `line`, and with markers if `marks`; the line of a reference is `dashed`."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    marks: bool = False
    dashed: bool = False
    colour: str = ""
    line: bool = True


def per_joint(t: Array, values: Array, joints: Sequence[int] | None = None, names: Sequence[str] = ()) -> list[Curve]:
    """Return a curve for each listed joint, by default all, of values (times, n), with names or numbers."""
    shown = range(values.shape[1]) if joints is None else joints
    labels = names or [f"joint {i + 1}" for i in range(values.shape[1])]
    return [Curve(labels[i], t.tolist(), values[:, i].tolist(), colour=COLOURS[i % len(COLOURS)]) for i in shown]


@dataclass(frozen=True)
class Plot:
    """Curves on common axes; a long legend makes the plot higher than `height`."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    x_log: bool = False
    y_log: bool = False
    note: str = ""
    width: int = 720
    height: int = 420
    _box: tuple[int, int, int, int] = field(default=(78, 40, 190, 48), repr=False)  # left, top, right, bottom

    def svg(self, legend: bool = True) -> str:
        """Return the picture as SVG; without a `legend` it is narrower."""
        left, top, right, bottom = self._box
        height = max(self.height, 90 + 17 * len(self.curves)) if legend else self.height
        x0, x1, y0, y1 = left, self.width - right, height - bottom, top
        width = self.width if legend else self.width - right + 22
        xs = Axis([c.x for c in self.curves], self.x_log, x0, x1)
        ys = Axis([c.y for c in self.curves], self.y_log, y0, y1)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(self.title)}" font-family="system-ui, sans-serif" font-size="12" '
            'fill="currentColor">',
            f'<text x="{left}" y="22" font-size="15" font-weight="600">{escape(self.title)}</text>',
        ]
        for value, label in ys.ticks():
            y = ys.at(value)
            parts.append(f'<line x1="{x0}" x2="{x1}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" opacity="0.13"/>')
            parts.append(f'<text x="{x0 - 8}" y="{y + 4:.1f}" text-anchor="end" opacity="0.7">{label}</text>')
        for value, label in xs.ticks():
            x = xs.at(value)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y0}" y2="{y1}" stroke="currentColor" opacity="0.13"/>')
            parts.append(f'<text x="{x:.1f}" y="{y0 + 18}" text-anchor="middle" opacity="0.7">{label}</text>')
        parts.append(f'<text x="{(x0 + x1) / 2}" y="{height - 8}" text-anchor="middle">{escape(self.x)}</text>')
        middle = (y0 + y1) / 2
        rotation = f'transform="translate(16 {middle}) rotate(-90)"'
        parts.append(f'<text {rotation} text-anchor="middle">{escape(self.y)}</text>')
        for i, curve in enumerate(self.curves):
            colour = curve.colour or COLOURS[i % len(COLOURS)]
            parts += _curve_elements(curve, colour, xs, ys)
            if legend:
                parts += _legend_entry(curve, colour, x1 + 14, top + 8 + 17 * i)
        return "\n".join([*parts, "</svg>"])


def _curve_elements(curve: Curve, colour: str, xs: Axis, ys: Axis) -> list[str]:
    points = [(xs.at(x), ys.at(y)) for x, y in zip(curve.x, curve.y, strict=True) if xs.shows(x) and ys.shows(y)]
    if not curve.line:
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
        return [f'<path d="{dots}" stroke="{colour}" stroke-width="3" stroke-linecap="round" opacity="0.55"/>']
    text, name = " ".join(f"{x:.1f},{y:.1f}" for x, y in points), escape(curve.name)
    dash = ' stroke-dasharray="5 4"' if curve.dashed else ""
    line = f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round"{dash}>'
    drawn = [f"{line}<title>{name}</title></polyline>"]
    if curve.marks:
        values = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if xs.shows(x) and ys.shows(y)]
        for (x, y), (a, b) in zip(points, values, strict=True):
            tooltip = f"<title>{name}: {a:.4g}, {b:.4g}</title>"
            drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">{tooltip}</circle>')
    return drawn


def _legend(plot: Figure) -> str:
    """Return the legend as an HTML list, which also fits small screens."""
    rows = []
    for i, curve in enumerate(plot.curves):
        dash = ' stroke-dasharray="5 4"' if curve.dashed else ""
        line = f'<path d="M0 4H22" stroke="{curve.colour or COLOURS[i % len(COLOURS)]}" stroke-width="2.5"{dash}/>'
        rows.append(f'<li><svg viewBox="0 0 22 8" aria-hidden="true">{line}</svg>{escape(curve.name)}</li>')
    return f'<ul class="legend">{"".join(rows)}</ul>'


def _legend_entry(curve: Curve, colour: str, x: float, y: float) -> list[str]:
    dash = ' stroke-dasharray="5 4"' if curve.dashed else ""
    return [
        f'<line x1="{x}" x2="{x + 18}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>',
        f'<text x="{x + 24}" y="{y + 4}">{escape(curve.name)}</text>',
    ]


class Axis:
    """A map from values to positions on the page."""

    def __init__(self, groups: Sequence[ArrayLike], log: bool, start: float, end: float) -> None:
        values = np.concatenate([np.ravel(np.asarray(g, dtype=float)) for g in groups]) if groups else np.zeros(0)
        values = values[(np.abs(values) < MAX_DRAWN_VALUE) & ((values > 0) | (not log))]
        low, high = (float(values.min()), float(values.max())) if values.size else (0.1, 1.0)
        self.log, self.start, self.end = log, start, end
        if log:
            low, high = math.log10(low), math.log10(high)
        if high - low < 1e-12 * max(abs(low), abs(high), 1e-12):
            half = max(0.5, 1e-6 * abs(low))
            low, high = low - half, high + half
        pad = 0.04 * (high - low)
        self.low, self.high = low - pad, high + pad

    def shows(self, value: float) -> bool:
        return abs(value) < MAX_DRAWN_VALUE and (value > 0 or not self.log)

    def at(self, value: float) -> float:
        x = math.log10(value) if self.log else value
        return self.start + (x - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        if self.log:
            first, last = math.ceil(self.low), math.floor(self.high)
            step = max(1, (last - first) // 8 + (last - first > 8))
            return [(10.0**k, f"1e{k}" if abs(k) > 3 else f"{10.0**k:g}") for k in range(first, last + 1, step)]
        raw = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(raw))
        gap = next(k * power for k in (1, 2, 5, 10) if k * power >= raw)
        values = [k * gap for k in range(math.ceil(self.low / gap), math.floor(self.high / gap) + 1)]
        return [(v, f"{v:.6g}") for v in values]


Table: TypeAlias = tuple[str, Sequence[Sequence[str]]]
"""A heading, and rows of which the first is the head."""


class Figure(Protocol):
    """A picture with its curves, which a legend lists, and a note below."""

    @property
    def curves(self) -> Sequence[Curve]: ...
    @property
    def note(self) -> str: ...
    def svg(self, legend: bool = True) -> str: ...


def figures(
    title: str,
    introduction: str,
    plots: Sequence[Figure],
    tables: Sequence[Table],
    kind: str = "figures",
    tones: Mapping[str, str] | None = None,
    details: Sequence[Table] = (),
) -> str:
    """Return a page of tables, plots and further tables, the `details`; `tones` colour cells by their text.

    `kind` stands above the title.
    """

    def panels(shown: Sequence[Table]) -> list[str]:
        return [f'<section class="panel"><h2>{escape(head)}</h2>{table(rows, tones)}</section>' for head, rows in shown]

    body = [f'<p class="lead">{escape(introduction, lines=True)}</p>', *panels(tables)]
    for plot in plots:
        note = f"<figcaption>{escape(plot.note)}</figcaption>" if plot.note else ""
        body.append(f'<figure class="panel">{plot.svg(legend=False)}{_legend(plot)}{note}</figure>')
    return document(kind, title, "\n".join([*body, *panels(details)]))


def write(path: str | Path, page: str, folders: bool = False) -> Path:
    """Write a page, with `folders` also its folder, and return its path; InputError if that fails."""
    try:
        if folders:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        return files.write(path, page)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {path}: {error}") from None
