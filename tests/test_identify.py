"""Identification: torque is linear in the parameters, base parameters are as many as published, estimates keep their word."""

import importlib.util
import json
import re
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import close, random_case, random_transform, with_actuators
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.identify import (
    Fourier,
    Measurement,
    base_parameters,
    condition,
    estimate,
    estimate_payload,
    excitation,
    least_squares,
    measurement,
    parameter_names,
    parameters,
    read,
    regressor,
    with_parameters,
)
from armwright.identify.base_set import random_states
from armwright.identify.parameter_vector import frame_change, parameters_of_pseudo_inertia, pseudo_inertia
from armwright.robot import random_tree
from armwright.trace import evaluation_strategy
from armwright.trajectory import check_limits


@pytest.fixture
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The regressor of many robots, without waiting for a compiler."""
    monkeypatch.setattr(evaluation_strategy, "MAX_UNROLLED_JOINTS", 0)


def torques(arm: aw.Robot, *state: np.ndarray) -> np.ndarray:
    """Inverse dynamics as written, by a formulation that does not know the ten parameters."""
    f = next(f for f in aw.formulations("inverse_dynamics") if f.name == "newton_euler")
    return np.array([f(arm.mechanism(), *(x.tolist() for x in one)) for one in zip(*state, strict=True)])


def gravity_along_first_axis(arm: aw.Robot) -> aw.Robot:
    axis = np.array(arm.mechanism().joints[0].rotation(0).matrix, float)[:, 2]
    return arm.with_gravity(-9.81 * axis)


def special(seed: int) -> aw.Robot:
    """A robot of the kind that rules must know: axes parallel, square or crossing, gravity along some, or none."""
    rng = np.random.default_rng(seed)
    arm = aw.random_robot(1 + seed % 5, seed, prismatic=(0.0, 0.3, 0.6, 1.0)[seed // 5 % 4])
    angle = [0.0, 0.0, np.pi / 2, -np.pi / 2, np.pi, 0.7]
    joints = tuple(
        replace(
            joint,
            alpha=angle[rng.integers(6)],
            theta=(0.0, np.pi / 2, 0.4)[rng.integers(3)],
            a=(0.0, 0.0, 0.3)[rng.integers(3)],
            d=(0.0, 0.0, 0.2)[rng.integers(3)],
        )
        for joint in arm.joints
    )
    gravity = ((0, 0, -9.81), (0, 0, -9.81), (0, -9.81, 0), (9.81, 0, 0), (0, 0, 0), (1, 2, 3))[rng.integers(6)]
    return with_actuators(replace(arm, joints=joints), rng).with_gravity(gravity)


@pytest.mark.parametrize("seed", range(12))
def test_the_regressor_times_the_parameters_is_the_torque(as_written: None, seed: int) -> None:
    """Any joints, gravity, base and payload, with friction and rotors."""
    arm = random_case(1 + seed % 6, seed, actuators=True).arm
    state = random_states(arm, 5, seed)
    close(regressor(arm, *state) @ parameters(arm), torques(arm, *state), 1e-12)


@pytest.mark.parametrize(
    "arm", [aw.load("puma560_geared"), random_case(3, 4, actuators=True).arm], ids=lambda a: a.name
)
def test_the_compiled_regressor_takes_any_batch(arm: aw.Robot) -> None:
    n = arm.n
    q, qd, qdd = (x.reshape(2, 3, n) for x in random_states(arm, 6))
    Y = regressor(arm, q, qd, qdd)
    assert Y.shape == (2, 3, n, 13 * n)
    close(Y @ parameters(arm), arm.inverse_dynamics(q, qd, qdd), 1e-12)
    close(regressor(arm, q[0, 1], qd[0, 1], qdd[0, 1]), Y[0, 1], 1e-14)
    with pytest.raises(aw.InputError, match=r"q has shape \(2,\)"):
        regressor(arm, q[0, 0, :2], qd, qdd)
    with pytest.raises(aw.InputError, match="nan"):
        regressor(arm, np.full(n, np.nan), qd, qdd)


def test_the_regressor_of_a_long_chain() -> None:
    arm = aw.random_robot(14, 2)
    state = random_states(arm, 3)
    close(regressor(arm, *state) @ parameters(arm), torques(arm, *state), 1e-12)


def test_names_and_parameters_go_together() -> None:
    arm = aw.load("puma560_geared")
    named = dict(zip(parameter_names(6), parameters(arm), strict=True))
    upper = arm.links[1]
    assert named["m2"] == upper.mass
    assert named["mx2"] == upper.mass * upper.com[0]
    assert named["Iyy2"] == pytest.approx(upper.inertia[1][1] + upper.mass * (upper.com[0] ** 2 + upper.com[2] ** 2))
    assert named["armature3"] == pytest.approx(arm.joints[2].armature)
    assert len(named) == 78


def test_a_robot_is_made_of_its_parameters_and_the_payload_goes_into_the_last_link() -> None:
    arm = random_case(4, 3, actuators=True).arm
    again = with_parameters(arm, parameters(arm))
    assert again.payload is None
    close(parameters(again), parameters(arm), 1e-14)
    state = random_states(arm, 4)
    close(torques(again, *state), torques(arm, *state), 1e-12)
    with pytest.raises(aw.InputError, match="values has shape"):
        with_parameters(arm, parameters(arm)[:-1])
    massless = parameters(arm)
    massless[0] = 0
    with pytest.raises(aw.InputError, match="no mass and a first moment"):
        with_parameters(arm, massless)


def test_the_pseudo_inertia_holds_the_ten_and_moves_with_its_frame() -> None:
    rng = np.random.default_rng(0)
    ten = rng.normal(size=(5, 10))
    close(parameters_of_pseudo_inertia(pseudo_inertia(ten)), ten, 1e-14)
    arm = aw.random_robot(1, 3).with_tool(random_transform(rng))
    held = arm.with_payload(2.0, (0.1, 0.2, 0.3), np.diag([0.02, 0.03, 0.04]))
    own = parameters(replace(arm, tool=np.eye(4).tolist(), links=held.links, joints=arm.joints))[:10]
    alone = parameters(aw.random_robot(1, 3).with_payload(2.0, (0.1, 0.2, 0.3), np.diag([0.02, 0.03, 0.04])))[:10] - own
    close(frame_change(np.array(arm.tool)) @ alone, parameters(held)[:10] - own, 1e-13)


@pytest.mark.parametrize("actuators", [False, True], ids=["links", "all"])
@pytest.mark.parametrize("seed", range(40))
def test_rules_and_qr_find_the_same_base_parameters(as_written: None, seed: int, actuators: bool) -> None:
    """As many as the rank, and each way with combinations that give back every column of the regressor."""
    arm = special(seed)
    n = arm.n
    rules, qr = (base_parameters(arm, actuators, actuators, by=by) for by in ("rules", "qr"))
    W = regressor(arm, *random_states(arm, 60, 1)).reshape(-1, 13 * n)[:, : 13 * n if actuators else 10 * n]
    lengths = np.linalg.norm(W, axis=0)
    scaled = W / np.where(lengths > 1e-12 * lengths.max(), lengths, np.inf)
    assert len(rules) == len(qr) == np.linalg.matrix_rank(scaled, 1e-9)
    for base in (rules, qr):
        close(W[:, list(base.kept)] @ base.combination[:, : W.shape[1]], W, 1e-9)


@pytest.mark.parametrize("by", ["rules", "qr"])
def test_numbers_of_base_parameters_are_those_published(by: str) -> None:
    """PUMA 560: 36 (Gautier, Khalil 1990); 43 for an arm of seven revolute joints; two more if gravity is askew."""
    puma = aw.load("puma560")
    assert len(base_parameters(puma, False, False, by)) == 36
    assert len(base_parameters(puma.with_gravity([0, -9.81, 0]), False, False, by)) == 38
    seven = gravity_along_first_axis(aw.random_robot(7, 1, prismatic=0))
    assert len(base_parameters(seven, False, False, by)) == 43
    assert len(base_parameters(aw.load("stanford"), False, False, by)) == 33
    assert len(base_parameters(puma, by=by)) == 36 + 12 + 4  # rotors 1 and 2 act as Izz1 and Izz2


@pytest.mark.parametrize("name", ["panda", "iiwa14", "kinova_gen3", "xarm7"])
def test_packaged_arms_of_seven_joints_have_43(name: str) -> None:
    assert len(base_parameters(aw.load(name), False, False)) == 43


def test_the_panda_of_another_reader_has_43() -> None:
    pytest.importorskip("cmeel")
    pytest.importorskip("pinocchio")
    spec = importlib.util.spec_from_file_location("peers", Path(__file__).parents[1] / "benchmarks" / "peers.py")
    peers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peers)
    if not peers.ROBOTS.exists():
        pytest.skip("example-robot-data is not installed")
    panda = peers.panda()
    assert {len(base_parameters(panda, False, False, by)) for by in ("rules", "qr")} == {43}


def test_base_parameters_print_as_sums() -> None:
    base = base_parameters(aw.load("puma560"))
    named = dict(zip(base.names, base.expressions, strict=True))
    assert named["my5"] == "my5 - mz6"
    assert named["mx2"] == "mx2 + 0.4318 m3 + 0.4318 m4 + 0.4318 m5 + 0.4318 m6"
    assert named["Izz1"].startswith("Izz1 + 0.05929 m2") and named["Izz1"].endswith("+ armature1")
    assert str(base).splitlines()[0].split()[:2] == ["1", "Izz1"]
    with pytest.raises(aw.UnknownNameError, match=r"Did you mean 'rules'"):
        base_parameters(aw.load("puma560"), by="rule")


@cache
def moved(name: str) -> tuple[aw.Robot, Fourier]:
    """A robot with friction and rotors, and a motion that shows all of it."""
    arm = gravity_along_first_axis(aw.random_robot(7, 1, prismatic=0)) if name == "7R" else aw.load(name)
    arm = with_actuators(arm, np.random.default_rng(0))
    return arm, excitation(arm, starts=8, iterations=3)


@cache
def excited(name: str) -> tuple[aw.Robot, Measurement]:
    """The same robot, and what its joints do along that motion, without noise."""
    arm, motion = moved(name)
    run = aw.torques_along(arm, motion, every=0.01)
    return arm, Measurement(run.t, run.q, run.qd, run.qdd, run.tau)


def noisy(data: Measurement, part: float, seed: int = 0) -> tuple[Measurement, np.ndarray]:
    """The same with white noise on the torque, as a part of its rms, and that noise per joint."""
    sigma = part * np.sqrt((data.tau**2).mean(axis=0))
    return replace(data, tau=data.tau + np.random.default_rng(seed).normal(size=data.tau.shape) * sigma), sigma


def test_an_excitation_keeps_to_its_limits_and_is_better_than_chance() -> None:
    arm = aw.load("puma560")
    motion = excitation(arm, velocity=1.5, acceleration=[4, 4, 4, 8, 8, 8], iterations=10, starts=8)
    assert not check_limits(motion, arm, 1.5, [4, 4, 4, 8, 8, 8])
    for t in (motion.start, motion.end):
        _, qd, qdd = motion(t)
        assert np.abs(qd).max() < 1e-12 and np.abs(qdd).max() < 1e-11
    times = np.linspace(0, 10, 200)
    q, qd, qdd = motion(times)
    close(np.gradient(q, times, axis=0)[5:-5], qd[5:-5], 2e-2)
    close(np.gradient(qd, times, axis=0)[5:-5], qdd[5:-5], 2e-2)
    assert motion.traceable
    chance = excitation(arm, velocity=1.5, acceleration=[4, 4, 4, 8, 8, 8], iterations=0, starts=1)
    assert 1 < condition(arm, q, qd, qdd) < 0.8 * condition(arm, *chance(times)) < 100
    assert condition(arm, q, 0 * qd, 0 * qdd) == np.inf


def test_an_excitation_is_the_same_for_the_same_seed() -> None:
    arm = aw.load("rr")
    one, two, other = (excitation(arm, iterations=3, starts=4, periods=2, seed=seed) for seed in (1, 1, 2))
    assert one == two != other
    close(one(3.0)[0], one(13.0)[0], 1e-12)
    law = aw.torque.computed_torque(one, kp=100, kd=20)
    run = aw.simulate(arm, law, duration=1.0)  # traced into the compiled loop
    close(run.q[-1], one(1.0)[0], 1e-7)
    box = ([-0.3, -0.2], [0.4, 0.1])
    q, _, _ = excitation(arm, iterations=0, position=box)(np.linspace(0, 10, 500))
    assert (q >= box[0]).all() and (q <= box[1]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"harmonics": 1}, "harmonics = 1: expected a whole number, 2 or more"),
        ({"velocity": -1.0}, "velocity = .* above zero"),
        ({"position": [[0, 0], [1, 0]]}, "joint2 cannot move"),
        ({"position": [0, 1, 2]}, r"expected \(2, 2\)"),
        ({"noise": [1, 0]}, "noise = .* above zero"),
        ({"period": 0.0}, "duration = 0 is not above zero"),
    ],
)
def test_an_excitation_that_cannot_be(options: dict, message: str) -> None:
    with pytest.raises(aw.InputError, match=message):
        excitation(aw.load("rr"), **options)


@pytest.mark.parametrize("name", ["puma560", "7R"])
def test_estimates_are_as_good_as_they_say(name: str) -> None:
    """Within two standard deviations 95 of 100 times, never beyond five, and together a chi-square as it should be."""
    arm, data = excited(name)
    truth = parameters(arm)
    z, squares, unknowns = [], 0.0, 0
    for seed in range(3):
        measured, sigma = noisy(data, 0.05, seed)
        found = estimate(arm, measured)
        error = found.values - found.base.values(truth)
        z += (error / found.deviations).tolist()
        squares += error @ np.linalg.solve(found.covariance, error)
        unknowns += len(error)
        close(found.noise, sigma, 0.15)
    assert np.mean(np.abs(z) < 2) > 0.9  # of some 160, of which 95.4 in 100 are expected
    assert np.abs(z).max() < 5
    assert abs(squares - unknowns) < 5 * np.sqrt(2 * unknowns)
    assert found.condition < 30
    assert max(abs(r.correlation) for r in found.residuals) < 0.2
    assert all(0.9 < r.rms / s < 1.1 for r, s in zip(found.residuals, sigma, strict=True))


def test_data_without_noise_give_the_parameters_themselves() -> None:
    arm, data = excited("puma560")
    found = estimate(arm, data)
    close(found.values, found.base.values(parameters(arm)), 1e-11)
    state = random_states(arm, 20)
    close(found.robot.inverse_dynamics(*state), arm.inverse_dynamics(*state), 1e-9)
    assert "52 base parameters of puma560" in repr(found) and "my5 - mz6" in str(found)


def test_a_long_file_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    arm, data = excited("puma560")
    measured, _ = noisy(data, 0.05)
    whole = estimate(arm, measured)
    monkeypatch.setattr(least_squares, "STATES_PER_CHUNK", 100)
    parts = estimate(arm, measured)
    close(parts.values, whole.values, 1e-10)
    close(parts.tau, whole.tau, 1e-10)


def test_what_is_not_estimated_is_taken_as_known() -> None:
    arm, data = excited("puma560")
    measured, _ = noisy(data, 0.05)
    found = estimate(arm, measured, friction=False, rotors=False)
    assert len(found.base) == 36
    z = (found.values - found.base.values(parameters(arm))) / found.deviations
    assert np.abs(z).max() < 5
    assert [j.viscous for j in found.robot.joints] == [j.viscous for j in arm.joints]
    assert [j.armature for j in found.robot.joints] == pytest.approx([j.armature for j in arm.joints])


def test_what_the_model_lacks_shows_as_correlated_residuals() -> None:
    arm, data = excited("puma560")
    measured, _ = noisy(data, 0.01)
    frictionless = replace(arm, joints=tuple(replace(j, viscous=0.0, coulomb=0.0) for j in arm.joints))
    found = estimate(frictionless, measured, friction=False)
    assert max(r.correlation for r in found.residuals) > 0.8


@pytest.mark.parametrize("part", [0.05, 1.0])
def test_the_robot_found_has_bodies_even_where_noise_leaves_none(part: float) -> None:
    arm, data = excited("puma560")
    measured, _ = noisy(data, part, 1)
    found = estimate(arm, measured)
    robot = found.robot
    assert dict(zip(found.base.names, found.values, strict=True))["Izz6"] < 0  # no robot has these base parameters
    assert 1 < np.abs(found.departure).max() < 5
    kinds = {problem.kind for problem in aw.problems(robot)}
    assert not kinds & {"non-positive mass", "not positive definite", "triangle inequality", "missing inertia"}
    for link in pseudo_inertia(parameters(robot)[:60].reshape(6, 10)):
        assert np.linalg.eigvalsh(link).min() > 0
    assert (parameters(robot)[60:] >= 0).all()
    assert np.linalg.eigvalsh(robot.mass_matrix(random_states(arm, 50)[0])).min() > 0
    inverse = np.linalg.inv(found.covariance / np.outer(found.deviations, found.deviations))
    true = (found.base.values(parameters(arm)) - found.values) / found.deviations
    nearest = found.departure @ inverse @ found.departure
    assert nearest < true @ inverse @ true + 0.1  # the true robot has bodies, so the nearest one is no farther


@pytest.mark.parametrize("seed", range(3))
def test_what_the_data_leave_open_stays_as_it_was_described(seed: int) -> None:
    """Noise may not drive masses away that nothing in the torques tells of."""
    arm, data = excited("panda")
    measured, _ = noisy(data, 0.02, seed)
    found = estimate(arm, measured)
    for before, after in zip(arm.links, found.robot.links, strict=True):
        assert 0.6 * before.mass < after.mass < 1.6 * before.mass
    assert np.sqrt(np.mean(found.departure**2)) < 1


def test_an_excitation_stays_away_from_the_stops() -> None:
    arm = aw.load("panda")
    t = np.linspace(0, 10, 4001)
    for margin in (0.05, 0.2):
        motion = excitation(arm, starts=1, iterations=0, velocity=50.0, acceleration=500.0, margin=margin)
        q, qd, _ = motion(t)
        for joint, positions, speeds in zip(arm.joints, q.T, qd.T, strict=True):
            low, high = joint.limits
            assert positions.min() > low + 0.999 * margin * (high - low)
            assert positions.max() < high - 0.999 * margin * (high - low)
            assert np.abs(speeds).max() < joint.max_velocity * (1 - 0.999 * margin)
    with pytest.raises(aw.InputError, match=r"margin = 0\.5: expected a part"):
        excitation(arm, margin=0.5)


def test_a_payload_is_found_from_torques() -> None:
    rng = np.random.default_rng(0)
    arm = with_actuators(aw.load("puma560"), rng).with_tool(random_transform(rng))
    inertia = np.array([[0.02, 0.003, 0], [0.003, 0.03, 0], [0, 0, 0.025]])
    held = arm.with_payload(2.5, [0.03, -0.02, 0.1], inertia)
    q, qd, qdd = random_states(arm, 500)
    without, tau = arm.inverse_dynamics(q, qd, qdd), held.inverse_dynamics(q, qd, qdd)
    exact = estimate_payload(arm, q, qd, qdd, tau, without)
    close(exact.inertia, inertia, 1e-10)
    z = []
    for _ in range(5):
        sigma = 0.05 * np.sqrt((tau**2).mean(axis=0))
        found = estimate_payload(held, q, qd, qdd, tau + rng.normal(size=tau.shape) * sigma)
        z += [
            (found.mass - 2.5) / found.mass_deviation,
            *(found.com - [0.03, -0.02, 0.1]) / found.com_deviation,
            *((found.inertia - inertia) / found.inertia_deviation)[np.triu_indices(3)],
        ]
        close(found.noise, sigma, 0.2)
    assert np.abs(z).max() < 5 and np.mean(np.abs(z) < 2) > 0.85
    assert found.robot.payload.mass == pytest.approx(2.5, abs=5 * found.mass_deviation)
    assert np.linalg.eigvalsh(np.array(found.body.inertia)).min() > 0
    assert f"{found.mass:.4g} +- " in str(found)


def test_a_payload_of_which_not_everything_shows() -> None:
    arm = aw.load("rr")  # in a plane
    q, qd, qdd = random_states(arm, 300)
    tau = arm.with_payload(1.5, [0.2, 0.1, 0.0], np.diag([0.1, 0.1, 0.1])).inverse_dynamics(q, qd, qdd)
    found = estimate_payload(arm, q, qd, qdd, tau)
    assert found.unseen == ("mz", "Ixx", "Iyy", "Ixy", "Ixz", "Iyz")
    close(found.com, [0.2, 0.1, 0.0], 1e-10)
    assert np.isnan(found.com_deviation[2]) and np.isfinite(found.com_deviation[:2]).all()
    assert found.inertia[2, 2] == pytest.approx(0.1)
    close(found.robot.inverse_dynamics(q, qd, qdd), tau, 1e-9)
    with pytest.raises(
        aw.InputError, match="1 rows with 2 torques for 2 numbers of the payload; expected at least 8 rows"
    ):
        estimate_payload(arm, q[:1], qd[:1], qdd[:1], tau[:1])
    with pytest.raises(aw.InputError, match="numbers of rows differ"):
        estimate_payload(arm, q, qd, qdd, tau[:-1])


def test_a_payload_that_is_nothing_or_no_body_is_reported() -> None:
    arm = aw.load("panda")
    still = np.zeros((1, 7))
    with pytest.raises(aw.InputError, match=r"1 rows with 7 torques for 2 numbers .* expected at least 8 rows"):
        estimate_payload(arm, still, still, still, still)
    still = np.zeros((8, 7))
    with pytest.warns(aw.ModelWarning, match=r"payload of panda: a mass of -7.95 .* is that of no body: signs, units"):
        found = estimate_payload(arm, still, still, still, still)
    assert not found.possible and found.remark in str(found)
    with pytest.raises(aw.InputError, match=r"there is no body to hold: a mass of -7\.95"):
        _ = found.robot
    rng = np.random.default_rng(0)
    state = random_states(arm, 300)
    tau = arm.inverse_dynamics(*state)
    for noise in (0.0, 1.0):
        with pytest.warns(aw.ModelWarning, match="may as well be nothing"):
            found = estimate_payload(arm, *state, tau + noise * rng.normal(size=tau.shape))
        assert found.possible
        assert found.robot.payload.mass == pytest.approx(0.0, abs=max(3 * found.mass_deviation, 1e-12))
    with pytest.warns(aw.ModelWarning, match="not positive definite"):
        hollow = arm.with_payload(1.0, [0, 0, 0.1], -0.05 * np.eye(3)).inverse_dynamics(*state)
    with pytest.warns(
        aw.ModelWarning, match="no body has these numbers; the nearest one is .* standard deviations away"
    ):
        found = estimate_payload(arm, *state, hollow + 0.01 * rng.normal(size=tau.shape))
    assert not found.possible and found.departure > 10
    assert np.linalg.eigvalsh(np.array(found.robot.payload.inertia)).min() > 0


@pytest.mark.parametrize("count", [8, 20, 200])
def test_a_payload_that_can_be_is_not_doubted(count: int) -> None:
    arm, rng = aw.load("puma560"), np.random.default_rng(0)
    held = arm.with_payload(1.0, [0, 0, 0.1], 0.005 * np.eye(3))
    remarks = []
    for seed in range(20):
        state = random_states(arm, count, seed)
        tau = held.inverse_dynamics(*state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            remarks.append(estimate_payload(arm, *state, tau + 0.3 * rng.normal(size=tau.shape)).remark)
    assert sum(map(bool, remarks)) <= 2, remarks


def test_parameters_are_named_for_a_robot_or_a_number_of_links() -> None:
    arm = aw.load("rr")
    assert parameter_names(arm) == parameter_names(2)
    assert len(parameter_names(arm)) == len(parameters(arm)) == 26
    for wrong in ("rr", 2.0, 0, None, True):
        with pytest.raises(aw.InputError, match=r"parameter_names got .*; expected a Robot, or how many"):
            parameter_names(wrong)


@pytest.mark.parametrize("name", ["puma560", "ur10", "stanford"])
def test_an_excitation_keeps_to_its_limits_to_rounding(name: str) -> None:
    arm = aw.load(name)
    slow = replace(arm, joints=tuple(replace(j, max_velocity=0.2 + 0.1 * i) for i, j in enumerate(arm.joints)))
    rates = (np.minimum(1.5, [j.max_velocity for j in slow.joints]), 5.0)
    for seed in range(3):
        motion = excitation(slow, velocity=1.5, acceleration=5.0, starts=2, iterations=1, seed=seed)
        assert not check_limits(motion, slow, *rates, samples=20011)
        top = np.abs(motion(np.linspace(0, 10, 5000))[1]).max(axis=0)
        assert (top > 0.05).all()


def test_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    arm = aw.load("puma560")
    run = aw.torques_along(arm, aw.trajectory.quintic([0, 1, 2], np.random.default_rng(0).normal(size=(3, 6))))
    pytest.importorskip("pyarrow")
    table = read(run.to_parquet(tmp_path / "run.parquet"), 6)
    text = read(table.to_csv(tmp_path / "run.csv"), 6)
    for name in ("t", "q", "qd", "qdd", "tau"):
        close(getattr(table, name), getattr(run, name), 0)
        close(getattr(text, name), getattr(run, name), 1e-11)


def test_velocities_and_accelerations_that_are_missing_are_found() -> None:
    """From positions with the noise of a good encoder, which plain differences would drown the acceleration in."""
    _, motion = moved("puma560")
    times = np.arange(0, 10, 0.002)
    q, qd, qdd = motion(times)
    encoder = q + np.random.default_rng(0).normal(scale=2e-5, size=q.shape)
    seen = measurement(times, encoder, np.zeros_like(q))
    inside = np.isin(times, seen.t)
    assert "low-pass at" in seen.note
    close(seen.qd, qd[inside], 1e-3)
    close(seen.qdd, qdd[inside], 2e-2)
    assert np.abs(np.gradient(np.gradient(encoder, times, axis=0), times, axis=0)).max() > 2 * np.abs(qdd).max()
    clean = measurement(times, q, np.zeros_like(q))
    close(clean.qdd, qdd[np.isin(times, clean.t)], 1e-4)
    from_velocity = measurement(times, q, np.zeros_like(q), qd=qd)
    close(from_velocity.qdd, qdd[np.isin(times, from_velocity.t)], 1e-4)


def test_estimates_from_positions_and_torques_alone() -> None:
    arm, data = excited("puma560")
    measured, _ = noisy(data, 0.05)
    q = data.q + np.random.default_rng(1).normal(scale=1e-5, size=data.q.shape)
    found = estimate(arm, measurement(data.t, q, measured.tau))
    z = (found.values - found.base.values(parameters(arm))) / found.deviations
    assert np.abs(z).max() < 5


def _file(folder: Path, change: str) -> Path:
    rng = np.random.default_rng(0)
    names = ["t", "q1", "q2", "tau1", "tau2"]
    rows = np.column_stack([np.arange(40) * 0.01, rng.normal(size=(40, 4))]).astype(object)
    if change == "nan":
        rows[7, 2] = "nan"
    if change == "text":
        rows[7, 2] = "off"
    if change == "order":
        rows[3, 0] = 0.0
    names = {"column": ["t", "q1", "q2", "tau1", "torque2"], "joints": ["t", "q1", "q2", "q3", "tau2"]}.get(
        change, names
    )
    rows = rows[:0] if change == "rows" else rows[:10] if change == "short" else rows
    path = folder / "data.csv"
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("column", "has no column tau2; got t, q1, q2, tau1, torque2; expected t, q1 to q2, tau1 to tau2"),
        ("joints", "has column q3, but the robot has 2 joints: another robot's data?"),
        ("nan", "q is nan in row 7, joint 2; remove such rows"),
        ("text", r"line 9, column q2: 'off' is not a number"),
        ("order", r"t\[3\] = 0 s does not come after t\[2\] = 0.02 s"),
        ("rows", "has no rows"),
        ("short", "10 rows are too few to differentiate; expected 16 or more"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, change: str, message: str) -> None:
    with pytest.raises(aw.InputError, match=message):
        estimate(aw.load("rr"), _file(tmp_path, change))


def test_other_files_that_cannot_be_used(tmp_path: Path) -> None:
    arm = aw.load("rr")
    with pytest.raises(aw.InputError, match="does not exist"):
        estimate(arm, tmp_path / "none.csv")
    (tmp_path / "data.txt").write_text("t\n")
    with pytest.raises(aw.InputError, match=r"cannot read .txt; expected .csv or .parquet"):
        estimate(arm, tmp_path / "data.txt")
    (tmp_path / "data.parquet").write_text("no")
    with pytest.raises(aw.InputError, match=r"data.parquet is not a Parquet file, or is damaged"):
        estimate(arm, tmp_path / "data.parquet")
    with pytest.raises(aw.InputError, match="not evenly spaced"):
        measurement(np.arange(20.0) ** 2, np.zeros((20, 2)), np.zeros((20, 2)))


def test_too_few_rows_and_another_robot() -> None:
    arm, data = excited("puma560")
    few = Measurement(*(getattr(data, name)[100:105] for name in ("t", "q", "qd", "qdd", "tau")))
    with pytest.raises(aw.InputError, match=r"5 rows give 30 equations for the 52 base parameters .* at least 10 rows"):
        estimate(arm, few)
    with pytest.raises(aw.InputError, match="the data are of 6 joints and rr has 2: another robot's data"):
        estimate(aw.load("rr"), data)
    with pytest.raises(aw.InputError, match="data is a int; expected a Measurement, a Run or the path"):
        estimate(arm, 3)


def test_a_motion_that_does_not_show_everything_is_reported_with_what_it_leaves_out() -> None:
    arm, data = excited("puma560")
    still = replace(data, q=0 * data.q, qd=0 * data.qd, qdd=0 * data.qdd)
    with pytest.raises(aw.InputError, match=r"does not show 49 of the 52 base parameters: Izz1, my2, .* and 39 more"):
        estimate(arm, still)
    hand = np.array([1, 1, 1, 1, 1, 0])
    locked = replace(data, q=data.q * hand, qd=data.qd * hand, qdd=data.qdd * hand)
    with pytest.raises(aw.InputError, match=r"does not show .*viscous6, coulomb6, armature6"):
        estimate(arm, locked)


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_the_commands_excite_and_identify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output = run("excite", "rr", "-o", "motion.csv", "--every", "0.02")
    assert "condition number" in output and "motion.csv: t, q, qd, qdd in 501 rows" in output
    t, *state = np.split(np.loadtxt("motion.csv", delimiter=",", skiprows=1), [1, 3, 5], axis=1)
    arm = with_actuators(aw.load("rr"), np.random.default_rng(0))
    tau = arm.inverse_dynamics(*state) + np.random.default_rng(0).normal(scale=0.1, size=(501, 2))
    Measurement(t[:, 0], *state, tau).to_csv("data.csv")
    output = run("identify", "rr", "data.csv", "-o", "page.html", "--write", "found.toml")
    assert "viscous2" in output and "Condition number" in output and "found.toml" in output
    page = Path("page.html").read_text()
    assert page.count("<figure") == 2 and "residual" in page and "coulomb1" in page
    with pytest.warns(aw.ModelWarning):  # the rods of rr are thin
        found = aw.load("found.toml")
    assert found.joints[0].viscous == pytest.approx(arm.joints[0].viscous, rel=0.1)
    assert "Identified from data.csv" in found.source
    assert "has qd of 2 joints; expected all 6" in run("identify", "puma560", "data.csv", code=2)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measurement:
    """What the joints of `rr` do in random states, in data.csv of the current folder."""
    monkeypatch.chdir(tmp_path)
    arm = aw.load("rr")
    state = random_states(arm, 300)
    data = Measurement(np.arange(300) * 0.01, *state, arm.inverse_dynamics(*state))
    data.to_csv("data.csv")
    return data


def test_parameters_are_validated_on_data_that_did_not_go_into_them() -> None:
    """What is left there is the noise alone; of another payload it is what that weighs, as of the robot as described."""
    arm, rng = with_actuators(aw.load("rr"), np.random.default_rng(0)), np.random.default_rng(5)

    def measured_with(robot: aw.Robot, sigma: float) -> Measurement:
        state = random_states(robot, 600)
        tau = robot.inverse_dynamics(*state)
        return Measurement(np.arange(600) * 0.01, *state, tau + rng.normal(scale=sigma, size=tau.shape))

    first, second = measured_with(arm, 0.1), measured_with(arm, 0.1)
    second = replace(second, q=second.q[::-1].copy(), qd=second.qd[::-1].copy(), qdd=second.qdd[::-1].copy())
    second = replace(
        second, tau=arm.inverse_dynamics(second.q, second.qd, second.qdd) + rng.normal(scale=0.1, size=(600, 2))
    )
    found = estimate(aw.load("rr"), first)
    tried = found.validate(second)
    chi_squared = 600 * np.array([left.rms for left in tried.residuals]) ** 2 / 0.1**2
    assert (np.abs(chi_squared - 600) < 6 * np.sqrt(2 * 600)).all()  # six standard deviations
    assert tried.worse == () and tried.fitted == found.residuals
    bare = second.tau - aw.load("rr").inverse_dynamics(second.q, second.qd, second.qdd)
    counts = np.abs(second.qd) >= 0.02 * np.abs(second.qd).max(axis=0)
    for i, before in enumerate(tried.described):
        assert before.rms == pytest.approx(np.sqrt(np.mean(bare[counts[:, i], i] ** 2)), rel=1e-9)
    assert found.validate(measured_with(arm.with_payload(5.0), 0.1)).worse == ("joint1", "joint2")
    with pytest.raises(aw.InputError, match="the data to validate with are those of the fit"):
        found.validate(first)
    with pytest.raises(aw.InputError, match="another robot's data"):
        found.validate(excited("puma560")[1])
    assert "of the data of the fit" in str(tried)


def test_the_command_validates_on_other_data_and_names_what_is_missing(tmp_path: Path, measured: Measurement) -> None:
    arm, rng = aw.load("rr"), np.random.default_rng(1)
    state = [x[::-1].copy() for x in (measured.q, measured.qd, measured.qdd)]
    other = replace(measured, q=state[0], qd=state[1], qdd=state[2], tau=arm.inverse_dynamics(*state))
    replace(other, tau=other.tau + rng.normal(size=other.tau.shape)).to_csv("other.csv")
    output = " ".join(run("identify", "rr", "data.csv", "--validate", "other.csv").split())
    assert "On 300 samples of other.csv, which are not in the fit" in output and "by the robot as described" in output
    assert "On data that were not used in the fit: 300 samples" in Path("rr_identified.html").read_text()
    told = json.loads(
        CliRunner().invoke(app, ["identify", "rr", "data.csv", "--validate", "other.csv", "--json"]).stdout
    )
    assert [row["joint"] for row in told["validation"]] == ["joint1", "joint2"] and told["ok"]
    assert told["validation"][0]["relative_of_fit"] < 1e-9 < told["validation"][0]["relative"]
    replace(other, tau=-other.tau).to_csv("turned.csv")
    told = CliRunner().invoke(app, ["identify", "rr", "data.csv", "--validate", "turned.csv", "--write", "found.toml"])
    assert told.exit_code == 1 and "no robot is written" in told.output and not Path("found.toml").exists()
    Path("short.csv").write_text("t,q1,q2,tau1\n0,0,0,0\n")
    assert "--validate: short.csv has no column tau2" in run(
        "identify", "rr", "data.csv", "--validate", "short.csv", code=2
    )
    assert "--validate: none.csv does not exist" in run("identify", "rr", "data.csv", "--validate", "none.csv", code=2)
    assert "those of the fit" in run("identify", "rr", "data.csv", "--validate", "data.csv", code=2)


@pytest.mark.parametrize(("ending", "begins"), [("toml", "name ="), ("urdf", "<robot"), ("xml", "<mujoco")])
@pytest.mark.filterwarnings("ignore::armwright.ModelWarning")
def test_the_robot_found_is_written_as_its_name_says(measured: Measurement, ending: str, begins: str) -> None:
    run("identify", "rr", "data.csv", "--write", f"found.{ending}")
    assert begins in Path(f"found.{ending}").read_text()[:300]
    assert aw.load(f"found.{ending}").n == 2


def test_a_robot_cannot_be_written_under_any_name(measured: Measurement) -> None:
    output = run("identify", "rr", "data.csv", "--write", "found.txt", code=2)
    assert "--write found.txt: expected a name that ends in .toml, .urdf, .xml" in output
    assert not Path("found.txt").exists()


def test_a_folder_is_no_data(tmp_path: Path) -> None:
    assert "is a folder; expected a .csv or .parquet file" in run("identify", "rr", str(tmp_path), code=2)


def test_a_model_that_does_not_explain_the_torques_is_reported(measured: Measurement) -> None:
    assert "warning: the model leaves" not in run("identify", "rr", "data.csv")
    replace(measured, q=np.degrees(measured.q)).to_csv("degrees.csv")
    output = run("identify", "rr", "degrees.csv", "--write", "found.toml")
    assert "warning: the model leaves more than 20% of the torque of joint1 (" in output
    assert "Look for angles in degrees" in output and Path("found.toml").exists()


def test_a_model_that_is_worse_than_none_fails(measured: Measurement) -> None:
    replace(measured, tau=measured.tau * [1, -1]).to_csv("turned.csv")  # the sign of a torque
    output = run("identify", "rr", "turned.csv", "--write", "found.toml", code=1)
    assert re.search(r"of the torque of .*joint2 \(1\d\d%\) unexplained.* no robot is written", output)
    assert not Path("found.toml").exists()


def test_an_excitation_is_no_faster_than_the_joints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    aw.load("rr").map_joints(lambda joint: replace(joint, max_velocity=0.5)).to_toml("slow.toml")
    run("excite", "slow.toml", "-o", "motion.csv")
    speeds = np.loadtxt("motion.csv", delimiter=",", skiprows=1)[:, 3:5]
    assert 0.3 < np.abs(speeds).max() <= 0.5


# Trees, floating or not

KEPT = {
    "revolute": 7,
    "prismatic": 4,
    "helical": 9,
    "cylindrical": 9,
    "universal": 9,
    "planar": 9,
    "ball": 9,
    "free": 10,
}
"""Of the ten parameters of a link, those that its joint does not let it hand to the one before: of a revolute joint a
mass on the axis, a moment along it and the moments of inertia square to it are handed on, of a prismatic one the tensor,
of a ball the mass at its centre, of what turns about and slides along z the moments square to it."""


@pytest.mark.parametrize("kind", KEPT)
def test_a_floating_tree_shows_all_of_its_base_and_what_each_joint_lets_it(kind: str) -> None:
    """On a base that moves freely nothing is hidden for good: all ten numbers of the whole can be found."""
    arm = random_tree(4, 2, kinds=(kind,), floating=True)
    assert len(base_parameters(arm, friction=False, rotors=False)) == 10 + 3 * KEPT[kind]


@pytest.mark.usefixtures("as_written")
def test_base_parameters_of_a_floating_tree_give_its_torques() -> None:
    arm = random_tree(6, 4, floating=True).with_friction(viscous={"joint4": 0.3})
    base = base_parameters(arm)
    q, qd, qdd = random_states(arm, 20)
    torque = base.columns(regressor(arm, q, qd, qdd)) @ base.values(parameters(arm))
    close(torque, arm.inverse_dynamics(q, qd, qdd), 1e-10)
    assert len(base.all_names) == len(parameters(arm)) == regressor(arm, q, qd, qdd).shape[-1]


def test_a_chain_by_the_rules_and_as_a_tree_has_equally_many() -> None:
    arm = aw.random_robot(5, 3)
    twice = replace(arm, parents=(-1, 0, 1, 1, 3))
    assert len(base_parameters(arm, by="rules")) == len(base_parameters(arm, by="qr"))
    assert len(base_parameters(twice, by="rules")) == len(base_parameters(twice, by="qr"))


def test_parameters_are_put_back_into_a_tree() -> None:
    arm = random_tree(5, 7, kinds=("revolute", "ball"), floating=True).with_payload(1.0, [0.1, 0.2, 0.3])
    arm = replace(arm, tip=1)
    again = with_parameters(arm, parameters(arm))
    state = random_states(arm, 3)
    close(again.inverse_dynamics(*state), arm.inverse_dynamics(*state), 1e-12)


@pytest.mark.usefixtures("as_written")
def test_the_links_of_a_floating_tree_are_identified() -> None:
    arm = random_tree(3, 5, kinds=("revolute", "ball"), floating=True)
    q, qd, qdd = random_states(arm, 200)
    tau = arm.inverse_dynamics(q, qd, qdd)
    found = estimate(arm, measurement(np.arange(200.0), q, tau, qd, qdd))
    close(found.robot.inverse_dynamics(q, qd, qdd), tau, 1e-6)
    heavier = replace(arm, tip=1).with_payload(2.0, [0.1, 0.0, 0.2], np.diag([0.1, 0.1, 0.1]))
    held = estimate_payload(heavier, q, qd, qdd, heavier.inverse_dynamics(q, qd, qdd))
    close(held.com, [0.1, 0.0, 0.2], 1e-8)


def test_positions_with_quaternions_are_not_differentiated() -> None:
    arm = random_tree(2, 5, floating=True)
    q, _, _ = random_states(arm, 50)
    with pytest.raises(aw.InputError, match="where q has quaternions, give qd and qdd too"):
        measurement(np.arange(50.0), q, np.zeros((50, arm.n)))


def test_a_motion_for_a_floating_base_is_refused_with_its_joint() -> None:
    with pytest.raises(aw.InputError, match=r"tree2_5 has joint1 \(free\).*hold such joints"):
        excitation(random_tree(2, 5, kinds=("revolute",), floating=True))
