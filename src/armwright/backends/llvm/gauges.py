"""Measures in the loop of a rollout: updated at every record, so that no record need be kept."""

from __future__ import annotations

from collections.abc import Callable

from armwright.backends.llvm.event_detection import EventDetection
from armwright.backends.rollout_interface import Gauge


class GaugeRecording(EventDetection):
    """The stages of a rollout, with measures. The values so far are in `totals`."""

    gauge: Gauge | None = None

    @property
    def memory(self) -> dict[str, int]:
        """The vectors of memory: gauges at this record and the one before, its time, and gauges of a step."""
        if self.gauge is None:
            return super().memory
        gauges = max(1, self.gauge.at_records)
        steps = {"seen.within": self.gauge.in_steps, "moment.end": 1} if self.gauge.within is not None else {}
        return {**super().memory, "seen": gauges, "seen.before": gauges, "since": 1, **steps}

    def outside(self, array: str, row: str) -> str:
        """Return the address of a row of this chunk in an array of all rollouts."""
        column = self.let(f"add i64 {self.let(f'mul i64 {row}, %stride')}, %at")
        return self.let(f"getelementptr {self.t.scalar}, ptr {array}, i64 {column}")

    def begin_measuring(self) -> None:
        """Measure at the start of a call: the start of the motion, or the last record."""
        if self.gauge is None or not self.gauge.at_records:
            return
        time = self.block.read("%t.here")
        self.evaluate("gauge", time, "%now", "%seen.before")
        self.store("%since", 0, time)
        self._keep_largest("%seen.before")

    def measure(self) -> None:
        """Measure at a record."""
        if self.gauge is None or not self.gauge.at_records:
            return
        time = self.block.read("%t.here")
        self.evaluate("gauge", time, "%now", "%seen")
        half = self.op("fmul", self.op("fsub", time, self.load("%since", 0)), self.t.splat(0.5))
        self.store("%since", 0, time)
        self._keep_largest("%seen")

        def add(e: str) -> None:
            both = self.op("fadd", self.load("%seen.before", e), self.load("%seen", e))
            self._change(e, lambda total: self.call("fmuladd", both, half, total))
            self.store("%seen.before", e, self.load("%seen", e))

        first, last = self.gauge.largest, self.gauge.largest + self.gauge.integrals
        self._part("add", first, last, add)
        self._part("last", last, self.gauge.at_records, self._replace)

    def measure_step(self, time: str, end: str, which: str = "") -> None:
        """Measure a step from `now` to `trial`, in some lanes or in all."""
        if self.gauge is None or self.gauge.within is None:
            return
        first, w = self.gauge.at_records, self.t.width
        self.store("%moment", "0", time)
        self.store("%moment.end", "0", end)
        given = ["%moment", "%now", *(["%p.here"] if self.open else []), "%moment.end", "%trial", "%seen.within"]
        places = ", ".join(f"ptr {x}, i64 {'%stride' if x == '%p.here' else w}" for x in given)
        self.put(f"call void @within({places}, ptr %status)")

        def keep(e: str) -> None:
            seen = self.load("%seen.within", self.let(f"sub i64 {e}, {first}"))

            def larger(total: str) -> str:
                found = self.call("maxnum", total, seen)
                return self.select(which, found, total) if which else found

            self._change(e, larger)

        self._part("within", first, self.gauge.totals, keep)

    def _replace(self, e: str) -> None:
        self._change(e, lambda _: self.load("%seen", e))

    def _keep_largest(self, seen: str) -> None:
        assert self.gauge is not None

        def keep(e: str) -> None:
            self._change(e, lambda total: self.call("maxnum", total, self.load(seen, e)))

        self._part("largest", 0, self.gauge.largest, keep)

    def _change(self, e: str, change: Callable[[str], str]) -> None:
        place = self.outside("%totals", e)
        self.write(change(self.block.read(place)), place)

    def _part(self, name: str, first: int, end: int, work: Callable[[str], None]) -> None:
        """Do `work` for the gauges from `first` to before `end`, if there are any."""
        if first < end:
            self.loop(name, end - first, lambda e: work(self.let(f"add i64 {e}, {first}")))
