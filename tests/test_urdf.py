"""URDF files: what real ones hold against Pinocchio, what small ones show, what hostile ones may not do."""

import importlib.util
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import close, random_case, random_transform

import armwright as aw
from armwright.check import check, fix
from armwright.check.evaluation import evaluate, random_states, rigid_bodies_only
from armwright.errors import LockedWarning
from armwright.model import urdf, urdf_writer, xml
from armwright.model.description import Description
from armwright.model.random_robot import random_tree
from armwright.model.records import Frame
from armwright.model.transforms import transform

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import fuzz_readers

CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")

ARMS = [  # file, tip, base
    ("alex_description/urdf/alex_nub_hands.urdf", "leftNub", None),
    ("alex_description/urdf/alex_nub_hands.urdf", "rightNub", None),
    ("anymal_b_simple_description/robots/anymal-kinova.urdf", "j2s6s200_end_effector", None),
    ("asr_twodof_description/urdf/TwoDofs.urdf", None, None),
    ("baxter_description/urdf/baxter.urdf", "left_hand_link", None),
    ("baxter_description/urdf/baxter.urdf", "right_hand_link", None),
    ("bluevolta_description/urdf/bluevolta_bravo7_no_ee.urdf", None, None),
    ("borinot_description/urdf/borinot_flying_arm_2.urdf", None, None),
    ("bravo7_description/urdf/bravo7_no_ee.urdf", None, None),
    ("centauro_description/urdf/centauro.urdf", "arm1_8", None),
    ("double_pendulum_description/urdf/double_pendulum.urdf", None, None),
    ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", None, None),
    ("falcon_description/urdf/falcon_bravo7_no_ee.urdf", None, None),
    ("finger_edu_description/robots/finger_edu.urdf", None, None),
    ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "left_rubber_hand", None),
    ("hextilt_description/urdf/hextilt_flying_arm_5.urdf", None, None),
    ("icub_description/robots/icub.urdf", "l_hand_dh_frame", None),
    ("kinova_description/robots/kinova.urdf", None, None),
    ("panda_description/urdf/panda.urdf", "panda_hand_tcp", None),
    ("romeo_description/urdf/romeo_small.urdf", "l_gripper", None),
    ("simple_humanoid_description/urdf/simple_humanoid.urdf", "r_wrist", None),
    ("so_arm_description/urdf/so101.urdf", None, None),
    ("talos_data/robots/talos_reduced.urdf", "gripper_left_base_link", None),
    ("tiago_description/robots/tiago_no_hand.urdf", "wrist_ft_tool_link", None),
    ("tiago_description/robots/tiago.urdf", "arm_tool_link", None),
    ("ur_description/urdf/ur3_robot.urdf", None, None),
    ("ur_description/urdf/ur5_robot.urdf", "tool0", None),
    ("ur_description/urdf/ur5_robot.urdf", "tool0", "shoulder_link"),
    ("ur_description/urdf/ur10_joint_limited_robot.urdf", None, None),
    ("xarm_description/urdf/xarm7.urdf", None, None),
]
needs_examples = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")


def load(path: Path, **chosen) -> aw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aw.load(path, **chosen)


class Peer:
    """Pinocchio's reading of the same file, every joint but the chain's locked at zero (mimics at their offset)."""

    def __init__(self, path: Path, arm: aw.Robot, base: str | None) -> None:
        whole = pin.buildModelFromUrdf(str(path))
        names = [joint.name for joint in arm.joints]
        locked = [whole.getJointId(name) for name in whole.names[1:] if name not in names]
        self.model = pin.buildReducedModel(whole, locked, pin.neutral(whole))
        self.data, self.arm = self.model.createData(), arm
        self.order = [names.index(name) for name in self.model.names[1:]]
        if base is not None:
            frame = whole.frames[whole.getFrameId(base)]
            assert frame.parentJoint

    def configuration(self, q: np.ndarray) -> np.ndarray:
        parts = []
        for name, i in zip(self.model.names[1:], self.order, strict=True):
            wide = self.model.joints[self.model.getJointId(name)].nq == 2  # a continuous joint as cosine and sine
            parts += [np.cos(q[i]), np.sin(q[i])] if wide else [q[i]]
        return np.array(parts)

    def back(self, x: np.ndarray) -> np.ndarray:
        result = np.empty_like(x)
        result[self.order] = x
        return result


