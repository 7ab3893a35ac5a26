"""The campaign on a queue manager that it does not control: an embedded one, known by its address only."""

from __future__ import annotations

import pytest

from mqembedded import EmbeddedQueueManager
from tests.faults.campaign import Campaign
from tests.faults.extents import STRIDE
from tests.faults.machine import MQSC
from tests.faults.patterns import PATTERNS, PLAIN_ROLES
from tests.faults.pool import Setting, run_case, undisturbed, worker_processes
from tests.faults.stranger import injector

pytestmark = pytest.mark.embedded
# Of a queue manager of which that is not known, consumers wait longer for what a lost connection may hide.
_KNOWN = {"lost connection": "backs out, then closes handles"}


@pytest.fixture(scope="module", autouse=True)
def _stranger(tmp_path_factory):
    with (
        EmbeddedQueueManager("QMS", mqsc=[MQSC], users={"app": "passw0rd"}) as qmgr,
        pytest.MonkeyPatch.context() as patch,
    ):
        variables = {
            "MQTEST_QMGR": qmgr.q_mgr_name,
            "MQTEST_CHANNEL": qmgr.channel,
            "MQTEST_CONN_NAME": qmgr.conn_name,
            "MQTEST_USER": "app",
            "MQTEST_PASSWORD": "passw0rd",
        }
        for name, value in (variables | injector.environment(tmp_path_factory.mktemp("injector"))).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def worker():
    with worker_processes(1, Setting(readings=_KNOWN, stranger=True)) as workers:
        yield workers


def test_nothing_is_lost_and_nothing_doubled(request, worker):
    seed = request.config.getoption("randomly_seed", 1)
    patterns = STRIDE.among([pattern for pattern in PATTERNS.values() if pattern.role in PLAIN_ROLES], seed)
    campaign = Campaign(STRIDE, seed, patterns, (), worker)
    campaign.run(print)
    total = campaign.total()
    assert total.wrong == []
    assert total.fired > total.runs / 2


# The second one's MQSTAT goes past pymqi.
@pytest.mark.parametrize("name", ["pipe/classic/plain", "put/classic/plain/async"])
def test_every_call_of_the_library_counts_and_no_other(worker, name):
    calls = len(worker.submit(undisturbed, name).result())
    assert worker.submit(run_case, f"{name} drop-before@{calls}").result().fired == 1
    assert worker.submit(run_case, f"{name} drop-before@{calls + 1}").result().fired == 0


def test_an_end_of_the_queue_manager_reaches_everybody(worker):
    result = worker.submit(run_case, "put/classic/plain kill_server-after@MQCMIT.3").result()
    assert result.wrong == []
    assert (result.in_doubt, result.verdicts) == (1, 1)


def test_a_safety_that_is_missing_is_noticed():
    with worker_processes(1, Setting(("fence",), readings=_KNOWN, stranger=True)) as workers:
        assert workers.submit(run_case, "zombie put/classic/plain stop@23").result().wrong
