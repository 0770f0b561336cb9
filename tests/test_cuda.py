"""States on a card: what the interpreter says, whichever way arrays lie and of whichever package they are.

They need CuPy and an NVIDIA card; `test_cuda_text` holds the same text to the interpreter on any machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armwright as aw
from armwright.backends.cuda.host import transpose_launcher
from armwright.backends.cuda.host.device import cupy
from armwright.errors import ArmwrightError
from armwright.robot import random_tree

try:
    cp = cupy()
except ArmwrightError as missing:
    pytest.skip(str(missing), allow_module_level=True)

PANDA = aw.load("panda")
PROBLEMS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_kinematics", "jacobian", "kinetic_energy")
WITHIN = {"float64": 1e-13, "float32": 1e-5}


def arrays(sizes: dict[str, int], states: int, dtype: str, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (states, n)).astype(dtype) for n in sizes.values()]


def given(robot: aw.Robot, problem: str, states: int, dtype: str) -> list[np.ndarray]:
    function = aw.compile(robot, problem, target="python")
    made = arrays({name: robot.nq if name == "q" else robot.n for name in function.arguments}, states, dtype)
    made[0] = robot.neutral + 0.5 * made[0] if not robot.balls else np.tile(robot.neutral, (states, 1))
    return [x.astype(dtype) for x in made]


def agrees(robot: aw.Robot, problem: str, dtype: str, host: list[np.ndarray], there: Any) -> None:
    meant = aw.compile(robot, problem, target="python")(*(x.astype(float) for x in host))
    got = cp.asnumpy(there)
    assert got.shape == meant.shape
    assert np.abs(got - meant).max() <= WITHIN[dtype] * np.abs(meant).max() * 10


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("states", [1, 2, 33, 1000, 1024])
@pytest.mark.parametrize("problem", ["inverse_dynamics", "mass_matrix"])
def test_rows_columns_and_anything_between(problem: str, states: int, dtype: str) -> None:
    function = aw.compile(PANDA, problem, target="cuda", dtype=dtype)
    host = given(PANDA, problem, states, dtype)
    rows = [cp.asarray(x) for x in host]
    columns = [cp.asfortranarray(x) for x in rows]
    apart = [cp.repeat(x, 2, axis=0)[::2] for x in rows]
    for there in (rows, columns, apart, [rows[0], *columns[1:]]):
        agrees(PANDA, problem, dtype, host, function(*there))
    out = cp.empty(function(*rows).shape, dtype)
    assert function(*rows, out=out) is out
    agrees(PANDA, problem, dtype, host, out)
    agrees(PANDA, problem, dtype, host, cp.asarray(function(*host)))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_problems_of_robots(problem: str) -> None:
    for robot in (aw.load("stanford"), PANDA, aw.load("anymal_c")):
        if robot.balls and problem in ("forward_kinematics", "jacobian"):
            continue
        function, host = aw.compile(robot, problem, target="cuda"), given(robot, problem, 50, "float64")
        agrees(robot, problem, "float64", host, function(*map(cp.asarray, host)))


@pytest.mark.parametrize("problem", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_derivatives(problem: str, dtype: str) -> None:
    function, host = aw.compile(PANDA, problem, target="cuda", dtype=dtype), given(PANDA, problem, 100, dtype)
    if dtype == "float64":
        host[0][::9, :6] *= 1e8
    for order in ("C", "F"):
        agrees(PANDA, problem, dtype, host, function(*(cp.asarray(x, order=order) for x in host)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_robots_too_large_for_registers(dtype: str) -> None:
    """Chapters hand on what later ones need; and of a chain what is written for no loop is there, too."""
    g1, chain = aw.load("g1"), aw.random_robot(30, 1)
    for robot, problem in (
        (g1, "forward_dynamics"),
        (g1, "mass_matrix"),
        (chain, "inverse_dynamics"),
        (chain, "forward_dynamics"),
        (chain, "jacobian"),
    ):
        function, host = aw.compile(robot, problem, target="cuda", dtype=dtype), given(robot, problem, 100, dtype)
        meant = aw.compile(robot, problem, target="python")(*(x.astype(float) for x in host))
        within = {"float64": 1e-9, "float32": 1e-2}[dtype] * np.abs(meant).max()
        for order in ("C", "F"):
            assert np.abs(function(*(cp.asarray(x, order=order) for x in host)).get() - meant).max() <= within


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_too_long_for_shared_memory(dtype: str) -> None:
    """They are computed side by side, in parts, and laid as rows; the first state without a result is found in any."""
    g1 = aw.load("g1")
    function, rng = aw.compile(g1, "mass_matrix", target="cuda", dtype=dtype), np.random.default_rng(1)
    q = (g1.neutral + np.pad(rng.uniform(-1, 1, (6001, g1.n - 6)), ((0, 0), (7, 0)))).astype(dtype)
    rows, columns = function(cp.asarray(q)), function(cp.asarray(q, order="F"))
    assert rows.nbytes > transpose_launcher.MIN_BYTES
    assert (rows == columns).all()
    q[5000, 20] = np.nan
    with pytest.raises(ArmwrightError, match="5000"):
        function(cp.asarray(q))
    _, good = function(cp.asarray(q), raises=False)
    assert cp.flatnonzero(~good).tolist() == [5000]


LONG = aw.random_robot(40, 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque"])
@pytest.mark.parametrize("many", [False, True])
def test_long_chains_go_along_their_joints(
    problem: str, dtype: str, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, if they are many, side by side."""
    if many:
        monkeypatch.setattr(transpose_launcher, "MIN_BYTES", 0)
    function, host = aw.compile(LONG, problem, target="cuda", dtype=dtype), given(LONG, problem, 70, dtype)
    there = [cp.asarray(x) for x in host]
    meant = aw.compile(LONG, problem, target="python")(*(x.astype(float) for x in host))
    within = {"float64": 1e-10, "float32": 1e-3}[dtype] * np.abs(meant).max()
    for arrays in (there, [cp.asfortranarray(x) for x in there], [there[0], *host[1:]]):
        got = function(*arrays)
        assert isinstance(got, cp.ndarray) and got.dtype == dtype
        assert np.abs(got.get() - meant).max() <= within
    assert np.abs(function(*host) - meant).max() <= within
    out = cp.empty(meant.shape, dtype)
    assert function(*there, out=out) is out
    there[-1][37, 3] = np.nan
    with pytest.raises(aw.InputError, match=r"\[37, 3\] is nan"):
        function(*there)
    result, good = function(*there, raises=False)
    assert np.flatnonzero(~good.get()).tolist() == [37]
    assert np.isnan(result[37].get()).all()
    assert (result[:37] == out[:37]).all()


