"""The properties of a message: a list in hierarchical order, with a cursor that inquiring moves.

Setting a property that is new puts it behind the last one that stands in the same folder and groups; a name may occur more
than once. The cursor points at the property that was inquired last; a property that is deleted under it leaves it between
its neighbours. Changing the name that is inquired starts from the front.

Pure: no handles, no locks, no bytes. Not here: which names are legal (``names.py``), what types are
(``values.py``), MQRFH2 (``rfh2.py``), the verbs (``calls/message_properties.py``).

Source: IBM MQ, topics "Options (MQLONG)" of MQSMPO, MQIMPO and MQDMPO, and "Action" of MQPMO (q098680).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mqgroups.embedded.properties.names import COMPATIBLE_FOLDERS, Path, PropertyError, matcher
from mqgroups.embedded.properties.values import PropertyValue
from mqgroups.mqi import constants as mq


@dataclass(frozen=True, slots=True)
class Property:
    """One property: where it stands, its MQTYPE_* and value, and what MQPD says of it.

    ``type_string`` is the data type that an MQRFH2 gave and that nobody knows; the value is then the text as it stood.
    """

    path: Path
    kind: int
    value: PropertyValue
    support: int = mq.MQPD_SUPPORT_OPTIONAL
    context: int = mq.MQPD_NO_CONTEXT
    copy_options: int = mq.MQCOPY_DEFAULT
    type_string: str = ""


class PropertySet:
    """The properties of one message or message handle."""

    def __init__(self, properties: Iterable[Property] = ()) -> None:
        self._properties = list(properties)
        # How many properties there are of each path and beneath it; counted when one is set for the first time.
        self._paths: Counter[Path] | None = None
        self._groups: Counter[Path] = Counter()
        self.reset_cursor()

    def __iter__(self) -> Iterator[Property]:
        return iter(self._properties)

    def __len__(self) -> int:
        return len(self._properties)

    def reset_cursor(self) -> None:
        """Forget what was inquired, as when the handle is used by MQGET or MQPUT."""
        self._pattern: str | None = None
        self._cursor: int | None = None
        self._deleted = False

    # --- setting

    def set(self, new: Property, how: int = mq.MQSMPO_SET_FIRST) -> None:
        """Set or add a property where one of the MQSMPO_* options says.

        Raises:
            PropertyError: MQRC_MIXED_CONTENT_NOT_ALLOWED, a property that is also a group;
                MQRC_PROPERTY_NOT_AVAILABLE, no property under the cursor.
        """
        paths = self._counted_paths()
        if self._groups[new.path] or any(paths[group] for group in _groups_of(new.path)):
            raise PropertyError(mq.MQRC_MIXED_CONTENT_NOT_ALLOWED)
        if how == mq.MQSMPO_SET_FIRST and paths[new.path]:
            at = self._first(lambda path: path == new.path, 0)
            assert at is not None
            self._replace(at, new)
            return
        if how in (mq.MQSMPO_SET_FIRST, mq.MQSMPO_APPEND_PROPERTY):
            self._insert(self._end_of_hierarchy(new.path), new)
            return
        at = self._under_cursor()
        if how == mq.MQSMPO_SET_PROP_UNDER_CURSOR:
            self._replace(at, new)
        else:
            self._insert(at + (how == mq.MQSMPO_SET_PROP_AFTER_CURSOR), new)

    def _end_of_hierarchy(self, path: Path) -> int:
        """Return the place behind the last property with the longest beginning in common with this one."""
        for group in _groups_of(path):
            if self._groups[group]:
                last = len(self._properties)
                while self._properties[last - 1].path[: len(group)] != group:
                    last -= 1
                return last
        return len(self._properties)

    def _counted_paths(self) -> Counter[Path]:
        if self._paths is None:
            self._paths = Counter()
            for one in self._properties:
                self._count(one.path, 1)
        return self._paths

    def _count(self, path: Path, by: int) -> None:
        if self._paths is not None:
            self._paths[path] += by
            for group in _groups_of(path):
                self._groups[group] += by

    def _replace(self, at: int, new: Property) -> None:
        self._count(self._properties[at].path, -1)
        self._properties[at] = new
        self._count(new.path, 1)

    def _insert(self, at: int, new: Property) -> None:
        self._properties.insert(at, new)
        self._count(new.path, 1)
        if self._cursor is not None and at <= self._cursor:
            self._cursor += 1

    # --- inquiring

    def inquire(self, pattern: str, how: int = mq.MQIMPO_INQ_FIRST) -> tuple[int, Property]:
        """Return the property that a name or wildcard and MQIMPO_INQ_* mean, and its place for ``move_cursor``.

        Raises:
            PropertyError: MQRC_PROPERTY_NOT_AVAILABLE, MQRC_PROPERTY_NAME_ERROR.
        """
        matches = matcher(pattern)
        at: int | None
        if how == mq.MQIMPO_INQ_PROP_UNDER_CURSOR:
            # Another name than before means that there is no cursor any more.
            at = self._under_cursor() if pattern == self._pattern else None
        else:
            start = 0
            if how == mq.MQIMPO_INQ_NEXT and pattern == self._pattern and self._cursor is not None:
                start = self._cursor + (not self._deleted)
            at = self._first(matches, start)
        if at is None:
            raise PropertyError(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        return at, self._properties[at]

    def move_cursor(self, at: int, pattern: str) -> None:
        """Let the cursor point at what ``inquire`` found."""
        self._cursor, self._pattern, self._deleted = at, pattern, False

    def _first(self, matches: Callable[[Path], bool], start: int) -> int | None:
        places = range(start, len(self._properties))
        return next((at for at in places if matches(self._properties[at].path)), None)

    def _under_cursor(self) -> int:
        if self._cursor is None or self._deleted:
            raise PropertyError(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        return self._cursor

    # --- deleting

    def delete(self, path: Path) -> bool:
        """Delete the first property of this path; returns whether there was one."""
        at = self._first(lambda other: other == path, 0)
        if at is not None:
            self._delete(at)
        return at is not None

    def delete_under_cursor(self) -> None:
        """Delete what was inquired last; raises PropertyError with MQRC_PROPERTY_NOT_AVAILABLE if there is nothing."""
        self._delete(self._under_cursor())

    def _delete(self, at: int) -> None:
        self._count(self._properties[at].path, -1)
        del self._properties[at]
        if self._cursor is None:
            return
        if at == self._cursor:
            self._deleted = True
        elif at < self._cursor:
            self._cursor -= 1

    # --- the whole

    def size(self) -> int:
        """Return how many bytes names and values take, which MAXPROPL limits: names with their dots, values as text in
        UTF-8, as bytes or as numbers of their length (what exactly counts is unverified)."""
        return sum(len(".".join(one.path).encode()) + _length(one) for one in self._properties)

    def is_compatible(self) -> bool:
        """Whether MQPROP_COMPATIBILITY delivers the properties: one of them is in a folder that JMS programs know."""
        return any(one.path[0] in COMPATIBLE_FOLDERS for one in self._properties)


_NUMBER_LENGTHS = {
    mq.MQTYPE_BOOLEAN: 4,
    mq.MQTYPE_INT8: 1,
    mq.MQTYPE_INT16: 2,
    mq.MQTYPE_INT32: 4,
    mq.MQTYPE_INT64: 8,
    mq.MQTYPE_FLOAT32: 4,
    mq.MQTYPE_FLOAT64: 8,
}


def _groups_of(path: Path) -> Iterator[Path]:
    """Yield the groups that a property stands in, the innermost first, its folder last."""
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

    MQACTP_NEW takes all of the original's, the others what its copy options say. Those of the new handle come on top,
    and one of type MQTYPE_NULL takes the original's of that name away.

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
