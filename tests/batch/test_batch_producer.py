"""Attempts at parts of a batch: each group is put once, whoever puts it; who was replaced cannot commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from embedded_tests.fix_mqi import OK
from mqgroups import errors
from mqgroups.batch import shared_queue
from mqgroups.batch.errors import BatchRefused
from mqgroups.batch.producer import BatchMessage
from mqgroups.connection.holder import connection_of
from mqgroups.core.claim import Claim, Sink
from mqgroups.mqi import constants as mqi
from mqgroups.mqi import structures as st
from tests.fix_batches import messages

A5 = [b"A:1", b"A:2", b"A:3", b"A:4", b"A:5"]


class Died(Exception):
    """What ends an attempt in the middle of a group."""


def dying(key, number, after):
    """The messages of a group, up to where the attempt dies."""
    yield from messages(key, number)[:after]
    raise Died


def interrupt(attempt, key, number, after):
    with pytest.raises(Died):
        attempt.put_group(key, dying(key, number, after))


def test_groups_are_put_over_units_of_work_and_known_until_the_batch_is_completed(batches):
    attempt = batches.attempt()
    assert attempt.put_group("A", messages("A", 5)) == 5
    assert attempt.put_group("B", messages("B", 1)) == 1
    assert batches.groups() == {"A": A5, "B": [b"B:1"]}
    assert batches.kinds() == ["intent", "intent", "status", "status"]
    record = batches.status("A")
    assert (record["state"], record["msg_seq_number"], record["unit_of_work"], record["epoch"]) == (
        "completed",
        5,
        3,
        1,
    )
    batches.complete(0)
    assert batches.kinds() == ["high-water mark"]
    assert batches.groups() == {"A": A5, "B": [b"B:1"]}


def test_the_next_attempt_goes_on_after_the_last_commit(batches):
    interrupt(batches.attempt(), "A", 5, after=4)
    assert batches.depth() == 2  # one message is held back, one was in the open unit of work
    assert batches.attempt().put_group("A", messages("A", 5)) == 3
    assert batches.groups() == {"A": A5}
    assert batches.status("A")["epoch"] == 2


def test_the_same_attempt_puts_another_group_after_one_that_failed(batches):
    attempt = batches.attempt()
    interrupt(attempt, "A", 5, after=4)
    assert attempt.put_group("B", messages("B", 3)) == 3
    assert attempt.put_group("A", messages("A", 5)) == 3
    assert batches.groups() == {"A": A5, "B": [b"B:1", b"B:2", b"B:3"]}


def test_a_group_that_is_whole_is_not_put_again(batches):
    batches.attempt().put_group("A", messages("A", 5))
    assert batches.attempt(run="run-2").put_group("A", messages("A", 5)) == 0
    assert batches.groups() == {"A": A5}


def test_a_batch_that_is_completed_is_not_put_again(batches):
    batches.attempt().put_group("A", messages("A", 5))
    batches.complete(0)
    late = batches.attempt(run="run-2")
    assert late.completed()
    assert late.put_group("A", messages("A", 5)) == 0
    assert batches.groups() == {"A": A5}
    assert batches.kinds() == ["high-water mark"]


def test_the_next_batch_has_groups_of_its_own(batches):
    batches.attempt().put_group("A", messages("A", 2))
    batches.complete(0)
    following = batches.attempt(batch=1)
    assert not following.completed()
    assert following.put_group("B", messages("B", 2)) == 2
    batches.complete(1)
    assert batches.groups() == {"A": [b"A:1", b"A:2"], "B": [b"B:1", b"B:2"]}
    (mark,) = batches.records()
    assert mark["checkpoint"]["json"]["batch"] == 1


def test_an_attempt_that_was_replaced_is_fenced_and_commits_nothing(batches):
    zombie = batches.attempt()
    gave = []

    def paused():
        for number, message in enumerate(messages("A", 5), 1):
            gave.append(number)
            if number == 4:
                # It has committed two messages and put one more; now another attempt comes, and puts all that is missing.
                assert batches.attempt().put_group("A", messages("A", 5)) == 3
            yield message

    with pytest.raises(errors.OwnershipLost, match="End this attempt") as caught:
        zombie.put_group("A", paused())
    assert caught.value.because == "another-attempt"
    assert caught.value.name == f"{batches.sink}/0/A"
    assert caught.value.found[1] == 2
    assert caught.value.expected[1] == 1
    assert gave == [1, 2, 3, 4, 5]
    assert batches.groups() == {"A": A5}
    assert batches.depth() == 5


def test_an_attempt_whose_group_is_being_committed_by_another_waits_for_it(batches):
    """A status record that is in somebody's unit of work cannot be seen; the intent says that it is there."""
    first = batches.attempt()
    interrupt(first, "A", 5, after=4)
    eye = connection_of(batches.owner.connect())
    hidden = eye.open_queue(batches.status_queue, mqi.MQOO_INPUT_SHARED)
    claim = Claim(Sink(batches.sink, batches.queue, eye.q_mgr_identifier), 0, "A", "", "", 0)
    take = st.gmo(mqi.MQGMO_SYNCPOINT | mqi.MQGMO_NO_WAIT, match_options=mqi.MQMO_MATCH_CORREL_ID)
    assert hidden.get(st.md(correl_id=claim.status_id), take) is not None
    with pytest.raises(errors.OwnerActive, match=f"Waited 0 s for group {batches.sink}/0/A"):
        batches.attempt().put_group("A", messages("A", 5))
    eye.close()  # backs out
    assert batches.attempt().put_group("A", messages("A", 5)) == 3
    assert batches.groups() == {"A": A5}


