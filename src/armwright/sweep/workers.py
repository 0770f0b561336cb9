"""Processes of this machine that compute chunks of a study, each at the other end of two pipes.

A worker reads numbers of chunks from one pipe and writes the chunks into the other. Pipes have no name and no address,
so only the user who runs the study can reach them. No worker listens on a port.
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
from armwright.sweep.chunks import Chunk, compute
from armwright.sweep.study import Study

GRACE = 1.0
"""Seconds in which a worker may end by itself after the last chunk."""

START = """
import os, pickle, sys
pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # functions of a study may read, and print
os.dup2(2, 1)
sys.path[:] = pickle.load(pipes[0])
from armwright.sweep.workers import serve
serve(*pipes)
"""
"""What a worker runs, with -P: nothing is imported from the folder in which the command was started."""


class WorkerLostError(Exception):
    """A worker ended before it had answered."""


class Worker:
    """A process that computes chunks of one study."""

    def __init__(self, study: Study, digest: str) -> None:
        if not sys.executable or hasattr(sys, "frozen"):  # a frozen program would start itself
            raise InputError("workers= starts Python, and there is none to start; expected threads=")
        kept = (("-E", sys.flags.ignore_environment), ("-s", sys.flags.no_user_site))
        command = [sys.executable, *(flag for flag, given in kept if given), "-P", "-c", START]
        # a session of its own, so that Ctrl-C reaches this process alone, which then ends its workers
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        self._process = subprocess.Popen(command, **pipes)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        with suppress(OSError):  # the first request finds that it has ended
            pickle.dump(sys.path, self._requests)
            pickle.dump((study, digest), self._requests)

    def compute(self, number: int) -> Chunk:
        """Return a chunk, or raise the error that it met; WorkerLostError if the process ended."""
        try:
            pickle.dump(number, self._requests)
            self._requests.flush()
            answer = pickle.load(self._answers)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            raise WorkerLostError(self._ending()) from None
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Chunk)
        return answer

    def _ending(self) -> str:
        """How it ended, which it may be doing just now."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self.kill()
        code = self._process.returncode
        with suppress(ValueError):
            return f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        return f"by signal {-code}"

    def kill(self) -> None:
        """End it at once, whatever is under way."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):
                pipe.close()

    def close(self) -> None:
        """End it when nothing is under way."""
        with suppress(OSError):
            self._requests.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2 * GRACE)
        self.kill()


class Workers:
    """The workers of a study, started as they are needed; `compute` may be called by several threads."""

    def __init__(self, study: Study, digest: str) -> None:
        self._asked = study, digest
        self._lock = threading.Lock()
        self._idle, self._all = list[Worker](), set[Worker]()
        self._ended = False

    def compute(self, number: int) -> Chunk:
        """A chunk, by a worker that has nothing else to do."""
        worker = self._take()
        try:
            chunk = worker.compute(number)
        except WorkerLostError:
            with self._lock:
                self._all.discard(worker)
            raise
        except Exception:
            self._give_back(worker)
            raise
        self._give_back(worker)
        return chunk

    def lost(self, error: Exception) -> bool:
        """Whether a chunk is to be begun again after this error."""
        return isinstance(error, WorkerLostError) and not self._ended

    def _take(self) -> Worker:
        with self._lock:
            if self._ended:
                raise WorkerLostError("when the study was stopped")
            if self._idle:
                return self._idle.pop()
            self._all.add(worker := Worker(*self._asked))
            return worker

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            self._idle.append(worker)

    def kill(self) -> None:
        """End all of them at once, whatever is under way."""
        with self._lock:
            self._ended = True
            for worker in self._all:
                worker.kill()

    def close(self) -> None:
        """End all of them when nothing is under way."""
        with self._lock:
            self._ended = True
            for worker in self._all:
                worker.close()


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Compute the chunks that are asked for until nobody asks any more; what a worker does."""
    warnings.simplefilter("ignore")  # the process that asks has given them already
    study, digest = pickle.load(requests)
    numbers: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, numbers), daemon=True).start()
    with suppress(BrokenPipeError):  # nobody is there any more
        while (number := numbers.get()) is not None:
            pickle.dump(_answer(study, number, digest), answers)
            answers.flush()


def _answer(study: Study, number: int, digest: str) -> Chunk | ArmwrightError:
    """A chunk, or why there is none."""
    try:
        return compute(study, number, digest)
    except ArmwrightError as error:
        return error
    except Exception as error:
        return InputError(f"chunk {number} failed in a worker: {type(error).__name__}: {error}")


def _listen(requests: BinaryIO, numbers: queue.SimpleQueue[int | None]) -> None:
    """Hand on what is asked for. If who asks has ended, however that went, so does this process, chunk or no chunk."""
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        while True:
            numbers.put(pickle.load(requests))
    numbers.put(None)
    time.sleep(GRACE)
    os._exit(1)
