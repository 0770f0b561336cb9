"""States to check exported code at, with what the interpreter makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.text.c import Vectors
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.model.robot_parameters import parameter_values

COUNT = 3
"""How many states are stored for a function."""


def checks(f: Function, wrenches: tuple[str, ...]) -> list[Vectors]:
    """A few states with their results, and what rounding makes of them: seen from single precision."""
    rng = np.random.default_rng(0)
    exact, single = (
        compile_function(f.robot, f.problem, target="python", dtype=dtype, vary=f.vary)
        for dtype in ("float64", "float32")
    )
    found: list[Vectors] = []
    for _ in range(COUNT):
        state = _state(f, rng)
        loads: dict[str, Any] = {name: rng.uniform(-5, 5, _size(f, name)) for name in wrenches}
        result = exact(*state, **loads)
        scale = max(float(np.max(np.abs(result))), 1e-30)
        error = float(np.max(np.abs(single(*state, **loads) - result)) / scale)
        found.append(([*state, *loads.values()], result, error))
    return found


def _state(f: Function, rng: np.random.Generator) -> list[Array]:
    """Any positions and rates, and parameters near those that the robot has."""
    robot = f.robot
    moving = [name for name in f.arguments if name not in f.vary]
    state = [rng.uniform(-1, 1, robot.nq if name == "q" else robot.n) for name in moving]
    state[0] = robot.unit(state[0])
    for name in f.vary:
        numbers = np.array(parameter_values(robot, name))
        near = numbers * rng.uniform(0.9, 1.1, numbers.shape) + rng.uniform(0.0, 0.01, numbers.shape)
        state.append(near if near.size > 1 else near[0])
    return state


def _size(f: Function, wrench: str) -> tuple[int, ...]:
    return (6,) if wrench == "tip_wrench" else (len(f.robot.links), 6)
