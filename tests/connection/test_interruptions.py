"""An exception out of nowhere in the middle of a call, and the application goes on: with the same object, or with a new one.

KeyboardInterrupt stands for all of them. It comes before a call of the MQI or after it took effect, so that its answer is lost.
The campaign (``tests/faults/interruptions.py``) has it come at every line of the library.
"""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import contextlib
import gc
import inspect

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.handle import Handle
from mqgroups.connection.holder import connection_of
from mqgroups.connection.interruptions import WithBlock, call_and_keep
from mqgroups.mqi import constants as mqc
from mqgroups.put.group import OutgoingGroup
from tests.faults.interrupter import Interrupter, Place, Point
from tests.put.whole_groups import THIS, is_whole_group

# What MQOPEN answers is kept in the same C call, so an interruption behind it is one before the next call.
AFTER = ("MQCLOSE", "MQPUT", "MQGET", "MQCMIT", "MQBACK", "inquire")
VERBS = {"before": ("MQOPEN", *AFTER), "after": AFTER}
whens = pytest.mark.parametrize("when", ["before", "after"])


class Interruption:
    """Interrupts a connection at its n-th call from now on, of these verbs."""

    def __init__(self, owner, qmgr, *verbs):
        binding = connection_of(qmgr).binding
        self._left = 0
        self._when = ""
        owner.doctor(qmgr, **{verb: self._interrupted(getattr(binding, verb)) for verb in verbs})

    def _interrupted(self, call):
        def verb(*arguments):
            self._left -= 1
            if self._left:
                return call(*arguments)
            if self._when == "after":
                call(*arguments)
            raise KeyboardInterrupt

        return verb

    def comes(self, nth, when):
        self._left, self._when = nth, when

    @property
    def came(self):
        return self._left <= 0


@pytest.fixture(params=["connected", "wrapped"])
def qmgr(request, owner, mq, binding):
    """A connection of the library's own, or one of the application's."""
    if request.param == "connected":
        yield owner.connect()
        return
    q_mgr = mq.connect(binding)
    with mqgroups.wrap(q_mgr) as wrapped:
        yield wrapped
    q_mgr.disconnect()


def put_until_done(producer):
    """Put what is left of the group, as often as need be; returns how often it was interrupted."""
    interruptions = 0
    while producer.checkpoint != len(THIS):
        try:
            with producer.group() as group:
                assert group.checkpoint == (group.resume_from or None)
                for number in range(group.resume_from, len(THIS)):
                    group.set_checkpoint(number + 1)
                    group.put(THIS[number])
        except KeyboardInterrupt:
            interruptions += 1
    return interruptions


def get_until_done(groups, handle):
    """Have each message handled, as often as need be; returns how often it was interrupted."""
    interruptions = 0
    while True:
        try:
            for each in groups:
                handle(each)
        except KeyboardInterrupt:
            interruptions += 1
        else:
            return interruptions


def line_of(function, text):
    """Return the number of the line of a function that has this text."""
    source, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(source) if text in line)


# --- in the middle of a group


@whens
def test_a_producer_that_was_interrupted_goes_on_after_its_last_commit(owner, qmgr, when):
    for verb, nth in (("MQPUT", 1), ("MQPUT", 3), ("MQGET", 1), ("MQCMIT", 2), ("MQCMIT", 4)):
        interruption = Interruption(owner, qmgr, verb)
        with owner.producer(qmgr) as producer:
            interruption.comes(nth, when)
            assert put_until_done(producer) == 1, verb
            producer.forget()
        assert is_whole_group(owner.on_queue(), THIS), verb
        assert owner.on_queue(owner.status_queue("put")) == []
        owner.empty()


@whens
def test_a_consumer_that_was_interrupted_goes_on_after_its_last_commit(owner, qmgr, when):
    got: list[bytes] = []

    def handle(group):
        del got[group.resume_from :]
        got.extend(message.data for message in group)

    for verb, nth in (("MQGET", 1), ("MQGET", 3), ("MQPUT", 1), ("MQCMIT", 2), ("MQCMIT", 4)):
        owner.put_raw_group(THIS)
        interruption = Interruption(owner, qmgr, verb)
        with owner.consumer(qmgr) as consumer:
            interruption.comes(nth, when)
            assert get_until_done(consumer, handle) == 1, verb
        assert got == THIS, verb
        assert owner.data() == owner.on_queue(owner.status_queue("get")) == []


@whens
def test_a_pipe_that_was_interrupted_goes_on_after_its_last_commit(owner, qmgr, make_queue, when):
    def handle(groups):
        incoming, outgoing = groups
        for message in incoming:
            outgoing.put(message.data * 2)

    target = make_queue()
    for verb, nth in (("MQGET", 3), ("MQPUT", 1), ("MQPUT", 4), ("MQCMIT", 2), ("MQCMIT", 4)):
        owner.put_raw_group(THIS)
        interruption = Interruption(owner, qmgr, verb)
        with owner.pipe(target, qmgr) as pipe:
            interruption.comes(nth, when)
            assert get_until_done(pipe, handle) == 1, verb
        assert is_whole_group(owner.on_queue(target), [data * 2 for data in THIS]), verb
        assert owner.data() == []
        for role in ("get", "put"):
            assert owner.on_queue(owner.status_queue(role)) == []
        owner.empty(target)


