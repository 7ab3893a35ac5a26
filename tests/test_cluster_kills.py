"""Groups over three instances while producers, consumers, channels and queue managers die, one at a time: none split, none lost,
none doubled.

Two programs put groups at QM1 and QM2; at each instance one takes its groups to a queue of its own, exactly once, so that queue
tells what arrived there. ``MQGROUPS_CLUSTER_GROUPS=1000`` makes it that many groups, and disturbs them in proportion.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from mqgroups.mqi import constants as mq
from tests.cluster_worker import GAVE_UP
from tests.fix_mqi import OK, wait_until

pytestmark = pytest.mark.embedded

GROUPS = int(os.environ.get("MQGROUPS_CLUSTER_GROUPS", "40"))
MESSAGES = 8
ALL = ("QM1", "QM2", "QM3")
PRODUCERS = {"QM1": "PRODUCER.ONE", "QM2": "PRODUCER.TWO"}
ARRIVED = "ARRIVED"


class Programs:
    """The programs that run; each is started again when it has died."""

    def __init__(self, cluster, queue, binding):
        self._cluster = cluster
        self._queue = queue
        self._binding = binding.__name__
        self._running = {}

    def start(self):
        """Start whatever does not run and is not done."""
        half = str(GROUPS // 2)
        for q_mgr_name, name in PRODUCERS.items():
            self._start(q_mgr_name, "produce", self._queue, name, half, str(MESSAGES))
        for q_mgr_name in ALL:
            self._start(q_mgr_name, "carry", self._queue, ARRIVED, "CARRIER")

    def kill(self, role, q_mgr_name):
        """SIGKILL one."""
        process = self._running[role, q_mgr_name]
        process.kill()
        process.wait()

    def end(self):
        """SIGKILL all."""
        for role, q_mgr_name in self._running:
            self.kill(role, q_mgr_name)

    def _start(self, q_mgr_name, role, *arguments):
        before = self._running.get((role, q_mgr_name))
        code = None if before is None else before.poll()
        if before is not None and code in (None, 0):
            return
        assert code in (None, -9, GAVE_UP), f"{role} at {q_mgr_name} ended with {code}"
        environment = {
            **os.environ,
            **self._cluster[q_mgr_name].environment(),
            "MQGROUPS_MQI": self._binding,
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
        command = [sys.executable, "-W", "error", "-m", "tests.cluster_worker", role, *arguments]
        self._running[role, q_mgr_name] = subprocess.Popen(command, env=environment)


class Disturbance:
    """What goes wrong, one thing at a time; ``heal`` before the next."""

    def __init__(self, cluster, programs, seed):
        self._cluster = cluster
        self._programs = programs
        self._random = random.Random(seed)
        self._stopped = None

    def __call__(self):
        choose = self._random.choice
        what = choose(["producer", "consumer", "queue manager", "stop", "cut", "mix"])
        one, other = self._random.sample(ALL, 2)
        control = self._cluster[one].control
        if what == "producer":
            self._programs.kill("produce", choose([*PRODUCERS]))
        elif what == "consumer":
            self._programs.kill("carry", one)
        elif what == "queue manager":
            self._cluster[one].kill()
            self._cluster[one].start()
        elif what == "stop":
            control.stop_channel(other)
            self._stopped = (one, other)
        elif what == "cut":
            # It resolves the doubt by itself: nobody is told when the batch comes around which it is cut.
            control.cut_channel(other, choose(["before", "after"]))
        else:
            control.interleave_channel(other, self._random.randrange(1000))

    def heal(self):
        """Start the channel that was stopped, and the programs that died."""
        if self._stopped is not None:
            one, other = self._stopped
            self._cluster[one].control.start_channel(other)
            self._stopped = None
        self._programs.start()


def taken_off(connection, queue):
    """Get all there is on a queue: (GroupId, number, is it the last, data)."""
    handle = connection.open(queue, mq.MQOO_INPUT_SHARED)
    while (answer := handle.get()).code == OK:
        yield *answer.place[:2], bool(answer.md.MsgFlags & mq.MQMF_LAST_MSG_IN_GROUP), answer.data.decode()
    handle.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_whatever_dies_each_group_arrives_once_and_whole_at_one_instance(make_cluster, binding, seed):
    # Given: a cluster queue with three instances, two producers, and a reader at each instance.
    cluster = make_cluster()
    queue = cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP) SHARE DEFSOPT(SHARED) MAXDEPTH(999999)")
    for name in ALL:
        cluster.mqsc(name, f"DEFINE QLOCAL({ARRIVED}) DEFPSIST(YES) MAXDEPTH(999999)")
    programs = Programs(cluster, queue, binding)
    disturb = Disturbance(cluster, programs, seed)

    def has_arrived(messages):
        programs.start()  # also what has given up meanwhile, because its queue manager was gone for too long
        return sum(cluster.depth(name, ARRIVED) for name in ALL) >= messages

    def wait_for(messages):
        wait_until(lambda: has_arrived(messages))

    # When, every few groups, something dies.
    try:
        disturb.heal()
        for stage in range(1, GROUPS // 4):
            wait_for(4 * MESSAGES * stage)
            disturb()
            disturb.heal()
        wait_for(GROUPS * MESSAGES)
        # What counts in CURDEPTH before it is committed would be backed out with its program.
        wait_until(
            lambda: all("UNCOM(NO)" in cluster.mqsc(name, f"DISPLAY QSTATUS({ARRIVED}) UNCOM")[0] for name in ALL)
        )
    finally:
        programs.end()
    # Then each group is there as it was put: once, in sequence, and at one instance.
    found = defaultdict(list)
    for name in ALL:
        for group_id, number, is_last, data in taken_off(cluster.connect(name), ARRIVED):
            producer, group, _ = data.rsplit(".", 2)
            found[producer, int(group)].append((name, group_id, number, is_last, data))
    assert sorted(found) == [(name, group) for name in PRODUCERS.values() for group in range(GROUPS // 2)]
    for (producer, group), messages in found.items():
        (name, group_id), *others = {message[:2] for message in messages}
        assert not others
        assert sorted(messages) == [
            (name, group_id, number, number == MESSAGES, f"{producer}.{group}.{number}")
            for number in range(1, MESSAGES + 1)
        ]
    assert {messages[0][0] for messages in found.values()} == {*ALL}
    assert [cluster.depth(name, queue) for name in ALL] == [0, 0, 0]
