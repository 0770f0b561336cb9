"""Tenreiro Machado and Galhano (1994), section 1: the residuals by which references [26] to [28] compare methods.

Neuman and Tourassis, Lee and Tsay judge a discrete model by its residuals of energy and momentum. The paper objects
that these indexes are not the most adequate, as the error of the trajectory counts. Both are measured here for a motion
without gravity and torques, in which the energy and the momentum of joint 1 are constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import armwright as aw
from armwright.algebra import Array
from armwright.pages.report.plot import Curve, Plot
from armwright.robot import Robot
from armwright.simulation import Run
from armwright.study.papers.finding import Finding, Part, above, claim

RESIDUAL_METHODS = ("rk1", "rk2", "rk3", "rk4", "rk5", "rk6", "rk7", "T4,4", "T8,8")
RESIDUAL_STEPS = (0.1, 0.05, 0.025)
"""Steps, s, with which the errors of all methods are above rounding."""

COMPARED = 0.05
"""The step, s, with which all methods are compared."""

RESIDUAL_START: dict[str, Any] = {"q0": [0.3, 0.8], "qd0": [0.5, 1.5], "duration": 10.0, "every": 0.1}
MIN_RATIO_SPREAD = 10.0
"""The smallest spread of error over index that disproves an index: a good one has nearly equal ratios."""


@dataclass(frozen=True)
class Residuals:
    """The largest residuals of energy and momentum, relative, and the largest error of the trajectory, rad."""

    energy: float
    momentum: float
    trajectory: float


def measured(arm: Robot, exact: Run, integrator: str, step: float) -> Residuals:
    """Return the residuals of a method with a step."""
    run = aw.simulate(arm, **RESIDUAL_START, integrator=integrator, step=step)
    energy, momentum = run.energy, momentum_1(run)
    of_energy, of_momentum = (float(np.abs(x / x[0] - 1).max()) for x in (energy, momentum))
    return Residuals(of_energy, of_momentum, float(np.abs(run.q - exact.q).max()))


def momentum_1(run: Run) -> Array:
    """Return the momentum of the first joint, which no torque or weight changes."""
    M = run.robot.mass_matrix(run.q)
    return np.asarray(np.einsum("kj,kj->k", M[:, 0], run.qd))


def residuals() -> Part:
    """Return findings on residuals of energy and momentum as measures of the error of a trajectory."""
    arm = aw.load("rr").with_gravity([0.0, 0.0, 0.0])
    exact = aw.simulate(arm, **RESIDUAL_START, rtol=1e-13)
    found = {name: [measured(arm, exact, name, step) for step in RESIDUAL_STEPS] for name in RESIDUAL_METHODS}
    at = [lines[RESIDUAL_STEPS.index(COMPARED)] for lines in found.values()]
    findings = [residual_finding("energy", [x.trajectory / x.energy for x in at])]
    findings.append(residual_finding("momentum", [x.trajectory / x.momentum for x in at]))
    curves = [
        Curve(name, [x.energy for x in lines], [x.trajectory for x in lines], marks=True)
        for name, lines in found.items()
    ]
    note = "One line for a method, one mark for a step. If the residual told the error, all would lie on one line."
    title = "References [26] to [28]: error of the trajectory against the residual of energy"
    plot = Plot(title, "share of the energy", "rad", curves, x_log=True, y_log=True, note=note)
    return findings, [plot]


def residual_finding(index: str, ratios: list[float]) -> Finding:
    """Return the finding on an index, by the spread of error over index between methods."""
    low, high = min(ratios), max(ratios)
    lowest, highest = (RESIDUAL_METHODS[ratios.index(x)] for x in (low, high))
    obtained = f"the trajectory errs by {low:.2g} ({lowest}) to {high:.2g} rad ({highest}) for each unit of residual"
    what = f"the residual of {index} is not the most adequate index of a method"
    return claim("section 1", what, "not the most adequate", obtained, above(high / low, MIN_RATIO_SPREAD),
                 words="largest over smallest")  # fmt: skip
