"""Derivatives: against differences in fifty digits, and against Pinocchio."""

import mpmath
import numpy as np
import pinocchio as pin
import pytest
from conftest import Case, close, random_case

import armwright as aw
from armwright.formulations import find
from armwright.graph import Graph
from armwright.graph.differentiate import derivatives
from armwright.graph.interpret import interpret
from armwright.graph.replay import replaced
from armwright.study.peers.pinocchio import Pinocchio

CASES = [(1 + seed % 6, seed) for seed in range(8)]
STEP = mpmath.mpf("1e-18")


def differences(function, *columns: np.ndarray, by: int) -> np.ndarray:
    """The Jacobian of function(*columns) with respect to one of them, by central differences in fifty digits."""
    exact = [[mpmath.mpf(x) for x in column] for column in columns]
    result = []
    for j in range(len(columns[by])):
        sides = []
        for sign in (1, -1):
            moved = [list(column) for column in exact]
            moved[by][j] += sign * STEP
            sides.append(function(*moved))
        result.append([float((a - b) / (2 * STEP)) for a, b in zip(*sides, strict=True)])
    return np.array(result).T


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_derivatives_are_limits_of_differences(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    q, qd, qdd = case.state
    tau = case.arm.inverse_dynamics(q, qd, qdd)
    with mpmath.workdps(50):
        mechanism = case.arm.mechanism(mpmath.mpf)
        inverse = lambda *s: find("inverse_dynamics")(mechanism, *s)  # noqa: E731
        forward = lambda *s: find("forward_dynamics")(mechanism, *s)  # noqa: E731
        by_q, by_qd, M = case.arm.inverse_dynamics_derivatives(q, qd, qdd)
        close(by_q, differences(inverse, q, qd, qdd, by=0), 1e-11)
        close(by_qd, differences(inverse, q, qd, qdd, by=1), 1e-11)
        close(M, case.arm.mass_matrix(q), 1e-12)
        condition = max(10.0, np.linalg.cond(M))
        by_q, by_qd, inverse_M = case.arm.forward_dynamics_derivatives(q, qd, tau)
        close(by_q, differences(forward, q, qd, tau, by=0), 1e-12 * condition)
        close(by_qd, differences(forward, q, qd, tau, by=1), 1e-12 * condition)
        close(inverse_M, np.linalg.inv(M), 1e-13 * condition)


def test_pinocchio_has_the_same_derivatives() -> None:
    case = random_case(6, 9)
    q, qd, qdd = case.state
    peer = Pinocchio(case.arm)
    pin.computeRNEADerivatives(peer.model, peer.data, q, qd, qdd)
    by_q, by_qd, M = case.arm.inverse_dynamics_derivatives(q, qd, qdd)
    close(by_q, peer.data.dtau_dq, 1e-11)
    close(by_qd, peer.data.dtau_dv, 1e-11)
    tau = case.arm.inverse_dynamics(q, qd, qdd)
    pin.computeABADerivatives(peer.model, peer.data, q, qd, tau)
    by_q, by_qd, inverse = case.arm.forward_dynamics_derivatives(q, qd, tau)
    condition = np.linalg.cond(M)
    close(by_q, peer.data.ddq_dq, 1e-12 * condition)
    close(by_qd, peer.data.ddq_dv, 1e-12 * condition)
    upper = np.triu(peer.data.Minv)
    close(inverse, upper + np.triu(upper, 1).T, 1e-12 * condition)


@pytest.mark.parametrize("case", [random_case(1, 1), random_case(5, 3, prismatic=0.5)], ids=["1", "5"])
def test_the_gradient_of_the_gibbs_function_is_the_torque(case: Case) -> None:
    gradient = aw.compile(case.arm, "gibbs_gradient")
    assert gradient.arguments == ("q", "qd", "qdd")
    close(gradient(*case.state), case.arm.inverse_dynamics(*case.state), 1e-12)


def test_every_operation_has_its_derivative() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    outputs = [x + y, y - x, x * y * x, x / y, y / x, -x, x.sin(), x.cos(), (x * x).sqrt(), x.tanh(), abs(x), x.sign()]
    outputs += [x.minimum(y), x.maximum(y), y.select(x * x, x), x.select(3, y), 2.0, y]
    slopes = derivatives(outputs, x)
    for a, b in ((0.7, 1.9), (-1.3, 0.4), (2.5, -0.6)):
        h = 1e-6
        above, below = (np.array(interpret(outputs, {"x": a + s * h, "y": b}), dtype=float) for s in (1, -1))
        np.testing.assert_allclose(
            np.array(interpret(slopes, {"x": a, "y": b}), dtype=float), (above - below) / (2 * h), atol=1e-8
        )


def test_symbols_are_replaced_by_expressions() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert replaced([x * y + 1, x, 3.0], {y: x.sin()}) == [x * x.sin() + 1, x, 3.0]
    assert replaced([x * y], {y: 0})[0].value == 0
