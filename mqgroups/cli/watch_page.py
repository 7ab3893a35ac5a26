"""The pages of ``mqgroups watch``. ``watch.html`` requests the last look again and again, and shows it in a browser.

``/metrics`` has the figures of the last look for Prometheus. If no new look comes for some time, the figures are omitted.

The pages change nothing. Other people choose the names of queues, groups and programs. So the page gets these names as JSON and
shows them as text. The page's Content-Security-Policy allows no script except its own, and no request to another server.
"""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from mqgroups.cli.describe import group_card, owner_card
from mqgroups.cli.seen import Seen, SeenQueue, said
from mqgroups.cli.words import age_s
from mqgroups.operate.rules.findings import Severity
from mqgroups.operate.rules.judgement import GroupState
from mqgroups.pages import Figure, Page, metrics_page
from mqgroups.printable import printable

_HTML = Path(__file__).with_name("watch.html").read_text(encoding="utf-8")


def _hashed(element: str) -> str:
    """Return the hash with which the browser checks the page's style or script."""
    text = re.findall(f"<{element}>(.*?)</{element}>", _HTML, re.DOTALL)[0]
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; connect-src 'self'; img-src data:; script-src {_hashed('script')}; "
    f"style-src {_hashed('style')}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class WatchPages:
    """The pages of ``mqgroups watch``, which show the last look."""

    def __init__(self, q_mgr_name: str, queues: Sequence[str] = ()) -> None:
        """Make the pages. Before the first look, the metrics report that the named ``queues`` are not seen."""
        self._q_mgr_name = printable(q_mgr_name)
        # A look, the seconds until the next look, and when the look was shown.
        seen = Seen(_NEVER, problem="there was no look yet", queues=[*map(SeenQueue, queues)])
        self._shown = seen, 1.0, time.monotonic()

    @property
    def by_path(self) -> Mapping[str, Callable[[], Page]]:
        return {
            "/": lambda: Page(_HTML, content_type="text/html; charset=utf-8", headers=_HEADERS),
            "/look.json": self._look,
            "/metrics": self._metrics,
        }

    def show(self, seen: Seen, pause_s: float) -> None:
        """Show ``seen`` until the next call, which follows after ``pause_s``."""
        self._shown = seen, pause_s, time.monotonic()

    def _look(self) -> Page:
        seen, pause_s, at_s = self._shown
        more = {"q_mgr_name": self._q_mgr_name, "every_s": pause_s, "old_s": time.monotonic() - at_s}
        return Page(json.dumps({**page_values(seen), **more}), content_type="application/json", headers=_HEADERS)

    def _metrics(self) -> Page:
        seen, pause_s, at_s = self._shown
        is_old = bool(seen.problem) or time.monotonic() - at_s > 60 + 10 * pause_s
        values: dict[str, list[tuple[Mapping[str, str], float]]] = {name: [] for name in _FIGURES}
        values["clock_seconds"].append(({"queue_manager": self._q_mgr_name}, time.time()))
        for queue in seen.queues or [SeenQueue("")]:
            where = {"queue_manager": self._q_mgr_name, "queue": printable(queue.queue)}
            is_seen = bool(queue.queue) and not (is_old or queue.problem)
            values["seen"].append((where, int(is_seen)))
            if is_seen:
                values["groups"] += [({**where, "state": each.value}, queue.states.get(each, 0)) for each in GroupState]
                values["messages"].append((where, queue.messages))
                values["oldest_complete_seconds"].append((where, age_s(queue.oldest_complete, seen.at) or 0.0))
        shown = ((name, found) for name, found in values.items() if found)
        return metrics_page(Figure(f"mqgroups_queue_{name}", "gauge", _FIGURES[name], found) for name, found in shown)


_NEVER = datetime.fromtimestamp(0, UTC)
_FIGURES = {
    "seen": "Whether the queue can be looked at.",
    "groups": "Groups by state.",
    "messages": "Messages.",
    "clock_seconds": "The time here, with which the put times of messages are compared.",
    "oldest_complete_seconds": "How long the oldest complete group has been complete; 0 without one.",
}


def page_values(seen: Seen) -> dict[str, Any]:
    """Return a look as texts for the page: groups and owners with problems as cards, the others as one line each."""
    at = f"{seen.at:%Y-%m-%d %H:%M:%S}"
    if seen.problem:
        return {"at": at, "problem": printable(seen.problem)}
    groups = [(row, group_card(row, seen.at)) for row in seen.groups]
    shown = [each for row, card in groups if card["colour"] != "green" for each in row.owners]
    owners = [(each, owner_card(each, seen.owners, seen.at, all_seen=not seen.unseen)) for each in seen.owners]
    # An owner has its own card only if the card of a group does not show it.
    alone = [card for each, card in owners if each.state.severity is not Severity.OK and each not in shown]
    return {
        "at": at,
        "problem": "",
        "trouble": [*(card for _, card in groups if card["colour"] != "green"), *alone],
        "queues": [
            {"name": printable(each.queue), "problem": bool(each.problem), "said": printable(said(each))}
            for each in seen.queues
        ],
        "groups": [card for _, card in groups if card["colour"] == "green"],
        "more": sum(
            sum(each.states.values()) - sum(bool(row.group.messages) for row in each.groups) for each in seen.queues
        ),
        "owners": [card for _, card in owners if card not in alone],
        "unseen": [printable(sentence) for sentence in seen.unseen],
    }
