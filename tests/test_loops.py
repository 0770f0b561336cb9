"""Closed loops: positions, velocities and torques of textbook mechanisms in closed form, and what is refused."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mpmath as mp
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from conftest import close
from tree_oracle import Oracle

import armwright as aw
from armwright import identify
from armwright.check import check, compare
from armwright.formulations import FORMULATIONS, Formulation
from armwright.model.records import JointModel, LinkModel
from armwright.robot import random_tree
from armwright.study.papers import grigorov2013
from armwright.trace import evaluation_strategy

DOWN = (0.0, -9.81, 0.0)
"""In the plane of the mechanisms."""

CRANK, COUPLER, ROCKER, GROUND, BAR = 0.2, 0.5, 0.4, 0.45, 0.4


def body(name: str, mass: float, x: float, y: float, inertia: float) -> LinkModel:
    return LinkModel(name, mass, (x, y, 0.0), ((0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, inertia)))


BODIES = (body("a", 1.1, 0.1, 0.02, 0.004), body("b", 2.3, 0.2, -0.03, 0.05), body("c", 1.7, 0.15, 0.01, 0.03))
BODIES += (replace(BODIES[1], name="d", mass=0.9),)


def turning(name: str, a: float, theta: float = 0.0, **drive: float) -> JointModel:
    return JointModel(name, "revolute", 0.0, a, 0.0, theta, **drive)


def four_bar(**drive: float) -> aw.Robot:
    joints = turning("crank", 0.0), turning("coupler", CRANK, **drive), turning("rocker", GROUND, 0.3, **drive)
    arm = aw.Robot("four-bar", joints, BODIES[:3], gravity=DOWN, parents=(-1, 0, -1))
    return arm.with_loop(
        ("b", "c"), ((COUPLER, 0, 0), (ROCKER, 0, 0)), name="bar", dependent=("coupler", "rocker"),
        reference={"crank": 1.0, "rocker": 1.5},
    )  # fmt: skip


def parallelogram() -> aw.Robot:
    joints = turning("crank", 0.0), turning("coupler", CRANK), turning("rocker", GROUND)
    arm = aw.Robot("parallelogram", joints, BODIES[:3], gravity=DOWN, parents=(-1, 0, -1))
    return arm.with_loop(
        ("b", "c"), ((GROUND, 0, 0), (CRANK, 0, 0)), dependent=("coupler", "rocker"),
        reference={"crank": 1.0, "coupler": -1.0, "rocker": 1.0},
    )  # fmt: skip


def slider_crank() -> aw.Robot:
    """The slider moves along x: its frame has z there, and x along z of the base."""
    slide = JointModel("slide", "prismatic", np.pi / 2, 0.0, 0.0, np.pi / 2, gamma=np.pi / 2)
    slider = LinkModel("c", 1.7, (0.0, -0.02, 0.0), BODIES[2].inertia)
    joints = turning("crank", 0.0), turning("coupler", CRANK), slide
    arm = aw.Robot("slider-crank", joints, (*BODIES[:2], slider), gravity=DOWN, parents=(-1, 0, -1))
    return arm.with_loop(
        ("b", "c"), ((COUPLER, 0, 0), (0, 0, 0)), dependent=("coupler", "slide"),
        reference={"crank": 1.0, "coupler": -1.4, "slide": 0.5},
    )  # fmt: skip


def five_bar() -> aw.Robot:
    """Two cranks, both coordinates, and two bars that meet."""
    joints = turning("left", 0.0), turning("first", CRANK), turning("right", GROUND), turning("second", CRANK)
    arm = aw.Robot("five-bar", joints, BODIES, gravity=DOWN, parents=(-1, 0, -1, 2))
    return arm.with_loop(
        ("b", "d"), ((BAR, 0, 0), (BAR, 0, 0)), dependent=("first", "second"),
        reference={"left": 2.0, "right": 1.0, "first": -1.2, "second": 1.0},
    )  # fmt: skip


def cylinder(by_length: bool) -> aw.Robot:
    """A boom that a cylinder turns: the coordinate is the angle of the boom, or the stroke of the piston."""
    joints = (
        turning("boom", 0.0),
        turning("trunnion", 0.3, np.pi / 2),
        JointModel("stroke", "prismatic", -np.pi / 2, 0.0, 0.4, 0.0),
    )
    rod = replace(BODIES[2], inertia=((0.03, 0.0, 0.0), (0.0, 0.03, 0.0), (0.0, 0.0, 0.03)))
    arm = aw.Robot("boom", joints, (*BODIES[:2], rod), gravity=DOWN, parents=(-1, -1, 1))
    dependent = ("boom", "trunnion") if by_length else ("trunnion", "stroke")
    return arm.with_loop(
        ("a", "c"),
        ((0.6, 0, 0), (0, 0, 0)),
        dependent=dependent,
        reference={"boom": 1.0, "trunnion": 0.1, "stroke": 0.1},
    )


# -------------------------------------------------------------------------------------------------- what textbooks say


def at(x: mp.mpf, y: mp.mpf, angle: mp.mpf, link: LinkModel) -> tuple[mp.mpf, ...]:
    """Centre of mass and angle of a body whose frame stands at (x, y)."""
    c, s = mp.cos(angle), mp.sin(angle)
    u, v, _ = map(mp.mpf, link.com)
    return x + c * u - s * v, y + s * u + c * v, angle


def freudenstein(a: float, b: float, c: float, d: float, q: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """Angles of coupler and rocker of an open four-bar with its ground along x."""
    a, b, c, d = map(mp.mpf, (a, b, c, d))
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    A, B, C = mp.cos(q) - k1 - k2 * mp.cos(q) + k3, -2 * mp.sin(q), k1 - (k2 + 1) * mp.cos(q) + k3
    rocker = 2 * mp.atan2(-B - mp.sqrt(B * B - 4 * A * C), 2 * A)
    x, y = d + c * mp.cos(rocker) - a * mp.cos(q), c * mp.sin(rocker) - a * mp.sin(q)
    return mp.atan2(y, x), rocker


def of_four_bar(q: mp.mpf) -> list[tuple[mp.mpf, ...]]:
    coupler, rocker = freudenstein(CRANK, COUPLER, ROCKER, GROUND, q)
    crank = mp.mpf(CRANK)
    return [
        at(0, 0, q, BODIES[0]),
        at(crank * mp.cos(q), crank * mp.sin(q), coupler, BODIES[1]),
        at(mp.mpf(GROUND), 0, rocker, BODIES[2]),
    ]


def of_parallelogram(q: mp.mpf) -> list[tuple[mp.mpf, ...]]:
    crank = mp.mpf(CRANK)
    coupler = at(crank * mp.cos(q), crank * mp.sin(q), mp.mpf(0), BODIES[1])
    return [at(0, 0, q, BODIES[0]), coupler, at(mp.mpf(GROUND), 0, q, BODIES[2])]


def of_slider_crank(q: mp.mpf) -> list[tuple[mp.mpf, ...]]:
    r, length = mp.mpf(CRANK), mp.mpf(COUPLER)
    x = r * mp.cos(q) + mp.sqrt(length**2 - (r * mp.sin(q)) ** 2)
    coupler = at(r * mp.cos(q), r * mp.sin(q), -mp.asin(r * mp.sin(q) / length), BODIES[1])
    return [at(0, 0, q, BODIES[0]), coupler, (x, mp.mpf("0.02"), mp.mpf(0))]


def of_five_bar(left: mp.mpf, right: mp.mpf) -> list[tuple[mp.mpf, ...]]:
    r, length, ground = map(mp.mpf, (CRANK, BAR, GROUND))
    p, s = (r * mp.cos(left), r * mp.sin(left)), (ground + r * mp.cos(right), r * mp.sin(right))
    middle, half = [(u + v) / 2 for u, v in zip(p, s, strict=True)], [(v - u) / 2 for u, v in zip(p, s, strict=True)]
    h = mp.sqrt(length**2 / (half[0] ** 2 + half[1] ** 2) - 1)
    x, y = middle[0] - h * half[1], middle[1] + h * half[0]
    return [
        at(0, 0, left, BODIES[0]),
        at(*p, mp.atan2(y - p[1], x - p[0]), BODIES[1]),
        at(ground, 0, right, BODIES[2]),
        at(*s, mp.atan2(y - s[1], x - s[0]), BODIES[3]),
    ]


def of_boom(q: mp.mpf) -> list[tuple[mp.mpf, ...]]:
    """By the angle of the boom; the cylinder stands at (0.3, 0) and pushes at 0.6."""
    tip = mp.mpf("0.6") * mp.cos(q) - mp.mpf("0.3"), mp.mpf("0.6") * mp.sin(q)
    angle, length = mp.atan2(tip[1], tip[0]), mp.hypot(*tip)
    trunnion = at(mp.mpf("0.3"), 0, angle - mp.pi / 2, BODIES[1])
    u, v = mp.mpf(BODIES[2].com[0]), length  # z of the rod is along the cylinder, x across it
    rod = mp.mpf("0.3") + v * mp.cos(angle) + u * mp.sin(angle), v * mp.sin(angle) - u * mp.cos(angle), angle
    return [at(0, 0, q, BODIES[0]), trunnion, rod]


def of_stroke(s: mp.mpf) -> list[tuple[mp.mpf, ...]]:
    """The law of cosines: 0.3, 0.6 and 0.4 + stroke are the sides of a triangle."""
    length = mp.mpf("0.4") + s
    return of_boom(mp.acos((mp.mpf("0.45") - length**2) / mp.mpf("0.36")))


Positions = Callable[..., list[tuple[mp.mpf, ...]]]

MECHANISMS: dict[str, tuple[Callable[[], aw.Robot], Positions, tuple[tuple[float, ...], ...]]] = {
    "four-bar": (four_bar, of_four_bar, ((0.3,), (2.5,), (-2.0,))),
    "parallelogram": (parallelogram, of_parallelogram, ((0.0,), (1.0,), (3.2,), (-2.0,))),
    "slider-crank": (slider_crank, of_slider_crank, ((0.3,), (2.5,), (-2.0,))),
    "five-bar": (five_bar, of_five_bar, ((2.0, 1.0), (1.5, 1.2), (2.4, 0.3))),
    "cylinder by angle": (lambda: cylinder(False), of_boom, ((0.7,), (2.2,))),
    "cylinder by stroke": (lambda: cylinder(True), of_stroke, ((0.05,), (0.4,))),
}


def derivative(of: Positions, q: tuple[float, ...], orders: tuple[int, ...]) -> np.ndarray:
    """Of all centres of mass and angles, each (links, 3)."""
    with mp.workdps(40):
        x = tuple(map(mp.mpf, q))
        count = len(of(*x))
        values = [
            [mp.diff(lambda *u, i=i, k=k: of(*u)[i][k], x, orders) if any(orders) else of(*x)[i][k] for k in range(3)]
            for i in range(count)
        ]
        return np.array(values, dtype=float)


def unit(n: int, *places: int) -> tuple[int, ...]:
    return tuple(places.count(i) for i in range(n))


def lagrange(
    arm: aw.Robot, of: Positions, q: tuple[float, ...], qd: np.ndarray, qdd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and torques by virtual work: the sum over all bodies of what they resist times how they move."""
    n = arm.n
    J = np.array([derivative(of, q, unit(n, i)) for i in range(n)])
    H = np.array([[derivative(of, q, unit(n, i, j)) for j in range(n)] for i in range(n)])
    acceleration = np.einsum("ilk,i->lk", J, qdd) + np.einsum("ijlk,i,j->lk", H, qd, qd) + [0.0, 9.81, 0.0]
    weight = np.array([[link.mass, link.mass, link.inertia[2][2]] for link in arm.links])
    M = np.einsum("ilk,lk,jlk->ij", J, weight, J)
    return M, np.einsum("ilk,lk,lk->i", J, weight, acceleration)


