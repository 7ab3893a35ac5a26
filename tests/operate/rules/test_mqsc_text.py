"""MQSC as text."""

from __future__ import annotations

import time

from embedded_tests.tables import table
from mqgroups.operate.rules.mqsc_text import as_number, attributes, broken, commands

FILE = """* About the file

* About the queue
* and its use
DEFINE QLOCAL('A.B') +
       DESCR('it''s (so)') NOSHARE +
       MAXDEPTH(5000) REPLACE
SET AUTHREC PROFILE('A.**') OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(PUT,GET)
"""


def test_commands_are_joined_and_have_the_comments_before_them():
    define, authority = commands(FILE)
    assert define.comments == ("About the queue", "and its use")
    assert define.attributes == {"QLOCAL": "A.B", "DESCR": "it's (so)", "MAXDEPTH": "5000"}
    assert define.words == ["DEFINE", "NOSHARE", "REPLACE"]
    assert authority.comments == ()
    assert authority.attributes["AUTHADD"] == "PUT,GET"


@table("width", [30, 40, 41, 42, 60, 80, 200])
@table("indent", ["", "    "])
def test_a_command_that_is_broken_into_lines_is_read_as_one(width, indent):
    for command in commands(FILE):
        lines = broken(command.text, width, indent)
        assert [each.text for each in commands("\n".join(lines))] == [command.text]
        assert all(len(line) <= width for line in lines)
        assert (len(lines) == 1) == (len(command.text) <= width)


def test_what_display_shows_is_read():
    shown = (
        "AMQ8409I: Details\n   QUEUE(A)      TYPE(QLOCAL)\n   CLUSTER( )    CONNAME(host(1414))  BOQNAME( )\n   SHARE"
    )
    assert attributes(shown) == {"QUEUE": "A", "TYPE": "QLOCAL", "CLUSTER": "", "CONNAME": "host(1414)", "BOQNAME": ""}


@table("text", ["QUEUE(" + " " * 30_000, "DESCR('" + "' " * 30_000, "A(" * 30_000, "A(" + "(b)" * 30_000])
def test_what_display_shows_is_read_in_the_time_that_its_length_takes(text):
    # With a pattern that can take blanks in three ways, 2,000 of them take five seconds.
    before_s = time.process_time()
    assert attributes(text) == {}
    assert time.process_time() - before_s < 2


@table(("text", "expected"), [("0", 0), ("999999999", 999_999_999), ("", None), ("-1", None), ("1.5", None)])
def test_a_number_of_an_attribute(text, expected):
    assert as_number(text) == expected


@table("text", ["9" * 11, "9" * 5000, "\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT SEVEN}"])
def test_digits_that_are_no_number_of_mq(text):
    assert as_number(text) is None
