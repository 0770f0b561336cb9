"""The packaged robots of real makers: the files they come from, read by Pinocchio, and their data sheets."""

import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import close
from test_robot import STATE
from test_urdf import Peer

import armwright as aw
from armwright.errors import PublishedWarning

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import package_robots


@pytest.fixture(params=package_robots.ROBOTS)
def published(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A robot of tools/package_robots.py, and the file it is packaged from."""
    name, package = request.param, package_robots.ROBOTS[request.param].package
    try:
        found = version(package)
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    if f"{package} {found} " not in aw.load(name).source:
        pytest.skip(f"packaged from another version of {package}")
    return name, package_robots.published(name)


@pytest.mark.usefixtures("uncompiled")
def test_packaging_again_gives_the_same_robot(published: tuple[str, Path]) -> None:
    name, _ = published
    arm, again = aw.load(name), package_robots.packaged(name)
    assert arm.rated_payload == again.rated_payload
    rng = np.random.default_rng(0)
    q, (qd, qdd) = arm.unit(rng.uniform(-1, 1, arm.nq)), rng.uniform(-1, 1, (2, arm.n))
    close(arm.inverse_dynamics(q, qd, qdd), again.inverse_dynamics(q, qd, qdd), 1e-13)
    close(arm.link_poses(q), again.link_poses(q), 1e-13)
    for frame in arm.frame_names:
        close(arm.forward_kinematics(q, frame), again.forward_kinematics(q, frame), 1e-13)
    for one, other in zip(arm.joints, again.joints, strict=True):
        assert (one.name, one.limits, one.max_velocity) == (other.name, other.limits, other.max_velocity)
        close([one.alpha, one.a, one.d, one.theta, 1], [other.alpha, other.a, other.d, other.theta, 1], 1e-13)
    for link, same in zip(arm.links, again.links, strict=True):
        close([link.mass, *link.com, *np.ravel(link.inertia)], [same.mass, *same.com, *np.ravel(same.inertia)], 1e-13)
    assert (arm.source, arm.accept, arm.base_visuals) == (again.source, again.accept, again.base_visuals)


@pytest.mark.usefixtures("uncompiled")
def test_pinocchio_reads_the_same_robot(published: tuple[str, Path], tmp_path: Path) -> None:
    name, path = published
    arm, (_, _, _, _, tip, floating, frames) = aw.load(name), package_robots.ROBOTS[name]
    if "right angles are read as exact" in arm.source:
        path = package_robots.mended(path, tmp_path)
    arm = arm.without_couplings()
    rng = np.random.default_rng(0)
    q, (qd, qdd) = arm.unit(rng.uniform(-1, 1, (20, arm.nq))), rng.uniform(-1, 1, (2, 20, arm.n))
    if floating:
        model, order, places = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()), list(range(arm.n)), q
    else:
        peer = Peer(path, arm, None)
        model, order, places = peer.model, peer.order, [peer.configuration(x) for x in q]
    data = model.createData()
    friction = np.array([j.viscous for j in arm.joints]) * qd + np.array([j.coulomb for j in arm.joints]) * np.sign(qd)
    tau = arm.inverse_dynamics(q, qd, qdd) - friction
    for i in range(20):
        close(tau[i][order], pin.rnea(model, data, places[i], qd[i][order], qdd[i][order]), 10 * package_robots.ROUNDED)
        pin.framesForwardKinematics(model, data, places[i])
        for frame in (*frames, *([tip] if tip else [])):
            there = data.oMf[model.getFrameId(frame, pin.FrameType.BODY)]
            close(
                arm.forward_kinematics(q[i], None if frame == tip else frame),
                there.homogeneous,
                10 * package_robots.ROUNDED,
            )


def test_placeholder_friction_is_left_out_and_the_source_says_so() -> None:
    hand = aw.load("allegro_hand")
    assert all(joint.viscous == joint.coulomb == 0.0 for joint in hand.joints)
    assert "its friction is left out" in hand.source
    assert aw.simulate(hand, duration=0.1).statistics.accepted < 1000


# Torques at the state of test_robot by Pinocchio 4.1, reading URDF with the numbers of physical_parameters.yaml placed
# as ur_macro.xacro places them
KEPT_BY_HAND = {
    "ur3e": [0.2515989025607544, -14.906828374414626, -4.575024729013279, 0.9307113261032507, -0.24103492988569603, -6.821602638921369e-05],
    "ur10e": [3.799710581819378, -100.44669705418207, -30.24825091517078, 3.114458637825425, -0.8128087737245502, -0.0001651812084580529],
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT_BY_HAND)
def test_arms_kept_by_hand_give_the_torques_of_their_source(name: str) -> None:
    close(aw.load(name).inverse_dynamics(*STATE), KEPT_BY_HAND[name], 1e-12)


# mass of the data sheet (kg), mass of the base in the source file (kg), reach of the data sheet (m)
DATA_SHEETS = {
    "ur3e": (11.2, 2.0, 0.5),
    "ur5e": (20.6, 4.0, 0.85),
    "ur10e": (33.5, 4.0, 1.3),
    "kinova_gen3": (8.2, 1.697, 0.902),
}


@pytest.mark.parametrize("name", DATA_SHEETS)
def test_mass_and_reach_are_near_the_data_sheet(name: str) -> None:
    mass, base, reach = DATA_SHEETS[name]
    arm = aw.load(name)
    assert base + sum(link.mass for link in arm.links) == pytest.approx(mass, rel=0.06)
    _, _, shoulder, *_, tip = arm.link_positions(np.zeros(arm.n))  # all of them are stretched at q = 0
    assert np.linalg.norm(tip - shoulder) == pytest.approx(reach, rel=0.07)


def test_what_is_packaged_is_plausible_or_says_that_it_is_not(robot_name: str) -> None:
    """Whatever the book of rules has against it is heard at load, but that points have no tensor."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = aw.load(robot_name)
    said = " ".join(str(warning.message) for warning in caught)
    doubts = [p for p in aw.problems(arm) if p.severity != "note" and p.kind != "missing inertia"]
    assert all(doubt in said for doubt in doubts)
    assert bool(said) == bool(doubts) == (robot_name in ("puma_mohan2007", "ur5"))
    assert {warning.category for warning in caught} <= {PublishedWarning}
