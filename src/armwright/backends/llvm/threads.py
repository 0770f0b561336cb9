"""Worker threads in compiled code, which share the states of a batch.

Waking a Python thread costs as much as a thousand states. So workers wait inside compiled code on semaphores of the C
library. `share` wakes them, computes the first part and waits for theirs, in one call without the interpreter lock.
Except on Linux, whose semaphores are known to have this form, a pool of Python threads is used.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

SEMAPHORE_BYTES = 32  # bytes: glibc and musl on 64-bit machines
JOB_BYTES = 2 * SEMAPHORE_BYTES + 5 * 8
"""One worker's memory: two semaphores (work is ready, work is done), then run, layout, begin, end, answer."""

SPINS = 50_000
"""Polls before a worker sleeps, some tenths of a millisecond: waking takes as long as 2000 states."""

BUSY = -1
"""The answer while the workers serve another caller."""

IR = f"""
%job = type {{ [{SEMAPHORE_BYTES} x i8], [{SEMAPHORE_BYTES} x i8], ptr, ptr, i64, i64, i64 }}

define internal void @await(ptr %semaphore) {{
start:
  br label %spin
spin:
  %i = phi i64 [ 0, %start ], [ %i1, %again ]
  %taken = call i32 @sem_trywait(ptr %semaphore)
  %ready = icmp eq i32 %taken, 0
  br i1 %ready, label %end, label %again
again:
  %i1 = add i64 %i, 1
  %within.spins = icmp slt i64 %i1, {SPINS}
  br i1 %within.spins, label %spin, label %sleep
sleep:
  %woken = call i32 @sem_wait(ptr %semaphore)
  %good = icmp eq i32 %woken, 0
  br i1 %good, label %end, label %sleep
end:
  ret void
}}

define void @worker(ptr %job) {{
start:
  %done = getelementptr %job, ptr %job, i64 0, i32 1
  %run.at = getelementptr %job, ptr %job, i64 0, i32 2
  %layout.at = getelementptr %job, ptr %job, i64 0, i32 3
  %begin.at = getelementptr %job, ptr %job, i64 0, i32 4
  %end.at = getelementptr %job, ptr %job, i64 0, i32 5
  %answer.at = getelementptr %job, ptr %job, i64 0, i32 6
  br label %wait
wait:
  call void @await(ptr %job)
  %run = load ptr, ptr %run.at, align 8
  %layout = load ptr, ptr %layout.at, align 8
  %begin = load i64, ptr %begin.at, align 8
  %end = load i64, ptr %end.at, align 8
  %answer = call i32 %run(ptr %layout, i64 %begin, i64 %end)
  %wide = zext i32 %answer to i64
  store i64 %wide, ptr %answer.at, align 8
  call i32 @sem_post(ptr %done)
  br label %wait
}}

@busy = internal global i32 0

define i32 @share(ptr %jobs, i64 %workers, ptr %run, ptr %layout, i64 %states, i64 %step) {{
start:
  %before = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %before, 1
  br i1 %free, label %give, label %refuse
refuse:
  ret i32 {BUSY}
give:
  %w = phi i64 [ 0, %start ], [ %w1, %give ]
  %job = getelementptr %job, ptr %jobs, i64 %w
  %run.at = getelementptr %job, ptr %job, i64 0, i32 2
  store ptr %run, ptr %run.at, align 8
  %layout.at = getelementptr %job, ptr %job, i64 0, i32 3
  store ptr %layout, ptr %layout.at, align 8
  %w1 = add i64 %w, 1
  %begin = mul i64 %w1, %step
  %past = icmp sgt i64 %begin, %states
  %begin.cut = select i1 %past, i64 %states, i64 %begin
  %begin.at = getelementptr %job, ptr %job, i64 0, i32 4
  store i64 %begin.cut, ptr %begin.at, align 8
  %end = add i64 %begin, %step
  %over = icmp sgt i64 %end, %states
  %end.cut = select i1 %over, i64 %states, i64 %end
  %end.at = getelementptr %job, ptr %job, i64 0, i32 5
  store i64 %end.cut, ptr %end.at, align 8
  call i32 @sem_post(ptr %job)
  %more = icmp slt i64 %w1, %workers
  br i1 %more, label %give, label %own
own:
  %short = icmp slt i64 %step, %states
  %own.end = select i1 %short, i64 %step, i64 %states
  %first = call i32 %run(ptr %layout, i64 0, i64 %own.end)
  br label %collect
collect:
  %c = phi i64 [ 0, %own ], [ %c1, %collect ]
  %sum = phi i32 [ %first, %own ], [ %sum1, %collect ]
  %cjob = getelementptr %job, ptr %jobs, i64 %c
  %done = getelementptr %job, ptr %cjob, i64 0, i32 1
  call void @await(ptr %done)
  %answer.at = getelementptr %job, ptr %cjob, i64 0, i32 6
  %answer = load i64, ptr %answer.at, align 8
  %narrow = trunc i64 %answer to i32
  %sum1 = or i32 %sum, %narrow
  %c1 = add i64 %c, 1
  %again = icmp slt i64 %c1, %workers
  br i1 %again, label %collect, label %end.all
end.all:
  store atomic i32 0, ptr @busy release, align 4
  ret i32 %sum1
}}

declare i32 @sem_trywait(ptr)
declare i32 @sem_wait(ptr)
declare i32 @sem_post(ptr)
"""