def test_other_messages_for_an_interrupted_group_are_refused(batches):
    interrupt(batches.attempt(), "A", 5, after=4)
    for changed, said in (
        ([b"A:1", b"A:other", b"A:3"], "other messages are given now"),
        ([b"A:1"], "1 are given now"),
        ([b"A:1", b"A:2"], "no message follows"),
        ([b"A:2", b"A:1", b"A:3"], "other messages are given now"),
    ):
        with pytest.raises(BatchRefused, match=said) as caught:
            batches.attempt().put_group("A", map(BatchMessage, changed))
        assert caught.value.because == "other-messages"
        assert str(caught.value).startswith(f"group {batches.sink}/0/A: 2 messages are committed")
        assert batches.depth() == 2
    assert batches.attempt().put_group("A", messages("A", 5)) == 3
    assert batches.groups() == {"A": A5}


def test_other_messages_for_a_whole_group_are_refused(batches):
    batches.attempt().put_group("A", messages("A", 5))
    for changed in (
        [*messages("A", 4), BatchMessage(b"A:other")],
        messages("A", 4),
        messages("A", 6),
        [*messages("A", 4), BatchMessage(b"A:5", format="MQSTR")],
        [*messages("A", 4), BatchMessage(b"A:5", ccsid=37)],
        [*messages("A", 4), BatchMessage(b"A:5", properties={"a": b"1"})],
        [*messages("A", 4), BatchMessage("A:5")],
    ):
        with pytest.raises(BatchRefused, match=r"are given now"):
            batches.attempt(run="run-2").put_group("A", changed)
    assert batches.groups() == {"A": A5}


def test_a_batch_without_messages_for_a_group_that_was_begun_cannot_be_completed(batches):
    interrupt(batches.attempt(), "A", 5, after=4)
    batches.attempt().put_group("B", messages("B", 2))
    with pytest.raises(BatchRefused, match="the batch has none for it now"):
        batches.complete(0)
    assert batches.kinds() == ["intent", "intent", "status", "status"]


def test_a_group_that_was_claimed_and_not_begun_does_not_keep_a_batch_from_being_completed(batches):
    interrupt(batches.attempt(), "A", 5, after=0)
    batches.attempt().put_group("B", messages("B", 2))
    batches.complete(0)
    assert batches.kinds() == ["high-water mark"]


def test_an_unfinished_group_of_an_earlier_batch_is_left_for_an_operator(batches, caplog):
    interrupt(batches.attempt(), "A", 5, after=4)
    batches.attempt(batch=1).put_group("B", messages("B", 2))
    batches.complete(1)
    assert batches.kinds() == ["high-water mark", "intent", "status"]
    assert f"group {batches.sink}/0/A of an earlier batch is incomplete, with 2 messages" in caplog.text


