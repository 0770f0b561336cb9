"""Physical laws, each a test by its name. Derivatives are taken in 60 digits, so differences cost no accuracy."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from conftest import EVERY, INVERSE, Case, close, random_case, random_rotation

import armwright as aw
from armwright.algebra import Symmetric, Vector
from armwright.errors import InputError
from armwright.formulations import find_formulation, problem_of
from armwright.formulations.parts.coordinates import tangent
from armwright.formulations.quantities.coriolis import coriolis_matrix
from armwright.formulations.quantities.energy import kinetic_energy, potential_energy
from armwright.mechanism import MomentLink
from armwright.robot import random_tree

pytestmark = pytest.mark.usefixtures("uncompiled")

CASES = [(1 + seed % 6, seed) for seed in range(12)]
STEP = mpmath.mpf("1e-20")
SMALL = mpmath.mpf("1e-14")
"""For second differences, of which rounding leaves fewer digits."""
every_case = pytest.mark.parametrize(("n", "seed"), CASES)


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def exact(case):
    mechanism = case.arm.mechanism(mpmath.mpf)
    return mechanism, *([mpmath.mpf(x) for x in column] for column in case.state)


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
    mechanism, q, qd, _ = exact(random_case(n, seed))
    rate = slope(lambda q: find_formulation("mass_matrix")(mechanism, q), q, qd)
    skew = rate - 2 * np.array(coriolis_matrix(mechanism, q, qd), dtype=object)
    assert np.abs(skew + skew.T).max() < mpmath.mpf("1e-35")


@pytest.mark.parametrize(("n", "seed"), [(6, 347), (5, 73), (4, 1)])
def test_the_coriolis_matrix_of_a_tree_with_balls(n: int, seed: int) -> None:
    """dM/dt - 2C is skew-symmetric along dq/dt = T qd, and C qd and gravity are the bias."""
    tree, rng = random_tree(n, seed), np.random.default_rng(seed)
    q, qd = tree.unit(rng.uniform(-1, 1, tree.nq)), rng.uniform(-1, 1, tree.n)
    mechanism = tree.mechanism(mpmath.mpf)
    q, qd = ([mpmath.mpf(x) for x in column] for column in (q, qd))
    for ball in tree.balls:
        q[ball.unit_vector] = [x / mpmath.norm(q[ball.unit_vector]) for x in q[ball.unit_vector]]
    direction = np.array(tangent(mechanism, q)) @ qd
    C = np.array(find_formulation("coriolis_matrix")(mechanism, q, qd), dtype=object)
    skew = slope(lambda q: find_formulation("mass_matrix")(mechanism, q), q, direction) - 2 * C
    assert np.abs(skew + skew.T).max() < mpmath.mpf("1e-30")
    parts = (
        C @ qd + np.array(find_formulation("gravity_torque")(mechanism, q)),
        find_formulation("bias")(mechanism, q, qd),
    )
    assert np.abs(parts[0] - parts[1]).max() < mpmath.mpf("1e-50")


@every_case
def test_coriolis_matrix_is_that_of_christoffel_symbols(n: int, seed: int) -> None:
    mechanism, q, qd, _ = exact(random_case(n, seed))
    dM = [
        slope(lambda q: find_formulation("mass_matrix")(mechanism, q), q, unit)
        for unit in np.eye(n, dtype=int).tolist()
    ]
    C = np.array(coriolis_matrix(mechanism, q, qd), dtype=object)
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
    mechanism, q, qd, qdd = exact(replace(case, arm=replace(case.arm, joints=joints)))

    def energy(t):
        position = [a + b * t + c * t * t / 2 for a, b, c in zip(q, qd, qdd, strict=True)]
        return kinetic_energy(mechanism, position, along(qd, qdd, t)) + potential_energy(mechanism, position)

    rate = (energy(STEP) - energy(-STEP)) / (2 * STEP)
    power = sum(t * v for t, v in zip(find_formulation("inverse_dynamics")(mechanism, q, qd, qdd), qd, strict=True))
    assert abs(rate - power) < mpmath.mpf("1e-35") * (1 + abs(power))


@every_case
def test_gravity_torque_is_gradient_of_potential_energy(n: int, seed: int) -> None:
    mechanism, q, _, _ = exact(random_case(n, seed))
    gravity = find_formulation("bias")(mechanism, q, [0] * n)
    for torque, unit in zip(gravity, np.eye(n, dtype=int).tolist(), strict=True):
        assert abs(slope(lambda q: potential_energy(mechanism, q), q, unit) - torque) < mpmath.mpf("1e-35")


@every_case
def test_friction_dissipates(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    bare = replace(case.arm, joints=tuple(replace(j, viscous=0.0, coulomb=0.0) for j in case.arm.joints))
    lost = case.arm.inverse_dynamics(*case.state) - bare.inverse_dynamics(*case.state)
    assert lost @ case.qd > 0


# Accelerations of points, and what Gibbs, Kane and Grigorov make of them


def moving(mechanism, q, qd, qdd):
    """Poses of the links along q + qd t + qdd t^2 / 2, as arrays, at t = 0, and their first and second rates."""
    poses = [
        np.array(find_formulation("link_poses")(mechanism, along(along(q, qd, t), qdd, t * t / 2)), dtype=object)
        for t in (-SMALL, 0 * SMALL, SMALL)
    ]
    behind, here, ahead = poses
    return here, (ahead - behind) / (2 * SMALL), (ahead - 2 * here + behind) / SMALL**2


def of_centre(pose, link):
    """Where a pose, or a rate of it, takes the centre of mass of a link."""
    return pose[:3] @ np.array([*link.com, 1], dtype=object)


def frictionless(n: int, seed: int) -> Case:
    """A random robot with rotors, without friction."""
    case = random_case(n, seed, actuators=True)
    return replace(case, arm=case.arm.map_joints(lambda j: replace(j, viscous=0.0, coulomb=0.0)))


def cloud(link):
    """Six equal masses with the centre of mass and the inertia of a link, as rows (x, y, z, 1)."""
    euler = np.array(link.inertia.euler.matrix, dtype=float)
    sizes, axes = np.linalg.eigh(euler)
    arms = np.sqrt(3 * sizes / float(link.mass)) * axes
    places = np.array(link.com, dtype=float) + np.concatenate([arms.T, -arms.T])
    return np.concatenate([places, np.ones((6, 1))], axis=1)


@every_case
def test_gibbs_function_is_half_the_mass_of_points_times_their_acceleration_squared(n: int, seed: int) -> None:
    """But for what turning alone adds, which no joint acceleration enters; gravity is an acceleration of the base."""
    case = frictionless(n, seed)
    mechanism, q, qd, qdd = exact(case)
    poses, _, rates = moving(mechanism, q, qd, qdd)
    spins = np.array(find_formulation("partial_velocities")(mechanism, q), dtype=object)[:, 3:] @ qd
    total = sum(j.armature * a * a for j, a in zip(mechanism.joints, qdd, strict=True)) / 2
    for link, pose, rate, w in zip(mechanism.links, poses, rates, spins, strict=True):
        points = (rate[:3] @ cloud(link).T).T - np.array(case.arm.gravity)
        total = total + link.mass / 12 * np.sum(points * points)
        in_link = pose[:3, :3].T @ w
        total = total - (w @ w) * Vector(*in_link).dot(link.inertia @ Vector(*in_link)) / 2
    G = find_formulation("gibbs_function")(mechanism, q, qd, qdd)
    assert abs(G - total) < 1e-12 * abs(total)
    close(case.arm.gibbs_function(*case.state), float(G), 1e-12)


@every_case
def test_torque_is_the_gradient_and_mass_matrix_the_hessian_of_the_gibbs_function(n: int, seed: int) -> None:
    case = frictionless(n, seed)
    mechanism, q, qd, qdd = exact(case)
    tau, M = find_formulation("inverse_dynamics")(mechanism, q, qd, qdd), find_formulation("mass_matrix")(mechanism, q)

    def gradient(at):
        units = np.eye(n, dtype=int).tolist()
        return [slope(lambda x: find_formulation("gibbs_function")(mechanism, q, qd, x), at, unit) for unit in units]

    small = mpmath.mpf("1e-30")
    assert all(abs(g - t) < small * (1 + abs(t)) for g, t in zip(gradient(qdd), tau, strict=True))
    for k, unit in enumerate(np.eye(n, dtype=int).tolist()):
        ahead, behind = gradient(along(qdd, unit, 1)), gradient(along(qdd, unit, -1))
        assert all(abs((a - b) / 2 - row[k]) < small for a, b, row in zip(ahead, behind, M, strict=True))


@every_case
def test_partial_velocities_times_rates_are_the_velocities_of_the_links(n: int, seed: int) -> None:
    mechanism, q, qd, _ = exact(random_case(n, seed))
    poses, rates, _ = moving(mechanism, q, qd, [0] * n)
    found = np.array(find_formulation("partial_velocities")(mechanism, q), dtype=object) @ qd
    for link, pose, rate, velocity in zip(mechanism.links, poses, rates, found, strict=True):
        spin = rate[:3, :3] @ pose[:3, :3].T
        expected = [*of_centre(rate, link), spin[2, 1], spin[0, 2], spin[1, 0]]
        close(velocity, expected, 1e-14)


@every_case
def test_inertia_forces_on_partial_velocities_are_the_torque(n: int, seed: int) -> None:
    """Kane's equations, (29) of Angeles, Ma and Rojas."""
    mechanism, q, qd, qdd = exact(random_case(n, seed))
    poses, _, rates = moving(mechanism, q, qd, qdd)
    spins = [
        np.array(
            find_formulation("partial_velocities")(mechanism, along(along(q, qd, t), qdd, t * t / 2)), dtype=object
        )[:, 3:]
        @ along(qd, qdd, t)
        for t in (-STEP, STEP)
    ]
    partial = np.array(find_formulation("partial_velocities")(mechanism, q), dtype=object)
    gravity = mechanism.base.rotation @ mechanism.gravity
    tau = np.zeros(n, dtype=object)
    for i, (link, pose, rate, columns) in enumerate(zip(mechanism.links, poses, rates, partial, strict=True)):
        R, w, wd = pose[:3, :3], columns[3:] @ qd, (spins[1][i] - spins[0][i]) / (2 * STEP)
        inertia = R @ np.array(link.inertia.matrix, dtype=object) @ R.T
        force = link.mass * (of_centre(rate, link) - np.array(gravity))
        tau = tau + columns[:3].T @ force + columns[3:].T @ (inertia @ wd + np.cross(w, inertia @ w))
    close(tau, find_formulation("inverse_dynamics")(mechanism, q, qd, qdd), 1e-13)


