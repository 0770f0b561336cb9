"""Tenreiro Machado and Galhano 1994: what the study claims, on errors and evaluations; no time is asserted."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from mpmath import mp, mpf
from test_verdicts import assert_kept

import armwright as aw
from armwright.errors import InputError, SimulationError
from armwright.graph.interpret import interpret
from armwright.integrate import TaylorPolynomials, method, solve
from armwright.integrate.jets import solve_jets
from armwright.simulation.kernels import equations_of
from armwright.simulation.motion_programs import derivative
from armwright.simulation.motion_record import MotionRecord
from armwright.study import papers
from armwright.study.papers import machado1994
from armwright.study.papers.finding import Verdict
from armwright.study.papers.judgement import Against
from armwright.study.work_precision import (
    SERIES_TOLERANCES,
    MethodLine,
    Point,
    TimedMotion,
    WorkPrecision,
    fixed_line,
    pair_line,
    polynomial_line,
    series_line,
    work_precision,
)
from armwright.torque.conversion import as_law

PROTOTYPE = {
    "rk1": (9.897e-2, 4.080e-2, 1.826e-2),
    "rk2": (5.876e-3, 1.424e-3, 3.495e-4),
    "rk3": (6.937e-4, 8.653e-5, 1.066e-5),
    "rk4": (3.055e-5, 1.787e-6, 1.107e-7),
    "rk5": (1.654e-6, 5.157e-8, 1.596e-9),
    "rk6": (3.939e-7, 5.159e-9, 7.984e-11),
    "rk7": (1.222e-7, 9.669e-10, 7.440e-12),
    "rk8": (3.472e-10, 1.217e-12),
    "rk10": (2.667e-11,),
    (2, 1): (6.723e-2, 3.304e-2, 1.637e-2),
    (2, 2): (7.421e-3, 1.830e-3, 4.539e-4),
    (3, 2): (3.642e-3, 9.123e-4, 2.280e-4),
    (3, 3): (7.608e-4, 1.003e-4, 1.272e-5),
    (4, 3): (3.839e-4, 5.024e-5, 6.374e-6),
    (4, 4): (6.472e-5, 3.909e-6, 2.365e-7),
    (5, 4): (3.122e-5, 1.919e-6, 1.175e-7),
    (5, 5): (5.354e-6, 1.809e-7, 5.770e-9),
    (6, 5): (2.624e-6, 8.846e-8, 2.824e-9),
    (6, 6): (4.674e-7, 7.059e-9, 1.062e-10),
}
"""Largest errors of the falling RR arm in 20, 40 and 80 steps of a second, by an independent program from equation (6)."""


ROUNDING = 5 * np.finfo(float).eps
"""What a step may add to an error of positions of some radians, at which errors of 1e-12 show."""


@pytest.fixture(scope="module")
def second():
    return TimedMotion(aw.load("rr"), 1.0, [0.0, 0.0], records=10, repeats=0)


@pytest.mark.parametrize("name", PROTOTYPE, ids=str)
def test_errors_are_those_of_an_independent_program(name, second):
    for count, expected in zip((20, 40, 80), PROTOTYPE[name], strict=False):
        point = (
            second.fixed(method(name), 1 / count)
            if isinstance(name, str)
            else second.polynomials(TaylorPolynomials(*name), 1 / count)
        )
        assert point.steps == count
        assert point.error == pytest.approx(expected, rel=1e-3, abs=count * ROUNDING)


@pytest.fixture(scope="module")
def long():
    return TimedMotion(aw.load("rr"), 10.0, [0.0, 0.0], records=10, repeats=0)


def test_order_8_and_higher_need_a_fifth_of_the_evaluations_of_order_4(long):
    needed = {
        name: fixed_line(long, method(name)).cost_of_accuracy(1e-10, "evaluations") for name in ("rk4", "rk8", "rk10")
    }
    needed |= {
        name: pair_line(long, name).cost_of_accuracy(1e-10, "evaluations")
        for name in ("rkdp87", "dop853", "vern8", "vern9")
    }
    classical = needed.pop("rk4")
    assert all(evaluations < classical / 5 for evaluations in needed.values())


@pytest.mark.parametrize("p", [4, 6, 8])
def test_the_heuristic_polynomials_are_about_as_good_as_runge_kutta_and_better_than_the_standard_ones(p, long):
    steps = {j: polynomial_line(long, TaylorPolynomials(p, j)).cost_of_accuracy(1e-8, "steps") for j in (p - 1, p)}
    assert steps[p] < steps[p - 1]
    assert 0.5 < steps[p] / fixed_line(long, method(f"rk{p}")).cost_of_accuracy(1e-8, "steps") < 2


@pytest.mark.parametrize("name", ["rkf45", "rkv67", "rkdp87", "rkb34"])
def test_the_compiled_rule_is_rule_14(name, long):
    """Its norm is the length of the error, not its largest entry: evaluations differ by a few percent."""
    arm = aw.load("rr")

    def falls(t, y):
        return np.concatenate([y[2:], arm.forward_dynamics(y[:2], y[2:], np.zeros(2))])

    for rule in ("machado", "machado_consistent"):
        compiled = long.pair(method(name), 1e-6, rule)
        plain = solve(falls, 0, np.zeros(4), 10.0, name, rule=rule, rtol=1e-6, times=np.arange(11.0))
        assert compiled.evaluations == pytest.approx(plain.statistics.evaluations, rel=0.15)


def test_the_series_of_heyoka_has_a_point_for_every_tolerance(long):
    """The arm falls from a level rest, where half of all coefficients vanish."""
    pytest.importorskip("heyoka", reason="heyoka is not installed")
    points = series_line(long).points
    assert [point.setting for point in points] == list(SERIES_TOLERANCES)
    assert all(point.error < max(point.setting, 1e-12) for point in points)


def test_the_tenth_order_shows_with_50_digits():
    """In double precision rounding begins where the slope settles."""
    program = derivative(equations_of(MotionRecord(aw.load("rr"), as_law(None, 2))))
    names = [str(x.key) for x in program.arguments[1][1]]

    def falls(t, y):
        return np.array(interpret(program.outputs, dict(zip(names, y, strict=True))), dtype=object) * mpf(1)

    with mp.workdps(50):
        start = [mpf("-0.3"), mpf("0.8"), mpf("0.5"), mpf("1.5"), mpf(0), mpf(0)]
        end = mpf("0.25")
        exact = solve_jets(program, 0, start, end, orders=40, step=end / 10).y[-1][:4]
        for by in (
            lambda n: solve(falls, 0, start, end, "rk10", step=end / n),
            lambda n: solve_jets(program, 0, start, end, orders=10, step=end / n),
        ):
            errors = [max(abs(by(n).y[-1][:4] - exact)) for n in (20, 40)]
            assert abs(mp.log(errors[0] / errors[1], 2) - 10) < 0.3


def test_nothing_that_held_is_lost_and_every_verdict_could_be_another(monkeypatch):
    """The whole study, its times measured once; the only test that runs it."""
    monkeypatch.setattr(machado1994, "TimedMotion", partial(TimedMotion, repeats=0))
    study = papers.study("machado1994")
    assert_kept(study)
    findings = {finding.key: finding for finding in study.findings}
    assert len([key for key in findings if key.startswith("table 1")]) == 25
    for key, finding in findings.items():
        if key.startswith("table 1"):  # stand-ins were chosen by their stages, which says nothing of Butcher's
            assert finding.verdict is (Verdict.UNCHECKABLE if "RKB" in key else Verdict.EQUAL)
    slopes = [finding for key, finding in findings.items() if "order of convergence" in key]
    assert len(slopes) == 25 + 14
    assert {f.verdict for f in slopes} == {Verdict.HOLDS} and {f.against for f in slopes} == {Against.THEORY}
    assert findings["equation (14): exponent of TOL/LTE"].verdict is Verdict.DIFFERS
    assert {plot.title.split(":")[0] for plot in study.plots} >= {f"Figure {k}" for k in range(2, 8)}
    assert study.page().count("<figure") == len(study.plots)


# The command


def points(*rows):
    return tuple(Point(0.0, error, seconds, evaluations, evaluations) for error, seconds, evaluations in rows)


def test_costs_are_interpolated_between_runs():
    line = MethodLine("rk4", 4, "Fixed steps", points((1e-2, 1e-6, 10), (1e-6, 1e-5, 100), (1e-8, 1e-4, 1000)))
    assert line.cost_of_accuracy(1e-4, "evaluations") == pytest.approx(10**1.5)
    assert line.cost_of_accuracy(1e-7) == pytest.approx(10**-4.5)
    assert line.cost_of_accuracy(0.5) == 1e-6
    assert line.cost_of_accuracy(1e-9) is None


def test_the_best_of_a_family_and_of_all():
    lines = (
        MethodLine("rk4", 4, "Fixed steps", points((1e-3, 2e-6, 10), (1e-9, 1e-4, 100))),
        MethodLine("vern8", 8, "Modern", points((1e-3, 3e-6, 10), (1e-9, 1e-5, 100))),
    )
    chart = WorkPrecision("arm", 1.0, lines)
    assert chart.best(1e-3) == ("rk4", 2e-6)
    assert chart.best(1e-9) == ("vern8", pytest.approx(1e-5))
    assert chart.best(1e-9, "Fixed steps") == ("rk4", pytest.approx(1e-4))
    assert chart.best(1e-12) is None
    assert chart.families == ["Fixed steps", "Modern"]


def test_a_page_has_a_plot_for_each_family():
    chart = work_precision(aw.load("rr"), 0.5, ["rk4", "rk8", "rkf45", "rkb45", "vern8"])
    page = chart.page()
    for title in (
        "The best of each family",
        "Fixed steps",
        "Fehlberg, Verner",
        "Butcher (stand-ins)",
        "Dormand-Prince, modern",
    ):
        assert f'aria-label="{title}"' in page
    assert {line.name: line.points[-1].error < 1e-6 for line in chart.lines} == dict.fromkeys(
        ("rk4", "rk8", "rkf45", "rkb45", "vern8"), True
    )


def test_what_cannot_be_timed_is_refused():
    with pytest.raises(InputError, match="integrators are timed compiled"):
        TimedMotion(aw.load("rr"), 1.0, torque=lambda t, q, qd: -qd)
    arm = {"type": "revolute", "alpha": 0, "a": 0, "d": 0, "mass": 3.0, "com": [0.2, 0, 0]}
    swinging = aw.Robot.from_dh([{**arm, "inertia": [0.01, 0.05, 0.05, 0, 0, 0]}], "modified", gravity=[0, -9.81, 0])
    with pytest.raises(SimulationError, match="there is no accurate motion of robot to compare with: at t = "):
        TimedMotion(swinging, 3.0, torque=aw.torque.friction(coulomb=2.0))  # a law that jumps at rest


def test_labels_are_those_of_the_paper():
    assert [machado1994.label(name) for name in ("rk10", "rkf45", "rkdp87")] == ["RK10", "RKF4(5)", "RKDP8(7)"]
