"""Joints that follow others by curves, and several others: exactly, and as MuJoCo's equations would have them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close
from mujoco_oracle import mujoco, state_there, torques

import armwright as aw
from armwright.check.compare import compare
from armwright.model.followers import split_followers
from armwright.model.mimic import Mimic
from armwright.model.mjcf.elimination import Contradiction, Elimination
from armwright.robot import random_tree

INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.03 0.02 0.04"/>'


def curved(arm: aw.Robot, seed: int) -> aw.Robot:
    """The robot with some of its joints following the first of one freedom by polynomials."""
    rng, rows = np.random.default_rng(seed), list(arm.rows)
    leader, *others = (row.name for row in rows if not row.kind)
    for i, row in enumerate(rows):
        if row.name in others and rng.random() < 0.6:
            offset, factor, *curve = rng.normal(size=5, scale=0.5).tolist()
            rows[i] = replace(row, mimic=Mimic(leader, factor, offset, curve=tuple(curve)))
    joints, followers = split_followers(rows)
    assert followers
    return replace(arm, joints=joints, followers=followers)


def state(arm: aw.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return arm.unit(rng.normal(size=arm.nq)), *rng.normal(size=(2, arm.n))


@pytest.mark.parametrize("seed", [2, 3, 4, 8])
@pytest.mark.usefixtures("uncompiled")
def test_curves_in_every_formulation(seed: int) -> None:
    """MuJoCo's torques of the tree, on the positions, velocities and accelerations that the curve makes."""
    arm = curved(random_tree(2 + seed % 6, seed, kinds=("revolute", "prismatic", "ball"), floating=seed % 3 == 0), seed)
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    q, qd, qdd = state(arm, seed)
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    tau = B.T @ torques(model, qpos, qvel, qacc)
    for f in aw.formulations("inverse_dynamics"):
        if not f.refusal(arm.mechanism()):
            close(arm.inverse_dynamics(q, qd, qdd, formulation=f.name), tau, 1e-11)
    for f in aw.formulations("forward_dynamics"):
        if not f.refusal(arm.mechanism()):
            close(arm.forward_dynamics(q, qd, tau, formulation=f.name), qdd, 1e-9)
    close(arm.bias(q, qd), tau - arm.mass_matrix(q) @ qdd, 1e-10)
    close([arm.joint_torque(i, q, qd, qdd) for i in range(arm.n)], tau, 1e-11)
    C = arm.coriolis_matrix(q, qd)
    close(C @ qd + arm.gravity_torque(q), arm.bias(q, qd), 1e-10)
    if not arm.balls:
        places = [arm.integrate(q, k * 1e-4 * qd) for k in (-2, -1, 1, 2)]
        a, b, c, d = (arm.mass_matrix(place) for place in places)
        skew = (a - 8 * b + 8 * c - d) / 12e-4 - 2 * C
        assert np.abs(skew + skew.T).max() < 1e-6 * np.abs(C).max()


def test_a_robot_that_follows_by_curves_compiled(tmp_path: Path) -> None:
    """Derivatives by the trace, a run in balance, kinematics and back, files, and what is shown."""
    arm = replace(curved(random_tree(3, 2, kinds=("revolute",)), 3), tip=2)
    q, qd, qdd = state(arm)
    by_q = arm.inverse_dynamics_derivatives(q, qd, qdd)[0]
    steps = 1e-6 * np.eye(arm.n)
    close(
        by_q,
        np.transpose([arm.inverse_dynamics(q + e, qd, qdd) - arm.inverse_dynamics(q - e, qd, qdd) for e in steps])
        / 2e-6,
        1e-6,
    )
    run = aw.simulate(arm, None, q, qd, duration=0.1)
    assert run.audit.energy_error < 1e-7 and not run.audit.doubts
    T = arm.forward_kinematics(q)
    found = arm.inverse_kinematics(T, q + 0.01)
    close(arm.forward_kinematics(found), T, 1e-6)
    (tmp_path / "robot.toml").write_text(arm.to_toml())
    assert aw.load(tmp_path / "robot.toml") == arm
    assert re.search(r"joint\d is at .* q\^4 where joint1 is at q", str(arm).replace("\n", " "))
    assert "f(q1)" in str(arm)
    with pytest.raises(aw.ModelError, match=r"which follows by a curve; write it as TOML .* or MJCF"):
        arm.to_urdf()


