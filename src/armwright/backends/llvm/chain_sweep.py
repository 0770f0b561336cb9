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


def module(loop: ChainLoop, lanes: VectorType) -> str:
    """Return the steps, and run(layout, begin, end).

    The layout holds address, stride of states and stride of entries of each input and of the output; then the addresses
    of the parameters, of the kinds of joints (one byte each) and of the starts of the sweeps, and the number of joints.
    """
    parts, declared = [], set[str]()
    for k, sweep in enumerate(loop.sweeps):
        for kind in CHAIN_JOINTS:
            block = Block(lanes)
            parts.append(_step(sweep, kind, block, f"sweep{k}_{kind}"))
            declared |= block.declared
    run = "\n".join(_run(loop, lanes))
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


def _run(loop: ChainLoop, t: VectorType) -> Iterator[str]:
    entries = {**loop.inputs, "out": 1}
    batch = Batch({**{name: f"%n.{name}" for name in loop.inputs}, "out": "%n"}, t)
    yield HEADER
    for name in entries:
        yield from batch.fields(name)
    for j, (field, kind) in enumerate((("parameters", "ptr"), ("kinds", "ptr"), ("starts", "ptr"), ("n", "i64"))):
        yield f"  %{field}.at = getelementptr i64, ptr %layout, i64 {3 * len(entries) + j}"
        yield f"  %{field} = load {kind}, ptr %{field}.at, align 8"
    yield from _memory(loop, entries, t)
    yield from batch.over("place", _sweeps(loop, batch))
    yield "  call void @free(ptr %memory)"
    yield batch.answer()


def _sweeps(loop: ChainLoop, batch: Batch) -> Iterator[str]:
    """Yield all sweeps for W states."""
    yield from batch.fetch("start0")
    begin = 0
    for k, sweep in enumerate(loop.sweeps):
        yield from _sweep(loop, k, begin, batch.lanes)
        begin += sweep.carry
    yield f"start{len(loop.sweeps)}:"
    yield from batch.deliver()


def _memory(loop: ChainLoop, entries: Mapping[str, int], t: VectorType) -> Iterator[str]:
    """Yield the allocation of records of all sweeps but the last, and of tiles for states in other layouts."""
    widest = max(sweep.carry for sweep in loop.sweeps)
    yield f"""  %status = alloca {t.vector}, align 64
  store {t.vector} zeroinitializer, ptr %status, align 64
  %one = alloca [{widest} x {t.vector}], align 64
  %two = alloca [{widest} x {t.vector}], align 64
  %size0 = add i64 0, 0"""
    regions = {f"records{k}": sweep.record for k, sweep in enumerate(loop.sweeps[:-1])}
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
  %start.address = ptrtoint ptr %memory to i64
  %up = add i64 %start.address, 63
  %aligned = and i64 %up, -64
  %work = inttoptr i64 %aligned to ptr"""
    for i, name in enumerate(regions):
        yield f"  %{name} = getelementptr {t.scalar}, ptr %work, i64 %size{i}"


def _sweep(loop: ChainLoop, k: int, begin: int, t: VectorType) -> Iterator[str]:
    """Yield one loop over the joints, from label start{k} to label start{k + 1}."""
    sweep, last = loop.sweeps[k], k == len(loop.sweeps) - 1
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
    yield from _joint(k, loop, t)
    arguments = [f"ptr %old{k}, i64 {t.width}", f"ptr %joint{k}, i64 1"]
    for name in sweep.reads:
        yield f"""  %{name}{k}.entry = mul i64 %i{k}, {loop.inputs[name]}
  %{name}{k}.shift = mul i64 %{name}{k}.entry, %step.{name}
  %{name}{k} = getelementptr {t.scalar}, ptr %read.{name}, i64 %{name}{k}.shift"""
        arguments.append(f"ptr %{name}{k}, i64 %step.{name}")
    for j, earlier in enumerate(loop.sweeps[: k if last else k + 1]):
        yield f"""  %record{k}.{j}.shift = mul i64 %i{k}, {earlier.record * t.width}
  %record{k}.{j} = getelementptr {t.scalar}, ptr %records{j}, i64 %record{k}.{j}.shift"""
    arguments += [f"ptr %record{k}.{j}, i64 {t.width}" for j in range(k)]
    if last:
        yield f"""  %out.shift = mul i64 %i{k}, %step.out
  %record{k}.{k} = getelementptr {t.scalar}, ptr %read.out, i64 %out.shift"""
    yield f"  br i1 %is_revolute{k}, label %revolute{k}, label %prismatic{k}"
    for kind in CHAIN_JOINTS:
        yield f"""{kind}{k}:
  call void @sweep{k}_{kind}({", ".join(arguments)}, ptr %new{k}, ptr %record{k}.{k})
  br label %next{k}"""
    yield f"next{k}:"
    if last:  # steps contain no products with zero, so any value that is not finite reaches the result
        yield f"""  %result = load {t.vector}, ptr %record{k}.{k}, align {t.bytes}
  %broken.so.far = load {t.vector}, ptr %status, align 64
  %broken.now = fmul {t.vector} %result, {t.splat(0.0)}
  %broken.all = fadd {t.vector} %broken.so.far, %broken.now
  store {t.vector} %broken.all, ptr %status, align 64"""
    yield f"  %more{k} = icmp slt i64 %done{k}.next, %n"
    yield f"  br i1 %more{k}, label %loop{k}, label %start{k + 1}"


def _joint(k: int, loop: ChainLoop, t: VectorType) -> Iterator[str]:
    """Yield the instructions that load the parameters and the type of a joint."""
    yield f"""  %joint{k}.from = mul i64 %i{k}, {loop.parameters}
  %joint{k} = getelementptr {t.scalar}, ptr %parameters, i64 %joint{k}.from
  %kind{k}.at = getelementptr i8, ptr %kinds, i64 %i{k}
  %kind{k} = load i8, ptr %kind{k}.at, align 1
  %is_revolute{k} = icmp eq i8 %kind{k}, 0"""
