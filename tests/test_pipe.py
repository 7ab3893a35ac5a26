"""A group in, a group out, in the same units of work: exactly once, end to end, whatever is lost on the way."""

from __future__ import annotations

import io

import pytest

from mqembedded import Fault
from mqgroups import errors, operate
from mqgroups.core.status import decode
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS


class Side:
    """What a test needs of a pipe: the queue it gets from is its owner's, this is the one it puts to."""

    def __init__(self, owner, queue):
        self.owner = owner
        self.queue = queue

    def open(self, connection=None, **more):
        return self.owner.pipe(self.queue, connection, **more)

    def found(self):
        """Return the groups on the outgoing queue: lists of (data, last), and check numbers and identifiers."""
        groups: dict[bytes, list[tuple[bytes, bool]]] = {}
        for one in self.owner.on_queue(self.queue):
            members = groups.setdefault(one.group_id, [])
            assert one.msg_seq_number == len(members) + 1
            members.append((one.data, one.is_last))
        return list(groups.values())

    def found_anywhere(self):
        """Return (data, last) of what is on the outgoing queue, which may lack beginnings."""
        return [(one.data, one.is_last) for one in self.owner.on_queue(self.queue)]

    def is_idle(self):
        return self.owner.records("get") == self.owner.records("put") == []

    def is_done(self, *groups):
        """Whether groups with this data are there, and nothing is left to do."""
        return self.found() == list(map(whole, groups)) and self.owner.data() == [] and self.is_idle()


@pytest.fixture
def side(owner, make_queue):
    return Side(owner, make_queue())


def whole(payloads):
    return [(data, number == len(payloads)) for number, data in enumerate(payloads, 1)]


def doubled(data):
    return data * 2


def run(pipe, transform=lambda data: [doubled(data)]):
    """Transform all that there is; returns what was handed in, in order."""
    seen = []
    for incoming, outgoing in pipe:
        for message in incoming:
            seen.append(message.data)
            for data in transform(message.data):
                outgoing.put(data)
    return seen


@pytest.mark.parametrize(("every", "status"), [(1, "segmented"), (2, "classic"), (3, "segmented"), (100, "classic")])
def test_each_group_that_comes_in_goes_out_transformed(owner, side, every, status):
    owner.put_raw_group(THIS)
    owner.put_raw_group(THIS[:1])
    with side.open(commit_every=every, status_layout=status) as pipe:
        assert run(pipe) == [*THIS, *THIS[:1]]
    assert side.is_done([doubled(data) for data in THIS], [b"00"])


def test_a_message_may_become_several_or_none(owner, side):
    owner.put_raw_group(THIS)
    with side.open() as pipe:
        run(pipe, lambda data: [data] * (int(data) % 3 or data == b"6"))
    assert side.found() == [whole([b"1", b"2", b"2", b"4", b"5", b"5", b"6"])]


def test_an_empty_message_ends_a_group_when_the_last_one_is_committed_already(owner, side):
    owner.put_raw_group(THIS)
    with side.open(commit_every=2) as pipe:
        run(pipe, lambda data: [data] if data < b"3" else [])
    assert side.found() == [[(b"0", False), (b"1", False), (b"2", False), (b"", True)]]
    assert side.is_idle()


def test_a_group_of_which_nothing_is_made_is_none(owner, side):
    owner.put_raw_group(THIS)
    with side.open() as pipe:
        run(pipe, lambda _: [])
    assert side.found() == []
    assert owner.data() == []
    assert side.is_idle()


def test_what_is_put_is_committed_with_what_it_was_made_from(owner, side):
    owner.put_raw_group(THIS)
    with side.open(commit_every=2) as pipe:
        incoming, outgoing = next(iter(pipe))
        for number, message in enumerate(incoming):
            committed = number // 2 * 2
            assert owner.data() == THIS[number + 1 :] if number % 2 == 0 else True
            assert [data for group in side.found() for data, _ in group] == THIS[:committed]
            outgoing.put(message.data)


