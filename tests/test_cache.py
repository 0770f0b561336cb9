"""What is kept on disk is proven before it is used, whoever put it there; without a safe place nothing is kept."""

import hashlib
import hmac
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest
from conftest import close

import armwright as aw
from armwright import cache
from armwright.backends.interface import backend
from armwright.backends.llvm import native
from armwright.errors import CacheWarning, InputError
from armwright.integrate import method
from armwright.robot import random_tree
from armwright.simulation.motion_programs import derivative, equations_of_motion
from armwright.simulation.motion_record import MotionRecord, layout_of
from armwright.torque import Free

ARMS = [aw.random_robot(2, seed) for seed in (1, 2)]
Q = np.array([0.3, -0.7])
POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of files are those of POSIX")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ARMWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_REFUSED_FOLDERS", set())
    yield tmp_path / "cache"


def matrix(arm: aw.Robot, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """As a new process has it, with nothing loaded yet."""
    monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
    return aw.compile(arm, "mass_matrix")(Q)


def filled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[np.ndarray], list[Path]]:
    """The matrices of both arms, and the files of their code, which are larger than those of choices."""
    made, files = [], []
    for arm in ARMS:
        made.append(matrix(arm, monkeypatch))
        files.append(next(f for f in folder.iterdir() if f.stat().st_size > 1000 and f not in files))
    return made, files


def forged(folder: Path, name: str, code: bytes) -> bytes:
    """A file with a right signature, by somebody who knows the key."""
    return (
        cache.CACHE_HEADER + hmac.digest((folder / "key").read_bytes(), name.encode() + b"\n" + code, "sha256") + code
    )


