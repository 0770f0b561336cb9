"""Steps of a robot under external torques, for one state or many.

stepper = aw.stepper(robot, dt=0.01, substeps=10)
q, qd = stepper.step(q, qd, tau)                        one state, or a batch
q, qd = stepper.rollout(q0, qd0, tau)                   tau (..., steps, n): the states after each step
A, B = stepper.linearised(q, qd, tau)                   the exact Jacobians of a step
back = stepper.gradient(q0, qd0, tau, by_q, by_qd)      the gradient of a cost by start and torques
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import (
    addressable,
    check_finite,
    check_memory,
    checked_array,
    common_shape,
    has_overlap,
    on_card,
    package,
    state_rows,
    whole_number,
)
from armwright.backends.interface import Kernel, backend
from armwright.errors import InputError, SimulationError, unknown
from armwright.integrate import methods
from armwright.model.code_sharing import shared_code
from armwright.model.description import Description
from armwright.model.robot_parameters import parameter_sizes
from armwright.model.unit_vectors import have_unit_length, unit_length_error
from armwright.robot import Robot
from armwright.simulation.batch_inputs import varied_parameters
from armwright.simulation.plan import SMOOTHING_SPEED, with_smooth_friction
from armwright.simulation.step_kernels import StepRecord, step_gradient_kernel, step_jacobian_kernel, step_kernel
from armwright.simulation.step_sensitivity import linearised_by_rows
from armwright.trace.evaluation_strategy import has_straight_code, too_long_message

HOLD_METHODS = ("zero",)
"""How torques continue between two steps: constant."""

MAX_CALL_SUBSTEPS = 2_000_000
"""The substeps of a thread in one compiled call, tenths of a second: Ctrl-C works between calls."""

CARD_THREADS = 1000
"""The number of CPU threads to which a GPU corresponds for `MAX_CALL_SUBSTEPS`."""

Gradients: TypeAlias = ArrayLike | Callable[[Array, Array], tuple[ArrayLike, ArrayLike]]
"""The gradient of a cost by the positions of a rollout, or a function of q and qd that returns both gradients."""


class StepCode(NamedTuple):
    """The kernels of a step and of its gradient, their runtime parameters, and (length, number) of the substeps."""

    step: Kernel
    back: Callable[[], Kernel]
    parameters: list[Array]
    plan: Array


class RolloutGradient(NamedTuple):
    """The gradient of a cost by the start and the torques of a rollout; `good` is a mask of finite gradients."""

    q0: Array
    qd0: Array
    tau: Array

    @property
    def good(self) -> Array:
        start: Any = self.q0, self.qd0
        by_q0, by_qd0 = ((abs(x) < math.inf).all(axis=-1) for x in start)  # for arrays of any package
        return by_q0 & by_qd0  # type: ignore[no-any-return]


def stepper(
    robot: Robot,
    dt: float = 1e-3,
    substeps: int = 1,
    integrator: str = "rk4",
    hold: str = "zero",
    vary: Mapping[str, ArrayLike] | None = None,
    dtype: str = "float64",
    target: str = "cpu",
    smooth: float = SMOOTHING_SPEED,
) -> Stepper:
    """Return a stepper of a robot.

    dt          seconds of a step
    substeps    equal steps of the integrator within a step
    integrator  a Runge-Kutta method of `armwright.integrate.methods()`; of a pair the propagated formula
    hold        "zero": torques are constant during a step
    vary        robot parameters that differ between states, or that will change: numbers for all, or one for each state
                of a batch. Write into the arrays of `parameters` to change them
    dtype       "float64" or "float32"
    smooth      the speed below which dry friction of the robot is smoothed, as in `simulate`
    """
    if not isinstance(robot, Robot):
        raise InputError(f"stepper got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if integrator not in methods():
        raise unknown("integrator", integrator, methods())
    if hold not in HOLD_METHODS:
        raise unknown("hold", hold, HOLD_METHODS)
    if dtype not in backend(target).dtypes:
        raise unknown("dtype", dtype, backend(target).dtypes)
    if isinstance(dt, bool) or not isinstance(dt, (int, float)) or not 0 < dt < math.inf:
        raise InputError(f"dt = {dt!r}: expected seconds, more than zero")
    if not has_straight_code(robot):
        raise InputError(too_long_message(robot, "steps are compiled"))
    names, values = varied_parameters(vary)
    robot = with_smooth_friction(robot, smooth)
    parameters = {name: np.asarray(values[name], dtype) for name in parameter_sizes(robot, names)}
    shared = shared_code(robot, names, moved=False)
    ends = np.cumsum([0, *parameter_sizes(robot, shared.names).values()])
    for name, (a, b) in zip(shared.names, pairwise(ends), strict=True):
        parameters[name] = np.array(shared.numbers[a:b], dtype)
    count = whole_number("substeps", substeps, 1)
    return Stepper(robot, shared.robot, float(dt), count, integrator, parameters, np.dtype(dtype), target)


class Stepper:
    """Steps of a robot under external torques. The compiled code is the same for every dt and number of substeps."""

    def __init__(
        self,
        robot: Robot,
        code: Description,
        dt: float,
        substeps: int,
        integrator: str,
        parameters: dict[str, Array],
        dtype: np.dtype[Any],
        target: str,
    ) -> None:
        self.robot, self.integrator, self.dtype, self.target = robot, integrator, dtype, target
        self._dt, self._substeps = dt, substeps
        self._card = backend(target).device  # arrays may be on it or of NumPy
        self._max_call_substeps = MAX_CALL_SUBSTEPS if self._card is None else MAX_CALL_SUBSTEPS * CARD_THREADS
        self.parameters: Mapping[str, Array] = MappingProxyType(parameters)
        self._record = StepRecord(code, integrator, tuple(parameters), dtype.name, target)
        self._kernel = step_kernel(self._record)
        self._plan = np.array([dt / substeps, substeps], dtype)
        self._sizes = {"q": robot.nq, "qd": robot.n, "tau": robot.n, **parameter_sizes(robot, tuple(parameters))}
        self._single_step = self._kernel.single(self._checked_single_step)
        self._shared_parameters = tuple(np.atleast_1d(value) for value in parameters.values())
        sizes = (self._sizes[name] for name in parameters)
        shared = all(value.shape == (size,) for value, size in zip(self._shared_parameters, sizes, strict=True))
        self._fast = shared and not robot.balls and substeps <= self._max_call_substeps

    @property
    def dt(self) -> float:
        """Seconds of a step."""
        return self._dt

    @property
    def substeps(self) -> int:
        return self._substeps

    def __repr__(self) -> str:
        steps = f"{self.substeps} steps of {self.integrator}" if self.substeps > 1 else self.integrator
        return f"<stepper of {self.robot.name}: {self.dt:g} s by {steps}>"

    def __reduce__(self) -> tuple[Any, ...]:
        code, integrator, _, dtype, target = self._record
        parameters = dict(self.parameters)
        return Stepper, (self.robot, code, self._dt, self._substeps, integrator, parameters, np.dtype(dtype), target)

    def step(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        out: tuple[Array, Array] | None = None,
        threads: int = 1,
        raises: bool = True,
    ) -> tuple[Array, ...]:
        """Return q and qd after dt under constant torques, for one state or each of a batch.

        `out` is a pair of arrays to fill, which may be q and qd themselves. A state without a finite successor raises
        an error; with `raises=False` it becomes nan, and a third array is the mask of good states.
        """
        if self._fast and out is None and threads == 1 and raises and type(q) is np.ndarray and q.ndim == 1:
            y = self._single_step(q, qd, tau, *self._shared_parameters, self._plan)
            return y[..., : self.robot.nq], y[..., self.robot.nq :]
        outputs = () if out is None else _pair(out)
        if self._card is not None:
            self._card.check_written(*outputs)
        if self._elsewhere(q, qd, tau, *outputs):
            results = self._on_device(
                lambda a, b, c, *outputs: self.step(a, b, c, outputs or None, raises=raises), *(q, qd, tau, *outputs)
            )
            return (*outputs, *results[len(outputs) :])
        arrays, batch = self._state_arrays({"q": q, "qd": qd, "tau": tau})
        y, good = self._run(self._kernel, arrays, batch, whole_number("threads", threads, 1), raises)
        ends: tuple[Array, ...] = (y[..., : self.robot.nq], y[..., self.robot.nq :])
        if outputs:
            ends = self._fill_outputs(outputs, ends)
        return ends if raises else (*ends, good)

    def rollout(
        self, q0: ArrayLike, qd0: ArrayLike, tau: ArrayLike, threads: int = 1, raises: bool = True
    ) -> tuple[Array, ...]:
        """Return all states under torques (..., steps, n): q (..., steps + 1, nq) and qd (..., steps + 1, n).

        With `raises=False` a third array is the mask of rollouts without failure; others are nan from their failure on.
        """
        if self._elsewhere(q0, qd0, tau):
            return self._on_device(lambda a, b, c: self.rollout(a, b, c, raises=raises), q0, qd0, tau)
        torques = self._torques(tau)
        (q, qd, _, *parameters), batch = self._state_arrays({"q": q0, "qd": qd0, "tau": torques[..., 0, :]})
        q, torques = self._on_one_device(self._unit(q, batch, raises), torques)
        shares, nq, n, steps = whole_number("threads", threads, 1), self.robot.nq, self.robot.n, torques.shape[-2]
        self._check_memory("the rollout", (steps + 1, *batch, nq + n))
        y = package(q).empty((steps + 1, *batch, nq + n), self.dtype)
        y[0, ..., :nq], y[0, ..., nq:] = q, qd
        rows = y.reshape(steps + 1, math.prod(batch), nq + n)
        inputs = np.moveaxis(np.broadcast_to(torques, (*batch, steps, n)), -2, 0).reshape(steps, math.prod(batch), n)
        constant = (np.broadcast_to(x, (steps, *x.shape)) for x in self._columns([q, *parameters], batch)[1:])
        columns = [rows[:-1, :, :nq], rows[:-1, :, nq:], addressable(inputs), *constant]
        good = self._fill_rollout(rows[1:], columns, batch, shares, raises)
        states = np.moveaxis(y, 0, -2)
        ends = states[..., :nq], states[..., nq:]
        return ends if raises else (*ends, good)

    def linearised(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, threads: int = 1, raises: bool = True
    ) -> tuple[Array, ...]:
        """Return the exact Jacobians of a step: A (..., 2n, 2n) by q and qd before it, and B (..., 2n, n) by tau.

        Changes of q are displacements in velocity coordinates: for a ball joint a small rotation in the axes of its
        body. With `raises=False` a third array is the mask of good states.
        """
        if self._elsewhere(q, qd, tau):
            return self._on_device(lambda a, b, c: self.linearised(a, b, c, raises=raises), q, qd, tau)
        arrays, batch = self._state_arrays({"q": q, "qd": qd, "tau": tau})
        shares, n = whole_number("threads", threads, 1), self.robot.n
        if self.robot.balls:
            rows = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
            A, B, good = linearised_by_rows(self, rows, batch, shares, raises)
        else:
            entries, good = self._run(step_jacobian_kernel(self._record), arrays, batch, shares, raises)
            jacobian = entries.reshape(*batch, 2 * n, 3 * n)
            A, B = jacobian[..., : 2 * n], jacobian[..., 2 * n :]
        return (A, B) if raises else (A, B, good)

    def gradient(
        self,
        q0: ArrayLike,
        qd0: ArrayLike,
        tau: ArrayLike,
        by_q: Gradients,
        by_qd: ArrayLike | None = None,
        checkpoints: int = 1,
        threads: int = 1,
        raises: bool = True,
    ) -> RolloutGradient:
        """Return the gradient of a cost by start and torques of a rollout, from its gradient by the states.

        by_q, by_qd  gradients of the cost by q (..., steps + 1, nq) and qd (..., steps + 1, n) of `rollout`; or `by_q`
                     is a function of q and qd that returns both
        checkpoints  the interval of stored states: 1 stores all; others are recomputed from the stored ones

        Gradients by q are by its entries, quaternions included. With `raises=False` those of a rollout that fails are
        nan; `good` of the result is the mask of the others.
        """
        every = whole_number("checkpoints", checkpoints, 1)
        if self._elsewhere(q0, qd0, tau, by_q, by_qd):
            kind = self._card.array_package((q0, qd0, tau, by_q, by_qd))

            def cost_gradients(q: Array, qd: Array) -> tuple[Any, ...]:
                gradients = by_q(*(self._card.to_package(x, kind) for x in (q, qd)))  # type: ignore[operator]
                return tuple(map(self._card.to_cupy, gradients)) if isinstance(gradients, (tuple, list)) else gradients

            results = self._on_device(
                lambda q0, qd0, tau, by_q, by_qd: self.gradient(q0, qd0, tau, by_q, by_qd, every, raises=raises),
                *(q0, qd0, tau, cost_gradients if callable(by_q) else by_q, by_qd),
            )
            return RolloutGradient(*results)
        torques, nq = self._torques(tau), self.robot.nq
        if every > 1 and callable(by_q):
            raise InputError("by_q is a function of all states; expected its values with checkpoints above 1")
        q, qd = self.rollout(q0, qd0, torques, threads, raises)[:2]
        if callable(by_q):
            gradients = by_q(q, qd)
            if not isinstance(gradients, (tuple, list)) or len(gradients) != 2:
                raise InputError(
                    f"by_q gave a {type(gradients).__name__}; expected two arrays, derivatives by q and by qd"
                )
            by_q, by_qd = gradients
        grads = [self._cost_gradient("q", by_q, q), self._cost_gradient("qd", 0 * qd if by_qd is None else by_qd, qd)]
        batch = q.shape[:-2]
        q, qd, torques, *rest = self._on_one_device(q, qd, torques, *grads, *self._parameter_arrays)
        grads, parameters = rest[:2], rest[2:]
        total = np.concatenate([g[..., -1, :] for g in grads], axis=-1)
        by_tau = package(total).empty((*batch, torques.shape[-2], self.robot.n), self.dtype)
        stored = [(q[..., k, :], qd[..., k, :]) for k in range(0, torques.shape[-2], every)]
        if every > 1:
            stored = [(a.copy(), b.copy()) for a, b in stored]
            del q, qd
        for part in reversed(range(len(stored))):
            begin = part * every
            span = torques[..., begin : begin + every, :]
            states = [x[..., None, :] for x in stored[part]]
            if every > 1:
                states = list(self.rollout(*stored[part], span, threads, raises)[:2])
            for k in reversed(range(span.shape[-2])):
                arrays = [*(x[..., k, :] for x in states), span[..., k, :], *parameters]
                total, by_tau[..., begin + k, :] = self.pulled(arrays, total, batch, threads, raises)
                total += np.concatenate([g[..., begin + k, :] for g in grads], axis=-1)
        by_tau[~np.isfinite(total).all(axis=-1)] = np.nan
        return RolloutGradient(total[..., :nq], total[..., nq:], by_tau)

    def _cost_gradient(self, name: str, value: ArrayLike, states: Array) -> Array:
        """Return a checked gradient of a cost by the positions or velocities of a rollout."""
        entries, meaning = states.shape[-1:], f"one for every entry of {name}"
        array = checked_array(f"by_{name}", value, entries, self.dtype, meaning, self._card is not None)
        try:
            return np.broadcast_to(array, states.shape)
        except ValueError:
            raise InputError(
                f"by_{name} has shape {array.shape}; expected {states.shape}, as the states of the rollout"
            ) from None

    def pulled(
        self, arrays: Sequence[Array], seeds: Array, batch: tuple[int, ...], threads: int, raises: bool = True
    ) -> tuple[Array, Array]:
        """Return the gradient by the state before a step and by its torques, from that by the state after it."""
        m, n = self.robot.nq + self.robot.n, self.robot.n
        columns = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
        gradient, _ = self._run(step_gradient_kernel(self._record), [*columns, seeds], batch, threads, raises)
        return gradient[..., :m].copy(), gradient[..., m : m + n]

    @property
    def code(self) -> StepCode:
        """The kernels with their arguments besides a state, for calls without this object."""
        return StepCode(self._kernel, lambda: step_gradient_kernel(self._record), self._parameter_arrays, self._plan)

    def _elsewhere(self, *arrays: Any) -> bool:
        """Return True if some arrays are on the GPU in another package than CuPy."""
        return self._card is not None and self._card.array_package(arrays) in self._card.FOREIGN_PACKAGES

    def _on_device(self, work: Callable[..., tuple[Any, ...]], *arrays: Any) -> tuple[Any, ...]:
        """Return results for arrays of another package on the GPU, in the same memory and on its stream."""
        kind = self._card.array_package(arrays)
        with self._card.stream(kind):
            return tuple(self._card.to_package(x, kind) for x in work(*map(self._card.to_cupy, arrays)))

    def _on_one_device(self, *arrays: Array) -> list[Array]:
        """Return the arrays, all on the GPU if one of them is."""
        return [self._card.to_device(x) for x in arrays] if any(map(on_card, arrays)) else list(arrays)

    def _torques(self, tau: ArrayLike) -> Array:
        n = self.robot.n
        torques = checked_array("tau", tau, (n,), self.dtype, "the torques of every step", self._card is not None)
        if torques.ndim < 2 or not torques.shape[-2]:
            raise InputError(f"tau has shape {torques.shape}; expected (..., steps, {n}), one row for every step")
        return torques

    def _state_arrays(self, state: Mapping[str, ArrayLike]) -> tuple[list[Array], tuple[int, ...]]:
        """Return the arrays (..., entries) of a state and of the parameters, and their batch shape."""
        shapes = {name: (size,) for name, size in self._sizes.items()}
        arrays = {
            name: checked_array(name, value, shapes[name], self.dtype, STATE_MEANINGS[name], self._card is not None)
            for name, value in state.items()
        }
        arrays |= dict(zip(self.parameters, self._parameter_arrays, strict=True))
        arrays = dict(zip(arrays, self._on_one_device(*arrays.values()), strict=True))
        return list(arrays.values()), common_shape({name: (array, 1) for name, array in arrays.items()})

    @property
    def _parameter_arrays(self) -> list[Array]:
        """The arrays (..., entries) of the varied parameters."""
        arrays = []
        for name, value in self.parameters.items():
            rows = value[..., None] if self._sizes[name] == 1 and value.shape[-1:] != (1,) else value
            meaning = "a parameter that varies"
            arrays.append(checked_array(f"vary[{name!r}]", rows, (self._sizes[name],), self.dtype, meaning))
        return arrays

    def _run(
        self, kernel: Kernel, arrays: list[Array], batch: tuple[int, ...], threads: int, raises: bool
    ) -> tuple[Array, Array]:
        arrays = [self._unit(arrays[0], batch, raises), *arrays[1:]]
        self._check_memory("the result", (*batch, math.prod(kernel.shape)))
        y = package(*arrays).empty((*batch, math.prod(kernel.shape)), self.dtype)
        rows, columns = y.reshape(math.prod(batch), y.shape[-1]), self._columns(arrays, batch)
        return y, self._fill(rows, columns, batch, threads, raises, kernel)

    def _check_memory(self, name: str, shape: tuple[int, ...]) -> None:
        if self._card is None:
            check_memory(name, shape, self.dtype)

    def _columns(self, arrays: list[Array], batch: tuple[int, ...]) -> list[Array]:
        """Return arrays (..., entries), and the plan of a step, as (states, entries)."""
        plan = self._card.to_device(self._plan) if any(map(on_card, arrays)) else self._plan
        return [state_rows(array, batch, array.shape[-1:]) for array in (*arrays, plan)]

    def _unit(self, q: Array, batch: tuple[int, ...], raises: bool) -> Array:
        """Return positions with quaternions of unit length; others raise an InputError, or become nan."""
        if not self.robot.balls:
            return q
        if (raises or not math.prod(batch)) and (message := unit_length_error(self.robot, "q", q)):
            raise InputError(message)
        return q if raises else np.where(have_unit_length(self.robot, q)[..., None], q, np.nan).astype(self.dtype)

    def _fill(
        self,
        y: Array,
        columns: list[Array],
        batch: tuple[int, ...],
        threads: int,
        raises: bool,
        kernel: Kernel | None = None,
    ) -> Array:
        """Fill y (states, entries); return the mask of the good states of the batch."""
        if self._fill_in_parts(kernel or self._kernel, columns, y, threads):
            return package(y).ones(batch, bool)  # type: ignore[no-any-return]
        good = _finite((y, *columns))
        if raises:
            raise self.failure([x.reshape(*batch, x.shape[-1]) for x in columns], batch, good.reshape(batch))
        y[~good] = np.nan
        return good.reshape(batch)

    def _fill_in_parts(self, kernel: Kernel, columns: list[Array], y: Array, threads: int) -> bool:
        """Fill y (states, entries) by short calls; return True if all of it is finite."""
        count = max(1, self._max_call_substeps * threads // self.substeps)
        parts = [slice(k, k + count) for k in range(0, len(y), count)]
        staged = kernel is self._kernel and self.substeps > self._max_call_substeps
        compute = self._fill_in_stages if staged else kernel.run
        finite = [compute([x[part] for x in columns], y[part], threads) for part in parts]
        return all(finite)

    def _fill_in_stages(self, columns: list[Array], y: Array, threads: int) -> bool:
        """Fill y by several calls for the same states, each with some of the substeps."""
        q, qd, *rest, plan = columns
        finite = True
        for done in range(0, self.substeps, self._max_call_substeps):
            plan = plan.copy()
            plan[:, 1] = min(self._max_call_substeps, self.substeps - done)
            finite &= bool(self._kernel.run([q, qd, *rest, plan], y, threads))
            q, qd = y[:, : self.robot.nq].copy(), y[:, self.robot.nq :].copy()
        return finite

    def _fill_rollout(
        self, y: Array, columns: list[Array], batch: tuple[int, ...], threads: int, raises: bool
    ) -> Array:
        """Fill y (steps, states, entries); return the mask of rollouts without failure, others being nan from there."""
        steps, states = y.shape[:2]
        stretch = self._max_call_substeps * threads // max(1, states * self.substeps)
        if stretch:
            parts = [slice(k, k + stretch) for k in range(0, steps if states else 0, stretch)]
            finite = [self._kernel.series([x[part] for x in columns], y[part], threads) for part in parts]
        else:
            finite = [self._fill_in_parts(self._kernel, [x[k] for x in columns], y[k], threads) for k in range(steps)]
        if all(finite):
            return package(y).ones(batch, bool)  # type: ignore[no-any-return]
        good = _finite((y, *columns))
        if raises:
            k = int(np.argmin(good.all(axis=1)))
            check_finite("tau", np.moveaxis(columns[2].reshape(steps, *batch, self.robot.n), 0, -2))
            error = self.failure([x[k].reshape(*batch, x.shape[-1]) for x in columns], batch, good[k].reshape(batch))
            raise SimulationError(f"step {k}: {error}", t=k * self.dt)
        good = np.cumsum(~good, axis=0) == 0  # CuPy has no other accumulations than sums and products
        y[~good] = np.nan
        complete: Array = good[-1].reshape(batch)
        return complete

    def failure(self, arrays: Sequence[Array], batch: tuple[int, ...], good: Array) -> SimulationError:
        """Return the error of states that are not all good; raise an InputError if the arguments are not finite."""
        for name, array in zip(self._sizes, arrays, strict=False):
            check_finite(name, array)
        first = tuple(int(i) for i in np.argwhere(~good)[0])
        which = f"state {', '.join(map(str, first))} of the batch" if batch else "the state"
        return SimulationError(
            f"{which} has no finite successor: the motion diverges within {self.dt:g} s, or the mass matrix is "
            "singular there; take a smaller dt or more substeps, or raises=False to continue with the others",
            t=self.dt,
        )

    def _checked_single_step(self, q: Any, qd: Any, tau: Any, *_parameters: Any) -> Array:
        """Return the next state for arguments that the fast call for one state does not accept."""
        arrays, batch = self._state_arrays({"q": q, "qd": qd, "tau": tau})
        return self._run(self._kernel, arrays, batch, 1, raises=True)[0]

    def _fill_outputs(self, out: tuple[Array, ...], ends: tuple[Array, ...]) -> tuple[Array, ...]:
        on_device = on_card(ends[0])
        if any(on_card(x) != on_device for x in out):
            place = "on the card" if on_device else "of NumPy"
            raise InputError(f"out is not where the states are; expected two arrays {place}")
        if np.shares_memory(out[0], out[1]):
            raise InputError("out has the same memory for q and for qd; expected two arrays")
        for name, target, end in zip(("q", "qd"), out, ends, strict=True):
            writeable = getattr(target.flags, "writeable", True) and not has_overlap(target)
            if target.shape != end.shape or target.dtype != self.dtype or not writeable:
                got = f"{target.dtype} {target.shape}{'' if writeable else ', read-only'}"
                raise InputError(f"out for {name} is {got}; expected {self.dtype} {end.shape}, writeable")
            target[...] = end
        return out


def _pair(out: Any) -> tuple[Array, ...]:
    if (
        not isinstance(out, (tuple, list))
        or len(out) != 2
        or not all(isinstance(x, np.ndarray) or on_card(x) for x in out)
    ):
        raise InputError(f"out is a {type(out).__name__}; expected a pair of arrays, one for q and one for qd")
    return tuple(out)


def _finite(arrays: Sequence[Array]) -> Array:
    """Return the mask of states with finite entries in all arrays (..., states, entries)."""
    good: Any = np.isfinite(arrays[0]).all(axis=-1)
    for x in arrays[1:]:
        good = good & np.isfinite(x).all(axis=-1)
    return good  # type: ignore[no-any-return]


STATE_MEANINGS = {
    "q": "one number for every entry of q",
    "qd": "one velocity for every joint",
    "tau": "one torque for every joint",
}
