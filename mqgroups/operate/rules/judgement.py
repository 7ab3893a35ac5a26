"""Judges a group: what is wrong with it, from its messages, from the records that name it, and from the running programs.

``groups``, ``watch``, ``doctor`` and ``check`` all use this judgement. A group gets the first cause that is found: contradictions
to a record are checked first, then the messages, then the programs. A cause has a state, a danger and a remedy (``remedies.py``).

A producer commits its record together with the messages, from the first unit of work on. A pipe commits its two records together.
So records and messages disagree only if somebody has cleared, deleted or restored a queue, if messages have expired, or if
messages are on their way back through a channel. If all records at the queue manager that made the GroupId were seen, a
group that lacks its end and has no record of a producer is not normal.

Browsing takes time, and units of work hide messages. So a group that seems to lack messages may be a group that programs are
putting or getting. ``operate/browse.py`` finds this out.

The time since which nothing has happened is the latest put time of the group's messages and its owners' records. Each commit puts
a record. PutDate and PutTime are UTC by the queue manager's clock (IBM MQ, "MQMD"). They are compared as 16 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.core.status import Outgoing
from mqgroups.operate.rules.findings import Severity, Told
from mqgroups.operate.rules.inspection import BrowsedInstance, GroupInspection, MessagePlace
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner


class GroupState(Told):
    """The state of a group on a queue, and what this state ``means``."""

    COMPLETE = ("complete", "all messages are there")
    BEING_PUT = ("being put", "the last message is not there yet")
    BEING_GOT = ("being got", "a consumer has the first message, or a unit of work hides it")
    STALLED = ("stalled", "incomplete, and nobody works on it, or nothing happened for 5 minutes")
    BACKED_OUT = ("backed out", "a message's backout count has reached BOTHRESH")
    ABANDONED = ("abandoned", "its producer has ended it without completing it")
    NO_BEGINNING = ("no beginning", "the first message is gone, and no record says who gets it")
    NO_RECORD = ("no record", "the last message is missing, and no record says who puts it")
    RECORD_DIFFERS = ("record differs", "a record contradicts the messages: do not start its program yet")
    GAP = ("gap", "messages are missing in the middle")
    INCONSISTENT = ("inconsistent", "messages after the last one")
    DOUBLED = ("doubled", "a message is there twice, or its GroupId was used again")

    means: str


_OK, _WARNING, _ERROR = Severity.OK, Severity.WARNING, Severity.ERROR
_S = GroupState


class Cause(Told):
    """Why a group is in its state. Causes that need an operator come first, the most dangerous first.

    Attributes:
        state: the state of such a group.
        severity: how bad the cause is.
        danger: what would go wrong, or why the group does not continue.
        look: ``"put"`` or ``"got"`` if a group can seem to have this cause because messages were put or got while the queue was
            browsed, which a second look finds out. ``None`` if a group cannot seem to have it.
    """

    # fmt: off
    OWNERS = ("two producers, or two consumers, have a record of it", _S.RECORD_DIFFERS, _ERROR,
              "if both are started, messages are put or got twice", "put")
    PIPE = ("the two records of its pipe disagree, or one is lost", _S.RECORD_DIFFERS, _ERROR,
            "the pipe does not start (StatusQueueUnusable)", "put")
    OLDER = ("its producer's record is older than what was put", _S.RECORD_DIFFERS, _ERROR,
             "if its producer is started, it puts messages twice", "put")
    NEWER = ("its last messages are gone, by its producer's record", _S.RECORD_DIFFERS, _ERROR,
             "if its producer is started, messages are missing", "put")
    ELSEWHERE = ("its producer or consumer works with another queue", _S.RECORD_DIFFERS, _ERROR,
                 "if they are started, they refuse this queue, or put or get the rest at the other one")
    NO_RECORD = ("its last message is missing, and no record says who puts it", _S.NO_RECORD, _ERROR,
                 "if a producer of mqgroups put it, its start would put the messages again: do NOT start it yet", "put")
    UNNAMED = ("its last message is missing, and who puts it was not seen", _S.STALLED, _WARNING,
               "if its producer's record is lost, its start would put the messages again: do NOT start it yet")
    TWICE = ("a message is there twice", _S.DOUBLED, _ERROR, "a consumer gets messages twice, or stops at them")
    AGAIN = ("messages that its consumer has got are there again", _S.DOUBLED, _ERROR,
             "a consumer would get them a second time, as a group of their own", "put")
    BEHIND_LAST = ("messages follow the last one", _S.INCONSISTENT, _ERROR, "no consumer gets them")
    GAP = ("messages are missing in the middle", _S.GAP, _ERROR,
           "a consumer stops at the gap (GroupStalled), and at each start again", "got")
    GAP_AHEAD = ("the messages that its consumer gets next are missing", _S.GAP, _ERROR,
                 "its consumer stops there (GroupStalled), and at each start again", "got")
    NO_BEGINNING = ("its first message is gone, and no record says who gets it", _S.NO_BEGINNING, _ERROR,
                    "no consumer gets it", "got")
    BEGINNING_UNSEEN = ("its first message is gone, and who gets it was not seen", _S.NO_BEGINNING, _WARNING,
                        "a consumer may be getting it, or no consumer gets it", "got")
    REST_GONE = ("its consumer waits for the rest, and no message is on the queue", _S.STALLED, _WARNING,
                 "its consumer waits (GroupStalled), and at each start again")
    PUT_GONE = ("its producer is interrupted, and no message of it is on the queue", _S.STALLED, _WARNING,
                "if its producer is started, it puts a rest without its beginning")
    POISON = ("a message's backout count has reached BOTHRESH", _S.BACKED_OUT, _WARNING,
              "its consumer fails at this message, and stops (PoisonMessage, or another error)")
    STOPPED = ("its producer or consumer is not at work", _S.STALLED, _WARNING, "nobody goes on with it")
    SILENT = ("its producer or consumer is at work, and nothing happens", _S.STALLED, _WARNING,
              "a second start is refused (OwnerActive)")
    ABANDONED = ("its producer has given it up", _S.ABANDONED, _OK, "none: its consumer is told")
    PUTTING = ("it is being put", _S.BEING_PUT, _OK, "none")
    GETTING = ("it is being got", _S.BEING_GOT, _OK, "none")
    WHOLE = ("all messages are there", _S.COMPLETE, _OK, "none")
    # fmt: on

    state: GroupState
    severity: Severity
    danger: str
    look: Literal["put", "got"] | None


# The owner of such a group must not be started before the remedy.
NOT_TO_START = frozenset({Cause.OWNERS, Cause.PIPE, Cause.OLDER, Cause.NEWER, Cause.ELSEWHERE})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a judgement needs to know, besides the group and the records that name it.

    Attributes:
        at: what was seen of the queue, except its groups.
        owners: all owners that were seen.
        producers_seen: whether the records of all producers of this queue manager were seen.
        all_seen: whether all records were seen.
        quiet_since: a group in which nothing has happened since this time is stalled; 16 digits, UTC.
        name: the owner that the operator asks about, or ``NAME``.
    """

    at: BrowsedInstance
    owners: Sequence[SeenOwner] = ()
    producers_seen: bool = False
    all_seen: bool = True
    quiet_since: str = ""
    name: str = "NAME"

    def owner(self, role: str, name: str) -> SeenOwner | None:
        """Return the owner that has this role, this name, and its own status queue."""
        named = (each for each in self.owners if each.role == role and each.name == name and not each.is_shared)
        return next(named, None)

    def pipe_disagrees(self, name: str) -> bool:
        """Return whether the two records of a pipe are from different commits, or the producer's record is lost.

        A producer and a consumer with the same name may not be a pipe. The consumer's record shows whether they are a pipe.
        """
        put, get = self.owner("put", name), self.owner("get", name)
        if get is None or get.outgoing is None or (put is None and not self.all_seen):
            return False
        unsettled = (OwnerState.ACTIVE, OwnerState.HIDDEN)
        if get.state in unsettled or (put is not None and put.state in unsettled):
            return False
        found = Outgoing()
        if put is not None and put.has_group and put.record is not None:
            found = Outgoing(put.record.group_id, put.record.msg_seq_number)
        return found != get.outgoing


