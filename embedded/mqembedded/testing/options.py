"""The plugin's options, and the values that the plugin's modules share in pytest's stash."""

from __future__ import annotations

import os

import pytest

from mqembedded.readings import ReadingError, chosen_by
from mqembedded.testing import IMAGE, provision
from mqembedded.testing.bindings import BINDINGS
from mqembedded.testing.provision import Wanted
from mqembedded.testing.under_test import QueueManagerUnderTest

KINDS = (provision.EMBEDDED, provision.IMITATION, provision.CONTAINER, provision.GIVEN, provision.AUTO)
SCOPES = ("session", "package", "module", "class", "function")
# The fixture that starts an embedded queue manager under the test's control.
EMBEDDED_ONLY = "own_queue_manager"

# The reason why there is no queue manager, with --mq=auto.
MISSING = pytest.StashKey[str]()
# The queue manager that all tests of the session share.
SESSION = pytest.StashKey[QueueManagerUnderTest]()
# Whether a test ended in an error, in the stash of the test.
FAILED = pytest.StashKey[bool]()


def add_options(parser: pytest.Parser) -> None:
    """Add the plugin's command-line options and its ini option ``mq_mqsc``."""
    group = parser.getgroup("mqembedded", "a queue manager for tests")
    group.addoption(
        "--mq",
        choices=KINDS,
        default=provision.EMBEDDED,
        help="queue manager under test: embedded; imitation: embedded, with only the objects of IBM's container; container: "
        "IBM's; url: the one in MQTEST_QMGR, _CHANNEL, _CONN_NAME, …; auto: IBM's container if available, otherwise tests that "
        "need a queue manager are skipped",
    )
    group.addoption(
        "--mq-scope",
        choices=SCOPES,
        default="session",
        help="scope of the queue manager under test (default: session)",
    )
    group.addoption(
        "--mq-license",
        default=os.environ.get(provision.LICENSE_VARIABLE, ""),
        help=f"'accept' accepts the licence of IBM's container; environment variable: {provision.LICENSE_VARIABLE}",
    )
    group.addoption("--mq-image", default=IMAGE, help=f"image of IBM's container, with its tag (default: {IMAGE})")
    group.addoption(
        "--mqi",
        choices=(*BINDINGS, "both"),
        default="both",
        help="binding under test; both: each installed binding",
    )
    group.addoption(
        "--mq-reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="behaviour of embedded queue managers that IBM's documentation leaves open, or @FILE: a file of make "
        "first-contact; can be repeated",
    )
    parser.addini(
        "mq_mqsc", "MQSC files that the queue manager under test reads at its start", type="paths", default=[]
    )


def wanted(config: pytest.Config) -> Wanted:
    """Return the queue manager that the command line asks for; raise pytest.UsageError if ``--mq-reading`` is wrong."""
    try:
        readings = chosen_by(config.getoption("--mq-reading"))
    except ReadingError as error:
        raise pytest.UsageError(f"--mq-reading: {error}") from error
    return Wanted(config.getoption("--mq"), config.getoption("--mq-license"), config.getoption("--mq-image"), readings)
