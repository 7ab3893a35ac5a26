"""The example of docs/how-to/using.md with several groups from one file: each line and each group is put once.

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
(EXAMPLE,) = (
    block for block in PAGE.read_text(encoding="utf-8").split("```") if block.startswith("python\nimport itertools")
)
# Groups that end with a unit of work, in the middle of one, and within one.
GROUPS = [[f"{customer};{number}" for number in range(lines)] for customer, lines in (("a", 4), ("b", 3), ("c", 1))]


def run(owner, qmgr, file: str) -> None:
    block = EXAMPLE.removeprefix("python\n").replace("orders-2026-11-26.csv", file)
    settings = f"{owner.queue!r}, name={owner.name!r}, commit_every=2, owner_wait_s=30"
    block = block.replace('"ORDERS", name="ORDERS.BY.CUSTOMER", commit_every=100', settings)
    exec(block, {"qmgr": qmgr, "rows": [*itertools.chain(*GROUPS)]})


def test_each_line_and_each_group_is_put_once_whatever_commit_is_the_last(owner, faults):
    expected = [[row.encode() for row in group] for group in GROUPS]
    lost = 0
    for when, nth in itertools.product(("before", "after"), range(1, 8)):
        file = f"{when}.{nth}"
        qmgr = owner.connect()
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
        try:
            run(owner, qmgr, file)
        except errors.MQGroupsError:
            lost += 1
        qmgr.close()
        faults.clear_faults()
        for _ in range(2):  # the second one finds that the file is done
            run(owner, owner.qmgr, file)
        assert owner.get_groups() == expected, file
    assert lost >= 10
