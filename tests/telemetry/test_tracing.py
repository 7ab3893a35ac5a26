"""Spans: of each unit of work, of its commit or back out, of recovery, and of each message where that is asked for."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import itertools
import logging

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from mqembedded import Fault
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.telemetry import context, metrics
from mqgroups.telemetry import owner as owner_telemetry
from mqgroups.telemetry import semantic_conventions as sc
from tests.fix_batches import interrupt, messages
from tests.fix_telemetry import ids, linked, of, place_of
from tests.put.whole_groups import THIS, Crash
from tests.test_pipe import run

EACH_MESSAGE = {"trace": "message"}


def where(owner):
    """What all spans of an owner say."""
    return {
        "messaging.system.name": "ibmmq",
        "messaging.destination.name": owner.queue,
        "messaging.client.id": owner.name,
        **place_of(owner),
    }


# --- units of work


def test_a_unit_of_work_that_is_put_is_a_span_above_its_commit(owner, spans):
    owner.put_group(THIS, commit_every=3)
    ended = spans()
    assert [span.name for span in ended] == [f"commit {owner.queue}", f"put {owner.queue}"] * 3
    commits, puts = ended[::2], ended[1::2]
    assert {span.kind for span in ended} == {SpanKind.CLIENT}
    assert {span.status.status_code for span in ended} == {StatusCode.UNSET}
    group_id = owner.on_queue()[0].group_id.hex()
    assert [dict(span.attributes) for span in puts] == [
        {
            **where(owner),
            "messaging.operation.name": "put",
            "messaging.operation.type": "send",
            "messaging.batch.message_count": messages,
            "messaging.ibmmq.group_id": group_id,
            "messaging.ibmmq.msg_seq_number": number,
            "messaging.ibmmq.unit_of_work": unit_of_work,
        }
        for unit_of_work, (messages, number) in enumerate([(3, 3), (3, 6), (1, 7)], 1)
    ]
    settle = {"messaging.operation.name": "commit", "messaging.operation.type": "settle"}
    assert [dict(span.attributes) for span in commits] == [{**where(owner), **settle}] * 3
    for commit, put in zip(commits, puts, strict=True):
        assert (commit.parent.span_id, put.parent) == (ids(put)[1], None)
        assert put.start_time <= commit.start_time < commit.end_time <= put.end_time
    assert all(before.end_time <= after.start_time for before, after in itertools.pairwise(puts))
    assert len({ids(put)[0] for put in puts}) == 3


def test_the_units_of_work_of_a_group_with_a_name_have_it_also_after_a_restart(owner, spans):
    with owner.producer() as producer:
        with producer.group(name="orders 0815") as group:
            owner.put_all(group, THIS)
        with producer.group() as group:
            group.put(b"")
    owner.interrupt_get()
    assert [len(data) for data in owner.get_groups()] == [3, 1]
    named = [(span.name.split()[0], span.attributes.get("mqgroups.group.name")) for span in spans()]
    named = [each for each in named if each[0] != "commit"]
    mine, none = "orders 0815", None
    puts, gets = [("put", mine)] * 4 + [("put", none)], [("get", mine)] * 2
    assert named[:7] == puts + gets
    assert named[-4:] == [("recover", mine), ("get", mine), ("get", mine), ("get", none)]


@pytest.mark.usefixtures("no_api_exit")
def test_a_unit_of_work_that_is_got_is_a_span_above_its_commit(owner, spans):
    owner.put_raw_group(THIS)
    group_id = owner.on_queue()[0].group_id.hex()
    assert owner.get_groups(commit_every=4) == [THIS]
    ended = spans()
    assert [span.name for span in ended] == [f"commit {owner.queue}", f"get {owner.queue}"] * 2
    gets = ended[1::2]
    assert {span.kind for span in ended} == {SpanKind.CLIENT}
    assert dict(gets[1].attributes) == {
        **where(owner),
        "messaging.operation.name": "get",
        "messaging.operation.type": "receive",
        "messaging.batch.message_count": 3,
        "messaging.ibmmq.group_id": group_id,
        "messaging.ibmmq.msg_seq_number": 7,
        "messaging.ibmmq.unit_of_work": 2,
    }
    assert [linked(span) for span in gets] == [[], []]


def test_units_of_work_are_below_the_application_s_span(owner, spans):
    with spans.tracer.start_as_current_span("nightly load") as application:
        owner.put_group(THIS, commit_every=3)
    puts = spans.named(f"put {owner.queue}")
    assert [put.parent.span_id for put in puts] == [ids(application)[1]] * 3


def test_the_time_before_the_first_message_is_nobody_s(owner, spans, background):
    with owner.consumer(wait_s=30) as consumer:
        waiting = background(lambda: next(iter(consumer)))
        owner.put_raw_group(THIS)
        before_it_came = owner.on_queue  # whatever takes time
        before_it_came()
        assert [message.data for message in waiting.result()] == THIS
    first = spans.named(f"get {owner.queue}")[0]
    assert first.attributes[sc.BATCH_MESSAGE_COUNT] == 2


def test_a_unit_of_work_that_was_backed_out_is_a_span_with_an_error(owner, spans):
    with owner.producer() as producer, pytest.raises(Crash), producer.group() as group:
        owner.put_all(group, THIS[:4])
        raise Crash
    *_, committed, back_out, backed_out = spans()
    assert committed.status.status_code is StatusCode.UNSET
    assert (back_out.name, back_out.parent.span_id) == (f"back out {owner.queue}", ids(backed_out)[1])
    assert back_out.attributes[sc.OPERATION_TYPE] == "settle"
    assert back_out.status.status_code is StatusCode.UNSET
    assert (backed_out.status.status_code, backed_out.status.description) == (StatusCode.ERROR, "Crash")
    assert backed_out.attributes["error.type"] == "Crash"
    assert backed_out.attributes[sc.BATCH_MESSAGE_COUNT] == 1


def test_a_consumer_that_fails_at_its_first_message_is_seen(owner, spans):
    owner.put_raw_group(THIS)
    with pytest.raises(Crash), owner.consumer() as consumer:
        for _ in next(iter(consumer)):
            raise Crash
    back_out, got = spans()
    assert (back_out.name, got.name) == (f"back out {owner.queue}", f"get {owner.queue}")
    assert (got.status.status_code, got.attributes[sc.BATCH_MESSAGE_COUNT]) == (StatusCode.ERROR, 0)


@pytest.mark.parametrize("trace_mode", ["unit of work", "message"])
def test_the_span_of_a_failure_names_the_error_and_the_message_in_hand(owner, spans, trace_mode):
    owner.put_raw_group(THIS)
    group_id = owner.on_queue()[0].group_id
    with pytest.raises(Crash), owner.consumer(owner.connect(trace=trace_mode), commit_every=5) as consumer:
        for message in next(iter(consumer)):
            if message.msg_seq_number == 3:
                raise Crash
    ended = spans()
    (got,) = (span for span in ended if span.name == f"get {owner.queue}")
    assert (got.status.description, got.attributes["error.type"]) == ("Crash", "Crash")
    assert (got.attributes[sc.GROUP_ID], got.attributes[sc.MSG_SEQ_NUMBER]) == (group_id.hex(), 3)
    processes = [span for span in ended if span.name == f"process {owner.queue}"]
    assert [span.attributes.get("error.type") for span in processes] == (
        [] if trace_mode == "unit of work" else [None, None, "Crash"]
    )


@pytest.mark.embedded
def test_a_group_that_is_not_begun_has_no_identifier(owner, spans, faults):
    with owner.producer() as producer, pytest.raises(errors.MQIError), producer.group() as group:
        faults.arm(Fault("answer", verb="MQPUT", reason=2102))
        group.put(b"0")
        group.put(b"1")
    (put,) = spans.named(f"put {owner.queue}")
    assert not {sc.GROUP_ID, sc.MSG_SEQ_NUMBER} & set(put.attributes)


@pytest.mark.embedded
def test_the_error_that_backed_out_is_named(owner, spans, faults):
    with (
        owner.producer(commit_every=100, put_response="sync") as producer,
        pytest.raises(errors.MQIError, match="2102"),
        producer.group() as group,
    ):
        faults.arm(Fault("answer", verb="MQPUT", nth=3, reason=2102))
        owner.put_all(group, THIS)
    _, put = spans()
    assert (put.status.status_code, put.status.description) == (StatusCode.ERROR, "MQIError")
    assert put.attributes["error.type"] == "MQRC_RESOURCE_PROBLEM"
    assert put.attributes["messaging.ibmmq.reason_code"] == 2102


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("fault", "name", "error_type", "reason"),
    [
        (Fault("answer", verb="MQCMIT", reason=2003), "MQIError", "MQRC_BACKED_OUT", 2003),
        (Fault("drop", verb="MQCMIT"), "CommitOutcomeUnknown", "MQRC_CONNECTION_BROKEN", 2009),
    ],
)
def test_a_commit_that_failed_is_a_span_with_an_error(owner, spans, faults, fault, name, error_type, reason):
    with owner.producer(commit_every=100) as producer, pytest.raises(errors.MQIError), producer.group() as group:
        faults.arm(fault)
        owner.put_all(group, THIS)
    found = {span.name.split()[0]: span for span in spans()}
    for span in found["commit"], found["put"]:
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, name)
        assert (span.attributes["error.type"], span.attributes[sc.REASON_CODE]) == (error_type, reason)


def test_a_unit_of_work_without_messages_is_no_span(owner, spans):
    with owner.producer() as producer, producer.group() as group:
        group.set_checkpoint("done")
        group.put(b"0")
    assert len(spans()) == 2  # not one more for the record that was put first, nor for taking it away
    assert owner.get_groups() == [[b"0"]]
    assert len(spans()) == 2
    assert owner.get_groups() == []
    assert spans() == ()


@pytest.mark.embedded
@pytest.mark.parametrize("trace_what", ["off", "unit of work", "message"])
def test_tracing_makes_no_call_of_its_own(owner, spans, count_calls, trace_what):
    with owner.producer(owner.connect(trace=trace_what), commit_every=3, put_response="sync") as producer:
        count_calls()
        with producer.group() as group:
            owner.put_all(group, THIS)
        assert count_calls() == {"MQPUT": 10, "MQGET": 3, "MQCMIT": 3}


def test_a_pipe_s_outgoing_unit_of_work_is_below_the_incoming_one(owner, make_queue, spans):
    target = make_queue()
    owner.put_raw_group(THIS)
    with owner.qmgr.group_pipe(owner.queue, target, name=owner.name, commit_every=4, wait_s=0) as pipe:
        run(pipe, lambda data: [data])
    ended = spans()
    puts = [span for span in ended if span.name == f"put {target}"]
    gets = [span for span in ended if span.name == f"get {owner.queue}"]
    assert (len(puts), len(gets), len(ended)) == (2, 2, 6)  # and a commit of both, once each
    assert [put.parent.span_id for put in puts] == [ids(get)[1] for get in gets]


# --- messages


def test_with_trace_message_every_message_that_is_put_is_a_span(owner, spans):
    owner.put_group(THIS, commit_every=4, qmgr=owner.connect(**EACH_MESSAGE))
    ended = spans()
    puts = [span for span in ended if span.name == f"put {owner.queue}"]
    creates = [span for span in ended if span.name == f"create {owner.queue}"]
    assert (len(puts), len(creates), len(ended)) == (2, 7, 11)
    assert {span.kind for span in creates} == {SpanKind.PRODUCER}
    assert dict(creates[3].attributes) == {
        "messaging.system.name": "ibmmq",
        "messaging.operation.name": "create",
        "messaging.operation.type": "create",
        "messaging.destination.name": owner.queue,
        "messaging.ibmmq.msg_seq_number": 4,
        "messaging.message.id": owner.on_queue()[3].md.MsgId.hex(),
    }
    # Puts in between are asynchronous, and return no MsgId.
    assert [sc.MESSAGE_ID in span.attributes for span in creates] == [True, False, False, True, False, False, True]
    assert [linked(put) for put in puts] == [list(map(ids, creates[:4])), list(map(ids, creates[4:]))]
    assert [span.parent.span_id for span in creates] == [ids(puts[0])[1]] * 4 + [ids(puts[1])[1]] * 3


def test_with_trace_message_the_span_of_a_message_is_current_while_it_is_processed(owner, spans):
    owner.put_raw_group(THIS)
    current = []
    with owner.consumer(owner.connect(**EACH_MESSAGE), commit_every=4) as consumer:
        for message in next(iter(consumer)):
            current.append(ids(trace.get_current_span()))
            with spans.tracer.start_as_current_span(f"handle {message.msg_seq_number}"):
                pass
        assert trace.get_current_span() is trace.INVALID_SPAN
    ended = spans()
    processes = [span for span in ended if span.name == f"process {owner.queue}"]
    handles = [span for span in ended if span.name.startswith("handle")]
    assert [ids(span) for span in processes] == current
    assert {span.kind for span in processes} == {SpanKind.CONSUMER}
    assert of(processes, sc.MSG_SEQ_NUMBER) == [1, 2, 3, 4, 5, 6, 7]
    assert of(processes, sc.OPERATION_TYPE) == ["process"] * 7
    assert [span.parent.span_id for span in handles] == [span_id for _, span_id in current]


def test_the_application_s_spans_are_below_the_unit_of_work_that_gets_its_messages(owner, spans):
    owner.put_raw_group(THIS)
    seen = []
    with owner.consumer(commit_every=4) as consumer:
        consumer.before_commit(lambda _: seen.append(trace.get_current_span()))
        for message in next(iter(consumer)):
            with spans.tracer.start_as_current_span(f"handle {message.msg_seq_number}"):
                seen.append(trace.get_current_span())
        assert trace.get_current_span() is trace.INVALID_SPAN
    ended = spans()
    gets = [span for span in ended if span.name == f"get {owner.queue}"]
    handles = [span for span in ended if span.name.startswith("handle")]
    assert [span.parent.span_id for span in handles] == [ids(gets[0])[1]] * 4 + [ids(gets[1])[1]] * 3
    assert [ids(span) in map(ids, gets) for span in seen].count(True) == 2  # those before the commits


def test_loops_that_take_turns_leave_no_span_behind(owner, make_owner, spans):
    other = make_owner()
    with spans.tracer.start_as_current_span("application") as application:
        for each in owner, other:
            each.put_raw_group(THIS)
        with owner.consumer() as one, other.consumer() as two:
            loops = [iter(next(iter(consumer))) for consumer in (one, two)]
            for _ in THIS:
                assert [next(loop).msg_seq_number for loop in loops]
            assert [next(loop, None) for loop in loops] == [None, None]
            assert trace.get_current_span() is application
    gets = [span for span in spans() if span.name.startswith("get ")]
    assert {span.parent.span_id for span in gets} == {ids(application)[1]}


def test_before_a_commit_no_message_is_current(owner, spans):
    owner.put_raw_group(THIS)
    with spans.tracer.start_as_current_span("nightly load") as application:
        with owner.consumer(owner.connect(**EACH_MESSAGE), commit_every=4) as consumer:
            current = []
            consumer.before_commit(lambda _: current.append(trace.get_current_span()))
            for _ in next(iter(consumer)):
                assert trace.get_current_span() is not application
        assert current == [application] * 2
        assert trace.get_current_span() is application


@pytest.mark.usefixtures("no_api_exit")
def test_the_application_may_do_with_the_current_span_what_it_does_with_any(owner, spans):
    owner.put_raw_group(THIS[:2])
    other = spans.tracer.start_span("other")
    with owner.consumer(owner.connect(**EACH_MESSAGE)) as consumer:
        for message in next(iter(consumer)):
            if message.msg_seq_number == 1:
                span = trace.get_current_span()
                assert span.is_recording()
                span.set_attribute("order.lines", 3)
                span.set_attributes({"order.currency": "EUR"})
                span.add_event("checked", {"by": "rules"})
                span.add_link(other.get_span_context())
                span.record_exception(Crash("but dealt with"))
                span.set_status(StatusCode.OK)
                span.update_name("order")
                span.end()
    (span,) = spans.named("order")
    assert (span.attributes["order.lines"], span.attributes["order.currency"]) == (3, "EUR")
    assert span.attributes[sc.MSG_SEQ_NUMBER] == 1
    assert [event.name for event in span.events] == ["checked", "exception"]
    assert linked(span) == [ids(other)]
    assert span.status.status_code is StatusCode.OK


def test_the_span_of_a_message_in_segments_goes_on_over_units_of_work(owner, spans):
    owner.put_group([b"abcdefghij", b"0"], segment_bytes=2)
    spans()
    with owner.consumer(owner.connect(**EACH_MESSAGE), stream=True) as consumer:
        seen = set()
        for message in next(iter(consumer)):
            for _ in message.chunks():
                seen.add((message.msg_seq_number, ids(trace.get_current_span())))
    processes = spans.named(f"process {owner.queue}")
    assert seen == {(1, ids(processes[0])), (2, ids(processes[1]))}
    assert of(processes, sc.MSG_SEQ_NUMBER) == [1, 2]
    assert processes[0].end_time <= processes[1].start_time


@pytest.mark.usefixtures("no_api_exit")
@pytest.mark.parametrize("propagate", [False, True])
def test_in_a_unit_of_work_that_is_sampled_out_no_message_has_a_span(owner, monkeypatch, measured, propagate):
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    tracer = provider.get_tracer("mqgroups")
    asked: list[str] = []
    start_span = tracer.start_span

    def started(name, *more, **named):
        asked.append(name)
        return start_span(name, *more, **named)

    monkeypatch.setattr(owner_telemetry, "TRACER", tracer)
    monkeypatch.setattr(tracer, "start_span", started)
    owner.put_group(THIS, commit_every=100, qmgr=owner.connect(propagate=propagate, **EACH_MESSAGE))
    before = trace.get_current_span()
    seen = set()
    with owner.consumer(owner.connect(**EACH_MESSAGE), commit_every=100) as consumer:
        for message in next(iter(consumer)):
            assert int(message.properties.get("traceparent", "0")[-1], 16) & trace.TraceFlags.SAMPLED == 0
            assert ("traceparent" in message.properties) is propagate
            context_of_span = trace.get_current_span().get_span_context()
            seen.add((context_of_span.is_valid, context_of_span.trace_flags.sampled))
    assert seen == {(True, False)}
    assert trace.get_current_span() is before
    assert {name.split()[0] for name in asked} == {"put", "get", "commit"}
    ((count, _),) = measured()["messaging.process.duration"].values()
    assert count == len(THIS)


def test_an_application_that_fails_leaves_no_span_current(owner, spans):
    owner.put_raw_group(THIS)
    with pytest.raises(Crash), owner.consumer(owner.connect(**EACH_MESSAGE)) as consumer:
        for message in next(iter(consumer)):
            if message.msg_seq_number == 2:
                raise Crash
    assert trace.get_current_span() is trace.INVALID_SPAN
    processes = spans.named(f"process {owner.queue}")
    assert [span.status.status_code for span in processes] == [StatusCode.UNSET, StatusCode.ERROR]


@pytest.mark.embedded
def test_a_message_that_cannot_be_put_is_a_span_with_an_error(owner, spans, faults):
    qmgr = owner.connect(**EACH_MESSAGE)
    with (
        owner.producer(qmgr, commit_every=9, put_response="sync") as producer,
        pytest.raises(errors.MQIError),
        producer.group() as group,
    ):
        faults.arm(Fault("answer", verb="MQPUT", nth=2, reason=2102))
        owner.put_all(group, THIS)
    created = spans.named(f"create {owner.queue}")
    assert [span.attributes.get("error.type") for span in created] == [None, "MQRC_RESOURCE_PROBLEM"]


def test_with_trace_off_there_are_no_spans(owner, spans):
    qmgr = owner.connect(trace="off")
    owner.put_group(THIS, qmgr=qmgr)
    assert owner.get_groups(qmgr=qmgr) == [THIS]
    assert spans() == ()


def test_a_trace_setting_that_there_is_not_is_refused(owner):
    with pytest.raises(errors.ConfigurationError, match="'unit of work', 'message' or 'off', got 'all'"):
        owner.connect(trace="all")


# --- groups and owners


def test_a_producer_that_resumes_links_to_the_unit_of_work_it_stopped_after(owner, spans):
    owner.interrupt_put(THIS[:6])
    *_, last_committed = spans()
    assert (last_committed.name, last_committed.attributes[sc.UNIT_OF_WORK]) == (f"put {owner.queue}", 2)
    owner.resume_put(THIS)
    recover, _, first, *_ = spans()
    assert (recover.name, recover.kind, recover.parent) == (f"recover {owner.queue}", SpanKind.INTERNAL, None)
    assert dict(recover.attributes) == {
        **where(owner),
        "messaging.operation.name": "recover",
        "messaging.ibmmq.group_id": owner.on_queue()[0].group_id.hex(),
        "messaging.ibmmq.msg_seq_number": 4,
        "messaging.ibmmq.offset": 0,
        "messaging.ibmmq.unit_of_work": 2,
        "mqgroups.outcome": "resumed",
        "mqgroups.epoch": 2,
    }
    assert linked(recover) == linked(first) == [ids(last_committed)]
    assert ids(first)[0] != ids(last_committed)[0]
    assert recover.start_time < recover.end_time


@pytest.mark.usefixtures("no_api_exit")
def test_a_consumer_that_resumes_links_to_the_unit_of_work_it_stopped_after(owner, spans):
    owner.interrupt_get(of=THIS)
    gets = spans.named(f"get {owner.queue}")
    assert owner.get_groups() == [THIS[4:]]
    recover, _, first, *_ = spans()
    assert (recover.attributes[sc.OUTCOME], recover.attributes[sc.MSG_SEQ_NUMBER]) == ("resumed", 4)
    assert linked(recover) == linked(first) == [ids(gets[1])]


def test_a_group_that_was_put_without_tracing_is_resumed_without_a_link(owner, spans):
    qmgr = owner.connect(trace="off")
    owner.open_group(THIS[:6], qmgr)
    qmgr.close()
    with owner.producer():
        (recover,) = spans()
    assert recover.links == ()


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "outcome"), [("before", "backed out"), ("after", "committed")])
@pytest.mark.parametrize("role", ["put", "get"])
def test_a_commit_in_doubt_is_a_span_that_tells_the_verdict(owner, spans, faults, role, when, outcome):
    owner.put_raw_group(THIS)
    qmgr = owner.connect(reconnect_wait_s=30)
    if role == "put":
        with owner.producer(qmgr, commit_every=4) as producer, producer.group() as group:
            faults.arm(Fault("drop", verb="MQCMIT", when=when))
            owner.put_all(group, THIS)
    else:
        with owner.consumer(qmgr, commit_every=4) as consumer:
            group = next(iter(consumer))
            faults.arm(Fault("drop", verb="MQCMIT", when=when))
            assert [message.data for message in group] == THIS
    ended = spans()
    (recover,) = (span for span in ended if span.name == f"recover {owner.queue}")
    assert (recover.attributes[sc.OUTCOME], recover.attributes[sc.REASON_CODE]) == (outcome, 2009)
    assert recover.attributes[sc.UNIT_OF_WORK] == 1
    assert recover.status.status_code is StatusCode.UNSET
    units = [span for span in ended if span.name == f"{role} {owner.queue}"]
    assert recover.parent.span_id == ids(units[0])[1]
    lost = [(1, 4, "connection lost")] if when == "before" else []
    assert [
        (span.attributes[sc.UNIT_OF_WORK], span.attributes[sc.BATCH_MESSAGE_COUNT], span.attributes.get("error.type"))
        for span in units
    ] == [*lost, (1, 4, None), (2, 3, None)]


@pytest.mark.embedded
def test_lost_ownership_is_a_span_with_an_error(owner, spans, faults):
    qmgr = owner.connect(reconnect_wait_s=30)
    connection = connection_of(qmgr)
    connect_again = connection._connect
    assert connect_again is not None

    def connect_too_late():
        connection._connect = connect_again
        owner.producer(owner.connect(trace="off"), owner_wait_s=30)
        return connect_again()

    connection._connect = connect_too_late
    with pytest.raises(errors.OwnershipLost), owner.producer(qmgr) as producer, producer.group() as group:
        owner.put_all(group, THIS[:5])
        faults.arm(Fault("drop", verb="MQPUT"))
        group.put(THIS[5])
    (recover,) = spans.named(f"recover {owner.queue}")
    assert recover.attributes[sc.OUTCOME] == "ownership lost"
    assert (recover.status.status_code, recover.status.description) == (StatusCode.ERROR, "OwnershipLost")


def test_abandoning_is_an_event_of_both_sides(owner, spans):
    with owner.producer() as producer, producer.group() as group:
        owner.put_all(group, THIS[:5])
        group.abandon(7, "the source is gone")
    put = spans.named(f"put {owner.queue}")[-1]
    assert [(event.name, dict(event.attributes)) for event in put.events] == [
        ("group abandoned", {"mqgroups.result": 7})
    ]
    with owner.consumer(commit_every=100) as consumer, pytest.raises(errors.GroupAbandoned):
        list(next(iter(consumer)))
    (got,) = spans.named(f"get {owner.queue}")
    assert [(event.name, dict(event.attributes)) for event in got.events] == [
        ("group abandoned", {"mqgroups.result": 7})
    ]


@pytest.mark.parametrize("policy", ["halt", "quarantine"])
def test_poison_is_an_event(make_owner, spans, policy):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group(THIS)
    owner.get_poison(policy, between=spans)
    events = [(event.name, dict(event.attributes)) for span in spans() for event in span.events]
    moved = {} if policy == "halt" else {"messaging.ibmmq.backout_queue": "TEST.BACKOUT"}
    poison = ("poison message", {"messaging.ibmmq.msg_seq_number": 5, "messaging.ibmmq.backout_count": 5, **moved})
    quarantined = ("group quarantined", {"messaging.ibmmq.msg_seq_number": 5, **moved})
    assert events == ([poison, quarantined] if policy == "quarantine" else [poison])
    assert len(owner.data("TEST.BACKOUT")) == (0 if policy == "halt" else 3)
    owner.empty("TEST.BACKOUT")


# --- groups of a batch, and what an operator does


def test_a_group_of_a_batch_is_traced_and_measured_as_any(batches, spans, measured):
    queue, sink = batches.queue, batches.sink
    assert batches.attempt().put_group("A", messages("A", 3)) == 3
    ended = spans()
    assert [span.name for span in ended] == [f"commit {queue}", f"put {queue}"] * 2  # nothing for the claim
    assert of(ended[1::2], "messaging.client.id") == [f"{sink}/0/A"] * 2
    assert of(ended[1::2], "messaging.batch.message_count") == [2, 1]
    found = measured()
    ((_, groups),) = found["mqgroups.group.messages"].items()
    assert groups == (1, 3)
    status_queue = {"messaging.system.name": "ibmmq", "messaging.destination.name": batches.status_queue}
    assert found["mqgroups.status.queue.wait"][frozenset(status_queue.items())][0] == 1
    # None is made for a group that is there already.
    assert batches.attempt().put_group("A", messages("A", 3)) == 0
    assert spans() == ()


def test_an_attempt_that_goes_on_links_to_where_the_one_before_stopped(batches, spans):
    interrupt(batches.attempt(), "A", 5, after=4)
    stopped_after = spans.named(f"put {batches.queue}")[0]
    assert batches.attempt().put_group("A", messages("A", 5)) == 3
    recover, _, first, *_ = spans()
    assert (recover.name, recover.attributes[sc.OUTCOME]) == (f"recover {batches.queue}", "resumed")
    assert (recover.attributes[sc.MSG_SEQ_NUMBER], recover.attributes[sc.EPOCH]) == (2, 2)
    assert linked(recover) == linked(first) == [ids(stopped_after)]


def test_an_attempt_that_is_fenced_is_seen(batches, spans, measured):
    def overtaken():
        for number, message in enumerate(messages("A", 5), 1):
            if number == 4:
                batches.attempt(batches.owner.connect(trace="off")).put_group("A", messages("A", 5))
            yield message

    with pytest.raises(errors.OwnershipLost):
        batches.attempt().put_group("A", overtaken())
    *_, fenced = spans.named(f"put {batches.queue}")
    assert (fenced.status.status_code, fenced.status.description) == (StatusCode.ERROR, "OwnershipLost")
    assert list(measured()["mqgroups.ownership_losses"].values()) == [1]


def test_a_record_that_was_salvaged_is_resumed_with_a_link_to_that(owner, spans):
    owner.interrupt_put(THIS[:6])
    owner.empty(owner.status_queue("put"))
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue, check=True)
    spans()
    operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    (salvage,) = spans()
    group_id = owner.on_queue()[0].group_id.hex()
    assert (salvage.name, salvage.kind) == (f"recover {owner.queue}", SpanKind.INTERNAL)
    assert dict(salvage.attributes) == {
        **where(owner),
        "messaging.operation.name": "recover",
        "messaging.ibmmq.group_id": group_id,
        "messaging.ibmmq.msg_seq_number": 4,
        "mqgroups.outcome": "salvaged",
    }
    owner.resume_put(THIS)
    assert linked(spans()[0]) == [ids(salvage)]
    assert owner.get_groups() == [THIS]


def test_a_group_that_was_moved_is_a_span_and_keeps_its_context(owner, make_queue, spans):
    away = make_queue()
    owner.put_group(THIS, commit_every=100, qmgr=owner.connect(propagate=True))
    (put,) = spans.named(f"put {owner.queue}")
    group_id = owner.on_queue()[0].group_id
    operate.move_group(owner.qmgr, owner.queue, group_id, to=away)
    (move,) = spans()
    assert dict(move.attributes) == {
        "messaging.system.name": "ibmmq",
        "messaging.operation.name": "recover",
        "messaging.destination.name": owner.queue,
        "messaging.batch.message_count": 7,
        **place_of(owner),
        "messaging.ibmmq.group_id": group_id.hex(),
        "messaging.ibmmq.backout_queue": away,
        "mqgroups.outcome": "moved",
    }
    assert owner.get_groups(queue=away) == [THIS]
    assert linked(spans.named(f"get {away}")[0]) == [ids(put)]


def test_a_repair_that_is_refused_is_a_span_with_an_error(owner, spans):
    with pytest.raises(errors.RepairRefused):
        operate.salvage_owner(owner.qmgr, owner.name, "put", queue=owner.queue)
    (refused,) = spans()
    assert (refused.status.status_code, refused.status.description) == (StatusCode.ERROR, "RepairRefused")
    assert refused.attributes["error.type"] == "RepairRefused.nothing-interrupted"


# --- providers


def test_a_provider_that_is_set_after_the_import_is_used(program):
    done = program.run("""
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
with connect() as qmgr, qmgr.group_producer(queue, name=name, commit_every=2) as producer, producer.group() as group:
    for number in range(5):
        group.put(b"%d" % number)
