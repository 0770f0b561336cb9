"""Results too large for straight code or for the caches: solved in loops, written past the caches, the same numbers."""

import json
from weakref import WeakValueDictionary

import numpy as np
import pytest

import armwright as aw
from armwright.backends.interface import backend
from armwright.backends.interpreter import InterpretedKernel
from armwright.backends.llvm import body, native
from armwright.backends.llvm.batch_loop import MAX_CACHED_BYTES
from armwright.graph.store import packed, unpacked

SLOPES = "forward_dynamics_derivatives"


def states(robot, count, arguments=3):
    rng = np.random.default_rng(7)
    q = robot.unit(rng.uniform(-1, 1, (count, robot.nq)))
    return [q, *rng.uniform(-1, 1, (2, count, robot.n))][:arguments]


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_equations_solved_in_a_loop_have_the_solution_of_straight_code(target):
    robot = aw.load("anymal_c")
    f = aw.compile(robot, SLOPES, target=target)
    given = states(robot, 9)
    straight = np.empty((9, f.program.results))
    assert InterpretedKernel(f.program, "float64").run(given, straight)
    expected = straight.reshape(9, 3, robot.n, robot.n)
    scale = np.abs(expected).max(axis=(0, 2, 3), keepdims=True)
    assert np.abs((f(*given) - expected) / scale).max() < 1e-12
    assert f.operations.total > 20_000  # the loop's are counted


@pytest.mark.parametrize("problem", ["inverse_dynamics", SLOPES])
def test_a_program_is_read_as_it_was_written(problem):
    program = aw.compile(aw.load("anymal_c"), problem)._plain.program
    again = unpacked(json.loads(json.dumps(packed(program))))
    assert again.digest() == program.digest()
    assert (again.shape, again.units, again.equations) == (program.shape, program.units, program.equations)


def test_a_loop_gives_the_same_in_any_layout_and_for_one_state():
    robot = aw.load("anymal_c")
    f, given = aw.compile(robot, SLOPES), states(robot, 21)
    rows = f(*given)
    assert np.array_equal(f(*map(np.asfortranarray, given)), rows)
    assert np.array_equal(f(*(x[5] for x in given)), rows[5])
    assert np.array_equal(f(*given, threads=2), rows)
    M = robot.mass_matrix(given[0])
    assert np.abs(rows[:, 2] @ M - np.eye(robot.n)).max() < 1e-9


def test_what_is_not_finite_in_a_loop_is_told():
    robot = aw.load("anymal_c")
    q, qd, tau = states(robot, 8)
    with pytest.raises(aw.SingularError, match="state 0 of the batch"):
        aw.compile(robot, SLOPES)(q, qd, np.full_like(tau, 1e308))


@pytest.mark.parametrize("name", ["anymal_c", "baxter"])
def test_results_beyond_the_caches_are_those_within(name):
    """Rows of an even and of an odd number of entries; arrays that begin anywhere."""
    robot = aw.load(name)
    f = aw.compile(robot, "mass_matrix")
    entries = robot.n**2
    count = MAX_CACHED_BYTES // (8 * entries) + 37
    (q,) = states(robot, count, 1)
    within = np.concatenate([f(part) for part in np.array_split(q, 3)])
    assert np.array_equal(f(q, threads=1), within)
    memory = np.zeros(count * entries + 1)
    for begin in (0, 1):
        out = memory[begin : begin + count * entries].reshape(count, robot.n, robot.n)
        assert f(q, out=out, threads=1) is out
        assert np.array_equal(out, within)


def test_one_bad_state_does_not_cost_the_others():
    robot = aw.load("puma560")
    f = aw.compile(robot, "forward_dynamics")
    q, qd, tau = states(robot, 6)
    good = f(q, qd, tau)
    tau[2], q[4, 1] = 1e308, np.nan
    result, mask = f(q, qd, tau, raises=False)
    assert mask.tolist() == [True, True, False, True, False, True]
    assert np.array_equal(result[mask], good[mask])
    assert np.isnan(result[~mask]).all()
    one, fine = f(q[2], qd[2], tau[2], raises=False)
    assert not fine
    assert np.isnan(one).all()
    M, which = aw.compile(robot, "mass_matrix")(q, raises=False)
    assert which.tolist() == [True] * 4 + [False, True]
    assert np.isnan(M[4]).all()
    with pytest.raises(aw.InputError, match=r"q\[4, 1\] is nan"):
        f(q, qd, tau)


@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_program_in_pieces_is_the_program(problem, dtype, monkeypatch, tmp_path):
    """Pieces so short that values go from many to many; an argument that nothing depends on is looked at, too."""
    monkeypatch.setenv("ARMWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(body, "MAX_FUNCTION_NODES", 100)
    monkeypatch.setattr(body, "PIECE_NODES", 40)
    monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
    robot = aw.load("anymal_c")
    program = aw.compile(robot, problem).program
    kernel = backend("cpu").kernel(program, dtype)
    assert kernel.source.count("define internal void @body") > 10
    given = [x.astype(dtype) for x in states(robot, 13)]
    got, expected = np.empty((2, 13, program.results), dtype)
    assert kernel.run(given, got)
    assert InterpretedKernel(program, dtype).run(given, expected)
    allowed = 1e-11 if dtype == "float64" else 2e-3
    assert np.abs(got - expected).max() < allowed * np.abs(expected).max()
    given[0][3, 0] = np.nan  # where the base is, on which nothing depends
    assert not kernel.run(given, got)
