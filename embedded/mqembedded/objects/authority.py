"""Authority records: what users are allowed to do with objects.

A record gives authorities to one entity (a principal or a group), for the objects of one type whose names match a profile. If
several profiles of an entity match an object, only the most specific profile counts. A user has the authorities of its principal
and of all its groups together. ``calls/permission.py`` has the authorities that calls need.

Source: IBM MQ, "Using OAM generic profiles", "Profile priorities", "SET AUTHREC", "setmqaut". Unverified: IBM MQ chooses the most
specific profile for each entity separately; ALLMQI and ALLADM mean the authorities below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from mqembedded.store.store import Store

# The user of the queue manager, and the group of administrators. Both are allowed to do everything.
ADMINISTRATOR = "mqm"
# The users of IBM's developer container and their groups.
_GROUPS = {"app": ("mqclient",), "admin": (ADMINISTRATOR,)}
Q_MGR_PROFILE = "SELF"

# The MQSC words for authorities. Their order is that of MQAUTH_*, from 1 on.
WORDS = tuple(
    (
        "ALTUSR BROWSE CHG CLR CONNECT CRT DLT DSP GET INQ PUT PASSALL PASSID SET "
        "SETALL SETID CTRL CTRLX PUB SUB RESUME SYSTEM"
    ).split()
)
_CONTEXT = "PASSALL PASSID SETALL SETID"
_MQI = {
    "QMGR": "ALTUSR CONNECT INQ SET SETALL SETID SYSTEM",
    "QUEUE": f"BROWSE GET INQ PUT SET {_CONTEXT}",
    "TOPIC": f"PUB SUB RESUME {_CONTEXT}",
    "NAMELIST": "INQ",
    "PROCESS": "INQ SET",
    "CHANNEL": "INQ",
    "AUTHINFO": "INQ",
    "RQMNAME": f"PUT {_CONTEXT}",
    **dict.fromkeys(("CLNTCONN", "COMMINFO", "LISTENER", "SERVICE"), "INQ"),
}
_ADMIN = {
    **dict.fromkeys(_MQI, "CHG DLT DSP"),
    "QUEUE": "CHG CLR DLT DSP",
    "TOPIC": "CHG CLR CTRL DLT DSP",
    "CHANNEL": "CHG CTRL CTRLX DLT DSP",
    "LISTENER": "CHG CTRL DLT DSP",
    "SERVICE": "CHG CTRL DLT DSP",
    "RQMNAME": "",
}
OBJECT_TYPES = tuple(_MQI)


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A user (``"PRINCIPAL"``) or a group of users (``"GROUP"``)."""

    type: str
    name: str


@dataclass(frozen=True, slots=True, order=True)
class RecordKey:
    """The key of an authority record: an entity, an object type and a profile."""

    object_type: str
    profile: str
    entity: Entity


def applicable(object_type: str) -> frozenset[str]:
    """Return the authorities that exist for an object type."""
    return frozenset(f"{_MQI[object_type]} {_ADMIN[object_type]} CRT".split())


def meant_by(object_type: str, words: Iterable[str]) -> frozenset[str]:
    """Return the authorities that these MQSC words mean. ALL and ALLADM do not include CRT (IBM MQ, "CMQZC").

    Raises:
        ValueError: objects of this type have no such authority.
    """
    together = {
        "NONE": frozenset[str](),
        "ALLMQI": frozenset(_MQI[object_type].split()),
        "ALLADM": frozenset(_ADMIN[object_type].split()),
        "ALL": applicable(object_type) - {"CRT"},
    }
    found: set[str] = set()
    for word in words:
        if word not in together and word not in applicable(object_type):
            raise ValueError(f"{word} is not an authority for OBJTYPE({object_type})")
        found |= together.get(word, frozenset({word}))
    return frozenset(found)


def _primary_group(user: str) -> str:
    """Return a user's primary group. By default it is the group with the user's name, which Linux creates."""
    return _GROUPS.get(user, (user,))[0]


def entities_of(user: str) -> tuple[Entity, ...]:
    """Return a user's entities: the principal and the groups."""
    return (Entity("PRINCIPAL", user), *(Entity("GROUP", group) for group in _GROUPS.get(user, ())))


def is_administrator(user: str) -> bool:
    """Return whether a user is allowed to do everything, even without authority records."""
    return user == ADMINISTRATOR or ADMINISTRATOR in _GROUPS.get(user, ())


def fits(profile: str, name: str) -> bool:
    """Return whether a profile matches an object's name."""
    return bool(_pattern(profile).fullmatch(name))


def is_valid(profile: str) -> bool:
    """Return whether a profile contains ``**`` at most once, and only as a whole qualifier."""
    return profile.count("**") == profile.split(".").count("**") <= 1


def _is_generic(profile: str) -> bool:
    return "*" in profile or "?" in profile


@cache
def _pattern(profile: str) -> re.Pattern[str]:
    """Return the regular expression for a profile, which must be valid (``is_valid``).

    ``?`` matches one character, ``*`` a qualifier or a part of a qualifier, ``**`` any number of qualifiers, even none.
    """
    pattern = ""
    qualifiers = profile.split(".")
    for number, qualifier in enumerate(qualifiers):
        first, last = number == 0, number == len(qualifiers) - 1
        if qualifier == "**":
            # The expression includes the dot before the qualifiers, or after them if they come first.
            pattern += ".*" if first and last else r"(?:.*\.)?" if first else r"(?:\..*)?"
            continue
        if not first and not (number == 1 and qualifiers[0] == "**"):
            pattern += r"\."
        parts = ["".join({"?": "[^.]"}.get(one, re.escape(one)) for one in part) for part in qualifier.split("*")]
        pattern += "[^.]+" if qualifier == "*" else starred(parts, "[^.]*")
    return re.compile(pattern)


