"""Long chains as loops: the steps of a recursion compiled once, run over arrays of joint parameters.

Compile time does not depend on the number of joints. For W states at a time each sweep goes along the chain, outward or
inward, and leaves a record of every joint in memory for the sweeps after it; the last one gives the results. Steps come
in two kinds, for revolute and prismatic joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from armwright.backends.interface import CHAIN_JOINTS, ChainLoop, ChainSweep
from armwright.backends.llvm.batch_loop import HEADER, Batch, packers
from armwright.backends.llvm.block import Block, VectorType, declarations
from armwright.backends.llvm.body import compute, number
from armwright.backends.llvm.trigonometry import careful


def module(rolled: ChainLoop, lanes: VectorType) -> str:
    """The steps, and run(layout, begin, end).

    The layout holds address, distance of states and distance of entries of each input and of the output; then the
    addresses of the parameters, of the kinds of joints (one byte each) and of what every sweep starts with, and the
    number of joints.
    """
    parts, declared = [], set[str]()
    for k, sweep in enumerate(rolled.sweeps):
        for kind in CHAIN_JOINTS:
            block = Block(lanes)
            parts.append(_step(sweep, kind, block, f"sweep{k}_{kind}"))
            declared |= block.declared
    run = "\n".join(_run(rolled, lanes))
    memory = "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
    return "\n\n".join([*parts, careful(lanes), *packers(lanes), run, memory, *declarations(declared, lanes)])


def _step(sweep: ChainSweep, kind: str, block: Block, name: str) -> str:
    """Return a function of one step for W states; carry and record go to separate arrays."""
    program = sweep.steps[kind]
    values = compute(program, block, uniform={1})
    for k, x in enumerate(program.outputs):
        place = ("%new", k) if k < sweep.carry else ("%record", k - sweep.carry)
        block.store(*place, number(x, values, block), block.lanes.bytes)
    arguments = [f"ptr %p{a}, i64 %s{a}" for a in range(len(program.arguments))]
    signature = ", ".join([*arguments, "ptr noalias %new, ptr noalias %record"])
    return block.function(f"@{name}({signature}) noinline")


def _run(rolled: ChainLoop, t: VectorType) -> Iterator[str]:
    entries = {**rolled.inputs, "out": 1}
    batch = Batch({**{name: f"%n.{name}" for name in rolled.inputs}, "out": "%n"}, t)
    yield HEADER
    for name in entries:
        yield from batch.fields(name)
    for j, (field, kind) in enumerate((("parameters", "ptr"), ("kinds", "ptr"), ("starts", "ptr"), ("n", "i64"))):
        yield f"  %{field}.at = getelementptr i64, ptr %layout, i64 {3 * len(entries) + j}"
        yield f"  %{field} = load {kind}, ptr %{field}.at, align 8"
    yield from _memory(rolled, entries, t)
    yield from batch.over("place", _sweeps(rolled, batch))
    yield "  call void @free(ptr %memory)"
    yield batch.answer()


def _sweeps(rolled: ChainLoop, batch: Batch) -> Iterator[str]:
    """All sweeps for W states."""
    yield from batch.fetch("start0")
    begin = 0
    for k, sweep in enumerate(rolled.sweeps):
        yield from _sweep(rolled, k, begin, batch.lanes)
        begin += sweep.carry
    yield f"start{len(rolled.sweeps)}:"
    yield from batch.deliver()


def _memory(rolled: ChainLoop, entries: Mapping[str, int], t: VectorType) -> Iterator[str]:
    """Room for the records of all sweeps but the last, and for tiles of states that lie otherwise in memory."""
    widest = max(sweep.carry for sweep in rolled.sweeps)
    yield f"""  %status = alloca {t.vector}, align 64
  store {t.vector} zeroinitializer, ptr %status, align 64
  %one = alloca [{widest} x {t.vector}], align 64
  %two = alloca [{widest} x {t.vector}], align 64
  %size0 = add i64 0, 0"""
    regions = {f"records{k}": sweep.record for k, sweep in enumerate(rolled.sweeps[:-1])}
    regions |= {f"tile.{name}": size for name, size in entries.items()}
    for i, (name, size) in enumerate(regions.items()):
        yield f"  %{name}.size = mul i64 %n, {size * t.width}"
        yield f"  %size{i + 1} = add i64 %size{i}, %{name}.size"
    for name, size in entries.items():
        yield f"  %n.{name} = mul i64 %n, {size}"
    yield f"""  %bytes = mul i64 %size{len(regions)}, {t.bytes}
  %room = add i64 %bytes, 64
  %memory = call ptr @malloc(i64 %room)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %failed, label %place
