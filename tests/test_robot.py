"""The Robot as its user meets it: reference values, printing, shapes, bad input."""

import contextlib
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from conftest import MASSLESS, POINT, close, random_transform

import armwright as aw
from armwright.robot import random_tree

PUMA = aw.load("puma560")
ZERO = np.zeros(6)

# The state 0.2 .. 0.9 and its torques by Pinocchio 4.1 (float64)
STATE = [
    [0.19999999999999998, 0.5, -5.551115123125783e-17, 0.7, -0.2, 0.9000000000000001],
    [0.2, -0.4, 0.6000000000000001, -0.8, 1.0, -1.2000000000000002],
    [0.35, 0.2, 0.050000000000000044, -0.09999999999999998, -0.25, -0.3999999999999999],
]
REFERENCE = {
    "ascher": [84.45641101260172, 82.42980142291614],
    "puma560": [1.3889937945448836, -35.552999735620475, -3.884464815009181, -0.0014988063419896468,
                -0.0048127536290329355, -1.0098859347824424e-05],
    "stanford": [-0.10843083511359401, 6.2035412894657425, -52.40545510942947, -0.017892773615774436,
                 -0.17965402347043594, -0.0019115972710201038],
    "thomas_tesar": [328.110813970917, 5681.004028062134, 2109.854822848914, 65.21489816452184, 224.9711669651102,
                     -0.1577575928509695],
    "puma_mohan2007": [1.2420151373371986, -54.45022455506371, -0.7330509090551625, 0.029287267885197518,
                       0.006759415178412673, -0.0035598479201081087],
    "grigorov": [3212.0096661469524, 24236.4763552752, 11167.234643648593, 2819.49839182774, -0.23534874615832516],
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCE)
def test_packaged_robots_give_their_reference_torques(name: str) -> None:
    arm = aw.load(name)
    sign = np.ones(arm.n)
    if name == "stanford":
        sign[2] = -1.0  # the reference is in d3, the robot in Angeles' b3 = -d3
    q, qd, qdd = (sign * np.array(row[: arm.n]) for row in STATE)
    close(sign * arm.inverse_dynamics(q, qd, qdd), REFERENCE[name], 1e-12)


def test_rr_is_the_closed_form_of_machado_1994() -> None:
    m1, m2, r1, r2, J1, J2, g = 0.5, 6.25, 1.0, 0.8, 1.0, 1.0, 9.81
    (q1, q2), (v1, v2) = (0.3, 0.7), (0.4, -0.9)
    c2, s2 = np.cos(q2), np.sin(q2)
    M = [
        [(m1 + m2) * r1**2 + m2 * r2**2 + 2 * m2 * r1 * r2 * c2 + J1, m2 * r2**2 + m2 * r1 * r2 * c2],
        [m2 * r2**2 + m2 * r1 * r2 * c2, m2 * r2**2 + J2],
    ]
    C = np.array([-m2 * r1 * r2 * s2 * (v2**2 + 2 * v1 * v2), m2 * r1 * r2 * s2 * v1**2])
    c1, c12 = np.cos(q1), np.cos(q1 + q2)
    G = g * np.array([m1 * r1 * c1 + m2 * r1 * c1 + m2 * r2 * c12, m2 * r2 * c12])
    arm = aw.load("rr")
    close(arm.mass_matrix([q1, q2]), M, 1e-14)
    close(arm.gravity_torque([q1, q2]), G, 1e-14)
    close(arm.bias([q1, q2], [v1, v2]), C + G, 1e-14)


def test_geared_puma_adds_the_drives_to_the_diagonal() -> None:
    geared = aw.load("puma560_geared")
    drives = np.diag(geared.mass_matrix(ZERO) - PUMA.mass_matrix(ZERO))
    np.testing.assert_allclose(drives, [1.14, 4.71, 0.83, 0.2, 0.179, 0.193], rtol=0.07)  # Armstrong et al. 1986
    bare = tuple(replace(j, rotor_inertia=0.0, gear=1.0) for j in geared.joints)
    assert replace(geared, name=PUMA.name, source=PUMA.source, joints=bare) == PUMA


