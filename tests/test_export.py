"""Exported code computes what armwright computes, wherever it goes."""

import ctypes
import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ASKED as FUNCTIONS
from conftest import close, random_case, tree_case
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.export import identifier
from armwright.export.names import argument_names
from armwright.export.notes import digest
from armwright.export.selftest import evaluate_states
from armwright.formulations import PROBLEMS, problem_of
from armwright.graph.angles import expand_sines
from armwright.graph.count import count
from armwright.model.records import Frame
from armwright.model.transforms import tensor

COMPILER = shutil.which("gcc") or shutil.which("cc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")

PUMA = aw.load("puma560")
ARM = random_case(5, 3, actuators=True).arm
STATE = np.random.default_rng(0).uniform(-1, 1, (3, 5))


def state_of(name: str) -> list[np.ndarray]:
    return list(STATE[: len(problem_of(name).arguments)])


def expected(name: str) -> np.ndarray:
    """By the interpreter, which knows nothing of compilers."""
    return aw.compile(ARM, name, target="python")(*state_of(name))


def outside(name: str) -> str:
    """The name of a function in other languages."""
    return re.sub(r"\W+", "_", name).strip("_")


@needs_compiler
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_c_compiles_without_a_warning_and_agrees(dtype: str, tolerance: float, tmp_path: Path) -> None:
    paths = aw.export(ARM, to="c", directory=tmp_path, functions=FUNCTIONS, dtype=dtype)
    assert {p.name for p in paths} == {"random5_3.h", "random5_3.c", "random5_3_selftest.c", "CMakeLists.txt"}
    source = [str(tmp_path / "random5_3.c")]
    test = tmp_path / "selftest"
    subprocess.run(
        [COMPILER, *STRICT, *source, str(tmp_path / "random5_3_selftest.c"), "-o", str(test), "-lm"], check=True
    )
    assert subprocess.run([str(test)], check=True, capture_output=True, text=True).stdout == "all as expected\n"
    library = tmp_path / "library.so"
    subprocess.run([COMPILER, *STRICT, "-shared", "-fPIC", *source, "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    for name in FUNCTIONS:
        out = np.empty(expected(name).shape, dtype)
        arrays = [x.astype(dtype) for x in state_of(name)]
        getattr(loaded, f"random5_3_{outside(name)}")(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, out)))
        close(out.reshape(np.shape(expected(name))), expected(name), tolerance)


@needs_compiler
@pytest.mark.parametrize(("dtype", "real", "limit"), [("float64", "double", 1e6), ("float32", "float", 8e3)])
def test_the_sines_of_exported_c(dtype: str, real: str, limit: float, tmp_path: Path) -> None:
    aw.export(PUMA, to="c", directory=tmp_path, functions=["mass_matrix"], dtype=dtype)
    arguments = f"const {real} *x, {real} *s, {real} *c, int n"
    shim = f'#include "puma560.c"\nvoid all({arguments});\nvoid all({arguments}) {{ sines(x, s, c, n); }}\n'
    (tmp_path / "shim.c").write_text(shim)
    library = tmp_path / "sines.so"
    subprocess.run(
        [COMPILER, *STRICT, "-shared", "-fPIC", str(tmp_path / "shim.c"), "-o", str(library), "-lm"], check=True
    )
    call = ctypes.CDLL(str(library)).all
    rng = np.random.default_rng(0)
    turns = np.arange(-2000, 2000) * (np.pi / 2)
    for angles in (rng.uniform(-4, 4, 20_000), rng.uniform(-limit, limit, 20_000), turns, [1e22, np.nan, np.inf, 0.5]):
        x = np.asarray(angles, dtype)
        sine, cosine = np.empty_like(x), np.empty_like(x)
        call(*(ctypes.c_void_p(a.ctypes.data) for a in (x, sine, cosine)), x.size)
        with np.errstate(invalid="ignore"):
            exact = [f(x.astype(np.longdouble)) for f in (np.sin, np.cos)]
        for got, wanted in zip((sine, cosine), exact, strict=True):
            assert np.array_equal(np.isnan(got), np.isnan(wanted))
            size = np.maximum(np.spacing(np.abs(wanted).astype(dtype)), np.finfo(dtype).eps / 64)
            assert np.nanmax(np.abs(got - wanted) / size) < 3


