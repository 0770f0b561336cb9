"""Torques, accelerations and energies along the states of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Kernel
from armwright.errors import InputError, SingularError
from armwright.simulation.kernels import observables_kernel
from armwright.simulation.motion_programs import Observables
from armwright.simulation.plan import Plan
from armwright.simulation.run import Run
from armwright.simulation.run_files import Statistics
from armwright.simulation.stop_hits import StopHits, stop_torques
from armwright.torque import Moment
from armwright.torque.law import shared_of


def evaluated(kernel: Kernel, arrays: Sequence[Array]) -> Array:
    """Return the results of a kernel (k, ...) for times, states and runtime parameters (k, entries)."""
    out = np.empty((len(arrays[0]), *kernel.shape), kernel.dtype)
    kernel.run([np.ascontiguousarray(x) for x in arrays], out)
    return out


def observables_of(plan: Plan, times: Array, states: Array) -> Observables:
    """Return the observables of states (k, entries) at some times."""
    robot, n = plan.robot, plan.robot.n
    if plan.compilable or (plan.law_with_reference_inputs is not None and plan.law.reference is not None):
        parameters = plan.dynamics_parameters_at(times)
        if not plan.compilable:
            parameters = np.concatenate([parameters, *plan.law.reference(times)], axis=-1)  # type: ignore[misc]
        arrays = (times[:, None], states, parameters) if parameters.size else (times[:, None], states)
        return Observables.of(
            evaluated(observables_kernel(plan.dynamics), arrays), n, plan.code().base_potential_energy
        )
    parts = plan.layout.split(states)
    mechanism, q, qd = robot.mechanism(), parts["q"], parts["qd"]
    rows = zip(times.tolist(), q.tolist(), qd.tolist(), parts["memory"].tolist(), strict=True)
    moments = [Moment(t, a, b, mechanism, m) for t, a, b, m in rows]
    torques = np.array([shared_of(plan.law, at) for at in moments], dtype=float)
    tau, drag = torques.reshape(len(times), 2, n).swapaxes(0, 1)
    stop_torque = [stop_torques(plan.law, at) if plan.has_stops else [] for at in moments]
    qdd = _finite(robot.forward_dynamics, q, qd, tau + drag)
    kinetic, potential = _finite(robot.kinetic_energy, q, qd), _finite(robot.potential_energy, q)
    return Observables(tau, qdd, drag, kinetic, potential, np.array(stop_torque, float).reshape(len(times), -1))


def _finite(function: Callable[..., Array], *arrays: Array) -> Array:
    """Return a function of the robot at states, nan for states at which it raises an error."""
    try:
        return function(*arrays)
    except (InputError, SingularError):
        if len(arrays[0]) == 1:
            return np.full((1, *function(*(np.zeros_like(x) for x in arrays)).shape[1:]), np.nan)
        return np.concatenate([_finite(function, *(x[k : k + 1] for x in arrays)) for k in range(len(arrays[0]))])


def run_of(
    plan: Plan,
    times: Array,
    states: Array,
    statistics: Statistics,
    message: str = "",
    failed: bool = False,
    stops: StopHits | None = None,
) -> Run:
    """Return a run from its states (k, entries), with hits of `stops`; a `failed` run ends before numbers overflow."""
    observed = vars(observables_of(plan, times, states))
    if failed:
        rows = [np.isfinite(x).reshape(len(times), -1).all(axis=1) for x in (states, *observed.values())]
        finite = np.all(rows, axis=0)
        count = len(times) if finite.all() else int(np.argmin(finite))
        times, states, observed = times[:count], states[:count], {name: x[:count] for name, x in observed.items()}
    arrays: dict[str, Any] = {name: part.copy() for name, part in plan.layout.split(states).items()}
    arrays |= {name: np.ascontiguousarray(x) for name, x in observed.items()}
    reference = None
    if plan.law.reference is not None:
        reference = tuple(np.asarray(x, dtype=float) for x in plan.law.reference(times))
    return Run(
        robot=plan.robot,
        t=times.copy(),
        **arrays,
        statistics=statistics,
        settings=plan.run_settings,
        reference=reference,  # type: ignore[arg-type]
        exact=plan.law.exact,
        message=message,
        stops=stops,
    )
