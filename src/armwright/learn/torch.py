"""Dynamics and steps of robots as functions of PyTorch tensors, on the CPU or a GPU, with gradients by autograd.

tau = inverse_dynamics(robot, q, qd, qdd)      tensors (n,) or (..., n), float32 or float64
qdd = forward_dynamics(robot, q, qd, tau)
q, qd = step(stepper, q, qd, tau)              stepper = armwright.stepper(robot, dt=0.01)
q, qd = rollout(stepper, q0, qd0, tau)         tau (..., steps, n): all states

Tensors are read in place, and results are written once. Gradients are compiled too, of first order; those by
quaternions in q are tangent to the unit sphere. The number of threads is that of PyTorch. For tensors on a GPU, make
the stepper with target="cuda"; all kernels run on PyTorch's stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from armwright.backends.interface import backend
from armwright.errors import InputError
from armwright.learn.differentiable_functions import (
    NO_FORWARD_MODE,
    NO_SECOND_DERIVATIVES,
    DifferentiableFunction,
    DynamicsFunction,
    batch_of,
    checked_robot,
)
from armwright.learn.stepper_functions import RolloutFunction, StepFunction
from armwright.robot import Robot
from armwright.simulation import Stepper

try:
    import torch
    from torch import Tensor
except ImportError:
    raise InputError("armwright.learn.torch needs PyTorch: pip install 'armwright[torch]'") from None

__all__ = ["forward_dynamics", "inverse_dynamics", "rollout", "step"]

MAX_CACHED_FUNCTIONS = 64
"""Compiled functions kept for reuse."""

DTYPES = {torch.float32: "float32", torch.float64: "float64"}


def inverse_dynamics(robot: Robot, q: Tensor, qd: Tensor, qdd: Tensor) -> Tensor:
    """Return the torques (..., n) for the accelerations qdd, as `robot.inverse_dynamics`; tensors of one dtype."""
    return _dynamics_result(robot, "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd})


def forward_dynamics(robot: Robot, q: Tensor, qd: Tensor, tau: Tensor) -> Tensor:
    """Return the accelerations (..., n) under the torques tau, as `robot.forward_dynamics`; tensors of one dtype."""
    return _dynamics_result(robot, "forward_dynamics", {"q": q, "qd": qd, "tau": tau})


def step(stepper: Stepper, q: Tensor, qd: Tensor, tau: Tensor, raises: bool = True) -> tuple[Tensor, ...]:
    """Return q and qd after a step of a stepper; the tensors have its dtype.

    With `raises=False` a third tensor marks the valid states: others are nan and have no gradient.
    """
    arguments = {"q": q, "qd": qd, "tau": tau}
    return _apply(StepFunction(stepper, raises), arguments, _common_dtype("step", arguments))


def rollout(stepper: Stepper, q0: Tensor, qd0: Tensor, tau: Tensor, raises: bool = True) -> tuple[Tensor, ...]:
    """Return all states (..., steps + 1, nq and n) under torques (..., steps, n); the reverse pass recomputes them.

    With `raises=False` a third tensor marks the rollouts that are valid to their end: others are nan after they
    failed, and have no gradient.
    """
    arguments = {"q0": q0, "qd0": qd0, "tau": tau}
    dtype = _common_dtype("rollout", arguments)
    return _apply(RolloutFunction(stepper, tuple(tau.shape), raises), arguments, dtype)


def _dynamics_result(robot: Robot, problem: str, arguments: Mapping[str, Tensor]) -> Tensor:
    dtype = _common_dtype(problem, arguments)
    (result,) = _apply(_dynamics(checked_robot(robot, problem), problem, dtype, _target(arguments)), arguments, dtype)
    return result


@lru_cache(MAX_CACHED_FUNCTIONS)
def _dynamics(robot: Robot, problem: str, dtype: str, target: str) -> DynamicsFunction:
    return DynamicsFunction(robot, problem, dtype, target)


def _target(arguments: Mapping[str, Tensor]) -> str:
    """Return the target for these tensors, "cuda" or "cpu"."""
    return "cuda" if any(x.is_cuda for x in arguments.values()) else "cpu"


def _common_dtype(what: str, arguments: Mapping[str, Tensor]) -> str:
    """Return the common dtype of tensors; an InputError unless all are on the CPU or on one GPU, with one dtype."""
    for name, x in arguments.items():
        if not isinstance(x, Tensor):
            raise InputError(f"{what}: {name} is {type(x).__name__}; expected a tensor, as by torch.as_tensor")
        if x.device.type not in ("cpu", "cuda") or x.layout is not torch.strided:
            kind = f"{x.layout}" if x.device.type in ("cpu", "cuda") else f"on {x.device}"
            raise InputError(f"{what}: {name} is {kind}; expected a dense tensor on the CPU or a GPU")
    devices = {name: x.device for name, x in arguments.items()}
    if len(set(devices.values())) > 1:
        listed = ", ".join(f"{name} on {device}" for name, device in devices.items())
        raise InputError(f"{what} got {listed}; expected all on one device")
    dtypes = {name: x.dtype for name, x in arguments.items()}
    first = next(iter(dtypes.values()))
    if first not in DTYPES or set(dtypes.values()) != {first}:
        listed = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
        raise InputError(f"{what} got {listed}; expected all float32, or all float64")
    return DTYPES[first]


def _apply(function: DifferentiableFunction, arguments: Mapping[str, Tensor], dtype: str) -> tuple[Tensor, ...]:
    if dtype != function.dtype.name:
        raise InputError(
            f"{function.name} got {dtype}; its stepper has {function.dtype}: convert the tensors, or make it with "
            f"armwright.stepper(..., dtype={dtype!r})"
        )
    if (function.target == "cuda") != (_target(arguments) == "cuda"):
        where = next(iter(arguments.values())).device
        raise InputError(
            f"{function.name} got tensors on {where}, and is made for target={function.target!r}; expected a stepper "
            f"with target={_target(arguments)!r}"
        )
    shapes, tensors = list(function.shapes.values()), list(arguments.values())
    first = tensors[0].shape[: -len(shapes[0])]
    batched = any(x.ndim > 1 for x in function.parameters)
    if batched or any(x.shape != (*first, *size) for x, size in zip(tensors, shapes, strict=True)):
        batch = batch_of(function, {name: tuple(x.shape) for name, x in arguments.items()})
        tensors = [x.expand(*batch, *size) for x, size in zip(tensors, shapes, strict=True)]
    results: tuple[Tensor, ...] = _Value.apply(function, *tensors)
    return results


def _on_arrays(function: DifferentiableFunction, work: Callable[..., Sequence[Any]], tensors: Sequence[Tensor]) -> Any:
    """Call `work` with tensors as arrays in the same memory, and return its results as tensors."""
    card = backend(function.target).device
    if card is None:
        arrays = [x.detach().resolve_neg().numpy() for x in tensors]
        return tuple(torch.as_tensor(array) for array in work(arrays, torch.get_num_threads()))
    with card.stream("torch"):
        arrays = [card.to_cupy(x.resolve_neg()) for x in tensors]
        return tuple(card.to_package(array, "torch") for array in work(arrays, 1))


def _vmapped(of: Any, size: int, in_dims: Sequence[int | None], function: Any, tensors: Sequence[Tensor]) -> Any:
    """Apply a function of batches under `torch.func.vmap`: the mapped axis comes first."""
    moved = [
        x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)
        for axis, x in zip(in_dims[1:], tensors, strict=True)
    ]
    results = of.apply(function, *moved)
    return results, (0,) * len(results)


class _Value(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(function: DifferentiableFunction, *tensors: Tensor) -> tuple[Tensor, ...]:
        results: tuple[Tensor, ...] = _on_arrays(function, function.value, tensors)
        return results

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.function, *tensors = inputs
        mask = [output[-1]] if ctx.function.masked else []
        ctx.mark_non_differentiable(*mask)
        ctx.save_for_backward(*tensors, *mask)

    @staticmethod
    def backward(ctx: Any, *seeds: Tensor) -> tuple[Any, ...]:
        count = len(ctx.function.shapes)
        tensors, mask = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        return (None, *_Gradient.apply(ctx.function, *tensors, *seeds[: len(seeds) - len(mask)], *mask))

    @staticmethod
    def jvp(ctx: Any, *_tangents: Tensor) -> Any:
        raise InputError(NO_FORWARD_MODE.format(ctx.function.name))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], function: DifferentiableFunction, *tensors: Tensor) -> Any:
        return _vmapped(_Value, info.batch_size, in_dims, function, tensors)


class _Gradient(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(function: DifferentiableFunction, *tensors: Tensor) -> tuple[Tensor, ...]:
        count = len(function.shapes)

        def gradient(arrays: Sequence[Any], threads: int) -> Sequence[Any]:
            return function.vjp(arrays[:count], arrays[count:], threads)

        gradients: tuple[Tensor, ...] = _on_arrays(function, gradient, tensors)
        return gradients

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.name = inputs[0].name

    @staticmethod
    def backward(ctx: Any, *_seeds: Tensor) -> Any:
        raise InputError(NO_SECOND_DERIVATIVES.format(ctx.name))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], function: DifferentiableFunction, *tensors: Tensor) -> Any:
        return _vmapped(_Gradient, info.batch_size, in_dims, function, tensors)
