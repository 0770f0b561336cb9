"""Systems of equations that a program leaves, solved in a loop over their columns.

What the program computes lies in local memory; a column is taken from there into registers, goes forward through L and
back through L^T, and is a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from armwright.backends.cuda.order import depends
from armwright.backends.cuda.writer import function, given, head
from armwright.backends.text.c import notation
from armwright.graph.expression import Expr
from armwright.graph.program import Equations, Program

BESIDE = {False: 120, True: 60}
"""Numbers of single and of double precision, up to which the columns of all matrices go together."""

STATEMENTS = 6000
"""More than that are not written for columns with zeros in different places: all are then treated alike."""

Way = tuple[tuple[int, ...], tuple[int, ...]]


def solving(program: Program, left: Equations, name: str, double: bool, kind: str = "FUNCTION") -> str:
    """What `writer.function` is of other programs; one that stands apart has a copy of `out` while it works."""
    text, apart = _Columns(program, left, name, double), kind == "APART"
    return "\n".join(
        [
            function(replace(program, equations=None), f"{name}_outputs", double),
            *text.tables(),
            f"{text.tile()}\n{head(program, name, kind)}\n{{",
            *(["    Out out = results;"] if apart else []),
            f"    real tile[{text.size}];\n    {name}_Tile kept = {{tile}};",
            f"    const bool good = {name}_outputs<careful>({given(program)}, kept);",
            *(f"    {line}" for line in text.lines()),
            *(["    results = out;"] if apart else []),
            "    return good;\n}",
        ]
    )


class _Columns:
    """The statements that solve. A matrix of numbers, as the last one may be, is no part of the tile."""

    def __init__(self, program: Program, left: Equations, name: str, double: bool) -> None:
        self._program, self._left, self._name = program, left, name
        self._fma, self._number = f"fma{'' if double else 'f'}", notation(double)["constant"]
        size = left.n * left.n
        self._together = left.matrices * left.n <= BESIDE[double]
        last = program.outputs[left.inverse - size : left.inverse]
        self._constant = self._together and not any(map(depends, last))
        self._numbers = [x.value if isinstance(x, Expr) else float(x) for x in last] if self._constant else []
        self._gone = size if self._constant else 0
        self.size = len(program.outputs) - self._gone

    def tile(self) -> str:
        """Where outputs go."""
        end = self._left.inverse
        place = f"if (k < {end - self._gone} || k >= {end})\n            at[k < {end} ? k : k - {self._gone}] = x;"
        return f"""struct {self._name}_Tile {{
    real *at;
    MEMBER void put(int k, real x)
    {{
        {place if self._gone else "at[k] = x;"}
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
                    value = f"tile[{self._matrix(m)} + {place}]"
                yield f"real x{m}_{j} = {value};"
        for j in forward:
            yield from self._less(matrices, j, ((k, lower[j, k]) for k in left.rows[j] if k in forward))
        below = left.below
        for j in reversed(back):
            yield f"real d{j} = tile[{left.inverse - self._gone + j}];"
            yield from (f"x{m}_{j} = x{m}_{j} * d{j};" for m in matrices)
            yield from self._less(matrices, j, ((k, lower[k, j]) for k in below[j] if k in back))
        for m in matrices:
            for j in range(n):
                value = f"x{m}_{j}" if j in back else "0"
                yield f"out.put({self._matrix(m)} + {j * n} + column, {value});"

    def _matrix(self, m: int) -> str:
        size = self._left.n * self._left.n
        return str(m * size) if self._together else f"m * {size}"

    def _less(self, matrices: Sequence[int], j: int, entries: Iterable[tuple[int, int]]) -> Iterator[str]:
        for k, place in entries:
            yield f"{{ real l = -tile[{place}];"
            yield from (f"x{m}_{j} = {self._fma}(l, x{m}_{k}, x{m}_{j});" for m in matrices)
            yield "}"
