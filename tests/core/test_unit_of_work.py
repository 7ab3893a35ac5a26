"""When a unit of work ends, by table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.unit_of_work import Every, capped, syncpoint_due

ALL = Every(messages=10, bytes=1000, seconds=5)


@table(
    ("every", "messages", "data_bytes", "age_s", "due"),
    [
        (ALL, 1, 1, 0.0, False),
        (ALL, 9, 999, 4.9, False),
        (ALL, 10, 1, 0.0, True),
        (ALL, 1, 1000, 0.0, True),
        (ALL, 1, 1, 5.0, True),
        (ALL, 0, 0, 100.0, False),
        (Every(messages=1), 1, 0, 0.0, True),
        (Every(bytes=1), 1, 0, 0.0, False),
        (Every(seconds=0.5), 1, 0, 0.5, True),
    ],
)
def test_a_unit_of_work_ends_by_whatever_comes_first(every, messages, data_bytes, age_s, due):
    assert syncpoint_due(every, messages, data_bytes, age_s) is due


@table("limits", [{}, {"messages": 0}, {"bytes": -1}, {"seconds": 0.0}, {"messages": True}, {"messages": 0.5}])
def test_a_limit_that_cannot_be_is_refused(limits):
    with pytest.raises(ValueError, match="every"):
        Every(**limits)


@table(
    ("every", "messages"),
    [(Every(messages=100), 100), (Every(messages=20_000), 9_998), (Every(seconds=1), 9_998)],
)
def test_the_status_record_always_has_room_under_maxumsgs(every, messages):
    assert capped(every, 10_000, 2).messages == messages


def test_a_maxumsgs_without_room_for_a_message_is_refused():
    with pytest.raises(ValueError, match="MAXUMSGS is 2"):
        capped(Every(messages=1), 2, 2)


@given(every=st.integers(1, 50), n=st.integers(2, 300))
def test_units_of_work_by_messages_number_n_over_every_rounded_up(every, n):
    in_unit = units = 0
    for number in range(1, n + 1):
        in_unit += 1
        # The group's last message ends its unit of work anyway.
        if number == n or syncpoint_due(Every(messages=every), in_unit, 0, 0.0):
            units, in_unit = units + 1, 0
    assert units == -(-n // every)