@needs_compiler
def test_the_selftest_allows_for_an_ill_conditioned_robot(tmp_path: Path) -> None:
    aw.export(aw.load("ascher"), to="c", directory=tmp_path, dtype="float32")
    files = [str(tmp_path / "ascher.c"), str(tmp_path / "ascher_selftest.c")]
    subprocess.run([COMPILER, *STRICT, *files, "-o", str(tmp_path / "selftest"), "-lm"], check=True)
    subprocess.run([str(tmp_path / "selftest")], check=True)


@needs_compiler
@pytest.mark.parametrize("wrong", ["1.5", "sqrt(-1.0)"])
def test_the_selftest_notices_a_wrong_result(wrong: str, tmp_path: Path) -> None:
    aw.export(PUMA, to="c", directory=tmp_path, functions=["inverse_dynamics"])
    source = tmp_path / "puma560.c"
    source.write_text(source.read_text().replace("out[0] = ", f"out[0] = {wrong} + "))
    test = tmp_path / "selftest"
    subprocess.run(
        [COMPILER, *STRICT, str(source), str(tmp_path / "puma560_selftest.c"), "-o", str(test), "-lm"], check=True
    )
    result = subprocess.run([str(test)], check=False, capture_output=True, text=True)
    assert result.returncode == 1
    assert "inverse_dynamics differs" in result.stdout


def test_the_header_says_what_it_is(tmp_path: Path) -> None:
    aw.export(PUMA, to="c", directory=tmp_path, functions=["inverse_dynamics"])
    text = (tmp_path / "puma560.h").read_text()
    cost = count(expand_sines(aw.compile(PUMA, "inverse_dynamics").program).outputs)
    assert f"inverse dynamics of puma560: {cost}" in text
    assert "malloc" not in (tmp_path / "puma560.c").read_text()


def test_the_header_tells_joints_order_frames_friction_and_version(tmp_path: Path) -> None:
    """Whoever has nothing but the code knows which entry is which joint, and what is in the numbers."""
    arm = aw.load("panda").with_payload(0.5)
    odd = replace(arm.joints[1], name='a*/ "b\n??/é')
    aw.export(
        replace(arm, joints=(arm.joints[0], odd, *arm.joints[2:])), to="c", directory=tmp_path, functions=["bias"]
    )
    text = (tmp_path / "panda.h").read_text()
    assert "[0] panda_joint1: revolute, rad, N m, -2.8973 to 2.8973" in text
    assert text.index("[0]") < text.index("[6] panda_joint7")
    assert f'#define PANDA_VERSION "{aw.__version__}"' in text
    assert "#define PANDA_JOINTS 7" in text
    said = ("Gravity is (0, 0, -9.81)", "in the world frame", "viscous * qd", "0.003", "0.5 kg", "No rotor")
    for word in (*said, "about (0, -1, 0) through (0.0825, 0, 0.649)", "frame tool, on link panda_link7", "87 N m"):
        assert word in text
    assert "#define PANDA_MAX_TORQUE {87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0}" in text
    assert text.count("/*") == text.count("*/")
    if COMPILER is not None:
        use = '#include <stdio.h>\n#include "panda.h"\nstatic const char *names[PANDA_JOINTS] = PANDA_JOINT_NAMES;\n'
        (tmp_path / "use.c").write_text(use + "int main(void) { fputs(names[1], stdout); return 0; }\n")
        subprocess.run([COMPILER, *STRICT, str(tmp_path / "use.c"), "-o", str(tmp_path / "use")], check=True)
        assert subprocess.run([tmp_path / "use"], check=True, capture_output=True).stdout.decode() == odd.name
    plain = aw.export(aw.load("rr"), to="c", directory=tmp_path, functions=["bias"])[0].read_text()
    assert "No friction." in plain
    assert "No payload." in plain


def test_the_digest_is_that_of_the_robot_and_not_of_its_looks() -> None:
    arm = aw.load("panda")
    bare = replace(arm, links=tuple(replace(link, visuals=()) for link in arm.links), base_visuals=())
    assert digest(arm) == digest(bare) != digest(arm.with_payload(1e-9))


OPEN = ["payload.mass", "gravity", f"{ARM.links[1].name}.inertia"]


