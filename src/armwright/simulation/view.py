"""A run from its states: torques, accelerations and energies are looked up along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Kernel
from armwright.simulation.kernels import view_of
from armwright.simulation.motion import View
from armwright.simulation.plan import Plan
from armwright.simulation.run import Run, Statistics
from armwright.torque import Moment


def looked_up(kernel: Kernel, arrays: Sequence[Array]) -> Array:
    """The results of the program `view` (k, columns) for times, states and open parameters (k, entries)."""
    out = np.empty((len(arrays[0]), *kernel.shape), kernel.dtype)
    kernel.run([np.ascontiguousarray(x) for x in arrays], out)
    return out


def viewed(plan: Plan, times: Array, states: Array) -> View:
    """What there is to see of states (k, entries) at some times."""
    robot, n = plan.robot, plan.robot.n
    if plan.traced or (plan.opened is not None and plan.law.reference is not None):
        shared, opened = plan.shared, np.tile(plan.inputs, (len(times), 1))
        if not plan.traced:
            opened = np.concatenate([opened, *plan.law.reference(times)], axis=-1)  # type: ignore[misc]
        arrays = (times[:, None], states, opened) if opened.size else (times[:, None], states)
        kernel = view_of(shared.robot, plan.numbers.form, (), shared.names, "float64")
        return View.of(looked_up(kernel, arrays), n, shared.lifted)
    parts = plan.layout.split(states)
    mechanism, q, qd = robot.mechanism(), parts["q"], parts["qd"]
    rows = zip(times.tolist(), q.tolist(), qd.tolist(), parts["memory"].tolist(), strict=True)
    both = np.array([plan.law.shared(Moment(t, a, b, mechanism, m)) for t, a, b, m in rows], dtype=float)
    tau, drag = both.reshape(len(times), 2, n).swapaxes(0, 1)
    qdd = robot.forward_dynamics(q, qd, tau + drag)
    return View(tau, qdd, drag, robot.kinetic_energy(q, qd), robot.potential_energy(q))


def run_of(plan: Plan, times: Array, states: Array, statistics: Statistics, message: str = "") -> Run:
    """A run from its states (k, entries)."""
    arrays: dict[str, Any] = {name: part.copy() for name, part in plan.layout.split(states).items()}
    arrays |= {name: np.ascontiguousarray(x) for name, x in vars(viewed(plan, times, states)).items()}
    reference = None
    if plan.law.reference is not None:
        reference = tuple(np.asarray(x, dtype=float) for x in plan.law.reference(times))
    return Run(
        robot=plan.robot,
        t=times.copy(),
        **arrays,
        statistics=statistics,
        settings=plan.settings,
        reference=reference,  # type: ignore[arg-type]
        exact=plan.law.exact,
        message=message,
    )
