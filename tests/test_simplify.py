"""Every rule of simplification and random graphs of all operations, against the interpreter.

What may differ is rounding, and how much of it is computed along (`Bounded`), so that no tolerance is guessed: at a
cancellation it is wide, at an exact zero it is nothing. Values include 0, -0 and numbers near it; where the unsimplified
expression is not finite (it divides by 0) nothing is promised.
"""

import ctypes
import io
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from conftest import HERE

import armwright as aw
from armwright.backends.interface import backend
from armwright.export import EXPORTS, ExportRequest
from armwright.graph import Expr, Graph, count
from armwright.graph.angles import expand_sines
from armwright.graph.expression import reachable
from armwright.graph.interpret import NUMPY_OPERATIONS, interpret
from armwright.graph.program import Program
from armwright.graph.replay import replay
from armwright.graph.simplify import SIMPLIFICATIONS, fold

# What rounding can do


class Bounded(NamedTuple):
    """A number, or an array of them, and how far rounding may have taken it from what it means."""

    value: Any
    error: Any


def _product(v: Any, a: Bounded, b: Bounded) -> Any:
    lost = np.where((abs(v) < 1e-290) & (a.value != 0) & (b.value != 0), 1e-320, 0)[()]  # below the smallest number
    return abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error + lost


def _quotient(v: Any, a: Bounded, b: Bounded) -> Any:
    left = abs(b.value) - b.error
    safe = left > 0
    return np.where(safe, (a.error + abs(v) * b.error) / np.where(safe, left, 1)[()], np.inf)[()]


def _root(v: Any, a: Bounded) -> Any:
    left = a.value - a.error
    safe = left > 0
    wide = np.where(safe, a.error / np.where(safe, left, 1)[()] ** 0.5, np.inf)[()]
    return np.where(a.error == 0, 0, wide)[()]


def _decided(a: Bounded) -> Any:
    return (abs(a.value) > a.error) | (a.error == 0)


def _choice(v: Any, a: Bounded, b: Bounded, c: Bounded) -> Any:
    chosen = np.where(a.value > 0, b.error, c.error)[()]
    return np.where(_decided(a), chosen, abs(b.value - c.value) + b.error + c.error)[()]


CARRIED: dict[str, Callable[..., Any]] = {
    "add": lambda v, a, b: a.error + b.error,
    "sub": lambda v, a, b: a.error + b.error,
    "mul": _product,
    "div": _quotient,
    "neg": lambda v, a: a.error,
    "abs": lambda v, a: a.error,
    "sin": lambda v, a: a.error,
    "cos": lambda v, a: a.error,
    "tanh": lambda v, a: a.error,
    "sign": lambda v, a: np.where(_decided(a), 0, 2)[()],
    "sqrt": _root,
    "min": lambda v, a, b: np.maximum(a.error, b.error),
    "max": lambda v, a, b: np.maximum(a.error, b.error),
    "select": _choice,
}
"""What an operation makes of the errors of its operands."""

EXACT = ("neg", "abs", "sign", "min", "max", "select")
ULPS = 4  # an operation, also of another library, is right to so many units


def bounded(
    outputs: Sequence[Expr], values: Mapping[str, Any], eps: float, lift: Callable = np.float64, folded: float = 8.0
) -> list[Bounded]:
    """The outputs with their errors; operations mean what the interpreter says.

    Constants are rounded numbers, `folded` units of eps off unless they are short.
    """

    def leaf(node: Expr) -> Bounded:
        if node.op != "constant":
            return Bounded(values[str(node.key)], 0)
        return Bounded(lift(node.value), 0 if (1024 * node.value) % 1 == 0 else folded * eps * abs(node.value))

    def apply(op: str, *args: Bounded) -> Bounded:
        try:
            value = NUMPY_OPERATIONS[op](*(a.value for a in args))
        except ZeroDivisionError:  # of numbers that have no infinity
            value = lift("nan")
        size = (
            np.maximum(abs(value), np.where(abs(args[0].value) < 1, 0, 1)[()]) if op in ("sin", "cos") else abs(value)
        )
        error = CARRIED[op](value, *args) + (0 if op in EXACT else ULPS * eps * size)
        return Bounded(value, np.where(error >= 0, error, np.inf)[()])

    with np.errstate(all="ignore"):
        return replay(outputs, leaf, apply)


def stacked(items: Sequence[Any], states: int) -> np.ndarray:
    return np.stack([np.broadcast_to(np.asarray(x, float), states) for x in items], axis=1)


def off(got: np.ndarray, expected: np.ndarray, error: np.ndarray) -> list[tuple[int, int]]:
    """(state, output) wherever a value is further off than rounding explains."""
    with np.errstate(invalid="ignore"):
        known = np.isfinite(expected) & np.isfinite(error)
        return [tuple(map(int, at)) for at in np.argwhere(known & ~(abs(got - expected) <= error))]


