"""Integrators: the orders they claim, the errors they estimate, events, every kind of number, and what they refuse."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import DOP853, RK23, RK45, solve_ivp
from scipy.integrate._ivp.rk import rk_step

from armwright.errors import ArmwrightError, InputError, UnknownNameError
from armwright.integrate import (
    STIFF,
    Event,
    IntegrationError,
    Solution,
    dense,
    method,
    methods,
    semi_implicit_euler,
    solve,
    solve_stiff,
)
from armwright.integrate.control import find_rule
from armwright.integrate.scalars import state
from armwright.integrate.trees import density, trees

PAIRS = methods(adaptive=True)
EPS = float(np.finfo(float).eps)

TABLE_1 = {
    1: "rk1", 2: "rk2 rkb12", 3: "rk3 rkf12 rkf23", 4: "rk4 rkb24", 5: "rkf34 rkb34", 6: "rk5 rkf45",
    7: "rk6 rkb45 rkdp54", 8: "rkf56 rkv56", 9: "rk7 rkb56", 10: "rkv67", 11: "rk8", 13: "rkf78 rkv78 rkdp87", 17: "rk10",
}  # fmt: skip
"""Machado and Galhano 1995, table 1: the methods by their number of stages."""


@pytest.fixture
def digits():
    """Sixty digits of mpmath, for what rounding would hide."""
    with mp.workdps(60):
        yield


def circle(t, y):
    """Goes round with the speed r^2: on the unit circle y is (cos t, sin t)."""
    speed = y[0] * y[0] + y[1] * y[1]
    return np.array([-speed * y[1], speed * y[0]])


def pendulum(t, y):
    return np.array([y[1], -np.sin(y[0])])


def energy(y):
    return y[..., 1] ** 2 / 2 - np.cos(y[..., 0])


def decay(t, y):
    return -y


# The coefficients


def test_trees_are_counted_as_in_the_books():
    assert [len(trees(size)) for size in range(1, 11)] == [1, 1, 2, 4, 9, 20, 48, 115, 286, 719]
    assert sorted(map(density, trees(4))) == [4, 8, 12, 24]


@pytest.mark.parametrize("name", methods())
def test_the_order_conditions_hold_up_to_the_order_and_no_further(name):
    tableau = method(name)
    claims = [("b", tableau.order), ("bhat", tableau.embedded), ("bhat2", tableau.embedded2)]
    for weights, order in claims:
        if order is not None:
            assert tableau.residual(order, weights) <= tableau.tolerance(order, weights)
            if order < 10:
                assert tableau.residual(order + 1, weights) > 1e-7 > 1e3 * tableau.tolerance(order + 1, weights)


@pytest.mark.parametrize("name", methods())
def test_a_method_is_named_in_the_document(name):
    text = (Path(__file__).parents[1] / "docs/simulation.md").read_text().split("## Integrators")[1]
    table = "".join(line for line in text.splitlines() if line.startswith("|"))
    families = re.findall(r"`([a-z]+)\d+` \.\.\. `", table)  # as in `rk1` ... `rk8`
    assert f"`{name}`" in table or name.rstrip("0123456789") in families, f"name `{name}` in docs/simulation.md"


def test_all_methods_of_the_paper_are_there_with_its_number_of_stages():
    for stages, names in TABLE_1.items():
        assert {name: method(name).stages for name in names.split()} == dict.fromkeys(names.split(), stages)


def test_stand_ins_are_marked():
    assert [name for name in methods() if method(name).status != "published"] == [
        "rkb12",
        "rkb24",
        "rkb34",
        "rkb45",
        "rkb56",
    ]
    assert all("stand-in" in method(name).note for name in methods() if name.startswith("rkb"))
    assert all(method(name).source for name in methods())


def test_coefficients_agree_with_those_of_scipy():
    for name, theirs in (("rkdp54", RK45), ("bs32", RK23), ("dop853", DOP853)):
        ours = method(name)
        n = theirs.n_stages
        assert np.array_equal(ours.b[:n], theirs.B)
        assert all(np.array_equal(ours.a[i], theirs.A[i, :i]) for i in range(n))
    assert np.abs(np.array(method("rkdp54").error) + RK45.E).max() <= EPS
    assert np.abs(np.array(method("dop853").error) - DOP853.E5[:-1]).max() <= EPS
    assert np.abs(np.array(method("dop853").error2) - DOP853.E3[:-1]).max() <= 4 * EPS


def test_a_wrong_coefficient_is_caught():
    exact = method("rkf45").exact(Fraction)
    with pytest.raises(InputError, match=r"rkf45: b sums to 1.0+1.*, expected 1.0; a coefficient is wrong"):
        replace(exact, b=(exact.b[0] + Fraction(1, 10**9), *exact.b[1:]), rational=None)
    with pytest.raises(InputError, match=r"rkf45: row 3 of a sums to 0.5"):
        replace(exact, a=(*exact.a[:2], (Fraction(1, 4), Fraction(1, 4)), *exact.a[3:]), rational=None)
    with pytest.raises(InputError, match="expected 6 nodes c and rows a of 0, 1, 2"):
        replace(exact, c=exact.c[1:], rational=None)
    swapped = replace(exact, b=(exact.b[2], exact.b[1], exact.b[0], *exact.b[3:]), rational=None)
    assert swapped.residual(4) > 1e-3  # the sums are right, only the order conditions tell


def test_coefficients_in_other_numbers(digits):
    tableau = method("rkf78")
    assert tableau.exact(Fraction).b[5] == Fraction(34, 105)
    assert tableau.exact(mpf).b[5] == mpf(34) / 105
    assert tableau.exact(np.float32).b[5] == np.float32(34 / 105)
    assert tableau.exact(mpf).exact(float) == tableau
    assert (
        max(abs(float(x) - y) for x, y in zip(method("rk10").exact(np.float32).b, method("rk10").b, strict=True)) < 1e-7
    )


def test_first_same_as_last():
    assert [name for name in methods() if method(name).fsal] == [
        "rkf12",
        "rkf34",
        "rkdp54",
        "rkb12",
        "bs32",
        "tsit5",
        "vern6",
    ]
    steps = 10
    assert solve(decay, 0, [1.0], 1, "rkdp54", step=1 / steps).statistics.evaluations == 1 + 6 * steps
    assert solve(decay, 0, [1.0], 1, "rk4", step=1 / steps).statistics.evaluations == 4 * steps


def test_unknown_names():
    with pytest.raises(UnknownNameError, match=r"unknown integration method 'dop583'. Did you mean 'dop853'\?"):
        method("dop583")
    with pytest.raises(InputError, match="rk4 has no error estimate; expected a pair, such as dop853"):
        _ = method("rk4").estimate_order
    with pytest.raises(InputError, match="rk4 has no weights 'bhat'"):
        method("rk4").residual(4, "bhat")


# Orders and error estimates as they come out

STEPS = {1: 1000, 2: 400, 3: 100, 4: 100, 5: 100, 6: 50, 7: 200, 8: 40, 9: 40, 10: 40}
"""By order: how many steps it takes for the leading term of the error to rule, on the circle."""

MORE_STEPS = {"rkf12": 4000, "rkv78": 300, "rkdp87": 6}
"""rkf12 is nearly of order 2, rkv78 nearly of order 8; the coefficients of rkdp87 are good to 1e-17 only."""


@pytest.mark.parametrize("name", methods())
def test_measured_order(name, digits):
    tableau = method(name)
    one = mpf(1) if tableau.order > 2 else 1.0
    steps = MORE_STEPS.get(name, STEPS[tableau.order])

    def error(count):
        end = solve(circle, 0, np.array([one, 0 * one]), one, name, step=one / count).y[-1]
        return max(abs(end[0] - mp.cos(1)), abs(end[1] - mp.sin(1)))

    assert abs(mp.log(error(steps) / error(2 * steps), 2) - tableau.order) < 0.15


@pytest.mark.parametrize("name", PAIRS)
def test_the_error_estimate_is_the_error_of_the_formula_of_lower_order(name, digits):
    tableau = method(name).exact(mpf)
    h = mpf(1) / 1000 if tableau.digits is None or tableau.digits > 30 else mpf(1) / 20
    y = np.array([mpf(1), mpf(0)])
    k = []
    for row in tableau.a:
        k.append(circle(0, y + h * sum((a * x for a, x in zip(row, k, strict=True)), 0 * y)))
    k = np.array(k)

    def local_error(weights):
        end = y + h * (np.array(weights) @ k)
        return max(abs(end[0] - mp.cos(h)), abs(end[1] - mp.sin(h)))

    estimate = max(abs(h * (np.array(tableau.error) @ k)))
    bhat = [b - e for b, e in zip(tableau.b, tableau.error, strict=True)]
    lower = tableau.b if tableau.order < tableau.embedded else bhat
    assert 0.1 < estimate / local_error(lower) < 10
    if tableau.order > tableau.embedded:
        assert local_error(tableau.b) < estimate
    if tableau.error2 is not None:  # what dop853 goes by, which is never below the error of what it propagates
        second = max(abs(h * (np.array(tableau.error2) @ k)))
        combined = estimate**2 / mp.sqrt(estimate**2 + second**2 / 100)
        assert local_error(tableau.b) < combined < estimate


def test_mersons_estimate_is_the_error_of_the_result_of_linear_equations_only(digits):
    """There its other formula is of order 5; elsewhere of order 3, and a smaller step gains less than it could."""
    tableau = method("merson43").exact(mpf)
    assert tableau.estimate_order == 4

    def estimate_and_error(f, y, exact, h):
        k = []
        for row in tableau.a:
            k.append(f(0, y + h * sum((a * x for a, x in zip(row, k, strict=True)), 0 * y)))
        step, estimate = (h * (np.array(weights) @ np.array(k)) for weights in (tableau.b, tableau.error))
        return [max(abs(x)) for x in (estimate, y + step - exact(h))]

    def turning(h):
        return np.array([mp.cos(h), mp.sin(h)])

    linear = [estimate_and_error(decay, np.array([mpf(1)]), lambda h: np.array([mp.exp(-h)]), h / 1000) for h in (2, 1)]
    curved = [estimate_and_error(circle, np.array([mpf(1), mpf(0)]), turning, mpf(h) / 1000) for h in (2, 1)]
    powers = [[float(mp.log(a / b, 2)) for a, b in zip(*pair, strict=True)] for pair in (linear, curved)]
    assert np.abs(np.array(powers) - [[5, 5], [4, 5]]).max() < 0.01
    assert abs(linear[1][0] / linear[1][1] - 1) < 0.01 and curved[1][0] > 10 * curved[1][1]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("rule", ["pi", "machado", "machado_consistent"])
def test_the_error_follows_the_tolerance(name, rule):
    tolerance = 1e-7 if method(name).order < 3 else 1e-8
    solution = solve(circle, 0, [1.0, 0.0], 3, name, rtol=tolerance, atol=tolerance, rule=rule)
    error = np.abs(solution.y[-1] - [math.cos(3), math.sin(3)]).max()
    assert 1e-6 * tolerance < error < 10 * solution.statistics.accepted * tolerance
    assert solution.statistics.rejected < 0.2 * solution.statistics.accepted + 3
    assert solution.t[-1] == 3 and solution.status == "finished"


def test_the_step_rule_of_machado_is_equation_14():
    _, scalars = state("y0", [1.0])
    names = ("machado", "machado_consistent")
    printed, consistent = (find_rule(name, method("rkf45"), scalars, 1e-6, 1e-6, 2) for name in names)
    assert printed.factor(1 / 5, True) == pytest.approx(0.9 * 5 ** (1 / 6))
    assert consistent.factor(1 / 5, True) == pytest.approx(0.9 * 5 ** (1 / 5))
    assert printed.norm(np.array([1e-6, -3e-6]), np.ones(2), np.ones(2)) == pytest.approx(3)
    assert printed.factor(0.0, True) == 10


def test_dop853_is_that_of_scipy():
    y, h = np.array([1.0, 0.5]), 0.1
    k = np.empty((13, 2))
    theirs, _ = rk_step(pendulum, 0.0, y, pendulum(0, y), h, DOP853.A[:12, :12], DOP853.B, DOP853.C[:12], k)
    assert np.abs(solve(pendulum, 0, y, h, "dop853", step=h).y[-1] - theirs).max() <= 2 * EPS

    reference = solve_ivp(pendulum, (0, 30), y, method="DOP853", rtol=1e-9, atol=1e-12)
    ours = solve(pendulum, 0, y, 30)
    exact = solve(pendulum, 0, y, 30, "vern9", rtol=1e-14, atol=1e-15).y[-1]
    assert np.abs(ours.y[-1] - exact).max() < 2e-8 and np.abs(reference.y[:, -1] - exact).max() < 2e-8
    assert ours.statistics.evaluations < 1.2 * reference.nfev


# Physics


@pytest.mark.parametrize("name", ["dop853", "vern7", "vern9", "tsit5", "rkdp87"])
def test_energy_of_a_pendulum_drifts_no_more_than_the_tolerance_of_each_step(name):
    solution = solve(pendulum, 0, [2.0, 0.0], 100, name, rtol=1e-11, atol=1e-12)
    change = np.abs(energy(solution.y) - energy(solution.y[0])).max()
    largest = np.abs(solution.y).max()  # of y, and of the gradient of the energy
    assert change < solution.statistics.accepted * 2 * largest * (1e-12 + 1e-11 * largest)


@pytest.mark.parametrize("name", PAIRS)
def test_backwards_in_time_leads_back(name):
    tolerance = 1e-5 if method(name).order < 3 else 1e-9
    there = solve(pendulum, 0, [1.0, 0.3], 5, name, rtol=tolerance, atol=tolerance)
    back = solve(pendulum, 5, there.y[-1], 0, name, rtol=tolerance, atol=tolerance)
    assert np.all(np.diff(back.t) < 0) and back.t[-1] == 0
    steps = there.statistics.accepted + back.statistics.accepted
    assert np.abs(back.y[-1] - [1.0, 0.3]).max() < 10 * steps * tolerance


def test_semi_implicit_euler_keeps_the_energy_where_euler_does_not():
    solution = semi_implicit_euler(lambda t, q, qd: -np.sin(q), 0, [1.0], [0.0], 200, step=0.01)
    assert solution.y.shape == (20001, 2) and solution.statistics.evaluations == 20000
    euler = solve(pendulum, 0, [1.0, 0.0], 200, "rk1", step=0.01)
    swing, growth = (np.abs(energy(run.y) - energy(run.y[0])).max() for run in (solution, euler))
    assert swing < 0.01 < 10 * swing < growth
    half = semi_implicit_euler(lambda t, q, qd: -np.sin(q), 0, [1.0], [0.0], 200, step=0.005)
    assert np.abs(energy(half.y) - energy(half.y[0])).max() == pytest.approx(swing / 2, rel=0.05)


def test_semi_implicit_euler_with_events_and_times():
    event = Event(lambda t, y: y[0])
    solution = semi_implicit_euler(lambda t, q, qd: 0 * q, 0, [-1.0], [1.0], 9, step=0.3, times=[0, 0.5], events=event)
    assert solution.t.tolist() == pytest.approx([0, 0.5, 1]) and solution.status == "event"
    with pytest.raises(InputError, match=r"qd0 is float64 \(2,\); expected float64 \(1,\), as q0"):
        semi_implicit_euler(lambda t, q, qd: q, 0, [1.0], [1.0, 2.0], 1, step=0.1)
    with pytest.raises(InputError, match=r"the acceleration has shape \(2,\) at t = 0.0; expected \(1,\)"):
        semi_implicit_euler(lambda t, q, qd: [1, 2], 0, [1.0], [1.0], 1, step=0.1)
    with pytest.raises(IntegrationError, match=r"the acceleration is not finite at t = 0.0"):
        semi_implicit_euler(lambda t, q, qd: q * np.nan, 0, [1.0], [1.0], 1, step=0.1)


# Output


def test_output_at_given_times_is_where_steps_end():
    times = np.linspace(0, 7, 57)
    solution = solve(circle, 0, [1.0, 0.0], 7, times=times)
    assert np.array_equal(solution.t, times)
    assert np.abs(solution.y - np.stack([np.cos(times), np.sin(times)], 1)).max() < 1e-8
    free = solve(circle, 0, [1.0, 0.0], 7)
    assert free.t[0] == 0 and free.t[-1] == 7 and len(free.t) == free.statistics.accepted + 1
    few = solve(circle, 0, [1.0, 0.0], 7, times=[2, 3.5])
    assert few.t.tolist() == [2, 3.5] and few.statistics.accepted <= free.statistics.accepted + 4


def test_fixed_steps_end_exactly_and_the_last_is_shorter():
    assert solve(decay, 0, [1.0], 1, "rk4", step=0.3).t.tolist() == pytest.approx([0, 0.3, 0.6, 0.9, 1])
    assert len(solve(decay, 0, [1.0], 10, "rk4", step=0.1).t) == 101  # ten times a rounded 0.1 makes no further step
    assert solve(decay, 1, [1.0], 0, "rk4", step=0.4).t.tolist() == pytest.approx([1, 0.6, 0.2, 0])
    assert solve(decay, 0, [1.0], 1, "rk4", step=5).t.tolist() == [0, 1]


def test_fixed_steps_with_output_between_them():
    solution = solve(decay, 0, [1.0], 1, "rk4", step=0.25, times=[0.1, 0.5, 0.75 + 1e-12, 0.9, 1])
    assert solution.t.tolist() == [0.1, 0.5, 0.75 + 1e-12, 0.9, 1]
    assert solution.statistics.accepted == 6  # 0.1 0.25 0.5 0.75 0.9 1: what is a rounding beside the grid is on it
    grid = solve(decay, 0, [1.0], 10, "rk4", step=0.01, times=np.arange(1, 101) * 0.1)
    assert grid.statistics.accepted == 1000
    assert solve(decay, 0, [1.0], 1, "rk4", step=0.5, times=[0.5, 1 - 1e-12]).t[-1] == 1 - 1e-12


def test_dense_output_is_a_step_of_the_same_method():
    y = np.array([1.0, 0.0])
    for theta in (0.25, 1.0):
        assert np.abs(dense(circle, 2, y, 0.4, theta) - [math.cos(0.4 * theta), math.sin(0.4 * theta)]).max() < 1e-9
    assert np.array_equal(dense(circle, 0, y, 0.4, 1.0, "rk4"), solve(circle, 0, y, 0.4, "rk4", step=0.4).y[-1])


def test_on_step_sees_every_step_and_may_end_it():
    seen = []
    solution = solve(circle, 0, [1.0, 0.0], 7, on_step=lambda t, y: seen.append(t))
    assert seen == solution.t[1:].tolist()
    stopped = solve(circle, 0, [1.0, 0.0], 7, times=[1, 6], on_step=lambda t, y: t > 2)
    assert stopped.status == "stopped" and 2 < stopped.t[-1] < 6
    assert stopped.message == f"on_step ended it at t = {stopped.t[-1]}"


def test_first_and_longest_step():
    solution = solve(circle, 0, [1.0, 0.0], 1, first_step=1e-3, max_step=0.05)
    assert solution.t[1] == 1e-3 and np.diff(solution.t).max() <= 0.05 * 1.02


def test_a_derivative_that_reuses_its_memory():
    memory = np.empty(2)

    def reusing(t, y):
        memory[:] = circle(t, y)
        return memory

    assert np.array_equal(solve(reusing, 0, [1.0, 0.0], 3, "rkdp54").y, solve(circle, 0, [1.0, 0.0], 3, "rkdp54").y)


# Events


def test_events_are_located_to_rounding():
    def linear(t, y):
        return np.array([1.0])

    solution = solve(linear, 0, [0.0], 10, events=[Event(lambda t, y: y[0] - math.pi)])
    assert abs(solution.t[-1] - math.pi) <= 4 * math.pi * EPS
    assert solution.status == "event" and solution.events[0].t == solution.t[-1]

    quarter = float(mp.ellipk(mp.sin(0.5) ** 2))  # of the period of a pendulum let go at 1 rad
    passed = solve(pendulum, 0, [1.0, 0.0], 8, rtol=1e-13, atol=1e-14, events=[Event(lambda t, y: y[0], False)])
    assert [event.t for event in passed.events] == pytest.approx([quarter, 3 * quarter], abs=2e-12)
    assert all(abs(event.y[0]) < 8 * EPS * event.t for event in passed.events)
    assert passed.status == "finished"


@pytest.mark.parametrize("name", ["rk4", "dop853", "tsit5"])
def test_direction_order_and_names_of_events(name):
    events = [
        Event(lambda t, y: y[0], terminal=False, direction=1, name="up"),
        Event(lambda t, y: y[0], terminal=False, direction=-1, name="down"),
        Event(lambda t, y: t - 9, name="end"),
        Event(lambda t, y: y[1] - 2, name="never"),
    ]
    solution = solve(circle, 0, [1.0, 0.0], 20, name, events=events, step=0.05 if name == "rk4" else None)
    assert [event.name for event in solution.events] == ["down", "up", "down", "end"]
    assert [event.t for event in solution.events] == pytest.approx(
        [math.pi / 2, 1.5 * math.pi, 2.5 * math.pi, 9], abs=1e-5
    )
    assert solution.t[-1] == pytest.approx(9) and solution.message == f"event 'end' at t = {solution.t[-1]}"


@pytest.mark.parametrize("count", [1, 2, 3, True, np.int64(2)])
def test_an_event_may_end_it_when_it_has_happened_often_enough(count) -> None:
    solution = solve(circle, 0, [1.0, 0.0], 20, events=[Event(lambda t, y: y[0], terminal=count, name="crossing")])
    assert [event.t for event in solution.events] == pytest.approx([np.pi * (k + 0.5) for k in range(int(count))])
    assert solution.status == "event"
    reference = solve_ivp(circle, (0, 20), [1.0, 0.0], rtol=1e-9, atol=1e-12, events=[_ending(int(count))])
    assert solution.t[-1] == pytest.approx(reference.t[-1])


def _ending(count):
    def function(t, y):
        return y[0]

    function.terminal = count
    return function


@pytest.mark.parametrize("terminal", [-1, 1.5, "yes", None])
def test_after_how_many_times_an_event_ends_it_is_a_number(terminal) -> None:
    with pytest.raises(InputError, match="expected True, False, or after how many times"):
        Event(lambda t, y: y[0], terminal=terminal)


def test_all_events_of_one_instant_are_told() -> None:
    events = [
        Event(lambda t, y: y[0], name="x"),
        Event(lambda t, y: 3 * y[0], name="three x"),
        Event(lambda t, y: y[0] / 7, terminal=False, name="noted"),
        Event(lambda t, y: t - 1.6, terminal=False, name="later"),
    ]
    solution = solve(circle, 0, [1.0, 0.0], 20, events=events)
    assert sorted(event.name for event in solution.events) == ["noted", "three x", "x"]
    assert "event 'x'" in solution.message
    assert "event 'three x'" in solution.message
    assert "noted" not in solution.message


def test_an_event_looks_at_the_state_and_leaves_it() -> None:
    def bounce(t, y):
        y[1] = -y[1]
        return y[0]

    with pytest.raises(InputError, match="event 'bounce' writes into the state"):
        solve(circle, 0, [1.0, 0.0], 3, events=[Event(bounce)])


@pytest.mark.parametrize("rule", ["pi", "machado"])
def test_tolerances_may_differ_from_entry_to_entry(rule) -> None:
    def two(t, y):  # two clocks that know nothing of each other
        return np.array([y[1], -y[0], 10 * y[3], -10 * y[2]])

    def steps(rtol, atol):
        solution = solve(two, 0, [1.0, 0.0, 1.0, 0.0], 3, "rkdp54", rtol=rtol, atol=atol, rule=rule)
        return solution.statistics.accepted

    fine, coarse = steps([1e-9] * 4, [1e-9] * 4), steps([1e-9, 1e-9, 1e-3, 1e-3], [1e-9, 1e-9, 1e-3, 1e-3])
    assert fine == steps(1e-9, 1e-9)
    assert coarse < fine / 5
    with pytest.raises(InputError, match=r"rtol has shape \(3,\); expected a number, or 4 of them"):
        steps([1e-9] * 3, 1e-9)


def test_a_first_step_beyond_the_end_is_one_to_the_end() -> None:
    for name in ("radau", "bdf", "lsoda"):
        solution = solve_stiff(circle, 0, [1.0, 0.0], 0.1, name, first_step=5.0)
        assert np.abs(solution.y[-1] - [np.cos(0.1), np.sin(0.1)]).max() < 1e-6
    with pytest.raises(InputError, match="expected one number for radau"):
        solve_stiff(circle, 0, [1.0, 0.0], 0.1, rtol=[1e-6, 1e-9])


def test_an_event_that_is_zero_at_the_start_has_not_happened():
    def thrown(t, y):
        return np.array([y[1], -2.0])

    for step in (None, 0.15):
        solution = solve(thrown, 0, [0.0, 1.0], 5, "rkdp54", step=step, events=[Event(lambda t, y: y[0])])
        assert solution.t[-1] == pytest.approx(1, abs=1e-12)
    again = solve(thrown, solution.t[-1], [0.0, 0.5], 5, events=[Event(lambda t, y: y[0], direction=-1)])
    assert again.t[-1] == pytest.approx(1.5, abs=1e-12)
    touched = solve(thrown, 0, [-0.25, 1.0], 2, "rk2", step=0.5, events=[Event(lambda t, y: y[0])])
    assert touched.t[-1] == pytest.approx(0.5, abs=math.sqrt(EPS))  # the top of the flight, at the end of a step


def test_events_backwards_and_with_output_times():
    solution = solve(circle, 0, [1.0, 0.0], -9, times=[0, -1, -2, -3], events=[Event(lambda t, y: y[0], direction=-1)])
    assert solution.t.tolist() == pytest.approx([0, -1, -math.pi / 2])
    assert len(solve(circle, 0, [1.0, 0.0], 9, times=[5], events=[Event(lambda t, y: t - 1)]).t) == 1


def test_wrong_events():
    with pytest.raises(InputError, match=r"direction = 2 of an event; expected 1, -1 or 0"):
        Event(lambda t, y: 0.0, direction=2)
    with pytest.raises(InputError, match=r"the function of an event is 3; expected a function of \(t, y\)"):
        Event(3)
    with pytest.raises(InputError, match="events contains 3; expected Event"):
        solve(decay, 0, [1.0], 1, events=[3])
    with pytest.raises(InputError, match=r"event 'ground' gave array\(\[0., 1.\]\) at t = 0.0; expected a number"):
        solve(decay, 0, [1.0], 1, events=[Event(lambda t, y: np.arange(2.0), name="ground")])
    with pytest.raises(IntegrationError, match=r"event 'event' gave nan at t = 0.0; expected a finite number"):
        solve(decay, 0, [1.0], 1, events=[Event(lambda t, y: math.nan)])


# Every kind of number


def test_single_precision():
    solution = solve(circle, 0, np.array([1, 0], np.float32), 3, "tsit5", rtol=1e-5, atol=1e-6)
    assert solution.y.dtype == np.float32 and solution.t.dtype == np.float64
    assert np.abs(solution.y[-1] - [math.cos(3), math.sin(3)]).max() < 1e-4
    fixed = solve(circle, 0, np.array([1, 0], np.float32), 3, "rk4", step=0.01)
    rounding = 300 * float(np.finfo(np.float32).eps)
    assert fixed.y.dtype == np.float32 and np.abs(fixed.y[-1] - [math.cos(3), math.sin(3)]).max() < rounding
    with pytest.raises(InputError, match=r"rtol = 1e-09 is finer than float32 numbers are \(1.2e-07\); give a larger"):
        solve(circle, 0, np.array([1, 0], np.float32), 3)


@pytest.mark.parametrize("name", ["vern9", "rkf78"])
def test_high_precision(name):
    with mp.workdps(30):
        start = np.array([mpf(1), mpf(0)])
        event = Event(lambda t, y: y[0], terminal=False)
        solution = solve(circle, mpf(0), start, mpf(3), name, rtol=mpf("1e-22"), atol=mpf("1e-24"), events=[event])
        assert max(abs(solution.y[-1][0] - mp.cos(3)), abs(solution.y[-1][1] - mp.sin(3))) < mpf("1e-19")
        assert abs(solution.events[0].t - mp.pi / 2) < mpf("1e-19")
        assert isinstance(solution.t[-1], mpf) and solution.t.dtype == object


def test_exact_fractions():
    solution = solve(lambda t, y: y, Fraction(0), [Fraction(1)], Fraction(1), "rk4", step=Fraction(1, 2))
    assert solution.y[-1][0] == sum(Fraction(1, 2**k * math.factorial(k)) for k in range(5)) ** 2


def test_whole_numbers_become_floats_and_other_things_are_refused():
    assert solve(decay, 0, [1, 2], 1).y.dtype == float
    assert solve(decay, 0, np.array([1.0, 2], object), 1).y.dtype == float
    for wrong, said in (
        ([1j], r"y0 holds complex128 values; expected a one-dimensional array of float64"),
        ([True], r"y0 holds bool values"),
        ([[1.0]], r"y0 has shape \(1, 1\)"),
        ([], r"y0 has shape \(0,\)"),
        ([[1], [1, 2]], r"y0 is not an array of numbers"),
        ([None], r"y0 holds objects of the type NoneType, not numbers"),
        ([mpf(1), Fraction(1)], r"y0 mixes objects of the types Fraction, mpf; expected numbers of one type"),
        ([1.0, math.nan], r"y0 = \[1.0, nan\] contains a number that is not finite"),
    ):
        with pytest.raises(InputError, match=said):
            solve(decay, 0, wrong, 1)


# What is refused, and what goes wrong on the way


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rtol": 0}, "rtol = 0 is not a tolerance; expected a positive number"),
        ({"rtol": -1e-6}, "rtol = -1e-06 is not a tolerance"),
        ({"atol": 0}, "atol = 0 is not a tolerance"),
        ({"atol": [1e-9, -1]}, "atol = -1.0 is not a tolerance"),
        ({"atol": [1e-9]}, r"atol has shape \(1,\); expected a number, or 2 of them, one for each entry of y"),
        ({"rtol": "fine"}, "rtol = 'fine' is not a tolerance"),
        ({"rtol": 1e-17}, "rtol = 1e-17 is finer than float64 numbers are"),
        ({"t1": 0}, "t0 and t1 are both 0: there is nothing to integrate; expected two different times"),
        ({"t1": math.inf}, "t1 = inf is not a time; expected a finite number"),
        ({"t0": None}, "t0 = None is not a time"),
        ({"times": [0.5, 1.5]}, r"times\[1\] = 1.5 is outside of the integration from t0 = 0.0 to t1 = 1.0"),
        ({"times": [0.5, 0.2]}, r"times\[1\] = 0.2 comes after times\[0\] = 0.5; times must increase"),
        ({"times": [-0.2, -0.1], "t1": -1}, "times must decrease, as the integration goes backwards"),
        ({"times": []}, r"times has shape \(0,\); expected one or more times, or None for every step"),
        ({"times": ["soon"]}, r"times\[0\] = 'soon' is not a time"),
        ({"method": "rk4"}, "rk4 cannot choose its steps: give `step`, or take one that can: rkf12"),
        ({"method": "rk4", "step": 0}, "step = 0 must be positive; the direction of time follows from t0 and t1"),
        ({"method": "rk4", "step": -0.1}, "step = -0.1 must be positive"),
        ({"method": "rk4", "step": 1e-9}, r"step = 1e-09 makes 1e\+09 steps, more than max_steps = 1000000"),
        ({"method": "rk4", "step": 1e-3, "t0": 1e15, "t1": 1e15 + 1}, r"step = 0.001 is below rounding at t0 = 1000000000000000.0"),
        ({"first_step": 0}, "first_step = 0 must be positive"),
        ({"max_step": -1}, "max_step = -1 must be positive"),
        ({"derivative": lambda t, y: [1.0]}, r"the derivative has shape \(1,\) at t = 0.0; expected \(2,\), as y0"),
    ],
)  # fmt: skip
def test_what_solve_refuses(options, said):
    arguments = {"derivative": circle, "t0": 0, "y0": [1.0, 0.0], "t1": 1, **options}
    with pytest.raises(InputError, match=said):
        solve(**arguments)


def test_unknown_method_and_rule():
    with pytest.raises(UnknownNameError, match="unknown integration method 'rk45'"):
        solve(decay, 0, [1.0], 1, "rk45")
    with pytest.raises(UnknownNameError, match=r"unknown step rule 'pid'. Did you mean 'pi'"):
        solve(decay, 0, [1.0], 1, rule="pid")


@pytest.mark.parametrize("step", [None, 0.1])
def test_a_derivative_that_is_not_finite_from_the_start(step):
    with pytest.raises(
        IntegrationError, match=r"the derivative is not finite at t = 0.0: it is \[nan\] for y = \[1.\]"
    ) as caught:
        solve(lambda t, y: y * math.nan, 0, [1.0], 1, step=step)
    assert caught.value.t == 0 and caught.value.y == [1] and caught.value.solution.t.tolist() == [0]


def test_a_derivative_that_stops_being_finite():
    def ends(t, y):
        return np.array([math.sqrt(1 - t) if t <= 1 else math.nan])

    with pytest.raises(
        IntegrationError, match=r"below rounding: the derivative is not finite right after it"
    ) as caught:
        solve(ends, 0, [0.0], 2)
    assert caught.value.t == pytest.approx(1) and caught.value.y[0] == pytest.approx(2 / 3)
    partial = caught.value.solution
    assert isinstance(partial, Solution) and partial.status == "failed" and partial.t[-1] == caught.value.t
    assert partial.message == str(caught.value) and partial.statistics.rejected > 0
    with pytest.raises(
        IntegrationError, match=r"the solution is not finite in the step from t = 1.0.* to 1.1.*; take a"
    ):
        solve(ends, 0, [0.0], 2, "rk4", step=0.1)


def test_a_solution_that_grows_without_bound():
    with pytest.raises(
        IntegrationError, match=r"below rounding: the error estimate stays too large.*is singular"
    ) as caught:
        solve(lambda t, y: y * y, 0, [1.0], 2)
    assert caught.value.t == pytest.approx(1, abs=1e-9)
    with pytest.raises(IntegrationError, match=r"the derivative is not finite at t = 1.05: it is \[inf\] for y"):
        solve(lambda t, y: y * y, 0, [1.0], 2, "rk2", step=0.01)


def test_a_state_that_overflows_is_not_a_result():
    def constant(t, y):
        return np.array([1e300])

    with pytest.raises(IntegrationError, match="below rounding") as caught:
        solve(constant, 0, [0.0], 1e9, "tsit5", first_step=0.1)
    assert np.isfinite(caught.value.solution.y).all() and caught.value.t == pytest.approx(1.797e8, rel=0.1)


def test_too_many_steps():
    with pytest.raises(IntegrationError, match=r"50 steps were not enough: they led to t = .*solve_stiff") as caught:
        solve(lambda t, y: -1e6 * (y - np.cos(t)), 0, [0.0], 10, max_steps=50)
    assert 0 < caught.value.t < 0.1


def test_overflow_does_not_warn():
    def explode(t, y):
        return np.exp(y * y)

    for start in (10.0, 26.6):  # the derivative is 1e43, and nearly the largest number
        with pytest.raises(IntegrationError, match="below rounding"):
            solve(explode, 0, [start], 1)


# Implicit methods


def test_equations_that_overflow_end_an_implicit_method() -> None:
    with np.errstate(all="ignore"), pytest.raises(IntegrationError, match="its equations are not finite") as caught:
        solve_stiff(
            lambda t, y: 1e200 * y * (1 + y**2), 0.0, [0.1, 0.2], 0.1, "radau", jacobian=lambda t, y: np.eye(2) * 1e308
        )
    assert len(caught.value.solution.t)


@pytest.mark.parametrize("name", STIFF)
def test_stiff_problem(name):
    def derivative(t, y):
        return np.array([-1e5 * (y[0] - math.cos(t)), y[0]])

    def jacobian(t, y):
        return np.array([[-1e5, 0], [1, 0]])

    times = [0.0, 1.0, 5.0]
    solution = solve_stiff(derivative, 0, [0.0, 0.0], 5, name, jacobian=jacobian, rtol=1e-8, atol=1e-10, times=times)
    assert solution.t.tolist() == times
    assert np.abs(solution.y[1:, 0] - np.cos(times[1:])).max() < 2e-5
    assert np.abs(solution.y[1:, 1] - np.sin(times[1:])).max() < 2e-5
    assert solution.statistics.evaluations < 5000 and solution.statistics.jacobians > 0
    assert solution.statistics.rejected is None
    event = Event(lambda t, y: y[0])
    without = solve_stiff(derivative, 0, [0.0, 0.0], 5, name, rtol=1e-8, atol=1e-10, events=[event], max_step=0.1)
    assert without.t[-1] == pytest.approx(math.pi / 2, abs=2e-5) and without.statistics.jacobians == 0


def test_what_implicit_methods_refuse():
    for options, said in (
        ({"method": "radeau"}, "unknown implicit method 'radeau'. Did you mean 'radau'"),
        ({"rtol": 1e-15}, "rtol = 1e-15 is too fine for radau; expected 2.2e-14 or more"),
        ({"y0": [mpf(1)]}, "y0 holds object values; radau integrates in double precision"),
        ({"jacobian": lambda t, y: [1.0]}, r"the jacobian has shape \(1,\) at t = 0.0; expected \(1, 1\)"),
        ({"derivative": lambda t, y: [1.0, 2.0]}, r"the derivative has shape \(2,\) at t = 0.0"),
        ({"first_step": -1}, "first_step = -1 must be positive"),
    ):
        with pytest.raises(ArmwrightError, match=said):
            solve_stiff(**{"derivative": decay, "t0": 0, "y0": [1.0], "t1": 1, **options})
    with pytest.raises(IntegrationError, match=r"the derivative is not finite at t = 0.0"):
        solve_stiff(lambda t, y: y * math.nan, 0, [1.0], 1)
    with pytest.raises(IntegrationError, match=r"the jacobian is not finite at t = 0.0"):
        solve_stiff(decay, 0, [1.0], 1, jacobian=lambda t, y: [[math.inf]])
    with pytest.raises(IntegrationError, match="3 steps were not enough"):
        solve_stiff(decay, 0, [1.0], 1, max_steps=3)
    with pytest.raises(IntegrationError, match=r"SciPy cannot continue at t = 1\.0.*step size") as caught:
        solve_stiff(lambda t, y: y * y, 0, [1.0], 2)
    assert caught.value.solution.t[-1] == caught.value.t


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy.integrate", None)
    with pytest.raises(ArmwrightError, match="the method radau is SciPy's, which is not installed: pip install scipy"):
        solve_stiff(decay, 0, [1.0], 1)
