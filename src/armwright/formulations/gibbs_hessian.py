"""The mass matrix as the Hessian of the Gibbs function, term by term, after (20) and (21) of Mata et al. (2002).

V. Mata, S. Provenzano, F. Valero, J. I. Cuadrado, 'Serial-robot dynamics algorithms for moderately large numbers of
joints', Mechanism and Machine Theory 37 (2002). The paper derives it before its algorithm of order n^2
(`gibbs_appell`) but does not use it: it is of order n^3.

    D_jk = sum over i of m_i (drdd_i/dqdd_k) . (drdd_i/dqdd_j) + (dwd_i/dqdd_k) . I_i (dwd_i/dqdd_j)          (21)

    wd[i][k]   dwd_i/dqdd_k, the angular acceleration of link i by that of joint k, in frame i
    sdd[i][k]  dsdd_i/dqdd_k, the acceleration of the origin of frame i by it
    rdd[k]     drdd_i/dqdd_k, that of the centre of mass of link i

Extended to prismatic joints, as in (7e), and to trees: the sum goes over the links that hang on both joints.
"""

from armwright.algebra import ZERO, Vector, Z
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Mechanism


def mass_matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """Return the mass matrix as rows."""
    n = mechanism.n
    D: SquareMatrix = [[0] * n for _ in range(n)]
    wd, sdd = list[dict[int, Vector]](), list[dict[int, Vector]]()
    for i, (joint, link, last) in enumerate(zip(mechanism.joints, mechanism.bodies, mechanism.parents, strict=True)):
        R, s = joint.rotation(q[i]), joint.offset(q[i])
        inner = list(mechanism.inward_from(last))
        wd.append({k: R.T @ wd[last][k] for k in inner})
        sdd.append({k: R.T @ (sdd[last][k] + wd[last][k].cross(s)) for k in inner})  # (20)
        wd[i][i], sdd[i][i] = (ZERO, Z) if joint.prismatic else (Z, ZERO)
        rdd = {k: sdd[i][k] + wd[i][k].cross(link.com) for k in wd[i]}
        for j in wd[i]:
            force, moment = link.mass * rdd[j], link.inertia @ wd[i][j]
            for k in (k for k in wd[i] if k <= j):
                D[j][k] = D[j][k] + rdd[k].dot(force) + wd[i][k].dot(moment)  # (21)
    for j in range(n):
        for k in range(j):
            D[k][j] = D[j][k]
    return D
