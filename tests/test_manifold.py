"""From one position to another of robots with ball, free and planar joints: against Pinocchio, and there and back."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.graph import interpret
from armwright.graph.expression import Graph
from armwright.manifold import difference
from armwright.robot import Robot, random_tree

KINDS = ("revolute", "prismatic", "ball", "free", "planar", "helical", "universal", "cylindrical")


def robots() -> list[Robot]:
    return [random_tree(7, seed, kinds=KINDS) for seed in range(6)]


def model_of(robot: Robot) -> object:
    """The same joints for Pinocchio, which its positions depend on alone."""
    pin = pytest.importorskip("pinocchio")
    made = {"ball": pin.JointModelSpherical, "free": pin.JointModelFreeFlyer, "planar": pin.JointModelPlanar}
    model, last = pin.Model(), 0
    for row in robot.rows:
        if row.mimic is None and not (row.kind in made and row.freedom):
            kind = made.get(row.kind, pin.JointModelPZ if row.prismatic else pin.JointModelRZ)
            last = model.addJoint(last, kind(), pin.SE3.Identity(), row.name)
    assert (model.nq, model.nv) == (robot.nq, robot.n)
    return model


@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_positions_are_as_far_apart_as_for_pinocchio(robot: Robot) -> None:
    """As far as it knows: of a planar joint it takes the angle from its cosine, which loses digits near zero."""
    pin = pytest.importorskip("pinocchio")
    model, rng = model_of(robot), np.random.default_rng(1)
    for _ in range(20):
        q0, q1 = robot.unit(rng.normal(size=(2, robot.nq)))
        v = rng.normal(size=robot.n)
        assert np.allclose(robot.difference(q0, q1), pin.difference(model, q0, q1), rtol=0, atol=1e-9)
        assert np.allclose(robot.integrate(q0, v), pin.integrate(model, q0, v), rtol=0, atol=1e-13)


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-8, 1e-12, 1e-200, 0.0])
@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_there_and_back(robot: Robot, size: float) -> None:
    """However short the way is, to rounding of the positions, and of the way itself where positions have nothing."""
    rng = np.random.default_rng(2)
    q, v = robot.unit(rng.normal(size=(9, robot.nq))), size * rng.uniform(-1, 1, (9, robot.n))
    assert np.abs(robot.difference(q, robot.integrate(q, v)) - v).max() < 2e-14 * (1 + 10 * size)
    still = np.tile(robot.neutral, (9, 1))
    assert np.abs(robot.difference(still, robot.integrate(still, v)) - v).max() <= 2e-14 * size
    other = robot.unit(rng.normal(size=(9, robot.nq)))
    ends = robot.integrate(q, robot.difference(q, other))
    for ball in robot.balls:  # a quaternion and its negative are one rotation
        ends[:, ball.unit_vector] *= np.sign(np.sum(ends[:, ball.unit_vector] * other[:, ball.unit_vector], axis=1))[
            :, None
        ]
    assert np.abs(ends - other).max() < 1e-13


def test_half_a_turn_is_found() -> None:
    """The longest way of all, where cosines vanish or are minus one."""
    for kind, half in (("ball", [0, 0, 1, 0]), ("planar", [0, 0, -1, 0])):
        robot = random_tree(1, 0, kinds=(kind,))
        way = robot.difference(robot.neutral, half)
        assert np.abs(way).tolist() == [0.0, 0.0, pytest.approx(np.pi, abs=1e-15)]


def test_robots_whose_positions_are_numbers_add_and_subtract() -> None:
    arm = aw.load("puma560")
    q, v = np.random.default_rng(3).normal(size=(2, 5, 6))
    assert (arm.integrate(q, v) == q + v).all()
    assert (arm.difference(q, v) == v - q).all()


def test_a_difference_is_traced_as_it_is_computed() -> None:
    robot = random_tree(5, 2, kinds=("ball", "free", "planar", "revolute"))
    ends = robot.unit(np.random.default_rng(4).normal(size=(2, robot.nq)))
    graph = Graph()
    symbols = [[graph.input(f"{name}{i}") for i in range(robot.nq)] for name in "ab"]
    values = {str(x.key): number for row, end in zip(symbols, ends, strict=True) for x, number in zip(row, end)}  # noqa: B905
    traced = interpret.interpret(difference(robot.balls, *symbols), values, float)
    assert np.allclose(np.array(traced, float), robot.difference(*ends), rtol=0, atol=1e-14)


def test_a_quaternion_that_is_not_unit_is_told() -> None:
    robot = random_tree(2, 0, kinds=("ball",))
    with pytest.raises(InputError, match=r"q1\[1\]: the quaternion of joint1, entries 0 to 3 of q, has the length 1.1"):
        robot.difference(robot.neutral, [robot.neutral, 1.1 * robot.neutral])
    with pytest.raises(InputError, match=r"v has shape \(2,\); expected shape \(6,\)"):
        robot.integrate(robot.neutral, [0, 0])
    for wrong, message in ((np.nan, r"v\[0\] is nan"), (np.inf, r"v\[0\] is inf"), (1e200, "size 1e.200; expected")):
        with pytest.raises(aw.InputError, match=message):
            robot.integrate(robot.neutral, np.full(robot.n, wrong))
