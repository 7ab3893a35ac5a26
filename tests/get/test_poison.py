"""A message that makes its consumer fail whenever it is processed: found among the innocent, and halted, or moved with its group.

BOTHRESH and BOQNAME are the queue's; the queue manager does nothing with them (IBM MQ, topic q103010).
"""

from __future__ import annotations

import contextlib
import itertools
from types import SimpleNamespace

import pytest

from mqembedded import Fault
from mqembedded import constants as mq
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.connection.retry import Patience
from mqgroups.core.status import decode
from tests.fix_groups import Program

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
    owner.empty(name)


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


def test_a_message_that_fails_again_and_again_is_got_once_more_at_each_second_start(poisoned):
    """What it needs may be back, for example a database, so nobody has to say so."""
    application = Application(poisoned)
    for failures in (2, 3, 4):
        with pytest.raises(errors.PoisonMessage):
            application.run()
        # The first time it took one start more: it has to fail alone twice.
        assert application.failures - 2 == failures
    application.run(bad=())
    assert application.done[-4:] == THIS[4:]
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


def test_behind_an_alias_poison_is_found_by_the_attributes_of_its_base_queue(poisoned, backout_queue):
    poisoned.put_group(THIS, queue="TEST.POISON.ALIAS")
    application = Application(poisoned, poison="quarantine", queue="TEST.POISON.ALIAS")
    with pytest.raises(errors.GroupQuarantined):
        application.run()
    assert application.done[-1] == b"3"
    assert poisoned.data(backout_queue) == THIS[4:]
    application.run()
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


def test_a_message_in_no_group_is_moved_alone(poisoned, backout_queue):
    poisoned.empty()
    for data in (b"1", BAD, b"2"):
        poisoned.put_raw(data)
    application = Application(poisoned, poison="quarantine")
    with pytest.raises(errors.GroupQuarantined):
        application.run()
    application.run()
    assert application.done == [b"1", b"2"]
    assert poisoned.data(backout_queue) == [BAD]
    assert poisoned.data() == poisoned.records("get") == []


@pytest.mark.parametrize("when", ["before the third message is moved", "after the commit of the second one"])
def test_a_quarantine_that_was_interrupted_goes_on(poisoned, backout_queue, when):
    # Only in the first case was the next message got before, and backed out.
    application = Application(poisoned, poison="quarantine", commit_every=1)
    qmgr = poisoned.connect()
    binding = connection_of(qmgr).binding
    put, commit = binding.MQPUT, binding.MQCMIT
    moved = []

    def fails_at_the_third(hconn, hobj, md, pmo, data):
        # Not status records. An API exit's header may be in front.
        moved.extend([] if data.endswith(b"}") else [data])
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
    application.settings["poison"] = "halt"
    with pytest.raises(errors.GroupQuarantined):
        application.run()
    assert [one.data for one in poisoned.on_queue(backout_queue)] == THIS[4:]
    assert poisoned.data() == []


def hurry(owner):
    """Put a group whose last message the application cannot process, and fail until all messages of it are suspected."""
    owner.put_raw_group(THIS[:3])
    for _ in range(2):
        with owner.consumer(commit_every=100) as consumer:
            assert [message.data for message in itertools.islice(next(iter(consumer)), 3)] == THIS[:3]


_KILLED = """
with connect() as q_mgr:
    consumer = q_mgr.group_consumer(queue, name=name, wait_s=0, group_wait_s=0)
    consumer.before_commit(lambda group: os.kill(os.getpid(), 9))
    for message in next(iter(consumer)):
        assert message.data == b"0"
"""


@pytest.mark.embedded
@pytest.mark.parametrize("fate", ["refused", "lost", "stays lost", "killed at work", "killed when through"])
def test_one_failure_that_is_not_its_own_makes_no_innocent_message_poison(
    make_owner, faults, binding, backout_queue, fate
):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    hurry(owner)
    # The first message is alone now.
    if fate.startswith("killed"):
        at_work = "        os.kill(os.getpid(), 9)" if fate == "killed at work" else ""
        assert Program(owner, binding.__name__).run(_KILLED + at_work).returncode == -9
    else:
        q_mgr = owner.connect(reconnect_wait_s=30 if fate == "lost" else 0)
        with owner.consumer(q_mgr, commit_every=100) as consumer, contextlib.suppress(errors.MQIError):
            messages = iter(next(iter(consumer)))
            assert next(messages).data == THIS[0]
            fault = ("answer", "before") if fate == "refused" else ("drop", "before")
            faults.arm(Fault(*fault, verb="MQCMIT", comp=2, reason=mq.MQRC_STORAGE_NOT_AVAILABLE))
            next(messages)
        faults.clear_faults()
    application = Application(owner, poison="quarantine", owner_wait_s=10)
    with pytest.raises(errors.GroupQuarantined) as caught:
        application.run(bad=(THIS[2],))
    assert (caught.value.msg_seq_number, owner.data(backout_queue)) == (3, [THIS[2]])


