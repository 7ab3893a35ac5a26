"""Safeties, taken out of this process's library: the campaign has to notice.

What keeps a group at one instance of a cluster queue: without the pin the rest of an interrupted group is balanced anew, and a
producer that compares where its messages went stops; without the comparison too, groups split. Without the fence a zombie is not
told that somebody else has its name. Without backing out, an interrupted group leaves what it has put in the unit of work.
"""

from __future__ import annotations

from collections.abc import Iterable

import mqgroups.core.protocol
from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.restart import CommitOutcome, commit_outcome
from mqgroups.core.status import Mark
from mqgroups.put.destination import Destination
from mqgroups.put.putter import Putter


def _without_pin() -> None:
    def unpinned(self: Putter) -> Queue:
        return self._open_for_any_group()

    Putter._open = unpinned  # type: ignore[method-assign]  # the pin taken out


def _without_comparison() -> None:
    def went(self: Destination, pmo: bytes, md: bytes) -> None:
        pass

    Destination.went = went  # type: ignore[method-assign]  # the comparison taken out


def _without_fence() -> None:
    def unfenced(found: Mark | None, before: Mark | None, after: Mark | None) -> CommitOutcome:
        said = commit_outcome(found, before, after)
        return CommitOutcome.BACKED_OUT if said is CommitOutcome.OWNERSHIP_LOST else said

    mqgroups.core.protocol.commit_outcome = unfenced  # type: ignore[attr-defined]  # as the module has imported it


def _without_back_out() -> None:
    def back_out(self: Connection) -> None:
        self._unit_of_work = None

    Connection.back_out = back_out  # type: ignore[method-assign]  # backing out taken out


_SAFETIES = {
    "pin": _without_pin,
    "comparison": _without_comparison,
    "fence": _without_fence,
    "back-out": _without_back_out,
}
SAFETIES = tuple(_SAFETIES)
CLUSTER_SAFETIES = ("pin", "comparison")


def take_out(safeties: Iterable[str]) -> None:
    """Take these out, for as long as this process lives."""
    for each in safeties:
        _SAFETIES[each]()