def test_a_robot_prints_the_table_of_a_book() -> None:
    text = str(aw.load("stanford"))
    assert "stanford: 6 joints (RRPRRR), gravity (0, 0, -9.81) m/s^2" in text
    assert "3  joint3  prismatic          -90      0            0     q3" in text
    assert "2  joint2  revolute            90      0           q2    0.1" in text
    assert "-0 " not in text
    assert repr(aw.load("stanford")) == "<Robot stanford: 6 joints RRPRRR>"
    loaded = str(aw.load("puma560_geared").with_payload(2.0))
    assert "payload in the tool frame: 2 kg" in loaded
    assert "rotor inertia" in loaded


def test_a_robot_is_frozen_equal_and_picklable() -> None:
    with pytest.raises(AttributeError):
        PUMA.name = "other"
    assert aw.load("puma560") == PUMA
    assert PUMA.with_gravity([0, 0, -1.62]) != PUMA
    arm = replace(PUMA)
    unused = pickle.dumps(arm)
    arm.bias(ZERO, ZERO)
    arm.forward_dynamics(ZERO, ZERO, ZERO, formulation="composite_body")
    assert pickle.dumps(arm) == unused  # nothing that was made of it goes along
    assert pickle.loads(unused) == PUMA
    for f in aw.formulations():
        assert pickle.loads(pickle.dumps(f)) is f
    with pytest.raises(AttributeError):
        PUMA.mechanism().gravity.z = 0.0
    assert hash(PUMA) == hash(aw.load("puma560"))


def test_shapes_follow_the_input() -> None:
    q = np.zeros((4, 3, 6))
    assert PUMA.inverse_dynamics(ZERO, ZERO, ZERO).shape == (6,)
    assert PUMA.inverse_dynamics(q, ZERO, ZERO[None]).shape == (4, 3, 6)
    assert PUMA.mass_matrix(q).shape == PUMA.coriolis_matrix(q, ZERO).shape == (4, 3, 6, 6)
    assert PUMA.kinetic_energy(q, ZERO).shape == PUMA.potential_energy(q).shape == (4, 3)
    assert PUMA.inverse_dynamics(np.zeros((0, 6)), ZERO, ZERO).shape == (0, 6)
    assert PUMA.inverse_dynamics([0] * 6, [0] * 6, [0] * 6).dtype == np.float64
    f = aw.compile(PUMA, "bias")
    out = np.empty((4, 3, 6))
    assert f(q, ZERO, out=out) is out
    close(out[1, 1], PUMA.bias(ZERO, ZERO), 1e-15)


