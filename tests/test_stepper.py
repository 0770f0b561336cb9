"""A robot stepped from outside: the same motion as a simulation, exact derivatives of it, and states that go wrong."""

import copy
import os
import pickle
import signal
import threading
from importlib import import_module

import mpmath
import numpy as np
import pytest

import armwright as aw
from armwright.backends.llvm import native
from armwright.integrate import methods

ROBOTS = ("panda", "anymal_c")


def states(robot, count, seed=3):
    rng = np.random.default_rng(seed)
    q = robot.unit(rng.uniform(-0.5, 0.5, (count, robot.nq)))
    return q, rng.uniform(-0.5, 0.5, (count, robot.n)), rng.uniform(-2, 2, (count, robot.n))


def moved(robot, q, dq):
    return robot.integrate(q, dq) if robot.balls else q + dq


def apart(robot, a, b):
    way = robot.difference(b[0], a[0]) if robot.balls else a[0] - b[0]
    return np.concatenate([way, a[1] - b[1]], axis=-1)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("integrator", ["rk4", "rk1", "dop853"])
def test_steps_are_those_of_a_simulation(name, integrator):
    robot = aw.load(name)
    q, qd, tau = states(robot, 5)
    ends = aw.stepper(robot, dt=0.02, substeps=4, integrator=integrator).step(q, qd, tau)
    for k in range(2):
        run = aw.simulate(robot, tau[k], q[k], qd[k], duration=0.02, integrator=integrator, step=0.005, every=0.02)
        assert np.abs(run.q[-1] - ends[0][k]).max() < 1e-14
        assert np.abs(run.qd[-1] - ends[1][k]).max() < 1e-12


@pytest.mark.parametrize("name", ROBOTS)
def test_one_state_a_batch_any_layout_and_the_interpreter_agree(name):
    robot = aw.load(name)
    stepper, (q, qd, tau) = aw.stepper(robot, dt=0.01, substeps=3), states(robot, 9)
    ends = stepper.step(q, qd, tau)
    for k, end in enumerate(ends):
        assert np.array_equal(stepper.step(q[4], qd[4], tau[4])[k], end[4])
        assert np.array_equal(stepper.step(*map(np.asfortranarray, (q, qd, tau)))[k], end)
        assert np.array_equal(stepper.step(q, qd, tau, threads=2)[k], end)
        assert np.array_equal(stepper.step(q[:, None], qd[:, None], tau)[k][:, 4][4], end[4])
        python = aw.stepper(robot, dt=0.01, substeps=3, target="python").step(q, qd, tau)[k]
        assert np.abs(python - end).max() < 1e-13
    out = q.copy(), qd.copy()
    assert stepper.step(*out, tau, out=out)[0] is out[0]
    assert np.array_equal(out[0], ends[0])
    assert np.array_equal(out[1], ends[1])
    single = aw.stepper(robot, dt=0.01, substeps=3, dtype="float32").step(q, qd, tau)[1]
    assert single.dtype == np.float32
    assert np.abs(single - ends[1]).max() < 1e-4


def test_the_code_is_the_same_for_every_dt(monkeypatch):
    robot = aw.load("puma560")
    aw.stepper(robot)
    monkeypatch.setattr(native, "compile_ir", lambda text: pytest.fail("something is compiled"))
    for dt, substeps in ((1e-2, 1), (1e-3, 7)):
        aw.stepper(robot, dt=dt, substeps=substeps).step(*(x[0] for x in states(robot, 1)))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_rollout_is_one_step_after_the_other(name):
    robot = aw.load(name)
    stepper, (q, qd, _) = aw.stepper(robot, dt=0.01), states(robot, 3)
    tau = np.random.default_rng(1).uniform(-1, 1, (3, 6, robot.n))
    Q, V = stepper.rollout(q, qd, tau)
    assert (Q.shape, V.shape) == ((3, 7, robot.nq), (3, 7, robot.n))
    for k in range(6):
        q, qd = stepper.step(q, qd, tau[:, k])
        assert np.array_equal(Q[:, k + 1], q)
        assert np.array_equal(V[:, k + 1], qd)
    assert stepper.rollout(Q[0, 0], V[0, 0], tau)[0].shape == (3, 7, robot.nq)


