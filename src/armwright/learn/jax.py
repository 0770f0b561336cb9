"""Dynamics and steps of robots as functions of JAX's arrays, on the CPU or a card, under `jit`, `vmap` and `grad`.

tau = inverse_dynamics(robot, q, qd, qdd)      arrays (n,) or (..., n), float32 or, with x64 enabled, float64
qdd = forward_dynamics(robot, q, qd, tau)
q, qd = step(stepper, q, qd, tau)              stepper = armwright.stepper(robot, dt=0.01, dtype="float32")
q, qd = rollout(stepper, q0, qd0, tau)         tau (..., steps, n): every state on the way

XLA calls the compiled code on its own buffers: nothing is copied, and on the CPU no Python runs meanwhile; on a card it
launches the kernel on XLA's stream. Gradients are compiled as values are, for reverse mode and of first order; those by
quaternions in q are along the unit sphere. What has no finite result is an error of JAX that says which state and why.
For arrays on a card a stepper is made with target="cuda".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Kernel, backend
from armwright.errors import ArmwrightError, InputError
from armwright.learn.differentiable_functions import (
    FORWARD,
    SECOND,
    Compiled,
    Differentiable,
    Dynamics,
    batch_of,
    check_seeds,
    checked_robot,
    overflow,
    parted,
)
from armwright.learn.stepper_functions import Rollout, Step, checked_stepper
from armwright.robot import Robot
from armwright.simulation import Stepper

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise InputError("armwright.learn.jax needs JAX: pip install 'armwright[jax]'") from None

Arrays: TypeAlias = tuple[Any, ...]

KEPT = 64
"""Functions that are kept compiled."""


def inverse_dynamics(robot: Robot, q: jax.Array, qd: jax.Array, qdd: jax.Array) -> jax.Array:
    """The torques that produce the accelerations qdd, as those of the robot."""
    return _solved(robot, "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd})


def forward_dynamics(robot: Robot, q: jax.Array, qd: jax.Array, tau: jax.Array) -> jax.Array:
    """The accelerations that the torques tau produce, as those of the robot."""
    return _solved(robot, "forward_dynamics", {"q": q, "qd": qd, "tau": tau})


def step(stepper: Stepper, q: jax.Array, qd: jax.Array, tau: jax.Array, raises: bool = True) -> tuple[jax.Array, ...]:
    """q and qd after a step of a stepper, in whose dtype the arrays are.

    With `raises=False` a third array says which states are good: others are nan, and have no gradient.
    """
    function, call, _ = _stepping(checked_stepper(stepper, "step"), bool(raises))
    return _called(call, function, {"q": q, "qd": qd, "tau": tau})


def rollout(
    stepper: Stepper, q0: jax.Array, qd0: jax.Array, tau: jax.Array, raises: bool = True
) -> tuple[jax.Array, ...]:
    """Every state on the way under torques (..., steps, n), the first one too.

    With `raises=False` a third array says which rollouts are good to their end: others are nan from where they could
    not go on, and have no gradient.
    """
    _, _, call = _stepping(checked_stepper(stepper, "rollout"), bool(raises))
    return _called(call, Rollout(stepper, np.shape(tau)), {"q0": q0, "qd0": qd0, "tau": tau})


def _solved(robot: Robot, problem: str, given: Mapping[str, Any]) -> Any:
    dtype = _common_dtype(problem, given)
    function, call = _dynamics(checked_robot(robot, problem), problem, dtype, _target(given))
    return _called(call, function, given)[0]


@lru_cache(KEPT)
def _dynamics(robot: Robot, problem: str, dtype: str, target: str) -> tuple[Dynamics, Callable[..., Arrays]]:
    function = Dynamics(robot, problem, dtype, target)
    return function, jax.jit(_differentiable(function))


@lru_cache(KEPT)
def _stepping(stepper: Stepper, raises: bool) -> tuple[Step, Callable[..., Arrays], Callable[..., Arrays]]:
    """A step of a stepper, and a rollout."""
    function = Step(stepper, raises)
    call = _differentiable(function)

    def along(arguments: Arrays, held: Arrays, last: Arrays) -> Arrays:
        *start, tau = arguments

        def further(state: Arrays, torques: Any) -> tuple[Arrays, Arrays]:
            ends = call((*state, torques), held, last)[:2]
            return ends, ends

        end, others = jax.lax.scan(further, tuple(start), jnp.moveaxis(tau, -2, 0))
        states = _whole(start, others)
        if not function.masked:
            return states
        good = _finite(*map(jax.lax.stop_gradient, end))  # what was bad once has been nan since
        return *(jnp.where(good[..., None, None], x, jax.lax.stop_gradient(x)) for x in states), good

    return function, jax.jit(call), jax.jit(along)


def _whole(start: Sequence[Any], ends: Sequence[Any]) -> Arrays:
    """Where rollouts start and where each step leads (steps, ..., entries), as states (..., steps + 1, entries)."""
    joined = (jnp.concatenate([begin[None], end]) for begin, end in zip(start, ends, strict=True))
    return tuple(jnp.moveaxis(x, 0, -2) for x in joined)


def _common_dtype(what: str, given: Mapping[str, Any]) -> str:
    """The kind of numbers of arrays."""
    for name, x in given.items():
        if not isinstance(x, (jax.Array, np.ndarray)):
            raise InputError(f"{what}: {name} is {type(x).__name__}; expected an array, such as jnp.asarray({name})")
    dtypes = {name: str(jax.dtypes.canonicalize_dtype(x.dtype)) for name, x in given.items()}
    first = next(iter(dtypes.values()))
    if first not in ("float32", "float64") or set(dtypes.values()) != {first}:
        listed = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
        raise InputError(f"{what} got {listed}; expected all float32, or all float64")
    return first


def _target(given: Mapping[str, Any]) -> str:
    """Where arrays are; of those that are traced it is only known where JAX computes if nothing is said."""
    seen = [x for x in given.values() if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)]
    places = {device.platform for x in seen for device in x.devices()} or {jax.default_backend()}
    if len(places) > 1 or places - set(PLACES):
        raise InputError(
            f"arrays are on {', '.join(sorted(places))}; expected all on the CPU, or all on one NVIDIA card"
        )
    return PLACES[places.pop()]


def _called(call: Callable[..., Arrays], function: Differentiable, given: Mapping[str, Any]) -> Arrays:
    """Call a function; JAX refuses forward mode without a word on what has none."""
    prepared = _prepared(function, given)
    try:
        return call(*prepared)
    except TypeError as error:
        if "forward-mode" not in str(error):
            raise
        raise InputError(FORWARD.format(function.name)) from None


def _prepared(function: Differentiable, given: Mapping[str, Any]) -> tuple[Arrays, Arrays, Arrays]:
    """Arguments of one batch shape, and what stands beside them."""
    dtype = _common_dtype(function.name, given)
    if dtype != function.dtype.name:
        raise InputError(
            f"{function.name} got {dtype}; its stepper has {function.dtype}: make it with armwright.stepper(..., "
            f"dtype={dtype!r}), or enable jax_enable_x64 for float64"
        )
    if (function.target == "cuda") != (_target(given) == "cuda"):
        raise InputError(
            f"{function.name} got arrays for target={_target(given)!r}, and is made for {function.target!r}; make its "
            f"stepper with target={_target(given)!r}, or move them with jax.device_put"
        )
    batch = batch_of(function, {name: x.shape for name, x in given.items()})
    shapes = function.shapes.values()
    arguments = tuple(jnp.broadcast_to(x, (*batch, *own)) for x, own in zip(given.values(), shapes, strict=True))
    held = tuple(np.broadcast_to(x, (*batch, x.shape[-1])) if x.ndim > 1 else x for x in function.held)
    return arguments, held, tuple(function.last)


def _differentiable(function: Compiled) -> Callable[[Arrays, Arrays, Arrays], Arrays]:
    """A function of arguments, what is held and what comes last, with its derivative."""
    code = function.code
    sizes, results = [size for (size,) in function.shapes.values()], list(function.results.values())
    beside = [x.shape[-1] for x in function.held], [x.shape[-1] for x in function.last]
    value = _native(function, code.value, [*sizes, *beside[0], *beside[1]], function.check)

    @lru_cache(1)
    def back() -> Callable[..., Any]:
        given = [*sizes, *beside[0], sum(results), *beside[1]]
        return _once(function, _native(function, code.back(), given, explained))

    def explained(arrays: Sequence[Array]) -> None:
        place = len(sizes) + len(function.held)
        check_seeds(function.name, function.results, parted(arrays[place], results))
        function.check([*arrays[:place], *arrays[place + 1 :]])

    def valued(arguments: Arrays, held: Arrays, last: Arrays) -> Arrays:
        found = value(*arguments, *held, *last)
        if not function.masked:
            return parted(found, results)
        good = _finite(found, *arguments)
        return *parted(jnp.where(good[..., None], found, jnp.nan), results), good

    call: Any = jax.custom_vjp(valued)

    def forward(arguments: Arrays, held: Arrays, last: Arrays) -> tuple[Arrays, Any]:
        outcome = call(arguments, held, last)
        return outcome, (arguments, held, last, outcome[len(results) :])

    def backward(kept: Any, seeds: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        arguments, held, last, mask = kept
        found = back()(*arguments, *held, jnp.concatenate(seeds[: len(results)], axis=-1), *last)
        for good in mask:
            found = jnp.where(good[..., None], found, 0)
        still_held, still_last = (tuple(jnp.zeros_like(x) for x in beside) for beside in (held, last))
        return parted(found, sizes), still_held, still_last

    call.defvjp(forward, backward)
    made: Callable[[Arrays, Arrays, Arrays], Arrays] = call
    return made


def _finite(*arrays: Any) -> Any:
    """Which states have finite entries only."""
    good = jnp.isfinite(arrays[0]).all(axis=-1)
    for x in arrays[1:]:
        good &= jnp.isfinite(x).all(axis=-1)
    return good


def _once(function: Differentiable, pulled: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient that is not differentiated again."""

    def refuse(primals: Arrays, tangents: Arrays) -> Any:
        raise InputError(SECOND.format(function.name))

    wrapped = jax.custom_jvp(pulled)
    wrapped.defjvp(refuse)
    made: Callable[..., Any] = wrapped
    return made


