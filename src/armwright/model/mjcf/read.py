"""MuJoCo's model as a tree of links.

A joint turns about its axis through `pos` in the body's frame by qpos - ref (slides by that along it), so q means qpos,
but for the place of w in a quaternion. A free joint starts from the world's origin, wherever its body is drawn. Link
frames are the bodies' frames moved to the last joint's `pos`; what has the name of a body is its own frame. Of several
joints in one body all but the last move massless links. Sites become links, too, so that one can be the tip.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError, ModelWarning
from armwright.model import xml
from armwright.model.description import NO_TENSOR, LinkModel, Tensor, six, tensor, triple
from armwright.model.meshes import Places
from armwright.model.mjcf.pose import moved, rotation, transform
from armwright.model.mjcf.strip import Stripped, strip
from armwright.model.mjcf.visuals import visuals as visuals_of
from armwright.model.tree import SEVERAL, Tree, TreeJoint, TreeLoop, checked
from armwright.model.visual import Visual

KINDS = {0: "floating", 1: "ball", 2: "prismatic", 3: "revolute"}
"""mjtJoint: free, ball, slide, hinge."""
FREEDOMS = {0: 6, 1: 3, 2: 1, 3: 1}
RUBBING = {"damping": "dof_damping", "frictionloss": "dof_frictionloss", "armature": "dof_armature"}
"""What a ball or free joint has in MuJoCo and not here."""


def read(path: str | Path, packages: Mapping[str, str | Path] | None = None, visuals: bool = True) -> Tree:
    """The tree of an MJCF file."""
    return tree_of(xml.read(path), packages, visuals)


def tree_of(root: xml.Element, packages: Mapping[str, str | Path] | None = None, visuals: bool = True) -> Tree:
    """The tree of a parsed MJCF file. Warns of what acts on the robot and has no place in a chain of rigid bodies.

    `packages` says where meshes may be besides the model's folder, see `model.meshes`.
    """
    path = Path(root.file)
    stripped = strip(root, path.parent)
    mujoco = _mujoco(path)
    with _quiet(mujoco):
        try:
            spec = mujoco.MjSpec.from_string(stripped.text, assets=stripped.meshes)
            drives = _drives(mujoco, spec)
            model = spec.compile()
        except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError) as error:
            raise ModelError(f"{path}: MuJoCo refuses it: {'; '.join(str(error).split(chr(10))).strip('; ')}") from None
        shown = visuals_of(mujoco, root, Places.around(path, packages), model) if visuals else None
    name = spec.modelname if spec.modelname not in ("", "MuJoCo Model") else path.stem
    reader = _Reader(mujoco, model, drives)
    reader.bodies()
    reader.sites()
    if shown is not None:
        reader.show(shown.by_body)
    _tell(path, stripped, reader, shown.left_out if shown else [])
    disabled = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = (0.0, 0.0, 0.0) if disabled else triple(model.opt.gravity)
    loops = tuple(reader.loops())
    return checked(
        Tree(name, reader.links, reader.joints, "world", gravity, str(path), origins=reader.origins, loops=loops)
    )


def _mujoco(path: Path) -> Any:
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        raise ModelError(f"{path} is MJCF, which MuJoCo reads: pip install mujoco") from None


@contextmanager
def _quiet(mujoco: Any) -> Iterator[None]:
    """MuJoCo writes its warnings to the terminal and to MUJOCO_LOG.TXT in the working directory, if not told better."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)


@dataclass
class Drive:
    """What the actuators of a joint add to it, as the joint feels it."""

    effort: float | None = None
    armature: float = 0.0
    viscous: float = 0.0


def _drives(mujoco: Any, spec: Any) -> dict[str, Drive]:
    """The actuators, by joint. They are taken out of the model: some ask for as much memory as a file likes."""
    drives: dict[str, Drive] = {}
    for actuator in list(spec.actuators):
        drive = drives.setdefault(actuator.target, Drive())
        gear = float(actuator.gear[0])
        drive.armature += float(np.ravel(getattr(actuator, "armature", 0.0))[0]) * gear**2
        drive.viscous += float(np.ravel(getattr(actuator, "damping", 0.0))[0]) * gear**2
        strongest = _strongest(mujoco, actuator)
        if strongest is not None:
            drive.effort = max(drive.effort or 0.0, strongest * abs(gear))
        spec.delete(actuator)
    return drives


def _strongest(mujoco: Any, actuator: Any) -> float | None:
    """The largest force of an actuator before its gear: its own limit, or what a motor makes of the largest control."""
    bounds = []
    if int(actuator.forcelimited):  # on, or automatic
        bounds.append(float(np.abs(actuator.forcerange).max()))
    motor = (
        actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED
        and actuator.biastype == mujoco.mjtBias.mjBIAS_NONE
        and actuator.dyntype == mujoco.mjtDyn.mjDYN_NONE
    )
    if motor and int(actuator.ctrllimited):
        bounds.append(float(np.abs(actuator.ctrlrange).max()) * abs(float(actuator.gainprm[0])))
    return min((bound for bound in bounds if bound), default=None)


