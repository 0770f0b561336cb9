"""Trees in files: what is written reads back as an equal robot, and every mistake has its sentence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close, random_transform

import armwright as aw
from armwright.check import check
from armwright.model import toml
from armwright.model.followers import split_followers
from armwright.model.joint_types import COMPOUND_TYPES, SINGLE_TYPES, freedoms_of
from armwright.model.mimic import Mimic
from armwright.model.records import Frame, JointModel, LinkModel
from armwright.model.transforms import transform
from armwright.robot import random_tree


def decorated(arm: aw.Robot, seed: int) -> aw.Robot:
    """The tree with everything else a robot may have: drives, a follower, frames, a tool on any link, a payload."""
    rng = np.random.default_rng(seed)
    rows = list(arm.rows)
    for i, row in enumerate(rows):
        if row.kind not in ("ball", "free", "planar"):
            viscous, coulomb, rotor = rng.uniform(0, 1, 3).tolist()
            rows[i] = replace(row, viscous=viscous, coulomb=coulomb, rotor_inertia=rotor, gear=2.0, max_torque=7.0)
        else:
            rows[i] = replace(row, max_torque=float(rng.uniform(1, 2)))
    plain = [i for i, row in enumerate(rows) if row.kind not in ("ball", "free", "planar") and not row.mimic]
    if len(plain) > 1:
        leader, follower = rng.permutation(plain)[:2].tolist()
        rows[follower] = replace(rows[follower], mimic=Mimic(rows[leader].name, -0.7, 0.2))
    joints, followers = split_followers(rows)
    frames = tuple(
        Frame(f"frame{k}", int(rng.integers(-1, len(arm.links))), transform(random_transform(rng))) for k in range(3)
    )
    arm = replace(arm, joints=joints, followers=followers, frames=frames, tip=int(rng.integers(0, len(arm.links))))
    arm = arm.with_base(random_transform(rng)).with_tool(random_transform(rng)).with_gravity(rng.normal(size=3))
    return arm.with_payload(1.5, rng.uniform(-0.1, 0.1, 3), np.diag([0.1, 0.2, 0.15]))


@pytest.mark.parametrize("seed", range(40))
def test_a_tree_reads_back_from_toml_as_an_equal_robot(seed: int, tmp_path: Path) -> None:
    arm = decorated(random_tree(1 + seed % 9, seed, floating=seed % 3 == 0), seed)
    text = arm.to_toml(tmp_path / "tree.toml")
    back = aw.Robot.from_toml(tmp_path / "tree.toml")
    assert back == arm
    assert back.to_toml() == text


def test_links_of_one_name_are_told_by_number() -> None:
    arm = random_tree(6, 3)
    arm = replace(
        arm, links=tuple(replace(link, name="base" if i == 2 else "link") for i, link in enumerate(arm.links))
    )
    arm = replace(arm, frames=(Frame("a", 2), Frame("b", -1), Frame("c", 4)), tip=3)
    assert aw.Robot.from_fields(toml.parse(arm.to_toml())) == arm


BODY = {"mass": 2.0, "com": [0.1, 0.0, 0.2], "inertia": [0.1, 0.1, 0.1, 0, 0, 0]}
ROW = {"type": "revolute", "alpha": 0.3, "a": 0.2, "d": 0.1, **BODY}


@pytest.mark.parametrize("kind", [*SINGLE_TYPES, *COMPOUND_TYPES])
def test_every_kind_of_joint_stands_in_a_row(kind: str) -> None:
    row = {**ROW, "type": kind, "joint": "j", "gamma": 0.4, "y": 0.5, "z": 0.6, "theta": 0.7}
    arm = aw.Robot.from_dh([row | ({"pitch": 0.05} if kind == "helical" else {})], "modified")
    placed = JointModel("j", "revolute", 0.3, 0.2, 0.1, 0.7, gamma=0.4, y=0.5, z=0.6)
    joints, followers = split_followers(freedoms_of(kind, placed, pitch=0.05))
    assert (arm.joints, arm.followers) == (joints, followers)


def test_a_tool_on_a_tree_with_several_tips_says_on_which() -> None:
    rows = [{**ROW, "name": "trunk"}, {**ROW, "name": "left"}, {**ROW, "name": "right", "parent": "trunk"}]
    arm = aw.Robot.from_dh(rows, "modified")
    assert arm.tip is None and aw.Robot.from_dh(rows[:2], "modified").tip == 1
    assert "tip =" not in arm.to_toml() and "tip =" in arm.with_tip("right").to_toml()
    with pytest.raises(aw.ModelError, match="tool is at the tip, and the robot has several; name the link with tip"):
        aw.Robot.from_dh(rows, "modified", tool=np.eye(4))


def test_a_row_may_hang_on_any_before_it() -> None:
    """Two arms on a trunk, against the poses that the placements say."""
    trunk = {**ROW, "name": "trunk"}
    left = {**ROW, "name": "left", "parent": "trunk", "gamma": "90 deg", "y": 0.2, "z": 0.4}
    right = {**ROW, "name": "right", "parent": 1, "gamma": "-90 deg", "y": -0.2, "z": 0.4}
    beside = {**ROW, "name": "beside", "parent": "base"}
    arm = aw.Robot.from_dh([trunk, left, right, beside], "modified", tip="left")
    assert arm.parents == (-1, 0, 0, -1) and arm.tip == 1
    q = np.array([0.3, -0.4, 0.5, 0.6])

    def placed(row: dict, angle: float) -> np.ndarray:
        def turn(k: int, x: float) -> np.ndarray:
            T, (i, j) = np.eye(4), [(1, 2), (2, 0), (0, 1)][k]
            T[i, i], T[i, j], T[j, i], T[j, j] = np.cos(x), -np.sin(x), np.sin(x), np.cos(x)
            return T

        def shift(*by: float) -> np.ndarray:
            T = np.eye(4)
            T[:3, 3] = by
            return T

        gamma = {"90 deg": np.pi / 2, "-90 deg": -np.pi / 2}.get(row.get("gamma"), 0.0)
        p = shift(row["a"], row.get("y", 0.0), row.get("z", 0.0))
        return turn(2, gamma) @ p @ turn(0, row["alpha"]) @ turn(2, angle) @ shift(0, 0, row["d"])

    first = placed(trunk, q[0])
    poses = [first, first @ placed(left, q[1]), first @ placed(right, q[2]), placed(beside, q[3])]
    close(arm.link_poses(q), poses, 1e-14)
    close(arm.forward_kinematics(q), poses[1], 1e-14)


def test_a_floating_base_is_a_body_on_a_free_joint(tmp_path: Path) -> None:
    rows = [{**ROW, "name": "leg"}, {**ROW, "name": "other", "parent": "base"}, {**ROW, "parent": "hull"}]
    base = {"name": "hull", "mass": 5.0, "com": [0, 0, 0.1], "inertia": [0.2, 0.3, 0.4, 0, 0, 0]}
    arm = aw.Robot.from_dh(rows, "modified", floating=True, base_link=base, frames=[{"name": "imu", "link": "base"}])
    assert arm.parents == (-1, 0, 0, 0) and arm.joint_types == "FRRR" and arm.frames[0].link == 0
    assert [joint.name for joint in arm.joints[:6]] == [f"root_joint.{k}" for k in ("x", "y", "z", "wx", "wy", "wz")]
    assert arm.links[0] == LinkModel("hull", 5.0, (0, 0, 0.1), ((0.2, 0, 0), (0, 0.3, 0), (0, 0, 0.4)))
    fixed = aw.Robot.from_dh(rows, "modified", base_link=base, frames=[{"name": "imu", "link": "base"}])
    assert fixed.parents == (-1, -1, -1) and fixed.frames[0].link == -1
    qd, qdd = np.zeros((2, arm.n))
    close(arm.inverse_dynamics(arm.neutral, qd, qdd)[6:], fixed.gravity_torque(np.zeros(3)), 1e-14)
    assert aw.Robot.from_fields(toml.parse(arm.to_toml())) == arm
    alone = aw.Robot.from_dh([], "modified", floating=True, base_link=base)
    close(np.diag(alone.mass_matrix(alone.neutral)), [5, 5, 5, 0.25, 0.35, 0.4], 1e-15)


def test_what_a_file_says_of_its_base_may_be_overruled(tmp_path: Path) -> None:
    text = FLOATING.replace("floating = true", "floating = false")
    (tmp_path / "robot.toml").write_text(text)
    assert aw.load(tmp_path / "robot.toml").joint_types == "S"
    assert aw.load(tmp_path / "robot.toml", floating=True).joint_types == "FS"
    with pytest.raises(aw.ModelError, match="a base that floats is a body; expected a table base_link"):
        aw.load("puma560", floating=True)
    assert toml.parse(text).table.parents == (-1,)
    assert toml.parse(text, floating=True).table.parents == (-1, 0)
    assert toml.parse(FLOATING, floating=False).table.parents == (-1,)


def test_frames_stand_in_the_frame_of_their_row() -> None:
    """In a standard table that is the far end of the link."""
    rows = [{**ROW}, {**ROW}]
    seven = [0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5]
    arm = aw.Robot.from_dh(rows, "standard", tip=1, frames=[{"name": "camera", "link": 1, "pose": seven}])
    turn = np.array([[0, 0, 1, 0.1], [1, 0, 0, 0.2], [0, 1, 0, 0.3], [0, 0, 0, 1]])
    close(arm.frames[0].pose, np.array(arm.flange) @ turn, 1e-14)
    close(arm.with_tool(seven).tool, turn, 1e-14)
    assert arm.tip == 0 and arm.n == 2


FLOATING = """convention = "modified"
floating = true
[base_link]
mass = 1.0
com = [0, 0, 0]
inertia = [0.01, 0.02, 0.025, 0, 0, 0]
[[link]]
name = "a"
type = "ball"
mass = 1.0
com = [0, 0, 0]
inertia = [0.01, 0.02, 0.025, 0, 0, 0]
[[frame]]
name = "tip"
link = "a"
pose = [0, 0, 0, 0, 0, 0, 1]
"""

MISTAKES = [
    ('link = "a"', 'link = "b"', r"robot.toml, line 15: frame 1: unknown link, the link: 'b'. Known: base, base_link, a"),
    ('link = "a"', "", "line 13: frame 1: missing key 'link'"),
    ('name = "tip"', "", "line 13: frame 1: missing key 'name'"),
    ("0, 0, 1]\n", "0, 0, 2]\n", r"line 16: frame 1: pose: the quaternion \[0.0, 0.0, 0.0, 2.0\] has length 2; expected"),
    ("[0, 0, 0, 0, 0, 0, 1]", "[1, 2]", r"pose: got shape \(2,\); expected a 4x4 homogeneous transform, or x y z and"),
    ("pose", "pos", "unknown key 'pos'; did you mean 'pose'"),
    ("[[frame]]", "[frame]", r"frames must be written as \[\[frame\]\] tables"),
    ("floating = true", "floating = 1", "line 2: robot: floating = 1: expected true or false"),
    ("[base_link]", "[base]", "robot: a base that floats is a body; expected a table base_link .* and there is none"),
    ("[base_link]\nmass = 1.0", "[base_link]\nmas = 1.0", "line 4: base_link: unknown key 'mas'; did you mean 'mass'"),
    ("[base_link]\nmass = 1.0", "[base_link]", "line 3: base_link: missing key 'mass'"),
    ("floating = true", "floating = true\ntip = 7", "line 3: robot: tip = 7: expected 0 for the base, or a link by"),
    ("floating = true", "tip = 0", "line 2: robot: tip = the base, which does not move"),
    ("floating = true", "tip = true", "tip = True: expected the name of a link, its number from 1 on, or 'base'"),
    ('"ball"', '"bail"', "line 9: link 1 .a.: unknown joint type 'bail'; expected one of revolute, prismatic, helical"),
    ('"ball"', '"ball"\nlimits = [0, 1]', "line 10: link 1 .a.: limits: a ball joint has none; expected freedoms = "),
    ('"ball"', '"ball"\nrotor_inertia = 1.0', "rotor_inertia: a ball joint has several freedoms; expected freedoms"),
    ('"ball"', '"ball"\nmax_torque = 1.0', "max_torque: a ball joint has several freedoms; expected freedoms"),
    ('"ball"', '"ball"\nfreedoms = [{limits = [0, 1]}, {}, {}]', "'limits'; a ball joint has no limits, and its"),
    ('"ball"', '"ball"\nfreedoms = [{}, {}]', "freedoms has 2 entries; a ball joint has 3 freedoms"),
    ('"ball"', '"ball"\nfreedoms = 3', "freedoms = 3 is not a list of tables"),
    ('"ball"', '"ball"\npitch = 0.1', "pitch is for helical joints; this one is ball"),
    ('"ball"', '"ball"\nmimic = {joint = "x"}', "mimic: a ball joint has none"),
    ('"ball"', '"ball"\nslender = {rho = 1.0}', "mass and slender both describe"),
    ('"ball"', '"helical"\nalpha = 0\na = 0', "a helical joint needs its pitch, metres per radian and not zero"),
    ('"ball"', '"helical"\nalpha = 0\na = 0\npitch = 0', "a helical joint needs its pitch"),
    ('"ball"', '"helical"\npitch = 1\na = 0', "missing key 'alpha'"),
    ('"ball"', '"universal"\nalpha = 0\na = 0\nd = 0\ncoulomb = 1', "coulomb: a universal joint has several freedoms;"),
    ('"ball"', '"revolute"\nalpha = 0\na = 0\nd = 0\nfreedoms = [{}]', "a revolute joint has one freedom: write limits"),
    ('"ball"', '"ball"\nparent = "b"', "line 10: link 1 .a.: unknown link, the parent: 'b'. Known: base, base_link, a"),
    ('"ball"', '"ball"\nparent = "a"', "'a' is attached to itself; a tree has no loops"),
    ('"ball"', '"ball"\nparent = 2.0', "parent = 2.0: expected the name of a link, its number from 1 on, or 'base'"),
    ('"modified"', '"standard"', "a ball joint is written in the modified convention; standard has revolute, prismatic"),
    ('"ball"', '"revolute"\nalpha = 0\na = 0\nd = 0\nmimic = {joint = "root_joint.x"}', "a free joint can neither follow nor be followed"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake_in_a_tree_is_told_where_and_why(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in FLOATING
    (tmp_path / "robot.toml").write_text(FLOATING.replace(old, new, 1))
    with pytest.raises(aw.ModelError, match=message):
        aw.Robot.from_toml(tmp_path / "robot.toml")


@pytest.mark.parametrize(
    ("rows", "convention", "message"),
    [
        ([{"parent": "link2"}, {"parent": 0}], "modified", "link 1: 'link1' is attached to 'link2', which is written after it; write the"),
        ([{"parent": 3}, {}, {"parent": 1}], "modified", "'link1' is attached to 'link3', which is attached to 'link1'; a tree has"),
        ([{"name": "a"}, {"name": "a"}, {"parent": "a"}], "modified", "parent = 'a': several links have this name; give"),
        ([{}, {"parent": 0}], "standard", "unknown key 'parent'; .*trees, general placements .* need the modified convention"),
        ([{}, {"parent": 0}], "modified", "robot 'robot': tool is at the tip, and the robot has several; name the link"),
        ([{"gamma": 0.1}], "saha", "need the modified convention"),
        ([{"parent": -1}], "modified", "parent = -1: expected 0 for the base, or a link by its number, up to 1"),
        ([{"freedoms": [{}, {"gear": 0}], "type": "cylindrical"}], "modified", "gear = 0 would uncouple"),
    ],
)  # fmt: skip
def test_parents_that_cannot_be(rows: list[dict], convention: str, message: str) -> None:
    given = [{**ROW, **row} for row in rows]
    if convention == "saha":
        given = [{"b" if key == "d" else key: value for key, value in row.items()} for row in given]
    with pytest.raises(aw.ModelError, match=message):
        aw.Robot.from_dh(given, convention, tool=np.eye(4) if "tool" in message else None)


def test_a_slender_link_ends_at_one_child() -> None:
    rod = {"type": "revolute", "alpha": 0.0, "a": 0.5, "d": 0.0, "slender": {"rho": 1.0}}
    tree = [rod, {**ROW}, {**ROW, "parent": 1}]
    with pytest.raises(
        aw.ModelError, match="a slender link ends at one child on its x axis; give mass, com and inertia"
    ):
        aw.Robot.from_dh(tree, "modified")
    with pytest.raises(aw.ModelError, match="a slender link ends at one child on its x axis"):
        aw.Robot.from_dh([rod, {**ROW, "gamma": 0.1}], "modified")
    with pytest.raises(
        aw.ModelError, match="a slender link is attached to a revolute or prismatic joint, not to a ball one"
    ):
        aw.Robot.from_dh([{"type": "ball", "slender": {"rho": 1.0}}], "modified")


def test_friction_and_limits_pass_by_a_ball() -> None:
    arm = random_tree(3, 0, kinds=("revolute",), floating=True)
    arm = arm.with_friction(viscous=0.3).with_limits(torque=5.0)
    assert [joint.viscous for joint in arm.joints] == [0.0] * 6 + [0.3] * 2
    assert [joint.max_torque for joint in arm.joints] == [5.0] * 8
    given = arm.with_friction(viscous=[None] * 6 + [0.1, 0.2])
    assert [joint.viscous for joint in given.joints] == [0.0] * 6 + [0.1, 0.2]
    assert arm.with_friction(viscous={"joint1.wz": 1}).joints[5].viscous == 1.0
    with pytest.raises(
        aw.ModelError, match=r"with_limits, joint1\.wz: position = \(0, 1\): a free joint has no limits; expected None"
    ):
        arm.with_limits(position={"joint1.wz": (0, 1)})


def test_a_file_of_a_tree_is_checked(tmp_path: Path) -> None:
    """Each body by its own children, the base too; nothing is said of conventions, which a tree has no choice of."""
    path = tmp_path / "robot.toml"
    path.write_text(FLOATING.replace("mass = 1.0", "mass = 1e5", 1))
    report = check(path, peers={"itself": lambda model, *state: model.inverse_dynamics(*state)})
    assert all(proof.holds for proof in report.proofs)
    assert {f.where: f.line for f in report.findings if f.severity == "warning"} == {"base_link": 6}
    path.write_text(random_tree(8, 5).to_toml())
    assert not [finding for finding in check(path, prove_it=False).findings if finding.severity == "error"]


def turned(rng: np.random.Generator, alpha: float, gamma: float) -> dict:
    """A placement, with a body that could be."""
    a, y, z, d, theta = rng.uniform(-0.5, 0.5, 5).tolist()
    inertia = [0.12, 0.15, 0.2, 0.01, -0.02, 0.03]
    body = {"mass": float(rng.uniform(1, 2)), "com": rng.uniform(-0.2, 0.2, 3).tolist(), "inertia": inertia}
    return {"type": "revolute", "alpha": alpha, "gamma": gamma, "a": a, "y": y, "z": z, "d": d, "theta": theta, **body}


@pytest.mark.parametrize(
    ("alpha", "gamma"), [(0.7, -1.2), (-2.5, 2.9), (0.4, 0.0), ("pi/2", "pi/2"), ("-pi/2", "pi/2"), ("pi", "-pi/2")]
)
@pytest.mark.usefixtures("uncompiled")
def test_a_table_with_a_universal_joint_is_the_robot_that_the_docs_describe(alpha: float, gamma: float) -> None:
    """Against Pinocchio's composite of a joint about z and one about x: the data stand in the frame behind both."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    rng = np.random.default_rng(5)
    first = {**turned(rng, 0.3, 0.2), "type": "universal", "name": "cross"}
    rows = [first, turned(rng, alpha, gamma), {**turned(rng, alpha, gamma), "parent": "cross"}]
    rows[2] |= {"type": "ball", "name": "ball"}
    seven = [0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5]
    arm = aw.Robot.from_dh(rows, "modified", frames=[{"name": "camera", "link": "cross", "pose": seven}])

    both = pin.JointModelComposite(pin.JointModelRZ())
    both.addJoint(pin.JointModelRX(), pin.SE3.Identity())
    model = pin.Model()
    for row, joint, parent in zip(rows, (both, pin.JointModelRZ(), pin.JointModelSpherical()), (0, 1, 1), strict=True):
        alpha_, gamma_ = (
            aw.Robot.from_dh([{**ROW, "alpha": row[k]}], "modified").joints[0].alpha for k in ("alpha", "gamma")
        )
        at = pin.SE3(pin.utils.rotate("z", gamma_), np.zeros(3))
        at *= pin.SE3(pin.utils.rotate("x", alpha_), np.array([row["a"], row["y"], row["z"]]))
        at *= pin.SE3(pin.utils.rotate("z", row["theta"]), np.array([0, 0, 0.0]))
        at *= pin.SE3(np.eye(3), np.array([0, 0, row["d"]]))
        k = model.addJoint(parent, joint, at, f"{parent} {row['type']}")
        xx, yy, zz, xy, xz, yz = row["inertia"]
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(k, pin.Inertia(row["mass"], np.array(row["com"]), tensor), pin.SE3.Identity())
    data = model.createData()
    q, (qd, qdd) = arm.unit(rng.uniform(-1, 1, arm.nq)), rng.uniform(-1, 1, (2, arm.n))
    close(arm.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, q, qd, qdd), 1e-13)
    pin.forwardKinematics(model, data, q)
    camera = data.oMi[1] * pin.XYZQUATToSE3(np.array(seven))
    close(arm.forward_kinematics(q, frame="camera"), camera.homogeneous, 1e-14)
    text = arm.to_toml()
    assert aw.Robot.from_fields(toml.parse(text)) == arm and 'z_axis = "second"' in text


def test_the_axis_of_a_universal_joint_is_checked() -> None:
    with pytest.raises(aw.ModelError, match="z_axis = 'third'; expected 'first' or 'second'"):
        aw.Robot.from_dh([{**ROW, "type": "universal", "z_axis": "third"}], "modified")
    with pytest.raises(aw.ModelError, match="z_axis is for universal joints; this one is revolute"):
        aw.Robot.from_dh([{**ROW, "z_axis": "first"}], "modified")
