"""Stiffness by dry friction: smoothed friction is stiff at rest, where implicit methods take longer steps."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.names import shown
from armwright.robot import Robot
from armwright.simulation.plan import with_smooth_friction

STABILITY_LIMIT = 6.0
"""The largest product of a stable step of dop853 and a decay rate."""

MAX_EXPLICIT_STEPS = 50_000
"""The number of explicit steps that cost as much as the fewer but more expensive implicit ones."""

MIN_STEP_RATIO = 0.1
"""Friction counts as the cause of steps longer than this part of the longest stable step."""

SINGULAR_CONDITION = 1e14
"""The condition number of a singular mass matrix."""

EXPLICIT, IMPLICIT = "dop853", "radau"


def method_for(robot: Robot, q: Array, duration: float) -> str:
    """Return dop853, or radau if joints at rest would need very short steps of it."""
    return IMPLICIT if sticking_rate(robot, q)[0] * duration > STABILITY_LIMIT * MAX_EXPLICIT_STEPS else EXPLICIT


def sticking_rate(robot: Robot, q: Array) -> tuple[float, int]:
    """Return the fastest decay rate (1/s) of velocities at q by friction, and the index of that joint.

    It is the slope of the friction at rest over the inertia; zero without dry friction, or for a singular mass matrix.
    """
    if robot.balls or not any(joint.coulomb for joint in robot.joints):
        return 0.0, 0
    joints = with_smooth_friction(robot).joints
    slopes = np.array([j.viscous + (j.coulomb / j.smooth if j.coulomb else 0.0) for j in joints])
    inertia = robot.mass_matrix(q)
    if not np.linalg.cond(inertia) < SINGULAR_CONDITION:  # reported as an error when it moves
        return 0.0, 0
    rates, modes = np.linalg.eig(np.linalg.solve(inertia, np.diag(slopes)))
    fastest = int(np.argmax(np.abs(rates)))
    return float(np.abs(rates[fastest])), int(np.argmax(np.abs(modes[:, fastest])))


def short_step_reason(robot: Robot, q: Array, step: float) -> str:
    """Return a sentence on dry friction as the cause of short steps, with a remedy; empty if it is not the cause."""
    jumping = [joint.name for joint in robot.joints if joint.coulomb and not joint.smooth]
    if jumping:
        return f"the dry friction of {shown(jumping[0])} jumps at rest; expected a speed to round it off, smooth="
    rate, joint = sticking_rate(robot, q)
    if rate * step < MIN_STEP_RATIO * STABILITY_LIMIT:
        return ""
    return (
        f"the dry friction of {shown(robot.joints[joint].name)} at rest limits steps to {STABILITY_LIMIT / rate:.1g} "
        f's; expected integrator="{IMPLICIT}", which has no such limit, or a larger smooth= speed'
    )
