"""A program as LLVM IR text: vector code over the states of a batch.

Everything of a program is computed by one function, `body`, for W states at once. It reads the k-th input of an
argument as the vector at pointer + k * stride, and writes outputs alike, so the same code serves arrays whose
states lie side by side in memory and small tiles into which other layouts are packed. As every state goes
through `body`, results do not depend on the size of a batch, on its layout, on the number of threads or on the
place of a state in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce

from armwright.backends.llvm.advance import advancing
from armwright.backends.llvm.batch import HEADER, Batch, packers, row_packers, streams, tile_size
from armwright.backends.llvm.block import Block, Lanes, declarations, each_lane, repeated
from armwright.backends.llvm.single import single_call
from armwright.backends.llvm.solve import solver
from armwright.backends.llvm.trigonometry import careful, sine_cosine
from armwright.graph.angles import rounds
from armwright.graph.expression import Expr, Operand, schedule
from armwright.graph.program import Program


def module(program: Program, lanes: Lanes) -> str:
    """The whole module: body, packing, the loop over a batch, the function for one state."""
    block = Block(lanes)
    parts = [
        *_bodies(program, block),
        *([_fill(program, lanes)] if _filled(program) else []),
        *([solver(program.equations, block.another())] if program.equations else []),
        careful(lanes),
        *packers(lanes),
        *row_packers({*program.sizes, program.results}, lanes, _streamed(program, lanes)),
        "\n".join(_run(program, lanes)),
        single_call(program, lanes, _filled(program)),
        *declarations(block.declared, lanes),
    ]
    return "\n\n".join(parts) + "\n"


def _bodies(program: Program, block: Block) -> Iterator[str]:
    """`body` of a program, and what it calls."""
    advance = program.advance
    if advance is None:
        yield write_body(program, block, "body", filled=_filled(program))
        return
    if advance.rates is not None:
        yield write_body(advance.rates, block.another(), "rates")
    yield write_body(advance.without(program), block, "rates" if advance.rates is None else "others")
    yield advancing(program, advance, block)


def _run(program: Program, t: Lanes) -> Iterator[str]:
    """`body` for every W states of a batch."""
    sizes = {**{str(a): n for a, n in enumerate(program.sizes)}, "o": program.results}
    batch = Batch({name: str(n) for name, n in sizes.items()}, t, rows=True)
    yield HEADER
    yield f"  %status = alloca {t.vector}, align 64"
    yield f"  store {t.vector} zeroinitializer, ptr %status, align 64"
    if tiled(program):
        batch = replace(batch, through="o")
    for name, n in sizes.items():
        room = max(n, len(program.outputs)) if name == "o" else n
        yield f"  %tile.{name} = alloca [{tile_size(room, t)} x {t.scalar}], align 64"
        yield from batch.fields(name)
    if _filled(program):
        yield "  call void @fill(ptr %tile.o)"
    arguments = ", ".join(f"ptr %read.{name}, i64 %step.{name}" for name in sizes)
    call = f"compute:\n  call void @body({arguments}, ptr %status)"
    if program.equations is not None:
        call += "\n  call void @solve(ptr %tile.o, ptr %status)"
    yield from batch.over("start", (*batch.fetch("compute"), call, *batch.deliver()))
    if _streamed(program, t):
        yield "  fence seq_cst"  # what went past the caches is there before anybody is told
    yield batch.answer()


def write_body(program: Program, block: Block, name: str, filled: bool = False) -> str:
    """A function that computes the program for W states and marks in `status` what is not finite.

    If the output is `filled`, its constants are there already.
    """
    t = block.lanes
    values = compute(program, block)
    status = block.let(f"load {t.vector}, ptr %status, align 64")
    for argument, (_, entries) in enumerate(program.arguments):
        for k, entry in enumerate(entries):
            if entry.index not in values:  # nothing depends on it, yet it must be a number
                unused = block.read(_address(block, f"%p{argument}", f"%s{argument}", k))
                status = block.fma(unused, t.splat(0.0), status)
    for k, x in enumerate(program.outputs):
        if filled and _constant(x) is not None:
            continue
        result = number(x, values, block)
        place = _slot(block, k) if tiled(program) else _address(block, "%po", "%so", k)
        block.put(f"store {t.vector} {result}, ptr {place}, align {t.bytes}")
    results = dict.fromkeys(number(x, values, block) for x in program.outputs if not _finite(x))
    status = _finished(block, status, list(results))
    block.put(f"store {t.vector} {status}, ptr %status, align 64")
    arguments = [f"ptr %p{a}, i64 %s{a}" for a in range(len(program.arguments))]
    signature = ", ".join([*arguments, "ptr %po, i64 %so, ptr noalias %status"])
    return block.function(f"@{name}({signature}) noinline")


def tiled(program: Program) -> bool:
    """Whether all results go to a tile, even where states lie side by side.

    Of many stores whose distances are not known, LLVM asks of each two whether they may meet.
    """
    return program.equations is not None or len(program.outputs) > 256


def _streamed(program: Program, t: Lanes) -> int | None:
    """How many numbers go past the caches, if they can."""
    n = program.results
    return n if tiled(program) and streams(n, t) else None


def _filled(program: Program) -> bool:
    """Whether constants among the outputs are written by themselves: not if something is computed from them yet."""
    return tiled(program) and program.equations is None


def _slot(block: Block, k: int) -> str:
    """Where a tile has output k."""
    return block.let(f"getelementptr {block.lanes.scalar}, ptr %po, i64 {k * block.lanes.width}")


def _constant(x: Operand) -> float | None:
    """The number that an operand is in every state."""
    return x.value if isinstance(x, Expr) else x


def _fill(program: Program, t: Lanes) -> str:
    """A function that writes the outputs that are constant into a tile, once for all states."""
    slots = [(k, value) for k, x in enumerate(program.outputs) if (value := _constant(x)) is not None]
    places = ", ".join(f"i64 {k * t.width}" for k, _ in slots)
    numbers = ", ".join(f"{t.scalar} {t.number(float(value))}" for _, value in slots)
    block = Block(t)
    block.put("%place = load i64, ptr %place.at, align 8")
    block.put(f"%slot = getelementptr {t.scalar}, ptr %tile, i64 %place")
    block.put(f"store {t.vector} {block.spread('%number.at')}, ptr %slot, align {t.bytes}")
    step = "\n".join(
        [
            "  %place.at = getelementptr i64, ptr @fill.places, i64 %k",
            f"  %number.at = getelementptr {t.scalar}, ptr @fill.numbers, i64 %k",
            *block.lines,
        ]
    )
    loop = f"start:\n  br label %each\n{repeated('each', '%k', len(slots), step, 'start', 'each', 'end')}\nend:"
    return f"""@fill.places = internal constant [{len(slots)} x i64] [{places}]
