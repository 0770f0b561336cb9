"""Chunks of a study computed by a Dask cluster that exists.

Whoever can reach a scheduler of Dask can run anything on its workers, and this process unpickles its answers. So a
cluster is as safe as its network, unless it speaks TLS and asks everyone for a certificate (docs/clusters.md).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from armwright.errors import ClusterWarning, InputError
from armwright.sweep.chunks import Chunk, compute, quietly
from armwright.sweep.schedule import AHEAD, RETRIES, in_turn
from armwright.sweep.study import Study

SECONDS = 30
"""In which a cluster must answer."""

PROVEN = ("tls://", "wss://", "inproc://")
"""How addresses begin behind which everyone shows a certificate, or which are within this process."""


def computed_by_cluster(study: Study, digest: str, numbers: Sequence[int], address: str) -> Generator[Chunk]:
    """The chunks as they come; `digest` is of the study as it is here."""
    try:
        import distributed  # noqa: PLC0415
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'armwright[sweep]'") from None
    gone = (distributed.CancelledError, distributed.comm.CommClosedError, distributed.KilledWorker, OSError)

    def first(running: set[Any]) -> set[Any]:
        with suppress(distributed.CancelledError):  # their own results say so, too
            distributed.wait(running, return_when="FIRST_COMPLETED")
        return {future for future in running if future.status != "pending"}

    warn_of(address)
    with _silent(), _client(distributed, address) as client:
        try:
            yield from in_turn(
                lambda k: client.submit(_chunk, study, k, digest, pure=False, retries=RETRIES),
                numbers,
                AHEAD * max(1, sum(client.nthreads().values())),
                first,
                lambda error: isinstance(error, gone) and client.status == "running",
            )
        except gone as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise InputError(
                f"the cluster is gone ({why}); what was done is kept, so run the same command again"
            ) from None


def warn_of(address: str) -> None:
    """Warn of a cluster that does not ask for certificates."""
    if not str(address).startswith(PROVEN):
        warnings.warn(
            f"the cluster at {address} asks nobody for a certificate: whoever can reach it, every user of its machines "
            "too, can run code as you, there and here; use tls:// with certificates (docs/clusters.md)",
            ClusterWarning,
            stacklevel=2,
        )


def _chunk(study: Study, number: int, digest: str) -> Chunk:
    """A chunk on a worker, where nobody reads warnings: what could not go on is in its rows."""
    with quietly():
        return compute(study, number, digest)


@contextmanager
def _silent() -> Iterator[None]:
    """Without what Dask's client logs of workers that die: it is mended, or told as an error."""
    loggers = [logging.getLogger(name) for name in ("distributed.client", "distributed.batched")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _client(distributed: Any, address: str) -> Iterator[Any]:
    """A client of the cluster at an address; certificates are those that Dask is configured with."""
    try:
        client = distributed.Client(address, timeout=SECONDS)
    except (OSError, ValueError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise InputError(f"no Dask cluster answers at {address}: {why}") from None
    with client:
        yield client
