"""Everything in the table of problems is what its record says: for every backend, arm and way to ask."""

import ast
import importlib.util
import inspect
import math
import pickle
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import ASKED, HERE, MASSLESS, POINT, close, led, random_case

import armwright as aw
from armwright.backends.interface import backend
from armwright.formulations import FORMULATIONS, PROBLEMS, default_for, find_formulation, problem_of
from armwright.formulations.problem import ARGUMENT_MEANINGS
from armwright.function import Function
from armwright.graph import Graph
from armwright.graph.program import Program
from armwright.robot import random_tree
from armwright.trace import evaluation_strategy
from armwright.trace.chain_loops import CHAIN_PROBLEMS
from armwright.trace.evaluation_strategy import EvaluationStrategy, max_unrolled_joints, strategy_of
from armwright.trace.tracing import flattened

CASE = random_case(5, 3, actuators=True)
LONG = random_case(26, 1, actuators=True)
ARM, LED = CASE.arm, led(3)
LOADS = {"tip_wrench": CASE.tip_wrench, "link_wrenches": CASE.link_wrenches}
COMPILED = [target for target in HERE if target != "python"]
LOOPED = [name for name, record in PROBLEMS.items() if record.chain_sweep is not None]
BATCH = np.random.default_rng(0).uniform(-1, 1, (3, 2, 3, 5))
FEW = np.random.default_rng(1).uniform(-1, 1, (3, 3, 26))


@cache
def asked(arm: aw.Robot, name: str, target: str = "python", dtype: str = "float64") -> Function:
    return aw.compile(arm, name, target=target, dtype=dtype)


def state_of(name: str, states: np.ndarray, dtype: str = "float64") -> list[np.ndarray]:
    return list(states[: len(problem_of(name).arguments)].astype(dtype))


def rounding(name: str, arm: aw.Robot, q: np.ndarray, dtype: str = "float64") -> float:
    """What rounding may make of a result: more where a matrix is solved with."""
    condition = np.linalg.cond(arm.mass_matrix(q)).max() if problem_of(name).solves_mass_matrix else 10.0
    return 100 * float(np.finfo(dtype).eps) * max(float(condition), 10.0)


# The records


def test_every_problem_has_what_its_record_names(problem_name: str) -> None:
    record = problem_of(problem_name)
    assert PROBLEMS[record.name] is record and record.about
    assert set(record.arguments) <= set(ARGUMENT_MEANINGS)
    assert find_formulation(problem_name) == find_formulation(problem_name, record.default)
    assert default_for(problem_name, LED.mechanism()).solves_coupled
    for candidate in record.candidates:
        found = find_formulation(problem_name, candidate.formulation)
        assert found.any_link or not candidate.tensor
    if record.chain_sweep is not None:
        assert find_formulation(problem_name, record.chain_sweep.formulation) in aw.formulations(record.name)
        assert record.chain_sweep.sweeps in CHAIN_PROBLEMS


def test_problems_and_formulations_are_of_each_other() -> None:
    assert {f.problem for f in FORMULATIONS} == set(PROBLEMS)
    assert {record.name for record in PROBLEMS.values()} == set(PROBLEMS)


@pytest.mark.parametrize("arm", [ARM, LED], ids=lambda arm: arm.name)
def test_programs_and_results_have_the_shapes_of_the_record(problem_name: str, arm: aw.Robot) -> None:
    record, f = problem_of(problem_name), asked(arm, problem_name)
    assert f.arguments == record.arguments == tuple(name for name, _ in f.program.arguments)
    assert {len(symbols) for _, symbols in f.program.arguments} == {arm.n}
    shape = record.sizes(arm.mechanism())
    assert f.program.shape == shape
    assert len(f.program.outputs) == math.prod(shape)
    batch = state_of(problem_name, BATCH[..., : arm.n])
    assert f(*batch).shape == (2, 3, *shape)
    assert f(*(x[0, 1] for x in batch)).shape == shape
    assert f(*(x[:0] for x in batch)).shape == (0, 3, *shape)
    close(f(*batch)[0, 1], f(*(x[0, 1] for x in batch)), 1e-13)


