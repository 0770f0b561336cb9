"""Canonical frames: what they save on the robots that are installed here, and that they never cost digits."""

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import frame_savings as frames
import numpy as np
import pinocchio as pin
import pytest
from conftest import close

import armwright as aw
from armwright.formulations import find_formulation
from armwright.mechanism import Mechanism
from armwright.model import canonical, frame_change, urdf
from armwright.model.description import Description
from armwright.model.file_joints import FileJoint
from armwright.model.records import JointModel
from armwright.model.transforms import right_angles
from armwright.model.tree_selection import Selection, select

CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")
FILES = {
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", None),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", None),
    "kinova": ("kinova_description/robots/kinova.urdf", None),
    "tiago": ("tiago_description/robots/tiago_no_hand.urdf", "wrist_ft_tool_link"),
    "bravo7": ("bravo7_description/urdf/bravo7_no_ee.urdf", None),
    "human": ("human_description/robots/human.urdf", "left_hand"),
    "finger": ("finger_edu_description/robots/finger_edu.urdf", None),
    "two": ("asr_twodof_description/urdf/TwoDofs.urdf", None),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", None),
}
FRAMES_IN_THE_MASS = ("ur5", "ur10")
"""Their files have frames in centres of mass that lie on the axes: as published, Newton-Euler profits of that."""
NEARLY_RIGHT_ANGLES = ("xarm7", "kinova")
"""Their files have 1.5708 or 1.57079632679 for a right angle, so that normals meet beside the origins of the file."""

needs_examples = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")