def test_a_key_in_two_partitions_of_a_run_is_refused(batches):
    first = batches.attempt(partition=3)
    first.put_group("A", messages("A", 5))
    interrupt(first, "B", 5, after=0)
    for key in ("A", "B"):
        with pytest.raises(BatchRefused, match="partition 3 and in partition 4"):
            batches.attempt(partition=4).put_group(key, messages(key, 5))


def test_a_key_may_be_in_another_partition_when_the_batch_is_done_again(batches):
    interrupt(batches.attempt(partition=3), "A", 5, after=4)
    assert batches.attempt(partition=4, run="run-2").put_group("A", messages("A", 5)) == 3
    assert batches.status("A")["checkpoint"]["json"]["partition"] == 4
    with pytest.raises(BatchRefused, match="partition 4 and in partition 3"):
        batches.attempt(partition=3, run="run-2").put_group("A", messages("A", 5))


def test_two_sinks_and_two_queues_do_not_know_of_each_other(batches, make_batches):
    other = make_batches()
    other.status_queue = batches.status_queue
    batches.attempt().put_group("A", messages("A", 5))
    assert other.attempt().put_group("A", messages("A", 2)) == 2
    batches.complete(0)
    assert other.kinds() == ["intent", "status"]
    assert batches.attempt(queue=other.queue).put_group("A", messages("A", 1)) == 1


def test_the_claim_is_locked_until_it_is_committed(batches, faults):
    """Two attempts that look at the same time: the second finds the lock of the first."""
    first, second = batches.attempt(), batches.attempt()
    asked: list[bool] = []
    put = first._shared.put

    def put_while_another_looks(*arguments, **more):
        if not asked:
            asked.append(True)
            with pytest.raises(errors.OwnerActive):
                second.put_group("A", messages("A", 5))
        return put(*arguments, **more)

    first._shared.put = put_while_another_looks
    assert first.put_group("A", messages("A", 5)) == 5
    assert asked
    assert second.put_group("A", messages("A", 5)) == 0
    assert batches.groups() == {"A": A5}


def test_a_late_attempt_finds_its_group_or_the_high_water_mark_whenever_its_batch_is_completed(batches):
    batches.attempt().put_group("A", messages("A", 5))
    driver = batches.owner.connect()
    commit = connection_of(driver).binding.MQCMIT
    found = []

    def late():
        found.append(batches.attempt().put_group("A", messages("A", 5)))

    def late_before_and_after(hconn):
        late()
        answer = commit(hconn)
        late()
        return answer

    batches.owner.doctor(driver, MQCMIT=late_before_and_after)
    batches.complete(0, driver)
    assert found == [0, 0, 0, 0]
    assert batches.groups() == {"A": A5}
    assert batches.kinds() == ["high-water mark"]


def test_an_attempt_whose_record_goes_between_its_look_and_its_claim_looks_again(batches):
    interrupt(batches.attempt(), "A", 5, after=0)
    attempt = batches.attempt()
    take = attempt._shared.take

    def take_too_late(found):
        batches.complete(0)
        return take(found)

    attempt._shared.take = take_too_late
    with pytest.raises(errors.OwnerActive):
        attempt.put_group("A", messages("A", 5))
    assert batches.attempt().put_group("A", messages("A", 5)) == 0


def test_a_browse_that_finds_a_record_and_its_successor_is_made_again(batches):
    batches.attempt().put_group("A", messages("A", 5))
    attempt = batches.attempt()
    find, extra = attempt._shared.find, iter([b"1", b"", b"2", b"3"])

    def find_one_more(correl_id):
        found = find(correl_id)
        other = next(extra, b"")
        return [*found, replace(found[0], msg_id=other)] if found and other else found

    attempt._shared.find = find_one_more
    correl_id = Claim(Sink(batches.sink, batches.queue, ""), 0, "A", "", "", 0).status_id
    assert attempt._shared.find_one(correl_id).record.msg_seq_number == 5
    with pytest.raises(errors.OwnerActive):
        attempt._shared.find_one(correl_id)


