"""Structure compiles, numbers do not: what differs in numbers only is one program, and gives what it gave when folded."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import armwright as aw
from armwright.backends.interpreter import InterpretedKernel
from armwright.backends.llvm import native
from armwright.integrate import Taylor
from armwright.simulation import kernels
from armwright.simulation.motion_programs import derivative, equations_of_motion
from armwright.simulation.motion_record import MotionRecord
from armwright.torque import LAWS
from armwright.torque.runtime_parameters import is_built_in, merged_laws, parameterise
from armwright.trajectory import cycloidal, normal_spline, trapezoidal

ARM = aw.load("puma560_geared")
START, END = np.linspace(-0.5, 0.5, 6), np.linspace(0.4, -0.6, 6)
MOTIONS = {
    "polynomial": lambda x: normal_spline(START, END + x, 1.0 + x),
    "pieces": lambda x: trapezoidal(START, END + x, duration=1.0 + x),
    "formula": lambda x: cycloidal(START, END + x, 1.0 + x),
    "joined": lambda x: normal_spline(START, END, 0.5).then(normal_spline(END, START + x, 0.5 + x)),
    "retimed": lambda x: normal_spline(START, END + x, 0.7).scaled(1.5 + x).shifted(-0.1 - x),
    "backwards": lambda x: normal_spline(START, END + x, 1.0 + x).reversed(),
    "holding": lambda x: cycloidal(START, END + x, 0.6 + x).holding(),
}


def laws():
    """Pairs that differ in numbers only."""
    for name, kind in LAWS.items():
        if name == "free":
            continue
        both = []
        for x in (0.0, 0.1):
            given = {k: np.asarray(v) * (1 + x) for k, v in kind.example.items()}
            if name == "table":
                given["torques"] = np.repeat(given["torques"], 6, axis=1)
            if name == "friction":
                given["smooth"] = float(given["smooth"])
            both.append(kind.make(*([END + x] if kind.follows else []), **given))
        yield pytest.param(*both, id=name)
    for name, motion in MOTIONS.items():
        yield pytest.param(*(aw.torque.pd(motion(x), 20 + x, 2 + x) for x in (0.0, 0.1)), id=f"pd along {name}")
    yield pytest.param(
        *((aw.torque.pd(END + x, 20 + x, 2) + aw.torque.constant(1 + x)).limited(5 + x) for x in (0.0, 0.1)),
        id="limited sum",
    )


@pytest.mark.parametrize(("one", "other"), list(laws()))
def test_laws_that_differ_in_numbers_are_one_program_that_gives_what_each_gives(one, other):
    forms = [parameterise(law) for law in (one, other)]
    assert forms[0].structure == forms[1].structure
    assert hash(forms[0].structure) == hash(forms[1].structure)
    assert forms[0].numbers != forms[1].numbers
    rng = np.random.default_rng(0)
    for law, (form, numbers, _) in zip((one, other), forms, strict=True):
        folded, opened = (
            derivative(equations_of_motion(MotionRecord(ARM, law))),
            derivative(equations_of_motion(MotionRecord(ARM, form))),
        )
        y = rng.uniform(-0.5, 0.5, (1, folded.sizes[1]))
        results = []
        for program, more in ((folded, []), (opened, [np.array([numbers])])):
            out = np.empty((1, program.results))
            InterpretedKernel(program, "float64").run([np.array([[0.31]]), y, *more], out)
            results.append(out)
        assert np.abs(results[0] - results[1]).max() < 1e-9 * np.abs(results[0]).max()


def varied_calls():
    rng = np.random.default_rng(1)
    turned = [[1, 0, 0, 0.2], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    lifted = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]]
    return {
        "torques": lambda: (ARM, rng.uniform(-1, 1, 6)),
        "gains and target": lambda: (ARM, aw.torque.pd_gravity(rng.uniform(-1, 1, 6), rng.uniform(10, 20, 6), 2.0)),
        "motion": lambda: (ARM, aw.torque.computed_torque(normal_spline(START, rng.uniform(-1, 1, 6), 0.2), 90, 18)),
        "payload": lambda: (ARM.with_payload(rng.uniform(0.5, 3), rng.uniform(0, 0.1, 3)), aw.torque.pd(END, 9, 2)),
        "gravity": lambda: (ARM.with_gravity(rng.uniform(-9, 9, 3)), aw.torque.pd(END, 9, 2)),
        "mounting": lambda: (ARM.mounted(turned), aw.torque.pd(END, 9, 2)),
        "tool": lambda: (ARM.with_tool(lifted).with_payload(1.0), aw.torque.pd(END, 9, 2)),
    }


@pytest.mark.parametrize(
    ("what", "integrator"),
    [*((what, "dop853") for what in varied_calls()), ("payload", "rk4"), ("gains and target", "radau")],
)
def test_nothing_is_compiled_twice(what, integrator, monkeypatch):
    options = {"step": 2e-4} if integrator == "rk4" else {"rtol": 1e-6}
    make = varied_calls()[what]

    def run():
        robot, law = make()
        return aw.simulate(robot, law, duration=0.1, every=0.05, integrator=integrator, **options)

    run()
    monkeypatch.setattr(native, "compile_ir", lambda text: pytest.fail("something is compiled"))
    run()
    run()


@pytest.mark.parametrize("what", ["gains and target", "payload"])
def test_a_taylor_integrator_is_built_once(what, monkeypatch):
    built, make = [], varied_calls()[what]
    monkeypatch.setattr(kernels, "Taylor", lambda *given: built.append(1) or Taylor(*given))
    asked = {"duration": 0.1, "every": 0.05}
    for _ in range(2):
        robot, law = make()
        run = aw.simulate(robot, law, **asked, integrator="taylor", rtol=1e-14)
        assert np.abs(run.q - aw.simulate(robot, law, **asked, rtol=1e-12).q).max() < 1e-10
    assert len(built) == 1


@pytest.mark.parametrize("what", ["payload", "gravity", "mounting", "tool"])
def test_shared_code_gives_what_the_robot_itself_gives(what):
    robot, law = varied_calls()[what]()
    law = law + aw.torque.computed_torque(normal_spline(START, END, 0.2), 90, 18)  # which knows what it holds
    run = aw.simulate(robot, law, duration=0.2, every=0.05, rtol=1e-10)

    def called(t, q, qd):
        moment = aw.torque.Moment(t, q.tolist(), qd.tolist(), robot.mechanism())
        return law.torques(moment)

    with pytest.warns(aw.SlowWarning):
        other = aw.simulate(robot, called, START, duration=0.2, every=0.05, rtol=1e-10)
    assert np.abs(run.q - other.q).max() < 1e-8
    assert np.abs(run.tau - other.tau).max() < 1e-5
    assert np.abs(run.potential - robot.potential_energy(run.q)).max() < 1e-10 * np.abs(run.potential).max()
    assert np.abs(run.kinetic - robot.kinetic_energy(run.q, run.qd)).max() < 1e-9
    assert run.audit.first_doubt is None


@dataclass(frozen=True)
class Looks(aw.torque.Law):
    """A law of somebody's own, which looks at the tool."""

    def torques(self, at):
        return [at.mechanism.tool.position.z + 0 * x for x in at.qd]


