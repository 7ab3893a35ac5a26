"""The names of groups: from first messages, or from status records; for so many groups, and for so long."""

from __future__ import annotations

import itertools

import pytest

from mqgroups import errors
from mqgroups.operate.group_names import named
from mqgroups.operate.groups import browse_groups
from mqgroups.operate.owners import find_owners
from tests.operate.lost_records import A, put

THIS = [b"%d" % number for number in range(1, 8)]
# Longer than the first buffer.
LONG = "x" * 10_000


def put_named(owner, payloads, name, *, properties=None, **more):
    with owner.producer(**more) as producer, producer.group(name=name, properties=properties) as group:
        owner.put_all(group, payloads)


def names(owner, **more):
    """Return the names of the groups on the queue, in its order."""
    owners = find_owners(owner.qmgr, names=[owner.name])
    with browse_groups(owner.qmgr, owner.queue) as found:
        found.judge(owners, "0")
        return [row.name for row in named(owner.qmgr, owner.queue, found.groups(), **{"now_s": lambda: 0.0, **more})]


def test_a_group_has_the_name_that_its_first_message_has(owner):
    put_named(owner, THIS, "orders 0815")
    put_named(owner, THIS[:1], "große Bestellung <1> & \N{SNOWMAN}", properties={"lines": 1})
    put_named(owner, THIS, "", properties={"lines": 7})
    owner.put_raw_group(THIS)
    before = owner.on_queue()
    assert names(owner) == ["orders 0815", "große Bestellung <1> & \N{SNOWMAN}", "", ""]
    assert [message.md.pack() for message in owner.on_queue()] == [message.md.pack() for message in before]


def test_a_name_is_found_however_long_message_and_properties_are(owner):
    for length in (0, 3, 4096, 200_000):
        data = bytes(length)
        put_named(owner, [data, b"2"], "short")
        put_named(owner, [data, b"2"], "behind", properties={"a": LONG})
        owner.put_raw_group([data, b"2"])
    assert names(owner) == ["short", "behind", ""] * 4


def test_the_name_of_a_segmented_message_is_found(owner):
    put_named(owner, [bytes(5000)], "segmented", segment_bytes=1000)
    assert len(owner.on_queue()) == 5
    assert names(owner) == ["segmented"]


def test_a_group_whose_first_message_is_gone_has_the_name_in_its_record(owner):
    put_named(owner, THIS, "orders 0815")
    owner.interrupt_get()
    put(owner, A, 2)
    assert names(owner) == ["", "orders 0815"]


def test_so_many_names_are_read_and_for_so_long(owner):
    for name in ("one", "two", "three"):
        put_named(owner, THIS[:1], name)
    assert names(owner, most=2) == ["one", "two", None]
    assert names(owner, most=0) == [None] * 3
    assert names(owner, now_s=itertools.count().__next__, most_s=2) == ["one", "two", None]


def test_a_queue_that_cannot_be_opened_is_an_error(owner):
    with pytest.raises(errors.QueueMissing):
        next(named(owner.qmgr, "NO.SUCH.QUEUE", []))