def test_the_caller_s_arrays_are_not_touched() -> None:
    q, tau = np.random.default_rng(0).normal(size=(2, 10, 6))
    before = q.copy(), tau.copy()
    for f in aw.formulations("forward_dynamics"):
        PUMA.forward_dynamics(q, q, tau, formulation=f.name)
    assert np.array_equal(q, before[0])
    assert np.array_equal(tau, before[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PUMA.inverse_dynamics([0, 0], ZERO, ZERO), r"q has shape \(2,\); expected shape \(6,\) or \(..., 6\)"),
        (lambda: PUMA.inverse_dynamics(ZERO, 0.0, ZERO), r"qd has shape \(\)"),
        (lambda: PUMA.mass_matrix(np.zeros((6, 1))), r"q has shape \(6, 1\)"),
        (lambda: PUMA.mass_matrix([0, 0, np.nan, 0, 0, 0]), r"q\[2\] is nan; every number must be finite"),
        (lambda: PUMA.bias(np.zeros((2, 6)), np.full((2, 6), np.inf)), r"qd\[0, 0\] is inf"),
        (lambda: PUMA.mass_matrix("home"), "q holds text"),
        (lambda: PUMA.mass_matrix(["a"] * 6), "q holds text"),
        (lambda: PUMA.mass_matrix([1j] * 6), "q holds complex128"),
        (lambda: PUMA.mass_matrix([[0] * 6, [0] * 5]), "q is not an array of numbers"),
        (lambda: PUMA.inverse_dynamics(np.zeros((2, 6)), np.zeros((3, 6)), ZERO), r"do not fit together: q \(2,\), qd \(3,\)"),
        (lambda: PUMA.inverse_dynamics(ZERO, ZERO, ZERO, [1, 2, 3]), r"tip_wrench has shape \(3,\); expected shape \(6,\)"),
        (lambda: PUMA.bias(ZERO, ZERO, link_wrenches=np.zeros(6)), r"link_wrenches .* expected shape \(6, 6\)"),
        (lambda: PUMA.with_gravity(9.81), "with_gravity: gravity = 9.81 does not fit; expected 3 numbers"),
        (lambda: PUMA.with_payload(-1.0), "with_payload: mass = -1.0 is negative"),
        (lambda: PUMA.with_payload(1.0, com=[0, 0]), "expected 3 numbers"),
        (lambda: PUMA.with_tool(np.eye(3)), r"with_tool: got shape \(3, 3\); expected a 4x4"),
        (lambda: PUMA.with_tool(np.diag([1, 1, -1, 1])), "is not a rotation"),
        (lambda: PUMA.with_base(np.full((4, 4), np.nan)), "every number finite"),
        (lambda: PUMA.joint_torque(6, ZERO, ZERO, ZERO), "expected a whole number from 0 to 5"),
        (lambda: aw.random_robot(0, 1), "1 or more"),
        (lambda: aw.random_robot(3, 1, prismatic=2), "between 0 and 1"),
        (lambda: aw.compile(PUMA, "bias")(ZERO), "got 1 arguments; expected 2"),
        (lambda: aw.compile(PUMA, "bias")(ZERO, ZERO, out=np.empty(5)), r"out is float64 \(5,\); expected an array of float64 with shape \(6,\)"),
        (lambda: aw.compile(PUMA, "bias")(ZERO, ZERO, out=np.empty(6, int)), "out is int64"),
        (lambda: aw.compile(PUMA, "bias")(ZERO, ZERO, out=[0.0] * 6), "out is list"),
        (lambda: aw.compile("puma560", "bias"), "compile got str; expected a Robot"),
        (lambda: aw.count_operations("bias", robot="puma560"), "robot is str; expected a Robot"),
        (lambda: aw.random_robot(2, -1), "seed = -1"),
        (lambda: aw.random_robot(2, 1.0), "seed = 1.0"),
        (lambda: aw.random_robot(2, 1, "0.3"), "expected a probability"),
        (lambda: PUMA.mass_matrix([None] * 6), "q holds Python objects, not numbers"),
        (lambda: PUMA.mass_matrix([10**400] * 6), "q holds Python objects"),
        (lambda: PUMA.mass_matrix([True] * 6), "q holds true or false, not numbers"),
        (lambda: PUMA.mass_matrix([[0.1] * 5 + [True]]), "q holds true or false, not numbers"),
        (lambda: PUMA.mass_matrix((0.1, 0.1, 0.1, 0.1, 0.1, True)), "q holds true or false, not numbers"),
        (lambda: PUMA.mass_matrix([0.1] * 5 + [np.True_]), "q holds true or false, not numbers"),
        (lambda: PUMA.inverse_dynamics(ZERO, np.full(6, 1e300), ZERO), "overflows; check the size of the input"),
        (lambda: PUMA.with_payload(1, inertia=np.eye(3) * 1j), "is not a tensor"),
        (lambda: PUMA.with_payload(1, inertia=["1", "1", "1", "0", "0", "0"]), "is not a tensor"),
        (lambda: PUMA.with_base(np.diag([1.000004, 1.000004, 1.000004, 1.0])), "is not a rotation"),
        (lambda: PUMA.to_toml("/nowhere/at/all.toml"), "cannot write the robot"),
        (lambda: aw.Robot.from_toml(None), "from_toml got NoneType"),
        (lambda: aw.Robot.from_toml("puma560"), r"does not exist; expected a robot file, or the name of a packaged robot \(armwright.robots\(\)\)"),
        (lambda: aw.count_operations("bias"), "give either joints= .* or robot="),
        (lambda: aw.count_operations("bias", joints=0), "1 or more"),
        (lambda: aw.count_operations("bias", joints="RX"), "types such as 'RRPRRR'"),
    ],
)  # fmt: skip
def test_bad_input_is_reported(call, message: str) -> None:
    with pytest.raises(aw.ArmwrightError, match=message):
        call()


