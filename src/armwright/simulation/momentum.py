"""The momentum of a robot with a free base, and its rate of change.

    dP/dt = m g + R f          dL/dt = R (n - c x f)

P is the linear momentum, L the angular momentum about the centre of mass, in the axes of the world; f and n are force
and moment of the free joint at the origin of its body, R the rotation of that body and c the centre of mass in its
frame. The rows M_root of the mass matrix for the free joint give the momentum M_root qd in the frame of its body, and
also mass and centre of mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from armwright.algebra import Array, Scalar, Vector, structural
from armwright.formulations.parts import springs
from armwright.formulations.parts.coordinates import mechanism_at, positions
from armwright.formulations.parts.rotors_and_friction import friction
from armwright.layout import IMPULSE
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.robot import Robot


def is_free(robot: Description) -> bool:
    """Return True if all of a robot hangs on one free joint, which has no rotor, and nothing else on the base."""
    roots = [i for i, parent in enumerate(robot.parents) if parent < 0]
    alone = len(roots) == 1 and bool(robot.balls) and (robot.balls[0].kind, robot.balls[0].joint) == ("free", 0)
    return alone and not any(joint.armature for joint in robot.joints[:IMPULSE])


def impulse_rates(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    force: Sequence[Scalar],
    mass_matrix: Callable[[], Any],
) -> list[Scalar]:
    """Return the external force, and moment about the centre of mass, without weight, in the axes of the world.

    `force` are those of the free joint; its friction and springs are external forces, too.
    """
    posed = mechanism_at(mechanism, list(q))
    parts = friction(posed, list(qd)), springs.torques(posed, positions(posed, list(q)))
    net = [drive - rub - spring for drive, rub, spring in zip(force, *(part[:IMPULSE] for part in parts), strict=True)]
    f, n = Vector(*net[:3]), Vector(*net[3:])
    if all(structural(x, 0) for x in (*f, *n)):
        return [0] * IMPULSE
    placement = posed.joints[0].placement
    assert placement is not None, "a placed free joint has a placement"
    M = mass_matrix()
    c = Vector(M[5][1], M[3][2], M[4][0]) * (1 / M[0][0])
    R = mechanism.base.rotation.dot(placement.rotation)
    return [*(R @ f), *(R @ (n - c.cross(f)))]


ENERGY_ROUNDING = 1e-12
"""Relative rounding of the kinetic energy: a robot with less does not move about its centre of mass."""


class Momentum(NamedTuple):
    """The momentum of a free robot at states: linear and angular (k, 3), mass, and bounds by its kinetic energy (k,).

    The bounds are sqrt(2 m T), and sqrt(2 I T) with the energy T of the motion about the centre of mass.
    """

    linear: Array
    angular: Array
    mass: float
    max_linear: Array
    max_angular: Array


def momentum(robot: Robot, q: Array, qd: Array, kinetic: Array) -> Momentum:
    """Return linear momentum, and angular momentum about the centre of mass, at states (k, nq) and (k, n)."""
    M = robot.mass_matrix(q)[:, :IMPULSE]
    R = robot.link_poses(q)[:, 0, :3, :3]
    mass = float(M[0, 0, 0])
    c = np.stack([M[:, 5, 1], M[:, 3, 2], M[:, 4, 0]], axis=-1) / mass
    local = (M @ qd[..., None])[..., 0]  # in the frame of the body
    angular = local[:, 3:] - np.cross(c, local[:, :3])
    squared = np.sum(c * c, axis=-1)
    about_com = M[:, 3:, 3:6] - mass * (squared[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
    inertia = np.linalg.eigvalsh(about_com)[:, -1]
    in_world = [(R @ x[..., None])[..., 0] for x in (local[:, :3], angular)]
    rotational = np.maximum(kinetic - np.sum(local[:, :3] ** 2, axis=-1) / (2 * mass), ENERGY_ROUNDING * kinetic)
    bounds = np.sqrt(2 * np.maximum(kinetic, 0.0) * mass), np.sqrt(2 * rotational * np.maximum(inertia, 0.0))
    return Momentum(in_world[0], in_world[1], mass, *bounds)
