"""Base parameters from the geometry alone: the rules of Gautier and Khalil (1990).

M. Gautier, W. Khalil, 'Direct calculation of minimum set of inertial parameters of serial robots', IEEE Trans. Robotics
and Automation 6 (1990); W. Khalil, E. Dombre, 'Modeling, identification and control of robots' (2002), 9.4.2.

`regroup.regrouped` moves parameters of every link inward, to the link before it. The remaining parameters all affect
the torque, except in links that cannot turn in all directions. With r1 the first revolute joint, a its axis, and r2 the
first revolute joint whose axis is not parallel to a:

before r1     links only slide: only the mass matters
r1 to r2      links only turn about a, which is fixed in them. Only the moment of inertia about a matters, and the first
              moment perpendicular to a; not even that if the origin stays on the axis and gravity is along it.
              A link that slides along a moves its first moment inward, as sliding does not change its effect
from r2 on    everything matters; but without gravity, the first moment of a link about a fixed point does not

A rotor inertia has the same effect as a link parameter in three cases. At r1, and at r2 if its axis is perpendicular to
a, it adds to Izz. Where a link slides along a or before r1, perpendicular to all earlier sliding and to gravity, its
mass acts on its joint like the rotor inertia, and on the other joints as a part of the link before.

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
"""The tolerance for parallel, perpendicular and intersecting axes (radians, metres)."""


@dataclass(frozen=True)
class JointGeometry:
    """The axes and origins of all joints at q = 0, in frame 0. Links are counted from 0.

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
        """Return whether link i, between r1 and r2, slides along a."""
        return self.joints[i].prismatic and self.r1 < i < self.r2 and _parallel(self.z(i), self.a)

    def is_decoupled(self, i: int) -> bool:
        """Return whether the sliding of link i couples neither to other joints nor to gravity."""
        if not (self.joints[i].prismatic and (i < self.r1 or self.slides_along(i))):
            return False
        before = [self.z(k) for k in range(i) if self.joints[k].prismatic]
        return all(_perpendicular(self.z(i), direction) for direction in (self.gravity, *before))

    def stays_on_axis(self, i: int) -> bool:
        """Return whether gravity is along a and the origin of link i, between r1 and r2, only moves along a."""
        slides = [self.z(k) for k in range(i) if self.joints[k].prismatic]
        turns = [k for k in range(i) if not self.joints[k].prismatic]
        return all(_parallel(direction, self.a) for direction in (self.gravity, *slides)) and all(
            self._on_axis(self.origins[i], k) for k in turns
        )

    def point_at_rest(self, i: int) -> float | None:
        """Return z of the fixed point of link i, from r2 on; None if it has none, or with gravity."""
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
    """Return whether two vectors are parallel, or one is zero."""
    return bool(np.linalg.norm(np.cross(u, v)) <= PARALLEL_TOLERANCE * np.linalg.norm(u) * np.linalg.norm(v))


def _perpendicular(u: Array, v: Array) -> bool:
    return bool(abs(u @ v) <= PARALLEL_TOLERANCE * np.linalg.norm(u) * np.linalg.norm(v))


def base_by_rules(robot: Description, friction: bool, rotors: bool) -> tuple[tuple[int, ...], Array]:
    """Return the kept columns and the matrix of combinations."""
    n = robot.n
    forms = np.eye((LINK_SIZE + JOINT_SIZE) * n)
    mechanism = replace(
        robot.mechanism(), links=tuple(_link(forms[LINK_SIZE * i : LINK_SIZE * (i + 1)]) for i in range(n))
    )
    layout = JointGeometry.of(mechanism)
    actuators = forms[LINK_SIZE * n :].reshape(n, JOINT_SIZE, -1).copy()
    mechanism = regrouped(mechanism)
    for _ in range(sum(joint.prismatic for joint in mechanism.joints)):  # parameters can move inward by several links
        mechanism = regrouped(replace(mechanism, links=_moved_inward(layout, mechanism.links, actuators, rotors)))
    rows: dict[int, Scalar] = {}
    for i, link in enumerate(mechanism.links):
        rows |= {
            LINK_SIZE * i + LINK_PARAMETERS.index(name): form
            for name, form in _relevant_entries(layout, i, link, rotors).items()
        }
    for i in range(n):
        row = {kind: LINK_SIZE * n + JOINT_SIZE * i + k for k, kind in enumerate(JOINT_PARAMETERS)}
        if friction:
            rows |= {row[kind]: actuators[i, JOINT_PARAMETERS.index(kind)] for kind in ("viscous", "coulomb")}
        if rotors:
            inertia = LINK_SIZE * i + LINK_PARAMETERS.index("Izz")
            column = inertia if _rotor_acts_as_inertia(layout, i) else row["armature"]
            rows[column] = rows.get(column, 0) + actuators[i, JOINT_PARAMETERS.index("armature")]
    kept = tuple(sorted(rows))
    combination = np.array([rows[k] for k in kept])
    return kept, np.where(np.abs(combination) < 1e-14, 0.0, combination)  # zeros after rounding


