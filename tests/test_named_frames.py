"""Frames of trees by their names, and what belongs to the whole robot: its centre of mass and its momentum."""

import importlib.util
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import close
from tree_oracle import Oracle, framed_tree, state_of

import armwright as aw

CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")
needs_examples = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")

SEEDS = range(12)
AXES = {"world": pin.LOCAL_WORLD_ALIGNED, "frame": pin.LOCAL}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("uncompiled")
def test_pinocchio_has_the_same_poses_and_jacobians_of_every_frame(seed: int) -> None:
    robot = framed_tree(6, seed)
    oracle, (q, qd, _) = Oracle(robot), state_of(robot, np.random.default_rng(seed))
    m, d = oracle.model, oracle.data
    pin.computeJointJacobians(m, d, q)
    pin.computeJointJacobiansTimeVariation(m, d, q, qd)
    pin.updateFramePlacements(m, d)
    for name in robot.frame_names:
        at = oracle.at(name)
        close(robot.forward_kinematics(q, name), d.oMf[at].homogeneous, 1e-13)
        for axes, where in AXES.items():
            expected = pin.getFrameJacobian(m, d, at, where), pin.getFrameJacobianTimeVariation(m, d, at, where)
            got = robot.jacobian(q, name, axes=axes), robot.jacobian_derivative(q, qd, name, axes=axes)
            for ours, theirs in zip(got, expected, strict=True):
                assert np.abs(ours - theirs).max() < 1e-13 * max(1, np.abs(theirs).max())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("uncompiled")
def test_pinocchio_has_the_same_centre_of_mass_and_momentum(seed: int) -> None:
    robot = framed_tree(6, seed, floating=bool(seed % 2))
    oracle, (q, qd, _) = Oracle(robot), state_of(robot, np.random.default_rng(seed))
    m, d = oracle.model, oracle.data
    pin.ccrba(m, d, q, qd)
    close(robot.center_of_mass(q), pin.centerOfMass(m, d, q), 1e-13)
    close(robot.center_of_mass_jacobian(q), pin.jacobianCenterOfMass(m, d, q), 1e-13)
    close(robot.centroidal_momentum(q, qd), d.hg.vector, 1e-13)
    close(robot.centroidal_momentum_matrix(q), d.Ag, 1e-13)


@needs_examples
@pytest.mark.parametrize(
    "file",
    ["go2_description/urdf/go2.urdf", "talos_data/robots/talos_reduced.urdf", "icub_description/robots/icub.urdf"],
)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.usefixtures("uncompiled")
@pytest.mark.filterwarnings("ignore::armwright.errors.ModelWarning")
def test_whole_robots_have_the_frames_and_the_momentum_that_pinocchio_has(file: str, floating: bool) -> None:
    m = pin.buildModelFromUrdf(str(EXAMPLES / file), *([pin.JointModelFreeFlyer()] if floating else []))
    robot, d, rng = aw.load(EXAMPLES / file, floating=floating), m.createData(), np.random.default_rng(0)
    q, qd = pin.integrate(m, pin.neutral(m), rng.uniform(-1, 1, m.nv)), rng.uniform(-1, 1, m.nv)
    pin.ccrba(m, d, q, qd)
    close(robot.centroidal_momentum(q, qd), d.hg.vector, 1e-12)
    close(robot.centroidal_momentum_matrix(q), d.Ag, 1e-12)
    close(robot.center_of_mass(q), pin.centerOfMass(m, d, q), 1e-12)
    pin.computeJointJacobians(m, d, q)
    pin.computeJointJacobiansTimeVariation(m, d, q, qd)
    pin.updateFramePlacements(m, d)
    bodies = [frame.name for frame in m.frames if frame.type == pin.FrameType.BODY]
    assert set(bodies) <= set(robot.frame_names)
    for name in rng.choice(bodies, 5, replace=False).tolist():
        at = m.getFrameId(name, pin.FrameType.BODY)
        close(robot.forward_kinematics(q, name), d.oMf[at].homogeneous, 1e-12)
        expected = pin.getFrameJacobian(m, d, at, pin.LOCAL), pin.getFrameJacobianTimeVariation(m, d, at, pin.LOCAL)
        got = robot.jacobian(q, name, axes="frame"), robot.jacobian_derivative(q, qd, name, axes="frame")
        for ours, theirs in zip(got, expected, strict=True):
            assert np.abs(ours - theirs).max() < 1e-12 * max(1, np.abs(theirs).max())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("uncompiled")
