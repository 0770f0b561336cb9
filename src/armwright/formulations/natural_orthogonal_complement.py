"""Natural orthogonal complement, after Angeles and Ma (1988).

J. Angeles, O. Ma, 'Dynamic simulation of n-axis serial robotic manipulators using a natural orthogonal
complement', Int. J. Robotics Research 7 (1988). The twists of all links are T qd; T^T T-weighted by the link
masses is the mass matrix, sum over i of T_i^T M_i T_i. It costs O(n^3), and needs no property of the chain but
its partial velocities.

    e[j]     axis of joint j in the frame of link i: its partial angular velocity
    u[j]     partial velocity of the centre of mass of link i, e x r (revolute) or e (prismatic)

The paper factors each inertia tensor off line to save products; here it is used as it is, so that links without
mass or without inertia about some axis are allowed.
"""

from armwright.algebra import ZERO, Scalar, Vector, Z
from armwright.chain import Chain
from armwright.formulations.parts.types import Coordinates, SquareMatrix


def mass_matrix(chain: Chain, q: Coordinates) -> SquareMatrix:
    n = chain.n
    I: SquareMatrix = [[0] * n for _ in range(n)]  # noqa: E741  (the paper's name)
    e: list[Vector] = []
    arm: list[Vector] = []
    for i, (joint, link) in enumerate(zip(chain.joints, chain.bodies, strict=True)):
        Q = joint.rotation(q[i])
        step = joint.offset_in_child(q[i], Q)
        last = i - 1
        arm = [step if j == last else Q.T @ r + step for j, r in enumerate(arm)] + [ZERO]
        e = [Q.axis_in_child if j == last else Q.T @ axis for j, axis in enumerate(e)] + [Z]
        turning = [ZERO if chain.joints[j].prismatic else e[j] for j in range(i + 1)]
        u = [e[j] if chain.joints[j].prismatic else e[j].cross(arm[j] + link.com) for j in range(i + 1)]
        for j in range(i + 1):
            h, p = link.inertia @ turning[j], link.mass * u[j]
            for k in range(j, i + 1):
                entry: Scalar = turning[k].dot(h) + u[k].dot(p)
                I[j][k] = I[j][k] + entry
    for j in range(n):
        for k in range(j):
            I[j][k] = I[k][j]
    return I
