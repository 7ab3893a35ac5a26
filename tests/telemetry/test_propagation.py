"""Trace context in messages: ``traceparent`` and ``tracestate`` as message properties, written, read, and left alone."""

from __future__ import annotations

import functools
import importlib.util
import os
import struct
import subprocess
import sys

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags, TraceState

import mqgroups
from embedded_tests.fix_mqi import OK
from embedded_tests.fix_properties import MessageHandle, get, put, rfh2
from mqembedded import Fault
from mqembedded import constants as mq
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.telemetry import semantic_conventions as sc
from tests.fix_telemetry import ids, linked, traceparent

THIS = [b"%d" % number for number in range(7)]
PROPCTL = ["COMPAT", "NONE", "ALL", "FORCE", "V6COMPAT"]
REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
REMOTE_IDS = (0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)


def properties(owner, *names, queue=None):
    """Get all messages and return, of each, its data and the properties of these names."""
    handle = owner.eye.open(queue or owner.queue, mq.MQOO_INPUT_SHARED)
    received, found = MessageHandle(owner.eye), []
    while (answer := get(handle, received, mq.MQGMO_PROPERTIES_IN_HANDLE)).code == OK:
        found.append((answer.data, *(received.inquire(name).value for name in names)))
    handle.close()
    return found


def put_with(owner, *messages, last=True, **md):
    """Put a group of messages, each with properties given by name."""
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    for number, (data, values) in enumerate(messages, 1):
        sent = MessageHandle(owner.eye)
        for name, value in values.items():
            assert sent.set(name, value) == OK
        is_last = last and number == len(messages)
        flags = mq.MQMF_LAST_MSG_IN_GROUP if is_last else mq.MQMF_MSG_IN_GROUP
        options = mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_NO_SYNCPOINT
        assert put(handle, data, sent, options=options, MsgFlags=flags, **md).code == OK
    handle.close()


# --- what is put


def test_every_message_carries_the_span_of_its_unit_of_work(owner, spans):
    owner.put_group(THIS, commit_every=3, qmgr=owner.connect(propagate=True))
    puts = spans.named(f"put {owner.queue}")
    assert {span.kind for span in puts} == {SpanKind.PRODUCER}
    carried = [traceparent(puts[number]) for number in (0, 0, 0, 1, 1, 1, 2)]
    assert properties(owner, "traceparent") == list(zip(THIS, carried, strict=True))


def test_with_trace_message_each_carries_its_own_span(owner, spans):
    owner.put_group(THIS, commit_every=3, qmgr=owner.connect(propagate=True, trace="message"))
    ended = spans()
    assert {span.kind for span in ended if span.name == f"put {owner.queue}"} == {SpanKind.CLIENT}
    carried = [traceparent(span) for span in ended if span.name == f"create {owner.queue}"]
    assert properties(owner, "traceparent") == list(zip(THIS, carried, strict=True))


def test_with_trace_off_messages_carry_the_application_s_own_span(owner, spans):
    with spans.tracer.start_as_current_span("nightly load") as application:
        owner.put_group(THIS, qmgr=owner.connect(propagate=True, trace="off"))
    assert properties(owner, "traceparent") == [(data, traceparent(application)) for data in THIS]


@pytest.mark.usefixtures("no_api_exit")
def test_without_a_span_messages_carry_nothing(owner):
    owner.put_group(THIS, qmgr=owner.connect(propagate=True))
    assert properties(owner, "traceparent") == [(data, None) for data in THIS]


@pytest.mark.usefixtures("no_api_exit")
@pytest.mark.parametrize("settings", [{}, {"trace": "message"}])
def test_by_default_messages_carry_nothing(owner, spans, settings):
    owner.put_group(THIS, qmgr=owner.connect(**settings))
    assert properties(owner, "traceparent") == [(data, None) for data in THIS]