def test_a_law_of_ones_own_sees_base_and_tool():
    assert not is_built_in(Looks() + aw.torque.constant(1.0))
    lifted = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.7], [0, 0, 0, 1]]
    run = aw.simulate(ARM.with_tool(lifted), Looks(), duration=0.01, every=0.01)
    assert run.tau == pytest.approx(ARM.with_tool(lifted).mechanism().tool.position.z)


def test_every_rollout_has_its_own_numbers():
    rng = np.random.default_rng(3)
    q0, targets = rng.uniform(-1, 1, (2, 5, 6))
    kp, limit = rng.uniform(5, 20, (5, 6)), rng.uniform(10, 30, (5, 1))
    law = aw.torque.pd(targets, kp, 2.0).limited(limit)
    batch = aw.simulate_batch(ARM, law, q0, duration=0.1, every=0.05)
    for k in range(5):
        one = aw.torque.pd(targets[k], kp[k], 2.0).limited(float(limit[k, 0]))
        run = aw.simulate(ARM, one, q0[k], duration=0.1, every=0.05, integrator="rk4", step=1e-3)
        assert np.abs(batch.q[k] - run.q).max() < 1e-12
        assert np.abs(batch.tau[k] - run.tau).max() < 1e-9
    torques = rng.uniform(-1, 1, (5, 6))
    free = aw.simulate_batch(ARM, torques, duration=0.05)
    assert np.array_equal(free.q[2], aw.simulate_batch(ARM, torques[2], duration=0.05).q[0])
    with pytest.raises(aw.InputError, match="for 5 rollouts"):
        aw.simulate(ARM, law, duration=0.1)
    with pytest.raises(aw.InputError, match="for 3 rollouts, others are for 5"):
        aw.simulate_batch(ARM, law, q0[:3], duration=0.1)
    with pytest.raises(aw.InputError, match="4 and 5 rollouts"):
        aw.simulate_batch(ARM, aw.torque.pd(targets, kp[:4], 2.0), q0, duration=0.1)
    with pytest.raises(aw.InputError, match=r"kp\[1, 2\] is nan"):
        aw.torque.pd(targets, np.where(np.arange(30).reshape(5, 6) == 8, np.nan, kp), 2.0)
    with pytest.raises(aw.InputError, match="limit"):
        aw.torque.pd(targets, kp, 2.0).limited(-limit)


