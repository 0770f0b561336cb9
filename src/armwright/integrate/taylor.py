"""Taylor series of any order, for a system that was traced: heyoka differentiates and compiles it.

    graph = Graph()
    t, q, qd = graph.input("t"), graph.input("q"), graph.input("qd")
    pendulum = Program((("t", (t,)), ("y", (q, qd))), (qd, -q.sin()), (2,))
    solution = Taylor(pendulum).solve(0, [1.0, 0.0], 100)

The order follows from the tolerance (about 20 for double precision), the steps are long, and the series itself is the
dense output, so results at many times cost little. Compiling takes from tenths of a second to seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import ArmwrightError, InputError
from armwright.graph.expression import Expr
from armwright.graph.program import Program
from armwright.graph.replay import replay
from armwright.graph.simplify import ARITHMETIC
from armwright.integrate import march
from armwright.integrate.control import counting
from armwright.integrate.events import Event, Step
from armwright.integrate.scalars import state
from armwright.integrate.solution import IntegrationError, Solution, Statistics

EPS = float(np.finfo(float).eps)

CARRIED = 2.0**-200
"""By which entries that do not count in the error are made smaller: a power of two, so that no digit is lost."""

COMPACT = 200
"""Programs with more operations than this are compiled with loops: unrolled, they would take minutes."""


class Taylor:
    """A compiled integrator of y' = program(t, y), for any number of solutions, one after the other.

    A program may have a third argument: numbers that each solution is given anew, for which nothing is compiled again.
    The tolerance is of the largest entry; the first `controlled` ones count (all, if none is given). Those that do not
    are carried along so much smaller that they never are the largest.
    """

    def __init__(self, program: Program, tolerance: float = EPS, controlled: int | None = None) -> None:
        _check(program)
        if not EPS <= tolerance < 1:
            raise InputError(f"tolerance = {tolerance!r}; expected a number from {EPS:.2e} to 1")
        self.size, self.open = len(program.outputs), sum(program.sizes[2:])
        heyoka = _heyoka()
        self._outcome = heyoka.taylor_outcome
        carried = np.arange(self.size) >= counting(self.size, controlled)
        self._scale = np.where(carried, CARRIED, 1.0)
        y, slopes = _replayed(program, heyoka, self._scale.tolist())
        self._integrator = heyoka.taylor_adaptive(
            sys=list(zip(y, slopes, strict=True)),
            state=[0.0] * self.size,
            tol=float(tolerance),
            compact_mode=len(program.nodes) > COMPACT,
        )

    @property
    def order(self) -> int:
        """The order of the series."""
        return int(self._integrator.order)

    def solve(
        self,
        t0: float,
        y0: ArrayLike,
        t1: float,
        *,
        times: ArrayLike | None = None,
        events: Iterable[Event] = (),
        max_step: float | None = None,
        max_steps: int = march.MAX_STEPS,
        on_step: march.OnStep | None = None,
        project: march.Project = march.nowhere_else,
        numbers: ArrayLike = (),
    ) -> Solution:
        """The solution from y(t0) = y0 to t1, as `armwright.integrate.solve` gives it."""
        y, scalars = state("y0", y0)
        if scalars.dtype != np.float64 or y.shape != (self.size,):
            raise InputError(f"y0 is {scalars.dtype} {y.shape}; expected float64 {(self.size,)}, as the program's y")
        given, pars = np.asarray(numbers, dtype=float), self._integrator.pars
        if given.shape != (self.open,):
            raise InputError(f"numbers has shape {given.shape}; expected {(self.open,)}, one for each that is open")
        pars[:] = given[: len(pars)]  # heyoka has none for those after the last one that matters
        way, counts = march.Way(scalars, t0, t1, times), Statistics()
        longest = np.inf if max_step is None else way.length("max_step", max_step)
        steps = partial(self._steps, way.start, y, way.end, longest, max_steps, counts, project)
        return way.follow(steps, y, counts, events, on_step)

    def _steps(
        self, t: float, y: Array, t1: float, longest: float, most: int, counts: Statistics, project: march.Project
    ) -> Iterator[Step]:
        integrator, outcome = self._integrator, self._outcome

        def within(time: Any) -> Array:
            return project(integrator.update_d_output(float(time)) / self._scale)

        integrator.time = t
        while t != t1:
            integrator.state[:] = y * self._scale
            if counts.accepted >= most:
                raise IntegrationError(f"{most} steps were not enough: they led to t = {t}; raise max_steps", t, y)
            left = t1 - t
            result, _ = integrator.step(max_delta_t=float(np.clip(left, -longest, longest)), write_tc=True)
            t_end, y_end = float(integrator.time), project(integrator.state / self._scale)
            if result == outcome.err_nf_state or not np.isfinite(y_end).all():
                raise IntegrationError(f"the series is not finite at t = {t}, y = {y}", t, y)
            if result == outcome.time_limit and abs(left) <= longest:
                t_end = t1  # and not a rounding beside it
            if t_end == t:
                raise IntegrationError(f"the step at t = {t} is below rounding: the solution is singular there", t, y)
            counts.accepted += 1
            counts.evaluations += 1
            yield Step(t, y, t_end, y_end, within)
            t, y = t_end, y_end


def _heyoka() -> Any:
    try:
        return import_module("heyoka")
    except ImportError:
        raise ArmwrightError("Taylor integration needs heyoka, which is not installed: pip install heyoka") from None


def _check(program: Program) -> None:
    if program.sizes[:2] != (1, len(program.outputs)) or len(program.sizes) > 3:
        listed = ", ".join(f"{name} ({size})" for (name, _), size in zip(program.arguments, program.sizes, strict=True))
        raise InputError(
            f"the program has the arguments {listed} and {len(program.outputs)} outputs; "
            "expected t (1), y (m), open numbers if there are any, and m outputs, the derivatives of y"
        )
    operations = {node.op for node in program.nodes}
    rough = sorted(operations & {"sign", "abs", "min", "max", "select"})
    if rough:
        raise InputError(
            f"the program uses {', '.join(rough)}, which heyoka has no Taylor series for: they are not smooth; "
            "integrate it with `solve`, or make it smooth, tanh(x / width) for sign(x)"
        )
    if "parameter" in operations:
        raise InputError("the program has open parameters; trace it for one robot, with its numbers")


def _replayed(program: Program, heyoka: Any, scale: Sequence[float]) -> tuple[list[Any], list[Any]]:
    """The variables y and their derivatives as heyoka's expressions, each so many times as large."""
    places = program.places()
    y = heyoka.make_vars(*(f"y{k}" for k in range(program.sizes[1])))
    y = list(y) if program.sizes[1] > 1 else [y]
    operations = {**ARITHMETIC, **{op: getattr(heyoka, op) for op in ("sin", "cos", "sqrt", "tanh")}}

    def leaf(node: Expr) -> Any:
        if node.op == "constant":
            return heyoka.expression(node.value)
        argument, k = places[node.index]
        if argument == 2:
            return heyoka.par[k]
        return heyoka.time if not argument else y[k] if scale[k] == 1 else y[k] / scale[k]

    slopes = replay(program.outputs, leaf, lambda op, *args: operations[op](*args))
    slopes = [heyoka.expression(x) if isinstance(x, (int, float)) else x for x in slopes]
    return y, [x if factor == 1 else x * factor for x, factor in zip(slopes, scale, strict=True)]
