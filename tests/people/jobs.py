"""What a daemon may say of jobs."""

from __future__ import annotations

from cuzkd.ipc.messages import Failure
from cuzkd.ipc.requests import JobInfo, JobResult, JobStatus, PartitionResult
from cuzkd.model import Curve, JobState


def status(job: int, state: JobState, done: int = 0, **more: object) -> JobStatus:
    """A job of two partitions."""
    values: dict[str, object] = {"name": "merkle", "age_s": 1.25} | more
    return JobStatus(job=job, uid=1000, state=state, partitions=2, done=done, circuit="c0de" * 16, **values)


RUNNING = status(7, JobState.RUNNING, 1, stage="proving: quotient")
DONE = status(7, JobState.DONE, 2, seconds=1.5)
CANCELLED = status(7, JobState.CANCELLED, 1, error="cancelled", seconds=1.5)
FAILED = status(8, JobState.FAILED, error="wrong_proof", seconds=75.0, name="")
QUEUED = status(9, JobState.QUEUED, age_s=0.5)

FAILURE = Failure("wrong_proof", "the proof of partition 0 is wrong", "look at the witness", False)
RUNNING_INFO = JobInfo(RUNNING, None)
FAILED_INFO = JobInfo(FAILED, FAILURE)
CANCELLED_INFO = JobInfo(CANCELLED, Failure("cancelled", "job 7 was cancelled", "submit it again", False))

RESULT = (JobResult(7, Curve.BN254, 1, 0.5), PartitionResult(7, 0, bytes(256), (33).to_bytes(32, "little")))
"""The frames of a job's result: one proof of zeros, whose public input is 33."""
