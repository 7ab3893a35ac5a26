"""The commands ``mqgroups batches``: list and purge the records that the Spark sink has left on a shared status queue.

When a batch is completed its status records are removed. If a sink never comes back (its query was dropped, or its job is not run
again), its records stay, and so do the groups that it had begun. An operator who knows that removes them with ``purge``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click

from mqgroups.batch.completion import SinkPurged, SinkRecords, find_sinks, purge_sink
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.console import Commands
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import QUEUE, Command, apply_option, output_option
from mqgroups.cli.report import Report, committed
from mqgroups.cli.table import Output
from mqgroups.cli.words import number
from mqgroups.connection.holder import connection_of
from mqgroups.core.claim import claim_values
from mqgroups.core.status import StatusRecord

_STATUS_QUEUE = click.option("--status-queue", required=True, type=QUEUE, help="The shared status queue.")


def _with_connection(command: Command) -> Command:
    return _STATUS_QUEUE(connection_options()(command))


@click.group(cls=Commands)
def batches() -> None:
    """List or purge the records that the Spark sink has left on a shared status queue.

    \b
    Exit codes:
      0  done; without --apply: it can be done
      1  failed, or disarray, or a purge that is refused; or there are no records
      2  the command line is wrong
    """


@batches.command("list")
@_with_connection
@output_option
def list_(status_queue: str, output: Output, **connection: Any) -> None:
    """List sinks, their last completed batch, and the groups of batches that are not completed."""
    report = Report(output, q_mgr_name=connection["q_mgr_name"], status_queue=status_queue, sinks=[])
    with connected(report, **connection) as q_mgr:
        found = find_sinks(connection_of(q_mgr), status_queue)
    report.values["sinks"] = [_values(each) for each in found]
    for each in found:
        report.print(*_lines(each))
    if not found:
        report.print(f"no records on {status_queue}")
    report.end()


@batches.command()
@_with_connection
@click.option("--sink", required=True, metavar="NAME", help="The sink: the id of a streaming query, or a txnAppId.")
@click.option(
    "--remove",
    "removed",
    multiple=True,
    type=click.Choice(["unfinished-groups", "whole-groups", "high-water-mark"]),
    help="What else to remove; may be repeated.",
)
@apply_option
def purge(status_queue: str, sink: str, removed: Sequence[str], apply: bool, **connection: Any) -> None:
    """Remove the status records of a sink that will not run its last batch again.

    A group that was begun stays incomplete on its queue. Whole groups stay there too; if their batch is not complete, the command
    is refused, because the batch would put them a second time: best make it give the same messages as before, and run it again.

    \b
    Each --remove removes more:
      unfinished-groups  the messages of groups that are not complete
      whole-groups       the records of whole groups of a batch that is not
                         complete: move the groups from the queue (mqgroups
                         salvage move) before the batch is run again
      high-water-mark    the record of the last completed batch: a batch that is
                         run again is put a second time
    """
    report = Report()
    with connected(report, acts=True, **connection) as q_mgr:
        found = find_sinks(connection_of(q_mgr), status_queue, sink)
        if not found:
            report.note(f"no records of sink {sink} on {status_queue}")
            report.found(ExitCode.FAILED)
        elif not apply:
            for each in found:
                report.print(*_lines(each))
            report.print("these records would be removed")
        else:
            purged = purge_sink(
                connection_of(q_mgr),
                status_queue,
                sink,
                unfinished_groups="unfinished-groups" in removed,
                whole_groups_too="whole-groups" in removed,
                mark="high-water-mark" in removed,
            )
            report.print(
                f"purged: records of {number(purged.groups, 'group')}, {number(purged.messages, 'message')} of unfinished "
                f"groups, {number(purged.marks, 'high-water mark')}",
                *_what_stays(purged),
            )
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
    completed = "none" if found.completed_batch is None else found.completed_batch
    return [
        f"sink {found.sink.name}, queue {found.sink.queue}: last batch completed {completed}",
        *(_group_line(record) for record in found.groups),
        *(f"  group {name}: its record is hidden by another program's unit of work" for name in found.hidden),
    ]


def _group_line(record: StatusRecord) -> str:
    claim = claim_values(record.checkpoint)
    return (
        f"  batch {claim['batch']} group {claim['key']}: {record.state.value}, {committed(record)} committed, "
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