@every_case
def test_convective_accelerations_are_those_of_links_whose_joints_keep_their_speed(n: int, seed: int) -> None:
    mechanism, q, qd, _ = exact(random_case(n, seed))
    poses, _, rates = moving(mechanism, q, qd, [0] * n)
    spin_rates = slope(
        lambda q: np.array(find_formulation("partial_velocities")(mechanism, q), dtype=object)[:, 3:] @ qd, q, qd
    )
    found = np.array(find_formulation("convective_accelerations")(mechanism, q, qd), dtype=object)
    for link, pose, rate, turning, rows in zip(mechanism.links, poses, rates, spin_rates, found, strict=True):
        expected = [turning, rate[:3, 3], of_centre(rate, link)]
        assert np.abs(rows @ pose[:3, :3].T - np.array(expected)).max() < 1e-14 * (1 + np.abs(rows).max())


def moments(mechanism):
    """The chain with links in their ten linear parameters."""
    links = tuple(MomentLink(link.mass, link.moment, link.origin_inertia) for link in mechanism.links)
    return replace(mechanism, links=links)


@every_case
def test_torque_is_linear_in_the_ten_inertial_parameters(n: int, seed: int) -> None:
    """tau(pi1 + pi2) = tau(pi1) + tau(pi2), for the formulations in those parameters."""
    case = random_case(n, seed)
    rng = np.random.default_rng(seed)
    state = [column.tolist() for column in case.state]
    first = moments(case.arm.mechanism())
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
        one, two, sum_ = (np.array(f(mechanism, *state)) for mechanism in (first, second, both))
        scale = max(np.abs(one).max(), np.abs(two).max())
        assert np.abs(one + two - sum_).max() < 1e-12 * scale
    close(
        INVERSE[0](case.arm.mechanism(), *state), find_formulation("inverse_dynamics", "khalil")(first, *state), 1e-12
    )


def test_formulations_that_need_a_centre_of_mass_say_so() -> None:
    case = random_case(3, 1)
    mechanism = moments(case.arm.mechanism())
    state = [column.tolist() for column in case.state]
    for f in (f for f in EVERY if not f.traced):
        arguments = state[: len(problem_of(f.problem).arguments)]
        if f.any_link:
            f(mechanism, *arguments)
        else:
            with pytest.raises(InputError, match="centre of mass"):
                f(mechanism, *arguments)


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
