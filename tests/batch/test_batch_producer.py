"""Attempts at parts of a batch: each group is put once, whoever puts it; who was replaced cannot commit."""

from __future__ import annotations

import functools
import json
import time
from dataclasses import replace

import pytest

from embedded_tests.fix_mqi import OK
from mqgroups import errors, operate
from mqgroups.batch import completion, shared_queue
from mqgroups.batch.errors import BatchRefused
from mqgroups.batch.producer import BatchMessage
from mqgroups.connection.holder import connection_of
from mqgroups.core.claim import Claim, Sink
from mqgroups.mqi import constants as mqi
from mqgroups.mqi import structures as st
from tests.fix_batches import interrupt, messages

A5 = [b"A:1", b"A:2", b"A:3", b"A:4", b"A:5"]


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


def test_an_unfinished_group_of_an_earlier_batch_is_left_for_an_operator(batches, make_owner, caplog):
    """Its record goes, so that the group can be moved away; the log says how."""
    interrupt(batches.attempt(), "A", 5, after=4)
    group_id = batches.status("A")["group_id"]
    batches.attempt(batch=1).put_group("B", messages("B", 2))
    batches.complete(1)
    assert batches.kinds() == ["high-water mark"]
    assert f"group {batches.sink}/0/A of an earlier batch is incomplete, with 2 messages" in caplog.text
    assert f"`mqgroups salvage move --queue {batches.queue} --group {group_id.lower()}`" in caplog.text
    operate.move_group(
        batches.owner.qmgr, batches.queue, bytes.fromhex(group_id), to=make_owner().queue, accept=["in-use"]
    )
    assert (batches.depth(), batches.groups()) == (2, {"B": [b"B:1", b"B:2"]})


def test_a_group_of_an_earlier_batch_that_a_unit_of_work_hides_keeps_its_records(batches):
    interrupt(batches.attempt(), "A", 5, after=4)
    handle = batches.owner.eye.open(batches.status_queue, mqi.MQOO_INPUT_SHARED)
    (status,) = [each for each in batches.owner.on_queue(batches.status_queue) if b'"kind":"status"' in each.data]
    assert handle.get(mqi.MQGMO_SYNCPOINT, match=mqi.MQMO_MATCH_MSG_ID, MsgId=status.md.MsgId).code == OK
    batches.complete(1)
    batches.owner.eye.back_out()
    handle.close()
    assert batches.kinds() == ["high-water mark", "intent", "status"]
    batches.complete(2)
    assert batches.kinds() == ["high-water mark"]


def test_an_attempt_at_a_group_of_an_earlier_batch_is_fenced_when_a_later_one_is_complete(batches):
    def completed_under_way():
        yield from messages("A", 5)[:4]
        batches.complete(1)
        yield from messages("A", 5)[4:]

    with pytest.raises(errors.OwnershipLost, match="End this attempt"):
        batches.attempt().put_group("A", completed_under_way())
    assert batches.groups() == {}
    assert batches.attempt().put_group("A", messages("A", 5)) == 0


def test_a_group_of_an_earlier_batch_that_is_completed_meanwhile_is_not_called_incomplete(batches, monkeypatch, caplog):
    """An operator would move it away."""
    interrupt(batches.attempt(), "A", 5, after=4)
    find = completion._find

    def completed_under_way(*arguments):
        found = find(*arguments)
        assert batches.attempt().put_group("A", messages("A", 5)) == 3
        return found

    monkeypatch.setattr(completion, "_find", completed_under_way)
    batches.complete(1)
    assert batches.groups() == {"A": A5}
    assert batches.kinds() == ["high-water mark", "intent", "status"]
    assert "incomplete" not in caplog.text


def test_a_group_that_is_not_moved_says_how_its_record_is_removed(batches, monkeypatch):
    """Its producer is a sink, which may share its status queue with others."""
    owner = batches.owner
    interrupt(batches.attempt(), "A", 5, after=4)
    (first, _) = owner.on_queue()
    seen = functools.partial(operate.find_owners, status_queues=[batches.status_queue])
    monkeypatch.setattr("mqgroups.operate.move.find_owners", seen)
    with pytest.raises(errors.RepairRefused, match=f"complete a later, empty batch of its sink {batches.sink} before"):
        operate.move_group(owner.qmgr, owner.queue, first.group_id, to="ORDERS.BACKOUT", accept=["in-use"])


