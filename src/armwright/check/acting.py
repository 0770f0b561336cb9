"""What acts on a robot besides its weight, as two robots are compared by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armwright.algebra import Array, Scalar
from armwright.formulations.parts import springs
from armwright.formulations.parts.coordinates import placed, positions
from armwright.formulations.parts.coordinates import rates as of_joints
from armwright.formulations.parts.rotors_and_friction import friction, rotor_torques
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import Mechanism
from armwright.model.records import JointModel, LinkModel
from armwright.model.row_joints import SPRING_KEYS


def spring(joint: JointModel) -> str:
    """The numbers of a spring, as a file would have them."""
    said = [f"{key} = {getattr(joint, key)}" for key in SPRING_KEYS if getattr(joint, key)]
    return ", ".join(said) if joint.sprung else "no spring"


def pulls(mechanism: Mechanism, q: Coordinates) -> list[Scalar]:
    """The torques of the springs."""
    there = placed(replace(mechanism, compensated=()), q)
    return springs.torques(there, positions(there, q))


def rubbing(mechanism: Mechanism, qd: Coordinates) -> list[Scalar]:
    """That of a robot whose balls are not turned, without loops."""
    level = {"ball": (0, 0, 0, 1), "planar": (0, 0, 1, 0), "free": (0, 0, 0, 0, 0, 0, 1)}
    balls = tuple(replace(ball, at=level[ball.kind]) for ball in mechanism.balls)
    return friction(replace(mechanism, balls=balls), qd)


def rotors(mechanism: Mechanism, qdd: Coordinates) -> list[Scalar]:
    """What it takes to accelerate the rotors of a robot without loops."""
    return rotor_torques(mechanism, of_joints(mechanism, qdd))


def carried(links: tuple[LinkModel, LinkModel], frames: tuple[Array, Array], tolerance: float, reach: float) -> str:
    """What differs in the weight of a link that no drive carries; nothing where nothing does."""
    one, two = links
    m, n = one.compensated_mass, two.compensated_mass
    if abs(m - n) > tolerance * max(abs(m), abs(n)):
        return f"the weight of {m:.6g} kg is carried here, {n:.6g} there"
    here, there = ((T @ [*link.compensated_com, 1.0])[:3] for T, link in zip(frames, links, strict=True))
    away = float(np.linalg.norm(here - there))
    return f"the weight is carried {away:.4g} m apart" if m and away > tolerance * reach else ""
