"""Random puts, asynchronous ones too, gets, commits and backouts of messages that ask for reports, compared with a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_tests.fix_mqi import EMPTY, OK, failed, warning
from mqembedded import constants as mq

ROOM = 3  # of TEST.ASYNC.MODEL

booleans = st.booleans()
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"),
            booleans,
            st.sampled_from([0, mq.MQRO_COA, mq.MQRO_COD, mq.MQRO_COA | mq.MQRO_COD]),
            booleans,
            booleans,
        ),
        st.tuples(st.just("get"), booleans),
        st.just(("commit",)),
        st.just(("back_out",)),
    ),
    max_size=20,
)


@dataclass
class Model:
    """Messages as number and Report, reports as number of their step and Feedback; and what is put or got in the unit of work."""

    messages: list[tuple[int, int]] = field(default_factory=list)
    reports: list[tuple[int, int]] = field(default_factory=list)
    put: list[tuple[int, int]] = field(default_factory=list)
    got: list[tuple[int, int]] = field(default_factory=list)
    new_reports: list[tuple[int, int]] = field(default_factory=list)
    doomed: bool = False

    def end(self, *, commit):
        """End the unit of work."""
        self.messages = sorted(self.messages + (self.put if commit else self.got))
        if commit:
            self.reports = sorted(self.reports + self.new_reports)
        self.put, self.got, self.new_reports, self.doomed = [], [], [], False


@given(steps=steps)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reports_come_and_go_with_their_units_of_work(connection, make_queue, steps):
    queue, replies = make_queue("TEST.ASYNC.MODEL"), make_queue()
    out, source = connection.open(queue, mq.MQOO_OUTPUT), connection.open(queue, mq.MQOO_INPUT_SHARED)
    model = Model()
    for number, (what, *how) in enumerate(steps):
        if what == "put":
            syncpoint, report, asynchronous, persistent = how
            options = (mq.MQPMO_SYNCPOINT if syncpoint else 0) | (
                mq.MQPMO_ASYNC_RESPONSE if asynchronous else mq.MQPMO_SYNC_RESPONSE
            )
            fits = len(model.messages) + len(model.put) < ROOM
            persistence = mq.MQPER_PERSISTENT if persistent else mq.MQPER_NOT_PERSISTENT
            answer = out.put(b"%d" % number, options, Report=report, Persistence=persistence, ReplyToQ=replies.encode())
            assert answer.code == (OK if fits or asynchronous else failed(mq.MQRC_Q_FULL))
            if fits:
                (model.put if syncpoint else model.messages).append((number, report))
                if report & mq.MQRO_COA:
                    (model.new_reports if syncpoint else model.reports).append((number, mq.MQFB_COA))
            elif asynchronous and syncpoint and persistent:
                model.doomed = True
        elif what == "get":
            (syncpoint,) = how
            answer = source.get(mq.MQGMO_SYNCPOINT if syncpoint else 0)
            if syncpoint and model.doomed:
                assert answer.code == failed(mq.MQRC_BACKED_OUT)
            elif not model.messages:
                assert answer.code == EMPTY
            else:
                message = model.messages.pop(0)
                assert (answer.code, answer.data) == (OK, b"%d" % message[0])
                if syncpoint:
                    model.got.append(message)
                if message[1] & mq.MQRO_COD:
                    (model.new_reports if syncpoint else model.reports).append((number, mq.MQFB_COD))
        elif what == "commit":
            assert connection.commit() == (warning(mq.MQRC_BACKED_OUT) if model.doomed else OK)
            model.end(commit=not model.doomed)
        else:
            assert connection.back_out() == OK
            model.end(commit=False)
        assert [answer.data for answer in connection.browse(queue)] == [b"%d" % one[0] for one in model.messages]
        assert [answer.md.Feedback for answer in connection.browse(replies)] == [one[1] for one in model.reports]
        assert connection.depth(queue) == len(model.messages) + len(model.put)
        assert connection.depth(replies) == len(model.reports) + len(model.new_reports)
    connection.back_out()
    out.close()
    source.close()
