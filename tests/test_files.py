"""What is written is there whole or not at all, whatever kind of file, whatever happens."""

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kill_writers
import pytest

import armwright as aw
from armwright import files

WRITERS = kill_writers.writers()


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_leaves_the_old_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / kill_writers.NAMES.get(kind, f"robot.{kind}")
    WRITERS[kind](path, 0)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with disk_of(1000), pytest.raises(aw.errors.ArmwrightError, match="cannot write"):
        WRITERS[kind](path, 1)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_process_that_is_killed_leaves_a_whole_file() -> None:
    """A few of the kills that tools/kill_writers.py makes by the hundred."""
    done = subprocess.run([sys.executable, kill_writers.__file__, "3"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", 0 half\n") == len(WRITERS)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_nothing_is_left_beside_a_file_that_could_not_be_written(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    path = tmp_path / "robot.toml"
    path.write_text("old")
    monkeypatch.setattr(os, failing, refuse)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        files.write(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "robot.toml", tmp_path / "link.toml"
    assert files.write(path, "one") == path
    path.chmod(0o640)
    link.symlink_to(path.name)
    assert files.write(link, b"two") == link
    assert link.is_symlink() and path.read_text() == "two" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.toml", "robot.toml"]


def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    files.write(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_may_not_be_written_to_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "robot.toml"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="may not be written to"):
        files.write(path, "new")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        files.write(tmp_path, "new")
    assert path.read_text() == "old"


def test_a_device_is_written_to_and_not_replaced() -> None:
    files.write(os.devnull, "text")
    assert not Path(os.devnull).is_file()


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".urdf")
    assert files.write(path, "text").read_text() == "text"
