"""`armwright check` and `armwright compare`: planted mistakes are found where they are, good robots raise no alarm."""

import importlib.util
import json
import math
import re
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from conftest import random_case, random_transform
from typer.testing import CliRunner

import armwright as aw
from armwright.check import Report, check, compare, fix
from armwright.check.comparison import DIFFERENCE_KINDS as DIFFERENCES
from armwright.check.file_check import read_file_model
from armwright.check.findings import finding_kinds
from armwright.cli import app
from armwright.model import urdf_writer
from armwright.model.joint_types import freedoms_of
from armwright.robot import random_tree
from armwright.rules import kinds
from armwright.rules.joint_rules import exact_angle
from armwright.rules.tensors import is_physical, parallel_axis_term, with_negated_products

CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")
PANDA = EXAMPLES / "panda_description/urdf/panda.urdf"
needs_examples = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")

SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
ARM = """<robot name="small">
  <!-- a turret, a leaning upper arm, a forearm and a hand; every link filled evenly -->
  <link name="base"/>
  <link name="turret"><inertial><origin xyz="0 0 0.1"/><mass value="4"/>
    <inertia ixx="0.0184" ixy="0" ixz="0" iyy="0.0184" iyz="0" izz="0.0128"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.15 0 0.15"/><mass value="3"/>
    <inertia ixx="0.02136" ixy="0" ixz="-0.01956" iyy="0.04092" iyz="0" izz="0.02136"/></inertial>
    <collision><origin xyz="0.15 0 0.15" rpy="0 -0.7853981633974483 0"/><geometry><box size="0.4 0.06 0.06"/></geometry></collision></link>
  <link name="fore"><inertial><origin xyz="0.18 0 0"/><mass value="2"/>
    <inertia ixx="0.000833" ixy="0" ixz="0" iyy="0.0220" iyz="0" izz="0.0220"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.04 0.01 0.02"/><mass value="0.7"/>
    <inertia ixx="0.0011" ixy="0" ixz="0" iyy="0.0012" iyz="0" izz="0.0009"/></inertial></link>
  <link name="tool"/>
  <joint name="waist" type="revolute"><parent link="base"/><child link="turret"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="80" velocity="2"/></joint>
  <joint name="shoulder" type="revolute"><parent link="turret"/><child link="upper"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="2" effort="80" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.3 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2.2" effort="40" velocity="3"/></joint>
  <joint name="wrist" type="revolute"><parent link="fore"/><child link="hand"/><origin xyz="0.36 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="10" velocity="4"/></joint>
  <joint name="mount" type="fixed"><parent link="hand"/><child link="tool"/><origin xyz="0.1 0 0"/></joint>
</robot>
"""


def write(tmp_path: Path, text: str, name: str = "robot.urdf") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def planted(text: str, *changes: tuple[str, dict[str, object]]) -> str:
    """A URDF with attributes of some elements replaced; None takes the element away."""
    root = ET.fromstring(text)
    for path, attributes in changes:
        element = root.find(path)
        assert element is not None, path
        if attributes is None:
            parent = root.find(path.rpartition("/")[0])
            parent.remove(element)
        else:
            element.attrib.update({key: str(value) for key, value in attributes.items()})
    return ET.tostring(root, encoding="unicode")


def link(name: str, part: str) -> str:
    return f"link[@name='{name}']/inertial/{part}"


def joint(name: str, part: str = "") -> str:
    return f"joint[@name='{name}']" + (f"/{part}" if part else "")


def body(name: str, text: str = ARM) -> tuple[float, np.ndarray, np.ndarray]:
    root = ET.fromstring(text)
    origin = root.find(link(name, "origin"))
    six = root.find(link(name, "inertia"))
    xx, xy, xz, yy, yz, zz = (float(six.get(key)) for key in SIX)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    com = np.array([float(x) for x in origin.get("xyz").split()])
    return float(root.find(link(name, "mass")).get("value")), com, tensor


def tensor(name: str, inertia: np.ndarray) -> tuple[str, dict[str, object]]:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    return link(name, "inertia"), dict(zip(SIX, (xx, xy, xz, yy, yz, zz), strict=True))


def about_origin(name: str, text: str = ARM) -> tuple[str, dict[str, object]]:
    mass, com, inertia = body(name, text)
    return tensor(name, inertia + parallel_axis_term(mass, com))


BARE = planted(ARM, ("link[@name='upper']/collision", None))
"""Without shapes, so that only joints tell how long a link is."""

