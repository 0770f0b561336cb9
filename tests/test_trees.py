"""Trees with joints of any kind, floating or not: all formulations agree, Pinocchio agrees, the laws hold."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from conftest import ASKED, BIASES, EVERY, FORWARD, INVERSE, MATRICES, Case, close, state_of, tree_case

import armwright as aw
from armwright import identify
from armwright.algebra import Vector
from armwright.errors import InputError
from armwright.formulations import Formulation, find_formulation
from armwright.formulations.parts.coordinates import tangent
from armwright.graph import Expr
from armwright.mechanism import FREEDOMS_OF_KIND, Wrench
from armwright.model.joint_types import COMPOUND_TYPES
from armwright.robot import random_tree
from armwright.study.peers.pinocchio import Pinocchio
from armwright.trace.tracing import flattened

TOLERANCE = 1e-11
SMALL = [(1 + seed % 7, seed) for seed in range(120)]
LARGE = [(8 + seed % 33, seed) for seed in range(120, 153)]
"""Up to 40 bodies; 300 trees by all formulations are gone through by tools/random_trees.py."""

KINDS_OF_JOINTS = ("revolute", "prismatic", *COMPOUND_TYPES)
uncompiled = pytest.mark.usefixtures("uncompiled")


def able(formulations: tuple[Formulation, ...], case: Case, order: str = "") -> list[Formulation]:
    """Those that take this tree, and of one order if one is named."""
    return [f for f in formulations if f.takes(case.arm.mechanism()) and order in ("", f.order)]


@uncompiled
@pytest.mark.parametrize(("n", "seed"), SMALL)
def test_every_formulation_agrees_on_a_random_tree(n: int, seed: int) -> None:
    agree(tree_case(n, seed, actuators=seed % 2 == 0))


@uncompiled
@pytest.mark.parametrize(("n", "seed"), LARGE)
def test_recursions_agree_on_a_large_tree(n: int, seed: int) -> None:
    agree(tree_case(n, seed, actuators=seed % 2 == 0), order="n")


def agree(case: Case, order: str = "") -> None:
    arm, (q, qd, qdd) = case.arm, case.state
    loads = {"tip_wrench": case.tip_wrench, "link_wrenches": case.link_wrenches}
    tau = arm.inverse_dynamics(*case.state, **loads)
    for f in able(INVERSE[1:], case, order):
        close(arm.inverse_dynamics(*case.state, **loads, formulation=f.name), tau, TOLERANCE)
    bias = arm.bias(q, qd, **loads)
    for f in able(BIASES[1:], case, order):
        close(arm.bias(q, qd, **loads, formulation=f.name), bias, TOLERANCE)
    M = arm.mass_matrix(q)
    for f in able(MATRICES[1:], case, order):
        close(arm.mass_matrix(q, formulation=f.name), M, TOLERANCE)
    close(M @ qdd + bias, tau, TOLERANCE)
    condition = np.linalg.cond(M)
    for f in able(FORWARD, case, order):
        close(arm.forward_dynamics(q, qd, tau, **loads, formulation=f.name), qdd, TOLERANCE * condition)


@uncompiled
@pytest.mark.parametrize("kind", KINDS_OF_JOINTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_formulation_agrees_on_joints_of_one_kind(kind: str, seed: int) -> None:
    agree(tree_case(3, seed, kinds=(kind,), floating=False))


def test_what_is_serial_only_says_so() -> None:
    case = tree_case(4, 3)
    serial = [f for f in EVERY if f.serial]
    assert [f.name for f in serial] == ["denoc_stepwise"]
    for f in serial:
        with pytest.raises(InputError, match=rf"{f.name}.*chain"):
            aw.compile(case.arm, f.problem, f.name)(*state_of(f, case))


@uncompiled
@pytest.mark.parametrize(("n", "seed"), [*SMALL[:12], (20, 5), (40, 6)])
def test_pinocchio_agrees_on_a_tree(n: int, seed: int) -> None:
    case = tree_case(n, seed, actuators=seed % 2 == 0)
    arm = case.arm.map_joints(lambda j: replace(j, viscous=0.0, coulomb=0.0))
    peer, (q, qd, qdd), load = Pinocchio(arm), case.state, case.tip_wrench
    tau, M = peer.inverse_dynamics(q, qd, qdd, load), peer.mass_matrix(q)
    close(arm.inverse_dynamics(q, qd, qdd, load), tau, 1e-12)
    close(arm.mass_matrix(q), M, 1e-12)
    close(arm.gravity_torque(q), peer.gravity_torque(q), 1e-12)
    close(arm.forward_dynamics(q, qd, tau, load), qdd, 1e-13 * max(10.0, np.linalg.cond(M)))
    close(arm.kinetic_energy(q, qd), peer.energies(q, qd)[0], 1e-12)
    scale = np.linalg.norm(arm.gravity) * sum(link.mass for link in arm.links) * 10
    assert abs(arm.potential_energy(q) - peer.energies(q, qd)[1]) <= 1e-12 * scale


# Fifty digits, in which derivatives are differences

STEP = mpmath.mpf("1e-20")
EXACT = [(1, 0), (2, 1), (3, 3), (4, 8), (5, 5)]
exactly = pytest.mark.parametrize(("n", "seed"), EXACT)


def exact(case: Case):
    """The mechanism and the state in sixty digits, quaternions of unit length to the last of them."""
    mechanism = case.arm.mechanism(mpmath.mpf)
    q, qd, qdd = ([mpmath.mpf(x) for x in column] for column in case.state)
    for ball in mechanism.balls:
        length = mpmath.sqrt(sum(x * x for x in q[ball.unit_vector]))
        q[ball.unit_vector] = [x / length for x in q[ball.unit_vector]]
    return mechanism, q, qd, qdd


def along(q, direction, t):
    return [a + t * b for a, b in zip(q, direction, strict=True)]


def moved(mechanism, q, qd, t):
    """Where a small time takes positions: off the unit sphere by its square only."""
    return along(q, [sum(a * b for a, b in zip(row, qd, strict=True)) for row in tangent(mechanism, q)], t)


def slope(mechanism, function, q, qd):
    """The rate of function(q) while the robot moves with qd."""
    ahead, behind = (function(moved(mechanism, q, qd, t)) for t in (STEP, -STEP))
    return (np.array(ahead, dtype=object) - np.array(behind, dtype=object)) / (2 * STEP)


def unit_rates(mechanism):
    return np.eye(mechanism.coordinate_count, dtype=int).tolist()


def difference(got: list, expected: list) -> mpmath.mpf:
    return max(abs(a - b) for a, b in zip(got, expected, strict=True)) / max(map(abs, expected))


@exactly
def test_fifty_digits_agree_to_1e_45(n: int, seed: int) -> None:
    with mpmath.workdps(50):
        case = tree_case(n, seed, actuators=True)
        mechanism, q, qd, qdd = exact(case)
        wrench = [mpmath.mpf(x) for x in case.tip_wrench]
        loads = mechanism.wrenches(Wrench(Vector(*wrench[:3]), Vector(*wrench[3:])))
        tau, M = INVERSE[0](mechanism, q, qd, qdd, loads=loads), MATRICES[0](mechanism, q)
        condition = mpmath.mpf(float(np.linalg.cond(np.array(M, dtype=float))))
        for f in able(INVERSE[1:], case):
            assert difference(f(mechanism, q, qd, qdd, loads=loads), tau) < mpmath.mpf("1e-45")
        for f in able(MATRICES[1:], case):
            assert difference(list(flattened(f(mechanism, q))), list(flattened(M))) < mpmath.mpf("1e-45")
        for f in able(FORWARD, case):
            assert difference(f(mechanism, q, qd, tau, loads=loads), qdd) < mpmath.mpf("1e-45") * condition


@exactly
def test_mass_matrix_is_symmetric_positive_definite_and_twice_kinetic_energy(n: int, seed: int) -> None:
    case = tree_case(n, seed, actuators=True)
    mechanism, q, qd, _ = exact(case)
    M = np.array(find_formulation("mass_matrix")(mechanism, q), dtype=float)
    close(M, M.T, 1e-14)
    assert np.linalg.eigvalsh(M)[0] > 0
    close(float(find_formulation("kinetic_energy")(mechanism, q, qd)), case.qd @ M @ case.qd / 2, 1e-12)


PLAIN = ("revolute", "prismatic", "helical", "cylindrical", "universal")


@exactly
def test_mass_matrix_rate_less_twice_coriolis_matrix_is_skew(n: int, seed: int) -> None:
    with mpmath.workdps(60):
        mechanism, q, qd, _ = exact(tree_case(n, seed, kinds=PLAIN, floating=False))
        rate = slope(mechanism, lambda q: find_formulation("mass_matrix")(mechanism, q), q, qd)
        skew = rate - 2 * np.array(find_formulation("coriolis_matrix")(mechanism, q, qd), dtype=object)
        assert np.abs(skew + skew.T).max() < mpmath.mpf("1e-30")


@exactly
def test_torque_is_inertia_coriolis_gravity_and_friction(n: int, seed: int) -> None:
    mechanism, q, qd, qdd = exact(tree_case(n, seed, kinds=PLAIN, floating=False))
    parts = find_formulation("mass_matrix")(mechanism, q), find_formulation("coriolis_matrix")(mechanism, q, qd)
    M, C = (np.array(part, dtype=float) for part in parts)
    bias, g = (
        np.array(x, dtype=float)
        for x in (find_formulation("bias")(mechanism, q, qd), find_formulation("gravity_torque")(mechanism, q))
    )
    close(bias, C @ np.array(qd, float) + g, 1e-12)
    close(
        np.array(find_formulation("inverse_dynamics")(mechanism, q, qd, qdd), float),
        M @ np.array(qdd, float) + bias,
        1e-12,
    )


@exactly
def test_power_in_is_rate_of_energy(n: int, seed: int) -> None:
    with mpmath.workdps(60):
        case = tree_case(n, seed, actuators=True)
        bare = replace(case, arm=case.arm.map_joints(lambda j: replace(j, viscous=0.0, coulomb=0.0)))
        mechanism, q, qd, qdd = exact(bare)

        def energy(t):
            position, rates = moved(mechanism, q, qd, t), along(qd, qdd, t)
            potential = find_formulation("potential_energy")(mechanism, position)
            return find_formulation("kinetic_energy")(mechanism, position, rates) + potential

        rate = (energy(STEP) - energy(-STEP)) / (2 * STEP)
        power = sum(t * v for t, v in zip(find_formulation("inverse_dynamics")(mechanism, q, qd, qdd), qd, strict=True))
        assert abs(rate - power) < mpmath.mpf("1e-30") * (1 + abs(power))


@exactly
def test_gravity_torque_is_the_gradient_of_potential_energy_along_the_tangent(n: int, seed: int) -> None:
    with mpmath.workdps(60):
        mechanism, q, _, _ = exact(tree_case(n, seed))
        for torque, unit in zip(find_formulation("gravity_torque")(mechanism, q), unit_rates(mechanism), strict=True):
            rise = slope(mechanism, lambda q: find_formulation("potential_energy")(mechanism, q), q, unit)
            assert abs(rise - torque) < mpmath.mpf("1e-30") * (1 + abs(torque))


@exactly
def test_jacobian_is_the_rate_of_the_tool_and_balances_its_wrench(n: int, seed: int) -> None:
    case = tree_case(n, seed)
    with mpmath.workdps(60):
        mechanism, q, qd, _ = exact(case)
        rate = slope(mechanism, lambda q: find_formulation("forward_kinematics")(mechanism, q), q, qd)
        R = np.array(find_formulation("forward_kinematics")(mechanism, q), dtype=object)[:3, :3]
        spin = rate[:3, :3] @ R.T
        twist = np.array(find_formulation("jacobian")(mechanism, q), dtype=object) @ qd
        expected = [*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
        assert difference(list(twist), expected) < 1e-14  # base and tool are rotations to so many digits
        load = mechanism.wrenches(Wrench(Vector(*case.tip_wrench[:3]), Vector(*case.tip_wrench[3:])))
        still = [0] * mechanism.coordinate_count
        held, free = (
            np.array(find_formulation("bias")(mechanism, q, still, loads=on)) for on in (load, mechanism.wrenches())
        )
        J = np.array(find_formulation("tip_jacobian")(mechanism, q), dtype=object)
        close(held - free, -J.T @ case.tip_wrench, 1e-12)


@exactly
def test_torque_is_linear_in_the_parameters(n: int, seed: int) -> None:
    """By the regressor, and by adding two robots of other links."""
    case = tree_case(n, seed, actuators=True)
    Y = find_formulation("regressor")(case.arm.mechanism(), *(x.tolist() for x in case.state))
    pi = identify.parameters(case.arm)
    close(
        np.array(Y) @ pi,
        find_formulation("inverse_dynamics")(case.arm.mechanism(), *(x.tolist() for x in case.state)),
        1e-12,
    )


# Compiled code


@pytest.mark.parametrize("problem", [name for name in ASKED if not name.endswith("derivatives")])
def test_compiled_is_interpreted_is_as_written(problem: str) -> None:
    case = tree_case(3, 22, actuators=True, kinds=("revolute", "ball", "prismatic"))
    chosen = find_formulation(problem)
    state, condition = state_of(chosen, case), 1.0
    exact = aw.compile(case.arm, problem)(*state)
    if problem.startswith("forward_dynamics"):
        condition = np.linalg.cond(case.arm.mass_matrix(case.q))
    close(exact, aw.compile(case.arm, problem, target="python")(*state), 1e-12 * condition)
    if not chosen.traced:
        written = list(flattened(chosen(case.arm.mechanism(), *(x.tolist() for x in state))))
        close(exact.ravel(), written, 1e-11 * condition)
    single = aw.compile(case.arm, problem, dtype="float32")(*state)
    assert single.dtype == np.float32
    close(single, exact, 1e-5 * condition)


@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "link_poses"])
def test_a_batch_gives_what_its_states_give_one_by_one(problem: str) -> None:
    case = tree_case(3, 12, kinds=("revolute", "planar"))
    f, rng = aw.compile(case.arm, problem), np.random.default_rng(0)
    sizes = {"q": case.arm.nq}
    batch = [rng.uniform(-1, 1, (2, 3, sizes.get(name, case.arm.n))) for name in f.arguments]
    batch[0] = case.arm.unit(batch[0])
    together = f(*batch)
    out = np.empty_like(together)
    assert f(*batch, out=out, threads=2) is out
    assert np.array_equal(out, together)
    for place in np.ndindex(2, 3):
        assert np.array_equal(f(*(x[place] for x in batch)), together[place])


def test_a_large_tree_runs_as_it_is_written() -> None:
    """Beyond straight code: there are loops for chains only."""
    case = tree_case(61, 9)
    close(case.arm.forward_dynamics(case.q, case.qd, case.arm.inverse_dynamics(*case.state)), case.qdd, 1e-8)


# Zeros


def two_legs(each: int) -> aw.Robot:
    """A floating body with two branches of revolute joints."""
    tree = random_tree(1 + 2 * each, 5, kinds=("revolute",), floating=True)
    parents = (-1, *(0 if i in (0, each) else i for i in range(2 * each)))
    return replace(tree, parents=parents)


def test_zeros_between_branches_are_exact_and_cost_nothing() -> None:
    arm = two_legs(3)
    left, right = slice(6, 9), slice(9, 12)
    for f in MATRICES:
        program = aw.compile(arm, "mass_matrix", f.name).program
        entries = np.array(program.outputs, dtype=object).reshape(arm.n, arm.n)
        between = [*entries[left, right].ravel(), *entries[right, left].ravel()]
        assert not any(isinstance(x, Expr) for x in between), f.name
        assert not any(between)
    close(arm.mass_matrix(arm.neutral)[left, right], 0 * np.ones((3, 3)), 0.0)


def test_forward_dynamics_of_branches_costs_less_than_of_a_chain() -> None:
    """A factor of the mass matrix has no entries between branches."""
    arm = two_legs(3)
    chain = replace(arm, parents=())
    one, two = (aw.count_operations("forward_dynamics", "composite_body", robot=r).total for r in (arm, chain))
    assert one < 0.9 * two


def test_twice_the_branches_is_less_than_twice_the_operations() -> None:
    one = aw.count_operations("inverse_dynamics", robot=replace(two_legs(3), parents=()))
    two = aw.count_operations("inverse_dynamics", robot=two_legs(3))
    assert two.total < 1.1 * one.total


# What is wrong, said


@pytest.mark.parametrize("kind", FREEDOMS_OF_KIND)
@pytest.mark.parametrize("target", ["cpu", "python"])
def test_a_quaternion_that_is_not_unit_is_said_with_its_joint_and_length(kind: str, target: str) -> None:
    arm = random_tree(3, 4, kinds=("revolute", kind), floating=True)
    ball = arm.balls[-1]
    q = arm.neutral
    q[ball.unit_vector] *= 1.5
    entries = f"entries {ball.unit_vector.start} to {ball.unit_vector.stop - 1} of q"
    message = rf"q: the .* of joint\d, {entries}, has the length 1.5; expected 1 .*: divide it by its length"
    with pytest.raises(InputError, match=message):
        aw.compile(arm, "gravity_torque", target=target)(q)
    with pytest.raises(InputError, match="has the length"):
        aw.compile(arm, "forward_dynamics", target=target)(q, np.zeros(arm.n), np.zeros(arm.n))
    with pytest.raises(InputError, match=r"q\[1\]: the"):
        aw.compile(arm, "gravity_torque", target=target)(np.stack([arm.neutral, q]))
    almost = arm.neutral
    almost[ball.unit_vector] *= 1 + 1e-8
    assert np.isfinite(arm.gravity_torque(almost)).all()


def test_q_of_the_wrong_length_is_said_with_how_many_entries_it_has() -> None:
    arm = random_tree(3, 4, floating=True)
    with pytest.raises(InputError, match=rf"expected shape \({arm.nq},\)"):
        arm.gravity_torque(np.zeros(arm.n))


# Parameters that stay open


def test_parameters_vary_on_a_tree_as_on_an_arm() -> None:
    case = tree_case(4, 6, kinds=("revolute", "ball"))
    arm, state = case.arm, case.state
    heavier = replace(arm.links[2], mass=3.0)
    other = replace(arm, links=(*arm.links[:2], heavier, *arm.links[3:])).with_gravity([0, 1, -9])
    other = other.with_payload(2.0, [0.1, 0.2, 0.3], arm.payload.inertia)
    f = aw.compile(arm, "inverse_dynamics", vary=["payload.mass", "payload.com", f"{heavier.name}.mass", "gravity"])
    close(f(*state, 2.0, [0.1, 0.2, 0.3], 3.0, [0, 1, -9]), other.inverse_dynamics(*state), 1e-12)


def test_lengths_and_drives_of_a_joint_of_several_freedoms_vary_by_their_names() -> None:
    arm = random_tree(3, 8, kinds=("universal",), floating=True)
    name = "joint2.z"
    f = aw.compile(arm, "inverse_dynamics", vary=[f"{name}.viscous", f"{name}.y", f"{name}.z"])
    q, qd = arm.neutral, np.ones(arm.n)
    changed = arm.map_joints(lambda j: replace(j, viscous=0.3, y=0.1, z=-0.2) if j.name == name else j)
    close(f(q, qd, qd, 0.3, 0.1, -0.2), changed.inverse_dynamics(q, qd, qd), 1e-12)
