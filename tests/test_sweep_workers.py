"""Processes and clusters that compute a study: same bits, whoever dies; nobody else can reach them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from test_sweep import TEXT, contents

import armwright as aw
from armwright.errors import ClusterWarning, InputError
from armwright.sweep.prepare import setup_of
from armwright.sweep.study_engine import StudyProgress, compute_study
from armwright.sweep.workers import WorkerPool

LINUX = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets and processes are looked up in /proc")
LISTENING = "0A"
"""The state of a socket in /proc/net/tcp that waits for others."""

ACCEPTING = 0x10000
"""The flag of one in /proc/net/unix."""

NOBODY = 65534


@pytest.fixture(scope="module")
def study() -> aw.Study:
    return replace(aw.Study.parse(TEXT), chunk=16)


@pytest.fixture(scope="module")
def undisturbed(study: aw.Study, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "folder"
    compute_study(study, folder, threads=1)
    return contents(folder)


def descendants(process: int) -> list[int]:
    """A process and all that it has started, and they in turn."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended meanwhile
                continue
    found = [process]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found


def sockets(process: int) -> set[str]:
    """The inodes of the sockets that a process has."""
    found = set()
    for handle in Path(f"/proc/{process}/fd").iterdir():
        try:
            kind, _, inode = os.readlink(handle).partition(":")
        except OSError:
            continue
        if kind == "socket":
            found.add(inode.strip("[]"))
    return found


def listening() -> dict[str, str]:
    """Every socket of this machine at which others can knock, by its inode: where it listens."""
    found = {}
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == LISTENING or kind.startswith("udp"):
                found[parts[9]] = f"{kind} {parts[1]}"
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        parts = line.split()
        if int(parts[3], 16) & ACCEPTING:
            found[parts[6]] = f"unix {' '.join(parts[7:])}"
    return found


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`armwright sweep --workers 2` of a study that takes minutes, once it has results; no process of it is left."""
    many = TEXT.replace("count = 100", "count = 50000").replace('"sobol"', '"random"')
    (folder / "study.toml").write_text(many.replace('robot = "rr"', 'robot = "rr"\nchunk = 16'))
    command = [sys.executable, "-m", "armwright", "sweep", "study.toml", "-o", "results", "--workers", "2"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: process.poll() is not None or len(contents(folder / "results")) > 3)
        there = descendants(process.pid)
        assert process.poll() is None and len(there) >= 3
        yield process
        process.kill()
        until(lambda: not any(alive(one) for one in there[1:]))


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


INTRUDER = """
import json, os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
entered = []
for port in json.loads(sys.argv[1]):
    for host in ("127.0.0.1", "::1"):
        try:
            socket.create_connection((host, port), timeout=5).close()
            entered.append([host, port])
        except OSError:
            pass
for path in json.loads(sys.argv[2]):
    for way in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, way | os.O_NONBLOCK))
            entered.append(path)
        except OSError:
            pass
print(json.dumps(entered))
"""
"""Knocks at ports, and tries the pipes of other processes, as a user who has nothing to do with them."""


@LINUX
def test_nobody_else_can_reach_the_workers_and_they_end_with_the_command(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        tree = descendants(process.pid)
        doors = listening()
        open_doors = [doors[inode] for one in tree for inode in sockets(one) if inode in doors]
        assert open_doors == []
        if os.geteuid():
            pytest.skip("only root can be another user; no socket listens")
        ports = [int(where.rpartition(":")[2], 16) for where in open_doors if where.startswith("tcp")]
        pipes = [str(handle) for one in tree for handle in Path(f"/proc/{one}/fd").iterdir()]
        command = [sys.executable, "-P", "-c", INTRUDER, json.dumps(ports), json.dumps(pipes)]
        tried = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
        assert len(pipes) > 6 and json.loads(tried.stdout) == []


@LINUX
def test_ctrl_c_ends_the_workers_and_keeps_what_was_done(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "keeps the chunks that were done" in said and "Traceback" not in said


MODULE = """
import os
def gap(history):
    print("seen")
    return len(os.read(0, 10))
