"""Putting groups across units of work: what is on the queue, and what it costs."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import gc
import io
import json
import warnings
from typing import Any

import pytest

from mqgroups import Every, GroupProducer, Persistence, errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.fix_groups import is_anchor
from tests.put.whole_groups import THIS, is_whole_group, put_rest

# --- what is put


@pytest.mark.parametrize("messages", [1, 2, 7])
def test_a_group_is_messages_1_to_n_of_one_group_id_with_the_last_one_marked(owner, messages):
    owner.put_group(THIS[:messages])
    found = owner.on_queue()
    assert is_whole_group(found, THIS[:messages])
    assert all(message.msg_flags & mq.MQMF_MSG_IN_GROUP for message in found)
    assert {message.md.Persistence for message in found} == {mq.MQPER_PERSISTENT}
    assert owner.records("put") == []


def test_groups_one_after_the_other_have_group_ids_of_their_own(owner):
    with owner.producer() as producer:
        for _ in range(2):
            assert put_rest(producer, THIS[:3]) == 0
    found = owner.on_queue()
    assert is_whole_group(found[:3], THIS[:3])
    assert is_whole_group(found[3:], THIS[:3])
    assert found[0].group_id != found[3].group_id


def test_str_goes_as_utf_8_text_and_bytes_as_they_are(owner):
    owner.put_group(["größer", b"\x00\xff", "", b""])
    found = owner.on_queue()
    assert [message.data for message in found] == ["größer".encode(), b"\x00\xff", b"", b""]
    assert [message.md.Format for message in found] == [mq.MQFMT_STRING, mq.MQFMT_NONE, mq.MQFMT_STRING, mq.MQFMT_NONE]
    assert [found[0].md.CodedCharSetId, found[2].md.CodedCharSetId] == [1208, 1208]


def test_text_is_encoded_in_its_ccsid_and_bytes_are_labelled_with_what_they_are(owner):
    native = "utf-16-le" if mq.MQENC_NATIVE & 0xF == 2 else "utf-16-be"
    with owner.producer(commit_every=10) as producer, producer.group() as group:
        group.put("größer", ccsid=500)
        group.put("[", ccsid=1047, format="MYFMT")
        group.put("ä", ccsid=1200)
        group.put(b"\xc8", format="MQSTR", ccsid=37)
        group.put("ä".encode(), format="MQSTR")
        group.put(b"\xff", ccsid=930)
        group.put("ä", ccsid=819)
        group.put(iter([b"\xc8"]), format="MQSTR", ccsid=37, last=True)
    assert [(each.data, each.md.Format.rstrip(), each.md.CodedCharSetId) for each in owner.on_queue()] == [
        ("größer".encode("cp500"), b"MQSTR", 500),
        (b"\xad", b"MYFMT", 1047),
        ("ä".encode(native), b"MQSTR", 1200),
        (b"\xc8", b"MQSTR", 37),
        (b"\xc3\xa4", b"MQSTR", 1208),
        (b"\xff", b"", 930),
        (b"\xe4", b"MQSTR", 819),
        (b"\xc8", b"MQSTR", 37),
    ]


def test_format_and_correl_id_are_of_the_message_they_were_given_with(owner):
    with owner.producer(commit_every=10) as producer, producer.group() as group:
        group.put(b"plain")
        group.put(b"both", format="MYFMT", correl_id=b"C" * 24)
        group.put("text", format="MYFMT")
        group.put("plain text")
        group.put(b"last", correl_id=b"D" * 24)
    assert [(message.md.Format.rstrip(), message.md.CorrelId) for message in owner.on_queue()] == [
        (b"", bytes(24)),
        (b"MYFMT", b"C" * 24),
        (b"MYFMT", bytes(24)),
        (b"MQSTR", bytes(24)),
        (b"", b"D" * 24),
    ]


class Odd:
    """An object of a program's own."""


class Array:
    """What iterates over numbers, and has bytes: arrays of numpy and others."""

    def __iter__(self):
        return iter([1, 2])

    def tobytes(self):
        return b"12"


ENCODE = r"Encode it first, e.g. json.dumps\(payload\)"


