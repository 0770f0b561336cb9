"""Noise of the torques, drawn by counter and held for a while: the same in whichever way rollouts are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from on_cpu import needs_compiler

import armwright as aw
from armwright.algebra import dot
from armwright.backends.interface import BACKENDS, BackendLoader
from armwright.errors import InputError
from armwright.simulation.rollouts import Rollouts
from armwright.simulation.sample_and_hold import SamplingInstants

RR = aw.load("rr")
HELD = aw.torque.pd([0.5, -0.3], kp=20, kd=2)
NOISE = aw.torque.noise(aw.draws(3).normal(0, [0.5, 0.2]), hold=0.02)
LAW = HELD + NOISE
SEEN = ("t", "q", "qd", "tau", "qdd", "work", "losses", "accepted", "rejected", "reached", "ended")


def wheel(inertia: float = 2.0) -> aw.Robot:
    """A joint that turns freely about its axis."""
    row = {"type": "revolute", "a": 0.0, "alpha": 0.0, "d": 0.0, "mass": 1.0, "com": [0, 0, 0]}
    return aw.Robot.from_dh([{**row, "inertia": [1.0, 1.0, inertia, 0, 0, 0]}], "modified", gravity=(0, 0, 0))


def alike(one: aw.BatchRun, other: aw.BatchRun, within: float = 0.0) -> None:
    for name in SEEN:
        got, expected = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(got, expected, rtol=within, atol=within, err_msg=name)
    for name, values in other.measured.items():
        np.testing.assert_allclose(one.measured[name], values, rtol=1e3 * within, atol=1e3 * within, err_msg=name)


@pytest.mark.parametrize("hold", [0.01, 0.025, 0.03])
def test_a_free_joint_has_the_speed_that_its_torques_have_given_it(hold: float) -> None:
    """Under torques that are constant for a while velocities are sums, whether records and steps fit in or not."""
    joint, drawn = wheel(), aw.draws(1).normal(0.5, 2.0)
    run = aw.simulate_batch(joint, aw.torque.noise(drawn, hold), rollouts=500, duration=0.3, every=0.03, step=0.01)
    (column,) = aw.torque.noise(drawn, hold).sized(1).now
    torques = column.at(np.arange(500)[:, None], np.arange(31)[None, :])
    ends = np.minimum(hold * np.arange(32), run.t[:, None])
    given = np.diff(ends, axis=1) @ torques.T / 2.0
    np.testing.assert_allclose(run.qd[..., 0], given.T, rtol=0, atol=1e-14)
    now = np.floor(run.t / hold + 1e-9).astype(int)
    np.testing.assert_array_equal(run.tau[..., 0], torques[:, now])
    np.testing.assert_array_equal(run.qdd[..., 0], torques[:, now] / 2.0)
    kinetic = 0.5 * 2.0 * run.qd[..., 0] ** 2
    np.testing.assert_allclose(run.work, kinetic, rtol=1e-12, atol=1e-14)


def test_it_has_the_distribution_it_claims_and_no_memory() -> None:
    """The velocity of a free joint has the variance n hold^2 sigma^2 / I^2 after n intervals."""
    law = aw.torque.noise(aw.draws(7).normal(0, 3.0), hold=0.01)
    run = aw.simulate_batch(wheel(), law, rollouts=4000, duration=0.2, every=0.01, step=0.01)
    tau, count = run.tau[:, :-1, 0], 4000 * 20
    assert abs(tau.mean()) < 4 * 3 / np.sqrt(count) and abs(tau.std() - 3) < 4 * 3 / np.sqrt(2 * count)
    together = np.corrcoef(tau.T) - np.eye(20)
    assert np.abs(together).max() < 5 / np.sqrt(4000)
    expected = np.arange(21) * (0.01 * 3 / 2) ** 2
    np.testing.assert_allclose(run.qd[..., 0].var(axis=0), expected, rtol=5 * np.sqrt(2 / 4000))


METHODS = [{"step": 0.01}, {"step": 0.003}, {"integrator": "rkdp54"}]
OTHERS = ["python", pytest.param("text", marks=needs_compiler)]


@pytest.mark.parametrize("how", METHODS, ids=["fixed", "odd", "chosen"])
@pytest.mark.parametrize("target", OTHERS)
def test_every_target_draws_the_same(target: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS.built_in, "text", BackendLoader("text", "rollouts_on_cpu:BACKEND"))
    options = {
        "q0": [[0, 0], [0.1, 0.2], [0.05, 0]], "start": [0.0, 0.31, 0.1], "duration": 0.1, "every": 0.03,
        "measure": ["peak_torque", "energy"], "keep": True, "events": [aw.events.position("joint1", 0.045)], **how,
    }  # fmt: skip
    meant, run = (aw.simulate_batch(RR, LAW, target=chosen, **options) for chosen in ("cpu", target))
    alike(run, meant, within=1e-11)
    assert 0 < (run.ended >= 0).sum() < 3


@needs_compiler
def test_parts_have_the_noise_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS.built_in, "text", BackendLoader("text", "rollouts_on_cpu:BACKEND"))
    options = {"q0": aw.draws(1).uniform(-1, 1), "start": np.arange(7.0), "duration": 0.05, "every": 0.05}
    whole = aw.simulate_batch(RR, LAW, rollouts=7, target="text", **options)
    monkeypatch.setattr("rollouts_on_cpu.Travelling.room", 3)
    alike(aw.simulate_batch(RR, LAW, rollouts=7, target="text", **options), whole)
    del options["start"]
    whole = aw.simulate_batch(RR, LAW, rollouts=9, dtype="float32", **options)
    few = aw.simulate_batch(RR, LAW, rollouts=2, dtype="float32", **options)
    for name in ("q", "qd", "tau"):
        np.testing.assert_array_equal(getattr(few, name), getattr(whole, name)[:2], err_msg=name)


def test_a_rollout_that_ends_changes_no_other_and_measures_change_nothing() -> None:
    options = {"q0": aw.draws(1).normal(0, 0.05), "rollouts": 6, "duration": 0.2, "every": 0.05, "step": 0.01}
    free = aw.simulate_batch(RR, LAW, **options)
    ended = aw.simulate_batch(RR, LAW, events=[aw.events.position("joint1", 0.01)], **options)
    on = ended.ended < 0
    assert 0 < on.sum() < 6
    np.testing.assert_array_equal(ended.q[on], free.q[on])
    measured = aw.simulate_batch(RR, LAW, measure="rms_torque", **options)
    np.testing.assert_array_equal(measured.q[:, -1], free.q[:, -1])


def test_who_is_stopped_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"q0": [0.1, 0.2], "rollouts": 3, "duration": 0.2, "every": 0.03, "step": 0.01}
    whole, draw = aw.simulate_batch(RR, LAW, **options), Rollouts._draw

    def stopped(self: Rollouts, here: int) -> None:
        draw(self, here)
        self.stop[0] = self.plan.step_ends[here] > 0.07

    monkeypatch.setattr(Rollouts, "_draw", stopped)
    with pytest.raises(aw.errors.Interrupted) as told:
        aw.simulate_batch(RR, LAW, **options)
    run = told.value.result
    np.testing.assert_allclose(run.reached, 0.06)
    for name in ("q", "qd", "tau"):
        np.testing.assert_array_equal(getattr(run, name), getattr(whole, name)[:, :3], err_msg=name)


def test_what_is_measured_jumps_with_the_torques() -> None:
    """Trapezoids from one interval to the next would be wrong: each is looked at before and after it is drawn anew."""
    run = aw.simulate_batch(
        wheel(), NOISE_OF_ONE, rollouts=5, duration=0.1, every=0.05, measure=["rms_torque", "peak_torque"]
    )
    torques = NOISE_OF_ONE.sized(1).now[0].at(np.arange(5)[:, None], np.arange(5)[None, :])
    np.testing.assert_allclose(run.measured["rms_torque"][:, 0], np.sqrt((torques**2).mean(axis=1)), rtol=1e-12)
    last = np.abs(torques).max(axis=1)
    np.testing.assert_array_equal(run.measured["peak_torque"][:, 0], last)


NOISE_OF_ONE = aw.torque.noise(aw.draws(2).uniform(-1, 3), hold=0.02)


@pytest.mark.parametrize(
    "how", [{"integrator": "rk4", "step": 0.01}, {"integrator": "dop853"}], ids=["fixed", "chosen"]
)
def test_one_alone_is_the_first_of_many_and_is_audited(how: dict[str, Any]) -> None:
    run = aw.simulate(RR, LAW, q0=[0.1, 0.2], duration=0.1, every=0.03, **how)
    batch = aw.simulate_batch(
        RR, LAW, q0=[0.1, 0.2], rollouts=2, duration=0.1, every=0.03, rtol=1e-9 if len(how) == 1 else None, **how
    )
    np.testing.assert_array_equal(run.q, batch.q[0])
    np.testing.assert_allclose(run.tau, batch.tau[0], rtol=0, atol=1e-14)
    assert (batch.q[0, 1:] != batch.q[1, 1:]).all()
    assert run.audit.energy_error < 1e-7 and run.verify().largest < 1e-6


def test_a_run_that_goes_on_from_another_has_the_noise_that_comes_next() -> None:
    options: dict[str, Any] = {"every": 0.02, "integrator": "rk4", "step": 0.01}
    whole = aw.simulate(RR, LAW, q0=[0.1, 0.2], duration=0.1, **options)
    first = aw.simulate(RR, LAW, q0=[0.1, 0.2], duration=0.04, **options)
    rest = aw.simulate(RR, LAW, q0=first.q[-1], qd0=first.qd[-1], start=0.04, duration=0.06, **options)
    np.testing.assert_allclose(rest.q, whole.q[2:], rtol=0, atol=1e-14)
    np.testing.assert_allclose(rest.tau, whole.tau[2:], rtol=0, atol=1e-12)


def test_numbers_that_are_drawn_once_and_laws_that_hold_others() -> None:
    once = aw.torque.noise(aw.draws(1).uniform(1, 2))
    law = (HELD + once + NOISE).limited(3.0) + aw.torque.friction(viscous=0.1)
    run = aw.simulate_batch(RR, law, rollouts=3, duration=0.05, every=0.01)
    assert (np.abs(run.tau) <= 3).all() and (run.losses[:, -1] > 0).all()
    alone = aw.simulate_batch(RR, once, rollouts=3, duration=0.05, every=0.01)
    assert (alone.tau == alone.tau[:, :1]).all() and len(np.unique(alone.tau)) == 6
    each = [aw.torque.pd([0.5, -0.3], kp=kp, kd=2) + NOISE for kp in (10.0, 20.0)]
    both = aw.simulate_batch(RR, each, duration=0.05, step=0.01)
    alone = aw.simulate_batch(RR, LAW, rollouts=2, duration=0.05, step=0.01)
    np.testing.assert_array_equal(both.q[1], alone.q[1])


@dataclass(frozen=True)
class Pushed(aw.torque.Law):
    """A random force on the tip, along the axes of the world."""

    force: aw.torque.Noise

    def torques(self, at: aw.torque.Moment) -> list[Any]:
        return [dot(column, self.force.now) for column in zip(*at.compute("jacobian")[:3], strict=True)]

    def shared(self, at: aw.torque.Moment) -> tuple[list[Any], list[Any]]:
        return [0] * at.n, self.torques(at)


def test_a_law_of_ones_own_draws_as_many_numbers_as_it_wants() -> None:
    arm = RR.with_tool(np.array([[1, 0, 0, 0.2], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1.0]]))
    law = Pushed(aw.torque.noise(aw.draws(5).normal(0, [3.0, 2.0, 1.0]), hold=0.02))
    run = aw.simulate(arm, HELD + law, q0=[0.1, 0.2], duration=0.1, every=0.01, rtol=1e-9)
    force = np.array([x.at(np.zeros(1), np.arange(11) // 2) for x in law.sized(2).force.now])
    needed = arm.inverse_dynamics(run.q, run.qd, run.qdd, tip_wrench=felt(arm, run.q, force.T))
    np.testing.assert_allclose(run.tau, needed, rtol=0, atol=1e-9)
    assert run.audit.energy_error < 1e-9


def felt(arm: aw.Robot, q: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Forces in axes of the world as wrenches in those of the tool."""
    turned = np.einsum("kji,kj->ki", arm.forward_kinematics(q)[:, :3, :3], force)
    return np.concatenate([turned, np.zeros_like(turned)], axis=1)


