"""One simulation: a request means the same compiled, interpreted, with a Python law, with events, by any method."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import HERE, close

import armwright as aw
from armwright import integrate, torque, trajectory
from armwright.errors import SimulationWarning, SlowWarning
from armwright.layout import Layout
from armwright.simulation import Run, simulate, simulate_batch
from armwright.simulation import motion_programs as programs
from armwright.simulation.integration_settings import settings
from armwright.simulation.kernels import rollout_of
from armwright.simulation.motion_record import MotionRecord
from armwright.simulation.plan import Plan, plan
from armwright.simulation.rollouts import Rollouts

ARM = aw.random_robot(3, 1, prismatic=0.0)
START = [0.1, 0.2, 0.3]
MOTION = trajectory.quintic([0, 0.6, 1.2], [[0, 0, 0], [0.5, -0.4, 0.3], [0.1, 0.2, 0]])
STICKING = torque.spring_damper(400, 1, 0.2) + torque.friction(0.0, 4.0, smooth=0.05)
"""Wherever a joint turns round, steps are rejected; there is no jump, which would make more of rounding."""
PAIRS = [name for name in integrate.methods() if integrate.method(name).adaptive]
NEVER = integrate.Event(lambda t, y: 1.0 + t, name="never")


def quietly(*arguments, **options) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        return simulate(*arguments, **options)


def in_python(law: torque.Law) -> torque.Law:
    """The same law, called from Python."""
    mechanism = ARM.mechanism()
    return torque.as_law(lambda t, q, qd: law.torques(torque.Moment(t, q.tolist(), qd.tolist(), mechanism)), ARM.n)


def travelled(planned: Plan, target: str) -> Rollouts:
    """The motion in the loop of a backend."""
    law, how = planned.law, planned.settings
    kernel = rollout_of(MotionRecord(planned.robot, law), how.integrator, how.step is not None, target=target)
    y = planned.layout.joined(
        {"q": np.array(START), "qd": np.array([-2.0, 1.0, 2.0]), "memory": np.array(law.start(ARM.n))}
    )
    rollouts = Rollouts(planned, kernel, y[None], np.zeros((1, 1)))
    rollouts.advance(3)  # in two stretches: what the control remembers is kept in between
    rollouts.advance(len(planned.times))
    return rollouts


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("options", [{}, {"max_step": 0.013}], ids=["chosen", "bounded"])
def test_the_same_steps_wherever_they_are_taken(name: str, options: dict) -> None:
    rtol = 1e-4 if integrate.method(name).order < 3 else 1e-6
    common = {
        "duration": 0.3,
        "every": 0.03,
        "integrator": name,
        "rtol": rtol,
        "q0": START,
        "qd0": [-2, 1, 2],
        **options,
    }
    compiled = simulate(ARM, STICKING, **common)
    assert compiled.statistics.rejected > 1
    for other in (quietly(ARM, in_python(STICKING), **common), quietly(ARM, STICKING, events=[NEVER], **common)):
        assert other.statistics.accepted == compiled.statistics.accepted
        assert other.statistics.rejected == compiled.statistics.rejected
        close(other.q, compiled.q, 1e-8)  # friction this steep makes much of rounding
        close(other.work - other.losses, compiled.work - compiled.losses, 1e-8)  # a function has no friction of its own


@pytest.mark.parametrize("name", ["dop853", "rkdp54", "rk4"])
def test_every_backend_takes_the_steps_of_the_interpreter(name: str) -> None:
    options = {"step": 0.007} if name == "rk4" else {"rtol": 1e-6, "max_step": 0.02}
    planned = plan(ARM, STICKING + torque.pid(START, 20, 5, 2), settings(name, **options), 0.3, 0.03)
    meant = travelled(planned, "python")
    for target in set(HERE) - {"python"}:
        got = travelled(planned, target)
        assert np.array_equal(got.accepted, meant.accepted)
        assert np.array_equal(got.rejected, meant.rejected)
        close(got.states, meant.states, 1e-11)
        for lane in ("t", "h", "previous_error", "rejected_last", "stop_reason"):
            assert np.allclose(got.lanes[lane][:1], meant.lanes[lane][:1], rtol=1e-6, atol=0)


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("every", [0.01, None])
def test_a_rollout_that_diverges_is_nan_in_all_its_entries(target: str, every: float | None) -> None:
    """Even in losses, of which a robot without friction has none."""
    arm, fast = aw.load("rr").with_friction(viscous=0, coulomb=0), np.array([[0.0, 0.0], [1e160, 1e160]])
    with pytest.warns(SimulationWarning, match="1 of 2 rollouts failed"):
        run = simulate_batch(arm, qd0=fast, duration=0.05, step=0.01, every=every, integrator="rk4", target=target)
    for values in (run.q, run.qd, run.work[..., None], run.losses[..., None]):
        assert np.isfinite(values[:, 0]).all() and np.isfinite(values[0]).all()
        assert np.isnan(values[1, 1:]).all()


def test_fixed_steps_are_equal_between_records_and_never_longer() -> None:
    common = {"duration": 0.2, "every": 0.05, "integrator": "rk4", "step": 0.02, "q0": START}  # 0.05 in 3 steps
    compiled = simulate(ARM, **common)
    assert compiled.statistics.accepted == 12
    for other in (quietly(ARM, in_python(torque.Free()), **common), quietly(ARM, events=[NEVER], **common)):
        assert other.statistics.accepted == 12
        close(other.q, compiled.q, 1e-14)
    euler = simulate(ARM, **{**common, "integrator": "semi_implicit_euler"})
    assert euler.statistics.accepted == 12


def test_only_positions_and_velocities_count_in_the_error() -> None:
    """The steps are those of q and qd alone, for the pairs, the implicit methods and the series."""

    def rate(t, y):
        return np.concatenate([y[3:6], ARM.forward_dynamics(y[:3], y[3:6], np.zeros(3))])

    run = simulate(ARM, q0=START, duration=0.5, every=0.5, rtol=1e-8)
    alone = integrate.solve(
        rate, 0, [*START, 0, 0, 0], 0.5, rtol=1e-8, atol=1e-11, first_step=1e-3, times=[0, 0.5]
    ).statistics
    assert (run.statistics.accepted, run.statistics.rejected) == (alone.accepted, alone.rejected)

    def carried(t, y):
        return np.array([-y[0], 1e6 * np.cos(300 * t)])

    plain = integrate.solve(lambda t, y: -y, 0, [1.0], 3.0)
    assert integrate.solve(carried, 0, [1.0, 0.0], 3.0, controlled=1).statistics == plain.statistics
    for name in ("radau", "bdf"):
        steps = integrate.solve_stiff(lambda t, y: -y, 0, [1.0], 3.0, name).statistics.accepted
        found = integrate.solve_stiff(carried, 0, [1.0, 0.0], 3.0, name, controlled=1).statistics.accepted
        assert abs(found - steps) <= 1
        by_atol = {"rtol": 1e-10, "atol": 1e-5}
        steps = integrate.solve_stiff(lambda t, y: np.sin(3 * t) - y, 0, [1.0], 3.0, name, **by_atol)
        found = integrate.solve_stiff(
            lambda t, y: np.array([np.sin(3 * t) - y[0], 0]), 0, [1.0, 0], 3.0, name, controlled=1, **by_atol
        )
        assert abs(found.statistics.accepted - steps.statistics.accepted) <= 1
    with pytest.raises(aw.InputError, match="controlled = 3: expected 1 to 2"):
        integrate.solve(carried, 0, [1.0, 0.0], 3.0, controlled=3)


def test_a_series_does_not_look_at_what_is_carried_along() -> None:
    pytest.importorskip("heyoka", reason="heyoka is not installed")
    run = simulate(ARM, torque.constant(1.0), q0=START, duration=0.3, integrator="taylor", rtol=1e-12, every=0.1)
    exact = simulate(ARM, torque.constant(1.0), q0=START, duration=0.3, rtol=1e-13, every=0.1)
    close(run.q, exact.q, 1e-10)
    close(run.work, exact.work, 1e-10)
    assert run.audit.energy_error < 1e-12


def test_a_series_is_exact_from_a_level_rest_and_by_default() -> None:
    pytest.importorskip("heyoka", reason="heyoka is not installed")
    run = simulate(aw.load("rr"), q0=[0, 0], duration=1.0, integrator="taylor")
    close(run.q[-1], [-2.21788658, 0.08126811], 1e-8)
    assert run.settings["rtol"] == np.finfo(float).eps
    close(run.q, simulate(aw.load("rr"), q0=[0, 0], duration=1.0, rtol=1e-13).q, 1e-11)
    assert run.verify().largest < 1e-11 and run.audit.trustworthy


@pytest.mark.parametrize("integrator", ["dop853", "vern9", "taylor"])
def test_a_motion_that_starts_late_is_the_same_motion(integrator: str) -> None:
    """At 1e8 s the clock ticks by 1.5e-8 s: steps are as long as it says, or an error of that size adds up."""
    if integrator == "taylor":
        pytest.importorskip("heyoka", reason="heyoka is not installed")
    asked = {"q0": [0.3, 0.2], "duration": 2.0, "every": 2.0, "integrator": integrator, "rtol": 1e-12}
    early = simulate(aw.load("rr"), **asked)
    close(simulate(aw.load("rr"), start=1e8, **asked).q, early.q, 1e-11)
    if integrator != "taylor":
        close(quietly(aw.load("rr"), in_python(torque.Free()), start=1e8, **asked).q, early.q, 1e-11)


@pytest.mark.parametrize("integrator", ["dop853", "rkdp54", "radau", "bdf", "lsoda", "taylor"])
def test_the_longest_step_is_kept_by_all_that_choose_their_steps(integrator: str) -> None:
    if integrator == "taylor":
        pytest.importorskip("heyoka", reason="heyoka is not installed")
    common = {"q0": START, "duration": 0.4, "every": 0.4, "integrator": integrator, "rtol": 1e-5}
    assert simulate(ARM, **common, max_step=0.005).statistics.accepted >= 80
    assert simulate(ARM, **common).statistics.accepted < 80
    if integrator != "taylor":
        law = in_python(torque.Free())
        assert quietly(ARM, law, **common, max_step=0.005).statistics.accepted >= 80


def test_a_longest_step_is_never_exceeded() -> None:
    steps = integrate.solve(lambda t, y: 0 * y, 0, [1.0], 1.0, max_step=0.0999).t
    assert np.diff(steps).max() <= 0.0999 * (1 + 1e-11)
    whole = simulate(ARM, q0=START, duration=0.1, every=0.01, max_step=0.005, rtol=1e-3)
    assert whole.statistics.accepted == 21  # the first is 0.001, then 0.005 and what is left, then two a record


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"integrator": "radau", "step": 0.01},
            "step = 0.01 has no meaning for radau: it chooses its steps; max_step=",
        ),
        ({"integrator": "taylor", "step": 0.01}, "step = 0.01 has no meaning for taylor"),
        ({"integrator": "rk4", "step": 0.01, "rtol": 1e-6}, "rtol = 1e-06 has no meaning for rk4: its steps are given"),
        ({"integrator": "rk4", "step": 0.01, "max_step": 0.1}, "max_step = 0.1 has no meaning for rk4"),
        ({"integrator": "dop853", "step": 0.01, "rtol": 1e-6}, "for dop853: with step= its steps are given"),
        ({"integrator": "semi_implicit_euler", "step": 0.01, "atol": 1e-6}, "no meaning for semi_implicit_euler"),
        ({"integrator": "semi_implicit_euler"}, "semi_implicit_euler has no error estimate: give step="),
    ],
)
def test_what_a_method_cannot_honour_is_an_error(options: dict, message: str) -> None:
    with pytest.raises(aw.InputError, match=message):
        simulate(ARM, duration=0.1, **options)


def test_a_robot_with_dry_friction_is_traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"type": "prismatic", "alpha": 0, "a": 0, "theta": 0, "mass": 2.5, "com": [0, 0, 0], "inertia": [0.01] * 6}
    row["inertia"] = [0.01, 0.01, 0.01, 0, 0, 0]
    calls: list[object] = []
    made = programs.cheapest
    monkeypatch.setattr(programs, "cheapest", lambda asked: calls.append(asked) or made(asked))
    for _ in range(3):  # another object each time, as a file that is loaded again
        simulate(aw.Robot.from_dh([{**row, "coulomb": 3.0}], "modified"), q0=[0.0], duration=0.1)
    assert len(calls) == 1


def test_an_integral_takes_away_what_gravity_leaves() -> None:
    wanted = np.array([0.2, -0.1, 0.15])
    run = simulate(ARM, torque.pid(wanted, 200, 400, 60), q0=wanted, duration=12.0, rtol=1e-8)
    off = simulate(ARM, torque.pd(wanted, 200, 60), q0=wanted, duration=12.0, rtol=1e-8)
    assert np.abs(off.q[-1] - wanted).max() > 1e-3
    assert np.abs(run.q[-1] - wanted).max() < 1e-6
    close(400 * run.memory[-1], ARM.gravity_torque(run.q[-1]), 1e-4)
    assert run.memory.shape == (len(run.t), 3) and not run.memory[0].any()
    assert run.audit.energy_error < 1e-9


def test_a_law_with_states_is_the_same_everywhere(tmp_path) -> None:
    law = (torque.constant(0.1) + torque.pid(MOTION.holding(), 50, 30, 8)).limited(40.0) + torque.friction(0.2)
    common = {"q0": START, "qd0": [0, 0, 0], "duration": 0.6, "every": 0.1}
    run = simulate(ARM, law, **common, rtol=1e-11)
    watched = quietly(ARM, law, **common, events=[NEVER], rtol=1e-11)
    close(watched.q, run.q, 1e-10)
    close(watched.memory, run.memory, 1e-9)
    close(simulate(ARM, law, **common, integrator="radau", rtol=1e-9).memory, run.memory, 1e-5)
    close(simulate(ARM, law, **common, integrator="semi_implicit_euler", step=1e-4).memory, run.memory, 1e-2)
    batch = simulate_batch(ARM, law, **common, integrator="dop853", rtol=1e-11)
    close(batch.memory[0], run.memory, 1e-9)
    close(batch.tau[0], run.tau, 1e-9)
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    loaded = Run.from_parquet(run.to_parquet(tmp_path / "run.parquet"))
    assert np.array_equal(loaded.memory, run.memory)


def test_a_batch_starts_as_a_run_does() -> None:
    """On a trajectory that moves from its first moment on, the robot moves too, whether its position is given or not."""
    motion = trajectory.hermite([0, 0.5, 1.0], [[0, 0, 0], [0.2, 0.1, 0], [0, 0, 0]], [[0.5, 0.4, 0.3]] * 3)
    law = torque.computed_torque(motion.holding(), 100, 20)
    for given in ({}, {"q0": [0.01, 0, 0]}, {"qd0": [0.1, 0, 0]}):
        run = simulate(ARM, law, duration=0.5, every=0.1, rtol=1e-8, **given)
        batch = simulate_batch(ARM, law, duration=0.5, every=0.1, integrator="dop853", rtol=1e-8, **given)
        assert np.array_equal(batch.qd[0, 0], given.get("qd0", [0.5, 0.4, 0.3]))
        assert np.array_equal(batch.q[0], run.q) and np.array_equal(batch.qd[0], run.qd)


def test_work_is_integrated_by_every_method() -> None:
    law = torque.spring_damper(30, 3, 0.2)
    defects = [
        simulate(ARM, law, q0=START, duration=0.3, integrator="semi_implicit_euler", step=step).audit.energy_error
        for step in (2e-4, 1e-4)
    ]
    assert defects[0] < 0.01 and 1.7 < defects[0] / defects[1] < 2.3  # of order one, as the method is


def test_a_layout_names_every_entry() -> None:
    layout = Layout.of_motion(7, 6, 2)  # a free body has more positions than velocities
    assert (layout.size, layout.controlled) == (17, 15)
    y = np.arange(34.0).reshape(2, 17)
    parts = layout.split(y)
    assert [parts[name].shape for name in ("q", "qd", "memory", "work")] == [(2, 7), (2, 6), (2, 2), (2,)]
    assert np.array_equal(layout.joined({n: p if p.ndim == 2 else p[:, None] for n, p in parts.items()}, (2,)), y)
    assert not layout.joined({"qd": np.ones(6)})[layout["q"]].any()
