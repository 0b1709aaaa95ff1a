"""How a job's proofs come to a client: decoded frame by frame, over as many connections as it takes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from cuzkd.conversation import GRACE_S, ConnectionLost, Conversation, ProgressCallback, Stranger
from cuzkd.errors import Busy, CuzkdError, DaemonUnreachable, InternalError, Unavailable, WaitTimeout
from cuzkd.ipc.messages import Message
from cuzkd.ipc.requests import JobResult, JobWait, PartitionResult, Progress
from cuzkd.model import SCALAR_BYTES, Curve, Flavour, Proof
from cuzkd.records import record

RECONNECT_S = 300.0
"""For how long nothing may answer after a connection was lost, unless the caller says otherwise."""

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
_GONE = Progress("connection lost: connecting again", 0, 0)


@record
class Result:
    """A finished job: a verified proof and its public inputs for each partition, in the order submitted.

    `flavour` says whose key it was, and so whose verifiers the proofs are for.
    """

    job: int
    curve: Curve
    seconds: float
    proofs: tuple[Proof, ...]
    publics: tuple[tuple[int, ...], ...]
    flavour: Flavour = Flavour.SNARKJS

    def to_bellperson(self) -> bytes:
        """All proofs as bellperson reads them, 192 bytes each, in order. `Unsupported` over another curve than its."""
        from cuzkd.formats.compress import (
            dump_proof,
        )  # needs the curve's parameters, which no other client does

        return b"".join(map(dump_proof, self.proofs))


def wait(
    daemon: Conversation,
    job: int,
    timeout_s: float | None,
    progress: ProgressCallback | None,
    reconnect_s: float,
) -> Result:
    """Wait for a job's proofs; a lost connection is made again, for at most `reconnect_s` with no daemon there.

    Raises what `Client.wait` does.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    patience = _Patience(reconnect_s, deadline)
    left_s = timeout_s
    while True:
        limit_s = None if left_s is None else left_s + GRACE_S
        try:
            return fetch(daemon, job, JobWait(job, left_s, progress is not None), limit_s, progress)
        except Stranger:
            raise
        except (DaemonUnreachable, Busy, Unavailable) as error:
            patience.lose(error)
            if progress is not None:
                progress(_GONE)
            patience.pause(error)
        if deadline is not None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise WaitTimeout(f"the connection was lost; job {job} was not done in {timeout_s:g} s")


def fetch(
    daemon: Conversation,
    job: int,
    request: Message,
    limit_s: float | None = None,
    progress: ProgressCallback | None = None,
) -> Result:
    """Make a request that a job's result answers, and take the result; `limit_s` bounds each silence."""
    head = daemon.ask(request, JobResult, timeout_s=limit_s, progress=progress)
    proofs, publics = [], []
    for index in range(head.partitions):
        part = daemon.receive(PartitionResult, timeout_s=limit_s)
        if part.index != index:
            daemon.close()
            raise InternalError(f"proof {index} was due, {part.index} came")
        proofs.append(Proof.from_bytes(head.curve, part.proof))
        publics.append(_scalars(part.public))
    return Result(job, head.curve, head.seconds, tuple(proofs), tuple(publics), head.flavour)


class _Patience:
    """How long to go on after a connection was lost, and how long to pause between attempts."""

    def __init__(self, reconnect_s: float, deadline: float | None) -> None:
        self._reconnect_s = reconnect_s
        self._deadline = deadline
        self._until: float | None = None
        self._pauses = _pauses()

    def lose(self, error: CuzkdError) -> None:
        """Take note of what went wrong; raises `error` when there is to be no other attempt.

        What answers, or does not, before any connection was lost is the caller's to know.
        """
        now = time.monotonic()
        if isinstance(error, ConnectionLost) and (self._until is None or error.lasted_s > _LONGEST_PAUSE_S):
            self._until = now + self._reconnect_s
            self._pauses = _pauses()
        if self._until is None or now >= self._until:
            raise error

    def pause(self, error: CuzkdError) -> None:
        """Wait before the next attempt: for as long as the error asks for if it does, but not beyond the last one."""
        pause_s = max(next(self._pauses), error.retry_after_s or 0.0)
        last = min(limit for limit in (self._until, self._deadline) if limit is not None)
        time.sleep(min(pause_s, max(0.0, last - time.monotonic())))


def _pauses() -> Iterator[float]:
    """Doubling lengths of time up to a limit; each differs by chance, so that clients do not come all at once."""
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s * (0.5 + os.urandom(1)[0] / 510)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _scalars(data: bytes) -> tuple[int, ...]:
    if len(data) % SCALAR_BYTES:
        raise InternalError(f"{len(data)} bytes of public inputs are no whole number of scalars")
    return tuple(
        int.from_bytes(data[start : start + SCALAR_BYTES], "little")
        for start in range(0, len(data), SCALAR_BYTES)
    )