@pytest.mark.parametrize("kind", ["uint8", "int8", "int64", "float16"])
def test_numbers_of_any_kind_are_taken(kind: str) -> None:
    assert np.array_equal(PUMA.mass_matrix(np.ones(6, kind)), PUMA.mass_matrix(np.ones(6)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PUMA.inverse_dynamics(ZERO, ZERO, ZERO, formulation="keane"), "unknown inverse_dynamics formulation 'keane'. "
         "Did you mean 'kane'[?] Known: newton_euler, kane, gibbs_appell"),
        (lambda: PUMA.mass_matrix(ZERO, formulation="kane"), "'kane' solves bias, inverse_dynamics only"),
        (lambda: aw.compile(PUMA, "inverse_kinematics"), "unknown problem 'inverse_kinematics'.*Known: inverse_dynamics"),
        (lambda: aw.compile(PUMA, "bias", target="fpga"), "unknown target 'fpga'"),
        (lambda: aw.compile(PUMA, "bias", dtype="int8"), "unknown dtype 'int8'"),
        (lambda: aw.compile(PUMA, "bias", dtype="quad"), "unknown dtype 'quad'"),
        (lambda: aw.formulations("statics"), "unknown problem 'statics'"),
        (lambda: aw.count_operations(None, joints=2), "unknown problem"),
        (lambda: PUMA.bias(ZERO, ZERO, formulation=["kane"]), "unknown bias formulation"),
        (lambda: aw.load("PUMA560"), "Did you mean 'puma560'"),
        (lambda: aw.load("a" * 5000), "unknown robot"),
        (lambda: aw.load(""), "unknown robot ''"),
        (lambda: aw.count_operations("mass_matrix", formulation="articulated_body", joints=6), "solves forward_dynamics only"),
    ],
)  # fmt: skip
def test_an_unknown_choice_lists_what_there_is(call, message: str) -> None:
    with pytest.raises(aw.UnknownNameError, match=message):
        call()


def test_a_singular_mass_matrix_is_reported_not_divided_by() -> None:
    nowhere = aw.Robot.from_dh([POINT, MASSLESS], "modified")
    somewhere = aw.Robot.from_dh([MASSLESS, POINT], "modified")  # singular where the two links are in line
    rest = [0.0, 0.0]
    for f in aw.formulations("forward_dynamics"):
        with pytest.raises(aw.SingularError, match="mass matrix is singular"):
            nowhere.forward_dynamics([0.3, 0.2], rest, rest, formulation=f.name)
        with contextlib.suppress(aw.SingularError):  # a division by zero may be counted or told, but not escape
            aw.count_operations("forward_dynamics", f.name, robot=nowhere)
        with pytest.raises(aw.SingularError, match="mass matrix is singular"):
            somewhere.forward_dynamics([0.2, 0.0], rest, [1.0, 0.0], formulation=f.name)
        with pytest.raises(aw.SingularError, match="for state 1 of the batch"):
            somewhere.forward_dynamics([[0.2, 0.7], [0.2, 0.0]], rest, [1.0, 0.0], formulation=f.name)


BODY = {"mass": 1.0, "com": [0.1, 0.2, 0.1], "inertia": [0.1, 0.2, 0.25, 0, 0, 0]}
ROW = {"type": "revolute", "alpha": 0.3, "a": 0.1, "d": 0.1}
IDLE = {
    "massless tip": ([ROW | BODY, ROW | BODY, ROW | MASSLESS], "joint3 can move"),
    "mass on the last axis": (
        [ROW | BODY, ROW | {"mass": 1.0, "com": [0, 0, 0.1], "inertia": [0] * 6}],
        "joint2 can move",
    ),
    "nothing between two joints on a line": (
        [ROW | BODY, MASSLESS | {"a": 0.0}, ROW | BODY | {"alpha": 0, "a": 0}],
        "joint2, joint3 can move",
    ),
    "the same in a long chain": (
        [*[ROW | BODY] * 24, MASSLESS | {"a": 0.0}, ROW | BODY | {"alpha": 0, "a": 0}],
        "joint25, joint26 can move",
    ),
}


