"""Pinocchio and MuJoCo, built from the same robot, give the same numbers."""

import importlib
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close, random_case, random_transform

import armwright as aw
from armwright.model.transforms import IDENTITY_TRANSFORM
from armwright.robot import random_tree
from armwright.study.peers.mujoco import MuJoCo
from armwright.study.peers.pinocchio import Pinocchio

CASES = [(1 + seed % 7, seed) for seed in range(28)]


def frictionless(case):
    """Rotors but no Coulomb friction, which the peers have in other forms."""
    joints = tuple(replace(j, viscous=0.0, coulomb=0.0) for j in case.arm.joints)
    return replace(case, arm=replace(case.arm, joints=joints))


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_pinocchio_agrees(n: int, seed: int) -> None:
    case = frictionless(random_case(n, seed, actuators=seed % 2 == 0))
    arm, peer = case.arm, Pinocchio(case.arm)
    q, qd, qdd = case.state
    tau = peer.inverse_dynamics(q, qd, qdd, case.tip_wrench)
    close(arm.inverse_dynamics(q, qd, qdd, case.tip_wrench), tau, 1e-12)
    M = peer.mass_matrix(q)
    close(arm.mass_matrix(q), M, 1e-12)
    close(arm.gravity_torque(q), peer.gravity_torque(q), 1e-12)
    still = np.zeros(n)
    total = np.abs(arm.inverse_dynamics(q, qd, still)).max()
    assert np.abs(arm.coriolis_matrix(q, qd) @ qd - peer.coriolis_torque(q, qd)).max() <= 1e-12 * total
    qdd_peer = peer.forward_dynamics(q, qd, tau, case.tip_wrench)
    close(arm.forward_dynamics(q, qd, tau, case.tip_wrench), qdd_peer, 1e-13 * max(10.0, np.linalg.cond(M)))


@pytest.mark.parametrize(("n", "seed"), CASES[:10])
def test_pinocchio_has_the_same_energies(n: int, seed: int) -> None:
    case = random_case(n, seed)
    kinetic, potential = Pinocchio(case.arm).energies(case.q, case.qd)
    close(case.arm.kinetic_energy(case.q, case.qd), kinetic, 1e-12)
    scale = np.linalg.norm(case.arm.gravity) * sum(link.mass for link in case.arm.links)
    assert abs(case.arm.potential_energy(case.q) - potential) <= 1e-12 * scale


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_mujoco_agrees(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=seed % 2 == 0)
    joints = tuple(replace(j, coulomb=0.0) for j in case.arm.joints)  # MuJoCo has viscous damping, too
    arm = replace(case.arm, joints=joints)
    peer = MuJoCo(arm)
    close(arm.mass_matrix(case.q), peer.mass_matrix(case.q), 1e-12)
    tau = peer.inverse_dynamics(*case.state, case.tip_wrench)
    close(arm.inverse_dynamics(*case.state, case.tip_wrench), tau, 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_mujoco_agrees_on_trees(seed: int) -> None:
    arm = random_tree(1 + seed, seed, floating=seed % 2 == 0).with_base(random_transform(np.random.default_rng(seed)))
    arm = arm.with_tip("link1").with_tool(random_transform(np.random.default_rng(seed + 1))).with_payload(2.0)
    peer, rng = MuJoCo(arm), np.random.default_rng(seed)
    q, (qd, qdd), wrench = arm.unit(rng.normal(size=arm.nq)), rng.normal(size=(2, arm.n)), rng.normal(size=6)
    close(arm.mass_matrix(q), peer.mass_matrix(q), 1e-12)
    close(arm.inverse_dynamics(q, qd, qdd, wrench), peer.inverse_dynamics(q, qd, qdd, wrench), 1e-12)


@pytest.mark.parametrize(("module", "name"), [("frax", "Frax"), ("toolbox", "RoboticsToolbox")])
def test_the_other_peers_of_the_benchmark_compute_the_same(module: str, name: str) -> None:
    pytest.importorskip({"frax": "frax", "toolbox": "roboticstoolbox"}[module], reason=f"{module} is not installed")
    arm = aw.load("puma560")
    peer = getattr(importlib.import_module(f"armwright.study.peers.{module}"), name)(arm)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 1, 6))
    batch = slice(None) if module == "frax" else 0
    close(
        np.asarray(peer.inverse_dynamics(q[batch], qd[batch], qdd[batch])),
        arm.inverse_dynamics(q, qd, qdd)[batch],
        1e-12,
    )
    close(np.asarray(peer.mass_matrix(q[batch])), arm.mass_matrix(q)[batch], 1e-12)


def test_casadi_computes_the_same(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler on this machine")
    arm = aw.load("stanford")
    state = np.random.default_rng(0).uniform(-1, 1, (3, 5, 6))
    casadi = pytest.importorskip("armwright.study.peers.casadi", reason="CasADi is not installed")
    close(
        casadi.CasADi(arm, 5, tmp_path).inverse_dynamics(*(x.T for x in state)).T, arm.inverse_dynamics(*state), 1e-12
    )


PEERS = {"pinocchio": "Pinocchio", "mujoco": "MuJoCo", "frax": "Frax", "toolbox": "RoboticsToolbox", "casadi": "CasADi"}


def torques_by(peer: str, arm: aw.Robot, state: np.ndarray, folder: Path) -> np.ndarray:
    """Torques (k, n) of states (3, k, n), each peer called as it likes best."""
    made = getattr(pytest.importorskip(f"armwright.study.peers.{peer}", exc_type=ImportError), PEERS[peer])
    if peer == "casadi":
        return made(arm, state.shape[1], folder).inverse_dynamics(*(x.T for x in state)).T
    model = made(arm)
    if peer == "frax":
        return np.asarray(model.inverse_dynamics(*state))
    more = () if peer == "toolbox" else (np.zeros(6),)
    return np.array([model.inverse_dynamics(*each, *more) for each in zip(*state, strict=True)])


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("robot", ["kinova_jaco", "stanford"])
def test_a_payload_is_held_by_the_tool_that_stands_after_the_flange(peer: str, robot: str, tmp_path: Path) -> None:
    if peer == "casadi" and shutil.which("cc") is None:
        pytest.skip("no C compiler on this machine")
    rng = np.random.default_rng(3)
    bare = aw.load(robot).with_base(random_transform(rng)).with_tool(random_transform(rng))
    bare = replace(bare, flange=tuple(map(tuple, random_transform(rng).tolist())))
    arm = bare.with_payload(3.0, [0.05, -0.1, 0.2], np.diag([0.02, 0.03, 0.04]))
    state = rng.uniform(-1, 1, (3, 4, arm.n))
    ours = arm.inverse_dynamics(*state)
    close(torques_by(peer, arm, state, tmp_path), ours, 1e-10)
    elsewhere = replace(arm, flange=IDENTITY_TRANSFORM).inverse_dynamics(*state)
    assert np.abs(ours - elsewhere).max() > 1e-4 * np.abs(ours).max()