def in_plane(link: LinkModel, T: np.ndarray) -> np.ndarray:
    return np.array([*(T @ [*link.com, 1.0])[:2]])


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_in_closed_form(name: str) -> None:
    make, of, places = MECHANISMS[name]
    arm = make()
    assert arm.n == len(places[0])
    rng = np.random.default_rng(3)
    for q in places:
        qd, qdd = rng.uniform(-2, 2, (2, arm.n))
        expected = derivative(of, q, unit(arm.n))
        poses = arm.link_poses(np.array(q))
        close(np.array([in_plane(*pair) for pair in zip(arm.links, poses, strict=True)]), expected[:, :2], 1e-12)
        speeds = arm.partial_velocities(np.array(q))
        for i in range(arm.n):
            slopes = derivative(of, q, unit(arm.n, i))
            close(speeds[:, [0, 1, 5], i], slopes, 1e-12)
        M, tau = lagrange(arm, of, q, qd, qdd)
        close(arm.mass_matrix(np.array(q)), M, 1e-12)
        close(arm.inverse_dynamics(np.array(q), qd, qdd), tau, 1e-12)
        close(arm.forward_dynamics(np.array(q), qd, tau), qdd, 1e-11)


def test_a_parallelogram_is_a_coupling_and_never_singular() -> None:
    arm = parallelogram()
    assert arm.loops == ()
    assert [(f.name, f.mimic.joint, f.mimic.factor) for f in arm.followers] == [
        ("coupler", "crank", -1.0),
        ("rocker", "crank", 1.0),
    ]
    flat = arm.link_poses(np.array([0.0]))
    close(flat[1] @ [GROUND, 0, 0, 1], flat[2] @ [CRANK, 0, 0, 1], 1e-15)


