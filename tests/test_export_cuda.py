"""Exported CUDA: device functions in a header, which are C++ as well, and a self-test."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import armwright as aw

CPP, NVCC = shutil.which("g++"), shutil.which("nvcc")
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off", "-x", "c++"]
needs_compiler = pytest.mark.skipif(CPP is None, reason="no g++ on this machine")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine")
FUNCTIONS = ["inverse_dynamics", "forward_dynamics", "jacobian"]


def exported(folder: Path, dtype: str = "float64") -> Path:
    robot = aw.load("stanford")
    aw.export(robot, "cuda", folder, FUNCTIONS, dtype=dtype, vary=["payload.mass"], wrenches=["tip_wrench"])
    return folder / "stanford_selftest.cu"


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_self_test_passes_as_cpp(dtype: str, tmp_path: Path) -> None:
    program = tmp_path / "selftest"
    subprocess.run([CPP, *STRICT, str(exported(tmp_path, dtype)), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout == "all as expected\n"
    header = (tmp_path / "stanford.cuh").read_text()
    assert "one for each joint, in this order" in header
    assert "#define STANFORD_JOINTS 6" in header
    first = next(line for line in (tmp_path / "CMakeLists.txt").read_text().splitlines() if not line.startswith("#"))
    assert first.startswith("cmake_minimum_required(VERSION ")  # as CMake demands


@needs_compiler
def test_a_wrong_number_is_found_by_the_self_test(tmp_path: Path) -> None:
    source = exported(tmp_path)
    source.write_text(re.sub(r"expected\[\] = \{", "expected[] = {1e3 + ", source.read_text(), count=1))
    subprocess.run([CPP, *STRICT, str(source), "-o", str(tmp_path / "selftest")], check=True)
    found = subprocess.run([str(tmp_path / "selftest")], check=False, capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stdout.startswith("inverse_dynamics differs by ")


@needs_compiler
def test_two_robots_and_angles_of_any_size_in_one_program(tmp_path: Path) -> None:
    for name in ("rr", "stanford"):
        aw.export(aw.load(name), "cuda", tmp_path, ["gravity_torque"])
    (tmp_path / "use.cu").write_text("""
#include "rr.cuh"
#include "stanford.cuh"
int main()
{
    double q[6] = {1e7, 1e7, 0.1, 0, 0, 0}, tau[6], other[6];
    if (!rr::gravity_torque(q, tau) || rr::gravity_torque<false>(q, other)) return 1;
    q[0] = q[1] = 1e5;
    if (!stanford::gravity_torque(q, tau) || !stanford::gravity_torque<false>(q, other)) return 2;
    for (int i = 0; i < 6; ++i) if (!(fabs(tau[i] - other[i]) < 1e-9)) return 3;
    return 0;
}
""")
    subprocess.run([CPP, *STRICT, f"-I{tmp_path}", str(tmp_path / "use.cu"), "-o", str(tmp_path / "use")], check=True)
    subprocess.run([str(tmp_path / "use")], check=True)


@needs_nvcc
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nvcc_compiles_the_self_test(dtype: str, tmp_path: Path) -> None:
    command = [NVCC, "-arch=sm_90", "-std=c++17", "-fmad=false", "-c", str(exported(tmp_path, dtype)), "-o"]
    subprocess.run([*command, str(tmp_path / "selftest.o")], check=True, timeout=300)


@needs_nvcc
def test_the_kernel_of_the_document_compiles(tmp_path: Path) -> None:
    document = (Path(__file__).parent.parent / "docs" / "export.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```cuda\n(.*?)^```", document, flags=re.S | re.M)
    aw.export(aw.load("panda"), "cuda", tmp_path, ["inverse_dynamics"])
    (tmp_path / "use.cu").write_text(code)
    command = [NVCC, "-arch=sm_90", "-std=c++17", "-fmad=false", "-c", str(tmp_path / "use.cu"), "-o"]
    subprocess.run([*command, str(tmp_path / "use.o")], check=True, timeout=300)
