"""Compilation of LLVM IR to machine code for this CPU, in this process or a child.

llvmlite leaks some 0.2 MB for every program, even if everything is closed. So a process compiles MAX_COMPILED_HERE
programs itself and starts a child for each further one. Run as a program this file is that child: text in, machine code
out.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import llvmlite.binding as llvm

from armwright.backends.llvm.target import target

MAX_COMPILED_HERE = 500
"""Programs compiled in this process, which leak 0.1 GB; in a child each takes tenths of a second longer."""


MAX_FULLY_OPTIMISED_LINES = 12_000
"""Lines of a program beyond which LLVM skips passes of more than linear time.

The derivatives of a humanoid of 31 freedoms compile in 6 s instead of 19; size and speed of the code are the same.
"""


def machine(cpu: str, features: str, level: int = 3) -> Any:
    """Return a target machine; an engine takes ownership of it, so each needs a new one.

    The code model is large. In a process with much mapped memory, code and its constants can lie more than 2 GB apart,
    beyond the reach of the small model, and LLVM would abort. It costs about one percent.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="large"
    )


PATIENCE_SECONDS = 0.3
"""Seconds after which a terminal shows that code is compiled."""

LOG = logging.getLogger("armwright")


def compiled(text: str) -> bytes:
    """Return the machine code of LLVM IR."""
    with _reported(text.count("\n")):
        return _compiled_in_process_or_child(text)


@contextmanager
def _reported(lines: int) -> Iterator[None]:
    """A line on a terminal while compiling takes long, and a message in the log afterwards."""
    begin, shown = time.perf_counter(), threading.Event()

    def show() -> None:
        shown.set()
        sys.stderr.write("compiling ...")
        sys.stderr.flush()

    timer = threading.Timer(PATIENCE_SECONDS, show) if sys.stderr is not None and sys.stderr.isatty() else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
            timer.join()
        if shown.is_set():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        seconds = time.perf_counter() - begin
        if seconds > PATIENCE_SECONDS:
            LOG.info("compiled %d lines in %.1f s", lines, seconds)


def _compiled_in_process_or_child(text: str) -> bytes:
    made_for = target().cpu, target().features
    if (
        next(_asked) < MAX_COMPILED_HERE or not sys.executable or hasattr(sys, "frozen")
    ):  # a frozen program would start itself
        return _compiled(text, *made_for)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        command = [sys.executable, "-P", __file__, *made_for]
        other = subprocess.run(command, input=text.encode(), env=environment, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no interpreter to start, or no memory for it
        return _compiled(text, *made_for)
    return other.stdout


_asked = count()


def _compiled(text: str, cpu: str, features: str) -> bytes:
    level = 1 if text.count("\n") > MAX_FULLY_OPTIMISED_LINES else 3
    made_for = machine(cpu, features, level)
    parsed = llvm.parse_assembly(text, llvm.create_context())
    parsed.verify()
    builder = llvm.create_pass_builder(made_for, llvm.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(parsed, builder)
    code: bytes = made_for.emit_object(parsed)
    return code


if __name__ == "__main__":
    sys.stdout.buffer.write(_compiled(sys.stdin.buffer.read().decode(), *sys.argv[1:]))
