"""Each simplification rule alone, and the graph as a whole."""

import numpy as np
import pytest

from armwright.algebra import maximum, minimum, select, sign
from armwright.graph import Expr, Graph
from armwright.graph.angles import expand_sines
from armwright.graph.count import count
from armwright.graph.expression import reachable
from armwright.graph.interpret import interpret
from armwright.graph.printing import dot, listing
from armwright.graph.program import Program


@pytest.fixture
def g() -> Graph:
    return Graph()


@pytest.fixture
def x(g: Graph) -> Expr:
    return g.input("x")


@pytest.fixture
def y(g: Graph) -> Expr:
    return g.input("y")


@pytest.fixture
def m(g: Graph) -> Expr:
    return g.parameter("m")


def test_the_same_expression_is_the_same_node(g: Graph, x: Expr, y: Expr) -> None:
    assert g.input("x") is x
    assert x * y + 1 is 1 + y * x


def test_numbers_fold(g: Graph) -> None:
    two, zero = g.constant(2), g.constant(0)
    assert (two * 3 + 1).value == 7
    assert g.constant(0).cos().value == 1
    assert (-two).sign().value == -1
    assert (1 / zero).op == "div"  # left for run time
    assert (-two).sqrt().op == "sqrt"


def test_zero_one_and_minus_one_vanish(x: Expr) -> None:
    assert x + 0 is x
    assert 0 + x is x
    assert x - 0 is x
    assert 0 - x is -x
    assert 1 * x is x
    assert x * -1 is -x
    assert (x * 0).value == 0
    assert (0 / x).value == 0
    assert (x - x).value == 0


def test_signs_are_pushed_out(x: Expr, y: Expr) -> None:
    negative = -x
    assert -negative is x
    assert x + -y is x - y
    assert -x + y is y - x
    assert -x + -y is -(x + y)
    assert x - -y is x + y
    assert -x - y is -(x + y)
    assert -x - -y is y - x
    assert (-x) * y is -(x * y)
    assert (-x) * (-y) is x * y
    assert (-x) / y is -(x / y)
    assert x / -y is -(x / y)
    assert x * -2 is -(x * 2)
    assert (-x).sin() is -x.sin()
    assert (-x).cos() is x.cos()
    assert (-x).sign() is -x.sign()


def test_differences_both_ways_share_a_node(x: Expr, y: Expr) -> None:
    assert y - x is -(x - y)


def test_off_line_factors_and_terms_gather(m: Expr, x: Expr) -> None:
    assert m * (3 * x) is (m * 3) * x
    assert m + (3 + x) is (m + 3) + x
    assert m * x + 3 * x is (m + 3) * x
    assert m * x - 3 * x is (m - 3) * x
    assert x / m is (1 / m) * x


def test_a_number_times_its_reciprocal_is_one(x: Expr, y: Expr) -> None:
    assert (x * (1 / x)).value == 1
    assert ((1 / (x + y)) * (y + x)).value == 1


def test_angles_of_parallel_joints_add_up(x: Expr, y: Expr, m: Expr) -> None:
    sx, cx, sy, cy = x.sin(), x.cos(), y.sin(), y.cos()
    assert sx * cy + cx * sy is (x + y).sin()
    assert cx * cy - sx * sy is (x + y).cos()
    assert sx * cy - cx * sy is (x - y).sin()
    assert cx * cy + sx * sy is (x - y).cos()
    assert sx * sy - cx * cy is -(x + y).cos()
    assert cx * sy - sx * cy is -(x - y).sin()
    assert (m * sx) * cy + (m * cx) * sy is m * (x + y).sin()
    assert (m * sx) * cy + cx * sy is not (x + y).sin()
    assert sx * cx + sx * cy not in ((x + y).sin(), (x + x).sin())


def test_sums_of_angles_are_written_out_where_their_parts_are_known(g: Graph, x: Expr, y: Expr) -> None:
    z = g.input("z")
    parts = [f for a in (x, y, z) for f in (a.sin(), a.cos())]
    outputs = (*parts, (x + y).sin(), (x + y).cos(), (x + y - z).cos(), (x + 0.5).sin())
    alone = Program((("a", (x, y, z)),), outputs, (len(outputs),))
    cheap = expand_sines(alone)
    assert count(alone.outputs).trigonometric == 10
    assert count(cheap.outputs).trigonometric == 7
    at = {"x": 0.3, "y": -1.2, "z": 2.5}
    assert interpret(cheap.outputs, at) == pytest.approx(interpret(alone.outputs, at), abs=1e-15)