@needs_examples
@pytest.mark.parametrize(
    ("file", "tip", "base"), [a for a in ARMS if a[2] is None], ids=lambda x: Path(x).stem if x else ""
)
@pytest.mark.usefixtures("uncompiled")
def test_real_files_agree_with_pinocchio(file: str, tip: str | None, base: str | None) -> None:
    path = EXAMPLES / file
    if not path.exists():
        pytest.skip("not in this version of example-robot-data")
    arm = load(path, tip=tip)
    peer = Peer(path, arm, base)
    link = arm.source.split("\n")[0].split(" to ")[1]
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, 100, arm.n))
    friction = np.array([j.viscous for j in arm.joints]) * qd + np.array([j.coulomb for j in arm.joints]) * np.sign(qd)
    tau = arm.inverse_dynamics(q, qd, qdd) - friction
    back = arm.forward_dynamics(q, qd, tau + friction)
    weight, M, pose = arm.gravity_torque(q), arm.mass_matrix(q), arm.forward_kinematics(q)
    order = peer.order
    for i in range(100):
        c = peer.configuration(q[i])
        exact = pin.rnea(peer.model, peer.data, c, qd[i][order], qdd[i][order])
        close(tau[i][order], exact, 1e-10)
        close(weight[i][order], pin.computeGeneralizedGravity(peer.model, peer.data, c), 1e-10)
        full = np.triu(pin.crba(peer.model, peer.data, c))
        full = full + np.triu(full, 1).T
        close(M[i][np.ix_(order, order)], full, 1e-10)
        condition = np.linalg.cond(full)
        close(back[i], qdd[i], 1e-10 * max(1.0, condition))
        pin.framesForwardKinematics(peer.model, peer.data, c)
        frame = peer.data.oMf[peer.model.getFrameId(link, pin.FrameType.BODY)]
        close(pose[i], frame.homogeneous, 1e-10)


def offset_axes(offset: float, seed: int) -> str:
    """Four joints with skew axes, but that the third is parallel to the second, at a small distance."""
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(4, 3))
    axes[2] = axes[1]
    along = axes[1] / np.linalg.norm(axes[1])
    aside = np.cross(along, [0.3, 0.5, 0.7])
    xyz, rpy = rng.uniform(-0.5, 0.5, (4, 3)), rng.uniform(-3, 3, (4, 3))
    xyz[2], rpy[2] = 0.4 * along + offset * aside / np.linalg.norm(aside), 0
    text = ['<robot name="offset"><link name="l0"/>']
    for i in range(4):
        com, (m, xx, yy, zz) = rng.uniform(-0.2, 0.2, 3), rng.uniform(0.1, 0.2, 4)
        x, r, axis, c = (" ".join(map(repr, v.tolist())) for v in (xyz[i], rpy[i], axes[i], com))
        text.append(
            f'<joint name="j{i + 1}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>'
            f'<origin xyz="{x}" rpy="{r}"/><axis xyz="{axis}"/></joint><link name="l{i + 1}"><inertial>'
            f'<origin xyz="{c}"/><mass value="{10 * m}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'
            "</inertial></link>"
        )
    return "".join([*text, "</robot>"])


@pytest.mark.parametrize("digits", range(2, 14))
@pytest.mark.usefixtures("uncompiled")
def test_parallel_axes_that_nearly_coincide_lose_no_digits(digits: int, tmp_path: Path) -> None:
    offset = 10.0**-digits
    path = tmp_path / "robot.urdf"
    for seed in range(4):
        path.write_text(offset_axes(offset, seed))
        arm, model = load(path), pin.buildModelFromUrdf(str(path))
        data = model.createData()
        angles = np.random.default_rng(seed).uniform(-2, 2, 4)
        c = np.array([f(angle) for angle in angles for f in (np.cos, np.sin)])
        full = np.triu(pin.crba(model, data, c))
        pin.forwardKinematics(model, data, c)
        assert np.abs(arm.forward_kinematics(angles) - data.oMi[4].homogeneous).max() <= 1e-14
        assert np.abs(arm.mass_matrix(angles) - full - np.triu(full, 1).T).max() <= 1e-13