# One rule at a time

SPECIAL = (0.0, -0.0, 1e-9, -1e-9, 1e-150, 1.0, -1.0, 0.5, -2.0, np.pi, -40.0)


def states(rng: np.random.Generator, names: Sequence[str], n: int) -> dict[str, np.ndarray]:
    """Values of leaves: half of them special, and all combinations of special ones for the first two."""
    values = np.where(
        rng.random((len(names), n)) < 0.5, rng.choice(SPECIAL, (len(names), n)), rng.normal(size=(len(names), n))
    )
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL]).T
    values[:2, : pairs.shape[1]] = pairs
    return dict(zip(names, values, strict=True))


LEAVES = ("x", "y", "z", "p", "r")
VALUES = states(np.random.default_rng(0), LEAVES, 300)


def leaves(g: Graph) -> SimpleNamespace:
    inputs, parameters = {n: g.input(n) for n in "xyz"}, {n: g.parameter(n) for n in "pr"}
    return SimpleNamespace(**inputs, **parameters, c=g.constant, none=g.constant(0), g=g)


@dataclass(frozen=True)
class Examples:
    """Operands to which a rule applies, and operands that look alike and to which it must not."""

    applies: Sequence[Callable[[SimpleNamespace], tuple[Expr, ...]]]
    near: Sequence[Callable[[SimpleNamespace], tuple[Expr, ...]]]


TINY = 1e-300
COMMUTED = Examples(
    [lambda s: (s.y, s.x), lambda s: (s.x, s.p), lambda s: (s.x, s.c(2)), lambda s: (s.r, s.p)],
    [lambda s: (s.x, s.y), lambda s: (s.p, s.x), lambda s: (s.p, s.r), lambda s: (s.x, s.x)],
)
SAME_TWICE = Examples([lambda s: (s.x, s.x), lambda s: (s.p, s.p)], [lambda s: (s.x, s.y), lambda s: (s.x, -s.x)])
FACTORED = Examples(
    [lambda s: (s.p * s.x, s.r * s.x), lambda s: (s.p * s.x, 3 * s.x), lambda s: (s.p * s.x, s.p * s.x)],
    [
        lambda s: (s.p * s.x, s.p * s.y),
        lambda s: (s.x * s.z, s.y * s.z),
        lambda s: (s.p * s.z, s.x * s.z),
        lambda s: (s.x * s.z, s.p * s.z),
        lambda s: (s.p * s.x, s.r + s.x),
        lambda s: (s.p + s.x, s.r + s.x),
    ],
)


def _turned(
    of: str, k: Callable[[SimpleNamespace], Any] = lambda s: 1
) -> Callable[[SimpleNamespace], tuple[Expr, ...]]:
    """`of` names four functions: k f(x) g(y), k h(x) i(y)."""

    def build(s: SimpleNamespace) -> tuple[Expr, ...]:
        f, g, h, i = ({"s": Expr.sin, "c": Expr.cos}[letter] for letter in of)
        return k(s) * f(s.x) * g(s.y), k(s) * h(s.x) * i(s.y)

    return build


ANGLES = Examples(
    [
        *(_turned(of) for of in ("sccs", "cssc", "ccss", "sscc")),
        *(_turned(of, lambda s: s.p) for of in ("sccs", "cssc", "ccss", "sscc")),
        _turned("sccs", lambda s: s.z),
        lambda s: (s.y.cos() * s.x.sin(), s.y.sin() * s.x.cos()),
        lambda s: (s.x.sin() * s.p.cos(), s.x.cos() * s.p.sin()),
    ],
    [
        *(_turned(of) for of in ("scsc", "scss", "sccc", "ccsc", "cccc")),
        lambda s: (s.x.sin() * s.y.cos(), s.x.cos() * s.z.sin()),
        lambda s: (s.x.sin() * s.y.cos(), s.z.cos() * s.y.sin()),
        lambda s: (s.x.sin() * s.x.cos(), s.x.cos() * s.x.sin()),
        lambda s: (s.x.sin() * s.x.sin(), s.x.cos() * s.x.cos()),
        lambda s: (s.p * s.x.sin() * s.y.cos(), s.r * s.x.cos() * s.y.sin()),
        lambda s: (s.p * s.x.sin() * s.y.cos(), s.x.cos() * s.y.sin()),
        lambda s: (s.x.sin() + s.y.cos(), s.x.cos() + s.y.sin()),
        lambda s: (s.x.tanh() * s.y.cos(), s.x.cos() * s.y.tanh()),
    ],
)


