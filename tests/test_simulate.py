"""Simulation: laws of mechanics, agreement of all ways to integrate, what is told when it cannot go on."""

import multiprocessing
import pickle
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import close, random_case

import armwright as aw
from armwright import integrate, simulation, torque, trajectory
from armwright.errors import InputError, SimulationError, SlowWarning
from armwright.simulation import Run, events, simulate, simulate_batch, torques_along
from armwright.simulation.rollouts import Rollouts
from armwright.simulation.stiff_friction import method_for
from armwright.torque import tracking
from armwright.torque.law import Reference

PUMA = aw.load("puma560")
ARM = aw.random_robot(4, 3, prismatic=0.25)
SMOOTH = aw.random_robot(3, 1, prismatic=0.0)
MOTION = trajectory.quintic([0, 0.6, 1.2], [[0, 0, 0], [0.5, -0.4, 0.3], [0.1, 0.2, 0]])


@pytest.mark.parametrize(
    "arm", [PUMA, aw.random_robot(2, 5), aw.random_robot(5, 7), aw.random_robot(7, 2)], ids=lambda arm: arm.name
)
def test_free_fall_keeps_the_energy_and_can_be_turned_round(arm: aw.Robot) -> None:
    start = np.full(arm.n, 0.1)
    run = simulate(arm, q0=start, duration=10.0, rtol=1e-12, every=0.1)
    assert run.audit.energy_error < 1e-10
    assert not run.work.any()
    short = simulate(arm, q0=start, duration=1.0, rtol=1e-12, every=0.1)
    back = simulate(arm, q0=short.q[-1], qd0=-short.qd[-1], duration=1.0, rtol=1e-12, every=0.1)
    close(back.q[-1], start, 1e-8)
    assert np.abs(back.qd[-1]).max() < 1e-7


@pytest.mark.parametrize("name", [name for name in integrate.methods() if integrate.method(name).error is None])
def test_compiled_fixed_steps_are_the_generic_ones(name: str) -> None:
    def rate(_t, y):
        return np.concatenate([y[3:], SMOOTH.forward_dynamics(y[:3], y[3:], np.zeros(3))])

    y0 = np.array([0.1, 0.2, 0.3, 0, 0, 0])
    exact = integrate.solve(rate, 0.0, y0, 0.2, name, step=0.01).y[-1]
    run = simulate(SMOOTH, q0=y0[:3], duration=0.2, integrator=name, step=0.01, every=0.1)
    close(np.concatenate([run.q[-1], run.qd[-1]]), exact, 1e-13)
    assert run.statistics.evaluations == 20 * integrate.method(name).stages


@pytest.mark.parametrize("name", [name for name in integrate.methods() if integrate.method(name).error is not None])
def test_every_pair_reaches_its_tolerance(name: str) -> None:
    exact = simulate(SMOOTH, q0=[0.1, 0.2, 0.3], duration=0.5, rtol=1e-13)
    rtol = 1e-5 if integrate.method(name).order < 4 else 1e-9
    run = simulate(SMOOTH, q0=[0.1, 0.2, 0.3], duration=0.5, integrator=name, rtol=rtol)
    assert np.abs(run.q - exact.q).max() < 2000 * rtol
    assert run.statistics.accepted > 0


def test_other_ways_to_integrate_agree() -> None:
    common = {"torque": torque.spring_damper(30, 3, 0.2), "q0": [0.1, 0.2, 0.3], "duration": 0.3}
    exact = simulate(SMOOTH, **common, rtol=1e-12)
    for name, how, tolerance in (
        ("radau", {"rtol": 1e-8}, 1e-6),
        ("bdf", {"rtol": 1e-8}, 1e-5),
        ("semi_implicit_euler", {"step": 1e-4}, 1e-3),
    ):
        run = simulate(SMOOTH, **common, integrator=name, **how)
        assert np.abs(run.q - exact.q).max() < tolerance
        assert run.audit.energy_error < 1e-2


def test_taylor_and_dop853_agree() -> None:
    pytest.importorskip("heyoka", reason="heyoka is not installed")
    arm = aw.random_robot(7, 4, prismatic=0.0)
    start = np.full(7, 0.2)
    one = simulate(arm, q0=start, duration=1.0, rtol=1e-13, atol=1e-15, every=0.1)
    two = simulate(arm, q0=start, duration=1.0, integrator="taylor", rtol=2.3e-16, every=0.1)
    close(one.q, two.q, 1e-11)


def registered() -> dict[str, torque.Law]:
    """Every law there is, by its own example: on a position and along a motion where it follows one."""
    laws: dict[str, torque.Law] = {}
    for name, kind in torque.LAWS.items():
        given = dict(kind.example)
        if "torques" in given:
            given["torques"] = np.repeat(given["torques"], 3, axis=1)
        targets = {"": ([0.1, 0.2, 0.3],), " on a motion": (MOTION.holding(),)} if kind.follows else {"": ()}
        laws |= {f"{name}{where}": kind.make(*target, **given) for where, target in targets.items()}
    return laws


