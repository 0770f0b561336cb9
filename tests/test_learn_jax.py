"""Robots in JAX: the numbers of the robot itself under jit, vmap and grad, on XLA's own buffers, and clear errors."""

from functools import partial

import numpy as np
import pytest

import armwright as aw
from armwright.robot import random_tree

jax = pytest.importorskip("jax")
robots = pytest.importorskip("armwright.learn.jax")
jnp = jax.numpy

PROBLEMS = ("inverse_dynamics", "forward_dynamics")
FAILURES = (RuntimeError, ValueError)
"""What JAX makes of an error while a program runs, depending on its version and on where it waits."""


@pytest.fixture(autouse=True)
def double():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def states(robot, *batch, seed=3):
    rng = np.random.default_rng(seed)
    q = robot.unit(rng.uniform(-0.5, 0.5, (*batch, robot.nq)))
    return [q, *rng.uniform(-0.5, 0.5, (2, *batch, robot.n))]


def arrays(given, dtype="float64"):
    return [jnp.asarray(x, dtype) for x in given]


def cost(f, of, *given):
    """A number that depends on every result."""
    return sum((k + 1) * jnp.sin(y).sum() for k, y in enumerate(jax.tree.leaves(f(of, *map(jnp.asarray, given)))))


def close(got, expected, tolerance=1e-12):
    assert got.shape == expected.shape
    assert np.abs(np.asarray(got) - np.asarray(expected)).max() <= tolerance * np.abs(np.asarray(expected)).max()


@pytest.mark.parametrize("robot", [aw.load("rr"), random_tree(2, 3, floating=True)], ids=["rr", "floating"])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_are_those_of_the_robot_with_and_without_jit(robot, batch, dtype):
    given = arrays(states(robot, *batch), dtype)
    numbers = [np.asarray(x) for x in given]
    for problem in PROBLEMS:
        f, expected = partial(getattr(robots, problem), robot), aw.compile(robot, problem, dtype=dtype)(*numbers)
        for got in (f(*given), jax.jit(f)(*given), f(*numbers)):
            assert got.dtype == dtype
            assert np.array_equal(got, expected)
    stepper = aw.stepper(robot, dt=0.01, substeps=2, dtype=dtype)
    for got, expected in zip(robots.step(stepper, *given), stepper.step(*numbers), strict=True):
        assert np.array_equal(got, expected)
    tau = jnp.broadcast_to(given[2][..., None, :], (*batch, 3, robot.n))
    ends = stepper.rollout(*numbers[:2], np.asarray(tau))
    for got, expected in zip(robots.rollout(stepper, *given[:2], tau), ends, strict=True):
        assert np.array_equal(got, expected)


def test_gradients_are_right_also_where_batches_repeat():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05, substeps=2)
    rng = np.random.default_rng(1)
    q, qd, x = arrays([rng.uniform(-1, 1, shape) for shape in ((3, 1, 2), (2,), (2, 2))])
    tau = jnp.asarray(rng.uniform(-1, 1, (2, 4, 2)))
    for f, of, given in (
        (robots.inverse_dynamics, robot, (q, qd, x)),
        (robots.forward_dynamics, robot, (q, qd, x)),
        (robots.step, stepper, (q, qd, x)),
        (robots.rollout, stepper, (q, qd, tau)),
    ):
        sum_of = partial(cost, f, of)
        gradient = jax.jit(jax.grad(sum_of, argnums=(0, 1, 2)))(*given)
        for k, (by, at) in enumerate(zip(gradient, given, strict=True)):
            assert by.shape == at.shape
            way = jnp.asarray(rng.normal(size=at.shape))
            ends = (sum_of(*given[:k], at + e * way, *given[k + 1 :]) for e in (1e-6, -1e-6))
            assert abs((by * way).sum() - np.subtract(*ends) / 2e-6) < 1e-7 * (1 + abs((by * way).sum()))


def test_vmap_and_jacrev_see_one_state_at_a_time():
    robot = aw.load("rr")
    q, qd, x = arrays(states(robot, 5))
    f = partial(robots.forward_dynamics, robot)
    assert np.array_equal(jax.vmap(f)(q, qd, x), f(q, qd, x))
    assert np.array_equal(jax.vmap(f, in_axes=(0, None, 1))(q, qd[0], x.T), f(q, qd[0], x))
    twice = jax.vmap(jax.vmap(f, in_axes=(0, None, None)), in_axes=(None, None, 0))(q, qd[0], x)
    close(twice, np.swapaxes(f(q[:, None], qd[0], x), 0, 1), 0)
    slopes = jax.jit(jax.vmap(jax.jacrev(f, argnums=(0, 1, 2))))(q, qd, x)
    for got, expected in zip(slopes, robot.forward_dynamics_derivatives(*map(np.asarray, (q, qd, x))), strict=True):
        close(got, expected)