@pytest.mark.parametrize(
    ("dtype", "threads", "brief"), [("float64", 2, 5000), ("float32", 1, 10**9), ("float64", 3, 1)]
)
def test_rollouts_in_stretches_on_threads_and_in_any_layout_are_the_same_steps(dtype, threads, brief, monkeypatch):
    """Bitwise, also for batches that no block nor vector divides, torques in any order, and one set of them for all."""
    monkeypatch.setattr(import_module("armwright.simulation.stepper"), "MAX_CALL_SUBSTEPS", brief)
    robot = aw.load("panda")
    stepper = aw.stepper(robot, dt=0.01, substeps=2, integrator="rk2", dtype=dtype)
    q, qd, _ = (x.astype(dtype) for x in states(robot, 1101))
    pushed = np.random.default_rng(0).uniform(-1, 1, (9, robot.n, 1101)).astype(dtype)
    for tau in (pushed.transpose(2, 0, 1), np.ascontiguousarray(pushed.transpose(2, 0, 1)), pushed[..., 5]):
        Q, V = stepper.rollout(q, qd, tau, threads=threads)
        here = q, qd
        for k in range(9):
            here = stepper.step(*here, tau[..., k, :])
            assert np.array_equal(Q[:, k + 1], here[0])
            assert np.array_equal(V[:, k + 1], here[1])
    many = stepper.rollout(q.reshape(1, 1101, -1), qd, pushed.transpose(2, 0, 1)[:, None].transpose(1, 0, 2, 3))
    assert np.array_equal(many[0][0], stepper.rollout(q, qd, pushed.transpose(2, 0, 1))[0])
    assert stepper.rollout(q[:0], qd[:0], pushed.transpose(2, 0, 1)[:0])[0].shape == (0, 10, robot.nq)


@pytest.mark.parametrize("name", ROBOTS)
def test_steps_of_many_substeps_are_cut_where_ctrl_c_is_heard(name, monkeypatch):
    """However few substeps a compiled call takes, the states are the same."""
    robot = aw.load(name)
    q, qd, tau = states(robot, 3)
    pushed = np.stack([tau, -tau], axis=1)
    whole = aw.stepper(robot, dt=0.01, substeps=23)
    monkeypatch.setattr(import_module("armwright.simulation.stepper"), "MAX_CALL_SUBSTEPS", 5)
    cut = aw.stepper(robot, dt=0.01, substeps=23)
    for found, expected in zip(cut.step(q, qd, tau), whole.step(q, qd, tau), strict=True):
        assert np.array_equal(found, expected)
    for found, expected in zip(cut.rollout(q, qd, pushed), whole.rollout(q, qd, pushed), strict=True):
        assert np.array_equal(found, expected)
    assert np.array_equal(cut.step(q[0], qd[0], tau[0])[0], whole.step(q[0], qd[0], tau[0])[0])
    tau[1] = 1e300
    good = cut.step(q, qd, tau, raises=False)[2]
    assert good.tolist() == [True, False, True]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_is_heard_within_a_step_of_many_substeps():
    """A step that takes an hour ends at once."""
    stepper = aw.stepper(aw.load("rr"), dt=1e5, substeps=10**10)
    state = np.zeros(2), np.zeros(2), np.zeros(2)
    aw.stepper(aw.load("rr"), substeps=2).step(*state)  # compiles
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        stepper.step(*state)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "deepcopy", "pickle"]
)
def test_a_stepper_is_copied_and_pickled(again):
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.01, substeps=2, integrator="rk2", vary={"payload.mass": np.array([0.5, 2.0])})
    stepper.parameters["payload.mass"][1] = 3.0
    there, (q, qd, tau) = again(stepper), states(robot, 2)
    assert repr(there) == repr(stepper)
    for found, expected in zip(there.step(q, qd, tau), stepper.step(q, qd, tau), strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("integrator", ["rk4", "rk1"])
def test_linearised_is_the_derivative_of_the_step(name, integrator):
    robot = aw.load(name)
    stepper, (q, qd, tau) = aw.stepper(robot, dt=0.02, substeps=2, integrator=integrator), states(robot, 2)
    A, B = stepper.linearised(q, qd, tau)
    n, e = robot.n, 1e-6
    assert (A.shape, B.shape) == ((2, 2 * n, 2 * n), (2, 2 * n, n))
    for j in range(n):
        d = e * np.eye(n)[j]
        pairs = (
            (A[..., j], [stepper.step(moved(robot, q, s * np.tile(d, (2, 1))), qd, tau) for s in (1, -1)]),
            (A[..., n + j], [stepper.step(q, qd + s * d, tau) for s in (1, -1)]),
            (B[..., j], [stepper.step(q, qd, tau + s * d) for s in (1, -1)]),
        )
        for column, ends in pairs:
            assert np.abs(apart(robot, *ends) / (2 * e) - column).max() < 3e-8 * max(1, np.abs(column).max())


def test_linearised_of_many_joints_is_what_the_interpreter_gives():
    robot = aw.load("allegro_hand")
    q, qd, tau = states(robot, 5)
    compiled, meant = (aw.stepper(robot, substeps=2, target=t).linearised(q, qd, 1e-3 * tau) for t in ("cpu", "python"))
    for got, expected in zip(compiled, meant, strict=True):
        assert np.abs(got - expected).max() < 1e-11 * np.abs(expected).max()


def test_a_gradient_is_right_to_nine_digits():
    """Against differences of the same rollout in 40 digits."""
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05)
    rng = np.random.default_rng(2)
    q0, qd0, tau = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2), rng.uniform(-1, 1, (20, 2))
    by_q, by_qd = rng.normal(size=(2, 21, 2))
    back = stepper.gradient(q0, qd0, tau, by_q, by_qd)
    with mpmath.workdps(40):
        exact = _exact_gradient(robot, q0, qd0, tau, by_q, by_qd, 0.05)
    got = np.concatenate([back.q0, back.qd0, back.tau.ravel()])
    assert np.abs(got - exact).max() < 1e-9 * np.abs(exact).max()