def test_every_rollout_has_its_own_motion():
    ends = np.random.default_rng(4).uniform(-1, 1, (4, 6))
    each = [aw.torque.computed_torque(normal_spline(START + 0.1 * k, end, 0.2), 90, 18) for k, end in enumerate(ends)]
    batch = aw.simulate_batch(ARM, each)
    assert batch.q.shape[0] == 4
    for k, law in enumerate(each):
        assert np.array_equal(batch.q[k], aw.simulate_batch(ARM, law).q[0])
    with pytest.raises(aw.InputError, match="has another structure"):
        aw.simulate_batch(ARM, [each[0], aw.torque.constant(1.0)], duration=0.1)
    with pytest.raises(aw.InputError, match="itself"):
        merged_laws([aw.torque.constant(ends), aw.torque.constant(ends)])


def test_a_stepper_shares_its_code(monkeypatch):
    q, qd, tau = START, np.zeros(6), np.ones(6)
    expected = [ARM.with_payload(mass).forward_dynamics(q, qd, tau) for mass in (1.0, 2.0)]
    ends = [aw.stepper(ARM.with_payload(1.0)).step(q, qd, tau)[1]]
    monkeypatch.setattr(native, "compile_ir", lambda text: pytest.fail("something is compiled"))
    ends.append(aw.stepper(ARM.with_payload(2.0)).step(q, qd, tau)[1])
    for end, qdd in zip(ends, expected, strict=True):
        assert np.abs(end / 1e-3 - qdd).max() < 0.02 * np.abs(qdd).max()


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_every_rollout_begins_at_its_own_time(integrator):
    """Bitwise as a run of its own that starts then: what a law does at t, it does at the t of its rollout."""
    motion = normal_spline(START, END, 1.0)
    law = aw.torque.pd_gravity(motion, 40.0, 6.0) + aw.torque.table([0, 0.4, 1], [[0.0] * 6, [1.0] * 6, [-1.0] * 6])
    starts = np.array([0.0, 0.3, 0.61, 0.1])
    options = {"step": 1e-3} if integrator == "rk4" else {"rtol": 1e-7}
    asked = {"duration": 0.3, "every": 0.07, "integrator": integrator, **options}
    batch = aw.simulate_batch(ARM, law, start=starts, **asked)
    assert batch.t.shape == (4, 6)
    assert batch.reached == pytest.approx(starts + 0.3)
    assert batch.finished.all()
    for k, start in enumerate(starts):
        run = aw.simulate(ARM, law, start=float(start), **asked)  # from where the motion is then
        assert np.array_equal(batch.t[k], run.t)
        assert np.array_equal(batch.q[k], run.q)
        assert np.abs(batch.tau[k] - run.tau).max() < 1e-9
        assert batch.accepted[k] == run.statistics.accepted
    left = aw.simulate_batch(ARM, law, start=starts)  # as long as the last one has left
    assert left.t[:, -1] == pytest.approx(starts + 0.39)
    assert repr(left) == "<4 runs of puma560_geared, 0 to 1 s>"
    each = aw.simulate_batch(ARM, [law] * 4, start=starts, **asked)
    assert np.array_equal(each.q, batch.q)
    moved = [aw.torque.pd(motion.shifted(float(start)), 40.0, 6.0) for start in starts + 0.5]
    alike = aw.simulate_batch(ARM, moved, start=starts + 0.5, **asked).q  # each law lasts from its own start on
    assert np.abs(alike - alike[0]).max() < 1e-9
    single = aw.simulate_batch(ARM, law, start=starts, **asked, dtype="float32")
    assert np.abs(single.q - batch.q).max() < 1e-4
    assert np.array_equal(aw.simulate_batch(ARM, law, start=starts[2:3], **asked).q[0], batch.q[2])


def test_what_is_wrong_with_starts_is_told():
    law = aw.torque.pd(normal_spline(START, END, 1.0), 40.0, 6.0)
    for start in ([0.0, np.nan], [[0.0, 0.1]], [], "soon", [0.0, 1e12]):
        with pytest.raises(aw.InputError, match="start"):
            aw.simulate_batch(ARM, law, start=start, duration=0.1)
    with pytest.raises(aw.InputError, match="start = "):
        aw.simulate(ARM, law, start=[0.0, 0.1], duration=0.1)
    with pytest.raises(aw.InputError, match="defined from 0 to 1 s"):
        aw.simulate_batch(ARM, law, start=[0.0, 0.95], duration=0.1)
    with pytest.raises(aw.InputError, match="q0 is for 2 rollouts, others are for 3"):
        aw.simulate_batch(ARM, law, np.stack([START, END]), start=[0.0, 0.1, 0.2], duration=0.1)
    with pytest.raises(aw.InputError, match="start has 3 rollouts, and there are 2 laws"):
        aw.simulate_batch(ARM, [law, law], start=[0.0, 0.1, 0.2], duration=0.1)


