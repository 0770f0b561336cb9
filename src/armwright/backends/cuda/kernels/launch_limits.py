"""What blocks of threads are made of."""

from __future__ import annotations

BLOCK = 128
"""Threads of a block that computes states, at most."""

SHARED = 48 << 10
"""Bytes of shared memory that a block may have without asking for more."""


def threads(each: int) -> int:
    """Of a block whose threads take so many bytes of shared memory each; none if not even a warp has room.

    Of threads that take all registers a processor has 256, which blocks of three warps would not make use of.
    """
    return next((block for block in (BLOCK, BLOCK // 2, BLOCK // 4) if block * each <= SHARED), 0)


def size(double: bool) -> int:
    """Bytes of a number."""
    return 8 if double else 4
