"""A functional mock-up unit is valid, and what FMPy simulates with it is what armwright simulates."""

import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import close, tree_case

import armwright as aw

fmpy = pytest.importorskip("fmpy", reason="FMPy has the headers and the solver")
from fmpy import fmi3  # noqa: E402
from fmpy.fmi1 import FMICallException  # noqa: E402
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


def test_every_derivative_names_its_state(unit: Path) -> None:
    """A solver integrates the state that the derivative refers to."""
    model = fmpy.read_model_description(str(unit))
    by_reference = {v.valueReference: v for v in model.modelVariables}
    states = [*entries("q", START), *entries("qd", START)]
    derivatives = {v.name: v.derivative.name for v in model.modelVariables if v.derivative is not None}
    assert derivatives == {f"der({name})": name for name in states}
    assert [x.variable.name for x in model.derivatives] == list(derivatives)
    assert [v.name for v in model.modelVariables] == [by_reference[k].name for k in range(len(by_reference))]
    with zipfile.ZipFile(unit) as archive:  # as the file has them, whatever FMPy makes of it
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    references = {v.get("name"): v.get("valueReference") for v in root.iter("Float64")}
    assert {v.get("name"): v.get("derivative") for v in root.iter("Float64") if v.get("derivative")} == {
        f"der({name})": references[name] for name in states
    }


BASE_UNITS = {
    "rad": (0, 0, 0, 1), "m": (0, 1, 0, 0), "rad/s": (0, 0, -1, 1), "m/s": (0, 1, -1, 0), "rad/s2": (0, 0, -2, 1),
    "m/s2": (0, 1, -2, 0), "N.m": (1, 2, -2, 0), "N": (1, 1, -2, 0), "kg": (1, 0, 0, 0), "kg.m2": (1, 2, 0, 0),
}  # fmt: skip
"""Exponents of kg, m, s and rad."""


def test_every_variable_has_its_unit(tmp_path: Path) -> None:
    """Those of a joint by its type: the third joint of this arm slides."""
    vary = ["payload.mass", "payload.com", "payload.inertia", "gravity", f"{ARM.joints[0].name}.viscous"]
    (path,) = aw.export(ARM, "fmu", tmp_path, vary=vary)
    model = fmpy.read_model_description(str(path))
    units = {v.name: v.unit for v in model.modelVariables}
    by_joint = {
        "q": ("rad", "m"), "qd": ("rad/s", "m/s"), "qdd": ("rad/s2", "m/s2"), "tau": ("N.m", "N"),
        "inverse_dynamics": ("N.m", "N"),
    }  # fmt: skip
    assert [joint.prismatic for joint in ARM.joints].index(True) == 2
    for name, pair in by_joint.items():
        assert [units[f"{name}[{i + 1}]"] for i in range(ARM.n)] == [pair[joint.prismatic] for joint in ARM.joints]
    assert units["payload_mass"] == "kg" and {units[f"payload_com[{k}]"] for k in (1, 2, 3)} == {"m"}
    assert {units[f"payload_inertia[{k}]"] for k in range(1, 7)} == {"kg.m2"}
    assert {units[f"gravity[{k}]"] for k in (1, 2, 3)} == {"m/s2"}
    assert units["time"] is None and not [name for name in units if "viscous" in name and units[name]]
    defined = {u.name: u.baseUnit for u in model.unitDefinitions}
    assert set(defined) == set(BASE_UNITS) == {unit for unit in units.values() if unit}
    for name, base in defined.items():
        assert (base.kg, base.m, base.s, base.rad) == BASE_UNITS[name], name
        assert (base.A, base.K, base.mol, base.cd, base.factor, base.offset) == (0, 0, 0, 0, 1, 0)


def test_parameters_inputs_and_states_can_be_set_and_nothing_else(unit: Path, tmp_path: Path) -> None:
    """From the first parameter to the last state: time, before, and derivatives, behind, cannot be set."""
    model = fmpy.read_model_description(str(unit))
    fmu = fmi3.FMU3Model(
        guid=model.guid, unzipDirectory=fmpy.extract(str(unit), str(tmp_path)), instanceName="rr",
        modelIdentifier=model.modelExchange.modelIdentifier,
    )  # fmt: skip
    fmu.instantiate()
    fmu.enterInitializationMode()
    kinds = {"parameter": True, "input": True, "independent": False, "local": False}
    settable = dict[str, bool]()
    for v in model.modelVariables:
        state = v.causality == "output" and v.initial == "exact"
        settable[v.name] = kinds.get(v.causality, state)
        if settable[v.name]:
            fmu.setFloat64([v.valueReference], [0.5])
            assert fmu.getFloat64([v.valueReference]) == [0.5]
        else:
            with pytest.raises(FMICallException):
                fmu.setFloat64([v.valueReference], [0.5])
    first, last = model.modelVariables[1], model.modelVariables[sum(settable.values())]
    assert (first.name, last.name) == ("payload_mass", f"qd[{ARM.n}]")
    count = len(model.modelVariables)
    assert len(fmu.getFloat64([count - 1])) == 1
    with pytest.raises(FMICallException):
        fmu.getFloat64([count])
    fmu.terminate()
    fmu.freeInstance()


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
