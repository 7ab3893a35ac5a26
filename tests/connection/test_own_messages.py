"""What an application puts and gets itself, in the units of work of a group: once for each message, in whatever way a try ends.

The rules are those of the page Wrapping: after the group's message, or before it if the application gives ``last=``.
"""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import itertools

import pytest

import mqgroups
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mqi

ROWS = [b"%d" % number for number in range(10)]


class Failed(Exception):
    """The application's own trouble."""


class Application:
    """Puts rows as a group, and an own message for each; or gets a group, and puts an own message for each of its messages."""

    def __init__(self, owner, q_mgr, binding, log):
        self.owner, self.q_mgr, self.binding = owner, q_mgr, binding
        self.log = log
        self.queue = binding.Queue(q_mgr, log, mqi.MQOO_OUTPUT)

    def note(self, data):
        """Put an own message in syncpoint."""
        self.queue.put(data, self.binding.MD(), self.binding.PMO(Options=mqi.MQPMO_SYNCPOINT))

    def put(self, group, row):
        """Put a row and its own message, in this application's order."""
        raise NotImplementedError  # each side does its own

    def load(self, qmgr, end=lambda *_: None, at=-1, **more):
        """Put what is left of the group; ``end`` is called at row ``at``, before it is put."""
        with self.owner.producer(qmgr, commit_every=4, **more) as producer, producer.group() as group:
            for number, row in itertools.islice(enumerate(ROWS), group.resume_from, None):
                if number == at:
                    end(producer, group)
                    if group._has_ended:
                        return
                self.put(group, row)

    def assert_once(self):
        """Each row is in the group once, and has one message of its own."""
        assert self.owner.data() == ROWS
        assert self.owner.data(self.log) == ROWS


class After(Application):
    def put(self, group, row):
        group.put(row)
        self.note(row)


class Before(Application):
    def put(self, group, row):
        self.note(row)
        group.put(row, last=row == ROWS[-1])


@pytest.fixture(params=[After, Before])
def application(request, owner, mq, binding, make_queue):
    q_mgr = mq.connect(binding)
    yield request.param(owner, q_mgr, binding, make_queue())
    q_mgr.disconnect()


# Of units of work of four rows: nothing is put yet; one is held back; one has just ended; the last row.
rows = pytest.mark.parametrize("at", [0, 1, 5, 9])


@rows
@pytest.mark.parametrize("same", [True, False], ids=["same producer", "new producer"])
def test_an_exception_in_the_group_backs_out_the_own_messages_too(application, at, same):
    def fail(*_):
        raise Failed

    with mqgroups.wrap(application.q_mgr) as qmgr:
        if same:
            with application.owner.producer(qmgr, commit_every=4) as producer:
                with pytest.raises(Failed), producer.group() as group:
                    for number, row in enumerate(ROWS):
                        if number == at:
                            raise Failed
                        application.put(group, row)
                with producer.group() as group:
                    for row in ROWS[group.resume_from :]:
                        application.put(group, row)
        else:
            with pytest.raises(Failed):
                application.load(qmgr, fail, at)
            application.load(qmgr)
    application.assert_once()


@rows
def test_a_stop_backs_out_the_own_messages_too(application, at):
    with mqgroups.wrap(application.q_mgr) as qmgr:
        try:
            application.load(qmgr, lambda producer, _: producer.stop(), at)
        except errors.Stopped:
            application.load(qmgr)
    application.assert_once()


@rows
def test_a_full_queue_backs_out_the_own_messages_too(application, at):
    owner = application.owner
    with mqgroups.wrap(application.q_mgr) as qmgr:
        honest = connection_of(qmgr).binding.MQPUT

        def full(hconn, hobj, md, pmo, data):
            if data == ROWS[at]:
                return md, pmo, mqi.MQCC_FAILED, mqi.MQRC_Q_FULL
            return honest(hconn, hobj, md, pmo, data)

        owner.doctor(qmgr, MQPUT=full)
        with pytest.raises(errors.QueueUnavailable):
            application.load(qmgr)
    with mqgroups.wrap(application.q_mgr) as qmgr:
        application.load(qmgr)
    application.assert_once()


@rows
def test_an_abandoned_group_has_the_own_messages_of_those_that_were_put(application, at):
    with mqgroups.wrap(application.q_mgr) as qmgr:
        application.load(qmgr, lambda _, group: group.abandon(), at)
    put = [data for data in application.owner.data() if data]
    assert application.owner.data(application.log) == put == ROWS[: len(put)]


@pytest.mark.parametrize("bad", [0, 2, 3])
def test_the_own_messages_of_a_consumer_come_again_with_their_messages_if_one_does_not_decode(
    owner, mq, binding, make_queue, bad
):
    texts = [b"no JSON" if number == bad else b"%d" % number for number in range(4)]
    owner.put_raw_group(texts)
    q_mgr = mq.connect(binding)
    application = Application(owner, q_mgr, binding, make_queue())

    def process(qmgr, **more):
        with owner.consumer(qmgr, commit_every=3, **more) as consumer:
            for group in consumer:
                for message in group:
                    application.note(message.data)

    with mqgroups.wrap(q_mgr) as qmgr:
        with pytest.raises(errors.PoisonMessage):
            process(qmgr, codec=mqgroups.codecs.json)
        process(qmgr)
    assert (owner.data(), owner.data(application.log)) == ([], texts)
    q_mgr.disconnect()
