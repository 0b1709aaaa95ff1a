"""The one tree of errors: each has a stable wire code, says whether a retry can help, and gives advice.

Classes are named for what the caller can do about them. An error crosses a socket as
(code, message, advice, retryable, retry_after_s) and is raised again on the other side as the same class.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class CuzkdError(Exception):
    """Base of every error that cuzkd raises on purpose."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    default_advice: ClassVar[str] = "this is a bug in cuzkd: please report it with the daemon's log"

    def __init__(
        self, message: str, *, advice: str | None = None, retry_after_s: float | None = None
    ) -> None:
        """`retry_after_s` says when a retry has a chance, where that is known."""
        super().__init__(message)
        self.message = message
        self.advice = self.default_advice if advice is None else advice
        self.retry_after_s = retry_after_s


class InternalError(CuzkdError):
    """Something that cannot happen did."""

    code = "internal"


class InvalidTransition(InternalError):
    """The scheduler was asked for a step that the state does not allow; the message tells the story."""

    code = "invalid_transition"


class BadRequest(CuzkdError):
    """A message that breaks the protocol; the connection is closed after it."""

    code = "bad_request"
    default_advice = "use a client of the daemon's version"


class VersionMismatch(CuzkdError):
    """The two sides share no protocol version."""

    code = "version_mismatch"
    default_advice = "upgrade the older side"


class Refused(CuzkdError):
    """Input that can never be proved; nothing was started."""

    code = "refused"
    default_advice = "correct the input and submit it again"


class BadFile(Refused):
    """A file that is damaged, of another kind, or not what its header says."""

    code = "bad_file"
    default_advice = "make the file again with the tool that wrote it, and check that it arrived whole"


class Unsupported(Refused):
    """A well-formed file of a kind that cuzkd does not prove."""

    code = "unsupported"
    default_advice = "cuzkd proves Groth16 over bn128 (BN254) and bls12381 (BLS12-381)"


class BadWitness(Refused):
    """A witness that does not belong to the circuit or does not satisfy it."""

    code = "bad_witness"
    default_advice = "compute the witness again, with the circuit that the key was made for"


class UnknownSignal(BadWitness):
    """An input names a signal that the circuit does not have."""

    code = "unknown_signal"
    default_advice = "compare the names in the inputs with the circuit's input signals"


class MissingSignal(BadWitness):
    """The inputs leave signals of the circuit without a value."""

    code = "missing_signal"
    default_advice = "give a value to every input signal of the circuit"


class WrongValueCount(BadWitness):
    """A signal was given fewer or more values than it has."""

    code = "wrong_value_count"
    default_advice = "give each signal as many values as the circuit declares"


class NotANumber(BadWitness):
    """An input's value is no integer."""

    code = "not_a_number"
    default_advice = 'write integers: 5, "5", "-5", "0x1f", "0b101" or "0o17"'


class AssertionFailed(BadWitness):
    """The inputs do not satisfy the circuit: one of its assertions or constraints failed."""

    code = "assertion_failed"
    default_advice = "look at the circuit's line that the message names: the inputs break what it demands"


class TooLarge(Refused):
    """A request that can never fit the configured limits."""

    code = "too_large"
    default_advice = "raise the limit named in the message, or use a smaller circuit"


class WitnessOutOfTime(TooLarge):
    """The circuit's witness program ran longer than is allowed."""

    code = "witness_out_of_time"
    default_advice = "raise limits.witness_time in the configuration, or submit a finished witness (.wtns)"


class WitnessOutOfMemory(TooLarge):
    """The circuit's witness program needs more memory than is allowed."""

    code = "witness_out_of_memory"
    default_advice = "raise limits.witness_memory in the configuration, or submit a finished witness (.wtns)"


class Forbidden(Refused):
    """Only others may do this, or connect. What a peer may not see is `NotFound` instead, so that it learns nothing."""

    code = "forbidden"
    default_advice = "ask an operator of the daemon, or have an administrator make you one (access.operators)"


class NotFound(Refused):
    """No such job or circuit, or none that the peer may see."""

    code = "not_found"
    default_advice = "`cuzkctl jobs` shows what there is; finished jobs are kept for a limited time only"


class Restarted(CuzkdError):
    """The job was accepted by an earlier life of the daemon and lost with it."""

    code = "restarted"
    retryable = True
    default_advice = "submit the job again"


class NotDone(CuzkdError):
    """The job has not ended, so that it has no result yet."""

    code = "not_done"
    retryable = True
    default_advice = "wait for the job (`cuzkctl wait`), or ask again later"


class Busy(CuzkdError):
    """A queue or quota is full."""

    code = "busy"
    retryable = True
    default_advice = "try again when a job has finished"


class Draining(CuzkdError):
    """The daemon is stopping and takes no new work."""

    code = "draining"
    retryable = True
    default_advice = "submit again when the daemon is back"


class Unavailable(CuzkdError):
    """The daemon cannot take work now."""

    code = "unavailable"
    retryable = True
    default_advice = "see `cuzkctl status` for the reason, then try again"


class ResourceExhausted(CuzkdError):
    """Memory, shared memory, disk or descriptors ran out."""

    code = "resource_exhausted"
    retryable = True
    default_advice = "free the resource named in the message, or lower the pool's size in the configuration"


class WaitTimeout(CuzkdError):
    """The wait ended before the job did; the job goes on."""

    code = "timeout"
    retryable = True
    default_advice = "wait again: the job goes on"


class JobFailed(CuzkdError):
    """The job ended without a proof."""

    code = "job_failed"
    default_advice = "see the daemon's log for the job"


class Cancelled(JobFailed):
    """The job was ended on demand, before it had its proofs."""

    code = "cancelled"
    default_advice = "submit the job again if it is still wanted"


class WrongProof(JobFailed):
    """The proof that was made does not verify; it was not handed out."""

    code = "wrong_proof"
    default_advice = (
        "give the circuit's .r1cs to learn which constraint the witness breaks; if none, check the device"
    )


class Poisoned(JobFailed):
    """The partition's process died as often as `max_attempts` allows."""

    code = "poisoned"
    default_advice = "see the daemon's log for how the process died"


class DaemonUnreachable(CuzkdError):
    """Nothing answers at the socket."""

    code = "unreachable"
    retryable = True
    default_advice = (
        "start the daemon (`systemctl start cuzkd` or `cuzkd serve`) or name its socket with --socket"
    )


class AlreadyRunning(CuzkdError):
    """Another daemon holds this runtime directory."""

    code = "already_running"
    default_advice = "stop the other daemon, or give this one another --runtime-dir and --state-dir"


class BadConfig(CuzkdError):
    """The configuration cannot be used."""

    code = "bad_config"
    default_advice = "correct the configuration"


class BootFailed(CuzkdError):
    """A child process died at start as often as is tried."""

    code = "boot_failed"
    default_advice = "see the lines above for what the child printed"


def _by_code(cls: type[CuzkdError]) -> dict[str, type[CuzkdError]]:
    """Classes by their code; one without a code of its own goes by its parent's, and comes back as that."""
    found = {cls.code: cls} if "code" in vars(cls) else {}
    for child in cls.__subclasses__():
        found.update(_by_code(child))
    return found


def from_wire(code: str, message: str, advice: str, retry_after_s: float | None = None) -> CuzkdError:
    """The error that a peer described; an unknown code becomes an `InternalError` that keeps its text."""
    cls = _by_code(CuzkdError).get(code)
    if cls is None:
        return InternalError(f"{code}: {message}", advice=advice, retry_after_s=retry_after_s)
    return cls(message, advice=advice, retry_after_s=retry_after_s)
