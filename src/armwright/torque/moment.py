"""A moment of a motion: the input of laws, events and measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from armwright.algebra import Scalar
from armwright.errors import InputError
from armwright.former_names import add_former_names
from armwright.formulations import find_formulation, problem_of
from armwright.formulations.problem import Candidate
from armwright.manifold import difference
from armwright.mechanism import Mechanism
from armwright.trace.regroup import regrouped


class Moment(NamedTuple):
    """The time and state at which torques are computed. `mechanism` is the controller's model of the robot: the field
    `model` of a law that has one.

    `memory` has the states of the law, such as the integral of a PID controller.
    """

    t: Scalar
    q: Sequence[Scalar]
    qd: Sequence[Scalar]
    mechanism: Mechanism
    memory: Sequence[Scalar] = ()

    @property
    def n(self) -> int:
        """The number of torques: one for each freedom."""
        return len(self.qd)

    def displacement_to(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the displacement to the position q, a number for each freedom.

        For a ball joint it is the rotation vector, for a free joint the twist, in the axes of the body.
        """
        return difference(self.mechanism.balls, self.q, q)

    def compute(self, problem: str, *given: Sequence[Scalar]) -> Any:
        """Return the solution of a problem at this moment, such as `at.compute("inverse_dynamics", qdd)`.

        The robot is the controller's model. `given` are the arguments besides q and qd. Vectors are lists, matrices
        lists of rows.
        """
        values = {"q": self.q, "qd": self.qd}
        record = problem_of(problem)
        names = [name for name in record.arguments if name not in values]
        if len(given) != len(names):
            expected = ", ".join(names) or "none besides q and qd, which are those of the moment"
            raise InputError(f"{problem} got {len(given)} arguments; expected {expected}")
        values |= dict(zip(names, given, strict=True))
        best = record.candidates[0] if record.candidates else Candidate(record.default)
        model = regrouped(self.mechanism, euler=best.tensor == "euler") if best.tensor else self.mechanism
        state = [list(values[name]) for name in record.arguments]
        return find_formulation(problem, best.formulation)(model, *state, loads=self.mechanism.wrenches())


add_former_names(Moment, way_to="displacement_to")
