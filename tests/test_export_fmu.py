"""A functional mock-up unit is valid, and what FMPy simulates with it is what armwright simulates."""

import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close, tree_case

import armwright as aw

fmpy = pytest.importorskip("fmpy", reason="FMPy has the headers and the solver")
from fmpy.validation import validate_fmu  # noqa: E402

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")

ARM = aw.load("stanford").with_friction(viscous=0.5)
START = np.linspace(0.3, 0.6, ARM.n)
TORQUE = np.linspace(1.0, -0.5, ARM.n)


def entries(name: str, values: np.ndarray) -> dict[str, float]:
    return {f"{name}[{i + 1}]": float(x) for i, x in enumerate(values)}


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = aw.export(ARM, "fmu", tmp_path_factory.mktemp("unit"), vary=["payload.mass"])
    return path


def test_a_unit_is_valid_and_says_what_its_variables_are(unit: Path, tmp_path: Path) -> None:
    assert validate_fmu(str(unit)) == []
    model = fmpy.read_model_description(str(unit))
    assert model.fmiVersion == "3.0" and model.numberOfContinuousStates == 2 * ARM.n
    variables = {v.name: v for v in model.modelVariables}
    assert variables["tau[1]"].causality == "input" and variables["q[1]"].description == ARM.joints[0].name
    assert variables["payload_mass"].variability == "tunable" and variables["payload_mass"].start == "0.0"
    with zipfile.ZipFile(unit) as archive:
        archive.extractall(tmp_path)
    sources = [str(tmp_path / "sources" / name) for name in (f"{unit.stem}.c", "fmu.c")]
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    subprocess.run([COMPILER, *strict, *sources], check=True)


def test_a_unit_moves_as_simulated_here(unit: Path) -> None:
    given = {**entries("q", START), **entries("tau", TORQUE), "payload_mass": 1.5}
    names = [*entries("q", START), *entries("qd", START), *entries("inverse_dynamics", START)]
    got = fmpy.simulate_fmu(
        str(unit), stop_time=0.5, output_interval=0.1, start_values=given, relative_tolerance=1e-9, output=names
    )
    arm = ARM.with_payload(1.5)
    run = aw.simulate(arm, TORQUE, q0=START, duration=0.5, every=0.1, rtol=1e-10)
    table = np.array([list(row) for row in got])
    close(table[:, 0], run.t, 1e-12)
    n = ARM.n
    close(table[:, 1 : 1 + n], run.q, 1e-6)
    close(table[:, 1 + n : 1 + 2 * n], run.qd, 1e-6)
    q, qd = table[:, 1 : 1 + n], table[:, 1 + n : 1 + 2 * n]
    close(table[:, 1 + 2 * n :], arm.inverse_dynamics(q, qd, np.zeros_like(q)), 1e-10)  # qdd, an input, is zero


def test_without_forward_dynamics_a_unit_has_inputs_and_no_states(tmp_path: Path) -> None:
    case = tree_case(2, 3)  # it floats
    with pytest.raises(aw.InputError, match="whose quaternions are no states of a unit"):
        aw.export(case.arm, "fmu", tmp_path)
    (path,) = aw.export(case.arm, "fmu", tmp_path, ["gravity_torque"])
    assert validate_fmu(str(path)) == []
    names = list(entries("gravity_torque", np.zeros(case.arm.n)))
    got = fmpy.simulate_fmu(
        str(path), stop_time=0.1, output_interval=0.1, start_values=entries("q", case.q), output=names
    )
    close(np.array(list(got[-1]))[1:], case.arm.gravity_torque(case.q), 1e-12)


def test_names_with_markup_or_escapes_make_a_valid_unit(tmp_path: Path) -> None:
    rr = aw.load("rr")
    odd = replace(rr, name='a<&"\x1b', joints=(replace(rr.joints[0], name="*/ <\x00>"), *rr.joints[1:]))
    (path,) = aw.export(odd, "fmu", tmp_path, ["bias"], vary=["*/ <\x00>.viscous"])
    assert path.name == "a.fmu"
    assert validate_fmu(str(path)) == []


def test_what_is_missing_for_a_unit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(aw.ArmwrightError, match="needs a C compiler: install gcc"):
        aw.export(ARM, "fmu", tmp_path)
