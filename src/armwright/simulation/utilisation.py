"""Peak torques and speeds of a motion against the limits of the joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.names import shown, tidy
from armwright.notebook import table

if TYPE_CHECKING:
    from armwright.robot import Robot
    from armwright.simulation.batch_run import BatchRun
    from armwright.simulation.run import Run

UTILISATION_TOLERANCE = 1e-9
"""The relative rounding of a limit, so that a motion planned to reach it does not exceed it."""

UTILISATION_HEADINGS = ("joint", "peak torque", "at", "of limit", "peak speed", "at", "of limit")


@dataclass(frozen=True)
class Use:
    """The largest torque and speed of one joint, their times, and its limits, None if the robot has none.

    Of many rollouts they are the largest of all, of `torque_rollout` and `speed_rollout`. A joint with a limit of zero
    has no motor.
    """

    joint: str
    prismatic: bool
    peak_torque: float
    max_torque: float | None
    peak_speed: float
    max_velocity: float | None
    peak_torque_at: float
    peak_speed_at: float
    torque_rollout: int | None = None
    speed_rollout: int | None = None

    @property
    def torque(self) -> float | None:
        """The peak torque over its limit: above 1, the motor is too weak."""
        return _part(self.peak_torque, self.max_torque)

    @property
    def speed(self) -> float | None:
        """The peak speed over its limit."""
        return _part(self.peak_speed, self.max_velocity)

    @property
    def too_weak(self) -> bool:
        return _exceeds_limit(self.torque)

    @property
    def too_slow(self) -> bool:
        return _exceeds_limit(self.speed)

    @property
    def of_torque(self) -> str:
        """The utilisation as text, such as '24% of 150 N m', or '-' without a limit."""
        return _of_limit(self.torque, self.max_torque, self.units[0])

    @property
    def of_speed(self) -> str:
        return _of_limit(self.speed, self.max_velocity, self.units[1])

    @property
    def units(self) -> tuple[str, str]:
        """The units of torque and of speed."""
        return ("N", "m/s") if self.prismatic else ("N m", "rad/s")

    @property
    def weakness(self) -> str:
        """A sentence if the motor is too weak; otherwise empty."""
        unit, when = self.units[0], _when(self.peak_torque_at, self.torque_rollout)
        need = f"{shown(self.joint)} needs {self.peak_torque:.4g} {unit} {when}"
        return f"{need}, more than the {self.max_torque:.4g} {unit} it has" if self.too_weak else ""

    @property
    def slowness(self) -> str:
        """A sentence if the motor is too slow; otherwise empty."""
        unit, when = self.units[1], _when(self.peak_speed_at, self.speed_rollout)
        speed = f"{shown(self.joint)} moves at {self.peak_speed:.4g} {unit} {when}"
        return f"{speed}, faster than the {self.max_velocity:.4g} {unit} it can" if self.too_slow else ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table: name; peak torque, its time, its part of the limit; the same for speed."""
        torque, speed = self.units
        torques = (f"{tidy(self.peak_torque, '.4g')} {torque}", f"{self.peak_torque_at:.4g} s", self.of_torque)
        speeds = (f"{tidy(self.peak_speed, '.4g')} {speed}", f"{self.peak_speed_at:.4g} s", self.of_speed)
        return (self.joint, *torques, *speeds)

    def __str__(self) -> str:
        torque, speed = self.units
        times = _when(self.peak_torque_at, self.torque_rollout), _when(self.peak_speed_at, self.speed_rollout)
        return (
            f"{shown(self.joint)}: torque {tidy(self.peak_torque, '.4g')} {torque} {times[0]} ({self.of_torque}), "
            f"speed {tidy(self.peak_speed, '.4g')} {speed} {times[1]} ({self.of_speed})"
        )


