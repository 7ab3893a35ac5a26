"""The pages of ``mqgroups watch``: the last look, drawn in a browser; ``watch.html`` asks for it again and again.

Also the figures for Prometheus: those of the last look, unless it is old, because the next one hangs.

They change nothing. Names of queues, groups and programs are texts of others: the page gets them as JSON and shows them as text,
and its Content-Security-Policy lets no script run but its own, and nothing be fetched from elsewhere.
"""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from mqgroups.cli.group_rows import short_id
from mqgroups.cli.owners import owner_listing
from mqgroups.cli.seen import Seen, sums
from mqgroups.cli.words import age, age_s, size, timestamp
from mqgroups.operate.groups import ListedGroup
from mqgroups.operate.rules.bar import Part, bar
from mqgroups.operate.rules.findings import Severity
from mqgroups.operate.rules.judgement import Cause, GroupState, Judgement
from mqgroups.pages import Figure, Page, metrics_page
from mqgroups.printable import LONGEST_NAME, brief, printable

_HTML = Path(__file__).with_name("watch.html").read_text(encoding="utf-8")
_COLOURS = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.ERROR: "red"}
_CAUSES = list(Cause)
# Parts of a bar that are told in words.
_MOST_PARTS = 6


def _hashed(element: str) -> str:
    """Return the hash of the page's style or script, by which the browser knows it."""
    text = re.findall(f"<{element}>(.*?)</{element}>", _HTML, re.DOTALL)[0]
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; connect-src 'self'; img-src data:; script-src {_hashed('script')}; "
    f"style-src {_hashed('style')}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class WatchPages:
    """The pages of a queue, and what they show."""

    def __init__(self, q_mgr_name: str, queue: str) -> None:
        self._where = {"q_mgr_name": printable(q_mgr_name), "queue": printable(queue)}
        # A look, seconds until the next one, when it was shown.
        self._shown: tuple[Seen, float, float] | None = None

    @property
    def by_path(self) -> Mapping[str, Callable[[], Page]]:
        """The pages by path."""
        return {
            "/": lambda: Page(_HTML, content_type="text/html; charset=utf-8", headers=_HEADERS),
            "/look.json": self._look,
            "/metrics": self._metrics,
        }

    def show(self, seen: Seen, pause_s: float) -> None:
        """Show this look from now on; ``pause_s``: until the next one."""
        self._shown = seen, pause_s, time.monotonic()

    def _look(self) -> Page:
        shown = self._shown
        values: dict[str, Any] = {"problem": "there was no look yet", "every_s": 1.0, "old_s": 0.0}
        if shown is not None:
            seen, pause_s, at_s = shown
            values = {**page_values(seen), "every_s": pause_s, "old_s": time.monotonic() - at_s}
        text = json.dumps({**self._where, **values})
        return Page(text, content_type="application/json", headers=_HEADERS)

    def _metrics(self) -> Page:
        seen, pause_s, at_s = self._shown or (None, 0.0, 0.0)
        if seen and (seen.problem or time.monotonic() - at_s > 60 + 10 * pause_s):
            seen = None
        where = {"queue_manager": self._where["q_mgr_name"], "queue": self._where["queue"]}
        figures: list[tuple[str, str, Sequence[tuple[Mapping[str, str], float]]]] = [
            ("seen", "Whether the queue can be looked at.", [(where, int(seen is not None))])
        ]
        if seen is not None:
            groups = [({**where, "state": state.value}, seen.states.get(state, 0)) for state in GroupState]
            waited_s = age_s(seen.oldest_complete, seen.at) or 0.0
            about = "How long the oldest complete group has been complete; 0 without one."
            figures += [
                ("groups", "Groups by state.", groups),
                ("messages", "Messages.", [(where, seen.messages)]),
                ("oldest_complete_seconds", about, [(where, waited_s)]),
            ]
        return metrics_page(Figure(f"mqgroups_queue_{name}", "gauge", text, values) for name, text, values in figures)


def page_values(seen: Seen) -> dict[str, Any]:
    """Return a look as texts for the page."""
    at = f"{seen.at:%Y-%m-%d %H:%M:%S}"
    if seen.problem:
        return {"at": at, "problem": printable(seen.problem)}
    rows: list[Judgement | ListedGroup] = [*seen.gone, *seen.groups]
    return {
        "at": at,
        "problem": "",
        "sums": sums(seen),
        # The most dangerous ones first.
        "groups": [_group(seen, each) for each in sorted(rows, key=lambda each: _CAUSES.index(each.cause))],
        "more": sum(seen.states.values()) - len(seen.groups),
        "owners": list(_owners(seen)),
        "unseen": [printable(sentence) for sentence in seen.unseen],
    }


def _group(seen: Seen, row: Judgement | ListedGroup) -> dict[str, Any]:
    group, cause, owners = row.group, row.cause, row.owners
    group_id = row.group_id if isinstance(row, Judgement) else row.group.group_id
    name = None if isinstance(row, Judgement) else row.name
    names = (name, *(each.group_name for each in owners), short_id(group_id))
    parts = bar(group, cause, owners)
    put_by = [each.name for each in owners if each.role == "put"] or (group.put_by if group else ())
    got_by = [each.name for each in owners if each.role == "get"]
    facts = {
        "put by": ", ".join(put_by),
        "got by": ", ".join(got_by),
        "messages": f"{group.messages:,}, {size(group.data_bytes)}" if group else "none",
        "GroupId": group_id.hex(),
    }
    return {
        "name": brief(next(filter(None, names)), LONGEST_NAME),
        "state": cause.state.value,
        "colour": _COLOURS[cause.severity],
        "cause": cause.value,
        "danger": "" if cause.severity is Severity.OK else cause.danger,
        "since": f"{age(row.since, seen.at)}, since {timestamp(row.since)} UTC",
        "parts": parts,
        "told": "; ".join([*map(_told, parts[:_MOST_PARTS]), *(["and so on"] if len(parts) > _MOST_PARTS else [])]),
        "facts": [(key, printable(text)) for key, text in facts.items() if text],
    }


def _told(part: Part) -> str:
    if part.last == 0:
        return f"from {part.first:,} {part.kind}"
    return f"{part.first:,} {part.kind}" if part.first == part.last else f"{part.first:,} to {part.last:,} {part.kind}"


def _owners(seen: Seen) -> Iterator[dict[str, Any]]:
    columns = {column.header: column for column in owner_listing(seen.at).columns}
    for owner in seen.owners:
        texts = {header: printable(column.text(owner)) for header, column in columns.items()}
        committed, ago = texts.pop("committed"), texts.pop("ago")
        texts = {"committed": committed and f"message {committed}, {ago} ago", **texts}
        yield {
            "name": f"{texts.pop('role')} {texts.pop('name')}",
            "colour": columns["state"].style(owner),
            "state": texts.pop("state"),
            "problem": texts.pop("problem"),
            "facts": [(header, text) for header, text in texts.items() if text],
        }
