"""The properties of a message: a list in hierarchical order, with a cursor that an inquiry moves.

A new property is inserted after the last property in the same folder and groups. A name can occur more than once. The cursor
points at the property that the last inquiry returned. If this property is deleted, the cursor stays between its neighbours. An
inquiry with a new name starts from the front.

Legal names are in ``names.py``, types in ``values.py``, MQRFH2 in ``rfh2.py``, and the verbs in ``calls/message_properties.py``.

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
    """A property: its path, its MQTYPE_* and value, and the fields of its MQPD.

    ``type_string`` is a data type from an MQRFH2 that is unknown or does not fit the value. The value is then the original text.
    """

    path: Path
    kind: int
    value: PropertyValue
    support: int = mq.MQPD_SUPPORT_OPTIONAL
    context: int = mq.MQPD_NO_CONTEXT
    copy_options: int = mq.MQCOPY_DEFAULT
    type_string: str = ""


class PropertySet:
    """The properties of a message or message handle.

    Each property has a place, which is a number. Places ascend in hierarchical order. Adding or deleting a property changes the
    places of other properties only if there is no room for a new place.
    """

    def __init__(self, properties: Iterable[Property] = ()) -> None:
        self._lay_out(properties)
        self.reset_cursor()

    def _lay_out(self, properties: Iterable[Property]) -> None:
        """Store these properties, and give each property a new place."""
        self._at = {(number + 1) * _ROOM: one for number, one in enumerate(properties)}
        self._order = list(self._at)
        # The places by path, and the places of all properties by group. They are filled in when a path is first looked up.
        self._by_path: dict[Path, list[int]] | None = None
        self._by_group: dict[Path, list[int]] = {}

    def __iter__(self) -> Iterator[Property]:
        return map(self._at.__getitem__, self._order)

    def __len__(self) -> int:
        return len(self._order)

    def reset_cursor(self) -> None:
        """Forget the last inquiry, as MQGET and MQPUT with the message handle do."""
        self._pattern: str | None = None
        self._cursor: int | None = None

    # --- setting

    def set(self, new: Property, how: int = mq.MQSMPO_SET_FIRST) -> None:
        """Change a property, or add a property at the place that the MQSMPO_* option ``how`` names.

        Raises:
            PropertyError: MQRC_MIXED_CONTENT_NOT_ALLOWED if a path would be a property and a group at once;
                MQRC_PROPERTY_NOT_AVAILABLE if the cursor does not point at a property.
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
        """Find the path's innermost group that has properties, and return the index after the last of these properties."""
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
        """Insert a property at this index. The property's place is between the places of its neighbours."""
        before = self._order[at - 1] if at else 0
        behind = self._order[at] if at < len(self._order) else before + 2 * _ROOM
        place, cursor = (before + behind) // 2, self._cursor
        if cursor is not None and cursor not in self._at and before < cursor < behind:
            # The property under the cursor was between these two, and was deleted. The cursor moves behind the new property.
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
        """Give all properties new places that are far apart. The cursor keeps its position among the properties."""
        passed = 0 if self._cursor is None else bisect_right(self._order, self._cursor)
        is_there = self._cursor in self._at
        self._lay_out(list(self))
        if self._cursor is not None:
            # If the property under the cursor was deleted, the cursor must be between two places.
            self._cursor = passed * _ROOM + (0 if is_there else 1)

    # --- inquiring

    def inquire(self, pattern: str, how: int = mq.MQIMPO_INQ_FIRST) -> tuple[int, Property]:
        """Return the place and the property that a name or wildcard and the MQIMPO_INQ_* option ``how`` select.

        Raises:
            PropertyError: MQRC_PROPERTY_NOT_AVAILABLE, MQRC_PROPERTY_NAME_ERROR.
        """
        matches = matcher(pattern)
        place: int | None
        if how == mq.MQIMPO_INQ_PROP_UNDER_CURSOR:
            # An inquiry with a new name does not use the cursor.
            place = self._under_cursor() if pattern == self._pattern else None
        else:
            goes_on = how == mq.MQIMPO_INQ_NEXT and pattern == self._pattern and self._cursor is not None
            place = self._first(pattern, matches, self._cursor if goes_on else None)
        if place is None:
            raise PropertyError(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        return place, self._at[place]

    def move_cursor(self, place: int, pattern: str) -> None:
        """Let the cursor point at the property with this place. ``inquire`` has found it with this pattern."""
        self._cursor, self._pattern = place, pattern

    def _first(self, pattern: str, matches: Callable[[Path], bool], behind: int | None) -> int | None:
        """Return the first place after the place ``behind`` that has a matching property, or None."""
        order = self._order if pattern.endswith("%") else self._places().get(path_of(pattern), [])
        start = 0 if behind is None else bisect_right(order, behind)
        return next((order[at] for at in range(start, len(order)) if matches(self._at[order[at]].path)), None)

    def _under_cursor(self) -> int:
        if self._cursor is None or self._cursor not in self._at:
            raise PropertyError(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        return self._cursor

    # --- deleting

    def delete(self, path: Path) -> bool:
        """Delete the first property with this path, and return whether there was such a property."""
        places = self._places().get(path)
        if places is None:
            return False
        self._delete(places[0])
        return True

    def delete_under_cursor(self) -> None:
        """Delete the property under the cursor; raise PropertyError with MQRC_PROPERTY_NOT_AVAILABLE if there is none."""
        self._delete(self._under_cursor())

    def _delete(self, place: int) -> None:
        self._forget(place)
        del self._at[place]
        del self._order[bisect_left(self._order, place)]

    # --- the whole

    def size(self) -> int:
        """Return the size in bytes that MAXPROPL limits.

        It is the total size of all names, with their dots, and all values: text in UTF-8, bytes, and numbers (unverified).
        """
        return sum(len(".".join(one.path).encode()) + _length(one) for one in self)

    def is_compatible(self) -> bool:
        """Return whether MQPROP_COMPATIBILITY delivers the properties. At least one must be in a folder known to JMS programs."""
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
    """Yield the groups that contain a property, from the innermost group to the folder."""
    return (path[:length] for length in range(len(path) - 1, 0, -1))


def _length(one: Property) -> int:
    if isinstance(one.value, str):
        return len(one.value.encode())
    return len(one.value) if isinstance(one.value, bytes) else _NUMBER_LENGTHS.get(one.kind, 0)


# The copy option of the properties that an action copies from the original message (MQPMO, field Action). Properties with
# MQCOPY_ALL are always copied.
_COPIED = {
    mq.MQACTP_FORWARD: mq.MQCOPY_FORWARD,
    mq.MQACTP_REPLY: mq.MQCOPY_REPLY,
    mq.MQACTP_REPORT: mq.MQCOPY_REPORT,
}


def combined(original: Iterable[Property], new: Iterable[Property], action: int) -> PropertySet:
    """Return the properties of a message that is put with an original and a new message handle.

    MQACTP_NEW takes all properties of the original handle. Other actions take the properties whose copy options name the action.
    Properties of the new handle are added, or replace original properties with the same name. A new property of type MQTYPE_NULL
    removes the original property with the same name.

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
