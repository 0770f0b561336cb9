"""Torques of springs, friction and rotors, and differences of compensated weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armwright.algebra import Array, Scalar
from armwright.formulations.parts import rotors_and_friction, springs
from armwright.formulations.parts.coordinates import mechanism_at, positions
from armwright.formulations.parts.coordinates import rates as of_joints
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import Mechanism
from armwright.model.records import JointModel, LinkModel
from armwright.model.row_joints import SPRING_KEYS


def spring_text(joint: JointModel) -> str:
    """Return the numbers of a spring as they stand in a file."""
    values = [f"{key} = {getattr(joint, key)}" for key in SPRING_KEYS if getattr(joint, key)]
    return ", ".join(values) if joint.sprung else "no spring"


def spring_torques(mechanism: Mechanism, q: Coordinates) -> list[Scalar]:
    """Return the torques of the springs."""
    mechanism = mechanism_at(replace(mechanism, compensated=()), q)
    return springs.torques(mechanism, positions(mechanism, q))


def friction_torques(mechanism: Mechanism, qd: Coordinates) -> list[Scalar]:
    """Return the friction of a robot without loops, with its ball, planar and free joints at zero."""
    zero = {"ball": (0, 0, 0, 1), "planar": (0, 0, 1, 0), "free": (0, 0, 0, 0, 0, 0, 1)}
    balls = tuple(replace(ball, at=zero[ball.kind]) for ball in mechanism.balls)
    return rotors_and_friction.friction(replace(mechanism, balls=balls), qd)


def rotor_torques(mechanism: Mechanism, qdd: Coordinates) -> list[Scalar]:
    """Return the torques that accelerate the rotors of a robot without loops."""
    return rotors_and_friction.rotor_torques(mechanism, of_joints(mechanism, qdd))


def compensation_difference(
    links: tuple[LinkModel, LinkModel], frames: tuple[Array, Array], tolerance: float, reach: float
) -> str:
    """Return a sentence about the difference of the compensated weight of a link; empty if there is none."""
    one, two = links
    m, n = one.compensated_mass, two.compensated_mass
    if abs(m - n) > tolerance * max(abs(m), abs(n)):
        return f"the weight of {m:.6g} kg is compensated here, {n:.6g} there"
    here, there = ((T @ [*link.compensated_com, 1.0])[:3] for T, link in zip(frames, links, strict=True))
    distance = float(np.linalg.norm(here - there))
    return f"the weight is compensated {distance:.4g} m apart" if m and distance > tolerance * reach else ""