TORQUES: dict[str, Callable[[SimpleNamespace], np.ndarray]] = {
    "free": lambda x: np.zeros(3),
    "constant": lambda x: np.repeat(x.values, 3),
    "table": lambda x: np.repeat(np.interp(x.t, x.times, np.ravel(x.torques)), 3),
    "spring_damper": lambda x: -x.stiffness * (x.q - x.rest) - x.damping * x.qd,
    "friction": lambda x: -x.viscous * x.qd - x.coulomb * np.tanh(x.qd / x.smooth),
    "pd": lambda x: x.kp * x.e + x.kd * x.ed,
    "pid": lambda x: x.kp * x.e + x.ki * x.memory + x.kd * x.ed,
    "pd_gravity": lambda x: x.kp * x.e + x.kd * x.ed + SMOOTH.gravity_torque(x.q),
    "computed_torque": lambda x: SMOOTH.inverse_dynamics(x.q, x.qd, x.qdd_d + x.kd * x.ed + x.kp * x.e),
    "feed_forward": lambda x: SMOOTH.inverse_dynamics(x.q_d, x.qd_d, x.qdd_d) + x.kp * x.e + x.kd * x.ed,
}
"""The torques of each law, of its parameters, a state x.q and x.qd, its errors x.e and x.ed, and a motion to follow."""


@pytest.mark.parametrize("name", torque.LAWS)
def test_a_law_is_its_formula(name: str) -> None:
    assert name in TORQUES, f"write the torques of {name} into TORQUES"
    kind, t, state = torque.LAWS[name], 0.4, np.random.default_rng(0).uniform(-0.5, 0.5, (3, 3))
    q, qd, memory = state
    given = dict(kind.example)
    if "torques" in given:
        given["torques"] = np.repeat(given["torques"], 3, axis=1)
    law = kind.make(*([MOTION] if kind.follows else []), **given)
    q_d, qd_d, qdd_d = MOTION(t)
    target = {"q_d": q_d, "qd_d": qd_d, "qdd_d": qdd_d, "e": q_d - q, "ed": qd_d - qd}
    x = SimpleNamespace(t=t, q=q, qd=qd, memory=memory, **target, **kind.example)
    remembered = memory.tolist() if law.start(3) else ()
    at = torque.Moment(t, q.tolist(), qd.tolist(), SMOOTH.mechanism(), remembered)
    close(np.array(law.torques(at), dtype=float), TORQUES[name](x), 1e-12)