@needs_examples
def test_a_chain_may_start_anywhere() -> None:
    path = EXAMPLES / "ur_description/urdf/ur5_robot.urdf"
    arm = load(path, base="shoulder_link", tip="tool0")
    whole = load(path, tip="tool0")
    assert [joint.name for joint in arm.joints] == [joint.name for joint in whole.joints[1:]]


@needs_examples
@pytest.mark.parametrize("name", ["panda", "ur5", "xarm7", "kinova_jaco"])
def test_packaged_arms_are_the_published_files(name: str) -> None:
    files = {
        "panda": ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),
        "ur5": ("ur_description/urdf/ur5_robot.urdf", "tool0"),
        "xarm7": ("xarm_description/urdf/xarm7.urdf", "link_eef"),
        "kinova_jaco": ("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector"),
    }
    file, tip = files[name]
    fresh, packaged = load(EXAMPLES / file, tip=tip), aw.load(name)
    state = np.random.default_rng(0).uniform(-1, 1, (3, fresh.n))
    rounded = name == "xarm7"  # its file has 1.5708 for a right angle, those of others at least 1.570796327
    close(packaged.inverse_dynamics(*state), fresh.inverse_dynamics(*state), 1e-4 if rounded else 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_written_reads_back_to_the_same_dynamics(seed: int, tmp_path: Path) -> None:
    case = random_case(1 + seed % 5, seed, actuators=True)
    path = tmp_path / "robot.urdf"
    path.write_text(urdf_writer.urdf_text(case.arm))
    arm = load(path, tip="tool").with_gravity(case.arm.gravity)
    close(
        arm.inverse_dynamics(*case.state, case.tip_wrench),
        case.arm.inverse_dynamics(*case.state, case.tip_wrench),
        1e-12,
    )
    close(arm.forward_kinematics(case.q), case.arm.forward_kinematics(case.q), 1e-12)
    assert [j.name for j in arm.joints] == [j.name for j in case.arm.joints]
    assert [j.limits for j in arm.joints] == [j.limits for j in case.arm.joints]


def entries(robot: Description) -> tuple[list[str], list[str]]:
    """What each entry of q and of qd is called."""
    q = [joint.name for joint in robot.joints]
    for ball in reversed(robot.balls):
        q.insert(ball.coordinate + ball.freedoms, f"{q[ball.coordinate]}, one more")
    return q, [joint.name for joint in robot.joints]


def same_torques(robot: Description, back: Description) -> None:
    """Of two robots with the same joints in any order."""
    q, qd, qdd = random_states(robot, 4)
    (here, speeds), (there, others) = entries(robot), entries(back)
    at, rates = [here.index(name) for name in there], [speeds.index(name) for name in others]
    tau = evaluate(rigid_bodies_only(back), "inverse_dynamics", q[:, at], qd[:, rates], qdd[:, rates])
    close(tau, evaluate(rigid_bodies_only(robot), "inverse_dynamics", q, qd, qdd)[:, rates], 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_trees_are_written_with_joints_of_every_kind_that_urdf_has(seed: int, tmp_path: Path) -> None:
    kinds = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "free")
    robot = random_tree(9, seed, kinds, floating=seed % 2 == 1)
    robot = replace(robot, frames=(Frame("eye", 3, transform(random_transform(np.random.default_rng(seed)))),))
    path = tmp_path / "tree.urdf"
    path.write_text(urdf_writer.urdf_text(robot))
    back = load(path)
    same_torques(robot, back)
    assert {link.name for link in robot.links} <= {link.name for link in back.links}
    (eye,) = (frame for frame in back.frames if frame.name == "eye")
    assert back.links[eye.link].name == robot.links[3].name


@needs_examples
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("file", ["panda_description/urdf/panda.urdf", "talos_data/robots/talos_full_v2.urdf"])
def test_whole_files_are_written_in_their_own_frames(file: str, floating: bool, tmp_path: Path) -> None:
    robot = load(EXAMPLES / file, floating=floating, visuals=False)
    robot.to_urdf(tmp_path / "robot.urdf")
    back = load(tmp_path / "robot.urdf")
    same_torques(robot, back)
    assert [link.name for link in back.links] == [link.name for link in robot.links]
    frames = {frame.name: frame for frame in back.frames}
    assert len(frames) == len(robot.frames) + floating  # and the world
    for frame in robot.frames:
        assert frames[frame.name].link == frame.link
        assert np.abs(np.array(frames[frame.name].pose) - frame.pose).max() < 1e-14


def test_what_has_no_place_in_urdf_is_refused() -> None:
    with pytest.raises(aw.ModelError, match=r"URDF has no place for the ball joint 'joint1'; write it as TOML"):
        urdf_writer.urdf_text(random_tree(2, 0, ("ball",)))


@pytest.mark.parametrize("name", ["panda", "ur5", "xarm7", "stanford"])
def test_urdf_toml_urdf_mjcf_keeps_the_torques(name: str, tmp_path: Path) -> None:
    arm = aw.load(name)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 20, arm.n))
    exact = arm.inverse_dynamics(q, qd, qdd)
    arm.to_urdf(tmp_path / "one.urdf")
    first = load(tmp_path / "one.urdf", tip="tool")
    first.to_toml(tmp_path / "two.toml")
    second = load(tmp_path / "two.toml")
    second.to_urdf(tmp_path / "three.urdf")
    third = load(tmp_path / "three.urdf", tip="tool")
    third.to_mjcf(tmp_path / "four.xml")
    fourth = load(tmp_path / "four.xml")
    for robot in (first, second, third, fourth):
        close(robot.inverse_dynamics(q, qd, qdd), exact, 1e-12)


