"""Refusal of robots whose mass matrix is singular at every position: they have no accelerations."""

from __future__ import annotations

from collections.abc import Sequence

from armwright.errors import SingularError
from armwright.formulations import Problem
from armwright.model.description import Description
from armwright.rules.massless_joints import massless_joints

MASS_INDEPENDENT = ("gravity", "viscous", "coulomb", "spring_stiffness", "spring_rest")
"""The varied parameters that do not change the mass matrix."""


def check_solvable(problem: Problem, robot: Description, vary: Sequence[str] = ()) -> None:
    """Raise a SingularError that names the joints whose motion moves no mass."""
    if not problem.solves_mass_matrix or any(name.rpartition(".")[2] not in MASS_INDEPENDENT for name in vary):
        return
    names = [robot.joints[i].name for i in massless_joints(robot)]
    if names:
        raise SingularError(
            f"{problem.name} of {robot.name} has no solution: {', '.join(names)} can move without moving any mass, so "
            "the mass matrix is singular at every position; give it a mass, a payload or a rotor inertia"
        )
