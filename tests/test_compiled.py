"""Compiled code: what the graph means, the same for every layout, batch, thread and place, and safe to cache."""

import io
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

import mpmath
import numpy as np
import pytest
from conftest import FORMULATIONS, close, random_case, with_actuators

import armwright as aw
from armwright import cache
from armwright.backends.interface import Kernel, backend
from armwright.backends.llvm import compiler, native
from armwright.formulations import problem_of
from armwright.graph import Graph
from armwright.graph.program import Program
from armwright.model import mechanics
from armwright.trace import cheapest as search

PUMA = aw.load("puma560")


def kernel(function, dtype: str = "float64") -> Kernel:
    """A kernel of one argument x = (x0, x1, x2) and what `function` makes of it."""
    graph = Graph()
    x = tuple(graph.input(f"x{i}") for i in range(3))
    outputs = tuple(function(*x))
    return backend("cpu").kernel(Program((("x", x),), outputs, (len(outputs),)), dtype)


def run(k: Kernel, x: np.ndarray) -> np.ndarray:
    out = np.empty((len(x), *k.shape), k.dtype)
    k.run([np.ascontiguousarray(x, dtype=k.dtype)], out)
    return out


@pytest.fixture(scope="module")
def states() -> tuple[np.ndarray, ...]:
    return tuple(np.random.default_rng(0).uniform(-3, 3, (3, 1000, 6)))


@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_result_depends_on_its_state_alone(problem: str, dtype: str, states: tuple[np.ndarray, ...]) -> None:
    """Bitwise, whatever the size, layout, place and number of threads."""
    f = aw.compile(PUMA, problem, dtype=dtype)
    state = [x.astype(dtype) for x in states[: len(f.arguments)]]
    expected = f(*state, threads=1)
    for batch in (1, 2, 3, 7, 8, 9, 16, 17, 31, 999):
        assert np.array_equal(f(*(x[:batch] for x in state)), expected[:batch])
    assert np.array_equal(f(*(x[5] for x in state)), expected[5])
    assert np.array_equal(f(*(x[5].tolist() for x in state)), expected[5])
    for threads in (2, 3, 7):
        assert np.array_equal(f(*state, threads=threads), expected)
    assert np.array_equal(f(*map(np.asfortranarray, state)), expected)
    assert np.array_equal(f(*(x[::-1] for x in state)), expected[::-1])
    assert np.array_equal(f(*(x[::3] for x in state)), expected[::3])
    assert np.array_equal(f(*(np.asfortranarray(x)[::3] for x in state)), expected[::3])
    wide = [np.repeat(x, 2, axis=1) for x in state]
    assert np.array_equal(f(*(x[:, ::2] for x in wide)), expected)
    cube = [x.reshape(10, 100, 6).transpose(1, 0, 2) for x in state]
    assert np.array_equal(f(*cube), expected.reshape(10, 100, *f(*state).shape[1:]).swapaxes(0, 1))


@pytest.mark.parametrize("order", ["C", "F"])
def test_out_is_filled_where_it_lies(order: str, states: tuple[np.ndarray, ...]) -> None:
    f = aw.compile(PUMA, "inverse_dynamics")
    expected = f(*states)
    out = np.empty((1000, 6), order=order)
    assert f(*states, out=out) is out
    assert np.array_equal(out, expected)
    wide = np.zeros((1000, 12))
    assert np.array_equal(f(*states, out=wide[:, ::2]), expected)
    assert not wide[:, 1::2].any()
    block = np.zeros((1003, 6))
    f(*states, out=block[2:1002])
    assert not block[:2].any()
    assert not block[1002:].any()


def test_out_may_lie_anywhere_it_can_be_written(states: tuple[np.ndarray, ...]) -> None:
    """Also across records, at odd addresses, and over the input itself."""
    f = aw.compile(PUMA, "inverse_dynamics")
    q, qd, qdd = states
    expected = f(q, qd, qdd)
    records = np.zeros(1000, np.dtype([("v", "f8", (6,)), ("i", "u4")]))
    assert np.array_equal(f(q, qd, qdd, out=records["v"]), expected)
    assert np.array_equal(f(q, qd, qdd, out=records["v"][::-1]), expected)
    assert not records["i"].any()
    odd = np.frombuffer(bytearray(48004), dtype="f8", offset=4).reshape(1000, 6)
    assert np.array_equal(f(q, qd, qdd, out=odd), expected)
    for shift in (0, 1, 8, 9):
        memory = np.zeros((1010, 6))
        memory[:1000] = qdd
        assert np.array_equal(f(q, qd, memory[:1000], out=memory[shift : shift + 1000]), expected)
    memory = qdd.copy()
    assert np.array_equal(f(q, qd, memory[::-1], out=memory), f(q, qd, qdd[::-1]))


