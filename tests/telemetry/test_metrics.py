"""What the instruments record: the conventions' metrics of messaging clients, and this package's own."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import re
import urllib.request

import pytest
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import start_http_server

from mqembedded import Fault
from mqgroups import Every, errors
from mqgroups.mqi import constants as mq
from mqgroups.telemetry import metrics
from tests.fix_telemetry import place_of
from tests.put.whole_groups import THIS, Crash


def where(owner):
    """The attributes of all metrics of a queue."""
    return {
        "messaging.system.name": "ibmmq",
        "messaging.destination.name": owner.queue,
        "messaging.ibmmq.queue_manager.name": owner.target.q_mgr_name,
    }


def of_q_mgr(owner):
    """The attributes of metrics of a queue manager."""
    return {key: value for key, value in where(owner).items() if key != "messaging.destination.name"}


def at(owner, role, **more):
    """The attributes of this package's own metrics."""
    own = {**where(owner), "mqgroups.role": role}
    return frozenset({**own, **{f"mqgroups.{key}": value for key, value in more.items()}}.items())


def of_operation(owner, name, type_, **more):
    """The attributes of the conventions' metrics."""
    operation = {"messaging.operation.name": name, "messaging.operation.type": type_}
    return frozenset({**where(owner), **operation, **more}.items())


def counts(points):
    """How many values a histogram has, by attributes."""
    return {attributes: count for attributes, (count, _) in points.items()}


def test_units_of_work_messages_and_groups_are_counted(owner, measured):
    owner.put_group(THIS, commit_every=3)
    owner.put_group(THIS[:2], commit_every=3)
    assert owner.get_groups(commit_every=4) == [THIS, THIS[:2]]
    found = measured()
    put, got = of_operation(owner, "put", "send"), of_operation(owner, "get", "receive")
    commit = of_operation(owner, "commit", "settle")
    assert found["messaging.client.sent.messages"] == {put: 9}
    assert found["messaging.client.consumed.messages"] == {got: 9}
    assert counts(found["messaging.client.operation.duration"]) == {put: 4, got: 3, commit: 7}
    assert found["mqgroups.units_of_work"] == {
        at(owner, "put", outcome="committed"): 4,
        at(owner, "get", outcome="committed"): 3,
    }
    completed = {at(owner, role, outcome="completed"): (2, 9) for role in ("put", "get")}
    assert found["mqgroups.group.messages"] == completed
    assert counts(found["mqgroups.group.duration"]) == counts(completed)
    assert "messaging.process.duration" not in found


def test_a_unit_of_work_that_begins_in_a_wait_after_a_commit_by_age_is_counted(owner, measured, clock, monkeypatch):
    monkeypatch.setattr("mqgroups.get.cursor._LONGEST_WAIT_MS", 1)
    owner.put_raw_group(THIS[:3], whole=False)
    group_id, last = owner.on_queue()[0].group_id, mq.MQMF_LAST_MSG_IN_GROUP
    committed = []

    def put_the_last(group):
        committed.append(group.ends)
        if len(committed) == 1:
            owner.put_raw(b"last", GroupId=group_id, MsgSeqNumber=4, MsgFlags=last)

    with owner.consumer(commit_every=Every(seconds=20), group_wait_s=200) as consumer:
        consumer.before_commit(put_the_last)
        for message in next(iter(consumer)):
            if message.msg_seq_number == 3:
                clock.tick_s = 1  # of every reading: now time passes in the wait
        clock.tick_s = 0
    assert committed == [False, True]
    found = measured()
    assert found["messaging.client.consumed.messages"] == {of_operation(owner, "get", "receive"): 4}
    assert found["mqgroups.units_of_work"] == {at(owner, "get", outcome="committed"): 2}


def test_metrics_do_not_depend_on_tracing(owner, measured):
    qmgr = owner.connect(trace="off")
    owner.put_group(THIS, commit_every=3, qmgr=qmgr)
    found = measured()
    assert found["messaging.client.sent.messages"] == {of_operation(owner, "put", "send"): 7}
    assert found["mqgroups.group.messages"] == {at(owner, "put", outcome="completed"): (1, 7)}