@needs_compiler
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_c_takes_parameters_that_vary_and_wrenches(dtype: str, tolerance: float, tmp_path: Path) -> None:
    """They are arguments behind the others, in the self-test too, and mean what they do in Python."""
    wrenches = ["tip_wrench", "link_wrenches"]
    header, source, test, _ = aw.export(ARM, "c", tmp_path, ["bias", "mass_matrix"], dtype, OPEN, wrenches)
    selftest, library = tmp_path / "selftest", tmp_path / "library.so"
    subprocess.run([COMPILER, *STRICT, str(source), str(test), "-o", str(selftest), "-lm"], check=True)
    subprocess.run([str(selftest)], check=True, capture_output=True)
    subprocess.run([COMPILER, *STRICT, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    said = " ".join(header.read_text().split())
    assert "payload_mass is payload.mass of the robot; its value is" in said
    assert "tip_wrench is force and moment on the tool frame, in the tool frame" in said
    assert "gravity[3]" in said and "link_wrenches[30]" in said
    mass, gravity, inertia = 1.5, np.array([1.0, -2.0, 3.0]), [0.03, 0.04, 0.05, 0.001, 0.002, 0.003]
    links = list(ARM.links)
    links[1] = replace(links[1], inertia=tensor(inertia))
    other = replace(ARM, links=tuple(links), payload=replace(ARM.payload, mass=mass)).with_gravity(gravity)
    tip, each = np.linspace(-1, 1, 6), np.linspace(-2, 3, 30).reshape(5, 6)
    given = [STATE[0], STATE[1], np.array([mass]), gravity, np.array(inertia), tip, each]
    arrays, out = [np.asarray(x, dtype) for x in given], np.empty(5, dtype)
    loaded = ctypes.CDLL(str(library))
    loaded.random5_3_bias(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, out)))
    close(out, other.bias(STATE[0], STATE[1], tip_wrench=tip, link_wrenches=each), tolerance)
    matrix = np.empty((5, 5), dtype)
    loaded.random5_3_mass_matrix(
        *(ctypes.c_void_p(x.ctypes.data) for x in (arrays[0], *arrays[2:5], matrix))
    )  # no wrench changes it
    close(matrix, other.mass_matrix(STATE[0]), tolerance)


def test_names_of_parameters_are_names_elsewhere(tmp_path: Path) -> None:
    assert argument_names(["a-b.mass", "a_b.mass", "7.com", "é.d"]) == {
        "a-b.mass": "a_b_mass", "a_b.mass": "a_b_mass_", "7.com": "of_7_com", "é.d": "d"
    }  # fmt: skip
    f = aw.export(PUMA, "python", tmp_path, ["bias"], vary=["payload.mass"], wrenches=["tip_wrench"])[0]
    space: dict = {}
    exec(f.read_text(), space)
    q, qd, wrench = np.append(STATE[0], 0.1), np.append(STATE[1], 0.2), [1.0, 0, 0, 0, 0, 0.5]
    got = space["bias"](q.tolist(), qd.tolist(), [2.0], wrench)
    close(got, PUMA.with_payload(2.0).bias(q, qd, tip_wrench=wrench), 1e-12)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("robot", ["palletiser", "anymal_c"])
def test_other_robots_compile_strictly_and_the_header_in_cpp(compiler: str, robot: str, tmp_path: Path) -> None:
    """Loops and joints that follow; a floating base."""
    if shutil.which(compiler) is None or shutil.which("g++") is None:
        pytest.skip(f"no {compiler} or no g++ on this machine")
    header, source, test, _ = aw.export(aw.load(robot), "c", tmp_path, ["gravity_torque"])
    selftest, use = tmp_path / "selftest", tmp_path / "use.cpp"
    subprocess.run([compiler, *STRICT, str(source), str(test), "-o", str(selftest), "-lm"], check=True)
    subprocess.run([str(selftest)], check=True, capture_output=True)
    lower = f"static const double lower[] = {header.stem.upper()}_LOWER;\n"
    use.write_text(f'#include <cmath>\n#include "{header.name}"\n{lower}int main() {{ return lower[0] > 0; }}\n')
    subprocess.run(["g++", "-std=c++11", *STRICT[1:], "-fsyntax-only", str(use)], check=True)