def test_a_tracestate_goes_along_and_does_not_stick(owner, spans):
    state = TraceState([("vendor", "a&b<c")])
    parent = SpanContext(*REMOTE_IDS, is_remote=True, trace_flags=TraceFlags(1), trace_state=state)
    with owner.producer(owner.connect(propagate=True)) as producer:
        for context in None, trace.set_span_in_context(trace.NonRecordingSpan(parent)), None:
            token = otel_context.attach(context) if context is not None else None
            with producer.group() as group:
                group.put(b"data")
            if token is not None:
                otel_context.detach(token)
    first, second, third = properties(owner, "traceparent", "tracestate")
    assert [one[2] for one in (first, second, third)] == [None, "vendor=a&b<c", None]
    assert [span.get_span_context().trace_id for span in spans.named(f"put {owner.queue}")][1] == REMOTE_IDS[0]


@pytest.mark.embedded
@pytest.mark.parametrize("trace_what", ["unit of work", "message"])
def test_trace_context_costs_no_call(owner, spans, count_calls, trace_what):
    qmgr = owner.connect(propagate=True, trace=trace_what)
    with owner.producer(qmgr, commit_every=3, put_response="sync") as producer, producer.group() as group:
        count_calls()
        owner.put_all(group, THIS[:6])
        assert count_calls() == {"MQPUT": 6, "MQGET": 1, "MQCMIT": 1}


