"""Every kind of problem is found, named and told to the user; good robots raise none."""

import importlib.util
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.model.records import Payload


def changed(arm: aw.Robot, i: int, **values) -> aw.Robot:
    links = list(arm.links)
    links[i] = replace(links[i], **values)
    return replace(arm, links=tuple(links))


def scaled(tensor, factor):
    return tuple(tuple(factor * x for x in row) for row in tensor)


def kinds(arm: aw.Robot) -> set[str]:
    return {p.kind for p in aw.problems(arm)}


def diag(*values):
    return tuple(map(tuple, np.diag(values).tolist()))


PUMA = aw.load("puma560")


@pytest.mark.parametrize(
    ("arm", "kind", "sentence"),
    [
        (changed(PUMA, 2, mass=0.0), "non-positive mass", "forearm: its mass is zero"),
        (changed(PUMA, 2, mass=-1.0), "non-positive mass", "forearm: its mass is negative"),
        (changed(PUMA, 2, inertia=diag(-0.1, 0.2, 0.2)), "not positive definite", "forearm: its inertia tensor is not positive"),
        (changed(PUMA, 2, inertia=diag(0.1, 0.1, 0.3)), "triangle inequality", "forearm: .* break the triangle inequality"),
        (changed(PUMA, 2, inertia=diag(0, 0, 0)), "missing inertia", "forearm: its inertia is missing"),
        (changed(PUMA, 1, inertia=scaled(PUMA.links[1].inertia, 1e3)), "suspicious units", "upper_arm: .* check the units"),
        (changed(PUMA, 1, inertia=scaled(PUMA.links[1].inertia, 1e-3)), "suspicious units", "upper_arm: .* far too small"),
        (changed(PUMA, 1, inertia=scaled(PUMA.links[1].inertia, 1e6)), "suspicious units", "kg mm"),
        (
            changed(changed(PUMA, 5, mass=0.0, inertia=diag(0, 0, 0)), 4, mass=0.0, inertia=diag(0, 0, 0)),
            "singular mass matrix",
            r"wrist2: nothing outside its joint has mass or inertia \(wrist2, hand\), so the mass matrix is singular",
        ),
        (
            replace(PUMA, joints=(*PUMA.joints[:5], replace(PUMA.joints[5], limits=(1.0, -1.0)))),
            "reversed limits",
            "joint6: its limits are reversed: lower 1 above upper -1",
        ),
        (
            replace(PUMA, joints=(replace(PUMA.joints[0], limits=(1.0, 1.0)), *PUMA.joints[1:])),
            "no travel",
            "joint1: its limits are equal",
        ),
        (
            replace(PUMA, joints=(PUMA.joints[0], replace(PUMA.joints[1], alpha=-1.5708), *PUMA.joints[2:])),
            "rounded angle",
            r"joint2: alpha = -1\.5708 is -1 right angle.* rounded",
        ),
        (
            replace(PUMA, joints=(PUMA.joints[0], replace(PUMA.joints[1], alpha=-90.0), *PUMA.joints[2:])),
            "degrees",
            "joint2: alpha = -90 .* degrees",
        ),
        (
            replace(PUMA, joints=(replace(PUMA.joints[0], limits=(-160.0, 160.0)), *PUMA.joints[1:])),
            "degrees",
            r"joint1: its limits \(-160, 160\) .* degrees",
        ),
        (changed(PUMA, 0, mass=-5.0), "non-positive mass", "trunk: its mass is negative"),
        (changed(PUMA, 0, inertia=diag(-5.0, -5.0, 0.35)), "not positive definite", "trunk: "),
        (changed(PUMA, 0, mass=5.0, inertia=diag(0, 0, 0)), "missing inertia", "trunk: "),
        (changed(PUMA, 0, mass=5.0, inertia=diag(0, 0, 1e4)), "suspicious units", "trunk: "),
        (changed(PUMA, 2, mass=4800.0), "suspicious units", "forearm: .* grams"),
        (replace(PUMA, payload=Payload(1.0, inertia=diag(0.1, 0.1, 0.3))), "triangle inequality", "payload: its principal moments"),
        (replace(PUMA, payload=Payload(1.0, inertia=diag(1e4, 1e4, 1e4))), "suspicious units", "payload: "),
    ],
)  # fmt: skip
def test_a_planted_mistake_is_found(arm: aw.Robot, kind: str, sentence: str) -> None:
    found = [p for p in aw.problems(arm) if p.kind == kind]
    assert len(found) == 1
    assert re.search(sentence, found[0])
    assert found[0].where in found[0]


