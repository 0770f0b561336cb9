"""Trees in MJCF: what is written computes in MuJoCo as it does here, and what MuJoCo has is read as it is there."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close
from mujoco_oracle import mass_matrix, mujoco, state_there, torques, turned
from test_tree_files import decorated

import armwright as aw
from armwright.model import mjcf
from armwright.model.tree_selection import select
from armwright.robot import random_tree


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """MuJoCo likes to leave a log where it works; nothing here may."""
    monkeypatch.chdir(tmp_path)
    yield
    assert "MUJOCO_LOG.TXT" not in os.listdir(tmp_path)


def random_state(arm: aw.Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return arm.unit(rng.normal(size=arm.nq)), *rng.normal(size=(2, arm.n))


@pytest.mark.parametrize("seed", range(16))
def test_a_written_tree_computes_the_same_in_mujoco(seed: int) -> None:
    arm = decorated(random_tree(1 + seed % 7, seed, floating=seed % 3 == 0), seed)
    arm = arm.map_joints(lambda joint: replace(joint, coulomb=0.0))
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    q, qd, qdd = random_state(arm, seed)
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    tau = arm.inverse_dynamics(q, qd, qdd, formulation="newton_euler")
    close(B.T @ torques(model, qpos, qvel, qacc), tau, 1e-11)
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    close(B.T @ mass_matrix(model, data) @ B, arm.mass_matrix(q), 1e-11)
    close(data.site("tool").xpos, arm.forward_kinematics(q)[:3, 3], 1e-11)
    poses = [np.array(arm.base), *arm.link_poses(q)]
    for frame in arm.frames:
        T = poses[frame.link + 1] @ np.array(frame.pose)
        close(data.site(frame.name).xpos, T[:3, 3], 1e-11)
        close(data.site(frame.name).xmat.reshape(3, 3), T[:3, :3], 1e-11)


def documented() -> dict:
    """The two functions of docs/notation.md."""
    text = (Path(__file__).parent.parent / "docs/notation.md").read_text()
    [block] = [code for code in re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M) if "to_mujoco" in code]
    names: dict = {}
    exec(compile(block, "notation.md", "exec"), names)
    return names


def depth_first(parents: tuple[int, ...]) -> bool:
    """Whether every link comes right after its parent, or after a branch that is complete."""
    open_links = [-1]
    for i, parent in enumerate(parents):
        if parent not in open_links:
            return False
        open_links = [*open_links[: open_links.index(parent) + 1], i]
    return True


@pytest.mark.parametrize("seed", [s for s in range(30) if depth_first(random_tree(7, s, floating=True).parents)][:5])
def test_a_line_each_way_to_mujoco(seed: int) -> None:
    """The conversion that the docs give: of a robot on a free joint, with branches."""
    arm = random_tree(7, seed, kinds=("revolute", "prismatic", "cylindrical", "universal"), floating=True)
    first = replace(arm.joints[0], alpha=0.0, a=0.0, d=0.0, theta=0.0, gamma=0.0, y=0.0, z=0.0)
    arm = replace(arm, joints=(first, *arm.joints[1:]))
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    assert model.joint(0).type[0] == mujoco.mjtJoint.mjJNT_FREE
    q, qd, qdd = random_state(arm, seed)
    tau, R = arm.inverse_dynamics(q, qd, qdd), turned(q[3:7])
    qpos, qvel, qacc, qfrc = documented()["to_mujoco"](q, qd, qdd, tau, R)
    close(torques(model, qpos, qvel, qacc), qfrc, 1e-11)
    for back, expected in zip(
        documented()["from_mujoco"](*map(np.array, (qpos, qvel, qacc, qfrc)), R), (q, qd, qdd, tau), strict=True
    ):
        close(back, expected, 1e-13)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = qpos, qvel, qfrc
    mujoco.mj_forward(model, data)
    there = documented()["from_mujoco"](data.qpos, data.qvel, data.qacc, data.qfrc_applied, R)[2]
    close(there, arm.forward_dynamics(q, qd, tau), 1e-9)


INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.03 0.02 0.04"/>'


def body(rng: np.random.Generator, name: str, joints: str, inside: str = "") -> str:
    at, turn = (" ".join(map(str, rng.normal(size=k))) for k in (3, 4))
    site = f'<site name="{name}_site" pos="0.1 {rng.normal()} 0.2" euler="1 2 3"/>'
    return f'<body name="{name}" pos="{at}" quat="{turn}">{joints}{INERTIAL}{site}{inside}</body>'


TREES = {
    "a free body": ["<freejoint name='f'/>"],
    "free by its type": ["<joint name='f' type='free'/>"],
    "a ball": ["<joint name='b' type='ball'/>"],
    "a ball off its body": ["<joint name='b' type='ball' pos='0.3 -0.2 0.1'/>"],
    "slides and a ball": ["<joint name='s' type='slide' axis='1 1 0' ref='0.3'/><joint name='b' type='ball' pos='0.3 -0.2 0.1'/>"],
    "on a free body": ["<freejoint name='f'/>", "<joint name='h' pos='0.1 0 0.2' axis='1 2 3' ref='0.4' armature='0.1' damping='0.3'/>",
                              "<joint name='b' type='ball' pos='0.1 0.2 0.3'/>", "<joint name='s' type='slide' axis='0 1 1'/>"],
}  # fmt: skip


@pytest.mark.parametrize("branches", [False, True])
@pytest.mark.parametrize("name", TREES)
def test_trees_of_mujoco_compute_as_they_do_there(name: str, branches: bool) -> None:
    """Torques, mass matrix, accelerations, and every frame of a body and of a site."""
    rng = np.random.default_rng(len(name))
    joints = TREES[name]
    inside = ""
    for i, own in reversed(list(enumerate(joints))):
        beside = body(rng, "beside", "<joint name='beside' type='ball' pos='0 0.1 0'/>") if branches and i == 0 else ""
        inside = body(rng, f"body{i}", own, beside + inside)
    text = f'<mujoco model="m"><compiler angle="radian"/><worldbody>{inside}</worldbody><option gravity="1 -2 -9"/></mujoco>'
    Path("robot.xml").write_text(text)
    model = mujoco.MjModel.from_xml_string(text)
    arm = aw.Robot.from_description(select(mjcf.read("robot.xml")).description)
    q, qd, qdd = random_state(arm, 1)
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    close(B.T @ torques(model, qpos, qvel, qacc), tau := arm.inverse_dynamics(q, qd, qdd), 1e-12)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = qpos, qvel, np.linalg.solve(B.T, tau)
    mujoco.mj_forward(model, data)
    close(data.qacc, qacc, 1e-9)
    close(arm.mass_matrix(q), B.T @ mass_matrix(model, data) @ B, 1e-12)
    poses = [np.array(arm.base), *arm.link_poses(q)]
    seen = {frame.name: poses[frame.link + 1] @ np.array(frame.pose) for frame in arm.frames}
    there = {model.body(i).name: data.body(i) for i in range(1, model.nbody)}
    there |= {model.site(i).name: data.site(i) for i in range(model.nsite)}
    assert {*there} <= {*seen}
    for what, frame in there.items():
        close(seen[what][:3, 3], frame.xpos, 1e-12)
        close(seen[what][:3, :3], frame.xmat.reshape(3, 3), 1e-12)
