"""ibmmq's own OpenTelemetry propagation, in programs of others.

Where the OpenTelemetry API is installed ibmmq adds ``traceparent`` to every message that is put in a span, through a message
handle of its own, and links the span in which a message is got to it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from mqembedded import constants as c

pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")
pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(importlib.util.find_spec("ibmmq") is None, reason="needs ibmmq"),
]

# Prints for every message: its data without what stands in front, its Format, and whether the span it was got in is linked
# to the span it was put in.
PROGRAM = """
import sys
import ibmmq
from ibmmq import CMQC
from opentelemetry.sdk.trace import TracerProvider

queue_name, q_mgr_name, options = sys.argv[1], sys.argv[2], int(sys.argv[3])
tracer = TracerProvider().get_tracer("test")
q_mgr = ibmmq.connect(q_mgr_name)
queue = ibmmq.Queue(q_mgr, queue_name, CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
queue.put(b"outside")
with tracer.start_as_current_span("put") as put:
    queue.put(b"inside")
for _ in range(2):
    with tracer.start_as_current_span("get") as get:
        md, gmo = ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_NO_WAIT | options)
        data = queue.get(None, md, gmo)
    of_put = [(put.get_span_context().trace_id, put.get_span_context().span_id)]
    linked = [(link.context.trace_id, link.context.span_id) for link in get.links] == of_put
    print(data[-7:].decode().strip(), md.Format.decode().strip(), linked)
queue.close()
q_mgr.disconnect()
"""


@pytest.mark.parametrize(
    ("options", "format_"),
    [
        (c.MQGMO_PROPERTIES_AS_Q_DEF, c.MQFMT_RF_HEADER_2),
        (c.MQGMO_PROPERTIES_FORCE_MQRFH2, c.MQFMT_RF_HEADER_2),
        # ibmmq then asks for the properties in its own message handle.
        (c.MQGMO_NO_PROPERTIES, c.MQFMT_NONE),
    ],
)
def test_traceparent_arrives(mq, queue, options, format_):
    environment = {**os.environ, **mq.queue_manager.environment()}
    assert "MQIPY_NOOTEL" not in mq.queue_manager.environment()
    environment.pop("MQIPY_NOOTEL", None)
    command = [sys.executable, "-c", PROGRAM, queue, mq.q_mgr_name, str(options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    expected = [["outside", "", "False"], ["inside", format_.decode().strip(), "True"]]
    assert [line.split(" ") for line in done.stdout.splitlines()] == expected
