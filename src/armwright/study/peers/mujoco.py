"""The same robot in MuJoCo."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from armwright.algebra import Array
from armwright.model.description import compose, six
from armwright.model.urdf import at_zero
from armwright.robot import Robot


class MuJoCo:
    """Built through the specification API, so that no number passes through text."""

    def __init__(self, arm: Robot) -> None:
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.option.gravity = np.array(arm.gravity)
        spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        base = np.asarray(arm.base)
        body = self._body(spec.worldbody, "base", base)
        for joint, link in zip(arm.joints, arm.links, strict=True):
            body = self._body(body, link.name, at_zero(joint))
            kind = mujoco.mjtJoint.mjJNT_SLIDE if joint.prismatic else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=joint.name, type=kind, axis=[0, 0, 1], armature=joint.armature, damping=joint.viscous)
            self._inertia(body, link.mass, link.com, link.inertia)
        self.tip = self._body(body, "tool", np.asarray(compose(arm.flange, arm.tool))).name
        if arm.payload is not None:
            p = arm.payload
            self._inertia(spec.body("tool"), p.mass, p.com, p.inertia)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    @staticmethod
    def _body(parent: Any, name: str, T: Array) -> Any:
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(T[:3, :3]).ravel())
        return parent.add_body(name=name, pos=T[:3, 3], quat=quaternion)

    @staticmethod
    def _inertia(body: Any, mass: float, com: Any, inertia: Any) -> None:
        body.explicitinertial = True
        body.mass, body.ipos = mass, np.array(com)
        body.fullinertia = np.array(six(inertia))

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, tip_wrench: Array) -> Array:
        m, d = self.model, self.data
        d.qpos[:], d.qvel[:], d.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(m, d)
        tip = m.body(self.tip).id
        R = d.xmat[tip].reshape(3, 3)
        force, moment = R @ tip_wrench[:3], R @ tip_wrench[3:]
        outside = np.zeros(m.nv)
        mujoco.mj_applyFT(m, d, force, moment, d.xpos[tip], tip, outside)
        return d.qfrc_inverse - outside

    def mass_matrix(self, q: Array) -> Array:
        self.data.qpos[:] = q
        mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return M
