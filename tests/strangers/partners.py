"""The partners: what each of them puts, as its documentation says, and where each of its messages has to be in the end.

In the end a receiver has a message, or it is on the backout queue, or it is still on its queue. ``TELLS`` says by which errors
or log lines a receiver tells what is wrong; of a partner that does everything right nothing is told.
``docs/how-to/partners.md`` has the same table in words, and is compared with this one.

Each message says who put it and that it counts once. So an application that adds up orders shows a message that it took twice,
or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mqgroups.mqi import constants as mq

IN, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP
_TEXT: Mapping[str, Any] = {"Format": b"MQSTR   ", "CodedCharSetId": 1208}
_MAINFRAME: Mapping[str, Any] = {"Format": b"MQSTR   ", "CodedCharSetId": 37, "Encoding": 785}
# Expiry is counted in tenths of a second.
_AT_ONCE = 1
_PUT_ASIDE = frozenset({"GroupQuarantined"})


@dataclass(frozen=True, slots=True)
class Put:
    """One MQPUT: the data, and the fields of the MQMD that are not their defaults."""

    data: bytes
    fields: Mapping[str, Any]
    properties: Mapping[str, str | int] = field(default_factory=dict)


class Outcome(NamedTuple):
    """How many messages a receiver gets, go to the backout queue, and stay on the queue; what is told (``TELLS``).

    ``shown`` are the states in which ``mqgroups groups`` shows what stays.
    """

    got: int
    aside: int = 0
    left: int = 0
    told: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Partner:
    """A partner.

    Attributes:
        name: of its row in the documentation.
        puts: its messages, in the order in which they are put.
        outcome: for a receiver of any kind.
        otherwise: for receivers for which it is not the same: "whole" get only complete groups, "segments" get single segments,
            "spark" is a stream of Spark, "receive" is `mqgroups receive`. ``None``: they stop with GroupStalled.
        joined: what such a receiver may make of all messages together.
        gone: how many messages the queue manager discards, because they expire.
    """

    name: str
    puts: tuple[Put, ...]
    outcome: Outcome
    otherwise: Mapping[str, Outcome | None] = field(default_factory=dict)
    joined: bytes = b""
    gone: int = 0

    @property
    def row(self) -> tuple[str, ...]:
        """What the documentation's row says: how many were put, got, put aside and left, and how it is told or shown."""
        got, aside, left, told, shown = self.outcome
        return (self.name, *map(str, (len(self.puts), got, aside, left)), ", ".join(sorted(told | shown)) or "\u2013")


def group_id(text: bytes) -> bytes:
    """Return a GroupId made from text as IBM MQ classes for JMS make it: padded or cut to 24 bytes (IBM MQ, topic q032040)."""
    return text.ljust(24, b"\0")[:24]


def _numbered(who: str, texts: int, first: int = 1) -> list[bytes]:
    return [b"%s%d 1" % (who.encode(), number) for number in range(first, first + texts)]


def _group(identifier: bytes, data: list[bytes], base: Mapping[str, Any] = _TEXT, *, ends: bool = True) -> list[Put]:
    """Return the messages of a group, numbered from 1."""
    return [
        Put(
            each,
            {
                **base,
                "GroupId": identifier,
                "MsgSeqNumber": number,
                "MsgFlags": LAST if ends and number == len(data) else IN,
                "Persistence": mq.MQPER_PERSISTENT,
            },
        )
        for number, each in enumerate(data, 1)
    ]


def _alone(data: list[bytes], **more: Any) -> list[Put]:
    return [Put(each, {**_TEXT, "Persistence": mq.MQPER_PERSISTENT, **more}) for each in data]


def _without(puts: list[Put], *numbers: int) -> list[Put]:
    return [put for put in puts if put.fields["MsgSeqNumber"] not in numbers]


def _changed(put: Put, **fields: Any) -> Put:
    return Put(put.data, {**put.fields, **fields}, put.properties)


