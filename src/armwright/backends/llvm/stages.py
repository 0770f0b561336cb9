"""One step of a Runge-Kutta method in IR, for W states at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armwright.backends.llvm.block import Block, VectorType
from armwright.integrate.tableaus import Steps


class Stages:
    """IR of one Runge-Kutta step: `now`, `trial` and `k` are the state, the trial state and the derivatives."""

    def __init__(self, lanes: VectorType, steps: Steps, entries: int, unit_vectors: Sequence[tuple[int, int]]) -> None:
        self.t, self.steps, self.m, self.unit_vectors = lanes, steps, entries, unit_vectors
        self.block = block = Block(lanes)
        self.let, self.put, self.call, self.select = block.let, block.put, block.call, block.select
        self.load, self.store = block.load, block.store
        self.length = ""

    def allocate(self, **further: int) -> None:
        """Allocate the arrays of a step, and further ones by name."""
        for name, size in {"now": self.m, "trial": self.m, "k": self.steps.stages * self.m, **further}.items():
            self.put(f"%{name} = alloca [{size} x {self.t.vector}], align 64")

    def derivative(self, stage: int, time: str, source: str) -> None:
        """Compute k[stage] at a time, from the state at `source`."""
        raise NotImplementedError

    def each(self, name: str, step: Callable[[str], None], count: int | None = None) -> None:
        """Loop over the entries of the state; `step` takes the index."""
        self.loop(name, count or self.m, step)

    def loop(self, name: str, count: int | str, work: Callable[[str], None]) -> None:
        """Loop over the integers below `count`; `work` may contain loops."""
        loop = self.block.fresh(name)
        self.block.jump_to(f"{loop}.in")
        self.block.jump_to(loop)
        self.put(f"%{loop}.i = phi i64 [ 0, %{loop}.in ], [ %{loop}.next, %{loop}.end ]")
        work(f"%{loop}.i")
        self.block.jump_to(f"{loop}.end")
        self.put(f"%{loop}.next = add i64 %{loop}.i, 1")
        self.put(f"%{loop}.more = icmp slt i64 %{loop}.next, {count}")
        self.put(f"br i1 %{loop}.more, label %{loop}, label %{loop}.out")
        self.block.label(f"{loop}.out")

    def op(self, name: str, x: str, y: str) -> str:
        return self.let(f"{name} {self.t.vector} {x}, {y}")

    def weighted_sum(self, coefficients: Sequence[float], index: str) -> str:
        """Return the sum of c_j k_j at an entry of the state."""
        total = self.t.splat(0.0)
        for j, c in enumerate(coefficients):
            if c and j < self.steps.stages:
                k = self.load("%k", self.let(f"add i64 {index}, {j * self.m}"))
                total = self.call("fmuladd", self.t.splat(c), k, total)
        return total

    def stages(self, time: str, h: str, first: int = 0) -> None:
        """Compute the derivatives of a step of length h from stage `first` on, and its end in `trial`."""
        self.length = h
        for i in range(first, self.steps.stages):
            moment = self.op("fadd", time, self.op("fmul", h, self.t.splat(self.steps.c[i])))
            if i:
                self.advance(self.steps.a[i], h)
            self.derivative(i, moment, "%trial" if i else "%now")
        self.advance(self.steps.b, h)

    def advance(self, coefficients: Sequence[float], h: str) -> None:
        """Compute trial = now + h (sum of c_j k_j)."""

        def step(e: str) -> None:
            slope = self.weighted_sum(coefficients, e)
            self.store("%trial", e, self.call("fmuladd", h, slope, self.load("%now", e)))

        self.each("advance", step)

    def project(self) -> None:
        """Normalise the unit vectors of the trial state.

        The derivative of a quaternion scales with its length: if the next step reuses it, it is scaled too.
        """
        for begin, end in self.unit_vectors:
            parts = {str(e): self.load("%trial", str(e)) for e in range(begin, end)}
            square = self.t.splat(0.0)
            for x in parts.values():
                square = self.call("fmuladd", x, x, square)
            length = self.call("sqrt", square)
            for e, x in parts.items():
                self.store("%trial", e, self.op("fdiv", x, length))
            for entry in range(begin, end) if self.steps.fsal else ():
                last = str((self.steps.stages - 1) * self.m + entry)
                self.store("%k", last, self.op("fdiv", self.load("%k", last), length))
