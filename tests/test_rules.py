"""The rules: each has a robot that breaks it, found alike by `problems`, `load`, `show` and `check`."""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.check import check
from armwright.check.findings import finding_kinds
from armwright.cli import app
from armwright.errors import ModelWarning
from armwright.model.records import Payload
from armwright.rules import LENGTH_KINDS, RULES, SEVERITIES, Doubt, JointFacts, Rule, kinds
from armwright.rules.body_rules import BODY_RULES
from armwright.rules.facts import AngleFacts
from armwright.rules.joint_rules import JOINT_RULES, angle_in_degrees
from armwright.rules.robot_rules import ROBOT_RULES

CLEAN = aw.load("puma560")
QUILL = aw.load("stanford")


def joint(i: int, **values) -> aw.Robot:
    changed = replace(CLEAN.joints[i], **values)
    return replace(CLEAN, joints=(*CLEAN.joints[:i], changed, *CLEAN.joints[i + 1 :]))


def link(i: int, **values) -> aw.Robot:
    changed = replace(CLEAN.links[i], **values)
    return replace(CLEAN, links=(*CLEAN.links[:i], changed, *CLEAN.links[i + 1 :]))


def links(change: Callable) -> aw.Robot:
    return replace(CLEAN, links=tuple(change(one) for one in CLEAN.links))


def tensor(rows: object) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, np.array(rows, dtype=float).tolist()))


def following(limits: list[float]) -> aw.Robot:
    """Two levers, the second led by the first."""
    lever = {"type": "revolute", "alpha": 0.0, "a": 0.4, "d": 0.0, "mass": 1.5, "com": [0.2, 0, 0], "limits": [-1, 1]}
    lever["inertia"] = [0.001, 0.02, 0.02, 0, 0, 0]
    led = lever | {"mass": 1.2, "inertia": [0.001, 0.015, 0.016, 0, 0, 0], "limits": limits}
    return aw.Robot.from_dh([lever, led | {"mimic": {"joint": "joint1"}}], "modified")


NOTHING, ROUND = tensor(np.zeros((3, 3))), tensor(0.01 * np.eye(3))

EXAMPLES: dict[str, tuple[aw.Robot, str]] = {
    "reversed_limits": (joint(5, limits=(1.0, -1.0)), "joint6"),
    "long_slide": (
        replace(QUILL, joints=(*QUILL.joints[:2], replace(QUILL.joints[2], limits=(0, 150)), *QUILL.joints[3:])),
        "joint3",
    ),
    "smoothing_in_degrees": (joint(1, coulomb=2.0, smooth=100.0), "joint2"),
    "payload_in_grams": (replace(CLEAN, payload=Payload(2500.0)), "payload"),
    "payload_far_off": (replace(CLEAN, payload=Payload(2.5, (0.0, 0.0, 120.0))), "payload"),
    "friction_in_millimetres": (joint(1, viscous=8800.0), "joint2"),
    "large_rotors": (joint(1, rotor_inertia=200.0, gear=107.8), "joint2"),
    "torque_in_millimetres": (joint(1, max_torque=186400.0), "joint2"),
    "far_frames": (CLEAN.with_tool([0, 0, 150, 0, 0, 0, 1]), "hand"),
    "far_base": (CLEAN.with_base([0, 0, 700, 0, 0, 0, 1]), "joint1"),
    "equal_limits": (joint(0, limits=(1.0, 1.0)), "joint1"),
    "limits_in_degrees": (joint(0, limits=(-160.0, 160.0)), "joint1"),
    "speed_in_degrees": (joint(2, max_velocity=90.0), "joint3"),
    "no_effort": (joint(2, max_torque=0.0), "joint3"),
    "negative_damping": (joint(2, viscous=-1.0), "joint3"),
    "far_joint": (joint(2, a=431.8), "joint3"),
    "angle_in_degrees": (joint(5, alpha=-90.0), "joint6"),
    "rounded_angle": (joint(5, alpha=-1.570), "joint6"),
    "no_mass": (link(2, mass=0.0, inertia=NOTHING), "forearm"),
    "tensor_without_mass": (link(2, mass=0.0), "forearm"),
    "mass_without_tensor": (link(2, inertia=NOTHING), "forearm"),
    "negative_moment": (link(2, inertia=tensor(np.diag([-0.1, 0.2, 0.2]))), "forearm"),
    "large_moment": (link(2, inertia=tensor(np.diag([0.1, 0.1, 0.3]))), "forearm"),
    "tensor_units": (link(2, inertia=tensor(1e6 * np.array(CLEAN.links[2].inertia))), "forearm"),
    "centre_outside": (link(2, com=(2.0, 5.0, 0.0)), "forearm"),
    "masses_in_grams": (links(lambda one: replace(one, mass=1000 * one.mass)), "puma560"),
    "round_tensors": (links(lambda one: replace(one, inertia=ROUND) if one.mass > 1 else one), "forearm"),
    "equal_masses": (links(lambda one: replace(one, mass=1.0 if one.mass else 0.0)), "puma560"),
    "copied_tensors": (link(1, inertia=CLEAN.links[2].inertia), "upper_arm"),
    "gravity": (CLEAN.with_gravity([0.0, 0.0, 9.81]), "puma560"),
    "coaxial_joints": (joint(5, alpha=0.0), "joint6"),
    "conflicting_follower_limits": (following([1.5, 2.0]), "joint2"),
    "massless_motion": (link(5, mass=0.0, inertia=NOTHING), "hand"),
}
"""By the name of the rule: a robot that breaks it, and at which link or joint."""


