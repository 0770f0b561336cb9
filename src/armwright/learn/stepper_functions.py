"""Steps and rollouts of a stepper as differentiable functions.

If they do not raise errors, their last result marks the valid states; others are nan and have no gradient, so that
they do not affect valid ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from armwright.algebra import Array
from armwright.arrays import package
from armwright.errors import InputError, SimulationError
from armwright.learn.differentiable_functions import FunctionKernels, check_seeds
from armwright.simulation import Stepper

Vjp = Callable[[Sequence[Array], Sequence[Array], int], tuple[Array, ...]]
"""A function of arguments, gradients by the results and threads that returns gradients by the arguments."""


def checked_stepper(stepper: object, what: str) -> Stepper:
    """Return the stepper; an InputError if it is none."""
    if not isinstance(stepper, Stepper):
        got = type(stepper).__name__
        raise InputError(f"{what} got {got}; expected a stepper, such as armwright.stepper(robot, dt=0.01)")
    return stepper


class _StepperFunction:
    """The common part of a step and a rollout."""

    def __init__(self, stepper: Stepper, what: str, raises: bool) -> None:
        robot = checked_stepper(stepper, what).robot
        self.stepper, self.name, self.masked = stepper, f"a {what} of {robot.name}", not raises
        self.dtype, self.target = stepper.dtype, stepper.target
        self.results, self.trailing = {"q": robot.nq, "qd": robot.n}, (stepper.code.plan,)

    @property
    def parameters(self) -> Sequence[Array]:
        """Parameters that vary, after the arguments."""
        return self.stepper.code.parameters

    def _vjp(self, vjp: Vjp, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return the gradient; an error says whether the function or the gradient by the results is not finite."""
        try:
            return self._masked_vjp(vjp, arrays, seeds, threads) if self.masked else vjp(arrays, seeds, threads)
        except SimulationError as error:
            check_seeds(self.name, self.results, seeds[:2])
            raise SimulationError(f"the gradient of {self.name}: {error}", t=error.t) from None

    def _masked_vjp(self, vjp: Vjp, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return the gradient of valid states and zero for others, whose arguments those of a valid state replace."""
        *seeds, good = seeds
        if good.all():
            return vjp(arrays, seeds, threads)
        if not good.any():
            return tuple(np.zeros_like(x) for x in arrays)
        place = tuple(int(i) for i in np.argwhere(good)[0])
        arrays, seeds = [_where_valid(good, x, x[place]) for x in arrays], [_where_valid(good, x, 0) for x in seeds]
        return vjp(arrays, seeds, threads)


def _where_valid(good: Array, x: Array, other: Array | int) -> Array:
    """Return x for valid states, `other` for the rest."""
    mask = good.reshape(*good.shape, *(1,) * (x.ndim - good.ndim))
    chosen: Array = np.where(mask, x, other).astype(x.dtype, copy=False)
    return chosen


class StepFunction(_StepperFunction):
    """A step under constant torques."""

    def __init__(self, stepper: Stepper, raises: bool = True) -> None:
        super().__init__(stepper, "step", raises)
        n = stepper.robot.n
        self.shapes = {"q": (stepper.robot.nq,), "qd": (n,), "tau": (n,)}

    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return q and qd after the step, and the mask of valid states if masked."""
        q, qd, tau = arrays
        return self.stepper.step(q, qd, tau, threads=threads if q.ndim > 1 else 1, raises=not self.masked)

    def vjp(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return the gradient by the arguments, for the gradient `seeds` by the results."""
        return self._vjp(self._back, arrays, seeds, threads)

    def _back(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        nq, batch = self.results["q"], arrays[0].shape[:-1]
        state, tau = self.stepper.pulled([*arrays, *self.parameters], np.concatenate(seeds, axis=-1), batch, threads)
        return state[..., :nq], state[..., nq:], tau

    @property
    def code(self) -> FunctionKernels:
        """The kernels of value and gradient."""
        code = self.stepper.code
        return FunctionKernels(code.step, code.back)

    def check(self, arrays: Sequence[Array]) -> None:
        """Raise the error of the first state whose step is not finite."""
        kernel, (states, _) = self.code.value, arrays[0].shape
        results = package(*arrays).empty((states, *kernel.shape), self.dtype)
        if not kernel.run(arrays, results):
            raise self.stepper.failure(arrays, (states,), np.asarray(np.isfinite(results).all(axis=-1)))


class RolloutFunction(_StepperFunction):
    """A step for each row of torques, with every state."""

    def __init__(self, stepper: Stepper, tau: tuple[int, ...], raises: bool = True) -> None:
        super().__init__(stepper, "rollout", raises)
        n = stepper.robot.n
        if len(tau) < 2 or not tau[-2]:
            raise InputError(f"tau has shape {tau}; expected (..., steps, {n}), one row for every step")
        self.shapes = {"q0": (stepper.robot.nq,), "qd0": (n,), "tau": (tau[-2], n)}

    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return all states of the rollouts, and the mask of valid rollouts if masked."""
        q0, qd0, tau = arrays
        return self.stepper.rollout(q0, qd0, tau, threads, raises=not self.masked)

    def vjp(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return the gradient by the arguments, for the gradient `seeds` by the results."""
        return self._vjp(self._back, arrays, seeds, threads)

    def _back(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        (q0, qd0, tau), (by_q, by_qd) = arrays, seeds
        return self.stepper.gradient(q0, qd0, tau, by_q, by_qd, threads=threads)