def test_a_long_chain_feels_wrenches() -> None:
    tip, links = np.random.default_rng(1).normal(size=(20, 6)), np.random.default_rng(2).normal(size=(LONG.n, 6))
    for problem in ("inverse_dynamics", "forward_dynamics"):
        host = given(LONG, problem, 20, "float64")
        meant = aw.compile(LONG, problem, target="python")(*host, tip_wrench=tip, link_wrenches=links)
        function = aw.compile(LONG, problem, target="cuda")
        got = function(*map(cp.asarray, host), tip_wrench=cp.asarray(tip), link_wrenches=cp.asarray(links))
        assert np.abs(got.get() - meant).max() <= 1e-10 * np.abs(meant).max()


@pytest.mark.parametrize("problem", ["forward_kinematics", "jacobian", "kinetic_energy", "coriolis_matrix"])
def test_what_has_no_loop_is_computed_there_as_it_is_written(problem: str) -> None:
    function, host = aw.compile(LONG, problem, target="cuda"), given(LONG, problem, 5, "float64")
    there = [cp.asarray(x) for x in host]
    agrees(LONG, problem, "float64", host, function(*there))
    single = function(*(x[1] for x in there))
    assert isinstance(single, cp.ndarray)
    assert np.allclose(single.get(), function(*host)[1], rtol=1e-12)
    there[0][3, 4] = np.inf
    result, good = function(*there, raises=False)
    assert good.get().tolist() == [True, True, True, False, True]
    assert np.isnan(result[3].get()).all()


