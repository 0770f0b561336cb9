"""MJCF files: what is written computes in MuJoCo as it does here, what is read computes here as it does in MuJoCo."""

import importlib
import os
import struct
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close, random_case, random_rotation
from mujoco_oracle import mujoco, state_there, torques

import armwright as aw
from armwright.errors import ModelError, ModelWarning
from armwright.model import mjcf
from armwright.model.mjcf.pose import principal_axes, quaternion
from armwright.model.tree import Tree
from armwright.model.tree_selection import select

INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.2 0.4"/>'


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """MuJoCo likes to leave a log where it works; nothing here may."""
    monkeypatch.chdir(tmp_path)
    yield
    assert "MUJOCO_LOG.TXT" not in os.listdir(tmp_path)


def write(body: str, rest: str = "", name: str = "robot.xml") -> Path:
    """A model whose worldbody starts in line 2."""
    path = Path(name).absolute()
    path.write_text(f'<mujoco model="m"><compiler angle="radian"/>\n<worldbody>{body}</worldbody>\n{rest}</mujoco>\n')
    return path


def read(body: str, rest: str = "") -> Tree:
    return mjcf.read(write(body, rest))


def same_as_mujoco(path: Path, tip: str | None = None) -> aw.Robot:
    """The robot in a file whose joints are all on one chain, after comparing it with MuJoCo at random states."""
    arm = aw.Robot.from_description(select(mjcf.read(path), tip=tip).description)
    arm = replace(arm, joints=tuple(replace(joint, coulomb=0.0) for joint in arm.joints))
    model = mujoco.MjModel.from_xml_path(str(path))
    assert [joint.name for joint in arm.joints] == [model.joint(j).name for j in range(model.njnt)]
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, qd, qdd = rng.normal(size=(3, arm.n))
        close(arm.inverse_dynamics(q, qd, qdd), torques(model, q, qd, qdd), 1e-12)
    if tip is not None:
        data = mujoco.MjData(model)
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        T = arm.forward_kinematics(q)
        close(T[:3, 3], data.site(tip).xpos, 1e-12)
        close(T[:3, :3], data.site(tip).xmat.reshape(3, 3), 1e-12)
    return arm


# ---- writing


@pytest.mark.parametrize("seed", range(24))
def test_a_written_robot_computes_the_same_in_mujoco(seed: int) -> None:
    case = random_case(1 + seed % 8, seed, actuators=seed % 2 == 0)
    arm = replace(case.arm, joints=tuple(replace(joint, coulomb=0.0) for joint in case.arm.joints))
    model = mujoco.MjModel.from_xml_string(mjcf.mjcf_text(arm))
    close(torques(model, *case.state), arm.inverse_dynamics(*case.state), 1e-12)


@pytest.mark.parametrize("seed", range(24))
def test_a_written_robot_reads_back(seed: int) -> None:
    case = random_case(1 + seed % 8, seed, actuators=True)
    arm = replace(case.arm, joints=tuple(replace(joint, max_torque=5.0) for joint in case.arm.joints))
    path = Path("robot.xml")
    path.write_text(mjcf.mjcf_text(arm))
    back = aw.Robot.from_description(select(mjcf.read(path)).description)
    close(back.inverse_dynamics(*case.state), arm.inverse_dynamics(*case.state), 1e-12)
    close(back.forward_kinematics(case.q), arm.forward_kinematics(case.q), 1e-12)
    assert back.name == arm.name and back.gravity == arm.gravity
    for one, other in zip(back.joints, arm.joints, strict=True):
        assert (one.name, one.type, one.limits, one.max_torque) == (other.name, other.type, other.limits, 5.0)
        assert (one.viscous, one.coulomb, one.armature) == (other.viscous, other.coulomb, other.armature)


REFUSED = ("puma_mohan2007",)
"""Published tensors that no body can have, of links that do more than turn about one axis."""


def test_packaged_robots(robot_name: str) -> None:
    arm = aw.load(robot_name)
    if robot_name in REFUSED:
        with pytest.warns(
            ModelWarning, match="MuJoCo refuses this file, as no body has the tensor of link4, link5, link6"
        ):
            text = arm.to_mjcf()
        assert "no body has the principal moments" in text
        with pytest.raises(ValueError, match="inertia must satisfy A"):
            mujoco.MjModel.from_xml_string(text)
        return
    if any(follower.mimic.others for follower in arm.followers):
        with pytest.raises(aw.ModelError, match="follows several others"):
            arm.to_mjcf()
        return
    if arm.loops:  # with coordinates that MuJoCo has not: see test_loops
        assert mujoco.MjModel.from_xml_string(arm.to_mjcf()).neq == len(arm.loops)
        return
    still = arm.map_joints(lambda joint: replace(joint, coulomb=0.0))
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    rng = np.random.default_rng(0)
    q, (qd, qdd) = arm.unit(rng.uniform(-1, 1, arm.nq)), rng.uniform(-1, 1, (2, arm.n))
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    close(B.T @ torques(model, qpos, qvel, qacc), still.inverse_dynamics(q, qd, qdd), 1e-12)


