"""Robots in PyTorch: the numbers of the robot itself, gradients that are right, tensors that are shared, clear errors."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import armwright as aw
from armwright.robot import random_tree

torch = pytest.importorskip("torch")
robots = pytest.importorskip("armwright.learn.torch")

PROBLEMS = ("inverse_dynamics", "forward_dynamics")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def states(robot, *batch, seed=3):
    rng = np.random.default_rng(seed)
    q = robot.unit(rng.uniform(-0.5, 0.5, (*batch, robot.nq)))
    return [q, *rng.uniform(-0.5, 0.5, (2, *batch, robot.n))]


def whole(seed=3):
    """A body that floats, and one on a planar joint; of another seed on a ball."""
    return random_tree(2, seed, floating=True)


def tensors(arrays, dtype=torch.float64, grad=False):
    return [torch.tensor(x, dtype=dtype, requires_grad=grad) for x in arrays]


@pytest.mark.parametrize("robot", [aw.load("rr"), whole()], ids=["rr", "whole"])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_are_those_of_the_robot(robot, batch, dtype):
    given = tensors(states(robot, *batch), dtype)
    numbers = [x.numpy() for x in given]
    kind = str(dtype).removeprefix("torch.")
    for problem in PROBLEMS:
        got = getattr(robots, problem)(robot, *given)
        assert got.dtype == dtype
        assert np.array_equal(got.numpy(), aw.compile(robot, problem, dtype=kind)(*numbers))
    stepper = aw.stepper(robot, dt=0.01, substeps=2, dtype=kind)
    for got, expected in zip(robots.step(stepper, *given), stepper.step(*numbers), strict=True):
        assert np.array_equal(got.numpy(), expected)
    tau = given[2][..., None, :].expand(*batch, 3, robot.n)
    ends = stepper.rollout(*numbers[:2], tau.numpy())
    for got, expected in zip(robots.rollout(stepper, *given[:2], tau), ends, strict=True):
        assert np.array_equal(got.numpy(), expected)


def test_gradients_are_right_also_where_batches_repeat():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05, substeps=2)
    rng = np.random.default_rng(1)
    q, qd, x = tensors([rng.uniform(-1, 1, shape) for shape in ((3, 1, 2), (2,), (2, 2))], grad=True)
    for f, of in ((robots.inverse_dynamics, robot), (robots.forward_dynamics, robot), (robots.step, stepper)):
        assert torch.autograd.gradcheck(partial(f, of), (q, qd, x))
    tau = torch.tensor(rng.uniform(-1, 1, (2, 4, 2)), requires_grad=True)
    assert torch.autograd.gradcheck(partial(robots.rollout, stepper), (q, qd, tau))


def test_gradients_are_those_of_the_matrices():
    robot = aw.load("rr")
    given = tensors(states(robot, 4), grad=True)
    seed = torch.tensor(np.random.default_rng(0).normal(size=(4, robot.n)))
    for problem in PROBLEMS:
        found = torch.autograd.grad(getattr(robots, problem)(robot, *given), given, seed)
        matrices = getattr(robot, f"{problem}_derivatives")(*(x.detach().numpy() for x in given))
        for got, matrix in zip(found, matrices, strict=True):
            expected = np.einsum("bi,bij->bj", seed.numpy(), matrix)
            assert np.abs(got.numpy() - expected).max() < 1e-12 * np.abs(expected).max()


def test_gradients_by_quaternions_are_along_the_sphere():
    """Those of moves by velocities, and none of the length, also in single precision."""
    robot = whole()
    q, qd, x = states(robot)
    weights = torch.tensor(np.random.default_rng(5).normal(size=robot.nq + robot.n))

    def cost(what, q, dtype=torch.float64):
        given = tensors([q, qd, x], dtype, grad=True)
        if what == "step":
            stepper = aw.stepper(robot, dt=0.01, dtype=str(dtype).removeprefix("torch."))
            result = torch.cat(robots.step(stepper, *given))
        else:
            result = getattr(robots, what)(robot, *given)
        return result.double() @ weights[: len(result)], given[0]

    for what in (*PROBLEMS, "step"):
        by_q, by_single = (torch.autograd.grad(*cost(what, q, dtype))[0] for dtype in (torch.float64, torch.float32))
        size = float(by_q.norm())
        assert float((by_single - by_q).norm()) < 1e-4 * size
        for ball in robot.balls:
            assert abs(by_q[ball.unit_vector].numpy() @ q[ball.unit_vector]) < 1e-13 * size
        for k in range(robot.n):
            moved = [robot.integrate(q, s * 1e-5 * np.eye(robot.n)[k]) for s in (1, -1)]
            change = np.subtract(*(cost(what, end)[0].item() for end in moved))
            assert abs(by_q.numpy() @ (moved[0] - moved[1]) - change) < 1e-9 * 2e-5 * size


def test_vmap_and_jacrev_see_one_state_at_a_time():
    robot = aw.load("rr")
    given = tensors(states(robot, 5))
    f = partial(robots.forward_dynamics, robot)
    assert torch.equal(torch.func.vmap(f)(*given), f(*given))
    assert torch.equal(
        torch.func.vmap(f, in_dims=(0, None, 1))(given[0], given[1][0], given[2].T), f(given[0], given[1][0], given[2])
    )
    slopes = torch.func.vmap(torch.func.jacrev(f, argnums=(0, 1, 2)))(*given)
    matrices = robot.forward_dynamics_derivatives(*(x.numpy() for x in given))
    for got, expected in zip(slopes, matrices, strict=True):
        assert np.allclose(got.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_tensors_are_shared_and_may_lie_anyhow(monkeypatch):
    robot = aw.load("rr")
    given = tensors(states(robot, 6))
    expected = robots.inverse_dynamics(robot, *given)
    scattered = [x.T.contiguous().T for x in given]
    assert not scattered[0].is_contiguous()
    assert torch.equal(robots.inverse_dynamics(robot, *scattered), expected)
    assert torch.equal(robots.inverse_dynamics(robot, *(x.repeat_interleave(2, 0)[::2] for x in given)), expected)
    seen = []
    dynamics = robots._dynamics(robot, "inverse_dynamics", "float64", "cpu")
    value = dynamics.value
    monkeypatch.setattr(dynamics, "value", lambda arrays, threads: seen.extend(arrays) or value(arrays, threads))
    result = robots.inverse_dynamics(robot, *given)
    assert [x.__array_interface__["data"][0] for x in seen] == [x.data_ptr() for x in given]
    assert torch.equal(result, expected)


def test_parameters_of_a_stepper_may_differ_from_state_to_state():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05, vary={"payload.mass": np.array([0.0, 1.0, 2.0])})
    q, qd, tau = tensors(states(robot), grad=True)
    ends = robots.step(stepper, q, qd, tau)
    assert np.array_equal(ends[1].detach().numpy(), stepper.step(*(x.detach().numpy() for x in (q, qd, tau)))[1])
    assert torch.autograd.gradcheck(partial(robots.step, stepper), (q, qd, tau))


def test_torques_are_found_that_lead_to_a_state():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05, substeps=2)
    q0, qd0 = torch.zeros(2, 2, dtype=torch.float64)
    meant = torch.tensor(np.random.default_rng(0).uniform(-5, 5, (10, 2)))
    target = robots.rollout(stepper, q0, qd0, meant)[0][-1]
    tau = torch.zeros(10, 2, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([tau], lr=0.5)
    costs = []
    for _ in range(50):
        adam.zero_grad()
        cost = (robots.rollout(stepper, q0, qd0, tau)[0][-1] - target).square().sum()
        cost.backward()
        adam.step()
        costs.append(cost.item())
    assert costs[-1] < 1e-2 * costs[0]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # forward mode imports it
def test_second_derivatives_are_refused():
    robot = aw.load("rr")
    q, qd, x = tensors(states(robot), grad=True)
    (by_q,) = torch.autograd.grad(robots.inverse_dynamics(robot, q, qd, x).sum(), q, create_graph=True)
    with pytest.raises(aw.InputError, match="inverse_dynamics of rr has no second derivatives"):
        by_q.sum().backward()
    with pytest.raises(aw.InputError, match="inverse_dynamics of rr has derivatives by reverse mode only"):
        torch.func.jacfwd(lambda q: robots.inverse_dynamics(robot, q, qd, x))(q)


def test_a_tensor_with_the_negative_bit_is_taken_as_its_value():
    robot = aw.load("rr")
    q, qd, x = tensors(states(robot))
    conjugate = torch.complex(q, -q).conj().imag  # PyTorch negates it when it is read
    assert conjugate.is_neg() and torch.equal(conjugate, q)
    assert torch.equal(robots.inverse_dynamics(robot, conjugate, qd, x), robots.inverse_dynamics(robot, q, qd, x))
    with pytest.raises(aw.InputError, match=r"q is not an array of numbers: .*resolve_neg"):
        robot.inverse_dynamics(conjugate, qd.numpy(), x.numpy())


def test_what_is_wrong_is_told():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05)
    q, qd, x = tensors(states(robot, 5))
    f = robots.inverse_dynamics
    cases = (
        (lambda: f("rr", q, qd, x), "inverse_dynamics got str; expected a Robot"),
        (lambda: f([], q, qd, x), "inverse_dynamics got list; expected a Robot"),
        (lambda: f(robot, q.numpy(), qd, x), "q is ndarray; expected a tensor"),
        (lambda: f(robot, q.float(), qd, x), "q torch.float32, qd torch.float64.*expected all float32, or all float64"),
        (lambda: f(robot, q.int(), qd.int(), x.int()), "torch.int32"),
        (lambda: f(robot, q.to("meta"), qd, x), "q is on meta; expected a dense tensor on the CPU"),
        (lambda: f(robot, q.to_sparse(), qd, x), "q is torch.sparse_coo; expected a dense tensor"),
        (lambda: f(robot, q[:, :1], qd, x), r"q has shape \(5, 1\); expected shape \(2,\)"),
        (lambda: f(robot, q[:3], qd, x), r"q \(3,\), qd \(5,\)"),
        (lambda: f(robot, q * torch.nan, qd, x), r"q\[0, 0\] is nan"),
        (lambda: robots.step(robot, q, qd, x), "step got Robot; expected a stepper"),
        (lambda: robots.step(stepper, q.float(), qd.float(), x.float()), "got float32; its stepper has float64"),
        (lambda: robots.rollout(stepper, q, qd, x[0]), r"tau has shape \(2,\); expected \(..., steps, 2\)"),
        (lambda: robots.rollout(stepper, q, qd, x[:0]), r"tau has shape \(0, 2\); expected \(..., steps, 2\)"),
    )
    for wrong, said in cases:
        with pytest.raises(aw.InputError, match=said):
            wrong()
    with pytest.raises(aw.SimulationError, match="state 2 of the batch has no finite successor"):
        robots.step(stepper, q, torch.where(torch.arange(5)[:, None] == 2, 1e200, qd), x)


def test_what_is_wrong_on_the_way_back_is_told():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05)
    q, qd, x = tensors(states(robot, 5), grad=True)
    rolled = x.expand(4, 5, 2).movedim(0, 1)
    for result, said in (
        (
            robots.forward_dynamics(robot, q, qd, x),
            r"forward_dynamics of rr: the gradient by qdd\[0, 0\]",
        ),
        (robots.step(stepper, q, qd, x)[1], r"a step of rr: the gradient by qd\[0, 0\]"),
        (robots.rollout(stepper, q, qd, rolled)[0], r"a rollout of rr: the gradient by q\[0, 0, 0\]"),
    ):
        with pytest.raises(aw.InputError, match=said):
            (result.sum() * torch.nan).backward()
    with pytest.raises(aw.InputError, match="the gradient of inverse_dynamics of rr overflows"):
        (robots.inverse_dynamics(robot, q, qd, x).sum() * 1e308).backward()
    fast = torch.full((2,), 1e80, dtype=torch.float64, requires_grad=True)
    end = robots.step(aw.stepper(robot, dt=1e-90), q[0], fast, x[0])[1]
    with pytest.raises(aw.SimulationError, match=r"the gradient of a step of rr: .* the motion diverges"):
        (end.sum() * 1e300).backward()


def test_a_mass_matrix_that_is_singular_is_told():
    link = {"type": "revolute", "alpha": 0, "a": 0.5, "d": 0, "mass": 0, "com": [0, 0, 0], "inertia": [0] * 6}
    robot = aw.Robot.from_dh([link], convention="modified")
    with pytest.raises(aw.SingularError, match="singular"):
        robots.forward_dynamics(robot, *torch.zeros(3, 1))


def test_armwright_alone_imports_neither():
    code = "import armwright, armwright.learn, sys; print(*(name for name in ('torch', 'jax') if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_who_has_it_not_is_told_how_to_get_it(name):
    code = f"import sys; sys.modules['{name}'] = None\nfrom armwright.learn import {name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"pip install 'armwright[{name}]'" in done.stderr.splitlines()[-1]


def test_bad_states_cost_the_good_ones_nothing():
    robot = aw.load("rr")
    stepper = aw.stepper(robot, dt=0.05)
    numbers = states(robot, 5)
    rolled = np.repeat(numbers[2][:, None], 3, axis=1)
    for f, given in ((robots.step, numbers), (robots.rollout, [*numbers[:2], rolled])):
        wanted = tensors(given, grad=True)
        expected = f(stepper, *wanted)
        by = torch.autograd.grad(sum(x[[0, 1, 3]].square().sum() for x in expected), wanted)
        spoilt = [x.copy() for x in given]
        spoilt[1][2], spoilt[0][4] = 1e200, np.nan
        got = tensors(spoilt, grad=True)
        *ends, good = f(stepper, *got, raises=False)
        assert good.tolist() == [True, True, False, True, False]
        assert all(torch.equal(x[good], y[good]) for x, y in zip(ends, expected, strict=True))
        assert all(not torch.isfinite(x[~good]).all() for x in ends)
        found = torch.autograd.grad(
            sum(torch.where(good.reshape(5, *(1,) * (x.ndim - 1)), x, 0).square().sum() for x in ends), got
        )
        assert all(torch.equal(x, y) for x, y in zip(found, by, strict=True))
        with pytest.raises(aw.InputError, match=r"the gradient by q.*is nan"):
            torch.autograd.grad(sum(x.sum() for x in f(stepper, *got, raises=False)[:2]) * torch.nan, got)
        none = f(stepper, *tensors([x * np.nan for x in given], grad=True), raises=False)
        assert not none[2].any()
        all_good = f(stepper, *got[:1], *tensors([x * 0 for x in given[1:]]), raises=False)[2]
        assert all_good.tolist() == [True, True, True, True, False]