def test_long_chains_take_tensors_and_what_is_not_there_is_said() -> None:
    host = given(LONG, "inverse_dynamics", 8, "float32")
    function = aw.compile(LONG, "inverse_dynamics", target="cuda", dtype="float32")
    meant = function(*host)
    there = [cp.asarray(x) for x in host]
    with pytest.raises(aw.InputError, match="derivatives are for up to 32 joints"):
        aw.compile(LONG, "gibbs_gradient", target="cuda")(*there)
    with pytest.raises(aw.InputError, match="parameters can vary for up to 32 joints"):
        aw.compile(LONG, "inverse_dynamics", target="cuda", vary=["gravity"])(*there, cp.zeros(3))
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(x).cuda() for x in host]
    assert np.array_equal(function(*tensors).cpu().numpy(), meant)
    jax = pytest.importorskip("jax")
    if jax.default_backend() == "gpu":
        got = function(*map(jax.numpy.asarray, host))
        assert isinstance(got, jax.Array) and np.array_equal(got, meant)


def test_large_angles_are_right() -> None:
    for dtype in ("float64", "float32"):
        host = given(PANDA, "inverse_dynamics", 200, dtype)
        host[0][::7, :6] *= 1e6  # the last joint has an offset, in which single precision would round
        host[0][::11, :6] *= 1e9
        function = aw.compile(PANDA, "inverse_dynamics", target="cuda", dtype=dtype)
        for order in ("C", "F"):
            agrees(PANDA, "inverse_dynamics", dtype, host, function(*(cp.asarray(x, order=order) for x in host)))


