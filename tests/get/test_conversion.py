"""``convert=``: the queue manager converts text, and what it cannot convert comes as it is (IBM MQ, "Conversion processing")."""

from __future__ import annotations

import struct

import pytest

from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups import codecs, errors
from mqgroups.mqi import constants as mq

EBCDIC = {"Format": mq.MQFMT_STRING, "CodedCharSetId": 500}


def got(owner, **settings):
    """Get everything; returns text or data, and CCSID, of each message."""
    with owner.consumer(**settings) as consumer:
        messages = [message for group in consumer for message in group]
    return [(one.text if one.format == "MQSTR" else one.data, one.ccsid) for one in messages]


def rfh2(folder: bytes, ccsid: int) -> bytes:
    folder += b" " * (-len(folder) % 4)
    fixed = struct.pack("<4i8s3i", 2, 40 + len(folder), 546, ccsid, b"MQSTR   ", 0, 1208, len(folder))
    return b"RFH " + fixed + folder


@table(
    ("convert", "expected"),
    [(False, 500), (True, 1208), (850, 850), (4711, 500)],
)
def test_text_comes_in_the_ccsid_that_is_asked_for_and_other_data_as_it_is(owner, convert, expected):
    owner.put_raw("Grüße".encode("cp500"), **EBCDIC)
    owner.put_raw(b"\xff\x00", Format=mq.MQFMT_NONE, CodedCharSetId=819)
    assert got(owner, convert=convert) == [("Grüße", expected), (b"\xff\x00", 819)]


@table(
    ("data", "described"),
    [
        (b"a\0b", {"Format": mq.MQFMT_STRING, "CodedCharSetId": 1200}),  # 2119: an odd length
        (b"\x0e\x45\x62\x0f", {"Format": mq.MQFMT_STRING, "CodedCharSetId": 930}),  # 2111
        (b"\x01", {"Format": b"MYFMT   ", "CodedCharSetId": 500}),  # 2119: no such format
    ],
)
def test_a_warning_of_the_conversion_stops_no_consumer(owner, data, described):
    owner.put_raw(data, **described)
    with owner.consumer(convert=True) as consumer:
        for group in consumer:
            (message,) = group
            assert (message.data, message.ccsid) == (data, described["CodedCharSetId"])


@pytest.mark.embedded
@table("reason", [2110, 2111, 2112, 2113, 2114, 2115, 2116, 2117, 2118, 2119, 2120, 2150, 2190, 2272])
def test_each_warning_is_known(make_owner, reason):
    owner = make_owner()
    owner.put_group([b"1", b"2", b"3"])
    qmgr = owner.connect()

    def doctored(call):
        def get(hconn, hobj, md, gmo, length):
            answer = call(hconn, hobj, md, gmo, length)
            converts = struct.unpack_from("=i", gmo, 8)[0] & mq.MQGMO_CONVERT
            return (*answer[:4], mq.MQCC_WARNING, reason) if converts and answer[4] == mq.MQCC_OK else answer

        return get

    binding = qmgr._connection.binding
    owner.doctor(qmgr, MQGET=doctored(binding.MQGET))
    with owner.consumer(qmgr, convert=True) as consumer:
        assert [[message.data for message in group] for group in consumer] == [[b"1", b"2", b"3"]]


def test_what_grows_by_conversion_finds_room(owner):
    # The euro has one byte in EBCDIC and three in UTF-8; 3 MiB do not fit the first buffer.
    for length in (30_000, 60_000, 3_000_000):
        owner.put_raw(b"\x9f" * length, Format=mq.MQFMT_STRING, CodedCharSetId=1140)
    found = got(owner, convert=True)
    assert [(len(text), ccsid) for text, ccsid in found[:2]] == [(30_000, 1208), (60_000, 1208)]
    # The last one does not fit, comes unconverted (2120), and is decoded here.
    assert found[2] == ("€" * 3_000_000, 1140)


def test_text_behind_a_header_is_converted_and_its_properties_are_read(owner):
    data = rfh2(b"<usr><A>1</A></usr>", 500) + "Grüße".encode("cp500")
    owner.put_raw(data, Format=mq.MQFMT_RF_HEADER_2, CodedCharSetId=1208)
    owner.put_raw(data, Format=mq.MQFMT_RF_HEADER_2, CodedCharSetId=1208)
    for convert, ccsid in ((True, 1208), (37, 37)):
        with owner.consumer(convert=convert) as consumer:
            (message,) = next(iter(consumer))
            assert (message.text, message.ccsid, owner.own(message.properties)) == ("Grüße", ccsid, {"A": "1"})
            assert list(consumer) == [] if convert == 37 else True


def test_a_codec_gets_what_was_converted(owner):
    owner.put_raw('"ü"'.encode("cp500"), **EBCDIC)
    with owner.consumer(convert=True, codec=codecs.json) as consumer:
        assert [[message.value for message in group] for group in consumer] == [["ü"]]


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_lost_connection_messages_are_asked_for_in_the_same_form(owner, faults, when):
    texts = ["ä1", "ö2", "ü3", "ß4", "é5"]
    for number, text in enumerate(texts, 1):
        flags = mq.MQMF_LAST_MSG_IN_GROUP if number == 5 else mq.MQMF_MSG_IN_GROUP
        owner.put_raw(text.encode("cp500"), GroupId=b"G" * 24, MsgSeqNumber=number, MsgFlags=flags, **EBCDIC)
    qmgr = owner.connect(reconnect_wait_s=30)
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=2))
    with owner.consumer(qmgr, convert=850, commit_every=2) as consumer:
        found = [(one.data.decode("cp850"), one.ccsid) for group in consumer for one in group]
    assert found == [(text, 850) for text in texts]
    assert faults.faults_fired() == 1


def test_segments_are_not_converted_one_by_one(owner):
    with pytest.raises(errors.ConfigurationError, match=r"convert= cannot be combined with stream=True.*offsets"):
        owner.consumer(convert=True, stream=True)
    # Whole messages are: put together first.
    owner.put_group(["äöü€" * 100], segment_bytes=100)
    assert got(owner, convert=1200) == [("äöü€" * 100, 1200)]


def test_a_pipe_converts_too(owner, make_queue):
    owner.put_raw("Grüße".encode("cp500"), **EBCDIC)
    target = make_queue()
    settings = {"name": owner.name, "commit_every": 2, "owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0}
    with owner.qmgr.group_pipe(owner.queue, target, convert=True, **settings) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(message.data, format="MQSTR", ccsid=message.ccsid)
    assert got(owner, queue=target) == [("Grüße", 1208)]
