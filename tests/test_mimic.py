"""Joints that move together: q = factor q_other + offset, in every formulation, reader and writer."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import close, led
from test_urdf import EXAMPLES, TREE, load, needs_examples, written

import armwright as aw
from armwright import check, identify
from armwright.formulations import Formulation
from armwright.model.mimic import Mimic
from armwright.trace import evaluation_strategy

STATES = 8


class Coupled:
    """A robot with followers, the same with every joint on its own, and states of both."""

    def __init__(self, arm: aw.Robot, seed: int = 0) -> None:
        self.arm, self.free = arm, arm.without_couplings()
        self.G, offsets = np.zeros((self.free.n, arm.n)), np.zeros(self.free.n)
        for i, drive in enumerate(arm.couplings):
            ((coordinate, factor),) = drive.terms
            self.G[i, coordinate], offsets[i] = factor, drive.offset
        rng = np.random.default_rng(seed)
        self.q, self.qd, self.qdd = self.state = tuple(rng.uniform(-1, 1, (3, STATES, arm.n)))
        self.all = (self.q @ self.G.T + offsets, self.qd @ self.G.T, self.qdd @ self.G.T)
        self.tip, self.loads = rng.uniform(-1, 1, (STATES, 6)), rng.uniform(-1, 1, (STATES, self.free.n, 6))


@pytest.fixture(params=(1, 3, 8))
def pair(request: pytest.FixtureRequest) -> Coupled:
    return Coupled(led(request.param), request.param)


def test_a_chain_counts_its_coordinates(pair: Coupled) -> None:
    arm = pair.arm
    assert (arm.n, len(arm.joints), len(arm.rows), len(arm.links), arm.mechanism().coordinate_count) == (4, 4, 7, 7, 4)
    assert [row.name for row in arm.rows] == [f"joint{i}" for i in range(1, 8)]
    assert arm.followers[1].mimic == Mimic("joint1", -3.0, 0.7, 3)  # by way of joint3
    assert "3 following" in repr(arm)
    assert " -3 q1 " in str(arm)


@pytest.mark.usefixtures("uncompiled")
def test_every_formulation_feels_the_followers(pair: Coupled, formulation: Formulation) -> None:
    """Quantities are tested below, compiled."""
    arm, G = pair.arm, pair.G
    q, qd, qdd = pair.state
    Q, Qd, Qdd = pair.all
    if not formulation.solves_coupled:
        with pytest.raises(aw.InputError, match=r"joints that move together; .*'composite_body'"):
            arm.forward_dynamics(q, qd, qdd, formulation=formulation.name)
        return
    loads = {"tip_wrench": pair.tip, "link_wrenches": pair.loads}
    name = {"formulation": formulation.name}
    torques = pair.free.inverse_dynamics(Q, Qd, Qdd, **loads) @ G
    if formulation.problem == "inverse_dynamics":
        close(arm.inverse_dynamics(q, qd, qdd, **loads, **name), torques, 1e-12)
    elif formulation.problem == "mass_matrix":
        close(arm.mass_matrix(q, **name), G.T @ pair.free.mass_matrix(Q) @ G, 1e-12)
    elif formulation.problem == "bias":
        close(arm.bias(q, qd, **loads, **name), pair.free.bias(Q, Qd, **loads) @ G, 1e-12)
    elif formulation.problem == "forward_dynamics":
        close(arm.forward_dynamics(q, qd, torques, **loads, **name), qdd, 1e-9)


def test_compiled_quantities_are_those_of_the_free_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    check_quantities(Coupled(led(1), 1), monkeypatch)


@pytest.mark.usefixtures("uncompiled")
def test_quantities_are_those_of_the_free_chain(pair: Coupled, monkeypatch: pytest.MonkeyPatch) -> None:
    check_quantities(pair, monkeypatch)


def check_quantities(pair: Coupled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the free chain are taken as they are written."""
    arm, G = pair.arm, pair.G
    q, qd, qdd = pair.state
    Q, Qd, Qdd = pair.all

    def free(name: str, *arguments: object) -> np.ndarray:
        with monkeypatch.context() as patch:
            patch.setattr(evaluation_strategy, "MAX_UNROLLED_JOINTS", 0)
            return getattr(pair.free, name)(*arguments)

    tau = arm.inverse_dynamics(q, qd, qdd)
    close(tau, free("inverse_dynamics", Q, Qd, Qdd) @ G, 1e-12)
    close(arm.forward_dynamics(q, qd, tau), qdd, 1e-9)
    close(arm.coriolis_matrix(q, qd), G.T @ free("coriolis_matrix", Q, Qd) @ G, 1e-12)
    close(arm.gravity_torque(q), free("gravity_torque", Q) @ G, 1e-12)
    close(arm.kinetic_energy(q, qd), free("kinetic_energy", Q, Qd), 1e-12)
    close(arm.potential_energy(q), free("potential_energy", Q), 1e-12)
    close(arm.forward_kinematics(q), free("forward_kinematics", Q), 1e-12)
    close(arm.link_poses(q), free("link_poses", Q), 1e-12)
    for frame in ("base", "tip"):
        close(arm.jacobian(q, frame), free("jacobian", Q, frame) @ G, 1e-12)
        close(arm.jacobian_derivative(q, qd, frame), free("jacobian_derivative", Q, Qd, frame) @ G, 1e-12)
    for i in range(arm.n):
        close(arm.joint_torque(i, q, qd, qdd), tau[:, i], 1e-11)
    for ours, theirs in zip(
        arm.inverse_dynamics_derivatives(q, qd, qdd), free("inverse_dynamics_derivatives", Q, Qd, Qdd), strict=True
    ):
        close(ours, G.T @ theirs @ G, 1e-12)
    inverse = arm.forward_dynamics_derivatives(q, qd, tau)[2]
    close(inverse @ arm.mass_matrix(q), np.broadcast_to(np.eye(arm.n), inverse.shape), 1e-9)