def test_gradients_by_quaternions_are_along_the_sphere():
    robot = random_tree(2, 0, floating=True)
    assert {ball.kind for ball in robot.balls} == {"free", "ball"}
    stepper = aw.stepper(robot, dt=0.01)
    q, qd, x = states(robot)
    for f, of in ((robots.forward_dynamics, robot), (robots.step, stepper)):
        by_q = np.asarray(jax.grad(partial(cost, f, of))(q, qd, x))
        for ball in robot.balls:
            assert abs(by_q[ball.unit_vector] @ q[ball.unit_vector]) < 1e-13 * np.linalg.norm(by_q)
        for k in range(robot.n):
            ends = [robot.integrate(q, s * 1e-6 * np.eye(robot.n)[k]) for s in (1, -1)]
            change = np.subtract(*(cost(f, of, end, qd, x) for end in ends))
            assert abs(by_q @ (ends[0] - ends[1]) - change) < 1e-7 * 2e-6 * (1 + np.linalg.norm(by_q))


def test_large_batches_run_under_jit_while_others_wait():
    """Nobody waits for Python: what would stand still with callbacks goes on, on all cores."""
    robot = aw.load("rr")
    numbers = states(robot, 50_001)
    q, qd, x = arrays(numbers)
    assert np.array_equal(robots.forward_dynamics(robot, q, qd, x), robot.forward_dynamics(*numbers))
    late = x.at[-1, 0].set(jnp.nan)
    with pytest.raises(FAILURES, match=r"tau\[50000, 0\] is nan"):
        jax.block_until_ready(robots.forward_dynamics(robot, q, qd, late))
    step = jax.jit(jax.grad(lambda q, qd, x: robots.forward_dynamics(robot, q, qd, jnp.tanh(x)).sum(), argnums=(0, 1)))
    for _ in range(5):
        q, qd = step(q, qd, x)
        q, qd = jnp.clip(q, -1, 1), jnp.clip(qd, -1, 1)
    assert np.isfinite(np.asarray(qd)).all()


def test_parameters_of_a_stepper_may_differ_from_state_to_state():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05, vary={"payload.mass": np.array([0.0, 1.0, 2.0])})
    numbers = states(robot)
    q, qd, tau = arrays(numbers)
    assert np.array_equal(robots.step(stepper, q, qd, tau)[1], stepper.step(*numbers)[1])
    several = jax.vmap(lambda tau: robots.step(stepper, q, qd, tau)[1])(jnp.stack([tau, 2 * tau]))
    assert np.array_equal(several[1], stepper.step(*numbers[:2], 2 * numbers[2])[1])
    stepper.parameters["payload.mass"][...] = [3.0, 1.0, 2.0]
    assert np.array_equal(robots.step(stepper, q, qd, tau)[1], stepper.step(*numbers)[1])


def test_torques_are_found_that_lead_to_a_state():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05, substeps=2, dtype="float32")
    start = jnp.zeros(2, "float32")
    meant = jnp.asarray(np.random.default_rng(0).uniform(-5, 5, (10, 2)), "float32")
    target = robots.rollout(stepper, start, start, meant)[0][-1]

    @jax.jit
    @jax.value_and_grad
    def missed(tau):
        return jnp.square(robots.rollout(stepper, start, start, tau)[0][-1] - target).sum()

    tau = first = second = jnp.zeros((10, 2), "float32")
    costs = []
    for k in range(1, 51):
        value, by_tau = missed(tau)
        first, second = 0.9 * first + 0.1 * by_tau, 0.999 * second + 0.001 * by_tau**2
        tau = tau - 0.5 * (first / (1 - 0.9**k)) / (jnp.sqrt(second / (1 - 0.999**k)) + 1e-8)
        costs.append(float(value))
    assert costs[-1] < 1e-2 * costs[0]


def test_second_derivatives_and_forward_mode_are_refused():
    robot = aw.load("rr")
    q, qd, x = arrays(states(robot))
    once = jax.grad(lambda q: robots.inverse_dynamics(robot, q, qd, x).sum())
    with pytest.raises(aw.InputError, match="inverse_dynamics of rr has no second derivatives"):
        jax.grad(lambda q: once(q).sum())(q)
    stepper = aw.stepper(robot, dt=0.05)
    for f in (
        lambda q: robots.inverse_dynamics(robot, q, qd, x),
        lambda q: robots.step(stepper, q, qd, x)[0],
        lambda q: robots.rollout(stepper, q, qd, x[None])[0],
    ):
        with pytest.raises(aw.InputError, match=r"of rr .*derivatives by reverse mode only"):
            jax.jvp(f, (q,), (q,))
        with pytest.raises(aw.InputError, match="derivatives by reverse mode only"):
            jax.jacfwd(f)(q)


