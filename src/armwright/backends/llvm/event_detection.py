"""Event detection in the loop of a rollout: after every step, and by steps of other lengths from its start.

An event is a number computed from time, state and parameters; it happens where the number changes its sign. The step is
then loop_text from its start with other lengths until the instant is known to rounding, as in `integrate.events`. The
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
        watch: EventProgram | None,
    ) -> None:
        super().__init__(lanes, steps, entries, layout.unit_vectors)
        self.open, self.by_length, self.watch = len(sizes) > 2, sizes[0] > 1, watch
        self.directions = watch.directions if watch else ()
        self.first = 1 if steps.error is not None and steps.fsal else 0

    @property
    def memory(self) -> dict[str, int]:
        """The vectors of memory: events before, after and at a guess, their signs, a saved step, a bracket."""
        if not self.watch:
            return {}
        events = dict.fromkeys(("before", "after", "guessed", "crossed"), self.events)
        return {**events, "saved": 2 * self.m, "bracket": 5, "instant": 1, **self.room_to_look}

    # what happens in a step

    def look(self) -> None:
        """Evaluate all events at the current states."""
        if self.watch:
            self.evaluate("watch", self.block.read("%t.here"), "%now", "%before")

    def passed(self, time: str, length: str, end: str, going: str) -> None:
        """Check a step to `trial` of the rollouts `going`; a rollout that an event ends has that state in `trial`.

        Then `instant` is the time of each rollout; `stop_reason` and `event` are stored.
        """
        t, block, zero = self.t, self.block, "zeroinitializer"
        look, locate, done = (block.fresh(name) for name in ("watch.look", "watch.locate", "watch.done"))
        block.jump_to(look)
        self.store("%instant", "0", end)
        going = self.both(going, self.true("oeq", block.read("%event.here"), zero))
        self.evaluate("watch", end, "%trial", "%after")
        some = self.let(f"and {t.mask} {going}, zeroinitializer")
        for e in range(self.events):
            before, after = self.load("%before", e), self.load("%after", e)
            odd = self.either(self.true("oeq", before, zero), self.true("uno", after, after))
            some = self.either(some, self.either(odd, self.crosses(e, before, after)))
        tangled = self.both(going, self.look_within(time, length))
        some = self.both(self.either(some, tangled), going)
        self.put(f"br i1 {self.any(some)}, label %{locate}, label %{done}, !prof !0")
        block.label(locate)
        self._locate(time, length, going, tangled)
        block.jump_to(done)
        for e in range(self.events):
            self.store("%before", e, self.select(going, self.load("%after", e), self.load("%before", e)))

    def _latest(self, values: str) -> str:
        """Return a number above zero once any event of the step has happened."""
        t = self.t
        highest = t.splat(-1e30)
        for e in range(self.events):
            way = self.load("%crossed", e)
            here = self.op("fmul", way, self.load(values, e))
            mine = self.true("one", way, "zeroinitializer")
            highest = self.select(mine, self.call("maxnum", here, highest), highest)
        return highest

    def _locate(self, time: str, length: str, going: str, tangled: str) -> None:
        t = self.t
        last = (self.steps.stages - 1) * self.m
        self._copy("%trial", 0, "%saved", 0)
        if self.first:
            self._copy("%k", last, "%saved", self.m)
        self._signs(time, length, going)
        for e in range(self.events):
            known = self.load("%before", e)
            at_zero = self.true("oeq", known, "zeroinitializer")
            self.store("%before", e, self.select(at_zero, self.load("%guessed", e), known))
        self.look_closer(time, length, tangled)
        hit = lost = self.let(f"and {t.mask} {going}, zeroinitializer")
        for e in range(self.events):
            before, after = self.load("%before", e), self.load("%after", e)
            crossed = self.both(going, self.crosses(e, before, after))
            way = self.select(self.true("olt", before, "zeroinitializer"), t.splat(1.0), t.splat(-1.0))
            self.store("%crossed", e, self.select(crossed, way, t.splat(0.0)))
            hit = self.either(hit, crossed)
            lost = self.either(lost, self.both(going, self.true("uno", after, after)))
        far = self.call("maxnum", self.call("fabs", time), self.call("fabs", self.op("fadd", time, length)))
        rounding = 2 * (2.0**-52 if t.double else 2.0**-23)
        width = self.op("fmul", self.op("fdiv", far, self.call("fabs", length)), t.splat(rounding))
        width = self.call("maxnum", width, t.splat(rounding))
        low, high = (self.load("%piece", k) for k in (LOW, HIGH))
        begin = (low, high, self._latest("%before"), self._latest("%after"), t.splat(0.0))
        for k, value in enumerate(begin):
            self.store("%bracket", k, value)
        self._narrow(time, length, hit, width)
        moved = self.select(hit, self.op("fmul", length, self.load("%bracket", 1)), t.splat(0.0))
        when = self.again(time, moved, "%guessed")
        self._end(hit, lost, when)
        self.take(self.opposite(hit), "others", "%saved", "%trial")
        if self.first:
            self._copy("%saved", self.m, "%k", last)

    def _signs(self, time: str, length: str, going: str) -> None:
        """Evaluate all events just after the start, where one was zero at the start."""
        just, known = self.block.fresh("just.after"), self.block.fresh("signs.known")
        some = self.let(f"and {self.t.mask} {going}, zeroinitializer")
        for e in range(self.events):
            some = self.either(some, self.true("oeq", self.load("%before", e), "zeroinitializer"))
        self.put(f"br i1 {self.any(self.both(some, going))}, label %{just}, label %{known}")
        self.block.label(just)
        self.again(time, self.op("fmul", length, self.t.splat(AFTER_STEP_START)), "%guessed")
        self.block.jump_to(known)

    def _narrow(self, time: str, length: str, hit: str, width: str) -> None:
        """Narrow the bracket by secants; the value at an end that stays is halved (Illinois)."""
        t, block = self.t, self.block
        loop, guess, out = (block.fresh(name) for name in ("narrow", "narrow.guess", "narrow.out"))
        entry, after = block.fresh("narrow.entry"), block.fresh("narrow.after")
        block.jump_to(entry)
        block.jump_to(loop)
        self.put(f"%{loop}.i = phi i64 [ 0, %{entry} ], [ %{loop}.next, %{after} ]")
        low, high, f_low, f_high, side = (self.load("%bracket", k) for k in range(5))
        gap = self.op("fsub", high, low)
        wide = self.both(hit, self.true("ogt", gap, width))
        few = self.let(f"icmp slt i64 %{loop}.i, {MAX_EVENT_GUESSES}")
        self.put(f"br i1 {self.let(f'and i1 {few}, {self.any(wide)}')}, label %{guess}, label %{out}")
        block.label(guess)
        secant = self.op("fdiv", self.op("fmul", f_high, gap), self.op("fsub", f_high, f_low))
        turn = self.let(f"icmp eq i64 {self.let(f'urem i64 %{loop}.i, {BISECTION_PERIOD}')}, {BISECTION_PERIOD - 1}")
        half = self.op("fmul", gap, t.splat(0.5))
        back = self.let(f"select i1 {turn}, {t.vector} {half}, {t.vector} {secant}")
        little = self.op("fmul", width, t.splat(0.5))
        x = self.call("minnum", self.op("fsub", high, back), self.op("fsub", high, little))
        x = self.call("maxnum", x, self.op("fadd", low, little))
        self.again(time, self.select(wide, self.op("fmul", length, x), t.splat(0.0)), "%guessed")
        f = self._latest("%guessed")
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

    def _end(self, hit: str, lost: str, when: str) -> None:
        """Store the event that ended each rollout and its time, or that an event is not finite."""
        t, zero = self.t, "zeroinitializer"
        which = t.splat(0.0)
        for e in reversed(range(self.events)):
            way = self.load("%crossed", e)
            happened = self.true("oge", self.op("fmul", way, self.load("%guessed", e)), zero)
            which = self.select(self.both(self.true("one", way, zero), happened), t.splat(e + 1.0), which)
        self.write(self.select(hit, which, self.block.read("%event.here")), "%event.here")
        state = self.select(lost, t.splat(float(EVENT_NOT_FINITE)), self.block.read("%stop_reason.here"))
        self.write(self.select(hit, t.splat(float(ENDED_BY_EVENT)), state), "%stop_reason.here")
        self.store("%instant", "0", self.select(hit, when, self.load("%instant", "0")))

    def _copy(self, source: str, first: int, target: str, begin: int) -> None:
        """Copy a state in memory."""

        def entry(e: str) -> None:
            x = self.load(source, self.let(f"add i64 {e}, {first}"))
            self.store(target, self.let(f"add i64 {e}, {begin}"), x)

        self.each("copy", entry)

    def take(self, which: str, name: str, new: str, old: str) -> None:
        """Replace the old entries by the new ones in some lanes."""
        self.each(name, lambda e: self.store(old, e, self.select(which, self.load(new, e), self.load(old, e))))
