"""A program as a function in CUDA, which is C++ for a CPU as well.

Its sines are quick up to an angle of a million radians and have no branch: one inside, for larger angles, would cost
a third of the speed, as what it needs keeps registers. So a function says whether its angles were small enough, and
whoever calls it does a state of the others again, with `careful` sines.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from armwright.backends.cuda.codegen.fma_chains import chained
from armwright.backends.cuda.codegen.outlined_parts import Chapter, chapters
from armwright.backends.cuda.codegen.output_partition import HANDED, LONG, Part, Stage, stages
from armwright.backends.cuda.codegen.schedule import depends
from armwright.backends.sines import MAX_ANGLE, sines
from armwright.backends.text.c import notation
from armwright.graph.expression import LEAVES, Expr, schedule
from armwright.graph.program import FinalStateGradient, FinalStateJacobian, Program

PAIR = ("sin", "cos")

PASSED_ON = {"add": 2, "sub": 2, "mul": 2, "neg": 1, "sqrt": 1, "sin": 1, "cos": 1, "div": 1}
"""How many operands, the first ones, make a result that is not finite if they are not."""

LEFT = "left"
"""The name of an argument: what earlier chapters have computed."""

MANY = 64
"""Outputs of the same number from which on they are written in a loop: a humanoid has thousands of zeros, and compilers
take minutes for so many statements."""


@cache
def prelude(double: bool) -> str:
    """What comes before all kernels."""
    return f"{arithmetic(double)}\n{_text('arrays.cuh')}"


def arithmetic(double: bool) -> str:
    """What comes before all functions."""
    real = "double" if double else "float"
    return f"typedef {real} real;\n{_text('prelude.cuh')}\n{_sines(double)}"


def _text(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def function(program: Program, name: str, double: bool) -> str:
    """`bool name<careful>(arguments, out)`: entries of arguments are asked for by [k], results given by out.put(k, x).

    Each as soon as it is wanted and known; out.check(x, y) is told two that must be finite for all to be. It is false
    if an angle was too large for sines that are not careful: then the results are wrong. What keeps too many numbers
    for the registers of a thread is computed in parts.
    """
    brief = len(program.nodes) <= LONG
    ways = [stages(way, double) for way in (chained(program), program)[: 1 + brief]]
    first, *rest = min(ways, key=lambda way: sum(stage.cost(double) for stage in way))
    if not rest:
        return _in_parts(first, name, double)
    (then,) = rest
    handed, begin = len(then.program.arguments[-1][1]), len(program.outputs)
    return f"""{_in_parts(first, f"{name}_first", double, "APART")}
{_in_parts(then, f"{name}_then", double, "APART")}
template <class Out> struct {name}_Both {{
    real *at;
    Out out;
    MEMBER void put(int k, real x)
    {{
        if (k >= {begin})
            at[k - {begin}] = x;
        else
            out.put(k, x);
    }}
    MEMBER void check(real x, real y)
    {{
        out.check(x, y);
    }}
}};
{head(program, name)}
{{
    real {HANDED}[{handed}];
    {name}_Both<Out> both = {{{HANDED}, out}};
    bool good = {name}_first<careful>({given(program)}, both);
    out = both.out;
    good &= {name}_then<careful>({given(then.program)}, out);
    return good;
}}"""


def _in_parts(stage: Stage, name: str, double: bool, kind: str = "FUNCTION") -> str:
    """One function, or several and one that calls them."""
    program, parts = stage
    if len(parts) == 1:
        return _part(program, parts[0], name, double, kind)
    calls = [f"    good &= {name}_{k}<careful>({given(program)}, out);" for k in range(len(parts))]
    return "\n".join(
        [
            *(_part(program, part, f"{name}_{k}", double, "APART") for k, part in enumerate(parts)),
            f"{head(program, name)}\n{{\n    bool good = true;",
            *calls,
            "    return good;\n}",
        ]
    )


def _part(program: Program, part: Part, name: str, double: bool, kind: str = "FUNCTION") -> str:
    """A function of some outputs; where it would be too long, one that calls its chapters."""
    (first, *rest), room = chapters(part, double)
    tables, last = _numbers(part, name, double)
    if not rest:
        return "\n".join([*tables, *_statements(program, part, name, double, kind, first, last)])
    texts, calls = list[str](), list[str]()
    for c, chapter in enumerate((first, *rest)):
        own = f"{name}_{LEFT}{c}"
        texts += _statements(program, part, own, double, "APART", chapter, further=(LEFT,))
        sines = "careful" if chapter.turns else "false"
        calls.append(f"    good &= {own}<{sines}>({given(program, (LEFT,))}, out);")
    begin = f"{head(program, name)}\n{{\n    real {LEFT}[{max(1, room)}];\n    bool good = true;"
    return "\n".join([*tables, *texts, begin, *calls, *last, "    return good;\n}"])


def _statements(
    program: Program,
    part: Part,
    name: str,
    double: bool,
    kind: str,
    chapter: Chapter,
    last: Sequence[str] = (),
    further: Sequence[str] = (),
) -> Iterator[str]:
    """A function. One that stands apart is given addresses, and has a copy of `out` while it works."""
    limit = notation(double)["constant"](MAX_ANGLE**2)
    numbers = Numbers(f"{name}_numbers", double)
    lines = _Body(program, part, double, chapter, numbers).lines()
    yield from numbers.table()
    yield f"{head(program, name, kind, further)}\n{{"
    if kind == "APART":
        yield "    Out out = results;"
    yield from (f"    (void){argument};" for argument in (*_unused(program, chapter), *further))
    yield "    real size = 0;"
    yield from lines
    yield from last
    if kind == "APART":
        yield "    results = out;"
    yield f"    return careful || size <= {limit};\n}}"


def _numbers(part: Part, name: str, double: bool) -> tuple[list[str], list[str]]:
    """Outputs that are one number in every state; of those of which there are many, the places first, as a table."""
    found, tables, lines = dict[float, list[int]](), list[str](), list[str]()
    for k, x in part.outputs:
        if (number := known(x)) is not None:
            found.setdefault(number, []).append(k)
    for n, (number, places) in enumerate(found.items()):
        value = notation(double)["constant"](number)
        if len(places) < MANY:
            lines += [f"    out.put({k}, {value});" for k in places]
        else:
            tables.append(f"TABLE unsigned short {name}_places{n}[] = {{{', '.join(map(str, places))}}};")
            lines.append(f"    TURNS(k, {len(places)}) out.put({name}_places{n}[k], {value});")
    return tables, lines


def _unused(program: Program, chapter: Chapter) -> list[str]:
    """Arguments that this does not depend on."""
    used = {node.index for node in chapter.nodes}
    return [argument for argument, inputs in program.arguments if not any(x.index in used for x in inputs)]


def given(program: Program, further: Sequence[str] = ()) -> str:
    """The arguments, handed on, and what else is."""
    return ", ".join([*(name for name, _ in program.arguments), *further])


class Numbers:
    """Constants in a text. Those of double precision that no instruction can have within it are in a table: an
    instruction takes them from there, but would wait for two others that put them together."""

    def __init__(self, name: str, double: bool) -> None:
        self._name, self._double, self._write = name, double, notation(double)["constant"]
        self._places = dict[float, int]()

    def text(self, value: float) -> str:
        if not self._double or struct.pack("<d", value)[:4] == bytes(4):
            return self._write(value)
        return f"{self._name}[{self._places.setdefault(value, len(self._places))}]"

    def table(self) -> list[str]:
        numbers = ", ".join(map(self._write, self._places))
        return [f"NUMBERS real {self._name}[{len(self._places)}] = {{{numbers}}};"] if self._places else []


def head(program: Program, name: str, kind: str = "FUNCTION", further: Sequence[str] = ()) -> str:
    """The first line of a function; what it is given `further` comes after all arguments."""
    names = [*(argument for argument, _ in program.arguments), *further]
    kinds = ", ".join(["bool careful", *(f"class A{a}" for a in range(len(names))), "class Out"])
    pattern, out = ("A{} {}", "results") if kind == "APART" else ("const A{} &{}", "out")
    taken = ", ".join(pattern.format(a, argument) for a, argument in enumerate(names))
    return f"template <{kinds}> {kind} bool {name}({taken}, Out &{out})"


class _Body:
    """The statements of a function; what is read has a name of its own from where it is read first.

    A product that is used in sums alone is part of fused multiply-adds: that is said here and not left to compilers,
    so that all of them compute the same. No variable is `const`: of each that is, nvcc asks whether its value is known
    already, and of those it depends on, along every path, which takes it for ever.
    """

    def __init__(self, program: Program, part: Part, double: bool, chapter: Chapter, numbers: Numbers) -> None:
        self._part, self._notation, self._fma = part, notation(double), f"fma{'' if double else 'f'}"
        self._chapter, self._number = chapter, numbers.text
        self._places = {x: (program.arguments[a][0], k) for x, (a, k) in program.places().items()}
        self._names = dict[int, str]()
        self._lines = list[str]()
        self._count = self._angles = 0
        self._unchecked = ""
        self._outputs = dict[int, list[int]]()
        for k, x in part.outputs:
            if depends(x):
                self._outputs.setdefault(x.index, []).append(k)
        self._telling = telling([x for k, x in part.outputs if k < program.results and depends(x)])

    def lines(self) -> list[str]:
        for node in self._chapter.nodes:
            if node.index not in self._names and node.op not in LEAVES:
                self._write(node)
            if node.index in self._chapter.left:
                self._lines.append(f"    {LEFT}[{self._chapter.left[node.index]}] = {self._value(node)};")
            for k in self._outputs.get(node.index, ()):
                self._lines.append(f"    out.put({k}, {self._value(node)});")
            if node.index in self._telling:
                self._check(self._value(node))
        if self._unchecked:
            self._check("1")
        return self._lines

    def _check(self, value: str) -> None:
        """Two at a time."""
        if self._unchecked:
            self._lines.append(f"    out.check({self._unchecked}, {value});")
        self._unchecked = "" if self._unchecked else value

    def _value(self, x: Expr) -> str:
        if x.value is not None:
            return self._number(x.value)
        if x.index in self._chapter.taken and x.index not in self._names:
            place = self._chapter.taken[x.index]
            self._names[x.index] = f"{LEFT}_{place}"
            self._lines.append(f"    real {LEFT}_{place} = {LEFT}[{place}];")
        if x.index not in self._names:
            argument, k = self._places[x.index]
            self._names[x.index] = f"{argument}_{k}"
            self._lines.append(f"    real {argument}_{k} = {argument}[{k}];")
        return self._names[x.index]

    def _write(self, node: Expr) -> None:
        if node.op in PAIR:
            self._sines(node.args[0])
            return
        text = self._expression(node)
        self._count += 1
        self._names[node.index] = f"t{self._count}"
        self._lines.append(f"    real t{self._count} = {text};")

    def _expression(self, node: Expr) -> str:
        if node.op == "div":
            over, under = node.args
            return (
                f"reciprocal({self._value(under)})"
                if over.value == 1
                else f"divided({self._value(over)}, {self._value(under)})"
            )
        product = next((x for x in node.args if x.index in self._part.fused), None)
        if product is None:
            return self._notation[node.op](*map(self._value, node.args))
        x, y = map(self._value, product.args)
        first = node.args[0] is product
        other = self._value(node.args[1 if first else 0])
        if node.op == "sub":
            x, other = (x, self._notation["neg"](other)) if first else (self._notation["neg"](x), other)
        return f"{self._fma}({x}, {y}, {other})"

    def _sines(self, angle: Expr) -> None:
        self._angles += 1
        s, c = f"s{self._angles}", f"c{self._angles}"
        self._lines.append(f"    real {s}, {c};\n    sines<careful>({self._value(angle)}, &{s}, &{c}, &size);")
        for op, name in zip(PAIR, (s, c), strict=True):
            self._names[angle.graph.node(op, angle).index] = name


def telling(outputs: Sequence[Expr]) -> set[int]:
    """Those that are not finite if any is: what others are computed from shows in them.

    What is not finite stays so in sums, products, roots and sines, and in a quotient if it is above the line.
    """
    wanted, found, shown = {x.index for x in outputs}, set[int](), set[int]()
    for node in reversed(schedule(outputs)):
        if node.index in wanted and node.index not in shown:
            found.add(node.index)
        if node.index in wanted or node.index in shown:
            shown.update(x.index for x in node.args[: PASSED_ON.get(node.op, 0)])
    return found


def plain(program: Program) -> Program:
    """The same with arguments that can be called so: "payload.mass" cannot."""
    names = [name if name.isidentifier() else f"given{a}" for a, (name, _) in enumerate(program.arguments)]
    arguments = tuple((name, inputs) for name, (_, inputs) in zip(names, program.arguments, strict=True))
    integration = program.integration
    if isinstance(integration, FinalStateJacobian | FinalStateGradient):
        integration = replace(integration, rates=plain(integration.rates))
    return replace(program, arguments=arguments, integration=integration)


def idle(program: Program) -> list[tuple[int, int]]:
    """Entries of arguments on which nothing depends: (argument, entry)."""
    used = {node.index for node in program.nodes}
    return [place for index, place in program.places().items() if index not in used]


def known(x: Expr | float) -> float | None:
    """The number that an output is in every state."""
    return x.value if isinstance(x, Expr) else float(x)


def _sines(double: bool) -> str:
    """Sine and cosine of an angle."""
    own, suffix = sines(double), "" if double else "f"
    numbers = Numbers("sine_numbers", double)
    magic = numbers.text(6755399441055744.0 if double else 12582912.0)  # adding it rounds to a whole number

    def fma(x: str, y: str, z: str) -> str:
        return f"fma{suffix}({x}, {y}, {z})"

    def polynomial(coefficients: Sequence[float]) -> str:
        text = numbers.text(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            text = fma("z", text, numbers.text(c))
        return text

    rest = "x"
    for part in own.parts[:2]:
        rest = fma("k", numbers.text(-part), rest)
    cosine = fma("z * z", polynomial(own.cosine), fma("z", "(real)-0.5", "(real)1"))
    text = f"""\
// Sine and cosine; the squares of angles are summed up. The angle is reduced by whole quarter turns, with pi/2 in
// parts, and two polynomials give sine and cosine of the rest.
template <bool careful> FUNCTION void sines(real x, real *sine, real *cosine, real *size)
{{
    if (careful) {{
        *sine = sin{suffix}(x);
        *cosine = cos{suffix}(x);
        return;
    }}
    const real shifted = {fma("x", numbers.text(2 / math.pi), magic)};
    const unsigned quadrant = low_bits(shifted);
    const real k = shifted - {magic};
    const real r = {rest};
    const real z = r * r;
    const real s = {fma("z * r", polynomial(own.sine), "r")};
    const real c = {cosine if double else polynomial((1.0, -0.5, *own.cosine))};
    *sine = turned(quadrant & 1u ? c : s, quadrant << 30);
    *cosine = turned(quadrant & 1u ? -s : c, quadrant << 30);
    *size = {fma("x", "x", "*size")};
}}
"""
    return "\n".join([*numbers.table(), text])
