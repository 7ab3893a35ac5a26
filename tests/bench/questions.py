"""The questions that the benchmark answers, with their goals: one row of the table for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLUMNS = ("part", "question", "measured", "goal", "now")
UNKNOWN = "–"  # noqa: RUF001 - a dash stands for a figure that is not known


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the table.

    Attributes:
        part: which part measures it.
        name: of its figure in what the part returns.
        asked: the question, in a reader's words.
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


def _client() -> list[Question]:
    goals = {("put", 500): 1.06, ("get", 500): 1.10, ("put", 10): 1.18, ("get", 10): 1.18}
    headline = "{}: {{}} times the processor time of a loop written by hand with the same MQI calls"
    return [
        Question(
            "client",
            f"{way} {every}",
            f"What does a {way} cost beside MQI calls made by hand?",
            f"processor time ÷ the same MQI calls, a commit every {every} messages",
            at_most=goals.get((way, every)),
            headline=headline.format(way) if every == 500 else "",
        )
        for way in ("put", "get")
        for every in (500, 100, 10)
    ] + [
        Question(
            "client",
            f"{way} pymqi",
            f"What does a {way} cost beside plain pymqi?",
            "processor time ÷ IBM's pseudo-code in pymqi, a commit every 500 messages",
            at_most=1,
        )
        for way in ("put", "get")
    ]


def _latency() -> list[Question]:
    headline = "put over a line with 1 ms in each direction: asynchronous puts are {} times as fast as synchronous ones"
    return [
        *(
            Question(
                "latency",
                f"put {ms}",
                f"How much faster are asynchronous puts over {ms} ms?",
                "messages a second, async ÷ sync",
                at_least=5 if ms == 1 else None,
                digits=1,
                headline=headline if ms == 1 else "",
            )
            for ms in _LATENCIES_MS
        ),
        Question(
            "latency",
            "raw 1",
            "How near are they to asynchronous puts made by hand, over 1 ms?",
            "messages a second ÷ a loop with the same MQI calls",
            at_least=0.9,
        ),
        *(
            Question(
                "latency",
                f"get {ms}",
                f"How much faster is getting several groups at a time over {ms} ms?",
                "rows a second, 8 consumers ÷ one",
                digits=1,
            )
            for ms in _LATENCIES_MS
        ),
    ]


_LATENCIES_MS = (1, 5)
_DEEP = "processor time of a call, 100,000 ÷ 100"
_TRACED = "processor time ÷ a library without tracing code"
QUESTIONS = (
    *_client(),
    Question(
        "starting",
        "import",
        "How long does `import mqgroups` take?",
        "processor time, with bytecode",
        at_most=0.12,
        unit="s",
    ),
    *_latency(),
    Question("growth", "messages", "Is the embedded queue manager slower with a deep queue?", _DEEP, at_most=2),
    Question("growth", "groups", "Is it slower with many incomplete groups?", _DEEP, at_most=2),
    *(
        Question("tracing", f"{way} {trace}", f"What does tracing cost a {way}, {words}?", _TRACED, at_most=most)
        for way in ("put", "get")
        for trace, words, most in (
            ("off", 'with `trace="off"`', 1.01),
            ("unit of work", "a span for each unit of work", 1.05),
            ("message", "a span for each message", 1.25),
        )
    ),
    Question(
        "spark",
        "read",
        "How fast does Spark read groups without removal?",
        "rows a second ÷ loops that browse by hand",
        at_least=0.95,
    ),
    Question(
        "spark",
        "stream",
        "How fast does a stream read groups and remove them?",
        "rows a second ÷ loops that browse and get by hand",
    ),
    Question(
        "spark",
        "write",
        "How fast does Spark write groups?",
        "rows a second ÷ loops that put by hand",
        at_least=0.9,
    ),
    Question(
        "spark",
        "partitions",
        "How much do more partitions help over 1 ms?",
        "rows a second, read by 4 ÷ by one",
        at_least=3,
        digits=1,
    ),
    Question(
        "spark",
        "stream partitions",
        "How much do they help a stream over 1 ms?",
        "rows a second, read and removed by 4 ÷ by one",
        at_least=3,
        digits=1,
    ),
    Question(
        "spark",
        "put response",
        "How much does `putResponse=async` help over 1 ms?",
        "rows a second, written async ÷ sync",
        at_least=3,
        digits=1,
    ),
)
PARTS = tuple(dict.fromkeys(each.part for each in QUESTIONS))
