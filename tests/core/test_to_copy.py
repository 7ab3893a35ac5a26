"""Lines that people copy: whatever a word says, the shell and MQSC see one word."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqembedded.admin.mqsc import parse
from mqgroups.core.to_copy import to_copy


@table(
    ("line", "words", "expected"),
    [
        ("mqgroups adopt {} --from {} --apply", ["A.B", "QM1_x:1"], "mqgroups adopt A.B --from QM1_x:1 --apply"),
        ("mqgroups adopt {} --apply", ["X; touch owned #"], "mqgroups adopt 'X; touch owned #' --apply"),
        ("start {}", ["$(id)\n`id`"], "start '$(id)?`id`'"),
        ("start {}", ["it's"], "start 'it'\"'\"'s'"),
        ("start {}", [""], "start ''"),
        ("CLEAR QLOCAL({})", ["a.b"], "CLEAR QLOCAL('a.b')"),
        ("CLEAR QLOCAL({}) +", ["A') DELETE QLOCAL('B"], "CLEAR QLOCAL('A'') DELETE QLOCAL(''B') +"),
        ("if DISPLAY QSTATUS({}) says so: start {}", ["{}", "{}"], "if DISPLAY QSTATUS('{}') says so: start '{}'"),
        ("nothing", [], "nothing"),
    ],
)
def test_each_word_is_quoted_as_its_place_needs_it(line, words, expected):
    assert to_copy(line, *words) == expected


@given(first=st.text(), second=st.text())
def test_a_shell_sees_one_word_and_mqsc_one_value(first, second):
    line = to_copy("mqgroups adopt {} --from {} --apply", first, second)
    assert line.isprintable()
    found = shlex.split(line)
    assert (len(found), found[:2], found[3], found[5:]) == (6, ["mqgroups", "adopt"], "--from", ["--apply"])
    (command,) = parse(to_copy("DEFINE QLOCAL(Q) DESCR({}) REPLACE", f"Q{first}"))
    assert list(command.parameters) == ["DESCR", "REPLACE"]
