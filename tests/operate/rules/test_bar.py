"""Which messages of a group are where, from the messages on the queue and the records of its owners."""

from __future__ import annotations

from embedded_tests.tables import table
from mqgroups.core.model import MsgFlag
from mqgroups.operate.rules.bar import bar
from mqgroups.operate.rules.judgement import Cause
from mqgroups.operate.rules.owner_state import OwnerState
from tests.operate.rules.test_inspection import LAST, MIG, inspected, message
from tests.operate.rules.test_judgement import WHOLE, judgement, owner

ACTIVE = OwnerState.ACTIVE
SEGMENT = MIG | MsgFlag.SEGMENT


@table(
    ("messages", "owners", "expected"),
    [
        (WHOLE, (), [("on the queue", 1, 4)]),
        (WHOLE[:2], (), [("on the queue", 1, 2), ("not there yet", 3, 0)]),
        (WHOLE[:2], (owner("put", 3),), [("on the queue", 1, 2), ("missing", 3, 3), ("not there yet", 4, 0)]),
        ([WHOLE[0], WHOLE[3]], (), [("on the queue", 1, 1), ("missing", 2, 3), ("on the queue", 4, 4)]),
        (WHOLE[2:], (), [("missing", 1, 2), ("on the queue", 3, 4)]),
        (WHOLE[2:], (owner("get", 2),), [("got", 1, 2), ("on the queue", 3, 4)]),
        (WHOLE[2:], (owner("get", 1),), [("got", 1, 1), ("missing", 2, 2), ("on the queue", 3, 4)]),
        # Its next unit of work hides message 2.
        (WHOLE[2:], (owner("get", 1, ACTIVE),), [("got", 1, 1), ("got", 2, 2), ("on the queue", 3, 4)]),
        # Got, and there again.
        (WHOLE[1:], (owner("get", 2),), [("got", 1, 1), ("on the queue", 2, 4)]),
        ([], (owner("get", 2),), [("got", 1, 2), ("not there yet", 3, 0)]),
        ([], (owner("put", 2),), [("missing", 1, 2), ("not there yet", 3, 0)]),
        ([*WHOLE, message(5)], (), [("on the queue", 1, 5)]),
        # Messages of which some segments are missing.
        ([message(1), message(2, SEGMENT, 10)], (), [("on the queue", 1, 1), ("not there yet", 2, 0)]),
        (
            [message(1), message(2, SEGMENT, 0), message(3, LAST)],
            (),
            [("on the queue", 1, 1), ("missing", 2, 2), ("on the queue", 3, 3)],
        ),
    ],
)
def test_each_message_has_one_place_in_the_bar(messages, owners, expected):
    found = judgement(messages, *owners)
    assert bar(found.group, found.cause, owners) == expected


def test_a_bar_with_many_gaps_ends_with_what_it_does_not_tell_apart():
    found = bar(inspected([message(number) for number in range(1, 1001, 2)]), Cause.GAP, ())
    assert found[-2:] == [("some missing", 61, 999), ("not there yet", 1000, 0)]
    assert [part.first for part in found[:-2]] == list(range(1, 61))