@dataclass
class _Reader:
    """A compiled model being read, parents first as MuJoCo has them."""

    mujoco: Any
    model: Any
    drives: dict[str, Drive]
    links: dict[str, LinkModel] = field(default_factory=dict)
    joints: list[TreeJoint] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    shifts: list[Array] = field(default_factory=list)
    curved: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        named = [self.model.joint(j).name for j in range(self.model.njnt)]
        self.taken = {name for name in named if name}
        self.joint_names = [name or self._name_of(j) for j, name in enumerate(named)]
        self.couplings = self._couplings()

    def bodies(self) -> None:
        """Every body becomes a link: `names` says which, `shifts` where its frame is in the body's."""
        self.links["world"] = LinkModel("world", 0.0, (0.0, 0.0, 0.0), NO_TENSOR)
        self.names, self.shifts = ["world"], [np.zeros(3)]
        for i in range(1, self.model.nbody):
            self._body(i)

    def sites(self) -> None:
        m = self.model
        for i in range(m.nsite):
            name, body = m.site(i).name, int(m.site_bodyid[i])
            if name:
                name = self._fresh(name if name not in self.links else f"{name}_site", self.links)
                T = moved(-self.shifts[body]) @ transform(m.site_pos[i], m.site_quat[i])
                self.links[name] = LinkModel(name, 0.0, (0.0, 0.0, 0.0), NO_TENSOR)
                self._weld(self.names[body], name, T)

    @property
    def origins(self) -> dict[str, Array]:
        """The frames of the bodies, seen from their links."""
        return {name: moved(-shift) for name, shift in zip(self.names, self.shifts, strict=True) if shift.any()}

    def loops(self) -> Iterator[TreeLoop]:
        """Bodies or sites that are connected in a point, or welded; a weld whose torques count nothing is a point."""
        m, kinds = self.model, self.mujoco.mjtEq
        for i in range(m.neq):
            weld = m.eq_type[i] == kinds.mjEQ_WELD
            if not m.eq_active0[i] or not (weld or m.eq_type[i] == kinds.mjEQ_CONNECT):
                continue
            ids, data = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i])), m.eq_data[i]
            if m.eq_objtype[i] == self.mujoco.mjtObj.mjOBJ_SITE:
                bodies = [int(m.site_bodyid[k]) for k in ids]
                poses = [transform(m.site_pos[k], m.site_quat[k]) for k in ids]
            else:
                bodies = list(ids)
                poses = (
                    [transform(data[3:6], data[6:10]), moved(data[:3])] if weld else [moved(data[:3]), moved(data[3:6])]
                )
            names = self.names[bodies[0]], self.names[bodies[1]]
            whole = bool(weld and data[10])
            yield TreeLoop(m.equality(i).name or f"{names[0]}-{names[1]}", whole, names, (poses[0], poses[1]))

    def show(self, visuals: Mapping[int, list[Visual]]) -> None:
        """Visuals, in the frames of their bodies, on the links."""
        for i, on_body in visuals.items():
            name, T = self.names[i], moved(-self.shifts[i])
            self.links[name] = replace(self.links[name], visuals=tuple(visual.moved(T) for visual in on_body))

    def _body(self, i: int) -> None:
        m = self.model
        name = self._fresh(m.body(i).name or f"body{i}", self.links)
        above = int(m.body_parentid[i])
        parent, before = self.names[above], moved(-self.shifts[above]) @ transform(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        shift: Array = np.zeros(3)
        for j in range(first, first + count):
            child = name if j == first + count - 1 else self._fresh(f"{name}/{self.joint_names[j]}", self.links)
            kind = KINDS[int(m.jnt_type[j])]
            shift = np.array(m.jnt_pos[j]) if kind in ("revolute", "ball") else np.zeros(3)
            before = np.eye(4) if kind == "floating" else before
            self.links[child] = LinkModel(child, 0.0, (0.0, 0.0, 0.0), NO_TENSOR)
            self.joints.append(self._joint(j, parent, child, before @ moved(shift)))
            parent, before = child, moved(-shift)
        self.links[name] = self._link(i, name, shift)
        if not count:
            self._weld(parent, name, before)
        self.names.append(name)
        self.shifts.append(shift)

    def _link(self, i: int, name: str, shift: Array) -> LinkModel:
        m = self.model
        R = rotation(m.body_iquat[i])
        return LinkModel(name, float(m.body_mass[i]), triple(m.body_ipos[i] - shift), _tensor(R, m.body_inertia[i]))

    def _joint(self, j: int, parent: str, child: str, placement: Array) -> TreeJoint:
        m, name, kind = self.model, self.joint_names[j], KINDS[int(self.model.jnt_type[j])]
        if kind in SEVERAL:
            return TreeJoint(name, kind, parent, child, placement, np.array([0.0, 0.0, 1.0]))
        dof, axis = int(m.jnt_dofadr[j]), np.array(m.jnt_axis[j])
        drive = self.drives.get(name, Drive())
        found = TreeJoint(
            name, kind, parent, child, placement, axis,
            limits=_pair(m.jnt_range[j]) if m.jnt_limited[j] else None,
            effort=float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else drive.effort,
            viscous=float(m.dof_damping[dof]) + drive.viscous,
            coulomb=float(m.dof_frictionloss[dof]),
            armature=float(m.dof_armature[dof]) + drive.armature,
        )  # fmt: skip
        found = replace(found, placement=found.at(-float(m.qpos0[m.jnt_qposadr[j]])))
        if j not in self.couplings:
            return found
        other, factor, offset = self.couplings[j]
        if other is None:
            return TreeJoint(name, "fixed", parent, child, found.at(offset), axis)
        return replace(found, mimic=(self.joint_names[other], factor, offset))

    def _couplings(self) -> dict[int, tuple[int | None, float, float]]:
        """Joints that follow another, q = factor q_other + offset, or nothing: q = offset.

        MuJoCo counts from the reference: q - ref = c0 + c1 (q_other - ref_other) + ...; bent ones are told of.
        """
        m, found = self.model, {}
        for i in range(m.neq):
            if m.eq_type[i] != self.mujoco.mjtEq.mjEQ_JOINT or not m.eq_active0[i]:
                continue
            j, other, c = int(m.eq_obj1id[i]), int(m.eq_obj2id[i]), m.eq_data[i]
            if other >= 0 and np.any(c[2:5]):
                self.curved.append(f"the curved coupling of {self.joint_names[j]} to {self.joint_names[other]}")
                continue
            ref = float(m.qpos0[m.jnt_qposadr[j]])
            factor = float(c[1]) if other >= 0 else 0.0
            start = float(m.qpos0[m.jnt_qposadr[other]]) if other >= 0 else 0.0
            found[j] = (other if other >= 0 else None, factor, ref + float(c[0]) - factor * start)
        return found

    def _weld(self, parent: str, child: str, placement: Array) -> None:
        name = self._fresh(f"{child}_weld", self.taken)
        self.taken.add(name)
        self.joints.append(TreeJoint(name, "fixed", parent, child, placement, np.array([0.0, 0.0, 1.0])))

    def _name_of(self, j: int) -> str:
        """For a joint that has none: after its body."""
        body = int(self.model.jnt_bodyid[j])
        name = self._fresh(f"{self.model.body(body).name or f'body{body}'}_joint", self.taken)
        self.taken.add(name)
        return name

    @staticmethod
    def _fresh(name: str, taken: Any) -> str:
        """The name, or one like it that nothing has yet."""
        found, i = name, 2
        while found in taken:
            found, i = f"{name}_{i}", i + 1
        return found


def _tell(path: Path, stripped: Stripped, reader: _Reader, unseen: list[str]) -> None:
    """A warning that lists what acts on the robot in MuJoCo, or is seen, and will not here."""
    m = reader.model
    told = [*stripped.left_out, *reader.curved, *unseen]
    bent = getattr(m, "dof_dampingpoly", np.zeros((m.nv, 1)))
    for j, name in enumerate(reader.joint_names):
        if m.jnt_stiffness[j]:
            told.append(f"the spring of joint {name}")
        dofs = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + FREEDOMS[int(m.jnt_type[j])])
        if KINDS[int(m.jnt_type[j])] in SEVERAL:
            told += [f"the {what} of joint {name}" for what, of in RUBBING.items() if np.any(getattr(m, of)[dofs])]
        if np.any(bent[m.jnt_dofadr[j]]):
            told.append(f"the damping of joint {name} beyond the linear")
    told += [
        f"the gravity compensation of body {name}" for name, g in zip(reader.names, m.body_gravcomp, strict=True) if g
    ]
    if told:
        listed = "; ".join(told[:8]) + (f"; and {len(told) - 8} more" if len(told) > 8 else "")
        warnings.warn(f"{path}: not taken over: {listed}", ModelWarning, stacklevel=3)


def _tensor(R: Array, principal: Array) -> Tensor:
    turned = R @ np.diag(principal) @ R.T
    return tensor(six((turned + turned.T) / 2))


def _pair(values: Array) -> tuple[float, float]:
    low, high = values.tolist()
    return low, high
