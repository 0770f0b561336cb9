"""The front door: a robot, a problem and a formulation become a function of arrays, compiled for this CPU.

The formulation is traced with everything known of the robot folded in, and the graph is compiled by LLVM
(`backends.llvm`). Chains of more than `UNROLLED` joints would take long to compile that way: their inverse and forward
dynamics are compiled loops over the joints, their mass matrix is inverse dynamics column by column, and what else there
is runs as it is written, with NumPy arrays as scalars.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.arrays import (
    Array,
    by_state,
    check_out,
    checked,
    common_shape,
    direct,
    empty,
    scalars,
    stacked,
    thread_count,
    viewed,
    wrench,
)
from armwright.errors import ArmwrightError, InputError, SingularError, unknown
from armwright.formulations import QUANTITIES, Formulation, default_name, find
from armwright.graph import OperationCount, count
from armwright.graph.angles import written_out
from armwright.graph.program import Program
from armwright.long_chain import LONG_CHAINS
from armwright.model.description import Description
from armwright.model.vary import check
from armwright.trace import ARGUMENTS, DERIVATIVES, Traced, cheapest, derivative_of, traced

TARGETS = ("cpu",)
DTYPES = ("float64", "float32")
UNROLLED = 24
"""The longest chain that is compiled as straight code."""

_LOOPED = {  # what longer chains have as compiled loops, and by which
    "inverse_dynamics": "inverse_dynamics",
    "bias": "inverse_dynamics",
    "gravity_torque": "inverse_dynamics",
    "mass_matrix": "inverse_dynamics",
    "forward_dynamics": "forward_dynamics",
}
_LOOP_FORMULATION = {"inverse_dynamics": "cartesian_tensor", "bias": "cartesian_tensor"}

_MANY_STATES = 16384  # from here on all cores are used unless told otherwise

_MEANING = {
    "q": "one position per joint",
    "qd": "one velocity per joint",
    "qdd": "one acceleration per joint",
    "tau": "one generalised force per joint",
    "tip_wrench": "force and moment on the tool frame, in the tool frame",
    "link_wrenches": "force and moment on each link frame, in that frame",
}


class Asked(NamedTuple):
    """One call, checked: arrays by name, the shape of an entry of each, the batch, where to, on how many threads."""

    arrays: dict[str, Array]
    shapes: dict[str, tuple[int, ...]]
    batch: tuple[int, ...]
    out: Array | None
    threads: int


Evaluate: TypeAlias = Callable[[Asked], Array]


class Function:
    """A compiled problem of one robot: call it with arrays of shape (n,) or (..., n)."""

    def __init__(
        self, robot: Description, problem: str, formulation: Formulation | None, dtype: str, vary: tuple[str, ...] = ()
    ) -> None:
        self.robot, self.problem, self.dtype, self.vary = robot, problem, np.dtype(dtype), vary
        self._wanted = formulation
        self.arguments = (*ARGUMENTS[problem], *vary)
        # a varied parameter of one number has no axis of its own
        sizes = {name: () if size == 1 else (size,) for name, size in check(robot, vary).items()}
        self._shapes: dict[str, tuple[int, ...]] = {name: sizes.get(name, (robot.n,)) for name in self.arguments}
        self._kernels: dict[tuple[str, ...], Any] = {}
        self._evaluators: dict[tuple[str, ...], Evaluate] = {}

    def __repr__(self) -> str:
        try:
            by = f" by {self.formulation.name}"
        except SingularError:
            by = ""
        return f"<{self.problem} of {self.robot.name}{by}: f({', '.join(self.arguments)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self.robot, self.problem, self._wanted, self.dtype.name, self.vary)

    def __call__(
        self,
        *state: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        link_wrenches: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The result for one state or for every state of a batch.

        `out` is an array to fill; `threads` is how many to use (by default one, or all cores for a large batch). The
        result of a state depends on nothing but that state.
        """
        if tip_wrench is None and link_wrenches is None:
            if out is None and threads is None:
                return self.single(*state)
            done = self._quick(state, out, threads)
            if done is not None:
                return done
        return self._checked(*state, tip_wrench=tip_wrench, link_wrenches=link_wrenches, out=out, threads=threads)

    @property
    def _long(self) -> bool:
        """Whether the chain is too long for straight code."""
        return len(self.robot.links) > UNROLLED

    @property
    def _size(self) -> str:
        return f"{self.robot.name} has {len(self.robot.links)}"

    @cached_property
    def single(self) -> Callable[..., Array]:
        """The function without options: fastest for one state given as plain arrays, the same for everything else."""
        if self._long:
            return self._checked
        made: Callable[..., Array] = self._kernel(()).single(self._any_layout)
        return made

    def _any_layout(self, *state: ArrayLike) -> Array:
        done = self._quick(state, None, None)
        return done if done is not None else self._checked(*state)

    def _quick(self, state: tuple[ArrayLike, ...], out: Array | None, threads: int | None) -> Array | None:
        """The commonest batch, equal arrays (states, n) of the right type, with little overhead; None for any other."""
        n, dtype = self.robot.n, self.dtype
        first = state[0] if state else None
        if (
            (self._long and not self._whole_loop)
            or self.vary
            or len(state) != len(self.arguments)
            or type(first) is not np.ndarray
            or first.ndim != 2
        ):
            return None
        shape = first.shape
        if shape[1] != n or not shape[0]:
            return None
        for array in state:
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype or not array.flags.aligned:
                return None
        kernel = self._loop_kernel(()) if self._long else self._kernel(())
        wanted = (shape[0], *kernel.shape)
        result = out if out is not None else empty(wanted, dtype, first.strides[0] == dtype.itemsize)
        if out is not None and (type(out) is not np.ndarray or out.shape != wanted or not direct(out, dtype, state)):
            return None
        view = result if len(kernel.shape) == 1 else viewed(result, (shape[0], kernel.outputs))
        if view is None or not (threads is None or (type(threads) is int and threads >= 1)):
            return None
        finite = kernel.run(state, view, _default_threads(shape[:1]) if threads is None else threads)
        return result if finite else None  # what is wrong is found, and told, on the other path

    @cached_property
    def _plain(self) -> Traced:
        return self._traced(())

    def _traced(self, loads: tuple[str, ...]) -> Traced:
        if self.problem in DERIVATIVES:
            return traced(derivative_of(self.problem), self.robot, base_parameters="euler")
        if self._wanted is not None:
            return traced(self._wanted, self.robot, loads, vary=self.vary)
        return cheapest(self.problem, self.robot, loads, self.vary)

    @property
    def formulation(self) -> Formulation:
        """The one that was asked for, or the cheapest for this robot."""
        if self._wanted is None and self._long:
            if self.problem in DERIVATIVES:
                return derivative_of(self.problem)
            name = _LOOP_FORMULATION.get(self.problem) or default_name(self.problem, bool(self.robot.followers))
            return QUANTITIES.get(self.problem) or find(self.problem, name)
        return self._wanted or self._plain.formulation

    @property
    def program(self) -> Program:
        """The traced computation, before it is compiled."""
        return self._plain.program

    @property
    def operations(self) -> OperationCount:
        """What one evaluation costs once everything known of this robot is folded away."""
        return count(self._plain.program.outputs)

    @property
    def source(self) -> str:
        """The generated code, as LLVM IR."""
        if not self._long:
            return str(self._kernel(()).source)
        if self._looped:
            return str(self._loop_kernel(()).source)
        raise InputError(f"{self.problem} is compiled for up to {UNROLLED} joints, and {self._size}: it has no source")

    def _kernel(self, loads: tuple[str, ...]) -> Any:
        from armwright.backends.llvm import Kernel  # noqa: PLC0415  (LLVM is loaded only when something is compiled)

        if loads not in self._kernels:
            traced_ = self._traced(loads) if loads else self._plain
            self._kernels[loads] = Kernel(written_out(traced_.program), self.dtype.name)
        return self._kernels[loads]

    def _checked(
        self,
        *state: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        link_wrenches: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        links = len(self.robot.links)
        if len(state) != len(self.arguments):
            raise InputError(f"{self!r} got {len(state)} arguments; expected {len(self.arguments)}")
        given = dict(zip(self.arguments, state, strict=True))
        shapes = dict(self._shapes)
        loads = {"tip_wrench": (tip_wrench, (6,)), "link_wrenches": (link_wrenches, (links, 6))}
        wanted = {name: pair for name, pair in loads.items() if pair[0] is not None}
        if wanted and self.problem not in ("inverse_dynamics", "forward_dynamics", "bias", "joint_torque"):
            raise InputError(f"{self.problem} does not depend on wrenches; leave {' and '.join(wanted)} out")
        for name, (value, shape) in wanted.items():
            given[name], shapes[name] = value, shape  # type: ignore[assignment]
        arrays = {
            name: (
                checked(name, value, shapes[name], self.dtype, _meaning(name)),
                len(shapes[name]),
            )
            for name, value in given.items()
        }
        batch = common_shape(arrays)
        shares = thread_count(threads) if threads is not None else _default_threads(batch)
        evaluate = self._evaluator(tuple(wanted))
        plain = {name: array for name, (array, _) in arrays.items()}
        return evaluate(Asked(plain, shapes, batch, out, shares))

    def _evaluator(self, loads: tuple[str, ...]) -> Evaluate:
        if loads not in self._evaluators:
            if not self._long:
                kernel = self._kernel(loads)
                self._evaluators[loads] = self._with_kernel(kernel, kernel.shape)
            elif self._looped:
                kernel = self._loop_kernel(loads)
                if self.problem == "mass_matrix":
                    self._evaluators[loads] = self._by_columns(kernel)
                else:
                    self._evaluators[loads] = self._with_loop(kernel)
            else:
                self._evaluators[loads] = self._with_numpy
        return self._evaluators[loads]

    @property
    def _looped(self) -> bool:
        """Whether a longer chain has this problem as a compiled loop."""
        chosen = self._wanted is not None and self.problem not in QUANTITIES
        plain = not self.robot.followers and not any(joint.smooth for joint in self.robot.joints)
        return self.problem in _LOOPED and not chosen and not self.vary and plain

    @cached_property
    def _whole_loop(self) -> bool:
        """Whether a longer chain has this problem as one loop over all of its arguments."""
        return self._looped and self.problem in LONG_CHAINS

    def _loop_kernel(self, loads: tuple[str, ...]) -> Any:
        from armwright.backends.llvm import LoopKernel  # noqa: PLC0415

        if loads in self._kernels:
            return self._kernels[loads]
        loop = LONG_CHAINS[_LOOPED[self.problem]]
        weightless = self.problem == "mass_matrix"
        t = loop.tables(replace(self.robot, gravity=(0.0, 0.0, 0.0)) if weightless else self.robot, self.dtype.name)
        kernel = LoopKernel(loop.steps(bool(loads)), (t.parameters, t.kinds, t.starts), self.dtype.name)
        self._kernels[loads] = kernel
        return kernel

    def _with_loop(self, kernel: Any) -> Evaluate:
        """A loop takes q, qd and a third array, zeros where the problem has none, and one wrench per link."""
        n = self.robot.n
        direct_evaluate = self._with_kernel(kernel, (n,))

        def evaluate(asked: Asked) -> Array:
            arrays, batch = asked.arrays, asked.batch
            rest = np.broadcast_to(np.zeros(1, self.dtype), (n,))
            given = dict(zip(("q", "qd", "x"), (arrays[name] for name in self.arguments), strict=False))
            columns = {name: given.get(name, rest) for name in ("q", "qd", "x")}
            if len(arrays) > len(self.arguments):
                columns["load"] = self._loads(arrays, batch)
            shapes: dict[str, tuple[int, ...]] = {name: (6 * n if name == "load" else n,) for name in columns}
            return direct_evaluate(asked._replace(arrays=columns, shapes=shapes))

        return evaluate

    def _loads(self, arrays: dict[str, Array], batch: tuple[int, ...]) -> Array:
        """The wrenches on the tool and on the links as one per link, in the link frames."""
        n = self.robot.n
        loads = np.zeros((*batch, n, 6), self.dtype)
        if "link_wrenches" in arrays:
            loads += arrays["link_wrenches"]
        if "tip_wrench" in arrays:
            at_tip = wrench(arrays["tip_wrench"], batch).seen_through(self._chain.tool)
            loads[..., -1, :] += np.stack(np.broadcast_arrays(*at_tip.force, *at_tip.moment), axis=-1)
        return loads.reshape(*batch, 6 * n)

    def _by_columns(self, kernel: Any) -> Evaluate:
        """Column j of the mass matrix: the torques of a unit acceleration of joint j, at rest and without gravity."""
        n = self.robot.n

        def evaluate(asked: Asked) -> Array:
            arrays, _, batch, out, threads = asked
            if out is not None:
                check_out(out, (*batch, n, n), self.dtype)
            states = math.prod(batch)
            result = np.empty((n, n, states), self.dtype)
            q = by_state(arrays["q"], (*batch, n), states)
            rest, unit = np.zeros(n, self.dtype), np.eye(n, dtype=self.dtype)
            for j in range(n):
                columns = (q, *(np.broadcast_to(x, (states, n)) for x in (rest, unit[j])))
                if not kernel.run(columns, result[j].T, threads):
                    raise self._not_finite(arrays, np.full(batch, np.nan), batch)
            matrices = np.moveaxis(result, -1, 0).reshape(*batch, n, n)
            if out is None:
                return matrices
            out[...] = matrices
            return out

        return evaluate

    def _with_kernel(self, kernel: Any, shape: tuple[int, ...]) -> Evaluate:
        def evaluate(asked: Asked) -> Array:
            arrays, shapes, batch, out, threads = asked
            states = math.prod(batch)
            columns = [by_state(array, (*batch, *shapes[name]), states) for name, array in arrays.items()]
            beside = bool(batch) and states > 1 and all(c.strides[0] in (0, c.itemsize) for c in columns)
            result = out if out is not None else empty((*batch, *shape), self.dtype, beside and len(batch) == 1)
            if out is not None:
                check_out(out, (*batch, *shape), self.dtype)
            apart = out is None or direct(out, self.dtype, columns)
            entries = math.prod(shape)
            view = viewed(result, (states, entries)) if apart else None
            target = view if view is not None else np.empty((states, entries), self.dtype)
            if not kernel.run(columns, target, threads):
                raise self._not_finite(arrays, target.reshape((*batch, *shape)), batch)
            if view is None:
                result[...] = target.reshape(result.shape)
            return result

        return evaluate

    @cached_property
    def _chain(self) -> Any:
        return self.robot.chain(float if self.dtype == np.float64 else np.float32)

    def _with_numpy(self, asked: Asked) -> Array:
        """The formulation itself, with arrays as scalars."""
        arrays, _, batch, out, _ = asked
        if self.vary:
            raise InputError(f"parameters can vary for up to {UNROLLED} joints; {self._size}")
        if self.problem in DERIVATIVES:
            raise InputError(f"derivatives are for chains of up to {UNROLLED} joints; {self._size}")
        tip = wrench(arrays["tip_wrench"], batch) if "tip_wrench" in arrays else None
        links = None
        if "link_wrenches" in arrays:
            links = [wrench(arrays["link_wrenches"][..., i, :], batch) for i in range(len(self.robot.links))]
        columns = [scalars(arrays[name], batch) for name in self.arguments]
        try:
            with np.errstate(all="ignore"):  # what overflows or divides by zero is told below
                values = self.formulation(self._chain, *columns, loads=self._chain.wrenches(tip, links))
                result = stacked(values, batch, self.dtype)
        except (ZeroDivisionError, OverflowError):
            raise self._not_finite(arrays, np.full(batch, np.nan), batch) from None
        if not np.isfinite(result).all():
            raise self._not_finite(arrays, result, batch)
        if out is None:
            return result
        check_out(out, result.shape, self.dtype)
        out[...] = result
        return out

    def _not_finite(self, arrays: dict[str, Array], result: Array, batch: tuple[int, ...]) -> ArmwrightError:
        """Why a result is not finite: because of the input, a singular matrix, or overflow."""
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                where = ", ".join(map(str, place))
                return InputError(f"{name}[{where}] is {array[place]}; every number must be finite")
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])[: len(batch)]
        where = f" for state {', '.join(map(str, place))} of the batch" if place else ""
        if self.problem.startswith("forward_dynamics"):
            return SingularError(
                f"forward dynamics of {self.robot.name} has no finite solution{where}: the mass matrix is singular, or "
                "the numbers overflow; armwright.problems(robot) tells links without mass"
            )
        return InputError(f"{self.problem} of {self.robot.name} overflows{where}; check the size of the input")