def test_what_cannot_be_written_is_refused(states: tuple[np.ndarray, ...]) -> None:
    f = aw.compile(PUMA, "inverse_dynamics")
    sealed = np.zeros((1000, 6))
    sealed.flags.writeable = False
    for out in (sealed, np.frombuffer(bytes(48000)).reshape(1000, 6), np.broadcast_to(np.zeros(6), (1000, 6))):
        with pytest.raises(aw.InputError, match="out cannot be written to"):
            f(*states, out=out)
    with pytest.raises(aw.InputError, match="out cannot be written to"):
        f(*(x[0] for x in states), out=sealed[0])


@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque"])
@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_every_coordinate_must_be_finite_also_where_nothing_depends_on_it(problem: str, broken: float) -> None:
    """The first joint of a PUMA does not matter to gravity, and its position to nothing at all."""
    count = {"mass_matrix": 1, "gravity_torque": 1, "bias": 2}.get(problem, 3)
    for argument in range(count):
        for joint in range(6):
            state = [np.ones(6) for _ in range(count)]
            state[argument][joint] = broken
            with pytest.raises(aw.InputError, match=rf"\[{joint}\] is {broken}; every number must be finite"):
                getattr(PUMA, problem)(*state)
            batch = [np.stack([np.ones(6), x, np.ones(6)]) for x in state]
            with pytest.raises(aw.InputError, match=rf"\[1, {joint}\] is {broken}"):
                getattr(PUMA, problem)(*batch)


