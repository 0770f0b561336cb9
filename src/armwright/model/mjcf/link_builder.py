"""The bodies, joints and sites of MuJoCo's compiled model as links and joints of a tree.

A joint moves by qpos - ref about or along its axis through `pos` in the body's frame. So q is qpos, except for the
place of w in a quaternion. A free joint starts at the world's origin, independent of the pose of its body.

The frame of a link is the body's frame moved to `pos` of the last joint; the name of a body denotes the body's frame.
If a body has several joints, all but the last move massless links. Sites become links too, since one may be the tip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.manifold import rotation_between
from armwright.model.mimic import Mimic
from armwright.model.mjcf.actuators import JointActuation
from armwright.model.mjcf.equality import couplings
from armwright.model.mjcf.pose import rotation_matrix, transform, translation
from armwright.model.records import LinkModel
from armwright.model.transforms import ZERO_TENSOR, Tensor, tensor, tensor_entries, triple
from armwright.model.tree import MULTI_FREEDOM_KINDS, TreeJoint
from armwright.model.visual import Visual

JOINT_KINDS = {0: "floating", 1: "ball", 2: "prismatic", 3: "revolute"}
"""Joint kinds by mjtJoint: free, ball, slide, hinge."""


@dataclass
class LinkBuilder:
    """The links of a compiled model, parents first as in MuJoCo."""

    mujoco: Any
    model: Any
    drives: dict[str, JointActuation]
    links: dict[str, LinkModel] = field(default_factory=dict)
    joints: list[TreeJoint] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    shifts: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        named = [self.model.joint(j).name for j in range(self.model.njnt)]
        self.used_names = {name for name in named if name}
        self.joint_names = [name or self._name_of(j) for j, name in enumerate(named)]
        self.couplings = couplings(self.mujoco, self.model, self.joint_names)
        self.by_drives = compensated_by_drives(self.model)
        enabled = getattr(self.model, "ngravcomp", 1) > 0  # MuJoCo counts the bodies with compensation
        self.compensated = [enabled and True not in flags for flags in self.by_drives]

    def bodies(self) -> None:
        """Make every body a link; `names` has their names, `shifts` their origins in the bodies' frames."""
        self.links["world"] = LinkModel("world", 0.0, (0.0, 0.0, 0.0), ZERO_TENSOR)
        self.names, self.shifts = ["world"], [np.zeros(3)]
        for i in range(1, self.model.nbody):
            self._body(i)

    def sites(self) -> None:
        m = self.model
        for i in range(m.nsite):
            name, body = m.site(i).name, int(m.site_bodyid[i])
            if name:
                name = self._unused(name if name not in self.links else f"{name}_site", self.links)
                T = translation(-self.shifts[body]) @ transform(m.site_pos[i], m.site_quat[i])
                self.links[name] = LinkModel(name, 0.0, (0.0, 0.0, 0.0), ZERO_TENSOR)
                self._weld(self.names[body], name, T)

    @property
    def origins(self) -> dict[str, Array]:
        """The frames of the bodies in the frames of their links."""
        return {name: translation(-shift) for name, shift in zip(self.names, self.shifts, strict=True) if shift.any()}

    def add_visuals(self, visuals: Mapping[int, list[Visual]]) -> None:
        """Add the shapes of bodies, in the frames of the bodies, to the links."""
        for i, on_body in visuals.items():
            name, T = self.names[i], translation(-self.shifts[i])
            self.links[name] = replace(self.links[name], visuals=tuple(visual.moved(T) for visual in on_body))

    def _body(self, i: int) -> None:
        m = self.model
        name = self._unused(m.body(i).name or f"body{i}", self.links)
        k = int(m.body_parentid[i])
        parent, before = self.names[k], translation(-self.shifts[k]) @ transform(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        shift: Array = np.zeros(3)
        for j in range(first, first + count):
            child = name if j == first + count - 1 else self._unused(f"{name}/{self.joint_names[j]}", self.links)
            kind = JOINT_KINDS[int(m.jnt_type[j])]
            shift = np.array(m.jnt_pos[j]) if kind in ("revolute", "ball") else np.zeros(3)
            before = np.eye(4) if kind == "floating" else before
            self.links[child] = LinkModel(child, 0.0, (0.0, 0.0, 0.0), ZERO_TENSOR)
            self.joints.append(self._joint(j, parent, child, before @ translation(shift)))
            parent, before = child, translation(-shift)
        self.links[name] = self._link(i, name, shift)
        if not count:
            self._weld(parent, name, before)
        self.names.append(name)
        self.shifts.append(shift)

    def _link(self, i: int, name: str, shift: Array) -> LinkModel:
        m = self.model
        R = rotation_matrix(m.body_iquat[i])
        com = triple(m.body_ipos[i] - shift)
        inertia = _tensor(R, m.body_inertia[i])
        mass = float(m.body_mass[i] * m.body_gravcomp[i]) if self.compensated[i] else 0.0
        centre = com if mass else (0.0, 0.0, 0.0)
        return LinkModel(name, float(m.body_mass[i]), com, inertia, compensated_mass=mass, compensated_com=centre)

    def _joint(self, j: int, parent: str, child: str, placement: Array) -> TreeJoint:
        m, name, kind = self.model, self.joint_names[j], JOINT_KINDS[int(self.model.jnt_type[j])]
        dof, axis = int(m.jnt_dofadr[j]), np.array(m.jnt_axis[j])
        drive = self.drives.get(name, JointActuation())
        if kind in MULTI_FREEDOM_KINDS:
            return TreeJoint(
                name, kind, parent, child, placement, np.array([0.0, 0.0, 1.0]),
                viscous=float(m.dof_damping[dof]), coulomb=float(m.dof_frictionloss[dof]),
                armature=float(m.dof_armature[dof]), spring_stiffness=float(m.jnt_stiffness[j]),
                spring_rest=_rest(m.qpos_spring[m.jnt_qposadr[j] :], kind),
            )  # fmt: skip
        joint = TreeJoint(
            name, kind, parent, child, placement, axis,
            limits=_pair(m.jnt_range[j]) if m.jnt_limited[j] else None,
            effort=float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else drive.effort,
            viscous=float(m.dof_damping[dof]) + drive.viscous,
            coulomb=float(m.dof_frictionloss[dof]),
            armature=float(m.dof_armature[dof]) + drive.armature,
            spring_stiffness=float(m.jnt_stiffness[j]),
            spring_rest=(float(m.qpos_spring[m.jnt_qposadr[j]]),),
            spring_curve=curve_of(m, j),
        )  # fmt: skip
        joint = replace(joint, placement=joint.transform(-float(m.qpos0[m.jnt_qposadr[j]])))
        if j not in self.couplings.by_joint:
            return joint
        rule = self.couplings.by_joint[j]
        if not rule.terms:
            return TreeJoint(name, "fixed", parent, child, joint.transform(rule.offset), axis)
        (other, factor), *others = ((self.joint_names[k], factor) for k, factor in rule.terms)
        return replace(joint, mimic=Mimic(other, factor, rule.offset, others=tuple(others), curve=rule.curve))

    def _weld(self, parent: str, child: str, placement: Array) -> None:
        name = self._unused(f"{child}_weld", self.used_names)
        self.used_names.add(name)
        self.joints.append(TreeJoint(name, "fixed", parent, child, placement, np.array([0.0, 0.0, 1.0])))

    def _name_of(self, j: int) -> str:
        """Return a name for a joint without one, after its body."""
        body = int(self.model.jnt_bodyid[j])
        name = self._unused(f"{self.model.body(body).name or f'body{body}'}_joint", self.used_names)
        self.used_names.add(name)
        return name

    @staticmethod
    def _unused(name: str, names: Any) -> str:
        """Return the name, numbered if it is in `names`."""
        unused, i = name, 2
        while unused in names:
            unused, i = f"{name}_{i}", i + 1
        return unused


def _tensor(R: Array, principal: Array) -> Tensor:
    inertia = R @ np.diag(principal) @ R.T
    return tensor(tensor_entries((inertia + inertia.T) / 2))


def compensated_by_drives(model: Any) -> list[set[bool]]:
    """Return for each body the flags of its joints for compensation by their drives: both flags if the joints differ.

    Compensation by a drive is a torque of that drive, and not part of the robot.
    """
    flags: list[set[bool]] = []
    for i in range(model.nbody):
        of_parent = flags[model.body_parentid[i]] if i else set()
        first, count = int(model.body_jntadr[i]), int(model.body_jntnum[i])
        flags.append({*of_parent, *(bool(model.jnt_actgravcomp[j]) for j in range(first, first + count))})
    return flags


def curve_of(model: Any, j: int) -> tuple[float, ...]:
    """Return the factors of the higher powers of a joint's spring, in MuJoCo from version 4."""
    curve = getattr(model, "jnt_stiffnesspoly", np.zeros((model.njnt, 1)))[j]
    return tuple(map(float, curve)) if np.any(curve) else ()


def _rest(entries: Array, kind: str) -> tuple[float, ...]:
    """Return the rest of the spring of a ball or free joint: a position, and a rotation vector."""
    start = 0 if kind == "ball" else 3
    w, x, y, z = (entries[start : start + 4] / np.linalg.norm(entries[start : start + 4])).tolist()
    turn = rotation_between((0.0, 0.0, 0.0, 1.0), (x, y, z, w)) if x or y or z else [0.0] * 3
    return (*entries[:start].tolist(), *map(float, turn))


def _pair(values: Array) -> tuple[float, float]:
    low, high = values.tolist()
    return low, high
