"""A program as a function in CUDA, which is C++ for a CPU as well.

Its fast sines have no branch and hold up to a million radians. A branch for larger angles would cost a third of the
speed, as it takes registers. A function therefore returns whether its angles were small enough; its caller computes the
other states again with `careful` sines.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from armwright.backends.cuda.codegen.fma_chains import with_fma_chains
from armwright.backends.cuda.codegen.outlined_parts import OutlinedPart, outline
from armwright.backends.cuda.codegen.output_partition import (
    CUT_ARGUMENT,
    ONE_TRIAL_OPERATIONS,
    OutputPart,
    Partition,
    partitions,
)
from armwright.backends.cuda.codegen.schedule import is_variable
from armwright.backends.sines import MAX_ANGLE, sine_coefficients
from armwright.backends.text.c import notation
from armwright.graph.angles import SINE_OPERATIONS
from armwright.graph.expression import LEAVES, Expr, schedule
from armwright.graph.program import FinalStateGradient, FinalStateJacobian, Program

NAN_OPERANDS = {"add": 2, "sub": 2, "mul": 2, "neg": 1, "sqrt": 1, "sin": 1, "cos": 1, "div": 1}
"""The number of first operands that make the result not finite if they are not."""

SLOTS_ARGUMENT = "slots"
"""The name of the argument with the values of earlier outlined parts."""

MIN_LOOP_OUTPUTS = 64
"""Outputs of one constant from which on a loop writes them: a humanoid has thousands of zeros, and compilers take
minutes for so many statements."""


@cache
def prelude(double: bool) -> str:
    """Return the text before all kernels."""
    return f"{arithmetic(double)}\n{_text('arrays.cuh')}"


def arithmetic(double: bool) -> str:
    """Return the text before all functions."""
    real = "double" if double else "float"
    return f"typedef {real} real;\n{_text('prelude.cuh')}\n{_sines(double)}"


def _text(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def function_text(program: Program, name: str, double: bool) -> str:
    """Return the text of `bool name<careful>(arguments, out)`.

    It reads entries of arguments by [k], calls out.put(k, x) for each result once it is known, and out.check(x, y) for
    values that are finite only if all results are. It returns false if an angle was too large for the fast sines; its
    results are then wrong. A program with too many live values for the registers of a thread is computed in parts.
    """
    short = len(program.nodes) <= ONE_TRIAL_OPERATIONS
    variants = [partitions(variant, double) for variant in (with_fma_chains(program), program)[: 1 + short]]
    first, *rest = min(variants, key=lambda variant: sum(partition.cost(double) for partition in variant))
    if not rest:
        return _partition_text(first, name, double)
    (second,) = rest
    cut_values, begin = len(second.program.arguments[-1][1]), len(program.outputs)
    return f"""{_partition_text(first, f"{name}_first", double, "OUTLINED")}
{_partition_text(second, f"{name}_then", double, "OUTLINED")}
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
{signature(program, name)}
{{
    real {CUT_ARGUMENT}[{cut_values}];
    {name}_Both<Out> both = {{{CUT_ARGUMENT}, out}};
    bool good = {name}_first<careful>({argument_list(program)}, both);
    out = both.out;
    good &= {name}_then<careful>({argument_list(second.program)}, out);
    return good;
}}"""


def _partition_text(partition: Partition, name: str, double: bool, kind: str = "FUNCTION") -> str:
    """Return one function, or one per part and one that calls them."""
    program, parts = partition
    if len(parts) == 1:
        return _part_text(program, parts[0], name, double, kind)
    calls = [f"    good &= {name}_{k}<careful>({argument_list(program)}, out);" for k in range(len(parts))]
    return "\n".join(
        [
            *(_part_text(program, part, f"{name}_{k}", double, "OUTLINED") for k, part in enumerate(parts)),
            f"{signature(program, name)}\n{{\n    bool good = true;",
            *calls,
            "    return good;\n}",
        ]
    )


def _part_text(program: Program, part: OutputPart, name: str, double: bool, kind: str = "FUNCTION") -> str:
    """Return the function of a part; if it would be too long, one that calls outlined parts."""
    (first, *rest), slots = outline(part, double)
    tables, last = _constant_outputs(part, name, double)
    if not rest:
        return "\n".join([*tables, *_statements(program, part, name, double, kind, first, last)])
    texts, calls = list[str](), list[str]()
    for c, outlined in enumerate((first, *rest)):
        outlined_name = f"{name}_{SLOTS_ARGUMENT}{c}"
        texts += _statements(program, part, outlined_name, double, "OUTLINED", outlined, extra=(SLOTS_ARGUMENT,))
        careful = "careful" if outlined.has_angles else "false"
        calls.append(f"    good &= {outlined_name}<{careful}>({argument_list(program, (SLOTS_ARGUMENT,))}, out);")
    begin = f"{signature(program, name)}\n{{\n    real {SLOTS_ARGUMENT}[{max(1, slots)}];\n    bool good = true;"
    return "\n".join([*tables, *texts, begin, *calls, *last, "    return good;\n}"])


def _statements(
    program: Program,
    part: OutputPart,
    name: str,
    double: bool,
    kind: str,
    outlined: OutlinedPart,
    last: Sequence[str] = (),
    extra: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the lines of a function. An outlined one takes addresses, and works on a copy of `out`."""
    limit = notation(double)["constant"](MAX_ANGLE**2)
    numbers = ConstantTable(f"{name}_numbers", double)
    lines = _FunctionBody(program, part, double, outlined, numbers).lines()
    yield from numbers.table()
    yield f"{signature(program, name, kind, extra)}\n{{"
    if kind == "OUTLINED":
        yield "    Out out = results;"
    yield from (f"    (void){argument};" for argument in (*_unused_arguments(program, outlined), *extra))
    yield "    real size = 0;"
    yield from lines
    yield from last
    if kind == "OUTLINED":
        yield "    results = out;"
    yield f"    return careful || size <= {limit};\n}}"


