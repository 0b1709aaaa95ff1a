"""Whether jobs are taken: an operator may drain the daemon and resume; one that stops takes none any more."""

from __future__ import annotations

from collections.abc import Callable

from cuzkd.errors import Draining
from cuzkd.ipc.requests import Drain, Drained
from cuzkd.reply import Reply


class Taking:
    """The state, and the operators who wait for the last job's end. `unfinished` counts accepted jobs."""

    def __init__(self, unfinished: Callable[[], int]) -> None:
        self.draining = False
        self._stopping = False
        self._unfinished = unfinished
        self._waiting: list[Reply] = []

    def require(self) -> None:
        """`Draining` while no jobs are taken."""
        if self._stopping:
            raise Draining("the daemon is stopping")
        if self.draining:
            raise Draining(
                "the daemon is drained: an operator has it take no jobs",
                advice="submit again when an operator has resumed it (`cuzkctl drain --resume`)",
            )

    def stop(self) -> None:
        """Take no jobs for good."""
        self._stopping = self.draining = True

    def drain(self, request: Drain, reply: Reply) -> None:
        """Do as the operator says; answered at once, or when no job is left or the time is up."""
        if request.resume:
            if self._stopping:
                raise Draining("the daemon is stopping, and cannot take jobs again")
            self.draining = False
            reply.send(self._now())
            self._answer()
            return
        self.draining = True
        if self._unfinished() == 0:
            reply.send(self._now())
            return
        self._waiting.append(reply)
        reply.on_close(lambda: self._leave(reply))
        if request.timeout_s is not None:
            reply.after(max(0.0, request.timeout_s), lambda: self._time_up(reply))

    def job_ended(self) -> None:
        """Answer those who wait if that was the last job."""
        if self._unfinished() == 0:
            self._answer()

    def _time_up(self, reply: Reply) -> None:
        self._leave(reply)
        reply.send(self._now())

    def _leave(self, reply: Reply) -> None:
        if reply in self._waiting:
            self._waiting.remove(reply)

    def _answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        for reply in waiting:
            reply.send(self._now())

    def _now(self) -> Drained:
        return Drained(self._unfinished(), self.draining)
