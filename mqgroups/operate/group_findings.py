"""Findings about the groups on a queue, each with a remedy that neither loses nor doubles a message.

A remedy may be carried out as it is written, in every state that leads to it. So no program is to be started whose record may be
lost: it would put or get again what is committed.

Not here: how groups are browsed (``groups.py``), and records that contradict their messages (``disagreements.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mqgroups.connection.holder import ConnectionHolder
from mqgroups.core.model import Role
from mqgroups.operate.disagreements import disagreements
from mqgroups.operate.groups import GroupList, ListedGroup, browse_groups
from mqgroups.operate.owners import SeenOwner, find_owners, owners_of_groups
from mqgroups.operate.rules.findings import Finding, Severity, ok
from mqgroups.operate.rules.group_state import GroupOwner, GroupState
from mqgroups.operate.rules.inspection import GroupInspection

# A finding names so many groups and owners. ``mqgroups groups`` and ``mqgroups owners`` show the others.
_MOST = 3
# What is found, why it matters, and what has to be tried before the group is moved away.
_WRONG = {
    GroupState.DOUBLED: ("with messages twice", "a consumer gets messages twice, or stops at them", ()),
    GroupState.INCONSISTENT: ("inconsistent", "another program has put messages with the same GroupId", ()),
    GroupState.GAP: (
        "with a gap",
        "messages are missing in the middle; a consumer that begins such a group stops there",
        ("wait for a channel, or bring dead letters back. If the missing messages are nowhere:",),
    ),
    GroupState.NO_BEGINNING: (
        "without a beginning",
        "no consumer gets them: a record is lost or in a commit, or a message expired or came twice",
        (
            "if a consumer has begun the group, and its record is lost:",
            "mqgroups salvage rebuild --role get --name NAME --queue {queue} --group {group_id}",
            "if it was handled already, or its beginning is nowhere:",
        ),
    ),
}
_Q = TypeVar("_Q", bound=ConnectionHolder)
_ATTENTION = frozenset({*_WRONG, GroupState.NO_RECORD})


@dataclass(slots=True)
class SeenGroups:
    """What was seen of the groups on a queue. ``add`` counts the groups, one after the other.

    Attributes:
        queue: its name.
        threshold: its BOTHRESH; 0 if it has none.
        backed_out: how many stalled or complete groups have a message whose backout count has reached BOTHRESH.
        stalled: how many other groups are stalled.
        idle, busy: the owners that these wait for: those that are not at work; those that are, or may be, and do nothing.
        unnamed: how many of these lack their end, and no record that was seen says who puts it.
    """

    queue: str
    threshold: int = 0
    backed_out: int = 0
    stalled: int = 0
    idle: Counter[GroupOwner] = field(default_factory=Counter)
    busy: Counter[GroupOwner] = field(default_factory=Counter)
    unnamed: int = 0
    _some: dict[GroupState, list[GroupInspection]] = field(default_factory=dict)

    def add(self, row: ListedGroup) -> None:
        """Count a group."""
        some = self._some.setdefault(row.state, [])
        if row.state in _ATTENTION and len(some) < _MOST:
            some.append(row.group)
        if row.state in (GroupState.STALLED, GroupState.COMPLETE) and 0 < self.threshold <= row.group.backout_count:
            self.backed_out += 1
        elif row.state is GroupState.STALLED:
            self.stalled += 1
            self.unnamed += not row.group.has_end and all(owner.role is not Role.PUT for owner in row.owners)
            for owner in row.owners:
                (self.idle if owner.is_active is False else self.busy)[owner] += 1

    def findings(
        self, counts: Mapping[GroupState, int], disagreeing: Collection[str], name: str, *, all_seen: bool
    ) -> Iterator[Finding]:
        """Yield what is wrong.

        Args:
            counts: how many groups are in each state.
            disagreeing: the status queues of owners whose records contradict their messages. Another finding says what to do.
            name: the producer that the operator asks about, or ``NAME``.
            all_seen: whether all owners were seen.
        """
        for state in _WRONG:
            if counts[state]:
                yield self._wrong(state, counts[state], all_seen=all_seen)
        if many := counts[GroupState.NO_RECORD]:
            yield self.no_record(many, name)
        if self.backed_out:
            yield self._backed_out()
        if self.stalled:
            yield self._stalled(disagreeing)
        left = sum(counts.values()) - self.backed_out - self.stalled - sum(counts[state] for state in _ATTENTION)
        yield ok(f"groups on {self.queue}", f"{_groups(left)} in order or at work")

    def no_record(self, many: int, name: str) -> Finding:
        """Return the finding on groups without a record of their producer; arguments as for ``no_record`` and ``findings``."""
        return no_record(self.queue, many, self._some[GroupState.NO_RECORD], name)

    def _wrong(self, state: GroupState, many: int, *, all_seen: bool) -> Finding:
        what, why, first = _WRONG[state]
        shown, severity = (
            f"mqgroups groups --queue {self.queue} --only {state.value.replace(' ', '-')} --wide",
            Severity.ERROR,
        )
        group_id = self._some[state][0].group_id.hex()
        move = f"mqgroups salvage move --queue {self.queue} --group {group_id} --to QUEUE"
        remedy = [shown, *(line.format(queue=self.queue, group_id=group_id) for line in first), move]
        if state is GroupState.NO_BEGINNING and not all_seen:
            # A consumer at work takes the beginning of its group away, and its record says so.
            why = "a consumer may have begun them: its record may be among those that were not seen"
            remedy, severity = [f"{shown} --status-queue MQGROUPS.GET.NAME"], Severity.WARNING
        return Finding(f"groups on {self.queue}", severity, f"{_groups(many)} {what}", why, "\n".join(remedy))

    def _backed_out(self) -> Finding:
        found = f"{_groups(self.backed_out)} with a message whose backout count has reached BOTHRESH({self.threshold})"
        why = "if its consumer stops with PoisonMessage, it fails at this message, and each second start stops there again"
        remedy = (
            "start its consumer; if that stops with PoisonMessage again, correct it, or use poison='quarantine' or 'skip'\n"
            f"mqgroups groups --queue {self.queue} --wide"
        )
        return Finding(f"groups on {self.queue}", Severity.WARNING, found, why, remedy)

    def _stalled(self, disagreeing: Collection[str]) -> Finding:
        remedy = []
        if idle := _named(owner for owner in self.idle if owner.status_queue not in disagreeing):
            remedy.append(f"start {idle}: each resumes its group, or says why it may not")
        if busy := _named(self.busy):
            remedy.append(
                f"do not start {busy} again: a program has the status queue open and does nothing. Look at its log; if it hangs, "
                "end it first"
            )
        if self.unnamed:
            remedy.append(
                "do NOT start the producer of a group that no record names (put by shows an application) before its record is "
                "found, here or at the queue manager that it puts at. If the record is lost, a start puts the messages again"
            )
        remedy.append(f"mqgroups groups --queue {self.queue} --only stalled --wide")
        why = "they are incomplete, and nothing has happened for a while, or an owner is not at work"
        found = f"{_groups(self.stalled)} stalled"
        return Finding(f"groups on {self.queue}", Severity.WARNING, found, why, "\n".join(remedy))


@dataclass(frozen=True, slots=True)
class QueueLook:
    """What was seen of a queue and its owners.

    Attributes:
        counts: how many groups are in each state.
        groups: the groups themselves.
        disagreeing: the owners whose records contradict the messages, and what to do.
        unseen: which owners could not be seen, and for want of what: a sentence each.
    """

    counts: Mapping[GroupState, int]
    groups: SeenGroups
    disagreeing: Sequence[tuple[SeenOwner, Finding]]
    unseen: Sequence[str]


def look_at_groups(
    q_mgr: _Q,
    queue: str,
    browse: Callable[[Sequence[_Q], str], GroupList] = browse_groups,
    *,
    named: Collection[str] = (),
    threshold: int = 0,
    quiet_since: str = "",
) -> QueueLook:
    """Browse a queue, then the status queues.

    Args:
        q_mgr: a connected queue manager.
        queue: a local queue, or an alias of one.
        browse: ``browse_groups``, or a function that shows its progress.
        named: status queues to look at besides those that the command server lists.
        threshold: BOTHRESH of the queue; 0 if it has none.
        quiet_since: as for ``GroupList.judge``; nothing is stalled for that reason if it is empty.

    Raises:
        MQIError: a call failed.
    """
    owned: dict[bytes, GroupInspection] = {}
    groups = SeenGroups(queue, threshold)
    with browse([q_mgr], queue) as found:
        seen = find_owners(q_mgr, status_queues=named)
        owners = owners_of_groups(seen.owners)

        def wanted(row: ListedGroup) -> bool:
            if row.group.group_id in owners:
                owned[row.group.group_id] = row.group
            groups.add(row)
            return False

        records_of = [q_mgr.q_mgr_name] if seen.has_all_producers else []
        found.judge(owners, quiet_since, wanted, records_of=records_of)
        return QueueLook(found.counts, groups, tuple(disagreements(queue, seen.owners, owned)), seen.unseen)


def no_record(queue: str, many: int, some: Sequence[GroupInspection] = (), name: str = "NAME") -> Finding:
    """Return the finding on groups whose last message is missing, and no record says who puts it.

    Args:
        queue: the queue that has them.
        many: how many there are.
        some: the first of them.
        name: the producer that the operator asks about.
    """
    remedy = []
    for group in some:
        group_id = group.group_id.hex()
        remedy += [
            f"if {name} put this group, and no other producer, rebuild its record:",
            f"mqgroups salvage rebuild --name {name} --role put --queue {queue} --group {group_id} --apply",
        ]
        if group.has_head:
            # Else a consumer has begun it, and would get its first messages a second time.
            remedy += [
                "or, if its producer begins the group again:",
                f"mqgroups salvage move --queue {queue} --group {group_id} --to QUEUE --apply",
            ]
    if many > len(some):
        remedy.append(f"mqgroups groups --queue {queue} --only no-record --wide")
    why = (
        "If a producer of mqgroups put them, its record is lost, and a start would put the messages a second time: do NOT start "
        "it before the record is rebuilt or the group is moved. If another program puts them, the groups simply go on"
    )
    found = f"{_groups(many)} without an end, which no record on MQGROUPS.* or a --status-queue names"
    return Finding(f"groups on {queue}", Severity.WARNING, found, why, "\n".join(remedy))


def _groups(many: int) -> str:
    return f"{many:,} group{'' if many == 1 else 's'}"


def _named(owners: Iterable[GroupOwner]) -> str:
    """Return roles and names of owners."""
    names = [f"{owner.role.value} {owner.name}" for owner in owners]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