PLACES = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
"""What computes for each platform of JAX."""

_HANDLERS: dict[str, Any] = {}
"""What XLA may call, until the process ends."""

_NUMBERS = count()


def _native(
    function: Differentiable, kernel: Kernel, sizes: Sequence[int], check: Callable[[Sequence[Array]], None]
) -> Callable[..., Any]:
    """A kernel as a function of JAX's arrays (..., entries); `check` raises what there is to say of bad arguments."""
    if function.target == "cuda":
        return _launched(function, kernel, check)
    if function.target != "cpu":
        raise InputError(f"{function.name} is for target={function.target!r}; expected target='cpu', or 'cuda'")
    from armwright.backends.llvm.backend import LlvmKernel  # noqa: PLC0415  (no LLVM is needed for a card)
    from armwright.backends.llvm.xla import Handler  # noqa: PLC0415

    assert isinstance(kernel, LlvmKernel)

    def explain(arrays: list[Array]) -> str:
        states = max(len(x) for x in arrays)
        try:
            check([np.broadcast_to(x, (states, x.shape[-1])) for x in arrays])
        except ArmwrightError as error:
            return str(error)
        return str(overflow(function))

    name = f"armwright_{next(_NUMBERS)}"
    _HANDLERS[name] = Handler(kernel, sizes, None if function.masked else explain)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(_HANDLERS[name].function), platform="cpu")
    (entries,) = kernel.shape

    def run(*arrays: Any) -> Any:
        result = jax.ShapeDtypeStruct((*arrays[0].shape[:-1], entries), function.dtype)
        return jax.ffi.ffi_call(name, result, vmap_method="broadcast_all")(*arrays)

    return run


def _launched(function: Differentiable, kernel: Any, check: Callable[[Sequence[Array]], None]) -> Callable[..., Any]:
    """A kernel for a card as a function of JAX's arrays (..., entries)."""
    from jax.experimental.buffer_callback import buffer_callback  # noqa: PLC0415  (where there is a card)

    card, (entries,) = backend(function.target).device, kernel.shape

    def launch(context: Any, out: Any, *given: Any) -> None:
        with card.stream_at(context.stream):
            result = card.seen(out)
            columns = [card.spread(card.seen(x), result.shape[:-1]) for x in given]
            told = kernel.launch(columns, result.reshape(-1, entries))
            if not function.masked and kernel.first(told) is not None:
                check([card.fetched(x) for x in columns])
                raise overflow(function)

    def run(*arrays: Any) -> Any:
        result = jax.ShapeDtypeStruct((*arrays[0].shape[:-1], entries), function.dtype)
        made: Any = buffer_callback(launch, result, vmap_method="broadcast_all")
        return made(*arrays)

    return run
