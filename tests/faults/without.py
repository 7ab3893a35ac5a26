"""What keeps a group at one instance of a cluster queue, taken out of this process's library: the campaign has to notice.

Without the pin the rest of an interrupted group is balanced anew, and a producer that compares where its messages went stops.
Without the comparison too, groups split.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgroups.destination import Destination
from mqgroups.producer import GroupProducer


def _without_pin() -> None:
    GroupProducer._open = GroupProducer._open_for_any_group  # type: ignore[method-assign]  # the pin taken out


def _without_comparison() -> None:
    def went(self: Destination, pmo: bytes, md: bytes) -> None:
        pass

    Destination.went = went  # type: ignore[method-assign]  # the comparison taken out


_SAFETIES = {"pin": _without_pin, "comparison": _without_comparison}
SAFETIES = tuple(_SAFETIES)


def take_out(safeties: Iterable[str]) -> None:
    """Take these out, for as long as this process lives."""
    for each in safeties:
        _SAFETIES[each]()
