"""Trajectories: their derivatives, knots and ends, tracing, joining and scaling, limits, and the papers' motions."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from conftest import close

import armwright as aw
from armwright import trajectory as tr
from armwright.algebra import cos, sin
from armwright.errors import InputError
from armwright.graph import Graph
from armwright.graph.interpret import interpret
from armwright.trajectory.cartesian import rotated, rotation_vector

RNG = np.random.default_rng(7)
TIMES = np.array([-0.5, 0.2, 1.0, 1.9, 2.5])
POINTS = RNG.normal(size=(5, 3))
RATES = RNG.normal(size=(5, 3))
EPS = np.finfo(float).eps


def wave(t):
    return [sin(t * 2.0), cos(t * 3.0) * t]


def wave_velocity(t):
    return [cos(t * 2.0) * 2.0, cos(t * 3.0) - sin(t * 3.0) * t * 3.0]


def wave_acceleration(t):
    return [sin(t * 2.0) * -4.0, sin(t * 3.0) * -6.0 - cos(t * 3.0) * t * 9.0]


WAVE = tr.function(wave, -0.5, 2.0, 2, (wave_velocity, wave_acceleration), traceable=True)
CUBIC = tr.cubic(TIMES, POINTS, start_velocity=[0.1, -0.2, 0.3])

TRAJECTORIES = {
    "cubic": CUBIC,
    "quintic": tr.quintic(TIMES, POINTS),
    "quintic with velocities": tr.quintic(TIMES, POINTS, RATES),
    "quintic with accelerations": tr.quintic(TIMES, POINTS, RATES, -RATES),
    "spline": tr.spline(TIMES, POINTS),
    "spline of degree 3": tr.spline(TIMES, POINTS, degree=3),
    "hermite": tr.hermite(TIMES, POINTS, RATES),
    "linear": tr.linear(TIMES, POINTS),
    "rest": tr.rest([1.0, 2.0], 3.0),
    "normal spline": tr.normal_spline([0.1, 2.0], [1.0, -1.0], 2.5, start=-1.0),
    "trapezoidal": tr.trapezoidal([0.0, 1.0], [2.0, 0.5], velocity=1.0, acceleration=[2.0, 1.5]),
    "triangular": tr.trapezoidal([0.0, 1.0], [0.2, 0.5], velocity=10.0, acceleration=2.0),
    "blended": tr.blended(POINTS, 3.0, [9.0, 8.0, 7.0]),
    "cycloidal": tr.cycloidal([0.0, 1.0], [2.0, 0.5], 3.0, start=0.5),
    "function": WAVE,
    "shifted": CUBIC.shifted(2.0),
    "scaled": CUBIC.scaled(0.4),
    "lasting": WAVE.lasting(7.0),
    "reversed": CUBIC.reversed(),
    "reversed twice": CUBIC.reversed().scaled(2.0).reversed(),
    "holding": CUBIC.holding(),
    "joined": CUBIC.then(tr.normal_spline(POINTS[-1], POINTS[0], 1.5)).then(CUBIC.reversed(), allow_jump=True),
}
TRACEABLE = {name: motion for name, motion in TRAJECTORIES.items() if motion.traceable}


@pytest.fixture(params=list(TRAJECTORIES.values()), ids=list(TRAJECTORIES))
def motion(request: pytest.FixtureRequest) -> tr.Trajectory:
    return request.param


def span(motion: tr.Trajectory) -> tuple[float, float]:
    return motion.knots[0], motion.knots[-1]


def inner_times(motion: tr.Trajectory, count: int = 40) -> np.ndarray:
    return np.random.default_rng(3).uniform(*span(motion), count)


def just_before_and_after(motion: tr.Trajectory, time: float) -> list[tr.base.State]:
    gap = 4 * EPS * max(1.0, abs(time))
    return [motion(time - gap), motion(time + gap)]


# ------------------------------------------------------------------------------------------- derivatives and knots


def test_rates_are_derivatives_in_fifty_digits(motion: tr.Trajectory) -> None:
    with mpmath.workdps(50):
        h = mpmath.mpf("1e-15")
        for time in inner_times(motion, 6):
            t = mpmath.mpf(float(time))
            _, qd, qdd = motion.trace(t)
            before, after = motion.trace(t - h), motion.trace(t + h)
            for rates, order in ((qd, 0), (qdd, 1)):
                slopes = [(b - a) / (2 * h) for a, b in zip(before[order], after[order], strict=True)]
                # the constants of the formulas are floats, and so are their products
                assert all(abs(x - y) <= 4 * EPS * abs(y) + 1e-25 for x, y in zip(rates, slopes, strict=True))


def test_call_gives_what_trace_gives(motion: tr.Trajectory) -> None:
    t = inner_times(motion)
    for values, traced in zip(motion(t), motion.trace(t), strict=True):
        assert values.shape == (40, motion.n)
        for joint in range(motion.n):
            np.testing.assert_allclose(values[:, joint], traced[joint], rtol=1e-13, atol=1e-13)


def test_one_time_many_times_and_grids_of_times(motion: tr.Trajectory) -> None:
    t = inner_times(motion, 6)
    single = [motion(float(time)) for time in t]
    for order, (line, grid) in enumerate(zip(motion(t), motion(t.reshape(2, 3)), strict=True)):
        assert single[0][order].shape == (motion.n,)
        np.testing.assert_allclose(line, [values[order] for values in single], rtol=1e-13, atol=1e-13)
        assert np.array_equal(grid.reshape(6, motion.n), line)


@pytest.mark.parametrize("name", TRACEABLE)
def test_a_traced_graph_computes_the_same(name: str) -> None:
    motion = TRACEABLE[name]
    graph = Graph()
    q, qd, qdd = motion.trace(graph.input("t"))
    times = np.concatenate([inner_times(motion), motion.knots])
    results = interpret([*q, *qd, *qdd], {"t": times})
    expected = np.concatenate(motion(times), axis=-1)
    got = np.stack([np.broadcast_to(np.asarray(x, float), times.shape) for x in results], axis=-1)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", TRACEABLE)
def test_single_precision_stays_single(name: str) -> None:
    motion = TRACEABLE[name]
    t = inner_times(motion, 5).astype(np.float32)
    for traced, exact in zip(motion.trace(t), motion(np.clip(t, *span(motion))), strict=True):
        for joint, values in enumerate(traced):
            assert np.asarray(values).dtype in (np.float32, np.int64)  # a plain 0 does not depend on t
            np.testing.assert_allclose(np.broadcast_to(values, 5), exact[:, joint], rtol=2e-4, atol=2e-4)


CONTINUOUS = {  # the highest derivative that does not jump at a knot: 0 position, 1 velocity, 2 acceleration
    "cubic": 2,
    "quintic": 2,
    "quintic with velocities": 2,
    "quintic with accelerations": 2,
    "spline": 2,
    "spline of degree 3": 2,
    "hermite": 1,
    "linear": 0,
    "trapezoidal": 1,
    "triangular": 1,
    "scaled": 2,
    "reversed": 2,
}


@pytest.mark.parametrize(("name", "order"), CONTINUOUS.items())
def test_nothing_jumps_at_a_knot(name: str, order: int) -> None:
    motion = TRAJECTORIES[name]
    for knot in motion.knots[1:-1]:
        before, after = just_before_and_after(motion, knot)
        for k in range(order + 1):
            np.testing.assert_allclose(before[k], after[k], rtol=1e-12, atol=1e-11)
        if order < 2:
            assert np.abs(before[order + 1] - after[order + 1]).max() > 1e-3


@pytest.mark.parametrize(("rates", "smooth"), [(None, (3, 4)), (RATES, (3,))])
def test_the_jerk_of_a_quintic_spline_is_continuous(rates: np.ndarray | None, smooth: tuple[int, ...]) -> None:
    motion = tr.quintic(TIMES, POINTS, rates)
    for k, h in enumerate(np.diff(TIMES)[:-1]):
        for order in smooth:
            factors = np.array([math.perm(p, order) * h ** max(p - order, 0) for p in range(6)])
            before = motion.coefficients[k] @ factors
            after = motion.coefficients[k + 1][:, order] * math.factorial(order)
            close(before, after, 1e-11)


@pytest.mark.parametrize(
    "name", ["cubic", "quintic", "quintic with velocities", "spline", "spline of degree 3", "linear"]
)
def test_via_points_are_met(name: str) -> None:
    close(TRAJECTORIES[name](TIMES)[0], POINTS, 1e-13)


def test_given_velocities_and_accelerations_are_met() -> None:
    q, qd, qdd = tr.hermite(TIMES, POINTS, RATES, -RATES)(TIMES)
    close(q, POINTS, 1e-13)
    close(qd, RATES, 1e-12)
    close(qdd, -RATES, 1e-11)
    close(tr.quintic(TIMES, POINTS, RATES)(TIMES)[1], RATES, 1e-12)


def test_end_velocities_of_a_cubic() -> None:
    motion = tr.cubic(TIMES, POINTS, [0.1, -0.2, 0.3], 2.0)
    close(motion(TIMES[0])[1], [0.1, -0.2, 0.3], 1e-15)
    close(motion(TIMES[-1])[1], [2.0] * 3, 1e-13)


REST_TO_REST = {
    "quintic": (tr.quintic(TIMES, POINTS), 2),
    "normal spline": (tr.normal_spline(POINTS[0], POINTS[-1], 2.0), 2),
    "cycloidal": (tr.cycloidal(POINTS[0], POINTS[-1], 2.0), 2),
    "trapezoidal": (tr.trapezoidal(POINTS[0], POINTS[-1], 1.0, 1.0), 1),
    "cubic": (tr.cubic(TIMES, POINTS), 1),
    "slower": (tr.normal_spline(POINTS[0], POINTS[-1], 1.5).scaled(1.3).shifted(0.1), 2),
    "backwards": (tr.normal_spline(POINTS[-1], POINTS[0], 1.5, start=0.3).reversed(), 2),
    "joined": (tr.normal_spline(POINTS[0], POINTS[1], 1.1).then(tr.normal_spline(POINTS[1], POINTS[-1], 0.7)), 2),
}


@pytest.mark.parametrize("name", REST_TO_REST)
def test_rest_at_both_ends(name: str) -> None:
    motion, order = REST_TO_REST[name]
    for time, point in ((motion.start, POINTS[0]), (motion.end, POINTS[-1])):
        state = motion(time)
        close(state[0], point, 1e-13)
        for rate in state[1 : order + 1]:
            assert not rate.any()


def test_the_normal_spline_has_no_jerk_at_its_ends() -> None:
    motion = tr.normal_spline(0.0, 1.0, 1.0)
    jerk = np.polynomial.Polynomial(motion.coefficients[0, 0]).deriv(3)
    assert jerk(0.0) == 0.0
    assert abs(jerk(1.0)) < 1e-11


def test_a_polynomial_is_its_own_spline() -> None:
    t = np.linspace(0.0, 2.0, 9)
    for degree in (3, 5):
        p = np.polynomial.Polynomial(RNG.normal(size=degree + 1))
        fine = np.linspace(0.0, 2.0, 50)
        got = tr.spline(t, p(t), degree=degree)(fine)
        for k, values in enumerate(got):
            close(values[:, 0], p.deriv(k)(fine) if k else p(fine), 1e-10)


def test_accelerations_of_a_sampled_motion_converge_with_the_fourth_power_of_the_step() -> None:
    fine = np.linspace(0.0, 3.0, 400)
    errors = []
    for count in (51, 101):
        t = np.linspace(0.0, 3.0, count)
        errors.append(np.abs(tr.spline(t, np.sin(2 * t))(fine)[2][:, 0] + 4 * np.sin(2 * fine)).max())
    assert errors[1] < errors[0] / 12
    assert errors[1] < 1e-4


def test_ten_thousand_samples_are_a_trajectory_too() -> None:
    t = np.linspace(0.0, 10.0, 10_000)
    motion = tr.spline(t, np.sin(t))
    assert not motion.traceable
    close(motion(np.array([0.0, 3.3, 10.0]))[1][:, 0], np.cos([0.0, 3.3, 10.0]), 1e-9)
    assert motion.trace(3.3)[0][0] == pytest.approx(math.sin(3.3), abs=1e-12)


def test_differences_of_a_function_stay_inside_its_span() -> None:
    asked = []

    def f(t: float) -> list[float]:
        asked.append(t)
        return wave(t)

    t = np.linspace(-0.5, 2.0, 60)
    q, qd, qdd = tr.function(f, -0.5, 2.0, 2)(t)
    assert min(asked) >= -0.5 and max(asked) <= 2.0
    close(q, np.array(wave(t)).T, 1e-14)
    close(qd, np.array(wave_velocity(t)).T, 1e-11)
    close(qdd, np.array(wave_acceleration(t)).T, 1e-9)


# ------------------------------------------------------------------------------------------------ speed and limits


def test_a_trapezoid_reaches_its_limits_and_no_more() -> None:
    motion = tr.trapezoidal([0.0, 1.0], [2.0, 0.5], velocity=1.0, acceleration=[2.0, 1.5])
    assert motion.knots == pytest.approx([0.0, 0.5, 2.0, 2.5])
    q, qd, qdd = motion(np.linspace(0.0, 2.5, 501))
    assert np.abs(qd).max(axis=0) == pytest.approx([1.0, 0.25])
    assert np.abs(qdd).max(axis=0) == pytest.approx([2.0, 0.5])
    close(q[:, 0] / 2.0, (1.0 - q[:, 1]) / 0.5, 1e-14)  # a straight line in joint space


def test_a_short_way_has_no_cruise() -> None:
    motion = tr.trapezoidal(0.0, 0.5, velocity=10.0, acceleration=2.0)
    assert motion.knots == pytest.approx([0.0, 0.5, 1.0])
    assert motion(0.5)[1] == pytest.approx([1.0])


def test_a_trapezoid_of_given_duration() -> None:
    thirds = tr.trapezoidal([0.0], [1.0], duration=3.0)
    assert thirds.knots == pytest.approx([0.0, 1.0, 2.0, 3.0])
    slower = tr.trapezoidal(0.0, 2.0, velocity=1.0, acceleration=2.0, duration=5.0, start=1.0)
    assert (slower.start, slower.end) == pytest.approx((1.0, 6.0))
    assert np.abs(slower(np.linspace(1.0, 6.0, 101))[1]).max() == pytest.approx(0.5)


def limited(limits: list[tuple[float, float] | None]) -> aw.Robot:
    arm = aw.random_robot(len(limits), seed=1, prismatic=0.0)
    return replace(arm, joints=tuple(replace(j, limits=x) for j, x in zip(arm.joints, limits, strict=True)))


def test_limits_respected_make_an_empty_report() -> None:
    arm = limited([(0.0, 2.0), None])
    motion = tr.trapezoidal([0.0, 1.0], [2.0, 0.5], velocity=1.0, acceleration=2.0)
    report = tr.check_limits(motion, arm, velocity=1.0, acceleration=[2.0, math.inf])
    assert not report and len(report) == 0
    assert str(report) == "all joints stay within their limits"


def test_limits_exceeded_are_reported_with_joint_amount_and_time() -> None:
    arm = limited([(-1.0, 1.0), (-0.5, 0.5)])
    motion = tr.function(lambda t: [1.5 * math.sin(t), 0.2], 0.0, 2 * math.pi, 2)
    report = tr.check_limits(motion, arm, velocity=[1.2, 1.0], samples=101)
    high, low, *speeds = sorted(report, key=lambda e: (e.quantity, -e.value))
    assert [e.quantity for e in report] == ["position", "position", "velocity", "velocity"]
    assert {e.joint for e in report} == {0}
    assert high.value == pytest.approx(1.5, abs=1e-9) and high.by == pytest.approx(0.5, abs=1e-9)
    assert high.time == pytest.approx(math.pi / 2, abs=1e-4)
    assert high.begin == pytest.approx(math.asin(1 / 1.5), abs=0.07) and high.begin >= math.asin(1 / 1.5)
    assert low.value == pytest.approx(-1.5, abs=1e-9)
    assert speeds[0].value == pytest.approx(1.5, abs=1e-6) and speeds[1].value == pytest.approx(-1.5, abs=1e-6)
    text = str(report)
    assert text.startswith("4 limits exceeded:\n  joint 1 (")
    assert "position 1.5 rad is 0.5 above the limit 1 rad at t = 1.57" in text
    assert "is 0.5 below the limit -1 rad" in text


def test_the_speeds_of_the_robot_are_limits_where_none_are_given() -> None:
    arm = limited([None, None]).map_joints(lambda joint: replace(joint, max_velocity=0.9))
    motion = tr.trapezoidal([0.0, 1.0], [2.0, 0.5], velocity=1.0, acceleration=2.0)
    assert {(e.joint, e.quantity, e.limit) for e in tr.check_limits(motion, arm)} == {(0, "velocity", 0.9)}
    assert not tr.check_limits(motion, arm, velocity=1.1)
    assert not tr.check_limits(motion, arm.map_joints(lambda joint: replace(joint, max_velocity=0.0)))  # not known


def test_a_jump_of_acceleration_at_a_knot_is_seen() -> None:
    motion = tr.PiecewisePolynomial([0.0, 1.0, 1.001, 2.0], [[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 1.0]]])
    spike = replace(motion, coefficients=[[[0, 0, 0.0]], [[0, 0, 50.0]], [[5e-5, 0.1, 0.0]]])
    assert tr.check_limits(spike, limited([None]), acceleration=99.0, samples=2)


# --------------------------------------------------------------------------------------- joining, moving, holding


def test_shifting_scaling_and_reversing() -> None:
    t = inner_times(CUBIC, 10)
    q, qd, qdd = CUBIC(t)
    for moved, times, rate in (
        (CUBIC.shifted(3.0), t + 3.0, 1.0),
        (CUBIC.scaled(2.0), -0.5 + (t + 0.5) * 2, 0.5),
        (CUBIC.lasting(6.0), -0.5 + (t + 0.5) * 2, 0.5),
        (CUBIC.reversed(), 2.0 - t, -1.0),
        (CUBIC.reversed().lasting(6.0), -0.5 + (2.5 - t) * 2, -0.5),
        (CUBIC.reversed().reversed(), t, 1.0),
    ):
        got = moved(times)
        for values, expected in zip(got, (q, qd * rate, qdd * rate**2), strict=True):
            close(values, expected, 1e-12)
    assert CUBIC.lasting(6.0).duration == pytest.approx(6.0)


def test_one_after_the_other() -> None:
    second = tr.normal_spline(POINTS[-1], POINTS[0], 1.5, start=100.0)
    both = CUBIC.then(second)
    assert (both.start, both.end, both.n) == (-0.5, 4.0, 3)
    assert both.knots == pytest.approx([*TIMES, 4.0])
    for time in (0.3, 2.4):
        assert np.array_equal(both(time), CUBIC(time))
    close(both(3.0), second(100.5), 1e-12)
    assert both.then(CUBIC, allow_jump=True).end == pytest.approx(7.0)


def test_holding_rests_outside() -> None:
    motion = CUBIC.holding()
    assert (motion.start, motion.end) == (-math.inf, math.inf)
    q, qd, qdd = motion([-9.0, 0.3, 9.0])
    close(q, [POINTS[0], CUBIC(0.3)[0], POINTS[-1]], 1e-14)
    assert not qd[[0, 2]].any() and not qdd[[0, 2]].any()
    assert np.array_equal(qd[1], CUBIC(0.3)[1])
    for traced, values in zip(motion.trace(np.array([-9.0, 0.3, 9.0])), (q, qd, qdd), strict=True):
        close(np.array(traced).T, values, 1e-14)


def test_what_comes_of_a_holding_trajectory_holds() -> None:
    motion = CUBIC.holding()
    back = CUBIC.reversed()
    for held in (motion.shifted(1.0), motion.scaled(2.0), motion.lasting(1.0), motion.reversed(), motion.then(back)):
        assert not held(1e3)[1].any()
    assert CUBIC.then(back.holding()).end == math.inf
    assert motion.holding() is motion
    assert tr.sampled(motion, 8).duration == 3.0


def test_a_sampled_trajectory_is_near_and_traceable() -> None:
    wave_again = tr.sampled(WAVE)
    assert wave_again.traceable
    t = inner_times(WAVE)
    for got, expected, tolerance in zip(wave_again(t), WAVE(t), (1e-8, 1e-6, 1e-4), strict=True):
        close(got, expected, tolerance)


def test_more_than_32_pieces_are_not_for_compiling() -> None:
    times = np.arange(34.0)
    assert tr.cubic(times[:33], times[:33]).traceable
    assert not tr.cubic(times, times).traceable
    half = tr.cubic(times[:20], times[:20])
    assert half.traceable and not half.then(half.reversed()).traceable


def test_an_end_missed_by_rounding_is_the_end() -> None:
    motion = tr.cycloidal(0.0, 1.0, 0.3)
    assert motion(0.1 + 0.2)[0] == pytest.approx([1.0])
    assert repr(motion) == "<Cycloid of 1 joint from 0.0 to 0.3 s>"


def test_a_trajectory_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        CUBIC.coefficients[0, 0, 0] = 1.0
    with pytest.raises(AttributeError):
        CUBIC.breaks = TIMES


# ------------------------------------------------------------------------------------------- straight lines in space

ATTITUDE = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
RR_START = [0.3, 1.0]


def pose(R: np.ndarray, *position: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, position
    return T


@cache
def unlimited(name: str) -> aw.Robot:
    arm = aw.load(name)
    return replace(arm, joints=tuple(replace(joint, limits=None) for joint in arm.joints))


def on_the_way(law: tr.Trajectory, orientation: str = "full") -> tuple[aw.Robot, tr.Trajectory]:
    """A robot of seven joints on a line with a turn."""
    arm = aw.random_robot(7, seed=3, prismatic=0.0)
    rng = np.random.default_rng(1)
    q0 = rng.uniform(-1.0, 1.0, 7)
    first, last = arm.forward_kinematics(q0), arm.forward_kinematics(q0 + rng.uniform(-0.3, 0.3, 7))
    return arm, tr.cartesian_line(arm, first, last, law, q0, orientation)


def near_slopes(motion: tr.Trajectory, t: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """qd and qdd by differences of fourth order."""
    states = [motion(t + k * h) for k in (-2, -1, 1, 2)]
    a, b = ((s[0] - 8 * s[1] + 8 * s[2] - s[3]) / (12 * h) for s in ([x[k] for x in states] for k in (0, 1)))
    return a, b


@pytest.mark.parametrize("orientation", ["full", "axis", "free"])
def test_the_tool_stays_on_the_line(orientation: str) -> None:
    law = tr.cycloidal(0.0, 1.0, 2.0)
    arm, motion = on_the_way(law, orientation)
    t = np.linspace(0.0, 2.0, 17)
    T, expected = arm.forward_kinematics(motion(t)[0]), motion.path(law(t)[0][:, 0])
    np.testing.assert_allclose(T[:, :3, 3], expected[:, :3, 3], atol=2e-12)
    same = {"full": np.s_[:, :3, :3], "axis": np.s_[:, :3, 2], "free": np.s_[:, :0, :0]}[orientation]
    np.testing.assert_allclose(T[same], expected[same], atol=2e-12)


@pytest.mark.parametrize("orientation", ["full", "axis", "free"])
def test_rates_on_a_line_are_derivatives(orientation: str) -> None:
    _, motion = on_the_way(tr.cycloidal(0.0, 1.0, 2.0), orientation)
    t = np.linspace(0.1, 1.9, 13)
    _, qd, qdd = motion(t)
    velocities, accelerations = near_slopes(motion, t, 2e-4)
    close(velocities, qd, 1e-8)
    close(accelerations, qdd, 1e-8)


def test_the_tool_moves_as_the_law_says() -> None:
    law = tr.normal_spline(0.0, 1.0, 2.0)
    arm, motion = on_the_way(law)
    t = np.linspace(0.0, 2.0, 9)
    q, qd, qdd = motion(t)
    _, sd, sdd = law(t)
    J, rate = arm.jacobian(q), arm.jacobian_derivative(q, qd)
    close((J @ qd[..., None])[..., 0], sd * motion.path.twists(np.zeros(()))[0], 1e-11)
    close((J @ qdd[..., None] + rate @ qd[..., None])[..., 0], sdd * motion.path.twists(np.zeros(()))[0], 1e-10)


def test_a_line_is_exact_between_few_knots() -> None:
    law = tr.linear([0.0, 1.0], [0.0, 1.0])
    line = tr.cartesian_line(*rr_line(), law, RR_START, "free", knots=3)
    fine = tr.cartesian_line(*rr_line(), law, RR_START, "free")
    t = np.linspace(0.0, 1.0, 21)
    for got, expected in zip(line(t), fine(t), strict=True):
        close(got, expected, 1e-10)


def rr_line() -> tuple[aw.Robot, np.ndarray, np.ndarray]:
    arm = aw.load("rr")
    return arm, arm.forward_kinematics(RR_START), arm.forward_kinematics([1.9, 0.5])


def test_a_line_can_be_joined_sampled_and_checked() -> None:
    arm, first, last = rr_line()
    line = tr.cartesian_line(arm, first, last, tr.normal_spline(0.0, 1.0, 1.0), RR_START, "free")
    motion = line.then(tr.rest([1.9, 0.5], 1.0)).holding()
    assert not line.traceable and not motion.traceable
    close(np.array(motion.trace(0.4)), motion(0.4), 1e-14)
    near = tr.sampled(line)
    assert near.traceable
    close(near(0.43)[0], line(0.43)[0], 1e-6)
    assert {e.quantity for e in tr.check_limits(line, arm, velocity=0.1, samples=51)} == {"velocity"}
    close(line.reversed()(0.2)[0], line(0.8)[0], 1e-12)


@pytest.mark.parametrize(("turning", "orientation"), [(False, "full"), (True, "full"), (True, "axis"), (False, "free")])
def test_the_tool_goes_round_a_circle(turning: bool, orientation: str) -> None:
    arm = aw.random_robot(7, seed=3, prismatic=0.0)
    q0 = np.random.default_rng(1).uniform(-1.0, 1.0, 7)
    first, axis = arm.forward_kinematics(q0), np.array([0.6, 0.0, 0.8])
    center = first[:3, 3] + 0.05 * np.array([0.8, 0.0, -0.6])
    law = tr.cycloidal(0.0, 1.0, 2.0)
    motion = tr.cartesian_circle(arm, first, center, 2e305 * axis, law, q0, 0.6, turning, orientation)
    t = np.linspace(0.1, 1.9, 13)
    q, qd, qdd = motion(t)
    arms = arm.forward_kinematics(q)[:, :3, 3] - center
    np.testing.assert_allclose(np.linalg.norm(arms, axis=-1), 0.05, atol=2e-12)
    np.testing.assert_allclose(arms @ axis, 0.0, atol=2e-12)
    speed = np.linalg.norm((arm.jacobian(q) @ qd[..., None])[:, :3, 0], axis=-1)
    close(speed, 0.05 * 0.6 * law(t)[1][:, 0], 1e-10)
    counterclockwise = np.arctan2(
        np.cross(-np.array([0.8, 0.0, -0.6]), arms) @ axis, arms @ -np.array([0.8, 0.0, -0.6])
    )
    close(counterclockwise, 0.6 * law(t)[0][:, 0], 1e-9)
    velocities, accelerations = near_slopes(motion, t, 2e-4)
    close(velocities, qd, 1e-8)
    close(accelerations, qdd, 1e-8)
    if orientation == "full":
        R = arm.forward_kinematics(q)[:, :3, :3] @ first[:3, :3].T
        np.testing.assert_allclose(R, rotated(0.6 * turning * axis, law(t)[0][:, 0]), atol=3e-12)


@pytest.mark.parametrize("blend", [None, 0.02])
def test_blends_stay_within_limits_and_near_the_points(blend: float | None) -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.2], [1.0, 1.0], [1.05, 1.0], [-0.3, 0.4]])
    v, a = np.array([1.5, 0.8]), np.array([4.0, 3.0])
    motion = tr.blended(points, v, a, blend)
    t = np.linspace(motion.start, motion.end, 4001)
    q, qd, qdd = motion(t)
    assert (np.abs(qd) <= v * (1 + 1e-9)).all() and (np.abs(qdd) <= a * (1 + 1e-9)).all()
    close(motion([motion.start, motion.end])[0], points[[0, -1]], 1e-12)
    assert np.abs(motion([motion.start, motion.end])[1][0]).max() < 1e-12
    assert np.abs(np.diff(qd, axis=0)).max() < 4.0 * 1.01 * (t[1] - t[0])  # the velocity does not jump
    assert np.abs(np.diff(q, axis=0) - (t[1] - t[0]) * (qd[1:] + qd[:-1]) / 2).max() < 4.0 * (t[1] - t[0]) ** 2
    missed = [np.min(np.max(np.abs(q - point), axis=1)) for point in points]
    assert max(missed) <= (blend or 1.0) * (1 + 1e-6)
    stopping = sum(tr.trapezoidal(x, y, v, a).duration for x, y in pairwise(points))
    assert blend or motion.duration < stopping


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 2.0, 3.0, math.pi - 1e-9, math.pi])
def test_a_rotation_is_found_again_from_its_matrix(angle: float) -> None:
    axis = np.array([0.6, -0.48, 0.64])
    R = rotated(axis * angle, np.array(1.0))
    close(R @ R.T, np.eye(3), 1e-14)
    np.testing.assert_allclose(rotated(rotation_vector(R), np.array(1.0)), R, atol=1e-14)
    assert np.linalg.norm(rotation_vector(R)) == pytest.approx(angle, abs=1e-14)


def test_mata_straight_line() -> None:
    """Section 5.2: the PUMA from (0.50, 0, 0.05) to (0.62, 0.30, 0.11) in 5 s, attitude ZYZ (0, 90, 180) degrees."""
    arm = unlimited("puma560")
    R = ATTITUDE @ np.diag([-1.0, -1.0, 1.0])
    q0 = np.radians([-17.0, -62.0, -155.0, 158.0, 55.0, 13.0])
    law = tr.linear([0.0, 5.0], [0.0, 1.0])
    motion = tr.cartesian_line(arm, pose(R, 0.5, 0.0, 0.05), pose(R, 0.62, 0.3, 0.11), law, q0)
    q, qd, _ = motion(np.linspace(0.0, 5.0, 51))
    np.testing.assert_allclose(np.degrees(q[0]), [-17.47, -62.509, -154.621, 158.459, 54.845, 12.805], atol=1e-3)
    speed = np.linalg.norm((arm.jacobian(q) @ qd[..., None])[:, :3, 0], axis=-1)
    close(speed, np.full(51, 0.0657267069), 1e-9)


def test_angeles_straight_line() -> None:
    """Example 2: x = 1.33, z = 1.80, y by the normal spline, constant attitude, 1 s; joints and torques of the digest."""
    arm = aw.load("thomas_tesar")
    q0 = np.radians([0.0, 90.0, -135.0, 45.0, 90.0, 90.0])
    law = tr.normal_spline(0.0, 1.0, 1.0)
    motion = tr.cartesian_line(arm, pose(ATTITUDE, 1.33, 0.0, 1.8), pose(ATTITUDE, 1.33, 1.0, 1.8), law, q0)
    ends = [
        [0.0, 90.140359, -135.040989, 44.900629, 90.0, 90.0],
        [47.385944, 68.585621, -108.142697, 39.557076, 137.385944, 90.0],
    ]
    np.testing.assert_allclose(np.degrees(motion([0.0, 1.0])[0]), ends, atol=1e-6)
    expected = [
        [0.0, 2134.952163, 2144.559617, 492.462, 0.0, 0.0],
        [-181.300571, 2194.347854, 2158.297085, 462.694661, 0.0, 0.0],
        [0.0, 3634.120023, 2202.214652, 413.260114, 0.0, 0.0],
    ]
    np.testing.assert_allclose(arm.inverse_dynamics(*motion([0.0, 0.5, 1.0])), expected, atol=1e-6)
    peak = np.abs(arm.inverse_dynamics(*motion(np.linspace(0.0, 1.0, 51)))).max(axis=0)
    np.testing.assert_allclose(peak, [2121.51239, 4523.722145, 2408.614955, 492.462, 187.768627, 0.0], atol=1e-5)


# ------------------------------------------------------------------------------------------------------ the papers


def test_mohan_and_saha_equation_38() -> None:
    """theta = pi t/T - sin(2 pi t/T)/2 for all joints, T = 10, and the torques of the digest on it."""
    motion = tr.cycloidal([0.0] * 6, [math.pi] * 6, 10.0)
    t = np.linspace(0.0, 10.0, 21)
    close(motion(t)[0][:, 3], math.pi * t / 10 - np.sin(2 * math.pi * t / 10) / 2, 1e-14)
    tau = aw.load("puma_mohan2007").inverse_dynamics(*motion([0.0, 1.0, 2.5]))
    expected = [
        [0.0, -62.846342, -0.860043, 0.0, 0.0, 0.0],
        [0.391736, -62.516961, -0.828972, 0.04682, 0.025604, 0.0049],
        [0.578856, -59.539889, -0.654228, 0.049713, 0.049511, 0.00581],
    ]
    np.testing.assert_allclose(tau, expected, atol=1e-6)


def test_angeles_stanford_motion() -> None:
    """q = q(0) + A (t - sin(Bt)/B), B = 2 pi/10, and the torques of the digest on it (joint 3 as b3 = -d3)."""
    A = math.pi * np.array([1 / 30, -1 / 60, 0.01 / math.pi, 1 / 30, 1 / 30, 1 / 30])
    motion = tr.cycloid([0.0, math.pi / 2, 0.0, 0.0, 0.0, 0.0], A, 2 * math.pi / 10)
    assert motion.duration == pytest.approx(10.0)
    close(motion(10.0)[0] - motion(0.0)[0], 10.0 * A, 1e-14)
    tau = aw.load("stanford").inverse_dynamics(*motion([0.0, 1.25, 2.5]))
    expected = np.array(
        [
            [0.0, 13.69476, 0.0, 0.0, -0.35316, 0.0],
            [0.067457, 13.586499, -0.390873, 0.00013, -0.352293, 0.000002],
            [0.090723, 13.08766, -2.863209, 0.003409, -0.346765, 0.000012],
        ]
    )
    expected[:, 2] *= -1  # the robot's coordinate is b3, and so is its force; the digest gives the force along +z3
    np.testing.assert_allclose(tau, expected, atol=1e-6)


def test_grigorov_motion_through_three_points_without_stopping() -> None:
    """The stand-in of the digest for figure 3: a clamped cubic spline, and the torques on it."""
    via = np.radians(
        [[0.0, 60.0, -95.0, 35.0, 0.0], [35.0, 45.0, -70.0, 25.0, -20.0], [70.0, 30.0, -60.0, 30.0, -40.0]]
    )
    motion = tr.cubic([0.0, 3.0, 6.0], via)
    assert np.abs(motion(3.0)[1]).min() > 0.0  # no joint stops at the middle point
    tau = aw.load("grigorov").inverse_dynamics(*motion([0.0, 1.5, 3.0]))
    expected = [
        [845.106482, 14803.036429, 8354.080423, 1176.345771, 1.812699],
        [665.267584, 16051.031481, 8369.524697, 1075.615946, 0.906349],
        [233.951284, 18192.17356, 8463.50478, 987.214829, 0.0],
    ]
    np.testing.assert_allclose(tau, expected, atol=2e-6)


# ------------------------------------------------------------------------------------------------------ the errors

LAW = tr.normal_spline(0.0, 1.0, 1.0)


def singular_line(shoulder: float = 0.3, **options: int) -> tr.Trajectory:
    """Inwards from the outstretched arm, where the joints would have to start with infinite velocity."""
    arm = aw.load("rr")
    first = arm.forward_kinematics([shoulder, 0.0])
    return tr.cartesian_line(
        arm, first, pose(first[:3, :3], *first[:3, 3] / 2), LAW, [shoulder, 0.1], "free", **options
    )


def test_a_stretched_arm_is_singular_wherever_the_search_for_it_ends() -> None:
    """A pose right to 1e-12 leaves the elbow open by 1e-6; by how much, the rounding of each direction decides."""
    for shoulder in np.linspace(-3.0, 3.0, 25):
        with pytest.raises(InputError, match=r"the posture near s = 0[.]0"):
            singular_line(shoulder, knots=5)([0.0])


ERRORS = {
    "out of order": (
        lambda: tr.cubic([0.0, 2.0, 1.0], [0, 1, 2]),
        r"times are out of order: times\[2\] = 1.0 s comes after times\[1\] = 2.0 s; sort the points by time",
    ),
    "equal times": (
        lambda: tr.quintic([0.0, 1.0, 1.0], [0, 1, 2]),
        r"times\[1\] and times\[2\] are both 1.0 s; remove one of the two points",
    ),
    "one time": (lambda: tr.spline([0.0], [0]), r"times has shape \(1,\); expected a list of at least two times"),
    "rows": (
        lambda: tr.cubic([0.0, 1.0], [[0], [1], [2]]),
        "points has 3 rows for 2 times; expected one row for each time",
    ),
    "dimensions": (
        lambda: tr.cubic([0.0, 1.0], np.zeros((2, 2, 2))),
        r"points has shape \(2, 2, 2\); expected \(2, n\): a row for each time",
    ),
    "not finite": (lambda: tr.cubic([0.0, 1.0], [[0, 1], [math.nan, 1]]), r"points\[1, 0\] = nan is not finite"),
    "time not finite": (
        lambda: tr.cubic([0.0, math.inf], [0, 1]),
        r"times\[1\] = inf is not finite; expected times in seconds",
    ),
    "texts": (lambda: tr.cubic([0.0, 1.0], ["a", "b"]), "points holds text, not numbers"),
    "velocity of other joints": (
        lambda: tr.cubic([0, 1], [[0, 1], [1, 2]], [1, 2, 3]),
        r"start_velocity has shape \(3,\); expected \(2,\): one number for each joint",
    ),
    "velocities of other joints": (
        lambda: tr.quintic([0, 1], [[0, 1], [1, 2]], [[0], [1]]),
        "velocities has 1 joints where points has 2",
    ),
    "accelerations alone": (
        lambda: tr.quintic([0, 1], [0, 1], accelerations=[0, 1]),
        "accelerations without velocities; give velocities too, or neither",
    ),
    "degree": (lambda: tr.spline([0, 1], [0, 1], degree=4), "degree = 4; expected 3 or 5"),
    "zero duration": (
        lambda: tr.normal_spline(0, 1, 0),
        "duration = 0 is not above zero; expected seconds, more than zero",
    ),
    "negative duration": (lambda: tr.cycloidal(0, 1, -2.0), "duration = -2 is not above zero"),
    "duration no number": (lambda: tr.rest(0, [1, 2]), r"duration = \[1, 2\] is not a number"),
    "wrong joints": (
        lambda: tr.cycloidal([0, 1], [1, 2, 3], 1.0),
        "q0 has 2 joints and q1 has 3; expected equal numbers of joints",
    ),
    "outside": (
        lambda: CUBIC([0.0, 3.5]),
        r"t = 3.5 s lies outside the trajectory, which runs from -0.5 to 2.5 s; choose t inside, or use .holding\(\)",
    ),
    "before": (lambda: CUBIC(-1), r"t = -1.0 s lies outside"),
    "t not finite": (lambda: CUBIC(math.nan), "t = nan is not finite; expected a time in seconds"),
    "t a text": (lambda: CUBIC("now"), "t holds text, not numbers"),
    "coefficients": (
        lambda: tr.PiecewisePolynomial([0, 1, 2], [[[1.0]]]),
        r"coefficients have shape \(1, 1, 1\); expected \(2, n, powers\) for 3 breaks",
    ),
    "jump": (
        lambda: CUBIC.then(tr.rest(POINTS[-1] + [0, 0.5, 0], 1)),
        r"joint 2 would jump from .* start where the first trajectory ends, or pass allow_jump=True",
    ),
    "other joints": (lambda: CUBIC.then(WAVE), "cannot join 3 joints with 2; expected equal numbers of joints"),
    "no trajectory": (lambda: CUBIC.then(3), "cannot join a int; expected a trajectory"),
    "factor": (
        lambda: CUBIC.scaled(-1),
        r"factor = -1 is not above zero; expected more than zero: 2 is half as fast; .reversed\(\) runs backwards",
    ),
    "lasting": (lambda: CUBIC.lasting(0), "duration = 0 is not above zero"),
    "trapezoid of nothing": (
        lambda: tr.trapezoidal(0, 1, velocity=1),
        "got velocity 1, acceleration None, duration None; expected a velocity and an acceleration",
    ),
    "trapezoid going nowhere": (
        lambda: tr.trapezoidal(1, 1, 1, 1),
        r"q0 and q1 are equal, so there is no fastest motion; use rest\(q, duration\)",
    ),
    "trapezoid too short": (
        lambda: tr.trapezoidal(0, 2, 1, 2, duration=2),
        "duration = 2.0 s is too short: within these limits the motion takes 2.5 s; allow more time or raise",
    ),
    "trapezoid backwards": (
        lambda: tr.trapezoidal(0, 2, -1, 2),
        r"velocity = \[-1.0\] must be above zero for every joint",
    ),
    "frequency": (lambda: tr.cycloid(0, 1, 0), "frequency = 0 is not above zero"),
    "function backwards": (lambda: tr.function(wave, 1, 0, 2), "end = 0.0 s does not come after start = 1.0 s"),
    "function of no joints": (lambda: tr.function(wave, 0, 1, 0), "n = 0: expected the number of joints, 1 or more"),
    "function of other joints": (
        lambda: tr.function(wave, 0, 1, 3)(0.5),
        r"wave\(0.5\) gave shape \(2,\); expected \(3,\): one number for each joint",
    ),
    "function not finite": (
        lambda: tr.function(lambda t: math.nan, 0, 1, 1)(0.5),
        r"<lambda>\(0.*\) = \[nan\] is not finite",
    ),
    "function of texts": (lambda: tr.function(lambda t: "x", 0, 1, 1)(0.5), "did not give numbers"),
    "one derivative": (
        lambda: tr.function(wave, 0, 1, 2, (wave,)),
        "expected two functions of t: velocity and acceleration",
    ),
    "no function": (lambda: tr.function(3, 0, 1, 2), "3 is not a function of t"),
    "traceable without derivatives": (
        lambda: tr.function(wave, 0, 1, 2, traceable=True),
        "traceable=True needs the derivatives",
    ),
    "step": (
        lambda: tr.function(wave, 0, 1, 2, step=0.5),
        "step = 0.5 s is too long: nine samples must fit into 1.0 s; expected 0.125 s or less",
    ),
    "untraceable": (
        lambda: tr.function(wave, 0, 1, 2).trace(Graph().input("t")),
        "cannot be traced: t is a Expr, expected numbers; give function",
    ),
    "sampled": (lambda: tr.sampled(CUBIC, 0), "pieces = 0: expected a whole number, 1 or more"),
    "limits of other joints": (
        lambda: tr.check_limits(CUBIC, limited([None])),
        "the trajectory has 3 joints and the robot 1; expected equal numbers",
    ),
    "limit of other joints": (
        lambda: tr.check_limits(WAVE, limited([None, None]), velocity=[1, 2, 3]),
        r"velocity has shape \(3,\); expected one for all joints, or 2: one for each",
    ),
    "negative limit": (
        lambda: tr.check_limits(WAVE, limited([None, None]), velocity=-1),
        "velocity = -1.0; expected numbers above zero, inf for no limit",
    ),
    "samples": (
        lambda: tr.check_limits(WAVE, limited([None, None]), samples=1),
        "samples = 1: expected a whole number, 2 or more",
    ),
    "law of two joints": (
        lambda: tr.cartesian_line(*rr_line(), WAVE, RR_START),
        r"law is for 2 joints; expected a trajectory of one joint from 0 to 1, as normal_spline\(0, 1, T\)",
    ),
    "law a number": (
        lambda: tr.cartesian_line(*rr_line(), 3.0, RR_START),
        "law is for float; expected a trajectory of one joint",
    ),
    "law in metres": (
        lambda: tr.cartesian_line(*rr_line(), tr.normal_spline(0, 0.3, 1), RR_START),
        "law goes from 0.0 to 0.3; expected from 0 to 1",
    ),
    "pose": (
        lambda: tr.cartesian_line(aw.load("rr"), np.eye(3), np.eye(4), LAW, RR_START),
        r"start_pose: got shape \(3, 3\); expected a 4x4 homogeneous transform",
    ),
    "rotation": (
        lambda: tr.cartesian_line(aw.load("rr"), np.eye(4), np.diag([1, 2, 1, 1]), LAW, RR_START),
        "end_pose: its upper left 3x3 block is not a rotation",
    ),
    "equal blended points": (
        lambda: tr.blended([[0.0, 0.0], [0.0, 0.0]], 1.0, 1.0),
        r"points\[0\] and points\[1\] are equal; remove one of them",
    ),
    "one blended point": (
        lambda: tr.blended([[0.0, 0.0]], 1.0, 1.0),
        "points has 1 rows; expected two or more",
    ),
    "a circle beside its start": (
        lambda: tr.cartesian_circle(*rr_line()[:2], [0.1, 0.0, 0.3], [0, 0, 1], LAW, RR_START),
        "the start lies .* m along the axis from the centre; expected it in the plane of the circle",
    ),
    "a circle that turns by a word": (
        lambda: tr.cartesian_circle(
            *rr_line()[:2],
            [0.0, 0.0, 0.0],
            [0, 0, 1],
            LAW,
            RR_START,
            turning="no",  # type: ignore[arg-type]
        ),
        "turning = 'no'; expected True or False",
    ),
    "a circle about no axis": (
        lambda: tr.cartesian_circle(*rr_line()[:2], [0.1, 0.0, 0.3], [0, 0, 0], LAW, RR_START),
        r"axis = \[0, 0, 0\]; expected an axis that is not zero",
    ),
    "knots of a line": (
        lambda: tr.cartesian_line(*rr_line(), LAW, RR_START, knots=1),
        "knots = 1: expected a whole number, 2 or more",
    ),
    "joints of q0": (
        lambda: tr.cartesian_line(*rr_line(), LAW, [0, 1, 2]),
        r"q0 has shape \(3,\); expected \(2,\): one number for each joint",
    ),
    "singular": (
        lambda: singular_line()([0.0]),
        "the posture near s = 0.0 is singular: no joint velocity moves the tool along its path; choose another path or another q0",
    ),
    "overshoot": (
        lambda: tr.cartesian_line(*rr_line(), tr.cubic([0, 1], [0, 1], 50, 0), RR_START, "free")(0.3),
        "the tool cannot follow its path near s = .*: an error of .* m or rad remains; keep away from singular postures, or give more knots=",
    ),
    "tracing a line": (
        lambda: tr.cartesian_line(*rr_line(), LAW, RR_START, "free").trace(Graph().input("t")),
        r"<CartesianPath of 2 joints from 0.0 to 1.0 s> cannot be traced: t is a Expr, expected numbers; use sampled\(trajectory\)",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_got_and_what_to_do(name: str) -> None:
    call, message = ERRORS[name]
    with pytest.raises(InputError, match=message):
        call()


def test_orientations_are_reported() -> None:
    with pytest.raises(
        aw.UnknownNameError, match=r"unknown orientation 'ful'. Did you mean 'full'\? Known: full, axis, free"
    ):
        tr.cartesian_line(*rr_line(), LAW, RR_START, orientation="ful")


@pytest.mark.parametrize("make", [tr.cubic, tr.quintic, tr.spline])
def test_ragged_points_are_reported_by_their_row(make) -> None:
    for points, row in (([[0, 0], [1, 1], [2]], 2), ([[0, 0], 1, [2, 2]], 1), ([(0, 0), (1, 1), np.zeros(3)], 2)):
        with pytest.raises(
            InputError, match=rf"points\[{row}\] has \d numbers and points\[0\] has 2; expected one for each joint"
        ):
            make([0, 1, 2], points)