def test_a_coupled_arm_falls_without_losing_energy_and_finds_its_poses() -> None:
    arm = led(3, friction=False)
    start = Coupled(arm)
    run = aw.simulate(arm, None, start.q[0], start.qd[0], 0.5, every=0.1, rtol=1e-10)
    assert run.q.shape == (6, 4)
    assert run.audit.energy_error < 1e-9
    batch = aw.simulate_batch(
        arm, torque=None, q0=start.q, qd0=start.qd, duration=0.02, step=1e-3, integrator="rk4",
        vary={"payload.mass": np.linspace(0, 1, STATES)},
    )  # fmt: skip
    alone = aw.simulate(
        arm.with_payload(1.0), None, start.q[-1], start.qd[-1], 0.02, step=1e-3, integrator="rk4", every=0.02
    )
    close(batch.q[-1, -1], alone.q[-1], 1e-9)
    within = 0.3 * start.q  # the limits of the followers
    T = arm.forward_kinematics(within)
    close(arm.forward_kinematics(arm.inverse_kinematics(T, within + 0.05)), T, 1e-9)


def test_parameters_of_followers_are_seen_together() -> None:
    arm = led(3)
    state = Coupled(arm).state
    Y = identify.regressor(arm, *state)
    assert Y.shape == (STATES, 4, 13 * 7)
    close(Y @ identify.parameters(arm), arm.inverse_dynamics(*state), 1e-12)
    same = identify.with_parameters(arm, identify.parameters(arm))
    close(same.inverse_dynamics(*state), arm.inverse_dynamics(*state), 1e-9)
    base = identify.base_parameters(arm)
    values = base.values(identify.parameters(arm))
    close(base.columns(Y) @ values, arm.inverse_dynamics(*state), 1e-8)


@pytest.mark.parametrize("kind", ["toml", "urdf", "xml"])
def test_files_keep_what_follows(kind: str, tmp_path: Path) -> None:
    pair = Coupled(led(3))
    path = tmp_path / f"led.{kind}"
    {"toml": pair.arm.to_toml, "urdf": pair.arm.to_urdf, "xml": pair.arm.to_mjcf}[kind](path)
    again = load(path)
    assert [(f.name, f.mimic) for f in again.followers] == [(f.name, f.mimic) for f in pair.arm.followers]
    close(again.inverse_dynamics(*pair.state), pair.arm.inverse_dynamics(*pair.state), 1e-12)
    assert check.compare(pair.arm, path).same
    if kind == "toml":
        assert again == pair.arm


