"""A kernel as a handler of XLA, which runs on the buffers of a JAX program without Python.

XLA calls the handler with a frame (`xla/ffi/api/c_api.h`, a stable binary interface): the addresses of the buffers of
arguments and results, row-major, with their shapes. All axes but the last are states; an argument with one row is the
same for all states. The workers of this process share large batches (`threads`). If a result is not finite, a Python
function writes the error message for XLA.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.llvm.backend import LlvmKernel
from armwright.backends.llvm.native import engine_of
from armwright.backends.llvm.threads import BUSY, workers

# Bytes from the start of each structure
EXTENSION, API, ARGUMENTS, RESULTS = 8, 16, 72, 112  # of a frame; the last two are arrays of pointers to buffers
DATA, RANK, DIMENSIONS = 24, 32, 40  # of a buffer
KIND, METADATA, METADATA_VERSION = 8, 24, 24  # of an extension; METADATA_VERSION is from the start of the metadata
VERSION, ERROR = 32, 48  # of the table of functions: two small numbers, and the function that creates an error
METADATA_EXTENSION, INVALID = 1, 3
FIRST_VERSION = 1 << 32  # 0.1: the version of an XLA that passes no table when it requests metadata
ERROR_SIZE = 28

SHARE = 8192
"""States per thread, so that only large batches are split: XLA uses its threads for other work."""

CODE = f"""
@run = global ptr null
@explain = global ptr null
@share = global ptr null
@jobs = global ptr null
@workers = global i64 0

define internal i64 @rows(ptr %buffer) {{
start:
  %rank.at = getelementptr i8, ptr %buffer, i64 {RANK}
  %rank = load i64, ptr %rank.at, align 8
  %dims.at = getelementptr i8, ptr %buffer, i64 {DIMENSIONS}
  %dims = load ptr, ptr %dims.at, align 8
  %last = sub i64 %rank, 1
  br label %look
look:
  %k = phi i64 [ 0, %start ], [ %k1, %more ]
  %product = phi i64 [ 1, %start ], [ %next, %more ]
  %within = icmp slt i64 %k, %last
  br i1 %within, label %more, label %end
more:
  %dim.at = getelementptr i64, ptr %dims, i64 %k
  %dim = load i64, ptr %dim.at, align 8
  %next = mul i64 %product, %dim
  %k1 = add i64 %k, 1
  br label %look
end:
  ret i64 %product
}}

define internal void @store_layout(ptr %buffers, i64 %j, ptr %fields, i64 %states) {{
start:
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %j
  %buffer = load ptr, ptr %buffer.at, align 8
  %data.at = getelementptr i8, ptr %buffer, i64 {DATA}
  %data = load i64, ptr %data.at, align 8
  store i64 %data, ptr %fields, align 8
  %rank.at = getelementptr i8, ptr %buffer, i64 {RANK}
  %rank = load i64, ptr %rank.at, align 8
  %dims.at = getelementptr i8, ptr %buffer, i64 {DIMENSIONS}
  %dims = load ptr, ptr %dims.at, align 8
  %last = sub i64 %rank, 1
  %entries.at = getelementptr i64, ptr %dims, i64 %last
  %entries = load i64, ptr %entries.at, align 8
  %rows = call i64 @rows(ptr %buffer)
  %each = icmp eq i64 %rows, %states
  %apart = select i1 %each, i64 %entries, i64 0
  %state.at = getelementptr i64, ptr %fields, i64 1
  store i64 %apart, ptr %state.at, align 8
  %entry.at = getelementptr i64, ptr %fields, i64 2
  store i64 1, ptr %entry.at, align 8
  ret void
}}
"""


def _handler(arguments: int, width: int) -> str:
    """Return the IR of `handle` for a kernel with this number of arguments and one result."""
    buffers = [*(("arguments", j) for j in range(arguments)), ("results", 0)]
    layout = "\n".join(
        f"""  %fields{k} = getelementptr i64, ptr %layout, i64 {3 * k}
  call void @store_layout(ptr %{kind}, i64 {j}, ptr %fields{k}, i64 %states)"""
        for k, (kind, j) in enumerate(buffers)
    )
    return f"""{CODE}
