"""The commands ``mqgroups status list`` and ``status purge``: what batches have left on a shared status queue.

Records of a batch go when it is completed. Those of a sink that does not come back (a query that was dropped, a job that is
not run again) stay, with the groups that it had begun; who knows that it does not come back takes them away here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from mqgroups.batch.completion import SinkRecords, find_sinks, purge_sink
from mqgroups.cli.connection import EXIT_DISARRAY, EXIT_FAILED, Command, Report, connected, connection_options
from mqgroups.connection.holder import connection_of
from mqgroups.core.claim import claim_values
from mqgroups.core.status import StatusRecord
from mqgroups.errors import StatusError
from mqgroups.queue_manager import QueueManager

_STATUS_QUEUE = click.option("--status-queue", required=True, metavar="QUEUE", help="The shared status queue.")


@contextmanager
def _queue_manager(connection: dict[str, Any]) -> Iterator[QueueManager]:
    try:
        with connected(Report({}, as_json=False, code=EXIT_FAILED), 0.0, **connection) as q_mgr:
            yield q_mgr
    except StatusError as error:
        click.echo(f"mqgroups: {error}", err=True)
        sys.exit(EXIT_DISARRAY)


def _with_connection(command: Command) -> Command:
    return _STATUS_QUEUE(connection_options(command))


@click.group()
def status() -> None:
    """What batches (of the Spark sink) have left on a shared status queue.

    \b
    Exit codes:
      0  done
      1  it did not work, and standard error says why
      2  the command was not understood
      5  the status queue is in disarray: an operator has to look
      6  the queue manager cannot be connected to
    """


@status.command("list")
@_with_connection
@click.option("--sink", metavar="NAME", help="Of this sink only: a streaming query's id, or txnAppId.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def list_(status_queue: str, sink: str | None, as_json: bool, **connection: Any) -> None:
    """List sinks, the last batch each has completed, and the groups of batches that are not completed."""
    with _queue_manager(connection) as q_mgr:
        found = find_sinks(connection_of(q_mgr), status_queue, sink)
    if as_json:
        click.echo(json.dumps([_values(each) for each in found], indent=2))
        return
    for each in found:
        completed = "none" if each.completed_batch is None else f"{each.completed_batch}"
        click.echo(f"sink {each.sink.name}, queue {each.sink.queue}: last batch completed {completed}")
        for record in each.groups:
            values = claim_values(record.checkpoint)
            click.echo(
                f"  batch {values['batch']} group {values['key']}: {record.state.value}, {record.msg_seq_number} messages "
                f"committed, GroupId {record.group_id.hex()}, attempt {record.owner_id} (claim {record.epoch})"
            )
        for name in each.hidden:
            click.echo(f"  group {name}: in somebody's unit of work")


@status.command()
@_with_connection
@click.option("--sink", required=True, metavar="NAME", help="Whose records: a streaming query's id, or txnAppId.")
@click.option("--unfinished-groups", is_flag=True, help="Also get the messages of groups that are not whole.")
@click.option("--high-water-mark", is_flag=True, help="Also forget which batch was completed last.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(
    status_queue: str, sink: str, unfinished_groups: bool, high_water_mark: bool, yes: bool, **connection: Any
) -> None:
    """Take away the records of a sink that will not do its last batch again.

    A group that was begun then stays as it is, not whole, unless its messages are got too (--unfinished-groups). Without a
    high-water mark a batch that comes again after all is put again.
    """
    if not yes:
        click.confirm(
            f"Purge sink {sink} on {status_queue}? A batch that is done again then puts groups twice", abort=True
        )
    with _queue_manager(connection) as q_mgr:
        purged = purge_sink(
            connection_of(q_mgr), status_queue, sink, unfinished_groups=unfinished_groups, mark=high_water_mark
        )
    click.echo(
        f"purged: records of {purged.groups} groups, {purged.messages} messages of unfinished groups, "
        f"{purged.marks} high-water marks"
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
    values = claim_values(record.checkpoint)
    return {
        "batch": values["batch"],
        "key": values["key"],
        "state": record.state.value,
        "msg_seq_number": record.msg_seq_number,
        "group_id": record.group_id.hex(),
        "attempt": record.owner_id,
        "claim": record.epoch,
    }