def each_with_zeros():
    still = normal_spline(START, START, 0.2)  # all of its powers but the first are zero
    moving = normal_spline(START, END, 0.2)
    return {
        "gains": [aw.torque.pd(END, k, 1.0) for k in (0, 1, 2)],
        "the first of many": [aw.torque.pid(END, 9.0, k, 0.0) for k in (0.0, 3.0)],
        "feedback": [aw.torque.feed_forward(moving, k, k) for k in (0.0, 5.0)],
        "motions": [aw.torque.computed_torque(motion, 90, 18) for motion in (still, moving)],
        "torques": [aw.torque.constant(x) for x in (0.0, 1.0)],
        "friction": [aw.torque.friction(v, c, 0.01) + aw.torque.constant(1.0) for v, c in ((0.0, 0.1), (0.2, 0.0))],
        "limits": [aw.torque.constant(1.0).limited(x) for x in (0.0, 0.5)],
    }


@pytest.mark.parametrize("what", each_with_zeros())
def test_a_zero_of_some_rollouts_is_a_number_as_those_of_the_others(what):
    laws = each_with_zeros()[what]
    batch = aw.simulate_batch(ARM, laws, START, duration=0.1, every=0.05)
    for k, law in enumerate(laws):
        alone = aw.simulate_batch(ARM, law, START, duration=0.1, every=0.05)
        assert np.abs(batch.q[k] - alone.q[0]).max() < 1e-12
        assert np.abs(batch.tau[k] - alone.tau[0]).max() < 1e-9
    assert merged_laws([laws[0]] * 2).structure == parameterise(laws[0]).structure  # where all have it, it is structure


def test_friction_that_jumps_is_another_form():
    with pytest.raises(aw.InputError, match=r"has another structure.*smooth = 0 is another one"):
        aw.simulate_batch(ARM, [aw.torque.friction(1.0, 1.0, smooth) for smooth in (0.0, 0.1)], duration=0.1)


@dataclass(frozen=True)
class Ruled(aw.torque.Law):
    """The torques that a function says."""

    rule: Callable

    def torques(self, at):
        return self.rule(at)


LEVEL = 0.5


def of_global(at):
    return [LEVEL * x for x in at.q]


def through_another(at):
    return [of_global(at)[k] for k in range(at.n)]


def of_closure(level):
    return lambda at: [level * x for x in at.q]


def of_default(level):
    def rule(at, by=level, *, more=level):
        return [(by + more) * x for x in at.q]

    return rule


def form(rule):
    return parameterise(Ruled(rule)).structure


@pytest.mark.parametrize("rule", [of_global, through_another])
def test_what_a_function_reads_from_its_globals_is_seen(rule, monkeypatch):
    ask = {"q0": START + 0.1, "duration": 0.1, "every": 0.05, "integrator": "rk4", "step": 1e-3}
    before = form(rule), aw.simulate(ARM, Ruled(rule), **ask).q
    monkeypatch.setattr(sys.modules[__name__], "LEVEL", 1.0)
    after = form(rule), aw.simulate(ARM, Ruled(rule), **ask).q
    assert before[0] != after[0]
    assert np.abs(before[1] - after[1]).max() > 1e-6
    monkeypatch.undo()
    assert form(rule) == before[0]


@pytest.mark.parametrize("make", [of_closure, of_default])
def test_a_function_made_again_is_the_same_and_one_that_reads_something_else_is_not(make):
    for one, other in ((1.0, 2.0), ([1.0], [2.0]), (np.ones(2), np.zeros(2)), (1, 1.0), (of_global, through_another)):
        assert form(make(one)) == form(make(one))
        assert hash(form(make(one))) == hash(form(make(one)))
        assert form(make(one)) != form(make(other))
    held = {}
    assert form(make(held)) == form(make(held))  # what is in there is not looked at
    assert form(make(held)) != form(make({}))
    assert form(make(of_closure(1.0))) == form(make(of_closure(1.0)))


def test_a_function_that_calls_itself_has_an_end():
    def again(k):
        return again(k - 1) if k else 0.0

    assert form(again) == form(again)


def test_an_event_sees_what_its_function_reads():
    level = 0.02

    def late(t, q, qd):
        return t - level

    ends = []
    for level in (0.02, 0.04):  # noqa: B007
        ends.append(aw.simulate(ARM, None, duration=0.1, events=[aw.events.when(late)]).t[-1])
    assert ends == pytest.approx([0.02, 0.04])