define ptr @handle(ptr %frame) {{
start:
  %api.at = getelementptr i8, ptr %frame, i64 {API}
  %api = load ptr, ptr %api.at, align 8
  %extension.at = getelementptr i8, ptr %frame, i64 {EXTENSION}
  %extension = load ptr, ptr %extension.at, align 8
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %work, label %extended
extended:
  %kind.at = getelementptr i8, ptr %extension, i64 {KIND}
  %kind = load i32, ptr %kind.at, align 4
  %is.metadata = icmp eq i32 %kind, {METADATA_EXTENSION}
  br i1 %is.metadata, label %report.version, label %work
report.version:
  %metadata.at = getelementptr i8, ptr %extension, i64 {METADATA}
  %metadata = load ptr, ptr %metadata.at, align 8
  %here = getelementptr i8, ptr %metadata, i64 {METADATA_VERSION}
  %older = icmp eq ptr %api, null
  br i1 %older, label %first, label %same
first:
  store i64 {FIRST_VERSION}, ptr %here, align 4
  ret ptr null
same:
  %version.at = getelementptr i8, ptr %api, i64 {VERSION}
  %version = load i64, ptr %version.at, align 4
  store i64 %version, ptr %here, align 4
  ret ptr null
work:
  %layout = alloca [{3 * (arguments + 1)} x i64], align 8
  %arguments.at = getelementptr i8, ptr %frame, i64 {ARGUMENTS}
  %arguments = load ptr, ptr %arguments.at, align 8
  %results.at = getelementptr i8, ptr %frame, i64 {RESULTS}
  %results = load ptr, ptr %results.at, align 8
  %result = load ptr, ptr %results, align 8
  %states = call i64 @rows(ptr %result)
{layout}
  %run = load ptr, ptr @run, align 8
  %workers = load i64, ptr @workers, align 8
  %parts = sdiv i64 %states, {SHARE}
  %others = sub i64 %parts, 1
  %fewer = icmp slt i64 %others, %workers
  %helping = select i1 %fewer, i64 %others, i64 %workers
  %several = icmp sgt i64 %helping, 0
  br i1 %several, label %together, label %alone
together:
  %jobs = load ptr, ptr @jobs, align 8
  %share = load ptr, ptr @share, align 8
  %all = add i64 %helping, 1
  %lanes = mul i64 %all, {width}
  %up = add i64 %states, %lanes
  %less = sub i64 %up, 1
  %chunks = sdiv i64 %less, %lanes
  %step = mul i64 %chunks, {width}
  %shared = call i32 %share(ptr %jobs, i64 %helping, ptr %run, ptr %layout, i64 %states, i64 %step)
  %refused = icmp eq i32 %shared, {BUSY}
  br i1 %refused, label %alone, label %judge
alone:
  %own = call i32 %run(ptr %layout, i64 0, i64 %states)
  br label %judge
judge:
  %broken = phi i32 [ %shared, %together ], [ %own, %alone ]
  %good = icmp eq i32 %broken, 0
  br i1 %good, label %done, label %not.finite
done:
  ret ptr null
not.finite:
  %explain = load ptr, ptr @explain, align 8
  %silent = icmp eq ptr %explain, null
  br i1 %silent, label %done, label %call.explain
call.explain:
  %explanation = call ptr %explain(ptr %layout, i64 %states)
  %error = alloca [4 x i64], align 8
  store [4 x i64] [i64 {ERROR_SIZE}, i64 0, i64 0, i64 {INVALID}], ptr %error, align 8
  %message = getelementptr i64, ptr %error, i64 2
  store ptr %explanation, ptr %message, align 8
  %make.at = getelementptr i8, ptr %api, i64 {ERROR}
  %make = load ptr, ptr %make.at, align 8
  %made = call ptr %make(ptr %error)
  ret ptr %made
}}"""


Explain = Callable[[list[Array]], str]
"""A function that explains arguments (rows, entries) without a result, one row per state or one for all."""


class Handler:
    """A kernel with the `function` that XLA calls, valid as long as this object exists.

    Without `explain`, results that are not finite are returned without an error.
    """

    def __init__(self, kernel: LlvmKernel, sizes: Sequence[int], explain: Explain | None) -> None:
        self._kernel, self._engine = kernel, engine_of(_handler(len(sizes), kernel.width))
        self._fill("run", kernel.address)
        if (team := workers(engine_of)) is not None:
            for name, place in team.team(os.cpu_count() or 1)._asdict().items():
                self._fill(name, place)
        self.function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self._engine.get_function_address("handle"))
        if explain is not None:
            self._callback = _CALLBACK_TYPE(self._explain_callback(sizes, explain))
            self._fill("explain", ctypes.cast(self._callback, ctypes.c_void_p).value)

    def _fill(self, name: str, place: int | None) -> None:
        ctypes.c_void_p.from_address(self._engine.get_global_value_address(name)).value = place

    def _explain_callback(self, sizes: Sequence[int], explain: Explain) -> Callable[[int, int], int]:
        texts: deque[Any] = deque(maxlen=64)  # XLA may still read the last ones
        number = np.ctypeslib.as_ctypes_type(self._kernel.dtype)

        def error_text(layout: int, states: int) -> int:
            fields = (ctypes.c_int64 * (3 * len(sizes))).from_address(layout)
            rows = [states if fields[3 * j + 1] else 1 for j in range(len(sizes))]
            views = [
                np.ctypeslib.as_array((number * (count * size)).from_address(fields[3 * j])).reshape(count, size)
                for j, (count, size) in enumerate(zip(rows, sizes, strict=True))
            ]
            texts.append(ctypes.create_string_buffer(explain(views).encode()))
            return ctypes.addressof(texts[-1])

        return error_text


_CALLBACK_TYPE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
