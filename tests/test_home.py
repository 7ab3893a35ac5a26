"""The recipe of docs/how-to/clusters.md: which queue manager of a uniform cluster has a producer's record.

Each of three queue managers is asked, and can be down. The members of the tests' cluster stand for those of a uniform cluster.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import mqgroups
from mqgroups import errors
from tests.put.whole_groups import THIS, put_rest

pytestmark = pytest.mark.embedded
MEMBERS = ["QM1", "QM2", "QM3"]
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "clusters.md"


@pytest.fixture
def owners(cluster, make_owner):
    """A producer's name, as an owner at each member."""
    queue = cluster.name()
    for member in MEMBERS:
        cluster.mqsc(member, f"DEFINE QLOCAL({queue}) DEFPSIST(YES)")
    return {member: make_owner(cluster[member], queue, name=queue[-20:]) for member in MEMBERS}


@pytest.fixture
def home(owners):
    """A function that finds the producer's home, with these members down."""
    (code,) = re.findall(r"```python\n(.*?)\nhome = ", PAGE.read_text(encoding="utf-8"), re.DOTALL)

    def find(*down):
        def connect(member):
            if member in down:
                raise errors.mqi_error("MQCONNX", f"queue manager {member}", 2, 2538)
            return owners[member].connect()

        page: dict[str, Any] = {"mqgroups": mqgroups}
        exec(code, page)
        page["connect"] = connect
        return page["home_of"](owners["QM1"].name, MEMBERS)

    return find


def test_the_first_start_is_at_the_first_member_and_every_other_where_the_record_is(owners, home):
    assert home() == "QM1"
    owners["QM3"].interrupt_put(THIS[:4])
    assert home() == "QM3"
    with owners["QM3"].producer() as producer:
        # A producer at work has its record exclusively.
        assert home() == "QM3"
        assert put_rest(producer) == 2
    # The empty status queue that it leaves is its home still.
    assert home() == "QM3"


def test_a_member_that_is_down_may_have_the_record_unless_another_one_has_it(owners, home):
    with pytest.raises(errors.ConnectionBroken, match="queue manager QM2"):
        home("QM2")
    owners["QM1"].put_group(THIS)
    with pytest.raises(errors.ConnectionBroken):
        home("QM2", "QM3")
    owners["QM1"].interrupt_put(THIS[:4])
    assert home("QM2", "QM3") == "QM1"


def test_two_homes_are_refused(owners, home):
    for member in ("QM1", "QM3"):
        owners[member].interrupt_put(THIS[:4])
    with pytest.raises(RuntimeError, match=r"\['QM1', 'QM3'\] have a record"):
        home()