@dataclass(frozen=True, slots=True)
class Judgement:
    """A group, its state, and the cause of this state."""

    cause: Cause
    since: str
    """The time of the last known message or commit of the group, 16 digits in UTC."""
    group: GroupInspection
    """The group's messages on the queue; without messages if only records name the group."""
    owners: Sequence[SeenOwner]
    """The owners whose records name the group as unfinished."""
    around: Surroundings
    name: str | None = None
    """The group's name; empty if it has no name, ``None`` if the name was not read."""

    @property
    def state(self) -> GroupState:
        """The state of the group."""
        return self.cause.state

    @property
    def queue(self) -> str:
        """The name of the queue, as the caller gave it."""
        return self.around.at.queue

    @property
    def producer(self) -> SeenOwner | None:
        """The producer whose record names the group."""
        return _only("put", self.owners)

    @property
    def consumer(self) -> SeenOwner | None:
        """The consumer whose record names the group."""
        return _only("get", self.owners)

    @property
    def group_id(self) -> bytes:
        """The GroupId."""
        return self.group.group_id

    @property
    def recorded_name(self) -> str:
        """The group's name in a record; empty if no record has the name."""
        return next((owner.group_name for owner in self.owners if owner.group_name), "")


def judged(group: GroupInspection | None, owners: Sequence[SeenOwner], around: Surroundings) -> Judgement:
    """Return the judgement of a group. ``owners``: the owners whose records name the group as unfinished."""
    since = max([group.last_put if group else "", *(owner.committed_at for owner in owners)])
    producer, consumer = _only("put", owners), _only("get", owners)
    # The cause if nothing else is wrong, and no program continues the group.
    stalled = Cause.SILENT if since <= around.quiet_since else None
    if any(owner is not None and owner.is_active is False for owner in (producer, consumer)):
        stalled = Cause.STOPPED
    if len(owners) > (producer is not None) + (consumer is not None):
        cause = Cause.OWNERS
    elif any(around.pipe_disagrees(each.name) for each in owners):
        cause = Cause.PIPE
    elif any(works_elsewhere(each, around.at, is_there=group is not None) for each in owners):
        cause = Cause.ELSEWHERE
    elif group is None:
        cause = _without_messages(producer, consumer, around, stalled)
    else:
        cause = (
            _against_producer(group, producer)
            or _from_messages(group, consumer, around)
            or _by_owners(group, producer, consumer, around, stalled)
        )
    named = (each.record.group_id for each in owners if each.record)
    return Judgement(cause, since, group or GroupInspection(next(named, GROUP_ID_NONE)), owners, around)


