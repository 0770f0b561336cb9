"""Poses, Jacobians and their rates against Pinocchio and against their definitions; inverse kinematics by going back."""

import math
import pickle
from dataclasses import replace

import mpmath
import numpy as np
import pinocchio as pin
import pytest
from conftest import close, random_case, random_rotation

import armwright as aw
from armwright.formulations import find_formulation
from armwright.function import Function
from armwright.kinematics.search import Solver
from armwright.kinematics.step import NEWTON_DAMPING, JointRange, compile_step, uncompiled_step
from armwright.study.peers.pinocchio import Pinocchio

BODY = {"mass": 1.0, "com": [0, 0, 0], "inertia": [1, 1, 1, 0, 0, 0]}
PUMA = aw.load("puma560")
RR = aw.load("rr")
CASES = [(1 + seed, seed) for seed in range(7)]
MORE_CASES = [*((1 + seed % 7, seed) for seed in range(7, 35)), (26, 0), (40, 1)]
ORIENTATIONS = ("full", "axis", "free")


def arm_of(name: str, convention: str, rows: list[tuple], limits: list | None = None) -> aw.Robot:
    """A robot by its geometry: rows of a, d, alpha."""
    dh = [{"type": "revolute", "a": a, "d": d, "alpha": alpha, **BODY} for a, d, alpha in rows]
    for row, pair in zip(dh, limits or [], strict=False):
        row["limits"] = pair
    return aw.Robot.from_dh(dh, convention, name=name)


Q = math.pi / 2
PANDA = arm_of(  # Franka's table and limits
    "panda",
    "modified",
    [(0, 0.333, 0), (0, 0, -Q), (0, 0.316, Q), (0.0825, 0, Q), (-0.0825, 0.384, -Q), (0, 0, Q), (0.088, 0.107, Q)],
    [(-2.8973, 2.8973), (-1.7628, 1.7628), (-2.8973, 2.8973), (-3.0718, -0.0698), (-2.8973, 2.8973), (-0.0175, 3.7525), (-2.8973, 2.8973)],
)  # fmt: skip
UR5 = arm_of(  # Universal Robots' table
    "ur5",
    "standard",
    [(0, 0.089159, Q), (-0.425, 0, 0), (-0.39225, 0, 0), (0, 0.10915, Q), (0, 0.09465, -Q), (0, 0.0823, 0)],
)
ARMS = [
    PUMA,
    PANDA,
    UR5,
    RR,
    aw.load("stanford"),
    *(random_case(n, seed).arm for n, seed in ((1, 3), (2, 1), (3, 2), (5, 5), (6, 4), (7, 6))),
    random_case(26, 0).arm,
]


def limits(arm: aw.Robot, otherwise: float = math.pi) -> np.ndarray:
    return np.array([joint.limits or (-otherwise, otherwise) for joint in arm.joints]).T