def test_numbers_and_seeds_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"rollouts": 2, "duration": 0.05, "step": 0.01}
    aw.simulate_batch(RR, LAW, **options)
    monkeypatch.setattr("armwright.simulation.kernels.derivative", None)
    aw.simulate_batch(RR, HELD + aw.torque.noise(aw.draws(8).uniform(-1, 1), hold=0.013), **options)


def test_turns_are_counted_by_each_rollout_and_are_where_steps_end() -> None:
    turns = SamplingInstants(0.0, 0.1, np.array([0.0, 0.07, -0.03]), (0.02, 0.05))
    times = np.array([0.0, 0.04 + 1e-17, 0.1])
    np.testing.assert_allclose(turns.merged_with(times), [0, 0.02, 0.04, 0.05, 0.06, 0.08, 0.1])
    assert turns.changes(turns.merged_with(times)).tolist() == [False] + 6 * [True]
    assert turns.intervals_at(0.02, np.array([0.0, 0.0999999])).tolist() == [[0, 4], [3, 7], [-2, 2]]


def test_what_cannot_be_drawn_is_reported() -> None:
    drawn = aw.draws(1).normal(0, 1)
    for hold in (0, -1.0, np.inf, True, "1"):
        with pytest.raises(InputError, match="expected seconds"):
            aw.torque.noise(drawn, hold)
    with pytest.raises(InputError, match="expected a distribution"):
        aw.torque.noise(0.5, 0.01)
    with pytest.raises(InputError, match="is for 3 joints"):
        aw.simulate(RR, aw.torque.noise(aw.draws(1).normal(0, [1, 2, 3]), 0.01), duration=1.0)
    with pytest.raises(InputError, match="expected rollouts="):
        aw.simulate_batch(RR, LAW, duration=1.0)
    with pytest.raises(InputError, match="drawn anew more than"):
        aw.simulate(RR, aw.torque.noise(drawn, 1e-8), duration=1.0)
    with pytest.raises(InputError, match="draw differently"):
        aw.simulate_batch(RR, [aw.torque.noise(drawn, hold) for hold in (0.1, 0.2)], duration=1.0)
    for options in ({"integrator": "radau"}, {"events": [aw.integrate.Event(lambda t, y: 1.0)]}):
        with pytest.raises(InputError, match="only compiled rollouts draw noise"):
            aw.simulate(RR, LAW, duration=1.0, **options)
    with pytest.raises(InputError, match="only compiled rollouts draw noise"):
        aw.torques_along(RR, aw.trajectory.quintic([0, 1], [[0, 0], [1, 1]]), friction_law=NOISE)
