"""A program as LLVM IR text: vector code over the states of a batch.

Everything of a program is computed by one function, `body`, for W states at once. It reads the k-th input of an
argument as the vector at pointer + k * stride, and writes outputs alike, so the same code serves arrays whose
states lie side by side in memory and small tiles into which other layouts are packed. As every state goes
through `body`, results do not depend on the size of a batch, on its layout, on the number of threads or on the
place of a state in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from armwright.backends.llvm.block import Block, Lanes, each_lane, library
from armwright.backends.llvm.single import single_call
from armwright.backends.llvm.trigonometry import careful, sine_cosine
from armwright.graph.angles import rounds
from armwright.graph.expression import Expr, Operand, schedule
from armwright.graph.program import Program


def module(program: Program, lanes: Lanes) -> str:
    """The whole module: body, packing, the loop over a batch."""
    block = Block(lanes)
    body = write_body(program, block, "body")
    sizes = sorted({*program.sizes, len(program.outputs)})
    packers = [text for n in sizes for text in (_pack_rows(n, lanes), _unpack_rows(n, lanes))]
    parts = [
        body,
        careful(lanes),
        pack_any(lanes),
        unpack_any(lanes),
        *packers,
        _run(program, lanes),
        single_call(program, lanes),
        _masked_declarations(lanes),
        *sorted(block.declared),
        f"declare {lanes.scalar} @{library('sin', lanes)}({lanes.scalar})",
        f"declare {lanes.scalar} @{library('cos', lanes)}({lanes.scalar})",
        f"declare {lanes.scalar} @{library('tanh', lanes)}({lanes.scalar})",
        f"declare i1 @llvm.vector.reduce.or.v{lanes.width}i1({lanes.truths})",
        '!0 = !{!"branch_weights", i32 1, i32 1000000}',  # a rare branch
    ]
    return "\n\n".join(parts) + "\n"


def write_body(program: Program, block: Block, name: str) -> str:
    """A function that computes the program for W states and marks in `status` what is not finite."""
    t = block.lanes
    values = compute(program, block)
    status = block.let(f"load {t.vector}, ptr %status, align 64")
    for argument, (_, entries) in enumerate(program.arguments):
        for k, entry in enumerate(entries):
            if entry.index not in values:  # nothing depends on it, yet it must be a number
                unused = block.read(_address(block, f"%p{argument}", f"%s{argument}", k))
                status = block.fma(unused, t.splat(0.0), status)
    for k, x in enumerate(program.outputs):
        result = number(x, values, block)
        block.put(f"store {t.vector} {result}, ptr {_address(block, '%po', '%so', k)}, align {t.bytes}")
        status = block.fma(result, t.splat(0.0), status)  # nan where the result is not finite
    block.put(f"store {t.vector} {status}, ptr %status, align 64")
    arguments = [f"ptr %p{a}, i64 %s{a}" for a in range(len(program.arguments))]
    signature = ", ".join([*arguments, "ptr %po, i64 %so, ptr noalias %status"])
    return f"define internal void @{name}({signature}) noinline {{\n" + "\n".join(block.lines) + "\nret void\n}"


def _address(block: Block, pointer: str, stride: str, k: int) -> str:
    offset = block.let(f"mul i64 {stride}, {k}")
    return block.let(f"getelementptr {block.lanes.scalar}, ptr {pointer}, i64 {offset}")


def number(x: Operand, values: Mapping[int, str], block: Block) -> str:
    """A node that has been computed, or a constant, as a vector."""
    value = x.value if isinstance(x, Expr) else x
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


def _transposed(block: Block, rows: list[str]) -> list[str]:
    """W vectors as the rows of a square, turned into its columns by log2(W) rounds of exchanges."""
    t, step = block.lanes, 1
    while step < t.width:
        turned = list(rows)
        for i in range(t.width):
            if i & step:
                continue
            low = [j if not j & step else t.width + j - step for j in range(t.width)]
            high = [j + step if not j & step else t.width + j for j in range(t.width)]
            for target, mask in ((i, low), (i + step, high)):
                indices = ", ".join(f"i32 {m}" for m in mask)
                turned[target] = block.let(
                    f"shufflevector {t.vector} {rows[i]}, {t.vector} {rows[i + step]}, <{t.width} x i32> <{indices}>"
                )
        rows, step = turned, 2 * step
    return rows


def _blocks(n: int, width: int) -> Iterator[tuple[int, str]]:
    """Columns taken W at a time: where each group starts, and a mask of those that exist."""
    for start in range(0, n, width):
        yield start, "<" + ", ".join(f"i1 {str(start + j < n).lower()}" for j in range(width)) + ">"


def _pack_rows(n: int, lanes: Lanes) -> str:
    """W states, each a row of n numbers side by side, into a tile with one vector per number."""
    block = Block(lanes)
    t = lanes
    for start, mask in _blocks(n, t.width):
        rows = []
        for i in range(t.width):
            offset = block.let(f"mul i64 %stride, {i}")
            place = block.let(f"add i64 {offset}, {start}")
            source = block.let(f"getelementptr {t.scalar}, ptr %source, i64 {place}")
            rows.append(
                block.let(
                    f"call {t.vector} @llvm.masked.load.{t.suffix}.p0"
                    f"(ptr {source}, i32 {t.bytes}, {t.truths} {mask}, {t.vector} zeroinitializer)"
                )
            )
        for j, column in enumerate(_transposed(block, rows)):
            target = block.let(f"getelementptr {t.scalar}, ptr %tile, i64 {(start + j) * t.width}")
            block.put(f"store {t.vector} {column}, ptr {target}, align {t.bytes * t.width}")
    header = f"define internal void @pack{n}(ptr noalias %source, i64 %stride, ptr noalias %tile) alwaysinline {{\n"
    return header + "\n".join(block.lines) + "\nret void\n}"


def _unpack_rows(n: int, lanes: Lanes) -> str:
    """The reverse of `_pack_rows`."""
    block = Block(lanes)
    t = lanes
    for start, mask in _blocks(n, t.width):
        columns = []
        for j in range(t.width):
            source = block.let(f"getelementptr {t.scalar}, ptr %tile, i64 {(start + j) * t.width}")
            columns.append(block.let(f"load {t.vector}, ptr {source}, align {t.bytes * t.width}"))
        for i, row in enumerate(_transposed(block, columns)):
            offset = block.let(f"mul i64 %stride, {i}")
            place = block.let(f"add i64 {offset}, {start}")
            target = block.let(f"getelementptr {t.scalar}, ptr %target, i64 {place}")
            block.put(
                f"call void @llvm.masked.store.{t.suffix}.p0"
                f"({t.vector} {row}, ptr {target}, i32 {t.bytes}, {t.truths} {mask})"
            )
    header = f"define internal void @unpack{n}(ptr noalias %tile, ptr noalias %target, i64 %stride) alwaysinline {{\n"
    return header + "\n".join(block.lines) + "\nret void\n}"


def _masked_declarations(lanes: Lanes) -> str:
    t = lanes
    return (
        f"declare {t.vector} @llvm.masked.load.{t.suffix}.p0(ptr, i32, {t.truths}, {t.vector})\n"
        f"declare void @llvm.masked.store.{t.suffix}.p0({t.vector}, ptr, i32, {t.truths})"
    )


def pack_any(lanes: Lanes) -> str:
    """States in any layout, or fewer than W of them (the last one repeated), into a tile."""
    t = lanes
    signature = "ptr %source, i64 %state, i64 %entry, i64 %n, i64 %count, ptr %tile"
    return f"""define internal void @pack_any({signature}) noinline {{
start:
  %last = sub i64 %count, 1
  br label %entries
entries:
  %k = phi i64 [ 0, %start ], [ %k1, %next ]
  %base = mul i64 %k, %entry
  %row = mul i64 %k, {t.width}
  br label %states
states:
  %i = phi i64 [ 0, %entries ], [ %i1, %states ]
  %short = icmp slt i64 %i, %last
  %lane = select i1 %short, i64 %i, i64 %last
  %offset = mul i64 %lane, %state
  %place = add i64 %base, %offset
  %from = getelementptr {t.scalar}, ptr %source, i64 %place
  %x = load {t.scalar}, ptr %from, align {t.bytes}
  %slot = add i64 %row, %i
  %to = getelementptr {t.scalar}, ptr %tile, i64 %slot
  store {t.scalar} %x, ptr %to, align {t.bytes}
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, {t.width}
  br i1 %more, label %states, label %next
next:
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %n
  br i1 %again, label %entries, label %end
end:
  ret void
}}"""


def unpack_any(lanes: Lanes) -> str:
    t = lanes
    signature = "ptr %tile, i64 %n, i64 %count, ptr %target, i64 %state, i64 %entry"
    return f"""define internal void @unpack_any({signature}) noinline {{
start:
  br label %entries
entries:
  %k = phi i64 [ 0, %start ], [ %k1, %next ]
  %base = mul i64 %k, %entry
  %row = mul i64 %k, {t.width}
  br label %states
states:
  %i = phi i64 [ 0, %entries ], [ %i1, %states ]
  %slot = add i64 %row, %i
  %from = getelementptr {t.scalar}, ptr %tile, i64 %slot
  %x = load {t.scalar}, ptr %from, align {t.bytes}
  %offset = mul i64 %i, %state
  %place = add i64 %base, %offset
  %to = getelementptr {t.scalar}, ptr %target, i64 %place
  store {t.scalar} %x, ptr %to, align {t.bytes}
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %count
  br i1 %more, label %states, label %next
next:
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %n
  br i1 %again, label %entries, label %end
end:
  ret void
}}"""


def answer(lanes: Lanes) -> list[str]:
    """The end of a `run`: 1 if any lane of the status is not a number, else 0."""
    t = lanes
    return [
        f"  %told = load {t.vector}, ptr %status, align 64",
        f"  %broken = fcmp uno {t.vector} %told, zeroinitializer",
        f"  %any = call i1 @llvm.vector.reduce.or.v{t.width}i1({t.truths} %broken)",
        "  %answer = zext i1 %any to i32",
        "  ret i32 %answer",
    ]


def _tile(n: int, lanes: Lanes) -> int:
    """Scalars in a tile of n vectors, with room for the whole last group of a transposition."""
    return -(-n // lanes.width) * lanes.width * lanes.width


def _run(program: Program, lanes: Lanes) -> str:
    """run(layout, begin, end): the states begin..end of a batch; 1 if any result is not finite.

    The layout holds, for each argument and then for the output: address, distance of states, distance of entries, the
    distances counted in numbers.
    """
    t = lanes
    sizes = [*program.sizes, len(program.outputs)]
    names = [f"{a}" for a in range(len(program.sizes))] + ["o"]
    lines = ["define i32 @run(ptr %layout, i64 %begin, i64 %end) {", "start:"]
    lines.append(f"  %status = alloca {t.vector}, align 64")
    lines.append(f"  store {t.vector} zeroinitializer, ptr %status, align 64")
    for i, (name, n) in enumerate(zip(names, sizes, strict=True)):
        lines.append(f"  %tile{name} = alloca [{_tile(n, t)} x {t.scalar}], align 64")
        for j, field in enumerate(("address", "state", "entry")):
            lines.append(f"  %{field}{name}.at = getelementptr i64, ptr %layout, i64 {3 * i + j}")
            kind = "ptr" if field == "address" else "i64"
            lines.append(f"  %{field}{name} = load {kind}, ptr %{field}{name}.at, align 8")
        lines.append(f"  %side{name} = icmp eq i64 %state{name}, 1")
        lines.append(f"  %rows{name} = icmp eq i64 %entry{name}, 1")
    lines += ["  %some = icmp slt i64 %begin, %end", "  br i1 %some, label %loop, label %finish", "loop:"]
    lines.append("  %at = phi i64 [ %begin, %start ], [ %then, %after ]")
    lines.append("  %left = sub i64 %end, %at")
    lines.append(f"  %full = icmp sge i64 %left, {t.width}")
    lines.append(f"  %count = select i1 %full, i64 {t.width}, i64 %left")
    for name in names:
        lines.append(f"  %shift{name} = mul i64 %at, %state{name}")
        lines.append(f"  %here{name} = getelementptr {t.scalar}, ptr %address{name}, i64 %shift{name}")
        lines.append(f"  %direct{name} = and i1 %full, %side{name}")
        lines.append(f"  %turned{name} = and i1 %full, %rows{name}")
        lines.append(f"  %read{name} = select i1 %direct{name}, ptr %here{name}, ptr %tile{name}")
        lines.append(f"  %step{name} = select i1 %direct{name}, i64 %entry{name}, i64 {t.width}")
    lines.append("  br label %fetch0")
    for a, n in enumerate(program.sizes):
        following = f"fetch{a + 1}" if a + 1 < len(program.sizes) else "compute"
        lines += [
            f"fetch{a}:",
            f"  br i1 %direct{a}, label %{following}, label %copy{a}",
            f"copy{a}:",
            f"  br i1 %turned{a}, label %turn{a}, label %gather{a}",
            f"turn{a}:",
            f"  call void @pack{n}(ptr %here{a}, i64 %state{a}, ptr %tile{a})",
            f"  br label %{following}",
            f"gather{a}:",
            f"  call void @pack_any(ptr %here{a}, i64 %state{a}, i64 %entry{a}, i64 {n}, i64 %count, ptr %tile{a})",
            f"  br label %{following}",
        ]
    arguments = ", ".join(f"ptr %read{name}, i64 %step{name}" for name in names)
    m = len(program.outputs)
    lines += [
        "compute:",
        f"  call void @body({arguments}, ptr %status)",
        "  br i1 %directo, label %after, label %deliver",
        "deliver:",
        "  br i1 %turnedo, label %turno, label %scattero",
        "turno:",
        f"  call void @unpack{m}(ptr %tileo, ptr %hereo, i64 %stateo)",
        "  br label %after",
        "scattero:",
        f"  call void @unpack_any(ptr %tileo, i64 {m}, i64 %count, ptr %hereo, i64 %stateo, i64 %entryo)",
        "  br label %after",
        "after:",
        f"  %then = add i64 %at, {t.width}",
        "  %again = icmp slt i64 %then, %end",
        "  br i1 %again, label %loop, label %finish",
        "finish:",
        *answer(t),
        "}",
    ]
    return "\n".join(lines)