def test_a_message_that_kills_its_consumer_is_poison_by_its_second_rise(poisoned, backout_queue):
    """Nobody sees how a process fails that is killed: only the count tells."""
    for _ in range(4):
        q_mgr = poisoned.connect()
        for message in next(iter(poisoned.consumer(q_mgr, commit_every=1, poison="quarantine"))):
            if message.data == BAD:
                break
        q_mgr.close()
        assert poisoned.on_queue(backout_queue) == []
    with pytest.raises(errors.GroupQuarantined):
        Application(poisoned, poison="quarantine").run()
    assert poisoned.data(backout_queue) == THIS[4:]


@pytest.mark.embedded
def test_a_program_that_goes_on_after_each_failure_gets_no_other_error_before_its_message_is_moved(
    poisoned, backout_queue, faults
):
    """Though connections are lost meanwhile, so that it takes more failures: they do not count as loops left for no reason."""
    raised = []
    with poisoned.consumer(poisoned.connect(reconnect_wait_s=30), commit_every=4, poison="quarantine") as consumer:
        for number in range(12):
            if number in (4, 7):
                # The message that would be convicted now is backed out by this.
                faults.arm(Fault("drop", "after", verb="MQGET"))
            try:
                for message in itertools.chain.from_iterable(consumer):
                    if message.data == BAD:
                        raise ZeroDivisionError
                break
            except (ZeroDivisionError, errors.GroupQuarantined) as error:
                raised.append(type(error))
    assert (set(raised[:-1]), raised[-1]) == ({ZeroDivisionError}, errors.GroupQuarantined)
    assert len(raised) > 6
    assert poisoned.data(backout_queue) == THIS[4:]


def test_consumers_that_suspect_a_message_in_turn_convict_nobody(make_owner, backout_queue):
    """Each backs out the first message of a group before it notes it, and another one, that waits, gets it meanwhile."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    hurry(owner)
    first = owner.consumer(owner.connect(), commit_every=100, poison="quarantine")
    group = iter(next(iter(first)))
    getter = first._getter
    isolate = getter.isolate

    def others_come_between(suspect):
        isolate(suspect)
        getter.isolate = isolate
        handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
        for _ in range(3):
            assert handle.get(mq.MQGMO_SYNCPOINT).data == THIS[0]
            owner.eye.back_out()
        handle.close()

    getter.isolate = others_come_between
    assert [next(group).data, next(group).data] == THIS[:2]
    first.close()
    owner.empty()


def starts(owner, most=10, **settings):
    """Start a consumer again and again, until it moves the rest of a group; returns what each start before that raised."""
    raised: list[str] = []
    for _ in range(most):
        with owner.consumer(commit_every=100, poison="quarantine", **settings) as consumer:
            try:
                [list(group) for group in consumer]
            except errors.GroupQuarantined:
                return raised
            except Exception as error:
                raised.append(type(error).__name__)
    return [*raised, "never moved"]


def test_a_codec_that_fails_in_any_way_whenever_it_gets_a_message_cannot_stop_its_consumer_for_ever(
    poisoned, backout_queue
):
    """Its sender chooses what is decoded, and not only ValueError comes of that."""

    def decode(data):
        if data == BAD:
            raise KeyError("a field that partners always send")
        return data

    raised = starts(poisoned, codec=SimpleNamespace(decode=decode))
    assert (set(raised), poisoned.data(backout_queue)) == ({"KeyError"}, THIS[4:])


def test_a_group_whose_abandonment_cannot_be_handled_cannot_stop_its_consumer_for_ever(poisoned, backout_queue):
    poisoned.empty()
    with poisoned.producer(commit_every=1) as producer:
        group = producer.group()
        for data in THIS[:3]:
            group.put(data)
        group.abandon(7, "a reason that the application cannot digest")
    poisoned.put_group([b"next"])

    def on_abandon(_):
        raise KeyError("reason")

    raised = starts(poisoned, on_abandon=on_abandon)
    assert set(raised) == {"KeyError"}
    assert [found.md.MsgType for found in poisoned.on_queue(backout_queue)] == [mq.MQMT_REPORT]
    assert poisoned.get_groups() == [[b"next"]]


@pytest.mark.embedded
def test_a_lost_connection_does_not_make_a_message_poison(make_owner, faults):
    """Whichever MQGET loses its reply: the backout count rises, and the application has not failed."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    for nth in range(1, 8):
        owner.put_raw_group(THIS[:3])
        for _ in range(2):
            with owner.consumer(commit_every=1) as consumer, contextlib.suppress(ZeroDivisionError):
                for message in next(iter(consumer)):
                    1 // (message.data != b"1")
        faults.arm(Fault("drop", "after", verb="MQGET", nth=nth))
        with owner.connect(reconnect_wait_s=30) as q_mgr, owner.consumer(q_mgr, commit_every=1) as consumer:
            got = [message.data for group in consumer for message in group]
        faults.clear_faults()
        assert (nth, got) == (nth, THIS[1:3])


