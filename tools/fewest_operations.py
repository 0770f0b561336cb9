"""Check that the default takes the fewest operations on every packaged robot: python tools/fewest_operations.py [NAME ...]

Also that every formulation, customised to a serial robot, takes at most as many as for a general one. The tests check
one robot of every shape; this checks all, the largest trees among them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

import armwright as aw
from armwright.formulations import FORMULATIONS, problem_of
from armwright.graph.count import OperationCount

PROBLEMS = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "bias")


def excess(arm: aw.Robot, problem: str) -> int:
    """Operations of the default beyond those of the cheapest formulation; none where it is as it should be."""
    counts = [
        aw.count_operations(problem, f.name, robot=arm).total
        for f in aw.formulations(problem)
        if f.takes(arm.mechanism())
    ]
    return max(0, aw.compile(arm, problem).operations.total - min(counts))


@cache
def general(problem: str, name: str, types: str) -> OperationCount:
    return aw.count_operations(problem, name, joints=types)


def above_general(arm: aw.Robot, types: str) -> Iterator[str]:
    """Yield the formulations that take more operations for a chain than for any chain of these joint types."""
    for formulation in FORMULATIONS:
        problem = problem_of(formulation.problem)
        if problem.constrained:
            continue
        asked = f"{problem.name}[1]" if problem.indexed else problem.name
        own, other = aw.count_operations(asked, formulation.name, robot=arm), general(asked, formulation.name, types)
        if own.multiplications > other.multiplications or own.total > other.total + 2 * arm.n:  # rotors add some
            yield f"{asked} {formulation.name}: {own}, in general {other}"


def main(names: list[str]) -> int:
    wrong = 0
    for name in names or aw.robots():
        arm = aw.load(name)
        found = {problem: excess(arm, problem) for problem in PROBLEMS}
        faults = [f"{problem} takes {more} too many" for problem, more in found.items() if more]
        if arm.mechanism().serial and not arm.followers:
            faults += above_general(arm, "".join("P" if joint.prismatic else "R" for joint in arm.joints))
        print(f"{name:16} {', '.join(faults) or 'the fewest'}", flush=True)
        wrong += len(faults)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
