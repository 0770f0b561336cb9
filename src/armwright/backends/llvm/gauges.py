"""Measures in the loop of a rollout: updated at every record, so that no record needs to be stored."""

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
        steps = {"gauges.within": self.gauge.in_steps, "moment.end": 1} if self.gauge.within is not None else {}
        return {**super().memory, "gauges": gauges, "gauges.before": gauges, "since": 1, **steps}

    def outside(self, array: str, row: str) -> str:
        """Return the address of a row of this chunk in an array of all rollouts."""
        column = self.let(f"add i64 {self.let(f'mul i64 {row}, %stride')}, %at")
        return self.let(f"getelementptr {self.t.scalar}, ptr {array}, i64 {column}")

    def begin_measuring(self) -> None:
        """Measure at the start of a call: the start of the motion, or the last record."""
        if self.gauge is None or not self.gauge.at_records:
            return
        time = self.block.read("%t.here")
        self.evaluate("gauge", time, "%now", "%gauges.before")
        self.store("%since", 0, time)
        self._keep_largest("%gauges.before")

    def measure(self) -> None:
        """Measure at a record."""
        if self.gauge is None or not self.gauge.at_records:
            return
        time = self.block.read("%t.here")
        self.evaluate("gauge", time, "%now", "%gauges")
        half = self.op("fmul", self.op("fsub", time, self.load("%since", 0)), self.t.splat(0.5))
        self.store("%since", 0, time)
        self._keep_largest("%gauges")

        def add(e: str) -> None:
            both = self.op("fadd", self.load("%gauges.before", e), self.load("%gauges", e))
            self._change(e, lambda total: self.call("fmuladd", both, half, total))
            self.store("%gauges.before", e, self.load("%gauges", e))

        first, last = self.gauge.largest, self.gauge.largest + self.gauge.integrals
        self._part("add", first, last, add)
        self._part("last", last, self.gauge.at_records, self._replace)

    def measure_step(self, time: str, end: str, lanes: str = "") -> None:
        """Measure a step from `now` to `trial`, in some lanes or in all."""
        if self.gauge is None or self.gauge.within is None:
            return
        first, w = self.gauge.at_records, self.t.width
        self.store("%moment", "0", time)
        self.store("%moment.end", "0", end)
        parameters = ["%p.here"] if self.has_parameters else []
        arguments = ["%moment", "%now", *parameters, "%moment.end", "%trial", "%gauges.within"]
        places = ", ".join(f"ptr {x}, i64 {'%stride' if x == '%p.here' else w}" for x in arguments)
        self.put(f"call void @within({places}, ptr %status)")

        def keep(e: str) -> None:
            values = self.load("%gauges.within", self.let(f"sub i64 {e}, {first}"))

            def larger(total: str) -> str:
                largest = self.call("maxnum", total, values)
                return self.select(lanes, largest, total) if lanes else largest

            self._change(e, larger)

        self._part("within", first, self.gauge.totals, keep)

    def _replace(self, e: str) -> None:
        self._change(e, lambda _: self.load("%gauges", e))

    def _keep_largest(self, values: str) -> None:
        assert self.gauge is not None

        def keep(e: str) -> None:
            self._change(e, lambda total: self.call("maxnum", total, self.load(values, e)))

        self._part("largest", 0, self.gauge.largest, keep)

    def _change(self, e: str, change: Callable[[str], str]) -> None:
        place = self.outside("%totals", e)
        self.write(change(self.block.read(place)), place)

    def _part(self, name: str, first: int, end: int, work: Callable[[str], None]) -> None:
        """Do `work` for the gauges from `first` to before `end`, if there are any."""
        if first < end:
            self.loop(name, end - first, lambda e: work(self.let(f"add i64 {e}, {first}")))
