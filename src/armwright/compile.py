"""The front door: a robot, a problem and a formulation become a function of arrays.

The one target so far is "cpu": the formulation run with NumPy arrays as scalars, one array per coordinate over
all states of a batch, or with plain numbers for a single state.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.arrays import Array, checked, common_shape, scalars, stacked, wrench
from armwright.errors import InputError, unknown
from armwright.formulations import PROBLEMS, Formulation, find
from armwright.graph import Graph, OperationCount, count
from armwright.model.description import Description
from armwright.trace import ARGUMENTS, flattened, inputs

TARGETS = ("cpu",)
DTYPES = ("float64", "float32")

_MEANING = {
    "q": "one position per joint",
    "qd": "one velocity per joint",
    "qdd": "one acceleration per joint",
    "tau": "one generalised force per joint",
}


class Function:
    """A compiled problem of one robot: call it with arrays of shape (n,) or (..., n)."""

    def __init__(self, robot: Description, formulation: Formulation, dtype: str) -> None:
        self.robot, self.formulation = robot, formulation
        self.dtype = np.dtype(dtype)
        self.arguments = ARGUMENTS[formulation.problem]
        self._chain = robot.chain(float if dtype == "float64" else np.float32)

    def __repr__(self) -> str:
        f = self.formulation
        return f"<{f.problem} of {self.robot.name} by {f.name}: f({', '.join(self.arguments)})>"

    def __call__(
        self,
        *state: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        link_wrenches: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        n = self.robot.n
        if len(state) != len(self.arguments):
            raise InputError(f"{self!r} got {len(state)} arguments; expected {len(self.arguments)}")
        arrays = {
            name: (checked(name, value, (n,), self.dtype, _MEANING[name]), 1)
            for name, value in zip(self.arguments, state, strict=True)
        }
        if self.formulation.problem == "mass_matrix" and (tip_wrench is not None or link_wrenches is not None):
            raise InputError("a mass matrix does not depend on wrenches; leave tip_wrench and link_wrenches out")
        if tip_wrench is not None:
            meaning = "force and moment on the tool frame, in the tool frame"
            arrays["tip_wrench"] = (checked("tip_wrench", tip_wrench, (6,), self.dtype, meaning), 1)
        if link_wrenches is not None:
            meaning = "force and moment on each link frame, in that frame"
            arrays["link_wrenches"] = (checked("link_wrenches", link_wrenches, (n, 6), self.dtype, meaning), 2)
        batch = common_shape(arrays)
        tip = wrench(arrays["tip_wrench"][0], batch) if "tip_wrench" in arrays else None
        links = None
        if "link_wrenches" in arrays:
            links = [wrench(arrays["link_wrenches"][0][..., i, :], batch) for i in range(n)]
        values = self.formulation(
            self._chain,
            *(scalars(arrays[name][0], batch) for name in self.arguments),
            loads=self._chain.wrenches(tip, links),
        )
        return _delivered(stacked(values, batch, self.dtype), out)

    @cached_property
    def operations(self) -> OperationCount:
        """What one evaluation costs once everything known of this robot is folded away."""
        graph = Graph()
        state = inputs(graph, self.formulation.problem, self.robot.n)
        return count(flattened(self.formulation(self.robot.chain(), *state)))


def _delivered(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    if out.shape != result.shape:
        raise InputError(f"out has shape {out.shape}; expected {result.shape}")
    out[...] = result
    return out


def compile(  # noqa: A001  (the public name is aw.compile)
    robot: Description,
    problem: str,
    formulation: str | None = None,
    target: str = "cpu",
    dtype: Any = "float64",
) -> Function:
    """The given problem of the given robot as a function of arrays.

    problem      "inverse_dynamics" (q, qd, qdd), "forward_dynamics" (q, qd, tau), "mass_matrix" (q), "bias" (q, qd)
    formulation  a name from `formulations(problem)`; by default the problem's usual one
    """
    if problem not in PROBLEMS:
        raise unknown("problem", problem, PROBLEMS)
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        raise unknown("dtype", name, DTYPES)
    return Function(robot, find(problem, formulation), name)
