"""Many rollouts under way in compiled code: the arrays the loop reads and writes, stretch by stretch."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Array
from armwright.arrays import check_room
from armwright.backends.interface import ENDED_BY_EVENT, ROLLOUT_SCALARS, Rollout, step_options
from armwright.draws import DrawnColumn
from armwright.errors import SlowWarning
from armwright.integrate import method
from armwright.integrate.control import MIN_PREVIOUS_RATIO, Gains
from armwright.integrate.integrators import steps_of
from armwright.progress import progress_callback
from armwright.simulation.plan import MAX_STEPS_PER_RECORD, Plan
from armwright.simulation.rollout_columns import RolloutColumns, column_array
from armwright.simulation.stiff_friction import short_step_reason

PROGRESS_DELAY = 2.0
"""Seconds after which a run shows a progress bar."""

STRETCH_SECONDS = 0.1
"""Seconds a compiled stretch should take, so that progress is seen."""

TYPICAL_STEP, BRIEF_STEPS = 1e-3, 1000
"""Seconds of a step, and steps of as many rollouts as go together, that take so short that Ctrl-C can wait for them."""

DRAWS_AHEAD = 1 << 14
"""Random numbers of a column that are drawn at a time at least, some of them for later."""

WARNING_STEPS = 300_000
"""Chosen steps of one rollout after which it is said that they are many, and what helps."""

POLL_SECONDS = 0.1
"""Seconds after which whoever waits for compiled code looks up, where a signal does not wake it."""


@dataclass(frozen=True)
class RolloutResults:
    """What many rollouts came to, as arrays of NumPy, each with one entry, or a row, for each of them.

    States are (rollouts, records, entries) at `times`; totals are (gauges, rollouts). `last` is the last record to
    which each has come, `gone` where it is by the times of the plan, `event` the one that has `ended` it, from one on.
    """

    times: Array
    states: Array
    totals: Array
    broken: Array
    ended: Array
    last: Array
    gone: Array
    steps: Array
    rejected: Array
    event: Array

    @classmethod
    def joined(cls, parts: Sequence[RolloutResults]) -> RolloutResults:
        """Rollouts that went one part after another; what some have no record of is nan."""
        if len(parts) == 1:
            return parts[0]
        longest = max(parts, key=lambda part: len(part.times))
        shape = (sum(len(part.last) for part in parts), *longest.states.shape[1:])
        states, begin = np.full(shape, np.nan, longest.states.dtype), 0
        for part in parts:
            states[begin : begin + len(part.last), : len(part.times)] = part.states
            begin += len(part.last)
        totals = np.concatenate([part.totals for part in parts], axis=1)
        names = ("broken", "ended", "last", "gone", "steps", "rejected", "event")
        rest = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(longest.times, states, totals, **rest)


class Rollouts:
    """Many rollouts under way: the arrays that the compiled loop reads and writes; y is (rollouts, entries).

    `pace` is how many seconds each of the last records took; before the first it is none, or endless if that is long.
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
        self.room = -(-self.count // width) * width
        self.shared = np.zeros(0, dtype)
        if isinstance(p, RolloutColumns) and kernel.per_rollout is not None:
            p, others = p.some(kernel.per_rollout), p.some([not mine for mine in kernel.per_rollout])
            self.shared = np.array(others.columns, dtype)
        self.y, self.p = (column_array(x, kernel, self.room) for x in (y, p))
        self._own = p if isinstance(p, RolloutColumns) else RolloutColumns((), self.count)
        self._turns: dict[int, int] = {}
        self._tables: dict[int, tuple[int, Any]] = {}
        self._places, self._stops = _stretches(plan)
        t = plan.times[0] + plan.late
        late, begin = (float(x[0]) if len(x) == 1 else x for x in (plan.late, t))
        first = {"t": begin, "h": plan.first_step, "previous_error": MIN_PREVIOUS_RATIO, "start_offset": late}
        lanes = RolloutColumns(tuple(first.get(name, 0.0) for name in ROLLOUT_SCALARS), self.count)
        self.lanes = dict(zip(ROLLOUT_SCALARS, lanes.to_array(arrays, dtype, self.room), strict=True))
        kept = len(plan.times) if plan.keep else 2, kernel.entries, self.room
        if arrays is np:
            check_room("what is recorded", kept, dtype)
        self.records = arrays.zeros(kept, dtype=dtype)
        self.records[0] = self.y
        between = plan.keep and len(plan.ends) > len(plan.times)
        self._between = arrays.zeros((1, kernel.entries, self.room), dtype=dtype) if between else None
        found = plan.request.initial_totals(plan.robot.n)
        self.totals = RolloutColumns(tuple(found.tolist()), self.count).to_array(arrays, dtype, self.room)
        self.done = 1
        how = plan.how
        self.stages = steps_of(how.integrator, how.step is not None).stages
        self.options = np.zeros(0, dtype)
        if how.step is None:
            chosen = gains or Gains.pi(method(how.integrator))
            self.options = step_options(chosen, how.rtol or 0.0, how.atol or 0.0, how.longest, dtype.name)
        self.substeps = plan.substeps
        self.stop = np.zeros(1, np.int64)
        first_steps = self.substeps[: self._places[1]].sum()
        steps = first_steps if how.step is not None else (plan.times[1] - plan.times[0]) / TYPICAL_STEP
        self.pace = 0.0 if self.room // width * steps <= BRIEF_STEPS else np.inf

    def advance(self, count: int, threads: int = 1) -> None:
        """Go on for so many records; Ctrl-C ends that after the steps under way."""
        end = min(self.done + count, len(self.plan.times))
        before, records = time.perf_counter(), end - self.done
        if records * self.pace <= STRETCH_SECONDS / 5:
            self._travel(end, threads)
        else:
            _run_interruptibly(lambda: self._travel(end, threads), self.stop)
        self.done, self.pace = end, (time.perf_counter() - before) / max(records, 1)

    def _travel(self, end: int, threads: int) -> None:
        """Go on to a record, in stretches within which no number is drawn anew."""
        here, there = (int(self._places[k - 1]) for k in (self.done, end))
        while here < there and not self.stop[0]:
            self._draw(here)
            stop = min(int(self._stops[np.searchsorted(self._stops, here, side="right")]), there)
            self.kernel.run(self._fields(here, stop), self.room, threads)
            here = stop

    def _draw(self, here: int) -> None:
        """Draw what is held from here on, one of the `ends` of the plan, where it is not what it was."""
        turns, count, now = self.plan.turns, self._own.count, self.plan.ends[here : here + 1]
        for row, column in enumerate(self._own.columns):
            if not isinstance(column, DrawnColumn) or not column.hold:
                continue
            gone = int(turns.gone(column.hold, now)[0])
            if self._turns.get(row) != gone:
                first, table = self._tables.get(row, (gone, ()))
                if gone - first >= len(table):
                    first, table = self._tables[row] = gone, self._table(row, column, gone)
                self.p[row, :count] = table[gone - first]
                self.p[row, count:] = self.p[row, count - 1]
                self._turns[row] = gone

    def _table(self, row: int, column: DrawnColumn, gone: int) -> Any:
        """What is drawn after so many turns, (turns, rollouts): of few rollouts many turns at once, of many rollouts
        one, where it belongs."""
        own, turns = self._own, self.plan.turns
        end = int(turns.gone(column.hold, self.plan.ends[-1:])[0]) + 1
        ahead = np.arange(gone, min(gone + max(1, DRAWS_AHEAD // own.count), end))
        table = self.p[row : row + 1, : own.count]
        if len(ahead) > 1:
            table = self.arrays.empty((len(ahead), own.count), self.kernel.dtype)
        self.kernel.draw(table, column, own.which, turns.first(column.hold) + ahead[:, None])
        return table

    def _fields(self, here: int, stop: int) -> dict[str, Any]:
        """What the kernel is given for the way from one of the `ends` of the plan to another."""
        plan, first = self.plan, int(np.searchsorted(self._places, here, side="right"))
        records = self.records[first : first + stop - here] if plan.keep else self.records[1:]
        if self._between is not None and self._places[np.searchsorted(self._places, stop)] != stop:
            records = self._between
        return {
            "y": self.y,
            "p": self.p,
            "shared": self.shared,
            **self.lanes,
            "records": records,
            "totals": self.totals,
            "rows": self.kernel.entries if plan.keep else 0,
            "times": np.ascontiguousarray(plan.ends[here + 1 : stop + 1], dtype=self.kernel.dtype),
            "count": stop - here,
            "stride": self.room,
            "substeps": self.substeps[here:stop],
            "limit": MAX_STEPS_PER_RECORD,
            "options": self.options,
            "stop": self.stop,
        }

    def cut(self) -> None:
        """Make this all there is: records to which some rollouts have come, nan for the others."""
        if not self.plan.keep:
            self.records[1] = self.y
            return
        last = self.arrays.where(self.ended, self.done - 1, self.last)  # where an event has ended one, it stays
        for record in range(int(last.min()) + 1, int(last.max()) + 1):
            self.records[record, :, : self.count][:, last < record] = np.nan
        self.done = int(last.max()) + 1

    @property
    def last(self) -> Array:
        """The last record to which each rollout has come."""
        return self._come_to(self.plan.times)

    def _come_to(self, ends: Array) -> Array:
        """The last of some times to which each rollout has come."""
        times, late = self.arrays.asarray(ends.astype(self.y.dtype)), self.lanes["start_offset"][: self.count]
        rounding = 4 * np.finfo(times.dtype).eps * abs(late)
        reached: Array = self.arrays.searchsorted(times, self.gone + rounding, side="right") - 1
        return reached

    @property
    def gone(self) -> Array:
        """Where each rollout is, by the times of the plan."""
        gone: Array = self.lanes["t"][: self.count] - self.lanes["start_offset"][: self.count]
        return gone

    @property
    def states(self) -> Array:
        """Every rollout at every record so far, or at the first and the last (rollouts, records, entries)."""
        done = self.done if self.plan.keep else len(self.records)
        states: Array = self.arrays.moveaxis(self.records[:done, :, : self.count], -1, 0)
        return states

    @property
    def times(self) -> Array:
        """Of these records."""
        times: Array = self.plan.times[: self.done]
        return times if self.plan.keep else times[[0, -1]]

    @property
    def broken(self) -> Array:
        """Which rollouts cannot go on, but for those that an event has ended."""
        wrong = (self.lanes["stop_reason"][: self.count] != 0) & ~self.ended
        finite: Array = wrong | ~self.arrays.isfinite(self.y[:, : self.count]).all(axis=0)
        return finite

    @property
    def ended(self) -> Array:
        """Which rollouts an event has ended."""
        ended: Array = self.lanes["stop_reason"][: self.count] == ENDED_BY_EVENT
        return ended

    @property
    def finished(self) -> bool:
        return self.done >= len(self.plan.times)

    @property
    def steps(self) -> Array:
        """Accepted steps of every rollout."""
        if self.plan.how.step is None:
            accepted: Array = self.lanes["accepted"][: self.count].astype(np.int64)
            return accepted
        arrays, last, ended = self.arrays, self._come_to(self.plan.ends), self.ended
        times, substeps = arrays.asarray(self.plan.ends), arrays.asarray(self.substeps)
        steps: Array = arrays.asarray(np.append(0, np.cumsum(self.substeps)))[last]
        if ended.any():  # within the steps to the next end
            short = arrays.flatnonzero(ended & (last < len(substeps)))
            at = last[short]
            length = (times[at + 1] - times[at]) / substeps[at]
            steps[short] += arrays.ceil((self.gone[short] - times[at]) / length - 1e-6).astype(np.int64)
        return steps

    @property
    def rejected(self) -> Array:
        rejected: Array = self.lanes["rejected"][: self.count].astype(np.int64)
        return rejected

    @property
    def found(self) -> RolloutResults:
        """All of it so far, where NumPy can look at it."""
        event = self.lanes["event"][: self.count].astype(np.int64)
        parts = (self.totals[:, : self.count], self.broken, self.ended, self.last, self.gone, self.steps)
        totals, *rest = map(_host_array, (*parts, self.rejected, event))
        records = _host_array(self.records[: self.done if self.plan.keep else None])[:, :, : self.count]
        if (broken := np.flatnonzero(rest[0])).size:  # compiled code leaves what never changes, such as no losses
            states = records[:, :, broken]
            records[:, :, broken] = np.where(np.isfinite(states).all(axis=1, keepdims=True), states, np.nan)
        return RolloutResults(self.times, np.moveaxis(records, -1, 0), totals, *rest)

    def travel(
        self,
        threads: int,
        show: bool | None,
        stop: Callable[[], bool] = lambda: False,
        stacklevel: int = 3,
        part: tuple[float, float] = (0.0, 1.0),
    ) -> tuple[float, str]:
        """To the end, in stretches of a fraction of a second; returns the seconds it took and why it stopped early.

        `part` is the share of all work that is done before, and when this is.
        """
        window, begin, message, warned = 1, time.perf_counter(), "", False
        bar = _bar(show)
        _active_rollouts.add(self)
        try:
            while not self.finished and not stop():
                self.advance(window, threads)
                if self.stop[0]:
                    raise KeyboardInterrupt
                if not warned and (many := self.many):
                    warnings.warn(many, SlowWarning, stacklevel=stacklevel)
                    warned = True
                window = max(1, int(min(16.0 * window, STRETCH_SECONDS / max(self.pace, 1e-6))))
                bar(part[0] + (part[1] - part[0]) * self.done / len(self.plan.times), time.perf_counter() - begin)
        except KeyboardInterrupt:
            self.cut()
            message = f"stopped by the user after t = {float(self.lanes['t'][: self.count].min()):g} s"
        finally:
            _active_rollouts.discard(self)
            bar(None, 0.0)
        return time.perf_counter() - begin, message

    @property
    def many(self) -> str:
        """That a run takes very many steps where they are chosen, and what helps; nothing where it does not."""
        if self.plan.how.step is not None or self.steps.max() <= WARNING_STEPS:
            return ""
        robot, which = self.plan.robot, int(self.steps.argmax())
        t, end = float(self.gone[which]), self.plan.times[-1]
        told = f"more than {WARNING_STEPS} steps, and at t = {t:g} of {end:g} s so far"
        q = _host_array(self.y[self.plan.layout["q"], which])
        if np.isfinite(q).all() and (why := short_step_reason(robot, q, (t - self.plan.times[0]) / WARNING_STEPS)):
            return f"{told}: {why}"
        helps = ['a stiff robot or law (integrator="radau")', "a tolerance too small (rtol=)"]
        if robot.loops:
            helps.append(f"a loop at a dead point ({', '.join(loop.name for loop in robot.loops)}: start elsewhere)")
        return f"{told}; it may be {', or '.join(helps)}"


def _stretches(plan: Plan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of the `ends` of a plan are its records, and at which a stretch is over: where numbers are drawn anew, and
    before one that is no record, if records are kept."""
    ends, places = plan.ends, np.searchsorted(plan.ends, plan.times)
    over = plan.turns.anew(ends)
    if plan.keep:
        over[:-1] |= ~np.isin(np.arange(1, len(ends)), places)
    over[-1] = True
    return places, np.flatnonzero(over)


def _host_array(array: Any) -> Array:
    """An array of NumPy of one that may be elsewhere."""
    near: Array = array if isinstance(array, np.ndarray) else array.get()
    return near


_active_rollouts: set[Rollouts] = set()


def stop_all() -> None:
    """Stop the rollouts that any thread computes, as Ctrl-C does those of the main one."""
    for rollouts in tuple(_active_rollouts):
        rollouts.stop[0] = 1


def _run_interruptibly(work: Callable[[], None], stop: NDArray[np.int64]) -> None:
    """Work done by another thread, as no signal is heard in compiled code; on Ctrl-C it is told to stop, and does."""
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    with ThreadPoolExecutor(1) as other:
        try:
            job = other.submit(work)
            while not job.done():
                wait([job], POLL_SECONDS)
        except BaseException:
            stop[0] = 1
            raise
    job.result()


def _bar(show: bool | None) -> Callable[[float | None, float], None]:
    """A progress bar that appears once a run has taken a while; given None, it goes. Who listens has one already."""
    if (tell := progress_callback()) is not None:
        return lambda share, _seconds: None if share is None else tell(share)
    made: list[tuple[Any, Any]] = []

    def update(share: float | None, seconds: float) -> None:
        if share is None:
            for progress, _ in made:
                progress.stop()
            return
        if not made and show is not False and seconds > PROGRESS_DELAY:
            from rich.progress import Progress  # noqa: PLC0415  (most runs are over before it is needed)

            progress = Progress(transient=True)
            if show or progress.console.is_terminal:
                progress.start()
                made.append((progress, progress.add_task("simulating", total=1.0)))
        for progress, task in made:
            progress.update(task, completed=share)

    return update
