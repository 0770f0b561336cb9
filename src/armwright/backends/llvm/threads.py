"""Several threads for one batch, without Python between them.

Waking a Python thread costs as much as a thousand states. So each worker is a thread that waits inside compiled code on
a semaphore of the C library; `share` wakes them, computes its own part and waits for theirs, all in one call that has
released the interpreter. Where there are no such semaphores (only Linux is known to have them in this form), Python's
own pool is used.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

SEMAPHORE = 32  # bytes: glibc and musl on 64-bit machines
JOB = 2 * SEMAPHORE + 5 * 8
"""One worker's memory: two semaphores (there is work, it is done), then run, layout, begin, end, answer."""

SPINS = 50_000
"""Polls before a worker sleeps, some tenths of a millisecond; waking takes as long as 2000 states."""

REFUSED = -1
"""The answer of workers that serve another caller."""

IR = f"""
%job = type {{ [{SEMAPHORE} x i8], [{SEMAPHORE} x i8], ptr, ptr, i64, i64, i64 }}

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
  %patient = icmp slt i64 %i1, {SPINS}
  br i1 %patient, label %spin, label %sleep
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
  ret i32 {REFUSED}
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
    """The address of `share`, and the memory and the number of its workers."""

    share: int
    jobs: int
    workers: int


class Workers:
    """Threads that wait in compiled code."""

    def __init__(self, engine: Any, most: int) -> None:
        self._engine, self._most, self._started = engine, most, 0
        self._jobs = (ctypes.c_char * (JOB * most))()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._jobs))  # workers look at it until the process ends
        self._worker = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address("worker"))
        long, pointer = ctypes.c_int64, ctypes.c_void_p
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, long, pointer, pointer, long, long)
        self._share = kind(engine.get_function_address("share"))
        self._lock = threading.Lock()
        library = ctypes.CDLL(None)
        for i in range(2 * most):
            offset = JOB * (i // 2) + SEMAPHORE * (i % 2)
            library.sem_init(ctypes.byref(self._jobs, offset), 0, 0)

    def share(self, run: int, layout: Any, states: int, threads: int, width: int) -> int | None:
        """run(layout, begin, end) over all states in `threads` parts; None if the workers serve another caller."""
        workers = self._start(threads - 1)
        step = -(-states // ((workers + 1) * width)) * width
        answer = int(self._share(self._jobs, workers, run, layout, states, step))
        return None if answer == REFUSED else answer

    def team(self, threads: int) -> Team:
        """Return all that compiled code needs to share work among `threads` threads."""
        workers = self._start(threads - 1)
        return Team(self._engine.get_function_address("share"), ctypes.addressof(self._jobs), workers)

    def _start(self, wanted: int) -> int:
        """Start as many workers as wanted, or as possible."""
        workers = min(wanted, self._most)
        with self._lock:
            while self._started < workers:
                place = ctypes.addressof(self._jobs) + JOB * self._started
                threading.Thread(target=self._worker, args=(place,), daemon=True, name="armwright").start()
                self._started += 1
        return workers


_current: list[Workers] = []


def workers(link: Any) -> Workers | None:
    """The workers of this process, if the machine has them; `link` turns IR into an engine."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    if not _current:
        _current.append(Workers(link(IR), max(1, min(256, (os.cpu_count() or 1)) - 1) or 1))
    return _current[0]


@cache
def python_pool() -> ThreadPoolExecutor:
    """Return the pool of Python threads, where compiled workers do not exist."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="armwright")


def _forget() -> None:
    """Forget the workers after a fork: a child has none of the threads."""
    _current.clear()
    python_pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
