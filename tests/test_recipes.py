"""recipes/: each runs, and leaves on the queues what it says; those that restart are killed before."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tenacity

from mqembedded import Fault
from mqgroups.mqi import constants as mqi

ROOT = Path(__file__).resolve().parents[1]
RECIPES = ROOT / "recipes"

ORDERS = [b"order %d" % number for number in range(1, 10)]
MIG, LAST = mqi.MQMF_MSG_IN_GROUP, mqi.MQMF_MSG_IN_GROUP | mqi.MQMF_LAST_MSG_IN_GROUP
SEG, LAST_SEG = mqi.MQMF_SEGMENT, mqi.MQMF_SEGMENT | mqi.MQMF_LAST_SEGMENT


class Kitchen:
    """Two empty queues, recipes that are run on them in processes of their own, and a reader of its own."""

    def __init__(self, mq: Any, make_queue: Callable[[], str]) -> None:
        self.mq = mq
        # Here, because the client library has to be loaded before.
        self.pymqi = pytest.importorskip("pymqi", reason="recipes are on pymqi")
        self.queue, self.status = make_queue(), make_queue()

    def run(
        self, recipe: str, *, die_after: int = 0, arguments: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        mq = self.mq
        embedded = mq.environment()
        given = {
            "MQSERVER": f"{mq.channel}/TCP/{mq.conn_name}",
            "MQGROUPS_Q_MGR_NAME": mq.q_mgr_name,
            "MQGROUPS_CONN_NAME": mq.conn_name,
            "MQ_USER": mq.user or "",
            "MQ_PASSWORD": mq.password or "",
            "MQGROUPS_MQI": "pymqi",
            "DIE_AFTER": str(die_after),
            "PYTHONPATH": str(ROOT),
        }
        path = RECIPES / f"{recipe}.py"
        return subprocess.run(
            [sys.executable, "-W", "error", str(path), *(arguments or (self.queue, self.status))],
            env={**os.environ, **embedded, **given},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def lines(self, recipe: str, **how: Any) -> list[str]:
        """Run a recipe that has to succeed; returns what it printed."""
        done = self.run(recipe, **how)
        assert (done.returncode, done.stderr) == (0, "")
        return [line.rstrip() for line in done.stdout.splitlines()]

    def killed(self, recipe: str, die_after: int) -> list[str]:
        """Run a recipe that ends itself by SIGKILL; returns when the queue manager has noticed."""
        done = self.run(recipe, die_after=die_after)
        assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
        self.wait_until_gone()
        return done.stdout.splitlines()

    def wait_until_gone(self) -> None:
        """Wait until the queue manager has noticed that a program is dead, and has backed out its unit of work.

        Whoever can open the status queue exclusively knows that.
        """
        q_mgr = self.mq.connect(self.pymqi)
        patience = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(self.pymqi.MQMIError),
            stop=tenacity.stop_after_delay(30),
            wait=tenacity.wait_fixed(0.01),
            reraise=True,
        )
        patience(self.pymqi.Queue, q_mgr, self.status, mqi.MQOO_INPUT_EXCLUSIVE).close()
        q_mgr.disconnect()

    def on_queue(self, queue: str | None = None) -> list[Any]:
        """Return (data, MD) of what is committed on a queue, in physical order."""
        pymqi = self.pymqi
        q_mgr = self.mq.connect(pymqi)
        handle = pymqi.Queue(q_mgr, queue or self.queue, mqi.MQOO_BROWSE)
        found = []
        while True:
            md = pymqi.MD(Version=2)
            gmo = pymqi.GMO(
                Version=2, Options=mqi.MQGMO_BROWSE_NEXT | mqi.MQGMO_NO_PROPERTIES, MatchOptions=mqi.MQMO_NONE
            )
            try:
                found.append((handle.get(10_000, md, gmo), md))
            except pymqi.MQMIError as error:
                if error.reason != mqi.MQRC_NO_MSG_AVAILABLE:
                    raise
                break
        handle.close()
        q_mgr.disconnect()
        return found

    def places(self, queue: str | None = None) -> list[tuple[bytes, int, int, int]]:
        """Return data, MsgSeqNumber, Offset and MsgFlags of what is committed; it has to be one group."""
        found = self.on_queue(queue)
        assert len({md.GroupId for _, md in found}) <= 1
        return [(data, md.MsgSeqNumber, md.Offset, md.MsgFlags) for data, md in found]

    def is_done(self, whole: list[tuple[bytes, int, int, int]]) -> bool:
        """Whether a putter, which cannot know it, has no more to do."""
        return self.on_queue(self.status) == [] and self.places() == whole


@pytest.fixture
def kitchen(mq, make_queue):
    return Kitchen(mq, make_queue)


def group(payloads: list[bytes]) -> list[tuple[bytes, int, int, int]]:
    return [(data, number, 0, LAST if number == len(payloads) else MIG) for number, data in enumerate(payloads, 1)]


WHOLE = group(ORDERS)
SEGMENTED = [
    (b"small", 1, 0, MIG),
    (b"a message of for", 2, 0, MIG | SEG),
    (b"ty bytes or so, ", 2, 16, MIG | SEG),
    (b"in three", 2, 32, MIG | LAST_SEG),
    (b"the last one, in", 3, 0, LAST | SEG),
    (b" two", 3, 16, LAST | LAST_SEG),
]


def gets(numbers: range) -> list[str]:
    return [f"MQGET {number} order {number}" for number in numbers]


def puts(numbers: range) -> list[str]:
    return [f"MQPUT {number} order {number}" for number in numbers]


def test_a_group_is_put_and_got_across_units_of_work(kitchen):
    assert kitchen.lines("put_group") == [
        "nothing to resume",
        *puts(range(1, 4)), "StatusInfo 3", "MQCMIT",
        *puts(range(4, 7)), "StatusInfo 6", "MQCMIT",
        *puts(range(7, 10)), "MQCMIT",
    ]  # fmt: skip
    assert kitchen.places() == WHOLE
    assert kitchen.on_queue(kitchen.status) == []
    assert kitchen.lines("get_group") == [
        "nothing to resume",
        *gets(range(1, 5)), "StatusInfo 4", "MQCMIT",
        *gets(range(5, 9)), "StatusInfo 8", "MQCMIT",
        *gets(range(9, 10)), "MQCMIT",
    ]  # fmt: skip
    assert kitchen.on_queue() == kitchen.on_queue(kitchen.status) == []


@pytest.mark.parametrize(("die_after", "committed"), [(1, 0), (3, 0), (4, 3), (9, 6)], ids=str)
def test_the_putter_is_resumed_with_the_number_after_the_last(kitchen, die_after, committed):
    kitchen.killed("put_group", die_after)
    assert kitchen.places() == [(data, number, 0, MIG) for data, number, *_ in WHOLE[:committed]]
    lines = kitchen.lines("put_group")
    assert lines[0] == (f"resuming after {committed}" if committed else "nothing to resume")
    assert lines[1] == f"MQPUT {committed + 1} order {committed + 1}"
    assert kitchen.is_done(WHOLE)


@pytest.mark.parametrize(("die_after", "committed"), [(1, 0), (5, 4), (9, 8)], ids=str)
def test_the_getter_is_resumed_with_the_number_after_the_last(kitchen, die_after, committed):
    kitchen.lines("put_group")
    kitchen.killed("get_group", die_after)
    assert [data for data, _ in kitchen.on_queue()] == ORDERS[committed:]
    lines = kitchen.lines("get_group")
    assert lines[0] == (f"resuming after {committed}" if committed else "nothing to resume")
    assert [line for line in lines if line.startswith("MQGET")] == gets(range(committed + 1, 10))
    assert kitchen.on_queue() == kitchen.on_queue(kitchen.status) == []


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("putter", "when", "nth"),
    [
        ("put_group", "after", 2),
        ("put_group", "before", 3),
        ("status_as_segments", "after", 4),
        ("segments_in_a_group", "after", 1),
    ],
)
def test_a_putter_killed_at_a_commit_leaves_a_group_that_is_resumed(kitchen, faults, putter, when, nth):
    whole = SEGMENTED if putter == "segments_in_a_group" else WHOLE
    faults.arm(Fault("kill_client", when, nth, verb="MQCMIT"))
    assert kitchen.run(putter).returncode == -signal.SIGKILL
    faults.clear_faults()
    kitchen.wait_until_gone()
    if not kitchen.is_done(whole):
        kitchen.lines(putter)
    assert kitchen.is_done(whole)


def test_status_as_segments_is_cleared_with_one_get(kitchen):
    assert kitchen.lines("status_as_segments") == [
        *puts(range(1, 4)), "StatusInfo 3 at Offset 0", "MQCMIT",
        *puts(range(4, 7)), "StatusInfo 6 at Offset 82", "MQCMIT",
        *puts(range(7, 10)), "StatusInfo 9 at Offset 164", "MQCMIT",
        "cleared 3 segments",
    ]  # fmt: skip
    assert kitchen.is_done(WHOLE)


def test_status_as_segments_is_resumed_at_the_offset_behind_the_last_segment(kitchen):
    kitchen.killed("status_as_segments", 8)
    status = kitchen.places(kitchen.status)
    assert [(offset, flags) for _, _, offset, flags in status] == [(0, SEG), (82, SEG)]
    assert kitchen.lines("status_as_segments") == [
        "resuming after 6", *puts(range(7, 10)), "StatusInfo 9 at Offset 164", "MQCMIT", "cleared 3 segments",
    ]  # fmt: skip
    assert kitchen.is_done(WHOLE)


@pytest.mark.embedded
def test_status_segments_with_their_last_one_mean_that_only_clearing_is_left(kitchen, faults):
    faults.arm(Fault("kill_client", "after", nth=3, verb="MQCMIT"))
    assert kitchen.run("status_as_segments").returncode == -signal.SIGKILL
    assert kitchen.places(kitchen.status)[-1][3] == LAST_SEG
    assert kitchen.lines("status_as_segments") == ["cleared 3 segments"]
    assert kitchen.is_done(WHOLE)


def test_segments_are_put_across_units_of_work_and_got_as_messages(kitchen):
    lines = kitchen.lines("segments_in_a_group")
    assert [line for line in lines if line.startswith("StatusInfo")] == [
        "StatusInfo 2 Offset 0",
        "StatusInfo 2 Offset 32",
    ]
    assert kitchen.is_done(SEGMENTED)
    assert kitchen.lines("get_group") == [
        "nothing to resume",
        "MQGET 1 small", "MQGET 2 a message of forty bytes or so, in three", "MQGET 3 the last one, in two", "MQCMIT",
    ]  # fmt: skip


def test_segments_are_resumed_in_the_middle_of_a_logical_message(kitchen):
    kitchen.killed("segments_in_a_group", 3)
    assert kitchen.places() == SEGMENTED[:2]
    assert kitchen.lines("segments_in_a_group")[:2] == [
        "resuming after 2 Offset 0",
        "MQPUT 2 Offset 16 ty bytes or so,",
    ]
    assert kitchen.is_done(SEGMENTED)


@pytest.mark.usefixtures("no_api_exit")
def test_forwarded_messages_keep_what_says_where_they_belong(kitchen):
    kitchen.lines("segments_in_a_group")
    there = kitchen.on_queue()
    assert len(kitchen.lines("forward_physical_messages")) == len(SEGMENTED)
    forwarded = kitchen.on_queue(kitchen.status)
    assert kitchen.on_queue() == []
    assert kitchen.places(kitchen.status) == SEGMENTED
    for name in ("GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "MsgId", "Persistence"):
        assert [getattr(md, name) for _, md in forwarded] == [getattr(md, name) for _, md in there], name


def test_every_recipe_is_in_the_table():
    page = (ROOT / "docs" / "explanation" / "why.md").read_text()
    rows = re.findall(r"^\| \[([a-z_]+\.py)\]\(../../recipes/\1\) \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(path.name for path in RECIPES.glob("*.py"))


@pytest.mark.embedded
def test_the_command_of_the_page_runs_with_its_own_queues():
    command = [
        sys.executable,
        "-m",
        "mqembedded",
        "exec",
        "--mqsc",
        "recipes/recipes.mqsc",
        "--",
        sys.executable,
    ]
    done = subprocess.run(
        [*command, "recipes/put_group.py"],
        cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout.count("MQCMIT")) == (0, "", 3)