def test_what_cannot_be_a_message_is_refused_and_the_group_goes_on(owner):
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (None, {}, r'got None. For a message without data put b""'),
        (3, {}, f"got int. {ENCODE}"),
        (1.5, {}, f"got float. {ENCODE}"),
        ({"a": 1}, {}, f"got dict. {ENCODE}"),
        ({b"a"}, {"last": False}, f"got set. {ENCODE}"),
        (["a"], {"last": False}, f"so all its items must be bytes, but it has str in it. {ENCODE}"),
        ([b"a", None], {"last": False}, f"so all its items must be bytes, but it has None in it. {ENCODE}"),
        (
            (1, 2),
            {"last": False},
            f"a tuple is put as a stream, so all its items must be bytes, but it has int in it. {ENCODE}",
        ),
        (range(3), {"last": False}, "a range is put as a stream, so all its items must be bytes, but it has int in it"),
        ([b"a"], {}, "a stream needs last=True or last=False: whether it is the group's last"),
        (Array(), {"last": False}, r"got Array. Put its bytes, e.g. payload.tobytes\(\)"),
        (Odd(), {}, "got Odd. Encode it first"),
        (io.StringIO("3"), {"last": False}, "a text file. Open it in binary mode"),
        ("3\ud800", {}, "half of a surrogate pair at position 1"),
        (b"3", {"format": "LONGER.THAN.8"}, "longer than 8 characters"),
        (b"3", {"format": b"BYTES"}, "format must be a str"),
        (b"3", {"format": "ÄÖ"}, "8 ASCII characters"),
        (b"3\xe4", {"format": "MQSTR"}, "byte at position 1 is not UTF-8, but .* Give their CCSID with ccsid="),
        (iter([b"3"]), {"format": "MQSTR", "last": False}, "a stream of format MQSTR needs ccsid="),
        ("3€", {"ccsid": 819}, "the character at position 1 of the text is not in CCSID 819"),
        ("3", {"ccsid": 930}, "there is no code page for CCSID 930 here. Put bytes"),
        ("3", {"ccsid": 0}, "ccsid must be a CCSID, a number other than 0, got 0"),
        ("3", {"ccsid": "37"}, "ccsid must be a CCSID, a number other than 0, got '37'"),
        (b"3", {"correl_id": b"short"}, "correl_id has 5 bytes; it must have 24"),
        (b"3", {"correl_id": "C" * 24}, "correl_id must be bytes, got str"),
    ]
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
        for payload, more, sentence in refused:
            with pytest.raises(errors.ApplicationError, match=sentence):
                group.put(payload, **more)
        group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0", b"1"])


def test_a_bytearray_and_a_memoryview_are_taken_as_they_are_when_they_are_put(owner):
    first, second = bytearray(b"first"), bytearray(b"second")
    with owner.producer() as producer, producer.group() as group:
        group.put(first)
        first[:] = b"other"
        group.put(memoryview(second)[1:])
        second[:] = b"others"
        group.put(iter([bytearray(b"a"), memoryview(b"stream")]), last=False)
        group.put(type("Text", (str,), {})("text"))
    assert [found.data for found in owner.on_queue()] == [b"first", b"econd", b"astream", b"text"]


def test_persistence_and_priority_are_the_producers(owner):
    owner.put_group(THIS[:3], persistence=Persistence.NOT_PERSISTENT, priority=7)
    assert {(found.md.Persistence, found.md.Priority) for found in owner.on_queue()} == {(mq.MQPER_NOT_PERSISTENT, 7)}


def test_a_resumed_group_keeps_its_persistence_whatever_the_settings_say_now(owner):
    owner.interrupt_put(THIS[:4], persistence=Persistence.NOT_PERSISTENT)
    with owner.producer(persistence=Persistence.PERSISTENT) as producer:
        put_rest(producer, THIS[:5])
        with producer.group() as group:
            group.put(b"next")
    found = owner.on_queue()
    assert is_whole_group(found[:5], THIS[:5])
    assert [message.md.Persistence for message in found] == [mq.MQPER_NOT_PERSISTENT] * 5 + [mq.MQPER_PERSISTENT]


def test_a_priority_that_mq_does_not_have_is_refused(owner):
    for priority in (-1, 10):
        with pytest.raises(errors.ConfigurationError, match="priority must be a whole number, 0 to 9"):
            owner.producer(priority=priority)