# --------------------------------------------------------------------------------------------------- everything runs


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("make", [four_bar, five_bar, slider_crank])
def test_every_formulation_feels_the_loop(make: Callable[..., aw.Robot], formulation: Formulation) -> None:
    arm = make()
    q = np.array(MECHANISMS[arm.name][2])
    qd, qdd = np.random.default_rng(1).uniform(-1, 1, (2, *q.shape))
    if not formulation.solves_coupled:
        with pytest.raises(aw.InputError, match="joints that move together"):
            arm.forward_dynamics(q, qd, qdd, formulation=formulation.name)
        return
    tau = arm.inverse_dynamics(q, qd, qdd)
    name = {"formulation": formulation.name}
    if formulation.problem == "inverse_dynamics":
        close(arm.inverse_dynamics(q, qd, qdd, **name), tau, 1e-12)
    elif formulation.problem == "mass_matrix":
        close(arm.mass_matrix(q, **name), arm.mass_matrix(q), 1e-12)
    elif formulation.problem == "bias":
        close(arm.bias(q, qd, **name), arm.inverse_dynamics(q, qd, 0 * qdd), 1e-12)
    elif formulation.problem == "forward_dynamics":
        close(arm.forward_dynamics(q, qd, tau, **name), qdd, 1e-10)


@pytest.mark.parametrize("make", [lambda: four_bar(rotor_inertia=0.2, gear=1.5, viscous=0.3), five_bar])
def test_quantities_obey_their_laws(make: Callable[[], aw.Robot]) -> None:
    arm = make()
    n, h = arm.n, 1e-6
    q = np.array(MECHANISMS[arm.name][2][0])
    qd, qdd = np.random.default_rng(2).uniform(-1, 1, (2, n))
    M, tau = arm.mass_matrix(q), arm.inverse_dynamics(q, qd, qdd)
    close(arm.kinetic_energy(q, qd), 0.5 * qd @ M @ qd, 1e-13)
    close(arm.forward_dynamics(q, qd, tau), qdd, 1e-12)
    C = arm.coriolis_matrix(q, qd)
    free = arm.with_friction(viscous={row.name: 0.0 for row in arm.rows})
    close(C @ qd, free.bias(q, qd) - arm.gravity_torque(q), 1e-12)
    change = (arm.mass_matrix(q + h * qd) - arm.mass_matrix(q - h * qd)) / (2 * h)
    close(C + C.T, change, 1e-8)
    close(arm.gibbs_function(q, qd, qdd + 1) - arm.gibbs_function(q, qd, qdd - 1), 2 * free.inverse_dynamics(q, qd, qdd).sum(), 1e-11)  # fmt: skip
    for i in range(n):
        close(arm.joint_torque(i, q, qd, qdd), tau[i], 1e-12)
        slope = (arm.potential_energy(q + h * np.eye(n)[i]) - arm.potential_energy(q - h * np.eye(n)[i])) / (2 * h)
        close(slope, arm.gravity_torque(q)[i], 1e-8)
    for axes in ("world", "frame"):
        rate = (arm.jacobian(q + h * qd, "b", axes=axes) - arm.jacobian(q - h * qd, "b", axes=axes)) / (2 * h)
        close(arm.jacobian_derivative(q, qd, "b", axes=axes), rate, 1e-8)
    by_q, by_qd, inertia = arm.inverse_dynamics_derivatives(q, qd, qdd)
    close(inertia, M, 1e-12)
    for i in range(n):
        step = h * np.eye(n)[i]
        close(by_q[:, i], (arm.inverse_dynamics(q + step, qd, qdd) - arm.inverse_dynamics(q - step, qd, qdd)) / (2 * h), 1e-7)  # fmt: skip
        close(by_qd[:, i], (arm.inverse_dynamics(q, qd + step, qdd) - arm.inverse_dynamics(q, qd - step, qdd)) / (2 * h), 1e-7)  # fmt: skip
    Y = identify.regressor(arm, q, qd, qdd)
    close(Y @ identify.parameters(arm), tau, 1e-12)


@pytest.mark.parametrize("make", [four_bar, slider_crank])
def test_frames_of_a_loop_are_asked_for_by_name(make: Callable[[], aw.Robot]) -> None:
    """Jacobians are the derivatives of poses, and inverse kinematics finds the crank from where a link is."""
    arm, q, qd, h = make(), np.array([0.9]), np.array([0.7]), 1e-6
    for name in ("b", "c"):
        ahead, behind = (arm.forward_kinematics(q + sign * h * qd, name) for sign in (1, -1))
        assert np.allclose(arm.jacobian(q, name)[:3] @ qd, (ahead - behind)[:3, 3] / (2 * h), atol=1e-8)
        rate = (arm.jacobian(q + h * qd, name) - arm.jacobian(q - h * qd, name)) / (2 * h)
        assert np.allclose(arm.jacobian_derivative(q, qd, name), rate, atol=1e-8)
    assert np.allclose(arm.inverse_kinematics(arm.forward_kinematics(q, "b"), q - 0.3, frame="b"), q, atol=1e-9)
    tied = arm.with_loop(("a", "c"), ((0, 0, 0), (0, 0, 0)), dependent=())
    with pytest.raises(aw.InputError, match="would open its loop constraints"):
        tied.inverse_kinematics(np.eye(4), frame="b")
    with pytest.raises(aw.InputError, match="has loop constraints; contacts are available only for robots without"):
        tied.contact_dynamics(q, qd, qd, ["b"])


def test_a_five_bar_falls_without_losing_energy() -> None:
    run = aw.simulate(five_bar(), None, (2.0, 1.0), (0.5, -0.3), 0.15, every=0.05, rtol=1e-11)
    assert run.audit.energy_error < 1e-9


def test_a_loop_that_is_stretched_ends_a_run() -> None:
    ended = "loop '{}' of {} has reached the end of its range at t = 0.[0-9]+ s: it is stretched or folded there"
    with pytest.raises(aw.SimulationError, match=ended.format("b-d", "five-bar")):
        aw.simulate(five_bar(), None, (2.0, 1.0), (0.5, -0.3), 0.5, rtol=1e-9)


def test_a_rocker_that_cannot_turn_round_ends_a_run() -> None:
    """Its mass matrix grows without bound there, so that its crank would come to rest for ever."""
    joints = turning("crank", 0.0), turning("coupler", 0.2), turning("rocker", 0.5)
    arm = aw.Robot("rocker", joints, BODIES[:3], gravity=DOWN, parents=(-1, 0, -1)).with_loop(
        ("b", "c"), ((0.3, 0, 0), (0.35, 0, 0)), name="bar", dependent=("coupler", "rocker"),
        reference={"crank": 0.5, "rocker": 1.5},
    )  # fmt: skip
    with pytest.raises(aw.SimulationError, match="loop 'bar' of rocker has reached the end of its range") as caught:
        aw.simulate(arm, q0=[0.5], qd0=[1.0], duration=5.0)
    assert 0.1 < caught.value.t < 2.0


