"""Springs beside joints, and what acts in ball and free joints: as MuJoCo has them, in every formulation, in balance."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close
from mujoco_oracle import mass_matrix, mujoco, state_there, torques

import armwright as aw
from armwright.check.compare import compare
from armwright.formulations import find_formulation
from armwright.identify import estimate, estimate_payload, measurement, parameters, regressor
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.records import JointModel
from armwright.robot import random_tree

KINDS = ("revolute", "prismatic", "cylindrical", "universal", "planar", "ball", "free")
INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.03 0.02 0.04"/>'
SPRUNG = f"""<mujoco><worldbody>
<body pos="0.3 0.1 1" quat="0.9 0.1 0.2 0.3">
<joint name="root" type="free" damping="0.4" armature="0.3" stiffness="7" frictionloss="0.5"/>{INERTIAL}
<body pos="0.1 0 0.2" quat="0.5 0.5 0.1 0.2">
<joint name="ball" type="ball" pos="0.02 0.01 0" damping="0.2" armature="0.1" stiffness="3" frictionloss="0.3"/>{INERTIAL}
<body><joint name="h" axis="0 1 1" ref="20" springref="40" stiffness="5 1.3 0.7" damping="0.3"/>{INERTIAL}
<body><joint name="s" type="slide" axis="0 1 1" springref="0.1" stiffness="50" frictionloss="0.2"/>{INERTIAL}</body>
</body></body></body></worldbody></mujoco>"""


def acting(arm: aw.Robot, seed: int, alike: bool = True) -> aw.Robot:
    """The robot with springs, friction and rotors in all of its joints; in those of a ball `alike`, as in MuJoCo."""
    rng = np.random.default_rng(seed)
    first: dict[str, float] = {}

    def driven(joint: JointModel) -> JointModel:
        nonlocal first
        own = dict(
            zip(("viscous", "rotor_inertia", "spring_stiffness"), rng.uniform(0.1, 2.0, 3).tolist(), strict=True)
        )
        several = joint.kind in FREEDOMS_OF_KIND
        rest = float(rng.normal()) if not several or (joint.prismatic and joint.kind != "free") or not alike else 0.0
        curve = () if several else tuple(rng.normal(size=2).tolist())
        if several and (alike or not joint.prismatic):
            first = own if joint.freedom == 0 else first
            own = first if alike else own | {"spring_stiffness": first.get("spring_stiffness", 1.0)}
        return replace(joint, **own, spring_rest=rest, spring_curve=curve)

    arm = arm.map_joints(driven)
    return arm if alike else arm.map_joints(lambda joint: replace(joint, coulomb=float(rng.uniform(0.1, 1.0))))


def loaded(tmp_path: Path, text: str) -> aw.Robot:
    (tmp_path / "robot.xml").write_text(text)
    return aw.load(tmp_path / "robot.xml")


def state(arm: aw.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return arm.unit(rng.normal(size=arm.nq)), *rng.normal(size=(2, arm.n))


def slope(function, arm: aw.Robot, q: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """The derivative by q in the directions of velocities, by central differences of the fourth order."""
    ways = [[function(arm.integrate(q, k * h * e)) for k in (-2, -1, 1, 2)] for e in np.eye(arm.n)]
    return np.stack([(a - 8 * b + 8 * c - d) / (12 * h) for a, b, c, d in ways], axis=-1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("uncompiled")
def test_what_acts_in_joints_is_written_as_mujoco_has_it(seed: int) -> None:
    arm = acting(random_tree(1 + seed % 5, seed, kinds=KINDS, floating=seed % 3 == 0), seed)
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    q, qd, qdd = state(arm, seed)
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    close(B.T @ torques(model, qpos, qvel, qacc), arm.inverse_dynamics(q, qd, qdd), 1e-11)


def test_what_acts_in_joints_is_read_as_mujoco_has_it(tmp_path: Path, recwarn) -> None:
    arm = loaded(tmp_path, SPRUNG)
    assert not recwarn
    model = mujoco.MjModel.from_xml_string(SPRUNG)
    for seed in range(3):
        q, qd, qdd = state(arm, seed)
        qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
        tau = B.T @ (torques(model, qpos, qvel, qacc) + model.dof_frictionloss * np.sign(qvel))
        close(arm.inverse_dynamics(q, qd, qdd), tau, 1e-11)
        close(arm.forward_dynamics(q, qd, tau), qdd, 1e-10)
        data = mujoco.MjData(model)
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        close(B.T @ mass_matrix(model, data) @ B, arm.mass_matrix(q), 1e-12)
        close(-(B.T @ data.qfrc_spring), arm.gravity_torque(q) - bare(arm).gravity_torque(q), 1e-11)
        close(data.energy[0] if data.energy[0] else stored(model, data), arm.potential_energy(q), 1e-11)


def stored(model, data) -> float:
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    mujoco.mj_forward(model, data)
    return float(data.energy[0])


def bare(arm: aw.Robot) -> aw.Robot:
    return arm.map_joints(lambda joint: replace(joint, spring_stiffness=0.0, spring_curve=()))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("uncompiled")
def test_every_formulation_has_springs_and_rotors_of_balls(seed: int) -> None:
    """Different in every freedom, at rest anywhere, with dry friction."""
    arm = acting(random_tree(5, seed, floating=seed % 2 == 0), seed, alike=False)
    q, qd, qdd = state(arm, seed)
    tau = arm.inverse_dynamics(q, qd, qdd)
    for problem, given, expected in (
        ("inverse_dynamics", (q, qd, qdd), tau),
        ("bias", (q, qd), tau - arm.mass_matrix(q) @ qdd),
        ("forward_dynamics", (q, qd, tau), qdd),
    ):
        for f in aw.formulations(problem):
            if not f.refusal(arm.mechanism()):
                close(getattr(arm, problem)(*given, formulation=f.name), expected, 1e-9)
    close([arm.joint_torque(i, q, qd, qdd) for i in range(arm.n)], tau, 1e-11)
    still = arm.map_joints(lambda joint: replace(joint, viscous=0.0, coulomb=0.0))
    close(arm.coriolis_matrix(q, qd) @ qd + arm.gravity_torque(q), still.bias(q, qd), 1e-11)
    close(slope(arm.potential_energy, arm, q), arm.gravity_torque(q), 1e-7)
    close(
        regressor(arm, q, qd, qdd) @ parameters(arm) + arm.gravity_torque(q) - bare(arm).gravity_torque(q), tau, 1e-11
    )


def undamped(arm: aw.Robot) -> aw.Robot:
    return arm.map_joints(lambda joint: replace(joint, viscous=0.0, coulomb=0.0))


DIFFERENTIATED = {
    "free": undamped(acting(random_tree(2, 4, kinds=("revolute",), floating=True), 1, alike=False)),
    "free, rubbing viscously": acting(random_tree(2, 4, kinds=("ball",), floating=True), 1),
    "planar": undamped(acting(random_tree(2, 1, kinds=("planar",)), 1, alike=False)),
    "rr": acting(aw.load("rr"), 2),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
@pytest.mark.usefixtures("uncompiled")
def test_derivatives_know_springs_and_rotors_of_balls(name: str) -> None:
    differentiated(DIFFERENTIATED[name])


def test_derivatives_of_dry_friction_in_space() -> None:
    """Along axes that stay: seen from the body it changes as the body turns."""
    arm = acting(random_tree(1, 4, floating=True), 1, alike=False)
    differentiated(arm)
    q, qd, qdd = state(arm, 2)
    still = undamped(arm)
    close(aw.compile(arm, "gibbs_gradient")(q, qd, qdd), still.inverse_dynamics(q, qd, qdd), 1e-11)
    with pytest.raises(aw.InputError, match="and dry friction where a free joint slides; name another"):
        aw.compile(arm, "inverse_dynamics_derivatives", formulation="composite_body")(q, qd, qdd)


def differentiated(arm: aw.Robot) -> None:
    q, qd, qdd = state(arm, 5)
    by_q, by_qd, M = arm.inverse_dynamics_derivatives(q, qd, qdd)
    close(by_q, slope(lambda x: arm.inverse_dynamics(x, qd, qdd), arm, q), 1e-7)
    more = [arm.inverse_dynamics(q, qd + e, qdd) - arm.inverse_dynamics(q, qd - e, qdd) for e in 1e-6 * np.eye(arm.n)]
    close(by_qd, np.transpose(more) / 2e-6, 1e-7)
    tau = arm.inverse_dynamics(q, qd, qdd)
    for part, expected in zip(arm.forward_dynamics_derivatives(q, qd, tau), (by_q, by_qd), strict=False):
        close(part, -np.linalg.solve(M, expected), 1e-9)


SWINGING = f"""<mujoco><worldbody><body pos="0 0 1">
<joint name="root" type="free" damping="0.4" stiffness="7" frictionloss="0.5"/>{INERTIAL}
<body pos="0 0 0.2"><joint name="h" axis="0 1 1" springref="40" stiffness="5 1.3 0.7" damping="0.3"/>{INERTIAL}</body>
</body></worldbody></mujoco>"""


def test_a_robot_that_swings_on_springs_keeps_its_energy(tmp_path: Path) -> None:
    """The power of springs is stored, that of friction lost, and momentum comes from outside; by Python, too."""
    arm = loaded(tmp_path, SWINGING)
    q, qd, _ = state(arm)
    run = aw.simulate(arm, None, q, qd, duration=0.5)
    assert not run.audit.doubts and run.audit.energy_error < 1e-8
    assert run.impulse.size and run.losses[-1] > 0.1
    run = aw.simulate(undamped(arm), None, q, qd, duration=0.5)
    assert not run.audit.doubts and run.audit.energy_error < 1e-8 and np.ptp(run.kinetic) > 1
    with pytest.warns(aw.errors.SlowWarning):
        python = aw.simulate(arm, lambda t, q, qd: 0.0 * qd, q, qd, duration=0.05)
    assert not python.audit.doubts


@pytest.mark.usefixtures("uncompiled")
def test_a_rotor_in_a_free_joint_is_no_body() -> None:
    """Its momentum has no weight, so that there is none to audit; energy is."""
    arm = undamped(acting(random_tree(1, 4, floating=True), 1, alike=False))
    run = aw.simulate(arm, None, *state(arm)[:2], duration=0.1, integrator="dop853")
    assert not run.impulse.size and not run.audit.doubts


def test_a_mass_on_a_spring_swings_as_it_should() -> None:
    """x = rest + x0 cos(wt), w = sqrt(k/m); one for each of a batch with its own stiffness."""
    row = {"type": "prismatic", "alpha": 0, "a": 0, "theta": 0, "mass": 2.0, "com": [0, 0, 0], "inertia": [0] * 6}
    arm = aw.Robot.from_dh([{**row, "spring_stiffness": 8.0, "spring_rest": 0.5}], "modified", gravity=[0, 0, 0])
    run = aw.simulate(arm, None, q0=[1.5], duration=3.0, rtol=1e-11)
    close(run.q[:, 0], 0.5 + np.cos(2.0 * run.t), 1e-9)
    many = aw.simulate_batch(
        arm,
        None,
        q0=[[1.5]] * 2,
        duration=3.0,
        integrator="dop853",
        rtol=1e-11,
        vary={"joint1.spring_stiffness": [8.0, 18.0]},
    )
    close(many.q[1, :, 0], 0.5 + np.cos(3.0 * many.t), 1e-9)
    assert arm.with_springs(stiffness=8.0, rest=0.5) == arm == arm.with_springs()


def test_files_keep_springs(tmp_path: Path) -> None:
    arm = acting(random_tree(4, 3, floating=True), 3, alike=False)
    arm.to_toml(tmp_path / "robot.toml")
    assert aw.load(tmp_path / "robot.toml") == arm
    own = loaded(tmp_path, SPRUNG)
    assert compare(own, loaded(tmp_path, own.to_mjcf())).same
    other = compare(own, own.with_springs({"h": 9.0}))
    assert [(found.kind, found.where) for found in other.differences] == [("spring", "h")]
    assert "spring_stiffness = 9.0" in str(other)
    free = acting(random_tree(2, 0, kinds=("revolute",), floating=True), 0)
    with pytest.warns(aw.ModelWarning, match=r"URDF has no place for the spring of joint1\.x, .* and \d+ more"):
        free.to_urdf()


def test_what_acts_is_shown(tmp_path: Path) -> None:
    arm = loaded(tmp_path, SPRUNG)
    assert re.search(r"ball\.wx +3 N m/rad +0 +0 +0 deg\n.*\n.*\n10 +h +5 N m/rad +1.3 +0.7 +40 deg\n", str(arm))
    assert re.search(r"root\.x +0.3 +1 +0.3 +0.4 +0.5\n", str(arm))
    files = aw.export(arm, to="c", functions=["gravity_torque"], directory=tmp_path)
    [header] = [file for file in files if file.suffix == ".h"]
    assert "h 5 x + 1.3 x^2 + 0.7 x^3, x = q - 0.698132" in " ".join(header.read_text().replace("*", " ").split())


def test_a_spring_on_a_joint_that_a_loop_moves() -> None:
    rows = [
        {
            "type": "revolute",
            "alpha": 0,
            "a": a,
            "d": 0,
            "mass": 1.0,
            "com": [0.1, 0, 0],
            "inertia": [0.01] * 3 + [0] * 3,
        }
        for a in (0, 0.4, 0.5)
    ]
    arm = aw.Robot.from_dh(rows, "modified", gravity=[0, -9.81, 0])
    arm = arm.with_loop(
        ["base", "link3"],
        [(0.6, 0, 0), (0.45, 0, 0)],
        dependent=["joint2", "joint3"],
        reference={"joint1": 1.2, "joint2": -1.0, "joint3": -1.0},
    )
    sprung = arm.with_springs({"joint2": 20.0, "joint1": 3.0}, {"joint2": -0.8})
    q, qd = np.array([1.3]), np.array([0.7])
    close(slope(sprung.potential_energy, sprung, q), sprung.gravity_torque(q), 1e-7)
    close(sprung.forward_dynamics(q, qd, sprung.inverse_dynamics(q, qd, [0.4])), [0.4], 1e-10)
    assert not aw.simulate(sprung, None, q, qd, duration=0.3).audit.doubts


def test_identification_takes_springs_as_known() -> None:
    arm = acting(aw.load("rr"), 1)
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 300, 2))
    found = estimate(arm, measurement(np.arange(300.0), q, arm.inverse_dynamics(q, qd, qdd), qd, qdd))
    close(found.robot.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), 1e-8)
    holding = arm.with_payload(1.3, [0.1, 0, 0])
    close(estimate_payload(arm, q, qd, qdd, holding.inverse_dynamics(q, qd, qdd)).mass, 1.3, 1e-9)


def test_long_chains_have_springs_and_compensation() -> None:
    """Too long for straight code, and no loop has them: as the formulation is written."""
    arm = aw.random_robot(30, 1)
    whole = compensated(arm.with_springs(3.0, 0.2), 1)
    q, qd, qdd = state(arm)
    tau = whole.inverse_dynamics(q, qd, qdd)
    weight = arm.gravity_torque(q) - compensated(arm, 1).gravity_torque(q)
    close(tau, arm.inverse_dynamics(q, qd, qdd) + 3.0 * (q - 0.2) - weight, 1e-10)
    close(whole.forward_dynamics(q, qd, tau), qdd, 1e-8)


def test_springs_that_cannot_be() -> None:
    arm = random_tree(2, 0, kinds=("ball",))
    with pytest.raises(aw.ModelError, match=r"the rotations of joint1 have springs of 0, 2; expected one stiff"):
        arm.with_springs({"joint1.wx": 2.0})
    with pytest.raises(aw.ModelError, match="a spring with a curve is for joints of one freedom, not ball"):
        arm.map_joints(lambda joint: replace(joint, spring_curve=(1.0,)))
    row = {"type": "revolute", "alpha": 0, "a": 0, "d": 0, "mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.01] * 6}
    for key, value, message in (
        ("spring_curve", 3.0, "spring_curve = 3.0; expected 2 numbers at most, the factors of x"),
        ("spring_curve", [1, 2, 3], r"spring_curve = \[1, 2, 3\]; expected 2 numbers"),
        ("spring_stiffness", "x", "spring_stiffness = 'x' is not a number"),
    ):
        with pytest.raises(aw.ModelError, match=message):
            aw.Robot.from_dh([{**row, key: value}], "modified")
    turned = arm.map_joints(lambda joint: replace(joint, spring_stiffness=1.0, spring_rest=0.2))
    with pytest.raises(aw.ModelError, match="the spring of 'joint1' is at rest at a rotation"):
        turned.to_mjcf()


def test_no_springs_cost_nothing() -> None:
    arm = aw.load("panda")
    for problem in ("inverse_dynamics", "forward_dynamics", "potential_energy"):
        plain = aw.count_operations(problem, robot=arm)
        assert aw.count_operations(problem, robot=arm.with_springs(0.0, 0.3)) == plain
        one = aw.count_operations(problem, robot=arm.with_springs({"panda_joint2": 5.0}))
        assert one.total - plain.total <= 4
    assert (
        find_formulation("inverse_dynamics")(arm.mechanism(), *[[0.1] * 7] * 3)[0]
        == find_formulation("inverse_dynamics")(arm.with_springs(rest=0.3).mechanism(), *[[0.1] * 7] * 3)[0]
    )


CARRIED = f"""<mujoco><option gravity="4.905 0 -8.495709211125343"/><worldbody>
<body name="a" gravcomp="0.7" pos="0.1 0 0.2" quat="1 0.2 0 0.3"><joint name="j" axis="0 1 1"/>{INERTIAL}
<body name="b" gravcomp="1.2" pos="0.1 0.3 0.2" quat="1 0 0.5 0.3">{INERTIAL}
<body name="c" gravcomp="1" pos="0.3 0 0.2"><joint name="s" type="slide" axis="1 0 1"/>{INERTIAL}
<body name="d" pos="0.3 0 0.2"><joint name="k" axis="1 0 0"/>{INERTIAL}
<body name="e" gravcomp="0.4" pos="0.3 0 0.2" quat="1 0.7 0.5 0.3"><joint name="ball" type="ball" pos="0.1 0 0"/>{INERTIAL}</body>
</body></body></body></body></worldbody></mujoco>"""


def compensated(arm: aw.Robot, seed: int) -> aw.Robot:
    rng = np.random.default_rng(seed)
    carried = rng.uniform(0.1, 2.0, len(arm.links)) * (rng.random(len(arm.links)) < 0.7)
    places = [tuple((rng.normal(size=3) * (mass > 0)).tolist()) for mass in carried]
    links = zip(arm.links, carried.tolist(), places, strict=True)
    return replace(arm, links=tuple(replace(x, compensated_mass=m, compensated_com=c) for x, m, c in links))


@pytest.mark.usefixtures("uncompiled")
def test_compensated_weight_is_mujocos(tmp_path: Path, recwarn) -> None:
    arm, model = loaded(tmp_path, CARRIED), mujoco.MjModel.from_xml_string(CARRIED)
    q, qd, qdd = state(arm)
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    close(arm.inverse_dynamics(q, qd, qdd), B.T @ torques(model, qpos, qvel, qacc), 1e-11)
    assert not [w for w in recwarn if "not taken over" in str(w.message)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("uncompiled")
def test_compensated_weight_in_every_formulation_and_file(seed: int, tmp_path: Path) -> None:
    arm = compensated(random_tree(2 + seed, seed, floating=seed % 2 == 0), seed).with_gravity(
        [4.905, 0, -8.495709211125343]
    )
    q, qd, qdd = state(arm)
    tau = arm.inverse_dynamics(q, qd, qdd)
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    close(B.T @ torques(model, qpos, qvel, qacc), tau, 1e-11)
    for f in aw.formulations("inverse_dynamics"):
        if not f.refusal(arm.mechanism()):
            close(arm.inverse_dynamics(q, qd, qdd, formulation=f.name), tau, 1e-11)
    close(arm.forward_dynamics(q, qd, tau), qdd, 1e-9)
    close(arm.bias(q, qd), tau - arm.mass_matrix(q) @ qdd, 1e-10)
    close([arm.joint_torque(i, q, qd, qdd) for i in range(arm.n)], tau, 1e-11)
    close(slope(arm.potential_energy, arm, q), arm.gravity_torque(q), 1e-7)
    close(arm.coriolis_matrix(q, qd) @ qd + arm.gravity_torque(q), arm.bias(q, qd), 1e-11)
    close(
        arm.inverse_dynamics_derivatives(q, qd, qdd)[0],
        slope(lambda x: arm.inverse_dynamics(x, qd, qdd), arm, q),
        1e-7,
    )
    whole = replace(arm, links=tuple(replace(link, compensated_mass=0.0) for link in arm.links))
    rest = arm.gravity_torque(q) - whole.gravity_torque(q)
    close(regressor(arm, q, qd, qdd) @ parameters(arm) + rest, tau, 1e-11)
    (tmp_path / "robot.toml").write_text(arm.to_toml())
    assert aw.load(tmp_path / "robot.toml") == arm
    assert {found.kind for found in compare(arm, whole).differences} == {"compensation"}


def test_compensated_weight_compiled_and_held(tmp_path: Path) -> None:
    """Where all of it is carried, a robot floats; frames that cost less and payloads change nothing."""
    arm = aw.load("panda")
    arm = replace(arm, links=tuple(replace(x, compensated_mass=x.mass, compensated_com=x.com) for x in arm.links))
    q, qd, qdd = state(arm)
    assert np.abs(arm.gravity_torque(q)).max() < 1e-13
    close(
        arm.inverse_dynamics(q, qd, qdd), aw.load("panda").with_gravity([0, 0, 0]).inverse_dynamics(q, qd, qdd), 1e-12
    )
    close(arm.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd, formulation="kane"), 1e-12)
    holding, tilted = (
        arm.with_payload(2.0),
        arm.mounted([[0, 0, 1, 0.3], [0, 1, 0, 0.2], [-1, 0, 0, 0.1], [0, 0, 0, 1]]),
    )
    alone = aw.load("panda").with_payload(2.0).gravity_torque(q) - aw.load("panda").gravity_torque(q)
    close(holding.gravity_torque(q), alone, 1e-11)
    run = aw.simulate(holding, None, q, qd, duration=0.2)
    assert all(doubt.limit for doubt in run.audit.doubts) and run.audit.energy_error < 1e-9
    run = aw.simulate(tilted.with_payload(1.0), None, q, qd, duration=0.1)
    close(run.potential, run.robot.potential_energy(run.q), 1e-9)
    assert "weight that no drive carries: " in str(arm)
    (tmp_path / "panda.xml").write_text(compensated(aw.load("panda"), 1).to_mjcf())
    again = aw.load(tmp_path / "panda.xml")
    assert compare(compensated(aw.load("panda"), 1), again).same


def test_who_carries_what_in_mujoco(tmp_path: Path) -> None:
    """Drives that compensate have that torque to give; where only some do, it is said."""
    drives = CARRIED.replace("<joint ", '<joint actuatorgravcomp="true" ')
    arm, model = loaded(tmp_path, drives), mujoco.MjModel.from_xml_string(drives)
    q, qd, qdd = state(arm)
    qpos, qvel, qacc, B = state_there(arm, model, q, qd, qdd)
    close(arm.inverse_dynamics(q, qd, qdd), B.T @ torques(model, qpos, qvel, qacc), 1e-11)
    with pytest.warns(aw.ModelWarning, match="the gravity compensation of body c, which is by the drives of some"):
        loaded(tmp_path, CARRIED.replace('<joint name="j"', '<joint actuatorgravcomp="true" name="j"'))


def test_a_floating_robot_that_is_carried_keeps_its_momentum() -> None:
    arm = compensated(random_tree(2, 3, kinds=("revolute",), floating=True), 3)
    run = aw.simulate(arm, None, *state(arm)[:2], duration=0.2)
    assert run.impulse.size and not run.audit.doubts


BALANCED = """<mujoco><worldbody><body name="a"><joint name="h" axis="0 1 0"/>
<inertial pos=".1 0 0" mass="2" diaginertia=".02 .03 .025"/>
<body name="w1" pos=".3 0 0" gravcomp="{}"><inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body>
<body name="w2" pos="-.3 0 0" gravcomp="{}"><inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body>
</body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("first", "second", "torque"), [(1, -1, 2 * 0.3 * 9.81), (0, -1, 0.0), (1, 1, 0.0), (0.5, -0.2, 0.7 * 0.3 * 9.81)]
)
@pytest.mark.filterwarnings("ignore::armwright.errors.ModelWarning")  # two masses far from their joint
def test_weights_that_are_carried_may_sum_to_zero_or_less(
    first: float, second: float, torque: float, tmp_path: Path
) -> None:
    """Their moment stays; MuJoCo does without where no body has more than none."""
    (tmp_path / "a.xml").write_text(BALANCED.format(first, second))
    arm = aw.load(tmp_path / "a.xml", tip="a")
    right = -2 * 0.1 * 9.81 + torque
    assert arm.gravity_torque([0.0]) == pytest.approx([right], abs=1e-11)
    assert aw.Robot.from_toml(arm_file(arm, tmp_path)).gravity_torque([0.0]) == pytest.approx([right], abs=1e-11)


def arm_file(arm: aw.Robot, folder: Path) -> Path:
    arm.to_toml(folder / "again.toml")
    return folder / "again.toml"


def test_a_zero_for_all_joints_is_for_balls_too() -> None:
    """A robot without friction, springs and rotors has none; another number is for joints of one freedom."""
    arm = aw.Robot.from_dh(
        [
            {"type": "revolute", "alpha": 0, "a": 0, "d": 0, "mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.01] * 3 + [0] * 3},
            {"type": "ball", "mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.01] * 3 + [0] * 3,
             "freedoms": [{"viscous": 0.1, "spring_stiffness": 4.0, "rotor_inertia": 0.01}] * 3},
        ],
        "modified",
    )  # fmt: skip
    bare = arm.with_friction(viscous=0, coulomb=0).with_springs(stiffness=0).with_rotors(inertia=0)
    assert [(j.viscous, j.spring_stiffness, j.rotor_inertia) for j in bare.joints] == [(0, 0, 0)] * 4
    assert [j.viscous for j in arm.with_friction(viscous=0.5).joints] == [0.5, 0.1, 0.1, 0.1]
