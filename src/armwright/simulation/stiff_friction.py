"""Joints that stick: dry friction that rounds off at rest is stiff there, and an implicit method takes longer steps."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.names import shown
from armwright.robot import Robot
from armwright.simulation.plan import with_smooth_friction

STABILITY_LIMIT = 6.0
"""Steps of dop853 times the rate at which something decays stay below this."""

MAX_EXPLICIT_STEPS = 50_000
"""Steps of an explicit method that take less time than an implicit one, which takes some thousand, each dearer."""

MIN_STEP_RATIO = 0.1
"""Steps this part of the longest stable one, or longer, are as short as friction makes them."""

SINGULAR_CONDITION = 1e14
"""The condition of a mass matrix that has no inverse."""

EXPLICIT, IMPLICIT = "dop853", "radau"


def method_for(robot: Robot, q: Array, duration: float) -> str:
    """Return dop853, or radau where joints at rest would hold it to very short steps."""
    return IMPLICIT if sticking_rate(robot, q)[0] * duration > STABILITY_LIMIT * MAX_EXPLICIT_STEPS else EXPLICIT


def sticking_rate(robot: Robot, q: Array) -> tuple[float, int]:
    """Return the fastest rate (1/s) at which friction brings a joint at q to rest, and which joint that is.

    It is the slope of the friction at rest over the inertia; zero where no friction is dry, or none could be felt.
    """
    if robot.balls or not any(joint.coulomb for joint in robot.joints):
        return 0.0, 0
    joints = with_smooth_friction(robot).joints
    slopes = np.array([j.viscous + (j.coulomb / j.smooth if j.coulomb else 0.0) for j in joints])
    inertia = robot.mass_matrix(q)
    if not np.linalg.cond(inertia) < SINGULAR_CONDITION:  # an error says so when it moves
        return 0.0, 0
    rates, modes = np.linalg.eig(np.linalg.solve(inertia, np.diag(slopes)))
    fastest = int(np.argmax(np.abs(rates)))
    return float(np.abs(rates[fastest])), int(np.argmax(np.abs(modes[:, fastest])))


def short_step_reason(robot: Robot, q: Array, step: float) -> str:
    """Return that dry friction makes steps as short as these, and what helps; nothing if it does not."""
    jumping = [joint.name for joint in robot.joints if joint.coulomb and not joint.smooth]
    if jumping:
        return f"the dry friction of {shown(jumping[0])} jumps at rest; expected a speed to round it off, smooth="
    rate, joint = sticking_rate(robot, q)
    if rate * step < MIN_STEP_RATIO * STABILITY_LIMIT:
        return ""
    return (
        f"the dry friction of {shown(robot.joints[joint].name)} at rest holds steps to {STABILITY_LIMIT / rate:.1g} s; "
        f'expected integrator="{IMPLICIT}", which no such step holds back, or a larger smooth= speed'
    )
