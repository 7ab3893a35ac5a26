"""A group that can never be completed is put aside by ``stalled="quarantine"``, and the consumer goes on."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from mqgroups.get.rest import RestOfGroup
from mqgroups.mqi import constants as mq

IN, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP
A, GOOD = b"A".ljust(24, b"\0"), b"GOOD".ljust(24, b"\0")


@pytest.fixture
def stalled(make_owner):
    """An owner whose queue has a backout queue, which is empty before and after."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    assert owner.on_queue("TEST.BACKOUT") == []
    yield owner
    owner.empty("TEST.BACKOUT")


def put(owner, *messages, group_id=A):
    """Put messages of a group: numbers, of which a negative one is the last."""
    for number in messages:
        owner.put_raw(
            b"%d" % abs(number),
            GroupId=group_id,
            MsgSeqNumber=abs(number),
            MsgFlags=LAST if number < 0 else IN,
            Persistence=1,
        )


def got(owner, **settings):
    """Get all groups; returns their data, and the errors, by the way."""
    seen: list[object] = []
    with owner.consumer(stalled="quarantine", **settings) as consumer:
        while True:
            try:
                for group in consumer:
                    for message in group:
                        seen.append(message.data)
                return seen
            except errors.GroupQuarantined as error:
                seen.append(error.msg_seq_number)


def moved(owner):
    """Return the numbers of the messages on the backout queue."""
    return [found.msg_seq_number for found in owner.on_queue("TEST.BACKOUT")]


# What a partner puts: what is got, with the number that did not arrive where it stalls; what is moved.
GROUPS = {
    "a gap": ([1, 3, -4], [b"1", 2], [3, 4]),
    "no end": ([1, 2], [b"1", b"2", 3], []),
    "affinity, numbers all 1": ([1, 1], [b"1", 2, b"1", 2], []),
    "doubled beginning": ([1, 1, -2], [b"1", b"2", b"1", 2], []),
    "doubled behind the gap": ([1, 3, 3, -4], [b"1", 2], [3, 3, 4]),
    "the beginning of a second group of the id behind it": ([1, 3, 1], [b"1", 2, b"1", 2], [3]),
}


@pytest.mark.parametrize("name", GROUPS)
def test_the_rest_goes_to_the_backout_queue_and_the_next_group_comes(stalled, name):
    messages, seen, aside = GROUPS[name]
    put(stalled, *messages)
    put(stalled, 1, -2, group_id=GOOD)
    assert got(stalled) == [*seen, b"1", b"2"]
    assert moved(stalled) == aside
    assert stalled.records("get") == []


@pytest.mark.parametrize("messages", [(1, 3, -4), (1, 2), (1,)])
def test_its_end_is_told_as_progress_whether_a_message_is_left_to_move_or_not(stalled, messages):
    put(stalled, *messages)
    told = []
    got(stalled, on_progress=lambda progress: told.append((progress.group_id, progress.group_ended)), commit_every=1)
    assert told[-1] == (A, True)
    assert [ended for _, ended in told].count(True) == 1


def test_segments_of_a_message_that_is_not_whole_go_there_one_by_one(stalled):
    put(stalled, 1)
    for number, offset, flags in (
        (2, 0, IN | mq.MQMF_SEGMENT),
        (3, 0, IN | mq.MQMF_SEGMENT),
        (3, 2, IN | mq.MQMF_LAST_SEGMENT),
    ):
        stalled.put_raw(b"ab", GroupId=A, MsgSeqNumber=number, MsgFlags=flags, Offset=offset, Persistence=1)
    assert got(stalled) == [b"1", 2]
    there = [(found.msg_seq_number, found.md.Offset, found.msg_flags) for found in stalled.on_queue("TEST.BACKOUT")]
    segment = IN | mq.MQMF_SEGMENT
    assert there == [(2, 0, segment), (3, 0, segment), (3, 2, segment | mq.MQMF_LAST_SEGMENT)]


