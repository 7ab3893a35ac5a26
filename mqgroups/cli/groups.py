"""The command ``mqgroups groups``: shows the groups on queues, how complete and whose they are, and since when they are quiet."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, get_args

import click

from mqgroups.cli.connection import connected, connection_options
from mqgroups.cli.console import ProgressLine
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.group_rows import MESSAGES, dumped, group_listing
from mqgroups.cli.options import LOOK_S, QUEUE, STALLED_AFTER, output_option, states_told, status_queues_option
from mqgroups.cli.report import MOST_ROWS, Report
from mqgroups.cli.table import Output, picked
from mqgroups.cli.words import number, put_time, size, tally
from mqgroups.core.group_key import goes_by, text_of_id
from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.operate.browse import messages_of_group, peek
from mqgroups.operate.group_names import named
from mqgroups.operate.groups import GroupList, Order, browse_groups, in_order
from mqgroups.operate.queues import Sight, look_at_queues
from mqgroups.operate.rules.findings import Severity
from mqgroups.operate.rules.inspection import BrowsedInstance
from mqgroups.operate.rules.judgement import Cause, GroupState, Judgement
from mqgroups.printable import brief
from mqgroups.queue_manager import QueueManager

_INCOMPLETE = "incomplete"
_STATES = {state.value.replace(" ", "-"): state for state in GroupState}
# In JSON.
_OF_INSTANCE = "q_mgr_name queue depth messages others open_input open_output hidden unseen"
_WHOLE_ID = 2 * GROUP_ID_LENGTH
# The maximum number of bytes that are shown of a message's data.
_MOST_SHOWN_BYTES = 256


@states_told(GroupState)
@click.command()
@click.option("--queue", type=QUEUE, help="A local queue or an alias. Default: all queues that status records name.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*_STATES, _INCOMPLETE]),
    metavar="STATE",
    help=f"Only groups in this state, such as no-beginning; {_INCOMPLETE}: all states except complete; may be repeated.",
)
@click.option("--sort", "order", type=click.Choice(get_args(Order)), default="danger", help="Which groups come first.")
@click.option(
    "--group",
    "some_id",
    metavar="GROUPID",
    help="Show the messages of this group. Give first or last digits of the GroupId, or the beginning of its text.",
)
@click.option(
    "--message",
    "msg_seq_number",
    type=click.IntRange(1),
    help="With --group: show the head, properties and first bytes of this message. This shows data.",
)
@status_queues_option
@output_option
@connection_options(LOOK_S)
def groups(
    queue: str | None,
    only: Sequence[str],
    order: Order,
    some_id: str | None,
    msg_seq_number: int | None,
    status_queues: Sequence[str],
    output: Output,
    **connection: Any,
) -> None:
    """Show the groups on a queue, or on all queues: how complete they are, whose they are, and since when nothing has happened.

    Groups that need attention come first. They include groups that only records name, because none of their messages is on the
    queue. Queues are browsed, and nothing is changed. No program can see messages in uncommitted units of work. A group's name is
    the property mqgroups.Name of its first message, or comes from a status record. Names are shown for at most 1000 groups, and
    searched for at most 10 seconds.

    STATES

    Authorities: CONNECT and INQ on the queue manager, BROWSE and INQ on the queue and on the status queues. The command server
    lists the status queues. The output names what could not be seen, and the authority that was missing.

    \b
    Exit codes:
      0  done
      1  failed; or a group has messages twice
    """
    if queue is None and some_id is not None:
        raise click.UsageError("--group needs --queue")
    if msg_seq_number is not None and some_id is None:
        raise click.UsageError("--message needs --group")
    report = Report(output, q_mgr_name=connection["q_mgr_name"], queue=queue)
    with ExitStack() as stack:
        q_mgr = stack.enter_context(connected(report, **connection))
        if queue is not None and some_id is not None:
            group_id = _the_id(q_mgr, queue, some_id)
            report.values["group_id"] = group_id.hex()
            report.print(f"group {group_id.hex()}{f' ({text})' if (text := text_of_id(group_id)) else ''}")
            if msg_seq_number is None:
                if not report.rows("messages", MESSAGES, messages_of_group(q_mgr, queue, group_id)):
                    report.note(f"no message of group {group_id.hex()} is on queue {queue} at {q_mgr.q_mgr_name}")
            else:
                _show_message(report, q_mgr, queue, group_id, msg_seq_number)
            report.end()
        queues = None if queue is None else [queue]
        sight = stack.enter_context(look_at_queues(q_mgr, queues, browsed, status_queues=status_queues))
        if queue in sight.refused:
            raise sight.refused[queue]
        now = datetime.now(UTC)
        states = {_STATES[word] for word in only if word != _INCOMPLETE}
        states |= set(GroupState) - {GroupState.COMPLETE} if _INCOMPLETE in only else set()

        def wanted(each: Judgement) -> bool:
            # A group without messages that is in order has nothing to show.
            is_there = each.group.messages or each.cause.severity is not Severity.OK
            return bool(is_there) and (not only or each.cause.state in states)

        with ProgressLine() as line:
            for found in sight.lists.values():
                found.judge(sight.owners, put_time(now - STALLED_AFTER), wanted, line.say)
        _show_groups(report, sight, order, q_mgr, now)
    report.end()


def browsed(q_mgr: QueueManager, queue: str) -> GroupList:
    """Browse a queue and show the progress."""
    began_s = time.monotonic()
    with ProgressLine() as line:

        def say(instance: BrowsedInstance) -> None:
            rate = instance.messages / max(time.monotonic() - began_s, 0.001)
            doing = f"browsing {queue}: {instance.messages:,} messages, {rate:,.0f} a second"
            line.say(doing, instance.messages, instance.depth)

        return browse_groups(q_mgr, queue, say)


def _the_id(q_mgr: QueueManager, queue: str, some_id: str) -> bytes:
    """Return the only GroupId on the queue that begins or ends with ``some_id``: hexadecimal digits or text."""
    if len(some_id) == _WHOLE_ID and not some_id.lower().strip("0123456789abcdef"):
        return bytes.fromhex(some_id)
    with browsed(q_mgr, queue) as found:
        ids = {each.group_id for each in found.inspections() if some_id and goes_by(each.group_id, some_id)}
    # A text may be the beginning of another text.
    ids = {each for each in ids if text_of_id(each) == some_id} or ids
    if len(ids) != 1:
        seen = ", ".join(f"{each.hex()} {text_of_id(each)}".rstrip() for each in sorted(ids)[:5])
        said = f"{len(ids)} groups on the queue begin or end with {some_id}: {seen}"
        raise click.BadParameter(
            said if ids else f"no group on the queue begins or ends with {some_id}", param_hint="'--group'"
        )
    return ids.pop()


def _show_message(report: Report, q_mgr: QueueManager, queue: str, group_id: bytes, msg_seq_number: int) -> None:
    found = peek(q_mgr, queue, group_id, msg_seq_number, _MOST_SHOWN_BYTES)
    if found is None:
        report.note(f"no message {msg_seq_number} of group {group_id.hex()} can be browsed on queue {queue}")
        report.found(ExitCode.FAILED)
        return
    report.note("this shows data of a message; it stays on the queue")
    head, properties, data = found
    values = {name: each.hex() if isinstance(each, bytes) else each for name, each in properties.items()}
    report.values["looked_into"] = {**head, "properties": values, "data_hex": data.hex()}
    report.print(*(brief(f"{name}: {each}") for name, each in (*head.items(), *values.items())))
    report.print(f"the first {len(data)} bytes of its data:", *dumped(data), wrap=False)


def _show_groups(report: Report, sight: Sight, order: Order, q_mgr: QueueManager, now: datetime) -> None:
    lists, left_out = sight.lists, 0

    def rows() -> Iterator[Judgement]:
        nonlocal left_out
        gone = ([row] for found in lists.values() for row in found.gone)
        there = (named(q_mgr, queue, found.groups(order), MOST_ROWS) for queue, found in lists.items())
        for row in in_order([*gone, *there], order):
            left_out += row.name is None
            yield row

    listing = group_listing(now, queues=report.values["queue"] is None)
    report.rows("groups", listing, rows(), sum(found.listed + len(found.gone) for found in lists.values()))
    if left_out:
        report.note(f"the names of {number(left_out, 'group')} were not looked up")
    for sentence in sight.unseen():
        report.note(f"not seen: {sentence}")
    report.print(*_summary(lists.values()))
    counts = sum((found.counts for found in lists.values()), Counter[GroupState]())
    if many := counts[GroupState.NO_RECORD]:
        cause = Cause.NO_RECORD
        report.note(f"{number(many, 'group')}: {cause.value}: {cause.danger}. `mqgroups doctor` prints the commands")
    if counts[GroupState.DOUBLED]:
        report.found(ExitCode.FAILED)
    report.values |= {
        "instances": [picked(found.instance, _OF_INSTANCE) for found in lists.values()],
        "states": {state.value: many for state, many in counts.items()},
        "data_bytes": sum(found.data_bytes for found in lists.values()),
    }


def _summary(lists: Iterable[GroupList]) -> list[str]:
    found = list(lists)
    counts = sum((each.counts for each in found), Counter[GroupState]())
    gone = sum(len(each.gone) for each in found)
    without = f"; {gone:,} more without messages on the queue" if gone else ""
    lines = [f"{tally('group', GroupState, counts)}{without}; {size(sum(each.data_bytes for each in found))}"]
    for each in (one.instance for one in found):
        said = [f"{number(each.messages, 'message')}, {each.others:,} in no group"]
        if each.open_input is not None and each.open_output is not None:
            said.append(f"open handles: {each.open_input} for input, {each.open_output} for output")
        hidden = "not known" if each.hidden is None else number(each.hidden, "message")
        said.append(f"hidden by units of work: {hidden}")
        lines.append(f"{each.queue} at {each.q_mgr_name}: " + "; ".join(said))
    return lines
