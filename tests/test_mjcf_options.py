"""The <option> and <compiler> of MJCF files: honoured as MuJoCo honours them, or named as not taken over."""

from pathlib import Path

import numpy as np
import pytest
from test_mjcf import INERTIAL, own_folder, read, write  # noqa: F401  (a fixture)
from test_mjcf_files import same_tree

import armwright as aw
from armwright.errors import ModelError, ModelWarning
from armwright.model import mjcf

BODIES = f"""<body name="f"><joint name="a" axis="0 1 0" range="-1 2" damping="0.4" frictionloss="0.3"/>{INERTIAL}
<body name="g" pos="0.5 0 0"><joint name="b" axis="0 0 1" damping="0.2"/>{INERTIAL}<site name="s"/></body></body>
<body name="h" pos="1 0 0"><joint name="c" axis="0 0 1"/>{INERTIAL}</body>"""
REST = """<equality><joint joint1="c" joint2="a" polycoef="0.1 2 0 0 0"/><connect body1="g" body2="h" anchor="0.1 0 0"/></equality>
<actuator><motor joint="a" gear="2" forcerange="-3 3" group="2"/><motor joint="b" ctrlrange="-5 5"/></actuator>"""


def of_flags(flags: str, option: str = "") -> aw.Robot:
    return aw.load(write(BODIES, f"{REST}<option {option}>{flags and f'<flag {flags}/>'}</option>"))


@pytest.mark.filterwarnings("ignore")
def test_flags_switch_off_what_they_do_in_mujoco() -> None:
    """Limits, dry friction, damping, equations, gravity, and what motors can do."""

    def told(robot: aw.Robot) -> dict[str, object]:
        rows = {row.name: row for row in robot.rows}
        return {
            "limit": rows["a"].limits, "frictionloss": rows["a"].coulomb, "damper": (rows["a"].viscous, rows["b"].viscous),
            "gravity": robot.gravity, "equality": (len(robot.followers), len(robot.loops)),
            "actuation": (rows["a"].max_torque, rows["b"].max_torque),
        }  # fmt: skip

    whole = told(of_flags(""))
    assert whole == {
        "limit": (-1.0, 2.0), "frictionloss": 0.3, "damper": (0.4, 0.2), "gravity": (0.0, 0.0, -9.81), "equality": (1, 1),
        "actuation": (6.0, 5.0),
    }  # fmt: skip
    off = {
        "limit": {"limit": None}, "frictionloss": {"frictionloss": 0.0}, "damper": {"damper": (0.0, 0.0)},
        "gravity": {"gravity": (0.0, 0.0, 0.0)}, "equality": {"equality": (0, 0)}, "actuation": {"actuation": (None, None)},
        "constraint": {"limit": None, "frictionloss": 0.0, "equality": (0, 0)}, "clampctrl": {"actuation": (6.0, None)},
    }  # fmt: skip
    for flag, changed in off.items():
        assert told(of_flags(f'{flag}="disable"')) == {**whole, **changed}, flag
        assert told(of_flags(f'{flag}="enable"')) == whole, flag
    assert told(of_flags("", 'actuatorgroupdisable="2"')) == {**whole, "actuation": (None, 5.0)}


HARMLESS = (
    *(f"{flag}=\"{to}\"" for flag in ("contact", "warmstart", "filterparent", "refsafe", "sensor", "midphase", "eulerdamp", "autoreset", "nativeccd", "energy", "override") for to in ("enable", "disable")),
)  # fmt: skip


@pytest.mark.filterwarnings("error:.*not taken over:armwright.ModelWarning")
def test_how_mujoco_computes_is_no_part_of_a_robot() -> None:
    """The integrator, the solver, contacts and sensors: the same robot, and no warning."""
    plain = mjcf.read(write(BODIES))
    options = "timestep='0.1' integrator='RK4' solver='CG' iterations='3' cone='elliptic' o_margin='1' magnetic='0 1 0' wind='1 2 3'"
    for text in ("", *HARMLESS):
        tree = mjcf.read(write(BODIES, f"<option {options}><flag {text}/></option>"))
        assert [repr(joint.limits) for joint in tree.joints] == [repr(joint.limits) for joint in plain.joints]
        assert {k: link.inertia for k, link in tree.links.items()} == {
            k: link.inertia for k, link in plain.links.items()
        }


def test_the_air_is_named() -> None:
    for option, names in {
        'density="1.2"': ["density"], 'viscosity="1e-5"': ["viscosity"],
        'density="1.2" viscosity="1e-5" wind="1 0 0"': ["density", "viscosity", "wind"],
    }.items():  # fmt: skip
        listed = "; ".join(f"the {name} of the air" for name in names)
        with pytest.warns(ModelWarning, match=f"not taken over: {listed}"):
            mjcf.read(write(BODIES, f"<option {option}/>"))


