"""The formulation with the fewest operations for one robot, kept on disk."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from armwright.cache import code_digest, read, write
from armwright.formulations import default_for, find_formulation, problem_of
from armwright.graph.count import count
from armwright.graph.store import packed, unpacked
from armwright.trace.reframe import leaving, levelled
from armwright.trace.solvability import check_solvable
from armwright.trace.tracing import TraceChoice, Traced, TraceRequest, trace

ANY_FRAME_FORMULATIONS = ("cartesian_tensor",)
"""The candidates that use only rotation and offset of a joint, and so accept any frames."""


def cheapest(asked: TraceRequest) -> Traced:
    """Return the candidate with the fewest operations for this robot, with or without regrouped parameters.

    The result is kept on disk, so later runs trace nothing, or only that candidate if parameters vary.
    """
    candidates = _candidates(asked)
    if asked.vary and len(candidates) < 2:
        return _traced(asked, candidates[0])
    name = _question(asked)
    known = (_choice if asked.vary else _program)(asked, read(name), candidates)
    if known is not None:
        return known
    if len(candidates) > 1:
        choice, best = _search(asked, candidates)
    else:
        choice, best = candidates[0], _traced(asked, candidates[0])
    if asked.vary:
        write(name, json.dumps(choice).encode())
        return best
    program = packed(best.program)
    write(name, json.dumps((choice, program), separators=(",", ":")).encode())
    return Traced(best.formulation, unpacked(program))  # as later runs read it


def _candidates(asked: TraceRequest) -> list[TraceChoice]:
    """Return the candidates that support this robot, or the default formulation of the problem."""
    mechanism = asked.robot.mechanism()
    depth, listed = mechanism.depth, problem_of(asked.problem).candidates
    able = [c for c in listed if not find_formulation(asked.problem, c.formulation).refusal(mechanism)]
    few = [c for c in able if c.max_depth is None or depth <= c.max_depth] or able
    return [TraceChoice(c.formulation, c.tensor) for c in few] or [
        TraceChoice(default_for(asked.problem, mechanism).name)
    ]


def _search(asked: TraceRequest, candidates: list[TraceChoice]) -> tuple[TraceChoice, Traced]:
    """Return the best candidate, compared also with its alternatives of `_others`."""
    costs = dict[TraceChoice, tuple[int, Traced]]()

    def best_of(choices: list[TraceChoice]) -> TraceChoice:
        for choice in choices:
            if choice not in costs:
                found = _traced(asked, choice)
                costs[choice] = count(found.program.outputs).total, found
        return min(choices, key=lambda choice: costs[choice][0])

    best = best_of(candidates)
    best = best_of([best, *_others(asked, best)])
    return best, costs[best][1]


def _others(asked: TraceRequest, choice: TraceChoice) -> list[TraceChoice]:
    """Return the same candidate without regrouping and in other frames."""
    others, mechanism = [choice._replace(tensor="")], asked.robot.mechanism()
    level = levelled(mechanism)
    if level is not mechanism:
        others.append(choice._replace(level=False))
    if (
        choice.formulation in ANY_FRAME_FORMULATIONS
        and "link_wrenches" not in asked.loads
        and leaving(level) is not None
    ):
        others.append(choice._replace(meet=True))
    return others


def _listed(asked: TraceRequest, choice: TraceChoice, candidates: list[TraceChoice]) -> bool:
    """Return True if the search could have found this choice."""
    same = [c for c in candidates if c.formulation == choice.formulation]
    return any(choice == c or choice in _others(asked, c) for c in same)


def _traced(asked: TraceRequest, choice: TraceChoice) -> Traced:
    return trace(find_formulation(asked.problem, choice.formulation), asked, choice)


@cache
def _writers() -> str:
    """Return a digest of the code of formulations, regrouping and simplification."""
    root = Path(__file__).parents[1]
    alone = (root / f"{name}.py" for name in ("algebra", "manifold", "mechanism"))
    rooms = (sorted(root.glob(f"{room}/**/*.py")) for room in ("formulations", "graph", "trace"))
    return code_digest([*alone, *(file for room in rooms for file in room)])


def _question(asked: TraceRequest) -> str:
    """Return a file name from all that the choice depends on: request, robot and traced code."""
    robot = asked.robot
    numbers = (robot.n, robot.nq, robot.balls, robot.mechanism())
    text = repr((_writers(), asked.problem, asked.loads, asked.vary, asked.looped, numbers))
    return hashlib.sha256(text.encode()).hexdigest()


def _choice(asked: TraceRequest, content: bytes | None, candidates: list[TraceChoice]) -> Traced | None:
    """Trace the stored choice again, as varied parameters may be any of the robot."""
    with suppress(*_DAMAGED):
        choice = TraceChoice(*json.loads(content or b""))
        return _traced(asked, choice) if _listed(asked, choice, candidates) else None
    return None


def _program(asked: TraceRequest, content: bytes | None, candidates: list[TraceChoice]) -> Traced | None:
    """Return the stored program."""
    with suppress(*_DAMAGED):
        choice, program = json.loads(content or b"")
        if _listed(asked, TraceChoice(*choice), candidates):
            check_solvable(problem_of(asked.problem), asked.robot)
            return Traced(find_formulation(asked.problem, TraceChoice(*choice).formulation), unpacked(program))
    return None


_DAMAGED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""The exceptions that reading a damaged file may raise."""
