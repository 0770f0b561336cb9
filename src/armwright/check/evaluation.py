"""Formulations evaluated on many states at once without compilation: the scalar is an array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from armwright.algebra import Array
from armwright.arrays import stacked
from armwright.formulations import default_for, find_formulation
from armwright.model.description import Description

STATE_COUNT = 20

AnyRobot = TypeVar("AnyRobot", bound=Description)


def random_states(robot: Description, count: int = STATE_COUNT, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return random positions (within the limits, or half a turn and half a metre), velocities and accelerations."""
    rng = np.random.default_rng(seed)
    span = np.array([0.5 if joint.prismatic else np.pi for joint in robot.joints])
    low, high = np.clip(np.array([joint.limits or (-np.inf, np.inf) for joint in robot.joints]).T, -span, span)
    q = rng.uniform(np.where(low < high, low, -span), np.where(low < high, high, span), (count, robot.n))
    qd, qdd = rng.uniform(-1, 1, (2, count, robot.n))
    ends = [ball.rates.stop for ball in robot.balls]
    return robot.unit(np.insert(q, ends, rng.uniform(-1, 1, (count, len(ends))), axis=1)), qd, qdd


def evaluate(robot: Description, problem: str, *arrays: Array, formulation: str | None = None) -> Array:
    """Return a problem of dynamics or kinematics at states (k, n): (k, n), (k, n, n) or (k, 4, 4)."""
    f = find_formulation(problem, formulation) if formulation else default_for(problem, robot.mechanism())
    return evaluate_function(f, robot, *arrays)


def evaluate_function(f: Callable[..., object], robot: Description, *arrays: Array) -> Array:
    """Return a function of a mechanism and of coordinates at states (k, n)."""
    return stacked(f(robot.mechanism(), *(list(array.T) for array in arrays)), arrays[0].shape[:1], np.dtype(float))


def rigid_bodies_only(robot: AnyRobot) -> AnyRobot:
    """Return the robot without friction, rotors, springs and compensation, which other programs model in other ways."""
    uncompensated = replace(robot, links=tuple(replace(link, compensated_mass=0.0) for link in robot.links))
    return uncompensated.map_joints(
        lambda joint: replace(joint, viscous=0.0, coulomb=0.0, rotor_inertia=0.0, spring_stiffness=0.0, spring_curve=())
    )


def relative_difference(actual: Array, expected: Array, min_scale: float = 0.0) -> float:
    """Return the largest difference over the largest number or `min_scale`; infinite if a number is not finite."""
    if not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return float("inf")
    scale = float(np.max(np.abs(expected), initial=min_scale))
    difference = float(np.max(np.abs(actual - expected), initial=0.0))
    return difference / scale if scale else (0.0 if not difference else float("inf"))
