"""Laws of one's own, those of docs/laws.md: each does what its physics says, on every way that a simulation can go."""

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import ASKED, close, random_case

import armwright as aw
from armwright.algebra import maximum, minimum
from armwright.backends.llvm import native
from armwright.errors import InputError, SlowWarning, UnknownNameError
from armwright.formulations import problem_of
from armwright.torque import Moment, interpolated
from armwright.torque.runtime_parameters import parameterise

DOCUMENT = Path(__file__).parent.parent / "docs" / "laws.md"
KEPT = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)


def written() -> dict:
    """The laws and functions of the document, without what it runs."""
    text = "\n".join(re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), flags=re.S | re.M))
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if isinstance(node, KEPT)]
    names: dict = {}
    exec(compile(tree, str(DOCUMENT), "exec"), names)
    return names


LAW = written()
ARM = aw.random_robot(3, 1, prismatic=0.0)
START = np.array([0.3, -0.4, 0.5])
MOTION = aw.trajectory.quintic([0, 0.4], [START, START + 0.2])


def law(name: str, x: float = 0.0) -> aw.torque.Law:
    """One of each, with numbers that depend on x."""
    rng = np.random.default_rng(0)
    if name == "impedance":
        tip = ARM.forward_kinematics(START)[:3, 3]
        return LAW["Impedance"](tuple(tip + 0.02 + x), 300.0 + x, 20.0 + x) + aw.torque.friction(0.5)
    if name == "around":
        gains = (20 + x) * np.tile(np.eye(3), 2) + rng.uniform(-1, 1, (3, 3, 6))
        return aw.torque.feed_forward(MOTION) + LAW["Around"](MOTION, (0.0, 0.1 + x, 0.4), gains)
    return LAW["Network"](tuple(START + 0.1 + x), rng.standard_normal((4, 6)) + x, rng.standard_normal((3, 4)))


NAMES = ("impedance", "around", "network")
ASK = {"q0": START + 0.02, "duration": 0.3, "every": 0.1}


@pytest.mark.parametrize("name", NAMES)
def test_every_way_of_a_simulation_takes_it(name: str, tmp_path: Path) -> None:
    """Compiled, from Python, with events, by implicit and Taylor methods: one motion, and the books balance."""
    own = law(name)
    run = aw.simulate(ARM, own, **ASK, rtol=1e-11)
    assert run.audit.first_doubt is None
    assert run.verify().largest < 1e-9
    mechanism = ARM.mechanism()
    with pytest.warns(SlowWarning):
        called = aw.simulate(ARM, lambda t, q, qd: own.torques(Moment(t, q, qd, mechanism)), **ASK, rtol=1e-10)
    close(called.q, run.q, 1e-8)
    event = aw.integrate.Event(lambda t, _y: t - 0.25, terminal=False, name="late")
    with pytest.warns(SlowWarning, match="event 'late' is a Python function"):
        close(aw.simulate(ARM, own, **ASK, events=[event], rtol=1e-10).q, run.q, 1e-6)
    close(aw.simulate(ARM, own, **ASK, integrator="radau", rtol=1e-8).q, run.q, 1e-6)
    if name == "around":
        with pytest.raises(InputError, match="max, min"):
            aw.simulate(ARM, own, **ASK, integrator="taylor")
    else:
        close(aw.simulate(ARM, own, **ASK, integrator="taylor").q, run.q, 1e-9)
    assert "energy" in run.to_html(tmp_path / "run.html").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_rollout_has_its_own(name: str) -> None:
    shifts = np.linspace(0, 0.05, 5)
    each = [law(name, float(x)) for x in shifts]
    batch = aw.simulate_batch(ARM, each, **ASK)
    single = aw.simulate_batch(ARM, each, **ASK, dtype="float32")
    for k, own in enumerate(each):
        run = aw.simulate(ARM, own, **ASK, integrator="rk4", step=1e-3)
        assert np.array_equal(batch.q[k], run.q)
        close(batch.tau[k], run.tau, 1e-12)
    close(single.q, batch.q, 1e-4)
    assert np.abs(np.diff(batch.q[:, -1], axis=0)).min() > 1e-6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_other_numbers_compile_nothing(name: str, integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    aw.simulate(ARM, law(name), **ASK, integrator=integrator, rtol=1e-6)
    monkeypatch.setattr(native, "compile_ir", lambda text: pytest.fail("something is compiled"))
    aw.simulate(ARM, law(name, 0.01), **ASK, integrator=integrator, rtol=1e-6)


def test_whole_numbers_where_floats_are_declared_are_open_too() -> None:
    floats, whole = (
        LAW["Impedance"]((0.1, 0.2, 0.3), 300.5, 20.5),
        LAW["Impedance"]((1, 0, np.float32(2)), 300, np.int64(20)),
    )
    assert whole.where == (1.0, 0.0, 2.0)
    assert parameterise(whole).structure == parameterise(floats).structure
    assert parameterise(whole).numbers == [1.0, 0.0, 2.0, 300.0, 20.0]


def test_a_tip_on_a_spring_sags_by_the_weight_it_does_not_know_of() -> None:
    arm, home = aw.load("ur5"), np.array([0.0, -1.2, 1.6, -0.4, 1.2, 0.0])
    tip = arm.forward_kinematics(home)[:3, 3]
    hold = LAW["Impedance"](tuple(tip), 2000.0, 300.0) + aw.torque.friction(viscous=[9, 9, 9, 3, 3, 3])
    masses = np.array([0.0, 1.0, 2.0])
    held = aw.simulate_batch(arm, hold, home, duration=2.5, vary={"payload.mass": masses})
    moved = arm.forward_kinematics(held.q[:, -1])[:, :3, 3] - tip
    close(-moved[:, 2], masses * -arm.gravity[2] / 2000, 1e-2)
    assert np.abs(moved[:, :2]).max() < 1e-4


def test_a_regulator_leads_back_to_its_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAW, "arm", ARM)
    beside = {
        name: np.abs(aw.simulate(ARM, drive, q0=START + 0.05, rtol=1e-7).q[-1] - MOTION(0.4)[0]).max()
        for name, drive in {
            "none": aw.torque.feed_forward(MOTION),
            "soft": LAW["regulator"](MOTION, 1.0),
            "stiff": LAW["regulator"](MOTION, 1e-3),
        }.items()
    }
    assert beside["stiff"] < 0.2 * beside["soft"]
    assert beside["soft"] < beside["none"]