@pytest.mark.parametrize(("rows", "message"), IDLE.values(), ids=IDLE)
def test_a_matrix_that_is_singular_everywhere_is_an_error_wherever_it_is_solved_with(
    rows: list[dict], message: str
) -> None:
    """Also where rounding would make numbers of what is divided by zero; what does not solve with it goes on."""
    arm = aw.Robot.from_dh(rows, convention="modified")
    q, qd, tau = np.random.default_rng(0).uniform(-1, 1, (3, 5, arm.n))
    calls = [
        lambda: arm.forward_dynamics(q[0], qd[0], tau[0]),
        lambda: arm.forward_dynamics(q, qd, tau),
        lambda: arm.forward_dynamics(q, qd, tau, tip_wrench=np.ones(6)),
        lambda: arm.forward_dynamics(q, qd, tau, formulation="equilibrium"),
        lambda: aw.compile(arm, "forward_dynamics", target="python")(q, qd, tau),
        lambda: aw.simulate(arm, duration=0.1),
        lambda: aw.simulate(arm, lambda t, q, qd: 0 * q, duration=0.1),
        lambda: aw.simulate(arm, duration=0.1, integrator="radau"),
    ]
    if arm.n <= 24:
        calls += [
            lambda: arm.forward_dynamics_derivatives(q, qd, tau),
            lambda: aw.compile(arm, "forward_dynamics", vary=["gravity"])(q, qd, tau, np.ones(3)),
            lambda: aw.simulate_batch(arm, q0=q, duration=0.1),
            lambda: aw.export(arm, to="sympy", functions=["forward_dynamics"]),
        ]
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", aw.SlowWarning)
            with pytest.raises(aw.SingularError, match=f"{message} without moving any mass.*mass matrix is singular"):
                call()
    assert np.isfinite(arm.inverse_dynamics(q, qd, tau)).all()


def test_what_varies_may_make_a_matrix_regular() -> None:
    arm = aw.Robot.from_dh([ROW | BODY, ROW | MASSLESS], convention="modified")
    f = aw.compile(arm, "forward_dynamics", vary=["link2.mass", "link2.com", "link2.inertia"])
    body = (1.0, np.array([0.1, 0.2, 0.1]), np.array([0.1, 0.2, 0.25, 0, 0, 0]))
    whole = aw.Robot.from_dh([ROW | BODY, ROW | MASSLESS | BODY], convention="modified")
    q, qd, tau = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    close(f(q, qd, tau, *body), whole.forward_dynamics(q, qd, tau), 1e-12)
    for idle in (arm.with_payload(1.0, [0.1, 0, 0], np.eye(3)), whole):
        assert np.isfinite(idle.forward_dynamics(q, qd, tau)).all()


def test_a_tool_given_with_the_table_or_later_is_the_same_tool() -> None:
    """In every convention the tool stands after the last frame of the table."""
    tool = random_transform(np.random.default_rng(1))
    body = {"mass": 1.0, "com": [0, 0, 0.1], "inertia": [0.1, 0.1, 0.1, 0, 0, 0]}
    row = {"type": "revolute", "alpha": "pi/2", "a": 0.3, "theta": 0.0, **body}
    for convention in ("modified", "standard", "angeles", "saha"):
        letter = "b" if convention in ("angeles", "saha") else "d"
        rows = [row | {letter: 0.4}, row | {letter: 0.1, "type": "prismatic"}]
        plain = aw.Robot.from_dh(rows, convention)
        assert plain.with_tool(tool) == aw.Robot.from_dh(rows, convention, tool=tool)
        assert plain.with_tool(np.eye(4)) == plain
        assert (plain.flange == plain.tool) == (convention == "modified")


