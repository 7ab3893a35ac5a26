"""Groups on a queue manager of z/OS, as IBM's texts describe it and ``--platform zos`` follows them: in both directions.

The physical order of messages on a queue with INDXTYPE(GROUPID) is not defined (q026270), so nothing may depend on it.
"""

from __future__ import annotations

import contextlib
import struct

import pytest

import mqgroups
from embedded_tests.tables import table
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.spark.browse import BrowsedQueue
from tests.put.whole_groups import THIS, put_rest

MQSC = """
DEFINE QLOCAL(GROUPS) INDXTYPE(GROUPID) MSGDLVSQ(FIFO) SHARE DEFSOPT(SHARED) DEFPSIST(YES)
DEFINE QLOCAL(POISONED) LIKE(GROUPS) BOTHRESH(1) BOQNAME(BACKED.OUT)
DEFINE QLOCAL(BACKED.OUT) LIKE(GROUPS)
"""


class Poisoned(Exception):
    """The application's own trouble."""


@pytest.fixture(scope="module")
def zos(module_queue_manager):
    return module_queue_manager(MQSC, "QMZ", platform="zos")


@pytest.fixture
def owner(make_owner, zos):
    made = make_owner(zos, "GROUPS")
    made.empty()
    return made


def test_groups_are_put_and_got_whatever_the_order_in_which_their_messages_lie(owner):
    owner.interrupt_put(THIS[:5])
    with owner.producer() as producer:
        assert put_rest(producer) == 4
        with producer.group() as group:
            for data in THIS:
                group.put(data)
    assert owner.data() not in (THIS * 2, [])
    qmgr = owner.connect()
    messages = iter(next(iter(owner.consumer(qmgr))))
    assert [next(messages).data for _ in range(4)] == THIS[:4]
    qmgr.close()
    assert owner.get_groups() == [THIS[2:], THIS]
    assert owner.data() == []


def test_groups_are_shown_and_read_by_spark_as_complete(owner):
    for _ in range(2):
        owner.put_group(THIS)
    found = owner.inspections("GROUPS")
    assert [(group.has_end, group.gaps, group.messages) for group in found] == [(True, (), len(THIS))] * 2
    with BrowsedQueue(connection_of(owner.qmgr), "GROUPS") as browsed:
        heads = list(browsed.heads())
        found = [[got.data for got in browsed.messages(browsed.counted(head))] for head in heads]
    assert found == [THIS] * 2


@table("setting", [{"name": "A%B"}, {"status_queue": "STATUS.%"}])
def test_a_name_that_racf_does_not_protect_is_refused(owner, setting):
    """ "Those names are not included in any security checks when RACF generic profiles are used" (q098180)."""
    with pytest.raises(errors.ConfigurationError, match="RACF"):
        owner.producer(**setting)


def test_messages_of_programs_on_z_os_are_read_in_their_encoding(owner):
    """EBCDIC text and an MQRFH2 of a program there, in EBCDIC and big-endian."""
    folder = b"<usr><colour>blue</colour></usr>"
    fixed = ("RFH ".encode("cp500"), 2, 40 + len(folder), 785, 500, "MQSTR   ".encode("cp500"), 0, 1208, len(folder))
    header = struct.pack(">4s4i8s3i", *fixed) + folder
    described = {"Encoding": 785, "CodedCharSetId": 500}
    owner.put_raw(header + "größer".encode("cp500"), Format=mq.MQFMT_RF_HEADER_2, **described)
    owner.put_raw("größer".encode("cp500"), Format=mq.MQFMT_STRING, **described)
    with owner.consumer(codec=mqgroups.codecs.text) as consumer:
        found = [(message.value, dict(message.properties)) for group in consumer for message in group]
    assert found == [("größer", {"colour": "blue"}), ("größer", {})]


def test_properties_come_back_in_the_header_that_z_os_makes_of_them(owner):
    with owner.producer() as producer, producer.group(properties={"colour": "blue", "number": 7}) as group:
        group.put("text")
        group.put(b"\x00\xff")
    with owner.consumer() as consumer:
        found = [(message.data, dict(message.properties), message.ccsid) for group in consumer for message in group]
    assert found == [(b"text", {"colour": "blue", "number": 7}, 1208), (b"\x00\xff", {}, found[1][2])]


def test_a_poison_message_is_moved_with_its_properties_and_moved_back(make_owner, zos):
    owner = make_owner(zos, "POISONED")
    with owner.producer() as producer, producer.group(properties={"colour": "blue"}) as group:
        group.put("poison")
    for _ in range(4):
        failed = contextlib.suppress(Poisoned, errors.GroupQuarantined)
        with failed, owner.consumer(poison="quarantine", commit_every=1) as consumer:
            for group in consumer:
                for message in group:
                    assert message.properties == {"colour": "blue"}
                    raise Poisoned
    assert owner.data() == []
    with make_owner(zos, "BACKED.OUT").consumer() as consumer:
        found = [(message.data, dict(message.properties)) for group in consumer for message in group]
    assert found == [(b"poison", {"colour": "blue"})]