@pytest.mark.parametrize("problem", [p for p in ASKED if "derivatives" not in p and p != "gibbs_gradient"])
def test_a_moment_computes_what_the_robot_does(problem: str) -> None:
    case = random_case(4, 5)
    given = dict(zip(("q", "qd", "qdd"), case.state, strict=True)) | {"tau": case.qdd}
    asked = problem_of(problem).arguments
    at = Moment(0.0, case.q.tolist(), case.qd.tolist(), case.arm.mechanism())
    found = at.compute(problem, *(given[name].tolist() for name in asked if name not in ("q", "qd")))
    close(np.array(found), aw.compile(case.arm, problem, target="python")(*(given[name] for name in asked)), 1e-11)


def test_a_moment_says_which_arguments_it_needs() -> None:
    at = Moment(0.0, [0.0] * 3, [0.0] * 3, ARM.mechanism())
    with pytest.raises(InputError, match="inverse_dynamics got 0 arguments; expected qdd"):
        at.compute("inverse_dynamics")
    with pytest.raises(InputError, match="jacobian got 1 arguments; expected none"):
        at.compute("jacobian", at.q)
    with pytest.raises(UnknownNameError, match="Did you mean 'jacobian'"):
        at.compute("jacobain")


def test_tables_of_any_shape_are_interpolated() -> None:
    times, values = (0.0, 0.5, 2.0), np.random.default_rng(0).normal(size=(3, 2, 4))
    for t in (-1.0, 0.0, 0.3, 0.5, 1.7, 2.0, 5.0):
        expected = [[np.interp(t, times, column) for column in row] for row in np.moveaxis(values, 0, -1)]
        close(interpolated(t, times, values), expected, 1e-14)


@dataclass(frozen=True)
class Pull(aw.torque.Law):
    """Any torques, of a number and the moment."""

    k: float
    rule: Callable

    def torques(self, at: Moment):
        return self.rule(self.k, at)


