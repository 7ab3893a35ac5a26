"""The page of ``mqgroups watch``, in a browser: what it shows, that it fits, and that no name runs as a script."""

from __future__ import annotations

import os
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mqgroups.cli.seen import Seen, SeenQueue
from mqgroups.cli.watch_page import WatchPages, page_values
from mqgroups.operate.rules.judgement import GroupState, Judgement
from mqgroups.operate.rules.owner_state import OwnerState
from mqgroups.pages import Pages
from tests.fix_cli import free_port
from tests.operate.rules.test_inspection import LAST, message
from tests.operate.rules.test_judgement import WHOLE, judgement, owner
from tools.browser import BrowserMissing, chromium

HOSTILE = "<img src=x onerror=\"document.body.id='run'\"><script>document.body.id='run'</script>\u202e"
AT = datetime(2026, 1, 1, 12, 7, tzinfo=UTC)


def row(messages: Any, *owners: Any, name: str | None = "", group_id: bytes = b"G" * 24) -> Judgement:
    return replace(judgement(messages, *owners, group_id=group_id), name=name)


GAP = row([WHOLE[0], message(2), message(6), message(7, LAST)], name=HOSTILE)
HALF = row(WHOLE[2:], owner("get", 2, name="SINK"), name="orders-0815.csv")
TORN = row(WHOLE[1:2], owner("put", 2, name="LOADER"), owner("get", 1, name="SINK"), name="invoices-7")
DONE = row([message(n) for n in range(1, 300)] + [message(300, LAST)], name="L" * 200)
GONE = row([], owner("put", 2, name="ORDERS"))
SEEN = Seen(
    AT,
    0.1,
    queues=[
        SeenQueue(
            HOSTILE,
            messages=306,
            hidden=2,
            data_bytes=3060,
            states={GroupState.GAP: 1, GroupState.STALLED: 1, GroupState.COMPLETE: 400},
            groups=[GAP, GONE, HALF, DONE],
        ),
        SeenQueue("INVOICES", groups=[TORN], states={GroupState.STALLED: 1}),
        SeenQueue("LOST.ONE", "not browsed: 2035"),
    ],
    owners=[
        owner("put", 2, name="ORDERS"),
        owner("get", 2, OwnerState.ACTIVE, name=HOSTILE, problem="W" * 300),
        owner("get", 2, OwnerState.LOST, name="INVOICES"),
    ],
    unseen=[HOSTILE],
)


def test_a_long_name_is_cut():
    seen = Seen(AT, queues=[SeenQueue("Q", groups=[row(WHOLE[:1], name="n" * 30_000)])])
    assert [each["name"] for each in page_values(seen)["trouble"]] == [f"{'n' * 97}..."]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    try:
        with chromium(tmp_path_factory.mktemp("browser")) as browser:
            yield browser
    except BrowserMissing as error:
        pytest.skip(str(error))


@pytest.fixture
def page(browser):
    page = WatchPages("QM1")
    port = free_port()
    with Pages(("127.0.0.1", port), page.by_path):
        page.url = f"http://127.0.0.1:{port}/"  # type: ignore[attr-defined] # of this test
        yield page
        # A page that asks on would complain in the next test.
        browser.open("about:blank", 1440, "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_shows_what_is_where_as_text_and_fits(browser, page, width, scheme):
    page.show(SEEN, 1.0)
    browser.open(page.url, width, scheme)
    browser.until("document.querySelectorAll('#attention article').length === 5")
    # PNGs to look at.
    if directory := os.environ.get("SCREENSHOTS"):
        browser.screenshot(Path(directory) / f"watch-{width}-{scheme}.png")
    text = browser.ask("document.body.innerText")
    shown = (
        "1 to 2 on the queue; 3 to 5 missing; 6 to 7 on the queue",
        "a consumer stops at the gap (GroupStalled), and at each start again",
        "1 to 2 got; 3 to 4 on the queue",
        "1 to 2 missing; from 3 not there yet",
        "message 2, 1 m ago",
        "3.1 kB, 2 in units of work",
        "7 m, since 2026-01-01 12:00:00 UTC",
        "and 399 more",
        "app \u2192 SINK",
        "LOADER \u2192 SINK",
        "start put LOADER",
        "mqgroups salvage rebuild --name INVOICES --role get",
        "not browsed: 2035",
        HOSTILE.replace("\u202e", "?"),
    )
    assert [each for each in shown if each not in text] == []
    assert browser.ask("document.title") == "6 in trouble - QM1 - mqgroups watch"
    # What is in order takes one line.
    assert browser.ask("document.querySelectorAll('#queues .line, #groups .line, #owners .line').length") == 3 + 1 + 2
    assert browser.ask("document.body.id + document.images.length") == "0"
    assert browser.ask("document.documentElement.scrollWidth") == browser.ask("innerWidth") == width
    parts = "[...document.querySelector('.bar').children].map((each) => each.className)"
    assert browser.ask(parts) == ["part here", "part missing", "part here"]
    background = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(18, 22, 28)") == (scheme == "dark")
    assert browser.complaints == []


def test_it_follows_the_looks_and_says_why_there_is_none(browser, page):
    gone = Seen(AT, problem="connection lost: 2009")
    page.show(gone, 0.1)
    browser.open(page.url, 1440, "light")
    said = "document.getElementById('problem')?.innerText.startsWith('connection lost: 2009')"
    browser.until(said)
    assert browser.ask("document.title + document.getElementById('look').offsetHeight") == "NOT SEEN - QM10"
    page.show(SEEN, 0.1)
    browser.until("document.querySelectorAll('article').length === 5")
    page.show(Seen(AT, queues=[SeenQueue("Q", groups=[DONE], states={GroupState.COMPLETE: 1})]), 0.1)
    browser.until("document.querySelectorAll('article').length === 0")
    assert "Nothing is in trouble." in browser.ask("document.body.innerText")
    assert browser.ask("document.title") == "QM1 - mqgroups watch"
    page.show(gone, 0.1)
    browser.until(said)
    assert browser.ask("document.querySelectorAll('.line').length") == 2
    assert browser.ask("document.title") == "NOT SEEN - QM1"
    page.show(SEEN, -10.0)
    browser.until("document.getElementById('problem').innerText.startsWith('The next look does not end')")


def test_a_script_that_came_in_after_all_would_not_run(browser, page):
    page.show(SEEN, 1.0)
    with urllib.request.urlopen(page.url) as answer:
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    browser.open(page.url, 1440, "light")
    browser.until("document.querySelectorAll('article').length === 5")
    put = "made => { made.textContent = \"document.body.id='run'\"; document.body.append(made); return document.body.id; }"
    assert browser.ask(f"({put})(document.createElement('script'))") == ""
    browser.until("true")
    assert "Content Security Policy" in browser.complaints.pop()
