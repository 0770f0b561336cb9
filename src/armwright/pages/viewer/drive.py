"""Simulations that start from a pose: the laws to choose from, and the run that comes of one."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.robot import Robot
from armwright.simulation import Run, simulate
from armwright.simulation.stiff_friction import method_for
from armwright.torque import Law, pd, pd_gravity

LONGEST = 60.0
"""Seconds of a run."""

RECORDS = 1000
"""At most, of a run."""

STIFFNESS, DAMPING = 100.0, 20.0
"""Gains per inertia of the joint: an error dies out as e^(-10 t)."""

UNLIMITED = 1e9
"""N m, N: more than any joint gives."""

FALL, HOLD, SPRING, FLOAT = "fall freely", "hold, gravity compensated", "hold by PD alone", "gravity compensated only"
LAWS = (FALL, HOLD, SPRING, FLOAT)


def law_of(robot: Robot, q: Array, name: str, limited: bool) -> Law | None:
    """A law that starts at q. A base that floats has no drive; `limited`, no joint gives more than it has."""
    if name == FALL:
        return None
    driven = np.array([joint.kind not in ("free", "planar") for joint in robot.joints])
    inertia = np.diag(robot.mass_matrix(q)) * driven
    held = 0.0 if name == FLOAT else 1.0
    make = pd if name == SPRING else pd_gravity
    law: Law = make(q, STIFFNESS * held * inertia, DAMPING * held * inertia)
    most = [joint.max_torque if limited else None for joint in robot.joints]
    limits = np.array([UNLIMITED if limit is None else limit for limit in most]) * driven
    return law if (limits == UNLIMITED).all() else law.limited(limits)


def simulated(robot: Robot, q: Array, name: str, duration: float, limited: bool, stops: bool) -> Run:
    """The run from rest at q under the law of that name."""
    seconds = float(np.clip(duration if np.isfinite(duration) else 1.0, 0.01, LONGEST))
    law = law_of(robot, q, name, limited)
    every, method = max(0.01, seconds / RECORDS), method_for(robot, q, seconds)
    return simulate(
        robot, law, q, duration=seconds, integrator=method, rtol=1e-6, every=every, progress=False, stops=stops or None
    )
