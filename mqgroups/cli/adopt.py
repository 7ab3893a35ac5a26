"""The command ``mqgroups adopt``: corrects status records from another queue manager, so that the next start accepts them."""

from __future__ import annotations

from typing import Any

import click

from mqgroups import operate
from mqgroups.batch.completion import adopt_records
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import NAME, QUEUE, apply_option, pair
from mqgroups.cli.report import Report
from mqgroups.cli.words import number
from mqgroups.connection.holder import connection_of
from mqgroups.core.modes import RoleName
from mqgroups.core.status import RecordState
from mqgroups.operate.adopt import Adoption

_ROLES: tuple[RoleName, ...] = ("put", "get")


@click.command()
@click.argument("name", required=False, type=NAME)
@click.option(
    "--status-queue", type=QUEUE, help="Instead of NAME: adopt the records of all sinks on this shared status queue."
)
@click.option(
    "--from", "adopt_from", metavar="QMID", help="The QMID of the queue manager that the queues were moved from."
)
@click.option(
    "--instance",
    **pair("OLD=NEW"),
    help="The messages of groups that went to queue manager OLD are at queue manager NEW now.",
)
@apply_option
@connection_options()
def adopt(
    name: str | None,
    status_queue: str | None,
    adopt_from: str | None,
    instance: tuple[str, str] | None,
    apply: bool,
    **connection: Any,
) -> None:
    """Adopt records that were moved here with the messages of their groups. A start refuses records that are not adopted.

    NAME names a producer, a consumer, or both. Adopt before the programs start, and before a sink opens its shared status queue.

    \b
    Exit codes:
      0  done; without --apply: it can be done
      1  failed; or there is no status queue
      4  NAME is active, or not gone yet after --wait
    """
    if (name is None) is (status_queue is None):
        raise click.UsageError("give NAME, or --status-queue for the records of sinks")
    if adopt_from is None and (instance is None or status_queue is not None):
        raise click.UsageError("--from is missing: the QMID of the queue manager that the queues were moved from")
    report = Report()
    with connected(report, acts=True, **connection) as q_mgr:
        if status_queue is not None and adopt_from is not None:
            records = adopt_records(connection_of(q_mgr), status_queue, adopt_from, instance, check=not apply)
            report.print(f"{'adopted' if apply else 'would adopt'} {number(len(records), 'record')} on {status_queue}")
        elif name is not None:
            unknown = 0
            for role in _ROLES:
                wait_s = connection["wait_s"]
                done = operate.adopt(
                    q_mgr, name, role, adopt_from=adopt_from, instance=instance, wait_s=wait_s, check=not apply
                )
                report.print(_said(done))
                unknown += done.unknown
            if unknown == len(_ROLES):
                report.found(ExitCode.FAILED)
    report.end()


def _said(done: Adoption) -> str:
    record = done.record
    if record is None:
        why = "there is no status queue" if done.unknown else "the start can use its status queue as it is"
        return f"{done.role} {done.name}: nothing to adopt: {why}"
    has_rest = record.state is RecordState.IN_GROUP and record.resolved_q_mgr_name
    rest = f"; the rest of its group goes to queue manager {record.resolved_q_mgr_name}" if has_rest else ""
    return f"{'adopted' if done.done else 'would adopt'} the record of {done.role} {done.name} on {done.status_queue}{rest}"
