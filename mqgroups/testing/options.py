"""The plugin's options, and what its parts tell one another through pytest's stash."""

from __future__ import annotations

import os

import pytest

from mqgroups.embedded.readings import ReadingError, chosen_by
from mqgroups.testing import IMAGE, provision
from mqgroups.testing.bindings import BINDINGS
from mqgroups.testing.provision import Wanted
from mqgroups.testing.under_test import QueueManagerUnderTest

KINDS = (provision.EMBEDDED, provision.CONTAINER, provision.GIVEN, provision.AUTO)
SCOPES = ("session", "package", "module", "class", "function")
# Fixtures that only an embedded queue manager in hand can give.
EMBEDDED_ONLY = "own_queue_manager"

# Why there is no queue manager, under --mq=auto.
MISSING = pytest.StashKey[str]()
# What is started for the whole session.
SESSION = pytest.StashKey[QueueManagerUnderTest]()


def add_options(parser: pytest.Parser) -> None:
    """Add the options, and the ini option ``mq_mqsc``."""
    group = parser.getgroup("mqgroups", "IBM MQ message groups")
    group.addoption(
        "--mq",
        choices=KINDS,
        default=provision.EMBEDDED,
        help="queue manager under test: the embedded one, IBM's container, that of MQGROUPS_TEST_QMGR, _CHANNEL, _CONN_NAME, …, "
        "or IBM's container if it can be had",
    )
    group.addoption(
        "--mq-scope",
        choices=SCOPES,
        default="session",
        help="how long a queue manager under test lives (default: session)",
    )
    group.addoption(
        "--mq-license",
        default=os.environ.get(provision.LICENSE_VARIABLE, ""),
        help=f"'accept' accepts the licence of IBM's container; also {provision.LICENSE_VARIABLE}",
    )
    group.addoption("--mq-image", default=IMAGE, help=f"IBM's container, with its tag (default: {IMAGE})")
    group.addoption(
        "--mqi",
        choices=(*BINDINGS, "both"),
        default="both",
        help="binding under test; both means those that are installed",
    )
    group.addoption(
        "--mq-reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="which way embedded queue managers go where IBM's texts leave something open; may be repeated",
    )
    parser.addini(
        "mq_mqsc", "MQSC files that the queue manager under test reads at its start", type="paths", default=[]
    )


def wanted(config: pytest.Config) -> Wanted:
    """Return which queue manager the options ask for; raises pytest.UsageError for a reading that there is not."""
    try:
        readings = chosen_by(config.getoption("--mq-reading"))
    except ReadingError as error:
        raise pytest.UsageError(f"--mq-reading: {error}") from error
    return Wanted(config.getoption("--mq"), config.getoption("--mq-license"), config.getoption("--mq-image"), readings)
