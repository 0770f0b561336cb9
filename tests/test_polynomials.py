"""Taylor polynomials as integrators of users: compiled, with events, in batches, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import free_flight
import numpy as np
import pytest

import armwright as aw
from armwright.algebra import Array
from armwright.errors import InputError, SlowWarning
from armwright.integrate import POLYNOMIALS, Event, solve_jets
from armwright.robot import random_tree
from armwright.simulation.kernels import equations_of
from armwright.simulation.motion_programs import derivative
from armwright.simulation.motion_record import MotionRecord
from armwright.study.work_precision import RECOMMENDED, TimedMotion, recommended

ARM, START = aw.load("rr"), [0.3, 0.2]
RUBBING = ARM.map_joints(lambda joint: replace(joint, coulomb=1.0))
FLYING = random_tree(3, 1, kinds=("revolute", "ball"), floating=True)
HELD = random_tree(3, 0, kinds=("ball", "revolute"))


def error(integrator: str, step: float, **asked: object) -> float:
    run = aw.simulate(ARM, q0=START, duration=0.5, every=0.5, integrator=integrator, step=step, **asked)
    exact = aw.simulate(ARM, q0=START, duration=0.5, every=0.5, rtol=1e-13)
    return float(np.abs(run.q[-1] - exact.q[-1]).max())


@pytest.mark.parametrize("name", ["T2,1", "T3,3", "T6,5"])
def test_the_error_falls_with_the_order_of_the_velocities(name: str) -> None:
    coarse, fine = (error(name, step) for step in (0.0125, 0.00625))
    assert np.log2(coarse / fine) == pytest.approx(POLYNOMIALS[name][1], abs=0.5)


@pytest.mark.parametrize("name", RECOMMENDED)
def test_the_recommended_ones_follow_the_motion_and_balance_its_energy(name: str) -> None:
    run = aw.simulate(ARM, q0=START, duration=1.0, integrator=name, step=0.005)
    assert np.abs(run.q - aw.simulate(ARM, q0=START, duration=1.0, rtol=1e-13).q).max() < 1e-9
    assert run.audit.trustworthy and run.verify().largest < 1e-8
    assert run.statistics.evaluations == run.statistics.accepted == 200


def test_a_step_is_that_of_the_series() -> None:
    """Records that are not whole steps apart, and a motion that starts late: each step has its own length."""
    asked = {"q0": START, "duration": 0.35, "every": 0.1, "integrator": "T4,3", "step": 0.03}
    run = aw.simulate(ARM, **asked)
    program = derivative(equations_of(MotionRecord(ARM, aw.torque.Free())))
    gaps = zip(run.t[:-1], run.t[1:], (4, 4, 4, 2), strict=True)
    ends = [t for a, b, count in gaps for t in (*(a + np.arange(1, count) * ((b - a) / count)), b)]
    steps = solve_jets(program, 0.0, [*START, 0, 0, 0, 0], 0.35, orders=[4, 4, 3, 3, 3, 3], step=ends, times=run.t)
    np.testing.assert_allclose(run.q, steps.y[:, :2], rtol=0, atol=1e-14)
    np.testing.assert_allclose(aw.simulate(ARM, start=1e6, **asked).q, run.q, rtol=0, atol=1e-9)


def crossed(event: object) -> aw.Run:
    return aw.simulate(ARM, q0=START, duration=1.0, integrator="T8,8", step=0.05, events=[event])


def test_an_event_is_found_within_a_step_compiled_and_from_python() -> None:
    compiled = crossed(aw.events.position("joint1", -0.5))
    with pytest.warns(SlowWarning):
        called = crossed(Event(lambda t, y: y[0] + 0.5, name="there"))
    exact = aw.simulate(ARM, q0=START, duration=1.0, rtol=1e-13, events=[aw.events.position("joint1", -0.5)])
    for run in (compiled, called):
        assert run.t[-1] == pytest.approx(exact.t[-1], abs=1e-9) and run.q[-1, 0] == pytest.approx(-0.5, abs=1e-12)
    assert called.t[-1] == pytest.approx(compiled.t[-1], abs=1e-13)


def test_the_interpreter_and_the_compiled_loop_take_the_same_steps() -> None:
    asked = {"q0": [START], "duration": 0.06, "integrator": "T3,2", "step": 0.02, "every": 0.05}
    np.testing.assert_allclose(
        aw.simulate_batch(ARM, target="python", **asked).q, aw.simulate_batch(ARM, **asked).q, rtol=0, atol=1e-13
    )


def test_a_batch_with_gains_and_masses_of_its_own() -> None:
    masses, gains = np.array([0.0, 2.0]), np.array([[50.0] * 2, [80.0] * 2])
    law = aw.torque.pd([0.1, 0.2], gains, 5.0)
    asked = {"q0": START, "duration": 0.1}
    batch = aw.simulate_batch(ARM, law, **asked, integrator="T4,4", step=0.002, vary={"payload.mass": masses})
    for k in range(2):
        alone = aw.torque.pd([0.1, 0.2], gains[k], 5.0)
        one = aw.simulate(ARM.with_payload(masses[k]), alone, **asked, every=0.1, rtol=1e-12)
        np.testing.assert_allclose(batch.q[k, -1], one.q[-1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("robot", [FLYING, HELD], ids=["flying", "held"])
def test_quaternions_stay_unit_and_lose_no_order(robot: aw.Robot) -> None:
    asked = {"q0": free_flight.start(robot, 1)[0], "qd0": free_flight.start(robot, 1)[1], "duration": 0.2, "every": 0.2}
    run = aw.simulate(robot, **asked, integrator="T4,4", step=0.005)
    np.testing.assert_allclose(run.q, aw.simulate(robot, **asked, rtol=1e-12).q, rtol=0, atol=1e-7)
    for ball in robot.balls:
        np.testing.assert_allclose(np.linalg.norm(run.q[:, ball.unit_vector], axis=1), 1, rtol=0, atol=1e-15)


def test_a_loop_that_is_stretched_ends_a_run() -> None:
    arm = aw.load("five_bar")
    asked = {"q0": arm.neutral, "qd0": [3.0, -3.0], "duration": 2.0}
    with pytest.raises(aw.SimulationError, match="has reached the end of its range") as exact:
        aw.simulate(arm, **asked)
    with pytest.raises(aw.SimulationError, match=r"has reached the end of its range|diverges") as caught:
        aw.simulate(arm, **asked, integrator="T4,4", step=0.001)
    assert caught.value.run.t[-1] == pytest.approx(exact.value.t, abs=0.02)


def called(t: float, q: Array, qd: Array) -> Array:
    return -qd


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "T6,5 has no error estimate: give step=, such as step=0.001"),
        ({"step": 0.01, "rtol": 1e-9}, "rtol = 1e-09 has no meaning for T6,5: its steps are given"),
        ({"step": 0.01, "torque": called}, "T6,5 needs the Taylor series of the motion"),
        ({"step": 0.01, "torque": aw.torque.pd([0, 0], 5, 1).limited(2.0)}, "max, min, which has no Taylor series"),
        ({"step": 0.01, "robot": RUBBING, "smooth": 0}, "sign, which has no Taylor series"),
    ],
)
@pytest.mark.filterwarnings("ignore::armwright.errors.SlowWarning")
def test_what_they_refuse(asked: dict, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        aw.simulate(**{"robot": ARM, "duration": 0.1, "integrator": "T6,5", **asked})


def test_a_card_is_refused() -> None:
    with pytest.raises(InputError, match="T6,5 is compiled for CPUs"):
        aw.simulate_batch(ARM, duration=0.1, integrator="T6,5", step=0.01, target="cuda")


def test_they_are_timed_beside_the_others() -> None:
    lines = recommended(TimedMotion(ARM, 0.2, repeats=0))
    assert [line.name for line in lines] == list(RECOMMENDED)
    assert all(line.points[-1].error < 1e-10 for line in lines)