"""


def test_processes_give_the_same_bits_and_a_killed_one_costs_nothing(
    study: aw.Study, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    left = [2]

    def kill(progress: StudyProgress) -> None:
        while progress.done and left and (workers := descendants(os.getpid())[1:]):
            os.kill(workers[left.pop() - 1], signal.SIGKILL)

    assert compute_study(study, tmp_path / "folder", workers=2, on_progress=kill).done == 100
    assert not left and contents(tmp_path / "folder") == undisturbed
    asked = replace(study, folder=tmp_path, want={"functions": ["mine:gap"]})
    assert compute_study(asked, tmp_path / "other", workers=1).failed == 0


ENDING = """
import os
def gap(history):
    if history.row == 40:
        os._exit(3)
    return 1.0
"""


def test_a_chunk_that_ends_its_process_every_time_is_told(
    study: aw.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("chunk_schedule", "study_engine"):
        monkeypatch.setattr(f"armwright.sweep.{room}.CHUNK_RETRIES", 1)
    (tmp_path / "mine.py").write_text(ENDING)
    asked = replace(study, folder=tmp_path, want={"functions": ["mine:gap"]})
    with pytest.raises(InputError, match="a chunk ended its process 2 times, the last time with exit code 3"):
        compute_study(asked, tmp_path / "folder", workers=1)
    assert len(contents(tmp_path / "folder")) > 1


def test_a_worker_hands_on_what_is_wrong_and_computes_the_next(study: aw.Study) -> None:
    workers = WorkerPool(study, setup_of(study).digest)
    try:
        with pytest.raises(InputError, match="chunk nothing failed in a worker: TypeError"):
            workers.compute("nothing")  # type: ignore[arg-type]
        assert workers.compute(1).count == 16
    finally:
        workers.close()


def test_workers_and_threads_are_not_both_asked_for(study: aw.Study, tmp_path: Path) -> None:
    for how, message in (
        ({"workers": 2, "cluster": "tls://host:1"}, "expected one of them"),
        ({"workers": 2, "threads": 2}, "threads= has no effect with workers="),
        ({"workers": 0}, "workers = 0"),
    ):
        with pytest.raises(InputError, match=message):
            compute_study(study, tmp_path, **how)


ROLES = ("client", "scheduler", "worker")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate that proves itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl, which is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    files = str(folder / "both.pem"), str(folder / "key.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=study"]
    subprocess.run([*made, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def test_a_cluster_with_certificates_gives_the_same_bits_and_outlives_a_worker(
    study: aw.Study,
    undisturbed: dict[str, bytes],
    certificate: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As docs/clusters.md says it: nobody without the certificate gets in."""
    monkeypatch.setattr("armwright.sweep.cluster.CLUSTER_TIMEOUT", 2)
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    both, key = certificate
    files = {"ca-file": both, **{f"{role}.cert": both for role in ROLES}, **{f"{role}.key": key for role in ROLES}}
    tls = {f"distributed.comm.tls.{name}": file for name, file in files.items()}
    with dask.config.set({**tls, "distributed.comm.require-encryption": True}):
        security = distributed.Security()
        how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
        with distributed.LocalCluster(**how, security=security, protocol="tls://") as cluster:
            left = [cluster.workers[0].pid]

            def kill(progress: StudyProgress) -> None:
                if progress.done and left:
                    os.kill(left.pop(), signal.SIGKILL)

            address = cluster.scheduler_address
            done = compute_study(study, tmp_path / "cluster", cluster=address, on_progress=kill)
            assert not left
            without = {name: file if name.endswith("ca-file") else None for name, file in tls.items()}
            for known, at in ((tls, address.replace("tls", "tcp")), (without, address)):
                configured = dask.config.set({**known, "distributed.comm.require-encryption": False})
                with configured, pytest.raises(InputError, match="no Dask cluster answers"), warnings.catch_warnings():
                    warnings.simplefilter("ignore", ClusterWarning)
                    compute_study(study, tmp_path / "none", cluster=at)
    assert done.done == 100
    assert contents(tmp_path / "cluster") == undisturbed


def test_a_cluster_that_asks_nobody_for_a_certificate_is_warned_of(
    study: aw.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armwright.sweep.cluster.CLUSTER_TIMEOUT", 2)
    pytest.importorskip("distributed")
    with (
        pytest.warns(ClusterWarning, match="anyone who can reach it"),
        pytest.raises(InputError, match="no Dask cluster answers"),
    ):
        compute_study(study, tmp_path / "none", cluster="tcp://127.0.0.1:9")
