"""Programs that advance: steps of a Runge-Kutta method around their rates, and the way back for gradients.

`body` of such a program has the same signature as any other, so batches, layouts, threads and calls with one state are
those of every kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from armwright.backends.llvm.block import Block, Lanes
from armwright.backends.llvm.stages import Stages
from armwright.graph.program import Advance, Program
from armwright.integrate.tableaus import Steps


def advancing(program: Program, advance: Advance, block: Block) -> str:
    """`body`, which calls `rates` and, on the way back, `pull`."""
    body = _Body(program, advance, block.lanes)
    text = body.text()
    block.declared.update(body.block.declared)
    return text


class _Body(Stages):
    """The text of `body`."""

    def __init__(self, program: Program, advance: Advance, t: Lanes) -> None:
        self.sizes, self.back = program.sizes, advance.rates is not None
        steps = Steps(advance.a, advance.b, c=(0.0,) * len(advance.b))
        super().__init__(t, steps, sum(self.sizes[:2]), advance.circles)
        self.given = [f"ptr %p{a}, i64 %s{a}" for a in range(len(self.sizes))]
        self.held = self.given[2 : -2 if self.back else -1]
        self.results = program.results

    def text(self) -> str:
        self.block.label("start")
        s, m = self.steps.stages, self.m
        back = {"places": s * m, "seeds": m, "pulled": s * self.results, "sum": self.results}
        self.room(**(back if self.back else {}))
        for e, place in enumerate(self.entries(0, 2)):
            self.store("%now", e, self.block.read(place))
        length, count = self.entries(len(self.sizes) - 1, len(self.sizes))
        self.put(f"%h = load {self.t.vector}, ptr {length}, align {self.t.bytes}")
        first = self.let(f"load {self.t.scalar}, ptr {count}, align {self.t.bytes}")
        self.put(f"%count = fptosi {self.t.scalar} {first} to i64")
        if self.back:
            self.there_and_back()
        else:
            self.times("step", self.step)
            self.deliver("%now")
        self.put("ret void")
        signature = ", ".join([*self.given, "ptr %po, i64 %so, ptr noalias %status"])
        text = "\n".join(self.block.lines)
        return f"define internal void @body({signature}) noinline {{\n{text}\n}}"

    def entries(self, begin: int, end: int) -> list[str]:
        """Where the entries of some arguments are."""
        return [self.at(f"%p{a}", f"%s{a}", k) for a in range(begin, end) for k in range(self.sizes[a])]

    def at(self, pointer: str, stride: str, k: int) -> str:
        return self.let(f"getelementptr {self.t.scalar}, ptr {pointer}, i64 {self.let(f'mul i64 {stride}, {k}')}")

    def deliver(self, source: str) -> None:
        for k in range(self.results):
            place = self.at("%po", "%so", k)
            self.put(f"store {self.t.vector} {self.load(source, k)}, ptr {place}, align {self.t.bytes}")

    def times(self, name: str, work: Callable[[str], None]) -> None:
        """`work` as often as there are steps, given the number of the step."""
        self.block.on(f"{name}.in")
        self.block.on(name)
        self.put(f"%{name}.i = phi i64 [ 0, %{name}.in ], [ %{name}.next, %{name}.end ]")
        work(f"%{name}.i")
        self.block.on(f"{name}.end")
        self.put(f"%{name}.next = add i64 %{name}.i, 1")
        self.put(f"%{name}.more = icmp slt i64 %{name}.next, %count")
        self.put(f"br i1 %{name}.more, label %{name}, label %{name}.out")
        self.block.label(f"{name}.out")

    def step(self, _number: str) -> None:
        self.stages("zeroinitializer", "%h")
        self.project()
        self.each("take", lambda e: self.store("%now", e, self.load("%trial", e)))

    def derivative(self, stage: int, time: str, source: str) -> None:
        """The rates do not depend on time."""
        del time
        target = self.let(f"getelementptr {self.t.vector}, ptr %k, i64 {stage * self.m}")
        if self.back:
            self.each("keep", lambda e: self.store("%places", self.plus(e, stage * self.m), self.load(source, e)))
        self.put(f"call void @rates({self.state(source)}, ptr {target}, i64 {self.t.width}, ptr %status)")

    def state(self, source: str) -> str:
        """Arguments: positions and velocities in memory, and what is held."""
        w, nq = self.t.width, self.sizes[0]
        velocities = self.let(f"getelementptr {self.t.vector}, ptr {source}, i64 {nq}")
        return ", ".join([f"ptr {source}, i64 {w}, ptr {velocities}, i64 {w}", *self.held])

    def plus(self, index: str, more: int) -> str:
        return self.let(f"add i64 {index}, {more}")

    # the way back

    def there_and_back(self) -> None:
        """Forward with every state kept, then step by step back: `sum` is the gradient so far."""
        m, w = self.m, self.t.width
        room = self.let(f"mul i64 %count, {m}")
        self.put(f"%kept = alloca {self.t.vector}, i64 {room}, align 64")
        for e in range(self.results):
            self.store("%sum", e, self.t.splat(0.0))
        mu = len(self.sizes) - 2
        for e, place in enumerate(self.entries(mu, mu + 1)):
            self.store("%sum", e, self.block.read(place))

        def there(number: str) -> None:
            row = self.let(f"mul i64 {number}, {m}")
            self.each("note", lambda e: self.store("%kept", self.let(f"add i64 {row}, {e}"), self.load("%now", e)))
            self.step(number)

        def back(number: str) -> None:
            last = self.let(f"sub i64 {self.let(f'sub i64 %count, {number}')}, 1")
            row = self.let(f"mul i64 {last}, {m}")
            self.each("look", lambda e: self.store("%now", e, self.load("%kept", self.let(f"add i64 {row}, {e}"))))
            self.stages("zeroinitializer", "%h")
            self.unproject()
            for i in reversed(range(self.steps.stages)):
                self.each("seed", partial(self.seed, i))
                source = self.let(f"getelementptr {self.t.vector}, ptr %places, i64 {i * m}")
                target = self.let(f"getelementptr {self.t.vector}, ptr %pulled, i64 {i * self.results}")
                seeds = f"ptr %seeds, i64 {w}"
                self.put(f"call void @pull({self.state(source)}, {seeds}, ptr {target}, i64 {w}, ptr %status)")
            self.each("gather", self.gather, self.results)

        self.times("step", there)
        self.times("back", back)
        self.deliver("%sum")

    def seed(self, stage: int, e: str) -> None:
        """The gradient by k[stage]: what it adds to the end of the step, and to later stages."""
        parts = [(self.steps.b[stage], self.load("%sum", e))]
        for j in range(stage + 1, self.steps.stages):
            parts.append((self.steps.a[j][stage], self.load("%pulled", self.plus(e, j * self.results))))
        total = self.t.splat(0.0)
        for weight, value in parts:
            if weight:
                total = self.call("fmuladd", self.t.splat(weight), value, total)
        self.store("%seeds", e, self.of("fmul", "%h", total))

    def gather(self, e: str) -> None:
        total = self.load("%sum", e)
        for i in range(self.steps.stages):
            total = self.of("fadd", total, self.load("%pulled", self.plus(e, i * self.results)))
        self.store("%sum", e, total)

    def unproject(self) -> None:
        """What a gradient by a vector of unit length makes of one by the vector before its length was made one."""
        for begin, end in self.circles:
            raw = [self.load("%trial", e) for e in range(begin, end)]
            grads = [self.load("%sum", e) for e in range(begin, end)]
            square = inner = self.t.splat(0.0)
            for x, g in zip(raw, grads, strict=True):
                square, inner = self.call("fmuladd", x, x, square), self.call("fmuladd", x, g, inner)
            share = self.of("fdiv", inner, square)
            length = self.call("sqrt", square)
            for e, (x, g) in enumerate(zip(raw, grads, strict=True), start=begin):
                across = self.of("fsub", g, self.of("fmul", x, share))
                self.store("%sum", e, self.of("fdiv", across, length))
