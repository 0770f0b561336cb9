"""Is a motor strong enough? The peaks of a motion beside what each joint can do."""

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
"""Relative: a motion planned to reach a limit exactly does not exceed it."""


UTILISATION_HEADINGS = ("joint", "peak torque", "at", "of limit", "peak speed", "at", "of limit")


@dataclass(frozen=True)
class Use:
    """The largest torque and speed of one joint, when, and its limits: None where the robot has none.

    Of many rollouts they are those of all, had by `torque_rollout` and `speed_rollout`. A limit of zero is one: such a
    joint has no motor.
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
        """The part of its torque that is used: above 1, the motor is too weak."""
        return _part(self.peak_torque, self.max_torque)

    @property
    def speed(self) -> float | None:
        """The part of its speed that is used."""
        return _part(self.peak_speed, self.max_velocity)

    @property
    def too_weak(self) -> bool:
        return _exceeds_limit(self.torque)

    @property
    def too_slow(self) -> bool:
        return _exceeds_limit(self.speed)

    @property
    def of_torque(self) -> str:
        """Such as '24% of 150 N m', or '-' for a joint without a limit."""
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
        """That the motor is too weak, in a sentence; nothing if it is not."""
        unit, when = self.units[0], _when(self.peak_torque_at, self.torque_rollout)
        need = f"{shown(self.joint)} needs {self.peak_torque:.4g} {unit} {when}"
        return f"{need}, more than the {self.max_torque:.4g} {unit} it has" if self.too_weak else ""

    @property
    def slowness(self) -> str:
        """That the motor is too slow, in a sentence; nothing if it is not."""
        unit, when = self.units[1], _when(self.peak_speed_at, self.speed_rollout)
        speed = f"{shown(self.joint)} moves at {self.peak_speed:.4g} {unit} {when}"
        return f"{speed}, faster than the {self.max_velocity:.4g} {unit} it can" if self.too_slow else ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table: name, peak torque, when, its part of the limit, and the same of speed."""
        torque, speed = self.units
        strong = (f"{tidy(self.peak_torque, '.4g')} {torque}", f"{self.peak_torque_at:.4g} s", self.of_torque)
        fast = (f"{tidy(self.peak_speed, '.4g')} {speed}", f"{self.peak_speed_at:.4g} s", self.of_speed)
        return (self.joint, *strong, *fast)

    def __str__(self) -> str:
        torque, speed = self.units
        strong, fast = _when(self.peak_torque_at, self.torque_rollout), _when(self.peak_speed_at, self.speed_rollout)
        return (
            f"{shown(self.joint)}: torque {tidy(self.peak_torque, '.4g')} {torque} {strong} ({self.of_torque}), "
            f"speed {tidy(self.peak_speed, '.4g')} {speed} {fast} ({self.of_speed})"
        )


@dataclass(frozen=True, repr=False)
class Utilisation:
    """The peak torque and speed of each joint against its limits; printed, a line each."""

    joints: tuple[Use, ...]

    @property
    def torque(self) -> Array:
        """The part of each joint's torque that is used, nan where it has no limit."""
        return np.array([np.nan if use.torque is None else use.torque for use in self.joints])

    @property
    def speed(self) -> Array:
        """The part of each joint's speed that is used, nan where it has no limit."""
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
        """A sentence for each limit that is exceeded; none, if every motor is strong and fast enough."""
        return [doubt for use in self.joints for doubt in (use.weakness, use.slowness) if doubt]

    def __str__(self) -> str:
        return "\n".join(map(str, self.joints))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For notebooks: a row for each joint, with what is beyond a limit marked."""
        return self.html()

    def html(self, places: Sequence[int] | None = None) -> str:
        """A table of all joints, or of those at some places."""
        uses = self.joints if places is None else [self.joints[i] for i in places]
        beyond = [(i, k) for i, use in enumerate(uses) for k, wrong in ((3, use.too_weak), (6, use.too_slow)) if wrong]
        return table(UTILISATION_HEADINGS, [use.cells for use in uses], beyond)


def utilisation(run: Run) -> Utilisation:
    """The peaks of a run beside the limits of its robot."""
    return _used(run.robot, run.t, run.tau, run.qd, None)


def batch_utilisation(batch: BatchRun) -> Utilisation:
    """The peaks of all rollouts, each as far as it came."""
    t = np.broadcast_to(batch.t, batch.qd.shape[:2])
    there = t <= batch.reached[:, None]
    return _used(batch.robot, t[there], batch.tau[there], batch.qd[there], np.nonzero(there)[0])


def _used(robot: Robot, t: Array, tau: Array, qd: Array, rollouts: Array | None) -> Utilisation:
    """Return the utilisation of records (k,), with their rollouts if there are several."""
    found = zip(robot.joints, _peaks(t, tau, rollouts), _peaks(t, qd, rollouts), strict=True)
    rounding = UTILISATION_TOLERANCE * float(np.max(np.abs(tau), initial=0.0))
    uses = []
    for joint, (torque, strong, first), (speed, fast, second) in found:
        needed = 0.0 if joint.max_torque == 0 and torque <= rounding else torque
        peaks = (needed, joint.max_torque, speed, joint.max_velocity)
        uses.append(Use(joint.name, joint.prismatic, *peaks, strong, fast, first, second))
    return Utilisation(tuple(uses))


def _peaks(t: Array, values: Array, rollouts: Array | None) -> list[tuple[float, float, int | None]]:
    """The largest of values (k, n) of either sign, when it is first had and by whom; of no record zero, at no time."""
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
    """The part and the limit; just above 1 the part has the digits to show it."""
    if part is None:
        return "-"
    if not limit:
        return f"more than 0 {unit}" if part else f"none of 0 {unit}"
    share = f"{part:.0%}" if part <= 1 + UTILISATION_TOLERANCE or part >= 1.005 else f"{part:.2%}"
    return f"{share} of {limit:.4g} {unit}"
