"""Which message is poison, by the table in the module."""

from __future__ import annotations

from mqgroups.core.poison import Suspect, Treatment, treatment
from tests.tables import table

GROUP, OTHER = b"G" * 24, b"O" * 24


@table(
    ("count", "suspect", "expected"),
    [
        (0, None, Treatment.PROCESS),
        (2, Suspect(GROUP, 5, 1), Treatment.PROCESS),
        (3, None, Treatment.ISOLATE),
        (9, None, Treatment.ISOLATE),
        (3, Suspect(OTHER, 5, 3), Treatment.ISOLATE),
        (3, Suspect(GROUP, 4, 3), Treatment.ISOLATE),
        (4, Suspect(GROUP, 5, 4), Treatment.PROCESS_ALONE),
        (5, Suspect(GROUP, 5, 4), Treatment.POISON),
    ],
)
def test_a_message_is_treated_by_its_backout_count_and_what_the_record_says(count, suspect, expected):
    assert treatment(GROUP, 5, count, threshold=3, suspect=suspect) is expected