VALUE_TESTS = {
    "inverse_dynamics": "test_robot.test_packaged_robots_give_their_reference_torques",
    "mass_matrix": "test_robot.test_rr_is_the_closed_form_of_machado_1994",
    "forward_dynamics": "test_peers.test_pinocchio_agrees",
    "bias": "test_laws.test_gravity_torque_is_gradient_of_potential_energy",
    "joint_torque": "test_agreement.test_one_torque_without_the_others_is_that_torque",
    "gravity_torque": "test_laws.test_torque_is_inertia_coriolis_gravity_and_friction",
    "coriolis_matrix": "test_laws.test_coriolis_matrix_is_that_of_christoffel_symbols",
    "kinetic_energy": "test_laws.test_kinetic_energy_is_half_qd_m_qd",
    "potential_energy": "test_peers.test_pinocchio_has_the_same_energies",
    "gibbs_function": "test_laws.test_gibbs_function_is_half_the_mass_of_points_times_their_acceleration_squared",
    "gibbs_gradient": "test_derivatives.test_the_gradient_of_the_gibbs_function_is_the_torque",
    "forward_kinematics": "test_named_frames.test_pinocchio_has_the_same_poses_and_jacobians_of_every_frame",
    "link_poses": "test_loops.test_mechanisms_in_closed_form",
    "link_positions": "test_plots.test_a_robot_is_drawn_where_it_is",
    "jacobian": "test_kinematics.test_the_jacobian_is_the_derivative_of_the_pose_and_has_the_derivative_it_says",
    "tip_jacobian": "test_kinematics.test_the_jacobian_is_the_derivative_of_the_pose_and_has_the_derivative_it_says",
    "jacobian_derivative": "test_kinematics.test_the_jacobian_is_the_derivative_of_the_pose_and_has_the_derivative_it_says",
    "tip_jacobian_derivative": "test_named_frames.test_a_frame_is_compiled_and_exported_as_the_tool_is",
    "center_of_mass": "test_named_frames.test_pinocchio_has_the_same_centre_of_mass_and_momentum",
    "center_of_mass_jacobian": "test_named_frames.test_pinocchio_has_the_same_centre_of_mass_and_momentum",
    "centroidal_momentum": "test_named_frames.test_pinocchio_has_the_same_centre_of_mass_and_momentum",
    "centroidal_momentum_matrix": "test_named_frames.test_pinocchio_has_the_same_centre_of_mass_and_momentum",
    "partial_velocities": "test_laws.test_partial_velocities_times_rates_are_the_velocities_of_the_links",
    "convective_accelerations": "test_laws.test_convective_accelerations_are_those_of_links_whose_joints_keep_their_speed",
    "inverse_dynamics_derivatives": "test_derivatives.test_pinocchio_has_the_same_derivatives",
    "forward_dynamics_derivatives": "test_derivatives.test_pinocchio_has_the_same_derivatives",
    "regressor": "test_identify.test_the_regressor_times_the_parameters_is_the_torque",
    "constraint_forces": "test_loops.test_forces_hold_what_the_closed_form_has",
    "loop_errors": "test_loops.test_mujoco_measures_the_same_errors",
    "loop_jacobian": "test_loops.test_pinocchio_holds_loops_alike",
}
"""For every problem a test that compares its result with a law of mechanics, a closed form or another program."""


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_has_a_value_test(name: str) -> None:
    assert name in VALUE_TESTS, f"name in VALUE_TESTS a test of the values of {name}"
    module, _, test = VALUE_TESTS[name].partition(".")
    source = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    bodies = [x for x in ast.parse(source).body if isinstance(x, ast.FunctionDef) and x.name == test]
    assert bodies, f"{module}.py has no {test}"
    assert re.search(rf"\b{name}\b", ast.get_source_segment(source, bodies[0]) or ""), f"{test} does not compute {name}"


# Every way to ask