FINGERS = f"""<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="f">
<joint name="a" axis="0 1 0" ref="10"/>{INERTIAL}<body pos="0.2 0 0">
<joint name="b" type="slide" axis="0 1 1" ref="0.3"/>{INERTIAL}<body pos="0.2 0 0">
<joint name="c" axis="1 1 0" ref="-20"/>{INERTIAL}<body pos="0.2 0 0">
<joint name="d" axis="0 1 0"/>{INERTIAL}</body></body></body></body></worldbody>"""
TENDONS = """<tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="b" coef="-3"/><joint joint="c" coef="1"/>
</fixed><fixed name="u"><joint joint="c" coef="0.5"/><joint joint="d" coef="2"/></fixed><fixed name="v"><joint joint="d" coef="2"/>
</fixed><fixed name="w"><joint joint="a" coef="0.5"/></fixed></tendon>"""
EQUATIONS = {
    "a curve": '<joint joint1="b" joint2="a" polycoef="0.1 0.4 -0.3 0.2 0.1"/>',
    "a curve without a straight part": '<joint joint1="b" joint2="a" polycoef="0 0 0.5 0 0"/>',
    "a curve of a curve": '<joint joint1="c" joint2="b" polycoef="0 1 0.2 0 0"/><joint joint1="b" joint2="a" polycoef="0 1 0.4 0 0"/>',
    "one that follows what follows by a curve": '<joint joint1="b" joint2="a" polycoef="0 1 0.4 0 0"/><joint joint1="c" joint2="b" polycoef="1 -2 0 0 0"/>',
    "a curve over one that follows": '<joint joint1="c" joint2="b" polycoef="0 1 0.2 0 0"/><joint joint1="b" joint2="a" polycoef="0.3 2 0 0 0"/>',
    "a sum": '<tendon tendon1="t" polycoef="0.1 0 0 0 0"/>',
    "a sum by another": '<tendon tendon1="t" tendon2="u" polycoef="0.1 0.7 0 0 0"/>',
    "two sums": '<tendon tendon1="t" polycoef="0.1 0 0 0 0"/><tendon tendon1="u" tendon2="w" polycoef="0 1 0 0 0"/>',
    "a sum and a pair": '<tendon tendon1="t"/><joint joint1="c" joint2="a" polycoef="0 0.5 0 0 0"/>',
    "a sum and one that stands": '<tendon tendon1="t"/><joint joint1="c" polycoef="0.3 0 0 0 0"/>',
    "tendons of one joint each": '<tendon tendon1="v" tendon2="w" polycoef="0.1 0.3 0.2 0 0"/>',
    "sums and a curve": '<tendon tendon1="t"/><joint joint1="d" joint2="c" polycoef="0.1 1 0.2 0 0"/>',
}


@pytest.mark.parametrize("what", EQUATIONS)
@pytest.mark.usefixtures("uncompiled")
def test_equations_of_joints_and_fixed_tendons_hold(what: str, tmp_path: Path, recwarn) -> None:
    """MuJoCo finds no residual where the joints are, and its torques along the motion are ours."""
    text = f"{FINGERS}{TENDONS}<equality>{EQUATIONS[what]}</equality></mujoco>"
    (tmp_path / "robot.xml").write_text(text)
    arm, model = aw.load(tmp_path / "robot.xml"), mujoco.MjModel.from_xml_string(text)
    assert not [w for w in recwarn if "not taken over" in str(w.message)]
    q, qd, qdd = (0.3 * x for x in state(arm))
    fixed = {name for name in "abcd" if name not in [row.name for row in arm.rows]}
    held = {name: 0.3 + np.deg2rad(-20) for name in fixed}
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    for name, value in held.items():
        qpos[model.joint(name).qposadr[0]] = value
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(model, data)
    J = data.efc_J.reshape(-1, model.nv)[: data.ne]
    assert data.ne == EQUATIONS[what].count("polycoef") + EQUATIONS[what].count('"t"/>')
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-12 and np.abs(J @ B).max() < 1e-12
    close(B.T @ torques(model, qpos, qvel, qacc), arm.inverse_dynamics(q, qd, qdd), 1e-11)


LEFT_OUT = {
    "the curved coupling of b to a": '<joint joint1="b" joint2="a" polycoef="0 1 0.5 0 0"/><joint joint1="b" joint2="c" polycoef="0 1 0 0 0"/>',
    "the curved coupling of a to b": '<joint joint1="b" joint2="a" polycoef="0 1 0.5 0 0"/><joint joint1="a" joint2="b" polycoef="0 1 0.5 0 0"/>',
    "the curved coupling of a to b, c, d": '<tendon tendon1="w" tendon2="x" polycoef="0 1 0.5 0 0"/>',
    "the equation of a spatial tendon in line 9": '<tendon tendon1="s"/><tendon tendon1="s" active="false"/>',
}
MORE = """<fixed name="x"><joint joint="b" coef="1"/><joint joint="c" coef="1"/><joint joint="d" coef="1"/></fixed>
<spatial name="s"><site site="p"/><site site="o"/></spatial></tendon>"""


@pytest.mark.parametrize("what", LEFT_OUT)
def test_couplings_that_are_not_taken_over_are_named(what: str, tmp_path: Path) -> None:
    text = f"{FINGERS}{TENDONS}<equality>\n{LEFT_OUT[what]}</equality></mujoco>".replace("</tendon>", MORE)
    text = text.replace('<joint name="d"', '<site name="p"/><joint name="d"').replace(
        "<worldbody>", '<worldbody><site name="o"/>'
    )
    (tmp_path / "robot.xml").write_text(text)
    with pytest.warns(aw.ModelWarning, match=f"not taken over: {what}$"):
        aw.load(tmp_path / "robot.xml")