TREE = """<robot name="tree">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0.1 0 0" rpy="0 0 0.3"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"><inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial></link>
  <link name="left"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 -2"/>
    <limit lower="-1" upper="2" effort="30" velocity="1.5"/><dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="bend" type="continuous"><parent link="arm"/><child link="hand"/><origin xyz="0.3 0 0" rpy="1.5707963 0 0"/></joint>
  <joint name="close" type="prismatic"><parent link="hand"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="5" velocity="0.1"/></joint>
  <joint name="follow" type="prismatic"><parent link="hand"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="5" velocity="0.1"/><mimic joint="close" multiplier="1"/></joint>
</robot>"""


def written(tmp_path: Path, text: str | bytes, name: str = "robot.urdf") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_an_origin_may_be_turned_by_a_quaternion(tmp_path: Path) -> None:
    half = np.sqrt(0.5)
    turned = TREE.replace('rpy="1.5707963 0 0"', f'quat_xyzw="{half} 0 0 {half}"')
    exact = load(written(tmp_path, TREE.replace("1.5707963", repr(np.pi / 2))))
    close(load(written(tmp_path, turned)).mass_matrix([0.1, 0.2, 0.01]), exact.mass_matrix([0.1, 0.2, 0.01]), 1e-15)


def test_a_side_joint_without_its_leader_stands_at_its_offset(tmp_path: Path) -> None:
    text = TREE.replace('<mimic joint="close" multiplier="1"/>', '<mimic joint="gone" multiplier="2" offset="0.03"/>')
    expected = "follow follows gone, which does not exist; it is not on the chain and stands locked at 0.03"
    with pytest.warns(LockedWarning, match=expected):
        arm = aw.load(written(tmp_path, text), tip="hand")
    at_offset = load(written(tmp_path, TREE, "other.urdf"), tip="hand", locked={"close": 0, "follow": 0.03})
    close(arm.links[1].inertia, at_offset.links[1].inertia, 1e-15)