# What the reader asks for, and what he sees of a property, wherever it was put.
READINGS = {
    "as the queue says": (0, False),
    "as the queue says, with a handle": (0, True),
    "MQGMO_PROPERTIES_IN_HANDLE": (mq.MQGMO_PROPERTIES_IN_HANDLE, True),
    "MQGMO_PROPERTIES_FORCE_MQRFH2": (mq.MQGMO_PROPERTIES_FORCE_MQRFH2, False),
    "MQGMO_PROPERTIES_COMPATIBILITY": (mq.MQGMO_PROPERTIES_COMPATIBILITY, False),
    "MQGMO_NO_PROPERTIES": (mq.MQGMO_NO_PROPERTIES, False),
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("control", [control for control in PROPCTL if control != "V6COMPAT"])
def test_a_reader_sees_the_same_property_as_if_it_was_put_with_a_message_handle(make_owner, spans, control, reading):
    options, has_handle = READINGS[reading]
    owner = make_owner(model=f"TEST.PROPCTL.{control}.MODEL")
    text = {"Format": mq.MQFMT_STRING, "CodedCharSetId": 1208}
    with owner.producer(owner.connect(propagate=True), commit_every=9) as producer, producer.group() as group:
        group.put(b"data")
        group.put("text")
    (unit,) = spans.named(f"put {owner.queue}")
    carried = {"traceparent": traceparent(unit)}
    put_with(owner, (b"data", carried))
    put_with(owner, (b"text", carried), **text)
    seen = []
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    for _ in range(4):
        received = MessageHandle(owner.eye) if has_handle else None
        answer = get(handle, received, options)
        data, described = answer.data, (answer.md.Format, answer.md.CodedCharSetId, answer.md.Encoding)
        if answer.md.Format == mq.MQFMT_RF_HEADER_2:
            # A header says how the data is, and inherits what it does not say; the header itself may be in any character set.
            length, encoding, ccsid, format_name = struct.unpack_from("3i8s", data, 8)
            described = format_name, answer.md.CodedCharSetId if ccsid == mq.MQCCSI_INHERIT else ccsid, encoding
            data = data[36:length] + b"|" + data[length:]
        properties = received.all() if received is not None else None
        seen.append((answer.code, data, described, properties))
    handle.close()
    assert seen[:2] == seen[2:]


@pytest.mark.parametrize("response", ["async", "sync"])
def test_a_message_that_is_too_long_with_a_header_has_its_context_in_a_handle(make_owner, spans, response):
    # MAXMSGL(10): what a handle has is no data (IBM MQ, topic "IBM MQ messages").
    owner = make_owner(model="TEST.SEGMENTS.10")
    long = [b"0" * 10, b"1" * 10, b"2" * 10]
    with owner.producer(owner.connect(propagate=True), put_response=response) as producer:
        with producer.group() as group:
            owner.put_all(group, long)
        with pytest.raises(errors.MessageTooLong, match="MQRC_MSG_TOO_BIG_FOR_Q"), producer.group() as group:
            owner.put_all(group, [b"3", b"4" * 11])
    found = properties(owner, "traceparent")
    assert [data for data, _ in found] == long
    assert None not in dict(found).values()


@pytest.mark.embedded
def test_context_goes_on_after_a_lost_connection(owner, spans, faults):
    qmgr = owner.connect(propagate=True, reconnect_wait_s=30)
    with owner.producer(qmgr, commit_every=3) as producer, producer.group() as group:
        for number, data in enumerate(THIS):
            if number == 5:
                faults.arm(Fault("drop", verb="MQPUT"))
            group.put(data)
    assert connection_of(qmgr).propagates
    puts = [span for span in spans.named(f"put {owner.queue}") if "error.type" not in span.attributes]
    carried = [traceparent(puts[number]) for number in (0, 0, 0, 1, 1, 1, 2)]
    assert properties(owner, "traceparent") == list(zip(THIS, carried, strict=True))


@pytest.mark.usefixtures("no_api_exit")
def test_segments_carry_nothing(owner, spans):
    owner.put_group([b"long" * 5, b"short"], commit_every=9, segment_bytes=8, qmgr=owner.connect(propagate=True))
    (unit,) = spans.named(f"put {owner.queue}")
    found = properties(owner, "traceparent")
    assert [one[1] for one in found] == [None, None, None, traceparent(unit)]


def test_context_that_the_application_gives_in_an_mqrfh2_of_its_own_is_left_alone(owner, spans):
    given = rfh2(f"<usr><traceparent>{REMOTE}</traceparent></usr>", ccsid=1208)
    another = rfh2("<usr><colour>green</colour></usr>", ccsid=1208)
    with owner.producer(owner.connect(propagate=True), commit_every=9) as producer, producer.group() as group:
        for header in given, another, given:
            group.put(header + b"data", format="MQHRF2")
    (unit,) = spans.named(f"put {owner.queue}")
    found = properties(owner, "traceparent", "colour")
    assert found == [(b"data", REMOTE, None), (b"data", traceparent(unit), "green"), (b"data", REMOTE, None)]


def test_a_message_s_own_properties_and_its_context_go_together(owner, spans):
    with owner.producer(owner.connect(propagate=True), commit_every=9) as producer, producer.group() as group:
        group.put(b"0", properties={"colour": "green"})
        group.put(b"1")
        group.put(b"2", properties={"colour": "red", "traceparent": REMOTE})
        group.put(b"3", properties={"colour": "blue"})
    (unit,) = spans.named(f"put {owner.queue}")
    ours = traceparent(unit)
    found = properties(owner, "traceparent", "colour")
    assert found == [(b"0", ours, "green"), (b"1", ours, None), (b"2", REMOTE, "red"), (b"3", ours, "blue")]


@pytest.mark.usefixtures("no_api_exit")
def test_another_instrumentation_around_mqput_is_left_to_it(owner, spans, monkeypatch, caplog):
    from mqgroups.mqi import binding

    bound = binding.load_binding()
    mqput = bound.MQPUT

    @functools.wraps(mqput)
    def wrapped(*arguments):
        return mqput(*arguments)

    monkeypatch.setattr(bound, "MQPUT", wrapped)
    owner.put_group(THIS, qmgr=owner.connect(propagate=True))
    assert "another instrumentation wraps MQPUT" in caplog.text
    assert properties(owner, "traceparent") == [(data, None) for data in THIS]


def test_ibm_s_api_exit_is_told_to_keep_out(owner, monkeypatch):
    monkeypatch.delenv("AMQ_OTEL_INSTRUMENTED", raising=False)
    owner.connect()
    assert "AMQ_OTEL_INSTRUMENTED" not in os.environ
    owner.connect(propagate=True)
    assert os.environ["AMQ_OTEL_INSTRUMENTED"] == "true"


@pytest.mark.embedded
@pytest.mark.parametrize("trace_what", ["unit of work", "message"])
def test_a_queue_manager_that_refuses_properties_gets_messages_without(owner, spans, faults, caplog, trace_what):
    qmgr = owner.connect(propagate=True, trace=trace_what)
    with owner.producer(qmgr) as producer, producer.group() as group:
        faults.arm(Fault("answer", verb="MQPUT", reason=mq.MQRC_PROPERTIES_TOO_BIG))
        owner.put_all(group, THIS)
    assert "messages carry no trace context: MQPUT" in caplog.text
    assert properties(owner, "traceparent") == [(data, None) for data in THIS]


@pytest.mark.usefixtures("no_api_exit")
def test_where_propagation_has_stopped_no_producer_goes_on_with_old_context(owner, spans):
    qmgr = owner.connect(propagate=True)
    with owner.producer(qmgr, commit_every=2) as producer, producer.group() as group:
        for number, data in enumerate(THIS):
            if number == 3:
                connection_of(qmgr).stop_propagating("another producer was refused")
            group.put(data)
    assert [one[1] is not None for one in properties(owner, "traceparent")] == [True] * 2 + [False] * 5


@pytest.mark.embedded
@pytest.mark.parametrize("verb", ["MQCRTMH", "MQSETMP"])
def test_a_handle_that_cannot_be_had_breaks_nothing(owner, spans, faults, verb):
    own = rfh2("<usr><colour>green</colour></usr>", ccsid=1208)
    with owner.producer(owner.connect(propagate=True)) as producer, producer.group() as group:
        faults.arm(Fault("answer", verb=verb, reason=2102))
        for data in THIS[:3]:
            group.put(own + data, format="MQHRF2")
    assert [one[1] is not None for one in properties(owner, "traceparent")] == [False, True, True]


# --- what is got


def test_each_unit_of_work_links_to_the_units_of_work_that_put_its_messages(owner, spans):
    owner.put_group(THIS, commit_every=3, qmgr=owner.connect(propagate=True))
    puts = [ids(span) for span in spans.named(f"put {owner.queue}")]
    assert owner.get_groups(commit_every=4) == [THIS]
    first, second = spans.named(f"get {owner.queue}")
    assert (linked(first), linked(second)) == ([puts[0], puts[1]], [puts[1], puts[2]])
    assert first.get_span_context().trace_id not in {trace_id for trace_id, _ in puts}


def test_with_trace_message_each_message_links_to_where_it_was_put(owner, spans):
    owner.put_group(THIS, commit_every=3, qmgr=owner.connect(propagate=True, trace="message"))
    creates = [ids(span) for span in spans.named(f"create {owner.queue}")]
    assert owner.get_groups(commit_every=4, qmgr=owner.connect(trace="message")) == [THIS]
    ended = spans()
    assert [linked(span) for span in ended if span.name == f"process {owner.queue}"] == [[one] for one in creates]
    assert [linked(span) for span in ended if span.name == f"get {owner.queue}"] == [[], []]


def test_a_consumer_that_resumes_in_the_middle_of_a_group_links_to_its_producer(owner, spans):
    owner.put_group(THIS, commit_every=100, qmgr=owner.connect(propagate=True))
    (put_,) = spans.named(f"put {owner.queue}")
    owner.interrupt_get()
    *_, stopped_after = spans.named(f"get {owner.queue}")
    assert owner.get_groups() == [THIS[4:]]
    gets = spans.named(f"get {owner.queue}")
    assert [linked(span) for span in gets] == [[ids(stopped_after), ids(put_)], [ids(put_)]]


@pytest.mark.parametrize("control", PROPCTL)
@pytest.mark.parametrize("propagate", [False, True])
def test_the_application_sees_the_message_as_if_there_were_no_context(make_owner, spans, control, propagate):
    owner = make_owner(model=f"TEST.PROPCTL.{control}.MODEL")
    with owner.producer(owner.connect(propagate=True), commit_every=9) as producer, producer.group() as group:
        group.put("grün")
        group.put(b"\x00\x01", format="BINARY")
    (put_,) = spans.named(f"put {owner.queue}")
    with owner.consumer(owner.connect(propagate=propagate)) as consumer:
        first, second = next(iter(consumer))
    assert (first.text, first.format, first.ccsid) == ("grün", "MQSTR", 1208)
    assert (second.data, second.format, second.encoding) == (b"\x00\x01", "BINARY", mq.MQENC_NATIVE)
    (got,) = spans.named(f"get {owner.queue}")
    assert linked(got) == [ids(put_)]


def test_context_is_a_property_among_others(owner, spans):
    put_with(owner, (b"data", {"traceparent": REMOTE, "colour": "green"}))
    with owner.consumer() as consumer:
        (message,) = next(iter(consumer))
    assert (message.data, message.format) == (b"data", "")
    assert message.properties == {"traceparent": REMOTE, "colour": "green"}
    (got,) = spans.named(f"get {owner.queue}")
    assert linked(got) == [REMOTE_IDS]


def test_a_tracestate_is_read(owner, spans):
    put_with(owner, (b"data", {"traceparent": REMOTE, "tracestate": "vendor=a&b<c"}))
    assert owner.get_groups() == [[b"data"]]
    (got,) = spans.named(f"get {owner.queue}")
    assert dict(got.links[0].context.trace_state) == {"vendor": "a&b<c"}
    assert got.links[0].context.is_remote


@pytest.mark.parametrize("value", ["00-0-0-01", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "ü" * 99])
def test_context_that_is_none_is_no_link(owner, spans, value):
    put_with(owner, (b"data", {"traceparent": value}))
    assert owner.get_groups() == [[b"data"]]
    (got,) = spans.named(f"get {owner.queue}")
    assert got.links == ()


def test_what_is_moved_to_the_backout_queue_keeps_its_context(make_owner, spans):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_group(THIS, commit_every=100, qmgr=owner.connect(propagate=True))
    (put_,) = spans.named(f"put {owner.queue}")
    owner.get_poison()
    moved = properties(owner, "traceparent", queue="TEST.BACKOUT")
    assert moved == [(data, traceparent(put_)) for data in THIS[4:]]


@pytest.mark.parametrize("control", PROPCTL)
def test_an_abandoned_group_is_recognised_whatever_becomes_of_its_properties(make_owner, spans, control):
    owner = make_owner(model=f"TEST.PROPCTL.{control}.MODEL")
    with owner.producer(owner.connect(propagate=True)) as producer, producer.group() as group:
        owner.put_all(group, THIS[:5])
        group.abandon(7, "the source is gone")
    with owner.consumer(commit_every=100) as consumer:
        with pytest.raises(errors.GroupAbandoned) as caught:
            list(next(iter(consumer)))
        assert caught.value.result == 7


@pytest.mark.parametrize("control", ["COMPAT", "NONE"])
def test_messages_in_segments_are_got_with_propagation_as_without(make_owner, spans, control):
    owner = make_owner(model=f"TEST.PROPCTL.{control}.MODEL")
    payloads = [b"long" * 5, b"short"]
    owner.put_group(payloads, segment_bytes=8, qmgr=owner.connect(propagate=True))
    qmgr = owner.connect(propagate=True)
    with owner.consumer(qmgr, stream=True) as consumer:
        assert [b"".join(message.chunks()) for message in next(iter(consumer))] == payloads


@pytest.mark.usefixtures("no_api_exit")
def test_a_consumer_of_another_kind_gets_an_mqrfh2_in_front(owner, spans):
    # What propagation costs, and why it is not the default: the queue's PROPCTL is COMPAT.
    owner.put_group([b"0"], qmgr=owner.connect(propagate=True))
    owner.put_group([b"1"])
    (put_,) = (span for span in spans.named(f"put {owner.queue}") if span.kind is SpanKind.PRODUCER)
    header = rfh2(f"<usr><traceparent>{traceparent(put_)}</traceparent></usr>", format_=mq.MQFMT_NONE)
    first, second = owner.on_queue(options=mq.MQGMO_PROPERTIES_COMPATIBILITY)
    assert (first.data[36:], first.md.Format) == (header[36:] + b"0", mq.MQFMT_RF_HEADER_2)
    assert (second.data, second.md.Format) == (b"1", mq.MQFMT_NONE)


# --- with IBM's own propagation on the same queue

MQOTEL = """
import sys
import ibmmq
from ibmmq import CMQC
from opentelemetry.sdk.trace import TracerProvider

queue_name, q_mgr_name = sys.argv[1:]
tracer = TracerProvider().get_tracer("application")
q_mgr = ibmmq.connect(q_mgr_name)
queue = ibmmq.Queue(q_mgr, queue_name, CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
with tracer.start_as_current_span("get") as got:
    md, gmo = ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_NO_WAIT)
    queue.get(None, md, gmo)
with tracer.start_as_current_span("put") as put:
    queue.put(b"from mqotel")
for context in *(link.context for link in got.links), put.get_span_context():
    print(context.trace_id, context.span_id)
queue.close()
q_mgr.disconnect()
"""


@pytest.mark.embedded
@pytest.mark.skipif(importlib.util.find_spec("ibmmq") is None, reason="needs ibmmq")
def test_ibmmq_s_own_propagation_reads_ours_and_we_read_its(owner, mq, spans):
    owner.put_group([b"from mqgroups"], qmgr=owner.connect(propagate=True))
    (ours,) = spans.named(f"put {owner.queue}")
    environment = {**os.environ, **mq.queue_manager.environment()}
    environment.pop("MQIPY_NOOTEL", None)
    command = [sys.executable, "-c", MQOTEL, owner.queue, mq.q_mgr_name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    read, theirs = (tuple(map(int, line.split())) for line in done.stdout.splitlines())
    assert read == ids(ours)
    assert owner.get_groups() == [[b"from mqotel"]]
    (got,) = spans.named(f"get {owner.queue}")
    assert linked(got) == [theirs]


@pytest.mark.usefixtures("no_api_exit")
def test_with_ibmmq_s_propagation_active_context_is_put_once(owner, spans, mqi):
    # This process has ibmmq with its hooks, and they are about its own Queue.put, which nothing here calls.
    with spans.tracer.start_as_current_span("application") as application:
        owner.put_group([b"0"], qmgr=owner.connect(propagate=True))
    (put_,) = spans.named(f"put {owner.queue}")
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    received = MessageHandle(owner.eye)
    assert get(handle, received, mq.MQGMO_PROPERTIES_IN_HANDLE).code == OK
    assert received.all("%") == [traceparent(put_)]
    assert put_.parent is not None
    assert put_.parent.span_id == ids(application)[1]
    assert put_.attributes[sc.DESTINATION_NAME] == owner.queue
    handle.close()


def test_a_connection_of_the_application_s_own_is_traced_as_it_says(owner, mq, binding, spans):
    q_mgr = mq.connect(binding)
    owner.put_group(THIS, commit_every=9, qmgr=mqgroups.wrap(q_mgr, trace="message", propagate=True))
    q_mgr.disconnect()
    carried = [traceparent(span) for span in spans.named(f"create {owner.queue}")]
    assert properties(owner, "traceparent") == list(zip(THIS, carried, strict=True))
