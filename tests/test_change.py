"""The same robot with other drives, and with a payload from the command line or a scenario."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import InputError, ModelError, ModelWarning, UnknownNameError
from armwright.model.followers import split_followers
from armwright.model.mimic import Mimic
from armwright.model.records import Payload
from armwright.scenario import parse, pick_and_place

RR = aw.load("rr")
ROWS = (np.array([1.0, 2.0]), [1.0, 2.0], (1, 2), memoryview(np.array([1.0, 2.0])), {"joint1": 1.0, "joint2": 2.0})


@pytest.mark.parametrize("value", ROWS, ids=lambda x: type(x).__name__)
def test_drives_are_given_for_each_joint_or_by_name(value: object) -> None:
    arm = RR.with_friction(viscous=value, coulomb=value, smooth=value)
    arm = arm.with_limits(velocity=value, torque=value).with_rotors(value, gear=value)
    for i, joint in enumerate(arm.joints, start=1):
        assert (joint.viscous, joint.coulomb, joint.smooth) == (i, i, i)
        assert (joint.max_velocity, joint.max_torque) == (i, i)
        assert joint.armature == i**3
    assert arm.links == RR.links
    assert all(joint.viscous == 0 for joint in RR.joints)


def test_one_value_is_for_all_and_what_is_not_named_stays() -> None:
    arm = RR.with_friction(0.5).with_friction(coulomb={"joint2": 3}).with_rotors(gear=2.0)
    assert [joint.viscous for joint in arm.joints] == [0.5, 0.5]
    assert [joint.coulomb for joint in arm.joints] == [0, 3]
    assert [joint.gear for joint in arm.joints] == [2, 2]
    assert RR.with_friction() == RR.with_limits() == RR.with_rotors() == RR


def test_limits_of_position_are_pairs() -> None:
    assert [j.limits for j in RR.with_limits((-1, 2)).joints] == [(-1, 2), (-1, 2)]
    assert [j.limits for j in RR.with_limits(np.array([[-1, 2], [-3, 4.0]])).joints] == [(-1, 2), (-3, 4)]
    arm = RR.with_limits([(-1, 2), None])
    assert [j.limits for j in arm.joints] == [(-1, 2), None]
    assert RR.with_limits({"joint1": ["-90 deg", "pi/2"]}).joints[0].limits == pytest.approx((-np.pi / 2, np.pi / 2))
    free = arm.with_limits((-np.inf, np.inf), velocity=np.inf, torque={"joint1": None})
    assert all(j.limits is None and j.max_velocity is None and j.max_torque is None for j in free.joints)


def test_friction_and_rotors_are_felt() -> None:
    q, qd, qdd = [0.3, -0.4], [1.0, -2.0], [0.5, 1.5]
    arm = RR.with_friction(viscous=[0.1, 0.2], coulomb=0.3).with_rotors(0.01, gear=[10, 20])
    extra = arm.inverse_dynamics(q, qd, qdd) - RR.with_rotors(0).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(extra, [0.1 + 0.3 + 0.5, -0.4 - 0.3 + 6.0], rtol=1e-12)


def test_a_follower_is_changed_by_its_name() -> None:
    joints = (RR.joints[0], replace(RR.joints[1], mimic=Mimic("joint1", 1.0, 0.0)))
    own, led = split_followers(joints)
    arm = replace(RR, joints=own, followers=led).with_friction({"joint2": 2.0}).with_friction(coulomb=[4.0])
    assert arm.followers[0].viscous == 2.0
    assert (arm.joints[0].coulomb, arm.followers[0].coulomb) == (4.0, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: RR.with_friction(-1), r"with_friction, joint1: viscous = -1.0 is negative; expected N m s or N s/m"),
        (lambda: RR.with_friction(coulomb="x"), "coulomb = 'x' is not a number"),
        (lambda: RR.with_friction([1, 2, 3]), "viscous has 3 entries; expected one number for all joints, 2, or a map"),
        (lambda: RR.with_rotors(gear=0), "gear = 0 would uncouple the motor"),
        (lambda: RR.with_rotors(np.nan), "inertia = nan is not finite"),
        (lambda: RR.with_limits((2, 1)), "expected the lower limit first"),
        (lambda: RR.with_limits((1, 2, 3)), "position has 3 entries; expected one pair"),
        (lambda: RR.with_limits(torque=0), "torque = 0 would lock the joint"),
    ],
)
def test_what_does_not_fit_is_told(change: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        change()


def test_an_unknown_joint_is_told() -> None:
    with pytest.raises(UnknownNameError, match="unknown joint in torque of with_limits: 'joint3'"):
        RR.with_limits(torque={"joint3": 1})


def typed(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_a_payload_on_the_command_line() -> None:
    shown = json.loads(typed("show", "ur5", "--payload", "5,0,0,0.1", "--json"))
    assert shown["payload"]["mass"] == 5
    assert shown["payload"]["com"] == [0, 0, 0.1]
    whole = json.loads(typed("show", "ur5", "--payload", "5,0,0,0.1,1,2,3,0,0,0", "--json"))
    assert whole["payload"]["inertia"][2] == [0, 0, 3]
    empty, held = (json.loads(typed("torques", "ur5", *x, "--json")) for x in ([], ["--payload", "5"]))
    assert held["joints"][1]["peak_torque"] > 1.2 * empty["joints"][1]["peak_torque"]
    assert "ur5 holding 5 kg" in typed("torques", "ur5", "--payload", "5")
    assert json.loads(typed("show", "ur5", "--payload", "0", "--json"))["payload"] is None
    assert "different" in typed("compare", "rr", "rr", "--payload-there", "1", code=1)
    for wrong in ("heavy", "1,2", "", "1,0,0,x"):
        assert "--payload 2.5" in typed("show", "ur5", "--payload", wrong, code=2)
    assert "mass = -1.0 is negative" in typed("show", "ur5", "--payload=-1", code=2)
    assert "check examines the file alone" in typed("check", "ur5", "--payload", "1", code=2)
    assert "6 is not a file" in typed("count", "6", "--payload", "1", code=2)


def test_a_scenario_may_change_the_payload_alone(here: Path) -> None:
    arm = aw.load("ur5")
    made, plain = parse("payload = {mass = 5.0, com = [0, 0, 0.1]}\n", arm), pick_and_place(arm.with_payload(5.0))
    assert made.robot.payload is not None
    assert made.robot.payload.mass == 5
    assert made.trajectory is not None
    np.testing.assert_array_equal(made.trajectory(1.0)[0], plain.trajectory(1.0)[0])
    assert parse("every = 0.5\ngravity = [0, 0, 0]", arm).options["every"] == 0.5
    assert parse("duration = 1.0", arm).trajectory is None  # it falls, as before
    (here / "held.toml").write_text("payload = {mass = 5.0}\n")
    one, other = (json.loads(typed("torques", "ur5", *x, "--json")) for x in (["held.toml"], ["--payload", "5"]))
    assert one["joints"] == other["joints"]
    other, one = (json.loads(typed("torques", "ur5", *x, "--payload", "2", "--json")) for x in (["held.toml"], []))
    assert one["joints"] == other["joints"]  # the command line's wins


def test_a_gripper_and_what_it_holds_are_one_body() -> None:
    arm, q = aw.load("ur5e"), np.linspace(-1, 1, 6)
    first = {"mass": 0.8, "com": [0.01, 0, 0.06], "inertia": [2e-3, 2e-3, 1e-3, 0, 1e-4, 0]}
    second = {"mass": 2.0, "com": [0, 0.02, 0.15], "inertia": [4e-3, 3e-3, 5e-3, 0, 0, 0]}
    both = arm.with_payload(**first).with_payload(**second, beside=True)
    apart = arm.with_payload(**first).mass_matrix(q) + arm.with_payload(**second).mass_matrix(q) - arm.mass_matrix(q)
    np.testing.assert_allclose(both.mass_matrix(q), apart, atol=1e-13)
    assert both.payload.mass == 2.8
    assert arm.with_payload(**first).with_payload(**second) == arm.with_payload(**second)
    assert arm.with_payload(**first, beside=True) == arm.with_payload(**first)


def test_a_payload_that_no_body_can_be_is_told() -> None:
    with pytest.warns(ModelWarning, match="payload: its principal moments .* break the triangle inequality"):
        aw.load("rr").with_payload(1.0, inertia=np.diag([1.0, 1e-3, 1e-3]))


DH = {"type": "revolute", "alpha": 0, "a": 1, "d": 0}
LEANING = ((1.0, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    "set_to",
    [
        lambda: replace(RR.links[0], inertia=LEANING),
        lambda: replace(RR.links[0], inertia=np.array(LEANING)),
        lambda: RR.with_payload(1.0, inertia=LEANING),
        lambda: Payload(1.0, inertia=LEANING),
        lambda: aw.Robot.from_dh([DH | {"mass": 1, "com": [0, 0, 0], "inertia": LEANING}], "modified"),
        lambda: pickle.loads(forged(RR)),
    ],
)
def test_an_inertia_that_is_not_symmetric_is_refused_however_it_is_set(set_to: Callable) -> None:
    with pytest.raises((ModelError, InputError), match=r"not symmetric.* differ by 0\.5"):
        set_to()


def forged(robot: aw.Robot) -> bytes:
    """A pickle with numbers that no check has seen."""
    other = pickle.loads(pickle.dumps(robot))
    object.__setattr__(other.links[0], "inertia", LEANING)
    return pickle.dumps(other)


def test_arrays_are_taken_as_inertia_and_nothing_else() -> None:
    link = replace(RR.links[0], inertia=np.diag([1.0, 2.0, 3.0]))
    assert link.inertia == ((1, 0, 0), (0, 2, 0), (0, 0, 3)) and hash(link)
    with pytest.raises(ModelError, match="expected 3 rows of 3 numbers"):
        replace(link, inertia=(1.0, 2.0, 3.0))