def example(name: str) -> tuple[aw.Robot, str]:
    assert name in EXAMPLES, f"the rule {name} has no example: add a robot that breaks it to EXAMPLES"
    return EXAMPLES[name]


def ruled(found) -> set[tuple[str, str, str]]:
    """What belongs to the book, by kind, place and severity."""
    return {(one.kind, one.where, one.severity) for one in found if one.kind in kinds()}


def warned(path: Path) -> tuple[aw.Robot, str]:
    """The robot of a file, and what loading warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = aw.load(path)
    return arm, "".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize("name", RULES.built_in)
def test_a_rule_is_needed_for_its_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arm, where = example(name)
    rule = RULES[name]
    assert (rule.kind, where) in {(p.kind, p.where) for p in aw.problems(arm)}
    monkeypatch.delitem(RULES.built_in, name)
    assert (rule.kind, where) not in {(p.kind, p.where) for p in aw.problems(arm)}


@pytest.mark.parametrize("name", RULES.built_in)
def test_a_broken_rule_is_found_alike_everywhere(name: str, tmp_path: Path) -> None:
    arm, where = example(name)
    rule = RULES[name]
    path = tmp_path / "robot.toml"
    arm.to_toml(path)
    in_robot, in_file = aw.problems(arm), check(path, prove_it=False).findings
    (problem, *_) = [p for p in in_robot if (p.kind, p.where) == (rule.kind, where)]
    assert problem.severity in SEVERITIES
    assert problem == f"{where}: {problem.text}"
    if name == "negative_damping":  # only what cannot be computed is refused
        with pytest.raises(aw.ModelError, match=r"viscous = -1\.0 is negative"):
            aw.load(path)
        assert ruled([problem]) <= ruled(in_file)
        return
    loaded, text = warned(path)
    assert ruled(aw.problems(loaded)) == ruled(in_robot) == ruled(in_file)
    assert (problem in text) == (problem.severity != "note")
    shown = CliRunner().invoke(app, ["show", str(path)]).output
    assert f"{'note' if problem.severity == 'note' else 'problem'}: {problem}" in shown


def sized(found) -> set[tuple[str, str, str]]:
    """What is judged by lengths: its kind, its place, and its sentence with all numbers."""
    return {(one.kind, one.where, one.text) for one in found if one.kind in LENGTH_KINDS}


UR5E = aw.load("ur5e")
CENTRES = {
    "in millimetres": (2, tuple(1000 * x for x in UR5E.links[2].com)),
    "of the first link": (0, tuple(1000 * x for x in UR5E.links[0].com)),
    "of the last link": (5, tuple(1000 * x for x in UR5E.links[5].com)),
    "along the axis of its joint": (4, (0.0, 0.0, 125.0)),
}


@pytest.mark.parametrize("name", CENTRES)
def test_one_wrong_centre_of_mass_is_one_finding_with_one_number(name: str, tmp_path: Path) -> None:
    """However the robot comes in, and whoever is asked; its neighbours are innocent."""
    i, com = CENTRES[name]
    arm = replace(UR5E, links=tuple(replace(one, com=com) if k == i else one for k, one in enumerate(UR5E.links)))
    (told,) = sized(aw.problems(arm))
    assert told[:2] == ("centre of mass outside", arm.links[i].name)
    for path, written in (("a.toml", arm.to_toml), ("a.urdf", arm.to_urdf), ("a.xml", arm.to_mjcf)):
        written(tmp_path / path)
        loaded, text = warned(tmp_path / path)
        assert sized(aw.problems(loaded)) == sized(check(tmp_path / path, prove_it=False).findings) == {told}
        assert f"{told[1]}: {told[2]}" in text


@pytest.mark.parametrize("wrong", [{"a": -425.0}, {"d": 133.3}])
def test_one_wrong_length_is_one_finding_with_one_number(wrong: dict[str, float], tmp_path: Path) -> None:
    """Tensors are not accused, which are judged by lengths."""
    joints = [replace(one, **wrong) if k == 2 else one for k, one in enumerate(UR5E.joints)]
    arm = replace(UR5E, joints=tuple(joints))
    (told,) = sized(aw.problems(arm))
    assert told[:2] == ("millimetres", UR5E.joints[2].name)
    for path, written in (("a.toml", arm.to_toml), ("a.urdf", arm.to_urdf), ("a.xml", arm.to_mjcf)):
        written(tmp_path / path)
        loaded, _ = warned(tmp_path / path)
        ((kind, where, _),) = found = sized(aw.problems(loaded))
        assert (kind, where) == told[:2] and sized(check(tmp_path / path, prove_it=False).findings) == found


@pytest.mark.parametrize("kind", ["prismatic", "ball", "free"])
def test_a_centre_of_mass_on_any_joint_is_judged(kind: str) -> None:
    """A joint without an axis, or that slides, has a place all the same."""
    row = {"type": kind, "alpha": 0, "a": 0.2, "d": 0.1, "theta": 0, "mass": 2.0, "com": [0, 0, 125]}
    row["inertia"] = [0.02, 0.02, 0.02, 0, 0, 0]
    with pytest.warns(ModelWarning, match=r"link2: its centre of mass is 125 m off"):
        arm = aw.Robot.from_dh([{**row, "type": "revolute", "com": [0.1, 0, 0]}, row], "modified")
    assert ("centre of mass outside", "link2") in {(p.kind, p.where) for p in aw.problems(arm)}


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (
            (2.0, [0, 0, 120]),
            r"payload: its centre of mass is 120 m from the tool; the robot reaches .*; milli",
        ),
        (
            (2.0, [0, 0, 0.12], np.eye(3) * 4e3),
            r"payload: its inertia \(4e\+03 kg m\^2\) is far too large for 2 kg",
        ),
    ],
)
def test_what_is_held_in_other_units_is_told_at_once(payload: tuple, message: str, tmp_path: Path) -> None:
    with pytest.warns(ModelWarning, match=message):
        arm = UR5E.with_payload(*payload)
    arm.to_toml(tmp_path / "robot.toml")
    assert re.search(message, warned(tmp_path / "robot.toml")[1])
    for path, written in (("a.urdf", arm.to_urdf), ("a.xml", arm.to_mjcf)):
        written(tmp_path / path)
        assert len(sized(check(tmp_path / path, prove_it=False).findings)) == 1


def test_a_payload_in_grams_is_told_when_its_robot_is_loaded(tmp_path: Path) -> None:
    """Not by with_payload: whoever looks for the most that a robot can hold tries any mass."""
    UR5E.with_payload(2000.0, [0, 0, 0.12]).to_toml(tmp_path / "robot.toml")
    assert "payload: its mass is 2000 kg, and the robot weighs 17.7 kg; grams?" in warned(tmp_path / "robot.toml")[1]


def test_what_real_arms_hold_raises_no_alarm() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for arm in (UR5E, CLEAN, QUILL):
            arm.with_payload(5.0, [0.0, 0.0, 0.6], np.diag([0.01, 0.01, 0.01]))


def test_every_example_is_of_a_rule_and_every_kind_is_described() -> None:
    assert set(EXAMPLES) == set(RULES.built_in)
    assert len(RULES.built_in) == len(JOINT_RULES) + len(BODY_RULES) + len(ROBOT_RULES)
    assert all(kinds().values())
    meanings = [rule.kind for rule in RULES.values() if rule.meaning]
    assert len(meanings) == len(set(meanings)), "a kind has one meaning"
    page = (Path(__file__).parent.parent / "docs/checking.md").read_text()
    assert [kind for kind in finding_kinds() if f"`{kind}`" not in page] == []


def slow(joint: JointFacts):
    """A rule of a user's package: every joint moves at least at 4 rad/s."""
    if joint.velocity is not None and joint.velocity < 4.0:
        yield Doubt("warning", f"its largest speed is only {joint.velocity:g} rad/s")