def test_cylinders_push_as_hard_as_virtual_work_says() -> None:
    """Grigorov's arm with its cylinders as coordinates, and as loops beside its joints."""
    arm = aw.load("grigorov")
    q, qd, qdd = np.random.default_rng(0).uniform(-0.2, 0.2, (3, 4, 5)) + [grigorov2013.VIA[0]] * 4
    close(grigorov2013.with_cylinders(arm, False).inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), 1e-12)
    stroke, lever = grigorov2013.strokes(arm, q)
    by_stroke = grigorov2013.with_cylinders(arm, True)
    x = np.column_stack([q[:, [0, 4]], stroke])
    close(by_stroke.gravity_torque(x)[:, 2:], arm.gravity_torque(q)[:, 1:4] / lever, 1e-12)
    speeds = np.column_stack([qd[:, [0, 4]], lever * qd[:, 1:4]])
    close(by_stroke.kinetic_energy(x, speeds), arm.kinetic_energy(q, qd), 1e-12)


def test_lengths_vary_and_the_loop_stays_closed() -> None:
    """The rocker stands on joint `rocker`, whose a is the length of the ground."""
    arm = four_bar()
    longer = aw.compile(arm, "link_poses", vary=["rocker.a"])
    T = longer(np.array([1.0]), 0.5)
    close(T[1] @ [COUPLER, 0, 0, 1], T[2] @ [ROCKER, 0, 0, 1], 1e-14)
    close(T[2][0, 3], 0.5, 1e-15)


@pytest.mark.parametrize(
    ("make", "name", "message"),
    [
        (
            parallelogram,
            "coupler.a",
            "coupler and rocker follow crank as in a parallelogram, whose lengths cannot vary",
        ),
        (parallelogram, "crank.a", "whose lengths cannot vary"),
        (four_bar, "coupler.d", "leads out of the plane of loop 'bar', whose joints depend, and cannot vary"),
        (four_bar, "crank.z", "leads out of the plane"),
        (slider_crank, "slide.z", "leads out of the plane"),
        (slider_crank, "slide.y", None),
        (four_bar, "rocker.y", None),
    ],
)
def test_lengths_that_would_open_a_loop_cannot_vary(
    make: Callable[[], aw.Robot], name: str, message: str | None
) -> None:
    if message is None:
        aw.compile(make(), "mass_matrix", vary=[name])
        return
    with pytest.raises(aw.InputError, match=message):
        aw.compile(make(), "mass_matrix", vary=[name])


def test_any_scalar_solves_a_loop() -> None:
    arm = four_bar()
    q, qd, qdd = 1.0, 0.7, -0.4
    exact = arm.inverse_dynamics([q], [qd], [qdd])
    with mp.workdps(40):
        mechanism = arm.mechanism(mp.mpf)
        for f in (f for f in FORMULATIONS if f.problem == "inverse_dynamics"):
            tau = f(mechanism, [mp.mpf(q)], [mp.mpf(qd)], [mp.mpf(qdd)])
            close(np.array([float(tau[0])]), exact, 1e-13)
    single = aw.compile(arm, "inverse_dynamics", dtype="float32")
    close(single([q], [qd], [qdd]), exact, 1e-4)


def test_loops_one_after_the_other() -> None:
    """The rocker of a four-bar is the crank of the next one: a palletiser's rods."""
    names = ("crank", "coupler", "rocker", "rod", "lever")
    joints = (
        *(turning("crank", 0.0), turning("coupler", CRANK), turning("rocker", GROUND)),
        *(turning("rod", ROCKER), turning("lever", 2 * GROUND)),
    )
    links = tuple(replace(BODIES[i % 3], name=name) for i, name in enumerate(names))
    arm = aw.Robot("six-bar", joints, links, gravity=DOWN, parents=(-1, 0, -1, 2, -1)).with_loop(
        ("coupler", "rocker"), ((COUPLER, 0, 0), (ROCKER, 0, 0)), dependent=("coupler", "rocker"),
        reference={"crank": 1.0, "rocker": 1.5},
    ).with_loop(
        ("rod", "lever"), ((COUPLER, 0, 0), (ROCKER, 0, 0)), dependent=("rod", "lever"),
        reference={"crank": 1.0, "rod": -1.0, "lever": 1.2},
    )  # fmt: skip
    assert arm.n == 1
    q, qd, qdd = np.array([1.0]), np.array([0.8]), np.array([-0.5])
    T = arm.link_poses(q)
    close(T[1] @ [COUPLER, 0, 0, 1], T[2] @ [ROCKER, 0, 0, 1], 1e-14)
    close(T[3] @ [COUPLER, 0, 0, 1], T[4] @ [ROCKER, 0, 0, 1], 1e-14)
    tau, h = arm.inverse_dynamics(q, qd, qdd), 1e-6
    change = (arm.mass_matrix(q + h) - arm.mass_matrix(q - h))[0] / (2 * h)
    close(tau, arm.mass_matrix(q)[0] * qdd + 0.5 * change * qd**2 + arm.gravity_torque(q), 1e-8)
    close(arm.forward_dynamics(q, qd, tau), qdd, 1e-12)


def test_a_differential_adds_up() -> None:
    free = aw.random_robot(4, seed=5, prismatic=0.0)
    arm = free.with_differential("joint4", {"joint1": 0.5, "joint3": -2.0}, offset=0.3)
    assert (arm.n, arm.followers[0].mimic.leaders) == (3, (("joint1", 0.5), ("joint3", -2.0)))
    assert "0.5 q1 - 2 q3" in str(arm)
    G = np.vstack([np.eye(3), [0.5, 0.0, -2.0]])
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 3))
    tau = free.inverse_dynamics(G @ q + [0, 0, 0, 0.3], G @ qd, G @ qdd) @ G
    close(arm.inverse_dynamics(q, qd, qdd), tau, 1e-12)
    close(arm.forward_dynamics(q, qd, tau), qdd, 1e-10)
    with pytest.raises(aw.ModelError, match="'joint4' follows other joints already"):
        arm.with_differential("joint2", {"joint4": 1.0})
    with pytest.raises(aw.ModelError, match="the leaders of 'joint2' are joint2; expected other joints"):
        arm.with_differential("joint2", {"joint2": 1.0})


# ------------------------------------------------------------------------------------------------------------ files

TOML = """
name = "four-bar"
convention = "modified"
gravity = [0.0, -9.81, 0.0]
[[link]]
name = "crank"
joint = "crank"
type = "revolute"
alpha = 0
a = 0
d = 0
mass = 1.0
com = [0.1, 0, 0]
inertia = [0.01, 0.01, 0.01, 0, 0, 0]
[[link]]
name = "coupler"
joint = "coupler"
type = "revolute"
alpha = 0
a = 0.2
d = 0
mass = 2.0
com = [0.2, 0, 0]
inertia = [0.01, 0.06, 0.05, 0, 0, 0]
[[link]]
name = "rocker"
joint = "rocker"
type = "revolute"
alpha = 0
a = 0.5
d = 0
mass = 1.0
com = [0.2, 0, 0]
inertia = [0.02, 0.05, 0.04, 0, 0, 0]
[[loop]]
name = "bar"
links = ["rocker", "base"]
at = [[0.4, 0, 0], [0.45, 0, 0]]
dependent = ["coupler", "rocker"]
reference = { crank = 1.0, coupler = "-60 deg", rocker = -1.5 }
"""


