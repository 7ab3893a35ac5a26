"""Text of others in log lines."""

from __future__ import annotations

import logging
import sys

from mqgroups.printable import OneLine

FORGED = "2026-01-01 00:00:00 ERROR forged"


def test_no_line_of_a_log_begins_with_somebody_elses_words():
    try:
        raise ValueError(f"first\n{FORGED}\x1b[2J")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("mqgroups", logging.ERROR, "", 0, "group %s failed", (f"a\n{FORGED}",), error)
    first, *others = OneLine("%(levelname)s %(message)s").format(record).split("\n")
    assert first == f"ERROR group a?{FORGED} failed"
    assert len(others) > 2
    assert all(line.startswith("  ") and line.isprintable() for line in others)
