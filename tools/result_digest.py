"""Print a digest of the results of every packaged robot, problem, formulation and target: bitwise the same or not?

    python tools/result_digest.py > before.txt     # at one commit
    python tools/result_digest.py > after.txt      # at another, on the same machine; then `diff before.txt after.txt`

A line has the robot, the problem, the formulation, the target and the digest of the bytes of the results of eight random
states (one for each target in both precisions), or the error. The last lines have runs of every integrator and law, and
the digests of exported files.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import armwright as aw
from armwright.formulations import FORMULATIONS, PROBLEMS

MOST_FREEDOMS = 8  # formulations other than the default are traced for robots up to this size
STATES = 8


def digest(*arrays: object) -> str:
    """Return a short digest of the bytes of arrays."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]


def functions(arm: aw.Robot, name: str) -> None:
    """Print the results of every problem and formulation of one robot."""
    rng = np.random.default_rng(0)
    state = {
        "q": np.stack([arm.unit(q) for q in rng.uniform(-1, 1, (STATES, arm.nq))]),
        **{x: rng.uniform(-1, 1, (STATES, arm.n)) for x in ("qd", "qdd", "tau")},
    }
    for problem in PROBLEMS.values():
        if problem.constrained:
            continue
        asked = f"{problem.name}[1]" if problem.indexed else problem.name
        known = [f.name for f in FORMULATIONS if f.problem == problem.name] if arm.n <= MOST_FREEDOMS else [None]
        for formulation in [None, *known] if known != [None] else known:
            for target, dtype in (("cpu", "float64"), ("cpu", "float32"), ("python", "float64")):
                if target == "python" and formulation is not None:
                    continue
                label = f"{name} {asked} {formulation or 'default'} {target} {dtype}"
                try:
                    f = aw.compile(arm, asked, formulation=formulation, target=target, dtype=dtype)
                    rest = list(state.values())
                    found = f(*[rest[k] for k in range(len(problem.arguments))])
                    print(label, digest(found), flush=True)
                except aw.ArmwrightError as error:
                    print(label, type(error).__name__, flush=True)


def motions() -> None:
    """Print runs of every integrator, and of every law."""
    arm = aw.load("puma560")
    for method in aw.integrate.methods():
        for choices in ({}, {"step": 0.01}):
            try:
                run = aw.simulate(arm, None, duration=0.2, every=0.05, integrator=method, **choices)
                print("simulate", method, choices, digest(run.t, run.q, run.qd, run.tau), flush=True)
            except (aw.ArmwrightError, ImportError) as error:
                print("simulate", method, choices, type(error).__name__, flush=True)
    for name, kind in aw.torque.LAWS.items():
        example = {
            key: [[x[0]] * arm.n for x in value] if key == "torques" else value for key, value in kind.example.items()
        }
        law = kind.make(np.full(arm.n, 0.3), **example) if kind.follows else kind.make(**example)
        run = aw.simulate(arm, law, duration=0.2, every=0.05)
        print("law", name, digest(run.q, run.qd, run.tau), flush=True)


def exports() -> None:
    """Print the digests of the text of exported files."""
    arm = aw.load("panda")
    for to in ("c", "cpp", "cuda", "python"):
        with tempfile.TemporaryDirectory() as folder:
            aw.export(arm, to=to, directory=Path(folder) / "out")
            for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
                print("export", to, path.name, hashlib.sha256(path.read_bytes()).hexdigest()[:16], flush=True)


def main() -> int:
    """Print all digests, of the robots named on the command line or of all."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name in sys.argv[1:] or aw.robots():
        functions(aw.load(name), name)
    if not sys.argv[1:]:
        motions()
        exports()
    return 0


if __name__ == "__main__":
    sys.exit(main())
