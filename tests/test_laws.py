"""Physical laws, each a test by its name. Derivatives are taken in 60 digits, so differences cost no accuracy."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from conftest import EVERY, INVERSE, close, random_case, random_rotation

import armwright as aw
from armwright.algebra import Symmetric, Vector
from armwright.chain import MomentLink
from armwright.errors import InputError
from armwright.formulations import find, problem_of
from armwright.formulations.quantities.coriolis import coriolis_matrix
from armwright.formulations.quantities.energy import kinetic_energy, potential_energy

pytestmark = pytest.mark.usefixtures("uncompiled")

CASES = [(1 + seed % 6, seed) for seed in range(12)]
STEP = mpmath.mpf("1e-20")
every_case = pytest.mark.parametrize(("n", "seed"), CASES)


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def exact(case):
    chain = case.arm.chain(mpmath.mpf)
    return chain, *([mpmath.mpf(x) for x in column] for column in case.state)


def along(q, direction, t):
    return [a + t * b for a, b in zip(q, direction, strict=True)]


def slope(function, q, direction):
    """The derivative of function(q) in a direction."""
    ahead, behind = function(along(q, direction, STEP)), function(along(q, direction, -STEP))
    return (np.array(ahead, dtype=object) - np.array(behind, dtype=object)) / (2 * STEP)


@every_case
def test_kinetic_energy_is_half_qd_m_qd(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    M = case.arm.mass_matrix(case.q)
    close(case.arm.kinetic_energy(case.q, case.qd), case.qd @ M @ case.qd / 2, 1e-12)


@every_case
def test_mass_matrix_is_symmetric_positive_definite(n: int, seed: int) -> None:
    case = random_case(n, seed)
    for f in aw.formulations("mass_matrix"):
        M = case.arm.mass_matrix(case.q, formulation=f.name)
        close(M, M.T, 1e-14)
        assert np.linalg.eigvalsh(M)[0] > 0


@every_case
def test_mass_matrix_rate_less_twice_coriolis_matrix_is_skew(n: int, seed: int) -> None:
    chain, q, qd, _ = exact(random_case(n, seed))
    rate = slope(lambda q: find("mass_matrix")(chain, q), q, qd)
    skew = rate - 2 * np.array(coriolis_matrix(chain, q, qd), dtype=object)
    assert np.abs(skew + skew.T).max() < mpmath.mpf("1e-35")


@every_case
def test_coriolis_matrix_is_that_of_christoffel_symbols(n: int, seed: int) -> None:
    chain, q, qd, _ = exact(random_case(n, seed))
    dM = [slope(lambda q: find("mass_matrix")(chain, q), q, unit) for unit in np.eye(n, dtype=int).tolist()]
    C = np.array(coriolis_matrix(chain, q, qd), dtype=object)
    for j in range(n):
        for k in range(n):
            symbol = sum((dM[i][j][k] + dM[k][j][i] - dM[j][i][k]) * qd[i] for i in range(n)) / 2
            assert abs(C[j][k] - symbol) < mpmath.mpf("1e-35")


@every_case
def test_torque_is_inertia_coriolis_gravity_and_friction(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    arm, (q, qd, qdd) = case.arm, case.state
    friction = np.array([j.viscous * v + j.coulomb * np.sign(v) for j, v in zip(arm.joints, qd, strict=True)])
    parts = arm.mass_matrix(q) @ qdd + arm.coriolis_matrix(q, qd) @ qd + arm.gravity_torque(q) + friction
    close(arm.inverse_dynamics(q, qd, qdd), parts, 1e-12)


@every_case
def test_power_in_is_rate_of_energy(n: int, seed: int) -> None:
    """tau . qd = d(T + U)/dt along q(t) = q + qd t + qdd t^2 / 2, rotors included, friction not."""
    case = random_case(n, seed, actuators=True)
    joints = tuple(replace(j, viscous=0.0, coulomb=0.0) for j in case.arm.joints)
    chain, q, qd, qdd = exact(replace(case, arm=replace(case.arm, joints=joints)))

    def energy(t):
        position = [a + b * t + c * t * t / 2 for a, b, c in zip(q, qd, qdd, strict=True)]
        return kinetic_energy(chain, position, along(qd, qdd, t)) + potential_energy(chain, position)

    rate = (energy(STEP) - energy(-STEP)) / (2 * STEP)
    power = sum(t * v for t, v in zip(find("inverse_dynamics")(chain, q, qd, qdd), qd, strict=True))
    assert abs(rate - power) < mpmath.mpf("1e-35") * (1 + abs(power))


@every_case
def test_gravity_torque_is_gradient_of_potential_energy(n: int, seed: int) -> None:
    chain, q, _, _ = exact(random_case(n, seed))
    gravity = find("bias")(chain, q, [0] * n)
    for torque, unit in zip(gravity, np.eye(n, dtype=int).tolist(), strict=True):
        assert abs(slope(lambda q: potential_energy(chain, q), q, unit) - torque) < mpmath.mpf("1e-35")


@every_case
def test_friction_dissipates(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    bare = replace(case.arm, joints=tuple(replace(j, viscous=0.0, coulomb=0.0) for j in case.arm.joints))
    lost = case.arm.inverse_dynamics(*case.state) - bare.inverse_dynamics(*case.state)
    assert lost @ case.qd > 0


def moments(chain):
    """The chain with links in their ten linear parameters."""
    links = tuple(MomentLink(link.mass, link.moment, link.origin_inertia) for link in chain.links)
    return replace(chain, links=links)


@every_case
def test_torque_is_linear_in_the_ten_inertial_parameters(n: int, seed: int) -> None:
    """tau(pi1 + pi2) = tau(pi1) + tau(pi2), for the formulations in those parameters."""
    case = random_case(n, seed)
    rng = np.random.default_rng(seed)
    state = [column.tolist() for column in case.state]
    first = moments(case.arm.chain())
    deltas = [
        MomentLink(m, Vector(*h), Symmetric(*j))
        for m, h, j in zip(rng.normal(size=n), rng.normal(size=(n, 3)), rng.normal(size=(n, 6)), strict=True)
    ]
    second = replace(first, links=tuple(deltas))
    both = replace(
        first,
        links=tuple(
            MomentLink(a.mass + b.mass, a.moment + b.moment, a.origin_inertia + b.origin_inertia)
            for a, b in zip(first.links, deltas, strict=True)
        ),
    )
    for f in (f for f in INVERSE if f.any_link):
        one, two, sum_ = (np.array(f(chain, *state)) for chain in (first, second, both))
        scale = max(np.abs(one).max(), np.abs(two).max())
        assert np.abs(one + two - sum_).max() < 1e-12 * scale
    close(INVERSE[0](case.arm.chain(), *state), find("inverse_dynamics", "khalil")(first, *state), 1e-12)


def test_formulations_that_need_a_centre_of_mass_say_so() -> None:
    case = random_case(3, 1)
    chain = moments(case.arm.chain())
    state = [column.tolist() for column in case.state]
    for f in (f for f in EVERY if not f.traced):
        arguments = state[: len(problem_of(f.problem).arguments)]
        if f.any_link:
            f(chain, *arguments)
        else:
            with pytest.raises(InputError, match="centre of mass"):
                f(chain, *arguments)


@every_case
def test_moving_every_link_frame_changes_nothing(n: int, seed: int) -> None:
    """Each frame turned by half a turn about its z axis: other DH rows and bodies, the same robot."""
    case = random_case(n, seed)
    arm = case.arm
    joints, links = list(arm.joints), list(arm.links)
    tool = np.array(arm.tool)
    turn = np.diag([-1.0, -1.0, 1.0])
    for i in range(n):
        joints[i] = replace(joints[i], theta=joints[i].theta + np.pi)
        inertia = tuple(map(tuple, (turn @ np.array(links[i].inertia) @ turn).tolist()))
        links[i] = replace(links[i], com=tuple(turn @ links[i].com), inertia=inertia)
        if i + 1 < n:
            j = joints[i + 1]
            joints[i + 1] = replace(j, a=-j.a, alpha=-j.alpha, theta=j.theta - np.pi)
        else:
            tool[:3] = turn @ tool[:3]
    moved = replace(arm, joints=tuple(joints), links=tuple(links)).with_tool(tool)
    expected = arm.inverse_dynamics(*case.state, case.tip_wrench)
    for f in INVERSE:
        close(moved.inverse_dynamics(*case.state, case.tip_wrench, formulation=f.name), expected, 1e-12)


def test_sliding_a_frame_along_its_axis_changes_nothing() -> None:
    """Between parallel axes the origin of a frame is free to slide along z."""
    case = random_case(4, 3, prismatic=0.0)
    joints, links = list(case.arm.joints), list(case.arm.links)
    joints[2] = replace(joints[2], alpha=0.0)
    parallel = replace(case.arm, joints=tuple(joints))
    slide = 0.37
    joints[1] = replace(joints[1], d=joints[1].d + slide)
    joints[2] = replace(joints[2], d=joints[2].d - slide)
    x, y, z = links[1].com
    links[1] = replace(links[1], com=(x, y, z - slide))
    moved = replace(parallel, joints=tuple(joints), links=tuple(links))
    for f in INVERSE:
        close(moved.inverse_dynamics(*case.state, formulation=f.name), parallel.inverse_dynamics(*case.state), 1e-12)


@every_case
def test_turning_the_world_changes_nothing(n: int, seed: int) -> None:
    case = random_case(n, seed)
    R = random_rotation(np.random.default_rng(seed))
    base = np.array(case.arm.base)
    base[:3] = R @ base[:3]
    turned = case.arm.with_base(base).with_gravity(R @ case.arm.gravity)
    close(turned.inverse_dynamics(*case.state), case.arm.inverse_dynamics(*case.state), 1e-12)
    close(turned.potential_energy(case.q), case.arm.potential_energy(case.q), 1e-10)