def test_pinocchio_has_the_same_torques_under_wrenches_on_named_frames(seed: int) -> None:
    robot, rng = framed_tree(6, seed), np.random.default_rng(seed)
    oracle, (q, qd, qdd) = Oracle(robot), state_of(robot, rng)
    wrenches = {name: rng.normal(scale=5, size=6) for name in ("link2", "frame-1", "frame1", "frame4")}
    forces = oracle.forces(wrenches)
    tau = pin.rnea(oracle.model, oracle.data, q, qd, qdd, forces)
    close(robot.inverse_dynamics(q, qd, qdd, link_wrenches=wrenches, formulation="newton_euler"), tau, 1e-13)
    bias = pin.rnea(oracle.model, oracle.data, q, qd, 0 * qdd, forces)
    close(robot.bias(q, qd, link_wrenches=wrenches, formulation="newton_euler"), bias, 1e-13)
    got = robot.forward_dynamics(q, qd, tau, link_wrenches=wrenches, formulation="composite_body")
    close(got, qdd, 1e-9)


ARM = framed_tree(5, 6, kinds=("revolute", "prismatic", "ball"), floating=True)
"""Small enough to compile quickly, with branches and a free base."""


def test_a_frame_is_compiled_and_exported_as_the_tool_is() -> None:
    q, qd, _ = state_of(ARM, np.random.default_rng(0), 3, 2)
    for name in ("frame3", "link2", "frame-1"):
        plain = aw.compile(ARM, "tip_jacobian_derivative", frame=name, target="python")
        compiled = aw.compile(ARM, "tip_jacobian_derivative", frame=name)
        got = ARM.jacobian_derivative(q, qd, name, axes="frame")
        assert np.array_equal(got, compiled(q, qd))
        assert np.abs(got - plain(q, qd)).max() < 1e-14
    exported = aw.export(ARM, to="casadi", functions=["forward_kinematics@frame3", "jacobian@link2"])
    assert sorted(exported) == ["forward_kinematics_frame3", "jacobian_link2"]
    close(exported["forward_kinematics_frame3"](q[0, 0]), ARM.forward_kinematics(q[0, 0], "frame3"), 1e-14)


def test_what_is_fixed_to_the_base_stands_still() -> None:
    q, qd, _ = state_of(ARM, np.random.default_rng(0), 3)
    place = np.array(ARM.base) @ np.array(ARM.frame("frame-1").pose)
    assert np.allclose(ARM.forward_kinematics(q, "frame-1"), place, atol=1e-14)
    assert not ARM.jacobian(q, "frame-1").any()
    assert not ARM.jacobian_derivative(q, qd, "frame-1").any()
    with pytest.raises(aw.InputError, match="frame 'frame-1' is fixed to the base; expected one that moves"):
        ARM.with_tip("frame-1")


def test_a_wrench_is_the_same_by_its_name_by_its_link_and_at_the_tip() -> None:
    rng = np.random.default_rng(1)
    state = state_of(ARM, rng, 3)
    wrench, other = rng.normal(size=(2, 3, 6))
    by_name = ARM.inverse_dynamics(*state, link_wrenches={"link2": wrench, "frame2": other[0]})
    on_links = np.zeros((3, 5, 6))
    on_links[:, 1] = wrench
    seen = aw.compile(ARM, "inverse_dynamics", frame="frame2")
    close(seen(*state, tip_wrench=other[0], link_wrenches=on_links), by_name, 1e-13)
    close(ARM.with_tip("frame2").inverse_dynamics(*state, other[0], link_wrenches=on_links), by_name, 1e-13)
    J = ARM.jacobian(state[0], "frame2", axes="frame")
    alone = ARM.inverse_dynamics(*state, link_wrenches={"frame2": other})
    balanced = ARM.inverse_dynamics(*state) - (other[:, None] @ J)[:, 0]
    close(alone, balanced, 1e-13)


