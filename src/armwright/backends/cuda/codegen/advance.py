"""Programs that advance a state by steps of a Runge-Kutta method, with derivatives or gradients of these steps.

Stages are a loop, so that the rates are in the code once. Only slopes that a stage after the next needs are stored:
none for the classic method. Matrices and stored states are in local memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from armwright.backends.cuda.codegen.solve import solver_text
from armwright.backends.cuda.codegen.writer import function_text, signature
from armwright.backends.text.c import notation
from armwright.graph.program import FinalState, FinalStateGradient, FinalStateJacobian, Integration, Program

CHECKPOINTS = 16
"""States that are stored for a gradient. With more steps, those between are computed again in the reverse sweep."""

OUTLINED_DERIVATIVE_OPERATIONS = 5500
"""Operations above which derivatives of rates are outlined: inlined in a step they take twice as long to compile."""


def advance_text(program: Program, integration: Integration, name: str, double: bool) -> str:
    """Return the function that advances a state, differentiates that, or computes a gradient in reverse."""
    rates = function_text(integration.rates_of(program), f"{name}_rates", double)
    forward = isinstance(integration, FinalState)
    derivatives = [] if forward else [_derivatives(program, integration, f"{name}_derivatives", double)]
    text = _AdvanceText(program, integration, name, double)
    lines = "\n".join(f"    {line}" if line else "" for line in _BODIES[type(integration)](text).strip().split("\n"))
    return "\n".join([rates, *derivatives, *text.tables(), f"{signature(program, name)}\n{{", lines, "}"])


def _derivatives(program: Program, integration: Integration, name: str, double: bool) -> str:
    """Return the function of the gradient of the rates, or of their three matrices of derivatives."""
    inner, n = integration.stage_program(program), program.sizes[1]
    if isinstance(integration, FinalStateGradient):
        return function_text(inner, name, double)
    inner = replace(inner, shape=(3, n, n))
    equations = inner.equations
    kind = "OUTLINED" if len(inner.nodes) > OUTLINED_DERIVATIVE_OPERATIONS else "FUNCTION"
    if equations is None:
        return function_text(inner, name, double)
    return solver_text(inner, equations, name, double, kind=kind)


class _StageWeights(NamedTuple):
    """The weights by stage: those of the slope before it, and those of earlier slopes that are stored."""

    last: Sequence[float]
    stored: Mapping[int, Sequence[float]]

    def sum(self, name: str, table: str, e: str, fma: str) -> str:
        """Return the weighted sum at an entry of the array `name` and of its stored copies."""
        total = f"{table}[s] * {name}[{e}]"
        for stage in self.stored:
            total = f"{fma}({table}{stage}[s], {name}{stage}[{e}], {total})"
        return total

    def store(self, name: str, e: str) -> str:
        """Return the statements that store an entry at the stages that are needed later."""
        return "".join(f"\n{name}{j}[{e}] = s == {j} ? {name}[{e}] : {name}{j}[{e}];" for j in self.stored)

    def declarations(self, name: str, size: str) -> str:
        """Return the declarations of the stored copies."""
        return "".join(f"real {name}{j}[{size}] = {{0}};\n" for j in self.stored)


def _stage_weights(stages: Sequence[int], weight: Callable[[int, int], float]) -> _StageWeights:
    """Return the weights of `stages` in the order of their computation; stage i adds `weight(i, j)` of slope j."""
    last = {j: weight(i, j) for j, i in pairwise(stages)}
    later = {
        j: {stages[k - 1]: weight(stages[k], j) for k in range(at + 2, len(stages))} for at, j in enumerate(stages)
    }
    stored = {
        j: [weights.get(s, 0.0) for s in range(len(stages))] for j, weights in later.items() if any(weights.values())
    }
    return _StageWeights([last.get(s, 0.0) for s in range(len(stages))], stored)


class _AdvanceText:
    """The parts of these functions."""

    def __init__(self, program: Program, integration: Integration, name: str, double: bool) -> None:
        suffix = "" if double else "f"
        self.program, self.integration, self.name = program, integration, name
        self.fma, self.sqrt, self.number = f"fma{suffix}", f"sqrt{suffix}", notation(double)["constant"]
        self.nq, self.n = program.sizes[:2]
        self.m, self.count, self.results = self.nq + self.n, len(integration.b), program.results
        self.names = [argument for argument, _ in program.arguments]
        self.constants = [program.arguments[k] for k in integration.constants(program)]
        self.stages = _stage_weights(range(self.count), lambda i, j: integration.a[i][j])
        self.reverse = _stage_weights(range(self.count)[::-1], lambda i, j: integration.a[j][i])

    def tables(self) -> list[str]:
        """Return the tables of the weights of all stages."""
        rows = {"b": self.integration.b, "a": self.stages.last, **{f"a{j}": x for j, x in self.stages.stored.items()}}
        if isinstance(self.integration, FinalStateGradient):
            rows |= {"up": self.reverse.last, **{f"up{j}": x for j, x in self.reverse.stored.items()}}
        return [
            f"TABLE real {self.name}_{key}[{len(row)}] = {{{', '.join(map(self.number, row))}}};"
            for key, row in rows.items()
        ]

    def start(self) -> str:
        """Return the statements that read the arguments."""
        q, qd, plan = self.names[0], self.names[1], self.names[-1]
        constants = "".join(
            f"real constant_{name}[{len(inputs)}];\nEACH(e, {len(inputs)}) constant_{name}[e] = {name}[e];\n"
            for name, inputs in self.constants
        )
        return f"""