@fill.numbers = internal constant [{len(slots)} x {t.scalar}] [{numbers}]
define internal void @fill(ptr %tile) {{
{loop if slots else ""}
  ret void
}}"""


def _finite(x: Operand) -> bool:
    """Whether an output is known to be a finite number."""
    value = _constant(x)
    return value is not None and math.isfinite(value)


def _finished(block: Block, status: str, results: list[str]) -> str:
    """The status, nan where a result is not finite; many results are gone through side by side."""
    zero = block.lanes.splat(0.0)
    sums = [status, *([zero] * 3 if len(results) > 16 else [])]
    for k, result in enumerate(results):
        sums[k % len(sums)] = block.fma(result, zero, sums[k % len(sums)])
    return reduce(lambda x, y: block.arithmetic("fadd", x, y), sums)


def _address(block: Block, pointer: str, stride: str, k: int) -> str:
    offset = block.let(f"mul i64 {stride}, {k}")
    return block.let(f"getelementptr {block.lanes.scalar}, ptr {pointer}, i64 {offset}")


def number(x: Operand, values: Mapping[int, str], block: Block) -> str:
    """A node that has been computed, or a constant, as a vector."""
    value = _constant(x)
    return block.lanes.splat(float(value)) if value is not None else values[x.index]  # type: ignore[union-attr]


def compute(program: Program, block: Block, uniform: Collection[int] = ()) -> dict[int, str]:
    """The values of all nodes, from arguments at %p0, %p1, ... with their entries %s0, %s1, ... apart.

    Arguments in `uniform` are the same numbers for all states. Sines and cosines come first, with nothing but what
    their angles need before them.
    """
    places, values = program.places(), dict[int, str]()

    def write(nodes: Iterable[Expr]) -> None:
        for node in nodes:
            if node.index in values or node.op == "constant":
                continue
            if node.op == "input":
                a, k = places[node.index]
                source = _address(block, f"%p{a}", f"%s{a}", k)
                values[node.index] = block.spread(source) if a in uniform else block.read(source)
            else:
                values[node.index] = EMIT[node.op](block, *(number(a, values, block) for a in node.args))

    for angles in rounds(program):
        write(schedule(angles))
        pairs = sine_cosine(block, [number(x, values, block) for x in angles])
        for angle, pair in zip(angles, pairs, strict=True):
            for op, name in zip(("sin", "cos"), pair, strict=True):
                values[angle.graph.node(op, angle).index] = name
    write(program.nodes)
    return values


def _sign(block: Block, x: str) -> str:
    """-1, 0 or 1; a nan stays a nan."""
    t = block.lanes
    one = block.call("copysign", t.splat(1.0), x)
    signed = block.choose(block.let(f"fcmp one {t.vector} {x}, zeroinitializer"), one, t.splat(0.0))
    return block.choose(block.let(f"fcmp uno {t.vector} {x}, zeroinitializer"), x, signed)


def _select(block: Block, x: str, positive: str, otherwise: str) -> str:
    above = block.let(f"fcmp ogt {block.lanes.vector} {x}, zeroinitializer")
    return block.choose(above, positive, otherwise)


EMIT: dict[str, Callable[..., str]] = {
    "add": lambda block, x, y: block.arithmetic("fadd", x, y),
    "sub": lambda block, x, y: block.arithmetic("fsub", x, y),
    "mul": lambda block, x, y: block.arithmetic("fmul", x, y),
    "div": lambda block, x, y: block.arithmetic("fdiv", x, y),
    "neg": lambda block, x: block.let(f"fneg {block.lanes.vector} {x}"),
    "sqrt": lambda block, x: block.call("sqrt", x),
    "abs": lambda block, x: block.call("fabs", x),
    "min": lambda block, x, y: block.call("minimum", x, y),
    "max": lambda block, x, y: block.call("maximum", x, y),
    "tanh": lambda block, x: each_lane(block, "tanh", x),
    "sign": _sign,
    "select": _select,
}
"""How each operation is written; sine and cosine are `trigonometry`."""
