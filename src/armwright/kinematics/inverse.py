"""What a user asks of inverse kinematics, checked, answered and explained; `search` does the work."""

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
from armwright.kinematics.search import ROTATION, Options, Solutions, Solver
from armwright.model.description import Description
from armwright.model.unit_vectors import checked_unit_vectors

_FLOAT = np.dtype("float64")
_RANK = 1e-10  # of the largest singular value, below which a singular value is zero
_MISS = 1e-9  # of a twist, above which it is missed


Targets: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
"""Poses (..., 4, 4) of the tool, or of several frames by their names."""


Orientation: TypeAlias = str | Mapping[str, str]
"""What of the orientation counts: for all frames, or for those that are named, and all of it for the others."""


class Answer(NamedTuple):
    """Positions (..., n), which of them are solutions (...), and what to raise if some are not."""

    q: Array
    solved: Array
    failure: UnreachableError | None


def by_frame(T: Targets, frame: str | None) -> Targets:
    """Poses of the tool as they are; those of frames that are named by their names."""
    if isinstance(T, Mapping) and frame is not None:
        raise InputError(f"T names its frames; leave frame={frame!r} out")
    if isinstance(T, Mapping) and not T:
        raise InputError("T = {} names no frame; expected poses by name, such as {'hand': pose}")
    return T if isinstance(T, Mapping) or frame is None else {frame: T}


def each_orientation(orientation: Orientation, targets: Targets) -> str | tuple[str, ...]:
    """One word for all frames, or one for each of those that have targets."""
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
    """The answer for poses T (..., 4, 4), or a mapping with some for each frame of the solver.

    Where these or q0 are on a card, and the target of the solver is one, it is there, too, as arrays of their package.
    """
    card, options = backend(solver.target).device, _options(tolerance, attempts, seed)
    kind = card.package([*(T.values() if isinstance(T, Mapping) else [T]), q0]) if card else ""
    if not kind:
        return _answer(solver, T, q0, path, options)
    with card.stream(kind):
        taken = {name: card.taken(x) for name, x in T.items()} if isinstance(T, Mapping) else card.taken(T)
        q, solved, failure = _answer(solver, taken, card.taken(q0), path, options, card)
        if failure is not None:
            failure.q, failure.error = (card.given(x, kind) for x in (failure.q, failure.error))
        return Answer(card.given(q, kind), card.given(solved, kind), failure)


def _answer(solver: Solver, T: Targets, q0: ArrayLike | None, path: bool, options: Options, card: Any = None) -> Answer:
    poses, n = _targets(T, card, solver.whole is not None), solver.nq
    batch = poses.shape[:-3]
    if path and not batch:
        raise InputError("path=True got a single pose; expected poses (targets, 4, 4) or (targets, ..., 4, 4)")
    start = _start(q0, solver.robot, batch[1:] if path else batch, card, solver.whole is not None)
    if solver.whole is not None:
        return _by_whole(solver, T, q0, poses, start, options, card)
    if not poses.size:
        found = Solutions.nothing(0, n)
    elif path:
        found = solver.follow(poses.reshape(batch[0], -1, *poses.shape[-3:]), start, options)
    else:
        found = solver.solve(poses.reshape(-1, *poses.shape[-3:]), start, options)
    found = Solutions(found.q.reshape(*batch, n), found.error.reshape(*batch, 2), found.solved.reshape(batch))
    failure = None if found.solved.all() else _unreachable(solver, found, poses, path, options)
    return Answer(found.q, found.solved, failure)


def _by_whole(
    solver: Solver, T: Targets, q0: ArrayLike | None, poses: Array, start: Array | None, options: Options, card: Any
) -> Answer:
    """By what makes whole searches, which looks at what it is given, and counts."""
    batch = poses.shape[:-3]
    hits = solver.search_whole(poses.reshape(math.prod(batch), 16 * poses.shape[-3]), start, options)
    if hits.invalid:
        _check_again(solver, T, q0, batch, card)
    found = Solutions(hits.q.reshape(*batch, solver.nq), hits.error.reshape(*batch, 2), hits.solved.reshape(batch))
    failure = _unreachable(solver, found, poses, False, options, card) if hits.unsolved else None
    return Answer(found.q, found.solved, failure)


def _check_again(solver: Solver, T: Targets, q0: Any, batch: tuple[int, ...], card: Any) -> None:
    """Say what is wrong with what was given."""
    _targets({name: _here(x, card) for name, x in T.items()} if isinstance(T, Mapping) else _here(T, card))
    _start(_here(q0, card), solver.robot, batch)


def _here(array: Any, card: Any) -> Any:
    """What is on a card as an array of NumPy; all else as it is."""
    return card.fetched(array) if on_card(array) else array


def _targets(T: Targets, card: Any = None, later: bool = False) -> Array:
    """Poses (..., frames, 4, 4); their numbers may be looked at later, by who searches."""
    if not isinstance(T, Mapping):
        return _poses("T", T, "the tool frame", card, later)[..., None, :, :]
    poses = {f"T[{name!r}]": _poses(f"T[{name!r}]", x, f"frame {name!r}", card, later) for name, x in T.items()}
    batch = common_shape({name: (array, 2) for name, array in poses.items()})
    xp = package(*poses.values())
    every: Array = xp.stack([xp.broadcast_to(xp.asarray(x), (*batch, 4, 4)) for x in poses.values()], axis=-3)
    return every


