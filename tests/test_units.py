"""Units of a file and of single numbers: the same robot to the last bit, or an error that says which unit fits."""

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright import scenario
from armwright.check import check, fix
from armwright.model import toml, units
from armwright.model.loop_tables import LOOP_KEYS
from armwright.model.row_bodies import BASE_KEYS, SLENDER_KEYS
from armwright.model.row_joints import DRIVE_KEYS, ROW_KEYS
from armwright.model.si_conversion import (
    BODY_QUANTITIES,
    ROBOT_QUANTITIES,
    ROW_QUANTITIES,
    VISUAL_QUANTITIES,
    drive_quantities,
)
from armwright.model.visual import VISUAL_KEYS
from armwright.schema import schema

METRES = """convention = "modified"
gravity = [0.0, 0.0, -9.81]
base = [[1, 0, 0, 0.1], [0, 1, 0, 0.0], [0, 0, 1, 0.7], [0, 0, 0, 1]]
tool = [0.0, 0.0, 0.0892, 0.0, 0.0, 0.0, 1.0]
visuals = [{box = [0.3, 0.2, 0.1], pose = [0.0, 0.0, -0.05, 0, 0, 0, 1]}]
[payload]
mass = 0.35
com = [0.0, 0.0, 0.0123]
inertia = [0.0011, 0.0012, 0.0013, 0.0, 0.0, 0.0]
[[link]]
name = "upper"
type = "revolute"
alpha = 1.5707963267948966
a = 0.4318
d = 0.1254
mass = 3.1
com = [0.2, -0.0157, 0.0]
inertia = [0.011, 0.052, 0.053, 0.0, 0.0001, 0.0]
rotor_inertia = 0.0002
limits = [-2.0943951023931953, 2.0943951023931953]
max_velocity = 7.853981633974483
smooth = 0.03490658503988659
max_torque = 87.0
viscous = 0.5
[[link]]
name = "quill"
joint = "slide"
type = "prismatic"
alpha = 0.0
a = 0.0
theta = 0.7853981633974483
mass = 0.75
com = [0.0, 0.0, -0.1]
inertia = [0.003, 0.003, 0.001, 0.0, 0.0, 0.0]
limits = [0.0, 0.15]
max_velocity = 0.25
max_torque = 120.0
viscous = 5.0
point_masses = [{mass = 0.02, at = [0.0, 0.001, 0.0]}]
visuals = [{cylinder = [0.01, 0.3]}]
[[link]]
name = "screw"
type = "helical"
alpha = 0.0
a = 0.05
d = 0.0
pitch = 0.005
mass = 0.5
com = [0.0, 0.01, -0.1]
inertia = [0.003, 0.003, 0.001, 0.0, 0.0, 0.0]
[[frame]]
name = "camera"
link = "quill"
pose = [0.25, 0.0, 0.1, 0, 0, 0, 1]
"""
"""A robot in SI that has every kind of number."""

IN_MILLIMETRES = """convention = "modified"
gravity = [0.0, 0.0, -9.81]
base = [[1, 0, 0, 100], [0, 1, 0, 0.0], [0, 0, 1, 700], [0, 0, 0, 1]]
tool = [0.0, 0.0, 89.2, 0.0, 0.0, 0.0, 1.0]
visuals = [{box = [300, 200, 100], pose = [0.0, 0.0, -50, 0, 0, 0, 1]}]
[units]
length = "mm"
angle = "deg"
mass = "g"
inertia = "kg mm^2"
[payload]
mass = 350
com = [0.0, 0.0, 12.3]
inertia = [1100, 1200, 1300, 0.0, 0.0, 0.0]
[[link]]
name = "upper"
type = "revolute"
alpha = 90
a = 431.8
d = 125.4
mass = 3100
com = [200, -15.7, 0.0]
inertia = [11000, 52000, 53000, 0.0, 100, 0.0]
rotor_inertia = 200
limits = [-120, 120]
max_velocity = 450
smooth = 2
max_torque = 87.0
viscous = 0.5
[[link]]
name = "quill"
joint = "slide"
type = "prismatic"
alpha = 0.0
a = 0.0
theta = "pi/4"
mass = 750
com = [0.0, 0.0, -100]
inertia = [3000, 3000, 1000, 0.0, 0.0, 0.0]
limits = [0.0, 150]
max_velocity = 250
max_torque = 120.0
viscous = 5.0
point_masses = [{mass = 20, at = [0.0, 1, 0.0]}]
visuals = [{cylinder = [10, 300]}]
[[link]]
name = "screw"
type = "helical"
alpha = 0.0
a = 50
d = 0.0
pitch = 5
mass = 500
com = [0.0, 10, -100]
inertia = [3000, 3000, 1000, 0.0, 0.0, 0.0]
[[frame]]
name = "camera"
link = "quill"
pose = [250, 0.0, 100, 0, 0, 0, 1]
""".replace("inertia = [1100, 1200, 1300,", 'inertia = ["1100000 g mm^2", "12 kg cm²", "0.0013 kg m^2",')
"""The same as somebody writes it who has a CAD system, and texts among the numbers."""

