"""Every URDF of example-robot-data as a whole robot, on the ground and floating, beside Pinocchio reading the same file.

    python tools/whole_robots.py [part of a path ...] [--states 100]

One line per robot with the largest difference from Pinocchio, relative to the largest entry, over random states; then the
worst of each. Of forward dynamics the torques are compared that Pinocchio needs for the accelerations. Joints that follow
others move by themselves, friction and rotors are left out, as Pinocchio has neither. A dash: Pinocchio or armwright does
not have it for this robot, which the end of the line says. Formulations run as they are written; nothing is compiled.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import armwright as aw
from armwright.check.evaluation import random_states, rigid_bodies_only
from armwright.identify import parameters, regressor
from armwright.trace import evaluation_strategy

FRAMES = 5
"""Frames of a robot whose Jacobians are compared."""

SINGULAR = 1e13
"""Condition of a mass matrix from which on there is nothing to solve for."""

Values = list[np.ndarray]


class Peer:
    """Pinocchio's model of a file, asked in our coordinates."""

    def __init__(self, path: Path, floating: bool) -> None:
        more = [pin.JointModelFreeFlyer()] if floating else []
        self.model = pin.buildModelFromUrdf(str(path), *more)
        self.data = self.model.createData()

    def position(self, q: np.ndarray) -> np.ndarray:
        """Joints without limits are cosine and sine there."""
        parts, place = [], 0
        for joint in self.model.joints[1:]:
            wide = joint.nq == 2 and joint.nv == 1
            own = q[place : place + (1 if wide else joint.nq)]
            parts.append([np.cos(own[0]), np.sin(own[0])] if wide else own)
            place += len(own)
        return np.concatenate(parts)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        full = np.triu(pin.crba(self.model, self.data, q))
        return full + np.triu(full, 1).T

    def jacobian(self, q: np.ndarray, frame: str) -> np.ndarray:
        where = self.model.getBodyId(frame)
        return pin.computeFrameJacobian(self.model, self.data, q, where, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)

    def momentum(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return pin.computeCentroidalMomentum(self.model, self.data, q, qd).vector

    def derivatives(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        dq, dv, _ = pin.computeRNEADerivatives(self.model, self.data, q, qd, qdd)
        return np.stack([dq, dv, self.mass_matrix(q)])


def compared(robot: aw.Robot, peer: Peer, count: int) -> dict[str, float | str]:
    """Each quantity with its largest relative difference, or why there is none."""
    q, qd, qdd = random_states(robot, count)
    there = [peer.position(x) for x in q]
    model, data = peer.model, peer.data
    tau = np.array([pin.rnea(model, data, *state) for state in zip(there, qd, qdd, strict=True)])
    M = np.array([peer.mass_matrix(x) for x in there])
    scale = float(np.abs(tau).max())

    def needed(found: np.ndarray) -> np.ndarray:
        """The torques that Pinocchio finds for accelerations: theirs differ by the condition of the mass matrix."""
        return np.array([pin.rnea(model, data, *state) for state in zip(there, qd, found, strict=True)])

    names = [frame.name for frame in robot.frames if frame.link >= 0]
    frames = names[:: max(1, len(names) // FRAMES)][:FRAMES]
    asked: dict[str, tuple[Callable[[], Any], Callable[[], Any], float]] = {
        "inverse": (lambda: robot.inverse_dynamics(q, qd, qdd), lambda: tau, 0.0),
        "forward": (lambda: needed(robot.forward_dynamics(q, qd, tau)), lambda: solvable(M, tau), 0.0),
        "M": (lambda: robot.mass_matrix(q), lambda: M, 0.0),
        "gravity": (
            lambda: robot.gravity_torque(q),
            lambda: [pin.computeGeneralizedGravity(model, data, x) for x in there],
            scale,
        ),
        "kinetic": (
            lambda: robot.kinetic_energy(q, qd),
            lambda: [pin.computeKineticEnergy(model, data, *x) for x in zip(there, qd, strict=True)],
            0.0,
        ),
        "potential": (
            lambda: robot.potential_energy(q),
            lambda: [pin.computePotentialEnergy(model, data, x) for x in there],
            scale,
        ),
        "Jacobians": (
            lambda: [robot.jacobian(q, frame) for frame in frames],
            lambda: [[peer.jacobian(x, frame) for x in there] for frame in frames],
            1.0,
        ),
        "momentum": (
            lambda: robot.centroidal_momentum(q, qd),
            lambda: [peer.momentum(*x) for x in zip(there, qd, strict=True)],
            0.0,
        ),
        "regressor": (lambda: regressor(robot, q, qd, qdd) @ parameters(robot), lambda: tau, 0.0),
        "derivatives": (
            lambda: np.stack(robot.inverse_dynamics_derivatives(q[:3], qd[:3], qdd[:3]), axis=1),
            lambda: [peer.derivatives(*x) for x in zip(there[:3], qd[:3], qdd[:3], strict=True)],
            0.0,
        ),
    }
    return {what: difference(*ask) for what, ask in asked.items()}


def solvable(M: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The torques, unless some joint moves no mass and there are no accelerations to find."""
    if np.linalg.cond(M).max() > SINGULAR:
        raise aw.InputError("singular mass matrix")
    return tau


def difference(ours: Callable[[], Any], theirs: Callable[[], Any], least: float) -> float | str:
    try:
        expected = np.asarray(theirs(), dtype=float)
        got = np.asarray(ours(), dtype=float)
    except (aw.ArmwrightError, ArithmeticError) as error:
        return str(error).split("\n")[0]
    size = max(float(np.abs(expected).max(initial=0.0)), least)
    return float(np.abs(got - expected).max(initial=0.0)) / size if size else float(np.abs(got).max(initial=0.0))


def line(path: Path, floating: bool, count: int, worst: dict[str, float]) -> str:
    """What is printed of one robot; `worst` is kept up to date."""
    try:
        peer = Peer(path, floating)
    except (ValueError, RuntimeError) as error:
        return f"Pinocchio refuses it: {str(error).split(chr(10))[0]}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = rigid_bodies_only(aw.load(path, floating=floating, visuals=False).without_couplings())
            found = compared(robot, peer, count)
    except aw.ArmwrightError as error:
        return f"not loaded: {str(error).split(chr(10))[0]}"
    for what, value in found.items():
        if isinstance(value, float):
            worst[what] = max(worst.get(what, 0.0), value)
    values = " ".join(
        f"{what} {value:.0e}" if isinstance(value, float) else f"{what} -" for what, value in found.items()
    )
    reasons = {value for value in found.values() if isinstance(value, str)}
    return f"nq {robot.nq}, n {robot.n}: {values}{'; ' if reasons else ''}{'; '.join(sorted(reasons))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--states", type=int, default=100)
    chosen = parser.parse_args()
    evaluation_strategy.MAX_UNROLLED_JOINTS = 0  # as written
    folder = next(Path(sys.prefix).rglob("example-robot-data/robots"))
    files = [path for path in sorted(folder.rglob("*.urdf")) if any(p in str(path) for p in chosen.paths or [""])]
    worst: dict[str, float] = {}
    compared_with = 0
    for path in files:
        for floating in (False, True):
            text = line(path, floating, chosen.states, worst)
            compared_with += text.startswith("nq")
            print(f"{path.relative_to(folder)}{' floating' if floating else ''}: {text}", flush=True)
    print(f"\n{compared_with} robots compared; the worst: " + ", ".join(f"{k} {v:.1e}" for k, v in worst.items()))


if __name__ == "__main__":
    main()
