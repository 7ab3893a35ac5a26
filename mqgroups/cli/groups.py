"""The command ``mqgroups groups``: which groups are on a queue, how complete, whose, and since when nothing happens."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import click

from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.group_rows import MESSAGES, SPLITS, group_listing
from mqgroups.cli.options import LOOK_S, QUEUE, STALLED_AFTER, output_option, pair, status_queues_option
from mqgroups.cli.progress import Progress
from mqgroups.cli.report import MOST_ROWS, Report
from mqgroups.cli.table import Output, picked
from mqgroups.cli.words import number, put_time, size, tally
from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.operate.browse import messages_of_group
from mqgroups.operate.group_names import GroupNames
from mqgroups.operate.groups import GroupList, browse_groups
from mqgroups.operate.owners import SeenOwners, find_owners
from mqgroups.operate.rules.findings import Severity
from mqgroups.operate.rules.inspection import BrowsedInstance
from mqgroups.operate.rules.judgement import Cause, GroupState, Judgement
from mqgroups.queue_manager import QueueManager

_INCOMPLETE = "incomplete"
_STATES = {state.value.replace(" ", "-"): state for state in GroupState}
# In JSON.
_OF_INSTANCE = "q_mgr_name depth messages others open_input open_output hidden unseen"
_WHOLE_ID = 2 * GROUP_ID_LENGTH


def _some_id(value: str) -> str:
    """Return the hexadecimal digits of a GroupId, or of its end."""
    digits = value.lower()
    if not digits or len(digits) > _WHOLE_ID or digits.strip("0123456789abcdef"):
        raise click.BadParameter(f"{value!r} is not up to {_WHOLE_ID} hexadecimal digits")
    return digits


@click.command()
@click.option("--queue", required=True, type=QUEUE, help="The queue to browse: a local queue, or an alias of one.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*_STATES, _INCOMPLETE]),
    metavar="STATE",
    help=f"Only groups in this state, such as no-beginning; or {_INCOMPLETE}, which is all but complete; may be repeated.",
)
@click.option(
    "--group",
    "some_id",
    type=_some_id,
    metavar="GROUPID",
    help="Show the messages of this group; its last digits are enough.",
)
@click.option(
    "--at",
    "others",
    multiple=True,
    **pair("NAME=HOST(PORT)"),
    help="Another queue manager with an instance of this cluster queue; may be repeated.",
)
@status_queues_option
@output_option
@connection_options(LOOK_S)
def groups(
    queue: str,
    only: Sequence[str],
    some_id: str | None,
    others: Sequence[tuple[str, str]],
    status_queues: Sequence[str],
    output: Output,
    **connection: Any,
) -> None:
    """Show the groups on a queue: how complete, whose, and since when nothing has happened.

    What needs attention comes first. The queue is browsed, and nothing is changed. Messages in uncommitted units of work are not
    visible to anybody. Names are the property mqgroups.Name of first messages, or are in status records; they are looked up for
    1000 groups, at most 10 seconds.

    \b
    States:
      complete      all messages are there
      being put     the last message is not there yet
      being got     a consumer has the first message, or a unit of work hides it
      stalled       incomplete, and nobody works on it, or nothing happened for
                    5 minutes
      backed out    a message's backout count has reached BOTHRESH
      abandoned     its producer has ended it without completing it
      no beginning  the first message is gone, and no record says who gets it
      no record     the last message is missing, and no record says who puts it
      record differs
                    its record, or the other record of its pipe, contradicts
                    the messages: do not start its program yet
      gap           messages are missing in the middle
      inconsistent  messages after the last one
      doubled       a message is there twice, or its GroupId was used again

    With --at, the groups of all instances of a cluster queue are shown, and those that are at more than one. Channel, user and
    password are the same for all of these addresses.

    Authorities: CONNECT and INQ on the queue manager, BROWSE and INQ on the queue. Status queues need BROWSE and INQ; to
    find them, the command server is asked. What cannot be seen for want of an authority is named.

    \b
    Exit codes:
      0  done
      1  failed; or a group has messages twice, or is split over queue managers
    """
    report = Report(output, q_mgr_name=connection["q_mgr_name"], queue=queue)
    with ExitStack() as stack:
        q_mgrs = [stack.enter_context(connected(report, **connection))]
        for name, conn_name in others:
            there = {**connection, "q_mgr_name": name, "conn_name": conn_name}
            q_mgrs.append(stack.enter_context(connected(report, **there)))
        if some_id is not None and len(some_id) == _WHOLE_ID:
            _show_messages(report, q_mgrs, queue, bytes.fromhex(some_id))
            report.end()
        found = stack.enter_context(browsed(q_mgrs, queue))
        now = datetime.now(UTC)
        owners = _owners(report, q_mgrs, status_queues)

        states = {_STATES[word] for word in only if word != _INCOMPLETE}
        states |= set(GroupState) - {GroupState.COMPLETE} if _INCOMPLETE in only else set()

        def wanted(each: Judgement) -> bool:
            if some_id is not None:
                return each.group_id.hex().endswith(some_id)
            return not only or each.cause.state in states

        with Progress() as line:
            gone = found.judge(owners, put_time(now - STALLED_AFTER), wanted, line.say)
        if some_id is not None:
            _show_messages(report, q_mgrs, queue, _the_id(found, some_id))
        else:
            names = stack.enter_context(GroupNames(q_mgrs, queue))
            _show_groups(report, found, names, now)
            _tell_gone(report, filter(wanted, gone))
    report.end()


def browsed(q_mgrs: Sequence[QueueManager], queue: str) -> GroupList:
    """Browse a queue and show the progress."""
    began_s = time.monotonic()
    with Progress() as line:

        def say(instance: BrowsedInstance) -> None:
            rate = instance.messages / max(time.monotonic() - began_s, 0.001)
            where = f" at {instance.q_mgr_name}" if len(q_mgrs) > 1 else ""
            doing = f"browsing {queue}{where}: {instance.messages:,} messages, {rate:,.0f} a second"
            line.say(doing, instance.messages, instance.depth)

        return browse_groups(q_mgrs, queue, say)


def _owners(report: Report, q_mgrs: Sequence[QueueManager], status_queues: Sequence[str]) -> SeenOwners:
    """Return the owners at all these queue managers."""
    found = SeenOwners(())
    for q_mgr in q_mgrs:
        seen = find_owners(q_mgr, status_queues=status_queues)
        for sentence in seen.unseen:
            report.note(f"not seen at {q_mgr.q_mgr_name}: {sentence}")
        found = SeenOwners(found.owners + seen.owners, found.unseen + seen.unseen, found.q_mgr_names + seen.q_mgr_names)
    return found


def _the_id(found: GroupList, some_id: str) -> bytes:
    """Return the one GroupId that ends with these digits."""
    ids = {row.group.group_id for row in found.groups()}
    if len(ids) != 1:
        seen = ", ".join(sorted(each.hex() for each in ids)[:5])
        many = f"{len(ids)} groups on the queue end with {some_id}: {seen}"
        raise click.BadParameter(many if ids else f"no group on the queue ends with {some_id}", param_hint="'--group'")
    return ids.pop()


def _show_messages(report: Report, q_mgrs: Sequence[QueueManager], queue: str, group_id: bytes) -> None:
    report.values["group_id"] = group_id.hex()
    report.print(f"group {group_id.hex()}")
    for q_mgr in q_mgrs:
        if len(q_mgrs) > 1:
            report.print(f"at {q_mgr.q_mgr_name}:")
        name = "messages" if len(q_mgrs) == 1 else f"messages at {q_mgr.q_mgr_name}"
        if not report.rows(name, MESSAGES, messages_of_group(q_mgr, queue, group_id)):
            report.note(f"no message of group {group_id.hex()} is on queue {queue} at {q_mgr.q_mgr_name}")


def _show_groups(report: Report, found: GroupList, names: GroupNames, now: datetime) -> None:
    several = len(found.instances) > 1
    report.rows("groups", group_listing(now, several=several), names.named(found.groups(), MOST_ROWS), found.listed)
    if names.left_out:
        report.note(f"the names of {number(names.left_out, 'group')} were not looked up")
    for instance in found.instances:
        for sentence in instance.unseen:
            report.note(f"not seen at {instance.q_mgr_name}: {sentence}")
    report.print(*summary(found))
    if many := found.counts[GroupState.NO_RECORD]:
        cause = Cause.NO_RECORD
        report.note(f"{number(many, 'group')}: {cause.value}: {cause.danger}. `mqgroups doctor` prints the commands")
    if found.counts[GroupState.DOUBLED]:
        report.found(ExitCode.FAILED)
    if several:
        most = 1 if report.is_json else None
        report.rows("splits", SPLITS, ((split, part) for split in found.splits() for part in split.parts[:most]))
        splits = sum(1 for _ in found.splits())
        report.print(f"{number(splits, 'group is', 'groups are')} split over queue managers")
        if splits:
            report.found(ExitCode.FAILED)
    report.values |= {
        "instances": [picked(each, _OF_INSTANCE) for each in found.instances],
        "states": {state.value: many for state, many in found.counts.items()},
        "data_bytes": found.data_bytes,
    }


def _tell_gone(report: Report, gone: Iterable[Judgement]) -> None:
    """Name what is wrong with groups of which no message is on the queue; a row would have nothing to show."""
    causes = Counter(each.cause for each in gone if each.cause.severity is not Severity.OK)
    for cause, many in causes.items():
        report.note(f"{number(many, 'more group')}: {cause.value}. `mqgroups doctor` prints the commands")


def summary(found: GroupList) -> list[str]:
    """Return what there is, in a few lines."""
    lines = [f"{tally('group', GroupState, found.counts)}; {size(found.data_bytes)}"]
    for each in found.instances:
        said = [f"{number(each.messages, 'message')}, {each.others:,} in no group"]
        if each.open_input is not None and each.open_output is not None:
            said.append(f"open handles: {each.open_input} for input, {each.open_output} for output")
        hidden = "not known" if each.hidden is None else number(each.hidden, "message")
        said.append(f"hidden by units of work: {hidden}")
        lines.append(f"{each.queue} at {each.q_mgr_name}: " + "; ".join(said))
    return lines