def picked(name: str) -> Selection:
    file, tip = FILES[name]
    if not (EXAMPLES / file).exists():
        pytest.skip("not in this version of example-robot-data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return select(urdf.read(EXAMPLES / file), tip=tip)


@needs_examples
@pytest.mark.parametrize("name", [name for name in FILES if name not in NEARLY_RIGHT_ANGLES])
def test_canonical_frames_never_cost_operations(name: str) -> None:
    mechanism = picked(name)
    saved = frames.savings(mechanism.file_joints, mechanism.description)
    assert saved.compiled.total <= saved.file_base.total <= saved.file.total
    if name not in FRAMES_IN_THE_MASS:
        assert saved.canonical.total <= saved.file.total


@needs_examples
@pytest.mark.parametrize(("name", "at_least"), [("panda", 12), ("ur5", 32)])
def test_canonical_frames_save_operations(name: str, at_least: int) -> None:
    mechanism = picked(name)
    saved = frames.savings(mechanism.file_joints, mechanism.description)
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
    placed = frames.placed_chain(mechanism.file_joints, arm.gravity)
    close(find_formulation("inverse_dynamics", frames.PUBLISHED)(placed, *state.tolist()), expected, 1e-10)
    for formulation, euler in frames.ON_BASE_PARAMETERS:
        on_base = frames._regrouped(placed, euler)
        close(find_formulation("inverse_dynamics", formulation)(on_base, *state.tolist()), expected, 1e-10)


def turned(axis: int, angle: float) -> np.ndarray:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T = np.eye(4)
    T[i, i] = T[j, j] = np.cos(angle)
    T[j, i] = np.sin(angle)
    T[i, j] = -T[j, i]
    return T


def moved(axis: int, by: float) -> np.ndarray:
    T = np.eye(4)
    T[axis, 3] = by
    return T


def in_pinocchio(joints: list[FileJoint]) -> pin.Model:
    model = pin.Model()
    for i, joint in enumerate(joints):
        body = joint.body
        there = model.addJoint(
            joint.parent + 1, pin.JointModelRevoluteUnaligned(joint.axis), pin.SE3(joint.placement), f"{i}"
        )
        inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
        model.appendBodyToJoint(there, inertia, pin.SE3.Identity())
    return model


@needs_examples
@pytest.mark.parametrize("name", ["panda", "ur5", "kinova"])
@pytest.mark.parametrize(
    ("change", "sizes"), [(turned, range(1, 13)), (moved, range(2, 14))], ids=["bends", "distances"]
)
def test_frames_never_cost_digits(name: str, change: Callable[[int, float], np.ndarray], sizes: range) -> None:
    """Axes of an arm bent by 1e-1 to 1e-12 rad, or moved by 1e-2 to 1e-13 m: each by itself, and all of them."""
    arm, rng = list(picked(name).file_joints), np.random.default_rng(0)
    length = sum(np.linalg.norm(joint.placement[:3, 3]) for joint in arm)
    for digits in sizes:
        for which in (*range(len(arm)), slice(None)):
            joints = list(arm)
            for i in np.atleast_1d(np.arange(len(arm))[which]):
                T = arm[i].placement @ change(int(rng.integers(3)), 10.0**-digits)
                joints[i] = replace(arm[i], placement=T)
            table = canonical.canonical_tree(joints)
            rows = [JointModel(f"{i}", joint.kind, **asdict(table.rows[i])) for i, joint in enumerate(joints)]
            bent = Description("bent", tuple(rows), table.links, base=table.base, flange=table.file_frames[-1])
            assert max(np.linalg.norm(np.array(T)[:3, 3]) for T in table.file_frames) < length
            same_as_pinocchio(bent.mechanism(), in_pinocchio(joints), rng.uniform(-2, 2, (3, len(arm))), length)


def same_as_pinocchio(mechanism: Mechanism, model: pin.Model, state: np.ndarray, length: float) -> None:
    data, numbers = model.createData(), state.tolist()
    full = np.triu(pin.crba(model, data, state[0]))
    close(find_formulation("inverse_dynamics")(mechanism, *numbers), pin.rnea(model, data, *state), 1e-13)
    close(find_formulation("mass_matrix")(mechanism, numbers[0]), full + np.triu(full, 1).T, 1e-13)
    pin.forwardKinematics(model, data, state[0])
    tool = np.array(find_formulation("forward_kinematics")(mechanism, numbers[0]), dtype=float)
    assert np.abs(tool - data.oMi[model.njoints - 1].homogeneous).max() <= 1e-13 * length


def test_nothing_is_straightened_unless_asked(tmp_path: Path) -> None:
    """Right angles written with few digits stay what they are; `straighten` makes them, and small bends, exact."""
    body = '<inertial><origin xyz="0.1 0 0.05"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
    text = "".join(f'<link name="l{i}">{body}</link>' for i in range(4))
    for i, rpy in enumerate(("0 0 0", "1.5708 0 0", "1e-5 -2e-6 1.5708")):
        text += f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/><axis xyz="0 0 1"/>'
        text += f'<origin xyz="0.3 0.1 0.2" rpy="{rpy}"/></joint>'
    (tmp_path / "bent.urdf").write_text(f'<robot name="bent">{text}</robot>')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        as_it_is = aw.load(tmp_path / "bent.urdf")
        straight = aw.load(tmp_path / "bent.urdf", straighten=2e-5)
    assert [abs(joint.alpha) for joint in as_it_is.joints[1:]] == pytest.approx(
        [1.5708, np.hypot(1e-5, 2e-6)], abs=1e-15
    )
    assert all(right_angles(joint.alpha) is not None for joint in straight.joints)
    assert all(joint.y == 0 for joint in straight.joints) and any(joint.y for joint in as_it_is.joints)
    state = np.ones((3, 3))
    apart = straight.inverse_dynamics(*state) - as_it_is.inverse_dynamics(*state)
    assert 1e-7 < np.abs(apart).max() < 1e-3


@pytest.mark.parametrize("constant", ["ROUNDING_TOLERANCE", "TENSOR_TOLERANCE", "MAX_NORMAL_RATIO", "MAX_COORDINATE"])
def test_limits_of_what_loading_changes_are_documented(constant: str) -> None:
    notation = (Path(__file__).parent.parent / "docs/notation.md").read_text()
    home = frame_change if constant.endswith("TOLERANCE") else canonical
    assert f"| `{constant}` | {getattr(home, constant):g}" in notation
