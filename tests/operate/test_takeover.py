"""What a dead producer or consumer left is taken over by one of another name."""

from __future__ import annotations

import pytest

from mqembedded import Fault
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.core.status import RecordState, decode
from mqgroups.mqi import constants as mq
from tests.fix_cli import environment, invoke
from tests.status.test_ownership import ZOMBIE, Stopped

THIS = [b"%d" % number for number in range(1, 8)]
DONE, FAILED, USAGE, _, OWNER_ACTIVE = range(5)
WAIT_S = 30


def half(owner, **more):
    """Get two of a group's messages, committed, and one more, and die."""
    q_mgr = owner.connect()
    for group in owner.consumer(q_mgr, complete_groups_only=True, **more):
        for number, _ in enumerate(group, 1):
            if number == 4:
                break
        break
    q_mgr.close()


def complete_and_die(owner):
    """Put a group with a checkpoint, and die before closing."""
    q_mgr = owner.connect()
    with owner.producer(q_mgr).group() as group:
        group.set_checkpoint(1)
        group.put(b"1")
    q_mgr.close()


def groups_of(owner, **more):
    """Get all there is; returns where each group was resumed, and its messages."""
    with owner.consumer(complete_groups_only=True, **more) as consumer:
        return [(group.resume_from, [message.data for message in group]) for group in consumer]


@pytest.fixture
def pair(make_owner):
    """Two consumers' names, on one queue."""
    one = make_owner()
    return one, make_owner(queue=one.queue)


@pytest.fixture
def takeover(pair):
    """A function that has the second owner take over from the first by the command."""
    one, other = pair

    def run(of=one.name, *, name=other.name, role=("--role", "get"), check=False):
        words = ("takeover", of, "--by", name, *role, "--wait", "0", *(() if check else ("--apply",)))
        return invoke(*words, **environment(one.target))

    return run


# --- taken over


@pytest.mark.parametrize(("status", "its_status"), [("classic", "segmented"), ("segmented", "classic")])
def test_another_name_takes_a_half_group_over(pair, takeover, status, its_status):
    one, other = pair
    one.put_group(THIS)
    half(one, status_layout=status)
    group_id = one.on_queue()[0].group_id
    result = takeover()
    assert (result.exit_code, result.stderr.startswith(f"queue manager {one.target.q_mgr_name} at ")) == (DONE, True)
    assert f"{other.name} took over group {group_id.hex()} of {one.name}, at message 2" in result.stdout
    assert one.records("get") == []
    assert groups_of(one) == []
    assert groups_of(other, status_layout=its_status) == [(2, THIS[2:])]
    assert other.records("get") == []


def test_a_producers_half_group_is_taken_over_with_its_checkpoint(pair, takeover):
    one, other = pair
    one.interrupt_put(THIS[:4], checkpoints=[None, {"row": 2}])
    assert takeover(role=("--role", "put")).exit_code == DONE
    with other.producer() as producer, producer.group() as group:
        assert (group.resume_from, group.checkpoint) == (2, {"row": 2})
        for data in THIS[2:]:
            group.put(data)
    found = one.on_queue()
    assert [(message.msg_seq_number, message.data) for message in found] == list(enumerate(THIS, 1))
    assert len({message.group_id for message in found}) == 1
    assert (one.records("put"), one.anchors("put")) == ([], 0)
    # Its checkpoint stays until it is forgotten.
    record = decode(other.records("put")[0])
    assert (record.state, record.checkpoint) == (RecordState.COMPLETED, {"row": 2})


@pytest.mark.embedded
def test_a_takeover_that_stands_is_done_although_the_idle_record_could_not_be_removed(pair, faults):
    one, other = pair
    one.interrupt_put(THIS[:4])
    faults.arm(Fault("answer", verb="MQCMIT", nth=2, reason=mq.MQRC_STORAGE_NOT_AVAILABLE))
    assert operate.take_over(one.qmgr, one.name, "put", by=other.name).done
    assert one.record("put")["state"] == "idle"
    assert (other.record("put")["state"], other.record("put")["msg_seq_number"]) == ("in group", 2)
    # Once more removes what is left.
    assert not operate.take_over(one.qmgr, one.name, "put", by=other.name).done
    assert one.on_queue(one.status_queue("put")) == []


