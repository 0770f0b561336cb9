"""Programs with an integration: steps of a Runge-Kutta method around rates, and their derivatives.

The `body` of such a program has the usual signature, so batches, layouts, threads and calls of one state need no other
code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from armwright.backends.llvm.block import Block, VectorType
from armwright.backends.llvm.body import address, arguments, signature
from armwright.backends.llvm.stages import Stages
from armwright.graph.program import FinalState, FinalStateGradient, FinalStateJacobian, Integration, Program
from armwright.integrate.tableaus import Steps


def integration_body(program: Program, integration: Integration, block: Block) -> str:
    """Return the text of `body`, which calls `rates` and `derivatives`."""
    body = _BODIES[type(integration)](program, integration, block.lanes)
    text = body.text()
    block.declared.update(body.block.declared)
    return text


class _Body(Stages):
    """The text of `body`."""

    def __init__(self, program: Program, integration: Integration, t: VectorType) -> None:
        self.sizes = program.sizes
        steps = Steps(integration.a, integration.b, c=(0.0,) * len(integration.b))
        super().__init__(t, steps, sum(self.sizes[:2]), integration.unit_vectors)
        self.signature = signature(program)
        self.constants = [arguments(program)[k] for k in integration.constants(program)]
        self.results = program.results

    def text(self) -> str:
        self.block.label("start")
        self.allocate(**self.further())
        for e, place in enumerate(self.entries(0, 2)):
            self.store("%now", e, self.block.read(place))
        length, count = self.entries(len(self.sizes) - 1, len(self.sizes))
        self.put(f"%h = load {self.t.vector}, ptr {length}, align {self.t.bytes}")
        first = self.let(f"load {self.t.scalar}, ptr {count}, align {self.t.bytes}")
        self.put(f"%count = fptosi {self.t.scalar} {first} to i64")
        self.work()
        self.put("ret void")
        text = "\n".join(self.block.lines)
        return f"define internal void @body({self.signature}) noinline {{\n{text}\n}}"

    def further(self) -> dict[str, int]:
        """Return the sizes of further memory."""
        return {}

    def work(self) -> None:
        raise NotImplementedError

    def entries(self, begin: int, end: int) -> list[str]:
        """Return the addresses of the entries of some arguments."""
        return [address(self.block, f"%p{a}", f"%s{a}", k) for a in range(begin, end) for k in range(self.sizes[a])]

    def deliver(self, source: str, begin: int, end: int) -> None:
        """Store the results from `begin` to before `end` from memory."""
        for k in range(begin, end):
            place = address(self.block, "%po", "%so", k)
            self.put(f"store {self.t.vector} {self.load(source, k - begin)}, ptr {place}, align {self.t.bytes}")

    def step(self, _number: str) -> None:
        self.stages("zeroinitializer", "%h")
        self.project()
        self.each("take", lambda e: self.store("%now", e, self.load("%trial", e)))

    def derivative(self, stage: int, time: str, source: str) -> None:
        """Compute the rates, which do not depend on time."""
        del time
        target = self.let(f"getelementptr {self.t.vector}, ptr %k, i64 {stage * self.m}")
        self.put(f"call void @rates({self.state(source)}, ptr {target}, i64 {self.t.width}, ptr %status)")

    def state(self, source: str) -> str:
        """Return the arguments of a call: positions and velocities in memory, and the constants."""
        w, nq = self.t.width, self.sizes[0]
        velocities = self.let(f"getelementptr {self.t.vector}, ptr {source}, i64 {nq}")
        return ", ".join([f"ptr {source}, i64 {w}, ptr {velocities}, i64 {w}", *self.constants])

    def plus(self, index: str, more: int) -> str:
        return self.let(f"add i64 {index}, {more}")

    def unless_last(self, number: str, work: Callable[[], None]) -> None:
        """Repeat `work` in every step but the last, whose end is not needed."""
        more, done = self.block.fresh("more"), self.block.fresh("no.more")
        self.block.branch(f"icmp slt i64 {self.plus(number, 1)}, %count", more, done)
        self.block.label(more)
        work()
        self.block.jump_to(done)


class _StateBody(_Body):
    """The final state."""

    def work(self) -> None:
        self.loop("step", "%count", self.step)
        self.deliver("%now", 0, self.results)


class _GradientBody(_Body):
    """The gradient by the initial state and the constants."""

    def further(self) -> dict[str, int]:
        s, m = self.steps.stages, self.m
        return {"places": s * m, "seeds": m, "pulled": s * self.results, "sum": self.results}

    backward_pass = False
    """True on the backward pass, where only unit vectors need the end of the step."""

    def derivative(self, stage: int, time: str, source: str) -> None:
        self.each("keep", lambda e: self.store("%places", self.plus(e, stage * self.m), self.load(source, e)))
        if self.unit_vectors or not self.backward_pass or stage < self.steps.stages - 1:
            super().derivative(stage, time, source)

    def work(self) -> None:
        """Integrate forward and keep every state, then go back step by step; `sum` is the gradient so far."""
        m, w = self.m, self.t.width
        numbers = self.let(f"mul i64 %count, {m}")
        self.put(f"%kept = alloca {self.t.vector}, i64 {numbers}, align 64")
        for e in range(self.results):
            self.store("%sum", e, self.t.splat(0.0))
        mu = len(self.sizes) - 2
        for e, place in enumerate(self.entries(mu, mu + 1)):
            self.store("%sum", e, self.block.read(place))

        def forward(number: str) -> None:
            row = self.let(f"mul i64 {number}, {m}")
            self.each("note", lambda e: self.store("%kept", self.let(f"add i64 {row}, {e}"), self.load("%now", e)))
            self.unless_last(number, lambda: self.step(number))

        def backward(number: str) -> None:
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
                self.put(f"call void @derivatives({self.state(source)}, {seeds}, ptr {target}, i64 {w}, ptr %status)")
            self.each("gather", self.gather, self.results)

        self.loop("step", "%count", forward)
        self.backward_pass = True
        self.loop("back", "%count", backward)
        self.deliver("%sum", 0, self.results)

    def seed(self, stage: int, e: str) -> None:
        """Compute the gradient by k[stage], which enters the end of the step and later stages."""
        parts = [(self.steps.b[stage], self.load("%sum", e))]
        for j in range(stage + 1, self.steps.stages):
            parts.append((self.steps.a[j][stage], self.load("%pulled", self.plus(e, j * self.results))))
        total = self.t.splat(0.0)
        for weight, value in parts:
            if weight:
                total = self.call("fmuladd", self.t.splat(weight), value, total)
        self.store("%seeds", e, self.op("fmul", "%h", total))

    def gather(self, e: str) -> None:
        total = self.load("%sum", e)
        for i in range(self.steps.stages):
            total = self.op("fadd", total, self.load("%pulled", self.plus(e, i * self.results)))
        self.store("%sum", e, total)

    def unproject(self) -> None:
        """Turn a gradient by unit vectors into one by the vectors before normalisation."""
        for begin, end in self.unit_vectors:
            raw = [self.load("%trial", e) for e in range(begin, end)]
            grads = [self.load("%sum", e) for e in range(begin, end)]
            square = inner = self.t.splat(0.0)
            for x, g in zip(raw, grads, strict=True):
                square, inner = self.call("fmuladd", x, x, square), self.call("fmuladd", x, g, inner)
            share = self.op("fdiv", inner, square)
            length = self.call("sqrt", square)
            for e, (x, g) in enumerate(zip(raw, grads, strict=True), start=begin):
                across = self.op("fsub", g, self.op("fmul", x, share))
                self.store("%sum", e, self.op("fdiv", across, length))


class _JacobianBody(_Body):
    """Derivatives by positions, velocities and torques, n rows of 3 n columns each, through all stages."""

    def __init__(self, program: Program, integration: Integration, t: VectorType) -> None:
        super().__init__(program, integration, t)
        self.n = self.sizes[1]
        self.size = 3 * self.n * self.n
        self.columns = max(d for d in range(1, 9) if 3 * self.n % d == 0)

    def further(self) -> dict[str, int]:
        """Return the sizes of `dq` and `dv` at a step, `dqi` at a stage, and `rate0` and `rate1` of all stages."""
        stages = self.steps.stages * self.size
        return {
            "dq": self.size,
            "dv": self.size,
            "dqi": self.size,
            "rate0": stages,
            "rate1": stages,
            "slopes": self.size,
        }

    def work(self) -> None:
        n, t = self.n, self.t
        for part, name in enumerate(("%dq", "%dv")):
            self.each("clear", partial(self.store, name, value=t.splat(0.0)), self.size)
            for i in range(n):
                self.store(name, 3 * n * i + part * n + i, t.splat(1.0))
        self.loop("step", "%count", self.step)
        for part, name in enumerate(("%dq", "%dv")):
            self.deliver(name, part * self.size, (part + 1) * self.size)

    def step(self, number: str) -> None:
        self.number = number
        super().step(number)
        for part, name in enumerate(("%dq", "%dv")):
            self.each("go", partial(self.sum, name, name, f"%rate{part}", self.steps.b), self.size)

    def derivative(self, stage: int, time: str, source: str) -> None:
        rates = partial(super().derivative, stage, time, source)
        if stage == self.steps.stages - 1:
            self.unless_last(self.number, rates)
        else:
            rates()
        w, at = self.t.width, stage * self.size
        self.put(f"call void @derivatives({self.state(source)}, ptr %slopes, i64 {w}, ptr %status)")
        row = self.steps.a[stage]
        self.each("dqi", partial(self.sum, "%dqi", "%dq", "%rate0", row), self.size)
        place = self.let(f"getelementptr {self.t.vector}, ptr %rate0, i64 {at}")
        self.each("dvi", partial(self.sum, place, "%dv", "%rate1", row), self.size)
        target = self.let(f"getelementptr {self.t.vector}, ptr %rate1, i64 {at}")
        if stage:
            self.product(place, target)
            return
        known, product, done = (self.block.fresh(name) for name in ("known", "product", "done"))
        self.block.branch(f"icmp eq i64 {self.number}, 0", known, product)
        self.block.label(known)
        self.loop("at.first", self.n, self.beginning(target))
        self.put(f"br label %{done}")
        self.block.label(product)
        self.product(place, target)
        self.block.jump_to(done)

    def sum(self, target: str, begin: str, rates: str, weights: Sequence[float], e: str) -> None:
        """Compute target = begin + h (sum of weights times rates) at an entry."""
        total = self.t.splat(0.0)
        for j, weight in enumerate(weights[: self.steps.stages]):
            if weight:
                rate = self.load(rates, self.plus(e, j * self.size))
                total = self.call("fmuladd", self.t.splat(weight), rate, total)
        self.store(target, e, self.call("fmuladd", "%h", total, self.load(begin, e)))

    def product(self, dvi: str, target: str) -> None:
        """Compute target = Fq dqi + Fv dvi + [0 0 Fu], a few columns at a time in registers."""
        n, b, size = self.n, self.columns, self.n * self.n

        def block(row: str, first: str) -> None:
            """Compute the columns of a row from `first` on."""
            name = self.block.fresh("inner")
            factors = self.let(f"mul i64 {row}, {n}")
            self.block.jump_to(f"{name}.in")
            self.block.jump_to(name)
            self.put(f"%{name}.k = phi i64 [ 0, %{name}.in ], [ %{name}.next, %{name} ]")
            for c in range(b):
                self.put(
                    f"%{name}.s{c} = phi {self.t.vector} [ zeroinitializer, %{name}.in ], [ %{name}.t{c}, %{name} ]"
                )
            place = self.let(f"add i64 {factors}, %{name}.k")
            by_q, by_v = self.load("%slopes", place), self.load("%slopes", self.plus(place, size))
            column = self.let(f"add i64 {self.let(f'mul i64 %{name}.k, {3 * n}')}, {first}")
            for c in range(b):
                at = self.plus(column, c)
                part = self.block.fma(by_q, self.load("%dqi", at), f"%{name}.s{c}")
                sum_ = self.block.fma(by_v, self.load(dvi, at), part)
                self.put(f"%{name}.t{c} = bitcast {self.t.vector} {sum_} to {self.t.vector}")
            self.put(f"%{name}.next = add i64 %{name}.k, 1")
            self.put(f"%{name}.more = icmp slt i64 %{name}.next, {n}")
            self.put(f"br i1 %{name}.more, label %{name}, label %{name}.out")
            self.block.label(f"{name}.out")
            end = self.let(f"add i64 {self.let(f'mul i64 {row}, {3 * n}')}, {first}")
            for c in range(b):
                self.store(target, self.plus(end, c), f"%{name}.t{c}")

        self.loop(
            "row", n, lambda r: self.loop("columns", 3 * n // b, lambda k: block(r, self.let(f"mul i64 {k}, {b}")))
        )
        self.loop("held", n, self.direct(target))

    def beginning(self, target: str) -> Callable[[str], None]:
        """Return the function that writes a row of the product at the first step, [Fq Fv Fu]."""
        n = self.n

        def row(r: str) -> None:
            begin, end = self.let(f"mul i64 {r}, {n}"), self.let(f"mul i64 {r}, {3 * n}")
            for c in range(3 * n):
                self.store(target, self.plus(end, c), self.load("%slopes", self.plus(begin, c // n * n * n + c % n)))

        return row

    def direct(self, target: str) -> Callable[[str], None]:
        """Return the function that adds the direct derivatives of accelerations by torques to a row."""
        n = self.n

        def row(r: str) -> None:
            begin, end = self.let(f"mul i64 {r}, {n}"), self.let(f"mul i64 {r}, {3 * n}")
            for c in range(n):
                place = self.plus(end, 2 * n + c)
                more = self.load("%slopes", self.plus(begin, 2 * n * n + c))
                self.store(target, place, self.op("fadd", self.load(target, place), more))

        return row


_BODIES: dict[type[Integration], type[_Body]] = {
    FinalState: _StateBody,
    FinalStateJacobian: _JacobianBody,
    FinalStateGradient: _GradientBody,
}
