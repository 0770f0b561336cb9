"""Derivatives: against differences in fifty digits, against Pinocchio, and by two ways against each other."""

from dataclasses import replace

import mpmath
import numpy as np
import pinocchio as pin
import pytest
from conftest import Case, close, random_case

import armwright as aw
from armwright.formulations import find_formulation
from armwright.formulations.parts.coordinates import tangent
from armwright.graph import Graph
from armwright.graph.differentiate import derivatives
from armwright.graph.interpret import interpret
from armwright.graph.replay import substituted
from armwright.model.records import JointModel
from armwright.robot import random_tree
from armwright.study.peers.pinocchio import Pinocchio

CASES = [(1 + seed % 6, seed) for seed in range(8)]
TREES = [(7, 101, False), (6, 347, False), (7, 259, False), (6, 6, True), (7, 80, True)]
"""All kinds of joints among them; numbered branch by branch, without which Pinocchio's derivatives are wrong."""
every_tree = pytest.mark.parametrize(("n", "seed", "floating"), TREES)
STEP = mpmath.mpf("1e-18")


def differences(function, *columns: np.ndarray, by: int) -> np.ndarray:
    """The Jacobian of function(*columns) with respect to one of them, by central differences in fifty digits."""
    exact = [[mpmath.mpf(x) for x in column] for column in columns]
    result = []
    for j in range(len(columns[by])):
        sides = []
        for sign in (1, -1):
            moved = [list(column) for column in exact]
            moved[by][j] += sign * STEP
            sides.append(function(*moved))
        result.append([float((a - b) / (2 * STEP)) for a, b in zip(*sides, strict=True)])
    return np.array(result).T


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_derivatives_are_limits_of_differences(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    q, qd, qdd = case.state
    tau = case.arm.inverse_dynamics(q, qd, qdd)
    with mpmath.workdps(50):
        mechanism = case.arm.mechanism(mpmath.mpf)
        inverse = lambda *s: find_formulation("inverse_dynamics")(mechanism, *s)  # noqa: E731
        forward = lambda *s: find_formulation("forward_dynamics")(mechanism, *s)  # noqa: E731
        by_q, by_qd, M = case.arm.inverse_dynamics_derivatives(q, qd, qdd)
        close(by_q, differences(inverse, q, qd, qdd, by=0), 1e-11)
        close(by_qd, differences(inverse, q, qd, qdd, by=1), 1e-11)
        close(M, case.arm.mass_matrix(q), 1e-12)
        condition = max(10.0, np.linalg.cond(M))
        by_q, by_qd, inverse_M = case.arm.forward_dynamics_derivatives(q, qd, tau)
        close(by_q, differences(forward, q, qd, tau, by=0), 1e-12 * condition)
        close(by_qd, differences(forward, q, qd, tau, by=1), 1e-12 * condition)
        close(inverse_M, np.linalg.inv(M), 1e-13 * condition)


def test_pinocchio_has_the_same_derivatives() -> None:
    case = random_case(6, 9)
    q, qd, qdd = case.state
    peer = Pinocchio(case.arm)
    pin.computeRNEADerivatives(peer.model, peer.data, q, qd, qdd)
    by_q, by_qd, M = case.arm.inverse_dynamics_derivatives(q, qd, qdd)
    close(by_q, peer.data.dtau_dq, 1e-11)
    close(by_qd, peer.data.dtau_dv, 1e-11)
    tau = case.arm.inverse_dynamics(q, qd, qdd)
    pin.computeABADerivatives(peer.model, peer.data, q, qd, tau)
    by_q, by_qd, inverse = case.arm.forward_dynamics_derivatives(q, qd, tau)
    condition = np.linalg.cond(M)
    close(by_q, peer.data.ddq_dq, 1e-12 * condition)
    close(by_qd, peer.data.ddq_dv, 1e-12 * condition)
    upper = np.triu(peer.data.Minv)
    close(inverse, upper + np.triu(upper, 1).T, 1e-12 * condition)


def tree_state(n: int, seed: int, floating: bool) -> tuple[aw.Robot, list[np.ndarray]]:
    tree, rng = random_tree(n, seed, floating=floating), np.random.default_rng(seed)
    return tree, [tree.unit(rng.uniform(-1, 1, tree.nq)), *rng.uniform(-1, 1, (2, tree.n))]


MODELS = {"ball": pin.JointModelSpherical, "free": pin.JointModelFreeFlyer, "planar": pin.JointModelPlanar}


def pinocchio_of(tree: aw.Robot) -> pin.Model:
    """The same tree in Pinocchio."""
    model, rows, ids = pin.Model(), tree.rows, []
    Rz, Rx = (lambda angle, axis=axis: pin.SE3(pin.utils.rotate(axis, angle), np.zeros(3)) for axis in "zx")
    for carrier, parent, link in zip(tree.link_rows, tree.parents, tree.links, strict=True):
        own = rows[carrier - rows[carrier].freedom : carrier + 1]
        kind, joint = own[0].kind, ids[parent] if parent >= 0 else 0
        for k, row in enumerate(own[:1] if kind in MODELS or kind == "helical" else own):
            moved = pin.SE3(np.eye(3), np.array([row.a, row.y, row.z]))
            screwed = Rz(row.theta) * pin.SE3(np.eye(3), np.array([0, 0, row.d]))
            plain = pin.JointModelPZ() if row.prismatic else pin.JointModelRZ()
            made = MODELS[kind]() if kind in MODELS else plain
            if kind == "helical":
                made = pin.JointModelHelicalUnaligned(np.array([0.0, 0.0, 1.0]), own[1].mimic.factor)
            joint = model.addJoint(joint, made, Rz(row.gamma) * moved * Rx(row.alpha) * screwed, f"{row.name}.{k}")
        ids.append(joint)
        body = pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia))
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    return model


