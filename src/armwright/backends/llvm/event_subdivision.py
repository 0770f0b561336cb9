"""Subdivision of a step in which an event may cross zero several times, to find the first crossing.

Events are evaluated at four points within every step, on a parabola through its ends. A cubic through their values and
slopes may have several zeros, or may not fit (`integrate.events.several_zeros`). Then the step is searched piece by
piece, each a third of a piece that was too long, by steps of other lengths from its start.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from armwright.backends.event_search import MAX_EVENT_PIECES, MIN_EVENT_PIECE
from armwright.backends.llvm.stages import Stages
from armwright.integrate.events import (
    JUST_INSIDE,
    JUST_INSIDE_COARSE,
    MAX_CUBIC_DEVIATION,
    THIRD_WEIGHTS,
    ZERO_DISTANCE_RATIO,
)

SAMPLES_PER_PIECE = 4
"""The points of a piece: a third, two thirds, just before its end and its end; of a step just after its start too."""

BEGIN, WIDTH, LOW, HIGH, ACTIVE, FOUND = range(6)
"""The entries of `piece`, in shares of the step: begin and length, bracket of a crossing; flags active and found."""


class EventSubdivision(Stages):
    """The stages of a rollout, with events within steps."""

    has_parameters: bool
    by_length: bool
    directions: tuple[int, ...]
    first: int

    @property
    def events(self) -> int:
        return len(self.directions)

    @property
    def search_memory(self) -> dict[str, int]:
        """The vectors of memory: values at all points and their places, slopes at the start, a state, the piece."""
        memory = {"samples": SAMPLES_PER_PIECE * self.events, "shares": SAMPLES_PER_PIECE, "slopes": self.events}
        return {**memory, "sampled": self.m, "piece": 6}

    @property
    def slope_share(self) -> float:
        """The share of a step over which slopes are computed."""
        return JUST_INSIDE if self.t.double else JUST_INSIDE_COARSE

    # conditions and vectors

    def true(self, relation: str, x: str, y: str) -> str:
        return self.let(f"fcmp {relation} {self.t.vector} {x}, {y}")

    def both(self, x: str, y: str) -> str:
        return self.let(f"and {self.t.mask} {x}, {y}")

    def either(self, x: str, y: str) -> str:
        return self.let(f"or {self.t.mask} {x}, {y}")

    def negated(self, conditions: str) -> str:
        ones = "<" + ", ".join(["i1 true"] * self.t.width) + ">"
        return self.let(f"xor {self.t.mask} {conditions}, {ones}")

    def any(self, conditions: str) -> str:
        return self.let(f"call i1 @llvm.vector.reduce.or.v{self.t.width}i1({self.t.mask} {conditions})")

    def write(self, value: str, place: str) -> None:
        self.put(f"store {self.t.vector} {value}, ptr {place}, align {self.t.bytes}")

    def evaluate(self, body: str, time: str, source: str, target: str) -> None:
        """Call a program at a time and a state."""
        w = self.t.width
        self.store("%moment", "0", time)
        if self.by_length and body == "body":
            self.store("%moment", "1", self.length)
        parameters = "ptr %p.here, i64 %stride, " if self.has_parameters else ""
        arguments = f"ptr %moment, i64 {w}, ptr {source}, i64 {w}, {parameters}ptr {target}, i64 {w}, ptr %status"
        self.put(f"call void @{body}({arguments})")

    def crosses(self, e: int, before: str, after: str) -> str:
        """Return the lanes in which an event happens between two of its values."""
        zero, direction = "zeroinitializer", self.directions[e]
        up = self.both(self.true("olt", before, zero), self.true("oge", after, zero))
        down = self.both(self.true("ogt", before, zero), self.true("ole", after, zero))
        return {1: up, -1: down}[direction] if direction else self.either(up, down)

    def repeat(self, time: str, length: str, target: str) -> str:
        """Repeat the step with another length and evaluate all events there; return the time."""
        self.stages(time, length, self.first)
        self.project()
        end = self.op("fadd", time, length)
        self.evaluate("events", end, "%trial", target)
        return end

    # events within a step

    def sample_step(self, time: str, length: str) -> str:
        """Evaluate events along the parabola of a step; return the lanes in which one may cross zero several times."""
        t = self.t
        for k, share in enumerate((1 / 3, 2 / 3, 1 - self.slope_share, self.slope_share)):
            self.store("%shares", k, t.splat(share))

        def sample(k: str) -> None:
            share = self.load("%shares", k)

            def entry(e: str) -> None:
                start_change = self.op("fmul", length, self.load("%k", e))
                change = self.op("fsub", self.load("%trial", e), self.load("%now", e))
                bend = self.call("fmuladd", share, self.op("fsub", change, start_change), start_change)
                self.store("%sampled", e, self.call("fmuladd", share, bend, self.load("%now", e)))

            self.each("sampled", entry)
            self.evaluate("events", self.call("fmuladd", share, length, time), "%sampled", self._sample_address(k))

        self.loop("look", SAMPLES_PER_PIECE, sample)

        def several(e: str) -> str:
            before, after, early = self.load("%before", e), self.load("%after", e), self._sample(3, e)
            begin = self.op("fdiv", self.op("fsub", early, before), t.splat(self.slope_share))
            self.store("%slopes", e, begin)
            start = self.select(self.true("oeq", before, "zeroinitializer"), early, before)
            return self._several_zeros(e, start, after, begin, self._slope(e, after), t.splat(1.0))

        return self._any_event("several.zeros", several)

    def _any_event(self, name: str, condition: Callable[[str], str]) -> str:
        """Return the lanes in which something is true of at least one event."""
        self.store("%piece", FOUND, self.t.splat(0.0))

        def sample(e: str) -> None:
            self.store("%piece", FOUND, self.select(condition(e), self.t.splat(1.0), self.load("%piece", FOUND)))

        self.loop(name, self.events, sample)
        return self.true("ogt", self.load("%piece", FOUND), "zeroinitializer")

    def _sample_address(self, k: str) -> str:
        """Return the address of the values at a point."""
        place = self.let(f"mul i64 {k}, {self.events}")
        return self.let(f"getelementptr {self.t.vector}, ptr %samples, i64 {place}")

    def _sample(self, k: int, e: str) -> str:
        return self.load("%samples", self.let(f"add i64 {e}, {k * self.events}"))

    def _slope(self, e: str, after: str) -> str:
        """Return the slope of an event at the end of a piece, per length of the step."""
        return self.op("fdiv", self.op("fsub", after, self._sample(2, e)), self.t.splat(self.slope_share))

    def _several_zeros(self, e: str, before: str, after: str, begin: str, end: str, part: str) -> str:
        """Return `integrate.events.several_zeros` for a part of a step."""
        t, zero = self.t, "zeroinitializer"
        third, second = self._sample(0, e), self._sample(1, e)
        reach = self.op("fdiv", part, t.splat(3.0))
        one = self.call("fmuladd", begin, reach, before)
        two = self.op("fsub", after, self.op("fmul", end, reach))
        points, values = (before, one, two, after), (before, third, second, after)
        many = self._two_of_three([self.true("olt", self.op("fmul", a, b), zero) for a, b in pairwise(points)])
        deviation = self.call("maxnum", self._deviation(third, points), self._deviation(second, points[::-1]))
        value_range = self.op("fsub", self._extremum("maxnum", points), self._extremum("minnum", points))
        nearest = self._extremum("minnum", [self.call("fabs", x) for x in values])
        bent = self.both(
            self.true("ogt", deviation, self.op("fmul", value_range, t.splat(27 * MAX_CUBIC_DEVIATION))),
            self.true(
                "ogt", self.op("fmul", deviation, t.splat(ZERO_DISTANCE_RATIO)), self.op("fmul", nearest, t.splat(27.0))
            ),
        )
        flat = self.both(self.true("oeq", begin, zero), self.true("oeq", end, zero))
        jumps = self._two_of_three([self.true("one", a, b) for a, b in pairwise(values)])
        return self.either(many, self.both(bent, self.negated(self.both(flat, self.negated(jumps)))))

    def _two_of_three(self, conditions: list[str]) -> str:
        """Return true where two of three are true."""
        a, b, c = conditions
        return self.either(self.both(a, self.either(b, c)), self.both(b, c))

    def _deviation(self, value: str, points: tuple[str, ...]) -> str:
        """Return 27 times the deviation of a value at a third from the cubic."""
        cubic = self.t.splat(0.0)
        for weight, point in zip(THIRD_WEIGHTS, points, strict=True):
            cubic = self.call("fmuladd", self.t.splat(float(weight)), point, cubic)
        return self.call("fabs", self.op("fsub", self.op("fmul", value, self.t.splat(27.0)), cubic))

    def _extremum(self, which: str, values: tuple[str, ...] | list[str]) -> str:
        first, *rest = values
        for value in rest:
            first = self.call(which, first, value)
        return first

    # piece by piece

    def subdivide(self, time: str, length: str, several: str) -> None:
        """Find the first piece with an event; the values at its ends replace those of the step."""
        t, block = self.t, self.block
        for k, value in enumerate((0.0, 1.0, 0.0, 1.0)):
            self.store("%piece", k, t.splat(value))
        self.store("%piece", ACTIVE, self.select(several, t.splat(1.0), t.splat(0.0)))
        entry, loop, piece, out = (block.fresh(f"closer.{name}") for name in ("entry", "loop", "piece", "out"))
        block.jump_to(entry)
        block.jump_to(loop)
        after = f"{piece}.after"
        self.put(f"%{loop}.i = phi i64 [ 0, %{entry} ], [ %{loop}.next, %{after} ]")
        active = self.true("ogt", self.load("%piece", ACTIVE), "zeroinitializer")
        few = self.let(f"icmp slt i64 %{loop}.i, {MAX_EVENT_PIECES}")
        self.put(f"br i1 {self.let(f'and i1 {few}, {self.any(active)}')}, label %{piece}, label %{out}, !prof !0")
        block.label(piece)
        self._piece(time, length, active)
        block.jump_to(after)
        self.put(f"%{loop}.next = add i64 %{loop}.i, 1")
        self.put(f"br label %{loop}")
        block.label(out)

    def _piece(self, time: str, length: str, active: str) -> None:
        t = self.t
        begin, width = self.load("%piece", BEGIN), self.load("%piece", WIDTH)
        end = self.op("fadd", begin, width)
        end = self.select(self.true("ogt", end, t.splat(1 - MIN_EVENT_PIECE / 2)), t.splat(1.0), end)
        width = self.op("fsub", end, begin)
        for k, share in enumerate((1 / 3, 2 / 3)):
            self.store("%shares", k, self.call("fmuladd", width, t.splat(share), begin))
        self.store("%shares", 2, self.op("fsub", end, t.splat(self.slope_share)))
        self.store("%shares", 3, end)

        def sample(k: str) -> None:
            moved = self.op("fmul", length, self.load("%shares", k))
            self.repeat(time, self.select(active, moved, t.splat(0.0)), self._sample_address(k))

        self.loop("piece.look", SAMPLES_PER_PIECE, sample)

        def many(e: str) -> str:
            before, after = self.load("%before", e), self._sample(3, e)
            return self._several_zeros(e, before, after, self.load("%slopes", e), self._slope(e, after), width)

        several, happens = self._any_event("many", many), self.true("one", width, width)
        for e in range(self.events):
            happens = self.either(happens, self.crosses(e, self.load("%before", e), self._sample(3, str(e))))
        long = self.true("ogt", width, t.splat(2 * MIN_EVENT_PIECE))
        split = self.both(active, self.both(several, long))
        clear = self.both(active, self.negated(split))
        crossed, passed = self.both(clear, happens), self.both(clear, self.negated(happens))

        def settle(e: str) -> None:
            before, after = self.load("%before", e), self._sample(3, e)
            self.store("%slopes", e, self.select(passed, self._slope(e, after), self.load("%slopes", e)))
            self.store("%before", e, self.select(passed, after, before))
            self.store("%after", e, self.select(crossed, after, self.load("%after", e)))

        self.loop("settle", self.events, settle)
        self.store("%piece", LOW, self.select(crossed, begin, self.load("%piece", LOW)))
        self.store("%piece", HIGH, self.select(crossed, end, self.load("%piece", HIGH)))
        self.store("%piece", BEGIN, self.select(passed, end, begin))
        third = self.op("fdiv", width, t.splat(3.0))
        self.store("%piece", WIDTH, self.select(split, third, self.op("fmul", width, t.splat(3.0))))
        more = self.either(split, self.both(passed, self.true("olt", end, t.splat(1.0))))
        self.store("%piece", ACTIVE, self.select(more, t.splat(1.0), t.splat(0.0)))
