"""One robot written in four DH conventions is one robot."""

from dataclasses import asdict

import numpy as np
import pinocchio as pin
import pytest
from conftest import close, random_transform

import armwright as aw
from armwright.model.canonical import canonical_tree
from armwright.model.description import Description
from armwright.model.file_joints import FileJoint
from armwright.model.records import JointModel

pytestmark = pytest.mark.usefixtures("uncompiled")


def rot_x(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


TAIL = (0.7, 0.25)  # alpha and a of the last standard row, after the last joint


def tables(n: int, seed: int) -> tuple[dict[str, list[dict]], np.ndarray]:
    """The rows of a random robot in each convention, and where the distal tables end, seen from frame n."""
    arm = aw.random_robot(n, seed, prismatic=0.4)
    proximal, distal = [], []
    for i, (joint, link) in enumerate(zip(arm.joints, arm.links, strict=True)):
        # distal tables have no row before the first joint, so its alpha and a go to the base
        alpha, a = (0.0, 0.0) if i == 0 else (joint.alpha, joint.a)
        common = {"type": joint.type, "theta": joint.theta, "mass": link.mass}
        proximal.append(common | {"alpha": alpha, "a": a, "d": joint.d, "com": link.com, "inertia": link.inertia})
        alpha, a = (arm.joints[i + 1].alpha, arm.joints[i + 1].a) if i + 1 < n else TAIL
        R = rot_x(alpha).T
        com, inertia = R @ (np.array(link.com) - [a, 0, 0]), R @ np.array(link.inertia) @ R.T
        distal.append(common | {"alpha": alpha, "a": a, "d": joint.d, "com": com, "inertia": inertia})
    last = np.eye(4)
    last[:3, :3], last[0, 3] = rot_x(TAIL[0]), TAIL[1]

    def renamed(rows, sign):
        return [{k: v for k, v in row.items() if k != "d"} | {"b": sign * row["d"]} for row in rows]

    return {
        "modified": proximal,
        "standard": distal,
        "angeles": renamed(proximal, -1),
        "saha": renamed(distal, 1),
    }, last


@pytest.mark.parametrize(("n", "seed"), [(1 + s % 7, s) for s in range(25)])
def test_four_conventions_give_the_same_torques(n: int, seed: int) -> None:
    rows, last = tables(n, seed)
    rng = np.random.default_rng(seed)
    tool = random_transform(rng)
    q, qd, qdd = rng.uniform(-1, 1, (3, n))
    wrench = rng.normal(size=6)
    expected = aw.Robot.from_dh(rows["modified"], "modified", tool=last @ tool).inverse_dynamics(q, qd, qdd, wrench)
    for convention, table in rows.items():
        proximal = convention in ("modified", "angeles")
        arm = aw.Robot.from_dh(table, convention, tool=last @ tool if proximal else tool)
        # Angeles counts a prismatic joint by b = -d: position, velocity, acceleration and force change sign
        against = convention == "angeles"
        sign = np.array([-1.0 if against and row["type"] == "prismatic" else 1.0 for row in table])
        tau = arm.inverse_dynamics(sign * q, sign * qd, sign * qdd, wrench)
        close(sign * tau, expected, 1e-13)


def test_slender_links_are_rods_payload_and_hub() -> None:
    """Against a hundred thousand points along the two rods."""
    a, b, rho, payload, hub = 0.4, -0.3, 2.0, 0.5, np.diag([0.01, 0.02, 0.03])
    row = {"type": "revolute", "alpha": 0.3, "a": a, "b": b, "theta": 0.0}
    arm = aw.Robot.from_dh([{**row, "slender": {"rho": rho, "payload": payload, "hub": hub.tolist()}}], "saha")
    link = arm.links[0]
    t = (np.arange(50_000) + 0.5) / 50_000
    z_rod = np.stack([0 * t, 0 * t, -b * t], axis=1)  # canonical frame: at the end of b, where the rod along x begins
    x_rod = np.stack([a * t, 0 * t, 0 * t], axis=1)
    points = np.concatenate([z_rod, x_rod, [[a, 0, 0]]])
    masses = np.concatenate(
        [rho * abs(b) * np.full(t.size, 1 / t.size), rho * a * np.full(t.size, 1 / t.size), [payload]]
    )
    com = masses @ points / masses.sum()
    r = points - com
    inertia = np.einsum("i,ijk->jk", masses, (r**2).sum(1)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :])
    assert link.mass == pytest.approx(masses.sum(), rel=1e-12)
    close(link.com, com, 1e-9)
    close(link.inertia, inertia + hub, 1e-8)