@pytest.mark.embedded
def test_a_connection_that_does_not_come_back_does_not_make_a_message_poison_for_the_same_consumer(poisoned, faults):
    with pytest.raises(errors.PoisonMessage):
        Application(poisoned).run()
    q_mgr = poisoned.connect()
    consumer = poisoned.consumer(q_mgr, commit_every=1)
    messages = iter(next(iter(consumer)))
    assert next(messages).data == BAD
    faults.arm(Fault("drop", "before", verb="MQCMIT"))
    with pytest.raises(errors.MQGroupsError):
        next(messages)
    # Processed, and its commit was lost: it is got again, and it is not to blame.
    connection_of(q_mgr).reconnect = Patience(30)
    assert [message.data for group in consumer for message in group] == THIS[4:]
    q_mgr.close()


def test_the_suspect_of_a_message_in_no_group_is_known_by_its_msg_id(poisoned):
    """All messages in no group have the same GroupId and number; the next one may have a higher backout count."""
    poisoned.empty()
    poisoned.put_raw(b"bad")
    with pytest.raises(errors.PoisonMessage):
        Application(poisoned).run(bad=(b"bad",))
    poisoned.empty()
    poisoned.put_raw(b"good")
    handle = poisoned.eye.open(poisoned.queue, mq.MQOO_INPUT_SHARED)
    for _ in range(9):
        assert handle.get(mq.MQGMO_SYNCPOINT).data == b"good"
        poisoned.eye.back_out()
    handle.close()
    application = Application(poisoned)
    application.run()
    assert application.done == [b"good"]


def test_without_a_threshold_nobody_looks(owner):
    owner.put_raw_group(THIS)
    for _ in range(4):
        qmgr = owner.connect()
        next(iter(next(iter(owner.consumer(qmgr)))))
        qmgr.close()
    assert owner.get_groups() == [THIS]


def test_a_threshold_without_a_backout_queue_is_told_at_once(make_owner):
    owner = make_owner(model="TEST.THRESHOLD.MODEL")
    with pytest.raises(errors.ConfigurationError, match=r"BOTHRESH\(2\) but no BOQNAME"):
        owner.consumer(poison="quarantine")
    owner.consumer(poison="halt").close()


def test_policies_that_are_none_are_refused(owner):
    with pytest.raises(errors.ConfigurationError, match="poison must be"):
        owner.consumer(poison="drop")
    with pytest.raises(
        errors.ConfigurationError, match="cannot be combined with stream=True, because it moves whole messages"
    ):
        owner.consumer(poison="quarantine", stream=True)


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
        with pytest.raises(errors.QueueUnavailable):
            next(iter(consumer))
        # About once a second.
        assert (4 < sum(clock.naps[1:]) < 6, len(clock.naps[1:])) == (True, 5)
        owner.set_attribute(mq.MQIA_INHIBIT_GET, mq.MQQA_GET_ALLOWED)


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [2, 5])
def test_what_is_moved_is_moved_once_though_the_connection_is_lost(poisoned, backout_queue, faults, when, nth):
    find_poison(poisoned)
    # Now it is moved, on a connection that is lost at a commit: after the claim, the message and each three of the rest.
    connection = poisoned.connect(reconnect_wait_s=30)
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
    done = []
    with poisoned.consumer(connection, commit_every=1, poison="quarantine") as consumer:
        with pytest.raises(errors.GroupQuarantined):
            done += [message.data for message in next(iter(consumer))]
        assert list(consumer) == []
    assert faults.faults_fired() == 1
    assert (poisoned.data(backout_queue), done) == (THIS[4:], [])
    assert poisoned.data() == poisoned.records("get") == []