def _poses(name: str, T: ArrayLike, what: str, card: Any, later: bool) -> Array:
    poses = checked_array(name, T, (4, 4), _FLOAT, f"poses of {what}, seen from the world", card is not None)
    if later:
        return poses
    _check_finite(name, poses)
    R = poses[..., :3, :3]
    off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2))
    block = "its upper left 3x3 block is"
    faults = {
        "its last row is not 0 0 0 1": (poses[..., 3, :] != (0, 0, 0, 1)).any(axis=-1),
        f"{block} not a rotation, R R^T is not 1 to {ROTATION:g}; make its columns orthonormal": off > ROTATION,
        f"{block} a reflection, its determinant is -1": np.linalg.det(R) < 0,
    }
    for meaning, fault in faults.items():
        if fault.any():
            raise InputError(f"{name}{first(fault)} is not a pose: {meaning}")
    return poses


def _check_finite(name: str, array: Array) -> None:
    wrong = ~np.isfinite(array)
    if wrong.any():
        raise InputError(f"{name}{first(wrong)} is {array[wrong][0]}; every number must be finite")


def first(where: Array) -> str:
    """The place of the first true entry as '[2, 0]'; nothing for a single one."""
    return str([int(i) for i in np.argwhere(where)[0]]) if where.ndim else ""


LARGEST = 1e300
"""What an integer may be below before it is a float."""

MOST_ATTEMPTS = 1_000_000


def _options(tolerance: float, attempts: int, seed: int) -> Options:
    if not isinstance(tolerance, Real) or not 0 < tolerance < LARGEST:
        raise InputError(f"tolerance = {tolerance!r}: expected a number above zero, in metres and radians")
    if whole_number("attempts", attempts, 1) > MOST_ATTEMPTS:
        raise InputError(f"attempts is larger than {MOST_ATTEMPTS}; expected as many starts as you will wait for")
    return Options(float(tolerance), attempts, whole_number("seed", seed, 0))


def _start(
    q0: ArrayLike | None, robot: Description, batch: tuple[int, ...], card: Any = None, later: bool = False
) -> Array | None:
    if q0 is None:
        return None
    n = robot.nq
    start = checked_array("q0", q0, (n,), _FLOAT, "the position to start from", card is not None)
    if not later:
        _check_finite("q0", start)
        start = checked_unit_vectors(robot, "q0", start)
    try:
        there: Array = package(start).broadcast_to(start, (*batch, n))
    except ValueError:
        raise InputError(f"q0 has shape {start.shape}; expected ({n},), or one position for each target") from None
    return there.reshape(-1, n)


def _unreachable(
    solver: Solver, found: Solutions, T: Array, path: bool, options: Options, card: Any = None
) -> UnreachableError:
    missed, name = ~_here(found.solved, card), solver.robot.name
    place = tuple(np.argwhere(missed)[0])
    worst, (distance, angle) = solver.farthest(_here(found.q[place], card), _here(T[place], card))
    miss = f"{distance:.3g} m"
    miss += "" if solver.task.orientations[worst] == "free" else f" and {math.degrees(angle):.3g} deg"
    miss += f" away, {solver.frames[worst]} farthest" if len(solver.frames) > 1 else " away"
    if path:
        message = (
            f"{name} cannot follow the path to T{first(missed)} without a jump: it ends {miss}. The path, "
            "straight between its targets, leaves reach or limits or is singular; another q0 may lead along it"
        )
    else:
        which = f"{int(missed.sum())} of {missed.size} targets, the first T{first(missed)}" if missed.ndim else "T"
        message = (
            f"{name} does not reach {which}: the nearest pose found is {miss}, after {options.attempts} attempts. "
            "Check units and limits, or ask for less with orientation='axis' or 'free'; raises=False returns what was "
            "found"
        )
    return UnreachableError(message, found.q, found.error)


def joint_rates(
    robot: Description, J: Array, name: str, twist: ArrayLike, drift: Array | None, damping: float
) -> Array:
    """x with J x + drift = twist: the shortest if there are many, the one that misses least if there is none.

    Six joints or more miss only at a singular position, and that is an error, unless there is damping.
    """
    wanted = checked_array(name, twist, (6,), _FLOAT, "linear part, then angular part")
    _check_finite(name, wanted)
    if not isinstance(damping, Real) or not 0 <= float(damping) < math.inf:
        raise InputError(f"damping = {damping!r}: expected a number, zero or more")
    known = np.zeros(6) if drift is None else drift
    common_shape({"q": (J, 2), "qd": (known, 1), name: (wanted, 1)})
    right = (wanted - known)[..., None]
    x = shortest(J, right[..., 0], float(damping))[..., None]
    if robot.n >= 6 and not damping:
        size = np.linalg.norm(right, axis=(-1, -2))
        missed = np.asarray(np.linalg.norm(J @ x - right, axis=(-1, -2)) > _MISS * size)
        if missed.any():
            raise SingularError(
                f"{name}{first(missed)} is beyond {robot.name} at this position, which is singular: the Jacobian "
                "lacks a direction. Move away from it, or pass damping=, such as 0.01, for the nearest that can be had"
            )
    return x[..., 0]


def shortest(A: Array, b: Array, damping: float = 0.0) -> Array:
    """x with |A x - b|^2 + damping^2 |x|^2 least; of many the shortest."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    regular = s > _RANK * s[..., :1]
    weights = np.divide(s, s * s + damping**2, out=np.zeros_like(s), where=regular)
    x: Array = np.swapaxes(Vt, -1, -2) @ (weights[..., None] * (np.swapaxes(U, -1, -2) @ b[..., None]))
    return x[..., 0]
