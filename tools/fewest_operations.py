"""Whether the default takes the fewest operations on every packaged robot: python tools/fewest_operations.py [NAME ...]

`tests/test_counts.py` asks it of one robot of every shape; this asks it of all, the largest trees among them.
"""

from __future__ import annotations

import sys

import armwright as aw

PROBLEMS = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "bias")


def excess(arm: aw.Robot, problem: str) -> int:
    """Operations of the default beyond those of the cheapest formulation; none where it is as it should be."""
    counts = [
        aw.count_operations(problem, f.name, robot=arm).total
        for f in aw.formulations(problem)
        if f.takes(arm.mechanism())
    ]
    return max(0, aw.compile(arm, problem).operations.total - min(counts))


def main(names: list[str]) -> int:
    wrong = 0
    for name in names or aw.robots():
        found = {problem: excess(aw.load(name), problem) for problem in PROBLEMS}
        said = [f"{problem} takes {more} too many" for problem, more in found.items() if more]
        print(f"{name:16} {', '.join(said) or 'the fewest'}", flush=True)
        wrong += len(said)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
