"""``mqembedded mqsc``: commands of -c or of standard input, what they display, and what is refused."""

from __future__ import annotations

import pytest

from embedded_tests.fix_cli import invoke

pytestmark = pytest.mark.embedded


@pytest.fixture
def q_mgr(own_queue_manager, tmp_path):
    mqsc = tmp_path / "objects.mqsc"
    mqsc.write_text("DEFINE QLOCAL(D.ONE) MAXDEPTH(10)\nDEFINE QLOCAL(D.TWO) MAXDEPTH(20)\n")
    return own_queue_manager(mqsc=[mqsc])


def mqsc(q_mgr, *arguments, text=""):
    return invoke("mqsc", "--data", q_mgr.data, *arguments, text=text)


def test_mqsc_shows_what_is_asked_with_c(q_mgr):
    done = mqsc(q_mgr, "-c", "DIS QL(D.ONE) MAXDEPTH", "-c", "DIS QL(D.TWO) MAXDEPTH")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.count("AMQ8409I") == 2
    assert "MAXDEPTH(10)" in done.stdout


def test_mqsc_goes_on_after_a_command_that_is_refused(q_mgr):
    text = "* a comment\nDEFINE QLOCAL(D.NEW) +\n  MAXDEPTH(3)\nDEFINE QLOCAL(D.NEW)\nDIS QL(D.NEW) MAXDEPTH\n"
    done = mqsc(q_mgr, text=text)
    assert done.exit_code == 1
    assert "DEFINE QLOCAL(D.NEW): done" in done.stdout
    assert "MAXDEPTH(3)" in done.stdout
    assert done.stderr.startswith("line 4: AMQ8150E: DEFINE QLOCAL(D.NEW)")


def test_mqsc_has_no_comments_of_c(q_mgr):
    done = mqsc(q_mgr, text="/* 1. CHANNEL for the CHANNEL of others */\n")
    assert done.stderr.startswith(
        "line 1: MQSC has no comments like those of C: a comment is a line that begins with an"
    )


def test_mqsc_reads_what_a_start_file_may_have_and_names_the_line_of_what_it_may_not(q_mgr):
    done = mqsc(
        q_mgr, text="\ufeffDEFINE LISTENER(L) TRPTYPE(TCP)\n\nALTER QMGR NO.SUCH(1)\nNONSENSE X\nEND\nNONSENSE Y\n"
    )
    assert done.exit_code == 1
    assert done.stdout == "DEFINE LISTENER(L): applies to IBM MQ only; nothing was done\n"
    assert done.stderr.splitlines() == [
        "line 3: ALTER QMGR: QMGR has no attribute NO.SUCH here",
        "line 4: NONSENSE X is not among the commands that the embedded queue manager knows in 'NONSENSE X'",
    ]


def test_mqsc_can_stop_and_start_every_channel(q_mgr):
    for command in (
        "STOP CHANNEL(DEV.APP.SVRCONN) MODE(FORCE)",
        "DIS CHSTATUS(DEV.*)",
        "START CHANNEL(DEV.APP.SVRCONN)",
    ):
        assert mqsc(q_mgr, "-c", command).exit_code == 0


def test_mqsc_says_so_when_nobody_is_there(tmp_path):
    done = invoke("mqsc", "--data", tmp_path, "-c", "DIS QMGR")
    assert done.exit_code == 1
    assert done.stderr.startswith("mqembedded: no embedded queue manager runs on")
