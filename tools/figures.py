"""Measured figures of the documents: measured by commands, kept in one file, written to every place that names them.

    python tools/figures.py measure [RUN ...]     runs the commands (all that need no card) and keeps what they print
    python tools/figures.py measure gpu FILE      keeps what `python benchmarks/gpu.py` printed on a machine with a card
    python tools/figures.py                       writes the figures of docs/figures.json into the documents

In a document a figure stands between two comments, `<!--fig bench.inverse_dynamics.ns-->20.7 ns<!--/fig-->`, so that no
document has a figure of its own.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "figures.json"
MARK = re.compile(r"(<!--fig ([\w.]+)-->)(.*?)(<!--/fig-->)")

Figures = dict[str, str]


def time_text(seconds: float) -> str:
    """Return a time with three digits in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def ratio_text(ratio: float) -> str:
    """Return a ratio with two digits, or as a whole number from ten on."""
    return f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}"


SHORT = {
    "pin.rneaInParallel": "pin_batch",
    "pin.abaInParallel": "pin_batch",
    "CasADi, compiled C, mapped": "casadi",
    "mj_inverse": "mujoco",
    "mj_forward": "mujoco",
    "armwright": "ours",
    "armwright, rows": "rows",
    "armwright, 2 threads": "threads",
    "armwright, float32": "float32",
}


def short(who: str) -> str:
    """Return the name of a row of `armwright bench` in the names of figures."""
    return (
        SHORT.get(who)
        or re.sub(
            r"\W+", "_", who.split(",", maxsplit=1)[0].split(".", maxsplit=1)[0].split(" ", maxsplit=1)[0]
        ).lower()
    )


def of_bench(text: str) -> Figures:
    """Times and ratios of `armwright bench ROBOT --json`: problem.batch.who and problem.one.who, and .ratio of these."""
    found: Figures = {}
    for row in json.loads(text)["times"]:
        if row["who"].endswith("in a loop") and not row["who"].startswith("pin"):
            continue
        name = f"{row['problem']}.{'one' if row['alone'] else 'batch'}.{short(row['who'])}"
        found[name] = time_text(row["seconds"])
        found[f"{name}.ratio"] = ratio_text(row["ratio"])
    return found


def by_patterns(patterns: Mapping[str, str]) -> Callable[[str], Figures]:
    """Return a reader of figures by regular expressions, each of which must be found."""

    def read(text: str) -> Figures:
        plain = " ".join(text.split())
        found = {}
        for name, pattern in patterns.items():
            if (match := re.search(pattern, plain)) is None:
                raise SystemExit(f"no {name}: {pattern!r} is not in\n{text}")
            found[name] = match[1]
        return found

    return read


STEPPING = {
    "ns": r"step of 4096, one thread (\d+ ns)",
    "of_batch": r"beside simulate_batch (\d+ %)",
    "mujoco": r"beside mujoco\.rollout (\d+)x",
    "float32": r"the same in float32 (\d+ ns)",
    "float32_mujoco": r"the same in float32 \d+ ns a step, (\d+)x",
    "one": r"one environment from Python ([\d.]+ us)",
    "linearised": r"linearised by Euler, as theirs ([\d.]+ us)",
    "linearised_mujoco": r"linearised by Euler, as theirs [\d.]+ us a state, (\d+)x",
    "linearised_rk4": r"linearised by RK4, theirs by Euler ([\d.]+ us)",
    "gradient": r"gradient of 100 steps ([\d.]+) times",
    "plans_rk2": r"50 steps, rk2, float32 (\d+) plans",
    "plans_rk4": r"50 steps, rk4, float32 (\d+) plans",
    "plans_rk2_double": r"50 steps, rk2, float64 (\d+) plans",
    "plans_rk4_double": r"50 steps, rk4, float64 (\d+) plans",
}

SIMULATION = {
    "one_run": r"armwright ([\d.]+) ms",
    "one_run_scipy": r"SciPy with pin\.aba \d+ ms: (\d+)x",
    "steps": r"armwright ([\d.]+) million steps",
}

