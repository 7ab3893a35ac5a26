"""One TLS identity in a process (IBM MQ, "MQSCO"), with the embedded client library, which pretends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mqembedded.libmqm.build import build

pytestmark = pytest.mark.embedded

PROGRAM = """
import logging, sys, mqgroups
from mqgroups.mqi.binding import load_binding
logging.basicConfig(level="INFO", format="%(levelname)s %(message)s", stream=sys.stdout)
Q_MGR = {address!r}
TLS = dict(cipher_spec="ANY_TLS12_OR_HIGHER", key_repository="/etc/mq/a")
connect = lambda **tls: mqgroups.connect(*Q_MGR, **tls)
"""


@pytest.fixture
def printed(mq, binding):
    """A function that runs a program, and returns what it logs and prints."""

    def run(program: str) -> list[str]:
        address = (mq.q_mgr_name, mq.channel, mq.conn_name)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM.format(address=address) + program],
            env={
                **{name: value for name, value in os.environ.items() if name != "MQSSLKEYR"},
                "PYTHONPATH": os.pathsep.join(sys.path),
                "MQGROUPS_LIBMQM": str(build()),
                "MQGROUPS_MQI": binding.__name__,
                "MQEMBEDDED_PRETEND_TLS": "yes",
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not done.stderr
        return done.stdout.splitlines()

    return run


def test_another_identity_is_refused_while_the_first_one_lives(printed):
    lines = printed("""
with connect(**TLS):
    with connect(**TLS):
        print("the same one may be used again")
    for other in ({"key_repository": "/etc/mq/b"}, {"certificate_label": "b"}, {"fips": True}):
        try:
            connect(**{**TLS, **other})
        except mqgroups.errors.ConfigurationError as error:
            print(error)
with connect(**{**TLS, "key_repository": "/etc/mq/b"}):
    print("the first one is gone")
""")
    told, same, *refused, last = lines
    assert told == "INFO MQCONNX ended with a warning: MQRC_SSL_ALREADY_INITIALIZED (2391)"
    assert same == "the same one may be used again"
    assert len(refused) == 3
    for line, asked in zip(refused, ("'/etc/mq/b'", "certificate_label='b'", "fips=True"), strict=True):
        assert asked in line
        assert "with key_repository='/etc/mq/a', certificate_label=None, and the connection would get that one" in line
    assert last == "the first one is gone"


def test_threads_that_connect_at_once_have_one_identity(printed):
    # The first one is answered last, so nobody has connected yet when the warning comes
    lines = printed("""
import threading
from mqgroups.connection.handle import Handle
connected, is_made, may_go_on = Handle.connect, threading.Event(), threading.Event()
def slow(handle, arguments):
    codes = connected(handle, arguments)
    if threading.current_thread() is first:
        is_made.set()
        may_go_on.wait(30)
    return codes
Handle.connect = slow
first = threading.Thread(target=lambda: connect(**TLS).close())
first.start()
is_made.wait(30)
with connect(**TLS):
    may_go_on.set()
first.join()
print("both")
""")
    assert lines[-1] == "both"


def test_an_environment_that_somebody_else_made_is_refused(printed):
    (line,) = printed("""
from mqgroups.mqi.abc import ConnectArguments
made = []
assert load_binding().connect(ConnectArguments(*Q_MGR, **TLS), made)[1] == 0
try:
    connect(**TLS)
except mqgroups.errors.ConfigurationError as error:
    print(error)
""")
    assert "which this package did not make" in line
