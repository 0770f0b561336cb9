"""The function `run` of a module: a loop over the states of a batch, W at a time, in any layout.

`run(layout, begin, end)` computes the states begin..end and returns 1 if any result is not finite. The layout holds,
for each argument and then for the output: address, stride of states and stride of entries, the strides in numbers.
Where W states are contiguous, code reads and writes the array itself; otherwise they pass through a tile, which has one
vector of W states per number. Rows of a large output bypass the caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from armwright.backends.llvm.block import Block, VectorType, loop_text

IMPOSSIBLE_STRIDE = 2**63 - 1
"""A stride that no array has."""

MAX_CACHED_BYTES = 2**24
"""Bytes of results up to which they stay in the caches; beyond, reading lines to overwrite them wastes time."""

STREAM_BYTES = 16
"""Bytes of one write that bypasses the caches: the alignment of every allocated array."""

HEADER = "define i32 @run(ptr %layout, i64 %begin, i64 %end) {\nstart:"


@dataclass(frozen=True)
class Batch:
    """The arrays of a `run` by name, each with the text of its numbers per state; the last is the output.

    With `rows`, the numbers are known when the code is written, and states that are whole rows are transposed at once.
    Array `tiled` always passes through its tile, and bypasses the caches where it can.
    """

    sizes: Mapping[str, str]
    lanes: VectorType
    rows: bool = False
    tiled: str = ""

    def fields(self, name: str) -> Iterator[str]:
        """Load the layout of one array into registers."""
        for j, field in enumerate(("address", "state", "entry"), start=3 * list(self.sizes).index(name)):
            yield f"  %{field}.{name}.at = getelementptr i64, ptr %layout, i64 {j}"
            yield f"  %{field}.{name} = load {'ptr' if field == 'address' else 'i64'}, ptr %{field}.{name}.at, align 8"
        yield f"  %contiguous.{name} = icmp eq i64 %state.{name}, {1 if name != self.tiled else IMPOSSIBLE_STRIDE}"
        if name == self.tiled:
            yield f"  %columns.{name} = icmp eq i64 %state.{name}, 1"
            yield from self._bypasses_caches(name)
        if self.rows:
            yield f"  %rows.{name} = icmp eq i64 %entry.{name}, 1"

    def _bypasses_caches(self, name: str) -> Iterator[str]:
        """Compute %streamed: true if rows bypass the caches, being many, contiguous and aligned."""
        n, t = self.sizes[name], self.lanes
        yield f"""  %states = sub i64 %end, %begin
  %many.{name} = icmp sgt i64 %states, {MAX_CACHED_BYTES // (t.bytes * int(n))}
  %packed.{name} = icmp eq i64 %state.{name}, {n if streams(int(n), t) else IMPOSSIBLE_STRIDE}
  %place.{name} = ptrtoint ptr %address.{name} to i64
  %first.{name} = and i64 %begin, {t.width - 1}
  %misaligned.{name} = and i64 %place.{name}, {STREAM_BYTES - 1}
  %unaligned.{name} = or i64 %first.{name}, %misaligned.{name}
  %aligned.{name} = icmp eq i64 %unaligned.{name}, 0
  %large.{name} = and i1 %many.{name}, %packed.{name}
  %streamed.{name} = and i1 %large.{name}, %aligned.{name}"""

    def over(self, before: str, work: Iterable[str]) -> Iterator[str]:
        """Write the loop from label `before` to label finish around `work`, which ends by jumping to label after.

        Array x is read or written at %read.x, with its numbers %step.x apart.
        """
        t = self.lanes
        yield f"""  %some = icmp slt i64 %begin, %end
  br i1 %some, label %chunk, label %finish
chunk:
  %at = phi i64 [ %begin, %{before} ], [ %then, %after ]
  %left = sub i64 %end, %at
  %full = icmp sge i64 %left, {t.width}
  %count = select i1 %full, i64 {t.width}, i64 %left"""
        for name in self.sizes:
            yield f"""  %shift.{name} = mul i64 %at, %state.{name}
  %here.{name} = getelementptr {t.scalar}, ptr %address.{name}, i64 %shift.{name}
  %direct.{name} = and i1 %full, %contiguous.{name}"""
            if self.rows:
                yield f"  %full.rows.{name} = and i1 %full, %rows.{name}"
            yield f"""  %read.{name} = select i1 %direct.{name}, ptr %here.{name}, ptr %tile.{name}
  %step.{name} = select i1 %direct.{name}, i64 %entry.{name}, i64 {t.width}"""
        yield from work
        yield f"""after:
  %then = add i64 %at, {t.width}
  %again = icmp slt i64 %then, %end
  br i1 %again, label %chunk, label %finish
finish:"""

    def fetch(self, following: str) -> Iterator[str]:
        """Copy inputs into tiles where needed; continue at label `following`."""
        *names, _ = self.sizes
        yield f"  br label %fetch.{names[0]}"
        for name, then in zip(names, [*(f"fetch.{name}" for name in names[1:]), following], strict=True):
            n, there = self.sizes[name], f"ptr %here.{name}, i64 %state.{name}"
            yield f"fetch.{name}:"
            yield from self._copied(
                name,
                then,
                f"call void @pack{n}({there}, ptr %tile.{name})",
                f"call void @pack_any({there}, i64 %entry.{name}, i64 {n}, i64 %count, ptr %tile.{name})",
            )

    def deliver(self) -> Iterator[str]:
        """Copy the output out of its tile if it is in one; continue at label after."""
        *_, (name, n) = self.sizes.items()
        there = f"ptr %here.{name}, i64 %state.{name}"
        yield from self._copied(
            name,
            "after",
            f"call void @unpack{n}(ptr %tile.{name}, {there})",
            f"call void @unpack_any(ptr %tile.{name}, i64 {n}, i64 %count, {there}, i64 %entry.{name})",
        )

    def _copied(self, name: str, then: str, whole_rows: str, any_layout: str) -> Iterator[str]:
        yield f"  br i1 %direct.{name}, label %{then}, label %copy.{name}\ncopy.{name}:"
        if name == self.tiled:
            yield f"""  %full.columns.{name} = and i1 %full, %columns.{name}
  br i1 %full.columns.{name}, label %store.columns.{name}, label %other.{name}
store.columns.{name}:
  call void @put_columns(ptr %tile.{name}, i64 {self.sizes[name]}, ptr %here.{name}, i64 %entry.{name})
  br label %{then}
other.{name}:"""
        if self.rows:
            yield f"  br i1 %full.rows.{name}, label %transpose.{name}, label %gather.{name}\ntranspose.{name}:"
            if name == self.tiled and streams(int(self.sizes[name]), self.lanes):
                yield f"""  br i1 %streamed.{name}, label %stream.{name}, label %cached.{name}
stream.{name}:
  {whole_rows.replace("@unpack", "@stream")}
  br label %{then}
cached.{name}:"""
            yield f"  {whole_rows}\n  br label %{then}\ngather.{name}:"
        yield f"  {any_layout}\n  br label %{then}"

    def answer(self) -> str:
        """Write the end of a `run`: 1 if any lane of the status is not a number, else 0."""
        t = self.lanes
        return f"""  %sum = load {t.vector}, ptr %status, align 64
  %broken = fcmp uno {t.vector} %sum, zeroinitializer
  %any = call i1 @llvm.vector.reduce.or.v{t.width}i1({t.mask} %broken)
  %answer = zext i1 %any to i32
  ret i32 %answer
}}"""


# Between arrays and tiles


def tile_size(n: int, t: VectorType) -> int:
    """Return the scalars of a tile of n vectors, with space for a full last group of a transposition."""
    return -(-n // t.width) * t.width * t.width


def packers(t: VectorType) -> list[str]:
    """Return functions that pack and unpack states in any layout."""
    return [_pack_any(t), _unpack_any(t), _put_columns(t)]


MANY_GROUPS = 8
"""Groups of W numbers from which rows are transposed in a loop; unrolled, they would compile slowly."""


def streams(n: int, t: VectorType) -> bool:
    """Return True if rows of n numbers can bypass the caches: each starts at a piece or in its middle."""
    return n * t.bytes % STREAM_BYTES == 0 or t.double


def row_packers(sizes: Iterable[int], t: VectorType, streamed: int | None = None) -> list[str]:
    """Return functions that pack and unpack rows of these sizes; those of size `streamed` can bypass the caches."""
    all_sizes = set(sizes)
    long = {n for n in all_sizes if n >= MANY_GROUPS * t.width}
    short = (all_sizes - long) | {part for n in long for part in (t.width, n % t.width) if part}
    return [
        *(text for n in sorted(short) for text in (_pack_rows(n, t), _unpack_rows(n, t))),
        *(_long_rows(name, n, t) for n in sorted(long) for name in ("pack", "unpack")),
        *([_stream_rows(streamed % 2 != 0, t), _long_rows("stream", streamed, t)] if streamed else []),
        f"declare {t.vector} @llvm.masked.load.{t.suffix}.p0(ptr, i32, {t.mask}, {t.vector})",
        f"declare void @llvm.masked.store.{t.suffix}.p0({t.vector}, ptr, i32, {t.mask})",
    ]


def _long_rows(name: str, n: int, t: VectorType) -> str:
    """Return a function for rows of n numbers, W at a time, and then the rest."""
    array, tile = "ptr {array}, i64 %stride", "ptr {tile}"
    arguments = f"{array}, {tile}" if name == "pack" else f"{tile}, {array}"
    groups, left = divmod(n, t.width)
    step = f"""  %column = mul i64 %g, {t.width}
  %slot = mul i64 %g, {t.width * t.width}
  %from = getelementptr {t.scalar}, ptr %array, i64 %column
  %to = getelementptr {t.scalar}, ptr %tile, i64 %slot
  call void @{name}{t.width}({arguments.format(array="%from", tile="%to")})"""
    rest = f"""  %from.last = getelementptr {t.scalar}, ptr %array, i64 {groups * t.width}
  %to.last = getelementptr {t.scalar}, ptr %tile, i64 {groups * t.width * t.width}
  call void @{name.replace("stream", "unpack")}{left}({arguments.format(array="%from.last", tile="%to.last")})
