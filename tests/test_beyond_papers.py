"""What the five papers promise beyond their examples: what of it works, as docs/papers says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import armwright as aw
from armwright.algebra import Array, cos, sin
from armwright.torque import Law, Moment

FORMULATIONS = ["gibbs_appell", "gibbs_hessian", "equilibrium", "natural_orthogonal_complement", "denoc_cholesky"]
"""Forward dynamics of Mata et al., Grigorov, Angeles and Ma, Mohan and Saha, for joints that move together."""


@pytest.mark.parametrize("robot", ["five_bar", "palletiser"])
@pytest.mark.parametrize("form", FORMULATIONS)
def test_closed_chains_move_by_the_formulation_of_every_paper(robot: str, form: str) -> None:
    """Power is what energy gains: an acceleration that ignored the loop would not balance it."""
    arm = aw.load(robot)
    rng = np.random.default_rng(3)
    q, qd, tau = (arm.neutral + 0.1 * rng.normal(size=arm.nq)), rng.normal(size=arm.n), rng.normal(size=arm.n)
    qdd = arm.forward_dynamics(q, qd, tau, formulation=form)
    np.testing.assert_allclose(qdd, arm.forward_dynamics(q, qd, tau), rtol=0, atol=1e-9 * np.abs(qdd).max())

    def energy(t: float) -> float:
        there, speed = q + qd * t + qdd * t * t / 2, qd + qdd * t
        return float(arm.kinetic_energy(there, speed) + arm.potential_energy(there))

    h = 1e-4
    gain = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    assert gain == pytest.approx(float(tau @ qd), abs=1e-6 * max(1.0, np.abs(qdd).max()))


def beam(segments: int, length: float = 1.0, density: float = 2.0) -> aw.Robot:
    """A slender beam as rigid segments with joints between them; gravity is off."""
    piece = length / segments
    inertia = density * piece**3 / 12
    row = {"type": "revolute", "alpha": 0.0, "d": 0.0, "mass": density * piece, "com": [piece / 2, 0.0, 0.0]}
    rows = [{**row, "a": piece if k else 0.0, "inertia": [0.0, inertia, inertia, 0, 0, 0]} for k in range(segments)]
    return aw.Robot.from_dh(rows, "modified", gravity=[0, 0, 0])


def test_a_flexible_link_is_a_chain_of_segments_with_springs() -> None:
    """Its first two natural frequencies are those of Euler and Bernoulli's cantilever, in the limit."""
    segments, stiffness, density = 12, 5.0, 2.0
    springs = np.full(segments, stiffness * segments)
    springs[0] *= 2  # from the clamp to the middle of the first segment it is half as long
    M = beam(segments, density=density).mass_matrix(np.zeros(segments))
    found = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, np.diag(springs))).real))[:2]
    exact = np.array([1.875104, 4.694091]) ** 2 * np.sqrt(stiffness / density)
    np.testing.assert_allclose(found, exact, rtol=1.5e-2)


@dataclass(frozen=True)
class Blade(Law):
    """A blade on ice below the centre of mass: a steep friction across it holds it to where it points."""

    grip: float

    def torques(self, at: Moment) -> list:
        _, _, heading = at.q
        across = cos(heading) * at.qd[1] - sin(heading) * at.qd[0]
        return [self.grip * across * sin(heading), -self.grip * across * cos(heading), 0.0]


def sled() -> aw.Robot:
    """A body of 1 kg and 1 kg m^2 on a plane: slides along x and y, turns about z."""
    rest = {"a": 0.0, "theta": 0.0, "d": 0.0, "mass": 0.0, "com": [0, 0, 0], "inertia": [0] * 6}
    along_x = {**rest, "type": "prismatic", "alpha": np.pi / 2, "theta": np.pi / 2}
    along_y = {**rest, "type": "prismatic", "alpha": np.pi / 2, "theta": np.pi / 2}
    turning = {**rest, "type": "revolute", "alpha": np.pi / 2, "mass": 1.0, "inertia": [1, 1, 1, 0, 0, 0]}
    return aw.Robot.from_dh([along_x, along_y, turning], "modified", gravity=[0, 0, 0], accept=["non-positive mass"])


def test_a_nonholonomic_constraint_is_a_steep_friction_across_it() -> None:
    """A blade that turns evenly goes round in a circle (Chaplygin), nearer to it the steeper the friction is."""
    body = sled()
    poses = body.forward_kinematics(np.eye(3) * 0.1)
    x, y = (np.round(poses[k][:3, 3] / 0.1, 9) for k in range(2))
    assert abs(x @ y) < 1e-9 and abs(np.cross(x, y) @ poses[2][:3, 2]) == pytest.approx(1)

    def off(grip: float) -> Array:
        run = aw.simulate(body, Blade(grip), q0=[0, 0, 0], qd0=[1.0, 0.0, 1.0], duration=2.0, every=0.1, rtol=1e-8)
        return np.abs(run.q[:, :2] - np.column_stack([np.sin(run.t), 1 - np.cos(run.t)])).max()

    assert off(1e3) < 5e-3 and off(1e2) / off(1e3) == pytest.approx(10, rel=0.2)
