"""A group that is interrupted goes on by the name that its program opens, also where the queue is not on this queue manager.

FAR is a queue manager that QM1 knows by definitions only; it is an alias of QM2, which a sender channel reaches. The user may put
to what the program opens, and to nothing else.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest

from embedded_tests.fix_cluster import PASSWORD, USER, until_all_were_chosen
from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups import errors
from tests.put.whole_groups import THIS, is_put_whole, put_rest

pytestmark = pytest.mark.embedded
XMITQ = "USAGE(XMITQ) DEFPSIST(YES) TRIGDATA(QM1.QM2)"
OWN_XMITQ = (f"QLOCAL({{q}}.X) {XMITQ}", "QREMOTE({q}.R) RNAME({q}) RQMNAME({q}.FAR) XMITQ({q}.X)")


@dataclass
class Site:
    """A queue at other queue managers, and a user of QM1 who may put to it by some name."""

    cluster: Any
    queue: str
    make_owner: Any
    profiles: list[str]

    def define(self, *definitions: str) -> None:
        """Define objects at QM1."""
        self.cluster.mqsc("QM1", *(f"DEFINE {each.format(q=self.queue)}" for each in definitions))

    def allow(self, profile: str, words: str) -> None:
        """Give the user authorities for a queue at QM1."""
        profile = profile.format(q=self.queue)
        self.profiles.append(profile)
        self.cluster.mqsc(
            "QM1", f"SET AUTHREC PROFILE('{profile}') PRINCIPAL('{USER}') OBJTYPE(QUEUE) AUTHADD({words})"
        )

    def owner(self, opened: str):
        """Return an owner that is this user."""
        target = dataclasses.replace(self.cluster["QM1"], user=USER, password=PASSWORD)
        return self.make_owner(target, opened.format(q=self.queue))


@pytest.fixture
def site(cluster, make_owner):
    cluster.mqsc("QM1", f"SET AUTHREC PRINCIPAL('{USER}') OBJTYPE(QMGR) AUTHADD(CONNECT,INQ)")
    made = Site(cluster, cluster.name(), make_owner, [])
    made.allow("MQGROUPS.STATUS.MODEL", "BROWSE,DSP,GET,INQ,PUT")
    yield made
    for profile in made.profiles:
        cluster.mqsc("QM1", f"DELETE AUTHREC PROFILE('{profile}') PRINCIPAL('{USER}') OBJTYPE(QUEUE)")


def interrupt_and_resume(owner) -> None:
    """Commit four messages, lose the connection; put the rest, and lose the connection once more meanwhile."""
    owner.interrupt_put(THIS[:6], commit_every=4)
    go_on(owner)


def go_on(owner) -> None:
    control = owner.target.queue_manager.control
    q_mgr = owner.connect(reconnect_wait_s=30)
    with owner.producer(q_mgr, commit_every=2) as producer:
        control.arm(Fault("drop", "after", 1, "MQCMIT"))
        assert put_rest(producer, THIS) == 4
    control.clear_faults()


@table(
    ("definitions", "opened", "authorities", "too"),
    [
        (OWN_XMITQ, "{q}.R", "PUT", ""),
        (OWN_XMITQ, "{q}.R", "INQ,PUT", ""),
        ((f"QLOCAL({{q}}.FAR) {XMITQ}", "QREMOTE({q}.R) RNAME({q}) RQMNAME({q}.FAR)"), "{q}.R", "PUT", ""),
        # A full name is allowed, and would lead elsewhere.
        ((*OWN_XMITQ, "QREMOTE({q}.FAR) RQMNAME(QM3)"), "{q}.R", "INQ,PUT", "SYSTEM.CLUSTER.TRANSMIT.QUEUE"),
        ((*OWN_XMITQ, "QALIAS({q}.A) TARGET({q}.R)"), "{q}.A", "PUT", ""),
    ],
)
def test_a_group_for_a_remote_queue_goes_on_by_its_own_name(cluster, site, definitions, opened, authorities, too):
    site.queue = cluster.name()
    cluster.mqsc("QM2", f"DEFINE QLOCAL({site.queue}) DEFPSIST(YES)", f"DEFINE QREMOTE({site.queue}.FAR) RQMNAME(QM2)")
    site.define(*definitions)
    site.allow(opened, authorities)
    if too:
        site.allow(too, "PUT")
    interrupt_and_resume(site.owner(opened))
    assert is_put_whole(cluster, site.queue, THIS, ("QM2",))


@table(
    ("instances", "more"),
    [
        (("QM2", "QM3"), {"{q}.A": "PUT"}),
        (("QM2", "QM3"), {"{q}.A": "INQ,PUT", "SYSTEM.CLUSTER.TRANSMIT.QUEUE": "INQ"}),
        (("QM1", "QM2"), {"{q}.A": "INQ,PUT", "{q}": "INQ"}),
    ],
)
def test_a_group_for_a_cluster_queue_goes_on_at_its_instance_by_an_alias_that_alone_is_allowed(
    cluster, site, instances, more
):
    site.queue = cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP)", at=instances)
    site.define("QALIAS({q}.A) TARGET({q}) DEFBIND(GROUP)")
    for profile, words in more.items():
        site.allow(profile, words)
    begun = {}

    def begin() -> str:
        owner = site.owner("{q}.A")
        owner.interrupt_put(THIS[:6], commit_every=4)
        went = owner.record("put")["resolved_q_mgr_name"]
        begun[went] = owner
        return went

    until_all_were_chosen(begin, instances)
    for q_mgr_name, owner in begun.items():
        go_on(owner)
        assert is_put_whole(cluster, site.queue, THIS, (q_mgr_name,))


def test_where_no_way_leads_to_the_instance_the_error_says_both(cluster, site):
    site.queue = cluster.define("DEFBIND(GROUP)", at=("QM2",))
    site.define("QALIAS({q}.A) TARGET({q}) DEFBIND(GROUP)")
    site.allow("{q}.A", "PUT")
    owner = site.owner("{q}.A")
    owner.interrupt_put(THIS[:6], commit_every=4)
    # From now on, the name leads to this instance.
    cluster.define("CLWLUSEQ(LOCAL)", at=("QM1",), name=site.queue)
    with pytest.raises(errors.NotAuthorised) as caught:
        owner.producer()
    said = str(caught.value)
    assert f"{site.queue} at queue manager QM2" in said
    assert f"{site.queue}.A led to QM1" in said
    assert len(cluster.data("QM2", site.queue)) == 4
    site.allow("SYSTEM.CLUSTER.TRANSMIT.QUEUE", "PUT")
    go_on(owner)
    assert is_put_whole(cluster, site.queue, THIS, ("QM2",))