@pytest.fixture
def added() -> Iterator[Rule]:
    """That rule, registered for the time of a test."""
    yield RULES.register("slow", Rule(JointFacts, "slow joint", slow, "a joint slower than the machine needs"))
    RULES.unregister("slow")


def test_a_rule_of_a_package_works_everywhere(added: Rule, tmp_path: Path) -> None:
    arm, path = joint(2, max_velocity=3.0), tmp_path / "robot.toml"
    arm.to_toml(path)
    text = "joint3: its largest speed is only 3 rad/s"
    assert text in aw.problems(arm) and text in warned(path)[1]
    assert ("slow joint", "joint3", "warning") in ruled(check(path, prove_it=False).findings)
    assert f"problem: {text}" in CliRunner().invoke(app, ["show", str(path)]).output
    accepted = check(path, prove_it=False, accept=["joint3: slow joint"]).findings
    assert {(f.kind, f.where, f.severity) for f in accepted} >= {("slow joint", "joint3", "note")}
    replace(arm, accept=("slow joint",)).to_toml(path)
    assert "accept" in path.read_text() and text not in warned(path)[1].split("accepts")[0]
    assert kinds()["slow joint"] == finding_kinds()["slow joint"] == added.meaning


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (slow, r"rule 'mine' is a function; expected an armwright\.rules\.Rule"),
        (Rule(int, "slow joint", slow, "meaning"), r"rule 'mine' is about <class 'int'>; expected BodyFacts"),
        (Rule(JointFacts, "slow joint", None, "meaning"), r"the doubts of rule 'mine' are None; expected a function"),
        (Rule(JointFacts, "a: b", slow, "meaning"), r"rule 'mine' finds the kind 'a: b'; expected a few words without"),
        (Rule(JointFacts, "slow joint", slow), r"finds a new kind, 'slow joint', without a meaning"),
    ],
)
def test_an_entry_that_is_no_rule_is_refused(entry: object, message: str) -> None:
    with pytest.raises(aw.InputError, match=message):
        RULES.register("mine", entry)


