"""The tables next to the robot as HTML, with escaped names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from armwright.algebra import Array
from armwright.model.printed_tables import joint_count
from armwright.pages.report.html import escape
from armwright.pages.viewer.playback import RunState
from armwright.pages.viewer.pose_state import StaticLoad
from armwright.robot import Robot
from armwright.simulation.utilisation import Use

GOOD_COLOUR, NEAR_COLOUR, EXCEEDED_COLOUR = "#2f9e6e", "#e0a030", "#d64545"
"""The colours of a share of a limit: up to `NEAR_SHARE`, up to 1, and above."""

NEAR_SHARE = 0.8
CELL_STYLE = "padding:1px 0 1px 7px;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
NAME_STYLE = (
    "padding:1px 0;text-align:left;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;max-width:0;width:99%"
)
HEAD_STYLE = "font-weight:600;opacity:0.65;vertical-align:bottom"


def heading(robot: Robot, notes: Sequence[str] = ()) -> str:
    """Return the name of a robot, its source, and notes on shapes that are not shown."""
    source = robot.source.split("\n")[0]
    lines = [f'<div style="font-weight:700;font-size:1.15em">{escape(robot.name)}</div>']
    lines += [f'<div style="opacity:0.75">{escape(text)}</div>' for text in (source, joint_count(robot)) if text]
    lines += [f'<div style="color:{NEAR_COLOUR}">{escape(note)}</div>' for note in notes]
    return _block(lines)


def section(text: str, more: str = "") -> str:
    """Return a heading with a line below."""
    below = f'<div style="opacity:0.7">{escape(more)}</div>' if more else ""
    return _block([f'<div style="font-weight:600">{escape(text)}</div>{below}'])


def status(text: str, good: bool = True) -> str:
    """Return a line in green, or in red if not `good`; an empty block for no text."""
    colour = GOOD_COLOUR if good else EXCEEDED_COLOUR
    return _block([f'<span style="color:{colour}">{escape(text)}</span>'] if text else [])


def holding_table(holding: StaticLoad) -> str:
    """Return the table of torques that hold the pose, with their shares of the limits."""
    torque, *_ = units = _common_units(holding.uses)
    rows = [
        [_name(use), _quantity(tau, use.units[0], units), _bar(use.torque, use.of_torque)]
        for use, tau in zip(holding.uses, holding.torques.tolist(), strict=True)
    ]
    sums = f"mass {holding.mass:.4g} kg, potential energy {_number(holding.energy)} J"
    return _block([_table(("joint", _head("torque", torque), "of<br>limit"), rows), _footer(sums)])


def instant_table(instant: RunState) -> str:
    """Return the table of torques, speeds and energies of a run at the cursor."""
    torque, speed = units = _common_units(instant.uses)
    rows = []
    for use, tau, qd in zip(instant.uses, instant.tau.tolist(), instant.qd.tolist(), strict=True):
        numbers = (_quantity(tau, use.units[0], units), _quantity(qd, use.units[1], units))
        rows.append([_name(use), *numbers, _bar(use.torque, use.of_torque)])
    total = _number(instant.kinetic + instant.potential)
    kinds = f"{_number(instant.kinetic)} J kinetic + {_number(instant.potential)} J potential"
    sums = f"t = {instant.t:.3f} s<br>energy {total} J = {kinds}<br>the motors supply {_number(instant.power)} W"
    heads = ("joint", _head("torque", torque), _head("speed", speed), "of<br>limit")
    return _block([_table(heads, rows), _footer(sums)])


def _common_units(uses: Sequence[Use]) -> tuple[str, str]:
    """Return the units of torque and of speed if all joints share them; else two empty texts."""
    known = {use.units for use in uses}
    return known.pop() if len(known) == 1 else ("", "")


def _head(word: str, unit: str) -> str:
    return f"{word}<br>{unit}" if unit else word


def _quantity(x: float, unit: str, common: tuple[str, str]) -> str:
    """Return a number, with its unit unless the head of the column has it."""
    return _number(x) if common[0] else f'{_number(x)} <span style="opacity:0.6">{unit}</span>'


def _footer(text: str) -> str:
    return f'<div style="margin-top:6px">{text}</div>'


def pose_lines(frame: str, T: Array) -> str:
    """Return the position and the orientation of a frame in the world."""
    x, y, z = T[:3, 3].tolist()
    roll, pitch, yaw = (0.0 if abs(angle) < 0.05 else angle for angle in roll_pitch_yaw(T))
    place = f"x {x:.4f}, y {y:.4f}, z {z:.4f} m"
    return _block([f"{escape(frame)}: {place}<br>roll {roll:.1f}, pitch {pitch:.1f}, yaw {yaw:.1f} degrees"])


def roll_pitch_yaw(T: Array) -> list[float]:
    """Return roll, pitch and yaw in degrees, about the x, y and z axes of the world one after the other."""
    R = T[:3, :3]
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    angles = np.degrees([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
    return [float(angle) for angle in angles]


def _block(lines: Iterable[str]) -> str:
    return f'<div style="padding:4px 10px;font-size:0.8em;line-height:1.45">{"".join(lines)}</div>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    body = _row(heads, f";{HEAD_STYLE}") + "".join(map(_row, rows))
    return f'<table style="border-collapse:collapse;width:100%">{body}</table>'


def _row(cells: Sequence[str], style: str = "") -> str:
    styles = (NAME_STYLE, *[CELL_STYLE] * (len(cells) - 1))
    columns = (f'<td style="{own}{style}">{cell}</td>' for own, cell in zip(styles, cells, strict=True))
    return f"<tr>{''.join(columns)}</tr>"


def _name(use: Use) -> str:
    return f'<span title="{escape(use.joint)}">{escape(use.joint)}</span>'


def _number(x: float) -> str:
    return "0" if abs(x) < 5e-4 else f"{x:.3f}" if abs(x) < 10 else f"{x:.1f}" if abs(x) < 1000 else f"{x:.4g}"


def _bar(part: float | None, text: str) -> str:
    """Return a bar with the share of a limit in percent; the limit is its tooltip."""
    if part is None:
        return '<span style="opacity:0.5" title="the robot has no limit for it">-</span>'
    colour = GOOD_COLOUR if part <= NEAR_SHARE else NEAR_COLOUR if part <= 1 else EXCEEDED_COLOUR
    width = 100 * float(np.clip(part, 0.0, 1.0))
    track = "display:inline-block;width:32px;height:7px;border-radius:4px;background:rgba(128,128,128,0.25)"
    inner = f"display:block;width:{width:.0f}%;height:7px;border-radius:4px;background:{colour}"
    share = f"{part:.0%}" if np.isfinite(part) else "none"
    label = f'<span style="display:inline-block;width:2.8em;color:{colour}">{share}</span>'
    return f'<span title="{escape(text)}"><span style="{track}"><span style="{inner}"></span></span>{label}</span>'
