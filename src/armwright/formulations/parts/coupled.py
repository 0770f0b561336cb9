"""Joints that move together: each joint of the chain is driven by one coordinate of the robot.

    q_chain = G q + offset      qd_chain = G qd      tau = G^T tau_chain      M = G^T M_chain G

Every formulation is written for the joints of the chain; these functions stand before and after it. Where each joint
has its own coordinate, G is the identity and they return what they were given.
"""

from collections.abc import Sequence

from armwright.algebra import Scalar
from armwright.chain import Chain
from armwright.formulations.parts.types import Coordinates, SquareMatrix


def positions(chain: Chain, q: Coordinates) -> Coordinates:
    """Where every joint of the chain is."""
    return [d.factor * q[d.coordinate] + d.offset for d in chain.drives] if chain.drives else q


def rates(chain: Chain, qd: Coordinates) -> Coordinates:
    """How fast every joint of the chain moves; also for accelerations."""
    return [d.factor * qd[d.coordinate] for d in chain.drives] if chain.drives else qd


def gathered(chain: Chain, row: Sequence[Scalar]) -> list[Scalar]:
    """What one number per joint of the chain, a torque or an entry of a Jacobian, is per coordinate of the robot."""
    if not chain.drives:
        return list(row)
    sums: list[Scalar] = [0] * chain.coordinates
    for drive, x in zip(chain.drives, row, strict=True):
        sums[drive.coordinate] = sums[drive.coordinate] + drive.factor * x
    return sums


def congruent(chain: Chain, matrix: SquareMatrix) -> SquareMatrix:
    """The matrix of a quadratic form in the joints of the chain, in the coordinates of the robot."""
    if not chain.drives:
        return matrix
    columns = zip(*(gathered(chain, row) for row in matrix), strict=True)
    return [list(row) for row in zip(*(gathered(chain, column) for column in columns), strict=True)]
