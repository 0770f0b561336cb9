"""Torque over speed of every joint, as far as a study has kept them, within what joint and actuator allow.

Torques are those of the drive at the joint: what the motor gives times the ratio, less what the teeth take. So motors
are drawn as the joint sees them, with ratio and efficiency.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.model.records import JointModel
from armwright.names import tidy
from armwright.pages.report.plot import COLOURS, Curve, Plot
from armwright.sizing import Actuator
from armwright.sweep.drives import PREFIX
from armwright.sweep.results import Results

CELLS = (96, 64)
"""Of a picture, in each of which one point is drawn: that with the largest torque."""

HEADS = ("joint", "rollouts beyond", "actuator", "torque", "limit", "used", "speed", "limit", "used", "RMS torque")

Corners = list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Speeds and torques of a joint, some thousand of them at most, with the rows they are of."""

    joint: JointModel
    rows: Array
    speed: Array
    torque: Array


def kept(results: Results) -> tuple[tuple[str, str], str]:
    """The columns of speed and torque that there are, with words for them; none where a study has kept neither."""
    names = results.histories.schema.names if results.histories is not None else ()
    if "qd1" in names and "tau1" in names:
        return ("qd", "tau"), "at the records of the rollouts that are kept whole"
    if {"peak_speed1", "peak_torque1"} <= set(results.wanted):
        return (
            ("peak_speed", "peak_torque"),
            "the largest speed and the largest torque of each rollout, which need not fall together",
        )
    return ("", ""), "keep histories of qd and tau, or measure peak_speed and peak_torque, to see torque over speed"


def clouds(results: Results) -> Iterator[Cloud]:
    """One for each joint of one freedom, if there is anything to see."""
    (speed, torque), _ = kept(results)
    joints = results.robot.joints
    if not speed or any(joint.kind for joint in joints):
        return
    for k, joint in enumerate(joints, 1):
        yield _cloud(results, joint, f"{speed}{k}", f"{torque}{k}")


def _cloud(results: Results, joint: JointModel, speed: str, torque: str) -> Cloud:
    """Read part by part, so that memory does not grow with the study."""
    columns = ("row", speed, torque)
    low, high, points = np.full(2, np.inf), np.full(2, -np.inf), np.zeros((0, 3))
    for part in _parts(results, columns):
        low, high = np.minimum(low, part[:, 1:].min(axis=0)), np.maximum(high, part[:, 1:].max(axis=0))
    for part in _parts(results, columns):
        points = _thinned(np.concatenate([points, part]), low, high)
    points = points[np.argsort(points[:, 0], kind="stable")]
    return Cloud(joint, points[:, 0].astype(np.int64), points[:, 1], points[:, 2])


def _parts(results: Results, columns: tuple[str, ...]) -> Iterator[Array]:
    """Row, speed and torque (k, 3) of rollouts that came to their end."""
    source = results.histories if columns[1].startswith("qd") else results.rows
    with results.reading():
        for batch in source.to_batches(columns=list(columns)):
            part = np.column_stack([np.asarray(batch.column(name), float) for name in columns])
            fine = part[~np.isin(part[:, 0], results.broken)]
            if len(fine):
                yield fine


def _thinned(points: Array, low: Array, high: Array) -> Array:
    """One point for each cell of the picture, that with the largest torque; none is moved."""
    width = np.where(high > low, high - low, 1.0)
    at = np.minimum((points[:, 1:] - low) / width * CELLS, np.array(CELLS) - 1).astype(np.int64)
    order = np.lexsort((points[:, 0], -np.abs(points[:, 2])))
    _, first = np.unique(at[order] @ (1, CELLS[0]), return_index=True)
    return points[order[first]]