# --- messages whose segments the queue manager does not join (IBM MQ, topics q042760, q042770)


def put_unlike(owner, number, flags):
    """Put a message of group ``U`` as two segments of different character sets."""
    for offset, segment, ccsid in ((0, mq.MQMF_SEGMENT, 1208), (2, mq.MQMF_LAST_SEGMENT, 500)):
        place = {"GroupId": b"U" * 24, "MsgSeqNumber": number, "Offset": offset, "MsgFlags": flags | segment}
        owner.put_raw(b"%dx" % number, CodedCharSetId=ccsid, Persistence=1, **place)


IN, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP
# Of three messages, which one has such segments.
UNLIKE = (1, 2, 3)


@pytest.fixture(params=UNLIKE)
def unlike(make_owner, backout_queue, request):
    """An owner with a group of three messages, one of them with unlike segments, and a good group behind it; and its number."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    for number in (1, 2, 3):
        flags = LAST if number == 3 else IN
        if number == request.param:
            put_unlike(owner, number, flags)
        else:
            owner.put_raw(b"%d" % number, GroupId=b"U" * 24, MsgSeqNumber=number, MsgFlags=flags, Persistence=1)
    owner.put_raw(b"good", GroupId=b"V" * 24, MsgSeqNumber=1, MsgFlags=LAST, Persistence=1)
    return owner, request.param


def test_a_message_that_is_not_joined_halts_its_consumer_with_the_way_on(unlike):
    owner, number = unlike
    application = Application(owner)
    for _ in range(2):
        with pytest.raises(errors.PoisonMessage) as caught:
            application.run()
        assert application.done == [b"%d" % each for each in range(1, number)]
        assert caught.value.msg_seq_number == number
        for said in ("MQRC_INCONSISTENT_CCSIDS", "stream=True", "poison='quarantine'"):
            assert said in str(caught.value)
    with owner.consumer(stream=True) as consumer:
        assert [[b"".join(message.chunks()) for message in group] for group in consumer][-1] == [b"good"]


def test_a_group_with_a_message_that_is_not_joined_is_quarantined(unlike, backout_queue):
    owner, number = unlike
    with owner.consumer(poison="quarantine") as consumer:
        with pytest.raises(errors.GroupQuarantined, match="stream=True"):
            list(next(iter(consumer)))
        assert [[message.data for message in group] for group in consumer] == [[b"good"]]
    there = [(found.msg_seq_number, found.md.Offset, found.data) for found in owner.on_queue(backout_queue)]
    rest = [(each, 0, b"%d" % each) for each in range(number + 1, 4)]
    assert there == [(number, 0, b"%dx" % number), (number, 2, b"%dx" % number), *rest]
    assert [found.md.CodedCharSetId for found in owner.on_queue(backout_queue)][:2] == [1208, 500]


def test_what_is_moved_before_a_message_that_is_not_joined_is_moved_with_it(make_owner, backout_queue):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    put_unlike(owner, 1, IN)
    owner.put_raw(b"2", GroupId=b"U" * 24, MsgSeqNumber=2, MsgFlags=IN, Persistence=1)
    put_unlike(owner, 3, LAST)
    with owner.consumer(poison="quarantine", commit_every=100) as consumer, pytest.raises(errors.GroupQuarantined):
        list(next(iter(consumer)))
    assert [found.msg_seq_number for found in owner.on_queue(backout_queue)] == [1, 1, 2, 3, 3]


# --- messages that are longer than the consumer accepts


@pytest.mark.usefixtures("no_api_exit")
@pytest.mark.parametrize("longer", [(1,), (2,), (3,), (2, 3), (1, 2, 3)])
@pytest.mark.parametrize("in_segments", [False, True])
def test_a_message_that_is_too_long_is_moved_with_the_rest_of_its_group(make_owner, backout_queue, longer, in_segments):
    """Its sender chose its length; and a message in segments can be longer than any queue allows."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    for number in (1, 2, 3):
        place = {"GroupId": b"U" * 24, "MsgSeqNumber": number, "Persistence": 1}
        flags = LAST if number == 3 else IN
        if number not in longer:
            owner.put_raw(b"%d" % number, MsgFlags=flags, **place)
        elif in_segments:
            owner.put_raw(b"x" * 60, MsgFlags=flags | mq.MQMF_SEGMENT, **place)
            owner.put_raw(b"y" * 50, MsgFlags=flags | mq.MQMF_LAST_SEGMENT, Offset=60, **place)
        else:
            owner.put_raw(b"x" * 110, MsgFlags=flags, **place)
    owner.put_raw(b"good", GroupId=b"V" * 24, MsgSeqNumber=1, MsgFlags=LAST, Persistence=1)
    before = [(found.msg_seq_number, found.md.Offset, found.msg_flags, found.data) for found in owner.on_queue()]
    done: list[bytes] = []
    with owner.consumer(poison="quarantine", max_message_length=100, commit_every=100) as consumer:
        with pytest.raises(errors.GroupQuarantined, match="has 110 bytes, max_message_length is 100") as caught:
            done.extend(message.data for message in next(iter(consumer)))
        assert [[message.data for message in group] for group in consumer] == [[b"good"]]
    first = longer[0]
    assert (caught.value.msg_seq_number, done) == (first, [b"%d" % number for number in range(1, first)])
    moved = [(one.msg_seq_number, one.md.Offset, one.msg_flags, one.data) for one in owner.on_queue(backout_queue)]
    assert moved == [each for each in before[:-1] if each[0] >= first]


