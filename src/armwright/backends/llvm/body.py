"""The body of a program for W states: one function, or several where one would take LLVM too long."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce

from armwright.backends.llvm.block import Block
from armwright.backends.llvm.hyperbolic import tanh
from armwright.backends.llvm.trigonometry import sine_cosine
from armwright.backends.slots import allocate_slots
from armwright.graph.angles import SINE_OPERATIONS, angle_rounds
from armwright.graph.expression import LEAVES, Expr, Operand, schedule
from armwright.graph.program import Program

MAX_FUNCTION_NODES, PIECE_NODES = 12_000, 1000
"""The nodes of a program up to which it is one function; a larger one is several of PIECE_NODES.

The compile time of LLVM grows faster than the length of a function. Between two functions values pass through memory.
Derivatives of a humanoid of 38 freedoms, 24,000 operations, compile in 3 s instead of 7 and run in three quarters of
the time; those of a quadruped, 6000, would take a tenth longer.
"""


def write_body(program: Program, block: Block, name: str, filled: bool = False) -> str:
    """Return a function that computes the program for W states and marks results that are not finite in `status`.

    If the output is `filled`, its constants are there already.
    """
    pieces = _pieces(program)
    if len(pieces) == 1:
        _write_piece(program, block, _Values(program, block), pieces[0], range(len(program.outputs)), filled)
        _check_unused(program, block)
        return block.function(f"@{name}({signature(program)}) noinline")
    return "\n\n".join(_in_pieces(program, block, name, pieces, filled))


def tiled(program: Program) -> bool:
    """Return True if all results go to a tile, even if states are contiguous.

    For many stores with unknown strides LLVM checks each pair for overlap.
    """
    return program.equations is not None or len(program.outputs) > 256


def arguments(program: Program) -> list[str]:
    """Return address and entry stride of each argument of a function of the program."""
    return [f"ptr %p{a}, i64 %s{a}" for a in range(len(program.arguments))]


def signature(program: Program) -> str:
    """Return the parameters of a function of the program."""
    return ", ".join([*arguments(program), "ptr %po, i64 %so, ptr noalias %status"])


class _Values(dict[int, str]):
    """Computed values by the index of the node; other nodes are inputs, or stored by an earlier piece."""

    def __init__(self, program: Program, block: Block, slots: Mapping[int, int] | None = None) -> None:
        super().__init__()
        self._places, self._block, self._slots = program.places(), block, slots or {}

    def __missing__(self, index: int) -> str:
        block = self._block
        if index in self._places:
            a, k = self._places[index]
            self[index] = name = block.read(address(block, f"%p{a}", f"%s{a}", k))
        else:
            self[index] = name = block.load("%slots", self._slots[index], block.lanes.bytes)
        return name


def _pieces(program: Program) -> list[list[Expr]]:
    """Return all computed nodes in pieces of about equal length; sines and their angles come first."""
    first = {node.index for angles in angle_rounds(program) for node in schedule(angles)}
    inner = [node for node in program.nodes if node.op not in LEAVES]
    early = [node for node in inner if node.index in first or node.op in SINE_OPERATIONS]
    known = {node.index for node in early}
    rest = [node for node in inner if node.index not in known]
    count = -(-len(rest) // PIECE_NODES) if len(inner) > MAX_FUNCTION_NODES else 1
    parts = [rest[len(rest) * k // count : len(rest) * (k + 1) // count] for k in range(count)]
    return [[*early, *parts[0]], *parts[1:]]


def _write_piece(
    program: Program, block: Block, values: _Values, piece: list[Expr], outputs: Sequence[int], filled: bool
) -> None:
    """Write some nodes, and the outputs available then."""
    t = block.lanes
    if any(node.op in SINE_OPERATIONS for node in piece):
        _write_sines(program, block, values)
    _write(piece, block, values)
    status = block.let(f"load {t.vector}, ptr %status, align 64")
    for k in outputs:
        x = program.outputs[k]
        if filled and constant(x) is not None:
            continue
        place = _slot(block, k) if tiled(program) else address(block, "%po", "%so", k)
        block.put(f"store {t.vector} {number(x, values, block)}, ptr {place}, align {t.bytes}")
    chosen = (program.outputs[k] for k in outputs)
    results = dict.fromkeys(number(x, values, block) for x in chosen if not _finite(x))
    status = _updated_status(block, status, list(results))
    block.put(f"store {t.vector} {status}, ptr %status, align 64")


def _check_unused(program: Program, block: Block) -> None:
    """Mark unused inputs that are not finite in the status."""
    used = {node.index for node in program.nodes}
    unused = [place for index, place in program.places().items() if index not in used]
    if unused:
        t = block.lanes
        status = block.let(f"load {t.vector}, ptr %status, align 64")
        for a, k in unused:
            status = block.fma(block.read(address(block, f"%p{a}", f"%s{a}", k)), t.splat(0.0), status)
        block.put(f"store {t.vector} {status}, ptr %status, align 64")


def _in_pieces(program: Program, block: Block, name: str, pieces: list[list[Expr]], filled: bool) -> Iterator[str]:
    """Yield a function for each piece, and the one that calls them."""
    t, allocation = block.lanes, allocate_slots(pieces, lambda node: (x.index for x in node.args))
    home, slots = allocation.home, allocation.slots
    last = len(pieces) - 1
    piece_of_output = [home.get(x.index, last) if isinstance(x, Expr) else last for x in program.outputs]
    for k, piece in enumerate(pieces):
        part = block.sibling()
        values = _Values(program, part, slots)
        outputs = [i for i, piece_of in enumerate(piece_of_output) if piece_of == k]
        _write_piece(program, part, values, piece, outputs, filled)
        if k == last:
            _check_unused(program, part)
        for node in piece:
            if node.index in slots:
                part.store("%slots", slots[node.index], values[node.index], t.bytes)
        yield part.function(f"@{name}.{k}({signature(program)}, ptr noalias %slots) noinline")
    call_arguments = ", ".join(arguments(program))
    yield "\n".join(
        [
            f"define internal void @{name}({signature(program)}) noinline {{",
            f"  %slots = alloca [{max(1, allocation.size)} x {t.vector}], align 64",
            *(
                f"  call void @{name}.{k}({call_arguments}, ptr %po, i64 %so, ptr %status, ptr %slots)"
                for k in range(len(pieces))
            ),
            "  ret void\n}",
        ]
    )


def _slot(block: Block, k: int) -> str:
    """Return the address of output k in a tile."""
    return block.let(f"getelementptr {block.lanes.scalar}, ptr %po, i64 {k * block.lanes.width}")


def constant(x: Operand) -> float | None:
    """Return the number that an operand is in every state, or None."""
    return x.value if isinstance(x, Expr) else x


def _finite(x: Operand) -> bool:
    """Return True if an output is a finite constant."""
    value = constant(x)
    return value is not None and math.isfinite(value)


def _updated_status(block: Block, status: str, results: list[str]) -> str:
    """Return the status, nan if a result is not finite; many results go through parallel sums."""
    zero = block.lanes.splat(0.0)
    sums = [status, *([zero] * 3 if len(results) > 16 else [])]
    for k, result in enumerate(results):
        sums[k % len(sums)] = block.fma(result, zero, sums[k % len(sums)])
    return reduce(lambda x, y: block.arithmetic("fadd", x, y), sums)


def address(block: Block, pointer: str, stride: str, k: int) -> str:
    """Return the address of entry k of an array."""
    offset = block.let(f"mul i64 {stride}, {k}")
    return block.let(f"getelementptr {block.lanes.scalar}, ptr {pointer}, i64 {offset}")


def number(x: Operand, values: Mapping[int, str], block: Block) -> str:
    """Return a computed node, or a constant, as a vector."""
    value = constant(x)
    return block.lanes.splat(float(value)) if value is not None else values[x.index]  # type: ignore[union-attr]


def compute(program: Program, block: Block, uniform: Collection[int] = ()) -> dict[int, str]:
    """Return the values of all nodes, from arguments at %p0, %p1, ... with entry strides %s0, %s1, ...

    Arguments in `uniform` are equal for all states. Sines and cosines come first, after the nodes of their angles.
    """
    values = _Values(program, block)
    for x, (a, k) in program.places().items():
        if a in uniform:
            values[x] = block.load_broadcast(address(block, f"%p{a}", f"%s{a}", k))
    _write_sines(program, block, values)
    _write(program.nodes, block, values)
    return values


def _write(nodes: Iterable[Expr], block: Block, values: _Values) -> None:
    for node in nodes:
        if node.index not in values and node.op not in LEAVES:
            values[node.index] = EMIT[node.op](block, *(number(x, values, block) for x in node.args))


def _write_sines(program: Program, block: Block, values: _Values) -> None:
    for angles in angle_rounds(program):
        _write(schedule(angles), block, values)
        pairs = sine_cosine(block, [number(x, values, block) for x in angles])
        for angle, pair in zip(angles, pairs, strict=True):
            for op, name in zip(SINE_OPERATIONS, pair, strict=True):
                values[angle.graph.node(op, angle).index] = name


def _sign(block: Block, x: str) -> str:
    """Return -1, 0 or 1; a nan stays a nan."""
    t = block.lanes
    one = block.call("copysign", t.splat(1.0), x)
    signed = block.select(block.let(f"fcmp one {t.vector} {x}, zeroinitializer"), one, t.splat(0.0))
    return block.select(block.let(f"fcmp uno {t.vector} {x}, zeroinitializer"), x, signed)


def _select(block: Block, x: str, positive: str, otherwise: str) -> str:
    above = block.let(f"fcmp ogt {block.lanes.vector} {x}, zeroinitializer")
    return block.select(above, positive, otherwise)


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
    "tanh": tanh,
    "sign": _sign,
    "select": _select,
}
"""The code of each operation; `trigonometry` writes sine and cosine."""