def test_a_payload_and_accepted_problems_can_be_given_with_the_table() -> None:
    arm = aw.Robot.from_dh([POINT], "modified", payload={"mass": 2.0, "com": [0, 0, 0.1]}, accept=["missing inertia"])
    assert arm == aw.Robot.from_dh([POINT], "modified", accept=["missing inertia"]).with_payload(2.0, [0, 0, 0.1])
    with pytest.raises(aw.ModelError, match="payload: missing key 'mass'"):
        aw.Robot.from_dh([POINT], "modified", payload={})
    for bad in ({"name": 3}, {"source": None}):
        with pytest.raises(aw.ModelError, match="is not a text"):
            aw.Robot.from_dh([POINT], "modified", **bad)


def test_formulations_list_what_they_are() -> None:
    listed = aw.formulations()
    assert len({(f.problem, f.name) for f in listed}) == len(listed)
    for f in listed:
        assert f.paper and f in aw.formulations(f.problem)


def test_a_robot_is_mounted_as_a_whole() -> None:
    """Its poses move with it, wherever frame 0 is; gravity stays."""
    arm = aw.load("panda").with_base([[1, 0, 0, 0.1], [0, -1, 0, 0], [0, 0, -1, 0.3], [0, 0, 0, 1]])
    T = np.array([[0, -1, 0, 1.0], [1, 0, 0, 2.0], [0, 0, 1, 0.5], [0, 0, 0, 1]])
    q = np.linspace(-1, 1, arm.n)
    close(arm.mounted(T).forward_kinematics(q), T @ arm.forward_kinematics(q), 1e-14)
    close(arm.mounted(T).gravity_torque(q), arm.gravity_torque(q), 1e-12)
    assert arm.mounted(np.eye(4)) == arm


def strided(strides: tuple[int, int], states: int = 50, n: int = 6) -> np.ndarray:
    """An array of results whose neighbouring entries lie so many bytes apart."""
    return np.lib.stride_tricks.as_strided(np.zeros(4 * states * n), (states, n), strides)


@pytest.mark.parametrize("strides", [(24, 8), (8, 16), (0, 8), (8, 0), (40, 8), (-24, 8)])
def test_an_out_that_overlaps_itself_is_refused(strides: tuple[int, int]) -> None:
    arm = aw.load("puma560")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 50, 6))
    memory = np.zeros(2000)
    out = np.lib.stride_tricks.as_strided(memory[1500:] if strides[0] < 0 else memory, (50, 6), strides)
    with pytest.raises(aw.InputError, match="several of its entries share memory"):
        aw.compile(arm, "inverse_dynamics")(q, qd, qdd, out=out)
    assert not memory.any()


def test_an_out_may_lie_in_any_other_way_and_over_its_inputs() -> None:
    arm = aw.load("puma560")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 50, 6))
    f = aw.compile(arm, "inverse_dynamics")
    expected = f(q, qd, qdd)
    for strides in ((48, 8), (96, 16), (8, 400), (56, 8), (8, 408)):
        assert np.array_equal(f(q, qd, qdd, out=strided(strides)), expected)
    three = np.lib.stride_tricks.as_strided(
        np.zeros(8), (2, 3), (24, 16)
    )  # 0 2 4 and 3 5 7: between, not upon each other
    assert np.array_equal(aw.random_robot(3, 1).gravity_torque(q[:2, :3]), gravity(q[:2, :3], three))
    room = np.zeros((51, 6))
    for begin in (0, 1):
        room[:50] = q
        assert np.array_equal(f(room[:50], qd, qdd, out=room[begin : begin + 50]), expected)


def gravity(q: np.ndarray, out: np.ndarray) -> np.ndarray:
    return aw.compile(aw.random_robot(3, 1), "gravity_torque")(q, out=out)