def test_sums_are_solved_together() -> None:
    """Three equations of four joints leave one to lead; one that says the same again adds nothing."""
    found, rng = Elimination(), np.random.default_rng(0)
    A, b = rng.normal(size=(3, 4)), rng.normal(size=3)
    for row, value in zip(A, b, strict=True):
        found.add_sum(dict(enumerate(row)), value)
    found.add_sum(dict(enumerate(A[0] - 2 * A[1])), b[0] - 2 * b[1])
    with pytest.raises(Contradiction):
        found.add_sum(dict(enumerate(A[0] - 2 * A[1])), b[0] - 2 * b[1] + 0.1)
    follows = found.solved()
    assert len(follows) == 3
    q = dict.fromkeys(range(4), 0.7)
    for _ in range(4):  # lines of followers
        q |= {joint: f.offset + sum(k * q[other] for other, k in f.terms) for joint, f in follows.items()}
    close(A @ [q[i] for i in range(4)], b, 1e-12)


def test_a_branch_of_a_tree_with_sums(tmp_path: Path) -> None:
    """A joint that is locked is a part of the offset; a follower beside the chain is not left alone."""
    (tmp_path / "robot.xml").write_text(f'{FINGERS}{TENDONS}<equality><tendon tendon1="t"/></equality></mujoco>')
    whole = aw.load(tmp_path / "robot.xml")
    arm = aw.load(tmp_path / "robot.xml", locked={"c": 0.4})
    [follower], [own] = arm.followers, whole.followers
    assert (follower.name, own.name) == ("b", "b")
    factors = dict(own.mimic.leaders)
    assert follower.mimic.leaders == (("a", factors["a"]),)
    close(follower.mimic.offset, own.mimic.offset + factors["c"] * 0.4, 1e-12)
    with pytest.raises(aw.ModelError, match="MuJoCo follows one; write it as TOML"):
        whole.to_mjcf()
    (tmp_path / "robot.toml").write_text(whole.to_toml())
    assert compare(aw.load(tmp_path / "robot.toml"), whole).same


@pytest.mark.usefixtures("uncompiled")
def test_a_curve_in_a_loop() -> None:
    """A four-bar whose crank follows by a curve: its motion is found from both."""
    body = {"type": "revolute", "alpha": 0, "d": 0, "mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.01] * 3 + [0] * 3}
    rows = [
        {**body, "a": a, "joint": name, "name": f"link_{name}"} for name, a in zip("abc", (0, 0.4, 0.5), strict=True)
    ]
    lead = {**body, "a": 0, "joint": "lead", "parent": 0, "name": "wheel"}
    rows[0] |= {"mimic": {"joint": "lead", "factor": 0.5, "offset": 1.2, "curve": [0.1]}}
    arm = aw.Robot.from_dh([lead, {**rows[0], "parent": 0}, *rows[1:]], "modified", gravity=[0, -9.81, 0])
    arm = arm.with_loop(
        ["base", "link_c"], [(0.6, 0, 0), (0.45, 0, 0)], dependent=["b", "c"], reference={"b": -1, "c": -1}
    )
    q, qd, qdd = np.array([0.3]), np.array([0.7]), np.array([0.4])
    close(arm.forward_dynamics(q, qd, arm.inverse_dynamics(q, qd, qdd)), qdd, 1e-10)
    h = 1e-5
    grown = (
        arm.kinetic_energy(q + h * qd + h * h * qdd / 2, qd + h * qdd)
        - arm.kinetic_energy(q - h * qd + h * h * qdd / 2, qd - h * qdd)
    ) / (2 * h)
    power = (arm.inverse_dynamics(q, qd, qdd) - arm.gravity_torque(q)) @ qd
    close(power, grown, 1e-8)


def test_curves_that_cannot_be() -> None:
    row = {"type": "revolute", "alpha": 0, "a": 0, "d": 0, "mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.01] * 6}
    for mimic, message in (
        ({"joint": "joint1", "curve": 3}, "curve = 3; expected 16 numbers at most, the factors of"),
        ({"joint": "joint1", "factor": 0, "curve": [0.0]}, "expected finite numbers and a factor that is not zero"),
        ({"joint": "joint1", "bend": [1.0]}, "unknown key 'bend'"),
    ):
        with pytest.raises(aw.ModelError, match=message):
            aw.Robot.from_dh([row, {**row, "mimic": mimic}], "modified")
    long = aw.Robot.from_dh([row, {**row, "mimic": {"joint": "joint1", "curve": [0, 0, 0, 1.0]}}], "modified")
    assert long.followers[0].mimic == Mimic("joint1", 0.0, 0.0, 1, curve=(0.0, 0.0, 0.0, 1.0))
    with pytest.raises(aw.ModelError, match="follows by a curve of 5 powers, and MuJoCo has four"):
        long.to_mjcf()