def _exact_gradient(robot, q0, qd0, tau, by_q, by_qd, h):
    forward = next(f for f in aw.formulations("forward_dynamics") if f.name == "articulated_body")
    mechanism = robot.mechanism()

    def rates(y, u):
        return [*y[2:], *forward(mechanism, y[:2], y[2:], u)]

    def cost(x):
        y, us = list(x[:4]), [x[4 + 2 * k : 6 + 2 * k] for k in range(20)]
        weights = np.concatenate([by_q, by_qd], axis=1).tolist()
        total = sum(w * v for w, v in zip(weights[0], y, strict=True))
        for u, row in zip(us, weights[1:], strict=True):
            k = [rates(y, u)]
            for c in (0.5, 0.5, 1.0):
                k.append(rates([a + h * c * b for a, b in zip(y, k[-1], strict=True)], u))
            y = [a + h * (s + 2 * t + 2 * v + w) / 6 for a, s, t, v, w in zip(y, *k, strict=True)]
            total += sum(w * v for w, v in zip(row, y, strict=True))
        return total

    x = [mpmath.mpf(v) for v in (*q0, *qd0, *tau.ravel())]
    e = mpmath.mpf(10) ** -15
    found = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i], down[i] = x[i] + e, x[i] - e
        found.append(float((cost(up) - cost(down)) / (2 * e)))
    return np.array(found)


@pytest.mark.parametrize("name", ROBOTS)
def test_gradients_by_functions_and_with_few_states_kept_are_the_same(name):
    robot = aw.load(name)
    stepper, (q, qd, _) = aw.stepper(robot, dt=0.01), states(robot, 4)
    tau = np.random.default_rng(1).uniform(-1, 1, (4, 7, robot.n))
    Q, V = stepper.rollout(q, qd, tau)
    whole = stepper.gradient(q, qd, tau, lambda q, qd: (2 * q, 2 * qd))
    few = stepper.gradient(q, qd, tau, 2 * Q, 2 * V, checkpoints=3)
    assert all(np.array_equal(a, b) for a, b in zip(whole, few, strict=True))
    way = np.random.default_rng(5).normal(size=tau.shape)
    costs = [sum((x**2).sum() for x in stepper.rollout(q, qd, tau + e * way)) for e in (1e-6, -1e-6)]
    assert (costs[0] - costs[1]) / 2e-6 == pytest.approx((whole.tau * way).sum(), rel=1e-6)


