"""Dynamics and steps of robots as functions of JAX arrays, on the CPU or a GPU, under `jit`, `vmap` and `grad`.

tau = inverse_dynamics(robot, q, qd, qdd)      arrays (n,) or (..., n), float32 or, with x64 enabled, float64
qdd = forward_dynamics(robot, q, qd, tau)
q, qd = step(stepper, q, qd, tau)              stepper = armwright.stepper(robot, dt=0.01, dtype="float32")
q, qd = rollout(stepper, q0, qd0, tau)         tau (..., steps, n): all states

XLA calls the compiled code on its own buffers: nothing is copied, and on the CPU no Python code runs; on a GPU the
kernel is launched on XLA's stream. Gradients are compiled too, for reverse mode and of first order; those by
quaternions in q are tangent to the unit sphere. A result that is not finite is an error of JAX that names the state and
the reason. For arrays on a GPU, make the stepper with target="cuda".
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
    NO_FORWARD_MODE,
    NO_SECOND_DERIVATIVES,
    CompiledFunction,
    DifferentiableFunction,
    DynamicsFunction,
    batch_of,
    check_seeds,
    checked_robot,
    gradient_overflow,
    split_entries,
)
from armwright.learn.stepper_functions import RolloutFunction, StepFunction, checked_stepper
from armwright.robot import Robot
from armwright.simulation import Stepper

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise InputError("armwright.learn.jax needs JAX: pip install 'armwright[jax]'") from None

__all__ = ["forward_dynamics", "inverse_dynamics", "rollout", "step"]

Arrays: TypeAlias = tuple[Any, ...]

MAX_CACHED_FUNCTIONS = 64
"""Compiled functions kept for reuse."""


def inverse_dynamics(robot: Robot, q: jax.Array, qd: jax.Array, qdd: jax.Array) -> jax.Array:
    """Return the torques (..., n) for the accelerations qdd, as `robot.inverse_dynamics`; all arrays of one dtype."""
    return _dynamics_result(robot, "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd})


def forward_dynamics(robot: Robot, q: jax.Array, qd: jax.Array, tau: jax.Array) -> jax.Array:
    """Return the accelerations (..., n) under the torques tau, as `robot.forward_dynamics`; all arrays of one dtype."""
    return _dynamics_result(robot, "forward_dynamics", {"q": q, "qd": qd, "tau": tau})


def step(stepper: Stepper, q: jax.Array, qd: jax.Array, tau: jax.Array, raises: bool = True) -> tuple[jax.Array, ...]:
    """Return q and qd after a step of a stepper; the arrays have its dtype.

    With `raises=False` a third array marks the valid states: others are nan and have no gradient.
    """
    function, call, _ = _stepping(checked_stepper(stepper, "step"), bool(raises))
    return _call(call, function, {"q": q, "qd": qd, "tau": tau})


def rollout(
    stepper: Stepper, q0: jax.Array, qd0: jax.Array, tau: jax.Array, raises: bool = True
) -> tuple[jax.Array, ...]:
    """Return all states (..., steps + 1, nq and n) under torques (..., steps, n).

    With `raises=False` a third array marks the rollouts that are valid to their end: others are nan after they
    failed, and have no gradient.
    """
    _, _, call = _stepping(checked_stepper(stepper, "rollout"), bool(raises))
    return _call(call, RolloutFunction(stepper, np.shape(tau)), {"q0": q0, "qd0": qd0, "tau": tau})


def _dynamics_result(robot: Robot, problem: str, given: Mapping[str, Any]) -> Any:
    dtype = _common_dtype(problem, given)
    function, call = _dynamics(checked_robot(robot, problem), problem, dtype, _target(given))
    return _call(call, function, given)[0]


@lru_cache(MAX_CACHED_FUNCTIONS)
def _dynamics(robot: Robot, problem: str, dtype: str, target: str) -> tuple[DynamicsFunction, Callable[..., Arrays]]:
    function = DynamicsFunction(robot, problem, dtype, target)
    return function, jax.jit(_differentiable(function))


@lru_cache(MAX_CACHED_FUNCTIONS)
def _stepping(stepper: Stepper, raises: bool) -> tuple[StepFunction, Callable[..., Arrays], Callable[..., Arrays]]:
    """Return a step of a stepper, and compiled functions of a step and a rollout."""
    function = StepFunction(stepper, raises)
    call = _differentiable(function)

    def rollout_states(arguments: Arrays, parameters: Arrays, trailing: Arrays) -> Arrays:
        *start, tau = arguments

        def next_state(state: Arrays, torques: Any) -> tuple[Arrays, Arrays]:
            ends = call((*state, torques), parameters, trailing)[:2]
            return ends, ends

        end, others = jax.lax.scan(next_state, tuple(start), jnp.moveaxis(tau, -2, 0))
        states = _joined_states(start, others)
        if not function.masked:
            return states
        valid = _finite(*map(jax.lax.stop_gradient, end))  # a failed rollout stays nan
        return *(jnp.where(valid[..., None, None], x, jax.lax.stop_gradient(x)) for x in states), valid

    return function, jax.jit(call), jax.jit(rollout_states)


def _joined_states(start: Sequence[Any], ends: Sequence[Any]) -> Arrays:
    """Join start states and ends of steps (steps, ..., entries) into states (..., steps + 1, entries)."""
    joined = (jnp.concatenate([begin[None], end]) for begin, end in zip(start, ends, strict=True))
    return tuple(jnp.moveaxis(x, 0, -2) for x in joined)


def _common_dtype(what: str, given: Mapping[str, Any]) -> str:
    """Return the common dtype of arrays; an InputError unless all have float32 or all float64."""
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
    """Return the target for these arrays; for traced arrays, the target of the default backend of JAX."""
    concrete = [x for x in given.values() if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)]
    platforms = {device.platform for x in concrete for device in x.devices()} or {jax.default_backend()}
    if len(platforms) > 1 or platforms - set(TARGET_OF_PLATFORM):
        raise InputError(f"arrays are on {', '.join(sorted(platforms))}; expected all on the CPU or on one NVIDIA GPU")
    return TARGET_OF_PLATFORM[platforms.pop()]


def _call(call: Callable[..., Arrays], function: DifferentiableFunction, given: Mapping[str, Any]) -> Arrays:
    """Call a function, and name it in the error of JAX for forward mode."""
    prepared = _prepared(function, given)
    try:
        return call(*prepared)
    except TypeError as error:
        if "forward-mode" not in str(error):
            raise
        raise InputError(NO_FORWARD_MODE.format(function.name)) from None


def _prepared(function: DifferentiableFunction, given: Mapping[str, Any]) -> tuple[Arrays, Arrays, Arrays]:
    """Return arguments of one batch shape, parameters, and trailing arrays."""
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
    parameters = tuple(np.broadcast_to(x, (*batch, x.shape[-1])) if x.ndim > 1 else x for x in function.parameters)
    return arguments, parameters, tuple(function.trailing)


def _differentiable(function: CompiledFunction) -> Callable[[Arrays, Arrays, Arrays], Arrays]:
    """Return a JAX function of arguments, parameters and trailing arrays, with its derivative."""
    code = function.code
    sizes, results = [size for (size,) in function.shapes.values()], list(function.results.values())
    other_sizes = [x.shape[-1] for x in function.parameters], [x.shape[-1] for x in function.trailing]
    value = _jax_function(function, code.value, [*sizes, *other_sizes[0], *other_sizes[1]], function.check)

    @lru_cache(1)
    def back() -> Callable[..., Any]:
        given = [*sizes, *other_sizes[0], sum(results), *other_sizes[1]]
        return _without_second_derivatives(function, _jax_function(function, code.back(), given, check_gradient))

    def check_gradient(arrays: Sequence[Array]) -> None:
        place = len(sizes) + len(function.parameters)
        check_seeds(function.name, function.results, split_entries(arrays[place], results))
        function.check([*arrays[:place], *arrays[place + 1 :]])

    def masked_value(arguments: Arrays, parameters: Arrays, trailing: Arrays) -> Arrays:
        found = value(*arguments, *parameters, *trailing)
        if not function.masked:
            return split_entries(found, results)
        valid = _finite(found, *arguments)
        return *split_entries(jnp.where(valid[..., None], found, jnp.nan), results), valid

    call: Any = jax.custom_vjp(masked_value)

    def forward(arguments: Arrays, parameters: Arrays, trailing: Arrays) -> tuple[Arrays, Any]:
        outcome = call(arguments, parameters, trailing)
        return outcome, (arguments, parameters, trailing, outcome[len(results) :])

    def backward(residuals: Any, seeds: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        arguments, parameters, trailing, mask = residuals
        found = back()(*arguments, *parameters, jnp.concatenate(seeds[: len(results)], axis=-1), *trailing)
        for valid in mask:
            found = jnp.where(valid[..., None], found, 0)
        zero_parameters, zero_trailing = (tuple(jnp.zeros_like(x) for x in arrays) for arrays in (parameters, trailing))
        return split_entries(found, sizes), zero_parameters, zero_trailing

    call.defvjp(forward, backward)
    differentiable: Callable[[Arrays, Arrays, Arrays], Arrays] = call
    return differentiable


def _finite(*arrays: Any) -> Any:
    """Return True for states of which all entries are finite."""
    finite = jnp.isfinite(arrays[0]).all(axis=-1)
    for x in arrays[1:]:
        finite &= jnp.isfinite(x).all(axis=-1)
    return finite


def _without_second_derivatives(function: DifferentiableFunction, gradient: Callable[..., Any]) -> Callable[..., Any]:
    """Return a gradient that raises an InputError when it is differentiated."""

    def refuse(primals: Arrays, tangents: Arrays) -> Any:
        raise InputError(NO_SECOND_DERIVATIVES.format(function.name))

    wrapped = jax.custom_jvp(gradient)
    wrapped.defjvp(refuse)
    once: Callable[..., Any] = wrapped
    return once


TARGET_OF_PLATFORM = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
"""The target for each platform of JAX."""

_HANDLERS: dict[str, Any] = {}
"""Handlers that XLA may call; they are kept until the process ends."""

_NUMBERS = count()


def _jax_function(
    function: DifferentiableFunction, kernel: Kernel, sizes: Sequence[int], check: Callable[[Sequence[Array]], None]
) -> Callable[..., Any]:
    """Return a kernel as a function of JAX arrays (..., entries); `check` raises the error of invalid arguments."""
    if function.target == "cuda":
        return _jax_function_on_gpu(function, kernel, check)
    if function.target != "cpu":
        raise InputError(f"{function.name} is for target={function.target!r}; expected target='cpu', or 'cuda'")
    from armwright.backends.llvm.backend import LlvmKernel  # noqa: PLC0415  (a GPU needs no LLVM)
    from armwright.backends.llvm.xla import Handler  # noqa: PLC0415

    assert isinstance(kernel, LlvmKernel)

    def explain(arrays: list[Array]) -> str:
        states = max(len(x) for x in arrays)
        try:
            check([np.broadcast_to(x, (states, x.shape[-1])) for x in arrays])
        except ArmwrightError as error:
            return str(error)
        return str(gradient_overflow(function))

    name = f"armwright_{next(_NUMBERS)}"
    _HANDLERS[name] = Handler(kernel, sizes, None if function.masked else explain)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(_HANDLERS[name].function), platform="cpu")
    (entries,) = kernel.shape

    def run(*arrays: Any) -> Any:
        result = jax.ShapeDtypeStruct((*arrays[0].shape[:-1], entries), function.dtype)
        return jax.ffi.ffi_call(name, result, vmap_method="broadcast_all")(*arrays)

    return run


def _jax_function_on_gpu(
    function: DifferentiableFunction, kernel: Any, check: Callable[[Sequence[Array]], None]
) -> Callable[..., Any]:
    """Return a GPU kernel as a function of JAX arrays (..., entries)."""
    from jax.experimental.buffer_callback import buffer_callback  # noqa: PLC0415  (only with a GPU)

    card, (entries,) = backend(function.target).device, kernel.shape

    def launch(context: Any, out: Any, *given: Any) -> None:
        with card.stream_at(context.stream):
            result = card.from_buffer(out)
            arrays = [card.broadcast_states(card.from_buffer(x), result.shape[:-1]) for x in given]
            flags = kernel.launch(arrays, result.reshape(-1, entries))
            if not function.masked and kernel.first_bad(flags) is not None:
                check([card.to_numpy(x) for x in arrays])
                raise gradient_overflow(function)

    def run(*arrays: Any) -> Any:
        result = jax.ShapeDtypeStruct((*arrays[0].shape[:-1], entries), function.dtype)
        callback: Any = buffer_callback(launch, result, vmap_method="broadcast_all")
        return callback(*arrays)

    return run
