"""Steps and rollouts of a stepper as functions that are differentiated (`differentiable`).

Unless they raise, a last result says which states are good: others are nan, and have no gradient, so that they cost the
good ones nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from armwright.algebra import Array
from armwright.arrays import package
from armwright.errors import InputError, SimulationError
from armwright.learn.differentiable_functions import Code, check_seeds
from armwright.simulation import Stepper

Pull = Callable[[Sequence[Array], Sequence[Array], int], tuple[Array, ...]]
"""Arguments and seeds to gradients, on so many threads."""


def checked_stepper(stepper: object, what: str) -> Stepper:
    if not isinstance(stepper, Stepper):
        got = type(stepper).__name__
        raise InputError(f"{what} got {got}; expected a stepper, such as armwright.stepper(robot, dt=0.01)")
    return stepper


class _Stepped:
    """What a step and a rollout have in common."""

    def __init__(self, stepper: Stepper, what: str, raises: bool) -> None:
        robot = checked_stepper(stepper, what).robot
        self.stepper, self.dtype, self.name, self.masked = (
            stepper,
            stepper.dtype,
            f"a {what} of {robot.name}",
            not raises,
        )
        self.target = stepper.target
        self.results, self.last = {"q": robot.nq, "qd": robot.n}, (stepper.code.plan,)

    @property
    def held(self) -> Sequence[Array]:
        return self.stepper.code.held

    def _told(self, pull: Pull, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """The gradient, or an error that says of what there is none, and whether the one that comes back is why."""
        try:
            return self._of_good(pull, arrays, seeds, threads) if self.masked else pull(arrays, seeds, threads)
        except SimulationError as error:
            check_seeds(self.name, self.results, seeds[:2])
            raise SimulationError(f"the gradient of {self.name}: {error}", t=error.t) from None

    def _of_good(self, pull: Pull, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """The gradient of good states; others go along as a good one does, and have none."""
        *seeds, good = seeds
        if good.all():
            return pull(arrays, seeds, threads)
        if not good.any():
            return tuple(np.zeros_like(x) for x in arrays)
        place = tuple(int(i) for i in np.argwhere(good)[0])
        return pull([_chosen(good, x, x[place]) for x in arrays], [_chosen(good, x, 0) for x in seeds], threads)


def _chosen(good: Array, x: Array, other: Array | int) -> Array:
    """x of good states, the other of others."""
    found: Array = np.where(good.reshape(*good.shape, *(1,) * (x.ndim - good.ndim)), x, other).astype(
        x.dtype, copy=False
    )
    return found


class Step(_Stepped):
    """A step under torques that are held."""

    def __init__(self, stepper: Stepper, raises: bool = True) -> None:
        super().__init__(stepper, "step", raises)
        n = stepper.robot.n
        self.shapes = {"q": (stepper.robot.nq,), "qd": (n,), "tau": (n,)}

    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]:
        q, qd, tau = arrays
        return self.stepper.step(q, qd, tau, threads=threads if q.ndim > 1 else 1, raises=not self.masked)

    def pulled(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        return self._told(self._back, arrays, seeds, threads)

    def _back(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        nq, batch = self.results["q"], arrays[0].shape[:-1]
        state, tau = self.stepper.pulled([*arrays, *self.held], np.concatenate(seeds, axis=-1), batch, threads)
        return state[..., :nq], state[..., nq:], tau

    @property
    def code(self) -> Code:
        code = self.stepper.code
        return Code(code.step, code.back)

    def check(self, arrays: Sequence[Array]) -> None:
        kernel, (states, _) = self.code.value, arrays[0].shape
        found = package(*arrays).empty((states, *kernel.shape), self.dtype)
        if not kernel.run(arrays, found):
            raise self.stepper.failure(arrays, (states,), np.asarray(np.isfinite(found).all(axis=-1)))


class Rollout(_Stepped):
    """As many steps as there are torques, and every state on the way."""

    def __init__(self, stepper: Stepper, tau: tuple[int, ...], raises: bool = True) -> None:
        super().__init__(stepper, "rollout", raises)
        n = stepper.robot.n
        if len(tau) < 2 or not tau[-2]:
            raise InputError(f"tau has shape {tau}; expected (..., steps, {n}), one row for every step")
        self.shapes = {"q0": (stepper.robot.nq,), "qd0": (n,), "tau": (tau[-2], n)}

    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]:
        q0, qd0, tau = arrays
        return self.stepper.rollout(q0, qd0, tau, threads, raises=not self.masked)

    def pulled(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        return self._told(self._back, arrays, seeds, threads)

    def _back(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        (q0, qd0, tau), (by_q, by_qd) = arrays, seeds
        return self.stepper.gradient(q0, qd0, tau, by_q, by_qd, threads=threads)
