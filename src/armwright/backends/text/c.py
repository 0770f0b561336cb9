"""Programs as C99 for a controller: without allocation, with the math library only, in float or double."""

from __future__ import annotations

import math
import string
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from armwright.backends.sines import sine_coefficients
from armwright.backends.text.notation import Notation, Statements, infix
from armwright.graph.angles import SINE_OPERATIONS, angle_rounds
from armwright.graph.count import count
from armwright.graph.program import Program

TestState = tuple[Sequence[np.ndarray], np.ndarray, float]
"""Arguments and result of a test state, and the tolerance relative to the largest entry of the result."""


def notation(double: bool) -> Notation:
    """Return how C writes each operation."""
    suffix = "" if double else "f"

    def constant(x: float) -> str:
        if not double:
            x = float(np.float32(x))
        text = f"{x!r}{suffix}"
        return f"({text})" if x < 0 else text

    return {
        **infix("{}" + suffix),
        "constant": constant,
        "abs": lambda x: f"fabs{suffix}({x})",
        "sign": lambda x: f"{x} == {x} ? ({x} > 0) - ({x} < 0) : {x}",  # nan remains nan
        "min": lambda x, y: f"{x} < {y} || {x} != {x} ? {x} : {y}",
        "max": lambda x, y: f"{x} > {y} || {x} != {x} ? {x} : {y}",
        "select": lambda x, y, z: f"{x} > 0 ? {y} : {z}",
        "neg": lambda x: f"-({x})" if x.startswith("-") else f"-{x}",
    }


def _signature(prefix: str, name: str, program: Program, real: str) -> str:
    arguments = [f"const {real} {argument}[{len(inputs)}]" for argument, inputs in program.arguments]
    return f"void {prefix}_{name}({', '.join(arguments)}, {real} out[{len(program.outputs)}])"


class JointMacros(Protocol):
    """The data of a joint that the header has in macros."""

    @property
    def name(self) -> str: ...
    @property
    def limits(self) -> tuple[float, float] | None: ...
    @property
    def max_velocity(self) -> float | None: ...
    @property
    def max_torque(self) -> float | None: ...


@dataclass(frozen=True)
class HeaderNotes:
    """The content of the header: the prefix of all names, the robot, its joints, and notes that cannot end a comment.

    `positions` is the number of entries of q, `digest` that of the numbers of the robot.
    """

    prefix: str
    title: str
    version: str
    digest: str
    joints: Sequence[JointMacros]
    positions: int
    notes: Sequence[str]


def files(
    about: HeaderNotes, programs: Mapping[str, Program], checks: Mapping[str, Sequence[TestState]], double: bool
) -> dict[str, str]:
    """Return header, source, self-test and CMakeLists by file name."""
    real, prefix = "double" if double else "float", about.prefix
    return {
        f"{prefix}.h": _header(about, programs, real),
        f"{prefix}.c": _source(prefix, programs, real, double),
        f"{prefix}_selftest.c": _selftest(prefix, programs, checks, real, double),
        "CMakeLists.txt": _cmake(prefix),
    }


def wrap_note(note: str) -> list[str]:
    """Return a note as lines of a comment, with continuation lines indented."""
    inner = " " * (len(note) - len(note.lstrip()))
    return textwrap.wrap(note.strip(), 100, initial_indent="   " + inner, subsequent_indent="     " + inner)


def shape_text(program: Program) -> str:
    """Return the shape of the result as text, such as "6 x 7"."""
    return " x ".join(map(str, program.shape)) or "1"


def _string(name: str) -> str:
    """Return a name as a C string, with octal escapes for all but plain characters."""
    plain = string.ascii_letters + string.digits + "_-. "
    return '"' + "".join(chr(b) if chr(b) in plain else f"\\{b:03o}" for b in name.encode("utf-8", "replace")) + '"'