def test_slender_links_are_the_same_in_all_conventions() -> None:
    """In the proximal conventions the rod along x is the a of the next row."""
    slender = {"rho": 2.0, "payload": 0.3, "hub": 0.05}
    common = {"type": "revolute", "theta": 0.0, "slender": slender}
    distal = [common | {"alpha": 0.4, "a": 0.3}, common | {"alpha": 0, "a": 0}]
    proximal = [common | {"alpha": 0, "a": 0}, common | {"alpha": 0.4, "a": 0.3}]
    robots = [
        aw.Robot.from_dh([row | {letter: sign * d} for row, d in zip(rows, (0.2, 0.1), strict=True)], convention)
        for rows, letter, sign, convention in (
            (proximal, "d", 1, "modified"),
            (proximal, "b", -1, "angeles"),
            (distal, "d", 1, "standard"),
            (distal, "b", 1, "saha"),
        )
    ]
    assert all(arm.links == robots[0].links for arm in robots)


def test_a_slender_link_without_length_is_refused() -> None:
    row = {"type": "revolute", "alpha": 0, "a": 0.5, "d": 0, "slender": {"rho": 1.0}}
    with pytest.raises(aw.ModelError, match="the rods have no length"):
        aw.Robot.from_dh([row], "modified")  # the a of the last row lies before its joint
    with pytest.raises(aw.ModelError, match=r"length = -0\.4 is negative"):
        aw.Robot.from_dh([row | {"type": "prismatic", "theta": 0, "slender": {"rho": 1.0, "length": -0.4}}], "modified")


def test_a_slender_prismatic_link_has_a_rod_of_fixed_length() -> None:
    row = {"type": "prismatic", "alpha": 0.0, "a": 0.2, "b": 0.5, "theta": 0.0, "slender": {"mass": 3.0, "length": 0.4}}
    link = aw.Robot.from_dh([row], "saha").links[0]
    assert link.mass == pytest.approx(3.0)
    assert link.com == pytest.approx((0.2 / 0.6 * 0.1, 0.0, -0.4 / 0.6 * 0.2))


def test_point_masses_add_up() -> None:
    row = {"type": "revolute", "alpha": 0.0, "a": 0.0, "d": 0.0, "theta": 0.0}
    points = [{"mass": 1.0, "at": [1.0, 0.0, 0.0]}, {"mass": 3.0, "at": [-1.0, 0.0, 0.0]}]
    link = aw.Robot.from_dh([{**row, "point_masses": points}], "modified").links[0]
    assert (link.mass, link.com) == (4.0, (-0.5, 0.0, 0.0))
    close(link.inertia, np.diag([0.0, 3.0, 3.0]), 1e-15)


def test_right_angles_are_exact() -> None:
    mechanism = aw.load("puma560").mechanism()
    assert {(j.ca, j.sa) for j in mechanism.joints} == {(1, 0), (0, -1), (0, 1)}


def placed_anywhere(n: int, rng: np.random.Generator) -> tuple[list[FileJoint], pin.Model]:
    """Joints anywhere, and in special places: right angles, parallel, intersecting and equal axes."""
    joints, model, parent = [], pin.Model(), 0
    for i in range(n):
        T = random_transform(rng) if rng.random() < 0.3 else np.eye(4)
        if rng.random() < 0.5:
            T[:3, :3] = rot_x(rng.integers(4) * np.pi / 2)
        T[:3, 3] = rng.normal(size=3) * (rng.random(3) < 0.5)
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1, 1]) if rng.random() < 0.7 else rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        prismatic = bool(rng.random() < 0.3)
        link = aw.random_robot(1, int(rng.integers(1000))).links[0]
        joints.append(FileJoint(T, axis, "prismatic" if prismatic else "revolute", link, i - 1))
        kind = (pin.JointModelPrismaticUnaligned if prismatic else pin.JointModelRevoluteUnaligned)(axis)
        parent = model.addJoint(parent, kind, pin.SE3(T), f"joint{i + 1}")
        model.appendBodyToJoint(
            parent, pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia)), pin.SE3.Identity()
        )
    return joints, model


@pytest.mark.parametrize("seed", range(40))
def test_joints_placed_anywhere_have_canonical_frames(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joints, model = placed_anywhere(int(rng.integers(1, 8)), rng)
    table = canonical_tree(joints)
    rows = [
        JointModel(f"joint{i}", joint.kind, **asdict(row))
        for i, (joint, row) in enumerate(zip(joints, table.rows, strict=True))
    ]
    arm = aw.Robot.from_description(
        Description("anywhere", tuple(rows), table.links, base=table.base, flange=table.file_frames[-1])
    )
    state = rng.normal(size=(3, arm.n))
    close(arm.inverse_dynamics(*state), pin.rnea(model, model.createData(), *state), 1e-11)
