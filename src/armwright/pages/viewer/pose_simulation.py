"""Simulations that start from the pose of a viewer: the drives to choose from, and the run."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.robot import Robot
from armwright.simulation import Run, simulate
from armwright.simulation.stiff_friction import method_for
from armwright.torque import Law, pd, pd_gravity

MAX_SECONDS = 60.0
"""The longest run, s."""

MAX_RUN_RECORDS = 1000
"""The largest number of records of a run."""

HOLD_STIFFNESS, HOLD_DAMPING = 100.0, 20.0
"""Gains per inertia of the joint: an error decays as e^(-10 t)."""

NO_LIMIT = 1e9
"""A torque or force, N m or N, above that of any joint."""

FREE_FALL, HOLD_COMPENSATED = "fall freely", "hold, gravity compensated"
HOLD_PD, GRAVITY_ONLY = "hold by PD alone", "gravity compensated only"
DRIVE_CHOICES = (FREE_FALL, HOLD_COMPENSATED, HOLD_PD, GRAVITY_ONLY)


def law_of(robot: Robot, q: Array, name: str, limited: bool) -> Law | None:
    """Return the law that starts at q. A floating base has no drive; if `limited`, torques stay within the limits."""
    if name == FREE_FALL:
        return None
    driven = np.array([joint.kind not in ("free", "planar") for joint in robot.joints])
    inertia = np.diag(robot.mass_matrix(q)) * driven
    gain = 0.0 if name == GRAVITY_ONLY else 1.0
    make = pd if name == HOLD_PD else pd_gravity
    law: Law = make(q, HOLD_STIFFNESS * gain * inertia, HOLD_DAMPING * gain * inertia)
    torques = (joint.max_torque if limited else None for joint in robot.joints)
    limits = np.array([NO_LIMIT if torque is None else torque for torque in torques]) * driven
    return law if (limits == NO_LIMIT).all() else law.limited(limits)


def simulate_from(robot: Robot, q: Array, name: str, duration: float, limited: bool, stops: bool) -> Run:
    """Simulate from rest at q under the drive of that name and return the run."""
    seconds = float(np.clip(duration if np.isfinite(duration) else 1.0, 0.01, MAX_SECONDS))
    law = law_of(robot, q, name, limited)
    every, method = max(0.01, seconds / MAX_RUN_RECORDS), method_for(robot, q, seconds)
    return simulate(
        robot, law, q, duration=seconds, integrator=method, rtol=1e-6, every=every, progress=False, stops=stops or None
    )