def test_a_tree_becomes_a_chain(tmp_path: Path) -> None:
    path = written(tmp_path, TREE)
    with pytest.warns(LockedWarning, match="close is not on the chain and stands locked at 0"):
        arm = aw.load(path, tip="hand")
    assert [joint.name for joint in arm.joints] == ["turn", "bend"]
    turn = arm.joints[0]
    assert (turn.limits, turn.max_velocity, turn.max_torque, turn.viscous, turn.coulomb) == ((-1, 2), 1.5, 30, 0.1, 0.2)
    assert arm.joints[1].limits is None
    assert arm.links[1].mass == pytest.approx(0.7)  # both fingers ride on the hand
    opened = load(path, tip="hand", locked={"close": 0.04})
    assert not np.allclose(opened.links[1].inertia, arm.links[1].inertia)
    gripping = load(path, tip="left", locked={"follow": 0.0})
    assert [joint.name for joint in gripping.joints] == ["turn", "bend", "close"]
    alone = load(path, tip="hand", locked={"turn": 0.5})
    assert [joint.name for joint in alone.joints] == ["bend"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<robot", "<!DOCTYPE robot><robot", "document type"),
        ('<link name="base"/>', '<link name="base"/><link name="base"/>', "a second link is called 'base'"),
        ('<parent link="base"/>', '<parent link="bse"/>', "unknown .*link.*'bse'. Did you mean 'base'"),
        ('<parent link="base"/>', "", "<joint> has no <parent>"),
        ('<parent link="base"/>', '<parent link="hand"/>', "links are not attached to 'base'"),
        ('value="2"', 'value="nan"', 'line 3: value = "nan" is not finite'),
        ('value="2"', 'value="-2"', "negative"),
        ('value="2"', 'value="two"', "is not a number"),
        ('xyz="0.3 0 0"', 'xyz="0.3 0"', "expected 3 numbers, got 2"),
        ('type="continuous"', 'type="elastic"', "has type 'elastic'; expected revolute"),
        ('xyz="0 0 -2"', 'xyz="0 0 0"', "no length"),
        ('rpy="1.5707963 0 0"', 'quat_xyzw="1 0 0 1"', "line 10: quat_xyzw has the length 1.41421356; expected a unit"),
        ('rpy="1.5707963 0 0"', 'rpy="0 0 0" quat_xyzw="1 0 0 0"', "line 10: both rpy and quat_xyzw"),
        ('name="bend"', 'name="turn"', "robot.urdf, line 10: two joints are called 'turn', the other in line 8"),
        (
            '<child link="hand"/>',
            '<child link="hnd"/>',
            r"the child of joint 'bend' \(.*line 10\): 'hnd'. Did you mean 'hand'",
        ),
        (
            '<child link="hand"/>',
            '<child link="left"/>',
            "line 11: link 'left' is attached to two joints, 'bend' and 'close'",
        ),
        (
            '<parent link="base"/>',
            '<parent link="arm"/>',
            "line 8: the links form a loop, which joint 'turn' closes: arm",
        ),
        ('<link name="base"/>', "", r"the parent of joint 'turn' \(.*line 8\): 'base'"),
        ("</robot>", "", "not well-formed XML"),
        (TREE, "<sdf/>", r"<sdf> is not a URDF robot; expected <robot> \(URDF\) or <mujoco> \(MJCF\)"),
    ],
)
def test_mistakes_in_a_file_are_told_with_their_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TREE
    with pytest.raises(aw.ArmwrightError, match=message):
        load(written(tmp_path, TREE.replace(old, new, 1)))


def test_a_visual_with_two_materials_has_the_first_and_loading_warns(tmp_path: Path) -> None:
    visual = '<visual><geometry><box size="1 1 1"/></geometry>{}</visual>'
    two = '<material name="a"><color rgba="1 0 0 1"/></material><material name="b"><color rgba="0 1 0 1"/></material>'
    path = written(tmp_path, TREE.replace('<link name="arm">', '<link name="arm">' + 2 * visual.format(two)))
    line = 1 + TREE[: TREE.index('<link name="arm">')].count("\n")
    with pytest.warns() as caught:
        arm = aw.load(path)
    (text,) = [str(warning.message) for warning in caught if warning.category is aw.errors.VisualWarning]
    message = f"robot.urdf, line {line}: a second <material> in one element and 1 more such element; the first of each"
    assert message in text
    assert [visual.rgba for visual in arm.links[0].visuals] == 2 * [(1.0, 0.0, 0.0, 1.0)]
    (finding,) = [f for f in check(path, prove_it=False).findings if f.kind == "visuals"]
    assert finding.severity == "note" and "the first of each counts" in finding.text