@pytest.fixture
def at_look(monkeypatch):
    """A list of functions that are called after the first look at the rest of a group, the second one, and so on."""
    functions: list[Any] = []
    look = RestOfGroup.is_unchanged

    def looked(rest, position):
        unchanged = look(rest, position)
        if functions:
            functions.pop(0)()
        return unchanged

    monkeypatch.setattr(RestOfGroup, "is_unchanged", looked)
    return functions


def test_a_message_that_comes_after_the_first_look_is_got(stalled, at_look):
    put(stalled, 1, -3)
    at_look.append(lambda: put(stalled, 2))
    assert got(stalled) == [b"1", b"2", b"3"]
    assert moved(stalled) == []


def test_a_group_that_still_changes_is_looked_at_again(stalled, at_look):
    put(stalled, 1, 3)
    at_look[:] = [lambda: put(stalled, 4), lambda: put(stalled, 2)]
    assert got(stalled) == [b"1", b"2", b"3", b"4", 5]
    assert (moved(stalled), at_look) == ([], [])


def test_a_message_of_the_rest_that_is_taken_after_the_look_ends_it_without_a_commit(stalled, at_look):
    put(stalled, 1, 3, -4)
    at_look[:] = [lambda: None, stalled.empty]
    with stalled.consumer(stalled="quarantine") as consumer:
        group = next(iter(consumer))
        with pytest.raises(errors.GroupStalled, match="message 2 of group"):
            list(group)
        assert (moved(stalled), stalled.record("get")["msg_seq_number"]) == ([], 1)


@pytest.mark.parametrize(
    ("every", "commits"), [(100, [(False, 1), (True, 1)]), (2, [(False, 1), (False, 1), (False, 1), (True, 1)])]
)
def test_the_rest_is_moved_in_one_unit_of_work_or_in_those_that_commit_every_asks_for(stalled, every, commits):
    put(stalled, 1, 3, 4, 5, 6, -7)
    seen = []
    with stalled.consumer(stalled="quarantine", commit_every=every) as consumer:
        group = next(iter(consumer))
        consumer.before_commit(lambda group: seen.append((group.ends, consumer._getter.cursor.position.msg_seq_number)))
        with pytest.raises(errors.GroupQuarantined) as caught:
            list(group)
    assert (seen, group.quarantined, group.has_ended) == (commits, caught.value, True)
    assert moved(stalled) == [3, 4, 5, 6, 7]
    error = caught.value
    assert (error.msg_seq_number, error.backout_queue) == (2, "TEST.BACKOUT")
    assert error.reason == "message 2 did not arrive within 0 s"
    assert "was moved to TEST.BACKOUT as far as it had come, because message 2 did not arrive" in str(error)
    assert "JMSXGroupID" in str(error)