@every_tree
def test_pinocchio_has_the_same_derivatives_of_trees(n: int, seed: int, floating: bool) -> None:
    tree, (q, qd, qdd) = tree_state(n, seed, floating)
    model, mechanism = pinocchio_of(tree), tree.mechanism()
    data, tau = model.createData(), pin.rnea(model, model.createData(), q, qd, qdd)
    pin.computeRNEADerivatives(model, data, q, qd, qdd)
    by_q, by_qd, M = find_formulation("inverse_dynamics_derivatives")(mechanism, list(q), list(qd), list(qdd))
    close(by_q, data.dtau_dq, 1e-13)
    close(by_qd, data.dtau_dv, 1e-13)
    condition = np.linalg.cond(M)
    pin.computeABADerivatives(model, data, q, qd, tau)
    by_q, by_qd, inverse = find_formulation("forward_dynamics_derivatives")(mechanism, list(q), list(qd), list(tau))
    close(by_q, data.ddq_dq, 1e-14 * condition)
    close(by_qd, data.ddq_dv, 1e-14 * condition)
    close(inverse, np.linalg.inv(M), 1e-14 * condition)
    coriolis = find_formulation("coriolis_matrix")(mechanism, list(q), list(qd))
    close(coriolis @ qd, pin.computeCoriolisMatrix(model, data, q, qd) @ qd, 1e-13)


@pytest.mark.parametrize(("n", "seed", "floating"), [(3, 8, True), (5, 73, False)])
def test_two_ways_to_derivatives_agree(n: int, seed: int, floating: bool) -> None:
    """The recursion, and the traced torques differentiated."""
    tree, state = tree_state(n, seed, floating)
    tree = tree.map_joints(lambda joint: joint if joint.kind in MODELS else rubbing(joint))
    for problem in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        one, other = (aw.compile(tree, problem, f.name, target="python")(*state) for f in aw.formulations(problem))
        for k in range(3):
            close(one[k], other[k], 1e-12)


def rubbing(joint: JointModel) -> JointModel:
    return replace(joint, viscous=0.3, coulomb=0.2, smooth=0.5, rotor_inertia=0.01, gear=3.0)


def test_derivatives_by_q_are_along_its_tangent() -> None:
    tree, (q, qd, qdd) = tree_state(3, 8, True)
    with mpmath.workdps(50):
        mechanism = tree.mechanism(mpmath.mpf)
        x, v, a = ([mpmath.mpf(number) for number in column] for column in (q, qd, qdd))
        x[6] = mpmath.sqrt(1 - x[3] ** 2 - x[4] ** 2 - x[5] ** 2)
        by_q = np.array(find_formulation("inverse_dynamics_derivatives")(mechanism, x, v, a)[0])
        T = np.array(tangent(mechanism, x))
        for j in range(tree.n):
            sides = [
                find_formulation("inverse_dynamics")(mechanism, list(x + s * STEP * T[:, j]), v, a) for s in (1, -1)
            ]
            slope = [(ahead - behind) / (2 * STEP) for ahead, behind in zip(*sides, strict=True)]
            close(by_q[:, j], slope, 1e-25)


def test_between_branches_nothing_is_computed() -> None:
    tree, _ = tree_state(7, 4, True)
    mechanism = tree.mechanism()
    n, rows = (
        mechanism.coordinate_count,
        {drive.terms[0][0]: i for i, drive in reversed([*enumerate(mechanism.couplings)])},
    )
    ways = {c: {mechanism.couplings[k].terms[0][0] for k in mechanism.inward_from(i)} for c, i in rows.items()}
    apart = [i * n + j for i in range(n) for j in range(n) if i not in ways[j] and j not in ways[i]]
    assert len(apart) > n
    for problem, matrices in (("inverse_dynamics_derivatives", 3), ("coriolis_matrix", 1)):
        outputs = aw.compile(tree, problem).program.outputs
        assert not any(outputs[k * n * n + place] for k in range(matrices) for place in apart)


@pytest.mark.parametrize("case", [random_case(1, 1), random_case(5, 3, prismatic=0.5)], ids=["1", "5"])
def test_the_gradient_of_the_gibbs_function_is_the_torque(case: Case) -> None:
    gradient = aw.compile(case.arm, "gibbs_gradient")
    assert gradient.arguments == ("q", "qd", "qdd")
    close(gradient(*case.state), case.arm.inverse_dynamics(*case.state), 1e-12)


def test_every_operation_has_its_derivative() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    outputs = [x + y, y - x, x * y * x, x / y, y / x, -x, x.sin(), x.cos(), (x * x).sqrt(), x.tanh(), abs(x), x.sign()]
    outputs += [x.minimum(y), x.maximum(y), y.select(x * x, x), x.select(3, y), 2.0, y]
    slopes = derivatives(outputs, x)
    for a, b in ((0.7, 1.9), (-1.3, 0.4), (2.5, -0.6)):
        h = 1e-6
        above, below = (np.array(interpret(outputs, {"x": a + s * h, "y": b}), dtype=float) for s in (1, -1))
        np.testing.assert_allclose(
            np.array(interpret(slopes, {"x": a, "y": b}), dtype=float), (above - below) / (2 * h), atol=1e-8
        )


def test_symbols_are_replaced_by_expressions() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert substituted([x * y + 1, x, 3.0], {y: x.sin()}) == [x * x.sin() + 1, x, 3.0]
    assert substituted([x * y], {y: 0})[0].value == 0
