"""The results of many motions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.lazy import cached_property
from armwright.names import shown
from armwright.robot import Robot
from armwright.simulation.motion_programs import Observables
from armwright.simulation.stop_hits import StopHits
from armwright.simulation.utilisation import Utilisation, batch_utilisation


@dataclass(frozen=True, eq=False)
class BatchRun:
    """Many motions: `t` (k,), q (rollouts, k, nq), qd (rollouts, k, n), work and losses (rollouts, k).

    t         times (k,), or (rollouts, k) where each rollout has its own start
    reached   the time at which each rollout ended (rollouts,); do not use later records of a failed one
    failed    True for rollouts that failed (rollouts,)
    finished  True for rollouts that reached their end (rollouts,): all that did not fail, unless Ctrl-C stopped them
    ended     the place in `events` of the event that ended each rollout at `reached`, -1 if none did (rollouts,);
              later records repeat the state at that event
    events    the names of the events
    measured  the measures of `measure=` by name (rollouts, n), nan where a rollout failed
    stops     the hits of stops for each joint (rollouts, n), found in every step; None without stops
    """

    robot: Robot
    t: Array
    q: Array
    qd: Array
    work: Array
    losses: Array
    reached: Array
    failed: Array
    finished: Array
    accepted: Array
    rejected: Array
    seconds: float
    steps_per_second: float
    look: Callable[[], Observables] = field(repr=False)
    memory: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    impulse: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    message: str = ""
    ended: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    events: tuple[str, ...] = ()
    measured: Mapping[str, Array] = field(default_factory=dict)
    stops: StopHits | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for another process, with the observables, which it cannot compute."""
        return {**vars(self), "look": None, "_observed": self._observed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        wrong = f", {int(self.failed.sum())} failed" if self.failed.any() else ""
        ended = f", {int((self.ended >= 0).sum())} ended by events" if (self.ended >= 0).any() else ""
        return f"<{len(self.q)} runs of {shown(self.robot.name)}, {self.t.min():g} to {self.t.max():g} s{wrong}{ended}>"

    @cached_property
    def _observed(self) -> Observables:
        return self.look()

    @property
    def tau(self) -> Array:
        """The torques of the drives (rollouts, k, n)."""
        return self._observed.tau

    @property
    def qdd(self) -> Array:
        """The accelerations (rollouts, k, n)."""
        return self._observed.qdd

    @property
    def stop_torque(self) -> Array:
        """The torques of stops at the records (rollouts, k, n), or (rollouts, k, 0) where there are none."""
        return self._observed.stop_torque

    @property
    def kinetic(self) -> Array:
        """The kinetic energies (rollouts, k), J."""
        return self._observed.kinetic

    @property
    def potential(self) -> Array:
        """The potential energies (rollouts, k), J."""
        return self._observed.potential

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy together (rollouts, k), J."""
        return self.kinetic + self.potential

    @cached_property
    def utilisation(self) -> Utilisation:
        """The peak torque and speed of each joint over all rollouts, against its limits."""
        return batch_utilisation(self)
