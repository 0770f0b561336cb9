"""A C function, compiled by LLVM, for calls with one state, which cost little more than the arithmetic.

`call` has the signature of a fast built-in function (METH_FASTCALL). If its arguments are plain contiguous
arrays of the right length and type, it reads them in place, runs `body` and returns a new array. Other arguments, and
results that are not finite, go to a Python function with all checks.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.backends.llvm.block import Block, VectorType, loop_text
from armwright.graph.program import Program

# Fields of a NumPy array object, in bytes from its start: part of NumPy's stable binary interface
TYPE_FIELD, DATA_FIELD, RANK_FIELD, SHAPE_FIELD, DTYPE_FIELD, FLAGS_FIELD = 8, 16, 24, 32, 56, 64
PLAIN_FLAGS = 0x0001 | 0x0100  # C-contiguous and aligned
ARRAY_TYPE, NEW_ARRAY = 2, 93  # entries of NumPy's table of C functions

METH_FASTCALL = 0x0080

MAX_UNROLLED_STORES = 64
"""The number of outputs up to which stores are unrolled, as more compile slowly."""


def single_call(program: Program, t: VectorType, fill: bool) -> str:
    """Return the IR of `call` and of the pointers that `bind` sets; with `fill`, it writes constant outputs first."""
    block, sizes = Block(t), program.sizes
    tiles = {**{f"%tile{a}": n for a, n in enumerate(sizes)}, "%tileo": len(program.outputs)}
    block.put(f"%status = alloca {t.vector}, align 64")
    for tile, n in tiles.items():
        block.put(f"{tile} = alloca [{n * t.width} x {t.scalar}], align 64")
    block.put("%type = load ptr, ptr @array_type, align 8")
    block.put("%kind = load ptr, ptr @description, align 8")
    block.branch(f"icmp eq i64 %count, {len(sizes)}", "check0", "fallback")
    for a, n in enumerate(sizes):
        _check_argument(block, a, n, f"check{a + 1}" if a + 1 < len(sizes) else "read")
    block.label("read")
    for a, n in enumerate(sizes):
        _copy_argument(block, a, n)
    arguments = ", ".join(f"ptr {tile}, i64 {t.width}" for tile in tiles)
    block.put(f"store {t.vector} zeroinitializer, ptr %status, align 64")
    if fill:
        block.put("call void @fill(ptr %tileo)")
    block.put(f"call void @body({arguments}, ptr %status)")
    if program.equations is not None:
        block.put("call void @solve(ptr %tileo, ptr %status)")
    status = block.let(f"load {t.scalar}, ptr %status, align 64")
    block.branch(f"fcmp uno {t.scalar} {status}, {t.number(0.0)}", "fallback", "answer")
    _return_array(block, program)
    shape = program.shape or (0,)
    return "\n".join(
        [
            *(f"@{name} = global ptr null" for name in ("array_type", "description", "new_array", "vectorcall")),
            f"@shape = internal constant [{len(shape)} x i64] [{', '.join(f'i64 {n}' for n in shape)}]",
            "define ptr @call(ptr %self, ptr %args, i64 %count) {\nstart:",
            *block.lines,
            "fallback:",
            "  %python = load ptr, ptr @vectorcall, align 8",
            "  %other = call ptr %python(ptr %self, ptr %args, i64 %count, ptr null)",
            "  ret ptr %other\n}",
        ]
    )


def _check_argument(block: Block, a: int, n: int, following: str) -> None:
    """Check that argument a is a plain array of n numbers of the right type; otherwise Python handles the call."""
    block.label(f"check{a}")
    place = block.let(f"getelementptr ptr, ptr %args, i64 {a}")
    block.put(f"%arg{a} = load ptr, ptr {place}, align 8")
    block.branch(f"icmp eq ptr {_field(block, f'%arg{a}', TYPE_FIELD)}, %type", f"inspect{a}", "fallback")
    block.label(f"inspect{a}")
    kind = _field(block, f"%arg{a}", DTYPE_FIELD)
    rank, flags = (_field(block, f"%arg{a}", field, "i32") for field in (RANK_FIELD, FLAGS_FIELD))
    same = block.let(f"icmp eq ptr {kind}, %kind")
    one_axis = block.let(f"icmp eq i32 {rank}, 1")
    bits = block.let(f"and i32 {flags}, {PLAIN_FLAGS}")
    plain = block.let(f"icmp eq i32 {bits}, {PLAIN_FLAGS}")
    fits = block.let(f"and i1 {same}, {one_axis}")
    block.branch(f"and i1 {fits}, {plain}", f"measure{a}", "fallback")
    block.label(f"measure{a}")
    dimensions = _field(block, f"%arg{a}", SHAPE_FIELD)
    length = block.let(f"load i64, ptr {dimensions}, align 8")
    block.branch(f"icmp eq i64 {length}, {n}", following, "fallback")


def _copy_argument(block: Block, a: int, n: int) -> None:
    """Copy every number of argument a to all lanes of its tile."""
    t, data = block.lanes, _field(block, f"%arg{a}", DATA_FIELD)
    for k in range(n):
        value = block.load_broadcast(block.let(f"getelementptr {t.scalar}, ptr {data}, i64 {k}"))
        place = block.let(f"getelementptr {t.scalar}, ptr %tile{a}, i64 {k * t.width}")
        block.put(f"store {t.vector} {value}, ptr {place}, align {t.bytes * t.width}")


def _return_array(block: Block, program: Program) -> None:
    """Write the first lane of every output to a new array and return it."""
    t, kind = block.lanes, 12 if block.lanes.double else 11
    block.label("answer")
    new = block.let("load ptr, ptr @new_array, align 8")
    arguments = f"i32 {len(program.shape)}, ptr @shape, i32 {kind}, ptr null, ptr null, i32 0, i32 0, ptr null"
    block.put(f"%result = call ptr {new}(ptr %type, {arguments})")
    block.branch("icmp eq ptr %result, null", "end", "write")
    block.label("write")
    target = _field(block, "%result", DATA_FIELD)
    if program.results > MAX_UNROLLED_STORES:
        step = f"""  %slot = mul i64 %k, {t.width}
  %source = getelementptr {t.scalar}, ptr %tileo, i64 %slot
  %value = load {t.scalar}, ptr %source, align {t.bytes}
  %place = getelementptr {t.scalar}, ptr {target}, i64 %k
  store {t.scalar} %value, ptr %place, align {t.bytes}"""
        block.put("br label %each")
        block.put(loop_text("each", "%k", program.results, step, "write", "each", "end"))
        block.label("end")
        block.put("ret ptr %result")
        return
    for k in range(program.results):
        source = block.let(f"getelementptr {t.scalar}, ptr %tileo, i64 {k * t.width}")
        value = block.let(f"load {t.scalar}, ptr {source}, align {t.bytes}")
        place = block.let(f"getelementptr {t.scalar}, ptr {target}, i64 {k}")
        block.put(f"store {t.scalar} {value}, ptr {place}, align {t.bytes}")
    block.jump_to("end")
    block.put("ret ptr %result")


def _field(block: Block, pointer: str, offset: int, kind: str = "ptr") -> str:
    place = block.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")
    return block.let(f"load {kind}, ptr {place}, align {4 if kind == 'i32' else 8}")


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def bind(engine: Any, dtype: np.dtype[Any], fallback: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call` of a loaded engine as a Python function, with `fallback` for arguments that it cannot handle."""
    if platform.python_implementation() != "CPython":
        return fallback
    table = _numpy_table()
    for name, value in (
        ("array_type", table[ARRAY_TYPE]),
        ("new_array", table[NEW_ARRAY]),
        ("description", id(dtype)),
        ("vectorcall", ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value),
    ):
        ctypes.c_void_p.from_address(engine.get_global_value_address(name)).value = value
    method = _Method(b"call", engine.get_function_address("call"), METH_FASTCALL, None)
    _METHODS.append(method)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.argtypes, create.restype = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p), ctypes.py_object
    function: Callable[..., Any] = create(ctypes.addressof(method), fallback, None)
    return function


_METHODS: list[_Method] = []
"""Descriptions of methods, which must live as long as their functions: CPython stores only the address."""


def _numpy_table() -> Any:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    address = pointer(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return (ctypes.c_void_p * (NEW_ARRAY + 1)).from_address(address)