# --- when, and at what price


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("messages", "every", "units", "asked"),
    [(1, 5, 1, 0), (2, 5, 1, 0), (5, 5, 1, 1), (6, 5, 2, 1), (3, 1, 3, 0)],
)
@pytest.mark.parametrize("response", ["sync", "async"])
def test_n_messages_in_u_units_of_work_are_n_plus_3u_calls(owner, count_calls, messages, every, units, asked, response):
    """IBM's N + 3U - 2 and two more: a record of the owner's own is there before the first commit and after the last.

    One more for a unit of work with a message whose put was not answered.
    """
    mqstat = {"MQSTAT": asked} if asked and response == "async" else {}
    with owner.producer(commit_every=every, put_response=response) as producer:
        for _ in range(2):
            count_calls()
            put_rest(producer, THIS[:messages])
            assert count_calls() == {"MQPUT": messages + units, "MQGET": units, "MQCMIT": units, **mqstat}


def test_a_message_is_held_back_until_the_next_one_or_the_end_of_the_block(owner):
    with owner.producer(commit_every=1) as producer:
        with producer.group() as group:
            group.put(b"0")
            assert owner.data() == []
            group.put(b"1")
            assert owner.data() == [b"0"]
            group.put(b"2")
            assert owner.data() == [b"0", b"1"]
        assert is_whole_group(owner.on_queue(), [b"0", b"1", b"2"])


def test_a_unit_of_work_ends_at_the_message_that_reaches_its_bytes(owner):
    visible = []
    with owner.producer(commit_every=Every(bytes=10)) as producer, producer.group() as group:
        for length in (4, 5, 1, 10, 11, 3, 3, 3, 3):
            group.put(b"x" * length)
            visible.append(len(owner.on_queue()))
    #                   4  5  1  10 11 3  3  3  3: put when the next one comes
    assert visible == [0, 0, 0, 3, 4, 5, 5, 5, 5]
    assert len(owner.on_queue()) == 9


def test_a_unit_of_work_ends_by_its_age_at_the_next_message(owner, clock):
    with owner.producer(commit_every=Every(seconds=5)) as producer, producer.group() as group:
        group.put(b"0")
        clock.now_s += 100  # nothing is put yet, so no unit of work grows old
        group.put(b"1")
        assert owner.data() == []
        clock.now_s += 4.9
        group.put(b"2")
        assert owner.data() == []
        clock.now_s += 0.1
        group.put(b"3")
        assert owner.data() == [b"0", b"1", b"2"]
        clock.now_s += 4.9
        group.put(b"4")
        assert owner.data() == [b"0", b"1", b"2"]
    assert is_whole_group(owner.on_queue(), THIS[:5])


def test_a_number_of_messages_has_an_age_limit_of_a_minute_too(owner, clock):
    """An old unit of work keeps a log extent, and the queue manager may back it out (2003; IBM MQ, topic q040770)."""
    with owner.producer(commit_every=1000) as producer, producer.group() as group:
        for data in (b"0", b"1"):
            group.put(data)
        clock.now_s += 59.9
        group.put(b"2")
        assert owner.data() == []
        clock.now_s += 0.1
        group.put(b"3")
        assert owner.data() == [b"0", b"1", b"2"]


def test_messages_bytes_and_seconds_together_end_it_by_what_comes_first(owner, clock):
    with owner.producer(commit_every=Every(messages=3, bytes=10, seconds=5)) as producer, producer.group() as group:
        for data in (b"0", b"1", b"2", b"0123456789", b"4"):
            group.put(data)
        assert len(owner.data()) == 4  # three messages; ten bytes
        clock.now_s += 5
        group.put(b"5")
        assert len(owner.data()) == 4
        clock.now_s += 5
        group.put(b"6")
        assert len(owner.data()) == 6  # b"4" and b"5", five seconds after b"4"


@pytest.mark.embedded
def test_a_unit_of_work_never_exceeds_maxumsgs(make_owner, own_queue_manager, tmp_path):
    mqsc = tmp_path / "more.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(5)\nDEFINE QLOCAL(Q)")
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "Q")
    seen = []
    with owner.producer(commit_every=1000) as producer, producer.group() as group:
        for number in range(8):
            group.put(b"%d" % number)
            seen.append(len(owner.on_queue()))
    # Two of the five are the status record's.
    assert seen == [0, 0, 0, 3, 3, 3, 6, 6]
    assert owner.get_groups(commit_every=1000) == [[b"%d" % number for number in range(8)]]