def test_expressions_of_two_graphs_do_not_mix(x: Expr) -> None:
    with pytest.raises(ValueError, match="different graphs"):
        x + Graph().input("x")


def test_off_line_means_known_before_run_time(m: Expr, x: Expr) -> None:
    assert (m * m + 1).sin().offline
    assert not (m * x).offline
    assert not x.offline


def test_numpy_numbers_mix_from_either_side(x: Expr) -> None:
    assert np.float64(2.0) * x is x * 2
    assert np.float32(0.5) + x is x + 0.5
    assert isinstance(np.int64(3) - x, Expr)


def test_other_operands_are_refused(x: Expr) -> None:
    with pytest.raises(TypeError):
        x + "1"


def test_the_functions_of_torque_laws_simplify(g: Graph, x: Expr, y: Expr) -> None:
    assert (-x).tanh() is -(x.tanh())
    assert abs(-x) is abs(abs(x)) is abs(x)
    assert x.minimum(y) is y.minimum(x)
    assert x.maximum(x) is x
    assert x.select(y, y) is y
    assert g.constant(1).select(x, y) is x
    assert g.constant(0).select(x, y) is y
    assert g.constant(-3).minimum(2).value == -3


def test_the_interpreter_is_the_meaning_of_every_operation(x: Expr, y: Expr) -> None:
    outputs = [
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        abs(x),
        x.sin(),
        x.cos(),
        x.tanh(),
        y.sqrt(),
        x.sign(),
        x.minimum(y),
        x.maximum(y),
        x.select(y, 7),
        3.0,
    ]
    for a, b in ((-0.5, 2.0), (1.5, 0.25)):
        expected = [
            a + b,
            a - b,
            a * b,
            a / b,
            -a,
            abs(a),
            np.sin(a),
            np.cos(a),
            np.tanh(a),
            np.sqrt(b),
            np.sign(a),
            min(a, b),
            max(a, b),
            b if a > 0 else 7,
            3.0,
        ]
        assert interpret(outputs, {"x": a, "y": b}) == pytest.approx(expected, rel=1e-15)
    batch = interpret(outputs, {"x": np.array([-0.5, 1.5]), "y": np.array([2.0, 0.25])})
    assert all(np.shape(value) in ((2,), ()) for value in batch)


def test_a_graph_is_listed_and_drawn(x: Expr, y: Expr) -> None:
    outputs = [x * y + 1, 2.0]
    assert listing(outputs).splitlines() == ["t2 = mul(x, y)", "t4 = add(1.0, t2)", "out0 = t4", "out1 = 2.0"]
    assert dot(outputs).splitlines() == [
        "digraph {",
        '  n0 [label="x", shape=box];',
        '  n1 [label="y", shape=box];',
        '  n2 [label="mul", shape=ellipse];',
        "  n0 -> n2;",
        "  n1 -> n2;",
        '  n3 [label="1.0", shape=box, style=dashed];',
        '  n4 [label="add", shape=ellipse];',
        "  n3 -> n4;",
        "  n2 -> n4;",
        '  out0 [label="out0", shape=plaintext];',
        "  n4 -> out0;",
        '  out1 [label="out1", shape=plaintext];',
        '  out1 [label="out1 = 2.0"];',
        "}",
    ]


def test_reachable_finds_every_node_once(x: Expr, y: Expr) -> None:
    shared = x * y
    nodes = list(reachable([shared + x, shared - y, 3.0]))
    assert len(nodes) == len({n.index for n in nodes}) == 6  # x, y, the product, the sum, the difference, its sign


def test_expressions_print(x: Expr, y: Expr) -> None:
    assert repr(x * y + x.sin()) == "add(mul(x, y), sin(x))"