def macros(about: HeaderNotes) -> dict[str, str]:
    """Return the macros of the robot by name. A missing limit is infinite, for which <math.h> is needed."""
    joints = about.joints

    def array(values: Iterable[float | None], infinity: str = "HUGE_VAL") -> str:
        return "{" + ", ".join(infinity if x is None or math.isinf(x) else repr(float(x)) for x in values) + "}"

    limits = [joint.limits or (None, None) for joint in joints]
    return {
        "VERSION": _string(about.version),
        "DIGEST": _string(about.digest),
        "JOINTS": str(len(joints)),
        "POSITIONS": str(about.positions),
        "JOINT_NAMES": "{" + ", ".join(_string(joint.name) for joint in joints) + "}",
        "LOWER": array((low for low, _ in limits), "-HUGE_VAL"),
        "UPPER": array(high for _, high in limits),
        "MAX_VELOCITY": array(joint.max_velocity for joint in joints),
        "MAX_TORQUE": array(joint.max_torque for joint in joints),
    }


def _header(about: HeaderNotes, programs: Mapping[str, Program], real: str) -> str:
    prefix, title, macro = about.prefix, about.title, about.prefix.upper()
    guard = f"{macro}_H"
    notes = "".join(f"\n{line}" for note in about.notes for line in wrap_note(note))
    parts = []
    for name, program in programs.items():
        cost = count(program.outputs)
        parts.append(
            f"/* {name.replace('_', ' ')} of {title}: {cost}.\n"
            f"   out is {shape_text(program)}, row by row. No argument may overlap out. */\n"
            f"{_signature(prefix, name, program, real)};\n"
        )
    defined = "".join(f"#define {macro}_{name} {value}\n" for name, value in macros(about).items())
    return (
        f"/* Dynamics of {title}, generated by armwright {about.version}. SI units and radians.\n{notes} */\n"
        f"#ifndef {guard}\n#define {guard}\n\n{defined}\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        + "\n".join(parts)
        + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def _source(prefix: str, programs: Mapping[str, Program], real: str, double: bool) -> str:
    parts = [f'#include "{prefix}.h"\n\n#include <math.h>\n']
    if any(x.op in SINE_OPERATIONS for program in programs.values() for x in program.nodes):
        parts.append(_sines(double))
    for name, program in programs.items():
        used = {x.index for x in program.nodes}
        unused = [
            f"    (void){argument};"
            for argument, inputs in program.arguments
            if not any(x.index in used for x in inputs)
        ]
        body = "\n".join([*unused, *_body(program, real, double)])
        parts.append(f"{_signature(prefix, name, program, real)}\n{{\n{body}\n}}\n")
    return "\n".join(parts)


_VECTOR_LENGTH = 4


def _body(program: Program, real: str, double: bool) -> list[str]:
    """Return one assignment per operation; sines of angles that are known at the same time are computed together."""
    text = Statements(program, notation(double), lambda array, k: f"{array}[{k}]")
    lines: list[str] = []

    def assign(statements: Iterable[tuple[str, str]]) -> None:
        lines.extend(f"    const {real} {target} = {value};" for target, value in statements)

    for k, angles in enumerate(angle_rounds(program), start=1):
        assign(text.up_to(angles))
        padding = -len(angles) % _VECTOR_LENGTH  # zeros that fill the last vector, which is faster
        m, values = len(angles) + padding, ", ".join([*map(text.value, angles), *["0"] * padding])
        lines.append(f"    const {real} x{k}[{m}] = {{{values}}};")
        lines.append(f"    {real} s{k}[{m}], c{k}[{m}];")
        lines.append(f"    sines(x{k}, s{k}, c{k}, {m});")
        for i, angle in enumerate(angles):
            for op in SINE_OPERATIONS:
                text.set_name(angle.graph.node(op, angle), f"{op[0]}{k}[{i}]")
    for target, value in text.rest():
        lines.append(
            f"    {target} = {value};" if target.startswith("out[") else f"    const {real} {target} = {value};"
        )
    return lines


def _sines(double: bool) -> str:
    """Return the C function for sine and cosine of several angles."""
    coefficients = sine_coefficients(double)
    limit = coefficients.limit(fused=False)
    real, suffix = ("double", "") if double else ("float", "f")

    def number(x: float) -> str:
        return notation(double)["constant"](x)

    def polynomial(terms: Sequence[float]) -> str:
        text = number(terms[-1])
        for c in reversed(terms[:-1]):
            text = f"({text} * z + {number(c)})"
        return text

    rest = "x"
    for part in coefficients.exact_parts:
        rest = f"({rest} - k * {number(part)})"
    return f"""/* Sine and cosine of n angles. Each is reduced by whole quarter turns, with pi/2 in parts whose
   products are exact, and two polynomials give those of the rest; there is no branch, so that the compiler can
   use vector instructions. Angles beyond {limit:g} are left to the C library. */
static void sines(const {real} *angle, {real} *sine, {real} *cosine, int n)
{{
    int i, large = 0;
    for (i = 0; i < n; ++i)
        large |= !(fabs{suffix}(angle[i]) <= {number(limit)});
    if (large) {{
        for (i = 0; i < n; ++i) {{
            sine[i] = sin{suffix}(angle[i]);
            cosine[i] = cos{suffix}(angle[i]);
        }}
        return;
    }}
    for (i = 0; i < n; ++i) {{
        const {real} x = angle[i];
        const int quarters = (int)(x * {number(2 / math.pi)} + copysign{suffix}({number(0.5)}, x));
        const {real} k = ({real})quarters;
        const {real} r = {rest};
        const {real} z = r * r;
        const {real} s = r + r * z * {polynomial(coefficients.sine)};
        const {real} c = {number(1.0)} - {number(0.5)} * z + z * z * {polynomial(coefficients.cosine)};
        const {real} a = quarters & 1 ? c : s, b = quarters & 1 ? s : c;
        sine[i] = a * ({real})(1 - (quarters & 2));
        cosine[i] = b * ({real})(1 - ((quarters + 1) & 2));
    }}
}}
"""


def _selftest(
    prefix: str, programs: Mapping[str, Program], checks: Mapping[str, Sequence[TestState]], real: str, double: bool
) -> str:
    suffix = "" if double else "f"
    blocks = []
    for name, program in programs.items():
        for arguments, expected, tolerance in checks.get(name, ()):
            arrays = [
                f"        const {real} {argument}[{values.size}] = {{{number_list(values, suffix)}}};"
                for (argument, _), values in zip(program.arguments, arguments, strict=True)
            ]
            m = expected.size
            call = ", ".join(argument for argument, _ in program.arguments)
            blocks.append(
                "    {\n"
                + "\n".join(arrays)
                + f"\n        const {real} expected[{m}] = {{{number_list(expected, suffix)}}};\n"
                f"        {real} out[{m}];\n        {prefix}_{name}({call}, out);\n"
                f'        failures += differs("{name}", out, expected, {m}, {tolerance!r}{suffix});\n    }}'
            )
    return (
        f'#include "{prefix}.h"\n\n#include <math.h>\n#include <stdio.h>\n\n{differs(real, suffix)}'
        "int main(void)\n{\n    int failures = 0;\n" + "\n".join(blocks) + "\n"
        '    if (!failures) printf("all as expected\\n");\n    return failures != 0;\n}\n'
    )


def differs(real: str, suffix: str) -> str:
    """Return the function of a self-test that compares results."""
    return (
        f"static int differs(const char *name, const {real} *got, const {real} *expected, int n,"
        f"\n                   {real} tolerance)\n{{\n"
        f"    {real} scale = 0, error = 0;\n    int i;\n"
        f"    for (i = 0; i < n; ++i) {{\n"
        f"        const {real} size = fabs{suffix}(expected[i]), gap = fabs{suffix}(got[i] - expected[i]);\n"
        "        if (size > scale) scale = size;\n        if (gap > error || gap != gap) error = gap;\n"
        "        if (error != error) break;\n    }\n"
        "    if (error <= tolerance * scale) return 0;\n"
        '    printf("%s differs by %g of %g\\n", name, (double)error, (double)scale);\n    return 1;\n}\n\n'
    )


def number_list(values: np.ndarray, suffix: str) -> str:
    """Return numbers as entries of a C array."""
    return ", ".join(f"{float(x)!r}{suffix}" for x in np.ravel(values))


def _cmake(prefix: str) -> str:
    return (
        f"cmake_minimum_required(VERSION 3.10)\nproject({prefix} C)\nset(CMAKE_C_STANDARD 99)\n"
        "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
        f"add_library({prefix} {prefix}.c)\ntarget_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
        f"add_executable({prefix}_selftest {prefix}_selftest.c)\ntarget_link_libraries({prefix}_selftest {prefix} m)\n"
        f"enable_testing()\nadd_test(NAME selftest COMMAND {prefix}_selftest)\n"
    )
