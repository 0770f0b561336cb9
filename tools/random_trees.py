"""All formulations on random trees: 1 to 40 bodies, joints of every kind, floating or not.

    python tools/random_trees.py [TREES]

Of every formulation the largest difference from the first of its problem, relative to the largest entry; of forward
dynamics from the accelerations that the torques were made of, over the condition of the mass matrix. The last lines are
against Pinocchio, where it is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import armwright as aw
from armwright.robot import random_tree
from armwright.trace import evaluation_strategy

LOOSEST = 1e-11


def main(count: int = 300) -> int:
    evaluation_strategy.MAX_UNROLLED_JOINTS = 0  # formulations run as they are written, without a compiler
    worst: dict[tuple[str, str], tuple[float, str]] = {}
    for seed in range(count):
        arm = tree(seed)
        for problem, name, error in differences(arm, seed):
            worst[problem, name] = max(worst.get((problem, name), (0.0, "")), (error, arm.name))
    for (problem, name), (error, where) in worst.items():
        print(f"{problem:20} {name:42} {error:.1e}  {where}")
    least = max(error for error, _ in worst.values())
    print(f"{count} trees, {least:.1e} at worst")
    return int(least > LOOSEST)


def tree(seed: int) -> aw.Robot:
    """With a payload in a tool on any of its links, in any gravity, friction and rotors on every second."""
    rng = np.random.default_rng(seed)
    arm = random_tree(1 + seed % 40, seed, floating=seed % 3 == 0).with_gravity(rng.normal(scale=6.0, size=3))
    arm = replace(arm, tip=int(rng.integers(len(arm.links)))).with_payload(1.0, rng.uniform(-0.2, 0.2, 3))
    if seed % 2:
        return arm
    plain = [joint.name for joint in arm.joints if joint.kind not in ("ball", "free", "planar")]
    return arm.with_friction(viscous=dict.fromkeys(plain, 0.3)).with_rotors(inertia=dict.fromkeys(plain, 0.05))


def differences(arm: aw.Robot, seed: int) -> Iterator[tuple[str, str, float]]:
    rng = np.random.default_rng(seed + 1)
    q, (qd, qdd) = arm.unit(rng.uniform(-2, 2, arm.nq)), rng.uniform(-2, 2, (2, arm.n))
    load = {"tip_wrench": rng.normal(size=6), "link_wrenches": rng.normal(size=(len(arm.links), 6))}
    tau, M = arm.inverse_dynamics(q, qd, qdd, **load), arm.mass_matrix(q)
    condition = float(np.linalg.cond(M))
    asked: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], float]] = {
        "inverse_dynamics": (tau, (q, qd, qdd), load, 1.0),
        "bias": (arm.bias(q, qd, **load), (q, qd), load, 1.0),
        "mass_matrix": (M, (q,), {}, 1.0),
        "forward_dynamics": (qdd, (q, qd, tau), load, condition),
    }
    for problem, (expected, state, loads, scale) in asked.items():
        for f in aw.formulations(problem):
            if not f.refusal(arm.mechanism()):
                found = getattr(arm, problem)(*state, **loads, formulation=f.name)
                yield problem, f.name, relative(found, expected) / scale
    try:
        from armwright.study.peers.pinocchio import Pinocchio  # noqa: PLC0415
    except ImportError:
        return
    bare = arm.map_joints(lambda joint: replace(joint, viscous=0.0, coulomb=0.0))
    peer, tip = Pinocchio(bare), load["tip_wrench"]
    torques = bare.inverse_dynamics(q, qd, qdd, tip)
    yield "inverse_dynamics", "Pinocchio", relative(peer.inverse_dynamics(q, qd, qdd, tip), torques)
    yield "mass_matrix", "Pinocchio", relative(peer.mass_matrix(q), M)
    yield "forward_dynamics", "Pinocchio", relative(peer.forward_dynamics(q, qd, torques, tip), qdd) / condition


def relative(got: Any, expected: Any) -> float:
    return float(np.max(np.abs(np.asarray(got) - expected)) / np.max(np.abs(expected)))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