def test_masked_entries_are_refused() -> None:
    with pytest.raises(aw.InputError, match="masked"):
        PUMA.gravity_torque(np.ma.masked_array(np.ones(6), [0, 1, 0, 0, 0, 0]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_fork_has_threads_of_its_own(states: tuple[np.ndarray, ...]) -> None:
    code = """
import os, threading, numpy as np, armwright as aw
f = aw.compile(aw.load("rr"), "mass_matrix")
q = np.ones((20000, 2))
def use():
    callers = [threading.Thread(target=f, args=(q,), kwargs={"threads": 2}) for _ in range(4)]
    [c.start() for c in callers]; [c.join() for c in callers]
use()
child = os.fork()
use()
if child:
    raise SystemExit(os.waitpid(child, 0)[1])
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_states_side_by_side_stay_side_by_side(states: tuple[np.ndarray, ...]) -> None:
    result = PUMA.inverse_dynamics(*map(np.asfortranarray, states))
    assert result.flags.f_contiguous
    assert PUMA.inverse_dynamics(*states).flags.c_contiguous


def test_wrenches_are_compiled_too() -> None:
    case = random_case(3, 4, prismatic=0.5, actuators=True)
    loads = {"tip_wrench": case.tip_wrench, "link_wrenches": case.link_wrenches}
    tau = aw.compile(case.arm, "inverse_dynamics")(*case.state, **loads)
    for f in FORMULATIONS:
        if f.problem in ("inverse_dynamics", "forward_dynamics"):
            got = aw.compile(case.arm, f.problem, f.name)(
                case.q, case.qd, case.qdd if f.problem[0] == "i" else tau, **loads
            )
            close(got, tau if f.problem[0] == "i" else case.qdd, 1e-10)


@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_a_first_call_does_nothing_twice(
    name: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an empty cache: every candidate, and every other way to have the best of them, traced once on one mechanism."""
    monkeypatch.setenv("ARMWRIGHT_CACHE", str(tmp_path))
    built, choices = [], []
    build, trace = mechanics.Mechanism, search.trace
    monkeypatch.setattr(mechanics, "Mechanism", lambda **parts: built.append(parts) or build(**parts))
    monkeypatch.setattr(search, "trace", lambda f, asked, choice: choices.append(choice) or trace(f, asked, choice))
    arm = replace(aw.load(name))  # a new one, of which nothing is known yet
    built.clear()
    record = problem_of(problem)
    getattr(arm, problem)(*np.zeros((len(record.arguments), arm.n)))
    assert len(built) == 1
    assert len(set(choices)) == len(choices) > len(record.candidates)
    assert {c.formulation for c in choices} == {c.formulation for c in record.candidates}
    choices.clear()
    getattr(replace(arm), problem)(*np.zeros((len(record.arguments), arm.n)))
    assert not choices  # what was traced is kept


@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_a_second_call_is_one_python_frame(problem: str) -> None:
    call, state, frames = getattr(PUMA, problem), list(np.ones((len(problem_of(problem).arguments), 6))), []
    call(*state)
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call(*state)
    finally:
        sys.setprofile(before)
    assert frames == [problem]


def exact(function, x: np.ndarray) -> np.ndarray:
    with mpmath.workdps(60):
        return np.array([mpmath.mpf(function(mpmath.mpf(float(v)))) for v in x.ravel()], dtype=object).reshape(x.shape)


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 53), ("float32", 24)])
@pytest.mark.parametrize("fma", [True, False])
def test_sine_and_cosine_are_right_to_two_units_in_the_last_place(
    dtype: str, digits: int, fma: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fused multiply-add and, as on older machines, without."""
    usual = native.lanes(dtype)
    monkeypatch.setattr(native, "lanes", lambda _dtype: replace(usual, fma=fma and usual.fma))
    rng = np.random.default_rng(1)
    k = kernel(lambda a, b, c: (a.sin(), a.cos(), b.sin(), b.cos(), c.sin(), c.cos()), dtype)
    quarters = np.rint(rng.uniform(-6e5, 6e5, 600)) * (np.pi / 2)  # as near to a zero of one of them as a number can be
    angles = np.concatenate(
        [
            rng.uniform(-4, 4, 900),
            rng.uniform(-1e6, 1e6, 900),
            quarters,
            np.ldexp(rng.uniform(-1, 1, 600), rng.integers(-40, 20, 600)),
        ]
    )
    x = np.clip(angles, -1e6, 1e6).astype(dtype).reshape(-1, 3)
    got = run(k, x)
    for j, function in ((0, mpmath.sin), (1, mpmath.cos)):
        true = exact(function, x)
        error = np.abs(got[:, j::2].astype(object) - true)
        unit = np.array([mpmath.ldexp(1, int(mpmath.frexp(abs(t))[1]) - digits) for t in true.ravel()]).reshape(
            true.shape
        )
        assert float(np.max(error / unit)) <= 2.0


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 53), ("float32", 24)])
@pytest.mark.parametrize("fma", [True, False])
def test_a_hyperbolic_tangent_is_right_to_three_units_in_the_last_place(
    dtype: str, digits: int, fma: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = native.lanes(dtype)
    monkeypatch.setattr(native, "lanes", lambda _dtype: replace(usual, fma=fma and usual.fma))
    rng = np.random.default_rng(1)
    k = kernel(lambda a, b, c: (a.tanh(), b.tanh(), c.tanh()), dtype)
    small = np.ldexp(rng.uniform(-1, 1, 900), rng.integers(-100, 1, 900))
    x = np.concatenate([rng.uniform(-1, 1, 1500), rng.uniform(-25, 25, 900), small]).astype(dtype).reshape(-1, 3)
    true = exact(mpmath.tanh, x)
    unit = np.array([mpmath.ldexp(1, int(mpmath.frexp(abs(t))[1]) - digits) for t in true.ravel()]).reshape(x.shape)
    assert float(np.max(np.abs(run(k, x).astype(object) - true) / unit)) <= 3.0
    ends = np.array([[0.0, -0.0, np.inf], [-np.inf, np.nan, np.finfo(dtype).max]], dtype)
    found = run(k, ends)
    np.testing.assert_array_equal(found, np.tanh(ends))
    assert np.signbit(found[0, 1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_angles_are_right_and_broken_ones_stay_broken(dtype: str) -> None:
    k = kernel(lambda a, b, c: (a.sin(), a.cos(), b + 0, c.sin()), dtype)
    x = np.array(
        [[1e7, 1.0, 0.5], [-3e12, 1.0, 0.5], [1e300 if dtype == "float64" else 1e30, 1.0, 0.5], [0.25, 1.0, 0.5]], dtype
    )
    got = run(k, x)
    np.testing.assert_allclose(
        got[:, 0], np.array([float(v) for v in exact(mpmath.sin, x[:, 0])]), rtol=4 * np.finfo(dtype).eps
    )
    np.testing.assert_allclose(
        got[:, 1], np.array([float(v) for v in exact(mpmath.cos, x[:, 0])]), rtol=4 * np.finfo(dtype).eps
    )
    broken = run(k, np.array([[np.nan, 1.0, 0.5], [np.inf, 1.0, 0.5], [0.5, 1.0, -np.inf]], dtype))
    assert np.isnan(broken[:2, :2]).all()
    assert np.isnan(broken[2, 3])
    assert np.isfinite(broken[:2, 2:]).all()
    assert not k.run([np.full((3, 3), np.nan, dtype)], np.empty((3, 4), dtype))
    assert k.run([np.ones((3, 3), dtype)], np.empty((3, 4), dtype))


def test_a_damaged_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMWRIGHT_CACHE", str(tmp_path / "deep" / "cache"))
    monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
    f = aw.compile(PUMA, "mass_matrix")
    expected = f(np.ones(6))
    files = (tmp_path / "deep" / "cache").iterdir()
    entries = {file: file.read_bytes() for file in files if file.name != "key"}
    assert len(entries) == 2  # the code, and which formulation it is
    for entry, whole in entries.items():
        for damaged in (b"", whole[:100][:-1], whole[:-1], b"\0" * len(whole)):
            entry.write_bytes(damaged)
            monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
            assert np.array_equal(aw.compile(PUMA, "mass_matrix")(np.ones(6)), expected)
            assert entry.read_bytes() == whole
    monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
    monkeypatch.setattr(native, "compile_ir", lambda text: pytest.fail("compiled although it is cached"))
    assert np.array_equal(aw.compile(PUMA, "mass_matrix")(np.ones(6)), expected)


def test_without_a_place_to_write_there_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    for place in ("", str(tmp_path / "file" / "below")):
        monkeypatch.setenv("ARMWRIGHT_CACHE", place)
        monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
        assert aw.compile(PUMA, "bias")(np.ones(6), np.ones(6)).shape == (6,)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_after_many_programs_another_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the same bytes; where none can be started, it is done here."""
    text = aw.compile(PUMA, "bias").source
    here = compiler.compile_ir(text)
    monkeypatch.setattr(compiler, "MAX_IN_PROCESS_COMPILATIONS", 0)
    with monkeypatch.context() as context:
        context.setattr(compiler, "_compile_in_process", lambda *_: pytest.fail("compiled in this process"))
        assert compiler.compile_ir(text) == here
    monkeypatch.setattr(sys, "executable", "/no/such/interpreter")
    assert compiler.compile_ir(text) == here


def test_several_processes_share_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMWRIGHT_CACHE", str(tmp_path))
    code = "import armwright as aw; print(aw.load('rr').mass_matrix([0.1, 0.2]).sum())"
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)]
    answers = {process.communicate()[0] for process in processes}
    assert len(answers) == 1
    assert all(process.returncode == 0 for process in processes)
    assert len(list(tmp_path.iterdir())) == 3  # the code, which formulation it is, and the key
    assert all(cache.read(file.name) for file in tmp_path.iterdir() if file.name != "key")


