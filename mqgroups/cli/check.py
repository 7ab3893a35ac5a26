"""The command ``mqgroups check``: shows, by its output and its exit code, whether a producer or consumer can be started.

It is meant to run before an application, for example as ``ExecStartPre=`` of a systemd unit, or in an init container. So exit
code 0 means "start the application". An interrupted group is not a failure, because the start resumes the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click
from click.core import ParameterSource

from mqgroups import operate
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.groups import browsed
from mqgroups.cli.options import NAME, QUEUE, output_option, own_status_queue_option
from mqgroups.cli.report import Report, committed, error_values, record_values
from mqgroups.cli.table import Output, picked
from mqgroups.cli.words import number, put_time
from mqgroups.core.modes import RoleName
from mqgroups.core.status import RecordState
from mqgroups.errors import StatusError
from mqgroups.operate.queues import look_at_queue, pipe_findings
from mqgroups.operate.rules.findings import Finding
from mqgroups.operate.rules.judgement import Cause
from mqgroups.operate.rules.owner_state import AT_WORK, OwnerState, SeenOwner
from mqgroups.queue_manager import QueueManager


@click.command()
@click.argument("name", type=NAME)
@click.option("--role", type=click.Choice(["put", "get"]), help="Producer (put) or consumer (get). Default: both.")
@click.option(
    "--queue",
    type=QUEUE,
    help="The program's queue, to compare with its status record. For a producer, the queue is also browsed.",
)
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(["no-record", "consumer"]),
    help="no-record: groups on --queue without an end and without a record belong to other programs. consumer: the consumer's "
    "record need not be seen if the queue has no message of the group.",
)
@own_status_queue_option
@output_option
@connection_options()
@click.pass_context
def check(
    context: click.Context,
    /,
    name: str,
    role: RoleName | None,
    queue: str | None,
    accept: Sequence[str],
    status_queue: str | None,
    output: Output,
    **connection: Any,
) -> None:
    """Show whether a producer or consumer may be started, and what its start would find on its status queue. Nothing is changed.

    With --queue, a producer must not start if its record contradicts the messages. It also must not start if the queue has a
    group without an end and without a record. The record may be lost, and a start would put these messages twice.

    If --wait is given, the command also waits until an active instance has ended.

    \b
    Exit codes:
      0   the application may start, which resumes a group that is interrupted
      1   failed; or the status queue is in disarray, or messages could be put
          twice
      3   with --queue: it was not seen whether messages could be put twice or
          omitted
      4   another instance of this name is active, or not gone yet
      75  no queue manager answers, or another temporary failure
    """
    if status_queue is not None and role is None:
        raise click.UsageError("--status-queue needs --role")
    is_given = context.get_parameter_source("wait_s") is ParameterSource.COMMANDLINE
    wait_s = connection["wait_s"] if is_given else 0.0
    roles: Sequence[RoleName] = (role,) if role else ("put", "get")
    report = Report(output, name=name, q_mgr_name=connection["q_mgr_name"], owners=[])
    with connected(report, **connection) as q_mgr:
        producer: SeenOwner | None = None
        for each in roles:
            try:
                status = operate.inspect_owner(q_mgr, name, each, queue=queue, status_queue=status_queue, wait_s=wait_s)
            except StatusError as error:
                report.found(ExitCode.FAILED)
                found = {"role": each, "status_queue": error.status_queue, "state": "disarray", **error_values(error)}
                report.values["owners"].append(found)
                report.print(f"{each} {name}: status queue in disarray", f"  {error}")
                continue
            of_pipe = pipe_findings(producer, status) if producer is not None else ()
            contradictions = [*_contradictions(q_mgr, report, status, queue, accept), *of_pipe]
            _show(report, status, contradictions, is_compared=queue is not None)
            producer = status if each == "put" else None
    report.end()


def _contradictions(
    q_mgr: QueueManager, report: Report, status: SeenOwner, queue: str | None, accept: Sequence[str]
) -> Sequence[Finding]:
    """Return the findings that show why a start of this producer could put messages twice; empty if it cannot."""
    if queue is None or status.role != "put" or status.state in AT_WORK:
        return ()
    own = status.status_queue
    named = [] if status.state is OwnerState.UNKNOWN else [own]
    now = put_time(datetime.now(UTC))
    look = look_at_queue(q_mgr, queue, browsed, quiet_since=now, named=named, name=status.name, status_queue=own)
    if look.problem:
        _tell_unseen(report, queue, look.problem)
        return ()
    # Without a message, only the consumer's record has the position in the group.
    needs_consumer = any(not each.group.messages and each.consumer is None for each in look.of_owner)
    if (status.record is None and "no-record" not in accept and Cause.UNNAMED in look.first) or (
        look.unseen and needs_consumer and "consumer" not in accept
    ):
        _tell_unseen(report, queue, "; ".join(look.unseen))
    return list(look.against_start(status, other_programs="no-record" in accept))


def _tell_unseen(report: Report, queue: str, why: str) -> None:
    report.note(f"not seen: whether a start would put messages to {queue} twice, or leave some out: {why}")
    report.found(ExitCode.NOT_SEEN)


def _show(report: Report, status: SeenOwner, contradictions: Sequence[Finding], *, is_compared: bool) -> None:
    """Report the state of an owner, and the contradictions that show why the owner must not start."""
    if contradictions:
        report.found(ExitCode.FAILED)
    if status.state in AT_WORK:
        report.found(ExitCode.OWNER_ACTIVE)
    report.values["owners"].append(
        {
            **picked(status, "role status_queue put_by"),
            "state": status.state.value,
            "record": record_values(status.record),
            "contradictions": [picked(each, "found why remedy") for each in contradictions],
        }
    )
    lines = _lines(status)
    for each in contradictions:
        lines[0] = f"{status.role} {status.name}: do NOT start it yet: {each.found}"
        lines.append(f"why           {each.why}")
    if status.role == "put" and status.record is None and status.state not in AT_WORK and not is_compared:
        lines.append("messages      not compared: a lost record is found with --queue QUEUE only")
    report.print(lines[0], *(f"  {line}" for line in lines[1:]))
    report.print(*(f"  {line}" for each in contradictions for line in each.remedy.splitlines()), wrap=False)


def _lines(status: SeenOwner) -> list[str]:
    record = status.record
    state = status.state
    lines = [f"{status.role} {status.name}: {state.value}: {state.means}", f"status queue  {status.status_queue}"]
    if record is not None:
        lines.append(f"record        {record.state.value}, unit of work {record.unit_of_work}, epoch {record.epoch}")
    if status.put_by:
        lines.append(f"put by        user {status.put_by}")
    if record is not None and record.state is not RecordState.IDLE:
        lines += [
            f"group         {record.group_id.hex()} on queue {record.queue}",
            f"committed     {committed(record)}",
            f"checkpoint    {record.checkpoint!r}",
        ]
        lines += [f"property      {name} = {value!r}" for name, value in (record.properties or {}).items()]
    if record is not None and (done := record.done) is not None:
        lines.append(f"done          {done.name!r:.100}, {number(done.messages, 'message')}, {done.time_utc}")
    return lines
