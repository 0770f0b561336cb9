"""Start states and runtime parameters of a batch, as columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.arrays import numbers, whole_number
from armwright.draws import Draw, DrawnColumn, RolloutIndices
from armwright.errors import InputError
from armwright.model.robot_parameters import parameter_sizes
from armwright.simulation.plan import Plan
from armwright.simulation.rollout_columns import Column, RolloutColumns
from armwright.simulation.start_states import start_state

BatchValue: TypeAlias = "tuple[Array, Draw | None]"
"""Numbers (rollouts, entries) or (entries,), and the random numbers in their place."""


def start_columns(plan: Plan, q0: Any, qd0: Any) -> tuple[BatchValue, BatchValue]:
    """Return start positions and velocities; random positions need a robot without quaternions and loops."""
    random = [x if isinstance(x, Draw) else None for x in (q0, qd0)]
    if random[0] is not None and (plan.robot.balls or plan.robot.loops):
        raise InputError("q0 is drawn, and this robot has quaternions or loops; expected an array of positions")
    q, qd = start_state(plan, None if random[0] else q0, None if random[1] else qd0, many=True)
    return (q, random[0]), (qd, random[1])


def varied_parameters(vary: Any, random: bool = False) -> tuple[tuple[str, ...], dict[str, Array | Draw]]:
    """Return the names of varied robot parameters and their numbers, which may be `random`."""
    if vary is not None and not isinstance(vary, Mapping):
        raise InputError(f"vary = {vary!r}: expected a mapping, such as {{'payload.mass': masses}}")
    values: dict[str, Array | Draw] = {}
    for name, value in (vary or {}).items():
        if random and isinstance(value, Draw):
            if str(name).endswith(".mass") and value.lower_bound < 0:
                raise InputError(f"vary[{name!r}] may be drawn below zero; expected a uniform draw from zero or more")
            values[name] = value
            continue
        array = numbers(f"vary[{name!r}]", value, "expected one number per rollout")
        if not array.size:
            raise InputError(f"vary[{name!r}] = {value!r}: expected one number per rollout")
        if not np.isfinite(array).all() or (str(name).endswith(".mass") and (array < 0).any()):
            raise InputError(f"vary[{name!r}] has a number that is not finite, or a negative mass")
        values[name] = array.astype(float)
    return tuple(values), values


def batch_columns(
    plan: Plan,
    begin: tuple[BatchValue, BatchValue],
    values: Mapping[str, Array | Draw],
    code_numbers: Sequence[float],
    rollouts: Any,
) -> tuple[RolloutColumns, RolloutColumns]:
    """Return the columns of the start states, and those of the runtime parameters."""
    arrays = dict(zip(("q0", "qd0"), begin, strict=True))
    for name, size in parameter_sizes(plan.robot, tuple(values)).items():
        arrays[f"vary[{name!r}]"] = _rows(name, values[name], size)
    law, event, gauge = plan.law_parameters, plan.event_parameters, plan.gauge_parameters
    counts = {name: len(array) for name, (array, _) in arrays.items() if array.ndim == 2}
    parts = {"the torque law": law.rollouts, "an event": event.rollouts, "the motions": gauge.rollouts}
    counts |= {name: many for name, many in parts.items() if many is not None}
    if len(plan.start_offsets) > 1:
        counts["start"] = len(plan.start_offsets)
    selection = _selection(rollouts)
    if rollouts is not None:
        counts["rollouts="] = selection if isinstance(selection, int) else len(selection)
    many = max(counts.values(), default=1)
    for name, count in counts.items():
        if count not in (1, many) or (name == "rollouts=" and count != many):
            raise InputError(f"{name} is for {count} rollouts, others are for {many}; expected equal, or one for all")
    random = law.random or any(draw is not None for _, draw in arrays.values())
    if rollouts is None and not counts and random:
        raise InputError("numbers are drawn for an unknown number of rollouts; expected rollouts=")
    q, qd, *varied = (_columns(name, *one) for name, one in arrays.items())
    memory = tuple(map(float, plan.law.start(plan.robot.n)))
    carried = (0.0,) * sum(size for _, size in plan.layout.carried)
    other_numbers = [*law.numbers, *event.numbers, *gauge.numbers]
    others = (*code_numbers, *(x if isinstance(x, (np.ndarray, DrawnColumn)) else float(x) for x in other_numbers))
    columns = (*(x for row in varied for x in row), *others)
    indices = selection if isinstance(selection, np.ndarray) else 0
    states = RolloutColumns((*q, *qd, *memory, *carried), many, indices)
    return states, RolloutColumns(_without_single_arrays(columns, many), many, indices)


def _selection(rollouts: Any) -> RolloutIndices:
    """Return the number of rollouts, or the indices of selected ones."""
    if rollouts is None:
        return 1
    if np.ndim(rollouts) == 0:
        return whole_number("rollouts", rollouts, 1)
    indices = numbers("rollouts", rollouts, "expected their number, or a list of indices")
    if indices.ndim != 1 or not indices.size or indices.dtype.kind not in "iu" or indices.min() < 0:
        raise InputError(f"rollouts = {rollouts!r}: expected their number, or a list of indices from zero")
    return indices.astype(np.int64)


def _rows(name: str, value: Array | Draw, size: int) -> BatchValue:
    """Return a varied parameter as numbers (rollouts, size) or (size,), or as random numbers."""
    if isinstance(value, Draw):
        return np.zeros(size), value
    rows = value[..., None] if size == 1 and (value.ndim < 2 or value.shape[-1] != 1) else value
    if rows.ndim not in (1, 2) or rows.shape[-1] != size:
        raise InputError(
            f"vary[{name!r}] has shape {value.shape}; expected (rollouts,{f' {size}' if size > 1 else ''})"
        )
    return rows, None


def _columns(name: str, array: Array, random: Draw | None) -> tuple[Column, ...]:
    """Return one column for each entry; an entry that is equal for all rollouts is one number."""
    if random is not None:
        return random.columns(name, array.shape[-1])
    return tuple(array.tolist()) if array.ndim == 1 else tuple(array.T) if len(array) > 1 else tuple(array[0].tolist())


def _without_single_arrays(columns: Sequence[Column], many: int) -> tuple[Column, ...]:
    """Return columns in which an array of one number is that number."""
    return tuple(float(x[0]) if isinstance(x, np.ndarray) and len(x) == 1 < many else x for x in columns)
