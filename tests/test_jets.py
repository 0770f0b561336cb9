"""Taylor polynomials by automatic jets: every rule against mpmath, whole series against heyoka, and the steps."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import armwright as aw
from armwright.errors import InputError
from armwright.graph import Graph
from armwright.graph.interpret import interpret
from armwright.graph.program import Program
from armwright.integrate import Event, IntegrationError, Taylor, solve
from armwright.integrate.jets import coefficients, increment, solve_jets
from armwright.simulation.kernels import equations_of
from armwright.simulation.motion_programs import derivative
from armwright.simulation.motion_record import MotionRecord
from armwright.torque.conversion import as_law

EPS = float(np.finfo(float).eps)


def system(slopes, size=1):
    """A program (t, y) -> slopes(t, *y)."""
    graph = Graph()
    t, y = graph.input("t"), [graph.input(f"y{k}") for k in range(size)]
    outputs = tuple(slopes(t, *y))
    return Program((("t", (t,)), ("y", tuple(y))), outputs, (len(outputs),))


def pendulum():
    return system(lambda t, q, qd: (qd, -q.sin()), 2)


def falling(name):
    robot = aw.load(name)
    return derivative(equations_of(MotionRecord(robot, as_law(None, robot.n))))


FUNCTIONS = {
    "add, mul": (lambda t: t * t * t + 2 * t, lambda t: t**3 + 2 * t),
    "sub, neg": (lambda t: 1 - t - (-(t * t)), lambda t: 1 - t + t**2),
    "square": (lambda t: (t * t + t) * (t * t + t), lambda t: (t**2 + t) ** 2),
    "div": (lambda t: (1 + t) / (2 + t * t), lambda t: (1 + t) / (2 + t**2)),
    "sqrt": (lambda t: (1 + t * t).sqrt(), lambda t: mp.sqrt(1 + t**2)),
    "sin of a cosine": (lambda t: (t * t).cos().sin(), lambda t: mp.sin(mp.cos(t**2))),
    "tanh": (lambda t: (t * t + t).tanh(), lambda t: mp.tanh(t**2 + t)),
    "a number": (lambda t: 3.0, lambda t: mpf(3)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_rule_gives_the_coefficients_of_mpmath(name):
    traced, plain = FUNCTIONS[name]
    with mp.workdps(50):
        t = mpf("0.3")
        found = coefficients(system(lambda t, y: (traced(t),)), t, [mpf(1)], 9)[0]
        slopes = mp.taylor(plain, t, 8)
        assert found[0] == 1
        for k, slope in enumerate(slopes):
            assert abs(found[k + 1] - slope / (k + 1)) < mpf(10) ** -25  # mpmath differentiates numerically


@pytest.mark.parametrize("name", ["rr", "puma560"])
def test_the_series_of_a_robot_is_that_of_heyoka(name):
    program = falling(name)
    y = np.random.default_rng(0).uniform(-0.5, 0.5, len(program.outputs))
    integrator = Taylor(program, 1e-9)._integrator
    integrator.time, integrator.state[:] = 0.0, y
    integrator.step(write_tc=True)
    found = np.array(coefficients(program, 0.0, y.tolist(), integrator.order))
    expected = integrator.tc
    scale = np.abs(expected).max(axis=0)  # entries of one order cancel by as much as the largest of them
    assert np.all(np.abs(found - expected) <= 1e-11 * scale)


@pytest.mark.parametrize("order", [1, 2, 3, 6, 11])
def test_steps_converge_with_the_order_of_the_polynomials(order):
    with mp.workdps(60):
        exact = solve_jets(pendulum(), 0, [mpf(1), mpf("0.2")], mpf(1), orders=30, step=mpf("0.05")).y[-1]
        errors = [
            max(
                abs(
                    solve_jets(pendulum(), 0, [mpf(1), mpf("0.2")], mpf(1), orders=order, step=mpf(1) / n).y[-1] - exact
                )
            )
            for n in (20, 40)
        ]
        assert abs(mp.log(errors[0] / errors[1], 2) - order) < 0.35


@pytest.mark.parametrize("orders, converges", [((4, 3), 3), ((4, 4), 4), ((5, 4), 4)])
def test_the_velocity_polynomial_decides_on_the_order(orders, converges):
    """T_p,p-1 is of order p - 1, the heuristic T_pp of order p."""
    with mp.workdps(40):
        start = [mpf(1), mpf("0.2")]
        exact = solve_jets(pendulum(), 0, start, mpf(1), orders=25, step=mpf("0.05")).y[-1]
        errors = [
            abs(solve_jets(pendulum(), 0, start, mpf(1), orders=orders, step=mpf(1) / n).y[-1][0] - exact[0])
            for n in (40, 80)
        ]
        assert abs(mp.log(errors[0] / errors[1], 2) - converges) < 0.2


def test_high_orders_agree_with_a_runge_kutta_method():
    found = solve_jets(pendulum(), 0, [1.0, 0.2], 10, orders=20, step=0.1, times=[3, 10])
    expected = solve(lambda t, y: [y[1], -np.sin(y[0])], 0, [1.0, 0.2], 10, rtol=1e-13, atol=1e-14, times=[3, 10])
    assert np.allclose(found.y, expected.y, rtol=0, atol=1e-11)
    assert found.statistics.accepted == 100


def test_the_increment_is_a_program_of_its_own():
    """With it Euler's method takes the same steps."""
    program, orders = falling("rr"), [5, 5, 4, 4, 1, 1]
    steps = increment(program, orders)
    assert steps.sizes == (2, 6)
    y = np.random.default_rng(1).uniform(-1, 1, 6)
    names = {str(x.key): value for (_, inputs), values in zip(steps.arguments, ([0.0, 0.1], y), strict=True)
             for x, value in zip(inputs, values, strict=True)}  # fmt: skip
    moved = y + 0.1 * np.array(interpret(steps.outputs, names))
    expected = solve_jets(program, 0.0, y, 0.1, orders=orders, step=0.1).y[-1]
    assert np.allclose(moved, expected, rtol=1e-13, atol=1e-13)


