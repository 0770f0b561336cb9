"""A robot whose base floats, held by its feet: forces, torques and the motion that is left."""

import numpy as np
import pinocchio as pin
import pytest
from conftest import close
from tree_oracle import Oracle, framed_tree, state_of

import armwright as aw

ROBOT = framed_tree(7, 4, kinds=("revolute",), floating=True)
FEET = ["frame6", "frame3", "frame5"]
MIXED = {"frame6": "frame", "frame3": "point", "link5": "point"}
PLAIN = {"frame6": "frame", "frame5": "point"}  # nothing is held twice, so that the forces are the only ones
REDUNDANT = {"frame6": "frame", "link7": "frame", "frame3": "point"}  # two frames of one link


def stacked(contacts: dict[str, str], q: np.ndarray) -> np.ndarray:
    rows = {"point": 3, "frame": 6}
    return np.concatenate([ROBOT.jacobian(q, name)[..., : rows[held], :] for name, held in contacts.items()], axis=-2)


@pytest.mark.parametrize("contacts", [FEET, MIXED, REDUNDANT], ids=["points", "mixed", "redundant"])
def test_support_leaves_nothing_for_the_base(contacts: object) -> None:
    """As wrenches on the frames they are balanced by the torques, and no shorter forces do it."""
    state = state_of(ROBOT, np.random.default_rng(0), 4)
    tau, wrenches = ROBOT.support_forces(*state, contacts=contacts)
    assert tau.shape == (4, ROBOT.n) and not tau[:, :6].any() and list(wrenches) == list(contacts)
    scale = np.abs(ROBOT.inverse_dynamics(*state)).max()
    needed = ROBOT.inverse_dynamics(*state, link_wrenches=wrenches)
    assert np.abs(needed - tau).max() < 1e-12 * scale
    by_name = dict.fromkeys(contacts, "point") | (contacts if isinstance(contacts, dict) else {})
    for name, held in by_name.items():
        assert wrenches[name].shape == (4, 6) and (held == "frame" or not wrenches[name][:, 3:].any())
    J = stacked(by_name, state[0][0])
    shortest = np.linalg.lstsq(J[:, :6].T, ROBOT.inverse_dynamics(*(x[0] for x in state))[:6], rcond=1e-10)[0]
    length = np.linalg.norm(np.concatenate([wrench[0] for wrench in wrenches.values()]))
    assert abs(length - np.linalg.norm(shortest)) < 1e-10 * length


def test_a_standing_robot_bears_its_weight() -> None:
    q = state_of(ROBOT, np.random.default_rng(1))[0]
    rest = np.zeros(ROBOT.n)
    wrenches = ROBOT.support_forces(q, rest, rest, FEET).wrenches
    force = sum(ROBOT.forward_kinematics(q, name)[:3, :3] @ wrench[:3] for name, wrench in wrenches.items())
    close(force, -sum(link.mass for link in ROBOT.links) * np.array(ROBOT.gravity), 1e-12)


@pytest.mark.parametrize(
    "contacts", [dict.fromkeys(FEET, "point"), MIXED, REDUNDANT], ids=["points", "mixed", "redundant"]
)
def test_held_dynamics_solve_the_equations_of_motion_and_hold_the_contacts(contacts: dict[str, str]) -> None:
    """Moving as the contacts allow; a dense solution of both equations at once has the same accelerations."""
    rng = np.random.default_rng(2)
    q, qd, tau = state_of(ROBOT, rng)
    J = stacked(contacts, q)
    qd = qd - np.linalg.pinv(J, rcond=1e-10) @ (J @ qd)
    qdd, wrenches = ROBOT.contact_dynamics(q, qd, tau, contacts=contacts)
    M, h = ROBOT.mass_matrix(q), ROBOT.bias(q, qd)
    drift = np.concatenate(
        [
            (ROBOT.jacobian_derivative(q, qd, name) @ qd)[: 3 if held == "point" else 6]
            for name, held in contacts.items()
        ]
    )
    whole = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    dense = np.linalg.lstsq(whole, np.concatenate([tau - h, -drift]), rcond=1e-12)[0]
    close(qdd, dense[: ROBOT.n], 1e-9)
    assert np.abs(J @ qdd + drift).max() < 1e-10 * np.abs(qdd).max()
    close(ROBOT.forward_dynamics(q, qd, tau, link_wrenches=wrenches), qdd, 1e-9)
    close(ROBOT.inverse_dynamics(q, qd, qdd, link_wrenches=wrenches), tau, 1e-9)