@pytest.mark.parametrize("place", range(6))
def test_a_tip_wrench_anywhere_on_an_arm_is_where_its_frame_is(place: int) -> None:
    """Frames that tracing moves to make code cheaper take what stands on them along."""
    arm, rng = aw.load("puma560"), np.random.default_rng(place)
    q, qd, qdd = rng.uniform(-1, 1, (3, 6))
    name, wrench = arm.links[place].name, rng.normal(size=6)
    got = aw.compile(arm, "inverse_dynamics", frame=name)(q, qd, qdd, tip_wrench=wrench)
    close(got, arm.inverse_dynamics(q, qd, qdd) - arm.jacobian(q, name, axes="frame").T @ wrench, 1e-13)


def test_looking_elsewhere_leaves_the_payload_in_the_hand() -> None:
    arm = ARM.with_tip("frame4").with_payload(2.0, (0.1, 0.2, 0.3))
    state = state_of(arm, np.random.default_rng(2))
    wrench = np.arange(6.0)
    got = aw.compile(arm, "inverse_dynamics", frame="link2")(*state, tip_wrench=wrench)
    close(got, arm.inverse_dynamics(*state, link_wrenches={"link2": wrench}), 1e-13)
    heavier = aw.compile(arm, "bias", frame="link2", vary=["payload.mass"])(*state[:2], 3.0)
    close(heavier, arm.with_payload(3.0, (0.1, 0.2, 0.3)).bias(*state[:2]), 1e-13)


def test_momentum_is_what_its_matrix_makes_of_velocities_and_moves_the_centre_of_mass() -> None:
    arm = ARM.with_tip("frame4").with_payload(2.0, (0.1, 0.2, 0.3))
    q, qd, _ = state_of(arm, np.random.default_rng(3), 4)
    momentum = arm.centroidal_momentum(q, qd)
    close((arm.centroidal_momentum_matrix(q) @ qd[..., None])[..., 0], momentum, 1e-13)
    mass = 2.0 + sum(link.mass for link in arm.links)
    close(mass * (arm.center_of_mass_jacobian(q) @ qd[..., None])[..., 0], momentum[..., :3], 1e-13)
    height = arm.center_of_mass(q) @ np.array(arm.gravity)
    close(-mass * height, arm.potential_energy(q), 1e-13)


def test_several_tips_want_one_to_be_chosen() -> None:
    q, qd, qdd = state_of(ARM, np.random.default_rng(0))
    tips = [ARM.links[i].name for i in range(5) if i not in ARM.parents]
    assert len(tips) > 1 and ARM.tip is None and "tool" not in ARM.frame_names
    said = rf"{ARM.name} has {len(tips)} tips, {', '.join(tips)}, and none is chosen; expected a robot with one chosen"
    for call in (
        lambda: ARM.forward_kinematics(q),
        lambda: ARM.jacobian(q),
        lambda: ARM.jacobian(q, "tip"),
        lambda: ARM.jacobian_derivative(q, qd),
        lambda: ARM.inverse_dynamics(q, qd, qdd, np.zeros(6)),
        lambda: ARM.inverse_kinematics(np.eye(4)),
        lambda: ARM.with_tool(np.diag([1.0, -1, -1, 1])),
        lambda: ARM.with_payload(1.0),
        lambda: aw.compile(ARM, "jacobian"),
        lambda: aw.compile(ARM, "bias", vary=["payload.mass"])(q, qd, 1.0),
    ):
        with pytest.raises(aw.InputError, match=said):
            call()
    with pytest.raises(aw.InputError, match=rf"jacobian is of the tool, .* such as 'jacobian@{ARM.frame_names[0]}'"):
        aw.export(ARM, to="sympy", functions=["jacobian"])
    chosen = ARM.with_tip(tips[0])
    assert np.array_equal(chosen.forward_kinematics(q), ARM.forward_kinematics(q, tips[0]))
    assert ARM.link_positions(q).shape == (6, 3) and chosen.link_positions(q).shape == (7, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q: ARM.forward_kinematics(q, "frame9"), f"unknown frame of {ARM.name}: 'frame9'. Did you mean"),
        (lambda q: ARM.jacobian(q, 3), f"unknown frame of {ARM.name}: 3. Known: frame-1, frame0"),
        (lambda q: ARM.bias(q, q[1:], link_wrenches={"foot": np.zeros(6)}), "unknown frame of .*'foot'"),
        (lambda q: ARM.bias(q, q[1:], link_wrenches={"link1": np.zeros(3)}), r"link_wrenches\['link1'\] has shape"),
        (lambda q: aw.compile(ARM, "mass_matrix", frame="link1"), "mass_matrix does not depend on a frame; leave"),
        (
            lambda q: aw.export(ARM, to="casadi", functions=["jacobian@link1", "jacobian@link1"]),
            "two of them would be called jacobian_link1",
        ),
    ],
)
def test_bad_frames_are_told(call, message: str) -> None:
    with pytest.raises(aw.ArmwrightError, match=message):
        call(ARM.neutral)


