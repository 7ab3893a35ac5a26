"""Data and status queues are moved to another queue manager: its programs refuse the records, until somebody adopts them."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK
from mqembedded import Fault
from mqgroups import errors, operate
from mqgroups.mqi import constants as mq
from tests.batch.test_batch_producer import A5
from tests.fix_batches import Batches, interrupt, messages
from tests.fix_cli import environment, invoke
from tests.test_pipe import Side, doubled, run, whole

pytestmark = pytest.mark.embedded

THIS = [b"%d" % number for number in range(1, 8)]
DONE, FAILED, ACTIVE = 0, 1, 4
# What a program that loads a queue takes from the MQMD that it has unloaded.
KEPT = (
    "MsgId", "CorrelId", "GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "OriginalLength", "Format", "CodedCharSetId",
    "Persistence", "Priority", "Expiry", "MsgType", "Feedback",
)  # fmt: skip


def half(owner):
    """Get two of a group's messages, committed, and one more, and die."""
    q_mgr = owner.connect()
    for group in owner.consumer(q_mgr, complete_groups_only=True):
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


def groups_of(owner):
    """Get all there is; return where each group was resumed, and its messages."""
    with owner.consumer(complete_groups_only=True) as consumer:
        return [(group.resume_from, [message.data for message in group]) for group in consumer]


@pytest.fixture(scope="module")
def elsewhere(module_queue_manager):
    """Another queue manager, so it has another QMID, and another name."""
    return module_queue_manager(name="QM8")


@pytest.fixture
def moved(elsewhere, make_owner, connect):
    """A function that moves an owner's data queue, and the queues named, to the other queue manager; returns the owner there.

    It does what dmpmqmsg does: the messages are put as they were got, with the identifiers of their MQMD.
    """

    def load(owner, there, name, model):
        handle = there.open(model, mq.MQOO_OUTPUT, DynamicQName=name.encode())
        assert handle.code == OK
        for found in owner.on_queue(name):
            put = handle.put(found.data, **{field: getattr(found.md, field) for field in KEPT})
            assert put.code == OK
        assert handle.close() == OK
        owner.empty(name)

    def move(owner, *queues, status_queues=()):
        owner.qmgr.close()
        there = connect(elsewhere)
        for name in (owner.queue, *queues):
            load(owner, there, name, owner.target.model)
        for name in status_queues or [owner.status_queue(role) for role in ("put", "get") if owner.records(role)]:
            load(owner, there, name, "MQGROUPS.SHARED.STATUS.MODEL" if "SHARED" in name else "MQGROUPS.STATUS.MODEL")
        return make_owner(target=elsewhere, queue=owner.queue, name=owner.name)

    return move


@pytest.fixture
def adopt(owner, elsewhere):
    """A function that adopts the owner's records by the command."""
    old = owner.qmgr.q_mgr_identifier

    def run_it(*more, name=owner.name, of=old, words=("adopt",)):
        return invoke(*words, name, "--wait", "0", "--from", of, *more, **environment(elsewhere))

    return run_it


def refuses(start, old):
    """Whether a start is refused, and names the command that adopts."""
    with pytest.raises(errors.StatusQueueUnusable, match="mqgroups adopt") as caught:
        start()
    assert (caught.value.field, caught.value.found) == ("q_mgr_identifier", old)
    return True


@pytest.mark.parametrize("status", ["classic", "segmented"])
def test_a_producer_resumes_its_group_at_the_new_queue_manager_once_its_record_is_adopted(
    owner, elsewhere, moved, adopt, status
):
    old = owner.qmgr
    owner.interrupt_put(THIS[:5], checkpoints=[None, {"row": 2}], status_layout=status)
    there = moved(owner)
    seen = invoke("owners", "--wait", "0", owner.name, **environment(elsewhere))
    assert (seen.exit_code, "another queue manager" in seen.stdout) == (FAILED, True)
    before = there.data(there.status_queue("put"))
    assert refuses(lambda: there.producer(), old.q_mgr_identifier)
    renamed = ("--instance", f"{old.q_mgr_name}={there.qmgr.q_mgr_name}")
    # The rest would go to the old queue manager, if that can still be reached.
    refused = adopt("--apply")
    assert (refused.exit_code, f"--instance {old.q_mgr_name}=" in refused.stderr) == (FAILED, True)
    assert adopt(*renamed, "--apply", of="QM0_2001-01-01_00.00.00").exit_code == FAILED
    dry = adopt(*renamed)
    assert (dry.exit_code, f"would adopt the record of put {owner.name}" in dry.stdout) == (DONE, True)
    assert there.data(there.status_queue("put")) == before
    there.qmgr.close()
    done = adopt(*renamed, "--apply")
    assert (done.exit_code, f"adopted the record of put {owner.name}" in done.stdout) == (DONE, True)
    assert done.stderr.startswith(f"queue manager {elsewhere.q_mgr_name} at ")
    # Once more changes nothing.
    assert "nothing to adopt" in adopt(*renamed, "--apply").stdout
    with there.producer(status_layout=status) as producer, producer.group() as group:
        assert (group.resume_from, group.checkpoint) == (4, {"row": 2})
        owner.put_all(group, THIS[4:])
    found = there.on_queue()
    assert [(message.msg_seq_number, message.data) for message in found] == list(enumerate(THIS, 1))
    assert len({message.group_id for message in found}) == 1