@pytest.mark.embedded
def test_a_maxumsgs_without_room_for_a_message_is_refused(make_owner, own_queue_manager, tmp_path):
    mqsc = tmp_path / "more.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(2)\nDEFINE QLOCAL(Q)")
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "Q")
    with pytest.raises(errors.ConfigurationError, match="MAXUMSGS is 2"):
        owner.producer()


# --- groups that are none, and calls at the wrong moment


@pytest.mark.embedded
def test_an_empty_group_is_refused_with_nothing_put(owner, count_calls):
    with owner.producer() as producer:
        count_calls()
        with pytest.raises(errors.EmptyGroup, match="no message, so nothing was put"), producer.group():
            pass
        assert count_calls() == {}
        with producer.group() as group:
            group.put(b"0")
    assert is_whole_group(owner.on_queue(), [b"0"])


def test_a_resumed_group_with_nothing_more_is_refused_and_stays_resumable(owner):
    owner.interrupt_put(THIS[:6])
    with owner.producer() as producer:
        for _ in range(2):
            with pytest.raises(errors.EmptyGroup, match="resumed after 4 messages"), producer.group() as group:
                assert group.resume_from == 4
    assert owner.record("put")["msg_seq_number"] == 4
    with owner.producer() as producer, producer.group() as group:
        assert group.resume_from == 4
        group.put(b"4")
    assert is_whole_group(owner.on_queue(), THIS[:5])


def test_a_second_group_before_the_first_one_has_ended_is_refused(owner):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
        with pytest.raises(errors.GroupUsage, match="the last group has not ended, so its"):
            producer.group()
        group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0", b"1"])


def test_a_producer_that_is_left_before_its_group_has_ended_says_so_and_the_group_can_be_resumed(owner):
    with pytest.raises(errors.GroupUsage, match="the last group has not ended, so its"), owner.producer() as producer:
        group = producer.group()
        for data in THIS[:5]:
            group.put(data)
    with owner.producer() as producer:
        put_rest(producer)
    assert is_whole_group(owner.on_queue(), THIS)


def test_a_group_that_nothing_was_asked_of_gives_way_to_the_next_one(owner):
    with owner.producer() as producer:
        before = producer.group()
        with producer.group() as group:
            group.put(b"0")
            with pytest.raises(errors.GroupUsage, match="this group has ended"):
                before.put(b"other")
            group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0", b"1"])


def test_a_group_that_has_ended_takes_no_more(owner):
    with owner.producer() as producer:
        with producer.group() as group:
            group.put(b"0")
        with pytest.raises(errors.GroupUsage, match=r"Call producer\.group\(\) for the next one"):
            group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0"])


def test_a_closed_producer_gives_no_groups(owner):
    producer = owner.producer()
    producer.close()
    producer.close()
    with pytest.raises(errors.GroupUsage, match="closed"):
        producer.group()


def test_a_failure_that_was_swallowed_is_raised_again_at_the_end_of_the_block(make_owner):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer(commit_every=5, put_response="sync") as producer:
        with pytest.raises(errors.GroupUsage, match="failed with MessageTooLong"), producer.group() as group:
            group.put(b"0")
            group.put(b"longer than ten")
            with pytest.raises(errors.MessageTooLong):
                group.put(b"2")
            with pytest.raises(errors.GroupUsage, match="Leave its with block"):
                group.put(b"3")
        assert owner.data() == []
        with producer.group() as group:
            assert group.resume_from == 0
            group.put(b"0")
    assert is_whole_group(owner.on_queue(), [b"0"])


# --- the end of a status queue, and what one sees