def test_with_check_it_only_says_so(pair, takeover):
    one, _ = pair
    one.put_group(THIS)
    half(one)
    before = one.records("get")
    result = takeover(check=True)
    assert (result.exit_code, "would take over group" in result.stdout) == (DONE, True)
    assert one.records("get") == before
    assert groups_of(one) == [(2, THIS[2:])]


def test_nothing_interrupted_is_nothing_to_take_over(pair, takeover):
    one, other = pair
    assert groups_of(one) == []
    result = takeover()
    assert (result.exit_code, f"{one.name} has no interrupted group" in result.stdout) == (DONE, True)
    assert other.records("get") == []


def test_a_checkpoint_goes_with_its_name_also_if_no_group_is_interrupted(pair, takeover):
    one, other = pair
    complete_and_die(one)
    result = takeover(role=("--role", "put"))
    assert (result.exit_code, f"took over the checkpoint of {one.name}" in result.stdout) == (DONE, True)
    assert one.records("put") == []
    with other.producer() as producer:
        assert producer.checkpoint == 1


def test_a_name_that_was_never_started_is_not_said_to_have_no_interrupted_group(pair, takeover):
    for check in (False, True):
        result = takeover("TYPO", check=check)
        assert result.exit_code == FAILED
        assert "there is no MQGROUPS.GET.TYPO" in result.stdout
    assert operate.take_over(pair[1].qmgr, "TYPO", "get", by=pair[1].name).unknown


def test_one_that_still_works_is_not_taken_over(pair, takeover):
    one, _ = pair
    one.put_group(THIS)
    with one.consumer() as consumer:
        group = next(iter(consumer))
        assert [next(iter(group)).data for _ in range(1)] == THIS[:1]
        result = takeover()
        assert (result.exit_code, "Another instance with this name is running" in result.stderr) == (OWNER_ACTIVE, True)


@pytest.mark.embedded
def test_one_that_was_cut_off_and_taken_over_can_commit_nothing_any_more(owner, make_owner, program, faults):
    zombie = Stopped(program, faults, ZOMBIE)
    other = make_owner(queue=owner.queue)
    assert operate.take_over(other.qmgr, owner.name, "put", by=other.name, wait_s=WAIT_S).done
    assert zombie.go_on().startswith(f"OwnershipLost another instance has taken over put {owner.name}:")
    with other.producer() as producer, producer.group() as group:
        assert group.resume_from == 4
        group.put(b"the rest")
    assert owner.data() == [b"0", b"1", b"2", b"3", b"the rest"]


@pytest.mark.parametrize("what", ["a group", "a checkpoint"])
def test_who_has_something_of_its_own_does_not_take_over(pair, takeover, what):
    one, other = pair
    one.interrupt_put(THIS[:4])
    if what == "a group":
        other.interrupt_put(THIS[:4])
    else:
        complete_and_die(other)
    before = one.records("put"), other.records("put")
    result = takeover(role=("--role", "put"))
    found = f"{other.status_queue('put')}: found {what.replace('a group', 'group ')}"
    assert (result.exit_code, found in result.stderr) == (FAILED, True)
    assert (one.records("put"), other.records("put")) == before


