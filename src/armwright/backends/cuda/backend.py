"""Programs compiled for a card."""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armwright.arrays import on_card
from armwright.backends.cuda.codegen import chain_sweep
from armwright.backends.cuda.codegen.rollout import Motion
from armwright.backends.cuda.host import device
from armwright.backends.cuda.host.device import Array, Code, capability, copied, crowded, cupy, full, halves, near
from armwright.backends.cuda.host.inverse_kinematics_launcher import Searching
from armwright.backends.cuda.host.rollout_launcher import Travelling
from armwright.backends.cuda.kernels import bulk_copy, kernel, soa_kernel, transpose
from armwright.backends.cuda.kernels.aos_kernel import WIDEST
from armwright.backends.cuda.kernels.launch_limits import BLOCK
from armwright.backends.interface import Backend, BasicKernel, ChainLoop, ChainTables
from armwright.graph.angles import rounds
from armwright.graph.program import Program
from armwright.lazy import cached_property

NONE = 2**64 - 1
"""The first state that is not good, where all are."""

CROWDED = {True: (4, 128, 170), False: (5, 102, 140)}
"""Of double precision, and of pairs in single precision: so many blocks are on a processor with so many registers, and
up to how many it is tried whether these are enough."""

AGAIN = 1 << 16
"""Threads that do states again whose angles are large: there may be many, and mostly there is none."""