def test_a_link_without_mass_gets_the_least_there_is() -> None:
    arm = aw.load("rr")
    bare = replace(arm.links[0], mass=0.0, com=(0.0, 0.0, 0.0), inertia=((0.0,) * 3,) * 3)
    arm = replace(arm, links=(bare, *arm.links[1:]))
    model = mujoco.MjModel.from_xml_string(mjcf.mjcf_text(arm))
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, arm.n))
    close(torques(model, q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), 1e-12)


@pytest.mark.parametrize("kind", ["urdf", "xml"])
def test_names_with_characters_that_no_xml_may_hold(kind: str, tmp_path: Path) -> None:
    case = random_case(2, 0)
    joints = tuple(replace(joint, name=f"{joint.name}\x00\x1b[31m\ufffe\n\t") for joint in case.arm.joints)
    links = tuple(replace(link, name=f"{link.name}\x07") for link in case.arm.links)
    arm = replace(case.arm, name="bell\x07", joints=joints, links=links)
    path = tmp_path / f"robot.{kind}"
    {"urdf": arm.to_urdf, "xml": arm.to_mjcf}[kind](path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = aw.load(path)
    assert back.name == "bell\\x07"
    assert back.joints[0].name.startswith(f"{case.arm.joints[0].name}\\x00\\x1b[31m\\ufffe")
    close(back.mass_matrix(case.q), arm.mass_matrix(case.q), 1e-11)


def test_names_are_made_distinct_and_escaped() -> None:
    case = random_case(2, 0)
    links = tuple(replace(link, name='a "<&> b') for link in case.arm.links)
    arm = replace(case.arm, links=links, joints=tuple(replace(joint, name="payload") for joint in case.arm.joints))
    model = mujoco.MjModel.from_xml_string(mjcf.mjcf_text(arm))
    assert [model.body(i).name for i in range(1, 4)] == ['a "<&> b', 'a "<&> b_2', "payload"]
    assert [model.joint(i).name for i in range(2)] == ["payload", "payload_2"]


def test_names_that_are_taken(tmp_path: Path) -> None:
    case = random_case(2, 0)
    for names in (("world", "tool"), ("tool", "tool_2"), ("payload", "world")):
        arm = replace(case.arm, links=tuple(replace(x, name=n) for x, n in zip(case.arm.links, names, strict=True)))
        arm.to_mjcf(tmp_path / "taken.xml")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            back = aw.load(tmp_path / "taken.xml")
        close(back.inverse_dynamics(*case.state), arm.inverse_dynamics(*case.state), 1e-12)
        assert [link.name for link in back.links] == [f"{name}_2" if name == "world" else name for name in names]
    with pytest.raises(ModelError, match="has a chain of 500 links; MuJoCo reads chains of 490 at most"):
        aw.random_robot(500, 0).to_mjcf()


def test_limits_that_are_infinite_are_left_out() -> None:
    arm = random_case(1, 0).arm
    arm = replace(arm, joints=(replace(arm.joints[0], limits=(-np.inf, 1.0)),))
    assert not mujoco.MjModel.from_xml_string(mjcf.mjcf_text(arm)).jnt_limited[0]


def test_quaternions() -> None:
    rng = np.random.default_rng(0)
    turns = [random_rotation(rng) for _ in range(50)] + [
        np.diag(d) for d in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])
    ]
    for R in turns:
        back = np.empty(9)
        mujoco.mju_quat2Mat(back, quaternion(np.array(R, dtype=float)))
        close(back.reshape(3, 3), R, 1e-15 * 4)


def test_principal_moments_forgive_rounding() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        R = random_rotation(rng)
        rod, plate = R @ np.diag([0, 1, 1]) @ R.T, R @ np.diag([1, 2, 3]) @ R.T
        assert principal_axes(rod)[0][0] == 0
        moments, axes = principal_axes(plate)
        assert moments[2] <= moments[0] + moments[1]
        close(axes @ np.diag(moments) @ axes.T, plate, 1e-14)
        assert np.linalg.det(axes) > 0