def test_reversed_limits_are_a_warning_and_no_refusal(tmp_path: Path) -> None:
    path = written(tmp_path, TREE.replace('lower="-1" upper="2"', 'lower="2" upper="-1"'))
    with pytest.warns(aw.errors.ModelWarning, match="turn: its limits are reversed: lower 2 above upper -1"):
        arm = aw.load(path)
    assert arm.joints[0].limits == (2.0, -1.0)
    fix(path, tmp_path / "fixed.urdf")
    assert load(tmp_path / "fixed.urdf").joints[0].limits == (-1.0, 2.0)


def test_what_is_asked_of_a_tree_must_be_there(tmp_path: Path) -> None:
    path = written(tmp_path, TREE)
    for chosen, message in (
        ({"tip": "hnd"}, "Did you mean 'hand'"),
        ({"base": "nothing"}, "unknown link"),
        ({"locked": {"clos": 0.0}}, "Did you mean 'close'"),
        ({"locked": {"close": np.nan}}, "expected a position"),
        ({"tip": "base"}, "no joint moves"),
        ({"base": "hand", "tip": "arm"}, "is not attached to"),
        (
            {"tip": "left"},
            r"on side branches, which are locked, follow would move with close.* locked=\{'follow': 0.0\}",
        ),
    ):
        with pytest.raises(aw.ArmwrightError, match=message):
            load(path, **chosen)
    with pytest.raises(aw.ModelError, match="puma560 is no tree of links: tip is for files that have one"):
        aw.load("puma560", tip="hand")


BOMB = (
    '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{i} "{f"&a{i - 1 if i else chr(0)};" * 10}">' for i in range(1, 9))
    + "]><b>&a8;</b>"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
            r"^[^(]*, line 1: a document type",
        ),
        (BOMB.replace("\0", ""), r"^[^(]*, line 1: a document type"),
        ("<a>" * 100_000, r"^[^(]*, line 1: elements are nested more than 200 deep"),
        ("<robot>" + "<link/>" * 3, "not well-formed"),
        (b"\xff\xfe\x00garbage", "not well-formed|decode|is not a URDF"),
        ('<?xml version="1.0" encoding="no-such-code"?><robot/>', "not well-formed|decode"),
        (b'<robot>\n<link name="\xe9"/></robot>', r"line 2: the byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b'<?xml version="1.0" encoding="utf-8"?><robot name="\xe9"/>', "line 1: the byte 0xe9 is not UTF-8"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><robot name="\xe9"/>', "the robot has no links"),
        ("", "robot.urdf is empty"),
        (b"\xef\xbb\xbf \n", "robot.urdf is empty"),
        ("\0" * 10, "not well-formed"),
    ],
)
def test_hostile_files_are_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(aw.ModelError, match=message):
        load(written(tmp_path, text))


FAILED_ONCE = {"mjcf": (23846,)}


def test_links_at_the_end_of_the_world_are_refused(tmp_path: Path) -> None:
    for far in ("1e7", "1e308"):
        with pytest.raises(aw.ModelError, match="m apart, or not finite"):
            load(written(tmp_path, TREE.replace('xyz="0.3 0 0"', f'xyz="{far} 0 {far}"')))


@pytest.mark.parametrize("kind", fuzz_readers.SHARES)
def test_damaged_inputs_work_or_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of the inputs that tools/fuzz_readers.py makes by the hundred thousand, and those that once failed."""
    monkeypatch.chdir(tmp_path)
    numbers = [*range(10 * fuzz_readers.SHARES[kind]), *FAILED_ONCE.get(kind, ())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in numbers:
            assert fuzz_readers.feed(kind, fuzz_readers.made(kind, number), fuzz_readers.path_for(kind, tmp_path))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.urdf"
    with path.open("wb") as file:
        file.truncate(xml.MAX_XML_BYTES + 1)
    with pytest.raises(aw.ModelError, match="MB; expected at most"):
        load(path)
    with pytest.raises(aw.ModelError, match="cannot read"):
        urdf.read(tmp_path)
    with pytest.raises(aw.ModelError, match="cannot read"):
        urdf.read(tmp_path / "none.urdf")