# Inverse kinematics


def reached(robot: aw.Robot, q: np.ndarray, T: dict[str, np.ndarray]) -> float:
    return max(np.abs(robot.forward_kinematics(q, name) - pose).max() for name, pose in T.items())


@pytest.mark.parametrize(
    ("robot", "names"),
    [
        (framed_tree(7, 4, kinds=("revolute", "ball")), ("frame6", "frame3")),
        (framed_tree(7, 4, kinds=("revolute", "helical", "planar")), ("frame6", "link4")),
        (framed_tree(7, 4, kinds=("revolute",), floating=True), ("frame6", "frame5", "frame1")),
    ],
    ids=["balls", "planar", "floating"],
)
def test_several_frames_are_brought_to_their_poses_at_once(robot: aw.Robot, names: tuple[str, ...]) -> None:
    """From anywhere, and near where the search starts; quaternions stay unit."""
    q = state_of(robot, np.random.default_rng(0), 2, 3)[0]
    T = {name: robot.forward_kinematics(q, name) for name in names}
    near = robot.unit(q + 0.02)
    for start in (None, near):
        found = robot.inverse_kinematics(T, start)
        assert found.shape == q.shape and reached(robot, found, T) < 1e-9
        assert np.abs(robot.unit(found) - found).max() < 1e-15
        again = robot.inverse_kinematics(
            {name: pose[1, 2] for name, pose in T.items()}, None if start is None else near[1, 2]
        )
        assert np.array_equal(found[1, 2], again)
    assert np.abs(found - q).max() < 0.5
    alone = robot.inverse_kinematics(T[names[0]], near, frame=names[0], orientation="axis")
    axis = np.s_[..., :3, 2:]
    assert np.abs(robot.forward_kinematics(alone, names[0])[axis] - T[names[0]][axis]).max() < 1e-9


