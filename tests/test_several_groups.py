"""The example of docs/how-to/using.md that walks a list of names: each row and each group is put once.

Every commit is lost once, before or after it took effect.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from mqembedded import Fault
from mqgroups import errors

pytestmark = pytest.mark.embedded

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "using.md"
(EXAMPLE,) = (block for block in PAGE.read_text(encoding="utf-8").split("```") if "producer.remaining(days)" in block)
# Groups that end with a unit of work, in the middle of one, and within one.
GROUPS = [[f"{day};{number}" for number in range(rows)] for day, rows in (("a", 4), ("b", 3), ("c", 1))]


def run(owner, qmgr, days: dict[str, list[str]]) -> None:
    settings = f"{owner.queue!r}, name={owner.name!r}, commit_every=2, owner_wait_s=30"
    block = EXAMPLE.removeprefix("python\n").replace('"ORDERS", name="ORDERS.OF.DAYS"', settings)
    exec(block, {"qmgr": qmgr, "days": list(days), "rows_of": days.__getitem__})


def test_each_row_and_each_group_is_put_once_whatever_commit_is_the_last(owner, faults):
    expected = [[row.encode() for row in group] for group in GROUPS]
    lost = 0
    for when, nth in itertools.product(("before", "after"), range(1, 8)):
        days = {f"{when} {nth} {number}": rows for number, rows in enumerate(GROUPS)}
        qmgr = owner.connect()
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
        try:
            run(owner, qmgr, days)
        except errors.MQGroupsError:
            lost += 1
        qmgr.close()
        faults.clear_faults()
        for _ in range(2):  # the second one finds that all of them are put
            run(owner, owner.qmgr, days)
        assert owner.get_groups() == expected, days
    assert lost >= 10
