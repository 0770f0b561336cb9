"""Compilation of LLVM IR to machine code for this CPU, in this process or a child process.

llvmlite leaks about 0.2 MB per program, even if everything is closed. So a process compiles at most
MAX_IN_PROCESS_COMPILATIONS programs itself and starts a child process for each further one. This file, run as a script,
is that child: it reads IR from stdin and writes machine code to stdout.
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

MAX_IN_PROCESS_COMPILATIONS = 500
"""Programs compiled in this process, which leak 0.1 GB; a child takes some 0.3 s longer for each."""

MAX_FULLY_OPTIMISED_LINES = 12_000
"""Lines of a program above which LLVM skips passes that take more than linear time.

The derivatives of a humanoid with 31 degrees of freedom compile in 6 s instead of 19; code size and speed are the same.
"""


def target_machine(cpu: str, features: str, level: int = 3) -> Any:
    """Return a new LLVM target machine; each engine owns one.

    The large code model costs about one percent of speed. In a process with much mapped memory, code and constants can
    be more than 2 GB apart, and with the small code model LLVM would abort.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="large"
    )


NOTICE_DELAY = 0.3
"""Seconds of compilation after which a terminal shows 'compiling ...'."""

LOG = logging.getLogger("armwright")


def compile_ir(text: str) -> bytes:
    """Return the machine code of LLVM IR."""
    with _compile_notice(text.count("\n")):
        return _compile_in_process_or_child(text)


@contextmanager
def _compile_notice(lines: int) -> Iterator[None]:
    """Show a slow compilation on the terminal, and log it when it ends."""
    begin, shown = time.perf_counter(), threading.Event()

    def show() -> None:
        shown.set()
        sys.stderr.write("compiling ...")
        sys.stderr.flush()

    timer = threading.Timer(NOTICE_DELAY, show) if sys.stderr is not None and sys.stderr.isatty() else None
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
        if seconds > NOTICE_DELAY:
            LOG.info("compiled %d lines in %.1f s", lines, seconds)


def _compile_in_process_or_child(text: str) -> bytes:
    cpu = target().cpu, target().features
    frozen = hasattr(sys, "frozen")  # a frozen program would start itself as the child
    if next(_compilation_numbers) < MAX_IN_PROCESS_COMPILATIONS or not sys.executable or frozen:
        return _compile_in_process(text, *cpu)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        command = [sys.executable, "-P", __file__, *cpu]
        child = subprocess.run(command, input=text.encode(), env=environment, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # the interpreter cannot start, or lacks memory
        return _compile_in_process(text, *cpu)
    return child.stdout


_compilation_numbers = count()


def _compile_in_process(text: str, cpu: str, features: str) -> bytes:
    level = 1 if text.count("\n") > MAX_FULLY_OPTIMISED_LINES else 3
    machine = target_machine(cpu, features, level)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


if __name__ == "__main__":
    sys.stdout.buffer.write(_compile_in_process(sys.stdin.buffer.read().decode(), *sys.argv[1:]))
