"""The same robot in Pinocchio and in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin

import armwright as aw


def rot_x(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rot_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def placement(joint) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and position of frame i in frame i-1 at q = 0."""
    R = rot_x(joint.alpha)
    return R @ rot_z(joint.theta), np.array([joint.a, 0, 0]) + R @ [0, 0, joint.d]


class Pinocchio:
    """The payload is a body of its own on the last joint, so that lumping it is tested too."""

    def __init__(self, arm: aw.Robot) -> None:
        self.arm, model = arm, pin.Model()
        base = np.asarray(arm.base)
        parent, frame = 0, pin.SE3(base[:3, :3], base[:3, 3])
        for joint, link in zip(arm.joints, arm.links, strict=True):
            kind = pin.JointModelPZ() if joint.prismatic else pin.JointModelRZ()
            parent = model.addJoint(parent, kind, frame * pin.SE3(*placement(joint)), joint.name)
            body = pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia))
            model.appendBodyToJoint(parent, body, pin.SE3.Identity())
            frame = pin.SE3.Identity()
        tool = np.asarray(arm.tool)
        self.tool = pin.SE3(tool[:3, :3], tool[:3, 3])
        if arm.payload is not None:
            p = arm.payload
            model.appendBodyToJoint(parent, pin.Inertia(p.mass, np.array(p.com), np.array(p.inertia)), self.tool)
        model.gravity = pin.Motion(np.array(arm.gravity), np.zeros(3))
        model.armature = np.array([j.armature for j in arm.joints])
        self.model, self.data = model, model.createData()

    def forces(self, tip_wrench: np.ndarray) -> pin.StdVec_Force:
        forces = pin.StdVec_Force()
        for _ in range(self.arm.n):
            forces.append(pin.Force.Zero())
        forces.append(self.tool.act(pin.Force(tip_wrench[:3], tip_wrench[3:])))
        return forces

    def inverse_dynamics(self, q, qd, qdd, tip_wrench):
        return pin.rnea(self.model, self.data, q, qd, qdd, self.forces(tip_wrench))

    def forward_dynamics(self, q, qd, tau, tip_wrench):
        return pin.aba(self.model, self.data, q, qd, tau, self.forces(tip_wrench))

    def mass_matrix(self, q):
        M = np.triu(pin.crba(self.model, self.data, q))
        return M + np.triu(M, 1).T

    def gravity_torque(self, q):
        return pin.computeGeneralizedGravity(self.model, self.data, q)

    def coriolis_torque(self, q, qd):
        return pin.computeCoriolisMatrix(self.model, self.data, q, qd) @ qd

    def energies(self, q, qd):
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, qd)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, q)


class MuJoCo:
    """Built through the specification API, so that no number passes through text."""

    def __init__(self, arm: aw.Robot) -> None:
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.option.gravity = np.array(arm.gravity)
        spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        base = np.asarray(arm.base)
        body = self._body(spec.worldbody, "base", base[:3, :3], base[:3, 3])
        for joint, link in zip(arm.joints, arm.links, strict=True):
            body = self._body(body, link.name, *placement(joint))
            kind = mujoco.mjtJoint.mjJNT_SLIDE if joint.prismatic else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=joint.name, type=kind, axis=[0, 0, 1], armature=joint.armature, damping=joint.viscous)
            self._inertia(body, link.mass, link.com, link.inertia)
        tool = np.asarray(arm.tool)
        self.tip = self._body(body, "tool", tool[:3, :3], tool[:3, 3]).name
        if arm.payload is not None:
            p = arm.payload
            self._inertia(spec.body("tool"), p.mass, p.com, p.inertia)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    @staticmethod
    def _body(parent, name, R, p):
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
        return parent.add_body(name=name, pos=p, quat=quaternion)

    @staticmethod
    def _inertia(body, mass, com, inertia):
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
        body.explicitinertial = True
        body.mass, body.ipos = mass, np.array(com)
        body.fullinertia = np.array([xx, yy, zz, xy, xz, yz])

    def inverse_dynamics(self, q, qd, qdd, tip_wrench):
        m, d = self.model, self.data
        d.qpos[:], d.qvel[:], d.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(m, d)
        tip = m.body(self.tip).id
        R = d.xmat[tip].reshape(3, 3)
        force, moment = R @ tip_wrench[:3], R @ tip_wrench[3:]
        outside = np.zeros(m.nv)
        mujoco.mj_applyFT(m, d, force, moment, d.xpos[tip], tip, outside)
        return d.qfrc_inverse - outside

    def mass_matrix(self, q):
        self.data.qpos[:] = q
        mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return M
