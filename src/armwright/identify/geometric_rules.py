"""Base parameters from the geometry alone: the rules of Gautier and Khalil (1990).

M. Gautier, W. Khalil, 'Direct calculation of minimum set of inertial parameters of serial robots', IEEE Trans. Robotics
and Automation 6 (1990); W. Khalil, E. Dombre, 'Modeling, identification and control of robots' (2002), 9.4.2.

`regroup.regrouped` moves inward what every link can hand to the one before it. What is left has its effect on torque,
except in the links that cannot turn in all directions. With r1 the first revolute joint, a its axis, and r2 the first
revolute joint whose axis is not parallel to a:

before r1     links only slide: mass alone counts
r1 to r2      links only turn about a, and a is fixed in them: of the inertia the moment about a counts; of the first
              moment what is square to a, and not even that if the origin stays on the axis and gravity is along it.
              A link that slides along a hands its first moment inward: sliding does not change what it does
from r2 on    everything counts; but without gravity, the first moment of a link about a point that never moves does not

A rotor does what some link parameter also does in three cases: at r1, and at r2 if its axis is square to a, it adds to
Izz; and where a link slides along a or before r1, square to all sliding before it and to gravity, mass acts like the
rotor on its own joint, and otherwise as if it were fixed to the link before.

The scalar here is a row of coefficients: a NumPy array, one entry for each parameter of the robot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import ZERO, Array, Scalar, Symmetric, Vector
from armwright.formulations.composite_body import CompositeBody, to_parent
from armwright.formulations.parts.spatial import Screw
from armwright.identify.parameter_vector import JOINT_PARAMETERS, JOINT_SIZE, LINK_PARAMETERS, LINK_SIZE
from armwright.mechanism import AnyLink, Joint, Mechanism, MomentLink
from armwright.model.description import Description
from armwright.trace.regroup import regrouped

PARALLEL_TOLERANCE = 1e-9
"""Axes count as parallel, square or crossing if they miss it by no more than this (radians, metres)."""


@dataclass(frozen=True)
class JointGeometry:
    """Axes and origins of all joints with the robot at zero, in frame 0. Links are counted from 0.

    r1, r2   the first revolute joint, and the first whose axis is not parallel to it; n where there is none
    """

    joints: tuple[Joint, ...]
    rotations: Array
    origins: Array
    gravity: Array
    r1: int
    r2: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> JointGeometry:
        R, o = np.eye(3), np.zeros(3)
        rotations, origins = [], []
        for joint in mechanism.joints:
            o = o + R @ np.array(joint.offset(0), float)
            R = R @ np.array(joint.rotation(0).matrix, float)
            rotations.append(R)
            origins.append(o)
        turning = [i for i, joint in enumerate(mechanism.joints) if not joint.prismatic]
        r1 = turning[0] if turning else mechanism.n
        r2 = next((i for i in turning if not _parallel(rotations[i][:, 2], rotations[r1][:, 2])), mechanism.n)
        gravity = np.array(mechanism.gravity, float)
        return cls(mechanism.joints, np.array(rotations), np.array(origins), gravity, r1, r2)

    def z(self, i: int) -> Array:
        axis: Array = self.rotations[i][:, 2]
        return axis

    @property
    def a(self) -> Array:
        return self.z(self.r1)

    def slides_along(self, i: int) -> bool:
        """Whether link i, between r1 and r2, slides along a."""
        return self.joints[i].prismatic and self.r1 < i < self.r2 and _parallel(self.z(i), self.a)

    def slides_apart(self, i: int) -> bool:
        """Whether the sliding of link i has no part in what any other joint does, nor in gravity's work."""
        if not (self.joints[i].prismatic and (i < self.r1 or self.slides_along(i))):
            return False
        before = [self.z(k) for k in range(i) if self.joints[k].prismatic]
        return all(_square(self.z(i), direction) for direction in (self.gravity, *before))

    def keeps_to_axis(self, i: int) -> bool:
        """Whether the origin of link i, between r1 and r2, can only move along a, and gravity is along it too."""
        slides = [self.z(k) for k in range(i) if self.joints[k].prismatic]
        turns = [k for k in range(i) if not self.joints[k].prismatic]
        return all(_parallel(direction, self.a) for direction in (self.gravity, *slides)) and all(
            self._on_axis(self.origins[i], k) for k in turns
        )

    def point_at_rest(self, i: int) -> float | None:
        """Without gravity: how far along z of link i, from r2 on, the point is that never moves, if there is one."""
        if np.any(self.gravity) or any(joint.prismatic for joint in self.joints[:i]):
            return None
        lines = np.column_stack([self.a, -self.z(self.r2)])
        along = np.linalg.lstsq(lines, self.origins[self.r2] - self.origins[self.r1], rcond=None)[0]
        crossing = self.origins[self.r1] + along[0] * self.a
        if not all(self._on_axis(crossing, k) for k in range(i + 1)):
            return None
        return float((crossing - self.origins[i]) @ self.z(i))

    def _on_axis(self, point: Array, k: int) -> bool:
        return bool(np.linalg.norm(np.cross(point - self.origins[k], self.z(k))) <= PARALLEL_TOLERANCE)


def _parallel(u: Array, v: Array) -> bool:
    """Also if one of them is zero."""
    return bool(np.linalg.norm(np.cross(u, v)) <= PARALLEL_TOLERANCE * np.linalg.norm(u) * np.linalg.norm(v))


