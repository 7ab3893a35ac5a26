"""One trace after another through two queues and four processes, two of them killed, as an OTLP receiver gets to see it.

The processes export by the SDK's own OTLP/HTTP exporter, each span when it ends; what is killed in the middle of a unit of work
takes that one's span with it.
"""

from __future__ import annotations

import signal

from tests.fix_otlp import collecting

THIS = [b"%d" % number for number in range(7)]

TRACED = """
import signal
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

target = env["TEST_TARGET"]
provider = TracerProvider(resource=Resource({"service.name": env["TEST_SERVICE"]}))
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=env["TEST_OTLP"])))
trace.set_tracer_provider(provider)
qmgr = mqgroups.connect(env["TEST_Q_MGR"], env["TEST_CHANNEL"], env["TEST_CONN_NAME"], user=env.get("TEST_USER"),
                        password=env.get("TEST_PASSWORD"), propagate=True)
"""
PRODUCER = """
with qmgr.group_producer(queue, name=name, commit_every=2, owner_wait_s=30) as producer, producer.group() as group:
    for number in range(group.resume_from, 7):
        if group.resume_from == 0 and number == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        group.put(b"%d" % number)
"""
PIPE = """
with qmgr.group_pipe(queue, target, name=name, commit_every=3, wait_s=0, owner_wait_s=30) as pipe:
    for incoming, outgoing in pipe:
        for message in incoming:
            if incoming.resume_from == 0 and message.msg_seq_number == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            outgoing.put(message.data)
"""
CONSUMER = """
with qmgr.group_consumer(target, name=name + ".2", commit_every=100, wait_s=0) as consumer:
    print([message.data for group in consumer for message in group])
consumer.delete_status_queue()
"""


def links(span):
    return [(link.trace_id, link.span_id) for link in span.links]


def ids(span):
    return span.trace_id, span.span_id


def values(span):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_a_group_can_be_followed_from_its_source_to_its_end_over_kills(owner, make_queue, program):
    target = make_queue()
    program.environment["TEST_TARGET"] = target

    def run(service, text):
        program.environment["TEST_SERVICE"] = service
        done = program.run(TRACED + text)
        assert all("resumes an interrupted group" in line for line in done.stderr.splitlines()), done.stderr
        return done

    def of(service, name):
        """Return a service's spans of this name, in the order in which they ended."""
        return [span for sender, span in collector.spans if (sender["service.name"], span.name) == (service, name)]

    # Given a producer and a pipe that are killed, and started again
    with collecting() as collector:
        program.environment["TEST_OTLP"] = f"http://127.0.0.1:{collector.port}/v1/traces"
        assert run("producer 1", PRODUCER).returncode == -signal.SIGKILL
        assert run("producer 2", PRODUCER).returncode == 0
        assert run("pipe 1", PIPE).returncode == -signal.SIGKILL
        assert run("pipe 2", PIPE).returncode == 0
        assert run("consumer", CONSUMER).stdout == f"{THIS}\n"

    # Then the second producer links to the first
    first, second = (of(f"producer {number}", f"put {owner.queue}") for number in (1, 2))
    assert [values(span)["messaging.ibmmq.msg_seq_number"] for span in first + second] == [2, 4, 6, 7]
    (resumed,) = of("producer 2", f"recover {owner.queue}")
    assert links(resumed) == links(second[0]) == [ids(first[-1])]
    # and the pipe's incoming side to who put the messages, the second pipe also to the first
    producers = [ids(span) for span in first + second]
    (got,), gets = (of(f"pipe {number}", f"get {owner.queue}") for number in (1, 2))
    assert [values(span)["messaging.ibmmq.msg_seq_number"] for span in (got, *gets)] == [3, 6, 7]
    assert links(got) == producers[:2]
    assert [links(span) for span in gets] == [[ids(got), *producers[1:3]], producers[3:]]
    # and its outgoing side is below the incoming one
    puts = [span for number in (1, 2) for span in of(f"pipe {number}", f"put {target}")]
    assert [(span.trace_id, span.parent_span_id) for span in puts] == [ids(span) for span in (got, *gets)]
    # and the consumer at the end links to the pipe's units of work.
    (end,) = of("consumer", f"get {target}")
    assert links(end) == [ids(span) for span in puts]
    assert values(end)["messaging.batch.message_count"] == 7
    # Every commit is told: 4 of the producers, 3 of the pipe, 1 of the consumer.
    assert sum(span.name.startswith("commit ") for _, span in collector.spans) == 8
