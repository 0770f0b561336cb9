"""The CPU that code is compiled for can be set, so that a run computes what another machine computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from conftest import close
from typer.testing import CliRunner

import armwright as aw
from armwright.backends.llvm import compiler, native, target
from armwright.cli import app
from armwright.errors import InputError

SETTINGS = [
    (cpu, lanes) for cpu in (target.NATIVE, *target.CPU_FEATURES) for lanes in ("", *map(str, target.LANE_COUNTS))
]
ARM = aw.load("rr")
WIDEST = target.target_of("", "")
ON_X86 = pytest.mark.skipif(not target.is_x86(), reason="older CPUs can be set on x86-64 alone")


def possible(cpu: str, lanes: str = "") -> target.Target:
    """The target that is set, if this machine can be it."""
    try:
        return target.target_of(cpu, lanes)
    except InputError as why:
        pytest.skip(str(why))


def compute_as(monkeypatch: pytest.MonkeyPatch, chosen: target.Target) -> None:
    for module in (native, compiler):
        monkeypatch.setattr(module, "target", lambda: chosen)


@pytest.fixture
def afresh() -> Iterator[None]:
    """The settings are read as in a new process, before and after."""
    target.target.cache_clear()
    yield
    target.target.cache_clear()


@pytest.mark.parametrize(("cpu", "lanes"), SETTINGS)
def test_every_target_computes_the_same_to_rounding(cpu: str, lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole vectors, the states left over, and one state, in code with vectors of the width that was set."""
    chosen = possible(cpu, lanes)
    q, qd, tau = np.random.default_rng(1).uniform(-3, 3, (3, 3 * chosen.lanes - 1, ARM.n))
    expected = aw.compile(ARM, "forward_dynamics", target="python")(q, qd, tau)
    allowed = 8 * np.finfo(float).eps * np.linalg.cond(ARM.mass_matrix(q)).max()
    compute_as(monkeypatch, chosen)
    f = aw.compile(replace(ARM), "forward_dynamics")
    assert f"<{chosen.lanes} x double>" in f.source
    close(f(q, qd, tau), expected, allowed)
    close(f(q[0], qd[0], tau[0]), expected[0], allowed)
    single = aw.compile(replace(ARM), "forward_dynamics", dtype="float32")
    assert f"<{2 * chosen.lanes} x float>" in single.source


@ON_X86
def test_an_older_cpu_gets_its_own_instructions_and_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FMA rounds once where a product and a sum round twice; code of one CPU is never read for another."""
    monkeypatch.setenv("ARMWRIGHT_CACHE", str(tmp_path))
    fused, plain = possible("x86-64-v3", "2"), possible("x86-64-v2")
    assert (fused.lanes, fused.fma, plain.lanes, plain.fma) == (2, True, 2, False)
    q, qd, qdd = np.random.default_rng(0).uniform(-3, 3, (3, 100, ARM.n))
    found = []
    for chosen in (fused, plain, replace(plain, cpu="sandybridge")):
        compute_as(monkeypatch, chosen)
        found.append(aw.compile(replace(ARM), "inverse_dynamics")(q, qd, qdd))
        assert sum(file.stat().st_size > 1000 for file in tmp_path.iterdir()) == len(found)
    assert not np.array_equal(found[0], found[1])
    close(found[0], found[1], 1e-13)


@ON_X86
def test_another_process_compiles_for_the_same_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its environment says."""
    compute_as(monkeypatch, target.target_of("x86-64", ""))
    text = aw.compile(replace(ARM), "bias").source
    here = compiler.compile_ir(text)
    monkeypatch.setattr(compiler, "MAX_IN_PROCESS_COMPILATIONS", 0)
    monkeypatch.setenv(target.CPU, "no such CPU")
    assert compiler.compile_ir(text) == here


@pytest.mark.parametrize("lanes", ["3", "0", "-2", "16", "2.0", "two", " 2"])
def test_a_number_of_lanes_that_does_not_exist_is_refused(lanes: str) -> None:
    with pytest.raises(InputError, match=r"ARMWRIGHT_LANES is .*; expected 2, 4 or 8"):
        target.target_of("", lanes)


@pytest.mark.parametrize("cpu", ["x86_64-v3", "HASWELL", "-fma", "z80"])
def test_a_cpu_that_does_not_exist_is_refused(cpu: str) -> None:
    with pytest.raises(InputError, match=rf"ARMWRIGHT_CPU is '{cpu}', .*; expected one of native"):
        target.target_of(cpu, "")


@ON_X86
def test_what_this_cpu_cannot_do_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a CPU of 2012, with AVX and without FMA."""
    features = llvm.get_host_cpu_features()
    features.update(
        {x: x in target.CPU_FEATURES["sandybridge"] for x in (*target.CPU_FEATURES["x86-64-v4"], "xsaveopt", "pclmul")}
    )
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: features)
    assert target.target_of("", "").lanes == 4 and not target.target_of("", "").fma
    with pytest.raises(
        InputError, match=r"lacks avx2, .*fma.*; expected one of native, x86-64, x86-64-v2, sandybridge$"
    ):
        target.target_of("x86-64-v3", "")
    for cpu, most in (("", 4), ("sandybridge", 4), ("x86-64-v2", 2)):
        with pytest.raises(InputError, match=f"ARMWRIGHT_LANES is 8; expected {most} at most"):
            target.target_of(cpu, "8")


def test_elsewhere_no_older_cpu_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "get_default_triple", lambda: "aarch64-unknown-linux-gnu")
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: llvm.FeatureMap(neon=True))
    assert target.target_of("native", "2").fma
    with pytest.raises(InputError, match=r"lacks the x86-64 architecture; expected one of native$"):
        target.target_of("haswell", "")


@pytest.mark.usefixtures("afresh")
def test_commands_read_the_settings_and_tell_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(target.LANES, "")
    monkeypatch.setenv(target.CPU, "")
    assert target.target() == WIDEST
    target.target.cache_clear()
    monkeypatch.setenv(target.LANES, "5")
    refused = CliRunner().invoke(app, ["simulate", "rr", "-o", str(tmp_path / "rr.html")])
    assert refused.exit_code == 2 and "ARMWRIGHT_LANES is '5'; expected 2, 4 or 8" in refused.output
    assert not any(tmp_path.iterdir())
    monkeypatch.setenv(target.LANES, "2")
    assert target.target() == target.target_of("", "2")
