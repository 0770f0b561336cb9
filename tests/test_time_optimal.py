"""Time-optimal motions: equal to toppra where its model holds, to integration and to brute force where friction is viscous."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, linprog

import armwright as aw
from armwright.trajectory import time_optimal
from armwright.trajectory.path_speed import SpeedBounds, fastest_speeds
from armwright.trajectory.paths import path_grid, spline_through


def way_points(seed: int, count: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.8, 0.8, (count, n))


def limits_of(arm: aw.Robot) -> tuple[np.ndarray, np.ndarray]:
    return np.array([j.max_velocity for j in arm.joints]), np.array([j.max_torque for j in arm.joints])


def excess(arm: aw.Robot, motion, velocity=np.inf, torque=np.inf, acceleration=np.inf) -> float:
    """How far beyond its limits a motion goes, as a part of them, at ten times between any two places of its grid."""
    knots = np.array(motion.knots)
    t = (knots[:-1, None] + np.diff(knots)[:, None] * (np.arange(10) + 0.5) / 10).ravel()
    q, qd, qdd = motion(t)
    used = np.abs(qd) / velocity, np.abs(qdd) / acceleration, np.abs(arm.inverse_dynamics(q, qd, qdd)) / torque
    return max(x.max() for x in used) - 1


def by_toppra(arm: aw.Robot, points, velocity, acceleration, torque, dry=0.0, count=1000) -> float:
    places, rigid = spline_through(points, arm.n, arm.name).breaks, arm.with_friction(0.0, 0.0)
    toppra = pytest.importorskip("toppra", reason="toppra is not installed")
    toppra.setup_logging("ERROR")
    path = toppra.SplineInterpolator(places, points, bc_type="natural")
    scheme = {"discretization_scheme": toppra.constraint.DiscretizationType.Interpolation}
    both = lambda x: np.stack([-x, x], axis=1)  # noqa: E731
    held = []
    if velocity is not None:
        held.append(toppra.constraint.JointVelocityConstraint(both(velocity)))
    if acceleration is not None:
        held.append(toppra.constraint.JointAccelerationConstraint(both(acceleration), **scheme))
    if torque is not None:
        rub = np.full(arm.n, dry)
        held.append(toppra.constraint.JointTorqueConstraint(rigid.inverse_dynamics, both(torque), rub, **scheme))
    grid = np.linspace(0, places[-1], count + 1)
    return toppra.algorithm.TOPPRA(held, path, gridpoints=grid, solver_wrapper="seidel").compute_trajectory().duration


CASES = {
    "torque": (False, False, True, 0.0),
    "torque and speed": (True, False, True, 0.0),
    "torque and speed, dry friction": (True, False, True, 2.0),
    "speed and acceleration": (True, True, False, 0.0),
    "all": (True, True, True, 1.0),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "seed", "count"), [("panda", 2, 4), ("ur5e", 1, 3), ("panda", 4, 6)])
def test_as_fast_as_toppra_where_its_model_holds_and_within_all_limits(
    case: str, name: str, seed: int, count: int
) -> None:
    fast, strong, heavy, dry = CASES[case]
    arm = aw.load(name).with_friction(0.0, dry)
    points, (speeds, torques) = way_points(seed, count, arm.n), limits_of(arm)
    velocity, acceleration, torque = (
        limit if wanted else None for limit, wanted in ((speeds, fast), (np.full(arm.n, 8.0), strong), (torques, heavy))
    )
    given = {
        "velocity": np.inf if velocity is None else velocity,
        "acceleration": np.inf if acceleration is None else acceleration,
        "torque": np.inf if torque is None else torque,
    }
    motion = time_optimal(arm, points, **given)
    assert motion.duration == pytest.approx(by_toppra(arm, points, velocity, acceleration, torque, dry), rel=1e-3)
    assert excess(arm, motion, **given) < 1e-3
    q, qd, _ = motion([motion.start, motion.end])
    np.testing.assert_allclose(q, points[[0, -1]], atol=1e-9)
    np.testing.assert_allclose(qd, 0, atol=1e-6)


def pendulum(viscous: float, coulomb: float = 0.0) -> aw.Robot:
    rows = [
        {
            "type": "revolute",
            "a": 0.0,
            "alpha": 0.0,
            "d": 0.0,
            "mass": 2.0,
            "com": [0.0, -0.4, 0.0],
            "inertia": [0.1, 0.1, 0.1, 0, 0, 0],
        }
    ]
    return aw.Robot.from_dh(rows, convention="modified", gravity=[0, -9.81, 0]).with_friction(viscous, coulomb)


@pytest.mark.parametrize(("viscous", "coulomb"), [(0.0, 0.0), (1.0, 0.0), (4.0, 1.0)])
def test_a_pendulum_drives_with_all_it_has_and_then_brakes_with_all_it_has(viscous: float, coulomb: float) -> None:
    end, torque = 2.0, 15.0

    def run(tau: float, q: float, way: int):
        """With all the torque from rest at q, forth or, in time, back, until it leaves the path; 0.42 kg m^2, 0.8 kg m."""
        rates = lambda _, y: [way * y[1], way * (tau - viscous * y[1] - coulomb - 0.8 * 9.81 * np.sin(y[0])) / 0.42]  # noqa: E731
        leaves = lambda _, y: y[0] - (end if way > 0 else 0.0)  # noqa: E731
        leaves.terminal = True
        return solve_ivp(rates, (0, 5), [q, 0.0], rtol=1e-10, atol=1e-12, dense_output=True, events=leaves)

    def passing(run, q: float) -> tuple[float, float]:
        """When and how fast one of the two comes by a position."""
        t = brentq(lambda t: run.sol(t)[0] - q, run.t[0], run.t[-1])
        return t, float(run.sol(t)[1])

    drive, brake = run(torque, 0.0, 1), run(-torque, end, -1)
    middle = brentq(lambda q: passing(drive, q)[1] - passing(brake, q)[1], 1e-3, end - 1e-3)
    arm = pendulum(viscous, coulomb)
    motion = time_optimal(arm, [[0.0], [end]], torque=torque)
    assert motion.duration == pytest.approx(passing(drive, middle)[0] + passing(brake, middle)[0], rel=1e-3)
    assert excess(arm, motion, torque=torque) < 1e-3
    assert {(x.joint, x.quantity) for x in motion.limiting} == {(0, "torque")}


def two_links(viscous: float) -> aw.Robot:
    link = {
        "type": "revolute",
        "alpha": 0.0,
        "d": 0.0,
        "mass": 2.0,
        "com": [0.25, 0.0, 0.0],
        "inertia": [0.05, 0.05, 0.05, 0, 0, 0],
    }
    rows = [{"a": 0.0, **link}, {"a": 0.5, **link}]
    return aw.Robot.from_dh(rows, convention="modified", gravity=[0, -9.81, 0]).with_friction(viscous, 0.5)


def by_brute_force(arm: aw.Robot, path, torque: np.ndarray, s: np.ndarray, top: float, levels: int) -> float:
    """The least time over all sequences of paces of a grid, from interval to interval within the torques at its ends."""
    q, first, second = path(s)
    still, lengths = np.zeros_like(q), np.diff(s)
    c = arm.inverse_dynamics(q, still, still)
    a = arm.inverse_dynamics(q, still, first) - c
    forth, back = arm.inverse_dynamics(q, first, second), arm.inverse_dynamics(q, -first, second)
    twice = (arm.inverse_dynamics(q, 2 * first, still) - arm.inverse_dynamics(q, -2 * first, still)) / 2
    viscous = twice - (forth - back) / 2
    dry, b = (forth - back) / 2 - viscous, (forth + back) / 2 - c
    pace = np.linspace(0, top, levels)
    x = pace**2
    time = np.where(x == 0, 0.0, np.inf)
    for k, h in reversed(list(enumerate(lengths))):
        u = (x - x[:, None]) / (2 * h)  # from row to column
        good = np.ones_like(u, bool)
        for end, at in ((k, np.s_[:, None]), (k + 1, np.s_[None, :])):
            for j in range(arm.n):
                rest = b[end, j] * x + viscous[end, j] * pace + c[end, j] + dry[end, j]
                good &= np.abs(a[end, j] * u + rest[at]) <= torque[j]
        with np.errstate(divide="ignore"):
            step = 2 * h / (pace[:, None] + pace)
        time = np.min(np.where(good, step + time, np.inf), axis=1)
    return float(time[0])


@pytest.mark.parametrize("viscous", [0.0, 1.5, 5.0])
def test_two_links_are_as_fast_as_the_best_of_all_motions_on_a_grid(viscous: float) -> None:
    arm, torque = two_links(viscous), np.array([40.0, 14.0])
    motion = time_optimal(arm, [[-1.2, 0.3], [0.1, 1.4], [0.9, -0.5]], torque=torque, points=60)
    s, _ = path_grid(motion.path, 60)
    top = 1.2 * motion.law.coefficients[:, 0, 1].max()
    brute = by_brute_force(arm, motion.path, torque, s, top, levels=500)
    assert 0.975 * brute < motion.duration < brute  # with twice the levels half as far away
    assert excess(arm, motion, torque=torque) < 1e-3


def test_every_sweep_finds_what_linear_programming_finds() -> None:
    rng = np.random.default_rng(3)
    slope, high, low = rng.normal(1, 2, (40, 9)), rng.uniform(0.01, 1, (40, 9)), -rng.uniform(0.01, 1, (40, 9))
    cap = rng.uniform(0.5, 5, 41)
    x = fastest_speeds(SpeedBounds(slope, high, low, cap))
    top = np.zeros(41)
    for k in reversed(range(40)):
        A = np.concatenate([np.stack([-slope[k], np.ones(9)], axis=1), np.stack([slope[k], -np.ones(9)], axis=1)])
        found = linprog([-1, 0], A, np.concatenate([high[k], -low[k]]), bounds=[(0, cap[k]), (0, top[k + 1])])
        top[k] = found.x[0]
    y = 0.0
    for k in range(40):
        y = max(0.0, min(top[k + 1], (high[k] + slope[k] * y).min()))
        assert x[k + 1] == pytest.approx(y, abs=1e-9)


def test_viscous_friction_slows_a_motion_down_and_its_torque_is_counted() -> None:
    points, free = way_points(2, 4, 7), aw.load("panda").with_friction(0.0, 0.0)
    rubbed = free.with_friction(viscous=8.0)
    velocity, torque = limits_of(free)
    slow, fast = time_optimal(rubbed, points), time_optimal(free, points)
    assert slow.duration > 1.3 * fast.duration
    assert excess(rubbed, slow, velocity, torque) < 1e-3
    assert excess(rubbed, fast, velocity, torque) > 0.3
    use = aw.torques_along(rubbed, slow, every=0.002).utilisation
    assert max(use.torque) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("friction", [(0.0, 0.0, 0.0), (3.0, 3.0, 0.05), (30.0, 1.0, 0.0)])
def test_limits_hold_between_places_however_few_there_are(friction: tuple[float, float, float]) -> None:
    arm = aw.load("ur5e").with_friction(*friction)
    velocity, torque = limits_of(arm)
    durations = []
    for count in (30, 200, 1000):
        motion = time_optimal(arm, way_points(1, 4, 6), points=count)
        assert excess(arm, motion, velocity, torque) < 1e-3
        durations.append(motion.duration)
    assert durations[0] > durations[1] > durations[2] > 0.99 * durations[1]


def test_without_friction_the_way_back_takes_as_long() -> None:
    arm, points = aw.load("panda").with_friction(0.0, 0.0), way_points(5, 5, 7)
    assert time_optimal(arm, points[::-1]).duration == pytest.approx(time_optimal(arm, points).duration, rel=1e-5)


def test_accelerations_do_not_chatter_where_a_joint_turns_back() -> None:
    arm = aw.load("ur5e").with_friction(1.0, 2.0)
    points = np.zeros((5, 6))
    points[:, 0], points[:, 1] = [0, 1, 2, 3, 4], [-1, -0.2, -1, -0.2, -1]
    u = time_optimal(arm, points / 2).law.coefficients[:, 0, 2]
    turns = np.diff(u)[1:] * np.diff(u)[:-1] < 0
    large = np.minimum(np.abs(np.diff(u)[1:]), np.abs(np.diff(u)[:-1])) > 0.02 * np.abs(u).max()
    assert np.sum(turns & large) < 20


def test_a_trajectory_gives_its_path_whatever_its_pace_and_stops_at_corners() -> None:
    arm, points = aw.load("ur5e"), way_points(1, 3, 6)
    line = time_optimal(arm, points[:2])
    for path in (
        aw.trajectory.normal_spline(*points[:2], 3.0),
        aw.trajectory.linear([0, 5], points[:2]),
        line,
    ):
        assert time_optimal(arm, path).duration == pytest.approx(line.duration, rel=1e-4)
    corner = time_optimal(arm, aw.trajectory.linear([0, 1, 3], points))
    assert corner.duration == pytest.approx(line.duration + time_optimal(arm, points[1:]).duration, rel=1e-4)
    passing = corner(np.array([line.duration]))
    np.testing.assert_allclose(passing[0][0], points[1], atol=1e-3)
    velocity, torque = limits_of(arm)
    assert excess(arm, corner, velocity, torque) < 1e-3


def test_gears_that_lose_power_slow_the_drive_and_help_the_brake() -> None:
    arm, torque, part = pendulum(0.0), 15.0, 0.6
    motion = time_optimal(arm, [[0.0], [2.0]], torque=torque, efficiency=part)
    t = np.array(motion.knots)[:-1] + np.diff(motion.knots) / 2
    q, qd, qdd = motion(t)
    tau = arm.inverse_dynamics(q, qd, qdd)[:, 0]
    assert tau.max() == pytest.approx(part * torque, rel=1e-3)
    assert tau.min() == pytest.approx(-torque / part, rel=1e-3)
    assert motion.duration > time_optimal(arm, [[0.0], [2.0]], torque=torque).duration


def test_within_a_jerk_one_joint_goes_by_the_seven_phases_that_are_the_fastest() -> None:
    points = np.zeros((2, 6))
    points[1, 5] = 2.0
    motion = time_optimal(aw.load("ur5e"), points, velocity=1.0, acceleration=2.0, jerk=10.0, torque=np.inf)
    assert motion.duration == pytest.approx(2.0 / 1.0 + 1.0 / 2.0 + 2.0 / 10.0, rel=1e-3)
    seven = ["jerk", "acceleration", "jerk", "velocity", "jerk", "acceleration", "jerk"]
    assert [x.quantity for x in motion.limiting if x.end - x.begin > 0.01] == seven


@pytest.mark.parametrize("jerk", [2000.0, 200.0])
def test_a_jerk_is_held_together_with_all_other_limits(jerk: float) -> None:
    arm, points = aw.load("panda"), way_points(2, 4, 7)
    velocity, torque = limits_of(arm)
    free, motion = time_optimal(arm, points), time_optimal(arm, points, jerk=jerk)
    assert excess(arm, motion, velocity, torque) < 1e-3
    t = np.linspace(0, motion.duration, 30001)
    q, qd, qdd = motion(t)
    assert np.abs(np.diff(qdd, axis=0)).max() / t[1] < 1.001 * jerk
    np.testing.assert_allclose(q[[0, -1]], points[[0, -1]], atol=1e-9)
    np.testing.assert_allclose([qd[[0, -1]], qdd[[0, -1]]], 0, atol=1e-6)
    assert free.duration < motion.duration < 3 * free.duration
    off = np.linalg.norm(free(np.linspace(0, free.duration, 4000))[0][:, None] - q[::3000], axis=-1).min(axis=0)
    assert off.max() < 2e-3


def test_what_limits_a_motion_is_reported_from_beginning_to_end() -> None:
    arm = aw.load("ur5e")
    motion = time_optimal(arm, way_points(1, 4, 6))
    told = motion.limiting
    assert {x.quantity for x in told} == {"torque", "velocity"}
    assert sum(x.end - x.begin for x in told) > 0.98 * motion.duration
    assert all(a.end <= b.begin for a, b in itertools.pairwise(told))
    assert str(told[0]).startswith("torque of joint 2 (shoulder_lift_joint) from 0 to 0.")
    first = time_optimal(arm, way_points(1, 4, 6), acceleration=1.0).limiting[0]
    assert (first.quantity, first.begin) == ("acceleration", 0.0)


def test_few_pieces_are_nearly_the_motion_and_a_simulation_follows_them_compiled() -> None:
    arm = aw.load("ur5e")
    motion = time_optimal(arm, way_points(1, 4, 6))
    whole = motion.in_pieces(10_000)
    assert len(whole.knots) <= len(motion.law.breaks)
    near = motion.in_pieces()
    t = np.linspace(0, motion.duration, 1000)
    assert len(near.knots) <= 33 and near.traceable and near.duration == motion.duration
    np.testing.assert_allclose(near(t)[0], motion(t)[0], atol=1e-4)
    run = aw.simulate(arm, aw.torque.computed_torque(near, 100, 20), rtol=1e-6)
    np.testing.assert_allclose(run.q[-1], way_points(1, 4, 6)[-1], atol=1e-4)
    with pytest.warns(aw.SlowWarning):
        drive = aw.torque.computed_torque(motion.holding(), 100, 20)
        held = aw.simulate(arm, drive, duration=0.02, step=0.001, integrator="rk4")
    np.testing.assert_allclose(held.q[-1], motion(0.02)[0], atol=1e-5)


POINTS = [[0.0] * 6, [0.5] * 6]


@pytest.mark.parametrize(
    ("points", "given", "said"),
    [
        (POINTS, {"torque": 10.0}, r"joint 2 \(shoulder_lift_joint\) is too weak to creep along the path at s = .* % of the path\): that takes .* N m, it has 10 N m"),
        (POINTS[:1], {}, "points has one row"),
        ([POINTS[0], POINTS[0], POINTS[1]], {}, r"points\[0\] and points\[1\] are the same point"),
        ([[0.0] * 5, [1.0] * 5], {}, r"points have shape \(2, 5\); expected \(m, 6\)"),
        (POINTS[0], {}, r"points have shape \(6,\)"),
        ([POINTS[0], [np.nan] * 6], {}, r"points\[1, 0\] = nan is not finite"),
        (aw.trajectory.rest([0.0] * 6, 1.0), {}, "no joint moves along the path"),
        (aw.trajectory.normal_spline([0.0] * 6, [1.0] * 6, 1.0).holding(), {}, "the path has no end"),
        (aw.trajectory.normal_spline([0.0], [1.0], 1.0), {}, "the path has 1 joints; ur5e has 6"),
        (POINTS, {"torque": np.inf}, "neither torques nor accelerations of ur5e are limited"),
        (POINTS, {"velocity": [1.0, 2.0]}, r"velocity has shape \(2,\)"),
        (POINTS, {"acceleration": np.nan}, "acceleration = nan"),
        (POINTS, {"torque": -1.0}, "torque = -1.0; expected numbers above zero"),
        (POINTS, {"efficiency": 1.5}, "expected at most 1"),
        (POINTS, {"jerk": 0.0}, "jerk = 0.0; expected numbers above zero"),
        (aw.trajectory.linear([0, 1, 2], [*POINTS, [0.0] * 6]), {"jerk": 9.0}, "jerk= needs a path of continuous curvature"),
        (POINTS, {"points": 3}, "points = 3: expected a whole number, 8 or more"),
    ],
)  # fmt: skip
def test_impossible_requests_are_errors(points, given, said) -> None:
    with pytest.raises(aw.InputError, match=said):
        time_optimal(aw.load("ur5e"), points, **given)


def test_a_pendulum_too_weak_at_its_worst_place_is_reported_with_few_places_too() -> None:
    with pytest.raises(aw.InputError, match="too weak"):
        time_optimal(pendulum(0.0), [[0.3], [2.7]], torque=0.8 * 9.81 * 0.99, points=8)


def test_a_motion_of_many_pieces_says_how_it_is_traced() -> None:
    motion = time_optimal(aw.load("ur5e"), POINTS)
    assert not motion.traceable
    with pytest.raises(aw.InputError, match="in_pieces"):
        motion.trace("t")


def test_a_path_of_many_points_that_shake_is_passed_within_all_limits() -> None:
    """What is exceeded twofold between places tightens limits, and never beyond what creeping takes."""
    arm = aw.load("ur5e")
    shaken = 1e-3 * np.random.default_rng(2).normal(size=(1000, 6)).cumsum(axis=0)
    motion = time_optimal(arm, np.array([0, -1.2, 1.2, 0, 0.5, 0]) + shaken)
    velocity, torque = limits_of(arm)
    assert excess(arm, motion, velocity, torque) < 2e-3
    np.testing.assert_allclose(motion(motion.end)[0], motion.path(motion.path.end)[0], atol=1e-12)


def test_a_joint_that_cannot_move_is_reported() -> None:
    arm = aw.load("ur5e")
    joints = (*arm.joints[:5], replace(arm.joints[5], max_torque=0.0))
    with pytest.raises(aw.InputError, match="max_torque of wrist_3_joint is zero, so nothing moves it"):
        time_optimal(replace(arm, joints=joints), way_points(0, 3, 6))
    with pytest.raises(aw.InputError, match="time_optimal got 'ur5e'; expected a robot"):
        time_optimal("ur5e", way_points(0, 3, 6))
    with pytest.raises(aw.InputError, match="expected at most"):
        time_optimal(arm, way_points(0, 3, 6), points=10**12)


@pytest.mark.parametrize("coulomb", [0.0, 3.0])
@pytest.mark.parametrize(("name", "seed", "count"), [("panda", 3, 5), ("kinova_gen3", 0, 2), ("ur5e", 0, 2)])
def test_the_fastest_motion_reaches_its_limits_and_exceeds_none_also_where_it_rests(
    name: str, seed: int, count: int, coulomb: float
) -> None:
    """At rest no dry friction helps to brake: the last torque is held to the limit without it."""
    arm = aw.load(name).with_friction(2.0, coulomb)
    motion = time_optimal(arm, way_points(seed, count, arm.n))
    use = aw.torques_along(arm, motion, every=motion.duration / 5000).utilisation
    assert use.doubts == []
    assert max(use.torque.max(), use.speed.max()) > 1 - 1e-3