def _odd(function: Callable[[Expr], Expr]) -> Examples:
    return Examples(
        [lambda s: (-s.x,), lambda s: (-(s.x * s.y),)],
        [lambda s: (s.x,), lambda s: (s.x - s.y,), lambda s: (function(s.x),)],
    )


EXAMPLES: dict[tuple[str, str], Examples] = {
    ("add", "add_zero"): Examples(
        [lambda s: (s.x, s.none), lambda s: (s.none, s.x), lambda s: (s.p, s.none)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.c(TINY)), lambda s: (s.c(-TINY), s.x)],
    ),
    ("add", "add_negated"): Examples(
        [lambda s: (s.x, -s.y), lambda s: (-s.x, s.y), lambda s: (-s.x, -s.y), lambda s: (s.p, -s.x)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.y - s.z)],
    ),
    ("add", "gathered"): Examples(
        [lambda s: (s.p, s.r + s.x), lambda s: (s.r + s.x, s.p), lambda s: (s.c(2), s.p + s.x)],
        [
            lambda s: (s.x, s.p + s.y),
            lambda s: (s.p, s.x + s.y),
            lambda s: (s.p, s.r + s.p),
            lambda s: (s.p, s.r * s.x),
            lambda s: (s.p, s.r - s.x),
        ],
    ),
    ("add", "factored"): FACTORED,
    ("add", "angles"): ANGLES,
    ("add", "commuted"): COMMUTED,
    ("sub", "sub_zero"): Examples(
        [lambda s: (s.x, s.none), lambda s: (s.none, s.x)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.c(TINY)), lambda s: (s.c(TINY), s.x)],
    ),
    ("sub", "sub_same"): Examples([lambda s: (s.x, s.x)], [lambda s: (s.x, s.y), lambda s: (s.x, -s.x)]),
    ("sub", "sub_negated"): Examples(
        [lambda s: (s.x, -s.y), lambda s: (-s.x, s.y), lambda s: (-s.x, -s.y)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.y - s.z)],
    ),
    ("sub", "factored"): FACTORED,
    ("sub", "angles"): ANGLES,
    ("sub", "sub_ordered"): Examples([lambda s: (s.y, s.x), lambda s: (s.p, s.x)], [lambda s: (s.x, s.y)]),
    ("mul", "mul_zero"): Examples(
        [lambda s: (s.x, s.none), lambda s: (s.none, s.x)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.c(TINY)), lambda s: (s.c(-TINY), s.x)],
    ),
    ("mul", "mul_one"): Examples(
        [lambda s: (s.x, s.c(1)), lambda s: (s.c(1), s.x), lambda s: (s.x, s.c(-1)), lambda s: (s.c(-1), s.p)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.c(1 + 2**-52)), lambda s: (s.x, s.c(2)), lambda s: (s.x, s.none)],
    ),
    ("mul", "negated"): Examples(
        [lambda s: (-s.x, s.y), lambda s: (s.x, -s.y), lambda s: (-s.x, -s.y)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.y - s.z)],
    ),
    ("mul", "mul_reciprocal"): Examples(
        [lambda s: (s.x, 1 / s.x), lambda s: (1 / (s.x + s.y), s.x + s.y), lambda s: (s.p, 1 / s.p)],
        [
            lambda s: (s.x, s.y / s.x),
            lambda s: (s.y / s.x, s.x),
            lambda s: (s.x, 2 / s.x),
            lambda s: (s.x, 1 / s.y),
            lambda s: (s.x, s.x / s.y),
            lambda s: (s.x, s.x),
        ],
    ),
    ("mul", "mul_negative_constant"): Examples(
        [lambda s: (s.c(-2), s.x), lambda s: (s.x, s.c(-TINY)), lambda s: (s.c(-0.5), s.p)],
        [lambda s: (s.c(2), s.x), lambda s: (s.x, s.y), lambda s: (s.p, s.x), lambda s: (s.none, s.x)],
    ),
    ("mul", "gathered"): Examples(
        [lambda s: (s.p, s.r * s.x), lambda s: (s.r * s.x, s.p), lambda s: (s.c(2), s.p * s.x)],
        [
            lambda s: (s.x, s.p * s.y),
            lambda s: (s.p, s.x * s.y),
            lambda s: (s.p, s.r * s.p),
            lambda s: (s.p, s.r + s.x),
            lambda s: (s.p, s.r / s.x),
        ],
    ),
    ("mul", "commuted"): COMMUTED,
    ("div", "div_zero"): Examples(
        [lambda s: (s.none, s.x), lambda s: (s.none, s.p)],
        [lambda s: (s.x, s.y), lambda s: (s.c(TINY), s.x), lambda s: (s.none, s.none), lambda s: (s.x, s.none)],
    ),
    ("div", "negated"): Examples(
        [lambda s: (-s.x, s.y), lambda s: (s.x, -s.y), lambda s: (-s.x, -s.y)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.y - s.z)],
    ),
    ("div", "div_offline"): Examples(
        [lambda s: (s.x, s.p), lambda s: (s.x, s.c(3)), lambda s: (s.x, s.p * s.r)],
        [lambda s: (s.x, s.y), lambda s: (s.x, s.none), lambda s: (s.p, s.r), lambda s: (s.p, s.x)],
    ),
    ("min", "same_twice"): SAME_TWICE,
    ("min", "commuted"): COMMUTED,
    ("max", "same_twice"): SAME_TWICE,
    ("max", "commuted"): COMMUTED,
    ("neg", "neg_neg"): Examples([lambda s: (-s.x,)], [lambda s: (s.x,), lambda s: (s.x - s.y,)]),
    ("sin", "odd"): _odd(Expr.sin),
    ("cos", "cos_even"): _odd(Expr.cos),
    ("sign", "odd"): _odd(Expr.sign),
    ("tanh", "odd"): _odd(Expr.tanh),
    ("abs", "abs_even"): Examples(
        [lambda s: (-s.x,), lambda s: (abs(s.x),), lambda s: (-abs(s.x),)], [lambda s: (s.x,), lambda s: (s.x.sign(),)]
    ),
    ("select", "select_decided"): Examples(
        [
            lambda s: (s.x, s.y, s.y),
            *(lambda s, c=c: (s.c(c), s.x, s.y) for c in (1, TINY, 0.0, -0.0, -TINY, -1)),
        ],
        [lambda s: (s.x, s.y, s.z), lambda s: (s.p, s.x, s.y), lambda s: (s.x, s.x, -s.x)],
    ),
}
"""By the operation and the name of the rule."""