LAWS = registered() | {
    "sharp friction": torque.friction(0.5, 0.0) + torque.constant(1.0),
    "feed-forward alone": torque.feed_forward(MOTION.holding()),
    "limited": torque.pd([1.0, 1.0, 1.0], 50.0, 2.0).limited([1.0, 2.0, 3.0]),
    "limited with memory": torque.pid([1.0, 1.0, 1.0], 50.0, 9.0, 2.0).limited([1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_compiled_law_is_the_law_itself(name: str) -> None:
    law = LAWS[name]
    run = simulate(SMOOTH, law, q0=[0.05, 0, -0.05], duration=0.5, rtol=1e-9)
    mechanism = SMOOTH.mechanism()
    for i in range(0, len(run.t), 10):
        at = torque.Moment(float(run.t[i]), run.q[i].tolist(), run.qd[i].tolist(), mechanism, run.memory[i].tolist())
        close(run.tau[i] + run.drag[i], np.array(law.torques(at), dtype=float), 1e-10)
    close(run.qdd, SMOOTH.forward_dynamics(run.q, run.qd, run.tau + run.drag), 1e-9)
    assert run.audit.energy_error < 1e-8
    assert run.audit.power_error < 1e-8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        slow = simulate(SMOOTH, InPython(law), q0=[0.05, 0, -0.05], duration=0.5, rtol=1e-9)
    assert slow.statistics.accepted == run.statistics.accepted
    close(slow.q, run.q, 1e-9)


@dataclass(frozen=True)
class InPython(torque.Law):
    """Another law, called from Python."""

    law: torque.Law

    def torques(self, at: torque.Moment) -> list:
        return self.law.torques(at)

    def shared(self, at: torque.Moment) -> tuple[list, list]:
        return self.law.shared(at)

    def start(self, n: int) -> tuple[float, ...]:
        return self.law.start(n)

    def rates(self, at: torque.Moment) -> list:
        return self.law.rates(at)

    @property
    def reference(self) -> Reference | None:
        return self.law.reference

    @property
    def traceable(self) -> bool:
        return False


def test_a_python_function_is_slower_and_says_so() -> None:
    with pytest.warns(SlowWarning, match="called from Python at every evaluation"):
        simulate(SMOOTH, lambda _t, _q, qd: -qd, duration=0.05)
    with pytest.warns(SlowWarning, match=r"slower: Called\(len\)$"), pytest.raises(TypeError):
        simulate(SMOOTH, len, duration=0.05)


def test_a_run_of_very_many_chosen_steps_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation.rollouts, "WARNING_STEPS", 40)
    arm = SMOOTH.with_friction(coulomb=1.0)
    with pytest.warns(SlowWarning, match=r"more than 40 steps, and at t = \S+ of 1 s so far.*radau.*smooth=") as told:
        simulate(arm, duration=1.0)
    assert len(told) == 1
    assert told[0].filename == __file__
    with pytest.warns(SlowWarning, match="more than 40 steps") as told:
        simulate_batch(arm, q0=np.zeros((2, arm.n)), duration=1.0, integrator="dop853")
    assert told[0].filename == __file__
    with pytest.warns(SlowWarning, match=r"a loop at a dead point \(meeting: start elsewhere\)"):
        simulate(aw.load("five_bar"), duration=0.5, max_step=0.005)
    simulate(arm, duration=1.0, step=1e-3, integrator="rk4")


def test_dry_friction_is_none_where_a_motion_rests() -> None:
    dry = SMOOTH.with_friction(coulomb=1.0)
    ends = np.array([[0.1, -0.5, 0.3], [0.7, 0.4, -0.2]])
    for motion in (trajectory.normal_spline(*ends, 1.5), trajectory.quintic([0, 0.7], ends).scaled(1.3)):
        run = torques_along(dry, motion)
        close(run.tau[[0, -1]], dry.gravity_torque(run.q[[0, -1]]), 1e-12)
        np.testing.assert_allclose((run.tau - torques_along(SMOOTH, motion).tau)[50], np.sign(run.qd[50]), atol=1e-12)


def test_inverse_dynamics_fed_forward_follows_the_motion() -> None:
    run = simulate(SMOOTH, torque.feed_forward(MOTION), rtol=1e-11)
    assert run.t[-1] == MOTION.end
    assert np.abs(run.q - run.reference[0]).max() < 1e-7
    assert run.audit.trustworthy
    planned = torques_along(SMOOTH, MOTION)
    close(planned.tau, run.tau, 1e-6)
    assert planned.audit.energy_error < 1e-3


def test_an_ill_conditioned_robot_departs_and_the_audit_says_when() -> None:
    mohan = aw.load("puma_mohan2007")
    motion = trajectory.cycloidal(np.zeros(6), np.full(6, np.pi), 10.0)
    run = simulate(mohan, torque.feed_forward(motion), duration=6.3, rtol=1e-9)
    (departed,) = (doubt for doubt in run.audit.doubts if "off the trajectory" in str(doubt))
    assert 5.5 < departed.t < 6.3
    (left,) = (doubt for doubt in run.audit.doubts if "depends on rounding" in str(doubt))
    assert left.t < departed.t


TRUSTED = {"torque": torque.computed_torque(MOTION, 100, 20), "duration": 0.5}


def _doubted(run: Run, words: str) -> float:
    """When a run is doubted for this reason alone."""
    (doubt,) = run.audit.doubts
    assert words in doubt.why
    assert not run.audit.trustworthy
    return doubt.t


def test_every_number_of_the_audit_counts() -> None:
    run = simulate(SMOOTH, **TRUSTED)
    assert run.audit.trustworthy
    assert _doubted(replace(run, tau=run.tau + 100), "of power are missing") == pytest.approx(0, abs=0.02)
    assert _doubted(replace(run, work=run.work + run.t), "of energy are missing") <= 0.01
    assert _doubted(replace(run, work=run.work * np.nan), "of energy are missing") == 0
    assert _doubted(
        replace(run, neighbour_distances=np.exp(40 * run.t) * 1e-9), "depends on rounding"
    ) == pytest.approx(0.35)
    q, qd, qdd = run.reference
    assert _doubted(replace(run, reference=(q + 0.002, qd, qdd)), "off the trajectory") == 0
    assert replace(run, reference=(q + 0.002, qd, qdd), exact=False).audit.trustworthy
    assert "does not claim to follow" in str(replace(run, exact=False).audit)


@pytest.mark.parametrize(("limit", "words"), [("max_torque", "needs"), ("max_velocity", "moves at")])
def test_drives_that_are_too_weak_or_slow_are_doubted(limit, words) -> None:
    weak = SMOOTH.map_joints(lambda joint: replace(joint, **{limit: 1e-3} if joint.name == "joint2" else {}))
    run = simulate(weak, **TRUSTED)
    assert _doubted(run, f"joint2 {words}") <= 0.02
    assert run.audit.verdict == "beyond limits" and "do not trust it" not in str(run.audit)
    assert replace(run, work=run.work + run.t).audit.verdict == "doubted"


def test_a_mass_matrix_that_no_robot_has_is_doubted() -> None:
    link = {"mass": 1.0, "com": (0.0, 0.0, 0.0), "inertia": (0.1, 0.1, -0.5, 0.0, 0.0, 0.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = aw.Robot.from_dh([{"type": "revolute", "a": 0.0, "alpha": 0.0, "d": 0.0, **link}], convention="modified")
    run = simulate(odd, torque.constant(1.0), duration=0.1)
    assert np.isinf(run.audit.condition).all()
    assert _doubted(run, "the mass matrix is not positive definite") == 0


def test_a_chaotic_run_says_from_when_on_nobody_knows() -> None:
    run = simulate(PUMA.map_joints(lambda joint: replace(joint, limits=None)), q0=np.full(6, 0.1), duration=10.0)
    late = run.verify().exceeds(1e-3)
    assert late is not None
    assert 0.7 * late < _doubted(run, "depends on rounding") <= late
    quiet = simulate(SMOOTH, torque.spring_damper(20, 5), q0=[0.1, 0.2, 0.3], duration=3.0)
    assert quiet.audit.trustworthy
    assert quiet.audit.neighbour.max() < 1e-7


@pytest.mark.parametrize("how", [{"integrator": "radau"}, {"integrator": "taylor"}, {"torque": lambda t, q, qd: 0 * q}])
def test_a_neighbour_is_sent_along_whichever_way_it_is_integrated(how, tmp_path) -> None:
    asked = {"q0": [0.1, 0.2, 0.3], "duration": 0.3, "rtol": 1e-9}
    run = simulate(SMOOTH, **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        other = simulate(SMOOTH, **asked, **how)
    assert np.abs(run.audit.neighbour - other.audit.neighbour).max() < 1e-8
    for there in (Run.from_parquet(other.to_parquet(tmp_path / "run.parquet")), pickle.loads(pickle.dumps(other))):
        assert np.array_equal(there.neighbour, other.neighbour)
        assert str(there.audit) == str(other.audit)
    assert "sensitivity not measured" in str(replace(other, repeatable=None).audit)
    assert "neighbour" not in str(torques_along(SMOOTH, MOTION).audit)


def test_what_the_tool_gives_to_the_world_is_accounted_for() -> None:
    pushing = torques_along(SMOOTH, MOTION, tip_wrench=[10.0, 5, 0, 0, 0, 1])
    assert pushing.audit.trustworthy
    plain = torques_along(SMOOTH, MOTION)
    close(pushing.tau + pushing.drag, plain.tau, 1e-12)


def test_work_is_summed_up_to_every_jump_of_the_torques() -> None:
    motion = trajectory.trapezoidal(np.zeros(3), np.full(3, 0.5), 1.0, 2.3)
    for every in (0.01, 0.07, 0.5):
        assert torques_along(SMOOTH, motion, every=every).audit.energy_error < 1e-12


def test_an_audit_reads_as_text() -> None:
    run = simulate(SMOOTH, **TRUSTED)
    assert repr(run.audit) == str(run.audit)
    assert "array" not in repr(run.audit)
    assert "array" not in repr(run.verify())
    assert "array" not in repr(integrate.solve(lambda t, y: -y, 0, [1.0], 1))


@pytest.mark.parametrize("make", ["computed_torque", "pid", "both"])
def test_a_motion_of_many_pieces_is_followed_by_compiled_code(make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what the law would do with all pieces compiled, and the law itself is never called from Python."""
    monkeypatch.setattr("armwright.trajectory.motion_base.MAX_COMPILED_PIECES", 8)
    times = np.linspace(0, 1, 13)
    motion = trajectory.spline(times, 0.3 * np.sin(times[:, None] * [3, 5, 7]))
    law = torque.pid(motion, 20, 5, 3) if make == "pid" else torque.computed_torque(motion, 100, 20)
    law = law.limited(50.0) + torque.friction(0.1) if make == "both" else law
    assert not law.traceable
    with monkeypatch.context() as patch, pytest.warns(SlowWarning):
        patch.setattr(torque.Tracking, "correction", _traced_only)
        run = simulate(SMOOTH, law, qd0=[0.1, 0, 0])
    monkeypatch.setattr("armwright.trajectory.motion_base.MAX_COMPILED_PIECES", 64)
    assert law.traceable
    whole = simulate(SMOOTH, law, qd0=[0.1, 0, 0])
    assert run.statistics.accepted == whole.statistics.accepted
    for name in ("q", "qd", "tau", "work", *(["memory"] if make == "pid" else [])):
        close(getattr(run, name), getattr(whole, name), 1e-9)


CORRECTION = torque.Tracking.correction


def _traced_only(self, at, *target):
    assert not isinstance(at.t, float)
    return CORRECTION(self, at, *target)


def test_a_law_that_follows_two_motions_is_not_one_that_follows_one() -> None:
    times = np.linspace(0, 1, 41)
    one, other = (trajectory.spline(times, c * np.sin(times[:, None] * [3, 5, 7])) for c in (0.3, 0.1))
    law = torque.pd(one, 20, 3) + torque.pd(other, 10, 1)
    assert tracking.with_reference_inputs(law) is None
    assert tracking.with_reference_inputs(torque.pd(one, 20, 3) + torque.pd(one, 10, 1)) is not None
    at = torque.Moment(0.4, [0.1, 0.2, 0.3], [0.0] * 3, SMOOTH.mechanism())
    with pytest.warns(SlowWarning):
        run = simulate(SMOOTH, law, q0=at.q, qd0=at.qd, start=0.4, duration=0.02)
    close(run.tau[0], law.torques(at), 1e-12)


def test_a_series_needs_a_law_that_can_be_compiled() -> None:
    with (
        pytest.warns(SlowWarning),
        pytest.raises(InputError, match="taylor needs the Taylor series of the motion: expected a law of"),
    ):
        simulate(SMOOTH, lambda t, q, qd: 0 * q, duration=0.1, integrator="taylor")


def test_ctrl_c_leaves_what_there_is_of_a_run_under_a_python_law() -> None:
    def law(t, q, qd):
        if t > 0.1:
            raise KeyboardInterrupt
        return 0 * q

    with pytest.warns(SlowWarning):
        run = simulate(SMOOTH, law, duration=1.0)
    assert 5 < len(run.t) < 15
    assert "stopped by the user" in str(run.audit.doubts[-1])
    with pytest.raises(integrate.Stopped) as stopped:
        integrate.solve(lambda t, y: law(t, y, y), 0, [1.0], 1)
    assert len(stopped.value.solution.t) > 1
    assert str(stopped.value) == stopped.value.solution.message


def test_results_go_to_other_processes() -> None:
    run = simulate(SMOOTH, **TRUSTED)
    there = pickle.loads(pickle.dumps(run))
    assert np.array_equal(there.q, run.q)
    assert str(there.audit) == str(run.audit)
    with pytest.raises(InputError, match="came from another process"):
        there.verify()
    batch = simulate_batch(
        SMOOTH, torque.constant(1.0), q0=np.eye(3), duration=0.1, every=0.05, vary={"payload.mass": 2.0}
    )
    there = pickle.loads(pickle.dumps(batch))
    assert np.array_equal(there.tau, batch.tau)
    assert np.array_equal(there.energy, batch.energy)
    error = integrate.IntegrationError("it ends", 0.5, np.ones(2), "too many")
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.t, back.reason) == ("it ends", 0.5, "too many")


def test_a_pool_of_processes_simulates() -> None:
    starts = [[0.1 * k, 0.2, 0.3] for k in range(3)]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        runs = list(pool.map(partial(simulate, SMOOTH, duration=0.05), repeat(None), starts))
    for start, run in zip(starts, runs, strict=True):
        assert np.array_equal(run.q, simulate(SMOOTH, q0=start, duration=0.05).q)


def test_a_controller_does_not_know_of_what_varies() -> None:
    masses = np.array([0.0, 1.0, 3.0])
    law = torque.computed_torque(MOTION.holding(), 100.0, 20.0)
    batch = simulate_batch(SMOOTH, law, duration=1.2, every=0.3, vary={"payload.mass": masses}, integrator="dop853")
    error = np.abs(batch.q - MOTION(batch.t)[0]).max(axis=(1, 2))
    assert error[0] < 1e-6
    assert error[0] < error[1] < error[2]
    for i, mass in enumerate(masses):
        alone = simulate(
            SMOOTH.with_payload(mass),
            torque.computed_torque(MOTION.holding(), 100.0, 20.0, model=SMOOTH),
            duration=1.2,
            every=0.3,
            rtol=1e-6,
        )
        assert np.abs(alone.q - batch.q[i]).max() < 1e-4
        close(batch.energy[i], alone.energy, 1e-4)


@pytest.mark.parametrize(
    ("integrator", "how"), [("rk4", {"step": 0.002}), ("dop853", {"rtol": 1e-8}), ("tsit5", {"rtol": 1e-7})]
)
def test_a_batch_is_as_many_runs(integrator: str, how: dict) -> None:
    q0 = np.random.default_rng(0).uniform(-1, 1, (21, 3))
    batch = simulate_batch(SMOOTH, q0=q0, duration=0.4, every=0.1, integrator=integrator, **how)
    assert batch.q.shape == (21, 5, 3)
    assert not batch.failed.any()
    for i in (0, 7, 20):
        run = simulate(SMOOTH, q0=q0[i], duration=0.4, every=0.1, integrator=integrator, **how)
        assert np.array_equal(run.q, batch.q[i])
        assert batch.accepted[i] == run.statistics.accepted
        close(batch.tau[i], run.tau, 1e-12)
    two = simulate_batch(SMOOTH, q0=q0, duration=0.4, every=0.1, integrator=integrator, threads=2, **how)
    assert np.array_equal(two.q, batch.q)
    last = simulate_batch(SMOOTH, q0=q0, duration=0.4, integrator=integrator, **how)
    assert last.q.shape == (21, 2, 3)
    assert np.abs(last.q[:, -1] - batch.q[:, -1]).max() < 1e-4


def test_a_batch_in_single_precision() -> None:
    q0 = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    double, single = (simulate_batch(SMOOTH, q0=q0, duration=0.2, step=0.005, dtype=d) for d in ("float64", "float32"))
    assert single.q.dtype == np.float32
    assert np.abs(single.q - double.q).max() < 1e-3


def test_a_law_of_friction_is_no_drive() -> None:
    law = torque.constant(2.0).limited(1.5) + torque.friction(viscous=1.0)
    run = simulate(SMOOTH, law, qd0=np.ones(3), duration=0.3)
    assert np.array_equal(run.tau, np.full_like(run.tau, 1.5))
    close(run.drag, -run.qd, 1e-12)
    assert run.losses[-1] > 0
    assert run.audit.energy_error < 1e-9


@pytest.mark.parametrize(
    "law",
    [
        torque.friction(viscous=5.0),
        torque.spring_damper(0, 5),
        torque.friction(viscous=2.0) + torque.spring_damper(0, 3),
        lambda t, q, qd: -5 * qd,
    ],
)
def test_the_drives_overcome_whatever_acts_besides_them(law) -> None:
    needed, plain = torques_along(SMOOTH, MOTION, friction_law=law), torques_along(SMOOTH, MOTION)
    close(needed.tau - plain.tau, 5 * plain.qd, 1e-9)
    close(needed.drag, -5 * plain.qd, 1e-9)
    assert needed.audit.energy_error < 1e-6


def test_a_drive_is_not_what_the_drives_overcome() -> None:
    law = torque.computed_torque(MOTION, 100, 20)
    with pytest.raises(InputError, match="it is the law of a drive"):
        torques_along(SMOOTH, MOTION, friction_law=law)
    with pytest.raises(InputError, match="for 2 joints"):
        torques_along(SMOOTH, MOTION, friction_law=[1.0, 2.0])
    with pytest.raises(InputError, match="defined from"):
        torques_along(SMOOTH, MOTION, friction_law=torque.table([0, 1e-3], np.zeros((2, 3))))


def test_a_controller_may_know_another_robot() -> None:
    heavy = SMOOTH.with_payload(5.0)
    for first, second in ((heavy, SMOOTH), (SMOOTH, heavy)):
        errors = []
        for model in (first, second):
            run = simulate(heavy, torque.computed_torque(MOTION, 100, 20, model=model), duration=0.3)
            errors.append(np.abs(run.q - run.reference[0]).max())
        assert min(errors) < 1e-9
        assert max(errors) > 1e-4


def test_friction_takes_what_is_missing_of_the_energy() -> None:
    arm = random_case(3, 1, actuators=True).arm
    run = simulate(arm, torque.constant(1.0), qd0=np.full(3, 2.0), duration=0.1, rtol=1e-8)
    assert run.losses[-1] > 0
    assert run.audit.energy_error < 1e-6


def slider(coulomb: float, **more: float) -> aw.Robot:
    """A mass of 2 kg on a rail."""
    row = {
        "type": "prismatic",
        "alpha": 0,
        "a": 0,
        "theta": 0,
        "mass": 2,
        "com": [0, 0, 0],
        "inertia": [0.01] * 3 + [0] * 3,
    }
    return aw.Robot.from_dh([{**row, "coulomb": coulomb, **more}], "modified", gravity=(0, 0, -1.0))


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_dry_friction_holds_what_is_at_rest(integrator: str) -> None:
    """2 N pull at it and 3 N could hold it: it creeps at less than the speed within which friction rounds off."""
    run = simulate(slider(3.0), q0=[0.0], duration=1.0, integrator=integrator, rtol=1e-6)
    assert 0 < -run.q[-1, 0] < 1e-3
    assert run.settings["smooth"] == 1e-3
    assert simulate(slider(3.0), q0=[0.0], duration=1.0, smooth=1e-5).q[-1, 0] == pytest.approx(0, abs=1e-5)
    assert simulate(slider(1.0), q0=[0.0], duration=1.0).q[-1, 0] == pytest.approx(-0.25, abs=1e-3)  # (2 - 1)/2 m/s^2


def test_a_joint_may_have_its_own_speed_to_round_off_in() -> None:
    close(slider(3.0).inverse_dynamics([0.0], [0.05], [0.0]), [2.0 + 3.0], 1e-14)  # else it jumps
    arm = slider(3.0, smooth=0.1)
    close(arm.inverse_dynamics([0.0], [0.05], [0.0]), [2.0 + 3.0 * np.tanh(0.5)], 1e-14)
    assert simulate(arm, q0=[0.0], duration=0.1).robot == arm
    jumps = simulate(slider(3.0), q0=[0.0], qd0=[1.0], duration=0.1, smooth=0.0)
    assert jumps.q[-1, 0] == pytest.approx(0.1 - 0.5 * 2.5 * 0.01, abs=1e-9)
    for wrong in (-1.0, np.nan, "fast", None):
        with pytest.raises(aw.InputError, match="smooth = "):
            simulate(arm, q0=[0.0], duration=0.1, smooth=wrong)


def test_an_event_ends_a_run_and_is_located_to_rounding() -> None:
    event = integrate.Event(lambda _t, y: y[0] - 0.15, name="far enough")
    with pytest.warns(SlowWarning, match="'far enough' is a Python function"):
        run = simulate(SMOOTH, torque.constant([5.0, 0, 0]), duration=3.0, events=[event])
    assert [e.name for e in run.events] == ["far enough"]
    assert run.t[-1] == run.events[0].t < 3
    assert abs(run.q[-1, 0] - 0.15) < 1e-12


def test_a_joint_that_reaches_its_limit() -> None:
    run = simulate(PUMA, duration=10.0, events=[events.limits()])
    assert "limit" in run.events[0].name
    assert run.t[-1] < 10


def test_a_run_can_be_verified() -> None:
    run = simulate(SMOOTH, q0=[0.1, 0.2, 0.3], duration=1.0, rtol=1e-6)
    difference = run.verify()
    assert 1e-15 < difference.largest < 1e-3
    assert difference.exceeds(1.0) is None
    assert difference.exceeds(difference.largest / 2) is not None
    with pytest.raises(aw.InputError, match="above 1"):
        run.verify(0.5)


def test_runs_are_saved_and_loaded(tmp_path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    run = simulate(SMOOTH, torque.computed_torque(MOTION, 100, 20))
    loaded = Run.from_parquet(run.to_parquet(tmp_path / "run.parquet"))
    assert loaded.robot == run.robot
    for name in ("t", "q", "qd", "qdd", "tau", "kinetic", "potential", "work", "losses"):
        assert np.array_equal(getattr(loaded, name), getattr(run, name))
    assert np.array_equal(loaded.reference[0], run.reference[0])
    assert loaded.settings == run.settings
    assert loaded.statistics == run.statistics
    assert loaded.audit.energy_error == run.audit.energy_error
    with pytest.raises(aw.InputError, match="cannot be repeated"):
        loaded.verify()
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(aw.InputError, match="is not a Parquet file, or is damaged"):
        Run.from_parquet(tmp_path / "text.parquet")


def test_runs_become_tables() -> None:
    run = simulate(SMOOTH, duration=0.1)
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert isinstance(run.to_pandas(), pandas.DataFrame)
    assert list(run.to_pandas().columns[:4]) == ["t", "q1", "q2", "q3"]


def test_a_page_holds_everything(tmp_path) -> None:
    run = simulate(SMOOTH, torque.computed_torque(MOTION, 100, 20))
    text = run.to_html(tmp_path / "run.html").read_text()
    for word in ("Torque", "energy balance", 'id="view"', SMOOTH.joints[0].name, '"dashed"'):
        assert word in text
    assert len(text) < 2e6
    own = re.sub(
        "<script>.*?</script>", "", text, flags=re.DOTALL
    )  # libraries name addresses, which the policy keeps shut
    assert "http:" not in own
    assert "https:" not in own
    assert "{{" not in own


def test_a_motion_that_cannot_go_on_is_told_and_kept() -> None:
    with pytest.raises(SimulationError, match="diverges after") as caught:
        simulate(SMOOTH, torque.spring_damper(-1e4, 0.0), q0=[0.1, 0, 0], duration=50.0, integrator="rk4", step=0.01)
    assert 0 < len(caught.value.run.t) < 5000
    assert caught.value.run.audit.doubts  # what overflows is not in it
    massless = {"type": "revolute", "alpha": 0, "a": 0, "d": 0, "mass": 0, "com": [0, 0, 0], "inertia": [0] * 6}
    with pytest.raises(aw.SingularError):
        simulate(aw.Robot.from_dh([massless], "modified"), duration=1.0)

    def broken(t, _q, _qd):
        return [np.nan if t > 0.05 else 0.0, 0, 0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        with pytest.raises(aw.InputError, match=r"returned nan for joint 1 at t = 0\.05"):
            simulate(SMOOTH, broken, duration=1.0)
        with pytest.raises(aw.InputError, match=r"returned shape \(2,\).*expected \(3,\)"):
            simulate(SMOOTH, lambda _t, _q, _qd: [0.0, 0.0], duration=1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration": 0}, "duration = 0: expected seconds, above zero"),
        ({"duration": -1.0}, "above zero"),
        ({}, "duration is missing"),
        ({"duration": 1.0, "rtol": -1e-9}, "rtol = -1e-09: expected a number above"),
        ({"duration": 1.0, "atol": 0.0}, "atol = 0.0"),
        ({"duration": "1"}, "duration = '1': expected seconds"),
        ({"duration": 1.0, "rtol": "1"}, "rtol = '1': expected a number"),
        ({"duration": 1.0, "rtol": 1e-20}, "which is rounding"),
        ({"duration": 1.0, "start": np.nan}, "start = nan"),
        ({"duration": 1.0, "q0": "abc"}, "q0 holds text, not numbers"),
        ({"duration": 1.0, "every": 0.0}, "every = 0.0"),
        ({"duration": 1.0, "q0": [0, 0]}, r"q0 has shape \(2,\); expected \(3,\)"),
        ({"duration": 1.0, "qd0": [0, 0, np.nan]}, r"qd0\[2\] is nan; expected finite numbers"),
        ({"duration": 1.0, "torque": [1.0, 2.0]}, "the torque law is for 2 joints; the robot has 3"),
        ({"duration": 1.0, "torque": torque.constant([1.0] * 4)}, "is for 4 joints; the robot has 3"),
        ({"duration": 1.0, "integrator": "rk4"}, "rk4 has no error estimate: give step="),
        ({"duration": 5.0, "torque": torque.computed_torque(MOTION, 1, 1)}, "defined from 0 to 1.2 s; shorten"),
        ({"duration": 1.0, "torque": [np.inf, 0, 0]}, "not finite"),
    ],
)
def test_bad_input_is_told(arguments: dict, message: str) -> None:
    with pytest.raises(aw.InputError, match=message):
        simulate(SMOOTH, **arguments)


def test_more_bad_input_is_told() -> None:
    with pytest.raises(aw.UnknownNameError, match="Did you mean 'dop853'"):
        simulate(SMOOTH, duration=1.0, integrator="dop852")
    with pytest.raises(aw.InputError, match="simulate got str"):
        simulate("puma560", duration=1.0)
    with pytest.raises(aw.InputError, match="for 4 rollouts, others are for 5"):
        simulate_batch(SMOOTH, q0=np.zeros((5, 3)), qd0=np.zeros((4, 3)), duration=1.0)
    with pytest.raises(aw.InputError, match=r"vary\['payload.com'\] has shape"):
        simulate_batch(SMOOTH, q0=np.zeros((5, 3)), duration=1.0, vary={"payload.com": np.zeros(5)})
    with pytest.raises(aw.UnknownNameError, match="parameter to vary"):
        simulate_batch(SMOOTH, duration=1.0, vary={"payload.mas": [1.0]})
    with pytest.raises(aw.InputError, match="simulate_batch cannot compile this robot or law"):
        simulate_batch(SMOOTH, lambda t, q, qd: qd, duration=1.0)
    with pytest.raises(aw.InputError, match="times must increase; entry 1 does not"):
        torque.table([0, 0], [[1.0], [2.0]])
    with pytest.raises(aw.InputError, match="zero or more"):
        torque.constant(1.0).limited(-1.0)
    with pytest.raises(aw.InputError, match="cannot be added"):
        _ = torque.constant([1.0, 2.0]) + torque.constant([1.0, 2.0, 3.0])
    with pytest.raises(aw.InputError, match="more than 5000000 records"):
        simulate(SMOOTH, duration=1e300)
    with pytest.raises(aw.InputError, match="steps between two records"):
        simulate(SMOOTH, duration=0.1, integrator="rk4", step=1e-15)
    with pytest.raises(aw.InputError, match="torque is a trajectory"):
        simulate(SMOOTH, MOTION)
    with pytest.raises(aw.InputError, match=r"expected a list of events of armwright\.events"):
        simulate(SMOOTH, duration=0.1, events=[5])
    with pytest.raises(aw.InputError, match="friction takes energy"):
        torque.friction(viscous=-1.0)
    with pytest.raises(aw.InputError, match="the model has 6 joints, the target 3"):
        torque.computed_torque(MOTION, 1, 1, model=PUMA)
    with pytest.raises(aw.InputError, match="do not fit together"):
        torque.spring_damper([1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_batch_that_fails_is_told() -> None:
    law = torque.spring_damper(-1e5, 0.0)
    with pytest.warns(aw.errors.SimulationWarning, match="2 of 2 rollouts failed"):
        batch = simulate_batch(SMOOTH, law, q0=np.full((2, 3), 0.1), duration=20.0, step=0.01, every=0.5)
    assert batch.failed.all()
    assert (batch.reached < 20).all()
    for arguments, message in (
        ({"dtype": "float16"}, "unknown dtype 'float16'"),
        ({"threads": 0}, "threads = 0"),
        ({"threads": -1}, "threads = -1"),
        ({"vary": "payload.mass"}, "expected a mapping"),
        ({"vary": {"payload.mass": []}}, "one number per rollout"),
        ({"vary": {"payload.mass": [-1.0]}}, "negative mass"),
        ({"every": 2.0}, "longer than the run"),
    ):
        with pytest.raises(aw.ArmwrightError, match=message):
            simulate_batch(SMOOTH, duration=1.0, **arguments)


def test_a_joint_beyond_its_limit_is_doubted() -> None:
    run = simulate(PUMA, q0=np.full(6, 0.1), duration=2.0)
    assert "beyond its limits" in str(run.audit.first_doubt)


def test_a_limit_that_is_hardly_passed_is_told_with_how_far() -> None:
    arm = aw.load("rr").with_limits(position=[-np.pi, np.pi])
    run = simulate(arm.with_gravity([0, 0, 0]), q0=[-np.pi + 1e-3, 0], qd0=[-0.01, 0.0], duration=0.2, every=0.01)
    q = run.q[:, 0]
    over = -np.pi - q
    first = np.flatnonzero(over > 1e-9)[0]
    text = str(run.audit.first_doubt)
    assert f"beyond its limits -3.142 to 3.142 rad by {over[first]:.3g} rad, and by {over[-1]:.3g} rad at 0.2 s" in text


def test_a_chain_too_long_for_straight_code_still_moves() -> None:
    arm = aw.random_robot(26, 1, prismatic=0.0)
    run = simulate(arm, q0=np.full(26, 0.1), duration=0.02, every=0.01, rtol=1e-6)
    assert run.audit.energy_error < 1e-3


def test_ctrl_c_returns_what_there_is(monkeypatch) -> None:
    calls = []
    advance = Rollouts.advance

    def interrupted(self, count, threads=1):
        calls.append(count)
        if len(calls) > 2:
            raise KeyboardInterrupt
        advance(self, count, threads)

    monkeypatch.setattr(Rollouts, "advance", interrupted)
    run = simulate(SMOOTH, duration=1.0)
    assert 1 < len(run.t) < 101
    assert "stopped by the user" in run.message
    assert "stopped by the user" in str(run.audit)


@pytest.mark.parametrize("stiffness", [1e5, 1e30])
def test_a_motion_that_diverges_is_kept_until_its_accelerations_overflow(stiffness: float, tmp_path: Path) -> None:
    arm, how = aw.load("rr"), {"q0": [0.1, 0.2], "duration": 0.5, "integrator": "rk4", "step": 0.01}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        for law in (torque.pd([0, 0], kp=-stiffness, kd=0), lambda t, q, qd: stiffness * np.asarray(q)):
            with pytest.raises(SimulationError) as caught:
                simulate(arm, law, **how)
            run = caught.value.run
            assert len(run.t) and all(np.isfinite(x).all() for x in (run.q, run.qdd, run.tau, run.energy))
            assert not run.audit.trustworthy and run.to_html(tmp_path / "run.html").is_file()


def test_a_motion_much_shorter_than_the_time_between_records_has_two() -> None:
    run = torques_along(SMOOTH, trajectory.quintic([0, 1e-9], np.zeros((2, 3))), every=10.0)
    assert run.t.tolist() == [0, 1e-9]


def test_a_joint_that_sticks_is_left_to_an_implicit_method() -> None:
    q = np.zeros(SMOOTH.n)
    sticky = SMOOTH.with_friction(coulomb=1.0)
    rate = np.abs(np.linalg.eigvals(1e3 * np.linalg.inv(sticky.mass_matrix(q)))).max()  # within 0.001 rad/s
    assert method_for(SMOOTH, q, 1e6) == method_for(sticky, q, 0.9 * 3e5 / rate) == "dop853"
    assert method_for(sticky, q, 1.1 * 3e5 / rate) == "radau"
    short = simulate(sticky, q0=q, duration=30 / rate, every=30 / rate)
    assert short.statistics.accepted >= 5  # an explicit step is no longer than 6 / rate
