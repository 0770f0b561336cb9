"""The same robot in Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from armwright.model.description import compose
from armwright.model.urdf import at_zero
from armwright.robot import Robot

Array = NDArray[Any]


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