def _jms_affinity() -> Partner:
    """JMSXGroupID alone: each message is number 1 of a group, and none is the last (IBM MQ, topic q032040)."""
    puts = [
        put
        for customer in (b"CUSTOMER-1", b"CUSTOMER-2")
        for data in _numbered(customer.decode().lower() + "-", 2)
        for put in _group(group_id(customer), [data], ends=False)
    ]
    return Partner(
        "JMS, JMSXGroupID as an affinity key",
        tuple(puts),
        Outcome(4, told=frozenset({"GroupQuarantined", "reused"})),
        {"whole": Outcome(0, left=4, shown=frozenset({"doubled"}))},
    )


def _jms_groups() -> Partner:
    """Whole groups whose text identifiers agree in their first 24 bytes."""
    identifiers = [b"INVOICES-2026-NOVEMBER-26-%d" % run for run in (1, 2)]
    puts = [
        put
        for run, identifier in enumerate(identifiers)
        for put in _group(group_id(identifier), _numbered("jms", 3, 3 * run + 1))
    ]
    return Partner("JMS, identifiers that agree in 24 bytes", tuple(puts), Outcome(6, told=frozenset({"reused"})))


def _jms_without_numbers() -> Partner:
    """JMSXGroupID and JMS_IBM_Last_Msg_In_Group, but no JMSXGroupSeq: each message is number 1 (IBM MQ, topic q032040)."""
    puts = [_changed(put, MsgSeqNumber=1) for put in _group(group_id(b"NO-NUMBERS"), _numbered("no-numbers", 3))]
    return Partner(
        "JMS, no JMSXGroupSeq",
        tuple(puts),
        Outcome(3, told=frozenset({"GroupQuarantined", "reused"})),
        # To the queue manager the first number and the last one are there, so the group is complete.
        {"spark": Outcome(1, left=2, shown=frozenset({"doubled"})), "receive": None},
    )


def _jms_without_identifier() -> Partner:
    """JMSXGroupSeq alone puts a message into a group (IBM MQ, topic q032040); the queue manager makes a GroupId for each."""
    puts = [_changed(put, GroupId=bytes(24)) for put in _group(b"", _numbered("no-identifier", 3))]
    return Partner(
        "JMS, no JMSXGroupID",
        tuple(puts),
        Outcome(1, left=2, told=_PUT_ASIDE, shown=frozenset({"no beginning"})),
        {"whole": Outcome(0, left=3, shown=frozenset({"no beginning", "stalled"}))},
    )


def _ace_constant() -> Partner:
    """IBM's own sample of App Connect Enterprise has one GroupId for every run."""
    constant = bytes(23) + b"\1"
    puts = [put for run in range(3) for put in _group(constant, _numbered("ace", 2, 2 * run + 1))]
    return Partner("ACE, one GroupId for all", tuple(puts), Outcome(6, told=frozenset({"reused"})))


def _ace_msg_id() -> Partner:
    """MQOutput without "New Message ID": what a flow makes of one message has that message's MsgId."""
    puts = _alone(_numbered("split", 3), MsgId=b"one for all".ljust(24, b"\0"))
    return Partner("ACE, one MsgId for several messages", tuple(puts), Outcome(3, told=frozenset({"repeats"})))


def _mft(who: str) -> list[Put]:
    return _group(group_id(who.encode()), _numbered(who, 3))


def _mft_success() -> Partner:
    return Partner("MFT, a file", tuple(_mft("mft")), Outcome(3))


def _mft_failure() -> Partner:
    """A transfer that fails ends with an empty last message and its result (IBM MQ, message attributes of MFT)."""
    *puts, last = _mft("broken")
    failure = Put(b"", last.fields, {"WMQFTEResultCode": 40, "WMQFTESupplement": "The transfer failed"})
    return Partner("MFT, a transfer that failed", (*puts, failure), Outcome(2, told=frozenset({"GroupAbandoned"})))


def _mainframe() -> Partner:
    """EBCDIC text and big-endian numbers."""
    data = [each.decode().encode("cp037") for each in _numbered("mainframe", 3)]
    return Partner("A mainframe, EBCDIC", tuple(_group(group_id(b"MAINFRAME"), data, _MAINFRAME)), Outcome(3))


def _tool() -> Partner:
    return Partner("A tool, messages in no group", tuple(_alone(_numbered("tool", 3))), Outcome(3))