def test_with_trace_message_processing_is_measured(owner, measured):
    owner.put_raw_group(THIS)
    owner.get_groups(qmgr=owner.connect(trace="message"))
    process = of_operation(owner, "process", "process")
    assert counts(measured()["messaging.process.duration"]) == {process: 7}


def test_the_duration_is_that_of_the_span(owner, spans, measured):
    owner.put_group(THIS, commit_every=100)
    (commit, put) = spans()
    durations = measured()["messaging.client.operation.duration"]
    for span, attributes in (put, ("put", "send")), (commit, ("commit", "settle")):
        _, seconds = durations[of_operation(owner, *attributes)]
        assert seconds == pytest.approx((span.end_time - span.start_time) / 1e9, abs=0.05)


def test_what_is_backed_out_is_counted_apart(owner, measured):
    with owner.producer() as producer, pytest.raises(Crash), producer.group() as group:
        owner.put_all(group, THIS[:4])
        raise Crash
    found = measured()
    error = {"error.type": "Crash"}
    assert found["messaging.client.sent.messages"] == {
        of_operation(owner, "put", "send"): 2,
        of_operation(owner, "put", "send", **error): 1,
    }
    assert counts(found["messaging.client.operation.duration"]) == {
        of_operation(owner, "put", "send"): 1,
        of_operation(owner, "put", "send", **error): 1,
        of_operation(owner, "commit", "settle"): 1,
        of_operation(owner, "back out", "settle"): 1,
    }
    assert found["mqgroups.units_of_work"] == {
        at(owner, "put", outcome="committed"): 1,
        at(owner, "put", outcome="backed out"): 1,
    }
    assert "mqgroups.group.messages" not in found


def test_a_group_of_several_instances_counts_whole(owner, measured):
    owner.interrupt_put(THIS[:6])
    owner.resume_put(THIS)
    found = measured()
    assert found["mqgroups.resumes"] == {at(owner, "put"): 1}
    assert found["mqgroups.group.messages"] == {at(owner, "put", outcome="completed"): (1, 7)}


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "outcome"), [("before", "backed out"), ("after", "committed")])
def test_verdicts_are_counted_and_tries_by_reason(owner, measured, faults, when, outcome):
    with owner.producer(owner.connect(reconnect_wait_s=30), commit_every=4) as producer, producer.group() as group:
        faults.arm(Fault("drop", verb="MQCMIT", when=when))
        faults.arm(Fault("answer", verb="MQCONNX", reason=2059, times=2))
        owner.put_all(group, THIS)
    found = measured()
    assert found["mqgroups.in_doubt"] == {at(owner, "put", outcome=outcome): 1}
    not_available = {**of_q_mgr(owner), "error.type": "MQRC_Q_MGR_NOT_AVAILABLE", "messaging.ibmmq.reason_code": 2059}
    assert found["mqgroups.retries"][frozenset(not_available.items())] == 2
    where_to = {key: value for key, value in place_of(owner).items() if not key.endswith(".id")}
    assert found["mqgroups.connections"][frozenset({**not_available, **where_to}.items())] == 2
    error = {"error.type": "MQRC_CONNECTION_BROKEN"}
    assert found["messaging.client.operation.duration"][of_operation(owner, "commit", "settle", **error)][0] == 1


@pytest.mark.embedded
def test_one_metric_says_which_queue_manager_a_name_means_and_the_others_have_the_name_only(owner, measured, faults):
    connection = owner.connect(reconnect_wait_s=30)
    for _ in range(2):
        with owner.producer(connection) as producer, producer.group() as group:
            faults.arm(Fault("drop", verb="MQPUT", nth=2))
            owner.put_all(group, THIS)
    found = measured()
    here = frozenset({"messaging.system.name": "ibmmq", **place_of(owner)}.items())
    assert found.pop("mqgroups.connections") == {here: 3}
    names = {name for points in found.values() for attributes in points for name, _ in attributes}
    assert not names & {"server.address", "server.port", "messaging.ibmmq.queue_manager.id"}