def loaded(tmp_path: Path, text: str = TOML) -> aw.Robot:
    (tmp_path / "robot.toml").write_text(text)
    return aw.load(tmp_path / "robot.toml")


def test_a_loop_in_a_file(tmp_path: Path) -> None:
    arm = loaded(tmp_path)
    assert (arm.n, arm.loops[0].name, arm.loops[0].dependent) == (1, "bar", ("coupler", "rocker"))
    close(arm.link_poses(np.array([0.7]))[2] @ [0.4, 0, 0, 1], [0.45, 0, 0, 1], 1e-14)
    (tmp_path / "again.toml").write_text(arm.to_toml())
    assert aw.load(tmp_path / "again.toml") == arm
    coupled = aw.random_robot(3, seed=1).with_differential("joint3", {"joint1": 1.0, "joint2": 0.5}, 0.1)
    (tmp_path / "other.toml").write_text(coupled.to_toml())
    assert aw.Robot.from_toml(tmp_path / "other.toml").followers == coupled.followers


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ('"rocker", "base"', '"rokker", "base"', r"rokker.*rocker"),
        ('dependent = ["coupler", "rocker"]', 'dependent = ["coupler", "wheel"]', r"'wheel'.*coupler"),
        ('links = ["rocker", "base"]\nat = [[0.4, 0, 0]', 'links = ["coupler", "base"]\nat = [[0.4, 0, 0]', "'rocker', which is not in it"),
        ("[0.45, 0, 0]", "[4.5, 0, 0]", r"cannot be closed with crank = 1: its ends stay .* m apart"),
        ('name = "bar"', 'kind = "weld"', "a weld fixes three freedoms in a plane.*too many"),
        ('["coupler", "rocker"]', '["crank", "coupler", "rocker"]', "a planar loop determines two"),
        ('["coupler", "rocker"]', '["coupler"]', "a planar loop determines two"),
        ("a = 0.5\n", "a = 0.5\ntheta = 0.1\n", None),
        ("alpha = 0\na = 0.5", "alpha = 0.2\na = 0.5", "rocker does not move in the plane"),
        ("at = [[0.4, 0, 0], [0.45, 0, 0]]", "at = [0.4]", "expected a point, a transform or the name of a frame"),
        ('name = "bar"', 'kind = "knot"', "'knot'"),
        ("reference = {", "refrence = {", "did you mean 'reference'"),
        ("crank = 1.0", "krank = 1.0", r"krank.*crank"),
    ],
)  # fmt: skip
def test_what_is_no_loop_is_told(wrong: str, right: str, message: str | None, tmp_path: Path) -> None:
    assert wrong in TOML
    text = TOML.replace(wrong, right)
    if message is None:
        assert loaded(tmp_path, text).n == 1
        return
    with pytest.raises(aw.errors.ArmwrightError, match=message):
        loaded(tmp_path, text)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda arm: arm.with_loop(("a", "a"), dependent=()), aw.ModelError, r"links = \['a', 'a'\] are one body"),
        (lambda arm: arm.with_loop(("base", "base"), dependent=()), aw.ModelError, "are one body, which no loop can connect"),
        (
            lambda arm: arm.with_loop(("b", "c"), dependent=(), reference={"nope": 1}),
            aw.UnknownNameError,
            r"joint of four-bar in the reference of loop 'b-c' 'nope'\..* Known: crank, coupler, rocker",
        ),
        (lambda arm: arm.with_loop(("b", "c"), ["b", "a"]), aw.ModelError, "frame 'a' is not on the link"),
        (lambda arm: arm.with_loop(("b", "c"), ["b", "x"]), aw.UnknownNameError, r"frame of four-bar: 'x'\. Known: a, b"),
        (lambda arm: arm.with_differential("rocker", {"crank": "x"}), aw.InputError, "factor of 'crank' is 'x'; expected"),
        (lambda arm: arm.with_differential("rocker", {"crank": np.nan}), aw.InputError, "factor of 'crank' is nan"),
        (lambda arm: arm.with_differential("rocker", {"crank": 1}, "a"), aw.InputError, "offset is 'a'; expected a number"),
        (lambda arm: arm.with_differential("rocker", ["crank"]), aw.InputError, "expected numbers by the names of joints"),
    ],
)  # fmt: skip
def test_what_cannot_be_held_together_is_told(
    call: Callable[[aw.Robot], object], error: type[Exception], message: str
) -> None:
    joints = turning("crank", 0.0), turning("coupler", CRANK), turning("rocker", GROUND)
    with pytest.raises(error, match=message):
        call(aw.Robot("four-bar", joints, BODIES[:3], gravity=DOWN, parents=(-1, 0, -1)))


def test_links_name_the_frames_a_loop_holds() -> None:
    arm = cut_four_bar().with_loop(("b", "c"), ["b", "c"], dependent=(), name="again")
    assert arm.loops[1].poses == (at_x(0.0), at_x(0.0))


def test_frames_of_a_loop_are_points_or_transforms_as_lists_or_arrays() -> None:
    """All of these say the same loop: the bodies of a four-bar meet in a point."""
    joints = turning("crank", 0.0), turning("coupler", CRANK), turning("rocker", GROUND, 0.3)
    open_chain = aw.Robot("four-bar", joints, BODIES[:3], gravity=DOWN, parents=(-1, 0, -1))
    ends = np.eye(4), np.eye(4)
    for T, x in zip(ends, (COUPLER, ROCKER), strict=True):
        T[0, 3] = x
    asked = {"name": "bar", "dependent": ("coupler", "rocker"), "reference": {"crank": 1.0, "rocker": 1.5}}
    for at in (
        ends,
        np.array(ends),
        [T.tolist() for T in ends],
        [T[:3, 3] for T in ends],
        [(*T[:3, 3], 0, 0, 0, 1) for T in ends],
    ):
        assert open_chain.with_loop(["b", "c"], at=at, **asked) == four_bar()


def test_passive_joints_are_dependent_by_default(tmp_path: Path) -> None:
    text = TOML.replace('dependent = ["coupler", "rocker"]\n', "").replace("mass = 2.0", "max_torque = 0\nmass = 2.0")
    text = text.replace("d = 0\nmass = 1.0\ncom = [0.2", "d = 0\nmax_torque = 0\nmass = 1.0\ncom = [0.2")
    assert loaded(tmp_path, text).loops[0].dependent == ("coupler", "rocker")


