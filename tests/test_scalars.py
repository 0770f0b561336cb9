"""One source, many scalars: batches, single precision, fifty digits, traced expressions."""

import mpmath
import numpy as np
import pytest
from conftest import EVERY, FORWARD, INVERSE, MATRICES, close, random_case, state_of

import armwright as aw
from armwright.algebra import Vector
from armwright.formulations import Formulation
from armwright.graph import Expr, Graph
from armwright.graph.interpret import interpret
from armwright.mechanism import Wrench
from armwright.trace.tracing import flattened, inputs


def test_a_batch_gives_what_its_states_give_one_by_one(formulation: Formulation) -> None:
    case = random_case(5, 21, actuators=True)
    rng = np.random.default_rng(0)
    f = aw.compile(case.arm, formulation.problem, formulation.name)
    batch = [x + rng.uniform(-1, 1, (2, 3, 5)) for x in state_of(formulation, case)]
    together = f(*batch)
    for place in np.ndindex(2, 3):
        close(together[place], f(*(x[place] for x in batch)), 1e-12)


def test_single_precision_stays_single_and_close(formulation: Formulation) -> None:
    case = random_case(4, 3, actuators=True)
    state = state_of(formulation, case)
    exact = aw.compile(case.arm, formulation.problem, formulation.name)(*state)
    f = aw.compile(case.arm, formulation.problem, formulation.name, dtype="float32")
    if not formulation.traced:
        mechanism = case.arm.mechanism(np.float32)
        values = formulation(mechanism, *([np.float32(x) for x in column] for column in state))
        assert all(isinstance(x, (np.float32, int)) for x in flattened(values))
    single, batch = f(*state), f(*(np.stack([x, x]) for x in state))
    assert single.dtype == batch.dtype == np.float32
    condition = (
        np.linalg.cond(case.arm.mass_matrix(case.q)) if formulation.problem.startswith("forward_dynamics") else 1.0
    )
    close(single, exact, 1e-5 * condition)
    close(batch[1], exact, 1e-5 * condition)


@pytest.mark.parametrize(("n", "seed"), [(1, 1), (2, 2), (3, 3), (5, 4), (6, 5), (7, 6)])
def test_fifty_digits_agree_to_1e_45(n: int, seed: int) -> None:
    with mpmath.workdps(50):
        case = random_case(n, seed, actuators=True)
        mechanism = case.arm.mechanism(mpmath.mpf)
        q, qd, qdd = ([mpmath.mpf(x) for x in column] for column in case.state)
        wrench = [mpmath.mpf(x) for x in case.tip_wrench]
        loads = mechanism.wrenches(Wrench(Vector(*wrench[:3]), Vector(*wrench[3:])))
        tau = INVERSE[0](mechanism, q, qd, qdd, loads=loads)
        M = MATRICES[0](mechanism, q)
        condition = mpmath.mpf(float(np.linalg.cond(np.array(M, dtype=float))))
        for f in INVERSE[1:]:
            assert difference(f(mechanism, q, qd, qdd, loads=loads), tau) < mpmath.mpf("1e-45")
        for f in MATRICES[1:]:
            assert difference(list(flattened(f(mechanism, q))), list(flattened(M))) < mpmath.mpf("1e-45")
        for f in FORWARD:
            assert difference(f(mechanism, q, qd, tau, loads=loads), qdd) < mpmath.mpf("1e-45") * condition


def difference(got: list, expected: list) -> mpmath.mpf:
    scale = max(abs(x) for x in expected)
    return max(abs(a - b) for a, b in zip(got, expected, strict=True)) / scale


def test_a_trace_computes_what_it_traced(formulation: Formulation) -> None:
    case = random_case(4, 13, actuators=True)
    graph = Graph()
    symbols = inputs(graph, formulation.problem, 4)
    outputs = list(flattened(formulation(case.arm.mechanism(), *symbols)))
    state = state_of(formulation, case)
    values = {
        e.key: x
        for names, column in zip(symbols, state, strict=True)
        for e, x in zip(names, column.tolist(), strict=True)
    }
    expected = aw.compile(case.arm, formulation.problem, formulation.name)(*state).ravel()
    close(interpret(outputs, values), expected, 1e-10)


def test_a_formulation_never_branches_on_a_scalar() -> None:
    """A traced expression refuses to be true or false, so tracing every formulation proves it."""
    graph = Graph()
    with pytest.raises(TypeError, match="no truth value"):
        bool(graph.input("q"))
    mechanism = aw.random_robot(3, 2, prismatic=0.5).mechanism()
    for f in EVERY:
        assert all(isinstance(x, (Expr, float, int)) for x in flattened(f(mechanism, *inputs(graph, f.problem, 3))))