bool good = true;
const real h = {plan}[0];
const int count = (int){plan}[1];
real y[{self.m}];
EACH(e, {self.nq}) y[e] = {q}[e];
EACH(e, {self.n}) y[{self.nq} + e] = {qd}[e];
{constants}real x[{self.m}], k[{self.m}], sum[{self.m}];
{self.stages.declarations("k", str(self.m))}"""

    def call(self, function: str, place: str, *rest: str) -> str:
        """Return the call of the rates or of their derivatives at an address."""
        arguments = [place, f"{place} + {self.nq}", *(f"constant_{name}" for name, _ in self.constants), *rest]
        return f"good &= {self.name}_{function}<careful>({', '.join(arguments)});"

    def stage(self) -> str:
        """Return the statements for the rates at x, and for the x of the next stage."""
        s, name = self.stages, self.name
        return f"""
Unchecked slope = {{k}};
{self.call("rates", "x", "slope")}
EACH(e, {self.m}) {{
    sum[e] = {self.fma}({name}_b[s], k[e], sum[e]);
    x[e] = {self.fma}(h, {s.sum("k", f"{name}_a", "e", self.fma)}, y[e]);{_indent(s.store("k", "e"))}
}}"""

    def begin(self) -> str:
        """Return the statement that begins a step."""
        return f"EACH(e, {self.m}) {{ x[e] = y[e]; sum[e] = 0; }}"

    def end(self) -> str:
        """Return the statements for the state after the step."""
        unit = "".join(map(self._normalise, self.integration.unit_vectors))
        return f"EACH(e, {self.m}) y[e] = {self.fma}(h, sum[e], y[e]);{unit}"

    def _normalise(self, unit_vector: tuple[int, int]) -> str:
        begin, end = unit_vector
        return f"""
{{
    real square = 0;
    EACH(e, {end - begin}) square = {self.fma}(y[{begin} + e], y[{begin} + e], square);
    const real length = {self.sqrt}(square);
    EACH(e, {end - begin}) y[{begin} + e] = y[{begin} + e] / length;
}}"""

    def deliver(self, source: str) -> str:
        """Return the statements that write the results."""
        each = f"EACH(e, {self.results})"
        return f"{each} out.put(e, {source}[e]);\n{each} out.check({source}[e], 0);\nreturn good;"


def _indent(text: str, by: int = 1) -> str:
    return text.replace("\n", "\n" + "    " * by)


def _forward(t: _AdvanceText) -> str:
    """Return the body for the state after all steps."""
    return f"""{t.start()}
LOOP(step, count) {{
    {t.begin()}
    LOOP(s, {t.count}) {{{_indent(t.stage(), 2)}
    }}
    {_indent(t.end())}
}}
{t.deliver("y")}"""


def _reverse(t: _AdvanceText) -> str:
    """Return the body for the gradient by the start: a reverse sweep from checkpoint to checkpoint."""
    m, r, last, mu = t.m, t.results, t.count - 1, t.names[-2]
    # the state after the last stage is needed for unit lengths only
    leave = "" if t.integration.unit_vectors else f"if (at == back && s == {last})\n            break;"
    unnormalise = "".join(_indent(_unnormalise(t, *entries)) for entries in t.integration.unit_vectors)
    store = _indent(t.reverse.store("pulled", "e"), 3)
    return f"""{t.start()}
