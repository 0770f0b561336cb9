"""Rollouts in one compiled loop: derivative, Runge-Kutta stages, step control and recording, W rollouts at a time.

The derivative is a program (t, y, parameters) -> dy, or ((t, length of the step), y, parameters) -> dy for a method of
one stage. Every lane is one rollout. With an embedded pair each has its step size, rejected steps and time, and waits
for the others only at records. Steps follow `integrate.control` and end at the times of records, so nothing is
interpolated. The first `controlled` entries of y count in the error; the others do not, such as integrals of power. The
`unit_vectors` are normalised after every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armwright.backends.llvm.block import Block, VectorType, declarations
from armwright.backends.llvm.body import write_body
from armwright.backends.llvm.gauges import GaugeRecording
from armwright.backends.llvm.trigonometry import careful
from armwright.backends.rollout_interface import (
    INTEGER_FIELDS,
    NOT_FINITE,
    ROLLOUT_FIELDS,
    ROLLOUT_SCALARS,
    STEP_OPTIONS,
    STEP_TOO_SMALL,
    TOO_MANY_STEPS,
    EventProgram,
    Gauge,
)
from armwright.graph.program import Program
from armwright.integrate.control import MAX_STEP_EXTENSION, MIN_ERROR_RATIO, MIN_PREVIOUS_RATIO, STEP_ROUNDING
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout

MIN_STEP_ROUNDINGS, MIN_STEP_ROUNDINGS_NOT_FINITE = 16, 256
"""The shortest step in roundings of the time; after a result that is not finite, so that the state still moves."""


def module(
    program: Program,
    steps: Steps,
    layout: Layout,
    lanes: VectorType,
    events: EventProgram | None = None,
    gauge: Gauge | None = None,
) -> str:
    """Return the derivative, events, measures, and run(layout, begin, end)."""
    block = Block(lanes)
    bodies = [write_body(program, block, "body")]
    programs = {
        "events": events.program if events else None,
        "gauge": gauge.program if gauge and gauge.at_records else None,
        "within": gauge.within if gauge else None,
    }
    bodies += [write_body(other, block.sibling(), name) for name, other in programs.items() if other is not None]
    writer = _Writer(lanes, steps, len(program.outputs), layout, program.sizes, events, gauge)
    run = writer.run()
    return "\n\n".join([*bodies, careful(lanes), run, *declarations(block.declared | writer.block.declared, lanes)])


class _Writer(GaugeRecording):
    """The text of `run`."""

    def __init__(
        self,
        lanes: VectorType,
        steps: Steps,
        entries: int,
        layout: Layout,
        sizes: Sequence[int],
        events: EventProgram | None,
        gauge: Gauge | None,
    ) -> None:
        super().__init__(lanes, steps, entries, layout, sizes, events)
        self.controlled, self.gauge = layout.controlled, gauge

    def run(self) -> str:
        t = self.t
        for i, field in enumerate(ROLLOUT_FIELDS):
            place = self.let(f"getelementptr i64, ptr %layout, i64 {i}")
            kind = "i64" if field in INTEGER_FIELDS else "ptr"
            self.put(f"%{field} = load {kind}, ptr {place}, align 8")
        self.options = {
            option: self.block.load_broadcast(self.let(f"getelementptr {t.scalar}, ptr %options, i64 {i}"))
            for i, option in enumerate(STEP_OPTIONS)
        }
        self.allocate(moment=2, status=1, sums=2, **self.memory)
        self.put(f"store {t.vector} zeroinitializer, ptr %status, align 64")
        self.put("%some = icmp slt i64 %begin, %end")
        self.put("br i1 %some, label %chunk, label %finish")
        self.block.label("chunk")
        self.put("%at = phi i64 [ %begin, %start ], [ %then, %leave ]")
        self.unless_stopped("go", "finish")
        for name in (*ROLLOUT_SCALARS, "p"):
            self.put(f"%{name}.here = getelementptr {t.scalar}, ptr %{name}, i64 %at")
        self.each("fetch", lambda e: self.store("%now", e, self.block.read(self.outside("%y", e))))
        self.records(self.adaptive if self.steps.error is not None else self.fixed)
        self.block.label("done")
        self.each("save", lambda e: self.write(self.load("%now", e), self.outside("%y", e)))
        self.block.jump_to("leave")
        self.put(f"%then = add i64 %at, {t.width}")
        self.put("%again = icmp slt i64 %then, %end")
        self.put("br i1 %again, label %chunk, label %finish")
        self.block.label("finish")
        self.put("ret i32 0")
        return "define i32 @run(ptr %layout, i64 %begin, i64 %end) {\nstart:\n" + "\n".join(self.block.lines) + "\n}"

    def unless_stopped(self, following: str, otherwise: str) -> None:
        """Continue at a label, or at another if `stop` is set."""
        stop = self.let("load volatile i64, ptr %stop, align 8")
        self.block.branch(f"icmp eq i64 {stop}, 0", following, otherwise)
        self.block.label(following)

    def derivative(self, stage: int, time: str, source: str) -> None:
        """Compute k[stage] at a time and a state."""
        self.evaluate("body", time, source, self.let(f"getelementptr {self.t.vector}, ptr %k, i64 {stage * self.m}"))

    # from record to record

    def records(self, integrate: Callable[[], None]) -> None:
        """Integrate to the time of each record by `travel`, which ends by jumping to `arrive`, and store it."""
        t = self.t
        self.block.jump_to("begin.records")
        if self.steps.error is not None and self.steps.fsal:
            self.derivative(0, self.block.read("%t.here"), "%now")
        self.evaluate_start()
        self.begin_measuring()
        self.block.jump_to("towards.first")
        self.block.jump_to("towards")
        self.put("%r = phi i64 [ 0, %towards.first ], [ %r.next, %reached ]")
        goal = self.block.load_broadcast(self.let(f"getelementptr {t.scalar}, ptr %times, i64 %r"))
        self.put(f"%goal = fadd {t.vector} {goal}, {self.block.read('%start_offset.here')}")
        integrate()
        self.block.label("arrive")
        self.measure()
        row = self.let("mul i64 %r, %rows")
        self.each(
            "record",
            lambda e: self.write(self.load("%now", e), self.outside("%records", self.let(f"add i64 {row}, {e}"))),
        )
        self.block.jump_to("reached")
        self.put("%r.next = add i64 %r, 1")
        self.put("%r.more = icmp slt i64 %r.next, %count")
        self.put("br i1 %r.more, label %towards, label %done")

    def fixed(self) -> None:
        """Take `substeps` equal steps."""
        start = self.block.read("%t.here")
        place = self.let("getelementptr i64, ptr %substeps, i64 %r")
        self.put(f"%number = load i64, ptr {place}, align 8")
        number = self.block.broadcast(self.scalar("%number"))
        h = self.op("fdiv", self.op("fsub", "%goal", start), number)
        self.block.jump_to("step")
        self.put("%i = phi i64 [ 0, %towards ], [ %i.next, %stepped ]")
        self.unless_stopped("stepping", "halt")
        now, active = self.after(start, h, "%i"), ""
        if self.event_program:
            active = self.true("oeq", self.block.read("%stop_reason.here"), "zeroinitializer")
            self.put(f"br i1 {self.any(active)}, label %moving, label %arrive")
            self.block.label("moving")
        self.stages(now, h)
        self.project()
        self.put("%i.next = add i64 %i, 1")
        if self.event_program:
            self.detect(now, h, self.after(start, h, "%i.next"), active)
            self.measure_step(now, self.load("%instant", "0"), active)
            self.take(active, "take", "%trial", "%now")
            ended = self.true("one", self.block.read("%stop_reason.here"), "zeroinitializer")
            at = self.select(self.both(active, ended), self.load("%instant", "0"), self.block.read("%t.here"))
            self.write(at, "%t.here")
        else:
            self.measure_step(now, self.after(start, h, "%i.next"))
            self.each("take", lambda e: self.store("%now", e, self.load("%trial", e)))
        self.block.jump_to("stepped")
        self.put("%i.more = icmp slt i64 %i.next, %number")
        self.put("br i1 %i.more, label %step, label %there")
        self.block.label("there")
        self.arrived("%goal")
        self.put("br label %arrive")
        self.block.label("halt")
        self.arrived(self.after(start, h, "%i"))
        self.put("br label %done")

    def after(self, start: str, h: str, count: str) -> str:
        """Return the time after `count` steps."""
        return self.op("fadd", start, self.op("fmul", h, self.block.broadcast(self.scalar(count))))

    def scalar(self, count: str) -> str:
        return self.let(f"sitofp i64 {count} to {self.t.scalar}")

    def arrived(self, time: str) -> None:
        """Store the time of all rollouts that no event has ended."""
        if self.event_program:
            active = self.true("oeq", self.block.read("%stop_reason.here"), "zeroinitializer")
            time = self.select(active, time, self.block.read("%t.here"))
        self.write(time, "%t.here")

    def adaptive(self) -> None:
        """Take as many steps as each lane needs to keep its error below the tolerance."""
        t, zero = self.t, "zeroinitializer"
        self.block.jump_to("attempt")
        self.put("%tries = phi i64 [ 0, %towards ], [ %tries.next, %decided ]")
        self.unless_stopped("look", "done")
        lane = {name: self.block.read(f"%{name}.here") for name in ROLLOUT_SCALARS}
        remaining = self.op("fsub", "%goal", lane["t"])
        active = self.both(self.true("oeq", lane["stop_reason"], zero), self.true("one", remaining, zero))
        self.put(f"br i1 {self.any(active)}, label %try, label %arrive")
        self.block.label("try")
        size, distance = self.call("fabs", lane["h"]), self.call("fabs", remaining)
        arrives, cut = self.step_end(size, distance)
        partial = self.select(cut, self.op("fmul", remaining, t.splat(0.5)), self.call("copysign", size, remaining))
        end = self.select(arrives, "%goal", self.op("fadd", lane["t"], partial))
        # the length as rounded: large times are coarse
        length = self.select(active, self.op("fsub", end, lane["t"]), t.splat(0.0))
        self.stages(lane["t"], length, self.first)
        err = self.error(length)
        accept = self.both(active, self.true("ole", err, t.splat(1.0)))
        reject = self.both(active, self.true("ugt", err, t.splat(1.0)))
        self.project()
        if self.event_program:
            self.detect(lane["t"], length, end, accept)
            end = self.load("%instant", "0")
        self.measure_step(lane["t"], end, accept)
        self.take(accept, "take", "%trial", "%now")
        if self.steps.fsal:
            last = self.let(f"getelementptr {t.vector}, ptr %k, i64 {(self.steps.stages - 1) * self.m}")
            self.take(accept, "keep", last, "%k")
        time = self.select(accept, end, lane["t"])
        self.write(time, "%t.here")
        for name, which in (("accepted", accept), ("rejected", reject)):
            more = self.op("fadd", lane[name], t.splat(1.0))
            self.write(self.select(which, more, lane[name]), f"%{name}.here")
        remember = self.both(accept, self.negated(cut))
        previous = self.select(remember, self.call("maxnum", err, t.splat(MIN_PREVIOUS_RATIO)), lane["previous_error"])
        self.write(previous, "%previous_error.here")
        rejected = self.select(reject, t.splat(1.0), self.select(accept, t.splat(0.0), lane["rejected_last"]))
        self.write(rejected, "%rejected_last.here")
        following = self.next_step(lane, err, length, cut, accept)
        signed = self.call("copysign", following, remaining)
        self.write(self.select(active, signed, lane["h"]), "%h.here")
        self.check_step(lane, err, following, time, active, reject)
        self.block.jump_to("decided")
        self.put("br label %attempt")

    def error(self, length: str) -> str:
        """Return the estimated error of the step over the tolerance, root mean square over controlled entries."""
        t = self.t
        estimators = [e for e in (self.steps.error, self.steps.error2) if e is not None]
        for i in range(2):
            self.store("%sums", str(i), t.splat(0.0))

        def step(e: str) -> None:
            largest = self.call("maxnum", *(self.call("fabs", self.load(y, e)) for y in ("%now", "%trial")))
            scale = self.call("fmuladd", self.options["rtol"], largest, self.options["atol"])
            for i, estimator in enumerate(estimators):
                share = self.op("fdiv", self.op("fmul", self.weighted_sum(estimator, e), length), scale)
                self.store("%sums", str(i), self.call("fmuladd", share, share, self.load("%sums", str(i))))

        self.each("error", step, self.controlled)
        squares = self.load("%sums", "0")
        if len(estimators) == 1:
            return self.call("sqrt", self.op("fmul", squares, t.splat(1.0 / self.controlled)))
        # Hairer and Wanner's combination of the estimates of order 5 and 3
        weight = self.call("fmuladd", self.load("%sums", "1"), t.splat(0.01), squares)
        root = self.call("sqrt", self.op("fmul", weight, t.splat(float(self.controlled))))
        nothing = self.true("oeq", squares, "zeroinitializer")
        return self.select(nothing, t.splat(0.0), self.op("fdiv", squares, root))

    def step_end(self, size: str, distance: str) -> tuple[str, str]:
        """Return two masks: the step ends at the goal, and is below `size` (`integrate.control.next_length`)."""
        longest = self.op("fmul", self.options["longest"], self.t.splat(STEP_ROUNDING))
        arrives = self.true(
            "ole", distance, self.call("minnum", self.op("fmul", size, self.t.splat(MAX_STEP_EXTENSION)), longest)
        )
        halved = self.true("olt", distance, self.op("fmul", size, self.t.splat(2.0)))
        shorter = self.true("olt", distance, size)
        return arrives, self.let(f"select {self.t.mask} {arrives}, {self.t.mask} {shorter}, {self.t.mask} {halved}")

    def next_step(self, lane: dict[str, str], err: str, length: str, cut: str, accept: str) -> str:
        """Return the next step from the errors of this one and the one before (`integrate.control.StepRule`)."""
        t, option = self.t, self.options
        exponent = self.select(accept, option["alpha"], option["retry"])
        power = self.call("pow", self.call("maxnum", err, t.splat(MIN_ERROR_RATIO)), exponent)
        memory = self.select(accept, self.call("pow", lane["previous_error"], option["beta"]), t.splat(1.0))
        ratio = self.op("fdiv", self.op("fmul", option["safety"], memory), power)
        ratio = self.select(self.true("uno", err, "zeroinitializer"), option["shrink"], ratio)
        rejected_last = self.true("one", lane["rejected_last"], "zeroinitializer")
        max_ratio = self.select(rejected_last, option["hold"], option["grow"])
        factor = self.call("minnum", self.call("maxnum", ratio, option["shrink"]), max_ratio)
        following = self.call("fabs", self.op("fmul", length, factor))
        # a shortened step is no reason for a short next step
        size = self.call("fabs", lane["h"])
        resume = self.both(self.both(cut, accept), self.true("ogt", size, following))
        return self.call("minnum", self.select(resume, size, following), option["longest"])

    def check_step(self, lane: dict[str, str], err: str, following: str, time: str, active: str, reject: str) -> None:
        """Stop a rollout with a reason if its state or step is bad."""
        t = self.t
        rounding = 2.0**-52 if t.double else 2.0**-23
        time_scale = self.call("maxnum", self.call("fabs", lane["t"]), self.call("fabs", "%goal"))
        not_finite = self.true("uno", err, "zeroinitializer")
        smallest = self.select(
            not_finite, t.splat(MIN_STEP_ROUNDINGS_NOT_FINITE * rounding), t.splat(MIN_STEP_ROUNDINGS * rounding)
        )
        small = self.both(reject, self.true("olt", following, self.op("fmul", time_scale, smallest)))
        stuck = self.both(small, not_finite)
        self.put("%tries.next = add i64 %tries, 1")
        first = self.let(f"insertelement {t.mask} poison, i1 {self.let('icmp sge i64 %tries.next, %limit')}, i32 0")
        all_spent = self.let(f"shufflevector {t.mask} {first}, {t.mask} poison, <{t.width} x i32> zeroinitializer")
        exhausted = self.both(self.both(all_spent, active), self.true("one", time, "%goal"))
        state = self.block.read("%stop_reason.here") if self.event_program else lane["stop_reason"]
        for condition, code in ((small, STEP_TOO_SMALL), (stuck, NOT_FINITE), (exhausted, TOO_MANY_STEPS)):
            state = self.select(condition, t.splat(float(code)), state)
        self.write(state, "%stop_reason.here")
