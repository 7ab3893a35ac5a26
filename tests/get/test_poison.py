"""A message that makes its consumer fail whenever it is processed: found among the innocent, and halted, skipped or moved.

BOTHRESH and BOQNAME are the queue's; the queue manager does nothing with them (IBM MQ, topic q103010).
"""

from __future__ import annotations

import contextlib
import pickle

import pytest

from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.core.status import decode
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from tests.each_call import each_call

THIS = [b"%d" % number for number in range(8)]
BAD = b"4"


@pytest.fixture
def poisoned(make_owner):
    """An owner whose queue has BOTHRESH(2) and a backout queue, and a group on it."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group(THIS)
    return owner


@pytest.fixture
def backout_queue(poisoned):
    """The backout queue, empty before and after."""
    name = "TEST.BACKOUT"
    assert poisoned.on_queue(name) == []
    yield name
    empty(poisoned, name)


def empty(owner, name):
    """Get all messages of a queue."""
    handle = owner.eye.open(name, mq.MQOO_INPUT_SHARED)
    while handle.get(gmo=owner.eye.mqi.gmo(Options=mq.MQGMO_NO_SYNCPOINT)).code.comp == mq.MQCC_OK:
        pass
    handle.close()


class Application:
    """Processes messages, fails at bad ones, and is started again, as a supervisor would."""

    def __init__(self, owner, **settings):
        self.owner = owner
        self.settings = {"commit_every": 3, **settings}
        self.done: list[bytes] = []
        self.failures = 0

    def run(self, bad=(BAD,)):
        """Process until there is nothing left, or until the library raises."""
        for _ in range(30):
            with self.owner.consumer(**self.settings) as consumer:
                try:
                    for group in consumer:
                        for message in group:
                            if message.data in bad:
                                raise ZeroDivisionError
                            self.done.append(message.data)
                except ZeroDivisionError:
                    self.failures += 1
                else:
                    return
        pytest.fail("it never came to an end")


def find_poison(owner):
    """Fail at the bad message until it is known for what it is: the next start gets it as poison."""
    with pytest.raises(errors.PoisonMessage):
        Application(owner).run()
    with owner.consumer() as consumer:
        assert next(iter(next(iter(consumer)))).data == BAD


def test_poison_is_found_among_the_innocent_and_halts_its_consumer(poisoned):
    application = Application(poisoned)
    for _ in range(2):
        with pytest.raises(
            errors.PoisonMessage, match=r"message 5 of group .* the last time alone, and BOTHRESH is 2"
        ) as caught:
            application.run()
    assert (caught.value.msg_seq_number, caught.value.threshold) == (5, 2)
    # It and what follows it are on the queue; what came before is consumed, each message of it committed once.
    assert poisoned.data() == THIS[4:]
    assert set(application.done) == set(THIS[:4])
    record = decode(poisoned.records("get")[0])
    assert record.msg_seq_number == 4
    assert record.suspect is not None
    assert record.suspect.msg_seq_number == 5


def test_once_the_program_is_corrected_the_group_goes_on(poisoned):
    application = Application(poisoned)
    with pytest.raises(errors.PoisonMessage):
        application.run()
    corrected = Application(poisoned)
    corrected.run(bad=())
    assert corrected.done == THIS[4:]
    assert poisoned.data() == poisoned.records("get") == []


def test_a_message_that_fails_again_and_again_is_got_once_more_at_each_second_start(poisoned):
    """What it needs may be back, for example a database, so nobody has to say so."""
    application = Application(poisoned)
    for failures in (2, 3, 4):
        with pytest.raises(errors.PoisonMessage):
            application.run()
        assert application.failures - 1 == failures
    application.run(bad=())
    assert application.done[-4:] == THIS[4:]
    assert poisoned.data() == poisoned.records("get") == []


def test_innocent_messages_with_high_counts_are_processed_each_alone(poisoned):
    """Every message of the group was backed out three times; none of them is at fault."""
    for _ in range(3):
        qmgr = poisoned.connect()
        messages = iter(next(iter(poisoned.consumer(qmgr, commit_every=100, poison="ignore"))))
        for _ in range(8):
            next(messages)
        qmgr.close()
    application = Application(poisoned, commit_every=100)
    application.run(bad=())
    assert application.done == THIS
    assert poisoned.data() == poisoned.records("get") == []


def test_each_message_that_was_backed_out_too_often_has_a_unit_of_work_of_its_own(poisoned):
    for _ in range(2):
        qmgr = poisoned.connect()
        messages = iter(next(iter(poisoned.consumer(qmgr, commit_every=100))))
        for _ in range(8):
            next(messages)
        qmgr.close()
    done: list[bytes] = []
    committed: list[int] = []
    with poisoned.consumer(commit_every=100) as consumer:
        consumer.before_commit(lambda _: committed.append(len(done)))
        for group in consumer:
            done.extend(message.data for message in group)
    assert done == THIS
    assert committed == list(range(1, 9))


def test_skipping_moves_the_message_alone_with_its_identity(poisoned, backout_queue):
    group_id = poisoned.on_queue()[0].group_id
    application = Application(poisoned, poison="skip")
    application.run()
    assert sorted(set(application.done)) == [data for data in THIS if data != BAD]
    assert poisoned.data() == poisoned.records("get") == []
    (moved,) = poisoned.on_queue(backout_queue)
    assert (moved.data, moved.group_id, moved.msg_seq_number) == (BAD, group_id, 5)
    assert moved.msg_flags == mq.MQMF_MSG_IN_GROUP


@pytest.mark.parametrize("bad", [(b"0",), (b"7",), (b"2", b"3", b"7")], ids=repr)
def test_any_messages_can_be_skipped_the_first_and_the_last_too(poisoned, backout_queue, bad):
    application = Application(poisoned, poison="skip")
    application.run(bad=bad)
    assert [moved.data for moved in poisoned.on_queue(backout_queue)] == list(bad)
    assert sorted(set(application.done)) == [data for data in THIS if data not in bad]
    assert poisoned.data() == poisoned.records("get") == []


def test_behind_an_alias_poison_is_found_by_the_attributes_of_its_base_queue(poisoned, backout_queue):
    poisoned.put_group(THIS, queue="TEST.POISON.ALIAS")
    application = Application(poisoned, poison="skip", queue="TEST.POISON.ALIAS")
    application.run()
    assert application.done[-4:] == [b"3", *THIS[5:]]
    assert [one.data for one in poisoned.on_queue(backout_queue)] == [BAD]
    assert poisoned.on_queue("TEST.POISON") == poisoned.records("get") == []


def test_quarantine_moves_the_rest_of_the_group_as_it_is_and_the_next_group_is_got(poisoned, backout_queue):
    before = poisoned.on_queue()
    poisoned.put_group([b"next"])
    application = Application(poisoned, poison="quarantine")
    with pytest.raises(errors.GroupQuarantined, match=f"was moved to {backout_queue} from message 5 on") as caught:
        application.run()
    assert (caught.value.msg_seq_number, caught.value.backout_queue) == (5, backout_queue)
    moved = poisoned.on_queue(backout_queue)
    identity = [(one.group_id, one.msg_seq_number, one.msg_flags, one.data) for one in moved]
    assert identity == [(one.group_id, one.msg_seq_number, one.msg_flags, one.data) for one in before[4:]]
    assert poisoned.data() == [b"next"]
    application.run()
    assert application.done[-1] == b"next"
    assert poisoned.records("get") == []


@pytest.mark.parametrize("when", ["before the third message is moved", "after the commit of the second one"])
def test_a_quarantine_that_was_interrupted_goes_on(poisoned, backout_queue, when):
    # Only in the first case was the next message got before, and backed out.
    application = Application(poisoned, poison="quarantine", commit_every=1)
    qmgr = poisoned.connect()
    binding = connection_of(qmgr).binding
    put, commit = binding.MQPUT, binding.MQCMIT
    moved = []

    def fails_at_the_third(hconn, hobj, md, pmo, data):
        # Status records are longer.
        moved.extend([data] if len(data) == 1 else [])
        if len(moved) == 3:
            raise KeyboardInterrupt
        return put(hconn, hobj, md, pmo, data)

    def fails_after_the_second(hconn):
        answer = commit(hconn)
        if len(moved) == 2 and when.startswith("after"):
            raise KeyboardInterrupt
        return answer

    find_poison(poisoned)
    poisoned.doctor(qmgr, MQPUT=fails_at_the_third, MQCMIT=fails_after_the_second)
    with pytest.raises(KeyboardInterrupt):
        list(next(iter(poisoned.consumer(qmgr, commit_every=1, poison="quarantine"))))
    qmgr.close()
    assert [one.data for one in poisoned.on_queue(backout_queue)] == THIS[4:6]
    # Segments that are got one by one would be torn from each other.
    with pytest.raises(errors.ConfigurationError, match="without stream=True until that group is moved"):
        poisoned.consumer(stream=True)
    # Whatever else is asked for now: what was begun is ended.
    application.settings["poison"] = "ignore"
    with pytest.raises(errors.GroupQuarantined):
        application.run()
    assert [one.data for one in poisoned.on_queue(backout_queue)] == THIS[4:]
    assert poisoned.data() == []


def test_without_a_threshold_nobody_looks(owner):
    owner.put_raw_group(THIS)
    for _ in range(4):
        qmgr = owner.connect()
        next(iter(next(iter(owner.consumer(qmgr)))))
        qmgr.close()
    assert owner.get_groups() == [THIS]


def test_a_threshold_without_a_backout_queue_is_told_at_once(make_owner):
    owner = make_owner(model="TEST.THRESHOLD.MODEL")
    for policy in ("skip", "quarantine"):
        with pytest.raises(errors.ConfigurationError, match=r"BOTHRESH\(2\) but no BOQNAME"):
            owner.consumer(poison=policy)
    owner.consumer(poison="halt").close()


def test_policies_that_are_none_are_refused(owner):
    with pytest.raises(errors.ConfigurationError, match="poison must be"):
        owner.consumer(poison="drop")
    with pytest.raises(
        errors.ConfigurationError, match="cannot be combined with stream=True, because it moves whole messages"
    ):
        owner.consumer(poison="skip", stream=True)


def test_a_queue_whose_gets_are_inhibited_is_waited_for(owner, clock):
    owner.put_raw_group(THIS)
    with owner.consumer(owner.connect(sleep=clock.sleep), wait_s=5, group_wait_s=5) as consumer:
        messages = iter(next(iter(consumer)))
        next(messages)
        owner.set_attribute(mq.MQIA_INHIBIT_GET, mq.MQQA_GET_INHIBITED)
        clock.on_sleep = lambda: owner.set_attribute(mq.MQIA_INHIBIT_GET, mq.MQQA_GET_ALLOWED)
        assert [message.data for message in messages] == THIS[1:]
        assert len(clock.naps) == 1
        clock.on_sleep = lambda: None
        owner.set_attribute(mq.MQIA_INHIBIT_GET, mq.MQQA_GET_INHIBITED)
        with pytest.raises(errors.QueueInhibited):
            next(iter(consumer))
        assert 4 < sum(clock.naps[1:]) < 6
        owner.set_attribute(mq.MQIA_INHIBIT_GET, mq.MQQA_GET_ALLOWED)


@pytest.mark.parametrize(
    "error",
    [
        errors.PoisonMessage("ORDERS", bytes(24), 4, 7, 3),
        errors.GroupQuarantined("ORDERS", bytes(24), 4, "ORDERS.BACKOUT"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_errors_pickle(error):
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


@pytest.mark.embedded
@pytest.mark.parametrize("policy", ["skip", "quarantine"])
@pytest.mark.parametrize("when", ["before", "after"])
@each_call(least=20, most=36)
def test_what_is_moved_is_moved_once_whatever_call_loses_the_connection(make_owner, faults, when, policy, call):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group(THIS)
    find_poison(owner)
    # Now it is moved, on a connection that is lost at one call.
    connection = owner.connect(reconnect_wait_s=30)
    faults.clear_faults()
    faults.arm(Fault("drop", when, nth=call.nth))
    done = []
    with (
        owner.consumer(connection, commit_every=3, poison=policy) as consumer,
        contextlib.suppress(errors.GroupQuarantined),
    ):
        for group in consumer:
            done += [message.data for message in group]
    fired = faults.faults_fired()
    faults.clear_faults()
    moved = owner.on_queue("TEST.BACKOUT")
    assert [one.data for one in moved] == (THIS[4:5] if policy == "skip" else THIS[4:])
    assert done == (THIS[5:] if policy == "skip" else [])
    assert owner.data() == owner.records("get") == []
    empty(owner, "TEST.BACKOUT")
    connection.close()
    call.check(fired)
