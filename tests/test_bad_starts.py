"""What a script prints that cannot start: few lines, of which the last one says why. And one that forgets to end its group."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from traceback import extract_tb

import pytest

from mqgroups import errors

# Of these, Python writes seven for a call in the script and the frame that raises in it.
MOST_LINES = 10
CONNECT = 'q_mgr = mqgroups.connect("{q_mgr_name}", "DEV.APP.SVRCONN", "{conn_name}")'
PRODUCER = f'{CONNECT}\nfirst = q_mgr.group_producer("{{queue}}", name="{{name}}", '
# What the script does, the variables of its environment, and the beginning of its last line.
BAD_STARTS = [
    (CONNECT.replace("{conn_name}", "127.0.0.1(1)"), {}, "ConnectionBroken: MQCONNX"),
    (CONNECT.replace("{q_mgr_name}", "QMX"), {}, "MQIError: MQCONNX"),
    (CONNECT.replace("DEV.APP.SVRCONN", "NO.SUCH"), {}, "MQIError: MQCONNX"),
    (f"{CONNECT[:-1]}, user='app', password='wrong')", {}, "NotAuthorised: MQCONNX"),
    (CONNECT, {"MQGROUPS_LIBMQM": "/nowhere"}, "BindingMissing: MQGROUPS_LIBMQM is '/nowhere'"),
    (f"{CONNECT}\nq_mgr.group_consumer('NO.SUCH', name='{{name}}')", {}, "QueueMissing: MQOPEN for queue NO.SUCH"),
    (
        f"{CONNECT}\nq_mgr.group_pipe('{{queue}}', 'NO.SUCH', name='{{name}}')",
        {},
        "QueueMissing: MQOPEN for queue NO.SUCH",
    ),
    (f"{PRODUCER}commit_every=0)", {}, "ConfigurationError: commit_every: "),
    (f"{PRODUCER}status_model='NO.SUCH')".replace("{name}", "{name}.NEW"), {}, "StatusQueueUnusable: "),
    (f"{PRODUCER}status_queue='{{queue}}')", {}, "ConfigurationError: "),
    (
        "\n    ".join([f"{PRODUCER})\nwith first:", *f"{PRODUCER}owner_wait_s=0)".splitlines()]),
        {},
        "OwnerActive: MQOPEN for status",
    ),
    (CONNECT.replace("{q_mgr_name}", "QM\u00e9"), {}, "ConfigurationError: q_mgr_name "),
    ("import pymqi\nmqgroups.wrap(pymqi.QueueManager(None))", {}, "ConfigurationError: the pymqi.QueueManager is not"),
]
AIO = """import asyncio
from mqgroups import aio

async def main():
    async with aio.connect("{q_mgr_name}", "DEV.APP.SVRCONN", "{conn_name}") as q_mgr:
        async with q_mgr.group_producer("NO.SUCH", name="{name}"):
            pass

asyncio.run(main())
"""


@pytest.fixture
def printed(owner, faults, tmp_path):
    """A function that runs a script, and returns the lines that it writes to standard error."""

    def run(script, environment, code=1):
        program = tmp_path / "script.py"
        values = {
            "q_mgr_name": faults.q_mgr_name,
            "conn_name": faults.conn_name,
            "queue": owner.queue,
            "name": owner.name,
        }
        program.write_text(f"import mqgroups\n{script.format(**values)}\n")
        done = subprocess.run(
            [sys.executable, str(program)],
            env={**os.environ, **faults.environment(), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, script
        return done.stderr.splitlines()

    return run


@pytest.mark.embedded
def test_a_script_that_cannot_start_prints_few_lines_and_the_last_one_says_why(printed):
    for script, environment, end in BAD_STARTS:
        lines = printed(script, environment)
        assert lines[-1].startswith(f"mqgroups.errors.{end}"), lines
        assert len(lines) <= MOST_LINES, (end, lines)


@pytest.mark.embedded
def test_below_the_call_of_an_asyncio_program_there_are_few_lines_too(printed):
    lines = printed(AIO, {})
    assert lines[-1].startswith("mqgroups.errors.QueueMissing: MQOPEN for queue NO.SUCH")
    begin = next(at for at, line in enumerate(lines) if "q_mgr.group_producer" in line)
    assert len(lines) - begin <= MOST_LINES, lines


@pytest.mark.embedded
def test_what_is_open_at_the_end_of_a_script_is_told_by_the_log(printed):
    script = f"{PRODUCER})\ngroup = first.group()\ngroup.put('x')"
    producer, group = sorted(printed(script, {}, code=0))
    assert producer.startswith("<GroupProducer ")
    assert "was not closed" in producer
    assert group.startswith("<OutgoingGroup ")
    assert "was not ended, so its last messages are not committed" in group


def test_the_frames_that_are_left_out_are_in_the_log(owner, caplog):
    with caplog.at_level(logging.DEBUG, "mqgroups"), pytest.raises(errors.QueueMissing):
        owner.qmgr.group_producer("NO.SUCH", name=owner.name)
    # Not the text: Spark formats what the handlers of a process have as JSON.
    frames = [each.name for record in caplog.records if record.exc_info for each in extract_tb(record.exc_info[2])]
    assert "open_queue" in frames


def test_an_error_that_went_through_a_function_of_the_application_keeps_its_frames(owner):
    def on_resume(_):
        owner.connect().group_producer("NO.SUCH", name=f"{owner.name}.OTHER")

    owner.interrupt_put([b"0", b"1"], commit_every=1)
    with pytest.raises(errors.QueueMissing) as caught:
        owner.producer(on_resume=on_resume)
    assert "on_resume" in [each.name for each in caught.traceback]