def _constant_outputs(part: OutputPart, name: str, double: bool) -> tuple[list[str], list[str]]:
    """Return tables of the indices of constant outputs, for constants with many, and the statements that write them."""
    indices_by_value, tables, lines = dict[float, list[int]](), list[str](), list[str]()
    for k, x in part.outputs:
        if (number := constant_value(x)) is not None:
            indices_by_value.setdefault(number, []).append(k)
    for n, (number, places) in enumerate(indices_by_value.items()):
        value = notation(double)["constant"](number)
        if len(places) < MIN_LOOP_OUTPUTS:
            lines += [f"    out.put({k}, {value});" for k in places]
        else:
            tables.append(f"TABLE unsigned short {name}_places{n}[] = {{{', '.join(map(str, places))}}};")
            lines.append(f"    LOOP(k, {len(places)}) out.put({name}_places{n}[k], {value});")
    return tables, lines


def _unused_arguments(program: Program, outlined: OutlinedPart) -> list[str]:
    """Return the arguments on which a function does not depend."""
    used = {node.index for node in outlined.nodes}
    return [argument for argument, inputs in program.arguments if not any(x.index in used for x in inputs)]


def argument_list(program: Program, extra: Sequence[str] = ()) -> str:
    """Return the names of the arguments of a call, then `extra` ones."""
    return ", ".join([*(name for name, _ in program.arguments), *extra])


class ConstantTable:
    """Constants of a text. Those of double precision that no instruction can hold are in a table.

    An instruction reads them there; otherwise it would wait for two others that assemble them.
    """

    def __init__(self, name: str, double: bool) -> None:
        self._name, self._double, self._write = name, double, notation(double)["constant"]
        self._places = dict[float, int]()

    def text(self, value: float) -> str:
        """Return the text of a constant."""
        if not self._double or struct.pack("<d", value)[:4] == bytes(4):
            return self._write(value)
        return f"{self._name}[{self._places.setdefault(value, len(self._places))}]"

    def table(self) -> list[str]:
        """Return the declaration of the table, if it has entries."""
        numbers = ", ".join(map(self._write, self._places))
        return [f"NUMBERS real {self._name}[{len(self._places)}] = {{{numbers}}};"] if self._places else []


def signature(program: Program, name: str, kind: str = "FUNCTION", extra: Sequence[str] = ()) -> str:
    """Return the first line of a function; `extra` arguments follow those of the program."""
    names = [*(argument for argument, _ in program.arguments), *extra]
    kinds = ", ".join(["bool careful", *(f"class A{a}" for a in range(len(names))), "class Out"])
    pattern, out = ("A{} {}", "results") if kind == "OUTLINED" else ("const A{} &{}", "out")
    parameters = ", ".join(pattern.format(a, argument) for a, argument in enumerate(names))
    return f"template <{kinds}> {kind} bool {name}({parameters}, Out &{out})"