@pytest.mark.parametrize(
    "at", ["_leave_block", "_let_go"], ids=["before the first thing that is done", "behind the last"]
)
def test_a_producer_that_was_interrupted_at_the_edge_of_its_groups_block_goes_on(owner, qmgr, monkeypatch, at):
    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    with owner.producer(qmgr) as producer:
        monkeypatch.setattr(OutgoingGroup, at, interrupted)
        assert put_until_done(producer) == 1
        # Resumed, or committed before.
        with producer.group() as group:
            assert group.resume_from == 0
            group.put(b"next")
        producer.forget()
    found = owner.on_queue()
    assert [message.data for message in found] == [*THIS, b"next"]
    assert len({message.group_id for message in found}) == 2
    assert owner.on_queue(owner.status_queue("put")) == []


def test_a_producer_that_was_interrupted_just_before_its_group_takes_the_turn_goes_on(owner, qmgr):
    line = line_of(OutgoingGroup._leave_block, "with self._turn")
    with owner.producer(qmgr, commit_every=100) as producer:
        with Interrupter([Point("KeyboardInterrupt", Place("put/group.py", line), 1)]) as interrupter:
            assert put_until_done(producer) == 1
        assert interrupter.fired == 1
    assert is_whole_group(owner.on_queue(), THIS)


def test_a_group_may_be_left_by_an_exit_stack(owner, qmgr):
    with owner.producer(qmgr) as producer, contextlib.ExitStack() as stack:
        group = stack.enter_context(producer.group())
        for number in range(len(THIS)):
            group.put(THIS[number])
        with pytest.raises(errors.GroupUsage, match="the last group has not ended, so its"):
            producer.group()
    assert is_whole_group(owner.on_queue(), THIS)


@whens
def test_a_group_in_which_a_call_was_interrupted_takes_nothing_more(owner, qmgr, when):
    interruption = Interruption(owner, qmgr, "MQPUT")
    with owner.producer(qmgr) as producer:
        with pytest.raises(errors.GroupUsage, match="Leave its with block"), producer.group() as group:
            group.put(THIS[0])
            interruption.comes(1, when)
            with pytest.raises(KeyboardInterrupt):
                group.put(THIS[1])
            with pytest.raises(errors.GroupUsage, match="failed with KeyboardInterrupt"):
                group.put(THIS[2])
        assert owner.data() == []
        assert put_until_done(producer) == 0
    assert is_whole_group(owner.on_queue(), THIS)


def test_a_group_takes_nothing_more_if_the_call_was_interrupted_before_it_did_anything(owner, qmgr):
    line = line_of(OutgoingGroup.put, "self._check_open()")
    with owner.producer(qmgr, commit_every=100) as producer:
        with pytest.raises(errors.GroupUsage, match="Leave its with block"), producer.group() as group:
            group.put(THIS[0])
            group.put(THIS[1])
            with (
                Interrupter([Point("KeyboardInterrupt", Place("put/group.py", line), 1)]),
                pytest.raises(KeyboardInterrupt),
            ):
                group.put(THIS[2])
            with pytest.raises(errors.GroupUsage, match="failed with a call that was interrupted"):
                group.put(THIS[3])
        assert put_until_done(producer) == 0
    assert is_whole_group(owner.on_queue(), THIS)


# --- where it begins, and where it ends


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_start_that_is_interrupted_at_any_call_is_made_again_on_the_same_connection(owner, qmgr, role):
    for when, verbs in VERBS.items():
        for verb in [verb for verb in verbs if verb not in ("MQCLOSE", "MQBACK")]:
            interruption = Interruption(owner, qmgr, verb)
            interruption.comes(1, when)
            with pytest.raises(KeyboardInterrupt):
                owner.start(role, qmgr)
            driver = owner.start(role, qmgr)
            assert owner.record(role)["state"] == "idle"
            driver.close()
            assert owner.on_queue(owner.status_queue(role)) == []


@pytest.mark.parametrize("role", ["put", "get"])
def test_closing_that_is_interrupted_at_any_call_is_made_good_by_the_next_owner(owner, qmgr, role):
    for when in VERBS:
        for verb, nth in (("MQGET", 1), ("MQCMIT", 1), ("MQCLOSE", 1), ("MQCLOSE", 2)):
            interruption = Interruption(owner, qmgr, verb)
            driver = owner.start(role, qmgr)
            interruption.comes(nth, when)
            with pytest.raises(KeyboardInterrupt):
                driver.close()
            driver.close()
            owner.start(role, qmgr).close()
            assert owner.on_queue(owner.status_queue(role)) == []


