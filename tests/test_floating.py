"""Robots with ball, free and planar joints in motion: what physics keeps constant, orders, laws, audit, and others."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache

import free_flight
import numpy as np
import pytest
from conftest import HERE, close
from tree_oracle import Oracle, pin

import armwright as aw
from armwright import integrate, torque, trajectory
from armwright.backends.interface import backend
from armwright.backends.interpreter import InterpretedKernel
from armwright.backends.llvm import code_check
from armwright.errors import InputError, SlowWarning
from armwright.robot import Robot, random_tree
from armwright.scenario import parse, pick_and_place
from armwright.simulation import Run, events, simulate, simulate_batch
from armwright.simulation.integration_settings import settings
from armwright.simulation.kernels import rollout_of
from armwright.simulation.momentum import momentum
from armwright.simulation.motion_programs import derivative, equations_of_motion, observables_program
from armwright.simulation.motion_record import MotionRecord, layout_of
from armwright.simulation.plan import plan
from armwright.simulation.rollouts import Rollouts

FLYING = random_tree(3, 6, kinds=("revolute", "ball", "prismatic"), floating=True)
HELD = random_tree(3, 0, kinds=("ball", "planar", "revolute"))
ROBOTS = [FLYING, HELD]
OTHERS = ("radau", "bdf", "lsoda", "taylor", "semi_implicit_euler")


def name_of(robot: Robot) -> str:
    return robot.name


def quietly(*arguments, **options) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        return simulate(*arguments, **options)


def in_python(law: torque.Law, robot: Robot):
    mechanism = robot.mechanism()
    return lambda t, q, qd: law.torques(torque.Moment(t, q.tolist(), qd.tolist(), mechanism))


@cache
def flown(robot: Robot) -> Run:
    return simulate(robot, None, *free_flight.start(robot, 1), duration=0.5, rtol=1e-12, every=0.05)


# what stays as it is


def test_free_flight_keeps_energy_and_momentum() -> None:
    run = simulate(FLYING, None, *free_flight.start(FLYING, 1), duration=10.0, rtol=1e-14, atol=1e-16, every=0.1)
    found = free_flight.constants(run)
    assert found.pop("quaternions") < 1e-15
    assert max(found.values()) < 1e-12
    assert run.audit.momentum_error < 1e-12
    assert run.audit.trustworthy


def test_the_momentum_of_the_audit_is_the_centroidal_one() -> None:
    turned = FLYING.with_base(np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]))
    q, qd = free_flight.start(turned, 2, 5)
    now = momentum(turned, q, qd, turned.kinetic_energy(q, qd))
    close(np.concatenate([now.linear, now.angular], axis=1), turned.centroidal_momentum(q, qd), 1e-13)
    assert now.mass == pytest.approx(sum(link.mass for link in turned.links))
    assert (np.linalg.norm(now.linear, axis=1) <= now.max_linear * (1 + 1e-12)).all()
    assert (np.linalg.norm(now.angular, axis=1) <= now.max_angular * (1 + 1e-12)).all()


def test_a_torque_free_top_is_jacobis() -> None:
    assert max(free_flight.top_errors("dop853", rtol=1e-14)) < 1e-11


@pytest.mark.parametrize("name", ["rk1", "rk2", "bs32", "rk4", "rkdp54", "rk6", "rk7", "dop853"])
def test_an_integrator_keeps_its_order_on_a_tumbling_body(name: str) -> None:
    """One for each order, compiled; tools/free_flight.py measures all."""
    assert free_flight.measured(name) == pytest.approx(integrate.method(name).order, abs=0.15)


def test_a_semi_implicit_step_turns_quaternions_too() -> None:
    assert free_flight._semi_implicit() == pytest.approx(1, abs=0.15)


# wherever and by whatever it is computed


@pytest.mark.parametrize("robot", [random_tree(1, 5, floating=True), random_tree(1, 0, kinds=("planar",))], ids=name_of)
@pytest.mark.parametrize("integrator", OTHERS)
def test_every_other_method_goes_the_same_way(integrator: str, robot: Robot) -> None:
    options = {"step": 2e-4} if integrator == "semi_implicit_euler" else {"rtol": 1e-10}
    exact = flown(robot)
    run = simulate(robot, None, exact.q[0], exact.qd[0], duration=0.5, integrator=integrator, every=0.05, **options)
    assert np.abs(run.q - exact.q).max() < (5e-3 if "step" in options else 1e-7)
    assert free_flight.unit_error(robot, run.q) < 1e-15


@pytest.mark.parametrize("robot", ROBOTS, ids=name_of)
@pytest.mark.parametrize("integrator", ["rk4", "rkdp54", "dop853"])
def test_compiled_and_stepwise_take_the_same_steps(integrator: str, robot: Robot) -> None:
    options = {"step": 0.01} if integrator == "rk4" else {"rtol": 1e-8}
    begin = (flown(robot).q[0], flown(robot).qd[0])
    whole = simulate(robot, None, *begin, duration=0.3, integrator=integrator, **options)
    law = in_python(torque.Free(), robot)
    by_hand = quietly(robot, law, *begin, duration=0.3, integrator=integrator, **options)
    never = integrate.Event(lambda t, y: 1.0 + t, name="never")
    watched = quietly(robot, None, *begin, duration=0.3, integrator=integrator, events=[never], **options)
    seen = simulate(
        robot,
        None,
        *begin,
        duration=0.3,
        integrator=integrator,
        events=[events.when(lambda t, q, qd: 1.0 + t)],
        **options,
    )
    for other in (by_hand, watched, seen):
        assert other.statistics.accepted == whole.statistics.accepted
        close(other.q, whole.q, 1e-12)
        close(other.qd, whole.qd, 1e-11)
    assert free_flight.unit_error(robot, whole.q) < 1e-15


@pytest.mark.parametrize("target", HERE)
def test_every_backend_leaves_quaternions_at_unit_length(target: str) -> None:
    robot, law = random_tree(1, 5, floating=True), torque.Free()
    for integrator, options in (("rk4", {"step": 0.05}), ("rkdp54", {"rtol": 1e-4})):
        planned = plan(robot, law, settings(integrator, **options), 0.5, 0.1)
        kernel = rollout_of(MotionRecord(robot, law), integrator, "step" in options, target=target)
        q, qd = free_flight.start(robot, 0, 3)
        y = planned.layout.joined({"q": q, "qd": 5 * qd}, (3,))
        rollouts = Rollouts(planned, kernel, y, np.zeros((3, 1)))
        rollouts.advance(len(planned.times))
        states = rollouts.states
        assert free_flight.unit_error(robot, states[..., :7]) < 1e-15
        apart = simulate_batch(robot, None, q, 5 * qd, 0.5, integrator, every=0.1, **options)
        close(states[..., :7], apart.q, 1e-12)


@pytest.mark.parametrize("robot", ROBOTS, ids=name_of)
def test_a_batch_is_its_single_runs(robot: Robot) -> None:
    q, qd = free_flight.start(robot, 3, 5)
    batch = simulate_batch(robot, None, q, qd, duration=0.2, integrator="dop853", rtol=1e-9, every=0.05)
    assert batch.q.shape == (5, 5, robot.nq)
    assert batch.qd.shape == batch.tau.shape == batch.qdd.shape == (5, 5, robot.n)
    for i in range(5):
        run = simulate(robot, None, q[i], qd[i], duration=0.2, rtol=1e-9, every=0.05)
        assert batch.accepted[i] == run.statistics.accepted
        for name in ("q", "qd", "qdd", "kinetic", "work"):
            close(getattr(batch, name)[i], getattr(run, name), 1e-12)


def test_what_varies_along_a_batch_flies_as_a_robot_that_has_it() -> None:
    flying = FLYING.with_payload(1.0)
    q, qd = free_flight.start(flying, 3)
    masses = [0.5, 2.0]
    batch = simulate_batch(flying, None, q, qd, 0.2, "rk4", step=0.002, vary={"payload.mass": masses})
    for i, mass in enumerate(masses):
        run = simulate(FLYING.with_payload(mass), None, q, qd, 0.2, "rk4", step=0.002, every=0.2)
        close(batch.q[i, -1], run.q[-1], 1e-12)


def test_single_precision_flies_too() -> None:
    q, qd = free_flight.start(FLYING, 3)
    single, double = (simulate_batch(FLYING, None, q, qd, 0.2, dtype=dtype) for dtype in ("float32", "float64"))
    assert np.abs(single.q - double.q).max() < 1e-4
    assert not single.failed.any()


@pytest.mark.parametrize("robot", ROBOTS, ids=name_of)
def test_pinocchio_goes_the_same_way(robot: Robot) -> None:
    """Its accelerations and velocities, integrated by the same steps."""
    oracle = Oracle(robot)
    exact = flown(robot)
    nq = robot.nq

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, qd = robot.unit(y[:nq]), y[nq:]
        qdd = pin.aba(oracle.model, oracle.data, q, qd, np.zeros(robot.n))
        small = 1e-6  # it has no function for dq/dt, of which a difference quotient loses some digits
        dq = (pin.integrate(oracle.model, q, small * qd) - pin.integrate(oracle.model, q, -small * qd)) / (2 * small)
        return np.concatenate([dq, qdd])

    y0 = np.concatenate([exact.q[0], exact.qd[0]])
    found = integrate.solve(
        rate, 0, y0, 0.5, "dop853", rtol=1e-9, times=exact.t, project=lambda y: np.r_[robot.unit(y[:nq]), y[nq:]]
    )
    assert np.abs(found.y[:, :nq] - exact.q).max() < 1e-8
    for q, qd, qdd in zip(exact.q, exact.qd, exact.qdd, strict=True):
        close(qdd, pin.aba(oracle.model, oracle.data, q, qd, np.zeros(robot.n)), 1e-10)


def test_mujoco_goes_the_same_way() -> None:
    mujoco = pytest.importorskip("mujoco")
    q0, qd0 = free_flight.start(FLYING, 1)
    model = mujoco.MjModel.from_xml_string(FLYING.to_mjcf())
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    data.qpos, data.qvel = free_flight.to_mujoco(FLYING, q0, qd0)
    mujoco.mj_step(model, data, nstep=500)
    run = simulate(FLYING, None, q0, qd0, 0.5, "rk4", step=1e-3, every=0.25)
    q, _ = free_flight.to_mujoco(FLYING, run.q[-1], run.qd[-1])
    assert np.abs(data.qpos - q).max() < 1e-9


def test_a_quaternion_of_any_length_turns_as_a_unit_one() -> None:
    """So that stages of a step, and methods that remember several steps, need no projection of their own."""
    program, layout = (
        derivative(equations_of_motion(MotionRecord(FLYING, torque.Free()))),
        layout_of(FLYING, torque.Free()),
    )
    assert not {node.op for node in program.nodes} & {"sign", "select"}
    q, qd = free_flight.start(FLYING, 1)
    y = layout.joined({"q": q, "qd": qd})
    longer = y.copy()
    for begin, end in layout.unit_vectors:
        longer[begin:end] *= 1.3
    kernel = backend("cpu").kernel(program, "float64")
    out = np.empty((2, layout.size))
    kernel.run([np.zeros((2, 1)), np.stack([y, longer])], out)
    for begin, end in layout.unit_vectors:
        out[1, begin:end] /= 1.3
    close(out[1], out[0], 1e-13)


def test_code_out_of_the_cache_is_tried_at_positions_that_the_robot_can_have() -> None:
    motion = equations_of_motion(MotionRecord(FLYING, torque.Free()))
    for program in (derivative(motion), observables_program(motion)):
        made = backend("cpu").kernel(program, "float64")
        assert code_check.kernel(made, InterpretedKernel(program, "float64"), program.sizes, program.units)


# what drives it

LAWS = {
    "numbers": lambda robot: np.linspace(-1, 1, robot.n),
    "pd": lambda robot: torque.pd(robot.neutral, 20, np.linspace(2, 3, robot.n)),
    "pid": lambda robot: torque.pid(robot.neutral, 20, 1, 2),
    "pd_gravity": lambda robot: torque.pd_gravity(robot.neutral, 20, 2),
    "computed_torque": lambda robot: torque.computed_torque(robot.neutral, 20, 5),
    "feed_forward": lambda robot: torque.feed_forward(robot.neutral, 5, 1),
    "spring_damper": lambda robot: torque.spring_damper(3, 1),
    "sum": lambda robot: torque.pd(robot.neutral, 5, 1).limited(20) + torque.friction(0.1),
}


@pytest.mark.parametrize(
    ("name", "robot"),
    [*((name, FLYING) for name in LAWS), ("pd", HELD), ("sum", HELD)],
    ids=lambda x: x if isinstance(x, str) else x.name,
)
def test_laws_are_the_same_compiled_and_from_python_and_balance(name: str, robot: Robot) -> None:
    law = torque.as_law(LAWS[name](robot), robot.n, robot.nq)
    begin = free_flight.start(robot, 4)
    run = simulate(robot, law, *begin, duration=0.1, rtol=1e-11, every=0.02)
    assert run.tau.shape == run.qdd.shape == (6, robot.n)
    assert run.audit.energy_error < 1e-9
    assert run.audit.power_error < 1e-9
    assert (run.audit.momentum is None) == (robot is HELD)
    assert (run.audit.momentum_error or 0.0) < 1e-9
    if not law.start(robot.n):
        other = quietly(robot, in_python(law, robot), *begin, duration=0.1, rtol=1e-11, every=0.02)
        close(other.q, run.q, 1e-12)
        assert np.allclose(other.impulse, run.impulse, rtol=0, atol=1e-11)


@pytest.mark.parametrize("robot", ROBOTS, ids=name_of)
def test_a_robot_is_led_to_its_target_along_the_manifold(robot: Robot) -> None:
    """By computed torque every error obeys e'' + kd e' + kp e = 0, also that of a rotation of more than a right angle."""
    target = robot.integrate(robot.neutral, np.linspace(0.5, -0.8, robot.n))
    begin = robot.integrate(target, np.full(robot.n, 1.3))
    run = simulate(robot, torque.computed_torque(target, 25, 10), begin, duration=5.0, every=0.5)
    assert np.abs(robot.difference(run.q[-1], target)).max() < 1e-6


