"""Which message is poison, by the table in the module."""

from __future__ import annotations

from embedded_tests.tables import table
from mqgroups.core.poison import Suspect, Treatment, treatment

GROUP, OTHER, NONE, ID, OTHER_ID = (each * 24 for each in (b"G", b"O", b"\0", b"I", b"J"))
ISOLATE, ALONE, POISON = Treatment.ISOLATE, Treatment.PROCESS_ALONE, Treatment.POISON


@table(
    ("count", "suspect", "tries", "call_failed", "expected"),
    [
        (0, None, 2, False, Treatment.PROCESS),
        (2, Suspect(GROUP, 5, 1, ID), 2, False, Treatment.PROCESS),
        (3, None, 2, False, ISOLATE),
        (9, None, 2, False, ISOLATE),
        (3, Suspect(OTHER, 5, 3, ID), 2, False, ISOLATE),
        (3, Suspect(GROUP, 4, 3, ID), 2, False, ISOLATE),
        (4, Suspect(GROUP, 5, 4, ID), 2, False, ALONE),
        (5, Suspect(GROUP, 5, 4, ID), 2, False, ALONE),
        (6, Suspect(GROUP, 5, 4, ID), 2, False, POISON),
        # The segments of a message have different MsgIds.
        (6, Suspect(GROUP, 5, 4, OTHER_ID), 2, False, POISON),
        # Others have backed it out.
        (9, Suspect(GROUP, 5, 4, ID), 0, False, ALONE),
        (9, Suspect(GROUP, 5, 4, ID), 1, False, ALONE),
        (9, Suspect(GROUP, 5, 4, ID), 3, False, POISON),
        (4, Suspect(GROUP, 5, 4, ID), 2, True, ALONE),
        (5, Suspect(GROUP, 5, 4, ID), 2, True, ISOLATE),
        (6, Suspect(GROUP, 5, 4, ID), 2, True, ISOLATE),
    ],
)
def test_a_message_is_treated_by_its_backout_count_and_what_is_known(count, suspect, tries, call_failed, expected):
    how = treatment(GROUP, 5, ID, count, threshold=3, suspect=suspect, tries=tries, call_failed=call_failed)
    assert how is expected


@table(("msg_id", "expected"), [(ID, POISON), (OTHER_ID, ISOLATE)])
def test_a_message_in_no_group_is_known_by_its_msg_id(msg_id, expected):
    assert treatment(NONE, 1, ID, 6, threshold=3, suspect=Suspect(NONE, 1, 4, msg_id)) is expected
