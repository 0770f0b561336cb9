"""Text of LLVM IR: vector types, and instructions with a fresh name for each result."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class VectorType:
    """A vector of `width` floats or doubles."""

    width: int
    double: bool
    fma: bool = True

    @property
    def scalar(self) -> str:
        return "double" if self.double else "float"

    @property
    def integer(self) -> str:
        return "i64" if self.double else "i32"

    @property
    def bytes(self) -> int:
        return 8 if self.double else 4

    @property
    def vector(self) -> str:
        return f"<{self.width} x {self.scalar}>"

    @property
    def integers(self) -> str:
        return f"<{self.width} x {self.integer}>"

    @property
    def mask(self) -> str:
        return f"<{self.width} x i1>"

    @property
    def suffix(self) -> str:
        return f"v{self.width}f{8 * self.bytes}"

    def number(self, x: float) -> str:
        """Return a constant as LLVM writes it: a float, too, by the hexadecimal digits of a double."""
        if not self.double:
            x = struct.unpack("<f", struct.pack("<f", x))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"

    def splat(self, x: float) -> str:
        return "<" + ", ".join([f"{self.scalar} {self.number(x)}"] * self.width) + ">"

    def splat_integer(self, x: int) -> str:
        return "<" + ", ".join([f"{self.integer} {x}"] * self.width) + ">"


class Block:
    """Instructions in order; `let` names the result of one."""

    def __init__(self, lanes: VectorType) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._count = 0

    def sibling(self) -> Block:
        """Return an empty block for another function, with the same declarations."""
        block = Block(self.lanes)
        block.declared = self.declared
        return block

    def put(self, text: str) -> None:
        self.lines.append(text)

    def let(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def function(self, header: str) -> str:
        """Return the instructions as a function that returns nothing."""
        return f"define internal void {header} {{\n" + "\n".join(self.lines) + "\nret void\n}"

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def jump_to(self, name: str) -> None:
        """Jump to a label that is placed here."""
        self.put(f"br label %{name}")
        self.label(name)

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.put(f"br i1 {self.let(condition)}, label %{yes}, label %{no}")

    def fresh(self, name: str) -> str:
        self._count += 1
        return f"{name}{self._count}"

    def arithmetic(self, op: str, x: str, y: str) -> str:
        return self.let(f"{op} contract nsz {self.lanes.vector} {x}, {y}")

    def call(self, name: str, *args: str) -> str:
        """Call an LLVM intrinsic on vectors."""
        t, full = self.lanes.vector, f"@llvm.{name}.{self.lanes.suffix}"
        self.declared.add(f"declare {t} {full}({', '.join([t] * len(args))})")
        return self.let(f"call {t} {full}({', '.join(f'{t} {a}' for a in args)})")

    def fma(self, x: str, y: str, z: str) -> str:
        """Return x y + z, rounded once if the CPU can."""
        if self.lanes.fma:
            return self.call("fma", x, y, z)
        t = self.lanes.vector
        return self.let(f"fadd {t} {self.let(f'fmul {t} {x}, {y}')}, {z}")

    def read(self, source: str) -> str:
        return self.let(f"load {self.lanes.vector}, ptr {source}, align {self.lanes.bytes}")

    def load_broadcast(self, source: str) -> str:
        """Load one number into all lanes."""
        return self.broadcast(self.let(f"load {self.lanes.scalar}, ptr {source}, align {self.lanes.bytes}"))

    def broadcast(self, one: str) -> str:
        t = self.lanes
        first = self.let(f"insertelement {t.vector} poison, {t.scalar} {one}, i32 0")
        return self.let(f"shufflevector {t.vector} {first}, {t.vector} poison, <{t.width} x i32> zeroinitializer")

    def load(self, source: str, index: int | str, align: int = 64) -> str:
        """Load a vector from local memory."""
        place = self.let(f"getelementptr {self.lanes.vector}, ptr {source}, i64 {index}")
        return self.let(f"load {self.lanes.vector}, ptr {place}, align {align}")

    def store(self, target: str, index: int | str, value: str, align: int = 64) -> None:
        place = self.let(f"getelementptr {self.lanes.vector}, ptr {target}, i64 {index}")
        self.put(f"store {self.lanes.vector} {value}, ptr {place}, align {align}")

    def select(self, condition: str, x: str, y: str) -> str:
        t = self.lanes
        return self.let(f"select {t.mask} {condition}, {t.vector} {x}, {t.vector} {y}")


def c_function(name: str, lanes: VectorType) -> str:
    """Return the name of a C library function of this precision."""
    return name if lanes.double else f"{name}f"


def declarations(declared: set[str], t: VectorType) -> list[str]:
    """Return declarations of intrinsics and C functions, and metadata for rare branches and non-temporal stores."""
    return [
        *sorted(declared),
        *(f"declare {t.scalar} @{c_function(name, t)}({t.scalar})" for name in ("sin", "cos")),
        f"declare i1 @llvm.vector.reduce.or.v{t.width}i1({t.mask})",
        '!0 = !{!"branch_weights", i32 1, i32 1000000}',
        "!1 = !{i32 1}",
    ]


def loop_text(label: str, index: str, count: int | str, body: str, before: str, last: str, after: str) -> str:
    """Return a loop with this label: `body` for each index from 0 to below `count`.

    Control comes from `before`, `body` ends in the block `last`, and control continues at `after`.
    """
    return f"""{label}:
  {index} = phi i64 [ 0, %{before} ], [ {index}.next, %{last} ]
{body}
  {index}.next = add i64 {index}, 1
  {index}.more = icmp slt i64 {index}.next, {count}
  br i1 {index}.more, label %{label}, label %{after}"""