scopes = {(s.instrumentation_scope.name, s.instrumentation_scope.schema_url) for s in exporter.get_finished_spans()}
print(len(exporter.get_finished_spans()), *scopes)
""")
    expected = "6 ('mqgroups', 'https://opentelemetry.io/schemas/1.45.0')\n"
    assert (done.stdout, done.stderr) == (expected, "")


def test_without_a_provider_nothing_is_recorded_and_the_sdk_is_not_loaded(program, owner):
    done = program.run("""
with connect() as qmgr, qmgr.group_producer(queue, name=name, commit_every=2) as producer, producer.group() as group:
    for number in range(5):
        group.put(b"%d" % number)
from mqgroups.telemetry import owner
print(owner.TRACER.start_span("x").is_recording(), "opentelemetry.sdk" in sys.modules)
""")
    assert (done.stdout.split(), done.stderr) == (["False", "False"], "")
    assert len(owner.data()) == 5


class Exploding:
    """Whatever is asked of it, it fails."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"no {name} today")


class ExplodingTracer:
    """Its spans fail whatever is asked of them."""

    def start_span(self, *_, **__):
        return Exploding()


@pytest.mark.parametrize(
    ("tracer", "trace_what"),
    [(Exploding(), "message"), (ExplodingTracer(), "unit of work"), (ExplodingTracer(), "message")],
)
def test_a_provider_that_fails_is_told_of_once_and_breaks_nothing(owner, monkeypatch, caplog, tracer, trace_what):
    monkeypatch.setattr(owner_telemetry, "TRACER", tracer)
    monkeypatch.setattr(metrics, "INSTRUMENTS", Exploding())
    monkeypatch.setattr(context, "PROPAGATOR", Exploding())
    qmgr = owner.connect(trace=trace_what, propagate=True)
    for _ in range(3):
        owner.put_group(THIS, qmgr=qmgr)
    assert owner.get_groups(qmgr=qmgr) == [THIS] * 3
    owner.interrupt_put(THIS[:6])
    owner.put_group([b"the rest"], qmgr=qmgr)
    told = [record for record in caplog.records if record.name == "mqgroups.telemetry"]
    assert told
    assert {record.levelno for record in told} == {logging.WARNING}
    assert len({record.getMessage() for record in told}) == len(told)


def test_an_exporter_that_fails_breaks_nothing(owner, monkeypatch, caplog):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

    class Failing(SpanExporter):
        def export(self, _):
            raise OSError("nobody listens")

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Failing()))
    monkeypatch.setattr(owner_telemetry, "TRACER", provider.get_tracer("mqgroups"))
    owner.put_group(THIS)
    assert owner.get_groups() == [THIS]
    provider.shutdown()
