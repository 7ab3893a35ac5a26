"""The commands ``mqgroups batches``: list and purge the records that the Spark sink has left on a shared status queue.

When a batch is completed its status records are removed. If a sink never comes back (its query was dropped, or its job is not run
again), its records stay, and so do the groups that it had begun. An operator who knows that removes them with ``purge``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from mqgroups.batch.completion import SinkPurged, SinkRecords, adopt_records, find_sinks, purge_sink
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.console import Commands
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import adopt_options, output_option
from mqgroups.cli.report import Report
from mqgroups.cli.secrets import Command
from mqgroups.cli.table import Output
from mqgroups.cli.words import number
from mqgroups.connection.holder import connection_of
from mqgroups.core.claim import claim_values
from mqgroups.core.status import StatusRecord

_STATUS_QUEUE = click.option("--status-queue", required=True, metavar="QUEUE", help="The shared status queue.")

# The names of what ``_values`` returns.
_TITLES = ("sink", "queue", "completed_batch", "groups", "in_unit_of_work")


def _with_connection(command: Command) -> Command:
    return _STATUS_QUEUE(connection_options()(command))


@click.group(cls=Commands)
def batches() -> None:
    """List, purge or adopt the records that the Spark sink has left on a shared status queue.

    \b
    Exit codes:
      0  done
      1  failed; standard error says why
      2  the command line is wrong
      5  disarray, or a purge that is refused: an operator has to look
      6  the queue manager cannot be connected to
      7  purge: the sink has no records
    """


@batches.command("list")
@_with_connection
@click.option("--sink", metavar="NAME", help="Only this sink: the id of a streaming query, or a txnAppId.")
@output_option
def list_(status_queue: str, sink: str | None, output: Output, **connection: Any) -> None:
    """List sinks, their last completed batch, and the groups of batches that are not completed."""
    report = Report(output, "sinks", _TITLES, q_mgr_name=connection["q_mgr_name"], status_queue=status_queue, sinks=[])
    with connected(report, 0.0, **connection) as q_mgr:
        found = find_sinks(connection_of(q_mgr), status_queue, sink)
    report.add(sinks=[_values(each) for each in found])
    for each in found:
        report.print(*_lines(each))
    if not found:
        report.print(f"no records {f'of sink {sink} ' if sink else ''}on {status_queue}")
    report.end()


@batches.command()
@adopt_options
@_with_connection
@output_option
def adopt(
    status_queue: str,
    adopt_from: str | None,
    instance: tuple[str, str] | None,
    apply: bool,
    output: Output,
    **connection: Any,
) -> None:
    """Adopt the records of all sinks, after the status queue and the groups' queues were moved to this queue manager.

    No attempt may have the status queue open. Without --apply, the command only says what it would do.
    """
    if adopt_from is None:
        raise click.UsageError("--adopt-from is missing: the QMID of the queue manager that the queues were moved from")
    report = Report(output, q_mgr_name=connection["q_mgr_name"], status_queue=status_queue)
    with connected(report, 0.0, **connection) as q_mgr:
        found = adopt_records(connection_of(q_mgr), status_queue, adopt_from, instance, check=not apply)
    report.add(records=len(found), done=apply)
    report.print(f"{'adopted' if apply else 'would adopt'} {number(len(found), 'record')} on {status_queue}")
    if not apply:
        report.print("--apply does it")
    report.end()


@batches.command()
@_with_connection
@click.option("--sink", required=True, metavar="NAME", help="The sink: the id of a streaming query, or a txnAppId.")
@click.option("--unfinished-groups", is_flag=True, help="Also remove the messages of groups that are not complete.")
@click.option("--whole-groups-too", is_flag=True, help="Also forget whole groups of a batch that is not complete.")
@click.option("--high-water-mark", is_flag=True, help="Also remove the record of the last completed batch.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@output_option
def purge(
    status_queue: str,
    sink: str,
    unfinished_groups: bool,
    whole_groups_too: bool,
    high_water_mark: bool,
    yes: bool,
    output: Output,
    **connection: Any,
) -> None:
    """Remove the status records of a sink that will not run its last batch again.

    A group that was begun stays incomplete on its queue, unless --unfinished-groups removes its messages too. After
    --high-water-mark, a batch that is run again is put a second time.

    Whole groups stay on their queue. If their batch is not complete, the command is refused, because the batch would put them a
    second time: best make it give the same messages as before, and run it again. Otherwise --whole-groups-too forgets and lists
    them; move them from the queue (mqgroups salvage move) before the batch is run again.
    """
    if not yes:
        click.confirm(
            f"Purge sink {sink} on {status_queue}? If its last batch is run again, groups are put twice",
            abort=True,
            err=True,
        )
    report = Report(output, q_mgr_name=connection["q_mgr_name"], status_queue=status_queue, sink=sink)
    with connected(report, 0.0, **connection) as q_mgr:
        purged = purge_sink(
            connection_of(q_mgr),
            status_queue,
            sink,
            unfinished_groups=unfinished_groups,
            whole_groups_too=whole_groups_too,
            mark=high_water_mark,
        )
    report.add(groups=purged.groups, messages=purged.messages, marks=purged.marks, left=purged.left)
    report.add(whole_groups=[{"queue": record.queue, **_group_values(record)} for record in purged.whole])
    report.add(unfinished_groups=[{"queue": record.queue, **_group_values(record)} for record in purged.unfinished])
    if not purged.is_known:
        report.at_least(ExitCode.MISSING)
        report.note(f"no records of sink {sink} on {status_queue}; nothing was purged")
        report.end()
    report.print(
        f"purged: records of {number(purged.groups, 'group')}, {number(purged.messages, 'message')} of unfinished groups, "
        f"{number(purged.marks, 'high-water mark')}"
    )
    report.print(*_what_stays(purged))
    report.end()


def _what_stays(purged: SinkPurged) -> Iterator[str]:
    for queue, groups in sorted(Counter(_place(record) for record in purged.whole).items()):
        yield f"{number(groups, 'whole group')} on {queue}, which the batch puts again if it is run again:"
        yield from (_group_line(record) for record in purged.whole if _place(record) == queue)
    for queue, groups in sorted(Counter(_place(record) for record in purged.unfinished).items()):
        yield f"{number(groups, 'unfinished group')} left on {queue}:"
        yield from (_group_line(record) for record in purged.unfinished if _place(record) == queue)
    if purged.left:
        yield f"records of {number(purged.left, 'group')} left: another program's unit of work hides or has replaced them"


def _place(record: StatusRecord) -> str:
    q_mgr = record.resolved_q_mgr_name
    return f"queue {record.queue}{f' of queue manager {q_mgr}' if q_mgr else ''}"


def _lines(found: SinkRecords) -> list[str]:
    completed = "none" if found.completed_batch is None else f"{found.completed_batch}"
    return [
        f"sink {found.sink.name}, queue {found.sink.queue}: last batch completed {completed}",
        *(_group_line(record) for record in found.groups),
        *(f"  group {name}: its record is hidden by another program's unit of work" for name in found.hidden),
    ]


def _group_line(record: StatusRecord) -> str:
    claim = claim_values(record.checkpoint)
    committed = number(record.msg_seq_number, "message")
    return (
        f"  batch {claim['batch']} group {claim['key']}: {record.state.value}, {committed} committed, "
        f"GroupId {record.group_id.hex()}, attempt {record.owner_id} (claim {record.epoch})"
    )


def _values(found: SinkRecords) -> dict[str, Any]:
    return {
        "sink": found.sink.name,
        "queue": found.sink.queue,
        "completed_batch": found.completed_batch,
        "groups": [_group_values(record) for record in found.groups],
        "in_unit_of_work": found.hidden,
    }


def _group_values(record: StatusRecord) -> dict[str, Any]:
    said = claim_values(record.checkpoint)
    return {
        "batch": said["batch"],
        "key": said["key"],
        "state": record.state.value,
        "msg_seq_number": record.msg_seq_number,
        "group_id": record.group_id.hex(),
        "attempt": record.owner_id,
        "claim": record.epoch,
    }