def test_parameters_that_vary():
    robot = aw.load("puma560")
    q, qd, tau = states(robot, 3)
    masses = np.array([0.0, 1.0, 2.5])
    ends = aw.stepper(robot, dt=0.01, vary={"payload.mass": masses}).step(q, qd, tau)
    for k, mass in enumerate(masses):
        heavier = aw.stepper(robot.with_payload(mass), dt=0.01).step(q[k], qd[k], tau[k])
        assert np.abs(heavier[1] - ends[1][k]).max() < 1e-12
    A, _ = aw.stepper(robot, dt=0.01, vary={"payload.mass": masses}).linearised(q, qd, tau)
    B, _ = aw.stepper(robot.with_payload(2.5), dt=0.01).linearised(q[2], qd[2], tau[2])
    assert np.abs(A[2] - B).max() < 1e-12


def test_one_state_and_many_torques():
    robot = aw.load("rr")
    stepper, zero, tau = aw.stepper(robot, dt=0.01), np.zeros(2), np.random.default_rng(0).normal(size=(64, 2))
    q, qd = stepper.step(zero, zero, tau)
    assert q.shape == qd.shape == (64, 2)
    assert np.array_equal(qd[7], stepper.step(zero, zero, tau[7])[1])
    assert stepper.step(zero, zero, tau[:1])[0].shape == (1, 2)


def test_what_a_stepper_is_made_of_is_not_changed_by_the_way():
    stepper = aw.stepper(aw.load("rr"), dt=0.01, vary={"payload.mass": 1.0})
    with pytest.raises(AttributeError):
        stepper.dt = 0.1
    with pytest.raises(TypeError):
        stepper.parameters["payload.mass"] = 3.0
    state = np.full((3, 2), 0.3)
    stepper.parameters["payload.mass"][...] = 3.0
    heavier = aw.stepper(aw.load("rr"), dt=0.01, vary={"payload.mass": 3.0})
    assert np.array_equal(stepper.step(*state)[1], heavier.step(*state)[1])
    same = np.zeros(2)
    with pytest.raises(aw.InputError, match="same memory"):
        stepper.step(*state, out=(same, same))


def test_a_quaternion_of_another_length_is_not_good():
    robot = aw.robot.random_tree(3, 4, floating=True)
    stepper, (q, qd, tau) = aw.stepper(robot, dt=0.01), states(robot, 3)
    q[1, 3:7] *= 1.5
    with pytest.raises(aw.InputError, match=r"has the length 1\.5"):
        stepper.step(q, qd, tau)
    assert stepper.step(q, qd, tau, raises=False)[2].tolist() == [True, False, True]
    assert stepper.rollout(q, qd, tau[:, None], raises=False)[2].tolist() == [True, False, True]
    assert stepper.linearised(q, qd, tau, raises=False)[2].tolist() == [True, False, True]


def test_one_bad_state_does_not_cost_the_others():
    robot = aw.load("puma560")
    stepper, (q, qd, tau) = aw.stepper(robot, dt=0.01), states(robot, 6)
    tau[4] = 1e308
    with pytest.raises(aw.SimulationError, match="state 4 of the batch"):
        stepper.step(q, qd, tau)
    a, b, good = stepper.step(q, qd, tau, raises=False)
    assert good.tolist() == [True] * 4 + [False, True]
    assert np.isnan(a[4]).all()
    assert np.isnan(b[4]).all()
    assert np.array_equal(a[good], stepper.step(q[good], qd[good], tau[good])[0])
    Q, _, done = stepper.rollout(q, qd, np.repeat(tau[:, None], 3, axis=1), raises=False)
    assert done.tolist() == good.tolist()
    assert np.isfinite(Q[done]).all()
    with pytest.raises(aw.SimulationError, match="step 0: state 4"):
        stepper.rollout(q, qd, np.repeat(tau[:, None], 3, axis=1))
    late = np.zeros((6, 3, 6))
    late[4, 1], late[1, 2] = 1e308, np.nan
    Q, V, done = stepper.rollout(q, qd, late, raises=False)
    assert done.tolist() == [True, False, True, True, False, True]
    for k, step in ((4, 1), (1, 2)):  # nan from where it failed
        assert np.isfinite(Q[k, : step + 1]).all()
        assert np.isnan([Q[k, step + 1 :], V[k, step + 1 :]]).all()
    with pytest.raises(aw.InputError, match=r"tau\[1, 2, 0\] is nan"):
        stepper.rollout(q, qd, late)
    with pytest.raises(aw.SimulationError, match="step 1: state 2"):
        stepper.rollout(q[2:], qd[2:], late[2:])
    q[2, 1] = np.nan
    with pytest.raises(aw.InputError, match=r"q\[2, 1\] is nan"):
        stepper.step(q, qd, 0 * tau)
    assert stepper.step(q, qd, 0 * tau, raises=False)[2].tolist() == [True, True, False, True, True, True]