def test_the_weight_of_a_free_robot_is_held() -> None:
    """By the force of its free joint, which is no drive of a real one: the audit sees what acted from outside."""
    q, _ = free_flight.start(FLYING, 5)
    run = simulate(FLYING, torque.pd_gravity(q, 0, 0), q, duration=1.0)
    assert np.abs(run.q - q).max() < 1e-9
    close(run.impulse[-1, :3], -sum(link.mass for link in FLYING.links) * np.array(FLYING.gravity), 1e-9)
    assert run.audit.momentum.linear_error < 1e-12


# what is said of it


def test_a_law_that_drives_the_base_is_doubted() -> None:
    q, n = FLYING.neutral, FLYING.n
    levitating = simulate(FLYING, torque.pd_gravity(q, kp=5.0, kd=1.0), q, duration=0.1)
    (doubt,) = levitating.audit.doubts
    assert re.search(r"from t = 0 s: the law puts \S+ N on \S+, but the base has no motor: give gains", str(doubt))
    inner = [0.0] * 6 + [1.0] * (n - 6)
    for law in (torque.pd(q, inner, inner), torque.pd_gravity(q, 5.0, 1.0).limited([100 * x for x in inner])):
        assert simulate(FLYING, law, q, duration=0.1).audit.trustworthy
    thrusters = tuple(replace(j, max_torque=1e4) if i < 6 else j for i, j in enumerate(FLYING.joints))
    driven = replace(FLYING, joints=thrusters)
    assert simulate(driven, torque.pd_gravity(q, 5.0, 1.0), q, duration=0.1).audit.trustworthy


