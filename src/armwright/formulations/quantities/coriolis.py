"""The Coriolis matrix C(q, qd) of Christoffel symbols: C qd is the velocity torque, and dM/dt - 2C is skew-symmetric.

From the natural orthogonal complement (T^T M T)' = Td^T M T + T^T Md T + T^T M Td, written link by link in the
base frame:

    C_jk = sum_i  m u_j . ud_k + e_j . (I ed_k + X e_k),    X = 1/2 (w~ I - I w~ - (I w)~)

e, u are the partial angular velocity and the partial velocity of the centre of mass of link i; w is its angular
velocity. Any X with X w = w x I w and symmetric part 1/2 dI/dt makes dM/dt - 2C skew; this one is symmetric in
k and in the joint whose rate multiplies it, which is what makes C the matrix of Christoffel symbols (Echeandia
and Wensing 2021).
"""

from armwright.algebra import IDENTITY, ZERO, Matrix, Vector, Z
from armwright.chain import Chain
from armwright.formulations.parts.types import Coordinates, SquareMatrix


def coriolis_matrix(chain: Chain, q: Coordinates, qd: Coordinates) -> SquareMatrix:
    n = chain.n
    C: SquareMatrix = [[0] * n for _ in range(n)]
    W, o, w, v = IDENTITY, ZERO, ZERO, ZERO  # frame, origin, angular velocity, velocity of the origin
    axes: list[Vector] = []
    origins: list[Vector] = []
    axis_rates: list[Vector] = []
    origin_rates: list[Vector] = []
    for i, (joint, link) in enumerate(zip(chain.joints, chain.bodies, strict=True)):
        R, s = joint.rotation(q[i]), W @ joint.offset(q[i])
        W, o, v = Matrix(*(R.T @ row for row in W)), o + s, v + w.cross(s)
        axis = W @ Z
        if joint.prismatic:
            v = v + axis * qd[i]
        else:
            w = w + axis * qd[i]
        axes.append(axis)
        origins.append(o)
        axis_rates.append(w.cross(axis))
        origin_rates.append(v)

        r = W @ link.com
        c, cd = o + r, v + w.cross(r)
        inertia = W.dot(link.inertia.matrix).dot(W.T)
        e, ed, u, ud = [], [], [], []
        for k in range(i + 1):
            if chain.joints[k].prismatic:
                e.append(ZERO)
                ed.append(ZERO)
                u.append(axes[k])
                ud.append(axis_rates[k])
            else:
                e.append(axes[k])
                ed.append(axis_rates[k])
                u.append(axes[k].cross(c - origins[k]))
                ud.append(axis_rates[k].cross(c - origins[k]) + axes[k].cross(cd - origin_rates[k]))
        for k in range(i + 1):
            gyration = (w.cross(inertia @ e[k]) - inertia @ w.cross(e[k]) - (inertia @ w).cross(e[k])) * 0.5
            moment, force = inertia @ ed[k] + gyration, link.mass * ud[k]
            for j in range(i + 1):
                C[j][k] = C[j][k] + (u[j].dot(force) + e[j].dot(moment))
    return C
