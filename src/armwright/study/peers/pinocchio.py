"""Dynamics of a robot by Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.model.frame_change import zero_placement
from armwright.model.records import JointModel
from armwright.robot import Robot


class Pinocchio:
    """Pinocchio's functions of armwright's states; the payload is a separate body, to test how armwright merges it.

    The algorithms need links branch by branch: `configuration`, `rates` and `back` convert between the orders of
    coordinates.
    """

    def __init__(self, arm: Robot) -> None:
        self.arm, model = arm, pin.Model()
        places, speeds = list[int](), list[int]()
        self.joints, frames = {-1: 0}, {-1: pin.SE3(np.asarray(arm.base))}
        for i in _branch_by_branch(arm.parents):
            rows = _rows(arm, i)
            parent, frame = self.joints[arm.parents[i]], frames[arm.parents[i]] * pin.SE3(zero_placement(rows[0].model))
            for kind, own in _kinds(rows):
                parent = model.addJoint(parent, kind, frame, own[0].model.name)
                frame = pin.SE3.Identity()
                places += [place for row in own for place in row.places]
                speeds += [row.speed for row in own if row.speed is not None]
            self.joints[i], frames[i], link = parent, pin.SE3(_turned(rows)), arm.links[i]
            body = pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia))
            model.appendBodyToJoint(parent, body, frames[i])
        self.tip, self.tool = -1, pin.SE3.Identity()
        if arm.tip is not None:
            self.tip, self.tool = arm.tip, frames[arm.tip] * pin.SE3(np.asarray(arm.tool_frame.pose))
        if (p := arm.payload) is not None:
            body = pin.Inertia(p.mass, np.array(p.com), np.array(p.inertia))
            model.appendBodyToJoint(self.joints[self.tip], body, self.tool)
        model.gravity = pin.Motion(np.array(arm.gravity), np.zeros(3))
        self._places, self._speeds, self._order = places, speeds, np.argsort(speeds)
        model.armature = self.rates(np.array([j.armature for j in arm.joints]))
        self.model, self.data = model, model.createData()

    def configuration(self, q: Array) -> Array:
        """Return positions (..., nq) in the order of the model."""
        return q[..., self._places]

    def rates(self, x: Array) -> Array:
        """Return velocities, accelerations or torques (..., n) in the order of the model."""
        return x[..., self._speeds]

    def back(self, x: Array) -> Array:
        """Return velocities, accelerations or torques in the order of the robot."""
        return x[..., self._order]

    def forces(self, tip_wrench: Array) -> Any:
        forces = pin.StdVec_Force()
        for joint in range(self.model.njoints):
            at_tip = joint == self.joints[self.tip]
            load = self.tool.act(pin.Force(tip_wrench[:3], tip_wrench[3:])) if at_tip else pin.Force.Zero()
            forces.append(load)
        return forces

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, tip_wrench: Array) -> Array:
        state = self.configuration(q), self.rates(qd), self.rates(qdd)
        return self.back(pin.rnea(self.model, self.data, *state, self.forces(tip_wrench)))

    def forward_dynamics(self, q: Array, qd: Array, tau: Array, tip_wrench: Array) -> Array:
        state = self.configuration(q), self.rates(qd), self.rates(tau)
        return self.back(pin.aba(self.model, self.data, *state, self.forces(tip_wrench)))

    def mass_matrix(self, q: Array) -> Array:
        M = np.triu(pin.crba(self.model, self.data, self.configuration(q)))
        return (M + np.triu(M, 1).T)[np.ix_(self._order, self._order)]

    def gravity_torque(self, q: Array) -> Array:
        return self.back(pin.computeGeneralizedGravity(self.model, self.data, self.configuration(q)))

    def coriolis_torque(self, q: Array, qd: Array) -> Array:
        C = pin.computeCoriolisMatrix(self.model, self.data, self.configuration(q), self.rates(qd))
        return self.back(C @ self.rates(qd))

    def energies(self, q: Array, qd: Array) -> tuple[float, float]:
        kinetic = pin.computeKineticEnergy(self.model, self.data, self.configuration(q), self.rates(qd))
        return kinetic, pin.computePotentialEnergy(self.model, self.data, self.configuration(q))


@dataclass(frozen=True)
class Row:
    """A freedom of a joint, and its entries of q and qd; () and None for a follower."""

    model: JointModel
    places: tuple[int, ...]
    speed: int | None


def _branch_by_branch(parents: Sequence[int]) -> list[int]:
    """Return the links in depth-first order."""
    order, stack = list[int](), [i for i, parent in enumerate(parents) if parent < 0]
    while stack:
        order.append(stack.pop(0))
        stack = [i for i, parent in enumerate(parents) if parent == order[-1]] + stack
    return order


def _rows(arm: Robot, link: int) -> list[Row]:
    """Return the freedoms between a link and its parent."""
    end = arm.link_rows[link] + 1
    rows, coordinate = list[Row](), 0
    for i, model in enumerate(arm.rows[:end]):
        speed = None if model.mimic else coordinate
        coordinate += speed is not None
        if i >= end - 1 - arm.rows[end - 1].freedom:
            ball = next((b for b in arm.balls if b.joint == i), None)
            inside = any(b.joint < i < b.joint + b.freedoms for b in arm.balls)
            place = 0 if speed is None else arm.entries[speed]
            entries = range(place, place + (ball.freedoms + 1 if ball else 1))
            rows.append(Row(model, () if inside or speed is None else tuple(entries), speed))
    return rows


def _kinds(rows: list[Row]) -> list[tuple[Any, list[Row]]]:
    """Return a joint as joints of Pinocchio with their rows: two for a cylindrical joint, otherwise one."""
    first = rows[0].model
    x, z = np.eye(3)[0], np.eye(3)[2]
    apart = first.kind == "helical" and not rows[1].model.mimic
    if first.kind == "cylindrical" or apart:
        return [(pin.JointModelRZ(), rows[:1]), (pin.JointModelPZ(), rows[1:])]
    if first.kind == "helical":
        pitch = rows[1].model.mimic.factor if rows[1].model.mimic else 0.0
        return [(pin.JointModelHZ(pitch), rows)]
    if any(row.speed is None for row in rows):
        raise InputError(f"joint {first.name!r} follows another, which this model does not have")
    kinds = {
        "universal": lambda: pin.JointModelUniversal(z, x),
        "planar": pin.JointModelPlanar,
        "ball": pin.JointModelSpherical,
        "free": pin.JointModelFreeFlyer,
        "": pin.JointModelPZ if first.prismatic else pin.JointModelRZ,
    }
    return [(kinds[first.kind](), rows)]


def _turned(rows: list[Row]) -> Array:
    """Return the frame of the link on the joint; that of a universal joint has its z axis on the second axis."""
    T = np.eye(4)
    for row in rows[1:]:
        T = T @ zero_placement(row.model)
    return T


class Reading:
    """A URDF file as Pinocchio reads it, with all joints that the robot does not have locked at zero."""

    def __init__(self, file: str | Path, arm: Robot) -> None:
        balls = {ball.coordinate: ball for ball in arm.balls}
        inside = {ball.coordinate + k for ball in arm.balls for k in range(1, ball.freedoms)}
        names = {
            i: joint.name.rpartition(".")[0] if i in balls else joint.name
            for i, joint in enumerate(arm.joints)
            if i not in inside
        }
        root = (pin.JointModelFreeFlyer(),) if names.get(0) == "root_joint" else ()
        full = pin.buildModelFromUrdf(str(file), *root)
        others = [full.getJointId(name) for name in list(full.names)[1:] if name not in names.values()]
        self.model = pin.buildReducedModel(full, others, pin.neutral(full))
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in names.values()]
        self.sizes = [balls[i].freedoms + 1 if i in balls else 1 for i in names]
        self.order = [joint.idx_v + k for joint in self.joints for k in range(joint.nv)]

    def _configuration(self, q: Array) -> Array:
        c, own = np.empty(self.model.nq), np.split(q, np.cumsum(self.sizes)[:-1])
        for x, joint in zip(own, self.joints, strict=True):  # a continuous joint is its cosine and sine
            turns = len(x) == 1 and joint.nq == 2
            c[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x[0]), np.sin(x[0])] if turns else x
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
        """Return the pose of the frame of a link in the world."""
        pin.framesForwardKinematics(self.model, self.data, self._configuration(q))
        return self.data.oMf[self.model.getFrameId(link, pin.FrameType.BODY)].homogeneous
