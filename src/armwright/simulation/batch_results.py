"""A batch of motions that is ready to run, and its results."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from armwright.algebra import Array
from armwright.backends.rollout_interface import ROLLOUT_SCALARS
from armwright.errors import SimulationWarning
from armwright.simulation.batch_run import BatchRun
from armwright.simulation.gauges import LAST_FINITE
from armwright.simulation.kernels import observables_kernel, rollout_of
from armwright.simulation.measures import MEASURES, GaugeTotals, displacements
from armwright.simulation.motion_programs import Observables
from armwright.simulation.observables import evaluated
from armwright.simulation.plan import Plan
from armwright.simulation.rollout_columns import RolloutColumns
from armwright.simulation.rollouts import RolloutResults, Rollouts


@dataclass(frozen=True)
class Batch:
    """A plan for many rollouts, the robot parameters that vary, start states and runtime parameters in columns."""

    plan: Plan
    vary: tuple[str, ...]
    states: RolloutColumns
    parameters: RolloutColumns
    dtype: str
    target: str

    def integrate(self, threads: int, progress: bool | None) -> tuple[RolloutResults, float, str]:
        """Integrate all rollouts, in as many parts as fit into memory.

        Return the results, the seconds it took, and the reason if it stopped early.
        """
        plan, y, p = self.plan, self.states, self.parameters
        record, chosen = plan.record(self.vary, self.target), plan.settings
        kernel = rollout_of(record, chosen.integrator, chosen.fixed, self.dtype, self.target)
        kernel = kernel.with_per_rollout(p.per_rollout)
        records = len(plan.times) + (len(plan.step_ends) > len(plan.times)) if plan.keep else 2
        totals = len(plan.gauges.initial_totals(plan.robot.n))
        numbers = len(y.columns) * (1 + records) + len(p.columns) + len(ROLLOUT_SCALARS) + totals
        many, parts, seconds, message = len(y), list[RolloutResults](), 0.0, ""
        size = -(-many // -(-many // max(1, kernel.max_rollouts(numbers))))
        for begin in range(0, many, size):
            end = min(begin + size, many)
            offsets = plan.start_offsets
            part = plan if len(offsets) == 1 else replace(plan, start_offsets=offsets[begin:end])
            rollouts = Rollouts(part, kernel, y.part(begin, end), p.part(begin, end))
            rollouts.stop[0] = bool(message)
            took, stopped = rollouts.integrate(threads, progress, stacklevel=4, part=(begin / many, end / many))
            seconds, message = seconds + took, message or stopped
            parts.append(rollouts.results)
            del rollouts
        return RolloutResults.joined(parts), seconds, message

    def run_of(self, results: RolloutResults, seconds: float, message: str) -> BatchRun:
        """Return the run of these results; warn if rollouts have failed."""
        plan = self.plan
        failed, last, ended = results.failed, results.last, results.ended
        reached = plan.times[last]
        reached[ended] = results.elapsed[ended]
        if failed.any():
            reached[failed] = np.minimum(results.elapsed[failed], self._last_finite(results, failed))
        if failed.any() and not message:
            first = int(np.argmax(failed))
            message = f"{int(failed.sum())} of {len(last)} rollouts failed, the first is number {first}"
            warnings.warn(f"{message}; see .failed and .reached", SimulationWarning, stacklevel=3)
        offsets = plan.start_offsets
        return BatchRun(
            robot=plan.robot,
            t=results.times if len(offsets) == 1 else results.times + offsets[:, None],
            **plan.layout.split(results.states),
            reached=reached + offsets,
            failed=failed,
            finished=ended | ~failed & (last == len(plan.times) - 1),
            accepted=results.accepted,
            rejected=results.rejected,
            seconds=seconds,
            steps_per_second=int(results.accepted.sum()) / max(seconds, 1e-12),
            look=partial(self._observables, results),
            message=message,
            ended=np.where(ended, results.event - 1, -1),
            events=tuple(event.name for event in plan.events),
            measured=self._measured(results, reached, ended | ~failed),
            stops=plan.gauges.hits(plan.robot.n, results.totals),
        )

    def _last_finite(self, results: RolloutResults, which: Array) -> Array:
        """Return the last times at which the states of some rollouts were finite."""
        plan = self.plan
        if plan.keep:
            finite = np.isfinite(results.states[which]).all(axis=2)
            last: Array = results.times[np.maximum(finite.sum(axis=1) - 1, 0)]
            return last
        times = plan.gauges.split(plan.robot.n, results.totals)[LAST_FINITE][:, 0]
        last = np.maximum(times - plan.start_offsets, plan.times[0])
        return last[which]

    def _measured(self, results: RolloutResults, reached: Array, good: Array) -> dict[str, Array]:
        """Return every measure, nan for rollouts that are not good."""
        plan = self.plan
        if not plan.measures:
            return {}
        offsets = np.broadcast_to(plan.start_offsets, len(good))

        def displacement() -> Array:
            return displacements(plan.robot.balls, plan.layout.split(results.states[:, 0])["q"], plan.goal)

        split = plan.gauges.split(plan.robot.n, results.totals)
        start, end = offsets + plan.times[0], reached + offsets
        totals = GaugeTotals(split, plan.times - plan.times[0], start, end, displacement)
        with np.errstate(all="ignore"):
            values = {name: MEASURES[name].values(totals) for name in plan.measures}
        return values if good.all() else {name: np.where(good[:, None], x, np.nan) for name, x in values.items()}

    def _observables(self, results: RolloutResults) -> Observables:
        """Return torques, accelerations and energies of every rollout at every record."""
        plan, states = self.plan, results.states
        times = np.broadcast_to(results.times + plan.start_offsets[:, None], states.shape[:2])
        arrays = [times.reshape(-1, 1).astype(self.dtype), states.reshape(times.size, -1)]
        record, code = plan.record(self.vary, self.target).dynamics, plan.code(self.vary, self.target)
        if self.vary or code.names or plan.law_parameters.numbers:
            p = self.parameters
            count = len(p.columns) - len(plan.event_parameters.numbers) - len(plan.gauge_parameters.numbers)
            rows = replace(p, columns=p.columns[:count]).values_at(plan.sampling, results.times, np.dtype(self.dtype))
            arrays.append(rows)
        out = evaluated(observables_kernel(record, self.dtype, self.target), arrays)
        return Observables.of(out.reshape(*times.shape, -1), plan.robot.n, code.base_potential_energy)
