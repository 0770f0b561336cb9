"""Dynamics and steps of robots as functions of PyTorch's tensors, on the CPU or a card, which autograd differentiates.

tau = inverse_dynamics(robot, q, qd, qdd)      tensors (n,) or (..., n), float32 or float64
qdd = forward_dynamics(robot, q, qd, tau)
q, qd = step(stepper, q, qd, tau)              stepper = armwright.stepper(robot, dt=0.01)
q, qd = rollout(stepper, q0, qd0, tau)         tau (..., steps, n): every state on the way

Tensors are read where they lie, and results are written once. Gradients are compiled as values are, of first order;
those by quaternions in q are along the unit sphere. As many threads are used as PyTorch uses. For tensors on a card a
stepper is made with target="cuda", and all runs on PyTorch's stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from armwright.backends.interface import backend
from armwright.errors import InputError
from armwright.learn.differentiable_functions import FORWARD, SECOND, Differentiable, Dynamics, batch_of, checked_robot
from armwright.learn.stepper_functions import Rollout, Step
from armwright.robot import Robot
from armwright.simulation import Stepper

try:
    import torch
    from torch import Tensor
except ImportError:
    raise InputError("armwright.learn.torch needs PyTorch: pip install 'armwright[torch]'") from None

KEPT = 64
"""Functions that are kept compiled."""

DTYPES = {torch.float32: "float32", torch.float64: "float64"}


def inverse_dynamics(robot: Robot, q: Tensor, qd: Tensor, qdd: Tensor) -> Tensor:
    """The torques that produce the accelerations qdd, as those of the robot."""
    return _solved(robot, "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd})


def forward_dynamics(robot: Robot, q: Tensor, qd: Tensor, tau: Tensor) -> Tensor:
    """The accelerations that the torques tau produce, as those of the robot."""
    return _solved(robot, "forward_dynamics", {"q": q, "qd": qd, "tau": tau})


def step(stepper: Stepper, q: Tensor, qd: Tensor, tau: Tensor, raises: bool = True) -> tuple[Tensor, ...]:
    """q and qd after a step of a stepper, in whose dtype the tensors are.

    With `raises=False` a third tensor says which states are good: others are nan, and have no gradient.
    """
    given = {"q": q, "qd": qd, "tau": tau}
    return _called(Step(stepper, raises), given, _common_dtype("step", given))


def rollout(stepper: Stepper, q0: Tensor, qd0: Tensor, tau: Tensor, raises: bool = True) -> tuple[Tensor, ...]:
    """Every state on the way under torques (..., steps, n), the first one too; on the way back it is gone again.

    With `raises=False` a third tensor says which rollouts are good to their end: others are nan from where they could
    not go on, and have no gradient.
    """
    given = {"q0": q0, "qd0": qd0, "tau": tau}
    dtype = _common_dtype("rollout", given)
    return _called(Rollout(stepper, tuple(tau.shape), raises), given, dtype)


def _solved(robot: Robot, problem: str, given: Mapping[str, Tensor]) -> Tensor:
    dtype = _common_dtype(problem, given)
    (result,) = _called(_dynamics(checked_robot(robot, problem), problem, dtype, _target(given)), given, dtype)
    return result


@lru_cache(KEPT)
def _dynamics(robot: Robot, problem: str, dtype: str, target: str) -> Dynamics:
    return Dynamics(robot, problem, dtype, target)


def _target(given: Mapping[str, Tensor]) -> str:
    """Where tensors are, all of them."""
    return "cuda" if any(x.is_cuda for x in given.values()) else "cpu"


def _common_dtype(what: str, given: Mapping[str, Tensor]) -> str:
    """The kind of numbers of tensors, all of which are on the CPU or on one card."""
    for name, x in given.items():
        if not isinstance(x, Tensor):
            raise InputError(
                f"{what}: {name} is {type(x).__name__}; expected a tensor, such as torch.as_tensor({name})"
            )
        if x.device.type not in ("cpu", "cuda") or x.layout is not torch.strided:
            kind = f"{x.layout}" if x.device.type in ("cpu", "cuda") else f"on {x.device}"
            raise InputError(
                f"{what}: {name} is {kind}; expected a dense tensor on the CPU or a card, such as {name}.cpu()"
            )
    places = {name: x.device for name, x in given.items()}
    if len(set(places.values())) > 1:
        listed = ", ".join(f"{name} on {place}" for name, place in places.items())
        raise InputError(f"{what} got {listed}; expected all in one place")
    dtypes = {name: x.dtype for name, x in given.items()}
    first = next(iter(dtypes.values()))
    if first not in DTYPES or set(dtypes.values()) != {first}:
        listed = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
        raise InputError(
            f"{what} got {listed}; expected all float32, or all float64, such as {next(iter(given))}.double()"
        )
    return DTYPES[first]


def _called(function: Differentiable, given: Mapping[str, Tensor], dtype: str) -> tuple[Tensor, ...]:
    if dtype != function.dtype.name:
        raise InputError(
            f"{function.name} got {dtype}; its stepper has {function.dtype}: convert the tensors, or make it with "
            f"armwright.stepper(..., dtype={dtype!r})"
        )
    if (function.target == "cuda") != (_target(given) == "cuda"):
        where = next(iter(given.values())).device
        raise InputError(
            f"{function.name} got tensors on {where}, and is made for target={function.target!r}; expected a stepper "
            f"with target={_target(given)!r}"
        )
    shapes, tensors = list(function.shapes.values()), list(given.values())
    first = tensors[0].shape[: -len(shapes[0])]
    apart = any(x.ndim > 1 for x in function.held)
    if apart or any(x.shape != (*first, *own) for x, own in zip(tensors, shapes, strict=True)):
        batch = batch_of(function, {name: tuple(x.shape) for name, x in given.items()})
        tensors = [x.expand(*batch, *own) for x, own in zip(tensors, shapes, strict=True)]
    results: tuple[Tensor, ...] = _Value.apply(function, *tensors)
    return results


def _computed(function: Differentiable, work: Callable[..., Sequence[Any]], tensors: Sequence[Tensor]) -> Any:
    """What `work` makes of tensors as arrays, in the same memory, on so many threads; as tensors."""
    card = backend(function.target).device
    if card is None:
        arrays = [x.detach().resolve_neg().numpy() for x in tensors]
        return tuple(torch.as_tensor(array) for array in work(arrays, torch.get_num_threads()))
    with card.stream("torch"):
        return tuple(card.given(array, "torch") for array in work([card.taken(x.resolve_neg()) for x in tensors], 1))


def _mapped(of: Any, size: int, in_dims: Sequence[int | None], function: Any, tensors: Sequence[Tensor]) -> Any:
    """What `torch.func.vmap` makes of a function of batches: one more axis in front."""
    moved = [
        x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)
        for axis, x in zip(in_dims[1:], tensors, strict=True)
    ]
    results = of.apply(function, *moved)
    return results, (0,) * len(results)


class _Value(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(function: Differentiable, *tensors: Tensor) -> tuple[Tensor, ...]:
        made: tuple[Tensor, ...] = _computed(function, function.value, tensors)
        return made

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
        return (None, *_Pulled.apply(ctx.function, *tensors, *seeds[: len(seeds) - len(mask)], *mask))

    @staticmethod
    def jvp(ctx: Any, *_tangents: Tensor) -> Any:
        raise InputError(FORWARD.format(ctx.function.name))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], function: Differentiable, *tensors: Tensor) -> Any:
        return _mapped(_Value, info.batch_size, in_dims, function, tensors)


class _Pulled(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(function: Differentiable, *tensors: Tensor) -> tuple[Tensor, ...]:
        count = len(function.shapes)

        def pulled(arrays: Sequence[Any], threads: int) -> Sequence[Any]:
            return function.pulled(arrays[:count], arrays[count:], threads)

        made: tuple[Tensor, ...] = _computed(function, pulled, tensors)
        return made

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.name = inputs[0].name

    @staticmethod
    def backward(ctx: Any, *_seeds: Tensor) -> Any:
        raise InputError(SECOND.format(ctx.name))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], function: Differentiable, *tensors: Tensor) -> Any:
        return _mapped(_Pulled, info.batch_size, in_dims, function, tensors)