def test_messages_have_format_correl_id_priority_and_properties(batches):
    group = [
        BatchMessage("A:é", correl_id=b"C" * 24, properties={"source": b"\x00\xff", "number": 7, "text": "é"}),
        BatchMessage(b"A:2", format="MYFMT", properties={"source": b"", "number": -1, "text": "other"}),
    ]
    batches.attempt().put_group("A", group, priority=7)
    first, second = batches.owner.on_queue()
    for found, correl_id, format_name in ((first, b"C" * 24, b"MQSTR   "), (second, mqi.MQCI_NONE, b"MYFMT   ")):
        assert (found.md.Priority, found.md.CorrelId) == (7, correl_id)
        assert format_name in found.data  # of the properties' MQRFH2: PROPCTL(COMPAT)
    folder = "<usr><source dt='bin.hex'>00FF</source><number dt='i4'>7</number><text>é</text></usr>"
    assert folder.encode() in first.data
    assert first.data.endswith("A:é".encode())
    assert b"<number dt='i4'>-1</number><text>other</text></usr>" in second.data
    assert second.data.endswith(b"A:2")


def test_the_error_of_a_message_that_is_too_long_names_its_group_and_number(make_batches):
    batches = make_batches(model="TEST.SEGMENTS.10")
    for number in (1, 2, 4):
        given = messages(f"{number}", 4)
        given[number - 1] = BatchMessage(b"longer than ten")
        with pytest.raises(errors.MessageTooLong, match=f"at message {number} of group {batches.sink}/0/{number}"):
            batches.attempt().put_group(f"{number}", given)


def test_the_error_of_a_message_that_cannot_be_one_names_its_group_and_number(batches):
    given = [*messages("A", 2), BatchMessage(b"A:3", correl_id=b"short")]
    with pytest.raises(errors.MessageRefused, match=f"^message 3 of group {batches.sink}/0/A: "):
        batches.attempt().put_group("A", given)


def test_a_status_queue_that_cannot_be_shared_is_refused(batches):
    with pytest.raises(errors.StatusQueueUnusable, match="is NOSHARE"):
        batches.attempt(status_model="MQGROUPS.STATUS.MODEL")
    handle = batches.owner.eye.open(batches.status_queue, mqi.MQOO_INQUIRE)
    assert handle.code == OK
    assert handle.close(mqi.MQCO_DELETE) == OK
    with pytest.raises(errors.StatusQueueUnusable, match="is a temporary dynamic queue"):
        batches.attempt(status_model="TEST.TEMPORARY.MODEL")
    with pytest.raises(errors.StatusQueueUnusable, match=r"model queue NO\.SUCH to make it from does not exist either"):
        batches.attempt(status_model="NO.SUCH")


def test_a_group_is_not_put_while_the_status_queue_limits_the_expiry_of_its_records(batches, make_queue):
    batches.status_queue = make_queue("TEST.EXPIRING.SHARED")
    with pytest.raises(errors.StatusQueueUnusable, match="CAPEXPRY"):
        batches.attempt().put_group("A", messages("A", 3))
    assert batches.depth() == 0


def test_the_model_for_locks_has_to_be_temporary(batches, monkeypatch):
    for model, problem in (("MQGROUPS.STATUS.MODEL", "DEFTYPE"), ("NO.SUCH", "does not exist")):
        monkeypatch.setattr(shared_queue, "CLAIM_MODEL", model)
        with pytest.raises(errors.StatusQueueUnusable, match=problem):
            batches.attempt().put_group("A", messages("A", 1))
    monkeypatch.undo()
    assert batches.attempt().put_group("A", messages("A", 1)) == 1


def test_what_is_no_record_of_a_shared_status_queue_is_left_where_it_is(batches):
    batches.attempt()
    # JSON that is nested too deeply for Python.
    batches.owner.put_raw(b"[" * 100_000, batches.status_queue)
    with pytest.raises(errors.StatusQueueUnusable) as caught:
        batches.complete(0)
    assert caught.value.because == "corrupt"