def plots(results: Results) -> Iterator[Plot]:
    """Torque over speed, joint by joint."""
    (speed, _), words = kept(results)
    for cloud in clouds(results):
        joint, choices = cloud.joint, results.drives.choices.get(cloud.joint.name, ())
        whole = speed == "qd"
        curves = [Curve("rollouts", cloud.speed.tolist(), cloud.torque.tolist(), colour=COLOURS[0], line=False)]
        for i, choice in enumerate(choices):
            name = f" {i + 1}" if len(choices) > 1 else ""
            colour = COLOURS[(6 + i) % len(COLOURS)]
            curves.append(_outline(f"peak{name}", motor(choice.actuator), whole, colour))
            if (steady := continuous(choice.actuator)) is not None:
                curves.append(_outline(f"continuous{name}", steady, whole, colour, dashed=True))
        if not choices and (corners := described(joint)):
            curves.append(_outline("limits", corners, whole, COLOURS[6]))
        fitted = "; ".join(f"{i}: {choice.actuator.name}" for i, choice in enumerate(choices, 1))
        fitted = choices[0].actuator.name if len(choices) == 1 else fitted
        units = ("speed, m/s", "force, N") if joint.prismatic else ("speed, rad/s", "torque, N m")
        note = ". ".join(filter(None, (f"{words[0].upper()}{words[1:]}", fitted)))
        yield Plot(f"{joint.name}: torque over speed", *units, curves, note=note, height=320)


def motor(drive: Actuator) -> Corners:
    """From rest to the largest speed: the peak torque, less where the voltage is not enough for torque and speed."""
    peak, fast, m, gear = drive.max_torque, drive.max_velocity, drive.motor, drive.gearbox
    if m.voltage is None or m.torque_constant is None or m.resistance is None:
        return [(0.0, peak), (fast, peak), (fast, 0.0)]
    through, constant = gear.ratio * gear.efficiency, m.torque_constant
    corner = (m.voltage - m.resistance * peak / through / constant) / constant / gear.ratio
    if corner >= fast:
        return [(0.0, peak), (fast, peak), (fast, 0.0)]
    left = max(0.0, (m.voltage - constant * fast * gear.ratio) * constant / m.resistance * through)
    start = [(0.0, peak), (corner, peak)] if corner > 0 else [(0.0, m.voltage * constant / m.resistance * through)]
    return [*start, (fast, left), (fast, 0.0)]


def continuous(drive: Actuator) -> Corners | None:
    """What it can give for ever, of motor and gearbox as far as they say."""
    m, gear, fast = drive.motor, drive.gearbox, drive.max_velocity
    through = None if m.continuous_torque is None else m.continuous_torque * gear.ratio * gear.efficiency
    known = [x for x in (through, gear.continuous_torque) if x is not None]
    return [(0.0, min(known)), (fast, min(known)), (fast, 0.0)] if known else None


def described(joint: JointModel) -> Corners:
    """What the robot itself says; of two limits one may be missing."""
    fast, most = joint.max_velocity, joint.max_torque
    if fast is None or most is None:
        return []
    return [(0.0, most), (fast, most), (fast, 0.0)]


def _outline(name: str, corners: Corners, whole: bool, colour: str, dashed: bool = False) -> Curve:
    """The limits where a motor drives, or all around: while it brakes, voltage and speed are not against each other."""
    x, y = (list(column) for column in zip(*corners, strict=True))
    if whole:
        fast, most = x[-1], max(y)
        x, y = [-fast, *x, fast], [most, *y, -most]
        x, y = [*x, *(-value for value in x)], [*y, *(-value for value in y)]
    return Curve(name, x, y, dashed=dashed, colour=colour)


@dataclass(frozen=True)
class Use:
    """What the rollouts of a study use of the limits of a joint: the cells of its row, and how many go beyond."""

    joint: JointModel
    beyond: int
    of: int
    cells: tuple[str, ...]

    @property
    def share(self) -> str:
        """The part of the rollouts that go beyond a limit."""
        return f"{share_text(self.beyond / self.of) if self.of else '-'} ({self.beyond} of {self.of})"


def share_text(share: float) -> str:
    """Return a part as a percentage; one that is not all is never shown as all, nor one that is not none as none."""
    if share in (0.0, 1.0):
        return "all" if share else "none"
    text = f"{100 * share:.3g}"
    return "more than 99.9 %" if text == "100" else f"{text} %"


def uses(results: Results) -> list[Use]:
    """What is used of the limits of the joints; nothing if none is known, or nothing of it was kept."""
    (speed, torque), _ = kept(results)
    joints = results.robot.joints
    if not speed or any(joint.kind for joint in joints):
        return []
    return [
        _used(results, joint, *_peaks(results, f"{speed}{k}", f"{torque}{k}"))
        for k, joint in enumerate(joints, 1)
        if joint.max_torque is not None or joint.max_velocity is not None
    ]


def table(used: Sequence[Use]) -> list[tuple[str, ...]]:
    return [HEADS, *((use.joint.name, use.share, *use.cells) for use in used)]


