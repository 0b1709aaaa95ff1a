"""`cuzkctl jobs`, `show`, `cancel` and `watch`: which jobs there are, and what becomes of them."""

from __future__ import annotations

import argparse

from cuzkd import render_jobs, shell, streams
from cuzkd.client import Client, JobStatus
from cuzkd.errors import CuzkdError, DaemonUnreachable
from cuzkd.model import JobState
from cuzkd.shell import ExitCode
from cuzkd.tables import document


def add_jobs(command: argparse.ArgumentParser) -> None:
    """The options of `jobs`."""
    command.description = "List this user's jobs: unfinished ones first, then those that ended last."
    _add_all(command)
    command.set_defaults(run=_jobs)


def add_show(command: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    command.description = "Show what is known of one job, and why it failed if it did."
    shell.add_job(command)
    command.set_defaults(run=_show)


def add_cancel(command: argparse.ArgumentParser) -> None:
    """The options of `cancel`."""
    command.description = "End jobs. One that had ended before is shown as it ended."
    command.add_argument("jobs", type=shell.job_number, metavar="JOB", nargs="+", help="a job's number")
    command.set_defaults(run=_cancel)


def add_watch(command: argparse.ArgumentParser) -> None:
    """The options of `watch`."""
    command.description = (
        "Print every change of one job until it ends (exit code 0 if it is done, 1 if it is not) or, without "
        "one, of all this user's jobs until interrupted. With --json, one object a line."
    )
    command.add_argument("job", type=shell.job_number, metavar="JOB", nargs="?", help="the job's number")
    _add_all(command)
    command.set_defaults(run=_watch)


def _add_all(command: argparse.ArgumentParser) -> None:
    command.add_argument("--all", action="store_true", help="all users' jobs, for operators")


def _jobs(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket, control=True) as client:
        listing = client.jobs(everybody=arguments.all)
    if arguments.json:
        shell.print_json(document(listing), indent=1)
    else:
        streams.say(render_jobs.listing(listing))
    return ExitCode.DONE


def _show(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket, control=True) as client:
        info = client.show_job(arguments.job)
    if arguments.json:
        shell.print_json(render_jobs.info_document(info), indent=1)
    else:
        streams.say(render_jobs.job(info))
    return ExitCode.DONE


def _cancel(arguments: argparse.Namespace) -> int:
    """Cancel each job; one that cannot be cancelled keeps none of the others from it."""
    code = int(ExitCode.DONE)
    documents: list[object] = []
    with Client(arguments.socket, control=True) as client:
        for job in arguments.jobs:
            try:
                info = client.cancel(job)
            except DaemonUnreachable:
                raise
            except CuzkdError as error:
                code = max(code, shell.exit_code(error))
                if arguments.json:
                    documents.append({"job": job, "error": shell.error_document(error)})
                else:
                    shell.complain("cuzkctl", error)
            else:
                if arguments.json:
                    documents.append(render_jobs.info_document(info))
                else:
                    streams.say(render_jobs.cancelled(info))
    if arguments.json:
        shell.print_json({"jobs": documents}, indent=1)
    return code


def _watch(arguments: argparse.Namespace) -> ExitCode:
    headed = arguments.json
    if arguments.job is None and not headed:  # nobody knows when the first change comes
        streams.say(render_jobs.watch_header(), flush=True)
        headed = True
    last: JobStatus | None = None
    with Client(arguments.socket, control=True) as client:
        for last in client.watch(arguments.job, everybody=arguments.all):
            if arguments.json:
                shell.print_json(document(last))
            else:
                if not headed:
                    streams.say(render_jobs.watch_header())
                    headed = True
                streams.say(render_jobs.watch_line(last), flush=True)
    return ExitCode.DONE if last is not None and last.state is JobState.DONE else ExitCode.FAILED