def test_a_batch_that_cannot_be_repeated_is_put_once_after_its_groups_are_moved(batches, make_batches):
    """What docs/spark/night.md says: move the whole groups, run the batch with another status queue, remove the records."""
    batches.attempt().put_group("A", messages("A", 3))
    batches.complete(0)
    batches.attempt(batch=1).put_group("B", messages("B", 3))
    interrupt(batches.attempt(batch=1), "C", 5, after=4)
    found = operate.find_owners(batches.owner.qmgr, status_queues=[batches.status_queue]).owners
    listed = {each.name: each.record.group_id for each in found if each.is_shared and each.record}
    assert sorted(listed) == [f"{batches.sink}/1/B", f"{batches.sink}/1/C"]
    other = make_batches()

    def move(key):
        group_id = listed[f"{batches.sink}/1/{key}"]
        operate.move_group(batches.owner.qmgr, batches.queue, group_id, to=other.queue, accept=["in-use"])

    move("B")
    again = {"status_queue": other.status_queue, "run": "run-2", "batch": 1}
    assert batches.attempt(**again).put_group("B", messages("B", 4)) == 4
    assert batches.attempt(**again).put_group("C", messages("C", 5)) == 5
    batches.complete(2)
    move("C")
    assert {key: len(each) for key, each in batches.groups().items()} == {"A": 3, "B": 4, "C": 5}
    assert (batches.depth(), batches.kinds()) == (3 + 4 + 5, ["high-water mark"])


def test_a_batch_whose_mark_expired_is_put_again(batches):
    """The queue manager removes the mark; until then nothing is put."""
    batches.attempt().put_group("A", messages("A", 2))
    batches.complete(0, mark_expires_s=1)
    until = time.monotonic() + 30
    while batches.attempt().put_group("A", messages("A", 2)) == 0:
        assert batches.owner.data().count(b"A:1") == 1
        assert time.monotonic() < until
    assert batches.owner.data().count(b"A:1") == 2
    assert batches.kinds() == ["intent", "status"]


@pytest.mark.parametrize(
    "value",
    [
        {"v": 1, "manifest": "0" * 32, "seq": 1, "part": 1, "parts": 1, "groups": [["G", 1]]},
        {"v": 1, "manifest": "0" * 32, "removed": True},
        {"v": 1, "manifest": "0" * 32, "read": True},
    ],
    ids=["manifest", "mark", "sign"],
)
def test_the_status_queue_of_a_spark_source_is_told_and_left_alone(batches, value):
    batches.attempt()
    batches.owner.put_raw(json.dumps(value).encode(), batches.status_queue)
    with pytest.raises(errors.StatusQueueUnusable, match="the status queue of a Spark source, not of a sink"):
        batches.complete(0)
    assert len(batches.owner.on_queue(batches.status_queue)) == 1


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


@pytest.mark.usefixtures("no_api_exit")
def test_messages_have_format_correl_id_priority_and_properties(batches):
    group = [
        BatchMessage("A:é", correl_id=b"C" * 24, properties={"source": b"\x00\xff", "number": 7, "text": "é"}),
        BatchMessage(b"A:2", format="MYFMT", properties={"source": b"", "number": -1, "text": "other"}),
    ]
    batches.attempt().put_group("A", group, priority=7)
    first, second = batches.owner.on_queue(options=mqi.MQGMO_PROPERTIES_FORCE_MQRFH2)
    for found, correl_id, format_name in ((first, b"C" * 24, b"MQSTR   "), (second, mqi.MQCI_NONE, b"MYFMT   ")):
        assert (found.md.Priority, found.md.CorrelId) == (7, correl_id)
        assert format_name in found.data  # of the properties' MQRFH2
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


def test_a_record_in_a_report_is_none(batches):
    """As the queue manager puts it when a message expires that one of the attempts' users has moved."""
    batches.attempt().put_group("A", messages("A", 1))
    for found in batches.owner.on_queue(batches.status_queue):
        batches.owner.put_raw(found.data, batches.status_queue, CorrelId=found.md.CorrelId, MsgType=4, Feedback=258)
    with pytest.raises(errors.StatusQueueUnusable, match="MsgType 4, Feedback 258") as caught:
        batches.complete(0)
    assert caught.value.because == "corrupt"