def test_the_status_queue_is_deleted_on_request(owner):
    producer = owner.producer()
    with producer.group() as group:
        group.set_checkpoint("done")
        group.put(b"0")
    with pytest.raises(errors.GroupUsage, match="a checkpoint"):
        producer.delete_status_queue()
    producer.forget()
    producer.delete_status_queue()
    assert owner.eye.open(owner.status_queue("put"), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert owner.data() == [b"0"]


def test_the_status_queue_of_an_interrupted_group_is_not_deleted(owner):
    owner.interrupt_put(THIS[:4])
    with owner.producer() as producer:
        with pytest.raises(errors.GroupUsage, match="interrupted group"):
            producer.delete_status_queue()
        with producer.group() as group:
            group.put(b"2")
            with pytest.raises(errors.GroupUsage, match="group"):
                producer.delete_status_queue()
    assert owner.records("put") == []


def left_open(begin):
    """Return what is warned of when what ``begin`` has begun is collected."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        begin()
        gc.collect()
    return [str(warning.message) for warning in caught if "GroupProducer" in str(warning.message)]


def test_what_nobody_closed_or_ended_is_told_by_the_log_and_as_a_warning(owner, caplog):
    def begin():
        producer.append(owner.producer(owner.connect()))
        producer[0].group().put(b"0")
        producer[0]._group = None

    producer: list[GroupProducer] = []
    (group,) = left_open(begin)
    assert group.startswith("<OutgoingGroup resume_from=0 open of <GroupProducer ")
    assert "Use `with producer.group() as group`" in group
    (closed,) = left_open(producer.clear)
    assert closed.startswith(f"<GroupProducer {owner.queue} name={owner.name} ")
    assert "was not closed. Use it in a with statement, or call close()" in closed
    assert {("WARNING", group), ("WARNING", closed)} <= {(each.levelname, each.getMessage()) for each in caplog.records}


def test_a_group_that_is_left_open_when_its_producer_is_closed_is_told_by_the_log(owner, caplog):
    producer = owner.producer(commit_every=2)
    group = producer.group()
    for data in THIS[:3]:
        group.put(data)
    producer.close()
    (told,) = (each for each in caplog.records if "is closed before its group has ended" in each.getMessage())
    assert (told.levelname, getattr(told, "messaging.ibmmq.msg_seq_number")) == ("WARNING", 2)
    assert owner.data() == THIS[:2]
    caplog.clear()
    with owner.producer() as producer, producer.group() as group:
        for data in THIS[group.resume_from :]:
            group.put(data)
    producer.close()
    assert "is closed before" not in caplog.text


def test_a_group_that_has_failed_was_told_already(owner):
    def begin():
        q_mgr = owner.connect()
        with owner.producer(q_mgr) as producer:
            group = producer.group()
            group.put(b"0")
            connection = connection_of(q_mgr)
            connection.binding.MQDISC(connection.hconn)
            with pytest.raises(errors.ConnectionBroken):
                group.put(b"1")

    assert left_open(begin) == []


def test_what_was_closed_and_ended_is_no_warning(owner):
    def begin():
        owner.put_group(THIS)
        producer = owner.producer()
        producer.group().put(b"0")
        producer.close()

    assert left_open(begin) == []


def test_repr_shows_queue_name_group_and_position(owner):
    with owner.producer() as producer:
        assert repr(producer) == f"<GroupProducer {owner.queue} name={owner.name} group=none seq=0 uow=1 open>"
        with producer.group() as group:
            assert repr(group) == f"<OutgoingGroup resume_from=0 open of {producer!r}>"
            for data in THIS[:4]:
                group.put(data)
            group_id = owner.on_queue()[0].group_id.hex()
            assert repr(producer) == (
                f"<GroupProducer {owner.queue} name={owner.name} group={group_id} seq=3 uow=2 open>"
            )
        assert repr(group).startswith("<OutgoingGroup resume_from=0 ended of")
    assert repr(producer) == f"<GroupProducer {owner.queue} name={owner.name} group=none seq=0 uow=1 closed>"


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_given_status_queue_is_used(owner, make_queue, role):
    status_queue = make_queue()
    if role == "put":
        with owner.producer(status_queue=status_queue) as producer, producer.group() as group:
            for data in THIS[:3]:
                group.put(data)
            found = owner.on_queue(status_queue)
    else:
        owner.put_raw_group(THIS[:3])
        with owner.consumer(status_queue=status_queue) as consumer:
            for got in consumer:
                for message in got:
                    if message.msg_seq_number == 3:
                        found = owner.on_queue(status_queue)
    (record,) = (json.loads(each.data) for each in found if not is_anchor(each.data))
    assert (record["role"], record["msg_seq_number"]) == (role, 2)
    assert owner.on_queue(status_queue) == []
    assert owner.eye.open(owner.status_queue(role), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
