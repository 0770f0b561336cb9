"""The registry of export formats: what every format must have, and formats of a user's package."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import InputError, ModelError
from armwright.export import EXPORTS, ExportFormat, ExportRequest

TESTS = Path(__file__).parent
DOCUMENT = (TESTS.parent / "docs" / "export.md").read_text(encoding="utf-8")
RR = aw.load("rr")

VALUE_TESTS = {
    "c": "test_export.test_c_compiles_without_a_warning_and_agrees",
    "cpp": "test_export_cpp.test_eigen_views_compute_the_same_and_allocate_nothing",
    "cuda": "test_export_cuda.test_the_self_test_passes_as_cpp",
    "fmu": "test_export_fmu.test_a_unit_moves_as_simulated_here",
    "python": "test_export.test_python_needs_nothing_else",
    "casadi": "test_export.test_casadi_gets_a_function",
    "jax": "test_export.test_jax_gets_a_function_to_compile_batch_and_differentiate",
    "sympy": "test_export.test_sympy_gets_expressions",
}
"""For each format the test that computes exported functions and compares them with armwright. `FROM` of `test_simplify`
runs random graphs in each format as well."""


@pytest.mark.parametrize("to", EXPORTS.built_in)
def test_a_format_has_a_value_test_a_line_in_the_document_and_an_example(to: str) -> None:
    assert to in VALUE_TESTS, f"name in VALUE_TESTS the test that compares what {to} computes"
    module, _, name = VALUE_TESTS[to].partition(".")
    functions = {f.name: f for f in ast.parse((TESTS / f"{module}.py").read_text("utf-8")).body if hasattr(f, "name")}
    assert name in functions, f"{module}.py has no {name}"
    assert any(isinstance(x, ast.Call | ast.Assert) for x in ast.walk(functions[name]))
    rows = re.findall(r"^\| (`.*?) \|", DOCUMENT, flags=re.M)
    assert any(f"`{to}`" in row for row in rows), f"docs/export.md has no line for {to} in its table"
    examples = [code for _, code in re.findall(r"^```(sh|python)\n(.*?)^```", DOCUMENT, flags=re.S | re.M)]
    called = re.compile(rf"--to {to}\b|to=\"{to}\"")
    assert any(called.search(code) for code in examples), f"docs/export.md has no example that exports to {to}"
    assert EXPORTS[to].about, f"say in `about` of {to} what it writes"


def test_every_value_test_is_of_a_format() -> None:
    assert set(VALUE_TESTS) == set(EXPORTS.built_in)


LOADED = """
import json, sys, tempfile
import armwright as aw
arm = aw.load("rr")
before = set(sys.modules)
aw.export(arm, to="{to}", directory=tempfile.mkdtemp(), functions=["inverse_dynamics"])
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded_by(to: str) -> list[str]:
    """Return the modules that an export loads in a fresh process."""
    done = subprocess.run([sys.executable, "-c", LOADED.format(to=to)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_an_export_to_c_loads_nothing_that_it_does_not_need() -> None:
    loaded = loaded_by("c")
    for module in ("backends.cuda", "backends.llvm", "backends.replay", "export.fmu"):
        assert not [name for name in loaded if name.startswith(f"armwright.{module}")], module
    assert [name for name in loaded if name.startswith("armwright.backends.text.")] == [
        "armwright.backends.text.c", "armwright.backends.text.notation",
    ]  # fmt: skip
    assert not {"llvmlite", "cupy", "casadi", "jax", "sympy", "fmpy"} & {name.partition(".")[0] for name in loaded}


def test_an_export_to_cuda_loads_no_launcher() -> None:
    loaded = loaded_by("cuda")
    assert "armwright.backends.cuda.kernels.kernel" in loaded
    assert not [name for name in loaded if name.startswith("armwright.backends.cuda.host")] and "cupy" not in loaded


# Formats of a user


def matlab_files(request: ExportRequest) -> dict[str, str]:
    """Write the number of operations of each function: not MATLAB yet, but in its comments."""
    return {f"{request.prefix}.m": "".join(f"% {name}\n" for name in request.written)}


def native(request: ExportRequest) -> dict[str, Any]:
    return {name: lambda *state, f=f: f(*state) for name, f in request.functions.items()}


MATLAB = ExportFormat(matlab_files, native, about="comments", functions=("bias",), comments={".m": "% {}"})


@pytest.fixture
def registered() -> Iterator[None]:
    EXPORTS.register("matlab", MATLAB)
    yield
    EXPORTS.unregister("matlab")


@pytest.mark.usefixtures("registered")
def test_a_format_of_a_user_works_where_a_built_in_one_does(tmp_path: Path) -> None:
    assert "matlab" in EXPORTS and list(EXPORTS)[-1] == "matlab"
    (path,) = aw.export(RR, to="matlab", directory=tmp_path)
    lines = path.read_text().splitlines()
    assert lines[0].startswith("% Exported by armwright") and lines[1] == "% bias"
    assert aw.export(RR, "matlab", tmp_path, ["mass_matrix"]) == [path] and "mass_matrix" in path.read_text()
    q, qd = np.array([0.1, 0.2]), np.array([0.3, 0.4])
    assert np.allclose(aw.export(RR, "matlab")["bias"](q, qd), RR.bias(q, qd))
    path.write_text("mine")
    with pytest.raises(ModelError, match=r"it has rr.m, a file that armwright did not export"):
        aw.export(RR, "matlab", tmp_path)
    with pytest.raises(aw.ArmwrightError, match="unknown dtype of matlab code: 'float32'"):
        aw.export(RR, "matlab", tmp_path, dtype="float32")
    with pytest.raises(aw.ArmwrightError, match=r"unknown export target 'matlap'.*matlab"):
        aw.export(RR, "matlap", tmp_path)


@pytest.mark.usefixtures("registered")
def test_the_command_knows_a_format_of_a_user(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["export", "rr", "--to", "matlab", "-o", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    assert [Path(name).name for name in json.loads(done.stdout)["files"]] == ["rr.m"]


ENTRY_POINT = """
from armwright.export import ExportFormat
FORMAT = ExportFormat(lambda request: {f"{request.prefix}.m": "% none\\n"}, about="comments", comments={".m": "% {}"})
"""


def test_a_format_of_an_installed_package_is_in_the_list_of_the_command(tmp_path: Path) -> None:
    """By its entry point, in a process that has imported nothing of the package."""
    (tmp_path / "plugin.py").write_text(ENTRY_POINT)
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[armwright.exports]\nmatlab = plugin:FORMAT\n")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from armwright.__main__ import main; main()"
    run = [sys.executable, "-c", program, "export"]
    listed = subprocess.run([*run, "--help"], check=True, capture_output=True, text=True)
    assert "matlab" in listed.stdout
    made = [*run, "rr", "--to", "matlab", "-o", str(tmp_path / "out")]
    done = subprocess.run(made, check=False, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "out" / "rr.m").is_file(), done.stderr


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (matlab_files, "is a function; expected an armwright.export.ExportFormat"),
        (replace(MATLAB, files=None), "files of the export 'matlab' is None; expected a function"),
        (replace(MATLAB, native=3), "native of the export 'matlab' is 3; expected a function or None"),
        (replace(MATLAB, dtypes=()), "dtypes of the export 'matlab' are"),
        (replace(MATLAB, dtypes=("float16",)), "expected some of"),
        (replace(MATLAB, functions=()), "expected names of functions"),
        (replace(MATLAB, functions="bias"), "expected names of functions"),
        (replace(MATLAB, functions=("kinematics",)), "unknown problem 'kinematics'"),
        (replace(MATLAB, comments={"m": "% {}"}), "expected an ending and a pattern"),
        (replace(MATLAB, comments={".m": "%"}), "expected an ending and a pattern"),
    ],
)
def test_an_entry_that_cannot_work_is_refused(entry: Any, message: str) -> None:
    with pytest.raises(aw.ArmwrightError, match=message):
        EXPORTS.register("matlab", entry)
    assert "matlab" not in EXPORTS


def test_a_format_of_armwright_cannot_be_replaced() -> None:
    with pytest.raises(InputError, match="'c' is a name of armwright's own exports"):
        EXPORTS.register("c", MATLAB)
