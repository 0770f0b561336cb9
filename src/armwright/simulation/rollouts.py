"""Many rollouts in compiled code: the arrays of its loop, which is called for one stretch of time after the other."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Array
from armwright.arrays import check_memory
from armwright.backends.rollout_interface import ENDED_BY_EVENT, ROLLOUT_SCALARS, Rollout, step_options
from armwright.draws import DrawnColumn
from armwright.errors import SlowWarning
from armwright.integrate import method
from armwright.integrate.control import MIN_PREVIOUS_RATIO, Gains
from armwright.integrate.integrators import steps_of
from armwright.simulation.integration_settings import MAX_STEPS_PER_RECORD
from armwright.simulation.interruptible import progress_bar, run_interruptibly
from armwright.simulation.plan import Plan
from armwright.simulation.rollout_columns import RolloutColumns, column_array
from armwright.simulation.stiff_friction import short_step_reason

STRETCH_SECONDS = 0.1
"""Seconds that a compiled stretch should take, so that progress is visible."""

TYPICAL_STEP, BRIEF_STEPS = 1e-3, 1000
"""Seconds of a typical step, and the number of steps of a vector of rollouts for which Ctrl-C can wait."""

DRAWS_AHEAD = 1 << 14
"""The smallest count of random numbers of a column that are drawn together, also for later intervals."""

WARNING_STEPS = 300_000
"""The number of adaptive steps of a rollout after which a warning suggests remedies."""


@dataclass(frozen=True)
class RolloutResults:
    """The results of many rollouts as arrays of NumPy, with one entry or row for each rollout.

    states    (rollouts, records, entries) at `times`
    totals    of gauges (numbers, rollouts)
    last      the last record that a rollout has reached
    elapsed   the time it has reached, by the times of the plan
    event     the number of the event that has `ended` it, from one on
    accepted  its accepted steps; `rejected` those rejected
    """

    times: Array
    states: Array
    totals: Array
    failed: Array
    ended: Array
    last: Array
    elapsed: Array
    accepted: Array
    rejected: Array
    event: Array

    @classmethod
    def joined(cls, parts: Sequence[RolloutResults]) -> RolloutResults:
        """Return the results of all parts; records that some rollouts do not have are nan."""
        if len(parts) == 1:
            return parts[0]
        longest = max(parts, key=lambda part: len(part.times))
        shape = (sum(len(part.last) for part in parts), *longest.states.shape[1:])
        states, begin = np.full(shape, np.nan, longest.states.dtype), 0
        for part in parts:
            states[begin : begin + len(part.last), : len(part.times)] = part.states
            begin += len(part.last)
        totals = np.concatenate([part.totals for part in parts], axis=1)
        names = ("failed", "ended", "last", "elapsed", "accepted", "rejected", "event")
        rest = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(longest.times, states, totals, **rest)


class Rollouts:
    """Many rollouts in progress, with the arrays of the compiled loop; y is (rollouts, entries).

    `padded` is their number rounded up to full vectors. `seconds_per_record` is the computing time of each of the last
    records; before the first one it is zero, or infinite if that may take long.
    """

    def __init__(
        self,
        plan: Plan,
        kernel: Rollout,
        y: Array | RolloutColumns,
        p: Array | RolloutColumns,
        gains: Gains | None = None,
    ) -> None:
        dtype, width, arrays = kernel.dtype, kernel.width, kernel.arrays
        self.plan, self.kernel, self.count, self.arrays = plan, kernel, len(y), arrays
        self.padded = -(-self.count // width) * width
        self.shared = np.zeros(0, dtype)
        if isinstance(p, RolloutColumns) and kernel.per_rollout is not None:
            p, others = p.select(kernel.per_rollout), p.select([not differs for differs in kernel.per_rollout])
            self.shared = np.array(others.columns, dtype)
        self.y, self.p = (column_array(x, kernel, self.padded) for x in (y, p))
        self._columns = p if isinstance(p, RolloutColumns) else RolloutColumns((), self.count)
        self._intervals: dict[int, int] = {}
        self._drawn: dict[int, tuple[int, Any]] = {}
        self._records, self._stretch_ends = _stretches(plan)
        t = plan.times[0] + plan.start_offsets
        offset, begin = (float(x[0]) if len(x) == 1 else x for x in (plan.start_offsets, t))
        first = {"t": begin, "h": plan.first_step, "previous_error": MIN_PREVIOUS_RATIO, "start_offset": offset}
        lanes = RolloutColumns(tuple(first.get(name, 0.0) for name in ROLLOUT_SCALARS), self.count)
        self.lanes = dict(zip(ROLLOUT_SCALARS, lanes.to_array(arrays, dtype, self.padded), strict=True))
        kept = len(plan.times) if plan.keep else 2, kernel.entries, self.padded
        if arrays is np:
            check_memory("what is recorded", kept, dtype)
        self.records = arrays.zeros(kept, dtype=dtype)
        self.records[0] = self.y
        between = plan.keep and len(plan.step_ends) > len(plan.times)
        self._between = arrays.zeros((1, kernel.entries, self.padded), dtype=dtype) if between else None
        totals = plan.gauges.initial_totals(plan.robot.n)
        self.totals = RolloutColumns(tuple(totals.tolist()), self.count).to_array(arrays, dtype, self.padded)
        self.done = 1
        chosen = plan.settings
        self.stages = steps_of(chosen.integrator, chosen.fixed).stages
        self.options = np.zeros(0, dtype)
        if not chosen.fixed:
            gains = gains or Gains.pi(method(chosen.integrator))
            rtol, atol = chosen.rtol or 0.0, chosen.atol or 0.0
            self.options = step_options(gains, rtol, atol, chosen.longest_step, dtype.name)
        self.substeps = plan.substeps
        self.stop = np.zeros(1, np.int64)
        first_steps = self.substeps[: self._records[1]].sum()
        steps = first_steps if chosen.fixed else (plan.times[1] - plan.times[0]) / TYPICAL_STEP
        self.seconds_per_record = 0.0 if self.padded // width * steps <= BRIEF_STEPS else np.inf

    def advance(self, count: int, threads: int = 1) -> None:
        """Integrate over the next `count` records; Ctrl-C stops it after the current steps."""
        end = min(self.done + count, len(self.plan.times))
        before, records = time.perf_counter(), end - self.done
        if records * self.seconds_per_record <= STRETCH_SECONDS / 5:
            self._run_to(end, threads)
        else:
            run_interruptibly(lambda: self._run_to(end, threads), self.stop)
        self.done, self.seconds_per_record = end, (time.perf_counter() - before) / max(records, 1)

    def _run_to(self, end: int, threads: int) -> None:
        """Integrate to a record, in stretches within which no random number changes."""
        begin, last = (int(self._records[k - 1]) for k in (self.done, end))
        while begin < last and not self.stop[0]:
            self._draw(begin)
            stop = min(int(self._stretch_ends[np.searchsorted(self._stretch_ends, begin, side="right")]), last)
            self.kernel.run(self._fields(begin, stop), self.padded, threads)
            begin = stop

    def _draw(self, begin: int) -> None:
        """Draw the random numbers that change at one of the `step_ends` of the plan."""
        sampling, count = self.plan.sampling, self._columns.count
        now = self.plan.step_ends[begin : begin + 1]
        for row, column in enumerate(self._columns.columns):
            if not isinstance(column, DrawnColumn) or not column.hold:
                continue
            interval = int(sampling.intervals_before(column.hold, now)[0])
            if self._intervals.get(row) != interval:
                first, table = self._drawn.get(row, (interval, ()))
                if interval - first >= len(table):
                    first, table = self._drawn[row] = interval, self._table(row, column, interval)
                self.p[row, :count] = table[interval - first]
                self.p[row, count:] = self.p[row, count - 1]
                self._intervals[row] = interval

    def _table(self, row: int, column: DrawnColumn, interval: int) -> Any:
        """Return random numbers (intervals, rollouts) from one interval on.

        For few rollouts many intervals are drawn at once, for many rollouts one, directly in `p`.
        """
        columns, sampling = self._columns, self.plan.sampling
        end = int(sampling.intervals_before(column.hold, self.plan.step_ends[-1:])[0]) + 1
        intervals = np.arange(interval, min(interval + max(1, DRAWS_AHEAD // columns.count), end))
        table = self.p[row : row + 1, : columns.count]
        if len(intervals) > 1:
            table = self.arrays.empty((len(intervals), columns.count), self.kernel.dtype)
        self.kernel.draw(table, column, columns.indices, sampling.first_interval(column.hold) + intervals[:, None])
        return table

    def _fields(self, begin: int, stop: int) -> dict[str, Any]:
        """Return the fields of the kernel for a stretch from one of the `step_ends` of the plan to another."""
        plan, first = self.plan, int(np.searchsorted(self._records, begin, side="right"))
        records = self.records[first : first + stop - begin] if plan.keep else self.records[1:]
        if self._between is not None and self._records[np.searchsorted(self._records, stop)] != stop:
            records = self._between
        return {
            "y": self.y,
            "p": self.p,
            "shared": self.shared,
            **self.lanes,
            "records": records,
            "totals": self.totals,
            "rows": self.kernel.entries if plan.keep else 0,
            "times": np.ascontiguousarray(plan.step_ends[begin + 1 : stop + 1], dtype=self.kernel.dtype),
            "count": stop - begin,
            "stride": self.padded,
            "substeps": self.substeps[begin:stop],
            "limit": MAX_STEPS_PER_RECORD,
            "options": self.options,
            "stop": self.stop,
        }

    def cut(self) -> None:
        """End all rollouts at their current times; records that a rollout has not reached become nan."""
        if not self.plan.keep:
            self.records[1] = self.y
            return
        last = self.arrays.where(self.ended, self.done - 1, self.last)  # later records repeat the state of an event
        for record in range(int(last.min()) + 1, int(last.max()) + 1):
            self.records[record, :, : self.count][:, last < record] = np.nan
        self.done = int(last.max()) + 1

    @property
    def last(self) -> Array:
        """The last record that each rollout has reached."""
        return self._last_of(self.plan.times)

    def _last_of(self, ends: Array) -> Array:
        """Return the index of the last of these times that each rollout has reached."""
        times, offset = self.arrays.asarray(ends.astype(self.y.dtype)), self.lanes["start_offset"][: self.count]
        rounding = 4 * np.finfo(times.dtype).eps * abs(offset)
        reached: Array = self.arrays.searchsorted(times, self.elapsed + rounding, side="right") - 1
        return reached

    @property
    def elapsed(self) -> Array:
        """The time that each rollout has reached, by the times of the plan."""
        elapsed: Array = self.lanes["t"][: self.count] - self.lanes["start_offset"][: self.count]
        return elapsed

    @property
    def states(self) -> Array:
        """The states at all records so far, or at the first and the last (rollouts, records, entries)."""
        done = self.done if self.plan.keep else len(self.records)
        states: Array = self.arrays.moveaxis(self.records[:done, :, : self.count], -1, 0)
        return states

    @property
    def times(self) -> Array:
        """The times of `states`."""
        times: Array = self.plan.times[: self.done]
        return times if self.plan.keep else times[[0, -1]]

    @property
    def failed(self) -> Array:
        """True for rollouts that cannot continue, other than by an event."""
        wrong = (self.lanes["stop_reason"][: self.count] != 0) & ~self.ended
        failed: Array = wrong | ~self.arrays.isfinite(self.y[:, : self.count]).all(axis=0)
        return failed

    @property
    def ended(self) -> Array:
        """True for rollouts that an event has ended."""
        ended: Array = self.lanes["stop_reason"][: self.count] == ENDED_BY_EVENT
        return ended

    @property
    def finished(self) -> bool:
        """True at the last record."""
        return self.done >= len(self.plan.times)

    @property
    def accepted(self) -> Array:
        """The accepted steps of every rollout."""
        if not self.plan.settings.fixed:
            accepted: Array = self.lanes["accepted"][: self.count].astype(np.int64)
            return accepted
        arrays, last, ended = self.arrays, self._last_of(self.plan.step_ends), self.ended
        times, substeps = arrays.asarray(self.plan.step_ends), arrays.asarray(self.substeps)
        steps: Array = arrays.asarray(np.append(0, np.cumsum(self.substeps)))[last]
        if ended.any():  # within the steps to the next end
            short = arrays.flatnonzero(ended & (last < len(substeps)))
            at = last[short]
            length = (times[at + 1] - times[at]) / substeps[at]
            steps[short] += arrays.ceil((self.elapsed[short] - times[at]) / length - 1e-6).astype(np.int64)
        return steps

    @property
    def rejected(self) -> Array:
        """The rejected steps of every rollout."""
        rejected: Array = self.lanes["rejected"][: self.count].astype(np.int64)
        return rejected

    @property
    def results(self) -> RolloutResults:
        """All results so far, as arrays of NumPy."""
        event = self.lanes["event"][: self.count].astype(np.int64)
        parts = (self.totals[:, : self.count], self.failed, self.ended, self.last, self.elapsed, self.accepted)
        totals, *rest = map(_host_array, (*parts, self.rejected, event))
        records = _host_array(self.records[: self.done if self.plan.keep else None])[:, :, : self.count]
        if (failed := np.flatnonzero(rest[0])).size:  # compiled code leaves constant entries, such as no losses
            states = records[:, :, failed]
            records[:, :, failed] = np.where(np.isfinite(states).all(axis=1, keepdims=True), states, np.nan)
        return RolloutResults(self.times, np.moveaxis(records, -1, 0), totals, *rest)

    def integrate(
        self,
        threads: int,
        show: bool | None,
        stop: Callable[[], bool] = lambda: False,
        stacklevel: int = 3,
        part: tuple[float, float] = (0.0, 1.0),
    ) -> tuple[float, str]:
        """Integrate to the end, in stretches of a fraction of a second.

        Return the seconds it took, and the reason if it stopped early. `part` are the shares of all work that are done
        before and after.
        """
        window, begin, message, warned = 1, time.perf_counter(), "", False
        bar = progress_bar(show)
        _active_rollouts.add(self)
        try:
            while not self.finished and not stop():
                self.advance(window, threads)
                if self.stop[0]:
                    raise KeyboardInterrupt
                if not warned and (warning := self.many_steps_warning):
                    warnings.warn(warning, SlowWarning, stacklevel=stacklevel)
                    warned = True
                window = max(1, int(min(16.0 * window, STRETCH_SECONDS / max(self.seconds_per_record, 1e-6))))
                bar(part[0] + (part[1] - part[0]) * self.done / len(self.plan.times), time.perf_counter() - begin)
        except KeyboardInterrupt:
            self.cut()
            message = f"stopped by the user after t = {float(self.lanes['t'][: self.count].min()):g} s"
        finally:
            _active_rollouts.discard(self)
            bar(None, 0.0)
        return time.perf_counter() - begin, message

    @property
    def many_steps_warning(self) -> str:
        """A warning about too many adaptive steps, with remedies; empty if there are few."""
        if self.plan.settings.fixed or self.accepted.max() <= WARNING_STEPS:
            return ""
        robot, which = self.plan.robot, int(self.accepted.argmax())
        t, end = float(self.elapsed[which]), self.plan.times[-1]
        so_far = f"more than {WARNING_STEPS} steps, and at t = {t:g} of {end:g} s so far"
        q = _host_array(self.y[self.plan.layout["q"], which])
        if np.isfinite(q).all() and (why := short_step_reason(robot, q, (t - self.plan.times[0]) / WARNING_STEPS)):
            return f"{so_far}: {why}"
        causes = ['a stiff robot or law (integrator="radau")', "a tolerance too small (rtol=)"]
        if robot.loops:
            causes.append(f"a loop at a dead point ({', '.join(loop.name for loop in robot.loops)}: start elsewhere)")
        return f"{so_far}; it may be {', or '.join(causes)}"


def _stretches(plan: Plan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the records, and of the ends of stretches, among the `step_ends` of a plan.

    A stretch ends where random numbers change and, if records are kept, before a step end that is no record.
    """
    ends, records = plan.step_ends, np.searchsorted(plan.step_ends, plan.times)
    last = plan.sampling.changes(ends)
    if plan.keep:
        last[:-1] |= ~np.isin(np.arange(1, len(ends)), records)
    last[-1] = True
    return records, np.flatnonzero(last)


def _host_array(array: Any) -> Array:
    """Return an array of NumPy, copied from a card if it is there."""
    host: Array = array if isinstance(array, np.ndarray) else array.get()
    return host


_active_rollouts: set[Rollouts] = set()


def stop_all() -> None:
    """Stop the rollouts of all threads, as Ctrl-C stops those of the main one."""
    for rollouts in tuple(_active_rollouts):
        rollouts.stop[0] = 1
