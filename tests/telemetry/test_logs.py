"""Logs: the standard ones, only warnings by default, with the same fields on every line; and that no secret is in any of it."""

from __future__ import annotations

import contextlib
import logging

import pytest
from opentelemetry import trace

from mqembedded import Fault
from mqgroups import errors
from tests.fix_telemetry import ids, place_of
from tests.put.whole_groups import THIS, Crash

FIELDS = {
    "messaging.system.name",
    "messaging.client.id",
    "messaging.destination.name",
    "messaging.ibmmq.queue_manager.name",
    "messaging.ibmmq.queue_manager.id",
    "server.address",
    "server.port",
    "messaging.ibmmq.group_id",
    "messaging.ibmmq.msg_seq_number",
    "messaging.ibmmq.unit_of_work",
    "messaging.ibmmq.reason_code",
    "mqgroups.role",
    "mqgroups.group.name",
    "trace_id",
    "span_id",
}


@pytest.fixture
def lines(caplog):
    """The records of this package from now on, whatever their level."""
    caplog.set_level(logging.DEBUG, logger="mqgroups")
    return lambda: [record for record in caplog.records if record.name.startswith("mqgroups")]


def fields(record):
    return {key: value for key, value in record.__dict__.items() if key in FIELDS}


def test_a_resumed_group_is_a_line_that_says_where_it_stands(owner, lines):
    owner.interrupt_put(THIS[:6], group_name="orders 0815")
    group_id = owner.on_queue()[0].group_id.hex()
    with owner.producer():
        (line,) = (record for record in lines() if "resumes" in record.getMessage())
    assert (line.name, line.levelno) == ("mqgroups.put", logging.WARNING)
    assert fields(line) == {
        "messaging.system.name": "ibmmq",
        "messaging.client.id": owner.name,
        "messaging.destination.name": owner.queue,
        **place_of(owner),
        "messaging.ibmmq.group_id": group_id,
        "messaging.ibmmq.msg_seq_number": 4,
        "messaging.ibmmq.unit_of_work": 3,
        "messaging.ibmmq.reason_code": 0,
        "mqgroups.role": "put",
        "mqgroups.group.name": "orders 0815",
        "trace_id": "",
        "span_id": "",
    }


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "verdict"), [("before", "backed out"), ("after", "committed")])
def test_a_commit_in_doubt_is_told_with_its_reason_and_its_trace(owner, spans, lines, faults, when, verdict):
    with owner.producer(owner.connect(reconnect_wait_s=30), commit_every=4) as producer, producer.group() as group:
        faults.arm(Fault("drop", verb="MQCMIT", when=when))
        owner.put_all(group, THIS)
    unit = spans.named(f"put {owner.queue}")[0]
    lost, *told = [record for record in lines() if record.levelno == logging.WARNING]
    assert f"`mqgroups check {owner.name} --role put`" in lost.getMessage()
    assert [record.getMessage().endswith(f"unit of work 1 was {verdict}") for record in told] == [True]
    assert fields(told[0])["messaging.ibmmq.reason_code"] == 2009
    assert fields(told[0])["messaging.ibmmq.unit_of_work"] == 1
    trace_id, span_id = ids(unit)
    assert (told[0].trace_id, told[0].span_id) == (f"{trace_id:032x}", f"{span_id:016x}")
    # If it was backed out, the group was put again with another identifier.
    (group_id,) = {fields(each)["messaging.ibmmq.group_id"] for each in (lost, told[0])}
    assert (group_id == owner.on_queue()[0].group_id.hex()) is (verdict == "committed")
    assert set(group_id) > {"0"}