def test_a_package_that_is_missing_is_named_as_pip_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax.numpy", None)
    with pytest.raises(aw.errors.ArmwrightError, match=r"pip install jax$"):
        aw.export(aw.load("rr"), to="jax", functions=["bias"])
    monkeypatch.setattr(import_module("armwright.export.fmu"), "find_spec", lambda name: None)
    with pytest.raises(aw.errors.ArmwrightError, match=r"pip install fmpy$"):
        aw.export(aw.load("rr"), to="fmu", directory=".")


DOCUMENT = (Path(__file__).parent.parent / "docs" / "export.md").read_text(encoding="utf-8")


@needs_compiler
def test_the_code_of_the_document_compiles_against_what_its_commands_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [c for c in re.findall(r"^armwright (export .*?)(?:  #.*)?$", DOCUMENT, flags=re.M) if "fmu" not in c]
    assert len(commands) == 4
    for command in commands:
        assert CliRunner().invoke(app, command.split()).exit_code == 0
    (code,) = re.findall(r"^```c\n(.*?)^```", DOCUMENT, flags=re.S | re.M)
    (tmp_path / "use.c").write_text(code)
    subprocess.run([COMPILER, *STRICT, "-Irobot", "-fsyntax-only", "use.c"], check=True)
    if shutil.which("cmake"):
        build = [["cmake", "-S", "cpp", "-B", "build"], ["cmake", "--build", "build"], ["build/panda_selftest"]]
        for step in build:
            subprocess.run(step, check=True, capture_output=True)


def test_the_docstring_of_compile_lists_every_problem() -> None:
    assert all(name in (aw.compile.__doc__ or "") for name in PROBLEMS)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("Puma 560", "puma_560"),
        ("7dof", "robot_7dof"),
        ("*/ evil /*", "evil"),
        ("日本", "robot"),
        ("", "robot"),
        ("a-b.c", "a_b_c"),
        ("Gamma", "robot_gamma"),
        ("a" * 300, "a" * 60),
    ],
)
def test_any_name_is_safe(name: str, safe: str, tmp_path: Path) -> None:
    assert identifier(name) == safe
    paths = aw.export(replace(PUMA, name=name), to="c", directory=tmp_path, functions=["mass_matrix"])
    assert paths[0].name == f"{safe}.h"
    comments = paths[0].read_text().split("*/")
    assert all(part.count("/*") <= 1 for part in comments)
    compile(
        (aw.export(replace(PUMA, name=name), to="python", directory=tmp_path, functions=["bias"])[0]).read_text(),
        safe,
        "exec",
    )


def test_functions_of_frames_with_any_name_are_exported(tmp_path: Path) -> None:
    frames = {"a__b": "jacobian_a_b", "größe": "jacobian_gr_uf6_udf_e", "*/ x": "jacobian_x"}
    arm = replace(ARM, frames=tuple(Frame(name, 2) for name in frames))
    (path,) = aw.export(arm, to="python", directory=tmp_path, functions=[f"jacobian@{name}" for name in frames])
    assert all(f"def {outside}(q)" in path.read_text() for outside in frames.values())
    if importlib.util.find_spec("casadi"):
        assert set(aw.export(arm, to="casadi", functions=[f"jacobian@{name}" for name in frames])) == {*frames.values()}


def test_python_needs_nothing_else(tmp_path: Path) -> None:
    (path,) = aw.export(ARM, to="python", directory=tmp_path, functions=FUNCTIONS)
    imports = [line for line in path.read_text().splitlines() if "import" in line]
    assert imports == ["from math import cos, sin, sqrt, tanh"]
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in FUNCTIONS:
        close(getattr(module, outside(name))(*(x.tolist() for x in state_of(name))), expected(name), 1e-12)
        close(getattr(module, outside(name))(*state_of(name)), expected(name), 1e-12)  # arrays are sequences too


def test_casadi_gets_a_function() -> None:
    pytest.importorskip("casadi")
    functions = aw.export(ARM, to="casadi", functions=["inverse_dynamics", "mass_matrix"])
    for name, f in functions.items():
        close(np.array(f(*state_of(name))).reshape(expected(name).shape), expected(name), 1e-12)
    assert functions["inverse_dynamics"].size_out(0) == (5, 1)  # torques are a column
    by_q = functions["inverse_dynamics"].jacobian()
    assert by_q is not None