IN_URDF = {
    "negative mass": (ARM, [(link("upper", "mass"), {"value": -3})], "non-positive mass", "upper", "error"),
    "indefinite tensor": (ARM, [tensor("fore", np.diag([-0.01, 0.02, 0.02]))], "not positive definite", "fore", "error"),
    "triangle inequality": (ARM, [tensor("fore", np.diag([0.001, 0.001, 0.02]))], "triangle inequality", "fore", "error"),
    "no tensor": (ARM, [tensor("fore", np.zeros((3, 3)))], "missing inertia", "fore", "warning"),
    "tensor without mass": (ARM, [(link("fore", "mass"), {"value": 0})], "inertia without mass", "fore", "warning"),
    "about the origin, of a solid": (ARM, [about_origin("upper")], "inertia about the origin", "upper", "error"),
    "about the origin, by its products": (ARM, [about_origin("hand")], "inertia about the origin", "hand", "error"),
    "about the origin, too long": (ARM, [about_origin("fore")], "inertia about the origin", "fore", "warning"),
    "flipped products of a solid": (ARM, [tensor("upper", with_negated_products(body("upper")[2]))], "flipped products", "upper", "error"),
    "flipped products": (BARE, [tensor("upper", with_negated_products(body("upper")[2]))], "flipped products", "upper", "note"),
    "impossible unless flipped": (ARM, [tensor("hand", np.array([[0.11, 0.04, 0.04], [0.04, 0.1, 0.04], [0.04, 0.04, 0.09]]) / 100)], "flipped products", "hand", "warning"),
    "parallel axis twice": (ARM, [tensor("fore", body("fore")[2] - 0.4 * parallel_axis_term(*body("fore")[:2]))], "parallel axis twice", "fore", "warning"),
    "tensor in turned axes": (ARM, [tensor("fore", np.diag([0.022, 0.022, 0.000833]))], "turned tensor", "fore", "note"),
    "kg mm^2": (ARM, [tensor("fore", body("fore")[2] * 1e6)], "suspicious units", "fore", "warning"),
    "g mm^2": (ARM, [tensor("upper", body("upper")[2] * 1e9)], "suspicious units", "upper", "warning"),
    "grams": (ARM, [(link("fore", "mass"), {"value": 2000})], "suspicious units", "fore", "warning"),
    "all in grams": (ARM, [(link(n, "mass"), {"value": 1000 * body(n)[0]}) for n in ("turret", "upper", "fore", "hand")], "suspicious units", "small", "warning"),
    "millimetres": (ARM, [(joint("elbow", "origin"), {"xyz": "300 0 300"})], "millimetres", "elbow", "warning"),
    "centre of mass in millimetres": (ARM, [(link("fore", "origin"), {"xyz": "180 0 0"})], "centre of mass outside", "fore", "warning"),
    "centre of mass outside": (ARM, [(link("hand", "origin"), {"xyz": "1.5 0 0"})], "centre of mass outside", "hand", "warning"),
    "all of one mass in kg mm^2": (ARM, [tensor(n, body(n)[2] * 1e6) for n in ("turret", "upper", "fore", "hand")], "suspicious units", "hand", "warning"),
    "the same tensor twice": (ARM, [tensor("turret", body("fore")[2])], "identical inertia", "turret", "warning"),
    "the same tensor, nearly the same mass": (ARM, [tensor("turret", body("fore")[2]), (link("turret", "mass"), {"value": 2.1})], "identical inertia", "turret", "note"),
    "an exporter's tensors": (ARM, [tensor(n, np.eye(3) * 1e-3) for n in ("fore", "hand")], "placeholder", "fore", "warning"),
    "mass 1 everywhere": (ARM, [(link(n, "mass"), {"value": 1}) for n in ("turret", "upper", "fore", "hand")], "placeholder", "small", "warning"),
    "axis too long": (ARM, [(joint("elbow", "axis"), {"xyz": "0 2 0"})], "axis length", "elbow", "warning"),
    "axis of few digits": (ARM, [(joint("elbow", "axis"), {"xyz": "0.7071 0.7071 0"})], "axis length", "elbow", "note"),
    "axis of no length": (ARM, [(joint("elbow", "axis"), {"xyz": "0 0 0"})], "axis length", "elbow", "error"),
    "reversed limits": (ARM, [(joint("elbow", "limit"), {"lower": 2.2, "upper": -2})], "reversed limits", "elbow", "error"),
    "limits in degrees": (ARM, [(joint("waist", "limit"), {"lower": -170, "upper": 170})], "degrees", "waist", "warning"),
    "small limits in degrees": (ARM, [(joint("waist", "limit"), {"lower": -20, "upper": 20})], "degrees", "waist", "note"),
    "no limits": (ARM, [(joint("waist", "limit"), None)], "missing limits", "waist", "warning"),
    "no travel": (ARM, [(joint("waist", "limit"), {"lower": 0, "upper": 0})], "no travel", "waist", "warning"),
    "no effort": (ARM, [(joint("waist", "limit"), {"effort": 0})], "zero effort", "waist", "warning"),
    "speed in degrees": (ARM, [(joint("waist", "limit"), {"velocity": 180})], "degrees", "waist", "note"),
    "rounded right angle": (ARM, [(joint("wrist", "origin"), {"rpy": "1.57 0 -3.14"})], "rounded angle", "wrist", "warning"),
    "cut right angle": (ARM, [(joint("wrist", "origin"), {"rpy": "0 1.5707 0"})], "rounded angle", "wrist", "note"),
    "rounded inertial axes": (ARM, [(link("hand", "origin"), {"rpy": "1.57 0 0"})], "rounded angle", "hand", "warning"),
    "angle in degrees": (ARM, [(joint("wrist", "origin"), {"rpy": "0 90 0"})], "degrees", "wrist", "warning"),
    "negative damping": (ARM, [(joint("shoulder", "dynamics"), {"damping": -0.1})], "negative damping", "shoulder", "error"),
    "coaxial joints": (ARM, [(joint("elbow", "origin"), {"xyz": "0 0.3 0"})], "coaxial joints", "elbow", "warning"),
}  # fmt: skip


def found(report: Report, kind: str, where: str) -> list[str]:
    return [f.severity for f in report.findings if (f.kind, f.where) == (kind, where)]


def test_the_small_arm_is_fine(tmp_path: Path) -> None:
    assert check(write(tmp_path, ARM)).findings == ()
    assert check(write(tmp_path, BARE), prove_it=False).findings == ()
    assert is_physical(body("upper")[2])


@pytest.mark.parametrize("name", IN_URDF)
def test_a_mistake_in_urdf_is_found_at_its_link_or_joint(name: str, tmp_path: Path) -> None:
    text, changes, kind, where, severity = IN_URDF[name]
    report = check(write(tmp_path, planted(text, *changes)), prove_it=False)
    assert found(report, kind, where) == [severity], [str(f) for f in report.findings]
    assert report.ok == (severity == "note" and not report.of("warning"))


PUMA = aw.load("puma560")


def packaged(name: str) -> str:
    return resources.files("armwright.model").joinpath("library", f"{name}.toml").read_text()


def row(text: str, i: int, key: str, value: str) -> str:
    """The text of a TOML robot with one value of one row replaced."""
    parts = text.split("[[link]]")
    parts[i + 1], count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", parts[i + 1])
    assert count == 1
    return "[[link]]".join(parts)


def puma_about_origin() -> str:
    own = PUMA.links[1]
    moved = np.array(own.inertia) + parallel_axis_term(own.mass, np.array(own.com))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = moved.tolist()
    return row(PUMA.to_toml(), 1, "inertia", repr([xx, yy, zz, xy, xz, yz]))


