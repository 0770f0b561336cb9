"""The regressor Y with tau = Y(q, qd, qdd) pi: inverse dynamics of links that have one of the ten parameters only.

Torque is linear in the parameters, so column k of Y is the torque of a robot whose parameter k is one and whose others
are zero. The formulation is Khalil's, which works in the ten parameters; a link without any is free, so the column of a
link is traced along the joints up to it and no further.
"""

from collections.abc import Iterator
from dataclasses import replace

from armwright.algebra import ZERO, Scalar, Symmetric, Vector
from armwright.chain import Chain, MomentLink, Wrench
from armwright.formulations import khalil
from armwright.formulations.parts.actuators import rubbing
from armwright.formulations.parts.coupled import gathered
from armwright.formulations.parts.types import Coordinates, Loads

TEN = 10
NOTHING = MomentLink(0, ZERO, Symmetric(0, 0, 0, 0, 0, 0))


def unit_link(k: int) -> MomentLink:
    """A link whose parameter k is one and whose others are zero."""
    ten = [int(i == k) for i in range(TEN)]
    return MomentLink(ten[0], Vector(*ten[1:4]), Symmetric(*ten[4:]))


def link_columns(chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> Iterator[list[Scalar]]:
    """The torques of all joints for each parameter of each link."""
    n, chain = chain.n, replace(chain, drives=())
    for i in range(1, n + 1):
        for k in range(TEN):
            inner = replace(chain, joints=chain.joints[:i], links=(NOTHING,) * (i - 1) + (unit_link(k),))
            yield khalil.inverse_dynamics(inner, q[:i], qd[:i], qdd[:i], (Wrench(),) * i) + [0] * (n - i)


def joint_columns(chain: Chain, qd: Coordinates, qdd: Coordinates) -> Iterator[list[Scalar]]:
    """The torques of all joints for the viscous and Coulomb friction and the rotor of each joint."""
    n = len(qd)
    for i, joint in enumerate(chain.joints):
        for torque in (qd[i], rubbing(replace(joint, viscous=0, coulomb=1), qd[i]), qdd[i]):
            yield [torque if j == i else 0 for j in range(n)]


def rows(chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, _loads: Loads = ()) -> list[list[Scalar]]:
    """Y by rows, over any scalar; q, qd and qdd are those of the joints of the chain."""
    columns = [gathered(chain, column) for column in (*link_columns(chain, q, qd, qdd), *joint_columns(chain, qd, qdd))]
    return [list(row) for row in zip(*columns, strict=True)]
