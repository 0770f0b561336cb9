"""Check of loaded code: one state, compared with the interpreter, before the code is used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import CHAIN_JOINTS, ChainTables, Kernel
from armwright.backends.rollout_interface import ROLLOUT_SCALARS, Rollout, step_options
from armwright.integrate.control import MIN_PREVIOUS_RATIO, Gains

TEST_STEP = 1e-3
"""Seconds of the one step of a test rollout, which is never rejected."""

TEST_STEPS = (TEST_STEP, 2.0)
"""Length and number of the test steps of a program with an integration."""

Units: TypeAlias = Sequence[tuple[int, int, int]]
"""The unit vectors of a `Program`: argument, first and last entry."""


def kernel(
    compiled: Kernel, reference: Kernel, sizes: Iterable[int], units: Units = (), last: Sequence[float] = ()
) -> bool | None:
    """Return True if two kernels agree for one random state, None if unknown; `last` is the last argument."""
    arrays = _state(sizes, compiled.dtype, units)
    if last:
        arrays[-1][:] = last
    got, expected = (np.empty((1, math.prod(compiled.shape)), compiled.dtype) for _ in range(2))
    compiled.run(arrays, got)
    reference.run(arrays, expected)
    return _agree(got, expected)


def rollout(
    compiled: Rollout,
    reference: Rollout,
    sizes: Sequence[int],
    unit_vectors: Sequence[tuple[int, int]] = (),
    gauges: int = 0,
) -> bool | None:
    """Return True if one step of two rollouts ends in the same state and measures."""
    ends = []
    for candidate in (compiled, reference):
        fields = _fields(compiled.entries, sum(sizes[2:]), candidate.width, compiled.dtype, unit_vectors, gauges)
        candidate.run(fields, candidate.width)
        ends.append(np.concatenate([fields["y"][:, :1], fields["totals"][:, :1]]))
    return _agree(*ends)


def short(tables: ChainTables) -> ChainTables:
    """Return the tables of the first joints and one of each type: the code of a loop does not depend on its length."""
    kinds = [np.flatnonzero(tables.kinds == kind)[:1].tolist() for kind in range(len(CHAIN_JOINTS))]
    rows = sorted({*range(min(2, len(tables.kinds))), *(row for kind in kinds for row in kind)})
    return ChainTables(tables.parameters[rows], tables.kinds[rows], tables.starts)


def _state(sizes: Iterable[int], dtype: np.dtype[Any], units: Units = ()) -> list[Array]:
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(0.1, 1.0, (1, size)) for size in sizes]
    for argument, first, last in units:
        arrays[argument][:, first : last + 1] /= np.linalg.norm(arrays[argument][:, first : last + 1])
    return [array.astype(dtype) for array in arrays]


def _agree(got: Array, expected: Array) -> bool | None:
    """Return True if results agree to rounding; None if those of the interpreter are not finite."""
    if not np.isfinite(expected).all():
        return None
    with np.errstate(all="ignore"):
        allowed = np.sqrt(np.finfo(expected.dtype).eps) * np.abs(expected).max(initial=0.0)
        return bool(np.all(np.abs(got - expected) <= allowed))


def _fields(
    entries: int,
    parameters: int,
    width: int,
    dtype: np.dtype[Any],
    unit_vectors: Sequence[tuple[int, int]],
    gauges: int,
) -> dict[str, Any]:
    """Return the fields of equal rollouts, one step before their only record."""
    units = [(0, first, end - 1) for first, end in unit_vectors]
    y, p = (np.repeat(x.T, width, axis=1) for x in _state((entries, max(parameters, 1)), dtype, units))
    begin = {"h": TEST_STEP, "previous_error": MIN_PREVIOUS_RATIO}
    return {
        "y": y,
        "p": p,
        **{name: np.full(width, begin.get(name, 0.0), dtype) for name in ROLLOUT_SCALARS},
        "records": np.zeros((1, entries, width), dtype),
        "times": np.full(1, TEST_STEP, dtype),
        "totals": np.zeros((gauges, width), dtype),
        "count": 1,
        "stride": width,
        "rows": entries,
        "substeps": np.ones(1, np.int64),
        "limit": 8,
        "options": step_options(Gains(0.1, 0.0, 0.1), 1e9, 1e9, 1.0, dtype.name),
        "stop": np.zeros(1, np.int64),
    }