IN_TOML = {
    "standard read as modified": (packaged("thomas_tesar").replace('"standard"', '"modified"'), "DH convention", "thomas_tesar", "warning"),
    "modified read as standard": (packaged("puma560").replace('"modified"', '"standard"'), "DH convention", "puma560", "warning"),
    "about the origin": (puma_about_origin(), "inertia about the origin", "upper_arm", "error"),
    "gravity up": (PUMA.to_toml().replace("-9.81", "9.81"), "gravity", "puma560", "warning"),
    "gravity in millimetres": (PUMA.to_toml().replace("-9.81", "-9810"), "gravity", "puma560", "warning"),
    "gravity of the Moon": (PUMA.to_toml().replace("-9.81", "-1.62"), "gravity", "puma560", "note"),
    "rounded alpha": (row(packaged("thomas_tesar"), 3, "alpha", "1.57"), "rounded angle", "joint4", "warning"),
    "alpha in degrees": (row(PUMA.to_toml(), 3, "alpha", "90"), "degrees", "joint4", "warning"),
    "asymmetric noise": (row(PUMA.to_toml(), 2, "inertia", "[[0.192, 1e-5, 0], [1.2e-5, 0.0154, 0], [0, 0, 0.2]]"), "asymmetric inertia", "forearm", "warning"),
    "asymmetric": (row(PUMA.to_toml(), 2, "inertia", "[[0.192, 0.1, 0], [0, 0.1, 0], [0, 0, 0.2]]"), "asymmetric inertia", "forearm", "error"),
    "negative mass": (row(PUMA.to_toml(), 2, "mass", "-4.8"), "non-positive mass", "forearm", "error"),
    "reversed limits": (row(PUMA.to_toml(), 2, "limits", "[3.9, -0.7]"), "reversed limits", "joint3", "error"),
    "negative damping": (row(PUMA.to_toml(), 2, "mass", "4.8\nviscous = -1.0"), "negative damping", "joint3", "error"),
    "no torque": (row(PUMA.to_toml(), 2, "mass", "4.8\nmax_torque = 0"), "zero effort", "joint3", "warning"),
    "metres and millimetres": (row(PUMA.to_toml(), 2, "a", "431.8"), "millimetres", "joint3", "warning"),
    "massless tip": (row(row(PUMA.to_toml(), 5, "mass", "0"), 5, "inertia", "[0, 0, 0, 0, 0, 0]"), "singular mass matrix", "hand", "error"),
    "two sliders": (row(row(packaged("stanford"), 3, "type", '"prismatic"'), 3, "alpha", "0.0"), "coaxial joints", "joint4", "warning"),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_TOML)
def test_a_mistake_in_toml_is_found_at_its_link_or_joint(name: str, tmp_path: Path) -> None:
    text, kind, where, severity = IN_TOML[name]
    report = check(write(tmp_path, text, "robot.toml"), prove_it=False)
    assert found(report, kind, where) == [severity], [str(f) for f in report.findings]
    assert report.ok == (severity == "note")


@needs_examples
@pytest.mark.parametrize(
    ("changes", "kind", "where"),
    [
        ([(link("panda_link4", "mass"), {"value": 3587.895})], "suspicious units", "panda_link4"),
        ("kg mm^2", "suspicious units", "panda_link5"),
        ([(link("panda_link3", "inertia"), {"izz": 0.2})], "triangle inequality", "panda_link3"),
        ([(link("panda_link6", "origin"), {"xyz": "60.1 -14.1 -10.5"})], "centre of mass outside", "panda_link6"),
        ([(joint("panda_joint4", "origin"), {"rpy": "1.57 0 0"})], "rounded angle", "panda_joint4"),
        ([(joint("panda_joint4", "limit"), {"lower": -176, "upper": -4})], "degrees", "panda_joint4"),
        ([(joint("panda_joint4", "axis"), {"xyz": "0 0 3"})], "axis length", "panda_joint4"),
        ([(joint("panda_joint5", "origin"), {"xyz": "-82.5 384 0"})], "millimetres", "panda_joint5"),
        ([(joint("panda_joint6", "dynamics"), {"damping": "-0.003"})], "negative damping", "panda_joint6"),
    ],
)
def test_a_mistake_in_a_real_file_is_found(changes, kind: str, where: str, tmp_path: Path) -> None:
    good = check(PANDA, prove_it=False)
    assert good.ok and not found(good, kind, where)
    text = PANDA.read_text()
    if changes == "kg mm^2":
        changes = [tensor(where, 1e6 * body(where, text)[2])]
    text = planted(text, *changes)
    assert found(check(write(tmp_path, text), prove_it=False), kind, where)


@needs_examples
@pytest.mark.parametrize(
    "file",
    [
        "panda_description/urdf/panda.urdf",
        "kinova_description/robots/kinova.urdf",
        "ur_description/urdf/ur10_robot.urdf",
        "ur_description/urdf/ur3_robot.urdf",
        "xarm_description/urdf/xarm7.urdf",
        "z1_description/urdf/z1.urdf",
        "so_arm_description/urdf/so101.urdf",
        "go2_description/urdf/go2.urdf",
    ],
)
def test_good_published_files_raise_no_alarm(file: str) -> None:
    report = check(EXAMPLES / file, prove_it=False)
    assert report.ok, [str(f) for f in report.findings if f.severity != "note"]


@needs_examples
@pytest.mark.parametrize(
    ("file", "kind", "where"),
    [
        ("romeo_description/urdf/romeo.urdf", "inertia about the origin", "LHipPitchLink"),
        ("romeo_description/urdf/romeo.urdf", "inertia about the origin", "l_wrist"),
        ("laikago_description/urdf/laikago.urdf", "inertia about the origin", "FL_calf"),
        ("ur_description/urdf/ur5_robot.urdf", "suspicious units", "wrist_3_link"),
        ("laikago_description/urdf/laikago.urdf", "inertia about the origin", "laikago"),
        ("allegro_hand_description/urdf/allegro_left_hand.urdf", "flipped products", "link_15.0"),
        ("talos_data/robots/talos_reduced.urdf", "flipped products", "arm_left_1_link"),
        ("tiago_description/robots/tiago.urdf", "not positive definite", "base_antenna_left_link"),
        ("simple_humanoid_description/urdf/simple_humanoid.urdf", "placeholder", "LARM_LINK1"),
        ("centauro_description/urdf/centauro.urdf", "missing limits", "j_wheel_1"),
    ],
)
def test_what_looks_wrong_in_published_files_is_found(file: str, kind: str, where: str) -> None:
    report = check(EXAMPLES / file, prove_it=False)
    places = {f.where for f in report.findings if f.kind == kind}
    assert where in places, places


@needs_examples
@pytest.mark.parametrize(
    "file", ["panda_description/urdf/panda.urdf", "xarm_description/urdf/xarm7.urdf", "z1_description/urdf/z1.urdf"]
)
def test_a_file_with_all_tensors_about_the_origins_is_found(file: str, tmp_path: Path) -> None:
    text = (EXAMPLES / file).read_text()
    root = ET.fromstring(text)
    names = [e.get("name") for e in root.findall("link") if e.find("inertial/origin") is not None]
    names = [name for name in names if root.find(link(name, "origin")).get("rpy", "0 0 0").strip("0. ") == ""]
    assert len(names) > 6
    report = check(write(tmp_path, planted(text, *(about_origin(name, text) for name in names))), prove_it=False)
    assert found(report, "inertia about the origin", root.get("name"))


