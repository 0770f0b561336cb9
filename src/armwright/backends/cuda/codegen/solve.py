"""Systems of equations that a program leaves, solved in a loop over their columns.

What the program computes lies in local memory, or near, in shared memory; a column is taken from there into registers,
goes forward through L and back through L^T, and is a result. Where the inverse of the matrix is a result and few
registers hold it, it is computed first and every column is multiplied by it: its products do not wait for one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from armwright.backends.cuda.codegen.schedule import depends
from armwright.backends.cuda.codegen.writer import function, given, head
from armwright.backends.text.c import notation
from armwright.graph.expression import Expr
from armwright.graph.program import Equations, Program

BESIDE = {False: 120, True: 60}
"""Numbers of single and of double precision, up to which the columns of all matrices go together."""

STATEMENTS = 6000
"""More than that are not written for columns with zeros in different places: all are then treated alike."""

INVERSE = 10
"""Unknowns up to which the inverse of a matrix is kept in registers."""

Way = tuple[tuple[int, ...], tuple[int, ...]]


class Tile(NamedTuple):
    """How many of its numbers a thread has in shared memory, the others being in local memory, and how many threads
    have theirs beside them."""

    near: int = 0
    threads: int = 1


LOCAL = Tile()
"""All is in local memory."""


def near(program: Program, left: Equations, double: bool, room: int) -> int:
    """How many numbers to have in shared memory, where a thread has room for so many: all matrices, or none at all."""
    text = _solution(program, left, "", double, LOCAL)
    return min(room, text.size) if text.matrices <= room else 0


def _solution(program: Program, left: Equations, name: str, double: bool, tile: Tile) -> _Columns:
    return (_ByInverse if _inverts(program, left) else _Columns)(program, left, name, double, tile)


def solving(
    program: Program, left: Equations, name: str, double: bool, tile: Tile = LOCAL, kind: str = "FUNCTION"
) -> str:
    """What `writer.function` is of other programs; one that stands apart has a copy of `out` while it works."""
    text, apart = _solution(program, left, name, double, tile), kind == "APART"
    return "\n".join(
        [
            function(replace(program, equations=None), f"{name}_outputs", double),
            *text.tables(),
            f"{text.kept()}\n{head(program, name, kind)}\n{{",
            *(["    Out out = results;"] if apart else []),
            *(f"    {line}" for line in text.room()),
            f"    const bool good = {name}_outputs<careful>({given(program)}, kept);",
            *(f"    {line}" for line in text.lines()),
            *(["    results = out;"] if apart else []),
            "    return good;\n}",
        ]
    )


def _inverts(program: Program, left: Equations) -> bool:
    """Whether the last matrix is -1, so that the inverse is a result, and there is room for that."""
    n = left.n
    last = program.outputs[left.inverse - n * n : left.inverse]
    unit = [-1.0 if k % (n + 1) == 0 else 0.0 for k in range(n * n)]
    return n <= INVERSE and [x.value if isinstance(x, Expr) else float(x) for x in last] == unit


class _Columns:
    """The statements that solve. A matrix of numbers, as the last one may be, is no part of the tile."""

    def __init__(self, program: Program, left: Equations, name: str, double: bool, tile: Tile) -> None:
        self._program, self._left, self._name, self._tile = program, left, name, tile
        self._fma, self._number = f"fma{'' if double else 'f'}", notation(double)["constant"]
        size = left.n * left.n
        self._together = left.matrices * left.n <= BESIDE[double]
        last = program.outputs[left.inverse - size : left.inverse]
        self._constant = self._together and not any(map(depends, last))
        self._numbers = [x.value if isinstance(x, Expr) else float(x) for x in last] if self._constant else []
        self._gone = size if self._constant else 0
        self.size, self.matrices = len(program.outputs) - self._gone, left.inverse - self._gone

    def _at(self, place: int) -> str:
        """A number that is no entry of a matrix."""
        near, threads = self._tile
        if not near:
            return f"tile[{place}]"
        return f"tile[{place * threads}]" if place < near else f"far[{place - near}]"

    def _entry(self, place: str) -> str:
        return f"tile[({place}) * {self._tile.threads}]" if self._tile.near else f"tile[{place}]"

    def room(self) -> list[str]:
        """What is kept, and where."""
        if not self._tile.near:
            return [f"real tile[{self.size}];", f"{self._name}_Tile kept = {{tile}};"]
        near, threads = self._tile
        return [
            f"NEAR(tile, {near * threads});",
            f"real far[{max(1, self.size - near)}];",
            f"{self._name}_Tile kept = {{tile, far}};",
        ]

    def kept(self) -> str:
        """Where outputs go; a matrix of numbers is left out."""
        end, gone, (near, threads) = self._left.inverse, self._gone, self._tile
        here = f"if (k < {end - gone} || k >= {end})" if gone else ""
        place = f"(k < {end} ? k : k - {gone})" if gone else "k"
        put = f"at[{place}] = x;"
        if near:
            put = f"({place} < {near} ? at[{place} * {threads}] : far[{place} - {near}]) = x;"
        return f"""struct {self._name}_Tile {{
    real *at{", *far" if near else ""};
    MEMBER void put(int k, real x)
    {{
        {here}
            {put}
    }}
    MEMBER void check(real, real)
    {{
    }}
}};"""

    def tables(self) -> Iterator[str]:
        if self._constant:
            numbers = ", ".join(map(self._number, self._numbers))
            yield f"TABLE real {self._name}_last[{len(self._numbers)}] = {{{numbers}}};"
        for k, columns in enumerate(self._ways().values()):
            yield f"TABLE short {self._name}_columns{k}[{len(columns)}] = {{{', '.join(map(str, columns))}}};"

    def _ways(self) -> dict[Way, list[int]]:
        """Columns by which unknowns are not zero in them, forward and back."""
        found = dict[Way, list[int]]()
        for block in self._left.blocks:
            columns = range(block.first, block.first + block.width)
            found.setdefault((block.forward, block.back), []).extend(columns)
        if len(found) * sum(map(len, self._left.rows.values())) * 2 * self._left.matrices > STATEMENTS:
            every = tuple(self._left.rows)
            return {(every, every): list(range(self._left.n))}
        return found

    def lines(self) -> Iterator[str]:
        together = range(self._left.matrices) if self._together else range(1)
        for k, (way, columns) in enumerate(self._ways().items()):
            yield f"TURNS(i, {len(columns)}) {{\n        const int column = {self._name}_columns{k}[i];"
            if not self._together:
                yield f"    TURNS(m, {self._left.matrices}) {{"
            yield from (f"    {line}" for line in self._column(together, *way))
            yield "}" if self._together else "    }\n    }"

    def _column(self, matrices: Sequence[int], forward: Sequence[int], back: Sequence[int]) -> Iterator[str]:
        """One column of each matrix, into registers, forward, back and out."""
        left, n = self._left, self._left.n
        lower = {pair: place - self._gone for pair, place in left.lower.items()}
        for m in matrices:
            for j in back:
                place = f"{j * n} + column"
                if j not in forward:
                    value = "0"
                elif self._constant and m == left.matrices - 1:
                    value = f"{self._name}_last[{place}]"
                else:
                    value = self._entry(f"{self._matrix(m)} + {place}")
                yield f"real x{m}_{j} = {value};"
        for j in forward:
            yield from self._less(matrices, j, ((k, lower[j, k]) for k in left.rows[j] if k in forward))
        below = left.below
        for j in reversed(back):
            yield f"real d{j} = {self._at(left.inverse - self._gone + j)};"
            yield from (f"x{m}_{j} = x{m}_{j} * d{j};" for m in matrices)
            yield from self._less(matrices, j, ((k, lower[k, j]) for k in below[j] if k in back))
        for m in matrices:
            for j in range(n):
                value = f"x{m}_{j}" if j in back else "0"
                yield f"out.put({self._matrix(m)} + {j * n} + column, {value});"
        yield from _checks([f"x{m}_{j}" for m in matrices for j in back])

    def _matrix(self, m: int) -> str:
        size = self._left.n * self._left.n
        return str(m * size) if self._together else f"m * {size}"

    def _less(self, matrices: Sequence[int], j: int, entries: Iterable[tuple[int, int]]) -> Iterator[str]:
        for k, place in entries:
            yield f"{{ real l = -{self._at(place)};"
            yield from (f"x{m}_{j} = {self._fma}(l, x{m}_{k}, x{m}_{j});" for m in matrices)
            yield "}"


class _ByInverse(_Columns):
    """The statements that invert, then multiply: with G = L^-1 the inverse is G^T 1/D G, and X = -inverse B."""

    _known: Mapping[str, str]

    def tables(self) -> Iterator[str]:
        return iter(())

    def lines(self) -> Iterator[str]:
        yield from self._inverse()
        n, others = self._left.n, range(self._left.matrices - 1)
        yield f"TURNS(column, {n}) {{"
        for m in others:
            yield from (f"    real b{m}_{j} = {self._entry(f'{m * n * n + j * n} + column')};" for j in range(n))
        for m in others:
            for j in range(n):
                yield f"    real x{m}_{j} = {self._product(m, j)};"
        yield from (f"    out.put({m * n * n + j * n} + column, x{m}_{j});" for m in others for j in range(n))
        yield from (f"    {line}" for line in _checks([f"x{m}_{j}" for m in others for j in range(n)]))
        yield "}"

    def _product(self, m: int, j: int) -> str:
        """A row of the inverse times a column of a matrix."""
        text = ""
        for k in range(self._left.n):
            if _pair(j, k) in self._known:
                text = _term(self._fma, f"-v{_pair(j, k)}", f"b{m}_{k}", text)
        return text

    def _inverse(self) -> Iterator[str]:
        """Row by row of G, each times its number of -1/D, then entries of the inverse, which are results."""
        left, fma = self._left, self._fma
        order, terms = list(left.rows), dict[tuple[int, int], list[str]]()
        inverse = dict[tuple[int, int], str]()
        for j in order:
            row = {k: f"-{self._at(left.lower[j, k] - self._gone)}" for k in left.rows[j]}
            for c in order[: order.index(j)]:
                parts = [(row[k], f"g{k}_{c}") for k in row if (k, c) in terms]
                text = row.get(c, "")
                for x, y in parts:
                    text = f"{fma}({x}, {y}, {text})" if text else f"{x} * {y}"
                if text:
                    terms[j, c] = []
                    yield f"real g{j}_{c} = {text};"
            yield f"real d{j} = -{self._at(left.inverse - self._gone + j)};"
            involved = [c for c in order[: order.index(j)] if (j, c) in terms]
            yield from (f"real e{j}_{c} = d{j} * g{j}_{c};" for c in involved)
            for at, a in enumerate([*involved, j]):
                for b in [*involved, j][at:]:
                    scaled = f"d{j}" if a == j else f"e{j}_{a}"
                    other = "" if b == j else f"g{j}_{b}"
                    before = inverse.get((a, b), "")
                    inverse[a, b] = _term(fma, scaled, other, before)
        self._known = {_pair(*entry): text for entry, text in inverse.items()}
        yield from (f"real v{entry} = {text};" for entry, text in self._known.items())
        for k in range(left.n**2):
            entry = _pair(*divmod(k, left.n))
            yield f"out.put({left.inverse - left.n**2 + k}, {f'v{entry}' if entry in self._known else '0'});"
        yield from _checks([f"v{entry}" for entry in self._known])


def _pair(a: int, b: int) -> str:
    """The name of an entry of a symmetric matrix."""
    return f"{min(a, b)}_{max(a, b)}"


def _term(fma: str, scaled: str, other: str, before: str) -> str:
    """scaled * other + before, without what is one or zero."""
    if not other:
        return f"{scaled} + {before}" if before else scaled
    return f"{fma}({scaled}, {other}, {before})" if before else f"{scaled} * {other}"


def _checks(values: Sequence[str]) -> Iterator[str]:
    """Two at a time."""
    for x, y in zip_longest(values[::2], values[1::2], fillvalue="1"):
        yield f"out.check({x}, {y});"
