"""A backend from outside works wherever a built-in one does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright import registry, schema
from armwright.backends.interface import BACKENDS, Backend, backend
from armwright.backends.interpreter import InterpretedKernel
from armwright.cli import app
from armwright.errors import InputError, UnknownNameError

ONLY_KERNEL = Backend(kernel=InterpretedKernel, dtypes=("float64",))
RR = aw.load("rr")


@pytest.fixture
def target() -> Iterator[str]:
    """The name of a backend that has a kernel and nothing else."""
    BACKENDS.register("own", ONLY_KERNEL)
    yield "own"
    BACKENDS.unregister("own")


def test_it_compiles(target: str) -> None:
    state = np.random.default_rng(0).uniform(-1, 1, (3, 5, 2))
    for problem, n in (("inverse_dynamics", 3), ("forward_dynamics", 3), ("mass_matrix", 1)):
        expected, got = (aw.compile(RR, problem, target=name)(*state[:n]) for name in ("python", target))
        np.testing.assert_array_equal(got, expected)
    assert BACKENDS["own"]() is ONLY_KERNEL and "own" in list(BACKENDS)


def test_its_loops_are_those_of_the_interpreter(target: str) -> None:
    arm = aw.random_robot(30, seed=1)
    state = np.random.default_rng(0).uniform(-1, 1, (3, 2, arm.n))
    expected, got = (aw.compile(arm, "inverse_dynamics", target=name)(*state) for name in ("python", target))
    np.testing.assert_array_equal(got, expected)


def test_it_steps_and_simulates(target: str) -> None:
    q0, motion = [0.3, -0.2], aw.torque.pd([0.5, 0.1], kp=20, kd=2)
    expected, got = (aw.stepper(RR, dt=0.01, target=name).step(q0, [0, 0], [1, 0]) for name in ("python", target))
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    options = {"q0": [q0, [0.1, 0.2]], "duration": 0.05, "every": 0.05}
    expected, got = (aw.simulate_batch(RR, motion, target=name, **options) for name in ("python", target))
    np.testing.assert_array_equal(got.q, expected.q)


STUDY = """
robot = "rr"
duration = 0.05
chunk = 4
want = { measures = ["final_q"] }
torque = { law = "pd", kp = 20, kd = 2, target = [0.5, 0.1] }
vary = { "link2.mass" = [1.0, 2.0] }
"""


def test_a_study_the_schema_and_the_command_know_it(target: str, tmp_path: Path) -> None:
    file, options = tmp_path / "study.toml", ["--threads", "1"]
    file.write_text(STUDY)
    for name in ("python", target):
        done = CliRunner().invoke(app, ["sweep", str(file), "-o", str(tmp_path / name), "--target", name, *options])
        assert done.exit_code == 0, done.output
    expected, got = (aw.open_study(tmp_path / name).columns(["final_q1"])["final_q1"] for name in ("python", target))
    np.testing.assert_array_equal(got, expected)
    assert target in schema.study()["properties"]["target"]["enum"]


def test_entries_are_checked() -> None:
    for entry in (3, "no module", "armwright", "a:b:c", None):
        with pytest.raises(InputError, match=r"backend 'own' is .*; expected a Backend, a function that returns one"):
            BACKENDS.register("own", entry)
    with pytest.raises(InputError, match="'cpu' is a name of armwright's own backends"):
        BACKENDS.register("cpu", ONLY_KERNEL)
    with pytest.raises(UnknownNameError, match="unknown target 'own'"):
        backend("own")


@pytest.mark.parametrize("entry", [lambda: ONLY_KERNEL, f"{__name__}:ONLY_KERNEL", f"{__name__}:made"])
def test_an_entry_is_loaded_when_it_is_used(entry: object) -> None:
    BACKENDS.register("own", entry)
    try:
        assert backend("own") is ONLY_KERNEL
    finally:
        BACKENDS.unregister("own")


def made() -> Backend:
    """Return the backend, as a function of a module may."""
    return ONLY_KERNEL


@pytest.mark.parametrize("entry", [dict, f"{__name__}:RR", f"{__name__}:absent"])
def test_what_is_no_backend_is_refused_when_it_is_used(entry: object) -> None:
    BACKENDS.register("own", entry)
    try:
        with pytest.raises(InputError, match=r"backend 'own' from .*; expected a Backend"):
            backend("own")
    finally:
        BACKENDS.unregister("own")


def test_an_installed_package_offers_one(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        SimpleNamespace(name="offered", value="x:y", dist=None, load=lambda: ONLY_KERNEL),
        SimpleNamespace(name="broken", value="x:z", dist=None, load=lambda: 3),
    ]
    monkeypatch.setattr(registry, "installed_points", lambda group: points if group == "armwright.backends" else [])
    monkeypatch.setattr(BACKENDS, "_pending", None)
    monkeypatch.setattr(BACKENDS, "_added", {})
    assert backend("offered") is ONLY_KERNEL
    with pytest.warns(registry.ExtensionWarning, match="the backend 'broken' of the package x:z is not used"):
        assert "broken" not in list(BACKENDS)
