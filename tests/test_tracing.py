"""Tracing: one span for each unit of work with a provider, nothing without one."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import itertools

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mqgroups import tracing
from mqgroups.embedded import Fault

THIS = [b"%d" % number for number in range(7)]


class Crash(Exception):
    """The application's own trouble."""


@pytest.fixture
def spans(monkeypatch):
    """A function that returns the spans ended since it was last asked."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_TRACER", provider.get_tracer("mqgroups"))

    def ended():
        found = exporter.get_finished_spans()
        exporter.clear()
        return found

    yield ended
    provider.shutdown()


def of(spans, attribute):
    return [span.attributes[attribute] for span in spans]


def test_attributes_say_what_was_done_where():
    assert tracing.unit_of_work_attributes("put", "ORDERS", b"\x01" * 24, 17, 5, 3) == {
        "messaging.system": "ibm_mq",
        "messaging.operation.name": "put",
        "messaging.operation.type": "send",
        "messaging.destination.name": "ORDERS",
        "messaging.batch.message_count": 5,
        "messaging.ibm_mq.group_id": "01" * 24,
        "messaging.ibm_mq.msg_seq_number": 17,
        "messaging.ibm_mq.unit_of_work": 3,
    }
    got = tracing.unit_of_work_attributes("get", "ORDERS", bytes(24), 1, 1, 1)
    assert (got[tracing.OPERATION_NAME], got[tracing.OPERATION_TYPE]) == ("get", "receive")


def test_each_unit_of_work_is_a_span(owner, spans):
    owner.put_group(THIS, every=3)
    put = spans()
    assert [span.name for span in put] == [f"put {owner.queue}"] * 3
    assert {span.kind for span in put} == {SpanKind.CLIENT}
    assert of(put, tracing.DESTINATION_NAME) == [owner.queue] * 3
    assert of(put, tracing.BATCH_MESSAGE_COUNT) == [3, 3, 1]
    assert of(put, tracing.MSG_SEQ_NUMBER) == [3, 6, 7]
    assert of(put, tracing.UNIT_OF_WORK) == [1, 2, 3]
    group_id = owner.on_queue()[0].group_id.hex()
    assert of(put, tracing.GROUP_ID) == [group_id] * 3
    owner.get_groups(every=4)
    got = spans()
    assert [span.name for span in got] == [f"get {owner.queue}"] * 2
    assert of(got, tracing.BATCH_MESSAGE_COUNT) == [4, 3]
    assert of(got, tracing.GROUP_ID) == [group_id] * 2
    assert {span.status.status_code for span in put + got} == {StatusCode.UNSET}


def test_a_span_lasts_from_the_first_message_to_the_end_of_the_unit_of_work(owner, spans):
    owner.put_group(THIS, every=3)
    ended = spans()
    assert all(span.start_time < span.end_time for span in ended)
    assert all(before.end_time <= after.start_time for before, after in itertools.pairwise(ended))


def test_a_unit_of_work_that_was_backed_out_is_a_span_with_an_error(owner, spans):
    with owner.producer() as producer, pytest.raises(Crash), producer.group() as group:
        for data in THIS[:4]:
            group.put(data)
        raise Crash
    committed, backed_out = spans()
    assert committed.status.status_code is StatusCode.UNSET
    assert (backed_out.status.status_code, backed_out.status.description) == (StatusCode.ERROR, "backed out")
    assert of([backed_out], tracing.BATCH_MESSAGE_COUNT) == [1]


@pytest.mark.embedded
def test_the_error_that_backed_out_is_named(owner, spans, faults):
    with owner.producer(every=100) as producer, pytest.raises(Exception, match="2102"), producer.group() as group:
        faults.arm(Fault("answer", verb="MQPUT", nth=3, reason=2102))
        for data in THIS:
            group.put(data)
    (span,) = spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "MQIError")


@pytest.mark.embedded
def test_a_commit_that_the_queue_manager_answered_with_backed_out_is_a_span_with_an_error(owner, spans, faults):
    with owner.producer(every=100) as producer, pytest.raises(Exception, match="2003"), producer.group() as group:
        faults.arm(Fault("answer", verb="MQCMIT", reason=2003))
        for data in THIS:
            group.put(data)
    (span,) = spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "UnitOfWorkBackedOut")


@pytest.mark.embedded
def test_a_commit_of_unknown_outcome_is_a_span_with_an_error(owner, spans, faults):
    with owner.producer(every=100) as producer, pytest.raises(Exception, match="not known"), producer.group() as group:
        faults.arm(Fault("drop", verb="MQCMIT"))
        for data in THIS:
            group.put(data)
    (span,) = spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "CommitOutcomeUnknown")


def test_a_unit_of_work_without_messages_is_no_span(owner, spans):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0", checkpoint="done")
    assert len(spans()) == 1  # not one more for taking the record away
    assert owner.get_groups() == [[b"0"]]
    assert len(spans()) == 1
    assert owner.get_groups() == []
    assert spans() == ()


@pytest.mark.embedded
def test_tracing_makes_no_call_of_its_own(owner, spans, count_calls):
    with owner.producer(every=3) as producer:
        count_calls()
        with producer.group() as group:
            for data in THIS:
                group.put(data)
        assert count_calls() == {"MQPUT": 10, "MQGET": 3, "MQCMIT": 3}


def test_a_provider_that_is_set_after_the_import_is_used(program):
    done = program.run("""
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
with connect() as qmgr, qmgr.group_producer(queue, name=name, every=2) as producer, producer.group() as group:
    for number in range(5):
        group.put(b"%d" % number)
print(len(exporter.get_finished_spans()))
""")
    assert (done.stdout.split(), done.stderr) == (["3"], "")


def test_without_a_provider_nothing_is_recorded_and_the_sdk_is_not_loaded(program, owner):
    done = program.run("""
with connect() as qmgr, qmgr.group_producer(queue, name=name, every=2) as producer, producer.group() as group:
    for number in range(5):
        group.put(b"%d" % number)
from mqgroups import tracing
print(tracing._TRACER.start_span("x").is_recording(), "opentelemetry.sdk" in sys.modules)
""")
    assert (done.stdout.split(), done.stderr) == (["False", "False"], "")
    assert len(owner.data()) == 5