def test_a_pipe_is_taken_over_with_its_outgoing_group_first(pair, takeover, make_queue):
    """Else the pipe that takes over would put the rest to a new group."""
    one, other = pair
    target = make_queue()
    one.put_group(THIS)

    def run(owner, die_at=None):
        q_mgr = owner.connect()
        with q_mgr.group_pipe(owner.queue, target, name=owner.name, commit_every=2, wait_s=0) as pipe:
            for incoming, outgoing in pipe:
                for message in incoming:
                    if message.msg_seq_number == die_at:
                        return q_mgr.close()
                    outgoing.put(message.data)
        return q_mgr.close()

    run(one, die_at=6)
    refused = takeover(role=("--role", "get"))
    assert (refused.exit_code, "Take over the producer first (role put)" in refused.stderr) == (FAILED, True)
    assert takeover(role=("--role", "put")).exit_code == DONE
    assert takeover(role=("--role", "get")).exit_code == DONE
    run(other)
    assert [(found.msg_seq_number, found.data) for found in one.on_queue(target)] == list(enumerate(THIS, 1))


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_takeover_whose_commit_had_no_answer_is_done_or_not_and_can_be_asked_for_again(pair, faults, when):
    one, other = pair
    one.put_group(THIS)
    half(one)
    faults.arm(Fault("drop", when, 1, "MQCMIT"))
    with pytest.raises(errors.CommitOutcomeUnknown):
        operate.take_over(other.connect(), one.name, "get", by=other.name, wait_s=WAIT_S)
    again = operate.take_over(other.connect(), one.name, "get", by=other.name, wait_s=WAIT_S)
    assert again.done == (when == "before")
    # Nothing is left of the one who gave, who does not come back.
    assert (one.records("get"), one.anchors("get")) == ([], 0)
    assert groups_of(other) == [(2, THIS[2:])]


@pytest.mark.embedded
@pytest.mark.parametrize("nth", [3, 5])
def test_a_takeover_that_cannot_open_a_queue_is_asked_for_again(pair, faults, nth):
    one, other = pair
    one.put_group(THIS)
    half(one)
    faults.arm(Fault("drop", "before", nth, "MQOPEN"))
    with pytest.raises(errors.ConnectionBroken):
        operate.take_over(other.connect(reconnect_wait_s=0), one.name, "get", by=other.name, wait_s=WAIT_S)
    assert operate.take_over(other.connect(), one.name, "get", by=other.name, wait_s=WAIT_S).done
    assert groups_of(other) == [(2, THIS[2:])]


def test_what_an_owner_has_is_not_known_while_it_commits(pair):
    one, other = pair
    qmgr = one.connect()
    commit = connection_of(qmgr).binding.MQCMIT
    seen = []

    def look_and_commit(hconn):
        seen.append(operate.inspect_owner(other.qmgr, one.name, "put"))
        return commit(hconn)

    with one.producer(qmgr) as producer:
        one.doctor(qmgr, MQCMIT=look_and_commit)
        with producer.group() as group:
            for data in THIS:
                group.put(data)
    assert {(each.state, each.record) for each in seen} == {(operate.OwnerState.ACTIVE, None)}


@pytest.mark.embedded
def test_a_takeover_that_is_dying_hides_the_record_but_not_that_there_is_one(make_owner, own_queue_manager):
    """Where handles are closed before the unit of work is backed out, the one who gives can start in between."""
    target = own_queue_manager(readings={"lost connection": "closes handles, then backs out"}, cleanup_gap_s=0.5)
    one = make_owner(target, "ORDERS")
    one.put_group(THIS)
    half(one)
    target.arm(Fault("drop", "before", 1, "MQCMIT"))
    with pytest.raises(errors.CommitOutcomeUnknown):
        operate.take_over(one.connect(), one.name, "get", by=f"{one.name}.2", wait_s=WAIT_S)
    assert groups_of(one, owner_wait_s=WAIT_S) == [(2, THIS[2:])]


def test_to_check_a_takeover_removes_nothing(pair, takeover):
    one, _ = pair
    qmgr = one.connect()
    one.consumer(qmgr)
    qmgr.close()
    before = one.records("get")
    assert len(before) == 1
    assert takeover(check=True).exit_code == DONE
    assert one.records("get") == before
    assert takeover().exit_code == DONE
    assert (one.records("get"), one.anchors("get")) == ([], 0)


def test_a_name_cannot_take_over_from_itself_and_the_role_has_to_be_said(pair, takeover):
    one, _ = pair
    result = takeover(name=one.name)
    assert (result.exit_code, "cannot take over its own group" in result.stderr) == (USAGE, True)
    result = takeover(role=())
    assert (result.exit_code, "Missing option '--role'" in result.stderr) == (USAGE, True)
