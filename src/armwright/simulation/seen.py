"""A run from its states: torques, accelerations and energies are looked up along it."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.simulation.plan import Plan
from armwright.simulation.rollouts import viewer_of
from armwright.simulation.run import Run, Statistics
from armwright.torque import Moment
from armwright.trace.form import straight


def seen(plan: Plan, times: Array, records: Array, statistics: Statistics, message: str = "") -> Run:
    """A run from its states (k, 2n + 2)."""
    n = plan.robot.n
    q, qd = records[:, :n], records[:, n : 2 * n]
    if plan.law.traceable and straight(plan.robot):
        viewer = viewer_of(plan.robot, plan.law, (), "float64")
        out = np.empty((len(times), 3 * n + 2))
        viewer.run([np.ascontiguousarray(x) for x in (times[:, None], q, qd)], out)
        tau, qdd, drag = out[:, :n], out[:, n : 2 * n], out[:, 2 * n : 3 * n]
        kinetic, potential = out[:, -2], out[:, -1]
    else:
        chain = plan.robot.chain()
        both = np.array(
            [
                plan.law.shared(Moment(float(t), a.tolist(), b.tolist(), chain))
                for t, a, b in zip(times, q, qd, strict=True)
            ],
            dtype=float,
        ).reshape(len(times), 2, n)
        tau, drag = both[:, 0], both[:, 1]
        qdd = plan.robot.forward_dynamics(q, qd, tau + drag)
        kinetic, potential = plan.robot.kinetic_energy(q, qd), plan.robot.potential_energy(q)
    reference = None
    if plan.law.reference is not None:
        reference = tuple(np.asarray(x, dtype=float) for x in plan.law.reference(times))
    return Run(
        robot=plan.robot,
        t=times.copy(),
        q=q.copy(),
        qd=qd.copy(),
        qdd=np.ascontiguousarray(qdd),
        tau=np.ascontiguousarray(tau),
        drag=np.ascontiguousarray(drag),
        kinetic=np.ascontiguousarray(kinetic),
        potential=np.ascontiguousarray(potential),
        work=records[:, 2 * n].copy(),
        losses=records[:, 2 * n + 1].copy(),
        statistics=statistics,
        settings=plan.settings,
        reference=reference,  # type: ignore[arg-type]
        exact=plan.law.exact,
        message=message,
    )
