"""Programs that advance, as CUDA: steps of a Runge-Kutta method around their rates, and the way back for gradients.

Stages go in a loop, so that the rates stand in the code once. Of the slopes of a step only those are kept that a stage
after the next asks for: none of the classic method. What is as large as a matrix, or one of many states, is in local
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from armwright.backends.cuda.codegen.solve import solving
from armwright.backends.cuda.codegen.writer import function, head
from armwright.backends.text.c import notation
from armwright.graph.program import FinalState, FinalStateGradient, FinalStateJacobian, Integration, Program

MARKS = 16
"""States that are kept on the way to a gradient. Of more steps, those between are computed again on the way back."""

LARGE = 5500
"""Operations from which on derivatives of rates stand apart: within a step compilers take twice as long for them."""


def composed(program: Program, integration: Integration, name: str, double: bool) -> str:
    """What `writer.function` is of other programs: where rates lead, derivatives of that, or the gradient back."""
    rates = function(integration.rates_of(program), f"{name}_rates", double)
    forward = isinstance(integration, FinalState)
    others = [] if forward else [_others(program, integration, f"{name}_others", double)]
    text = _Text(program, integration, name, double)
    lines = "\n".join(f"    {line}" if line else "" for line in _BODIES[type(integration)](text).strip().split("\n"))
    return "\n".join([rates, *others, *text.tables(), f"{head(program, name)}\n{{", lines, "}"])


def _others(program: Program, integration: Integration, name: str, double: bool) -> str:
    """What a gradient makes of rates, or their derivatives, three matrices, of which equations may be left."""
    inner, n = integration.stage_program(program), program.sizes[1]
    if isinstance(integration, FinalStateGradient):
        return function(inner, name, double)
    inner = replace(inner, shape=(3, n, n))
    left = inner.equations
    kind = "APART" if len(inner.nodes) > LARGE else "FUNCTION"
    return function(inner, name, double) if left is None else solving(inner, left, name, double, kind=kind)


class _Combined(NamedTuple):
    """How stages go together: what the next one takes of the last, and of those before that are kept, at each stage."""

    last: Sequence[float]
    kept: Mapping[int, Sequence[float]]

    def sum(self, name: str, table: str, e: str, fma: str) -> str:
        """The weighted sum at an entry: of what is called `name`, and of what `keep` has kept of it."""
        total = f"{table}[s] * {name}[{e}]"
        for stage in self.kept:
            total = f"{fma}({table}{stage}[s], {name}{stage}[{e}], {total})"
        return total

    def keep(self, name: str, e: str) -> str:
        return "".join(f"\n{name}{j}[{e}] = s == {j} ? {name}[{e}] : {name}{j}[{e}];" for j in self.kept)

    def room(self, name: str, size: str) -> str:
        return "".join(f"real {name}{j}[{size}] = {{0}};\n" for j in self.kept)


def _combined(stages: Sequence[int], weight: Callable[[int, int], float]) -> _Combined:
    """`stages` in the order they are come by; `weight(i, j)` is what i takes of j."""
    last = {j: weight(i, j) for j, i in pairwise(stages)}
    later = {
        j: {stages[k - 1]: weight(stages[k], j) for k in range(at + 2, len(stages))} for at, j in enumerate(stages)
    }
    kept = {
        j: [weights.get(s, 0.0) for s in range(len(stages))] for j, weights in later.items() if any(weights.values())
    }
    return _Combined([last.get(s, 0.0) for s in range(len(stages))], kept)


class _Text:
    """The parts of such functions."""

    def __init__(self, program: Program, integration: Integration, name: str, double: bool) -> None:
        suffix = "" if double else "f"
        self.program, self.integration, self.name = program, integration, name
        self.fma, self.sqrt, self.number = f"fma{suffix}", f"sqrt{suffix}", notation(double)["constant"]
        self.nq, self.n = program.sizes[:2]
        self.m, self.count, self.results = self.nq + self.n, len(integration.b), program.results
        self.names = [argument for argument, _ in program.arguments]
        self.held = [program.arguments[k] for k in integration.constants(program)]
        self.stages = _combined(range(self.count), lambda i, j: integration.a[i][j])
        self.back = _combined(range(self.count)[::-1], lambda i, j: integration.a[j][i])

    def tables(self) -> list[str]:
        """The weights of all stages."""
        rows = {"b": self.integration.b, "a": self.stages.last, **{f"a{j}": x for j, x in self.stages.kept.items()}}
        if isinstance(self.integration, FinalStateGradient):
            rows |= {"up": self.back.last, **{f"up{j}": x for j, x in self.back.kept.items()}}
        return [
            f"TABLE real {self.name}_{key}[{len(row)}] = {{{', '.join(map(self.number, row))}}};"
            for key, row in rows.items()
        ]

    def start(self) -> str:
        """What is read, once."""
        q, qd, plan = self.names[0], self.names[1], self.names[-1]
        held = "".join(
            f"real held_{name}[{len(inputs)}];\nEACH(e, {len(inputs)}) held_{name}[e] = {name}[e];\n"
            for name, inputs in self.held
        )
        return f"""