def verdict(used: Sequence[Use]) -> str:
    """A sentence on how many rollouts go beyond the limits of the joints."""
    if not used:
        return "What is used of the limits of the joints is not known."
    weak = [use for use in used if use.beyond]
    if not weak:
        return "No rollout goes beyond a limit of torque or speed."
    listed = ", ".join(f"{use.joint.name} {share_text(use.beyond / use.of)}" for use in weak)
    return f"Rollouts beyond a limit of torque or speed: {listed}."


def limit_of(results: Results, column: str) -> float | None:
    """The limit of what a column measures, if the robot has one that does not vary."""
    match = re.fullmatch(r"(peak_torque|peak_speed)(\d+)", column)
    if match is None or results.drives.choices.get(results.robot.joints[int(match[2]) - 1].name):
        return None
    joint = results.robot.joints[int(match[2]) - 1]
    return joint.max_torque if match[1] == "peak_torque" else joint.max_velocity


def _peaks(results: Results, speed: str, torque: str) -> tuple[Array, Array]:
    """Rows, and the largest speed and torque of each (rows, 2)."""
    parts = [_largest(part) for part in _parts(results, ("row", speed, torque))]
    whole = _largest(np.concatenate([np.zeros((0, 3)), *parts]))  # a rollout may begin in one part and end in another
    return whole[:, 0].astype(np.int64), whole[:, 1:]


def _largest(points: Array) -> Array:
    """The largest speed and torque of each row, (rows, 3)."""
    rows, which = np.unique(points[:, 0], return_inverse=True)
    most = np.zeros((len(rows), 2))
    np.maximum.at(most, which, np.abs(points[:, 1:]))
    return np.column_stack([rows, most])


def _used(results: Results, joint: JointModel, rows: Array, peaks: Array) -> Use:
    limits = _limits(results, joint, rows)[:, :2]
    choices = results.drives.choices.get(joint.name, ())
    cells = ["; ".join(choice.actuator.name for choice in choices) or "-"]
    units = ("m/s", "N") if joint.prismatic else ("rad/s", "N m")
    for k in (1, 0):
        at = int(np.argmax(peaks[:, k] / limits[:, k])) if len(rows) else 0
        most = float(peaks[at, k]) if len(rows) else np.nan
        limit = float(limits[at, k]) if len(rows) else np.nan
        known = (f"{tidy(limit, '.4g')} {units[k]}", f"{most / limit:.0%}") if np.isfinite(limit) else ("-", "-")
        cells += [f"{tidy(most, '.4g')} {units[k]}", *known]
    cells.append(_lasting(results, joint))
    return Use(joint, int(np.sum((peaks > limits).any(axis=1))), len(rows), tuple(cells))


def _lasting(results: Results, joint: JointModel) -> str:
    """What is used of the torque that the actuator gives for ever, by a motion repeated for ever."""
    name = f"rms_torque{results.robot.joints.index(joint) + 1}"
    if name not in results.wanted or joint.name not in results.drives.choices:
        return "-"
    data = results.columns(("row", "ok", name))
    limits = _limits(results, joint, data["row"][data["ok"]])[:, 2]
    used = np.max(data[name][data["ok"]] / limits, initial=0.0)
    return f"{used:.0%} of continuous" if np.isfinite(limits).any() else "-"


def _limits(results: Results, joint: JointModel, rows: Array) -> Array:
    """Largest speed, peak and continuous torque of each row (rows, 3), which its own choice of an actuator has."""
    choices: Sequence[Actuator] = [choice.actuator for choice in results.drives.choices.get(joint.name, ())]
    steady = [corners[0][1] if (corners := continuous(drive)) else np.inf for drive in choices]
    if len(choices) < 2 or f"{PREFIX}{joint.name}" not in results.varied:
        own = [np.inf if x is None else x for x in (joint.max_velocity, joint.max_torque, *steady[:1])]
        return np.tile(own, (len(rows), 1))
    data = results.columns(("row", f"{PREFIX}{joint.name}"))
    order = np.argsort(data["row"])
    at = order[np.searchsorted(data["row"], rows, sorter=order)]
    picked = data[f"{PREFIX}{joint.name}"][at].astype(int) - 1
    known = zip(choices, steady, strict=True)
    limits: Array = np.array([(drive.max_velocity, drive.max_torque, most) for drive, most in known])[picked]
    return limits
