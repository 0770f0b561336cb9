"""Kills processes while they write, and looks at what is left: the old file or the new one, whole, and never half of one.

    python tools/kill_writers.py                 # 200 kills for each kind of file
    python tools/kill_writers.py 20 html csv     # fewer, of some kinds
    python tools/kill_writers.py 20 --plain      # the same with files written in place: what the renaming is for

A child writes another content over a file and is killed by SIGKILL some time after it has begun to, up to one and a half
times as long as it takes. "in the middle" counts the kills that left a part of a file beside it.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import armwright as aw
from armwright import check, files
from armwright.identify.measured_data import Measurement
from armwright.pages.report import plot

KILLS = 200
Writer = Callable[[Path, int], object]


def writers() -> dict[str, Writer]:
    """What writes a file of each kind; the second argument chooses one of two contents."""
    arms = [aw.load("puma560"), aw.load("puma560").with_payload(2.0)]
    runs = [aw.simulate(arm, duration=0.5, every=0.002) for arm in arms]
    data = [Measurement(run.t, run.q, run.qd, run.qdd, run.tau) for run in runs]
    pages = ["<p>one</p>" * 50_000, "<p>other</p>" * 50_000]
    functions = ["inverse_dynamics", "mass_matrix"]
    doubtful = [Path(tempfile.mkdtemp()) / f"{i}.toml" for i in range(2)]
    for path, arm in zip(doubtful, arms, strict=True):
        arm.to_toml(path)
    return {
        "html": lambda path, i: runs[i].to_html(path),
        "figures": lambda path, i: plot.write(path, pages[i]),
        "parquet": lambda path, i: runs[i].to_parquet(path),
        "urdf": lambda path, i: arms[i].to_urdf(path),
        "mjcf": lambda path, i: arms[i].to_mjcf(path),
        "toml": lambda path, i: arms[i].to_toml(path),
        "c": lambda path, i: aw.export(arms[i], to="c", directory=path.parent, functions=functions),
        "python": lambda path, i: aw.export(arms[i], to="python", directory=path.parent, functions=functions),
        "csv": lambda path, i: data[i].to_csv(path),
        "repaired": lambda path, i: check.fix(doubtful[i], path),
    }


NAMES = {"c": "puma560.c", "python": "puma560.py", "repaired": "repaired.toml"}


def contents(write: Writer, path: Path) -> tuple[list[bytes], float]:
    """The two contents as they are when nothing happens, the second of which is left there, and the seconds one takes."""
    found = []
    for i in range(2):
        write(path, i)
        found.append(path.read_bytes())
    begin = time.perf_counter()
    files.write(path, found[1])
    return found, time.perf_counter() - begin


def announced(pipe: int, plain: bool) -> None:
    """Everything in this process that writes a file says so through the pipe first."""
    original = files.Directory.write

    def telling(folder: files.Directory, name: str, data: bytes) -> None:
        os.write(pipe, b".")
        (folder.path / name).write_bytes(data) if plain else original(folder, name, data)

    files.Directory.write = telling  # type: ignore[method-assign]


def killed(write: Writer, path: Path, first: int, delay: float, plain: bool) -> None:
    """A child that writes, and its end: so many seconds after it has begun to."""
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        announced(told, plain)
        try:
            for i in range(1_000_000):
                write(path, (first + i) % 2)
        finally:
            os._exit(1)
    os.read(heard, 1)
    end = time.perf_counter() + delay
    while time.perf_counter() < end:
        pass
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(heard)
    os.close(told)
    if not os.WIFSIGNALED(status):
        raise RuntimeError(f"writing {path.name} failed by itself")


def trial(kind: str, write: Writer, kills: int, plain: bool) -> Counter[str]:
    """What was found where the file is to be, and how often a part of one beside it."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAMES.get(kind, f"robot.{kind}")
        (one, other), seconds = contents(write, path)
        if one == other:
            raise RuntimeError(f"{kind}: the two contents are the same")
        for delay in np.linspace(0, 1.5 * seconds, kills):
            old = path.read_bytes()
            killed(write, path, int(old == one), float(delay), plain)
            now = path.read_bytes()
            found["old" if now == old else "new" if now in (one, other) else "half"] += 1
            parts = list(Path(folder).glob(".*.part"))
            found["middle"] += bool(parts)
            for part in parts:
                part.unlink()
            if now not in (one, other):
                path.write_bytes(other)
    return found


def main() -> int:
    asked = [word for word in sys.argv[1:] if not word.startswith("-")]
    kills = int(asked.pop(0)) if asked and asked[0].isdigit() else KILLS
    failures = 0
    for kind, write in writers().items():
        if asked and kind not in asked:
            continue
        found = trial(kind, write, kills, "--plain" in sys.argv)
        failures += found["half"]
        left = ", ".join(f"{found[what]} {what}" for what in ("old", "new", "half"))
        print(f"{kind:9} {kills} kills, {found['middle']} in the middle: {left}", flush=True)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