def _meaning(name: str) -> str:
    return _MEANING.get(name, "a parameter that varies")


def _default_threads(batch: tuple[int, ...]) -> int:
    return (os.cpu_count() or 1) if math.prod(batch) >= _MANY_STATES else 1


def compile(  # noqa: A001  (the public name is aw.compile)
    robot: Description,
    problem: str,
    formulation: str | None = None,
    target: str = "cpu",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
) -> Function:
    """The given problem of the given robot as a function of arrays.

    problem      "inverse_dynamics" (q, qd, qdd), "forward_dynamics" (q, qd, tau), "mass_matrix" (q), "bias" (q, qd)
    formulation  a name from `formulations(problem)`; by default whichever takes the fewest operations for this robot
    dtype        "float64" or "float32"
    vary         robot parameters that stay open and are further arguments, in this order: "payload.mass", "gravity",
                 "<link>.com", "<joint>.viscous", ... (`armwright.model.vary` lists them)
    """
    if not isinstance(robot, Description):
        raise InputError(f"compile got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        raise unknown("dtype", name, DTYPES)
    chosen = find(problem, formulation)
    if isinstance(vary, str):
        raise InputError(f"vary = {vary!r}: expected a list of names, such as ['payload.mass']")
    return Function(robot, problem, chosen if formulation is not None else None, name, tuple(vary))