@dataclass(frozen=True, repr=False)
class Utilisation:
    """The peak torque and speed of each joint against its limits; printed, a line each."""

    joints: tuple[Use, ...]

    @property
    def torque(self) -> Array:
        """The peak torque of each joint over its limit, nan without a limit."""
        return np.array([np.nan if use.torque is None else use.torque for use in self.joints])

    @property
    def speed(self) -> Array:
        """The peak speed of each joint over its limit, nan without a limit."""
        return np.array([np.nan if use.speed is None else use.speed for use in self.joints])

    @property
    def too_weak(self) -> tuple[str, ...]:
        """The names of the joints that need more torque than they have."""
        return tuple(use.joint for use in self.joints if use.too_weak)

    @property
    def too_slow(self) -> tuple[str, ...]:
        """The names of the joints that move faster than they can."""
        return tuple(use.joint for use in self.joints if use.too_slow)

    @property
    def doubts(self) -> list[str]:
        """A sentence for each limit that is exceeded."""
        return [doubt for use in self.joints for doubt in (use.weakness, use.slowness) if doubt]

    def __str__(self) -> str:
        return "\n".join(map(str, self.joints))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return a table for notebooks, with a row for each joint and marks beyond limits."""
        return self.html()

    def html(self, places: Sequence[int] | None = None) -> str:
        """Return an HTML table of all joints, or of those with these indices."""
        uses = self.joints if places is None else [self.joints[i] for i in places]
        beyond = [(i, k) for i, use in enumerate(uses) for k, wrong in ((3, use.too_weak), (6, use.too_slow)) if wrong]
        return table(UTILISATION_HEADINGS, [use.cells for use in uses], beyond)


def utilisation(run: Run) -> Utilisation:
    """Return the peaks of a run against the limits of its robot."""
    return _utilisation(run.robot, run.t, run.tau, run.qd, None)


def batch_utilisation(batch: BatchRun) -> Utilisation:
    """Return the peaks of all rollouts, each until it ended."""
    t = np.broadcast_to(batch.t, batch.qd.shape[:2])
    valid = t <= batch.reached[:, None]
    return _utilisation(batch.robot, t[valid], batch.tau[valid], batch.qd[valid], np.nonzero(valid)[0])


def _utilisation(robot: Robot, t: Array, tau: Array, qd: Array, rollouts: Array | None) -> Utilisation:
    """Return the utilisation of records (k,), with their rollouts if there are several."""
    peaks = zip(robot.joints, _peaks(t, tau, rollouts), _peaks(t, qd, rollouts), strict=True)
    rounding = UTILISATION_TOLERANCE * float(np.max(np.abs(tau), initial=0.0))
    uses = []
    for joint, (torque, torque_at, first), (speed, speed_at, second) in peaks:
        needed = 0.0 if joint.max_torque == 0 and torque <= rounding else torque
        limits = (needed, joint.max_torque, speed, joint.max_velocity)
        uses.append(Use(joint.name, joint.prismatic, *limits, torque_at, speed_at, first, second))
    return Utilisation(tuple(uses))


def _peaks(t: Array, values: Array, rollouts: Array | None) -> list[tuple[float, float, int | None]]:
    """Return the largest absolute values (k, n), their first times and rollouts; zero at nan without records."""
    if not len(t):
        return [(0.0, np.nan, None)] * values.shape[1]
    sizes = np.abs(values)
    best = sizes.argmax(axis=0)
    return [
        (float(sizes[k, i]), float(t[k]), None if rollouts is None else int(rollouts[k])) for i, k in enumerate(best)
    ]


def _when(t: float, rollout: int | None) -> str:
    return f"at {t:.4g} s" + ("" if rollout is None else f" of rollout {rollout}")


def _part(peak: float, limit: float | None) -> float | None:
    if limit is None:
        return None
    return peak / limit if limit else np.inf if peak else 0.0


def _exceeds_limit(part: float | None) -> bool:
    return part is not None and part > 1 + UTILISATION_TOLERANCE


def _of_limit(part: float | None, limit: float | None, unit: str) -> str:
    """Return part and limit as text, with more digits for a part just above 1."""
    if part is None:
        return "-"
    if not limit:
        return f"more than 0 {unit}" if part else f"none of 0 {unit}"
    share = f"{part:.0%}" if part <= 1 + UTILISATION_TOLERANCE or part >= 1.005 else f"{part:.2%}"
    return f"{share} of {limit:.4g} {unit}"
