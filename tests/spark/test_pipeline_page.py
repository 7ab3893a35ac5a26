"""The report as a page: its figures are those of the run, and its texts are escaped."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mqgroups.spark.pipeline.page import write_html
from mqgroups.spark.pipeline.records import Rejected
from mqgroups.spark.pipeline.report import figures, report_of
from tests.spark.test_pipeline_report import BAD, FIRST, SECOND

HOSTILE = "</title><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;\"\ud800"


class Page(HTMLParser):
    """The elements of a page with their attributes, and the texts of its cells."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.tables = []
        self.tiles = []
        self._cells = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cells = self.tables[-1][-1]
        elif tag in ("dt", "dd"):
            self._cells = self.tiles

    def handle_endtag(self, tag):
        if tag in ("td", "th", "dt", "dd"):
            self._cells = None

    def handle_data(self, data):
        if self._cells is not None:
            self._cells.append(data)

    def bars(self, kind):
        """Return the heights of the bars of a plot, in pixels."""
        return [
            float(attributes["height"])
            for tag, attributes in self.elements
            if tag == "rect" and attributes["class"] == kind and "x" in attributes
        ]


@pytest.fixture
def page(tmp_path):
    def written(*records, pipeline="P"):
        path = write_html(report_of(pipeline, records), records, tmp_path)
        assert path == tmp_path / "report.html"
        return Page(path.read_text(encoding="utf-8"))

    return written


def test_the_figures_of_a_page_are_those_of_the_run(page):
    found = page(FIRST, SECOND)
    assert dict(zip(found.tiles[::2], found.tiles[1::2], strict=True)) == dict(figures(report_of("P", [FIRST, SECOND])))
    throughput, lag, latency, reasons, groups = found.tables
    # FIRST took 2 s and SECOND 1 s, each for 40 messages.
    assert throughput[1:] == [["0", "40", "10", "20.0"], ["1", "40", "20", "40.0"]]
    assert lag[1:] == [["0", "3", "1.00"], ["1", "3", "1.00"]]
    assert latency[1:] == [["0", "1.00", "3.00", "3.00"], ["1", "2.00", "2.00", "2.00"]]
    assert reasons[1:] == [["body", "2", "20"], ["gap", "1", "10"]]
    assert groups[1:] == [[reason, BAD.detail, BAD.group, "10"] for reason in ("body", "body", "gap")]


def test_bars_are_as_high_as_their_figures(page):
    found = page(FIRST, SECOND)
    # Of 20 messages a second 5 were rejected, of 40 a second 20.
    passed = found.bars("passed")
    assert [height / passed[0] for height in passed] == pytest.approx([1, 20 / 15], rel=0.01)
    assert [height / passed[0] for height in found.bars("rejected")] == pytest.approx([5 / 15, 20 / 15], rel=0.01)


def test_texts_of_messages_and_names_are_escaped(page):
    bad = Rejected(group=HOSTILE, reason=HOSTILE, detail=HOSTILE, messages=1)
    found = page(replace(FIRST, rejected=(bad,)), pipeline=HOSTILE)
    shown = HOSTILE.replace("\ud800", "?")
    assert found.tables[-1][1] == [shown, shown, shown, "1"]
    assert not {"script", "img"} & {tag for tag, _ in found.elements}


def test_a_page_loads_nothing(page, tmp_path):
    found = page(FIRST, SECOND)
    assert not {"link", "script", "iframe", "object", "use"} & {tag for tag, _ in found.elements}
    assert not re.search(r"\b(src|href)=|url\(|@import", (tmp_path / "report.html").read_text())


def test_many_micro_batches_are_drawn_together_and_none_is_lost(page):
    found = page(*(replace(FIRST, batch=number, latencies_s=(float(number),)) for number in range(1000)))
    throughput, lag, latency, *_ = found.tables
    assert len(throughput) - 1 == len(found.bars("passed")) <= 60
    assert sum(int(row[1].replace(",", "")) for row in throughput[1:]) == 40_000
    assert (throughput[1][0], throughput[-1][0]) == ("0-16", "986-999")
    # Micro-batches 0 to 16 have the latencies 0 to 16 s, and took 2 s each.
    assert latency[1] == ["0-16", "8.00", "16.00", "16.00"]
    assert lag[1] == ["0-16", "51", "14.00"]


def test_the_list_of_rejected_groups_ends_and_says_so(page, tmp_path):
    found = page(replace(FIRST, rejected=(BAD,) * 1234))
    assert len(found.tables[-1]) - 1 == 200
    assert "The list ends after 200 of 1,234 groups" in (tmp_path / "report.html").read_text()


def test_a_run_in_which_nothing_passed_has_no_latency(page):
    found = page(replace(FIRST, messages=0, latencies_s=(), rejected=(), done_s=FIRST.began_s))
    throughput, lag, latency = found.tables
    assert (throughput[1], lag[1], latency[1]) == (["0", "0", "0", "0.0"], ["0", "3", "-"], ["0", "-", "-", "-"])
    assert "circle" not in {tag for tag, _ in found.elements}