def compiled_anew(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled from now on."""
    texts: list[str] = []
    compiled = native.compile_ir
    monkeypatch.setattr(native, "compile_ir", lambda text: texts.append(text) or compiled(text))
    return texts


def test_swapped_files_are_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, (one, two) = filled(folder, monkeypatch)
    whole = one.read_bytes(), two.read_bytes()
    one.write_bytes(whole[1])
    two.write_bytes(whole[0])
    for arm, M in zip(ARMS, made, strict=True):
        assert np.array_equal(matrix(arm, monkeypatch), M)
    assert (one.read_bytes(), two.read_bytes()) == whole


@pytest.mark.parametrize("what", ["another robot's code", "text", "half of its own code"])
def test_foreign_content_with_a_right_checksum_is_not_run(
    what: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, (one, two) = filled(folder, monkeypatch)
    whole = one.read_bytes()
    start = len(cache.CACHE_HEADER) + 32
    own, other = whole[start:], two.read_bytes()[start:]
    code = {
        "another robot's code": other,
        "text": b"\x7fELF" + b"?" * 5000,
        "half of its own code": own[: len(own) // 2],
    }
    one.write_bytes(forged(folder, one.name, code[what]))
    with pytest.warns(CacheWarning, match=f"{one.name} contains code that computes wrong results"):
        assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
    assert one.read_bytes() == whole


@pytest.mark.parametrize("kind", ["its name and garbage", "an object cut off"])
def test_foreign_content_without_the_key_is_not_even_looked_at(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, (one, _) = filled(folder, monkeypatch)
    whole = one.read_bytes()
    name = one.name.encode()
    code = name + b"garbage" * 100 if kind == "its name and garbage" else whole[44 : len(whole) // 2] + name
    for checksum in (hashlib.sha256(name + b"\n" + code).digest(), hmac.digest(b"", name + b"\n" + code, "sha256")):
        one.write_bytes(cache.CACHE_HEADER + checksum + code)
        assert cache.read(one.name) is None
        assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
        assert one.read_bytes() == whole


def test_without_its_key_everything_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = filled(folder, monkeypatch)
    (folder / "key").write_bytes(b"short")
    texts = compiled_anew(monkeypatch)
    assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
    assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
    assert len(texts) == 1
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600


@pytest.mark.parametrize("problem", ["inverse_dynamics", "mass_matrix"])
@pytest.mark.parametrize("joints", [2, 26])
def test_code_that_computes_something_else_is_compiled_anew(
    problem: str, joints: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the right name, but from a text in which a sum was made a difference."""
    arm = aw.random_robot(joints, 3)
    state = [np.full(joints, 0.4)] * (3 if problem == "inverse_dynamics" else 1)
    compiled = native.compile_ir
    with monkeypatch.context() as wrong:
        wrong.setattr(native, "_LOADED", WeakValueDictionary())
        wrong.setattr(native, "compile_ir", lambda text: compiled(text.replace("fadd", "fsub")))
        with suppress(InputError):  # without fused operations more sums are wrong, and it overflows
            aw.compile(arm, problem)(*state)
    monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
    with pytest.warns(CacheWarning, match="compiled again"):
        result = aw.compile(arm, problem)(*state)
    close(result, aw.compile(arm, problem, target="python")(*state), 1e-11)


@pytest.mark.parametrize("kind", ["ball", "free", "planar"])
def test_code_of_a_robot_with_quaternions_is_found_on_disk(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried at a state that the robot can have: at others no result is finite, which would prove nothing."""
    arm = random_tree(2, 3, kinds=(kind,))
    first = aw.compile(arm, "gravity_torque")(arm.neutral)
    monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
    texts = compiled_anew(monkeypatch)
    assert np.array_equal(aw.compile(arm, "gravity_torque")(arm.neutral), first)
    assert not texts


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_a_rollout_from_disk_is_tried_too(integrator: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm, law, texts, compiled = ARMS[0], Free(), compiled_anew(monkeypatch), native.compile_ir

    def made() -> None:
        monkeypatch.setattr(native, "_LOADED", WeakValueDictionary())
        steps = method(integrator).steps(integrator == "rk4")
        program = derivative(equations_of_motion(MotionRecord(arm, law)))
        backend("cpu").rollout(program, steps, layout_of(arm, law), None, None, "float64")

    with monkeypatch.context() as wrong:
        wrong.setattr(native, "compile_ir", lambda text: compiled(text.replace("fadd", "fsub")))
        made()
    with pytest.warns(CacheWarning, match="compiled again"):
        made()
    texts.clear()
    made()
    assert not texts


def test_what_differs_by_rounding_alone_is_no_cause_for_alarm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling anew gives the same code, which is then used without a word."""
    made, (one, _) = filled(folder, monkeypatch)
    whole = one.read_bytes()
    monkeypatch.setattr("armwright.backends.llvm.code_check._agree", lambda got, expected: False)
    assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
    assert one.read_bytes() == whole


@POSIX
@pytest.mark.parametrize("kind", ["FIFO", "link", "folder", "file others may write to"])
def test_what_is_no_file_of_ours_is_not_read(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, (one, _) = filled(folder, monkeypatch)
    texts, whole = compiled_anew(monkeypatch), one.read_bytes()
    if kind.startswith("file"):
        one.chmod(0o666)
    else:
        moved = one.rename(folder.parent / "moved")
        {"FIFO": os.mkfifo, "link": lambda at: os.symlink(moved, at), "folder": os.mkdir}[kind](one)
    assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
    assert len(texts) == 1
    if kind != "folder":  # which nothing can take the place of
        assert stat.S_IMODE(one.lstat().st_mode) == 0o600
        assert one.read_bytes() == whole


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_used(
    mode: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = filled(folder, monkeypatch)
    texts, before = compiled_anew(monkeypatch), {f: f.stat().st_mtime_ns for f in folder.iterdir()}
    folder.chmod(mode)
    with pytest.warns(CacheWarning, match="others than its owner may write to it") as told:
        assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
        assert np.array_equal(matrix(ARMS[1], monkeypatch), made[1])
    assert len(told) == 1
    assert len(texts) == 2
    assert {f: f.stat().st_mtime_ns for f in folder.iterdir()} == before


@POSIX
def test_the_folder_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = filled(folder, monkeypatch)
    texts, me = compiled_anew(monkeypatch), os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.warns(CacheWarning, match="it belongs to another user"):
        assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
    assert len(texts) == 1


@POSIX
def test_a_new_folder_is_for_this_user_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0)
    try:
        cache.write("0" * 64, b"code")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert cache.read("0" * 64) == b"code"
    assert cache.read("1" * 64) is None


@pytest.mark.parametrize(
    "choice",
    [
        ["no_such", "", True, False],
        ["kane", "", True, True],
        ["kane", "other", True, False],
        ["kane"],
        5,
        [[]],
        "[" * 99,
    ],
)
def test_an_unknown_choice_is_none(choice: object, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, files = filled(folder, monkeypatch)
    choices = [f for f in folder.iterdir() if f not in files and f.name != "key"]
    kept = {f: f.read_bytes() for f in choices}
    assert len(choices) == 2
    for file in choices:
        file.write_bytes(
            forged(folder, file.name, json.dumps(choice).encode() if choice != "[" * 99 else b"[" * 100_000)
        )
    assert np.array_equal(matrix(ARMS[0], monkeypatch), made[0])
    assert np.array_equal(matrix(ARMS[1], monkeypatch), made[1])
    assert {f: f.read_bytes() for f in choices} == kept


def test_the_oldest_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_CACHE_BYTES", 5000)
    names = [f"{i:064x}" for i in range(4)]
    for age, name in enumerate(names):
        cache.write(name, bytes(1000) + name.encode())
        os.utime(folder / name, (age, age))
    assert cache.read(names[0])  # which is now the one used last
    (folder / "notes.txt").write_bytes(bytes(9000))
    cache.write("f" * 64, b"x" * 2000)
    kept = {f.name for f in folder.iterdir()}
    assert kept == {names[0], names[3], "f" * 64, "notes.txt", "key"}


def test_what_a_killed_process_left_is_swept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os, signal
from armwright import cache
from armwright.backends.interface import backend
os.replace = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
cache.write("a" * 64, b"code")
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode < 0
    (left,) = (file for file in folder.iterdir() if file.name != "key")
    monkeypatch.setattr(cache, "_sizes_since_sweep", [cache.MAX_CACHE_BYTES])
    cache.write("b" * 64, b"code")
    assert left.exists()  # it might still be written to
    os.utime(left, (1, 1))
    monkeypatch.setattr(cache, "_sizes_since_sweep", [cache.MAX_CACHE_BYTES])
    cache.write("b" * 64, b"code")
    assert {f.name for f in folder.iterdir()} == {"b" * 64, "key"}


def test_a_disk_that_is_full_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write("a" * 64, b"old")

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as now:
        now.setattr(os, "replace", full)
        cache.write("a" * 64, b"new")
    assert {f.name for f in folder.iterdir()} == {"a" * 64, "key"}
    assert cache.read("a" * 64) == b"old"


def test_without_a_home_there_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ARMWRIGHT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    for home in ("", "relative", str(tmp_path / "missing")):
        monkeypatch.setenv("HOME", home)
        assert cache.directory() is None
    monkeypatch.delenv("HOME")

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert cache.directory() is None
    assert matrix(ARMS[0], monkeypatch).shape == (2, 2)
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() == tmp_path / "armwright"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.directory() is None