def named(rules: Mapping[str, Sequence[Callable]]) -> Iterator[tuple[tuple[str, str], Callable]]:
    for op, these in rules.items():
        for rule in these:
            yield (op, rule.__qualname__.partition(".")[0]), rule


RULE = dict(named(SIMPLIFICATIONS))


def test_every_rule_has_examples() -> None:
    assert set(SIMPLIFICATIONS) == set(NUMPY_OPERATIONS), "every operation has a list of rules, if an empty one"
    missing = [name for name in RULE if name not in EXAMPLES]
    assert not missing, f"rules without examples: {missing}; add where they apply and where not to EXAMPLES"
    assert not set(EXAMPLES) - set(RULE), "examples of rules that are gone"
    assert len(RULE) == sum(map(len, SIMPLIFICATIONS.values())), "two rules of one operation have one name"
    assert all(e.applies and e.near for e in EXAMPLES.values())


@pytest.mark.parametrize("name", list(RULE), ids="-".join)
def test_a_rule_keeps_the_value_and_costs_nothing(name: tuple[str, str]) -> None:
    op, _ = name
    for number, build in enumerate(EXAMPLES[name].applies):
        g = Graph()
        args = build(leaves(g))
        plain, simpler = g.node(op, *args), RULE[name](g, *args)
        assert simpler is not None, f"example {number} of {name}: the rule does not apply"
        assert simpler is not plain, f"example {number} of {name}: the rule changes nothing"
        assert count([simpler]).total <= count([plain]).total
        a, b = bounded([plain, simpler], VALUES, 2**-53)
        (expected, got), error = (stacked([v], 300) for v in (a.value, b.value)), stacked([a.error + b.error], 300)
        wrong = off(got, expected, error)
        assert not wrong, (
            f"{plain} = {simpler} is wrong at {[{k: v[i] for k, v in VALUES.items()} for i, _ in wrong[:3]]}"
        )
        finite = np.isfinite(expected)
        assert finite.all() or "div" in {node.op for node in reachable([plain])}
        assert np.mean(finite & (error <= 1e-9 * abs(expected) + 1e-9)) > 0.7, "most states are checked closely"


@pytest.mark.parametrize("name", list(RULE), ids="-".join)
def test_a_rule_leaves_alone_what_it_is_not_for(name: tuple[str, str]) -> None:
    for build in EXAMPLES[name].near:
        g = Graph()
        args = build(leaves(g))
        assert RULE[name](g, *args) is None, f"{name} must not apply to {args}"


