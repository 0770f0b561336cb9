"""A program as LLVM IR: vector code over the states of a batch.

One function, `body`, computes a program for W states at once. It reads the k-th input of an argument as the vector at
pointer + k * stride, and writes outputs likewise. So the same code serves arrays with contiguous states and the small
tiles into which other layouts are packed. As `body` computes every state, results do not depend on the size and layout
of a batch, on the number of threads or on the position of a state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from armwright.backends.llvm.batch_loop import HEADER, Batch, packers, row_packers, streams, tile_size
from armwright.backends.llvm.block import Block, VectorType, declarations, loop_text
from armwright.backends.llvm.body import constant, tiled, write_body
from armwright.backends.llvm.integration import integration_body
from armwright.backends.llvm.single import single_call
from armwright.backends.llvm.solve import solver
from armwright.backends.llvm.trigonometry import careful
from armwright.graph.program import FinalState, Program


def module(program: Program, lanes: VectorType) -> str:
    """Return the module: body, packing, the loop over a batch, the function for one state."""
    block = Block(lanes)
    parts = [
        *_bodies(program, block),
        *([_fill(program, lanes)] if _filled(program) else []),
        *([solver(program.equations, block.sibling())] if program.equations else []),
        careful(lanes),
        *packers(lanes),
        *row_packers({*program.sizes, program.results}, lanes, _streamed(program, lanes)),
        "\n".join(_run(program, lanes)),
        single_call(program, lanes, _filled(program)),
        *declarations(block.declared, lanes),
    ]
    return "\n\n".join(parts) + "\n"


def _bodies(program: Program, block: Block) -> Iterator[str]:
    """Yield the `body` of a program, and the functions it calls."""
    integration = program.integration
    if integration is None:
        yield write_body(program, block, "body", filled=_filled(program))
        return
    if isinstance(integration, FinalState):
        yield write_body(integration.rates_of(program), block, "rates")
    else:
        yield write_body(integration.rates_of(program), block.sibling(), "rates")
        yield write_body(integration.stage_program(program), block, "derivatives")
    yield integration_body(program, integration, block)


def _run(program: Program, t: VectorType) -> Iterator[str]:
    """Yield the loop that calls `body` for every W states of a batch."""
    sizes = {**{str(a): n for a, n in enumerate(program.sizes)}, "o": program.results}
    batch = Batch({name: str(n) for name, n in sizes.items()}, t, rows=True)
    yield HEADER
    yield f"  %status = alloca {t.vector}, align 64"
    yield f"  store {t.vector} zeroinitializer, ptr %status, align 64"
    if tiled(program):
        batch = replace(batch, tiled="o")
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
        yield "  fence seq_cst"  # stores past the caches finish first
    yield batch.answer()


def _streamed(program: Program, t: VectorType) -> int | None:
    """Return the row size of results that bypass the caches, or None."""
    n = program.results
    return n if tiled(program) and streams(n, t) else None


def _filled(program: Program) -> bool:
    """Return True if constant outputs are written once for all states: not if equations still use them."""
    return tiled(program) and program.equations is None


def _fill(program: Program, t: VectorType) -> str:
    """Return a function that writes the constant outputs into a tile, once for all states."""
    slots = [(k, value) for k, x in enumerate(program.outputs) if (value := constant(x)) is not None]
    places = ", ".join(f"i64 {k * t.width}" for k, _ in slots)
    numbers = ", ".join(f"{t.scalar} {t.number(float(value))}" for _, value in slots)
    block = Block(t)
    block.put("%place = load i64, ptr %place.at, align 8")
    block.put(f"%slot = getelementptr {t.scalar}, ptr %tile, i64 %place")
    block.put(f"store {t.vector} {block.load_broadcast('%number.at')}, ptr %slot, align {t.bytes}")
    step = "\n".join(
        [
            "  %place.at = getelementptr i64, ptr @fill.places, i64 %k",
            f"  %number.at = getelementptr {t.scalar}, ptr @fill.numbers, i64 %k",
            *block.lines,
        ]
    )
    loop = f"start:\n  br label %each\n{loop_text('each', '%k', len(slots), step, 'start', 'each', 'end')}\nend:"
    return f"""@fill.places = internal constant [{len(slots)} x i64] [{places}]
@fill.numbers = internal constant [{len(slots)} x {t.scalar}] [{numbers}]
define internal void @fill(ptr %tile) {{
{loop if slots else ""}
  ret void
}}"""
