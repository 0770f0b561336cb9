"""All formulations of a problem give the same numbers, on robots nobody designed."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import BIASES, FORWARD, INVERSE, MATRICES, close, random_case

import armwright as aw

pytestmark = pytest.mark.usefixtures("uncompiled")

TOLERANCE = 1e-11
CASES = [(1 + seed % 12, seed) for seed in range(300)]


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_every_formulation_agrees_on_a_random_robot(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=seed % 3 == 0)
    arm, loads = case.arm, {"tip_wrench": case.tip_wrench, "link_wrenches": case.link_wrenches}
    tau = arm.inverse_dynamics(*case.state, **loads)
    for f in INVERSE[1:]:
        close(arm.inverse_dynamics(*case.state, **loads, formulation=f.name), tau, TOLERANCE)

    bias = arm.bias(case.q, case.qd, **loads)
    for f in BIASES[1:]:
        close(arm.bias(case.q, case.qd, **loads, formulation=f.name), bias, TOLERANCE)

    M = arm.mass_matrix(case.q)
    for f in MATRICES[1:]:
        close(arm.mass_matrix(case.q, formulation=f.name), M, TOLERANCE)
    close(M @ case.qdd + bias, tau, TOLERANCE)

    condition = np.linalg.cond(M)
    for f in FORWARD:
        qdd = arm.forward_dynamics(case.q, case.qd, tau, **loads, formulation=f.name)
        close(qdd, case.qdd, TOLERANCE * condition)


def test_formulations_agree_on_packaged_robots(robot_name: str) -> None:
    arm = aw.load(robot_name)
    rng = np.random.default_rng(3)
    q, (qd, qdd) = arm.unit(rng.uniform(-1.5, 1.5, (20, arm.nq))), rng.uniform(-1.5, 1.5, (2, 20, arm.n))
    tau = arm.inverse_dynamics(q, qd, qdd)
    for f in INVERSE[1:]:
        close(arm.inverse_dynamics(q, qd, qdd, formulation=f.name), tau, TOLERANCE)
    condition = np.linalg.cond(arm.mass_matrix(q)).max()
    for f in (f for f in FORWARD if f.takes(arm.mechanism())):
        close(arm.forward_dynamics(q, qd, tau, formulation=f.name), qdd, TOLERANCE * condition)


def test_one_torque_without_the_others_is_that_torque() -> None:
    case = random_case(7, 5, actuators=True)
    tau = case.arm.inverse_dynamics(*case.state)
    alone = [case.arm.joint_torque(j, *case.state) for j in range(7)]
    close(alone, tau, TOLERANCE)
    loads = {"tip_wrench": case.tip_wrench, "link_wrenches": case.link_wrenches}
    close(case.arm.joint_torque(2, *case.state, **loads), case.arm.inverse_dynamics(*case.state, **loads)[2], TOLERANCE)


def test_a_wrench_at_the_tip_is_a_wrench_on_the_last_link() -> None:
    case = random_case(5, 8)
    arm = case.arm.with_tool(np.eye(4))
    on_links = np.zeros((5, 6))
    on_links[-1] = case.tip_wrench
    close(
        arm.inverse_dynamics(*case.state, link_wrenches=on_links),
        arm.inverse_dynamics(*case.state, tip_wrench=case.tip_wrench),
        1e-14,
    )


@pytest.mark.parametrize("gear", [1e2, 1e3, 1e4])
def test_heavy_rotors_cost_no_accuracy(gear: float) -> None:
    """Eliminating a joint must not subtract the rotor from itself."""
    case = random_case(6, 2)
    joints = tuple(replace(j, rotor_inertia=1.0, gear=gear) if i % 2 else j for i, j in enumerate(case.arm.joints))
    arm = replace(case.arm, joints=joints)
    tau = arm.inverse_dynamics(*case.state)
    for f in FORWARD:
        close(arm.forward_dynamics(case.q, case.qd, tau, formulation=f.name), case.qdd, 1e-11)


def test_payload_equals_a_heavier_last_link() -> None:
    """Held in a tool that is frame n itself, a payload is a second body on the last link."""
    case = random_case(4, 11)
    arm = case.arm.without_payload().with_tool(np.eye(4))
    rows = _rows(arm)
    rows[-1]["point_masses"] = [{"mass": 1.5, "at": [0.1, -0.2, 0.3]}]
    heavier = aw.Robot.from_dh(rows, "modified", gravity=arm.gravity, base=arm.base)
    held = arm.with_payload(1.5, [0.1, -0.2, 0.3])
    close(held.inverse_dynamics(*case.state), heavier.inverse_dynamics(*case.state), 1e-13)
    assert held.without_payload() == arm


def _rows(arm: aw.Robot) -> list[dict]:
    keys = ("type", "alpha", "a", "d", "theta")
    return [
        {**{k: getattr(j, k) for k in keys}, "mass": link.mass, "com": link.com, "inertia": link.inertia}
        for j, link in zip(arm.joints, arm.links, strict=True)
    ]
