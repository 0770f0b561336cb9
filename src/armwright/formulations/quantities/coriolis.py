"""The Coriolis matrix C(q, qd) of Christoffel symbols: C qd is the velocity torque, and dM/dt - 2C is skew-symmetric.

S. Echeandia, P. M. Wensing, 'Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body
systems', J. Computational and Nonlinear Dynamics 16 (2021): moving composite bodies, a path inward from each joint.

    C_ij = S_i . (B_i S_j + I_i Sd_j),   C_ji = S_j . (B_i S_i + I_i Sd_i)        for j from i to the base

The velocities are half of those of the robot, as `parts.moving_bodies` computes 2 B and 2 Sd. Velocities of a ball
joint are no rates of coordinates and have no Christoffel symbols; there these equations define C.
"""

from armwright.algebra import ZERO, Z
from armwright.formulations.parts.moving_bodies import (
    MotionChange,
    RelativeVelocity,
    inward_path,
    moving_bodies,
    velocities,
)
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Joint, Mechanism


def coriolis_matrix(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> SquareMatrix:
    """Return C(q, qd) as rows."""
    n, joints = mechanism.n, mechanism.joints
    links = velocities(mechanism, q, [rate * 0.5 for rate in qd])
    changes = [_by_rate(joint, link) for joint, link in zip(joints, links, strict=True)]
    C: SquareMatrix = [[0] * n for _ in range(n)]
    for i, body in enumerate(moving_bodies(mechanism, links)):
        column, wrenches = body.column(joints[i]), [body.wrench_of(changes[i])]
        for j, u, y, (wrench,) in inward_path(mechanism, links, i, column, wrenches, None):
            C[j][i] = wrench.along(joints[j])
            C[i][j] = changes[j].torque_on(u, y)
    return C


def _by_rate(joint: Joint, link: RelativeVelocity) -> MotionChange:
    """Return S and twice Sd."""
    rate = (link.after + link.after).cross(Z)
    return MotionChange(ZERO, rate, ZERO) if joint.prismatic else MotionChange(Z, ZERO, rate)