RULES = {
    "field times array": lambda k, at: k * np.array(at.q),
    "array times time": lambda k, at: k * np.array(at.q) * at.t,
    "time times array": lambda k, at: list(at.t * np.array(at.q) / k),
    "function of one": lambda k, at: [np.sin(k * q) - np.tanh(v) for q, v in zip(at.q, at.qd, strict=True)],
    "bounds of one": lambda k, at: [np.maximum(q, 0.1) * k - np.minimum(abs(v), 0.2) for q, v in zip(at.q, at.qd, strict=True)],
    "bounds of arrays": lambda k, at: maximum(minimum(k * np.array(at.q), 0.5), -0.5),
    "powers": lambda k, at: k * np.array(at.q) ** 2 - np.array(at.qd) ** 3,
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_arithmetic_of_numpy_compiles_to_what_it_gives_from_python(rule: Callable) -> None:
    run = aw.simulate(ARM, Pull(1.5, rule), **ASK, rtol=1e-9)
    mechanism = ARM.mechanism()
    expected = [rule(1.5, Moment(*row, mechanism)) for row in zip(run.t, run.q, run.qd, strict=True)]
    close(run.tau, np.array(expected, dtype=float), 1e-13)


WRONG = {
    "a branch": (lambda k, at: [q if q > 0 else -q for q in at.q], "Pull cannot be compiled.*minimum, maximum or select"),
    "a field compared": (lambda k, at: [q if k == 3.0 else -q for q in at.q], "Pull cannot be compiled.*before it has a"),
    "a field unlike": (lambda k, at: [q if k != 0 else -q for q in at.q], "Pull cannot be compiled.*before it has a"),
    "max of Python": (lambda k, at: [max(q, 0.0) for q in at.q], "Pull cannot be compiled"),
    "bounds of arrays": (lambda k, at: np.maximum(np.array(at.q), 0.0), "Pull cannot be compiled"),
    "math": (lambda k, at: [math.sin(q) for q in at.q], "Pull cannot be compiled"),
    "no operation": (lambda k, at: [np.exp(q) for q in at.q], "Pull cannot be compiled"),
    "too few": (lambda k, at: [k, k], "torques gave 2 numbers; expected one torque for each of 3 joints"),
    "too many": (lambda k, at: at.q + at.q, "torques gave 6 numbers; expected one torque for each of 3 joints"),
    "nothing": (lambda k, at: None, "torques gave None; expected a list"),
    "one number": (lambda k, at: k, "expected a list, one torque for each of 3 joints"),
    "rows": (lambda k, at: np.ones((3, 2)) * k, r"torques\[0\] has shape \(2,\); expected a number"),
}  # fmt: skip


@pytest.mark.parametrize("around", [lambda law: law, lambda law: (law + aw.torque.constant(1.0)).limited(9.0)])
@pytest.mark.parametrize("rule", WRONG)
def test_what_cannot_be_traced_says_which_law_and_what_to_use(rule: str, around: Callable) -> None:
    wrong, said = WRONG[rule]
    with pytest.raises(InputError, match=said):
        aw.simulate(ARM, around(Pull(2.0, wrong)), **ASK)


def test_a_memory_whose_rates_are_too_few_is_reported() -> None:
    @dataclass(frozen=True)
    class Forgetful(aw.torque.Law):
        def start(self, n: int) -> tuple[float, ...]:
            return (0.0,) * n

        def rates(self, at: Moment) -> list:
            return [at.q[0]]

        def torques(self, at: Moment) -> list:
            return list(at.memory)

    with pytest.raises(InputError, match=r"rates gave 1 numbers; expected one for each of 3 numbers that start\(n\)"):
        aw.simulate(ARM, Forgetful(), **ASK)


@dataclass(frozen=True)
class Spring(aw.torque.Law):
    k: float
    rest: tuple[float, ...] = (0.0, 0.0, 0.0)

    def torques(self, at: Moment) -> list:
        return [self.k * (rest - q) for rest, q in zip(self.rest, at.q, strict=True)]


def test_a_float_may_be_one_for_each_rollout() -> None:
    stiff = np.arange(4.0)
    batch = aw.simulate_batch(ARM, Spring(stiff), **ASK)
    for k, own in enumerate(aw.simulate_batch(ARM, [Spring(float(x)) for x in stiff], **ASK).q):
        assert np.array_equal(batch.q[k], own)
        close(own, aw.simulate_batch(ARM, Spring(float(stiff[k])), **ASK).q[0], 1e-14)
    with pytest.raises(InputError, match="numbers for 4 rollouts; expected one"):
        aw.simulate(ARM, Spring(stiff), **ASK)
    with pytest.raises(InputError, match=r"Spring\.k has shape \(2, 2\); expected one number, or \(rollouts,\)"):
        Spring(np.ones((2, 2)))


def test_fields_that_are_no_numbers_say_so() -> None:
    with pytest.raises(InputError, match=r"Network\.inner has masked entries; fill them first"):
        LAW["Network"](tuple(START), np.ma.masked_greater(np.arange(24.0).reshape(4, 6), 3), np.ones((3, 4)))
    with pytest.raises(InputError, match=r"Network\.inner is an array of object values; expected numbers"):
        LAW["Network"](tuple(START), np.array([[None]]), np.ones((3, 4)))
    whole = np.ma.masked_array(np.ones((4, 6)))
    close(aw.simulate(ARM, LAW["Network"](tuple(START), whole, np.ones((3, 4))), **ASK).q.shape, (4, 3), 0)
    assert Spring(2.0, [0.1, 0.2, 0.3]) == Spring(2.0, (0.1, 0.2, 0.3))


@dataclass(frozen=True)
class Held(aw.torque.Law):
    """PD feedback with gravity compensated, as a user writes it."""

    where: tuple[float, ...]
    kp: float
    kd: float
    model: aw.Robot | None = None

    def torques(self, at: Moment) -> list:
        weight = at.compute("gravity_torque")
        rows = zip(at.displacement_to(self.where), at.qd, weight, strict=True)
        return [self.kp * away - self.kd * qd + g for away, qd, g in rows]


@pytest.mark.parametrize("around", [lambda law: law, lambda law: (aw.torque.constant(0.0) + law).limited(1e6)])
def test_a_law_computes_with_its_own_model(around: Callable) -> None:
    """It sags by what the model does not know of: kp (q_d - q) is the weight of the payload at the end."""
    arm = aw.load("rr")
    where, kp = (0.3, 0.4), 400.0
    loaded = arm.with_payload(2.0)
    law = around(Held(where, kp, 250.0, model=arm))
    run = aw.simulate(loaded, law, where, duration=12.0, every=0.5, rtol=1e-9)
    missing = loaded.gravity_torque(run.q[-1]) - arm.gravity_torque(run.q[-1])
    assert np.abs(missing).min() > 1.0
    close(kp * (np.array(where) - run.q[-1]), missing, 1e-5)
    builtin = aw.simulate(
        loaded, aw.torque.pd_gravity(where, kp, 250.0, model=arm), where, duration=12.0, every=0.5, rtol=1e-9
    )
    close(run.q, builtin.q, 1e-8)
    event = aw.integrate.Event(lambda t, _y: t - 0.2, terminal=False, name="early")
    with pytest.warns(SlowWarning):
        stepwise = aw.simulate(loaded, law, where, duration=0.5, every=0.5, events=[event], rtol=1e-9)
    close(stepwise.q[-1], run.q[1], 1e-7)


@dataclass(frozen=True)
class Modelled(aw.torque.Law):
    """Its model comes first and has no default."""

    model: aw.Robot
    share: float

    def torques(self, at: Moment) -> list:
        return [self.share * g for g in at.compute("gravity_torque")]


@dataclass(frozen=True)
class Around(aw.torque.Law):
    """It calls another law as Python calls a method."""

    inner: aw.torque.Law

    def torques(self, at: Moment) -> list:
        return [2 * tau for tau in self.inner.torques(at)]

    @property
    def made_of(self) -> tuple:
        return (self.inner,)


def test_a_model_is_used_whoever_calls_the_law_and_must_be_given() -> None:
    arm = aw.load("rr")
    loaded, q = arm.with_payload(2.0), [0.3, 0.4]
    run = aw.simulate(loaded, Around(Modelled(arm, 0.5)), q, duration=0.01, every=0.01)
    close(run.tau[0], arm.gravity_torque(q), 1e-12)
    along = aw.torques_along(loaded, aw.trajectory.quintic([0, 1], [q, q]), friction_law=Around(Modelled(arm, -0.5)))
    close(along.drag[0], -arm.gravity_torque(q), 1e-12)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'model'"):
        Modelled(share=0.5)  # type: ignore[call-arg]


def test_a_field_of_another_base_may_have_no_reserved_name_either() -> None:
    @dataclass(frozen=True)
    class Counted:
        n: int = 3

    with pytest.raises(InputError, match="has a field 'n', which is reserved"):

        class Both(Counted, aw.torque.Law):
            pass


def test_a_model_has_the_joints_of_the_robot() -> None:
    with pytest.raises(
        InputError, match=r"Held\.model is puma560 with 6 freedoms.*expected a robot with the joints of rr"
    ):
        aw.simulate(aw.load("rr"), Held((0.3, 0.4), 1.0, 1.0, model=aw.load("puma560")), duration=0.1)
    with pytest.raises(InputError, match=r"Held\.model = 3: expected a Robot"):
        aw.simulate(aw.load("rr"), Held((0.3, 0.4), 1.0, 1.0, model=3), duration=0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["reference", "parts", "start", "check", "n", "positions", "span"])
def test_a_field_with_the_name_of_what_every_law_has_is_reported(name: str) -> None:
    members = {"__annotations__": {name: float}, "torques": lambda self, at: [0.0] * at.n}
    with pytest.raises(InputError, match=f"Own has a field '{name}'.*Reserved names: check, .*torques.*, and model"):
        type("Own", (aw.torque.Law,), members)


def test_a_law_that_hides_its_numbers_is_refused() -> None:
    class Hidden(aw.torque.Law):
        def __init__(self, k: float) -> None:
            self.k = k

        def torques(self, at: Moment) -> list:
            return [self.k * q for q in at.q]

    for law in (Hidden(1.0), Hidden(1.0) + aw.torque.constant(1.0), Hidden(1.0).limited(3.0)):
        with pytest.raises(InputError, match=r"Hidden is no dataclass.*expected @dataclass\(frozen=True\)"):
            aw.simulate(ARM, law, **ASK)
