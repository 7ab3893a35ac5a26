"""Inspects queues with their groups and owners: one queue for ``doctor`` and ``check``, or several queues at once.

Status queues are read after the queues are browsed, because records that were read earlier could name groups that are gone.

Not here: browsing a queue (``groups.py``), judging a group (``rules/judgement.py``), and remedies (``rules/remedies.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mqgroups.connection.holder import ConnectionHolder
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import ConnectionBroken, MQIError
from mqgroups.operate.groups import GroupList, browse_groups
from mqgroups.operate.owners import SeenOwners, find_owners
from mqgroups.operate.rules.findings import Finding, Severity, ok
from mqgroups.operate.rules.inspection import BrowsedInstance
from mqgroups.operate.rules.judgement import NOT_TO_START, Cause, Judgement, Surroundings, judged
from mqgroups.operate.rules.owner_state import SeenOwner
from mqgroups.operate.rules.remedies import may_have_lost, remedy

_Q = TypeVar("_Q", bound=ConnectionHolder)


@dataclass(slots=True)
class Sight:
    """What was seen of several queues and of all owners.

    Attributes:
        owners: all owners.
        lists: the groups of each queue, which are not judged yet. A queue and its aliases count as one queue.
        refused: the errors of the queues that could not be browsed.
    """

    owners: SeenOwners = field(default_factory=lambda: SeenOwners(()))
    lists: dict[str, GroupList] = field(default_factory=dict)
    refused: dict[str, MQIError] = field(default_factory=dict)

    def unseen(self) -> Iterator[str]:
        """Yield a sentence for each thing that could not be seen, with the reason."""
        yield from self.owners.unseen
        for queue, error in self.refused.items():
            owners = (each for each in self.owners.owners if each.queue == queue)
            named = ", ".join(f"{each.role} {each.name} ({each.state.value})" for each in owners)
            yield f"queue {queue}, which records name: {named}: {error}"
        for found in self.lists.values():
            at = found.instance
            yield from (f"{at.queue} at {at.q_mgr_name}: {sentence}" for sentence in at.unseen)


@contextmanager
def look_at_queues(
    q_mgr: _Q,
    queues: Collection[str] | None = None,
    browse: Callable[[_Q, str], GroupList] = browse_groups,
    *,
    also: Collection[str] = (),
    status_queues: Collection[str] = (),
) -> Iterator[Sight]:
    """Browse these queues, or all queues that records name. Then find the owners.

    Args:
        queues: the names of the queues; ``None`` for all queues that records name.
        also: more queues to browse if ``queues`` is ``None``, because no record names a queue after its programs have ended.
        browse: ``browse_groups``, or a function that shows its progress.
        status_queues: as for ``find_owners``.
    """
    named = queues
    if named is None:
        owners = find_owners(q_mgr, status_queues=status_queues).owners
        named = {each.queue for each in owners if each.queue} | {*also}
    seen = Sight()
    with ExitStack() as stack:
        for queue in sorted(named):
            try:
                found = stack.enter_context(browse(q_mgr, queue))
            except ConnectionBroken:
                raise
            except MQIError as error:
                seen.refused[queue] = error
                continue
            same = next((each for each in seen.lists.values() if not each.names.isdisjoint(found.names)), None)
            if same is None:
                seen.lists[queue] = found
            else:
                same.names |= found.names
        seen.owners = find_owners(q_mgr, status_queues=status_queues)
        yield seen


@dataclass(slots=True)
class QueueLook:
    """What was seen of a queue and its owners.

    Attributes:
        problem: why the queue could not be browsed.
        counts: the number of groups by cause.
        first: the first group of each cause that needs an operator.
        of_owner: the groups that are named by a record on the given status queue.
    """

    queue: str
    problem: str = ""
    counts: Counter[Cause] = field(default_factory=Counter)
    first: dict[Cause, Judgement] = field(default_factory=dict)
    of_owner: list[Judgement] = field(default_factory=list)
    unseen: Sequence[str] = ()

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong, the most dangerous findings first."""
        if self.problem:
            why = "groups without a beginning cannot be found"
            yield Finding(f"groups on {self.queue}", Severity.UNSEEN, self.problem, why)
            return
        for cause in Cause:
            if cause in self.first:
                yield self._all(cause)
        in_order = sum(many for cause, many in self.counts.items() if cause not in self.first)
        yield ok(f"groups on {self.queue}", f"{in_order:,} group{'' if in_order == 1 else 's'} in order or at work")

    def deals_with(self) -> set[str]:
        """Return the status queues with lost records that ``findings`` already reports."""
        return {owner.status_queue for each in self.first.values() for owner in may_have_lost(each)}

    def largest(self) -> int:
        """Return the number of messages of the largest group that may have to be moved to the backout queue."""
        return max((each.group.messages for each in self.first.values()), default=0)

    def against_start(self, producer: SeenOwner, *, other_programs: bool = False) -> Iterator[Finding]:
        """Yield the reasons why a start of this producer would put messages twice or leave a gap.

        ``other_programs``: whether groups without a record belong to other programs.
        """
        for each in self.of_owner:
            if each.cause in NOT_TO_START:
                yield _finding(each)
        if producer.record is None and Cause.NO_RECORD in self.first and not other_programs:
            yield self._all(Cause.NO_RECORD)

    def _all(self, cause: Cause) -> Finding:
        """Return one finding for all groups that have this cause. The remedy is for the first of these groups."""
        many = self.counts[cause]
        found = _finding(self.first[cause], many)
        if many == 1:
            return found
        others = to_copy(f"mqgroups groups --queue {{}} --only {cause.state.value.replace(' ', '-')}", self.queue)
        return replace(found, remedy=f"{found.remedy}\nthen look for the next group; these are all: {others}")


def pipe_findings(producer: SeenOwner, consumer: SeenOwner) -> Iterator[Finding]:
    """Yield a finding if the two records belong to a pipe, but are not from the same commit."""
    found = judged(None, [consumer], Surroundings(BrowsedInstance("", consumer.queue, hidden=0), [producer, consumer]))
    if found.cause is Cause.PIPE:
        yield _finding(found)


def _finding(judgement: Judgement, many: int = 1) -> Finding:
    cause, lines = judgement.cause, "\n".join(remedy(judgement))
    found = f"{many:,} group{'' if many == 1 else 's'}: {cause.value}"
    return Finding(f"groups on {judgement.around.at.queue}", cause.severity, found, cause.danger, lines)


def look_at_queue(
    q_mgr: _Q,
    queue: str,
    browse: Callable[[_Q, str], GroupList] = browse_groups,
    *,
    quiet_since: str,
    named: Collection[str] = (),
    name: str = "NAME",
    status_queue: str = "",
) -> QueueLook:
    """Browse a queue, then the status queues, and judge the groups. Raises ConnectionBroken."""
    look = QueueLook(queue)

    def wanted(judgement: Judgement) -> bool:
        look.counts[judgement.cause] += 1
        if any(each.status_queue == status_queue for each in judgement.owners):
            look.of_owner.append(judgement)
        if judgement.cause.severity is not Severity.OK:
            look.first.setdefault(judgement.cause, judgement)
        return False

    with look_at_queues(q_mgr, [queue], browse, status_queues=named) as sight:
        look.unseen = sight.owners.unseen
        for found in sight.lists.values():
            found.judge(sight.owners, quiet_since, wanted, name=name)
        for error in sight.refused.values():
            look.problem = str(error)
    return look