@pytest.mark.embedded
def test_a_line_about_a_unit_of_work_is_logged_in_its_span(owner, spans, caplog, faults):
    current = []

    def note(_record):
        current.append(ids(trace.get_current_span()))
        return True

    caplog.set_level("INFO", "mqgroups")
    caplog.handler.addFilter(note)
    with owner.producer(owner.connect(reconnect_wait_s=30), commit_every=4) as producer, producer.group() as group:
        faults.arm(Fault("drop", verb="MQCMIT"))
        owner.put_all(group, THIS)
    unit = ids(spans.named(f"put {owner.queue}")[0])
    for text in "Finding out", "is connected again", "unit of work 1 was backed out":
        said = next(at for at, record in enumerate(caplog.records) if text in record.getMessage())
        assert current[said] == unit


@pytest.mark.embedded
def test_every_line_has_every_field(owner, lines, faults):
    with owner.consumer(owner.connect(reconnect_wait_s=30)) as consumer:
        owner.put_raw_group(THIS)
        faults.arm(Fault("drop", verb="MQGET", nth=3))
        assert [[message.data for message in group] for group in consumer] == [THIS]
    assert len(lines()) >= 2
    for record in lines():
        assert fields(record).keys() == FIELDS, record.getMessage()


def test_outside_a_unit_of_work_a_line_has_the_application_s_span(owner, spans, lines):
    owner.interrupt_put(THIS[:6])
    with spans.tracer.start_as_current_span("nightly load") as application, owner.producer():
        (line,) = (record for record in lines() if "resumes" in record.getMessage())
    assert int(line.trace_id, 16) == application.get_span_context().trace_id


def test_without_logging_set_up_warnings_are_written_and_nothing_else(program):
    done = program.run("""
with connect() as qmgr:
    with qmgr.group_producer(queue, name=name) as producer, producer.group() as group:
        group.put(b"0")
    producer = qmgr.group_producer(queue, name=name)
    group = producer.group()
    group.put(b"0")
    producer.close()
""")
    assert (done.returncode, done.stdout) == (0, "")
    (line,) = done.stderr.splitlines()
    assert "is closed before its group has ended" in line


SECRET = "Gl4s-Kugel"


@pytest.mark.embedded
def test_no_payload_or_checkpoint_is_in_logs_spans_metrics_or_representations(
    owner, faults, spans, measured, lines, caplog
):
    """Nor a password: ``tests/test_nothing_shows_secrets.py``."""
    # Given an application that puts the secret and keeps it, where everything goes wrong that can
    caplog.set_level(logging.DEBUG)
    qmgr = owner.connect(trace="message", propagate=True, reconnect_wait_s=30)
    shown = [qmgr]
    for attempt in range(2):
        with contextlib.suppress(Crash), owner.producer(qmgr) as producer, producer.group() as group:
            if attempt == 0:
                faults.arm(Fault("drop", verb="MQCMIT"))
            for number in range(group.resume_from, 7):
                group.set_checkpoint({"at": SECRET})
                group.put(f"{SECRET} {number}")
                if attempt == 0 and number == 5:
                    raise Crash
            shown += [producer, producer._putter.settings, producer._putter, producer._putter.work, group]
    for attempt in range(2):
        with contextlib.suppress(Crash), owner.consumer(qmgr) as consumer:
            shown += [consumer, consumer._getter.settings, consumer._getter]
            for incoming in consumer:
                for message in incoming:
                    shown += [incoming, message]
                    incoming.set_checkpoint(SECRET)
                    if attempt == 0 and message.msg_seq_number == 5:
                        raise Crash
    with owner.producer(qmgr, name=f"{owner.name}.2") as producer, producer.group() as group:
        with pytest.raises(errors.GroupUsage) as refused:
            group.set_checkpoint({SECRET})
        group.abandon()
    shown += [refused.value]
    # Then it is nowhere to be seen
    ended, recorded = spans(), measured()
    assert len(ended) > 20
    assert len(recorded) > 5
    assert len(lines()) > 2
    seen = [repr(one) + str(one) for one in shown]
    seen += [span.to_json() for span in ended]
    seen += [repr(recorded)]
    seen += [record.getMessage() + repr(record.__dict__) for record in caplog.records]
    assert [one for one in seen if SECRET in one] == []
