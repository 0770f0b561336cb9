"""Start states of motions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import numbers
from armwright.errors import InputError
from armwright.function import compile as compile_function
from armwright.kinematics import LOOP_TOLERANCE, loops_closed
from armwright.model.unit_vectors import checked_unit_vectors
from armwright.robot import Robot
from armwright.simulation.plan import Plan, reference_states


def start_state(plan: Plan, q0: ArrayLike | None, qd0: ArrayLike | None, many: bool = False) -> tuple[Array, Array]:
    """Return checked start positions (nq,) and velocities (n,); with `many` also (rollouts, ...).

    The default is the start of the law's reference motion, or else the neutral position at rest.
    """
    robot = plan.robot
    begin = (robot.neutral, np.zeros(robot.n)) if plan.law.reference is None else _reference_start(plan)
    states = []
    for name, value, default in zip(("q0", "qd0"), (q0, qd0), begin, strict=True):
        n = default.shape[-1]
        each = "number per joint" if robot.nq == robot.n else "entry of q" if name == "q0" else "number per freedom"
        expected = f"(rollouts, {n}), or ({n},) for all of them" if many else f"({n},), one {each}"
        array = default if value is None else numbers(name, value, f"expected {expected}").astype(float)
        if array.shape[-1:] != (n,) or array.ndim > 1 + many or not array.size:
            raise InputError(f"{name} has shape {array.shape}; expected {expected}")
        if not np.isfinite(array).all():
            at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise InputError(f"{name}[{', '.join(map(str, at))}] is {array[at]}; expected finite numbers")
        states.append(array)
    q0 = checked_unit_vectors(robot, "q0", states[0])
    _check_closed(robot, q0)
    return q0, states[1]


def _reference_start(plan: Plan) -> tuple[Array, ...]:
    """Return positions and velocities at the start of the reference motion (n,), or of all of them (rollouts, n)."""
    starts = reference_states([law.reference for law in plan.laws or (plan.law,)], plan.times[0] + plan.start_offsets)
    single = len(starts[0]) == 1 and not plan.laws
    return tuple(x[0] if single else x for x in starts[:2])


def _check_closed(robot: Robot, q0: Array) -> None:
    """Raise an InputError if loops are open at q0."""
    if all(loop.dependent for loop in robot.loops):
        return
    gap = float(np.abs(robot.loop_errors(q0)).max())
    if gap <= LOOP_TOLERANCE:
        return
    jacobian = compile_function(robot, "loop_jacobian")
    if not all(loops_closed(robot.loop_errors, jacobian, at) for at in q0.reshape(-1, robot.nq)):
        raise InputError(
            f"the loops of {robot.name} are open by {gap:.2g} m or rad at q0; expected a closed start, such as "
            "robot.closed(q0, qd0) gives"
        )
