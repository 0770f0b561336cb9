"""Whole motions of many rollouts: the text of their kernel.

One thread has one rollout, with its state in registers from the first step to the last. The derivative stands in the
text once, in a loop over the stages of a step, so that it stays in the cache of instructions; a method whose stages
need nothing but the derivative before (rk4 is one) sums these up on the way and keeps none. Angles too large for quick
sines are no branch inside: such a rollout stays where it was and is done again by a `careful` kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from armwright.backends.cuda.codegen.writer import function, known, prelude
from armwright.backends.cuda.kernels.launch_limits import SHARED, size
from armwright.backends.event_search import (
    AFTER_STEP_START,
    BISECTION_PERIOD,
    MAX_EVENT_GUESSES,
    MAX_EVENT_PIECES,
    MIN_EVENT_PIECE,
)
from armwright.backends.interface import (
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
from armwright.integrate.events import (
    JUST_INSIDE,
    JUST_INSIDE_COARSE,
    MAX_CUBIC_DEVIATION,
    ZERO_DISTANCE_RATIO,
)
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout

BLOCK = 64
"""Threads of a block."""

OWN = 32
"""So many open numbers of a rollout are kept in registers; if it has more they stay in memory."""


class Motion(NamedTuple):
    """What is computed: a derivative, the method, which entries are what, what ends it and what is measured."""

    program: Program
    steps: Steps
    layout: Layout
    watch: EventProgram | None
    gauge: Gauge | None

    @property
    def chained(self) -> bool:
        """Whether no stage of a fixed step needs any derivative but the one before."""
        steps = self.steps
        return steps.error is None and all(not any(row[:-1]) for row in steps.a[: steps.stages])

    @property
    def memory(self) -> int:
        """How many numbers of a thread are in memory by design."""
        entries, watch = len(self.program.outputs), self.watch
        slopes = 0 if self.chained else (self.steps.stages + 2) * entries
        return slopes if watch is None else 2 * slopes + 3 * (entries + len(watch.directions))


def text(motion: Motion, per_rollout: Sequence[bool], double: bool, careful: bool = False, blocks: int = 0) -> str:
    """`run(Call)`, a kernel of one thread for each rollout, on a CPU a loop over them.

    Runtime parameters that are `per_rollout` differ between rollouts; the others come with the call. At least `blocks`
    blocks shall fit on a processor at once, which bounds their registers; with 0 the compiler decides.
    """
    parts = [prelude(double), function(motion.program, "body", double)]
    watch, gauge = motion.watch, motion.gauge
    beside = {
        "watch": watch.program if watch else None,
        "gauge": gauge.program if gauge and gauge.at_records else None,
        "within": gauge.within if gauge else None,
    }
    parts += [function(other, name, double) for name, other in beside.items() if other is not None]
    parts += [_sizes(motion, per_rollout, double), _constants(double)]
    bounds = f"{BLOCK}, {blocks}" if blocks else f"{BLOCK}"
    parts.append(f"#define CAREFUL {int(careful)}\n#define BOUNDS {bounds}")
    parts += [_weights(motion, double), _places(motion), _rest()]
    return "\n".join(parts)


GIVEN = ("y", "p", *ROLLOUT_SCALARS, "records", "totals", "times", "substeps", "stop", "marked", "any")
"""The arrays that the kernel is given."""


def call(
    fields: Mapping[str, Any], rollouts: int, per_rollout: Sequence[bool], address: Callable[[Any], int]
) -> ctypes.Structure:
    """Return the arguments of the kernel: `ROLLOUT_FIELDS`, in which p has the rows that differ between rollouts.

    `shared` has the other parameters. `marked` has one byte for each rollout, `any` four in all.
    """
    real = ctypes.c_double if fields["y"].dtype == np.float64 else ctypes.c_float
    kinds = [
        *((name, ctypes.c_void_p) for name in GIVEN),
        *((name, ctypes.c_longlong) for name in (*INTEGER_FIELDS, "rollouts")),
        ("options", real * len(STEP_OPTIONS)),
        ("shared", real * max(1, len(per_rollout) - sum(per_rollout))),
    ]
    kind: type[ctypes.Structure] = type("Call", (ctypes.Structure,), {"_fields_": kinds})
    made = kind()
    for name in GIVEN:
        setattr(made, name, address(fields[name]))
    for name, number in (*((name, fields[name]) for name in INTEGER_FIELDS), ("rollouts", rollouts)):
        setattr(made, name, int(number))
    for name in ("options", "shared"):
        getattr(made, name)[: len(fields[name])] = fields[name].tolist()
    return made


@cache
def _rest() -> str:
    return (files(__package__) / "rollout.cuh").read_text("utf-8")


def _sizes(motion: Motion, per_rollout: Sequence[bool], double: bool) -> str:
    """How many there are of everything."""
    program, steps, layout, watch, gauge = motion
    mine = sum(per_rollout)
    numbers = {
        "ENTRIES": len(program.outputs),
        "STAGES": steps.stages,
        "CHAIN": int(motion.chained),
        "ADAPTIVE": int(steps.error is not None),
        "ESTIMATES": 2 if steps.error2 is not None else 1,
        "SAME_AS_LAST": int(steps.fsal),
        "CONTROLLED": layout.controlled,
        "UNIT_VECTORS": len(layout.unit_vectors),
        "OWN": mine if mine <= OWN else 0,
        "SHARED": max(1, len(per_rollout) - mine),
        "EVENTS": 0 if watch is None else len(watch.directions),
        "GAUGES": 0 if gauge is None else gauge.totals,
        "AT_RECORDS": 0 if gauge is None else gauge.at_records,
        "IN_STEPS": 0 if gauge is None else gauge.in_steps,
        "LARGEST": 0 if gauge is None else gauge.largest,
        "INTEGRALS": 0 if gauge is None else gauge.integrals,
        "BISECTION_PERIOD": BISECTION_PERIOD,
        "MAX_EVENT_GUESSES": MAX_EVENT_GUESSES,
        "MAX_EVENT_PIECES": MAX_EVENT_PIECES,
        "BLOCK": BLOCK,
    }
    lines = [f"#define {name} {number}" for name, number in numbers.items()]
    beside = numbers["GAUGES"] + numbers["INTEGRALS"]
    room = SHARED // (BLOCK * size(double))
    lines.append(f"#if defined(__CUDACC__)\n#define BESIDE {int(beside <= room)}\n#else\n#define BESIDE 0\n#endif")
    lines.append(f"#define OF(name) name{'' if double else '##f'}")
    lines.append(f'#define REGISTER(x) "+{"d" if double else "f"}"(x)')
    read = ", ".join(f"call.p[{k} * call.stride + i]" for k in range(mine))
    lines.append(f"#define OWN_NUMBERS {f', {{{read}}}' if 0 < mine <= OWN else ''}")
    lines.append(f"#define AND_OPEN {', p' if len(program.sizes) > 2 else ''}")
    lines.append(f"#define OPEN_NUMBERS {_open_numbers(per_rollout)}")
    return "\n".join(lines)


def _open_numbers(per_rollout: Sequence[bool]) -> str:
    """Where the open number k is: numbers beside each other that are all of one kind are looked up together."""
    text, place, end = "", {True: 0, False: 0}, 0
    for kind, group in groupby(per_rollout):
        begin, end = end, end + len(list(group))
        shift = begin - place[kind]
        place[kind] += end - begin
        found = f"mine(k - {shift})" if kind else f"call.shared[k - {shift}]"
        text += f"if (k < {end}) return {found}; "
    return f"{text}return 0;"


def _constants(double: bool) -> str:
    real = notation(double)["constant"]
    numbers = {
        "NOT_FINITE": NOT_FINITE,
        "STEP_TOO_SMALL": STEP_TOO_SMALL,
        "TOO_MANY_STEPS": TOO_MANY_STEPS,
        "EVENT_NOT_FINITE": EVENT_NOT_FINITE,
        "ENDED_BY_EVENT": ENDED_BY_EVENT,
        "STRETCH": MAX_STEP_EXTENSION,
        "ROUNDED": STEP_ROUNDING,
        "SMALLEST": MIN_ERROR_RATIO,
        "FORGIVEN": MIN_PREVIOUS_RATIO,
        "AFTER_STEP_START": AFTER_STEP_START,
        "JUST_INSIDE": JUST_INSIDE if double else JUST_INSIDE_COARSE,
        "MIN_EVENT_PIECE": MIN_EVENT_PIECE,
        "BENT": MAX_CUBIC_DEVIATION,
        "NEAR": ZERO_DISTANCE_RATIO,
        "ROUNDING": 2.0**-52 if double else 2.0**-23,
    }
    return "\n".join(f"#define {name} {real(float(number))}" for name, number in numbers.items())


def _weights(motion: Motion, double: bool) -> str:
    """The numbers of the method as tables: of one in a chain, the weight with which a derivative leads on."""
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


def _places(motion: Motion) -> str:
    """Which entries move, which are of a quaternion, and which way events are crossed."""
    program, _, layout, watch, _ = motion
    still = [f"e != {e}" for e, x in enumerate(program.outputs) if known(x) == 0]
    unit_vectors = [f"(c == {c} && e >= {a} && e < {b})" for c, (a, b) in enumerate(layout.unit_vectors)]
    ways = [] if watch is None else [f"e == {e} ? {way} : " for e, way in enumerate(watch.directions) if way]
    return f"""FUNCTION constexpr bool moves(int e)
{{
    return {" && ".join(still) or "true"};
}}
FUNCTION constexpr bool in_unit_vector(int c, int e)
{{
    return {" || ".join(unit_vectors) or "false"};
}}
FUNCTION constexpr int direction(int e)
{{
    return {"".join(ways)}0;
}}
"""
