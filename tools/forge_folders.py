"""Forges folders of results as a stranger may send them, and does with each all that can be done with a folder.

    python tools/forge_folders.py            # 500 folders; each is made from its own number, so a failure can be repeated
    python tools/forge_folders.py 2000       # more
    python tools/forge_folders.py 500 123    # folder 123 alone

Every call must work or end with an error of armwright's within two seconds of the processor, since others may use the
machine too; the clock ends whatever waits for longer than eight. Nothing outside the folder may change, no code
that the folder names may run, and a study that is told to be done must be whole. What is made of a folder is signed
again where that is asked for, so that digests and sums hold: whoever forges one can compute them too.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from forgeries import KINDS, Forger
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import ArmwrightError
from armwright.sweep.study_page import study_page, study_summary

SECONDS = 2.0

STUDIES = {
    "sobol": """
robot = "rr"
duration = 0.1
every = 0.02
chunk = 8
[integrator]
method = "rk4"
step = 0.005
[vary]
"payload.mass" = {uniform = [0, 3]}
"q0.1" = [0.0, 0.1, 0.2]
[design]
method = "sobol"
count = 20
[want]
measures = ["peak_torque", "peak_speed", "energy", "final_q"]
histories = ["qd", "tau"]
histories_every = 5
""",
    "grid": """
robot = "rr"
duration = 0.1
chunk = 4
[vary]
"payload.mass" = [0, 1, 2]
"q0.1" = [0, 1, 2, 3]
""",
    "indices": """
robot = "rr"
duration = 0.1
chunk = 16
[vary]
"payload.mass" = {uniform = [0, 3]}
"q0.1" = {normal = [0, 0.1]}
[design]
method = "sobol_indices"
count = 16
[want]
measures = ["peak_torque"]
""",
}


def look(folder: Path) -> None:
    """Everything that `open_study` hands out."""
    found = aw.open_study(folder)
    study_summary(found)
    repr(found)
    for ask in (
        lambda: found.robot,
        lambda: found.study,
        lambda: found.actuators,
        lambda: found.design,
        lambda: study_page(found),
    ):
        tried(ask)
    if found.files:
        found.columns(("row", "ok", *found.varied, *found.wanted))
        for name in found.wanted:
            tried(lambda name=name: found.indices(name))


def tried(ask: Callable[[], object]) -> None:
    with suppress(ArmwrightError):
        ask()


def command(*words: str) -> Callable[[Path], int]:
    def run(folder: Path) -> int:
        result = CliRunner().invoke(app, ["sweep", str(folder), *words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code

    return run


CALLS: Mapping[str, Callable[[Path], int | None]] = {
    "open_study": look,
    "--status": command("--status", "--json"),
    "--report": command("--report"),
    "--row": command("--row", "3"),
    "--chunk": command("--chunk", "1/2", "--threads", "1"),
    "sweep": command("--threads", "1", "--json"),
}


class TooLongError(BaseException):
    """Nobody waits any longer."""


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 4 * SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def snapshot(place: Path) -> dict[str, tuple[int, bytes]]:
    """All files outside the folder of results."""
    found = {}
    for path in sorted(place.rglob("*")):
        if not path.is_relative_to(place / "results") and path.is_file() and not path.name.startswith("row_"):
            found[str(path)] = (path.stat().st_mode, path.read_bytes())
    return found


def bases(work: Path) -> list[Path]:
    """Folders of results that nobody has forged."""
    found = []
    for name, text in STUDIES.items():
        aw.Study.parse(text).run(work / name, threads=1)
        found.append(work / name)
    return found


def forged(place: Path, base: Path, seed: int) -> tuple[str, list[str]]:
    """Of which kind a folder is, and what went wrong with it."""
    chance = random.Random(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    place.mkdir()
    forger = Forger(place, base, chance)
    KINDS[kind](forger)
    before, wrong = snapshot(place), list[str]()
    os.chdir(place)
    for name, call in CALLS.items():
        begin, code = time.process_time(), None
        try:
            with limited(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                code = call(forger.folder)
        except ArmwrightError:
            pass
        except TooLongError:
            wrong.append(f"{name}: no end in sight")
        except BaseException as error:
            wrong.append(f"{name}: bare {type(error).__name__}: {str(error)[:200]}")
        took = time.process_time() - begin
        if took > SECONDS:
            wrong.append(f"{name}: took {took:.1f} s")
        if name == "sweep" and code == 0 and not aw.open_study(forger.folder).finished:
            wrong.append("sweep: ends with exit code 0, and the study is not whole")
    if snapshot(place) != before:
        wrong.append("something outside the folder has changed")
    return kind, wrong


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    chosen = [int(sys.argv[2])] if len(sys.argv) > 2 else range(count)
    faults, kinds = Counter[str](), Counter[str]()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        known = bases(work)
        for seed in chosen:
            kind, wrong = forged(work / str(seed), known[seed // len(KINDS) % len(known)], seed)
            kinds[kind] += 1
            for fault in wrong:
                print(f"folder {seed} ({kind}): {fault}", flush=True)
                what = "bare" if "bare" in fault else "late" if "took" in fault or "end in" in fault else "other"
                faults[what] += 1
            os.chdir(work)
            shutil.rmtree(work / str(seed))
    print(
        f"{len(chosen)} forged folders of {len(kinds)} kinds, {len(CALLS)} calls each, in {time.monotonic() - begin:.0f} s: "
        f"{faults['bare']} bare errors, {faults['late']} beyond {SECONDS:g} s, {faults['other']} with something outside the "
        "folder touched or a study told to be whole that is not"
    )
    return faults.total() > 0


if __name__ == "__main__":
    sys.exit(main())
