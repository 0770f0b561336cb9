"""A state of a robot as MuJoCo has it, joint by joint and by their names."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import armwright as aw
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.mimic import Mimic

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")


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
        return arm.entries[i]

    for i, row in enumerate(rows):
        if i in balls:
            _ball_there(arm, model, balls[i], q, qd, (qpos, B, convective))
        elif row.kind not in FREEDOMS_OF_KIND:
            joint, mimic = model.joint(row.name), row.mimic or Mimic(row.name)
            qpos[joint.qposadr[0]] = mimic.offset
            for name, factor in mimic.leaders:
                leader = coordinate[name]
                curve = Polynomial([0.0, factor, *(mimic.curve if name == mimic.joint else ())])
                x, v = q[place(leader)], qd[leader]
                qpos[joint.qposadr[0]] += curve(x)
                B[joint.dofadr[0], leader] = curve.deriv()(x)
                convective[joint.dofadr[0]] += curve.deriv(2)(x) * v * v
    return qpos, B @ qd, B @ qdd + convective, B


def _ball_there(arm: aw.Robot, model, ball, q, qd, there) -> None:
    """Quaternions have w first; linear velocities are in the axes of the parent, not in those of the body."""
    qpos, B, convective = there
    own = q[ball.first_entry : ball.first_entry + ball.freedoms + 1]
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


def mass_matrix(model, data) -> np.ndarray:
    M = np.empty((model.nv, model.nv))
    for column, unit in zip(M, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    return M