def test_a_loop_that_cannot_close_at_a_position_is_told() -> None:
    arm = five_bar()
    with pytest.raises(aw.InputError, match=r"loop 'b-d' of five-bar cannot close: .* q = \[3.142, 0\]"):
        arm.inverse_dynamics([np.pi, 0.0], [0, 0], [0, 0])
    q = np.array([[2.0, 1.0], [np.pi, 0.0]])
    with pytest.raises(aw.InputError, match="cannot close for state 1 of the batch"):
        arm.forward_dynamics(q, 0 * q, 0 * q)
    longer = aw.compile(four_bar(), "inverse_dynamics", vary=["coupler.a", "gravity"])
    with pytest.raises(
        aw.InputError, match=r"loop 'bar' of four-bar cannot close: .* q = \[1\], coupler.a = 9; expected"
    ):
        longer([1.0], [0.0], [0.0], 9.0, [0, -9.81, 0])


# ------------------------------------------------------------------------------------------------ loops held by forces


def cut_four_bar(kind: str = "point", bent: bool = False) -> aw.Robot:
    """The four-bar with all its joints and a loop that forces hold: three equations of which two are enough.

    `bent` adds a ball to it, so that a weld in space closes it as the point did; a weld has then three too many.
    """
    joints = turning("crank", 0.0), turning("coupler", CRANK, max_torque=0.0), turning("rocker", GROUND, 0.3, max_torque=0.0)  # fmt: skip
    arm = aw.Robot("cut four-bar", joints, BODIES[:3], gravity=DOWN, parents=(-1, 0, -1))
    if kind == "point":
        return arm.with_loop(("b", "c"), ((COUPLER, 0, 0), (ROCKER, 0, 0)), dependent=(), name="bar")
    end = turning("pin", COUPLER, max_torque=0.0)
    light = LinkModel("pin", 0.2, (0.0, 0.0, 0.0), ((1e-3, 0.0, 0.0), (0.0, 1e-3, 0.0), (0.0, 0.0, 1e-3)))
    arm = replace(arm, joints=(*joints, end), links=(*BODIES[:3], light), parents=(-1, 0, -1, 1), tip=None)
    return arm.with_loop(("pin", "c"), ((0, 0, 0), (ROCKER, 0, 0)), kind="weld", dependent=(), name="bar")


def of_tree(arm: aw.Robot, q: float, qd: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of all joints of the cut four-bar, by closed evaluation_strategy."""
    coupler, rocker = map(float, freudenstein(CRANK, COUPLER, ROCKER, GROUND, mp.mpf(q)))
    at = [q, coupler - q, rocker - 0.3, rocker - coupler][: arm.n]
    return arm.closed(at, [qd, 0.0, 0.0, 0.0][: arm.n])


@pytest.mark.parametrize("kind", ["point", "weld"])
def test_forces_hold_what_the_closed_form_has(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redundant loop in all formulations, compiled or as they are written; accelerations, torques and forces."""
    tree, arm = cut_four_bar(kind), four_bar()
    if kind == "weld":
        arm = replace(arm, links=(*BODIES[:2], BODIES[2]))
    q, qd = of_tree(tree, 1.0, 0.7)
    assert np.abs(tree.loop_errors(q)).max() < 1e-15
    ratio = qd / qd[0]
    small = np.array([1.0]), qd[:1]
    tau = np.array([2.0, *[0.0] * (tree.n - 1)])
    qdd = tree.forward_dynamics(q, qd, tau)
    if kind == "point":
        close(qd[0] * ratio[:1], small[1], 1e-14)
        close(qdd[:1], arm.forward_dynamics(*small, tau[:1]), 1e-11)
    back = tree.inverse_dynamics(q, qd, qdd)
    close(back, tau, 1e-9)
    f = tree.constraint_forces(q, qd, tau)
    J = aw.compile(tree, "loop_jacobian")(q)[0]
    T = tree.link_poses(q)[3 if kind == "weld" else 1]
    world = np.concatenate([T[:3, :3] @ f[0, :3], T[:3, :3] @ f[0, 3:]])
    close(tree.mass_matrix(q) @ qdd + tree.bias(q, qd), tau + J.T @ world, 1e-10)
    if kind == "weld":
        monkeypatch.setattr(evaluation_strategy, "MAX_UNROLLED_JOINTS", 0)
    for method in aw.formulations("forward_dynamics"):
        if not method.serial:
            close(tree.forward_dynamics(q, qd, tau, formulation=method.name), qdd, 1e-9)


def test_accelerations_that_open_a_loop_become_the_nearest_that_do_not() -> None:
    """By Gauss's principle: what is added is M^-1 J^T f; and what joints without a motor would have to do is seen."""
    arm = cut_four_bar()
    q, qd = of_tree(arm, 1.0, 0.7)
    wanted = np.array([1.0, 2.0, -3.0])
    got = arm.forward_dynamics(q, qd, arm.inverse_dynamics(q, qd, wanted))
    assert np.abs(got - wanted).max() > 1.0
    J = aw.compile(arm, "loop_jacobian")(q)[0]
    added = arm.mass_matrix(q) @ (got - wanted)
    close(J.T @ np.linalg.pinv(J.T, rcond=1e-9) @ added, added, 1e-9)
    still = arm.map_joints(lambda joint: replace(joint, max_torque=0.0))
    close(still.forward_dynamics(q, qd, still.inverse_dynamics(q, qd, got)), got, 1e-9)
    assert np.abs(still.inverse_dynamics(q, qd, got)).max() > 0.1


@pytest.mark.parametrize("kind", ["point", "weld"])
def test_loops_do_not_drift(kind: str) -> None:
    arm = cut_four_bar(kind)
    q, qd = of_tree(arm, 1.0, 0.7)
    run = aw.simulate(arm, None, q, qd, 10.0, every=0.05, rtol=1e-10)
    assert run.audit.loop_errors is not None
    assert run.audit.loop_errors.max() < 1e-10
    assert "loops are open by" in str(run.audit)
    assert run.audit.energy_error < 1e-8
    with pytest.raises(aw.InputError, match=r"are open by .* at q0; expected a closed start"):
        aw.simulate(arm, None, q + 0.1, qd, 1.0)
    with pytest.raises(aw.UnreachableError, match="cannot be closed near"):
        replace(arm, loops=(replace(arm.loops[0], poses=(arm.loops[0].poses[0], at_x(9.0))),)).closed(q)


def misfit(off: float) -> aw.Robot:
    """A four-bar whose rocker is beside the plane of the others, as a rounded length in a file puts it."""
    arm = cut_four_bar()
    one, two = arm.loops[0].poses
    aside = tuple((*row[:3], row[3] + (off if k == 2 else 0.0)) for k, row in enumerate(two))
    return replace(arm, loops=(replace(arm.loops[0], poses=(one, aside)),))


def test_loops_that_cannot_close_are_open_the_least() -> None:
    """Where a loop is open across its plane, that is all that is left; it moves as if it were closed."""
    arm, whole = misfit(2e-4), cut_four_bar()
    q, qd = of_tree(whole, 1.0, 0.7)
    with pytest.warns(aw.ModelWarning, match=r"'bar' has a gap of 0.0002 m or rad at the nearest, which is returned"):
        at, speed = arm.closed(q + np.array([0.01, -0.02, 0.03]), qd)
    assert np.abs(arm.loop_errors(at)).max() == pytest.approx(2e-4, rel=1e-9)
    close(at, whole.closed(q + np.array([0.01, -0.02, 0.03]))[0], 1e-6)
    assert np.abs(whole.loop_errors(at)).max() < 1e-6
    run = aw.simulate(arm, None, at, speed, 0.2, every=0.1)
    assert run.audit.loop_errors is not None
    assert run.audit.loop_errors == pytest.approx(2e-4, rel=1e-3)
    assert "loops are open by 2.0e-04" in str(run.audit) and not any("open" in str(doubt) for doubt in run.audit.doubts)
    close(run.q[-1], aw.simulate(whole, None, *whole.closed(at, speed), 0.2, every=0.1).q[-1], 1e-5)


def test_one_tolerance_says_what_is_closed() -> None:
    """Half a micrometre open is closed, for `closed` and for a simulation; ten are not, unless it is the nearest."""
    arm, q = cut_four_bar(), of_tree(cut_four_bar(), 1.0, 0.7)[0]
    aw.simulate(arm, None, q + np.array([0.0, 5e-7, 0.0]), duration=0.01)
    with pytest.raises(aw.InputError, match="are open by"):
        aw.simulate(arm, None, q + np.array([0.0, 1e-5, 0.0]), duration=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        misfit(5e-7).closed(q)
    with pytest.raises(aw.UnreachableError, match=r"'bar' has a gap of 0.05 m or rad"):
        misfit(0.05).closed(q)


def welded() -> aw.Robot:
    """A body that flies, welded to one that turns."""
    same = {"mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.01, 0.02, 0.015, 0, 0, 0], "parent": "base"}
    rows = [
        {"name": "a", "type": "free", **same},
        {"name": "b", "type": "revolute", "alpha": 0, "a": 0, "d": 0, **same},
    ]
    return aw.Robot.from_dh(rows, "modified", name="welded").with_loop(("a", "b"), kind="weld", dependent=())


@pytest.mark.parametrize("angle", [1e-9, 0.5, 2.0, np.pi - 1e-6, np.pi, 4.0])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (1, -1, 0), (1, 1, 1), (0.3, -0.5, 0.8)])
def test_a_weld_that_is_turned_is_open(angle: float, axis: tuple[float, ...]) -> None:
    """Half a turn is the most; there the axis may point either way."""
    arm, unit = welded(), np.array(axis) / np.linalg.norm(axis)
    q = np.array([0, 0, 0, *np.sin(angle / 2) * unit, np.cos(angle / 2), 0.0])
    expected = 2 * np.sin(angle / 2) * unit * (1 if angle <= np.pi else -1)
    got = arm.loop_errors(q)[0, 3:]
    assert min(np.abs(got - x).max() for x in (expected, -expected if angle == np.pi else expected)) < 1e-14
    assert np.abs(arm.loop_errors(arm.closed(q)[0])).max() < 1e-10
    if angle > 1e-3:
        with pytest.raises(aw.InputError, match=r"are open by .* at q0; expected a closed start"):
            aw.simulate(arm, q0=q, duration=0.1)


def at_x(x: float) -> tuple[tuple[float, ...], ...]:
    return (1.0, 0.0, 0.0, x), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)