def test_one_number_leaves_as_a_matrix_of_one_entry(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi")
    rr, (q, qd, _) = aw.load("rr"), STATE[:, :2]
    energy = rr.kinetic_energy(q, qd)
    f = aw.export(rr, to="casadi", functions=["kinetic_energy"])["kinetic_energy"]
    assert f.size_out(0) == (1, 1)
    close(float(f(q, qd)), energy, 1e-14)
    symbols, matrix = aw.export(rr, to="sympy", functions=["kinetic_energy"])["kinetic_energy"]
    values = {s: x for names, column in zip(symbols, (q, qd), strict=True) for s, x in zip(names, column, strict=True)}
    assert matrix.shape == (1, 1)
    close(float(matrix[0].subs(values)), energy, 1e-14)
    [path] = aw.export(rr, to="casadi", directory=tmp_path, functions=["kinetic_energy"])
    written: dict[str, Any] = {}
    exec(path.read_text(), written)
    close(float(written["kinetic_energy"](casadi.DM(q), casadi.DM(qd))), energy, 1e-14)


def test_states_of_a_self_test_differ_and_have_both_signs() -> None:
    states = np.array([state[0] for state, _, _ in evaluate_states(aw.compile(ARM, "bias"), ())])
    assert len(np.unique(states)) == states.size and states.min() < 0 < states.max()


def test_derivatives_leave_as_three_matrices() -> None:
    rr, state = aw.load("rr"), STATE[:, :2]
    expected = rr.inverse_dynamics_derivatives(*state)
    f = aw.export(rr, to="casadi", functions=["inverse_dynamics_derivatives"])["inverse_dynamics_derivatives"]
    for got, part in zip(f(*state), expected, strict=True):
        close(np.array(got), part, 1e-12)
    symbols, matrices = aw.export(rr, to="sympy", functions=["inverse_dynamics_derivatives"])[
        "inverse_dynamics_derivatives"
    ]
    values = {s: x for names, column in zip(symbols, state, strict=True) for s, x in zip(names, column, strict=True)}
    for got, part in zip(matrices, expected, strict=True):
        close(np.array(got.subs(values).evalf(), dtype=float), part, 1e-12)


def test_jax_gets_a_function_to_compile_batch_and_differentiate() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    functions = aw.export(ARM, to="jax", functions=["inverse_dynamics", "mass_matrix"])
    for name, f in functions.items():
        close(jax.jit(f)(*state_of(name)), expected(name), 1e-12)
    f = functions["inverse_dynamics"]
    close(jax.jacobian(f)(*STATE), ARM.inverse_dynamics_derivatives(*STATE)[0], 1e-10)
    batch = np.stack([STATE, 0.5 * STATE], axis=1)
    close(jax.vmap(f)(*batch)[1], ARM.inverse_dynamics(*(0.5 * STATE)), 1e-12)


def test_sympy_gets_expressions() -> None:
    sympy = pytest.importorskip("sympy")
    rr = aw.load("rr")
    (symbols,), M = aw.export(rr, to="sympy", functions=["mass_matrix"])["mass_matrix"]
    assert sympy.simplify(M[0, 1] - M[1, 0]) == 0
    values = dict(zip(symbols, (0.3, 0.7), strict=True))
    close(np.array(M.subs(values).evalf(), dtype=float), rr.mass_matrix([0.3, 0.7]), 1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: aw.export(PUMA, to="fortran"), "unknown export target 'fortran'"),
        (lambda: aw.export(PUMA, to="c"), "writes files: give a directory"),
        (lambda: aw.export("puma560", to="c"), "export got str"),
        (lambda: aw.export(PUMA, to="c", directory=".", functions=["kinematics"]), "unknown problem 'kinematics'"),
        (lambda: aw.export(PUMA, to="c", directory=".", functions="bias"), "expected a list of names"),
        (lambda: aw.export(PUMA, to="c", directory=".", dtype="int8"), "unknown dtype"),
        (lambda: aw.export(PUMA, "c", ".", ["bias"], wrenches=["wind"]), "unknown wrench 'wind'"),
        (
            lambda: aw.export(PUMA, "c", ".", ["jacobian"], wrenches=["tip_wrench"]),
            "none of jacobian depends on wrench",
        ),
        (lambda: aw.export(PUMA, "c", ".", ["bias"], vary=["payload.mas"]), "unknown parameter to vary"),
        (lambda: aw.export(PUMA, "c", ".", ["bias"], vary=None), "vary = None: expected a list of names"),
        (lambda: aw.export(PUMA, "c", ".", ["bias"], wrenches=["tip_wrench"] * 2), "expected each name once"),
        (lambda: aw.export(PUMA, "c", ".", 3), "functions = 3: expected a list of names"),
        (lambda: aw.export(PUMA, ["c"], "."), "unknown export target"),
        (lambda: aw.export(PUMA, "c", ".", ["mass_matrix@tool"]), "mass_matrix is of no frame; drop @tool"),
        (lambda: aw.export(PUMA, to="c", directory="/dev/null/x"), "cannot write to"),
        (lambda: aw.export(aw.random_robot(25, 0), to="c", directory="."), "up to 24 joints"),
    ],
)
def test_bad_exports_are_reported(call, message: str) -> None:
    with pytest.raises(aw.ArmwrightError, match=message):
        call()