def test_pinocchio_holds_the_same_feet_with_the_same_forces() -> None:
    rng = np.random.default_rng(3)
    q, qd, tau = state_of(ROBOT, rng)
    oracle = Oracle(ROBOT)
    models = []
    for name, held in PLAIN.items():
        frame = oracle.model.frames[oracle.at(name)]
        kind = pin.ContactType.CONTACT_6D if held == "frame" else pin.ContactType.CONTACT_3D
        models.append(pin.RigidConstraintModel(kind, oracle.model, frame.parentJoint, frame.placement, pin.LOCAL))
    datas = [model.createData() for model in models]
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    pin.initConstraintDynamics(oracle.model, oracle.data, models, datas)
    J = stacked(PLAIN, q)
    qd = qd - np.linalg.pinv(J) @ (J @ qd)
    expected = pin.constraintDynamics(oracle.model, oracle.data, q, qd, tau, models, datas, settings)
    qdd, wrenches = ROBOT.contact_dynamics(q, qd, tau, PLAIN)
    close(qdd, expected, 1e-8)
    for (name, wrench), data in zip(wrenches.items(), datas, strict=True):
        found = data.contact_force.vector if PLAIN[name] == "frame" else [*data.contact_force.linear, 0, 0, 0]
        close(found, wrench, 1e-8)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda *s: ROBOT.support_forces(*s, ["frame6"]),
            aw.SingularError,
            "not supported by these contacts: a wrench of",
        ),
        (lambda *s: ROBOT.support_forces(*s, []), aw.InputError, r"contacts = \[\]: expected names of frames"),
        (lambda *s: ROBOT.support_forces(*s, "frame6"), aw.InputError, "contacts = 'frame6': expected names"),
        (lambda *s: ROBOT.support_forces(*s, ["frame66"]), aw.UnknownNameError, "unknown frame of .*'frame66'"),
        (
            lambda *s: ROBOT.contact_dynamics(*s, {"link1": "all"}),
            aw.UnknownNameError,
            "kind of contact for 'link1': 'all'",
        ),
        (lambda *s: ROBOT.contact_dynamics(*s[:2], [1.0], FEET), aw.InputError, r"tau has shape \(1,\)"),
        (
            lambda q, qd, _: ROBOT.contact_dynamics(q, np.stack([qd] * 2), np.stack([qd] * 3), FEET),
            aw.InputError,
            r"batch shapes do not fit together: q \(\), qd \(2,\), tau \(3,\)",
        ),
        (lambda *s: ROBOT.contact_dynamics(*s[:2], s[2] + np.nan, FEET), aw.InputError, r"tau\[0\] is nan"),
        (lambda *s: ROBOT.contact_dynamics(s[0], s[1] + np.nan, s[2], FEET), aw.InputError, r"qd\[0\] is nan"),
        (lambda *s: ROBOT.contact_dynamics(s[0] + np.nan, *s[1:], FEET), aw.InputError, r"q\[0\] is nan"),
        (lambda *s: ROBOT.support_forces(*s, 3), aw.InputError, "contacts = 3: expected names of frames"),
        (lambda *s: ROBOT.support_forces(*s, [[]]), aw.UnknownNameError, r"unknown frame of .* \[\]"),
        (lambda *s: ROBOT.support_forces(*s, {"link1": []}), aw.UnknownNameError, r"kind of contact for 'link1': \[\]"),
        (
            lambda q, _, tau: ROBOT.contact_dynamics(q, np.ones(ROBOT.n), tau, REDUNDANT),
            aw.SingularError,
            r"the contacts contradict each other or qd: an acceleration of [0-9.]+ is left. Remove some, or",
        ),
        (
            lambda *s: aw.load("puma560").support_forces(*(np.zeros((3, 6))), ["tool"]),
            aw.InputError,
            "puma560 has no free joint, so its base needs no support; use inverse_dynamics",
        ),
    ],
)
def test_bad_contacts_are_told(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call(ROBOT.neutral, *np.zeros((2, ROBOT.n)))


def test_a_robot_held_by_every_link_stays_where_it_is() -> None:
    held = {link.name: "frame" for link in ROBOT.links}
    qdd = ROBOT.contact_dynamics(ROBOT.neutral, np.zeros(ROBOT.n), np.ones(ROBOT.n), held).qdd
    assert np.abs(qdd).max() < 1e-10


@pytest.mark.usefixtures("uncompiled")
def test_a_quadruped_stands_on_its_feet() -> None:
    """Each foot bears about a quarter of the weight, straight up, and with these torques nothing moves."""
    robot, feet = aw.load("anymal_c"), ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"]
    rest = np.zeros(robot.n)
    support = robot.support_forces(robot.neutral, rest, rest, contacts=feet)
    weight = 9.81 * sum(link.mass for link in robot.links)
    for name, wrench in support.wrenches.items():
        force = robot.forward_kinematics(robot.neutral, name)[:3, :3] @ wrench[:3]
        assert np.abs(force - [0, 0, weight / 4]).max() < 0.03 * weight
    motion = robot.contact_dynamics(robot.neutral, rest, support.tau, contacts=feet)
    assert np.abs(motion.qdd).max() < 1e-10
    for name in feet:
        assert np.allclose(motion.wrenches[name], support.wrenches[name], rtol=0, atol=1e-9 * weight)