real checkpoints[{CHECKPOINTS * m}], stages[{t.count * m}], pulled[{r}];
real gradient[{r}], old[{m}], by_rate[{m}], later[{m}];
{t.reverse.declarations("pulled", str(m))}EACH(e, {r}) gradient[e] = 0;
EACH(e, {m}) {{ gradient[e] = {mu}[e]; checkpoints[e] = y[e]; }}
const int spacing = (count + {CHECKPOINTS - 1}) / {CHECKPOINTS};
int at = 0;
for (int back = count - 1; back >= 0; --back) {{
    EACH(e, {m}) y[e] = checkpoints[at / spacing * {m} + e];
    for (;; ++at) {{
        {t.begin()}
        LOOP(s, {t.count}) {{
            EACH(e, {m}) stages[s * {m} + e] = x[e];
            {leave}{_indent(t.stage(), 3)}
        }}
        if (at == back)
            break;
        {_indent(t.end(), 2)}
        if ((at + 1) % spacing == 0)
            EACH(e, {m}) checkpoints[(at + 1) / spacing * {m} + e] = y[e];
    }}{unnormalise}
    EACH(e, {m}) {{ old[e] = gradient[e]; later[e] = 0; }}
    for (int s = {last}; s >= 0; --s) {{
        EACH(e, {m}) {{
            x[e] = stages[s * {m} + e];
            by_rate[e] = h * {t.fma}({t.name}_b[s], old[e], later[e]);
        }}
        Unchecked results = {{pulled}};
        {t.call("derivatives", "x", "by_rate", "results")}
        EACH(e, {r}) gradient[e] += pulled[e];
        EACH(e, {m}) {{
            later[e] = {t.reverse.sum("pulled", f"{t.name}_up", "e", t.fma)};{store}
        }}
    }}
    at = (back - 1) / spacing * spacing;
}}
{t.deliver("gradient")}"""


def _unnormalise(t: _AdvanceText, begin: int, end: int) -> str:
    """Return the statements that turn a gradient by a unit vector into one by the vector before normalisation."""
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


def _linearised(t: _AdvanceText) -> str:
    """Return the body for derivatives by positions, velocities and torques: n rows of 3 n columns, a few at a time.

    The derivatives of the accelerations at all stages of a step come first.
    """
    n, fma, s = t.n, t.fma, t.stages
    size, width = n * n, 3 * n
    columns = 3 if n <= 12 else 1
    some = n * columns
    store_dvi, store_rate = (_indent(s.store(name, "e"), 4) for name in ("dvi", "rate"))
    stored = s.declarations("dvi", str(some)) + s.declarations("rate", str(some))
    return f"""{t.start()}
real dq[{3 * size}], dv[{3 * size}], all[{t.count * 3 * size}];
for (int e = 0; e < {3 * size}; ++e) {{
    dq[e] = e % {width} == e / {width};
    dv[e] = e % {width} == e / {width} + {n};
}}
LOOP(step, count) {{
    {t.begin()}
    LOOP(s, {t.count}) {{
        Unchecked results = {{all + s * {3 * size}}};
        {t.call("derivatives", "x", "results")}
        if (step + 1 == count && s == {t.count - 1})
            break;{_indent(t.stage(), 2)}
    }}
    {_indent(t.end())}
    _Pragma("unroll 1") for (int c = 0; c < {width}; c += {columns}) {{
        real dqi[{some}], dvi[{some}], rate[{some}], dq_sum[{some}], dv_sum[{some}];
        {_indent(stored, 2)}EACH(e, {some}) {{
            dqi[e] = dq[e / {columns} * {width} + c + e % {columns}];
            dvi[e] = dv[e / {columns} * {width} + c + e % {columns}];
            dq_sum[e] = dv_sum[e] = 0;
        }}
        LOOP(s, {t.count}) {{
            const real *const by = all + s * {3 * size};
            if (step == 0 && s == 0)
                EACH(e, {some}) {{
                    const int column = c + e % {columns};
                    rate[e] = by[column / {n} * {size} + e / {columns} * {n} + column % {n}];
                }}
            else
                EACH(e, {some}) {{
                    const int row = e / {columns} * {n}, column = c + e % {columns};
                    rate[e] = column < {2 * n} ? 0 : by[{2 * size - 2 * n} + row + column];
                    EACH(j, {n})
                        rate[e] = {fma}(by[row + j], dqi[j * {columns} + e % {columns}],
                                        {fma}(by[{size} + row + j], dvi[j * {columns} + e % {columns}], rate[e]));
                }}
            EACH(e, {some}) {{
                const int place = e / {columns} * {width} + c + e % {columns};
                dq_sum[e] = {fma}({t.name}_b[s], dvi[e], dq_sum[e]);
                dv_sum[e] = {fma}({t.name}_b[s], rate[e], dv_sum[e]);
                dqi[e] = {fma}(h, {s.sum("dvi", f"{t.name}_a", "e", fma)}, dq[place]);{store_dvi}
                dvi[e] = {fma}(h, {s.sum("rate", f"{t.name}_a", "e", fma)}, dv[place]);{store_rate}
            }}
        }}
        EACH(e, {some}) {{
            const int place = e / {columns} * {width} + c + e % {columns};
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


_BODIES: dict[type[Integration], Callable[[_AdvanceText], str]] = {
    FinalState: _forward,
    FinalStateJacobian: _linearised,
    FinalStateGradient: _reverse,
}
