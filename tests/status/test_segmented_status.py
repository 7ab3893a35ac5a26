"""Status records as segments of one message: cheaper, bounded, and as safe.

IBM MQ, "Putting and getting a group that spans units of work", the note.
"""

from __future__ import annotations

import pytest

from mqgroups import errors
from mqgroups.core.status import decode, encode
from mqgroups.core.status_chain import MOST_SEGMENTS
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS


def put_groups(producer, groups, messages):
    for _ in range(groups):
        with producer.group() as group:
            for number in range(messages):
                group.put(b"%d" % number)


@pytest.mark.embedded
@pytest.mark.parametrize(("messages", "every", "units"), [(1, 5, 1), (6, 5, 2), (7, 2, 4), (10, 1, 10)])
def test_n_messages_in_u_units_of_work_are_n_plus_2u_calls(owner, count_calls, messages, every, units):
    with owner.producer(commit_every=every, status_layout="segmented", put_response="sync") as producer:
        count_calls()
        put_groups(producer, 1, messages)
        assert count_calls() == {"MQPUT": messages + units, "MQCMIT": units}
    assert owner.records("put") == []


def test_chains_are_ended_and_taken_and_never_grow_beyond_their_bound(owner):
    most = 0
    with owner.producer(commit_every=1, status_layout="segmented") as producer:
        for _ in range(2 * MOST_SEGMENTS + 1):
            put_groups(producer, 1, 1)
            found = owner.records("put")
            assert decode(found[-1]).unit_of_work == producer._putter.owner.own.number - 1
            most = max(most, len(found))
    assert most == MOST_SEGMENTS
    assert owner.records("put") == []


def test_a_long_checkpoint_ends_its_chain_early(owner):
    with owner.producer(commit_every=1, status_layout="segmented") as producer, producer.group() as group:
        for _ in range(10):
            group.set_checkpoint(b"c" * 100_000)
            group.put(b"x")
            assert sum(map(len, owner.records("put"))) < 1_000_000
    assert owner.record("put")["state"] == "completed"
    with owner.producer(status_layout="segmented") as producer:
        producer.forget()
    assert owner.records("put") == []


@pytest.mark.parametrize("first", ["classic", "segmented"])
@pytest.mark.parametrize("second", ["classic", "segmented"])
def test_a_name_can_change_from_one_to_the_other_in_the_middle_of_a_group(owner, first, second):
    owner.interrupt_put(THIS[:6], status_layout=first)
    assert len(owner.records("put")) == (3 if first == "segmented" else 1)
    assert owner.resume_put(THIS, owner_wait_s=30, status_layout=second) == 4
    assert owner.data() == THIS
    assert owner.records("put") == []


def test_a_consumer_resumes_from_the_last_segment(owner):
    owner.interrupt_get(status_layout="segmented", of=THIS)
    assert [decode(data).msg_seq_number for data in owner.records("get")] == [0, 2, 4]
    with owner.consumer(owner_wait_s=30, status_layout="segmented") as consumer:
        group = next(iter(consumer))
        assert (group.resume_from, [message.data for message in group]) == (4, THIS[4:])
    assert owner.data() == owner.records("get") == []


def put_segments(owner, *segments):
    """Put status messages by hand: (data, offset, flags), all of one group identifier."""
    owner.producer().close()  # makes the queue
    for data, offset, flags in segments:
        owner.put_raw(data, owner.status_queue("put"), GroupId=b"G" * 24, Offset=offset, MsgFlags=flags)


@pytest.fixture
def record(owner):
    """A status record of the owner's, as bytes."""
    owner.interrupt_put(THIS[:4])
    taken = owner.take_record("put")
    owner.empty(owner.status_queue("put"))
    return taken


def test_an_ended_chain_is_resumed_as_well(owner, record):
    later = encode(decode(record))
    put_segments(owner, (record, 0, mq.MQMF_SEGMENT), (later, len(record), mq.MQMF_LAST_SEGMENT))
    assert owner.resume_put(THIS) == 2
    assert owner.records("put") == []
    assert owner.data() == THIS


@pytest.mark.embedded
def test_on_zos_segments_are_refused_by_name(make_owner, own_queue_manager):
    owner = make_owner(own_queue_manager("QMZ", platform="zos", mqsc=[]), "ORDERS")
    qmgr = owner.connect()
    with pytest.raises(errors.ConfigurationError, match="it is on z/OS, which does not support segments"):
        owner.producer(qmgr, status_layout="segmented")


def test_any_other_word_for_status_is_refused(owner):
    with pytest.raises(errors.ConfigurationError, match="must be 'classic' or 'segmented', got 'segments'"):
        owner.producer(status_layout="segments")