@pytest.mark.parametrize("target", COMPILED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled_code_computes_what_the_interpreter_does(problem_name: str, target: str, dtype: str) -> None:
    f, meant = (asked(ARM, problem_name, where, dtype) for where in (target, "python"))
    batch = state_of(problem_name, BATCH, dtype)
    got, expected = f(*batch), meant(*batch)
    assert got.dtype == expected.dtype == dtype
    close(got, expected, rounding(problem_name, ARM, BATCH[0], dtype))
    for place in ((0, 0), (1, 2)):
        assert np.array_equal(f(*(x[place] for x in batch)), got[place])
    out = np.empty_like(got)
    assert f(*batch, out=out) is out and np.array_equal(out, got)
    assert f.operations == meant.operations and f.formulation == meant.formulation


def test_a_robot_gives_what_is_compiled_for_it(problem_name: str) -> None:
    """By the method of that name; what is in the axes of the tip is asked for by a frame."""
    record, plain = problem_of(problem_name), problem_of(problem_name).name.removeprefix("tip_")
    if not hasattr(ARM, plain):
        pytest.skip("no method of a robot")
    method, state = getattr(ARM, plain), state_of(problem_name, BATCH)
    options = {"frame": "tip"} if plain != record.name else {}
    got = method(*([1] if record.indexed else []), *state, **options)
    whole = np.stack(got, axis=2) if isinstance(got, tuple) else got
    assert np.array_equal(whole, asked(ARM, problem_name, "cpu")(*state))
    accepts = {"tip_wrench", "link_wrenches"} <= set(inspect.signature(method).parameters)
    assert accepts == record.wrenches


@pytest.mark.parametrize("target", HERE)
def test_wrenches_count_where_the_record_says_so(problem_name: str, target: str) -> None:
    f, state = asked(ARM, problem_name, target), state_of(problem_name, BATCH)
    if not problem_of(problem_name).wrenches:
        for given in ({"tip_wrench"}, {"link_wrenches"}, {"tip_wrench", "link_wrenches"}):
            loads = {name: x for name, x in LOADS.items() if name in given}
            message = f"{problem_name} does not depend on wrenches; leave {' and '.join(loads)} out"
            with pytest.raises(aw.InputError, match=re.escape(message)):
                f(*state, **loads)
        return
    meant = aw.compile(ARM, problem_name, find_formulation(problem_name).name, target="python")
    expected, tolerance = meant(*state, **LOADS), rounding(problem_name, ARM, BATCH[0])
    close(f(*state, **LOADS), expected, tolerance)
    parts = [f(*state, **{name: x}) for name, x in LOADS.items()]
    close(sum(parts) - f(*state), expected, 10 * tolerance)


def test_a_function_is_pickled_by_what_was_asked(problem_name: str) -> None:
    f = aw.compile(ARM, problem_name, target="python", dtype="float32")
    again = pickle.loads(pickle.dumps(f))
    for name in ("robot", "problem", "target", "dtype", "vary", "arguments"):
        assert getattr(again, name) == getattr(f, name)
    state = state_of(problem_name, BATCH, "float32")
    assert np.array_equal(again(*state), f(*state))
    assert pickle.loads(pickle.dumps(find_formulation(problem_name))) == find_formulation(problem_name)


def test_counts_are_those_of_the_default(problem_name: str) -> None:
    record = problem_of(problem_name)
    assert aw.count_operations(problem_name, joints=3) == aw.count_operations(problem_name, record.default, joints=3)
    assert asked(ARM, problem_name).operations.total <= aw.count_operations(problem_name, robot=ARM).total
    own = aw.count_operations(problem_name, default_for(problem_name, LED.mechanism()).name, robot=LED)
    assert aw.count_operations(problem_name, robot=LED) == own


def test_followers_are_exported_with_every_problem(tmp_path: Path) -> None:
    (path,) = aw.export(LED, to="python", directory=tmp_path, functions=ASKED)
    spec = importlib.util.spec_from_file_location("led", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ASKED:
        state = [x[0, 0, : LED.n] for x in state_of(name, BATCH)]
        exported = getattr(module, re.sub(r"\W+", "_", name).strip("_"))
        close(exported(*state), asked(LED, name)(*state), rounding(name, LED, state[0]))


@pytest.mark.parametrize("name", [name for name, record in PROBLEMS.items() if record.indexed])
def test_one_of_many_is_asked_for_by_its_number(name: str, tmp_path: Path) -> None:
    for wrong, n in ((name, 5), (f"{name}[5]", 5), (f"{name}[99]", 5), (name, 3), (f"{name}[3]", 3)):
        ways = [lambda wrong=wrong, n=n: aw.count_operations(wrong, joints=n)]
        if n == ARM.n:
            ways += [
                lambda wrong=wrong: aw.compile(ARM, wrong),
                lambda wrong=wrong: aw.count_operations(wrong, robot=ARM),
                lambda wrong=wrong: aw.export(ARM, to="python", directory=tmp_path, functions=[wrong]),
            ]
        expected = f"{wrong}: expected which {PROBLEMS[name].indexed}, {name}[0] to {name}[{n - 1}]"
        for way in ways:
            with pytest.raises(aw.InputError, match=f"^{re.escape(expected)}$"):
                way()
    for unknown in (f"{name}[-1]", f"{name}[]", f"{name}[1][2]", f"{name}[x]"):
        with pytest.raises(aw.UnknownNameError, match=f"unknown problem '{re.escape(unknown)}'"):
            aw.compile(ARM, unknown)


def test_no_other_problem_takes_a_number() -> None:
    for name in (name for name, record in PROBLEMS.items() if not record.indexed):
        with pytest.raises(aw.UnknownNameError, match=rf"unknown problem '{name}\[0\]'. Did you mean"):
            aw.compile(ARM, f"{name}[0]")


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("rows", [[POINT, MASSLESS], [MASSLESS, POINT]], ids=["everywhere", "in line"])
def test_a_singular_matrix_is_said_by_what_solves_with_it(problem_name: str, target: str, rows: list[dict]) -> None:
    f = aw.compile(aw.Robot.from_dh(rows, "modified"), problem_name, target=target)
    state = state_of(problem_name, np.array([[[0.2, 0.0]], [[0.0, 0.0]], [[1.0, 0.0]]]))
    if problem_of(problem_name).solves_mass_matrix:
        with pytest.raises(aw.SingularError, match="the mass matrix is singular"):
            f(*state)
    else:
        assert np.isfinite(f(*state)).all()


# Long chains


def test_the_form_follows_from_the_record(problem_name: str) -> None:
    record = problem_of(problem_name)
    longest = max_unrolled_joints(record)
    assert longest == min(
        evaluation_strategy.MAX_UNROLLED_JOINTS, record.max_unrolled_joints or evaluation_strategy.MAX_UNROLLED_JOINTS
    )
    short, longer = (aw.random_robot(n, 1) for n in (longest, longest + 1))
    beyond = EvaluationStrategy.ARRAYS if record.chain_sweep is None else EvaluationStrategy.LOOP
    assert (strategy_of(record, short), strategy_of(record, longer)) == (EvaluationStrategy.STRAIGHT, beyond)
    assert (
        strategy_of(record, longer, chosen=True)
        == strategy_of(record, longer, vary=("gravity",))
        == EvaluationStrategy.ARRAYS
    )
    smooth = longer.map_joints(lambda joint: replace(joint, smooth=0.1))
    assert strategy_of(record, smooth) == strategy_of(record, led(1, links=longest + 1)) == EvaluationStrategy.ARRAYS
    sooner = EvaluationStrategy.STRAIGHT if record.chain_sweep is None else EvaluationStrategy.LOOP
    assert [strategy_of(record, short, loop_size=n) for n in (longest, longest + 1)] == [
        sooner,
        EvaluationStrategy.STRAIGHT,
    ]
    assert (
        strategy_of(record, short, vary=("gravity",), loop_size=2)
        == strategy_of(record, short, True, loop_size=2)
        == EvaluationStrategy.STRAIGHT
    )


def test_a_backend_may_have_longer_chains_and_no_larger_trees() -> None:
    chain, tree = aw.random_robot(30, 1), random_tree(61, 3, kinds=["revolute"])
    assert [evaluation_strategy.has_straight_code(chain, longest=n) for n in (None, 29, 30)] == [False, False, True]
    assert evaluation_strategy.max_links(tree, longest=32) == evaluation_strategy.max_links(tree) == 60
    assert (
        evaluation_strategy.too_long_message(chain, "it is", longest=29)
        == f"it is for up to 29 joints; {chain.name} has 30"
    )


def test_a_chain_that_is_held_has_no_loop_over_its_joints() -> None:
    chain = aw.random_robot(26, 1)
    held = chain.with_loop((chain.links[3].name, chain.links[25].name), ((0, 0, 0), (0, 0, 0)), dependent=())
    record = problem_of("inverse_dynamics")
    assert strategy_of(record, chain) == EvaluationStrategy.LOOP
    assert strategy_of(record, held) == EvaluationStrategy.ARRAYS


def test_a_tree_is_never_sent_into_the_loop_of_a_chain(problem_name: str) -> None:
    record = problem_of(problem_name)
    for links in (max_unrolled_joints(record) + 1, 61):
        tree = random_tree(links, 3, kinds=["revolute"])
        most = evaluation_strategy.max_links(tree, record)
        assert strategy_of(record, tree) == (
            EvaluationStrategy.STRAIGHT if links <= most else EvaluationStrategy.ARRAYS
        )


@pytest.mark.parametrize("target", HERE)
def test_a_long_chain_has_every_problem(problem_name: str, target: str) -> None:
    arm, f, state = LONG.arm, asked(LONG.arm, problem_name, target), state_of(problem_name, FEW)
    if find_formulation(problem_name).traced:
        with pytest.raises(aw.InputError, match=f"derivatives are for up to 24 joints; {arm.name} has 26"):
            f(*state)
        return
    got, expected = f(*state), written(arm, problem_name, state)
    close(got, expected, rounding(problem_name, arm, FEW[0]))
    alone = f(*(x[2] for x in state))
    close(alone, got[2], 0.0 if target in COMPILED else 1e-12)
    out = np.empty_like(got)
    assert f(*state, out=out) is out and np.array_equal(out, got)
    state[-1][1, 4] = np.nan
    with pytest.raises(aw.InputError, match=rf"{problem_of(problem_name).arguments[-1]}\[1, 4\] is nan"):
        f(*state)
    some, good = f(*state, raises=False)
    assert good.tolist() == [True, False, True] and np.isnan(some[1]).all() and np.array_equal(some[good], got[good])
    if problem_of(problem_name).chain_sweep is None:
        with pytest.raises(aw.InputError, match=f"{re.escape(problem_name)} is compiled for up to .*it has no source"):
            _ = f.source


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("name", LOOPED)
def test_a_loop_takes_wrenches_and_single_precision(name: str, target: str) -> None:
    """One wrench for the tool of all states, others for the links of each."""
    arm, f, state, record = LONG.arm, asked(LONG.arm, name, target), state_of(name, FEW), PROBLEMS[name]
    assert f.source and f.formulation.name == record.chain_sweep.formulation
    single = asked(arm, name, target, "float32")(*(x.astype("float32") for x in state))
    assert single.dtype == np.float32
    close(single, f(*state), rounding(name, arm, FEW[0], "float32"))
    if record.wrenches:
        both = {"tip_wrench": LONG.tip_wrench, "link_wrenches": np.random.default_rng(2).normal(size=(3, 26, 6))}
        meant = aw.compile(arm, name, find_formulation(name).name)
        for loads in (both, *({key: x} for key, x in both.items())):
            close(f(*state, **loads), meant(*state, **loads), rounding(name, arm, FEW[0]))


@pytest.mark.parametrize("name", LOOPED)
def test_a_long_chain_with_followers_runs_as_it_is_written(name: str) -> None:
    arm = led(2, links=26)
    state = state_of(name, FEW[..., : arm.n])
    close(aw.compile(arm, name)(*state), written(arm, name, state), rounding(name, arm, state[0]))


def written(arm: aw.Robot, name: str, state: list[np.ndarray]) -> np.ndarray:
    """The default formulation itself, with a number for each scalar."""
    mechanism, formulation = arm.mechanism(), default_for(name, arm.mechanism())
    results = (formulation(mechanism, *(x[k].tolist() for x in state)) for k in range(len(state[0])))
    return np.array([list(flattened(result)) for result in results]).reshape(-1, *problem_of(name).sizes(mechanism))


# Backends


KINDS = [(target, dtype) for target in HERE for dtype in backend(target).dtypes]


@pytest.mark.parametrize(("target", "dtype"), KINDS)
def test_a_backend_makes_kernels(target: str, dtype: str) -> None:
    """Of a program with two arguments, in any layout; on one entry nothing depends, yet it must be finite."""
    graph, rng = Graph(), np.random.default_rng(0)
    x, y = (tuple(graph.input(f"{name}{k}") for k in range(size)) for name, size in (("x", 2), ("y", 3)))
    outputs = x[0] * y[1] + 1.5, y[2].sin() - x[0], x[0] / y[0], graph.constant(2.0)
    kernel = backend(target).kernel(Program((("x", x), ("y", y)), outputs, (2, 2)), dtype)
    assert (kernel.dtype, kernel.shape) == (np.dtype(dtype), (2, 2)) and kernel.source
    a, b = rng.uniform(1, 2, (19, 2)).astype(dtype), rng.uniform(1, 2, (3, 19)).astype(dtype).T
    out = np.empty((19, 4), dtype)
    assert kernel.run([a, b], out, 2)
    meant = [a[:, 0] * b[:, 1] + 1.5, np.sin(b[:, 2]) - a[:, 0], a[:, 0] / b[:, 0], np.full(19, 2.0)]
    close(out, np.stack(meant, axis=-1), 4 * np.finfo(dtype).eps)
    for array in (a, b):
        kept = array[7, 1]
        array[7, 1] = np.nan
        assert not kernel.run([a, b], out)
        array[7, 1] = kept


@pytest.mark.parametrize(("target", "dtype"), KINDS)
def test_what_a_kernel_cannot_take_it_hands_over(target: str, dtype: str) -> None:
    graph, handed, answer = Graph(), [], np.zeros(())
    x, y = (tuple(graph.input(f"{name}{k}") for k in range(2)) for name in "xy")
    kernel = backend(target).kernel(Program((("x", x), ("y", y)), (x[0] / x[1] - y[0],), ()), dtype)
    single = kernel.single(lambda *given: handed.append(given) or answer)
    good, other = np.array([1.0, 2.0], dtype), {"float64": "float32", "float32": "float64"}[dtype]
    odd = (
        good[:1], np.ones(3, dtype), good[None], good.astype(other), np.ones(4, dtype)[::2], good.tolist(), None,
        good.view(np.recarray), np.array([1.0, 0.0], dtype), np.array([np.nan, 1.0], dtype), np.array(1.0, dtype),
        np.frombuffer(b"\0" + good.tobytes(), dtype, offset=1),
    )  # fmt: skip
    for given in (*((x, good) for x in odd), *((good, x) for x in odd if x is not odd[8]), (), (good,), (good,) * 3):
        handed.clear()
        assert single(*given) is answer
        assert len(handed) == 1 and all(a is b for a, b in zip(handed[0], given, strict=True))
    handed.clear()
    got = single(good, good)
    if handed:  # a backend may hand everything over; that of this CPU must not
        assert target != "cpu" and got is answer
    else:
        assert got == -0.5 and got.dtype == dtype


@pytest.mark.parametrize(("target", "dtype"), KINDS)
@pytest.mark.parametrize("problem", CHAIN_PROBLEMS)
def test_a_backend_makes_loops(problem: str, target: str, dtype: str) -> None:
    sweeps = CHAIN_PROBLEMS[problem]
    loop = backend(target).loop(sweeps.steps(False), sweeps.tables(LONG.arm, dtype), dtype)
    assert (loop.dtype, loop.shape) == (np.dtype(dtype), (26,)) and loop.source
    state, out = list(FEW.astype(dtype)), np.empty((3, 26), dtype)
    assert loop.run(state, out, 2)
    close(out, asked(LONG.arm, problem)(*FEW), rounding(problem, LONG.arm, FEW[0], dtype))
    state[0][1, 3] = np.inf
    assert not loop.run(state, out)


def test_an_unknown_target_lists_what_there_is() -> None:
    for target in ("gpu", None, ["cpu"]):
        with pytest.raises(aw.UnknownNameError, match=r"unknown target .*Known: cpu, cuda, python"):
            backend(target)