WITH_TEXTS = (
    METRES.replace("a = 0.4318", 'a = "431.8 mm"')
    .replace("d = 0.1254", 'd = "12.54cm"')
    .replace("mass = 3.1", 'mass = "3100 g"')
    .replace("[0.2, -0.0157, 0.0]", '["20 cm", "-15.7 mm", 0]')
    .replace("inertia = [0.011,", 'inertia = ["1.1e4 kg*mm^2",')
    .replace("max_torque = 87.0", 'max_torque = "8.7e4 N mm"')
    .replace("7.853981633974483", '"450 deg/s"')
    .replace("0.03490658503988659", '"2 °/s"')
    .replace("viscous = 0.5", 'viscous = "0.5 N m s/rad"')
    .replace("limits = [0.0, 0.15]", 'limits = [0, "150 mm"]')
    .replace("max_velocity = 0.25", 'max_velocity = "250 mm/s"')
    .replace("max_torque = 120.0", 'max_torque = "0.12 kN"')
    .replace("viscous = 5.0", 'viscous = "5 N s/m"')
    .replace("pitch = 0.005", 'pitch = "5 mm/rad"')
    .replace("0.7853981633974483", '"pi/4 rad"')
    .replace("[0.25, 0.0, 0.1,", '["250 mm", 0.0, "10 cm",')
    .replace("-9.81]", '"-981 cm/s^2"]')
    .replace("at = [0.0, 0.001, 0.0]", 'at = [0, "1 mm", 0]')
    .replace("cylinder = [0.01, 0.3]", 'cylinder = ["1 cm", 0.3]')
)