@pytest.mark.parametrize("seed", range(40))
def test_a_random_robot_could_exist(seed: int) -> None:
    assert aw.problems(aw.random_robot(1 + seed % 9 if seed else 80, seed)) == []


MISSED = {
    ("ascher", 1e3): {"link1"},
    # link4 sits 0.7 m from the boom along the axis they share; of the boom no distance is known
    ("stanford", 1e3): {"link4"},
    ("stanford", 1e-3): {"link3"},
}


def units(arm: aw.Robot) -> set[str]:
    return {p.where for p in aw.problems(arm) if p.kind == "suspicious units"}


@pytest.mark.parametrize("factor", [1e6, 1e3, 1e-3, 1e-6])
def test_a_tensor_a_thousand_times_off_is_told_for_every_link(robot_name: str, factor: float) -> None:
    arm = aw.load(robot_name)
    missed = {
        link.name
        for i, link in enumerate(arm.links)
        if link.mass and np.any(link.inertia) and link.name not in units(arm)
        if link.name not in units(changed(arm, i, inertia=scaled(link.inertia, factor)))
    }
    assert missed == MISSED.get((robot_name, factor), set())


@pytest.mark.parametrize(
    "slip",
    [
        lambda link: replace(link, mass=1e3 * link.mass),
        lambda link: replace(link, com=tuple(1e3 * x for x in link.com)),
        lambda link: replace(link, inertia=scaled(link.inertia, 1e9)),
    ],
    ids=["grams", "millimetres", "g mm^2"],
)
def test_the_same_slip_in_all_links_is_told(robot_name: str, slip) -> None:
    def told(arm: aw.Robot) -> set[str]:
        return {p.where for p in aw.problems(arm) if p.kind in ("suspicious units", "centre of mass outside")}

    arm = aw.load(robot_name)
    if any(np.any(link.inertia) for link in arm.links):
        assert len(told(replace(arm, links=tuple(map(slip, arm.links)))) - told(arm)) > 1


ODD = {
    # the tensor of 8.8 kg is printed as that of a body of 6 mm in the table of Mohan and Saha
    "puma_mohan2007": {"link3"},
    # fifty times too large as they are published: cylinders of 0.6 m radius in place of 0.06 m
    "ur5": {"wrist_1_link", "wrist_2_link", "wrist_3_link"},
    # 0.02 kg m^2 for fingers of 30 g, as published
    "baxter": {f"{side}_gripper_{finger}_finger" for side in "lr" for finger in "lr"},
}


def test_no_packaged_robot_but_three_looks_like_other_units(robot_name: str) -> None:
    assert units(aw.load(robot_name)) == ODD.get(robot_name, set())


@pytest.mark.parametrize("along", [-30.0, 0.4, 100.0])
def test_sizes_do_not_depend_on_where_on_its_axis_a_frame_stands(along: float) -> None:
    """Joints 2, 3 and 4 of the UR10 are parallel, so that frame 3 may stand anywhere on its axis; the last one anyway."""
    arm = aw.load("ur10")
    joints, links = list(arm.joints), list(arm.links)
    for i in (2, 5):
        x, y, z = links[i].com
        joints[i], links[i] = replace(joints[i], d=joints[i].d + along), replace(links[i], com=(x, y, z - along))
    joints[3] = replace(joints[3], d=joints[3].d - along)
    back = np.array(arm.flange)
    back[2, 3] -= along
    moved = replace(arm, joints=tuple(joints), links=tuple(links), flange=tuple(map(tuple, back.tolist())))
    q = np.linspace(-1, 1, 6)
    np.testing.assert_allclose(moved.forward_kinematics(q), arm.forward_kinematics(q), atol=1e-12)
    assert units(moved) == set()
    for factor in (1e3, 1e-3):
        for i in range(6):
            assert units(changed(moved, i, inertia=scaled(links[i].inertia, factor))) == {links[i].name}


