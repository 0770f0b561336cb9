"""Long chains as loops: one outward and one inward step compiled once, run over arrays of joint parameters.

Compile time does not depend on the number of joints. For W states at a time the outward loop goes from base to tip and
leaves in memory, joint by joint, its state and what the inward loop will need; the inward loop comes back with the
forces. Steps come in two kinds, for revolute and prismatic joints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armwright.backends.block import Block, Lanes, library
from armwright.backends.ir import answer, pack_any, unpack_any, write_body
from armwright.backends.trigonometry import careful
from armwright.graph.program import Program

KINDS = ("revolute", "prismatic")


@dataclass(frozen=True)
class Rolled:
    """A pair of recursions.

    outward(state, parameters, q, qd, qdd) -> state, saved         inward(carry, parameters, saved) -> carry, result
    """

    outward: Mapping[str, Program]
    inward: Mapping[str, Program]
    state: int
    saved: int
    carry: int
    parameters: int


def module(rolled: Rolled, lanes: Lanes) -> str:
    """The steps, and run(layout, begin, end).

    The layout holds address, distance of states and distance of entries of q, qd, qdd and the output; then the
    addresses of the parameters, of the kinds of joints (one byte each) and of the base state, and the number of joints.
    """
    parts, declared = [], set[str]()
    for sweep in ("outward", "inward"):
        for kind in KINDS:
            block = Block(lanes)
            program: Program = getattr(rolled, sweep)[kind]
            parts.append(write_body(program, block, f"{sweep}_{kind}", uniform={1}))
            declared |= block.declared
    t = lanes
    functions = [f"declare {t.scalar} @{library(name, t)}({t.scalar})" for name in ("sin", "cos", "tanh")]
    return "\n\n".join(
        [
            *parts,
            careful(lanes),
            pack_any(lanes),
            unpack_any(lanes),
            _run(rolled, lanes),
            *sorted(declared),
            *functions,
            f"declare i1 @llvm.vector.reduce.or.v{t.width}i1({t.truths})",
            "declare ptr @malloc(i64)\ndeclare void @free(ptr)",
            '!0 = !{!"branch_weights", i32 1, i32 1000000}',
        ]
    )


def _run(rolled: Rolled, lanes: Lanes) -> str:
    t = lanes
    slot = (rolled.state + rolled.saved) * t.width
    names = ("q", "v", "a", "o")
    lines = ["define i32 @run(ptr %layout, i64 %begin, i64 %end) {", "start:"]
    for i, name in enumerate(names):
        for j, field in enumerate(("address", "state", "entry")):
            kind = "ptr" if field == "address" else "i64"
            lines.append(f"  %{field}.{name}.at = getelementptr i64, ptr %layout, i64 {3 * i + j}")
            lines.append(f"  %{field}.{name} = load {kind}, ptr %{field}.{name}.at, align 8")
        lines.append(f"  %side.{name} = icmp eq i64 %state.{name}, 1")
    for j, (field, kind) in enumerate((("parameters", "ptr"), ("kinds", "ptr"), ("base", "ptr"), ("n", "i64"))):
        lines.append(f"  %{field}.at = getelementptr i64, ptr %layout, i64 {12 + j}")
        lines.append(f"  %{field} = load {kind}, ptr %{field}.at, align 8")
    lines += [
        f"  %status = alloca {t.vector}, align 64",
        f"  store {t.vector} zeroinitializer, ptr %status, align 64",
        f"  %carry.one = alloca [{(rolled.carry + 1) * t.width} x {t.scalar}], align 64",
        f"  %carry.two = alloca [{(rolled.carry + 1) * t.width} x {t.scalar}], align 64",
        "  %slots = add i64 %n, 1",
        f"  %slots.size = mul i64 %slots, {slot}",
        f"  %tile.size = mul i64 %n, {t.width}",
        "  %tiles.size = mul i64 %tile.size, 4",
        "  %room = add i64 %slots.size, %tiles.size",
        f"  %room.bytes = mul i64 %room, {t.bytes}",
        "  %room.more = add i64 %room.bytes, 64",
        "  %memory = call ptr @malloc(i64 %room.more)",
        "  %none = icmp eq ptr %memory, null",
        "  br i1 %none, label %failed, label %place",
        "failed:",
        "  ret i32 2",
        "place:",
        "  %whole = ptrtoint ptr %memory to i64",
        "  %up = add i64 %whole, 63",
        "  %even = and i64 %up, -64",
        "  %work = inttoptr i64 %even to ptr",
    ]
    for i, name in enumerate(names):
        lines.append(f"  %tile.{name}.from = mul i64 %tile.size, {i}")
        lines.append(f"  %tile.{name}.past = add i64 %slots.size, %tile.{name}.from")
        lines.append(f"  %tile.{name} = getelementptr {t.scalar}, ptr %work, i64 %tile.{name}.past")
    lines += ["  %some = icmp slt i64 %begin, %end", "  br i1 %some, label %chunk, label %finish", "chunk:"]
    lines += [
        "  %at = phi i64 [ %begin, %place ], [ %then, %after ]",
        "  %left = sub i64 %end, %at",
        f"  %full = icmp sge i64 %left, {t.width}",
        f"  %count = select i1 %full, i64 {t.width}, i64 %left",
    ]
    for name in names:
        lines += [
            f"  %shift.{name} = mul i64 %at, %state.{name}",
            f"  %here.{name} = getelementptr {t.scalar}, ptr %address.{name}, i64 %shift.{name}",
            f"  %direct.{name} = and i1 %full, %side.{name}",
            f"  %read.{name} = select i1 %direct.{name}, ptr %here.{name}, ptr %tile.{name}",
            f"  %step.{name} = select i1 %direct.{name}, i64 %entry.{name}, i64 {t.width}",
        ]
    lines.append("  br label %fetch.q")
    for name, following in (("q", "fetch.v"), ("v", "fetch.a"), ("a", "begin.out")):
        lines += [
            f"fetch.{name}:",
            f"  br i1 %direct.{name}, label %{following}, label %copy.{name}",
            f"copy.{name}:",
            f"  call void @pack_any(ptr %here.{name}, i64 %state.{name}, i64 %entry.{name}, i64 %n, i64 %count, "
            f"ptr %tile.{name})",
            f"  br label %{following}",
        ]
    lines.append("begin.out:")
    for k in range(rolled.state):
        lines += [
            f"  %b{k}.at = getelementptr {t.scalar}, ptr %base, i64 {k}",
            f"  %b{k} = load {t.scalar}, ptr %b{k}.at, align {t.bytes}",
            f"  %b{k}.one = insertelement {t.vector} poison, {t.scalar} %b{k}, i32 0",
            f"  %b{k}.all = shufflevector {t.vector} %b{k}.one, {t.vector} poison, <{t.width} x i32> zeroinitializer",
            f"  %b{k}.to = getelementptr {t.scalar}, ptr %work, i64 {k * t.width}",
            f"  store {t.vector} %b{k}.all, ptr %b{k}.to, align {t.bytes * t.width}",
        ]
    lines += [
        "  br label %out",
        "out:",
        "  %i = phi i64 [ 0, %begin.out ], [ %i1, %out.next ]",
        *_joint("i", rolled, t),
    ]
    for name in ("q", "v", "a"):
        lines += [
            f"  %{name}.shift = mul i64 %i, %step.{name}",
            f"  %{name}.i = getelementptr {t.scalar}, ptr %read.{name}, i64 %{name}.shift",
        ]
    lines += [
        "  %i1 = add i64 %i, 1",
        f"  %slot.from = mul i64 %i, {slot}",
        f"  %slot.to = mul i64 %i1, {slot}",
        f"  %last = getelementptr {t.scalar}, ptr %work, i64 %slot.from",
        f"  %next = getelementptr {t.scalar}, ptr %work, i64 %slot.to",
        "  br i1 %turns.i, label %out.revolute, label %out.prismatic",
    ]
    for kind in KINDS:
        lines += [
            f"out.{kind}:",
            f"  call void @outward_{kind}(ptr %last, i64 {t.width}, ptr %joint.i, i64 1, ptr %q.i, i64 0, "
            f"ptr %v.i, i64 0, ptr %a.i, i64 0, ptr %next, i64 {t.width}, ptr %status)",
            "  br label %out.next",
        ]
    lines += [
        "out.next:",
        "  %out.more = icmp slt i64 %i1, %n",
        "  br i1 %out.more, label %out, label %begin.in",
        "begin.in:",
    ]
    for k in range(rolled.carry):
        lines.append(f"  %z{k} = getelementptr {t.scalar}, ptr %carry.one, i64 {k * t.width}")
        lines.append(f"  store {t.vector} zeroinitializer, ptr %z{k}, align {t.bytes * t.width}")
    lines += [
        "  br label %in",
        "in:",
        "  %left.j = phi i64 [ %n, %begin.in ], [ %j, %in.next ]",
        "  %carry.in = phi ptr [ %carry.one, %begin.in ], [ %carry.out, %in.next ]",
        "  %carry.out = phi ptr [ %carry.two, %begin.in ], [ %carry.in, %in.next ]",
        "  %j = sub i64 %left.j, 1",
        *_joint("j", rolled, t),
        f"  %saved.slot = mul i64 %left.j, {slot}",
        f"  %saved.past = add i64 %saved.slot, {rolled.state * t.width}",
        f"  %saved = getelementptr {t.scalar}, ptr %work, i64 %saved.past",
        "  br i1 %turns.j, label %in.revolute, label %in.prismatic",
    ]
    for kind in KINDS:
        lines += [
            f"in.{kind}:",
            f"  call void @inward_{kind}(ptr %carry.in, i64 {t.width}, ptr %joint.j, i64 1, ptr %saved, i64 {t.width}, "
            f"ptr %carry.out, i64 {t.width}, ptr %status)",
            "  br label %in.next",
        ]
    lines += [
        "in.next:",
        f"  %result.at = getelementptr {t.scalar}, ptr %carry.out, i64 {rolled.carry * t.width}",
        f"  %result = load {t.vector}, ptr %result.at, align {t.bytes * t.width}",
        "  %o.shift = mul i64 %j, %step.o",
        f"  %o.to = getelementptr {t.scalar}, ptr %read.o, i64 %o.shift",
        f"  store {t.vector} %result, ptr %o.to, align {t.bytes}",
        "  %in.more = icmp sgt i64 %j, 0",
        "  br i1 %in.more, label %in, label %deliver",
        "deliver:",
        "  br i1 %direct.o, label %after, label %scatter",
        "scatter:",
        "  call void @unpack_any(ptr %tile.o, i64 %n, i64 %count, ptr %here.o, i64 %state.o, i64 %entry.o)",
        "  br label %after",
        "after:",
        f"  %then = add i64 %at, {t.width}",
        "  %again = icmp slt i64 %then, %end",
        "  br i1 %again, label %chunk, label %finish",
        "finish:",
        "  call void @free(ptr %memory)",
        *answer(t),
        "}",
    ]
    return "\n".join(lines)


def _joint(index: str, rolled: Rolled, t: Lanes) -> list[str]:
    """The parameters of a joint, and whether it turns."""
    return [
        f"  %joint.{index}.from = mul i64 %{index}, {rolled.parameters}",
        f"  %joint.{index} = getelementptr {t.scalar}, ptr %parameters, i64 %joint.{index}.from",
        f"  %kind.{index}.at = getelementptr i8, ptr %kinds, i64 %{index}",
        f"  %kind.{index} = load i8, ptr %kind.{index}.at, align 1",
        f"  %turns.{index} = icmp eq i8 %kind.{index}, 0",
    ]