bool good = true;
const real h = {plan}[0];
const int count = (int){plan}[1];
real y[{self.m}];
EACH(e, {self.nq}) y[e] = {q}[e];
EACH(e, {self.n}) y[{self.nq} + e] = {qd}[e];
{held}real x[{self.m}], k[{self.m}], sum[{self.m}];
{self.stages.room("k", str(self.m))}"""

    def call(self, function: str, place: str, *rest: str) -> str:
        """A call of the rates, or of the others, at a place in memory."""
        given = [place, f"{place} + {self.nq}", *(f"held_{name}" for name, _ in self.held), *rest]
        return f"good &= {self.name}_{function}<careful>({', '.join(given)});"

    def stage(self) -> str:
        """The rates at x, and on to the x of the next stage."""
        s, name = self.stages, self.name
        return f"""
Kept slope = {{k}};
{self.call("rates", "x", "slope")}
EACH(e, {self.m}) {{
    sum[e] = {self.fma}({name}_b[s], k[e], sum[e]);
    x[e] = {self.fma}(h, {s.sum("k", f"{name}_a", "e", self.fma)}, y[e]);{_inset(s.keep("k", "e"))}
}}"""

    def begin(self) -> str:
        return f"EACH(e, {self.m}) {{ x[e] = y[e]; sum[e] = 0; }}"

    def end(self) -> str:
        """The state after the step."""
        units = "".join(map(self._unit, self.integration.unit_vectors))
        return f"EACH(e, {self.m}) y[e] = {self.fma}(h, sum[e], y[e]);{units}"

    def _unit(self, unit_vector: tuple[int, int]) -> str:
        begin, end = unit_vector
        return f"""
{{
    real square = 0;
    EACH(e, {end - begin}) square = {self.fma}(y[{begin} + e], y[{begin} + e], square);
    const real length = {self.sqrt}(square);
    EACH(e, {end - begin}) y[{begin} + e] = y[{begin} + e] / length;
}}"""

    def deliver(self, source: str) -> str:
        each = f"EACH(e, {self.results})"
        return f"{each} out.put(e, {source}[e]);\n{each} out.check({source}[e], 0);\nreturn good;"


def _inset(text: str, by: int = 1) -> str:
    return text.replace("\n", "\n" + "    " * by)


def _forward(t: _Text) -> str:
    """Where the rates lead."""
    return f"""{t.start()}
TURNS(step, count) {{
    {t.begin()}
    TURNS(s, {t.count}) {{{_inset(t.stage(), 2)}
    }}
    {_inset(t.end())}
}}
{t.deliver("y")}"""


def _back(t: _Text) -> str:
    """The gradient by where it starts: step by step back, each from the last state that was kept before it."""
    m, r, last, mu = t.m, t.results, t.count - 1, t.names[-2]
    # where the last stage leads is asked for by lengths alone
    leave = "" if t.integration.unit_vectors else f"if (at == back && s == {last})\n            break;"
    unlength = "".join(_inset(_unlength(t, *circle)) for circle in t.integration.unit_vectors)
    return f"""{t.start()}
