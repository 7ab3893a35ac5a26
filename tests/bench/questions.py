"""The questions that the benchmark answers, with their goals: one row of the table for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLUMNS = ("part", "what", "measured", "goal", "now")
UNKNOWN = "–"  # noqa: RUF001 - a dash stands for a figure that is not known


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the table.

    Attributes:
        part: which part measures it.
        name: of its figure in what the part returns.
        asked: what it is about, in a reader's words.
        measured: what is measured to answer it.
        at_most, at_least: its goal; ``None`` if it has none.
        unit: behind the value; empty for ratios.
        digits: how many digits behind the point are told.
        headline: a sentence for the README with ``{}`` for the value; empty if it is not told there.
    """

    part: str
    name: str
    asked: str
    measured: str
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""
    digits: int = 2
    headline: str = ""

    @property
    def head(self) -> tuple[str, str, str]:
        """The cells that do not change."""
        return self.part, self.asked, self.measured

    @property
    def goal(self) -> str:
        """The goal, as it is told; empty if there is none."""
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return "" if self.at_least is None else f"≥ {self.at_least:g}"

    def told(self, value: float) -> str:
        """Return a value as it is told, in bold letters if it misses the goal; what counts is the value as it is told."""
        told = f"{value:,.{self.digits}f}{' ' if self.unit else ''}{self.unit}"
        value = round(value, self.digits)
        missed = (self.at_most is not None and value > self.at_most) or (
            self.at_least is not None and value < self.at_least
        )
        return f"**{told}**" if missed else told


def table(values: Mapping[tuple[str, str], float], before: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return all rows: with new values, by part and name; else with that of the same question ``before``."""
    known = {tuple(row[:3]): row[-1] for row in before}
    rows: list[tuple[str, ...]] = []
    for each in QUESTIONS:
        value = values.get((each.part, each.name))
        now = known.get(each.head, UNKNOWN) if value is None else each.told(value)
        rows.append((*each.head, each.goal, now))
    return rows


def headlines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the README's lines, from the rows of a table; none of what was not measured yet."""
    lines = [
        each.headline.format(row[-1].strip("*")) if row[-1] != UNKNOWN else ""
        for each, row in zip(QUESTIONS, rows, strict=True)
    ]
    return [f"- {line}" for line in lines if line]


_HAND = "client ÷ by hand, a commit every {} messages"
_PYMQI = "client ÷ pymqi, a commit every 500 messages"
_DEEP = "time of a call, 100,000 ÷ 100"
_TRACED = "client ÷ without tracing code"
_WAYS = ("put", "get")
_ASKED = {"put": "put", "put sync": 'put, `put_response="sync"`', "get": "get"}


def _client(way: str, *at_most: float | None) -> list[Question]:
    """Return the rows of a way, with goals beside calls made by hand, by the length of units of work."""
    return [
        Question("client", f"{way} {every}", _ASKED[way], _HAND.format(every), most)
        for every, most in zip((500, 100, 10), at_most, strict=True)
    ]


def _beside_pymqi(way: str, at_most: float) -> Question:
    return Question("client", f"{way} pymqi", _ASKED[way], _PYMQI, at_most)


def _latency(
    name: str, ms: int, asked: str, measured: str, at_least: float | None = None, headline: str = ""
) -> Question:
    return Question(
        "latency", f"{name} {ms}", f"{asked}, {ms} ms", measured, None, at_least, digits=1, headline=headline
    )


def _faster(ms: int, at_least: float | None, where: str) -> Question:
    headline = f"put {where}: {{}} times as fast as a loop of pymqi" if where else ""
    return _latency("pymqi", ms, "put", "messages a second ÷ pymqi", at_least, headline)


def _spark(name: str, asked: str, measured: str, at_least: float | None = None, digits: int = 2) -> Question:
    return Question("spark", name, asked, f"rows a second{measured}", None, at_least, digits=digits)


def _stream(name: str, words: str, at_least: float | None = None) -> Question:
    return _spark(f"stream {name}", f"stream, 1 ms, {words}", ", 4 partitions ÷ 4 loops that get", at_least)


QUESTIONS = (
    *_client("put", 0.8, None, 1.3),
    *_client("put sync", 1.08, None, 1.3),
    *_client("get", 1.08, None, 1.3),
    _beside_pymqi("put", 0.4),
    _beside_pymqi("put sync", 0.55),
    _beside_pymqi("get", 0.55),
    Question("starting", "import", "`from mqgroups import connect`", "client, with bytecode", 0.12, unit="s"),
    _faster(0, 1.3, "on one machine"),
    _faster(1, 5, "over a line with 1 ms in each direction"),
    _faster(5, None, ""),
    _latency("put", 1, "put", "messages a second, async ÷ sync", 5),
    _latency("put", 5, "put", "messages a second, async ÷ sync"),
    Question(
        "latency",
        "raw 1",
        "put, 1 ms",
        "messages a second ÷ by hand",
        at_least=0.9,
    ),
    _latency("get", 1, "get several groups", "rows a second, 8 consumers ÷ one"),
    _latency("get", 5, "get several groups", "rows a second, 8 consumers ÷ one"),
    Question("growth", "messages", "the embedded queue manager, messages on a queue", _DEEP, 2),
    Question("growth", "groups", "the same, incomplete groups", _DEEP, 2),
    *(
        Question("tracing", f"{way} {trace}", f"{way}, {words}", _TRACED, most)
        for way, each_message in zip(_WAYS, (1.6, 1.7), strict=True)
        for trace, words, most in (
            ("off", '`trace="off"`', 1.01),
            ("unit of work", "a span for each unit of work", 1.05),
            ("message", "a span for each message", each_message),
            ("unit of work, propagated", "the same, carried by its messages", 2.2),
            ("message, propagated", "the same, carried by it", 2.2),
            ("the SDK's spans", "the SDK's part of that", None),
        )
    ),
    _spark("read", "read, without removal", " ÷ loops that browse", 0.95),
    _spark("stream", "stream, read and remove", " ÷ loops that browse and get"),
    _stream("steady", "2,000 rows in a micro-batch, steady state", 0.85),
    _stream("whole", "ten micro-batches, start to end"),
    _stream("one", "one micro-batch, start to end"),
    _spark("write", "write", " ÷ loops that put", 0.9),
    _spark("partitions", "partitions, 1 ms", ", read by 4 ÷ by one", 3, 1),
    _spark("stream partitions", "partitions of a stream, 1 ms", ", by 4 ÷ by one", 3, 1),
    _spark("put response", "`putResponse`, 1 ms", ", async ÷ sync", 3, 1),
)
PARTS = tuple(dict.fromkeys(each.part for each in QUESTIONS))