GPU = {
    "copy": r"copy bandwidth \| ([\d.]+ TB/s)",
    "inverse_dynamics": r"inverse_dynamics \| float32 \| columns \| ([\d.]+ G/s)",
    "rk4": r"RK4 in registers, 100 steps \| float32 \| ([\d.]+) G steps/s",
    "rk4_double": r"RK4 in registers, 100 steps \| float64 \| ([\d.]+) G steps/s",
    "frax": r"frax \| inverse_dynamics \|[^|]*\|[^|]*\| (\d+)[\d.]* times slower",
}

RUNS: dict[str, tuple[list[str], Callable[[str], Figures]]] = {
    "bench": (["-m", "armwright", "bench", "panda", "--json"], of_bench),
    "bench_puma": (["-m", "armwright", "bench", "puma560", "--json"], of_bench),
    "stepping": (["benchmarks/stepping.py"], by_patterns(STEPPING)),
    "simulation": (["benchmarks/simulation.py"], by_patterns(SIMULATION)),
    "exported": (["benchmarks/exported_c.py"], by_patterns({"ns": r"([\d.]+ ns) a state"})),
    "first": (
        ["benchmarks/first_result.py"],
        by_patterns({
            "inverse": r"compiled.*?inverse ([\d.]+ s)",
            "forward": r"compiled.*?forward ([\d.]+ s)",
            "import": r"cached import ([\d.]+ s)",
            "cached": r"cached.*?inverse ([\d.]+ s)",
        }),
    ),
}  # fmt: skip
"""Runs on a CPU by name: what Python is given, and how figures are read from what it prints."""


def machine() -> str:
    """Return the CPU that measures, and what measures with it."""
    import llvmlite.binding  # noqa: PLC0415  (only where something is measured)

    features = llvmlite.binding.get_host_cpu_features()
    vectors = "AVX-512" if features.get("avx512f") else "AVX2" if features.get("avx2") else "SSE2"
    return f"{llvmlite.binding.get_host_cpu_name()}, {vectors}, Python {platform.python_version()}"


def measured(name: str) -> dict[str, Any]:
    """Run a command and return the record of what it printed."""
    words, read = RUNS[name]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "benchmarks")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    command = "armwright " + " ".join(words[2:]) if words[0] == "-m" else "python " + " ".join(words)
    return {"command": command, "machine": machine(), "figures": read(done.stdout)}


def of_card(output: str) -> dict[str, Any]:
    """Return the record of what benchmarks/gpu.py printed on another machine."""
    card = by_patterns({"card": r"card \| (.*?) copy bandwidth"})(output)["card"]
    return {"command": "python benchmarks/gpu.py", "machine": card, "figures": by_patterns(GPU)(output)}


def kept() -> dict[str, dict[str, Any]]:
    """Return the records of all runs by name."""
    found: dict[str, dict[str, Any]] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    return found


def keep(runs: Mapping[str, Mapping[str, Any]]) -> None:
    KEPT.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n", "utf-8")


def figures() -> Figures:
    """Return all figures by name: the run, a dot, and the name within it; `machine.RUN` is where it ran."""
    runs = kept()
    found = {f"{run}.{name}": text for run, record in runs.items() for name, text in record["figures"].items()}
    return found | {f"{run}.machine": record["machine"] for run, record in runs.items()}


def documents() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def filled(text: str, known: Figures) -> str:
    """Return a document with its figures as they are known; one that is not known is an error."""

    def figure(match: re.Match[str]) -> str:
        if match[2] not in known:
            raise SystemExit(f"no figure {match[2]!r} in {KEPT.name}; known: {', '.join(sorted(known))}")
        return f"{match[1]}{known[match[2]]}{match[4]}"

    return MARK.sub(figure, text)


def write() -> None:
    """Write the figures into all documents."""
    known = figures()
    for path in documents():
        text = path.read_text("utf-8")
        path.write_text(filled(text, known), "utf-8")


def main(words: list[str]) -> None:
    if words[:2] == ["measure", "gpu"]:
        keep({**kept(), "gpu": of_card(Path(words[2]).read_text("utf-8"))})
    elif words[:1] == ["measure"]:
        for name in words[1:] or RUNS:
            print(name, flush=True)
            keep({**kept(), name: measured(name)})
    write()


if __name__ == "__main__":
    main(sys.argv[1:])
