"""The same robot in Pinocchio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from armwright.algebra import Array
from armwright.model.description import compose
from armwright.model.urdf import at_zero
from armwright.robot import Robot


class Pinocchio:
    """The payload is a body of its own on the last joint, so that lumping it is tested too."""

    def __init__(self, arm: Robot) -> None:
        self.arm, model = arm, pin.Model()
        base = np.asarray(arm.base)
        parent, frame = 0, pin.SE3(base[:3, :3], base[:3, 3])
        for joint, link in zip(arm.joints, arm.links, strict=True):
            kind = pin.JointModelPZ() if joint.prismatic else pin.JointModelRZ()
            parent = model.addJoint(parent, kind, frame * pin.SE3(at_zero(joint)), joint.name)
            body = pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia))
            model.appendBodyToJoint(parent, body, pin.SE3.Identity())
            frame = pin.SE3.Identity()
        tool = np.asarray(compose(arm.flange, arm.tool))
        self.tool = pin.SE3(tool[:3, :3], tool[:3, 3])
        if arm.payload is not None:
            p = arm.payload
            model.appendBodyToJoint(parent, pin.Inertia(p.mass, np.array(p.com), np.array(p.inertia)), self.tool)
        model.gravity = pin.Motion(np.array(arm.gravity), np.zeros(3))
        model.armature = np.array([j.armature for j in arm.joints])
        self.model, self.data = model, model.createData()

    def forces(self, tip_wrench: Array) -> Any:
        forces = pin.StdVec_Force()
        for _ in range(self.arm.n):
            forces.append(pin.Force.Zero())
        forces.append(self.tool.act(pin.Force(tip_wrench[:3], tip_wrench[3:])))
        return forces

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, tip_wrench: Array) -> Array:
        return pin.rnea(self.model, self.data, q, qd, qdd, self.forces(tip_wrench))

    def forward_dynamics(self, q: Array, qd: Array, tau: Array, tip_wrench: Array) -> Array:
        return pin.aba(self.model, self.data, q, qd, tau, self.forces(tip_wrench))

    def mass_matrix(self, q: Array) -> Array:
        M = np.triu(pin.crba(self.model, self.data, q))
        return M + np.triu(M, 1).T

    def gravity_torque(self, q: Array) -> Array:
        return pin.computeGeneralizedGravity(self.model, self.data, q)

    def coriolis_torque(self, q: Array, qd: Array) -> Array:
        return pin.computeCoriolisMatrix(self.model, self.data, q, qd) @ qd

    def energies(self, q: Array, qd: Array) -> tuple[float, float]:
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, qd)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, q)


class Reading:
    """Pinocchio's own reading of a URDF file, every joint but those of a chain locked at zero."""

    def __init__(self, file: str | Path, arm: Robot) -> None:
        whole = pin.buildModelFromUrdf(str(file))
        names = [joint.name for joint in arm.joints]
        others = [whole.getJointId(name) for name in list(whole.names)[1:] if name not in names]
        self.model = pin.buildReducedModel(whole, others, pin.neutral(whole))
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in names]
        self.order = [joint.idx_v for joint in self.joints]

    def _configuration(self, q: Array) -> Array:
        c = np.empty(self.model.nq)
        for x, joint in zip(q, self.joints, strict=True):  # a continuous joint is its cosine and sine
            c[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        return c

    def _rates(self, x: Array) -> Array:
        rates = np.empty(self.model.nv)
        rates[self.order] = x
        return rates

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        speeds = (self._rates(x) for x in (qd, qdd))
        return pin.rnea(self.model, self.data, self._configuration(q), *speeds)[self.order]

    def gravity_torque(self, q: Array) -> Array:
        return pin.computeGeneralizedGravity(self.model, self.data, self._configuration(q))[self.order]

    def mass_matrix(self, q: Array) -> Array:
        M = np.triu(pin.crba(self.model, self.data, self._configuration(q)))
        return (M + np.triu(M, 1).T)[np.ix_(self.order, self.order)]

    def pose(self, q: Array, link: str) -> Array:
        """Of the frame of a link, seen from the world."""
        pin.framesForwardKinematics(self.model, self.data, self._configuration(q))
        return self.data.oMf[self.model.getFrameId(link, pin.FrameType.BODY)].homogeneous
