"""The command ``mqgroups recover``: what is on an owner's status queue, as text or JSON, and as an exit code.

Made for what runs before an application: ``ExecStartPre=`` of a systemd unit, an init container. There 0 has to mean "start
it", so an interrupted group is no failure: the start resumes it. ``--check`` is for who wants to know.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import click
from rich.console import Console
from rich.text import Text

from mqgroups import operate
from mqgroups.cli.connection import (
    EXIT_DISARRAY,
    EXIT_MISSING,
    EXIT_OWNER_ACTIVE,
    Report,
    connected,
    connection_options,
    error_values,
    record_values,
)
from mqgroups.config import STATUS_MODEL
from mqgroups.core.status import RecordState
from mqgroups.errors import OwnerActive, StatusError
from mqgroups.operate import OwnerState, OwnerStatus, Takeover
from mqgroups.queue_manager import QueueManager

EXIT_MAY_START = 0
EXIT_INTERRUPTED = 3

_WAIT_S = 30.0


@click.command()
@click.option("--name", required=True, metavar="NAME", help="The producer's or consumer's name.")
@click.option("--role", type=click.Choice(["put", "get"]), help="Producer or consumer. Default: whichever there is.")
@click.option("--check", is_flag=True, help="Change nothing, and end with 3 if a group is interrupted.")
@click.option(
    "--must-exist",
    is_flag=True,
    help="End with 7 if there is no status queue: never started under this name, or misspelt.",
)
@click.option("--queue", metavar="QUEUE", help="Which it puts to or gets from, to be compared with its record.")
@click.option("--status-queue", metavar="QUEUE", help="Its status queue, with --role. Default: MQGROUPS.PUT|GET.NAME.")
@click.option(
    "--status-model",
    default=STATUS_MODEL,
    show_default=True,
    metavar="QUEUE",
    help="The model queue that its status queue is made from. Tried, with --role, if there is none yet.",
)
@click.option(
    "--takeover",
    metavar="OTHER",
    help="Have NAME take over what OTHER, of the same role, left interrupted; NAME's next start resumes it.",
)
@connection_options
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help=f"How long to wait for the queue manager, and for another instance to go. Default: {_WAIT_S:g}, or 0 with --check.",
)
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON, on standard output.")
def recover(
    name: str,
    role: Literal["put", "get"] | None,
    check: bool,
    must_exist: bool,
    queue: str | None,
    status_queue: str | None,
    status_model: str,
    takeover: str | None,
    wait_s: float | None,
    as_json: bool,
    **connection: Any,
) -> None:
    """Look at a producer's or consumer's status queue before it is started.

    An interrupted group is left for the start to resume. A record that is no longer needed (of no group, or of a
    completed one without a checkpoint) is removed, unless --check is given; nothing else is changed. With --takeover the
    interrupted group of another name, whose owner will not come back, becomes this one's, in one unit of work.

    \b
    Exit codes:
      0  the application may start: nothing is interrupted, or it resumes what is
      1  it did not work, and standard error says why
      2  the command was not understood
      3  with --check: a group is interrupted, and the next start resumes it
      4  another instance of this name is active, or not gone yet after --wait
      5  the status queue is in disarray, and a start would be refused: an operator has to look
      6  the queue manager cannot be connected to
      7  with --must-exist: there is no status queue of this name, for no role that was asked for
    """
    if status_queue is not None and role is None:
        raise click.UsageError("--status-queue needs --role")
    if takeover is not None and role is None:
        raise click.UsageError("--takeover needs --role")
    if wait_s is None:
        wait_s = 0.0 if check else _WAIT_S
    report = _Report(name, connection["q_mgr_name"], check=check, as_json=as_json)
    with connected(report, wait_s, **connection) as q_mgr:
        if takeover is not None and role is not None:
            _take_over(q_mgr, report, takeover, name, role, status_queue, status_model, wait_s, check=check)
        for each in (role,) if role else ("put", "get"):
            try:
                status = operate.inspect_owner(
                    q_mgr,
                    name,
                    each,
                    queue=queue,
                    status_queue=status_queue,
                    status_model=status_model if role else None,
                    wait_s=wait_s,
                    tidy=not check,
                )
            except StatusError as error:
                report.disarray(each, error)
            else:
                report.found(status)
        if must_exist:
            report.must_exist()
    sys.exit(report.end())


def _take_over(
    q_mgr: QueueManager,
    report: _Report,
    takeover: str,
    name: str,
    role: Literal["put", "get"],
    status_queue: str | None,
    status_model: str,
    wait_s: float,
    *,
    check: bool,
) -> None:
    try:
        report.taken_over(
            operate.take_over(
                q_mgr,
                takeover,
                role,
                by=name,
                by_status_queue=status_queue,
                status_model=status_model,
                wait_s=wait_s,
                check=check,
            )
        )
    except OwnerActive as error:
        report.failed(EXIT_OWNER_ACTIVE, error)
        sys.exit(report.end())
    except StatusError as error:
        report.disarray(role, error)
        sys.exit(report.end())


class _Report(Report):
    """What is said, of each role that was looked at; the worst is the exit code."""

    def __init__(self, name: str, q_mgr_name: str, *, check: bool, as_json: bool) -> None:
        super().__init__({"name": name, "q_mgr_name": q_mgr_name, "owners": []}, as_json=as_json, code=EXIT_MAY_START)
        self._check = check
        self._out = Console(highlight=False, soft_wrap=True)

    def found(self, status: OwnerStatus) -> None:
        """Say what there was."""
        code = {OwnerState.INTERRUPTED: EXIT_INTERRUPTED if self._check else EXIT_MAY_START}.get(
            status.state, EXIT_OWNER_ACTIVE if status.state is OwnerState.ACTIVE else EXIT_MAY_START
        )
        self._add(
            code,
            {
                "role": status.role,
                "status_queue": status.status_queue,
                "state": status.state.value,
                "taken_away": status.taken_away,
                "hidden": status.hidden,
                "record": record_values(status.record),
            },
            _text(status),
        )

    def must_exist(self) -> None:
        """Let the exit code say that there is no status queue at all."""
        if all(owner["state"] == OwnerState.UNKNOWN.value for owner in self.said["owners"]):
            self.code = max(self.code, EXIT_MISSING)

    def taken_over(self, done: Takeover) -> None:
        """Say what was taken over."""
        self.said["takeover"] = {"from": done.name, "done": done.done, "record": record_values(done.record)}
        text = f"nothing of {done.name} is interrupted"
        if done.record is not None:
            tense = "took" if done.done else "would take"
            text = f"{done.by} {tense} over group {done.record.group_id.hex()} of {done.name}, at message "
            text += str(done.record.msg_seq_number)
        if not self.as_json:
            self._out.print(text, markup=False)

    def disarray(self, role: str, error: StatusError) -> None:
        """Say what is wrong with a status queue."""
        said = {"role": role, "status_queue": error.status_queue, "state": "disarray", **error_values(error)}
        text = Text.assemble((f"{role} {self.said['name']}: status queue in disarray", "bold red"), f"\n  {error}")
        self._add(EXIT_DISARRAY, said, text)

    def _add(self, code: int, values: dict[str, Any], text: Text) -> None:
        self.code = max(self.code, code)
        self.said["owners"].append(values)
        if not self.as_json:
            self._out.print(text)


def _text(status: OwnerStatus) -> Text:
    record = status.record
    style, sentence = {
        OwnerState.UNKNOWN: (
            "yellow",
            "unknown: there is no status queue, so it never started, or its queue was deleted",
        ),
        OwnerState.FREE: ("green", "clean, nothing is interrupted"),
        OwnerState.INTERRUPTED: ("yellow", "a group is interrupted, and the next start resumes it"),
        OwnerState.ACTIVE: ("red", "another instance of this name is active, or not gone yet"),
    }[status.state]
    if status.hidden:
        sentence = (
            "not gone yet: a unit of work hides its status record, or that is lost (mqgroups salvage rebuild tells)"
        )
    elif status.state is OwnerState.FREE and record is not None and record.checkpoint is not None:
        sentence = "clean, with a checkpoint; nothing is interrupted"
    lines = [f"status queue  {status.status_queue}"]
    if record is not None:
        taken = ", taken away" if status.taken_away else ""
        lines.append(
            f"record        {record.state.value}, unit of work {record.unit_of_work}, epoch {record.epoch}{taken}"
        )
    if record is not None and record.state is not RecordState.IDLE:
        inside = f" and {record.offset} bytes of the next" if record.offset else ""
        lines += [
            f"group         {record.group_id.hex()} on queue {record.queue}",
            f"committed     {record.msg_seq_number} messages{inside}",
            f"checkpoint    {record.checkpoint!r}",
        ]
    return Text.assemble(
        (f"{status.role} {status.name}: {sentence}", f"bold {style}"), *(f"\n  {each}" for each in lines)
    )