# ---- reading

SERIAL = {
    "hinge": f'<body><joint name="a" axis="0 1 0"/>{INERTIAL}</body>',
    "slide": f'<body pos="0 0 1" quat="1 1 0 0"><joint name="a" type="slide" axis="1 1 0"/>{INERTIAL}</body>',
    "off centre": f'<body pos="1 2 3"><joint name="a" axis="1 2 3" pos="0.3 -0.2 0.1"/>{INERTIAL}</body>',
    "ref": f'<body pos="1 2 3" euler="0.1 0.2 0.3"><joint name="a" ref="0.7" pos="0.3 -0.2 0.1" axis="0 1 1"/>{INERTIAL}</body>',
    "ref of a slide": f'<body pos="1 2 3" euler="0.1 0.2 0.3"><joint name="a" type="slide" ref="0.7" axis="0 1 1"/>{INERTIAL}</body>',
    "two in one body": f'<body><joint name="a" axis="0 1 0" pos="0.1 0 0"/><joint name="b" axis="1 0 0" pos="0 0.2 0"/>{INERTIAL}</body>',
    "four in one body": f"""<body euler="1 2 3"><joint name="a" axis="0 1 0" pos="0.1 0 0" ref="0.3"/><joint name="b" type="slide" axis="1 0 1"
        ref="-0.2"/><joint name="c" axis="1 0 0" pos="0 0.2 0.4" ref="1.1"/><joint name="d" axis="1 1 1" armature="0.1"/>{INERTIAL}</body>""",
    "armature and damping": f'<body><joint name="a" armature="0.3" damping="0.7" frictionloss="0.2"/>{INERTIAL}</body>',
    "full inertia": '<body><joint name="a"/><inertial pos="0 1 0" mass="1" fullinertia="1 1.1 1.2 0.1 0.2 0.3"/></body>',
    "turned inertia": '<body><joint name="a" axis="1 2 3"/><inertial pos="0 1 0" quat="1 2 3 4" mass="1" diaginertia="1 1.1 1.2"/></body>',
    "shapes": '<body><joint name="a"/><geom type="box" size="1 2 3" pos="1 1 1" euler="1 2 3"/><geom type="capsule" size="0.1 1" mass="3"/></body>',
    "inertia before shapes": f'<body><joint name="a" pos="1 0 0"/>{INERTIAL}<geom size="2"/><frame><geom size="1"/></frame></body>',
    "chain": f"""<body pos="0 0 1"><joint name="a" pos="0.1 0 0" ref="0.2"/>{INERTIAL}<body pos="0.5 0 0" quat="1 0 1 0"><joint name="b"
        type="slide" axis="0 1 0"/>{INERTIAL}<body pos="0 0.3 0"><joint name="c" axis="0 1 0" pos="0 0 0.2"/>{INERTIAL}</body></body></body>""",
    "welded": f"""<body pos="0 0 1">{INERTIAL}<body euler="1 0 0"><joint name="a" pos="0.1 0 0"/>{INERTIAL}<body pos="0.2 0.1 0" euler="0 1 0">
        {INERTIAL}<body pos="0.5 0 0" quat="1 0 1 0"><joint name="b"/>{INERTIAL}</body></body><body pos="1 0 0">{INERTIAL}</body></body></body>""",
    "frames": f'<frame pos="1 0 0" euler="1 2 3"><body><joint name="a"/>{INERTIAL}<frame pos="0 1 0"><body><joint name="b"/>{INERTIAL}</body></frame></body></frame>',
    "site": f'<body><joint name="a" pos="0.1 0 0" ref="0.5"/>{INERTIAL}<site name="tip" pos="1 2 3" euler="1 2 3"/></body>',
}  # fmt: skip


@pytest.mark.parametrize("name", SERIAL)
def test_what_is_read_computes_as_in_mujoco(name: str) -> None:
    same_as_mujoco(write(SERIAL[name], '<option gravity="1 -2 -9"/>'), tip="tip" if name == "site" else None)


