"""SIGKILL at every MQI call of the classic pattern, of the application and of the queue manager; then a restart.

Whatever the application knew is gone with it. Afterwards an independent reader, raw pymqi, must find the group whole and
once, in order, and both status queues empty; and what the consumer handled must be every message once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgroups.embedded import Fault
from tests.each_call import Call, each_call
from tests.faults import worker
from tests.faults.conftest import Harm
from tests.faults.reader import Reader, Seen, wrong_with_group
from tests.faults.worker import Job

pytestmark = pytest.mark.embedded

SHAPES = [pytest.param(5, 2, id="three-units-of-work"), pytest.param(3, 9, id="one-unit-of-work")]
_KILLED = -9
_MOST_RESTARTS = 10


def _until_done(harm: Harm, job: Job) -> None:
    """Start the application again, as a supervisor would, until it says that it is done."""
    for _ in range(_MOST_RESTARTS):
        if not harm.qmgr.is_running:
            harm.qmgr.start()
        if _is_done(harm, job) or worker.run(job) == 0:
            return
    pytest.fail(f"{job} was not done after {_MOST_RESTARTS} restarts")


def _is_done(harm: Harm, job: Job) -> bool:
    """Whether an application without checkpoints, which cannot know it itself, has no more to do."""
    if (
        job.role == "put"
        and not job.checkpoints
        and not any(b'"state":"in group"' in data for data in harm.status(job))
    ):
        return not wrong_with_group(harm.browse(job.queue), _payloads(job))
    return False


def _payloads(job: Job) -> list[bytes]:
    return [worker.payload(number) for number in range(1, job.messages + 1)]


def _check(harm: Harm, job: Job) -> None:
    if job.role == "put":
        assert wrong_with_group(harm.browse(job.queue), _payloads(job)) == ""
    else:
        assert harm.browse(job.queue) == []
        handled = Path(job.file).read_bytes().split()
        assert handled == _payloads(job)
    left = harm.status(job)
    # Who was done but for closing leaves a record that says so; the next start takes it away.
    if left:
        assert b'"state":"completed"' in left[0] or b'"state":"idle"' in left[0]
        if job.role == "put":
            Path(job.file).touch()
        assert worker.run(job) == 0
        left = harm.status(job)
    assert left == []


@each_call(least=8, most=46)
@pytest.mark.parametrize("checkpoints", [False, True], ids=["classic", "checkpoints"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("role", ["put", "get"])
@pytest.mark.parametrize(("messages", "every"), SHAPES)
def test_client_killed_at_every_mqi_call_loses_and_doubles_nothing(
    harm: Harm, role: str, when: str, checkpoints: bool, messages: int, every: int, call: Call
) -> None:
    job = harm.filled_job(role, messages=messages, every=every, checkpoints=checkpoints)
    harm.qmgr.arm(Fault("kill_client", when, call.nth))
    code = worker.run(job)
    fired = harm.qmgr.faults_fired()
    harm.qmgr.clear_faults()
    assert code == (_KILLED if fired else 0)
    if fired:
        _until_done(harm, job)
    _check(harm, job)
    call.check(fired)


@each_call(least=3, most=6)
@pytest.mark.parametrize("checkpoints", [False, True], ids=["classic", "checkpoints"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("role", ["put", "get"])
def test_queue_manager_killed_at_every_commit_loses_and_doubles_nothing(
    harm: Harm, role: str, when: str, checkpoints: bool, call: Call
) -> None:
    job = harm.filled_job(role, messages=5, every=2, checkpoints=checkpoints)
    harm.qmgr.arm(Fault("kill_server", when, call.nth, verb="MQCMIT"))
    code = worker.run(job)
    if code != 0:
        assert code == worker.ENVIRONMENT_FAILED
        assert harm.qmgr.wait() == _KILLED
        harm.qmgr.start()
        _until_done(harm, job)
    harm.qmgr.clear_faults()
    _check(harm, job)
    call.check(code)


@each_call(least=14, most=46)
@pytest.mark.parametrize("role", ["put", "get"])
def test_lost_reply_of_every_call_loses_and_doubles_nothing(harm: Harm, role: str, call: Call) -> None:
    job = harm.filled_job(role, messages=5, every=2, checkpoints=True)
    harm.qmgr.arm(Fault("drop", "after", call.nth))
    worker.run(job)
    fired = harm.qmgr.faults_fired()
    harm.qmgr.clear_faults()
    _until_done(harm, job)
    _check(harm, job)
    call.check(fired)


def test_the_reader_has_a_new_connection_after_the_queue_manager_was_killed(harm: Harm) -> None:
    job = harm.job("get", messages=3, every=2, checkpoints=False)
    harm.fill(job)
    reader = Reader(harm.qmgr)
    assert len(reader.browse(job.queue)) == 3
    harm.qmgr.kill()
    harm.qmgr.start()
    assert len(reader.browse(job.queue)) == 3
    reader.close()


def test_twenty_producers_at_once_put_twenty_whole_groups(harm: Harm) -> None:
    first = harm.job("put", messages=40, every=7, checkpoints=False)
    jobs = [first] + [harm.job("put", messages=40, every=7, checkpoints=False, queue=first.queue) for _ in range(19)]
    processes = [worker.start(job) for job in jobs]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 20
    by_group: dict[bytes, list[Seen]] = {}
    for seen in harm.browse(first.queue):
        by_group.setdefault(seen.group_id, []).append(seen)
    assert [wrong_with_group(group, _payloads(first)) for group in by_group.values()] == [""] * 20
    assert all(harm.status(job) == [] for job in jobs)