def test_a_coarse_run_is_doubted_for_its_momentum() -> None:
    run = simulate(FLYING, None, *free_flight.start(FLYING, 1), duration=2.0, integrator="rk2", step=0.05)
    assert any("angular momentum" in doubt.why for doubt in run.audit.doubts)
    assert "angular momentum" in str(run.audit)
    assert run.audit.momentum.angular_error > 1e-6


def test_a_run_is_saved_and_shown(tmp_path) -> None:
    run = flown(FLYING)
    back = Run.from_parquet(run.to_parquet(tmp_path / "run.parquet"))
    assert (back.q == run.q).all()
    assert (back.impulse == run.impulse).all()
    assert back.audit.momentum_error == pytest.approx(run.audit.momentum_error, abs=1e-13)
    assert run.places.shape == run.qd.shape
    page = run.to_html(tmp_path / "run.html").read_text(encoding="utf-8")
    assert "Angular momentum missing" in page
    assert "angular momentum" in page
    assert flown(HELD).audit.momentum is None


def test_a_neighbour_and_a_finer_run_are_made_of_unit_quaternions() -> None:
    run = flown(FLYING)
    assert run.neighbour.max() < 1e-9
    assert run.verify(10).largest < 1e-9
    again = quietly(FLYING, in_python(torque.Free(), FLYING), run.q[0], run.qd[0], duration=0.1, every=0.05)
    assert again.neighbour.max() < 1e-6