def _doubled_message() -> Partner:
    """A channel that was resolved, or a dead letter that was put back twice: the same message, MsgId included."""
    first, last = _group(group_id(b"DOUBLED"), _numbered("doubled", 2))
    twice = _changed(first, MsgId=b"the same".ljust(24, b"\0"))
    return Partner(
        "A message that comes twice",
        (twice, twice, last),
        Outcome(3, told=frozenset({"GroupQuarantined", "repeats"})),
        {"whole": Outcome(2, left=1, shown=frozenset({"stalled"}))},
    )


def _doubled_group() -> Partner:
    puts = [_changed(put, MsgId=put.data.ljust(24, b"\0")) for put in _group(group_id(b"TWICE"), _numbered("twice", 2))]
    return Partner("A group that comes twice", (*puts, *puts), Outcome(4, told=frozenset({"repeats"})))


def _taken() -> Partner:
    """A reader that knows no groups has taken a message, or it was lost on a fast channel, or is a dead letter."""
    puts = _without(_group(group_id(b"TAKEN"), _numbered("taken", 4)), 2)
    return Partner(
        "A message in the middle is missing",
        tuple(puts),
        Outcome(1, 2, told=_PUT_ASIDE),
        {"whole": Outcome(0, left=3, shown=frozenset({"gap"}))},
    )


def _expired() -> Partner:
    first, second, last = _group(group_id(b"EXPIRED"), _numbered("expired", 3))
    return Partner(
        "A message that expires",
        (first, _changed(second, Expiry=_AT_ONCE), last),
        Outcome(1, 1, told=_PUT_ASIDE),
        {"whole": Outcome(0, left=2, shown=frozenset({"gap"}))},
        gone=1,
    )


def _endless() -> Partner:
    """A producer that died, or a group whose last message was lost."""
    return Partner(
        "The end is missing",
        tuple(_group(group_id(b"ENDLESS"), _numbered("endless", 2), ends=False)),
        Outcome(2, told=_PUT_ASIDE),
        {"whole": Outcome(0, left=2, shown=frozenset({"stalled"}))},
    )


def _headless() -> Partner:
    puts = _without(_group(group_id(b"HEADLESS"), _numbered("headless", 3)), 1)
    return Partner("The beginning is missing", tuple(puts), Outcome(0, left=2, shown=frozenset({"no beginning"})))


def _all_last() -> Partner:
    """JMS_IBM_Last_Msg_In_Group on every message."""
    puts = [_changed(put, MsgFlags=LAST) for put in _group(group_id(b"ALL-LAST"), _numbered("all-last", 3))]
    return Partner("Every message is the last one", tuple(puts), Outcome(1, left=2, shown=frozenset({"inconsistent"})))


def _mixed_segments() -> Partner:
    """A message in segments that have different CCSIDs cannot be put together (reason 2243; IBM MQ, topic q042760)."""
    (whole,) = _group(group_id(b"SEGMENTS"), _numbered("segments", 1))
    half = len(whole.data) // 2
    parts = [
        Put(whole.data[:half], {**whole.fields, "MsgFlags": LAST | mq.MQMF_SEGMENT, "Offset": 0}),
        Put(
            whole.data[half:].decode().encode("cp500"),
            {**whole.fields, "MsgFlags": LAST | mq.MQMF_LAST_SEGMENT, "Offset": half, "CodedCharSetId": 500},
        ),
    ]
    return Partner(
        "Segments of different CCSIDs",
        tuple(parts),
        Outcome(0, 2, told=_PUT_ASIDE),
        {"segments": Outcome(2)},
        joined=b"".join(part.data for part in parts),
    )


GOOD = tuple(_group(group_id(b"GOOD"), _numbered("good", 2)))
PARTNERS = (
    _tool(),
    _jms_groups(),
    _jms_affinity(),
    _jms_without_numbers(),
    _jms_without_identifier(),
    _all_last(),
    _ace_constant(),
    _ace_msg_id(),
    _mft_success(),
    _mft_failure(),
    _mainframe(),
    _doubled_message(),
    _doubled_group(),
    _taken(),
    _expired(),
    _headless(),
    _endless(),
    _mixed_segments(),
)
# What a receiver raises or logs, and words by which it is recognised.
TELLS = {
    "GroupQuarantined": "GroupQuarantined|was moved to",
    "GroupAbandoned": "GroupAbandoned",
    "repeats": "repeats the group",
    "reused": "was used again",
}
