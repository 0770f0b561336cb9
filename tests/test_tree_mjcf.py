"""Trees in MJCF: what is written computes in MuJoCo as it does here, and what MuJoCo has is read as it is there."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close
from test_tree_files import decorated

import armwright as aw
from armwright.mechanism import FREEDOMS
from armwright.robot import random_tree

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """MuJoCo likes to leave a log where it works; nothing here may."""
    monkeypatch.chdir(tmp_path)
    yield
    assert "MUJOCO_LOG.TXT" not in os.listdir(tmp_path)


def turned(quaternion: np.ndarray) -> np.ndarray:
    """The rotation of x y z w, or of cosine and sine about z."""
    if len(quaternion) == 2:
        c, s = quaternion
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, quaternion[[3, 0, 1, 2]])
    return R.reshape(3, 3)


def state_there(arm: aw.Robot, model, q, qd, qdd) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """qpos, qvel and qacc of MuJoCo, and B with qvel = B qd: then tau = B^T qfrc and M = B^T M B."""
    qpos, B, convective = np.array(model.qpos0), np.zeros((model.nv, arm.n)), np.zeros(model.nv)
    balls = {ball.joint: ball for ball in arm.balls}
    rows, coordinate = arm.rows, {joint.name: i for i, joint in enumerate(arm.joints)}

    def place(i: int) -> int:
        return i + sum(ball.coordinate < i for ball in arm.balls)

    for i, row in enumerate(rows):
        if i in balls:
            _ball_there(arm, model, balls[i], q, qd, (qpos, B, convective))
        elif row.kind not in FREEDOMS:
            joint, mimic = model.joint(row.name), row.mimic
            leader = coordinate[mimic.joint if mimic else row.name]
            factor, offset = (mimic.factor, mimic.offset) if mimic else (1.0, 0.0)
            qpos[joint.qposadr[0]] = factor * q[place(leader)] + offset
            B[joint.dofadr[0], leader] = factor
    return qpos, B @ qd, B @ qdd + convective, B


def _ball_there(arm: aw.Robot, model, ball, q, qd, there) -> None:
    """Quaternions have w first; linear velocities are in the axes of the parent, not in those of the body."""
    qpos, B, convective = there
    own = q[ball.place : ball.place + ball.freedoms + 1]
    names = [row.name for row in arm.rows[ball.joint : ball.joint + ball.freedoms]]
    whole = names[0].rpartition(".")[0]
    known = {model.joint(j).name for j in range(model.njnt)}
    turn = own[-2:] if ball.kind == "planar" else own[-4:]
    R, (vx, vy, *others) = turned(turn), qd[ball.coordinate :][: ball.freedoms]
    if ball.kind != "planar":
        at = model.joint(whole)
        start = at.qposadr[0] + (3 if at.type[0] == mujoco.mjtJoint.mjJNT_FREE else 0)
        qpos[start : start + 4] = turn[[3, 0, 1, 2]]
        spins = range(at.dofadr[0] + (start > at.qposadr[0]) * 3, at.dofadr[0] + (start > at.qposadr[0]) * 3 + 3)
        B[list(spins), range(ball.coordinate + ball.freedoms - 3, ball.coordinate + ball.freedoms)] = 1.0
        if ball.kind == "ball":
            return
        v, w = np.array([vx, vy, others[0]]), np.array(others[1:])
    else:
        at = model.joint(names[2])
        qpos[at.qposadr[0]] = np.arctan2(turn[1], turn[0])
        B[at.dofadr[0], ball.coordinate + 2] = 1.0
        v, w = np.array([vx, vy, 0.0]), np.array([0.0, 0.0, others[0]])
    slides = range(2 if ball.kind == "planar" else 3)
    for k in slides:
        joint = model.joint(names[k]) if names[k] in known else model.joint(whole)
        shift = 0 if names[k] in known else k
        qpos[joint.qposadr[0] + shift] = own[k]
        B[joint.dofadr[0] + shift, ball.coordinate + np.array(slides)] = R[k, slides]
        convective[joint.dofadr[0] + shift] = (R @ np.cross(w, v))[k]


def torques(model, qpos, qvel, qacc) -> np.ndarray:
    """MuJoCo's, of the tree alone: no contacts, limits, equations or dry friction."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = qpos, qvel, qacc
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse.copy()


def random_state(arm: aw.Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return arm.unit(rng.normal(size=arm.nq)), *rng.normal(size=(2, arm.n))


@pytest.mark.parametrize("seed", range(16))
def test_a_written_tree_computes_the_same_in_mujoco(seed: int) -> None:
    arm = decorated(random_tree(1 + seed % 7, seed, floating=seed % 3 == 0), seed)
    arm = arm.each_joint(lambda joint: replace(joint, coulomb=0.0))
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    q, qd, qdd = random_state(arm, seed)
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    tau = arm.inverse_dynamics(q, qd, qdd, formulation="newton_euler")
    close(B.T @ torques(model, qpos, qvel, qacc), tau, 1e-11)
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    M = np.empty((model.nv, model.nv))
    for column, unit in zip(M, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    close(B.T @ M @ B, arm.mass_matrix(q), 1e-11)
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