def test_what_is_interrupted_between_two_units_of_work_goes_on_in_the_next_start(stalled):
    put(stalled, 1, 3, 4, 5, 6, -7)
    with stalled.consumer(stalled="quarantine") as consumer, pytest.raises(ZeroDivisionError):
        consumer.before_commit(lambda _: 1 // len(stalled.data()[4:]))
        for group in consumer:
            list(group)
    assert (moved(stalled), stalled.record("get")["quarantine"]) == ([3, 4], True)
    with stalled.consumer() as consumer, pytest.raises(errors.GroupStalled):
        list(next(iter(consumer)))
    put(stalled, 2)
    put(stalled, 1, -2, group_id=GOOD)
    assert got(stalled) == [3, b"1", b"2"]
    assert moved(stalled) == [3, 4, 2, 5, 6, 7]


def test_halt_says_the_usual_causes_and_the_other_policy(stalled):
    put(stalled, 1)
    with stalled.consumer() as consumer, pytest.raises(errors.GroupStalled) as caught:
        list(next(iter(consumer)))
    for said in ("JMSXGroupID", "expired", "NPMSPEED(FAST)", "stalled='quarantine'"):
        assert said in str(caught.value)


def test_a_backout_queue_is_needed_at_the_start(make_owner):
    with pytest.raises(errors.ConfigurationError, match="no BOQNAME, so the rest of a group"):
        make_owner().consumer(stalled="quarantine")


def test_the_file_of_such_a_group_is_none(stalled, tmp_path):
    put(stalled, 1, 3)
    with stalled.consumer(stalled="quarantine") as consumer:
        sink = mqgroups.FileSink(tmp_path, consumer)
        group = next(iter(consumer))
        with pytest.raises(errors.GroupQuarantined), sink.file(group) as file:
            for message in group:
                file.write(message.data)
    assert [path for path in tmp_path.iterdir() if path.suffix != ".part"] == []


def test_a_pipe_abandons_what_it_has_made_of_it(stalled, make_owner):
    target = make_owner()
    put(stalled, 1, 2, 4)
    settings = {"name": stalled.name, "commit_every": 2, "wait_s": 0, "group_wait_s": 0, "stalled": "quarantine"}
    with stalled.qmgr.group_pipe(stalled.queue, target.queue, **settings) as pipe:
        incoming, outgoing = next(iter(pipe))
        with pytest.raises(errors.GroupQuarantined):
            for message in incoming:
                outgoing.put(message.data)
    assert moved(stalled) == [4]
    with target.consumer() as consumer, pytest.raises(errors.GroupAbandoned):
        list(next(iter(consumer)))


class Refusing:
    """A codec that decodes nothing."""

    @staticmethod
    def encode(value: bytes) -> bytes:
        return value

    @staticmethod
    def decode(data: bytes) -> bytes:  # noqa: ARG004 - it does not matter
        raise errors.NotDecoded("no")


def test_the_rest_of_a_group_with_poison_is_moved_too_when_a_message_of_it_does_not_come(stalled):
    put(stalled, 1, 3, -4)
    with stalled.consumer(stalled="quarantine", poison="quarantine", codec=Refusing) as consumer:
        with pytest.raises(errors.GroupQuarantined, match="because message 2 did not arrive"):
            list(next(iter(consumer)))
        assert list(consumer) == []
    assert moved(stalled) == [1, 3, 4]


@pytest.mark.embedded
@pytest.mark.parametrize("why", ["poison", "stalled"])
def test_what_is_moved_fits_maxumsgs(make_owner, own_queue_manager, tmp_path, why):
    """Each message is got and put; of the 20, two are for the status record."""
    mqsc = tmp_path / "few.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(20)\nDEFINE QLOCAL(B)\nDEFINE QLOCAL(Q) BOTHRESH(1) BOQNAME(B)")
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "Q")
    numbers = [each for each in range(1, 40) if (why, each) != ("stalled", 2)]
    put(owner, *numbers, -40)
    settings = {"codec": Refusing} if why == "poison" else {}
    consumer = owner.consumer(commit_every=1000, **{why: "quarantine"}, **settings)
    with consumer, pytest.raises(errors.GroupQuarantined):
        list(next(iter(consumer)))
    assert (len(owner.data("B")), owner.data()) == (40 if why == "poison" else 38, [])


@pytest.mark.embedded
@pytest.mark.parametrize("nth", range(6, 14))
def test_a_refused_check_of_the_commit_that_ends_the_group_does_not_hide_the_groups_behind_it(
    stalled, mq, binding, faults, nth
):
    """On a wrapped connection the commit is known to have taken effect only later, and the handle is the same."""
    put(stalled, 1, 3, -4)
    put(stalled, 1, -2, group_id=GOOD)
    q_mgr = mq.connect(binding)
    seen: list[object] = []
    with mqgroups.wrap(q_mgr) as qmgr, stalled.consumer(qmgr, stalled="quarantine", commit_every=1) as consumer:
        faults.arm(Fault("answer", verb="MQGET", nth=nth, reason=2071))
        for _ in range(4):
            with contextlib.suppress(errors.GroupQuarantined, errors.MQIError):
                seen += [message.data for group in consumer for message in group]
    q_mgr.disconnect()
    assert stalled.on_queue() == []
    assert moved(stalled) == [3, 4]