def test_derivatives_of_held_loops() -> None:
    arm = cut_four_bar()
    q, qd = of_tree(arm, 1.0, 0.7)
    tau, h = np.array([2.0, 0.1, -0.3]), 1e-6
    by_q, by_qd, by_tau = arm.forward_dynamics_derivatives(q, qd, tau)
    for i in range(arm.n):
        step = h * np.eye(arm.n)[i]
        close(by_q[:, i], (arm.forward_dynamics(q + step, qd, tau) - arm.forward_dynamics(q - step, qd, tau)) / (2 * h), 1e-6)  # fmt: skip
        close(by_qd[:, i], (arm.forward_dynamics(q, qd + step, tau) - arm.forward_dynamics(q, qd - step, tau)) / (2 * h), 1e-6)  # fmt: skip
        close(by_tau[:, i], (arm.forward_dynamics(q, qd, tau + step) - arm.forward_dynamics(q, qd, tau - step)) / (2 * h), 1e-6)  # fmt: skip


def test_robots_with_loops_are_compared_and_raise_no_alarm() -> None:
    for name in ("five_bar", "palletiser"):
        arm = aw.load(name)
        assert compare(arm, arm).same
    other = tuple(replace(f, mimic=replace(f.mimic, offset=0.1)) if f.name == "elbow" else f for f in arm.followers)
    texts = [d.text for d in compare(arm, replace(arm, followers=other)).differences if d.kind == "coupling"]
    assert texts == ["it is at 1 lever -1 shoulder +0 here, it is at 1 lever -1 shoulder +0.1 there"]
    assert not [text for text in aw.problems(cut_four_bar()) if "could never move" in text]


@pytest.mark.parametrize("kind", ["point", "weld"])
def test_loops_held_by_forces_are_proved_where_they_are_closed(kind: str, tmp_path: Path) -> None:
    """And compared as a tree: another program knows nothing of the loop."""
    cut_four_bar(kind).to_toml(tmp_path / "bar.toml")
    report = check(
        tmp_path / "bar.toml", peers={"Oracle": lambda arm, *state: aw.compile(arm, "inverse_dynamics")(*state)}
    )
    assert report.ok, [str(finding) for finding in report.findings]
    assert len(report.proofs) == 7 and all(proof.holds for proof in report.proofs)
    assert "of the tree without its loops" in report.proofs[-1].text


def test_a_robot_without_held_loops_has_no_forces_of_them() -> None:
    with pytest.raises(
        aw.InputError, match="constraint_forces is about loops closed by forces, and this robot has none"
    ):
        aw.load("puma560").constraint_forces(*np.zeros((3, 6)))
    with pytest.raises(
        aw.InputError, match=r"dependent = \[\] in its \[\[loop\]\], or with_loop\(..., dependent=\[\]\)"
    ):
        aw.load("five_bar").constraint_forces(*np.zeros((3, 2)))


def test_loops_are_printed_with_where_they_meet_and_what_closes_them() -> None:
    text = " ".join(str(aw.load("five_bar")).split())
    meet = "loop meeting: left_bar at (0.4, 0, 0) m meets right_bar at (0.4, 0, 0) m"
    assert f"{meet}; embedded: left_elbow and right_elbow depend on it" in text
    assert "; held by forces" in " ".join(str(cut_four_bar()).split())
    assert " is welded to " in " ".join(str(cut_four_bar("weld")).split())
    assert repr(aw.load("five_bar").rows[1].mimic) == "Mimic(loop='meeting', place=1)"


