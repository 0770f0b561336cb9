"""A series of runs: one call that runs a kernel many times, where each run may read the results of the one before.

A rollout then needs no Python between its steps, and its threads do not wait for each other: each takes some states
through all runs, so that they stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

STATES_PER_PASS = 64
"""States that go through all runs together; a multiple of every width."""

HEAD = 3
"""The words before the layouts: the address of `run`, the number of layouts, and the numbers in each."""

IR = f"""
define i32 @again(ptr %series, i64 %begin, i64 %end) {{
start:
  %count.at = getelementptr i64, ptr %series, i64 1
  %size.at = getelementptr i64, ptr %series, i64 2
  %first = getelementptr i64, ptr %series, i64 {HEAD}
  %run = load ptr, ptr %series, align 8
  %count = load i64, ptr %count.at, align 8
  %size = load i64, ptr %size.at, align 8
  br label %states
states:
  %at = phi i64 [ %begin, %start ], [ %next, %done ]
  %so.far = phi i32 [ 0, %start ], [ %both, %done ]
  %some = icmp slt i64 %at, %end
  br i1 %some, label %some.states, label %finish
some.states:
  %next = add i64 %at, {STATES_PER_PASS}
  %over = icmp sgt i64 %next, %end
  %stop = select i1 %over, i64 %end, i64 %next
  br label %time
time:
  %k = phi i64 [ 0, %some.states ], [ %k.next, %time ]
  %sum = phi i32 [ %so.far, %some.states ], [ %both, %time ]
  %place = mul i64 %k, %size
  %layout = getelementptr i64, ptr %first, i64 %place
  %answer = call i32 %run(ptr %layout, i64 %at, i64 %stop)
  %both = or i32 %sum, %answer
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %time, label %done
done:
  br label %states
finish:
  ret i32 %so.far
}}
"""


@cache
def series_loop(link: Callable[[str], Any]) -> tuple[Any, int]:
    """Return the engine that holds the code, and its address; `link` turns IR into an engine."""
    engine = link(IR)
    return engine, int(engine.get_function_address("again"))
