"""The regressor Y with tau = Y(q, qd, qdd) pi: inverse dynamics of links that have one of the ten parameters only.

Torque is linear in the parameters, so column k of Y is the torque of a robot whose parameter k is one and whose others
are zero. The formulation is Khalil's, which works in the ten parameters; a link without any is free, so the column of a
link is traced along the joints up to it and no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import ZERO, Scalar, Symmetric, Vector
from armwright.arrays import Array, checked, common_shape, scalars, stacked
from armwright.chain import Chain, MomentLink, Wrench
from armwright.compile import Function
from armwright.errors import InputError
from armwright.formulations import Formulation, khalil
from armwright.formulations.actuators import rubbing
from armwright.formulations.coupled import gathered
from armwright.formulations.types import Coordinates
from armwright.identify.vector import TEN
from armwright.model.description import Description

COMPILED = 12
"""Longer chains would take more than ten seconds to compile; they run as written, with NumPy arrays as scalars."""

NOTHING = MomentLink(0, ZERO, Symmetric(0, 0, 0, 0, 0, 0))
FLOAT64 = np.dtype("float64")


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


def rows(
    chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, _loads: tuple[Wrench, ...] = ()
) -> list[list[Scalar]]:
    """Y by rows, over any scalar; q, qd and qdd are those of the joints of the chain."""
    columns = [gathered(chain, column) for column in (*link_columns(chain, q, qd, qdd), *joint_columns(chain, qd, qdd))]
    return [list(row) for row in zip(*columns, strict=True)]


_BY_COLUMNS = Formulation("khalil, by columns", "joint_torque", "Khalil, Dombre 2002, 9.6", "n^2", rows, True)


class Regressor(Function):
    """Y of one robot: call it with q, qd, qdd of shape (..., n) for an array (..., n, 13 links)."""

    def __init__(self, robot: Description) -> None:
        super().__init__(robot, "joint_torque", _BY_COLUMNS, "float64")
        self.problem = "regressor"


@lru_cache(maxsize=32)
def compiled(robot: Description) -> Regressor:
    return Regressor(robot)


def regressor(robot: Description, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Y with tau = Y pi, shape (..., n, 13 links); the columns are named by `parameter_names(robot)`.

    Compiled on first use, and depends on the geometry and the gravity of the robot only.
    """
    if not isinstance(robot, Description):
        raise InputError(f"regressor got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    return compiled(robot)(q, qd, qdd) if len(robot.links) <= COMPILED else as_written(robot, q, qd, qdd)


def as_written(robot: Description, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """The same without a compiler, which is quicker for the first few hundred states."""
    given = {"q": q, "qd": qd, "qdd": qdd}
    arrays = {name: (checked(name, x, (robot.n,), FLOAT64, "one per joint"), 1) for name, x in given.items()}
    batch = common_shape(arrays)
    state = [scalars(x, batch) for x, _ in arrays.values()]
    result = stacked(_BY_COLUMNS(robot.chain(), *state), batch, FLOAT64)
    if not np.isfinite(result).all():
        raise InputError("q, qd and qdd hold a number that is not finite, or too large")
    return result
