"""Dynamics of a robot by MuJoCo, from `to_mjcf`, without contacts, limits, dry friction and constraints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from armwright.algebra import Array
from armwright.formulations.parts import coordinates
from armwright.formulations.parts.coordinates import POSES, mechanism_at, positions, rates
from armwright.mechanism import Ball
from armwright.model import mjcf
from armwright.robot import Robot


class MuJoCo:
    """MuJoCo's functions of armwright's states; `moved` converts a state to the joint order of MuJoCo."""

    def __init__(self, arm: Robot) -> None:
        self.arm = replace(arm, frames=())  # so that the tool is the only site
        self.model = mujoco.MjModel.from_xml_string(mjcf.mjcf_text(self.arm))
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.data = mujoco.MjData(self.model)
        self.joints: dict[str, Any] = {self.model.joint(j).name: self.model.joint(j) for j in range(self.model.njnt)}

    def moved(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array, Array]:
        """Return qpos, qvel, qacc, and B with qvel = B qd: torques are B^T times those of MuJoCo."""
        arm, mechanism = self.arm, self.arm.mechanism()
        qpos, B, convective = np.array(self.model.qpos0), np.zeros((self.model.nv, arm.n)), np.zeros(self.model.nv)
        posed = mechanism_at(mechanism, q.tolist())
        at, by_qd = positions(posed, q.tolist()), np.array([rates(posed, e.tolist()) for e in np.eye(arm.n)])
        shift = coordinates.convective(posed, rates(posed, qd.tolist()))
        for i in mechanism.single_freedom_joints:
            joint = self.joints[arm.rows[i].name]
            qpos[joint.qposadr[0]], B[joint.dofadr[0]], convective[joint.dofadr[0]] = at[i], by_qd[:, i], shift[i]
        for ball in arm.balls:
            self._move(ball, q, qd, (qpos, B, convective))
        return qpos, B @ qd, B @ qdd + convective, B

    def _move(self, ball: Ball, q: Array, qd: Array, there: tuple[Array, Array, Array]) -> None:
        """Fill the entries of a ball, free or planar joint; linear velocities are in the axes of the parent."""
        qpos, B, convective = there
        names = [row.name for row in self.arm.rows[ball.rows.start : ball.rows.stop]]
        turns, slides = {"ball": (3, 0), "free": (3, 3), "planar": (1, 2)}[ball.kind]
        entries, own = q[ball.entries], np.array(ball.rates)
        position, rotation = (np.array(part, dtype=float) for part in POSES[ball.kind](entries.tolist()))
        joint = self.joints[names[-1] if turns == 1 else names[0].rpartition(".")[0]]
        shift = 3 if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE else 0
        places, dofs = joint.qposadr[0] + shift, joint.dofadr[0] + shift
        turn = [math.atan2(entries[-1], entries[-2])] if turns == 1 else entries[[-1, -4, -3, -2]]
        qpos[places : places + len(turn)] = turn
        B[dofs + np.arange(turns), own[slides:]] = 1.0
        v, w = np.zeros(3), np.zeros(3)
        v[:slides], w[3 - turns :] = qd[own[:slides]], qd[own[slides:]]
        for k in range(slides):
            place, dof = (joint.qposadr[0] + k, joint.dofadr[0] + k) if shift else self._slide(names[k])
            qpos[place], B[dof, own[:slides]] = position[k], rotation[k, :slides]
            convective[dof] = rotation[k] @ np.cross(w, v)

    def _slide(self, name: str) -> tuple[int, int]:
        return self.joints[name].qposadr[0], self.joints[name].dofadr[0]

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, tip_wrench: Array) -> Array:
        m, d = self.model, self.data
        d.qpos[:], d.qvel[:], d.qacc[:], B = self.moved(q, qd, qdd)
        mujoco.mj_inverse(m, d)
        outside = np.zeros(m.nv)
        if np.any(tip_wrench):
            R = d.site_xmat[0].reshape(3, 3)
            force, moment = R @ tip_wrench[:3], R @ tip_wrench[3:]
            mujoco.mj_applyFT(m, d, force, moment, d.site_xpos[0], int(m.site_bodyid[0]), outside)
        torques: Array = B.T @ (d.qfrc_inverse - outside)
        return torques

    def mass_matrix(self, q: Array) -> Array:
        self.data.qpos[:], *_, B = self.moved(q, np.zeros(self.arm.n), np.zeros(self.arm.n))
        mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        reduced: Array = B.T @ M @ B
        return reduced