def test_a_compiled_function_goes_to_another_process() -> None:
    f = aw.compile(PUMA, "bias", "kane")
    q = np.ones((5, 6))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert np.array_equal(pool.apply(f, (q, q)), f(q, q))


def test_threads_must_be_a_number() -> None:
    for threads in (0, -1, 1.5, "two", True):
        with pytest.raises(aw.InputError, match=r"threads = .*expected a whole number"):
            aw.compile(PUMA, "bias")(np.ones(6), np.ones(6), threads=threads)


def test_threads_may_be_a_numpy_number() -> None:
    q = np.ones((2000, 6))
    assert np.array_equal(aw.compile(PUMA, "bias")(q, q, threads=np.int64(2)), PUMA.bias(q, q))


def test_a_singular_robot_has_a_name() -> None:
    nothing = {"type": "revolute", "alpha": 0, "a": 0, "d": 0, "mass": 0, "com": [0, 0, 0], "inertia": [0] * 6}
    f = aw.compile(aw.Robot.from_dh([nothing], "modified"), "forward_dynamics")
    assert "forward_dynamics of robot" in repr(f)


@pytest.mark.parametrize(("n", "prismatic"), [(25, 0.4), (60, 0.0), (100, 0.3)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_long_chain_is_a_compiled_loop(n: int, prismatic: float, dtype: str) -> None:
    arm = with_actuators(aw.random_robot(n, 1, prismatic).with_gravity([1, 2, -9]), np.random.default_rng(n))
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 1100, n)).astype(dtype)
    f = aw.compile(arm, "inverse_dynamics", dtype=dtype)
    tau = f(q, qd, qdd)
    exact = arm.inverse_dynamics(q[:3], qd[:3], qdd[:3], formulation="kane")
    close(tau[:3], exact, 1e-12 if dtype == "float64" else 1e-4)
    for threads in (1, 2):
        assert np.array_equal(f(*map(np.asfortranarray, (q, qd, qdd)), threads=threads), tau)
    assert np.array_equal(f(q[7], qd[7], qdd[7]), tau[7])
    assert np.array_equal(f(q[::-3], qd[::-3], qdd[::-3]), tau[::-3])
    bias = aw.compile(arm, "bias", dtype=dtype)(q[:9], qd[:9])
    assert np.array_equal(bias, f(q[:9], qd[:9], np.zeros(n, dtype)))
    close(arm.gravity_torque(q[0]), arm.bias(q[0], 0 * q[0]), 1e-12)


