"""Dynamics of a robot by the Robotics Toolbox for Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import roboticstoolbox as rtb
from numpy.typing import NDArray

from armwright.mechanism import Link
from armwright.model.transforms import tensor
from armwright.robot import Robot


class RoboticsToolbox:
    """A robot as a modified DH table. Gravity is in the base frame; the last link includes the payload."""

    def __init__(self, arm: Robot) -> None:
        links = []
        for joint, link in zip(arm.joints, arm.mechanism().links, strict=True):
            assert isinstance(link, Link)  # has numbers, not parameters
            body: dict[str, Any] = {"m": link.mass, "r": np.array(link.com), "I": tensor(link.inertia), "G": 1.0}
            if joint.prismatic:
                links.append(rtb.PrismaticMDH(a=joint.a, alpha=joint.alpha, theta=joint.theta, offset=joint.d, **body))
            else:
                links.append(rtb.RevoluteMDH(a=joint.a, alpha=joint.alpha, d=joint.d, offset=joint.theta, **body))
        down = np.asarray(arm.base)[:3, :3].T @ np.array(arm.gravity)
        self.model = rtb.DHRobot(links, name=arm.name, gravity=down)

    def inverse_dynamics(self, q: NDArray[Any], qd: NDArray[Any], qdd: NDArray[Any]) -> NDArray[Any]:
        torques: NDArray[Any] = self.model.rne(q, qd, qdd)
        return torques

    def forward_dynamics(self, q: NDArray[Any], qd: NDArray[Any], tau: NDArray[Any]) -> NDArray[Any]:
        accelerations: NDArray[Any] = self.model.accel(q, qd, tau)
        return accelerations

    def mass_matrix(self, q: NDArray[Any]) -> NDArray[Any]:
        matrix: NDArray[Any] = self.model.inertia(q)
        return matrix