def test_a_self_test_allows_for_rounding_and_no_more(tmp_path: Path) -> None:
    for dtype, most in (("float64", 1e-9), ("float32", 1e-3)):
        aw.export(PUMA, to="c", directory=tmp_path, functions=["inverse_dynamics", "mass_matrix"], dtype=dtype)
        text = (tmp_path / "puma560_selftest.c").read_text()
        allowed = [float(x) for x in re.findall(r"failures \+= differs\(.*, ([\d.e-]+)f?\);", text)]
        assert len(allowed) == 6 and max(allowed) <= most


# A floating tree: q has other entries than qd

TREE = tree_case(3, 6, kinds=("revolute", "planar"))
THREE = ["inverse_dynamics", "forward_dynamics", "mass_matrix"]


def tree_state(name: str) -> list[np.ndarray]:
    return list(TREE.state[: len(problem_of(name).arguments)])


def of_tree(name: str) -> np.ndarray:
    return aw.compile(TREE.arm, name, target="python")(*tree_state(name))


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_c_of_a_floating_tree_says_what_q_is_and_agrees(dtype: str, tmp_path: Path) -> None:
    header, source, test, _ = aw.export(TREE.arm, to="c", directory=tmp_path, functions=THREE, dtype=dtype)
    text, prefix = header.read_text(), header.stem
    assert f"#define {prefix.upper()}_POSITIONS {TREE.arm.nq}" in text
    assert f"#define {prefix.upper()}_JOINTS {TREE.arm.n}" in text
    assert "q[0] to q[6] of joint1, free: the position (x, y, z), then a unit quaternion (x, y, z, w)" in text
    moves = (
        "[0] to [5] of qd, qdd (the rates of qd) and tau of joint1: of the origin of its body, linear before angular"
    )
    assert moves in " ".join(text.split())
    assert f"q[{TREE.arm.nq}]" in text.replace("double ", "").replace("float ", "")
    program = tmp_path / "selftest"
    subprocess.run([COMPILER, *STRICT, str(source), str(test), "-o", str(program), "-lm"], check=True)
    assert subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout == "all as expected\n"


def test_python_casadi_and_jax_of_a_floating_tree_agree(tmp_path: Path) -> None:
    (path,) = aw.export(TREE.arm, to="python", directory=tmp_path, functions=THREE)
    spec = importlib.util.spec_from_file_location("exported_tree", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = {name: getattr(module, name) for name in THREE}
    for name in THREE:
        close(functions[name](*(x.tolist() for x in tree_state(name))), of_tree(name), 1e-10)
    casadi, jax = (pytest.importorskip(package) for package in ("casadi", "jax"))
    jax.config.update("jax_enable_x64", True)
    native = {to: aw.export(TREE.arm, to=to, functions=["inverse_dynamics"]) for to in ("casadi", "jax")}
    name = "inverse_dynamics"
    close(np.array(native["casadi"][name](*map(casadi.DM, tree_state(name)))).ravel(), of_tree(name), 1e-11)
    close(native["jax"][name](*tree_state(name)), of_tree(name), 1e-11)


def test_sympy_of_a_ball_agrees() -> None:
    pytest.importorskip("sympy")
    case = tree_case(1, 2, kinds=("ball",), floating=False)
    (symbols,), g = aw.export(case.arm, to="sympy", functions=["gravity_torque"])["gravity_torque"]
    assert len(symbols) == 4
    values = dict(zip(symbols, case.q, strict=True))
    close(np.array(g.subs(values).evalf(), dtype=float).ravel(), case.arm.gravity_torque(case.q), 1e-12)
