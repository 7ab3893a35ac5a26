"""The command ``mqgroups takeover``: gives the interrupted group of a name that will not come back to another name."""

from __future__ import annotations

from typing import Any, Literal

import click

from mqgroups import operate
from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.options import NAME, apply_option
from mqgroups.cli.report import Report
from mqgroups.core.model import Role
from mqgroups.core.status import RecordState
from mqgroups.names import status_queue_name


@click.command()
@click.argument("other", type=NAME, metavar="OTHER")
@click.option("--by", required=True, type=NAME, help="The name that takes the group over, and resumes it.")
@click.option("--role", type=click.Choice(["put", "get"]), required=True, help="Producers (put) or consumers (get).")
@apply_option
@connection_options()
def takeover(other: str, by: str, role: Literal["put", "get"], apply: bool, **connection: Any) -> None:
    """Give the interrupted group of OTHER, whose program will not come back, to another name, in one unit of work.

    The next start of that name resumes the group. A checkpoint goes with it, also if no group is interrupted. A pipe has two
    groups: take over --role put first, then --role get, and start the other name after both.

    \b
    Exit codes:
      0  done; without --apply: it can be done
      1  failed; or OTHER has no status queue
      2  the command line is wrong
      4  OTHER or NAME is active, or not gone yet after --wait
    """
    report = Report()
    with connected(report, acts=True, **connection) as q_mgr:
        done = operate.take_over(q_mgr, other, role, by=by, wait_s=connection["wait_s"], check=not apply)
    record = done.record
    if done.unknown:
        missing = f"there is no {status_queue_name(Role(role), other, None)}"
        report.print(f"{other} was never started, or its status queue was deleted: {missing}")
        report.found(ExitCode.FAILED)
    elif record is None:
        report.print(f"{other} has no interrupted group, and no checkpoint")
    else:
        what = f"the checkpoint of {other}, which has no interrupted group"
        if record.state is RecordState.IN_GROUP:
            what = f"group {record.group_id.hex()} of {other}, at message {record.msg_seq_number}"
        report.print(f"{by} {'took' if done.done else 'would take'} over {what}")
    report.end()