def test_an_exception_backs_both_sides_out_and_a_new_pipe_goes_on(owner, side):
    owner.put_raw_group(THIS)
    with pytest.raises(ZeroDivisionError), side.open(commit_every=2) as pipe:
        run(pipe, lambda data: [doubled(data)] if data != b"5" else [1 // 0])
    assert owner.data() == THIS[4:]
    assert side.found() == [[(doubled(data), False) for data in THIS[:4]]]
    with side.open(commit_every=2) as pipe:
        assert run(pipe) == THIS[4:]
    assert side.is_done([doubled(data) for data in THIS])


def test_the_checkpoint_is_the_incoming_sides(owner, side):
    owner.put_raw_group(THIS)
    connection = owner.connect()
    incoming, outgoing = next(iter(side.open(connection)))
    for message in incoming:
        outgoing.put(message.data)
        incoming.set_checkpoint(message.msg_seq_number)
        if message.data == b"5":
            break
    connection.close()
    with side.open() as pipe:
        incoming, _ = next(iter(pipe))
        assert (incoming.resume_from, incoming.checkpoint) == (4, 4)


def test_an_abandoned_group_is_abandoned_on_its_way_out(owner, side):
    with owner.producer() as producer, producer.group() as group:
        owner.put_all(group, THIS[:5])
        group.abandon(7)
    with side.open(commit_every=1) as pipe:
        with pytest.raises(errors.GroupAbandoned):
            run(pipe)
        owner.put_raw_group([b"next"])
        run(pipe)
    (abandoned, following) = side.found()
    assert abandoned == [*((doubled(data), False) for data in THIS[:4]), (b"", True)]
    assert following == [(b"nextnext", True)]
    last = owner.on_queue(side.queue)[4]
    assert (last.md.MsgType, last.md.Feedback) == (mq.MQMT_REPORT, mq.MQFB_APPL_FIRST + 7)
    assert side.is_idle()


def test_an_outgoing_group_is_put_to_while_it_is_the_current_one(owner, side):
    owner.put_raw_group(THIS)
    with side.open() as pipe:
        incoming, outgoing = next(iter(pipe))
        list(incoming)
    with pytest.raises(errors.GroupUsage, match="gone on to another group, or is closed"):
        outgoing.put(b"late")


def test_a_full_outgoing_queue_stops_the_pipe_and_nothing_is_lost(owner, make_owner, make_queue):
    side = Side(owner, make_queue("TEST.SMALL.MODEL"))
    owner.put_raw_group(THIS)
    with pytest.raises(errors.QueueUnavailable), side.open(commit_every=2) as pipe:
        run(pipe)
    got = len(side.found()[0])
    assert got == 2
    assert owner.data() == THIS[got:]
    # When somebody has made room, then it goes on, as far as there is.
    with make_owner(queue=side.queue).consumer() as consumer:
        messages = iter(next(iter(consumer)))
        assert [next(messages).data for _ in range(2)] == [b"00", b"11"]
        with pytest.raises(errors.GroupStalled):
            next(messages)
    with pytest.raises(errors.QueueUnavailable), side.open(commit_every=1) as pipe:
        run(pipe)
    assert [data for data, _ in side.found_anywhere()] == [doubled(data) for data in THIS[2:5]]
    assert owner.data() == THIS[5:]


@pytest.mark.parametrize("role", ["put", "get"])
@pytest.mark.parametrize("older", [False, True], ids=["cleared", "restored"])
def test_records_of_different_commits_stop_the_pipe(owner, side, role, older):
    """As when an operator clears one of the two status queues, or restores only that one."""
    owner.put_raw_group(THIS)
    status_queue = owner.status_queue(role)

    def die_at(last):
        with pytest.raises(ZeroDivisionError), side.open(commit_every=2, status_layout="classic") as pipe:
            run(pipe, lambda data: [data] if data != last else [1 // 0])

    die_at(b"3")
    backup = owner.on_queue(status_queue)
    die_at(b"5")
    before = side.found_anywhere()
    owner.empty(status_queue)
    for found in backup if older else []:
        owner.put_raw(found.data, status_queue, MsgId=found.md.MsgId, CorrelId=found.md.CorrelId)
    with pytest.raises(errors.StatusQueueUnusable, match="one of the two status records was removed"):
        side.open()
    (other,) = owner.records("get" if role == "put" else "put")
    assert decode(other).msg_seq_number == 4
    assert side.found_anywhere() == before
    assert owner.data() == THIS[4:]


def test_if_both_records_of_a_pipe_are_lost_and_what_it_put_was_got_the_rest_becomes_a_group_of_its_own(owner, side):
    """As the page Salvage says, if both records are lost: nothing is left to rebuild the outgoing one from."""
    owner.put_raw_group(THIS)
    with pytest.raises(ZeroDivisionError), side.open(commit_every=2) as pipe:
        run(pipe, lambda data: [doubled(data)] if data != b"5" else [1 // 0])
    owner.empty(side.queue)
    owner.empty(owner.status_queue("put"))
    with pytest.raises(errors.StatusQueueUnusable) as caught:
        side.open()
    assert caught.value.because == "disagree"
    owner.empty(owner.status_queue("get"))
    with pytest.raises(errors.RepairRefused):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=side.queue)
    operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue)
    with side.open() as pipe:
        assert run(pipe) == THIS[4:]
    assert side.is_done([doubled(data) for data in THIS[4:]])


def test_a_connection_has_one_unit_of_work_with_a_pipe_too(owner, side, make_owner):
    owner.put_raw_group(THIS)
    other = make_owner()
    with side.open() as pipe, other.producer(owner.qmgr) as producer:
        incoming, _ = next(iter(pipe))
        next(iter(incoming))
        group = producer.group()
        group.put(b"0")
        with pytest.raises(errors.GroupUsage, match="has an open unit of work on this connection"):
            group.put(b"1")


@pytest.mark.embedded
def test_a_pipe_stays_within_maxumsgs(make_owner, own_queue_manager, tmp_path):
    mqsc = tmp_path / "few.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(200)\nDEFINE QLOCAL(OUT) DEFPSIST(YES)\n")
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "ORDERS")
    side = Side(owner, "OUT")
    payloads = [b"%d" % number for number in range(40)]
    owner.put_raw_group(payloads)
    with side.open(commit_every=1000) as pipe:
        run(pipe, lambda data: [data] * 7)
    assert side.found() == [whole([data for data in payloads for _ in range(7)])]


def test_a_stream_goes_out_as_one_message(owner, side):
    owner.put_raw_group(THIS[:2])
    with side.open() as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(io.BytesIO(message.data * 3))
    assert side.found() == [whole([data * 3 for data in THIS[:2]])]


def test_what_goes_out_has_the_properties_format_and_correl_id_it_was_put_with(owner, side, make_owner):
    owner.put_raw_group(THIS[:3])
    with side.open() as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                number = message.msg_seq_number
                outgoing.put(message.data, properties={"number": number, "name": "ä"}, correl_id=b"C" * 24)
                with pytest.raises(errors.MessageRefused):
                    outgoing.put(message.data, properties={"": 1})
                if number == 3:
                    outgoing.put("text", format="MYFMT")
    with make_owner(queue=side.queue).consumer() as consumer:
        found = [
            (message.data, side.owner.own(message.properties), message.correl_id, message.format)
            for group in consumer
            for message in group
        ]
    assert found == [
        *((data, {"number": number, "name": "ä"}, b"C" * 24, "") for number, data in enumerate(THIS[:3], 1)),
        (b"text", {}, bytes(24), "MYFMT"),
    ]


# --- a connection that is lost


def pipe_with(faults, side, connection, every, *armed):
    """Have a pipe do one group under these faults."""
    side.owner.put_raw_group(THIS)
    for fault in armed:
        faults.arm(fault)
    with side.open(connection, commit_every=every) as pipe:
        assert run(pipe) == THIS
    assert faults.faults_fired() == len(armed), armed
    faults.clear_faults()
    assert side.is_done([doubled(data) for data in THIS])
    side.owner.empty(side.queue)


@pytest.mark.embedded
@pytest.mark.parametrize("every", [2, 100], ids=["many-units-of-work", "one-unit-of-work"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_pipe_goes_on_by_itself_whatever_call_loses_the_connection(owner, side, faults, when, every):
    connection = owner.connect(reconnect_wait_s=30)
    faults.clear_faults()
    for verb, nth in (("MQOPEN", 4), ("MQPUT", 1), ("MQPUT", 7), ("MQGET", 3), ("MQGET", 8), ("MQCMIT", 1)):
        pipe_with(faults, side, connection, every, Fault("drop", when, nth=nth, verb=verb))
    for nth in (2, 3):
        for reason in (mq.MQRC_CONNECTION_BROKEN, mq.MQRC_CALL_INTERRUPTED):
            pipe_with(faults, side, connection, every, Fault("answer", when, nth=nth, verb="MQCMIT", reason=reason))


@pytest.mark.embedded
def test_a_commit_found_to_have_taken_effect_stays_so_for_both_sides_when_the_connection_is_lost_once_more(
    owner, side, faults
):
    """The second loss after the commit, so also between reading the one status queue and the other."""
    connection = owner.connect(reconnect_wait_s=30)
    faults.clear_faults()
    # Makes the status queues, so that the ones after it open each queue once.
    pipe_with(faults, side, connection, 2)
    for verb, nths in (("MQOPEN", range(5, 9)), ("MQGET", range(12, 18))):
        for nth in nths:
            first = Fault("drop", "after", verb="MQCMIT", nth=3)
            pipe_with(faults, side, connection, 2, first, Fault("drop", verb=verb, nth=nth))


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "committed"), [("before", 2), ("after", 4)])
def test_a_pipe_whose_connection_is_lost_for_good_goes_on_when_it_is_started_again(
    owner, side, faults, when, committed
):
    owner.put_raw_group(THIS)
    qmgr = owner.connect()
    faults.arm(Fault("drop", when, nth=3, verb="MQCMIT"))
    with pytest.raises(errors.CommitOutcomeUnknown), side.open(qmgr) as pipe:
        run(pipe)
    with side.open(owner_wait_s=30) as pipe:
        assert run(pipe) == THIS[committed:]
    assert side.is_done([doubled(data) for data in THIS])


def test_what_is_committed_before_a_suspect_goes_out_with_it(make_owner, make_queue):
    # Given a third message with a backout count at the threshold
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    side = Side(owner, make_queue())
    owner.put_raw_group(THIS)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    third = owner.on_queue()[2].md.MsgId
    for _ in range(2):
        found = handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, md=owner.eye.mqi.md(MsgId=third))
        assert found.data == THIS[2]
        owner.eye.back_out()
    handle.close()
    # When a pipe gets it, and its program ends there
    qmgr = owner.connect()
    incoming, outgoing = next(iter(side.open(qmgr, commit_every=100)))
    for message in incoming:
        if message.data == THIS[2]:
            break
        outgoing.put(doubled(message.data))
    qmgr.close()
    # Then the two before it are got, and what was made of them is put
    assert owner.data() == THIS[2:]
    assert side.found_anywhere() == [(b"00", False), (b"11", False)]
    # And the end of the program alone does not make it poison
    with side.open(commit_every=100, owner_wait_s=30) as pipe:
        run(pipe)
    assert side.found() == [whole([doubled(data) for data in THIS])]


def test_a_message_of_which_the_queue_refuses_what_is_made_is_poison_for_a_program_that_goes_on(make_owner, make_queue):
    """Its sender chose its length, and MQPUT is called only before the commit."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    side = Side(owner, make_queue("TEST.SMALL.MODEL"))  # MAXMSGL(10)
    owner.put_raw_group([THIS[0], b"x" * 11])
    owner.put_raw_group(THIS[:1])
    raised = []
    with side.open(commit_every=1, poison="quarantine") as pipe:
        for _ in range(9):
            try:
                run(pipe, lambda data: [data])
                break
            except errors.EnvironmentFailure as error:
                raised.append(type(error))
    assert (set(raised[:-1]), raised[-1]) == ({errors.MessageTooLong}, errors.GroupQuarantined)
    assert owner.data("TEST.BACKOUT") == [b"x" * 11]
    assert side.found()[-1] == whole(THIS[:1])
    owner.empty("TEST.BACKOUT")


# --- asynchronous puts


def test_a_pipe_whose_puts_are_not_all_answered_does_the_same(owner, side):
    owner.put_raw_group(THIS)
    owner.put_raw_group(THIS[:1])
    with side.open(commit_every=3, put_response="async") as pipe:
        assert run(pipe, lambda data: [data] * 4) == [*THIS, *THIS[:1]]
    assert side.found() == [whole([data for data in THIS for _ in range(4)]), whole([b"0"] * 4)]
    assert owner.data() == []
    assert side.is_idle()


@pytest.mark.embedded
@pytest.mark.parametrize(("number", "reason"), [(1, mq.MQRC_Q_FULL), (5, mq.MQRC_BACKED_OUT), (8, mq.MQRC_Q_FULL)])
def test_whichever_put_of_a_pipe_fails_both_sides_are_done_again(owner, side, faults, number, reason):
    owner.put_raw_group(THIS[:4])
    with side.open(owner.connect(reconnect_wait_s=30), commit_every=100, put_response="async", full_wait_s=30) as pipe:
        faults.arm(Fault("answer", verb="MQPUT", nth=number, reason=reason))
        # The application sees each message once.
        assert run(pipe, lambda data: [data] * 2) == THIS[:4]
    assert faults.faults_fired() == 1
    assert side.is_done([data for data in THIS[:4] for _ in range(2)])


def test_a_pipe_whose_target_stays_full_is_the_same_error(owner, make_queue):
    side = Side(owner, make_queue("TEST.SMALL.MODEL"))  # MAXDEPTH(3)
    owner.put_raw_group(THIS)
    with side.open(commit_every=100, put_response="async") as pipe, pytest.raises(errors.QueueUnavailable):
        run(pipe)
    assert owner.data() == THIS
    assert side.found() == []