real marks[{MARKS * m}], places[{t.count * m}], gradient[{r}], old[{m}], by_rate[{m}], later[{m}], pulled[{r}];
{t.back.room("pulled", str(m))}EACH(e, {r}) gradient[e] = 0;
EACH(e, {m}) {{ gradient[e] = {mu}[e]; marks[e] = y[e]; }}
const int apart = (count + {MARKS - 1}) / {MARKS};
int at = 0;
for (int back = count - 1; back >= 0; --back) {{
    EACH(e, {m}) y[e] = marks[at / apart * {m} + e];
    for (;; ++at) {{
        {t.begin()}
        TURNS(s, {t.count}) {{
            EACH(e, {m}) places[s * {m} + e] = x[e];
            {leave}{_inset(t.stage(), 3)}
        }}
        if (at == back)
            break;
        {_inset(t.end(), 2)}
        if ((at + 1) % apart == 0)
            EACH(e, {m}) marks[(at + 1) / apart * {m} + e] = y[e];
    }}{unlength}
    EACH(e, {m}) {{ old[e] = gradient[e]; later[e] = 0; }}
    for (int s = {last}; s >= 0; --s) {{
        EACH(e, {m}) {{
            x[e] = places[s * {m} + e];
            by_rate[e] = h * {t.fma}({t.name}_b[s], old[e], later[e]);
        }}
        Kept there = {{pulled}};
        {t.call("others", "x", "by_rate", "there")}
        EACH(e, {r}) gradient[e] += pulled[e];
        EACH(e, {m}) {{
            later[e] = {t.back.sum("pulled", f"{t.name}_up", "e", t.fma)};{_inset(t.back.keep("pulled", "e"), 3)}
        }}
    }}
    at = (back - 1) / apart * apart;
}}
{t.deliver("gradient")}"""


def _unlength(t: _Text, begin: int, end: int) -> str:
    """What a gradient by a vector of unit length makes of one by the vector before its length was made one."""
    return f"""
{{
    real raw[{end - begin}], square = 0, along = 0;
    EACH(e, {end - begin}) {{
        raw[e] = {t.fma}(h, sum[{begin} + e], y[{begin} + e]);
        square = {t.fma}(raw[e], raw[e], square);
        along = {t.fma}(raw[e], gradient[{begin} + e], along);
    }}
    const real share = along / square, length = {t.sqrt}(square);
    EACH(e, {end - begin}) gradient[{begin} + e] = (gradient[{begin} + e] - raw[e] * share) / length;
}}"""


def _slopes(t: _Text) -> str:
    """Derivatives by positions, velocities and torques, n rows of 3 n columns each, a few columns at a time.

    The derivatives of the accelerations at all stages of a step come first.
    """
    n, fma, s = t.n, t.fma, t.stages
    size, width = n * n, 3 * n
    beside = 3 if n <= 12 else 1
    some = n * beside
    kept = s.room("dvi", str(some)) + s.room("rate", str(some))
    return f"""{t.start()}
real dq[{3 * size}], dv[{3 * size}], all[{t.count * 3 * size}];
for (int e = 0; e < {3 * size}; ++e) {{
    dq[e] = e % {width} == e / {width};
    dv[e] = e % {width} == e / {width} + {n};
}}
TURNS(step, count) {{
    {t.begin()}
    TURNS(s, {t.count}) {{
        Kept there = {{all + s * {3 * size}}};
        {t.call("others", "x", "there")}
        if (step + 1 == count && s == {t.count - 1})
            break;{_inset(t.stage(), 2)}
    }}
    {_inset(t.end())}
    _Pragma("unroll 1") for (int c = 0; c < {width}; c += {beside}) {{
        real dqi[{some}], dvi[{some}], rate[{some}], dq_sum[{some}], dv_sum[{some}];
        {_inset(kept, 2)}EACH(e, {some}) {{
            dqi[e] = dq[e / {beside} * {width} + c + e % {beside}];
            dvi[e] = dv[e / {beside} * {width} + c + e % {beside}];
            dq_sum[e] = dv_sum[e] = 0;
        }}
        TURNS(s, {t.count}) {{
            const real *const by = all + s * {3 * size};
            if (step == 0 && s == 0)
                EACH(e, {some}) {{
                    const int column = c + e % {beside};
                    rate[e] = by[column / {n} * {size} + e / {beside} * {n} + column % {n}];
                }}
            else
                EACH(e, {some}) {{
                    const int row = e / {beside} * {n}, column = c + e % {beside};
                    rate[e] = column < {2 * n} ? 0 : by[{2 * size - 2 * n} + row + column];
                    EACH(j, {n})
                        rate[e] = {fma}(by[row + j], dqi[j * {beside} + e % {beside}],
                                        {fma}(by[{size} + row + j], dvi[j * {beside} + e % {beside}], rate[e]));
                }}
            EACH(e, {some}) {{
                const int place = e / {beside} * {width} + c + e % {beside};
                dq_sum[e] = {fma}({t.name}_b[s], dvi[e], dq_sum[e]);
                dv_sum[e] = {fma}({t.name}_b[s], rate[e], dv_sum[e]);
                dqi[e] = {fma}(h, {s.sum("dvi", f"{t.name}_a", "e", fma)}, dq[place]);{_inset(s.keep("dvi", "e"), 4)}
                dvi[e] = {fma}(h, {s.sum("rate", f"{t.name}_a", "e", fma)}, dv[place]);{_inset(s.keep("rate", "e"), 4)}
            }}
        }}
        EACH(e, {some}) {{
            const int place = e / {beside} * {width} + c + e % {beside};
            dq[place] = {fma}(h, dq_sum[e], dq[place]);
            dv[place] = {fma}(h, dv_sum[e], dv[place]);
        }}
    }}
}}
for (int e = 0; e < {3 * size}; ++e) {{
    out.put(e, dq[e]);
    out.check(dq[e], dv[e]);
}}
for (int e = 0; e < {3 * size}; ++e)
    out.put({3 * size} + e, dv[e]);
return good;"""


_BODIES: dict[type[Integration], Callable[[_Text], str]] = {
    FinalState: _forward,
    FinalStateJacobian: _slopes,
    FinalStateGradient: _back,
}
