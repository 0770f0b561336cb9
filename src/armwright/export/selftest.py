"""Test states of exported code, with their results by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.text.c import TestState
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.model.robot_parameters import parameter_values

TEST_STATES = 3
"""The number of states that a self-test stores per function."""


def evaluate_states(f: Function, wrenches: tuple[str, ...]) -> list[TestState]:
    """Return random states with their results and the relative rounding error of single precision."""
    rng = np.random.default_rng(0)
    exact, single = (
        compile_function(f.robot, f.problem, target="python", dtype=dtype, vary=f.vary)
        for dtype in ("float64", "float32")
    )
    states: list[TestState] = []
    for _ in range(TEST_STATES):
        state = _state(f, rng)
        loads: dict[str, Any] = {name: rng.uniform(-5, 5, _wrench_shape(f, name)) for name in wrenches}
        result = exact(*state, **loads)
        scale = max(float(np.max(np.abs(result))), 1e-30)
        error = float(np.max(np.abs(single(*state, **loads) - result)) / scale)
        states.append(([*state, *loads.values()], result, error))
    return states


def _state(f: Function, rng: np.random.Generator) -> list[Array]:
    """Return random positions and rates, and parameters within some 10 % of those of the robot."""
    robot = f.robot
    moving = [name for name in f.arguments if name not in f.vary]
    state = [rng.uniform(-1, 1, robot.nq if name == "q" else robot.n) for name in moving]
    state[0] = robot.unit(state[0])
    for name in f.vary:
        numbers = np.array(parameter_values(robot, name))
        varied = numbers * rng.uniform(0.9, 1.1, numbers.shape) + rng.uniform(0.0, 0.01, numbers.shape)
        state.append(varied if varied.size > 1 else varied[0])
    return state


def _wrench_shape(f: Function, wrench: str) -> tuple[int, ...]:
    return (6,) if wrench == "tip_wrench" else (len(f.robot.links), 6)
