"""Which method integrates a robot whose joints may stick: dry friction that rounds off at rest is stiff there."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.robot import Robot
from armwright.simulation.plan import rounded

STABLE = 6.0
"""Steps of dop853 times the rate at which something decays stay below this."""

PATIENCE = 50_000
"""Steps of an explicit method that are no matter; an implicit one takes some thousand, each dearer."""

SINGULAR = 1e14
"""The condition of a mass matrix that has no inverse."""

EXPLICIT, IMPLICIT = "dop853", "radau"


def method_for(robot: Robot, q: Array, duration: float) -> str:
    """dop853, or radau where joints at rest would hold it to steps too short: friction's slope over the inertia."""
    if robot.balls or not any(joint.coulomb for joint in robot.joints):
        return EXPLICIT
    joints = rounded(robot).joints
    slopes = np.array([j.viscous + (j.coulomb / j.smooth if j.coulomb else 0.0) for j in joints])
    inertia = robot.mass_matrix(q)
    if not np.linalg.cond(inertia) < SINGULAR:  # which is told when it moves
        return EXPLICIT
    rates = np.linalg.eigvals(np.linalg.solve(inertia, np.diag(slopes)))
    return IMPLICIT if np.abs(rates).max() * duration > STABLE * PATIENCE else EXPLICIT
