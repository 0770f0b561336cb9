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
from armwright.errors import ArmwrightError, InputError, SingularError, unknown
from armwright.formulations import Formulation, find
from armwright.graph import OperationCount, count
from armwright.model.description import Description
from armwright.trace import ARGUMENTS, traced

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
        columns = [scalars(arrays[name][0], batch) for name in self.arguments]
        try:
            with np.errstate(all="ignore"):  # what overflows or divides by zero is told below
                values = self.formulation(self._chain, *columns, loads=self._chain.wrenches(tip, links))
                result = stacked(values, batch, self.dtype)
        except (ZeroDivisionError, OverflowError):
            raise self._not_finite(()) from None
        if not np.isfinite(result).all():
            raise self._not_finite(tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])[: len(batch)])
        return _delivered(result, out)

    def _not_finite(self, place: tuple[int, ...]) -> ArmwrightError:
        where = f" for state {', '.join(map(str, place))} of the batch" if place else ""
        if self.formulation.problem == "forward_dynamics":
            return SingularError(
                f"forward dynamics of {self.robot.name} has no finite solution{where}: the mass matrix is singular, or "
                "the numbers overflow; armwright.problems(robot) tells links without mass"
            )
        return InputError(
            f"{self.formulation.problem} of {self.robot.name} overflows{where}; check the size of the input"
        )

    @cached_property
    def operations(self) -> OperationCount:
        """What one evaluation costs once everything known of this robot is folded away."""
        return count(traced(self.formulation, self.robot))


def _delivered(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    if not isinstance(out, np.ndarray) or out.shape != result.shape or out.dtype != result.dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out is {got}; expected an array of {result.dtype} with shape {result.shape}")
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
    if not isinstance(robot, Description):
        raise InputError(f"compile got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        raise unknown("dtype", name, DTYPES)
    return Function(robot, find(problem, formulation), name)
