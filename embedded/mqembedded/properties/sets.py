"""The properties of a message: a list in hierarchical order, with a cursor that an inquiry moves.

A new property is inserted behind the last one in the same folder and groups. A name may occur more than once. The cursor points
at the property that was inquired last. If that property is deleted, the cursor stays between its neighbours. An inquiry with a
new name starts from the front.

Pure: no handles, no locks, no bytes. Not here: legal names (``names.py``), types (``values.py``), MQRFH2 (``rfh2.py``), the
verbs (``calls/message_properties.py``).

Source: IBM MQ, "Options (MQLONG)" of MQSMPO, MQIMPO and MQDMPO, and "Action" of MQPMO.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.properties.names import COMPATIBLE_FOLDERS, Path, PropertyError, matcher, path_of
from mqembedded.properties.values import PropertyValue

# The distance between two new places, so that more properties can be inserted between neighbours.
_ROOM = 1 << 16


@dataclass(frozen=True, slots=True)
class Property:
    """One property: its path, its MQTYPE_* and value, and the fields of its MQPD.

    ``type_string`` is a data type in an MQRFH2 that is unknown here; the value is then the text as it was.
    """

    path: Path
    kind: int
    value: PropertyValue
    support: int = mq.MQPD_SUPPORT_OPTIONAL
    context: int = mq.MQPD_NO_CONTEXT
    copy_options: int = mq.MQCOPY_DEFAULT
    type_string: str = ""


class PropertySet:
    """The properties of one message or message handle.

    Each property has a place, a number that does not change while others come and go. Places ascend in hierarchical order, with
    room for more between them.
    """

    def __init__(self, properties: Iterable[Property] = ()) -> None:
        self._lay_out(properties)
        self.reset_cursor()

    def _lay_out(self, properties: Iterable[Property]) -> None:
        """Give all properties new places."""
        self._at = {(number + 1) * _ROOM: one for number, one in enumerate(properties)}
        self._order = list(self._at)
        # The places of each path, and of all properties in each group. They are filled in when a path is first looked up.
        self._by_path: dict[Path, list[int]] | None = None
        self._by_group: dict[Path, list[int]] = {}

    def __iter__(self) -> Iterator[Property]:
        return map(self._at.__getitem__, self._order)

    def __len__(self) -> int:
        return len(self._order)

    def reset_cursor(self) -> None:
        """Forget the last inquiry, as when MQGET or MQPUT uses the handle."""
        self._pattern: str | None = None
        self._cursor: int | None = None

    # --- setting

    def set(self, new: Property, how: int = mq.MQSMPO_SET_FIRST) -> None:
        """Set a property, or add one at the place that an MQSMPO_* option names.

        Raises:
            PropertyError: MQRC_MIXED_CONTENT_NOT_ALLOWED, a property that is also a group;
                MQRC_PROPERTY_NOT_AVAILABLE, no property under the cursor.
        """
        paths = self._places()
        if new.path in self._by_group or any(group in paths for group in _groups_of(new.path)):
            raise PropertyError(mq.MQRC_MIXED_CONTENT_NOT_ALLOWED)
        if how == mq.MQSMPO_SET_FIRST and new.path in paths:
            self._replace(paths[new.path][0], new)
            return
        if how in (mq.MQSMPO_SET_FIRST, mq.MQSMPO_APPEND_PROPERTY):
            self._insert(self._end_of_hierarchy(new.path), new)
            return
        place = self._under_cursor()
        if how == mq.MQSMPO_SET_PROP_UNDER_CURSOR:
            self._replace(place, new)
        else:
            at = bisect_left(self._order, place)
            self._insert(at + (how == mq.MQSMPO_SET_PROP_AFTER_CURSOR), new)

    def _end_of_hierarchy(self, path: Path) -> int:
        """Return the index behind the last property in the innermost existing group of the path."""
        for group in _groups_of(path):
            if group in self._by_group:
                return bisect_right(self._order, self._by_group[group][-1])
        return len(self._order)

    def _places(self) -> dict[Path, list[int]]:
        if self._by_path is None:
            self._by_path = {}
            for place in self._order:
                self._note(place)
        return self._by_path

    def _note(self, place: int) -> None:
        if self._by_path is not None:
            path = self._at[place].path
            insort(self._by_path.setdefault(path, []), place)
            for group in _groups_of(path):
                insort(self._by_group.setdefault(group, []), place)

    def _forget(self, place: int) -> None:
        if self._by_path is not None:
            path = self._at[place].path
            _take_out(self._by_path, path, place)
            for group in _groups_of(path):
                _take_out(self._by_group, group, place)

    def _replace(self, place: int, new: Property) -> None:
        self._forget(place)
        self._at[place] = new
        self._note(place)

    def _insert(self, at: int, new: Property) -> None:
        """Insert a property before the one with this index, at a place between its neighbours."""
        before = self._order[at - 1] if at else 0
        behind = self._order[at] if at < len(self._order) else before + 2 * _ROOM
        place, cursor = (before + behind) // 2, self._cursor
        if cursor is not None and cursor not in self._at and before < cursor < behind:
            # The property under the cursor was between these two, and was deleted. The cursor moves behind the new one.
            place, cursor = cursor, (cursor + behind) // 2
        if place in (before, cursor):
            self._make_room()
            self._insert(at, new)
            return
        self._cursor = cursor
        self._order.insert(at, place)
        self._at[place] = new
        self._note(place)

    def _make_room(self) -> None:
        """Move all places apart. The cursor keeps its position among the properties."""
        passed = 0 if self._cursor is None else bisect_right(self._order, self._cursor)
        is_there = self._cursor in self._at
        self._lay_out(list(self))
        if self._cursor is not None:
            # If the property under the cursor was deleted, the cursor is between two places.
            self._cursor = passed * _ROOM + (0 if is_there else 1)

    # --- inquiring

    def inquire(self, pattern: str, how: int = mq.MQIMPO_INQ_FIRST) -> tuple[int, Property]:
        """Return the place (for ``move_cursor``) and the property for a name or wildcard with MQIMPO_INQ_*.

        Raises:
            PropertyError: MQRC_PROPERTY_NOT_AVAILABLE, MQRC_PROPERTY_NAME_ERROR.
        """
        matches = matcher(pattern)
        place: int | None
        if how == mq.MQIMPO_INQ_PROP_UNDER_CURSOR:
            # With a new name there is no cursor.
            place = self._under_cursor() if pattern == self._pattern else None
        else:
            goes_on = how == mq.MQIMPO_INQ_NEXT and pattern == self._pattern and self._cursor is not None
            place = self._first(pattern, matches, self._cursor if goes_on else None)
        if place is None:
            raise PropertyError(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        return place, self._at[place]

    def move_cursor(self, place: int, pattern: str) -> None:
        """Let the cursor point at the property that ``inquire`` found."""
        self._cursor, self._pattern = place, pattern

    def _first(self, pattern: str, matches: Callable[[Path], bool], behind: int | None) -> int | None:
        """Return the first place after ``behind`` whose property matches."""
        order = self._order if pattern.endswith("%") else self._places().get(path_of(pattern), [])
        start = 0 if behind is None else bisect_right(order, behind)
        return next((order[at] for at in range(start, len(order)) if matches(self._at[order[at]].path)), None)

    def _under_cursor(self) -> int:
        if self._cursor is None or self._cursor not in self._at:
            raise PropertyError(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        return self._cursor

    # --- deleting

    def delete(self, path: Path) -> bool:
        """Delete the first property with this path; return whether there was one."""
        places = self._places().get(path)
        if places is None:
            return False
        self._delete(places[0])
        return True

    def delete_under_cursor(self) -> None:
        """Delete the last inquired property; raises PropertyError with MQRC_PROPERTY_NOT_AVAILABLE if there is none."""
        self._delete(self._under_cursor())

    def _delete(self, place: int) -> None:
        self._forget(place)
        del self._at[place]
        del self._order[bisect_left(self._order, place)]

    # --- the whole

    def size(self) -> int:
        """Return the bytes that MAXPROPL limits.

        They are names with their dots, and values: text in UTF-8, bytes, numbers with their length (unverified).
        """
        return sum(len(".".join(one.path).encode()) + _length(one) for one in self)

    def is_compatible(self) -> bool:
        """Whether MQPROP_COMPATIBILITY delivers the properties: one of them is in a folder that JMS programs know."""
        return any(one.path[0] in COMPATIBLE_FOLDERS for one in self)


_NUMBER_LENGTHS = {
    mq.MQTYPE_BOOLEAN: 4,
    mq.MQTYPE_INT8: 1,
    mq.MQTYPE_INT16: 2,
    mq.MQTYPE_INT32: 4,
    mq.MQTYPE_INT64: 8,
    mq.MQTYPE_FLOAT32: 4,
    mq.MQTYPE_FLOAT64: 8,
}


def _take_out(places: dict[Path, list[int]], path: Path, place: int) -> None:
    held = places[path]
    del held[bisect_left(held, place)]
    if not held:
        del places[path]


def _groups_of(path: Path) -> Iterator[Path]:
    """Yield the groups that contain a property, the innermost first, its folder last."""
    return (path[:length] for length in range(len(path) - 1, 0, -1))


def _length(one: Property) -> int:
    if isinstance(one.value, str):
        return len(one.value.encode())
    return len(one.value) if isinstance(one.value, bytes) else _NUMBER_LENGTHS.get(one.kind, 0)


# Which properties of the original message an action copies (MQPMO, field Action); MQCOPY_ALL always does.
_COPIED = {
    mq.MQACTP_FORWARD: mq.MQCOPY_FORWARD,
    mq.MQACTP_REPLY: mq.MQCOPY_REPLY,
    mq.MQACTP_REPORT: mq.MQCOPY_REPORT,
}


def combined(original: Iterable[Property], new: Iterable[Property], action: int) -> PropertySet:
    """Return the properties of a message that is put with an original and a new message handle.

    MQACTP_NEW takes all properties of the original, other actions those that the copy options name. Properties of the new
    handle are added, or replace these; one of type MQTYPE_NULL removes the original's property of that name.

    Raises:
        PropertyError: MQRC_ACTION_ERROR, MQRC_MIXED_CONTENT_NOT_ALLOWED.
    """
    if action != mq.MQACTP_NEW and action not in _COPIED:
        raise PropertyError(mq.MQRC_ACTION_ERROR)
    wanted = _COPIED.get(action, 0) | mq.MQCOPY_ALL
    copied = [one for one in original if action == mq.MQACTP_NEW or one.copy_options & wanted]
    on_top = list(new)
    overridden = {one.path for one in copied} & {one.path for one in on_top}
    result = PropertySet(one for one in copied if one.path not in overridden)
    for one in on_top:
        if one.kind == mq.MQTYPE_NULL and one.path in overridden:
            continue
        overridden.discard(one.path)
        result.set(one, mq.MQSMPO_APPEND_PROPERTY)
    return result
