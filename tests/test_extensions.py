"""What a user's package adds to lists of armwright works wherever a built-in entry does: laws and integrators."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright import torque
from armwright.algebra import Scalar
from armwright.cli import app
from armwright.errors import InputError
from armwright.integrate import INTEGRATORS, POLYNOMIALS, Tableau, TaylorPolynomials, method, methods, solve
from armwright.scenario import parse
from armwright.schema import schema
from armwright.simulation.integration_settings import integrator_names
from armwright.study.work_precision import work_precision
from armwright.torque import LAWS, LawEntry, LawParameter

ARM, START = aw.load("rr"), [0.3, 0.2]
RALSTON = Tableau("", 2, ((), (Fraction(2, 3),)), (Fraction(1, 4), Fraction(3, 4)), (0, Fraction(2, 3)))
HEUN_EULER = Tableau("", 2, ((), (1,)), (0.5, 0.5), (0, 1), embedded=1, error=(-0.5, 0.5))


@dataclass(frozen=True)
class Softening(torque.Law):
    """-stiffness tanh(q - rest) - damping qd"""

    stiffness: float = field(metadata={"about": "Largest torque of the spring", "unit": "N m"})
    damping: tuple[float, ...] = (1.0,)
    rest: float = 0.0
    per_joint = ("damping",)

    def torques(self, at: torque.Moment) -> list[Scalar]:
        damping = self.damping * at.n if len(self.damping) == 1 else self.damping
        rows = zip(damping, at.q, at.qd, strict=True)
        return [-(self.stiffness * np.tanh(q - self.rest)) - d * qd for d, q, qd in rows]


@dataclass(frozen=True)
class Proportional(torque.Tracking):
    """kp (q_d - q)"""

    def torques(self, at: torque.Moment) -> list[Scalar]:
        q, _, _ = self.target.at(at)
        return [self.kp[0] * x for x in at.displacement_to(q)]


def braking(strength: float) -> torque.Law:
    """Friction of one strength."""
    return torque.friction(viscous=strength)


@pytest.fixture
def added() -> Iterator[None]:
    LAWS.register("softening", Softening)
    LAWS.register("proportional", Proportional)
    LAWS.register("braking", braking)
    yield
    for name in ("softening", "proportional", "braking"):
        LAWS.unregister(name)


@pytest.fixture(scope="module", autouse=True)
def integrators() -> Iterator[None]:
    entries = {
        "ralston": RALSTON,
        "heun_euler": HEUN_EULER,
        "T5,3": TaylorPolynomials(5, 3),
        "damped": TaylorPolynomials([1, 1, 0.5], [1, 1]),
    }
    for name, entry in entries.items():
        INTEGRATORS.register(name, entry)
    yield
    for name in entries:
        INTEGRATORS.unregister(name)


FILE = """robot = "rr"
duration = 0.2
q0 = [0.3, 0.2]
[torque]
law = "softening"
stiffness = 5
damping = [1, 0.5]
limit = 3
"""


@pytest.mark.usefixtures("added")
def test_a_law_of_a_user_works_in_a_file_a_schema_and_a_study(tmp_path: Path) -> None:
    run = parse(FILE).simulate()
    same = aw.simulate(ARM, Softening(5.0, (1.0, 0.5)).limited(3), START, duration=0.2)
    np.testing.assert_array_equal(run.q[-1], same.q[-1])
    followed = parse('robot = "rr"\nduration = 0.1\n[torque]\nlaw = "proportional"\nkp = 3\ntarget = [0.1, 0.2]')
    assert followed.law == Proportional(torque.pd([0.1, 0.2], 3, 0).target, (3.0,))
    assert parse('robot = "rr"\nduration = 0.1\n[torque]\nlaw = "braking"\nstrength = 3').law == braking(3)
    laws = schema("scenario")["properties"]["torque"]
    assert {"softening", "proportional", "braking"} <= set(laws["properties"]["law"]["enum"])
    assert laws["properties"]["stiffness"]["description"].count("Largest torque of the spring, N m.") == 1
    table = FILE.replace("[torque]", '[vary]\n"torque.stiffness" = [4, 5]\n[want]\nmeasures = ["peak_speed"]\n[torque]')
    result = aw.Study.parse(table).run(tmp_path / "out")
    assert result.count == 2
    scenario = tmp_path / "scene.toml"
    scenario.write_text(FILE)
    assert (
        CliRunner().invoke(app, ["simulate", "rr", str(scenario), "--output", str(tmp_path / "rr.html")]).exit_code == 0
    )


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("stiffness = 5", "the law 'softening' needs it"),
        ('stiffness = 5\nstiffness = "much"', "is not a number nor a list"),
        ("stiffness = 5\nstiffness = [1, 2]", "stiffness has 2 numbers; expected one"),
        ("stiffness = 5\nstifness = 1", "stifness"),
    ],
)
def test_mistakes_in_the_numbers_of_a_law_of_a_user(wrong: str, message: str) -> None:
    old, _, new = wrong.partition("\n")
    with pytest.raises(aw.ModelError, match=message):
        parse(FILE.replace(old, new))


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("pd", Softening, "'pd' is a name of armwright's own laws"),
        ("mine", 3, "expected a subclass of torque.Law, a function that returns one, or a LawEntry"),
        ("mine", torque.Law, "Law is no dataclass"),
        (
            "mine",
            LawEntry(braking, words={"force": LawParameter("Force")}),
            "has no parameter 'force'; it has strength",
        ),
        ("mine", LawEntry(braking, words={"strength": LawParameter("x", shape="matrix")}), "the shape of strength is"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_law(name: str, entry: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        LAWS.register(name, entry)


def test_every_law_of_armwright_has_words_and_its_row_in_the_documents() -> None:
    document = (Path(__file__).parents[1] / "docs/simulation.md").read_text()
    for name, entry in LAWS.built_in.items():
        assert set(entry.words) == set(entry.parameters), name
        arguments = ", ".join([*(["target"] if entry.follows else []), *entry.parameters])
        assert f"| `{name}({arguments})` | {entry.about} |" in document
        assert entry.make in [getattr(torque, public) for public in torque.__all__], f"export {name} from torque"


# Integrators


def error(name: str, **asked: object) -> float:
    run = aw.simulate(ARM, q0=START, duration=0.5, every=0.5, integrator=name, **asked)
    return float(np.abs(run.q[-1] - aw.simulate(ARM, q0=START, duration=0.5, every=0.5, rtol=1e-13).q[-1]).max())


@pytest.mark.parametrize(("name", "order"), [("ralston", 2), ("T5,3", 3), ("damped", 2)])
def test_an_integrator_of_a_user_has_its_order_compiled(name: str, order: int) -> None:
    coarse, fine = (error(name, step=h) for h in (0.0125, 0.00625))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.5)


@pytest.mark.filterwarnings("ignore::armwright.errors.SlowWarning")
def test_a_method_of_a_user_takes_the_same_steps_everywhere() -> None:
    asked = {"q0": START, "duration": 0.1, "every": 0.1, "integrator": "ralston", "step": 0.01}
    compiled = aw.simulate(ARM, **asked)
    called = aw.simulate(ARM, lambda t, q, qd: [0.0, 0.0], **asked)
    batch = aw.simulate_batch(ARM, **(asked | {"q0": [START, START]}))
    stepper = aw.stepper(ARM, dt=0.1, substeps=10, integrator="ralston")
    q, _ = stepper.step(np.array([START]), np.zeros((1, 2)), np.zeros((1, 2)))[:2]
    for other in (called.q[-1], batch.q[1, -1], q[0]):
        np.testing.assert_allclose(other, compiled.q[-1], rtol=0, atol=1e-14)
    assert compiled.statistics.evaluations == 20
    assert solve(lambda t, y: -y, 0, [1.0], 1, "ralston", step=0.01).y[-1, 0] == pytest.approx(np.exp(-1), abs=1e-5)


def test_a_pair_of_a_user_chooses_its_steps() -> None:
    assert error("heun_euler", rtol=1e-5) < 1e-3
    assert "heun_euler" in methods(adaptive=True) and "heun_euler" not in methods(adaptive=False)
    batch = aw.simulate_batch(ARM, q0=[START], duration=0.1, integrator="heun_euler", rtol=1e-4)
    assert batch.finished.all()


def test_integrators_of_a_user_are_listed_wherever_others_are() -> None:
    names = {"ralston", "heun_euler", "T5,3", "damped"}
    assert names <= set(integrator_names()) and {"T5,3", "damped"} <= set(POLYNOMIALS)
    assert names <= set(schema("scenario")["properties"]["integrator"]["properties"]["method"]["enum"])
    lines = work_precision(ARM, 0.1, sorted(names)).lines
    assert {line.name: line.order for line in lines} == {"ralston": 2, "heun_euler": 2, "T5,3": 3, "damped": 2}
    text = 'robot = "rr"\nduration = 0.1\nq0 = [0.3, 0.2]\n[integrator]\nmethod = "ralston"\nstep = 0.01'
    same = aw.simulate(ARM, q0=START, duration=0.1, integrator="ralston", step=0.01)
    np.testing.assert_array_equal(parse(text).simulate().q[-1], same.q[-1])


def test_the_weights_of_the_paper_are_those_of_its_names() -> None:
    INTEGRATORS.register("mine", TaylorPolynomials([1, 1, 1, 1], 3))
    try:
        asked = {"q0": START, "duration": 0.1, "step": 0.01}
        ours, theirs = (aw.simulate(ARM, integrator=name, **asked) for name in ("mine", "T4,3"))
        np.testing.assert_array_equal(ours.q, theirs.q)
    finally:
        INTEGRATORS.unregister("mine")


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("dop853", lambda: RALSTON, "'dop853' is a name of armwright's own integrators"),
        ("radau", lambda: RALSTON, "'radau' is a name of armwright's own integrators"),
        ("new", lambda: method, "expected a Tableau or TaylorPolynomials"),
        ("new", lambda: replace(RALSTON, order=3), "b misses the conditions of order 3 by"),
        ("new", lambda: replace(HEUN_EULER, embedded=2), "bhat misses the conditions of order 2 by"),
        ("new", lambda: replace(RALSTON, embedded=1), "expected embedded with error, or neither"),
        ("new", lambda: replace(HEUN_EULER, error=(0, 0, 0)), "an error of 3 numbers; expected 2, as b"),
        ("new", lambda: replace(RALSTON, order=11), "order 11; expected a whole number from 1 to 10"),
        ("new", lambda: replace(RALSTON, b=(0.5, 0.25)), "b sums to 0.75, expected 1.0"),
        ("new", lambda: TaylorPolynomials(0, 1), "positions = 0: expected an order from 1 to 30"),
        ("new", lambda: TaylorPolynomials(2, [0.5]), "the first weight is 0.5; expected 1"),
        ("ralston", lambda: replace(RALSTON, b=(0, 1), a=((), (0.5,)), c=(0, 0.5)), "had other coefficients"),
    ],
)
def test_what_is_no_integrator(name: str, entry: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        INTEGRATORS.register(name, entry())  # type: ignore[operator]


PACKAGE = """
from dataclasses import dataclass
from fractions import Fraction
import armwright as aw
from armwright.integrate import Tableau

@dataclass(frozen=True)
class Drag(aw.torque.Law):
    strength: float

    def torques(self, at):
        return [-self.strength * abs(x) * x for x in at.qd]

MIDPOINT = Tableau("", 2, ((), (Fraction(1, 2),)), (0, 1), (0, Fraction(1, 2)))
"""
STUDY = """robot = "rr"
duration = 0.05
[torque]
law = "drag"
strength = 1
[integrator]
method = "half_way"
step = 0.01
[vary]
"payload.mass" = [0, 1]
[want]
measures = ["peak_speed"]
"""


def test_entry_points_reach_the_workers_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "extension.py").write_text(PACKAGE)
    info = tmp_path / "extension-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extension\nVersion: 1.0\n")
    points = "[armwright.laws]\ndrag = extension:Drag\n[armwright.integrators]\nhalf_way = extension:MIDPOINT\n"
    (info / "entry_points.txt").write_text(points)
    (tmp_path / "study.toml").write_text(STUDY)
    paths = [str(tmp_path), str(Path(aw.__file__).parents[1])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    call = [sys.executable, "-m", "armwright", "sweep", "study.toml", "--workers", "1", "--output", "found"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