@pytest.mark.parametrize("op", list(NUMPY_OPERATIONS))
def test_an_operation_on_numbers_is_the_number_the_interpreter_finds(op: str) -> None:
    g = Graph()
    arity = {"select": 3}.get(op, 2 if (op in ("add", "sub", "mul", "div", "min", "max")) else 1)
    for numbers in np.random.default_rng(1).choice([*SPECIAL, -0.3, 7.25], (200, arity)):
        folded = fold(g, op, tuple(map(g.constant, numbers)))
        broken = (op == "div" and numbers[-1] == 0) or (op == "sqrt" and numbers[0] < 0)
        assert (folded is None) == broken
        if folded is not None:
            value = NUMPY_OPERATIONS[op](*(np.float64(x) for x in numbers))
            assert folded.value == pytest.approx(value, rel=1e-15, abs=0)
    assert fold(g, op, (g.input("x"),) * arity) is None


def test_nothing_divided_by_nothing_is_left_for_run_time() -> None:
    g = Graph()
    assert (g.constant(0) / 0).op == "div"
    assert (g.input("x") / 0).op == "div"


# Random graphs


@dataclass
class Twins:
    """A graph built twice with the same operations, as it stands and simplified.

    With parameters, it also divides by what may vanish.
    """

    rng: np.random.Generator
    inputs: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    raw: Graph = field(default_factory=Graph)
    simple: Graph = field(default_factory=Graph)
    pairs: list[tuple[Expr, Expr]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for op, names in (
            ("input", self.inputs),
            ("parameter", self.parameters),
            ("constant", (0.0, 1.0, -1.0, 2.0, -0.5, 0.75)),
        ):
            self.pairs += [(self.raw.leaf(op, name), self.simple.leaf(op, name)) for name in names]

    def make(self, op: str, *args: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
        raws, simples = zip(*args, strict=True)
        return self.raw.node(op, *raws), self.simple.operation(op, *simples)

    def any(self) -> tuple[Expr, Expr]:
        """A node there is, or its negative."""
        pair = self.pairs[self.rng.integers(len(self.pairs))]
        return self.make("neg", pair) if self.rng.random() < 0.2 else pair

    def constant(self, value: float) -> tuple[Expr, Expr]:
        return self.raw.constant(value), self.simple.constant(value)

    def grow(self, size: int) -> None:
        kinds = [
            self.unary,
            self.binary,
            self.binary,
            self.quotient,
            self.reciprocal,
            self.root,
            self.choice,
            self.angles,
        ]
        size += len(self.pairs)
        while len(self.pairs) < size:
            made = kinds[self.rng.integers(len(kinds))]()
            made = self.make("tanh", made) if self.rng.random() < 0.2 else made
            if made[1].value is None:  # of numbers alone there is little to learn
                self.pairs.append(made)

    def unary(self) -> tuple[Expr, Expr]:
        return self.make(str(self.rng.choice(["neg", "abs", "sin", "cos", "tanh", "sign"])), self.any())

    def binary(self) -> tuple[Expr, Expr]:
        a = self.any()
        b = a if self.rng.random() < 0.1 else self.any()
        return self.make(str(self.rng.choice(["add", "sub", "mul", "min", "max"])), a, b)

    def quotient(self) -> tuple[Expr, Expr]:
        a, b = self.any(), self.any()
        return self.make("div", a, b if self.parameters and self.rng.random() < 0.3 else self.above(b, 1.5))

    def reciprocal(self) -> tuple[Expr, Expr]:
        """a (b/c), where some are the same."""
        a, b, c = self.any(), self.any(), self.above(self.any(), 0.5)
        b = self.constant(1) if self.rng.random() < 0.5 else b
        return self.make("mul", c if self.rng.random() < 0.5 else a, self.make("div", b, c))

    def above(self, b: tuple[Expr, Expr], least: float) -> tuple[Expr, Expr]:
        return self.make("add", self.make("mul", b, b), self.constant(least))

    def root(self) -> tuple[Expr, Expr]:
        a = self.any()
        return self.make("sqrt", self.make("abs", a) if self.rng.random() < 0.5 else self.above(a, 0.25))

    def choice(self) -> tuple[Expr, Expr]:
        return self.make("select", self.any(), self.any(), self.any())

    def angles(self) -> tuple[Expr, Expr]:
        """k f(a) g(b) +- k h(a) i(b)."""
        a, b, k = self.any(), self.any(), self.any()
        f, g, h, i = self.rng.choice(["sin", "cos"], 4)
        if self.rng.random() < 0.7:
            h, i = ({"sin": "cos", "cos": "sin"}[u] for u in (f, g))
        left, right = ((self.make(str(u), a), self.make(str(v), b)) for u, v in ((f, g), (h, i)))
        if self.rng.random() < 0.5:
            left, right = ((self.make("mul", k, u), v) for u, v in (left, right))
        return self.make(str(self.rng.choice(["add", "sub"])), self.make("mul", *left), self.make("mul", *right))


def grown(seed: int, size: int, parameters: tuple[str, ...] = ()) -> Twins:
    twins = Twins(np.random.default_rng(seed), ("x", "y", "z"), parameters)
    twins.grow(size)
    return twins


SEEDS = range(100)


@pytest.fixture(scope="module")
def graphs() -> list[Twins]:
    return [grown(seed, 50, ("p", "r")) for seed in SEEDS]


def test_random_graphs_hold_every_operation_and_meet_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    met: Counter[tuple[str, str]] = Counter()

    def seen(name: tuple[str, str], rule: Callable) -> Callable:
        def watched(*args: Any) -> Expr | None:
            result = rule(*args)
            met[name] += result is not None
            return result

        return watched

    for op in SIMPLIFICATIONS:
        monkeypatch.setitem(SIMPLIFICATIONS, op, [seen(name, rule) for name, rule in RULE.items() if name[0] == op])
    made = [grown(seed, 50, ("p", "r")) for seed in SEEDS]
    assert not set(RULE) - set(met), "rules that no random graph meets"
    for which in (0, 1):
        used = {node.op for twins in made for node in reachable(pair[which] for pair in twins.pairs)}
        assert not set(NUMPY_OPERATIONS) - used


def test_a_random_graph_is_worth_the_same_simplified(graphs: list[Twins]) -> None:
    n, close = 400, []
    for seed, twins in enumerate(graphs):
        values = states(np.random.default_rng(seed), LEAVES, n)
        plain, simple = (bounded(nodes, values, 2**-53) for nodes in zip(*twins.pairs, strict=True))
        expected, got = (stacked([v.value for v in side], n) for side in (plain, simple))
        error = stacked([a.error + b.error for a, b in zip(plain, simple, strict=True)], n)
        wrong = off(got, expected, error)
        assert not wrong, (
            f"graph {seed}: {twins.pairs[wrong[0][1]]} at { ({k: v[wrong[0][0]] for k, v in values.items()}) }"
        )
        close.append(np.mean(np.isfinite(expected) & (error <= 1e-9 * (1 + abs(expected)))))
        with np.errstate(all="ignore"):
            again = stacked(interpret(list(zip(*twins.pairs, strict=True))[1], values, np.float64), n)
        assert np.array_equal(again, got, equal_nan=True)
    assert np.mean(close) > 0.8, "most values are checked closely"


def test_a_random_graph_is_worth_the_same_in_fifty_digits(graphs: list[Twins]) -> None:
    """Where double precision could not tell: two values that differ by 1e-40 of each other are two values."""
    close = []
    with mpmath.workdps(50):
        for seed, twins in enumerate(graphs):
            rng = np.random.default_rng(seed)
            for state in range(3):
                values = {name: mpmath.mpf(x) / 3 for name, x in zip(LEAVES, rng.normal(size=5), strict=True)}
                if state:
                    values[LEAVES[rng.integers(5)]] = mpmath.mpf(float(rng.choice(SPECIAL)))
                sides = [bounded(nodes, values, 1e-49, mpmath.mpf, np.inf) for nodes in zip(*twins.pairs, strict=True)]
                for pair, plain, simple in zip(twins.pairs, *sides, strict=True):
                    error = plain.error + simple.error
                    if mpmath.isfinite(plain.value) and mpmath.isfinite(error):
                        assert abs(plain.value - simple.value) <= error, f"graph {seed}: {pair} at {values}"
                        close.append(error <= 1e-40 * (1 + abs(plain.value)))
    assert np.mean(close) > 0.8


# Whatever runs a program

INPUTS = ("x", "y", "z")


def program(outputs: Sequence[Expr], g: Graph) -> Program:
    return Program((("q", tuple(map(g.input, INPUTS))),), tuple(outputs), (len(outputs),))


def corners() -> Program:
    """What has a corner or a jump at 0, alone and with a constant."""
    g = Graph()
    x, y, z = map(g.input, INPUTS)
    ordered = [x.minimum(y), x.maximum(y), x.minimum(0), x.maximum(-1), y.minimum(x.sign()), abs(x).maximum(abs(y))]
    return program([x.sign(), abs(x), -x, *ordered, x.select(y, z), (x * y).sign(), (x - y).select(1, z)], g)


def programs(many: int) -> dict[str, Program]:
    twins = {f"f{seed}": grown(seed + 500, 45) for seed in range(many)}
    return {"corners": corners()} | {name: program([b for _, b in t.pairs], t.simple) for name, t in twins.items()}


PROGRAMS = programs(4)
GIVEN = np.stack(list(states(np.random.default_rng(5), INPUTS, 200).values()), axis=1)


def meant(p: Program, given: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """By the interpreter, with what rounding may do in this precision; no bound where a number is out of its range."""
    values = dict(zip(INPUTS, given.astype(dtype).astype(float).T, strict=True))
    outcome = bounded([*p.outputs, *p.nodes], values, float(np.finfo(dtype).eps) / 2)
    value, error = (stacked([v[k] for v in outcome], len(given)) for k in (0, 1))
    least, most = 1e3 * float(np.finfo(dtype).tiny), 1e-3 * float(np.finfo(dtype).max)
    inside = ((value == 0) | ((least < abs(value)) & (abs(value) < most))).all(axis=1, keepdims=True)
    return value[:, : len(p.outputs)], np.where(inside, error, np.inf)[:, : len(p.outputs)]


def agrees(p: Program, given: np.ndarray, got: np.ndarray, dtype: str) -> None:
    expected, error = meant(p, given, dtype)
    wrong = off(got, expected, error)
    assert not wrong, f"{p.outputs[wrong[0][1]]} at {given[wrong[0][0]]} is {got[wrong[0]]}, not {expected[wrong[0]]}"
    assert np.mean(error <= 1e5 * np.finfo(dtype).eps * (1 + abs(expected))) > 0.5, "enough is checked closely"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", HERE)
def test_a_backend_computes_what_a_random_graph_means(target: str, dtype: str) -> None:
    assert dtype in backend(target).dtypes
    for p in programs(12).values():
        out = np.empty((len(GIVEN), *p.shape), dtype)
        with np.errstate(all="ignore"):
            finite = backend(target).kernel(p, dtype).run([GIVEN.astype(dtype)], out)
        assert finite == bool(np.isfinite(out).all())
        agrees(p, GIVEN, out, dtype)


# Exports

COMPILER = shutil.which("gcc") or shutil.which("cc")
Call = Callable[[np.ndarray], Any]


def _from_c(made: Mapping[str, str], folder: Path, dtype: str) -> dict[str, Call]:
    if COMPILER is None:
        pytest.skip("no C compiler on this machine")
    for name, text in made.items():
        (folder / name).write_text(text)
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *strict, str(folder / "puma560.c"), "-o", str(folder / "f.so"), "-lm"], check=True)
    library = ctypes.CDLL(str(folder / "f.so"))

    def call(name: str, state: np.ndarray) -> np.ndarray:
        state, out = state.astype(dtype), np.empty(PROGRAMS[name].shape, dtype)
        getattr(library, f"puma560_{name}")(ctypes.c_void_p(state.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        return out

    return {name: partial(call, name) for name in PROGRAMS}


def _from_cuda(made: Mapping[str, str], folder: Path, dtype: str) -> dict[str, Call]:
    """As C++."""
    if (compiler := shutil.which("g++")) is None:
        pytest.skip("no g++ on this machine")
    (folder / "puma560.cuh").write_text(made["puma560.cuh"])
    calls = [
        f'extern "C" void {name}(const puma560::real *x, puma560::real *out) {{ puma560::{name}(x, out); }}'
        for name in PROGRAMS
    ]
    (folder / "use.cpp").write_text("\n".join(['#include "puma560.cuh"', *calls]))
    strict = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *strict, str(folder / "use.cpp"), "-o", str(folder / "f.so")], check=True)
    library = ctypes.CDLL(str(folder / "f.so"))

    def call(name: str, state: np.ndarray) -> np.ndarray:
        state, out = state.astype(dtype), np.empty(PROGRAMS[name].shape, dtype)
        getattr(library, name)(ctypes.c_void_p(state.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        return out

    return {name: partial(call, name) for name in PROGRAMS}


def _from_fmu(made: Mapping[str, bytes], folder: Path, dtype: str) -> dict[str, Call]:
    """By the C functions in it; what is around them has tests of its own."""
    with zipfile.ZipFile(io.BytesIO(made["puma560.fmu"])) as unit:
        return _from_c(
            {name: unit.read(f"sources/{name}").decode() for name in ("puma560.c", "puma560.h")}, folder, dtype
        )


def _from_python(made: Mapping[str, str], folder: Path, dtype: str) -> dict[str, Call]:
    (text,) = made.values()
    space: dict[str, Any] = {}
    exec(text, space)

    return {name: lambda state, f=space[name]: f(state.tolist()) for name in PROGRAMS}


def _from_casadi(made: Mapping[str, Any], folder: Path, dtype: str) -> dict[str, Call]:
    return {name: lambda state, f=f: np.array(f(state)).ravel() for name, f in made.items()}


def _from_jax(made: Mapping[str, Any], folder: Path, dtype: str) -> dict[str, Call]:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return {name: jax.jit(f) for name, f in made.items()}


def _from_sympy(made: Mapping[str, Any], folder: Path, dtype: str) -> dict[str, Call]:
    def call(name: str, state: np.ndarray) -> np.ndarray:
        (symbols,), matrix = made[name]
        return np.array(matrix.subs(dict(zip(symbols, state.tolist(), strict=True))).evalf(), dtype=float).ravel()

    return {name: partial(call, name) for name in made}


FROM: dict[str, Callable[[Mapping[str, Any], Path, str], dict[str, Call]]] = {
    "c": _from_c,
    "cpp": _from_c,  # what it adds is a view of the same functions
    "cuda": _from_cuda,
    "fmu": _from_fmu,
    "python": _from_python,
    "casadi": _from_casadi,
    "jax": _from_jax,
    "sympy": _from_sympy,
}
"""How what an export makes is run: the functions by name, from an array of three numbers to an array."""

SLOW = {"sympy": 17}
"""Of how many states one is tried."""


def made_by(to: str, folder: Path, dtype: str) -> dict[str, Call]:
    assert to in FROM, f"say in FROM how to run what is exported to {to}"
    if EXPORTS[to].package:
        pytest.importorskip(EXPORTS[to].package)
    form = EXPORTS[to]
    return FROM[to]((form.native or form.files)(ExportRequest(aw.load("puma560"), PROGRAMS, dtype)), folder, dtype)


@pytest.mark.parametrize(("to", "dtype"), [(to, dtype) for to, form in EXPORTS.items() for dtype in form.dtypes])
def test_an_export_computes_what_a_random_graph_means(to: str, dtype: str, tmp_path: Path) -> None:
    for name, f in made_by(to, tmp_path, dtype).items():
        given = GIVEN[:: SLOW.get(to, 1)]
        agrees(expand_sines(PROGRAMS[name]), given, np.array([f(state) for state in given], dtype), dtype)


@pytest.mark.parametrize("to", [to for to, form in EXPORTS.items() if form.native])
def test_a_module_for_another_package_computes_what_a_random_graph_means(to: str, tmp_path: Path) -> None:
    package = pytest.importorskip(EXPORTS[to].package)
    (text,) = EXPORTS[to].files(ExportRequest(aw.load("puma560"), PROGRAMS)).values()
    space: dict[str, Any] = {}
    exec(text, space)
    made = {name: space[name] for name in PROGRAMS}
    if to == "sympy":
        symbols = package.symbols("x1:4", real=True)
        made = {name: ((symbols,), f(symbols)) for name, f in made.items()}
    for name, f in FROM[to](made, tmp_path, "float64").items():
        given = GIVEN[:: SLOW.get(to, 1)]
        agrees(PROGRAMS[name], given, np.array([f(state) for state in given], float), "float64")


BROKEN = np.array(
    [[np.nan, 1.0, 2.0], [1.0, np.nan, 2.0], [-1.0, 1.0, np.nan], [0.0, np.nan, np.nan], [np.nan, np.nan, -0.0]]
)
UNPROMISED = {"casadi": "its fmin and fmax pass over a nan, as those of C", "sympy": "it does not compare a nan"}


def stays_broken(got: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        expected = stacked(
            interpret(PROGRAMS["corners"].outputs, dict(zip(INPUTS, BROKEN.T, strict=True))), len(BROKEN)
        )
    assert np.isnan(expected[0, :9]).all(), "sign, abs, -, min and max of a nan are nan"
    assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize("target", HERE)
def test_what_is_not_a_number_stays_so(target: str) -> None:
    p = PROGRAMS["corners"]
    out = np.empty((len(BROKEN), *p.shape))
    assert not backend(target).kernel(p, "float64").run([BROKEN], out)
    stays_broken(out)


@pytest.mark.parametrize("to", [to for to in EXPORTS if to not in UNPROMISED])
def test_what_is_not_a_number_stays_so_in_exports(to: str, tmp_path: Path) -> None:
    f = made_by(to, tmp_path, "float64")["corners"]
    stays_broken(np.array([f(state) for state in BROKEN], float))


def test_programs_hold_every_operation() -> None:
    assert {node.op for p in PROGRAMS.values() for node in p.nodes} >= set(NUMPY_OPERATIONS)


def test_a_division_of_numbers_by_zero_runs_on_every_backend() -> None:
    """It is left for run time, and there it is not finite."""
    g = Graph()
    outputs = [g.constant(0) / 0, 1 / g.constant(0), g.constant(-2).sqrt(), g.input("x") * 2]
    for target in HERE:
        out = np.empty((1, 4))
        assert not backend(target).kernel(program(outputs, g), "float64").run([np.ones((1, 3))], out)
        assert np.array_equal(out[0], [np.nan, np.inf, np.nan, 2.0], equal_nan=True)