def test_a_joint_behind_a_free_one_reaches_its_limit() -> None:
    """Entries of q and freedoms are counted apart."""
    place = next(i for i, joint in enumerate(FLYING.joints) if not joint.kind)
    arm = FLYING.with_limits(position={FLYING.joints[place].name: (-0.2, 0.2)})
    qd = np.zeros(arm.n)
    qd[place] = 1.0
    run = simulate(arm, None, qd0=qd, duration=2.0, events=[events.limits()])
    (event,) = run.events
    assert event.q[arm.entries[place]] == pytest.approx(0.2, abs=1e-12)
    assert free_flight.unit_error(arm, event.q[None]) < 1e-15
    beyond = simulate(arm, None, qd0=qd, duration=2.0)
    assert any("beyond its limits" in doubt.why for doubt in beyond.audit.doubts)


def test_where_it_starts_by_default_and_what_a_scenario_does() -> None:
    run = simulate(FLYING, duration=0.1)
    assert (run.q[0] == FLYING.neutral).all()
    plain = pick_and_place(FLYING)
    assert (plain.trajectory, plain.law) == (None, torque.Free())
    again = parse(plain.text, FLYING)
    assert again.options == plain.options
    held = parse(f'duration = 0.1\n[torque]\nlaw = "pd"\ntarget = {FLYING.neutral.tolist()}\nkp = 10\nkd = 1', FLYING)
    assert simulate(FLYING, held.law, **held.options).audit.momentum_error < 1e-9