"""
    noalias = arguments.replace("ptr", "ptr noalias").format(array="%array", tile="%tile")
    return f"""define internal void @{name}{n}({noalias}) noinline {{
start:
  br label %groups
{loop_text("groups", "%g", groups, step, "start", "groups", "rest")}
rest:
{rest if left else ""}  ret void
}}"""


def _pack_any(t: VectorType) -> str:
    """Return a function from any layout, or fewer than W states (the last one repeated), to a tile."""
    array, tile = _places("%lane", t)
    step = f"""  %short = icmp slt i64 %i, %last
  %lane = select i1 %short, i64 %i, i64 %last
{array}
  %x = load {t.scalar}, ptr %there, align {t.bytes}
{tile}
  store {t.scalar} %x, ptr %here, align {t.bytes}"""
    signature = "ptr %array, i64 %state, i64 %entry, i64 %n, i64 %count, ptr %tile"
    return _each_number(f"@pack_any({signature})", "  %last = sub i64 %count, 1\n", step, t.width, t)


def _unpack_any(t: VectorType) -> str:
    """Return a function from a tile, or its first states, to any layout."""
    array, tile = _places("%i", t)
    step = f"""{tile}
  %x = load {t.scalar}, ptr %here, align {t.bytes}
{array}
  store {t.scalar} %x, ptr %there, align {t.bytes}"""
    signature = "ptr %tile, i64 %n, i64 %count, ptr %array, i64 %state, i64 %entry"
    return _each_number(f"@unpack_any({signature})", "", step, "%count", t)


def _put_columns(t: VectorType) -> str:
    """Return a function from a tile to an array whose states are contiguous."""
    step = f"""  %slot = mul i64 %k, {t.width}
  %place = mul i64 %k, %entry
  %from = getelementptr {t.scalar}, ptr %tile, i64 %slot
  %to = getelementptr {t.scalar}, ptr %array, i64 %place
  %x = load {t.vector}, ptr %from, align {t.bytes}
  store {t.vector} %x, ptr %to, align {t.bytes}"""
    return f"""define internal void @put_columns(ptr noalias %tile, i64 %n, ptr noalias %array, i64 %entry) noinline {{
start:
  br label %entries
{loop_text("entries", "%k", "%n", step, "start", "entries", "end")}
end:
  ret void
}}"""


def _places(state: str, t: VectorType) -> tuple[str, str]:
    """Return the addresses of number %k of a state in the array, and of state %i in the tile."""
    array = f"""  %offset = mul i64 {state}, %state
  %place = add i64 %base, %offset
  %there = getelementptr {t.scalar}, ptr %array, i64 %place"""
    tile = f"""  %slot = add i64 %row, %i
  %here = getelementptr {t.scalar}, ptr %tile, i64 %slot"""
    return array, tile


def _each_number(function: str, first: str, step: str, states: int | str, t: VectorType) -> str:
    """Return a function that repeats `step` for every number %k of every state %i."""
    row = f"""  %base = mul i64 %k, %entry
  %row = mul i64 %k, {t.width}
  br label %states
{loop_text("states", "%i", states, step, "entries", "states", "next")}
next:"""
    return f"""define internal void {function} noinline {{
start:
{first}  br label %entries
{loop_text("entries", "%k", "%n", row, "start", "next", "end")}
end:
  ret void
}}"""


def _pack_rows(n: int, t: VectorType) -> str:
    """Return a function from W rows of n contiguous numbers to a tile with one vector per number."""
    block = Block(t)
    for start, mask in _groups(n, t.width):
        rows = [
            block.let(
                f"call {t.vector} @llvm.masked.load.{t.suffix}.p0"
                f"(ptr {_row(block, i, start)}, i32 {t.bytes}, {t.mask} {mask}, {t.vector} zeroinitializer)"
            )
            for i in range(t.width)
        ]
        for j, column in enumerate(_transposed(block, rows)):
            block.put(f"store {t.vector} {column}, ptr {_column(block, start + j)}, align {t.bytes * t.width}")
    return block.function(f"@pack{n}(ptr noalias %array, i64 %stride, ptr noalias %tile) alwaysinline")


def _unpack_rows(n: int, t: VectorType) -> str:
    """Return the reverse of `_pack_rows`."""
    block = Block(t)
    for start, mask in _groups(n, t.width):
        columns = [
            block.let(f"load {t.vector}, ptr {_column(block, start + j)}, align {t.bytes * t.width}")
            for j in range(t.width)
        ]
        for i, row in enumerate(_transposed(block, columns)):
            block.put(
                f"call void @llvm.masked.store.{t.suffix}.p0"
                f"({t.vector} {row}, ptr {_row(block, i, start)}, i32 {t.bytes}, {t.mask} {mask})"
            )
    return block.function(f"@unpack{n}(ptr noalias %tile, ptr noalias %array, i64 %stride) alwaysinline")


def _stream_rows(odd: bool, t: VectorType) -> str:
    """Return a function from W columns of a tile to rows past the caches; `odd` rows may start mid-piece."""
    block = Block(t)
    columns = [
        block.let(f"load {t.vector}, ptr {_column(block, j)}, align {t.bytes * t.width}") for j in range(t.width)
    ]
    piece = STREAM_BYTES // t.bytes
    for i, row in enumerate(_transposed(block, columns)):
        cuts = list(range(0, t.width + 1, piece))
        if odd and i % 2:
            cuts = [0, *range(1, t.width, piece), t.width]
        for begin, end in pairwise(cuts):
            part, place, size = _lanes_of(block, row, begin, end), _row(block, i, begin), (end - begin) * t.bytes
            block.put(f"store {part}, ptr {place}, align {size}, !nontemporal !1")
    return block.function(f"@stream{t.width}(ptr noalias %tile, ptr noalias %array, i64 %stride) alwaysinline")


def _lanes_of(block: Block, row: str, begin: int, end: int) -> str:
    """Return some lanes of a vector, one lane as an integer."""
    t, indices = block.lanes, ", ".join(f"i32 {j}" for j in range(begin, end))
    part = block.let(f"shufflevector {t.vector} {row}, {t.vector} poison, <{end - begin} x i32> <{indices}>")
    if end - begin > 1:
        return f"<{end - begin} x {t.scalar}> {part}"
    return f"{t.integer} {block.let(f'bitcast <1 x {t.scalar}> {part} to {t.integer}')}"


def _row(block: Block, state: int, start: int) -> str:
    """Return the address of the numbers of a state in the array, from `start` on."""
    offset = block.let(f"mul i64 %stride, {state}")
    place = block.let(f"add i64 {offset}, {start}")
    return block.let(f"getelementptr {block.lanes.scalar}, ptr %array, i64 {place}")


def _column(block: Block, k: int) -> str:
    """Return the address of number k of all states in the tile."""
    return block.let(f"getelementptr {block.lanes.scalar}, ptr %tile, i64 {k * block.lanes.width}")


def _groups(n: int, width: int) -> Iterator[tuple[int, str]]:
    """Yield the start of each group of W columns, and a mask of those that exist."""
    for start in range(0, n, width):
        yield start, "<" + ", ".join(f"i1 {str(start + j < n).lower()}" for j in range(width)) + ">"


def _transposed(block: Block, rows: list[str]) -> list[str]:
    """Return the columns of a square from its rows, W vectors, by log2(W) rounds of exchanges."""
    t, step = block.lanes, 1
    while step < t.width:
        exchanged = list(rows)
        for i in range(t.width):
            if i & step:
                continue
            low = [j if not j & step else t.width + j - step for j in range(t.width)]
            high = [j + step if not j & step else t.width + j for j in range(t.width)]
            for target, mask in ((i, low), (i + step, high)):
                indices = ", ".join(f"i32 {m}" for m in mask)
                exchanged[target] = block.let(
                    f"shufflevector {t.vector} {rows[i]}, {t.vector} {rows[i + step]}, <{t.width} x i32> <{indices}>"
                )
        rows, step = exchanged, 2 * step
    return rows