class Team(NamedTuple):
    """The address of `share`, and the memory and number of its workers."""

    share: int
    jobs: int
    workers: int


class Workers:
    """Threads that wait in compiled code."""

    def __init__(self, engine: Any, max_workers: int) -> None:
        self._engine, self._max_workers, self._started = engine, max_workers, 0
        self._jobs = (ctypes.c_char * (JOB_BYTES * max_workers))()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._jobs))  # workers read it until the process ends
        self._worker = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address("worker"))
        long, pointer = ctypes.c_int64, ctypes.c_void_p
        signature = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, long, pointer, pointer, long, long)
        self._share = signature(engine.get_function_address("share"))
        self._lock = threading.Lock()
        library = ctypes.CDLL(None)
        for i in range(2 * max_workers):
            offset = JOB_BYTES * (i // 2) + SEMAPHORE_BYTES * (i % 2)
            library.sem_init(ctypes.byref(self._jobs, offset), 0, 0)

    def share(self, run: int, layout: Any, states: int, threads: int, width: int) -> int | None:
        """Call run(layout, begin, end) for all states in `threads` parts; None if the workers are busy."""
        workers = self._start(threads - 1)
        step = -(-states // ((workers + 1) * width)) * width
        answer = int(self._share(self._jobs, workers, run, layout, states, step))
        return None if answer == BUSY else answer

    def team(self, threads: int) -> Team:
        """Return what compiled code needs to call `share` itself."""
        workers = self._start(threads - 1)
        return Team(self._engine.get_function_address("share"), ctypes.addressof(self._jobs), workers)

    def _start(self, requested: int) -> int:
        """Start the requested number of workers, up to the maximum; return their number."""
        workers = min(requested, self._max_workers)
        with self._lock:
            while self._started < workers:
                job = ctypes.addressof(self._jobs) + JOB_BYTES * self._started
                threading.Thread(target=self._worker, args=(job,), daemon=True, name="armwright").start()
                self._started += 1
        return workers


_current: list[Workers] = []


def workers(link: Any) -> Workers | None:
    """Return the workers of this process, None where they do not exist; `link` makes an engine of IR."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    if not _current:
        _current.append(Workers(link(IR), max(1, min(256, (os.cpu_count() or 1)) - 1) or 1))
    return _current[0]


@cache
def python_thread_pool() -> ThreadPoolExecutor:
    """Return the pool of Python threads, used where compiled workers do not exist."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="armwright")


def _reset_after_fork() -> None:
    """Drop the workers: a forked child has none of the threads."""
    _current.clear()
    python_thread_pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