HIDDEN = np.ma.masked_array([0.1] * 6, mask=[0, 1, 0, 0, 0, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda arm: arm.gravity_torque(HIDDEN),
        lambda arm: arm.gravity_torque([HIDDEN, HIDDEN]),
        lambda arm: arm.inverse_dynamics([0.1] * 6, HIDDEN, [0.1] * 6),
        lambda arm: arm.inverse_dynamics(*[[0.1] * 6] * 3, tip_wrench=HIDDEN),
        lambda arm: aw.simulate(arm, q0=HIDDEN, duration=0.1),
        lambda arm: aw.simulate(arm, HIDDEN, duration=0.1),
        lambda arm: aw.simulate(arm, aw.torque.pd(HIDDEN, 5.0, 1.0), duration=0.1),
        lambda arm: aw.simulate_batch(arm, q0=[HIDDEN, HIDDEN], duration=0.1),
        lambda arm: aw.simulate_batch(arm, duration=0.1, vary={"payload.mass": HIDDEN}),
        lambda arm: arm.gravity_torque(["0.1"] * 6),
        lambda arm: aw.simulate(arm, q0=["0.1"] * 6, duration=0.1),
        lambda arm: aw.simulate(arm, qd0="0.1", duration=0.1),
        lambda arm: aw.simulate_batch(arm, q0=[["0.1"] * 6], duration=0.1),
        lambda arm: aw.simulate_batch(arm, duration=0.1, vary={"payload.mass": ["1", "2"]}),
        lambda arm: aw.simulate(arm, ["1"] * 6, duration=0.1),
    ],
)
def test_what_is_hidden_or_only_looks_like_a_number_is_refused(call) -> None:
    with pytest.raises(aw.InputError, match=r"masked entries|not numbers|is not a number"):
        call(aw.load("puma560"))
    assert aw.load("puma560").gravity_torque(np.ma.masked_array([0.1] * 6)).shape == (6,)  # nothing is hidden


def test_a_tree_prints_as_a_tree() -> None:
    arm = random_tree(7, 4, kinds=("revolute",), floating=True)
    arm = replace(arm, parents=(-1, 0, 1, 1, 3, 0, 5), tip=2, name="insect")
    text = str(arm)
    assert text.startswith("insect: 7 joints with 12 freedoms (FRRRRRR), gravity (0, 0, -9.81) m/s^2, frames\nby gamma")
    assert repr(arm) == "<Robot insect: 7 joints with 12 freedoms FRRRRRR>"
    drawn = """
base
`- link1: joint1, free
   |- link2: joint2, revolute
   |  |- link3: joint3, revolute
   |  `- link4: joint4, revolute
   |     link5: joint5, revolute
   `- link6: joint6, revolute
      link7: joint7, revolute
"""
    assert drawn in text
    assert " joint1  free q1-q7 " in text and " q8 " in text and " q13 " in text and " q14 " not in text
    assert "gamma [deg]" in text and "the tool is on link3" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_several_branches_on_the_base_print_side_by_side() -> None:
    arm = replace(random_tree(3, 4, kinds=("prismatic",)), parents=(-1, 0, -1))
    assert "base\n|- link1: joint1, prismatic\n|  link2: joint2, prismatic\n`- link3: joint3, prismatic\n" in str(arm)


def test_a_helical_joint_is_one_joint_that_follows_none() -> None:
    arm = random_tree(1, 1, kinds=("helical",))
    assert repr(arm) == "<Robot tree1_1: 1 joint H>"
    assert " 0.1 q1" in str(arm)


def test_one_bad_state_of_a_batch_does_not_cost_the_others() -> None:
    arm = aw.load("puma560")
    q, qd, tau = np.random.default_rng(0).uniform(-1, 1, (3, 5, 6))
    tau[1, 2] = np.nan
    for ask, wrench in ((arm.forward_dynamics, None), (arm.inverse_dynamics, [1.0, 0, 0, 0, 0, 0])):
        with pytest.raises(aw.InputError, match=r"\[1, 2\] is nan"):
            ask(q, qd, tau, wrench)
        result, good = ask(q, qd, tau, wrench, raises=False)
        assert good.tolist() == [True, False, True, True, True] and np.isnan(result[1]).all()
        assert np.array_equal(result[good], ask(q[good], qd[good], tau[good], wrench))
