"""The linear systems of a program, solved in a loop for W states at once.

Tables of integers list the entries of L. For every block of columns and every unknown, the columns stay in registers
while products with earlier unknowns are subtracted, first forward through L, then back through L^T.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from armwright.backends.llvm.block import Block
from armwright.graph.program import Equations


def solver(system: Equations, block: Block) -> str:
    """Return `solve(tile, status)`, which replaces the outputs of the program in the tile by the results."""
    t, n, lower = block.lanes, system.n, system.lower
    tables, calls = list[str](), list[str]()
    for b, (first, width, forward, back) in enumerate(system.blocks):
        passes = {
            "forward": ((j, 0, [(k * n, lower[j, k]) for k in system.rows[j] if k in forward]) for j in forward),
            "back": (
                (j, system.inverse + j, [(k * n, lower[k, j]) for k in system.below[j] if k in back])
                for j in reversed(back)
            ),
        }
        tables += [_table(f"{name}{b}", rows, system, block) for name, rows in passes.items()]
        lists = f"ptr @forward{b}, i64 {len(forward)}, ptr @back{b}, i64 {len(back)}"
        calls.append(f"  %x{b} = getelementptr {t.scalar}, ptr %tile, i64 {first * t.width}")
        calls.append(f"  call void @solve{width}(ptr %tile, ptr %x{b}, {lists}, ptr %status)")
    return "\n".join(
        [
            *tables,
            *(_columns(width, system, block.sibling()) for width in sorted({b.width for b in system.blocks})),
            "define internal void @solve(ptr %tile, ptr %status) noinline {",
            *calls,
            "  ret void\n}",
        ]
    )


def _table(
    name: str, rows: Iterable[tuple[int, int, Sequence[tuple[int, int]]]], system: Equations, block: Block
) -> str:
    """Return a table of unknowns: row, pivot, number of entries, and the row and entry of L of each."""
    width = block.lanes.width
    numbers = [
        number
        for j, pivot, entries in rows
        for number in (j * system.n * width, pivot * width, len(entries), *(x * width for e in entries for x in e))
    ]
    return f"@{name} = internal constant [{len(numbers)} x i64] [{', '.join(f'i64 {x}' for x in numbers)}]"


def _columns(width: int, system: Equations, block: Block) -> str:
    """Return `solve{width}(tile, x, forward, unknowns, back, unknowns, status)` for some columns of every matrix."""
    t, n = block.lanes, system.n
    shifts = [(m * n * n + j) * t.width for m in range(system.matrices) for j in range(width)]
    arguments = "ptr %tile, ptr %x, ptr %forward, i64 %forward.unknowns, ptr %back, i64 %back.unknowns, ptr %status"
    return f"""define internal void @solve{width}({arguments}) noinline {{
start:
  %so.far = load {t.vector}, ptr %status, align 64
  br label %forward.row
{_pass("forward", shifts, block, "back.row")}
{_pass("back", shifts, block, "end")}
end:
  store {t.vector} %back.status.after, ptr %status, align 64
  ret void
}}"""


def _pass(name: str, shifts: list[int], block: Block, after: str) -> str:
    """Write one pass over the unknowns, from label {name}.row on."""
    t, back = block.lanes, name == "back"
    v, many = t.vector, range(len(shifts))
    before = "start" if not back else "forward.done"

    def at(place: str, c: int) -> str:
        return f"  %{name}.{place}.to{c} = getelementptr {t.scalar}, ptr %{name}.{place}.x, i64 {shifts[c]}"

    def number(field: str, place: int, base: str) -> str:
        return (
            f"  %{name}.{field}.at = getelementptr i64, ptr {base}, i64 {place}\n"
            f"  %{name}.{field} = load i64, ptr %{name}.{field}.at, align 8"
        )

    lines = [
        f"{name}.row:",
        f"  %{name}.r = phi i64 [ 0, %{before} ], [ %{name}.r.next, %{name}.done ]",
        f"  %{name}.list = phi ptr [ %{name}, %{before} ], [ %{name}.then, %{name}.done ]",
        number("own", 0, f"%{name}.list"),
        number("pivot", 1, f"%{name}.list"),
        number("count", 2, f"%{name}.list"),
        f"  %{name}.entries = getelementptr i64, ptr %{name}.list, i64 3",
        f"  %{name}.row.x = getelementptr {t.scalar}, ptr %x, i64 %{name}.own",
    ]
    if back:
        status = "  %back.status = phi {v} [ %so.far, %{before} ], [ %back.status.after, %back.done ]"
        lines.insert(3, status.format(v=v, before=before))
        lines.append(f"  %d.at = getelementptr {t.scalar}, ptr %tile, i64 %back.pivot")
        lines.append(f"  %d = load {v}, ptr %d.at, align {t.bytes * t.width}")
    for c in many:
        lines.append(at("row", c))
        lines.append(f"  %{name}.raw{c} = load {v}, ptr %{name}.row.to{c}, align {t.bytes * t.width}")
        scaled = f"fmul {v} %{name}.raw{c}, %d" if back else f"fadd {v} %{name}.raw{c}, {t.splat(-0.0)}"
        lines.append(f"  %{name}.begin{c} = {scaled}")
    lines += [
        f"  %{name}.some = icmp sgt i64 %{name}.count, 0",
        f"  br i1 %{name}.some, label %{name}.entry, label %{name}.done",
        f"{name}.entry:",
        f"  %{name}.e = phi i64 [ 0, %{name}.row ], [ %{name}.e.next, %{name}.entry ]",
        f"  %{name}.pair = phi ptr [ %{name}.entries, %{name}.row ], [ %{name}.pair.next, %{name}.entry ]",
        *(
            f"  %{name}.sum{c} = phi {v} [ %{name}.begin{c}, %{name}.row ], [ %{name}.less{c}, %{name}.entry ]"
            for c in many
        ),
        number("other", 0, f"%{name}.pair"),
        number("place", 1, f"%{name}.pair"),
        f"  %{name}.pair.next = getelementptr i64, ptr %{name}.pair, i64 2",
        f"  %{name}.l.at = getelementptr {t.scalar}, ptr %tile, i64 %{name}.place",
        f"  %{name}.l = load {v}, ptr %{name}.l.at, align {t.bytes * t.width}",
        f"  %{name}.minus = fneg {v} %{name}.l",
        f"  %{name}.entry.x = getelementptr {t.scalar}, ptr %x, i64 %{name}.other",
    ]
    for c in many:
        lines.append(at("entry", c))
        lines.append(f"  %{name}.y{c} = load {v}, ptr %{name}.entry.to{c}, align {t.bytes * t.width}")
        inner = block.sibling()
        less = inner.fma(f"%{name}.minus", f"%{name}.y{c}", f"%{name}.sum{c}")
        lines += [line.replace("%v", f"%{name}.f{c}.") for line in inner.lines]
        lines.append(f"  %{name}.less{c} = bitcast {v} {less.replace('%v', f'%{name}.f{c}.')} to {v}")
    lines += [
        f"  %{name}.e.next = add i64 %{name}.e, 1",
        f"  %{name}.more = icmp slt i64 %{name}.e.next, %{name}.count",
        f"  br i1 %{name}.more, label %{name}.entry, label %{name}.done",
        f"{name}.done:",
        *(
            f"  %{name}.end{c} = phi {v} [ %{name}.begin{c}, %{name}.row ], [ %{name}.less{c}, %{name}.entry ]"
            for c in many
        ),
        f"  %{name}.then = phi ptr [ %{name}.entries, %{name}.row ], [ %{name}.pair.next, %{name}.entry ]",
        *(f"  store {v} %{name}.end{c}, ptr %{name}.row.to{c}, align {t.bytes * t.width}" for c in many),
    ]
    if back:
        inner, status = block.sibling(), t.splat(0.0)  # one sum per row, as a single sum would be a long chain
        for c in many:
            status = inner.fma(f"%back.end{c}", t.splat(0.0), status)
        lines += [line.replace("%v", "%back.s") for line in inner.lines]
        lines.append(f"  %back.status.after = fadd {v} %back.status, {status.replace('%v', '%back.s')}")
    lines += [
        f"  %{name}.r.next = add i64 %{name}.r, 1",
        f"  %{name}.again = icmp slt i64 %{name}.r.next, %{name}.unknowns",
        f"  br i1 %{name}.again, label %{name}.row, label %{after}",
    ]
    return "\n".join(lines)