def test_wrenches_and_what_varies() -> None:
    host = given(PANDA, "inverse_dynamics", 40, "float64")
    masses, wrench = np.linspace(0, 3, 40), np.random.default_rng(1).normal(size=(40, 6))
    reference, function = (
        aw.compile(PANDA, "inverse_dynamics", target=target, vary=["payload.mass"]) for target in ("python", "cuda")
    )
    meant = reference(*host, masses, tip_wrench=wrench)
    got = function(*map(cp.asarray, host), cp.asarray(masses), tip_wrench=cp.asarray(wrench))
    assert np.allclose(got.get(), meant, rtol=1e-12)
    held = aw.compile(PANDA.with_payload(1.5), "inverse_dynamics", target="python")(*host)
    assert np.allclose(function(*map(cp.asarray, host), 1.5).get(), held, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_results_are_no_bad_ones(dtype: str, order: str) -> None:
    """Results are checked by their products, which overflow before they do."""
    host = given(PANDA, "inverse_dynamics", 100, dtype)
    host[2][50] *= 1e25 if dtype == "float32" else 1e200
    function = aw.compile(PANDA, "inverse_dynamics", target="cuda", dtype=dtype)
    result, good = function(*(cp.asarray(x, order=order) for x in host), raises=False)
    assert good.all() and cp.isfinite(result).all()
    host[0][70, 0] = np.inf  # on which nothing depends
    _, good = function(*(cp.asarray(x, order=order) for x in host), raises=False)
    assert np.flatnonzero(~good.get()).tolist() == [70]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_bad_state_is_named(order: str) -> None:
    host = given(PANDA, "inverse_dynamics", 100, "float64")
    host[1][37, 3] = np.nan
    there = [cp.asarray(x, order=order) for x in host]
    function = aw.compile(PANDA, "inverse_dynamics", target="cuda")
    with pytest.raises(aw.InputError, match=r"qd\[37, 3\] is nan"):
        function(*there)
    result, good = function(*there, raises=False)
    assert np.flatnonzero(~good.get()).tolist() == [37]
    assert np.isnan(result[37].get()).all()
    huge = [cp.full((10, 7), 1e200) for _ in range(3)]
    with pytest.raises(aw.InputError, match="overflows for state 0"):
        function(*huge)


def test_what_is_wrong_is_told() -> None:
    function, x = aw.compile(PANDA, "inverse_dynamics", target="cuda"), cp.zeros((5, 7))
    with pytest.raises(aw.InputError, match="q has shape"):
        function(x[:, :6], x, x)
    with pytest.raises(aw.InputError, match="batch shapes do not fit"):
        function(x, x[:3], x)
    with pytest.raises(aw.InputError, match="expected an array on the card"):
        function(x, x, x, out=np.zeros((5, 7)))
    with pytest.raises(aw.InputError, match="on a graphics card"):
        PANDA.inverse_dynamics(x, x, x)


# Steps


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_stepper_steps_there(dtype: str) -> None:
    here, there = (aw.stepper(PANDA, dt=1e-2, substeps=2, dtype=dtype, target=t) for t in ("python", "cuda"))
    q, qd, tau = arrays({"q": 7, "qd": 7, "tau": 7}, 50, dtype)
    on_card = [cp.asarray(x) for x in (q, qd, tau)]
    within = 100 * WITHIN[dtype]
    for name in ("step", "linearised"):
        for got, meant in zip(getattr(there, name)(*on_card), getattr(here, name)(q, qd, tau), strict=True):
            assert np.allclose(got.get(), meant, rtol=within, atol=within), name
    torques = np.repeat(tau[:, None], 4, axis=1)
    meant = here.rollout(q, qd, torques)
    states = there.rollout(*on_card[:2], cp.asarray(torques))
    assert all(np.allclose(a.get(), b, rtol=within, atol=within) for a, b in zip(states, meant, strict=True))
    back = there.gradient(*on_card[:2], cp.asarray(torques), states[0], states[1])
    expected = here.gradient(q, qd, torques, meant[0], meant[1])
    for a, b in zip(back, expected, strict=True):
        assert np.allclose(a.get(), b, rtol=100 * within, atol=100 * within)


def test_a_stepper_of_a_free_base_steps_there() -> None:
    """With states of NumPy among those on the card, and one that cannot go on."""
    robot, rng = random_tree(3, 1, kinds=("revolute",), floating=True), np.random.default_rng(2)
    here, there = (aw.stepper(robot, dt=1e-2, target=t) for t in ("python", "cuda"))
    q = robot.unit(robot.neutral + rng.uniform(-0.5, 0.5, (20, robot.nq)))
    qd, tau = rng.uniform(-1, 1, (2, 20, robot.n))
    for name in ("step", "linearised"):
        for got, meant in zip(
            getattr(there, name)(cp.asarray(q), qd, tau), getattr(here, name)(q, qd, tau), strict=True
        ):
            assert np.allclose(got.get(), meant, rtol=1e-9, atol=1e-9), name
    torques = np.repeat(tau[:, None], 3, axis=1)
    torques[7, 1] = np.nan
    *states, good = there.rollout(cp.asarray(q), cp.asarray(qd), torques, raises=False)
    *meant, fine = here.rollout(q, qd, torques, raises=False)
    assert good.get().tolist() == fine.tolist() == [k != 7 for k in range(20)]
    for a, b in zip(states, meant, strict=True):
        assert np.allclose(a.get(), b, rtol=1e-9, atol=1e-9, equal_nan=True)


# Inverse kinematics


def reached(arm: aw.Robot, T: np.ndarray, **options: Any) -> None:
    """What is found there is what is found here, but for a few targets on whose way rounding decides."""
    meant, known = arm.inverse_kinematics(T, raises=False, target="python", **options)
    there = {name: cp.asarray(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
    q, solved = arm.inverse_kinematics(cp.asarray(T), raises=False, target="cuda", **there)
    copied, _ = arm.inverse_kinematics(T, raises=False, target="cuda", **options)
    assert isinstance(q, cp.ndarray) and isinstance(solved, cp.ndarray)
    q, solved = q.get(), solved.get()
    assert np.array_equal(q, copied) and q.shape == meant.shape
    few = 2 + len(T) // 50
    assert np.count_nonzero(solved != known) <= few
    assert np.count_nonzero(np.abs(q - meant).max(axis=-1)[solved & known] > 1e-6) <= few
    found = aw.compile(arm, "forward_kinematics", target="python")(q[solved])
    assert np.abs(found - T[solved]).max() < 1e-9 or "orientation" in options


@pytest.mark.parametrize("name", ["panda", "puma560", "stanford"])
def test_inverse_kinematics_finds_what_it_finds_here(name: str) -> None:
    arm = aw.load(name)
    low, high = np.array([joint.limits or (-3, 3) for joint in arm.joints]).T
    q = np.random.default_rng(1).uniform(low, high, (300, arm.n))
    T = aw.compile(arm, "forward_kinematics", target="python")(q)
    T[::60, :3, 3] *= 4
    for options in ({}, {"q0": q + 0.2}, {"orientation": "axis"}, {"orientation": "free"}, {"attempts": 3}):
        reached(arm, T, **options)
    many = cp.asarray(np.tile(T[1:60], (3000, 1, 1)))
    found, solved = arm.inverse_kinematics(many, raises=False, target="cuda")
    assert bool((found.reshape(3000, 59, -1) == found[:59]).all()) and bool(
        (solved.reshape(3000, 59) == solved[:59]).all()
    )


def test_targets_out_of_reach_and_what_is_no_pose() -> None:
    T = aw.compile(PANDA, "forward_kinematics", target="python")(np.tile(np.linspace(-0.5, 0.4, 7), (40, 1)))
    T[21, 0, 3] += 5
    with pytest.raises(aw.UnreachableError, match=r"1 of 40 targets, the first T\[21\]") as told:
        PANDA.inverse_kinematics(cp.asarray(T), target="cuda")
    assert isinstance(told.value.q, cp.ndarray) and told.value.q.shape == (40, 7)
    T[3, 0, 1] += 1e-6
    with pytest.raises(aw.InputError, match=r"T\[3\] is not a pose: its upper left 3x3 block is not a rotation"):
        PANDA.inverse_kinematics(cp.asarray(T), target="cuda")


def test_turns_far_away() -> None:
    arm = aw.load("rr")
    q0 = np.array([0.2, 0.3]) + 2 * np.pi * 10**6
    reached(arm, aw.compile(arm, "forward_kinematics", target="python")([[0.3, 0.4], [1.0, -2.0]]), q0=q0)


# Arrays of other packages


def test_torch_takes_and_gets_tensors() -> None:
    torch = pytest.importorskip("torch")
    robots = pytest.importorskip("armwright.learn.torch")
    q, qd, x = (torch.rand(6, 7, device="cuda", dtype=torch.float64, requires_grad=True) for _ in range(3))
    function = aw.compile(PANDA, "inverse_dynamics", target="cuda")
    tau = function(q.detach(), qd.detach(), x.detach())
    assert tau.is_cuda
    with torch.cuda.stream(torch.cuda.Stream()):
        assert torch.equal(function(q.detach(), qd.detach(), x.detach()), tau)
    T = aw.compile(PANDA, "forward_kinematics", target="cuda")(q.detach())
    found, solved = PANDA.inverse_kinematics(T, q.detach() + 0.1, raises=False, target="cuda")
    assert found.is_cuda and solved.is_cuda and solved.dtype == torch.bool and found.shape == q.shape
    stepper = aw.stepper(PANDA, dt=1e-2, target="cuda")
    assert torch.autograd.gradcheck(lambda *a: robots.inverse_dynamics(PANDA, *a), (q, qd, x))
    assert torch.autograd.gradcheck(lambda *a: robots.forward_dynamics(PANDA, *a), (q, qd, x))
    assert torch.autograd.gradcheck(lambda *a: robots.step(stepper, *a), (q, qd, x))
    mapped = torch.func.vmap(lambda *a: robots.forward_dynamics(PANDA, *a))(q, qd, x)
    assert torch.allclose(mapped, robots.forward_dynamics(PANDA, q, qd, x))
    with pytest.raises(aw.InputError, match="target='cuda'"):
        robots.step(aw.stepper(PANDA, target="python"), q, qd, x)


def test_jax_compiles_and_differentiates() -> None:
    jax = pytest.importorskip("jax")
    robots = pytest.importorskip("armwright.learn.jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no card here")
    host = arrays({"q": 7, "qd": 7, "tau": 7}, 9, "float32")
    q, qd, tau = (jax.numpy.asarray(x) for x in host)
    meant = aw.compile(PANDA, "forward_dynamics", target="python")(*(x.astype(float) for x in host))
    plain = aw.compile(PANDA, "forward_dynamics", target="cuda", dtype="float32")(q, qd, tau)
    assert isinstance(plain, jax.Array)
    call = jax.jit(lambda *a: robots.forward_dynamics(PANDA, *a))
    for got in (plain, call(q, qd, tau), jax.vmap(call)(q, qd, tau)):
        assert np.allclose(got, meant, rtol=1e-3, atol=1e-3)
    slope = jax.jit(jax.grad(lambda q, qd, tau: (call(q, qd, tau) ** 2).sum(), argnums=2))(q, qd, tau)
    inverse = np.linalg.inv(aw.compile(PANDA, "mass_matrix", target="python")(host[0].astype(float)))
    assert np.allclose(slope, 2 * np.einsum("sij,si->sj", inverse, meant), rtol=1e-2, atol=1e-2)
    stepper = aw.stepper(PANDA, dt=1e-2, dtype="float32", target="cuda")
    ends = jax.jit(lambda *a: robots.step(stepper, *a))(q, qd, tau)
    assert np.allclose(ends[1], stepper.step(*host)[1], rtol=1e-4, atol=1e-4)