def works_elsewhere(owner: SeenOwner, at: BrowsedInstance, *, is_there: bool) -> bool:
    """Return whether a stopped owner uses another queue than the browsed one, for example after a change of an alias's target.

    ``is_there``: whether the browsed queue has messages of the group. If it has none, only a producer's record shows their queue.
    """
    here = (at.queue, at.resolved_q_name)
    record = owner.record
    if owner.is_active is not False or not at.resolved_q_name or record is None:
        return False
    if is_there:
        return owner.behind is not None and owner.behind not in here
    return (
        bool(record.resolved_q_name)
        and record.resolved_q_name not in here
        and record.resolved_q_mgr_name == at.q_mgr_name
    )


def _only(role: str, owners: Sequence[SeenOwner]) -> SeenOwner | None:
    return next((each for each in owners if each.role == role), None)


def _without_messages(
    producer: SeenOwner | None, consumer: SeenOwner | None, around: Surroundings, stalled: Cause | None
) -> Cause:
    if producer is None and consumer is not None and consumer.is_active is False:
        return Cause.REST_GONE
    if producer is None or producer.record is None or producer.is_active is not False or producer.is_shared:
        return stalled or Cause.GETTING
    elsewhere = producer.record.resolved_q_mgr_name not in ("", around.at.q_mgr_name)
    may_be_there = elsewhere or bool(around.at.hidden)
    if consumer is None or consumer.record is None:
        return Cause.STOPPED if may_be_there else Cause.PUT_GONE
    # Both records have a position in the group, so they are compared without messages.
    put, got = (MessagePlace(each.msg_seq_number, each.offset) for each in (producer.record, consumer.record))
    if put < got:
        return Cause.OLDER
    if put > got and consumer.is_active is False and not may_be_there:
        return Cause.NEWER
    return stalled or Cause.GETTING


def _against_producer(group: GroupInspection, producer: SeenOwner | None) -> Cause | None:
    """Return the cause if the messages contradict the record of a producer that is not running."""
    # The records on a shared status queue are of another kind.
    if producer is None or producer.record is None or producer.is_active is not False or producer.is_shared:
        return None
    # Some segments of the next message may be committed too.
    expected = producer.record.msg_seq_number + (producer.record.offset > 0)
    if group.last_msg_seq_number == expected:
        return None
    return Cause.OLDER if group.last_msg_seq_number > expected else Cause.NEWER


def _from_messages(group: GroupInspection, consumer: SeenOwner | None, around: Surroundings) -> Cause | None:
    """Return the cause if the messages alone show one, or if they contradict the record of a consumer that is not running."""
    if group.is_doubled:
        return Cause.TWICE
    if group.goes_on_after_last:
        return Cause.BEHIND_LAST
    if consumer is not None and consumer.record is not None and consumer.is_active is False:
        record = consumer.record
        if group.first.msg_seq_number <= record.msg_seq_number:
            return Cause.AGAIN
        if group.first > MessagePlace(record.msg_seq_number + 1, record.offset):
            return Cause.GAP_AHEAD
    if group.gaps:
        return Cause.GAP
    if not group.has_head or not group.has_end:
        return None
    if 0 < around.at.threshold <= group.backout_count:
        return Cause.POISON
    return Cause.ABANDONED if group.abandoned else Cause.WHOLE


def _by_owners(
    group: GroupInspection,
    producer: SeenOwner | None,
    consumer: SeenOwner | None,
    around: Surroundings,
    stalled: Cause | None,
) -> Cause:
    if not group.has_head and consumer is None:
        return Cause.NO_BEGINNING if around.all_seen else Cause.BEGINNING_UNSEEN
    lacks_producer = not group.has_end and producer is None
    if lacks_producer and around.producers_seen and group.is_made_by(around.at.q_mgr_name):
        return Cause.NO_RECORD
    if stalled is None:
        return Cause.PUTTING if group.has_head else Cause.GETTING
    if 0 < around.at.threshold <= group.backout_count:
        return Cause.POISON
    return Cause.UNNAMED if lacks_producer else stalled
