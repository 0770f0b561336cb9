"""The most payload: torque is a straight line in the payload's mass, so the answer is exact and can be held, no more."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import armwright as aw
from armwright.model.records import JointModel, LinkModel
from armwright.trajectory.torques import torques

HOME = np.array([0.0, -0.8, 0.0, -2.0, 0.0, 1.6, 0.8])
REACH = aw.trajectory.quintic([0, 0.8, 1.5], [HOME, HOME + np.array([0.6, 0.5, -0.2, 0.4, 0.3, 0.4, -0.3]), HOME + 0.5])
WAVE = aw.trajectory.quintic([0, 1.2], [HOME, HOME - [0.5, 0.3, -0.4, 0.2, 0.3, 0.1, 0.8]])
G = 9.81


def pendulum(strong: float | None = 100.0) -> aw.Robot:
    """A bar of 2 kg with its centre at 0.4 m that turns in a vertical plane; its tool is 0.7 m out."""
    joint = JointModel("swing", "revolute", 0.0, 0.0, 0.0, 0.0, max_torque=strong)
    bar = LinkModel("bar", 2.0, (0.4, 0.0, 0.0), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.03)))
    out = np.eye(4)
    out[0, 3] = 0.7
    return aw.Robot("pendulum", (joint,), (bar,), gravity=(0.0, -G, 0.0)).with_tool(out)


def used(arm: aw.Robot, motion, mass: float, most: np.ndarray) -> np.ndarray:
    """The largest part of its torque that each joint takes with a payload of this mass, by fine steps."""
    q, qd, qdd = motion(np.linspace(motion.start, motion.end, 20001))
    tau = torques(arm.with_payload(mass, [0.02, 0, 0.1]).mechanism(), q, qd, qdd)
    return np.abs(tau).max(axis=1) / most


def test_the_payload_of_a_level_pendulum_is_that_of_statics() -> None:
    found = pendulum().most_payload(aw.trajectory.rest([0.0], 1.0))
    assert found.mass == pytest.approx((100.0 / G - 2.0 * 0.4) / 0.7, rel=1e-12)
    assert (found.joint, found.index, found.quantity, found.limit, found.unit) == ("swing", 0, "torque", 100.0, "N m")


def test_the_payload_of_a_swinging_pendulum_follows_from_newton() -> None:
    """The torque is (I + m r^2) qdd + (M c + m r) g cos q: the least mass is at the start or at the turn, or between."""
    motion = aw.trajectory.quintic([0, 0.6], [[-0.4], [1.3]])
    t = np.linspace(0, 0.6, 400_001)
    q, _, qdd = (x[:, 0] for x in motion(t))
    own, each = (0.03 + 2 * 0.16) * qdd + 2 * 0.4 * G * np.cos(q), 0.49 * qdd + 0.7 * G * np.cos(q)
    masses = (100.0 - np.sign(each) * own) / np.abs(each)
    found = pendulum().most_payload(motion)
    assert found.mass == pytest.approx(masses.min(), rel=1e-9)
    assert found.time == pytest.approx(t[masses.argmin()], abs=1e-5)
    curve = found.curves[0]
    np.testing.assert_allclose(curve.least, np.interp(curve.t, t, masses), rtol=1e-4)


def test_torque_is_linear_in_the_payload() -> None:
    arm = aw.load("panda").with_friction(viscous=2.0, coulomb=0.5)
    q, qd, qdd = REACH(np.linspace(0, 1.5, 101))
    light, middle, heavy = (torques(arm.with_payload(m, [0.02, 0, 0.1]).mechanism(), q, qd, qdd) for m in (1, 2.5, 9))
    np.testing.assert_allclose(middle, light + (heavy - light) * 1.5 / 8, atol=1e-12 * np.abs(heavy).max())


@pytest.mark.parametrize("name", ["panda", "ur5e", "palletiser"])
def test_the_binding_joint_is_at_its_limit_and_no_other_exceeds_its_own(name: str) -> None:
    arm = aw.load(name)
    arm = arm.with_friction(viscous=1.0, coulomb=0.5).with_limits(torque=4e3 if name == "palletiser" else None)
    base = HOME if name == "panda" else np.full(arm.n, 0.5)
    motion = aw.trajectory.quintic([0, 2.5], [base, base + 0.4])
    most = np.array([joint.max_torque for joint in arm.joints])
    found = arm.most_payload(motion, [0.02, 0, 0.1])
    share = used(arm, motion, found.mass, most)
    assert int(share.argmax()) == found.index and arm.joints[found.index].name == found.joint
    assert share.max() == pytest.approx(1.0, abs=1e-5) and share.max() <= 1 + 1e-9
    searched = brentq(lambda mass: used(arm, motion, mass, most).max() - 1, 0.1 * found.mass, 10 * found.mass)
    assert found.mass == pytest.approx(searched, rel=1e-5)
    at = torques(found.robot.mechanism(), *(np.atleast_2d(x) for x in motion(found.time)))
    assert abs(at[found.index, 0]) == pytest.approx(most[found.index], rel=1e-9)


def test_the_hardest_of_several_motions_counts() -> None:
    arm = aw.load("panda")
    both, first, second = (arm.most_payload(motions) for motions in ([REACH, WAVE], REACH, [WAVE]))
    hardest = min(first, second, key=lambda found: found.mass)
    assert (both.mass, both.joint, both.time) == (hardest.mass, hardest.joint, hardest.time)
    assert both.motion == (first, second).index(hardest) and f"of motion {both.motion + 1}" in str(both)
    np.testing.assert_array_equal(both.by_joint, np.minimum(first.by_joint, second.by_joint))
    assert [len(curve.t) for curve in both.curves] == [len(first.curves[0].t), len(second.curves[0].t)]


def test_the_present_payload_stays_and_the_result_is_added_to_it() -> None:
    arm = aw.load("panda")
    empty, gripper = arm.most_payload(REACH), arm.with_payload(0.8).most_payload(REACH)
    assert gripper.mass == pytest.approx(empty.mass - 0.8, rel=1e-12)
    assert "besides the 0.8 kg it holds" in str(gripper)


def test_a_payload_may_be_a_body_of_fixed_inertia_or_of_a_shape() -> None:
    """Of a box the inertia grows with its mass; a fixed one only shifts the torques. Both end at the limit."""
    arm, shape = pendulum(), np.diag([0.03, 0.02, 0.05])
    motion = aw.trajectory.quintic([0, 0.4], [[0.0], [1.0]])
    fixed, grown = (
        arm.most_payload(motion, inertia=0.3 * np.diag([0.5, 0.5, 1.0])),
        arm.most_payload(motion, gyration=shape),
    )
    for found, tensor in ((fixed, 0.3 * np.diag([0.5, 0.5, 1.0])), (grown, grown.mass * shape)):
        assert found.robot == arm.with_payload(found.mass, inertia=tensor)
        run = aw.torques_along(found.robot, motion, every=1e-4)
        assert np.abs(run.tau).max() == pytest.approx(100.0, rel=1e-6)
    assert fixed.mass < arm.most_payload(motion).mass
    tensor = [0.03, 0.02, 0.05, 0, 0, 0]
    assert arm.most_payload(motion, gyration=tensor).mass == grown.mass
    with pytest.raises(aw.InputError, match="inertia and gyration both describe"):
        arm.most_payload(motion, inertia=shape, gyration=shape)
    with pytest.raises(aw.InputError, match=r"inertia = .*: expected a 3x3 tensor"):
        arm.most_payload(motion, inertia=[1, 2, 3])


def test_power_limits_count_too() -> None:
    arm, motion = pendulum(1e6), aw.trajectory.quintic([0, 0.6], [[-0.4], [1.3]])
    found = arm.most_payload(motion, power=80.0)
    assert (found.quantity, found.limit, found.unit) == ("power", 80.0, "W")
    run = aw.torques_along(found.robot, motion, every=1e-4)
    assert np.abs(run.power).max() == pytest.approx(80.0, rel=1e-6)
    assert pendulum().most_payload(motion, power=1e9).quantity == "torque"


def test_an_error_names_the_joint_that_is_too_weak_or_too_slow_without_payload() -> None:
    arm = aw.load("panda")
    weak = (
        "panda cannot follow this motion even without a payload: panda_joint2 needs .* N m at .* s, more than the 5 N m"
    )
    with pytest.raises(aw.InfeasibleError, match=weak) as told:
        arm.with_limits(torque={"panda_joint2": 5.0}).most_payload(REACH)
    assert told.value.joint == "panda_joint2" and told.value.criterion == "torque" and told.value.used > 1
    with pytest.raises(aw.InfeasibleError, match="even with the 30 kg it holds"):
        arm.with_payload(30).most_payload(REACH)
    with pytest.raises(
        aw.InfeasibleError, match=r"needs .* rad/s at .* s, more than the .* rad/s it has; choose a slower"
    ):
        arm.most_payload(REACH.lasting(0.5))
    with pytest.raises(aw.InfeasibleError, match="of motion 2, more than"):
        arm.most_payload([REACH, REACH.lasting(0.5)])


def test_joints_without_limits_are_listed() -> None:
    with pytest.raises(aw.InputError, match=r"no joint of rr has a largest torque.*give torque="):
        aw.load("rr").most_payload(aw.trajectory.quintic([0, 1], [[0, 0], [1, 1]]))
    arm = aw.load("panda").with_limits(torque={"panda_joint1": np.inf})
    found = arm.most_payload(REACH)
    assert found.unlimited == ("panda_joint1",) and "taken as strong enough: panda_joint1" in str(found)
    assert math.isinf(found.by_joint[0])


def test_any_payload_is_possible_if_no_joint_feels_it() -> None:
    """A joint that turns about a vertical axis and rests feels no weight."""
    arm = replace(pendulum(), gravity=(0.0, 0.0, -G))
    found = arm.most_payload(aw.trajectory.rest([0.3], 1.0))
    assert math.isinf(found.mass) and found.joint == "" and "any payload" in str(found)
    with pytest.raises(aw.InputError, match="any payload can be held"):
        _ = found.robot


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"motion": []}, "got no motions"),
        ({"motion": [[0, 0]]}, r"expected a trajectory of 1 joints"),
        ({"motion": REACH}, r"expected a trajectory of 1 joints"),
        ({"motion": aw.trajectory.rest([0.0], 1.0).holding()}, "before .holding()"),
        ({"com": [0, 0]}, "com has shape"),
        ({"torque": -1.0}, "expected numbers of zero or more"),
        ({"torque": [1.0, 2.0]}, "one for all joints, or 1: one for each"),
        ({"samples": 1}, "samples"),
    ],
)
def test_invalid_arguments_are_errors(options: dict, message: str) -> None:
    motion = options.pop("motion", aw.trajectory.rest([0.0], 1.0))
    with pytest.raises(aw.InputError, match=message):
        pendulum().most_payload(motion, **options)
