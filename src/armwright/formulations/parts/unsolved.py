"""Derivatives of forward dynamics before their systems of equations are solved: dqdd/dx = -M^-1 dtau/dx."""

from typing import NamedTuple

from armwright.formulations.parts.linear import Factors
from armwright.formulations.parts.types import SquareMatrix


class UnsolvedDerivatives(NamedTuple):
    """The factors of M, and the derivatives of torques at given accelerations."""

    factors: Factors
    by_q: SquareMatrix
    by_qd: SquareMatrix

    def solved(self) -> list[SquareMatrix]:
        """[dqdd/dq, dqdd/dqd, M^-1]."""
        by_state = (self.factors.times(matrix) for matrix in (self.by_q, self.by_qd))
        return [*([[-entry for entry in row] for row in matrix] for matrix in by_state), self.factors.inverted()]