def test_a_severity_that_does_not_exist_is_an_error() -> None:
    RULES.register("mine", Rule(JointFacts, "degrees", lambda _: [Doubt("fatal", "no")]))
    try:
        with pytest.raises(aw.UnknownNameError, match=r"severity of rule 'mine': 'fatal'"):
            aw.problems(CLEAN)
    finally:
        RULES.unregister("mine")


@pytest.mark.parametrize("arm", [CLEAN, following([-2.0, 2.0])], ids=["puma560", "following"])
def test_a_clean_robot_breaks_none(arm: aw.Robot, tmp_path: Path) -> None:
    path = tmp_path / "robot.toml"
    arm.to_toml(path)
    assert aw.problems(arm) == []
    assert warned(path)[1] == ""
    assert ruled(check(path, prove_it=False).findings) == set()


TABLE = """name = "table"
convention = "standard"
[[link]]
type = "revolute"
alpha = "pi/2"
a = 0.0
d = 0.3
mass = 3.0
com = [0.0, -0.15, 0.0]
inertia = [0.025, 0.005, 0.026, 0.0, 0.0, 0.0]
[[link]]
type = "revolute"
alpha = {}
a = 0.3
d = 0.0
theta = {}
mass = 2.0
com = [-0.15, 0.0, 0.0]
inertia = [0.002, 0.016, 0.017, 0.0, 0.0, 0.0]
"""


@pytest.mark.parametrize(
    ("alpha", "theta", "kind", "severity"),
    [
        ("90", "0.0", "degrees", "warning"),
        ("-90.0", "0.0", "degrees", "warning"),
        ("180", "0.0", "degrees", "warning"),
        ("45", "0.0", "degrees", "warning"),
        ("0.0", "90", "degrees", "warning"),
        ("1.57", "0.0", "rounded angle", "warning"),
        ("1.570", "0.0", "rounded angle", "warning"),
        ("-3.1415", "0.0", "rounded angle", "note"),
        ("0.785", "0.0", "rounded angle", "warning"),
        ("0.0", "1.5708", "rounded angle", "note"),
    ],
)
def test_the_last_angles_of_a_table_are_judged_too(
    alpha: str, theta: str, kind: str, severity: str, tmp_path: Path
) -> None:
    """The last alpha of a standard table is in no row of the robot: it stands in the flange, less whole turns."""
    path = tmp_path / "table.toml"
    path.write_text(TABLE.format(alpha, theta))
    arm, text = warned(path)
    assert ruled(aw.problems(arm)) == ruled(check(path, prove_it=False).findings) == {(kind, "joint2", severity)}
    assert ("joint2: " in text) == (severity == "warning")
    path.write_text(TABLE.format('"pi/2"', "0.3"))
    assert warned(path)[1] == "" and aw.problems(arm.from_toml(path)) == []