def test_packaged_robots_raise_no_alarm(robot_name: str) -> None:
    report = check(robot_name, prove_it=False)
    assert report.ok, [str(f) for f in report.findings]
    assert report.proofs == ()


@pytest.mark.parametrize("name", ["iiwa14", "puma560_geared", "puma_mohan2007", "rr", "stanford"])
def test_every_proof_holds_for_good_robots(name: str) -> None:
    report = check(name)
    assert len(report.proofs) == 6
    assert all(proof.holds for proof in report.proofs), report.proofs


@pytest.mark.parametrize("seed", range(5))
def test_random_robots_raise_no_alarm(seed: int, tmp_path: Path) -> None:
    arm = random_case(3 + seed, seed).arm.with_gravity([0, 0, -9.81])
    arm.to_toml(tmp_path / "random.toml")
    report = check(tmp_path / "random.toml", prove_it=False)
    assert not report.of("error"), [str(f) for f in report.findings]


def test_every_problem_is_a_kind_of_finding() -> None:
    assert set(kinds()) <= set(finding_kinds())
    assert {kind for _, _, kind, _, _ in IN_URDF.values()} | {kind for _, kind, _, _ in IN_TOML.values()} <= set(
        finding_kinds()
    )


def test_what_is_accepted_is_a_note(tmp_path: Path) -> None:
    path = write(tmp_path, planted(ARM, *IN_URDF["axis too long"][1], *IN_URDF["no limits"][1]))
    assert [f.kind for f in check(path, prove_it=False).of("warning")] == ["missing limits", "axis length"]
    report = check(path, accept=["elbow: axis length", "missing limits"], prove_it=False)
    assert report.ok
    assert "(accepted)" in report.findings[0].text
    with pytest.raises(aw.UnknownNameError, match=r"kind of finding to accept: 'axis'.*axis length"):
        check(path, accept=["axis"])


def test_a_disagreement_is_an_error(tmp_path: Path) -> None:
    report = check(
        write(tmp_path, ARM),
        peers={"Oracle": lambda arm, q, qd, qdd: 1.1 * np.ones_like(q), "Broken": lambda *_: 1 / 0},
    )
    (finding,) = report.of("error")
    assert (finding.kind, finding.where) == ("not proved", "small")
    assert "Oracle agrees" in finding.text
    assert [proof.holds for proof in report.proofs[-2:]] == [False, None]
    assert "ZeroDivisionError" in report.proofs[-1].text


def test_a_tree_is_proved_whole(tmp_path: Path) -> None:
    twin = ARM.replace("</robot>", "") + re.sub(r'name="(hand|wrist|tool|mount)"', r'name="\1_2"', "".join(
        part for part in re.findall(r'  <link name="hand">.*?</link>|  <joint name="wrist".*?</joint>', ARM, re.S)
    )).replace('child link="hand"', 'child link="hand_2"') + "</robot>"  # fmt: skip
    path = write(tmp_path, twin)
    report = check(path)
    assert report.ok and all(proof.holds for proof in report.proofs)
    assert "8 formulations" in report.proofs[0].text
    assert found(check(path, tip="tool"), "locked", "small") == ["note"]
    with pytest.raises(aw.UnknownNameError, match="Did you mean 'tool'"):
        check(path, tip="tol")


@pytest.mark.parametrize(
    ("angle", "exact"),
    [(1.57, math.pi / 2), (-3.1415, -math.pi), (3.1416, math.pi), (0.785, math.pi / 4), (1.0472, math.pi / 3), (4.712, 1.5 * math.pi)],
)  # fmt: skip
def test_rounded_and_cut_angles_are_told_from_others(angle: float, exact: float) -> None:
    assert exact_angle(angle) == pytest.approx(exact, rel=1e-15)
    assert exact_angle(exact) is None
    assert exact_angle(angle + 0.0123) is None


FIXABLE = ["about the origin, of a solid", "about the origin, by its products", "flipped products of a solid", "axis too long", "axis of few digits", "reversed limits", "rounded right angle", "cut right angle", "rounded inertial axes"]  # fmt: skip


@pytest.mark.parametrize("name", FIXABLE)
def test_a_repaired_urdf_loads_and_the_finding_is_gone(name: str, tmp_path: Path) -> None:
    text, changes, kind, where, _ = IN_URDF[name]
    path = write(tmp_path, planted(text, *changes))
    done = fix(path, tmp_path / "fixed.urdf")
    assert (kind, where) in [(f.kind, f.where) for f in done.changed]
    report = check(tmp_path / "fixed.urdf", prove_it=False)
    assert not found(report, kind, where)
    assert report.ok
    if "origin" in name or "flipped" in name or name in ("axis too long", "reversed limits"):
        assert compare(tmp_path / "fixed.urdf", write(tmp_path, ARM, "good.urdf"), tolerance=1e-9).same


@pytest.mark.parametrize("name", ["about the origin", "rounded alpha", "asymmetric noise", "reversed limits"])
def test_a_repaired_toml_loads_and_the_finding_is_gone(name: str, tmp_path: Path) -> None:
    text, kind, where, _ = IN_TOML[name]
    lines = text.replace("[[link]]", "# a comment that stays\n[[link]]")
    path = write(tmp_path, lines, "robot.toml")
    done = fix(path, tmp_path / "fixed.toml")
    assert [(f.kind, f.where) for f in done.changed] == [(kind, where)]
    new = (tmp_path / "fixed.toml").read_text()
    assert new.count("# a comment that stays") == lines.count("# a comment that stays")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = aw.load(tmp_path / "fixed.toml")
    assert check(tmp_path / "fixed.toml", prove_it=False).ok
    if name == "about the origin":
        np.testing.assert_allclose(arm.links[1].inertia, PUMA.links[1].inertia, atol=1e-15)


def test_a_repair_changes_nothing_else_and_says_what_is_left(tmp_path: Path) -> None:
    text = ARM.replace('<axis xyz="1 0 0"/>', "<axis\n  xyz = '3 0 0' />").replace('effort="10"', 'effort="0"')
    done = fix(write(tmp_path, text), tmp_path / "fixed.urdf")
    assert (tmp_path / "fixed.urdf").read_text() == text.replace("'3 0 0'", '"1.0 0.0 0.0"')
    assert [(f.kind, f.where) for f in done.left] == [("zero effort", "wrist")]


