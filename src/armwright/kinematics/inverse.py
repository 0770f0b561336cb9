"""Inverse kinematics for users: checked arguments, results and errors; `search` does the work. And joint rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array, common_shape, on_card, package, whole_number
from armwright.backends.interface import backend
from armwright.errors import InputError, SingularError, UnreachableError, unknown
from armwright.kinematics.search import ROTATION_TOLERANCE, Options, Solutions, Solver
from armwright.model.description import Description
from armwright.model.unit_vectors import checked_unit_vectors

_FLOAT = np.dtype("float64")
_RANK_TOLERANCE = 1e-10  # ratio to the largest singular value below which a singular value counts as zero
_REACH_TOLERANCE = 1e-9  # relative error of a twist above which it is out of reach

Targets: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
"""Poses (..., 4, 4) of the tool, or of several frames by their names."""

Orientation: TypeAlias = str | Mapping[str, str]
"""Part of the orientation that counts: one word for all frames, or a mapping by name, "full" for the others."""


class Answer(NamedTuple):
    """Positions (..., nq), which of them are solutions (...), and the error for those that are not."""

    q: Array
    solved: Array
    failure: UnreachableError | None


def targets_by_frame(T: Targets, frame: str | None) -> Targets:
    """Return poses of the tool, or a mapping of poses by name of frame."""
    if isinstance(T, Mapping) and frame is not None:
        raise InputError(f"T names its frames; omit frame={frame!r}")
    if isinstance(T, Mapping) and not T:
        raise InputError("T = {} names no frame; expected poses by name, such as {'hand': pose}")
    return T if isinstance(T, Mapping) or frame is None else {frame: T}


def orientations_of(orientation: Orientation, targets: Targets) -> str | tuple[str, ...]:
    """Return one word for all frames, or one for each frame with targets."""
    if not isinstance(orientation, Mapping):
        return orientation
    if not isinstance(targets, Mapping):
        raise InputError(
            f"orientation = {dict(orientation)!r} names frames, and T does not; expected a word, or frame="
        )
    for name in orientation:
        if name not in targets:
            raise unknown("frame for its orientation, of those in T:", name, list(targets))
    return tuple(orientation.get(name, "full") for name in targets)


def inverse_kinematics(
    solver: Solver, T: Targets, q0: ArrayLike | None, path: bool, tolerance: float, attempts: int, seed: int
) -> Answer:
    """Return the answer for poses T (..., 4, 4), or for a mapping with poses of each frame of the solver.

    If T or q0 are on a card that is the target of the solver, the answer is there, too, as arrays of their package.
    """
    card, options = backend(solver.target).device, _options(tolerance, attempts, seed)
    kind = card.array_package([*(T.values() if isinstance(T, Mapping) else [T]), q0]) if card else ""
    if not kind:
        return _answer(solver, T, q0, path, options)
    with card.stream(kind):
        on_device = {name: card.to_cupy(x) for name, x in T.items()} if isinstance(T, Mapping) else card.to_cupy(T)
        q, solved, failure = _answer(solver, on_device, card.to_cupy(q0), path, options, card)
        if failure is not None:
            failure.q, failure.error = (card.to_package(x, kind) for x in (failure.q, failure.error))
        return Answer(card.to_package(q, kind), card.to_package(solved, kind), failure)


def _answer(solver: Solver, T: Targets, q0: ArrayLike | None, path: bool, options: Options, card: Any = None) -> Answer:
    poses, n = _targets(T, card, solver.device_search is not None), solver.nq
    batch = poses.shape[:-3]
    if path and not batch:
        raise InputError("path=True got a single pose; expected poses (targets, 4, 4) or (targets, ..., 4, 4)")
    start = _start(q0, solver.robot, batch[1:] if path else batch, card, solver.device_search is not None)
    if solver.device_search is not None:
        return _device_answer(solver, T, q0, poses, start, options, card)
    if not poses.size:
        found = Solutions.unsolved(0, n)
    elif path:
        found = solver.follow(poses.reshape(batch[0], -1, *poses.shape[-3:]), start, options)
    else:
        found = solver.solve(poses.reshape(-1, *poses.shape[-3:]), start, options)
    found = Solutions(found.q.reshape(*batch, n), found.error.reshape(*batch, 2), found.solved.reshape(batch))
    failure = None if found.solved.all() else _unreachable(solver, found, poses, path, options)
    return Answer(found.q, found.solved, failure)


def _device_answer(
    solver: Solver, T: Targets, q0: ArrayLike | None, poses: Array, start: Array | None, options: Options, card: Any
) -> Answer:
    """Return the answer of a search on the device, which checks its inputs and counts the failures."""
    batch = poses.shape[:-3]
    hits = solver.search_on_device(poses.reshape(math.prod(batch), 16 * poses.shape[-3]), start, options)
    if hits.invalid:
        _raise_input_error(solver, T, q0, batch, card)
    solutions = Solutions(hits.q.reshape(*batch, solver.nq), hits.error.reshape(*batch, 2), hits.solved.reshape(batch))
    failure = _unreachable(solver, solutions, poses, False, options, card) if hits.unsolved else None
    return Answer(solutions.q, solutions.solved, failure)


def _raise_input_error(solver: Solver, T: Targets, q0: Any, batch: tuple[int, ...], card: Any) -> None:
    """Raise the error of inputs that the device has found faulty."""
    _targets({name: _on_host(x, card) for name, x in T.items()} if isinstance(T, Mapping) else _on_host(T, card))
    _start(_on_host(q0, card), solver.robot, batch)


def _on_host(array: Any, card: Any) -> Any:
    """Return an array of a card as one of NumPy, anything else unchanged."""
    return card.to_numpy(array) if on_card(array) else array


def _targets(T: Targets, card: Any = None, deferred: bool = False) -> Array:
    """Return poses (..., frames, 4, 4); with `deferred`, the search checks their numbers."""
    if not isinstance(T, Mapping):
        return _poses("T", T, "the tool frame", card, deferred)[..., None, :, :]
    poses = {f"T[{name!r}]": _poses(f"T[{name!r}]", x, f"frame {name!r}", card, deferred) for name, x in T.items()}
    batch = common_shape({name: (array, 2) for name, array in poses.items()})
    xp = package(*poses.values())
    every: Array = xp.stack([xp.broadcast_to(xp.asarray(x), (*batch, 4, 4)) for x in poses.values()], axis=-3)
    return every


def _poses(name: str, T: ArrayLike, what: str, card: Any, deferred: bool) -> Array:
    poses = checked_array(name, T, (4, 4), _FLOAT, f"poses of {what} in the world", card is not None)
    if deferred:
        return poses
    _check_finite(name, poses)
    R = poses[..., :3, :3]
    off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2))
    block = "its upper left 3x3 block is"
    faults = {
        "its last row is not 0 0 0 1": (poses[..., 3, :] != (0, 0, 0, 1)).any(axis=-1),
        f"{block} not a rotation, R R^T is not 1 to {ROTATION_TOLERANCE:g}; make its columns orthonormal": off
        > ROTATION_TOLERANCE,
        f"{block} a reflection, its determinant is -1": np.linalg.det(R) < 0,
    }
    for meaning, fault in faults.items():
        if fault.any():
            raise InputError(f"{name}{first_index(fault)} is not a pose: {meaning}")
    return poses


def _check_finite(name: str, array: Array) -> None:
    wrong = ~np.isfinite(array)
    if wrong.any():
        raise InputError(f"{name}{first_index(wrong)} is {array[wrong][0]}; every number must be finite")


def first_index(where: Array) -> str:
    """Return the index of the first true entry as '[2, 0]'; empty for a single state."""
    return str([int(i) for i in np.argwhere(where)[0]]) if where.ndim else ""


MAX_TOLERANCE = 1e300
"""Largest tolerance; above, an integer may not be a float."""

MAX_ATTEMPTS = 1_000_000


def _options(tolerance: float, attempts: int, seed: int) -> Options:
    if not isinstance(tolerance, Real) or not 0 < tolerance < MAX_TOLERANCE:
        raise InputError(f"tolerance = {tolerance!r}: expected a number above zero, in metres and radians")
    if whole_number("attempts", attempts, 1) > MAX_ATTEMPTS:
        raise InputError(f"attempts is larger than {MAX_ATTEMPTS}; expected fewer starts")
    return Options(float(tolerance), attempts, whole_number("seed", seed, 0))


def _start(
    q0: ArrayLike | None, robot: Description, batch: tuple[int, ...], card: Any = None, deferred: bool = False
) -> Array | None:
    if q0 is None:
        return None
    n = robot.nq
    start = checked_array("q0", q0, (n,), _FLOAT, "the position to start from", card is not None)
    if not deferred:
        _check_finite("q0", start)
        start = checked_unit_vectors(robot, "q0", start)
    try:
        starts: Array = package(start).broadcast_to(start, (*batch, n))
    except ValueError:
        raise InputError(f"q0 has shape {start.shape}; expected ({n},), or one position for each target") from None
    return starts.reshape(-1, n)


def _unreachable(
    solver: Solver, solutions: Solutions, T: Array, path: bool, options: Options, card: Any = None
) -> UnreachableError:
    missed, name = ~_on_host(solutions.solved, card), solver.robot.name
    place = tuple(np.argwhere(missed)[0])
    worst, (distance, angle) = solver.worst_error(_on_host(solutions.q[place], card), _on_host(T[place], card))
    miss = f"{distance:.3g} m"
    miss += "" if solver.task.orientations[worst] == "free" else f" and {math.degrees(angle):.3g} deg"
    miss += f" away, {solver.frames[worst]} farthest" if len(solver.frames) > 1 else " away"
    if path:
        message = (
            f"{name} cannot follow the path to T{first_index(missed)} without a jump: it ends {miss}. The path, "
            "straight between its targets, leaves reach or limits or is singular; another q0 may lead along it"
        )
    else:
        which = (
            f"{int(missed.sum())} of {missed.size} targets, the first T{first_index(missed)}" if missed.ndim else "T"
        )
        message = (
            f"{name} does not reach {which}: the nearest pose found is {miss}, after {options.attempts} attempts. "
            "Check units and limits, or relax it with orientation='axis' or 'free'; raises=False returns the nearest "
            "positions"
        )
    return UnreachableError(message, solutions.q, solutions.error)


def joint_rates(
    robot: Description, J: Array, name: str, twist: ArrayLike, drift: Array | None, damping: float
) -> Array:
    """Return x with J x + drift = twist: the shortest of many solutions, or the least-squares one if there is none.

    With six joints or more there is none only at a singular position; without damping that is a `SingularError`.
    """
    target = checked_array(name, twist, (6,), _FLOAT, "linear part, then angular part")
    _check_finite(name, target)
    if not isinstance(damping, Real) or not 0 <= float(damping) < math.inf:
        raise InputError(f"damping = {damping!r}: expected a number, zero or more")
    offset = np.zeros(6) if drift is None else drift
    common_shape({"q": (J, 2), "qd": (offset, 1), name: (target, 1)})
    right = (target - offset)[..., None]
    x = least_norm(J, right[..., 0], float(damping))[..., None]
    if robot.n >= 6 and not damping:
        size = np.linalg.norm(right, axis=(-1, -2))
        missed = np.asarray(np.linalg.norm(J @ x - right, axis=(-1, -2)) > _REACH_TOLERANCE * size)
        if missed.any():
            raise SingularError(
                f"{name}{first_index(missed)} is out of reach of {robot.name} at this singular position: the Jacobian "
                "lacks a direction. Move away from it, or pass damping=, such as 0.01, for the nearest solution"
            )
    return x[..., 0]


def least_norm(A: Array, b: Array, damping: float = 0.0) -> Array:
    """Return x that minimises |A x - b|^2 + damping^2 |x|^2; the shortest of several."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    regular = s > _RANK_TOLERANCE * s[..., :1]
    weights = np.divide(s, s * s + damping**2, out=np.zeros_like(s), where=regular)
    x: Array = np.swapaxes(Vt, -1, -2) @ (weights[..., None] * (np.swapaxes(U, -1, -2) @ b[..., None]))
    return x[..., 0]
