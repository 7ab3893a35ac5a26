"""The report as one HTML page without scripts: plots, and beside each the table of its figures.

A plot is SVG whose horizontal positions are percentages and whose heights are pixels, so it fits any width and its texts keep
their size. All elements are made by ``ElementTree``, which escapes their texts. ``page.html`` has the style.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from string import Template
from xml.etree.ElementTree import Element, tostring

from mqgroups.spark.pipeline.records import BatchRecord
from mqgroups.spark.pipeline.report import Report, figures, report_of

HTML_NAME = "report.html"
# More bars are hard to tell apart on a telephone.
_MOST_BARS = 60
_MOST_REJECTED = 200
_MOST_LABELS = 6
# In pixels: a plot, and a reason with its bar.
_HEIGHT = 190
_REASON = 44
_TEMPLATE = Path(__file__).with_name("page.html")
_PASSED_OR_NOT = {"passed": "groups that passed", "rejected": "groups rejected"}
_LATENCIES = {"median": "median", "p95": "95 %", "max": "most"}

# The micro-batches of a bar, ``3`` or ``0-9``, and their report.
_Bar = tuple[str, Report]


def write_html(report: Report, records: Sequence[BatchRecord], folder: Path) -> Path:
    """Write the report and its micro-batches into a folder; returns the file."""
    each = math.ceil(len(records) / _MOST_BARS)
    parts = [records[place : place + each] for place in range(0, len(records), each)]
    bars = [(_numbers(part), report_of(report.pipeline, part)) for part in parts]
    body = [
        _tag("h1", f"Pipeline {report.pipeline}"),
        _tag("p", f"Micro-batches from {_time(records[0].began_s)} to {_time(records[-1].done_s)} UTC"),
        _tag("dl", *(_tag("div", _tag("dt", name), _tag("dd", text)) for name, text in figures(report))),
        _throughput(bars, each),
        _lag(bars),
        _latency(bars),
        _quarantine(report),
    ]
    texts = (tostring(part, encoding="unicode", method="html") for part in body)
    title = tostring(_tag("title", f"{report.pipeline}: report"), encoding="unicode", method="html")
    page = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(title=title, body="\n".join(texts))
    path = folder / HTML_NAME
    # The key of a JSON object can be half of a surrogate pair, which UTF-8 does not have.
    path.write_text(page, encoding="utf-8", errors="replace")
    return path


def _throughput(bars: Sequence[_Bar], each: int) -> Element:
    head = ("micro-batch", "messages", "of these rejected", "messages/s")
    rows = [(name, f"{one.messages:,}", f"{_messages_rejected(one):,}", f"{one.rate:,.1f}") for name, one in bars]
    plot = _Plot(head, rows, max(one.rate for _, one in bars))
    for place, (_, one) in enumerate(bars):
        passed = one.rate * (1 - _messages_rejected(one) / one.messages) if one.messages else 0.0
        plot.bar(place, 0.0, passed, "passed")
        plot.bar(place, passed, one.rate, "rejected")
    said = "Messages a second, while a micro-batch was processed."
    if each > 1:
        said += f" Here and below, {each:,} micro-batches are drawn as one."
    return _panel("Throughput", said, plot.figure(_PASSED_OR_NOT), _table(head, rows))


def _lag(bars: Sequence[_Bar]) -> Element:
    head = ("micro-batch", "groups", "lag, s")
    rows = [(name, f"{one.groups:,}", _seconds(one.lag_s)) for name, one in bars]
    plot = _Plot(head, rows, max(one.lag_s or 0.0 for _, one in bars))
    for place, (_, one) in enumerate(bars):
        plot.bar(place, 0.0, one.lag_s or 0.0, "lag")
    said = "Seconds for which the oldest group had been complete on the queue when its micro-batch began; of groups that passed."
    return _panel("Lag", said, plot.figure({}), _table(head, rows))


def _latency(bars: Sequence[_Bar]) -> Element:
    head = ("micro-batch", *(f"{word}, s" for word in _LATENCIES.values()))
    values = [(late.median_s, late.p95_s, late.max_s) if (late := one.latency) else (None,) * 3 for _, one in bars]
    rows = [(name, *map(_seconds, three)) for (name, _), three in zip(bars, values, strict=True)]
    plot = _Plot(head, rows, max(three[-1] or 0.0 for three in values))
    for kind, line in reversed(list(zip(_LATENCIES, zip(*values, strict=True), strict=True))):
        plot.line(line, kind)
    said = "Seconds from the put of a group's last message to the end of its micro-batch; of groups that passed."
    return _panel("Latency", said, plot.figure(_LATENCIES), _table(head, rows))


def _quarantine(report: Report) -> Element:
    if not report.rejected:
        return _panel("Quarantine", "No group was rejected.")
    messages: Counter[str] = Counter()
    for each in report.rejected:
        messages[each.reason] += each.messages
    reasons = [(reason, f"{count:,}", f"{messages[reason]:,}") for reason, count in report.reasons.items()]
    picture = _tag("svg", role="img", aria_label="groups rejected, by reason", height=str(_REASON * len(reasons)))
    for place, (reason, count) in enumerate(report.reasons.items()):
        width = f"{100 * count / max(report.reasons.values()):.2f}%"
        picture.append(_tag("text", f"{reason}: {count:,}", y=str(_REASON * place + 14)))
        picture.append(_tag("rect", class_="rejected", y=str(_REASON * place + 20), width=width, height="12"))
    shown = report.rejected[:_MOST_REJECTED]
    said = "Groups rejected, by reason, and each of them."
    if len(shown) < len(report.rejected):
        said += f" The list ends after {len(shown):,} of {len(report.rejected):,} groups; report.json has all."
    groups = [(each.reason, each.detail, each.group, f"{each.messages:,}") for each in shown]
    return _panel(
        "Quarantine",
        said,
        _tag("figure", picture, class_="reasons"),
        _table(("reason", "groups", "messages"), reasons),
        _table(("reason", "in detail", "group", "messages"), groups, class_="table wide"),
    )


class _Plot:
    """A plot with a place for each row of a table, from left to right, and values from 0 upwards."""

    def __init__(self, head: Sequence[str], rows: Sequence[Sequence[str]], highest: float) -> None:
        self._head, self._rows = head, rows
        self._step = _step(highest)
        self._limit = self._step * max(1, math.ceil(highest / self._step))
        self._marks: list[Element] = []

    def bar(self, place: int, low: float, high: float, kind: str) -> None:
        """Draw a bar from one value to another."""
        top, height = f"{self._y(high):.2f}", f"{self._y(low) - self._y(high):.2f}"
        x, width = self._x(place + 0.1), self._x(0.8)
        self._marks.append(_tag("rect", class_=kind, x=x, y=top, width=width, height=height))

    def line(self, values: Sequence[float | None], kind: str) -> None:
        """Draw a point for each value, and lines between neighbours; ``None`` is a gap."""
        points = [
            None if value is None else (self._x(place + 0.5), f"{self._y(value):.2f}")
            for place, value in enumerate(values)
        ]
        for one, other in pairwise(points):
            if one and other:
                self._marks.append(_tag("line", class_=kind, x1=one[0], y1=one[1], x2=other[0], y2=other[1]))
        self._marks.extend(_tag("circle", class_=kind, cx=point[0], cy=point[1], r="2") for point in points if point)

    def figure(self, legend: Mapping[str, str]) -> Element:
        """Return the plot with its axes, and its legend: the text of each kind."""
        described = "; ".join(self._head)
        picture = _tag("svg", *self._axes(), *self._marks, role="img", aria_label=described, height=str(_HEIGHT))
        for place, row in enumerate(self._rows):
            said = "\n".join(f"{name}: {text}" for name, text in zip(self._head, row, strict=True))
            over = {"x": self._x(place), "y": "0", "width": self._x(1), "height": str(_HEIGHT)}
            picture.append(_tag("rect", _tag("title", said), class_="hover", **over))
        keys = (_tag("span", text, class_=kind) for kind, text in legend.items())
        return _tag("figure", picture, _tag("figcaption", *keys, class_="legend"))

    def _axes(self) -> Iterator[Element]:
        decimals = max(0, -math.floor(math.log10(self._step)))
        for number in range(round(self._limit / self._step) + 1):
            y = self._y(number * self._step)
            yield _tag("line", class_="grid", x1="0", x2="100%", y1=f"{y:.2f}", y2=f"{y:.2f}")
            yield _tag("text", f"{number * self._step:,.{decimals}f}", x="-8", y=f"{y + 4:.2f}", text_anchor="end")
        for place in range(0, len(self._rows), math.ceil(len(self._rows) / _MOST_LABELS)):
            first = self._rows[place][0].partition("-")[0]
            yield _tag("text", first, x=self._x(place + 0.5), y=str(_HEIGHT + 18), text_anchor="middle")
        yield _tag("text", self._head[0], x="100%", y=str(_HEIGHT + 38), text_anchor="end")

    def _x(self, place: float) -> str:
        return f"{100 * place / len(self._rows):.3f}%"

    def _y(self, value: float) -> float:
        return _HEIGHT * (1 - value / self._limit)


def _step(highest: float) -> float:
    """Return the distance of grid lines, at most five of them: 1, 2 or 5 times a power of ten."""
    least = highest / 5 or 0.2
    power = 10.0 ** math.floor(math.log10(least))
    return next(part * power for part in (1, 2, 5, 10) if part * power >= least)


def _panel(title: str, said: str, *parts: Element) -> Element:
    return _tag("section", _tag("header", _tag("h2", title), _tag("p", said)), *parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], class_: str = "table") -> Element:
    top = _tag("tr", *(_tag("th", name, scope="col") for name in head))
    lines = (_tag("tr", *(_tag("td", text) for text in row)) for row in rows)
    table = _tag("table", _tag("thead", top), _tag("tbody", *lines))
    # It can be scrolled, so a keyboard has to reach it.
    return _tag("div", table, class_=class_, tabindex="0", role="region", aria_label=", ".join(head))


def _tag(name: str, *inside: Element | str, **attributes: str) -> Element:
    """Return an element: texts come before elements; ``class_`` is ``class``, ``text_anchor`` is ``text-anchor``."""
    found = Element(name, {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()})
    found.text = "".join(part for part in inside if isinstance(part, str))
    found.extend(part for part in inside if not isinstance(part, str))
    return found


def _numbers(part: Sequence[BatchRecord]) -> str:
    first, last = part[0].batch, part[-1].batch
    return f"{first}" if first == last else f"{first}-{last}"


def _messages_rejected(report: Report) -> int:
    return sum(each.messages for each in report.rejected)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _time(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S}"
