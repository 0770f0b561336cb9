"""One state from Python at the cost of little more than the arithmetic: a C-level function made by LLVM.

`call` has the signature of a fast built-in function (METH_FASTCALL). If its arguments are plain contiguous
arrays of the right length and type, it reads them where they lie, runs `body` and returns a new array. Anything
else, and any result that is not finite, it hands to the Python callable it was bound to, which does the same
with all checks.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.backends.llvm.block import Lanes
from armwright.graph.program import Program

# Fields of a NumPy array object, in bytes from its start: part of NumPy's stable binary interface
TYPE, DATA, RANK, DIMENSIONS, DESCRIPTION, FLAGS = 8, 16, 24, 32, 56, 64
PLAIN = 0x0001 | 0x0100  # C-contiguous and aligned
ARRAY_TYPE, NEW_ARRAY = 2, 93  # entries of NumPy's table of C functions

METH_FASTCALL = 0x0080


def single_call(program: Program, lanes: Lanes) -> str:
    """The IR of `call`."""
    t, sizes, m = lanes, program.sizes, len(program.outputs)
    lines = [
        "@array_type = global ptr null",
        "@description = global ptr null",
        "@new_array = global ptr null",
        "@vectorcall = global ptr null",
        f"@shape = internal constant [{max(1, len(program.shape))} x i64] "
        f"[{', '.join(f'i64 {n}' for n in program.shape or (0,))}]",
        "define ptr @call(ptr %self, ptr %args, i64 %given) {",
        "start:",
        f"  %status = alloca {t.vector}, align 64",
        *(f"  %tile{name} = alloca [{n * t.width} x {t.scalar}], align 64" for name, n in _tiles(sizes, m)),
        "  %type = load ptr, ptr @array_type, align 8",
        "  %kind = load ptr, ptr @description, align 8",
        f"  %expected = icmp eq i64 %given, {len(sizes)}",
        "  br i1 %expected, label %check0, label %ask",
    ]
    for a, n in enumerate(sizes):
        following = f"check{a + 1}" if a + 1 < len(sizes) else "read"
        lines += [
            f"check{a}:",
            f"  %arg{a}.at = getelementptr ptr, ptr %args, i64 {a}",
            f"  %arg{a} = load ptr, ptr %arg{a}.at, align 8",
            *_field(f"type{a}", f"%arg{a}", TYPE, "ptr"),
            f"  %array{a} = icmp eq ptr %type{a}, %type",
            f"  br i1 %array{a}, label %inspect{a}, label %ask",
            f"inspect{a}:",
            *_field(f"kind{a}", f"%arg{a}", DESCRIPTION, "ptr"),
            *_field(f"rank{a}", f"%arg{a}", RANK, "i32"),
            *_field(f"flags{a}", f"%arg{a}", FLAGS, "i32"),
            f"  %same{a} = icmp eq ptr %kind{a}, %kind",
            f"  %line{a} = icmp eq i32 %rank{a}, 1",
            f"  %bits{a} = and i32 %flags{a}, {PLAIN}",
            f"  %plain{a} = icmp eq i32 %bits{a}, {PLAIN}",
            f"  %both{a} = and i1 %same{a}, %line{a}",
            f"  %good{a} = and i1 %both{a}, %plain{a}",
            f"  br i1 %good{a}, label %measure{a}, label %ask",
            f"measure{a}:",
            *_field(f"dimensions{a}", f"%arg{a}", DIMENSIONS, "ptr"),
            f"  %length{a} = load i64, ptr %dimensions{a}, align 8",
            f"  %fits{a} = icmp eq i64 %length{a}, {n}",
            f"  br i1 %fits{a}, label %{following}, label %ask",
        ]
    lines.append("read:")
    for a, n in enumerate(sizes):
        lines += _field(f"data{a}", f"%arg{a}", DATA, "ptr")
        for k in range(n):
            x = f"x{a}.{k}"
            lines += [
                f"  %{x}.at = getelementptr {t.scalar}, ptr %data{a}, i64 {k}",
                f"  %{x} = load {t.scalar}, ptr %{x}.at, align {t.bytes}",
                f"  %{x}.one = insertelement {t.vector} poison, {t.scalar} %{x}, i32 0",
                f"  %{x}.all = shufflevector {t.vector} %{x}.one, {t.vector} poison, <{t.width} x i32> zeroinitializer",
                f"  %{x}.to = getelementptr {t.scalar}, ptr %tile{a}, i64 {k * t.width}",
                f"  store {t.vector} %{x}.all, ptr %{x}.to, align {t.bytes * t.width}",
            ]
    arguments = ", ".join(f"ptr %tile{name}, i64 {t.width}" for name, _ in _tiles(sizes, m))
    lines += [
        f"  store {t.vector} zeroinitializer, ptr %status, align 64",
        f"  call void @body({arguments}, ptr %status)",
        f"  %told = load {t.scalar}, ptr %status, align 64",
        f"  %broken = fcmp uno {t.scalar} %told, {t.number(0.0)}",
        "  br i1 %broken, label %ask, label %answer",
        "answer:",
        "  %new = load ptr, ptr @new_array, align 8",
        f"  %result = call ptr %new(ptr %type, i32 {len(program.shape)}, ptr @shape, i32 {12 if t.double else 11}, "
        "ptr null, ptr null, i32 0, i32 0, ptr null)",
        "  %failed = icmp eq ptr %result, null",
        "  br i1 %failed, label %end, label %write",
        "write:",
        *_field("target", "%result", DATA, "ptr"),
    ]
    for k in range(m):
        lines += [
            f"  %y{k}.at = getelementptr {t.scalar}, ptr %tileo, i64 {k * t.width}",
            f"  %y{k} = load {t.scalar}, ptr %y{k}.at, align {t.bytes}",
            f"  %y{k}.to = getelementptr {t.scalar}, ptr %target, i64 {k}",
            f"  store {t.scalar} %y{k}, ptr %y{k}.to, align {t.bytes}",
        ]
    lines += [
        "  br label %end",
        "end:",
        "  ret ptr %result",
        "ask:",
        "  %python = load ptr, ptr @vectorcall, align 8",
        "  %other = call ptr %python(ptr %self, ptr %args, i64 %given, ptr null)",
        "  ret ptr %other",
        "}",
    ]
    return "\n".join(lines)


def _tiles(sizes: tuple[int, ...], outputs: int) -> list[tuple[str, int]]:
    return [*((str(a), n) for a, n in enumerate(sizes)), ("o", outputs)]


def _field(name: str, pointer: str, offset: int, kind: str) -> list[str]:
    return [
        f"  %{name}.at = getelementptr i8, ptr {pointer}, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{name}.at, align {4 if kind == 'i32' else 8}",
    ]


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def bind(engine: Any, dtype: np.dtype[Any], ask: Callable[..., Any]) -> Callable[..., Any]:
    """`call` of a loaded engine as a Python function that hands to `ask` what it does not do itself."""
    if platform.python_implementation() != "CPython":
        return ask
    table = _numpy_table()
    for name, value in (
        ("array_type", table[ARRAY_TYPE]),
        ("new_array", table[NEW_ARRAY]),
        ("description", id(dtype)),
        ("vectorcall", ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value),
    ):
        ctypes.c_void_p.from_address(engine.get_global_value_address(name)).value = value
    method = _Method(b"call", engine.get_function_address("call"), METH_FASTCALL, None)
    _KEPT.append(method)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.argtypes, create.restype = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p), ctypes.py_object
    made: Callable[..., Any] = create(ctypes.addressof(method), ask, None)
    return made


_KEPT: list[_Method] = []
"""CPython keeps the address of a method's description as long as the function lives."""


def _numpy_table() -> Any:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    address = pointer(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return (ctypes.c_void_p * (NEW_ARRAY + 1)).from_address(address)
