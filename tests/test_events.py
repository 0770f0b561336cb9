"""Events compiled into the loop of a motion end it where they would from Python, and stops keep the energy balanced."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from conftest import HERE

import armwright as aw
from armwright import events, torque
from armwright.algebra import sin
from armwright.backends.llvm import native
from armwright.backends.rollout_interface import ENDED_BY_EVENT
from armwright.errors import InputError, SimulationError, SimulationWarning, SlowWarning, UnknownNameError
from armwright.robot import Robot, random_tree
from armwright.simulation import Run, simulate, simulate_batch
from armwright.simulation.events import events_on
from armwright.simulation.integration_settings import settings
from armwright.simulation.kernels import rollout_of
from armwright.simulation.plan import plan
from armwright.simulation.rollouts import Rollouts

ARM = aw.load("puma560")
START = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
HANGING = Robot.from_dh(
    [
        {
            "type": "prismatic",
            "alpha": 0,
            "a": 0,
            "theta": 0,
            "mass": 2.0,
            "com": [0, 0, 0],
            "inertia": [0.1, 0.1, 0.1, 0, 0, 0],
        },
        {
            "type": "revolute",
            "alpha": 1.5,
            "a": 0,
            "d": 0,
            "mass": 1.0,
            "com": [0, 0, 0],
            "inertia": [0.01, 0.02, 0.02, 0, 0, 0],
        },
    ],
    "modified",
    name="slide",
)
G = -HANGING.gravity[2]
METHODS = {"rk4": {"step": 0.004}, "rkdp54": {"rtol": 1e-8}, "dop853": {}, "rkf45": {"rtol": 1e-7}}


def quietly(*arguments, **options) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        return simulate(*arguments, **options)


def reverse(arm: Robot) -> Robot:
    return arm.map_joints(lambda joint: replace(joint, limits=(1.0, -1.0)) if joint.name == "joint2" else joint)


def watched() -> list[events.Event]:
    return [
        events.position("joint2", -0.5),
        events.plane((0, 0, 1), 0.2),
        events.limits(),
        events.speed("joint3", 40.0),
        events.when(lambda t, q, qd, x: sin(q[0]) * qd[1] - x, [9.0], direction=1),
    ]


@pytest.mark.parametrize("integrator", METHODS)
def test_a_compiled_event_is_found_where_one_called_from_python_is(integrator: str) -> None:
    options = {"q0": START, "duration": 1.0, "integrator": integrator, **METHODS[integrator]}
    run = simulate(ARM, events=watched(), **options)
    never = aw.integrate.Event(lambda t, y: 1.0, name="never")
    other = quietly(ARM, events=[*watched(), never], **options)
    assert run.ended_by == other.ended_by == "the tool passes the plane at 0.2 along (0, 0, 1)"
    assert run.t == pytest.approx(other.t, rel=1e-14, abs=0) and run.t[-1] == run.events[0].t
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-13)
    assert run.statistics.accepted == other.statistics.accepted
    assert ARM.forward_kinematics(run.q[-1])[2, 3] == pytest.approx(0.2, abs=1e-14)
    assert run.audit.energy_error == pytest.approx(other.audit.energy_error, abs=1e-13) and run.neighbour.max() < 1e-5
    assert run.verify(10).largest < 1e-4


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("integrator", ["rk4", "rkdp54"])
def test_every_backend_ends_every_rollout_by_its_own_event(integrator: str, target: str) -> None:
    robot, law = random_tree(2, 5, floating=True), torque.Free()
    options, place = METHODS[integrator], robot.n - 1
    levels = np.array([0.02, -0.03, 5.0])
    q0 = robot.neutral
    listed = events_on(robot, [events.when(lambda t, q, qd, x: q[place + 1] - x, [levels])])
    planned = replace(plan(robot, law, settings(integrator, **options), 0.2, 0.05), events=listed)
    record = replace(planned.record(), robot=robot, law=law, shared=())
    kernel = rollout_of(record, integrator, "step" in options, target=target)
    qd = np.zeros((3, robot.n))
    qd[:, place] = [1.0, -1.0, 1.0]
    y = planned.layout.joined({"q": np.tile(q0, (3, 1)), "qd": qd}, (3,))
    rollouts = Rollouts(planned, kernel, y, levels[:, None])
    rollouts.integrate(1, False)
    assert rollouts.lanes["stop_reason"][:3].tolist() == [ENDED_BY_EVENT, ENDED_BY_EVENT, 0] and rollouts.lanes[
        "event"
    ][:3].tolist() == [
        1,
        1,
        0,
    ]
    found = rollouts.y[robot.nq - 1, :3]
    assert found[:2] == pytest.approx(levels[:2], abs=1e-15)
    assert rollouts.states[0, -1] == pytest.approx(rollouts.y[:, 0]) and rollouts.lanes["t"][2] == 0.2
    again = simulate(
        robot,
        law,
        q0,
        qd[0],
        duration=0.2,
        integrator=integrator,
        events=[events.when(lambda t, q, qd: q[place + 1] - 0.02)],
        **options,
    )
    assert rollouts.lanes["t"][0] == pytest.approx(again.t[-1], rel=1e-13)


def test_a_falling_slide_passes_a_height_when_it_must() -> None:
    """Both bodies fall alike: z = z0 - g t^2 / 2."""
    for height in (0.1, 1.0, 3.0):
        fallen = events.position(HANGING.joints[0].name, -height)
        run = simulate(HANGING, duration=2.0, events=[fallen], every=0.3)
        assert run.t[-1] == pytest.approx(math.sqrt(2 * height / G), rel=1e-12)
        assert run.ended_by == f"{HANGING.joints[0].name} at {-height:g}" and len(run.events) == 1


def test_the_earliest_of_several_in_one_step_ends_it() -> None:
    name = HANGING.joints[0].name
    listed = [events.position(name, -0.105), events.position(name, -0.1), events.when(lambda t, q, qd: t - 0.9)]
    run = simulate(HANGING, duration=1.0, events=listed, integrator="rk4", step=0.5, every=0.5)
    assert run.ended_by == f"{name} at -0.1" and run.q[-1, 0] == pytest.approx(-0.1, abs=1e-15)


def test_what_is_zero_at_the_start_has_not_happened_yet() -> None:
    name = HANGING.joints[0].name
    up = {"qd0": [3.0, 0.0], "duration": 2.0}
    for options in ({}, {"integrator": "rk4", "step": 0.01}):
        run = simulate(HANGING, events=[events.position(name, 0.0)], **up, **options)
        assert run.t[-1] == pytest.approx(2 * 3.0 / G, rel=1e-12)
    for direction, end in ((1, 2.0), (-1, 2 * 3.0 / G), (0, 2 * 3.0 / G)):
        run = simulate(HANGING, events=[events.position(name, 0.0, direction)], **up)
        assert run.t[-1] == pytest.approx(end, rel=1e-12) and bool(run.ended_by) == (end < 2)
    still = simulate(
        HANGING, torque.pd_gravity([0.0, 0.0], 10.0, 1.0), duration=0.2, events=[events.position(name, 0.0)]
    )
    assert still.t[-1] == 0.2 and not still.ended_by


def test_a_batch_says_which_event_ended_each_rollout_and_compiles_once(monkeypatch) -> None:
    name, heights = HANGING.joints[0].name, np.array([0.1, 0.5, 9.0, 1.0, 0.2])

    def run(scale: float, dtype: str = "float64"):
        listed = [events.speed(name, 6.0), events.position(name, -heights * scale)]
        return simulate_batch(HANGING, q0=np.zeros((5, 2)), duration=0.7, events=listed, every=0.1, dtype=dtype)

    batch = run(1.0)
    expected = np.minimum(np.sqrt(2 * heights / G), 6.0 / G)
    assert batch.reached == pytest.approx(expected, rel=1e-12) and batch.finished.all() and not batch.failed.any()
    assert batch.ended.tolist() == [1, 1, 0, 1, 1] and batch.events == (
        f"{name} faster than 6",
        f"{name} at its own value",
    )
    assert batch.q[:, -1, 0] == pytest.approx(-(expected**2) * G / 2, rel=1e-12)
    assert "5 ended by events" in repr(batch) and batch.kinetic.shape == (5, 8)
    assert batch.accepted == pytest.approx(np.ceil(expected / 1e-3 - 1e-6))
    assert run(1.0, "float32").reached == pytest.approx(expected, rel=1e-5)
    none = simulate_batch(HANGING, q0=np.zeros((2, 2)), duration=0.1, events=[events.position(name, -5.0)])
    assert none.ended.tolist() == [-1, -1] and none.finished.all()
    monkeypatch.setattr(native, "compile_ir", lambda text: pytest.fail("something is compiled"))
    assert run(0.5).reached == pytest.approx(np.minimum(np.sqrt(heights / G), 6.0 / G), rel=1e-12)


def test_the_place_of_a_floating_base_is_a_joint_like_others() -> None:
    dog = aw.load("anymal_c")
    run = simulate(dog, duration=1.0, events=[events.position("root_joint.z", -1.0)])
    assert run.t[-1] == pytest.approx(math.sqrt(2 / 9.81), rel=1e-9) and run.q[-1, 2] == pytest.approx(-1.0, abs=1e-12)
    with pytest.raises(InputError, match="is a rotation of a free joint"):
        simulate(dog, duration=1.0, events=[events.position("root_joint.wx", 0.1)])


def test_a_limit_where_a_motion_begins() -> None:
    arm = aw.load("panda")
    q0 = np.array([2.8973, -0.3, 0, -1.5, 0, 1.5, 0])
    q0[0] = arm.joints[0].limits[1]
    away, out = [-10.0, *[0.0] * 6], [10.0, *[0.0] * 6]
    run = simulate(arm, out, q0, duration=0.2, events=[events.limits("panda_joint1")])
    assert "panda_joint1 reaches its upper limit" in run.ended_by and run.t[-1] < 1e-3
    assert not simulate(arm, away, q0, duration=0.05, events=[events.limits("panda_joint1")]).ended_by
    q0[0] += 0.1
    for begin in (lambda: simulate(arm, out, q0, duration=0.2, events=[events.limits()]), lambda: simulate_batch(arm, out, q0[None], duration=0.2, events=[events.limits()])):  # fmt: skip
        with pytest.raises(InputError, match=r"upper limit 2\.8973: the motion begins 0\.1 beyond it"):
            begin()


def test_an_event_of_a_plane_has_a_name() -> None:
    assert events.plane((0, 0, 1), 0.1).name == "the tool passes a plane"
    assert events.plane((0, 0, 1), 0.1, frame="elbow").name == "elbow passes a plane"
    assert events.plane((0, 0, 1), 0.1, name="lands").name == "lands"


def test_payloads_and_tools_are_those_of_the_robot_asked_for() -> None:
    tool = np.eye(4)
    tool[2, 3] = 0.3
    arm = ARM.with_tool(tool).with_payload(2.0)
    run = simulate(arm, q0=START, duration=1.0, events=[events.plane((0, 0, 2), 0.1)])
    assert arm.forward_kinematics(run.q[-1])[2, 3] == pytest.approx(0.1, abs=1e-13)
    frame = ARM.frame_names[3]
    run = simulate(ARM, q0=START, duration=2.0, events=[events.plane((1, 1, 0), 0.1, frame=frame)])
    assert run.ended_by and ARM.forward_kinematics(run.q[-1], frame=frame)[:2, 3].sum() == pytest.approx(
        0.1 * math.sqrt(2), abs=1e-13
    )


@pytest.mark.parametrize("integrator", ["radau", "semi_implicit_euler"])
def test_methods_that_are_not_compiled_find_them_too(integrator: str) -> None:
    options = {"step": 1e-3} if integrator == "semi_implicit_euler" else {"rtol": 1e-8}
    run = simulate(
        HANGING, duration=1.0, events=[events.position(HANGING.joints[0].name, -0.5)], integrator=integrator, **options
    )
    assert run.ended_by and run.q[-1, 0] == pytest.approx(-0.5, abs=1e-12)


def test_noted_and_python_events_warn_that_they_are_slow() -> None:
    name = HANGING.joints[0].name
    with pytest.warns(SlowWarning, match="is not terminal"):
        run = simulate(HANGING, duration=0.5, events=[events.position(name, -0.1, terminal=False)])
    assert run.t[-1] == 0.5 and not run.ended_by and [e.name for e in run.events] == [f"{name} at -0.1"]
    with pytest.warns(SlowWarning, match="'by hand' is a Python function"):
        run = simulate(HANGING, duration=0.5, events=[aw.integrate.Event(lambda t, y: y[0] + 0.1, name="by hand")])
    assert run.ended_by == "by hand"


def test_a_run_its_page_and_its_file_say_which_event_ended_it(tmp_path) -> None:
    run = simulate(HANGING, duration=0.5, events=[events.position(HANGING.joints[0].name, -0.1, name="half <way>")])
    assert "ended by 'half <way>'" in repr(run)
    assert "half &lt;way&gt;" in run.to_html(tmp_path / "run.html").read_text(encoding="utf-8")
    back = Run.from_parquet(run.to_parquet(tmp_path / "run.parquet"))
    assert back.ended_by == "half <way>" and back.events[0].t == run.t[-1]


def test_an_event_that_is_not_a_number_is_told() -> None:
    lost = events.when(lambda t, q, qd: (0.05 + q[0]).sqrt(), name="root")
    with pytest.raises(SimulationError, match=r"an event \('root'\) is not finite after t = 0\.1"):
        simulate(HANGING, duration=0.5, events=[lost])


def test_all_crossings_of_what_turns_many_times_in_a_step_are_found() -> None:
    """sin(1e4 t) has 318 zeros in 0.1 s, of which the run takes a dozen steps."""
    fast = aw.integrate.Event(lambda t, y: np.sin(1e4 * t), terminal=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SlowWarning)
        run = simulate(HANGING, duration=0.1, events=[fast])
    assert [event.t for event in run.events] == pytest.approx(np.arange(1, 319) * np.pi / 1e4, abs=1e-12)
    assert run.statistics.accepted < 50
    third = replace(fast, terminal=3, direction=1)
    assert quietly(HANGING, duration=0.1, events=[third]).t[-1] == pytest.approx(6 * np.pi / 1e4, abs=1e-12)


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("method", [{"integrator": "rk4", "step": 0.02}, {"integrator": "rkdp54", "rtol": 1e-6}])
def test_the_first_of_several_crossings_in_a_step_ends_a_rollout(method: dict, target: str) -> None:
    """Below its level at both ends of a step, above it for a while; or above 0.99 for a ninth of each period only."""
    thrown = {"q0": [0.0, 0.0], "qd0": [0.2, 0.0], "duration": 0.06}
    height = 0.2**2 / (2 * G)  # where the slide turns, after 0.0204 s
    levels = np.array([0.5 * height, 0.99 * height, 1.01 * height])
    up = simulate_batch(
        HANGING, **thrown, target=target, events=[events.position("joint1", levels, direction=1)], **method
    )
    first = (0.2 - np.sqrt(0.2**2 - 2 * G * levels[:2])) / G
    assert up.reached == pytest.approx([*first, 0.06], abs=1e-9) and up.ended.tolist() == [0, 0, -1]
    fast = events.when(lambda t, q, qd, c: sin(800 * t) - c, [np.array([0.99, -0.5, 1.01])], direction=1)
    run = simulate_batch(HANGING, **thrown, target=target, events=[fast], **method)
    rises = np.array([np.arcsin(0.99), 2 * np.pi + np.arcsin(-0.5)]) / 800
    assert run.reached == pytest.approx([*rises, 0.06], abs=1e-9)


@pytest.mark.parametrize("integrator", ["radau", "semi_implicit_euler", "taylor"])
def test_other_methods_look_within_their_steps_too(integrator: str) -> None:
    how = {"step": 0.01} if integrator == "semi_implicit_euler" else {}
    fast = aw.integrate.Event(lambda t, y: np.sin(1e3 * t), terminal=False)
    run = quietly(HANGING, duration=0.1, integrator=integrator, events=[fast], **how)
    assert [event.t for event in run.events] == pytest.approx(np.arange(1, 32) * np.pi / 1e3, abs=1e-10)


def test_what_turns_too_fast_for_any_look_is_told() -> None:
    wild = aw.integrate.Event(lambda t, y: np.sin(1e7 * t), terminal=False, name="wild")
    with (
        warnings.catch_warnings(),
        pytest.warns(SimulationWarning, match="event 'wild' oscillates within 0.001 of"),
    ):
        warnings.simplefilter("ignore", SlowWarning)
        simulate(HANGING, duration=0.002, every=0.002, integrator="rk4", step=0.002, events=[wild])


def test_a_corner_and_a_jump_take_no_closer_look() -> None:
    asked: list[float] = []

    def jumps(t: float, y: np.ndarray) -> bool:
        asked.append(t)
        return t > 0.0511

    run = quietly(HANGING, duration=0.1, events=[aw.integrate.Event(jumps, terminal=False)])
    assert [event.t for event in run.events] == pytest.approx([0.0511], abs=1e-12) and len(asked) < 300
    corner = events.when(lambda t, q, qd: (q[0] < -0.1) | (t > 0.0511))
    assert simulate(HANGING, duration=0.1, events=[corner]).t[-1] == pytest.approx(0.0511, abs=1e-12)


TRUTHS = (
    lambda t, q, qd: (q[0] < -0.3) & (qd[0] < 0) | (q[0] > 9.0),
    lambda t, q, qd: ~((q[0] >= -0.3) | (qd[0] >= 0)),
)


@pytest.mark.parametrize("truth", TRUTHS)
def test_a_comparison_happens_where_it_becomes_true(truth) -> None:
    """A slide falls by 0.3 m in sqrt(2 * 0.3 / g), however the question is put, compiled or from Python."""
    falls = math.sqrt(2 * 0.3 / G)
    for event in (events.when(truth, direction=1), aw.integrate.Event(lambda t, y: bool(y[0] < -0.3), direction=1)):
        run = quietly(HANGING, duration=1.0, events=[event])
        assert run.ended_by == "event" and run.t[-1] == pytest.approx(falls, abs=1e-12)
    assert quietly(HANGING, duration=1.0, integrator="radau", events=[events.when(truth)]).t[-1] == pytest.approx(
        falls, abs=1e-6
    )
    noted = aw.integrate.Event(lambda t, y: np.bool_(-0.8 < y[0] < -0.3), terminal=False)
    found = quietly(HANGING, duration=1.0, events=[noted]).events
    assert [event.t for event in found] == pytest.approx([falls, math.sqrt(2 * 0.8 / G)], abs=1e-12)


def test_joints_are_given_by_number_from_zero_as_by_name() -> None:
    for make in (lambda j: events.speed(j, 1.5), lambda j: events.position(j, 0.4), events.limits):
        named, numbered, last = (make(joint).on(ARM) for joint in ("joint6", np.int64(5), -1))
        assert named == numbered == last
    assert "joint number 5" in repr(events.speed(5, 1.0))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: events.speed(6, 1.0).on(ARM), "expected a name, or a number from 0 to 5"),
        (lambda: events.limits(True).on(ARM), "expected a name, or a number from 0 to 5"),
        (lambda: simulate(ARM, duration=1.0, events=[events.when(lambda t, q, qd: q[0] == q[1])]), "it is False for every state"),
        (lambda: simulate(ARM, duration=1.0, events=[events.when(lambda t, q, qd: q[0] > 0 and t > 1)]), "& | ~ in place of and, or, not"),
        (lambda: simulate(reverse(ARM), duration=1.0, stops=True), r"limits of joint2 are 1 to -1, in reverse; expected the lower one first"),
        (lambda: simulate(reverse(ARM), duration=1.0, events=[events.limits()]), "limits of joint2 are 1 to -1, in reverse"),
        (lambda: simulate(ARM, duration=1.0, events=[3]), "expected a list of events of armwright.events"),
        (lambda: simulate(ARM, duration=1.0, events=[events.position("joint9", 0.1)]), "joint9"),
        (lambda: simulate(ARM, duration=1.0, events=[events.plane((0, 0, 1), 0.1, frame="nose")]), "nose"),
        (lambda: simulate(ARM, duration=1.0, events=[events.when(lambda t, q, qd: q[0] if q[0] > 0 else 1)]), "cannot be compiled"),
        (lambda: simulate(ARM, duration=1.0, events=[events.when(lambda t, q, qd: np.exp(q[0]))]), "cannot be compiled"),
        (lambda: simulate(ARM, duration=1.0, events=[events.position("joint1", np.zeros(3))]), "numbers for 3 rollouts"),
        (lambda: simulate(HANGING, duration=1.0, events=[events.limits()]), "no joint of slide has limits"),
        (lambda: simulate(aw.load("anymal_c"), duration=1.0, events=[events.plane((0, 0, 1), 0.1)]), "about one frame, and this robot has several tips"),
        (lambda: events.plane((0, 0, 0), 0.1), "three numbers, not all zero"),
        (lambda: events.plane(("a", 0, 1), 0.1), "normal holds .*three numbers, not all zero"),
        (lambda: events.plane(([], 0, 1), 0.1), "normal is not an array of numbers"),
        (lambda: events.position("joint1", math.nan), "expected one finite number"),
        (lambda: events.position("joint1", "0.1"), "value holds text.*expected one finite number"),
        (lambda: events.speed("joint1", True), "most holds true or false"),
        (lambda: events.position("joint1", 0.1, name=["here"]), "name = .'here'. of an event; expected a text"),
        (lambda: events.position("joint1", 0.1, direction=2), "direction = 2"),
        (lambda: events.speed("joint1", -1.0), "a speed above zero"),
        (lambda: events.when(3), "expected a function"),
        (lambda: events.when(lambda t, q, qd, x: x, 0.3), "expected a list, one entry for each"),
        (lambda: simulate(ARM, duration=1.0, events=[events.when(lambda t, q, qd: q[7])]), "cannot be compiled"),
        (lambda: events.position("joint1", np.ma.array([0.1, 0.2], mask=[0, 1])), "masked entries; fill them first"),
        (lambda: simulate_batch(ARM, duration=1.0, events=[events.limits(terminal=False)]), "simulate_batch takes events"),
        (lambda: simulate_batch(ARM, q0=np.zeros((2, 6)), duration=1.0, events=[events.position("joint1", np.zeros(3))]), "others are for 3"),
        (lambda: simulate(random_tree(2, 5, floating=True), duration=1.0, events=[events.position("base.rx", 0.1)]), "base"),
        (lambda: simulate(ARM, duration=1.0, stops=3), "stops = 3"),
        (lambda: simulate(HANGING, duration=1.0, stops=True), "no joint of slide has limits"),
        (lambda: torque.stops(ARM, stiffness=-1.0), "above zero"),
        (lambda: torque.stops(ARM, stiffness=[1.0, 2.0]), "one for each of 6 joints"),
        (lambda: simulate(HANGING, torque.stops(ARM), duration=1.0), "not those of slide"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told(make, said: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=said):
        make()