def test_air_without_passive_forces_is_none(recwarn: pytest.WarningsRecorder) -> None:
    """MuJoCo has neither where springs and dampers are disabled."""
    tree = mjcf.read(
        write(BODIES.replace('name="f"', 'name="f" gravcomp="1"'), "<option density='1'><flag spring='disable' damper='disable'/></option>")
    )  # fmt: skip
    assert not [w for w in recwarn if "not taken over" in str(w.message)]
    assert [joint.viscous for joint in tree.joints][:2] == [0, 0]


SHAPES = """<body name="base" pos="0 0 1"><geom size="0.1" mass="2"/><body name="static" pos="0.1 0 0"><geom name="shell" type="box" size="0.1 0.2 0.3" group="3"/>
<body name="moves"><joint name="a" axis="0 1 0" type="slide"/><geom type="capsule" size="0.05 0.2" group="2" contype="0" conaffinity="0"/><geom size="0.1" pos="0.1 0.2 0.3" group="1"/>
<body name="point" pos="0 0.1 0"><body name="last" pos="0 0.2 0" euler="10 20 30"><joint name="b" axis="1 2 3" range="-90 90"/><inertial pos="0.01 0 0" mass="0.01" diaginertia="1e-4 2e-4 2.9e-4"/>
<geom size="0.2" pos="1 0 0"/></body></body><body name="welded" euler="0 0 45"><geom size="0.05" mass="0.001"/></body></body></body></body>"""
SETTINGS = (
    'inertiafromgeom="true"', 'inertiafromgeom="auto"', 'inertiafromgeom="true" inertiagrouprange="1 2"',
    'boundmass="0.5"', 'boundinertia="0.02"', 'settotalmass="7"', 'balanceinertia="true"', 'fusestatic="true"', 'discardvisual="true"',
    'fusestatic="true" boundmass="0.5"', 'fusestatic="true" boundinertia="0.01" settotalmass="3"', 'angle="radian"', 'eulerseq="zyx"', 'eulerseq="XZX"',
    'autolimits="true"', 'coordinate="local"', 'fusestatic="true" discardvisual="true"', 'usethread="false"', 'fitaabb="true"',
)  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.filterwarnings("ignore")
def test_settings_of_the_compiler_are_mujocos_own(setting: str) -> None:
    Path("robot.xml").write_text(f"<mujoco><compiler {setting}/><worldbody>{SHAPES}</worldbody></mujoco>")
    same_tree(Path("robot.xml").absolute())


REFUSED = {
    "a plugin that is a shape": ('<body><joint/><geom type="sdf"><plugin plugin="mujoco.sdf.torus"/></geom></body>', "", "<plugin> is refused in a <geom> that gives its body a mass"),
    "a soft body": (BODIES, '<deformable><flex name="x" dim="1" body="f g" element="0 1"/></deformable>', "<flex> is refused: a soft body"),
    "an option that is none": (BODIES, '<option gravty="0 0 0"/>', "MuJoCo refuses it: .*gravty"),
    "a flag that is none": (BODIES, '<option><flag gravty="disable"/></option>', "MuJoCo refuses it: .*gravty"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_by_name(name: str) -> None:
    body, rest, message = REFUSED[name]
    with pytest.raises(ModelError, match=message):
        read(body, rest)


NAMED = {
    "the plugin mujoco.elasticity.cable of a body in line 2": (f'<body><plugin plugin="mujoco.elasticity.cable"/><joint/>{INERTIAL}</body>', ""),
    "the armature and damping of the actuator of line 3": (BODIES.replace("\n", " "), '<actuator><motor site="s" armature="1"/></actuator>'),
    "the tendon of line 3": (BODIES.replace("\n", " "), '<default><tendon stiffness="2"/></default><tendon><fixed><joint joint="a" coef="1"/></fixed></tendon>'),
    "the equation of a spatial tendon in line 3": (BODIES.replace("\n", " "), '<tendon><spatial name="t"><site site="s"/><site site="u"/></spatial></tendon><equality><tendon tendon1="t"/></equality>'),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMED)
def test_what_is_named(what: str) -> None:
    with pytest.warns(ModelWarning, match=f"not taken over: .*{what}"):
        read(*NAMED[what])


def test_options_of_mujoco_before_3_do_no_harm() -> None:
    tree = mjcf.read(write(BODIES, '<option apirate="50" collision="all" gravity="1 2 3"/>'))
    assert tree.gravity == (1, 2, 3) and np.isfinite(tree.links["f"].mass)