def starred(parts: Sequence[str], run: str) -> str:
    """Return a regular expression: the expressions ``parts`` with asterisks between them. ``run`` is an asterisk's expression.

    Each part except the last matches only at its first possible place, so that the match does not try all combinations of places.
    """
    first, *middle = parts
    last = f"{run}{middle.pop()}" if middle else ""
    return first + "".join(f"(?>{run}?{part})" for part in middle) + last


def specificity(profile: str) -> tuple[int, ...]:
    """Return a sort key that is lower for a more specific profile.

    Profiles are compared from left to right. An ordinary character is the most specific, then ``?``, then ``*``, then ``**``.
    """
    return tuple({"?": 1, "*": 2, "**": 3}.get(part, 0) for part in re.findall(r"\*\*|.", profile))


class Authorities:
    """The authority records of a queue manager. Callers hold the queue manager's lock."""

    def __init__(self, store: Store, *, of_groups: bool = False) -> None:
        """Load the records. With ``of_groups``, primary groups get their users' records (IBM MQ, "Installable services")."""
        self._store = store
        self._of_groups = of_groups
        self._records: dict[RecordKey, frozenset[str]] = {}
        # The authorities in each record. Then the records with generic profiles, by object type and entity.
        self._by_profile: dict[tuple[str, str], set[RecordKey]] = {}
        self._generic: dict[tuple[str, Entity], set[RecordKey]] = {}
        for object_type, profile, kind, name, words in store.authorities():
            self._note(RecordKey(object_type, profile, Entity(kind, name)), frozenset(words.split()))

    def records(self) -> list[tuple[RecordKey, frozenset[str]]]:
        """Return all records, sorted by their keys."""
        return sorted(self._records.items())

    def change(self, key: RecordKey, add: Iterable[str], remove: Iterable[str]) -> None:
        """Add authorities to a record, then remove those in ``remove``. A missing record is created. An empty record stays.

        Raises:
            ValueError: objects of this type have no such authority.
        """
        key = self._kept_as(key)
        before = self._records.get(key, frozenset())
        self._keep(key, (before | meant_by(key.object_type, add)) - meant_by(key.object_type, remove))

    def delete(self, key: RecordKey) -> bool:
        """Delete a record, and return whether there was one."""
        key = self._kept_as(key)
        self._by_profile.get((key.object_type, key.profile), set()).discard(key)
        self._generic.get((key.object_type, key.entity), set()).discard(key)
        self._store.delete_authority(key.object_type, key.profile, key.entity.type, key.entity.name)
        return self._records.pop(key, None) is not None

    def created(self, user: str, object_type: str, name: str) -> None:
        """Give a user all authorities for an object that the user has created."""
        if not is_administrator(user):
            key = self._kept_as(RecordKey(object_type, name, Entity("PRINCIPAL", user)))
            self._keep(key, meant_by(object_type, ["ALL"]))

    def _kept_as(self, key: RecordKey) -> RecordKey:
        is_group = self._of_groups and key.entity.type == "PRINCIPAL"
        return replace(key, entity=Entity("GROUP", _primary_group(key.entity.name))) if is_group else key

    def forget(self, object_type: str, name: str) -> None:
        """Delete the records of a deleted object, except records with generic profiles."""
        for key in self._by_profile.pop((object_type, name), set()):
            self.delete(key)

    def of(self, user: str, object_type: str, name: str) -> frozenset[str]:
        """Return a user's authorities for an object."""
        if is_administrator(user):
            return applicable(object_type)
        return frozenset().union(*(self._of_entity(entity, object_type, name) for entity in self.entities_of(user)))

    def entities_of(self, user: str) -> tuple[Entity, ...]:
        """Return the entities whose records apply to a user. With ``of_groups`` they include the primary group."""
        own = Entity("GROUP", _primary_group(user))
        return tuple(dict.fromkeys((*entities_of(user), *([own] if self._of_groups else ()))))

    def _of_entity(self, entity: Entity, object_type: str, name: str) -> frozenset[str]:
        exact = self._records.get(RecordKey(object_type, name, entity))
        if exact is not None:
            return exact
        fitting = [key for key in self._generic.get((object_type, entity), ()) if fits(key.profile, name)]
        return self._records[min(fitting, key=lambda key: specificity(key.profile))] if fitting else frozenset()

    def _note(self, key: RecordKey, authorities: frozenset[str]) -> None:
        self._records[key] = authorities
        self._by_profile.setdefault((key.object_type, key.profile), set()).add(key)
        if _is_generic(key.profile):
            self._generic.setdefault((key.object_type, key.entity), set()).add(key)

    def _keep(self, key: RecordKey, authorities: frozenset[str]) -> None:
        self._note(key, authorities)
        words = " ".join(sorted(authorities))
        self._store.put_authority(key.object_type, key.profile, key.entity.type, key.entity.name, words)
