"""Motions in phases: payloads that are picked up and put down, and what the whole run says of it."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conftest import close

import armwright as aw

ARM = aw.load("rr")
A, B = np.array([0.2, -0.5]), np.array([1.0, 0.6])


def going(begin: np.ndarray, end: np.ndarray, seconds: float = 0.5) -> aw.torque.Law:
    return aw.torque.computed_torque(aw.trajectory.normal_spline(begin, end, seconds).holding(), kp=100, kd=20)


@cache
def carried() -> aw.Run:
    """To B with an empty hand, back to A with 2 kg, and let go there."""
    held = ARM.with_payload(2.0, [0.05, 0, 0])
    phases = [aw.Phase(ARM, going(A, B), 0.5, name="reach"), aw.Phase(held, going(B, A), 0.5), aw.Phase(ARM, None, 0.2)]
    return aw.simulate_phases(phases, every=0.05)


def test_each_phase_is_a_simulation_that_begins_where_the_one_before_ended() -> None:
    run = carried()
    assert [len(phase.t) for phase in run.phases] == [11, 11, 5]
    assert (np.diff(run.t) > 0).all() and run.t[-1] == pytest.approx(1.2)
    for before, after in pairwise(run.phases):
        assert np.array_equal(before.q[-1], after.q[0]) and np.array_equal(before.qd[-1], after.qd[0])
        assert after.t[0] == np.nextafter(before.t[-1], np.inf)
    alone = aw.simulate(run.phases[1].robot, going(B, A), run.q[10], run.qd[10], 0.5, every=0.05)
    assert np.array_equal(run.q[11:22], alone.q) and np.array_equal(run.tau[11:22], alone.tau)
    assert [phase.settings["phase"] for phase in run.phases] == ["reach", "phase 2", "phase 3"]
    assert run.holding == "holding 0, then 2, then 0 kg"


def test_the_payload_is_felt_in_its_phase_alone() -> None:
    run = carried()
    held = run.phases[1].robot
    for robot, k in ((ARM, 5), (held, 15)):
        close(run.tau[k], robot.inverse_dynamics(run.q[k], run.qd[k], run.qdd[k]), 1e-10)
    assert np.abs(run.tau[11]).max() > 1.2 * np.abs(run.tau[10]).max()


def test_the_energy_of_what_is_taken_up_is_not_missing() -> None:
    run = carried()
    held = run.phases[1].robot
    close(run.energy[11] - run.energy[10], held.potential_energy(run.q[11]) - ARM.potential_energy(run.q[10]), 1e-9)
    assert run.audit.trustworthy and run.audit.energy_error < 1e-9
    assert run.work[11] == run.work[10]  # the drives have not worked in between
    assert run.audit.energy_defect.shape == run.t.shape
    assert run.verify().largest < 1e-8


def test_a_doubt_about_one_phase_is_a_doubt_about_the_whole() -> None:
    weak = ARM.with_limits(torque=1.0)
    run = aw.simulate_phases([aw.Phase(ARM, going(A, B), 0.5), aw.Phase(weak, going(B, A), 0.5)], every=0.05)
    assert not run.audit.trustworthy
    assert run.audit.first_doubt.t >= 0.5 and "more than the 1 N m it has" in run.audit.first_doubt.why


def test_an_event_of_a_phase_ends_it_and_one_of_the_run_ends_the_run() -> None:
    near, late = aw.events.position("joint1", 0.6), aw.events.position("joint1", 0.4)
    phases = [aw.Phase(ARM, going(A, B), 1.0, until=near), aw.Phase(ARM, going(np.array([0.6, 0.0]), A), 1.0)]
    run = aw.simulate_phases(phases, every=0.05)
    assert run.phases[0].ended_by == "joint1 at 0.6" and run.phases[0].q[-1, 0] == pytest.approx(0.6)
    assert run.ended_by == "" and run.t[-1] == pytest.approx(1.0 + run.phases[0].t[-1])
    stopped = aw.simulate_phases(phases, events=[late], every=0.05)
    assert stopped.ended_by == "joint1 at 0.4" and not stopped.phases  # it ends within the first phase


@pytest.mark.filterwarnings("ignore::armwright.errors.SlowWarning")
def test_an_event_without_a_name_ends_its_phase_alone() -> None:
    near = aw.integrate.Event(lambda t, y: y[0] - 0.6)
    phases = [aw.Phase(ARM, going(A, B), 1.0, until=near), aw.Phase(ARM, None, 0.1)]
    run = aw.simulate_phases(phases, every=0.05)
    assert run.ended_by == "" and [phase.ended_by for phase in run.phases] == ["event", ""]
    stopped = aw.simulate_phases([aw.Phase(ARM, going(A, B), 1.0), phases[1]], events=near, every=0.05)
    assert stopped.ended_by == "event" and stopped.q[-1, 0] == pytest.approx(0.6)


def test_two_events_that_end_a_phase_at_once_do_not_end_the_run() -> None:
    until = [aw.integrate.Event(lambda t, y: y[0] - 0.6, name=name) for name in ("near, or there", "so")]
    with pytest.warns(aw.errors.SlowWarning):
        run = aw.simulate_phases([aw.Phase(ARM, going(A, B), 1.0, until), aw.Phase(ARM, None, 0.1)], every=0.05)
    assert run.phases[0].ended_by == "near, or there, so" and run.ended_by == ""


@pytest.mark.parametrize(
    ("until", "options", "said"),
    [
        (aw.events.speed("joint1", 9.0), {"events": aw.events.speed("joint1", 9.0)}, "ends phase 1 .until=. and the"),
        (aw.events.speed("joint1", 9.0, terminal=False), {}, "is not terminal; expected terminal=True"),
        ("limits", {}, "events = .'limits',.: expected a list of events"),
        ((), {"start": 2.0}, "the clock of every phase starts at 0"),
    ],
)
def test_what_would_not_be_honoured_in_phases_is_reported(until, options: dict, said: str) -> None:
    with pytest.raises(aw.errors.InputError, match=said):
        aw.simulate_phases([aw.Phase(ARM, None, 0.1, until)], **options)


def test_a_robot_of_other_joints_is_reported_though_they_are_called_the_same() -> None:
    slides = {
        "type": "prismatic",
        "alpha": 0,
        "a": 0,
        "theta": 0,
        "mass": 1,
        "com": [0, 0, 0],
        "inertia": [1] * 3 + [0] * 3,
    }
    other = aw.Robot.from_dh([slides] * 2, "modified")
    assert [joint.name for joint in other.joints] == [joint.name for joint in ARM.joints]
    with pytest.raises(aw.errors.InputError, match="whose joints are not those of rr before"):
        aw.simulate_phases([aw.Phase(ARM, None, 0.1), aw.Phase(other, None, 0.1)])


def test_a_run_in_phases_is_saved_and_loaded_again(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    run = carried()
    again = aw.Run.from_parquet(run.to_parquet(tmp_path / "run.parquet"))
    assert [phase.robot for phase in again.phases] == [phase.robot for phase in run.phases]
    assert str(again.audit) == str(run.audit)
    assert again.phases[2].reference is None and np.isnan(again.reference[0][-1]).all()
    for name in ("t", "q", "tau", "work", "neighbour"):
        close(getattr(again, name), getattr(run, name), 1e-12)


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([], "expected a list of armwright.Phase"),
        ([ARM], "expected a list of armwright.Phase"),
        ([aw.Phase("rr")], "a phase has the robot 'rr'"),
        ([aw.Phase(ARM, going(A, B)), aw.Phase(aw.load("puma560"), None, 1.0)], "phase 2 is of puma560, whose joints"),
        ([aw.Phase(ARM, None, name="fall")], "fall: duration is missing"),
    ],
)
def test_phases_that_do_not_fit_are_reported(phases: list, message: str) -> None:
    with pytest.raises(aw.InputError, match=message):
        aw.simulate_phases(phases)


def test_a_phase_that_breaks_off_leaves_those_before() -> None:
    wild = aw.torque.spring_damper(-1e5, 0.0)
    with pytest.raises(
        aw.SimulationError, match=r"wild, which began at t = 0\.5 s: the motion of rr diverges"
    ) as caught:
        aw.simulate_phases(
            [aw.Phase(ARM, going(A, B), 0.5), aw.Phase(ARM, wild, 20.0, name="wild")],
            integrator="rk4",
            step=0.01,
            every=0.05,
        )
    assert len(caught.value.run.phases) == 2 and caught.value.run.t[-1] >= 0.5


@pytest.mark.filterwarnings("ignore::armwright.errors.SlowWarning")  # what is counted goes step by step
def test_an_event_that_ends_a_run_when_it_has_happened_often_counts_in_all_phases() -> None:
    events = [aw.events.when(lambda t, q, qd: qd[1], name="turns", terminal=3)]
    begin = {"q0": [0.2, 0.3], "rtol": 1e-9}
    whole = aw.simulate(ARM, **begin, duration=4.0, events=events)
    parts = aw.simulate_phases([aw.Phase(ARM, None, 0.5)] * 8, **begin, events=events)
    assert whole.ended_by == parts.ended_by == "turns"
    assert parts.t[-1] == pytest.approx(whole.t[-1], abs=1e-6)
    assert len(parts.phases) > 1


def test_a_run_is_exact_if_every_phase_that_tracks_is() -> None:
    there = aw.trajectory.normal_spline(A, B, 0.5).holding()
    back = aw.Phase(ARM, going(B, A), 0.5)
    for law, exact in ((going(A, B), True), (aw.torque.pd(there, 100, 20), False)):
        assert aw.simulate_phases([aw.Phase(ARM, law, 0.5), back], every=0.05).exact is exact