@whens
def test_a_group_is_resumed_after_its_producer_was_interrupted_as_it_closed(owner, qmgr, when):
    interruption = Interruption(owner, qmgr, "MQBACK")
    producer = owner.producer(qmgr)
    group = producer.group()
    for number in range(4):
        group.set_checkpoint(number + 1)
        group.put(THIS[number])
    interruption.comes(1, when)
    with pytest.raises(KeyboardInterrupt):
        producer.close()
    assert owner.data() == THIS[:2]
    with owner.producer(qmgr) as producer:
        assert producer.checkpoint == 2
        assert put_until_done(producer) == 0
    assert is_whole_group(owner.on_queue(), THIS)


@whens
def test_an_owner_goes_on_whose_neighbour_on_the_connection_was_interrupted(owner, make_owner, qmgr, when):
    """All that is open on the connection is closed then, its queues too."""
    neighbour = make_owner()
    interruption = Interruption(owner, qmgr, "MQCMIT")
    with owner.producer(qmgr) as producer, neighbour.producer(qmgr) as beside:
        interruption.comes(2, when)
        assert put_until_done(producer) == 1
        assert put_until_done(beside) == 0
        producer.forget()
        beside.forget()
    assert is_whole_group(owner.on_queue(), THIS)
    assert is_whole_group(neighbour.on_queue(), THIS)
    for each in (owner, neighbour):
        assert each.on_queue(each.status_queue("put")) == []


# --- where nothing may be lost


def places_of(act):
    """Return where an interruption can come in ``act``: at each line and opcode of the library."""
    with Interrupter(opcodes=True) as interrupter:
        act()
    return list(interrupter.reached)


def test_the_result_of_a_c_function_is_kept_wherever_an_interruption_comes():
    for place in places_of(lambda: call_and_keep([], [1].pop)):
        given = [1]
        kept: list[int] = []
        with Interrupter([Point("KeyboardInterrupt", place, 1)]), pytest.raises(KeyboardInterrupt):
            call_and_keep(kept, given.pop)
        assert given + kept == [1], place


def test_an_object_whose_wrapping_was_interrupted_can_be_disconnected(mq, binding):
    q_mgr = mq.connect(binding)
    places = [each for each in places_of(lambda: mqgroups.wrap(q_mgr)) if each.file == "connection/wrapping.py"]
    q_mgr.disconnect()
    for place in places:
        q_mgr = mq.connect(binding)
        with Interrupter([Point("KeyboardInterrupt", place, 1)]), pytest.raises(KeyboardInterrupt):
            mqgroups.wrap(q_mgr)
        q_mgr.disconnect()


class Block(WithBlock):
    def __enter__(self):
        return self

    def _leave_block(self, kind, error, traceback):
        pass


def entered_and_left(block):
    with block:
        pass


def test_nobody_is_in_a_block_after_an_interruption_also_while_its_error_is_held():
    for place in places_of(lambda: entered_and_left(Block())):
        block = Block()
        with Interrupter([Point("KeyboardInterrupt", place, 1)]), pytest.raises(KeyboardInterrupt) as held:
            entered_and_left(block)
        assert held.value.__traceback__ is not None
        assert not block._is_in_block, place


def test_a_connection_whose_block_was_left_is_closed_wherever_an_interruption_comes(owner):
    text, first = inspect.getsourcelines(mqgroups.QueueManager._leave_block)
    ends = range(first, first + len(text))
    places = places_of(lambda: entered_and_left(owner.connect()))
    places = [each for each in places if each.file == "queue_manager.py" and each.line in ends and each.offset < 0]
    assert len(places) > 1
    for place in places:
        q_mgr = owner.connect()
        # Its status queue is open, and stays open as long as the connection does.
        producer = owner.producer(q_mgr)
        with Interrupter([Point("KeyboardInterrupt", place, 1)]), pytest.raises(KeyboardInterrupt):
            entered_and_left(q_mgr)
        owner.producer(owner.connect(), owner_wait_s=0).close()
        assert not q_mgr.usable, place
        producer.close()


@pytest.mark.embedded
def test_an_interruption_between_two_tries_to_connect_is_not_swallowed(owner, faults, clock, monkeypatch):
    """Python only prints what is raised in ``__del__``, so no handle may be collected before the last try."""
    collected: list[int] = []
    tries = 4

    def sleep(seconds):
        gc.collect()
        assert collected == []
        clock.sleep(seconds)

    def refuse():
        faults.arm(Fault("answer", verb="MQCONNX", reason=mqc.MQRC_Q_MGR_NOT_AVAILABLE, times=tries))

    gc.collect()
    monkeypatch.setattr(Handle, "__del__", lambda handle: collected.append(handle.hconn))
    refuse()
    with owner.connect(connect_wait_s=60, reconnect_wait_s=60, sleep=sleep) as q_mgr:
        assert len(clock.naps) >= tries
        with owner.producer(q_mgr) as producer:
            faults.arm(Fault("drop", verb="MQPUT", nth=2))
            refuse()
            assert put_until_done(producer) == 0
            assert len(clock.naps) >= 2 * tries
        assert collected == []
    assert is_whole_group(owner.on_queue(), THIS)