class Resident(BasicKernel):
    """What computes states on the card; those of NumPy are copied there and back."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """How many entries each argument has."""

    @abstractmethod
    def code(self, arrays: Sequence[Any], out: Any) -> Code:
        """What is launched for arrays that lie so: it knows its registers."""

    @abstractmethod
    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        """Fill `out` and, if it is given, `good` (states,), on the current stream; returns two numbers, of which the
        first is that of the first state that is not good, `NONE` if all are."""

    def first(self, told: Any) -> int | None:
        """The first state that is not good; waits until all are computed."""
        found = int(told[0])
        return None if found == NONE else found

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        return ask

    def run(self, arrays: Sequence[Any], out: Any, threads: int = 1) -> bool:
        del threads
        if on_card(out):
            return self.first(self.launch(arrays, out)) is None
        try:
            there = cupy().empty(out.shape, out.dtype)
            finite = self.run([copied(x) for x in arrays], there)
            out[...] = there.get()
        except full():
            return self._in_pieces(arrays, out)
        return finite

    def series(self, arrays: Sequence[Any], out: Any, threads: int = 1) -> bool:
        if not on_card(out):
            return super().series(arrays, out, threads)
        told = [self.launch([x[k] for x in arrays], out[k]) for k in range(len(out))]
        return all(self.first(x) is None for x in told)

    def _laid(self, arrays: Sequence[Any], out: Any, good: Any, taken: Callable[[Any], Any]) -> Any:
        """`launch` for rows whose results are computed side by side, from what is `taken` of the arrays: as many at a
        time as there is room for."""
        told, xp, each = list[Any](), cupy(), transpose.at_a_time(out)
        for begin in range(0, len(out), each):
            part = slice(begin, begin + each)
            given, rows = [taken(x[part]) for x in arrays], out[part]
            found = transpose.beside(rows)
            first = self.launch(given, found, None if good is None else good[part])[:1]
            told.append(xp.where(first == np.uint64(NONE), first, first + np.uint64(begin)))
            transpose.lay(found, rows)
            del given, found  # which the next part has room for, then
        return xp.stack(told, 0).min(axis=0)

    def _in_pieces(self, arrays: Sequence[Any], out: Any) -> bool:
        """What is too much for the memory of the card, one half after the other."""
        done = [self.run([x[half] for x in arrays], out[half]) for half in halves(len(out))]
        return all(done)


def _call(names: Sequence[str], further: Sequence[tuple[str, Any]]) -> type[ctypes.Structure]:
    """What a kernel of these arguments is given, in the order of its `Call`."""
    fields = [
        *((f"{name}_", Array) for name in (*names, "out")),
        *((name, ctypes.c_void_p) for name in ("good", "bad", "last", "marked")),
        ("states", ctypes.c_longlong),
    ]
    return type("Call", (ctypes.Structure,), {"_fields_": [*fields, *further]})


def _given(arrays: Sequence[Any], out: Any, good: Any, marked: Any) -> tuple[Any, list[Any]]:
    """Room for the first state that is not good and for the last that is marked, none of either; and what every `Call`
    begins with."""
    told = cupy().empty(2, np.uint64)
    told.data.memset_async(0xFF, told.nbytes)
    where = 0 if good is None else good.data.ptr
    places = (told.data.ptr, told.data.ptr + told.itemsize, marked.data.ptr)
    return told, [*map(Array.of, (*arrays, out)), where, *places, len(out)]


class Straight(Resident):
    """One program."""

    def __init__(self, program: Program, dtype: str) -> None:
        self.shape, self.dtype, self._program = program.shape, np.dtype(dtype), program
        self._codes: dict[kernel.Layout, Code] = {}
        self._layouts: dict[tuple[Any, ...], kernel.Layout] = {}

    @property
    def double(self) -> bool:
        return bool(self.dtype == np.float64)

    @property
    def source(self) -> str:
        """The text for arrays in any layout."""
        return self._text(self._anyhow)

    @property
    def _anyhow(self) -> kernel.Layout:
        return kernel.Layout((kernel.ANY,) * len(self._program.sizes), kernel.ANY)

    def _text(self, layout: kernel.Layout) -> str:
        return kernel.text(self._program, layout, self.double)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self._program.sizes)

    def code(self, arrays: Sequence[Any], out: Any) -> Code:
        layout = self.layout(arrays, out)
        if _later(layout, out):
            part = slice(transpose.at_a_time(out))
            layout = self.layout([x[part] for x in arrays], transpose.beside(out[part]))
        return self._code(layout)

    def _code(self, layout: kernel.Layout) -> Code:
        """The kernel of a layout, by what the compiler says of its registers.

        In double precision a long program is the faster for having fetched what it reads; in single precision if that
        spares registers.
        """
        if layout not in self._codes:
            self._codes[layout] = self._made(layout)
        return self._codes[layout]

    def _made(self, layout: kernel.Layout) -> Code:
        if layout.fetched and not self.double:
            both = [self._compiled(layout._replace(fetched=fetched)) for fetched in (False, True)]
            return min(both, key=lambda code: (code.spilled, code.registers))
        if not (self.double or layout.pairs) or kernel.block(self._program, layout, self.double) != BLOCK:
            return self._compiled(layout)
        return crowded(lambda blocks: self._compiled(layout._replace(blocks=blocks)), *CROWDED[self.double])

    def _compiled(self, layout: kernel.Layout) -> Code:
        of = self._program, layout, self.double
        return Code(self._text(layout), kernel.block(*of), kernel.shared(*of))

    def layout(self, arrays: Sequence[Any], out: Any) -> kernel.Layout:
        """How arrays lie, as far as a kernel makes use of it."""
        key = tuple((x.strides, x.data.ptr % 16) for x in (*arrays, out)), len(out)
        if key not in self._layouts:
            self._layouts[key] = self._seen(arrays, out)
        return self._layouts[key]

    def _seen(self, arrays: Sequence[Any], out: Any) -> kernel.Layout:
        side = self._side(arrays, out)
        if side is not None:
            return side
        rows, ends = [_row(x) for x in arrays], _row(out)
        if (
            ends
            and any(rows)
            and capability() >= bulk_copy.SINCE
            and bulk_copy.threads(self._program, rows, self.double)
        ):
            pairs = bulk_copy.pairs(self._program, self.double)
            return kernel.Layout(tuple(map(_kind, rows)), kernel.ROW, pairs=pairs, bulk=True)
        kinds = tuple(_kind(row and x.shape[1] <= WIDEST) for row, x in zip(rows, arrays, strict=True))
        layouts = kernel.Layout(kinds, _kind(ends)), kernel.Layout(kinds, kernel.ANY), self._anyhow
        return next(layout for layout in layouts if kernel.block(self._program, layout, self.double))

    def _side(self, arrays: Sequence[Any], out: Any) -> kernel.Layout | None:
        """States side by side; what is not may be the same for all of them.

        Of short programs in single precision a thread then has two; of long ones all entries are found alike.
        """
        size, states = out.itemsize, len(out)
        sided = [x.strides[0] == size for x in arrays]
        together = [out, *(x for x, side in zip(arrays, sided, strict=True) if side)]
        if out.strides[0] != size or states < 2 or any(x.strides[0] not in (0, size) for x in arrays):
            return None
        kinds = tuple(kernel.SIDE if side else kernel.ANY for side in sided)
        if not self._long:
            even = states % 2 == 0 and all(x.data.ptr % (2 * size) == x.strides[1] % (2 * size) == 0 for x in together)
            room = soa_kernel.fits(self._program, sided, not self.double, self.double)
            return kernel.Layout(kinds, kernel.SIDE, pairs=not self.double) if room and (even or self.double) else None
        alike = all(x.strides == out.strides or x.shape[1] == 1 for x in together)
        few = max(x.shape[1] for x in together) * out.strides[1] < 2**32 * size
        if not (alike and few and states * size <= out.strides[1]):
            return None
        tile, fetched = kernel.tile(self._program, self.double, near()), kernel.ahead(self._program, self.double)
        return kernel.Layout(kinds, kernel.SIDE, tile=tile, fetched=fetched)

    @cached_property
    def _call(self) -> type[ctypes.Structure]:
        return _call([name for name, _ in self._program.arguments], [("entry", ctypes.c_longlong)])

    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        layout = self.layout(arrays, out)
        if _later(layout, out):
            return self._laid(arrays, out, good, taken=lambda rows: rows)
        again = self._turns or layout.bulk
        marked = cupy().empty(len(out) if again else 0, np.int64)
        told, given = _given(arrays, out, good, marked)
        call = self._call(*given, out.strides[1] // out.itemsize)
        code = self._code(layout)
        code.launch(call, -(-len(out) // 2) if layout.pairs else len(out))
        if again:
            code.launch(call, min(len(out), AGAIN), name="again")
        return told

    @cached_property
    def _long(self) -> bool:
        return kernel.long(self._program)

    @cached_property
    def _turns(self) -> bool:
        """Whether there are angles, which may be too large."""
        return bool(rounds(self._program))


def _later(layout: kernel.Layout, out: Any) -> bool:
    """Whether results are laid as rows once they are computed, for which a thread has no room."""
    return layout.out == kernel.ANY and _long_rows(out)


def _long_rows(out: Any) -> bool:
    """Whether results are rows, and too many to be gathered by the caches of a card."""
    return _row(out) and bool(out.nbytes > transpose.LEAST)


def _kind(row: bool) -> str:
    return kernel.ROW if row else kernel.ANY


def _row(array: Any) -> bool:
    """Whether states are rows that a warp can fetch: one after the other, at a multiple of 16 bytes."""
    (states, n), size = array.shape, array.itemsize
    return bool(array.strides == (n * size, size) and array.data.ptr % 16 == 0 and n > 1 and states > 1)


class Looped(Resident):
    """Sweeps over the joints of a chain."""

    def __init__(self, rolled: ChainLoop, tables: ChainTables, dtype: str) -> None:
        self.shape, self.dtype, self._rolled, self._tables = (len(tables.kinds),), np.dtype(dtype), rolled, tables

    @property
    def source(self) -> str:
        return chain_sweep.text(self._rolled, self.dtype == np.float64)

    @property
    def sizes(self) -> tuple[int, ...]:
        (joints,) = self.shape
        return tuple(entries * joints for entries in self._rolled.inputs.values())

    def code(self, arrays: Sequence[Any], out: Any) -> Code:
        del arrays, out  # it is the same for all
        return self._code

    @cached_property
    def _code(self) -> Code:
        """With as much shared memory as there is for the blocks of a processor, of which registers say how many."""
        code, (joints,) = Code(self.source, BLOCK), self.shape
        return Code(self.source, BLOCK, self._each * min(joints, near() // code.blocks // self._each))

    @property
    def _each(self) -> int:
        """Bytes that a block keeps for every joint."""
        return chain_sweep.width(self._rolled) * BLOCK * self.dtype.itemsize

    @property
    def _near(self) -> int:
        """Joints for which they are kept in shared memory."""
        return self._code.shared // self._each

    @cached_property
    def _placed(self) -> list[Any]:
        """Parameters, starts and kinds on the card."""
        tables = self._tables
        return [copied(np.ascontiguousarray(x)) for x in (tables.parameters, tables.starts, tables.kinds)]

    @cached_property
    def _call(self) -> type[ctypes.Structure]:
        tables = [(name, ctypes.c_void_p) for name in ("parameters", "starts", "kinds", "records")]
        joints = [(name, ctypes.c_int) for name in ("joints", "near")]
        return _call(list(self._rolled.inputs), [*tables, ("threads", ctypes.c_longlong), *joints])

    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        if _long_rows(out):
            return self._laid(arrays, out, good, transpose.taken)
        marked = cupy().empty(len(out), np.int64)
        told, given = _given(arrays, out, good, marked)
        (joints,), threads = self.shape, min(len(out), self._code.resident)
        records = cupy().empty(max(1, (joints - self._near) * chain_sweep.width(self._rolled) * threads), self.dtype)
        tables = [x.data.ptr for x in (*self._placed, records)]
        call = self._call(*given, *tables, threads, joints, self._near)
        self._code.launch(call, threads)
        self._code.launch(call, threads, name="again")
        return told


def _travelling(*parts: Any) -> Travelling:
    *motion, dtype = parts
    return Travelling(Motion(*motion), dtype)


UNROLLED = 32
"""Joints of the longest chain that is straight code: inverse dynamics of 30 joints then has a quarter as much in memory
as the loop that goes along them, and what has no loop need not be computed operation by operation."""

SLOWER = {"forward_dynamics": 22}
"""Joints from which on a loop is the faster one, as straight code then has too much in memory; docs/gpu.md has both."""

BACKEND = Backend(
    kernel=Straight,
    loop=Looped,
    rollout=_travelling,
    device=device,
    search=Searching,
    solve_loop_size=5,
    max_unrolled_joints=UNROLLED,
    loop_sizes=SLOWER,
)
"""The backend of NVIDIA's cards."""