@pytest.mark.embedded
def test_a_start_that_fails_in_its_only_try_to_connect_is_counted(owner, measured, faults):
    owner.connect().close()
    faults.arm(Fault("answer", verb="MQCONNX", reason=2393))
    with pytest.raises(errors.MQIError):
        owner.connect()
    tries = {
        dict(attributes).get("error.type", ""): count
        for attributes, count in measured()["mqgroups.connections"].items()
    }
    assert tries == {"": 1, "MQRC_SSL_INITIALIZATION_ERROR": 1}


@pytest.mark.embedded
def test_a_lost_connection_without_a_commit_is_no_verdict(owner, measured, faults):
    with owner.producer(owner.connect(reconnect_wait_s=30), commit_every=4) as producer, producer.group() as group:
        faults.arm(Fault("drop", verb="MQPUT", nth=2))
        owner.put_all(group, THIS)
    assert "mqgroups.in_doubt" not in measured()


def test_abandoned_groups_are_told_from_completed_ones(owner, measured):
    with owner.producer() as producer:
        with producer.group() as group:
            owner.put_all(group, THIS[:5])
            group.abandon(7)
        with producer.group() as group:
            group.put(b"another")
    with owner.consumer(commit_every=100) as consumer, pytest.raises(errors.GroupAbandoned):
        list(next(iter(consumer)))
    assert measured()["mqgroups.group.messages"] == {
        at(owner, "put", outcome="abandoned"): (1, 5),  # four committed, and the one that says so
        at(owner, "put", outcome="completed"): (1, 1),
        at(owner, "get", outcome="abandoned"): (1, 5),
    }


def test_poison_and_quarantine_are_counted(make_owner, measured):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group(THIS)
    owner.get_poison()
    found = measured()
    assert found["mqgroups.poison_messages"] == {at(owner, "get"): 1}
    assert found["mqgroups.group.messages"] == {at(owner, "get", outcome="quarantined"): (1, 7)}
    assert len(owner.data("TEST.BACKOUT")) == 3
    owner.empty("TEST.BACKOUT")


def test_waiting_for_a_status_queue_is_measured(owner, measured):
    holder = owner.producer()
    with pytest.raises(errors.OwnerActive):
        owner.producer(owner.connect(), owner_wait_s=0.2)
    holder.close()
    waits = measured()["mqgroups.status.queue.wait"]
    count, seconds = waits[
        frozenset({"messaging.system.name": "ibmmq", "messaging.destination.name": owner.status_queue("put")}.items())
    ]
    assert count == 2
    assert seconds >= 0.2


def test_prometheus_reads_them_over_http(owner, monkeypatch):
    provider = MeterProvider([PrometheusMetricReader()], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "INSTRUMENTS", metrics.Instruments(provider.get_meter("mqgroups")))
    server, thread = start_http_server(0, addr="127.0.0.1")
    try:
        owner.put_group(THIS, commit_every=3)
        assert owner.get_groups(commit_every=4) == [THIS]
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            page = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        provider.shutdown()

    def value(name, **labels):
        for line in page.splitlines():
            found = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line)
            if found and found[1] == name:
                given = dict(re.findall(r'(\w+)="([^"]*)"', found[2]))
                if {"messaging_destination_name": owner.queue, **labels}.items() <= given.items():
                    return float(found[3])
        return None

    assert value("messaging_client_sent_messages_total") == 7
    assert value("messaging_client_consumed_messages_total") == 7
    assert value("mqgroups_units_of_work_total", mqgroups_role="put", mqgroups_outcome="committed") == 3
    assert value("mqgroups_group_messages_sum", mqgroups_role="get") == 7
    assert value("mqgroups_group_messages_bucket", mqgroups_role="get", le="1.0") == 0
    assert value("mqgroups_group_messages_bucket", mqgroups_role="get", le="10.0") == 1
    assert value("messaging_client_operation_duration_seconds_count", messaging_operation_name="commit") == 5
    bounds = re.findall(r'messaging_client_operation_duration_seconds_bucket\{.*?le="([^"]*)"', page)
    assert bounds[:15] == "0.005 0.01 0.025 0.05 0.075 0.1 0.25 0.5 0.75 1.0 2.5 5.0 7.5 10.0 +Inf".split()