def test_a_repair_needs_another_file_of_the_right_kind(tmp_path: Path) -> None:
    path = write(tmp_path, ARM)
    with pytest.raises(aw.InputError, match="is the file itself"):
        fix(path, path)
    with pytest.raises(aw.InputError, match=r"ends in \.urdf"):
        fix(path, tmp_path / "fixed.toml")
    (tmp_path / "inline.toml").write_text(
        'convention = "modified"\nlink = [{type="revolute", alpha=1.57, a=0, d=0, theta=0, mass=1, com=[0.1,0,0], inertia=[0.01,0.01,0.01,0,0,0]}]\n'
    )
    with pytest.raises(aw.ModelError, match="alpha does not start a line"):
        fix(tmp_path / "inline.toml", tmp_path / "fixed.toml")


def test_a_refused_file_is_proved_as_it_would_be_repaired(tmp_path: Path) -> None:
    path = write(tmp_path, IN_TOML["asymmetric noise"][0], "robot.toml")
    with pytest.raises(aw.ModelError, match="not symmetric"):
        aw.load(path)
    report = check(path)
    assert [f.kind for f in report.findings] == ["asymmetric inertia"]
    assert report.proofs and all(proof.holds for proof in report.proofs)


def test_xacro_is_checked_expanded_and_repaired_as_urdf(tmp_path: Path) -> None:
    pytest.importorskip("armwright.model.xacro")
    macro = ARM.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ').replace(
        "  <link name=\"base\"/>", '  <xacro:property name="weight" value="${1 + 1}"/>\n  <link name="base"/>'
    ).replace('<mass value="2"/>', '<mass value="${weight}"/>').replace('xyz="1 0 0"', 'xyz="2 0 0"')  # fmt: skip
    path = write(tmp_path, macro, "robot.xacro")
    assert [(f.kind, f.where) for f in check(path).findings] == [("axis length", "wrist")]
    fix(path, tmp_path / "fixed.urdf")
    assert compare(tmp_path / "fixed.urdf", write(tmp_path, ARM)).same


MJCF = """<mujoco model="two"><option gravity="0 0 {g}"/><worldbody><body name="a" pos="0 0 0.3"><joint name="j1" axis="0 0 1"/>
<inertial pos="0.1 0 0" mass="2" diaginertia="{a}"/><body name="b" pos="0.2 0 0"><joint name="j2" axis="0 1 0" range="-90 90"/>
<inertial pos="0.1 0 0" mass="1" diaginertia="0.001 0.005 0.0052"/></body></body></worldbody></mujoco>"""


def test_mjcf_is_checked_and_not_repaired(tmp_path: Path) -> None:
    pytest.importorskip("armwright.model.mjcf")
    good = write(tmp_path, MJCF.format(g=-9.81, a="0.001 0.007 0.0072"), "good.xml")
    assert check(good).ok
    bad = check(write(tmp_path, MJCF.format(g=9.81, a="1000 7000 7200"), "bad.xml"), prove_it=False)
    assert found(bad, "gravity", "two") == ["warning"]
    assert found(bad, "suspicious units", "a") == ["warning"]
    with pytest.raises(aw.ModelError, match="cannot be repaired"):
        fix(good, tmp_path / "fixed.xml")


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_prints_findings_proofs_and_what_is_fine(tmp_path: Path) -> None:
    output = run("check", write(tmp_path, ARM))
    assert "fine: base, turret, upper, fore, hand, tool, waist, shoulder, elbow, wrist" in output
    assert re.search(r"Pinocchio reading the file agrees +holds", output)
    assert "nothing found" in output
    path = write(tmp_path, planted(ARM, *IN_URDF["axis too long"][1]))
    output = run("check", path, "--quick", "--fix", tmp_path / "fixed.urdf", code=1)
    assert re.search(r"elbow +warning +axis length", output)
    assert "1 warning; --fix can repair 1 of them" in output
    assert "1 repaired, 0 left" in output
    run("check", tmp_path / "fixed.urdf", "--quick")
    run("check", path, "--quick", "--accept", "axis length")
    run("check", path, "--quick", "--lock", "elbow=0.3", code=1)
    assert "expected a joint and its position" in run("check", path, "--lock", "elbow", code=2)


def test_json_parses(tmp_path: Path) -> None:
    path = write(tmp_path, planted(ARM, *IN_URDF["axis too long"][1], *IN_URDF["kg mm^2"][1]))
    data = json.loads(run("check", path, "--json", "--fix", tmp_path / "fixed.urdf", code=1))
    assert data["ok"] is False and data["robot"] == "small"
    assert {(f["kind"], f["where"], f["severity"], f["fixable"]) for f in data["findings"]} == {
        ("suspicious units", "fore", "warning", False),
        ("axis length", "elbow", "warning", True),
    }
    assert all(f["line"] for f in data["findings"])
    assert all(proof["holds"] for proof in data["proofs"]) and len(data["proofs"]) >= 6
    assert len(data["fixed"]["changed"]) == 1 and len(data["fixed"]["left"]) == 1


def test_what_cannot_be_read_exits_with_two(tmp_path: Path) -> None:
    assert "not well-formed" in run("check", write(tmp_path, "<robot>"), code=2)
    assert "does not exist; expected a robot file" in run("check", tmp_path / "none.urdf", code=2)
    assert "cannot read .stl" in run("check", write(tmp_path, "", "part.stl"), code=2)
    assert "not valid TOML" in run("check", write(tmp_path, "name =", "robot.toml"), code=2)
    loop = ARM.replace('<parent link="base"/>', '<parent link="hand"/>')
    assert "are not attached to" in run("check", write(tmp_path, loop), code=2)


# --- two descriptions of one robot ------------------------------------------------------------------------------------


