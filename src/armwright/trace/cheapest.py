"""The formulation with the fewest operations for one robot, stored on disk."""

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
from armwright.trace.reframe import first_separate_frame, levelled
from armwright.trace.solvability import check_solvable
from armwright.trace.tracing import TraceChoice, Traced, TraceRequest, trace

ANY_FRAME_FORMULATIONS = ("cartesian_tensor",)
"""The candidates that use only rotation and offset of a joint, and so accept any frames."""


def cheapest(request: TraceRequest) -> Traced:
    """Return the candidate with the fewest operations for this robot, with or without regrouped parameters.

    The result is stored on disk, so later runs trace nothing, or only that candidate if parameters vary.
    """
    candidates = _candidates(request)
    if request.vary and len(candidates) < 2:
        return _traced(request, candidates[0])
    name = _cache_name(request)
    known = (_traced_stored_choice if request.vary else _stored_program)(request, read(name), candidates)
    if known is not None:
        return known
    if len(candidates) > 1:
        choice, best = _search(request, candidates)
    else:
        choice, best = candidates[0], _traced(request, candidates[0])
    if request.vary:
        write(name, json.dumps(choice).encode())
        return best
    program = packed(best.program)
    write(name, json.dumps((choice, program), separators=(",", ":")).encode())
    return Traced(best.formulation, unpacked(program))  # with the nodes numbered as in later runs


def _candidates(request: TraceRequest) -> list[TraceChoice]:
    """Return the candidates that support this robot, or the default formulation of the problem."""
    mechanism, problem = request.robot.mechanism(), problem_of(request.problem)
    supported = [c for c in problem.candidates if not find_formulation(problem.name, c.formulation).refusal(mechanism)]
    shallow = [c for c in supported if c.max_depth is None or mechanism.depth <= c.max_depth] or supported
    choices = [TraceChoice(c.formulation, c.tensor) for c in shallow]
    return choices or [TraceChoice(default_for(request.problem, mechanism).name)]


def _search(request: TraceRequest, candidates: list[TraceChoice]) -> tuple[TraceChoice, Traced]:
    """Return the best candidate, compared also with its `_alternatives`."""
    costs = dict[TraceChoice, tuple[int, Traced]]()

    def best_of(choices: list[TraceChoice]) -> TraceChoice:
        for choice in choices:
            if choice not in costs:
                traced = _traced(request, choice)
                costs[choice] = count(traced.program.outputs).total, traced
        return min(choices, key=lambda choice: costs[choice][0])

    best = best_of(candidates)
    best = best_of([best, *_alternatives(request, best)])
    return best, costs[best][1]


def _alternatives(request: TraceRequest, choice: TraceChoice) -> list[TraceChoice]:
    """Return the same candidate without regrouping and in other frames."""
    alternatives, mechanism = [choice._replace(tensor="")], request.robot.mechanism()
    level = levelled(mechanism)
    if level is not mechanism:
        alternatives.append(choice._replace(level=False))
    if (
        choice.formulation in ANY_FRAME_FORMULATIONS
        and "link_wrenches" not in request.loads
        and first_separate_frame(level) is not None
    ):
        alternatives.append(choice._replace(meet=True))
    return alternatives


def _is_candidate(request: TraceRequest, choice: TraceChoice, candidates: list[TraceChoice]) -> bool:
    """Return True if the search could have found this choice."""
    same = [c for c in candidates if c.formulation == choice.formulation]
    return any(choice == c or choice in _alternatives(request, c) for c in same)


def _traced(request: TraceRequest, choice: TraceChoice) -> Traced:
    return trace(find_formulation(request.problem, choice.formulation), request, choice)


@cache
def _tracing_digest() -> str:
    """Return a digest of the code of formulations, regrouping and simplification."""
    root = Path(__file__).parents[1]
    modules = (root / f"{name}.py" for name in ("algebra", "manifold", "mechanism"))
    packages = (sorted(root.glob(f"{package}/**/*.py")) for package in ("formulations", "graph", "trace"))
    return code_digest([*modules, *(file for package in packages for file in package)])


def _cache_name(request: TraceRequest) -> str:
    """Return a file name from all that the choice depends on: request, robot and traced code."""
    robot = request.robot
    numbers = (robot.n, robot.nq, robot.balls, robot.mechanism())
    text = repr((_tracing_digest(), request.problem, request.loads, request.vary, request.looped, numbers))
    return hashlib.sha256(text.encode()).hexdigest()


def _traced_stored_choice(request: TraceRequest, content: bytes | None, candidates: list[TraceChoice]) -> Traced | None:
    """Trace the stored choice again, as varied parameters may be any of the robot."""
    with suppress(*_DAMAGED):
        choice = TraceChoice(*json.loads(content or b""))
        return _traced(request, choice) if _is_candidate(request, choice, candidates) else None
    return None


def _stored_program(request: TraceRequest, content: bytes | None, candidates: list[TraceChoice]) -> Traced | None:
    with suppress(*_DAMAGED):
        choice, program = json.loads(content or b"")
        if _is_candidate(request, TraceChoice(*choice), candidates):
            check_solvable(problem_of(request.problem), request.robot)
            return Traced(find_formulation(request.problem, TraceChoice(*choice).formulation), unpacked(program))
    return None


_DAMAGED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""The exceptions that reading a damaged file may raise."""
