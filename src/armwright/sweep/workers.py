"""Worker processes on this machine that compute chunks of a study; each is connected by two pipes.

A worker reads chunk numbers from one pipe and writes chunks into the other. Pipes have no name and no address, so only
the user who runs the study can reach them. No worker listens on a port.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import Any, BinaryIO

from armwright.errors import ArmwrightError, InputError
from armwright.sweep.chunk import Chunk, compute_chunk
from armwright.sweep.study import Study

WORKER_EXIT_TIMEOUT = 1.0
"""Seconds that a worker has to exit after the last chunk, before it is killed."""

WORKER_PROGRAM = """
import os, pickle, sys
pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # functions of a study may read stdin and print
os.dup2(2, 1)
sys.path[:] = pickle.load(pipes[0])
from armwright.sweep.workers import serve
serve(*pipes)
"""
"""The Python program of a worker; -P keeps the current folder out of its imports."""


class WorkerLostError(Exception):
    """A worker ended before it answered."""


class WorkerProcess:
    """A process that computes chunks of one study."""

    def __init__(self, study: Study, digest: str) -> None:
        if not sys.executable or hasattr(sys, "frozen"):  # a frozen program would start itself
            raise InputError("workers= starts Python, and this program has no Python executable; expected threads=")
        inherited = (("-E", sys.flags.ignore_environment), ("-s", sys.flags.no_user_site))
        command = [sys.executable, *(flag for flag, active in inherited if active), "-P", "-c", WORKER_PROGRAM]
        # in a new session, so that Ctrl-C reaches this process alone, which then ends its workers
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        self._process = subprocess.Popen(command, **pipes)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        with suppress(OSError):  # the first request finds that it has ended
            pickle.dump(sys.path, self._requests)
            pickle.dump((study, digest), self._requests)

    def compute(self, number: int) -> Chunk:
        """Compute a chunk; a WorkerLostError if the process ended, else the error that the worker met."""
        try:
            pickle.dump(number, self._requests)
            self._requests.flush()
            answer = pickle.load(self._answers)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            raise WorkerLostError(self._exit_reason()) from None
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Chunk)
        return answer

    def _exit_reason(self) -> str:
        """Wait for the process to end, and return how it did."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(WORKER_EXIT_TIMEOUT)
        self.kill()
        code = self._process.returncode
        with suppress(ValueError):
            return f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        return f"by signal {-code}"

    def kill(self) -> None:
        """End the process at once, also during a chunk."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):
                pipe.close()

    def close(self) -> None:
        """End the process when it is idle."""
        with suppress(OSError):
            self._requests.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2 * WORKER_EXIT_TIMEOUT)
        self.kill()


class WorkerPool:
    """The worker processes of a study, started when needed; several threads may call `compute`."""

    def __init__(self, study: Study, digest: str) -> None:
        self._arguments = study, digest
        self._lock = threading.Lock()
        self._idle, self._all = list[WorkerProcess](), set[WorkerProcess]()
        self._ended = False

    def compute(self, number: int) -> Chunk:
        """Compute a chunk by an idle worker."""
        worker = self._acquire()
        try:
            chunk = worker.compute(number)
        except WorkerLostError:
            with self._lock:
                self._all.discard(worker)
            raise
        except Exception:
            self._release(worker)
            raise
        self._release(worker)
        return chunk

    def lost(self, error: Exception) -> bool:
        """Return True if a chunk is to be computed again after this error."""
        return isinstance(error, WorkerLostError) and not self._ended

    def _acquire(self) -> WorkerProcess:
        with self._lock:
            if self._ended:
                raise WorkerLostError("when the study was stopped")
            if self._idle:
                return self._idle.pop()
            self._all.add(worker := WorkerProcess(*self._arguments))
            return worker

    def _release(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._idle.append(worker)

    def kill(self) -> None:
        """End all workers at once, also during chunks."""
        with self._lock:
            self._ended = True
            for worker in self._all:
                worker.kill()

    def close(self) -> None:
        """End all workers when they are idle."""
        with self._lock:
            self._ended = True
            for worker in self._all:
                worker.close()


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Run a worker: compute requested chunks until the pipe of requests is closed."""
    warnings.simplefilter("ignore")  # the parent process has shown them
    study, digest = pickle.load(requests)
    numbers: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, numbers), daemon=True).start()
    with suppress(BrokenPipeError):  # the parent process has ended
        while (number := numbers.get()) is not None:
            pickle.dump(_answer(study, number, digest), answers)
            answers.flush()


def _answer(study: Study, number: int, digest: str) -> Chunk | ArmwrightError:
    """Return a chunk, or the error that it met."""
    try:
        return compute_chunk(study, number, digest)
    except ArmwrightError as error:
        return error
    except Exception as error:
        return InputError(f"chunk {number} failed in a worker: {type(error).__name__}: {error}")


def _listen(requests: BinaryIO, numbers: queue.SimpleQueue[int | None]) -> None:
    """Pass requests on. If the parent process has ended, end this process too, even during a chunk."""
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        while True:
            numbers.put(pickle.load(requests))
    numbers.put(None)
    time.sleep(WORKER_EXIT_TIMEOUT)
    os._exit(1)
