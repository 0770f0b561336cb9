"""Loads of the joints along motions, as linear functions of the masses of the actuators.

Torque is linear in masses, so the torque at the gearbox of each joint is

    tau_j(t) = tau0_j(t) + sum over the actuators k that joint j carries of m_k U_jk(t)

with tau0 of the robot without actuators and U_jk of one kilogram at the mount of actuator k. These are computed once;
then the loads of a set of actuators take a few products of arrays. Gravity torques and the inertias about the joints
are linear in the same masses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from armwright.actuators.assignment import Mount
from armwright.algebra import Array, Symmetric, Vector
from armwright.mechanism import Link, Mechanism
from armwright.model.mechanics import MASSLESS_LINK
from armwright.robot import Robot
from armwright.trajectory import Trajectory
from armwright.trajectory.motion_base import without_rounding
from armwright.trajectory.torques import torques


@dataclass(frozen=True)
class MassLinear:
    """A quantity of one joint at all instants (T,): the part without actuators, and per kilogram (carried, T)."""

    bare: Array
    per_kilogram: Array

    def at(self, masses: Array) -> Array:
        """Return the quantity for these masses, (T,)."""
        total: Array = self.bare + masses @ self.per_kilogram
        return total

    def within(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds at each instant for masses between `low` and `high`."""
        middle, half = self.at((low + high) / 2), ((high - low) / 2) @ np.abs(self.per_kilogram)
        return middle - half, middle + half


@dataclass(frozen=True)
class JointLoad:
    """One joint along all motions with all payloads.

    carried          the joints whose actuators load this joint by their masses
    cases, titles    the instants and the name of each case, a motion with a payload; the cases follow each other
    weights          the part of its case that each instant represents
    """

    name: str
    prismatic: bool
    carried: tuple[int, ...]
    q: Array
    qd: Array
    qdd: Array
    torque: MassLinear
    gravity: MassLinear
    inertia: MassLinear
    cases: tuple[slice, ...]
    titles: tuple[str, ...]
    weights: Array
    times: Array


def loads(
    robot: Robot,
    motions_by_name: Mapping[str, Trajectory],
    payloads: Sequence[Robot],
    places: Sequence[Mount],
    samples: int,
) -> tuple[JointLoad, ...]:
    """Return the loads of all joints along motions by name; `payloads` are robots with each of the payloads."""
    cases = [(motion, loaded) for loaded in payloads for motion in motions_by_name.values()]
    size = samples + 1
    times = [np.linspace(motion.start, motion.end, size) for motion, _ in cases]
    states = [np.stack(motion(t)) for (motion, _), t in zip(cases, times, strict=True)]
    q, qd, qdd = np.concatenate(states, axis=1)
    qd = without_rounding(qd, np.abs(qd).max())
    rest = np.zeros_like(q)
    spans = tuple(slice(i * size, (i + 1) * size) for i in range(len(cases)))
    titles = tuple(", ".join(filter(None, pair[::-1])) for pair in product(_payload_titles(payloads), motions_by_name))
    weights = np.ones(size)
    weights[[0, -1]] = 0.5
    bare = [(loaded.with_rotors(0.0).mechanism(), span) for (_, loaded), span in zip(cases, spans, strict=True)]
    bare_parts = (
        _joined([torques(mechanism, q[s], qd[s], qdd[s]) for mechanism, s in bare]),
        _joined([torques(_smooth(mechanism), q[s], rest[s], rest[s]) for mechanism, s in bare]),
        _joined([_diagonal(_smooth(mechanism), q[s]) for mechanism, s in bare]),
    )
    points = [_with_point(robot.mechanism(), place) for place in places]
    torque_per_kilogram = np.array([torques(point, q, qd, qdd) for point in points])
    gravity_per_kilogram = np.array([torques(point, q, rest, rest) for point in points])
    inertia_per_kilogram = np.array([_diagonal(point, q) for point in points])
    per_kilogram = torque_per_kilogram, gravity_per_kilogram, inertia_per_kilogram
    joint_loads = []
    for j, joint in enumerate(robot.joints):
        carried = tuple(k for k in range(robot.n) if any(part[k, j].any() for part in per_kilogram))
        torque, gravity, inertia = (
            MassLinear(part[j], each[list(carried), j]) for part, each in zip(bare_parts, per_kilogram, strict=True)
        )
        joint_loads.append(
            JointLoad(
                name=joint.name,
                prismatic=joint.prismatic,
                carried=carried,
                q=q[:, j],
                qd=qd[:, j],
                qdd=qdd[:, j],
                torque=torque,
                gravity=gravity,
                inertia=inertia,
                cases=spans,
                titles=titles,
                weights=np.tile(weights / samples, len(cases)),
                times=np.concatenate(times),
            )
        )
    return tuple(joint_loads)


def _payload_titles(payloads: Sequence[Robot]) -> list[str]:
    """Return names of payloads: their masses, numbered where equal; empty for a single payload."""
    masses = [f"{0.0 if loaded.payload is None else loaded.payload.mass:g} kg" for loaded in payloads]
    if len(masses) == 1:
        return [""]
    return [f"payload {k + 1}, {mass}" if masses.count(mass) > 1 else mass for k, mass in enumerate(masses)]


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts, axis=1)


def _diagonal(mechanism: Mechanism, q: Array) -> Array:
    """Return the inertia about each joint: the diagonal of the mass matrix, by one unit acceleration at a time."""
    weightless = replace(mechanism.without_springs(), gravity=Vector(0.0, 0.0, 0.0))
    rest = np.zeros_like(q)
    rows = []
    for j in range(q.shape[1]):
        qdd = rest.copy()
        qdd[:, j] = 1.0
        rows.append(torques(weightless, q, rest, qdd)[j])
    return np.array(rows)


def _smooth(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism without friction and rotors."""
    free: dict[str, Any] = {"viscous": 0, "coulomb": 0, "smooth": 0, "armature": 0}
    return replace(mechanism, joints=tuple(replace(joint, **free) for joint in mechanism.joints))


def _with_point(mechanism: Mechanism, place: Mount) -> Mechanism:
    """Return the mechanism without masses but one kilogram at a mount."""
    point = Link(1.0, place.point, Symmetric(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    links = tuple(point if i == place.link else MASSLESS_LINK for i in range(mechanism.n))
    return replace(_smooth(mechanism).without_springs(), links=links)