def test_an_angle_that_is_meant_is_none_of_degrees() -> None:
    rng = np.random.default_rng(0)
    angles = [*rng.uniform(-np.pi, np.pi, 3000), *np.round(rng.uniform(-np.pi, np.pi, 3000), 3), *np.arange(-6, 7)]
    facts = AngleFacts("joint2", "alpha", tuple(map(float, angles)), tuple(map(str, angles)))
    assert [doubt.text for doubt in angle_in_degrees(facts)] == []
    for angle in facts.values[::40]:
        assert "degrees" not in {p.kind for p in aw.problems(joint(1, alpha=angle))}


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_numbers_of_any_size_are_judged(size: float) -> None:
    """What overflows or vanishes in a rule is no error of it."""
    for arm in (
        link(2, mass=size),
        link(2, com=(size, 0.0, -size)),
        link(2, inertia=tensor(size * np.eye(3))),
        link(2, inertia=tensor(np.full((3, 3), size))),
        joint(2, a=size, d=-size),
        joint(2, alpha=size),
        joint(2, limits=(-np.inf, size), max_velocity=size),
        CLEAN.with_gravity([size, 0.0, -size]),
    ):
        assert all(problem.severity in SEVERITIES for problem in aw.problems(arm))
    assert ("degrees" in {p.kind for p in aw.problems(joint(2, alpha=size))}) == (size > 1)


MILLIMETRES = {
    "type": "revolute",
    "alpha": 0,
    "a": 400,
    "d": 0,
    "mass": 5.0,
    "com": [0.2, 0, 0],
    "inertia": [0.1, 0.1, 0.1, 0, 0, 0],
}


def test_a_table_in_millimetres_or_degrees_is_said_to_be() -> None:
    """And its tensors, which are judged by the lengths, are not blamed."""
    with pytest.warns(ModelWarning, match=r"joint2: a = 400 would be metres; millimetres\?$"):
        arm = aw.Robot.from_dh([{**MILLIMETRES, "a": 0.0}, MILLIMETRES], "modified")
    assert "suspicious units" not in {problem.kind for problem in aw.problems(arm)}
    with pytest.warns(ModelWarning, match=r"joint2: alpha = 90 is more than a full turn in radians; degrees\?"):
        aw.Robot.from_dh([{**MILLIMETRES, "a": 0.4}, {**MILLIMETRES, "a": 0.4, "alpha": 90}], "modified")
    centre = [{**MILLIMETRES, "a": 0.4, "com": [200, 0, 0]}] * 2
    with pytest.warns(
        ModelWarning, match=r"link1: its centre of mass is 200 m off .*; millimetres\?; link2: its centre"
    ):
        arm = aw.Robot.from_dh(centre, "modified")
    assert {(p.kind, p.where) for p in aw.problems(arm)} >= {("centre of mass outside", f"link{i}") for i in (1, 2)}


@pytest.mark.parametrize("convention", ["modified", "standard"])
@pytest.mark.parametrize("wrong", [{"a": 400}, {"d": 89.2}, {"alpha": 90}, {"theta": -180}])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_wrong_unit_is_blamed_on_the_row_it_stands_in(convention: str, wrong: dict[str, float], row: int) -> None:
    rows = [{**MILLIMETRES, "a": 0.4, **(wrong if i == row else {})} for i in range(3)]
    (key,) = wrong
    with pytest.warns(ModelWarning) as caught:
        aw.Robot.from_dh(rows, convention)
    assert re.fullmatch(
        rf"robot 'robot': joint{row + 1}: {key} = [^;]*; (millimetres|degrees)\?", str(caught[0].message)
    )


def test_the_stroke_of_a_slide_in_millimetres_is_said_to_be() -> None:
    slide = {**MILLIMETRES, "type": "prismatic", "a": 0.0, "theta": 0.0, "limits": [0, 500]}
    with pytest.warns(ModelWarning, match=r"joint1: its limits \(0, 500\) would be metres; millimetres\?"):
        aw.Robot.from_dh([slide], "modified")


def test_a_table_without_a_convention_is_refused() -> None:
    with pytest.raises(aw.ModelError, match=r"none was named; expected .*modified, standard, angeles, saha"):
        aw.Robot.from_dh([MILLIMETRES])