MOTION = trajectory.quintic([0, 1], np.zeros((2, FLYING.n)))
ERRORS = {
    r"q0: the quaternion of joint1, entries 3 to 6 of q, has the length 1\.00001.*robot\.unit": lambda q: simulate(
        FLYING, None, q * 1.00001, duration=1
    ),
    r"q0\[1\]: the quaternion": lambda q: simulate_batch(FLYING, None, [q, 2 * q], duration=1),
    r"q0: the cosine and sine of joint": lambda q: simulate(
        random_tree(1, 0, kinds=("planar",)), None, [0, 0, 1, 1], duration=1
    ),
    r"q0 has shape \(3,\); expected \(\d+,\), one entry of q": lambda q: simulate(FLYING, None, [0, 0, 1], duration=1),
    r"qd0 has shape \(3,\); expected \(\d+,\), one number per freedom": lambda q: simulate(
        FLYING, None, qd0=[0, 0, 1], duration=1
    ),
    r"target: the quaternion of joint1": lambda q: simulate(FLYING, torque.pd(1.1 * q, 1, 1), duration=1),
    r"the torque law is for positions of \d+ entries; q of the robot has": lambda q: simulate(
        FLYING, torque.pd(q[:-1], 1, 1), duration=1
    ),
    r"the torque law is for 3 freedoms": lambda q: simulate(FLYING, torque.friction([1, 2, 3]), duration=1),
    r"a law that follows a trajectory needs joints whose positions are numbers; joint1": lambda q: simulate(
        FLYING, torque.pd(MOTION, 1, 1), duration=1
    ),
    r"a trajectory needs joints whose positions are numbers": lambda q: aw.torques_along(FLYING, MOTION),
    r"rest = 0.3 for all joints has no meaning for a free joint": lambda q: simulate(
        FLYING, torque.spring_damper(1, 1, 0.3), duration=1
    ),
    r"gains for 3 joints and a target for \d+; expected one gain, or one per freedom: .* where the base floats": lambda q: (
        torque.pd(q, [1, 2, 3], 1)
    ),
}


@pytest.mark.parametrize("sentence", ERRORS)
def test_impossible_requests_are_errors(sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ERRORS[sentence](FLYING.neutral)


def test_zeros_are_no_quaternion() -> None:
    with pytest.raises(InputError, match=r"entries 3 to 6 of q, .*, are all zero; expected one"):
        FLYING.unit(np.zeros((2, FLYING.nq)))


def test_rounding_of_a_quaternion_is_mended() -> None:
    """As far as somebody may have written it down, and no further."""
    run = simulate(FLYING, None, FLYING.neutral * (1 + 4e-7), duration=0.01)
    assert free_flight.unit_error(FLYING, run.q) < 1e-15


def test_robots_without_balls_know_nothing_of_all_this() -> None:
    tree = random_tree(3, 1, kinds=("revolute", "prismatic"))
    assert layout_of(tree, torque.Free()).size == 2 * tree.n + 2
    run = simulate(tree, torque.pd(np.full(tree.n, 0.1), 10, 1), duration=0.2)
    assert run.places is run.q
    assert run.audit.trustworthy
    assert replace(run.audit, momentum=None).momentum_error is None
