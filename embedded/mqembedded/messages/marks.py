"""Marks of browsed messages: the marks of single handles, and the marks of the set of co-operating handles.

A mark hides a message only from calls that ask for unmarked messages (MQGMO_UNMARKED_BROWSE_MSG). The set contains all handles of
a queue that were opened with MQOO_CO_OP. The set's marks end after MARKINT, or when the set's last handle is closed. A handle's
own marks end when it is closed. All marks of a message end when it leaves the queue. A backout of the get does not restore them.
"""

from __future__ import annotations

from mqembedded import constants as mq


class Marks:
    """The marks on the messages of a queue. Messages and handles are used only as dictionary keys.

    Callers hold the queue manager's lock.
    """

    def __init__(self) -> None:
        self._of_handles: dict[object, set[object]] = {}
        self._by_handle: dict[object, dict[object, None]] = {}
        # The time when each message was marked for the set, the oldest mark first.
        self.of_set: dict[object, float] = {}
        self._members: set[object] = set()

    def join(self, handle: object) -> None:
        """Add a new handle to the set of co-operating handles."""
        self._members.add(handle)

    def leave(self, handle: object) -> bool:
        """Remove a closed handle and its marks. Return whether this also ended the marks of the set."""
        for message in list(self._by_handle.get(handle, ())):
            self.unmark(message, handle)
        if handle not in self._members:
            return False
        self._members.remove(handle)
        if self._members or not self.of_set:
            return False
        self.of_set.clear()
        return True

    def mark(self, message: object, handle: object) -> None:
        """Mark a message for a handle."""
        self._of_handles.setdefault(message, set()).add(handle)
        self._by_handle.setdefault(handle, {})[message] = None

    def unmark(self, message: object, handle: object) -> None:
        """Remove a handle's mark from a message, if the message has this mark."""
        handles = self._of_handles.get(message, set())
        if handle in handles:
            handles.remove(handle)
            if not handles:
                del self._of_handles[message]
            self._forget(message, handle)

    def _forget(self, message: object, handle: object) -> None:
        marked = self._by_handle[handle]
        del marked[message]
        if not marked:
            del self._by_handle[handle]

    def mark_for_set(self, message: object, now_s: float) -> None:
        """Mark a message for the set of co-operating handles."""
        self.of_set[message] = now_s

    def unmark_for_set(self, message: object) -> bool:
        """Remove the mark of the set of co-operating handles from a message, and return whether there was such a mark."""
        return self.of_set.pop(message, None) is not None

    def is_marked_for_set(self, message: object) -> bool:
        """Return whether a message is marked for the set of co-operating handles."""
        return message in self.of_set

    def is_marked_for(self, message: object, handle: object) -> bool:
        """Return whether a message is marked for a handle, by the handle itself or by the set that the handle belongs to."""
        return handle in self._of_handles.get(message, ()) or (handle in self._members and message in self.of_set)

    def expire(self, now_s: float, interval_ms: int) -> None:
        """Remove the set's marks that are older than the interval. MQMMBI_UNLIMITED means that marks of any age stay."""
        while self.of_set and interval_ms != mq.MQMMBI_UNLIMITED:
            oldest = next(iter(self.of_set))
            if now_s - self.of_set[oldest] < interval_ms / 1000:
                return
            del self.of_set[oldest]

    def next_expiry_s(self, interval_ms: int) -> float | None:
        """Return the time at which the next mark of the set ends, or None if the set has no mark that ends."""
        if not self.of_set or interval_ms == mq.MQMMBI_UNLIMITED:
            return None
        return next(iter(self.of_set.values())) + interval_ms / 1000

    def forget(self, message: object) -> None:
        """Remove all marks from a message that leaves the queue."""
        for handle in self._of_handles.pop(message, ()):
            self._forget(message, handle)
        self.of_set.pop(message, None)
