"""Formulations evaluated as they are written, on many states at once: the scalar is an array, nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from armwright.algebra import Array
from armwright.arrays import stacked
from armwright.formulations import default_for, find_formulation
from armwright.model.description import Description

STATES = 20

AnyRobot = TypeVar("AnyRobot", bound=Description)


def states(robot: Description, count: int = STATES, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random positions within the limits (half a turn or half a metre where there are none), speeds, accelerations."""
    rng = np.random.default_rng(seed)
    most = np.array([0.5 if joint.prismatic else np.pi for joint in robot.joints])
    low, high = np.clip(np.array([joint.limits or (-np.inf, np.inf) for joint in robot.joints]).T, -most, most)
    q = rng.uniform(np.where(low < high, low, -most), np.where(low < high, high, most), (count, robot.n))
    qd, qdd = rng.uniform(-1, 1, (2, count, robot.n))
    ends = [ball.rates.stop for ball in robot.balls]
    return robot.unit(np.insert(q, ends, rng.uniform(-1, 1, (count, len(ends))), axis=1)), qd, qdd


def evaluate(robot: Description, problem: str, *arrays: Array, formulation: str | None = None) -> Array:
    """A problem of dynamics or kinematics on states (k, n): (k, n), (k, n, n) or (k, 4, 4)."""
    f = find_formulation(problem, formulation) if formulation else default_for(problem, robot.mechanism())
    return evaluated(f, robot, *arrays)


def evaluated(f: Callable[..., object], robot: Description, *arrays: Array) -> Array:
    """A function of a mechanism and of coordinates, on states (k, n)."""
    return stacked(f(robot.mechanism(), *(list(array.T) for array in arrays)), arrays[0].shape[:1], np.dtype(float))


def bare(robot: AnyRobot) -> AnyRobot:
    """Without friction, rotors, springs and compensation, which other programs have in other forms or not at all."""
    weighing = replace(robot, links=tuple(replace(link, compensated_mass=0.0) for link in robot.links))
    return weighing.map_joints(
        lambda joint: replace(joint, viscous=0.0, coulomb=0.0, rotor_inertia=0.0, spring_stiffness=0.0, spring_curve=())
    )


def difference(got: Array, expected: Array, least: float = 0.0) -> float:
    """The largest difference, relative to the largest number or to `least`; infinite where something is not finite."""
    if not (np.isfinite(got).all() and np.isfinite(expected).all()):
        return float("inf")
    scale = float(np.max(np.abs(expected), initial=least))
    off = float(np.max(np.abs(got - expected), initial=0.0))
    return off / scale if scale else (0.0 if not off else float("inf"))