@pytest.mark.parametrize("seed", range(20))
def test_random_models_compute_as_in_mujoco(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> str:
        return " ".join(map(str, rng.normal(size=shape or 3).ravel()))

    body, j = "", 0
    for i in range(int(rng.integers(1, 5))):
        joints = ""
        for _ in range(int(rng.integers(i == 0, 3))):
            kind = rng.choice(["hinge", "slide"])
            joints += f'<joint name="j{j}" type="{kind}" axis="{numbers()}" pos="{numbers()}" ref="{rng.normal()}" damping="0.1" armature="0.2"/>'
            j += 1
        inertial = (
            f'<inertial pos="{numbers()}" quat="{numbers(4)}" mass="{rng.uniform(1, 3)}" diaginertia="0.3 0.2 0.4"/>'
        )
        body += f'<body pos="{numbers()}" quat="{numbers(4)}">{joints}{inertial}'
    body += f'<site name="tip" pos="{numbers()}" quat="{numbers(4)}"/>' + "</body>" * body.count("<body")
    path = write(body, f'<option gravity="{numbers()}"/>')
    same_as_mujoco(path, tip="tip")


def test_a_humanoid_of_unitree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its meshes are elsewhere, and not needed; its base floats, and the chain begins below it."""
    frax = pytest.importorskip("frax", reason="frax, which brings the file, is not installed")
    path = Path(frax.__file__).parent / "assets/unitree_g1/g1_29dof_rev_1_0.xml"
    tree = mjcf.read(path)
    assert select(tree, tip="left_wrist_yaw_link").description.joint_types == "FRRRRRRRRRR"
    arm = aw.Robot.from_description(select(tree, base="pelvis", tip="left_wrist_yaw_link").description)
    model = mujoco.MjSpec.from_string(_fixed(path)).compile()
    names = [model.joint(j).name for j in range(model.njnt)]
    at = [names.index(joint.name) for joint in arm.joints]
    q, qd, qdd = np.zeros((3, model.nv))
    q[at], qd[at], qdd[at] = np.random.default_rng(0).uniform(-1, 1, (3, arm.n))
    arm = replace(arm, joints=tuple(replace(joint, coulomb=0.0) for joint in arm.joints))
    close(arm.inverse_dynamics(q[at], qd[at], qdd[at]), torques(model, q, qd, qdd)[at], 1e-12)


def _fixed(path: Path) -> str:
    """The model without the joint of its base and without meshes."""
    lines = [line for line in path.read_text().splitlines() if 'type="free"' not in line and "mesh" not in line]
    lines = [line for line in lines if "freejoint" not in line]
    return '<mujoco model="m"><compiler angle="radian"/>' + "\n".join(lines).partition(">")[2]


def test_what_a_joint_brings() -> None:
    body = f'<body name="b"><joint name="a" range="-1 2" armature="0.1" damping="0.2" frictionloss="0.3"/>{INERTIAL}</body>'
    [joint] = read(body, '<actuator><motor joint="a" gear="10" forcerange="-2 3"/></actuator>').joints
    assert (joint.limits, joint.effort, joint.armature, joint.viscous, joint.coulomb) == ((-1, 2), 30, 0.1, 0.2, 0.3)
    assert (joint.kind, joint.parent, joint.child) == ("revolute", "world", "b")
    [joint] = read(body.replace('range="-1 2"', 'actuatorfrcrange="-7 7"')).joints
    assert joint.limits is None and joint.effort == 7


@pytest.mark.parametrize(
    ("actuator", "effort"),
    [
        ('<motor joint="a" gear="-50" ctrlrange="-2 1"/>', 100),
        ('<motor joint="a" gear="50" ctrlrange="-2 2" forcerange="-1.5 1.5"/>', 75),
        ('<motor joint="a" gear="50" ctrlrange="-2 2" ctrllimited="false"/>', None),
        ('<motor joint="a" gear="50"/>', None),
        ('<general joint="a" gear="2" gainprm="3" ctrlrange="-1 1"/>', 6),
        ('<position joint="a" kp="50" ctrlrange="-2 2"/>', None),  # the control is where to go
        ('<velocity joint="a" kv="50" ctrlrange="-2 2"/>', None),
        ('<intvelocity joint="a" kp="50" ctrlrange="-2 2" actrange="-1 1"/>', None),
    ],
)
def test_what_a_motor_can_do(actuator: str, effort: float | None) -> None:
    body = f'<body name="b"><joint name="a"/>{INERTIAL}</body>'
    [joint] = read(body, f"<actuator>{actuator}</actuator>").joints
    assert joint.effort == effort


def test_degrees_and_defaults_are_mujocos_own_business() -> None:
    text = f"""<mujoco><compiler angle="degree"/><default><joint damping="0.5"/><default class="c"><joint range="-90 90" axis="1 0 0"/>
        </default></default><worldbody><body childclass="c"><joint name="a" ref="45"/>{INERTIAL}</body></worldbody></mujoco>"""
    Path("robot.xml").write_text(text)
    [joint] = mjcf.read("robot.xml").joints
    assert joint.limits == (-np.pi / 2, np.pi / 2) and joint.viscous == 0.5 and joint.axis.tolist() == [1, 0, 0]
    same_as_mujoco(Path("robot.xml"))


@pytest.mark.skipif(
    not hasattr(mujoco.MjSpec().add_actuator(), "armature"), reason="MuJoCo has had these since version 4"
)
def test_what_an_actuator_adds() -> None:
    path = write(
        f'<body><joint name="a"/>{INERTIAL}</body>',
        '<actuator><motor joint="a" gear="3" armature="0.2" damping="0.1"/></actuator>',
    )
    arm = same_as_mujoco(path)
    assert arm.joints[0].armature == pytest.approx(1.8) and arm.joints[0].viscous == pytest.approx(0.9)


def test_names_for_what_has_none() -> None:
    tree = read(
        f'<body><joint/><joint axis="1 0 0"/>{INERTIAL}<body/><site name="body1"/><site/></body><body name="world_2"><joint/>{INERTIAL}</body>'
    )
    assert list(tree.links) == ["world", "body1/body1_joint", "body1", "body2", "world_2", "body1_site"]
    assert [joint.name for joint in tree.joints] == [
        "body1_joint",
        "body1_joint_2",
        "body2_weld",
        "world_2_joint",
        "body1_site_weld",
    ]


def test_gravity_and_name() -> None:
    assert read("").gravity == (0, 0, -9.81) and read("").name == "m"
    assert read("", '<option gravity="1 2 3"/>').gravity == (1, 2, 3)
    assert read("", '<option><flag gravity="disable"/></option>').gravity == (0, 0, 0)
    Path("arm.xml").write_text("<mujoco/>")
    assert mjcf.read("arm.xml").name == "arm"


FINGERS = f"""<body name="f"><joint name="a" type="slide" ref="0.1"/>{INERTIAL}</body>
<body name="g"><joint name="b" type="slide" ref="0.2"/>{INERTIAL}</body>"""


def test_coupled_joints() -> None:
    b = read(FINGERS, '<equality><joint joint1="b" joint2="a" polycoef="0.5 2 0 0 0"/></equality>').joints[1]
    assert (b.mimic.joint, b.mimic.factor, b.mimic.offset) == ("a", 2.0, pytest.approx(0.2 + 0.5 - 2 * 0.1))
    b = read(FINGERS, '<equality><joint joint1="b" joint2="a" active="false"/></equality>').joints[1]
    assert b.mimic is None
    b = read(FINGERS, '<equality><joint joint1="b" polycoef="0.5 0 0 0 0"/></equality>').joints[1]
    assert b.kind == "fixed" and b.placement[:3, 3].tolist() == pytest.approx([0, 0, 0.5])


HAND = "".join(
    f'<body name="{name}_b"><joint name="{name}" type="slide" axis="1 {i} 0" ref="0.{i}"/>{INERTIAL}</body>'
    for i, name in enumerate("abcd", 1)
)
HELD_AT_ONCE = {
    "two on one joint": ([("c", "a", 0.5, 2), ("c", "b", 0.1, -1)], 2),
    "both ways of one joint": ([("b", "a", 0, 2), ("c", "b", 0, 3), ("c", "d", 0.2, 1.5)], 1),
    "twice the same": ([("c", "a", 0.5, 2), ("c", "a", 0.5, 2), ("a", "c", -0.25, 0.5)], 3),
    "two that meet in one point": ([("c", "a", 0.5, 2), ("c", "a", 0.1, -1)], 2),
    "a ring that is held": ([("a", "b", 0, 2), ("b", "c", 0.1, 2), ("c", "a", 0, 2)], 1),
    "held from its follower": ([("c", "a", 0.5, 2), ("b", "c", 0.1, 1), ("b", None, 0.3, 0)], 1),
    "held first": ([("a", None, 0.3, 0), ("b", "a", 0, 2), ("c", "a", 0, 0)], 1),
}


@pytest.mark.parametrize("case", HELD_AT_ONCE)
def test_equations_on_one_joint_all_hold(case: str) -> None:
    """At any position of the robot, MuJoCo finds none of its equations violated."""
    equations, freedoms = HELD_AT_ONCE[case]
    rows = "".join(
        f'<joint joint1="{one}" {two} polycoef="{at} {factor} 0 0 0"/>'
        for one, two, at, factor in [(one, f'joint2="{two}"' if two else "", *rest) for one, two, *rest in equations]
    )
    path = write(HAND, f"<equality>{rows}</equality>")
    arm = aw.Robot.from_description(select(mjcf.read(path)).description)
    assert arm.n == freedoms
    model = mujoco.MjModel.from_xml_path(str(path))
    standing = {joint.name: joint.placement for joint in mjcf.read(path).joints if joint.kind == "fixed"}
    q = np.random.default_rng(0).normal(size=arm.n)
    data = mujoco.MjData(model)
    data.qpos[:] = state_there(arm, model, q, 0 * q, 0 * q)[0]
    for name in set(standing) & set("abcd"):
        joint = model.joint(name)
        data.qpos[joint.qposadr[0]] = standing[name][:3, 3] @ joint.axis + joint.qpos0[0]
    mujoco.mj_forward(model, data)
    assert data.ne == len(equations)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-12


def test_equations_that_repeat_each_other_but_for_rounding_are_refused() -> None:
    """There and back by 0.333 and 3.003 would hold both joints at zero, where MuJoCo lets them slide."""
    there, back = (
        '<joint joint1="b" joint2="a" polycoef="0 {} 0 0 0"/>',
        '<joint joint1="a" joint2="b" polycoef="0 {} 0 0 0"/>',
    )
    with pytest.raises(ModelError, match="contradicts those before it, or repeats them but for rounding"):
        read(FINGERS.replace("ref=", "margin="), f"<equality>{there.format(0.333)}{back.format(3.003)}</equality>")
    [a, b] = read(
        FINGERS.replace("ref=", "margin="), f"<equality>{there.format(0.25)}{back.format(4)}</equality>"
    ).joints
    assert a.mimic is None and (b.mimic.joint, b.mimic.factor, b.mimic.offset) == ("a", 0.25, 0.0)


def test_equations_that_contradict_each_other_are_refused() -> None:
    for first, second in (("0.5 2", "0.6 2"), ("0.5 2", "0.5 2.0001")):
        rows = "".join(f'<joint joint1="b" joint2="a" polycoef="{c} 0 0 0"/>' for c in (first, second))
        rows += '<joint joint1="a" polycoef="1 0 0 0 0"/><joint joint1="a" polycoef="1 0 0 0 0"/>'
        with pytest.raises(ModelError, match=r"robot.xml: the <equality> of joint .* contradicts those before it"):
            read(FINGERS, f"<equality>{rows}</equality>")


ACTING = {
    "the damping of joint a beyond the linear": ("", 'damping="3 1"', ""),
    "the spring of joint a beyond the linear": ("", 'type="ball" stiffness="3 1"', ""),
    "the armature and damping of the actuators of joint a": (
        '<actuator><motor joint="a" gear="2 0 0" armature="0.1"/></actuator>',
        'type="ball"',
        "",
    ),
    "the yielding spring of joint a": ("", 'stiffness="3" springyield="0.1"', ""),
    "the tendon of line 3": ('<tendon><fixed stiffness="1"><joint joint="a" coef="1"/></fixed></tendon>', "", ""),
    "the viscosity of the air": ('<option viscosity="1"/>', "", ""),
}


@pytest.mark.parametrize("what", ACTING)
def test_what_acts_and_is_not_taken_over_is_told(what: str) -> None:
    rest, joint, body = ACTING[what]
    with pytest.warns(ModelWarning, match=f"robot.xml: not taken over: {what}"):
        read(f'<body name="f" {body}><joint name="a" {joint}/>{INERTIAL}</body>', rest)


def test_what_does_not_act_is_not_told() -> None:
    read(
        f'<light/><camera/><geom size="1"/><body name="f"><joint name="a"/>{INERTIAL}<site name="s"/><geom material="m" size="1"/></body>',
        """<asset><texture name="t" type="2d" file="gone.png"/><material name="m" texture="t"/></asset><tendon><fixed name="t"><joint joint="a"
        coef="1"/></fixed></tendon><actuator><motor tendon="t"/></actuator><sensor><touch site="s"/></sensor><option viscosity="0.0"/>
        <keyframe><key qpos="1"/></keyframe><visual/><statistic/><size memory="1T"/><contact><exclude body1="f" body2="world"/></contact>""",
    )


@pytest.mark.parametrize("kind", ["free", "ball"])
def test_joints_with_more_than_one_freedom(kind: str) -> None:
    ball = f'<body name="ball"><joint name="x" type="{kind}"/>{INERTIAL}</body>'
    tree = read(f'{ball}<body name="arm"><joint name="a"/>{INERTIAL}</body>')
    assert [joint.name for joint in select(tree, tip="arm").description.joints] == ["a"]
    tree = read(
        f'<body name="ball"><joint name="x" type="{kind}"/>{INERTIAL}<body name="arm"><joint name="a"/>{INERTIAL}</body></body>'
    )
    names = ("x", "y", "z", "wx", "wy", "wz") if kind == "free" else ("wx", "wy", "wz")
    moving = [f"x.{name}" for name in names]
    assert [joint.name for joint in select(tree).description.joints] == [*moving, "a"]
    beside = read(f'{ball}<body name="b"><body name="c"/></body>')
    assert [joint.name for joint in select(beside).description.joints] == moving
    with pytest.raises(ModelError, match="no joint moves between 'world' and 'c'"):
        select(beside, tip="c")
    assert [joint.name for joint in select(tree, base="ball").description.joints] == ["a"]


def _stl() -> bytes:
    """A tetrahedron."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(np.zeros(3, "<f4").tobytes() + corners[list(face)].tobytes() + b"\0\0" for face in faces)
    return b" " * 80 + struct.pack("<I", len(faces)) + body


MESH = '<body><joint name="a"/><geom type="mesh" mesh="m"/></body>'


def test_meshes_that_give_a_body_its_mass_are_read(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/m.stl").write_bytes(_stl())
    path = write(
        MESH, '<compiler meshdir="assets"/><asset><mesh file="m.stl"/><mesh name="unused" file="gone.stl"/></asset>'
    )
    tree = mjcf.read(path)
    assert tree.links["body1"].mass == pytest.approx(1000 / 6)
    (tmp_path / "assets/gone.stl").write_bytes(_stl())
    same_as_mujoco(path)


def test_meshes_that_give_no_mass_are_never_looked_for() -> None:
    body = f'<body><joint name="a"/>{INERTIAL}<geom type="mesh" mesh="m"/></body>'
    assert read(body, '<asset><mesh name="m" file="gone/m.stl"/></asset>').links["body1"].mass == 2
    path = write(body, '<asset><mesh name="m" file="/gone/../m.stl"/></asset>')
    with pytest.raises(ModelError, match=r"line 3: mesh '/gone/../m.stl' is an absolute path"):
        mjcf.read(path)
    assert mjcf.read(path, visuals=False).links["body1"].mass == 2


# ---- mistakes and files that mean harm

HOSTILE = {
    "absolute mesh": (MESH, '<asset><mesh name="m" file="/etc/passwd"/></asset>', "line 3: cannot read '/etc/passwd' .*absolute path, and not in the model's folder"),
    "mesh outside": (MESH, '<asset><mesh name="m" file="../m.stl"/></asset>', "line 3: cannot read '../m.stl' .*leads out of the model's folder"),
    "mesh outside, the other slash": (MESH, '<asset><mesh name="m" file="..\\m.stl"/></asset>', "line 3: cannot read .*leads out of the model's folder"),
    "mesh on a drive": (MESH, '<asset><mesh name="m" file="C:m.stl"/></asset>', "line 3: cannot read 'C:m.stl'"),
    "folder outside": (MESH, '<compiler meshdir="a/../.."/><asset><mesh name="m" file="m.stl"/></asset>', "line 3: cannot read .*'a/../../m.stl' leads out"),
    "folder of assets outside": (MESH, '<compiler assetdir="/"/><asset><mesh name="m" file="m.stl"/></asset>', "line 3: cannot read .*'/m.stl' is an absolute path"),
    "missing mesh": (MESH, '<asset><mesh name="m" file="m.stl"/></asset>', "line 3: cannot read .*m.stl.*give the body an <inertial>"),
    "mesh that is none": (MESH, '<asset><mesh name="m" file="robot.xml"/></asset>', "MuJoCo refuses it"),
    "soft": ('<flexcomp name="x" type="mesh" file="x"/>', "", "line 2: <flexcomp> is refused"),
    "rope": ('<composite type="cable" count="1000000000 1 1"/>', "", "line 2: <composite> is refused"),
    "copies": ('<replicate count="1e9"><body/></replicate>', "", "line 2: <replicate> makes more than 1000 copies"),
    "copies of copies": ('<replicate count="100"><replicate count="100"><body/></replicate></replicate>', "", "line 2: <replicate> makes more"),
    "not a number": (f'<body><joint damping="nan"/>{INERTIAL}</body>', "", "line 2: damping = \"nan\" has a number that is not finite"),
    "infinite": (f'<body pos="0 0 1e999"><joint/>{INERTIAL}</body>', "", "line 2: pos = .* not finite"),
    "unknown attribute": ("<body><joint dampin='1'/></body>", "", "MuJoCo refuses it: .*unrecognized attribute.*line 2"),
    "no mass": ('<body><joint name="a"/></body>', "", "MuJoCo refuses it: .*mass and inertia of moving bodies.*"),
    "two of a name": ('<body name="a"/>\n<body name="a"/>', "", "MuJoCo refuses it: .*repeated name 'a'.*line 3"),
    "coupling to nothing": (INERTIAL.join(("<body>", "</body>")), '<equality><joint joint1="x"/></equality>', "MuJoCo refuses it"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_and_mistaken_files(name: str) -> None:
    body, rest, message = HOSTILE[name]
    with pytest.raises(ModelError, match=f"robot.xml(, |: )[^\n]*{message}"):
        read(body, rest)


def test_other_documents() -> None:
    for text, message in {
        "<robot/>": "line 1: <robot> is not an MJCF model",
        '<!DOCTYPE m [<!ENTITY x "y">]><mujoco/>': "a document type",
        "<mujoco>": "not well-formed",
        "<a>" * 300: "nested more than",
    }.items():
        Path("x.xml").write_text(text)
        with pytest.raises(ModelError, match=message):
            mjcf.read("x.xml")
    with pytest.raises(ModelError, match=r"cannot read gone\.xml"):
        mjcf.read("gone.xml")


def test_what_mujoco_sees_is_what_was_checked() -> None:
    """An include that only one of the two parsers would see."""
    text = f'<mujoco><worldbody><body name="a">{INERTIAL}</body></worldbody></mujoco>'
    Path("x.xml").write_bytes(('<?xml version="1.0" encoding="utf-16"?>' + text).encode("utf-16"))
    assert list(mjcf.read("x.xml").links) == ["world", "a"]


def test_mujocos_own_handler_of_warnings_is_put_back() -> None:
    def mine(message: str) -> None: ...

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(mine)
    try:
        read("")
        assert mujoco.get_mju_user_warning() is mine
    finally:
        mujoco.set_mju_user_warning(before)


def test_without_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("")
    found = importlib.import_module
    monkeypatch.setattr(
        importlib, "import_module", lambda name: found("mujoco_is_missing" if name == "mujoco" else name)
    )
    with pytest.raises(ModelError, match="MJCF, which MuJoCo reads: pip install mujoco"):
        mjcf.read(path)


def test_load_reads_it() -> None:
    path = write(SERIAL["chain"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        arm = aw.load(path)
    assert [joint.name for joint in arm.joints] == ["a", "b", "c"] and arm.joint_types == "RPR"


PEDESTAL = """<mujoco><worldbody><body name="pedestal" pos="0.3 0 0.5"><geom type="box" size="0.1 0.1 0.5" mass="40"/>
<body name="arm" pos="0 0 0.5"><joint name="j" axis="0 1 0"/><geom type="box" size="0.3 0.05 0.05" pos="0.3 0 0" mass="2"/>
<body name="tool" pos="0.6 0 0"><geom type="box" size="0.1 0.1 0.1" mass="1"/></body></body></body></worldbody></mujoco>"""


def test_what_stands_still_has_no_part_in_centre_of_mass_and_potential_energy(tmp_path: Path) -> None:
    """MuJoCo counts the bodies that are welded to its world: the difference is theirs, and constant."""
    (tmp_path / "robot.xml").write_text(PEDESTAL)
    arm = aw.load(tmp_path / "robot.xml")
    model = mujoco.MjModel.from_xml_string(PEDESTAL)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    pedestal, at = 40.0, np.array([0.3, 0.0, 0.5])
    for angle in (0.0, 0.4, -1.3):
        data.qpos[:] = angle
        mujoco.mj_forward(model, data)
        moving = 3.0 * arm.center_of_mass([angle])
        close((moving + pedestal * at) / (3.0 + pedestal), data.subtree_com[0], 1e-14)
        close(arm.center_of_mass([angle]), data.subtree_com[model.body("arm").id], 1e-14)
        close(arm.potential_energy([angle]) + pedestal * 9.81 * at[2], data.energy[0], 1e-14)
