"""Mohan and Saha (2007), section 4.1: the operations printed in braces beside those of each step, counted.

The steps are those of `formulations/denoc_stepwise.py`. Each is traced alone, for a link amid others: the results of
earlier steps are symbols, and the links are the bent slender rods of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from armwright.algebra import Matrix, Symmetric, Vector
from armwright.formulations import denoc_stepwise as steps
from armwright.formulations.parts.spatial import Inertia, Pair, rigid
from armwright.graph import Graph, OperationCount, count
from armwright.graph.expression import Expr
from armwright.mechanism import Mechanism, MomentLink
from armwright.study.operation_counts import products
from armwright.study.papers.finding import Finding, claim, compare_each, same
from armwright.trace.tracing import general_mechanism

STEP_REASONS = {
    "1": "b sin(alpha) and b cos(alpha) are constants of a revolute joint",
    "2": "Q is applied as two plane rotations and never formed",
    "3": "C_4 s^2 and C_4 c^2 add up to C_4, so that one of them is a difference",
    "5": "printed without the turning of M_vw; turned, all blocks take this much",
    "8": "one division and six products; the paper has five divisions, psi^_1(3) being taken as zero",
    "9": "psi^_1(3) is zero for the last link only",
    "10": "the sums of the cross product are left out in print",
    "13": "psi^_1(3) is zero for the last link only",
    "15": "z theta-dd is added to mu~, which is one sum",
}


def slender_chain(graph: Graph, n: int) -> Mechanism:
    """Return a general robot of bent slender rods, which lie along -z and x of the canonical frames."""
    p = graph.parameter
    links = tuple(
        MomentLink(
            p(f"m{i}"),
            Vector(p(f"hx{i}"), 0, p(f"hz{i}")),
            Symmetric(p(f"xx{i}"), p(f"yy{i}"), p(f"zz{i}"), 0, 0, 0),
        )
        for i in range(n)
    )
    return replace(general_mechanism(graph, n), links=links)


def step_counts() -> dict[str, tuple[int, int]]:
    """Return products, divisions included, and sums of each step with a count in braces."""
    graph = Graph()
    mechanism, q, phi = slender_chain(graph, 2), graph.input("q"), graph.input("phi")
    joint, further = mechanism.joints
    eta, mu, psi, column, carried = (_pair(graph, name) for name in ("eta", "mu", "psi", "column", "carried"))
    M, M_bar = _link_inertia(graph), _inertia(graph, "N")
    first = steps.frame_change(joint, further, q)
    crossing = steps.frame_change(joint, further, graph.input("theta"))._replace(a=_vector(graph, "a"))
    moment = crossing.inward(eta.angular + crossing.a_beyond.cross(eta.linear))
    outputs: dict[str, Iterable[Expr]] = {
        "1": [*first.a, *first.a_beyond],
        "2": [],
        "3": _flat(steps.mass_matrix(joint, mechanism.links[0], q)),
        "4": [phi - graph.input("bias")],
        "5": _flat(steps.articulated(M, M_bar, crossing)),
        "8": _flat(column.times(1 / graph.input("m"))),
        "9": _flat(steps.without_joint(M_bar, column, psi)),
        "10": [*moment, phi - moment.z],
        "11": _flat(psi.times(phi).plus(Pair(crossing.inward(eta.linear), carried.angular))),
        "12": [phi * graph.input("inverse")],
        "13": [phi - psi.dot(carried)],
        "14": _flat(steps.twist_outward(crossing, mu)),
        "15": [carried.angular.z + graph.input("qdd")],
    }
    return {step: _numbers(count(found)) for step, found in outputs.items()}


def _numbers(counted: OperationCount) -> tuple[int, int]:
    return products(counted), counted.additions


def _vector(graph: Graph, name: str) -> Vector:
    return Vector(*(graph.input(f"{name}{axis}") for axis in "xyz"))


def _pair(graph: Graph, name: str) -> Pair:
    return Pair(_vector(graph, f"{name}1"), _vector(graph, f"{name}2"))


def _link_inertia(graph: Graph) -> Inertia:
    """Return the inertia as in step 3: the mass is a constant, the first moment a vector."""
    tensor = Symmetric(*(graph.input(f"J{k}") for k in range(6)))
    return rigid(MomentLink(graph.parameter("mass"), _vector(graph, "h"), tensor))


def _inertia(graph: Graph, name: str) -> Inertia:
    A, C = (Symmetric(*(graph.input(f"{name}{block}{k}") for k in range(6))) for block in "AC")
    return Inertia(A, Matrix(*(_vector(graph, f"{name}B{row}") for row in "xyz")), C)


def _flat(parts: Pair | Inertia) -> list[Expr]:
    flat: list[Expr] = []
    for part in parts:
        flat += [x for row in part for x in row] if isinstance(part, Matrix) else list(part)
    return flat


def compare_step_counts(printed: dict[str, list[int]]) -> list[Finding]:
    """Return a finding for each step of an inner link; a printed nil is not a number to compare with."""
    counts, findings = step_counts(), []
    for step, braces in printed.items():
        pairs = [pair for pair in zip(("products", "sums"), braces, counts[step], strict=True) if pair[1]]
        kinds = " and ".join(kind for kind, _, _ in pairs)
        if pairs:
            numbers = [x for _, x, _ in pairs], [x for _, _, x in pairs]
            what = f"step {step}: {kinds} per link"
            findings.append(compare_each("Section 4.1", what, *numbers, STEP_REASONS.get(step, "")))
    sums = counts["15"][1]
    nil = claim("Section 4.1", "step 15: sums per link", "nil", str(sums), same(sums, 0), STEP_REASONS["15"])
    return [*findings, nil]
