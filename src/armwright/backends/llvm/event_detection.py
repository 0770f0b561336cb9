"""Event detection in the loop of a rollout: after every step, and by steps of other lengths from its start.

An event is a number computed from time, state and parameters; it happens where the number changes its sign. The step is
then repeated from its start with other lengths until the instant is known to rounding, as in `integrate.events`. The
rollout stays there, with its `stop_reason` and `event`.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.event_search import AFTER_STEP_START, BISECTION_PERIOD, MAX_EVENT_GUESSES
from armwright.backends.llvm.block import VectorType
from armwright.backends.llvm.event_subdivision import HIGH, LOW, EventSubdivision
from armwright.backends.rollout_interface import ENDED_BY_EVENT, EVENT_NOT_FINITE, EventProgram
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout


class EventDetection(EventSubdivision):
    """The stages of a rollout, with events."""

    def __init__(
        self,
        lanes: VectorType,
        steps: Steps,
        entries: int,
        layout: Layout,
        sizes: Sequence[int],
        event_program: EventProgram | None,
    ) -> None:
        super().__init__(lanes, steps, entries, layout.unit_vectors)
        self.has_parameters, self.by_length, self.event_program = len(sizes) > 2, sizes[0] > 1, event_program
        self.directions = event_program.directions if event_program else ()
        self.first = 1 if steps.error is not None and steps.fsal else 0

    @property
    def memory(self) -> dict[str, int]:
        """The vectors of memory: events before, after and at a guess, their signs, a saved step, a bracket."""
        if not self.event_program:
            return {}
        events = dict.fromkeys(("before", "after", "guessed", "crossed"), self.events)
        return {**events, "saved": 2 * self.m, "bracket": 5, "instant": 1, **self.search_memory}

    # what happens in a step

    def evaluate_start(self) -> None:
        """Evaluate all events at the current states."""
        if self.event_program:
            self.evaluate("events", self.block.read("%t.here"), "%now", "%before")

    def detect(self, time: str, length: str, end: str, active: str) -> None:
        """Check a step to `trial` of the rollouts `going`; a rollout that an event ends has that state in `trial`.

        Then `instant` is the time of each rollout; `stop_reason` and `event` are stored.
        """
        t, block, zero = self.t, self.block, "zeroinitializer"
        begin, locate, done = (block.fresh(name) for name in ("events.begin", "events.locate", "events.done"))
        block.jump_to(begin)
        self.store("%instant", "0", end)
        active = self.both(active, self.true("oeq", block.read("%event.here"), zero))
        self.evaluate("events", end, "%trial", "%after")
        suspect = self.let(f"and {t.mask} {active}, zeroinitializer")
        for e in range(self.events):
            before, after = self.load("%before", e), self.load("%after", e)
            odd = self.either(self.true("oeq", before, zero), self.true("uno", after, after))
            suspect = self.either(suspect, self.either(odd, self.crosses(e, before, after)))
        several = self.both(active, self.sample_step(time, length))
        suspect = self.both(self.either(suspect, several), active)
        self.put(f"br i1 {self.any(suspect)}, label %{locate}, label %{done}, !prof !0")
        block.label(locate)
        self._locate(time, length, active, several)
        block.jump_to(done)
        for e in range(self.events):
            self.store("%before", e, self.select(active, self.load("%after", e), self.load("%before", e)))

    def _largest_crossing(self, values: str) -> str:
        """Return a number above zero once any event of the step has happened."""
        t = self.t
        highest = t.splat(-1e30)
        for e in range(self.events):
            sign = self.load("%crossed", e)
            here = self.op("fmul", sign, self.load(values, e))
            mine = self.true("one", sign, "zeroinitializer")
            highest = self.select(mine, self.call("maxnum", here, highest), highest)
        return highest

    def _locate(self, time: str, length: str, active: str, several: str) -> None:
        t = self.t
        last = (self.steps.stages - 1) * self.m
        self._copy("%trial", 0, "%saved", 0)
        if self.first:
            self._copy("%k", last, "%saved", self.m)
        self._evaluate_zeros(time, length, active)
        for e in range(self.events):
            known = self.load("%before", e)
            at_zero = self.true("oeq", known, "zeroinitializer")
            self.store("%before", e, self.select(at_zero, self.load("%guessed", e), known))
        self.subdivide(time, length, several)
        crossed = not_finite = self.let(f"and {t.mask} {active}, zeroinitializer")
        for e in range(self.events):
            before, after = self.load("%before", e), self.load("%after", e)
            crosses = self.both(active, self.crosses(e, before, after))
            sign = self.select(self.true("olt", before, "zeroinitializer"), t.splat(1.0), t.splat(-1.0))
            self.store("%crossed", e, self.select(crosses, sign, t.splat(0.0)))
            crossed = self.either(crossed, crosses)
            not_finite = self.either(not_finite, self.both(active, self.true("uno", after, after)))
        time_scale = self.call("maxnum", self.call("fabs", time), self.call("fabs", self.op("fadd", time, length)))
        rounding = 2 * (2.0**-52 if t.double else 2.0**-23)
        width = self.op("fmul", self.op("fdiv", time_scale, self.call("fabs", length)), t.splat(rounding))
        width = self.call("maxnum", width, t.splat(rounding))
        low, high = (self.load("%piece", k) for k in (LOW, HIGH))
        begin = (low, high, self._largest_crossing("%before"), self._largest_crossing("%after"), t.splat(0.0))
        for k, value in enumerate(begin):
            self.store("%bracket", k, value)
        self._narrow(time, length, crossed, width)
        moved = self.select(crossed, self.op("fmul", length, self.load("%bracket", 1)), t.splat(0.0))
        when = self.repeat(time, moved, "%guessed")
        self._end(crossed, not_finite, when)
        self.take(self.negated(crossed), "others", "%saved", "%trial")
        if self.first:
            self._copy("%saved", self.m, "%k", last)

    def _evaluate_zeros(self, time: str, length: str, active: str) -> None:
        """Evaluate all events just after the start, where one was zero at the start."""
        just, known = self.block.fresh("just.after"), self.block.fresh("signs.known")
        suspect = self.let(f"and {self.t.mask} {active}, zeroinitializer")
        for e in range(self.events):
            suspect = self.either(suspect, self.true("oeq", self.load("%before", e), "zeroinitializer"))
        self.put(f"br i1 {self.any(self.both(suspect, active))}, label %{just}, label %{known}")
        self.block.label(just)
        self.repeat(time, self.op("fmul", length, self.t.splat(AFTER_STEP_START)), "%guessed")
        self.block.jump_to(known)

    def _narrow(self, time: str, length: str, crossed: str, width: str) -> None:
        """Narrow the bracket by secants; the value at an end that stays is halved (Illinois)."""
        t, block = self.t, self.block
        loop, guess, out = (block.fresh(name) for name in ("narrow", "narrow.guess", "narrow.out"))
        entry, after = block.fresh("narrow.entry"), block.fresh("narrow.after")
        block.jump_to(entry)
        block.jump_to(loop)
        self.put(f"%{loop}.i = phi i64 [ 0, %{entry} ], [ %{loop}.next, %{after} ]")
        low, high, f_low, f_high, side = (self.load("%bracket", k) for k in range(5))
        gap = self.op("fsub", high, low)
        wide = self.both(crossed, self.true("ogt", gap, width))
        few = self.let(f"icmp slt i64 %{loop}.i, {MAX_EVENT_GUESSES}")
        self.put(f"br i1 {self.let(f'and i1 {few}, {self.any(wide)}')}, label %{guess}, label %{out}")
        block.label(guess)
        secant = self.op("fdiv", self.op("fmul", f_high, gap), self.op("fsub", f_high, f_low))
        bisects = self.let(f"icmp eq i64 {self.let(f'urem i64 %{loop}.i, {BISECTION_PERIOD}')}, {BISECTION_PERIOD - 1}")
        half = self.op("fmul", gap, t.splat(0.5))
        back = self.let(f"select i1 {bisects}, {t.vector} {half}, {t.vector} {secant}")
        margin = self.op("fmul", width, t.splat(0.5))
        x = self.call("minnum", self.op("fsub", high, back), self.op("fsub", high, margin))
        x = self.call("maxnum", x, self.op("fadd", low, margin))
        self.repeat(time, self.select(wide, self.op("fmul", length, x), t.splat(0.0)), "%guessed")
        f = self._largest_crossing("%guessed")
        above, below = self.true("uge", f, "zeroinitializer"), self.true("olt", f, "zeroinitializer")
        stayed = {1: self.true("ogt", side, "zeroinitializer"), -1: self.true("olt", side, "zeroinitializer")}
        halved = {
            1: self.select(stayed[1], self.op("fmul", f_low, t.splat(0.5)), f_low),
            -1: self.select(stayed[-1], self.op("fmul", f_high, t.splat(0.5)), f_high),
        }
        new = (
            self.select(below, x, low),
            self.select(above, x, high),
            self.select(below, f, halved[1]),
            self.select(above, f, halved[-1]),
            self.select(above, t.splat(1.0), t.splat(-1.0)),
        )
        for k, (value, old) in enumerate(zip(new, (low, high, f_low, f_high, side), strict=True)):
            self.store("%bracket", k, self.select(wide, value, old))
        block.jump_to(after)
        self.put(f"%{loop}.next = add i64 %{loop}.i, 1")
        self.put(f"br label %{loop}")
        block.label(out)

    def _end(self, crossed: str, not_finite: str, when: str) -> None:
        """Store the event that ended each rollout and its time, or that an event is not finite."""
        t, zero = self.t, "zeroinitializer"
        number = t.splat(0.0)
        for e in reversed(range(self.events)):
            sign = self.load("%crossed", e)
            happened = self.true("oge", self.op("fmul", sign, self.load("%guessed", e)), zero)
            number = self.select(self.both(self.true("one", sign, zero), happened), t.splat(e + 1.0), number)
        self.write(self.select(crossed, number, self.block.read("%event.here")), "%event.here")
        state = self.select(not_finite, t.splat(float(EVENT_NOT_FINITE)), self.block.read("%stop_reason.here"))
        self.write(self.select(crossed, t.splat(float(ENDED_BY_EVENT)), state), "%stop_reason.here")
        self.store("%instant", "0", self.select(crossed, when, self.load("%instant", "0")))

    def _copy(self, source: str, first: int, target: str, begin: int) -> None:
        """Copy a state in memory."""

        def entry(e: str) -> None:
            x = self.load(source, self.let(f"add i64 {e}, {first}"))
            self.store(target, self.let(f"add i64 {e}, {begin}"), x)

        self.each("copy", entry)

    def take(self, lanes: str, name: str, new: str, old: str) -> None:
        """Replace the old entries by the new ones in some lanes."""
        self.each(name, lambda e: self.store(old, e, self.select(lanes, self.load(new, e), self.load(old, e))))
