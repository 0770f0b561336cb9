"""The momentum of a robot that nothing holds: what it is, and what changes it.

    dP/dt = m g + R f          dL/dt = R (n - c x f)

P is the linear momentum, L the angular one about the centre of mass, in the axes of the world; f and n are force and
moment of the free joint at the origin of its body, R and c the rotation and the centre of mass seen from that body.
The momentum that belongs to the velocities of the free joint is M_root qd, in the axes of its body and about its
origin, and the rows M_root of the mass matrix also tell mass and centre of mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from armwright.algebra import Array, Scalar, Vector, structural
from armwright.formulations.parts import springs
from armwright.formulations.parts.coordinates import placed, positions
from armwright.formulations.parts.rotors_and_friction import friction
from armwright.layout import IMPULSE
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.robot import Robot


def is_free(robot: Description) -> bool:
    """Return True if all of a robot hangs on one free joint, which has no rotor, and nothing else on the base."""
    hung = [i for i, parent in enumerate(robot.parents) if parent < 0]
    alone = len(hung) == 1 and bool(robot.balls) and (robot.balls[0].kind, robot.balls[0].joint) == ("free", 0)
    return alone and not any(joint.armature for joint in robot.joints[:IMPULSE])


def impulse_rates(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    force: Sequence[Scalar],
    mass_matrix: Callable[[], Any],
) -> list[Scalar]:
    """Force and moment about the centre of mass in the axes of the world, weight aside, of those of the free joint.

    Friction and springs of that joint act from outside, too.
    """
    there = placed(mechanism, list(q))
    parts = friction(there, list(qd)), springs.torques(there, positions(there, list(q)))
    felt = [given - rub - spring for given, rub, spring in zip(force, *(part[:IMPULSE] for part in parts), strict=True)]
    f, n = Vector(*felt[:3]), Vector(*felt[3:])
    if all(structural(x, 0) for x in (*f, *n)):
        return [0] * IMPULSE
    stand = there.joints[0].placement
    assert stand is not None, "a free joint has a body that stands somewhere"
    M = mass_matrix()
    c = Vector(M[5][1], M[3][2], M[4][0]) * (1 / M[0][0])
    R = mechanism.base.rotation.dot(stand.rotation)
    return [*(R @ f), *(R @ (n - c.cross(f)))]


ENERGY_ROUNDING = 1e-12
"""Of the energy: with less of it a robot does not move about its centre of mass."""


class Momentum(NamedTuple):
    """The momentum of a free robot at states: linear and angular (k, 3), mass, and bounds by its energy (k,).

    Those are sqrt(2 m T), and sqrt(2 I T) with the energy T of what moves about the centre of mass.
    """

    linear: Array
    angular: Array
    mass: float
    most_linear: Array
    most_angular: Array


def momentum(robot: Robot, q: Array, qd: Array, kinetic: Array) -> Momentum:
    """Linear momentum, and angular momentum about the centre of mass, along states (k, nq) and (k, n)."""
    M = robot.mass_matrix(q)[:, :IMPULSE]
    R = robot.link_poses(q)[:, 0, :3, :3]
    mass = float(M[0, 0, 0])
    c = np.stack([M[:, 5, 1], M[:, 3, 2], M[:, 4, 0]], axis=-1) / mass
    own = (M @ qd[..., None])[..., 0]
    angular = own[:, 3:] - np.cross(c, own[:, :3])
    far = np.sum(c * c, axis=-1)
    about_com = M[:, 3:, 3:6] - mass * (far[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
    inertia = np.linalg.eigvalsh(about_com)[:, -1]
    turned = [(R @ x[..., None])[..., 0] for x in (own[:, :3], angular)]
    about = np.maximum(kinetic - np.sum(own[:, :3] ** 2, axis=-1) / (2 * mass), ENERGY_ROUNDING * kinetic)
    most = np.sqrt(2 * np.maximum(kinetic, 0.0) * mass), np.sqrt(2 * about * np.maximum(inertia, 0.0))
    return Momentum(turned[0], turned[1], mass, *most)
