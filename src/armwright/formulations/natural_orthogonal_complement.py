"""Natural orthogonal complement, after Angeles and Ma (1988).

J. Angeles, O. Ma, 'Dynamic simulation of n-axis serial robotic manipulators using a natural orthogonal
complement', Int. J. Robotics Research 7 (1988). The twists of all links are T qd; T^T T-weighted by the link
masses is the mass matrix, sum over i of T_i^T M_i T_i. It costs O(n^3), and needs only the partial
velocities of the chain.

    e[i][j]  axis of joint j in the frame of link i: its partial angular velocity
    u[j]     partial velocity of the centre of mass of link i, e x r (revolute) or e (prismatic)

The paper factors each inertia tensor off line to save products. Here tensors are not factored, so links may have no
mass, or no inertia about some axis.
"""

from armwright.algebra import ZERO, Scalar, Vector, Z
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Mechanism


def mass_matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """Return the mass matrix as rows."""
    n = mechanism.n
    I: SquareMatrix = [[0] * n for _ in range(n)]  # noqa: E741  (the paper's name)
    e: list[dict[int, Vector]] = []
    arm: list[dict[int, Vector]] = []
    for i, (joint, link, last) in enumerate(zip(mechanism.joints, mechanism.bodies, mechanism.parents, strict=True)):
        Q = joint.rotation(q[i])
        step = joint.offset_in_child(q[i], Q)
        inner = list(mechanism.inward_from(last))[::-1]
        arm.append({**{j: step if j == last else Q.T @ arm[last][j] + step for j in inner}, i: ZERO})
        e.append({**{j: Q.axis_in_child if j == last else Q.T @ e[last][j] for j in inner}, i: Z})
        angular = {j: ZERO if mechanism.joints[j].prismatic else axis for j, axis in e[i].items()}
        u = {j: axis if mechanism.joints[j].prismatic else axis.cross(arm[i][j] + link.com) for j, axis in e[i].items()}
        for j, axis in angular.items():
            h, p = link.inertia @ axis, link.mass * u[j]
            for k in (k for k in angular if k >= j):
                entry: Scalar = angular[k].dot(h) + u[k].dot(p)
                I[j][k] = I[j][k] + entry
    for j in range(n):
        for k in range(j):
            I[j][k] = I[k][j]
    return I
