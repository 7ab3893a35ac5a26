"""Which message is poison, by the table in the module."""

from __future__ import annotations

from embedded_tests.tables import table
from mqgroups.core.poison import Suspect, Treatment, treatment

GROUP, OTHER, NONE, ID, OTHER_ID = (each * 24 for each in (b"G", b"O", b"\0", b"I", b"J"))
ISOLATE, ALONE, POISON = Treatment.ISOLATE, Treatment.PROCESS_ALONE, Treatment.POISON


@table(
    ("count", "suspect", "lost", "expected"),
    [
        (0, None, False, Treatment.PROCESS),
        (2, Suspect(GROUP, 5, 1, ID), False, Treatment.PROCESS),
        (3, None, False, ISOLATE),
        (9, None, False, ISOLATE),
        (3, Suspect(OTHER, 5, 3, ID), False, ISOLATE),
        (3, Suspect(GROUP, 4, 3, ID), False, ISOLATE),
        (4, Suspect(GROUP, 5, 4, ID), False, ALONE),
        (5, Suspect(GROUP, 5, 4, ID), False, POISON),
        # The segments of a message have different MsgIds.
        (5, Suspect(GROUP, 5, 4, OTHER_ID), False, POISON),
        (4, Suspect(GROUP, 5, 4, ID), True, ALONE),
        (5, Suspect(GROUP, 5, 4, ID), True, ISOLATE),
    ],
)
def test_a_message_is_treated_by_its_backout_count_and_what_the_record_says(count, suspect, lost, expected):
    assert treatment(GROUP, 5, ID, count, threshold=3, suspect=suspect, connection_lost=lost) is expected


@table(("msg_id", "expected"), [(ID, POISON), (OTHER_ID, ISOLATE)])
def test_a_message_in_no_group_is_known_by_its_msg_id(msg_id, expected):
    assert treatment(NONE, 1, ID, 5, threshold=3, suspect=Suspect(NONE, 1, 4, msg_id)) is expected