def _square(u: Array, v: Array) -> bool:
    return bool(abs(u @ v) <= PARALLEL_TOLERANCE * np.linalg.norm(u) * np.linalg.norm(v))


def base_by_rules(robot: Description, friction: bool, rotors: bool) -> tuple[tuple[int, ...], Array]:
    """The columns that stay, and the matrix of combinations."""
    n = robot.n
    forms = np.eye((LINK_SIZE + JOINT_SIZE) * n)
    mechanism = replace(
        robot.mechanism(), links=tuple(_link(forms[LINK_SIZE * i : LINK_SIZE * (i + 1)]) for i in range(n))
    )
    layout = JointGeometry.of(mechanism)
    actuators = forms[LINK_SIZE * n :].reshape(n, JOINT_SIZE, -1).copy()
    mechanism = regrouped(mechanism)
    for _ in range(sum(joint.prismatic for joint in mechanism.joints)):  # a link may hand on what it was just handed
        mechanism = regrouped(replace(mechanism, links=_handed_inward(layout, mechanism.links, actuators, rotors)))
    rows: dict[int, Scalar] = {}
    for i, link in enumerate(mechanism.links):
        rows |= {
            LINK_SIZE * i + LINK_PARAMETERS.index(name): form
            for name, form in _counting(layout, i, link, rotors).items()
        }
    for i in range(n):
        row = {kind: LINK_SIZE * n + JOINT_SIZE * i + k for k, kind in enumerate(JOINT_PARAMETERS)}
        if friction:
            rows |= {row[kind]: actuators[i, JOINT_PARAMETERS.index(kind)] for kind in ("viscous", "coulomb")}
        if rotors:
            inertia = LINK_SIZE * i + LINK_PARAMETERS.index("Izz")
            where = inertia if _rotor_acts_as_inertia(layout, i) else row["armature"]
            rows[where] = rows.get(where, 0) + actuators[i, JOINT_PARAMETERS.index("armature")]
    kept = tuple(sorted(rows))
    combination = np.array([rows[k] for k in kept])
    return kept, np.where(np.abs(combination) < 1e-14, 0.0, combination)  # what rounding left of a zero


def _link(ten: Array) -> MomentLink:
    return MomentLink(ten[0], Vector(*ten[1:4]), Symmetric(*ten[4:]))


def _handed_inward(
    layout: JointGeometry, links: tuple[AnyLink, ...], actuators: Array, rotors: bool
) -> tuple[AnyLink, ...]:
    """The links after each that slides has given to the one before it what does not depend on its sliding.

    A mass that acts like its rotor is added to that row of `actuators`.
    """
    left = list(links)
    for i in reversed(range(len(left))):
        link, apart = left[i], rotors and layout.slides_apart(i)
        mass: Scalar = link.mass if apart else 0
        moment = link.moment if layout.slides_along(i) else ZERO
        if apart:
            actuators[i, JOINT_PARAMETERS.index("armature")] += mass
        if i:
            joint, inner = layout.joints[i], left[i - 1]
            given = to_parent(CompositeBody(mass, moment, _NO_TENSOR), Screw(joint.rotation(0), joint.a, joint.d))
            left[i - 1] = MomentLink(inner.mass + given.m, inner.moment + given.h, inner.origin_inertia + given.J)
        left[i] = MomentLink(link.mass - mass, link.moment - moment, link.origin_inertia)
    return tuple(left)


_NO_TENSOR = Symmetric(0, 0, 0, 0, 0, 0)


def _counting(layout: JointGeometry, i: int, link: AnyLink, rotors: bool) -> dict[str, Scalar]:
    """What is left of a link and has an effect."""
    if layout.joints[i].prismatic:
        mass = {} if rotors and layout.slides_apart(i) else {"m": link.mass}
        return mass | _sliding_moment(layout, i, link.moment)
    h, J = link.moment, link.origin_inertia
    moment = {"mx": h.x, "my": h.y}
    if i < layout.r2:
        return {"Izz": J.zz} if layout.keeps_to_axis(i) else moment | {"Izz": J.zz}
    s = layout.point_at_rest(i)
    if s is not None:  # about that point, where the tensor is this one, the moment does nothing
        moment, J = {}, J + Symmetric(0, 0, 0, 0, h.x * s, h.y * s)
    return moment | {"Ixx": J.xx, "Izz": J.zz, "Ixy": J.xy, "Ixz": J.xz, "Iyz": J.yz}


def _sliding_moment(layout: JointGeometry, i: int, h: Vector) -> dict[str, Scalar]:
    """The first moment of a sliding link: all of it from r2 on, before that what is square to a."""
    named = dict(zip(("mx", "my", "mz"), h, strict=True))
    if i >= layout.r2:
        return named
    if i < layout.r1 or layout.slides_along(i):
        return {}
    a = layout.rotations[i].T @ layout.a
    most = int(np.argmax(np.abs(a)))  # a multiple of a is free: as much of it as makes this entry zero
    dropped = tuple(named)[most]
    return {name: form - named[dropped] * (a[k] / a[most]) for k, (name, form) in enumerate(named.items()) if k != most}


def _rotor_acts_as_inertia(layout: JointGeometry, i: int) -> bool:
    return i == layout.r1 or (i == layout.r2 and _square(layout.z(i), layout.a))
