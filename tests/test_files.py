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
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    path = tmp_path / "robot.toml"
    path.write_text("old")
    monkeypatch.setattr(os, failing, refuse)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        files.write(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "robot.toml"
    assert files.write(path, "one") == path
    path.chmod(0o640)
    assert files.write(path, b"two") == path
    assert path.read_text() == "two" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["robot.toml"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file to another user")
def test_the_mode_of_a_file_of_somebody_else_is_not_kept(tmp_path: Path) -> None:
    """Who could write to the old file must not be able to write to the new one, nor have it lend rights."""
    ours, theirs, plain = (tmp_path / name for name in ("ours", "theirs", "plain"))
    for path in (ours, theirs):
        path.write_text("old")
    ours.chmod(0o6750)
    os.chown(theirs, 65534, 65534)
    theirs.chmod(0o6777)
    plain.write_text("")
    for path in (ours, theirs):
        files.write(path, "new")
    assert stat.S_IMODE(ours.stat().st_mode) == 0o750
    assert theirs.stat().st_uid == 0 and theirs.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("target", ["precious", "none", "folder", "../link", "/dev/null"])
def test_nothing_is_written_through_a_link(target: str, tmp_path: Path) -> None:
    """It may be a stranger's, and lead to any file of the user's."""
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "precious").write_text("mine")
    link = place / "link"
    link.symlink_to(target)
    with pytest.raises(
        OSError, match=r"it is a link; expected a file, so name what it points to, or remove it: '.*link'"
    ):
        files.write(link, "theirs")
    assert link.is_symlink() and (place / "precious").read_text() == "mine"
    assert sorted(file.name for file in place.iterdir()) == ["folder", "link", "precious"]
    assert not list((place / "folder").iterdir()) and not list(tmp_path.glob("link*"))


@pytest.mark.parametrize("kind", WRITERS)
def test_no_writer_goes_through_a_link(kind: str, tmp_path: Path) -> None:
    """Pages, exports, tables, repaired files: all that is written."""
    (tmp_path / "folder").mkdir()
    path, precious = tmp_path / "folder" / kill_writers.NAMES.get(kind, f"robot.{kind}"), tmp_path / "precious"
    precious.write_text("mine")
    path.symlink_to(precious)
    with pytest.raises(aw.errors.ArmwrightError, match="link"):
        WRITERS[kind](path, 1)
    assert precious.read_text() == "mine" and path.is_symlink()


def test_a_hard_link_is_cut_and_what_it_shared_stays(tmp_path: Path) -> None:
    path, precious = tmp_path / "page.html", tmp_path / "precious"
    precious.write_text("mine")
    path.hardlink_to(precious)
    files.write(path, "page")
    assert precious.read_text() == "mine" and path.read_text() == "page"


def test_a_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    """As /tmp is on some systems, and results on other disks: the user has named it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    files.write(tmp_path / "link" / "page.html", "page")
    assert (tmp_path / "folder" / "page.html").read_text() == "page"


def test_links_of_the_system_are_followed(tmp_path: Path) -> None:
    """`-o /dev/stdout`, to a pipe and to a file."""
    command = [sys.executable, "-c", "from armwright import files; files.write('/dev/stdout', 'text')"]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout == "text"
    with (tmp_path / "out").open("w") as out:
        subprocess.run(command, stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "text"


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe that nobody reads"):
        files.write(tmp_path / "pipe", "text")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write(tmp_path / "pipe", "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)


def test_a_folder_held_open_stays_the_same_whoever_renames_it(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    with files.directory(tmp_path) as here, here.inside("ours") as ours:
        (tmp_path / "ours").rename(tmp_path / "moved")
        (tmp_path / "ours").symlink_to("theirs")
        ours.write("file", b"data")
        with pytest.raises(NotADirectoryError, match="it is a link; expected a folder"), here.inside("ours"):
            pass
    assert (tmp_path / "moved" / "file").read_bytes() == b"data" and not list((tmp_path / "theirs").iterdir())


def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    files.write(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_may_not_be_written_to_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "robot.toml"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(PermissionError, match="may not be written to"):
        files.write(path, "new")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        files.write(tmp_path, "new")
    assert path.read_text() == "old"


def test_a_device_is_written_to_and_not_replaced() -> None:
    master, terminal = os.openpty()  # in a file system where nothing can be replaced, were it tried
    try:
        files.write(os.ttyname(terminal), "text")
        assert os.read(master, 100) == b"text"
        assert Path(os.ttyname(terminal)).is_char_device()
    finally:
        os.close(master)
        os.close(terminal)


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".urdf")
    assert files.write(path, "text").read_text() == "text"
