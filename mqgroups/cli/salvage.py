"""The commands ``mqgroups salvage``: repairs for a lost or damaged status record whose group still has messages.

Both commands print what they would do, and do it only with --apply. Use ``mqgroups groups`` to see the queue before a repair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

import click

from mqgroups import operate
from mqgroups.cli.connection import connected, connection_options, parted
from mqgroups.cli.console import Commands
from mqgroups.cli.group_rows import group_listing
from mqgroups.cli.options import QUEUE, apply_option, checked, name_option, own_status_queue_option
from mqgroups.cli.report import Report, committed
from mqgroups.cli.words import number
from mqgroups.core.model import GROUP_ID_LENGTH, Role
from mqgroups.core.modes import Accept
from mqgroups.core.status import RecordState
from mqgroups.core.to_copy import to_copy
from mqgroups.names import checked_user, status_queue_name
from mqgroups.operate.rules.inspection import BrowsedInstance, GroupInspection
from mqgroups.operate.rules.judgement import Surroundings, judged
from mqgroups.queue_manager import QueueManager

_QUEUE = click.option("--queue", required=True, type=QUEUE, help="The queue that the messages of the group are on.")
_PAST = {"move": "moved", "remove": "removed", "write": "wrote"}


def _accept(*doubts: str) -> Callable[[Any], Any]:
    text = "Which check to override; may be repeated."
    return click.option("--accept", multiple=True, type=click.Choice(doubts), help=text)


def _group_id(value: str) -> bytes:
    if not re.fullmatch(f"[0-9a-fA-F]{{{2 * GROUP_ID_LENGTH}}}", value):
        raise click.BadParameter(
            f"{value!r} is not {2 * GROUP_ID_LENGTH} hexadecimal digits; `mqgroups groups --group DIGITS` prints all"
        )
    return bytes.fromhex(value)


def _checkpoint(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{value!r:.100} is not JSON ({error})") from error


@click.group(cls=Commands)
def salvage() -> None:
    """Rebuild a lost status record from the messages of its group, or move the rest of a group.

    \b
    Exit codes:
      0  done; without --apply: it can be done
      1  failed; or the messages do not prove that the repair is right, and
         nothing was changed
      4  after --wait, an owner whose record may name the group is still active
    """


@salvage.command()
@name_option
@click.option("--role", type=click.Choice(["put", "get"]), required=True, help="Producer (put) or consumer (get).")
@_QUEUE
@click.option(
    "--group",
    "group_id",
    type=_group_id,
    metavar="GROUPID",
    help="The GroupId in hexadecimal digits. It is needed if several groups on the queue may be the right one.",
)
@click.option(
    "--checkpoint", type=_checkpoint, metavar="JSON", help="The application's checkpoint, to write into the record."
)
@_accept("in-use", "other-owners", "begun", "nothing-interrupted")
@click.option(
    "--other-status-queue",
    "other_status_queues",
    multiple=True,
    type=QUEUE,
    help="The status queue of another owner, which is also checked; may be repeated.",
)
@click.option(
    "--unreadable-to", type=QUEUE, help="The queue for messages on the status queue that cannot be read as a record."
)
@own_status_queue_option
@click.option(
    "--record-user",
    type=checked("USER", partial(checked_user, "user")),
    help="The user of the program. The record becomes this user's (needs +setid). Records of other users are moved away.",
)
@apply_option
@connection_options()
def rebuild(apply: bool, **options: Any) -> None:
    """Write the status record of a producer or consumer again, so that its next start resumes the group.

    If the status record of another owner names the group, the command refuses. It finds the status queues MQGROUPS.PUT.*,
    MQGROUPS.SHARED.* and MQGROUPS.GET.* through the command server. Name all others with --other-status-queue. If this user is
    not allowed to ask the command server, name all status queues.

    \b
    Each --accept overrides a check. Use it only if you know that
      in-use               no other program uses this group; the queue may be open
      other-owners         no other owner has this group; not all can be checked
      begun                a consumer got the group's first messages, in order
      nothing-interrupted  no group has to be resumed; only messages are moved
    """
    asked, connection = parted(options)
    report = Report()
    with connected(report, acts=True, **connection) as q_mgr:
        done = operate.salvage_owner(q_mgr, **asked, wait_s=connection["wait_s"], check=not apply)
    _show(report, q_mgr, done.group)
    if done.user and asked["record_user"] is None:
        report.note(
            f"the record was put by user {done.user}. A program that runs under another user refuses it: start that once with "
            f"record_users=({done.user!r},)"
        )
    if done.unreadable:
        where = f"{number(done.unreadable, 'message')} of {done.status_queue} to {done.unreadable_to}"
        report.print(f"{_tense(apply, 'move')} {where}")
    if done.kept is not None:
        where = f"group {done.kept.group_id.hex()}, {committed(done.kept)} committed, " if done.kept.is_needed else ""
        stays = f"{done.kept.state.value}, {where}checkpoint {done.kept.checkpoint!r}"
        report.print(f"the record on {done.status_queue} stays: {stays}")
    elif asked["checkpoint"] is None:
        lost = {repr(each.checkpoint): each.checkpoint for each in done.moved if each.checkpoint is not None}
        for each in lost.values():
            report.note(f"a record that is moved away has a checkpoint. To keep it: {_to_give(each)}")
        if done.unreadable and not lost:
            report.note(
                "if one of these messages was the record, look at its checkpoint, and give it with --checkpoint"
            )
        elif done.record is not None and not lost:
            report.note(
                "the record has no checkpoint. If the program sets checkpoints, give its last one with --checkpoint. The name of "
                "the last complete group is not known either: a producer that is given that name again puts the group again"
            )
    if done.orphaned:
        report.print(f"{_tense(apply, 'remove')} an anchor from {done.status_queue}, whose record is lost")
    if done.record is not None:
        what = f"group {done.record.group_id.hex()}, {committed(done.record)} committed"
        if done.record.state is RecordState.IDLE:
            what = "of no group, with the checkpoint"
        report.print(f"{_tense(apply, 'write')} a record to {done.status_queue}: {what}")
    if not (done.unreadable or done.orphaned or done.record):
        report.print("there is nothing to do")
    report.end()


@salvage.command()
@_QUEUE
@click.option(
    "--group", "group_id", type=_group_id, metavar="GROUPID", required=True, help="The GroupId in hexadecimal digits."
)
@click.option("--to", type=QUEUE, help="The queue to move the group to. Default: the BOQNAME of --queue.")
@_accept("in-use", "other-owners", "dead-letters")
@apply_option
@connection_options()
def move(queue: str, group_id: bytes, to: str | None, accept: Sequence[str], apply: bool, **connection: Any) -> None:
    """Move the rest of a group to another queue as it is, but with a new put time and without reports.

    After a crash, run the command again to move the rest.

    If the status record of a producer names the group, the command refuses. If the record of a consumer names it, the command
    shows how to end the consumer's wait for the group.

    \b
    Each --accept overrides a check. Use it only if you know that
      in-use        no other program uses this group; the queue may be open
      other-owners  no producer puts the rest of this group; not all records
                    can be seen or read
      dead-letters  no consumer will get them with their dead-letter headers
    """
    report = Report()
    with connected(report, acts=True, **connection) as q_mgr:
        accepted = cast("Sequence[Accept]", accept)
        done = operate.move_group(q_mgr, queue, group_id, to=to, accept=accepted, check=not apply)
    _show(report, q_mgr, done.group)
    report.print(f"{_tense(apply, 'move')} {number(done.group.messages, 'message')} to {done.to}")
    for sentence in done.unseen:
        report.note(f"not seen: {sentence}")
    for owner in done.consumers:
        report.note(
            to_copy(
                "{} has begun this group, and its next start would wait for the rest. Stop it, and after the move CLEAR "
                "QLOCAL({}); its checkpoint goes too: `mqgroups check {} --role get` shows it. If it is a pipe, also CLEAR "
                "QLOCAL({}), and move its unfinished outgoing group away too",
                *(owner.name, owner.status_queue, owner.name, status_queue_name(Role.PUT, owner.name, None)),
            )
        )
    report.end()


def _show(report: Report, q_mgr: QueueManager, group: GroupInspection | None) -> None:
    if group is not None:
        # No record names the group any more, so only its messages show its state.
        around = Surroundings(BrowsedInstance(q_mgr.q_mgr_name, ""), quiet_since=group.last_put)
        report.rows("group", group_listing(datetime.now(UTC)), [judged(group, (), around)])


def _to_give(checkpoint: Any) -> str:
    """Return the option or argument with which an operator gives a checkpoint to a new record."""
    if isinstance(checkpoint, bytes):
        return f"mqgroups.operate.salvage_owner(..., checkpoint={checkpoint!r})"
    return to_copy("--checkpoint {}", json.dumps(checkpoint))


def _tense(apply: bool, verb: str) -> str:
    return _PAST[verb] if apply else f"would {verb}"
