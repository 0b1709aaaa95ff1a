"""Clients that do everything that a client may do, at random, and keep account of what they were told."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter

from daemon import Daemon
from fixtures import Case

from cuzkd.client import Client, Result
from cuzkd.errors import Busy, Cancelled, Poisoned, Unavailable, WaitTimeout
from cuzkd.formats.vkey import load_vkey
from cuzkd.kernels.verify import verify
from cuzkd.model import JobState

_NOT_TAKEN = (Busy, Unavailable, Poisoned)
"""Why a job may be refused while children die: its files' reader died too often, or there are too many jobs."""


class Ledger:
    """Which jobs were accepted and how each ended, by what all clients were told."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.accepted: set[int] = set()
        self.states: dict[int, JobState] = {}
        self.refused = 0
        self._vkey = load_vkey(case.verification_key.read_text(), case.name)
        self._lock = threading.Lock()

    @property
    def ends(self) -> Counter[JobState]:
        """How many jobs ended in which way."""
        return Counter(self.states.values())

    def end(self, job: int, state: JobState) -> None:
        """A client was told the end of a job; whoever is told again is told the same."""
        with self._lock:
            assert self.states.setdefault(job, state) is state, f"job {job} has two ends"

    def check(self, job: int, result: Result, partitions: int) -> None:
        """A job is done, and every one of its proofs verifies."""
        assert result.job == job
        assert len(result.proofs) == partitions
        for public, proof in zip(result.publics, result.proofs, strict=True):
            assert verify(self._vkey, public, proof), f"a proof of job {job} is wrong"
        self.end(job, JobState.DONE)


class ChaosClient:
    """One client; every step is of a new connection or of an old one, as it comes."""

    def __init__(self, daemon: Daemon, ledger: Ledger, chance: random.Random) -> None:
        self._daemon = daemon
        self._ledger = ledger
        self._chance = chance
        self._detached: dict[int, int] = {}

    def work(self, until: float) -> None:
        """Do one thing after the other until it is time, then see every job to its end."""
        doings = [self._prove, self._cancel, self._leave, self._leave_tied, self._collect, self._hang_up]
        while time.monotonic() < until:
            self._chance.choice(doings)()
        while self._detached:
            self._collect()

    def _submit(self, client: Client, *, tied: bool = False) -> tuple[int, int] | None:
        partitions = self._chance.randint(1, 6)
        case = self._ledger.case
        try:
            job = client.submit(case.zkey, [case.witness] * partitions, cancel_on_disconnect=tied)
        except _NOT_TAKEN:
            self._ledger.refused += 1
            return None
        self._ledger.accepted.add(job)
        return job, partitions

    def _wait(self, client: Client, job: int, partitions: int, timeout_s: float | None = None) -> None:
        try:
            self._ledger.check(job, client.wait(job, timeout_s), partitions)
        except Cancelled:
            self._ledger.end(job, JobState.CANCELLED)

    def _prove(self) -> None:
        with self._daemon.client() as client:
            if (accepted := self._submit(client)) is not None:
                self._wait(client, *accepted)

    def _cancel(self) -> None:
        """Cancel at some moment, from another connection half of the time; the end that is told is the end."""
        with self._daemon.client() as client, self._daemon.client() as other:
            if (accepted := self._submit(client)) is None:
                return
            time.sleep(self._chance.choice([0.0, self._chance.uniform(0, 0.05)]))
            job = accepted[0]
            self._ledger.end(job, self._chance.choice([client, other]).cancel(job).status.state)
            self._wait(client, *accepted)

    def _leave(self) -> None:
        """Submit and go: the job goes on."""
        with self._daemon.client() as client:
            if (accepted := self._submit(client)) is not None:
                self._detached[accepted[0]] = accepted[1]

    def _leave_tied(self) -> None:
        """Submit and go: the job is cancelled, unless it was faster."""
        with self._daemon.client() as client:
            if (accepted := self._submit(client, tied=True)) is None:
                return
            self._detached[accepted[0]] = accepted[1]
            time.sleep(self._chance.choice([0.0, self._chance.uniform(0, 0.05)]))

    def _hang_up(self) -> None:
        """Wait for a moment, and go in the middle of it."""
        with self._daemon.client() as client:
            if (accepted := self._submit(client)) is None:
                return
            try:
                self._wait(client, *accepted, timeout_s=self._chance.uniform(0, 0.05))
            except WaitTimeout:
                self._detached[accepted[0]] = accepted[1]

    def _collect(self) -> None:
        """Wait for a job that was left alone."""
        if self._detached:
            job = self._chance.choice(list(self._detached))
            with self._daemon.client() as client:
                self._wait(client, job, self._detached.pop(job))