def as_urdf(arm: aw.Robot, tmp_path: Path, *changes: tuple[str, dict[str, object]]) -> aw.Robot:
    """The robot written as URDF, some of it changed, and read again."""
    path = write(tmp_path, planted(urdf_writer.urdf_text(arm), *changes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tips = {"tip": "tool"} if arm.mechanism().serial else {}
        return aw.load(path, **tips).with_gravity(arm.gravity)


def told(one: aw.Robot, two: aw.Robot, **options) -> list[tuple[str, str]]:
    return [(d.kind, d.where) for d in compare(one, two, **options).differences if d.matters]


def test_a_robot_and_its_urdf_are_the_same(robot_name: str, tmp_path: Path) -> None:
    arm = aw.load(robot_name)
    if arm.loops or any(follower.mimic.others for follower in arm.followers):
        with pytest.raises(aw.ModelError, match=r"loop|several"):
            arm.to_urdf()
        return
    result = compare(arm, as_urdf(arm, tmp_path), tolerance=1e-9)
    assert result.same, result.differences
    assert result.outermost is None
    assert all(q.worst <= q.allowed for q in result.quantities)


@pytest.mark.parametrize("seed", range(8))
def test_random_robots_are_the_same_in_urdf(seed: int, tmp_path: Path) -> None:
    arm = random_case(2 + seed % 5, seed, actuators=seed % 2 == 0).arm
    assert told(arm, as_urdf(arm, tmp_path), tolerance=1e-8) == []


UR = aw.load("ur10")


@pytest.mark.parametrize("arm", [PUMA, UR], ids=["puma560", "ur10"])
def test_one_mass_is_found_at_its_link(arm: aw.Robot, tmp_path: Path) -> None:
    for i in range(1, arm.n):
        name = arm.links[i].name
        other = as_urdf(arm, tmp_path, (link(name, "mass"), {"value": 1.1 * arm.links[i].mass}))
        assert told(arm, other) == [("mass", name)]
        felt = compare(arm, other).outermost
        assert [j.name for j in arm.joints].index(felt) <= i


@pytest.mark.parametrize("arm", [PUMA, UR], ids=["puma560", "ur10"])
def test_one_inertia_is_found_at_its_link(arm: aw.Robot, tmp_path: Path) -> None:
    for i in range(1, arm.n):
        six = arm.links[i]
        other = as_urdf(arm, tmp_path, (link(six.name, "inertia"), {"izz": 1.1 * six.inertia[2][2]}))
        assert told(arm, other) == [("inertia", six.name)]
        assert compare(arm, other).outermost == arm.joints[i].name


@pytest.mark.parametrize("arm", [PUMA, UR, aw.load("stanford")], ids=["puma560", "ur10", "stanford"])
def test_one_zero_is_found_at_its_joint(arm: aw.Robot) -> None:
    for i, moved in enumerate(arm.joints):
        shift = {"d": moved.d + 0.07} if moved.prismatic else {"theta": moved.theta + 0.3}
        other = replace(arm, joints=(*arm.joints[:i], replace(moved, **shift), *arm.joints[i + 1 :]))
        assert told(arm, other) == [("offset", moved.name)]
        (text,) = [d.text for d in compare(arm, other).differences if d.kind == "offset"]
        assert ("-0.07 m" if moved.prismatic else "-0.3 rad") in text


@pytest.mark.parametrize("arm", [PUMA, UR], ids=["puma560", "ur10"])
def test_one_sign_is_found_at_its_joint(arm: aw.Robot, tmp_path: Path) -> None:
    for moved in arm.joints:
        other = as_urdf(arm, tmp_path, (joint(moved.name, "axis"), {"xyz": "0 0 -1"}))
        result = compare(arm, other)
        assert [(d.kind, d.where) for d in result.differences if d.matters] == [("sign", moved.name)]
        assert all(q.mapped <= q.allowed for q in result.quantities)


@pytest.mark.parametrize(
    ("i", "change", "where"),
    [(2, {"a": 0.45}, "upper_arm"), (3, {"d": 0.45}, "forearm"), (3, {"alpha": 1.6}, "forearm")],
)
def test_one_length_or_twist_is_found_at_its_link(i: int, change: dict[str, float], where: str) -> None:
    joints = (*PUMA.joints[:i], replace(PUMA.joints[i], **change), *PUMA.joints[i + 1 :])
    assert told(PUMA, replace(PUMA, joints=joints)) == [("geometry", where)]


def test_several_differences_are_told_apart(tmp_path: Path) -> None:
    last = PUMA.joints[-1]
    joints = (*PUMA.joints[:5], replace(last, theta=0.2))
    other = replace(PUMA.with_base([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 1]]), joints=joints)
    other = as_urdf(other, tmp_path, (joint("joint2", "axis"), {"xyz": "0 0 -1"}), (link("hand", "mass"), {"value": 1}))
    assert sorted(told(PUMA, other)) == [("base", "base"), ("mass", "hand"), ("offset", "joint6"), ("sign", "joint2")]


def test_base_tool_gravity_rotors_and_friction_are_differences() -> None:
    lifted, turned = np.eye(4), np.eye(4)
    lifted[2, 3] = 0.2
    turned[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    assert told(PUMA, PUMA.with_base(lifted)) == [("base", "base")]
    assert told(PUMA, PUMA.with_base(turned)) == [("base", "base"), ("gravity", "base")]
    assert told(PUMA, PUMA.with_tool(lifted)) == [("tool", "tool")]
    assert told(PUMA, PUMA.with_tool(lifted), ignore=["tool"]) == []
    assert told(PUMA, PUMA.with_gravity([0, 0, -1.62])) == [("gravity", "base")]
    assert {kind for kind, _ in told(PUMA, aw.load("puma560_geared"))} == {"rotor"}
    rubbing = replace(PUMA, joints=(replace(PUMA.joints[0], viscous=1.0), *PUMA.joints[1:]))
    assert told(PUMA, rubbing) == [("friction", "joint1")]
    assert set(DIFFERENCES) >= {"base", "tool", "gravity", "rotor", "friction"}


def test_what_no_torque_shows_does_not_count() -> None:
    """Of a first link that turns about the vertical only Izz matters."""
    heavy = replace(PUMA, links=(replace(PUMA.links[0], mass=50.0), *PUMA.links[1:]))
    result = compare(PUMA, heavy)
    assert result.same
    assert [(d.kind, d.where, d.matters) for d in result.differences] == [("mass", "trunk", False)]
    assert "without effect" in result.differences[0].text


def test_other_names_are_matched_in_order() -> None:
    other = replace(PUMA, joints=tuple(replace(j, name=f"axis_{i}") for i, j in enumerate(PUMA.joints)))
    result = compare(PUMA, other)
    assert result.same
    assert "joint1 / axis_0" in result.differences[0].text


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(aw.ModelError, match=r"puma560 has 6 joints \(joint1, .* and rr has 2 .*same part"):
        compare("puma560", "rr")
    with pytest.raises(aw.UnknownNameError, match=r"kind of difference to ignore: 'tol'. Did you mean 'tool'"):
        compare("puma560", "ur5", ignore=["tol"])
    with pytest.raises(aw.InputError, match="tolerance = 0"):
        compare("puma560", "ur5", tolerance=0)
    assert told(aw.load("puma560"), aw.load("stanford")) == [("joint type", "joint3")]


def test_the_compare_command(tmp_path: Path) -> None:
    path = write(tmp_path, urdf_writer.urdf_text(PUMA))
    assert "the same" in run("compare", "puma560", path, "--tip-there", "tool")
    other = write(tmp_path, planted(urdf_writer.urdf_text(PUMA), (link("forearm", "mass"), {"value": 5})), "other.urdf")
    output = run("compare", path, other, code=1)
    assert re.search(r"forearm +mass +4.8 kg here, 5 kg there", output)
    assert "outermost joint with a difference is joint3" in output
    data = json.loads(run("compare", path, other, "--json", code=1))
    assert data["same"] is False and data["differences"][0]["where"] == "forearm"
    run("compare", path, other, "--tolerance", "0.2")
    run("compare", "puma560", "puma560_geared", "--ignore", "rotor")
    assert "has 6 joints" in run("compare", "puma560", "rr", code=2)


def test_a_robot_that_nothing_pulls_at_is_proved(tmp_path: Path) -> None:
    """One vertical axis: its bias is zero, and what formulations leave of it is rounding."""
    row = {
        "type": "revolute",
        "alpha": 0.0,
        "a": 0.0,
        "d": 0.0,
        "mass": 2.0,
        "com": [0.2, 0.1, 0],
        "inertia": np.eye(3) * 0.02,
    }
    aw.Robot.from_dh([row], "modified").to_toml(tmp_path / "turntable.toml")
    assert all(proof.holds is not False for proof in check(tmp_path / "turntable.toml").proofs)


# --- joints that follow others ----------------------------------------------------------------------------------------

LEVER = {
    "type": "revolute",
    "alpha": 0.0,
    "a": 0.4,
    "d": 0.0,
    "mass": 1.0,
    "com": [0.2, 0, 0],
    "inertia": np.eye(3) / 99,
}


def parallelogram(
    mimic: dict[str, object] | None = None, leader: dict[str, object] | None = None, **follower
) -> aw.Robot:
    """Two links that swing in a vertical plane, the second led by the first."""
    level = {"joint": "joint1", "factor": -1.0, "offset": 0.5} | (mimic or {})
    rows = [{**LEVER, "a": 0.0, **(leader or {})}, {**LEVER, "mimic": level, **follower}]
    return aw.Robot.from_dh(
        rows, "modified", gravity=(0, -9.81, 0), tool=[[1, 0, 0, 0.3], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    )


def test_another_ratio_of_a_follower_is_felt_by_its_leader() -> None:
    result = compare(parallelogram(), parallelogram({"factor": -0.9}))
    assert [(d.kind, d.where) for d in result.differences] == [("coupling", "joint2")]
    assert all(quantity.worst > 1e-3 for quantity in result.quantities)
    assert [difference.joint for difference in result.joints] == ["joint1"]
    assert result.outermost == "joint1"


def test_friction_and_rotors_between_a_leader_and_its_follower_do_not_count() -> None:
    """A follower twice as fast feels four times the viscous friction and rotor, and twice the Coulomb friction."""
    twice = {"factor": -2.0}
    one = parallelogram(twice, viscous=0.1, coulomb=0.3, rotor_inertia=0.02)
    other = parallelogram(twice, {"viscous": 0.4, "coulomb": 0.6, "rotor_inertia": 0.08})
    result = compare(one, other)
    assert result.same
    assert {d.kind for d in result.differences} == {"friction", "rotor"}
    assert all("without effect on any torque" in d.text for d in result.differences)
    more = parallelogram(twice, {"viscous": 0.5, "coulomb": 0.6, "rotor_inertia": 0.08})
    assert {(d.kind, d.where) for d in compare(one, more).differences if d.matters} == {
        ("friction", "joint1"),
        ("friction", "joint2"),
    }


def test_a_follower_that_counts_the_other_way_and_follows_so_is_the_same(tmp_path: Path) -> None:
    arm = parallelogram()
    flipped_axis = (joint("joint2", "axis"), {"xyz": "0 0 -1"})
    mimic = {"multiplier": 1.0, "offset": -0.5}
    assert told(arm, as_urdf(arm, tmp_path, flipped_axis, (joint("joint2", "mimic"), mimic))) == []
    other = as_urdf(arm, tmp_path, flipped_axis)
    assert told(arm, other) == [("sign", "joint2"), ("coupling", "joint2")]


def test_robots_with_other_coordinates_are_compared_with_every_joint_free() -> None:
    arm = parallelogram()
    result = compare(arm, arm.without_couplings())
    assert [d.kind for d in result.differences] == ["coupling", "coupling"]
    assert "numbers are for independent joints" in result.differences[1].text
    assert [difference.joint for difference in result.joints] == ["joint1", "joint2"]
    assert compare(arm, arm.without_couplings(), ignore=["coupling"]).same


def test_the_outermost_joint_is_that_of_a_coordinate() -> None:
    """Joint 2 leads joint 1: a difference on link 1 shows at the joint that moves it."""
    lead = {**LEVER, "joint": "lead"}
    rows = [{**LEVER, "joint": "led", "mimic": {"joint": "lead"}}, lead, {**LEVER, "joint": "last"}]
    arm = aw.Robot.from_dh(rows, "modified", gravity=(0, -9.81, 0))
    heavy = aw.Robot.from_dh([{**rows[0], "mass": 2.0}, *rows[1:]], "modified", gravity=(0, -9.81, 0))
    assert compare(arm, heavy).outermost == "lead"


def test_limits_are_listed_and_never_count() -> None:
    quick = replace(PUMA.joints[0], max_torque=1500.0, max_velocity=2.0)
    one = replace(PUMA, joints=(quick, *PUMA.joints[1:]))
    other = replace(PUMA, joints=(replace(quick, max_torque=100.0, max_velocity=None), *PUMA.joints[1:]))
    result = compare(one, other)
    assert result.same
    assert [(d.kind, d.where, d.text) for d in result.differences] == [
        ("limits", "joint1", "largest speed 2 here, not known there"),
        ("limits", "joint1", "largest effort 1500 here, 100 there"),
    ]
    assert compare(one, one).differences == ()


def test_results_are_printed_for_people(tmp_path: Path) -> None:
    other = replace(PUMA, joints=(replace(PUMA.joints[0], max_torque=1.0, viscous=1.0), *PUMA.joints[1:]))
    text = str(compare(PUMA, other))
    assert re.search(r"joint1 +friction +viscous is 0 here and 1 there\n", text)
    assert re.search(r"joint1 +limits .*\(does not count\)", text)
    assert re.search(r"inverse dynamics +\S+ relative", text)
    assert text.endswith("different")
    assert str(compare(PUMA, PUMA)).endswith("the same to 1e-06")
    assert repr(compare(PUMA, PUMA)) == "<puma560 and puma560: the same, 0 differences listed>"
    report = check(write(tmp_path, planted(ARM, *IN_URDF["axis too long"][1])))
    assert re.search(r"elbow +warning +axis length +\d+ +its axis has the length 2", str(report))
    assert "fine: base, turret" in str(report)
    assert re.search(r"energy is conserved +holds", str(report))
    assert str(report).endswith("1 warning")
    assert repr(report).endswith("robot.urdf: small, 6 links, 4 joints: 1 warning>")


def test_a_follower_that_holds_its_leader_back_is_told(tmp_path: Path) -> None:
    leader = {"limits": [-2.0, 2.0], "max_velocity": 3.0}
    parallelogram(leader=leader, limits=[-1.0, 1.0], max_velocity=1.0).to_toml(tmp_path / "held.toml")
    text = (tmp_path / "held.toml").read_text().replace("limits = [-0.5, 1.5]", "limits = [-2.0, 2.0]")
    report = check(
        write(tmp_path, text.replace("max_velocity = 1.0", "max_velocity = 3.0", 1), "held.toml"), prove_it=False
    )
    (finding,) = [f for f in report.findings if f.kind == "held back"]
    assert (finding.severity, finding.where, finding.about) == ("note", "joint1", ("joint2",))
    assert "moves only from -0.5 to 1.5 and has a speed of at most 1, due to the limits of joint2" in finding.text


# --- the whole file ---------------------------------------------------------------------------------------------------


@needs_examples
def test_what_a_finding_about_the_whole_names_is_not_fine() -> None:
    report = check(EXAMPLES / "laikago_description/urdf/laikago.urdf", prove_it=False)
    (whole,) = [f for f in report.findings if (f.kind, f.where) == ("inertia about the origin", "laikago")]
    assert {"FL_calf", "RR_hip"} <= set(whole.about)
    assert not set(whole.about) & set(report.fine)


def test_links_of_one_mass_are_not_fine(tmp_path: Path) -> None:
    report = check(write(tmp_path, planted(ARM, *IN_URDF["mass 1 everywhere"][1])), prove_it=False)
    assert report.fine == ("base", "tool", "waist", "shoulder", "elbow", "wrist")
    assert set(report.as_dict()["findings"][0]["about"]) == {"turret", "upper", "fore", "hand"}


FIXED = '<link name="l{0}">{2}</link><joint name="f{0}" type="fixed"><parent link="l{1}"/><child link="l{0}"/></joint>'
SOLID = '<inertial><origin xyz="0.05 0 0"/><mass value="{}"/><inertia ixx="0.001" iyy="0.002" izz="0.002"/></inertial>'


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_the_time_of_a_check_grows_with_the_file(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: no link is walked over, or compared with others, once for each link."""
    count = 3000
    links = [FIXED.format(i, i - 1 if shape == "chain" else 0, SOLID.format(1 + i / 1000)) for i in range(1, count)]
    turn = '<joint name="j" type="continuous"><parent link="base"/><child link="l0"/><axis xyz="0 0 1"/></joint>'
    text = (
        f'<robot name="big"><link name="base"/><link name="l0">{SOLID.format(1)}</link>{turn}{"".join(links)}</robot>'
    )
    calls = 0
    whole = type(read_file_model(write(tmp_path, ARM)).bodies[0])

    def counted(self, name: str):
        nonlocal calls
        calls += name == "mass"
        return object.__getattribute__(self, name)

    monkeypatch.setattr(whole, "__getattribute__", counted)
    found = check(write(tmp_path, text), prove_it=False).findings
    assert len(found) > count / 2  # every link has the same tensor
    assert calls < 100 * count


# Trees


def tree(**choices) -> aw.Robot:
    """A floating body with a branch of three revolute links, of which the second also carries a ball."""
    arm = random_tree(5, 3, kinds=("revolute",), floating=True, **choices)
    rows = [*arm.joints[:-1], *freedoms_of("ball", arm.joints[-1])]
    return replace(arm, joints=tuple(rows), parents=(-1, 0, 1, 2, 2), tip=3)


def changed(arm: aw.Robot, name: str, **numbers: float) -> aw.Robot:
    return arm.map_joints(lambda joint: replace(joint, **numbers) if joint.name == name else joint)


def test_a_tree_is_the_same_as_itself_and_as_its_links_in_another_order() -> None:
    arm = tree()
    assert compare(arm, arm).differences == ()
    joints = (*arm.joints[:8], *arm.joints[9:], arm.joints[8])
    other = replace(arm, joints=joints, links=(*arm.links[:3], arm.links[4], arm.links[3]), tip=4)
    assert [joint.name for joint in other.joints][-1] == "joint4"
    result = compare(arm, other)
    assert result.differences == () and max(q.worst for q in result.quantities) < 1e-12


def test_what_differs_in_a_branch_is_said_there() -> None:
    arm = tree()
    third = arm.joints[7]
    assert told(arm, changed(arm, "joint3", theta=third.theta + 0.3)) == [("offset", "joint3")]
    assert told(arm, changed(arm, "joint4", a=arm.joints[8].a + 0.2)) == [("geometry", "link3")]
    assert told(arm, changed(arm, "joint5.wx", a=arm.joints[9].a + 0.2)) == [("geometry", "link3")]
    heavy = replace(arm, links=(*arm.links[:4], replace(arm.links[4], mass=9.0)))
    assert told(arm, heavy) == [("mass", "link5")]
    assert compare(arm, heavy).outermost == "joint5.wz"
    assert told(arm, replace(arm, tool=tuple(map(tuple, random_transform(np.random.default_rng(0)).tolist())))) == [
        ("tool", "tool")
    ]


def test_other_branches_and_other_kinds_are_said() -> None:
    arm = tree()
    with pytest.raises(aw.ModelError, match="link link5 has the parent link3 here and link1 there"):
        compare(arm, replace(arm, parents=(-1, 0, 1, 2, 0)))
    free = replace(
        arm, joints=(*arm.joints[:6], *(replace(j, type="prismatic") for j in arm.joints[6:7]), *arm.joints[7:])
    )
    assert told(arm, free) == [("joint type", "joint2")]


def test_a_table_of_another_convention_is_told_by_mean_distances(tmp_path: Path) -> None:
    text = packaged("puma560").replace('"modified"', '"standard"')
    [found] = [f for f in check(write(tmp_path, text, "puma560.toml")).findings if f.kind == "DH convention"]
    distances = re.search(r"mean distance (\S+) m in place of (\S+)\)", found.text).groups()
    assert [float(x) for x in distances] == pytest.approx([0.014, 0.038], abs=0.001)