@pytest.mark.usefixtures("no_api_exit")
def test_of_messages_in_no_group_just_the_one_that_is_too_long_is_moved(make_owner, backout_queue):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    for data in (b"1", b"x" * 110, b"y" * 120, b"2"):
        owner.put_raw(data, Persistence=1)
    done = []
    with owner.consumer(poison="quarantine", max_message_length=100, commit_every=100) as consumer:
        for _ in range(2):
            with pytest.raises(errors.GroupQuarantined):
                done += [message.data for group in consumer for message in group]
        assert [message.data for group in consumer for message in group] == [b"2"]
    assert owner.data(backout_queue) == [b"x" * 110, b"y" * 120]


def test_a_quarantine_that_was_interrupted_moves_what_is_too_long_whatever_is_asked_for_now(make_owner, backout_queue):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group([b"x" * 110, b"y" * 110, b"3"])
    with owner.consumer(poison="quarantine", max_message_length=100, commit_every=1) as consumer:
        consumer.before_commit(lambda _: consumer.stop())
        with pytest.raises(errors.Stopped):
            list(next(iter(consumer)))
    assert owner.data(backout_queue) == [b"x" * 110]
    with owner.consumer(poison="halt", max_message_length=100) as consumer, pytest.raises(errors.GroupQuarantined):
        list(next(iter(consumer)))
    assert owner.data(backout_queue) == [b"x" * 110, b"y" * 110, b"3"]


@pytest.mark.usefixtures("no_api_exit")
def test_a_message_that_another_program_gives_back_meanwhile_is_not_moved_instead(make_owner, backout_queue):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw(b"1", Persistence=1)
    owner.put_raw(b"x" * 110, Persistence=1)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(mq.MQGMO_SYNCPOINT).data == b"1"
    with owner.consumer(poison="quarantine", max_message_length=100) as consumer:
        consumer.before_commit(lambda group: group.quarantined and owner.eye.back_out())
        with pytest.raises(errors.GroupQuarantined):
            list(next(iter(consumer)))
        assert [message.data for group in consumer for message in group] == [b"1"]
    assert owner.data(backout_queue) == [b"x" * 110]


@pytest.mark.embedded
@pytest.mark.parametrize("verb", ["MQOPEN", "MQGET", "MQPUT", "MQCMIT"])
def test_a_connection_that_is_lost_meanwhile_loses_and_doubles_no_segment(
    owner, make_owner, backout_queue, faults, verb
):
    for nth, when in itertools.product(range(1, 12), ("before", "after")):
        each = make_owner(model="TEST.BACKOUT.MODEL")
        each.put_raw(b"1", GroupId=b"U" * 24, MsgSeqNumber=1, MsgFlags=IN, Persistence=1)
        put_unlike(each, 2, IN)
        each.put_raw(b"3", GroupId=b"U" * 24, MsgSeqNumber=3, MsgFlags=LAST, Persistence=1)
        done = []
        with each.consumer(each.connect(reconnect_wait_s=30), poison="quarantine") as consumer:
            faults.arm(Fault("drop", when, verb=verb, nth=nth))
            with pytest.raises(errors.GroupQuarantined):
                done += [message.data for message in next(iter(consumer))]
        faults.clear_faults()
        moved = [(found.msg_seq_number, found.md.Offset) for found in each.on_queue(backout_queue)]
        assert (done, moved, each.data()) == ([], [(2, 0), (2, 2), (3, 0)], [])
        empty(each, backout_queue)
