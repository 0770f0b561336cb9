"""Compute chunks of a study by an existing Dask cluster.

Anyone who can reach a Dask scheduler can run any code on its workers, and this process unpickles their answers. So a
cluster is as safe as its network, unless it uses TLS and requires certificates (docs/clusters.md).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from armwright.errors import ClusterWarning, InputError
from armwright.sweep.chunk import Chunk, compute_chunk, simulation_warnings_ignored
from armwright.sweep.chunk_schedule import CHUNK_RETRIES, CHUNKS_PER_WORKER, scheduled_chunks
from armwright.sweep.study import Study

CLUSTER_TIMEOUT = 30
"""Seconds within which a cluster must answer."""

SECURE_ADDRESSES = ("tls://", "wss://", "inproc://")
"""Beginnings of addresses that require certificates, or that stay within this process."""


def chunks_by_cluster(study: Study, digest: str, numbers: Sequence[int], address: str) -> Generator[Chunk]:
    """Yield chunks as the cluster completes them; `digest` is that of the setup in this process."""
    try:
        import distributed  # noqa: PLC0415
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'armwright[sweep]'") from None
    closed, killed = distributed.comm.CommClosedError, distributed.KilledWorker
    connection_errors = (distributed.CancelledError, closed, killed, OSError)

    def wait(running: set[Any]) -> set[Any]:
        with suppress(distributed.CancelledError):  # their results raise the same error
            distributed.wait(running, return_when="FIRST_COMPLETED")
        return {future for future in running if future.status != "pending"}

    warn_if_insecure(address)
    with _dask_errors_silenced(), _client(distributed, address) as client:
        try:
            yield from scheduled_chunks(
                lambda k: client.submit(_chunk_on_worker, study, k, digest, pure=False, retries=CHUNK_RETRIES),
                numbers,
                CHUNKS_PER_WORKER * max(1, sum(client.nthreads().values())),
                wait,
                lambda error: isinstance(error, connection_errors) and client.status == "running",
            )
        except connection_errors as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            hint = "completed chunks are kept, so run the same command again"
            raise InputError(f"lost the connection to the cluster ({why}); {hint}") from None


def warn_if_insecure(address: str) -> None:
    """Warn of a cluster that requires no certificates."""
    if not str(address).startswith(SECURE_ADDRESSES):
        warnings.warn(
            f"the cluster at {address} requires no certificates: anyone who can reach it, every user of its machines "
            "included, can run code as you, there and here; use tls:// with certificates (docs/clusters.md)",
            ClusterWarning,
            stacklevel=2,
        )


def _chunk_on_worker(study: Study, number: int, digest: str) -> Chunk:
    """Return a chunk without warnings, which nobody reads on a worker; its rows have the failures."""
    with simulation_warnings_ignored():
        return compute_chunk(study, number, digest)


@contextmanager
def _dask_errors_silenced() -> Iterator[None]:
    """Silence what the Dask client logs of workers that die: their chunks are retried, or raise an error."""
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
    """Connect to the cluster at an address, with the certificates of Dask's configuration."""
    try:
        client = distributed.Client(address, timeout=CLUSTER_TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise InputError(f"no Dask cluster answers at {address}: {why}") from None
    with client:
        yield client
