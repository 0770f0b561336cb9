"""The text of the kernel that integrates rollouts.

A thread has one rollout, with its state in registers from the first step to the last. The derivative is in the text
once, in a loop over the stages of a step, so that it stays in the instruction cache. Methods whose stages need only the
previous derivative, such as rk4, store none. A rollout with angles too large for the fast sines stops and is computed
again by a `careful` kernel, so that there is no branch in this one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from armwright.backends.cuda.codegen.writer import constant_value, function_text, prelude
from armwright.backends.cuda.kernels.launch_limits import DEFAULT_SHARED_BYTES, number_bytes
from armwright.backends.event_search import (
    AFTER_STEP_START,
    BISECTION_PERIOD,
    MAX_EVENT_GUESSES,
    MAX_EVENT_PIECES,
    MIN_EVENT_PIECE,
)
from armwright.backends.rollout_interface import (
    ENDED_BY_EVENT,
    EVENT_NOT_FINITE,
    INTEGER_FIELDS,
    NOT_FINITE,
    ROLLOUT_SCALARS,
    STEP_OPTIONS,
    STEP_TOO_SMALL,
    TOO_MANY_STEPS,
    EventProgram,
    Gauge,
)
from armwright.backends.text.c import notation
from armwright.graph.program import Program
from armwright.integrate.control import MAX_STEP_EXTENSION, MIN_ERROR_RATIO, MIN_PREVIOUS_RATIO, STEP_ROUNDING
from armwright.integrate.events import JUST_INSIDE, JUST_INSIDE_COARSE, MAX_CUBIC_DEVIATION, ZERO_DISTANCE_RATIO
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout

ROLLOUT_THREADS = 64
"""Threads of a block."""

MAX_REGISTER_PARAMETERS = 32
"""Runtime parameters per rollout up to which they are in registers; more stay in memory."""


class Motion(NamedTuple):
    """A compiled motion: its derivative, the method, the layout of a state, events that end it, and measures."""

    program: Program
    steps: Steps
    layout: Layout
    events: EventProgram | None
    gauge: Gauge | None

    @property
    def chained(self) -> bool:
        """True if each stage of a fixed step needs only the derivative before it."""
        steps = self.steps
        return steps.error is None and all(not any(row[:-1]) for row in steps.a[: steps.stages])

    @property
    def memory(self) -> int:
        """The numbers of a thread that are in memory by design."""
        entries, events = len(self.program.outputs), self.events
        slopes = 0 if self.chained else (self.steps.stages + 2) * entries
        return slopes if events is None else 2 * slopes + 3 * (entries + len(events.directions))


def text(motion: Motion, per_rollout: Sequence[bool], double: bool, careful: bool = False, blocks: int = 0) -> str:
    """Return `run(Call)`, a kernel with one thread per rollout; on a CPU it is a loop over them.

    `per_rollout` marks the runtime parameters that differ between rollouts; the others are passed with the call. At
    least so many `blocks` run on a multiprocessor, which bounds their registers; for 0 the compiler chooses.
    """
    parts = [prelude(double), function_text(motion.program, "body", double)]
    events, gauge = motion.events, motion.gauge
    others = {
        "event_values": events.program if events else None,
        "gauge": gauge.program if gauge and gauge.at_records else None,
        "within": gauge.within if gauge else None,
    }
    parts += [function_text(other, name, double) for name, other in others.items() if other is not None]
    parts += [_sizes(motion, per_rollout, double), _constants(double)]
    bounds = f"{ROLLOUT_THREADS}, {blocks}" if blocks else f"{ROLLOUT_THREADS}"
    parts.append(f"#define CAREFUL {int(careful)}\n#define BOUNDS {bounds}")
    parts += [_weights(motion, double), _entry_functions(motion), _kernel()]
    return "\n".join(parts)


ROLLOUT_POINTERS = ("y", "p", *ROLLOUT_SCALARS, "records", "totals", "times", "substeps", "stop", "marked", "any")
"""The arrays whose addresses a call has."""


def call(
    fields: Mapping[str, Any], rollouts: int, per_rollout: Sequence[bool], address: Callable[[Any], int]
) -> ctypes.Structure:
    """Return the arguments of the kernel: `ROLLOUT_FIELDS`, where p has the rows that are `per_rollout`.

    `shared` has the other parameters. `marked` has one byte per rollout, `any` has four bytes. `address` returns the
    address of an array.
    """
    real = ctypes.c_double if fields["y"].dtype == np.float64 else ctypes.c_float
    kinds = [
        *((name, ctypes.c_void_p) for name in ROLLOUT_POINTERS),
        *((name, ctypes.c_longlong) for name in (*INTEGER_FIELDS, "rollouts")),
        ("options", real * len(STEP_OPTIONS)),
        ("shared", real * max(1, len(per_rollout) - sum(per_rollout))),
    ]
    kind: type[ctypes.Structure] = type("Call", (ctypes.Structure,), {"_fields_": kinds})
    structure = kind()
    for name in ROLLOUT_POINTERS:
        setattr(structure, name, address(fields[name]))
    for name, number in (*((name, fields[name]) for name in INTEGER_FIELDS), ("rollouts", rollouts)):
        setattr(structure, name, int(number))
    for name in ("options", "shared"):
        getattr(structure, name)[: len(fields[name])] = fields[name].tolist()
    return structure


@cache
def _kernel() -> str:
    return (files(__package__) / "rollout.cuh").read_text("utf-8")


def _sizes(motion: Motion, per_rollout: Sequence[bool], double: bool) -> str:
    program, steps, layout, events, gauge = motion
    parameters = sum(per_rollout)
    numbers = {
        "ENTRIES": len(program.outputs),
        "STAGES": steps.stages,
        "CHAIN": int(motion.chained),
        "ADAPTIVE": int(steps.error is not None),
        "ESTIMATES": 2 if steps.error2 is not None else 1,
        "SAME_AS_LAST": int(steps.fsal),
        "CONTROLLED": layout.controlled,
        "UNIT_VECTORS": len(layout.unit_vectors),
        "PER_ROLLOUT": parameters if parameters <= MAX_REGISTER_PARAMETERS else 0,
        "SHARED": max(1, len(per_rollout) - parameters),
        "EVENTS": 0 if events is None else len(events.directions),
        "GAUGES": 0 if gauge is None else gauge.totals,
        "AT_RECORDS": 0 if gauge is None else gauge.at_records,
        "IN_STEPS": 0 if gauge is None else gauge.in_steps,
        "LARGEST": 0 if gauge is None else gauge.largest,
        "INTEGRALS": 0 if gauge is None else gauge.integrals,
        "BISECTION_PERIOD": BISECTION_PERIOD,
        "MAX_EVENT_GUESSES": MAX_EVENT_GUESSES,
        "MAX_EVENT_PIECES": MAX_EVENT_PIECES,
        "BLOCK": ROLLOUT_THREADS,
    }
    lines = [f"#define {name} {number}" for name, number in numbers.items()]
    gauges = numbers["GAUGES"] + numbers["INTEGRALS"]
    fits = int(gauges <= DEFAULT_SHARED_BYTES // (ROLLOUT_THREADS * number_bytes(double)))
    lines.append(f"#if defined(__CUDACC__)\n#define SHARED_GAUGES {fits}\n#else\n#define SHARED_GAUGES 0\n#endif")
    lines.append(f"#define OF(name) name{'' if double else '##f'}")
    lines.append(f'#define REGISTER(x) "+{"d" if double else "f"}"(x)')
    read = ", ".join(f"call.p[{k} * call.stride + i]" for k in range(parameters))
    lines.append(f"#define READ_PER_ROLLOUT {f', {{{read}}}' if 0 < parameters <= MAX_REGISTER_PARAMETERS else ''}")
    lines.append(f"#define PARAMETER_ARGUMENT {', p' if len(program.sizes) > 2 else ''}")
    lines.append(f"#define READ_PARAMETER {_read_parameter(per_rollout)}")
    return "\n".join(lines)


def _read_parameter(per_rollout: Sequence[bool]) -> str:
    """Return the statements that read runtime parameter k; a run of neighbours of one kind has one condition."""
    text, place, end = "", {True: 0, False: 0}, 0
    for kind, group in groupby(per_rollout):
        begin, end = end, end + len(list(group))
        shift = begin - place[kind]
        place[kind] += end - begin
        value = f"per_rollout_parameter(k - {shift})" if kind else f"call.shared[k - {shift}]"
        text += f"if (k < {end}) return {value}; "
    return f"{text}return 0;"


def _constants(double: bool) -> str:
    real = notation(double)["constant"]
    numbers = {
        "NOT_FINITE": NOT_FINITE,
        "STEP_TOO_SMALL": STEP_TOO_SMALL,
        "TOO_MANY_STEPS": TOO_MANY_STEPS,
        "EVENT_NOT_FINITE": EVENT_NOT_FINITE,
        "ENDED_BY_EVENT": ENDED_BY_EVENT,
        "MAX_STEP_EXTENSION": MAX_STEP_EXTENSION,
        "STEP_ROUNDING": STEP_ROUNDING,
        "MIN_ERROR_RATIO": MIN_ERROR_RATIO,
        "MIN_PREVIOUS_RATIO": MIN_PREVIOUS_RATIO,
        "AFTER_STEP_START": AFTER_STEP_START,
        "JUST_INSIDE": JUST_INSIDE if double else JUST_INSIDE_COARSE,
        "MIN_EVENT_PIECE": MIN_EVENT_PIECE,
        "MAX_CUBIC_DEVIATION": MAX_CUBIC_DEVIATION,
        "ZERO_DISTANCE_RATIO": ZERO_DISTANCE_RATIO,
        "ROUNDING": 2.0**-52 if double else 2.0**-23,
    }
    return "\n".join(f"#define {name} {real(float(number))}" for name, number in numbers.items())


def _weights(motion: Motion, double: bool) -> str:
    """Return the weights of the method as tables; those of a chained method have one weight per stage."""
    steps, s = motion.steps, motion.steps.stages
    rows = [*(row[-1] for row in steps.a[1:s]), 0.0] if motion.chained else [x for row in steps.a[1:s] for x in row]
    tables = {"A": rows or [0.0], "B": steps.b[:s], "C": steps.c[:s]}
    for name, weights in (("ERROR", steps.error), ("ERROR2", steps.error2)):
        if steps.error is not None:
            tables[name] = weights if weights is not None else (0.0,)
    real = notation(double)["constant"]

    def table(name: str, numbers: Iterable[float]) -> str:
        return f"TABLE real {name}[] = {{{', '.join(real(float(x)) for x in numbers)}}};"

    return "\n".join(table(name, numbers) for name, numbers in tables.items())


def _entry_functions(motion: Motion) -> str:
    """Return the functions that tell which entries change, which are unit vectors, and the directions of events."""
    program, _, layout, events, _ = motion
    constant = [f"e != {e}" for e, x in enumerate(program.outputs) if constant_value(x) == 0]
    unit_vectors = [f"(c == {c} && e >= {a} && e < {b})" for c, (a, b) in enumerate(layout.unit_vectors)]
    signs = [] if events is None else [f"e == {e} ? {sign} : " for e, sign in enumerate(events.directions) if sign]
    return f"""FUNCTION constexpr bool moves(int e)
{{
    return {" && ".join(constant) or "true"};
}}
FUNCTION constexpr bool in_unit_vector(int c, int e)
{{
    return {" || ".join(unit_vectors) or "false"};
}}
FUNCTION constexpr int direction(int e)
{{
    return {"".join(signs)}0;
}}
"""
