"""Limits of a launch: the threads and the shared memory of a block."""

from __future__ import annotations

MAX_BLOCK_THREADS = 128
"""The most threads of a block that computes states."""

DEFAULT_SHARED_BYTES = 48 << 10
"""Bytes of shared memory that a block has without a request for more."""


def block_threads(thread_bytes: int) -> int:
    """Return the threads of a block with so many bytes of shared memory per thread, 0 if not even a warp fits.

    A multiprocessor runs 256 threads that take all registers. Blocks of three warps would leave some of them idle.
    """
    sizes = (MAX_BLOCK_THREADS, MAX_BLOCK_THREADS // 2, MAX_BLOCK_THREADS // 4)
    return next((threads for threads in sizes if threads * thread_bytes <= DEFAULT_SHARED_BYTES), 0)


def number_bytes(double: bool) -> int:
    """Return the bytes of a number."""
    return 8 if double else 4
