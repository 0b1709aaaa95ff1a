"""`cuzkctl status`, `metrics`, `drain` and `reload`: how the daemon does, and what operators tell it."""

from __future__ import annotations

import argparse
import os

from cuzkd import shell, streams
from cuzkd.client import Client, Drained, Reloaded
from cuzkd.shell import ExitCode
from cuzkd.tables import count, document

_UNTIL = "are refused until `cuzkctl drain --resume`"


def add_status(command: argparse.ArgumentParser) -> None:
    """The options of `status`."""
    command.description = "Show what the daemon does: its processes, memory, circuits and jobs."
    command.set_defaults(run=_status)


def add_metrics(command: argparse.ArgumentParser) -> None:
    """The options of `metrics`."""
    command.description = "Print the daemon's metrics in the text format of Prometheus."
    command.set_defaults(run=_metrics)


def add_drain(command: argparse.ArgumentParser) -> None:
    """The options of `drain`."""
    command.description = (
        "Have new jobs refused, and wait until those that were accepted have ended. For operators."
    )
    command.add_argument("--resume", action="store_true", help="have jobs taken again")
    command.add_argument(
        "--timeout", type=shell.seconds, metavar="S", help="stop waiting after S seconds; jobs stay refused"
    )
    command.set_defaults(run=_drain)


def add_reload(command: argparse.ArgumentParser) -> None:
    """The options of `reload`."""
    command.description = (
        "Have the daemon read its configuration again: all of it is taken, or none and the reason is told. "
        "For operators."
    )
    command.set_defaults(run=_reload)


def _status(arguments: argparse.Namespace) -> ExitCode:
    from cuzkd import render

    with Client(arguments.socket, control=True) as client:
        report, circuits = client.status(), client.circuits()
    if arguments.json:
        shell.print_json(render.status_document(report, circuits), indent=1)
    else:
        streams.say(render.status(report, circuits, os.geteuid()))
    return ExitCode.DONE


def _metrics(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket, control=True) as client:
        text = client.metrics()
    if arguments.json:
        shell.print_json({"text": text})
    else:
        streams.say(text, end="")
    return ExitCode.DONE


def _drain(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket, control=True) as client:
        try:
            drained = client.drain(resume=arguments.resume, timeout_s=arguments.timeout)
        except KeyboardInterrupt:
            if not arguments.resume:
                streams.complain(f"\ncuzkctl: new jobs {_UNTIL}")
            raise
    if arguments.json:
        shell.print_json(document(drained))
    else:
        streams.say(_drained_line(drained))
    return ExitCode.TRY_AGAIN if drained.draining and drained.unfinished else ExitCode.DONE


def _drained_line(drained: Drained) -> str:
    if not drained.draining:
        return "jobs are taken again"
    if drained.unfinished:
        return f"{count(drained.unfinished, 'job')} not ended yet; new ones {_UNTIL}"
    return f"drained: no job is left, and new ones {_UNTIL}"


def _reload(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket, control=True) as client:
        reloaded = client.reload()
    if arguments.json:
        shell.print_json(document(reloaded))
    else:
        streams.say(_reloaded_lines(reloaded))
    return ExitCode.DONE


def _reloaded_lines(reloaded: Reloaded) -> str:
    now = [key for key in reloaded.changed if key not in reloaded.at_restart]
    lines = []
    if now:
        lines.append(f"changed: {', '.join(now)}")
    if reloaded.at_restart:
        lines.append(f"from the next start on: {', '.join(reloaded.at_restart)}")
    return "\n".join(lines) or "read again; nothing has changed"
