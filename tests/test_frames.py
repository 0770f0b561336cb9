"""What canonical frames save on the robots that are installed here, counted by one code in both kinds of frames."""

import importlib.util
import warnings
from pathlib import Path

import frame_savings as frames
import numpy as np
import pytest
from conftest import close

import armwright as aw
from armwright.formulations import find
from armwright.model import canonical, urdf
from armwright.model.tree import Picked, pick

CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")
FILES = {
    "panda": ("panda_description/urdf/panda.urdf", None),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", None),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", None),
    "kinova": ("kinova_description/robots/kinova.urdf", None),
    "tiago": ("tiago_description/robots/tiago_no_hand.urdf", None),
    "bravo7": ("bravo7_description/urdf/bravo7_no_ee.urdf", None),
    "human": ("human_description/robots/human.urdf", "left_hand"),
    "finger": ("finger_edu_description/robots/finger_edu.urdf", None),
    "two": ("asr_twodof_description/urdf/TwoDofs.urdf", None),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", None),
}
FRAMES_IN_THE_MASS = ("ur5", "ur10")
"""Their files have frames in centres of mass that lie on the axes: as published, Newton-Euler profits of that."""
NEARLY_RIGHT_ANGLES = ("xarm7",)
"""Its file has 1.5708 for a right angle, so that normals meet micrometres beside the origins of the file."""

needs_examples = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")


def picked(name: str) -> Picked:
    file, tip = FILES[name]
    if not (EXAMPLES / file).exists():
        pytest.skip("not in this version of example-robot-data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pick(urdf.read(EXAMPLES / file), tip=tip)


@needs_examples
@pytest.mark.parametrize("name", [name for name in FILES if name not in NEARLY_RIGHT_ANGLES])
def test_canonical_frames_never_cost_operations(name: str) -> None:
    mechanism = picked(name)
    saved = frames.savings(mechanism.placed, mechanism.description)
    assert saved.compiled.total <= saved.file_base.total <= saved.file.total
    if name not in FRAMES_IN_THE_MASS:
        assert saved.canonical.total <= saved.file.total


@needs_examples
@pytest.mark.parametrize(("name", "at_least"), [("panda", 12), ("ur5", 32)])
def test_canonical_frames_save_operations(name: str, at_least: int) -> None:
    mechanism = picked(name)
    saved = frames.savings(mechanism.placed, mechanism.description)
    assert saved.compiled.total <= saved.file_base.total - at_least
    assert saved.compiled.multiplications < saved.file_base.multiplications


@needs_examples
@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("uncompiled")
def test_what_is_counted_in_the_frames_of_the_file_is_this_robot(name: str) -> None:
    mechanism = picked(name)
    arm = aw.Robot.from_description(mechanism.description)
    state = np.random.default_rng(0).uniform(-1, 1, (3, arm.n))
    friction = [j.viscous * v + j.coulomb * np.sign(v) for j, v in zip(arm.joints, state[1], strict=True)]
    rotors = [j.armature * a for j, a in zip(arm.joints, state[2], strict=True)]
    expected = arm.inverse_dynamics(*state) - friction - rotors
    placed = frames.placed_chain(mechanism.placed, arm.gravity)
    close(find("inverse_dynamics", frames.PUBLISHED)(placed, *state.tolist()), expected, 1e-10)
    for formulation, euler in frames.ON_BASE_PARAMETERS:
        on_base = frames._regrouped(placed, euler)
        close(find("inverse_dynamics", formulation)(on_base, *state.tolist()), expected, 1e-10)


@pytest.mark.parametrize("constant", ["SNAP", "PARALLEL", "REPORTED", "DUST", "FARTHEST"])
def test_limits_of_what_loading_changes_are_documented(constant: str) -> None:
    notation = (Path(__file__).parent.parent / "docs/notation.md").read_text()
    assert f"| `{constant}` | {getattr(canonical, constant):g}" in notation
