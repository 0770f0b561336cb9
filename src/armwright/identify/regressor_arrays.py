"""The regressor Y of a robot, tau = Y(q, qd, qdd) pi, as arrays."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array, common_shape, scalars, stacked
from armwright.errors import InputError
from armwright.formulations import find_formulation
from armwright.formulations.parts import springs
from armwright.formulations.parts.coordinates import mechanism_at, positions
from armwright.formulations.problem import ARGUMENT_MEANINGS
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.model.description import Description
from armwright.model.unit_vectors import unit_length_error

FLOAT64 = np.dtype("float64")


@lru_cache(maxsize=32)
def compiled_regressor(robot: Description) -> Function:
    """Return the compiled regressor of a robot."""
    return compile_function(robot, "regressor")


def spring_torques(robot: Description, q: Array) -> Array:
    """Return the torques (k, n) of springs at positions (k, nq); the regressor does not include them."""
    mechanism = robot.mechanism()
    placed_mechanism = mechanism_at(mechanism, list(q.T))
    return stacked(springs.torques(placed_mechanism, positions(placed_mechanism, list(q.T))), q.shape[:-1], FLOAT64)


def regressor(robot: Description, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return Y with tau = Y pi, shape (..., n, parameters); `parameter_names(robot)` names its columns.

    It is compiled on first use, and depends only on the geometry and the gravity of the robot.
    """
    if not isinstance(robot, Description):
        raise InputError(f"regressor got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    return compiled_regressor(robot)(q, qd, qdd)


def uncompiled_regressor(robot: Description, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return the regressor without compiling it, which is faster for the first few hundred states."""
    inputs = {"q": (q, robot.nq), "qd": (qd, robot.n), "qdd": (qdd, robot.n)}
    arrays = {
        name: (checked_array(name, x, (size,), FLOAT64, ARGUMENT_MEANINGS[name]), 1)
        for name, (x, size) in inputs.items()
    }
    batch = common_shape(arrays)
    state = [scalars(x, batch) for x, _ in arrays.values()]
    result = stacked(find_formulation("regressor")(robot.mechanism(), *state), batch, FLOAT64)
    if not np.isfinite(result).all():
        reason = unit_length_error(robot, "q", arrays["q"][0])
        raise InputError(reason or "q, qd and qdd have a number that is not finite, or too large")
    return result