def test_a_consumer_gets_the_rest_of_its_group_at_the_new_queue_manager(owner, moved, adopt):
    old = owner.qmgr.q_mgr_identifier
    owner.put_group(THIS)
    half(owner)
    there = moved(owner)
    assert refuses(lambda: there.consumer(), old)
    with there.connect() as q_mgr, pytest.raises(errors.StatusQueueUnusable, match="has queue"):
        operate.adopt(q_mgr, there.name, "get", adopt_from=old, queue="ANOTHER.QUEUE")
    # While a program has the status queue open, nothing is written.
    handle = there.eye.open(there.status_queue("get"), mq.MQOO_INPUT_EXCLUSIVE)
    assert adopt("--apply").exit_code == ACTIVE
    handle.close()
    assert adopt("--apply").exit_code == DONE
    assert groups_of(there) == [(2, THIS[2:])]
    assert there.on_queue() == []


def test_a_checkpoint_is_adopted_without_a_group(owner, moved, adopt):
    old = owner.qmgr.q_mgr_identifier
    complete_and_die(owner)
    there = moved(owner)
    assert refuses(lambda: there.producer(), old)
    assert adopt("--apply").exit_code == DONE
    with there.producer() as producer:
        assert producer.checkpoint == 1


def test_a_pipe_goes_on_when_both_records_are_adopted(owner, make_queue, moved, adopt):
    old = owner.qmgr
    side = Side(owner, make_queue())
    owner.put_raw_group(THIS)
    with pytest.raises(ZeroDivisionError), side.open(old) as pipe:
        run(pipe, lambda data: [doubled(data)] if data != b"5" else [1 // 0])
    there = moved(owner, side.queue)
    assert refuses(lambda: Side(there, side.queue).open(), old.q_mgr_identifier)
    renamed = ("--instance", f"{old.q_mgr_name}={there.qmgr.q_mgr_name}")
    instance = (old.q_mgr_name, there.qmgr.q_mgr_name)
    assert operate.adopt(there.qmgr, there.name, "put", adopt_from=old.q_mgr_identifier, instance=instance).done
    assert refuses(lambda: Side(there, side.queue).open(), old.q_mgr_identifier)
    assert adopt(*renamed, "--apply").exit_code == DONE
    with Side(there, side.queue).open() as pipe:
        assert run(pipe) == THIS[4:]
    assert Side(there, side.queue).found() == [whole([doubled(data) for data in THIS])]


def test_a_batch_goes_on_when_the_records_of_its_sinks_are_adopted(owner, moved, adopt):
    old = owner.qmgr
    here = Batches(owner, f"MQGROUPS.SHARED.{owner.name}")
    interrupt(here.attempt(), "A", 5, after=4)
    here.attempt(batch=1).put_group("B", messages("B", 3))
    there = moved(owner, status_queues=[here.status_queue])
    batches = Batches(there, here.status_queue)
    words = ("adopt", "--status-queue")
    renamed = ("--instance", f"{old.q_mgr_name}={there.qmgr.q_mgr_name}")
    with there.connect() as connection:
        attempt = batches.attempt(connection)
        assert refuses(lambda: attempt.put_group("A", messages("A", 5)), old.q_mgr_identifier)
        # While an attempt has the status queue open, nothing is written.
        assert adopt(*renamed, "--apply", name=here.status_queue, words=words).exit_code == ACTIVE
    before = batches.records()
    refused = adopt("--apply", name=here.status_queue, words=words)
    assert (refused.exit_code, f"--instance {old.q_mgr_name}=" in refused.output) == (FAILED, True)
    assert "would adopt 4 records" in adopt(*renamed, name=here.status_queue, words=words).stdout
    assert batches.records() == before
    done = adopt(*renamed, "--apply", name=here.status_queue, words=words)
    assert (done.exit_code, "adopted 4 records" in done.stdout) == (DONE, True), done.output
    assert batches.attempt().put_group("A", messages("A", 5)) == 3
    assert batches.attempt(batch=1).put_group("B", messages("B", 3)) == 0
    assert batches.groups() == {"A": A5, "B": [b"B:1", b"B:2", b"B:3"]}
    batches.complete(0)
    batches.complete(1)


def test_the_rest_of_a_group_goes_to_the_queue_manager_that_replaced_an_instance(owner):
    """Only the instance is new; the producer's own queue manager has not changed."""
    owner.interrupt_put(THIS[:5])
    name = owner.qmgr.q_mgr_name
    before = owner.record("put")
    with pytest.raises(errors.StatusQueueUnusable, match="resolved_q_mgr_name"):
        operate.adopt(owner.qmgr, owner.name, "put", instance=("QM2", "QM4"))
    assert operate.adopt(owner.qmgr, owner.name, "put", instance=(name, "QM4")).done
    after = owner.record("put")
    assert {field: after[field] for field in after if after[field] != before[field]} == {
        "resolved_q_mgr_name": "QM4",
        "sha256": after["sha256"],
    }


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_adoption_whose_commit_had_no_answer_is_done_again(owner, faults, when):
    owner.interrupt_put(THIS[:5])
    instance = (owner.qmgr.q_mgr_name, "QM4")
    faults.arm(Fault("drop", when, verb="MQCMIT"))
    with pytest.raises(errors.CommitOutcomeUnknown):
        operate.adopt(owner.qmgr, owner.name, "put", instance=instance)
    again = operate.adopt(owner.connect(), owner.name, "put", instance=instance, wait_s=30)
    assert again.done is (when == "before")
    assert owner.record("put")["resolved_q_mgr_name"] == "QM4"


def test_where_no_name_was_ever_used_nothing_is_adopted(adopt):
    assert adopt("--apply").exit_code == FAILED
