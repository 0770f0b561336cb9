"""Subdivision of a step in which an event may cross zero several times, to find the first crossing.

Events are evaluated at four points within every step, on a parabola through its ends. A cubic through their values and
slopes may have several zeros, or may not fit (`integrate.events.several_zeros`). Then the step is searched piece by
piece, each a third of one that was too long, by steps of other lengths from its start.
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

    open: bool
    by_length: bool
    directions: tuple[int, ...]
    first: int

    @property
    def events(self) -> int:
        return len(self.directions)

    @property
    def room_to_look(self) -> dict[str, int]:
        """The vectors of memory: values at all points and their places, slopes at the start, a state, the piece."""
        looks = {"looks": SAMPLES_PER_PIECE * self.events, "shares": SAMPLES_PER_PIECE, "slopes": self.events}
        return {**looks, "near": self.m, "piece": 6}

    @property
    def just(self) -> float:
        """The share of a step over which slopes are computed."""
        return JUST_INSIDE if self.t.double else JUST_INSIDE_COARSE

    # truths and vectors

    def true(self, relation: str, x: str, y: str) -> str:
        return self.let(f"fcmp {relation} {self.t.vector} {x}, {y}")

    def both(self, x: str, y: str) -> str:
        return self.let(f"and {self.t.mask} {x}, {y}")

    def either(self, x: str, y: str) -> str:
        return self.let(f"or {self.t.mask} {x}, {y}")

    def opposite(self, truths: str) -> str:
        ones = "<" + ", ".join(["i1 true"] * self.t.width) + ">"
        return self.let(f"xor {self.t.mask} {truths}, {ones}")

    def any(self, truths: str) -> str:
        return self.let(f"call i1 @llvm.vector.reduce.or.v{self.t.width}i1({self.t.mask} {truths})")

    def write(self, value: str, place: str) -> None:
        self.put(f"store {self.t.vector} {value}, ptr {place}, align {self.t.bytes}")

    def evaluate(self, body: str, time: str, source: str, target: str) -> None:
        """Call a program at a time and a state."""
        w = self.t.width
        self.store("%moment", "0", time)
        if self.by_length and body == "body":
            self.store("%moment", "1", self.length)
        parameters = "ptr %p.here, i64 %stride, " if self.open else ""
        arguments = f"ptr %moment, i64 {w}, ptr {source}, i64 {w}, {parameters}ptr {target}, i64 {w}, ptr %status"
        self.put(f"call void @{body}({arguments})")

    def crosses(self, e: int, before: str, after: str) -> str:
        """Return the lanes in which an event happens between two of its values."""
        zero, direction = "zeroinitializer", self.directions[e]
        up = self.both(self.true("olt", before, zero), self.true("oge", after, zero))
        down = self.both(self.true("ogt", before, zero), self.true("ole", after, zero))
        return {1: up, -1: down}[direction] if direction else self.either(up, down)

    def again(self, time: str, length: str, target: str) -> str:
        """Repeat the step with another length and evaluate all events there; return the time."""
        self.stages(time, length, self.first)
        self.project()
        end = self.op("fadd", time, length)
        self.evaluate("watch", end, "%trial", target)
        return end

    # events within a step

    def look_within(self, time: str, length: str) -> str:
        """Evaluate events along the parabola of a step; return the lanes in which one may cross zero several times."""
        t = self.t
        for k, share in enumerate((1 / 3, 2 / 3, 1 - self.just, self.just)):
            self.store("%shares", k, t.splat(share))

        def look(k: str) -> None:
            share = self.load("%shares", k)

            def entry(e: str) -> None:
                begun = self.op("fmul", length, self.load("%k", e))
                grown = self.op("fsub", self.load("%trial", e), self.load("%now", e))
                bend = self.call("fmuladd", share, self.op("fsub", grown, begun), begun)
                self.store("%near", e, self.call("fmuladd", share, bend, self.load("%now", e)))

            self.each("near", entry)
            self.evaluate("watch", self.call("fmuladd", share, length, time), "%near", self._looks(k))

        self.loop("look", SAMPLES_PER_PIECE, look)

        def tangled(e: str) -> str:
            before, after, early = self.load("%before", e), self.load("%after", e), self._look(3, e)
            begin = self.op("fdiv", self.op("fsub", early, before), t.splat(self.just))
            self.store("%slopes", e, begin)
            start = self.select(self.true("oeq", before, "zeroinitializer"), early, before)
            return self._tangled(e, start, after, begin, self._slope(e, after), t.splat(1.0))

        return self._of_some("tangled", tangled)

    def _of_some(self, name: str, truth: Callable[[str], str]) -> str:
        """Return the lanes in which something is true of at least one event."""
        self.store("%piece", FOUND, self.t.splat(0.0))

        def look(e: str) -> None:
            self.store("%piece", FOUND, self.select(truth(e), self.t.splat(1.0), self.load("%piece", FOUND)))

        self.loop(name, self.events, look)
        return self.true("ogt", self.load("%piece", FOUND), "zeroinitializer")

    def _looks(self, k: str) -> str:
        """Return the address of the values at a point."""
        place = self.let(f"mul i64 {k}, {self.events}")
        return self.let(f"getelementptr {self.t.vector}, ptr %looks, i64 {place}")

    def _look(self, k: int, e: str) -> str:
        return self.load("%looks", self.let(f"add i64 {e}, {k * self.events}"))

    def _slope(self, e: str, after: str) -> str:
        """Return the slope of an event at the end of a piece, per length of the step."""
        return self.op("fdiv", self.op("fsub", after, self._look(2, e)), self.t.splat(self.just))

    def _tangled(self, e: str, before: str, after: str, begin: str, end: str, part: str) -> str:
        """Return `integrate.events.several_zeros` for a part of a step."""
        t, zero = self.t, "zeroinitializer"
        third, second = self._look(0, e), self._look(1, e)
        reach = self.op("fdiv", part, t.splat(3.0))
        one = self.call("fmuladd", begin, reach, before)
        two = self.op("fsub", after, self.op("fmul", end, reach))
        points, values = (before, one, two, after), (before, third, second, after)
        many = self._twice([self.true("olt", self.op("fmul", a, b), zero) for a, b in pairwise(points)])
        off = self.call("maxnum", self._off(third, points), self._off(second, points[::-1]))
        wide = self.op("fsub", self._extremum("maxnum", points), self._extremum("minnum", points))
        nearest = self._extremum("minnum", [self.call("fabs", x) for x in values])
        bent = self.both(
            self.true("ogt", off, self.op("fmul", wide, t.splat(27 * MAX_CUBIC_DEVIATION))),
            self.true(
                "ogt", self.op("fmul", off, t.splat(ZERO_DISTANCE_RATIO)), self.op("fmul", nearest, t.splat(27.0))
            ),
        )
        flat = self.both(self.true("oeq", begin, zero), self.true("oeq", end, zero))
        jumps = self._twice([self.true("one", a, b) for a, b in pairwise(values)])
        return self.either(many, self.both(bent, self.opposite(self.both(flat, self.opposite(jumps)))))

    def _twice(self, truths: list[str]) -> str:
        """Return true where two of three are true."""
        a, b, c = truths
        return self.either(self.both(a, self.either(b, c)), self.both(b, c))

    def _off(self, value: str, points: tuple[str, ...]) -> str:
        """Return 27 times the distance of a value at a third from the cubic."""
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

    def look_closer(self, time: str, length: str, tangled: str) -> None:
        """Find the first piece with an event; the values at its ends replace those of the step."""
        t, block = self.t, self.block
        for k, value in enumerate((0.0, 1.0, 0.0, 1.0)):
            self.store("%piece", k, t.splat(value))
        self.store("%piece", ACTIVE, self.select(tangled, t.splat(1.0), t.splat(0.0)))
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
        begin, wide = self.load("%piece", BEGIN), self.load("%piece", WIDTH)
        end = self.op("fadd", begin, wide)
        end = self.select(self.true("ogt", end, t.splat(1 - MIN_EVENT_PIECE / 2)), t.splat(1.0), end)
        wide = self.op("fsub", end, begin)
        for k, share in enumerate((1 / 3, 2 / 3)):
            self.store("%shares", k, self.call("fmuladd", wide, t.splat(share), begin))
        self.store("%shares", 2, self.op("fsub", end, t.splat(self.just)))
        self.store("%shares", 3, end)

        def look(k: str) -> None:
            moved = self.op("fmul", length, self.load("%shares", k))
            self.again(time, self.select(active, moved, t.splat(0.0)), self._looks(k))

        self.loop("piece.look", SAMPLES_PER_PIECE, look)

        def many(e: str) -> str:
            before, after = self.load("%before", e), self._look(3, e)
            return self._tangled(e, before, after, self.load("%slopes", e), self._slope(e, after), wide)

        tangled, happens = self._of_some("many", many), self.true("one", wide, wide)
        for e in range(self.events):
            happens = self.either(happens, self.crosses(e, self.load("%before", e), self._look(3, str(e))))
        long = self.true("ogt", wide, t.splat(2 * MIN_EVENT_PIECE))
        split = self.both(active, self.both(tangled, long))
        clear = self.both(active, self.opposite(split))
        hit, gone = self.both(clear, happens), self.both(clear, self.opposite(happens))

        def settle(e: str) -> None:
            before, after = self.load("%before", e), self._look(3, e)
            self.store("%slopes", e, self.select(gone, self._slope(e, after), self.load("%slopes", e)))
            self.store("%before", e, self.select(gone, after, before))
            self.store("%after", e, self.select(hit, after, self.load("%after", e)))

        self.loop("settle", self.events, settle)
        self.store("%piece", LOW, self.select(hit, begin, self.load("%piece", LOW)))
        self.store("%piece", HIGH, self.select(hit, end, self.load("%piece", HIGH)))
        self.store("%piece", BEGIN, self.select(gone, end, begin))
        third = self.op("fdiv", wide, t.splat(3.0))
        self.store("%piece", WIDTH, self.select(split, third, self.op("fmul", wide, t.splat(3.0))))
        more = self.either(split, self.both(gone, self.true("olt", end, t.splat(1.0))))
        self.store("%piece", ACTIVE, self.select(more, t.splat(1.0), t.splat(0.0)))