class _FunctionBody:
    """The statements of a function. Each entry gets a variable where it is read first.

    Products that are used in sums alone are written as fused multiply-adds, so that all compilers compute the same.
    No variable is `const`: nvcc would search for known values of each one, and of its operands along every path.
    """

    def __init__(
        self, program: Program, part: OutputPart, double: bool, outlined: OutlinedPart, numbers: ConstantTable
    ) -> None:
        self._part, self._notation, self._fma = part, notation(double), f"fma{'' if double else 'f'}"
        self._outlined, self._number = outlined, numbers.text
        self._places = {x: (program.arguments[a][0], k) for x, (a, k) in program.places().items()}
        self._names = dict[int, str]()
        self._lines = list[str]()
        self._count = self._angles = 0
        self._unchecked = ""
        self._outputs = dict[int, list[int]]()
        for k, x in part.outputs:
            if is_variable(x):
                self._outputs.setdefault(x.index, []).append(k)
        self._checked = checked_nodes([x for k, x in part.outputs if k < program.results and is_variable(x)])

    def lines(self) -> list[str]:
        """Return the statements."""
        for node in self._outlined.nodes:
            if node.index not in self._names and node.op not in LEAVES:
                self._write(node)
            if node.index in self._outlined.stored:
                self._lines.append(f"    {SLOTS_ARGUMENT}[{self._outlined.stored[node.index]}] = {self._value(node)};")
            for k in self._outputs.get(node.index, ()):
                self._lines.append(f"    out.put({k}, {self._value(node)});")
            if node.index in self._checked:
                self._check(self._value(node))
        if self._unchecked:
            self._check("1")
        return self._lines

    def _check(self, value: str) -> None:
        """Check values in pairs."""
        if self._unchecked:
            self._lines.append(f"    out.check({self._unchecked}, {value});")
        self._unchecked = "" if self._unchecked else value

    def _value(self, x: Expr) -> str:
        if x.value is not None:
            return self._number(x.value)
        if x.index in self._outlined.loaded and x.index not in self._names:
            place = self._outlined.loaded[x.index]
            self._names[x.index] = f"{SLOTS_ARGUMENT}_{place}"
            self._lines.append(f"    real {SLOTS_ARGUMENT}_{place} = {SLOTS_ARGUMENT}[{place}];")
        if x.index not in self._names:
            argument, k = self._places[x.index]
            self._names[x.index] = f"{argument}_{k}"
            self._lines.append(f"    real {argument}_{k} = {argument}[{k}];")
        return self._names[x.index]

    def _write(self, node: Expr) -> None:
        if node.op in SINE_OPERATIONS:
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
        for op, name in zip(SINE_OPERATIONS, (s, c), strict=True):
            self._names[angle.graph.node(op, angle).index] = name


def checked_nodes(outputs: Sequence[Expr]) -> set[int]:
    """Return the outputs to check: if any output is not finite, one of these is not.

    Sums, products, roots and sines of values that are not finite are not finite, and quotients if the numerator is not.
    """
    results, checked, covered = {x.index for x in outputs}, set[int](), set[int]()
    for node in reversed(schedule(outputs)):
        if node.index in results and node.index not in covered:
            checked.add(node.index)
        if node.index in results or node.index in covered:
            covered.update(x.index for x in node.args[: NAN_OPERANDS.get(node.op, 0)])
    return checked


def with_identifiers(program: Program) -> Program:
    """Return the program with identifiers as names of arguments, unlike "payload.mass"."""
    names = [name if name.isidentifier() else f"argument{a}" for a, (name, _) in enumerate(program.arguments)]
    arguments = tuple((name, inputs) for name, (_, inputs) in zip(names, program.arguments, strict=True))
    integration = program.integration
    if isinstance(integration, FinalStateJacobian | FinalStateGradient):
        integration = replace(integration, rates=with_identifiers(integration.rates))
    return replace(program, arguments=arguments, integration=integration)


def unused_entries(program: Program) -> list[tuple[int, int]]:
    """Return the entries of arguments on which no result depends: (argument, entry)."""
    used = {node.index for node in program.nodes}
    return [place for index, place in program.places().items() if index not in used]


def constant_value(x: Expr | float) -> float | None:
    """Return the value of a constant output, None for others."""
    return x.value if isinstance(x, Expr) else float(x)


def _sines(double: bool) -> str:
    """Return the function for sine and cosine of an angle."""
    trig, suffix = sine_coefficients(double), "" if double else "f"
    numbers = ConstantTable("sine_numbers", double)
    magic = numbers.text(6755399441055744.0 if double else 12582912.0)  # adding it rounds to a whole number

    def fma(x: str, y: str, z: str) -> str:
        return f"fma{suffix}({x}, {y}, {z})"

    def polynomial(coefficients: Sequence[float]) -> str:
        text = numbers.text(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            text = fma("z", text, numbers.text(c))
        return text

    rest = "x"
    for part in trig.fused_parts[:2]:
        rest = fma("k", numbers.text(-part), rest)
    cosine = fma("z * z", polynomial(trig.cosine), fma("z", "(real)-0.5", "(real)1"))
    text = f"""\
// Sine and cosine; the squares of angles are added to `size`. The angle is reduced by whole quarter turns, with pi/2 in
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
    const real s = {fma("z * r", polynomial(trig.sine), "r")};
    const real c = {cosine if double else polynomial((1.0, -0.5, *trig.cosine))};
    *sine = turned(quadrant & 1u ? c : s, quadrant << 30);
    *cosine = turned(quadrant & 1u ? -s : c, quadrant << 30);
    *size = {fma("x", "x", "*size")};
}}
"""
    return "\n".join([*numbers.table(), text])
