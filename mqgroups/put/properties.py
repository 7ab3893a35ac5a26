"""Checks the properties that a producer or a pipe gives a group, and compares them when the group is resumed."""

from __future__ import annotations

from collections.abc import Mapping

from mqgroups.core.group_properties import MOST_BYTES, NAME, GroupProperties, Value, contradiction, kept, name_of
from mqgroups.core.status import Done
from mqgroups.errors import GroupUsage, MessageRefused
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.properties import checked
from mqgroups.status.owner import Owner

NAME_OF_ITS_OWN = (
    "A group's name identifies its input: give each input a name of its own, or call producer.forget() before this one"
)


def group_properties(name: str, properties: Mapping[str, PropertyValue] | None) -> Mapping[str, PropertyValue]:
    """Return the properties of a new group, including its name.

    Raises MessageRefused if a property is invalid, or if all properties together are too long for a status record.
    """
    given = dict(checked(properties or {}))
    if not isinstance(name, str):
        raise MessageRefused(f"the name of a group must be a str, got {name!r}")
    if name:
        given |= checked({NAME: name})
    if kept(given) is None:
        raise MessageRefused(
            f"the properties of a group may take at most {MOST_BYTES} bytes in its status record. Put longer values as messages"
        )
    return given


def resumed_with(given: Mapping[str, PropertyValue], owner: Owner) -> GroupProperties:
    """Return the properties of the interrupted group. Raises GroupUsage if ``given`` has another value for one of them."""
    committed = owner.unit.note.properties
    other = contradiction(committed, given, complete=True) if committed is not None else None
    if committed is None or other is None:
        return committed
    raise GroupUsage(
        f"{_interrupted(owner)}, and {_differs(other, committed, given)}. Give the values that it began with"
    )


def check_name(name: str, given: Mapping[str, PropertyValue], owner: Owner) -> None:
    """Raise GroupUsage if a producer's interrupted group has, or may have, another name than ``name``.

    If the record was rebuilt without the group's first message, the group's name is unknown. Then a name is accepted only among
    the properties, not as the argument ``name``.
    """
    committed, of_properties = owner.unit.note.properties, name_of(given)
    found = name_of(committed)
    if not of_properties or found == of_properties or (committed is None and not name):
        return
    if committed is None:
        how = f"If this is the group, say so once: group(properties={{{NAME!r}: {name!r:.100}}})"
    else:
        how = "Resume it first, with producer.group()" + (f", or producer.group({found!r:.100})" if found else "")
    raise GroupUsage(
        f"{_interrupted(owner)}, so group {of_properties!r:.100} cannot begin. {how}; or end it there: call abandon() on that "
        "group. If a program's input is gone when it ends, give interrupted='abandon' to group_producer(...)"
    )


def _interrupted(owner: Owner) -> str:
    properties, committed = owner.unit.note.properties, owner.committed
    name = name_of(properties)
    group = (
        f"group {name!r:.100}"
        if name
        else "a group " + ("whose name is not known" if properties is None else "without a name")
    )
    return f"{group} ({committed.group_id.hex()}) was interrupted after {committed.msg_seq_number} messages"


def passed_on(name: str) -> str:
    """Return an incoming group's name, chosen by another program, if an outgoing group can have it too; else an empty text."""
    try:
        group_properties(name, None)
    except MessageRefused:
        return ""
    return name


def done_with(given: Mapping[str, PropertyValue], owner: Owner) -> Done | None:
    """Return the last completed group if it has the given name, else ``None``. Raises GroupUsage if it has other properties."""
    done, name = owner.done, name_of(given)
    if done is None or not name or done.name != name:
        return None
    other = contradiction(done.properties, given, complete=True)
    if other is not None:
        raise GroupUsage(f"{sentence_of(done)}, and {_differs(other, done.properties, given)}. {NAME_OF_ITS_OWN}")
    return done


def sentence_of(done: Done) -> str:
    """Return a sentence about a completed group, without a full stop, for error texts."""
    return f"group {done.name!r:.100} is complete already: {done.messages} messages were put at {done.time_utc}"


def _differs(name: str, found: Mapping[str, Value], given: Mapping[str, PropertyValue]) -> str:
    has = repr(found[name]) if name in found else "no value"
    return f"its property {name!r} has {has:.100}, and {given[name]!r:.100} is given now"


def with_group_properties(
    group: Mapping[str, PropertyValue], message: Mapping[str, PropertyValue] | None
) -> Mapping[str, PropertyValue]:
    """Return the properties of a group and of its first message together. Raises MessageRefused if a property has two values."""
    if not message:
        return group
    own = dict(checked(message))
    other = contradiction(group, own, complete=False)
    if other is not None:
        raise MessageRefused(
            f"property {other!r} has another value in the group's properties, which the group's first message has too"
        )
    return {**group, **own}