@pytest.mark.parametrize(
    "robot", [aw.load("puma560"), aw.robot.random_tree(3, 4, floating=True)], ids=["arm", "floating"]
)
def test_derivatives_of_the_others_are_had_beside_a_bad_state(robot):
    stepper, (q, qd, tau) = aw.stepper(robot, dt=0.01), states(robot, 4)
    whole = stepper.linearised(q, qd, tau)
    alone = [stepper.linearised(q[k], qd[k], tau[k])[0] for k in range(4)]
    assert np.array_equal(whole[0], alone)
    qd[2, 1] = np.nan
    with pytest.raises(aw.InputError, match=r"qd\[2, 1\] is nan"):
        stepper.linearised(q, qd, tau)
    A, B, good = stepper.linearised(q, qd, tau, raises=False)
    assert good.tolist() == [True, True, False, True]
    assert all(np.isnan(x[2]).all() and np.array_equal(x[good], y[good]) for x, y in zip((A, B), whole, strict=True))
    torques, by_q = np.repeat(tau[:, None], 5, axis=1), np.ones((4, 6, robot.nq))
    back = stepper.gradient(q, qd, torques, by_q, raises=False)
    assert back.good.tolist() == good.tolist() and all(np.isnan(x[2]).all() for x in back)
    rest = stepper.gradient(q[good], qd[good], torques[good], by_q[good])
    assert all(np.array_equal(x[good], y) for x, y in zip(back, rest, strict=True))
    kept = stepper.gradient(q, qd, torques, by_q, checkpoints=2, raises=False)
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(back, kept, strict=True))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dt": 0}, "more than zero"),
        ({"dt": np.nan}, "more than zero"),
        ({"dt": "fast"}, "more than zero"),
        ({"substeps": 0}, "1 or more"),
        ({"substeps": 2.5}, "1 or more"),
        ({"integrator": "radau"}, "radau"),
        ({"hold": "first"}, "zero"),
        ({"dtype": "float16"}, "float16"),
        ({"target": "abacus"}, "abacus"),
        ({"vary": {"payload.weight": 1.0}}, "payload.weight"),
    ],
)
def test_what_cannot_be_is_said(options, said):
    with pytest.raises(aw.ArmwrightError, match=said):
        aw.stepper(aw.load("puma560"), **options)


def test_wrong_states_are_said():
    robot = aw.load("anymal_c")
    stepper, (q, qd, tau) = aw.stepper(robot), states(robot, 2)
    for given, said in (
        ((q[:, :3], qd, tau), "q has shape"),
        ((q, qd, tau[:, :3]), "tau has shape"),
        ((q, qd[:1, None, None], tau[:, None].repeat(3, 1)), "batch shapes|shape"),
        ((2 * q, qd, tau), "length"),
        (("q", qd, tau), "not numbers"),
    ):
        with pytest.raises(aw.InputError, match=said):
            stepper.step(*given)
    with pytest.raises(aw.InputError, match="one row for every step"):
        stepper.rollout(q[0], qd[0], tau[0])
    with pytest.raises(aw.InputError, match="pair of arrays"):
        stepper.step(q, qd, tau, out=q)
    with pytest.raises(aw.InputError, match="expected a Robot"):
        aw.stepper("puma560")
    assert stepper.step(q[:0], qd[:0], tau[:0])[0].shape == (0, robot.nq)
    assert "anymal_c" in repr(stepper)


def test_every_method_steps():
    robot = aw.load("rr")
    q, qd, tau = (np.full(2, x) for x in (0.3, 0.1, 0.2))
    exact = aw.stepper(robot, dt=0.01, substeps=20).step(q, qd, tau)
    for name in methods():
        ends = aw.stepper(robot, dt=0.01, substeps=1, integrator=name, target="python").step(q, qd, tau)
        assert np.abs(ends[0] - exact[0]).max() < 1e-3