def test_a_calibrated_angle_is_not_a_rounded_one() -> None:
    joints = (PUMA.joints[0], replace(PUMA.joints[1], alpha=-1.570396), *PUMA.joints[2:])
    assert aw.problems(replace(PUMA, joints=joints)) == []


def test_a_singular_matrix_names_the_joints_that_move_no_mass() -> None:
    row = {"type": "prismatic", "alpha": 0.0, "a": 0.0, "d": 0.0, "theta": 0.0}
    nothing = {"mass": 0.0, "com": [0, 0, 0], "inertia": [0] * 6}
    body = {"mass": 1.0, "com": [0, 0, 0.1], "inertia": [0.01, 0.01, 0.01, 0, 0, 0]}
    arm = aw.Robot.from_dh([row | body | {"alpha": 0.5}, row | nothing, row | body], "modified")
    (problem,) = [p for p in aw.problems(arm) if p.kind == "singular mass matrix"]
    assert "link2: joint2, joint3 can move without moving any mass" in problem


def test_only_a_robot_has_problems() -> None:
    with pytest.raises(aw.InputError, match="problems got str; expected a Robot"):
        aw.problems("puma560")


def test_packaged_robots_are_sound_or_say_what_they_accept(robot_name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", aw.errors.PublishedWarning)
        arm = aw.load(robot_name)
    assert {p.kind for p in aw.problems(arm) if p.severity != "note"} <= set(arm.accept)


def test_a_payload_mends_a_massless_tip() -> None:
    tip = changed(PUMA, 5, mass=0.0, inertia=diag(0, 0, 0))
    assert "singular mass matrix" in kinds(tip)
    assert "singular mass matrix" not in kinds(tip.with_payload(1.0, [0.1, 0, 0], np.eye(3) * 0.01))


def test_loading_warns_of_what_can_still_be_computed(tmp_path: Path) -> None:
    changed(PUMA, 2, inertia=diag(0.1, 0.1, 0.3)).to_toml(tmp_path / "odd.toml")
    with pytest.warns(aw.ModelWarning, match="robot 'puma560': forearm: .* triangle inequality"):
        arm = aw.load(tmp_path / "odd.toml")
    assert np.isfinite(arm.gravity_torque(np.zeros(6))).all()
    for accept in ("triangle inequality", "forearm: triangle inequality"):
        replace(arm, accept=(accept,)).to_toml(tmp_path / "known.toml")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            aw.load(tmp_path / "known.toml")
    replace(arm, accept=("upper_arm: triangle inequality",)).to_toml(tmp_path / "known.toml")
    with pytest.warns(aw.ModelWarning):
        aw.load(tmp_path / "known.toml")
    replace(arm, accept=("triangle",)).to_toml(tmp_path / "known.toml")
    with pytest.raises(aw.UnknownNameError, match=r"kind of problem under accept: 'triangle'.*triangle inequality"):
        aw.load(tmp_path / "known.toml")


CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")


@pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    "file",
    [
        *(f"panda_description/urdf/{name}.urdf" for name in ("panda", "panda_collision")),
        *(f"ur_description/urdf/{name}_robot.urdf" for name in ("ur3", "ur5", "ur10")),
        "kinova_description/robots/kinova.urdf",
        "xarm_description/urdf/xarm7.urdf",
        "z1_description/urdf/z1.urdf",
        "so_arm_description/urdf/so101.urdf",
    ],
)
def test_locking_a_joint_makes_no_other_link_look_wrong(file: str) -> None:
    def loaded(**locked: float) -> aw.Robot:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return aw.load(EXAMPLES / file, locked=locked, visuals=False)

    before = units(loaded())
    for joint in loaded().joints:
        for position in (0.0, -1.5, 1.0):
            assert units(loaded(**{joint.name: position})) <= before