failed:
  ret i32 2
place:
  %whole = ptrtoint ptr %memory to i64
  %up = add i64 %whole, 63
  %even = and i64 %up, -64
  %work = inttoptr i64 %even to ptr"""
    for i, name in enumerate(regions):
        yield f"  %{name} = getelementptr {t.scalar}, ptr %work, i64 %size{i}"


def _sweep(rolled: ChainLoop, k: int, begin: int, t: VectorType) -> Iterator[str]:
    """One loop over the joints, from label start{k} to label start{k + 1}."""
    sweep, last = rolled.sweeps[k], k == len(rolled.sweeps) - 1
    yield f"start{k}:"
    for j in range(sweep.carry):
        x = f"%b{k}.{j}"
        yield f"""  {x}.at = getelementptr {t.scalar}, ptr %starts, i64 {begin + j}
  {x} = load {t.scalar}, ptr {x}.at, align {t.bytes}
  {x}.one = insertelement {t.vector} poison, {t.scalar} {x}, i32 0
  {x}.all = shufflevector {t.vector} {x}.one, {t.vector} poison, <{t.width} x i32> zeroinitializer
  {x}.to = getelementptr {t.vector}, ptr %one, i64 {j}
  store {t.vector} {x}.all, ptr {x}.to, align {t.bytes * t.width}"""
    yield f"""  br label %loop{k}
loop{k}:
  %done{k} = phi i64 [ 0, %start{k} ], [ %done{k}.next, %next{k} ]
  %old{k} = phi ptr [ %one, %start{k} ], [ %new{k}, %next{k} ]
  %new{k} = phi ptr [ %two, %start{k} ], [ %old{k}, %next{k} ]
  %done{k}.next = add i64 %done{k}, 1
  %i{k} = {f"add i64 %done{k}, 0" if sweep.outward else f"sub i64 %n, %done{k}.next"}"""
    yield from _joint(k, rolled, t)
    arguments = [f"ptr %old{k}, i64 {t.width}", f"ptr %joint{k}, i64 1"]
    for name in sweep.reads:
        yield f"""  %{name}{k}.entry = mul i64 %i{k}, {rolled.inputs[name]}
  %{name}{k}.shift = mul i64 %{name}{k}.entry, %step.{name}
  %{name}{k} = getelementptr {t.scalar}, ptr %read.{name}, i64 %{name}{k}.shift"""
        arguments.append(f"ptr %{name}{k}, i64 %step.{name}")
    for j, earlier in enumerate(rolled.sweeps[: k if last else k + 1]):
        yield f"""  %record{k}.{j}.shift = mul i64 %i{k}, {earlier.record * t.width}
  %record{k}.{j} = getelementptr {t.scalar}, ptr %records{j}, i64 %record{k}.{j}.shift"""
    arguments += [f"ptr %record{k}.{j}, i64 {t.width}" for j in range(k)]
    if last:
        yield f"""  %out.shift = mul i64 %i{k}, %step.out
  %record{k}.{k} = getelementptr {t.scalar}, ptr %read.out, i64 %out.shift"""
    yield f"  br i1 %turns{k}, label %revolute{k}, label %prismatic{k}"
    for kind in CHAIN_JOINTS:
        yield f"""{kind}{k}:
  call void @sweep{k}_{kind}({", ".join(arguments)}, ptr %new{k}, ptr %record{k}.{k})
  br label %next{k}"""
    yield f"next{k}:"
    if last:  # nothing is multiplied by a known zero in a step, so what is not finite anywhere is found here
        yield f"""  %result = load {t.vector}, ptr %record{k}.{k}, align {t.bytes}
  %broken.so.far = load {t.vector}, ptr %status, align 64
  %broken.now = fmul {t.vector} %result, {t.splat(0.0)}
  %broken.all = fadd {t.vector} %broken.so.far, %broken.now
  store {t.vector} %broken.all, ptr %status, align 64"""
    yield f"  %more{k} = icmp slt i64 %done{k}.next, %n"
    yield f"  br i1 %more{k}, label %loop{k}, label %start{k + 1}"


def _joint(k: int, rolled: ChainLoop, t: VectorType) -> Iterator[str]:
    """The parameters of a joint, and whether it turns."""
    yield f"""  %joint{k}.from = mul i64 %i{k}, {rolled.parameters}
  %joint{k} = getelementptr {t.scalar}, ptr %parameters, i64 %joint{k}.from
  %kind{k}.at = getelementptr i8, ptr %kinds, i64 %i{k}
  %kind{k} = load i8, ptr %kind{k}.at, align 1
  %turns{k} = icmp eq i8 %kind{k}, 0"""