@pytest.mark.parametrize(("n", "prismatic"), [(25, 0.4), (60, 0.0)])
def test_forward_dynamics_of_a_long_chain_is_a_compiled_loop(n: int, prismatic: float) -> None:
    arm = with_actuators(aw.random_robot(n, 1, prismatic).with_gravity([1, 2, -9]), np.random.default_rng(n))
    q, qd, tau = np.random.default_rng(0).uniform(-1, 1, (3, 1100, n))
    f = aw.compile(arm, "forward_dynamics")
    qdd = f(q, qd, tau)
    close(qdd[:3], arm.forward_dynamics(q[:3], qd[:3], tau[:3], formulation="denoc"), 1e-9)
    for threads in (1, 2):
        assert np.array_equal(f(*map(np.asfortranarray, (q, qd, tau)), threads=threads), qdd)
    assert np.array_equal(f(q[7], qd[7], tau[7]), qdd[7])
    small = aw.compile(arm, "forward_dynamics", dtype="float32")(*(x[:5].astype("float32") for x in (q, qd, tau)))
    assert small.dtype == np.float32
    close(small, qdd[:5], 1e-2)


def test_ten_thousand_joints_work() -> None:
    arm = aw.random_robot(10_000, 1, prismatic=0.0)
    q = np.random.default_rng(0).uniform(-1, 1, (2, 10_000))
    tau = arm.gravity_torque(q)
    assert tau.shape == (2, 10_000)
    weight = 9.81 * sum(link.mass for link in arm.links)
    assert 0 < np.abs(tau).max() < weight * 5000  # no lever is longer than the chain
    assert np.isfinite(arm.forward_dynamics(q, 0 * q, tau)).all()


def test_a_long_chain_that_is_not_finite_is_told() -> None:
    arm = aw.random_robot(30, 1)
    q = np.zeros((4, 30))
    q[2, 7] = np.nan
    with pytest.raises(aw.InputError, match=r"q\[2, 7\] is nan"):
        arm.inverse_dynamics(q, 0 * q[0], 0 * q[0])


def test_what_is_not_a_loop_runs_uncompiled() -> None:
    arm = aw.random_robot(60, 1)
    assert "by cartesian_tensor" in repr(aw.compile(arm, "inverse_dynamics"))
    assert "define internal void @sweep0_revolute" in aw.compile(arm, "inverse_dynamics").source
    with pytest.raises(aw.InputError, match="it has no source"):
        _ = aw.compile(arm, "inverse_dynamics", "kane").source
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2, 60))
    close(arm.inverse_dynamics(q, qd, qdd, formulation="kane"), arm.inverse_dynamics(q, qd, qdd), 1e-12)


FRAGMENTED = """
import ctypes, sys
import armwright as aw
library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
size, holes = int(sys.argv[1]), []
for _ in range(40):
    holes.append(library.mmap(None, size, 0, 0x22, -1, 0))
    library.mmap(None, 4 << 30, 0, 0x4022, -1, 0)
for hole in holes:
    library.munmap(hole, size)
for seed in range(6):
    arm = aw.random_robot(3, seed)
    arm.forward_dynamics([0.1] * 3, [0.1] * 3, [0.1] * 3)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="maps memory as Linux does")
@pytest.mark.parametrize("size", [8192, 32768])
def test_code_and_constants_may_lie_far_apart(size: int) -> None:
    """Holes just large enough for one of them, four gigabytes apart."""
    environment = {**os.environ, "ARMWRIGHT_CACHE": ""}
    subprocess.run([sys.executable, "-c", FRAGMENTED, str(size)], check=True, env=environment)


def test_whoever_waits_for_the_compiler_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(compiler, "NOTICE_DELAY", 0.01)
    monkeypatch.setattr(compiler, "_compile_in_process_or_child", lambda text: time.sleep(0.1) or b"")
    with caplog.at_level("INFO", "armwright"):
        compiler.compile_ir("a\nb\n")
    assert "compiling" in terminal.getvalue()
    assert "compiled 2 lines" in caplog.text
    monkeypatch.setattr(compiler, "_compile_in_process_or_child", lambda text: b"")
    caplog.clear()
    compiler.compile_ir("a\n")
    assert not caplog.text