def tied(seed: int, kind: str, floating: bool) -> tuple[aw.Robot, np.ndarray, np.ndarray]:
    """A random tree held to the ground by its last link, and by two links of it to each other, and a closed state."""
    tree = random_tree(5, seed, floating=floating)
    rng = np.random.default_rng(seed)
    q = tree.unit(rng.uniform(-1, 1, tree.nq))
    T, base = tree.link_poses(q), np.asarray(tree.base)
    last = np.linalg.inv(base) @ T[-1] @ np.asarray(at_x(0.2))
    names = [link.name for link in tree.links]
    arm = tree.with_loop((names[-1], "base"), (at_x(0.2), last.tolist()), kind=kind, dependent=(), name="foot")
    between = np.linalg.inv(T[1]) @ T[3]
    arm = arm.with_loop((names[1], names[3]), (between.tolist(), at_x(0.0)), kind="point", dependent=(), name="bar")
    return arm, *arm.closed(q, rng.uniform(-1, 1, arm.n))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("seed", "floating", "kind"), [(1, True, "point"), (1, True, "weld"), (2, True, "point"), (4, False, "weld")]
)
def test_pinocchio_holds_loops_alike(seed: int, floating: bool, kind: str) -> None:
    arm, q, qd = tied(seed, kind, floating)
    tau = np.random.default_rng(seed).uniform(-5, 5, arm.n)
    oracle = Oracle(arm)
    model, data = oracle.model, oracle.data
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in arm.loops:
        type_ = pin.ContactType.CONTACT_6D if loop.weld else pin.ContactType.CONTACT_3D
        sides = []
        for link, pose in zip(loop.links, loop.poses, strict=True):
            joint, there = oracle.links[link] if link >= 0 else (0, pin.SE3(np.asarray(arm.base)))
            sides += [joint, there * pin.SE3(np.asarray(pose))]
        models.append(pin.RigidConstraintModel(type_, model, *sides, pin.ReferenceFrame.LOCAL))
        datas.append(models[-1].createData())
    pin.initConstraintDynamics(model, data, models, datas)
    expected = pin.constraintDynamics(model, data, q, qd, tau, models, datas, pin.ProximalSettings(1e-15, 1e-10, 50))
    close(arm.forward_dynamics(q, qd, tau, formulation="composite_body"), expected, 1e-9)
    J = aw.compile(arm, "loop_jacobian")(q).reshape(-1, arm.n)
    singular = np.linalg.svd(J, compute_uv=False)
    if singular[sum(6 if loop.weld else 3 for loop in arm.loops) - 1] > 1e-3 * singular[0]:  # else there are others
        forces = np.array([data.contact_force.vector for data in datas])
        close(arm.constraint_forces(q, qd, tau), forces, 1e-7)


@pytest.mark.parametrize("kind", ["point", "weld"])
def test_mujoco_holds_loops_alike_and_they_are_read_back(kind: str, tmp_path: Path) -> None:
    """At rest: by MuJoCo's matrices exactly, and as nearly as it makes its constraints hard by what it computes."""
    arm = cut_four_bar(kind).with_tip("c").with_gravity((0.3, -9.0, 0.2))
    q, _ = of_tree(arm, 1.0, 0.0)
    hard = 'solref="0.002 1" solimp="0.9999 0.9999 0.001" '
    text = arm.to_mjcf().replace("site1=", f"{hard}site1=")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    there = [int(model.joint(joint.name).dofadr[0]) for joint in arm.joints]  # MuJoCo goes branch by branch
    data.qpos[there], data.qfrc_applied[0] = q, 2.0
    mujoco.mj_forward(model, data)
    M, J = np.zeros((arm.n, arm.n)), data.efc_J.reshape(-1, arm.n)
    mujoco.mj_fullM(model, data, M)
    close(arm.mass_matrix(q), M[np.ix_(there, there)], 1e-9)
    free = np.linalg.solve(M, data.qfrc_applied - data.qfrc_bias)
    back = np.linalg.solve(M, J.T)
    exact = free - back @ np.linalg.pinv(J @ back, rcond=1e-9) @ (J @ free)
    got = arm.forward_dynamics(q, 0 * q, data.qfrc_applied[there])
    close(got, exact[there], 1e-9)
    close(got, data.qacc[there], 2e-3)
    (tmp_path / "robot.xml").write_text(text)
    again = aw.load(tmp_path / "robot.xml")
    assert [(loop.name, loop.weld) for loop in again.loops] == [("bar", kind == "weld")]
    close(again.forward_dynamics(data.qpos, 0 * q, data.qfrc_applied)[there], got, 1e-9)


BODIES_MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a"><joint name="a" axis="0 0 1"/><inertial mass="1" pos="0.1 0 0" diaginertia="0.01 0.02 0.02"/>
<body name="b" pos="0.2 0 0"><joint name="b" axis="0 0 1" pos="0.01 0 0"/>
<inertial mass="2" pos="0.1 0 0" diaginertia="0.01 0.03 0.03"/></body></body>
<body name="c" pos="0.4 0 0"><joint name="c" axis="0 0 1"/>
<inertial mass="1" pos="0.1 0 0" diaginertia="0.01 0.02 0.02"/></body>
</worldbody><equality>{}</equality></mujoco>"""


@pytest.mark.parametrize(
    "equation",
    [
        '<connect body1="b" body2="c" anchor="0.15 0.02 0"/>',
        '<weld body1="b" body2="c" anchor="0.15 0.02 0"/>',
        '<weld body1="b" relpose="0.1 0.2 0 0.9689124 0 0 0.247404" body2="c"/>',
        '<weld body1="b" relpose="0.1 0.2 0 0.9689124 0 0 0.247404" body2="c" torquescale="0"/>',
        '<connect body1="b" anchor="0.15 0.02 0"/>',
        '<connect body1="b" body2="c" anchor="0.15 0.02 0" active="false"/>',
    ],
)
def test_mujoco_measures_the_same_errors(equation: str, tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(BODIES_MJCF.format(equation))
    arm = aw.load(tmp_path / "robot.xml")
    if "active" in equation:
        assert arm.loops == ()
        return
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = q = np.array([0.2, -0.3, 0.4])
    mujoco.mj_forward(model, data)
    apart = arm.loop_errors(q)[0]
    close(np.linalg.norm(apart[:3]), np.linalg.norm(data.efc_pos[:3]), 1e-9)
    assert arm.loops[0].weld == (equation.startswith("<weld") and "torquescale" not in equation)
    if arm.loops[0].weld:  # MuJoCo has half-angle sines, times the torque scale
        assert (np.abs(apart[3:]).max() > 1e-3) == (np.abs(data.efc_pos[3:6]).max() > 1e-3)


def test_what_cannot_be_written_is_told() -> None:
    with pytest.raises(aw.ModelError, match=r"URDF has no place for .* write it as TOML \(to_toml\) or MJCF"):
        cut_four_bar().to_urdf()
    with pytest.raises(aw.ModelError, match=r"URDF has no place for 'rod'.* TOML \(to_toml\); MJCF has none either"):
        aw.load("palletiser").to_urdf()
    with pytest.raises(aw.ModelError, match=r"follows several others.* write it as TOML \(to_toml\)"):
        aw.random_robot(3, seed=1).with_differential("joint3", {"joint1": 1.0, "joint2": 0.5}).to_mjcf()
