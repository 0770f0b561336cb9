"""Systems of equations with several right-hand sides, solved in a loop over their columns.

The matrices are in local or shared memory. A column is loaded to registers, solved forward with L and back with L^T,
and written as a result. If the inverse of the matrix is a result and fits in registers, it is computed first and
multiplied by every column, as these products do not wait for one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from armwright.backends.cuda.codegen.schedule import is_variable
from armwright.backends.cuda.codegen.writer import argument_list, function_text, signature
from armwright.backends.text.c import notation
from armwright.graph.expression import Expr
from armwright.graph.program import Equations, Program

MAX_COLUMN_NUMBERS = {False: 120, True: 60}
"""Numbers of single and of double precision up to which the columns of all matrices are solved together."""

MAX_STATEMENTS = 6000
"""Statements above which columns are not distinguished by their zeros."""

MAX_INVERTED = 10
"""Unknowns up to which the inverse of a matrix is kept in registers."""

Nonzeros = tuple[tuple[int, ...], tuple[int, ...]]
"""The unknowns that are not zero in the forward and in the back substitution of a column."""


class Tile(NamedTuple):
    """The numbers of a thread in shared memory, others being in local memory, and the threads of its block."""

    shared: int = 0
    threads: int = 1


LOCAL = Tile()
"""All numbers in local memory."""


def tile_numbers(program: Program, equations: Equations, double: bool, available: int) -> int:
    """Return the numbers that a thread has in shared memory: all matrices and as many others as fit, or none."""
    text = _solver(program, equations, "", double, LOCAL)
    return min(available, text.size) if text.matrices <= available else 0


def _solver(program: Program, equations: Equations, name: str, double: bool, tile: Tile) -> _ColumnSolver:
    kind = _InverseSolver if _inverts(program, equations) else _ColumnSolver
    return kind(program, equations, name, double, tile)


def solver_text(
    program: Program, equations: Equations, name: str, double: bool, tile: Tile = LOCAL, kind: str = "FUNCTION"
) -> str:
    """Return the function of a program with equations, as `writer.function_text` does for others."""
    text, outlined = _solver(program, equations, name, double, tile), kind == "OUTLINED"
    return "\n".join(
        [
            function_text(replace(program, equations=None), f"{name}_outputs", double),
            *text.tables(),
            f"{text.tile_struct()}\n{signature(program, name, kind)}\n{{",
            *(["    Out out = results;"] if outlined else []),
            *(f"    {line}" for line in text.declarations()),
            f"    const bool good = {name}_outputs<careful>({argument_list(program)}, kept);",
            *(f"    {line}" for line in text.lines()),
            *(["    results = out;"] if outlined else []),
            "    return good;\n}",
        ]
    )


def _inverts(program: Program, equations: Equations) -> bool:
    """Return True if the inverse is a result, as the last matrix is -1, and fits in registers."""
    n = equations.n
    last = program.outputs[equations.inverse - n * n : equations.inverse]
    unit = [-1.0 if k % (n + 1) == 0 else 0.0 for k in range(n * n)]
    return n <= MAX_INVERTED and [x.value if isinstance(x, Expr) else float(x) for x in last] == unit


class _ColumnSolver:
    """The statements that solve. If the last matrix is constant, it is not in the tile."""

    def __init__(self, program: Program, equations: Equations, name: str, double: bool, tile: Tile) -> None:
        self._program, self._equations, self._name, self._tile = program, equations, name, tile
        self._fma, self._number = f"fma{'' if double else 'f'}", notation(double)["constant"]
        size = equations.n * equations.n
        self._together = equations.matrices * equations.n <= MAX_COLUMN_NUMBERS[double]
        last = program.outputs[equations.inverse - size : equations.inverse]
        self._constant = self._together and not any(map(is_variable, last))
        self._numbers = [x.value if isinstance(x, Expr) else float(x) for x in last] if self._constant else []
        self._omitted = size if self._constant else 0
        self.size, self.matrices = len(program.outputs) - self._omitted, equations.inverse - self._omitted

    def _at(self, place: int) -> str:
        """Return the text of a number that is no entry of a matrix."""
        shared, threads = self._tile
        if not shared:
            return f"tile[{place}]"
        return f"tile[{place * threads}]" if place < shared else f"local[{place - shared}]"

    def _entry(self, place: str) -> str:
        return f"tile[({place}) * {self._tile.threads}]" if self._tile.shared else f"tile[{place}]"

    def declarations(self) -> list[str]:
        """Return the declarations of the tile."""
        if not self._tile.shared:
            return [f"real tile[{self.size}];", f"{self._name}_Tile kept = {{tile}};"]
        shared, threads = self._tile
        return [
            f"SHARED_TILE(tile, {shared * threads});",
            f"real local[{max(1, self.size - shared)}];",
            f"{self._name}_Tile kept = {{tile, local}};",
        ]

    def tile_struct(self) -> str:
        """Return the structure that receives the outputs, except a constant matrix."""
        end, omitted, (shared, threads) = self._equations.inverse, self._omitted, self._tile
        condition = f"if (k < {end - omitted} || k >= {end})" if omitted else ""
        place = f"(k < {end} ? k : k - {omitted})" if omitted else "k"
        put = f"at[{place}] = x;"
        if shared:
            put = f"({place} < {shared} ? at[{place} * {threads}] : local[{place} - {shared}]) = x;"
        return f"""struct {self._name}_Tile {{
    real *at{", *local" if shared else ""};
    MEMBER void put(int k, real x)
    {{
        {condition}
            {put}
    }}
    MEMBER void check(real, real)
    {{
    }}
}};"""

    def tables(self) -> Iterator[str]:
        """Yield the tables before the function."""
        if self._constant:
            numbers = ", ".join(map(self._number, self._numbers))
            yield f"TABLE real {self._name}_last[{len(self._numbers)}] = {{{numbers}}};"
        for k, columns in enumerate(self._columns_by_nonzeros().values()):
            yield f"TABLE short {self._name}_columns{k}[{len(columns)}] = {{{', '.join(map(str, columns))}}};"

    def _columns_by_nonzeros(self) -> dict[Nonzeros, list[int]]:
        """Return columns by their unknowns that are not zero."""
        columns_of = dict[Nonzeros, list[int]]()
        for block in self._equations.blocks:
            columns = range(block.first, block.first + block.width)
            columns_of.setdefault((block.forward, block.back), []).extend(columns)
        if (
            len(columns_of) * sum(map(len, self._equations.rows.values())) * 2 * self._equations.matrices
            > MAX_STATEMENTS
        ):
            unknowns = tuple(self._equations.rows)
            return {(unknowns, unknowns): list(range(self._equations.n))}
        return columns_of

    def lines(self) -> Iterator[str]:
        """Yield the statements."""
        together = range(self._equations.matrices) if self._together else range(1)
        for k, (nonzeros, columns) in enumerate(self._columns_by_nonzeros().items()):
            yield f"LOOP(i, {len(columns)}) {{\n        const int column = {self._name}_columns{k}[i];"
            if not self._together:
                yield f"    LOOP(m, {self._equations.matrices}) {{"
            yield from (f"    {line}" for line in self._column(together, *nonzeros))
            yield "}" if self._together else "    }\n    }"

    def _column(self, matrices: Sequence[int], forward: Sequence[int], back: Sequence[int]) -> Iterator[str]:
        """Yield the statements that load, solve and write one column of each matrix."""
        equations, n = self._equations, self._equations.n
        lower = {pair: place - self._omitted for pair, place in equations.lower.items()}
        for m in matrices:
            for j in back:
                place = f"{j * n} + column"
                if j not in forward:
                    value = "0"
                elif self._constant and m == equations.matrices - 1:
                    value = f"{self._name}_last[{place}]"
                else:
                    value = self._entry(f"{self._matrix(m)} + {place}")
                yield f"real x{m}_{j} = {value};"
        for j in forward:
            yield from self._eliminate(matrices, j, ((k, lower[j, k]) for k in equations.rows[j] if k in forward))
        below = equations.below
        for j in reversed(back):
            yield f"real d{j} = {self._at(equations.inverse - self._omitted + j)};"
            yield from (f"x{m}_{j} = x{m}_{j} * d{j};" for m in matrices)
            yield from self._eliminate(matrices, j, ((k, lower[k, j]) for k in below[j] if k in back))
        for m in matrices:
            for j in range(n):
                value = f"x{m}_{j}" if j in back else "0"
                yield f"out.put({self._matrix(m)} + {j * n} + column, {value});"
        yield from _checks([f"x{m}_{j}" for m in matrices for j in back])

    def _matrix(self, m: int) -> str:
        size = self._equations.n * self._equations.n
        return str(m * size) if self._together else f"m * {size}"

    def _eliminate(self, matrices: Sequence[int], j: int, entries: Iterable[tuple[int, int]]) -> Iterator[str]:
        for k, place in entries:
            yield f"{{ real l = -{self._at(place)};"
            yield from (f"x{m}_{j} = {self._fma}(l, x{m}_{k}, x{m}_{j});" for m in matrices)
            yield "}"


class _InverseSolver(_ColumnSolver):
    """The statements that invert, then multiply: with G = L^-1 the inverse is G^T 1/D G, and X = -inverse B."""

    _known: Mapping[str, str]

    def tables(self) -> Iterator[str]:
        return iter(())

    def lines(self) -> Iterator[str]:
        yield from self._inverse()
        n, others = self._equations.n, range(self._equations.matrices - 1)
        yield f"LOOP(column, {n}) {{"
        for m in others:
            yield from (f"    real b{m}_{j} = {self._entry(f'{m * n * n + j * n} + column')};" for j in range(n))
        for m in others:
            for j in range(n):
                yield f"    real x{m}_{j} = {self._product(m, j)};"
        yield from (f"    out.put({m * n * n + j * n} + column, x{m}_{j});" for m in others for j in range(n))
        yield from (f"    {line}" for line in _checks([f"x{m}_{j}" for m in others for j in range(n)]))
        yield "}"

    def _product(self, m: int, j: int) -> str:
        """Return the product of a row of the inverse and a column of a matrix."""
        text = ""
        for k in range(self._equations.n):
            if _pair(j, k) in self._known:
                text = _term(self._fma, f"-v{_pair(j, k)}", f"b{m}_{k}", text)
        return text

    def _inverse(self) -> Iterator[str]:
        """Yield the rows of G, each scaled by its entry of -1/D, then the entries of the inverse, which are results."""
        equations, fma = self._equations, self._fma
        order, terms = list(equations.rows), dict[tuple[int, int], list[str]]()
        inverse = dict[tuple[int, int], str]()
        for j in order:
            row = {k: f"-{self._at(equations.lower[j, k] - self._omitted)}" for k in equations.rows[j]}
            for c in order[: order.index(j)]:
                parts = [(row[k], f"g{k}_{c}") for k in row if (k, c) in terms]
                text = row.get(c, "")
                for x, y in parts:
                    text = f"{fma}({x}, {y}, {text})" if text else f"{x} * {y}"
                if text:
                    terms[j, c] = []
                    yield f"real g{j}_{c} = {text};"
            yield f"real d{j} = -{self._at(equations.inverse - self._omitted + j)};"
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
        for k in range(equations.n**2):
            entry = _pair(*divmod(k, equations.n))
            yield f"out.put({equations.inverse - equations.n**2 + k}, {f'v{entry}' if entry in self._known else '0'});"
        yield from _checks([f"v{entry}" for entry in self._known])


def _pair(a: int, b: int) -> str:
    """Return the name of an entry of a symmetric matrix."""
    return f"{min(a, b)}_{max(a, b)}"


def _term(fma: str, scaled: str, other: str, before: str) -> str:
    """Return scaled * other + before; an empty `other` is 1, an empty `before` is 0."""
    if not other:
        return f"{scaled} + {before}" if before else scaled
    return f"{fma}({scaled}, {other}, {before})" if before else f"{scaled} * {other}"


def _checks(values: Sequence[str]) -> Iterator[str]:
    for x, y in zip_longest(values[::2], values[1::2], fillvalue="1"):
        yield f"out.check({x}, {y});"
