"""Operation counts of all formulations, for a general robot or a given one, and published counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from armwright.algebra import ZERO
from armwright.errors import InputError
from armwright.formulations import FORMULATIONS, Formulation, default_for, find_formulation, problem_of
from armwright.formulations.parts.linear import Factors, factor, gauss_jordan
from armwright.formulations.problem import MANY_JOINTS
from armwright.graph import Graph, OperationCount, count
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.study.published import PUBLISHED, Published
from armwright.trace.tracing import TraceRequest, flattened, general_mechanism, inputs, trace

VALID_FROM = 3
"""The smallest n for which formulas hold, ours and those of the papers: they include savings at two links."""

POLYNOMIAL_DEGREE = {"n": 1, "n^2": 2, "n^3": 3}


def count_operations(
    problem: str,
    formulation: str | None = None,
    *,
    joints: int | str | None = None,
    robot: Description | None = None,
    vertical_gravity: bool = False,
) -> OperationCount:
    """Return the multiplications, additions, divisions and trigonometric functions of one evaluation.

    joints   a general robot: this many revolute joints (or types like "RRPRRR"), every parameter off line, gravity a
             run-time vector (`vertical_gravity`: a known one along z of the base), as in the papers' tables
    robot    a robot whose constants are folded into the code
    """
    mechanism = robot.mechanism() if isinstance(robot, Description) else None
    method = default_for(problem, mechanism) if formulation is None else find_formulation(problem, formulation)
    if (joints is None) == (robot is None):
        raise InputError("give either joints= (a general robot) or robot= (a robot with numbers)")
    if robot is not None:
        if not isinstance(robot, Description):
            raise InputError(f"robot is {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
        return count(trace(method, TraceRequest(problem, robot)).program.outputs)
    graph = Graph()
    return count_on(
        general_mechanism(graph, joints if joints is not None else 0, bool(vertical_gravity)), graph, method
    )


def count_on(mechanism: Mechanism, graph: Graph, method: Formulation) -> OperationCount:
    """Return the count of one evaluation for a mechanism with symbols of a graph."""
    return count(flattened(method(mechanism, *inputs(graph, method.problem, mechanism.coordinate_count))))


def products(counts: OperationCount) -> int:
    """Return the multiplications and divisions, which the papers count together."""
    return counts.multiplications + counts.divisions


def products_and_sums(counts: OperationCount) -> int:
    """Return the multiplications and additions."""
    return counts.multiplications + counts.additions


def counted_formulations(n: int, mechanism: Mechanism | None = None) -> list[Formulation]:
    """Return the formulations that are counted for n joints, and that accept a mechanism; `joint_torque` is of joint 1.

    For many joints, problems with a single formulation of higher order than n are omitted, as they would take minutes.
    """
    listed = (find_formulation(f"{f.problem}[0]", f.name) if problem_of(f.problem).indexed else f for f in FORMULATIONS)
    return [
        f
        for f in listed
        if (mechanism is None or f.takes(mechanism))
        and not problem_of(f.problem).constrained
        and (f.order == "n" or n <= MANY_JOINTS or len(problem_of(f.problem).candidates) > 1)
    ]


def count_without_bias(formulation: str, joints: int | str) -> OperationCount:
    """Return the count of forward dynamics with a known bias: at rest and without gravity."""
    graph = Graph()
    return count_at_rest(general_mechanism(graph, joints), graph, formulation)


def count_at_rest(mechanism: Mechanism, graph: Graph, formulation: str) -> OperationCount:
    """Return the count of forward dynamics of a chain with symbols of a graph, without velocities and gravity."""
    q, _, tau = inputs(graph, "forward_dynamics", mechanism.n)
    method = find_formulation("forward_dynamics", formulation)
    return count(flattened(method(replace(mechanism, gravity=ZERO), q, [0] * mechanism.n, tau)))


def count_factorisation(n: int) -> OperationCount:
    """Return the count of L D L^T of a full symmetric matrix."""
    graph = Graph()
    factors = factor([[graph.input(f"M{max(i, j)}{min(i, j)}") for j in range(n)] for i in range(n)])
    return count([*(entry for row in factors.rows.values() for entry in row.values()), *factors.inverse.values()])


def count_substitution(n: int) -> OperationCount:
    """Return the count of solving with a known L D L^T."""
    graph = Graph()
    L = {i: {j: graph.input(f"L{i}{j}") for j in range(i)} for i in range(n)}
    factors = Factors(L, {i: graph.input(f"D{i}") for i in range(n)})
    return count(factors.solve([graph.input(f"b{i}") for i in range(n)]))


def formula(method: Formulation) -> tuple[str, str]:
    """Return multiplications and additions for a general robot as exact polynomials in n, from n = 3, 4, 5, ..."""
    return _formula(method.problem, method.name, POLYNOMIAL_DEGREE[method.order])


@cache
def _formula(problem: str, name: str, degree: int) -> tuple[str, str]:
    sizes = range(VALID_FROM, VALID_FROM + degree + 2)
    counts = [count_operations(problem, name, joints=n) for n in sizes]
    return polynomial(sizes, [c.multiplications for c in counts]), polynomial(sizes, [c.additions for c in counts])


def polynomial(sizes: Sequence[int], values: Sequence[int]) -> str:
    """Return the polynomial of degree len(sizes) - 2 through all values as text; '-' if there is none."""
    degree = len(sizes) - 2
    coefficients = gauss_jordan([[Fraction(n) ** k for k in range(degree, -1, -1)] for n in sizes[:-1]], values[:-1])
    if sum(c * Fraction(sizes[-1]) ** (degree - i) for i, c in enumerate(coefficients)) != values[-1]:
        return "-"
    return polynomial_text(coefficients)


def degree(formula: str) -> int:
    """Return the highest power of n in a formula such as 24.5n^2+34.5n-58."""
    return max(int(power or 1) for power in re.findall(r"n(?:\^(\d))?", formula))


def polynomial_text(coefficients: list[Fraction]) -> str:
    """Return a polynomial as text, such as 96n-101, 11.5n^2+19.5n-49 or n^3/6+13n^2."""
    text = ""
    degree = len(coefficients) - 1
    for power, coefficient in zip(range(degree, -1, -1), map(Fraction, coefficients), strict=True):
        if coefficient or not degree:
            text += ("-" if coefficient < 0 else "+" if text else "") + _term(abs(coefficient), power)
    return text or "0"


def _term(size: Fraction, power: int) -> str:
    variable = ("", "n")[power] if power < 2 else f"n^{power}"
    if size.denominator in (1, 2, 4):
        return variable if size == 1 and variable else f"{float(size):g}{variable}"
    return f"{'' if size.numerator == 1 else size.numerator}{variable}/{size.denominator}"


@dataclass(frozen=True)
class CountComparison:
    """A published row and our counts, for n joints. Products include divisions, as in the papers."""

    published: Published
    theirs: tuple[Fraction | int, Fraction | int]
    ours: tuple[int, int]

    @property
    def verdict(self) -> str:
        """Ours against the published row: equal, lower, higher, or lower and higher for products and sums."""
        words = [_word(mine, other) for mine, other in zip(self.ours, self.theirs, strict=True)]
        if len(set(words)) == 1:
            return words[0]
        kinds = [word for word in words if word != "equal"]
        return kinds[0] if len(kinds) == 1 else f"products {words[0]}, sums {words[1]}"


def _word(mine: int, other: Fraction | int) -> str:
    return "equal" if mine == other else "lower" if mine < other else "higher"


_PARTS: dict[str, Callable[[Published, int], OperationCount]] = {
    "": lambda row, n: count_operations(row.problem, row.ours, joints=n),
    "without bias": lambda row, n: count_without_bias(row.ours, n),
    "factorisation": lambda row, n: count_factorisation(n),
    "substitution": lambda row, n: count_substitution(n),
}


def compare(n: int) -> list[CountComparison]:
    """Return all published rows for n joints with our counts; none below three joints."""
    rows = []
    for row in PUBLISHED if n >= VALID_FROM else ():
        if (theirs := row.at(n)) is not None:
            ours = _PARTS[row.part](row, n)
            rows.append(CountComparison(row, theirs, (products(ours), ours.additions)))
    return rows