def positions(arm: aw.Robot, count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(*limits(arm), (count, arm.n))


def quantity(arm: aw.Robot, name: str) -> Function:
    return aw.compile(arm, name)


def misses(T: np.ndarray, wanted: np.ndarray, orientation: str) -> np.ndarray:
    """Metres and radians between poses, by other formulas than the solver's."""
    distance = np.linalg.norm((T - wanted)[..., :3, 3], axis=-1)
    if orientation == "free":
        return distance
    difference = (T - wanted)[..., :3, 2 if orientation == "axis" else slice(3)]
    chord = np.linalg.norm(difference.reshape(*distance.shape, -1), axis=-1)
    angle = 2 * np.arcsin(np.minimum(chord / (2 if orientation == "axis" else math.sqrt(8)), 1))
    return np.maximum(distance, angle)


# Poses, Jacobians and their rates


@pytest.mark.parametrize(("n", "seed"), MORE_CASES)
@pytest.mark.usefixtures("uncompiled")
def test_pinocchio_has_the_same_kinematics_as_they_are_written(n: int, seed: int) -> None:
    check_against_pinocchio(n, seed)


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_pinocchio_has_the_same_kinematics(n: int, seed: int) -> None:
    check_against_pinocchio(n, seed)


def check_against_pinocchio(n: int, seed: int) -> None:
    case = random_case(n, seed)
    arm, q, qd, peer = case.arm, case.q, case.qd, Pinocchio(case.arm)
    model = peer.model
    tool = model.addFrame(pin.Frame("tool", n, 0, peer.tool, pin.FrameType.OP_FRAME))
    data = model.createData()
    pin.computeJointJacobiansTimeVariation(model, data, q, qd)
    pin.updateFramePlacements(model, data)
    poses = np.array([data.oMi[i].homogeneous for i in range(1, n + 1)])
    T = data.oMf[tool].homogeneous
    close(arm.forward_kinematics(q), T, 1e-13)
    close(arm.link_poses(q), poses, 1e-13)
    close(arm.link_positions(q), [np.array(arm.base)[:3, 3], *poses[:, :3, 3], T[:3, 3]], 1e-13)
    for frame, axes in (("base", pin.LOCAL_WORLD_ALIGNED), ("tip", pin.LOCAL)):
        close(arm.jacobian(q, frame), pin.getFrameJacobian(model, data, tool, axes).reshape(6, n), 1e-13)
        expected = pin.getFrameJacobianTimeVariation(model, data, tool, axes).reshape(6, n)
        scale = max(np.abs(expected).max(), 1.0)  # a single joint has none, seen from its tip
        assert np.abs(arm.jacobian_derivative(q, qd, frame) - expected).max() <= 1e-12 * scale


def difference(f, x: list, v: list) -> np.ndarray:
    """df/dt along x + v t, to some 25 digits."""
    h = mpmath.mpf(10) ** -25
    ahead, behind = (np.array(f([a + s * h * b for a, b in zip(x, v, strict=True)])) for s in (1, -1))
    return (ahead - behind) / (2 * h)


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_the_jacobian_is_the_derivative_of_the_pose_and_has_the_derivative_it_says(n: int, seed: int) -> None:
    case = random_case(n, seed)
    with mpmath.workdps(60):
        mechanism = case.arm.mechanism(mpmath.mpf)
        q, qd = ([mpmath.mpf(x) for x in values] for values in (case.q, case.qd))
        T = np.array(find_formulation("forward_kinematics")(mechanism, q), dtype=float)
        Td = np.array(difference(lambda x: find_formulation("forward_kinematics")(mechanism, x), q, qd), dtype=float)
        rates = {
            name: np.array(difference(lambda x, name=name: find_formulation(name)(mechanism, x), q, qd), dtype=float)
            for name in ("jacobian", "tip_jacobian")
        }
    spin = Td[:3, :3] @ T[:3, :3].T
    twist = np.array([*Td[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
    close(case.arm.jacobian(case.q) @ case.qd, twist, 1e-13)
    turned = np.kron(np.eye(2), T[:3, :3])
    close(turned @ case.arm.jacobian(case.q, "tip"), case.arm.jacobian(case.q), 1e-13)
    for frame, name in (("base", "jacobian"), ("tip", "tip_jacobian")):
        off = case.arm.jacobian_derivative(case.q, case.qd, frame) - rates[name]
        assert np.abs(off).max() <= 1e-13 * max(np.abs(rates[name]).max(), 1.0)


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_the_jacobian_takes_a_tip_wrench_to_its_torques(n: int, seed: int) -> None:
    """Virtual power: what the surroundings push into the tool, the joints take out."""
    case = random_case(n, seed)
    loaded = case.arm.inverse_dynamics(*case.state, case.tip_wrench)
    torque = case.arm.inverse_dynamics(*case.state) - loaded
    expected = case.arm.jacobian(case.q, "tip").T @ case.tip_wrench
    assert np.abs(torque - expected).max() <= 1e-13 * np.abs(loaded).max()
    R = case.arm.forward_kinematics(case.q)[:3, :3]
    in_world = np.concatenate([R @ case.tip_wrench[:3], R @ case.tip_wrench[3:]])
    close(case.arm.jacobian(case.q).T @ in_world, expected, 1e-13)


def test_what_is_constant_is_not_computed() -> None:
    assert quantity(PUMA, "forward_kinematics").program.outputs[-4:] == (0, 0, 0, 1)
    planar = quantity(RR, "jacobian").program.outputs[4:]
    assert [x.value for x in planar] == [0, 0, 0, 0, 0, 0, 1, 1]  # it turns about z
    axes = quantity(PUMA, "tip_jacobian").program
    used = {x.key for x in axes.nodes if x.op == "input"}
    assert used == {"q2", "q3", "q4", "q5", "q6"}  # nothing changes as the whole arm turns
    assert str(quantity(RR, "jacobian").operations) == "2 mul, 3 add, 4 trig"


# Rates of the joints


@pytest.mark.parametrize("frame", ["base", "tip"])
def test_six_joints_give_any_twist_and_seven_the_shortest_way(frame: str) -> None:
    rng = np.random.default_rng(0)
    for arm in (PUMA, PANDA):
        q, qd, twist, rate = rng.normal(size=(4, 5, 7)) * 0.7
        q, qd, twist, rate = q[:, : arm.n], qd[:, : arm.n], twist[:, :6], rate[:, :6]
        J = arm.jacobian(q, frame)
        found = arm.joint_velocities(q, twist, frame)
        close((J @ found[..., None])[..., 0], twist, 1e-12)
        close(found, (np.linalg.pinv(J) @ twist[..., None])[..., 0], 1e-10)
        qdd = arm.joint_accelerations(q, qd, rate, frame)
        drift = arm.jacobian_derivative(q, qd, frame) @ qd[..., None]
        close((J @ qdd[..., None] + drift)[..., 0], rate, 1e-12)
        close(arm.joint_velocities(q[0], twist[0], frame), found[0], 1e-14)


def test_the_acceleration_of_the_tool_is_the_rate_of_its_velocity() -> None:
    """Along q(t) with constant qdd, finite differences of J qd meet the twist rate the accelerations were asked for."""
    q, qd, rate = np.random.default_rng(1).normal(size=(3, 6)) * 0.5
    for frame in ("base", "tip"):
        qdd, h = UR5.joint_accelerations(q, qd, rate, frame), 1e-5
        ahead, behind = (UR5.jacobian(q + s * qd + s * s / 2 * qdd, frame) @ (qd + s * qdd) for s in (h, -h))
        close((ahead - behind) / (2 * h), rate, 1e-7)


def test_few_joints_come_as_near_as_they_can() -> None:
    arm, twist = random_case(3, 2).arm, np.arange(1.0, 7.0)
    J = arm.jacobian([0.1, 0.2, 0.3])
    close(arm.joint_velocities([0.1, 0.2, 0.3], twist), np.linalg.lstsq(J, twist)[0], 1e-12)
    stretched = RR.joint_velocities([0.0, 0.0], [1.0, 0, 0, 0, 0, 0])  # it cannot, and it stays
    assert np.abs(stretched).max() < 1e-14


def test_a_singular_position_is_reported_or_damped() -> None:
    q, twist = np.array([0.1, -0.5, 1.0, 0.3, 0.0, 0.2]), np.ones(6)  # the axes of joints 4 and 6 in line
    with pytest.raises(aw.SingularError, match=r"twist is out of reach of puma560 at this singular position.*damping="):
        PUMA.joint_velocities(q, twist)
    with pytest.raises(aw.SingularError, match=r"twist_rate\[1\] is out of reach"):
        PUMA.joint_accelerations([q + 0.1, q], q, twist)
    damped = PUMA.joint_velocities(q, twist, damping=0.01)
    assert np.abs(damped).max() < 50
    J = PUMA.jacobian(q)
    close(J.T @ (J @ damped - twist) + 1e-4 * damped + 1, np.ones(6), 1e-10)  # where the damped sum is smallest
    reachable = J @ np.arange(6.0)
    close(J @ PUMA.joint_velocities(q, reachable), reachable, 1e-12)  # a twist it can have is no error


# Inverse kinematics


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_positions_are_found_for_every_pose_that_has_one(arm: aw.Robot, orientation: str) -> None:
    count = 300 if arm.n < 20 else 20
    wanted = arm.forward_kinematics(positions(arm, count))
    q = arm.inverse_kinematics(wanted, orientation=orientation)
    assert q.shape == (count, arm.n)
    assert misses(arm.forward_kinematics(q), wanted, orientation).max() <= 1.1e-10
    low, high = limits(arm, math.inf)
    assert ((q >= low) & (q <= high)).all()


@pytest.mark.parametrize("arm", [PUMA, PANDA, UR5], ids=lambda arm: arm.name)
def test_hardly_a_pose_of_a_real_arm_is_missed(arm: aw.Robot) -> None:
    wanted = arm.forward_kinematics(positions(arm, 10_000, seed=7))
    q, solved = arm.inverse_kinematics(wanted, raises=False)
    assert solved.mean() >= 0.999
    assert misses(arm.forward_kinematics(q[solved]), wanted[solved], "full").max() <= 1.1e-10


def test_what_is_found_depends_on_target_and_seed_alone() -> None:
    wanted = PUMA.forward_kinematics(positions(PUMA, 60)).reshape(5, 12, 4, 4)
    q = PUMA.inverse_kinematics(wanted)
    assert q.shape == (5, 12, 6)
    assert np.array_equal(q, PUMA.inverse_kinematics(wanted))
    assert np.array_equal(q[3, 4], PUMA.inverse_kinematics(wanted[3, 4]))
    assert np.array_equal(q[:, 2:4], PUMA.inverse_kinematics(wanted[:, 2:4]))
    assert not np.array_equal(q, PUMA.inverse_kinematics(wanted, seed=1))
    assert PUMA.inverse_kinematics(wanted[:0]).shape == (0, 12, 6)


def test_the_solution_is_near_where_the_search_starts() -> None:
    q = np.array([0.3, -1.0, 1.2, 0.4, 0.6, 0.5])
    for turns in (0, 1, -2):
        start = q + 0.05 + math.tau * np.array([turns, 0, 0, 0, 0, -turns])
        found = UR5.inverse_kinematics(UR5.forward_kinematics(q), start)
        assert np.abs(found - start).max() < 0.2
    starts = np.stack([q + 0.05, q - 0.05])
    assert np.abs(UR5.inverse_kinematics(UR5.forward_kinematics(q), starts[0], attempts=1) - q).max() < 1e-8
    both = UR5.inverse_kinematics(np.stack([UR5.forward_kinematics(q)] * 2), starts)
    assert np.abs(both - q).max() < 1e-8
    assert np.abs(UR5.inverse_kinematics(UR5.forward_kinematics(q))).max() <= math.pi


@pytest.mark.parametrize("orientation", ["full", "axis"])
@pytest.mark.parametrize("axis", range(3))
def test_a_tool_the_wrong_way_round_is_turned(orientation: str, axis: int) -> None:
    """Exactly half a turn away the sines of the error are zero, and it is as large as it can be."""
    flip = np.diag([*np.where(np.arange(3) == axis, 1.0, -1.0), 1.0])
    arm = replace(PUMA, joints=tuple(replace(j, limits=None) for j in PUMA.joints))
    for q in positions(arm, 10, seed=3):
        wanted = arm.forward_kinematics(q) @ flip
        found = arm.inverse_kinematics(wanted, q, orientation=orientation)
        assert misses(arm.forward_kinematics(found), wanted, orientation) <= 1.1e-10
        _, start, _ = arm._solver(orientation, False)._steps(q[None], wanted_with_damping(wanted), 1.0)
        half_turn = 0.0 if orientation == "axis" and axis == 2 else math.pi
        assert start.error[0, 1] == pytest.approx(half_turn, abs=1e-6)


def wanted_with_damping(T: np.ndarray) -> np.ndarray:
    return np.array([[*T[:3].ravel(), NEWTON_DAMPING]])


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_the_compiled_step_is_the_step_as_written(orientation: str) -> None:
    """At random, close to the target, and close to half a turn away, where the error changes its formula."""
    for arm in (PUMA, random_case(4, 2).arm, random_case(7, 3).arm):
        solver, q = Solver(arm, orientation), positions(arm, 60)
        T = arm.forward_kinematics(q)
        T[20:40] = arm.forward_kinematics(q[20:40] + 1e-3)
        rng = np.random.default_rng(0)
        for k in range(40, 60):
            R = random_rotation(rng)
            T[k, :3, :3] = T[k, :3, :3] @ R @ rotation_x(math.pi - 10.0 ** -(k - 40)) @ R.T
        wanted = np.concatenate([T[:, :3].reshape(60, 12), np.full((60, 1), NEWTON_DAMPING)], axis=1)
        one, two = np.empty((2, 60, arm.n + 2))
        compile_step(arm.mechanism(), solver.task)((q, wanted), one)
        uncompiled_step(arm.mechanism(), solver.task)((q, wanted), two)
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)
        if orientation == "full":
            near = np.sqrt(two[40:, -1])
            np.testing.assert_allclose(
                2 * np.arcsin(np.minimum(near / 2, 1)), math.pi - 10.0 ** -np.arange(20), atol=1e-6
            )


def rotation_x(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


@pytest.mark.parametrize("q", [np.zeros(6), np.array([0.3, 0, 0, 0, 0, 0]), np.array([0.4, -0.6, 1.1, 0.3, 0, 0.2])])
def test_singular_poses_are_reached_too(q: np.ndarray) -> None:
    for arm in (PUMA, UR5, aw.load("stanford")):
        wanted = arm.forward_kinematics(q)
        for orientation in ORIENTATIONS:
            found = arm.inverse_kinematics(wanted, orientation=orientation)
            assert misses(arm.forward_kinematics(found), wanted, orientation) <= 1.1e-10


def test_limits_of_every_kind_are_kept() -> None:
    def limited(*pairs) -> aw.Robot:
        return replace(RR, joints=tuple(replace(j, limits=p) for j, p in zip(RR.joints, pairs, strict=True)))

    wanted = RR.forward_kinematics([0.4, 0.9])
    elbows = {q[1] > 0 for q in (RR.inverse_kinematics(wanted, seed=s, orientation="free") for s in range(20))}
    assert elbows == {True, False}
    for seed in range(10):
        q = limited((-1, 1), (-math.inf, 0)).inverse_kinematics(wanted, orientation="free", seed=seed, raises=False)[0]
        assert q[1] <= 0
        q = limited((-1, 1), (0, math.inf)).inverse_kinematics(wanted, orientation="free", seed=seed)
        close(q, [0.4, 0.9], 1e-8)
    locked = limited((0.4, 0.4), (-3, 3))
    close(locked.inverse_kinematics(wanted, q0=[2.0, 0.0]), [0.4, 0.9], 1e-8)
    with pytest.raises(aw.UnreachableError):
        limited((0.5, 0.5), (-3, 3)).inverse_kinematics(wanted)
    with pytest.raises(aw.ModelError, match="its limits are reversed: lower 1 above upper -1"):
        limited((1, -1), (-3, 3)).inverse_kinematics(wanted)


def test_what_is_out_of_reach_is_reported_with_the_nearest_pose() -> None:
    """The arms of rr are 1 m and 0.8 m long: of a point 3 m off it misses 1.2 m, stretched towards it."""
    T = np.eye(4)
    T[:3, 3] = 3 * np.array([math.cos(0.5), math.sin(0.5), 0])
    with pytest.raises(aw.UnreachableError, match=r"rr does not reach T: the nearest pose found is 1.2 m away") as told:
        RR.inverse_kinematics(T, orientation="free")
    close(told.value.q, [0.5, 0.0], 1e-4)
    close(told.value.error, [1.2, 0.0], 1e-8)
    copy = pickle.loads(pickle.dumps(told.value))
    assert str(copy) == str(told.value) and np.array_equal(copy.q, told.value.q)

    wanted = PUMA.forward_kinematics(positions(PUMA, 12)).reshape(3, 4, 4, 4)
    wanted[1, 2, 0, 3] += 3
    wanted[2, 0, 1, 3] += 3
    with pytest.raises(
        aw.UnreachableError,
        match=r"puma560 does not reach 2 of 12 targets, the first T\[1, 2\]: .* m and .* deg away, after 100 attempts",
    ):
        PUMA.inverse_kinematics(wanted)
    q, solved = PUMA.inverse_kinematics(wanted, raises=False)
    assert q.shape == (3, 4, 6) and np.argwhere(~solved).tolist() == [[1, 2], [2, 0]]
    off = misses(PUMA.forward_kinematics(q), wanted, "full")
    assert (off[solved] < 1.1e-10).all() and (off[~solved] > 1).all()


# Paths


def waves(arm: aw.Robot, count: int) -> np.ndarray:
    """A smooth motion within the limits that passes singular positions."""
    low, high = limits(arm)
    t = np.linspace(0, math.tau, count)[:, None]
    return (low + high) / 2 + 0.1 + 0.2 * (high - low) * np.sin(t * np.arange(1, arm.n + 1) / 2 + np.arange(arm.n))


@pytest.mark.parametrize("arm", [PUMA, UR5, PANDA], ids=lambda arm: arm.name)
def test_a_path_is_followed_without_jumps(arm: aw.Robot) -> None:
    motion = waves(arm, 600)
    wanted = arm.forward_kinematics(motion)
    q = arm.inverse_kinematics(wanted, motion[0], path=True)
    assert misses(arm.forward_kinematics(q), wanted, "full").max() <= 1.1e-10
    assert np.abs(np.diff(q, axis=0)).max() < 0.1
    if arm.n == 6:  # the motion itself, through every singular position
        assert np.abs(q - motion).max() < 1e-2


def test_paths_come_in_batches_and_may_be_sparse() -> None:
    motion = np.linspace([0.1, -1.0, 1.0, 0.3, 0.4, 0.5], [1.4, -0.7, 1.3, 0.9, 0.9, 0.7], 5)
    two = np.stack([motion, motion * [-1, 1, 1, 1, 1, 1]], axis=1)
    wanted = PUMA.forward_kinematics(two)
    q = PUMA.inverse_kinematics(wanted, two[0], path=True)
    assert q.shape == (5, 2, 6)
    close(q, two, 1e-7)
    again = PUMA.inverse_kinematics(wanted[:, 1], two[0, 1], path=True)
    assert np.array_equal(again, q[:, 1])
    assert PUMA.inverse_kinematics(wanted[:0], path=True).shape == (0, 2, 6)


def test_a_path_that_only_a_jump_can_follow_is_reported() -> None:
    """A full circle for a joint that turns half a turn each way: at its limit it would have to go back."""
    arm = replace(RR, joints=tuple(replace(j, limits=(-math.pi, math.pi)) for j in RR.joints))
    motion = np.stack([np.linspace(0, math.tau, 100), np.full(100, 0.7)], axis=1)
    wanted = RR.forward_kinematics(motion)
    assert arm.inverse_kinematics(wanted).shape == (100, 2)
    with pytest.raises(
        aw.UnreachableError, match=r"rr cannot follow the path to T\[50\] without a jump: it ends .* away"
    ):
        arm.inverse_kinematics(wanted, motion[0], path=True)
    q, solved = arm.inverse_kinematics(wanted, motion[0], path=True, raises=False)
    assert solved[:50].all() and not solved[50]
    close(q[:50], motion[:50], 1e-8)
    assert np.abs(q[50] - q[49]).max() < 0.1
    close(RR.inverse_kinematics(wanted, motion[0], path=True), motion, 1e-8)


def test_a_path_goes_on_where_it_is_in_reach_again() -> None:
    line = np.tile(np.eye(4), (80, 1, 1))
    x = 1.75 + 0.1 * np.sin(np.linspace(0, math.pi, 80))  # out of the 1.8 m it reaches, and back
    line[:, 0, 3] = x
    q, solved = RR.inverse_kinematics(line, [-0.2, 0.4], path=True, orientation="free", raises=False)
    assert np.array_equal(solved, x <= 1.8)
    assert np.abs(np.diff(q, axis=0)).max() < 0.1


# Bad input

EYE = np.eye(4)
TILTED = np.array([[1, 0.01, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
BROKEN = np.stack([EYE, np.diag([1.0, 1, 1, 2])])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PUMA.inverse_kinematics(np.eye(3)), r"T has shape \(3, 3\); expected shape \(4, 4\) or \(..., 4, 4\): poses"),
        (lambda: PUMA.inverse_kinematics("here"), "T holds text"),
        (lambda: PUMA.inverse_kinematics(TILTED), "T is not a pose: its upper left 3x3 block is not a rotation.*make its columns orthonormal"),
        (lambda: PUMA.inverse_kinematics(np.diag([1.0, 1, -1, 1])), "T is not a pose: its upper left 3x3 block is a reflection"),
        (lambda: PUMA.inverse_kinematics(BROKEN), r"T\[1\] is not a pose: its last row is not 0 0 0 1"),
        (lambda: PUMA.inverse_kinematics(EYE * np.nan), r"T\[0, 0\] is nan; every number must be finite"),
        (lambda: PUMA.inverse_kinematics(EYE, [0, 0]), r"q0 has shape \(2,\); expected shape \(6,\)"),
        (lambda: PUMA.inverse_kinematics(EYE, np.zeros((3, 6))), r"q0 has shape \(3, 6\); expected \(6,\), or one position for each target"),
        (lambda: PUMA.inverse_kinematics(EYE, [np.inf] * 6), r"q0\[0\] is inf"),
        (lambda: PUMA.inverse_kinematics(EYE, orientation="none"), "unknown orientation 'none'. Known: full, axis, free"),
        (lambda: PUMA.inverse_kinematics(EYE, orientation=None), "unknown orientation"),
        (lambda: PUMA.inverse_kinematics(EYE, path=True), "path=True got a single pose"),
        (lambda: PUMA.inverse_kinematics(EYE, tolerance=0), "tolerance = 0: expected a number above zero"),
        (lambda: PUMA.inverse_kinematics(EYE, attempts=0), "attempts = 0: expected a whole number, 1 or more"),
        (lambda: PUMA.inverse_kinematics(EYE, attempts=2.0), "attempts = 2.0"),
        (lambda: PUMA.inverse_kinematics(EYE, seed=-1), "seed = -1: expected a whole number, 0 or more"),
        (lambda: PUMA.jacobian(np.zeros(6), "tol"), "unknown frame of puma560: 'tol'. Did you mean 'tool'.*Known: .*tool"),
        (lambda: PUMA.jacobian(np.zeros(6), axes="tool"), "unknown axes 'tool'.*Known: world, frame"),
        (lambda: PUMA.jacobian(np.zeros(6), "tip", axes="frame"), "already names the axes"),
        (lambda: PUMA.jacobian_derivative(np.zeros(6), np.zeros(6), ["tip"]), "unknown frame"),
        (lambda: PUMA.jacobian([0, 0]), r"q has shape \(2,\)"),
        (lambda: PUMA.forward_kinematics([np.nan] * 6), r"q\[0\] is nan"),
        (lambda: PUMA.joint_velocities(np.zeros(6), [1, 2, 3]), r"twist has shape \(3,\); expected shape \(6,\)"),
        (lambda: PUMA.joint_velocities(np.zeros(6), [np.nan] * 6), r"twist\[0\] is nan"),
        (lambda: PUMA.joint_velocities(np.zeros((2, 6)), np.zeros((3, 6))), r"do not fit together: q \(2,\), qd \(\), twist \(3,\)"),
        (lambda: PUMA.joint_accelerations(np.zeros(6), np.zeros((2, 6)), np.zeros((3, 6))), r"do not fit together: q \(\), qd \(2,\), twist_rate \(3,\)"),
        (lambda: PUMA.joint_velocities(np.zeros(6), np.zeros(6), damping=-1), "damping = -1: expected a number, zero or more"),
        (lambda: PUMA.joint_accelerations(np.zeros(6), [0, 0], np.zeros(6)), r"qd has shape \(2,\)"),
        (lambda: aw.random_robot(30, 1).inverse_kinematics(EYE[:3]), r"T has shape \(3, 4\)"),
    ],
)  # fmt: skip
def test_bad_input_is_reported(call, message: str) -> None:
    with pytest.raises(aw.ArmwrightError, match=message):
        call()


def test_a_robot_that_has_solved_can_be_pickled() -> None:
    PUMA.inverse_kinematics(PUMA.forward_kinematics(np.full(6, 0.3)))
    assert pickle.loads(pickle.dumps(PUMA)) == PUMA


def test_a_joint_with_full_rotation_continues_from_its_other_limit() -> None:
    around, plain = JointRange(-math.pi, math.pi, True), JointRange(-1.0, 2.0, False)
    assert around.within(math.pi + 0.1) == pytest.approx(0.1 - math.pi)
    assert around.within(-math.pi - 0.1) == pytest.approx(math.pi - 0.1)
    assert around.within(1.0) == 1.0
    assert (plain.within(2.5), plain.within(-3.0), plain.within(0.5)) == (2.0, -1.0, 0.5)