@pytest.mark.parametrize("text", [IN_MILLIMETRES, WITH_TEXTS], ids=["units of the file", "texts"])
def test_a_file_in_other_units_is_the_same_robot_to_the_last_bit(text: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.toml"
    path.write_text(text)
    expected = aw.Robot.from_fields(toml.parse(METRES))
    assert aw.Robot.from_toml(path) == expected
    assert aw.Robot.from_toml(path).links[1].visuals == expected.links[1].visuals
    assert aw.Robot.from_toml(path).base_visuals == expected.base_visuals
    in_metres = tmp_path / "metres" / "robot.toml"
    in_metres.parent.mkdir()
    in_metres.write_text(METRES)
    found = [[(f.kind, f.where, f.severity) for f in check(p, prove_it=False).findings] for p in (path, in_metres)]
    assert found[0] == found[1]


@pytest.mark.parametrize("text", [METRES, IN_MILLIMETRES, WITH_TEXTS], ids=["SI", "units of the file", "texts"])
def test_an_editor_finds_nothing_wrong_with_units(text: str) -> None:
    validator = pytest.importorskip("jsonschema").Draft7Validator(schema("robot"))
    assert [error.message for error in validator.iter_errors(tomllib.loads(text))] == []


def test_a_slender_link_has_units() -> None:
    row = {"type": "revolute", "alpha": 0, "a": 0.25, "d": 0.1}
    slide = {**row, "type": "prismatic", "theta": 0}
    rods = [
        {"mass": 1.2, "payload": 0.3, "hub": 0.001},
        {"rho": 2.5, "length": 0.4, "hub": [0.001, 0.002, 0.003, 0, 0, 0]},
    ]
    other = [
        {"mass": 1200, "payload": "300 g", "hub": 1000},
        {"rho": 2.5, "length": 400, "hub": [1000, "20 kg cm^2", "3e6 g mm^2", 0, 0, 0]},
    ]
    in_metres = [{**row, "slender": rods[0]}, {**slide, "slender": rods[1]}]
    in_millimetres = [
        {**row, "a": 250, "d": 100, "slender": other[0]},
        {**slide, "a": 250, "d": 100, "slender": other[1]},
    ]
    both = aw.Robot.from_dh(in_millimetres, "standard", units=["mm", "g", "kg mm^2"])
    assert both == aw.Robot.from_dh(in_metres, "standard")


@pytest.mark.parametrize(
    ("units", "scale"),
    [("mm", 1e3), ({"length": "cm"}, 1e2), (["mm"], 1e3), ({"length": "in", "mass": "kg"}, 1 / 0.0254)],
)
def test_one_word_says_the_units_of_a_table(units: object, scale: float) -> None:
    row = {"type": "revolute", "alpha": 0, "mass": 2.0, "inertia": [0.01, 0.02, 0.03, 0, 0, 0]}
    in_metres = aw.Robot.from_dh([{**row, "a": 0.254, "d": 0.1, "com": [0.1, 0, 0]}], "modified")
    other = aw.Robot.from_dh(
        [{**row, "a": 0.254 * scale, "d": 0.1 * scale, "com": np.array([0.1, 0, 0]) * scale}], "modified", units=units
    )
    np.testing.assert_allclose(other.joints[0].a, in_metres.joints[0].a, rtol=1e-15)
    np.testing.assert_allclose(other.links[0].com, in_metres.links[0].com, rtol=1e-15)
    assert other.links[0].inertia == in_metres.links[0].inertia  # what is not named is in SI


@pytest.mark.parametrize(
    ("text", "quantity", "value"),
    [
        ("1 in", units.LENGTH, 0.0254),
        ("2 lb", units.MASS, 0.90718474),
        ("3 g mm^2", units.INERTIA, 3e-9),
        ("3 g cm2", units.INERTIA, 3e-7),
        ("60 rpm", units.RATE, 2 * math.pi),
        ("1 turn/s", units.RATE, 2 * math.pi),
        ("450 deg", units.RATE, 2.5 * math.pi),
        ("pi/2 rad/s", units.RATE, math.pi / 2),
        ("5 mm/turn", units.PITCH, 5e-3 / (2 * math.pi)),
        ("2 Nm", units.TORQUE, 2.0),
        ("2 N·m", units.TORQUE, 2.0),
        ("1 N m s/deg", units.TURNING_FRICTION, 180 / math.pi),
        ("1 Nms", units.TURNING_FRICTION, 1.0),
        ("1e400 mm", units.LENGTH, math.inf),
        ("pi/2", units.ANGLE, None),
        ("1e5", units.LENGTH, None),
        ("mm", units.LENGTH, None),
    ],
)
def test_a_number_with_its_unit(text: str, quantity: units.Quantity, value: float | None) -> None:
    assert units.read_quantity(text, quantity) == (value if value is None else pytest.approx(value, rel=1e-15))


MISTAKES = [
    ('a = "431.8 mm"', 'a = "90 deg"', r"line 14: link 1 \(upper\): a: '90 deg': 'deg' is a unit of an angle; expected a length such as '250 mm'"),
    ('a = "431.8 mm"', 'a = "3 parsec"', "unknown unit 'parsec'"),
    ('a = "431.8 mm"', 'a = "3 MM"', "unknown unit 'MM'; did you mean 'mm'"),
    ('a = "431.8 mm"', 'a = "3 mm/"', "'mm/' is not a unit"),
    ('a = "431.8 mm"', 'a = "1e999 m"', "a = inf is not finite"),
    ('mass = "3100 g"', 'mass = "3100 mm"', "'mm' is a unit of a length; expected a mass such as '250 g'"),
    ('"450 deg/s"', '"450 mm/s"', "max_velocity: '450 mm/s': 'mm/s' is a unit of a speed; expected an angular speed such as '180"),
    ('[0, "150 mm"]', '[0, "150 deg"]', "limits: '150 deg': 'deg' is a unit of an angle; expected a length"),
    ('pitch = "5 mm/rad"', 'pitch = "5 mm"', "expected a pitch such as '5 mm/turn'"),
    ('at = [0, "1 mm", 0]', 'at = [0, "1 kg", 0]', r"line 39: link 2 \(quill\): point_masses: '1 kg': 'kg' is a unit of a mass"),
    ("gravity", 'units = "kg m"\ngravity', "line 2: robot: units = 'kg m': 'kg m' is no unit of length or angle or mass or inertia"),
    ("gravity", 'units = ["mm", "cm"]\ngravity', "has two units of length"),
    ("gravity", "units = 3\ngravity", "3 is no unit of"),
    ("gravity", 'units = {lenght = "mm"}\ngravity', "line 2: robot: unknown quantity 'lenght'; expected length, angle, mass, inertia"),
    ("gravity", 'units = {length = "deg"}\ngravity', "length = 'deg': expected a unit of length, such as 'mm'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_unit_that_does_not_fit_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in WITH_TEXTS
    (tmp_path / "robot.toml").write_text(WITH_TEXTS.replace(old, new, 1))
    with pytest.raises(aw.ModelError, match=message):
        aw.Robot.from_toml(tmp_path / "robot.toml")


def test_every_key_of_a_robot_has_a_quantity_or_none() -> None:
    """A key without would be left as it is in a file in millimetres."""
    assert set(ROW_KEYS) | set(BASE_KEYS) <= {*ROW_QUANTITIES, *drive_quantities(True)}
    assert set(DRIVE_KEYS) <= {*drive_quantities(True), "gear", "rotor_inertia", "spring_curve"}
    assert set(SLENDER_KEYS) == set(ROW_QUANTITIES["slender"])
    assert set(VISUAL_KEYS) == set(VISUAL_QUANTITIES)
    assert set(toml.PAYLOAD_KEYS) == set(BODY_QUANTITIES)
    tables = {"payload", "base_link", "link", "frame", "loop", "actuators", "units"}
    assert set(toml.ROBOT_KEYS) <= {
        *ROBOT_QUANTITIES,
        *tables,
        "name",
        "source",
        "licence",
        "convention",
        "accept",
        "tip",
        "floating",
    }
    assert set(LOOP_KEYS) == {"name", "kind", "links", "dependent", "joint", "terms", "at", "reference", "offset"}


def test_the_places_of_a_loop_have_units_too(tmp_path: Path) -> None:
    text = aw.load("five_bar").to_toml()
    first = aw.Robot.from_fields(toml.parse(text))
    before, _, loop = text.partition("[[loop]]")
    assert "at = [[[" in loop
    at = [[[*row[:3], f"{row[3] * 1000!r} mm"] for row in pose[:3]] + [list(pose[3])] for pose in first.loops[0].poses]
    lines = [f"at = {at}".replace("'", '"') if line.startswith("at =") else line for line in loop.splitlines()]
    second = aw.Robot.from_fields(toml.parse(before + "[[loop]]" + "\n".join(lines)))
    np.testing.assert_allclose(second.loops[0].poses, first.loops[0].poses, rtol=1e-15)
    with pytest.raises(aw.ModelError, match=r"loop 1.*'mm' is a unit of a length; expected an angle"):
        name = first.loops[0].dependent[0]
        wrong = [f'reference = {{"{name}" = "3 mm"}}' if line.startswith("reference") else line for line in lines]
        toml.parse(before + "[[loop]]" + "\n".join(wrong))


def test_limits_of_the_drives_have_units() -> None:
    arm = aw.load("stanford").with_limits(
        velocity={"joint1": "450 deg/s", "joint3": "250 mm/s"}, torque="2 kN m"[:0] or None
    )
    assert arm.joints[0].max_velocity == 2.5 * math.pi and arm.joints[2].max_velocity == 0.25
    arm = arm.with_rotors(inertia="200 kg mm^2").with_friction(viscous={"joint1": "0.1 N m s"})
    assert {joint.rotor_inertia for joint in arm.joints} == {2e-4} and arm.joints[0].viscous == 0.1
    with pytest.raises(aw.ModelError, match=r"with_limits, joint1: velocity: '3 mm': 'mm' is a unit of a length"):
        arm.with_limits(velocity={"joint1": "3 mm"})


def test_what_is_held_has_units() -> None:
    arm = aw.load("rr")
    assert arm.with_payload("350 g", ["12.3 mm", 0, 0]).payload == arm.with_payload(0.35, [0.0123, 0, 0]).payload


def test_what_a_scenario_holds_has_units(tmp_path: Path) -> None:
    start = 'robot = "rr"\nduration = 0.1\nq0 = [0, 0]\n'
    (tmp_path / "motion.toml").write_text(start + 'payload = {mass = "350 g", com = ["12.3 mm", 0, 0]}\n')
    expected = aw.load("rr").with_payload(0.35, [0.0123, 0, 0]).payload
    assert scenario.read(tmp_path / "motion.toml").robot.payload == expected
    (tmp_path / "motion.toml").write_text(start + 'payload = {mass = "350 mm"}\n')
    with pytest.raises(aw.ArmwrightError, match="'mm' is a unit of a length; expected a mass such as '250 g'"):
        scenario.read(tmp_path / "motion.toml")


@pytest.mark.parametrize("name", ["limits", "inertia", "alpha"])
def test_a_repair_of_a_file_in_millimetres_means_what_it_repairs(name: str, tmp_path: Path) -> None:
    wrong = {
        "limits": ("limits = [0.0, 150]", "limits = [150, 0.0]"),
        "inertia": ("inertia = [11000, 52000, 53000, 0.0, 100, 0.0]", "inertia = [[11000, 0, 100], [0, 52000, 0], [100.02, 0, 53000]]"),
        "alpha": ("alpha = 90", "alpha = 1.57"),
    }  # fmt: skip
    (tmp_path / "robot.toml").write_text(IN_MILLIMETRES.replace(*wrong[name], 1))
    fix(tmp_path / "robot.toml", tmp_path / "fixed.toml")
    fixed, good = aw.Robot.from_toml(tmp_path / "fixed.toml"), aw.Robot.from_fields(toml.parse(METRES))
    assert fixed.joints[1:] == good.joints[1:]
    assert fixed.joints[0].alpha == pytest.approx(math.radians(1.57) if name == "alpha" else math.pi / 2)
    for one, other in zip(fixed.links, good.links, strict=True):
        np.testing.assert_allclose(one.inertia, other.inertia, atol=2e-8)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('name = "r"\nconvention = "modified"\npayload = {mass = -1}\n[[link]]\n', 3),
        ('name = "r"\nconvention = "modified"\npayload.mass = -1\n[[link]]\n', 3),
        ('convention = "modified"\nframe = [\n  {name = "a", link = 1},\n  {name = "b", link = 7},\n]\n[[link]]\n', 4),
        ('convention = "modified"\nfloating = true\nbase_link = {mass = 1, com = 2}\n[[link]]\n', 3),
        ('convention = "modified"\nunits = {length = "km"}\n[[link]]\n', 2),
    ],
)
def test_a_mistake_in_an_inline_table_is_told_with_its_line(text: str, line: int, tmp_path: Path) -> None:
    row = 'type = "revolute"\nalpha = 0\na = 0\nd = 0\nmass = 1\ncom = [0.1, 0, 0]\ninertia = [0.01, 0.01, 0.01, 0, 0, 0]\n'
    (tmp_path / "robot.toml").write_text(text + row)
    with pytest.raises(aw.ModelError, match=rf"robot.toml, line {line}: "):
        aw.Robot.from_toml(tmp_path / "robot.toml")


def test_a_row_of_an_array_of_inline_tables_has_its_line(tmp_path: Path) -> None:
    row = '{type = "revolute", alpha = 0, a = 0, d = 0, mass = 1, com = [0.1, 0, 0], inertia = [0.01, 0.01, 0.01, 0, 0, 0]}'
    rows = [row, row.replace("mass = 1", "mass = -1")]
    (tmp_path / "robot.toml").write_text('convention = "modified"\nlink = [\n' + ",\n".join(rows) + "\n]\n")
    with pytest.raises(aw.ModelError, match=r"robot.toml, line 4: link 2: mass = -1.0 is negative"):
        aw.Robot.from_toml(tmp_path / "robot.toml")


@pytest.mark.parametrize("kind", ["universal", "cylindrical"])
def test_rotors_of_freedoms_have_units_as_those_of_rows(kind: str) -> None:
    row = {
        "name": "l", "joint": "u", "type": kind, "alpha": 0, "a": 0, "d": 0, "theta": 0, "mass": 2.0,
        "com": [0, 0.1, 0], "inertia": [2e4, 2e4, 2e4, 0, 0, 0], "freedoms": [{"rotor_inertia": 1e4}, {"rotor_inertia": "50 g cm^2"}],
    }  # fmt: skip
    joints = aw.Robot.from_dh([row], "modified", units={"inertia": "kg mm^2"}).joints
    assert [joint.rotor_inertia for joint in joints] == pytest.approx([0.01, 5e-6])


def test_truth_values_and_numbers_without_units_stay_what_they_are() -> None:
    in_mm = units.units_of("mm")
    assert units.SI.in_si(True, units.LENGTH) is True and in_mm.in_si(True, units.LENGTH) is True
    assert type(units.SI.in_si(3, units.LENGTH)) is int
    assert in_mm.in_si([3, [4.5]], units.LENGTH) == [0.003, [0.0045]]