def test_a_digest_names_exactly_one_computation() -> None:
    """Compiled code is kept under it: what differs in any way has another, what is built again the same."""

    def digest(make, names: str = "xy", sizes: tuple[int, ...] = (2,)) -> str:
        g = Graph()
        leaves = [g.input(name) for name in names]
        made = make(*leaves)
        parts = np.split(np.array(leaves, dtype=object), np.cumsum(sizes)[:-1])
        return Program(tuple((f"a{k}", tuple(p)) for k, p in enumerate(parts)), tuple(made), (len(made),)).digest()

    plain = digest(lambda x, y: [x * y + 2])
    assert plain == digest(lambda x, y: [2 + y * x], "uv")  # what it is called has no part in it
    others = [
        digest(lambda x, y: [x * y + 3]),
        digest(lambda x, y: [x * y - 2]),
        digest(lambda x, y: [x * x + 2]),
        digest(lambda x, y: [y * y + 2]),
        digest(lambda x, y: [x * y]),
        digest(lambda x, y: [x * y + 2, 2]),
        digest(lambda x, y: [x * y + 2, 3.5]),
        digest(lambda x, y: [x * y + 2, 0.0]),
        digest(lambda x, y: [0.0, x * y + 2]),
        digest(lambda x, y: [x * y + 2], sizes=(1, 1)),
        digest(lambda x, y: [x - y]),
        digest(lambda x, y: [y - x]),
        digest(lambda x, y: [x / y]),
        digest(lambda x, y: [y / x]),
    ]
    assert len({plain, *others}) == len(others) + 1


@pytest.mark.parametrize("number", [3.0, 3, True, np.float64(3), np.float32(3), np.int64(3), np.array([3.0, 1.0])])
def test_whether_an_expression_is_a_number_is_not_known_yet(x: Expr, y: Expr, number) -> None:
    for compare in (lambda: x == number, lambda: x != number, lambda: number == x, lambda: number != x):
        with pytest.raises(TypeError, match="before it has a value"):
            compare()
    assert x == x  # noqa: PLR0124
    assert x != y
    assert {x: 1, y: 2}[x] == 1
    assert x not in (None, "x")


VALUES = np.array([0.7, -1.3])
ROW = np.array([2.0, -0.5])
OF_ARRAYS = {
    "array times scalar": lambda x, y: ROW * x + np.array([x, y]),
    "scalar times array": lambda x, y: x * ROW - np.array([x, y]) * y,
    "number times scalar": lambda x, y: [np.float64(2) * x, np.int64(2) - y],
    "quotients": lambda x, y: ROW / (2 + x * x) + 1 / (np.array([x, y]) + 3),
    "functions of one": lambda x, y: [np.sin(x), np.cos(y), np.tanh(x), np.sqrt(np.square(y)), np.sign(y)],
    "bounds": lambda x, y: [np.maximum(x, 0.0), np.minimum(0.1, y), abs(y), np.abs(x), np.fabs(y)],
    "bounds beside arrays": lambda x, y: [*np.maximum(ROW, x), *np.minimum(y, ROW)],
    "bounds of arrays": lambda x, y: [*maximum(np.array([x, y]), 0.0), *minimum(ROW, y), *maximum(x, ROW)],
    "signs of arrays": lambda x, y: [*sign(np.array([x, y])), *select(np.array([x, y]), ROW, 0.0), *select(x, ROW, y)],
    "powers": lambda x, y: [x**2, y**3, x**-1, *np.array([x, y]) ** 2, x**0],
    "products of rows": lambda x, y: [np.array([x, y]) @ ROW, np.linalg.norm(np.array([x, y]))],
}


@pytest.mark.parametrize("of_arrays", OF_ARRAYS.values(), ids=OF_ARRAYS)
def test_numpy_takes_expressions_as_it_takes_numbers(x: Expr, y: Expr, of_arrays) -> None:
    found = interpret(of_arrays(x, y), {"x": VALUES[0], "y": VALUES[1]})
    assert np.abs(np.array(found) - of_arrays(*VALUES)).max() < 1e-15


def test_what_is_no_operation_says_so(x: Expr) -> None:
    for wrong in (lambda: np.exp(x), lambda: x**0.5, lambda: np.add.reduce(x)):
        with pytest.raises(TypeError):
            wrong()