def test_what_is_wrong_is_told():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05)
    q, qd, x = arrays(states(robot, 5))
    single = [y.astype("float32") for y in (q, qd, x)]
    f = robots.inverse_dynamics
    cases = (
        (lambda: f("rr", q, qd, x), "inverse_dynamics got str; expected a Robot"),
        (lambda: f(robot, [0.0, 0.0], qd, x), "q is list; expected an array"),
        (lambda: f(robot, single[0], qd, x), "q float32, qd float64.*expected all float32, or all float64"),
        (lambda: f(robot, q.astype(int), qd, x), "q int64"),
        (lambda: f(robot, q[:, :1], qd, x), r"q has shape \(5, 1\); expected shape \(2,\)"),
        (lambda: jax.jit(partial(f, robot))(q[:3], qd, x), r"q \(3,\), qd \(5,\)"),
        (lambda: robots.step(robot, q, qd, x), "step got Robot; expected a stepper"),
        (lambda: robots.step(stepper, *single), "got float32; its stepper has float64"),
        (lambda: robots.step(aw.stepper(robot, target="python"), q, qd, x), "expected target='cpu'"),
        (lambda: robots.rollout(stepper, q, qd, x[0]), r"tau has shape \(2,\); expected \(..., steps, 2\)"),
        (lambda: f(aw.random_robot(25, 1), *jnp.zeros((3, 25))), "for up to 24 joints"),
    )
    for wrong, said in cases:
        with pytest.raises(aw.InputError, match=said):
            wrong()


def test_what_goes_wrong_while_a_program_runs_is_told():
    robot, floating = aw.load("rr"), random_tree(2, 3, floating=True)
    stepper = aw.stepper(robot, dt=0.05)
    q, qd, x = arrays(states(robot, 5))
    fast = qd.at[2].set(1e200)
    f, s = partial(robots.inverse_dynamics, robot), partial(robots.step, stepper)
    cases = (
        (lambda: f(q.at[1, 1].set(jnp.nan), qd, x), r"q\[1, 1\] is nan; every number must be finite"),
        (lambda: jax.jit(f)(q, qd, x.at[4, 0].set(jnp.inf)), r"qdd\[4, 0\] is inf"),
        (lambda: s(q, fast, x), "state 2 of the batch has no finite successor: the motion diverges"),
        (
            lambda: jax.grad(lambda q: f(q, qd, x).sum() * jnp.nan)(q),
            r"inverse_dynamics of rr: the gradient by tau\[0, 0\] is nan",
        ),
        (
            lambda: jax.grad(lambda q: s(q, qd, x)[1].sum() * jnp.nan)(q),
            r"a step of rr: the gradient by qd\[0, 0\] is nan",
        ),
        (lambda: jax.grad(lambda q: f(q, qd, x).sum() * 1e308)(q), "the gradient of inverse_dynamics of rr overflows"),
        (
            lambda: robots.inverse_dynamics(floating, *arrays([2 * np.ones(floating.nq), *np.ones((2, floating.n))])),
            "has the length",
        ),
    )
    for wrong, said in cases:
        with pytest.raises(FAILURES, match=said):
            jax.block_until_ready(wrong())
    assert np.isfinite(np.asarray(f(q, qd, x))).all()


def test_bad_states_cost_the_good_ones_nothing():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05)
    numbers = states(robot, 5)
    rolled = np.repeat(numbers[2][:, None], 3, axis=1)
    kept = np.array([0, 1, 3])
    for f, given in ((robots.step, numbers), (robots.rollout, [*numbers[:2], rolled])):
        raising, lenient = partial(f, stepper), partial(f, stepper, raises=False)
        wanted = arrays(given)
        expected = raising(*wanted)
        by = jax.grad(lambda given, f=raising: sum((x[kept] ** 2).sum() for x in f(*given)))(wanted)
        spoilt = [x.copy() for x in given]
        spoilt[1][2], spoilt[0][4] = 1e200, np.nan
        *ends, good = jax.jit(lenient)(*spoilt)
        assert good.tolist() == [True, True, False, True, False]
        assert all(np.array_equal(x[kept], y[kept]) for x, y in zip(ends, expected, strict=True))
        assert all(not np.isfinite(x[~good]).all() for x in ends)

        def cost(given, f=lenient):
            *ends, good = f(*given)
            return sum(jnp.where(good.reshape(5, *(1,) * (x.ndim - 1)), x, 0).__pow__(2).sum() for x in ends)

        found = jax.jit(jax.grad(cost))(arrays(spoilt))
        for got, exact in zip(found, by, strict=True):
            assert np.abs(got - exact).max() <= 1e-14 * np.abs(exact).max()