def test_other_couplings_are_told_by_compare() -> None:
    arm = led(3)
    other = replace(arm, followers=tuple(replace(f, mimic=replace(f.mimic, factor=3.0)) for f in arm.followers))
    found = check.compare(arm, other)
    assert [(d.kind, d.where) for d in found.differences] == [("coupling", f"joint{i}") for i in (3, 4, 6)]
    assert not found.same
    assert "it is independent there" in str(check.compare(arm, arm.without_couplings()).differences[0])


def by_pinocchio(path: Path, arm: aw.Robot) -> None:
    """Pinocchio's own mimic joints, which follow joints before them."""
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    q, qd, qdd = Coupled(arm).state
    still = arm.map_joints(lambda joint: replace(joint, viscous=0.0, coulomb=0.0, rotor_inertia=0.0))
    tau, M, pose = still.inverse_dynamics(q, qd, qdd), still.mass_matrix(q), still.forward_kinematics(q)
    joints = [model.joints[model.getJointId(joint.name)] for joint in arm.joints]
    order = [joint.idx_v for joint in joints]
    assert sorted(order) == list(range(model.nv))
    for i in range(STATES):
        data = model.createData()  # crba adds to what followers left in it
        c, speeds = np.empty(model.nq), np.empty((2, model.nv))
        for x, joint in zip(q[i], joints, strict=True):
            c[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        speeds[:, order] = qd[i], qdd[i]
        close(tau[i], pin.rnea(model, data, c, *speeds)[order], 1e-10)
        full = np.triu(pin.crba(model, data, c))
        close(M[i], (full + np.triu(full, 1).T)[np.ix_(order, order)], 1e-10)
        pin.framesForwardKinematics(model, data, c)
        close(pose[i], data.oMf[model.getFrameId("tool")].homogeneous, 1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_agrees_on_followers(seed: int, tmp_path: Path) -> None:
    arm = replace(led(seed), gravity=(0.0, 0.0, -9.81))
    path = tmp_path / "led.urdf"
    arm.to_urdf(path)
    by_pinocchio(path, load(path))


@needs_examples
@pytest.mark.usefixtures("uncompiled")
def test_a_finger_of_a_real_hand() -> None:
    """The finger tip of the PR2 follows its finger; pin has both free, so that its torques are to be added up."""
    path = EXAMPLES / "pr2_description/urdf/pr2.urdf"
    beside = ("r_finger", "l_parallel_root", "r_parallel_root", "r_finger_tip")
    locked = {f"l_gripper_{name}_joint": 0.0 for name in beside}
    arm = load(path, tip="l_gripper_l_finger_tip_link", locked=locked)
    assert (arm.n, [f.mimic.joint for f in arm.followers]) == (9, ["l_gripper_l_finger_joint"])
    whole = pin.buildModelFromUrdf(str(path))
    names = [row.name for row in arm.rows]
    held = [whole.getJointId(name) for name in whole.names[1:] if name not in names]
    model = pin.buildReducedModel(whole, held, pin.neutral(whole))
    data, pair = model.createData(), Coupled(arm)
    order = [names.index(name) for name in model.names[1:]]
    bare = arm.map_joints(lambda joint: replace(joint, viscous=0.0, coulomb=0.0))
    tau = bare.inverse_dynamics(*pair.state)
    for i, (Q, Qd, Qdd) in enumerate(zip(*pair.all, strict=True)):
        parts = []
        for name, k in zip(model.names[1:], order, strict=True):
            wide = model.joints[model.getJointId(name)].nq == 2
            parts += [np.cos(Q[k]), np.sin(Q[k])] if wide else [Q[k]]
        exact = np.empty(len(names))
        exact[order] = pin.rnea(model, data, np.array(parts), Qd[order], Qdd[order])
        close(tau[i], exact @ pair.G, 1e-10)


def test_a_follower_of_a_joint_beside_the_chain_stands_still(tmp_path: Path) -> None:
    path = written(tmp_path, TREE)
    with pytest.warns(aw.errors.LockedWarning, match="close is not on the chain and stands locked at 0"):
        arm = aw.load(path, tip="right")
    assert [joint.name for joint in arm.joints] == ["turn", "bend"]
    assert "follow follows close and stands locked at 0" in arm.source


@pytest.mark.parametrize(
    ("mimic", "tip", "message"),
    [
        (
            '<mimic joint="clos"/>',
            "right",
            r"unknown joint for 'follow' to mimic \(.*robot.urdf, line 13\): 'clos'. Did you mean 'close'\? "
            "Known: turn, bend, close, follow",
        ),
        ('<mimic joint="follow"/>', None, "robot.urdf, line 13: joint 'follow' mimics itself$"),
        (
            '<mimic joint="bend" multiplier="2"/>',
            "left",
            "on side branches, which are locked, follow would move with bend",
        ),
        ('<mimic joint="bend" multiplier="nan"/>', None, "is not finite"),
    ],
)
def test_followers_of_nothing_are_told(mimic: str, tip: str | None, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, TREE.replace('<mimic joint="close" multiplier="1"/>', mimic))
    with pytest.raises(aw.ArmwrightError, match=message):
        load(path, tip=tip)


def test_a_missing_leader_beside_the_chain_is_warned_of(tmp_path: Path) -> None:
    path = written(tmp_path, TREE.replace('joint="close"', 'joint="gone" offset="0.01"'))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        aw.load(path, tip="hand")
    assert any("follows gone, which does not exist" in str(w.message) for w in told)


ROW = {
    "type": "revolute",
    "alpha": 0.0,
    "a": 0.0,
    "d": 0.0,
    "mass": 1.0,
    "com": [0.2, 0, 0],
    "inertia": np.eye(3) * 0.01,
}
ROWS = [ROW, {**ROW, "a": 0.4}]


def test_a_table_may_have_followers() -> None:
    """A parallelogram keeps the second link upright whatever the first does."""
    level = {"joint": "joint1", "factor": -1.0, "offset": 0.5}
    arm = aw.Robot.from_dh([ROWS[0], {**ROWS[1], "mimic": level}], "modified", gravity=(0, -9.81, 0))
    R = arm.forward_kinematics(np.linspace(-1, 1, 5)[:, None])[:, :3, :3]
    close(R, np.broadcast_to(R[0], R.shape), 1e-14)
    assert arm.gravity_torque([0.0])[0] == pytest.approx(9.81 * (0.2 + 0.4))  # the second weighs on its axis
    for wrong, message in (
        ({"joint": "joint3"}, "unknown joint for 'joint2' of robot 'robot' to follow: 'joint3'"),
        ({"joint": "joint2"}, "follows itself"),
        ({"joint": "joint1", "factor": 0.0}, "factor that is not zero"),
        ({"joint": "joint1", "ratio": 2.0}, "ratio"),
        ({"factor": 2.0}, "joint"),
        ("joint1", "is not a table"),
        ({"joint": "joint1", "offset": "half"}, "offset"),
    ):
        with pytest.raises(aw.ArmwrightError, match=message):
            aw.Robot.from_dh([ROWS[0], {**ROWS[1], "mimic": wrong}], "modified")


def test_the_printed_table_has_one_unit_per_column() -> None:
    turn = {**ROWS[1], "theta": "30 deg", "mimic": {"joint": "joint1", "factor": -1.5, "offset": "45 deg"}}
    slide = {**ROWS[1], "type": "prismatic", "d": 0.5, "theta": 0.0}
    slide["mimic"] = {"joint": "joint1", "factor": 0.1, "offset": -0.2}
    text = str(aw.Robot.from_dh([ROWS[0], turn, slide], "modified"))
    assert " -1.5 q1 + 75 " in text and " 0.1 q1 + 0.3\n" in text
    level = {**turn, "theta": "-45 deg"}
    assert " -1.5 q1  " in str(aw.Robot.from_dh([ROWS[0], level], "modified"))


def test_joints_that_follow_each_other_are_named(tmp_path: Path) -> None:
    text = TREE.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="follow"/>')
    with pytest.raises(aw.ModelError, match=r"line 11: joint 'close' mimics itself, through 'follow'$"):
        load(written(tmp_path, text))
    rows = [{**ROWS[1], "mimic": {"joint": f"joint{i}"}} for i in (3, 4, 2)]
    with pytest.raises(aw.ModelError, match=r"joint 'joint2' follows itself, through 'joint3', 'joint4'$"):
        aw.Robot.from_dh([ROWS[0], *rows], "modified")


def test_long_lines_of_followers() -> None:
    """Each follows the one before or, in a table turned round, the one after: of both, the first."""
    led = [{"joint": f"j{i}", "mimic": {"joint": f"j{i - 1}", "factor": -1.0, "offset": 0.1}} for i in range(1, 400)]
    rows = [{**ROWS[0], "joint": "j0"}, *({**ROWS[1], **row} for row in led)]
    for table in (rows, rows[::-1]):
        arm = aw.Robot.from_dh(table, "modified")
        mimics = {follower.name: follower.mimic for follower in arm.followers}
        assert (mimics["j399"].joint, mimics["j399"].factor, mimics["j399"].offset) == ("j0", -1.0, pytest.approx(0.1))
        assert [row.name for row in arm.rows] == [row["joint"] for row in table]


def test_a_joint_goes_no_further_than_its_followers() -> None:
    leader = {**ROWS[0], "limits": [-2.0, 2.0], "max_velocity": 3.0}
    follower = {
        **ROWS[1],
        "limits": [-1.0, 1.0],
        "max_velocity": 4.0,
        "mimic": {"joint": "joint1", "factor": -2.0, "offset": 0.5},
    }
    arm = aw.Robot.from_dh([leader, follower], "modified")
    assert (arm.joints[0].limits, arm.joints[0].max_velocity) == ((-0.25, 0.75), 2.0)
    assert aw.Robot.from_description(arm) == arm
    nowhere = aw.Robot.from_dh([leader, {**follower, "limits": [7.0, 8.0]}], "modified")
    assert nowhere.joints[0].limits == (-2.0, 2.0)
    assert "joint2: no position fulfils its limits and those of joint1, which it follows" in aw.problems(nowhere)[0]


def test_names_mean_one_joint_where_joints_follow_others() -> None:
    follower = {**ROWS[1], "joint": "f", "mimic": {"joint": "k"}}
    with pytest.raises(aw.ModelError, match=r"several joints are called j; .*give each its own"):
        aw.Robot.from_dh([{**ROWS[0], "joint": name} for name in ("j", "j", "k")] + [follower], "modified")
    assert aw.Robot.from_dh([{**ROWS[0], "joint": "j"}, {**ROWS[1], "joint": "j"}], "modified").n == 2


def test_what_follows_a_fixed_joint_stands_still(tmp_path: Path) -> None:
    text = TREE.replace('name="close" type="prismatic"', 'name="close" type="fixed"')
    text = text.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="bend"/>')
    arm = load(written(tmp_path, text), tip="right")
    assert (arm.n, arm.followers) == (2, ())


def test_a_singular_matrix_is_blamed_on_the_link_without_mass() -> None:
    empty = {**ROWS[1], "name": "C", "mass": 0.0, "com": [0, 0, 0], "inertia": np.zeros((3, 3))}
    rows = [{**ROWS[0], "name": "A"}, {**ROWS[1], "name": "B", "mimic": {"joint": "joint1", "offset": "90 deg"}}, empty]
    found = [p for p in aw.problems(aw.Robot.from_dh(rows, "modified")) if p.kind == "singular mass matrix"]
    assert [(p.where, "(C)" in p) for p in found] == [("C", True)]


def test_a_telescope_is_not_two_joints_for_one(tmp_path: Path) -> None:
    stage = {**ROWS[0], "type": "prismatic", "theta": 0.0}
    for mimic, kinds in (({"mimic": {"joint": "joint1"}}, set()), ({}, {"coaxial joints"})):
        aw.Robot.from_dh([stage, {**stage, **mimic}], "modified").to_toml(tmp_path / "lift.toml")
        assert {f.kind for f in check.check(tmp_path / "lift.toml").findings} & {"coaxial joints"} == kinds