def test_a_series_in_time_alone_is_the_polynomial_itself():
    program = system(lambda t, y: (3 * t * t,))
    assert solve_jets(program, 1.0, [1.0], 3.0, orders=3, step=2.0).y[-1, 0] == 27.0


def test_output_events_and_time_reversal():
    there = solve_jets(pendulum(), 0, [1.0, 0.0], 2.0, orders=12, step=0.1)
    back = solve_jets(pendulum(), 2.0, there.y[-1], 0.0, orders=12, step=0.1)
    assert np.allclose(back.y[-1], [1.0, 0.0], atol=1e-12)
    down = solve_jets(pendulum(), 0, [1.0, 0.0], 5.0, orders=12, step=0.1, events=Event(lambda t, y: y[0]))
    assert down.status == "event"
    assert abs(down.y[-1, 0]) < 1e-14
    assert np.allclose(4 * down.t[-1], 6.699985, atol=1e-5)  # the period 4 K(sin 1/2)


def test_single_precision_stays_single():
    found = solve_jets(pendulum(), 0, np.array([1.0, 0.0], np.float32), 1.0, orders=6, step=0.1)
    assert found.y.dtype == np.float32


def test_what_has_no_series_is_refused():
    with pytest.raises(InputError, match="sign, which has no Taylor series here"):
        solve_jets(system(lambda t, y: (-y.sign(),)), 0, [1.0], 1, orders=3, step=0.1)
    with pytest.raises(InputError, match=r"orders = 0; expected a whole number, 1 or more, or 2 of them"):
        solve_jets(pendulum(), 0, [1.0, 0.0], 1, orders=0, step=0.1)
    with pytest.raises(InputError, match=r"orders = \[2\]"):
        increment(pendulum(), [2])
    with pytest.raises(InputError, match=r"expected t \(1\), y \(3\) and 3 outputs"):
        solve_jets(pendulum(), 0, [1.0, 0.0, 0.0], 1, orders=3, step=0.1)
    with pytest.raises(IntegrationError, match=r"the series has no coefficients at t = 0\.0"):
        solve_jets(system(lambda t, y: (1 / y,)), 0, [0.0], 1, orders=3, step=0.1)
    with pytest.raises(IntegrationError, match=r"the series is not finite from t = .*; take a smaller step"):
        solve_jets(system(lambda t, y: (y * y,)), 0, [1.0], 100, orders=9, step=2.0)
