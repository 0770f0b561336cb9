"""Taylor series of high order: as exact as promised, from any start, at any scale, and what they refuse."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from armwright.errors import ArmwrightError, InputError
from armwright.graph import Graph
from armwright.graph.program import Program
from armwright.integrate import Event, IntegrationError, Taylor, solve

pytest.importorskip("heyoka", reason="Taylor integration is heyoka's")

EPS = float(np.finfo(float).eps)


def pendulum(t, y):
    return np.array([y[1], -np.sin(y[0])])


def energy(y):
    return y[..., 1] ** 2 / 2 - np.cos(y[..., 0])


def traced(slopes, size):
    """A program of t and y with these derivatives."""
    graph = Graph()
    t, y = graph.input("t"), [graph.input(f"y{k}") for k in range(size)]
    outputs = slopes(t, *y)
    return Program((("t", (t,)), ("y", tuple(y))), tuple(outputs), (len(outputs),))


def traced_pendulum():
    return traced(lambda t, q, qd: (qd, -q.sin()), 2)


def test_taylor_series_to_machine_precision():
    taylor = Taylor(traced_pendulum())
    times = np.linspace(0, 20, 11)
    solution = taylor.solve(0, [1.0, 0.3], 20, times=times, events=[Event(lambda t, y: y[0], False)])
    reference = solve(pendulum, 0, [1.0, 0.3], 20, "vern9", rtol=1e-14, atol=1e-16, times=times)
    assert np.array_equal(solution.t, times)
    assert np.abs(solution.y - reference.y).max() < 200 * EPS
    assert np.abs(energy(solution.y) - energy(solution.y[0])).max() < 50 * EPS
    assert len(solution.events) == 6 and all(abs(event.y[0]) < 8 * EPS * event.t for event in solution.events)
    assert taylor.order == 20 and solution.statistics.accepted < 80
    back = taylor.solve(20, solution.y[-1], 0)
    assert back.t[-1] == 0 and np.abs(back.y[-1] - [1.0, 0.3]).max() < 500 * EPS
    assert np.diff(taylor.solve(0, [1.0, 0.3], 1, max_step=0.1).t).max() < 0.1 + EPS


def test_taylor_steps_from_rest_where_the_last_coefficients_vanish():
    """By symmetry every other coefficient of the motion of a level pendulum from rest is zero."""
    level = Taylor(traced(lambda t, q, qd: (qd, -q.cos()), 2))
    reference = solve(lambda t, y: np.array([y[1], -np.cos(y[0])]), 0, [0.0, 0.0], 10, "vern9", rtol=1e-14, atol=1e-16)
    assert np.abs(level.solve(0, [0.0, 0.0], 10).y[-1] - reference.y[-1]).max() < 200 * EPS
    still = Taylor(traced(lambda t, x: (t**12,), 1))  # the first twelve coefficients vanish
    assert still.solve(0, [0.0], 2).y[-1][0] == pytest.approx(2**13 / 13, rel=20 * EPS)


def test_a_taylor_step_is_checked_by_its_remainder():
    """A bend that no coefficient far from it sees: the slope at the end of a step is not the derivative there."""
    bend = Taylor(traced(lambda t, x: ((50 * (t - 5)).tanh(),), 1))
    solution = bend.solve(0, [1.0], 7)
    exact = 1 + (np.log(np.cosh(100.0)) - (250 - np.log(2))) / 50  # cosh(250) is exp(250) / 2
    assert solution.y[-1][0] == pytest.approx(exact, abs=1e3 * EPS)
    assert solution.statistics.rejected > 0


def test_taylor_series_of_every_smooth_operation():
    program = traced(lambda t, x, y, z: (t.cos() * 2 - x / (2 + y * y), x.tanh() + (1 + x * x).sqrt(), 1.5), 3)

    def derivative(t, y):
        return np.array([2 * np.cos(t) - y[0] / (2 + y[1] ** 2), np.tanh(y[0]) + np.sqrt(1 + y[0] ** 2), 1.5])

    end = Taylor(program).solve(0.5, [0.1, 0.2, 0.3], 3).y[-1]
    assert np.abs(end - solve(derivative, 0.5, [0.1, 0.2, 0.3], 3, rtol=1e-13, atol=1e-14).y[-1]).max() < 1e-11
    assert Taylor(program, tolerance=1e-6).order < 10
    assert Taylor(traced(lambda t, x: (-x,), 1)).solve(0, [1.0], 1).y[-1][0] == pytest.approx(math.exp(-1), abs=2 * EPS)


def test_numbers_of_a_taylor_integrator_change_without_another_one():
    graph = Graph()
    t, y, k, unused = (graph.input(name) for name in ("t", "y", "k", "unused"))
    decaying = Taylor(Program((("t", (t,)), ("y", (y,)), ("p", (k, unused))), (-(k * y),), (1,)))
    for rate in (0.5, 2.0):
        end = decaying.solve(0, [1.0], 1, numbers=[rate, 7.0]).y[-1][0]
        assert end == pytest.approx(math.exp(-rate), abs=4 * EPS)
    with pytest.raises(InputError, match=r"numbers has shape \(1,\); expected \(2,\)"):
        decaying.solve(0, [1.0], 1, numbers=[0.5])


def test_what_taylor_refuses():
    rough = traced(lambda t, x, y: (x.sign() + abs(y), x.minimum(y)), 2)
    with pytest.raises(InputError, match=r"the program uses abs, min, sign, which heyoka has no Taylor series for"):
        Taylor(rough)
    with pytest.raises(InputError, match=r"the arguments t \(1\), y \(1\) and 2 outputs; expected t \(1\), y \(m\)"):
        Taylor(traced(lambda t, x: (x, x), 1))
    for wrong in (0, 1, True, "1e-9", float("nan")):
        with pytest.raises(InputError, match=rf"tolerance = {wrong!r}; expected a number from 2.22e-16 to 1"):
            Taylor(traced_pendulum(), tolerance=wrong)
    with pytest.raises(InputError, match="the program has parameters of a general robot"):
        Taylor(traced(lambda t, x: (x * x.graph.parameter("m"),), 1))
    growing = Taylor(traced(lambda t, x: (x * x,), 1))
    with pytest.raises(InputError, match=r"y0 is float64 \(2,\); expected float64 \(1,\)"):
        growing.solve(0, [1.0, 2.0], 1)
    with pytest.raises(IntegrationError, match="3 steps were not enough"):
        growing.solve(0, [1.0], 0.9, max_steps=3)
    with pytest.raises(IntegrationError, match=r"not finite|below rounding|not enough") as caught:
        growing.solve(0, [1.0], 2, max_steps=5000)
    assert caught.value.t == pytest.approx(1, abs=1e-6)


def oscillator():
    return traced(lambda t, q, qd: (qd, -q), 2)


def swung(t, amplitude=1.0):
    """The state of the oscillator after a time, from rest."""
    return amplitude * np.array([math.cos(t), -math.sin(t)])


@pytest.mark.parametrize("amplitude", [1e-6, 1.0, 1e6, 1e200])
def test_the_tolerance_is_relative_at_every_scale(amplitude):
    """A motion of micrometres is as exact, in relation, as one of metres; below 0.001 atol= has the say."""
    exact, allowed = swung(10, amplitude), 100 * 1e-9 * amplitude
    series = Taylor(oscillator(), 1e-9)
    assert np.abs(series.solve(0, [amplitude, 0], 10, atol=1e-30).y[-1] - exact).max() < allowed
    by_default = max(allowed, 100 * 1e-12)
    assert np.abs(series.solve(0, [amplitude, 0], 10).y[-1] - exact).max() < by_default
    with pytest.raises(InputError, match="atol = 0 is not a tolerance; expected a positive number"):
        series.solve(0, [amplitude, 0], 10, atol=0)


@pytest.mark.parametrize("start", [0.0, 1e3, -1e9])
def test_a_step_is_as_long_as_the_clock_says(start):
    """Far from zero a length is rounded with the time; an error of half a rounding each step would add up."""
    series = Taylor(oscillator())
    solution = series.solve(start, [1.0, 0.0], start + 500)
    assert np.abs(solution.y[-1] - swung(500)).max() < 500 * EPS
    back = series.solve(start + 500, solution.y[-1], start)
    assert np.abs(back.y[-1] - [1.0, 0.0]).max() < 1000 * EPS


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
def test_loose_tolerances_are_kept_from_a_level_rest(tolerance):
    level = traced(lambda t, q, qd: (qd, -q.cos()), 2)
    reference = solve(lambda t, y: np.array([y[1], -np.cos(y[0])]), 0, [0.0, 0.0], 5, "vern9", rtol=1e-14, atol=1e-16)
    found = Taylor(level, tolerance).solve(0, [0.0, 0.0], 5).y[-1]
    assert np.abs(found - reference.y[-1]).max() < 30 * tolerance


def test_what_stands_still_or_moves_evenly_is_exact():
    assert Taylor(traced(lambda t, x: (0 * x,), 1)).solve(0, [3.0], 1e9).y[-1] == 3
    assert Taylor(traced(lambda t, q, qd: (qd, -q.sin()), 2)).solve(0, [0.0, 0.0], 100).y[-1].tolist() == [0, 0]
    evenly = Taylor(traced(lambda t, x: (0 * x + 2,), 1)).solve(0, [3.0], 1e9)
    assert evenly.y[-1] == 2e9 + 3 and evenly.statistics.accepted < 10


def test_without_heyoka_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "heyoka", None)
    with pytest.raises(ArmwrightError, match="needs heyoka, which is not installed: pip install heyoka"):
        Taylor(traced_pendulum())


def test_entries_that_are_not_controlled_do_not_change_the_steps():
    with_work = traced(lambda t, q, qd, work: (qd, -q.sin(), 1e9 * q), 3)
    plain = Taylor(traced_pendulum(), 1e-12).solve(0.0, [1.0, 0.0], 10.0)
    found = Taylor(with_work, 1e-12, controlled=2).solve(0.0, [1.0, 0.0, 0.0], 10.0)
    assert np.array_equal(found.t, plain.t) and np.array_equal(found.y[:, :2], plain.y)
    assert Taylor(with_work, 1e-12).solve(0.0, [1.0, 0.0, 0.0], 10.0).statistics != plain.statistics