def test_the_orientation_counts_for_each_frame_by_its_name() -> None:
    robot = framed_tree(7, 4, kinds=("revolute",), floating=True)
    rng = np.random.default_rng(3)
    q = state_of(robot, rng)[0]
    T = {name: robot.forward_kinematics(q, name) for name in ("frame6", "frame5", "frame1")}
    T["frame6"][:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    T["frame6"][:3, 0] *= np.linalg.det(T["frame6"][:3, :3])
    found = robot.inverse_kinematics(T, q, orientation={"frame6": "free", "frame5": "axis"})
    there = {name: robot.forward_kinematics(found, name) for name in T}
    assert np.abs(there["frame1"] - T["frame1"]).max() < 1e-9
    assert np.abs(there["frame5"][:, 2:] - T["frame5"][:, 2:]).max() < 1e-9
    assert np.abs(there["frame6"][:, 3] - T["frame6"][:, 3]).max() < 1e-9
    assert np.abs(there["frame6"] - T["frame6"]).max() > 1e-3


def test_inverse_kinematics_starts_from_unit_quaternions() -> None:
    robot = framed_tree(7, 4, kinds=("revolute",), floating=True)
    with pytest.raises(
        aw.InputError, match=r"q0: the quaternion of \S+, entries 3 to 6 of q, has the length 2; expected 1"
    ):
        robot.inverse_kinematics(np.eye(4), 2 * robot.neutral, frame="frame6")


def test_the_tool_by_its_name_is_the_tool() -> None:
    arm = aw.load("panda")
    T = arm.forward_kinematics(np.linspace(-0.5, 0.4, arm.n))
    expected = arm.inverse_kinematics(T)
    assert np.array_equal(arm.inverse_kinematics(T, frame="tool"), expected)
    assert np.array_equal(arm.inverse_kinematics({"tool": T}), expected)


def test_a_floating_robot_steps_along_a_path_while_its_feet_stay() -> None:
    robot = framed_tree(7, 4, kinds=("revolute",), floating=True)
    q = state_of(robot, np.random.default_rng(1))[0]
    T = {name: np.repeat(robot.forward_kinematics(q, name)[None], 9, axis=0) for name in ("frame6", "frame5")}
    T["frame5"][:, 0, 3] += np.linspace(0, 0.05, 9)
    found = robot.inverse_kinematics(T, q, path=True, orientation="free")
    for name, poses in T.items():
        assert np.abs(robot.forward_kinematics(found, name)[..., :3, 3] - poses[..., :3, 3]).max() < 1e-9
    assert np.abs(np.diff(found, axis=0)).max() < 0.1


def test_frames_that_cannot_be_had_together_are_told() -> None:
    q = ARM.neutral
    T = {"frame4": ARM.forward_kinematics(q, "frame4"), "link5": np.eye(4) + np.eye(4, k=3) * 9}
    said = f"{ARM.name} does not reach T: the nearest pose found is .* m and .* deg away, link5 farthest, after 2"
    with pytest.raises(aw.UnreachableError, match=said):
        ARM.inverse_kinematics(T, attempts=2)
    with pytest.raises(aw.UnreachableError, match=r"nearest pose found is \S+ m away, link5 farthest"):
        ARM.inverse_kinematics(T, attempts=2, orientation={"link5": "free"})
    for call, message in (
        (lambda: ARM.inverse_kinematics({}), "T = {} names no frame"),
        (lambda: ARM.inverse_kinematics({"frame-1": np.eye(4)}), "frame 'frame-1' is fixed to the base; expected one"),
        (lambda: ARM.inverse_kinematics(T, frame="link5"), "T names its frames; omit frame='link5'"),
        (lambda: ARM.inverse_kinematics({"hand": np.eye(4)}), "unknown frame of .*'hand'"),
        (lambda: ARM.inverse_kinematics({"link5": np.zeros((4, 4))}), r"T\['link5'\] is not a pose"),
        (lambda: ARM.inverse_kinematics(T, q[:-1]), "q0 has shape"),
        (
            lambda: ARM.inverse_kinematics(T, orientation={"frame3": "free"}),
            "unknown frame for its orientation, of those",
        ),
        (lambda: ARM.inverse_kinematics(T, orientation={"link5": "fre"}), "unknown orientation 'fre'"),
        (
            lambda: ARM.with_tip("link5").inverse_kinematics(np.eye(4), orientation={"tool": "free"}),
            "names frames, and T does not",
        ),
    ):
        with pytest.raises(aw.ArmwrightError, match=message):
            call()


def test_a_frame_called_tip_is_that_frame_and_not_the_axes_of_the_tool(tmp_path: Path) -> None:
    frames = [
        f'[[frame]]\nname = "{name}"\nlink = "link1"\npose = [0.1, 0.2, 0, 0, 0, 0, 1]\n' for name in ("tip", "other")
    ]
    (tmp_path / "rr.toml").write_text(aw.load("rr").to_toml() + "\n" + "\n".join(frames))
    arm, q = aw.load(tmp_path / "rr.toml"), [0.3, 0.7]
    assert np.array_equal(arm.jacobian(q, frame="tip"), arm.jacobian(q, frame="other"))
    assert not np.array_equal(arm.jacobian(q, frame="tip"), aw.load("rr").jacobian(q, frame="tip"))
