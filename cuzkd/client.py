"""The client library: `cuzkd.Client` asks a daemon for proofs, blocking, over its Unix socket.

Files are opened here and travel as descriptors, so the daemon needs no right to read them by name. Every
error that the daemon answers is raised as its class in `cuzkd.errors`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from types import TracebackType

from cuzkd import delivery
from cuzkd.conversation import GRACE_S, Conversation, ProgressCallback
from cuzkd.delivery import RECONNECT_S, Result
from cuzkd.handover import File, Files, hand_over, open_input
from cuzkd.ipc.requests import (
    CircuitAdd,
    CircuitEvict,
    CircuitInfo,
    CircuitList,
    CircuitPreload,
    CircuitRemove,
    Circuits,
    CircuitShow,
    Drain,
    Drained,
    JobAccepted,
    JobCancel,
    JobChanged,
    JobFetch,
    JobInfo,
    JobList,
    JobListing,
    JobShow,
    JobStatus,
    JobSubmit,
    Metrics,
    MetricsRequest,
    PointChecks,
    Progress,
    Reload,
    Reloaded,
    Status,
    StatusRequest,
    Watch,
)
from cuzkd.model import JobState

__all__ = [
    "CircuitInfo",
    "Client",
    "Drained",
    "File",
    "JobInfo",
    "JobListing",
    "JobState",
    "JobStatus",
    "PointChecks",
    "Progress",
    "ProgressCallback",
    "Reloaded",
    "Result",
    "open_input",
]


class Client:
    """One connection to a daemon, made at the first request; to be used by one thread at a time.

    `socket_path` names the daemon's socket; None looks at $CUZKD_SOCKET or, when that is not set, in the
    usual places. With `control`, the operators' socket beside it (cuzkd-ctl.sock) is taken where this user may
    connect to it. After an error in the connection the next request connects again. Requests raise
    `DaemonUnreachable` when nothing answers, whatever error of `cuzkd.errors` the daemon answers with, and
    `OSError` for a path that cannot be opened as a regular file. An error's `retry_after_s` says when a retry has
    a chance, where the daemon knows.

        with cuzkd.Client() as client:
            result = client.prove("circuit.zkey", ["witness.wtns"])

            client.add_circuit("merkle", "merkle.zkey", wasm="merkle.wasm")
            result = client.prove(circuit="merkle", inputs=["input.json"])

            client.add_circuit("snap", params="snap.params", vk="snap.vk", matrices="snap.pce")
            proofs = client.prove(circuit="snap", witnesses=["0.raw", "1.raw"]).to_bellperson()

    `wait` (and so `prove`) survives a lost connection: it connects again and asks for the job by its number, as long
    as nothing answers for at most `reconnect_s` seconds; with 0, a lost connection is an error at once.

    Where a request takes `progress`, that is called with a `Progress` every now and then until the request
    is answered; without it the daemon reports none.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        *,
        control: bool = False,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        self._socket_path = socket_path
        self._control = control
        self._reconnect_s = reconnect_s
        self._daemon = Conversation(socket_path, control=control)

    # ---- jobs

    def prove(
        self,
        zkey: File | None = None,
        witnesses: Sequence[File] = (),
        *,
        circuit: str | None = None,
        inputs: Sequence[File] = (),
        wasm: File | None = None,
        r1cs: File | None = None,
        points: PointChecks | str = PointChecks.FULL,
        cancel_on_disconnect: bool = False,
        progress: ProgressCallback | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Submit and wait, at most `timeout_s` once accepted. Takes and raises what `submit` and `wait` do."""
        job = self.submit(
            zkey,
            witnesses,
            circuit=circuit,
            inputs=inputs,
            wasm=wasm,
            r1cs=r1cs,
            points=points,
            cancel_on_disconnect=cancel_on_disconnect,
            progress=progress,
        )
        return self.wait(job, timeout_s, progress)

    def submit(
        self,
        zkey: File | None = None,
        witnesses: Sequence[File] = (),
        *,
        circuit: str | None = None,
        inputs: Sequence[File] = (),
        wasm: File | None = None,
        r1cs: File | None = None,
        points: PointChecks | str = PointChecks.FULL,
        cancel_on_disconnect: bool = False,
        progress: ProgressCallback | None = None,
    ) -> int:
        """Hand over a job, one proof a witness or input; returns its number once the job is accepted.

        The circuit is a key file, or the name of a `circuit` that was added. Partitions are `witnesses`
        (.wtns) or `inputs` (JSON, computed by the circuit's `wasm`), not both. With an `r1cs`, a witness that
        breaks a constraint is refused by the constraint's number. `points` says what is checked of a key that
        the daemon does not know yet: curve and subgroup ("full") or the curve alone ("curve").

        The daemon has copied and checked the files by then: they may go, and so may this client, unless
        `cancel_on_disconnect` has the job cancelled when this connection ends before the job. Raises
        `ValueError` when the arguments make no job, `Refused` (or one of its kinds) for files that cannot be
        proved, and `Busy` or `Draining` when no job is taken now.
        """
        if (zkey is None) == (circuit is None):
            raise ValueError("a job takes a zkey, or the name of a circuit")
        if circuit is not None and (wasm is not None or r1cs is not None):
            raise ValueError("a named circuit has the wasm and the r1cs that it was added with")
        if bool(witnesses) == bool(inputs):
            raise ValueError("a job takes witnesses, or inputs")
        files = Files()
        request = JobSubmit(
            circuit=circuit,
            zkey=files.add_if(zkey),
            wasm=files.add_if(wasm),
            r1cs=files.add_if(r1cs),
            witnesses=files.add_all(witnesses),
            inputs=files.add_all(inputs),
            points=PointChecks(points),
            progress=progress is not None,
            cancel_on_disconnect=cancel_on_disconnect,
        )
        return hand_over(self._daemon, files, request, JobAccepted, progress).job

    def wait(
        self, job: int, timeout_s: float | None = None, progress: ProgressCallback | None = None
    ) -> Result:
        """Wait for a job's proofs; `WaitTimeout` after `timeout_s` seconds (None: never), the job goes on.

        Raises `JobFailed` or `BadWitness` (or one of their kinds) when the job ended without proofs, `NotFound` when
        there is no such job, and `Restarted` when a daemon that started anew has lost it.
        """
        return delivery.wait(self._daemon, job, timeout_s, progress, self._reconnect_s)

    def fetch(self, job: int) -> Result:
        """The proofs of a job that is done, without waiting; `NotDone` while it is not, else as `wait`."""
        return delivery.fetch(self._daemon, job, JobFetch(job))

    def show_job(self, job: int) -> JobInfo:
        """One job as it is now and, where it failed, why: `info.failure.error()` is the error that `wait` raises."""
        return self._daemon.ask(JobShow(job), JobInfo)

    def jobs(self, *, everybody: bool = False) -> JobListing:
        """This user's jobs, unfinished ones first, then the latest; with `everybody`, an operator's, all."""
        return self._daemon.ask(JobList(everybody), JobListing)

    def cancel(self, job: int) -> JobInfo:
        """End a job; returns it as it ended, which is without effect for one that had ended before."""
        return self._daemon.ask(JobCancel(job), JobInfo)

    def watch(self, job: int | None = None, *, everybody: bool = False) -> Generator[JobStatus, None, None]:
        """Every change of a job until it ends or, without one, of all this user's jobs for ever.

        The present state comes first. With `everybody`, an operator's, all jobs are told. The daemon is asked at the
        first step, over a connection of its own that ends with the iteration: this client may do other things
        meanwhile. `DaemonUnreachable` when that connection is lost.
        """
        daemon = Conversation(self._socket_path, control=self._control)
        try:
            status = daemon.ask(Watch(job, everybody), JobChanged).status
            yield status
            while job is None or not status.state.final:
                status = daemon.receive(JobChanged).status
                yield status
        finally:
            daemon.close()

    # ---- named circuits

    def add_circuit(
        self,
        name: str,
        zkey: File | None = None,
        *,
        params: File | None = None,
        vk: File | None = None,
        matrices: File | None = None,
        wasm: File | None = None,
        r1cs: File | None = None,
        points: PointChecks | str = PointChecks.FULL,
        progress: ProgressCallback | None = None,
    ) -> CircuitInfo:
        """Have a circuit checked, compiled and kept under a name of this user's; files as in `submit`.

        Its key is a `zkey`; or bellperson's `params` and `vk`, with the circuit's matrices as an `r1cs` or as recorded
        ones (`matrices`). Raises `ValueError` when the arguments make no circuit, and
        `Refused` (or one of its kinds) for files that cannot be used or do not belong together.
        """
        if zkey is None:
            if params is None or vk is None or (r1cs is None) == (matrices is None):
                raise ValueError("a circuit takes a zkey, or params and vk with either an r1cs or matrices")
        elif not params is vk is matrices is None:
            raise ValueError("a circuit with a zkey takes no params, vk and matrices")
        files = Files()
        request = CircuitAdd(
            name=name,
            zkey=files.add_if(zkey),
            params=files.add_if(params),
            vk=files.add_if(vk),
            matrices=files.add_if(matrices),
            wasm=files.add_if(wasm),
            r1cs=files.add_if(r1cs),
            points=PointChecks(points),
            progress=progress is not None,
        )
        return hand_over(self._daemon, files, request, CircuitInfo, progress)

    def circuits(self) -> tuple[CircuitInfo, ...]:
        """This user's named circuits, by name."""
        return self._daemon.ask(CircuitList(), Circuits).circuits

    def show_circuit(self, name: str) -> CircuitInfo:
        """One named circuit; `NotFound` when there is none, here as in the following."""
        return self._daemon.ask(CircuitShow(name), CircuitInfo)

    def remove_circuit(self, name: str) -> CircuitInfo:
        """Forget a name, and what no other name and no job uses; returns the circuit that was."""
        return self._daemon.ask(CircuitRemove(name), CircuitInfo)

    def preload(self, name: str) -> CircuitInfo:
        """Load a circuit's proving key into the device; answered when it is there."""
        return self._daemon.ask(CircuitPreload(name), CircuitInfo)

    def evict(self, name: str) -> CircuitInfo:
        """Drop a circuit's proving key from the device; refused while a proof uses it."""
        return self._daemon.ask(CircuitEvict(name), CircuitInfo)

    # ---- the daemon

    def status(self) -> Status:
        """What the daemon is doing now."""
        return self._daemon.ask(StatusRequest(), Status)

    def metrics(self) -> str:
        """The daemon's metrics in the text format of Prometheus."""
        return self._daemon.ask(MetricsRequest(), Metrics).text

    def drain(self, *, resume: bool = False, timeout_s: float | None = None) -> Drained:
        """Have new jobs refused and wait until none is left, at most `timeout_s` seconds (None: for ever).

        With `resume`, jobs are taken again. For operators, as is `reload`: `Forbidden` for others.
        """
        limit_s = None if timeout_s is None else timeout_s + GRACE_S
        return self._daemon.ask(Drain(resume, timeout_s), Drained, timeout_s=limit_s)

    def reload(self) -> Reloaded:
        """Have the configuration read again; `BadConfig` says why it was not taken, and the old one stays."""
        return self._daemon.ask(Reload(), Reloaded)

    def close(self) -> None:
        """Close the connection; accepted jobs go on. Closing twice is nothing."""
        self._daemon.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