def _link(ten: Array) -> MomentLink:
    return MomentLink(ten[0], Vector(*ten[1:4]), Symmetric(*ten[4:]))


def _moved_inward(
    layout: JointGeometry, links: tuple[AnyLink, ...], actuators: Array, rotors: bool
) -> tuple[AnyLink, ...]:
    """Return the links after sliding links have moved inward the parameters whose effect sliding does not change.

    A mass that acts like its rotor is added to that row of `actuators`.
    """
    result = list(links)
    for i in reversed(range(len(result))):
        link, decoupled = result[i], rotors and layout.is_decoupled(i)
        mass: Scalar = link.mass if decoupled else 0
        moment = link.moment if layout.slides_along(i) else ZERO
        if decoupled:
            actuators[i, JOINT_PARAMETERS.index("armature")] += mass
        if i:
            joint, inner = layout.joints[i], result[i - 1]
            part = to_parent(CompositeBody(mass, moment, _NO_TENSOR), Screw(joint.rotation(0), joint.a, joint.d))
            result[i - 1] = MomentLink(inner.mass + part.m, inner.moment + part.h, inner.origin_inertia + part.J)
        result[i] = MomentLink(link.mass - mass, link.moment - moment, link.origin_inertia)
    return tuple(result)


_NO_TENSOR = Symmetric(0, 0, 0, 0, 0, 0)


def _relevant_entries(layout: JointGeometry, i: int, link: AnyLink, rotors: bool) -> dict[str, Scalar]:
    """Return the parameters of a link that affect the torque, by name."""
    if layout.joints[i].prismatic:
        mass = {} if rotors and layout.is_decoupled(i) else {"m": link.mass}
        return mass | _sliding_moment(layout, i, link.moment)
    h, J = link.moment, link.origin_inertia
    moment = {"mx": h.x, "my": h.y}
    if i < layout.r2:
        return {"Izz": J.zz} if layout.stays_on_axis(i) else moment | {"Izz": J.zz}
    s = layout.point_at_rest(i)
    if s is not None:  # about that point the moment has no effect, and this is the tensor
        moment, J = {}, J + Symmetric(0, 0, 0, 0, h.x * s, h.y * s)
    return moment | {"Ixx": J.xx, "Izz": J.zz, "Ixy": J.xy, "Ixz": J.xz, "Iyz": J.yz}


def _sliding_moment(layout: JointGeometry, i: int, h: Vector) -> dict[str, Scalar]:
    """Return the first moment of a sliding link: all of it from r2 on, before r2 the part perpendicular to a."""
    named = dict(zip(("mx", "my", "mz"), h, strict=True))
    if i >= layout.r2:
        return named
    if i < layout.r1 or layout.slides_along(i):
        return {}
    a = layout.rotations[i].T @ layout.a
    pivot = int(np.argmax(np.abs(a)))  # any multiple of a may be subtracted: this one makes the entry zero
    dropped = tuple(named)[pivot]
    return {
        name: form - named[dropped] * (a[k] / a[pivot]) for k, (name, form) in enumerate(named.items()) if k != pivot
    }


def _rotor_acts_as_inertia(layout: JointGeometry, i: int) -> bool:
    return i == layout.r1 or (i == layout.r2 and _perpendicular(layout.z(i), layout.a))
